/*
 * mixed_row.h - what one transaction of a mixture is held to (doc/levels.md, "Mixed levels").
 *
 * At the levels `mixed` and `mixed-pg` every transaction has a level of its own, and each of these
 * is a row of the definition: which events the transaction has, and what its reads and writes must
 * satisfy.  Levels without a row (InnoDB's, causal and others) leave the mixture undecided.
 */
#ifndef RATEL_OPT_MIXED_ROW_H
#define RATEL_OPT_MIXED_ROW_H

#include "opt/level.h"

/* ROW_NONE: the level that was named has no row. */
enum mixed_row { ROW_NONE, ROW_RU, ROW_RC, ROW_RR, ROW_SI, ROW_SER };

/* A transaction that names no level, in a history whose header names none. */
#define ROW_DEFAULT ROW_SER

/* Is the level one of those that mix? */
static inline bool level_is_mixed(enum level_id id)
{
    return id == LEVEL_MIXED || id == LEVEL_MIXED_PG;
}

/* The row of a level that is written as a JSON string, in any of the names of the five levels. */
enum mixed_row mixed_row_of(const char *json, size_t n);

/* The row as `mixed-pg` has it: read-uncommitted is read-committed there, serializable transactions
   read and write as snapshot isolation does (what else they must satisfy is a matter of all of them
   together), and the repeatable-read of Adya does not exist. */
enum mixed_row mixed_row_of_postgres(enum mixed_row row);

#endif
