/* random_history.h - seeded tiny histories in the native format, for differential tests.
 *
 * Profiles: registers-unique, registers-dup, deletes, scans, lists, unknown, hints, times,
 * everything, forks (readers and writers apart: long forks, snapshot anomalies),
 * hints-unknown. The same seed and profile always give the same text, on every machine.
 */
#ifndef RATEL_TEST_RANDOM_HISTORY_H
#define RATEL_TEST_RANDOM_HISTORY_H

#include <stddef.h>
#include <stdint.h>

/* A malloc'd, NUL-terminated text of *len bytes; NULL for a profile that does not exist. */
char *random_history(uint64_t seed, const char *profile, size_t *len);

/* The names of the profiles, ended by NULL. */
extern const char *const random_profiles[];

#endif
