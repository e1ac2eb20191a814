/*
 * scene.h - a few transactions of a history, and what can be told about them without the rest.
 *
 * An explanation is an argument about a handful of transactions, but it must be true of the whole
 * history: a read counts only if everybody who may have written what it saw is among them.  So the
 * whole history is walked twice, for what it says about the keys and values of these few; after
 * that only the scene is looked at.  Written from doc/levels.md, with nothing of the code that
 * decides (tool/check-layers).
 */
#ifndef RATEL_EXPLAIN_SCENE_H
#define RATEL_EXPLAIN_SCENE_H

#include "history/history.h"
#include "opt/level.h"

#define SCENE_MOST 64u /* transactions: sets of them are words */

typedef uint64_t actors; /* a set of transactions of the scene */

/* Why a read has nothing that explains it. */
enum scene_fault {
    SCENE_FINE,
    SCENE_NO_SOURCE,   /* no version of the key has what it saw */
    SCENE_NOT_OWN,     /* an own write before it says something else */
    SCENE_BROKEN_LIST, /* no version of the list looks like this, whatever the order */
    SCENE_REPEATED     /* a list with an element that was not appended so often, by anybody */
};

typedef struct scene_write { /* the last one of a transaction and key */
    uint32_t actor;
    key_id key;
    value_id value;
    op_id op;
    bool placed; /* the history gives its place in the version order */
    int64_t place;
} scene_write;

typedef struct scene_read {
    uint32_t actor;
    op_id op;
    key_id key;
    value_id value;
    bool predicate; /* a key that a scan covered and did not return */
    bool hinted;    /* the history names the writer */
    bool list;
    bool usable;  /* what follows is known; else the read says nothing */
    bool whole;   /* nobody who may have written it is missing from the scene */
    actors from;  /* who may have written it */
    bool initial; /* the initial state may have been seen */
    enum scene_fault fault;
    /* no source: who wrote the value without it being a version; NO_ID: nobody */
    txn_id aborted, later, overwritten;
    value_id repeated; /* the element, how often it was seen, how often it was put there */
    uint32_t times_seen, times_put;
    bool nobody;  /* no source: no transaction at all, aborted ones included, wrote it */
    bool emptied; /* a list without what was there at first, which nobody deleted */

    /* of a list: the transactions whose appends it shows, in order, each once */
    actors shown;
    uint32_t first, n;  /* in scene.chain */
    bool own;           /* read behind own appends */
    bool plainly_shown; /* no element was also appended by an aborted transaction */
    bool initial_late;  /* an element of the initial list stands behind one that was appended */
} scene_read;

typedef struct scene_key {
    key_id key;
    bool list, mixed;  /* mixed: a list that is also written or deleted */
    actors writers;    /* of the scene */
    uint32_t all;      /* of the history, aborted ones left out */
    uint32_t lower;    /* of these, those that are not serializable by their own level */
    bool deleted;      /* physically, by one that did not abort */
    uint32_t last_txn; /* while counting */
} scene_key;

typedef struct scene {
    const history *h;
    mem *m;
    enum ryow ryow;
    uint32_t n;
    txn_id txn[SCENE_MOST];      /* in the order of the history */
    actors maybe;                /* outcome unknown */
    actors updates;              /* who writes anything */
    uint8_t row[SCENE_MOST];     /* enum mixed_row: the level that each names for itself */
    op_id malformed[SCENE_MOST]; /* a scan with impossible rows, or NO_ID */
    VEC(scene_write) writes;
    VEC(scene_read) reads;
    VEC(uint8_t) chain;
    VEC(scene_key) keys;
    uint32_t *slot; /* key -> index of keys, or NO_ID */
} scene;

/* Who takes part: at most SCENE_MOST transactions that did not abort, in any order. */
void scene_build(scene *s, mem *m, const history *h, enum ryow ryow, const txn_id *txns, size_t n);

/* The write that the actor installs at the key, or NULL. */
const scene_write *scene_installs(const scene *s, uint32_t actor, key_id key);
const scene_key *scene_key_of(const scene *s, key_id key); /* NULL: nobody of the scene knows it */

/* Did the actor write the key before operation o of its? */
bool scene_wrote_before(const scene *s, uint32_t actor, op_id o, key_id key);

/* Does a stand before b in a session? */
bool scene_session(const scene *s, uint32_t a, uint32_t b);

/* Instants of real time; the commit of an unknown outcome has none. */
enum scene_when { BEGIN_CALLED, BEGIN_RETURNED, COMMIT_CALLED, COMMIT_RETURNED };
bool scene_time(const history *h, txn_id t, enum scene_when when, int64_t *at);
/* Was `from` of a over, by the drift at least, when `to` of b was called? */
bool scene_before(const scene *s, uint32_t a, enum scene_when from, uint32_t b, enum scene_when to,
                  int64_t drift);

/* The writer that the history names for what operation o saw of the key. */
bool scene_hint(const history *h, op_id o, key_id key, label *writer, bool *initial);

static inline actors actor_bit(uint32_t a)
{
    return (actors)1 << a;
}

#endif
