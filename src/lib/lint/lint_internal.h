/*
 * lint_internal.h - what the files of src/lib/lint share: examples, the functions of the table, and
 * who wrote what was read.
 */
#ifndef RATEL_LINT_LINT_INTERNAL_H
#define RATEL_LINT_LINT_INTERNAL_H

#include "base/map.h"
#include "lint/lint.h"

/* Begin and end by the client's clock; false if one is missing.  Intervals count from the call of
   begin to the return of commit. */
bool lint_times(const history *h, txn_id t, int64_t *begin, int64_t *end);
/* Sorts 64-bit numbers; b is room for as many. */
void lint_sort(uint64_t *a, uint64_t *b, size_t n);
/* Did everything in this session abort? */
bool lint_failed_session(const history *h, uint32_t s);
/* Did the statement fail?  One that a savepoint undid counts for as little, but did not. */
bool lint_failed_statement(const history *h, op_id o);
/* Is t what a converter makes of the initial state: committed, plain writes only, each key once?
   `taken` has a byte for each key, all 0 before and after. */
bool lint_all_writes(const history *h, txn_id t, uint8_t *taken);

/* --- findings -------------------------------------------------------------------------------- */

/* For the functions of the table: notes an example.  Formats: %T transaction, %K key, %V value,
   %S session, %N uint64_t, in the order of the arguments. */
void lint_example(lint *l, finding *f, const char *format, ...);
/* Marks transactions of unknown outcome whose writes nobody can have read; false: none. */
bool lint_unread(const history *h, mem *m, uint8_t *unread);

/* The functions of the table: decide (expensive ones) or confirm (cheap ones) and describe. */
#define LINT(ID, function, name, severity, cost, fix, text, advice)                                \
    bool find_##function(lint *l, finding *f);
#include "lint/lints.def"
#undef LINT

/* --- who wrote what was read (values_by_key.c)
   ----------------------------------------------------- */

/* A value that was written or read, with the operation. */
typedef struct seen {
    value_id value;
    op_id op;
} seen;

/* By key: writes and appends of transactions with the outcomes asked for (bits 1 << txn_status),
   and results of point reads and rows of transactions that did not abort. */
typedef struct versions {
    const history *h;
    mem *m;
    uint32_t *write_first; /* keys + 1 */
    seen *write;
    uint64_t *read_first;
    seen *read;
    id_map first_write; /* of the open key: value -> place in write */
} versions;

#define WRITERS_COMMITTED (1u << TXN_COMMITTED)
#define WRITERS_UNKNOWN (1u << TXN_UNKNOWN)
#define WRITERS_ABORTED (1u << TXN_ABORTED)
void versions_build(versions *v, const history *h, mem *m, unsigned outcomes);
/* Opens the table of one key. */
void versions_open(versions *v, key_id k);
/* The first write of the value to the open key, as index into write, or NO_ID. */
uint32_t versions_find(const versions *v, value_id x);
void versions_free(versions *v);

#endif
