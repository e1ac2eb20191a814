/*
 * path_sweep.c - broken reads of levels whose paths have many steps, all at once.
 *
 * The graph of session order (where it counts), real time, read-from and version order, as it
 * stands, is walked once along the current order.  Each transaction gets a row of clocks: for each
 * chain (a session; without session order, a path of the graph) the last member that leads to it.
 * "u leads to v" is then one comparison, and the path itself is found by going back from v, each
 * time to somebody that u leads to.
 *
 * Versions of a key are a chain of version edges, so if any later version leads to the reader, the
 * one right behind what was read does; without version edges (causal) each is asked.  Only chains
 * with such versions get a column, and only the part of the order between the first version and the
 * last reader in question is walked.  Many columns are done in blocks, to bound memory.
 */
#include <assert.h>

#include "base/search.h"
#include "decide/lazy/paths_state.h"
#include "order/added_order.h"

#define LANE 8             /* the number of columns is a multiple of this */
#define MOST 64            /* the most columns of a block */
#define ENTRIES (1u << 26) /* the most entries of all rows of a block, unless one lane needs more */

/* A transaction that is read from, and the first read that does. */
typedef struct source {
    node_id node;
    uint32_t ob;
} source;

typedef struct suspect {
    uint32_t ob, next; /* the next of the same transaction, + 1 */
} suspect;

/* Index, chain and place of a node stand together, because they are asked for together. */
typedef struct spot {
    uint32_t index;        /* in the part that is walked, + 1; 0: not there */
    uint32_t chain, place; /* of this sweep */
} spot;

typedef struct sweep {
    /* Reads by transaction: each certain source once, and the open reads (indices of g->open). */
    uint32_t *sure_first, *open_first, *open;
    VEC(source) sure;
    VEC(suspect) suspects;
    uint32_t *has;    /* node -> its first suspect + 1, 0: none */
    uint32_t *at;     /* nodes of the part that is walked, in order */
    spot *spot;       /* per node */
    uint32_t *column; /* chain -> column + 1, 0: none */
    uint32_t *end;    /* without session order: chain -> its last member */
    uint32_t n, chains, columns;
    uint32_t base, width; /* of the block at hand */
    int32_t *row;         /* per index */
    int32_t *past;        /* real time: per rank of ended, all up to it */
    size_t past_n;
    VEC(uint32_t) touched; /* chains that have a column */
} sweep;

/* --- the part and its chains ----------------------------------------------------------------- */

/* Most reads are certain, and a transaction mostly reads from few others: a walk has to look at far
   less than all reads. */
static void index_sources(lazy *z, sweep *s)
{
    asg *g = z->g;
    VEC(uint32_t) node = {0};
    node_id *seen = mem_array(z->m, node_id, (size_t)g->nodes + 1); /* its last reader */
    memset(seen, 0xff, ((size_t)g->nodes + 1) * sizeof *seen);
    s->sure_first = mem_array(z->m, uint32_t, (size_t)g->nodes + 2);
    for (node_id v = 0; v < g->nodes; v++) {
        s->sure_first[v] = (uint32_t)s->sure.n;
        assert(g->ob_first[v] <= g->ob_first[v + 1]);
        for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++) {
            source x = {z->p->rf[ob], ob};
            if (x.node >= RF_LAST || seen[x.node] == v) continue;
            seen[x.node] = v;
            vec_push(z->m, &s->sure, x);
        }
        guard_tick(z->m->guard);
    }
    s->sure_first[g->nodes] = (uint32_t)s->sure.n;
    mem_put(z->m, seen);
    for (size_t i = 0; i < g->open.n; i++) vec_push(z->m, &node, g->ob_node[g->open.at[i]]);
    s->open = asg_group(g, node.at, node.n, g->nodes, &s->open_first);
    vec_free(z->m, &node);
}

