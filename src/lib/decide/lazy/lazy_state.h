/*
 * lazy_state.h - the state of the lazy strategy, shared by the files of this room.
 *
 * lazy.c is the search and the strict reads, lazy_prepare.c the work before the search, and
 * lazy_check.c asks for the invariants; paths.c and path_sweep.c have the levels whose reads are
 * broken by paths, update_readers.c has update serializability, innodb_search.c InnoDB's levels.
 *
 * The main invariant: an obligation that is not queued is satisfied by the current order.
 */
#ifndef RATEL_DECIDE_LAZY_LAZY_STATE_H
#define RATEL_DECIDE_LAZY_LAZY_STATE_H

#include "base/map.h"
#include "base/rng.h"
#include "decide/first_order.h"
#include "decide/proof/justify.h"

#define NONE UINT32_MAX

typedef struct paths paths;
typedef struct updates updates;
typedef struct serial_among serial_among;
typedef struct initial_values initial_values;
typedef struct slot_search slot_search;

/* In the queue, and in the names of clauses: the number is that of an install, not of a read. */
#define OVERLAP 0x80000000u

/* Obligations are taken newest first and oldest first by turns. */
typedef struct lazy_turns {
    uint64_t taken; /* in this turn */
    uint64_t most;  /* so many a turn has; 0: the first one, which conflicts end */
    bool oldest;
} lazy_turns;

typedef struct lazy {
    /* The question, the answer and the engines.  Invariant: pos extends p->known and every edge
       whose literal is true; it is an array of its own until the solver starts, then the
       order's. */
    order_problem *p;
    asg *g;
    mem *m;
    decision *a;
    solver *s;
    order *o;
    const uint32_t *pos;
    reach reach;        /* what certain edges alone put before what */
    rng luck;           /* with a seed, some choices are left to it */
    justify *j;         /* NULL: no proof is wanted */
    bool derive_anyway; /* although the first order breaks few reads */
    bool derived;       /* a round of derivation has been */
    key_set told;       /* the edges that the rounds have added, while they last */
    bool crowded;       /* settling moved so much that a round would have been cheaper */
    bool all_ran;       /* run one by one in the order pos, every transaction could run */
    bool derive_open;   /* rounds also derive edges of ambiguous reads, of which the reasons ... */
    size_t unexplained; /* ... are not kept: so many */
    bool may_wait;      /* running transactions one by one may be left to a later attempt, ... */
    bool run_waits;     /* ... and was */

    /* Versions.  Invariant: list[kw_first[k]..kw_first[k + 1]) holds the installs of key k by the
       place of their commits, and list[where[i]] == i. */
    uint8_t *present; /* per node: the transaction takes part as things stand */
    uint32_t *list;
    uint32_t *where;

    /* Literals and clauses that were made.  Invariant: two events have at most one variable, and no
       clause is written twice. */
    id_map pair_vars; /* (from, to) -> variable */
    key_set written;  /* clauses: obligation and install, or two installs */

    /* The queue.  Invariant: queued[ob] (overlap_queued[inst]) is 1 if and only if the obligation
       (the install, with OVERLAP) stands once in queue[head..n). */
    VEC(uint32_t) queue;
    size_t head;
    lazy_turns turns;
    uint8_t *queued;
    uint8_t *overlap_queued; /* NULL: writers of a key may overlap */

    /* Open reads.  Invariant: cand_var[i] is a variable once chosen_clause of its read is 1; that
       clause says that some candidate is true. */
    uint32_t *open_of;  /* obligation -> index of g->open; NULL if there are none */
    uint32_t *cand_var; /* parallel to g->cand */
    uint8_t *chosen_clause;
    uint32_t never; /* a variable that is false: that of candidates which were ruled out; or NONE */

    /* Candidates of open reads that are left; NULL: none was looked at.  Invariant: left_n[o] is
       NONE if those of read o were not looked at, so that all are left; else left.at[left_at[o]..]
       has the numbers of those that are. */
    uint32_t *left_at, *left_n;
    VEC(uint32_t) left;

    /* Reads that p->reader does not list, because no certain install is their source.  Invariant: a
       read that must watch (lazy_must_watch), and is neither queued nor parked, stands in the list
       of the version that it sees (lazy_watch). */
    uint32_t *unlisted_first, *unlisted; /* per key; only for update_readers.c */
    uint32_t *watch_head, *watch_next, *watch_prev;
    uint32_t *past_first, *past; /* per key: reads that see past an own version (OB_OWN) */

    /* Unknown outcomes.  Invariant: after follow_outcomes() a transaction of unknown outcome is
       present if and only if its literal is true; `decided` is empty then. */
    uint32_t *taken_var;        /* per node: its variable, or NONE */
    uint32_t first_taken;       /* the first of these variables, which come in a row */
    VEC(node_id) unknown;       /* by variable */
    VEC(node_id) outcomes;      /* those with a value, as on the solver's trail */
    VEC(size_t) outcome_levels; /* how many outcomes there were before each decision level */
    VEC(node_id) decided;       /* those whose value may have changed since it was looked at */

    /* Other kinds of obligations.  Invariant: each is clean for the epoch in which it was found so,
       and the epoch changes with the order, the choices and the outcomes. */
    paths *paths;               /* NULL: the level has no paths */
    serial_among *among;        /* NULL: no transactions are serializable only among themselves */
    updates *updates;           /* NULL: readers are ordered like all others */
    slot_search *slots;         /* NULL: every list shows its order */
    initial_values *initial;    /* NULL: all initial values are known */
    struct added_search *added; /* NULL: no module left a choice (added_search.h) */
    uint64_t whole; /* the epoch in which whole transactions were found in order; 0: none */
    uint64_t epoch;
    uint64_t backtracks; /* how often the solver has undone choices */

    /* Scratch.  Invariant: between two callbacks lits and touched are free to use, key_hi is 0 for
       every key, and `conflict` counts only while conflicting. */
    VEC(uint32_t) conflict;
    bool conflicting;
    VEC(uint32_t) lits;
    VEC(uint32_t) touched;     /* keys with moved versions */
    uint32_t *key_lo, *key_hi; /* the windows of touched keys, + 1; 0: untouched */
} lazy;

