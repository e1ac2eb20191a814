/*
 * recording_script.h - a history as a script: its transactions become statements on a table.
 */
#ifndef RATEL_CLI_RECORDING_SCRIPT_H
#define RATEL_CLI_RECORDING_SCRIPT_H

#include "cli/cli.h"
#include "step/script_text.h"

/* false: some operation is not turned into a statement (lists). */
bool recording_script(script *s, mem *m, const ratel_history *h);

#endif
