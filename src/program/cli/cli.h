/*
 * cli.h - what the commands of the program share: option tables, messages, exit statuses.
 *
 * One file per command.  A command declares its options in command_options.def; parsing, --help and
 * the man page all come from that table.  Standard output carries the answer only.
 */
#ifndef RATEL_CLI_CLI_H
#define RATEL_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define RATEL_EXPERIMENTAL
#include "base/json_writer.h"
#include "base/replace_file.h"
#include "ratel.h"

enum exit_status {
#define EXIT(id, status, meaning) EXIT_##id = status,
#include "opt/exits.def"
#undef EXIT
};

/* Which commands take an option: one bit a command, in the order of this list. */
enum command_id {
    ID_CHECK,
    ID_STAT,
    ID_CONVERT,
    ID_GEN,
    ID_LEVELS,
    ID_LINT,
    ID_VERIFY,
    ID_SYNTH,
    ID_RUN,
    ID_TEST,
    ID_AUDIT,
    ID_SHRINK,
    ID_EXPLAIN,
    ID_DRIVER_CHECK,
    ID_LITMUS,
    ID_REPRO,
    ID_TRACE,
    ID_POWER,
    COMMAND_COUNT
};
enum command_bit {
    CMD_CHECK = 1u << ID_CHECK,
    CMD_STAT = 1u << ID_STAT,
    CMD_CONVERT = 1u << ID_CONVERT,
    CMD_GEN = 1u << ID_GEN,
    CMD_LEVELS = 1u << ID_LEVELS,
    CMD_LINT = 1u << ID_LINT,
    CMD_VERIFY = 1u << ID_VERIFY,
    CMD_SYNTH = 1u << ID_SYNTH,
    CMD_RUN = 1u << ID_RUN,
    CMD_TEST = 1u << ID_TEST,
    CMD_AUDIT = 1u << ID_AUDIT,
    CMD_SHRINK = 1u << ID_SHRINK,
    CMD_EXPLAIN = 1u << ID_EXPLAIN,
    CMD_DRIVER_CHECK = 1u << ID_DRIVER_CHECK,
    CMD_LITMUS = 1u << ID_LITMUS,
    CMD_REPRO = 1u << ID_REPRO,
    CMD_TRACE = 1u << ID_TRACE,
    CMD_POWER = 1u << ID_POWER,
    CMD_ALL = (1u << COMMAND_COUNT) - 1,
    /* those that drive a database; that are about one violation; that read histories */
    CMD_LIVE = CMD_RUN | CMD_TEST,
    CMD_VIOLATION = CMD_SHRINK | CMD_EXPLAIN,
    CMD_READ = CMD_CHECK | CMD_STAT | CMD_CONVERT | CMD_LINT | CMD_VERIFY | CMD_VIOLATION
};

enum option_id {
#define OPT(id, commands, name, letter, arg, help) O_##id,
#include "cli/command_options.def"
#undef OPT
    OPTION_COUNT
};

typedef struct option_info {
    unsigned commands;
    const char *name;
    char letter;     /* 0: none */
    const char *arg; /* NULL: a switch */
    const char *help;
} option_info;
extern const option_info option_table[OPTION_COUNT];

struct args;

typedef struct command {
    const char *name;
    unsigned bit;
    const char *usage; /* after the name */
    const char *about;
    const char *more; /* paragraphs for the man page and --help */
    int (*run)(struct args *a);
} command;

/* A file that is being written (base/replace_file.h), or standard output. */
typedef struct output {
    FILE *f; /* NULL: not open */
    const char *path;
    replace_file file;
} output;

/* What main knows about all that is written. */
typedef struct outputs {
    output answer; /* -o, or standard output */
    bool lost;     /* something could not be written: the exit status is EXIT_IO */
} outputs;

