/*
 * words.h - from a contradiction in the graph to an anomaly's name, a cycle and a sentence.
 */
#ifndef RATEL_VERDICT_WORDS_H
#define RATEL_VERDICT_WORDS_H

#include "ir/weak.h"
#include "verdict/verdict.h"

void words_explain(verdict *v, asg *g, const weak_answer *a, enum weak_level level);

#endif
