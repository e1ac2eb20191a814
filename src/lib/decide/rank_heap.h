/*
 * rank_heap.h - a binary heap of events, the one with the smallest rank on top.
 *
 * The caller owns the array, which has room for every event that may stand in the heap at once.
 * Invariant: no event has a smaller rank than its parent, at[(i - 1) / 2].
 */
#ifndef RATEL_DECIDE_RANK_HEAP_H
#define RATEL_DECIDE_RANK_HEAP_H

#include <assert.h>
#include <stdint.h>

typedef struct rank_heap {
    uint32_t *at; /* events */
    uint32_t n;
    const uint32_t *rank;
} rank_heap;

static inline void rank_heap_push(rank_heap *h, uint32_t e)
{
    uint32_t i = h->n++;
    while (i && h->rank[h->at[(i - 1) / 2]] > h->rank[e]) {
        h->at[i] = h->at[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    h->at[i] = e;
}

static inline uint32_t rank_heap_pop(rank_heap *h)
{
    assert(h->n);
    uint32_t top = h->at[0], e = h->at[--h->n], i = 0;
    for (uint32_t child; (child = 2 * i + 1) < h->n; i = child) {
        if (child + 1 < h->n && h->rank[h->at[child + 1]] < h->rank[h->at[child]]) child++;
        if (h->rank[h->at[child]] >= h->rank[e]) break;
        h->at[i] = h->at[child];
    }
    h->at[i] = e;
    return top;
}

#endif
