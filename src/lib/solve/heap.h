/*
 * heap.h - the variables by activity, the most active on top: a binary heap with the place of
 * each variable, so that a bump can move it.
 *
 * Invariant: score[at[(i - 1) / 2]] >= score[at[i]], and place[at[i]] == i.
 */
#ifndef RATEL_SOLVE_HEAP_H
#define RATEL_SOLVE_HEAP_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#define HEAP_ABSENT UINT32_MAX

typedef struct heap {
    uint32_t *at, *place; /* both with room for every variable */
    double *score;
    uint32_t n;
} heap;

static inline bool heap_holds(const heap *h, uint32_t var)
{
    return h->place[var] != HEAP_ABSENT;
}

static inline void heap_up(heap *h, uint32_t i)
{
    assert(i < h->n);
    uint32_t var = h->at[i];
    double score = h->score[var];
    while (i) {
        uint32_t parent = (i - 1) / 2;
        if (h->score[h->at[parent]] >= score) break;
        h->at[i] = h->at[parent];
        h->place[h->at[i]] = i;
        i = parent;
    }
    h->at[i] = var;
    h->place[var] = i;
}

static inline void heap_down(heap *h, uint32_t i)
{
    assert(i < h->n);
    uint32_t var = h->at[i];
    double score = h->score[var];
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= h->n) break;
        if (child + 1 < h->n && h->score[h->at[child + 1]] > h->score[h->at[child]]) child++;
        if (h->score[h->at[child]] <= score) break;
        h->at[i] = h->at[child];
        h->place[h->at[i]] = i;
        i = child;
    }
    h->at[i] = var;
    h->place[var] = i;
}

static inline void heap_push(heap *h, uint32_t var)
{
    assert(!heap_holds(h, var));
    h->at[h->n] = var;
    h->place[var] = h->n++;
    heap_up(h, h->n - 1);
}

static inline uint32_t heap_pop(heap *h)
{
    assert(h->n > 0);
    uint32_t var = h->at[0];
    h->place[var] = HEAP_ABSENT;
    uint32_t last = h->at[--h->n];
    if (h->n) {
        h->at[0] = last;
        h->place[last] = 0;
        heap_down(h, 0);
    }
    return var;
}

#endif
