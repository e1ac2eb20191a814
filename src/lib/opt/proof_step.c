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
