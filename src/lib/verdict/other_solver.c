/*
 * other_solver.c - see other_solver.h.
 *
 * No step of judge.c runs here: the formula, the solver and the replay share nothing with the
 * deciding rooms, so that an answer is a cross-check of theirs.
 */
#include "verdict/other_solver.h"

#include <assert.h>
#include <stdio.h>

#include "base/clock.h"
#include "verdict/describe.h"
#include "verdict/hearing.h"

static emit_question question_for(const level_ref *level, const question *q, enum ryow ryow,
                                  enum emit_encoding encoding)
{
    return (emit_question){.level = *level,
                           .session_order = q->session_order,
                           .ryow = ryow,
                           .drift = q->drift,
                           .encoding = encoding};
}

static void keep_model(verdict *v, const emit_model *model)
{
    v->order = mem_array(v->mem, txn_id, (size_t)model->ordered + 1);
    v->ordered = model->ordered;
    for (uint32_t i = 0; i < model->ordered; i++) v->order[i] = model->order[i];
    for (size_t i = 0; i < model->choices; i++) {
        chosen x = {model->choice[i].op, model->choice[i].key, model->choice[i].writer};
        vec_push(v->mem, &v->choices, x);
    }
    for (size_t i = 0; i < model->parts; i++) {
        order_point x = {model->part[i].txn, model->part[i].op};
        vec_push(v->mem, &v->points, x);
    }
    for (size_t i = 0; i < model->part_choices; i++) {
        const emit_choice *c = &model->part_choice[i];
        chosen x = {c->op, c->key, c->writer};
        vec_push(v->mem, &v->point_choices, x);
    }
    for (size_t i = 0; i < model->events; i++) {
        ordered_event x = {model->event[i].of, model->event[i].at};
        vec_push(v->mem, &v->events, x);
    }
}

static void drop_model(verdict *v)
{
    v->order = NULL;
    v->ordered = 0;
    v->choices.n = v->points.n = v->point_choices.n = v->events.n = 0;
}

/* The solver's frames must not be jumped over: it only learns that it is to end. */
static int out_of_time(void *ud)
{
    const guard *g = ud;
    if (g->interrupt && *g->interrupt) return 1;
    return g->deadline && clock_now() > g->deadline;
}

static void tell_satisfiable(verdict *v, const history *h, emit_formula *f, const other_solver *s,
                             mem *work)
{
    char why[400];
    const char *wrong = NULL;
    emit_model model;
    assert(!v->order && !v->choices.n);
    emit_read_model(f, s->format, s->value, s->ud, &model);
    keep_model(v, &model);
    claim c = claim_of(v);
    c.outcome = OUTCOME_HOLDS;
    if (claim_recheck(&c, h, work, &wrong)) {
        v->outcome = OUTCOME_HOLDS;
        v->assumed = h->assumed != NULL;
        snprintf(why, sizeof why, "%s found an order, which was replayed", s->name);
    } else {
        drop_model(v);
        snprintf(why, sizeof why, "%s found an order that is wrong: %.200s", s->name,
                 wrong ? wrong : "");
    }
    verdict_reason(v, why);
}

static enum decider_id decider_of(const char *name)
{
    for (enum decider_id i = BY_Z3; i <= BY_CADICAL; i++)
        if (!strcmp(decider_name(i), name)) return i;
    return BY_ANOTHER;
}

static void tell_answer(verdict *v, const history *h, emit_formula *f, const other_solver *s,
                        int got, mem *work)
{
    char why[400];
    const char *encoding, *about;
    assert(v->outcome == OUTCOME_UNDECIDED);
    if (got == 10) {
        tell_satisfiable(v, h, f, s, work);
    } else if (got == 20) {
        v->outcome = OUTCOME_VIOLATED;
        v->assumed = h->assumed != NULL;
        emit_encoding_at(s->encoding, &encoding, &about);
        snprintf(why, sizeof why,
                 "no order satisfies the formula, says %s; this rests on %s and on the encoding %s "
                 "(there is no proof)",
                 s->name, s->name, encoding);
        verdict_reason(v, why);
    } else {
        snprintf(why, sizeof why, "%s gave up, for lack of memory or of a method", s->name);
        verdict_reason(v, why);
    }
    if (v->outcome != OUTCOME_UNDECIDED) v->decided_by = decider_of(s->name);
}

typedef struct whole_text {
    strbuf text;
} whole_text;

static int keep_text(const void *bytes, size_t n, void *payload)
{
    strbuf_add(&((whole_text *)payload)->text, bytes, n);
    return 0;
}

/* What the solver says of the formula of h. */
static int ask_solver(verdict *v, const history *h, const question *q, const other_solver *s,
                      mem *work, emit_formula **f)
{
    guard_stage(work->guard, "encode", NULL, 0);
    emit_question ask = question_for(&v->level, q, v->ryow, s->encoding);
    *f = emit_build(work, h, &ask);
    whole_text all;
    strbuf_init(&all.text, work);
    printer out = {.write = keep_text, .payload = &all};
    strbuf_init(&out.text, work);
    emit_write(*f, s->format, &out);
    emit_size size = emit_count(*f);
    v->cost->vars += size.variables;
    v->cost->clauses += size.clauses;
    guard_stage(work->guard, "solve", NULL, 0);
    uint64_t start = clock_now();
    size_t n = all.text.n;
    int got = s->solve(s->ud, strbuf_cstr(&all.text), n, out_of_time, work->guard);
    v->cost->ns_solve += clock_now() - start;
    if (!got) guard_poll(work->guard);
    return got;
}

/* Additions only rule orders out: perhaps the history is violated without them, too. */
static void ask_without_added(verdict *v, const history *h, const question *q,
                              const other_solver *s, mem *work)
{
    history bare = *h;
    emit_formula *f;
    bare.assumed = NULL;
    mem_free_all(work);
    if (ask_solver(v, &bare, q, s, work, &f) == 20) v->assumed = false;
}

void judge_by(verdict *v, const history *h, const question *q, const other_solver *s, mem *work)
{
    facts counted;
    emit_formula *f;
    assert(s->format == EMIT_SMT2 || s->format == EMIT_DIMACS);
    h = judge_history(h, q, v->mem);
    if (!judge_open(v, h, q, &counted, work)) return;
    v->ryow = judge_policy(h, q, work);
    mem_free_all(work);
    int got = ask_solver(v, h, q, s, work, &f);
    tell_answer(v, h, f, s, got, work);
    if (v->outcome == OUTCOME_VIOLATED && v->assumed) ask_without_added(v, h, q, s, work);
}

void judge_emit(const level_ref *level, const history *h, const question *q,
                enum emit_format format, enum emit_encoding encoding, printer *out, mem *work)
{
    enum ryow ryow = judge_policy(h, q, work);
    mem_free_all(work);
    emit_question ask = question_for(level, q, ryow, encoding);
    emit_write(emit_build(work, h, &ask), format, out);
}
