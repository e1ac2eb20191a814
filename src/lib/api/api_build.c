/*
 * api_build.c - the builder calls of ratel.h: a caller's transactions, one at a time or side by
 * side.
 *
 * A history may outlive its context, so builder errors live in the history.
 *
 * Side by side: operations of a history lie in one array, transaction by transaction.  So a
 * transaction that is opened by ratel_history_open is entered as an empty one, its operations are
 * added behind whatever is there, with their owner, and freezing sorts them.
 */
#include <stdio.h>
#include <string.h>

#include "ratel.h"

#include "api/builder.h"

int ratel_history_new(ratel_history **out, ratel *r)
{
    if (!out || !r) return RATEL_EINVAL;
    call c;
    api_open(&c, r);
    *out = NULL;
    ratel_history *h;
    int code = api_new_history(&h, &c);
    api_close(&c, code);
    if (code) {
        ratel_history_free(h);
        return code;
    }
    history_set_guard(h->model, NULL);
    h->format = "ratel";
    *out = h;
    return RATEL_OK;
}

const char *ratel_history_errmsg(const ratel_history *h)
{
    return h ? h->message : "no history";
}

int builder_refuse(ratel_history *h, int code, const char *text)
{
    snprintf(h->message, sizeof h->message, "%s", text);
    return code;
}

int builder_run(ratel_history *h, build *b, void (*body)(build *))
{
    guard_init(&b->guard);
    b->shell = h;
    b->h = h->model;
    history_set_guard(h->model, &b->guard);
    int code = RATEL_OK;
    if (guard_armed(&b->guard)) {
        snprintf(h->message, sizeof h->message, "%s", b->guard.text);
        code = b->guard.code;
    } else {
        if (h->current != NO_ID) vec_reserve(&h->model->mem, &h->owner, 1);
        body(b);
        if (h->current != NO_ID && h->owner.n < h->model->ops)
            h->owner.at[h->owner.n++] = h->current;
    }
    history_set_guard(h->model, NULL);
    return code;
}

/* What the native format can hold: finite numbers, strings in UTF-8. */
bool builder_scalar_ok(const ratel_value *v)
{
    if (v->type == RATEL_REAL) return v->as.r - v->as.r == 0;
    if (v->type != RATEL_STR) return v->type <= RATEL_BOOL;
    if (!v->as.str.s) return !v->as.str.n;
    for (size_t i = 0, n; i < v->as.str.n; i += n)
        if (!(n = utf8_length(v->as.str.s + i, v->as.str.n - i))) return false;
    return true;
}

bool builder_key_ok(const ratel_value *v)
{
    return builder_scalar_ok(v) &&
           (v->type == RATEL_INT || v->type == RATEL_UINT || v->type == RATEL_STR);
}

key_id builder_key(history *h, const ratel_value *v)
{
    if (v->type == RATEL_INT) return key_int(h, v->as.i);
    if (v->type == RATEL_UINT) return key_uint(h, v->as.u);
    return key_str(h, v->as.str.s, v->as.str.n);
}

label builder_label(history *h, const ratel_value *v)
{
    if (v->type == RATEL_INT) return label_int(h, v->as.i);
    if (v->type == RATEL_UINT) return label_uint(h, v->as.u);
    return label_str(h, v->as.str.s, v->as.str.n);
}

static value_id to_value(history *h, const ratel_value *v)
{
    switch (v->type) {
    case RATEL_NULL: return VALUE_NULL;
    case RATEL_INT: return value_int(h, v->as.i);
    case RATEL_UINT: return value_uint(h, v->as.u);
    case RATEL_REAL: return value_real(h, v->as.r);
    case RATEL_STR: return value_str(h, v->as.str.s, v->as.str.n);
    case RATEL_BOOL: return value_bool(h, v->as.b != 0);
    }
    return VALUE_NULL;
}

static uint32_t to_bound(history *h, const ratel_value *v, uint32_t *kind)
{
    *kind = v->type == RATEL_NULL ? BOUND_NONE : BOUND_AT;
    if (v->type == RATEL_NULL) return 0;
    if (v->type == RATEL_INT) return bound_int(h, v->as.i);
    if (v->type == RATEL_UINT) return bound_uint(h, v->as.u);
    return bound_str(h, v->as.str.s, v->as.str.n);
}

#define FLAGS_OK(h, flags)                                                                         \
    do {                                                                                           \
        if ((flags) & ~(RATEL_OP_LOCK | RATEL_OP_FAILED | RATEL_OP_TOMB))                          \
            return builder_refuse(h, RATEL_EINVAL, "unknown operation flags");                     \
    } while (0)

