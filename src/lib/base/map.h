/*
 * map.h - hash tables over a region: a map u64 -> u32, a set of u64, and an index of ids for tables
 * whose keys only the caller can compare (strings, rows, pairs that stand in arrays of its own).
 *
 * Open addressing with linear probing; a table is at most half full and doubles, so a run of n
 * insertions costs O(n).  A table of zero bytes is empty and owns no memory: `id_map t = {0}`.
 * Memory comes from the region given to each insertion, which must always be the same one; failure
 * leaves through its guard, with the table as it was.  (Without memory the mask is 0, which counts
 * as half full: the first insertion grows.)
 *
 * Hostile keys: map and set mix a secret into every hash, the address of their first block, so a
 * file cannot be written to make all its numbers meet in one place.  For the same reason two tables
 * never store keys in the same order (copying one such table into another would be quadratic).  So
 * nothing here walks a whole table: its order would differ from run to run.  Keep an array beside
 * the table where all entries are needed.  An index uses the caller's hash as it is: where its keys
 * come from outside, hash them with a seed of that kind (hash_secret).
 *
 * A table that serves many small questions in turn is emptied by its restart function, which is
 * told how many entries come next: it clears only what they need, so one large question does not
 * make all later ones expensive.
 *
 * Invariant: every entry stands at or after its own place, with no free slot between (map_check).
 */
#ifndef RATEL_BASE_MAP_H
#define RATEL_BASE_MAP_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"

#define MAP_NONE NO_ID /* the value of a key that is absent, or just entered */

/* Two ids as one key. */
static inline uint64_t map_pair(uint32_t a, uint32_t b)
{
    return (uint64_t)a << 32 | b;
}

/* --- u64 -> u32 ------------------------------------------------------------------------------- */

typedef struct id_map_slot {
    uint64_t key;
    uint32_t value;
    uint32_t used;
} id_map_slot;

typedef struct id_map {
    id_map_slot *slot;
    size_t mask, n, cap;
    uint64_t secret;
} id_map;

void id_map_grow(mem *m, id_map *t);
void id_map_reserve(mem *m, id_map *t, size_t n); /* room for n entries in all */
void id_map_restart(mem *m, id_map *t, size_t n);
void id_map_free(mem *m, id_map *t);
bool id_map_check(const id_map *t);

static inline size_t id_map_place(const id_map *t, uint64_t key)
{
    size_t at = (size_t)hash_u64(key ^ t->secret) & t->mask;
    while (t->slot[at].used && t->slot[at].key != key) at = (at + 1) & t->mask;
    return at;
}

/* The value of the key, or MAP_NONE. */
static inline uint32_t id_map_get(const id_map *t, uint64_t key)
{
    if (!t->slot) return MAP_NONE;
    const id_map_slot *s = &t->slot[id_map_place(t, key)];
    return s->used ? s->value : MAP_NONE;
}

/* Where the value of the key stands, valid until the next insertion; a new key gets MAP_NONE. */
static inline uint32_t *id_map_at(mem *m, id_map *t, uint64_t key)
{
    if (2 * t->n >= t->mask) id_map_grow(m, t);
    id_map_slot *s = &t->slot[id_map_place(t, key)];
    if (!s->used) {
        *s = (id_map_slot){key, MAP_NONE, 1};
        t->n++;
    }
    return &s->value;
}

/* Enters the key with this value, or changes its value. */
static inline void id_map_put(mem *m, id_map *t, uint64_t key, uint32_t value)
{
    *id_map_at(m, t, key) = value;
}

/* --- a set of u64 ----------------------------------------------------------------------------- */

typedef struct key_set {
    uint64_t *slot; /* 0: free; the key 0 is kept apart */
    size_t mask, n, cap;
    uint64_t secret;
    bool has_zero;
} key_set;

void key_set_grow(mem *m, key_set *t);
void key_set_reserve(mem *m, key_set *t, size_t n); /* room for n keys in all */
void key_set_restart(mem *m, key_set *t, size_t n);
void key_set_free(mem *m, key_set *t);
bool key_set_check(const key_set *t);

static inline size_t key_set_place(const key_set *t, uint64_t key)
{
    size_t at = (size_t)hash_u64(key ^ t->secret) & t->mask;
    while (t->slot[at] && t->slot[at] != key) at = (at + 1) & t->mask;
    return at;
}

