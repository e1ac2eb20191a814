/*
 * formula.h - private to the room: the facts of a history that an encoding speaks of, and clauses.
 *
 * Nodes are the transactions that take part or may.  A literal is 2 * variable + sign; two more
 * stand for true and false and never reach a clause.
 */
#ifndef RATEL_EMIT_FORMULA_H
#define RATEL_EMIT_FORMULA_H

#include "base/map.h"
#include "emit/emit.h"
#include "history/additions.h"
#include "opt/mixed_row.h"

#define LIT_FALSE 0xfffffffeu
#define LIT_TRUE 0xffffffffu
#define FROM_INIT NO_ID /* the candidate of a read that is the initial state */

enum emit_kind {
    VAR_IN,          /* a: node that takes part */
    VAR_SOURCE,      /* a: read, b: index of its candidate */
    VAR_PART_SOURCE, /* the same along the order of parts */
    VAR_BEFORE,      /* a: order, b before c */
    VAR_PATH,        /* a: graph, from b to c */
    VAR_STEP,        /* a: graph, an edge from b to c */
    VAR_DEPENDS,     /* b: node, c: node that depends on it, says a module */
    VAR_CHOSEN,      /* a: what a module added, b: its set that is true */
    VAR_AUX          /* a: what it is for, b, c */
};

typedef struct emit_var {
    uint32_t kind, a, b, c;
} emit_var;

/* A version: what a node leaves at a key. */
typedef struct emit_install {
    key_id key;
    uint32_t node;
    value_id value;
    op_id op; /* of its last write */
    bool tomb;
} emit_install;

/* An obligation (levels.md H-6). */
typedef struct emit_read {
    uint32_t node;
    key_id key;
    value_id value;
    op_id op;
    bool pred;
    uint32_t first, n; /* its candidates */
} emit_read;

/* A part of a node: its snapshot (op NO_ID), or its current statements from op on. */
typedef struct emit_part {
    uint32_t node;
    op_id op;
} emit_part;

struct emit_formula {
    mem *m;
    const history *h;
    emit_question q;

    uint32_t n; /* nodes */
    txn_id *txn;
    uint8_t *maybe;        /* its outcome is unknown */
    uint8_t *never;        /* it cannot have taken part */
    uint8_t *ordered;      /* [a * n + b]: a before b in session order, or by the clock if the level
                             counts real time as a dependency */
    uint8_t *session;      /* [a * n + b]: the session order alone */
    uint8_t *common;       /* [a * n + b]: a and b install a common key */
    emit_install *install; /* by key */
    uint32_t *key_first;   /* of a key, installs[key_first[k]..key_first[k + 1]) */
    uint32_t *node_first;  /* reads of a node: they stand together, in program order */
    VEC(emit_read) read;
    VEC(uint32_t) candidate; /* nodes, or FROM_INIT */

    uint32_t orders, events[2];
    bool split; /* order 0 is of begins and commits: 2 * node, 2 * node + 1 */

    /* Mixtures (emit_mixed.c), else NULL */
    uint8_t *row;     /* per node: enum mixed_row */
    uint8_t *serial;  /* per node: it is serializable, of mixed-pg */
    uint8_t *deleted; /* per key, of mixed-pg: a transaction deletes it physically */
    /* What modules added (emit_added.c); NULL: nothing */
    const additions *added;
    uint32_t *node_of;    /* per transaction: its node; NO_ID: it does not take part */
    uint32_t first_point; /* the event of helper point 0, in order 0 */
    uint32_t *depends;    /* [a * n + b]: the literal "b depends on a", or LIT_FALSE; NULL: no such
                              statement, or a level that does not look at it */
    /* InnoDB's levels (emit_parts.c): order 1 is of these. */
    VEC(emit_part) part;
    uint32_t *part_first;  /* per node */
    uint32_t *part_source; /* per candidate of a read that has several */

    /* What unit clauses settle (emit_units.c), NULL before they were looked at. */
    uint64_t *known[2];      /* rows of bits: of each order, closed */
    uint64_t *sure;          /* of graph 0: paths of steps that are sure, closed */
    uint32_t steps_in;       /* the order that contains the steps of graph 0 */
    uint8_t *settled_in;     /* per node */
    uint8_t *settled_source; /* per candidate */

