/*
 * picture_route.c - the edges of a picture, and how far its rows are apart (picture.h).
 *
 * Channel c lies above row c, and one more below the last row.  An edge leaves its box up or down
 * at a port, runs along a channel, passes the rows in between where no box stands, and enters the
 * other box at a port.  What it does in one channel is a leg: a horizontal line between two
 * vertical ones.  Legs whose lines or labels would touch get different tracks of the channel, and
 * a channel is as high as its tracks need.
 *
 * Pictures have at most some hundred edges, so pairs of them may be compared.
 */
#include "report/picture.h"

#include "base/sort.h"

enum { TRACK = 25, PORT_GAP = 34, PORT_EDGE = 11, LINE_GAP = 9 };

typedef struct port {
    uint32_t edge, box;
    bool bottom;
    double want, x;
} port;

typedef struct leg {
    uint32_t edge, channel, track;
    double in, out;     /* x of its two vertical lines, in the direction of the edge */
    bool in_up, out_up; /* which lie above the horizontal one, or below it */
    double left, right; /* of the leg with its label */
} leg;

typedef VEC(double) passings; /* where edges pass a row */

typedef struct router {
    picture *p;
    uint32_t rows;
    port *ports; /* two an edge: where it leaves, where it enters */
    VEC(leg) legs;
    uint32_t *first_leg; /* of each edge, and the end */
    passings *passed;    /* of each row */
    double *row_y, *row_h, *channel_y;
    uint32_t *tracks; /* of each channel */
} router;

static double least(double a, double b)
{
    return a < b ? a : b;
}

static double most(double a, double b)
{
    return a > b ? a : b;
}

static double apart(double a, double b)
{
    return a < b ? b - a : a - b;
}

/* --- ports ------------------------------------------------------------------------------------ */

/* Where a port would best be: opposite the other box, or at the near end. */
static double wanted(const picture_box *mine, const picture_box *other)
{
    double lo = most(mine->x, other->x), hi = least(mine->x + mine->w, other->x + other->w);
    if (lo <= hi) return (lo + hi) / 2;
    return other->x > mine->x ? mine->x + mine->w - 24 : mine->x + 24;
}

static void open_ports(router *r)
{
    picture *p = r->p;
    for (uint32_t e = 0; e < p->edges.n; e++) {
        const picture_edge *d = &p->edges.at[e];
        const picture_box *a = &p->boxes.at[d->from], *b = &p->boxes.at[d->to];
        r->ports[2 * e] = (port){e, d->from, b->row > a->row, wanted(a, b), 0};
        r->ports[2 * e + 1] = (port){e, d->to, b->row < a->row, wanted(b, a), 0};
        for (uint32_t i = 0; i < 2; i++) r->ports[2 * e + i].x = r->ports[2 * e + i].want;
    }
}

static bool same_side(const port *a, const port *b)
{
    return a->box == b->box && a->bottom == b->bottom;
}

static double port_clamped(const router *r, const port *k, double x)
{
    const picture_box *b = &r->p->boxes.at[k->box];
    double inset = least(PORT_EDGE, b->w / 4);
    return most(b->x + inset, least(b->x + b->w - inset, x));
}

/* How far the ports of a side should be apart: room for a label, if the box has it. */
static double port_gap(const router *r, size_t of)
{
    const port *a = &r->ports[of];
    const picture_box *k = &r->p->boxes.at[a->box];
    double widest = 0, many = 0;
    for (size_t i = 0; i < 2 * r->p->edges.n; i++) {
        if (!same_side(a, &r->ports[i])) continue;
        many++;
        widest = most(widest, r->p->edges.at[r->ports[i].edge].w);
    }
    double inset = least(PORT_EDGE, k->w / 4);
    return many < 2 ? PORT_GAP
                    : least(many > 2 ? widest + 14 : PORT_GAP, (k->w - 2 * inset) / (many - 1));
}

/* Pushes the ports of each side of a box apart.  Those of one pair of boxes are pushed alike at
   both ends, so that lines between them stay straight. */
