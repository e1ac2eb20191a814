/*
 * case_run.c - runs scripts on a database and says what became of their anomaly (case_run.h).
 */
#include "step/case_run.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/sort.h"
#include "step/key_statement.h"

static const char *const outcome_names[CASE_OUTCOMES] = {"happened", "aborted",        "blocked",
                                                         "absent",   "not-applicable", "error"};

const char *case_outcome_name(enum case_outcome o)
{
    return outcome_names[o];
}

/* --- the table at first ----------------------------------------------------------------------- */

static const char *after_word(const char *text, const char *word)
{
    const char *p = strstr(text, word);
    return p ? p + strlen(word) : NULL;
}

bool case_rows(const spec *s, const char *dialect, mem *m, db_row **rows, uint32_t *n)
{
    VEC(db_row) all = {0};
    for (size_t i = 0; i < s->setups.n; i++) {
        const char *text = spec_sql(s, s->setups.at[i], dialect);
        if (!text || !strstr(text, "CREATE TABLE test (id int PRIMARY KEY, value int"))
            return false;
        if (after_word(text, "CREATE TABLE test") &&
            strstr(after_word(text, "CREATE TABLE test"), "CREATE "))
            return false;
        const char *p = after_word(text, "INSERT INTO test VALUES");
        while (p && (p = strchr(p, '(')) != NULL) {
            char *end;
            db_row row = {strtoll(p + 1, &end, 10), 0};
            if (*end != ',') return false;
            row.value = strtoll(end + 1, &end, 10);
            if (*end != ')') return false;
            vec_push(m, &all, row);
            p = end;
        }
    }
    *rows = all.at;
    *n = (uint32_t)all.n;
    return s->setups.n == 1;
}

bool case_lists(const spec *s, const char *dialect)
{
    static const char table[] = "CREATE TABLE test (id int PRIMARY KEY, value text NOT NULL);";
    const char *text = s->setups.n == 1 ? spec_sql(s, s->setups.at[0], dialect) : NULL;
    const char *p = text ? after_word(text, table) : NULL;
    const char *q = p ? after_word(p, "INSERT INTO test VALUES") : NULL;
    if (!p || strstr(p, "CREATE ") || (!q && strstr(p, "INSERT"))) return false;
    for (; q && (q = strchr(q, '(')) != NULL; q++) {
        char *end;
        strtoll(q + 1, &end, 10);
        if (strncmp(end, ", '')", 5) != 0) return false;
    }
    return true;
}

/* Can every step be said as an operation on keys? */
static bool in_keys(const spec *s, const char *dialect)
{
    for (size_t i = 0; i < s->steps.n; i++) {
        const char *sql = spec_sql(s, s->steps.at[i].text, dialect);
        if (!sql || key_statement_of(sql).action == KEY_NONE) return false;
    }
    return true;
}

/* Without SQL, does a step ask for a locking read? */
static bool locks_rows(const spec *s, const char *dialect)
{
    for (size_t i = 0; i < s->steps.n; i++) {
        const char *sql = spec_sql(s, s->steps.at[i].text, dialect);
        if (sql && key_statement_of(sql).lock) return true;
    }
    return false;
}

/* --- one order -------------------------------------------------------------------------------- */

void bench_open(case_bench *b, db *d, mem *m)
{
    bool sql = d->driver->query && d->driver->script;
    *b = (case_bench){.db = d, .mem = m, .sql = sql, .dialect = sql ? d->driver->name : "keys"};
    d->own_tables = sql;
}

void bench_close(case_bench *b)
{
    if (b->stepper) stepper_close(b->stepper);
    b->stepper = NULL;
}

static bool set_up(case_bench *b, const spec *s)
{
    if (b->sql) {
        for (size_t i = 0; i < s->setups.n; i++) {
            const char *text = spec_sql(s, s->setups.at[i], b->dialect);
            if (text && !b->db->driver->script(b->db, text)) return false;
        }
        return true;
    }
    db_row *rows;
    uint32_t n;
    return case_rows(s, b->dialect, b->mem, &rows, &n) && b->db->driver->load(b->db, rows, n);
}

