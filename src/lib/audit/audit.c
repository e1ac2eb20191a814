/*
 * audit.c - the border of the room: opens the guard, owns the regions, turns failures into codes.
 */
#include "audit/session_zones.h"
#include "audit/audit.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "audit/initial_dump.h"
#include "audit/audit_answer.h"
#include "audit/aborted_errors.h"
#include "audit/audit_internal.h"
#include "audit/audit_schedule.h"
#include "audit/compressed.h"
#include "audit/narrow_log.h"
#include "base/clock.h"
#include "opt/level.h"

bool audit_available(void)
{
    return true;
}

bool audit_level_at(size_t i, const char **name, const char **alias, const char **about)
{
    const level_info *l = level_of_logs(i);
    if (!l) return false;
    *name = l->name;
    *alias = l->aliases;
    *about = l->log.about;
    return true;
}

bool audit_pass_at(size_t i, const char **name, const char **about)
{
    static const struct {
        const char *name, *about;
    } passes[] = {
#define PASS(id, name, about) {name, about},
#include "audit/audit_passes.def"
#undef PASS
    };
    if (i >= sizeof passes / sizeof passes[0]) return false;
    *name = passes[i].name;
    *about = passes[i].about;
    return true;
}

const char *audit_level_named(const char *name)
{
    const level_info *l = level_of_logs_named(name);
    return l ? l->name : NULL;
}

/* The record in the words of the replay and of the SQL interpreter, which knows no levels. */
static level_row level_to_replay(const level_info *l)
{
    static const audit_mode mode[] = {[LOG_LATEST] = MODE_LATEST,
                                      [LOG_SNAPSHOT] = MODE_SNAPSHOT,
                                      [LOG_STATEMENT] = MODE_STATEMENT,
                                      [LOG_ROW] = MODE_ROW};
    static const write_rule rule[] = {
        [LOG_FREE] = WRITE_FREE, [LOG_CONFLICT] = WRITE_CONFLICT, [LOG_RECHECK] = WRITE_RECHECK};
    assert(l->log.reads != LOG_NONE);
    return (level_row){l->name, mode[l->log.reads], rule[l->log.writes], l->log.real_time};
}

/* What a transaction of a trace is held to if nobody knows which isolation it had: the weakest that
   the product usually gives, so that an application is never held to more than it asked for. */
static const char *unknown_isolation(log_dialect d)
{
    if (d == DIALECT_SQLITE) return "serializable";
    return d == DIALECT_DUCKDB ? "repeatable read" : "read committed";
}

/* InnoDB's plain reads come from a snapshot and its writes go to the last version, so that below
   SERIALIZABLE only the reads of each row can be held against it. */
static const char *level_of_isolation(guard *g, log_dialect d, const char *isolation)
{
    if (!strcmp(isolation, "serializable")) return "serializable";
    bool weak = d == DIALECT_MYSQL || d == DIALECT_GENERIC;
    if (weak && !strcmp(isolation, "read uncommitted"))
        guard_fail(
            g, GUARD_HISTORY,
            "transactions of the log asked for READ UNCOMMITTED, which promises nothing that "
            "an audit could test: give a level with --level");
    if (weak) return "read-committed";
    return !strcmp(isolation, "repeatable read") ? "strong-snapshot-isolation"
                                                 : "statement-snapshot";
}

/* The level of a log that nobody gave one for.  A trace names the isolation of its transactions, or
   of those that asked for none; stronger isolations keep the level of a weaker one, so that a
   mixture is held to the weakest that it has. */
static const char *own_level(guard *g, const sql_log *l)
{
    const char *usual = l->usual, *least = l->weakest;
    if (!usual && l->traced && !l->level) usual = unknown_isolation(l->dialect);
    if (!usual || (l->level && !least)) return l->level ? l->level : "serializable";
    if (l->some_usual || !least) least = log_weaker_isolation(least, usual);
    return level_of_isolation(g, l->dialect, least);
}

