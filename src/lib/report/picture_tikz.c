/*
 * picture_tikz.c - a picture as a TikZ picture for papers, with the layout of the SVG.
 *
 * One unit is one pixel of the SVG, set to 0.75 pt.  It needs the package tikz and nothing of its
 * libraries.  Every character that TeX gives a meaning is escaped.
 */
#include <stdio.h>

#include "report/picture.h"

static void tex_text(strbuf *b, const char *s)
{
    for (; *s; s++) {
        switch (*s) {
        case '\\': strbuf_str(b, "\\textbackslash{}"); break;
        case '~': strbuf_str(b, "\\textasciitilde{}"); break;
        case '^': strbuf_str(b, "\\textasciicircum{}"); break;
        case '<': strbuf_str(b, "\\textless{}"); break;
        case '>': strbuf_str(b, "\\textgreater{}"); break;
        case '"': strbuf_str(b, "\\textquotedbl{}"); break;
        case '{':
        case '}':
        case '$':
        case '&':
        case '#':
        case '_':
        case '%':
            strbuf_char(b, '\\');
            strbuf_char(b, *s);
            break;
        default: strbuf_char(b, *s); break;
        }
    }
}

static void node_at(strbuf *b, double x, double y, const char *style, const char *text)
{
    strbuf_printf(b, "  \\node[t%s] at (%.1f,%.1f) {", style, x, y);
    tex_text(b, text);
    strbuf_str(b, "};\n");
}

static void tikz_box(const picture *p, const picture_box *k, strbuf *b)
{
    static const char *const words[] = {"", "aborted", "unknown"};
    double y = k->y + PICTURE_LINE - 5;
    strbuf_printf(b,
                  "  \\draw[%s, fill=%s, rounded corners=2pt] (%.1f,%.1f) rectangle (%.1f,%.1f);\n",
                  k->status == PICTURE_COMMITTED ? "black!70" : "black!70, dashed",
                  k->matters ? "white" : "black!3", k->x, k->y, k->x + k->w, k->y + k->h);
    node_at(b, k->x + PICTURE_PAD, y, ", font=\\ttfamily\\bfseries\\tiny", k->name);
    if (k->status != PICTURE_COMMITTED)
        node_at(b, k->x + k->w - PICTURE_PAD, y, ", anchor=east", words[k->status]);
    for (uint32_t i = 0; i < k->n; i++) {
        const picture_line *l = &p->lines.at[k->first + i];
        y += PICTURE_LINE;
        node_at(b, k->x + PICTURE_PAD, y, l->aside ? ", text=black!55" : "", l->text);
    }
    if (!k->hidden) return;
    char more[48];
    snprintf(more, sizeof more, "%s%u more", k->n ? "... " : "", (unsigned)k->hidden);
    node_at(b, k->x + PICTURE_PAD, y + PICTURE_LINE, ", text=black!55", more);
}

static void tikz_edge(const picture *p, const picture_edge *d, strbuf *b)
{
    strbuf_printf(b, "  \\draw[->, ratel%s%s, rounded corners=3pt]", picture_edge_name(d->kind),
                  d->inferred ? ", dashed" : "");
    for (uint32_t i = 0; i < d->n; i++) {
        const picture_point *at = &p->points.at[d->first + i];
        strbuf_printf(b, "%s (%.1f,%.1f)", i ? " --" : "", at->x, at->y);
    }
    strbuf_str(b, ";\n");
}

static void tikz_axis(const picture *p, strbuf *b)
{
    double y = p->height + 4, free_from = -1e9;
    strbuf_printf(b, "  \\draw[black!40] (%.1f,%.1f) -- (%.1f,%.1f);\n", p->gutter, y, p->width, y);
    node_at(b, 8, y + 10, ", text=black!55", p->timed ? "time" : "order");
    if (p->left_out) {
        char more[64];
        snprintf(more, sizeof more, "%zu more transactions are not drawn", p->left_out);
        node_at(b, p->gutter, y + 26, ", text=black!55", more);
    }
    for (size_t i = 0; i < p->ticks.n; i++) {
        char text[32];
        const picture_tick *t = &p->ticks.at[i];
        snprintf(text, sizeof text, "%lld", (long long)t->at);
        double w = (double)strlen(text) * PICTURE_GLYPH;
        if (t->x - w / 2 < free_from) continue;
        free_from = t->x + w / 2 + 8;
        node_at(b, t->x, y + 10, ", anchor=center, text=black!55", text);
    }
}

void picture_tikz(const picture *p, strbuf *b)
{
    strbuf_str(b, "% ");
    strbuf_str(b, p->title ? p->title : "");
    strbuf_str(b, "\n% needs \\usepackage{tikz}\n"
                  "\\begin{tikzpicture}[x=0.75pt, y=-0.75pt, "
                  "t/.style={anchor=west, inner sep=0pt, font=\\ttfamily\\tiny}]\n");
    for (unsigned k = 0; k <= PICTURE_RW; k++) {
        const char *c = picture_edge_colour(k) + 1;
        char upper[7] = "";
        for (int i = 0; i < 6; i++)
            upper[i] = (char)(c[i] >= 'a' && c[i] <= 'f' ? c[i] - 'a' + 'A' : c[i]);
        strbuf_printf(b, "  \\definecolor{ratel%s}{HTML}{%s}\n", picture_edge_name(k), upper);
    }
    for (size_t i = 0; i < p->lanes.n; i++) {
        const picture_lane *l = &p->lanes.at[i];
        strbuf_printf(b, "  \\fill[black!6, rounded corners=3pt] (0,%.1f) rectangle (%.1f,%.1f);\n",
                      l->y - 5, p->width, l->y + l->h + 5);
        node_at(b, 8, l->y + PICTURE_LINE - 5, ", text=black!70", l->name);
    }
    for (size_t i = 0; i < p->edges.n; i++) tikz_edge(p, &p->edges.at[i], b);
    for (size_t i = 0; i < p->boxes.n; i++) tikz_box(p, &p->boxes.at[i], b);
    for (size_t i = 0; i < p->edges.n; i++) {
        const picture_edge *d = &p->edges.at[i];
        char style[48];
        snprintf(style, sizeof style, ", text=ratel%s, anchor=center", picture_edge_name(d->kind));
        node_at(b, d->x + d->w / 2, d->y + PICTURE_LABEL / 2, style, d->label);
    }
    if (p->boxes.n) tikz_axis(p, b);
    strbuf_str(b, "\\end{tikzpicture}\n");
}
