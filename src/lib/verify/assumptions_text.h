/*
 * assumptions_text.h - what modules added, as lines in the head of a certificate:
 *
 *     assumptions N POINTS
 *     "module" "reason" EDGE [and EDGE]... [or EDGE [and EDGE]...]...
 *
 * EDGE is EVENT<EVENT (orders) or EVENT<<EVENT (depends); an event is b:T, c:T or p:N, a helper
 * point, from 0.
 */
#ifndef RATEL_VERIFY_ASSUMPTIONS_TEXT_H
#define RATEL_VERIFY_ASSUMPTIONS_TEXT_H

#include "history/additions.h"
#include "verify/certificate_parse.h"

/* What the i-th of them says, in words and whatever its module calls it. */
void assumptions_tell(strbuf *b, const history *h, const additions *add, size_t i);

/* The lines after the word `assumptions`. */
additions *assumptions_read(parser *p, mem *m);
ordered_event assumptions_read_event(parser *p, const char **s, size_t *n, uint32_t points);

#endif
