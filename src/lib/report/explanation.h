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
    bool quiet;  /* no warnings */
    bool titled; /* `history` is the whole title of a drawing */
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
void tell_tikz(const told *t, strbuf *b);
void tell_page_entry(const told *t, strbuf *b); /* one line of JSON, for page.h */
/* The members of an entry that show the transactions, as an object; nothing of the verdict. */
void tell_page_scene(const told *t, strbuf *b);
/* scene_drawing.c: all transactions with what the history settles, nothing of the verdict. */
void tell_scene_dot(const told *t, strbuf *b);
void tell_scene_svg(const told *t, strbuf *b);
void tell_scene_tikz(const told *t, strbuf *b);
void tell_html(const told *t, strbuf *b); /* a page of this one entry */

/* --- words (explanation_words.c)
   --------------------------------------------------------------------- */

typedef VEC(key_id) key_ids;

/* Ids that are words stand as they are; bare numbers get a T in front. */
void say_txn(const history *h, txn_id t, strbuf *b);
void say_actor(const told *t, uint32_t actor, strbuf *b);
/* The same, and that it aborted: before what it read. */
void say_reader(const told *t, uint32_t actor, strbuf *b);
void say_key(const history *h, key_id k, strbuf *b);
void say_key_word(const history *h, key_id k, strbuf *b); /* in sentences: "key 5" */
/* Long values are cut; of lists, what the transactions of the argument appended is left. */
void say_value(const told *t, key_id k, value_id v, strbuf *b);
/* What a transaction did, as far as it has to do with the argument. */
void say_ops(const told *t, txn_id txn, strbuf *b);
/* One operation. */
void say_op(const told *t, op_id o, const key_ids *keys, strbuf *b);
/* Has the operation to do with these keys? */
bool op_about(const history *h, op_id o, const key_ids *keys);
/* "so", "rt", "wr", "ww", "rw" */
const char *link_name(const arg_link *l);
/* Why the first comes before the second, a clause: "T2 read x = 1 from it". */
void say_because(const told *t, const arg_link *l, strbuf *b);
/* "T3 committed, because T1 read x = 1, which T3 wrote" */
void say_outcome(const told *t, const arg_outcome *o, strbuf *b);
/* Why nothing explains the read, a sentence without its full stop. */
void say_fault(const told *t, const arg_node *n, strbuf *b);
/* Which keys the argument is about: as many as needed, in the order of their first mention. */
void told_keys(const told *t, key_ids *out);
/* The transactions that are told: those of the argument, else the core. */
void told_txns(const told *t, txn_ids *out);

/* --- the argument, step by step (explanation_text.c) ------------------------------------------ */

enum step_kind {
    STEP_INFERENCE,     /* an order or source, because every alternative is a contradiction */
    STEP_EITHER,        /* cases follow */
    STEP_CASE,          /* what is assumed in the steps that stand further in */
    STEP_LINK,          /* one transaction comes before another */
    STEP_CONTRADICTION, /* the links before it are a forbidden cycle */
    STEP_FAULT,         /* something that nothing explains */
    STEP_OUTCOME        /* a transaction of unknown outcome committed */
};
typedef struct told_step {
    uint8_t kind, indent;           /* enum step_kind; indent from 1 */
    char ref[24];                   /* how later steps refer to it ("1", "case 2"), or "" */
    const arg_node *node;           /* NULL: STEP_OUTCOME */
    const arg_link *link;           /* STEP_LINK; else NULL */
    const arg_outcome *outcome;     /* STEP_OUTCOME; else NULL */
    uint32_t branch;                /* STEP_INFERENCE, STEP_CASE: the child of the node */
    uint32_t place;                 /* number of the cycle that it leads to, from 0 */
    uint32_t first_ref, n_refs;     /* of told_steps.refs: the steps that it uses */
    uint32_t first_other, n_others; /* of told_steps.others: what an inference rules out */
    char *text;                     /* the sentence; it belongs to the region of the telling */
    size_t n;
} told_step;
typedef struct step_ref {
    char name[24];
} step_ref;
typedef struct step_other { /* an alternative, and the leaf where it ends */
    const arg_node *leaf;
    char *text;
    size_t n;
} step_other;
typedef struct told_steps {
    VEC(told_step) steps;
    VEC(step_ref) refs;
    VEC(step_other) others;
    uint32_t cycles;
} told_steps;
void told_argument(const told *t, told_steps *out); /* empty if there is no argument */

/* --- the graph (explanation_drawing.c) -------------------------------------------------------- */

/* An edge of the cycles that are told: the argument's, or the cycle of the verdict. */
typedef struct told_edge {
    txn_id from, to;
    uint8_t kind; /* enum link_kind */
    bool inferred;
    key_id key;
    uint32_t place; /* number of the cycle, from 0 */
    uint32_t step;  /* of told_steps, or NO_ID */
} told_edge;
typedef VEC(told_edge) told_edges;
void told_graph(const told *t, const told_steps *steps, told_edges *out);
void told_title(const told *t, strbuf *b);

/* --- pictures (picture_told.c) ---------------------------------------------------------------- */

/* Fills in and lays out a picture of at most `most` told transactions and of their neighbours
   (NULL: none).  `edges` gets those that are drawn, one for each edge of the picture. */
struct picture;
void told_picture(const told *t, const told_steps *steps, const txn_ids *neighbours, size_t most,
                  struct picture *p, told_edges *edges);
/* What stands in a mark of the history: its time, if it has one, and what happened. */
bool mark_parts(const history *h, const mark *k, int64_t *at, bool *timed, strbuf *what);

/* Levels by outcome; of those that hold only the strongest, of the violated only the weakest, if
   `extreme`. */
void told_levels(const told *t, enum outcome o, bool extreme, strbuf *b, const char *between,
                 bool json);

#endif
