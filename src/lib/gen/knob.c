/*
 * knob.c - parsing `name=value` into the set of knobs, and reading them.
 *
 * The names, kinds and texts are the rows of knobs.def; a knob that was not given keeps no value,
 * and the one who reads it brings the default that fits its workload.  A row's kind says whether
 * its values are counts, reals, shares or choices.
 *
 * Invariant: text that is no value of the row's kind fails here, with the name of the knob.
 */
#include "gen/knob.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static_assert(KNOBS <= 64, "one bit of a word each");

static const struct {
    const char *name, *about;
    enum knob_kind kind;
} table[] = {
#define KNOB(id, name, kind, about) {name, about, KNOB_##kind##_KIND},
#include "gen/knobs.def"
#undef KNOB
};

static const char *const choices[] = {
    [GEN_UNIFORM] = "uniform", [GEN_ZIPF] = "zipf", [GEN_EXPONENTIAL] = "exponential"};

const char *knob_at(size_t i, const char **about)
{
    if (i >= KNOBS) return NULL;
    if (about) *about = table[i].about;
    return table[i].name;
}

static uint64_t choice_named(guard *g, const char *value)
{
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        if (!strcmp(choices[i], value)) return i;
    guard_fail(g, GUARD_INVAL, "choice must be uniform, zipf or exponential");
}

void knob_parse(knob_set *k, guard *g, const char *text)
{
    size_t n = strcspn(text, "="), i = 0;
    const char *value = text[n] ? text + n + 1 : "";
    char *end = NULL;
    while (i < KNOBS && (strlen(table[i].name) != n || strncmp(table[i].name, text, n))) i++;
    if (i == KNOBS) guard_fail(g, GUARD_INVAL, "no knob \"%.*s\"", n < 60 ? (int)n : 60, text);
    switch (table[i].kind) {
    case KNOB_CHOICE_KIND: k->count[i] = choice_named(g, value); break;
    case KNOB_COUNT_KIND:
        k->count[i] = strtoull(value, &end, 10);
        if (*value < '0' || *value > '9' || *end)
            guard_fail(g, GUARD_INVAL, "%s must be a whole number", table[i].name);
        break;
    case KNOB_SHARE_KIND:
    case KNOB_REAL_KIND: {
        double most = table[i].kind == KNOB_SHARE_KIND ? 1 : 64;
        k->real[i] = strtod(value, &end);
        if (!*value || *end || !(k->real[i] >= 0 && k->real[i] <= most))
            guard_fail(g, GUARD_INVAL, "%s must be a number between 0 and %g", table[i].name, most);
        break;
    }
    }
    k->given |= (uint64_t)1 << i;
}

uint32_t knob_size(const knob_set *k, guard *g, enum gen_knob i, uint32_t normal)
{
    uint64_t v = knob_count(k, i, normal);
    if (!v || v >= 0x7fffffffu)
        guard_fail(g, GUARD_INVAL, "%s must be between 1 and 2^31 - 2", table[i].name);
    return (uint32_t)v;
}
