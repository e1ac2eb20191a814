/*
 * cmd_trace.c - ratel trace: records what applications do.
 *
 * The database is looked at before the first client is let in, so that the header of the log is the
 * state that the first transaction found.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "audit/audit_schedule.h"
#include "cli/child.h"
#include "cli/cli.h"
#include "cli/sql_log.h"
#include "cli/timed_input.h"
#include "driver/driver.h"
#include "driver/my_side.h"
#include "trace/change_stream.h"
#include "trace/collect.h"
#include "trace/proxy.h"

#define DEFAULT_SIZE ((uint64_t)8 << 30)

typedef struct tracing {
    args *a;
    trace_log log;
    pg_side side;
    mask masks;
    proxy_options o;
    proxy_counts counts;
    tls_ends tls;
    bool told_side;
    guard guard;
    mem mem;
} tracing;

/* 500, 64K, 500M, 20G. */
static bool parse_size(const args *a, enum option_id o, uint64_t least, uint64_t most,
                       uint64_t *out)
{
    const char *s = a->value[o];
    if (!s) return true;
    char *end;
    errno = 0;
    unsigned long long n = strtoull(s, &end, 10);
    const char *units = "KMGT", *unit = *end ? strchr(units, *end) : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    bool good = *s >= '0' && *s <= '9' && !errno && (!*end || (unit && !end[1]));
    if (good && n <= (UINT64_MAX >> shift) && n << shift >= least && n << shift <= most) {
        *out = n << shift;
        return true;
    }
    complain("--%s: \"%s\" is not a size between %llu and %llu bytes (such as 64K, 500M or 2G)",
             option_table[o].name, s, (unsigned long long)least, (unsigned long long)most);
    return false;
}

static bool parse_masks(const args *a, mask *m)
{
    char word[2 * MASK_WORD], why[200];
    for (const char *s = a->value[O_MASK]; s && *s;) {
        size_t n = strcspn(s, ",");
        snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : sizeof word - 1), s);
        if (n >= sizeof word || !mask_column(m, word)) {
            complain("--mask: \"%s\" is not TABLE.COLUMN, or there are too many", word);
            return false;
        }
        s += n + (s[n] == ',');
    }
    const char *pattern = a->value[O_MASK_PATTERN];
    if (!pattern || mask_pattern(m, pattern, why, sizeof why)) return true;
    complain("--mask-pattern: %s", why);
    return false;
}

static bool parse_proxy(tracing *t, uint64_t *limit, uint64_t *rotate)
{
    args *a = t->a;
    uint64_t result = 1 << 20, statement = 16 << 20, connections = 1000, startup = 60;
    *limit = DEFAULT_SIZE;
    *rotate = 0;
    if (!a->value[O_LISTEN] || !a->value[O_UPSTREAM] || !a->value[O_OUTPUT] || a->n_files != 1) {
        complain("trace proxy: --listen ADDR, --upstream URL and -o LOG are needed, and nothing "
                 "else (see ratel trace --help)");
        return false;
    }
    if (!a->value[O_TLS_CERT] != !a->value[O_TLS_KEY]) {
        complain("trace: --tls-cert and --tls-key must be given together");
        return false;
    }
    if (a->value[O_TLS_CERT] && !tls_available()) {
        complain("--tls-cert: this build has no OpenSSL, which TLS needs");
        return false;
    }
    if (a->value[O_FAIL_OPEN] && a->value[O_FAIL_CLOSED]) {
        complain("trace: --fail-open and --fail-closed cannot be combined");
        return false;
    }
    if (a->value[O_COMPRESS] && strcmp(a->value[O_COMPRESS], "zstd") != 0) {
        complain("--compress: \"%s\" is unknown; logs are compressed with zstd",
                 a->value[O_COMPRESS]);
        return false;
    }
    if (a->value[O_COMPRESS] && !trace_log_packs()) {
        complain("--compress: this build has no libzstd");
        return false;
    }
    if (!parse_size(a, O_MAX_SIZE, 1 << 16, UINT64_MAX / 2, limit) ||
        !parse_size(a, O_ROTATE, 1 << 16, UINT64_MAX / 2, rotate) ||
        !parse_size(a, O_MAX_RESULT, 0, 1 << 30, &result) ||
        !parse_size(a, O_MAX_STATEMENT, 1 << 10, 1 << 30, &statement) ||
        !args_u64(a, O_MAX_CONNECTIONS, &connections) || !args_u64(a, O_STARTUP_TIME, &startup) ||
        !parse_masks(a, &t->masks))
        return false;
    if (startup > 86400) {
        complain("--startup-time: %s is not between 0 and 86400", a->value[O_STARTUP_TIME]);
        return false;
    }
    if (!connections || connections > 100000) {
        complain("--max-connections: %s is not between 1 and 100000", a->value[O_MAX_CONNECTIONS]);
        return false;
    }
    if (a->value[O_LEVEL] && !audit_level_named(a->value[O_LEVEL])) {
        complain("--level: audit has no level \"%s\"", a->value[O_LEVEL]);
        return false;
    }
    t->o.limits = (pg_limits){.message = (uint32_t)statement,
                              .result = result,
                              .session = 4 * (statement > result ? statement : result) + (1 << 20)};
    t->o.connections = (uint32_t)connections;
    t->o.startup = (uint32_t)startup;
    return true;
}

