/*
 * compile_iso.h - levels written as text, as rules about one order that the engine decides.
 */
#ifndef RATEL_VERDICT_COMPILE_ISO_H
#define RATEL_VERDICT_COMPILE_ISO_H

#include "iso/iso.h"
#include "order/rule.h"

typedef struct iso_rule {
    level_rule rule;
    bool real_time; /* the definition speaks of real time, which then is part of the order */
    /* Outside of what the engine decides: the construct that is in the way, and its place; NULL:
       the rule is the level. */
    const char *outside;
    uint32_t line, column;
} iso_rule;

/* All memory is the region's, as long as the rule. */
void compile_iso(iso_rule *out, const iso_level *l, mem *m);

#endif
