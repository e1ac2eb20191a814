/*
 * synth_engines.h - SAT solvers from outside that `synth` can use in place of our own.
 *
 * The room stands outside the library, which needs libc alone: what an engine is built on (C++ for
 * CaDiCaL) is linked to the program only.
 */
#ifndef RATEL_CLI_SYNTH_ENGINES_H
#define RATEL_CLI_SYNTH_ENGINES_H

#include "synth/synth.h"

/* The engine of that name; NULL: *why says that there is none, or that this build lacks it. */
const synth_engine *engine_named(const char *name, const char **why);
/* The i-th name, and whether this build has it; NULL past the end. */
const char *engine_at(size_t i, bool *here);

extern const synth_engine engine_cadical;

#endif