/* ---- the head of the log --------------------------------------------------------------------- */

typedef struct text_read {
    const char *at;
    size_t n;
} text_read;

static ptrdiff_t read_some(void *buf, size_t cap, void *payload)
{
    text_read *t = payload;
    size_t n = t->n < cap ? t->n : cap;
    memcpy(buf, t->at, n);
    t->at += n;
    t->n -= n;
    return (ptrdiff_t)n;
}

/* EXIT_HOLDS: understood, EXIT_INPUT: not; or there was no memory to tell. */
static int try_setup(void *ud)
{
    text_read from = *(const text_read *)ud;
    audit *audited = NULL;
    audit_answer answer;
    audit_options o = {.level = "serializable", .interrupt = &interrupt_flag};
    int code = audit_run(&audited, &o, read_some, &from, &answer);
    audit_free(audited);
    if (code != RATEL_ENOMEM) return code ? EXIT_INPUT : EXIT_HOLDS;
    complain("trace: out of memory");
    return EXIT_UNDECIDED;
}

/* Does the definition of a table or function hold what a pattern hides?  `list` is JSON, whose
   strings are read as MySQL's are. */
static bool setup_shows_secret(tracing *t, const char *list, size_t n)
{
    strbuf one, literal;
    bool shows = false;
    if (!t->masks.patterns) return false;
    strbuf_init(&one, &t->mem);
    strbuf_init(&literal, &t->mem);
    for (const char *at = list, *end = list + n;
         !shows && sql_next_literal(&at, end, SQL_RULES_MYSQL, &one);)
        shows =
            one.n && (mask_matches(&t->masks, one.at, one.n) ||
                      mask_matches_literal(&t->masks, one.at, one.n, SQL_RULES_STANDARD, &literal));
    strbuf_free(&one);
    strbuf_free(&literal);
    return shows;
}

/* Could `ratel audit` begin with this setup?  Asked in a child, because the parser may end the
   process that calls it, and a table that there was no memory to look at is not one that audit does
   not understand. */
static bool setup_is_usable(void *ud, const char *list, size_t n)
{
    tracing *t = ud;
    strbuf b;
    bool failed;
    if (setup_shows_secret(t, list, n)) return false;
    if (!audit_available()) return true;
    strbuf_init(&b, &t->mem);
    strbuf_str(&b, "{\"ratel_sql\":1,\"setup\":");
    strbuf_add(&b, list, n);
    strbuf_str(&b, "}\n");
    text_read x = {b.at, b.n};
    int status = run_in_child(t->a, stderr, "trace: the schema", try_setup, &x, &failed);
    strbuf_free(&b);
    if (status != EXIT_HOLDS && status != EXIT_INPUT)
        guard_fail(&t->guard, status == EXIT_IO ? GUARD_IO : GUARD_NOMEM,
                   "%s: the schema could not be read", t->a->value[O_OUTPUT]);
    return status == EXIT_HOLDS;
}

