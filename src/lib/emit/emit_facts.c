/*
 * emit_facts.c - what a history says about order, read from it by the words of doc/levels.md, 1 to
 * 4: who takes part, versions, obligations with their candidates, session order, real time.
 */
#include "emit/formula.h"

#include <string.h>

#include "history/key_sessions.h"

_Noreturn static void refuse(const emit_formula *f, const char *what)
{
    guard_fail(f->m->guard, GUARD_UNSUPPORTED, "there is no encoding for %s", what);
}

/* --- who takes part --- */

static void load_nodes(emit_formula *f)
{
    const history *h = f->h;
    f->txn = mem_array(f->m, txn_id, h->txns + 1);
    f->maybe = mem_array0(f->m, uint8_t, h->txns + 1);
    f->never = mem_array0(f->m, uint8_t, h->txns + 1);
    for (txn_id t = 0; t < h->txns; t++) {
        if (txn_status_of(h, t) == TXN_ABORTED) continue; /* H-2 */
        f->maybe[f->n] = txn_status_of(h, t) == TXN_UNKNOWN;
        f->txn[f->n++] = t;
    }
}

static bool is_list(const history *h, value_id v)
{
    return v != VALUE_UNKNOWN && v != VALUE_EMPTY && value_atom(h, v).kind == ATOM_LIST;
}

/* What no encoding states must not be left out silently. */
static void refuse_what_is_not_stated(const emit_formula *f)
{
    const history *h = f->h;
    if (h->init_unknown) refuse(f, "an unknown initial state");
    if (f->q.level.id == LEVEL_LIN && history_first_larger(h) != NO_ID)
        refuse(f, "transactions of several operations");
    for (op_id o = 0; o < h->ops; o++)
        if (op_kind_of(h, o) == OP_APPEND || is_list(h, h->op_value[o])) refuse(f, "lists");
    for (size_t i = 0; i < h->row_value.n; i++)
        if (is_list(h, h->row_value.at[i])) refuse(f, "lists");
    for (size_t k = 0; k < history_keys(h); k++)
        if (is_list(h, h->key_init[k])) refuse(f, "lists");
    for (size_t i = 0; i < h->attrs.n; i++) switch ((enum attr_kind)h->attrs.at[i].kind) {
        case ATTR_VER: refuse(f, "hints about version positions");
        case ATTR_VSET:
        case ATTR_VSET_INIT: refuse(f, "version sets of scans");
        default: break;
        }
}

/* --- versions --- */

typedef struct own_write { /* per key: what the transaction at hand has written last */
    uint32_t node;         /* + 1 */
    value_id value;
    uint32_t install;
} own_write;

/* Of whatever outcome; an aborted transaction that takes part with its reads sees its own (H-9). */
static bool is_write(const history *h, op_id o)
{
    enum op_kind kind = op_kind_of(h, o);
    return (kind == OP_WRITE || kind == OP_DELETE) && !op_failed(h, o);
}

static value_id written(const history *h, op_id o)
{
    return op_kind_of(h, o) == OP_DELETE ? VALUE_NULL : value_or_absent(h->op_value[o]);
}

static void load_installs(emit_formula *f, own_write *own)
{
    const history *h = f->h;
    size_t keys = history_keys(h);
    VEC(emit_install) all = {0};
    f->key_first = mem_array0(f->m, uint32_t, keys + 2);
    for (uint32_t v = 0; v < f->n; v++)
        for (op_id o = h->txn_op[f->txn[v]]; o < h->txn_op[f->txn[v] + 1]; o++) {
            if (!is_write(h, o) || op_is_local_write(h, o)) continue;
            key_id k = h->op_key[o];
            emit_install x = {k, v, written(h, o), o, (h->op_kind[o] & OP_TOMB) != 0};
            if (own[k].node == v + 1) {
                all.at[own[k].install] = x; /* H-5: the last one counts */
                continue;
            }
            own[k] = (own_write){v + 1, 0, (uint32_t)all.n};
            vec_push(f->m, &all, x);
            f->key_first[k + 2]++;
        }
    for (size_t k = 2; k < keys + 2; k++) f->key_first[k] += f->key_first[k - 1];
    f->install = mem_array(f->m, emit_install, all.n + 1);
    for (size_t i = 0; i < all.n; i++) f->install[f->key_first[all.at[i].key + 1]++] = all.at[i];
    vec_free(f->m, &all);
}

