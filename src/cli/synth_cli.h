/*
 * synth_cli.h - what the commands around synth share: lists of levels (library names and `.iso`
 * files), and the printing of histories.
 */
#ifndef RATEL_CLI_SYNTH_CLI_H
#define RATEL_CLI_SYNTH_CLI_H

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

/* The transactions of an answer: lines of text, or elements of a JSON array. */
void print_history(FILE *out, const synth_answer *r, const char *indent);
void print_transactions(FILE *out, const synth_answer *r);
void key_name(uint32_t x, char *buf, size_t n);
/* synth --to spec; witness: the answer has an order of an allowed level, which builtin (or "")
   decides. */
int print_spec(FILE *out, const synth_answer *r, bool witness, const char *builtin);
/* check --level FILE.iso on one history: prints the answer, returns its exit status. */
int check_iso(const args *a, synth *s, int level, const char *given, const ratel_history *h,
              const char *history, FILE *out);
/* The same without printing; why may be NULL. */
int decide_iso(const args *a, synth *s, int level, const ratel_history *h, char *why, size_t n);
/* synth --lattice, with the scope of the problem; an exit status. */
int print_lattice(const args *a, synth *s, const level_list *levels, const synth_problem *scope,
                  FILE *out);

#endif