static sweep *sweep_start(lazy *z)
{
    size_t n = (size_t)z->g->nodes + 1;
    if (z->paths->sweep) return z->paths->sweep;
    sweep *s = z->paths->sweep = mem_array0(z->m, sweep, 1);
    s->at = mem_array(z->m, uint32_t, (size_t)z->p->events + 1);
    s->spot = mem_array0(z->m, spot, n);
    s->column = mem_array0(z->m, uint32_t, n);
    s->has = mem_array0(z->m, uint32_t, n);
    s->end = mem_array(z->m, uint32_t, n);
    index_sources(z, s);
    if (!z->p->so) return s;
    /* Nothing follows a transaction of unknown outcome in its session: it gets a chain of its
       own. */
    for (node_id v = 0; v < z->g->nodes; v++) {
        node_id before = z->g->maybe[v] ? NO_ID : z->g->so_pred[v];
        s->spot[v].chain = before == NO_ID ? s->chains++ : s->spot[before].chain;
        s->spot[v].place = before == NO_ID ? 1 : s->spot[before].place + 1;
    }
    return s;
}

static node_id written_before(const lazy *z, uint32_t inst)
{
    uint32_t prior = lazy_version_before(z, inst);
    return prior == NONE ? NO_ID : z->g->inst_node[prior];
}

/* The first place from i on, in the list of versions, whose version is there; `end` if none is. */
static uint32_t present_version(const lazy *z, uint32_t i, uint32_t end)
{
    while (i < end && !z->present[z->g->inst_node[z->list[i]]]) i++;
    return i;
}

static node_id read_from(const lazy *z, uint32_t ob)
{
    uint32_t w = paths_stands(z, ob);
    return w < FROM_INIT ? z->g->inst_node[w] : NO_ID;
}

static node_id so_before(const lazy *z, node_id v)
{
    return z->p->so && z->p->rule->path & PATH_SO ? z->g->so_pred[v] : NO_ID;
}

/* The dependencies of v that modules added, if they are steps of this level: dep[first..end). */
static const added_order *added_steps(const lazy *z, node_id v, uint32_t *first, uint32_t *end)
{
    const added_order *d = z->p->rule->path & PATH_SO ? z->p->added : NULL;
    *first = d ? d->dep_first[v] : 0;
    *end = d ? d->dep_first[v + 1] : 0;
    return d;
}

/* How many of paths.ended lead to v by real time; they are a prefix. */
static size_t ended_before(const lazy *z, node_id v)
{
    const paths *x = z->paths;
    SEARCH_FIRST(size_t, n, 0, x->ended.n, !paths_rt_before(z, x->ended.at[n], v));
    return n;
}

/* Without session order: v continues the chain of a transaction that leads to it and is the end of
   its chain, if there is one. */
static void join_chain(lazy *z, sweep *s, node_id v)
{
    const asg *g = z->g;
    node_id before = NO_ID, t;
    for (uint32_t j = g->inst_first[v]; j < g->inst_first[v + 1] && before == NO_ID; j++) {
        if (!(z->p->rule->path & PATH_WW)) break;
        t = written_before(z, j);
        if (t != NO_ID && s->spot[t].index && s->end[s->spot[t].chain] == t) before = t;
    }
    for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1] && before == NO_ID; ob++) {
        t = read_from(z, ob);
        if (t != NO_ID && s->spot[t].index && s->end[s->spot[t].chain] == t) before = t;
    }
    s->spot[v].chain = before == NO_ID ? s->chains++ : s->spot[before].chain;
    s->spot[v].place = before == NO_ID ? 1 : s->spot[before].place + 1;
    assert(s->chains <= g->nodes);
    s->end[s->spot[v].chain] = v;
}

static void want_column(lazy *z, sweep *s, node_id u)
{
    uint32_t c = s->spot[u].chain;
    if (s->column[c]) return;
    assert(c < s->chains && s->spot[u].index);
    s->column[c] = ++s->columns;
    vec_push(z->m, &s->touched, c);
}

/* The place in its key's list right after what the suspect read. */
static uint32_t first_after_source(const lazy *z, uint32_t ob)
{
    uint32_t w = paths_stands(z, ob);
    return w == FROM_INIT ? z->g->kw_first[z->g->ob_key[ob]] : z->where[w] + 1;
}

