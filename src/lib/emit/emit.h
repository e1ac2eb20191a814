/*
 * emit.h - the order problem of a level as a formula for other solvers (doc/backends.md).
 *
 * Written from the axioms of doc/levels.md, and on purpose without a line of what decides (no asg,
 * no order, no decide): what another solver says of this formula is a second opinion on the
 * engines.  A formula is clauses over Boolean variables and atoms "a before b" of one or two strict
 * total orders.  Nothing is derived before it is written but what unit clauses settle
 * (emit_units.c): it is the whole problem, quadratic or cubic in the transactions, and meant for
 * small histories.
 */
#ifndef RATEL_EMIT_EMIT_H
#define RATEL_EMIT_EMIT_H

#include "base/printer.h"
#include "history/history.h"
#include "opt/level.h"

/* Ways to state snapshot isolation; every other level has the plain one. */
enum emit_encoding {
#define ENCODING(id, name, about) EMIT_##id,
#include "emit/encodings.def"
#undef ENCODING
    EMIT_ENCODINGS
};
bool emit_encoding_at(size_t i, const char **name, const char **about);
bool emit_encoding_named(const char *name, enum emit_encoding *out);

typedef struct emit_question {
    level_ref level;
    bool session_order;
    enum ryow ryow;
    int64_t drift;
    enum emit_encoding encoding;
} emit_question;

typedef struct emit_formula emit_formula;

/* Fails through the guard of m: GUARD_UNSUPPORTED, with the reason, if the history or the level has
   something that no encoding states. */
emit_formula *emit_build(mem *m, const history *h, const emit_question *q);

enum emit_format { EMIT_SMT2, EMIT_DIMACS, EMIT_GNF, EMIT_FORMATS };
bool emit_format_named(const char *name, enum emit_format *out);
/* GUARD_UNSUPPORTED if the eager transitivity of DIMACS would be too long to be useful. */
void emit_write(emit_formula *f, enum emit_format format, printer *out);

/* What a satisfying assignment says: the transactions that take part, in their commit order, and
   whom the reads with several candidates read from.  value(ud, name): of a variable of SMT-LIB, or
   of a DIMACS variable by its number. */
typedef struct emit_choice {
    op_id op;
    key_id key;
    txn_id writer; /* NO_ID: the initial state */
} emit_choice;
typedef struct emit_point { /* a part of a transaction: its snapshot (op NO_ID), or from op on */
    txn_id txn;
    op_id op;
} emit_point;
typedef struct emit_event { /* of a transaction, or a helper point: at, enum added_at */
    uint32_t of, at;
} emit_event;
typedef struct emit_model {
    txn_id *order;
    uint32_t ordered;
    emit_choice *choice;
    size_t choices;
    emit_point *part; /* of InnoDB's levels: the parts in their order, and the choices along it */
    emit_choice *part_choice;
    size_t parts, part_choices;
    emit_event *event; /* under what modules added: all events in their order */
    size_t events;
} emit_model;
typedef int64_t (*emit_value)(void *ud, const char *name);
void emit_read_model(emit_formula *f, enum emit_format format, emit_value value, void *ud,
                     emit_model *out);

typedef struct emit_size {
    uint64_t variables, clauses, events;
} emit_size;
emit_size emit_count(const emit_formula *f);

#endif