    VEC(emit_var) var;
    size_t stated; /* variables of the finished formula; a later one is in no clause: false */
    id_map in, before[2], path[2], step[2];
    VEC(uint32_t) source; /* per candidate: its literal, or NO_ID */
    VEC(uint32_t) lit;    /* of all clauses, each after its length */
    size_t clauses, open; /* open: where the length of the clause that is built stands */
    bool satisfied;       /* that one has a true literal */
};

static inline uint32_t lit_not(uint32_t l)
{
    return l ^ 1u;
}

/* emit_facts.c */
void facts_load(emit_formula *f);
static inline bool facts_installs(const emit_formula *f, uint32_t node, key_id k)
{
    for (uint32_t i = f->key_first[k]; i < f->key_first[k + 1]; i++)
        if (f->install[i].node == node) return true;
    return false;
}
/* Times of a transaction, levels.md 4: call and return of its begin and of its commit. */
enum emit_stamp { STAMP_BEGIN_CALL, STAMP_BEGIN_RETURN, STAMP_COMMIT_CALL, STAMP_COMMIT_RETURN };
/* Is stamp `from` of a before stamp `to` of b by the clock, drift regarded? */
bool facts_clock(const emit_formula *f, uint32_t a, enum emit_stamp from, uint32_t b,
                 enum emit_stamp to);

enum settled { SETTLED_OPEN, SETTLED_TRUE, SETTLED_FALSE };

/* emit_units.c */
bool units_order(const emit_formula *f, uint32_t order, uint32_t a, uint32_t b);
bool units_path(const emit_formula *f, uint32_t graph, uint32_t a, uint32_t b);
bool units_no_path(const emit_formula *f, uint32_t graph, uint32_t a, uint32_t b);
void units_state(emit_formula *f); /* the facts, as clauses */
void units_close_paths(emit_formula *f, uint32_t graph);
void units_simplify(emit_formula *f, void (*build)(emit_formula *f));

/* formula.c; the names that end in _var are of the variable even if it is settled. */
uint32_t formula_in_var(emit_formula *f, uint32_t node);
uint32_t formula_source_var(emit_formula *f, uint32_t read, uint32_t i);
uint32_t formula_before_var(emit_formula *f, uint32_t order, uint32_t a, uint32_t b);
uint32_t formula_var(emit_formula *f, uint32_t kind, uint32_t a, uint32_t b, uint32_t c);
uint32_t formula_in(emit_formula *f, uint32_t node);
uint32_t formula_source(emit_formula *f, uint32_t read, uint32_t i); /* its i-th candidate */
uint32_t formula_before(emit_formula *f, uint32_t order, uint32_t a, uint32_t b);
uint32_t formula_path(emit_formula *f, uint32_t graph, uint32_t a, uint32_t b);
uint32_t formula_step(emit_formula *f, uint32_t graph, uint32_t a, uint32_t b);
void clause_open(emit_formula *f);
void clause_add(emit_formula *f, uint32_t lit);
void clause_close(emit_formula *f);
void clause_of(emit_formula *f, const uint32_t *lits, size_t n);
#define CLAUSE(f, ...)                                                                             \
    clause_of((f), (uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))
/* Path variables follow every step variable of the graph over so many nodes. */
void formula_close_paths(emit_formula *f, uint32_t graph, uint32_t nodes);

/* emit_added.c: what modules added, between the events of order 0. */
void added_load(emit_formula *f);
void added_open(emit_formula *f); /* after events[0]: helper points, and the dependencies */
void added_state(emit_formula *f);
static inline uint32_t added_depends(const emit_formula *f, uint32_t a, uint32_t b)
{
    return f->depends ? f->depends[(size_t)a * f->n + b] : LIT_FALSE;
}

/* The encodings: emit_transactions.c, emit_events.c, emit_mixed.c, emit_parts.c,
   emit_baselines.c. */
void encode_dependency_order(emit_formula *f); /* that of read-committed */
void mixed_load_rows(emit_formula *f);
uint32_t mixed_begin(const emit_formula *f, uint32_t node);
void encode_mixed(emit_formula *f);
void encode_parts(emit_formula *f);
uint32_t parts_source(emit_formula *f, uint32_t read, uint32_t i);
void encode_transactions(emit_formula *f);
void encode_updates(emit_formula *f);
void encode_events(emit_formula *f);
void encode_adya(emit_formula *f);
void encode_viper(emit_formula *f);
void encode_polysi(emit_formula *f);

#endif
