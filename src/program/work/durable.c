/*
 * durable.c - see durable.h.
 *
 * `values` has one row for each key and value: when the last commit that wrote it returned; never,
 * if nobody knows how one of them ended.  `keys` has for each key the
 * acknowledged commit that began last, and how many elements of a list were acknowledged.
 */
#include "work/durable.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"

typedef struct key_row {
    int64_t key;
    uint64_t began; /* of the acknowledged commit of this key that began last */
    uint64_t id;    /* its transaction; 0: none yet */
    int64_t value;
    bool deletes;
    uint64_t touched; /* by which acknowledged commit, counted */
    uint32_t elements;
    bool was_deleted; /* then nobody knows how many elements it should have */
} key_row;

typedef struct value_row {
    int64_t key, value;
    bool deletes;
    bool acknowledged;
    uint64_t returned; /* UINT64_MAX: of one of them it is not known */
} value_row;

struct durable {
    mem mem;
    guard guard;
    pthread_mutex_t lock;
    uint64_t commits;
    VEC(key_row) keys;
    VEC(value_row) values;
    id_map of_key;
    id_index of_value;
};

static uint64_t hash_value(const value_row *v)
{
    return hash_u64(hash_u64((uint64_t)v->key) ^ (uint64_t)v->value ^ (v->deletes ? 77 : 0));
}

static key_row *key_row_of(durable *d, int64_t key)
{
    uint32_t *at = id_map_at(&d->mem, &d->of_key, (uint64_t)key);
    if (*at == MAP_NONE) {
        *at = (uint32_t)d->keys.n;
        key_row row = {.key = key};
        vec_push(&d->mem, &d->keys, row);
    }
    return &d->keys.at[*at];
}

static value_row *find_value(durable *d, const value_row *like)
{
    for (index_walk w = id_index_walk(&d->of_value, hash_value(like));
         id_index_next(&d->of_value, &w);) {
        value_row *v = &d->values.at[w.id];
        if (v->key == like->key && v->value == like->value && v->deletes == like->deletes) return v;
    }
    return NULL;
}

static value_row *value_row_of(durable *d, const value_row *like)
{
    value_row *v = find_value(d, like);
    if (v) return v;
    vec_push(&d->mem, &d->values, *like);
    id_index_add(&d->mem, &d->of_value, hash_value(like), (uint32_t)d->values.n - 1);
    return &d->values.at[d->values.n - 1];
}

/* Does a later write of this transaction replace it? */
static bool is_replaced(const durable_write *w, size_t i, size_t n)
{
    for (size_t k = i + 1; k < n && !w[i].appends; k++)
        if (w[k].key == w[i].key) return true;
    return false;
}

static void note_write(durable *d, uint64_t id, uint64_t began, uint64_t returned, bool known,
                       const durable_write *w)
{
    value_row like = {.key = w->key, .value = w->deletes ? 0 : w->value, .deletes = w->deletes};
    value_row *v = value_row_of(d, &like);
    if (!known) {
        v->returned = UINT64_MAX;
        return;
    }
    if (v->returned < returned) v->returned = returned;
    key_row *k = key_row_of(d, w->key);
    k->elements += w->appends && !v->acknowledged;
    v->acknowledged = true;
    k->was_deleted = k->was_deleted || w->deletes;
    k->touched = d->commits;
    if (k->id && k->began >= began) return;
    k->began = began;
    k->id = id;
    k->value = w->value;
    k->deletes = w->deletes;
}

bool durable_note(durable *d, uint64_t id, uint64_t began, uint64_t returned, bool known,
                  const durable_write *w, size_t n)
{
    if (!n) return true;
    pthread_mutex_lock(&d->lock);
    if (guard_armed(&d->guard)) {
        pthread_mutex_unlock(&d->lock);
        return false;
    }
    d->commits += known;
    for (size_t i = 0; i < n; i++)
        if (!is_replaced(w, i, n)) note_write(d, id, began, returned, known, &w[i]);
    pthread_mutex_unlock(&d->lock);
    return true;
}

