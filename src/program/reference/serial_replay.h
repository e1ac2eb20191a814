/*
 * serial_replay.h - decides a log by serial executions: in the order of the commits, and in others.
 */
#ifndef RATEL_REFERENCE_SERIAL_REPLAY_H
#define RATEL_REFERENCE_SERIAL_REPLAY_H

#include "reference/snapshot_doubts.h"

reference_finding decide_serially(snapshot_replay *r);

#endif