static void spread_ports(router *r)
{
    size_t n = 2 * r->p->edges.n;
    double *gaps = mem_array(r->p->m, double, n + 1);
    for (size_t i = 0; i < n; i++) gaps[i] = port_gap(r, i);
    for (int sweep = 0; sweep < 60; sweep++) {
        bool moved = false;
        for (size_t i = 0; i < n; i++)
            for (size_t j = i + 1; j < n; j++) {
                port *a = &r->ports[i], *b = &r->ports[j];
                if (!same_side(a, b)) continue;
                double gap = gaps[i];
                if (apart(a->x, b->x) >= gap - 0.5) continue;
                port *left = a->x <= b->x ? a : b, *right = left == a ? b : a;
                double push = (gap - apart(a->x, b->x)) / 2 + 0.1;
                left->x = port_clamped(r, left, left->x - push);
                right->x = port_clamped(r, right, right->x + push);
                moved = true;
            }
        if (!moved) break;
    }
    for (size_t i = 0; i < n; i++) r->ports[i].x = port_clamped(r, &r->ports[i], r->ports[i].x);
    mem_put(r->p->m, gaps);
}

/* The channel in which a port lies. */
static uint32_t port_channel(const router *r, const port *k)
{
    return r->p->boxes.at[k->box].row + (k->bottom ? 1 : 0);
}

/* Is there another edge's port close to x in the channel? */
static bool port_near(const router *r, uint32_t channel, uint32_t edge, double x)
{
    for (size_t i = 0; i < 2 * r->p->edges.n; i++)
        if (r->ports[i].edge != edge && port_channel(r, &r->ports[i]) == channel &&
            apart(r->ports[i].x, x) < LINE_GAP)
            return true;
    return false;
}

/* Straight lines where that is possible, and no two lines on top of each other. */
static void settle_ports(router *r)
{
    for (uint32_t e = 0; e < r->p->edges.n; e++) {
        port *a = &r->ports[2 * e], *b = &r->ports[2 * e + 1];
        if (apart(a->x, b->x) < 30 && port_clamped(r, b, a->x) == a->x &&
            !port_near(r, port_channel(r, b), e, a->x))
            b->x = a->x;
    }
    for (size_t i = 0; i < 2 * r->p->edges.n; i++) {
        port *k = &r->ports[i];
        uint32_t channel = port_channel(r, k);
        for (int step = 1; step < 16 && port_near(r, channel, k->edge, k->x); step++) {
            double x = k->x + (step % 2 ? step : -step) * (LINE_GAP + 1);
            if (port_clamped(r, k, x) == x) k->x = x;
        }
    }
}

/* --- legs ------------------------------------------------------------------------------------- */

static bool passable(const router *r, uint32_t row, double x)
{
    const picture *p = r->p;
    if (x < p->gutter) return false;
    for (size_t i = 0; i < p->boxes.n; i++) {
        const picture_box *k = &p->boxes.at[i];
        if (k->row == row && x > k->x - 5 && x < k->x + k->w + 5) return false;
    }
    for (size_t i = 0; i < r->passed[row].n; i++)
        if (apart(r->passed[row].at[i], x) < LINE_GAP) return false;
    return true;
}

/* The place nearest to `want` at which an edge can pass the row. */
static double pass_row(router *r, uint32_t row, double want)
{
    picture *p = r->p;
    double best = want, distance = 1e18;
    bool found = passable(r, row, want);
    for (size_t i = 0; !found && i < p->boxes.n; i++) {
        const picture_box *k = &p->boxes.at[i];
        if (k->row != row) continue;
        for (int side = 0; side < 2; side++)
            for (int step = 0; step < 12; step++) {
                double x = side ? k->x + k->w + 6 + step * LINE_GAP : k->x - 6 - step * LINE_GAP;
                if (apart(x, want) >= distance || !passable(r, row, x)) continue;
                best = x;
                distance = apart(x, want);
            }
    }
    if (!found && distance > 1e17) {
        best = p->width + 6;
        while (!passable(r, row, best)) best += LINE_GAP;
    }
    if (best + 8 > p->width) p->width = best + 8;
    vec_push(p->m, &r->passed[row], best);
    return best;
}

