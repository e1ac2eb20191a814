/*
 * sort.h - sorting indices by 64-bit keys.
 */
#ifndef RATEL_BASE_SORT_H
#define RATEL_BASE_SORT_H

#include "base/mem.h"

/* The indices 0..n-1 in rising order of their keys, equal keys as they stand: an array of the
   region.  A radix sort that skips digits that all keys share: times and scores differ in few. */
uint32_t *sort_by_key(mem *m, const uint64_t *key, uint32_t n);

/* A signed number as a key of the same order. */
static inline uint64_t sort_key(int64_t x)
{
    return (uint64_t)x ^ (uint64_t)1 << 63;
}

#endif
