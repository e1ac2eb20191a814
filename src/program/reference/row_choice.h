/*
 * row_choice.h - statements on one table whose rows one column chooses, read off their words.
 *
 * Only plain forms are told: UPDATE t SET ... WHERE c = constant, SELECT ... FROM t WHERE c =
 * constant, INSERT INTO t ... VALUES (...).  Whatever has more words that matter is ROWS_OTHER.
 */
#ifndef RATEL_REFERENCE_ROW_CHOICE_H
#define RATEL_REFERENCE_ROW_CHOICE_H

#include "reference/statement_words.h"

enum { ROW_WORD = STATEMENT_WORD };

typedef enum row_choice_kind { ROWS_OTHER, ROWS_UPDATE, ROWS_INSERT, ROWS_SELECT } row_choice_kind;

typedef struct row_choice {
    row_choice_kind kind;
    char table[ROW_WORD];
    char column[ROW_WORD], value[ROW_WORD]; /* of UPDATE and SELECT */
    unsigned param;                         /* the value is this parameter; 0: a constant */
} row_choice;

row_choice read_row_choice(const char *text, size_t n);
/* Is the column named between SET and WHERE? */
bool sets_column(const char *text, size_t n, const char *column);
bool names_word(const char *text, size_t n, const char *word);
/* CREATE TABLE name: its name; false: another statement, or a name with more to it. */
bool created_table(const char *text, size_t n, char *table);

#endif
