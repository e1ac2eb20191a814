/*
 * cmd_test.c - ratel test: a mix of workloads, each checked for what the product documents.
 *
 * Each run records into a file without a name, or into the directory of -o; a history that is not
 * shown to satisfy its level is kept.  Answers are collected as check collects them (ci.h), so that
 * one report is about all runs; at the end a table says what each run was and where its history is.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/ci.h"
#include "cli/live_sql.h"
#include "cli/page_output.h"
#include "cli/synth_cli.h"

/* Where values repeat or ranges are long, longer histories are no better but costly to decide. */
enum { MOST_AMBIGUOUS = 3000, MOST_RANGES = 4000 };

/* Few hot keys where a race is wanted, many where the checker should have a wide history; with
   lists the version order is seen, with random-rmw-range phantoms are. */
static const test_mix mix[] = {
    {"rw-register", 8, 6, 0, NULL, 0},
    {"list-append", 6, 4, 0, NULL, DB_NO_LISTS},
    {"write-skew", 0, 0, 0, NULL, 0},
    {"lost-update", 0, 0, 0, NULL, 0},
    {"bank", 0, 0, MOST_AMBIGUOUS, NULL, 0},
    {"random-rmw-range", 30, 4, MOST_RANGES, NULL, DB_NO_RANGES},
    {"range-b", 40, 4, MOST_RANGES, "span=10", DB_NO_RANGES | DB_NO_DELETES},
    {"rw-register", 4, 4, MOST_AMBIGUOUS, "duplicates=1", 0},
};
#define MIXED (sizeof mix / sizeof *mix)
enum { SESSIONS = 8, CHECK_MS = 60000 };

const test_mix *test_mix_at(size_t i)
{
    return i < MIXED ? &mix[i] : NULL;
}

const char *test_mix_lacks(const test_mix *m, const db *d)
{
    unsigned lacks = m->needs & db_inner(d)->driver->lacks;
    return lacks & DB_NO_LISTS     ? "append"
           : lacks & DB_NO_RANGES  ? "range"
           : lacks & DB_NO_DELETES ? "delete"
                                   : NULL;
}

typedef struct test_run {
    test_mix mix;
    char label[96];  /* workload, and its knob */
    char file[4096]; /* of the history; "": not kept */
    run_counts counts;
    size_t first_case, cases; /* of the collection */
    int status;
} test_run;

typedef struct test {
    args *a;
    live l;
    const contract *c; /* NULL: --level says what is checked */
    live_options o;
    uint64_t keys, txns; /* of --keys and --txns: of every run; 0: as the mix has it */
    test_run *runs;
    size_t n;
    ci_report ci;
    int status;
    bool hung; /* a call never returned: the database is not to be closed */
} test;

/* --- which workloads -------------------------------------------------------------------------- */

static bool add_run(test *t, const test_mix *m)
{
    test_run *more = realloc(t->runs, (t->n + 1) * sizeof *more);
    if (!more) {
        complain("out of memory");
        t->status = EXIT_UNDECIDED;
        return false;
    }
    t->runs = more;
    test_run *r = &more[t->n++];
    *r = (test_run){.mix = *m};
    snprintf(r->label, sizeof r->label, "%.60s%s%.30s", m->workload, m->knob ? " " : "",
             m->knob ? m->knob : "");
    return true;
}

/* A workload of the mix as the mix has it, another one as it was published. */
static bool add_named(test *t, const char *name, size_t n)
{
    bool found = false;
    for (size_t i = 0; i < MIXED; i++)
        if (strlen(mix[i].workload) == n && !strncmp(mix[i].workload, name, n)) {
            if (!add_run(t, &mix[i])) return false;
            found = true;
        }
    const char *known;
    for (size_t i = 0; !found && (known = live_workload_at(i)) != NULL; i++)
        if (strlen(known) == n && !strncmp(known, name, n)) {
            if (!add_run(t, &(test_mix){.workload = known})) return false;
            found = true;
        }
    for (const sql_workload *w = sql_workloads; !found && w->name; w++)
        if (strlen(w->name) == n && !strncmp(w->name, name, n)) {
            if (!add_run(t, &(test_mix){.workload = w->name})) return false;
            found = true;
        }
    if (!found)
        complain_no_name("workload", name, n, live_workload_at, "ratel test --list lists them");
    return found;
}

static bool choose_runs(test *t)
{
    const char *p = t->a->value[O_WORKLOAD];
    for (size_t i = 0; !p && i < MIXED; i++)
        if (!add_run(t, &mix[i])) return false;
    while (p) {
        size_t n = strcspn(p, ",");
        if (!add_named(t, p, n)) return false;
        p = p[n] ? p + n + 1 : NULL;
    }
    return true;
}

