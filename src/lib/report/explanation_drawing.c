/*
 * explanation_drawing.c - an explanation as a graph: for Graphviz, and drawn by ourselves.
 *
 * Nodes are the transactions of the argument, edges the links of its cycles: one cycle, or one a
 * case (dashed from the second on).  Cycles that only rule an alternative out are left to the
 * text.  The drawing puts the transactions on a circle in the order of the first cycle, which
 * makes that one a ring; for the few there are nothing cleverer is needed.
 */
#include "report/explanation.h"

typedef struct drawn {
    txn_id from, to;
    const char *edge;
    key_id key;
    uint32_t place; /* 0: of the first cycle, or case */
} drawn;

typedef struct picture {
    const told *t;
    txn_ids txns;
    VEC(drawn) edges;
    uint32_t cases;
} picture;

static void add_edge(picture *p, drawn d)
{
    for (size_t i = 0; i < p->edges.n; i++) {
        const drawn *e = &p->edges.at[i];
        if (e->from == d.from && e->to == d.to && e->edge == d.edge && e->key == d.key) return;
    }
    vec_push(p->t->m, &p->edges, d);
}

static void collect(picture *p, uint32_t at)
{
    const argument *a = &p->t->e->arg;
    const arg_node *n = &a->nodes.at[at];
    if (n->kind == ARG_CYCLE) {
        for (uint32_t i = 0; i < n->n; i++) {
            const arg_link *l = &a->links.at[n->first + i];
            const txn_id *txn = p->t->e->scene.txn;
            add_edge(p, (drawn){txn[l->from], txn[l->to], link_name(l), l->key, p->cases});
        }
        p->cases++;
        return;
    }
    if (arg_leaf(n)) return;
    uint32_t open = 0;
    for (uint32_t i = 0; i < n->n; i++) open += !arg_leaf(&a->nodes.at[a->child.at[n->first + i]]);
    uint32_t on = open ? NO_ID : argument_goes_on(a, n);
    for (uint32_t i = 0; i < n->n; i++) {
        uint32_t child = a->child.at[n->first + i];
        bool leaf = arg_leaf(&a->nodes.at[child]);
        if (on != NO_ID ? i == on : open != 1 || !leaf) collect(p, child);
    }
}

/* The first cycle's transactions come first, in its order. */
static void order_txns(picture *p)
{
    size_t done = 0;
    for (size_t i = 0; i < p->edges.n && p->edges.at[i].place == 0; i++)
        for (size_t j = done; j < p->txns.n; j++) {
            if (p->txns.at[j] != p->edges.at[i].from) continue;
            txn_id x = p->txns.at[j];
            for (; j > done; j--) p->txns.at[j] = p->txns.at[j - 1];
            p->txns.at[done++] = x;
            break;
        }
}

#define MOST_BOXES 24u

static size_t box_of(const picture *p, txn_id t)
{
    size_t i = 0;
    while (i < p->txns.n && p->txns.at[i] != t) i++;
    return i;
}

static void open_picture(picture *p, const told *t)
{
    memset(p, 0, sizeof *p);
    p->t = t;
    told_txns(t, &p->txns);
    if (t->e && t->e->argued) collect(p, t->e->arg.root);
    for (size_t i = 0;
         t->v->outcome == OUTCOME_VIOLATED && !(t->e && t->e->argued) && i < t->v->cycle.n; i++) {
        const cycle_link *l = &t->v->cycle.at[i];
        add_edge(p, (drawn){l->from, l->to, l->edge, l->key, 0});
    }
    order_txns(p);
    if (p->txns.n > MOST_BOXES) p->txns.n = MOST_BOXES;
    for (size_t i = 0; i < p->edges.n;)
        if (box_of(p, p->edges.at[i].from) == p->txns.n ||
            box_of(p, p->edges.at[i].to) == p->txns.n)
            p->edges.at[i] = p->edges.at[--p->edges.n];
        else
            i++;
}

