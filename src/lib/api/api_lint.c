/*
 * api_lint.c - ratel_lint_run and what it finds, the repairs, and the shape of a history.
 *
 * A ratel_lint owns all its texts, so it may outlive history and context.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#define RATEL_EXPERIMENTAL
#include "ratel.h"

#include "api/api_internal.h"
#include "lint/lint.h"

/* One finding as text; NULL where there is nothing. */
typedef struct told {
    enum lint_id id;
    uint64_t count;
    const char *unit, *example, *txn[2], *key;
} told;

struct ratel_lint {
    mem_fn fn;
    void *ud;
    mem mem;
    VEC(told) findings;
};

typedef struct lint_call {
    call c;
    const history *h;
    mem work;
    lint found;
    ratel_lint *out;
    /* of repairs */
    ratel_history *fixed;
    const char *init, *only;
    fixes x;
} lint_call;

static_assert((int)LINT_NOTE == (int)RATEL_NOTE && (int)LINT_WARNING == (int)RATEL_WARNING &&
                  (int)LINT_MEANINGLESS == (int)RATEL_MEANINGLESS,
              "lint.h and ratel.h number severities alike");

/* --- the table -------------------------------------------------------------------------------- */

int ratel_lint_rule_at(ratel_lint_rule *out, size_t i)
{
    const lint_info *l = lint_at(i);
    if (!out || !l) return RATEL_EINVAL;
    *out = (ratel_lint_rule){.id = l->name,
                             .text = l->text,
                             .advice = l->advice,
                             .fix = l->fix,
                             .severity = (ratel_severity)l->severity,
                             .in_check = l->cost != LINT_DEAR,
                             .needs_level = l->cost == LINT_ASKED};
    return RATEL_OK;
}

/* --- findings --------------------------------------------------------------------------------- */

static char *keep_text(mem *m, strbuf *b)
{
    strbuf_cstr(b);
    char *s = mem_get(m, b->n + 1);
    memcpy(s, b->at, b->n + 1);
    b->n = 0;
    return s;
}

static void add_finding(lint_call *lc, const finding *f)
{
    mem *m = &lc->out->mem;
    told t = {.id = f->id, .count = f->count, .unit = f->unit};
    strbuf b;
    strbuf_init(&b, &lc->work);
    strbuf_str(&b, f->example ? f->example : "");
    t.example = keep_text(m, &b);
    for (int i = 0; i < 2 && f->txn[i] != NO_ID; i++) {
        label_text(lc->h, lc->h->txn_label[f->txn[i]], &b);
        t.txn[i] = keep_text(m, &b);
    }
    if (f->key != NO_ID) {
        atom_text(lc->h, key_atom(lc->h, f->key), &b);
        t.key = keep_text(m, &b);
    }
    strbuf_free(&b);
    vec_push(m, &lc->out->findings, t);
}

static void body_lint(call *c)
{
    lint_call *lc = (lint_call *)c;
    guard_stage(&c->guard, "lint", NULL, 0);
    lint_run(&lc->found, lc->h, &lc->work);
    for (size_t i = 0; i < lc->found.findings.n; i++) add_finding(lc, &lc->found.findings.at[i]);
}

static ratel_lint *new_lint(lint_call *lc, ratel *r)
{
    ratel_lint *l = r->fn(r->ud, NULL, 0, sizeof *l);
    if (!l) return NULL;
    memset(l, 0, sizeof *l);
    l->fn = r->fn;
    l->ud = r->ud;
    mem_init(&l->mem, r->fn, r->ud, &lc->c.guard);
    return l;
}

int ratel_lint_run(ratel_lint **out, ratel *r, const ratel_history *h)
{
    if (!out || !r || !h) return RATEL_EINVAL;
    lint_call lc = {0};
    *out = NULL;
    api_open(&lc.c, r);
    if (!h->model->frozen) return api_fail(r, RATEL_EINVAL, "the history is still being built");
    lc.h = h->model;
    mem_init(&lc.work, r->fn, r->ud, &lc.c.guard);
    lc.work.limit = api_memory(r);
    lc.out = new_lint(&lc, r);
    if (!lc.out) return api_fail(r, RATEL_ENOMEM, "out of memory");
    int code = api_border(&lc.c, body_lint);
    mem_free_all(&lc.work);
    api_close(&lc.c, code);
    if (code) {
        ratel_lint_free(lc.out);
        return code;
    }
    lc.out->mem.guard = NULL;
    *out = lc.out;
    return RATEL_OK;
}

