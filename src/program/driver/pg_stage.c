/*
 * pg_stage.c - sessions of a script over libpq (pg_stage.h).
 *
 * Expected outputs of PostgreSQL's specs were made with some settings of its regression tests; the
 * sessions have the same: time zone, styles of dates and intervals, application name.  On a server
 * of our own deadlocks are looked for after a second, as usual: specs count on it.
 */
#include "driver/pg_stage.h"

#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>

#include "driver/adapters.h"

typedef struct staged_session {
    pg_stage *all;
    PGconn *conn;
    const char *name;
    guard guard; /* of the memory of notices alone */
    mem mem;
    strbuf notices; /* that have come and are not told yet, each with its 0 */
    char error[DB_ERROR];
} staged_session;

struct pg_stage {
    db *db;
    uint32_t n;
    staged_session *sessions; /* n, and the control connection */
    const stage_user *user;
};

#define BLOCKED "ratel_blocked"

static staged_session *staged(const pg_stage *g, uint32_t session)
{
    return &g->sessions[session == STAGE_CONTROL ? g->n : session];
}

/* libpq is calling: nothing may jump over its frames, so the notice is only kept, and without
   memory it is lost. */
static void keep_notice(void *ud, const char *message)
{
    staged_session *s = ud;
    if (!guard_armed(&s->guard)) strbuf_add(&s->notices, message, strlen(message) + 1);
}

static void tell_notices(staged_session *s)
{
    const pg_stage *g = s->all;
    size_t n = s->notices.n;
    s->notices.n = 0;
    if (s == &g->sessions[g->n]) return;
    for (size_t at = 0; at < n; at += strlen(s->notices.at + at) + 1)
        g->user->notice(g->user->ud, (uint32_t)(s - g->sessions), s->notices.at + at);
}

static const char *isolation_words(const char *isolation)
{
    if (!strcmp(isolation, "serializable")) return "serializable";
    if (!strcmp(isolation, "repeatable-read")) return "repeatable\\ read";
    return !strcmp(isolation, "read-uncommitted") ? "read\\ uncommitted" : "read\\ committed";
}

static bool stage_connect(pg_stage *g, staged_session *s, const char *application)
{
    char name[128], options[320];
    snprintf(name, sizeof name, "%.60s/%.60s", application, s->name);
    snprintf(options, sizeof options,
             "-c default_transaction_isolation=%s -c timezone=PST8PDT -c datestyle=Postgres,\\ MDY "
             "-c intervalstyle=postgres_verbose -c client_encoding=UTF8%s",
             isolation_words(g->db->isolation),
             g->db->temp.running ? " -c deadlock_timeout=1s" : "");
    s->all = g;
    guard_init(&s->guard);
    mem_init(&s->mem, mem_libc, NULL, &s->guard);
    strbuf_init(&s->notices, &s->mem);
    s->conn = postgres_connection(g->db, name, options);
    PQsetNoticeProcessor(s->conn, keep_notice, s);
    if (PQstatus(s->conn) == CONNECTION_OK) return true;
    db_fail(g->db->error, "%.*s", (int)strcspn(PQerrorMessage(s->conn), "\n"),
            PQerrorMessage(s->conn));
    return false;
}

/* The function is there for isolationtester, since PostgreSQL 9.6. */
static bool prepare_question(pg_stage *g, mem *m)
{
    strbuf sql;
    strbuf_init(&sql, m);
    strbuf_str(&sql, "SELECT pg_catalog.pg_isolation_test_session_is_blocked($1, '{");
    for (uint32_t i = 0; i < g->n; i++)
        strbuf_printf(&sql, "%s%d", i ? "," : "", PQbackendPID(g->sessions[i].conn));
    strbuf_str(&sql, "}')");
    PGconn *c = g->sessions[g->n].conn;
    PGresult *r = PQprepare(c, BLOCKED, strbuf_cstr(&sql), 0, NULL);
    bool done = PQresultStatus(r) == PGRES_COMMAND_OK;
    if (!done)
        db_fail(g->db->error, "%.*s", (int)strcspn(PQerrorMessage(c), "\n"), PQerrorMessage(c));
    PQclear(r);
    strbuf_free(&sql);
    return done;
}

pg_stage *pg_stage_open(db *d, mem *m, const char *const *names, uint32_t n,
                        const char *application, const stage_user *user)
{
    pg_stage *g = mem_zeroed(m, sizeof *g);
    g->db = d;
    g->n = n;
    g->user = user;
    g->sessions = mem_array0(m, staged_session, (size_t)n + 1);
    bool good = true;
    for (uint32_t i = 0; i <= n && good; i++) {
        g->sessions[i].name = i < n ? names[i] : "control connection";
        good = stage_connect(g, &g->sessions[i], application);
    }
    if (good && prepare_question(g, m)) return g;
    pg_stage_close(g);
    return NULL;
}

