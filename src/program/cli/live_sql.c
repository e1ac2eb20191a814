/*
 * live_sql.c - one run of a SQL workload, for run and test, and the audit of its log.
 */
#include "cli/live_sql.h"

#include <string.h>

#include "audit/audit.h"
#include "gen/knob.h"
#include "work/fuzz.h"

enum { AUDIT_SECONDS = 60 };

/* The level that a log of this isolation should keep: where audit has a level of its own for what
   the product does, that, else the documented one. */
static const char *sql_level(const db *d)
{
    static const char *const levels[][3] = {
        {"postgres", "serializable", "serializable"},
        {"postgres", "repeatable-read", "strong-snapshot-isolation"},
        {"postgres", "read-committed", "statement-snapshot"},
        {"postgres", "read-uncommitted", "statement-snapshot"},
        {"sqlite", "serializable", "serializable"},
        {"mariadb", "serializable", "serializable"},
        {"mariadb", "snapshot-isolation", "snapshot-isolation"},
        {"mariadb", "repeatable-read", "read-committed"},
        {"mariadb", "read-committed", "read-committed"}};
    const char *name = db_inner(d)->driver->name;
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (!strcmp(levels[i][0], name) && !strcmp(levels[i][1], d->isolation)) return levels[i][2];
    const contract *c = strcmp(name, "exec") == 0 ? contract_of(d) : NULL;
    const char *level = c ? audit_level_named(c->level) : NULL;
    /* Logs have no level for snapshots without conflicts of writers: what it implies will do. */
    return !level && c && !strcmp(c->level, "prefix") ? "read-committed" : level;
}