/* --- one run ---------------------------------------------------------------------------------- */

/* A history that was recorded into a file without a name gets one. */
static void keep_history(test *t, test_run *r, size_t number, int fd)
{
    char buf[1 << 16], name[128];
    output to;
    snprintf(name, sizeof name, "ratel-test-%zu-%.60s.jsonl", number, r->mix.workload);
    if (!output_open(t->a, &to, name)) return;
    bool bad = lseek(fd, 0, SEEK_SET) < 0;
    for (ssize_t n; !bad && (n = read(fd, buf, sizeof buf)) != 0;)
        bad = n < 0 || fwrite(buf, 1, (size_t)n, to.f) != (size_t)n;
    if (bad) {
        perror(name);
        output_abandon(&to);
    } else if (output_close(t->a, &to)) {
        snprintf(r->file, sizeof r->file, "%s", name);
        ci_rename_last(&t->ci, r->label, name);
    }
}

/* Where the history goes; false after a complaint. */
static bool open_history(test *t, test_run *r, size_t number)
{
    const char *dir = t->a->value[O_OUTPUT];
    t->o.output_name = NULL;
    if (!dir) return (t->o.output = live_scratch()) >= 0;
    snprintf(r->file, sizeof r->file, "%.3900s/%zu-%.60s.jsonl", dir, number, r->mix.workload);
    return live_record(t->a, &t->o, r->file);
}

static const char *level_of(test *t, const run_counts *n)
{
    return t->c ? live_level(&t->l, t->a, t->c, n) : t->a->value[O_LEVEL];
}

static int check_run(test *t, test_run *r, size_t number, int fd)
{
    char path[32];
    if (!t->a->value[O_QUIET])
        fprintf(stderr, "%s, %s, %s: %llu committed, %llu aborted, %llu unknown\n", t->l.db.version,
                t->l.db.isolation, r->label, (unsigned long long)r->counts.committed,
                (unsigned long long)r->counts.aborted, (unsigned long long)r->counts.unknown);
    snprintf(path, sizeof path, "/dev/fd/%d", fd);
    bool named = *r->file;
    args a = *t->a;
    a.ci = &t->ci;
    t->ci.workload = r->label;
    size_t entries = a.page ? a.page->entries.n : 0;
    int status =
        live_check(&a, named ? r->file : path, named ? NULL : r->label, level_of(t, &r->counts));
    t->ci.workload = NULL;
    bool violated = status == EXIT_VIOLATED;
    for (size_t i = r->first_case; i < t->ci.n; i++)
        violated = violated || t->ci.cases[i]->outcome == EXIT_VIOLATED;
    if (violated && !named) keep_history(t, r, number, fd);
    if (!named) page_rename(&a, entries, r->label, *r->file ? r->file : NULL);
    return status;
}

/* The audit of the log of a SQL workload, and what the run has shown by itself. */
static int audit_run(test *t, test_run *r, size_t number, const live_sql *sql, int status)
{
    char path[32];
    bool named = *r->file;
    const char *why = sql->n ? sql->finding[0] : "see the answer of the audit";
    live_sql_findings(t->a, sql);
    snprintf(path, sizeof path, "/dev/fd/%d", t->o.output);
    int verdict = status == EXIT_UNDECIDED
                      ? status
                      : live_sql_audit(t->a, named ? r->file : path, named ? NULL : r->label, sql);
    if (status == EXIT_HOLDS) status = verdict;
    const char *level = t->a->value[O_LEVEL] ? t->a->value[O_LEVEL] : sql->level;
    t->ci.workload = r->label;
    ci_plain(&t->ci, r->label, level ? level : "", status, !r->counts.committed, why);
    t->ci.workload = NULL;
    if (status == EXIT_VIOLATED && !named) keep_history(t, r, number, t->o.output);
    return status;
}

static int run_sql_one(test *t, test_run *r, size_t number)
{
    live_sql sql;
    int status = live_sql_run(t->a, &t->l, &t->o, &r->counts, &sql);
    if (status == EXIT_USAGE || status == EXIT_IO) return status;
    t->hung = t->hung || sql.hung;
    return audit_run(t, r, number, &sql, status);
}

/* What a run has shown by itself, whatever the level says. */
static void tell_findings(test *t, test_run *r, size_t number)
{
    const run_counts *c = &r->counts;
    live_findings(t->a, c);
    t->hung = t->hung || c->hung;
    if (!c->lost_commits && !c->hung_commits) return;
    t->ci.workload = r->label;
    ci_plain(&t->ci, r->label, c->lost_commits ? "durability" : "progress", EXIT_VIOLATED, false,
             c->lost_commits ? c->lost_commit : c->failed_commit);
    t->ci.workload = NULL;
    if (!*r->file) keep_history(t, r, number, t->o.output);
    r->status = EXIT_VIOLATED;
}

