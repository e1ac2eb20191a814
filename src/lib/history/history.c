/*
 * history.c - building and freezing histories.  See history.h for the model.
 *
 * Limits are checked where ids are handed out: operations, rows, values, keys and transactions
 * each must stay below 2^31 or 2^32 - 1, and passing that is an error with its number, never a
 * wrap-around.
 */
#include "history/history.h"

#include <assert.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/sort.h"
#include "history/own_levels.h"

#define LABEL_TABLE ((label)1 << 63)
#define SMALL_LIMIT ((uint64_t)1 << 20) /* integers below this may use the direct table */

history *history_new(mem_fn fn, void *ud, guard *g, size_t memory_limit)
{
    mem seed;
    mem_init(&seed, fn, ud, g);
    seed.limit = memory_limit;
    history *h = mem_zeroed(&seed, sizeof *h);
    h->mem = seed;
    /* The first block's back link pointed at the seed on our stack. */
    h->mem.head.next->prev = &h->mem.head;
    h->init_scalar = VALUE_NULL;
    h->last_session = NO_ID;
    h->secret = hash_secret(h);
    return h;
}

void history_free(history *h)
{
    if (!h) return;
    mem m = h->mem; /* the history itself lives in the region */
    if (m.head.next) m.head.next->prev = &m.head;
    mem_free_all(&m);
}

/* --- interning --------------------------------------------------------------------------- */

static uint32_t intern_find(const history *h, const intern *t, uint64_t hash, const atom *a,
                            const void *content)
{
    for (index_walk w = id_index_walk(&t->by_content, hash); id_index_next(&t->by_content, &w);) {
        const atom *b = &t->atoms.at[w.id];
        if (b->kind != a->kind || b->len != a->len) continue;
        bool same;
        if (a->kind == ATOM_STR || a->kind == ATOM_BIG)
            same = !a->len || !memcmp(h->bytes.at + b->as.offset, content, a->len);
        else if (a->kind == ATOM_LIST)
            same = !memcmp(h->elements.at + b->as.offset, content, a->len * sizeof(value_id));
        else
            same = b->as.u == a->as.u;
        if (same) return w.id;
    }
    return NO_ID;
}

static uint32_t intern_add(history *h, intern *t, uint64_t hash, atom a, const void *content)
{
    if (t->atoms.n >= 0x7ffffff0u)
        guard_fail(h->mem.guard, GUARD_UNSUPPORTED, "more than 2^31 distinct keys or values");
    if (a.kind == ATOM_STR || a.kind == ATOM_BIG) {
        a.as.offset = h->bytes.n;
        vec_reserve(&h->mem, &h->bytes, a.len + 1);
        if (a.len) memcpy(h->bytes.at + h->bytes.n, content, a.len);
        h->bytes.n += a.len;
        h->bytes.at[h->bytes.n] = 0;
    } else if (a.kind == ATOM_LIST) {
        a.as.offset = h->elements.n;
        vec_reserve(&h->mem, &h->elements, a.len);
        if (a.len) memcpy(h->elements.at + h->elements.n, content, a.len * sizeof(value_id));
        h->elements.n += a.len;
    }
    vec_reserve(&h->mem, &t->atoms, 1);
    uint32_t index = (uint32_t)t->atoms.n;
    id_index_add(&h->mem, &t->by_content, hash, index); /* may fail: then there is no such atom */
    t->atoms.at[t->atoms.n++] = a;
    return index;
}

static uint32_t intern_get(history *h, intern *t, uint64_t hash, atom a, const void *content)
{
    assert(!h->frozen);
    uint32_t known = intern_find(h, t, hash, &a, content);
    return known != NO_ID ? known : intern_add(h, t, hash, a, content);
}

/* Numbers come from files: without the secret, one could hold thousands that meet in one slot. */
static uint64_t number_hash(const history *h, uint64_t v)
{
    return hash_u64(v ^ h->secret);
}

