/*
 * lazy_prepare.c - what the lazy strategy does before the solver starts (doc/algorithms/strong.md).
 *
 * Rounds: build the known graph, take a first order that extends it (first_order.h), replay the
 * history along that order and queue the reads that it breaks.  While many are broken, edges that
 * follow from known ones are added (derive_round), ambiguous reads lose candidates that cannot be
 * (prune_round), and the next round starts from more knowledge.  If many are broken to the end, the
 * transactions are run one by one (trial_run.c, serial_search.c).  Then certain halves of broken
 * pairs are fixed in the order for good (lazy_settle).
 *
 * Invariant, which replay_first_order() establishes and everything later keeps: an obligation that
 * is not queued is satisfied by the current order (lazy_check).
 */
#include <assert.h>

#include "asg/list_slots.h"
#include "decide/lazy/initial_values.h"
#include "decide/lazy/list_store.h"

/* --- derivation rounds ------------------------------------------------------------------------ */

#define MOST_ROUNDS 64
#define LOOK 3u         /* versions on either side of the one that was read, ... */
#define LOOK_MANY 8u    /* ... where many reads are broken */
#define MOST_OTHERS 32u /* predecessors that an edge is compared with */

/* So few broken reads are cheaper mended than run; hostile builds run for any. */
static size_t few_broken(const lazy *z)
{
#ifdef RATEL_HOSTILE
    (void)z;
    return 0;
#else
    return z->g->obs / 8 + 64;
#endif
}

static void note_forced(lazy *z, node_id from, node_id to, uint32_t ob, bool rw)
{
    forced f = {from, to, ob, rw};
    vec_push(z->m, &z->p->forced, f);
}

/* Has more than a hundredth of the reads several candidates? */
static bool is_ambiguous(const lazy *z)
{
    return z->g->open.n > z->g->obs / 100;
}

/* Adds the edge "a before b", which obligation ob forces, unless it is known; counts it in *n. */
static void derive_edge(lazy *z, node_id a, node_id b, uint32_t ob, bool rw, uint64_t *n)
{
    order_problem *p = z->p;
    assert(a < p->txns && b < p->txns && a != b);
    assert(p->in[a] && p->in[b]);
    if (reaches(&z->reach, a, b)) return; /* known, also as the stronger commit-to-begin edge */
    arc known = {rw ? begin_of(p, a) : commit_of(p, a),
                 rw ? commit_of(p, b) : version_target(p, b)};
    /* What the clocks do not count (a node in no chain) they would find new in each round. */
    if (!key_set_add(p->m, &z->told, map_pair(known.from, known.to))) return;
    vec_push(p->m, &p->known, known);
    arc dep = {a, b};
    note_forced(z, a, b, ob, rw);
    bool whole =
        rw ? !p->si : version_target(p, b) == begin_of(p, b); /* all of a before all of b */
    if (!p->shared && whole) vec_push(p->m, &p->deps, dep);
    ++*n;
}

/* A read of w by v with another version u says: u before w, or v before u.  Where the clocks rule
   out one half the other is certain; asked for the few versions next to each read in the current
   order.  Returns how many edges were new (doc/algorithms/strong.md, derivation rounds). */
static uint64_t derive_round(lazy *z)
{
    asg *g = z->g;
    uint64_t n = 0;
    uint32_t look = z->queue.n > few_broken(z) && !is_ambiguous(z) ? LOOK_MANY : LOOK;
    for (uint32_t ob = 0; ob < g->obs; ob++) {
        node_id v = g->ob_node[ob];
        if (z->p->rf[ob] >= RF_LAST || !z->p->in[v] || !strict_read(z->p, ob)) continue;
        uint32_t w = z->p->rf_inst[ob], at = z->where[w];
        node_id wn = g->inst_node[w];
        assert(z->list[at] == w && wn == z->p->rf[ob]);
        uint32_t first = g->kw_first[g->ob_key[ob]], end = g->kw_first[g->ob_key[ob] + 1];
        /* What follows a version that v precedes, or precedes one that w follows, needs no edge. */
        node_id after = NO_ID, before = NO_ID;
        for (uint32_t i = at + 1; i < end && i <= at + look; i++) {
            node_id un = g->inst_node[z->list[i]];
            if (asg_same(g, un, v) || !z->p->in[un]) continue;
            if (reaches(&z->reach, un, v)) {
                derive_edge(z, un, wn, ob, false, &n);
                before = un;
            } else if (reaches(&z->reach, wn, un) &&
                       (after == NO_ID || !reaches(&z->reach, after, un))) {
                derive_edge(z, v, un, ob, true, &n);
                after = un;
            }
            if (commit_pos(z, z->list[i]) > z->pos[begin_of(z->p, v)]) break; /* one beyond */
        }
        for (uint32_t i = at; i > first && i + look > at + 1; i--) {
            node_id un = g->inst_node[z->list[i - 1]];
            if (asg_same(g, un, v) || !z->p->in[un] || !reaches(&z->reach, un, v)) continue;
            if (before == NO_ID || !reaches(&z->reach, un, before))
                derive_edge(z, un, wn, ob, false, &n);
            before = un;
        }
        guard_tick(z->m->guard);
    }
    return n;
}

