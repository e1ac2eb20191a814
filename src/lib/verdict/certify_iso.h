/*
 * certify_iso.h - certificates of levels that are written as text.
 */
#ifndef RATEL_VERDICT_CERTIFY_ISO_H
#define RATEL_VERDICT_CERTIFY_ISO_H

#include "verdict/verdict.h"
#include "verify/claim.h"

typedef struct iso_question {
    const char *text; /* of the file */
    size_t n;
    const char *name; /* of its level; NULL: the last one */
    bool session_order;
    enum ryow ryow;
    int64_t drift; /* of the clients' clocks */
} iso_question;

/* Decides the level and writes the answer with its proof: by clauses over all pairs of up to 64
   transactions, else by the engine (judge_iso.h; kept is for its answer).  Fails through the guard
   of work, which is emptied: GUARD_PARSE if the text is no definition, GUARD_UNSUPPORTED, with the
   reason, if there is no proof of that size or kind. */
enum outcome certify_iso(const iso_question *q, const question *asked, const history *h, mem *kept,
                         mem *work, strbuf *b);

#endif
