/*
 * cmd_audit.c - ratel audit: observational correctness of logs of SQL transactions.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit_report.h"
#include "cli/child.h"
#include "cli/audit_page.h"
#include "cli/sql_log.h"
#include "cli/timed_input.h"
#include "opt/level.h"
#include "reference/reference.h"

typedef struct state {
    args *a;
    FILE *out;
    audit_report_context report;
    reference *reference; /* opened when it is first needed */
    int refused;     /* the exit status if there is none to be had; then nothing more is tried */
    char said[1600]; /* a sentence that is put together here */
} state;

static void put_to_file(void *to, const char *bytes, size_t n)
{
    fwrite(bytes, 1, n, to);
}

static int complain_of(const state *st, const audit *a, int code)
{
    uint64_t line, column;
    const char *text = audit_error(a, &line, &column);
    char where[64] = "";
    if (line)
        snprintf(where, sizeof where, ":%llu:%llu", (unsigned long long)line,
                 (unsigned long long)column);
    if (st->a->value[O_JSON]) {
        char whole[4096];
        snprintf(whole, sizeof whole, "%.1500s%s: %s", st->report.log, where, text);
        json_error_line(st->out, "log", st->report.log, whole);
    }
    visible_to(stderr, st->report.log);
    fprintf(stderr, "%s: ", where);
    visible_to(stderr, text);
    fputc('\n', stderr);
    return exit_of(code);
}

static int write_witness(state *st, audit *a, const audit_answer *r)
{
    const char *path = st->a->value[O_WITNESS];
    if (!path || r->verdict != AUDIT_HOLDS) return EXIT_HOLDS;
    st->report.changes = NULL;
    st->report.n_changes = 0;
    int code = r->engine ? 0 : audit_changes(a, r, &st->report.changes, &st->report.n_changes);
    if (code) return complain_of(st, a, code);
    output o;
    if (!output_open(st->a, &o, path)) return EXIT_IO;
    json_writer w = json_file(o.f);
    audit_report_witness(r, &st->report, &w);
    return output_close(st->a, &o) ? EXIT_HOLDS : EXIT_IO;
}

/* --shrink: EXIT_HOLDS if there was nothing to do, or it is done. */
static int shrink(state *st, audit *a, const audit_options *o, const audit_answer *r,
                  audit_shrunk *out)
{
    const char *path = st->a->value[O_SHRUNK];
    if (!path || r->verdict != AUDIT_VIOLATED) return EXIT_HOLDS;
    if (r->engine) {
        complain("audit: --shrink needs Ratel's own replay, and the reference decided this log");
        return EXIT_UNDECIDED;
    }
    int code = audit_shrink(a, o, r, out);
    if (code) return complain_of(st, a, code);
    output part;
    if (!output_open(st->a, &part, path)) return EXIT_IO;
    fwrite(out->text, 1, out->n, part.f);
    st->report.shrunk = out;
    st->report.shrunk_log = path;
    return output_close(st->a, &part) ? EXIT_HOLDS : EXIT_IO;
}

static int merge_status(int a, int b)
{
    if (a == EXIT_VIOLATED || b == EXIT_VIOLATED) return EXIT_VIOLATED;
    return a > b ? a : b;
}

/* What the transactions did that a violation names, where that is shown. */
static int show_txns(state *st, audit *a, const audit_answer *r)
{
    const args *o = st->a;
    st->report.shown = NULL;
    st->report.n_shown = 0;
    bool wanted = o->value[O_MARKDOWN] || o->value[O_DOT] || o->value[O_HTML];
    if (!wanted || r->verdict == AUDIT_HOLDS) return 0;
    return audit_show(a, r, &st->report.shown, &st->report.n_shown);
}

static int print_answer(state *st, const audit_answer *r)
{
    const args *a = st->a;
    audit_renderer text = a->value[O_MARKDOWN] ? audit_report_markdown
                          : a->value[O_DOT]    ? audit_report_dot
                                               : audit_report_into;
    if (!a->value[O_JSON]) return audit_report_put(text, r, &st->report, put_to_file, st->out);
    json_writer w = json_file(st->out);
    if (st->a->value[O_DETERMINISTIC]) st->report.seconds = -1;
    st->report.peak_rss_kib = peak_rss_kib();
    audit_report_json(r, &st->report, &w);
    return 0;
}

