/*
 * cmd_power.c - ratel power: how soon each workload finds each bug of a client.
 *
 * A check that finds nothing says little unless it would have found something.  The clients of
 * faulty:BUG:URL err in known ways; each workload is run through each of them, in runs that double
 * in length until one is violated.  Runs are independent of each other: a prefix of a recording is
 * no history, since what a session has read may be recorded before what wrote it.
 *
 * A run of a SQL workload has found a bug if the audit of its log is violated, or an invariant of
 * what is left in the end.  An audit needs the order of commits: where the database does not tell
 * it, one statement runs at a time.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/audit.h"
#include "cli/live_sql.h"

enum { SESSIONS = 8, FIRST_TXNS = 50, USUAL_TXNS = 800, CHECK_MS = 10000 };
enum { MOST_WORKLOADS = 32, MOST_BUGS = 16 };

typedef struct power_cell {
    uint64_t txns; /* of the run that was violated; 0: none was */
    bool undecided;
    char anomaly[48];
} power_cell;

typedef struct power_row {
    test_mix mix;
    char label[96];
    power_cell cell[MOST_BUGS + 1]; /* the first is without a bug */
} power_row;

typedef struct power {
    args *a;
    live_options o;
    power_row row[MOST_WORKLOADS];
    size_t rows, bugs;
    uint64_t most;
    char version[128], isolation[64];
    char level[64], log_level[64]; /* of histories, and of logs of SQL; "": there were none */
    bool hung;                     /* a call never returned: the database is not to be closed */
} power;

/* --- which workloads -------------------------------------------------------------------------- */

static bool add_row(power *p, const test_mix *m)
{
    if (p->rows == MOST_WORKLOADS) {
        complain("power: at most %d workloads", MOST_WORKLOADS);
        return false;
    }
    power_row *r = &p->row[p->rows++];
    r->mix = *m;
    snprintf(r->label, sizeof r->label, "%.60s%s%.30s", m->workload, m->knob ? " " : "",
             m->knob ? m->knob : "");
    return true;
}

/* A workload of the mix as the mix has it, another one as it was published. */
static bool add_workload(power *p, const char *name, size_t n)
{
    const char *known;
    const test_mix *m;
    bool found = false;
    for (size_t i = 0; (m = test_mix_at(i)) != NULL; i++)
        if (strlen(m->workload) == n && !strncmp(m->workload, name, n)) {
            found = true;
            if (!add_row(p, m)) return false;
        }
    for (size_t i = 0; !found && (known = live_workload_at(i)) != NULL; i++)
        if (strlen(known) == n && !strncmp(known, name, n)) {
            found = true;
            if (!add_row(p, &(test_mix){.workload = known})) return false;
        }
    for (const sql_workload *w = sql_workloads; !found && w->name; w++)
        if (strlen(w->name) == n && !strncmp(w->name, name, n)) {
            found = true;
            if (!add_row(p, &(test_mix){.workload = w->name})) return false;
        }
    if (!found) complain_no_name("workload", name, n, live_workload_at, "run --list lists them");
    return found;
}

/* Can this build decide logs of SQL, at the level that was asked for? */
static bool can_audit(const power *p, const power_row *r)
{
    const char *level = p->a->value[O_LEVEL];
    if (!audit_available()) {
        complain("power: this build cannot audit logs of SQL, which %s needs", r->label);
        return false;
    }
    if (level && !audit_level_named(level)) {
        complain("power: logs of SQL, which %s records, cannot be audited at %s", r->label, level);
        return false;
    }
    return true;
}