static uint32_t intern_uint(history *h, intern *t, uint64_t v)
{
    atom a = {.kind = v >> 63 ? ATOM_UINT : ATOM_INT, .as.u = v};
    if (v >= SMALL_LIMIT) return intern_get(h, t, number_hash(h, v), a, NULL);
    while (t->small.n <= v) vec_push(&h->mem, &t->small, 0);
    if (!t->small.at[v]) t->small.at[v] = intern_get(h, t, number_hash(h, v), a, NULL) + 1;
    return t->small.at[v] - 1;
}

static uint32_t intern_int(history *h, intern *t, int64_t v)
{
    if (v >= 0) return intern_uint(h, t, (uint64_t)v);
    atom a = {.kind = ATOM_INT, .as.i = v};
    return intern_get(h, t, number_hash(h, (uint64_t)v), a, NULL);
}

static uint32_t intern_text(history *h, intern *t, enum atom_kind kind, const char *s, size_t n)
{
    if (n >= UINT32_MAX) guard_fail(h->mem.guard, GUARD_UNSUPPORTED, "string longer than 4 GiB");
    atom a = {.kind = kind, .len = (uint32_t)n};
    return intern_get(h, t, hash_bytes(s, n, h->secret + kind), a, s);
}

/* Table ids start after VALUE_NULL and VALUE_EMPTY. */
static value_id table_value(uint32_t index)
{
    return VALUE_TABLE + 2 + index;
}

value_id value_uint(history *h, uint64_t v)
{
    if (v < VALUE_TABLE) return (value_id)v;
    atom a = {.kind = v >> 63 ? ATOM_UINT : ATOM_INT, .as.u = v};
    return table_value(intern_get(h, &h->values, number_hash(h, v), a, NULL));
}

void value_soon(const history *h, uint64_t v)
{
    const intern *t = &h->values;
    if (v >= VALUE_TABLE) id_index_soon(&t->by_content, number_hash(h, v));
}

void value_sooner(const history *h, uint64_t v)
{
    const intern *t = &h->values;
    if (v < VALUE_TABLE) return;
    uint32_t first = id_index_hint(&t->by_content, number_hash(h, v));
    if (first != NO_ID) __builtin_prefetch(&t->atoms.at[first]);
}

value_id value_int(history *h, int64_t v)
{
    if (v >= 0) return value_uint(h, (uint64_t)v);
    atom a = {.kind = ATOM_INT, .as.i = v};
    return table_value(intern_get(h, &h->values, number_hash(h, (uint64_t)v), a, NULL));
}

value_id value_real(history *h, double v)
{
    if (v == 0) v = 0; /* -0.0 and 0.0 are one value */
    atom a = {.kind = ATOM_REAL, .as.r = v};
    return table_value(intern_get(h, &h->values, hash_pair(h->secret, a.as.u), a, NULL));
}

value_id value_bool(history *h, bool v)
{
    atom a = {.kind = ATOM_BOOL, .as.u = v};
    return table_value(intern_get(h, &h->values, hash_pair(ATOM_BOOL, v), a, NULL));
}

value_id value_str(history *h, const char *s, size_t n)
{
    return table_value(intern_text(h, &h->values, ATOM_STR, s, n));
}

value_id value_big(history *h, const char *digits, size_t n)
{
    return table_value(intern_text(h, &h->values, ATOM_BIG, digits, n));
}

value_id value_list(history *h, const value_id *elements, size_t n)
{
    if (!n) return VALUE_EMPTY;
    if (n >= UINT32_MAX)
        guard_fail(h->mem.guard, GUARD_UNSUPPORTED, "list of more than 2^32 elements");
    atom a = {.kind = ATOM_LIST, .len = (uint32_t)n};
    uint64_t hash = hash_bytes(elements, n * sizeof *elements, h->secret + ATOM_LIST);
    return table_value(intern_get(h, &h->values, hash, a, elements));
}