static void run_one(test *t, test_run *r, size_t number)
{
    live_options *o = &t->o;
    r->first_case = t->ci.n;
    r->status = EXIT_IO;
    if (open_history(t, r, number)) {
        o->workload = r->mix.workload;
        o->keys = t->keys ? t->keys : r->mix.keys;
        o->ops = r->mix.ops;
        o->txns = t->txns ? t->txns : r->mix.txns;
        if (r->mix.knob) { /* its label says so: --set does not change it */
            o->knobs = &r->mix.knob;
            o->n_knobs = 1;
        } else {
            o->knobs = t->a->knobs;
            o->n_knobs = t->a->n_knobs;
        }
        if (sql_workload_named(o->workload)) {
            r->status = run_sql_one(t, r, number);
        } else {
            r->status = live_run(&t->l, t->a, o, &r->counts);
            if (r->status == EXIT_HOLDS) r->status = check_run(t, r, number, o->output);
            if (r->status != EXIT_USAGE && r->status != EXIT_IO) tell_findings(t, r, number);
        }
        live_recorded(o);
    }
    if (t->ci.n == r->first_case) {
        t->ci.workload = r->label;
        ci_plain(&t->ci, r->label, level_of(t, &r->counts), r->status, true,
                 r->status == EXIT_UNDECIDED ? "the run committed nothing" : "the run failed");
        t->ci.workload = NULL;
    }
    r->cases = t->ci.n - r->first_case;
    for (size_t i = r->first_case; t->a->value[O_TAP] && i < t->ci.n; i++)
        tap_case(stdout, t->ci.cases[i], i + 1);
}

/* --- what came of it -------------------------------------------------------------------------- */

/* The answer of a run: the worst of its levels. */
static const ci_case *answer_of(const test *t, const test_run *r)
{
    const ci_case *worst = NULL;
    for (size_t i = r->first_case; i < r->first_case + r->cases; i++) {
        const ci_case *k = t->ci.cases[i];
        if (!worst || (k->outcome == EXIT_VIOLATED && worst->outcome != EXIT_VIOLATED) ||
            (worst->outcome == EXIT_HOLDS && k->outcome != EXIT_HOLDS))
            worst = k;
    }
    return worst;
}

static void print_table(const test *t, size_t done)
{
    printf("\n%-28s %10s %9s %8s  %-10s %s\n", "workload", "committed", "aborted", "unknown",
           "verdict", "history");
    for (size_t i = 0; i < done; i++) {
        const test_run *r = &t->runs[i];
        const ci_case *k = answer_of(t, r);
        printf("%-28s %10llu %9llu %8llu  %-10s ", r->label,
               (unsigned long long)r->counts.committed, (unsigned long long)r->counts.aborted,
               (unsigned long long)r->counts.unknown, k ? ci_verdict(k) : "-");
        visible_to(stdout, *r->file ? r->file : "not kept");
        if (k && *k->anomaly) printf(" (%s)", k->anomaly);
        putchar('\n');
    }
    if (done < t->n) printf("%zu of %zu workloads were not run\n", t->n - done, t->n);
    for (size_t i = 0; i < done; i++)
        if (*t->runs[i].file && answer_of(t, &t->runs[i]) &&
            answer_of(t, &t->runs[i])->outcome == EXIT_VIOLATED) {
            fputs("ratel explain ", stdout);
            visible_to(stdout, t->runs[i].file);
            fputs(" shows what is wrong\n", stdout);
        }
}

static void print_json(const test *t, size_t done)
{
    json_writer to = json_file(stdout), *w = &to;
    jw_object(w);
    jw_member_u64(w, "schema", 1);
    jw_member_text(w, "database", t->l.db.version);
    jw_member_text(w, "isolation", t->l.db.isolation);
    jw_member_text(w, "level", t->c ? t->c->level : t->a->value[O_LEVEL]);
    jw_member_u64(w, "seed", t->o.seed);
    jw_member_u64(w, "planned", t->n);
    jw_member_array(w, "runs");
    for (size_t i = 0; i < done; i++) {
        const test_run *r = &t->runs[i];
        const ci_case *k = answer_of(t, r);
        jw_object(w);
        jw_member_text(w, "workload", r->label);
        if (*r->file) jw_member_text(w, "history", r->file);
        jw_member_u64(w, "committed", r->counts.committed);
        jw_member_u64(w, "aborted", r->counts.aborted);
        jw_member_u64(w, "unknown", r->counts.unknown);
        jw_member_u64(w, "faults", r->counts.faults);
        if (!t->a->value[O_DETERMINISTIC]) jw_member_decimal(w, "seconds", r->counts.seconds, 3);
        jw_member_text(w, "verdict", k ? ci_verdict(k) : "undecided");
        if (k && *k->anomaly) jw_member_text(w, "anomaly", k->anomaly);
        jw_end_object(w);
    }
    jw_end_array(w);
    jw_end_object(w);
    jw_end_line(w);
}