static bool parse_power(power *p)
{
    args *a = p->a;
    p->o = (live_options){.sessions = SESSIONS, .seed = 1};
    p->most = USUAL_TXNS;
    if (!args_u64(a, O_SESSIONS, &p->o.sessions) || !args_u64(a, O_SEED, &p->o.seed) ||
        !args_u64(a, O_TXNS, &p->most) || !live_manner(a, &p->o))
        return false;
    if (a->n_files) {
        complain("power: unexpected argument \"%s\"", a->files[0]);
        return false;
    }
    if (!a->value[O_DB]) {
        complain("power: no database given (use --db URL)");
        return false;
    }
    if (!strncmp(a->value[O_DB], "faulty:", 7)) {
        complain("power: the database is named without faulty:BUG:, since every bug is tried");
        return false;
    }
    if (p->most < FIRST_TXNS || p->most > 10000000) {
        complain("power: --txns is from %d to 10000000", FIRST_TXNS);
        return false;
    }
    if (a->value[O_LEVEL] && ratel_level_named(a->value[O_LEVEL], NULL)) {
        complain_no_level(a->value[O_LEVEL]);
        return false;
    }
    const char *w = a->value[O_WORKLOAD];
    for (size_t i = 0; !w && test_mix_at(i); i++)
        if (!add_row(p, test_mix_at(i))) return false;
    while (w) {
        size_t n = strcspn(w, ",");
        if (!add_workload(p, w, n)) return false;
        w = w[n] ? w + n + 1 : NULL;
    }
    /* The last bug is one of cursors: no other workload could find it. */
    bool cursors = false;
    for (size_t i = 0; i < p->rows; i++)
        cursors = cursors || !strcmp(p->row[i].mix.workload, "cursors");
    while (driver_bug_at(p->bugs) && p->bugs < MOST_BUGS) p->bugs++;
    p->bugs -= !cursors;
    for (size_t i = 0; i < p->rows; i++)
        if (sql_workload_named(p->row[i].mix.workload) && !can_audit(p, &p->row[i])) return false;
    return true;
}

/* --- one run ---------------------------------------------------------------------------------- */

/* Decides what was recorded; EXIT_VIOLATED: the bug was found. */
static int decide_run(const power *p, int fd, const char *level, power_cell *c)
{
    char path[32];
    ratel_history *h = NULL;
    ratel_result *r = NULL;
    snprintf(path, sizeof path, "/dev/fd/%d", fd);
    int failed = ratel_history_read_path(&h, p->a->context, "ratel", path);
    if (!failed) failed = ratel_check(&r, p->a->context, h, level);
    int status = EXIT_UNDECIDED;
    if (!failed && ratel_result_verdict(r) == RATEL_VIOLATED) {
        status = EXIT_VIOLATED;
        snprintf(c->anomaly, sizeof c->anomaly, "%s", ratel_result_anomaly(r));
    } else if (!failed && ratel_result_verdict(r) == RATEL_HOLDS) {
        status = EXIT_HOLDS;
    }
    if (failed) complain("power: %s", ratel_errmsg(p->a->context));
    ratel_result_free(r);
    ratel_history_free(h);
    return status;
}

static ptrdiff_t read_scratch(void *buf, size_t cap, void *payload)
{
    return read(*(int *)payload, buf, cap);
}

/* The same of a log of SQL. */
static int decide_log(const power *p, int fd, const live_sql *sql, const char *level, power_cell *c)
{
    audit *log = NULL;
    audit_answer r;
    audit_options o = {.level = level,
                       .unique_errors = true, /* as live_sql_audit says */
                       .by_value = sql->by_value,
                       .seconds = CHECK_MS / 1000,
                       .interrupt = &interrupt_flag};
    uint64_t line, column;
    double seconds;
    if (p->a->value[O_TIME] && live_seconds(p->a, O_TIME, &seconds)) o.seconds = seconds;
    int status = EXIT_UNDECIDED;
    if (lseek(fd, 0, SEEK_SET) < 0 || audit_run(&log, &o, read_scratch, &fd, &r)) {
        complain("power: %s", log ? audit_error(log, &line, &column) : "the log cannot be read");
    } else if (r.verdict == AUDIT_VIOLATED) {
        status = EXIT_VIOLATED;
        snprintf(c->anomaly, sizeof c->anomaly, "%s", r.semantic ? "wrong-result" : "isolation");
    } else if (r.verdict == AUDIT_HOLDS) {
        status = EXIT_HOLDS;
    }
    audit_free(log);
    return status;
}