static void body_init(build *b)
{
    history_init_scalar(b->h, to_value(b->h, &b->value));
}

int ratel_history_init(ratel_history *h, ratel_value all)
{
    BETWEEN(h);
    if (!builder_scalar_ok(&all)) return builder_refuse(h, RATEL_EINVAL, "no such value");
    build b = {.value = all};
    return builder_run(h, &b, body_init);
}

static void body_init_key(build *b)
{
    key_id k = builder_key(b->h, &b->key);
    history_init_entry(b->h, k, to_value(b->h, &b->value));
}

int ratel_history_init_key(ratel_history *h, ratel_value key, ratel_value value)
{
    BETWEEN(h);
    if (!builder_key_ok(&key) || !builder_scalar_ok(&value))
        return builder_refuse(h, RATEL_EINVAL, "no such key or value");
    build b = {.key = key, .value = value};
    return builder_run(h, &b, body_init_key);
}

int ratel_history_init_unknown(ratel_history *h)
{
    BETWEEN(h);
    h->model->init_unknown = true;
    return RATEL_OK;
}

static void body_begin(build *b)
{
    label l = builder_label(b->h, &b->key); /* may fail: before anything changes */
    uint32_t s = history_declare_session(b->h, l);
    txn_id t = history_begin(b->h);
    b->h->txn_session[t] = s;
}

int ratel_history_begin(ratel_history *h, ratel_value session)
{
    BETWEEN(h);
    if (!builder_key_ok(&session))
        return builder_refuse(h, RATEL_EINVAL, "a session is an integer or a string");
    build b = {.key = session};
    return builder_run(h, &b, body_begin);
}

/* From here on operations have owners; so have those that are there. */
static void start_streaming(ratel_history *h)
{
    history *m = h->model;
    if (h->streaming) return;
    h->owner.n = 0;
    vec_reserve(&m->mem, &h->owner, m->ops + 1);
    for (txn_id t = 0; t < m->txns; t++)
        for (op_id o = m->txn_op[t]; o < m->txn_op[t + 1]; o++) h->owner.at[h->owner.n++] = t;
    h->streaming = true;
}

static void body_open(build *b)
{
    ratel_history *h = b->shell;
    label l = builder_label(b->h, &b->key);
    uint32_t s = history_declare_session(b->h, l);
    while (h->busy.n <= s) vec_push(&b->h->mem, &h->busy, 0);
    b->txn = NO_ID;
    if (h->busy.at[s]) return;
    start_streaming(h);
    txn_id t = history_begin(b->h);
    b->h->txn_session[t] = s;
    history_end(b->h, TXN_UNKNOWN);
    h->busy.at[s] = t + 1;
    h->open_txns++;
    b->txn = t;
}

int ratel_history_open(ratel_history *h, ratel_value session, ratel_txn *txn)
{
    BUILDING(h);
    if (!txn) return builder_refuse(h, RATEL_EINVAL, "nowhere to put the transaction's number");
    if (h->model->open)
        return builder_refuse(h, RATEL_EINVAL, "a transaction of ratel_history_begin is open");
    if (!builder_key_ok(&session))
        return builder_refuse(h, RATEL_EINVAL, "a session is an integer or a string");
    build b = {.key = session};
    int code = builder_run(h, &b, body_open);
    if (code) return code;
    if (b.txn == NO_ID)
        return builder_refuse(h, RATEL_EINVAL, "the session has a transaction open");
    *txn = h->current = b.txn;
    return RATEL_OK;
}

static bool is_open(const ratel_history *h, ratel_txn t)
{
    return t < h->model->txns && h->model->txn_session[t] < h->busy.n &&
           h->busy.at[h->model->txn_session[t]] == t + 1;
}

int ratel_history_select(ratel_history *h, ratel_txn txn)
{
    BUILDING(h);
    if (!is_open(h, txn)) return builder_refuse(h, RATEL_EINVAL, "no such transaction is open");
    h->current = txn;
    return RATEL_OK;
}

static void end_streamed(ratel_history *h, txn_id t, ratel_status status)
{
    history *m = h->model;
    m->txn_flags[t] = (uint8_t)((m->txn_flags[t] & ~TXN_STATUS_MASK) | (unsigned)status);
    h->busy.at[m->txn_session[t]] = 0;
    h->open_txns--;
    if (h->current == t) h->current = NO_ID;
}

