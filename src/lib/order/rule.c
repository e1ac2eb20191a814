/*
 * rule.c - rules.def as a table of records, one for each rule.
 *
 * The table stands in the order of enum rule_id, so a rule is found by its id.  The words of
 * rules.def are defined here and nowhere else: everybody else asks the fields of level_rule.
 * Invariant: a level has at most one row of its own, and an induced rule comes after the row of its
 * level (checked by rule_of() and rule_induced()).
 */
#include "order/rule.h"

#include <assert.h>

/* The words of the column `ordered`. */
enum { TRANSACTIONS = 0, EVENTS = 1, EXCLUSIVE = 2 };

/* The words of the column `reads`. */
#define NO_READS STRICT_NONE
#define ALL_READS STRICT_ALL
#define ITEM_READS STRICT_ITEM
#define OWN_KEY_READS STRICT_OWN
#define UPDATE_READS STRICT_UPDATES
#define IGNORED_READS STRICT_IGNORED
#define READS_BY_ROW STRICT_BY_ROW

/* The words of the column `paths` that are no edges: they use bits above those of PATH_*. */
#define NO_PATHS 0u
#define SINGLE_STEP 0x10000u
#define ARRIVES_EARLIER 0x20000u
#define PATH_EDGES 0xffffu

static const level_rule rules[RULES] = {
#define INDUCED(name, of, ordered, reads, paths)                                                   \
    [RULE_##name] = {.id = RULE_##name,                                                            \
                     .level = LEVEL_##of,                                                          \
                     .events = ((ordered)&EVENTS) != 0,                                            \
                     .exclusive = ((ordered)&EXCLUSIVE) != 0,                                      \
                     .strict = reads,                                                              \
                     .path = (paths)&PATH_EDGES,                                                   \
                     .single_step = ((paths)&SINGLE_STEP) != 0,                                    \
                     .arrives_earlier = ((paths)&ARRIVES_EARLIER) != 0},
#define RULE(level, ordered, reads, paths) INDUCED(level, level, ordered, reads, paths)
#include "order/rules.def"
#undef RULE
#undef INDUCED
};

const level_rule *rule_of(enum level_id level)
{
    for (size_t i = 0; i < RULE_INDUCED_SI; i++) {
        assert(rules[i].id == i);
        assert(rules[i].events || !rules[i].exclusive);
        assert(!rules[i].path || rules[i].strict == STRICT_NONE);
        if (rules[i].level == level) return &rules[i];
    }
    return NULL;
}

const level_rule *rule_induced(const level_rule *rule)
{
    const level_rule *si = &rules[RULE_INDUCED_SI];
    assert(si->level == LEVEL_SI && !si->events && si->path & PATH_ANY);
    return rule->id == RULE_SI ? si : rule;
}

enum rule_split rule_split_of(enum level_id level)
{
    return level_at(level)->split;
}

unsigned rule_real_time(enum level_id level)
{
    return level_at(level)->real_time & ~RT_TXN;
}
