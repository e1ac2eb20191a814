/*
 * hidden_values.h - values that statements wrote without showing them, out of a replay of the log.
 *
 * `balance = balance - 10` writes what the row held before.  A replay that explains the whole log
 * computes it, but in an order that it chose; another order may explain the log with other values.
 * So a value is given only where the log itself tells in which order the row was written: by
 * commit timestamps, by sessions, or by times.  For those: the version that a transaction B
 * installed is there for others once B commits.  Had A written over it, the statement with which A
 * did so was answered after B had called its commit.  So if A's statement was answered before that,
 * A came first.  (This much holds wherever dirty writes are excluded.)
 */
#ifndef RATEL_AUDIT_HIDDEN_VALUES_H
#define RATEL_AUDIT_HIDDEN_VALUES_H

#include "audit/replay.h"

typedef struct hidden_write { /* a version of a row, as one key has it */
    uint32_t key, column;
    uint32_t position, txn, stmt;
    const char *is; /* NULL: deleted, or a value that the database chose */
} hidden_write;

typedef struct hidden_values hidden_values;

/* What is asked for: keys are numbers of the caller. */
typedef struct hidden_wanted {
    void *ud;
    uint32_t n; /* columns */
    /* Of column `i`, is it one of this table, and which columns are its key and its value? */
    bool (*column_of)(void *ud, uint32_t i, const char *table, uint32_t *key, uint32_t *column);
    uint32_t (*key_of)(void *ud, uint32_t column, const char *row); /* UINT32_MAX: not wanted */
    const char *null;                                               /* a value that is null */
} hidden_wanted;

/* Replays the log; everything lives in the engine's region.  NULL: it is not explained, and *why
   says so. */
hidden_values *hidden_values_replay(engine *e, const hidden_wanted *wanted, uint32_t n_keys,
                                    const char **why);
/* What the statement wrote; NULL, and *why, if that is not known for certain. */
const char *hidden_value_of(hidden_values *h, uint32_t key, uint32_t txn, uint32_t stmt,
                            const char **why);

#endif
