/*
 * edn_lex.h - an EDN scanner over a source's window (or over a copied form).
 *
 * The scanner never builds a tree.  edn_space finds the next form, edn_skip checks a form and
 * finds its end; both return NULL when the text ends first, which for a window means "get more
 * and start the unit again".  Wrong bytes fail through source_fail where they stand.  A form that
 * edn_skip has passed is well formed, so whoever looks at it a second time (edn_json, edn_string,
 * the history reader) needs no checks of syntax and never meets the end.
 *
 * Invariant: a NUL byte stands at e->end, and nesting is at most EDN_DEPTH deep, so that the
 * recursion here is bounded whatever the input.
 */
#ifndef RATEL_READ_EDN_LEX_H
#define RATEL_READ_EDN_LEX_H

#include "base/strbuf.h"
#include "read/byte_source.h"

#define EDN_DEPTH 1000

typedef struct edn {
    source *s;
    const char *end;
    const char *open; /* where the unfinished form begins, after edn_space returned NULL */
    unsigned depth;
    bool copy; /* the text is not the window: an earlier unit, already checked */
} edn;

typedef struct edn_span {
    const char *at, *end; /* at NULL: not there */
} edn_span;

enum edn_class { EDN_BAD, EDN_SPACE, EDN_DELIMITER, EDN_TOKEN };
extern const unsigned char edn_classes[256];

static inline enum edn_class edn_class_of(char c)
{
    return (enum edn_class)edn_classes[(unsigned char)c];
}
static inline bool edn_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The window as it is now; call again after source_more. */
void edn_window(edn *e, source *s);
/* A checked form that was copied away; a NUL byte must follow it. */
void edn_copy(edn *e, source *s, edn_span form);

_Noreturn void edn_fail(edn *e, const char *where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

const char *edn_space_slow(edn *e, const char *p);
/* The next byte that is neither white space, comma, comment nor discarded form. */
static inline const char *edn_space(edn *e, const char *p)
{
    while (edn_class_of(*p) == EDN_SPACE) p++;
    return *p == ';' || *p == '#' || *p == 0 ? edn_space_slow(e, p) : p;
}

/* Checks the form at p (which edn_space returned) and returns what follows it. */
const char *edn_skip(edn *e, const char *p);
/* A whole unit at once, since that is much cheaper than a look at every string and symbol. */
void edn_check_utf8(edn *e, edn_span t);
/* End of the symbol, keyword or number at p. */
static inline const char *edn_token(const char *p)
{
    while (edn_class_of(*p) == EDN_TOKEN) p++;
    return p;
}
/* The form after its tags, if it has any. */
const char *edn_untag(edn *e, const char *p);

static inline bool edn_is_number(const char *p)
{
    return edn_digit(*p) || ((*p == '-' || *p == '+') && edn_digit(p[1]));
}
/* The integer that the span is, with or without the suffix N; false if it is none or does not
   fit. */
bool edn_int(edn_span t, int64_t *out);
/* Keyword or string without escapes: its name, without colon or quotes. */
bool edn_name(edn_span t, edn_span *name);
static inline bool edn_is(edn_span t, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(t.end - t.at) == n && !memcmp(t.at, word, n);
}

/* The text of the string at p (checked), decoded, after what `out` holds. */
void edn_string(const char *p, strbuf *out);
/* The checked form at p as JSON: keywords as strings with their colon, except as keys of maps;
   sets and lists as arrays; a tagged form as {"#tag": form}; chars, ratios, symbols and decimals
   with M as strings of their text.  Returns what follows. */
const char *edn_json(edn *e, const char *p, strbuf *out);
/* The same for one map key, always a JSON string. */
const char *edn_json_key(edn *e, const char *p, strbuf *out);

/* An unknown field of an event must not become a field of a native transaction, so that one of
   such a name stands as "edn-NAME" among a history's extras.  Whether this holds for a name: it is
   one of those, perhaps with such prefixes already. */
bool edn_is_escaped(edn_span name);

#endif
