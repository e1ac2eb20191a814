/*
 * row_triggers.h - triggers for each row: when they run, and what they do to it.
 */
#ifndef RATEL_SQL_ROW_TRIGGERS_H
#define RATEL_SQL_ROW_TRIGGERS_H

#include "sql/exec.h"

/* TRIGGER_TYPE_* of PostgreSQL's parse nodes. */
enum {
    TRIGGER_BEFORE = 2,
    TRIGGER_INSERT = 4,
    TRIGGER_DELETE = 8,
    TRIGGER_UPDATE = 16,
    TRIGGER_TRUNCATE = 32
};

/* Runs the BEFORE triggers of the plan's table; they may change `row`.  False: it is left out.
   `several`: the statement has more rows than this one. */
bool triggers_before(sql_exec *x, const plan *p, int event, const value *old, value *row,
                     bool several);
/* Runs those FOR EACH STATEMENT, before or after it; TRUNCATE names its table. */
void triggers_of_statement(sql_exec *x, const plan *p, const table *t, bool before);
/* A row was written: its AFTER triggers run when the statement ends. */
void triggers_note(sql_exec *x, const plan *p, int event, const value *old, const value *row);
/* The statement has ended; `in_order`: its rows had an order of their own. */
void triggers_after(sql_exec *x, size_t from, bool in_order);

#endif
