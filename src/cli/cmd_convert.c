/*
 * cmd_convert.c - ratel convert.
 */
#include <string.h>

#include "cli/cli.h"

int cmd_convert(args *a)
{
    const char *to = a->value[O_TO], *out = a->value[O_OUTPUT];
    if (a->n_files == 1 && !out) out = "-";
    if (a->n_files == 2 && !out) out = a->files[1];
    if (!to || a->n_files < 1 || a->n_files > 2 || (a->n_files == 2 && a->value[O_OUTPUT])) {
        complain("usage: ratel convert [--from F] --to F IN OUT");
        return EXIT_USAGE;
    }
    ratel_history *h;
    int code = read_history(a, a->files[0], &h);
    if (code) return complain_about(a->context, a->files[0], code);
    code = ratel_history_write_path(h, a->context, to, out);
    int status = code ? complain_about(a->context, out, code) : EXIT_HOLDS;
    const char *lost = ratel_lost(a->context);
    if (!code && !a->value[O_QUIET])
        for (const char *p = lost; *p;) {
            size_t n = strcspn(p, "\n");
            visible_to(stderr, out);
            fprintf(stderr, ": lost: %.*s\n", (int)n, p);
            p += n + (p[n] == '\n');
        }
    ratel_history_free(h);
    return status;
}
