/*
 * module_sources.h - who may have read from whom, for modules: by value, before any choice.
 */
#ifndef RATEL_MODULE_MODULE_SOURCES_H
#define RATEL_MODULE_MODULE_SOURCES_H

#include "history/history.h"

typedef struct sources_index sources_index;

sources_index *sources_new(mem *m, const history *h);
/* Each writes at most `most` transactions to out, and returns how many there are. */
uint32_t sources_writers(const sources_index *x, key_id key, uint32_t *out, uint32_t most);
uint32_t sources_of_read(const sources_index *x, op_id o, key_id key, uint32_t *out, uint32_t most);
/* The transaction of that name, or NO_ID. */
txn_id sources_named(const sources_index *x, const char *name);

#endif