static void tear_down(case_bench *b, const spec *s)
{
    const char *text = b->sql ? spec_sql(s, s->teardown, b->dialect) : NULL;
    if (text) b->db->driver->script(b->db, text);
}

/* The node that a session of the script is on; false: there is none of this role or letter. */
static bool node_of(const db *d, const spec_session *s, uint32_t *node)
{
    *node = db_primary(d);
    if (!s->node) return true;
    for (uint32_t i = 0; i < d->nodes; i++) {
        char letter[2] = {(char)('a' + i), 0};
        *node = i;
        if (!strcmp(s->node, d->node[i].role) || !strcmp(s->node, letter)) return true;
    }
    return false;
}

/* Are there sessions for all of the script's, on their nodes? */
static bool enough_sessions(case_bench *b, const spec *s)
{
    uint32_t n = (uint32_t)s->sessions.n;
    uint32_t *nodes = mem_array0(b->mem, uint32_t, n);
    bool same = b->stepper && b->sessions >= n;
    for (uint32_t i = 0; i < n; i++) {
        node_of(b->db, &s->sessions.at[i], &nodes[i]);
        same = same && b->nodes[i] == nodes[i];
    }
    if (same) return true;
    bench_close(b);
    b->sessions = n;
    b->nodes = nodes;
    b->stepper = stepper_open(b->db, b->mem, n, nodes, b->sql);
    return b->stepper;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Rows as one text, sorted, so that their order does not matter. */
static const char *sorted_rows(mem *m, char **rows, uint32_t n)
{
    strbuf b;
    strbuf_init(&b, m);
    if (n) qsort(rows, n, sizeof *rows, by_text);
    for (uint32_t i = 0; i < n; i++) strbuf_printf(&b, "%s\n", rows[i]);
    return strbuf_cstr(&b);
}

static const char *rows_returned(mem *m, const step_result *r)
{
    char **rows = mem_array(m, char *, r->n_rows + 1);
    for (uint32_t i = 0; i < r->n_rows; i++) {
        strbuf b;
        strbuf_init(&b, m);
        for (uint32_t k = 0; k < r->n_cols; k++) {
            const db_cell *c = &r->cells[(size_t)i * r->n_cols + k];
            if (k) strbuf_char(&b, '|');
            if (c->at != UINT32_MAX) strbuf_add(&b, r->text + c->at, c->n);
        }
        strbuf_char(&b, 0);
        rows[i] = b.at;
    }
    return sorted_rows(m, rows, r->n_rows);
}

static const char *rows_expected(mem *m, const char *text)
{
    VEC(char *) rows = {0};
    while (*text) {
        size_t n = strcspn(text, ",");
        const char *from = text, *to = text + n;
        while (from < to && *from == ' ') from++;
        while (to > from && to[-1] == ' ') to--;
        char *row = mem_get(m, (size_t)(to - from) + 1);
        memcpy(row, from, (size_t)(to - from));
        row[to - from] = 0;
        vec_push(m, &rows, row);
        text += n + (text[n] == ',');
    }
    return sorted_rows(m, rows.at, (uint32_t)rows.n);
}

static bool shows(case_bench *b, const spec *s, const case_run *r)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (r->results[i].how != STEP_DONE) return false;
    for (size_t k = 0; k < s->signs.n; k++)
        for (uint32_t i = 0; i < r->n; i++)
            if (r->results[i].step == s->signs.at[k].step &&
                strcmp(rows_returned(b->mem, &r->results[i]),
                       rows_expected(b->mem, s->signs.at[k].rows)) != 0)
                return false;
    return true;
}

static enum case_outcome outcome_of(case_bench *b, const spec *s, const case_run *r)
{
    bool waited = false;
    if (shows(b, s, r)) return CASE_HAPPENED;
    for (uint32_t i = 0; i < r->n; i++) {
        if (r->results[i].how == STEP_LOST) return CASE_ERROR;
        waited = waited || r->results[i].waited;
    }
    for (uint32_t i = 0; i < r->n; i++)
        if (r->results[i].how == STEP_REFUSED) return CASE_ABORTED;
    return waited ? CASE_BLOCKED : CASE_ABSENT;
}

