/*
 * log_lint.c - what is doubtful about a log of SQL transactions (findings.def).
 *
 * Three parts: what the reader noted, what members and times say, and what the statements say when
 * each text is bound once against the tables of the setup and of CREATEs met on the way.  Each
 * finding is told once, with how often it was met and its first example.
 */
#include <stdio.h>

#include "audit/audit_internal.h"
#include "base/sort.h"

static const audit_finding table_of[] = {
#define FINDING(ID, name, grade, what, about, todo)                                                \
    {.id = name, .unit = what, .text = about, .advice = todo, .severity = AUDIT_##grade},
#include "audit/findings.def"
#undef FINDING
};

bool audit_finding_at(size_t i, audit_finding *out)
{
    if (i >= FINDINGS) return false;
    *out = table_of[i];
    return true;
}

typedef struct linter {
    audit *a;
    const sql_log *l;
    engine *e;
    audit_finding found[FINDINGS];
    uint8_t *bad;    /* by text: 1 + the finding that binding it gave, */
    uint64_t *as_of; /* with this catalog */
} linter;

static void met(linter *t, finding_id id, const log_txn *txn, uint64_t line, const char *format,
                ...) __attribute__((format(printf, 5, 6)));
static void met(linter *t, finding_id id, const log_txn *txn, uint64_t line, const char *format,
                ...)
{
    audit_finding *f = &t->found[id];
    if (f->count++) return;
    char text[400];
    int n = line ? snprintf(text, sizeof text, "line %llu: ", (unsigned long long)line) : 0;
    va_list ap;
    va_start(ap, format);
    vsnprintf(text + n, sizeof text - (size_t)n, format, ap);
    va_end(ap);
    f->example = arena_text(&t->a->log.kept, text, strlen(text));
    f->txn = txn ? txn->id : NULL;
}

/* ---- times ----------------------------------------------------------------------------------- */

typedef struct span {
    int64_t begin, call, end; /* of the transaction, of its commit, of the answer to that */
} span;

static bool span_of(const log_txn *t, span *s)
{
    if (t->has_times)
        *s = (span){t->times[0], t->times[2], t->times[3]};
    else if (t->has_begin && t->has_end)
        *s = (span){t->begin, t->end, t->end};
    else
        return false;
    return true;
}

/* A traced application may send COMMIT before it has read the answers (a pipeline, or a statement
   that is its own transaction); a client that writes its own log waits for each. */
static void statement_times(linter *t, const log_txn *x, const span *s)
{
    bool waits = !t->l->traced;
    int64_t before = s->begin, last = waits ? s->call : s->end;
    for (uint32_t i = 0; i < x->n_stmts; i++) {
        const log_stmt *m = &x->stmts[i];
        if (!m->has_time) continue;
        if (m->call < before || m->answer > last)
            met(t, FINDING_STATEMENT_TIMES, x, x->line, "statement %u of transaction %s",
                (unsigned)i + 1, x->id);
        if (waits) before = m->answer;
    }
}

static void session_times(linter *t)
{
    const sql_log *l = t->l;
    uint32_t *last = mem_array0(&t->a->work, uint32_t, l->sessions.n + 1); /* + 1; 0: none */
    for (uint32_t i = 0; i < l->txns.n; i++) {
        const log_txn *x = &l->txns.at[i];
        span s, p;
        guard_tick(&t->a->guard);
        if (!span_of(x, &s)) continue;
        statement_times(t, x, &s);
        if (x->session >= l->sessions.n) continue;
        uint32_t before = last[x->session];
        last[x->session] = i + 1;
        if (!before || !span_of(&l->txns.at[before - 1], &p)) continue;
        const char *other = l->txns.at[before - 1].id;
        if (s.begin < p.begin)
            met(t, FINDING_SESSION_OUT_OF_ORDER, x, x->line, "transaction %s after %s", x->id,
                other);
        else if (s.begin < p.end)
            met(t, FINDING_SESSION_OVERLAP, x, x->line, "transactions %s and %s", other, x->id);
    }
}

/* Does it write, as far as its texts tell?  A SELECT that locks does not need a stamp. */
static bool selects_only(const sql_log *l, const log_txn *x)
{
    for (uint32_t i = 0; i < x->n_stmts; i++) {
        const log_text *s = &l->texts.at[x->stmts[i].text];
        size_t k = 0;
        while (k < s->n && strchr(" \t\r\n(", s->at[k])) k++;
        if (s->n - k < 6 || (s->at[k] | 32) != 's' || (s->at[k + 1] | 32) != 'e' ||
            (s->at[k + 2] | 32) != 'l')
            return false;
    }
    return true;
}

static bool changed_nothing(const log_txn *x)
{
    for (uint32_t i = 0; i < x->n_stmts; i++) {
        const log_stmt *s = &x->stmts[i];
        if (!s->has_count || s->count) return false;
    }
    return true;
}

static void commit_times(linter *t)
{
    const sql_log *l = t->l;
    mem *m = &t->a->work;
    uint64_t *key = mem_array(m, uint64_t, l->txns.n + 1);
    uint32_t *who = mem_array(m, uint32_t, l->txns.n + 1), n = 0;
    for (uint32_t i = 0; i < l->txns.n; i++) {
        const log_txn *x = &l->txns.at[i];
        if (!x->has_commit || x->status != LOG_COMMITTED) continue;
        key[n] = sort_key(x->commit);
        who[n++] = i;
    }
    uint32_t *by = sort_by_key(m, key, n), late = UINT32_MAX; /* whose commit was sent last */
    span s, p;
    for (uint32_t i = 0; i < n; i++) {
        const log_txn *x = &l->txns.at[who[by[i]]];
        if (i && key[by[i]] == key[by[i - 1]])
            met(t, FINDING_COMMIT_TIES, x, x->line, "transactions %s and %s, %lld",
                l->txns.at[who[by[i - 1]]].id, x->id, (long long)x->commit);
        if (!span_of(x, &s)) continue;
        if (late != UINT32_MAX && span_of(&l->txns.at[late], &p) && p.call > s.end)
            met(t, FINDING_COMMIT_AGAINST_TIMES, x, x->line, "transaction %s before %s",
                l->txns.at[late].id, x->id);
        if (late == UINT32_MAX || p.call < s.call) late = who[by[i]];
    }
    for (uint32_t i = 0; n && i < l->txns.n; i++) {
        const log_txn *x = &l->txns.at[i];
        if (x->status == LOG_COMMITTED && !x->has_commit && !selects_only(l, x) &&
            !changed_nothing(x))
            met(t, FINDING_COMMIT_MISSING, x, x->line, "transaction %s", x->id);
    }
}

/* ---- statements ------------------------------------------------------------------------------ */

static const char *shown(const log_text *t, char *to, size_t n)
{
    snprintf(to, n, "%.*s%s", t->n < 70 ? (int)t->n : 67, t->at, t->n < 70 ? "" : "...");
    return to;
}

static void judge_plan(linter *t, const log_txn *x, const log_stmt *s, const plan *p)
{
    char sql[80];
    uint32_t columns =
        p->kind == S_SELECT || p->kind == S_WRITING_SELECT ? p->q->n_out : p->n_returning;
    shown(&t->l->texts.at[s->text], sql, sizeof sql);
    if (s->has_rows && s->n_rows && s->n_cols != columns)
        met(t, FINDING_ROW_WIDTH, x, s->line, "rows of %u values, the statement gives %u: %s",
            (unsigned)s->n_cols, (unsigned)columns, sql);
    if (p->n_params > s->n_params && !s->has_error)
        met(t, FINDING_MISSING_PARAMETERS, x, s->line, "%u of %u: %s", (unsigned)s->n_params,
            (unsigned)p->n_params, sql);
}

/* Binds it, and makes or drops the tables that it makes or drops. */
static void judge_stmt(linter *t, const log_txn *x, const log_stmt *s)
{
    engine *e = t->e;
    guard *g = &t->a->guard, outer;
    const log_text *text = &t->l->texts.at[s->text];
    if (t->bad[s->text] && t->as_of[s->text] == e->store.catalog) {
        if (!s->has_error) t->found[t->bad[s->text] - 1].count++;
        return;
    }
    memcpy(&outer, g, sizeof outer);
    if (guard_armed(g)) {
        int code = g->code;
        char sql[80];
        guard_restore(g, &outer);
        if (code != SQL_RAISED && code != SQL_REFUSED) {
            g->code = code;
            guard_fail_again(g);
        }
        bool missing = code == SQL_RAISED && !memcmp(e->x.c.state, "42P01", 5);
        finding_id id = code == SQL_REFUSED ? FINDING_NOT_UNDERSTOOD
                        : missing           ? FINDING_UNKNOWN_TABLES
                                            : FINDING_WRONG_STATEMENTS;
        if (s->has_error) return;
        met(t, id, x, s->line, "%.160s: %s", g->text, shown(text, sql, sizeof sql));
        t->bad[s->text] = (uint8_t)(id + 1);
        t->as_of[s->text] = e->store.catalog;
        return;
    }
    plan *p = e->plans.of[s->text];
    if (!p || p->catalog != e->store.catalog) {
        p = e->plans.of[s->text] = sql_bind(&e->x, &e->plans.arena, text->at, text->n);
        e->plans.bound++;
    }
    judge_plan(t, x, s, p);
    sql_result out;
    if (p->kind == S_CREATE || p->kind == S_DROP) exec_plan(&e->x, p, &out);
    arena_reset(&e->x.work);
    guard_restore(g, &outer);
}

/* The initial state; false if there is none. */
static bool can_set_up(linter *t)
{
    guard *g = &t->a->guard, outer;
    memcpy(&outer, g, sizeof outer);
    if (guard_armed(g)) {
        int code = g->code;
        uint64_t line = g->line;
        guard_restore(g, &outer);
        if (code != SQL_RAISED && code != SQL_REFUSED && code != GUARD_HISTORY) {
            g->code = code;
            guard_fail_again(g);
        }
        met(t, FINDING_INITIAL_STATE, NULL, line, "%.300s", g->text);
        return false;
    }
    engine_reset(t->e);
    guard_restore(g, &outer);
    return true;
}

#define PLANS 8192u /* texts with literals in them are as many as statements */

/* False: there is no initial state. */
static bool judge_statements(linter *t)
{
    engine *e = t->e;
    if (!can_set_up(t)) return false;
    t->bad = mem_array0(&t->a->work, uint8_t, t->l->texts.n + 1);
    t->as_of = mem_array0(&t->a->work, uint64_t, t->l->texts.n + 1);
    e->x.regs.cid = 1;
    for (size_t i = 0; i < t->l->txns.n; i++) {
        const log_txn *x = &t->l->txns.at[i];
        if (x->status == LOG_ABORTED) continue;
        for (uint32_t k = 0; k < x->n_stmts; k++) {
            guard_tick(&t->a->guard);
            judge_stmt(t, x, &x->stmts[k]);
        }
        if (e->plans.bound < PLANS) continue;
        e->plans.bound = 0;
        arena_free(&e->plans.arena);
        memset(e->plans.of, 0, t->l->texts.n * sizeof e->plans.of[0]);
    }
    return true;
}

static void met_foreign_value(void *ud, const log_txn *reader, uint64_t line, const char *key,
                              const char *is)
{
    met(ud, FINDING_FOREIGN_VALUES, reader, line, "transaction %s read %.100s = %.100s", reader->id,
        key, is);
}

/* In the initial state again, which CREATE and DROP among the statements have left. */
static void judge_values(linter *t, const audit_options *o)
{
    audit *a = t->a;
    mem_free_all(&a->store);
    mem_free_all(&a->work);
    audit_engine(&a->e, &a->guard, &a->work, &a->store, o, &a->log);
    if (can_set_up(t)) audit_foreign_values(a, &a->e, met_foreign_value, t);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void count_txn(const sql_log *l, const log_txn *x, audit_counts *c)
{
    span s;
    c->committed += x->status == LOG_COMMITTED;
    c->aborted += x->status == LOG_ABORTED;
    c->unknown += x->status == LOG_UNKNOWN;
    if (x->status != LOG_COMMITTED) return;
    c->stamped += x->has_commit;
    c->timed += span_of(x, &s);
    c->read_only += selects_only(l, x);
    for (uint32_t i = 0; i < x->n_stmts; i++) {
        const log_stmt *m = &x->stmts[i];
        c->answered += m->has_rows || m->has_count || m->has_error;
        c->failed += m->has_error;
        c->rows += m->n_rows;
    }
}

static void count(linter *t, audit_counts *c)
{
    const sql_log *l = t->l;
    memset(c, 0, sizeof *c);
    c->sessions = l->sessions.n;
    c->statements = l->statements;
    c->texts = l->texts.n;
    for (size_t i = 0; i < l->txns.n; i++) count_txn(l, &l->txns.at[i], c);
}

/* Of the initial state, where there is one. */
static void count_tables(const linter *t, audit_counts *c)
{
    const store *s = &t->e->store;
    for (size_t i = 0; i < s->tables.n; i++) {
        const table *b = s->tables.at[i];
        if (b->created) continue;
        c->tables++;
        for (uint32_t r = 0; r < b->rows.n; r++) {
            const row_version *v = vs_at(b, r, 0, 0);
            c->initial_rows += v && !v->dead;
        }
    }
}

static void judge_log(linter *t, const audit_counts *c)
{
    const sql_log *l = t->l;
    for (size_t i = 0; i < l->notes.n; i++) {
        const log_note *n = &l->notes.at[i];
        met(t, n->id, NULL, n->line, "%s", n->text);
    }
    if (!c->committed) met(t, FINDING_NOTHING_COMMITTED, NULL, 0, "%s", "");
    if (c->committed && !c->answered) met(t, FINDING_NO_RESULTS, NULL, 0, "%s", "");
    if (l->level && !audit_level_named(l->level))
        met(t, FINDING_UNKNOWN_LEVEL, NULL, 1, "\"%.60s\"", l->level);
    if (c->committed > 10 && !c->stamped && c->timed < c->committed) {
        met(t, FINDING_NO_ORDER, NULL, 0, "%s", "");
        t->found[FINDING_NO_ORDER].count = c->committed - c->timed;
    }
    if (log_cut_off(l)) met(t, FINDING_CUT_OFF, NULL, 0, "%s", "");
    if (log_missing(l)) {
        met(t, FINDING_LOST_LINES, NULL, 0, "%s", "");
        t->found[FINDING_LOST_LINES].count = log_missing(l);
    }
    if (l->added && (l->traced || l->recorded)) {
        met(t, FINDING_ADDED_LINES, NULL, 0, "%s", "");
        t->found[FINDING_ADDED_LINES].count = l->added;
    }
    for (size_t i = 0; i < l->txns.n; i++)
        if (l->txns.at[i].status == LOG_UNKNOWN)
            met(t, FINDING_UNKNOWN_OUTCOMES, &l->txns.at[i], l->txns.at[i].line, "transaction %s",
                l->txns.at[i].id);
}

void log_lint(audit *a, const audit_options *o, audit_counts *counts, const audit_finding **at,
              size_t *n)
{
    linter t = {.a = a, .l = &a->log, .e = &a->e};
    audit_options plain = *o;
    plain.level = "serializable"; /* the engine needs one; what the header names is judged here */
    memcpy(t.found, table_of, sizeof t.found);
    count(&t, counts);
    judge_log(&t, counts);
    session_times(&t);
    commit_times(&t);
    audit_engine(&a->e, &a->guard, &a->work, &a->store, &plain, &a->log);
    bool begins = judge_statements(&t);
    count_tables(&t, counts);
    if (begins) judge_values(&t, &plain);
    audit_finding *kept = arena_array(&a->log.kept, audit_finding, FINDINGS);
    *n = 0;
    for (size_t i = 0; i < FINDINGS; i++)
        if (t.found[i].count) kept[(*n)++] = t.found[i];
    *at = kept;
}