void pg_stage_close(pg_stage *g)
{
    for (uint32_t i = 0; i <= g->n; i++) {
        if (g->sessions[i].conn) PQfinish(g->sessions[i].conn);
        g->sessions[i].conn = NULL;
        if (g->sessions[i].all) mem_free_all(&g->sessions[i].mem);
    }
}

static void keep_error(staged_session *s, const char *text)
{
    db_fail(s->error, "%.*s", (int)strcspn(text, "\n"), text);
}

bool pg_stage_send(pg_stage *g, uint32_t session, const char *sql)
{
    staged_session *s = staged(g, session);
    bool sent = PQsendQuery(s->conn, sql);
    if (!sent) keep_error(s, PQerrorMessage(s->conn));
    return sent;
}

static enum stage_state state_within(staged_session *s, uint32_t ms)
{
    struct pollfd f = {PQsocket(s->conn), POLLIN, 0};
    if (!PQisBusy(s->conn)) return STAGE_READY;
    if (f.fd < 0) return STAGE_LOST;
    if (poll(&f, 1, (int)ms) <= 0) return STAGE_BUSY;
    /* If the connection ends here, the answers say so. */
    if (!PQconsumeInput(s->conn)) return STAGE_READY;
    return PQisBusy(s->conn) ? STAGE_BUSY : STAGE_READY;
}

enum stage_state pg_stage_wait(pg_stage *g, uint32_t session, uint32_t ms)
{
    staged_session *s = staged(g, session);
    enum stage_state t = state_within(s, ms);
    tell_notices(s);
    return t;
}

/* A number for the layout: digits and the signs that stand in numbers, and a digit at the end. */
static bool looks_numeric(const char *value)
{
    size_t n = strlen(value);
    char last = n ? value[n - 1] : '0';
    return value[strspn(value, "0123456789.Ee -")] == 0 && *value != 'E' && *value != 'e' &&
           last >= '0' && last <= '9';
}

typedef struct printed_column {
    int width;
    bool text; /* some value is no number: to the left */
} printed_column;

static void print_cells(const PGresult *r, int row, const printed_column *c, strbuf *out)
{
    int cols = PQnfields(r);
    for (int k = 0; k < cols; k++) {
        const char *value = row < 0 ? PQfname(r, k) : PQgetvalue(r, row, k);
        size_t n = strlen(value), pad = (size_t)c[k].width > n ? (size_t)c[k].width - n : 0;
        if (k) strbuf_char(out, '|');
        if (c[k].text) strbuf_add(out, value, n);
        for (size_t i = 0; i < pad; i++) strbuf_char(out, ' ');
        if (!c[k].text) strbuf_add(out, value, n);
    }
    strbuf_char(out, '\n');
}

/* As isolationtester prints rows, which takes libpq's PQprint for it: columns as wide as their
   longest value in bytes, numbers to the right, their headings too. */
static void print_rows(const PGresult *r, strbuf *out)
{
    int rows = PQntuples(r), cols = PQnfields(r);
    if (!cols) return;
    printed_column *c = mem_array0(out->mem, printed_column, (size_t)cols);
    for (int k = 0; k < cols; k++) {
        c[k].width = (int)strlen(PQfname(r, k));
        for (int i = 0; i < rows; i++) {
            int n = PQgetlength(r, i, k);
            if (n > c[k].width) c[k].width = n;
            if (n && !looks_numeric(PQgetvalue(r, i, k))) c[k].text = true;
        }
    }
    print_cells(r, -1, c, out);
    for (int k = 0; k < cols; k++) {
        if (k) strbuf_char(out, '+');
        for (int i = 0; i < c[k].width; i++) strbuf_char(out, '-');
    }
    strbuf_char(out, '\n');
    for (int i = 0; i < rows; i++) print_cells(r, i, c, out);
    strbuf_printf(out, "(%d row%s)\n\n", rows, rows == 1 ? "" : "s");
    mem_put(out->mem, c);
}

/* Details may hold numbers that differ from run to run: only the first line is shown. */
static void print_answer(const PGresult *r, strbuf *out)
{
    const char *severity = PQresultErrorField(r, PG_DIAG_SEVERITY);
    const char *message = PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);
    switch (PQresultStatus(r)) {
    case PGRES_COMMAND_OK:
    case PGRES_EMPTY_QUERY: break;
    case PGRES_TUPLES_OK: print_rows(r, out); break;
    case PGRES_FATAL_ERROR:
        if (severity && message)
            strbuf_printf(out, "%s:  %s\n", severity, message);
        else
            strbuf_printf(out, "%s\n", PQresultErrorMessage(r));
        break;
    default: strbuf_printf(out, "unexpected result status: %s\n", PQresStatus(PQresultStatus(r)));
    }
}