/* Does another predecessor of the edge's target follow its source, as is known? */
static bool is_implied(const lazy *z, arc e, const arc *edges, const uint32_t *into, uint32_t n)
{
    for (uint32_t i = 0; i < n && i < MOST_OTHERS; i++) {
        uint32_t other = edges[into[i]].from;
        if (other != e.from && other < z->p->txns && reaches(&z->reach, e.from, other)) return true;
    }
    return false;
}

/* Leaves out of the graph that the clocks run over what the rounds have added to it (from `certain`
   on) and what longer paths say, too: else most of it is that after a few rounds.  The clocks have
   no cycle, so all that they imply may go at once. */
static void drop_implied(lazy *z, size_t certain)
{
    order_problem *p = z->p;
    arc *edges = p->shared ? p->known.at : p->deps.at;
    size_t n = p->shared ? p->known.n : p->deps.n, kept = certain;
    uint32_t *to = mem_array(z->m, uint32_t, n + 1), *first;
    for (size_t i = 0; i < n; i++) to[i] = edges[i].to;
    uint32_t *into = asg_group(z->g, to, n, p->shared ? p->events : p->txns, &first);
    uint8_t *implied = mem_array0(z->m, uint8_t, n + 1);
    for (size_t i = certain; i < n; i++) {
        arc e = edges[i];
        assert(e.from < p->txns && e.to < p->txns);
        implied[i] = is_implied(z, e, edges, into + first[e.to], first[e.to + 1] - first[e.to]);
        guard_tick(z->m->guard);
    }
    assert(certain <= n);
    for (size_t i = certain; i < n; i++)
        if (!implied[i]) edges[kept++] = edges[i];
    if (p->shared)
        p->known.n = kept;
    else
        p->deps.n = kept;
    mem_put(z->m, implied);
    mem_put(z->m, to);
    mem_put(z->m, first);
    mem_put(z->m, into);
}

/* --- ruling out candidates -------------------------------------------------------------------- */

/* How many versions before a reader are asked whether they surely stand before it, ... */
#define LOOK_BACK 8
/* ... and how many candidates of all reads in one round, for each read and install. */
#define CANDIDATES_EACH 128

/* A version of the key that surely stands before v: what precedes that one cannot be read. */
static node_id sure_version(const lazy *z, key_id k, node_id v)
{
    const asg *g = z->g;
    uint32_t first = g->kw_first[k], lo = lazy_versions_before(z, k, v);
    for (uint32_t i = lo; i > first && i + LOOK_BACK > lo; i--) {
        node_id x = g->inst_node[z->list[i - 1]];
        if (!asg_same(g, x, v) && z->p->in[x] && reaches(&z->reach, x, v)) return x;
    }
    return NO_ID;
}

/* The read has one candidate left: it is certain. */
static void settle_read(lazy *z, uint32_t ob, node_id c)
{
    order_problem *p = z->p;
    asg *g = z->g;
    assert(p->rf[ob] == RF_OPEN && c < RF_LAST && p->in[c]);
    if (p->rf == g->ob_rf) {
        p->rf = mem_array(z->m, uint32_t, g->obs + 1);
        p->rf_inst = mem_array(z->m, uint32_t, g->obs + 1);
        memcpy(p->rf, g->ob_rf, g->obs * sizeof *p->rf);
        memcpy(p->rf_inst, g->ob_inst, g->obs * sizeof *p->rf_inst);
    }
    p->rf[ob] = c;
    p->rf_inst[ob] = asg_install(g, c, g->ob_key[ob]);
    assert(p->rf_inst[ob] != NO_ID);
    arc known = {commit_of(p, c), begin_of(p, g->ob_node[ob])}, dep = {c, g->ob_node[ob]};
    vec_push(p->m, &p->known, known);
    if (!p->shared) vec_push(p->m, &p->deps, dep);
}

/* Can v not have read candidate c, because c comes after v, or before x, which v surely saw past?
   The order extends what is known, so places tell which of the two can be known at all. */
