/*
 * oracle_levels.h - the levels at which the oracle and the product are compared on every history.
 *
 * The weak ones come first, then those that are decided as orders (from STRONG on), those of cycles
 * in a graph (GRAPH), and the mixtures, at which transactions name levels of their own (MIXED).
 */
#ifndef RATEL_TEST_ORACLE_LEVELS_H
#define RATEL_TEST_ORACLE_LEVELS_H

static const char *const levels[] = {"read-uncommitted",
                                     "read-committed",
                                     "monotonic-atomic-view",
                                     "read-atomic",
                                     "causal",
                                     "serializable",
                                     "snapshot-isolation",
                                     "strict-serializable",
                                     "cursor-stability",
                                     "monotonic-view",
                                     "consistent-view",
                                     "repeatable-read",
                                     "prefix",
                                     "update-atomic",
                                     "no-lost-update",
                                     "parallel-snapshot-isolation",
                                     "update-serializable",
                                     "read-your-writes",
                                     "monotonic-reads",
                                     "monotonic-writes",
                                     "writes-follow-reads",
                                     "generalized-snapshot-isolation",
                                     "prefix-consistent-snapshot-isolation",
                                     "strong-snapshot-isolation",
                                     "forward-consistent-view",
                                     "realtime-snapshot-isolation",
                                     "realtime-read-uncommitted",
                                     "realtime-read-committed",
                                     "realtime-cursor-stability",
                                     "realtime-repeatable-read",
                                     "realtime-causal",
                                     "realtime-read-atomic",
                                     "realtime-monotonic-atomic-view",
                                     "realtime-monotonic-view",
                                     "realtime-prefix",
                                     "realtime-update-atomic",
                                     "realtime-no-lost-update",
                                     "realtime-update-serializable",
                                     "realtime-consistent-view",
                                     "realtime-serializable",
                                     "innodb-repeatable-read",
                                     "innodb-repeatable-read-tight",
                                     "mixed",
                                     "mixed-pg",
                                     "realtime-mixed",
                                     "realtime-mixed-pg"};
enum { ORACLE_LEVELS = sizeof levels / sizeof *levels, STRONG = 5, SI = 6, GRAPH = 8, MIXED = 42 };

#endif
