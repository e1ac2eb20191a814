/*
 * synth.c - the border of the room: opens guards, owns the regions, turns failures into codes.
 */
#include "synth/synth.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "synth/synth_search.h"

struct synth {
    mem_fn fn;
    void *ud;
    guard guard;
    mem kept; /* levels */
    mem work; /* the last answer */
    foreign foreign;
    double seconds;
    VEC(iso_level *) levels;
    VEC(const char *) builtins;
    VEC(const char *) texts; /* of the files that the levels are from */
    char text[GUARD_TEXT];
    uint64_t line, column;
};

static_assert(GUARD_PARSE == -4 && GUARD_TIME == -7, "codes are those of ratel.h");

synth *synth_open(double seconds, size_t memory, const volatile int *interrupt)
{
    return synth_open_with(mem_libc, NULL, seconds, memory, interrupt);
}

synth *synth_open_with(mem_fn fn, void *ud, double seconds, size_t memory,
                       const volatile int *interrupt)
{
    synth *s = fn(ud, NULL, 0, sizeof *s);
    if (!s) return NULL;
    memset(s, 0, sizeof *s);
    guard_init(&s->guard);
    s->fn = fn;
    s->ud = ud;
    mem_init(&s->kept, fn, ud, &s->guard);
    mem_init(&s->work, fn, ud, &s->guard);
    s->work.limit = memory;
    s->seconds = seconds;
    s->guard.interrupt = interrupt;
    return s;
}

void synth_limit(synth *s, double seconds)
{
    s->seconds = seconds;
}

void synth_close(synth *s)
{
    if (!s) return;
    mem_free_all(&s->kept);
    mem_free_all(&s->work);
    s->fn(s->ud, s, sizeof *s, 0);
}

const char *synth_error(const synth *s, uint64_t *line, uint64_t *column)
{
    if (line) *line = s->line;
    if (column) *column = s->column;
    return s->text;
}

typedef struct task {
    synth *s;
    const char *file, *name, *text;
    size_t n;
    const synth_problem *problem;
    synth_answer *answer;
    const tiny *history;
    int level, other;
    uint32_t *order;
    const char *const **lines;
    size_t *n_lines;
    const synth_facts *facts;
    bool *searched;
    int result;
} task;

/* The only frame that is jumped back to. */
static int border(task *t, void (*body)(task *t))
{
    synth *s = t->s;
    s->guard.code = GUARD_OK;
    s->guard.line = s->guard.column = 0;
    s->guard.deadline = s->seconds > 0 ? clock_now() + (uint64_t)(s->seconds * 1e9) : 0;
    if (guard_armed(&s->guard)) {
        snprintf(s->text, sizeof s->text, "%s", s->guard.text);
        s->line = s->guard.line;
        s->column = s->guard.column;
        foreign_close(&s->foreign);
        return s->guard.code;
    }
    body(t);
    foreign_close(&s->foreign);
    return GUARD_OK;
}

/* ---- levels -------------------------------------------------------------------------------- */

bool synth_library_at(size_t i, const char **name, const char **text, const char **builtin)
{
    return iso_library_at(i, name, text, builtin);
}

const char *synth_library_name(const char *name, const char **near)
{
    return iso_library_name(name, near);
}

const char *synth_unwritten(const char *name)
{
    return iso_unwritten(name);
}

static int numbered(synth *s, iso_level *l, const char *builtin, const char *text)
{
    vec_push(&s->kept, &s->levels, l);
    vec_push(&s->kept, &s->builtins, builtin);
    vec_push(&s->kept, &s->texts, text);
    return (int)s->levels.n - 1;
}

static iso_level *from_library(void *ud, const char *given)
{
    synth *s = ud;
    const char *name = iso_library_name(given, NULL), *key, *text = NULL, *builtin = "";
    if (!name) return NULL;
    for (size_t i = 0; i < s->levels.n; i++)
        if (s->levels.at[i]->name == name) return s->levels.at[i];
    for (size_t i = 0; iso_library_at(i, &key, &text, &builtin); i++)
        if (!strcmp(key, name)) break;
    iso_module *m = iso_parse(&s->kept, name, text, strlen(text), from_library, s, NULL);
    iso_level *l = m->levels.at[m->levels.n - 1];
    l->name = name;
    numbered(s, l, builtin, text);
    return l;
}

