/*
 * module.h - running the hooks of a module (ratel-module.h) on a frozen history.
 *
 * The hooks are foreign code: no failure may jump over their frames, so whatever goes wrong in a
 * call of theirs is kept, and fails after they have returned.  What they say is checked as if it
 * came from a file, because the program runs them in another process (program/cli) and gets it
 * through a pipe.
 */
#ifndef RATEL_MODULE_MODULE_H
#define RATEL_MODULE_MODULE_H

#include "history/additions.h"
#include "history/edits.h"
#include "history/history.h"
#include "ratel-module.h"

/* What a module said: how operations are to be changed, and what is added after that. */
typedef struct module_said {
    edits edits;
    additions *added; /* NULL: nothing */
} module_said;

/* NULL, or why the module cannot be used. */
const char *module_check(const ratel_module *module);
/* Who is told that what a hook says is not kept any more, for lack of memory: a hook that does not
   poll may go on for ever. */
typedef struct module_caller {
    void (*failed)(void *payload);
    void *payload;
} module_caller;
/* Runs the hooks; `settings` is "key=value,..." or NULL.  changed: where the changed history is
   built, if there are changes; caller: NULL, nobody; *out is in the region m. */
void module_run(const ratel_module *module, const char *settings, const history *h,
                history *changed, const module_caller *caller, mem *m, module_said *out);

/* module_blob.c: the same as bytes, for a pipe. */
void module_pack(const module_said *said, strbuf *out);
/* GUARD_PARSE if the bytes are not what module_pack writes; numbers are checked against h. */
void module_unpack(module_said *said, const char *bytes, size_t n, const history *h, mem *m);

#endif
