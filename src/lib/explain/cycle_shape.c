/*
 * cycle_shape.c - see cycle_shape.h.
 *
 * Scenes are small, so distances are found the plain way: from each vertex that can lie on a
 * cycle at all, by Dijkstra over an array.
 */
#include "explain/cycle_shape.h"

#include <assert.h>

#include "explain/mixture.h"

#define SO SHAPE_SO
#define RT SHAPE_RT
#define WR SHAPE_WR
#define WW SHAPE_WW
#define RW SHAPE_RW
#define RW_ITEM SHAPE_RW_ITEM
#define NEXT SHAPE_NEXT

static const struct {
    enum level_id level;
    forbids shape;
} shapes[] = {
#define SHAPE(level, cycle, graph, back, steps, arrive, what)                                      \
    {LEVEL_##level, {cycle, GRAPH_##graph, back, STEPS_##steps, ARRIVE_##arrive, what}},
#include "explain/shapes.def"
#undef SHAPE
};

const forbids *shape_of(enum level_id level)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (shapes[i].level == level) return &shapes[i].shape;
    return NULL;
}

unsigned shape_times(const arg_ask *ask)
{
    unsigned commit_begin = 1u << TIMES_COMMIT_BEGIN;
    unsigned commits = 1u << TIMES_COMMIT_COMMIT | 1u << TIMES_BEGIN_COMMIT;
    switch (ask->level) {
    case LEVEL_GSI:
    case LEVEL_PCSI: return commits | (ask->rt ? commit_begin : 0);
    case LEVEL_STRONG_SI: return commits | commit_begin;
    case LEVEL_FCV:
    case LEVEL_SSER:
    case LEVEL_LIN: return commit_begin;
    default: return ask->rt ? commit_begin : 0;
    }
}

bool shape_has(unsigned kinds, const arg_link *l)
{
    switch (l->kind) {
    case LINK_SO: return kinds & SO;
    case LINK_RT: return kinds & RT;
    case LINK_WR: return kinds & WR;
    case LINK_WW: return kinds & WW || (kinds & NEXT && l->why == SHOWN_NEXT);
    default: return kinds & RW || (kinds & RW_ITEM && !l->predicate);
    }
}

static enum level_id level_of_mixture(const forbids *p)
{
    return p->graph == GRAPH_MIXED_PG ? LEVEL_MIXED_PG : LEVEL_MIXED;
}

static bool shape_mixed(const forbids *p)
{
    return p->graph == GRAPH_MIXED || p->graph == GRAPH_MIXED_PG;
}

bool shape_arrives(const forbids *p, const scene *s, const arg_link *last, const arg_link *rw)
{
    op_id read = s->reads.at[rw->read].op, at = 0;
    const scene_write *w;
    switch (p->arrive) {
    case ARRIVE_ANY: return true;
    case ARRIVE_SAME_KEY: return last->kind == LINK_WW && last->key == rw->key && !rw->predicate;
    default: break;
    }
    if (last->kind == LINK_SO || last->kind == LINK_RT) return true;
    if (last->kind == LINK_WR) {
        at = s->reads.at[last->read].op;
    } else {
        w = scene_installs(s, last->to, last->key);
        if (!w) return false;
        at = w->op;
    }
    return p->arrive == ARRIVE_EARLIER ? at < read : at <= read;
}

/* --- plain cycles ----------------------------------------------------------------------------- */

#define FAR UINT32_MAX
#define VERTICES (2 * SCENE_MOST)

typedef struct way { /* an arc between vertices; link NO_ID: from a begin to its commit */
    uint8_t from, to;
    uint32_t link, cost;
} way;

typedef struct graph {
    VEC(way) ways;
    uint32_t n;
    bool gone[VERTICES]; /* on no cycle */
    uint32_t dist[VERTICES], via[VERTICES];
} graph;

static void add_way(graph *g, mem *m, const forbids *p, const scene *s, const priced_links *links,
                    uint32_t i)
{
    const arg_link *l = &links->at[i].link;
    bool events = p->graph == GRAPH_EVENTS || p->graph == GRAPH_PREFIXES;
    way w = {l->from, l->to, i, links->at[i].cost};
    if (events) {
        bool from_begin = l->kind == LINK_RW, to_commit = l->kind == LINK_RW;
        if (l->kind == LINK_RT) {
            from_begin = l->times == TIMES_BEGIN_COMMIT;
            to_commit = l->times != TIMES_COMMIT_BEGIN;
        }
        if (l->kind == LINK_WW && p->graph == GRAPH_PREFIXES) to_commit = true;
        w.from = (uint8_t)(2 * l->from + !from_begin);
        w.to = (uint8_t)(2 * l->to + to_commit);
    } else if (shape_mixed(p)) {
        enum level_id level = level_of_mixture(p);
        w.from = (uint8_t)(2 * l->from + !mixture_leaves_snapshot(s, level, l));
        w.to = (uint8_t)(2 * l->to + !mixture_reaches_snapshot(s, level, l));
    }
    vec_push(m, &g->ways, w);
}

