/*
 * cmd_run.c - ratel run.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/live.h"
#include "gen/knob.h"
#include "work/sql_run.h"

enum { USUAL_SESSIONS = 8 };

static bool parse_rate(const args *a, double *out)
{
    const char *s = a->value[O_RATE];
    if (!s) return true;
    char *end;
    *out = strtod(s, &end);
    if (*s && !*end && *out > 0 && *out < 1e9) return true;
    complain("--rate: \"%s\" is not a number of transactions per second", s);
    return false;
}

static bool parse(args *a, live_options *o)
{
    *o = (live_options){.workload = a->value[O_WORKLOAD] ? a->value[O_WORKLOAD] : "blindw-rw",
                        .sessions = USUAL_SESSIONS,
                        .seed = 1,
                        .knobs = a->knobs,
                        .n_knobs = a->n_knobs,
                        .mute = a->value[O_NO_RECORD] != NULL};
    if (!args_u64(a, O_TXNS, &o->txns) || !args_u64(a, O_SESSIONS, &o->sessions) ||
        !args_u64(a, O_KEYS, &o->keys) || !args_u64(a, O_OPS, &o->ops) ||
        !args_u64(a, O_SEED, &o->seed) || !args_share(a, O_LOCKING, &o->locking) ||
        !live_seconds(a, O_FOR, &o->seconds) || !parse_rate(a, &o->rate) || !live_manner(a, o))
        return false;
    if (!o->txns && o->seconds <= 0) o->seconds = 10;
    if (a->n_files) {
        complain("run: unexpected argument \"%s\" (use -o FILE for the history)", a->files[0]);
        return false;
    }
    return true;
}

static void summary(const args *a, const live *l, const live_options *o, const run_counts *c)
{
    const char *out = a->value[O_OUTPUT];
    double rate = c->seconds > 0 ? (double)c->committed / c->seconds : 0;
    if (!a->value[O_QUIET])
        fprintf(stderr,
                "%s, %s, %s: %.1f s, %llu committed (%.0f/s), %llu aborted, %llu unknown%s\n",
                l->db.version, l->db.isolation, o->workload, c->seconds,
                (unsigned long long)c->committed, rate, (unsigned long long)c->aborted,
                (unsigned long long)c->unknown, interrupted() ? ", interrupted" : "");
    if (c->tampered)
        complain(
            "%llu values are not the ones that were written under their ids; the history has a "
            "mark for each of them",
            (unsigned long long)c->tampered);
    bool history_there = !a->value[O_CHECK] && !o->mute && (!out || !strcmp(out, "-"));
    if (!a->value[O_JSON] || history_there) return;
    json_writer to = json_file(stdout), *w = &to;
    jw_object(w);
    jw_member_u64(w, "schema", 1);
    jw_member_text(w, "database", l->db.version);
    jw_member_text(w, "isolation", l->db.isolation);
    jw_member_text(w, "workload", o->workload);
    jw_member_u64(w, "sessions", o->sessions);
    jw_member_u64(w, "seed", o->seed);
    jw_member_u64(w, "committed", c->committed);
    jw_member_u64(w, "aborted", c->aborted);
    jw_member_u64(w, "unknown", c->unknown);
    jw_member_u64(w, "ops", c->ops);
    jw_member_u64(w, "lost", c->lost);
    jw_member_u64(w, "faults", c->faults);
    jw_member_u64(w, "tampered", c->tampered);
    if (!a->value[O_DETERMINISTIC]) jw_member_decimal(w, "seconds", c->seconds, 3);
    jw_member_bool(w, "interrupted", interrupted());
    jw_member_optional(w, "history", out);
    jw_end_object(w);
    jw_end_line(w);
    fflush(stdout);
}

/* Where the history goes; false after a complaint. */
static bool open_history(const args *a, live_options *o)
{
    const char *out = a->value[O_OUTPUT];
    o->output_name = NULL;
    if (out && strcmp(out, "-") != 0) return live_record(a, o, out);
    o->output = a->value[O_CHECK] || o->mute ? live_scratch() : STDOUT_FILENO;
    return o->output >= 0;
}

static int check_run(const args *a, live *l, const run_counts *n, int fd)
{
    const char *level = a->value[O_LEVEL];
    if (!level) { /* asked for by name, a level has its usual session order and policy */
        const contract *c = live_contract(l, a);
        level = c ? live_level(l, a, c, n) : l->db.parts ? "mixed" : "serializable";
    }
    const char *out = a->value[O_OUTPUT];
    if (out && strcmp(out, "-") != 0) return live_check(a, out, NULL, level);
    char path[32];
    snprintf(path, sizeof path, "/dev/fd/%d", fd);
    return live_check(a, path, "the run", level);
}

