/*
 * ids.c - write ids: a value in the database is the id of its write with the workload's value in
 * the low half.
 *
 * The writes stand in one array in the order of their ids, so what an id must have written is one
 * lookup.  Values that were there initially have the id 0.
 */
#include "work/ids.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST = 0x7fffffff }; /* so that the database's numbers stay positive */

void ids_init(id_table *t, guard *g, const db_row *rows, size_t n_rows)
{
    *t = (id_table){.rows = rows, .n_rows = n_rows};
    mem_init(&t->mem, mem_libc, NULL, g);
}

void ids_free(id_table *t)
{
    mem_free_all(&t->mem);
}

int64_t ids_issue(id_table *t, int64_t key, int64_t value)
{
    if (value < 0 || value > UINT32_MAX || t->writes.n >= MOST)
        guard_fail(t->mem.guard, GUARD_UNSUPPORTED,
                   "there are more writes, or larger values, than write ids can represent");
    db_row w = {key, value};
    vec_push(&t->mem, &t->writes, w);
    return (int64_t)((uint64_t)t->writes.n << 32 | (uint64_t)value);
}

static int by_key(const void *a, const void *b)
{
    const db_row *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

bool ids_true(const id_table *t, int64_t key, int64_t value, char *why, size_t cap)
{
    uint32_t id = ids_id(value), low = ids_value(value);
    db_row wanted = {key, 0};
    const db_row *w = NULL;
    if (!id && t->n_rows)
        w = bsearch(&wanted, t->rows, t->n_rows, sizeof wanted, by_key);
    else if (id && id <= t->writes.n)
        w = &t->writes.at[id - 1];
    if (w && w->key == key && w->value == (int64_t)low) return true;
    int n =
        snprintf(why, cap, "key %lld: read %u under the id %u, which ", (long long)key, low, id);
    if (n < 0 || (size_t)n >= cap) return false;
    if (w)
        snprintf(why + n, cap - (size_t)n, "wrote %lld to key %lld", (long long)w->value,
                 (long long)w->key);
    else
        snprintf(why + n, cap - (size_t)n, "no transaction wrote");
    return false;
}