static void make_legs(router *r)
{
    picture *p = r->p;
    for (uint32_t e = 0; e < p->edges.n; e++) {
        const port *a = &r->ports[2 * e], *b = &r->ports[2 * e + 1];
        uint32_t from = port_channel(r, a), to = port_channel(r, b);
        leg l = {.edge = e, .in = a->x, .in_up = a->bottom};
        r->first_leg[e] = (uint32_t)r->legs.n;
        while (from != to) {
            bool down = from < to;
            l.channel = from;
            l.out = pass_row(r, down ? from : from - 1, b->x);
            l.out_up = !down;
            vec_push(p->m, &r->legs, l);
            l.in = l.out;
            l.in_up = down;
            from = down ? from + 1 : from - 1;
        }
        l.channel = to;
        l.out = b->x;
        l.out_up = b->bottom;
        vec_push(p->m, &r->legs, l);
    }
    r->first_leg[p->edges.n] = (uint32_t)r->legs.n;
    for (size_t i = 0; i < r->legs.n; i++) {
        leg *l = &r->legs.at[i];
        l->left = least(l->in, l->out) - 4;
        l->right = most(l->in, l->out) + 4;
    }
}

/* --- labels ----------------------------------------------------------------------------------- */

/* How many vertical lines of other edges would cross a label that stands there. */
static uint32_t crossings(const router *r, const leg *of, double left, double right)
{
    uint32_t n = 0;
    for (size_t i = 0; i < r->legs.n; i++) {
        const leg *l = &r->legs.at[i];
        if (l->channel != of->channel || l->edge == of->edge) continue;
        if (l->in > left - 4 && l->in < right + 4) n++;
        if (l->out > left - 4 && l->out < right + 4) n++;
    }
    return n;
}

typedef struct label_place {
    double x;
    uint32_t crossed;
    bool any;
} label_place;

static void try_label(const router *r, const leg *l, double x, double w, label_place *best)
{
    if (best->any && !best->crossed) return;
    if (x < 4) return; /* the names of lanes stand in rows, not in channels */
    uint32_t n = crossings(r, l, x, x + w);
    if (best->any && n >= best->crossed) return;
    *best = (label_place){x, n, true};
}

static void place_label(router *r, uint32_t e)
{
    picture *p = r->p;
    picture_edge *d = &p->edges.at[e];
    leg *longest = &r->legs.at[r->first_leg[e]];
    for (uint32_t i = r->first_leg[e]; i < r->first_leg[e + 1]; i++)
        if (apart(r->legs.at[i].in, r->legs.at[i].out) > apart(longest->in, longest->out))
            longest = &r->legs.at[i];
    double lo = least(longest->in, longest->out), hi = most(longest->in, longest->out);
    double middle = (lo + hi) / 2 - d->w / 2;
    label_place best = {0, 0, false};
    if (hi - lo >= d->w + 14)
        for (double off = 0; off < (hi - lo - d->w) / 2 - 6; off += 8) {
            try_label(r, longest, middle + off, d->w, &best);
            try_label(r, longest, middle - off, d->w, &best);
        }
    try_label(r, longest, hi + 6, d->w, &best);
    try_label(r, longest, lo - 6 - d->w, d->w, &best);
    if (!best.any) best.x = hi + 6;
    d->x = best.x;
    longest->left = least(longest->left, best.x - 3);
    longest->right = most(longest->right, best.x + d->w + 3);
    longest->track = 1; /* marks the leg with the label until tracks are given */
    if (best.x + d->w + 6 > p->width) p->width = best.x + d->w + 6;
}

/* --- tracks and heights ----------------------------------------------------------------------- */

static bool track_free(const router *r, const uint32_t *order, size_t n, const leg *l,
                       uint32_t track)
{
    for (size_t i = 0; i < n; i++) {
        const leg *o = &r->legs.at[order[i]];
        if (o->channel == l->channel && o->track == track && o->left < l->right &&
            l->left < o->right)
            return false;
    }
    return true;
}

