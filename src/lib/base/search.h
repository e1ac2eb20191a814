/*
 * search.h - binary search.
 *
 * All forms ask for the first place from which something holds; a place that does not exist is the
 * end of the range.  Arrays must be sorted, conditions must stay true once they are true: debug
 * builds cannot afford to check it here, the makers of the arrays do.
 */
#ifndef RATEL_BASE_SEARCH_H
#define RATEL_BASE_SEARCH_H

#include <stddef.h>
#include <stdint.h>

/* Declares `at` of type T and sets it to the first number of [from, to) for which `holds`, an
   expression over `at`, is true; to `to` if there is none.

       SEARCH_FIRST(uint32_t, i, lo, hi, events[i].time > now);                                 */
#define SEARCH_FIRST(T, at, from, to, holds)                                                       \
    T at = (from);                                                                                 \
    for (T at##_lo = at, at##_hi = (to); at##_lo < at##_hi || (at = at##_lo, 0);) {                \
        at = (T)(at##_lo + (at##_hi - at##_lo) / 2);                                               \
        if (holds)                                                                                 \
            at##_hi = at;                                                                          \
        else                                                                                       \
            at##_lo = (T)(at + 1);                                                                 \
    }                                                                                              \
    (void)0

/* lower_bound: how many of the n elements are below x, which is where the first x stands or would
   stand.  upper_bound: how many are not above x, which is where those above it start. */
#define SEARCH_BOUNDS(suffix, T)                                                                   \
    static inline size_t lower_bound_##suffix(const T *a, size_t n, T x)                           \
    {                                                                                              \
        SEARCH_FIRST(size_t, i, 0, n, a[i] >= x);                                                  \
        return i;                                                                                  \
    }                                                                                              \
    static inline size_t upper_bound_##suffix(const T *a, size_t n, T x)                           \
    {                                                                                              \
        SEARCH_FIRST(size_t, i, 0, n, a[i] > x);                                                   \
        return i;                                                                                  \
    }
SEARCH_BOUNDS(u32, uint32_t)
SEARCH_BOUNDS(u64, uint64_t)
SEARCH_BOUNDS(i64, int64_t)
#undef SEARCH_BOUNDS

#endif
