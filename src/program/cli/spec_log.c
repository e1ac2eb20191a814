/*
 * spec_log.c - from the statements of a script to a log of SQL (spec_log.h).
 *
 * The setup of the log is the script's own: catalogs and tables are not read, which would show in
 * the statistics that some specs look at.  Transactions are made of statements and their answers by
 * the same code as in a trace.
 */
#include "cli/spec_log.h"

#include <string.h>

#include "audit/audit_schedule.h"
#include "base/clock.h"
#include "trace/pg_txn.h"

typedef struct logged_session {
    pg_txn txn;
    const char *sql, *at; /* what was sent, and how much of it is answered */
    uint64_t call;
    bool failed;
} logged_session;

struct spec_log {
    const db *db;
    mem *mem;
    const spec *spec;
    const spec_log_user *user;
    isolation_user watcher;
    pg_sink sink;
    mask masks;
    reference *reference; /* NULL: there is none */
    strbuf setup;         /* the script's, as a JSON list */
    uint32_t permutation;
    strbuf text;
    uint64_t ids, lines;
    logged_session *sessions;
};

/* --- lines ------------------------------------------------------------------------------------ */

static uint64_t next_id(void *ud)
{
    spec_log *l = ud;
    return ++l->ids;
}

static void add_line(void *ud, const char *at, size_t n)
{
    spec_log *l = ud;
    strbuf_add(&l->text, at, n);
    l->lines++;
}

static void add_gap(void *ud, uint32_t session, uint64_t from, const char *why)
{
    spec_log *l = ud;
    strbuf_printf(&l->text,
                  "{\"mark\":\"unlogged\",\"session\":%u,\"from\":%llu,\"why\":", (unsigned)session,
                  (unsigned long long)from);
    strbuf_json(&l->text, why, strlen(why));
    strbuf_str(&l->text, "}\n");
    l->lines++;
}

static void count_nothing(void *ud, pg_count what, uint64_t n)
{
    (void)ud, (void)what, (void)n;
}

/* --- the head --------------------------------------------------------------------------------- */

static void split_setup(spec_log *l)
{
    strbuf *o = &l->setup;
    strbuf_char(o, '[');
    for (size_t i = 0; i < l->spec->setups.n; i++) {
        const char *at = spec_sql(l->spec, l->spec->setups.at[i], "postgres");
        const char *end = at ? at + strlen(at) : NULL;
        sql_part part;
        while (at && sql_next(&at, end, SQL_RULES_STANDARD, &part)) {
            if (o->n > 1) strbuf_char(o, ',');
            strbuf_json(o, part.at, part.n);
        }
    }
    strbuf_char(o, ']');
}

static const char *words_of(const char *isolation)
{
    if (!strcmp(isolation, "serializable")) return "serializable";
    if (!strcmp(isolation, "repeatable-read")) return "repeatable read";
    return !strcmp(isolation, "read-uncommitted") ? "read uncommitted" : "read committed";
}

#define BY ",\"trace\":{\"by\":\"ratel litmus --specs\",\"dump\":true,\"commit_ts\":false}"

static void write_head(spec_log *l)
{
    strbuf *o = &l->text;
    strbuf_str(o, "{\"ratel_sql\":1,\"database\":");
    strbuf_json(o, l->db->version, strlen(l->db->version));
    strbuf_printf(o, ",\"isolation\":\"%s\"" BY ",\"setup\":", words_of(l->db->isolation));
    strbuf_add(o, l->setup.at, l->setup.n);
    strbuf_str(o, "}\n");
    l->lines++;
}

/* --- what the sessions did -------------------------------------------------------------------- */

static void begin_permutation(void *ud, uint32_t permutation)
{
    spec_log *l = ud;
    l->permutation = permutation;
    l->text.n = 0;
    l->ids = l->lines = 0;
    write_head(l);
    for (uint32_t i = 0; i < l->spec->sessions.n; i++) {
        logged_session *s = &l->sessions[i];
        *s = (logged_session){.failed = false};
        pg_txn_init(&s->txn, l->mem, i + 1, &l->masks, &l->sink);
        s->txn.isolation = words_of(l->db->isolation);
    }
}

static void log_sent(void *ud, uint32_t session, const char *sql)
{
    spec_log *l = ud;
    logged_session *s = &l->sessions[session];
    s->sql = s->at = sql;
    s->call = clock_now();
    s->failed = false;
}

static void keep_rows_shown(const stage_answer *a, pg_answer *to)
{
    static const pg_style style = {.utf8 = true, .iso_dates = false};
    for (uint32_t i = 0; i < a->rows && !to->hidden; i++) {
        strbuf_str(&to->rows, i ? ",[" : "[");
        for (uint32_t k = 0; k < a->cols && !to->hidden; k++) {
            uint32_t n, type;
            const char *value = stage_cell(a, i, k, &n, &type);
            if (k) strbuf_char(&to->rows, ',');
            if (!value)
                strbuf_str(&to->rows, "null");
            else
                to->hidden = !pg_value(&to->rows, &style, type, false, value, n);
        }
        strbuf_char(&to->rows, ']');
    }
    to->n_rows = a->rows;
}