/* Steps through the versions that might break ob, from *i on: the next one, or NO_ID.  One is
   enough where versions lead to each other. */
static node_id next_suspicion(const lazy *z, uint32_t ob, uint32_t *i)
{
    const asg *g = z->g;
    node_id v = g->ob_node[ob];
    uint32_t first = first_after_source(z, ob), end = g->kw_first[g->ob_key[ob] + 1];
    for (uint32_t k = first + *i; k < end; k++) {
        node_id u = g->inst_node[z->list[k]];
        if (z->pos[u] >= z->pos[v]) break;
        if (!z->present[u] || u == v) continue;
        *i = z->p->rule->path & PATH_WW ? end : k + 1 - first;
        return u;
    }
    return NO_ID;
}

/* Which reads are suspects, and which part of the order they span; false if none is. */
static bool collect_suspects(lazy *z, sweep *s)
{
    const asg *g = z->g;
    const paths *state = z->paths;
    uint32_t lo = UINT32_MAX, hi = 0;
    s->suspects.n = 0;
    for (size_t k = 0; k < state->parked.n; k++) {
        uint32_t ob = state->parked.at[k], i = 0;
        node_id v = g->ob_node[ob], u;
        if (!z->present[v] || paths_stands(z, ob) == NONE) continue;
        if ((u = next_suspicion(z, ob, &i)) == NO_ID) continue;
        suspect x = {ob, s->has[v]};
        vec_push(z->m, &s->suspects, x);
        s->has[v] = (uint32_t)s->suspects.n;
        if (z->pos[u] < lo) lo = z->pos[u];
        if (z->pos[v] > hi) hi = z->pos[v];
    }
    if (!s->suspects.n) return false;
    assert(lo < hi && !s->columns);
    s->n = 0;
    for (uint32_t p = lo; p <= hi; p++) {
        uint32_t v = order_at(z->o, p);
        if (v >= z->p->txns || !z->present[v]) continue;
        s->at[s->n++] = v;
        s->spot[v].index = s->n;
    }
    if (!z->p->so) {
        s->chains = 0;
        for (uint32_t i = 0; i < s->n; i++) join_chain(z, s, s->at[i]);
    }
    for (size_t k = 0; k < s->suspects.n; k++) {
        uint32_t ob = s->suspects.at[k].ob, i = 0;
        for (node_id u; (u = next_suspicion(z, ob, &i)) != NO_ID;) want_column(z, s, u);
        guard_tick(z->m->guard);
    }
    return true;
}

static void forget_columns(sweep *s)
{
    for (uint32_t i = 0; i < s->n; i++) s->spot[s->at[i]].index = 0;
    for (size_t i = 0; i < s->touched.n; i++) s->column[s->touched.at[i]] = 0;
    s->touched.n = 0;
    s->columns = 0;
}

/* --- rows ------------------------------------------------------------------------------------ */

static int32_t *row_of(const sweep *s, node_id v)
{
    assert(s->spot[v].index && s->spot[v].index <= s->n);
    return s->row + (size_t)(s->spot[v].index - 1) * s->width;
}

static void raise_row(int32_t *to, const int32_t *from, uint32_t width)
{
    for (uint32_t c = 0; c < width; c += LANE)
        for (uint32_t k = 0; k < LANE; k++)
            to[c + k] = to[c + k] > from[c + k] ? to[c + k] : from[c + k];
}

/* The column of t's chain in this block, or `width`. */
static uint32_t column_of(const sweep *s, node_id t)
{
    uint32_t c = s->column[s->spot[t].chain] - 1 - s->base; /* none: wraps round */
    return c < s->width ? c : s->width;
}

/* t, and whatever leads to it, leads to the owner of the row. */
static void arrive(const sweep *s, int32_t *row, node_id t)
{
    if (t == NO_ID || !s->spot[t].index) return; /* before the part: no version in question */
    uint32_t c = column_of(s, t);
    if (c < s->width) {
        if (row[c] >= (int32_t)s->spot[t].place) return; /* a later one of its chain did arrive */
        row[c] = (int32_t)s->spot[t].place;
    }
    raise_row(row, row_of(s, t), s->width);
}

