/*
 * certificate.h - answers with their proof, as text (doc/formats/certificate.md).
 *
 * A certificate names the question (level, session order, policy, drift), the history (counts and
 * a hash of its content), the answer, and why: an order of the transactions that explains every
 * read, or numbered steps that end in a contradiction.  certificate_verify trusts none of it: it
 * reads the history itself, replays the order, and makes every clause of a proof from the history.
 */
#ifndef RATEL_VERIFY_CERTIFICATE_H
#define RATEL_VERIFY_CERTIFICATE_H

#include "verify/claim.h"

#define CERTIFICATE_VERSION 1

typedef struct certificate_answer {
    claim claim; /* what the certificate says, as far as it was read */
    bool proved;
    const char *why;        /* refused: one sentence */
    uint64_t steps;         /* lines of the body */
    const char *definition; /* the level as text, in m; NULL: a level by its name */
    size_t definition_length;
} certificate_answer;

/* Text that is no certificate leaves by m's guard, GUARD_PARSE with its position. */
void certificate_verify(certificate_answer *out, const char *text, size_t n, const history *h,
                        mem *m);

/* exhaust.c: part of the reason why a step `exhaustive` was given up; it may be true. */
extern const char exhaust_too_many[];

/* The first lines of a certificate, up to its body: what is claimed, and what the body shows, which
   may be another level that settles it. */
void certificate_head(strbuf *b, const claim *asked, const claim *shown, const history *h);
/* implied.c: does the level of b follow from that of a, with session order and real time as each
   has them? */
bool claim_implies(const claim *a, const claim *b);
/* Of all that a verdict depends on; independent of the format that the history was read from. */
uint64_t certificate_hash(const history *h, mem *m);

/* A key or a transaction's id: a number, or a string in quotes whose odd bytes are \xNN. */
void certificate_name(strbuf *b, const history *h, atom a);
static inline void certificate_txn(strbuf *b, const history *h, txn_id t)
{
    certificate_name(b, h, label_atom(h, h->txn_label[t]));
}

#endif