static void close_picture(picture *p)
{
    vec_free(p->t->m, &p->txns);
    vec_free(p->t->m, &p->edges);
}

static const char *colour_of(const drawn *d)
{
    static const char *const colours[][2] = {{"so", "#666666"},
                                             {"rt", "#666666"},
                                             {"wr", "#1f6fb4"},
                                             {"ww", "#7a4fa3"},
                                             {"rw", "#c0392b"}};
    for (size_t i = 0; i < sizeof colours / sizeof *colours; i++)
        if (!strcmp(colours[i][0], d->edge)) return colours[i][1];
    return "#000000";
}

static void label_edge(const picture *p, const drawn *d, strbuf *b)
{
    strbuf_str(b, d->edge);
    if (d->key == NO_ID) return;
    strbuf_char(b, ' ');
    say_key(p->t->v->h, d->key, b);
}

/* What stands in a box: the name, and an operation a line. */
#define BOX_LINES 8u

static void title(const told *t, strbuf *b)
{
    const verdict *v = t->v;
    if (t->c->history) {
        strbuf_visible(b, t->c->history, strlen(t->c->history));
        strbuf_str(b, ": ");
    }
    strbuf_str(b, v->level.name);
    strbuf_str(b, v->outcome == OUTCOME_VIOLATED ? " violated"
                  : v->outcome == OUTCOME_HOLDS  ? " holds"
                                                 : " undecided");
    if (v->outcome == OUTCOME_VIOLATED && t->e->anomaly < ANOMALIES)
        strbuf_printf(b, ", %s", anomaly_at(t->e->anomaly)->name);
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

void tell_dot(const told *t, strbuf *b)
{
    picture p;
    strbuf text;
    open_picture(&p, t);
    strbuf_init(&text, t->m);
    strbuf_str(b, "digraph explanation {\n  label=");
    title(t, &text);
    quote(b, &text);
    strbuf_str(b, ";\n  labelloc=t;\n  node [shape=box, fontname=\"monospace\", fontsize=10];\n"
                  "  edge [fontname=\"monospace\", fontsize=10];\n");
    for (size_t i = 0; i < p.txns.n; i++) {
        strbuf_printf(b, "  t%zu [label=", i);
        text.n = 0;
        say_txn(t->v->h, p.txns.at[i], &text);
        strbuf_str(&text, ": ");
        say_ops(t, p.txns.at[i], &text);
        quote(b, &text);
        if (txn_status_of(t->v->h, p.txns.at[i]) == TXN_ABORTED) strbuf_str(b, ", style=dashed");
        strbuf_str(b, "];\n");
    }
    for (size_t i = 0; i < p.edges.n; i++) {
        const drawn *d = &p.edges.at[i];
        size_t from = box_of(&p, d->from), to = box_of(&p, d->to);
        strbuf_printf(b, "  t%zu -> t%zu [label=", from, to);
        text.n = 0;
        label_edge(&p, d, &text);
        if (p.cases > 1) strbuf_printf(&text, " (case %u)", (unsigned)d->place + 1);
        quote(b, &text);
        strbuf_printf(b, ", color=\"%s\", fontcolor=\"%s\"%s];\n", colour_of(d), colour_of(d),
                      d->place ? ", style=dashed" : "");
    }
    strbuf_str(b, "}\n");
    strbuf_free(&text);
    close_picture(&p);
}

/* --- SVG -------------------------------------------------------------------------------------- */

#define GLYPH 6.7 /* width of a character of the font, about */
#define LINE_HIGH 15.0
#define PI 3.14159265358979323846

/* A drawing needs no libm. */
static double size_of(double x)
{
    return x < 0 ? -x : x;
}

static double root(double x)
{
    double r = x > 1 ? x : 1;
    for (int i = 0; i < 60; i++) r = (r + x / r) / 2;
    return r;
}

/* By the series; the angles of a circle are small enough. */
static void turn(double angle, double *cosine, double *sine)
{
    double term = 1;
    *cosine = *sine = 0;
    for (int i = 0; i < 40; i++) {
        double *sum = i % 2 ? sine : cosine;
        *sum += i / 2 % 2 ? -term : term;
        term *= angle / (i + 1);
    }
}

static void xml(strbuf *b, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        switch (s[i]) {
        case '&': strbuf_str(b, "&amp;"); break;
        case '<': strbuf_str(b, "&lt;"); break;
        case '>': strbuf_str(b, "&gt;"); break;
        case '"': strbuf_str(b, "&quot;"); break;
        default: strbuf_char(b, s[i]); break;
        }
    }
}

