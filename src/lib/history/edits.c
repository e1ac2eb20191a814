/*
 * edits.c - see edits.h.
 *
 * The copy is built transaction by transaction in the order of the input.  Invariant: without an
 * edit the copy says the same as the original, times, hints and free attributes included.
 */
#include "history/edits.h"

#include "history/cut_off.h"

static bool names_writers(const history *h)
{
    for (size_t i = 0; i < h->attrs.n; i++) {
        uint32_t kind = h->attrs.at[i].kind;
        if (kind == ATTR_FROM || kind == ATTR_VSET || kind == ATTR_ROW_FROM) return true;
    }
    return false;
}

const char *edits_check(const edits *e, const history *h)
{
    bool named = names_writers(h);
    for (size_t i = 0; i < e->at.n; i++) {
        const edit *x = &e->at.at[i];
        if (x->op >= h->ops || x->kind > EDIT_EARLY)
            return "a change of an operation that does not exist";
        enum op_kind kind = op_kind_of(h, x->op);
        bool range_op = kind == OP_SCAN || kind == OP_ITER;
        if (i && (e->at.at[i - 1].op > x->op ||
                  (e->at.at[i - 1].op == x->op && e->at.at[i - 1].kind > x->kind)))
            return "changes that do not stand in the order of their operations";
        if (x->kind == EDIT_ROW_ABSENT &&
            (!range_op || x->row >= h->ranges.at[h->op_key[x->op]].rows))
            return "a change of a row that does not exist";
        if (x->kind == EDIT_ABSENT && (range_op || kind == OP_APPEND))
            return "an operation without a value that could be absent";
        if (x->kind != EDIT_ROW_ABSENT && x->row) return "a row where none can be";
        if (x->kind != EDIT_SPLIT) continue;
        txn_id t = txn_of_op(h, x->op);
        if (txn_status_of(h, t) == TXN_UNKNOWN)
            return "a transaction of unknown outcome that is split: its parts would not share it";
        if (named) return "a transaction that is split, where hints name whole transactions";
    }
    return NULL;
}

typedef struct editor {
    history *to;
    const history *from;
    const edit *at, *end; /* edits that are still to come */
    const attr *attrs;
    size_t extras;
    label fresh; /* an unused number, for parts */
} editor;

static void copy_times(const editor *x, txn_id t)
{
    const history *h = x->from;
    unsigned flags = h->txn_flags[t];
    if (flags & TXN_HAS_BEGIN) history_time(x->to, TXN_HAS_BEGIN, h->txn_begin[t]);
    if (flags & TXN_HAS_END) history_time(x->to, TXN_HAS_END, h->txn_end[t]);
    if (flags & TXN_HAS_TIMES) history_times(x->to, h->txn_times + (size_t)t * 4);
    if (flags & TXN_NO_BEGIN_RETURN) history_no_begin_return(x->to);
    if (flags & TXN_HAS_START_TS) history_time(x->to, TXN_HAS_START_TS, h->txn_start_ts[t]);
    if (flags & TXN_HAS_COMMIT_TS) history_time(x->to, TXN_HAS_COMMIT_TS, h->txn_commit_ts[t]);
}

static void begin_txn(const editor *x, txn_id t, label name)
{
    const history *h = x->from;
    history_begin(x->to);
    history_session(x->to, h->sessions.at[h->txn_session[t]]);
    history_label(x->to, name);
    history_line(x->to, txn_line_of(h, t));
    copy_times(x, t);
}

static void copy_extras(editor *x, txn_id t)
{
    const history *h = x->from;
    for (; x->extras < h->extras.n && h->extras.at[x->extras].txn == t; x->extras++) {
        extra e = h->extras.at[x->extras];
        if (t != NO_ID) e.txn = (txn_id)x->to->txns;
        vec_push(&x->to->mem, &x->to->extras, e);
    }
}

/* Hints speak of rows by their number, so those of rows that go are dropped with them. */
static void copy_attrs(editor *x, op_id o, op_id fresh, const uint32_t *row_now)
{
    const attr *end = x->from->attrs.at + x->from->attrs.n;
    while (x->attrs < end && x->attrs->op < o) x->attrs++;
    for (; x->attrs < end && x->attrs->op == o; x->attrs++) {
        attr a = *x->attrs;
        bool row = a.kind == ATTR_ROW_FROM || a.kind == ATTR_ROW_FROM_INIT;
        if (row && row_now) {
            if (row_now[a.key] == NO_ID) continue;
            a.key = row_now[a.key];
        }
        history_attr(x->to, fresh, (enum attr_kind)a.kind, a.key, a.a);
    }
}

