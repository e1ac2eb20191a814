/*
 * justify_internal.h - private to justify*.c.
 *
 * justify_log.c keeps the log and trims it; justify_steps.c makes single steps, with the clause
 * that each adds; justify.c makes a proof of the log of lazy.c; justify_weak.c finds and proves
 * violations of the weak levels.
 */
#ifndef RATEL_DECIDE_PROOF_JUSTIFY_INTERNAL_H
#define RATEL_DECIDE_PROOF_JUSTIFY_INTERNAL_H

#include "base/map.h"
#include "decide/proof/justify.h"
#include "solve/order.h"

#define NONE UINT32_MAX
#define NEVER_FALSE UINT32_MAX /* a literal that is true in every execution */
/* In place of a step or a literal: it says nothing, because it is always true; always false. */
#define ALWAYS (UINT32_MAX - 1)
#define NEVER (UINT32_MAX - 2)

enum var_kind {
    VAR_BEFORE,
    VAR_READ,
    VAR_TAKEN,
    VAR_CHOSEN,
    VAR_STANDS, /* a: stand */
    VAR_RIGHT,  /* a: stand, b: leaver */
    VAR_FIRST   /* a: content */
};
typedef struct var_info {
    uint32_t kind, a, b;
} var_info;

enum log_kind { LOG_CLAUSE, LOG_CYCLE, LOG_LEARNED };
typedef struct log_entry {
    uint8_t kind, why;
    bool needed;
    uint32_t n, hints_n;
    size_t lits;       /* in pool */
    size_t nodes, len; /* LOG_CYCLE; LOG_CLAUSE: words of proof_hop */
    size_t hints;      /* LOG_LEARNED: entries, in pool */
    uint32_t ob, w, u;
    uint32_t done; /* the step that says it, 0: none yet */
} log_entry;

typedef struct lit_name { /* a literal of the proof */
    uint32_t kind, a, b, c;
} lit_name;

typedef VEC(uint32_t) u32s;

/* An axiom that stands in the proof. */
typedef struct said_axiom {
    uint32_t line; /* its own */
    uint32_t step; /* the line that has its clause without the guards that surely hold */
} said_axiom;

struct justify {
    order_problem *p;
    asg *g;
    mem *m;
    proof proof;
    printer *dump; /* entries are printed, and not kept */

    VEC(var_info) vars;
    VEC(log_entry) entries;
    u32s pool;    /* of the log */
    size_t limit; /* of pool, 0: none */
    bool full;    /* beyond it: nothing is kept any more */
    uint8_t why;
    uint32_t ob, w, u;
    u32s hops; /* of the next clause */

    size_t base_known;     /* edges of p->known that are no deductions */
    order_graph base;      /* those edges */
    uint32_t *forced_head; /* per event: deductions that leave it, index + 1; next: forced_next */
    uint32_t *forced_next, *forced_into, *forced_into_next, *forced_step;
    uint32_t *in_ob; /* per forced node of unknown outcome: the read that needs it */
    uint32_t *in_step;

    /* search for paths */
    uint32_t *mark[2], *via[2], round;
    u32s front[2], path;

    /* the proof */
    VEC(lit_name) names;
    id_index name_index;
    VEC(proof_line) lines;
    VEC(size_t) clause; /* of each line: where its literals begin in `lits`; one more */
    u32s lits, lines_pool;
    VEC(said_axiom) said; /* in the order in which they were said */
    id_index said_index;
    VEC(int8_t) value;
    u32s trail, made, hints, used;

    uint8_t *side;       /* per node: scratch of HOP_NEXT */
    node_id *first_part; /* per node of a graph of parts: the first of its transaction */
    uint32_t *open_of;   /* per obligation: index of asg.open; NULL if there are none */

    struct blocked *blocked; /* justify_weak.c */
};

/* print_clauses.c: the last entry of the log, as a line. */
void justify_print(justify *j);

/* justify_log.c: marks the entries that the first empty clause needs; false: it does not follow. */
bool justify_trim(justify *j);

/* justify_steps.c: literals of the proof; the clause that is being made is j->made. */
uint32_t justify_before(justify *j, uint32_t from, uint32_t to);
uint32_t justify_took_part(justify *j, node_id v);
uint32_t justify_reads(justify *j, uint32_t ob, node_id w);
uint32_t justify_translate(justify *j, uint32_t lit);
uint32_t justify_named(justify *j, uint32_t kind, uint32_t a, uint32_t b, uint32_t c);
/* justify_chains.c: the same of a stand, and of a leaver right before it. */
uint32_t justify_stands(justify *j, uint32_t stand);
uint32_t justify_right(justify *j, uint32_t stand, uint32_t leaver);
void justify_made_not(justify *j, uint32_t lit);
/* Closes the line whose clause is in j->made; returns its number, from 1. */
uint32_t justify_add_line(justify *j, proof_line line);
/* The clause in j->made from the steps hinted at; 0: it does not follow. */
uint32_t justify_rup(justify *j);
void justify_hint(justify *j, uint32_t step_id);
/* Each returns the number of the step that says so, guards that surely hold left out; 0: none. */
uint32_t justify_axiom(justify *j, proof_line x);
uint32_t justify_say_read(justify *j, uint32_t ob, node_id w, node_id u);
uint32_t justify_say_wr(justify *j, uint32_t ob, node_id w);
uint32_t justify_say_taken(justify *j, uint32_t ob, node_id w);
uint32_t justify_say_pair(justify *j, enum proof_step kind, node_id a, node_id b);
uint32_t justify_say_list(justify *j, uint32_t ob, node_id a, node_id b);
uint32_t justify_say_ver(justify *j, key_id k, node_id a, node_id b);
uint32_t justify_say_extra(justify *j, const edge *e);
uint32_t justify_say_overlap(justify *j, key_id k, node_id a, node_id b);
uint32_t justify_say_fault(justify *j, node_id v);
uint32_t justify_say_from(justify *j, uint32_t ob);
uint32_t justify_say_initial(justify *j, uint32_t a, uint32_t b);
/* The read of ob from w (NO_ID: the initial state), and what leads to its reader. */
uint32_t justify_say_sees(justify *j, uint32_t ob, node_id w, const proof_hop *hops, size_t n);
uint32_t justify_say_loop(justify *j, node_id v, const proof_hop *hops, size_t n);
uint32_t justify_say_among(justify *j, node_id v, const proof_hop *hops, size_t n);
uint32_t justify_say_stuck(justify *j, node_id v, const proof_hop *hops, size_t n);
/* A rule of chains, as justify_chain. */
uint32_t justify_say_chain(justify *j, enum chain_rule rule, uint32_t at, uint32_t content,
                           node_id w, uint32_t u);
/* What a module said: a choice, or (set and arc of p->added) what choosing that set means. */
uint32_t justify_say_added(justify *j, uint32_t choice, uint32_t set, uint32_t arc);
uint32_t justify_say_rt(justify *j, uint32_t from, uint32_t to); /* events */
uint32_t justify_say_cycle(justify *j);                          /* through the events in j->path */

/* justify_weak.c: the steps of a blocked choice. */
uint32_t justify_say_blocked(justify *j, uint32_t index);

#endif
