/*
 * narrow.h - few transactions that violate a level by themselves, whatever the level.
 *
 * core.h does this from the proof of a level that has one; here the level is simply decided again
 * on parts of the history (subhistory.h), which get smaller as long as they stay violated.  For
 * most levels a violated part means a violated history; the caller checks that again in any case.
 */
#ifndef RATEL_VERDICT_NARROW_H
#define RATEL_VERDICT_NARROW_H

#include "verdict/verdict.h"

/* v: a violation.  False: nothing was found.  keep and work are of the trials; the caller opens and
   frees them, since a limit may strike at any time. */
bool narrow(const verdict *v, const history *h, mem *keep, mem *work, mem *m, txn_ids *out);

#endif
