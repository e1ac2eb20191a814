/*
 * api_coverage.c - the entry point that says what "holds" was worth.
 */
#include <string.h>

#define RATEL_EXPERIMENTAL
#include "ratel.h"

#include "api/api_internal.h"
#include "base/clock.h"
#include "coverage/coverage.h"

typedef struct coverage_call {
    call c;
    const history *h;
    covering cover;
    coverage found;
    question q;
    mem work;
} coverage_call;

static void body_dependencies(call *c)
{
    coverage_call *cc = (coverage_call *)c;
    cover_dependencies(&cc->cover, cc->h);
}

static void body_changes(call *c)
{
    coverage_call *cc = (coverage_call *)c;
    cover_changed_reads(&cc->cover, cc->h);
}

static void put_names(ratel_coverage *out, const coverage *f, const history *m)
{
    _Static_assert(APART_NAMED == RATEL_COVERAGE_NAMES, "both name as many");
    for (size_t i = 0; i < APART_NAMED && i < f->keys_apart; i++)
        api_put_atom(m, key_atom(m, f->key_apart[i]), out->key_apart[i], sizeof out->key_apart[i]);
    for (size_t i = 0; i < APART_NAMED && i < f->sessions_apart; i++)
        api_put_atom(m, label_atom(m, m->sessions.at[f->session_apart[i]]), out->session_apart[i],
                     sizeof out->session_apart[i]);
}

static void put_coverage(ratel_coverage *out, const coverage *f, const history *m)
{
    *out = (ratel_coverage){.changes = f->changes,
                            .tried = f->tried,
                            .seen = f->seen,
                            .missed = f->missed,
                            .undecided = f->undecided,
                            .exact = f->tried == f->changes,
                            .reads_known = f->reads_known,
                            .reads_open = f->reads_open,
                            .versions_known = f->versions_known,
                            .versions_inferred = f->versions_inferred,
                            .versions_open = f->versions_open,
                            .keys = f->keys,
                            .keys_apart = f->keys_apart,
                            .sessions = f->sessions,
                            .sessions_apart = f->sessions_apart,
                            .updates_overlap = f->updates_overlap,
                            .aborted_read = f->aborted_read,
                            .overwritten_read = f->overwritten_read,
                            .pairs_read = f->pairs_read,
                            .ranges_read = f->ranges_read};
    for (uint32_t i = 0; i < ANOMALIES && out->kinds < RATEL_COVERAGE_KINDS; i++)
        if (f->places[i]) {
            out->kind[out->kinds].anomaly = anomaly_at(i)->name;
            out->kind[out->kinds++].places = f->places[i];
        }
    put_names(out, f, m);
}

int ratel_coverage_run(ratel_coverage *out, ratel *r, const ratel_history *h, const ratel_result *a,
                       uint64_t most, double seconds)
{
    if (!out || !r || !h || !a || !most || !(seconds >= 0)) return RATEL_EINVAL;
    coverage_call cc;
    memset(&cc, 0, sizeof cc);
    memset(out, 0, sizeof *out);
    api_open(&cc.c, r);
    if (!h->model->frozen) return api_fail(r, RATEL_EINVAL, "the history is still being built");
    if (!a->v.h || history_as_recorded(a->v.h) != h->model)
        return api_fail(r, RATEL_EINVAL, "the result belongs to another history");
    if (a->v.outcome != OUTCOME_HOLDS)
        return api_fail(r, RATEL_EINVAL, "coverage is computed only for a level that holds");
    cc.h = h->model;
    mem_init(&cc.work, r->fn, r->ud, &cc.c.guard);
    cc.q = api_question(r, a->v.given);
    cc.q.quick = true;
    cc.q.tune.portfolio = cc.q.tune.threads = 1;
    cc.cover = (covering){.m = &cc.work,
                          .memory_limit = api_memory(r),
                          .q = &cc.q,
                          .v = &a->v,
                          .most = most,
                          .seed = (uint64_t)r->values[API_OPTION_seed],
                          .out = &cc.found};
    if (seconds > 0) cc.cover.until = clock_now() + (uint64_t)(seconds * 1e9);
    mem_init(&cc.cover.scratch, r->fn, r->ud, &cc.c.guard);
    mem_init(&cc.cover.keep, r->fn, r->ud, &cc.c.guard);
    mem_init(&cc.cover.work, r->fn, r->ud, &cc.c.guard);
    int code = api_border(&cc.c, body_dependencies);
    if (!code) code = api_border(&cc.c, body_changes);
    covering_close(&cc.cover);
    mem_free_all(&cc.work);
    /* a limit leaves a smaller sample */
    if (code == RATEL_ETIME || code == RATEL_EINTERRUPT) code = RATEL_OK;
    if (!code) put_coverage(out, &cc.found, cc.h);
    return api_close(&cc.c, code);
}
