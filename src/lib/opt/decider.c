/*
 * decider.c - accessors of deciders.def.
 */
#include "opt/decider.h"

static const decider_info table[DECIDERS] = {
#define DECIDER(id, name, help) [BY_##id] = {name, help},
#include "opt/deciders.def"
#undef DECIDER
};

const decider_info *decider_at(size_t i)
{
    return i != BY_NOBODY && i < DECIDERS ? &table[i] : NULL;
}

const char *decider_name(enum decider_id by)
{
    const decider_info *d = decider_at((size_t)by);
    return d ? d->name : NULL;
}
