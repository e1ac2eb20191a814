/*
 * truth.h - which levels hold and which are violated, as sets of bits.
 *
 * The levels of doc/levels.md in their default reading (session order on) with the implications of
 * doc/levels.md 7.  Some levels without session order take part under their pl- names, since
 * what never counts sessions (generalized-snapshot-isolation, innodb-*) implies only those.
 *
 * Invariant: the set of violated levels is closed upwards, that of kept ones downwards.
 */
#ifndef RATEL_GEN_TRUTH_H
#define RATEL_GEN_TRUTH_H

#include <stdint.h>

#include "base/strbuf.h"

enum truth_index {
#define TRUTH(id, name, implies) TRUTH_INDEX_##id,
#include "gen/truth.def"
#undef TRUTH
    TRUTHS
};

enum truth_bit {
#define TRUTH(id, name, implies) TRUTH_##id = 1 << TRUTH_INDEX_##id,
#include "gen/truth.def"
#undef TRUTH
};

typedef uint32_t truth_set;

/* Levels that look at client times. */
#define TRUTH_TIMED                                                                                \
    ((truth_set)(TRUTH_GSI | TRUTH_PCSI | TRUTH_RT_RC | TRUTH_FCV | TRUTH_RT_SI |                  \
                 TRUTH_STRONG_SI | TRUTH_SSER))

#define TRUTH_NAMED (~(truth_set)0 << TRUTH_INDEX_RU) /* all but the pl- ones */

truth_set truth_down(truth_set s); /* all that the levels of s imply, s included */
truth_set truth_up(truth_set s);   /* all that imply some level of s, s included */
truth_set truth_strongest(truth_set s);
truth_set truth_weakest(truth_set s);
/* A JSON list of names; pl- levels are left out unless they are all there is. */
void truth_names(truth_set s, strbuf *out);

#endif