key_id key_int(history *h, int64_t v)
{
    return intern_int(h, &h->keys, v);
}
key_id key_uint(history *h, uint64_t v)
{
    return intern_uint(h, &h->keys, v);
}
key_id key_str(history *h, const char *s, size_t n)
{
    return intern_text(h, &h->keys, ATOM_STR, s, n);
}
uint32_t bound_int(history *h, int64_t v)
{
    return intern_int(h, &h->bounds, v);
}
uint32_t bound_uint(history *h, uint64_t v)
{
    return intern_uint(h, &h->bounds, v);
}
uint32_t bound_str(history *h, const char *s, size_t n)
{
    return intern_text(h, &h->bounds, ATOM_STR, s, n);
}

label label_uint(history *h, uint64_t v)
{
    return v >> 63 ? LABEL_TABLE | value_uint(h, v) : v;
}
label label_int(history *h, int64_t v)
{
    return v < 0 ? LABEL_TABLE | value_int(h, v) : (label)v;
}
label label_str(history *h, const char *s, size_t n)
{
    return LABEL_TABLE | value_str(h, s, n);
}

/* --- transactions and operations --------------------------------------------------------- */

void history_grow_ops(history *h)
{
    if (h->ops >= UINT32_MAX - 16)
        guard_fail(h->mem.guard, GUARD_UNSUPPORTED, "more than 2^32 operations");
    size_t cap = h->ops_cap ? h->ops_cap * 2 : 256;
    h->op_kind = mem_resize(&h->mem, h->op_kind, cap);
    h->op_key = mem_resize(&h->mem, h->op_key, mem_bytes(&h->mem, cap, sizeof *h->op_key));
    h->op_value = mem_resize(&h->mem, h->op_value, mem_bytes(&h->mem, cap, sizeof *h->op_value));
    h->ops_cap = cap;
}

static void grow_txns(history *h)
{
    if (h->txns >= UINT32_MAX - 16)
        guard_fail(h->mem.guard, GUARD_UNSUPPORTED, "more than 2^32 transactions");
    size_t cap = h->txns_cap ? h->txns_cap * 2 : 64;
    h->txn_op = mem_resize(&h->mem, h->txn_op, mem_bytes(&h->mem, cap + 1, sizeof *h->txn_op));
    h->txn_session =
        mem_resize(&h->mem, h->txn_session, mem_bytes(&h->mem, cap, sizeof *h->txn_session));
    h->txn_label = mem_resize(&h->mem, h->txn_label, mem_bytes(&h->mem, cap, sizeof *h->txn_label));
    h->txn_flags = mem_resize(&h->mem, h->txn_flags, cap);
    h->txns_cap = cap;
}

txn_id history_begin(history *h)
{
    assert(!h->open && !h->frozen);
    if (h->txns == h->txns_cap) grow_txns(h);
    size_t t = h->txns;
    h->txn_op[t] = (op_id)h->ops;
    h->txn_session[t] = NO_ID;
    h->txn_label[t] = (label)t;
    h->txn_flags[t] = 0;
    h->open = true;
    return (txn_id)t;
}

static uint32_t session_of_label(history *h, label l)
{
    uint32_t *known = id_map_at(&h->mem, &h->session_of, l);
    if (*known != MAP_NONE) return *known;
    if (h->sessions.n >= UINT32_MAX - 1)
        guard_fail(h->mem.guard, GUARD_UNSUPPORTED, "more than 2^32 sessions");
    vec_push(&h->mem, &h->sessions, l);
    return *known = (uint32_t)h->sessions.n - 1;
}

uint32_t history_declare_session(history *h, label l)
{
    uint32_t last = h->last_session;
    if (last != NO_ID && h->sessions.at[last] == l) return last;
    return h->last_session = session_of_label(h, l);
}

void history_session(history *h, label session)
{
    assert(h->open);
    h->txn_session[h->txns] = history_declare_session(h, session);
}

void history_label(history *h, label id)
{
    assert(h->open);
    h->txn_label[h->txns] = id;
}

