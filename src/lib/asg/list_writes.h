/*
 * list_writes.h - what transactions did to lists whose order must be searched: shared by
 * list_slots.c and list_chains.c.
 */
#ifndef RATEL_ASG_LIST_WRITES_H
#define RATEL_ASG_LIST_WRITES_H

#include "asg/asg.h"

/* Writes, deletes and appends, those of key k at [first[k], first[k + 1]) of `op`, in the order of
   nodes and of each one's program. */
typedef struct list_writes {
    uint32_t *first;
    op_id *op;
    node_id *node; /* per operation */
} list_writes;

/* Of the keys with list_key 2. */
void list_writes_load(asg *g, list_writes *w);
void list_writes_free(mem *m, list_writes *w);
/* Those of node v to k: [*first, *end) of w->op. */
void list_writes_of(const list_writes *w, key_id k, node_id v, uint32_t *first, uint32_t *end);
/* Where the writes of the node at i end; they stand in a row. */
uint32_t list_writes_end(const list_writes *w, key_id k, uint32_t i);

/* Does the history tell what the key held at first? */
bool list_init_named(const history *h, key_id k);
/* Is w (RF_INIT: the initial state) the writer that the history names for the read, if it names
   one?  own: it ends with appends of its own transaction, which may be what is named. */
bool list_hint_allows(const asg *g, uint32_t ob, node_id w, bool own);

#endif
