/*
 * proof_step.h - the kinds of steps in a proof, which one room writes and another verifies.
 */
#ifndef RATEL_OPT_PROOF_STEP_H
#define RATEL_OPT_PROOF_STEP_H

enum proof_step {
#define STEP(id, word, about) PROOF_##id,
#include "opt/proof_steps.def"
#undef STEP
    PROOF_STEPS
};
const char *proof_step_word(enum proof_step kind);

enum chain_rule {
#define CHAIN(id, word, about) CHAIN_##id,
#include "opt/chain_rules.def"
#undef CHAIN
    CHAIN_RULES
};
const char *chain_rule_word(enum chain_rule rule);

#endif
