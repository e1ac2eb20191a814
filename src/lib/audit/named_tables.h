/*
 * named_tables.h - what a statement of MySQL or MariaDB can write that nobody understands: only
 * tables that it names, where the log says that statements do nothing behind the scenes.
 */
#ifndef RATEL_AUDIT_NAMED_TABLES_H
#define RATEL_AUDIT_NAMED_TABLES_H

#include "audit/log.h"

/* Does the log say that a statement writes only tables that it names, and does nothing in it make a
   view, a trigger or another name for a table? */
bool named_writes_hold(const sql_log *l);

typedef enum named_kind {
    NAMED_NOTHING, /* it writes no table */
    NAMED_TABLES,  /* it writes only tables of which statement_names is true */
    NAMED_ANY      /* nobody knows */
} named_kind;

named_kind statement_writes(const log_text *t);
/* May the text name this table?  Letters of either case; quotation marks end a word. */
bool statement_names(const log_text *t, const char *table);

#endif
