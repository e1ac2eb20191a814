/*
 * describe.h - from a contradiction in the graph to an anomaly's name, a cycle and a sentence.
 */
#ifndef RATEL_VERDICT_DESCRIBE_H
#define RATEL_VERDICT_DESCRIBE_H

#include "verdict/verdict.h"

/* What contradicts the problem, in the terms of the history. */
void words_decision(verdict *v, const problem *p, const decision *a);
/* Two obligations of one transaction and key that saw two versions. */
void words_twice(verdict *v, asg *g, uint32_t first, uint32_t second);
/* The name of a cycle's kind. */
uint32_t words_name(const step *s, size_t n);
/* A cycle, step by step, with the name of its kind. */
void words_steps(verdict *v, asg *g, const step *s, size_t n);
/* The same at serializability and snapshot isolation, with another name; the sentence about a lost
   update names the version that both transactions read. */
void words_cycle(verdict *v, asg *g, const step *s, size_t n, uint32_t anomaly);
/* A cycle of known events. */
void words_events(verdict *v, asg *g, const order_problem *p, const uint32_t *events, size_t n);
/* No order at all; core: transactions of the clauses that refute it.  p may be NULL. */
void words_search(verdict *v, asg *g, const level_rule *rule, const order_problem *p,
                  const node_id *core, size_t n);

/* hearing.c: the test of a weak level, if this build has one. */
bool weak_of(enum level_id id, enum weak_level *out);
/* hearing.c: the level as a rule about orders, or NULL; *rt: real time counts. */
const level_rule *judge_rule(const level_ref *l, bool *rt);
enum ryow judge_policy(const history *h, const question *q, mem *work);

#endif
