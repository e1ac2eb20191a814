/*
 * child.h - work in a process of its own, where a crash becomes a message.
 *
 * libpg_query is PostgreSQL's parser, which was made for a server: without memory it may end the
 * process, with exit status 1, which would be a verdict here, or crash.  So whatever calls it runs
 * in a child, which reports its status at the end; a child that ends without a report has failed.
 */
#ifndef RATEL_CLI_CHILD_H
#define RATEL_CLI_CHILD_H

#include "cli/cli.h"

/* The exit status that work returns.  It writes to `out` as if it ran here; what it changes in
   memory is lost.  If the child fails: EXIT_UNDECIDED or EXIT_IO after a complaint that names
   `what`, and *failed; then `out` may have a part of an answer. */
int run_in_child(const args *a, FILE *out, const char *what, int (*work)(void *ud), void *ud,
                 bool *failed);

#endif
