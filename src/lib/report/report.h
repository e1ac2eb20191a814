/*
 * report.h - a verdict as text or JSON.  Pure rendering: nothing is computed here, and whether a
 * terminal wants colour is for the caller to say.
 */
#ifndef RATEL_REPORT_REPORT_H
#define RATEL_REPORT_REPORT_H

#include "base/json_writer.h"
#include "verdict/verdict.h"

/* What only the caller knows. */
typedef struct report_context {
    const char *history, *format; /* NULL: left out */
    double read, analyse, total;  /* seconds; total < 0: leave times and memory out */
    uint64_t peak_rss_kib;
    bool colour;
    bool verbose;
    bool accepted;        /* a violation that the caller's baseline has */
    const char *workload; /* what made the history; NULL: left out */
    bool counters;        /* counters for studies of the solver too */
} report_context;

/* One line, keys as doc/man/ratel-check.1 promises. */
void report_json(const verdict *v, const report_context *c, strbuf *out);
void report_text(const verdict *v, const report_context *c, strbuf *out);
const char *outcome_name(enum outcome o);

/* Parts that verdicts and explanations share.  Ids and keys become JSON strings, whatever they were
   in the input; m is for a moment's text. */
void report_txn_id(json_writer *w, const history *h, txn_id t, mem *m);
void report_session_id(json_writer *w, const history *h, uint32_t session, mem *m);
void report_key(json_writer *w, const history *h, key_id k, mem *m);
/* The members "rests_on" and "warnings". */
void report_rests_on(json_writer *w, const verdict *v);
void report_warnings(json_writer *w, const verdict *v);

#endif
