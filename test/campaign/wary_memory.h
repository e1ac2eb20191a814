/*
 * wary_memory.h - an allocator that makes wrong uses of memory show.
 *
 * New memory is full of junk, so what is read before it is written changes answers; behind each
 * block stand bytes that must be as they were when it is given back, and memory that was given
 * back is junk again.  Far cheaper than a sanitizer, so it can be used for millions of histories.
 */
#ifndef RATEL_TEST_WARY_MEMORY_H
#define RATEL_TEST_WARY_MEMORY_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARY_FENCE = 16, WARY_JUNK = 0xa7, WARY_LATE = 0xd3, WARY_STONE = 0x5e };

static inline void wary_check(const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < WARY_FENCE; i++)
        if (p[n + i] != WARY_STONE) {
            fprintf(stderr, "written behind the end of a block of %zu bytes\n", n);
            abort();
        }
}

/* A ratel_alloc.fn. */
static inline void *wary_memory(void *ud, void *p, size_t old, size_t n)
{
    unsigned char *q = NULL;
    (void)ud;
    if (p) wary_check(p, old);
    if (n) {
        q = malloc(n + WARY_FENCE);
        if (!q) return NULL;
        size_t kept = p && old < n ? old : p ? n : 0;
        if (kept) memcpy(q, p, kept);
        memset(q + kept, WARY_JUNK, n - kept);
        memset(q + n, WARY_STONE, WARY_FENCE);
    }
    if (p) {
        memset(p, WARY_LATE, old);
        free(p);
    }
    return q;
}

#endif
