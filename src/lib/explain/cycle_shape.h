/*
 * cycle_shape.h - which cycles a level forbids (shapes.def), and finding one of least cost.
 */
#ifndef RATEL_EXPLAIN_CYCLE_SHAPE_H
#define RATEL_EXPLAIN_CYCLE_SHAPE_H

#include "explain/argument.h"

#define SHAPE_SO 1u
#define SHAPE_RT 2u
#define SHAPE_WR 4u
#define SHAPE_WW 8u
#define SHAPE_RW 16u
#define SHAPE_RW_ITEM 32u
#define SHAPE_NEXT 64u

enum shape_graph {
    GRAPH_TXNS,
    GRAPH_EVENTS,
    GRAPH_PREFIXES,
    GRAPH_UPDATES,
    GRAPH_PARTS,
    GRAPH_PARTS_TIGHT,
    GRAPH_MIXED,
    GRAPH_MIXED_PG
};
enum shape_steps { STEPS_ONE, STEPS_MANY, STEPS_WR_SO, STEPS_SO_WR, STEPS_WR_SO_WR };
enum shape_arrive { ARRIVE_ANY, ARRIVE_SAME_KEY, ARRIVE_EARLIER, ARRIVE_NOT_LATER };

typedef struct forbids {
    unsigned cycle;
    enum shape_graph graph;
    unsigned back;
    enum shape_steps steps;
    enum shape_arrive arrive;
    const char *what;
} forbids;

/* NULL: no cycles define this level. */
const forbids *shape_of(enum level_id level);

/* Which real-time links the question has, by bits of enum link_times. */
unsigned shape_times(const arg_ask *ask);

/* Is the link one of these kinds?  A way back by version order of no-lost-update is SHOWN_NEXT. */
bool shape_has(unsigned kinds, const arg_link *l);

/* Does the last link of a way back arrive at the reader as the level wants it? */
bool shape_arrives(const forbids *p, const scene *s, const arg_link *last, const arg_link *rw);

/* A link with what it costs to tell it. */
typedef struct priced {
    arg_link link;
    uint32_t cost;
    uint64_t uses[4]; /* assumptions, by bits: the searcher's */
} priced;
typedef VEC(priced) priced_links;

/* A forbidden cycle of least cost, as indices of links; false: there is none. */
typedef VEC(uint32_t) cycle_of_links;
bool shape_find(const forbids *p, const scene *s, const priced_links *links, mem *m,
                cycle_of_links *out, uint32_t *cost);

#endif
