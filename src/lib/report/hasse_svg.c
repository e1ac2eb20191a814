/*
 * hasse_svg.c - a Hasse diagram as a picture: layers, strongest on top, edges that cross no box.
 *
 * A node's layer is the longest way down from it.  An edge that passes a layer gets a place in it,
 * so it goes between the boxes.  Within a layer everything stands by the average of its neighbours,
 * in a few sweeps down and up.  The diagrams are small; nothing here is clever.
 */
#include <string.h>

#include "report/synth_report.h"

enum { CHARACTER = 8, MARGIN = 20, BOX = 32, LAYER = 84, GAP = 28, BEND = 8, SWEEPS = 13 };
#define NO_NODE SIZE_MAX

/* A place of the diagram: a node's box, or where an edge passes a layer. */
typedef struct spot {
    size_t node; /* or NO_NODE */
    size_t layer;
    double order, x, width;
} spot;

typedef struct passage {
    size_t up, down; /* spots in neighbouring layers */
    bool dashed;
} passage;

typedef struct diagram {
    const hasse *h;
    spot *spot;
    size_t n_spots, n_links, layers;
    passage *link;
} diagram;

static void find_layers(diagram *p)
{
    const hasse *h = p->h;
    for (size_t round = 0; round < h->n; round++)
        for (size_t e = 0; e < h->n_edges; e++) {
            size_t least = p->spot[h->edge[e].weak].layer + 1;
            if (p->spot[h->edge[e].strong].layer < least) p->spot[h->edge[e].strong].layer = least;
        }
    for (size_t i = 0; i < h->n; i++)
        if (p->spot[i].layer >= p->layers) p->layers = p->spot[i].layer + 1;
}

static void build_diagram(diagram *p, mem *m)
{
    const hasse *h = p->h;
    size_t most = h->n + h->n_edges * (h->n + 1);
    p->spot = mem_array0(m, spot, most + 1);
    p->link = mem_array0(m, passage, h->n_edges * (h->n + 1) + 1);
    for (size_t i = 0; i < h->n; i++)
        p->spot[i] = (spot){.node = i, .width = (double)(strlen(h->label[i]) * CHARACTER + 24)};
    p->n_spots = h->n;
    find_layers(p);
    for (size_t e = 0; e < h->n_edges; e++) {
        size_t up = h->edge[e].strong, down = h->edge[e].weak;
        for (size_t k = p->spot[up].layer - 1; k > p->spot[down].layer; k--) {
            p->spot[p->n_spots] = (spot){.node = NO_NODE, .layer = k, .width = BEND};
            p->link[p->n_links++] = (passage){up, p->n_spots, h->edge[e].dashed};
            up = p->n_spots++;
        }
        p->link[p->n_links++] = (passage){up, down, h->edge[e].dashed};
    }
    for (size_t i = 0; i < p->n_spots; i++) p->spot[i].order = (double)i;
}

/* Side by side in the order of `order`, the layer centred on 0. */
static void set_layer(diagram *p, size_t k)
{
    double total = 0, x, last = -1e18;
    size_t many = 0;
    for (size_t i = 0; i < p->n_spots; i++)
        if (p->spot[i].layer == k) total += p->spot[i].width, many++;
    x = -(total + (double)GAP * (double)(many ? many - 1 : 0)) / 2;
    for (size_t placed = 0; placed < many; placed++) {
        size_t next = NO_NODE;
        for (size_t i = 0; i < p->n_spots; i++)
            if (p->spot[i].layer == k && p->spot[i].order > last &&
                (next == NO_NODE || p->spot[i].order < p->spot[next].order))
                next = i;
        if (next == NO_NODE) break;
        last = p->spot[next].order;
        p->spot[next].x = x + p->spot[next].width / 2;
        x += p->spot[next].width + GAP;
    }
}

/* The average of the neighbours above or below; among equals the order stays. */
static void average_layer(diagram *p, size_t k, bool above)
{
    for (size_t i = 0; i < p->n_spots; i++) {
        double sum = 0, many = 0;
        if (p->spot[i].layer != k) continue;
        for (size_t e = 0; e < p->n_links; e++) {
            size_t mine = above ? p->link[e].down : p->link[e].up;
            size_t other = above ? p->link[e].up : p->link[e].down;
            if (mine == i) sum += p->spot[other].x, many += 1;
        }
        p->spot[i].order = (many > 0 ? sum / many : p->spot[i].x) + 1e-6 * p->spot[i].x;
    }
    set_layer(p, k);
}

static void place(diagram *p)
{
    for (size_t k = 0; k < p->layers; k++) set_layer(p, k);
    for (int s = 0; s < SWEEPS; s++)
        for (size_t k = 0; k < p->layers; k++)
            average_layer(p, s % 2 ? k : p->layers - 1 - k, s % 2 == 0);
}

