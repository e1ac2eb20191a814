/*
 * levels_given.h - lists of levels on the command line: library names and `.iso` files.
 */
#ifndef RATEL_CLI_LEVELS_GIVEN_H
#define RATEL_CLI_LEVELS_GIVEN_H

#include "cli/cli.h"
#include "synth/synth.h"

typedef struct level_list {
    int *at;     /* numbers in the session */
    char **name; /* as typed */
    size_t n;
} level_list;

/* A session with the limits of the command line; NULL: out of memory. */
synth *session_open(const args *a);
/* Parses "si,my.iso,my.iso:NAME"; NULL is the empty list.  An exit status, after a complaint. */
int levels_given(synth *s, const char *text, const char *option, level_list *out);
/* One level; its number, or < 0 after a complaint, *status then the exit status. */
int level_given(synth *s, const char *name, int *status);
bool is_level_file(const char *name);
void levels_free(level_list *l);

#endif
