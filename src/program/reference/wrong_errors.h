/*
 * wrong_errors.h - an error 23505 of a log for which no row was there at any moment.
 */
#ifndef RATEL_REFERENCE_WRONG_ERRORS_H
#define RATEL_REFERENCE_WRONG_ERRORS_H

#include "reference/snapshot_doubts.h"

/* How many errors about keys agree only on a state that came after the statement was answered. */
uint32_t errors_out_of_time(const snapshot_replay *r);
/* Of a log that agrees but for errors which did not come: turns *f into a violation if one of them
   comes on no state of its statement's interval.  Else *f stays. */
void find_wrong_error(snapshot_replay *r, reference_finding *f);

#endif
