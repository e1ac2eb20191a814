/*
 * lazy_state.h - the state of the lazy strategy, shared by lazy.c (the search, strict reads) and
 * paths.c (levels whose reads are broken by paths).
 */
#ifndef RATEL_DECIDE_LAZY_LAZY_STATE_H
#define RATEL_DECIDE_LAZY_LAZY_STATE_H

#include "base/rng.h"
#include "decide/first_order.h"
#include "decide/proof/justify.h"

#define NONE UINT32_MAX

typedef struct paths paths;
typedef struct updates updates;

typedef struct lazy {
    order_problem *p;
    asg *g;
    mem *m;
    decision *a;
    solver *s;
    order *o;
    const uint32_t *pos;
    reach reach;
    rng luck;   /* with a seed: some choices are left to it */
    justify *j; /* NULL: nobody wants to know why */

    uint8_t *present; /* per node */
    uint32_t *list;   /* installs of each key in the order of their commits */
    uint32_t *where;  /* install -> its index in list */

    uint64_t *pair; /* (from, to) -> variable, open addressing */
    uint32_t *pair_var;
    size_t pair_mask, pairs;
    uint64_t *done; /* clauses written: obligation and install, or two installs */
    size_t done_mask, dones;

    VEC(uint32_t) queue; /* obligations; overlaps have the top bit and an install */
    size_t head;
    uint8_t *queued;         /* per obligation */
    uint8_t *overlap_queued; /* per install; SI only */

    uint32_t *open_of;             /* obligation -> index of g->open; only if there are any */
    uint32_t *cand_var;            /* parallel to g->cand */
    uint8_t *chosen_clause;        /* per open: its at-least-one clause is written */
    uint32_t *loose_first, *loose; /* updates: per key, reads that it may not know the source of */
    /* Lists of obligations, one of each version and of each key's initial one (lazy_watch). */
    uint32_t *watch_head, *watch_next, *watch_prev;
    uint32_t *past_first, *past; /* per key: reads that see past an own version (OB_OWN) */
    uint32_t *taken_var;         /* per node: variable of an unknown outcome, or NONE */
    uint32_t first_taken;        /* the first of those variables, which come in a row */
    VEC(node_id) unknown;
    VEC(node_id) outcomes;      /* those with a value, as on the solver's trail */
    VEC(size_t) outcome_levels; /* how many of them before each level */
    VEC(node_id) decided;       /* those whose value may have changed since it was looked at */

    paths *paths;     /* NULL: the level has none */
    updates *updates; /* NULL: readers are ordered like everybody */
    uint64_t whole;   /* the epoch in which whole transactions were found in order; 0: none */
    uint64_t epoch;   /* counts changes of the order and of choices */

    VEC(uint32_t) conflict;
    bool conflicting;
    VEC(uint32_t) lits;
    VEC(uint32_t) touched;     /* keys */
    uint32_t *key_lo, *key_hi; /* windows of touched keys, + 1; 0: untouched */
} lazy;

/* lazy.c */
void lazy_enqueue(lazy *z, uint32_t ob);
uint32_t lazy_next_version(const lazy *z, uint32_t inst);
uint32_t lazy_version_before(const lazy *z, uint32_t inst);
uint32_t lazy_before(lazy *z, uint32_t from, uint32_t to);
bool lazy_first_time(lazy *z, uint32_t a, uint32_t b);
void lazy_clause_start(lazy *z);
void lazy_clause_lit(lazy *z, uint32_t lit);
void lazy_clause_unless(lazy *z, node_id v);
void lazy_clause_end(lazy *z);
void lazy_add_core(lazy *z, node_id v);
uint32_t lazy_cand_lit(lazy *z, uint32_t i);
/* The read is satisfied as long as that version (NONE: the initial one) is the one it sees. */
void lazy_watch(lazy *z, uint32_t ob, uint32_t inst);
/* Gives an open read its literals; false if it had them. */
bool lazy_write_choice(lazy *z, uint32_t ob);
/* The last version before the reader that has the contents it saw, or NONE. */
uint32_t lazy_explained_by(const lazy *z, uint32_t ob);
/* A read that is broken whatever is chosen, by the path from u to the reader. */
void lazy_keep_path(lazy *z, uint32_t ob, node_id u);
bool lazy_ruled_out(const lazy *z, node_id a, node_id b);

/* paths.c */
#define FROM_INIT 0xfffffffeu /* as a source: the initial version; NONE: nothing stands before */
void paths_start(lazy *z);
/* May transactions be moved for good that certain edges alone put elsewhere? */
bool paths_may_settle(const lazy *z);
/* An edge against the current order that certain edges alone, and ob, ask for; false if none. */
bool paths_sure_edge(const lazy *z, uint32_t ob, arc *e);
/* An open read reads from that install, or FROM_INIT, as things stand. */
void paths_note(lazy *z, uint32_t ob, uint32_t from);
/* Looks at an obligation: false if nothing that could explain it stands before it. */
bool paths_check(lazy *z, uint32_t ob);
/* A literal that mends a broken read of the last sweep; false if none waits. */
bool paths_mend(lazy *z, uint32_t *answer);
/* Queues what must be looked at again before the next sweep; false if nothing has changed. */
bool paths_look_again(lazy *z);
/* One sweep, with nothing queued: is a read broken?  *answer as cb_decide's. */
bool paths_broken(lazy *z, uint32_t *answer);
bool paths_clean(const lazy *z);
/* The candidate that an open read has chosen, or NONE. */
uint32_t paths_choice(lazy *z, uint32_t ob);
/* What an open read reads from in the answer: a transaction, RF_INIT, or RF_OPEN. */
uint32_t paths_source(lazy *z, uint32_t ob);
void paths_path(const lazy *z, node_id u, node_id v, cycle *c);

/* innodb_search.c: with parts of transactions (asg/innodb_parts.c), read-committed of the whole
   ones, for those of unknown outcome that exist now.  As updates_broken and updates_clean. */
bool split_broken(lazy *z, uint32_t *answer);
bool split_clean(const lazy *z);

/* update_readers.c */
void updates_start(lazy *z);
/* Queues choices that must be looked at again; false if nothing has changed. */
bool updates_look_again(lazy *z);
/* Is a reader broken, with nothing queued?  *answer as cb_decide's. */
bool updates_broken(lazy *z, uint32_t *answer);
bool updates_clean(const lazy *z);
/* The place of each transaction that exists, in an order of session order, read-from and versions
   of all of them. */
const uint32_t *updates_order(const lazy *z);

#endif
