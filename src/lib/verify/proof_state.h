/*
 * proof_state.h - private to proof_check.c and axiom.c: literals and clauses of a proof.
 */
#ifndef RATEL_VERIFY_PROOF_STATE_H
#define RATEL_VERIFY_PROOF_STATE_H

#include "base/map.h"
#include "verify/proof_check.h"

/* Which writers a read cannot have missed (doc/levels.md 5): those that stand before its
   transaction, for some or all reads; or those that lead to it. */
enum reads_law { READS_NONE, READS_ALL, READS_ITEMS, READS_OWN, READS_UPDATES, READS_BY_ROW };
#define HOP_SO 1u
#define HOP_WR 2u
#define HOP_WW 4u
#define HOP_NEXT 8u
enum parts_law { PARTS_NONE, PARTS_APART, PARTS_TIGHT }; /* what is ordered: levels.md MDB-1 */
enum when_law { WHEN_EVER, WHEN_EARLIER, WHEN_SO_FAR };  /* the hop into the reader, by operation */

typedef struct level_law {
    enum level_id level;
    bool events;  /* begin and commit have places of their own */
    bool overlap; /* writers of a key do not overlap */
    enum reads_law reads;
    unsigned hops;
    bool one; /* hop */
    enum when_law when;
    uint8_t shape[4]; /* the hops, exactly, from the reader on; 0 ends them; none: any */
    enum parts_law parts;
} level_law;
const level_law *law_of(enum level_id level); /* NULL: violations of it have no proofs */

#define NEVER_FALSE UINT32_MAX /* in place of a literal that is true in every execution */

enum lit_kind { LIT_BEFORE, LIT_IN, LIT_READS, LIT_CHOSEN, LIT_ON, LIT_RIGHT, LIT_FIRST };
typedef struct lit_key {
    uint32_t kind, a, b, c; /* LIT_READS: operation, key, writer; LIT_CHOSEN: assumption, set;
                               LIT_ON: transaction, content; LIT_RIGHT: the same, and the writer of
                               the version right before; LIT_FIRST: content */
} lit_key;

/* What a list key held: a beginning of a list that was read, or a scalar. */
typedef struct list_state {
    key_id key;
    seq what;
} list_state;

struct prover {
    checker c;
    sources s;
    mem *m;
    const char **why;
    const level_law *law;
    bool si; /* law->events */

    VEC(lit_key) vars; /* a literal is 2 * index + negated */
    uint32_t *slot;    /* index + 1 */
    size_t mask;
    VEC(uint32_t) meanings; /* by variable; of a read: what it comes down to, once known */

    uint32_t *kw_first, *kw; /* writes by key, once asked for */
    uint8_t *side;           /* per transaction: scratch of `next` */

    VEC(list_state) states; /* contents that were named, each once */
    id_map state_child;     /* (content, element) -> the longer content */
    id_map state_root;      /* (key, a scalar or NO_ID) -> the content, or the empty list */

    VEC(uint32_t) lits;  /* of all clauses */
    VEC(uint64_t) first; /* of each clause, and of the one being made */
    VEC(int8_t) value;   /* by variable */
    VEC(uint32_t) trail;
};

/* Events.  A transaction; or its begin and its commit; or its parts: the snapshot, and one for each
   current statement (at the tight level: one for all of them), numbered after the transactions. */
static inline uint32_t begin_of(const prover *x, txn_id t)
{
    /* In a mixture only snapshots have a begin of their own. */
    return x->si ? 2 * t + (x->c.row && x->c.row[t] != ROW_SI) : t;
}
static inline uint32_t commit_of(const prover *x, txn_id t)
{
    return x->si ? 2 * t + 1 : t;
}

/* Are the reads of t those of read-uncommitted? */
static inline bool prover_uncommitted(const prover *x, txn_id t)
{
    return x->c.v->level.id == LEVEL_RU || (x->c.row && x->c.row[t] == ROW_RU);
}

static inline uint32_t part_of(const prover *x, txn_id t, op_id o)
{
    bool apart = x->law->parts == PARTS_APART;
    return (uint32_t)x->c.h->txns + (apart ? o : x->c.h->txn_op[t]);
}
txn_id prover_event_txn(const prover *x, uint32_t e);
/* Where a read of k by operation o of t takes effect, and where t's version of k does. */
uint32_t prover_read_event(const prover *x, txn_id t, op_id o, key_id k);
uint32_t prover_write_event(const prover *x, txn_id t, key_id k);

/* proof_check.c */
bool prover_no(prover *x, const char *what); /* false, with the reason */
uint32_t prover_before(prover *x, uint32_t a, uint32_t b);
uint32_t prover_took_part(prover *x, txn_id t);
/* "o, of t, read k from w": NEVER_FALSE, that t took part, or a literal of its own. */
bool prover_reads(prover *x, txn_id t, op_id o, key_id k, txn_id w, uint32_t *lit);
void prover_put(prover *x, uint32_t lit);
void prover_put_not(prover *x, uint32_t lit);
bool prover_close(prover *x);
bool prover_takes_part(prover *x, txn_id t);
/* The event that the text at *s begins with; false, with the reason, if the level has no such. */
bool prover_event(prover *x, parser *p, const char **s, size_t *n, uint32_t *e);
bool prover_event_takes_part(prover *x, uint32_t e);

/* A literal of any kind. */
uint32_t prover_literal(prover *x, lit_key k);

/* axiom.c: the event of w before which older versions of k committed; does the level want the read
   to find the newest version at its place? */
uint32_t axiom_version(const prover *x, txn_id w, key_id k);
bool axiom_finds_newest(const prover *x, txn_id t, op_id o, key_id k);
/* axiom.c: a step that the history and the level show by themselves. */
bool axiom_step(prover *x, parser *p, enum proof_step kind);
/* The position that the database told of t's version of k; false: none. */
bool axiom_position(const prover *x, txn_id t, key_id k, int64_t *at);
/* T I K: an operation of a transaction that may take part. */
bool axiom_read_op(prover *x, parser *p, txn_id *t, op_id *o, key_id *k);
/* Does the list v of k, as somebody read it, show a's version before b's? */
bool axiom_list_shows(prover *x, key_id k, value_id v, txn_id a, txn_id b);
/* The literal "of that assumption this set is true". */
uint32_t prover_choice(prover *x, uint32_t assumption, uint32_t set);

/* assume_step.c: what a module added.  Helper points are events after all others. */
bool assume_step(prover *x, parser *p);
/* `assumed N X`, a hop: `at` depends on X, says the plain statement N. */
bool assume_hop(prover *x, parser *p, txn_id at, txn_id *to);
uint32_t prover_first_point(const prover *x);
/* The same literal by numbers from 1; false, with the reason: there is none. */
bool prover_chosen(prover *x, uint64_t n, uint64_t set, uint32_t *lit);
/* chain_step.c: what list keys held, version by version. */
bool chain_step(prover *x, parser *p);
/* `T~C`, `T~C~W` or `init~C`: is the text such a literal?  And which one. */
bool chain_names_literal(const char *s, size_t n);
bool chain_literal(prover *x, parser *p, const char *s, size_t n, uint32_t *lit);
/* stuck.c: transactions that wait for each other. */
bool stuck_step(prover *x, parser *p);

#endif
