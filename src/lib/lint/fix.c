/*
 * fix.c - a history with the safe repairs of lints.def.
 *
 * Safe means: what the database did stays as it was recorded.  Each repair either takes away
 * something that constrained nothing (a failed statement, an empty transaction, an unknown one that
 * nobody read), or something that cannot be true (times, a session that overlaps itself), or says
 * of the initial state what the file's origin or the user says.  doc/lint.md has for each how
 * verdicts may change.
 *
 * The copy is built transaction by transaction in the order of the input; ids stay.
 */
#include <assert.h>

#include "base/search.h"
#include "history/cut_off.h"
#include "lint/lint_internal.h"

typedef struct plan {
    const history *h;
    fixes *x;
    mem *m;
    uint8_t *gone;    /* per transaction: left out */
    uint8_t *untimed; /* per transaction: its times are dropped */
    label *session;   /* per transaction: its session */
    uint8_t *keep_op; /* per operation: a failed write that must stay; NULL: none looked for */
    txn_id init;      /* becomes the initial state, or NO_ID */
} plan;

static bool wanted(const plan *p, enum lint_id id)
{
    return p->x->want >> id & 1;
}

static bool h_failed(const history *h, op_id o)
{
    return h->op_kind[o] & OP_FAILED;
}

static bool names_writers(const history *h)
{
    for (size_t i = 0; i < h->attrs.n; i++) {
        uint32_t k = h->attrs.at[i].kind;
        if (k == ATTR_FROM || k == ATTR_VSET || k == ATTR_ROW_FROM) return true;
    }
    return false;
}

/* --- what goes -------------------------------------------------------------------------------- */

/* Failed writes of values that somebody read: evidence of a read of what never happened. */
static void keep_failed(plan *p)
{
    const history *h = p->h;
    versions v;
    p->keep_op = mem_array0(p->m, uint8_t, h->ops + 1);
    /* the results by key are what is needed; the table then gets the failed writes of a key */
    versions_build(&v, h, p->m, 0);
    VEC(op_id) failed = {0};
    for (size_t o = 0; o < h->ops; o++)
        if (h->op_kind[o] & OP_FAILED && (h->op_kind[o] & OP_KIND_MASK) < OP_SCAN &&
            (h->op_kind[o] & OP_KIND_MASK) != OP_READ)
            vec_push(p->m, &failed, (op_id)o);
    /* chains of failed writes by key */
    size_t keys = history_keys(h);
    uint32_t *head = mem_array(p->m, uint32_t, keys + 1),
             *next = mem_array(p->m, uint32_t, failed.n + 1);
    memset(head, 0xff, (keys + 1) * sizeof *head);
    for (size_t i = 0; i < failed.n; i++) {
        key_id k = h->op_key[failed.at[i]];
        next[i] = head[k];
        head[k] = (uint32_t)i;
    }
    /* results sorted by value, then each failed write looks its value up */
    for (key_id k = 0; k < keys; k++) {
        size_t n = (size_t)(v.read_first[k + 1] - v.read_first[k]), m = 0;
        if (head[k] == NO_ID || !n) continue;
        for (size_t i = 0; i < n; i++) {
            atom a = value_atom(h, v.read[v.read_first[k] + i].value);
            m += a.kind == ATOM_LIST ? a.len : 1;
        }
        uint64_t *value = mem_array(p->m, uint64_t, m + 1),
                 *spare = mem_array(p->m, uint64_t, m + 1);
        m = 0;
        for (size_t i = 0; i < n; i++) {
            value_id x = v.read[v.read_first[k] + i].value;
            atom a = value_atom(h, x);
            if (a.kind != ATOM_LIST) value[m++] = x;
            for (uint32_t e = 0; a.kind == ATOM_LIST && e < a.len; e++)
                value[m++] = h->elements.at[a.as.offset + e];
        }
        lint_sort(value, spare, m);
        for (uint32_t i = head[k]; i != NO_ID; i = next[i]) {
            value_id x = h->op_value[failed.at[i]];
            size_t at = lower_bound_u64(value, m, x);
            p->keep_op[failed.at[i]] = at < m && value[at] == x;
        }
        mem_put(p->m, value);
        mem_put(p->m, spare);
        guard_tick(p->m->guard);
    }
    mem_put(p->m, head);
    mem_put(p->m, next);
    vec_free(p->m, &failed);
    versions_free(&v);
}

