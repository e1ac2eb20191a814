/*
 * diff_text.h - a growing text for the differential tests: what ratel writes, and reads again.
 */
#ifndef RATEL_TEST_DIFF_TEXT_H
#define RATEL_TEST_DIFF_TEXT_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct text {
    char *at;
    size_t n, cap, pos;
} text;

/* A ratel_read_cb. */
static inline ptrdiff_t read_text(void *buf, size_t cap, void *payload)
{
    text *t = payload;
    size_t n = t->n - t->pos < cap ? t->n - t->pos : cap;
    if (n) memcpy(buf, t->at + t->pos, n);
    t->pos += n;
    return (ptrdiff_t)n;
}

/* A ratel_write_cb; the text stays ended by a zero. */
static inline int add_text(const void *buf, size_t n, void *payload)
{
    text *t = payload;
    if (t->n + n + 1 > t->cap) {
        t->cap = 2 * (t->n + n + 1);
        t->at = realloc(t->at, t->cap);
        if (!t->at) abort();
    }
    if (n) memcpy(t->at + t->n, buf, n);
    t->n += n;
    t->at[t->n] = 0;
    return 0;
}

#endif
