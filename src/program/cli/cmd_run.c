/*
 * cmd_run.c - ratel run.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/live.h"
#include "cli/live_sql.h"

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
    live_findings(a, c);
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
    jw_member_u64(w, "learnt", c->learnt);
    jw_member_u64(w, "faults", c->faults);
    jw_member_u64(w, "tampered", c->tampered);
    jw_member_u64(w, "failed_commits", c->failed_commits);
    jw_member_u64(w, "hung_commits", c->hung_commits);
    if (c->read_back || c->lost_commits) {
        jw_member_u64(w, "acknowledged", c->acknowledged);
        jw_member_u64(w, "read_back", c->read_back);
        jw_member_u64(w, "lost_commits", c->lost_commits);
    }
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

/* A SQL workload, and with --check the audit of its log. */
static int run_sql(args *a, live *l, const live_options *o, live_sql *sql)
{
    run_counts c;
    int status = live_sql_run(a, l, o, &c, sql);
    if (status == EXIT_USAGE || status == EXIT_IO) return status;
    summary(a, l, o, &c);
    live_sql_findings(a, sql);
    if (!a->value[O_CHECK] || status == EXIT_UNDECIDED) return status;
    char path[32];
    const char *out = a->value[O_OUTPUT];
    snprintf(path, sizeof path, "/dev/fd/%d", o->output);
    bool named = out && strcmp(out, "-") != 0;
    int verdict = live_sql_audit(a, named ? out : path, named ? NULL : "the run", sql);
    return status == EXIT_VIOLATED ? status : verdict;
}

int cmd_run(args *a)
{
    if (a->value[O_LIST]) {
        live_list();
        return EXIT_HOLDS;
    }
    live_options o;
    if (!parse(a, &o)) return EXIT_USAGE;
    bool sql = sql_workload_named(o.workload) != NULL;
    if (a->value[O_CHECK] && !levels_known(a->value[O_LEVEL], !sql, sql)) return EXIT_USAGE;
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
        run_counts c = {0};
        if (opened && sql) {
            live_sql left;
            status = run_sql(a, &l, &o, &left);
            live_recorded(&o);
            if (!left.hung) live_close(&l);
            return status;
        }
        status = opened ? live_run(&l, a, &o, &c) : EXIT_IO;
        if (status == EXIT_HOLDS || status == EXIT_UNDECIDED) {
            summary(a, &l, &o, &c);
            if (a->value[O_CHECK] && !o.mute) {
                int verdict = check_run(a, &l, &c, o.output);
                if (status == EXIT_HOLDS) status = verdict;
            }
            if (c.lost_commits || c.hung_commits) status = EXIT_VIOLATED;
        }
        if (opened) live_recorded(&o);
        if (opened && c.hung) return status; /* a thread is still inside the database */
    }
    live_close(&l);
    return status;
}
