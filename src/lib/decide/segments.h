/*
 * segments.h - a contradiction in a part of the history is one in the whole (pass unsat-search).
 */
#ifndef RATEL_DECIDE_SEGMENTS_H
#define RATEL_DECIDE_SEGMENTS_H

#include "decide/lazy/lazy.h"

typedef struct segment {
    asg g; /* of the part */
    order_problem p;
    order_answer a;
} segment;

/* True if some segment violates the rule by itself: *out tells how, in the terms of the history.
   False says nothing. */
bool segments_refute(asg *g, const order_question *ask, segment *out);

#endif