/* The level that a log of this isolation should keep, where the product is known. */
static const char *sql_level(const db *d)
{
    static const char *const levels[][2] = {{"serializable", "serializable"},
                                            {"repeatable-read", "strong-snapshot-isolation"},
                                            {"read-committed", "statement-snapshot"},
                                            {"read-uncommitted", "statement-snapshot"}};
    for (size_t i = 0; i < 4; i++)
        if (!strcmp(d->driver->name, "postgres") && !strcmp(levels[i][0], d->isolation))
            return levels[i][1];
    if (!strcmp(d->driver->name, "sqlite") && !strcmp(d->isolation, "serializable"))
        return "serializable";
    return NULL;
}

/* --keys and --set, as the SQL workloads take them; false after a complaint. */
static bool sql_given(const live_options *o, sql_sizes *z)
{
    guard g;
    knob_set k = {0};
    guard_init(&g);
    if (guard_armed(&g)) {
        complain("run: %s", g.text);
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

static int run_sql(args *a, live *l, const live_options *o)
{
    sql_run r = {.db = &l->db,
                 .w = sql_workload_named(o->workload),
                 .txns = o->txns,
                 .seconds = o->seconds,
                 .sessions = (uint32_t)o->sessions,
                 .seed = o->seed,
                 .level = sql_level(&l->db),
                 .output = o->output,
                 .file = o->output_name ? (replace_file *)&o->file : NULL,
                 .output_name = o->output_name,
                 .interrupt = &interrupt_flag,
                 .stepped = o->stepped,
                 .count_calls = o->count_calls};
    if (!sql_given(o, &r.z)) return EXIT_USAGE;
    if (l->db.parts) {
        complain("run: SQL workloads run at one isolation level");
        return EXIT_USAGE;
    }
    if (guard_armed(&l->guard)) {
        complain("run: %s", l->guard.text);
        return exit_of(l->guard.code);
    }
    if (!sql_run_all(&r)) {
        complain("run: %s", *r.error ? r.error : "no session could be started");
        return EXIT_IO;
    }
    run_counts c = {
        .committed = r.committed, .aborted = r.aborted, .unknown = r.unknown, .seconds = r.took};
    summary(a, l, o, &c);
    if (c.committed && !r.stamped && !a->value[O_QUIET])
        complain("run: warning: the server told no commit timestamps, without which few violations "
                 "can be shown in a log; PostgreSQL keeps them if it is started with "
                 "track_commit_timestamp = on");
    if (!c.committed) {
        complain("run: nothing committed, so this run says nothing about the database");
        return EXIT_UNDECIDED;
    }
    return interrupted() ? EXIT_UNDECIDED : EXIT_HOLDS;
}

int cmd_run(args *a)
{
    if (a->value[O_LIST]) {
        live_list();
        return EXIT_HOLDS;
    }
    live_options o;
    if (!parse(a, &o)) return EXIT_USAGE;
    const char *out = a->value[O_OUTPUT];
    size_t n = out ? strlen(out) : 0;
    if ((n > 3 && !strcmp(out + n - 3, ".gz")) || (n > 4 && !strcmp(out + n - 4, ".zst"))) {
        complain(
            "run: a history cannot be compressed while it is recorded; compress it afterwards");
        return EXIT_USAGE;
    }
    live l;
    int status = live_open(&l, a);
    if (status == EXIT_HOLDS) {
        bool opened = open_history(a, &o);
        run_counts c;
        if (opened && sql_workload_named(o.workload)) {
            if (a->value[O_CHECK])
                complain("run: --check does not apply to SQL workloads; use ratel audit");
            status = a->value[O_CHECK] ? EXIT_USAGE : run_sql(a, &l, &o);
            live_recorded(&o);
            live_close(&l);
            return status;
        }
        status = opened ? live_run(&l, a, &o, &c) : EXIT_IO;
        if (status == EXIT_HOLDS || status == EXIT_UNDECIDED) {
            summary(a, &l, &o, &c);
            if (a->value[O_CHECK] && !o.mute) {
                int verdict = check_run(a, &l, &c, o.output);
                if (status == EXIT_HOLDS) status = verdict;
            }
        }
        if (opened) live_recorded(&o);
    }
    live_close(&l);
    return status;
}