/* All that v reads from. */
static void arrive_reads(const lazy *z, const sweep *s, int32_t *row, node_id v)
{
    const uint32_t *stands = z->paths->stands;
    for (uint32_t i = s->sure_first[v]; i < s->sure_first[v + 1]; i++)
        arrive(s, row, s->sure.at[i].node);
    for (uint32_t i = s->open_first[v]; i < s->open_first[v + 1]; i++) {
        uint32_t w = stands[s->open[i]];
        if (w < FROM_INIT) arrive(s, row, z->g->inst_node[w]);
    }
}

/* Adds all that ended before v began.  The rows of that prefix are made one by one, as far as they
   are needed, and kept. */
static void arrive_ended(lazy *z, sweep *s, int32_t *row, node_id v)
{
    const paths *x = z->paths;
    size_t n = x->ended.n ? ended_before(z, v) : 0;
    if (!n) return;
    for (; s->past_n < n; s->past_n++) {
        int32_t *to = s->past + s->past_n * s->width;
        if (s->past_n)
            memcpy(to, to - s->width, s->width * sizeof *to);
        else
            memset(to, 0, s->width * sizeof *to);
        arrive(s, to, x->ended.at[s->past_n]);
    }
    raise_row(row, s->past + (n - 1) * s->width, s->width);
}

/* --- findings -------------------------------------------------------------------------------- */

static bool leads(const sweep *s, node_id u, node_id t)
{
    return u == t ||
           (s->spot[t].index && row_of(s, t)[column_of(s, u)] >= (int32_t)s->spot[u].place);
}

typedef struct cheapest_hop {
    hop by;
    uint32_t cost; /* UINT32_MAX: none yet */
} cheapest_hop;

/* The search for an edge into a node, on a path from u. */
typedef struct hop_search {
    const lazy *z;
    const sweep *s;
    node_id u;
    cheapest_hop best;
} hop_search;

/* Takes the edge if u leads to its tail, and it costs less than the best so far: a literal is
   expensive (needs_literal), and a tail that u surely leads to needs no more of them. */
static void consider_hop(hop_search *q, hop by, bool needs_literal)
{
    if (by.at == NO_ID || !leads(q->s, q->u, by.at)) return;
    uint32_t cost = 2u * needs_literal + (by.at != q->u && !lazy_ruled_out(q->z, q->u, by.at));
    if (cost >= q->best.cost) return;
    q->best = (cheapest_hop){by, cost};
}

/* Edges of real time into v: the first that u leads to, since rows of a prefix only rise. */
static void consider_ended(hop_search *q, node_id v)
{
    const sweep *s = q->s;
    const paths *x = q->z->paths;
    size_t ended = x->ended.n ? ended_before(q->z, v) : 0;
    assert(ended <= s->past_n && (!ended || column_of(s, q->u) < s->width));
    SEARCH_FIRST(size_t, i, 0, ended,
                 s->past[i * s->width + column_of(s, q->u)] >= (int32_t)s->spot[q->u].place);
    if (i < ended) consider_hop(q, (hop){x->ended.at[i], v, PATH_RT, NONE}, false);
}

/* Edges of read-from into v, in program order: by reads before ob (arrives_earlier). */
static void consider_earlier_reads(hop_search *q, node_id v, uint32_t ob)
{
    const lazy *z = q->z;
    const asg *g = z->g;
    for (uint32_t i = g->ob_first[v]; i < g->ob_first[v + 1] && q->best.cost; i++) {
        if (i == ob || !paths_early_enough(z, ob, g->ob_op[i])) continue;
        consider_hop(q, (hop){read_from(z, i), v, PATH_WR, i}, z->p->rf[i] == RF_OPEN);
    }
}

