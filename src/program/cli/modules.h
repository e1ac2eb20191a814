/*
 * modules.h - check --module, convert --module: the hooks of a shared object, in a process of its
 * own.
 */
#ifndef RATEL_CLI_MODULES_H
#define RATEL_CLI_MODULES_H

#include "cli/cli.h"

/* Histories that later ones borrow from. */
typedef struct module_chain {
    ratel_history **at;
    size_t n;
} module_chain;

/* Puts all modules of the command line on *h, one after the other; *h is then the last history of
   the chain, and modules_free frees all of them.  The exit status after a complaint that names the
   module, else EXIT_HOLDS. */
int modules_apply(const args *a, const char *name, ratel_history **h, module_chain *chain);
/* Is the path the shared object of a module that was given? */
bool is_module(const args *a, const char *path);
void modules_free(module_chain *chain);

#endif
