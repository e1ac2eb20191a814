/*
 * chain_search.h - lists that are also written or deleted, in the search (asg/list_chains.h).
 */
#ifndef RATEL_DECIDE_LAZY_CHAIN_SEARCH_H
#define RATEL_DECIDE_LAZY_CHAIN_SEARCH_H

#include "asg/list_chains.h"
#include "decide/lazy/lazy_state.h"

typedef struct chain_search chain_search;

/* Writes all clauses but those about who stands between two; after the outcomes have literals. */
chain_search *chains_write(lazy *z);
/* Does a transaction stand on what the version before it did not leave, with nothing queued?
   *answer as cb_decide's. */
bool chains_broken(lazy *z, chain_search *x, uint32_t *answer);
/* As slots_initial_chosen. */
void chains_initial_chosen(const lazy *z, const chain_search *x, value_id *value, uint32_t *lits,
                           size_t *n);

#endif
