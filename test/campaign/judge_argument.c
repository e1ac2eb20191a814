/*
 * judge_argument.c - arguments of explain, checked again, and looked for where there can be none.
 */
#include "campaign.h"
#include "wary_memory.h"

#include "api/api_internal.h"
#include "explain/explain.h"
#include "history/key_sessions.h"

static void find_where_it_holds(const history *h, mem *m, const verdict *v, bool *found)
{
    txn_id all[SCENE_MOST];
    size_t n = 0;
    for (size_t t = 0; t < h->txns && n < SCENE_MOST; t++)
        if (txn_status_of(h, (txn_id)t) != TXN_ABORTED) all[n++] = (txn_id)t;
    scene sc;
    argument arg = {.m = m};
    actors who = 0;
    arg_ask ask = {v->level.id, v->session_order, v->level.realtime || v->level.id == LEVEL_SSER,
                   v->drift};
    if (!shape_of(ask.level)) return;
    scene_build(&sc, m, h, v->ryow, all, n);
    *found = argument_find(&arg, &sc, &ask, &who) && !argument_check(&arg, &sc, &ask, m);
}

/* NULL, or what is wrong. */
static const char *wrong_with_it(campaign *c, const history *h, mem *m, const verdict *v,
                                 bool holds)
{
    explanation e;
    bool found = false;
    if (holds) {
        c->t->refuted++;
        find_where_it_holds(h, m, v, &found);
        return found ? "there is an argument against a level that holds" : NULL;
    }
    explain_ask q = {v->level,   v->session_order, v->ryow,   v->drift,
                     v->anomaly, v->core.at,       v->core.n, false};
    if (v->through) level_named(&q.level, v->through);
    explain(&e, m, h, &q);
    c->t->arguments += e.argued;
    c->t->unargued += !e.argued;
    return e.argued ? argument_check(&e.arg, &e.scene, &e.ask, m) : NULL;
}

bool judge_argument(campaign *c, const ratel_history *h, const ratel_result *a, const cell *at,
                    bool holds, failure *f)
{
    guard border;
    mem m;
    guard_init(&border);
    mem_init(&m, wary_memory, NULL, &border);
    if (guard_armed(&border)) {
        mem_free_all(&m);
        return fail_cell(f, "argument", at, "%s", border.text);
    }
    /* Arguments against linearizable are about each key by itself, as explain's are. */
    const history *of = a->v.level.id == LEVEL_LIN ? key_sessions(h->model, &m) : h->model;
    const char *wrong = wrong_with_it(c, of, &m, &a->v, holds);
    mem_free_all(&m);
    return !wrong || fail_cell(f, "argument", at, "%s", wrong);
}