/* How many candidates of an open read are left, and the number of the i-th of them. */
static inline uint32_t lazy_cands(const lazy *z, uint32_t open)
{
    if (z->left_n && z->left_n[open] != NONE) return z->left_n[open];
    return z->g->cand_first.at[open + 1] - z->g->cand_first.at[open];
}
static inline uint32_t lazy_cand(const lazy *z, uint32_t open, uint32_t i)
{
    assert(i < lazy_cands(z, open));
    bool all = !z->left_n || z->left_n[open] == NONE;
    return all ? z->g->cand_first.at[open] + i : z->left.at[z->left_at[open] + i];
}

/* The place of the commit of an install's transaction. */
static inline uint32_t commit_pos(const lazy *z, uint32_t inst)
{
    return z->pos[commit_of(z->p, z->g->inst_node[inst])];
}

/* Must the read watch the version that it sees, because nothing else would wake it? */
static inline bool lazy_must_watch(const lazy *z, uint32_t ob)
{
    uint32_t rf = z->p->rf[ob];
    return rf == RF_OPEN || (rf == RF_INIT && (z->paths || !z->p->in[z->g->ob_node[ob]]));
}

/* Is the source of the read, if it has several candidates, chosen outright?  Else any version with
   its value satisfies it. */
static inline bool lazy_outright(const lazy *z, uint32_t ob)
{
    return z->updates || (z->among && z->g->serial[z->g->ob_node[ob]]);
}

