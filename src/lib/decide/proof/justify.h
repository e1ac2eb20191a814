/*
 * justify.h - why a history is violated, as steps that can be checked one by one.
 *
 * While lazy.c decides, it tells a `justify` what its variables mean, why it wrote each clause and
 * which cycles it met; the solver tells it what it learned.  After a contradiction,
 * justify_steps keeps what that needs, finds for each fact the edges of the history that show
 * it, and leaves numbered steps (doc/formats/certificate.md).  Nobody pays for this unless
 * order_problem.justify is set.
 */
#ifndef RATEL_DECIDE_PROOF_JUSTIFY_H
#define RATEL_DECIDE_PROOF_JUSTIFY_H

#include "decide/lazy/lazy.h"
#include "base/printer.h"
#include "decide/weak/weak.h"
#include "opt/proof_step.h"
#include "solve/solve.h"

typedef struct justify justify;

justify *justify_new(order_problem *p);
/* Nobody asked for a proof, but some transactions that make one would be welcome: the log gives up
   beyond that many words.  justify_steps is false then. */
void justify_limit(justify *j, size_t words);
/* Instead of a log for a proof: every clause that the solver is given becomes a line. */
void justify_dump(justify *j, printer *d);

/* --- told by lazy.c ------------------------------------------------------------------------- */

enum justify_why {
    BECAUSE_UNSAID,
    BECAUSE_READ,    /* ob, writer w or NO_ID for the initial state, other writer u */
    BECAUSE_FROM,    /* ob: one of its candidates */
    BECAUSE_TAKEN,   /* ob, w: who was read from took part */
    BECAUSE_OVERLAP, /* key, u and w: their writers do not overlap */
    BECAUSE_FAULT,   /* u: a node whose reads nothing explains */
    BECAUSE_SHOWN,   /* index of asg.extra */
    BECAUSE_INITIAL, /* ob and w, two obligations: both cannot have seen the initial state */
    BECAUSE_BLOCKED, /* a choice that justify_weak refuted */
    BECAUSE_PATH,    /* ob, writer w or NO_ID, u: a later version that leads to the reader; hops */
    BECAUSE_LOOP,    /* u: a cycle through it that update serializability forbids; hops */
    BECAUSE_AMONG,   /* u: a cycle through it that mixed-pg forbids to serializable ones; hops */
    BECAUSE_STUCK,   /* u: it waits in a circle; hops: all that wait (justify_stuck.c) */
    BECAUSE_ADDED,   /* ob: a choice of order_problem.added, or of its set w the arc u */
    BECAUSE_CHAIN    /* a rule of chains: justify_chain */
};

void justify_start(justify *j); /* before anything is derived */
/* What a variable stands for. */
void justify_is_before(justify *j, uint32_t var, uint32_t from, uint32_t to);
void justify_is_read(justify *j, uint32_t var, uint32_t ob, uint32_t w);
void justify_is_taken(justify *j, uint32_t var, node_id v);
/* The set of that number is the one that is true, of what that addition says. */
void justify_is_chosen(justify *j, uint32_t var, uint32_t addition, uint32_t set);
/* Chains (asg/list_chains.h): the stand; that leaver is right before the stand; that content was
   there at first. */
void justify_is_stand(justify *j, uint32_t var, uint32_t stand);
void justify_is_right(justify *j, uint32_t var, uint32_t stand, uint32_t leaver);
void justify_is_first(justify *j, uint32_t var, uint32_t content);
/* The reason of the next clause; w and u are nodes. */
void justify_reason(justify *j, enum justify_why why, uint32_t ob, node_id w, node_id u);
/* The same of a rule of chains.  at: the node that stands; of READ, SOURCE and SAW an obligation;
   of OWN a read, with u the node that made it.  ONE: u is the other content, and at may be NO_ID
   for the initial state. */
void justify_chain(justify *j, enum chain_rule rule, uint32_t at, uint32_t content, node_id w,
                   uint32_t u);