/* Marks what no cycle can go through; false: there is none at all. */
static bool trim(graph *g)
{
    bool left = true;
    memset(g->gone, 0, sizeof g->gone);
    for (bool changed = true; changed && left;) {
        uint32_t in[VERTICES] = {0}, out[VERTICES] = {0};
        changed = left = false;
        for (size_t i = 0; i < g->ways.n; i++) {
            const way *w = &g->ways.at[i];
            if (g->gone[w->from] || g->gone[w->to]) continue;
            out[w->from]++;
            in[w->to]++;
        }
        for (uint32_t v = 0; v < g->n; v++) {
            if (g->gone[v]) continue;
            if (in[v] && out[v])
                left = true;
            else
                changed = g->gone[v] = true;
        }
    }
    return left;
}

/* Distances from `start` over vertices that are not gone; closing the cycle costs *closed. */
static void walk(graph *g, uint32_t start, uint32_t *closed, uint32_t *last)
{
    bool done[VERTICES] = {false};
    for (uint32_t v = 0; v < g->n; v++) g->dist[v] = FAR;
    g->dist[start] = 0;
    *closed = FAR;
    for (;;) {
        uint32_t v = NO_ID;
        for (uint32_t i = 0; i < g->n; i++)
            if (!done[i] && g->dist[i] != FAR && (v == NO_ID || g->dist[i] < g->dist[v])) v = i;
        if (v == NO_ID || g->dist[v] >= *closed) return;
        done[v] = true;
        for (size_t i = 0; i < g->ways.n; i++) {
            const way *w = &g->ways.at[i];
            if (w->from != v || g->gone[w->to]) continue;
            uint32_t d = g->dist[v] + w->cost;
            if (w->to == start && d < *closed) {
                *closed = d;
                *last = (uint32_t)i;
            } else if (d < g->dist[w->to]) {
                g->dist[w->to] = d;
                g->via[w->to] = (uint32_t)i;
            }
        }
    }
}

static void unwind(const graph *g, mem *m, uint32_t start, uint32_t last, cycle_of_links *out)
{
    out->n = 0;
    for (uint32_t i = last;; i = g->via[g->ways.at[i].from]) {
        if (g->ways.at[i].link != NO_ID) vec_push(m, out, g->ways.at[i].link);
        if (g->ways.at[i].from == start) break;
    }
    for (size_t i = 0; i < out->n / 2; i++) {
        uint32_t x = out->at[i];
        out->at[i] = out->at[out->n - 1 - i];
        out->at[out->n - 1 - i] = x;
    }
}

/* The cheapest cycle of the graph, which is used up. */
static void find_cheapest(graph *g, mem *m, cycle_of_links *out, uint32_t *best)
{
    for (uint32_t v = 0; trim(g) && v < g->n; v++) {
        uint32_t closed, last = 0;
        if (g->gone[v]) continue;
        walk(g, v, &closed, &last);
        if (closed < *best) {
            *best = closed;
            unwind(g, m, v, last, out);
        }
        /* Whatever else goes through v was seen. */
        for (size_t i = 0; i < g->ways.n;)
            if (g->ways.at[i].from == v || g->ways.at[i].to == v)
                g->ways.at[i] = g->ways.at[--g->ways.n];
            else
                i++;
    }
    vec_free(m, &g->ways);
}

static void find_plain(const forbids *p, const scene *s, const priced_links *links, unsigned kinds,
                       actors who, mem *m, cycle_of_links *out, uint32_t *best)
{
    graph g = {.n = s->n};
    if (p->graph == GRAPH_EVENTS || p->graph == GRAPH_PREFIXES || shape_mixed(p)) {
        g.n = 2 * s->n;
        for (uint32_t a = 0; a < s->n; a++) {
            way inner = {(uint8_t)(2 * a), (uint8_t)(2 * a + 1), NO_ID, 0};
            vec_push(m, &g.ways, inner);
        }
    }
    for (uint32_t i = 0; i < links->n; i++) {
        const arg_link *l = &links->at[i].link;
        if (!shape_has(kinds, l) || !(who & actor_bit(l->from)) || !(who & actor_bit(l->to)))
            continue;
        if (shape_mixed(p) && !mixture_counts(s, level_of_mixture(p), l)) continue;
        add_way(&g, m, p, s, links, i);
    }
    find_cheapest(&g, m, out, best);
}

