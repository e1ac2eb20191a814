/*
 * help_texts.h - groups of options, exit statuses, examples and files, for --help and the man
 * pages.
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
/* Where the help of a command has an option. */
enum help_group help_group_of(enum option_id o, unsigned bit);

/* The option as the help of a command describes it. */
option_info help_option(enum option_id o, unsigned bit);

/* The i-th exit status of a command, or of the whole program (CMD_ALL). */
typedef struct help_exit {
    int status;
    const char *meaning;
} help_exit;
bool help_exit_at(help_exit *out, unsigned bit, size_t i);

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
