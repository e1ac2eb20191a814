/*
 * veristrong.c - VeriStrong's list-append text (doc/formats/others.md).
 *
 * White-space separated: the number of operations, then for each `session txn R key n v1 ... vn`
 * or `session txn A key v`.  Numbers are signed and of 64 bits.  Transaction ids are global, their
 * operations may stand apart; session order is the order of first appearance.  As in text_format.c,
 * the builder regroups operations only if some transaction comes back after another one.
 *
 * VeriStrong takes session 0 and transaction 0 for its initial ones, so the writer never gives out
 * a 0.
 */
#include "base/map.h"
#include "read/formats.h"
#include "read/read.h"

/* --- reading ------------------------------------------------------------------------------- */

typedef struct veristrong_reader {
    history *h;
    source *s;
    id_map txn_of_label;
    bool loose;        /* a transaction came back: operations have owners */
    VEC(txn_id) owner; /* by operation, for history_regroup */
    VEC(value_id) list;
    txn_id current;
    uint64_t wanted, done; /* operations, for messages */
} veristrong_reader;

static _Noreturn void ends_early(veristrong_reader *r)
{
    source_fail(r->s, r->s->n, "the input ends after %llu of %llu operations",
                (unsigned long long)r->done, (unsigned long long)r->wanted);
}

/* The next token, whole; the source stays before it. */
static const char *token(veristrong_reader *r, const char **end)
{
    source *s = r->s;
    size_t n = 0;
    if (!source_skip_space(s)) ends_early(r);
    for (;;) {
        const char *p = s->at + s->pos + n;
        while ((unsigned char)*p > ' ') p++;
        n = (size_t)(p - (s->at + s->pos));
        if (s->pos + n < s->n || !source_more(s)) break;
    }
    *end = s->at + s->pos + n;
    return s->at + s->pos;
}

static int64_t read_integer(veristrong_reader *r, const char *what)
{
    source *s = r->s;
    const char *end, *start = token(r, &end), *p = start + (*start == '-');
    uint64_t v = 0, most = (uint64_t)INT64_MAX + (*start == '-');
    if (p == end) source_fail(s, s->pos, "expected %s", what);
    for (; p < end; p++) {
        uint64_t d = (uint64_t)(unsigned char)*p - '0';
        if (d > 9) source_fail(s, (size_t)(p - s->at), "expected %s", what);
        if (v > (most - d) / 10) source_fail(s, s->pos, "%s beyond 64 bits", what);
        v = v * 10 + d;
    }
    s->pos = (size_t)(end - s->at);
    return *start == '-' ? (int64_t)(0 - v) : (int64_t)v;
}

static uint64_t count(veristrong_reader *r, const char *what)
{
    source *s = r->s;
    if (source_skip_space(s) && s->at[s->pos] == '-') source_fail(s, s->pos, "%s below zero", what);
    return (uint64_t)read_integer(r, what);
}

static void turn_loose(veristrong_reader *r)
{
    history *h = r->h;
    for (txn_id t = 0; t < h->txns; t++)
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) vec_push(&h->mem, &r->owner, t);
    r->loose = true;
}

static _Noreturn void two_sessions(veristrong_reader *r, label session, label id)
{
    history *h = r->h;
    strbuf text;
    strbuf_init(&text, &h->mem);
    strbuf_str(&text, "transaction ");
    label_text(h, id, &text);
    strbuf_str(&text, " is of session ");
    label_text(h, h->sessions.at[h->txn_session[r->current]], &text);
    strbuf_str(&text, ", here it is of session ");
    label_text(h, session, &text);
    source_fail(r->s, r->s->pos, "%s", strbuf_cstr(&text));
}

/* Makes the transaction of an operation the current one; the source stands after its id. */
static void enter(veristrong_reader *r, label session, label id)
{
    history *h = r->h;
    uint32_t slot = history_declare_session(h, session);
    if (r->current == NO_ID || h->txn_label[r->current] != id) {
        if (h->open) history_end(h, TXN_COMMITTED);
        r->current = id_map_get(&r->txn_of_label, id);
        if (r->current != NO_ID) {
            if (!r->loose) turn_loose(r);
        } else {
            r->current = history_begin(h);
            history_session(h, session);
            history_label(h, id);
            id_map_put(&h->mem, &r->txn_of_label, id, r->current);
            if (r->loose) history_end(h, TXN_COMMITTED); /* owners tell its operations */
        }
    }
    if (h->txn_session[r->current] != slot) two_sessions(r, session, id);
}

