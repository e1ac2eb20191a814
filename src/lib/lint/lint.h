/*
 * lint.h - what makes a verdict on a history weak or meaningless, and what a history is made of.
 *
 * Three depths.  facts_gather counts what `check` needs on every run: linear, a few passes over
 * the operations; lint_cheap reads the cheap findings off it.  lint_run adds the expensive ones
 * and, for each finding, how often and where.  shape_gather is for `stat`.  One table (lints.def)
 * names every finding; lint_fix repairs those whose repair cannot change what the database did.
 */
#ifndef RATEL_LINT_LINT_H
#define RATEL_LINT_LINT_H

#include "history/history.h"

enum lint_id {
#define LINT(ID, function, name, severity, cost, fix, text, advice) LINT_##ID,
#include "lint/lints.def"
#undef LINT
    LINTS
};

enum lint_severity { LINT_NOTE, LINT_WARNING, LINT_MEANINGLESS };
enum lint_cost { LINT_CHEAP, LINT_DEAR, LINT_ASKED };

typedef struct lint_info {
    const char *name;
    enum lint_severity severity;
    enum lint_cost cost;
    const char *fix; /* NULL: there is none */
    const char *text, *advice;
} lint_info;
const lint_info *lint_at(size_t i); /* NULL past the end */

/* A set of findings. */
typedef uint64_t lint_set;
static inline lint_set lint_bit(enum lint_id id)
{
    return (lint_set)1 << id;
}

/* --- counting (facts.c) ----------------------------------------------------------------------- */

typedef struct facts {
    uint64_t txns, ops, aborted, unknown, sessions, keys;
    uint64_t active_sessions; /* that committed something */
    uint64_t reads, writes, deletes, appends, scans, iterators, rows, failed;
    uint64_t empty_txns, read_only, write_only;
    uint64_t duplicate_writes, hot_key_ops, max_txn_ops;
    uint64_t with_times, with_hints, max_concurrency, keys_written_twice;
    key_id hot_key;
    bool concurrent; /* may two transactions overlap? */

    uint64_t unanswered;   /* point reads without a result */
    uint64_t init_writes;  /* writes of the initial value of their key */
    uint64_t mixed_keys;   /* appended to, and written or deleted */
    bool contended_read;   /* some read of a key that two transactions write */
    bool shared_read;      /* some read of a key that another session writes */
    bool seen_written;     /* some read returned something else than the initial state */
    uint64_t impossible;   /* transactions that end before they begin */
    uint64_t backwards;    /* ... that begin before their predecessor in the session began */
    uint64_t overlaps;     /* ... that begin before an earlier one of it ended */
    uint64_t untimed;      /* committed ones without both times, where others have them */
    bool constant_times;   /* more than one transaction is timed, all with the same times */
    uint64_t all_sessions; /* with a transaction */
    uint64_t empty_sessions, session_gaps;
    uint64_t failed_sessions; /* without a commit, though no client crashed there */
    txn_id init_txn;          /* looks like the initial state, or NO_ID */
    bool init_certain;        /* and the file proves it */
} facts;
void facts_gather(facts *f, const history *h, mem *m);
/* Only what needs no memory: transactions, operations, sessions, keys. */
void facts_count(facts *f, const history *h);
/* The cheap findings. */
lint_set lint_cheap(const facts *f, const history *h);

/* --- findings (lint.c, costly.c) ----------------------------------------------------------------
   */

typedef struct finding {
    enum lint_id id;
    uint64_t count;
    const char *unit; /* what is counted */
    char *example;    /* a clause about the first one, or "" */
    txn_id txn[2];    /* the transactions it names, or NO_ID */
    key_id key;       /* or NO_ID */
} finding;

typedef struct lint {
    const history *h;
    mem *m; /* owns the findings */
    facts f;
    VEC(finding) findings; /* in the order of the table */
} lint;

void lint_run(lint *l, const history *h, mem *m);

/* --- repairs (fix.c) -------------------------------------------------------------------------- */

/* What was done, for each kind of repair. */
typedef struct fixes {
    lint_set want; /* which repairs */
    txn_id init;   /* the transaction that the caller says is the initial state, or NO_ID */
    uint64_t count[LINTS];
} fixes;
/* A new history, not yet frozen, in `to` (empty): h with the repairs. */
void lint_fix(history *to, const lint *l, fixes *x, mem *work);

/* --- for stat (distributions.c)
   ----------------------------------------------------------------------- */

#define SHAPE_BINS 48
#define SHAPE_HOT 10
#define SHAPE_CLASSES 8

typedef struct hot_key {
    key_id key;
    uint32_t reads, writes;
} hot_key;

typedef struct shape {
    /* concurrency: mean number of open transactions in each slice of [first, last] */
    int64_t first, last;
    uint64_t timed;
    double open[SHAPE_BINS];
    uint64_t sizes[SHAPE_CLASSES]; /* transactions of 0, 1, 2, 3-4, 5-8, 9-16, 17-32, more */
    hot_key hot[SHAPE_HOT];        /* busiest first */
    uint64_t n_hot;
    uint64_t touches, top1, top10; /* operations on keys; on the busiest 1% and 10% of them */
    uint64_t session_min, session_median, session_max; /* committed transactions */
    uint32_t big_session, small_session;
    uint64_t sources[SHAPE_CLASSES]; /* reads with 0, 1, 2, 3-4, 5-8, ... possible writers */
    uint64_t most_sources;
    bool has_sources;
} shape;
/* `ambiguous`: some value of a key was written twice, or equals its initial one. */
void shape_gather(shape *s, bool ambiguous, const history *h, mem *m);

#endif