/* A run of a SQL workload, as run_once. */
static int run_sql_once(power *p, live *l, args *quiet, live_options *o, power_cell *c)
{
    live_sql sql;
    run_counts n;
    if (!db_inner(&l->db)->driver->stamp) o->stepped = true;
    int status = live_sql_run(quiet, l, o, &n, &sql);
    p->hung = p->hung || sql.hung;
    const char *level = p->a->value[O_LEVEL] ? p->a->value[O_LEVEL] : sql.level;
    if (status == EXIT_VIOLATED) {
        snprintf(c->anomaly, sizeof c->anomaly, "final-state");
    } else if (status == EXIT_HOLDS && !level) {
        complain("power: Ratel knows no level of logs for this setting (--level says what to "
                 "audit)");
        return EXIT_USAGE;
    } else if (status == EXIT_HOLDS) {
        status = decide_log(p, o->output, &sql, level, c);
    }
    if (level) snprintf(p->log_level, sizeof p->log_level, "%s", audit_level_named(level));
    return p->hung ? EXIT_IO : status;
}

/* A run of so many transactions; the status is that of the check, or of a run that failed. */
static int run_once(power *p, live *l, power_row *r, uint64_t txns, power_cell *c)
{
    live_options o = p->o;
    run_counts n;
    args quiet = *p->a;
    quiet.value[O_QUIET] = "";
    o.workload = r->mix.workload;
    o.keys = r->mix.keys;
    o.ops = r->mix.ops;
    o.knobs = &r->mix.knob;
    o.n_knobs = r->mix.knob != NULL;
    o.txns = txns;
    o.seed = p->o.seed + txns;
    o.output_name = NULL;
    o.output = live_scratch();
    if (o.output < 0) return EXIT_IO;
    bool sql = sql_workload_named(o.workload) != NULL;
    int status = sql ? run_sql_once(p, l, &quiet, &o, c) : live_run(l, &quiet, &o, &n);
    if (status == EXIT_HOLDS && !sql) {
        const contract *k = p->a->value[O_LEVEL] ? NULL : live_contract(l, &quiet);
        const char *level = k ? live_level(l, &quiet, k, &n) : p->a->value[O_LEVEL];
        snprintf(p->level, sizeof p->level, "%s", level);
        status = decide_run(p, o.output, level, c);
    }
    live_recorded(&o);
    return status;
}

/* Runs that double until one is violated.  Without a bug only the longest counts. */
static int fill_cell(power *p, live *l, power_row *r, bool bug, power_cell *c)
{
    for (uint64_t txns = bug ? FIRST_TXNS : p->most; txns <= p->most && !interrupted(); txns *= 2) {
        int status = run_once(p, l, r, txns, c);
        if (status == EXIT_VIOLATED) {
            c->txns = txns;
            return EXIT_HOLDS;
        }
        c->undecided = status == EXIT_UNDECIDED;
        if (status != EXIT_HOLDS && status != EXIT_UNDECIDED) return status;
    }
    return interrupted() ? EXIT_UNDECIDED : EXIT_HOLDS;
}

/* As for `test`: what nobody asked for by name, and the driver cannot do. */
static void leave_out(power *p, const db *d)
{
    size_t n = 0;
    for (size_t i = 0; i < p->rows; i++) {
        const char *why = test_mix_lacks(&p->row[i].mix, d);
        if (why)
            fprintf(stderr, "ratel: power: without %s, since the driver has no operation %s\n",
                    p->row[i].mix.workload, why);
        else
            p->row[n++] = p->row[i];
    }
    p->rows = n;
}

