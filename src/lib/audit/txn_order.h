/*
 * txn_order.h - times of transactions, the order that they give, and how sure that order is.
 *
 * Everything here looks at the log alone; the replay in that order is audit_search.h.  Times are
 * those of the log's clock, which may be wrong by audit_options.drift.
 */
#ifndef RATEL_AUDIT_TXN_ORDER_H
#define RATEL_AUDIT_TXN_ORDER_H

#include "audit/replay.h"

/* Invariant, of a log that is right: begin <= seen, call <= end. */
typedef struct txn_times {
    bool known;    /* else the others are 0 */
    int64_t begin; /* the first statement that may take the snapshot was sent */
    int64_t seen;  /* the first statement that surely takes it was answered */
    int64_t call;  /* the commit was sent */
    int64_t end;   /* the commit was answered */
} txn_times;

txn_times times_of(const engine *e, const log_txn *t);
/* Had a ended before b began?  Then real time has a before b. */
bool ended_before(const engine *e, const log_txn *a, const log_txn *b);
/* Had a's commit been answered before b's commit was sent? */
bool committed_before(const engine *e, const log_txn *a, const log_txn *b);
/* May the snapshot of b show what a wrote?  Not if a's commit was sent after it was answered. */
bool may_be_shown_to(const engine *e, const log_txn *a, const log_txn *b);
/* Is it committed, or of unknown outcome and supposed to be? */
bool takes_part(const engine *e, uint32_t txn);
/* The states before and after t are the same: t wrote nothing, or it would have a stamp. */
bool makes_no_state(const engine *e, const log_txn *t);

/* What the log's order is taken from where the database told no commit timestamps: when commits
   were answered, where transactions stand in the log, when commits were sent.  A commit took place
   somewhere between its call and its answer, so that either order may be the wrong one. */
typedef enum order_source {
    ORDER_BY_END,
    ORDER_BY_LINE,
    ORDER_BY_CALL,
    ORDER_SOURCES
} order_source;

/* Fills e->order with those that take part.  Commit timestamps come first in any case. */
void order_sort(engine *e, order_source from);
/* Fills e->order.low and high: the states that real time allows each position to read. */
void order_windows(engine *e);
/* May two transactions change places, of which the log's order has `early` before `late`? */
bool order_may_swap(const engine *e, uint32_t early, uint32_t late);
/* Does the log leave no doubt about its order (of_versions: about that of the versions)? */
bool order_is_fact(const engine *e, bool of_versions);
/* Had each transaction ended before the next one began?  Then real time allows no other order. */
bool order_is_total(const engine *e);
/* Do all transactions belong to one session, so that no other order needs to be tried? */
bool order_is_the_only_one(const engine *e);

#endif