static bool cannot_be_source(const lazy *z, uint32_t c, node_id v, node_id x)
{
    if (c >= RF_LAST) return x != NO_ID;
    uint32_t at = z->pos[commit_of(z->p, c)];
    if (at > z->pos[begin_of(z->p, v)]) return reaches(&z->reach, v, c);
    return x != NO_ID && at < z->pos[commit_of(z->p, x)] && reaches(&z->reach, c, x);
}

/* An open read that must see what the order gives it, in a transaction that surely takes part.
   (What lists hold is another matter.) */
static bool is_strict_open(const lazy *z, uint32_t ob)
{
    const asg *g = z->g;
    return z->p->rf[ob] == RF_OPEN && !(g->ob_flags[ob] & OB_LIST) && z->p->in[g->ob_node[ob]] &&
           strict_read(z->p, ob);
}

/* No candidate was ruled out so far. */
static void left_start(lazy *z)
{
    size_t n = z->g->open.n + 1;
    if (z->left_n) return;
    z->left_at = mem_array(z->m, uint32_t, n);
    z->left_n = mem_array(z->m, uint32_t, n);
    memset(z->left_n, 0xff, n * sizeof *z->left_n);
    z->p->dropped = mem_array0(z->m, uint8_t, asg_cands(z->g) + 1);
}

/* Drops the candidates of one open read that cannot be its source.  Those that are left take the
   place of those that were left before, or come at the end.  Is one left, so that the read is
   certain from now on (`settle`)? */
static bool prune_read(lazy *z, uint32_t o, bool settle)
{
    asg *g = z->g;
    uint32_t ob = g->open.at[o], n = lazy_cands(z, o), left = 0, last = NONE;
    node_id v = g->ob_node[ob], x = sure_version(z, g->ob_key[ob], v);
    bool first_time = z->left_n[o] == NONE;
    size_t at = first_time ? z->left.n : z->left_at[o];
    assert(at <= UINT32_MAX);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t i = lazy_cand(z, o, k), c = asg_cand(g, o, i);
        if (cannot_be_source(z, c, v, x)) {
            z->p->dropped[i] = 1;
            continue;
        }
        if (first_time)
            vec_push(z->m, &z->left, i);
        else
            z->left.at[at + left] = i; /* which is no later than where it stood */
        left++;
        last = c;
    }
    z->left_at[o] = (uint32_t)at;
    z->left_n[o] = left;
    if (!settle || left != 1 || last >= RF_LAST || !z->p->in[last]) return false;
    settle_read(z, ob, last);
    return true;
}

/* Drops candidates of open reads that the known order rules out: those after the reader, and those
   before a version that the reader surely saw past.  Returns how many reads became certain, as
   those do that have one left.  Where candidates are as many as reads times writers, some reads
   stay as they are: looking costs more than what is learnt. */
static uint64_t prune_round(lazy *z, bool settle)
{
    asg *g = z->g;
    uint64_t n = 0, room = CANDIDATES_EACH * ((uint64_t)g->obs + g->insts);
    left_start(z);
    for (uint32_t o = 0; o < g->open.n; o++) {
        if (!is_strict_open(z, g->open.at[o]) || lazy_cands(z, o) > room) continue;
        room -= lazy_cands(z, o);
        n += prune_read(z, o, settle);
        guard_tick(z->m->guard);
    }
    return n;
}

/* --- edges of ambiguous reads ----------------------------------------------------------------- */

#define LOOK_OPEN 4u     /* versions on either side of an ambiguous read, ... */
#define LOOK_READERS 16u /* ... and readers of each */

/* B(a) stands before B(b). */
static void derive_begins(lazy *z, node_id a, node_id b, uint64_t *n)
{
    order_problem *p = z->p;
    arc known = {begin_of(p, a), begin_of(p, b)}, dep = {a, b};
    if (reaches(&z->reach, a, b)) return;
    if (!key_set_add(p->m, &z->told, map_pair(known.from, known.to))) return;
    vec_push(p->m, &p->known, known);
    if (!p->shared && !p->si) vec_push(p->m, &p->deps, dep);
    z->unexplained++;
    ++*n;
}

/* Ambiguous read ob of v saw something else than that version of w.  If w stands before v, a third
   transaction overwrote the version before v began, and nobody who read it began later than that:
   all of its readers begin before v.  If v ends before one of them begins, v begins before w
   commits, since else that reader would have seen the third one's. */
