/*
 * rup.h - a proof log that checks itself: every learned clause must follow from those logged and
 * not deleted by unit propagation.  As plain as can be (whole passes over all clauses), for tests
 * of small problems; theories' lemmas are taken as given and shown to the test.
 */
#ifndef RATEL_TEST_SOLVE_RUP_H
#define RATEL_TEST_SOLVE_RUP_H

#include <stdlib.h>

#include "../test.h"
#include "solve/solve.h"

typedef struct rup_clause {
    uint32_t *lits;
    size_t n;
} rup_clause;

typedef struct rup {
    rup_clause *at;
    size_t n, cap;
    signed char *value; /* by literal */
    size_t lits;
    uint32_t last[64]; /* the last learned clause */
    size_t last_n;
    int wrong;
    proof proof;
    void (*on_lemma)(void *ud, const uint32_t *lits, size_t n, uint64_t tag);
    void *ud;
} rup;

static inline void rup_room(rup *r, const uint32_t *lits, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if ((lits[i] | 1) + 1 <= r->lits) continue;
        r->lits = 2 * ((size_t)(lits[i] | 1) + 1);
        r->value = realloc(r->value, r->lits);
    }
}

static inline void rup_store(rup *r, const uint32_t *lits, size_t n)
{
    if (r->n == r->cap) {
        r->cap = r->cap ? 2 * r->cap : 64;
        r->at = realloc(r->at, r->cap * sizeof *r->at);
    }
    rup_clause c = {malloc(n * sizeof *lits + 1), n};
    if (n) memcpy(c.lits, lits, n * sizeof *lits);
    rup_room(r, lits, n);
    r->at[r->n++] = c;
}

static inline int rup_follows(rup *r, const uint32_t *lits, size_t n)
{
    rup_room(r, lits, n);
    if (r->lits) memset(r->value, 0, r->lits);
    for (size_t i = 0; i < n; i++) {
        if (r->value[lits[i]] > 0) return 1; /* a tautology */
        r->value[lits[i]] = -1;
        r->value[lits[i] ^ 1] = 1;
    }
    for (int more = 1; more;) {
        more = 0;
        for (size_t i = 0; i < r->n; i++) {
            uint32_t unit = LIT_NONE;
            size_t open = 0;
            for (size_t k = 0; k < r->at[i].n && open < 2; k++) {
                uint32_t lit = r->at[i].lits[k];
                if (r->value[lit] > 0) open = 2;
                if (r->value[lit] == 0 && lit != unit) {
                    open++;
                    unit = lit;
                }
            }
            if (open == 0) return 1;
            if (open != 1) continue;
            r->value[unit] = 1;
            r->value[unit ^ 1] = -1;
            more = 1;
        }
    }
    return 0;
}

static inline void rup_original(void *state, const uint32_t *lits, size_t n)
{
    rup_store(state, lits, n);
}

static inline void rup_lemma(void *state, const uint32_t *lits, size_t n, uint64_t tag)
{
    rup *r = state;
    rup_store(r, lits, n);
    if (r->on_lemma) r->on_lemma(r->ud, lits, n, tag);
}

static inline void rup_learned(void *state, const uint32_t *lits, size_t n)
{
    rup *r = state;
    if (!rup_follows(r, lits, n)) r->wrong++;
    rup_store(r, lits, n);
    r->last_n = n < 64 ? n : 64;
    if (n) memcpy(r->last, lits, r->last_n * sizeof *lits);
}

static inline void rup_deleted(void *state, const uint32_t *lits, size_t n)
{
    rup *r = state;
    for (size_t i = r->n; i-- > 0;) {
        size_t same = 0;
        if (r->at[i].n != n) continue;
        for (size_t k = 0; k < n; k++)
            for (size_t j = 0; j < n; j++)
                if (r->at[i].lits[k] == lits[j]) {
                    same++;
                    break;
                }
        if (same != n) continue;
        free(r->at[i].lits);
        r->at[i] = r->at[--r->n];
        return;
    }
    r->wrong++; /* deleted what is not there */
}

static inline const proof *rup_open(rup *r)
{
    memset(r, 0, sizeof *r);
    r->proof = (proof){r, rup_original, rup_lemma, rup_learned, rup_deleted};
    return &r->proof;
}

static inline void rup_close(rup *r)
{
    for (size_t i = 0; i < r->n; i++) free(r->at[i].lits);
    free(r->at);
    free(r->value);
}

#endif
