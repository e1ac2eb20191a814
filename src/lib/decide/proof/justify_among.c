/*
 * justify_among.c - the step of a proof against a cycle of serializable transactions (mixed-pg).
 *
 * Unlike the loops of update serializability, events here are begins and commits, and of an
 * anti-dependency the step says on which side of both versions every other writer of another level
 * stands: one between them would undo it.
 */
#include "decide/proof/justify_internal.h"

/* "b's version is before a's", where the hop says that a's is before b's. */
static void made_turn(justify *j, node_id a, node_id b)
{
    vec_push(j->m, &j->made, justify_before(j, commit_of(j->p, b), version_target(j->p, a)));
}

/* What denies that nobody of another level wrote between `read` (NO_ID: the initial version) and
   `next`. */
static void made_apart(justify *j, key_id k, node_id read, node_id next, const proof_hop *sides,
                       size_t n)
{
    asg *g = j->g;
    if (!j->side) j->side = mem_array0(j->m, uint8_t, (size_t)g->nodes + 1);
    size_t said = 0;
    for (; said < n && (sides[said].kind == HOP_BEHIND || sides[said].kind == HOP_OUT); said++)
        j->side[sides[said].to] = (uint8_t)sides[said].kind;
    asg_by_key(g);
    for (uint32_t i = g->kw_first[k]; i < g->kw_first[k + 1]; i++) {
        node_id y = g->inst_node[g->kw_inst[i]];
        if (g->serial[y] || y == read) continue;
        if (j->side[y] == HOP_OUT)
            vec_push(j->m, &j->made, justify_took_part(j, y));
        else if (j->side[y] == HOP_BEHIND)
            made_turn(j, next, y);
        else
            made_turn(j, y, read);
    }
    for (size_t i = 0; i < said; i++) j->side[sides[i].to] = 0;
}

uint32_t justify_say_among(justify *j, node_id v, const proof_hop *hops, size_t n)
{
    proof_line x = {.kind = PROOF_AMONG, .t = v, .first = j->lines_pool.n, .n = 4 * n};
    node_id at = v;
    j->made.n = 0;
    for (size_t i = 0; i < n; i++) {
        const proof_hop *p = &hops[i];
        const uint32_t words[] = {p->kind, p->to, p->with, p->from};
        for (size_t k = 0; k < 4; k++) vec_push(j->m, &j->lines_pool, words[k]);
        if (p->kind == HOP_BEHIND || p->kind == HOP_OUT) continue;
        if (p->kind == HOP_WR) justify_made_not(j, justify_reads(j, p->with, p->to));
        if (p->kind == HOP_WW) made_turn(j, p->to, at);
        if (p->kind == HOP_RW) {
            justify_made_not(j, justify_reads(j, p->with, p->from));
            if (p->from != NO_ID) made_turn(j, p->from, at);
            made_apart(j, j->g->ob_key[p->with], p->from, at, hops + i + 1, n - i - 1);
        }
        justify_made_not(j, justify_took_part(j, p->to));
        at = p->to;
    }
    return justify_axiom(j, x);
}
