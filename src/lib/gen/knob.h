/*
 * knob.h - named settings of a workload or store, as given; the reader of one brings the default.
 */
#ifndef RATEL_GEN_KNOB_H
#define RATEL_GEN_KNOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/guard.h"

enum knob_kind { KNOB_COUNT_KIND, KNOB_SHARE_KIND, KNOB_REAL_KIND, KNOB_CHOICE_KIND };

enum gen_knob {
#define KNOB(id, name, kind, about) KNOB_##id,
#include "gen/knobs.def"
#undef KNOB
    KNOBS
};

enum gen_choice { GEN_UNIFORM, GEN_ZIPF, GEN_EXPONENTIAL };

typedef struct knob_set {
    uint64_t given; /* one bit a knob */
    uint64_t count[KNOBS];
    double real[KNOBS];
} knob_set;

/* "name=value"; fails with GUARD_INVAL and the reason. */
void knob_parse(knob_set *k, guard *g, const char *text);
/* The i-th name with one line about it, or NULL past the end. */
const char *knob_at(size_t i, const char **about);

static inline void knob_give(knob_set *k, enum gen_knob i, double v)
{
    k->given |= (uint64_t)1 << i;
    k->real[i] = v;
    k->count[i] = (uint64_t)v;
}
static inline bool knob_given(const knob_set *k, enum gen_knob i)
{
    return k->given >> i & 1;
}
static inline uint64_t knob_count(const knob_set *k, enum gen_knob i, uint64_t normal)
{
    return knob_given(k, i) ? k->count[i] : normal;
}
static inline double knob_real(const knob_set *k, enum gen_knob i, double normal)
{
    return knob_given(k, i) ? k->real[i] : normal;
}
/* A count that must lie in [1, 2^31). */
uint32_t knob_size(const knob_set *k, guard *g, enum gen_knob i, uint32_t normal);

#endif
