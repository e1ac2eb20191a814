/* random_history.h - seeded tiny histories in the native format, for differential tests.
 *
 * Profiles: registers-unique, registers-dup, deletes, scans, lists, unknown, hints, times,
 * everything, forks (readers and writers apart: long forks, snapshot anomalies), hints-unknown;
 * also small, lists-dup, lists-set (lists that are written and deleted, too), init-unknown,
 * savepoints (many failed statements and aborted transactions), locks, and mixture (each number
 * from any profile). The same seed and profile always give the same text, on every machine.
 */
#ifndef RATEL_TEST_RANDOM_HISTORY_H
#define RATEL_TEST_RANDOM_HISTORY_H

#include <stddef.h>
#include <stdint.h>

/* A malloc'd, NUL-terminated text of *len bytes; NULL for a profile that does not exist. */
char *random_history(uint64_t seed, const char *profile, size_t *len);

/* The same text with a level for each of many transactions, for mixtures: `"level"` in its line.
 * Takes the text over. Every third one names no repeatable-read, which PostgreSQL does not have. */
char *random_levels(char *text, uint64_t seed, size_t *len);

/* The names of profiles, ended by NULL: those of most suites, and all of them. */
extern const char *const random_profiles[], *const random_shapes[];

/* The same history told otherwise. The verdicts must be the same, but for the last two: what held
 * still holds. */
enum random_telling {
    TOLD_PLAINLY,
    TOLD_RENAMED,        /* keys, values, sessions, transactions; times and positions moved */
    TOLD_INTERLEAVED,    /* the lines of the sessions in another order */
    TOLD_WITH_BYSTANDER, /* and two transactions that have nothing to do with the others */
    TOLD_WITH_FAILED,    /* and a write that failed */
    TOLD_WITH_ABORTED,   /* and an aborted transaction that nobody saw */
    TOLD_WITHOUT_READ,
    TOLD_WITHOUT_READER, /* a read-only transaction */
    TELLINGS
};
/* `drawn` seeds what the telling leaves open. NULL: this history cannot be told so. */
char *random_history_told(uint64_t seed, const char *profile, enum random_telling how,
                          uint64_t drawn, size_t *len);

#endif
