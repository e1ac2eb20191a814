/*
 * picture_layout.c - where the lanes and boxes of a picture stand (picture.h).
 *
 * Across: the instants at which boxes begin and end, in order.  Each instant stands right of the
 * one before it, a little further if more time passed, and far enough right of the beginnings of
 * the boxes that end there for their texts: one walk over the instants places all.
 * Down: a lane has one row, or several if its boxes overlap (clients that disagree with their own
 * order), and picture_route puts channels between the rows.
 */
#include "report/picture.h"

#include "base/sort.h"

void picture_init(picture *p, mem *m)
{
    memset(p, 0, sizeof *p);
    p->m = m;
}

char *picture_text(picture *p, const char *s, size_t n)
{
    char *copy = mem_get(p->m, n + 1);
    if (n) memcpy(copy, s, n);
    copy[n] = 0;
    return copy;
}

/* The code point at s; at least one byte is taken. */
static uint32_t point_at(const char *s, size_t n, size_t *taken)
{
    *taken = utf8_length(s, n);
    if (*taken < 2) {
        *taken = 1;
        return (unsigned char)*s;
    }
    uint32_t c = (unsigned char)*s & (0xffu >> (*taken + 1));
    for (size_t i = 1; i < *taken; i++) c = c << 6 | ((unsigned char)s[i] & 0x3fu);
    return c;
}

size_t picture_columns(const char *s, size_t n)
{
    size_t columns = 0;
    for (size_t i = 0, taken; i < n; i += taken) {
        uint32_t c = point_at(s + i, n - i, &taken);
        bool wide = (c >= 0x1100 && c < 0x1160) || (c >= 0x2e80 && c < 0xa4d0) ||
                    (c >= 0xac00 && c < 0xd7a4) || (c >= 0xf900 && c < 0xfb00) ||
                    (c >= 0xfe30 && c < 0xfe70) || (c >= 0xff00 && c < 0xff61) || c >= 0x1f300;
        columns += wide ? 2 : 1;
    }
    return columns;
}

static const struct {
    const char *name, *meaning, *colour;
} edge_kinds[] = {
    [PICTURE_SO] = {"so", "earlier in the same session", "#5f6670"},
    [PICTURE_RT] = {"rt", "ended before the other began", "#5f6670"},
    [PICTURE_WR] = {"wr", "wrote what the other read", "#0067a5"},
    [PICTURE_WW] = {"ww", "wrote before the other did", "#8a3f9e"},
    [PICTURE_RW] = {"rw", "read what the other replaced", "#c04a00"},
    [PICTURE_VIS] = {"vis", "is visible to the other", "#1b7f4d"},
    [PICTURE_AR] = {"ar", "is arbitrated before the other", "#7a6a00"},
};

const char *picture_edge_name(unsigned kind)
{
    return edge_kinds[kind].name;
}

const char *picture_edge_meaning(unsigned kind)
{
    return edge_kinds[kind].meaning;
}

const char *picture_edge_colour(unsigned kind)
{
    return edge_kinds[kind].colour;
}

/* --- sizes of boxes --------------------------------------------------------------------------- */

static double text_width(const char *s)
{
    return (double)picture_columns(s, strlen(s)) * PICTURE_GLYPH;
}

static void size_box(picture *p, picture_box *k)
{
    /* the name is bold, and the status stands after it */
    double widest = text_width(k->name) * 1.05 + (k->status == PICTURE_COMMITTED ? 0 : 76);
    if (k->place) widest += text_width(k->place) + 14;
    for (uint32_t i = 0; i < k->n; i++) {
        double w = text_width(p->lines.at[k->first + i].text);
        if (w > widest) widest = w;
    }
    uint32_t lines = 1 + k->n + (k->hidden != 0);
    if (k->hidden && widest < 18 * PICTURE_GLYPH) widest = 18 * PICTURE_GLYPH;
    k->w = widest + 2 * PICTURE_PAD;
    if (k->w < 64) k->w = 64;
    k->h = lines * PICTURE_LINE + PICTURE_PAD;
}

/* Three lines and more at one side of a box need room for the labels between them; the labels of
   two can stand outside. */
static void widen_boxes(picture *p)
{
    typedef struct side {
        double sum, widest; /* of the labels */
        uint32_t n;
    } side;
    side *at = mem_array0(p->m, side, 2 * p->boxes.n + 1);
    for (size_t i = 0; i < p->edges.n; i++) {
        picture_edge *d = &p->edges.at[i];
        d->w = (double)picture_columns(d->label, strlen(d->label)) * PICTURE_GLYPH * 0.92 + 12;
        uint32_t from = p->boxes.at[d->from].lane, to = p->boxes.at[d->to].lane;
        side *ends[] = {&at[2 * d->from + (to > from)], &at[2 * d->to + (to < from)]};
        for (int k = 0; k < 2; k++) {
            side *s = ends[k];
            s->sum += d->w + 14;
            s->n++;
            if (d->w > s->widest) s->widest = d->w;
        }
    }
    for (size_t i = 0; i < 2 * p->boxes.n; i++) {
        double need = at[i].sum - at[i].widest + 10;
        if (at[i].n > 2 && need > p->boxes.at[i / 2].w) p->boxes.at[i / 2].w = need;
    }
    mem_put(p->m, at);
}