static inline bool key_set_has(const key_set *t, uint64_t key)
{
    if (!key) return t->has_zero;
    return t->slot && t->slot[key_set_place(t, key)] == key;
}

/* Enters a key for which there is room (restart, reserve); true if it is new. */
static inline bool key_set_enter(key_set *t, uint64_t key)
{
    if (!key) {
        bool fresh = !t->has_zero;
        t->has_zero = true;
        return fresh;
    }
    assert(t->slot && t->n <= t->mask / 2 + 1);
    size_t at = key_set_place(t, key);
    if (t->slot[at]) return false;
    t->slot[at] = key;
    t->n++;
    return true;
}

/* True if the key is new. */
static inline bool key_set_add(mem *m, key_set *t, uint64_t key)
{
    if (2 * t->n >= t->mask) key_set_grow(m, t);
    return key_set_enter(t, key);
}

/* --- ids by the caller's hash and equality ---------------------------------------------------- */

/* A slot keeps 32 bits of the hash beside id + 1: most strangers are passed over without a look at
   their content, and growing needs none.  Those 32 bits place an entry too; ids end before 2^32, so
   more would be of no use.

       for (index_walk w = id_index_walk(t, hash); id_index_next(t, &w);)
           if (same(w.id)) return w.id;
       id_index_add(m, t, hash, fresh);                                                        */
typedef struct id_index {
    uint64_t *slot; /* hash << 32 | id + 1; 0: free */
    size_t mask, n, cap;
} id_index;

typedef struct index_walk {
    size_t at;
    uint32_t tag, id;
} index_walk;

void id_index_grow(mem *m, id_index *t);
void id_index_reserve(mem *m, id_index *t, size_t n); /* room for n entries in all */
void id_index_restart(mem *m, id_index *t, size_t n);
void id_index_free(mem *m, id_index *t);
bool id_index_check(const id_index *t);

static inline index_walk id_index_walk(const id_index *t, uint64_t hash)
{
    uint32_t tag = (uint32_t)(hash >> 32);
    return (index_walk){tag & t->mask, tag, MAP_NONE};
}

/* The next id that was entered with that hash, in w->id, oldest first; false: there is none. */
static inline bool id_index_next(const id_index *t, index_walk *w)
{
    if (!t->slot) return false;
    for (;;) {
        uint64_t s = t->slot[w->at];
        if (!s) return false;
        w->at = (w->at + 1) & t->mask;
        if (s >> 32 != w->tag) continue;
        w->id = (uint32_t)s - 1;
        return true;
    }
}

/* For lookups that wait for memory: fetches the slot of a key that is about to be looked up, ... */
static inline void id_index_soon(const id_index *t, uint64_t hash)
{
    if (t->slot) __builtin_prefetch(&t->slot[(size_t)(hash >> 32) & t->mask]);
}

/* ... and when it has come, says which id the lookup will compare first, if it can be told without
   a search, else MAP_NONE. */
static inline uint32_t id_index_hint(const id_index *t, uint64_t hash)
{
    uint64_t s = t->slot ? t->slot[(size_t)(hash >> 32) & t->mask] : 0;
    return s && s >> 32 == hash >> 32 ? (uint32_t)s - 1 : MAP_NONE;
}

/* Enters an id, beside any that have the same hash. */
static inline void id_index_add(mem *m, id_index *t, uint64_t hash, uint32_t id)
{
    assert(id != MAP_NONE);
    if (2 * t->n >= t->mask) id_index_grow(m, t);
    size_t at = (size_t)(hash >> 32) & t->mask;
    while (t->slot[at]) at = (at + 1) & t->mask;
    t->slot[at] = (hash >> 32) << 32 | (id + 1);
    t->n++;
}

/* Puts another id in the place of the one that the walk stands on, which has the same key. */
static inline void id_index_replace(id_index *t, const index_walk *w, uint32_t id)
{
    size_t at = (w->at - 1) & t->mask;
    assert(id != MAP_NONE && t->slot[at] == ((uint64_t)w->tag << 32 | (w->id + 1)));
    t->slot[at] = (uint64_t)w->tag << 32 | (id + 1);
}

#endif
