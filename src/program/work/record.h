/*
 * record.h - writes the history of a run as it grows, by a process of its own.
 *
 * Sessions send finished lines through a pipe to the recorder, which writes them to the file.
 * Before a transaction asks for its commit it sends what it has done as an intent.  Whatever ends
 * us, kill -9 too, closes the pipe; the recorder then writes intents that never got their outcome
 * as transactions of unknown status and ends.  So a write that any recorded read can have seen is
 * in the file, and what is in the file is true, whenever the run ended.  The last line is a mark
 * that says so; a file without it was cut off, by a full disk or by somebody who killed the
 * recorder too.
 */
#ifndef RATEL_WORK_RECORD_H
#define RATEL_WORK_RECORD_H

#include <pthread.h>

#include "base/strbuf.h"

typedef struct recorder {
    int pipe;
    pid_t pid;
    pthread_mutex_t lock;
    bool broken; /* the recorder has ended: nothing more can be written */
} recorder;

/* Writes whole lines: 0, or an errno, and then a line of which only a part fitted is taken back. */
int record_write(int fd, const char *text, size_t n);
/* Writes to a descriptor, which the recorder shares with us.  Call before there are threads. */
bool record_start(recorder *r, int output);
/* Finished lines, and the intent of the transaction that is open; either may be empty, and the
   intent replaces the one before.  Lines end with a newline.  `slot` is a small number, one a
   thread. */
bool record(recorder *r, uint32_t slot, const strbuf *lines, const strbuf *intent);
/* Waits until all is written; 0, or the number of the error (errno) that prevented it; -1: the
   recorder has ended without a word. */
int record_end(recorder *r);

#endif
