/*
 * candidates.c - which writers an ambiguous read may have seen, shared by reads.
 *
 * Where many transactions write one value of a key and many read it, pairs of read and writer are
 * as many as the product.  They are not stored: a read refers to a group, the writers of its value,
 * and to the place of its own transaction in it, which is left out.  Pairs have numbers all the
 * same (cand_first), so that searches can keep something for each of them.
 */
#include "asg/asg.h"

uint32_t asg_cand_group(asg *g, size_t first)
{
    assert(first <= g->cand_pool.n);
    if (g->cand_pool.n >= UINT32_MAX - 16)
        guard_fail(g->m->guard, GUARD_UNSUPPORTED, "more than 2^32 writers of ambiguous values");
    cand_group x = {(uint32_t)first, (uint32_t)(g->cand_pool.n - first)};
    vec_push(g->m, &g->cand_groups, x);
    return (uint32_t)g->cand_groups.n - 1;
}

void asg_open(asg *g, uint32_t ob, uint32_t group, uint32_t skip)
{
    assert(ob < g->obs && group < g->cand_groups.n);
    assert(skip == NO_ID || skip < g->cand_groups.at[group].n);
    uint64_t end = (uint64_t)asg_cands(g) + g->cand_groups.at[group].n - (skip != NO_ID);
    if (end >= UINT32_MAX - 16)
        guard_fail(g->m->guard, GUARD_UNSUPPORTED, "more than 2^32 read-from candidates");
    cand_ref r = {group, skip};
    vec_push(g->m, &g->open, ob);
    vec_push(g->m, &g->cand_ref, r);
    vec_push(g->m, &g->cand_first, (uint32_t)end);
}

void asg_unopen(asg *g, size_t open, size_t groups)
{
    assert(open <= g->open.n && groups <= g->cand_groups.n);
    if (groups < g->cand_groups.n) g->cand_pool.n = g->cand_groups.at[groups].first;
    g->open.n = g->cand_ref.n = open;
    g->cand_first.n = open + 1;
    g->cand_groups.n = groups;
}
