/*
 * duplicates.c - see duplicates.h.
 *
 * Lists that were read of one key are nearly always prefixes of one another.  So for each key the
 * longest list without a repetition is kept, with the set of its elements: a prefix of it needs one
 * comparison, a continuation only the look at what is new.  A list that has a repetition, or that
 * goes another way, is counted by itself; what was appended is counted when it is first needed.
 * So a history without repetitions costs one entry for each element that was ever read.
 */
#include "asg/duplicates.h"

#include <assert.h>
#include <string.h>

typedef struct plain_list { /* without a repetition; its elements are in `elements` */
    uint64_t offset;
    uint32_t n;
} plain_list;

typedef struct appended {
    uint32_t times;  /* initial elements count too */
    txn_id first[2]; /* two different transactions that appended it, or NO_ID */
} appended;

typedef struct duplicate_search {
    const history *h;
    mem *m;
    plain_list *longest; /* by key */
    key_set elements;    /* pairs of key and element of `longest` */
    id_map times;        /* element of the list in question -> how often */
    bool counted;        /* what follows is there */
    id_map appended_of;  /* pair of key and element -> index of appended */
    VEC(appended) appended;
    duplicate_reads *out;
} duplicate_search;

static appended *appended_at(duplicate_search *s, key_id k, value_id e)
{
    uint32_t *at = id_map_at(s->m, &s->appended_of, map_pair(k, e));
    if (*at == MAP_NONE) {
        appended fresh = {0, {NO_ID, NO_ID}};
        *at = (uint32_t)s->appended.n;
        vec_push(s->m, &s->appended, fresh);
    }
    return &s->appended.at[*at];
}

/* Writes count like appends: a list may begin with a value that was written. */
static void count_appended(duplicate_search *s)
{
    const history *h = s->h;
    for (key_id k = 0; k < history_keys(h); k++) {
        value_id init = value_or_absent(h->key_init[k]);
        if (init == VALUE_NULL) continue;
        atom a = value_atom(h, init);
        if (a.kind != ATOM_LIST) appended_at(s, k, init)->times++;
        for (uint32_t i = 0; a.kind == ATOM_LIST && i < a.len; i++)
            appended_at(s, k, h->elements.at[a.as.offset + i])->times++;
    }
    for (txn_id t = 0; t < h->txns; t++)
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            enum op_kind kind = op_kind_of(h, o);
            if (op_failed(h, o) || (kind != OP_APPEND && kind != OP_WRITE)) continue;
            appended *x = appended_at(s, h->op_key[o], h->op_value[o]);
            x->times++;
            if (x->first[0] == NO_ID)
                x->first[0] = t;
            else if (x->first[1] == NO_ID && x->first[0] != t)
                x->first[1] = t;
        }
    s->counted = true;
}

/* A list that has a repetition, or that contradicts others.  An element that was never appended is
   another matter, and a worse one: then nothing is said here. */
static void count_list(duplicate_search *s, duplicate_read r, const value_id *e, uint32_t n)
{
    uint32_t worst = n;
    id_map_restart(s->m, &s->times, n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t *times = id_map_at(s->m, &s->times, e[i]);
        *times = *times == MAP_NONE ? 1 : *times + 1;
        if (*times > 1 && !s->counted) count_appended(s);
    }
    if (!s->counted) return; /* no repetition, here or before */
    for (uint32_t i = 0; i < n; i++) {
        uint32_t x = id_map_get(&s->appended_of, map_pair(r.key, e[i]));
        if (x == MAP_NONE) return;
        if (worst == n && id_map_get(&s->times, e[i]) > s->appended.at[x].times) worst = i;
    }
    if (worst == n) return;
    r.element = e[worst];
    const appended *x = &s->appended.at[id_map_get(&s->appended_of, map_pair(r.key, r.element))];
    r.appender = x->first[0] == r.txn ? x->first[1] : x->first[0];
    vec_push(s->m, s->out, r);
}

static void look_at_value(duplicate_search *s, txn_id t, op_id o, key_id k, value_id v)
{
    const history *h = s->h;
    if (v <= VALUE_EMPTY || v == VALUE_UNKNOWN) return;
    atom a = value_atom(h, v);
    if (a.kind != ATOM_LIST || a.len < 2) return;
    const value_id *e = h->elements.at + a.as.offset;
    plain_list *known = &s->longest[k];
    uint32_t common = a.len < known->n ? a.len : known->n;
    bool fits = !common || !memcmp(e, h->elements.at + known->offset, common * sizeof *e);
    for (; fits && known->n < a.len; known->n++) {
        if (known->n == common) known->offset = a.as.offset;
        fits = key_set_add(s->m, &s->elements, map_pair(k, e[known->n]));
        if (!fits) break;
    }
    duplicate_read r = {t, o, k, v, VALUE_NULL, NO_ID};
    if (!fits) count_list(s, r, e, a.len);
}

void find_duplicates(const history *h, mem *m, duplicate_reads *out)
{
    duplicate_search s = {.h = h, .m = m, .out = out};
    if (!h->elements.n || h->init_unknown) return;
    s.longest = mem_array0(m, plain_list, history_keys(h) + 1);
    for (txn_id t = 0; t < h->txns; t++) {
        if (txn_status_of(h, t) == TXN_ABORTED) continue;
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            if (h->op_kind[o] & OP_FAILED) continue;
            enum op_kind kind = op_kind_of(h, o);
            if (kind == OP_READ) look_at_value(&s, t, o, h->op_key[o], h->op_value[o]);
            if (kind != OP_SCAN && kind != OP_ITER) continue;
            const range *r = &h->ranges.at[h->op_key[o]];
            for (uint32_t i = r->first_row; i < r->first_row + r->rows; i++)
                look_at_value(&s, t, o, h->row_key.at[i], h->row_value.at[i]);
        }
        guard_tick(m->guard);
    }
    mem_put(m, s.longest);
    key_set_free(m, &s.elements);
    id_map_free(m, &s.times);
    id_map_free(m, &s.appended_of);
    vec_free(m, &s.appended);
}