typedef struct box {
    double x, y, w, h; /* centre, size */
} box;

/* The lines of a box: the name, then the operations, folded. */
#define BOX_COLUMNS 44u

static uint32_t box_lines(const strbuf *text, size_t *start, size_t *length)
{
    uint32_t n = 0;
    size_t at = 0;
    while (at < text->n && n < BOX_LINES) {
        size_t end = text->n - at > BOX_COLUMNS ? at + BOX_COLUMNS : text->n;
        if (end < text->n) {
            size_t space = end;
            while (space > at + BOX_COLUMNS / 2 && text->at[space] != ' ') space--;
            if (text->at[space] == ' ') end = space;
            while (end > at && ((unsigned char)text->at[end] & 0xc0) == 0x80) end--;
        }
        start[n] = at;
        length[n++] = end - at;
        at = end < text->n && text->at[end] == ' ' ? end + 1 : end;
    }
    return n;
}

static void box_text(const picture *p, size_t i, strbuf *text)
{
    text->n = 0;
    say_txn(p->t->v->h, p->txns.at[i], text);
    strbuf_str(text, ": ");
    say_ops(p->t, p->txns.at[i], text);
}

/* Where the line from the box's centre towards (x, y) leaves it. */
static void border(const box *k, double x, double y, double *bx, double *by)
{
    double dx = x - k->x, dy = y - k->y, f = 1e9;
    if (size_of(dx) > 1e-9 && k->w / 2 / size_of(dx) < f) f = k->w / 2 / size_of(dx);
    if (size_of(dy) > 1e-9 && k->h / 2 / size_of(dy) < f) f = k->h / 2 / size_of(dy);
    if (f > 1) f = 1;
    *bx = k->x + dx * f;
    *by = k->y + dy * f;
}

static void draw_edge(const picture *p, const drawn *d, const box *from, const box *to, double bend,
                      strbuf *b)
{
    double mx = (from->x + to->x) / 2, my = (from->y + to->y) / 2;
    double dx = to->x - from->x, dy = to->y - from->y, len = root(dx * dx + dy * dy);
    double x1, y1, x2, y2;
    strbuf text;
    if (len < 1) len = 1;
    mx += -dy / len * bend; /* to the side, so that there and back are two curves */
    my += dx / len * bend;
    border(from, mx, my, &x1, &y1);
    border(to, mx, my, &x2, &y2);
    strbuf_printf(b,
                  "<path d=\"M%.1f %.1f Q%.1f %.1f %.1f %.1f\" fill=\"none\" stroke=\"%s\" "
                  "stroke-width=\"1.5\"%s marker-end=\"url(#%s)\"/>\n",
                  x1, y1, mx, my, x2, y2, colour_of(d), d->place ? " stroke-dasharray=\"5 4\"" : "",
                  d->edge);
    strbuf_init(&text, p->t->m);
    label_edge(p, d, &text);
    if (p->cases > 1) strbuf_printf(&text, " (case %u)", (unsigned)d->place + 1);
    strbuf_printf(b, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" fill=\"%s\">",
                  0.25 * x1 + 0.5 * mx + 0.25 * x2, 0.25 * y1 + 0.5 * my + 0.25 * y2 - 3,
                  colour_of(d));
    xml(b, text.at, text.n);
    strbuf_str(b, "</text>\n");
    strbuf_free(&text);
}