typedef struct args {
    const struct command *command;
    const char *value[OPTION_COUNT]; /* the last one given; "" for a switch; NULL */
    const char **files;
    size_t n_files;
    const char *shown;  /* a history without a name of its own is shown under this one */
    const char **knobs; /* --set, all of them */
    size_t n_knobs;
    const char **fail_on; /* --fail-on-warning, all of them */
    size_t n_fail_on;
    const char **level_of; /* --level-of, all of them */
    size_t n_level_of;
    const char **modules; /* --module, all of them */
    size_t n_modules;
    struct page_output *page; /* --html: answers are added to it (page_output.h); NULL: no page */
    struct ci_report *ci; /* test: answers are collected here (ci.h); NULL: by the command itself */
    ratel *context;
    ratel_backend *backend; /* of --backend; NULL: our own engine */
    outputs *outputs;
    bool short_of_memory; /* the command could not begin, and not because of its arguments */
} args;

extern const command commands[];

/* Set by the first signal, as ratel_interrupt is called; for searches outside a context. */
extern volatile int interrupt_flag;

/* What `gen --list` and its man page show. */
typedef struct gen_list {
    const char *title;
    int (*at)(const char **name, const char **about, size_t i);
} gen_list;
extern const gen_list gen_lists[]; /* ends with a NULL title */

int cmd_check(args *a);
int cmd_stat(args *a);
int cmd_convert(args *a);
int cmd_gen(args *a);
int cmd_levels(args *a);
int cmd_lint(args *a);
int cmd_verify(args *a);
int cmd_shrink(args *a);
int cmd_explain(args *a);
int cmd_synth(args *a);
int cmd_run(args *a);
int cmd_test(args *a);
int cmd_litmus(args *a);
int cmd_repro(args *a);
int cmd_power(args *a);
int cmd_audit(args *a);
int cmd_driver_check(args *a);
int cmd_trace(args *a);
/* The member of --version --json that says which databases this build can drive. */
void adapters_json(json_writer *w);
/* check --certificate: writes it, and says what went wrong; the exit status of that alone. */
int write_certificate(args *a, const ratel_result *result, const ratel_history *h);

/* Parses argv; on failure prints one line and returns false. */
bool args_parse(args *a, const command *c, int argc, char **argv);
void args_free(args *a);
/* A non-negative whole number; prints and returns false if it is not one. */
bool args_u64(const args *a, enum option_id o, uint64_t *out);
/* Is the pass switched on by --pass, or not mentioned there? */
bool pass_chosen(const args *a, const char *pass);
bool args_share(const args *a, enum option_id o, double *out);
/* The i-th format's name, or NULL. */
const char *format_name_at(size_t i);
/* Applies the options that the library knows (time, memory, session order, policy, drift). */
bool args_apply(const args *a);

void help_command(const command *c, FILE *to);
void help_all(FILE *to);
void help_man(const char *name, FILE *to);
/* completion.c: a script for bash, zsh or fish; false after a complaint. */
bool print_completion(const char *shell, FILE *to);

/* The history at a path, with the files that --init and --versions name. */
bool level_of_given(const args *a);
int read_history(const args *a, const char *path, ratel_history **h);
/* For commands without a verdict, whose warnings would tell: lines of the recording are missing. */
void warn_incomplete(const args *a, const char *path, const ratel_history *h);
/* history_paths.c: the histories that a path of --recursive stands for; false after a complaint. */
typedef struct path_list {
    char **at;
    size_t n;
} path_list;
bool paths_below(const args *a, const char *path, path_list *out);
void paths_free(path_list *l);
/* Opens a file for writing, "-" being standard output; false after a complaint. */
bool output_open(const args *a, output *o, const char *path);
/* Closes it, and the file gets its new content; false after a complaint, and then the file has its
   old content. */
bool output_close(const args *a, output *o);
/* A write to the descriptor failed, and its stream has forgotten why: the reason, or 0.  Nothing is
   lost by asking, because the output is lost. */
int why_lost(int fd);
/* Closes it, and the file keeps its old content. */
void output_abandon(output *o);
/* Do two paths name one regular file?  A device or a pipe may be written to twice. */
bool is_same_file(const char *one, const char *other);
/* Do all options that write name different files, none of which is read?  False after a complaint.
   A command that makes another history of a file may write it in its place. */
