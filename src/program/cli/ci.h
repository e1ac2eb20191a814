/*
 * ci.h - answers for machines that act on them: JUnit, SARIF, TAP, GitHub, and the baseline.
 *
 * check and test put every answer into one collection as it is found (ci_answer); the collection
 * says what the answer means for the exit status, which the baseline of accepted anomalies,
 * --on-undecided and --fail-on-warning may change, and writes all files at the end (ci_finish).
 * Every output is made from the same cases, so that no two of them can disagree.
 */
#ifndef RATEL_CLI_CI_H
#define RATEL_CLI_CI_H

#include "cli/cli.h"

/* A transaction of a violation, in the file of its history. */
typedef struct ci_place {
    char id[64];   /* text, cut */
    uint64_t line; /* 0: not known */
} ci_place;

typedef struct ci_warning {
    const char *id, *text; /* of the library's table */
    bool fails;            /* --fail-on-warning names it */
} ci_warning;

/* Shown places of a violation that has very many transactions. */
enum { CI_PLACES = 100 };

/* One history at one level, or one history that could not be read. */
typedef struct ci_case {
    char *history;       /* a path, or what stands for one */
    char *workload;      /* of test; NULL: none */
    char *level;         /* "" if the history could not be read */
    char *reason;        /* one sentence, or what was wrong with the input */
    char *text;          /* the whole answer for people */
    char *shape;         /* of a violation: ci_shape */
    const char *anomaly; /* "" unless violated */
    int outcome;         /* the exit status of the answer alone */
    int status;          /* the exit status that it gets */
    bool accepted;       /* violated, and the baseline has it */
    bool empty;          /* undecided since there is nothing to check */
    ci_place places[CI_PLACES];
    size_t n_places, core; /* core: all transactions of the violation */
    ci_warning *warnings;
    size_t n_warnings;
    double seconds;
} ci_case;

typedef struct ci_accepted {
    char *level, *anomaly, *shape; /* shape "*": every one */
} ci_accepted;

typedef struct ci_report {
    const args *a;
    ci_case **cases;
    size_t n, cap;
    ci_accepted *accepted; /* --baseline */
    size_t n_accepted;
    const char *workload; /* of the answers that come next; NULL: none */
    bool pass_undecided;
    bool short_of_memory; /* a case is missing, so nothing may be written */
} ci_report;

/* Does any option ask for a collection? */
bool ci_wanted(const args *a);
/* Reads the options and the baseline; EXIT_HOLDS, or the status after a complaint. */
int ci_open(ci_report *ci, const args *a);
void ci_free(ci_report *ci);

/* Adds an answer; NULL if memory is short.  The case's status is the answer's exit status. */
const ci_case *ci_answer(ci_report *ci, const char *history, const ratel_history *h,
                         const ratel_result *r, double seconds);
/* Adds an answer of which only the status and a sentence are known: a level from a file, or a
   history that could not be read (level "").  empty: undecided since nothing was tested. */
const ci_case *ci_plain(ci_report *ci, const char *history, const char *level, int status,
                        bool empty, const char *reason);
/* The last history got this name after its answers were added. */
void ci_rename_last(ci_report *ci, const char *from, const char *history);
/* Does this case fail the run? */
bool ci_fails(const ci_case *k);
/* violated, holds, undecided, error; with what the baseline made of it. */
const char *ci_verdict(const ci_case *k);
/* One sentence about the case: what failed, or why it did not. */
void ci_sentence(const ci_case *k, char *buf, size_t n);

/* Writes every file that the options ask for.  The status, or EXIT_IO if one is lost. */
int ci_finish(ci_report *ci, int status);

/* The kinds of steps of a cycle, without ids and keys, the same wherever one begins to read: each
   rw by itself, and what lies between two of them as a set; "-" without a cycle.  For example
   "rw,rw" or "rw,so+wr". */
void ci_shape(const ratel_result *r, char *buf, size_t n);
int baseline_read(ci_report *ci, const char *path);
bool baseline_accepts(const ci_report *ci, const ci_case *k);
/* False after a complaint about memory. */
bool baseline_write(const ci_report *ci, FILE *f);

/* False after a complaint about memory. */
bool sarif_write(const ci_report *ci, FILE *f, int status);
void junit_write(const ci_report *ci, FILE *f);
/* A line of TAP and its diagnostics; and what closes the stream. */
void tap_case(FILE *f, const ci_case *k, size_t number);
void tap_close(FILE *f, size_t cases);
/* Annotations, as workflow commands; the summary, as Markdown. */
void github_annotate(const ci_report *ci, FILE *f);
void github_summarise(const ci_report *ci, FILE *f);

#endif