static bool head_line(void *ud, const char *at, size_t n)
{
    tracing *t = ud;
    trace_log_line(&t->log, at, n, now());
    return !t->log.full && !t->log.gap_from;
}

/* Rows of a masked table, or with a masked value, are not dumped: the table is unknown. */
static bool table_is_secret(void *ud, const char *table)
{
    tracing *t = ud;
    return t->masks.patterns || mask_names(&t->masks, table, strlen(table));
}

/* A statement need not name a masked column to show it: SELECT *, INSERT without a list of columns,
   a view under another name.  So the names of what shows it are masked as well. */
static bool name_shows_masked(void *ud, const char *name, const char *words)
{
    tracing *t = ud;
    if (mask_names(&t->masks, name, strlen(name)) || !mask_names(&t->masks, words, strlen(words)))
        return false;
    if (!mask_relation(&t->masks, name))
        guard_fail(&t->guard, GUARD_INVAL,
                   "--mask: too many tables or functions show the columns, or a name is too long");
    return true;
}

static bool write_head(tracing *t)
{
    char extra[512];
    snprintf(
        extra, sizeof extra,
        ",\"trace\":{\"by\":\"ratel trace proxy\",\"dump\":%s,\"commit_ts\":%s,"
        "\"max_result\":%llu,\"hash\":\"sum modulo 2^64 of the 64-bit FNV-1a hash of the body of "
        "each DataRow\",\"masked\":%s}",
        t->a->value[O_CONTENTS] ? "true" : "false", t->a->value[O_COMMIT_TS] ? "true" : "false",
        (unsigned long long)t->o.limits.result,
        t->masks.words || t->masks.patterns ? "true" : "false");
    const char *level = t->a->value[O_LEVEL];
    pg_side_schema s = {.dump = t->a->value[O_CONTENTS] != NULL,
                        .level = level ? audit_level_named(level) : NULL,
                        .extra = extra,
                        .usable = setup_is_usable,
                        .line = head_line,
                        .secret = table_is_secret,
                        .shows = t->masks.words ? name_shows_masked : NULL,
                        .ud = t};
    bool good =
        t->o.mysql ? my_side_head(&t->side, &t->mem, &s) : pg_side_head(&t->side, &t->mem, &s);
    if (!good) {
        char url[512];
        db_hide(t->a->value[O_UPSTREAM], t->a->value[O_UPSTREAM], url, sizeof url);
        complain("%s: %s", url, t->side.error);
        return false;
    }
    trace_log_flush(&t->log, now());
    if (t->a->value[O_QUIET]) return true;
    fprintf(stderr, "%u tables, %u of unknown contents, %u left out, %llu rows\n",
            (unsigned)s.tables, (unsigned)s.unknown, (unsigned)s.left_out,
            (unsigned long long)s.rows);
    return true;
}

/* ---- the proxy ------------------------------------------------------------------------------- */

static void say_line(void *ud, const char *text)
{
    const tracing *t = ud;
    if (!t->a->value[O_QUIET]) complain("trace: %s", text);
}

static void counts_text(const proxy_counts *c, const trace_log *l, char *to, size_t cap)
{
    const uint64_t *n = c->of;
    snprintf(to, cap,
             ",\"counts\":{\"sessions\":%llu,\"committed\":%llu,\"aborted\":%llu,\"unknown\":%llu,"
             "\"statements\":%llu,\"copied_in\":%llu,\"copied_out\":%llu,\"hashed\":%llu,"
             "\"hidden\":%llu,\"others\":%llu,\"cancels\":%llu,\"gaps\":%llu}",
             (unsigned long long)c->sessions, (unsigned long long)n[PG_COMMITTED],
             (unsigned long long)n[PG_ABORTED], (unsigned long long)n[PG_OUTCOME_UNKNOWN],
             (unsigned long long)n[PG_STATEMENTS], (unsigned long long)n[PG_COPIED_IN],
             (unsigned long long)n[PG_COPIED_OUT], (unsigned long long)n[PG_HASHED],
             (unsigned long long)n[PG_HIDDEN], (unsigned long long)c->others,
             (unsigned long long)c->cancels, (unsigned long long)l->gaps);
}