void history_line(history *h, uint64_t line)
{
    assert(h->open);
    if (h->line_cap <= h->txns) {
        size_t n = h->txns_cap;
        h->txn_line = mem_resize(&h->mem, h->txn_line, mem_bytes(&h->mem, n, sizeof *h->txn_line));
        memset(h->txn_line + h->line_cap, 0, (n - h->line_cap) * sizeof *h->txn_line);
        h->line_cap = n;
    }
    h->txn_line[h->txns] = line > UINT32_MAX ? 0 : (uint32_t)line;
}

/* Time columns come into being with the first transaction that has one. */
static int64_t *time_column(history *h, int64_t *column, size_t *cap, size_t per)
{
    if (*cap <= h->txns) {
        size_t n = h->txns_cap;
        column = mem_resize(&h->mem, column, mem_bytes(&h->mem, n, per * sizeof *column));
        memset(column + *cap * per, 0, (n - *cap) * per * sizeof *column);
        *cap = n;
    }
    return column;
}

static void set_time(history *h, size_t t, unsigned which, int64_t v)
{
    switch (which) {
    case TXN_HAS_BEGIN:
        h->txn_begin = time_column(h, h->txn_begin, &h->begin_cap, 1);
        h->txn_begin[t] = v;
        break;
    case TXN_HAS_END:
        h->txn_end = time_column(h, h->txn_end, &h->end_cap, 1);
        h->txn_end[t] = v;
        break;
    case TXN_HAS_START_TS:
        h->txn_start_ts = time_column(h, h->txn_start_ts, &h->start_ts_cap, 1);
        h->txn_start_ts[t] = v;
        break;
    case TXN_HAS_COMMIT_TS:
        h->txn_commit_ts = time_column(h, h->txn_commit_ts, &h->commit_ts_cap, 1);
        h->txn_commit_ts[t] = v;
        break;
    default: assert(false && "no such time");
    }
    h->txn_flags[t] = (uint8_t)(h->txn_flags[t] | which);
}

void history_time(history *h, unsigned which, int64_t v)
{
    assert(h->open);
    set_time(h, h->txns, which, v);
}

void history_time_of(history *h, txn_id t, unsigned which, int64_t v)
{
    assert(!h->frozen && t < h->txns);
    set_time(h, t, which, v);
}

void history_times_of(history *h, txn_id t, const int64_t v[4])
{
    assert(!h->frozen);
    h->txn_times = time_column(h, h->txn_times, &h->times_cap, 4);
    memcpy(h->txn_times + (size_t)t * 4, v, 4 * sizeof *v);
    h->txn_flags[t] |= TXN_HAS_TIMES;
}

void history_times(history *h, const int64_t v[4])
{
    assert(h->open);
    history_times_of(h, (txn_id)h->txns, v);
}

void history_no_begin_return(history *h)
{
    assert(h->open && h->txn_flags[h->txns] & TXN_HAS_TIMES);
    h->txn_flags[h->txns] |= TXN_NO_BEGIN_RETURN;
    h->txn_times[h->txns * 4 + 1] = h->txn_times[h->txns * 4];
}

void history_extra(history *h, const char *name, size_t nn, const char *json, size_t jn)
{
    history_extra_of(h, h->open ? (txn_id)h->txns : NO_ID, name, nn, json, jn);
}

void history_extra_of(history *h, txn_id t, const char *name, size_t nn, const char *json,
                      size_t jn)
{
    extra e = {.txn = t};
    e.name = value_str(h, name, nn);
    e.text = value_str(h, json, jn);
    vec_push(&h->mem, &h->extras, e);
}

void history_end(history *h, enum txn_status status)
{
    assert(h->open);
    size_t t = h->txns;
    if (h->txn_session[t] == NO_ID) history_session(h, label_int(h, 0));
    h->txn_flags[t] = (uint8_t)((h->txn_flags[t] & ~TXN_STATUS_MASK) | status);
    h->txn_op[t + 1] = (op_id)h->ops;
    h->txns++;
    h->open = false;
}

