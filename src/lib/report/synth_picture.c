/*
 * synth_picture.c - what synth found as a picture: the transactions in lanes, one for each session,
 * in the order of arbitration; who reads from whom, and who is visible to whom.
 *
 * The drawing is that of explanations (picture.h); Graphviz has a layout of its own.
 */
#include <string.h>

#include "report/picture.h"
#include "report/synth_report.h"

typedef struct drawing {
    const synth_answer *r;
    const bool *vis; /* NULL: the level has none */
    picture p;
    strbuf text;
} drawing;

static char *kept_text(drawing *d)
{
    char *s = picture_text(&d->p, d->text.n ? d->text.at : "", d->text.n);
    d->text.n = 0;
    return s;
}

static void put_ops(const synth_answer *r, uint32_t t, uint32_t x, bool write, strbuf *b)
{
    char name[24];
    synth_key_name(x, name, sizeof name);
    strbuf_printf(b, "%c(%s)=%u", write ? 'w' : 'r', name,
                  (unsigned)(write ? t : r->from[(size_t)t * r->keys + x]));
}

static bool has_op(const synth_answer *r, uint32_t t, uint32_t x, bool write)
{
    size_t cell = (size_t)t * r->keys + x;
    return write ? r->writes[cell] : r->from[cell] != SYNTH_NONE_READ;
}

/* Is a visible to b in the witness? */
static bool sees(const drawing *d, uint32_t a, uint32_t b)
{
    return d->vis && d->vis[(size_t)a * (d->r->txns + 1) + b];
}

typedef void (*edge_fn)(drawing *d, unsigned kind, uint32_t from, uint32_t to, const char *key);

/* Edges of the picture: read-from with its keys, visibility, and arbitration between neighbours. */
static void each_edge(drawing *d, edge_fn fn)
{
    const synth_answer *r = d->r;
    char name[24];
    for (uint32_t t = 1; t <= r->txns; t++)
        for (uint32_t x = 0; x < r->keys; x++) {
            uint32_t from = r->from[(size_t)t * r->keys + x];
            if (from == SYNTH_NONE_READ || !from) continue;
            synth_key_name(x, name, sizeof name);
            fn(d, PICTURE_WR, from, t, name);
        }
    for (uint32_t a = 1; a <= r->txns; a++)
        for (uint32_t b = 1; b <= r->txns; b++)
            if (sees(d, a, b)) fn(d, PICTURE_VIS, a, b, "");
    for (uint32_t i = 1; r->witness && i < r->txns; i++)
        fn(d, PICTURE_AR, r->witness[0][i - 1], r->witness[0][i], "");
}

/* --- lanes --- */

static void add_box(drawing *d, uint32_t t, uint32_t rank)
{
    const synth_answer *r = d->r;
    strbuf_printf(&d->text, "t%u", (unsigned)t);
    picture_box box = {.name = kept_text(d),
                       .lane = r->session[t] - 1,
                       .id = t,
                       .matters = true,
                       .begin = 2 * (int64_t)rank,
                       .end = 2 * (int64_t)rank + 1,
                       .first = (uint32_t)d->p.lines.n};
    for (int write = 0; write < 2; write++)
        for (uint32_t x = 0; x < r->keys; x++) {
            if (!has_op(r, t, x, write)) continue;
            put_ops(r, t, x, write, &d->text);
            picture_line line = {.text = kept_text(d)};
            vec_push(d->p.m, &d->p.lines, line);
            box.n++;
        }
    vec_push(d->p.m, &d->p.boxes, box);
}

static void add_picture_edge(drawing *d, unsigned kind, uint32_t from, uint32_t to, const char *key)
{
    strbuf_printf(&d->text, "%s%s%s", picture_edge_name(kind), *key ? " " : "", key);
    uint32_t a = 0, b = 0;
    while (d->p.boxes.at[a].id != from) a++;
    while (d->p.boxes.at[b].id != to) b++;
    picture_edge e = {.from = a, .to = b, .kind = (uint8_t)kind, .label = kept_text(d)};
    vec_push(d->p.m, &d->p.edges, e);
}