int ratel_lint_at(const ratel_lint *l, size_t i, ratel_finding *out)
{
    if (!l || !out || i >= l->findings.n) return RATEL_EINVAL;
    const told *t = &l->findings.at[i];
    const lint_info *info = lint_at(t->id);
    *out = (ratel_finding){.id = info->name,
                           .text = info->text,
                           .advice = info->advice,
                           .fix = info->fix,
                           .severity = (ratel_severity)info->severity,
                           .count = t->count,
                           .unit = t->unit,
                           .example = t->example,
                           .txn = {t->txn[0], t->txn[1]},
                           .key = t->key};
    return RATEL_OK;
}

void ratel_lint_free(ratel_lint *l)
{
    if (!l) return;
    mem_free_all(&l->mem);
    l->fn(l->ud, l, sizeof *l, 0);
}

/* --- repairs ---------------------------------------------------------------------------------- */

static txn_id named_txn(lint_call *lc, const char *name)
{
    strbuf b;
    strbuf_init(&b, &lc->work);
    txn_id found = NO_ID;
    for (txn_id t = 0; t < lc->h->txns && found == NO_ID; t++) {
        b.n = 0;
        label_text(lc->h, lc->h->txn_label[t], &b);
        if (!strcmp(strbuf_cstr(&b), name)) found = t;
    }
    strbuf_free(&b);
    if (found == NO_ID) guard_fail(&lc->c.guard, GUARD_INVAL, "no transaction \"%.200s\"", name);
    return found;
}

/* Every repair, or those that are listed. */
static lint_set wanted_fixes(lint_call *lc)
{
    lint_set want = 0;
    for (size_t i = 0; i < LINTS; i++)
        if (lint_at(i)->fix) want |= lint_bit((enum lint_id)i);
    if (!lc->only) return want;
    lint_set listed = 0;
    for (const char *p = lc->only; *p;) {
        size_t n = strcspn(p, ","), i = 0;
        while (i < LINTS && (strncmp(lint_at(i)->name, p, n) || lint_at(i)->name[n])) i++;
        if (i == LINTS) guard_fail(&lc->c.guard, GUARD_INVAL, "no finding \"%.*s\"", (int)n, p);
        listed |= lint_bit((enum lint_id)i);
        p += n + (p[n] == ',');
    }
    return want & listed;
}

static void body_fix(call *c)
{
    lint_call *lc = (lint_call *)c;
    lc->x.init = lc->init ? named_txn(lc, lc->init) : NO_ID;
    lc->x.want = wanted_fixes(lc);
    lint_run(&lc->found, lc->h, &lc->work);
    lint_fix(lc->fixed->model, &lc->found, &lc->x, &lc->work);
    history_freeze(lc->fixed->model);
    for (size_t i = 0; i < LINTS; i++) {
        if (!lc->x.count[i]) continue;
        finding f = {.id = (enum lint_id)i,
                     .count = lc->x.count[i],
                     .unit = i == LINT_SESSION_OVERLAP     ? "sessions"
                             : i == LINT_FAILED_STATEMENTS ? "statements"
                                                           : "transactions",
                     .txn = {NO_ID, NO_ID},
                     .key = NO_ID};
        add_finding(lc, &f);
    }
}

