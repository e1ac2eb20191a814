/*
 * compressed.c - opening a log or a dump through the decompressors of the readers.
 *
 * The source of a log is replaced by one that inflates, if its first bytes are those of gzip or
 * zstd; any other source stays as it is.  What a decompressor holds is outside of the regions, so
 * the border of the room must close what was opened, also after a failure.
 */
#include "audit/compressed.h"

#include "read/inflate.h"

void packed_open(source *s)
{
    inflate_wrap(s);
}

void packed_allow_cut(source *s)
{
    inflate_allow_cut(s);
}

void packed_close(source *s)
{
    inflate_close(s);
}
