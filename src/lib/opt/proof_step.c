/*
 * proof_step.c - words of the kinds of steps.
 */
#include "opt/proof_step.h"

#include <assert.h>

const char *proof_step_word(enum proof_step kind)
{
    static const char *const words[] = {
#define STEP(id, word, about) word,
#include "opt/proof_steps.def"
#undef STEP
    };
    assert(kind < PROOF_STEPS);
    return words[kind];
}

const char *chain_rule_word(enum chain_rule rule)
{
    static const char *const words[] = {
#define CHAIN(id, word, about) word,
#include "opt/chain_rules.def"
#undef CHAIN
    };
    assert(rule < CHAIN_RULES);
    return words[rule];
}
