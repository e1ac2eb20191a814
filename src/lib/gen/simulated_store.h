/*
 * simulated_store.h - the simulated multi-version store.
 *
 * Every committed writer gets the next commit number; the versions of a key are chained from new
 * to old.  What a transaction sees is a set of earlier commits, its view, fixed when it begins
 * (read-committed: anew at each read); a read returns the newest version inside the view.  Which
 * sets are allowed, and what is refused at commit, is all that tells the levels apart; the table
 * is isolations.def.
 *
 *   view latest    all commits so far, at each read
 *   view snapshot  all commits before begin
 *   view stale     all commits up to one of the last `lag`, the own session's included
 *   view session   ... and all that committed before the session's last transaction ended
 *   view old       the same as stale without regard to the session
 *   view coins     older commits and own session's, of the last `lag` others a random half
 *   view replica   what the session's replica has heard of, a causally closed set
 *
 *   refuse reads   one that writes, and has read a version that is no longer the newest
 *   refuse gaps    ... or has scanned a range in which a key has changed since
 *   refuse readers the same for those that do not write
 *   refuse writes  the newest version of a written key is outside the view
 *
 * A deleted key has a version like any other, with the value VALUE_NULL.  A list key has the same
 * chains; the value of its version is a length, the elements stand once in commit order.
 *
 * Invariant: a chain holds every version that is the newest in some open or future view; the rest
 * is dropped when the key is next written, so memory does not grow with the number of commits.
 */
#ifndef RATEL_GEN_SIMULATED_STORE_H
#define RATEL_GEN_SIMULATED_STORE_H

#include "base/vec.h"
#include "history/history.h"

enum store_mode {
#define ISOLATION(id, name, others, view, refuse, keeps, about) STORE_##id,
#include "gen/isolations.def"
#undef ISOLATION
};

enum store_view {
    VIEW_LATEST,
    VIEW_SNAPSHOT,
    VIEW_STALE,
    VIEW_SESSION,
    VIEW_OLD,
    VIEW_COINS,
    VIEW_REPLICA
};

enum store_refusal { REFUSE_READS = 1, REFUSE_GAPS = 2, REFUSE_READERS = 4, REFUSE_WRITES = 8 };

enum step_kind { STEP_READ, STEP_WRITE, STEP_APPEND, STEP_SCAN, STEP_ITER };

#define STEP_OWN 1u  /* a read after the transaction's own write of the key */
#define STEP_LAST 2u /* the transaction's last write of the key so far */
#define STEP_DONE 4u /* a range was seen to its end */
#define STEP_LOCK 8u /* a read of the newest version, which must still be that at commit */
#define STEP_SUM 16u /* a read to which the next step, a write, adds: perhaps one statement */

/* An operation of a running transaction. */
typedef struct step {
    uint8_t kind, flags;
    uint16_t limit; /* of an iterator: rows to take, 0 all */
    uint32_t key;   /* of a range the first */
    uint32_t to;    /* of a range the first key after it */
    uint32_t value; /* read or written (VALUE_NULL: deleted); of a list read the length without
                       own appends; of a range its first row */
    uint32_t seen;  /* commit number of the version read; of a range the number of rows */
} step;

static inline bool step_writes(const step *t)
{
    return t->kind == STEP_WRITE || t->kind == STEP_APPEND;
}

typedef struct store_row {
    uint32_t key, value;
    uint32_t seen; /* commit number; own writes: STEP_MINE */
} store_row;

#define STEP_MINE UINT32_MAX

typedef struct version {
    uint32_t value;
    uint32_t seq;   /* commit number, 0 the initial state */
    uint32_t owner; /* session of the writer */
    uint32_t older; /* index + 1 in old */
} version;

#define VIEW_ALL UINT32_MAX

typedef struct view {
    uint32_t seq;    /* commits above are outside */
    uint32_t floor;  /* commits up to here are inside, in this and every later view */
    uint32_t serial; /* of the transaction, for its coins; VIEW_ALL: none, it sees all up to seq */
    uint32_t prev, next; /* open views by age; index + 1 */
} view;

typedef struct store {
    mem *mem;
    enum store_mode mode;
    enum store_view kind;
    unsigned refuse;
    uint32_t initial;
    uint32_t seq; /* commits so far */
    uint32_t serial;
    VEC(version) cells; /* the newest version of each key */
    VEC(version) old;
    uint32_t unused; /* chain of free entries of old */
    view *views;     /* one a session */
    uint32_t first, last;
    uint32_t lag;
    uint32_t barrier; /* every later view includes the commits up to here */
    uint32_t *high;   /* stale: of each session, the commits that its next view must include */
    /* replicas: known[r * replicas + o] is the last commit of replica o that r has heard of */
    uint32_t replicas;
    uint32_t *known, *seen; /* seen: the same row for each session's open view */
    uint32_t stable, talks;
    /* lists: elements of key k from k * list_cap on; 0: no lists */
    uint32_t list_cap;
    VEC(uint32_t) elements;
} store;

void store_init(store *s, mem *m, enum store_mode mode, uint32_t sessions, uint32_t replicas,
                uint32_t lag, uint32_t initial, uint32_t list_cap);
void store_free(store *s);
void store_key(store *s, uint32_t key); /* makes room for keys up to this one */

/* `fresh`: the view is all commits so far, whatever the level would also allow. */
void store_begin(store *s, uint32_t session, bool fresh);
const version *store_read(const store *s, uint32_t session, uint32_t key);
/* Whatever the view is. */
const version *store_newest(const store *s, uint32_t key);
/* False: refused, nothing has changed.  The view stays open either way. */
bool store_commit(store *s, uint32_t session, const step *steps, uint32_t n, const store_row *rows);
void store_end(store *s, uint32_t session);

/* Replica `to` hears all that `from` knows. */
void store_talk(store *s, uint32_t to, uint32_t from);
/* Brings every replica up to date. */
void store_sync(store *s);
/* From here on everybody sees what has been committed so far. */
void store_barrier(store *s);

#endif