void history_attr(history *h, op_id op, enum attr_kind kind, uint32_t key, uint64_t a)
{
    assert(h->attrs.n == 0 || h->attrs.at[h->attrs.n - 1].op <= op);
    attr x = {.op = op, .kind = kind, .key = key, .a = a};
    vec_push(&h->mem, &h->attrs, x);
    h->op_kind[op] |= OP_ATTR;
}

void history_row(history *h, key_id key, value_id value)
{
    if (h->row_key.n >= UINT32_MAX - 16)
        guard_fail(h->mem.guard, GUARD_UNSUPPORTED, "more than 2^32 rows");
    vec_push(&h->mem, &h->row_key, key);
    vec_push(&h->mem, &h->row_value, value);
}

op_id history_range(history *h, unsigned kind, range r)
{
    const range *last = h->ranges.n ? &h->ranges.at[h->ranges.n - 1] : NULL;
    r.first_row = last ? last->first_row + last->rows : 0;
    r.rows = (uint32_t)h->row_key.n - r.first_row;
    if (h->ranges.n >= UINT32_MAX - 16)
        guard_fail(h->mem.guard, GUARD_UNSUPPORTED, "more than 2^32 scans");
    vec_push(&h->mem, &h->ranges, r);
    return history_op(h, kind, (uint32_t)h->ranges.n - 1, VALUE_NULL);
}

void history_init_scalar(history *h, value_id v)
{
    h->init = v == VALUE_NULL ? INIT_ABSENT : INIT_SCALAR;
    h->init_scalar = v;
}

void history_init_entry(history *h, key_id k, value_id v)
{
    h->init = INIT_MAP;
    init_entry e = {k, v};
    vec_push(&h->mem, &h->init_map, e);
}

void history_mark(history *h, const char *json, size_t n)
{
    mark m = {.before = (txn_id)h->txns, .text = value_str(h, json, n)};
    vec_push(&h->mem, &h->marks, m);
}

/* Attributes follow their operations; stable, so that those of one keep their order. */
static void sort_attrs(attr *a, attr *b, size_t n)
{
    attr *home = a;
#define BY_OP(x, y) ((x).op < (y).op)
    SORT_MERGE(attr, a, b, n, BY_OP);
#undef BY_OP
    if (a != home) memcpy(home, a, n * sizeof *a);
}

void history_regroup(history *h, txn_id *owner)
{
    assert(!h->open && !h->frozen);
    if (!h->txns) return;
    /* All memory first: a failure must leave the history as it was. */
    uint32_t *keys = mem_array(&h->mem, uint32_t, h->ops_cap + 1);
    value_id *values = mem_array(&h->mem, value_id, h->ops_cap + 1);
    uint8_t *kinds = mem_array(&h->mem, uint8_t, h->ops_cap + 1);
    attr *spare = mem_array(&h->mem, attr, h->attrs.n + 1);
    /* Counting sort: txn_op[t + 1] is first the count of t, then its start, at last its end. */
    memset(h->txn_op, 0, (h->txns + 1) * sizeof *h->txn_op);
    for (size_t i = 0; i < h->ops; i++) {
        assert(owner[i] < h->txns);
        h->txn_op[owner[i] + 1]++;
    }
    op_id sum = 0;
    for (size_t t = 0; t < h->txns; t++) {
        op_id count = h->txn_op[t + 1];
        h->txn_op[t + 1] = sum;
        sum += count;
    }
    for (size_t i = 0; i < h->ops; i++) {
        op_id to = owner[i] = h->txn_op[owner[i] + 1]++;
        keys[to] = h->op_key[i];
        values[to] = h->op_value[i];
        kinds[to] = h->op_kind[i];
    }
    mem_put(&h->mem, h->op_key);
    mem_put(&h->mem, h->op_value);
    mem_put(&h->mem, h->op_kind);
    h->op_key = keys;
    h->op_value = values;
    h->op_kind = kinds;
    for (size_t i = 0; i < h->attrs.n; i++) h->attrs.at[i].op = owner[h->attrs.at[i].op];
    if (h->attrs.n) sort_attrs(h->attrs.at, spare, h->attrs.n);
    mem_put(&h->mem, spare);
}