bool outputs_differ(const args *a);
/* Where -o says, else standard output; NULL after a complaint. */
FILE *open_output(const args *a);
/* Closes it; the status, or EXIT_IO if not everything was written.  A command that failed without
   a word of an answer leaves the old file. */
int close_output(const args *a, FILE *f, int status);
/* Writes a history to a path and prints what that lost; the exit status of it alone. */
int write_history(const args *a, const ratel_history *h, const char *format, const char *path);
/* Names and texts of inputs, with control characters and stray bytes as \xNN; cut at 4 KiB. */
void visible_to(FILE *f, const char *s);
/* The same into a buffer, cut to what fits; its length. */
size_t visible_text(const char *s, char *buf, size_t cap);
/* `ratel: ...` on standard error. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Of a name that no level has (levels_given.c): what was probably meant, or what to write. */
void complain_no_level(const char *name);

/* Does every level of the list exist, for histories of keys or for logs of SQL?  To be asked before
   a run, so that a wrong name does not cost the user what was recorded; complains if not. */
bool levels_known(const char *list, bool keys, bool sql);
/* did_you_mean.c: the name in a list (NULL past its end) that was probably meant by the first n
   bytes of `given`, or NULL; and a complaint that there is no such name, with it. */
const char *nearest_name(const char *given, size_t n, const char *(*at)(size_t i));
void complain_no_name(const char *what, const char *given, size_t n, const char *(*at)(size_t i),
                      const char *where);
/* What the last history written lost, unless -q. */
void print_lost(const args *a, const char *name);
/* The last error of the context about `name`: `name:line:col: what`; returns the exit status. */
int complain_about(ratel *r, const char *name, int code);
/* The same as text, into buf. */
void error_line(ratel *r, const char *name, char *buf, size_t n);
int exit_of(int code);

/* Was there a ctrl-C, or a SIGTERM? */
bool interrupted(void);

/* progress.c: on a terminal, the stage, a bar and the rate of whatever takes more than two seconds;
   nothing elsewhere, and nothing with -q. */
void show_progress(const args *a);
/* The line says "level 5 of 27"; levels below 2: it does not. */
void progress_level(size_t level, size_t levels);
/* --stats: a row of its table, on standard error: seconds, or a number of something. */
void stats_seconds(const args *a, const char *of, const char *what, double seconds);
void stats_number(const args *a, const char *of, const char *what, uint64_t n);
/* All rows of one answer. */
void stats_result(const args *a, const ratel_result *r);
bool colour_wanted(const args *a, int fd);
double seconds_since(uint64_t start);
/* Leaves the context what is left of --time after `since`, for commands whose limit is one for
   everything that they do. */
void limit_rest(const args *a, uint64_t since);
uint64_t now(void);
uint64_t peak_rss_kib(void);
/* A write callback onto a FILE. */
int write_file_cb(const void *buf, size_t n, void *file);
/* kept_text.c: a write callback onto a text_kept, whose `at` ends with a 0 and is freed by its
   owner (NULL: nothing was written). */
typedef struct text_kept {
    char *at;
    size_t n, cap;
} text_kept;
int keep_text(const void *bytes, size_t n, void *kept);
/* The other way: a read callback from a text, of which this much is left. */
typedef struct text_left {
    const char *at;
    size_t n;
} text_left;
ptrdiff_t read_left(void *buf, size_t cap, void *left);
/* A JSON writer onto a FILE; whether all was written shows when the file is closed. */
json_writer json_file(FILE *f);
/* render.c: calls body with an empty buffer and writes what it put there to `out` (NULL: nowhere).
   EXIT_HOLDS, or EXIT_UNDECIDED after a complaint about memory. */
int render(FILE *out, void (*body)(strbuf *b, void *what), void *what);
/* {"schema":1,NAME:path,"error":text}: an input that could not be read. */
void json_error_line(FILE *f, const char *name, const char *path, const char *text);
/* "holds", "violated", "undecided". */
const char *verdict_name(ratel_verdict v);

#endif
