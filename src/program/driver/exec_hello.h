/*
 * exec_hello.h - reads the command of an `exec:` URL and the hello of its driver.
 */
#ifndef RATEL_DRIVER_EXEC_DRIVER_HELLO_H
#define RATEL_DRIVER_EXEC_DRIVER_HELLO_H

#include "driver/exec_driver.h"

/* Sets o->words, o->environment and o->timeout_ms; false: the error says why. */
bool exec_command(exec_own *o, mem *m, const char *text, char *error);
/* Fills o->hello and the version and settings of d; false: d->error says why. */
bool exec_hello_read(exec_own *o, db *d, const exec_json *j);

#endif
