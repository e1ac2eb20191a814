/*
 * recheck.h - private to recheck*.c, the second opinion on an answer (recheck.c says what it
 * proves).  These files know claims and histories only (claim.h).
 */
#ifndef RATEL_VERIFY_RECHECK_H
#define RATEL_VERIFY_RECHECK_H

#include "opt/mixed_row.h"
#include "verify/claim.h"

#define RECHECK_WORK ((uint64_t)1 << 34) /* steps after which an answer is too large */
#define FREE VALUE_UNKNOWN               /* an initial value that nothing has fixed yet */

typedef struct seen { /* an external read */
    key_id key;
    op_id op;
    uint32_t value; /* what it returned; once resolved, the place of the writer */
    uint32_t next;  /* once resolved: the version behind that one in checker.by_key, or NO_ID if
                       nobody has looked */
} seen;

typedef struct version { /* of a list key: its content is text[base .. base + len) */
    uint32_t place, base, len;
    bool scalar; /* one plain value, no list */
    bool set;    /* rests on a write or delete, not on the initial content */
} version;

typedef struct seq { /* the content of a list key, or of a value */
    const value_id *at;
    uint32_t n;
    bool scalar;
} seq;

typedef struct hint {
    bool given, init;
    label from;
} hint;

typedef struct installers { /* of each key: their places, rising, and what they installed */
    uint32_t *first, *place;
    value_id *value;
} installers;

typedef struct checker {
    const claim *v;
    const history *h;
    mem *m;
    const char *why;
    uint64_t steps;

    uint32_t n;         /* transactions of the order */
    uint32_t *place;    /* per transaction; 0: takes no part */
    uint32_t *snapshot; /* per place, under what modules added: the commits before its begin; or
                           NULL */
    uint32_t *dep_first, *dep; /* of place p, the places that modules say it depends on:
                                  dep[dep_first[p]..dep_first[p + 1]); NULL: nothing was added */
    uint32_t *so_pred; /* per place: that of the committed transaction before it in its session */
    uint8_t *is_list;  /* per key: appended to, or read as a list */
    uint8_t *exists;   /* per key: written by anyone, or not surely absent at first */
    uint8_t *open;     /* per key: unknown initial value */
    value_id *init;    /* per key */

    /* All writes, deletes and appends of whatever status: those of t are [w_first[t],
       w_first[t+1]), by key and then by operation; the last one of a key is installed.  Those of
       aborted transactions that take part with their reads stand after all others, where only
       recheck_own and recheck_wrote find them; local_first is NULL if there are none. */
    uint32_t *w_first, *local_first;
    VEC(key_id) w_key;
    op_id *w_op;
    txn_id *w_txn;
    uint32_t *slot, *w_next; /* (key, value) -> index + 1, and the next one of the same pair;
                                made only where it is needed: recheck_index_values */
    size_t mask;

    uint32_t *choice, *choice_first; /* indices of v->choices by op and key; NULL: none */

    VEC(seen) reads; /* of place p: [r_first[p], r_first[p+1]) */
    uint32_t *r_first;

    installers by_key;

    uint32_t *v_first; /* versions of a list key, the initial one first; NULL: no list keys */
    version *versions;
    VEC(value_id) text;

    uint32_t *last, *stamp, epoch; /* per key: see above; valid if stamp[k] == epoch */
    uint32_t *source;              /* per place: the place that last counted it as a source */
    uint32_t *session_last;        /* RA: as last[], of the session so far */
    uint8_t *used;                 /* per write: occurs in the list at hand */

    /* recheck_load_rows, of mixtures; else NULL.  Per transaction: enum mixed_row; at mixed-pg, is
       it serializable; per key: some transaction deletes it physically, and `deletes`: any key. */
    uint8_t *row, *serial, *lax;
    bool deletes;

    txn_id from, to; /* the edge or read at hand, and whether it was found */
    key_id key;
    value_id value;
    bool found;
} checker;

/* What is to be done with a value that t was given for k; false stops. */
typedef bool (*read_fn)(checker *c, txn_id t, op_id o, key_id k, value_id x);

static inline value_id plain(value_id x)
{
    return x == VALUE_EMPTY ? VALUE_NULL : x;
}

static inline seq content(const history *h, const value_id *x)
{
    if (*x == VALUE_NULL || *x == VALUE_EMPTY) return (seq){NULL, 0, false};
    atom a = value_atom(h, *x);
    if (a.kind != ATOM_LIST) return (seq){x, 1, true};
    return (seq){h->elements.at + a.as.offset, a.len, false};
}

static inline bool same(seq a, seq b)
{
    return a.n == b.n && a.scalar == b.scalar && (!a.n || !memcmp(a.at, b.at, a.n * sizeof *a.at));
}

static inline bool contains(seq a, value_id e)
{
    for (uint32_t i = 0; i < a.n && !a.scalar; i++)
        if (a.at[i] == e) return true;
    return false;
}

/* Is write w of an aborted transaction that takes part with its reads alone (H-9)? */
static inline bool write_is_local(const checker *c, uint32_t w)
{
    return op_is_local_write(c->h, c->w_op[w]);
}

/* Is write w the one that its transaction installs (H-5: the last of its key)? */
static inline bool installed(const checker *c, uint32_t w)
{
    if (write_is_local(c, w)) return false;
    return w + 1 == c->w_first[c->w_txn[w] + 1] || c->w_key.at[w + 1] != c->w_key.at[w];
}

/* False, with the reason; t may be NO_ID. */
bool recheck_no(checker *c, txn_id t, const char *what);
/* Counts steps; true, with the reason, if there were too many. */
bool recheck_too_large(checker *c, uint64_t steps);

