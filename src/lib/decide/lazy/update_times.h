/*
 * update_times.h - real time for update_readers.c: which transactions ended before another one
 * began, in linear space.
 *
 * All ends and all begins are sorted once.  Over the updates among them two running extremes of the
 * places in the current order are kept, so that a search stops where nothing of interest is left.
 */
#ifndef RATEL_DECIDE_LAZY_UPDATE_TIMES_H
#define RATEL_DECIDE_LAZY_UPDATE_TIMES_H

#include "decide/lazy/lazy_state.h"

typedef struct timed_node {
    int64_t at;
    node_id node;
} timed_node;

typedef struct update_times {
    uint64_t drift;
    timed_node *end, *begin; /* of updates, by time */
    uint32_t ends, begins;
    uint32_t *last;   /* per end: the highest place among those that ended up to then */
    uint32_t *first;  /* per begin: the lowest place among those that begin from then on */
    timed_node *call; /* the begins of all transactions, by time: these are the points */
    uint32_t points;
} update_times;

/* NULL unless real time counts. */
update_times *update_times_new(const lazy *z);
/* Takes the places of the current order. */
void update_times_refresh(update_times *x, const lazy *z);
/* Did a end before b began? */
bool update_times_before(const update_times *x, const asg *g, node_id a, node_id b);
/* How many of x->end ended before v began. */
uint32_t update_times_ended(const update_times *x, const asg *g, node_id v);
/* The lowest place of an update that began after v ended, or UINT32_MAX. */
uint32_t update_times_low(const update_times *x, const asg *g, node_id v);
/* The first point after the end of v, or x->points. */
uint32_t update_times_point(const update_times *x, const asg *g, node_id v);

#endif