/* MIXPG-3: serializable transactions among themselves; real time is no step there. */
static void find_serial(const scene *s, const priced_links *links, mem *m, cycle_of_links *out,
                        uint32_t *best)
{
    graph g = {.n = s->n};
    const forbids plain = {.graph = GRAPH_TXNS};
    for (uint32_t i = 0; i < links->n; i++) {
        const arg_link *l = &links->at[i].link;
        if (s->row[l->from] != ROW_SER || s->row[l->to] != ROW_SER) continue;
        if (l->kind == LINK_RT || (l->kind == LINK_RW && !l->alone)) continue;
        add_way(&g, m, &plain, s, links, i);
    }
    find_cheapest(&g, m, out, best);
}

/* --- parts of transactions -------------------------------------------------------------------- */

typedef struct part_place {
    uint32_t actor, place; /* 0: the snapshot; else the operation of it, from 1 */
} part_place;
typedef VEC(part_place) part_places;

static uint32_t place_in_parts(const forbids *p, const scene *s, uint32_t actor, op_id o)
{
    if (o == NO_ID) return 0;
    return p->graph == GRAPH_PARTS_TIGHT ? 1 : o - s->h->txn_op[s->txn[actor]] + 1;
}

/* A read that locks stands by itself, one of a list after own appends with the last of these. */
static uint32_t place_of_read(const forbids *p, const scene *s, uint32_t read)
{
    const scene_read *r = &s->reads.at[read];
    const history *h = s->h;
    op_id at = NO_ID;
    for (op_id o = h->txn_op[s->txn[r->actor]]; r->list && o < r->op; o++)
        if (op_kind_of(h, o) == OP_APPEND && !op_failed(h, o) && h->op_key[o] == r->key) at = o;
    if (h->op_kind[r->op] & OP_LOCK) at = r->op;
    return place_in_parts(p, s, r->actor, at);
}

static uint32_t place_of_write(const forbids *p, const scene *s, uint32_t actor, key_id key)
{
    const scene_write *w = scene_installs(s, actor, key);
    return place_in_parts(p, s, actor, w ? w->op : NO_ID);
}

static uint32_t vertex(mem *m, part_places *all, uint32_t actor, uint32_t place)
{
    for (uint32_t i = 0; i < all->n; i++)
        if (all->at[i].actor == actor && all->at[i].place == place) return i;
    part_place fresh = {actor, place};
    vec_push(m, all, fresh);
    return (uint32_t)all->n - 1;
}

static void find_parts(const forbids *p, const scene *s, const priced_links *links, mem *m,
                       cycle_of_links *out, uint32_t *best)
{
    graph g = {0};
    part_places all = {0};
    for (uint32_t i = 0; i < links->n && all.n + 2 <= VERTICES; i++) {
        const arg_link *l = &links->at[i].link;
        if (!shape_has(p->cycle, l)) continue;
        uint32_t from = l->kind == LINK_RW ? place_of_read(p, s, l->read)
                                           : place_of_write(p, s, l->from, l->key);
        uint32_t to =
            l->kind == LINK_WR ? place_of_read(p, s, l->read) : place_of_write(p, s, l->to, l->key);
        way w = {(uint8_t)vertex(m, &all, l->from, from), (uint8_t)vertex(m, &all, l->to, to), i,
                 links->at[i].cost};
        vec_push(m, &g.ways, w);
    }
    g.n = (uint32_t)all.n;
    for (uint32_t a = 0; a < g.n; a++)
        for (uint32_t b = 0; b < g.n; b++) {
            way next = {(uint8_t)a, (uint8_t)b, NO_ID, 0};
            if (all.at[a].actor == all.at[b].actor && all.at[a].place < all.at[b].place)
                vec_push(m, &g.ways, next);
        }
    find_cheapest(&g, m, out, best);
    vec_free(m, &all);
}

/* --- a way back to the reader ----------------------------------------------------------------- */