static void copy_range(editor *x, op_id o, const edit *first, const edit *end)
{
    const history *h = x->from;
    range r = h->ranges.at[h->op_key[o]];
    uint32_t *now = mem_array(&x->to->mem, uint32_t, (size_t)r.rows + 1), rows = 0;
    for (uint32_t i = 0; i < r.rows; i++) {
        bool gone = false;
        for (const edit *e = first; e < end; e++)
            gone = gone || (e->kind == EDIT_ROW_ABSENT && e->row == i);
        now[i] = gone ? NO_ID : rows++;
        if (!gone)
            history_row(x->to, h->row_key.at[r.first_row + i], h->row_value.at[r.first_row + i]);
    }
    op_id fresh = history_range(x->to, h->op_kind[o] & (unsigned)~OP_ATTR, r);
    if (h->op_kind[o] & OP_ATTR) copy_attrs(x, o, fresh, now);
    mem_put(&x->to->mem, now);
}

/* One operation with its edits, which are [first, end). */
static void copy_op(editor *x, op_id o, const edit *first, const edit *end)
{
    const history *h = x->from;
    unsigned kind = h->op_kind[o] & (unsigned)~OP_ATTR;
    value_id value = h->op_value[o];
    for (const edit *e = first; e < end; e++) {
        if (e->kind == EDIT_DROP) return;
        if (e->kind != EDIT_ABSENT) continue;
        value = VALUE_NULL;
        if ((kind & OP_KIND_MASK) == OP_WRITE) kind = (kind & ~(unsigned)OP_KIND_MASK) | OP_DELETE;
        kind |= OP_TOMB;
    }
    if ((kind & OP_KIND_MASK) >= OP_SCAN) {
        copy_range(x, o, first, end);
        return;
    }
    op_id fresh = history_op(x->to, kind, h->op_key[o], value);
    if (h->op_kind[o] & OP_ATTR) copy_attrs(x, o, fresh, NULL);
}

/* The edits of operation o, from *at on, of which *at is then the end; *kinds: which there are. */
static const edit *edits_of(const editor *x, const edit **at, op_id o, unsigned *kinds)
{
    const edit *first = *at;
    *kinds = 0;
    for (; *at < x->end && (*at)->op == o; ++*at) *kinds |= 1u << (*at)->kind;
    return first;
}

static void copy_txn(editor *x, txn_id t)
{
    const history *h = x->from;
    const edit *ahead = x->at;
    const attr *attrs = x->attrs;
    unsigned kinds;
    copy_extras(x, t);
    begin_txn(x, t, h->txn_label[t]);
    for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) { /* those that come first */
        const edit *first = edits_of(x, &ahead, o, &kinds);
        if (kinds & 1u << EDIT_EARLY) copy_op(x, o, first, ahead);
    }
    x->attrs = attrs;
    for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
        const edit *first = edits_of(x, &x->at, o, &kinds);
        if (kinds & 1u << EDIT_SPLIT) {
            history_end(x->to, txn_status_of(h, t));
            begin_txn(x, t, x->fresh++);
        }
        if (!(kinds & 1u << EDIT_EARLY)) copy_op(x, o, first, x->at);
        guard_tick(x->to->mem.guard);
    }
    history_end(x->to, txn_status_of(h, t));
}

void edits_apply(history *out, const history *from, const edits *e)
{
    editor x = {.to = out, .from = from, .at = e->at.at, .end = e->at.at + e->at.n};
    history_like(out, from);
    x.attrs = from->attrs.at;
    for (txn_id t = 0; t < from->txns; t++)
        if (!(from->txn_label[t] >> 63) && from->txn_label[t] >= x.fresh)
            x.fresh = from->txn_label[t] + 1;
    if (x.fresh >> 62)
        guard_fail(out->mem.guard, GUARD_UNSUPPORTED, "there are no unused transaction ids left");
    copy_extras(&x, NO_ID);
    for (uint32_t s = 0; s < from->sessions.n; s++)
        history_declare_session(out, from->sessions.at[s]);
    out->declared_sessions = from->declared_sessions;
    size_t k = 0;
    for (txn_id t = 0; t <= from->txns; t++) {
        for (; k < from->marks.n && from->marks.at[k].before <= t; k++)
            vec_push(&out->mem, &out->marks, ((mark){(txn_id)out->txns, from->marks.at[k].text}));
        if (t < from->txns) copy_txn(&x, t);
    }
    history_recount_lines(out, from);
    history_freeze(out);
}