static value_id read_list(veristrong_reader *r)
{
    r->list.n = 0;
    for (uint64_t n = count(r, "the length of a list"); n; n--) {
        value_id v = value_int(r->h, read_integer(r, "an element"));
        vec_push(&r->h->mem, &r->list, v);
    }
    return value_list(r->h, r->list.at, r->list.n);
}

static void read_operation(veristrong_reader *r)
{
    history *h = r->h;
    const char *end;
    label session = label_int(h, read_integer(r, "a session"));
    enter(r, session, label_int(h, read_integer(r, "a transaction")));
    const char *kind = token(r, &end);
    if (end - kind != 1 || (*kind != 'R' && *kind != 'A'))
        source_fail(r->s, r->s->pos, "expected R or A");
    bool append = *kind == 'A';
    r->s->pos++;
    key_id k = key_int(h, read_integer(r, "a key"));
    value_id v = append ? value_int(h, read_integer(r, "a value")) : read_list(r);
    if (r->loose) vec_push(&h->mem, &r->owner, r->current);
    history_op(h, append ? OP_APPEND : OP_READ, k, v);
}

void veristrong_read(history *h, source *s)
{
    veristrong_reader r = {.h = h, .s = s, .current = NO_ID};
    source_skip_bom(s);
    if (!source_skip_space(s)) return; /* an empty file, read as this format on demand */
    vec_reserve(&h->mem, &r.list, 64); /* never NULL, so that an empty list is no special case */
    r.wanted = count(&r, "the number of operations");
    for (; r.done < r.wanted; r.done++) read_operation(&r);
    if (source_skip_space(s))
        source_fail(s, s->pos, "more than the %llu operations that were announced",
                    (unsigned long long)r.wanted);
    if (h->open) history_end(h, TXN_COMMITTED);
    if (r.loose) history_regroup(h, r.owner.at);
    vec_free(&h->mem, &r.owner);
    vec_free(&h->mem, &r.list);
    id_map_free(&h->mem, &r.txn_of_label);
}

/* --- writing ------------------------------------------------------------------------------- */

#define KEY_LIST 1u     /* appended to, or read as a list */
#define KEY_REGISTER 2u /* written, deleted or read as a scalar */

typedef struct veristrong_writer {
    const history *h;
    sink *out;
    mem *mem;
    uint8_t *keys; /* KEY_* of each key */
    uint8_t *seen; /* by transaction: unknown, but somebody read what it appended; or NULL */
    bool same_labels, same_keys, same_values;
} veristrong_writer;

static bool is_int(atom a)
{
    return a.kind == ATOM_INT;
}

static bool is_list(const history *h, value_id v)
{
    return v >= VALUE_EMPTY && v != VALUE_UNKNOWN && value_atom(h, v).kind == ATOM_LIST;
}

static void look_at_keys(veristrong_writer *w)
{
    const history *h = w->h;
    w->keys = mem_zeroed(w->mem, history_keys(h) + 1);
    for (op_id o = 0; o < h->ops; o++) {
        value_id v = h->op_value[o];
        enum op_kind kind = op_kind_of(h, o);
        if (kind == OP_SCAN || kind == OP_ITER) continue;
        if (kind == OP_READ && (v == VALUE_NULL || v == VALUE_UNKNOWN)) continue;
        bool list = kind == OP_APPEND || (kind == OP_READ && is_list(h, v));
        w->keys[h->op_key[o]] |= list ? KEY_LIST : KEY_REGISTER;
    }
}

