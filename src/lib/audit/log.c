/*
 * log.c - the reader of logs, one line of JSON at a time.
 *
 * A line is a header, rows of a table, or a transaction; members that nobody asked for are passed
 * over.  What is wrong ends the reading with line and column, or becomes a note if the log is being
 * linted.  Texts, ids and sessions are kept once, in hash tables of their numbers; everything that
 * outlives the line is copied to the log's arena.
 */
#include "audit/log.h"

#include <assert.h>

#include <stdarg.h>
#include <stdio.h>

#include "audit/compressed.h"
#include "audit/plain_names.h"
#include "base/map.h"
#include "read/json.h"

typedef struct reader {
    json j;
    sql_log *l;
    uint64_t line;
    uint64_t lines;         /* that are not blank, since the last end mark */
    uint64_t odd;           /* of these, marks that earlier recorders did not count */
    const char *line_start; /* in the window */
    VEC(cell) cells;
    VEC(log_stmt) stmts;
    id_index txn_index; /* transactions by id */
    bool header;
} reader;

/* Something is wrong at `at`: the end, or a note. */
static void wrong(reader *r, finding_id id, const char *at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void wrong(reader *r, finding_id id, const char *at, const char *format, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    if (!r->l->linting) json_fail(&r->j, at, "%s", text);
    const char *kept = arena_text(&r->l->kept, text, strlen(text));
    vec_push(r->l->mem, &r->l->notes, ((log_note){id, r->line, kept}));
}

/* Members that nobody reads; some are ours, or expected. */
static void pass_over(reader *r, json_text name)
{
    static const char *const known[] = {"columns",  "database", "isolation", "mark",   "note",
                                        "notes",    "comment",  "name",      "from",   "to",
                                        "lines",    "part",     "counts",    "copied", "rows_hash",
                                        "left_out", "no_native"};
    if (r->l->linting) {
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            if (json_is(name, known[i])) goto skip;
        wrong(r, FINDING_UNKNOWN_MEMBERS, r->j.p, "\"%.*s\"", name.n < 60 ? (int)name.n : 60,
              name.at);
    }
skip:
    json_skip(&r->j);
}

static const char *keep(reader *r, json_text t)
{
    if (memchr(t.at, 0, t.n)) json_fail(&r->j, r->j.p, "a NUL character in a name");
    return arena_text(&r->l->kept, t.at, t.n);
}

uint32_t log_text_number(sql_log *l, const char *at, size_t n)
{
    assert(at || !n);
    guard *g = l->mem->guard;
    if (n > UINT32_MAX / 2) guard_fail(g, GUARD_PARSE, "a statement of over 2 GiB");
    uint64_t hash = hash_bytes(at, n, hash_secret(l));
    for (index_walk w = id_index_walk(&l->text_index, hash); id_index_next(&l->text_index, &w);) {
        const log_text *o = &l->texts.at[w.id];
        if (o->n == n && !memcmp(o->at, at, n)) return w.id;
    }
    if (l->texts.n >= UINT32_MAX - 2) guard_fail(g, GUARD_PARSE, "more than 2^32 statements");
    uint32_t id = (uint32_t)l->texts.n;
    vec_push(l->mem, &l->texts, ((log_text){arena_text(&l->kept, at, n), (uint32_t)n}));
    id_index_add(l->mem, &l->text_index, hash, id);
    return id;
}

static uint32_t text_number(reader *r, json_text t)
{
    if (r->l->dialect != DIALECT_MYSQL || !t.n || !memchr(t.at, '`', t.n))
        return log_text_number(r->l, t.at, t.n);
    strbuf plain;
    strbuf_init(&plain, r->l->mem);
    plain_names(t.at, t.n, &plain);
    uint32_t number = log_text_number(r->l, plain.at, plain.n);
    bool same = plain.n == t.n && !memcmp(plain.at, t.at, t.n);
    strbuf_free(&plain);
    while (r->l->written.n <= number) vec_push(r->l->mem, &r->l->written, ((log_text){NULL, 0}));
    log_text *w = &r->l->written.at[number];
    if (!same && !w->at) *w = (log_text){arena_text(&r->l->kept, t.at, t.n), (uint32_t)t.n};
    return number;
}

log_text log_text_as_written(const sql_log *l, uint32_t text)
{
    bool other = text < l->written.n && l->written.at[text].at;
    assert(text < l->texts.n);
    return other ? l->written.at[text] : l->texts.at[text];
}

/* An id as text: 7 and "7" are the same one. */
static json_text id_text(reader *r, const char *what)
{
    json_space(&r->j);
    if (*r->j.p == '"') return json_string(&r->j);
    const char *from = r->j.p;
    json_int(&r->j, what);
    return (json_text){from, (size_t)(r->j.p - from)};
}

static uint32_t session_number(reader *r, json_text t)
{
    sql_log *l = r->l;
    for (size_t i = l->sessions.n; i-- > 0;)
        if (json_is(t, l->sessions.at[i])) return (uint32_t)i;
    if (l->sessions.n > 65535) json_fail(&r->j, r->j.p, "more than 65536 sessions");
    vec_push(l->mem, &l->sessions, keep(r, t));
    return (uint32_t)l->sessions.n - 1;
}

static cell read_cell(reader *r)
{
    json *j = &r->j;
    json_space(j);
    if (*j->p == '"') {
        json_text t = json_string(j);
        if (t.n > UINT32_MAX / 2) json_fail(j, j->p, "a value of over 2 GiB");
        return (cell){CELL_TEXT, (uint32_t)t.n, arena_text(&r->l->kept, t.at, t.n)};
    }
    if (json_literal(j, "null")) return (cell){CELL_NULL, 0, ""};
    if (json_literal(j, "true")) return (cell){CELL_TRUE, 4, "true"};
    if (json_literal(j, "false")) return (cell){CELL_FALSE, 5, "false"};
    if (*j->p == '{' || *j->p == '[') json_expected(j, "a string, number, true, false or null");
    json_text t = json_skip(j);
    if (t.n > 100000) json_fail(j, t.at, "a number of over 100000 characters");
    return (cell){CELL_NUMBER, (uint32_t)t.n, arena_text(&r->l->kept, t.at, t.n)};
}

/* A list of cells, added to r->cells; how many. */
static uint32_t read_list(reader *r)
{
    uint32_t n = 0;
    json_need(&r->j, '[');
    if (json_take(&r->j, ']')) return 0;
    do {
        cell c = read_cell(r);
        vec_push(r->l->mem, &r->cells, c);
        if (++n == UINT32_MAX / 64) json_fail(&r->j, r->j.p, "a list that is too long");
    } while (json_more(&r->j, ']'));
    return n;
}

static const cell *kept_cells(reader *r)
{
    cell *c = arena_array(&r->l->kept, cell, r->cells.n + 1);
    if (r->cells.n) memcpy(c, r->cells.at, r->cells.n * sizeof *c);
    r->cells.n = 0;
    return c;
}

static const cell *read_rows(reader *r, uint32_t *n_rows, uint32_t *n_cols)
{
    json *j = &r->j;
    r->cells.n = 0;
    *n_rows = *n_cols = 0;
    json_need(j, '[');
    if (!json_take(j, ']')) {
        do {
            json_space(j);
            const char *at = j->p;
            uint32_t n = read_list(r);
            if (*n_rows && n != *n_cols) {
                wrong(r, FINDING_ROW_WIDTH, at, "a row of %u values after rows of %u", (unsigned)n,
                      (unsigned)*n_cols);
                *n_rows = 0; /* linting: the rows before are forgotten */
                memmove(r->cells.at, r->cells.at + r->cells.n - n, n * sizeof *r->cells.at);
                r->cells.n = n;
            }
            *n_cols = n;
            if (++*n_rows == UINT32_MAX / 64) json_fail(j, at, "too many rows");
        } while (json_more(j, ']'));
    }
    return kept_cells(r);
}

/* Within 2^62, so that adding a drift to it never overflows. */
static int64_t read_time(reader *r, const char *what)
{
    json_space(&r->j);
    const char *at = r->j.p;
    int64_t t = json_int(&r->j, what);
    if (t > INT64_MAX / 2 || t < -(INT64_MAX / 2)) json_fail(&r->j, at, "a time beyond 2^62");
    return t;
}

static void read_times(reader *r, int64_t *out, int n)
{
    json_need(&r->j, '[');
    for (int i = 0; i < n; i++) {
        if (i) json_need(&r->j, ',');
        /* of a commit, nobody may know the end */
        out[i] = i == 3 && json_literal(&r->j, "null") ? LOG_NO_END : read_time(r, "a time");
        if (i && out[i] < out[i - 1])
            wrong(r, FINDING_BACKWARD_TIMES, r->j.p, "times must not fall");
    }
    json_need(&r->j, ']');
}

const char *const log_dialect_names[DIALECTS] = {"postgres", "mysql", "sqlite", "duckdb",
                                                 "generic"};

static void read_dialect(reader *r)
{
    json_space(&r->j);
    const char *at = r->j.p;
    json_text t = json_string(&r->j);
    for (int i = 0; i < DIALECTS; i++)
        if (json_is(t, log_dialect_names[i])) {
            r->l->dialect = (log_dialect)i;
            return;
        }
    json_fail(&r->j, at, "the dialect must be postgres, mysql, sqlite, duckdb or generic");
}

/* What products call an error, in SQL's words. */
static const char *state_of_name(json_text t)
{
    static const char *const names[][2] = {
        {"1062", "23505"},
        {"1586", "23505"},
        {"1451", "23503"},
        {"1452", "23503"},
        {"1048", "23502"},
        {"3819", "23514"},
        {"4025", "23514"},
        {"1205", "55P03"},
        {"1213", "40P01"},
        {"1020", "40001"},
        {"SQLITE_CONSTRAINT_UNIQUE", "23505"},
        {"SQLITE_CONSTRAINT_PRIMARYKEY", "23505"},
        {"SQLITE_CONSTRAINT_FOREIGNKEY", "23503"},
        {"SQLITE_CONSTRAINT_NOTNULL", "23502"},
        {"SQLITE_CONSTRAINT_CHECK", "23514"},
        {"SQLITE_BUSY", "55P03"},
        {"SQLITE_LOCKED", "55P03"},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (json_is(t, names[i][0])) return names[i][1];
    return LOG_SOME_ERROR;
}

static void read_error(reader *r, log_stmt *s)
{
    json_space(&r->j);
    const char *at = r->j.p;
    bool named = r->l->dialect != DIALECT_POSTGRES;
    json_text t = named && *at != '"' ? json_skip(&r->j) : json_string(&r->j);
    if (t.n != 5 && !named)
        json_fail(&r->j, at,
                  "\"error\" must be an SQLSTATE of 5 characters (other dialects may name errors)");
    memcpy(s->error, t.n == 5 && *at == '"' ? t.at : state_of_name(t), 5);
    s->has_error = true;
}

static log_stmt read_stmt(reader *r)
{
    json *j = &r->j;
    json_space(j);
    log_stmt s = {.line = r->line, .column = (uint64_t)(j->p - r->line_start) + 1};
    if (*j->p == '"') { /* the text alone: what came back is unknown */
        s.text = text_number(r, json_string(j));
        return s;
    }
    bool has_sql = false;
    const char *at = j->p;
    json_need(j, '{');
    if (!json_take(j, '}')) {
        do {
            json_text name = json_member(j);
            if (json_is(name, "sql")) {
                json_space(j);
                if (*j->p != '"') json_expected(j, "a string");
                s.text = text_number(r, json_string(j));
                has_sql = true;
            } else if (json_is(name, "params")) {
                r->cells.n = 0;
                s.n_params = read_list(r);
                s.params = kept_cells(r);
            } else if (json_is(name, "rows")) {
                s.cells = read_rows(r, &s.n_rows, &s.n_cols);
                s.has_rows = true;
            } else if (json_is(name, "count")) {
                s.count = json_uint(j, "count");
                s.has_count = true;
            } else if (json_is(name, "insert_id")) {
                s.insert_id = json_uint(j, "insert_id");
            } else if (json_is(name, "error")) {
                read_error(r, &s);
            } else if (json_is(name, "opaque")) {
                s.opaque = keep(r, json_string(j));
            } else if (json_is(name, "t")) {
                int64_t t[2];
                read_times(r, t, 2);
                s.call = t[0];
                s.answer = t[1];
                s.has_time = true;
            } else {
                pass_over(r, name);
            }
        } while (json_more(j, '}'));
    }
    if (!has_sql) json_fail(j, at, "a statement without \"sql\"");
    if (s.has_error && (s.has_rows || s.has_count))
        json_fail(j, at, "a statement with both \"error\" and a result");
    return s;
}

static const log_stmt *read_stmts(reader *r, uint32_t *n)
{
    r->stmts.n = 0;
    json_need(&r->j, '[');
    if (!json_take(&r->j, ']')) {
        do {
            log_stmt s = read_stmt(r);
            vec_push(r->l->mem, &r->stmts, s);
        } while (json_more(&r->j, ']'));
    }
    *n = (uint32_t)r->stmts.n;
    log_stmt *kept = arena_array(&r->l->kept, log_stmt, r->stmts.n + 1);
    if (r->stmts.n) memcpy(kept, r->stmts.at, r->stmts.n * sizeof *kept);
    return kept;
}

static void read_status(reader *r, log_txn *t)
{
    static const char *const names[] = {"committed", "aborted", "unknown"};
    json_space(&r->j);
    const char *at = r->j.p;
    json_text s = json_string(&r->j);
    for (int i = 0; i < 3; i++)
        if (json_is(s, names[i])) {
            t->status = (log_status)i;
            return;
        }
    json_fail(&r->j, at, "status must be committed, aborted or unknown");
}

static void name_list(reader *r)
{
    json_need(&r->j, '[');
    if (json_take(&r->j, ']')) return;
    do {
        const char *name = keep(r, json_string(&r->j));
        vec_push(r->l->mem, &r->l->unknown, name);
    } while (json_more(&r->j, ']'));
}

static const char **column_names(reader *r, uint32_t *n)
{
    VEC(const char *) names = {0};
    json_need(&r->j, '[');
    if (!json_take(&r->j, ']')) {
        do {
            const char *name = keep(r, json_string(&r->j));
            vec_push(r->l->mem, &names, name);
        } while (json_more(&r->j, ']'));
    }
    const char **kept = arena_array(&r->l->kept, const char *, names.n + 1);
    if (names.n) memcpy(kept, names.at, names.n * sizeof *kept);
    *n = (uint32_t)names.n;
    vec_free(r->l->mem, &names);
    return kept;
}

typedef struct line_parts { /* which kind of line it is shows by its members */
    log_txn t;
    log_rows rows;
    uint32_t n_columns;
    bool header, table, native, has_rows, statements, mark, unlogged, session, recorder, of_history;
    bool end, counts;
    uint64_t lines; /* that the end mark counts */
    const char *why, *isolation, *level;
} line_parts;

static void read_header_version(reader *r)
{
    json_space(&r->j);
    const char *at = r->j.p;
    if (json_int(&r->j, "the version") != 1)
        json_fail(&r->j, at, "this version reads \"ratel_sql\":1");
}

/* PostgreSQL's words for an isolation, the weakest first. */
static const char *const isolations[] = {"read uncommitted", "read committed", "repeatable read",
                                         "serializable"};

static const char *read_isolation(reader *r)
{
    json_space(&r->j);
    if (*r->j.p != '"') {
        json_skip(&r->j);
        return NULL;
    }
    json_text t = json_string(&r->j);
    for (int i = 0; i < 4; i++)
        if (json_is(t, isolations[i])) return isolations[i];
    return NULL;
}

const char *log_weaker_isolation(const char *a, const char *b)
{
    if (!a || !b) return a ? a : b;
    for (int i = 0; i < 4; i++)
        if (!strcmp(a, isolations[i]) || !strcmp(b, isolations[i])) return isolations[i];
    return a;
}

/* Where transactions ask for different levels, all of them keep the weakest. */
static void note_isolation(sql_log *l, const char *isolation)
{
    if (!isolation) l->some_usual = true;
    l->weakest = log_weaker_isolation(l->weakest, isolation);
}

static void read_mark(reader *r, line_parts *p)
{
    json_space(&r->j);
    p->mark = true;
    if (*r->j.p != '"') {
        json_skip(&r->j);
        return;
    }
    json_text t = json_string(&r->j);
    p->unlogged = json_is(t, "unlogged");
    p->end = json_is(t, "end");
    r->odd += p->unlogged || json_is(t, "part");
}

/* What the end mark counts; any other text is no count. */
static void read_lines(reader *r, line_parts *p)
{
    json_text t = json_skip(&r->j);
    uint64_t n = 0;
    for (size_t i = 0; i < t.n; i++) {
        if (t.at[i] < '0' || t.at[i] > '9' || t.n > 18) return;
        n = n * 10 + (uint64_t)(t.at[i] - '0');
    }
    p->lines = n;
    p->counts = true;
}

/* An end mark counts the lines before it, or since the one before it. */
static void end_lines(reader *r, const line_parts *p)
{
    sql_log *l = r->l;
    uint64_t there = r->lines - 1;
    if (p->counts && p->lines > there) l->missing += p->lines - there;
    if (p->counts && p->lines + r->odd < there) l->added += there - p->lines - r->odd;
    l->ended = true;
    r->lines = r->odd = 0;
}

static void read_native_setup(reader *r)
{
    json *j = &r->j;
    json_need(j, '[');
    if (json_take(j, ']')) return;
    do {
        json_space(j);
        log_stmt one = {.line = r->line, .column = (uint64_t)(j->p - r->line_start) + 1};
        if (*j->p != '"') json_expected(j, "a string");
        json_text t = json_string(j);
        one.text = log_text_number(r->l, t.at, t.n);
        vec_push(r->l->mem, &r->l->native.setup, one);
    } while (json_more(j, ']'));
}

/* Of the header: an object.  Of rows of a table: true. */
static void read_native(reader *r, line_parts *p)
{
    json *j = &r->j;
    json_space(j);
    if (*j->p != '{') {
        p->native = json_is(json_skip(j), "true");
        return;
    }
    json_need(j, '{');
    r->l->native.given = true;
    if (json_take(j, '}')) return;
    do {
        json_text name = json_member(j);
        if (json_is(name, "setup"))
            read_native_setup(r);
        else if (json_is(name, "sql_mode"))
            r->l->native.sql_mode = keep(r, json_string(j));
        else
            pass_over(r, name);
    } while (json_more(j, '}'));
}

/* A member whose presence says it. */
static bool read_flag(reader *r, line_parts *p, json_text name)
{
    bool *flag = json_is(name, "hidden_routines") ? &r->l->hidden_routines
                 : json_is(name, "trace")         ? &r->l->traced
                 : json_is(name, "recorder")      ? &p->recorder
                                                  : NULL;
    if (flag) *flag = true;
    return flag != NULL;
}

static void read_commit_ts(json *j, log_txn *t)
{
    json_space(j);
    t->commit_unknown = *j->p == 'n';
    if (t->commit_unknown)
        json_skip(j);
    else
        t->commit = json_int(j, "commit_ts");
    t->has_commit = !t->commit_unknown;
}

static void read_member(reader *r, line_parts *p, json_text name)
{
    json *j = &r->j;
    if (json_is(name, "ratel_sql")) {
        read_header_version(r);
        p->header = true;
    } else if (json_is(name, "setup")) {
        uint32_t n;
        const log_stmt *s = read_stmts(r, &n);
        for (uint32_t i = 0; i < n; i++) vec_push(r->l->mem, &r->l->setup, s[i]);
    } else if (json_is(name, "native")) {
        read_native(r, p);
    } else if (json_is(name, "unknown")) {
        name_list(r);
    } else if (json_is(name, "table")) {
        p->rows.table = keep(r, json_string(j));
        p->table = true;
    } else if (json_is(name, "rows")) {
        p->rows.cells = read_rows(r, &p->rows.n_rows, &p->rows.n_cols);
        p->has_rows = true;
    } else if (json_is(name, "columns")) {
        p->rows.columns = column_names(r, &p->n_columns);
    } else if (json_is(name, "session")) {
        p->t.session = session_number(r, id_text(r, "session"));
        p->session = true;
    } else if (json_is(name, "id")) {
        p->t.id = keep(r, id_text(r, "id"));
    } else if (json_is(name, "status")) {
        read_status(r, &p->t);
    } else if (json_is(name, "begin")) {
        p->t.begin = read_time(r, "begin");
        p->t.has_begin = true;
    } else if (json_is(name, "end")) {
        p->t.end = read_time(r, "end");
        p->t.has_end = true;
    } else if (json_is(name, "commit_ts")) {
        read_commit_ts(j, &p->t);
    } else if (json_is(name, "times")) {
        read_times(r, p->t.times, 4);
        p->t.has_times = true;
    } else if (json_is(name, "statements")) {
        p->t.stmts = read_stmts(r, &p->t.n_stmts);
        p->statements = true;
    } else if (json_is(name, "level")) {
        p->level = keep(r, json_string(j));
    } else if (json_is(name, "dialect")) {
        read_dialect(r);
    } else if (json_is(name, "mark") || json_is(name, "lines")) {
        (json_is(name, "mark") ? read_mark : read_lines)(r, p);
    } else if (json_is(name, "isolation")) {
        p->isolation = read_isolation(r);
    } else if (json_is(name, "collation")) {
        r->l->collation = keep(r, json_string(j));
    } else if (json_is(name, "named_writes")) {
        r->l->named_writes = json_is(json_skip(j), "true");
    } else if (read_flag(r, p, name)) {
        json_skip(j);
    } else if (json_is(name, "ratel") || json_is(name, "ops")) {
        p->of_history = true;
        pass_over(r, name);
    } else if (json_is(name, "why")) {
        p->why = keep(r, json_string(j));
    } else {
        pass_over(r, name);
    }
}

static bool new_id(reader *r, const char *id)
{
    sql_log *l = r->l;
    uint64_t hash = hash_bytes(id, strlen(id), hash_secret(r));
    for (index_walk w = id_index_walk(&r->txn_index, hash); id_index_next(&r->txn_index, &w);)
        if (!strcmp(l->txns.at[w.id].id, id)) return false;
    id_index_add(l->mem, &r->txn_index, hash, (uint32_t)l->txns.n);
    return true;
}

static void add_txn(reader *r, line_parts *p, const char *start)
{
    sql_log *l = r->l;
    log_txn *t = &p->t;
    if (t->has_begin && t->has_end && t->end < t->begin)
        wrong(r, FINDING_BACKWARD_TIMES, start, "\"end\" before \"begin\"");
    if (!t->id) {
        char number[24];
        int n = snprintf(number, sizeof number, "%llu", (unsigned long long)r->line);
        t->id = arena_text(&l->kept, number, (size_t)n);
    }
    if (!new_id(r, t->id))
        wrong(r, FINDING_DUPLICATE_IDS, start, "a second transaction with the id \"%s\"", t->id);
    if (l->txns.n >= UINT32_MAX - 8) json_fail(&r->j, start, "more than 2^32 transactions");
    /* those without a session are one, in the order of their lines */
    if (!p->session) t->session = session_number(r, (json_text){"", 0});
    note_isolation(l, p->isolation);
    t->isolation = p->isolation;
    t->line = r->line;
    l->statements += t->n_stmts;
    vec_push(l->mem, &l->txns, *t);
}

static void read_line(reader *r)
{
    json *j = &r->j;
    const char *start = j->p;
    line_parts p = {.rows = {.line = r->line}};
    json_need(j, '{');
    if (!json_take(j, '}')) {
        do {
            json_text name = json_member(j);
            read_member(r, &p, name);
        } while (json_more(j, '}'));
    }
    json_space(j);
    if (j->p < j->end) json_expected(j, "the end of the line");
    /* nothing but remarks follows the end */
    if (!p.mark || p.unlogged) r->l->ended = false;
    if (p.mark && p.end) end_lines(r, &p);
    if (p.header) {
        if (r->header || r->l->txns.n) json_fail(j, start, "a header that is not the first line");
        r->header = true;
        r->l->usual = p.isolation;
        r->l->recorded = p.recorder;
        r->l->level = p.level; /* (a transaction may have a level of its own: a hint) */
    } else if (p.table) {
        if (!p.has_rows) json_fail(j, start, "a table without \"rows\"");
        if (r->l->txns.n) json_fail(j, start, "rows of the initial state after a transaction");
        if (p.rows.columns && p.rows.n_rows && p.n_columns != p.rows.n_cols)
            json_fail(j, start, "rows of %u values for %u columns", (unsigned)p.rows.n_cols,
                      (unsigned)p.n_columns);
        if (p.native)
            vec_push(r->l->mem, &r->l->native.rows, p.rows);
        else
            vec_push(r->l->mem, &r->l->rows, p.rows);
    } else if (p.statements) {
        add_txn(r, &p, start);
    } else if (p.unlogged) {
        if (!r->l->gaps++) r->l->gap_line = r->line, r->l->gap_why = p.why;
    } else if (p.of_history) {
        json_fail(j, start, "this is a history for ratel check, not a log of SQL transactions");
    } else if (!p.mark) {
        json_fail(j, start,
                  "neither a header, nor rows of a table, nor a transaction with \"statements\"");
    }
    if (!r->header) {
        wrong(r, FINDING_NO_HEADER, start, "a log begins with a header, {\"ratel_sql\":1,...}");
        r->header = true;
    }
}

bool log_cut_off(const sql_log *l)
{
    return (l->traced || l->recorded) && !l->ended;
}

bool log_incomplete(const sql_log *l)
{
    return log_cut_off(l) || log_missing(l);
}

uint64_t log_missing(const sql_log *l)
{
    return l->traced || l->recorded ? l->missing : 0;
}

void log_begin(sql_log *l, mem *m)
{
    memset(l, 0, sizeof *l);
    l->mem = m;
    arena_init(&l->kept, m);
}

void log_read(sql_log *l, source *s)
{
    mem *m = l->mem;
    reader r = {.l = l};
    source_skip_bom(s);
    json_init(&r.j, s);
    while (json_next_line(&r.j, &r.line)) {
        guard_tick(s->guard);
        r.line_start = r.j.p;
        /* the recorder may have been killed while it wrote: a line without its end is none */
        bool recorded = l->traced || l->recorded;
        if (recorded && s->eof && s->pos == s->n && s->at[s->n - 1] != '\n') break;
        if (recorded) packed_allow_cut(s); /* ... and so is a frame without its end */
        r.lines++;
        read_line(&r);
    }
    if (l->ended) l->added += r.lines;
    if (!r.header) guard_fail(s->guard, GUARD_PARSE, "no header: the log is empty");
    vec_free(m, &r.cells);
    vec_free(m, &r.stmts);
    id_index_free(m, &r.txn_index);
    strbuf_free(&r.j.scratch);
}
