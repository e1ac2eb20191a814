/*
 * print_graph.c - the semantic graph as text (--dump asg), one item a line:
 *
 *     node, install, read, order, fault, initial
 *
 * in the words of the history: labels of transactions and sessions, keys, values; operations are
 * counted from 0 within their transaction.  doc/dump.md has the format.
 */
#include "asg/print_graph.h"

#include <assert.h>

#include "opt/anomaly.h"

void print_txn(const asg *g, node_id v, strbuf *b)
{
    label_text(g->h, g->h->txn_label[g->node_txn[v]], b);
}

void print_key(const asg *g, key_id k, strbuf *b)
{
    atom_text(g->h, key_atom(g->h, k), b);
}

void print_source(const asg *g, uint32_t w, strbuf *b)
{
    assert(w < g->nodes || w == RF_INIT || w == RF_NONE || w == RF_OPEN);
    if (w < RF_LAST)
        print_txn(g, w, b);
    else
        strbuf_str(b, w == RF_INIT ? "initial" : w == RF_NONE ? "nobody" : "open");
}

static void print_value(const asg *g, key_id k, value_id x, strbuf *b)
{
    strbuf_char(b, ' ');
    print_key(g, k, b);
    strbuf_str(b, " = ");
    atom_text(g->h, value_atom(g->h, x), b);
}

static void print_op(const asg *g, node_id v, op_id o, strbuf *b)
{
    assert(o >= g->h->txn_op[g->node_txn[v]] && o < g->h->txn_op[g->node_txn[v] + 1]);
    strbuf_str(b, " at ");
    strbuf_u64(b, o - g->h->txn_op[g->node_txn[v]]);
}

void print_read(const asg *g, uint32_t ob, strbuf *b)
{
    node_id v = g->ob_node[ob];
    print_txn(g, v, b);
    print_value(g, g->ob_key[ob], g->ob_value[ob], b);
    if (g->ob_flags[ob] & OB_PRED) strbuf_str(b, " covered");
    print_op(g, v, g->ob_op[ob], b);
}

static void print_node(const asg *g, node_id v, printer *d)
{
    const history *h = g->h;
    strbuf_str(&d->text, "node ");
    print_txn(g, v, &d->text);
    strbuf_str(&d->text, " session ");
    label_text(h, h->sessions.at[h->txn_session[g->node_txn[v]]], &d->text);
    if (g->so_pred[v] != NO_ID) {
        strbuf_str(&d->text, " after ");
        print_txn(g, g->so_pred[v], &d->text);
    }
    strbuf_str(&d->text, !g->maybe[v]   ? " committed"
                         : g->barred[v] ? " unknown, barred"
                         : asg_in(g, v) ? " unknown, needed"
                                        : " unknown");
    printer_line(d);
}

static void print_obligation(const asg *g, uint32_t ob, uint32_t open, printer *d)
{
    strbuf_str(&d->text, "read ");
    print_read(g, ob, &d->text);
    if (g->ob_rf[ob] == RF_OPEN && open != NO_ID) {
        strbuf_str(&d->text, " from one of");
        for (uint32_t i = g->cand_first.at[open]; i < g->cand_first.at[open + 1]; i++) {
            strbuf_char(&d->text, ' ');
            print_source(g, asg_cand(g, open, i), &d->text);
        }
    } else {
        strbuf_str(&d->text, " from ");
        print_source(g, g->ob_rf[ob], &d->text);
    }
    printer_line(d);
}

static void print_edge(const asg *g, const edge *e, printer *d)
{
    strbuf_str(&d->text, "order ");
    print_txn(g, e->from, &d->text);
    strbuf_char(&d->text, ' ');
    print_txn(g, e->to, &d->text);
    strbuf_str(&d->text, " of ");
    print_key(g, e->key, &d->text);
    if (e->ob == NO_ID) {
        strbuf_str(&d->text, " by hint");
    } else {
        strbuf_str(&d->text, e->kind == EDGE_FORCE ? " forced by " : " shown to ");
        print_txn(g, g->ob_node[e->ob], &d->text);
        print_op(g, g->ob_node[e->ob], g->ob_op[e->ob], &d->text);
    }
    printer_line(d);
}

static void print_fault(const asg *g, const fault *f, printer *d)
{
    strbuf_printf(&d->text, "fault %s ", anomaly_at(f->anomaly)->name);
    print_txn(g, f->node, &d->text);
    if (f->key != NO_ID) print_value(g, f->key, f->value, &d->text);
    if (f->op != NO_ID) print_op(g, f->node, f->op, &d->text);
    if (f->other != NO_ID) {
        strbuf_str(&d->text, " of ");
        label_text(g->h, g->h->txn_label[f->other], &d->text);
    }
    printer_line(d);
}

void asg_print(const asg *g, printer *d)
{
    strbuf_printf(&d->text, "asg nodes %u installs %zu reads %zu open %zu orders %zu faults %zu",
                  g->nodes, g->insts, g->obs, g->open.n, g->extra.n, g->faults.n);
    printer_line(d);
    for (size_t k = 0; g->init_open && k < history_keys(g->h); k++) {
        if (!g->init_open[k]) continue;
        strbuf_str(&d->text, "initial ");
        print_key(g, (key_id)k, &d->text);
        strbuf_str(&d->text, " open");
        printer_line(d);
    }
    uint32_t *open_of = asg_open_of(g);
    for (node_id v = 0; v < g->nodes; v++) {
        print_node(g, v, d);
        for (uint32_t i = g->inst_first[v]; i < g->inst_first[v + 1]; i++) {
            strbuf_str(&d->text, "install ");
            print_txn(g, v, &d->text);
            print_value(g, g->inst_key[i], g->inst_value[i], &d->text);
            print_op(g, v, g->inst_op[i], &d->text);
            printer_line(d);
        }
        for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++)
            print_obligation(g, ob, open_of[ob], d);
    }
    mem_put(g->m, open_of);
    for (size_t i = 0; i < g->extra.n; i++) print_edge(g, &g->extra.at[i], d);
    for (size_t i = 0; i < g->faults.n; i++) print_fault(g, &g->faults.at[i], d);
}