/* Whether the format can hold an operation of a transaction that is written; else why not. */
static bool holds(const veristrong_writer *w, op_id o, enum lost_bit *why)
{
    const history *h = w->h;
    enum op_kind kind = op_kind_of(h, o);
    value_id v = h->op_value[o];
    if (kind == OP_SCAN || kind == OP_ITER) return *why = LOST_RANGES, false;
    if (h->op_kind[o] & OP_FAILED) return *why = LOST_FAILED, false;
    if (kind == OP_DELETE) return *why = LOST_DELETES, false;
    if (kind == OP_WRITE) return *why = LOST_REGISTERS, false;
    if (kind == OP_APPEND || is_list(h, v)) return true;
    if (v == VALUE_UNKNOWN) return *why = LOST_UNKNOWN_READS, false;
    /* absent: an empty list, unless the key is a register */
    *why = LOST_REGISTERS;
    return v == VALUE_NULL && !(w->keys[h->op_key[o]] & KEY_REGISTER);
}

/* --- transactions of unknown outcome: committed iff somebody shows one of their appends --- */

typedef struct appends {
    id_index by_version; /* appends of unknown transactions, by key and value */
    VEC(txn_id) todo;    /* transactions whose reads are still to be looked at */
} appends;

static void show(veristrong_writer *w, appends *a, key_id k, value_id v)
{
    const history *h = w->h;
    const id_index *all = &a->by_version;
    for (index_walk walk = id_index_walk(all, hash_pair(k, v)); id_index_next(all, &walk);) {
        op_id o = walk.id;
        if (h->op_key[o] != k || h->op_value[o] != v) continue;
        txn_id t = txn_of_op(h, o);
        if (w->seen[t]) continue;
        w->seen[t] = 1;
        vec_push(w->mem, &a->todo, t);
    }
}

static void settle_unknown(veristrong_writer *w)
{
    const history *h = w->h;
    appends a = {0};
    bool any = false;
    for (txn_id t = 0; t < h->txns && !any; t++) any = txn_status_of(h, t) == TXN_UNKNOWN;
    if (!any) return;
    sink_lose(w->out, LOST_UNKNOWN);
    w->seen = mem_zeroed(w->mem, h->txns);
    for (txn_id t = 0; t < h->txns; t++) {
        if (txn_status_of(h, t) == TXN_COMMITTED) vec_push(w->mem, &a.todo, t);
        if (txn_status_of(h, t) != TXN_UNKNOWN) continue;
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            if (h->op_kind[o] == OP_APPEND)
                id_index_add(w->mem, &a.by_version, hash_pair(h->op_key[o], h->op_value[o]), o);
        }
    }
    while (a.todo.n) {
        txn_id t = a.todo.at[--a.todo.n];
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            if (h->op_kind[o] != OP_READ || !is_list(h, h->op_value[o])) continue;
            atom list = value_atom(h, h->op_value[o]);
            for (uint32_t i = 0; i < list.len; i++)
                show(w, &a, h->op_key[o], h->elements.at[list.as.offset + i]);
        }
        guard_tick(w->out->guard);
    }
    vec_free(w->mem, &a.todo);
    id_index_free(w->mem, &a.by_version);
}

static bool is_written(const veristrong_writer *w, txn_id t)
{
    enum txn_status status = txn_status_of(w->h, t);
    return status == TXN_COMMITTED || (status == TXN_UNKNOWN && w->seen[t]);
}

/* --- numbers ------------------------------------------------------------------------------- */

static bool is_label(const history *h, label l)
{
    atom a = label_atom(h, l);
    return is_int(a) && a.as.i != 0;
}