/* A driver need not have everything: what nobody asked for by name is left out, and its time is
   shared by the others. */
static void leave_out(test *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++) {
        const char *why = test_mix_lacks(&t->runs[i].mix, &t->l.db);
        if (why)
            fprintf(stderr, "ratel: test: without %s, since the driver has no operation %s\n",
                    t->runs[i].label, why);
        else
            t->runs[n++] = t->runs[i];
    }
    t->o.seconds *= (double)t->n / (double)n; /* (some need nothing) */
    t->n = n;
}

static void run_all(test *t)
{
    size_t done = 0;
    if (!t->a->value[O_WORKLOAD]) leave_out(t);
    if (t->c && !t->a->value[O_QUIET])
        fprintf(stderr, "%s at %s documents %s: %s\n", t->l.db.version, t->l.db.isolation,
                t->c->level, t->c->source);
    while (done < t->n && !interrupted()) {
        run_one(t, &t->runs[done], done + 1);
        int one = t->runs[done++].status;
        if (one == EXIT_VIOLATED || (t->status != EXIT_VIOLATED && one > t->status))
            t->status = one;
        if (one == EXIT_IO || one == EXIT_USAGE) break;
    }
    if (interrupted() && t->status == EXIT_HOLDS) t->status = EXIT_UNDECIDED;
    if (t->a->value[O_TAP])
        tap_close(stdout, t->ci.n);
    else if (t->a->value[O_JSON])
        print_json(t, done);
    else
        print_table(t, done);
    fflush(stdout);
    t->status = ci_finish(&t->ci, t->status);
}

/* --- the command ------------------------------------------------------------------------------ */

static bool parse_test(test *t)
{
    args *a = t->a;
    t->o = (live_options){.sessions = SESSIONS, .seed = 1, .seconds = 60};
    if (!args_u64(a, O_SESSIONS, &t->o.sessions) || !args_u64(a, O_SEED, &t->o.seed) ||
        !args_u64(a, O_KEYS, &t->keys) || !args_u64(a, O_TXNS, &t->txns) ||
        !live_seconds(a, O_FOR, &t->o.seconds) || !live_manner(a, &t->o) || !choose_runs(t))
        return false;
    bool keys = false, sql = false;
    for (size_t i = 0; i < t->n; i++)
        *(sql_workload_named(t->runs[i].mix.workload) ? &sql : &keys) = true;
    if (!levels_known(a->value[O_LEVEL], keys, sql)) return false;
    t->o.seconds /= (double)t->n;
    if (a->n_files) {
        complain("test: unexpected argument \"%s\"", a->files[0]);
        return false;
    }
    return true;
}

int cmd_test(args *a)
{
    if (a->value[O_LIST]) {
        live_list();
        return EXIT_HOLDS;
    }
    test t = {.a = a};
    page_output page;
    const char *dir = a->value[O_OUTPUT];
    page_open(a, &page);
    if (parse_test(&t))
        t.status = ci_open(&t.ci, a);
    else if (t.status == EXIT_HOLDS) /* memory did not run out */
        t.status = EXIT_USAGE;
    if (t.status == EXIT_HOLDS && dir && mkdir(dir, 0777) && errno != EEXIST) {
        perror(dir);
        t.status = EXIT_IO;
    }
    if (t.status == EXIT_HOLDS) {
        if (!a->value[O_TIME]) ratel_set(a->context, "time", CHECK_MS);
        t.status = live_open(&t.l, a);
        if (t.status == EXIT_HOLDS && !a->value[O_LEVEL] && !(t.c = live_contract(&t.l, a))) {
            complain("test: Ratel knows no documented level of %s at %s (--level says what to "
                     "check)",
                     t.l.db.version, t.l.db.isolation);
            t.status = EXIT_USAGE;
        }
        if (t.status == EXIT_HOLDS) run_all(&t);
        if (!t.hung) live_close(&t.l);
    }
    t.status = page_close(a, &page, "ratel test", t.status);
    ci_free(&t.ci);
    free(t.runs);
    return t.status;
}