static void load_common(emit_formula *f)
{
    f->common = mem_array0(f->m, uint8_t, (size_t)f->n * f->n + 1);
    for (size_t k = 0; k < history_keys(f->h); k++)
        for (uint32_t i = f->key_first[k]; i < f->key_first[k + 1]; i++)
            for (uint32_t j = f->key_first[k]; j < f->key_first[k + 1]; j++)
                if (i != j) f->common[(size_t)f->install[i].node * f->n + f->install[j].node] = 1;
}

/* --- reads --- */

typedef struct writer_hint {
    bool given, init;
    label from;
} writer_hint;

/* row: of a scan, the row that the read is; NO_ID: it was not returned. */
static writer_hint hint_of(const history *h, op_id o, uint32_t row)
{
    writer_hint hint = {0};
    bool is_range = op_kind_of(h, o) == OP_SCAN || op_kind_of(h, o) == OP_ITER;
    for (const attr *a = op_attrs(h, o); a && a < h->attrs.at + h->attrs.n && a->op == o; a++) {
        bool item = a->kind == ATTR_FROM || a->kind == ATTR_FROM_INIT;
        bool of_row = (a->kind == ATTR_ROW_FROM || a->kind == ATTR_ROW_FROM_INIT) && a->key == row;
        if (is_range ? of_row : item)
            hint = (writer_hint){true, a->kind == ATTR_FROM_INIT || a->kind == ATTR_ROW_FROM_INIT,
                                 a->a};
    }
    return hint;
}

static void load_candidates(emit_formula *f, emit_read *r, writer_hint hint)
{
    const history *h = f->h;
    bool tomb = r->value == VALUE_NULL && h->op_kind[r->op] & OP_TOMB;
    r->first = (uint32_t)f->candidate.n;
    if (value_or_absent(h->key_init[r->key]) == r->value && !tomb && (!hint.given || hint.init))
        vec_push(f->m, &f->candidate, FROM_INIT);
    for (uint32_t i = f->key_first[r->key]; i < f->key_first[r->key + 1]; i++) {
        const emit_install *x = &f->install[i];
        if (x->node == r->node || x->value != r->value || (tomb && !x->tomb)) continue;
        if (hint.given && (hint.init || h->txn_label[f->txn[x->node]] != hint.from)) continue;
        vec_push(f->m, &f->candidate, x->node);
    }
    r->n = (uint32_t)f->candidate.n - r->first;
}

/* Is the node held to read uncommitted alone? */
static bool is_uncommitted(const emit_formula *f, uint32_t node)
{
    return f->q.level.id == LEVEL_RU || (f->row && f->row[node] == ROW_RU);
}

/* levels.md 3: 1 the own write explains the read, 0 another must, -1 the policy is broken (C-5,
   which read uncommitted allows). */
static int reads_own(const emit_formula *f, uint32_t v, const own_write *own, value_id value,
                     writer_hint hint)
{
    if (own->node != v + 1 || f->q.ryow == RYOW_EXTERNAL || is_uncommitted(f, v)) return 0;
    bool mine = !hint.given || (!hint.init && hint.from == f->h->txn_label[f->txn[v]]);
    if (mine && own->value == value) return 1;
    return f->q.ryow == RYOW_MUST ? -1 : 0;
}

static void load_read(emit_formula *f, uint32_t v, op_id o, key_id k, value_id x, uint32_t row,
                      bool pred, const own_write *own)
{
    emit_read r = {.node = v, .key = k, .value = value_or_absent(x), .op = o, .pred = pred};
    writer_hint hint = hint_of(f->h, o, row);
    int internal = reads_own(f, v, &own[k], r.value, hint);
    if (internal < 0) f->never[v] = 1; /* C-5 */
    if (internal) return;
    load_candidates(f, &r, hint);
    vec_push(f->m, &f->read, r);
}

