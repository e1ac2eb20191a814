/*
 * iso_facts.c - a history as a level in text sees it: who reads which key from whom, who writes.
 */
#include "verify/iso_clauses.h"

static bool number_txns(iso_facts *f, const char **why)
{
    const history *h = f->c.h;
    bool some = false;
    f->number = mem_array0(f->c.m, uint32_t, h->txns + 1);
    f->n = 1;
    for (txn_id t = 0; t < h->txns; t++) {
        enum txn_status s = txn_status_of(h, t);
        if (s == TXN_ABORTED || (f->only && !f->only[t])) continue;
        if (f->n > ISO_MOST_TXNS) {
            *why = "too-large: levels in text are proved for up to 64 transactions that may have "
                   "taken part";
            return false;
        }
        some = some || s == TXN_COMMITTED;
        f->maybe[f->n] = s == TXN_UNKNOWN;
        f->txn[f->n] = t;
        f->number[t] = f->n++;
    }
    if (!some) *why = "no transaction committed";
    return some;
}

/* May one outside of the part have installed the value?  Aborted ones installed nothing. */
static bool explained_outside(const iso_facts *f, txn_id t, op_id o, key_id k, value_id x)
{
    const checker *c = &f->c;
    hint told = recheck_hint(c, o, k);
    for (uint32_t i = recheck_wrote(c, k, x); i; i = c->w_next[i - 1]) {
        txn_id w = c->w_txn[i - 1];
        if (w != t && installed(c, i - 1) && !f->number[w] &&
            txn_status_of(c->h, w) != TXN_ABORTED &&
            recheck_allowed(c, o, told, x == VALUE_NULL, i - 1))
            return true;
        guard_tick(c->m->guard);
    }
    return false;
}

/* All that may have installed what the read returned, and whom a hint does not rule out; none:
   nothing explains it. */
static void add_read(iso_facts *f, txn_id t, op_id o, key_id k, value_id x)
{
    checker *c = &f->c;
    iso_read r = {f->number[t], f->key_number[k] - 1, o, (uint32_t)f->candidate.n, 0};
    uint32_t lo, hi = recheck_own(c, t, k, o, &lo);
    hint told = recheck_hint(c, o, k);
    bool absent = x == VALUE_NULL;
    if (lo < hi && plain(c->h->op_value[c->w_op[hi - 1]]) == x &&
        recheck_allowed(c, o, told, absent, hi - 1))
        return; /* its own write */
    if (lo == hi && f->only && explained_outside(f, t, o, k, x)) return;
    if (lo == hi) {
        if (c->init[k] == x && recheck_allowed(c, o, told, absent, NO_ID))
            vec_push(c->m, &f->candidate, 0);
        for (uint32_t i = 1; i < f->n; i++) {
            uint32_t w = f->txn[i] == t ? NO_ID : recheck_install(c, f->txn[i], k);
            if (w != NO_ID && plain(c->h->op_value[c->w_op[w]]) == x &&
                recheck_allowed(c, o, told, absent, w))
                vec_push(c->m, &f->candidate, i);
        }
    }
    r.n = (uint32_t)f->candidate.n - r.first;
    vec_push(c->m, &f->reads, r);
    if (!r.n && !f->maybe[r.txn] && f->broken == NO_ID) f->broken = o;
}

static bool load_ops(iso_facts *f, uint32_t i, const char **why)
{
    checker *c = &f->c;
    const history *h = c->h;
    txn_id t = f->txn[i];
    for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
        enum op_kind kind = op_kind_of(h, o);
        if (h->op_kind[o] & OP_FAILED) continue;
        bool said = kind == OP_READ || kind == OP_WRITE || kind == OP_DELETE;
        if (!said && f->only) continue; /* what is left out asks for less */
        if (!said) {
            *why = "the history has operations other than reads and writes of keys";
            return false;
        }
        key_id k = h->op_key[o];
        if (!f->key_number[k]) f->key_number[k] = ++f->keys;
        if (kind != OP_READ || h->op_value[o] == VALUE_UNKNOWN) continue;
        if (f->only && (c->open[k] || c->is_list[k])) continue;
        if (c->open[k]) {
            *why = "the initial state is unknown";
            return false;
        }
        add_read(f, t, o, k, plain(h->op_value[o]));
        guard_tick(c->m->guard);
    }
    return true;
}

bool iso_facts_load(iso_facts *f, const claim *v, const history *h, const uint8_t *only, mem *m,
                    const char **why)
{
    memset(f, 0, sizeof *f);
    f->c = (checker){.v = v, .h = h, .m = m};
    f->session_order = v->session_order;
    f->broken = NO_ID;
    f->only = only;
    if (v->ryow != RYOW_MUST) {
        *why = "levels in text want reads of own writes to return these (--ryow must)";
        return false;
    }
    recheck_load_writes(&f->c);
    recheck_load_keys(&f->c);
    if (!number_txns(f, why)) return false;
    if (only) recheck_index_values(&f->c);
    f->key_number = mem_array0(m, uint32_t, history_keys(h) + 1);
    for (uint32_t i = 1; only && i < f->n; i++) /* also of what is appended */
        for (uint32_t w = f->c.w_first[f->txn[i]]; w < f->c.w_first[f->txn[i] + 1]; w++)
            if (!f->key_number[f->c.w_key.at[w]]) f->key_number[f->c.w_key.at[w]] = ++f->keys;
    for (uint32_t i = 1; i < f->n; i++)
        if (!load_ops(f, i, why)) return false;
    if ((size_t)f->keys * f->n * f->n > ISO_MOST_CELLS) {
        *why = "too-large: too many keys for a proof";
        return false;
    }
    return true;
}
