/*
 * synth_report.h - what synth found, as text, JSON, a test of PostgreSQL's isolationtester, and the
 * lattice of levels as a table or a picture.
 *
 * Pure rendering into a buffer.  A history that was found has no values: the initial one is shown
 * as 0, and what transaction tN writes as N.
 */
#ifndef RATEL_REPORT_SYNTH_REPORT_H
#define RATEL_REPORT_SYNTH_REPORT_H

#include "base/json_writer.h"
#include "synth/synth.h"

typedef struct name_list {
    char *const *at; /* level names as the user typed them */
    size_t n;
} name_list;

/* Is the session order of the history the order within its sessions, and nothing more? */
bool synth_is_chains(const synth_answer *r);

/* The transactions, one on each line. */
void report_synth_history(strbuf *b, const synth_answer *r, const char *indent);
/* The transactions as elements of a JSON array. */
void report_synth_transactions(json_writer *w, const synth_answer *r);
/* The members that describe a found history: size, history, session_order, witness. */
void report_synth_found(json_writer *w, const synth_answer *r, const name_list *allow);
/* Member `name`: an array of level names. */
void report_level_names(json_writer *w, const char *name, const name_list *levels);
const char *synth_result_name(synth_result r);

/* The answer as text, without the reasons of the forbidden levels.  conditional: the user gave a
   condition besides the levels. */
typedef struct synth_question {
    name_list allow, forbid;
    const synth_problem *scope;
    bool conditional;
} synth_question;
void report_synth_text(strbuf *b, const synth_question *q, const synth_answer *r);
/* Why one forbidden level is violated.  anomaly and reason: the checker's, NULL if it did not say;
   lines: requirements that contradict each other. */
void report_synth_violated(strbuf *b, const char *level, const char *anomaly, const char *reason,
                           const char *const *lines, size_t n);
/* The further histories of the same size, and how many there are. */
void report_synth_others(strbuf *b, const synth_answer *r);

/* synth --to spec.  witness: the answer has an order of an allowed level, which the built-in level
   `builtin` (or "") decides. */
void report_synth_spec(strbuf *b, const synth_answer *r, bool witness, const char *builtin);

/* synth_picture.c: the history with the witness of the first allowed level: arbitration and, if the
   level is over it, visibility (Isolde, Figure 1).  format: "dot", "svg" or "tikz". */
void report_synth_picture(strbuf *b, const char *format, const synth_question *q,
                          const synth_answer *r);

/* What is known of an ordered pair of levels. */
enum lattice_cell {
    CELL_UNKNOWN,
    CELL_PROVED,    /* the first implies the second, for histories of every size */
    CELL_NONE,      /* no history up to the scope tells them apart */
    CELL_SEPARATED, /* a history is allowed by the first and forbidden by the second */
    CELL_UNDECIDED
};
typedef struct lattice_table {
    name_list levels;
    const synth_problem *scope;
    const int *cell;       /* enum lattice_cell, [i * n + j]: does i imply j? */
    char *const *evidence; /* of CELL_SEPARATED: the history as text, or as JSON elements */
    const uint32_t *size;  /* of CELL_SEPARATED: its transactions */
    bool program_order;    /* some level has it: a history need not be a smallest one */
} lattice_table;
bool lattice_implies(const lattice_table *l, size_t i, size_t j);
void report_lattice_text(strbuf *b, const lattice_table *l);
void report_lattice_json(strbuf *b, const lattice_table *l);
void report_lattice_dot(strbuf *b, const lattice_table *l);
void report_lattice_svg(strbuf *b, const lattice_table *l);

/* hasse_svg.c: a Hasse diagram, its edges from a level to one just below it. */
typedef struct hasse_edge {
    size_t strong, weak;
    bool dashed;
} hasse_edge;
typedef struct hasse {
    size_t n, n_edges;
    const char **label;
    hasse_edge *edge;
} hasse;
void report_hasse(strbuf *b, const hasse *h);
/* The members of a JSON object: where its boxes and lines stand, for the page. */
void report_hasse_places(json_writer *w, const hasse *h, mem *m);

#endif