static bool drop_op(const plan *p, txn_id t, op_id o)
{
    return wanted(p, LINT_FAILED_STATEMENTS) && lint_failed_statement(p->h, o) &&
           txn_status_of(p->h, t) == TXN_COMMITTED && !p->keep_op[o];
}

static void plan_txns(plan *p)
{
    const history *h = p->h;
    /* Where hints name writers, a transaction may be spoken of: then none is left out. */
    bool named = names_writers(h);
    if (wanted(p, LINT_UNKNOWN_UNREAD) && !named) {
        lint_unread(h, p->m, p->gone);
        for (txn_id t = 0; t < h->txns; t++) p->x->count[LINT_UNKNOWN_UNREAD] += p->gone[t];
    }
    for (txn_id t = 0; t < h->txns; t++) {
        if (t == p->init || p->gone[t] || txn_status_of(h, t) != TXN_COMMITTED) continue;
        bool empty = true;
        uint64_t dropped = 0;
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            bool drop = drop_op(p, t, o);
            dropped += drop;
            empty = empty && (drop || h_failed(h, o));
            if (h_failed(h, o) && !drop && p->keep_op && p->keep_op[o]) empty = false;
        }
        if (empty && wanted(p, LINT_EMPTY_TXNS) && !named) {
            p->gone[t] = 1;
            p->x->count[LINT_EMPTY_TXNS]++;
        }
        p->x->count[LINT_FAILED_STATEMENTS] += dropped;
    }
}

/* --- times and sessions ----------------------------------------------------------------------- */

static bool rising(const history *h, txn_id t)
{
    int64_t b, e;
    if (!lint_times(h, t, &b, &e) || e < b) return false;
    const int64_t *i = h->txn_flags[t] & TXN_HAS_TIMES ? h->txn_times + (size_t)t * 4 : NULL;
    return !i || (i[0] <= i[1] && i[1] <= i[2] && i[2] <= i[3]);
}

static void plan_times(plan *p)
{
    const history *h = p->h;
    int64_t b, e;
    for (txn_id t = 0; t < h->txns && wanted(p, LINT_IMPOSSIBLE_TIMES); t++)
        if (!p->gone[t] && lint_times(h, t, &b, &e) && !rising(h, t)) {
            p->untimed[t] = 1;
            p->x->count[LINT_IMPOSSIBLE_TIMES]++;
        }
    if (!wanted(p, LINT_SESSION_BACKWARDS)) return;
    for (uint32_t s = 0; s < h->sessions.n; s++) {
        bool some = false, backwards = false;
        int64_t last = 0;
        for (uint32_t j = h->sess_first[s]; j < h->sess_first[s + 1]; j++) {
            if (!rising(h, h->sess_txn[j])) continue;
            lint_times(h, h->sess_txn[j], &b, &e);
            backwards = backwards || (some && b < last);
            some = true;
            last = b;
        }
        for (uint32_t j = h->sess_first[s]; backwards && j < h->sess_first[s + 1]; j++) {
            txn_id t = h->sess_txn[j];
            unsigned timed = TXN_HAS_BEGIN | TXN_HAS_END | TXN_HAS_TIMES;
            if (h->txn_flags[t] & timed && !p->untimed[t]) p->x->count[LINT_SESSION_BACKWARDS]++;
            p->untimed[t] = 1;
        }
    }
}

/* Lanes of one session by the end of their last transaction, the earliest on top. */
typedef struct lane {
    int64_t end;
    label session;
} lane;

static void sift(lane *heap, size_t n)
{
    size_t i = 0;
    for (;;) {
        size_t least = i, a = 2 * i + 1, b = a + 1;
        if (a < n && heap[a].end < heap[least].end) least = a;
        if (b < n && heap[b].end < heap[least].end) least = b;
        if (least == i) return;
        lane swap = heap[i];
        heap[i] = heap[least];
        heap[least] = swap;
        i = least;
    }
}