void history_sort_extras(history *h)
{
    size_t n = h->extras.n;
    if (!n) return;
    key_set seen = {0};
    key_set_reserve(&h->mem, &seen, n);
    for (size_t i = 0; i < n; i++) {
        const extra *e = &h->extras.at[i];
        if (key_set_add(&h->mem, &seen, (uint64_t)(e->txn + 1) << 32 | e->name)) continue;
        atom a = value_atom(h, e->name);
        guard_fail(h->mem.guard, GUARD_HISTORY, "member \"%.*s\" occurs twice",
                   a.len < 200 ? (int)a.len : 200, atom_bytes(h, a));
    }
    key_set_free(&h->mem, &seen);
    extra *spare = mem_array(&h->mem, extra, n), *home = h->extras.at, *other = spare;
#define BY_OWNER(x, y) ((x).txn + 1 < (y).txn + 1)
    SORT_MERGE(extra, home, other, n, BY_OWNER);
#undef BY_OWNER
    if (home != h->extras.at) memcpy(h->extras.at, home, n * sizeof *home);
    mem_put(&h->mem, spare);
}

/* --- freezing ---------------------------------------------------------------------------- */

int key_compare(const history *h, atom a, atom b)
{
    bool sa = a.kind == ATOM_STR, sb = b.kind == ATOM_STR;
    if (sa != sb) return sa ? 1 : -1; /* integers stand before strings */
    if (sa) {
        size_t n = a.len < b.len ? a.len : b.len;
        int c = n ? memcmp(atom_bytes(h, a), atom_bytes(h, b), n) : 0;
        if (c) return c < 0 ? -1 : 1;
        return a.len < b.len ? -1 : a.len > b.len;
    }
    bool ua = a.kind == ATOM_UINT, ub = b.kind == ATOM_UINT;
    if (ua != ub) return ua ? 1 : -1;
    if (ua) return a.as.u < b.as.u ? -1 : a.as.u > b.as.u;
    return a.as.i < b.as.i ? -1 : a.as.i > b.as.i;
}

/* Keys in their order, for ranges. */
static void sort_keys(history *h)
{
    size_t n = history_keys(h);
    key_id *a = mem_array(&h->mem, key_id, n + 1), *b = mem_array(&h->mem, key_id, n + 1);
    for (size_t i = 0; i < n; i++) a[i] = (key_id)i;
#define BELOW(x, y) (key_compare(h, key_atom(h, (x)), key_atom(h, (y))) < 0)
    SORT_MERGE(key_id, a, b, n, BELOW);
#undef BELOW
    for (size_t i = 0; i < n; i++) b[a[i]] = (key_id)i;
    h->key_sorted = a;
    h->key_rank = b;
}

static void drop_slots(history *h, intern *t)
{
    id_index_free(&h->mem, &t->by_content);
    vec_free(&h->mem, &t->small);
    vec_trim(&h->mem, &t->atoms);
}

static void check_labels(history *h)
{
    size_t n = h->txns;
    bool rising = true;
    for (size_t t = 1; t < n && rising; t++) rising = h->txn_label[t - 1] < h->txn_label[t];
    if (rising) return; /* the common case needs no table */
    key_set seen = {0};
    key_set_reserve(&h->mem, &seen, n);
    for (size_t t = 0; t < n; t++) {
        if (key_set_add(&h->mem, &seen, h->txn_label[t])) continue;
        strbuf b;
        strbuf_init(&b, &h->mem);
        label_text(h, h->txn_label[t], &b);
        guard_fail(h->mem.guard, GUARD_HISTORY, "transaction id %.200s occurs twice",
                   strbuf_cstr(&b));
    }
    key_set_free(&h->mem, &seen);
}

