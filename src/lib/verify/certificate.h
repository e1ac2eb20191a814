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
    bool aborted_read;      /* the reads of aborted transactions count (H-9) */
    const char *changed_by; /* the module whose changes the head declares, in m; or NULL */
    uint64_t changes;
    const struct additions
        *assumed; /* what the head declares (assumptions_text.h), in m; or NULL */
    const history
        *assumed_of; /* the history that it speaks of: recorded, or as a module changed it */
} certificate_answer;

/* Text that is no certificate leaves by m's guard, GUARD_PARSE with its position.  h is the history
   as it was recorded, or one that a module changed.  changed: an empty history for the changes that
   the certificate declares; NULL: they must be those of h. */
void certificate_verify(certificate_answer *out, const char *text, size_t n, const history *h,
                        history *changed, mem *m);

/* exhaust.c: part of the reason why a step `exhaustive` was given up; it may be true. */
extern const char exhaust_too_many[];

/* The first lines of a certificate, up to its body: what is claimed, and what the body shows, which
   may be another level that settles it.  assumed: which of h->assumed are declared; NULL: all. */
void certificate_head(strbuf *b, const claim *asked, const claim *shown, const history *h,
                      const uint8_t *assumed);
/* assumptions_text.c: the additions that are marked, as lines of the head; only NULL: all. */
void assumptions_write(strbuf *b, const history *h, const struct additions *add,
                       const uint8_t *only);
void assumptions_event(strbuf *b, const history *h, ordered_event e);
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
