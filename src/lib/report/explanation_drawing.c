/*
 * explanation_drawing.c - an explanation as a graph: for Graphviz, and as a picture in lanes.
 *
 * Nodes are the transactions of the argument, edges the links of its cycles: one cycle, or one a
 * case.  Cycles that only rule an alternative out are left to the text.
 */
#include "report/explanation.h"

#include "report/picture.h"

#define MOST_BOXES 64u

void told_title(const told *t, strbuf *b)
{
    const verdict *v = t->v;
    if (t->c->history) {
        strbuf_visible(b, t->c->history, strlen(t->c->history));
        if (t->c->titled) return;
        strbuf_str(b, ": ");
    }
    strbuf_str(b, v->level.name);
    strbuf_str(b, v->outcome == OUTCOME_VIOLATED ? " violated"
                  : v->outcome == OUTCOME_HOLDS  ? " holds"
                                                 : " undecided");
    if (v->outcome == OUTCOME_VIOLATED && t->e->anomaly < ANOMALIES)
        strbuf_printf(b, ", %s", anomaly_at(t->e->anomaly)->name);
}

/* --- edges ------------------------------------------------------------------------------------ */

static void add_edge(const told *t, told_edges *out, told_edge d)
{
    for (size_t i = 0; i < out->n; i++) {
        const told_edge *e = &out->at[i];
        if (e->from == d.from && e->to == d.to && e->kind == d.kind && e->key == d.key) return;
    }
    vec_push(t->m, out, d);
}

/* The kind of an edge of a verdict's cycle; LINK_RW + 1: none that is drawn. */
static unsigned kind_named(const char *name)
{
    arg_link l = {0};
    for (l.kind = LINK_SO; l.kind <= LINK_RW; l.kind++)
        if (!strcmp(name, link_name(&l))) return l.kind;
    return LINK_RW + 1;
}

void told_graph(const told *t, const told_steps *steps, told_edges *out)
{
    for (size_t i = 0; i < steps->steps.n; i++) {
        const told_step *s = &steps->steps.at[i];
        if (s->kind != STEP_LINK) continue;
        const txn_id *txn = t->e->scene.txn;
        add_edge(t, out,
                 (told_edge){txn[s->link->from], txn[s->link->to], s->link->kind, s->n_refs > 0,
                             s->link->key, s->place, (uint32_t)i});
    }
    if (t->v->outcome != OUTCOME_VIOLATED || (t->e && t->e->argued)) return;
    for (size_t i = 0; i < t->v->cycle.n; i++) {
        const cycle_link *l = &t->v->cycle.at[i];
        unsigned kind = kind_named(l->edge);
        if (kind <= LINK_RW)
            add_edge(t, out, (told_edge){l->from, l->to, (uint8_t)kind, false, l->key, 0, NO_ID});
    }
}

/* --- Graphviz --------------------------------------------------------------------------------- */

/* A quoted string; text never holds control characters. */
static void quote(strbuf *b, const strbuf *text)
{
    strbuf_char(b, '"');
    for (size_t i = 0; i < text->n; i++) {
        if (text->at[i] == '"' || text->at[i] == '\\') strbuf_char(b, '\\');
        strbuf_char(b, text->at[i]);
    }
    strbuf_char(b, '"');
}

static size_t node_of(const txn_ids *txns, txn_id t)
{
    size_t i = 0;
    while (i < txns->n && txns->at[i] != t) i++;
    return i;
}

static void dot_node(const told *t, size_t i, txn_id x, strbuf *text, strbuf *b)
{
    strbuf_printf(b, "  t%zu [label=", i);
    text->n = 0;
    say_txn(t->v->h, x, text);
    strbuf_str(text, ": ");
    say_ops(t, x, text);
    quote(b, text);
    if (txn_status_of(history_as_recorded(t->v->h), x) == TXN_ABORTED)
        strbuf_str(b, ", style=dashed");
    strbuf_str(b, "];\n");
}

static void dot_edge(const told *t, const told_edge *d, size_t from, size_t to, bool cases,
                     strbuf *text, strbuf *b)
{
    const char *colour = picture_edge_colour(d->kind);
    strbuf_printf(b, "  t%zu -> t%zu [label=", from, to);
    text->n = 0;
    strbuf_str(text, picture_edge_name(d->kind));
    if (d->key != NO_ID) {
        strbuf_char(text, ' ');
        say_key(t->v->h, d->key, text);
    }
    if (cases) strbuf_printf(text, " (case %u)", (unsigned)d->place + 1);
    quote(b, text);
    strbuf_printf(b, ", color=\"%s\", fontcolor=\"%s\"%s];\n", colour, colour,
                  d->place ? ", style=dashed" : "");
}

void tell_dot(const told *t, strbuf *b)
{
    told_steps steps;
    told_edges edges = {0};
    txn_ids txns = {0};
    strbuf text;
    told_argument(t, &steps);
    told_graph(t, &steps, &edges);
    told_txns(t, &txns);
    if (txns.n > MOST_BOXES) txns.n = MOST_BOXES;
    strbuf_init(&text, t->m);
    strbuf_str(b, "digraph explanation {\n  label=");
    told_title(t, &text);
    quote(b, &text);
    strbuf_str(b, ";\n  labelloc=t;\n  node [shape=box, fontname=\"monospace\", fontsize=10];\n"
                  "  edge [fontname=\"monospace\", fontsize=10];\n");
    for (size_t i = 0; i < txns.n; i++) dot_node(t, i, txns.at[i], &text, b);
    for (size_t i = 0; i < edges.n; i++) {
        const told_edge *d = &edges.at[i];
        size_t from = node_of(&txns, d->from), to = node_of(&txns, d->to);
        if (from < txns.n && to < txns.n) dot_edge(t, d, from, to, steps.cycles > 1, &text, b);
    }
    strbuf_str(b, "}\n");
    strbuf_free(&text);
}

/* --- lanes ------------------------------------------------------------------------------------ */

static void draw_lanes(const told *t, strbuf *b, void (*write)(const picture *p, strbuf *b))
{
    told_steps steps;
    told_edges edges = {0};
    picture p;
    told_argument(t, &steps);
    told_picture(t, &steps, NULL, MOST_BOXES, &p, &edges);
    write(&p, b);
}

void tell_svg(const told *t, strbuf *b)
{
    draw_lanes(t, b, picture_svg);
}

void tell_tikz(const told *t, strbuf *b)
{
    draw_lanes(t, b, picture_tikz);
}