static void derive_other(lazy *z, uint32_t ob, uint32_t inst, uint64_t *n)
{
    const asg *g = z->g;
    order_problem *p = z->p;
    node_id v = g->ob_node[ob], w = g->inst_node[inst];
    if (asg_same(g, w, v) || !p->in[w] || lazy_may_read(z, ob, inst)) return;
    if (reaches(&z->reach, v, w)) return;
    bool before = reaches(&z->reach, w, v);
    uint32_t from = p->reader_first[inst], end = p->reader_first[inst + 1];
    for (uint32_t i = from; i < end && i < from + LOOK_READERS; i++) {
        uint32_t other = p->reader[i];
        node_id r = g->ob_node[other];
        if (asg_same(g, r, v) || !p->in[r] || !strict_read(p, other)) continue;
        if (g->ob_flags[other] & OB_OWN) continue;
        if (before) {
            derive_begins(z, r, v, n);
        } else if (reaches(&z->reach, v, r)) {
            z->unexplained++;
            derive_edge(z, v, w, ob, true, n);
            return;
        }
    }
}

/* The same for all ambiguous reads and the versions next to them in the current order.  Returns how
   many edges were new.  What they rest on is not kept, so that only "holds" may come of them. */
static uint64_t derive_open_round(lazy *z)
{
    asg *g = z->g;
    order_problem *p = z->p;
    uint64_t n = 0;
    problem_index_readers(p); /* some reads were settled */
    for (uint32_t o = 0; o < g->open.n; o++) {
        uint32_t ob = g->open.at[o];
        if (!is_strict_open(z, ob) || g->ob_flags[ob] & OB_OWN) continue;
        key_id k = g->ob_key[ob];
        uint32_t first = g->kw_first[k], end = g->kw_first[k + 1];
        uint32_t at = lazy_versions_before(z, k, g->ob_node[ob]);
        uint32_t i = at - first > LOOK_OPEN ? at - LOOK_OPEN : first;
        for (; i < end && i < at + LOOK_OPEN; i++) derive_other(z, ob, z->list[i], &n);
        guard_tick(z->m->guard);
    }
    return n;
}

/* --- edges of lists ----------------------------------------------------------------------------
   A content that somebody saw, and that one transaction alone can have left, was left by it: so it
   stood on the content before, and so on. */

/* The only one that can have left the content, as a leaver, or NULL. */
static const list_leaver *sole_leaver(const lazy *z, uint32_t content)
{
    const list_chains *x = &z->g->slots->chains;
    const list_content *c = &x->content.at[content];
    if (c->twin != NO_ID || c->end != c->leavers + 1) return NULL;
    const list_leaver *l = &x->leaver.at[c->leavers];
    return l->node < RF_LAST && z->p->in[l->node] ? l : NULL;
}

/* The edges of one read, back to the first content that several can have left, or that was looked
   at before (`seen`). */
static void derive_contents(lazy *z, uint32_t ob, uint32_t content, uint8_t *seen, uint64_t *n)
{
    const list_chains *x = &z->g->slots->chains;
    node_id later = z->g->ob_node[ob];
    for (;;) {
        const list_leaver *l = sole_leaver(z, content);
        if (!l || asg_same(z->g, l->node, later)) return;
        derive_edge(z, l->node, later, ob, false, n);
        if (seen[content] || l->stand == LEFT_SURELY || l->stand == LEFT_AT_FIRST) return;
        seen[content] = 1;
        assert(x->stand.at[l->stand].node == l->node && x->stand.at[l->stand].after == content);
        later = l->node;
        content = x->stand.at[l->stand].before;
        guard_tick(z->m->guard);
    }
}

/* The same for all reads of lists whose place is searched by chains. */
static void derive_lists(lazy *z)
{
    const asg *g = z->g;
    const list_chains *x = &g->slots->chains;
    uint8_t *seen = mem_array0(z->m, uint8_t, x->content.n + 1);
    uint64_t n = 0;
    for (size_t i = 0; i < x->read_content.n; i++) {
        uint32_t ob = g->open.at[x->first_open + i];
        if (z->p->in[g->ob_node[ob]]) derive_contents(z, ob, x->read_content.at[i], seen, &n);
    }
    z->unexplained += n;
    mem_put(z->m, seen);
}

/* --- certain edges, fixed before the search --------------------------------------------------- */

static bool fix_edge(lazy *z, uint32_t from, uint32_t to)
{
    assert(from < z->p->events && to < z->p->events && from != to);
    z->a->fixed++;
    bool ok = order_fix(z->o, from, to);
    lazy_follow_moves(z);
    return ok;
}

/* Moves that settling may cost, for each event and read; hostile builds give up at the first. */
#ifdef RATEL_HOSTILE
#define MOVES_EACH 0u
#else
#define MOVES_EACH 16u
#endif

enum settle_result { SETTLE_SATISFIED, SETTLE_FIXED, SETTLE_NEEDS_CHOICE, SETTLE_CYCLE };

