/*
 * script_text.h - transactions on keys as a script: what a recording is turned into so that it can
 * be run again.
 */
#ifndef RATEL_STEP_SCRIPT_TEXT_H
#define RATEL_STEP_SCRIPT_TEXT_H

#include "base/strbuf.h"

typedef struct script_op {
    char kind; /* r(ead), w(rite), d(elete), s(can), a(ppend), q(uery): sql */
    const char *sql;
    uint32_t id, to; /* of a scan the first and the last */
    int64_t value;   /* written, or returned by the read if not absent */
    bool absent;
    bool absent_at_first; /* the row may not be there, so a write may have to insert it */
    bool out;             /* left out */
    int64_t when;         /* for the first order of steps */
} script_op;

typedef struct script_txn {
    uint32_t session;
    bool aborts;
    bool out;          /* left out */
    uint32_t first, n; /* of script.ops */
    int64_t end;
} script_txn;

/* Of a session: where it is, and whether its commits are held (spec.h). */
typedef struct script_place {
    const char *node; /* NULL: where one can write */
    bool held;
} script_place;

/* A step of an order: the op-th operation of a transaction, or its end (op == n of it). */
typedef struct script_turn {
    uint32_t txn, op;
} script_turn;

typedef struct script {
    VEC(script_txn) txns; /* those of one session in their order */
    VEC(script_op) ops;
    VEC(int64_t) rows; /* id and value, in turn */
    VEC(script_turn) order;
    uint32_t sessions;
    VEC(script_place) places; /* of the sessions; those that are not there have none */
    bool lists;               /* values are lists, and empty at first */
    VEC(const char *) setup;  /* statements instead of a table of keys */
} script;

/* Steps that are not left out, in the order of their times. */
void script_order_by_time(script *s, mem *m);
/* Another order, by drawing the next session at random with this seed. */
void script_order_by_chance(script *s, mem *m, uint64_t seed);
/* Would the reads return what the script says if each saw the newest committed value, or with
   `dirty` the newest value?  Then this order is worth trying first. */
bool script_order_promises(const script *s, bool dirty);
/* The present order as a line of the script. */
void script_write_order(const script *s, strbuf *out);
/* What the reads of the script must return, for `happens`. */
void script_write_signs(const script *s, strbuf *out);
/* The script as text with its present order; `about` is a line for its title.  `more` are other
   orders, and `signs` is what follows `happens`; either may be NULL. */
void script_write(const script *s, const char *about, const char *level, const char *more,
                  const char *signs, strbuf *out);
/* The place of a session. */
script_place script_place_of(const script *s, uint32_t session);
/* The name of a step, as in the text. */
void script_step_name(const script *s, script_turn t, char *buf, size_t cap);

#endif
