/*
 * certificate_parse.c - see certificate_parse.h.
 */
#include "verify/certificate_parse.h"

#include <stdio.h>

void parse_fail(parser *p, const char *at, const char *format, ...)
{
    va_list ap;
    guard_set_position(p->guard, p->line, (uint64_t)(at - p->begin) + 1);
    va_start(ap, format);
    guard_vfail(p->guard, GUARD_PARSE, format, ap);
}

bool parse_line(parser *p)
{
    if (p->at >= p->n) return false;
    const char *s = p->text + p->at, *end = memchr(s, '\n', p->n - p->at);
    p->line++;
    p->begin = p->now = s;
    p->end = end ? end : p->text + p->n;
    if (!end) parse_fail(p, p->end, "the last line has no end: the certificate is cut off");
    p->at = (size_t)(end - p->text) + 1;
    guard_tick(p->guard);
    return true;
}

bool parse_word(parser *p, const char **s, size_t *n)
{
    const char *a = p->now, *b;
    if (a == p->end) return false;
    b = memchr(a, ' ', (size_t)(p->end - a));
    if (!b) b = p->end;
    if (a == b || (b < p->end && b + 1 == p->end))
        parse_fail(p, a, "words stand apart by one space each");
    *s = a;
    *n = (size_t)(b - a);
    p->now = b < p->end ? b + 1 : b;
    return true;
}

bool parse_is(const char *s, size_t n, const char *word)
{
    return strlen(word) == n && !memcmp(s, word, n);
}

void parse_need(parser *p, const char *what, const char **s, size_t *n)
{
    if (!parse_word(p, s, n)) parse_fail(p, p->end, "%s expected", what);
}

void parse_no_more(parser *p)
{
    if (p->now != p->end) parse_fail(p, p->now, "the line should end here");
}

uint64_t parse_number(parser *p, const char *what, const char *s, size_t n)
{
    uint64_t x = 0;
    bool ok = n > 0 && n < 20 && (*s != '0' || n == 1);
    for (size_t i = 0; i < n && ok; i++) {
        ok = s[i] >= '0' && s[i] <= '9';
        x = 10 * x + (uint64_t)(s[i] - '0');
    }
    if (!ok) parse_fail(p, s, "%s expected", what);
    return x;
}

uint64_t parse_u64(parser *p, const char *what)
{
    const char *s;
    size_t n;
    parse_need(p, what, &s, &n);
    return parse_number(p, what, s, n);
}

txn_id parse_txn(parser *p, const char **s, size_t *n, bool init)
{
    const char *at = *s;
    size_t k = name_length(at, *n);
    bool is_init = init && *n >= 4 && !memcmp(at, "init", 4);
    if (is_init) k = 4;
    if (!k) parse_fail(p, at, "a transaction expected");
    *s += k;
    *n -= k;
    if (is_init) return NO_ID;
    txn_id t = names_txn(&p->names, at, k);
    if (t == NO_ID)
        parse_fail(p, at, "the history has no transaction %.*s", (int)(k < 80 ? k : 80), at);
    return t;
}

key_id parse_key(parser *p, const char **s, size_t *n)
{
    const char *at = *s;
    size_t k = name_length(at, *n);
    if (!k) parse_fail(p, at, "a key expected");
    *s += k;
    *n -= k;
    key_id key = names_key(&p->names, at, k);
    if (key == NO_ID) parse_fail(p, at, "the history has no key %.*s", (int)(k < 80 ? k : 80), at);
    return key;
}

txn_id parse_txn_word(parser *p, bool init)
{
    const char *s;
    size_t n;
    parse_need(p, "a transaction", &s, &n);
    txn_id t = parse_txn(p, &s, &n, init);
    if (n) parse_fail(p, s, "a transaction expected");
    return t;
}

key_id parse_key_word(parser *p)
{
    const char *s;
    size_t n;
    parse_need(p, "a key", &s, &n);
    key_id k = parse_key(p, &s, &n);
    if (n) parse_fail(p, s, "a key expected");
    return k;
}
