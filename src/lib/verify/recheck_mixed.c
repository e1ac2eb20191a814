/*
 * recheck_mixed.c - the levels of single transactions, once more from doc/levels.md ("Mixed
 * levels"), and the serializable ones among themselves.
 *
 * Rows: MIX-1 to MIX-5 say what a transaction of each level has and must satisfy; MIXPG-1 and
 * MIXPG-2 which row PostgreSQL's transactions have, MIXPG-3 that its serializable transactions have
 * no cycle.  The snapshots themselves are looked for in recheck_strong.c.
 */
#include <assert.h>

#include "history/own_levels.h"
#include "verify/recheck.h"

static bool shows_list(const history *h, value_id x)
{
    return x != VALUE_NULL && x != VALUE_UNKNOWN && value_atom(h, x).kind == ATOM_LIST;
}

/* Is there a list anywhere?  What one says that a read-uncommitted transaction read is not known
   here. */
static bool has_lists(const history *h)
{
    bool any = false;
    for (op_id o = 0; o < h->ops && !any; o++)
        any = op_kind_of(h, o) == OP_APPEND || shows_list(h, h->op_value[o]);
    for (size_t i = 0; i < h->row_value.n && !any; i++) any = shows_list(h, h->row_value.at[i]);
    for (key_id k = 0; k < history_keys(h) && !any; k++) any = shows_list(h, h->key_init[k]);
    return any;
}

static bool has_reads(const history *h, txn_id t)
{
    bool any = false;
    for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1] && !any; o++)
        any = op_kind_of(h, o) == OP_READ || op_kind_of(h, o) >= OP_SCAN;
    return any;
}

static enum mixed_row row_named(const history *h, txn_id t)
{
    size_t n;
    const char *text = history_level_text(h, t, &n);
    return text ? mixed_row_of(text, n) : n ? ROW_NONE : ROW_DEFAULT;
}

bool recheck_mixture_defined(const history *h, enum level_id level)
{
    if (!level_is_mixed(level)) return true;
    for (txn_id t = 0; t < h->txns; t++) {
        enum mixed_row row = row_named(h, t);
        if (level == LEVEL_MIXED_PG) row = mixed_row_of_postgres(row);
        if (row == ROW_NONE && txn_status_of(h, t) != TXN_ABORTED) return false;
    }
    return true;
}

bool recheck_load_rows(checker *c)
{
    const history *h = c->h;
    enum level_id level = c->v->level.id;
    bool postgres = level == LEVEL_MIXED_PG;
    if (!level_is_mixed(level)) return true;
    c->row = mem_array(c->m, uint8_t, h->txns + 1);
    if (postgres) c->serial = mem_array(c->m, uint8_t, h->txns + 1);
    if (postgres) c->lax = mem_array0(c->m, uint8_t, history_keys(h) + 1);
    bool lists = has_lists(h);
    for (txn_id t = 0; t < h->txns; t++) {
        enum mixed_row row = row_named(h, t);
        if (postgres) c->serial[t] = row == ROW_SER;
        if (postgres) row = mixed_row_of_postgres(row);
        if (txn_status_of(h, t) == TXN_ABORTED) row = ROW_SER; /* nobody asks */
        if (row == ROW_NONE) return recheck_no(c, t, "names a level that has no rule in a mixture");
        if (row == ROW_RU && lists && has_reads(h, t))
            return recheck_no(c, t, "reads at read-uncommitted, where there are lists");
        c->row[t] = (uint8_t)row;
        bool counts = postgres && txn_status_of(h, t) != TXN_ABORTED;
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1] && counts; o++) {
            if (op_kind_of(h, o) != OP_DELETE || h->op_kind[o] & (OP_FAILED | OP_TOMB)) continue;
            c->lax[h->op_key[o]] = 1;
            c->deletes = true;
        }
    }
    return true;
}

/* --- among themselves ------------------------------------------------------------------------- */

typedef struct pair_list { /* edges between places */
    VEC(uint32_t) from, to;
} pair_list;

static bool is_serial(const checker *c, uint32_t p)
{
    return p && c->serial[c->v->order[p - 1]];
}

static void add_link(checker *c, pair_list *x, uint32_t from, uint32_t to)
{
    if (from == to || !is_serial(c, from) || !is_serial(c, to)) return;
    vec_push(c->m, &x->from, from);
    vec_push(c->m, &x->to, to);
}

/* The next version of the key after place w, whoever installed it; 0: none. */
static uint32_t version_after(const checker *c, key_id k, uint32_t w)
{
    const installers *x = &c->by_key;
    uint32_t lo = x->first[k], end = x->first[k + 1], hi = end;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (x->place[mid] <= w)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < end ? x->place[lo] : 0;
}

static void collect_links(checker *c, pair_list *x)
{
    const history *h = c->h;
    for (uint32_t p = 1; p <= c->n; p++) {
        if (!is_serial(c, p)) continue;
        for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1]; i++) {
            const seen *r = &c->reads.at[i];
            add_link(c, x, r->value, p);
            add_link(c, x, p, version_after(c, r->key, r->value));
        }
        guard_tick(c->m->guard);
    }
    for (key_id k = 0; k < history_keys(h); k++) {
        uint32_t before = 0;
        for (uint32_t i = c->by_key.first[k]; i < c->by_key.first[k + 1]; i++) {
            if (!is_serial(c, c->by_key.place[i])) continue;
            if (before) add_link(c, x, before, c->by_key.place[i]);
            before = c->by_key.place[i];
        }
    }
    for (size_t s = 0; s < h->sessions.n && c->v->session_order; s++) {
        uint32_t before = 0;
        for (uint32_t j = h->sess_first[s]; j < h->sess_first[s + 1]; j++) {
            txn_id t = h->sess_txn[j];
            uint32_t p = c->place[t];
            if (!is_serial(c, p)) continue;
            if (before) add_link(c, x, before, p);
            if (txn_status_of(h, t) == TXN_COMMITTED) before = p;
        }
    }
}

/* MIXPG-3: take away whoever nobody leads to, until none is left. */
bool recheck_serial_among(checker *c)
{
    pair_list x = {0};
    collect_links(c, &x);
    uint32_t *first = mem_array0(c->m, uint32_t, (size_t)c->n + 3);
    uint32_t *into = mem_array0(c->m, uint32_t, (size_t)c->n + 2);
    uint32_t *to = mem_array(c->m, uint32_t, x.to.n + 1);
    VEC(uint32_t) free_ones = {0};
    for (size_t i = 0; i < x.from.n; i++) {
        first[x.from.at[i] + 2]++;
        into[x.to.at[i]]++;
    }
    for (uint32_t p = 2; p < c->n + 3; p++) first[p] += first[p - 1];
    for (size_t i = 0; i < x.from.n; i++) to[first[x.from.at[i] + 1]++] = x.to.at[i];
    for (uint32_t p = 1; p <= c->n; p++)
        if (!into[p]) vec_push(c->m, &free_ones, p);
    for (size_t i = 0; i < free_ones.n; i++) {
        uint32_t p = free_ones.at[i];
        for (uint32_t k = first[p]; k < first[p + 1]; k++)
            if (!--into[to[k]]) vec_push(c->m, &free_ones, to[k]);
        guard_tick(c->m->guard);
    }
    if (free_ones.n == c->n) return true;
    uint32_t p = 1;
    while (!into[p]) p++;
    return recheck_no(c, c->v->order[p - 1],
                      "lies on or after a cycle of serializable transactions");
}