int ratel_history_end_open(ratel_history *h, ratel_status status)
{
    BUILDING(h);
    if (status < RATEL_COMMITTED || status > RATEL_STATUS_UNKNOWN)
        return builder_refuse(h, RATEL_EINVAL, "no such status");
    for (size_t s = 0; s < h->busy.n; s++)
        if (h->busy.at[s]) end_streamed(h, h->busy.at[s] - 1, status);
    return RATEL_OK;
}

static void body_id(build *b)
{
    label l = builder_label(b->h, &b->key);
    if (b->shell->current != NO_ID)
        b->h->txn_label[b->shell->current] = l;
    else
        history_label(b->h, l);
}

int ratel_history_id(ratel_history *h, ratel_value id)
{
    IN_TXN(h);
    if (!builder_key_ok(&id))
        return builder_refuse(h, RATEL_EINVAL, "an id is an integer or a string");
    build b = {.key = id};
    return builder_run(h, &b, body_id);
}

static void body_instants(build *b)
{
    txn_id t = b->shell->current;
    if (t != NO_ID) {
        history_time_of(b->h, t, TXN_HAS_BEGIN, b->begin);
        history_time_of(b->h, t, TXN_HAS_END, b->end);
        return;
    }
    history_time(b->h, TXN_HAS_BEGIN, b->begin);
    history_time(b->h, TXN_HAS_END, b->end);
}

int ratel_history_instants(ratel_history *h, int64_t begin, int64_t end)
{
    IN_TXN(h);
    build b = {.begin = begin, .end = end};
    return builder_run(h, &b, body_instants);
}

static void body_intervals(build *b)
{
    txn_id t = b->shell->current;
    history_times_of(b->h, t != NO_ID ? t : (txn_id)b->h->txns, b->times);
}

int ratel_history_intervals(ratel_history *h, const int64_t times[4])
{
    IN_TXN(h);
    if (!times) return builder_refuse(h, RATEL_EINVAL, "no times");
    build b = {.times = times};
    return builder_run(h, &b, body_intervals);
}

static void body_op(build *b)
{
    history *h = b->h;
    key_id k = builder_key(h, &b->key);
    value_id v = b->kind == OP_DELETE ? VALUE_NULL : to_value(h, &b->value);
    history_op(h, b->kind | (unsigned)b->flags, k, v);
}

static int add_op(ratel_history *h, unsigned kind, ratel_value key, ratel_value value, int flags)
{
    IN_TXN(h);
    FLAGS_OK(h, flags);
    if (!builder_key_ok(&key))
        return builder_refuse(h, RATEL_EINVAL, "a key is an integer or a string");
    if (!builder_scalar_ok(&value)) return builder_refuse(h, RATEL_EINVAL, "no such value");
    if (value.type == RATEL_NULL && (kind == OP_WRITE || kind == OP_APPEND))
        return builder_refuse(h, RATEL_EINVAL, "a write of null: use ratel_history_delete");
    build b = {.key = key, .value = value, .kind = kind, .flags = flags};
    return builder_run(h, &b, body_op);
}

int ratel_history_get(ratel_history *h, ratel_value key, ratel_value seen, int flags)
{
    return add_op(h, OP_READ, key, seen, flags);
}

int ratel_history_put(ratel_history *h, ratel_value key, ratel_value value, int flags)
{
    return add_op(h, OP_WRITE, key, value, flags);
}

int ratel_history_append(ratel_history *h, ratel_value key, ratel_value value, int flags)
{
    return add_op(h, OP_APPEND, key, value, flags);
}

int ratel_history_delete(ratel_history *h, ratel_value key, int flags)
{
    return add_op(h, OP_DELETE, key, (ratel_value){.type = RATEL_NULL}, flags);
}

static void body_get_unknown(build *b)
{
    history_op(b->h, OP_READ | (unsigned)b->flags, builder_key(b->h, &b->key), VALUE_UNKNOWN);
}

int ratel_history_get_unknown(ratel_history *h, ratel_value key, int flags)
{
    IN_TXN(h);
    FLAGS_OK(h, flags);
    if (!builder_key_ok(&key))
        return builder_refuse(h, RATEL_EINVAL, "a key is an integer or a string");
    build b = {.key = key, .flags = flags};
    return builder_run(h, &b, body_get_unknown);
}

static void body_get_list(build *b)
{
    history *h = b->h;
    key_id k = builder_key(h, &b->key);
    value_id *v = mem_array(&h->mem, value_id, b->n + 1);
    for (size_t i = 0; i < b->n; i++) v[i] = to_value(h, &b->list[i]);
    value_id list = value_list(h, v, b->n);
    mem_put(&h->mem, v);
    history_op(h, OP_READ | (unsigned)b->flags, k, list);
}

