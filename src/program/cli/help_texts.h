/*
 * help_texts.h - groups of options, examples and files, for --help and the man pages.
 */
#ifndef RATEL_CLI_HELP_TEXTS_H
#define RATEL_CLI_HELP_TEXTS_H

#include "cli/cli.h"

enum help_group {
    HELP_OWN,
    HELP_LEVELS,
    HELP_INPUT,
    HELP_WORKLOAD,
    HELP_OUTPUT,
    HELP_CI,
    HELP_LIMITS,
    HELP_HOW,
    HELP_COMPARE,
    HELP_GROUPS
};
extern const char *const help_groups[HELP_GROUPS]; /* titles */
enum help_group help_group_of(enum option_id o);

typedef struct help_example {
    unsigned command;
    const char *line, *about; /* line: without `ratel` */
} help_example;
/* The i-th of a command, or NULL. */
const help_example *help_example_at(unsigned bit, size_t i);

typedef struct help_file {
    unsigned commands;
    const char *name, *about;
} help_file;
const help_file *help_file_at(unsigned bit, size_t i);

#endif
