/*
 * tuning.h - how an answer is looked for: the strategy, its passes, seeds.  None of it may change
 * a verdict; the tests compare.
 */
#ifndef RATEL_OPT_TUNING_H
#define RATEL_OPT_TUNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum strategy {
#define STRATEGY(id, name, help) STRATEGY_##id,
#include "opt/strategies.def"
#undef STRATEGY
    STRATEGIES
};

enum pass {
#define PASS(id, on, name, help) PASS_##id,
#include "opt/passes.def"
#undef PASS
    PASSES
};

typedef struct pass_info {
    const char *name;
    unsigned strategies; /* bits, and PASS_ASKED */
    const char *help;
} pass_info;

#define PASS_ASKED (1u << 31) /* off until it is asked for */

typedef struct tuning {
    enum strategy strategy;
    bool induced;       /* snapshot isolation over transactions (order/rule.h, rule_induced) */
    uint64_t off;       /* passes switched off, by bit */
    uint32_t portfolio; /* seeds tried side by side; 0 and 1: one */
    uint32_t threads;   /* 0 and 1: one */
    uint64_t seed;
} tuning;

static inline bool pass_on(const tuning *t, enum pass p)
{
    return !(t->off >> p & 1);
}

const pass_info *pass_at(size_t i); /* NULL past the end */
/* By bit: a pass, or a group of passes (pass_groups.def); 0: no such name. */
uint64_t passes_named(const char *name);
typedef struct pass_group {
    const char *name;
    uint64_t passes; /* by bit */
    const char *help;
} pass_group;
const pass_group *pass_group_at(size_t i); /* NULL past the end */
uint64_t passes_off_at_first(void);        /* by bit */
const char *strategy_name(enum strategy s);

#endif
