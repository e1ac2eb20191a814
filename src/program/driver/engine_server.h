/*
 * engine_server.h - an engine that is a library, in a process of its own that can be killed.
 *
 * The process speaks the protocol of `exec:` drivers (doc/drivers.md) as one program for all
 * sessions, and our side of it is exec_driver.c.  So the engine dies as it would with any program
 * that uses it, is opened again by the next process, and the sessions see lost connections.
 */
#ifndef RATEL_DRIVER_ENGINE_SERVER_H
#define RATEL_DRIVER_ENGINE_SERVER_H

#include "driver/driver.h"

/* Opens what d->driver and d->address name in a process of its own; the scheme, address and
   isolation are those of d.  False: d->error says why not. */
bool engine_open_apart(db *d, const char *isolation);

#endif
