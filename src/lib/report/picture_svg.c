/*
 * picture_svg.c - a picture as SVG: title, lanes, edges, boxes, axis, legend, nothing around them.
 */
#include <stdio.h>

#include "report/picture.h"

enum { MARGIN = 14, TITLE = 22, ROUND = 6 };

static void xml_text(strbuf *b, const char *s, size_t n)
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

static void text_at(strbuf *b, double x, double y, const char *more, const char *s)
{
    strbuf_printf(b, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, more);
    xml_text(b, s, strlen(s));
    strbuf_str(b, "</text>\n");
}

/* A line with right angles, its corners round. */
static void edge_path(const picture *p, const picture_edge *d, strbuf *b)
{
    const picture_point *at = p->points.at + d->first;
    strbuf_printf(b, "M%.1f %.1f", at[0].x, at[0].y);
    for (uint32_t i = 1; i + 1 < d->n; i++) {
        double bx = at[i - 1].x - at[i].x, by = at[i - 1].y - at[i].y;
        double ax = at[i + 1].x - at[i].x, ay = at[i + 1].y - at[i].y;
        double before = (bx < 0 ? -bx : bx) + (by < 0 ? -by : by);
        double after = (ax < 0 ? -ax : ax) + (ay < 0 ? -ay : ay);
        double r = ROUND;
        if (before / 2 < r) r = before / 2;
        if (after / 2 < r) r = after / 2;
        strbuf_printf(b, "L%.1f %.1fQ%.1f %.1f %.1f %.1f", at[i].x + bx / before * r,
                      at[i].y + by / before * r, at[i].x, at[i].y, at[i].x + ax / after * r,
                      at[i].y + ay / after * r);
    }
    strbuf_printf(b, "L%.1f %.1f", at[d->n - 1].x, at[d->n - 1].y);
}

static void draw_edge(const picture *p, const picture_edge *d, strbuf *b)
{
    const char *colour = picture_edge_colour(d->kind);
    strbuf_str(b, "<path d=\"");
    edge_path(p, d, b);
    strbuf_printf(
        b, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.7\"%s marker-end=\"url(#%s)\"/>\n",
        colour, d->inferred ? " stroke-dasharray=\"6 4\"" : "", picture_edge_name(d->kind));
}

static void draw_label(const picture_edge *d, strbuf *b)
{
    const char *colour = picture_edge_colour(d->kind);
    strbuf_printf(b,
                  "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.0f\" rx=\"4\" "
                  "fill=\"white\" stroke=\"%s\" stroke-opacity=\"0.45\"/>\n",
                  d->x, d->y, d->w, PICTURE_LABEL, colour);
    strbuf_printf(b, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"11\" fill=\"%s\">", d->x + 6,
                  d->y + 12.5, colour);
    xml_text(b, d->label, strlen(d->label));
    strbuf_str(b, "</text>\n");
}

static void draw_box(const picture *p, const picture_box *k, strbuf *b)
{
    static const char *const words[] = {"", "aborted", "unknown"};
    double y = k->y + PICTURE_LINE - 1;
    strbuf_printf(b,
                  "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"5\" "
                  "fill=\"%s\" stroke=\"%s\" stroke-width=\"%s\"%s/>\n",
                  k->x, k->y, k->w, k->h, k->matters ? "#fdfbf3" : "#f4f5f7",
                  k->matters ? "#3d434b" : "#b6bcc6", k->matters ? "1.2" : "1",
                  k->status == PICTURE_COMMITTED ? "" : " stroke-dasharray=\"4 3\"");
    text_at(b, k->x + PICTURE_PAD, y, " font-weight=\"bold\"", k->name);
    double after = k->x + PICTURE_PAD +
                   (double)picture_columns(k->name, strlen(k->name)) * PICTURE_GLYPH * 1.05 + 8;
    if (k->place) text_at(b, after, y, " fill=\"#6b7280\"", k->place);
    if (k->status != PICTURE_COMMITTED)
        text_at(b, k->x + k->w - PICTURE_PAD, y, " fill=\"#9a3412\" text-anchor=\"end\"",
                words[k->status]);
    for (uint32_t i = 0; i < k->n; i++) {
        const picture_line *l = &p->lines.at[k->first + i];
        y += PICTURE_LINE;
        text_at(b, k->x + PICTURE_PAD, y, l->aside ? " fill=\"#6b7280\" font-style=\"italic\"" : "",
                l->text);
    }
    if (!k->hidden) return;
    char more[48];
    snprintf(more, sizeof more, "%s%u more", k->n ? "... " : "", (unsigned)k->hidden);
    text_at(b, k->x + PICTURE_PAD, y + PICTURE_LINE, " fill=\"#6b7280\"", more);
}