static void tell_answer(pg_stage *g, uint32_t session, const PGresult *r, bool good)
{
    if (session == STAGE_CONTROL) return;
    const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
    stage_answer a = {.result = r,
                      .tag = good ? PQcmdStatus((PGresult *)r) : NULL,
                      .has_rows = PQresultStatus(r) == PGRES_TUPLES_OK,
                      .rows = (uint32_t)PQntuples(r),
                      .cols = (uint32_t)PQnfields(r)};
    snprintf(a.state, sizeof a.state, "%s", state ? state : "");
    g->user->answer(g->user->ud, session, &a);
}

bool pg_stage_answers(pg_stage *g, uint32_t session, bool all, strbuf *out)
{
    staged_session *s = staged(g, session);
    PGresult *r, *last = NULL;
    bool good = true;
    *s->error = 0;
    while ((r = PQgetResult(s->conn)) != NULL) {
        tell_notices(s);
        ExecStatusType status = PQresultStatus(r);
        good = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
        if (!good) keep_error(s, PQresultErrorMessage(r));
        if (status != PGRES_EMPTY_QUERY) tell_answer(g, session, r, good);
        if (all) print_answer(r, out);
        PQclear(last);
        last = r;
        /* Nobody here copies data, and the next answer would never come. */
        if (status == PGRES_COPY_IN) PQputCopyEnd(s->conn, "COPY is not possible in a script");
        if (status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH) {
            char *line;
            while (PQgetCopyData(s->conn, &line, 0) > 0) PQfreemem(line);
        }
    }
    tell_notices(s);
    if (!all && last && PQresultStatus(last) == PGRES_TUPLES_OK) print_rows(last, out);
    PQclear(last);
    return good;
}

void pg_stage_notifications(pg_stage *g, uint32_t session, strbuf *out)
{
    staged_session *s = staged(g, session);
    PGnotify *told;
    PQconsumeInput(s->conn);
    while ((told = PQnotifies(s->conn)) != NULL) {
        char by[32];
        snprintf(by, sizeof by, "PID %d", told->be_pid);
        const char *sender = by;
        for (uint32_t i = 0; i < g->n; i++)
            if (PQbackendPID(g->sessions[i].conn) == told->be_pid) sender = g->sessions[i].name;
        strbuf_printf(out, "%s: NOTIFY \"%s\" with payload \"%s\" from %s\n", s->name,
                      told->relname, told->extra, sender);
        PQfreemem(told);
        PQconsumeInput(s->conn);
    }
}

bool pg_stage_blocked(pg_stage *g, uint32_t session, bool *known)
{
    char pid[16];
    const char *params[] = {pid};
    snprintf(pid, sizeof pid, "%d", PQbackendPID(staged(g, session)->conn));
    staged_session *control = staged(g, STAGE_CONTROL);
    PGresult *r = PQexecPrepared(control->conn, BLOCKED, 1, params, NULL, NULL, 0);
    *known = PQresultStatus(r) == PGRES_TUPLES_OK && PQntuples(r) == 1;
    if (!*known) keep_error(control, PQerrorMessage(control->conn));
    bool blocked = *known && *PQgetvalue(r, 0, 0) == 't';
    PQclear(r);
    return blocked;
}

bool pg_stage_cancel(pg_stage *g, uint32_t session)
{
    char why[256];
    PGcancel *c = PQgetCancel(staged(g, session)->conn);
    bool done = c && PQcancel(c, why, sizeof why);
    PQfreeCancel(c);
    return done;
}

char pg_stage_status(const pg_stage *g, uint32_t session)
{
    const PGconn *c = staged(g, session)->conn;
    PGTransactionStatusType t = PQtransactionStatus(c);
    if (PQstatus(c) != CONNECTION_OK || t == PQTRANS_UNKNOWN) return 0;
    return t == PQTRANS_IDLE ? 'I' : t == PQTRANS_INERROR ? 'E' : 'T';
}

const char *pg_stage_error(const pg_stage *g, uint32_t session)
{
    return staged(g, session)->error;
}

const char *stage_cell(const stage_answer *a, uint32_t row, uint32_t col, uint32_t *n,
                       uint32_t *type)
{
    const PGresult *r = a->result;
    *type = (uint32_t)PQftype(r, (int)col);
    *n = (uint32_t)PQgetlength(r, (int)row, (int)col);
    return PQgetisnull(r, (int)row, (int)col) ? NULL : PQgetvalue(r, (int)row, (int)col);
}
