/*
 * map.c - growth of the tables of map.h, and the walks that check them.
 *
 * Everything on the way of a lookup is inline in the header; here is what happens once per
 * doubling.  A table keeps its secret when it grows, so entries keep their order and the copy runs
 * through memory in one direction.  The fresh block is filled before the old one is given up: an
 * allocation that fails leaves the table whole.
 */
#include "base/map.h"

#include <string.h>

#define FIRST_SLOTS 64
#define FEWEST_SLOTS 8 /* of a table that is restarted for a few entries */

static size_t doubled(mem *m, size_t slots)
{
    if (slots > SIZE_MAX / 64) guard_fail(m->guard, GUARD_NOMEM, "out of memory: large table");
    return slots ? 2 * slots : FIRST_SLOTS;
}

/* A power of two, at least `slots`, that n entries fill at most by half. */
static size_t slots_for(mem *m, size_t n, size_t slots)
{
    while (slots / 2 < n) slots = doubled(m, slots);
    return slots;
}

static void id_map_resize(mem *m, id_map *t, size_t slots)
{
    id_map_slot *fresh = mem_array0(m, id_map_slot, slots), *old = t->slot;
    size_t old_slots = old ? t->mask + 1 : 0;
    assert(!(slots & (slots - 1)) && slots > 2 * t->n);
    if (!old) t->secret = hash_secret(fresh);
    t->slot = fresh;
    t->mask = slots - 1;
    t->cap = slots;
    for (size_t i = 0; i < old_slots; i++)
        if (old[i].used) fresh[id_map_place(t, old[i].key)] = old[i];
    mem_put(m, old);
}

void id_map_grow(mem *m, id_map *t)
{
    id_map_resize(m, t, doubled(m, t->slot ? t->mask + 1 : 0));
}

void id_map_reserve(mem *m, id_map *t, size_t n)
{
    size_t slots = slots_for(m, n, FIRST_SLOTS);
    if (!t->slot || slots > t->mask + 1) id_map_resize(m, t, slots);
}

void id_map_restart(mem *m, id_map *t, size_t n)
{
    size_t slots = slots_for(m, n, FEWEST_SLOTS);
    t->n = 0;
    if (slots > t->cap) {
        id_map_free(m, t);
        id_map_resize(m, t, slots);
    } else {
        memset(t->slot, 0, slots * sizeof *t->slot);
        t->mask = slots - 1;
    }
}

void id_map_free(mem *m, id_map *t)
{
    mem_put(m, t->slot);
    *t = (id_map){0};
}

bool id_map_check(const id_map *t)
{
    size_t n = 0;
    for (size_t i = 0; t->slot && i <= t->mask; i++) {
        if (!t->slot[i].used) continue;
        if (id_map_place(t, t->slot[i].key) != i) return false;
        n++;
    }
    return n == t->n && (!t->slot || 2 * n <= t->mask + 1);
}

static void key_set_resize(mem *m, key_set *t, size_t slots)
{
    uint64_t *fresh = mem_array0(m, uint64_t, slots), *old = t->slot;
    size_t old_slots = old ? t->mask + 1 : 0;
    assert(!(slots & (slots - 1)) && slots > 2 * t->n);
    if (!old) t->secret = hash_secret(fresh);
    t->slot = fresh;
    t->mask = slots - 1;
    t->cap = slots;
    for (size_t i = 0; i < old_slots; i++)
        if (old[i]) fresh[key_set_place(t, old[i])] = old[i];
    mem_put(m, old);
}

void key_set_grow(mem *m, key_set *t)
{
    key_set_resize(m, t, doubled(m, t->slot ? t->mask + 1 : 0));
}

void key_set_reserve(mem *m, key_set *t, size_t n)
{
    size_t slots = slots_for(m, n, FIRST_SLOTS);
    if (!t->slot || slots > t->mask + 1) key_set_resize(m, t, slots);
}

void key_set_restart(mem *m, key_set *t, size_t n)
{
    size_t slots = slots_for(m, n, FEWEST_SLOTS);
    t->n = 0;
    t->has_zero = false;
    if (slots > t->cap) {
        key_set_free(m, t);
        key_set_resize(m, t, slots);
    } else {
        memset(t->slot, 0, slots * sizeof *t->slot);
        t->mask = slots - 1;
    }
}

void key_set_free(mem *m, key_set *t)
{
    mem_put(m, t->slot);
    *t = (key_set){0};
}

bool key_set_check(const key_set *t)
{
    size_t n = 0;
    for (size_t i = 0; t->slot && i <= t->mask; i++) {
        if (!t->slot[i]) continue;
        if (key_set_place(t, t->slot[i]) != i) return false;
        n++;
    }
    return n == t->n && (!t->slot || 2 * n <= t->mask + 1);
}

static void id_index_resize(mem *m, id_index *t, size_t slots)
{
    uint64_t *fresh = mem_array0(m, uint64_t, slots), *old = t->slot;
    size_t mask = slots - 1, old_mask = t->mask;
    assert(!(slots & mask) && slots > 2 * t->n);
    if (old) {
        /* A run of entries may go round the end of the old table: from the start of a run on,
           entries are met oldest first, and so they stay. */
        size_t start = 0;
        while (old[start]) start++;
        for (size_t i = 1; i <= old_mask; i++) {
            uint64_t s = old[(start + i) & old_mask];
            if (!s) continue;
            size_t at = (size_t)(s >> 32) & mask;
            while (fresh[at]) at = (at + 1) & mask;
            fresh[at] = s;
        }
    }
    t->slot = fresh;
    t->mask = mask;
    t->cap = slots;
    mem_put(m, old);
}

void id_index_grow(mem *m, id_index *t)
{
    id_index_resize(m, t, doubled(m, t->slot ? t->mask + 1 : 0));
}

void id_index_reserve(mem *m, id_index *t, size_t n)
{
    size_t slots = slots_for(m, n, FIRST_SLOTS);
    if (!t->slot || slots > t->mask + 1) id_index_resize(m, t, slots);
}

void id_index_restart(mem *m, id_index *t, size_t n)
{
    size_t slots = slots_for(m, n, FEWEST_SLOTS);
    t->n = 0;
    if (slots > t->cap) {
        id_index_free(m, t);
        id_index_resize(m, t, slots);
    } else {
        memset(t->slot, 0, slots * sizeof *t->slot);
        t->mask = slots - 1;
    }
}

void id_index_free(mem *m, id_index *t)
{
    mem_put(m, t->slot);
    *t = (id_index){0};
}

bool id_index_check(const id_index *t)
{
    size_t n = 0;
    for (size_t i = 0; t->slot && i <= t->mask; i++) {
        if (!t->slot[i]) continue;
        size_t at = (size_t)(t->slot[i] >> 32) & t->mask;
        while (at != i && t->slot[at]) at = (at + 1) & t->mask;
        if (at != i) return false;
        n++;
    }
    return n == t->n && (!t->slot || 2 * n <= t->mask + 1);
}