/* --- lanes ------------------------------------------------------------------------------------ */

static uint32_t lanes_between(uint32_t a, uint32_t b)
{
    return a < b ? b - a : a - b;
}

/* How far edges reach if lane i stands at place[i]. */
static uint64_t reach(const picture *p, const uint32_t *place)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < p->edges.n; i++)
        sum += lanes_between(place[p->boxes.at[p->edges.at[i].from].lane],
                             place[p->boxes.at[p->edges.at[i].to].lane]);
    return sum;
}

/* Sessions have no order among each other: those that have edges between them stand together.
   Pairs of lanes change places as long as that makes edges shorter. */
static void order_lanes(picture *p)
{
    uint32_t n = (uint32_t)p->lanes.n;
    uint32_t *place = mem_array(p->m, uint32_t, n + 1);
    for (uint32_t i = 0; i < n; i++) place[i] = i;
    uint64_t now = reach(p, place);
    for (bool better = n <= 64; better;) {
        better = false;
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t j = i + 1; j < n; j++) {
                uint32_t was = place[i];
                place[i] = place[j];
                place[j] = was;
                uint64_t then = reach(p, place);
                better = better || then < now;
                if (then < now) {
                    now = then;
                    continue;
                }
                place[j] = place[i];
                place[i] = was;
            }
    }
    picture_lane *lanes = mem_array(p->m, picture_lane, n + 1);
    for (uint32_t i = 0; i < n; i++) lanes[place[i]] = p->lanes.at[i];
    for (uint32_t i = 0; i < n; i++) p->lanes.at[i] = lanes[i];
    for (size_t i = 0; i < p->boxes.n; i++) p->boxes.at[i].lane = place[p->boxes.at[i].lane];
    mem_put(p->m, lanes);
    mem_put(p->m, place);
}

/* --- across ----------------------------------------------------------------------------------- */

/* An instant: boxes and marks stand at one.  A box that ends when it begins ends at an instant of
   its own (`late`), or it would have no width. */
typedef struct instant {
    int64_t at;
    bool late;
    double x;
} instant;

typedef struct axis {
    instant *at;
    size_t n;
} axis;

static int by_time(const instant *x, const instant *y)
{
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return (int)x->late - (int)y->late;
}

