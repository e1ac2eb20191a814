/*
 * chosen_values.h - values that the database chose: sequences, clocks, random functions.
 *
 * The first answer that shows such a value binds it, and whatever reads it later must agree.  A
 * sequence never gives a value twice, in whatever order the transactions committed.
 */
#ifndef RATEL_AUDIT_CHOSEN_VALUES_H
#define RATEL_AUDIT_CHOSEN_VALUES_H

#include "audit/replay.h"

typedef enum bind_result {
    BIND_NONE,     /* the result has no open value */
    BIND_DONE,     /* those that the answer shows are bound */
    BIND_UNCLEAR,  /* which row of the answer shows which value cannot be told */
    BIND_DIFFERENT /* they cannot be what the answer shows */
} bind_result;

/* The result agrees with the answer, but for values that were open.  May jump as value_parse. */
bind_result chosen_bind(engine *e, sql_result *r, const log_stmt *s);
/* Notes what sequences gave, as far as a statement that agrees shows it. */
void chosen_note(engine *e, const sql_result *r, const log_stmt *s, uint32_t stmt);
/* Two statements that a sequence gave the same value to; false: there are none. */
bool chosen_twice(engine *e, draw *first, draw *second);

#endif