static void group_sessions(history *h)
{
    size_t s = h->sessions.n;
    h->sess_first = mem_array0(&h->mem, uint32_t, s + 2);
    h->sess_txn = mem_array(&h->mem, txn_id, h->txns + 1);
    for (size_t t = 0; t < h->txns; t++) h->sess_first[h->txn_session[t] + 2]++;
    for (size_t i = 2; i < s + 2; i++) h->sess_first[i] += h->sess_first[i - 1];
    for (size_t t = 0; t < h->txns; t++)
        h->sess_txn[h->sess_first[h->txn_session[t] + 1]++] = (txn_id)t;
}

void history_freeze(history *h)
{
    assert(!h->open && !h->frozen);
    /* Never NULL from here on: NULL + 0 is undefined, and readers add offsets and lengths. */
    if (!h->bytes.at) vec_reserve(&h->mem, &h->bytes, 1);
    if (!h->elements.at) vec_reserve(&h->mem, &h->elements, 1);
    if (!h->attrs.at) vec_reserve(&h->mem, &h->attrs, 1);
    check_labels(h);
    group_sessions(h);
    size_t keys = history_keys(h);
    h->key_init = mem_array(&h->mem, value_id, keys + 1);
    for (size_t k = 0; k < keys; k++)
        h->key_init[k] = h->init == INIT_SCALAR ? h->init_scalar : VALUE_NULL;
    if (h->init == INIT_MAP)
        for (size_t i = 0; i < h->init_map.n; i++)
            h->key_init[h->init_map.at[i].key] = h->init_map.at[i].value;
    if (h->ranges.n) sort_keys(h);
    drop_slots(h, &h->keys);
    drop_slots(h, &h->bounds);
    drop_slots(h, &h->values);
    id_map_free(&h->mem, &h->session_of);
    if (!h->txn_op) {
        h->txn_op = mem_array(&h->mem, op_id, 1);
        h->txn_op[0] = 0;
    }
    history_find_levels(h);
    h->frozen = true;
}

const char *history_check(const history *h)
{
    size_t keys = history_keys(h);
    if (!h->frozen) return "not frozen";
    if (!mem_check(&h->mem)) return "region broken";
    if (h->txn_op[0] != 0 || h->txn_op[h->txns] != h->ops) return "operations not partitioned";
    for (size_t t = 0; t < h->txns; t++) {
        if (h->txn_op[t] > h->txn_op[t + 1]) return "operations of a transaction out of order";
        if (h->txn_session[t] >= h->sessions.n) return "session out of range";
        if ((h->txn_flags[t] & TXN_STATUS_MASK) > TXN_UNKNOWN) return "status out of range";
    }
    for (size_t o = 0; o < h->ops; o++) {
        unsigned kind = h->op_kind[o] & OP_KIND_MASK;
        if (kind > OP_ITER) return "operation kind out of range";
        bool is_range = kind == OP_SCAN || kind == OP_ITER;
        if (h->op_key[o] >= (is_range ? h->ranges.n : keys)) return "key out of range";
        value_id v = h->op_value[o];
        if (v > VALUE_EMPTY && v != VALUE_UNKNOWN && v - VALUE_TABLE - 2 >= h->values.atoms.n)
            return "value out of range";
    }
    uint32_t row = 0;
    for (size_t i = 0; i < h->ranges.n; i++) {
        if (h->ranges.at[i].first_row != row) return "rows not partitioned";
        row += h->ranges.at[i].rows;
    }
    if (row != h->row_key.n) return "rows left over";
    for (size_t i = 1; i < h->attrs.n; i++)
        if (h->attrs.at[i - 1].op > h->attrs.at[i].op) return "attributes out of order";
    for (size_t i = 0; i < h->sessions.n; i++)
        for (uint32_t j = h->sess_first[i]; j < h->sess_first[i + 1]; j++) {
            if (h->txn_session[h->sess_txn[j]] != i) return "session list wrong";
            if (j > h->sess_first[i] && h->sess_txn[j - 1] >= h->sess_txn[j])
                return "session order wrong";
        }
    return NULL;
}
