/*
 * durable.h - which commits were acknowledged, and whether a database that was killed has them.
 *
 * After a kill, while nobody writes, a key is read.  Its value was written by W.  If W's commit had
 * returned before T began, and T wrote the same key and was acknowledged, then T came later and its
 * write is lost: the database should have T's value or a later one.  Of lists, every element that
 * was acknowledged must be there.  That holds at every level, since it is about what is on the disk
 * and not about what others may see.  Transactions of unknown outcome may be there or not.
 */
#ifndef RATEL_WORK_DURABLE_H
#define RATEL_WORK_DURABLE_H

#include "driver/driver.h"

typedef struct durable durable;

/* One write of a transaction; of several of one key the last counts, but all of a list. */
typedef struct durable_write {
    int64_t key, value;
    bool deletes, appends;
} durable_write;

/* These rows are there at first; it lives in that region. */
durable *durable_open(mem *m, const db_row *rows, size_t n);
void durable_close(durable *d);
/* A transaction has ended, by an acknowledgement or in a way that is not known.  Any thread may
   call; false: there is no memory any more. */
bool durable_note(durable *d, uint64_t id, uint64_t began, uint64_t returned, bool known,
                  const durable_write *w, size_t n);
/* The keys that were written last by acknowledged commits, the newest first, at most `cap`. */
size_t durable_keys(durable *d, int64_t *keys, size_t cap);
/* How many commits with writes were acknowledged. */
uint64_t durable_acknowledged(durable *d);
/* Is what a session has just read of this key (driver.h) a sign of a lost commit?  Then `why` says
   which.  `lists`: the value is the text of a list. */
bool durable_lost(durable *d, int64_t key, const db_session *s, bool lists, char *why, size_t cap);

#endif
