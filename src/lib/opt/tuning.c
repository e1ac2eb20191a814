/*
 * tuning.c - accessors of passes.def and strategies.def.
 */
#include "opt/tuning.h"

#include <assert.h>
#include <string.h>

#define ON(id) (1u << STRATEGY_##id)
#define ASKED PASS_ASKED

static const pass_info passes[] = {
#define PASS(id, on, name, help) {name, on, help},
#include "opt/passes.def"
#undef PASS
};
static_assert(PASSES <= 64, "one bit a pass");

static const char *const strategies[] = {
#define STRATEGY(id, name, help) name,
#include "opt/strategies.def"
#undef STRATEGY
};

const pass_info *pass_at(size_t i)
{
    return i < PASSES ? &passes[i] : NULL;
}

uint64_t passes_off_at_first(void)
{
    uint64_t off = 0;
    for (int i = 0; i < PASSES; i++)
        if (passes[i].strategies & PASS_ASKED) off |= (uint64_t)1 << i;
    return off;
}

static const pass_group groups[] = {
#define P(id) ((uint64_t)1 << PASS_##id)
#define GROUP(name, passes, help) {name, passes, help},
#include "opt/pass_groups.def"
#undef GROUP
#undef P
};

const pass_group *pass_group_at(size_t i)
{
    return i < sizeof groups / sizeof *groups ? &groups[i] : NULL;
}

uint64_t passes_named(const char *name)
{
    for (int i = 0; i < PASSES; i++)
        if (!strcmp(passes[i].name, name)) return (uint64_t)1 << i;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (!strcmp(groups[i].name, name)) return groups[i].passes;
    return 0;
}

const char *strategy_name(enum strategy s)
{
    return s < STRATEGIES ? strategies[s] : "";
}
