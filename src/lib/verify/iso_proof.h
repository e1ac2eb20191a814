/*
 * iso_proof.h - the part of a certificate that is about a level in text (private to the room).
 */
#ifndef RATEL_VERIFY_ISO_PROOF_H
#define RATEL_VERIFY_ISO_PROOF_H

#include "verify/certificate.h"
#include "verify/certificate_parse.h"
#include "verify/iso_clauses.h"

typedef VEC(uint32_t) iso_lits;

/* The lines of the definition as one text, which ends in a newline. */
const char *iso_definition(parser *p, uint64_t lines, size_t *n);
/* Reads the body and proves the claim of *a, or says why not. */
void iso_verify(parser *p, certificate_answer *a, const char *text, size_t n, const char *name,
                const history *h, mem *m);

/* certificate.c: the next line, which must be there; and whether it is `end N`. */
void certificate_body_line(parser *p);
/* Reads an order and choices of reads up to the end, and replays them. */
void certificate_replay(parser *p, certificate_answer *a, claim *c, const history *h, mem *m);
bool certificate_at_end(parser *p, const char *s, size_t n, uint64_t lines);

#endif