static void plan_sessions(plan *p)
{
    const history *h = p->h;
    for (txn_id t = 0; t < h->txns; t++) p->session[t] = h->sessions.at[h->txn_session[t]];
    if (!wanted(p, LINT_SESSION_OVERLAP)) return;
    label fresh = 0;
    for (size_t s = 0; s < h->sessions.n; s++)
        if (!(h->sessions.at[s] >> 63) && h->sessions.at[s] >= fresh) fresh = h->sessions.at[s] + 1;
    VEC(lane) heap = {0};
    for (uint32_t s = 0; s < h->sessions.n; s++) {
        heap.n = 0;
        vec_push(p->m, &heap, ((lane){INT64_MIN, h->sessions.at[s]}));
        for (uint32_t j = h->sess_first[s]; j < h->sess_first[s + 1]; j++) {
            txn_id t = h->sess_txn[j];
            int64_t b, e;
            /* what has no times to believe stays in the session's own lane */
            if (p->untimed[t] || p->gone[t] || !rising(h, t)) continue;
            lint_times(h, t, &b, &e);
            if (txn_status_of(h, t) == TXN_UNKNOWN) e = b;
            if (heap.at[0].end <= b) {
                p->session[t] = heap.at[0].session;
                heap.at[0].end = e;
                sift(heap.at, heap.n);
                continue;
            }
            if (fresh >> 62)
                guard_fail(p->m->guard, GUARD_UNSUPPORTED, "there are no unused session ids left");
            p->session[t] = fresh++;
            p->x->count[LINT_SESSION_OVERLAP]++;
            vec_push(p->m, &heap, ((lane){e, p->session[t]}));
            for (size_t i = heap.n - 1; i && heap.at[i].end < heap.at[(i - 1) / 2].end;
                 i = (i - 1) / 2) {
                lane swap = heap.at[i];
                heap.at[i] = heap.at[(i - 1) / 2];
                heap.at[(i - 1) / 2] = swap;
            }
        }
    }
    vec_free(p->m, &heap);
}

/* --- the copy --------------------------------------------------------------------------------- */

/* The transaction's writes stand in for the header's initial state; other keys keep theirs. */
static void put_init(history *to, const plan *p)
{
    const history *h = p->h;
    txn_id t = p->init;
    size_t keys = history_keys(h), n = h->txn_op[t + 1] - h->txn_op[t];
    value_id *value = mem_array(p->m, value_id, keys + 1);
    bool one = n == keys;
    memcpy(value, h->key_init, keys * sizeof *value);
    for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
        value[h->op_key[o]] = h->op_value[o];
        one = one && h->op_value[o] == h->op_value[h->txn_op[t]];
    }
    to->init_map.n = 0;
    history_init_scalar(to, VALUE_NULL);
    if (one) {
        history_init_scalar(to, value[0]);
    } else {
        for (key_id k = 0; k < keys; k++)
            if (value[k] != VALUE_NULL) history_init_entry(to, k, value[k]);
    }
    to->init_unknown = h->init_unknown && n < keys;
    mem_put(p->m, value);
}

/* What told that the initial state is a transaction, or guessed at it, is no longer true. */
static bool tells_of_init(const history *h, const extra *e)
{
    static const char *const names[] = {"dbcop_info", "text_init", "init_inferred"};
    atom a = value_atom(h, e->name);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (a.len == strlen(names[i]) && !memcmp(atom_bytes(h, a), names[i], a.len)) return true;
    return false;
}

static void copy_attrs(history *to, const plan *p, const attr **a, op_id from, op_id o, bool times)
{
    const attr *end = p->h->attrs.at + p->h->attrs.n;
    label init = p->init == NO_ID ? 0 : p->h->txn_label[p->init];
    while (*a < end && (*a)->op < from) ++*a;
    for (; *a < end && (*a)->op == from; ++*a) {
        attr x = **a;
        if (!times && (x.kind == ATTR_CALL || x.kind == ATTR_RETURN)) continue;
        bool writer = x.kind == ATTR_FROM || x.kind == ATTR_VSET || x.kind == ATTR_ROW_FROM;
        if (writer && p->init != NO_ID && x.a == init) {
            x.kind = x.kind == ATTR_FROM   ? ATTR_FROM_INIT
                     : x.kind == ATTR_VSET ? ATTR_VSET_INIT
                                           : ATTR_ROW_FROM_INIT;
            x.a = 0;
        }
        history_attr(to, o, (enum attr_kind)x.kind, x.key, x.a);
    }
}

static void copy_op(history *to, const plan *p, txn_id t, op_id o, const attr **a)
{
    const history *h = p->h;
    unsigned kind = h->op_kind[o] & ~OP_ATTR;
    op_id fresh;
    if ((kind & OP_KIND_MASK) >= OP_SCAN) {
        const range *r = &h->ranges.at[h->op_key[o]];
        for (uint32_t i = r->first_row; i < r->first_row + r->rows; i++)
            history_row(to, h->row_key.at[i], h->row_value.at[i]);
        fresh = history_range(to, kind, *r);
    } else {
        fresh = history_op(to, kind, h->op_key[o], h->op_value[o]);
    }
    if (h->op_kind[o] & OP_ATTR) copy_attrs(to, p, a, o, fresh, !p->untimed[t]);
}

