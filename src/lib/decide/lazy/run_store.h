/*
 * run_store.h - the store of a run: the newest version of each key, and who still has to read it.
 *
 * trial_run.c and serial_search.c run transactions one by one, as a database would.  Both ask the
 * same: does the store show what an ambiguous read reported, and may a version be overwritten, or
 * must somebody still read it?  Reads of a transaction that overwrites what it read are counted
 * apart (updates), since they do not keep that transaction itself from running.
 *
 * Versions of one key with one value are a *class*, where some read of the key is ambiguous; such a
 * read asks for its class, not for one version.  Of lists whose order is searched the contents are
 * the classes, and what a version holds is known only when it runs (list_store.h).
 */
#ifndef RATEL_DECIDE_LAZY_RUN_STORE_H
#define RATEL_DECIDE_LAZY_RUN_STORE_H

#include "decide/lazy/list_store.h"

typedef struct run_store {
    lazy *z;
    asg *g;
    order_problem *p;
    uint32_t *version; /* per key: the newest one, or NONE: the initial one */
    uint32_t *unread;  /* per install: certain reads of it that have not run, ... */
    uint32_t *updates; /* ... and those whose transaction writes the key too */
    uint32_t *prior;   /* per install: the version of the key that its writer read, or NONE */

    /* Classes; all NULL if no read is ambiguous. */
    uint32_t *class_of;      /* per install: its class, or NONE */
    uint32_t *open_class;    /* per open read, parallel to g->open */
    uint32_t *init_class;    /* per key: that of the initial version, or NONE */
    uint32_t *prior_class;   /* per install: what an ambiguous read of its writer asks of its key */
    uint32_t *demand;        /* per class: ambiguous reads that have not run, ... */
    uint32_t *class_updates; /* ... and those whose transaction writes the key too */
    uint32_t *supply;        /* per class: installs that have not run */
    uint32_t classes;

    bool has_lists; /* some lists are searched, and what they hold is kept: */
    list_store lists;
    uint32_t *content_class; /* per content: its class, or NONE */
} run_store;

/* Only strict reads of transactions that surely take part ask for anything. */
void run_store_start(run_store *s, lazy *z);
void run_store_end(run_store *s);

/* Must the read find one certain version, or one of a class? */
bool run_store_certain(const run_store *s, uint32_t ob);
bool run_store_ambiguous(const run_store *s, uint32_t ob);

/* The class of the newest version of k, or NONE. */
static inline uint32_t run_store_shown(const run_store *s, key_id k)
{
    if (!s->class_of) return NONE;
    if (s->has_lists && s->lists.searched[k])
        return s->lists.now[k] == LIST_OTHER ? NONE : s->content_class[s->lists.now[k]];
    return s->version[k] == NONE ? s->init_class[k] : s->class_of[s->version[k]];
}

/* The class of the newest version of its key once install j has run. */
static inline uint32_t run_store_next(const run_store *s, uint32_t j)
{
    if (!s->has_lists || !s->lists.searched[s->g->inst_key[j]]) return s->class_of[j];
    uint32_t after = list_store_after(&s->lists, j);
    return after == LIST_OTHER ? NONE : s->content_class[after];
}

/* Is the version that install j is to overwrite still to be read by others, who will find it
   nowhere else? */
bool run_store_unread(const run_store *s, uint32_t j);
/* The class of the first ambiguous read of v that its key does not show now, or NONE. */
uint32_t run_store_missed(const run_store *s, node_id v);

/* The read runs; back: it has not. */
void run_store_read(run_store *s, uint32_t ob, bool back);
/* The install runs, over version `before`; back: it has not. */
void run_store_write(run_store *s, uint32_t j);
void run_store_unwrite(run_store *s, uint32_t j, uint32_t before);

#endif