/* C-7: rows out of range, out of order, repeated or absent. */
static bool malformed(const history *h, const range *g, uint32_t lo, uint32_t hi)
{
    for (uint32_t i = 0; i < g->rows; i++) {
        uint32_t rank = h->key_rank[h->row_key.at[g->first_row + i]];
        value_id x = h->row_value.at[g->first_row + i];
        if (rank < lo || rank >= hi || x == VALUE_NULL || x == VALUE_UNKNOWN) return true;
        uint32_t before = i ? h->key_rank[h->row_key.at[g->first_row + i - 1]] : 0;
        if (i && (g->reverse ? rank >= before : rank <= before)) return true;
    }
    return false;
}

/* H-7: a read of every key in the range, up to the last row of an iterator that was left. */
static void load_range(emit_formula *f, uint32_t v, op_id o, const own_write *own)
{
    const history *h = f->h;
    const range *g = &h->ranges.at[h->op_key[o]];
    uint32_t lo, hi;
    range_ranks(h, g, &lo, &hi);
    if (malformed(h, g, lo, hi)) {
        f->never[v] = 1;
        return;
    }
    if (!g->done && !g->rows) return;
    uint32_t last = g->rows ? h->key_rank[h->row_key.at[g->first_row + g->rows - 1]] : 0;
    if (!g->done && g->reverse) lo = last;
    if (!g->done && !g->reverse) hi = last + 1;
    uint32_t row = g->reverse ? g->rows : 0; /* rows descend in a reverse scan */
    for (uint32_t rank = lo; rank < hi; rank++) {
        key_id k = h->key_sorted[rank];
        uint32_t next = g->reverse ? row - 1 : row;
        bool there = g->reverse ? row > 0 : row < g->rows;
        there = there && h->row_key.at[g->first_row + next] == k;
        if (there) row = g->reverse ? row - 1 : row + 1;
        load_read(f, v, o, k, there ? h->row_value.at[g->first_row + next] : VALUE_NULL,
                  there ? next : NO_ID, !there, own);
    }
}

static void load_reads(emit_formula *f, own_write *own)
{
    const history *h = f->h;
    f->node_first = mem_array(f->m, uint32_t, f->n + 1);
    memset(own, 0, history_keys(h) * sizeof *own);
    for (uint32_t v = 0; v < f->n; v++) {
        f->node_first[v] = (uint32_t)f->read.n;
        for (op_id o = h->txn_op[f->txn[v]]; o < h->txn_op[f->txn[v] + 1]; o++) {
            enum op_kind kind = op_kind_of(h, o);
            if (op_failed(h, o)) continue;
            if (is_write(h, o))
                own[h->op_key[o]] = (own_write){v + 1, written(h, o), 0};
            else if (kind == OP_SCAN || kind == OP_ITER)
                load_range(f, v, o, own);
            else if (kind == OP_READ && h->op_value[o] != VALUE_UNKNOWN)
                load_read(f, v, o, h->op_key[o], h->op_value[o], NO_ID, false, own);
        }
    }
    f->node_first[f->n] = (uint32_t)f->read.n;
    vec_reserve(f->m, &f->source, f->candidate.n + 1);
    for (size_t i = 0; i < f->candidate.n; i++) f->source.at[f->source.n++] = NO_ID;
}

/* Read uncommitted asks of a read only that somebody wrote the value (C-1), in whatever way it
   ended, and that results are well formed (C-7).  (Such a read has no source; the candidates that
   were found for it are left where they are.) */
