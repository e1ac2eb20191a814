/*
 * plain_names.h - names of MySQL and MariaDB as PostgreSQL's grammar reads them.
 */
#ifndef RATEL_AUDIT_PLAIN_NAMES_H
#define RATEL_AUDIT_PLAIN_NAMES_H

#include "base/strbuf.h"

/* The statement with the names that stand in backticks written without them, where that means the
   same to PostgreSQL's grammar. */
void plain_names(const char *at, size_t n, strbuf *out);

#endif