static void log_answer(void *ud, uint32_t session, const stage_answer *a)
{
    spec_log *l = ud;
    logged_session *s = &l->sessions[session];
    pg_asked q = {.call = s->call};
    if (!s->at || !sql_next(&s->at, s->at + strlen(s->at), SQL_RULES_STANDARD, &q.part)) return;
    pg_answer answer = {.has_rows = a->has_rows};
    strbuf_init(&answer.rows, l->mem);
    memcpy(answer.error, a->state, sizeof answer.error);
    if (a->has_rows) keep_rows_shown(a, &answer);
    s->failed = s->failed || !a->tag;
    pg_txn_statement(&s->txn, &q, &answer, a->tag, clock_now());
    strbuf_free(&answer.rows);
}

static void log_ready(void *ud, uint32_t session, char status)
{
    spec_log *l = ud;
    logged_session *s = &l->sessions[session];
    uint64_t back = clock_now();
    if (!status)
        pg_txn_lost(&s->txn, true, back);
    else if (!pg_txn_ready(&s->txn, status, s->failed, s->call, back))
        add_gap(l, session + 1, s->call, "the session is not where it should be");
}

/* --- the verdict ------------------------------------------------------------------------------ */

/* Levels of logs, the weakest first, with the isolation that promises them. */
static const char *const promised[][2] = {{"read", "statement-snapshot"},
                                          {"repeatable", "strong-snapshot-isolation"},
                                          {"serializable", "serializable"}};
enum { PROMISED = 3 };

/* How many of them hold, by the weakest isolation in the log. */
static unsigned promises_of(const strbuf *text)
{
    static const char key[] = "\"isolation\":\"";
    unsigned least = PROMISED;
    const char *end = text->at + text->n;
    for (const char *p = memchr(text->at, '\n', text->n); p && p < end;) {
        const char *line = p + 1, *stop = memchr(line, '\n', (size_t)(end - line));
        if (!stop) break;
        /* The member stands before the statements, which may hold any text. */
        const char *statements = memmem(line, (size_t)(stop - line), "\"statements\":", 13);
        const char *at =
            statements ? memmem(line, (size_t)(statements - line), key, sizeof key - 1) : NULL;
        for (unsigned i = 0; at && i < PROMISED; i++)
            if (!strncmp(at + sizeof key - 1, promised[i][0], strlen(promised[i][0])) &&
                i + 1 < least)
                least = i + 1;
        p = stop;
    }
    return least;
}

/* Ratel's own replay, and the reference engine for what that does not decide. */
static int decide_log(spec_log *l, audit **a, const audit_options *o, audit_answer *answer)
{
    text_left from = {l->text.at, l->text.n};
    audit_schedule plan;
    int code = *a ? 0 : audit_read_log(a, o, read_left, &from);
    if (code) return code;
    code = audit_again(*a, o, answer);
    bool open = code == RATEL_EHISTORY || (!code && answer->verdict == AUDIT_UNDECIDED);
    if (!open || !l->reference || (!code && answer->limit)) return code;
    audit_answer engine;
    if (audit_schedule_of(*a, o, &plan) || reference_decide(l->reference, &plan, o, &engine))
        return audit_again(*a, o, answer);
    *answer = engine;
    return 0;
}

static void judge_log(spec_log *l)
{
    spec_verdict v = {.verdict = AUDIT_HOLDS};
    unsigned n = promises_of(&l->text);
    audit *audited = NULL;
    for (unsigned i = 0; i < n && v.verdict != AUDIT_VIOLATED; i++) {
        audit_answer answer;
        audit_options o = {.level = promised[i][1],
                           .unique_errors = true,
                           .seconds = 20,
                           .interrupt = &interrupt_flag};
        int code = decide_log(l, &audited, &o, &answer);
        audit_verdict got = code ? AUDIT_UNDECIDED : answer.verdict;
        if (got == AUDIT_VIOLATED || (got == AUDIT_UNDECIDED && v.verdict == AUDIT_HOLDS)) {
            uint64_t line, column;
            const char *why = code ? audit_error(audited, &line, &column) : answer.reason;
            strbuf kept;
            strbuf_init(&kept, l->mem);
            strbuf_str(&kept, why ? why : "");
            v = (spec_verdict){got, promised[i][1], strbuf_cstr(&kept)};
        }
    }
    audit_free(audited);
    l->user->judged(l->user->ud, l->permutation, &l->text, &v);
}

static void end_permutation(void *ud)
{
    spec_log *l = ud;
    for (uint32_t i = 0; i < l->spec->sessions.n; i++)
        pg_txn_lost(&l->sessions[i].txn, false, clock_now());
    strbuf_printf(&l->text, "{\"mark\":\"end\",\"lines\":%llu}\n", (unsigned long long)l->lines);
    judge_log(l);
}

static bool log_stop(void *ud)
{
    const spec_log *l = ud;
    return l->user->stop(l->user->ud);
}

/* --- opening ---------------------------------------------------------------------------------- */

spec_log *spec_log_open(const db *d, mem *m, const spec *s, reference *r, const spec_log_user *user)
{
    spec_log *l = mem_zeroed(m, sizeof *l);
    l->db = d;
    l->mem = m;
    l->spec = s;
    l->user = user;
    l->reference = r;
    l->sink = (pg_sink){l, next_id, add_line, add_gap, count_nothing, NULL};
    l->watcher = (isolation_user){l,         begin_permutation, log_sent, log_answer,
                                  log_ready, end_permutation,   log_stop};
    l->sessions = mem_array0(m, logged_session, s->sessions.n);
    strbuf_init(&l->setup, m);
    strbuf_init(&l->text, m);
    split_setup(l);
    return l;
}

const isolation_user *spec_log_watcher(spec_log *l)
{
    return &l->watcher;
}
