/*
 * certificate_parse.h - the lines and words of a certificate, with positions for complaints.
 */
#ifndef RATEL_VERIFY_CERTIFICATE_PARSE_H
#define RATEL_VERIFY_CERTIFICATE_PARSE_H

#include "verify/certificate_names.h"

typedef struct parser {
    const char *text;
    size_t n, at;    /* the next line begins at `at` */
    uint64_t line;   /* of the words, from 1 */
    const char *now; /* the rest of the line */
    const char *begin, *end;
    names names;
    guard *guard;
} parser;

/* Wrong text at p: leaves with GUARD_PARSE. */
_Noreturn void parse_fail(parser *p, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool parse_line(parser *p); /* false at the end of the text */
/* The next word of the line; false if there is none. */
bool parse_word(parser *p, const char **s, size_t *n);
bool parse_is(const char *s, size_t n, const char *word);
/* A word that must be there, or the line is wrong. */
void parse_need(parser *p, const char *what, const char **s, size_t *n);
void parse_no_more(parser *p);
uint64_t parse_number(parser *p, const char *what, const char *s, size_t n);
uint64_t parse_u64(parser *p, const char *what);
/* The name at the beginning of s, which advances; `init` gives NO_ID if allowed. */
txn_id parse_txn(parser *p, const char **s, size_t *n, bool init);
key_id parse_key(parser *p, const char **s, size_t *n);
/* The same as a word of its own. */
txn_id parse_txn_word(parser *p, bool init);
key_id parse_key_word(parser *p);

#endif
