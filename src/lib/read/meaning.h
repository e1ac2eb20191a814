/*
 * meaning.h - whether two histories say the same to every level.
 *
 * Ids of sessions and transactions, names of keys, and values may have other names, as long as
 * equal things stay equal; everything that a verdict can depend on must be there: what was done in
 * which session and with which outcome, what was there at first, the real-time order, the
 * database's timestamps, hints, locks, levels of transactions.
 */
#ifndef RATEL_READ_MEANING_H
#define RATEL_READ_MEANING_H

#include "history/history.h"

/* What may differ, and what is counted.  (Order is that of the message.) */
#define CHANGE_LIST(X)                                                                             \
    X(SESSIONS, "sessions", "sessions")                                                            \
    X(TXNS, "transactions", "transactions")                                                        \
    X(OUTCOMES, "outcomes", "transactions")                                                        \
    X(OPERATIONS, "operations", "transactions")                                                    \
    X(RESULTS, "which values are equal", "operations")                                             \
    X(INIT, "the initial state", "keys")                                                           \
    X(RANGES, "ranges of scans", "scans")                                                          \
    X(TIMES, "the order in real time", "transactions")                                             \
    X(STAMPS, "the database's timestamps", "transactions")                                         \
    X(LEVELS, "levels of transactions", "transactions")                                            \
    X(HINTS, "hints and version positions", "operations")                                          \
    X(LOCKS, "locks of reads", "operations")                                                       \
    X(TOMBSTONES, "tombstones", "operations")                                                      \
    X(UNDONE, "what savepoints took back", "operations")                                           \
    X(SUMS, "counters and banks", "transactions")
enum change {
#define X(name, text, unit) CHANGE_##name,
    CHANGE_LIST(X)
#undef X
        CHANGE_COUNT
};

typedef struct changes {
    uint64_t n[CHANGE_COUNT];
} changes;

/* What differs between two frozen histories, the second of which was made of the first. */
void meaning_compare(const history *a, const history *b, mem *m, changes *out);
bool meaning_same(const changes *x);
/* "the initial state (3 keys), locks of reads (1 operation)" */
void meaning_text(const changes *x, strbuf *out);

#endif
