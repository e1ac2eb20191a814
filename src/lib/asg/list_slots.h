/*
 * list_slots.h - lists with repeated elements: where in the longest list that was read each
 * transaction's appends can stand (doc/algorithms/lists.md).
 *
 * A *slot* is a transaction and a place: its appends, all of them and in a row, are what the list
 * shows there.  In every execution the list is covered by slots, after the initial list, without a
 * gap and without an overlap, and each transaction has one slot or comes after all of them.  A read
 * of the first n elements was from the transaction whose slot ends at n.
 */
#ifndef RATEL_ASG_LIST_SLOTS_H
#define RATEL_ASG_LIST_SLOTS_H

#include "asg/asg.h"
#include "asg/list_chains.h"

#define SLOT_INITIAL 0xffffffffu /* as a slot: the initial list ends at the end of the read */
#define MOST_SLOTS ((size_t)1 << 22)

typedef struct list_slot {
    node_id node;
    uint32_t at, n; /* elements at..at + n */
    uint32_t next;  /* another slot of the same transaction, or NO_ID */
} list_slot;

typedef struct list_writer {
    node_id node;
    uint32_t first; /* its first slot, or NO_ID: it comes after the list */
    bool pinned;    /* it saw its own appends, and so has a slot */
} list_writer;

typedef struct slot_key {
    key_id key;
    uint32_t len;           /* of the longest list that was read */
    uint32_t lo, hi;        /* the initial list has so many elements */
    uint32_t slots, end;    /* [slots, end) of list_slots.slot */
    uint32_t writers, last; /* [writers, last) of list_slots.writer */
} slot_key;

typedef struct list_slots {
    VEC(slot_key) keys;
    VEC(list_slot) slot;
    VEC(list_writer) writer;
    uint32_t first_open;     /* of g->open: from there on reads of these lists ... */
    uint32_t end_open;       /* ... up to there; those after them are of the chains */
    uint32_t first_cand;     /* of the numbers of candidates: the same */
    VEC(uint32_t) cand_slot; /* per candidate from there on: its slot, or SLOT_INITIAL */
    VEC(uint32_t) ends;      /* per open read from there on: how many elements it saw */
    VEC(uint32_t) read_key;  /* ... and the index of its key in `keys` */
    bool impossible;         /* some read can have seen nothing that anybody wrote */
    node_id blame;           /* ... of this transaction */
    list_chains chains;      /* keys that are not only appended to */
} list_slots;

/* Makes g->slots, and gives each read of lists whose order must be searched its candidates; false,
   and nothing is changed, if there are too many.  A list that is not only appended to, or that a
   transaction of unknown outcome read, has no slots but chains. */
bool asg_slots(asg *g);

#endif