static void not_applicable(case_run *r, const char *why)
{
    r->outcome = CASE_NOT_APPLICABLE;
    r->why = why;
}

/* Is there a form of each text that this database understands? */
static bool can_run(case_bench *b, const spec *s, case_run *r)
{
    db_row *rows;
    uint32_t n;
    if (!spec_applies(s, b->dialect, b->db->driver->name))
        not_applicable(r, "the case is about other databases");
    else if (!b->sql && (!in_keys(s, b->dialect) || !case_rows(s, b->dialect, b->mem, &rows, &n)))
        not_applicable(r, "the case needs SQL");
    else if (!b->sql && !b->db->driver->row_locks && locks_rows(s, b->dialect))
        not_applicable(r, "there are no locking reads");
    for (size_t i = 0; i < s->sessions.n && r->outcome != CASE_NOT_APPLICABLE; i++) {
        uint32_t node;
        if (!node_of(b->db, &s->sessions.at[i], &node))
            not_applicable(r, "there is no such node");
        else if (s->sessions.at[i].held && !b->db->holds)
            not_applicable(r, "commits cannot be held there");
    }
    for (size_t i = 0; i < s->steps.n && r->outcome != CASE_NOT_APPLICABLE; i++)
        if (!spec_sql(s, s->steps.at[i].text, b->dialect))
            not_applicable(r, "a statement of the case does not exist there");
    return r->outcome != CASE_NOT_APPLICABLE;
}

static const char *kept_error(case_bench *b)
{
    size_t n = strlen(b->db->error) + 1;
    char *copy = mem_get(b->mem, n);
    memcpy(copy, b->db->error, n);
    return copy;
}

void case_run_order(case_bench *b, const spec *s, const uint32_t *steps, uint32_t n, case_run *r)
{
    *r = (case_run){.outcome = CASE_ERROR, .n = n, .steps = steps};
    uint64_t start = clock_now();
    r->results = mem_array0(b->mem, step_result, n ? n : 1);
    if (!can_run(b, s, r)) return;
    /* What the setup makes must be there before sessions name it. */
    bool made = set_up(b, s);
    if (made && enough_sessions(b, s) &&
        stepper_run(b->stepper, s, b->dialect, steps, n, r->results))
        r->outcome = outcome_of(b, s, r);
    else {
        r->why = kept_error(b);
        bench_close(b); /* a session may hang, and hold what the teardown removes */
    }
    for (uint32_t i = 0; i < n && !r->why; i++)
        if (r->results[i].how == STEP_LOST) r->why = r->results[i].error;
    if (made) tear_down(b, s);
    r->seconds = (double)(clock_now() - start) / 1e9;
}

void case_run_all(case_bench *b, const spec *s, case_run *r)
{
    double seconds = 0;
    case_run one;
    *r = (case_run){.outcome = CASE_NOT_APPLICABLE, .why = "the case has no permutation"};
    for (uint32_t p = 0; p < s->permutations.n; p++) {
        const spec_permutation *o = &s->permutations.at[p];
        if (p && b->stop && b->stop(b->ud)) {
            *r = (case_run){.outcome = CASE_ERROR, .why = "interrupted, or --time is over"};
            break;
        }
        uint32_t *steps = mem_array(b->mem, uint32_t, o->n);
        for (uint32_t i = 0; i < o->n; i++) steps[i] = s->turns.at[o->first + i].step;
        case_run_order(b, s, steps, o->n, &one);
        seconds += one.seconds;
        one.permutation = p;
        if (!p || one.outcome < r->outcome || one.outcome == CASE_ERROR) *r = one;
        if (r->outcome == CASE_HAPPENED || r->outcome == CASE_ERROR) break;
    }
    r->seconds = seconds;
}