static void lay_out(drawing *d, const char *title)
{
    const synth_answer *r = d->r;
    uint32_t sessions = 0;
    d->p.title = picture_text(&d->p, title, strlen(title));
    for (uint32_t t = 1; t <= r->txns; t++)
        if (r->session[t] > sessions) sessions = r->session[t];
    for (uint32_t s = 1; s <= sessions; s++) {
        strbuf_printf(&d->text, "session %u", (unsigned)s);
        picture_lane lane = {.name = kept_text(d)};
        vec_push(d->p.m, &d->p.lanes, lane);
    }
    for (uint32_t i = 0; i < r->txns; i++) add_box(d, r->witness ? r->witness[0][i] : i + 1, i);
    each_edge(d, add_picture_edge);
    picture_layout(&d->p);
}

/* --- Graphviz --- */

static void dot_edge(drawing *d, unsigned kind, uint32_t from, uint32_t to, const char *key)
{
    const char *colour = picture_edge_colour(kind);
    strbuf_printf(&d->text, "  t%u -> t%u [label=\"%s%s%s\", color=\"%s\", fontcolor=\"%s\"];\n",
                  (unsigned)from, (unsigned)to, picture_edge_name(kind), *key ? " " : "", key,
                  colour, colour);
}

static void write_dot(drawing *d, const char *title, strbuf *b)
{
    const synth_answer *r = d->r;
    strbuf_str(b, "digraph history {\n  label=");
    strbuf_json(b, title, strlen(title));
    strbuf_str(b, ";\n  labelloc=t;\n  node [shape=box, fontname=\"monospace\", fontsize=10];\n"
                  "  edge [fontname=\"monospace\", fontsize=10];\n");
    for (uint32_t t = 1; t <= r->txns; t++) {
        strbuf_printf(b, "  t%u [label=\"t%u (session %u):", (unsigned)t, (unsigned)t,
                      (unsigned)r->session[t]);
        for (int write = 0; write < 2; write++)
            for (uint32_t x = 0; x < r->keys; x++) {
                if (!has_op(r, t, x, write)) continue;
                strbuf_char(b, ' ');
                put_ops(r, t, x, write, b);
            }
        strbuf_str(b, "\"];\n");
    }
    each_edge(d, dot_edge);
    strbuf_add(b, d->text.n ? d->text.at : "", d->text.n);
    strbuf_str(b, "}\n");
}

static void put_title(const synth_question *q, strbuf *b)
{
    for (size_t i = 0; i < q->allow.n; i++)
        strbuf_printf(b, "%s%s", i ? ", " : "allowed by ", q->allow.at[i]);
    for (size_t i = 0; i < q->forbid.n; i++)
        strbuf_printf(b, "%s%s",
                      i            ? ", "
                      : q->allow.n ? "; forbidden by "
                                   : "forbidden by ",
                      q->forbid.at[i]);
}

void report_synth_picture(strbuf *b, const char *format, const synth_question *q,
                          const synth_answer *r)
{
    drawing d = {.r = r, .vis = q->allow.n && r->vis ? r->vis[0] : NULL};
    strbuf given, title;
    synth_answer plain = *r;
    if (!q->allow.n) plain.witness = NULL;
    d.r = &plain;
    strbuf_init(&given, b->mem);
    strbuf_init(&title, b->mem);
    put_title(q, &given);
    strbuf_visible(&title, given.n ? given.at : "", given.n);
    picture_init(&d.p, b->mem);
    strbuf_init(&d.text, b->mem);
    if (!strcmp(format, "dot")) {
        write_dot(&d, strbuf_cstr(&title), b);
        return;
    }
    lay_out(&d, strbuf_cstr(&title));
    if (!strcmp(format, "svg"))
        picture_svg(&d.p, b);
    else
        picture_tikz(&d.p, b);
}
