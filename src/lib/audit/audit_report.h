/*
 * audit_report.h - an audit's answer as text, as JSON and as a witness.
 *
 * Pure rendering: nothing is decided or computed here, nothing is printed, and what only the caller
 * knows (names of files, times) comes in a context.  The sentences themselves are the answer's
 * (audit_answer.h); names and texts of the log are shown with control characters escaped.
 */
#ifndef RATEL_AUDIT_AUDIT_REPORT_H
#define RATEL_AUDIT_AUDIT_REPORT_H

#include "audit/audit.h"
#include "base/json_writer.h"

typedef struct audit_report_context {
    const char *log;              /* the name of the log */
    const char *given;            /* the level as it was typed, or NULL */
    const audit_shrunk *shrunk;   /* what shrinking left, or NULL */
    const char *shrunk_log;       /* the name of the file that it was written to */
    const audit_shown_txn *shown; /* the transactions that the answer is about, or none */
    size_t n_shown;
    const audit_change *changes; /* the rows of a witness, by state, or none */
    size_t n_changes;
    double seconds; /* < 0: runs, seconds and memory are left out */
    uint64_t peak_rss_kib;
} audit_report_context;

const char *audit_verdict_name(audit_verdict v);

/* One object on one line, with the members that doc/man/ratel-audit.1 promises. */
void audit_report_json(const audit_answer *r, const audit_report_context *c, json_writer *w);
/* The order that explains the log: a line for the log, and one for each transaction. */
void audit_report_witness(const audit_answer *r, const audit_report_context *c, json_writer *w);
/* For people, into a buffer that may fail. */
void audit_report_into(const audit_answer *r, const audit_report_context *c, strbuf *b);
/* Markdown, and a graph for Graphviz, with the statements of the transactions that are `shown`. */
void audit_report_markdown(const audit_answer *r, const audit_report_context *c, strbuf *b);
void audit_report_dot(const audit_answer *r, const audit_report_context *c, strbuf *b);

typedef void (*audit_renderer)(const audit_answer *r, const audit_report_context *c, strbuf *b);
/* One of the renderers above: `put` gets the whole text at once.  0, or a code of ratel.h (no
   memory). */
int audit_report_put(audit_renderer render, const audit_answer *r, const audit_report_context *c,
                     void (*put)(void *to, const char *bytes, size_t n), void *to);

#endif