/* Edges of read-from into v, certain sources first.  The source of ob itself stands before u. */
static void consider_reads(hop_search *q, node_id v, uint32_t ob)
{
    const lazy *z = q->z;
    const sweep *s = q->s;
    for (uint32_t i = s->sure_first[v]; i < s->sure_first[v + 1] && q->best.cost; i++)
        consider_hop(q, (hop){s->sure.at[i].node, v, PATH_WR, s->sure.at[i].ob}, false);
    for (uint32_t i = s->open_first[v]; i < s->open_first[v + 1] && q->best.cost > 2; i++) {
        uint32_t by_ob = z->g->open.at[s->open[i]];
        if (by_ob == ob) continue;
        consider_hop(q, (hop){read_from(z, by_ob), v, PATH_WR, by_ob}, true);
    }
}

/* The first version of the key of install j, before j, to which u leads: rows only rise along the
   versions of a key. */
static uint32_t first_version_led_to(const hop_search *q, uint32_t j)
{
    const lazy *z = q->z;
    const asg *g = z->g;
    uint32_t end = z->where[j], t = end;
    SEARCH_FIRST(
        uint32_t, i, g->kw_first[g->inst_key[j]], end,
        ((t = present_version(z, i, end)) == end || leads(q->s, q->u, g->inst_node[z->list[t]])));
    t = present_version(z, i, end);
    assert(t == end || leads(q->s, q->u, g->inst_node[z->list[t]]));
    return t;
}

/* Version edges into v, which installed j.  Each version stands before all later ones of its key,
   so the edge may skip those between: a path from version to version would need a literal for
   each, and the paths of all readers of one key would be quadratic. */
static void consider_versions(hop_search *q, node_id v, uint32_t j)
{
    const lazy *z = q->z;
    uint32_t t = z->where[j];
    if (pass_on(z->p->tune, PASS_SKIP_VERSIONS)) t = first_version_led_to(q, j);
    if (t < z->where[j]) {
        hop by = {z->g->inst_node[z->list[t]], v, PATH_WW, j};
        consider_hop(q, by, !lazy_ruled_out(z, by.at, v));
    }
    hop by = {written_before(z, j), v, PATH_WW, j};
    consider_hop(q, by, by.at != NO_ID && !lazy_ruled_out(z, by.at, v));
}

/* The edge into v on a path from u; ob: only by events before that read. */
static hop step_back(const lazy *z, const sweep *s, node_id v, node_id u, uint32_t ob)
{
    const asg *g = z->g;
    hop_search q = {z, s, u, {.cost = UINT32_MAX}};
    consider_hop(&q, (hop){so_before(z, v), v, PATH_SO, NONE}, false);
    consider_ended(&q, v);
    uint32_t dep, deps;
    const added_order *d = added_steps(z, v, &dep, &deps);
    for (; dep < deps && q.best.cost; dep++)
        if (z->present[d->dep[dep]])
            consider_hop(&q, (hop){d->dep[dep], v, PATH_ADDED, d->dep_of[dep]}, false);
    if (ob != NONE && z->p->rule->arrives_earlier)
        consider_earlier_reads(&q, v, ob);
    else
        consider_reads(&q, v, ob);
    for (uint32_t j = g->inst_first[v]; j < g->inst_first[v + 1] && q.best.cost; j++) {
        if (!(z->p->rule->path & PATH_WW)) break;
        if (ob != NONE && !paths_early_enough(z, ob, g->inst_op[j])) continue;
        consider_versions(&q, v, j);
    }
    assert(q.best.cost < UINT32_MAX && "u leads to v");
    assert(q.best.by.to == v && z->pos[q.best.by.at] < z->pos[v]);
    return q.best.by;
}

static void keep_path(lazy *z, const sweep *s, uint32_t ob, node_id u)
{
    paths *x = z->paths;
    finding f = {ob, x->hops.n, 0};
    node_id v = z->g->ob_node[ob];
    while (v != u) {
        hop by = step_back(z, s, v, u, f.n ? NONE : ob);
        vec_push(z->m, &x->hops, by);
        assert(z->pos[by.at] >= z->pos[u]); /* so the way back ends */
        guard_tick(z->m->guard);
        v = by.at;
        f.n++;
    }
    for (size_t i = 0; i < f.n / 2; i++) { /* the path was found backwards */
        hop *a = &x->hops.at[f.first + i], *b = &x->hops.at[f.first + f.n - 1 - i], c = *a;
        *a = *b;
        *b = c;
    }
    vec_push(z->m, &x->findings, f);
}