static void summary_line(const tracing *t)
{
    const proxy_counts *c = &t->counts;
    if (t->a->value[O_QUIET]) return;
    fprintf(stderr, "%llu sessions, %llu committed, %llu aborted, %llu unknown, %llu statements",
            (unsigned long long)c->sessions, (unsigned long long)c->of[PG_COMMITTED],
            (unsigned long long)c->of[PG_ABORTED], (unsigned long long)c->of[PG_OUTCOME_UNKNOWN],
            (unsigned long long)c->of[PG_STATEMENTS]);
    if (c->of[PG_COPIED_IN] || c->of[PG_COPIED_OUT])
        fprintf(stderr, ", COPY: %llu bytes in, %llu out", (unsigned long long)c->of[PG_COPIED_IN],
                (unsigned long long)c->of[PG_COPIED_OUT]);
    if (c->of[PG_HASHED])
        fprintf(stderr, ", %llu results hashed", (unsigned long long)c->of[PG_HASHED]);
    if (c->of[PG_HIDDEN])
        fprintf(stderr, ", %llu results hidden", (unsigned long long)c->of[PG_HIDDEN]);
    if (c->others)
        fprintf(stderr, ", %llu connections to other databases", (unsigned long long)c->others);
    if (c->refused) fprintf(stderr, ", %llu refused", (unsigned long long)c->refused);
    if (c->no_tls) fprintf(stderr, ", %llu whose TLS failed", (unsigned long long)c->no_tls);
    if (t->log.gaps)
        fprintf(stderr, ", %llu stretches not logged", (unsigned long long)t->log.gaps);
    fputc('\n', stderr);
}

static void side_is_lost(tracing *t)
{
    if (t->told_side) return;
    t->told_side = true;
    char text[PG_SIDE_NAME + 64];
    snprintf(text, sizeof text, "a commit timestamp could not be read: %.400s", t->side.error);
    say_line(t, text);
}

static bool xid_of(void *ud, uint32_t process, char *xid, size_t cap)
{
    tracing *t = ud;
    bool known = pg_side_xid(&t->side, process, xid, cap);
    if (!known) side_is_lost(t);
    return known;
}

static bool committed_at(void *ud, const char *xid, int64_t *ts)
{
    tracing *t = ud;
    bool known = pg_side_committed(&t->side, xid, ts);
    if (!known) side_is_lost(t);
    return known;
}

/* TLS: towards clients if there are keys, towards the server as sslmode asks. */
static bool open_tls(tracing *t)
{
    static const char *const modes[] = {"require", "verify-ca", "verify-full"};
    args *a = t->a;
    char why[512];
    tls_options o = {.cert = a->value[O_TLS_CERT],
                     .key = a->value[O_TLS_KEY],
                     .root = *t->side.root ? t->side.root : NULL,
                     .host = t->side.host};
    for (int i = 0; i < 3; i++)
        if (!strcmp(t->side.sslmode, modes[i])) o.trust = TLS_ANYONE + (tls_trust)i;
    if (*t->side.host == '/') o.trust = TLS_OFF; /* no sockets in the file system are encrypted */
    if (o.trust == TLS_ANYONE && o.root) o.trust = TLS_SIGNED; /* as libpq has it */
    if (o.root && !strcmp(o.root, "system")) o.root = NULL;
    if (t->o.mysql && o.trust && !o.cert) {
        complain("sslmode: with MariaDB and MySQL, TLS is used for clients that use it themselves; "
                 "it needs --tls-cert and --tls-key");
        return false;
    }
    o.upstream = o.trust || (t->o.mysql && o.cert);
    if (!o.cert && !o.upstream) return true;
    if (!tls_open(&t->tls, &o, why, sizeof why)) {
        complain("trace: %s", why);
        return false;
    }
    if (*why) complain("trace: %s", why);
    t->o.tls = &t->tls;
    return true;
}