/* Looks at everything once: losses, what keeps its number, how many operations there will be. */
static uint64_t survey(veristrong_writer *w)
{
    const history *h = w->h;
    uint64_t n = 0;
    w->same_labels = w->same_keys = w->same_values = true;
    for (key_id k = 0; k < history_keys(h); k++) w->same_keys &= is_int(key_atom(h, k));
    for (txn_id t = 0; t < h->txns; t++) {
        uint64_t before = n;
        if (!is_written(w, t)) {
            bool aborted = txn_status_of(h, t) == TXN_ABORTED;
            sink_lose_txn(w->out, h, t, aborted ? LOST_ABORTED : LOST_UNKNOWN);
            continue;
        }
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            enum lost_bit why;
            if (h->op_kind[o] & (OP_LOCK | OP_TOMB | OP_ATTR)) sink_lose(w->out, LOST_ATTRS);
            if (!holds(w, o, &why)) {
                sink_lose_op(w->out, why);
                continue;
            }
            n++;
            atom a = value_atom(h, h->op_value[o]);
            if (a.kind == ATOM_LIST)
                for (uint32_t i = 0; i < a.len; i++)
                    w->same_values &= is_int(value_atom(h, h->elements.at[a.as.offset + i]));
            else if (a.kind != ATOM_NULL)
                w->same_values &= is_int(a);
        }
        if (n == before) sink_lose(w->out, LOST_EMPTY);
        w->same_labels &= is_label(h, h->txn_label[t]);
        w->same_labels &= is_label(h, h->sessions.at[h->txn_session[t]]);
    }
    if (!w->same_labels) sink_lose(w->out, LOST_LABELS);
    if (!w->same_keys) sink_lose(w->out, LOST_KEYS);
    if (!w->same_values) sink_lose(w->out, LOST_VALUES);
    return n;
}

static void note_rest(const veristrong_writer *w)
{
    const history *h = w->h;
    if (h->extras.n) sink_lose(w->out, LOST_EXTRAS);
    if (h->marks.n) sink_lose(w->out, LOST_MARKS);
    if (h->init != INIT_ABSENT || h->init_unknown) sink_lose(w->out, LOST_INIT);
    if (h->txn_begin || h->txn_end || h->txn_times || h->txn_start_ts || h->txn_commit_ts)
        sink_lose(w->out, LOST_TIMES);
    for (size_t i = 0; i < h->sessions.n; i++)
        if (h->sess_first[i] == h->sess_first[i + 1]) sink_lose(w->out, LOST_EMPTY);
}

/* Two values are the same iff their ids are, so that ids serve as numbers. */
static void put_value(const veristrong_writer *w, value_id v)
{
    strbuf_char(&w->out->buf, ' ');
    strbuf_i64(&w->out->buf, w->same_values ? value_atom(w->h, v).as.i : (int64_t)v);
}

static void put_operation(const veristrong_writer *w, txn_id t, op_id o)
{
    const history *h = w->h;
    strbuf *b = &w->out->buf;
    uint32_t slot = h->txn_session[t];
    key_id k = h->op_key[o];
    atom a = value_atom(h, h->op_value[o]);
    bool appends_one = op_kind_of(h, o) == OP_APPEND;
    strbuf_i64(b, w->same_labels ? label_atom(h, h->sessions.at[slot]).as.i : (int64_t)slot + 1);
    strbuf_char(b, ' ');
    strbuf_i64(b, w->same_labels ? label_atom(h, h->txn_label[t]).as.i : (int64_t)t + 1);
    strbuf_str(b, appends_one ? " A " : " R ");
    strbuf_i64(b, w->same_keys ? key_atom(h, k).as.i : (int64_t)k);
    if (appends_one) {
        put_value(w, h->op_value[o]);
    } else {
        uint32_t n = a.kind == ATOM_LIST ? a.len : 0;
        strbuf_char(b, ' ');
        strbuf_u64(b, n);
        for (uint32_t i = 0; i < n; i++) {
            put_value(w, h->elements.at[a.as.offset + i]);
            sink_check(w->out);
        }
    }
    strbuf_char(b, '\n');
    sink_check(w->out);
}

void veristrong_write(const history *h, sink *out)
{
    veristrong_writer w = {.h = h, .out = out, .mem = out->mem};
    look_at_keys(&w);
    settle_unknown(&w);
    note_rest(&w);
    strbuf_u64(&out->buf, survey(&w));
    strbuf_char(&out->buf, '\n');
    for (txn_id t = 0; t < h->txns; t++) {
        if (!is_written(&w, t)) continue;
        enum lost_bit why;
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++)
            if (holds(&w, o, &why)) put_operation(&w, t, o);
    }
    mem_put(w.mem, w.keys);
    mem_put(w.mem, w.seen);
}
