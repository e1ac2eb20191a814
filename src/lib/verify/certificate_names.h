/*
 * certificate_names.h - from the names in a certificate back to keys and transactions.
 */
#ifndef RATEL_VERIFY_CERTIFICATE_NAMES_H
#define RATEL_VERIFY_CERTIFICATE_NAMES_H

#include "verify/certificate.h"

typedef struct names {
    const history *h;
    mem *m;
    uint32_t *txn, *key; /* open addressing over the names' texts: id + 1 */
    size_t txn_mask, key_mask;
    strbuf text;
} names;

void names_init(names *x, const history *h, mem *m);
/* NO_ID: nobody has that name. */
txn_id names_txn(names *x, const char *s, size_t n);
key_id names_key(names *x, const char *s, size_t n);
/* The length of the name at the beginning of s, or 0 if there is none. */
size_t name_length(const char *s, size_t n);

#endif