static void draw_lanes(const picture *p, double right, strbuf *b)
{
    for (size_t i = 0; i < p->lanes.n; i++) {
        const picture_lane *l = &p->lanes.at[i];
        strbuf_printf(b,
                      "<rect x=\"0\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"6\" "
                      "fill=\"#eef1f5\"/>\n",
                      l->y - 5, right, l->h + 10);
        text_at(b, 8, l->y + PICTURE_LINE - 1, " fill=\"#4b5563\"", l->name);
    }
}

static void draw_marks(const picture *p, strbuf *b)
{
    for (size_t i = 0; i < p->marks.n; i++) {
        const picture_mark *k = &p->marks.at[i];
        strbuf_printf(b,
                      "<path d=\"M%.1f -4V%.1f\" stroke=\"#9a3412\" stroke-dasharray=\"2 3\"/>\n",
                      k->x, p->height);
        text_at(b, k->x + 4, 6, " font-size=\"10\" fill=\"#9a3412\"", k->text);
    }
}

/* The axis under the lanes; returns how much room it took. */
static double draw_axis(const picture *p, strbuf *b)
{
    double y = p->height + 4, free_from = -1e9;
    strbuf_printf(b, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#9aa1ab\"/>\n", p->gutter, y, p->width);
    text_at(b, 8, y + 14, " font-size=\"10\" fill=\"#6b7280\"", p->timed ? "time" : "order");
    for (size_t i = 0; i < p->ticks.n; i++) {
        const picture_tick *t = &p->ticks.at[i];
        char text[32];
        snprintf(text, sizeof text, "%lld", (long long)t->at);
        double w = (double)strlen(text) * 6.1;
        strbuf_printf(b, "<path d=\"M%.1f %.1fv4\" stroke=\"#9aa1ab\"/>\n", t->x, y);
        if (t->x - w / 2 < free_from || t->x - w / 2 < p->gutter - 8) continue;
        free_from = t->x + w / 2 + 8;
        text_at(b, t->x, y + 15, " font-size=\"10\" fill=\"#6b7280\" text-anchor=\"middle\"", text);
    }
    if (p->left_out) {
        char more[64];
        snprintf(more, sizeof more, "%zu more transactions are not drawn", p->left_out);
        text_at(b, p->gutter, y + 30, " font-size=\"10\" fill=\"#9a3412\"", more);
    }
    if (!p->timed)
        text_at(b, p->gutter, y + 14, " font-size=\"10\" fill=\"#6b7280\"",
                "no times: ordered from left to right as far as sessions and reads show");
    return p->left_out ? 42 : 26;
}

/* Which kinds of edges there are, and whether one is inferred. */
static unsigned kinds_of(const picture *p, bool *inferred)
{
    unsigned kinds = 0;
    *inferred = false;
    for (size_t i = 0; i < p->edges.n; i++) {
        kinds |= 1u << p->edges.at[i].kind;
        *inferred = *inferred || p->edges.at[i].inferred;
    }
    return kinds;
}

typedef struct legend {
    double x, y, right;
} legend;

static void legend_item(legend *l, strbuf *b, const char *colour, bool dashed, const char *name,
                        const char *meaning)
{
    double w = 34 + (double)(strlen(name) + strlen(meaning) + 2) * 6.3;
    if (l->x > 0 && l->x + w > l->right) {
        l->x = 0;
        l->y += 18;
    }
    strbuf_printf(b,
                  "<path d=\"M%.1f %.1fh22\" stroke=\"%s\" stroke-width=\"1.7\"%s/>\n"
                  "<text x=\"%.1f\" y=\"%.1f\" font-size=\"10.5\" fill=\"#4b5563\">%s%s%s</text>\n",
                  l->x, l->y, colour, dashed ? " stroke-dasharray=\"6 4\"" : "", l->x + 28,
                  l->y + 3.5, name, *name ? ": " : "", meaning);
    l->x += w;
}

static double draw_legend(const picture *p, double y, double right, strbuf *b)
{
    bool inferred;
    unsigned kinds = kinds_of(p, &inferred);
    legend l = {0, y, right};
    for (unsigned k = 0; k < PICTURE_KINDS; k++)
        if (kinds >> k & 1)
            legend_item(&l, b, picture_edge_colour(k), false, picture_edge_name(k),
                        picture_edge_meaning(k));
    if (inferred) legend_item(&l, b, "#5f6670", true, "", "inferred or assumed");
    if (p->cases > 1) {
        char cases[48];
        snprintf(cases, sizeof cases, p->cases == 2 ? "1, 2: the case" : "1 to %u: the case",
                 (unsigned)p->cases);
        double w = (double)strlen(cases) * 6.3;
        if (l.x > 0 && l.x + w > right) l = (legend){0, l.y + 18, right};
        text_at(b, l.x, l.y + 3.5, " font-size=\"10.5\" fill=\"#4b5563\"", cases);
        l.x += w;
    }
    return l.x > 0 || l.y > y ? l.y - y + 16 : 0;
}

/* The title, folded to the width; returns its height. */
static double draw_title(const picture *p, double width, strbuf *b)
{
    size_t n = p->title ? strlen(p->title) : 0, columns = (size_t)(width / 8.2);
    double y = 0;
    for (size_t at = 0; at < n;) {
        size_t end = n - at > columns ? at + columns : n;
        if (end < n) {
            size_t space = end;
            while (space > at + columns / 2 && p->title[space] != ' ') space--;
            if (p->title[space] == ' ') end = space;
            while (end > at + 1 && ((unsigned char)p->title[end] & 0xc0) == 0x80) end--;
        }
        y += TITLE - 2;
        strbuf_printf(b, "<text x=\"0\" y=\"%.1f\" font-size=\"13.5\" font-weight=\"bold\">",
                      y - 5);
        xml_text(b, p->title + at, end - at);
        strbuf_str(b, "</text>\n");
        at = end < n && p->title[end] == ' ' ? end + 1 : end;
    }
    return y > 0 ? y + 4 : 0;
}

static void draw_markers(const picture *p, strbuf *b)
{
    bool inferred;
    unsigned kinds = kinds_of(p, &inferred);
    strbuf_str(b, "<defs>\n");
    for (unsigned k = 0; k < PICTURE_KINDS; k++) {
        if (k > PICTURE_RW && !(kinds >> k & 1)) continue;
        strbuf_printf(b,
                      "<marker id=\"%s\" viewBox=\"0 0 10 10\" refX=\"9.2\" refY=\"5\" "
                      "markerWidth=\"6\" markerHeight=\"6\" orient=\"auto\">"
                      "<path d=\"M0 0.6L10 5L0 9.4z\" fill=\"%s\"/></marker>\n",
                      picture_edge_name(k), picture_edge_colour(k));
    }
    strbuf_str(b, "</defs>\n");
}

void picture_svg(const picture *p, strbuf *b)
{
    strbuf head, body, foot;
    double width = p->width < 430 ? 430 : p->width;
    strbuf_init(&head, p->m);
    strbuf_init(&body, p->m);
    strbuf_init(&foot, p->m);
    double top = draw_title(p, width, &head);
    draw_lanes(p, p->width, &body);
    draw_marks(p, &body);
    for (size_t i = 0; i < p->edges.n; i++) draw_edge(p, &p->edges.at[i], &body);
    for (size_t i = 0; i < p->boxes.n; i++) draw_box(p, &p->boxes.at[i], &body);
    for (size_t i = 0; i < p->edges.n; i++) draw_label(&p->edges.at[i], &body);
    double below = p->boxes.n ? draw_axis(p, &body) : 0;
    double legend_high = draw_legend(p, top + p->height + below + 10, width, &foot);
    double high = top + p->height + below + (legend_high > 0 ? legend_high + 4 : 0);
    strbuf_printf(b,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                  "viewBox=\"%d %d %.0f %.0f\" font-family=\"ui-monospace, 'DejaVu Sans Mono', "
                  "Menlo, Consolas, monospace\" font-size=\"%.0f\" fill=\"#1f2328\">\n",
                  width + 2 * MARGIN, high + 2 * MARGIN, -MARGIN, -MARGIN, width + 2 * MARGIN,
                  high + 2 * MARGIN, PICTURE_FONT);
    draw_markers(p, b);
    strbuf_printf(b, "<rect x=\"%d\" y=\"%d\" width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
                  -MARGIN, -MARGIN);
    strbuf_add(b, head.at, head.n);
    strbuf_printf(b, "<g transform=\"translate(0 %.1f)\">\n", top);
    strbuf_add(b, body.at, body.n);
    strbuf_str(b, "</g>\n");
    strbuf_add(b, foot.at, foot.n);
    strbuf_str(b, "</svg>\n");
    strbuf_free(&foot);
    strbuf_free(&body);
    strbuf_free(&head);
}