/* A queued read: is it satisfied, was the certain half of its broken pair fixed, or must the search
   choose? */
static enum settle_result settle_queued_read(lazy *z, uint32_t ob)
{
    asg *g = z->g;
    node_id v = g->ob_node[ob];
    uint32_t w = z->p->rf[ob] < RF_LAST ? z->p->rf_inst[ob] : NONE;
    if (!z->p->in[v] || w == NONE || !strict_read(z->p, ob)) return SETTLE_NEEDS_CHOICE;
    uint32_t u = lazy_next_of_others(z, w, v);
    if (u == NONE || commit_pos(z, u) > z->pos[begin_of(z->p, v)]) return SETTLE_SATISFIED;
    node_id un = g->inst_node[u], wn = g->inst_node[w];
    if (!z->p->in[un]) return SETTLE_NEEDS_CHOICE;
    if (reaches(&z->reach, un, v)) {
        note_forced(z, un, wn, ob, false);
        if (!fix_edge(z, commit_of(z->p, un), version_target(z->p, wn))) return SETTLE_CYCLE;
    } else if (reaches(&z->reach, wn, un)) {
        note_forced(z, v, un, ob, true);
        if (!fix_edge(z, begin_of(z->p, v), commit_of(z->p, un))) return SETTLE_CYCLE;
    } else {
        return SETTLE_NEEDS_CHOICE;
    }
    return SETTLE_FIXED;
}

/* The first order breaks few reads, but each edge that is fixed moves a part of the order and
   breaks others, one after the other. */
static bool is_crowded(const lazy *z)
{
    uint64_t most = MOVES_EACH * ((uint64_t)z->p->events + z->g->obs);
    return z->a->moved > most && !z->derived && !z->derive_anyway && z->reach.blocks &&
           pass_on(z->p->tune, PASS_DERIVE);
}

bool lazy_settle(lazy *z)
{
    VEC(uint32_t) wait = {0};
    bool ok = true;
    while (z->head < z->queue.n && ok && !z->crowded) {
        uint32_t x = z->queue.at[z->head++];
        enum settle_result done = SETTLE_NEEDS_CHOICE;
        if (x & OVERLAP) {
            z->overlap_queued[x & ~OVERLAP] = 0;
        } else {
            z->queued[x] = 0;
            done = settle_queued_read(z, x);
        }
        if (done == SETTLE_FIXED || done == SETTLE_CYCLE)
            lazy_enqueue(z, x); /* the next writer may be in the way too */
        if (done == SETTLE_NEEDS_CHOICE) vec_push(z->m, &wait, x);
        ok = done != SETTLE_CYCLE;
        z->crowded = ok && done == SETTLE_FIXED && is_crowded(z);
        guard_tick(z->m->guard);
    }
    z->queue.n = z->head = 0;
    for (size_t i = 0; i < wait.n; i++) {
        if (wait.at[i] & OVERLAP)
            lazy_enqueue_overlap(z, wait.at[i] & ~OVERLAP);
        else
            lazy_enqueue(z, wait.at[i]);
    }
    vec_free(z->m, &wait);
    return ok;
}

bool lazy_settle_paths(lazy *z)
{
    bool ok = true;
    for (size_t i = z->head; i < z->queue.n && ok; i++) {
        arc e;
        while (ok && paths_sure_edge(z, z->queue.at[i], &e)) ok = fix_edge(z, e.from, e.to);
        guard_tick(z->m->guard);
    }
    return ok;
}

/* --- the first order -------------------------------------------------------------------------- */

/* The events by place: the inverse of z->pos. */
static uint32_t *events_by_place(const lazy *z)
{
    uint32_t *at = mem_array(z->m, uint32_t, (size_t)z->p->events + 1);
    for (uint32_t e = 0; e < z->p->events; e++) {
        assert(z->pos[e] < z->p->events);
        at[z->pos[e]] = e;
    }
    return at;
}

static uint32_t txn_events(const lazy *z)
{
    return z->p->si ? 2 * z->p->txns : z->p->txns;
}

/* Fills z->list and z->where from the current order. */
static void sort_versions(lazy *z)
{
    asg *g = z->g;
    uint32_t *at = events_by_place(z);
    uint32_t *next = mem_array(z->m, uint32_t, history_keys(g->h) + 1);
    memcpy(next, g->kw_first, history_keys(g->h) * sizeof *next);
    for (uint32_t i = 0; i < z->p->events; i++) {
        uint32_t e = at[i];
        if (e >= txn_events(z)) continue;
        node_id v = txn_of(z->p, e);
        if (e != commit_of(z->p, v)) continue;
        for (uint32_t j = g->inst_first[v]; j < g->inst_first[v + 1]; j++) {
            uint32_t slot = next[g->inst_key[j]]++;
            assert(slot < g->kw_first[g->inst_key[j] + 1]);
            z->list[slot] = j;
            z->where[j] = slot;
        }
    }
    mem_put(z->m, at);
    mem_put(z->m, next);
}