static void give_tracks(router *r, uint32_t *labelled)
{
    mem *m = r->p->m;
    size_t n = r->legs.n;
    uint32_t *order = mem_array(m, uint32_t, n + 1), *spare = mem_array(m, uint32_t, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        leg *l = &r->legs.at[i];
        if (l->track) labelled[l->edge] = i;
        l->track = 0;
        order[i] = i;
    }
#define PRECEDES(a, b) (r->legs.at[a].left < r->legs.at[b].left)
    SORT_MERGE(uint32_t, order, spare, n, PRECEDES);
#undef PRECEDES
    for (size_t i = 0; i < n; i++) {
        leg *l = &r->legs.at[order[i]];
        while (!track_free(r, order, i, l, l->track)) l->track++;
        if (l->track >= r->tracks[l->channel]) r->tracks[l->channel] = l->track + 1;
    }
    mem_put(m, spare);
    mem_put(m, order);
}

/* Lines of a that cross b, or its label, if a's track is the upper one. */
static uint32_t crossed_from(const leg *a, const leg *b)
{
    return (uint32_t)(!a->in_up && a->in > b->left && a->in < b->right) +
           (uint32_t)(!a->out_up && a->out > b->left && a->out < b->right) +
           (uint32_t)(b->in_up && b->in > a->left && b->in < a->right) +
           (uint32_t)(b->out_up && b->out > a->left && b->out < a->right);
}

static uint32_t channel_crossings(leg *const *at, size_t n)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (at[i]->track < at[j]->track) sum += crossed_from(at[i], at[j]);
    return sum;
}

static void swap_tracks(leg *const *at, size_t n, uint32_t s, uint32_t t)
{
    for (size_t i = 0; i < n; i++)
        if (at[i]->track == s || at[i]->track == t) at[i]->track ^= s ^ t;
}

/* Tracks change places as long as fewer lines cross then.  A channel with more lines than this is
   left as it is: nobody could follow them anyway. */
enum { ORDERED_LEGS = 48, ORDERED_TRACKS = 16 };

static void order_tracks(router *r, uint32_t channel)
{
    leg *at[ORDERED_LEGS];
    size_t n = 0;
    for (size_t i = 0; i < r->legs.n; i++) {
        if (r->legs.at[i].channel != channel) continue;
        if (n == ORDERED_LEGS) return;
        at[n++] = &r->legs.at[i];
    }
    uint32_t now = channel_crossings(at, n), tracks = r->tracks[channel];
    for (bool better = now > 0 && tracks <= ORDERED_TRACKS; better;) {
        better = false;
        for (uint32_t s = 0; s < tracks; s++)
            for (uint32_t t = s + 1; t < tracks; t++) {
                swap_tracks(at, n, s, t);
                uint32_t then = channel_crossings(at, n);
                if (then >= now) {
                    swap_tracks(at, n, s, t);
                    continue;
                }
                now = then;
                better = true;
            }
    }
}

static void give_heights(router *r)
{
    picture *p = r->p;
    double y = 0;
    uint32_t *lane = mem_array(p->m, uint32_t, r->rows + 1);
    for (uint32_t i = 0; i <= r->rows; i++) lane[i] = NO_ID;
    for (size_t i = 0; i < p->boxes.n; i++) {
        const picture_box *k = &p->boxes.at[i];
        lane[k->row] = k->lane;
        if (k->h > r->row_h[k->row]) r->row_h[k->row] = k->h;
    }
    for (uint32_t c = 0; c <= r->rows; c++) {
        bool inside = c && c < r->rows && lane[c] == lane[c - 1];
        r->channel_y[c] = y;
        y += r->tracks[c] ? r->tracks[c] * TRACK + 16 : inside ? 6 : 12;
        if (c == r->rows) break;
        if (r->row_h[c] <= 0) r->row_h[c] = PICTURE_LINE;
        r->row_y[c] = y;
        y += r->row_h[c];
    }
    p->height = y;
    for (size_t i = 0; i < p->lanes.n; i++) p->lanes.at[i].y = -1;
    for (uint32_t c = 0; c < r->rows; c++) {
        if (lane[c] == NO_ID) continue;
        picture_lane *l = &p->lanes.at[lane[c]];
        if (l->y < 0) l->y = r->row_y[c];
        l->h = r->row_y[c] + r->row_h[c] - l->y;
    }
    for (size_t i = 0; i < p->boxes.n; i++) p->boxes.at[i].y = r->row_y[p->boxes.at[i].row];
    mem_put(p->m, lane);
}

