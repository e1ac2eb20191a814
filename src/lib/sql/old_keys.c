/*
 * old_keys.c - does a statement give a row the key that another one of its rows has or had?
 *
 * Then the order of the rows, which is the planner's, decides between success and an error.  The
 * keys of the rows as they were are kept in a hash table, so that n rows cost n steps.
 */
#include <assert.h>

#include "base/hash.h"
#include "sql/modify.h"

struct old_keys {
    const table *t;
    const unique_key *u;
    const value *const *old;
    uint32_t cap, *slot; /* number of a row, UINT32_MAX: none */
};

static uint64_t key_hash(const table *t, const unique_key *u, const value *row)
{
    uint64_t h = u->n;
    for (uint32_t i = 0; i < u->n; i++)
        h = hash_pair(h, value_hash(t->cols[u->cols[i]].t.id, row[u->cols[i]]));
    return hash_u64(h);
}

old_keys *old_keys_of(sql_exec *x, const table *t, const unique_key *u, const value *const *old,
                      uint32_t n)
{
    old_keys *k = arena_get(&x->work, sizeof *k);
    *k = (old_keys){.t = t, .u = u, .old = old, .cap = 16};
    while (k->cap / 2 < n && k->cap < 1u << 31) k->cap *= 2;
    k->slot = arena_array(&x->work, uint32_t, k->cap);
    memset(k->slot, 0xff, k->cap * sizeof *k->slot);
    for (uint32_t i = 0; i < n; i++) {
        guard_tick(x->c.guard);
        if (!old[i] || modify_key_null(u, old[i])) continue; /* equal to no other one */
        uint32_t at = (uint32_t)key_hash(t, u, old[i]) & (k->cap - 1);
        while (k->slot[at] != UINT32_MAX) at = (at + 1) & (k->cap - 1);
        k->slot[at] = i;
    }
    return k;
}

bool old_keys_have(const old_keys *k, const value *row, uint32_t self)
{
    if (modify_key_null(k->u, row)) return false;
    uint32_t at = (uint32_t)key_hash(k->t, k->u, row) & (k->cap - 1);
    for (; k->slot[at] != UINT32_MAX; at = (at + 1) & (k->cap - 1))
        if (k->slot[at] != self && modify_same_key(k->t, k->u, row, k->old[k->slot[at]]))
            return true;
    return false;
}
