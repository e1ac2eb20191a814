/*
 * backends.h - check --backend and --emit: levels decided by solvers from outside, and the formulas
 * that they get (doc/backends.md).
 */
#ifndef RATEL_CLI_BACKENDS_H
#define RATEL_CLI_BACKENDS_H

#include "cli/cli.h"

/* Opens the solver of --backend, to be closed; false after a complaint.  searched: a level of a
   file is asked about, which has no formula. */
bool backend_open(args *a, bool searched);
void backend_close(args *a);
/* ratel_check, by the solver of --backend if there is one. */
int check_by_backend(const args *a, ratel_result **out, const ratel_history *h, const char *level);
/* --emit: a code of ratel.h. */
int emit_level(const args *a, const ratel_history *h, const char *level, FILE *out);

/* cadical.c: DIMACS text by CaDiCaL; NULL if this build has none, or memory is short.
   mib: how much it may take; 0: any. */
ratel_backend *cadical_backend(uint64_t mib);
void cadical_backend_close(ratel_backend *b);

#endif