/* ---- the reference --------------------------------------------------------------------------- */

static bool open_reference(state *st)
{
    char why[1024];
    bool misuse;
    if (st->reference) return true;
    if (st->refused) return false;
    st->reference = reference_open(st->a->value[O_REFERENCE], why, sizeof why, &misuse);
    if (st->reference) return true;
    st->refused = misuse ? EXIT_USAGE : EXIT_IO;
    complain("--reference: %s", why);
    return false;
}

/* The engine's answer; `status` is set if there is none. */
static int ask_reference(state *st, audit *a, const audit_options *o, audit_answer *r, int *status)
{
    audit_schedule plan;
    int code = audit_schedule_of(a, o, &plan);
    if (code) {
        *status = complain_of(st, a, code);
        return code;
    }
    if (!open_reference(st)) {
        *status = st->refused;
        return -1;
    }
    code = reference_decide(st->reference, &plan, o, r);
    if (code) {
        complain("%s", reference_error(st->reference));
        *status = exit_of(code);
    }
    return code;
}

/* Ratel's own answer and the engine's; where both decide, they must not contradict each other. */
static int ask_both(state *st, audit *a, const audit_options *o, audit_answer *r, int *status)
{
    audit_answer engine;
    int code = ask_reference(st, a, o, &engine, status);
    if (code) return code;
    code = audit_again(a, o, r);
    bool ours = !code && r->verdict != AUDIT_UNDECIDED;
    if (!ours || engine.verdict == AUDIT_UNDECIDED) {
        if (!ours) *r = engine;
        return 0;
    }
    bool agree = engine.verdict == r->verdict;
    snprintf(st->said, sizeof st->said,
             agree ? "%.1200s (%s says the same)"
                   : "%.1200s, but %s says: %s; one of the two is wrong, and that is a bug",
             r->reason, engine.engine, engine.reason);
    r->reason = st->said;
    if (!agree) r->verdict = AUDIT_UNDECIDED;
    return 0;
}

static int decide_with_reference(state *st, const audit_options *o, audit **a, FILE *f,
                                 audit_answer *r, int *status)
{
    int code = *a ? 0 : audit_read_log(a, o, read_sql_log, f);
    if (code) return code;
    *status = -1;
    if (st->a->value[O_REFERENCE_CHECK]) return ask_both(st, *a, o, r, status);
    if (!st->a->value[O_REFERENCE_ONLY]) {
        code = audit_again(*a, o, r);
        bool decided = !code && (r->verdict != AUDIT_UNDECIDED || r->limit);
        if (decided || (code && code != RATEL_EHISTORY)) return code;
    }
    return ask_reference(st, *a, o, r, status);
}

/* ---- logs and levels ------------------------------------------------------------------------- */

/* One level of a log that may have been read already. */
static int audit_level(state *st, const audit_options *o, audit **a, FILE *f)
{
    audit_answer r;
    audit_shrunk shrunk;
    uint64_t start = now();
    int code, given = -1;
    if (st->a->value[O_REFERENCE])
        code = decide_with_reference(st, o, a, f, &r, &given);
    else
        code = *a ? audit_again(*a, o, &r) : audit_run(a, o, read_sql_log, f, &r);
    st->report.seconds = seconds_since(start);
    st->report.shrunk = NULL;
    if (code && given >= 0) return given;
    int late = code ? timed_failure(st->report.log) : -1;
    if (late >= 0) return late;
    if (code) return complain_of(st, *a, code);
    int status = r.verdict == AUDIT_HOLDS      ? EXIT_HOLDS
                 : r.verdict == AUDIT_VIOLATED ? EXIT_VIOLATED
                                               : EXIT_UNDECIDED;
    int wrote = write_witness(st, *a, &r);
    if (!wrote) wrote = shrink(st, *a, o, &r, &shrunk);
    if (wrote) status = wrote;
    if (show_txns(st, *a, &r) || print_answer(st, &r)) {
        complain("audit: %s: out of memory", st->report.log);
        status = EXIT_UNDECIDED;
    }
    page_add_audit(st->a, &r, &st->report);
    for (size_t i = 0; !st->a->value[O_QUIET] && i < r.n_warnings; i++)
        fprintf(stderr, "%s: warning: %s\n", st->report.log, r.warnings[i]);
    return status;
}

