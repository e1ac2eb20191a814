/*
 * log_words.h - words in the texts of a log.
 */
#ifndef RATEL_AUDIT_LOG_WORDS_H
#define RATEL_AUDIT_LOG_WORDS_H

#include "audit/replay.h"

/* Letters of either case. */
const char *words_find(const char *in, const char *what);

#endif
