/*
 * cut_off.h - recordings that were cut off.
 *
 * A recorder that names itself in the header, as the member "recorder", ends its file with the line
 * {"mark":"end",...}.  Where that mark is missing, lines were lost: the disk was full,
 * the recorder was killed, or the copy is incomplete.
 */
#ifndef RATEL_HISTORY_CUT_OFF_H
#define RATEL_HISTORY_CUT_OFF_H

#include "history/history.h"

/* Does the header name a recorder? */
bool history_recorded(const history *h);
/* Does it, and is the end mark missing? */
bool history_cut_off(const history *h);
/* Before history_freeze: makes reads unknown that a lost line may have to explain. */
void history_forget_lost(history *h);

#endif