void audit_engine(engine *e, guard *g, mem *work, mem *states, const audit_options *o,
                  const sql_log *l)
{
    const char *name = o->level ? o->level : own_level(g, l);
    const level_info *level = level_of_logs_named(name);
    const char *instead = level ? NULL : level_refused(name);
    if (!level)
        guard_fail(g, GUARD_HISTORY, "audit does not know the log's level \"%s\"%s%s", name,
                   instead ? ": " : "", instead ? instead : "");
    memset(e, 0, sizeof *e);
    e->guard = g;
    e->mem = work;
    e->store_mem = states;
    e->o = o;
    e->log = l;
    e->level = level_to_replay(level);
    arena_init(&e->kept, work);
    e->plans.of = mem_array0(work, plan *, l->texts.n + 1);
    e->plans.refusal = mem_array0(work, const char *, l->texts.n + 1);
    e->plans.refused_table = mem_array0(work, const char *, l->texts.n + 1);
    e->plans.refused_at = mem_array0(work, uint32_t, l->texts.n + 1);
    engine_find_routines(e);
    e->zone = zone_of_sessions(work, l);
    e->marks = marks_of_log(work, l);
    e->keep_states = o->keep_states || aborted_errors_asked(l);
    e->drawn_upto = mem_array0(work, uint32_t, l->txns.n + 1);
}

static void read_all(audit *a, const audit_options *o, bool linting)
{
    log_begin(&a->log, &a->kept);
    a->log.linting = linting;
    if (o->dump) {
        a->in_dump = true;
        source_init(&a->dump, &a->kept, &a->guard, o->dump, o->dump_payload);
        packed_open(&a->dump);
        log_dump(&a->log, &a->dump);
        a->in_dump = false;
    }
    packed_open(&a->source);
    log_read(&a->log, &a->source);
    a->read = true;
}

static void decide_log(audit *a, const audit_options *o, audit_answer *answer)
{
    if (!a->read) read_all(a, o, false);
    audit_engine(&a->e, &a->guard, &a->work, &a->store, o, &a->log);
    answer->level = a->e.level.name;
    answer->statements = a->log.statements;
    answer->sessions = a->log.sessions.n;
    a->narrow.on = false;
    search_decide(&a->e, answer);
    if (a->log.unknown.n && answer->verdict == AUDIT_UNDECIDED && !o->lenient)
        narrow_decide(a, o, answer);
}

/* A limit while deciding is an answer; everything else is an error. */
int audit_ended(audit *a, audit_answer *answer)
{
    guard *g = &a->guard;
    bool limit = g->code == GUARD_TIME || g->code == GUARD_INTERRUPT || g->code == GUARD_NOMEM;
    bool dumped = (a->in_dump || a->e.in_dump) && g->line;
    int n = 0;
    if (dumped)
        n = snprintf(a->text, sizeof a->text,
                     "in the dump, line %llu: ", (unsigned long long)g->line);
    snprintf(a->text + n, sizeof a->text - (size_t)n, "%s%s",
             g->code == SQL_REFUSED && !a->e.x.c.unparsed ? "in the initial state: not understood: "
             : g->code == SQL_RAISED || g->code == SQL_REFUSED ? "in the initial state: "
                                                               : "",
             g->text);
    a->line = dumped ? 0 : g->line;
    a->column = dumped ? 0 : g->column;
    /* not wrong, only not known to us, or not PostgreSQL's */
    bool unread =
        (g->code == SQL_REFUSED && !a->e.x.c.unparsed) ||
        ((g->code == SQL_REFUSED || g->code == SQL_RAISED) && a->log.dialect != DIALECT_POSTGRES);
    if (unread && answer->level) {
        if (!dumped && g->line) {
            answer->line = g->line;
            answer->column = g->column;
        }
        answer->verdict = AUDIT_UNDECIDED;
        answer->reason = a->text;
        answer->txns = a->e.order.n;
        return 0;
    }
    if (limit && answer->level) {
        answer->verdict = AUDIT_UNDECIDED;
        answer->reason = a->text;
        answer->limit = g->code;
        answer->txns = a->e.order.n;
        answer->runs = a->e.effort.runs;
        if (g->code != GUARD_NOMEM && a->e.log) answer_failure(&a->e, answer);
        return 0;
    }
    return g->code == SQL_RAISED || g->code == SQL_REFUSED ? GUARD_HISTORY : g->code;
}

