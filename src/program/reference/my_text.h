/*
 * my_text.h - statements of a log in MySQL's dialect, as MariaDB's server reads them: with literals
 * in the place of parameters, and names in backticks where the log had them.
 */
#ifndef RATEL_REFERENCE_MY_TEXT_H
#define RATEL_REFERENCE_MY_TEXT_H

#include "audit/log.h"

/* `?`, or $1 where no `?` stands, outside of texts, names and comments.  A number stays a number:
   '5' would be added as a floating-point one, and LIMIT refuses it. */
void my_text_fill(log_text t, const cell *params, uint32_t n, strbuf *out);

/* Is this a table's or a column's name, and nothing else: words and quoted words with dots? */
bool is_plain_object_name(const char *name);

#endif