static int run_proxy(tracing *t, uint64_t limit, uint64_t rotate)
{
    args *a = t->a;
    char why[512], members[768];
    const char *out = a->value[O_OUTPUT];
    const char *url = a->value[O_UPSTREAM];
    t->o.mysql = !strncmp(url, "mariadb://", 10) || !strncmp(url, "mysql://", 8);
    if (!t->o.mysql && strncmp(url, "postgres://", 11) && strncmp(url, "postgresql://", 13) &&
        !strchr(url, '=')) { /* libpq also takes host=... dbname=... */
        /* The URL is not shown: there may be a password in it, wherever its writer put it. */
        complain("--upstream takes postgres://..., mariadb://... or mysql://...");
        return EXIT_USAGE;
    }
    if (t->o.mysql && a->value[O_COMMIT_TS]) {
        complain("--commit-ts: MariaDB and MySQL keep no commit timestamps");
        return EXIT_USAGE;
    }
    if (!(t->o.mysql ? my_side_open(&t->side, url) : pg_side_open(&t->side, url))) {
        complain("%s", t->side.error);
        return EXIT_IO;
    }
    if (!open_tls(t)) return EXIT_IO;
    if (a->value[O_COMMIT_TS] && !pg_side_keeps_commits(&t->side)) {
        complain("--commit-ts: %s", t->side.error);
        return EXIT_IO;
    }
    if (!trace_log_open(&t->log, out, limit, rotate, a->value[O_COMPRESS] != NULL, why,
                        sizeof why)) {
        complain("%s: %s", out, why);
        return EXIT_IO;
    }
    if (!write_head(t)) return EXIT_IO;
    t->o.listen = a->value[O_LISTEN];
    t->o.host = t->side.host;
    t->o.port = t->side.port;
    t->o.database = t->side.database;
    t->o.fail_closed = a->value[O_FAIL_CLOSED] != NULL;
    t->o.masks = &t->masks;
    t->o.interrupt = &interrupt_flag;
    t->o.say = say_line;
    if (a->value[O_COMMIT_TS]) t->o.xid_of = xid_of, t->o.committed = committed_at;
    t->o.ud = t;
    bool good = proxy_run(&t->o, &t->log, &t->counts, why, sizeof why);
    if (!good) complain("trace: %s", why);
    counts_text(&t->counts, &t->log, members, sizeof members);
    int error = trace_log_close(&t->log, members, now());
    if (error) complain("%s: %s", out, replace_error(error, why, sizeof why));
    summary_line(t);
    return good && !error ? EXIT_HOLDS : EXIT_IO;
}

/* ---- to-history ------------------------------------------------------------------------------ */

static void view_summary(const args *a, const audit_key_view *v)
{
    if (a->value[O_QUIET]) return;
    fprintf(stderr, "%llu transactions, %llu keys, %llu reads, %llu writes, %llu deletes\n",
            (unsigned long long)v->txns, (unsigned long long)v->keys, (unsigned long long)v->reads,
            (unsigned long long)v->writes, (unsigned long long)v->deletes);
    if (v->computed)
        fprintf(stderr,
                "%llu values that no statement shows were computed by a replay of the log\n",
                (unsigned long long)v->computed);
    if (!v->left_columns && !v->left_keys) return;
    fprintf(stderr, "left out: %llu columns, %llu keys\n", (unsigned long long)v->left_columns,
            (unsigned long long)v->left_keys);
    for (size_t i = 0; i < v->n_left; i++) {
        fputs("  ", stderr);
        visible_to(stderr, v->left[i]);
        fputc('\n', stderr);
    }
    if (v->left_columns + v->left_keys > v->n_left) fputs("  ...\n", stderr);
}

static int complain_of_log(const audit *log, const char *path, int code)
{
    uint64_t line, column;
    const char *text = audit_error(log, &line, &column);
    char where[64] = "";
    if (line)
        snprintf(where, sizeof where, ":%llu:%llu", (unsigned long long)line,
                 (unsigned long long)column);
    complain("%s%s: %s", path, where, text);
    return code == RATEL_EINVAL ? EXIT_USAGE : exit_of(code);
}

typedef struct key_history { /* what a child makes of a log */
    const args *a;
    FILE *in, *out;
} key_history;

/* The lines that tell of success come after the history has been written. */
static int write_view(const args *a, FILE *out, const audit_key_view *v)
{
    fwrite(v->text, 1, v->n, out);
    if (fflush(out) || ferror(out)) return EXIT_HOLDS; /* the parent says that it was lost */
    view_summary(a, v);
    if (v->keys) return EXIT_HOLDS;
    complain("%s: no key could be mapped", a->files[1]);
    return EXIT_UNDECIDED;
}

