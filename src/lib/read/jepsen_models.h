/*
 * jepsen_models.h - Jepsen's tests of registers, mutexes, sets, counters and banks, as
 * transactions.
 *
 * Their operations are no transactions of reads and writes by themselves.  What each becomes, and
 * why that is the same question, is told in doc/formats/others.md.
 */
#ifndef RATEL_READ_JEPSEN_MODELS_H
#define RATEL_READ_JEPSEN_MODELS_H

#include "history/history.h"

/* The history has no transaction, and its marks {"mark":"event",...} are operations of clients.  If
   all of them belong to one of the models they become transactions, and the marks go; false, and
   nothing has changed, if not. */
bool jepsen_models_read(history *h, mem *m);

#endif
