/*
 * recording_script.h - a history as a script: its transactions become statements on a table.
 */
#ifndef RATEL_CLI_RECORDING_SCRIPT_H
#define RATEL_CLI_RECORDING_SCRIPT_H

#include "cli/cli.h"
#include "step/script_text.h"

/* false: some operation is not turned into a statement: a write or a delete of a list. */
bool recording_script(script *s, mem *m, const ratel_history *h);
/* The same of those transactions of h, whole, that a part of it has: what the level does not need
   for its verdict, the database may have needed to behave so. */
bool recording_script_whole(script *s, mem *m, const ratel_history *h, const ratel_history *part);
/* Where the sessions of a recording of a cluster were, from the file that it was read from: those
   of `s`, whose transactions come from h, on nodes that only read.  A file that says nothing of
   nodes, or is no native history, leaves everybody where one can write. */
void recording_places(script *s, mem *m, const ratel_history *h, const ratel_history *part,
                      const char *path);

#endif