/* All workloads through one client; 0: the one without a bug. */
static int try_bug(power *p, size_t bug)
{
    char url[2048];
    live l;
    args b = *p->a;
    snprintf(url, sizeof url, bug ? "faulty:%s:%s" : "%s%s", bug ? driver_bug_at(bug - 1) : "",
             p->a->value[O_DB]);
    b.value[O_DB] = url;
    int status = live_open(&l, &b);
    if (status == EXIT_HOLDS && !b.value[O_LEVEL] && !contract_of(&l.db)) {
        complain("power: Ratel knows no documented level of %s at %s (--level says what to check)",
                 l.db.version, l.db.isolation);
        status = EXIT_USAGE;
    }
    if (status == EXIT_HOLDS) {
        snprintf(p->version, sizeof p->version, "%s", l.db.version);
        snprintf(p->isolation, sizeof p->isolation, "%s", l.db.isolation);
        b.context = p->a->context;
        if (!p->a->value[O_WORKLOAD]) leave_out(p, &l.db);
        for (size_t i = 0; i < p->rows && status == EXIT_HOLDS; i++)
            status = fill_cell(p, &l, &p->row[i], bug > 0, &p->row[i].cell[bug]);
    }
    if (!p->hung) live_close(&l);
    return status;
}

/* --- what came of it -------------------------------------------------------------------------- */

static const char *control_of(const power_row *r)
{
    return r->cell[0].txns ? "violated" : r->cell[0].undecided ? "undecided" : "holds";
}

/* The workload that finds the most bugs that are not found yet, the sooner the better. */
static const power_row *best_row(const power *p, const bool *found, uint64_t *last)
{
    const power_row *best = NULL;
    size_t most = 0;
    for (size_t i = 0; i < p->rows; i++) {
        size_t n = 0;
        uint64_t late = 0;
        for (size_t k = 1; k <= p->bugs; k++) {
            uint64_t at = p->row[i].cell[k].txns;
            if (found[k] || !at) continue;
            n++;
            if (at > late) late = at;
        }
        if (n > most || (n && n == most && late < *last)) {
            best = &p->row[i];
            most = n;
            *last = late;
        }
    }
    return best;
}

typedef struct power_choice {
    const power_row *row[MOST_WORKLOADS];
    uint64_t last; /* transactions until the last of the bugs is found */
    size_t n, found;
    bool has[MOST_BUGS + 1];
} power_choice;

/* Few workloads that together find what any of them finds. */
static void choose_rows(const power *p, power_choice *c)
{
    *c = (power_choice){0};
    for (;;) {
        uint64_t late = 0;
        const power_row *r = best_row(p, c->has, &late);
        if (!r) return;
        c->row[c->n++] = r;
        if (late > c->last) c->last = late;
        for (size_t k = 1; k <= p->bugs; k++)
            if (r->cell[k].txns && !c->has[k]) c->has[k] = true, c->found++;
    }
}

static void print_choice(FILE *f, const power *p, const power_choice *c)
{
    if (!c->n) {
        fputs("no workload found any of the bugs\n", f);
        return;
    }
    fputs("choose ", f);
    for (size_t i = 0; i < c->n; i++)
        fprintf(f, "%s%s", !i ? "" : i + 1 == c->n ? " and " : ", ", c->row[i]->label);
    fprintf(f, ": %s found %zu of %zu bugs, each within %llu transactions\n",
            c->n > 1 ? "together they" : "it", c->found, p->bugs, (unsigned long long)c->last);
    for (size_t k = 1; k <= p->bugs; k++)
        if (!c->has[k])
            fprintf(f, "not found: %s; perhaps the level allows it, or --txns is too small\n",
                    driver_bug_at(k - 1));
}