static void svg_text(strbuf *b, const char *s)
{
    for (; *s; s++) {
        if (*s == '<')
            strbuf_str(b, "&lt;");
        else if (*s == '>')
            strbuf_str(b, "&gt;");
        else if (*s == '&')
            strbuf_str(b, "&amp;");
        else
            strbuf_char(b, (unsigned char)*s < 0x20 ? '?' : *s);
    }
}

static double middle(const diagram *p, const spot *s)
{
    return MARGIN + (double)(p->layers - 1 - s->layer) * LAYER + BOX / 2.0;
}

/* From the middle to the outermost box. */
static double half_width(const diagram *p)
{
    double half = 0;
    for (size_t i = 0; i < p->n_spots; i++) {
        double x = p->spot[i].x, right = (x < 0 ? -x : x) + p->spot[i].width / 2;
        if (right > half) half = right;
    }
    return half;
}

static void draw(const diagram *p, strbuf *out)
{
    double half = half_width(p);
    double middle_x = half + MARGIN, height = (double)(p->layers - 1) * LAYER + BOX + 2 * MARGIN;
    strbuf_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                  "font-family=\"monospace\" font-size=\"13\">\n"
                  "<title>levels, stronger above weaker; dashed: up to the scope</title>\n"
                  "<g stroke=\"#555\" stroke-width=\"1.5\">\n",
                  2 * middle_x, height);
    for (size_t e = 0; e < p->n_links; e++) {
        const spot *a = &p->spot[p->link[e].up], *b = &p->spot[p->link[e].down];
        strbuf_printf(out, "<line x1=\"%.0f\" y1=\"%.0f\" x2=\"%.0f\" y2=\"%.0f\"%s/>\n",
                      a->x + middle_x, middle(p, a) + (a->node == NO_NODE ? 0 : BOX / 2.0),
                      b->x + middle_x, middle(p, b) - (b->node == NO_NODE ? 0 : BOX / 2.0),
                      p->link[e].dashed ? " stroke-dasharray=\"5 4\"" : "");
    }
    strbuf_str(out, "</g>\n<g fill=\"#f4f4f4\" stroke=\"#222\">\n");
    for (size_t i = 0; i < p->h->n; i++)
        strbuf_printf(out, "<rect x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%d\" rx=\"5\"/>\n",
                      p->spot[i].x + middle_x - p->spot[i].width / 2,
                      middle(p, &p->spot[i]) - BOX / 2.0, p->spot[i].width, BOX);
    strbuf_str(out, "</g>\n<g text-anchor=\"middle\">\n");
    for (size_t i = 0; i < p->h->n; i++) {
        strbuf_printf(out, "<text x=\"%.0f\" y=\"%.0f\">", p->spot[i].x + middle_x,
                      middle(p, &p->spot[i]) + 5);
        svg_text(out, p->h->label[i]);
        strbuf_str(out, "</text>\n");
    }
    strbuf_str(out, "</g>\n</svg>\n");
}

void report_hasse(strbuf *b, const hasse *h)
{
    diagram p = {.h = h};
    build_diagram(&p, b->mem);
    place(&p);
    draw(&p, b);
}

static double line_end(const diagram *p, const spot *s, double off)
{
    return middle(p, s) + (s->node == NO_NODE ? 0 : off);
}

void report_hasse_places(json_writer *w, const hasse *h, mem *m)
{
    diagram p = {.h = h};
    build_diagram(&p, m);
    place(&p);
    double middle_x = half_width(&p) + MARGIN;
    jw_member_decimal(w, "width", 2 * middle_x, 0);
    jw_member_decimal(w, "height", (double)(p.layers - 1) * LAYER + BOX + 2 * MARGIN, 0);
    jw_member_array(w, "boxes");
    for (size_t i = 0; i < h->n; i++) {
        jw_array(w);
        jw_decimal(w, p.spot[i].x + middle_x - p.spot[i].width / 2, 0);
        jw_decimal(w, middle(&p, &p.spot[i]) - BOX / 2.0, 0);
        jw_decimal(w, p.spot[i].width, 0);
        jw_u64(w, BOX);
        jw_text(w, h->label[i]);
        jw_end_array(w);
    }
    jw_end_array(w);
    jw_member_array(w, "edges");
    for (size_t e = 0; e < p.n_links; e++) {
        const spot *a = &p.spot[p.link[e].up], *b = &p.spot[p.link[e].down];
        jw_array(w);
        jw_decimal(w, a->x + middle_x, 0);
        jw_decimal(w, line_end(&p, a, BOX / 2.0), 0);
        jw_decimal(w, b->x + middle_x, 0);
        jw_decimal(w, line_end(&p, b, -BOX / 2.0), 0);
        jw_end_array(w);
    }
    jw_end_array(w);
}
