/*
 * api_survey.c - the entry points that choose a level and explain it: they put the questions of
 * verdict/survey.h to ratel_check, one after the other.
 *
 * A limit of the caller's is one limit for all of them together: each call gets what is left of it.
 * Answers are kept, so that the level that is explained in the end is not decided a second time.
 */
#include <string.h>

#define RATEL_EXPERIMENTAL
#include "ratel.h"

#include "api/api_internal.h"
#include "history/key_sessions.h"
#include "verdict/survey.h"

typedef struct explained {
    ratel_result *result;
    ratel_explanation *why;
} explained;

struct ratel_survey {
    mem_fn fn;
    void *ud;
    survey s;
    int64_t limit_ms; /* the caller's; 0: none */
    uint64_t since;
    ratel_result *answers[LEVELS]; /* of the levels that were asked, by level; NULL: not asked */
    explained x;
    const char *instead_of;
    ratel_found found[LEVELS];
    size_t n;
};

static void forget_explained(explained *x)
{
    ratel_explanation_free(x->why);
    ratel_result_free(x->result);
    memset(x, 0, sizeof *x);
}

/* Gives the next call what is left of the caller's limit, at least a millisecond: a call that is
   made at all says `undecided`, and no limit at all would be the opposite. */
static void limit_call(const ratel_survey *v, ratel *r, int64_t most_ms)
{
    int64_t ms = most_ms;
    if (v->limit_ms) {
        int64_t left = v->limit_ms - (int64_t)((clock_now() - v->since) / 1000000);
        if (left < 1) left = 1;
        if (!ms || left < ms) ms = left;
    }
    r->values[API_OPTION_time] = ms;
}

static int explain_named(ratel_survey *v, explained *x, ratel *r, const ratel_history *h,
                         const char *level)
{
    limit_call(v, r, 0);
    int code = x->result ? RATEL_OK : ratel_check(&x->result, r, h, level);
    limit_call(v, r, 0);
    return code ? code : ratel_explain(&x->why, r, h, x->result);
}

/* The level may have been answered before. */
static int explain_level(ratel_survey *v, explained *x, ratel *r, const ratel_history *h,
                         enum level_id level)
{
    x->result = v->answers[level];
    v->answers[level] = NULL;
    return explain_named(v, x, r, h, level_at(level)->name);
}

static void learn_from(survey *s, const ratel_result *a)
{
    survey_learn(s, &a->v.level, a->v.session_order, a->v.outcome);
}

static int ask_level(ratel_survey *v, ratel *r, const ratel_history *h, enum level_id level,
                     int64_t ms)
{
    uint64_t since = clock_now();
    limit_call(v, r, ms);
    int code = ratel_check(&v->answers[level], r, h, level_at(level)->name);
    if (code) return code;
    /* what is decided in full does not use up the time of what is told along */
    if (ms) survey_spent(&v->s, (int64_t)((clock_now() - since) / 1000000));
    learn_from(&v->s, v->answers[level]);
    return RATEL_OK;
}

/* The weakest level was violated, but nothing short shows it: a stronger one may have an
   argument. */
static int explain_stronger(ratel_survey *v, ratel *r, const ratel_history *h)
{
    enum level_id weakest = v->x.result->v.level.id, level;
    for (size_t i = 0; survey_stronger(&v->s, weakest, i, &level); i++) {
        explained y = {0};
        int code = explain_level(v, &y, r, h, level);
        if (!code && ratel_explanation_shown(y.why, NULL)) {
            forget_explained(&v->x);
            v->x = y;
            v->instead_of = level_at(weakest)->name;
            return RATEL_OK;
        }
        forget_explained(&y);
        if (code) return code;
    }
    return RATEL_OK;
}

static int run_survey(ratel_survey *v, ratel *r, const ratel_history *h, const char *level)
{
    ratel_stat st;
    enum level_id next;
    int64_t ms;
    int code = ratel_history_stat(&st, r, h);
    if (code) return code;
    survey_facts of = {.times = st.with_times > 0,
                       .mixed = h->model->some_level,
                       .single = history_first_larger(h->model) == NO_ID};
    survey_begin(&v->s, of, r->values[API_OPTION_session_order] != 0, !level, v->limit_ms);
    if (h->model->assumed) { /* under additions no level follows from another: one is asked */
        v->s.n = 0;
        return explain_named(v, &v->x, r, h, level ? level : level_at(LEVEL_SER)->name);
    }
    if (level && (code = explain_named(v, &v->x, r, h, level)) != RATEL_OK) return code;
    if (level) learn_from(&v->s, v->x.result);
    if (v->limit_ms) survey_spent(&v->s, (int64_t)((clock_now() - v->since) / 1000000));
    if (!st.txns) v->s.n = 0; /* nothing to ask about */
    while (!code && survey_next(&v->s, &next, &ms)) code = ask_level(v, r, h, next, ms);
    if (code || level) return code;
    code = explain_level(v, &v->x, r, h, survey_choice(&v->s));
    if (!code && v->x.result->v.outcome == OUTCOME_VIOLATED &&
        !ratel_explanation_shown(v->x.why, NULL))
        code = explain_stronger(v, r, h);
    return code;
}

int ratel_survey_run(ratel_survey **out, ratel *r, const ratel_history *h, const char *level)
{
    if (!out || !r || !h) return RATEL_EINVAL;
    *out = NULL;
    ratel_survey *v = r->fn(r->ud, NULL, 0, sizeof *v);
    if (!v) return api_fail(r, RATEL_ENOMEM, "out of memory");
    memset(v, 0, sizeof *v);
    v->fn = r->fn;
    v->ud = r->ud;
    v->limit_ms = r->values[API_OPTION_time];
    v->since = clock_now();
    int code = run_survey(v, r, h, level);
    r->values[API_OPTION_time] = v->limit_ms;
    if (code) {
        ratel_survey_free(v);
        return code;
    }
    for (; v->n < v->s.n; v->n++) {
        const surveyed *x = &v->s.at[v->n];
        v->found[v->n] = (ratel_found){level_at(x->level)->name,
                                       x->outcome == OUTCOME_HOLDS      ? RATEL_HOLDS
                                       : x->outcome == OUTCOME_VIOLATED ? RATEL_VIOLATED
                                                                        : RATEL_UNDECIDED};
    }
    *out = v;
    return RATEL_OK;
}

const ratel_result *ratel_survey_result(const ratel_survey *s)
{
    return s ? s->x.result : NULL;
}

const ratel_explanation *ratel_survey_explanation(const ratel_survey *s)
{
    return s ? s->x.why : NULL;
}

void ratel_survey_tell(const ratel_survey *s, ratel_telling *out)
{
    if (!s || !out) return;
    out->found = s->found;
    out->n_found = s->n;
    out->session_order = s->s.session_order;
    out->instead_of = s->instead_of;
}

void ratel_survey_free(ratel_survey *s)
{
    if (!s) return;
    forget_explained(&s->x);
    for (size_t i = 0; i < LEVELS; i++) ratel_result_free(s->answers[i]);
    s->fn(s->ud, s, sizeof *s, 0);
}
