/*
 * counter.h - an allocator for tests that counts its live bytes and fails once `left` allocations
 * are used up.
 */
#ifndef RATEL_TEST_COUNTER_H
#define RATEL_TEST_COUNTER_H

#include <stdlib.h>

typedef struct counter {
    size_t live;
    long left;
} counter;

static inline void *count_fn(void *ud, void *p, size_t osize, size_t nsize)
{
    counter *c = ud;
    if (nsize > osize && c->left-- <= 0) return NULL;
    c->live += nsize - osize;
    if (nsize == 0) {
        free(p);
        return NULL;
    }
    return realloc(p, nsize);
}

#endif
