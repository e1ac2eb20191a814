/*
 * changes_text.h - changes of operations in the head of a certificate: see changes_text.c.
 */
#ifndef RATEL_VERIFY_CHANGES_TEXT_H
#define RATEL_VERIFY_CHANGES_TEXT_H

#include "history/edits.h"
#include "verify/certificate_parse.h"

/* h: the history before the changes. */
void changes_write(strbuf *b, const history *h, const edits *e);
/* The lines after the word `changes`. */
void changes_read(parser *p, const history *h, edits *out, mem *m);

#endif
