/*
 * compressed.c - see compressed.h.
 */
#include "audit/compressed.h"

#include "read/inflate.h"

void packed_open(source *s)
{
    inflate_wrap(s);
}

void packed_close(source *s)
{
    inflate_close(s);
}
