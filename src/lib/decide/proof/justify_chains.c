/*
 * justify_chains.c - steps about what lists held, version by version (asg/list_chains.h).
 *
 * The clauses are those that src/lib/verify/chain_step.c makes of the same words.
 */
#include <assert.h>

#include "asg/list_slots.h"
#include "decide/proof/justify_internal.h"

static const list_chains *chains_of(const justify *j)
{
    return &j->g->slots->chains;
}

static uint32_t stands_on(justify *j, node_id v, uint32_t content)
{
    return justify_named(j, LITERAL_STANDS, v, content, 0);
}

static uint32_t right_before(justify *j, node_id v, uint32_t content, node_id w)
{
    return justify_named(j, LITERAL_RIGHT, v, content, w < RF_LAST ? w : NO_ID);
}

uint32_t justify_stands(justify *j, uint32_t stand)
{
    const list_stand *s = &chains_of(j)->stand.at[stand];
    return stands_on(j, s->node, s->before);
}

uint32_t justify_right(justify *j, uint32_t stand, uint32_t leaver)
{
    const list_stand *s = &chains_of(j)->stand.at[stand];
    return right_before(j, s->node, s->before, chains_of(j)->leaver.at[leaver].node);
}

/* Adds that w (NO_ID: the initial state) left the content. */
static void made_left(justify *j, uint32_t content, node_id w)
{
    const list_chains *c = chains_of(j);
    const list_content *x = &c->content.at[content];
    for (uint32_t i = x->leavers; i < x->end; i++) {
        const list_leaver *l = &c->leaver.at[i];
        if ((l->node < RF_LAST ? l->node : NO_ID) != w) continue;
        if (l->stand == LEFT_AT_FIRST)
            vec_push(j->m, &j->made, justify_named(j, LITERAL_FIRST, 0, content, 0));
        else if (l->stand == LEFT_SURELY)
            vec_push(j->m, &j->made, justify_took_part(j, w));
        else
            vec_push(j->m, &j->made, stands_on(j, w, c->stand.at[l->stand].before));
    }
}

/* Adds all that may be right before v, which stands on the content. */
static void made_preds(justify *j, node_id v, uint32_t content)
{
    const list_chains *c = chains_of(j);
    uint32_t twin = c->content.at[content].twin, both[] = {content, twin};
    for (int i = 0; i < 2 && both[i] != NO_ID; i++) {
        const list_content *x = &c->content.at[both[i]];
        for (uint32_t k = x->leavers; k < x->end; k++) {
            const list_leaver *l = &c->leaver.at[k];
            if (l->node == v || (i && l->stand == LEFT_AT_FIRST)) continue;
            vec_push(j->m, &j->made, right_before(j, v, content, l->node));
        }
    }
}

static void made_between_versions(justify *j, node_id v, node_id w, node_id u)
{
    const order_problem *p = j->p;
    if (w != NO_ID)
        vec_push(j->m, &j->made, justify_before(j, commit_of(p, u), version_target(p, w)));
    vec_push(j->m, &j->made, justify_before(j, commit_of(p, v), version_target(p, u)));
}

/* Is the rule one about a read, which `at` names, and not about a node? */
static bool about_read(enum chain_rule rule)
{
    return rule == CHAIN_READ || rule == CHAIN_SOURCE || rule == CHAIN_SAW;
}

uint32_t justify_say_chain(justify *j, enum chain_rule rule, uint32_t at, uint32_t content,
                           node_id w, uint32_t u)
{
    const asg *g = j->g;
    const list_content *on = &chains_of(j)->content.at[content];
    node_id v = about_read(rule) ? g->ob_node[at] : at;
    proof_line x = {.kind = PROOF_CHAIN, .t = v, .w = w, .u = u, .rule = rule, .content = content};
    j->made.n = 0;
    if (about_read(rule)) {
        x.op = g->ob_op[at];
        x.key = g->ob_key[at];
    }
    switch (rule) {
    case CHAIN_ON:
        justify_made_not(j, stands_on(j, v, content));
        made_preds(j, v, content);
        break;
    case CHAIN_IN:
        justify_made_not(j, stands_on(j, v, content));
        vec_push(j->m, &j->made, justify_took_part(j, v));
        break;
    case CHAIN_RIGHT:
        justify_made_not(j, right_before(j, v, content, w));
        vec_push(j->m, &j->made, justify_before(j, commit_of(j->p, w), version_target(j->p, v)));
        break;
    case CHAIN_LEFT:
        justify_made_not(j, right_before(j, v, content, w));
        made_left(j, content, w);
        if (on->twin != NO_ID) made_left(j, on->twin, w);
        break;
    case CHAIN_IS:
        justify_made_not(j, right_before(j, v, content, w));
        vec_push(j->m, &j->made, stands_on(j, v, content));
        break;
    case CHAIN_READ:
        justify_made_not(j, justify_reads(j, at, w));
        made_left(j, content, w);
        break;
    case CHAIN_OWN:
        x.t = v = u;
        x.op = at;
        x.u = 0;
        justify_made_not(j, justify_took_part(j, v));
        vec_push(j->m, &j->made, stands_on(j, v, content));
        break;
    case CHAIN_SOURCE:
        justify_made_not(j, justify_reads(j, at, w));
        vec_push(j->m, &j->made, right_before(j, v, content, w));
        break;
    case CHAIN_SAW: justify_made_not(j, stands_on(j, v, content)); break;
    case CHAIN_ONE:
        if (v == NO_ID) {
            justify_made_not(j, justify_named(j, LITERAL_FIRST, 0, content, 0));
            justify_made_not(j, justify_named(j, LITERAL_FIRST, 0, u, 0));
        } else {
            justify_made_not(j, stands_on(j, v, content));
            justify_made_not(j, stands_on(j, v, u));
        }
        break;
    case CHAIN_BETWEEN:
        justify_made_not(j, right_before(j, v, content, w));
        made_between_versions(j, v, w, u);
        break;
    case CHAIN_RULES: return 0;
    }
    return justify_axiom(j, x);
}
