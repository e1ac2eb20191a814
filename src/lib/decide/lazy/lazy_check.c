/*
 * lazy_check.c - the invariants of lazy_state.h, asked one by one.
 *
 * The main one is that an obligation that is not queued is satisfied by the current order.  It is
 * asked here from the definition (what does this read find in this order?), without the shortcuts
 * of the search: no watch lists, no readers of moved versions.  A move after which the search
 * forgets to queue a read is found at the next call.
 *
 * Linear in the history but for the binary searches in the lists of versions.
 */
#include "decide/lazy/added_search.h"
#include "decide/lazy/initial_values.h"
#include "decide/lazy/slot_search.h"

static const char *check_versions(const lazy *z)
{
    const asg *g = z->g;
    for (key_id k = 0; k < history_keys(g->h); k++)
        for (uint32_t i = g->kw_first[k]; i < g->kw_first[k + 1]; i++) {
            if (g->inst_key[z->list[i]] != k) return "a version stands in the list of another key";
            if (z->where[z->list[i]] != i) return "a version does not know its place in its list";
            if (i > g->kw_first[k] && commit_pos(z, z->list[i - 1]) > commit_pos(z, z->list[i]))
                return "versions of a key do not stand in the order of their commits";
        }
    return NULL;
}

static const char *check_queue(const lazy *z)
{
    size_t marks = 0;
    for (size_t i = z->head; i < z->queue.n; i++) {
        uint32_t x = z->queue.at[i];
        bool marked = x & OVERLAP ? z->overlap_queued[x & ~OVERLAP] : z->queued[x];
        if (!marked) return "what stands in the queue is not marked as queued";
    }
    for (size_t ob = 0; ob < z->g->obs; ob++) marks += z->queued[ob];
    for (size_t i = 0; z->overlap_queued && i < z->g->insts; i++) marks += z->overlap_queued[i];
    return marks == z->queue.n - z->head ? NULL : "what is marked as queued is not in the queue";
}

/* Where sources are chosen outright a choice may be undone unnoticed; only at rest all are made. */
static bool choice_satisfied(lazy *z, uint32_t ob, bool at_rest)
{
    const asg *g = z->g;
    if (!at_rest) return true;
    uint32_t cand = paths_choice(z, ob);
    if (cand == NONE) return false;
    uint32_t c = asg_cand(g, z->open_of[ob], cand);
    uint32_t w = c < RF_LAST ? asg_install(g, c, g->ob_key[ob]) : NONE;
    return !strict_read(z->p, ob) || lazy_version_seen(z, g->ob_key[ob], g->ob_node[ob]) == w;
}

/* Does the read, in the current order, see what it reported? */
static bool read_satisfied(lazy *z, uint32_t ob, bool at_rest)
{
    const asg *g = z->g;
    node_id v = g->ob_node[ob];
    uint32_t rf = z->p->rf[ob];
    if (rf == RF_NONE) return true;
    if (rf == RF_OPEN && g->ob_flags[ob] & OB_LIST && !slots_own(z, ob)) return true;
    if (slots_own(z, ob) && !at_rest) return true; /* as for choices below */
    if (z->paths) return paths_at_rest(z, ob);
    if ((lazy_outright(z, ob) || slots_own(z, ob)) && rf == RF_OPEN)
        return choice_satisfied(z, ob, at_rest);
    if (!at_rest && initial_is_open(z, ob)) return true; /* as above */
    if (!strict_read(z->p, ob)) return rf != RF_OPEN || lazy_any_before(z, ob) != RF_OPEN;
    if (rf == RF_INIT && z->p->in[v] && !(g->ob_flags[ob] & OB_OWN)) return true; /* known edges */
    if (rf < RF_LAST) {
        uint32_t u = lazy_next_of_others(z, z->p->rf_inst[ob], v);
        return u == NONE || commit_pos(z, u) > z->pos[begin_of(z->p, v)];
    }
    uint32_t seen = lazy_version_seen(z, g->ob_key[ob], v);
    if (rf == RF_INIT) return seen == NONE;
    if (seen != NONE) return lazy_may_read(z, ob, seen);
    if (!initial_allowed(z, ob)) return false;
    return asg_cand_init(g, z->open_of[ob]);
}

static const char *check_reads(lazy *z, bool at_rest)
{
    for (uint32_t ob = 0; ob < z->g->obs; ob++)
        if (!z->queued[ob] && z->present[z->g->ob_node[ob]] && !read_satisfied(z, ob, at_rest))
            return "a read is broken and not queued";
    return NULL;
}

static const char *check_overlaps(const lazy *z)
{
    const asg *g = z->g;
    for (uint32_t b = 0; z->overlap_queued && b < g->insts; b++) {
        if (z->overlap_queued[b] || !z->present[g->inst_node[b]]) continue;
        if (is_lax_key(z->p, g->inst_key[b])) continue;
        uint32_t a = lazy_version_before(z, b);
        if (a != NONE && commit_pos(z, a) >= z->pos[begin_of(z->p, g->inst_node[b])])
            return "two writers of a key overlap and are not queued";
    }
    return NULL;
}

static const char *check_outcomes(const lazy *z)
{
    if (z->decided.n) return "outcomes have changed and nobody has looked";
    for (node_id v = 0; v < z->p->txns; v++) {
        bool taken = z->p->in[v];
        if (!taken) taken = solver_value(z->s, lit_of(z->taken_var[v], false)) > 0;
        if (taken != z->present[v]) return "a transaction takes part against its literal";
    }
    return NULL;
}

const char *lazy_check(lazy *z, bool at_rest)
{
    const char *wrong = check_versions(z);
    if (!wrong) wrong = check_queue(z);
    if (!wrong) wrong = check_outcomes(z);
    if (!wrong) wrong = check_reads(z, at_rest);
    if (!wrong) wrong = check_overlaps(z);
    if (!wrong && !added_at_rest(z)) wrong = "what a module added is broken and not queued";
    if (!wrong && at_rest && z->head != z->queue.n) wrong = "an order is offered while reads wait";
    return wrong;
}
