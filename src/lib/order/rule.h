/*
 * rule.h - the levels above read-committed as rules about one order of the transactions.
 *
 * Every such level says: there is a total order that extends session order (where it counts) and
 * read-from; it orders the versions of every key; and (SYNTHESIS 2.4, doc/levels.md)
 *
 *     v reads x from w, u writes x, u is "seen" by v   =>   u before w.
 *
 * Levels differ in what is seen.  Strict reads: whatever stands before the reader (serializable),
 * or before its begin (snapshot isolation, prefix); for some levels only item reads, or only reads
 * of keys that the reader writes too.  Paths: what leads to the reader by session order, read-from
 * and version order, in one step or many.
 */
#ifndef RATEL_ORDER_RULE_H
#define RATEL_ORDER_RULE_H

#include <stdint.h>

#include "opt/level.h"

/* STRICT_UPDATES: only transactions that write are ordered; each reader is looked at alone, against
   all of them (update serializability). */
enum rule_strict { STRICT_NONE, STRICT_ALL, STRICT_ITEM, STRICT_OWN, STRICT_UPDATES };

#define PATH_SO 1u
#define PATH_WR 2u
#define PATH_WW 4u
#define PATH_NEXT 8u /* version order between neighbours only */
#define PATH_RW 16u
#define PATH_RT 32u /* real time, where it counts: of every rule that has session order */
/* The last step of a path is one of the others; whatever stands before it in the order leads
   there. */
#define PATH_ANY 64u
/* Session order with a read in front of it (what the session saw), behind it (who was read from),
   or both: one such path. */
#define PATH_SAW 128u
#define PATH_VIA 256u

typedef struct level_rule {
    enum level_id level;
    bool events;  /* begin and commit are ordered apart */
    bool overlap; /* writers of one key may not overlap */
    enum rule_strict strict;
    unsigned path;    /* edges of paths, 0: none */
    bool one;         /* paths of one step */
    bool po;          /* a path must arrive at an earlier event of the reader */
    uint32_t anomaly; /* enum anomaly: a violation without a finer name */
} level_rule;

/* Real-time edges between events: commit before commit, begin before commit, commit before
   begin. */
#define RT_CC 1u
#define RT_BC 2u
#define RT_CB 4u
/* Those that a level has by itself (LEVELS 4.3). */
unsigned rule_real_time(enum level_id level);

/* Levels that look at the parts of transactions (asg/innodb_parts.c). */
enum rule_split { SPLIT_NONE, SPLIT_LOOSE, SPLIT_TIGHT };
enum rule_split rule_split_of(enum level_id level);

/* NULL: the level is no such rule. */
const level_rule *rule_of(enum level_id level);
/* The same level over transactions instead of begins and commits (--si-encoding induced), where
   there is such a rule; else the rule itself. */
const level_rule *rule_induced(const level_rule *rule);

#endif
