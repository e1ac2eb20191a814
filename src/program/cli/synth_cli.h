/*
 * synth_cli.h - what the commands around synth share: lists of levels (library names and `.iso`
 * files), and the confirmation of histories that were found.
 */
#ifndef RATEL_CLI_SYNTH_CLI_H
#define RATEL_CLI_SYNTH_CLI_H

#include "cli/cli.h"
#include "report/synth_report.h"

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
/* The text of an `.iso` file, to be freed; NULL after a complaint, *status then the exit status. */
char *read_level_file(const char *path, size_t *n, int *status);
/* The text of a level as it is given, a file's or a definition's that comes with the program; to be
   freed.  *name: that of the level in it, or NULL for the last one.  NULL after a complaint. */
char *level_text(const char *given, size_t *n, const char **name, int *status);
/* "path:line:column: the session's last error"; the exit status of the code. */
int complain_about_level(const synth *s, const char *path, int code);
void levels_free(level_list *l);

/* Is the history found allowed and forbidden in the eyes of the library?  An exit status, after a
   complaint; *out (or NULL): the history, to be freed in any case. */
int confirm(const args *a, synth *s, const synth_answer *r, const level_list *allow,
            const level_list *forbid, ratel_history **out);
/* check --level FILE.iso on one history: prints the answer, returns its exit status. */
int check_iso(const args *a, synth *s, int level, const char *given, const ratel_history *h,
              const char *history, FILE *out);
/* check --level FILE.iso --certificate: an exit status, after a complaint.  decided: the exit
   status of the answer, which must be that of the proof.  *beyond, unless NULL: the text cannot be
   certified, but a built-in level might be; nothing has failed. */
int certify_level_text(args *a, const char *given, const ratel_history *h, int decided,
                       bool *beyond);
/* What --time leaves, counted from start, becomes the session's limit; false: nothing. */
bool time_left(const args *a, synth *s, uint64_t start);
/* The demands of the level that contradict each other on a history that breaks it, a line each,
   until the session's next call; 0 or a code.  A history that leaves choices open has none. */
int why_iso(const args *a, synth *s, int level, const ratel_history *h, const char *const **lines,
            size_t *n);
/* explain --level FILE.iso: the exit status of the answer. */
int explain_iso(args *a, synth *s, int level, const char *given, const char *history,
                const char *format);
/* The same without printing; why may be NULL. */
int decide_iso(const args *a, synth *s, int level, const ratel_history *h, char *why, size_t n);
/* synth --lattice, with the scope of the problem; an exit status. */
int print_lattice(const args *a, synth *s, const level_list *levels, const synth_problem *scope,
                  FILE *out);

#endif
