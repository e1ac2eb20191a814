/*
 * key_statement.h - statements that are operations on keys: the few forms of SQL over one table
 * test(id, value) in which litmus cases are written, so that engines without SQL can run them and
 * a run of them is a history.
 */
#ifndef RATEL_STEP_KEY_STATEMENT_H
#define RATEL_STEP_KEY_STATEMENT_H

#include <stdbool.h>
#include <stdint.h>

enum key_action {
    KEY_NONE,   /* something else */
    KEY_GET,    /* SELECT id, value FROM test WHERE id = K [FOR UPDATE] */
    KEY_RANGE,  /* SELECT id, value FROM test [WHERE id BETWEEN A AND B] ORDER BY id */
    KEY_UPDATE, /* UPDATE test SET value = V WHERE id = K */
    KEY_INSERT, /* INSERT INTO test VALUES (K, V) */
    KEY_DELETE, /* DELETE FROM test WHERE id = K */
    KEY_PUT,    /* INSERT ... that updates the row if it is there */
    KEY_APPEND, /* UPDATE test SET value = value || ' V' WHERE id = K: value is a list as text */
    KEY_BEGIN,
    KEY_COMMIT,
    KEY_ABORT
};

typedef struct key_statement {
    enum key_action action;
    bool lock;
    int64_t key, to; /* of a range the first key, and the first one after it */
    int64_t value;
} key_statement;

/* Keys of a range without bounds. */
enum { KEY_LEAST = -1000000000, KEY_PAST = 1000000000 };

key_statement key_statement_of(const char *sql);

#endif
