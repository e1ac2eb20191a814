/*
 * mixed_rows.c - what each transaction of a mixture is held to (doc/levels.md, "Mixed levels").
 *
 * Names of levels become rows once, here; deciders ask the row of a node.  Aborted transactions
 * take no part, so nobody asks what they named.
 */
#include <assert.h>

#include "asg/asg.h"
#include "history/own_levels.h"

static enum mixed_row row_of(const history *h, txn_id t)
{
    size_t n;
    const char *text = history_level_text(h, t, &n);
    if (!text) return n ? ROW_NONE : ROW_DEFAULT;
    return mixed_row_of(text, n);
}

static bool is_list(const history *h, value_id v)
{
    return v > VALUE_NULL && v != VALUE_UNKNOWN && value_atom(h, v).kind == ATOM_LIST;
}

static bool has_lists(const history *h)
{
    for (size_t o = 0; o < h->ops; o++)
        if (op_kind_of(h, (op_id)o) == OP_APPEND || is_list(h, h->op_value[o])) return true;
    for (size_t i = 0; i < h->row_value.n; i++)
        if (is_list(h, h->row_value.at[i])) return true;
    for (size_t k = 0; k < history_keys(h); k++)
        if (is_list(h, h->key_init[k])) return true;
    return false;
}

static bool reads_anything(const history *h, txn_id t)
{
    for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
        enum op_kind kind = op_kind_of(h, o);
        if (kind == OP_READ || kind == OP_SCAN || kind == OP_ITER) return true;
    }
    return false;
}

static const char *refusal_of(const history *h, txn_id t, const char *why, mem *m)
{
    size_t n;
    const char *text = history_level_text(h, t, &n);
    strbuf b;
    strbuf_init(&b, m);
    strbuf_str(&b, "transaction ");
    label_text(h, h->txn_label[t], &b);
    strbuf_str(&b, " names the level ");
    if (text)
        strbuf_visible(&b, text, n < 80 ? n : 80);
    else
        strbuf_str(&b, "that is one of more than 254 different ones");
    strbuf_str(&b, why);
    return strbuf_cstr(&b);
}

const char *mixed_refusal(const history *h, bool postgres, mem *m)
{
    txn_id unread = NO_ID;
    for (txn_id t = 0; t < h->txns; t++) {
        enum mixed_row row = row_of(h, t);
        if (txn_status_of(h, t) == TXN_ABORTED) continue;
        if (row == ROW_NONE)
            return refusal_of(h, t, ", which has no rule in a mixture: ru, rc, rr, si and ser have",
                              m);
        if (postgres && mixed_row_of_postgres(row) == ROW_NONE)
            return refusal_of(h, t, ", which PostgreSQL does not have: its REPEATABLE READ is si",
                              m);
        if (row == ROW_RU && !postgres && unread == NO_ID && reads_anything(h, t)) unread = t;
    }
    if (unread == NO_ID || !has_lists(h)) return NULL;
    return refusal_of(h, unread, ", and this version does not decide what its reads of lists say",
                      m);
}

static void find_lax_keys(asg *g)
{
    const history *h = g->h;
    for (node_id v = 0; v < g->nodes; v++) {
        txn_id t = g->node_txn[v];
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            if ((h->op_kind[o] & (OP_KIND_MASK | OP_FAILED | OP_TOMB)) != OP_DELETE) continue;
            if (!g->lax_key) g->lax_key = mem_array0(g->m, uint8_t, history_keys(h) + 1);
            g->lax_key[h->op_key[o]] = 1;
            g->rows_deleted = true;
        }
    }
}

void asg_mixed_rows(asg *g)
{
    const history *h = g->h;
    bool postgres = g->flags & ASG_MIXED_PG;
    if (!(g->flags & (ASG_MIXED | ASG_MIXED_PG))) return;
    const char *no = mixed_refusal(h, postgres, g->m);
    if (no) guard_fail(g->m->guard, GUARD_UNSUPPORTED, "%s", no);
    g->row = mem_array(g->m, uint8_t, (size_t)g->nodes + 1);
    if (postgres) g->serial = mem_array(g->m, uint8_t, (size_t)g->nodes + 1);
    for (node_id v = 0; v < g->nodes; v++) {
        enum mixed_row row = row_of(h, g->node_txn[v]);
        if (postgres) g->serial[v] = row == ROW_SER;
        if (postgres) row = mixed_row_of_postgres(row);
        assert(row != ROW_NONE);
        g->row[v] = (uint8_t)row;
        g->unread = g->unread || row == ROW_RU;
    }
    if (postgres) find_lax_keys(g);
}
