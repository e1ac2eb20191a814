/*
 * picture.h - transactions as boxes in lanes, a row for each session, and the edges between them.
 *
 * A maker fills in lanes, boxes, lines, edges and marks (picture_told.c does so for explanations);
 * picture_layout gives everything its place, and the writers (SVG, TikZ, the JSON of the page) only
 * draw.  So there is one layout, whoever draws it.
 *
 * Across, boxes stand at their real times if all of them have times, and else in the order that is
 * known.  The axis keeps the order of instants and is not to scale: a box is as wide as its text
 * needs.  Rows of boxes alternate with channels; edges run in the channels, each on a track of its
 * own, and pass a row only between boxes.  A label stands above its track or beside its line, and
 * nothing else crosses it if there is room anywhere.
 *
 * Units are pixels, y grows downwards.  All texts are plain, without control characters.
 */
#ifndef RATEL_REPORT_PICTURE_H
#define RATEL_REPORT_PICTURE_H

#include "base/json_writer.h"
#include "base/strbuf.h"

enum picture_edge_kind {
    PICTURE_SO,
    PICTURE_RT,
    PICTURE_WR,
    PICTURE_WW,
    PICTURE_RW,
    PICTURE_VIS, /* what follows is only in pictures of what synth found */
    PICTURE_AR,
    PICTURE_KINDS
};
enum picture_status { PICTURE_COMMITTED, PICTURE_ABORTED, PICTURE_UNKNOWN };

typedef struct picture_point {
    double x, y;
} picture_point;

typedef struct picture_lane {
    char *name;
    double y, h; /* of all its rows */
} picture_lane;

typedef struct picture_box {
    char *name;
    char *place; /* the server it ran on, or NULL */
    uint32_t lane;
    uint32_t id;        /* the maker's */
    uint8_t status;     /* enum picture_status */
    bool matters;       /* the others are the neighbourhood */
    bool timed, open;   /* begin and end are times; open: nobody knows the end */
    int64_t begin, end; /* times; else the place in the order that is known */
    uint32_t first, n;  /* lines */
    uint32_t hidden;    /* operations that have no line */
    uint32_t row;       /* made by the layout, as all that follows */
    double x, y, w, h;
} picture_box;

typedef struct picture_line {
    char *text;
    bool aside; /* a note, not an operation */
} picture_line;

typedef struct picture_edge {
    uint32_t from, to; /* boxes */
    uint8_t kind;      /* enum picture_edge_kind */
    bool inferred;     /* it follows from an inference or an assumption, not from a fact alone */
    uint32_t place;    /* the case that it belongs to, from 0 */
    char *label;
    uint32_t first, n; /* points, made by the layout: a line with right angles */
    double x, y, w;    /* the label: its left top corner and width; the height is PICTURE_LABEL */
} picture_edge;

typedef struct picture_mark { /* something that happened to all: a fault */
    int64_t at;
    char *text;
    double x;
} picture_mark;

typedef struct picture_tick {
    int64_t at;
    double x;
} picture_tick;

typedef struct picture {
    mem *m;
    char *title;
    bool timed; /* boxes stand at their times; else in an order */
    VEC(picture_lane) lanes;
    VEC(picture_box) boxes;
    VEC(picture_line) lines;
    VEC(picture_edge) edges;
    VEC(picture_mark) marks;
    size_t left_out; /* transactions that matter and have no box: there are too many */
    uint32_t cases;  /* of the edges; below 2: there are none to tell apart */
    /* made by the layout */
    VEC(picture_point) points;
    VEC(picture_tick) ticks;
    double width, height; /* of lanes and channels: without title, axis and legend */
    double gutter;        /* the names of the lanes stand left of this */
} picture;

#define PICTURE_FONT 12.0  /* size of the text */
#define PICTURE_GLYPH 7.23 /* width of a character of a monospaced font of that size */
#define PICTURE_LINE 16.0  /* distance of lines */
#define PICTURE_LABEL 17.0 /* height of a label */
#define PICTURE_PAD 8.0    /* between the border of a box and its text */

void picture_init(picture *p, mem *m);
/* A copy of the text that lives as long as the picture. */
char *picture_text(picture *p, const char *s, size_t n);
void picture_layout(picture *p);
/* picture_route.c: the second half of the layout: edges, and the heights of the channels. */
void picture_route(picture *p, uint32_t rows);
/* The columns that a text takes: characters of East Asian scripts take two. */
size_t picture_columns(const char *s, size_t n);

const char *picture_edge_name(unsigned kind);    /* "so", "rt", "wr", "ww", "rw", ... */
const char *picture_edge_meaning(unsigned kind); /* for a legend */
const char *picture_edge_colour(unsigned kind);  /* #rrggbb, apart for the colour-blind too */

void picture_svg(const picture *p, strbuf *b);
void picture_tikz(const picture *p, strbuf *b);
/* The members of a JSON object: boxes, edges and their places (doc/schema/page.json). */
void picture_json(const picture *p, json_writer *w);

#endif
