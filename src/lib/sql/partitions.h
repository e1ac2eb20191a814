/*
 * partitions.h - tables that are divided by the values of some columns.
 *
 * All rows are kept in the table itself; a partition is a name and its bounds.  What an answer
 * shows of it is that a row which no partition takes is an error.
 */
#ifndef RATEL_SQL_PARTITIONS_H
#define RATEL_SQL_PARTITIONS_H

#include "sql/exec.h"

typedef enum partition_kind { PARTITION_RANGE, PARTITION_LIST, PARTITION_HASH } partition_kind;

/* One column of an end of a range. */
typedef struct partition_end {
    int beyond; /* -1: MINVALUE, 1: MAXVALUE, 0: the value */
    value v;
} partition_end;

typedef struct partition {
    const char *name;
    bool fallback; /* DEFAULT */
    uint32_t n;    /* LIST: values */
    value *values;
    partition_end *from, *to; /* RANGE: for each key */
    uint32_t modulus, remainder;
} partition;

struct partitioning {
    partition_kind kind;
    uint32_t n_keys;
    uint32_t *keys; /* columns */
    type_id *types;
    uint32_t n;
    partition *at;
};

#define NO_PARTITION UINT32_MAX
#define SOME_PARTITION (UINT32_MAX - 1) /* which one is not known, or does not matter */

/* The partition of a row; NO_PARTITION: none takes it. */
uint32_t partition_of(const partitioning *d, const value *row);
/* Raises the error of a row that no partition takes. */
void partition_check(sql_exec *x, const table *t, const value *row);
/* The two rows of ON CONFLICT DO UPDATE must lie in one partition. */
void partition_stays(sql_exec *x, const table *t, const value *old, const value *row);
/* The table that has a partition of this name; NULL: none. */
const table *partition_parent(const sql_exec *x, const char *name);

#endif