/* Does the version that an open read finds explain it?  Where sources must be chosen outright
   (update_readers.c) no version does: the read waits for its choice. */
static bool open_read_satisfied(const lazy *z, uint32_t ob, uint32_t seen)
{
    const asg *g = z->g;
    if (lazy_outright(z, ob) || z->p->rf[ob] != RF_OPEN || g->ob_flags[ob] & OB_LIST) return false;
    if (g->ob_flags[ob] & OB_OWN) return false;
    if (seen != NONE) return lazy_may_read(z, ob, seen);
    if (initial_is_open(z, ob)) return false; /* it waits for its choice */
    return asg_cand_init(g, z->open_of[ob]);
}

/* The reads of v, whose begin is reached while last[k] is the newest version of key k. */
static void replay_reads_of(lazy *z, node_id v, const uint32_t *last)
{
    const asg *g = z->g;
    for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++) {
        uint32_t rf = z->p->rf[ob], seen = last[g->ob_key[ob]];
        bool ok;
        if (rf < RF_LAST)
            ok = seen == z->p->rf_inst[ob];
        else if (rf == RF_INIT)
            ok = seen == NONE || (z->p->in[v] && !z->paths && !(g->ob_flags[ob] & OB_OWN));
        else
            ok = open_read_satisfied(z, ob, seen);
        if (!ok)
            lazy_enqueue(z, ob);
        else if (z->watch_next && lazy_must_watch(z, ob))
            lazy_watch(z, ob, seen);
        if (ok && z->paths) paths_note(z, ob, seen == NONE ? FROM_INIT : seen);
    }
}

/* Walks the first order once, as a database would run it: what a read finds must be what it
   reported, else the read is queued.  Cheaper than asking each obligation, because the state of all
   keys stays in cache. */
static void replay_first_order(lazy *z)
{
    asg *g = z->g;
    uint32_t *at = events_by_place(z);
    uint32_t *last = mem_array(z->m, uint32_t, history_keys(g->h) + 1);
    memset(last, 0xff, (history_keys(g->h) + 1) * sizeof *last);
    lazy_watch_clear(z);
    assert(!z->queue.n && !z->head);
    for (uint32_t i = 0; i < z->p->events; i++) {
        uint32_t e = at[i];
        if (e >= txn_events(z)) continue;
        node_id v = txn_of(z->p, e);
        if (!z->present[v]) continue;
        if (e == begin_of(z->p, v)) replay_reads_of(z, v, last);
        if (e != commit_of(z->p, v)) continue;
        for (uint32_t j = g->inst_first[v]; j < g->inst_first[v + 1]; j++) {
            uint32_t prior = last[g->inst_key[j]];
            if (z->overlap_queued && prior != NONE &&
                commit_pos(z, prior) > z->pos[begin_of(z->p, v)])
                lazy_enqueue_overlap(z, j);
            last[g->inst_key[j]] = j;
        }
        guard_tick(z->m->guard);
    }
    mem_put(z->m, at);
    mem_put(z->m, last);
}

/* Nothing is queued any more: the next replay finds out anew what is broken. */
static void clear_queue(lazy *z)
{
    for (size_t i = 0; i < z->queue.n; i++) {
        if (z->queue.at[i] & OVERLAP)
            z->overlap_queued[z->queue.at[i] & ~OVERLAP] = 0;
        else
            z->queued[z->queue.at[i]] = 0;
    }
    z->queue.n = 0;
}

/* --- rounds ----------------------------------------------------------------------------------- */

/* Is another round of derivation worth its time?  A few violated reads are cheaper settled than
   derived; not so with ambiguous ones, of which one round settles most.  Where many are broken, and
   none is ambiguous, even a round that mends few is cheap, compared with clauses for each, as long
   as it finds edges.  (Ambiguous ones are better run one by one: try_run.)  `left`: how many were
   queued before the last round; `learnt`: the edges that it found. */
static bool round_pays(const lazy *z, unsigned round, size_t left, uint64_t learnt)
{
    bool ambiguous = is_ambiguous(z);
#ifdef RATEL_HOSTILE
    size_t few = 0;
#else
    size_t few = z->g->obs / (!ambiguous ? 10 : round ? 30 : 200) + 64;
#endif
    if (!pass_on(z->p->tune, PASS_DERIVE) || round == MOST_ROUNDS) return false;
    if (z->derive_anyway && !round) return z->reach.blocks;
    if (z->queue.n <= few || !z->reach.blocks) return false;
    bool learning = !ambiguous && z->queue.n > few_broken(z) && learnt > z->queue.n / 32;
    return learning || z->queue.n <= left - left / 10;
}

