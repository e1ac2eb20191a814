/*
 * api_shrink.c - the entry points that make a violated history small.
 *
 * A limit that strikes meanwhile is no error once something smaller was found: that is the answer,
 * and it says that it may not be the smallest.
 */
#include <stdio.h>
#include <string.h>

#define RATEL_EXPERIMENTAL
#include "ratel.h"

#include "api/api_internal.h"
#include "shrink/remainder.h"
#include "shrink/shrink.h"
#include "verdict/sums.h"

typedef struct shrink_call {
    call c;
    const history *h;
    shrinking s;
    question q;
    mem work;
    ratel_judge_cb judge;
    void *payload;
    ratel_history shown; /* what a judge of the caller's sees: a shell around the trial */
} shrink_call;

static void body_shrink(call *c)
{
    shrink_call *sc = (shrink_call *)c;
    shrink_history(&sc->s, sc->h);
}

/* A foreign frame: nothing of ours jumps over it, since what it is shown is frozen. */
static int ask_caller(const history *h, void *payload)
{
    shrink_call *sc = payload;
    sc->shown.model = (history *)(uintptr_t)h;
    return sc->judge(&sc->shown, sc->payload);
}

static int finish(shrink_call *sc, ratel_history **out, ratel_shrunk *shrunk, int code)
{
    ratel *r = sc->c.r;
    shrinking *s = &sc->s;
    bool limited = code == RATEL_ETIME || code == RATEL_EINTERRUPT ||
                   (code == RATEL_ENOMEM && s->memory_limit);
    char reason[sizeof shrunk->reason] = "";
    if (limited && s->best) {
        snprintf(reason, sizeof reason, "%.*s", (int)sizeof reason - 1, sc->c.guard.text);
        code = RATEL_OK;
    }
    ratel_history *h = NULL;
    if (!code) {
        h = r->fn(r->ud, NULL, 0, sizeof *h);
        if (!h) code = api_fail(r, RATEL_ENOMEM, "out of memory");
    }
    shrink_close(s);
    mem_free_all(&sc->work);
    if (code) {
        history_free(s->best);
        return api_close(&sc->c, code);
    }
    memset(h, 0, sizeof *h);
    h->fn = r->fn;
    h->ud = r->ud;
    h->format = "ratel";
    h->current = NO_ID;
    h->model = s->best;
    history_set_guard(h->model, NULL);
    *out = h;
    if (!shrunk) return RATEL_OK;
    *shrunk = (ratel_shrunk){.anomaly = s->anomaly < ANOMALIES ? anomaly_at(s->anomaly)->name : "",
                             .txns = s->best->txns,
                             .ops = s->best->ops,
                             .trials = s->trials,
                             .minimal = s->minimal};
    memcpy(shrunk->reason, reason, sizeof reason);
    return RATEL_OK;
}

static void open_shrink(shrink_call *sc, const ratel_history *h)
{
    ratel *r = sc->c.r;
    sc->h = h->model;
    mem_init(&sc->work, r->fn, r->ud, &sc->c.guard);
    sc->s.m = &sc->work;
    sc->s.memory_limit = api_memory(r);
    sc->s.seed = (uint64_t)r->values[API_OPTION_seed];
}

int ratel_shrink(ratel_history **out, ratel *r, const ratel_history *h, const ratel_result *a,
                 ratel_shrunk *shrunk)
{
    if (!out || !r || !h || !a) return RATEL_EINVAL;
    shrink_call sc;
    memset(&sc, 0, sizeof sc);
    *out = NULL;
    api_open(&sc.c, r);
    if (!h->model->frozen) return api_fail(r, RATEL_EINVAL, "the history is still being built");
    if (!a->v.h || history_as_recorded(a->v.h) != h->model)
        return api_fail(r, RATEL_EINVAL, "the result belongs to another history");
    if (a->v.outcome != OUTCOME_VIOLATED)
        return api_fail(r, RATEL_EINVAL, "only a violated history can be made smaller");
    if (history_has_sums(h->model))
        return api_fail(r, RATEL_EUNSUPPORTED,
                        "a counter or a bank is not made smaller: its sums need every operation");
    open_shrink(&sc, h);
    sc.q = api_question(r, a->v.given);
    sc.q.quick = true;
    sc.q.tune.portfolio = sc.q.tune.threads = 1;
    sc.q.tune.seed = 0;
    sc.s.q = &sc.q;
    sc.s.level = a->v.level;
    sc.s.whole = &a->v;
    return finish(&sc, out, shrunk, api_border(&sc.c, body_shrink));
}

