/*
 * audit.c - the border of the room: opens the guard, owns the regions, turns failures into codes.
 */
#include "audit/audit.h"

#include <stdio.h>
#include <string.h>

#include "audit/search.h"
#include "base/clock.h"

struct audit {
    guard guard;
    mem kept;  /* the log, the answer */
    mem store; /* states */
    source source;
    sql_log log;
    engine e;
    char text[GUARD_TEXT + 64];
    uint64_t line, column;
};

static const level_row levels[] = {
#define LEVEL(id, name, aliases, mode, rule, strict, about)                                        \
    {name, aliases, about, MODE_##mode, WRITE_##rule, strict},
#include "audit/levels.def"
#undef LEVEL
};
#define N_LEVELS (sizeof levels / sizeof levels[0])

bool audit_available(void)
{
    return true;
}

bool audit_level_at(size_t i, const char **name, const char **alias, const char **about)
{
    if (i >= N_LEVELS) return false;
    *name = levels[i].name;
    *alias = levels[i].aliases;
    *about = levels[i].about;
    return true;
}

bool audit_pass_at(size_t i, const char **name, const char **about)
{
    static const struct {
        const char *name, *about;
    } passes[] = {
#define PASS(id, name, about) {name, about},
#include "audit/passes.def"
#undef PASS
    };
    if (i >= sizeof passes / sizeof passes[0]) return false;
    *name = passes[i].name;
    *about = passes[i].about;
    return true;
}

static bool in_list(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (!strncmp(p, name, n) && (p[n] == ',' || !p[n])) return true;
    return false;
}

static const level_row *level_named(const char *name)
{
    for (size_t i = 0; i < N_LEVELS; i++)
        if (!strcmp(levels[i].name, name) || in_list(levels[i].aliases, name)) return &levels[i];
    return NULL;
}

const char *audit_level_named(const char *name)
{
    const level_row *l = level_named(name);
    return l ? l->name : NULL;
}

static void decide(audit *a, const audit_options *o, audit_answer *answer)
{
    engine *e = &a->e;
    log_read(&a->log, &a->kept, &a->source);
    const char *name = o->level ? o->level : a->log.level ? a->log.level : "serializable";
    const level_row *level = level_named(name);
    if (!level)
        guard_fail(&a->guard, GUARD_HISTORY, "the log's level \"%s\" is none that audit knows",
                   name);
    e->guard = &a->guard;
    e->mem = &a->kept;
    e->store_mem = &a->store;
    e->o = o;
    e->l = &a->log;
    e->level = *level;
    arena_init(&e->kept, &a->kept);
    e->plan_of = mem_array0(&a->kept, plan *, a->log.texts.n + 1);
    e->refusal_of = mem_array0(&a->kept, const char *, a->log.texts.n + 1);
    e->refusal_table = mem_array0(&a->kept, const char *, a->log.texts.n + 1);
    e->refusal_at = mem_array0(&a->kept, uint32_t, a->log.texts.n + 1);
    answer->level = level->name;
    answer->statements = a->log.statements;
    answer->sessions = a->log.sessions.n;
    search_decide(e, answer);
}

/* A limit while deciding is an answer; everything else is an error. */
static int ended(audit *a, audit_answer *answer)
{
    guard *g = &a->guard;
    bool limit = g->code == GUARD_TIME || g->code == GUARD_INTERRUPT || g->code == GUARD_NOMEM;
    snprintf(a->text, sizeof a->text, "%s%s",
             g->code == SQL_RAISED || g->code == SQL_REFUSED ? "in the initial state: " : "",
             g->text);
    a->line = g->line;
    a->column = g->column;
    if (limit && answer->level) {
        answer->verdict = AUDIT_UNDECIDED;
        answer->reason = a->text;
        answer->txns = a->e.n;
        answer->runs = a->e.runs;
        if (g->code != GUARD_NOMEM && a->e.l) search_tell_failure(&a->e, answer);
        return 0;
    }
    return g->code == SQL_RAISED || g->code == SQL_REFUSED ? GUARD_HISTORY : g->code;
}

int audit_run(audit **out, const audit_options *o, audit_read read, void *payload,
              audit_answer *answer)
{
    memset(answer, 0, sizeof *answer);
    audit *a = *out = mem_libc(NULL, NULL, 0, sizeof *a);
    if (!a) return GUARD_NOMEM;
    memset(a, 0, sizeof *a);
    guard_init(&a->guard);
    mem_init(&a->kept, NULL, NULL, &a->guard);
    mem_init(&a->store, NULL, NULL, &a->guard);
    a->kept.limit = a->store.limit = o->memory;
    a->guard.interrupt = o->interrupt;
    a->guard.deadline = o->seconds > 0 ? clock_now() + (uint64_t)(o->seconds * 1e9) : 0;
    if (guard_armed(&a->guard)) return ended(a, answer);
    source_init(&a->source, &a->kept, &a->guard, read, payload);
    decide(a, o, answer);
    return 0;
}

const char *audit_error(const audit *a, uint64_t *line, uint64_t *column)
{
    *line = a ? a->line : 0;
    *column = a ? a->column : 0;
    return a ? a->text : "out of memory";
}

void audit_free(audit *a)
{
    if (!a) return;
    mem_free_all(&a->store);
    mem_free_all(&a->kept);
    mem_libc(NULL, a, sizeof *a, 0);
}