/* How somebody leads to the one before (the first of them: to the reader). */
enum hop_kind {
    HOP_SO,     /* to: earlier in its session */
    HOP_RT,     /* to: ended before it began */
    HOP_WR,     /* to: it read from that one, by obligation `with` */
    HOP_WW,     /* to: wrote key `with` too, and earlier */
    HOP_NEXT,   /* the same, and nobody wrote it in between */
    HOP_BEHIND, /* of HOP_NEXT: to wrote the key behind both; who is not said did before both */
    HOP_OUT,    /* of HOP_NEXT: to took no part */
    HOP_ADDED,  /* to: a module said so, by addition `with` */
    HOP_RW,     /* to: read the version of `from` (NO_ID: initial) by obligation `with`, and it
                   wrote that key */
    /* of BECAUSE_STUCK, with HOP_OUT: why `to` waits */
    HOP_WAITS, /* for what operation `with` read of key `from` */
    HOP_WRONG, /* for nothing: a read of it has no explanation */
    HOP_AFTER  /* for `from`, whose version is older: asg.extra[with] */
};
typedef struct proof_hop {
    uint32_t kind;
    node_id to;
    uint32_t with;
    node_id from;
} proof_hop;
/* Of the next clause, from the reader on. */
void justify_hop(justify *j, proof_hop x);
/* justify_stuck.c: the reason and the hops of the next clause, which says that the whole
   transactions that `a` left out, of those present, wait in a circle.  part: of each whole
   transaction one of its parts. */
void justify_stuck(justify *j, const decision *a, const uint8_t *present, const node_id *part);
void justify_clause(justify *j, const uint32_t *lits, size_t n);
/* A cycle of the order, and the clause that forbids it. */
void justify_cycle(justify *j, const uint32_t *nodes, size_t n, const uint32_t *lits, size_t k);
const proof *justify_proof(justify *j);

/* --- afterwards ------------------------------------------------------------------------------ */

enum {
    LITERAL_BEFORE,
    LITERAL_IN,
    LITERAL_READS,
    LITERAL_CHOSEN,
    LITERAL_STANDS,
    LITERAL_RIGHT,
    LITERAL_FIRST
};
typedef struct proof_literal {
    uint32_t kind;
    uint32_t a, b, c; /* BEFORE: events a, b; IN: node a; READS: op a, key b, node c or NO_ID;
                         CHOSEN: addition a, set b; STANDS: node a, content b; RIGHT: the same and
                         node c or NO_ID; FIRST: content b */
    bool negated;
} proof_literal;

typedef struct proof_line {
    uint32_t kind;   /* enum proof_step */
    node_id t, w, u; /* in the order of the step's arguments; RT: events; ASSUME: addition, set or
                        NO_ID, edge or NO_ID */
    op_id op;        /* with t */
    key_id key;
    size_t first,
        n; /* CYCLE: events; RUP: literals; SEES, LOOP, AMONG, STUCK: words of proof_hop; in
                         justify_pool */
    size_t hints, hn;       /* RUP: steps */
    uint32_t rule, content; /* CHAIN: enum chain_rule, a content; ONE: u is another content */
} proof_line;

/* After lazy_decide found p violated: the steps, from 1 on.  False if it cannot be told why (a
   deduction that was not said here). */
bool justify_steps(justify *j, const decision *a);
/* A weak level, after weak_decide found it violated; the same for read-uncommitted, after
   asg_list_orders. */
bool justify_weak(justify *j, enum weak_level level, bool so);
bool justify_uncommitted(justify *j, bool so);
/* Without a search: a read of v that nothing explains; two lists of k that contradict. */
bool justify_fault(justify *j, node_id v);
bool justify_list_fault(justify *j, key_id k);

size_t justify_count(const justify *j);
const proof_line *justify_line(const justify *j, size_t i);
const uint32_t *justify_pool(const justify *j);
proof_literal justify_literal(const justify *j, uint32_t lit);
/* Marks the additions of modules that the steps use. */
void justify_added(const justify *j, uint8_t *used);
/* Marks the nodes that the steps name, and everyone whom a read that they name can have seen. */
void justify_nodes(const justify *j, uint8_t *seen);

#endif
