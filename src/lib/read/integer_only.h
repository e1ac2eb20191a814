/*
 * integer_only.h - a history as the integer-only formats (the dbcops, text, awdit-test) can hold
 * it.
 *
 * These formats know reads and writes of unsigned 64-bit keys and values, where 0 is the initial
 * value, or the initial state has a name of its own, or has to be written like any other.
 * Whatever else a history has is left out or renumbered here, once for all of them, and each loss
 * is noted in the sink.  Keys and values that fit keep their numbers.
 *
 * Invariant: two operations on a key get the same number iff they had the same value, and 0 iff
 * it is the key's initial value; with PLAIN_NULL and PLAIN_EXPLICIT, 0 may be an ordinary value of
 * keys where that cannot be mistaken.
 */
#ifndef RATEL_READ_INTEGER_ONLY_H
#define RATEL_READ_INTEGER_ONLY_H

#include "base/map.h"
#include "read/read.h"

/* What the target format can hold beyond the least. */
#define PLAIN_FAILED_OPS 1u  /* failed statements */
#define PLAIN_EMPTY 2u       /* empty sessions and transactions */
#define PLAIN_ZERO_WRITES 4u /* a key to which 0 is written has no implicit initial 0 */
#define PLAIN_NULL 8u        /* a read of the initial state is not a read of a value */
#define PLAIN_EXPLICIT 16u /* nothing is implicit: the writer must write what is read as initial */
#define PLAIN_NAMES 32u    /* keys are not numbers; the writer tells what becomes of them */
#define PLAIN_EXTRAS 64u   /* the writer tells what becomes of extras */

typedef struct plain {
    const history *h;
    sink *out;
    unsigned can;
    bool same_keys, same_values;
    uint8_t *use;   /* by key: KEY_* of integer_only.c */
    bool *deleted;  /* by key: has a delete, so its absence may not be initial; or NULL */
    uint8_t *seen;  /* by transaction of unknown outcome: its writes were read; or NULL */
    id_map numbers; /* renumbering: value -> number from 1 */
    uint32_t last_number;
} plain;

typedef struct plain_op {
    bool write, failed;
    bool initial; /* PLAIN_NULL: a read of the initial state, whatever the value */
    uint64_t key, value;
} plain_op;

void plain_open(plain *p, const history *h, sink *out, unsigned can);
void plain_close(plain *p);
/* False if the format cannot hold the operation. */
bool plain_get(const plain *p, op_id o, plain_op *op);
/* PLAIN_EXPLICIT: the initial state of the key, which is 0, is read. */
bool plain_reads_init(const plain *p, key_id k);
uint64_t plain_key(const plain *p, key_id k);
/* Committed or aborted: an unknown outcome counts as committed iff its writes were seen. */
enum txn_status plain_status(const plain *p, txn_id t);
/* Unsigned 64-bit integer? */
bool plain_uint(atom a, uint64_t *v);
/* JSON text of a header extra, or NULL. */
const char *plain_extra(const history *h, const char *name, size_t *n);

#endif