/* recheck_view.c: what the history says. */
void recheck_load_writes(checker *c);
void recheck_load_keys(checker *c);
void recheck_index_values(checker *c);
uint32_t recheck_wrote(const checker *c, key_id k, value_id x);
uint32_t recheck_own(const checker *c, txn_id t, key_id k, op_id o, uint32_t *lo);
op_id recheck_own_statement(const checker *c, txn_id t, key_id k, op_id o);
uint32_t recheck_install(const checker *c, txn_id t, key_id k);
bool recheck_sets(const checker *c, uint32_t lo, uint32_t hi);
bool recheck_strip(const checker *c, uint32_t lo, uint32_t hi, seq *x);
bool recheck_own_value(const checker *c, uint32_t lo, uint32_t hi, seq x);
int recheck_internal(const checker *c, txn_id t, op_id o, key_id k, value_id x);
hint recheck_hint(const checker *c, op_id o, key_id k);
bool recheck_allowed(const checker *c, op_id o, hint x, bool absent, uint32_t w);
bool recheck_malformed(const history *h, const range *r);
bool recheck_duplicates(const checker *c, key_id k, value_id x);
bool recheck_predicate(const history *h, op_id o, key_id k);
bool recheck_visit(checker *c, txn_id t, read_fn fn);

/* recheck.c: did t read what nobody ever wrote (C-1)?  Keys of known initial value only. */
bool recheck_garbage(const checker *c, txn_id t, op_id o, key_id k, value_id x);

/* recheck.c: lists.  The content of a version; all that t did to k, applied to the version whose
   content ends c->text; the version of k that place p installs, or NO_ID. */
seq recheck_content(const checker *c, const version *x);
void recheck_apply(checker *c, txn_id t, key_id k, version *x);
uint32_t recheck_version_at(const checker *c, key_id k, uint32_t p);

/* recheck.c: visible installers. */
void recheck_see(checker *c, uint32_t p2);
bool recheck_see_for(checker *c, uint32_t p2, uint32_t p3);
bool recheck_read_ok(checker *c, uint32_t p3, uint32_t i);

typedef struct instant {
    int64_t at;
    uint32_t place, bound; /* bound: least place from here on, or largest up to here */
} instant;

/* recheck_strong.c: the places of all transactions by the time at which they ended, or began. */
instant *recheck_sort_ends(checker *c, uint32_t *n);
instant *recheck_sort_begins(checker *c, uint32_t *n);
void recheck_load_installers(checker *c);
bool recheck_real_time(checker *c);
bool recheck_stamp(const history *h, txn_id t, unsigned which, int64_t *at);
/* Of a read by place p3: the place of the next version of the key, p3 aside; UINT32_MAX: none. */
uint32_t recheck_next_installer(const installers *x, const seen *r, uint32_t p3);
uint32_t recheck_installer_before(const installers *x, key_id k, uint32_t p);

/* recheck_single.c: linearizable is about single operations, and session order counts between
   those on one key.  False, with the reason: the level says nothing of the history. */
bool recheck_single(checker *c);
/* The key of a transaction that is one operation, or a read and then a write of one key; NO_ID: it
   did nothing. */
key_id recheck_single_key(const history *h, txn_id t, bool *larger);
/* Are they of one session, and of the same part of it at this level? */
bool recheck_same_session(const checker *c, txn_id a, txn_id b);

/* recheck_mixed.c: false, with the reason, if a transaction names a level that has no row. */
bool recheck_load_rows(checker *c);
/* Has every transaction that may have committed a row of the mixture?  Else the level says nothing
   of the history, and no other level settles it.  True of levels that are no mixture. */
bool recheck_mixture_defined(const history *h, enum level_id level);
bool recheck_serial_among(checker *c);
bool recheck_causal(checker *c); /* recheck_causal.c */
bool recheck_graph(checker *c);  /* recheck_graph.c */
/* recheck_split.c; what: the values of c->reads, which by then name writers */
bool recheck_split(checker *c, const value_id *what);
/* recheck_paths.c: levels of paths of many steps, by clocks; *done: it was not too large. */
bool recheck_paths(checker *c, const installers *x, bool *done);
/* recheck_words.c: the definition of the claim, on its order; is it one that can be read? */
bool recheck_words(checker *c);
bool recheck_words_known(checker *c);
bool recheck_updates(checker *c); /* recheck_updates.c */
bool recheck_strong(checker *c);  /* recheck_strong.c */
bool recheck_session(checker *c); /* recheck_session.c */
/* recheck_violated.c; recheck_committed: t did, or those that did and are named saw its writes. */
bool recheck_violated(checker *c);
bool recheck_committed(checker *c, txn_id t);
/* recheck_repeated.c: violated, by a key that one transaction read twice.  a and b: reads of t that
   the level does not allow together. */
bool recheck_repeated(checker *c);
bool recheck_two_versions(const checker *c, enum level_id level, const seen *a, const seen *b,
                          txn_id t);
bool recheck_trusted(checker *c); /* recheck_trusted.c: by timestamps */
/* recheck_assumed.c: the order of events keeps what modules added. */
bool recheck_assumed(checker *c);
bool recheck_takes_additions(enum level_id level);
/* Why the level does not take what this history has of it; NULL: it does. */
const char *recheck_refuses_additions(const checker *c);
/* Has the transaction a begin of its own?  In a mixture those of snapshot isolation have. */
bool recheck_begins_apart(const checker *c, txn_id t);
/* without_points.c: the same demands on the order of transactions; NULL: no order meets them. */
struct additions *recheck_without_points(checker *c);
/* Do begins have places of their own at this level? */
bool recheck_orders_begins(enum level_id level);

#endif
