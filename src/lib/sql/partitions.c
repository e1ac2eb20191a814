/*
 * partitions.c - which partition a row belongs to.
 *
 * A null lies in no range, and in the list that names it; DEFAULT takes what is left.  Rows are
 * spread by a hash only where every remainder has its partition, so that each row has one.
 */
#include "sql/partitions.h"

#include <assert.h>

static int cmp_end(const partitioning *d, const value *row, const partition_end *end)
{
    for (uint32_t i = 0; i < d->n_keys; i++) {
        assert(end[i].beyond || !end[i].v.null);
        if (end[i].beyond) return -end[i].beyond;
        int c = value_cmp(d->types[i], row[d->keys[i]], end[i].v);
        if (c) return c;
    }
    return 0;
}

static bool list_has(const partitioning *d, const partition *p, value v)
{
    for (uint32_t i = 0; i < p->n; i++) {
        if (v.null || p->values[i].null) {
            if (v.null && p->values[i].null) return true;
            continue;
        }
        if (!value_cmp(d->types[0], v, p->values[i])) return true;
    }
    return false;
}

/* Every remainder of the largest modulus has its partition. */
static bool hash_is_whole(const partitioning *d)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < d->n; i++)
        if (d->at[i].modulus > most) most = d->at[i].modulus;
    for (uint32_t r = 0; r < most; r++) {
        uint32_t i = 0;
        while (i < d->n && r % d->at[i].modulus != d->at[i].remainder) i++;
        if (i == d->n) return false;
    }
    return most > 0;
}

uint32_t partition_of(const partitioning *d, const value *row)
{
    uint32_t fallback = NO_PARTITION;
    assert(d->n_keys && (d->kind != PARTITION_LIST || d->n_keys == 1));
    bool null = false, open = false;
    for (uint32_t i = 0; i < d->n_keys; i++) {
        null |= row[d->keys[i]].null;
        open |= row[d->keys[i]].open != OPEN_NOT;
    }
    if (open || d->kind == PARTITION_HASH) return SOME_PARTITION;
    for (uint32_t i = 0; i < d->n; i++) {
        const partition *p = &d->at[i];
        if (p->fallback)
            fallback = i;
        else if (d->kind == PARTITION_LIST
                     ? list_has(d, p, row[d->keys[0]])
                     : !null && cmp_end(d, row, p->from) >= 0 && cmp_end(d, row, p->to) < 0)
            return i;
    }
    return fallback;
}

void partition_check(sql_exec *x, const table *t, const value *row)
{
    const partitioning *d = t->parts;
    assert(row && !t->read_only);
    if (!d) return;
    if (d->kind == PARTITION_HASH && !hash_is_whole(d))
        sql_refuse(&x->c, -1, "partitions by hash that leave out some rows");
    if (partition_of(d, row) == NO_PARTITION)
        sql_raise(&x->c, "23514", "no partition of relation \"%s\" found for row", t->name);
}

void partition_stays(sql_exec *x, const table *t, const value *old, const value *row)
{
    const partitioning *d = t->parts;
    bool same = true;
    if (!d) return;
    for (uint32_t i = 0; i < d->n_keys; i++)
        same &= value_identical(d->types[i], old[d->keys[i]], row[d->keys[i]]);
    if (same) return;
    uint32_t from = partition_of(d, old), to = partition_of(d, row);
    if (from == SOME_PARTITION || to == SOME_PARTITION)
        sql_refuse(&x->c, -1, "ON CONFLICT DO UPDATE of the key of partitions");
    if (from != to) sql_raise(&x->c, "0A000", "invalid ON UPDATE specification");
}

const table *partition_parent(const sql_exec *x, const char *name)
{
    const store *s = x->s;
    for (size_t i = 0; i < s->tables.n; i++) {
        const table *t = s->tables.at[i];
        if (!t->parts || vs_find(s, t->name, x->latest) != t) continue;
        for (uint32_t k = 0; k < t->parts->n; k++)
            if (!strcmp(t->parts->at[k].name, name)) return t;
    }
    return NULL;
}
