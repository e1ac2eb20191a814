/*
 * cmd_gen.c - ratel gen.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

const gen_list gen_lists[] = {{"workloads", ratel_gen_workload_at},
                              {"isolation", ratel_gen_isolation_at},
                              {"anomalies", ratel_gen_anomaly_at},
                              {"knobs", ratel_gen_knob_at},
                              {NULL, NULL}};

/* The truth goes to --truth, else beside the output, else (output to stdout) nowhere but -v. */
static int write_truth(const args *a, const char *out, const char *truth)
{
    const char *path = a->value[O_TRUTH];
    char *made = NULL;
    int status = EXIT_HOLDS;
    if (!path && strcmp(out, "-")) {
        size_t n = strlen(out);
        made = malloc(n + sizeof ".truth.json");
        if (!made) {
            complain("out of memory");
            return EXIT_UNDECIDED;
        }
        memcpy(made, out, n);
        memcpy(made + n, ".truth.json", sizeof ".truth.json");
        path = made;
    }
    if (!path) {
        if (a->value[O_VERBOSE]) fputs(truth, stderr);
        return status;
    }
    FILE *f = strcmp(path, "-") ? fopen(path, "w") : stdout;
    if (!f || fputs(truth, f) < 0 || (f != stdout && fclose(f))) {
        perror(path);
        status = EXIT_IO;
    }
    free(made);
    return status;
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
    int code = ratel_gen(&h, a->context, &o, &truth);
    if (code) {
        complain("gen: %s", ratel_errmsg(a->context));
        return code == RATEL_EUNSUPPORTED ? EXIT_USAGE : exit_of(code);
    }
    int status = write_truth(a, out, truth);
    code = ratel_history_write_path(h, a->context, a->value[O_TO] ? a->value[O_TO] : "ratel", out);
    if (code) status = complain_about(a->context, out, code);
    if (!code) print_lost(a, out);
    ratel_history_free(h);
    return status;
}
