/*
 * picture_tikz.c - a picture as a TikZ picture for papers, with the layout of the SVG.
 *
 * One unit is one pixel of the SVG, set to 0.45 pt, so that \tiny fits the boxes.  It needs the
 * package tikz and nothing of its libraries; pdfLaTeX, XeLaTeX and LuaLaTeX all take it.  Text of a
 * history never has a meaning for TeX.
 */
#include <stdio.h>

#include "report/picture.h"

/* Does plain LaTeX have it, in every encoding of fonts: a letter of Latin 1? */
static bool is_latin(uint32_t c)
{
    return c >= 0xc0 && c <= 0xff && c != 0xd0 && c != 0xd7 && c != 0xde && c != 0xf0 &&
           c != 0xf7 && c != 0xfe;
}

static uint32_t code_of(const char *s, size_t n)
{
    uint32_t c = (unsigned char)*s & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++) c = c << 6 | ((unsigned char)s[i] & 0x3f);
    return c;
}

/* A character with a meaning for TeX stands as the number that it has in every typewriter font;
   what pdfTeX may not know goes through \ratelchar. */
static void tex_text(strbuf *b, const char *s)
{
    char last = 0;
    for (size_t n, left = strlen(s); left; s += n, left -= n) {
        n = utf8_length(s, left);
        /* two hyphens would be set as a dash, and so on */
        if (last && strchr("-,<>?!`'", last) && strchr("-,<>`'", *s)) strbuf_str(b, "\\kern0pt{}");
        last = *s;
        if (n < 2) {
            n = 1;
            if (strchr("\\~^<>\"{}_`'", *s))
                strbuf_printf(b, "{\\char%d}", *s);
            else if (strchr("$&#%", *s))
                strbuf_printf(b, "\\%c", *s);
            else
                strbuf_char(b, *s);
            continue;
        }
        uint32_t code = code_of(s, n);
        if (!is_latin(code)) strbuf_str(b, "\\ratelchar{");
        strbuf_add(b, s, n);
        if (!is_latin(code)) strbuf_printf(b, "}{%04X}", (unsigned)code);
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
    double after = k->x + PICTURE_PAD +
                   (double)picture_columns(k->name, strlen(k->name)) * PICTURE_GLYPH * 1.05 + 8;
    if (k->place) node_at(b, after, y, ", text=black!55", k->place);
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

static void tikz_marks(const picture *p, strbuf *b)
{
    for (size_t i = 0; i < p->marks.n; i++) {
        const picture_mark *k = &p->marks.at[i];
        strbuf_printf(b, "  \\draw[ratelfault, densely dotted] (%.1f,-4.0) -- (%.1f,%.1f);\n", k->x,
                      k->x, p->height);
        node_at(b, k->x + 4, 2, ", text=ratelfault", k->text);
    }
}

typedef struct legend_place {
    double x, y, right;
} legend_place;

static void legend_item(legend_place *l, strbuf *b, const char *style, const char *text)
{
    double w = (double)strlen(text) * PICTURE_GLYPH;
    if (l->x > 0 && l->x + w > l->right) *l = (legend_place){0, l->y + PICTURE_LINE, l->right};
    node_at(b, l->x, l->y, style, text);
    l->x += w + 2 * PICTURE_GLYPH;
}

/* Which colour is which kind, and what a dashed arrow is. */
static void tikz_legend(const picture *p, double y, strbuf *b)
{
    unsigned used = 0;
    bool inferred = false;
    legend_place at = {.y = y, .right = p->width < 330 ? 330 : p->width};
    for (size_t i = 0; i < p->edges.n; i++) {
        used |= 1u << p->edges.at[i].kind;
        inferred = inferred || p->edges.at[i].inferred;
    }
    for (unsigned k = 0; k < PICTURE_KINDS; k++) {
        if (!(used >> k & 1)) continue;
        char text[96], style[48];
        snprintf(text, sizeof text, "%s %s", picture_edge_name(k), picture_edge_meaning(k));
        snprintf(style, sizeof style, ", text=ratel%s", picture_edge_name(k));
        legend_item(&at, b, style, text);
    }
    if (inferred) legend_item(&at, b, ", text=black!55", "dashed: inferred or assumed");
}

void picture_tikz(const picture *p, strbuf *b)
{
    strbuf_str(b, "% ");
    strbuf_str(b, p->title ? p->title : "");
    strbuf_str(b, "\n% needs \\usepackage{tikz}\n"
                  "% \\ratelchar: a character, and its number where pdfTeX has no glyph for it\n"
                  "\\providecommand\\ratelchar[2]{\\ifdefined\\XeTeXversion#1\\else\\ifdefined"
                  "\\directlua#1\\else U+#2\\fi\\fi}%\n"
                  "\\begin{tikzpicture}[x=0.45pt, y=-0.45pt, "
                  "t/.style={anchor=west, inner sep=0pt, font=\\ttfamily\\tiny}]\n");
    for (unsigned k = 0; k < PICTURE_KINDS; k++) {
        const char *c = picture_edge_colour(k) + 1;
        char upper[7] = "";
        for (int i = 0; i < 6; i++)
            upper[i] = (char)(c[i] >= 'a' && c[i] <= 'f' ? c[i] - 'a' + 'A' : c[i]);
        strbuf_printf(b, "  \\definecolor{ratel%s}{HTML}{%s}\n", picture_edge_name(k), upper);
    }
    strbuf_str(b, "  \\definecolor{ratelfault}{HTML}{9A3412}\n");
    for (size_t i = 0; i < p->lanes.n; i++) {
        const picture_lane *l = &p->lanes.at[i];
        strbuf_printf(b, "  \\fill[black!6, rounded corners=3pt] (0,%.1f) rectangle (%.1f,%.1f);\n",
                      l->y - 5, p->width, l->y + l->h + 5);
        node_at(b, 8, l->y + PICTURE_LINE - 5, ", text=black!70", l->name);
    }
    tikz_marks(p, b);
    for (size_t i = 0; i < p->edges.n; i++) tikz_edge(p, &p->edges.at[i], b);
    for (size_t i = 0; i < p->boxes.n; i++) tikz_box(p, &p->boxes.at[i], b);
    for (size_t i = 0; i < p->edges.n; i++) {
        const picture_edge *d = &p->edges.at[i];
        char style[48];
        snprintf(style, sizeof style, ", text=ratel%s, anchor=center", picture_edge_name(d->kind));
        node_at(b, d->x + d->w / 2, d->y + PICTURE_LABEL / 2, style, d->label);
    }
    if (p->boxes.n) tikz_axis(p, b);
    tikz_legend(p, p->height + (p->left_out ? 46 : 30), b);
    strbuf_str(b, "\\end{tikzpicture}\n");
}
