/*
 * subhistory.h - a part of a history, to be decided by itself.
 *
 * What some of the transactions did, and of that only what can be told without the others: a read
 * whose possible writers are not all there is dropped, an internal read or an overwritten write
 * too, and what the others appended is cut out of the lists that were read (not the last element,
 * which names who was read from).  Every execution of
 * the whole history, with the rest left out of it, is one of the part.  So a violated part is a
 * violated history; a part that holds says nothing.
 *
 * A part is made once, from the semantic graph of the whole, and then cut down as often as one
 * likes: transactions and operations can be left out, and part_history is what remains, a
 * history like any other.
 */
#ifndef RATEL_VERDICT_SUBHISTORY_H
#define RATEL_VERDICT_SUBHISTORY_H

#include "asg/asg.h"
#include "base/map.h"

/* One element of a list that was read. */
typedef struct part_elem {
    value_id value;
    uint32_t op; /* the append, or NO_ID: of the initial list */
} part_elem;

typedef struct part_op {
    uint8_t kind; /* as history.op_kind; scans have become reads of their keys */
    bool list;    /* a list was read: elems */
    bool hinted;  /* the history names the writer: `hint`, or the initial state */
    bool hinted_init;
    bool placed;                /* the history gives its place in the version order */
    bool predicate;             /* a covered key that a scan did not return */
    op_id whole;                /* the operation of the whole history */
    key_id key;                 /* of the part */
    value_id value;             /* of the part */
    uint32_t first, n;          /* reads: possible writers, in part.writer */
    uint32_t first_elem, elems; /* of a list: in part.elem */
    label hint;
    int64_t place;
} part_op;

typedef struct part {
    mem *m;
    const history *whole;
    uint32_t txns, sessions, keys;
    txn_id *txn; /* of the whole history, rising */
    uint32_t *op_first;
    VEC(part_op) ops;
    VEC(uint32_t) writer;
    VEC(part_elem) elem;
    key_id *key;                  /* of the whole history */
    uint8_t *list;                /* per key: it is a list in the whole history */
    uint32_t *session;            /* per transaction */
    label *label;                 /* per transaction */
    size_t lists;                 /* reads of lists */
    size_t atoms, value_elements; /* values of the part and their elements, before lists are cut */

    /* the history that was asked for last */
    history h;
    id_index cut;      /* lists that were cut for it: their values */
    uint32_t *kept;    /* its transactions -> those of the part */
    uint32_t *op_kept; /* its operations -> those of the part */
} part;

/* The nodes v with in[v].  The region is one that outlives the graph. */
part *part_new(mem *m, asg *g, const uint8_t *in);
void part_free(part *x);

/* What remains without the transactions and operations that are out (1), until the next call. */
const history *part_history(part *x, const uint8_t *txn_out, const uint8_t *op_out);

#endif
