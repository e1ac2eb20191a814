/*
 * serial_among.h - the serializable transactions of a mixture among themselves (`mixed-pg`).
 */
#ifndef RATEL_DECIDE_LAZY_SERIAL_AMONG_H
#define RATEL_DECIDE_LAZY_SERIAL_AMONG_H

#include "decide/lazy/lazy_state.h"

void among_start(lazy *z);
/* Queues choices that must be looked at again; false if nothing has changed. */
bool among_look_again(lazy *z);
/* Do they form a cycle, with nothing queued?  *answer as cb_decide's. */
bool among_broken(lazy *z, uint32_t *answer);
bool among_clean(const lazy *z);

#endif
