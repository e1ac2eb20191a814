/*
 * cmd_gen.c - ratel gen.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

const gen_list gen_lists[] = {{"workloads", ratel_gen_workload_at},
                              {"isolation", ratel_gen_isolation_at},
                              {"anomalies", ratel_gen_anomaly_at},
                              {"knobs", ratel_gen_knob_at},
                              {NULL, NULL}};

/* The path of the truth file, to be freed: --truth, else beside a history that is a file or a
   directory.  NULL in *path: there is none.  False: out of memory. */
static bool truth_path(const args *a, const char *out, char **path)
{
    struct stat st;
    const char *given = a->value[O_TRUTH];
    *path = NULL;
    bool file = strcmp(out, "-") && (stat(out, &st) || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
    if (!given && !file) return true;
    const char *tail = given ? "" : ".truth.json";
    if (!given) given = out;
    size_t n = strlen(given) + strlen(tail) + 1;
    *path = malloc(n);
    if (*path) snprintf(*path, n, "%s%s", given, tail);
    return *path != NULL;
}

/* The history and its truth file belong together.  So the truth is written first, but takes its
   name only after the history: whatever fails before leaves both as they were. */
static int write_both(const args *a, const ratel_history *h, const char *out, const char *truth)
{
    const char *to = a->value[O_TO] ? a->value[O_TO] : "ratel";
    char *path;
    output o;
    if (!truth_path(a, out, &path)) {
        complain("out of memory");
        return EXIT_UNDECIDED;
    }
    if (!path) {
        if (a->value[O_VERBOSE]) fputs(truth, stderr);
        return write_history(a, h, to, out);
    }
    int status = EXIT_IO;
    if (output_open(a, &o, path)) {
        fputs(truth, o.f);
        /* what does not fit on the disk shows here, and not after the history was replaced */
        bool bad = fflush(o.f) || (o.f != stdout && !o.file.straight && fsync(fileno(o.f)));
        if (bad) complain("%s: %s", path, strerror(errno));
        if (!bad) status = write_history(a, h, to, out);
        if (status)
            output_abandon(&o);
        else if (!output_close(a, &o))
            status = EXIT_IO;
    }
    free(path);
    return status;
}

#define NAME_AT(list)                                                                              \
    static const char *list##_name_at(size_t i)                                                    \
    {                                                                                              \
        const char *name, *about;                                                                  \
        return ratel_gen_##list##_at(&name, &about, i) ? NULL : name;                              \
    }
NAME_AT(workload)
NAME_AT(isolation)
NAME_AT(anomaly)
NAME_AT(knob)

static bool is_named(const char *given, size_t n, const char *(*at)(size_t i))
{
    const char *name;
    for (size_t i = 0; (name = at(i)) != NULL; i++)
        if (strlen(name) == n && !strncmp(name, given, n)) return true;
    return false;
}

/* Says which name is wrong; false: nothing said. */
static bool complain_of_name(const char *what, const char *given, size_t n,
                             const char *(*at)(size_t i))
{
    if (!given || is_named(given, n, at)) return false;
    complain_no_name(what, given, n, at, "ratel gen --list lists them");
    return true;
}

/* After the generator refused something: was it a name? */
static bool complain_of_names(const args *a)
{
    const char *w = a->value[O_WORKLOAD], *i = a->value[O_ISOLATION];
    if (complain_of_name("workload", w, w ? strlen(w) : 0, workload_name_at)) return true;
    for (const char *p = a->value[O_ANOMALY]; p && *p; p += *p == ',') {
        if (complain_of_name("anomaly", p, strcspn(p, ":,"), anomaly_name_at)) return true;
        p += strcspn(p, ",");
    }
    for (size_t k = 0; k < a->n_knobs; k++)
        if (complain_of_name("knob", a->knobs[k], strcspn(a->knobs[k], "="), knob_name_at))
            return true;
    bool refused = strstr(ratel_errmsg(a->context), "cannot simulate") != NULL;
    return refused && complain_of_name("isolation", i, i ? strlen(i) : 0, isolation_name_at);
}

int cmd_gen(args *a)
{
    ratel_gen_options o = {.seed = 1};
    if (a->value[O_LIST]) {
        const char *name, *about;
        for (const gen_list *l = gen_lists; l->title; l++) {
            printf("%s:\n", l->title);
            for (size_t i = 0; !l->at(&name, &about, i); i++) printf("  %-36s %s\n", name, about);
        }
        return EXIT_HOLDS;
    }
    const char *out = a->value[O_OUTPUT] ? a->value[O_OUTPUT] : "-";
    if (a->n_files == 1 && !a->value[O_OUTPUT]) out = a->files[0];
    if (a->n_files > 1 || (a->n_files && a->value[O_OUTPUT])) {
        complain("gen: give at most one output");
        return EXIT_USAGE;
    }
    const char *knobs[65] = {NULL};
    if (a->n_knobs > 64) {
        complain("--set: too many knobs");
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < a->n_knobs; i++) knobs[i] = a->knobs[i];
    o.workload = a->value[O_WORKLOAD];
    o.isolation = a->value[O_ISOLATION];
    o.anomalies = a->value[O_ANOMALY];
    o.no_times = a->value[O_NO_TIMES] != NULL;
    o.knobs = knobs;
    o.plant = a->value[O_PLANT];
    if (!args_u64(a, O_TXNS, &o.txns) || !args_u64(a, O_SESSIONS, &o.sessions) ||
        !args_u64(a, O_KEYS, &o.keys) || !args_u64(a, O_OPS, &o.ops) ||
        !args_u64(a, O_SEED, &o.seed) || !args_share(a, O_ABORTED, &o.aborted) ||
        !args_share(a, O_UNKNOWN, &o.unknown))
        return EXIT_USAGE;
    ratel_history *h;
    const char *truth;
    static const enum option_id sizes[] = {O_TXNS, O_SESSIONS, O_KEYS, O_OPS};
    const uint64_t given[] = {o.txns, o.sessions, o.keys, o.ops};
    for (size_t i = 0; i < 4; i++) /* to the library 0 means the usual number */
        if (a->value[sizes[i]] && !given[i]) {
            complain("--%s: 0 is out of range (at least 1)", option_table[sizes[i]].name);
            return EXIT_USAGE;
        }
    int code = ratel_gen(&h, a->context, &o, &truth);
    if (code) {
        if (code != RATEL_EINVAL || !complain_of_names(a))
            complain("gen: %s", ratel_errmsg(a->context));
        return code == RATEL_EUNSUPPORTED ? EXIT_USAGE : exit_of(code);
    }
    int status = write_both(a, h, out, truth);
    ratel_history_free(h);
    return status;
}
