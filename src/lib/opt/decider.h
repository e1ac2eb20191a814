/*
 * decider.h - the names of the steps that decide (deciders.def) as an enum and a table.
 */
#ifndef RATEL_OPT_DECIDER_H
#define RATEL_OPT_DECIDER_H

#include <stddef.h>

/* BY_NOBODY is 0, so that an answer that nobody wrote names nobody. */
enum decider_id {
    BY_NOBODY,
#define DECIDER(id, name, help) BY_##id,
#include "opt/deciders.def"
#undef DECIDER
    DECIDERS
};

typedef struct decider_info {
    const char *name;
    const char *help;
} decider_info;

const decider_info *decider_at(size_t i);     /* NULL for BY_NOBODY and past the end */
const char *decider_name(enum decider_id by); /* NULL for BY_NOBODY */

#endif
