/*
 * unordered_lists.h - small histories with lists whose version order the reads do not give away.
 */
#ifndef RATEL_DECIDE_EXHAUSTIVE_UNORDERED_LISTS_H
#define RATEL_DECIDE_EXHAUSTIVE_UNORDERED_LISTS_H

#include "decide/weak/weak.h"

/* True if some choice passes the level's test; a->rf, a->out and a->order are then that choice. */
bool wild_decide(asg *g, enum weak_level level, bool so, decision *a);

/* choose_sources.c: the ordinary search over g->open with the outcomes of a->out fixed. */
bool choose_fixed(asg *g, enum weak_level level, bool so, decision *a);

#endif