static size_t instant_of(const axis *a, int64_t at, bool late)
{
    size_t lo = 0, hi = a->n;
    instant want = {at, late, 0};
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (by_time(&a->at[mid], &want) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static int64_t last_time(const picture *p)
{
    int64_t last = INT64_MIN;
    for (size_t i = 0; i < p->boxes.n; i++) {
        if (!p->boxes.at[i].open && p->boxes.at[i].end > last) last = p->boxes.at[i].end;
        if (p->boxes.at[i].begin > last) last = p->boxes.at[i].begin;
    }
    return last;
}

static void gather_instants(picture *p, axis *a)
{
    a->at = mem_array(p->m, instant, 2 * p->boxes.n + p->marks.n + 1);
    a->n = 0;
    for (size_t i = 0; i < p->boxes.n; i++) {
        const picture_box *k = &p->boxes.at[i];
        a->at[a->n++] = (instant){k->begin, false, 0};
        a->at[a->n++] = (instant){k->end, k->end <= k->begin, 0};
    }
    for (size_t i = 0; i < p->marks.n; i++) a->at[a->n++] = (instant){p->marks.at[i].at, false, 0};
    instant *spare = mem_array(p->m, instant, a->n + 1);
#define PRECEDES(x, y) (by_time(&(x), &(y)) < 0)
    SORT_MERGE(instant, a->at, spare, a->n, PRECEDES);
#undef PRECEDES
    mem_put(p->m, spare);
    size_t kept = 0;
    for (size_t i = 0; i < a->n; i++)
        if (!kept || by_time(&a->at[kept - 1], &a->at[i])) a->at[kept++] = a->at[i];
    a->n = kept;
}

/* How far an instant stands right of the one before it: more time, more room, up to a limit. */
static double gap_before(const picture *p, const axis *a, size_t i)
{
    const double least = 10, most = 46;
    if (!p->timed || a->at[i].late) return 14;
    double whole = (double)a->at[a->n - 1].at - (double)a->at[0].at;
    double share = whole > 0 ? ((double)a->at[i].at - (double)a->at[i - 1].at) / whole : 0;
    double gap = least + share * 30.0 * (double)a->n;
    return gap > most ? most : gap;
}

static void place_across(picture *p)
{
    axis a;
    if (!p->boxes.n) return;
    int64_t last = last_time(p);
    for (size_t i = 0; i < p->boxes.n; i++) {
        picture_box *k = &p->boxes.at[i];
        if (k->open || k->end < k->begin) k->end = k->open ? last : k->begin;
    }
    gather_instants(p, &a);
    /* the boxes that end at an instant, as lists through `next` */
    uint32_t *head = mem_array(p->m, uint32_t, a.n), *next = mem_array(p->m, uint32_t, p->boxes.n);
    for (size_t i = 0; i < a.n; i++) head[i] = NO_ID;
    for (uint32_t i = 0; i < p->boxes.n; i++) {
        const picture_box *k = &p->boxes.at[i];
        size_t e = instant_of(&a, k->end, k->end <= k->begin);
        next[i] = head[e];
        head[e] = i;
    }
    for (size_t i = 0; i < a.n; i++) {
        double x = i ? a.at[i - 1].x + gap_before(p, &a, i) : 6;
        for (uint32_t k = head[i]; k != NO_ID; k = next[k]) {
            const picture_box *b = &p->boxes.at[k];
            double begin = a.at[instant_of(&a, b->begin, false)].x;
            if (begin + b->w + 6 > x) x = begin + b->w + 6;
        }
        a.at[i].x = x;
    }
    for (size_t i = 0; i < p->boxes.n; i++) {
        picture_box *k = &p->boxes.at[i];
        k->x = a.at[instant_of(&a, k->begin, false)].x + 3;
        k->w = a.at[instant_of(&a, k->end, k->end <= k->begin)].x - 3 - k->x;
    }
    for (size_t i = 0; i < p->marks.n; i++)
        p->marks.at[i].x = a.at[instant_of(&a, p->marks.at[i].at, false)].x;
    for (size_t i = 0; i < a.n && p->timed; i++)
        if (!a.at[i].late) vec_push(p->m, &p->ticks, ((picture_tick){a.at[i].at, a.at[i].x}));
    p->width = a.at[a.n - 1].x + 6;
    mem_put(p->m, next);
    mem_put(p->m, head);
    mem_put(p->m, a.at);
}

/* --- down ------------------------------------------------------------------------------------- */

static bool stands_before(const picture_box *a, const picture_box *b)
{
    return a->lane != b->lane ? a->lane < b->lane : a->x < b->x;
}

/* Gives every box a row: the first of its lane in which there is room. */
static uint32_t place_rows(picture *p)
{
    size_t n = p->boxes.n;
    uint32_t *order = mem_array(p->m, uint32_t, n + 1), *spare = mem_array(p->m, uint32_t, n + 1);
    double *right = mem_array(p->m, double, n + p->lanes.n + 1);
    uint32_t rows = 0, at = 0;
    for (uint32_t i = 0; i < n; i++) order[i] = i;
#define PRECEDES(a, b) stands_before(&p->boxes.at[a], &p->boxes.at[b])
    SORT_MERGE(uint32_t, order, spare, n, PRECEDES);
#undef PRECEDES
    for (uint32_t lane = 0; lane < p->lanes.n; lane++) {
        uint32_t first = rows++;
        right[first] = -1e9;
        for (; at < n && p->boxes.at[order[at]].lane == lane; at++) {
            picture_box *k = &p->boxes.at[order[at]];
            uint32_t row = first;
            while (row < rows && right[row] > k->x - 1) row++;
            if (row == rows) rows++;
            right[row] = k->x + k->w;
            k->row = row;
        }
    }
    mem_put(p->m, spare);
    mem_put(p->m, right);
    mem_put(p->m, order);
    return rows;
}

void picture_layout(picture *p)
{
    p->gutter = 0;
    for (size_t i = 0; i < p->boxes.n; i++) size_box(p, &p->boxes.at[i]);
    order_lanes(p);
    widen_boxes(p);
    for (size_t i = 0; i < p->lanes.n; i++) {
        double w = text_width(p->lanes.at[i].name) + 18;
        if (w > p->gutter) p->gutter = w;
    }
    place_across(p);
    for (size_t i = 0; i < p->boxes.n; i++) p->boxes.at[i].x += p->gutter;
    for (size_t i = 0; i < p->marks.n; i++) p->marks.at[i].x += p->gutter;
    for (size_t i = 0; i < p->ticks.n; i++) p->ticks.at[i].x += p->gutter;
    p->width += p->gutter;
    uint32_t rows = place_rows(p);
    picture_route(p, rows);
}