void audit_limits(audit *a, const audit_options *o)
{
    a->kept.limit = a->work.limit = a->store.limit = a->shrunk.limit = o->memory;
    a->guard.interrupt = o->interrupt;
    a->guard.deadline = o->seconds > 0 ? clock_now() + (uint64_t)(o->seconds * 1e9) : 0;
}

static audit *open_audit(const audit_options *o)
{
    mem_fn fn = o->fn ? o->fn : mem_libc;
    audit *a = fn(o->ud, NULL, 0, sizeof *a);
    if (!a) return NULL;
    memset(a, 0, sizeof *a);
    a->fn = fn;
    a->ud = o->ud;
    guard_init(&a->guard);
    mem_init(&a->kept, fn, o->ud, &a->guard);
    mem_init(&a->work, fn, o->ud, &a->guard);
    mem_init(&a->store, fn, o->ud, &a->guard);
    mem_init(&a->shrunk, fn, o->ud, &a->guard);
    audit_limits(a, o);
    return a;
}

int audit_run(audit **out, const audit_options *o, audit_read read, void *payload,
              audit_answer *answer)
{
    memset(answer, 0, sizeof *answer);
    audit *a = *out = open_audit(o);
    if (!a) return GUARD_NOMEM;
    if (guard_armed(&a->guard)) return audit_ended(a, answer);
    source_init(&a->source, &a->kept, &a->guard, read, payload);
    decide_log(a, o, answer);
    return 0;
}

int audit_read_log(audit **out, const audit_options *o, audit_read read, void *payload)
{
    audit *a = *out = open_audit(o);
    if (!a) return GUARD_NOMEM;
    if (guard_armed(&a->guard)) return audit_ended(a, &(audit_answer){0});
    source_init(&a->source, &a->kept, &a->guard, read, payload);
    read_all(a, o, false);
    return 0;
}

int audit_again(audit *a, const audit_options *o, audit_answer *answer)
{
    memset(answer, 0, sizeof *answer);
    if (!a || !a->read) return GUARD_INVAL;
    mem_free_all(&a->store);
    mem_free_all(&a->work);
    memset(&a->e, 0, sizeof a->e);
    audit_limits(a, o);
    if (guard_armed(&a->guard)) return audit_ended(a, answer);
    decide_log(a, o, answer);
    return 0;
}

/* Is there such a member on the first line?  Deep inside would do, too: histories have none. */
static bool has_member(const char *p, const char *end, const char *word)
{
    size_t n = strlen(word);
    for (; p + n < end; p++) {
        if (memcmp(p, word, n) != 0) continue;
        const char *q = p + n;
        while (q < end && *q == ' ') q++;
        if (q < end && *q == ':') return true;
    }
    return false;
}

int audit_sniff(audit_read read, void *payload)
{
    audit *a = open_audit(&(audit_options){0});
    if (!a) return -1;
    volatile bool yes = false; /* outlives a jump */
    if (guard_armed(&a->guard)) {
        int code = a->guard.code;
        audit_free(a);
        return code == GUARD_NOMEM ? -1 : 0;
    } else {
        source *s = &a->source;
        source_init(s, &a->kept, &a->guard, read, payload);
        packed_open(s);
        source_skip_bom(s);
        source_need(s, 4096);
        const char *from = s->at + s->pos, *all = s->at + s->n;
        const char *end = memchr(from, '\n', (size_t)(all - from));
        if (!end) end = all;
        yes = *from == '{' &&
              (has_member(from, end, "\"ratel_sql\"") || has_member(from, end, "\"statements\""));
    }
    audit_free(a);
    return yes;
}

int audit_lint(audit **out, const audit_options *o, audit_read read, void *payload,
               audit_counts *counts, const audit_finding **at, size_t *n)
{
    audit *a = *out = open_audit(o);
    if (!a) return GUARD_NOMEM;
    if (guard_armed(&a->guard)) return audit_ended(a, &(audit_answer){0});
    source_init(&a->source, &a->kept, &a->guard, read, payload);
    read_all(a, o, true);
    log_lint(a, o, counts, at, n);
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
    packed_close(&a->source);
    packed_close(&a->dump);
    mem_free_all(&a->shrunk);
    mem_free_all(&a->store);
    mem_free_all(&a->work);
    mem_free_all(&a->kept);
    a->fn(a->ud, a, sizeof *a, 0);
}