static int make_key_history(void *ud)
{
    const key_history *x = ud;
    const char *path = x->a->files[1];
    audit *log = NULL;
    audit_key_view view;
    audit_options o = {.interrupt = &interrupt_flag};
    if (!open_sql_dump(x->a, &o)) return EXIT_IO;
    int code = audit_read_log(&log, &o, read_sql_log, x->in);
    int status = code ? timed_failure(path) : EXIT_HOLDS; /* (a wait that the limit ended) */
    if (!code) code = audit_keys(log, &o, x->a->value[O_KEY_COLUMNS], &view);
    if (code && status <= EXIT_HOLDS) status = complain_of_log(log, path, code);
    if (!code) status = write_view(x->a, x->out, &view);
    if (o.dump_payload) fclose(o.dump_payload);
    audit_free(log);
    return status;
}

static int to_history(const args *a)
{
    if (a->n_files != 2) {
        complain("trace to-history: give one log (see ratel trace --help)");
        return EXIT_USAGE;
    }
    bool in = !strcmp(a->files[1], "-");
    key_history x = {.a = a, .in = in ? stdin : timed_open(a->files[1])};
    if (!x.in) return timed_failure(a->files[1]);
    x.out = open_output(a);
    if (!x.out) {
        if (!in) fclose(x.in);
        return EXIT_IO;
    }
    bool failed;
    int status = run_in_child(a, x.out, "trace", make_key_history, &x, &failed);
    if (!in) fclose(x.in);
    if (failed || (a->outputs->lost && x.out != stdout)) {
        output_abandon(&a->outputs->answer);
        return failed ? status : EXIT_IO;
    }
    return close_output(a, x.out, status);
}

/* ---- collect --------------------------------------------------------------------------------- */

typedef struct collecting {
    envelope_file *files;
    size_t n;
    FILE *out;
} collecting;

static void write_line(void *ud, const char *at, size_t n)
{
    fwrite(at, 1, n, ((collecting *)ud)->out);
}

static void collect_summary(const args *a, const collect_counts *c)
{
    if (c->untimed)
        complain("trace: the files were made on different machines, or before and after a "
                 "restart of one: their times are left out");
    if (c->lost) complain("trace: %llu events were not recorded", (unsigned long long)c->lost);
    if (c->damaged)
        complain("trace: %llu parts of files are damaged", (unsigned long long)c->damaged);
    if (a->value[O_QUIET]) return;
    fprintf(stderr, "%llu sessions, %llu committed, %llu aborted, %llu unknown, %llu calls\n",
            (unsigned long long)c->sessions, (unsigned long long)c->committed,
            (unsigned long long)c->aborted, (unsigned long long)c->unknown,
            (unsigned long long)c->operations);
}

static int collect_into(args *a, collecting *c, guard *g, mem *m)
{
    char why[256];
    collect_counts counts;
    if (guard_armed(g)) {
        complain("%s", g->text);
        if (c->out) output_abandon(&a->outputs->answer); /* a part of a history is none */
        return exit_of(g->code);
    }
    c->files = mem_array0(m, envelope_file, (size_t)a->n_files);
    for (; c->n + 1 < (size_t)a->n_files; c->n++) {
        int code = envelope_open(&c->files[c->n], m, a->files[c->n + 1], why, sizeof why);
        if (!code) continue;
        complain("%s: %s", a->files[c->n + 1], why);
        return exit_of(code);
    }
    c->out = open_output(a);
    if (!c->out) return EXIT_IO;
    collect_files(m, c->files, c->n, write_line, c, &counts);
    FILE *out = c->out;
    c->out = NULL;
    int status = close_output(a, out, EXIT_HOLDS);
    if (!status) collect_summary(a, &counts);
    return status;
}

static int collect(args *a)
{
    if (a->n_files < 2) {
        complain("trace collect: no file given (see ratel trace --help)");
        return EXIT_USAGE;
    }
    collecting c = {0};
    guard g;
    mem m;
    guard_init(&g);
    mem_init(&m, mem_libc, NULL, &g);
    int status = collect_into(a, &c, &g, &m);
    for (size_t i = 0; i < c.n; i++) envelope_close(&c.files[i], &m);
    mem_free_all(&m);
    return status;
}