int ratel_history_fix(ratel_history **out, ratel_lint **done, ratel *r, const ratel_history *h,
                      const char *only, const char *init)
{
    if (!out || !done || !r || !h) return RATEL_EINVAL;
    lint_call lc = {0};
    *out = NULL;
    *done = NULL;
    api_open(&lc.c, r);
    if (!h->model->frozen) return api_fail(r, RATEL_EINVAL, "the history is still being built");
    lc.h = h->model;
    lc.only = only;
    lc.init = init;
    mem_init(&lc.work, r->fn, r->ud, &lc.c.guard);
    lc.work.limit = api_memory(r);
    lc.out = new_lint(&lc, r);
    if (!lc.out) return api_fail(r, RATEL_ENOMEM, "out of memory");
    int code = api_new_history(&lc.fixed, &lc.c);
    if (!code) code = api_border(&lc.c, body_fix);
    mem_free_all(&lc.work);
    api_close(&lc.c, code);
    if (code) {
        ratel_lint_free(lc.out);
        ratel_history_free(lc.fixed);
        return code;
    }
    lc.out->mem.guard = NULL;
    history_set_guard(lc.fixed->model, NULL);
    lc.fixed->format = "ratel";
    *out = lc.fixed;
    *done = lc.out;
    return RATEL_OK;
}

/* --- shape ------------------------------------------------------------------------------------ */

typedef struct shape_call {
    call c;
    const history *h;
    mem work;
    bool ambiguous;
    shape s;
    ratel_shape *out;
} shape_call;

static void put_name(strbuf *b, char *to, size_t cap)
{
    snprintf(to, cap, "%s", strbuf_cstr(b));
    b->n = 0;
}

static void body_shape(call *c)
{
    shape_call *sc = (shape_call *)c;
    ratel_shape *out = sc->out;
    const shape *s = &sc->s;
    strbuf b;
    shape_gather(&sc->s, sc->ambiguous, sc->h, &sc->work);
    memset(out, 0, sizeof *out);
    out->first = s->first;
    out->last = s->last;
    out->timed = s->timed;
    memcpy(out->open, s->open, sizeof out->open);
    memcpy(out->sizes, s->sizes, sizeof out->sizes);
    memcpy(out->sources, s->sources, sizeof out->sources);
    out->ambiguity_counted = s->has_sources;
    out->most_sources = s->most_sources;
    for (size_t i = 2; i < SHAPE_CLASSES; i++) out->ambiguous_reads += s->sources[i];
    out->touches = s->touches;
    out->top1 = s->top1;
    out->top10 = s->top10;
    out->session_min = s->session_min;
    out->session_median = s->session_median;
    out->session_max = s->session_max;
    strbuf_init(&b, &sc->work);
    if (s->big_session != NO_ID) {
        label_text(sc->h, sc->h->sessions.at[s->big_session], &b);
        put_name(&b, out->session_big, sizeof out->session_big);
        label_text(sc->h, sc->h->sessions.at[s->small_session], &b);
        put_name(&b, out->session_small, sizeof out->session_small);
    }
    out->hot = (size_t)s->n_hot;
    for (size_t i = 0; i < s->n_hot; i++) {
        out->hot_keys[i].reads = s->hot[i].reads;
        out->hot_keys[i].writes = s->hot[i].writes;
        atom_text(sc->h, key_atom(sc->h, s->hot[i].key), &b);
        put_name(&b, out->hot_keys[i].key, sizeof out->hot_keys[i].key);
    }
}

static_assert(SHAPE_BINS == RATEL_SHAPE_BINS && SHAPE_HOT == RATEL_SHAPE_HOT &&
                  SHAPE_CLASSES == RATEL_SHAPE_CLASSES,
              "lint.h and ratel.h have shapes of one size");

int ratel_history_shape(ratel_shape *out, ratel *r, const ratel_history *h,
                        const ratel_stat *counted)
{
    if (!out || !r || !h || !counted) return RATEL_EINVAL;
    shape_call sc = {0};
    api_open(&sc.c, r);
    if (!h->model->frozen) return api_fail(r, RATEL_EINVAL, "the history is still being built");
    sc.h = h->model;
    sc.out = out;
    sc.ambiguous = counted->duplicate_writes || counted->initial_writes;
    mem_init(&sc.work, r->fn, r->ud, &sc.c.guard);
    sc.work.limit = api_memory(r);
    int code = api_border(&sc.c, body_shape);
    mem_free_all(&sc.work);
    return api_close(&sc.c, code);
}