static void body_named(task *t)
{
    iso_level *l = from_library(t->s, t->name);
    if (!l) {
        const char *near = NULL;
        iso_library_name(t->name, &near);
        guard_fail(&t->s->guard, GUARD_INVAL, "no definition of level \"%.60s\"%s%s%s", t->name,
                   near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    }
    for (size_t i = 0; i < t->s->levels.n; i++)
        if (t->s->levels.at[i] == l) t->result = (int)i;
}

int synth_level_named(synth *s, const char *name)
{
    task t = {.s = s, .name = name};
    int code = border(&t, body_named);
    return code ? code : t.result;
}

/* The built-in level that a file's level provably is, or "". */
static const char *same_as(synth *s, const iso_level *l)
{
    const char *name, *builtin, *why;
    mem_free_all(&s->work);
    for (size_t i = 0; iso_library_at(i, &name, NULL, &builtin); i++) {
        if (strcmp(name, builtin)) continue; /* one definition for each of them is enough */
        iso_level *known = from_library(s, name);
        if (prove_implies(&s->work, l, known, &why) && prove_implies(&s->work, known, l, &why))
            return builtin;
    }
    return "";
}

static void body_read(task *t)
{
    iso_module *m = iso_parse(&t->s->kept, t->file, t->text, t->n, from_library, t->s, NULL);
    iso_level *l = m->levels.at[m->levels.n - 1];
    if (t->name) {
        l = NULL;
        for (size_t i = 0; i < m->levels.n; i++)
            if (!strcmp(m->levels.at[i]->name, t->name)) l = m->levels.at[i];
        if (!l)
            guard_fail(&t->s->guard, GUARD_PARSE, "the file defines no level \"%.60s\"", t->name);
    }
    char *text = mem_get(&t->s->kept, t->n + 1);
    memcpy(text, t->text, t->n);
    text[t->n] = 0;
    t->result = numbered(t->s, l, same_as(t->s, l), text);
}

int synth_level_read(synth *s, const char *file, const char *name, const char *text, size_t n)
{
    task t = {.s = s, .file = file, .name = name, .text = text, .n = n};
    int code = border(&t, body_read);
    return code ? code : t.result;
}

static void body_tidy(task *t)
{
    iso_tokens tokens = {0};
    strbuf out;
    strbuf_init(&out, &t->s->work);
    iso_parse(&t->s->work, t->file, t->text, t->n, from_library, t->s, &tokens);
    iso_tidy(&tokens, &out);
    t->text = strbuf_cstr(&out);
}

int synth_tidy(synth *s, const char *file, const char *text, size_t n, const char **out)
{
    task t = {.s = s, .file = file, .text = text, .n = n};
    mem_free_all(&s->work);
    int code = border(&t, body_tidy);
    *out = t.text;
    return code;
}

static void body_condition(task *t)
{
    static const char head[] = "level such-that over none { ", tail[] = " ; }";
    size_t n = strlen(t->text), h = sizeof head - 1, e = sizeof tail - 1;
    char *text = mem_get(&t->s->kept, h + n + e);
    memcpy(text, head, h);
    memcpy(text + h, t->text, n);
    memcpy(text + h + n, tail, e);
    iso_module *m = iso_parse(&t->s->kept, "", text, h + n + e, NULL, NULL, NULL);
    t->result = numbered(t->s, m->levels.at[m->levels.n - 1], "", "");
}

int synth_condition(synth *s, const char *formula)
{
    task t = {.s = s, .text = formula};
    int code = border(&t, body_condition);
    if (code && s->line == 1) s->column -= sizeof "level such-that over none { " - 1;
    return code ? code : t.result;
}

int synth_levels(const synth *s)
{
    return (int)s->levels.n;
}

const char *synth_level_name(const synth *s, int level)
{
    return s->levels.at[level]->name;
}

const char *synth_level_text(const synth *s, int level)
{
    return s->texts.at[level];
}

const char *synth_level_builtin(const synth *s, int level)
{
    return s->builtins.at[level];
}

#define STEPS (ISO_USES_RT | ISO_USES_EVENTS | ISO_USES_PO)

bool synth_level_has_steps(const synth *s, int level)
{
    return iso_level_uses(s->levels.at[level], STEPS);
}

/* The histories here have no operations in an order, and no clocks. */
static void refuse_words(synth *s, int level, unsigned uses)
{
    if (!iso_level_uses(s->levels.at[level], uses)) return;
    guard_fail(&s->guard, GUARD_UNSUPPORTED, "level %.60s speaks of %s", s->levels.at[level]->name,
               iso_level_uses(s->levels.at[level], uses & ISO_USES_PO)
                   ? "program order within a transaction (po), which the histories of synth do not "
                     "have"
                   : "real time (rt, cc, bc), which the histories of synth do not have");
}

/* ---- searching ----------------------------------------------------------------------------- */

static bool proved(task *t)
{
    const synth_problem *p = t->problem;
    for (size_t i = 0; i < p->n_allow; i++)
        for (size_t j = 0; j < p->n_forbid; j++)
            if (prove_implies(&t->s->work, t->s->levels.at[p->allow[i]],
                              t->s->levels.at[p->forbid[j]], &t->answer->why))
                return true;
    return false;
}

static void body_search(task *t)
{
    for (size_t i = 0; i < t->problem->n_allow; i++)
        refuse_words(t->s, t->problem->allow[i], STEPS);
    for (size_t i = 0; i < t->problem->n_forbid; i++)
        refuse_words(t->s, t->problem->forbid[i], STEPS);
    if (!t->problem->no_prove && proved(t))
        t->answer->result = SYNTH_PROVED;
    else
        search_run(&t->s->work, t->problem, t->s->levels.at, &t->s->foreign, t->answer);
}

int synth_search(synth *s, const synth_problem *p, synth_answer *out)
{
    task t = {.s = s, .problem = p, .answer = out};
    mem_free_all(&s->work);
    memset(out, 0, sizeof *out);
    s->foreign.engine = p->engine;
    int code = border(&t, body_search);
    if (code == GUARD_TIME || code == GUARD_NOMEM || code == GUARD_INTERRUPT) {
        out->result = SYNTH_UNDECIDED;
        out->why = s->text;
        out->limit = code;
        return GUARD_OK;
    }
    return code;
}

static void body_check(task *t)
{
    refuse_words(t->s, t->level, STEPS);
    uint32_t *rank = mem_array0(&t->s->work, uint32_t, t->history->n + 1);
    t->result =
        search_allows(&t->s->work, t->history, t->s->levels.at[t->level], rank, NULL) ? 1 : 0;
    for (uint32_t i = 1; t->result && t->order && i <= t->history->n; i++)
        t->order[rank[i] - 1] = i;
}

int synth_check(synth *s, int level, uint32_t txns, uint32_t keys, const uint32_t *from,
                const bool *writes, const bool *so, uint32_t *order)
{
    tiny h = {txns, keys, (uint32_t *)(uintptr_t)from, (bool *)(uintptr_t)writes,
              (bool *)(uintptr_t)so};
    task t = {.s = s, .history = &h, .level = level, .order = order};
    mem_free_all(&s->work);
    int code = border(&t, body_check);
    return code ? code : t.result;
}

static void body_decide(task *t)
{
    const iso_level *l = t->s->levels.at[t->level];
    refuse_words(t->s, t->level, STEPS);
    t->result = decide_facts(&t->s->work, l, t->facts, t->searched) ? 1 : 0;
}

int synth_decide(synth *s, int level, const synth_facts *h, bool *searched)
{
    task t = {.s = s, .level = level, .facts = h, .searched = searched};
    mem_free_all(&s->work);
    int code = border(&t, body_decide);
    return code ? code : t.result;
}

void synth_key_name(uint32_t x, char *buf, size_t n)
{
    if (x < 3)
        snprintf(buf, n, "%c", (char)('x' + x));
    else
        snprintf(buf, n, "k%u", (unsigned)x);
}

static void body_why(task *t)
{
    line_list lines = {0};
    refuse_words(t->s, t->level, STEPS);
    why_broken(&t->s->work, t->history, t->s->levels.at[t->level], &lines);
    *t->lines = lines.at;
    *t->n_lines = lines.n;
}

int synth_why(synth *s, int level, uint32_t txns, uint32_t keys, const uint32_t *from,
              const bool *writes, const bool *so, const char *const **lines, size_t *n)
{
    tiny h = {txns, keys, (uint32_t *)(uintptr_t)from, (bool *)(uintptr_t)writes,
              (bool *)(uintptr_t)so};
    task t = {.s = s, .history = &h, .level = level, .lines = lines, .n_lines = n};
    return border(&t, body_why);
}

static void body_proves(task *t)
{
    const char *why;
    t->result =
        prove_implies(&t->s->work, t->s->levels.at[t->level], t->s->levels.at[t->other], &why);
}

int synth_proves(synth *s, int a, int b)
{
    task t = {.s = s, .level = a, .other = b};
    mem_free_all(&s->work);
    int code = border(&t, body_proves);
    return code ? code : t.result;
}

bool synth_more(const synth_answer *first, size_t i, synth_answer *out)
{
    if (i >= first->n_others) return false;
    *out = first->others[i];
    return true;
}