/* ---- versions -------------------------------------------------------------------------------- */

static void versions_summary(const args *a, const change_counts *c)
{
    if (c->truncated)
        complain(
            "trace: %llu TRUNCATE statements: the rows that they removed are not in the order of "
            "versions",
            (unsigned long long)c->truncated);
    if (a->value[O_QUIET]) return;
    fprintf(stderr, "%llu transactions, %llu writes, %llu deletes, %llu changes of other tables",
            (unsigned long long)c->txns, (unsigned long long)c->writes,
            (unsigned long long)c->deletes, (unsigned long long)c->others);
    if (c->unshown)
        fprintf(stderr, ", %llu that do not show the key or the value",
                (unsigned long long)c->unshown);
    fputc('\n', stderr);
}

static int versions_of(args *a, FILE *in, guard *g, mem *m)
{
    change_map *maps;
    change_counts counts;
    strbuf text;
    if (guard_armed(g)) {
        int late = timed_failure(a->files[1]);
        if (late >= 0) return late;
        char where[64] = "";
        if (g->line)
            snprintf(where, sizeof where, ":%llu:%llu", (unsigned long long)g->line,
                     (unsigned long long)g->column);
        if (g->code == GUARD_INVAL)
            complain("%s", g->text);
        else
            complain("%s%s: %s", a->files[1], where, g->text);
        return g->code == GUARD_INVAL ? EXIT_USAGE : exit_of(g->code);
    }
    size_t n = change_maps(m, a->value[O_KEY_COLUMNS], &maps);
    strbuf_init(&text, m);
    change_stream_read(m, read_sql_log, in, maps, n, &text, &counts);
    FILE *out = open_output(a);
    if (!out) return EXIT_IO;
    fwrite(text.at, 1, text.n, out);
    int status = close_output(a, out, EXIT_HOLDS);
    if (!status) versions_summary(a, &counts);
    if (counts.writes + counts.deletes || status) return status;
    complain("%s: there is no change of a table that --keys names", a->files[1]);
    return EXIT_UNDECIDED;
}

static int versions(args *a)
{
    if (a->n_files != 2) {
        complain("trace versions: give one change stream (see ratel trace --help)");
        return EXIT_USAGE;
    }
    bool standard = !strcmp(a->files[1], "-");
    FILE *in = standard ? stdin : timed_open(a->files[1]);
    if (!in) return timed_failure(a->files[1]);
    guard g;
    mem m;
    guard_init(&g);
    mem_init(&m, mem_libc, NULL, &g);
    int status = versions_of(a, in, &g, &m);
    mem_free_all(&m);
    if (!standard) fclose(in);
    return status;
}

static int proxy(args *a)
{
    tracing *t = calloc(1, sizeof *t);
    if (!t) {
        complain("out of memory");
        return EXIT_UNDECIDED;
    }
    uint64_t limit, rotate;
    int status = EXIT_USAGE;
    t->a = a;
    guard_init(&t->guard);
    mem_init(&t->mem, mem_libc, NULL, &t->guard);
    if (guard_armed(&t->guard)) {
        complain("trace: %s", t->guard.text);
        status = exit_of(t->guard.code);
    } else if (parse_proxy(t, &limit, &rotate)) {
        status = run_proxy(t, limit, rotate);
    }
    (t->o.mysql ? my_side_close : pg_side_close)(&t->side);
    tls_close(&t->tls);
    mask_free(&t->masks);
    mem_free_all(&t->mem);
    free(t);
    return status;
}

int cmd_trace(args *a)
{
    if (a->n_files && !strcmp(a->files[0], "to-history")) return to_history(a);
    if (a->n_files && !strcmp(a->files[0], "versions")) return versions(a);
    if (a->n_files && !strcmp(a->files[0], "collect")) return collect(a);
    if (a->n_files && !strcmp(a->files[0], "proxy")) return proxy(a);
    complain("trace: the first argument must be proxy, collect, to-history or versions (see ratel "
             "trace --help)");
    return EXIT_USAGE;
}
