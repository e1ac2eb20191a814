/*
 * modify.h - writing one row: what modify.c and merge_rows.c share.
 *
 * A row that is written has all columns of its table.  What PostgreSQL would not write (a key that
 * another row has, a constraint that fails) is raised.
 */
#ifndef RATEL_SQL_MODIFY_H
#define RATEL_SQL_MODIFY_H

#include "sql/exec.h"

/* Defaults of the columns that an INSERT does not give. */
value *modify_blank_row(sql_exec *x, const plan *p, uint64_t number);
void modify_insert_row(sql_exec *x, const plan *p, value *row, sql_result *out, tuples *rows);
/* The row after SET, with what is computed from it; constraints are not tested yet. */
value *modify_set_row(sql_exec *x, const plan *p, const value *old, frame *f, uint64_t number);
/* Tests the constraints of a row that takes another one's place, and writes it. */
void modify_update_row(sql_exec *x, const plan *p, uint32_t r, const value *old, value *row);
void modify_delete_row(sql_exec *x, const plan *p, uint32_t r, const value *old);
/* Has another row than `self` the key now? */
bool modify_is_taken(sql_exec *x, table *t, const unique_key *u, const value *row, uint32_t self);
/* Do both rows have the key, without nulls? */
bool modify_same_key(const table *t, const unique_key *u, const value *a, const value *b);
/* No other row has this key: it has a null, or what a sequence gave and nobody saw. */
bool modify_key_null(const unique_key *u, const value *row);

/* old_keys.c: the keys that the rows of a statement had; NULL among them: a new row */
typedef struct old_keys old_keys;
old_keys *old_keys_of(sql_exec *x, const table *t, const unique_key *u, const value *const *old,
                      uint32_t n);
/* Did another one than `self` have the key of this row? */
bool old_keys_have(const old_keys *k, const value *row, uint32_t self);
/* A newer version than the one that was read is in the way. */
_Noreturn void modify_raise_conflict(sql_exec *x, const row_version *v);

/* merge_rows.c */
void exec_merge(sql_exec *x, const plan *p, sql_result *out);

#endif
