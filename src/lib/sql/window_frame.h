/*
 * window_frame.h - which rows of its partition a row's window function looks at.
 *
 * A frame is an interval of the sorted rows, less those that EXCLUDE takes out.  Rows become
 * current in order, so that both ends only move forward.
 */
#ifndef RATEL_SQL_WINDOW_FRAME_H
#define RATEL_SQL_WINDOW_FRAME_H

#include "sql/exec.h"

typedef struct windowed { /* a row, the number of its partition, the values it is sorted by */
    uint32_t row, part;
    const value *keys;
} windowed;

typedef struct window_frame {
    const aggregate *a;
    const windowed *v;
    int64_t from, to;            /* the partition: rows [from, to) */
    value before, after;         /* distances of the ends, where they have one */
    int64_t peers, strangers;    /* rows [peers, strangers) have the keys of the current row */
    int64_t lo, hi;              /* the frame of the current row: [lo, hi); hi < lo: no rows */
    int64_t group;               /* GROUPS: number of the current row's peers in the partition */
    int64_t n_groups, *group_at; /* where each of the groups begins, and the end */
} window_frame;

int order_cmp(const aggregate *a, const value *l, const value *r);

/* Evaluates the distances; raises what PostgreSQL raises about them. */
void frame_distances(sql_exec *x, window_frame *w, frame *up);
/* The partition [from, to). */
void frame_enter(sql_exec *x, window_frame *w, int64_t from, int64_t to);
/* Row i, the first or the one after the last one, is the current one: finds its peers. */
void frame_current(sql_exec *x, window_frame *w, int64_t i);
/* After frame_current(): finds lo and hi. */
void frame_ends(sql_exec *x, window_frame *w, int64_t i);
/* Is row k taken out of the frame of row i, the current one? */
bool frame_without(const window_frame *w, int64_t i, int64_t k);

#endif
