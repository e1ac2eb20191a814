/*
 * synth_engines.c - the table of engines, with those that this build was made without.
 */
#include "cli/synth_engines.h"

#include <string.h>

#include "config.h"

static const struct {
    const char *name;
    const synth_engine *engine;
    const char *missing;
} engines[] = {
#ifdef HAVE_CADICAL
    {"cadical", &engine_cadical, NULL},
#else
    {"cadical", NULL, "this build has no CaDiCaL (libcadical-dev was not installed)"},
#endif
};
#define N_ENGINES (sizeof engines / sizeof *engines)

const synth_engine *engine_named(const char *name, const char **why)
{
    *why = "there is no such engine; use own or cadical";
    for (size_t i = 0; i < N_ENGINES; i++) {
        if (strcmp(engines[i].name, name)) continue;
        *why = engines[i].missing;
        return engines[i].engine;
    }
    return NULL;
}

const char *engine_at(size_t i, bool *here)
{
    if (i >= N_ENGINES) return NULL;
    *here = engines[i].engine != NULL;
    return engines[i].name;
}