static int audit_log(state *st, const char *path, audit_options *o)
{
    bool in = !strcmp(path, "-");
    timed_start(o->seconds); /* of each log */
    FILE *f = in ? stdin : timed_open(path);
    if (!f) return timed_failure(path);
    if (!open_sql_dump(st->a, o)) {
        if (!in) fclose(f);
        return EXIT_IO;
    }
    audit *a = NULL;
    int status = EXIT_HOLDS;
    const char *levels = st->a->value[O_LEVEL];
    char name[64];
    for (const char *l = levels;; l++) {
        size_t n = l ? strcspn(l, ",") : 0;
        snprintf(name, sizeof name, "%.*s", (int)n, l ? l : "");
        st->report.given = o->level = l ? name : NULL;
        int one = audit_level(st, o, &a, f);
        status = merge_status(status, one);
        /* nothing was read: every other level would say so again */
        if (!l || !l[n] || one == EXIT_INPUT || one == EXIT_IO || st->refused) break;
        l += n;
    }
    audit_free(a);
    if (o->dump_payload) fclose(o->dump_payload);
    if (!in) fclose(f);
    return status;
}

/* Are all levels known?  Complains about the first that is not. */
static bool known_levels(const char *levels)
{
    for (const char *l = levels; l; l++) {
        size_t n = strcspn(l, ",");
        char name[64];
        snprintf(name, sizeof name, "%.*s", n < sizeof name ? (int)n : 0, l);
        if (!audit_level_named(name)) {
            if (level_refused(name))
                complain_no_level(name);
            else
                complain("audit: no level \"%.*s\" (see ratel audit --help)", (int)n, l);
            return false;
        }
        if (!l[n]) break;
        l += n;
    }
    return true;
}

/* A list of pass names: -P off, P or +P on, `none`, `all`. */
static bool passes(const char *s, audit_options *o)
{
    while (s && *s) {
        size_t n = strcspn(s, ","), found = 0;
        bool off = *s == '-';
        if (*s == '-' || *s == '+') s++, n--;
        bool none = n == 4 && !strncmp(s, "none", n), all = n == 3 && !strncmp(s, "all", n);
        const char *name, *about;
        for (size_t i = 0; audit_pass_at(i, &name, &about); i++) {
            if (!none && !all && (strlen(name) != n || strncmp(s, name, n) != 0)) continue;
            o->off[i] = off != none;
            found++;
        }
        if (!found) {
            complain("--pass: no pass \"%.*s\" (--pass list lists them)", (int)n, s);
            return false;
        }
        s += n;
        if (*s == ',') s++;
    }
    return true;
}

/* One format at most. */
static bool is_one_format(const args *a)
{
    static const struct {
        enum option_id option;
        const char *name;
    } formats[] = {{O_JSON, "json"}, {O_MARKDOWN, "markdown"}, {O_DOT, "dot"}};
    const char *found = NULL;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (!a->value[formats[i].option]) continue;
        if (found) {
            complain("audit: --%s and --%s cannot be combined", found, formats[i].name);
            return false;
        }
        found = formats[i].name;
    }
    return true;
}