static void find_back(const forbids *p, const scene *s, const priced_links *links, mem *m,
                      cycle_of_links *out, uint32_t *best)
{
    graph g = {.n = s->n};
    VEC(uint32_t) last = {0};
    for (uint32_t i = 0; i < links->n; i++)
        if (p->steps == STEPS_MANY && shape_has(p->back, &links->at[i].link))
            add_way(&g, m, p, s, links, i);
    for (uint32_t i = 0; i < links->n; i++) {
        const arg_link *rw = &links->at[i].link;
        if (rw->kind != LINK_RW) continue;
        uint32_t unused, end = 0;
        if (p->steps == STEPS_MANY) {
            walk(&g, rw->to, &unused, &end);
            /* (walk stops at the first cycle; distances up to there are right) */
        }
        for (uint32_t j = 0; j < links->n; j++) {
            const arg_link *l = &links->at[j].link;
            bool next = p->back & SHAPE_NEXT && l->kind == LINK_WW && l->key == rw->key &&
                        !rw->predicate && l->from == rw->to;
            if (l->to != rw->from || (!shape_has(p->back, l) && !next)) continue;
            if (!shape_arrives(p, s, l, rw)) continue;
            uint32_t d = l->from == rw->to ? 0 : p->steps == STEPS_MANY ? g.dist[l->from] : FAR;
            if (d == FAR || l->from == rw->from) continue;
            uint32_t cost = links->at[i].cost + d + links->at[j].cost;
            if (cost >= *best) continue;
            *best = cost;
            out->n = 0;
            last.n = 0;
            vec_push(m, out, i);
            for (uint32_t v = l->from; v != rw->to; v = g.ways.at[g.via[v]].from)
                vec_push(m, &last, g.ways.at[g.via[v]].link);
            while (last.n) vec_push(m, out, last.at[--last.n]);
            vec_push(m, out, j);
        }
    }
    vec_free(m, &g.ways);
    vec_free(m, &last);
}

/* Ways back of exactly these links, from the writer that was missed to the reader. */
static void find_exact(const forbids *p, const scene *s, const priced_links *links, mem *m,
                       cycle_of_links *out, uint32_t *best)
{
    static const uint8_t ways[][3] = {[STEPS_WR_SO] = {LINK_WR, LINK_SO},
                                      [STEPS_SO_WR] = {LINK_SO, LINK_WR},
                                      [STEPS_WR_SO_WR] = {LINK_WR, LINK_SO, LINK_WR}};
    uint32_t length = p->steps == STEPS_WR_SO_WR ? 3 : 2;
    /* the cheapest way from each actor to each, by so many of the links */
    uint32_t *cost = mem_array(m, uint32_t, (size_t)s->n * length + 1);
    uint32_t *via = mem_array(m, uint32_t, (size_t)s->n * length + 1);
    for (uint32_t i = 0; i < links->n; i++) {
        const arg_link *rw = &links->at[i].link;
        if (rw->kind != LINK_RW) continue;
        for (size_t k = 0; k < (size_t)s->n * length; k++) cost[k] = FAR;
        for (uint32_t step = 0; step < length; step++)
            for (uint32_t j = 0; j < links->n; j++) {
                const arg_link *l = &links->at[j].link;
                if (l->kind != ways[p->steps][step] || (!step && l->from != rw->to)) continue;
                uint32_t before = step ? cost[(size_t)(step - 1) * s->n + l->from] : 0;
                uint32_t *now = &cost[(size_t)step * s->n + l->to];
                if (before == FAR || before + links->at[j].cost >= *now) continue;
                *now = before + links->at[j].cost;
                via[(size_t)step * s->n + l->to] = j;
            }
        uint32_t back = cost[(size_t)(length - 1) * s->n + rw->from];
        if (back == FAR || back + links->at[i].cost >= *best) continue;
        *best = back + links->at[i].cost;
        uint32_t at = rw->from, way_back[3] = {0};
        for (uint32_t step = length; step-- > 0;) {
            way_back[step] = via[(size_t)step * s->n + at];
            at = links->at[way_back[step]].link.from;
        }
        out->n = 0;
        vec_push(m, out, i);
        for (uint32_t step = 0; step < length; step++) vec_push(m, out, way_back[step]);
    }
    mem_put(m, cost);
    mem_put(m, via);
}

bool shape_find(const forbids *p, const scene *s, const priced_links *links, mem *m,
                cycle_of_links *out, uint32_t *cost)
{
    actors all = s->n == 64 ? ~(actors)0 : actor_bit(s->n) - 1;
    *cost = FAR;
    out->n = 0;
    if (p->graph == GRAPH_PARTS || p->graph == GRAPH_PARTS_TIGHT) {
        find_parts(p, s, links, m, out, cost);
        return out->n > 0;
    }
    forbids plain = *p;
    if (p->graph == GRAPH_UPDATES) plain.graph = GRAPH_TXNS;
    find_plain(&plain, s, links, p->cycle, all, m, out, cost);
    if (p->graph == GRAPH_UPDATES)
        for (uint32_t a = 0; a < s->n; a++) {
            /* (the updates alone are a part of each) */
            if (s->updates & actor_bit(a) && a) continue;
            find_plain(&plain, s, links, p->cycle | RW, s->updates | actor_bit(a), m, out, cost);
        }
    if (p->graph == GRAPH_MIXED_PG) find_serial(s, links, m, out, cost);
    if (p->steps > STEPS_MANY)
        find_exact(p, s, links, m, out, cost);
    else if (p->back)
        find_back(p, s, links, m, out, cost);
    return out->n > 0;
}
