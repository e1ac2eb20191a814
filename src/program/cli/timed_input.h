/*
 * timed_input.h - reading what stands beside histories (certificates, levels, logs, dumps) within
 * --time, also from a pipe that says nothing.
 *
 * Histories are read by the library, which keeps the limit itself.  Here a file is opened without
 * waiting for a writer, and every read waits until there is something, the time is over, or a
 * signal asks us to end.
 */
#ifndef RATEL_CLI_TIMED_INPUT_H
#define RATEL_CLI_TIMED_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* From now on inputs may take so many seconds; 0: no limit. */
void timed_start(double seconds);
/* As fopen(path, "rb"), but never waits. */
FILE *timed_open(const char *path);
/* Bytes that were read, at most cap; 0 at the end, -1 on an error (errno; ETIMEDOUT: the time is
   over).  Nothing else may read the stream. */
ptrdiff_t timed_read(void *buf, size_t cap, FILE *f);
/* The same until the end or cap bytes. */
ptrdiff_t timed_read_all(void *buf, size_t cap, FILE *f);
/* After an error of timed_open or timed_read: says what happened to the file, and returns the exit
   status.  -1, and nothing is said: there was none since timed_start. */
int timed_failure(const char *path);

#endif