static bool options(const args *a, audit_options *o)
{
    const char *c = a->value[O_CONFLICTS], *so = a->value[O_SESSION_ORDER];
    uint64_t mib = 0;
    if (!is_one_format(a)) return false;
    if (c && strcmp(c, "version") && strcmp(c, "value")) {
        complain("--conflicts: \"%s\" is not one of version, value", c);
        return false;
    }
    const char *unique = a->value[O_UNIQUE_ERRORS];
    if (unique && strcmp(unique, "forbid") && strcmp(unique, "allow")) {
        complain("--unique-errors: \"%s\" is not one of forbid, allow", unique);
        return false;
    }
    o->unique_errors = unique && !strcmp(unique, "allow");
    if (!args_u64(a, O_DRIFT, &o->drift) || !args_u64(a, O_MEMORY, &mib)) return false;
    if (o->drift > INT64_MAX / 2) {
        complain("--drift: the number is larger than 2^62");
        return false;
    }
    if (!passes(a->value[O_PASS], o)) return false;
    o->by_value = c && !strcmp(c, "value");
    o->lenient = a->value[O_LENIENT] != NULL;
    o->keep_states = a->value[O_WITNESS] != NULL;
    o->no_session_order = so && !strcmp(so, "off");
    o->seconds = a->value[O_TIME] ? strtod(a->value[O_TIME], NULL) : 0;
    o->memory = (size_t)mib << 20;
    o->interrupt = &interrupt_flag;
    return true;
}

/* Every level of the table, as if it had been typed. */
static const char *all_levels(char *to, size_t room)
{
    const char *name, *alias, *about;
    size_t n = 0;
    for (size_t i = 0; n < room && audit_level_at(i, &name, &alias, &about); i++)
        n += (size_t)snprintf(to + n, room - n, "%s%s", i ? "," : "", name);
    return to;
}

typedef struct all_logs {
    args *a;
    state *st;
    audit_options *o;
} all_logs;

static int audit_logs(void *ud)
{
    all_logs *x = ud;
    page_output page;
    page_open(x->a, &page);
    int status = EXIT_HOLDS;
    for (size_t i = 0; i < x->a->n_files; i++) {
        x->st->report.log = x->a->shown ? x->a->shown : x->a->files[i];
        status = merge_status(status, audit_log(x->st, x->a->files[i], x->o));
        if (x->st->refused) break;
    }
    reference_close(x->st->reference);
    x->st->reference = NULL;
    return page_close(x->a, &page, "ratel audit", status);
}

int cmd_audit(args *a)
{
    char all[512];
    state st = {.a = a};
    audit_options o = {0};
    if (a->value[O_PASS] && !strcmp(a->value[O_PASS], "list")) {
        const char *name, *about;
        for (size_t i = 0; audit_pass_at(i, &name, &about); i++) printf("%-16s %s\n", name, about);
        return EXIT_HOLDS;
    }
    if (!a->n_files) {
        complain("audit: no log given (see ratel audit --help)");
        return EXIT_USAGE;
    }
    if (!options(a, &o)) return EXIT_USAGE;
    if (!a->value[O_REFERENCE] && (a->value[O_REFERENCE_ONLY] || a->value[O_REFERENCE_CHECK])) {
        complain("audit: --%s needs --reference",
                 a->value[O_REFERENCE_ONLY] ? "reference-only" : "reference-check");
        return EXIT_USAGE;
    }
    if (!audit_available()) {
        uint64_t line, column;
        complain("audit: %s", audit_error(NULL, &line, &column));
        return EXIT_UNDECIDED;
    }
    if (a->value[O_LEVEL] && !strcmp(a->value[O_LEVEL], "all"))
        a->value[O_LEVEL] = all_levels(all, sizeof all);
    bool many = a->value[O_LEVEL] && strchr(a->value[O_LEVEL], ',');
    if (!known_levels(a->value[O_LEVEL])) return EXIT_USAGE;
    if (a->value[O_SHRUNK] && (a->n_files > 1 || many)) {
        complain("audit: --shrink takes one log and one level");
        return EXIT_USAGE;
    }
    st.out = open_output(a);
    if (!st.out) return EXIT_IO;
    bool failed;
    all_logs x = {a, &st, &o};
    int status = run_in_child(a, st.out, "audit", audit_logs, &x, &failed);
    if (failed || (a->outputs->lost && st.out != stdout)) {
        output_abandon(&a->outputs->answer);
        return failed ? status : EXIT_IO;
    }
    return close_output(a, st.out, status);
}