static void keep_garbage_only(emit_formula *f)
{
    const history *h = f->h;
    key_set wrote = {0};
    for (op_id o = 0; o < h->ops; o++)
        if (is_write(h, o)) key_set_add(f->m, &wrote, map_pair(h->op_key[o], written(h, o)));
    uint32_t kept = 0, i = 0;
    for (uint32_t v = 0; v < f->n; v++) {
        uint32_t end = f->node_first[v + 1];
        f->node_first[v] = kept;
        for (; i < end; i++) {
            const emit_read r = f->read.at[i];
            bool initial = value_or_absent(h->key_init[r.key]) == r.value;
            if (f->row && is_uncommitted(f, v) && h->op_value[r.op] == VALUE_EMPTY)
                refuse(f, "lists that are read at read-uncommitted");
            if (!is_uncommitted(f, v))
                f->read.at[kept++] = r;
            else if (!initial && !key_set_has(&wrote, map_pair(r.key, r.value)))
                f->never[v] = 1;
        }
    }
    f->node_first[f->n] = kept;
    f->read.n = kept;
    key_set_free(f->m, &wrote);
}

/* --- session order and real time --- */

static bool stamp_of(const history *h, txn_id t, enum emit_stamp which, int64_t *at)
{
    bool commit = which >= STAMP_COMMIT_CALL;
    if (commit && txn_status_of(h, t) == TXN_UNKNOWN) return false; /* H-3 */
    if (which == STAMP_BEGIN_RETURN && h->txn_flags[t] & TXN_NO_BEGIN_RETURN) return false;
    if (h->txn_flags[t] & TXN_HAS_TIMES) {
        *at = h->txn_times[(size_t)t * 4 + which];
        return true;
    }
    if (!(h->txn_flags[t] & (commit ? TXN_HAS_END : TXN_HAS_BEGIN))) return false;
    *at = commit ? h->txn_end[t] : h->txn_begin[t];
    return true;
}

bool facts_clock(const emit_formula *f, uint32_t a, enum emit_stamp from, uint32_t b,
                 enum emit_stamp to)
{
    int64_t x, y;
    if (!stamp_of(f->h, f->txn[a], from, &x) || !stamp_of(f->h, f->txn[b], to, &y)) return false;
    uint64_t drift = f->q.drift > 0 ? (uint64_t)f->q.drift : 0;
    return y > x && (uint64_t)y - (uint64_t)x >= drift;
}

/* LIN-1: session order counts between operations on one key. */
static bool same_key(const history *h, txn_id a, txn_id b)
{
    bool several;
    return txn_single_key(h, a, &several) == txn_single_key(h, b, &several);
}

static void load_orders(emit_formula *f)
{
    const history *h = f->h;
    const level_info *l = level_at(f->q.level.id);
    bool rt = f->q.level.realtime || l->real_time & (RT_CB | RT_TXN);
    bool so = level_session_order(&f->q.level, f->q.session_order) || f->q.level.realtime;
    bool by_key = f->q.level.id == LEVEL_LIN;
    f->ordered = mem_array0(f->m, uint8_t, (size_t)f->n * f->n + 1);
    f->session = mem_array0(f->m, uint8_t, (size_t)f->n * f->n + 1);
    for (uint32_t a = 0; a < f->n; a++)
        for (uint32_t b = 0; b < f->n; b++) {
            size_t at = (size_t)a * f->n + b;
            if (a == b) continue;
            f->session[at] = so && a < b && !f->maybe[a] &&
                             h->txn_session[f->txn[a]] == h->txn_session[f->txn[b]] &&
                             (!by_key || same_key(h, f->txn[a], f->txn[b]));
            f->ordered[at] = f->session[at] ||
                             (rt && facts_clock(f, a, STAMP_COMMIT_RETURN, b, STAMP_BEGIN_CALL));
        }
}

void facts_load(emit_formula *f)
{
    load_nodes(f);
    refuse_what_is_not_stated(f);
    own_write *own = mem_array0(f->m, own_write, history_keys(f->h) + 1);
    load_installs(f, own);
    load_common(f);
    if (level_is_mixed(f->q.level.id)) mixed_load_rows(f);
    load_reads(f, own);
    if (f->row || f->q.level.id == LEVEL_RU) keep_garbage_only(f);
    load_orders(f);
    added_load(f);
    mem_put(f->m, own);
}