int ratel_history_get_list(ratel_history *h, ratel_value key, const ratel_value *seen, size_t n,
                           int flags)
{
    IN_TXN(h);
    FLAGS_OK(h, flags);
    if (!builder_key_ok(&key) || (n && !seen))
        return builder_refuse(h, RATEL_EINVAL, "no such key or list");
    for (size_t i = 0; i < n; i++)
        if (!builder_scalar_ok(&seen[i])) return builder_refuse(h, RATEL_EINVAL, "no such value");
    build b = {.key = key, .list = seen, .n = n, .flags = flags};
    return builder_run(h, &b, body_get_list);
}

static void body_range(build *b)
{
    history *h = b->h;
    range g = {.done = b->done, .reverse = b->reverse};
    g.from = to_bound(h, &b->from, &g.from_kind);
    g.to = to_bound(h, &b->to, &g.to_kind);
    /* Rows of a call that failed half-way must not fall to the next range. */
    const range *last = h->ranges.n ? &h->ranges.at[h->ranges.n - 1] : NULL;
    h->row_key.n = h->row_value.n = last ? (size_t)last->first_row + last->rows : 0;
    for (size_t i = 0; i < b->n; i++) {
        key_id k = builder_key(h, &b->rows[i].key);
        history_row(h, k, to_value(h, &b->rows[i].value));
    }
    if (h->ops == h->ops_cap) history_grow_ops(h); /* so that nothing fails behind the range */
    history_range(h, b->kind | (unsigned)b->flags, g);
}

static int add_range(ratel_history *h, build *b)
{
    IN_TXN(h);
    FLAGS_OK(h, b->flags);
    if (b->flags & RATEL_OP_TOMB)
        return builder_refuse(h, RATEL_EINVAL, "only reads, writes and deletes have tombstones");
    if ((b->from.type != RATEL_NULL && !builder_key_ok(&b->from)) ||
        (b->to.type != RATEL_NULL && !builder_key_ok(&b->to)))
        return builder_refuse(h, RATEL_EINVAL, "a bound is null, an integer or a string");
    if (b->n && !b->rows) return builder_refuse(h, RATEL_EINVAL, "no rows");
    for (size_t i = 0; i < b->n; i++)
        if (!builder_key_ok(&b->rows[i].key) || !builder_scalar_ok(&b->rows[i].value))
            return builder_refuse(h, RATEL_EINVAL, "no such row");
    return builder_run(h, b, body_range);
}

int ratel_history_scan(ratel_history *h, ratel_value from, ratel_value to, const ratel_row *rows,
                       size_t n, int flags)
{
    build b = {.from = from, .to = to, .rows = rows, .n = n, .flags = flags, .kind = OP_SCAN};
    b.done = 1;
    return add_range(h, &b);
}

int ratel_history_iterate(ratel_history *h, ratel_value from, ratel_value to, const ratel_row *rows,
                          size_t n, int done, int reverse, int flags)
{
    build b = {.from = from, .to = to, .rows = rows, .n = n, .flags = flags, .kind = OP_ITER};
    b.done = done != 0;
    b.reverse = reverse != 0;
    return add_range(h, &b);
}

static void body_end(build *b)
{
    ratel_history *h = b->shell;
    size_t n = b->h->ops - h->owner.n;
    if (h->streaming) vec_reserve(&b->h->mem, &h->owner, n);
    for (size_t i = 0; h->streaming && i < n; i++) h->owner.at[h->owner.n++] = (txn_id)b->h->txns;
    history_end(b->h, (enum txn_status)b->status);
}

int ratel_history_end(ratel_history *h, ratel_status status)
{
    IN_TXN(h);
    if (status < RATEL_COMMITTED || status > RATEL_STATUS_UNKNOWN)
        return builder_refuse(h, RATEL_EINVAL, "no such status");
    if (h->current != NO_ID) {
        end_streamed(h, h->current, status);
        return RATEL_OK;
    }
    build b = {.status = status};
    return builder_run(h, &b, body_end);
}

static void body_freeze(build *b)
{
    history_sort_extras(b->h);
    if (b->shell->streaming) {
        history_regroup(b->h, b->shell->owner.at);
        b->shell->streaming = false;
        vec_free(&b->h->mem, &b->shell->owner);
    }
    history_freeze(b->h);
}

int ratel_history_freeze(ratel_history *h)
{
    BETWEEN(h);
    build b = {0};
    return builder_run(h, &b, body_freeze);
}
