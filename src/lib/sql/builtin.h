/*
 * builtin.h - functions and operators of PostgreSQL that are told apart by the types of their
 * arguments.
 *
 * A row of a table has a name (an operator is a name, too) and a shape: a letter for the type of
 * each argument, ">" and the letter of the result.
 *
 *   b boolean  2 4 8 integers  n numeric  f F real, double  t text  d date  p timestamp
 *   z timestamptz  i interval  m time  y bytea  u uuid  j json  J jsonb
 *   A any array  e its element  T text[]  * any type;  "..." after * : as many as there are
 */
#ifndef RATEL_SQL_BUILTIN_H
#define RATEL_SQL_BUILTIN_H

#include "sql/exec.h"

typedef value builtin_run(sql_exec *x, const expr *e, const value *v);

enum { BUILTIN_STRICT = 0, BUILTIN_NULLS = 1, BUILTIN_STABLE = 2, BUILTIN_EXACT = 4 };

typedef struct builtin {
    const char *name, *shape;
    builtin_run *run;
    unsigned flags; /* NULLS: it is called with nulls; STABLE: not evaluated by the planner;
                       EXACT: only for arguments of exactly these types */
} builtin;

extern const builtin moment_builtins[], json_builtins[], array_builtins[], text_builtins[],
    float_builtins[], format_builtins[], number_builtins[], digest_builtins[], byte_builtins[],
    measure_builtins[], template_builtins[], path_builtins[];
/* A row as an object: names and values in turn. */
extern const builtin row_object;

/* record_calls.c: a row as text; an item of an array or a member of an object set */
extern const builtin record_text, array_item_set, jsonb_member_set;
/* ARRAY[...] */
extern const builtin array_constructor;
/* json_agg, jsonb_agg */
/* `lines`: of arrays and rows json_agg begins a new line */
value json_of_items(sql_exec *x, type_id result, type_id t, const value *v, size_t n, bool lines);

/* json_object_agg, jsonb_object_agg; `ordered`: the members are in an order that is known */
value json_of_members(sql_exec *x, type_id result, type_id kt, const value *keys, type_id vt,
                      const value *v, size_t n, bool ordered);
/* spread_calls.c: variance, or the standard deviation, of n numbers, of a sample or of the whole */
value num_spread(sql_exec *x, int64_t n, const num *sum, const num *squares, bool whole, bool root);

/* spread_calls.c: sqrt of a numeric */
builtin_run num_sqrt;

/* to_char.c */
value moment_to_char(sql_exec *x, const expr *e, const value *v);

#endif
