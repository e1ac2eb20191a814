/*
 * statement_replay.h - a log executed at READ COMMITTED, statement by statement.
 *
 * Shows that a log holds, never that it does not: a statement that gets no place where its answer
 * agrees may have had one that was not tried.
 */
#ifndef RATEL_REFERENCE_STATEMENT_REPLAY_H
#define RATEL_REFERENCE_STATEMENT_REPLAY_H

#include "reference/snapshot_doubts.h"

reference_finding decide_statements(snapshot_replay *r);

#endif
