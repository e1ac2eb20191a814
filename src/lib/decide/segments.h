/*
 * segments.h - a contradiction in a part of the history is one in the whole (pass unsat-search).
 */
#ifndef RATEL_DECIDE_SEGMENTS_H
#define RATEL_DECIDE_SEGMENTS_H

#include "decide/lazy/lazy.h"

/* True if some segment violates the rule by itself: *part is its graph, *p and *a the problem and
   the contradiction, in the terms of the history.  False says nothing. */
bool segments_refute(asg *g, const order_question *ask, asg *part, order_problem *p, decision *a);

#endif
