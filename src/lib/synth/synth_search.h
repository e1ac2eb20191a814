/*
 * synth_search.h - the room's own view of the search (synth_search.c), the verifier in it, and
 * proofs.
 */
#ifndef RATEL_SYNTH_SYNTH_SEARCH_H
#define RATEL_SYNTH_SYNTH_SEARCH_H

#include "synth/synth.h"
#include "synth/world.h"

/* Fills everything of the answer but the result of a proof; memory of the region. */
void search_run(mem *m, const synth_problem *p, iso_level *const *levels, foreign *f,
                synth_answer *out);

/* Does some witness make the history keep the level?  order[t]: rank of t, vis: who sees whom; both
   may be NULL. */
bool search_allows(mem *m, const tiny *h, const iso_level *l, uint32_t *rank, bool *vis);

/* Does some choice make the history keep the level?  Fails where it is too large for that. */
bool decide_facts(mem *m, const iso_level *l, const synth_facts *h, bool *searched);

/* Parts of a level that no witness keeps together on this history, none of them in vain; a line of
   text for each.  For levels that the history breaks. */
typedef VEC(const char *) line_list;
void why_broken(mem *m, const tiny *h, const iso_level *l, line_list *out);

/* Does a's text show that every history that keeps a keeps b?  Why: static text. */
bool prove_implies(mem *m, const iso_level *a, const iso_level *b, const char **why);

#endif