/* Is the read broken, given the row of what came before it? */
static void judge_suspect(lazy *z, const sweep *s, uint32_t ob, const int32_t *row)
{
    uint32_t i = 0;
    for (node_id u; (u = next_suspicion(z, ob, &i)) != NO_ID;) {
        uint32_t c = column_of(s, u);
        if (c == s->width || row[c] < (int32_t)s->spot[u].place) continue;
        keep_path(z, s, ob, u);
        return;
    }
}

static bool is_suspect_now(const lazy *z, uint32_t ob)
{
    uint32_t i = 0;
    return z->paths->is_parked[ob] && paths_stands(z, ob) != NONE &&
           next_suspicion(z, ob, &i) != NO_ID;
}

/* Monotonic view: each read is judged by what arrived before it, in program order; the rows of one
   operation are one event. */
static void arrive_in_turn(lazy *z, const sweep *s, int32_t *row, node_id v)
{
    const asg *g = z->g;
    uint32_t ob = g->ob_first[v], end = g->ob_first[v + 1];
    while (ob < end) {
        uint32_t next = ob;
        op_id op = g->ob_op[ob];
        for (; next < end && g->ob_op[next] == op; next++) arrive(s, row, read_from(z, next));
        for (uint32_t j = g->inst_first[v]; j < g->inst_first[v + 1]; j++)
            if (g->inst_op[j] <= op) arrive(s, row, written_before(z, j));
        for (; ob < next; ob++)
            if (is_suspect_now(z, ob)) judge_suspect(z, s, ob, row);
    }
}

static void walk_part(lazy *z, sweep *s)
{
    const asg *g = z->g;
    assert(s->width && s->width % LANE == 0);
    s->past_n = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        node_id v = s->at[i];
        int32_t *row = row_of(s, v);
        memset(row, 0, s->width * sizeof *row);
        arrive(s, row, so_before(z, v));
        arrive_ended(z, s, row, v);
        uint32_t dep, deps;
        const added_order *d = added_steps(z, v, &dep, &deps);
        for (; dep < deps; dep++)
            if (z->present[d->dep[dep]]) arrive(s, row, d->dep[dep]);
        if (z->p->rule->arrives_earlier && s->has[v])
            arrive_in_turn(z, s, row, v);
        else
            arrive_reads(z, s, row, v);
        for (uint32_t j = g->inst_first[v]; j < g->inst_first[v + 1]; j++)
            if (z->p->rule->path & PATH_WW) arrive(s, row, written_before(z, j));
        for (uint32_t k = z->p->rule->arrives_earlier ? 0 : s->has[v]; k;
             k = s->suspects.at[k - 1].next)
            judge_suspect(z, s, s->suspects.at[k - 1].ob, row);
        guard_tick(z->m->guard);
    }
}

void sweep_many(lazy *z)
{
    sweep *s = sweep_start(z);
    if (collect_suspects(z, s)) {
        uint32_t most = ENTRIES / (s->n + 1) / LANE * LANE;
        most = most < LANE ? LANE : most > MOST ? MOST : most;
        if (s->columns < most) most = (s->columns + LANE - 1) / LANE * LANE;
        s->width = most;
        s->row = mem_array(z->m, int32_t, mem_bytes(z->m, (size_t)s->n + 1, most));
        if (z->paths->ended.n)
            s->past = mem_array(z->m, int32_t, mem_bytes(z->m, z->paths->ended.n + 1, most));
        for (s->base = 0; s->base < s->columns; s->base += most) walk_part(z, s);
        mem_put(z->m, s->row);
        mem_put(z->m, s->past);
        s->past = NULL;
        forget_columns(s);
    }
    for (size_t i = 0; i < s->suspects.n; i++) s->has[z->g->ob_node[s->suspects.at[i].ob]] = 0;
}
