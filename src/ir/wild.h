/*
 * wild.h - see wild.c.
 */
#ifndef RATEL_IR_WILD_H
#define RATEL_IR_WILD_H

#include "ir/weak.h"

/* True if some choice passes the level's test; a->rf, a->out and a->order are then that choice. */
bool wild_decide(asg *g, enum weak_level level, bool so, weak_answer *a);

/* choose.c: the ordinary search over g->open with the outcomes of a->out fixed. */
bool choose_fixed(asg *g, enum weak_level level, bool so, weak_answer *a);

#endif