/* --keys and --set, as the SQL workloads take them; false after a complaint. */
static bool sql_given(const live_options *o, sql_sizes *z)
{
    guard g;
    knob_set k = {0};
    guard_init(&g);
    if (guard_armed(&g)) {
        complain("%s", g.text);
        return false;
    }
    for (size_t i = 0; i < o->n_knobs; i++) knob_parse(&k, &g, o->knobs[i]);
    if (o->keys > INT32_MAX / 2) guard_fail(&g, GUARD_INVAL, "too many keys");
    *z = (sql_sizes){.keys = (uint32_t)o->keys,
                     .reads = knob_real(&k, KNOB_READS, -1),
                     .blind = knob_real(&k, KNOB_BLIND, -1),
                     .rows = knob_real(&k, KNOB_ROWS, -1)};
    const struct {
        enum gen_knob knob;
        uint32_t *to;
    } sizes[] = {{KNOB_WAREHOUSES, &z->warehouses},
                 {KNOB_DISTRICTS, &z->districts},
                 {KNOB_CUSTOMERS, &z->customers},
                 {KNOB_ITEMS, &z->items}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (knob_given(&k, sizes[i].knob)) *sizes[i].to = knob_size(&k, &g, sizes[i].knob, 1);
    return true;
}

static void collect_findings(const sql_run *r, live_sql *out)
{
    const fuzz *f = r->fuzz;
    if (r->odd_commits) snprintf(out->finding[out->n++], DB_ERROR, "%s", r->finding);
    if (f && f->broken) {
        snprintf(out->finding[out->n++], DB_ERROR, "%s", f->finding);
        if (f->broken > 1)
            snprintf(out->note, sizeof out->note, "%u invariants of the final state are broken",
                     (unsigned)f->broken);
    }
    if (f && f->odd_errors && !*out->note)
        snprintf(
            out->note, sizeof out->note,
            "%llu statements failed with errors that are neither conflicts nor constraints; the "
            "first: %.300s",
            (unsigned long long)f->odd_errors, f->odd_error);
}

int live_sql_run(args *a, live *l, const live_options *o, run_counts *c, live_sql *out)
{
    memset(c, 0, sizeof *c);
    memset(out, 0, sizeof *out);
    const char *by = a->command->name;
    char recorder[64];
    snprintf(recorder, sizeof recorder, "ratel %s", ratel_version());
    sql_run r = {.db = &l->db,
                 .w = sql_workload_named(o->workload),
                 .txns = o->txns,
                 .seconds = o->seconds,
                 .sessions = (uint32_t)o->sessions,
                 .seed = o->seed,
                 .level = sql_level(&l->db),
                 .recorder = recorder,
                 .output = o->output,
                 .file = o->output_name ? (replace_file *)&o->file : NULL,
                 .output_name = o->output_name,
                 .interrupt = &interrupt_flag,
                 .stepped = o->stepped,
                 .faults = o->faults.n ? &o->faults : NULL,
                 .count_calls = o->count_calls};
    if (!sql_given(o, &r.z)) return EXIT_USAGE;
    if (!live_can_disturb(l, o)) return EXIT_USAGE;
    if (o->faults.n && l->db.driver->process && !r.w->fuzz) {
        complain(
            "--faults: an engine can be killed during sql-fuzz, predicates, upserts, constraints "
            "and cursors, because it is known which rows must be there afterwards; it cannot be "
            "killed during %s",
            o->workload);
        return EXIT_USAGE;
    }
    if (o->faults.n && o->stepped) {
        complain("--faults: with --schedule step, SQL workloads cannot be disturbed");
        return EXIT_USAGE;
    }
    if (l->db.parts) {
        complain("%s: SQL workloads run at one isolation level", by);
        return EXIT_USAGE;
    }
    if (guard_armed(&l->guard)) {
        complain("%s: %s", by, l->guard.text);
        return exit_of(l->guard.code);
    }
    if (!sql_run_all(&r)) {
        if (!r.unread) complain("%s: %s", by, *r.error ? r.error : "no session could be started");
        return EXIT_IO;
    }
    *c = (run_counts){.committed = r.committed,
                      .aborted = r.aborted,
                      .unknown = r.unknown,
                      .seconds = r.took,
                      .faults = r.n_faults,
                      .lost = r.reconnected,
                      .learnt = r.learnt,
                      .acknowledged = r.acknowledged,
                      .read_back = r.read_back};
    out->level = r.level;
    out->hung = r.hung;
    out->by_value = !strcmp(fuzz_dialect(&l->db), "mysql");
    collect_findings(&r, out);
    if (c->committed && !r.stamped && !r.faults && !a->value[O_QUIET])
        complain(
            "%s: warning: the server reported no commit timestamps, without which few violations "
            "can be shown in a log; PostgreSQL keeps them if it is started with "
            "track_commit_timestamp = on, and --schedule step knows the order of commits",
            by);
    if (out->n) return EXIT_VIOLATED;
    if (!c->committed) {
        complain("%s: nothing committed, so this run says nothing about the database", by);
        return EXIT_UNDECIDED;
    }
    return interrupted() ? EXIT_UNDECIDED : EXIT_HOLDS;
}

void live_sql_findings(const args *a, const live_sql *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        complain("%s: finding: %s", a->command->name, s->finding[i]);
    if (*s->note && !a->value[O_QUIET]) complain("%s: note: %s", a->command->name, s->note);
}

int live_sql_audit(const args *a, const char *path, const char *shown, const live_sql *s)
{
    args b = *a;
    char seconds[24];
    if (!audit_available()) {
        complain("%s: this build cannot audit logs of SQL", a->command->name);
        return EXIT_UNDECIDED;
    }
    if (!a->value[O_LEVEL] && !s->level) {
        complain("%s: Ratel knows no level of logs for this setting (--level says what to audit)",
                 a->command->name);
        return EXIT_UNDECIDED;
    }
    b.files = &path;
    b.n_files = 1;
    b.shown = shown;
    b.value[O_OUTPUT] = NULL;
    if (!a->value[O_LEVEL]) b.value[O_LEVEL] = s->level;
    /* Such errors are documented by PostgreSQL, and concurrent inserts get them. */
    b.value[O_UNIQUE_ERRORS] = "allow";
    /* InnoDB does not write a value that is there already, and sees no conflict in that. */
    if (s->by_value) b.value[O_CONFLICTS] = "value";
    snprintf(seconds, sizeof seconds, "%d", AUDIT_SECONDS);
    if (!a->value[O_TIME]) b.value[O_TIME] = seconds;
    int status = cmd_audit(&b);
    fflush(stdout);
    if (status == EXIT_UNDECIDED && !a->value[O_QUIET])
        complain(
            "%s: note: ratel audit --reference postgres:temp LOG lets a real engine execute what "
            "Ratel's own replay leaves undecided",
            a->command->name);
    return status;
}
