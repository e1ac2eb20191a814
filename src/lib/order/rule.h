/*
 * rule.h - the levels above read-committed as rules about one order of the transactions.
 *
 * Every such level says: there is a total order that extends session order (where it counts) and
 * read-from; it orders the versions of every key; and (doc/levels.md, doc/algorithms/rules.md)
 *
 *     v reads x from w, u writes x, u is "seen" by v   =>   u before w.
 *
 * Levels differ in what is seen.  Strict reads: whatever stands before the reader (serializable),
 * or before its begin (snapshot isolation, prefix); for some levels only item reads, or only reads
 * of keys that the reader writes too.  Paths: what leads to the reader by session order, read-from
 * and version order, in one step or many.  The rules themselves are rows of rules.def.
 */
#ifndef RATEL_ORDER_RULE_H
#define RATEL_ORDER_RULE_H

#include <stdint.h>

#include "opt/level.h"
#include "order/path_automaton.h"

/* STRICT_UPDATES: only transactions that write are ordered; each reader is looked at alone, against
   all of them (update serializability).  STRICT_IGNORED: reads count for nothing, and nobody of
   unknown outcome takes part, because only a read could need it (read uncommitted). */
enum rule_strict {
    STRICT_NONE,
    STRICT_ALL,
    STRICT_ITEM,
    STRICT_OWN,
    STRICT_UPDATES,
    STRICT_IGNORED,
    STRICT_BY_ROW /* the reader's level says (asg.row) */
};

#define PATH_SO 1u
#define PATH_WR 2u
#define PATH_WW 4u
#define PATH_NEXT 8u /* version order between neighbours only */
#define PATH_RW 16u
#define PATH_RT 32u /* real time, where it counts, for every rule that has session order */
/* The last step of a path is one of the other edges; every transaction before the start of that
   step in the order counts as leading there. */
#define PATH_ANY 64u
/* Session order with a read before it (what the session saw), after it (the session was read
   from), or both: the whole counts as one step. */
#define PATH_SAW 128u
#define PATH_VIA 256u
/* What paths there are is said by the rule's automaton, and by no other bit. */
#define PATH_WORDS 512u
/* What modules added as a dependency, for every rule that has session order. */
#define PATH_ADDED 1024u

/* A rule with the name of its level, or an induced rule with a name of its own. */
enum rule_id {
#define RULE(level, ordered, reads, paths) RULE_##level,
#define INDUCED(id, level, ordered, reads, paths) RULE_##id,
#include "order/rules.def"
#undef RULE
#undef INDUCED
    RULES
};

typedef struct level_rule {
    enum rule_id id;
    enum level_id level;
    bool events;             /* begin and commit have places of their own in the order */
    bool exclusive;          /* transactions that write one key must not overlap */
    enum rule_strict strict; /* which reads must see the version that the order gives them */
    unsigned path;           /* edges of paths, 0: none */
    bool single_step;        /* a path has one step */
    bool arrives_earlier;    /* a path must arrive at an earlier operation of the reader */
    const path_automaton *automaton; /* PATH_WORDS; a rule that is no row of rules.def */
} level_rule;

/* The real-time edges between events that a level has by itself (doc/levels.md 4.3). */
unsigned rule_real_time(enum level_id level);
/* The parts of transactions that it looks at. */
enum rule_split rule_split_of(enum level_id level);

/* The rule of a level, or NULL if the level is no rule about one order. */
const level_rule *rule_of(enum level_id level);
/* The rule of the same level over transactions instead of begins and commits (--si-encoding
   induced), if there is one; otherwise the rule itself. */
const level_rule *rule_induced(const level_rule *rule);

#endif
