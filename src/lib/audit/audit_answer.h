/*
 * audit_answer.h - from what a search found to the answer that the caller gets.
 *
 * One function for each end of a search; each sets the verdict and the reason, which is one
 * sentence.  answer_failure alone serves a search that was interrupted.
 */
#ifndef RATEL_AUDIT_AUDIT_ANSWER_H
#define RATEL_AUDIT_AUDIT_ANSWER_H

#include "audit/replay.h"

/* The order is a witness: every answer of the log is explained. */
void answer_holds(engine *e, audit_answer *a);
/* No way was left out: a->n_cycle or e->fail says what contradicts the level. */
void answer_violated(engine *e, audit_answer *a);
/* Something was left out; `why` is a sentence. */
void answer_undecided(engine *e, audit_answer *a, const char *why);
/* A statement is not understood. */
void answer_refused(engine *e, audit_answer *a);
/* Adds why the symbolic search did not decide, if it was asked and the answer is `undecided`. */
void answer_open_choices(engine *e, audit_answer *a);
/* Sets a->warnings; `unknown`: transactions whose outcome the log does not tell. */
void answer_warnings(engine *e, audit_answer *a, uint32_t unknown);
/* What is known of the first transaction that was not explained, if there is one. */
void answer_failure(engine *e, audit_answer *a);

#endif