durable *durable_open(mem *m, const db_row *rows, size_t n)
{
    durable *d = mem_zeroed(m, sizeof *d);
    guard_init(&d->guard);
    mem_init(&d->mem, mem_libc, NULL, m->guard); /* until there are threads the caller's guard */
    pthread_mutex_init(&d->lock, NULL);
    for (size_t i = 0; i < n; i++) {
        value_row like = {.key = rows[i].key, .value = rows[i].value};
        value_row_of(d, &like);
    }
    d->mem.guard = &d->guard;
    return d;
}

void durable_close(durable *d)
{
    if (!d) return;
    pthread_mutex_destroy(&d->lock);
    mem_free_all(&d->mem);
}

static int newest_first(const void *a, const void *b)
{
    const key_row *x = a, *y = b;
    if (x->touched != y->touched) return x->touched < y->touched ? 1 : -1;
    return (x->key > y->key) - (x->key < y->key);
}

/* (The rows are sorted in a copy, since others know them by their number.) */
size_t durable_keys(durable *d, int64_t *keys, size_t cap)
{
    pthread_mutex_lock(&d->lock);
    if (guard_armed(&d->guard)) {
        pthread_mutex_unlock(&d->lock);
        return 0;
    }
    size_t n = d->keys.n;
    key_row *copy = mem_array0(&d->mem, key_row, n + 1);
    if (n) memcpy(copy, d->keys.at, n * sizeof *copy);
    qsort(copy, n, sizeof *copy, newest_first);
    if (n > cap) n = cap;
    for (size_t i = 0; i < n; i++) keys[i] = copy[i].key;
    mem_put(&d->mem, copy);
    pthread_mutex_unlock(&d->lock);
    return n;
}

uint64_t durable_acknowledged(durable *d)
{
    pthread_mutex_lock(&d->lock);
    uint64_t n = d->commits;
    pthread_mutex_unlock(&d->lock);
    return n;
}

/* --- what is missing -------------------------------------------------------------------------- */

static bool elements_lost(durable *d, const key_row *k, const db_session *s, char *why, size_t cap)
{
    uint32_t found = 0;
    const char *p = s->text.at, *end = s->absent ? p : p + s->text.n;
    while (p < end) {
        char number[32];
        size_t n = 0;
        while (p + n < end && p[n] != ',') n++;
        snprintf(number, sizeof number, "%.*s", (int)(n < 30 ? n : 30), p);
        value_row like = {.key = k->key, .value = strtoll(number, NULL, 10)};
        const value_row *v = find_value(d, &like);
        found += v && v->acknowledged;
        p += n + (p + n < end);
    }
    if (found >= k->elements || k->was_deleted) return false;
    snprintf(why, cap, "key %lld has %u of %u elements whose appends were acknowledged",
             (long long)k->key, found, k->elements);
    return true;
}

static bool value_lost(durable *d, const key_row *k, const db_session *s, char *why, size_t cap)
{
    value_row like = {.key = k->key, .value = s->absent ? 0 : s->value, .deletes = s->absent};
    const value_row *v = find_value(d, &like);
    char seen[32] = "is absent";
    /* A key that was absent at first is so without a delete; any other value that nobody is known
       to have written is for a check to judge. */
    if (!v && !s->absent) return false;
    if (v && v->returned >= k->began) return false;
    if (!s->absent) snprintf(seen, sizeof seen, "has the value %lld", (long long)s->value);
    int n = snprintf(why, cap, "key %lld %s, but later T%llu ", (long long)k->key, seen,
                     (unsigned long long)k->id);
    if (n < 0 || (size_t)n >= cap) return true;
    if (k->deletes)
        snprintf(why + n, cap - (size_t)n, "deleted it and was acknowledged");
    else
        snprintf(why + n, cap - (size_t)n, "wrote %lld and was acknowledged", (long long)k->value);
    return true;
}

bool durable_lost(durable *d, int64_t key, const db_session *s, bool lists, char *why, size_t cap)
{
    pthread_mutex_lock(&d->lock);
    uint32_t at = id_map_get(&d->of_key, (uint64_t)key);
    bool lost = false;
    if (at != MAP_NONE && d->keys.at[at].id)
        lost = lists ? elements_lost(d, &d->keys.at[at], s, why, cap)
                     : value_lost(d, &d->keys.at[at], s, why, cap);
    pthread_mutex_unlock(&d->lock);
    return lost;
}
