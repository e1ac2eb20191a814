/*
 * list_store.h - what lists hold while transactions run one by one (run_store.h), for lists whose
 * order is searched.
 *
 * What a version of such a list holds follows from the one before it.  Only contents that some read
 * saw, or that may grow into one, are told apart (asg/list_slots.h, asg/list_chains.h); all others
 * are one, LIST_OTHER, which appends do not change.
 */
#ifndef RATEL_DECIDE_LAZY_LIST_STORE_H
#define RATEL_DECIDE_LAZY_LIST_STORE_H

#include "decide/lazy/lazy_state.h"

#define LIST_OTHER 0xffffffffu

typedef struct list_store {
    const asg *g;
    mem *m;
    uint8_t *searched;    /* per key */
    uint32_t *now;        /* per key: what it holds, a number below `contents`, or LIST_OTHER */
    uint32_t *before;     /* per install that has run: what its key held before */
    uint32_t *sets;       /* per install: what it leaves wherever it stands, ... */
    uint8_t *only_adds;   /* ... unless it only appends */
    uint32_t *first;      /* per install: its first stand or slot, or NO_ID */
    uint32_t *slot_first; /* per key of slots: the number of its empty beginning */
    uint32_t *slot_of;    /* per key: its index among the keys of slots, or NO_ID */
    uint32_t contents;
} list_store;

/* Are there such lists, is it known what each of them held at first, and does no read of one say
   more than what it saw? */
bool list_store_fits(const asg *g);
void list_store_start(list_store *s, const lazy *z);
void list_store_end(list_store *s);

/* What install j leaves on what its key holds now. */
uint32_t list_store_after(const list_store *s, uint32_t j);
/* What the open read saw of others. */
uint32_t list_store_seen(const list_store *s, uint32_t open);
/* Adds `by` to count[c] for each content c that install j may leave and may come again: a list that
   is only appended to never holds the same twice. */
void list_store_supply(const list_store *s, uint32_t j, const uint32_t *class_of, uint32_t by,
                       uint32_t *count);

static inline void list_store_write(list_store *s, uint32_t j)
{
    key_id k = s->g->inst_key[j];
    s->before[j] = s->now[k];
    s->now[k] = list_store_after(s, j);
}
static inline void list_store_unwrite(list_store *s, uint32_t j)
{
    s->now[s->g->inst_key[j]] = s->before[j];
}

#endif
