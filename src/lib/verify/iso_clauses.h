/*
 * iso_clauses.h - a level that is written as text, on a history: what it asks for, as clauses.
 *
 * A second reading of the language of levels (doc/synth.md), independent of the one that decides
 * (src/lib/synth).  Transactions 1.. are those that did not abort, in the order of the history, and
 * 0 is the initial state.  What a witness chooses is variables: who of unknown outcome took part,
 * whom an ambiguous read saw, the order, and what is visible.  With a witness all of it is known,
 * and so is every formula; without one, the clauses can be satisfied iff there is a witness.
 */
#ifndef RATEL_VERIFY_ISO_CLAUSES_H
#define RATEL_VERIFY_ISO_CLAUSES_H

#include "base/map.h"
#include "iso/iso.h"
#include "verify/recheck.h"

#define ISO_MOST_TXNS 64u                /* of a proof; matrices have a cell for each pair */
#define ISO_MOST_CELLS ((size_t)1 << 26) /* of the table of who reads which key from whom */

typedef struct iso_read {
    uint32_t txn, key;
    op_id op;
    uint32_t first, n; /* candidates: iso_facts.candidate */
} iso_read;

typedef struct iso_facts {
    checker c;
    uint32_t n, keys; /* n counts the initial state */
    txn_id txn[ISO_MOST_TXNS + 1];
    bool maybe[ISO_MOST_TXNS + 1];
    uint32_t *number;     /* per transaction of the history; 0: it aborted */
    uint32_t *key_number; /* per key of the history, plus one; 0: nobody touches it */
    VEC(iso_read) reads;
    VEC(uint32_t) candidate;
    bool session_order;
    const uint8_t *only;
    op_id broken; /* a read of one that committed which nothing explains, or NO_ID */
} iso_facts;

/* False, with the reason, if the history says more than the language can, or is too large.  only:
   of these transactions alone (per transaction; NULL: all), and of what they read only what some of
   them explain whatever the others did: so the facts of a part are facts of the whole. */
bool iso_facts_load(iso_facts *f, const claim *v, const history *h, const uint8_t *only, mem *m,
                    const char **why);

/* What is chosen, all of it. */
typedef struct iso_chosen {
    bool in[ISO_MOST_TXNS + 1];
    uint32_t place[ISO_MOST_TXNS + 1];
    uint32_t *saw; /* per read: its candidate, as a number of a transaction */
    uint8_t sees[(ISO_MOST_TXNS + 1) * (ISO_MOST_TXNS + 1)]; /* [a * n + b]: a is visible to b */
} iso_chosen;

#define ISO_NO 0u
#define ISO_YES 1u

/* Literals: ISO_NO, ISO_YES, or 2 * variable + negated, with variables from 1 on. */
typedef struct iso_clauses {
    mem *m;
    VEC(uint32_t) lits;
    VEC(uint64_t) first; /* of each clause, and the end */
    uint32_t vars;
    bool empty;    /* a clause is false */
    uint64_t work; /* looks at relations and sets; beyond the most, the clauses say nothing */
    id_map pairs;  /* two literals -> their conjunction */
    uint32_t *act; /* [a] */
    uint32_t *saw; /* by candidate of each read */
    uint32_t *before, *order, *vis; /* [a * n + b]; before: among all, in or not */
} iso_clauses;

#define ISO_MOST_WORK ((uint64_t)1 << 26)
static inline bool iso_too_large(const iso_clauses *c)
{
    return c->work > ISO_MOST_WORK;
}

/* Everything that the level asks for.  witness NULL: it is to be found. */
void iso_clauses_make(iso_clauses *out, iso_facts *f, const iso_level *l, const iso_chosen *w,
                      mem *m);

/* The level of the text: `name`, or the last one if name is NULL.  Wrong text leaves by the guard;
   NULL: there is none of that name. */
const iso_level *iso_level_of(mem *m, const char *text, size_t n, const char *name);

#endif