/* Client times gave the first order, and it breaks many reads: are the clocks, which rounds of
   derivation ask, worth their time? */
static bool want_clocks(lazy *z)
{
    bool missing = !z->reach.wanted && !z->reach.blocks && !z->p->plain;
    if (!missing || !pass_on(z->p->tune, PASS_DERIVE)) return false;
    return z->reach.wanted = z->queue.n > few_broken(z);
}

#define FEW_LEFT 16u /* candidates of an ambiguous read, on average */

/* Searches for a serial order that explains the ambiguous reads.  False: less than half of it was
   found, and pos is as it was. */
static bool search_serial(lazy *z, const order_graph *known, uint32_t *pos)
{
    order_problem *p = z->p;
    uint32_t ran = 0, wide = 0;
    if (pass_on(p->tune, PASS_SERIAL_SEARCH)) ran = lazy_serial_search(z, known, pos);
    bool enough = ran >= p->events - p->events / 128; /* the solver mends the rest sooner */
    if (!enough && pass_on(p->tune, PASS_WIDE_SEARCH)) {
        uint32_t *other = mem_array(p->m, uint32_t, (size_t)p->events + 1);
        wide = lazy_wide_search(z, known, other);
        if (wide > ran && wide > p->events / 2) memcpy(pos, other, p->events * sizeof *pos);
        mem_put(p->m, other);
    }
    z->all_ran = ran == p->events || wide == p->events;
    z->a->brief = p->brief && !z->all_ran;
    return ran > p->events / 2 || wide > p->events / 2;
}

/* Fills pos with the order of a run, which starts from the order z->pos.  False: there is none. */
static bool run_transactions(lazy *z, const order_graph *known, uint32_t *pos)
{
    order_problem *p = z->p;
    bool strict = p->rule->strict == STRICT_ALL || p->rule->strict == STRICT_ITEM;
    bool serial = !p->si && strict && z->g->open.n;
    if (p->rf != z->g->ob_rf) problem_index_readers(p);
    if (serial && search_serial(z, known, pos)) return true;
    if (z->slots) return false;
    if (!pass_on(p->tune, PASS_TRIAL_RUN)) return false;
    lazy_trial_run(z, known, pos);
    return true;
}

static void start_from(lazy *z, const uint32_t *pos)
{
    clear_queue(z);
    z->pos = pos;
    sort_versions(z);
    replay_first_order(z);
}

/* Is a run worth it where lists are searched?  Lists that are only appended to are covered from the
   left, which the solver does better; and what is run is serial. */
static bool lists_run(const lazy *z)
{
    return z->g->slots->chains.keys.n && list_store_fits(z->g) && !z->p->si &&
           z->p->rule->strict == STRICT_ALL && !z->j;
}

/* Have the ambiguous reads so few candidates left that the search chooses among them sooner than a
   run finds an order?  Hostile builds try. */
static bool few_left(const lazy *z)
{
    uint64_t left = 0, open = 0;
    for (uint32_t o = 0; o < z->g->open.n; o++) {
        if (z->p->rf[z->g->open.at[o]] != RF_OPEN) continue;
        left += lazy_cands(z, o);
        open++;
    }
#ifdef RATEL_HOSTILE
    (void)left;
    return open;
#else
    return open && left / FEW_LEFT <= open;
#endif
}

/* Does each transaction that appends to a list which is searched fit in one place?  Then hardly
   anything is left to choose but who deleted what. */
static bool sole_stands(const lazy *z)
{
#ifdef RATEL_HOSTILE
    (void)z;
    return true;
#else
    const list_chains *x = &z->g->slots->chains;
    return x->stand.n <= x->writer.n;
#endif
}

/* Is the run left to a later attempt? */
static bool run_can_wait(const lazy *z)
{
    if (!z->may_wait || !pass_on(z->p->tune, PASS_RUN_LATER)) return false;
    return z->slots ? sole_stands(z) : few_left(z);
}

/* Where many reads are broken the transactions are run one by one.  The order of that run stays if
   it breaks less than half as many; else the guess is as good, and the clocks fit it better. */
