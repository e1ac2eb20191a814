/*
 * clause.h - clauses in one arena, named by 32-bit references, and the watch lists over them.
 *
 *     arena:  | size | glue, flags | lit 0 | lit 1 | ... | size | glue, flags | ...
 *                ^ reference: index of this word
 *     pool:   one array of watches; the list of a literal is a slice [start, start + n) of it with
 *             room for cap, moved to the end of the pool when it is full
 *
 * Invariant: literals 0 and 1 of a clause of two or more literals are watched, each exactly once.
 * The watches of binary clauses carry the other literal as blocker, so propagation never looks at
 * the clause itself.  A clause of one literal exists only as the reason the theory gave for it;
 * it is not watched.
 */
#ifndef RATEL_SOLVE_CLAUSE_H
#define RATEL_SOLVE_CLAUSE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#define REF_NONE UINT32_MAX         /* no clause: a decision, a unit, no conflict */
#define REF_THEORY (UINT32_MAX - 1) /* the theory knows the reason, it was not asked yet */
#define REF_MAX (UINT32_MAX / 2)    /* one bit of a watch is the flag `binary` */

#define GLUE_MAX ((1u << 24) - 1)

typedef struct clause {
    uint32_t size;
    unsigned glue : 24;
    unsigned redundant : 1; /* learned or forgettable */
    unsigned garbage : 1;   /* gone from the proof already, swept at the next collection */
    unsigned reason : 1;    /* protected while reducing */
    unsigned moved : 1;     /* collection: lits[0] is the new reference */
    unsigned used : 2;      /* reductions it survives, set when met in a conflict */
    uint32_t lits[];
} clause;

#define CLAUSE_WORDS 2
static_assert(sizeof(clause) == CLAUSE_WORDS * sizeof(uint32_t), "no padding in the arena");

typedef struct watch {
    uint32_t blocker;
    uint32_t tagged; /* 2 * reference + binary */
} watch;

typedef struct watch_list {
    uint32_t start, n, cap;
} watch_list;

static inline watch watch_of(uint32_t blocker, uint32_t ref, bool binary)
{
    assert(ref <= REF_MAX);
    return (watch){blocker, 2 * ref + binary};
}

static inline bool watch_binary(watch w)
{
    return w.tagged & 1;
}

static inline uint32_t watch_ref(watch w)
{
    return w.tagged >> 1;
}

#endif
