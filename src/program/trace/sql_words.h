/*
 * sql_words.h - as much of SQL's text as a recorder must know: where statements end, and which of
 * them begin and end transactions.
 */
#ifndef RATEL_TRACE_SQL_WORDS_H
#define RATEL_TRACE_SQL_WORDS_H

#include "base/strbuf.h"

typedef enum sql_kind {
    SQL_OTHER,
    SQL_BEGIN,
    SQL_COMMIT,
    SQL_ROLLBACK,
    SQL_PREPARE_TRANSACTION, /* leaves a transaction whose end is not this session's to tell */
    SQL_END_PREPARED,        /* COMMIT PREPARED, ROLLBACK PREPARED */
    SQL_SET_ISOLATION,       /* of the session's later transactions */
    SQL_RESET_ISOLATION      /* ... to what it was when the client connected */
} sql_kind;

typedef enum sql_forgets { SQL_FORGETS_NONE, SQL_FORGETS_ONE, SQL_FORGETS_ALL } sql_forgets;
enum { SQL_NAME = 64 }; /* a name of PostgreSQL, with its 0 */

typedef struct sql_part { /* one statement */
    const char *at;
    size_t n;
    sql_kind kind;
    bool chain;             /* COMMIT AND CHAIN: another transaction begins */
    const char *isolation;  /* that the statement asks for, in PostgreSQL's words, or NULL */
    bool may_set_isolation; /* in a way that is not understood, such as set_config */
    bool sets_default;      /* ALTER ... SET: the isolation of sessions that begin later */
    bool names_later;       /* PREPARE or DECLARE: what it says is run by another statement */
    bool runs_earlier;      /* EXECUTE or FETCH: ... by this one */
    bool moves;             /* FETCH, MOVE, CLOSE: it changes where a portal stands */
    sql_forgets forgets;    /* prepared statements that are no more once it has succeeded */
    char name[SQL_NAME];    /* ... the one */
} sql_part;

/* How a text is read: PostgreSQL's rules; the same, and a backslash in '...' is an escape character
   (standard_conforming_strings is off); MariaDB's and MySQL's rules. */
typedef enum sql_rules { SQL_RULES_STANDARD, SQL_RULES_ESCAPES, SQL_RULES_MYSQL } sql_rules;

/* The next statement of a text that is not empty; false: there is none. */
bool sql_next(const char **at, const char *end, sql_rules rules, sql_part *out);

/* Does this word, in lower case, occur outside of strings and comments? */
bool sql_mentions(const char *at, size_t n, const char *word);
/* May a comment that MariaDB and MySQL run have this in it, in lower case? */
bool sql_comment_says(const char *at, size_t n, const char *lower);
/* The text with '***' for every string in it and 0 for every number. */
void sql_hide_values(const char *at, size_t n, sql_rules rules, strbuf *out);
/* What the next string or number of the text says, without its quotes; false: there is none.  After
   a string in dollar quotes come those inside of it. */
bool sql_next_literal(const char **at, const char *end, sql_rules rules, strbuf *out);
/* Is it a SET of MySQL that changes only how the connection behaves: its encoding, autocommit,
   how long it waits? */
bool sql_sets_connection(const char *at, size_t n);
/* MySQL's text with $1, $2, ... for its question marks. */
void sql_number_marks(const char *at, size_t n, strbuf *out);
/* The isolation that MySQL's SET names, in PostgreSQL's words, or NULL. */
const char *sql_isolation_in(const char *at, size_t n);

#endif