static double track_y(const router *r, const leg *l)
{
    return r->channel_y[l->channel] + (l->track + 1) * TRACK;
}

static void add_point(picture *p, picture_edge *d, double x, double y)
{
    picture_point *last = d->n ? &p->points.at[p->points.n - 1] : NULL;
    if (last && apart(last->x, x) < 0.01 && apart(last->y, y) < 0.01) return;
    if (d->n > 1) { /* three on a line are two */
        picture_point *before = last - 1;
        if ((apart(before->x, x) < 0.01 && apart(last->x, x) < 0.01) ||
            (apart(before->y, y) < 0.01 && apart(last->y, y) < 0.01)) {
            *last = (picture_point){x, y};
            return;
        }
    }
    vec_push(p->m, &p->points, ((picture_point){x, y}));
    d->n++;
}

static void draw_edges(router *r, const uint32_t *labelled)
{
    picture *p = r->p;
    for (uint32_t e = 0; e < p->edges.n; e++) {
        picture_edge *d = &p->edges.at[e];
        const port *a = &r->ports[2 * e], *b = &r->ports[2 * e + 1];
        const picture_box *from = &p->boxes.at[a->box], *to = &p->boxes.at[b->box];
        d->first = (uint32_t)p->points.n;
        d->n = 0;
        add_point(p, d, a->x, a->bottom ? from->y + from->h : from->y);
        for (uint32_t i = r->first_leg[e]; i < r->first_leg[e + 1]; i++) {
            const leg *l = &r->legs.at[i];
            add_point(p, d, l->in, track_y(r, l));
            add_point(p, d, l->out, track_y(r, l));
        }
        add_point(p, d, b->x, b->bottom ? to->y + to->h : to->y);
        d->y = track_y(r, &r->legs.at[labelled[e]]) - PICTURE_LABEL - 3;
    }
}

void picture_route(picture *p, uint32_t rows)
{
    mem *m = p->m;
    router r = {.p = p, .rows = rows};
    size_t n = p->edges.n;
    uint32_t *labelled = mem_array0(m, uint32_t, n + 1);
    r.ports = mem_array0(m, port, 2 * n + 1);
    r.first_leg = mem_array0(m, uint32_t, n + 1);
    r.row_y = mem_array0(m, double, rows + 1);
    r.row_h = mem_array0(m, double, rows + 1);
    r.channel_y = mem_array0(m, double, rows + 1);
    r.tracks = mem_array0(m, uint32_t, rows + 1);
    r.passed = mem_array0(m, passings, rows + 1);
    open_ports(&r);
    spread_ports(&r);
    settle_ports(&r);
    make_legs(&r);
    for (uint32_t e = 0; e < n; e++) place_label(&r, e);
    give_tracks(&r, labelled);
    for (uint32_t c = 0; c <= rows; c++) order_tracks(&r, c);
    give_heights(&r);
    draw_edges(&r, labelled);
    for (uint32_t i = 0; i < rows; i++) vec_free(m, &r.passed[i]);
    mem_put(m, r.passed);
    vec_free(m, &r.legs);
    mem_put(m, r.tracks);
    mem_put(m, r.channel_y);
    mem_put(m, r.row_h);
    mem_put(m, r.row_y);
    mem_put(m, r.first_leg);
    mem_put(m, r.ports);
    mem_put(m, labelled);
}
