/*
 * rule.c - rules.def as a table.
 */
#include "order/rule.h"

#include "opt/anomaly.h"

static const level_rule rules[] = {
#define RULE(level, events, overlap, strict, path, one, po, anomaly)                               \
    {LEVEL_##level, events, overlap, strict, path, one, po, ANOMALY_##anomaly},
#include "order/rules.def"
#undef RULE
};

const level_rule *rule_of(enum level_id level)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].level == level) return &rules[i];
    return NULL;
}

const level_rule *rule_induced(const level_rule *rule)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].level == rule->level && rules[i].path & PATH_ANY) return &rules[i];
    return rule;
}

enum rule_split rule_split_of(enum level_id level)
{
    return level == LEVEL_INNODB_RR ? SPLIT_LOOSE : level == LEVEL_INNODB_RR_TIGHT ? SPLIT_TIGHT : SPLIT_NONE;
}

unsigned rule_real_time(enum level_id level)
{
    switch (level) {
    case LEVEL_GSI:
    case LEVEL_PCSI: return RT_CC | RT_BC;
    case LEVEL_STRONG_SI: return RT_CC | RT_BC | RT_CB;
    case LEVEL_FCV: return RT_CB;
    default: return 0;
    }
}