static void copy_times(history *to, const plan *p, txn_id t)
{
    const history *h = p->h;
    unsigned flags = h->txn_flags[t];
    if (!p->untimed[t]) {
        if (flags & TXN_HAS_BEGIN) history_time(to, TXN_HAS_BEGIN, h->txn_begin[t]);
        if (flags & TXN_HAS_END) history_time(to, TXN_HAS_END, h->txn_end[t]);
        if (flags & TXN_HAS_TIMES) history_times(to, h->txn_times + (size_t)t * 4);
        if (flags & TXN_NO_BEGIN_RETURN) history_no_begin_return(to);
    }
    if (flags & TXN_HAS_START_TS) history_time(to, TXN_HAS_START_TS, h->txn_start_ts[t]);
    if (flags & TXN_HAS_COMMIT_TS) history_time(to, TXN_HAS_COMMIT_TS, h->txn_commit_ts[t]);
}

static void copy_sessions(history *to, const plan *p)
{
    const history *h = p->h;
    for (uint32_t s = 0; s < h->sessions.n; s++) {
        bool stays = h->sess_first[s] == h->sess_first[s + 1];
        for (uint32_t j = h->sess_first[s]; j < h->sess_first[s + 1] && !stays; j++)
            stays = !p->gone[h->sess_txn[j]];
        if (stays) history_declare_session(to, h->sessions.at[s]);
    }
}

static void copy(history *to, const plan *p)
{
    const history *h = p->h;
    size_t e = 0, k = 0;
    const attr *a = h->attrs.at;
    history_like(to, h);
    if (p->init != NO_ID) put_init(to, p);
    for (; e < h->extras.n && h->extras.at[e].txn == NO_ID; e++)
        if (p->init == NO_ID || !tells_of_init(h, &h->extras.at[e]))
            vec_push(&to->mem, &to->extras, h->extras.at[e]);
    copy_sessions(to, p);
    for (txn_id t = 0; t <= h->txns; t++) {
        for (; k < h->marks.n && h->marks.at[k].before <= t; k++)
            vec_push(&to->mem, &to->marks, ((mark){(txn_id)to->txns, h->marks.at[k].text}));
        if (t == h->txns) break;
        guard_tick(p->m->guard);
        if (p->gone[t]) {
            while (e < h->extras.n && h->extras.at[e].txn == t) e++;
            continue;
        }
        txn_id fresh = history_begin(to);
        history_label(to, h->txn_label[t]);
        history_session(to, p->session[t]);
        copy_times(to, p, t);
        for (; e < h->extras.n && h->extras.at[e].txn == t; e++) {
            extra x = h->extras.at[e];
            x.txn = fresh;
            vec_push(&to->mem, &to->extras, x);
        }
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++)
            if (!drop_op(p, t, o)) copy_op(to, p, t, o, &a);
        history_end(to, txn_status_of(h, t));
    }
    history_recount_lines(to, h);
    /* as many that only the header speaks of as before */
    uint64_t unseen =
        h->declared_sessions > h->sessions.n ? h->declared_sessions - h->sessions.n : 0;
    if (unseen) to->declared_sessions = (uint32_t)(to->sessions.n + unseen);
}

void lint_fix(history *to, const lint *l, fixes *x, mem *work)
{
    const history *h = l->h;
    plan p = {.h = h, .x = x, .m = work, .init = x->init};
    if (p.init == NO_ID && l->f.init_certain && wanted(&p, LINT_INIT_SESSION))
        p.init = l->f.init_txn;
    p.gone = mem_array0(work, uint8_t, h->txns + 1);
    p.untimed = mem_array0(work, uint8_t, h->txns + 1);
    p.session = mem_array(work, label, h->txns + 1);
    if (wanted(&p, LINT_FAILED_STATEMENTS)) keep_failed(&p);
    plan_txns(&p);
    if (p.init != NO_ID) {
        uint8_t *marks = mem_array0(work, uint8_t, history_keys(h) + 1);
        if (!lint_all_writes(h, p.init, marks))
            guard_fail(work->guard, GUARD_INVAL,
                       "the initial state must be a committed transaction of plain writes, each "
                       "key once");
        p.gone[p.init] = 1;
        x->count[LINT_INIT_SESSION] = 1;
    }
    plan_times(&p);
    plan_sessions(&p);
    copy(to, &p);
}