static void try_run(lazy *z, const order_graph *known, uint32_t *pos)
{
    order_problem *p = z->p;
    size_t broken = z->queue.n;
    if (p->rule->strict == STRICT_NONE) return;
    if (z->slots ? !lists_run(z) : broken <= few_broken(z)) return;
    if ((z->run_waits = run_can_wait(z))) return;
    uint32_t *guess = mem_array(p->m, uint32_t, (size_t)p->events + 1);
    memcpy(guess, pos, p->events * sizeof *pos);
    z->pos = guess;
    bool ran = run_transactions(z, known, pos);
    z->pos = pos;
    if (ran) start_from(z, pos);
    if (ran && (z->slots ? !z->all_ran : z->queue.n >= broken / 2)) {
        memcpy(pos, guess, p->events * sizeof *pos);
        start_from(z, pos);
    }
    mem_put(p->m, guess);
}

bool lazy_first_order(lazy *z, order_graph *known, uint32_t *pos)
{
    order_problem *p = z->p;
    asg *g = z->g;
    size_t left = SIZE_MAX;
    uint64_t learnt = 0;
    size_t certain = p->shared ? p->known.n : p->deps.n;
    bool last = false;
    if (z->derive_open && z->slots && !z->j) derive_lists(z);
    for (unsigned round = 0;; round++) {
        order_graph_build(p->m, p->events, (const order_pair *)(const void *)p->known.at,
                          p->known.n, known);
        if (!first_order(p, known, pos, &z->reach)) return false;
        if (p->plain) reach_free(p->m, &z->reach);
        z->pos = pos;
        sort_versions(z);
        replay_first_order(z);
        z->a->rounds = round;
        if (want_clocks(z)) {
            clear_queue(z);
            first_order_free(p->m, known);
            continue;
        }
        if (last || !round_pays(z, round, left, learnt)) break;
        left = z->queue.n;
        uint64_t settled = 0;
        learnt = derive_round(z);
        if (z->derive_open && g->open.n && !z->j) learnt += derive_open_round(z);
        if (round && pass_on(p->tune, PASS_DROP_IMPLIED)) drop_implied(z, certain);
        z->derived = true;
        if (pass_on(p->tune, PASS_PRUNE_CANDIDATES) && g->open.n && !z->j)
            settled = prune_round(z, true);
        last = learnt + settled <= g->obs / 256 + 16;
        /* What was derived is implied and may stay unsaid.  A read that was settled counts as
           certain from now on: the order must have its edge. */
        if (last && !settled) break;
        clear_queue(z);
        first_order_free(p->m, known);
    }
    key_set_free(p->m, &z->told);
    /* With what the last round has found.  None becomes certain: the order would need its edge. */
    if (z->left_n && z->reach.blocks) prune_round(z, false);
    try_run(z, known, pos);
    return true;
}

/* --- indexes ---------------------------------------------------------------------------------- */

void lazy_index_open(lazy *z)
{
    asg *g = z->g;
    if (!g->open.n) return;
    static_assert(NONE == NO_ID, "asg_open_of marks what is not open with NO_ID");
    z->open_of = asg_open_of(g);
    z->cand_var = mem_array(z->m, uint32_t, asg_cands(g) + 1);
    z->chosen_clause = mem_array0(z->m, uint8_t, g->open.n + 1);
}

typedef bool (*read_test)(const lazy *z, uint32_t ob);

/* The obligations that pass the test, grouped by key; NULL if there are none. */
static uint32_t *group_reads(lazy *z, read_test test, uint32_t **first)
{
    asg *g = z->g;
    VEC(uint32_t) obs = {0}, key = {0};
    for (uint32_t ob = 0; ob < g->obs; ob++) {
        if (!test(z, ob)) continue;
        vec_push(z->m, &obs, ob);
        vec_push(z->m, &key, g->ob_key[ob]);
    }
    if (!obs.n) return NULL;
    uint32_t *reads = asg_group(g, key.at, key.n, history_keys(g->h), first);
    for (size_t i = 0; i < obs.n; i++) {
        assert(reads[i] < obs.n);
        reads[i] = obs.at[reads[i]];
    }
    vec_free(z->m, &obs);
    vec_free(z->m, &key);
    return reads;
}

static bool sees_past_own(const lazy *z, uint32_t ob)
{
    return (z->g->ob_flags[ob] & OB_OWN) != 0;
}

static bool is_unlisted(const lazy *z, uint32_t ob)
{
    return z->p->rf[ob] == RF_OPEN || z->p->rf[ob] == RF_INIT;
}

void lazy_index_past(lazy *z)
{
    if (z->g->whole) z->past = group_reads(z, sees_past_own, &z->past_first);
}

void lazy_index_unlisted(lazy *z)
{
    if (z->updates) z->unlisted = group_reads(z, is_unlisted, &z->unlisted_first);
}
