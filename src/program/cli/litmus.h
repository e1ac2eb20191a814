/*
 * litmus.h - the table of what databases let through: a row for each database and isolation level,
 * a cell for each case.
 */
#ifndef RATEL_CLI_LITMUS_H
#define RATEL_CLI_LITMUS_H

#include "cli/live.h"
#include "step/case_run.h"

typedef struct litmus_case {
    const char *name; /* of the file, without .spec */
    spec spec;
} litmus_case;

typedef struct litmus_cell {
    enum case_outcome outcome;
    double seconds;
    const char *why;     /* not applicable, error; else NULL */
    const char *story;   /* the steps and what they returned */
    const char *history; /* text, or NULL: it is not one of keys */
    const char *log;     /* text, or NULL: the database has no SQL */
    bool told;           /* the history violates some level */
    const char *file;    /* where the history, or else the log, is kept; or NULL */
    const char *check;   /* what check, or else audit, says of the level that forbids it; or NULL */
} litmus_cell;

typedef struct litmus_row {
    const char *product, *database; /* "PostgreSQL", "PostgreSQL 15.18" */
    const char *adapter, *isolation;
    const char *documented; /* NULL: nothing is known */
    const char *strongest;  /* levels that all histories of the row satisfy */
    const char *apart;      /* cases that happened, and no level is against them; or "" */
    bool judged;            /* some case has a history */
    litmus_cell *cells;     /* one for each case */
} litmus_row;

typedef struct litmus_table {
    VEC(litmus_case) cases;
    VEC(litmus_row) rows;
    mem *mem;
} litmus_table;

void litmus_print_text(const litmus_table *t, bool verbose, FILE *to);
void litmus_print_markdown(const litmus_table *t, FILE *to);
void litmus_print_json(const litmus_table *t, bool times, FILE *to);
void litmus_print_html(const litmus_table *t, FILE *to);
/* Compares with what --json printed earlier: EXIT_HOLDS, EXIT_VIOLATED if a cell differs, or the
   status after a complaint.  `whole`: a cell of the file that was not run differs, too. */
int litmus_compare(const litmus_table *t, const char *path, bool whole, FILE *to);

/* Adds cases made by synth (litmus_synth.c); an error code of the context. */
int litmus_add_synthesized(litmus_table *t, ratel *context);

/* litmus --specs: PostgreSQL's own specs, as its isolationtester runs them; the exit status. */
int litmus_specs(args *a);

/* What check says of every level, and which one the case is forbidden by (litmus_judge.c). */
typedef struct litmus_judge litmus_judge;
litmus_judge *litmus_judge_new(mem *m, ratel *context);
void litmus_judge_cell(litmus_judge *j, const litmus_case *c, litmus_cell *cell);
/* The levels that are left, the strongest of them; a new row begins. */
const char *litmus_judge_row(litmus_judge *j);

#endif
