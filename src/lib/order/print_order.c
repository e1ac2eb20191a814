/*
 * print_order.c - the order problem as text (--dump ir), one item a line:
 *
 *     ir, rule, taken, known, version, choice
 *
 * `known` edges are written out as they are.  What would be quadratic stays as implicit as it is
 * in memory: a `version` line says who installs a version of a key and who reads it, and the rule
 * says what follows for every other writer of the key.
 */
#include "order/print_order.h"

#include <assert.h>

void print_event(const order_problem *p, uint32_t event, strbuf *b)
{
    uint32_t txn_events = p->si ? 2 * p->txns : p->txns;
    assert(event < p->events && txn_events <= p->events);
    if (event >= txn_events) { /* a time point, or the gate of a key */
        strbuf_printf(b, "point-%u", event - txn_events);
        return;
    }
    if (p->si) strbuf_str(b, event % 2 ? "commit:" : "begin:");
    print_txn(p->g, txn_of(p, event), b);
}

static void print_rule(const order_problem *p, printer *d)
{
    static const char *const strict[] = {[STRICT_NONE] = "none",
                                         [STRICT_ALL] = "all",
                                         [STRICT_ITEM] = "item",
                                         [STRICT_OWN] = "own",
                                         [STRICT_UPDATES] = "updates",
                                         [STRICT_IGNORED] = "ignored",
                                         [STRICT_BY_ROW] = "by the level of the reader"};
    static const struct {
        unsigned bit;
        const char *name;
    } edges[] = {{PATH_SO, "so"}, {PATH_WR, "wr"}, {PATH_WW, "ww"},         {PATH_NEXT, "next-ww"},
                 {PATH_RW, "rw"}, {PATH_RT, "rt"}, {PATH_ANY, "behind-any"}};
    const level_rule *r = p->rule;
    strbuf_printf(&d->text, "rule strict %s%s", strict[r->strict],
                  r->exclusive ? ", writers of a key apart" : "");
    if (r->path) {
        strbuf_printf(&d->text, ", paths of %s", r->single_step ? "one step" : "any length");
        for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
            if (r->path & edges[i].bit) strbuf_printf(&d->text, " %s", edges[i].name);
        if (r->arrives_earlier) strbuf_str(&d->text, " to an earlier operation");
    }
    printer_line(d);
}

static void print_version(const order_problem *p, uint32_t inst, printer *d)
{
    const asg *g = p->g;
    assert(inst < g->insts && p->reader_first[inst] <= p->reader_first[inst + 1]);
    strbuf_str(&d->text, "version ");
    print_key(g, g->inst_key[inst], &d->text);
    strbuf_str(&d->text, " by ");
    print_txn(g, g->inst_node[inst], &d->text);
    strbuf_str(&d->text, " read by");
    for (uint32_t i = p->reader_first[inst]; i < p->reader_first[inst + 1]; i++) {
        uint32_t ob = p->reader[i];
        strbuf_char(&d->text, ' ');
        print_txn(g, g->ob_node[ob], &d->text);
        if (!p->rule->path && !strict_read(p, ob)) strbuf_str(&d->text, " (any later)");
    }
    if (p->reader_first[inst] == p->reader_first[inst + 1]) strbuf_str(&d->text, " nobody");
    printer_line(d);
}

static void print_choice(const order_problem *p, size_t open, printer *d)
{
    const asg *g = p->g;
    strbuf_str(&d->text, "choice ");
    print_read(g, g->open.at[open], &d->text);
    strbuf_str(&d->text, " from");
    for (uint32_t i = g->cand_first.at[open]; i < g->cand_first.at[open + 1]; i++) {
        if (p->dropped && p->dropped[i]) continue;
        strbuf_char(&d->text, ' ');
        print_source(g, asg_cand(g, open, i), &d->text);
    }
    printer_line(d);
}

void problem_print(order_problem *p, printer *d)
{
    asg *g = p->g;
    asg_by_key(g);
    strbuf_printf(&d->text, "ir level %s session-order %s real-time %s events %s %u known %zu",
                  level_at(p->rule->level)->name, p->so ? "on" : "off", p->rt ? "on" : "off",
                  p->si ? "begins-and-commits" : "transactions", p->events, p->known.n);
    printer_line(d);
    print_rule(p, d);
    for (node_id v = 0; v < p->txns; v++) {
        if (p->in[v]) continue;
        strbuf_str(&d->text, "taken ");
        print_txn(g, v, &d->text);
        strbuf_str(&d->text, " or not");
        printer_line(d);
    }
    for (size_t i = 0; i < p->known.n; i++) {
        strbuf_str(&d->text, "known ");
        print_event(p, p->known.at[i].from, &d->text);
        strbuf_char(&d->text, ' ');
        print_event(p, p->known.at[i].to, &d->text);
        printer_line(d);
    }
    for (size_t k = 0; k < history_keys(g->h); k++)
        for (uint32_t i = g->kw_first[k]; i < g->kw_first[k + 1]; i++)
            print_version(p, g->kw_inst[i], d);
    for (size_t i = 0; i < g->open.n; i++) print_choice(p, i, d);
}