int ratel_shrink_by(ratel_history **out, ratel *r, const ratel_history *h, ratel_judge_cb by,
                    void *payload, ratel_shrunk *shrunk)
{
    if (!out || !r || !h || !by) return RATEL_EINVAL;
    shrink_call sc;
    memset(&sc, 0, sizeof sc);
    *out = NULL;
    api_open(&sc.c, r);
    if (!h->model->frozen) return api_fail(r, RATEL_EINVAL, "the history is still being built");
    open_shrink(&sc, h);
    sc.judge = by;
    sc.payload = payload;
    sc.shown.format = "ratel";
    sc.shown.current = NO_ID;
    sc.shown.fn = r->fn;
    sc.shown.ud = r->ud;
    sc.s.other = ask_caller;
    sc.s.payload = &sc;
    return finish(&sc, out, shrunk, api_border(&sc.c, body_shrink));
}

/* --- what is left without a violation --------------------------------------------------------- */

typedef struct without_call {
    call c;
    const history *h;
    const verdict *v;
    mem work, scratch;
    ratel_history *made;
} without_call;

static void body_without(call *c)
{
    without_call *wc = (without_call *)c;
    const history *h = wc->h;
    sub_mask out = {.txn = mem_zeroed(&wc->work, h->txns + 1),
                    .op = mem_zeroed(&wc->work, h->ops + 1),
                    .key = mem_zeroed(&wc->work, history_keys(h) + 1)};
    for (size_t i = 0; i < wc->v->core.n; i++) out.txn[wc->v->core.at[i]] = 1;
    sub_history(wc->made->model, h, &out, NULL, &wc->scratch);
}

int ratel_history_without(ratel_history **out, ratel *r, const ratel_history *h,
                          const ratel_result *a)
{
    if (!out || !r || !h || !a) return RATEL_EINVAL;
    without_call wc;
    memset(&wc, 0, sizeof wc);
    *out = NULL;
    api_open(&wc.c, r);
    if (!h->model->frozen) return api_fail(r, RATEL_EINVAL, "the history is still being built");
    if (!a->v.h || history_as_recorded(a->v.h) != h->model)
        return api_fail(r, RATEL_EINVAL, "the result belongs to another history");
    if (a->v.outcome != OUTCOME_VIOLATED || !a->v.core.n)
        return api_fail(r, RATEL_EINVAL, "the result names no transactions of a violation");
    if (a->v.level.id == LEVEL_NLU || a->v.level.id == LEVEL_MIXED_PG)
        return api_fail(r, RATEL_EUNSUPPORTED,
                        "at %s a part may be violated where the whole is not",
                        level_at(a->v.level.id)->name);
    wc.h = h->model;
    wc.v = &a->v;
    mem_init(&wc.work, r->fn, r->ud, &wc.c.guard);
    mem_init(&wc.scratch, r->fn, r->ud, &wc.c.guard);
    int code = api_new_history(&wc.made, &wc.c);
    if (!code) code = api_border(&wc.c, body_without);
    mem_free_all(&wc.scratch);
    mem_free_all(&wc.work);
    api_close(&wc.c, code);
    if (code) {
        ratel_history_free(wc.made);
        return code;
    }
    wc.made->format = "ratel";
    history_set_guard(wc.made->model, NULL);
    *out = wc.made;
    return RATEL_OK;
}
