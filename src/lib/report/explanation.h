/*
 * explanation.h - an explanation, told: text, Markdown, JSON, a graph for Graphviz, a drawing.
 *
 * What is told is what the rooms verdict and explain found; nothing is decided here.  Every value
 * and name of the input is text: control characters are escaped, long ones are cut around what the
 * argument is about.
 */
#ifndef RATEL_REPORT_EXPLANATION_H
#define RATEL_REPORT_EXPLANATION_H

#include "explain/explain.h"
#include "verdict/verdict.h"

/* Another level, and what was found for it. */
typedef struct tell_level {
    const char *name;
    enum outcome outcome;
} tell_level;

typedef struct tell_context {
    const char *history, *format;
    const tell_level *levels; /* empty: nobody asked */
    size_t n_levels;
    bool session_order;     /* of those that do not settle it */
    const char *instead_of; /* the weaker violated level that could not be argued, or NULL */
    bool colour;
} tell_context;

/* e is NULL unless the level is violated. */
typedef struct told {
    const verdict *v;
    const explanation *e;
    const tell_context *c;
    mem *m;
} told;

void tell_text(const told *t, strbuf *b);
void tell_markdown(const told *t, strbuf *b);
void tell_json(const told *t, strbuf *b);
void tell_dot(const told *t, strbuf *b);
void tell_svg(const told *t, strbuf *b);

/* --- words (explanation_words.c)
   --------------------------------------------------------------------- */

/* Ids that are words stand as they are; bare numbers get a T in front. */
void say_txn(const history *h, txn_id t, strbuf *b);
void say_actor(const told *t, uint32_t actor, strbuf *b);
void say_key(const history *h, key_id k, strbuf *b);
void say_key_word(const history *h, key_id k, strbuf *b); /* in sentences: "key 5" */
/* Long values are cut; of lists, what the transactions of the argument appended is left. */
void say_value(const told *t, key_id k, value_id v, strbuf *b);
/* What a transaction did, as far as it has to do with the argument. */
void say_ops(const told *t, txn_id txn, strbuf *b);
/* "so", "rt", "wr", "ww", "rw" */
const char *link_name(const arg_link *l);
/* Why the first comes before the second, a clause: "T2 read x = 1 from it". */
void say_because(const told *t, const arg_link *l, strbuf *b);
/* Why nothing explains the read, a sentence without its full stop. */
void say_fault(const told *t, const arg_node *n, strbuf *b);
/* Which keys the argument is about: as many as needed, in the order of their first mention. */
typedef VEC(key_id) key_ids;
void told_keys(const told *t, key_ids *out);
/* The transactions that are told: those of the argument, else the core. */
void told_txns(const told *t, txn_ids *out);

/* Levels by outcome; of those that hold only the strongest, of the violated only the weakest, if
   `extreme`. */
void told_levels(const told *t, enum outcome o, bool extreme, strbuf *b, const char *between,
                 bool json);

#endif
