/*
 * sort.h - the three ways to sort.
 *
 * - sort_by_key: indices by 64-bit keys, stable, linear.
 * - sort_u64: numbers in place, without memory; key and payload may be packed into one number.
 * - SORT_MERGE: elements of any type by the caller's comparison, stable, with a second array.
 *
 * qsort of the C library is none of them: it may allocate where our limits do not see it, has no
 * context argument in C17, and is not stable, so that equal elements differ between systems.
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

/* Rising order, in place: quicksort with insertion sort below, heap sort where a bad input would
   make it deep. */
void sort_u64(uint64_t *a, size_t n);

/* Sorts a[0..n), two pointers to T and n elements each: both are variables, and `a` names the
   sorted one afterwards.  `precedes(x, y)`: must x stand before y?  Equal elements keep their
   order. */
#define SORT_MERGE(T, a, b, n, precedes)                                                           \
    for (size_t sort_width_ = 1; sort_width_ < (n); sort_width_ *= 2) {                            \
        for (size_t sort_lo_ = 0; sort_lo_ < (n); sort_lo_ += 2 * sort_width_) {                   \
            size_t sort_i_ = sort_lo_, sort_k_ = sort_lo_;                                         \
            size_t sort_mid_ = (n)-sort_lo_ > sort_width_ ? sort_lo_ + sort_width_ : (n);          \
            size_t sort_j_ = sort_mid_;                                                            \
            size_t sort_hi_ = (n)-sort_mid_ > sort_width_ ? sort_mid_ + sort_width_ : (n);         \
            while (sort_i_ < sort_mid_ && sort_j_ < sort_hi_)                                      \
                (b)[sort_k_++] =                                                                   \
                    precedes((a)[sort_j_], (a)[sort_i_]) ? (a)[sort_j_++] : (a)[sort_i_++];        \
            while (sort_i_ < sort_mid_) (b)[sort_k_++] = (a)[sort_i_++];                           \
            while (sort_j_ < sort_hi_) (b)[sort_k_++] = (a)[sort_j_++];                            \
        }                                                                                          \
        T *sort_swap_ = (a);                                                                       \
        (a) = (b);                                                                                 \
        (b) = sort_swap_;                                                                          \
    }                                                                                              \
    (void)0

#endif