/* lazy.c */
void lazy_enqueue(lazy *z, uint32_t ob);
void lazy_enqueue_overlap(lazy *z, uint32_t inst);
/* No read watches any version. */
void lazy_watch_clear(lazy *z);
/* Queues what the moves of the order since the last call may have broken. */
void lazy_follow_moves(lazy *z);
/* The versions before and after an install, of transactions that are present; or NONE. */
uint32_t lazy_next_version(const lazy *z, uint32_t inst);
uint32_t lazy_version_before(const lazy *z, uint32_t inst);
/* The next version that is not of v's own transaction, or NONE. */
uint32_t lazy_next_of_others(const lazy *z, uint32_t inst, node_id v);
/* Where in its key's list the first version stands that is not committed before v's begin. */
uint32_t lazy_versions_before(const lazy *z, key_id k, node_id v);
/* The version that v sees: the last one committed before its begin, its own aside; or NONE. */
uint32_t lazy_version_seen(const lazy *z, key_id k, node_id v);
/* Has the version the contents that the read reported? */
bool lazy_may_read(const lazy *z, uint32_t ob, uint32_t inst);
/* Some candidate that stands before the reader, or RF_OPEN; the initial state last, where it is a
   choice. */
uint32_t lazy_any_before(lazy *z, uint32_t ob);
/* A variable that cb_decide alone picks. */
uint32_t lazy_new_var(lazy *z);
/* Of an open read: the candidate that is still free and nearest to what the order has. */
uint32_t lazy_likeliest(lazy *z, uint32_t open);
/* Queues the reads that see the initial version of the key and watch it. */
void lazy_wake_initial(lazy *z, key_id k);
/* The literal "from before to". */
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
/* Do certain edges put a before b, so that "b before a" needs no literal? */
bool lazy_ruled_out(const lazy *z, node_id a, node_id b);

/* lazy_prepare.c */
void lazy_index_open(lazy *z);
void lazy_index_past(lazy *z);
void lazy_index_unlisted(lazy *z);
/* Rounds of first orders and derivations; pos is the last one's order, which z->pos becomes, and
   `known` its graph.  False: `known` has a cycle. */
bool lazy_first_order(lazy *z, order_graph *known, uint32_t *pos);
/* Violated pairs of which the clocks know one half have the other half fixed; what needs a choice
   stays queued.  False: a cycle of certain edges.  If each edge moves much, and nothing was derived
   before, it ends early with `crowded`: then all are better derived at once. */
bool lazy_settle(lazy *z);
/* As lazy_settle(), for paths: versions that a reader surely sees stand before the one it read, and
   the like.  No reason is recorded, so that only "holds" may come of it. */
bool lazy_settle_paths(lazy *z);

/* trial_run.c: pos[event], a linear extension of the known graph that starts from the order z->pos,
   and in which versions wait for the readers of those that they overwrite. */
void lazy_trial_run(lazy *z, const order_graph *known, uint32_t *pos);

/* serial_search.c, wide_search.c: the same with backtracking, or along many lines at once, such
   that hardly a read is broken.  How many events they could run: all, or the most that were run;
   then pos has the order of these if they are more than half.  Events are whole transactions, or
   their parts. */
uint32_t lazy_serial_search(lazy *z, const order_graph *known, uint32_t *pos);
uint32_t lazy_wide_search(lazy *z, const order_graph *known, uint32_t *pos);

/* lazy_check.c: NULL, or which invariant of this file is broken.  Linear in the history, so debug
   builds call it at the border where an order is offered as the answer (at_rest: nothing is
   queued), and hostile builds (RATEL_HOSTILE) before every decision. */
const char *lazy_check(lazy *z, bool at_rest);

/* paths.c */
#define FROM_INIT 0xfffffffeu /* as a source: the initial version; NONE: nothing stands before */
void paths_start(lazy *z);
/* May transactions be moved for good that certain edges alone put elsewhere? */
bool paths_may_settle(const lazy *z);
/* An edge against the current order that certain edges alone, and ob, ask for; false if none. */
bool paths_sure_edge(const lazy *z, uint32_t ob, arc *e);
/* An open read reads from that install, or FROM_INIT, as things stand. */
void paths_note(lazy *z, uint32_t ob, uint32_t from);
/* Looks at an obligation: false if nothing that could explain it stands before it, or only the
   initial state, and it may not have been that. */
bool paths_check(lazy *z, uint32_t ob);
/* What an obligation reads from as things stand: install, FROM_INIT or NONE. */
uint32_t paths_stands(const lazy *z, uint32_t ob);
/* For lazy_check(): is the read parked, or does it read what was noted, with nothing between? */
bool paths_at_rest(lazy *z, uint32_t ob);
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
