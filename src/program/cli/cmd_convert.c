/*
 * cmd_convert.c - ratel convert.
 */
#include <string.h>

#include "cli/cli.h"
#include "cli/modules.h"

int cmd_convert(args *a)
{
    const char *to = a->value[O_TO], *out = a->value[O_OUTPUT];
    if (a->n_files == 1 && !out) out = "-";
    if (a->n_files == 2 && !out) out = a->files[1];
    if (!to) {
        complain("convert: --to FORMAT is needed (see ratel convert --help)");
        return EXIT_USAGE;
    }
    if (a->n_files < 1 || a->n_files > 2 || (a->n_files == 2 && a->value[O_OUTPUT])) {
        complain("convert: give one history, and one file to write (see ratel convert --help)");
        return EXIT_USAGE;
    }
    ratel_history *h;
    int code = read_history(a, a->files[0], &h);
    if (code) return complain_about(a->context, a->files[0], code);
    warn_incomplete(a, a->files[0], h);
    module_chain chain;
    int refused = modules_apply(a, a->files[0], &h, &chain);
    if (refused) {
        modules_free(&chain);
        return refused;
    }
    bool lossy = a->value[O_LOSSY];
    ratel_set(a->context, "whole", !lossy);
    int status = write_history(a, h, to, out);
    if (status == EXIT_INPUT && strstr(ratel_errmsg(a->context), "cannot hold"))
        complain("convert: nothing was written; --lossy writes what %s can hold", to);
    modules_free(&chain);
    return status;
}
