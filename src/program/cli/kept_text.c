/*
 * kept_text.c - text that the library writes piece by piece, kept in memory as one string, and text
 * that it reads from there.
 *
 * The buffer grows by doubling, so that a page of many answers is not copied once for each piece.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

int keep_text(const void *bytes, size_t n, void *kept)
{
    text_kept *t = kept;
    if (t->cap - t->n <= n) {
        size_t cap = 2 * (t->cap + n + 1);
        char *more = realloc(t->at, cap);
        if (!more) return -1;
        t->at = more;
        t->cap = cap;
    }
    memcpy(t->at + t->n, bytes, n);
    t->at[t->n += n] = 0;
    return 0;
}

ptrdiff_t read_left(void *buf, size_t cap, void *left)
{
    text_left *t = left;
    size_t n = t->n < cap ? t->n : cap;
    memcpy(buf, t->at, n);
    t->at += n;
    t->n -= n;
    return (ptrdiff_t)n;
}