static void draw_box(const picture *p, size_t i, const box *k, strbuf *text, strbuf *b)
{
    size_t start[BOX_LINES], length[BOX_LINES];
    bool aborted = txn_status_of(p->t->v->h, p->txns.at[i]) == TXN_ABORTED;
    box_text(p, i, text);
    uint32_t n = box_lines(text, start, length);
    strbuf_printf(b,
                  "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"4\" "
                  "fill=\"#fbfbf8\" stroke=\"#444444\"%s/>\n",
                  k->x - k->w / 2, k->y - k->h / 2, k->w, k->h,
                  aborted ? " stroke-dasharray=\"4 3\"" : "");
    for (uint32_t j = 0; j < n; j++) {
        strbuf_printf(b, "<text x=\"%.1f\" y=\"%.1f\">", k->x - k->w / 2 + 7,
                      k->y - k->h / 2 + LINE_HIGH * (j + 1));
        xml(b, text->at + start[j], length[j]);
        strbuf_str(b, "</text>\n");
    }
}

void tell_svg(const told *t, strbuf *b)
{
    picture p;
    strbuf text;
    open_picture(&p, t);
    strbuf_init(&text, t->m);
    size_t n = p.txns.n;
    box *boxes = mem_array0(t->m, box, n + 1);
    double widest = 120, highest = 40;
    for (size_t i = 0; i < n; i++) {
        size_t start[BOX_LINES], length[BOX_LINES], longest = 0;
        box_text(&p, i, &text);
        uint32_t lines = box_lines(&text, start, length);
        for (uint32_t j = 0; j < lines; j++)
            if (length[j] > longest) longest = length[j];
        boxes[i].w = (double)longest * GLYPH + 16;
        boxes[i].h = lines * LINE_HIGH + 10;
        if (boxes[i].w > widest) widest = boxes[i].w;
        if (boxes[i].h > highest) highest = boxes[i].h;
    }
    double rx = n < 2 ? 0 : widest * 0.75 + 20.0 * (double)n,
           ry = n < 2 ? 0 : highest + 30.0 * (double)n;
    double width = 2 * rx + widest + 60, height = 2 * ry + highest + 110;
    for (size_t i = 0; i < n; i++) {
        double angle = 2 * PI * (double)i / (double)(n ? n : 1) - (n == 2 ? PI : PI / 2);
        double cosine, sine;
        turn(angle, &cosine, &sine);
        boxes[i].x = width / 2 + rx * cosine;
        boxes[i].y = 40 + (height - 40) / 2 + ry * sine;
    }
    strbuf_printf(b,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                  "viewBox=\"0 0 %.0f %.0f\" font-family=\"monospace\" font-size=\"11\">\n<defs>\n",
                  width, height, width, height);
    static const char *const kinds[] = {"so", "rt", "wr", "ww", "rw"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        drawn d = {.edge = kinds[i]};
        strbuf_printf(b,
                      "<marker id=\"%s\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" "
                      "markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\">"
                      "<path d=\"M0 0 L10 5 L0 10 z\" fill=\"%s\"/></marker>\n",
                      kinds[i], colour_of(&d));
    }
    strbuf_str(b, "</defs>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
                  "<text x=\"20\" y=\"25\" font-size=\"13\">");
    text.n = 0;
    title(t, &text);
    xml(b, text.at, text.n);
    strbuf_str(b, "</text>\n");
    for (size_t i = 0; i < p.edges.n; i++) {
        const drawn *d = &p.edges.at[i];
        size_t from = box_of(&p, d->from), to = box_of(&p, d->to);
        double bend = 40;
        for (size_t j = 0; j < i; j++) /* one more between the same two */
            if (p.edges.at[j].from == d->from && p.edges.at[j].to == d->to) bend += 30;
        draw_edge(&p, d, &boxes[from], &boxes[to], bend, b);
    }
    for (size_t i = 0; i < n; i++) draw_box(&p, i, &boxes[i], &text, b);
    strbuf_str(b, "</svg>\n");
    mem_put(t->m, boxes);
    strbuf_free(&text);
    close_picture(&p);
}
