/*
 * statement_words.h - what the words of a statement tell about it, in any dialect of SQL.
 *
 * No grammar is used here: the words decide only what is *not* claimed.  A statement with a word
 * that lets the engine choose (rows, an order, a value) is never held against the database, and one
 * that could leave the database of the run is never executed.
 */
#ifndef RATEL_REFERENCE_STATEMENT_WORDS_H
#define RATEL_REFERENCE_STATEMENT_WORDS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct statement_words {
    bool only_reads;     /* a query that locks nothing, as far as its words tell */
    bool plain;          /* SELECT, INSERT, UPDATE, DELETE, MERGE, WITH, VALUES */
    bool changes_schema; /* CREATE, ALTER, DROP */
    bool by_key;         /* a write of rows that constants choose, from nothing but themselves */
    bool picks;          /* the engine may choose among rows or orders */
    bool draws;          /* the engine may choose a value: a clock, a sequence, a random number */
    bool draws_other;    /* and chosen_draws.h does not know it, or it would show */
    bool is_savepoint;   /* SAVEPOINT, RELEASE, ROLLBACK TO */
    bool rolls_back;     /* ROLLBACK TO a savepoint */
    bool ends;           /* BEGIN, COMMIT and their kin: transactions are ours to begin and end */
    bool locks_only;     /* SELECT ... FOR UPDATE and its kin */
    bool runs_alone;     /* not within a transaction: VACUUM, CONCURRENTLY */
    bool is_setting;     /* SET */
    bool sets_level;     /* SET TRANSACTION ...: passed over */
    bool asks_session;  /* MySQL: a query of the connection and the server alone, as drivers send */
    bool has_routine;   /* it makes or drops something that other statements may run */
    bool has_trigger;   /* counts may include what triggers and cascades did */
    const char *beyond; /* why it is not executed, or NULL */
} statement_words;

enum { STATEMENT_WORD = 40 };

typedef struct word_walk {
    const char *at, *end;
} word_walk;

/* The next word in small letters, cut at STATEMENT_WORD - 1; false at the end. */
bool next_statement_word(word_walk *w, char *to);

statement_words words_of_statement(const char *text, size_t n);
/* Why it is not executed where rights do not hold it back: by MariaDB's temporary server, or else
   by a server of PostgreSQL that is not ours; NULL: it is. */
const char *words_beyond(const char *text, size_t n, bool mariadb);

#endif