static void print_power(FILE *f, const power *p)
{
    power_choice c;
    choose_rows(p, &c);
    fprintf(f, "%s, %s, held to %s", p->version, p->isolation, *p->level ? p->level : p->log_level);
    if (*p->level && *p->log_level && strcmp(p->level, p->log_level) != 0)
        fprintf(f, " (logs of SQL: %s)", p->log_level);
    fputs(": transactions until a bug of the client was found\n", f);
    fprintf(f, "%-26s %9s", "workload", "no bug");
    for (size_t k = 0; k < p->bugs; k++) fprintf(f, " %14s", driver_bug_at(k));
    fputc('\n', f);
    for (size_t i = 0; i < p->rows; i++) {
        const power_row *r = &p->row[i];
        fprintf(f, "%-26s %9s", r->label, control_of(r));
        for (size_t k = 1; k <= p->bugs; k++)
            if (r->cell[k].txns)
                fprintf(f, " %14llu", (unsigned long long)r->cell[k].txns);
            else
                fprintf(f, " %14s", r->cell[k].undecided ? "undecided" : "-");
        fputc('\n', f);
    }
    print_choice(f, p, &c);
}

static void print_power_json(FILE *f, const power *p)
{
    power_choice c;
    choose_rows(p, &c);
    json_writer to = json_file(f), *w = &to;
    jw_object(w);
    jw_member_u64(w, "schema", 1);
    jw_member_text(w, "database", p->version);
    jw_member_text(w, "isolation", p->isolation);
    jw_member_text(w, "level", *p->level ? p->level : p->log_level);
    if (*p->log_level) jw_member_text(w, "log_level", p->log_level);
    jw_member_u64(w, "seed", p->o.seed);
    jw_member_u64(w, "txns", p->most);
    jw_member_array(w, "workloads");
    for (size_t i = 0; i < p->rows; i++) {
        const power_row *r = &p->row[i];
        jw_object(w);
        jw_member_text(w, "workload", r->label);
        jw_member_text(w, "without", control_of(r));
        jw_member_array(w, "bugs");
        for (size_t k = 1; k <= p->bugs; k++) {
            const power_cell *one = &r->cell[k];
            jw_object(w);
            jw_member_text(w, "bug", driver_bug_at(k - 1));
            jw_member_text(w, "verdict",
                           one->txns        ? "found"
                           : one->undecided ? "undecided"
                                            : "missed");
            if (one->txns) jw_member_u64(w, "txns", one->txns);
            if (one->txns) jw_member_text(w, "anomaly", one->anomaly);
            jw_end_object(w);
        }
        jw_end_array(w);
        jw_end_object(w);
    }
    jw_end_array(w);
    jw_member_array(w, "choose");
    for (size_t i = 0; i < c.n; i++) jw_text(w, c.row[i]->label);
    jw_end_array(w);
    jw_member_array(w, "missed");
    for (size_t k = 1; k <= p->bugs; k++)
        if (!c.has[k]) jw_text(w, driver_bug_at(k - 1));
    jw_end_array(w);
    jw_end_object(w);
    jw_end_line(w);
}

static int show_power(const power *p)
{
    args *a = p->a;
    const char *name = a->value[O_OUTPUT];
    bool named = name && strcmp(name, "-") != 0;
    output to = {.f = stdout};
    if (named && !output_open(a, &to, name)) return EXIT_IO;
    (a->value[O_JSON] ? print_power_json : print_power)(to.f, p);
    if (named) output_close(a, &to);
    for (size_t i = 0; i < p->rows; i++)
        if (p->row[i].cell[0].txns) return EXIT_VIOLATED;
    return EXIT_HOLDS;
}

int cmd_power(args *a)
{
    power *p = calloc(1, sizeof *p);
    if (!p) {
        complain("out of memory");
        return EXIT_UNDECIDED;
    }
    p->a = a;
    int status = parse_power(p) ? EXIT_HOLDS : EXIT_USAGE;
    if (status == EXIT_HOLDS && !a->value[O_TIME]) ratel_set(a->context, "time", CHECK_MS);
    for (size_t bug = 0; bug <= p->bugs && status == EXIT_HOLDS; bug++) status = try_bug(p, bug);
    if (status == EXIT_HOLDS) status = show_power(p);
    free(p);
    return status;
}
