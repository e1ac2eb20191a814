/*
 * mixture.h - arguments about transactions that each have a level of their own (doc/levels.md,
 * "Mixed levels"): which of the links between them count, and between which of their events.
 *
 * A transaction of snapshot isolation has a snapshot and a commit; one of any other level has a
 * commit alone.  `mixed-pg` holds serializable transactions to the row of snapshot isolation, and
 * then to each other: there an anti-dependency counts if no transaction of another level wrote
 * between the version that was read and the one that replaced it (arg_link.alone).  Serializable
 * transactions may have written between them: a step to the first of these, and version order from
 * there on, lead to the same place.
 */
#ifndef RATEL_EXPLAIN_MIXTURE_H
#define RATEL_EXPLAIN_MIXTURE_H

#include "explain/argument.h"
#include "opt/mixed_row.h"

/* What the transaction names, ROW_NONE if that has no row. */
enum mixed_row mixture_named(const history *h, txn_id t);
/* What the level asks of the actor. */
enum mixed_row mixture_row(const scene *s, enum level_id level, uint32_t actor);
/* Does every transaction of the scene have a row? */
bool mixture_defined(const scene *s, enum level_id level);

/* Is it a read of which only impossible values count, at this level and by this transaction? */
bool mixture_ignores(const scene *s, enum level_id level, uint32_t actor);
/* Does one version of each key serve all its reads?  Items: none of the two is a missing row. */
bool mixture_one_version(const scene *s, enum level_id level, uint32_t actor, bool items);

/* Is the link a step of the order of events?  Then: does it leave from the snapshot of `from`, does
   it arrive at that of `to`?  Else at the commits. */
bool mixture_counts(const scene *s, enum level_id level, const arg_link *l);
bool mixture_leaves_snapshot(const scene *s, enum level_id level, const arg_link *l);
bool mixture_reaches_snapshot(const scene *s, enum level_id level, const arg_link *l);

#endif
