/*
 * temp.h - a private server in a temporary directory, which never outlives us.
 *
 * A warden process of ours starts the server and does nothing but wait on a pipe whose other end
 * only we hold.  When that end closes, by our word or by our death of whatever kind, the warden
 * kills everything it has started and removes the directory.  It is the reaper of all that its
 * children leave behind, so that also servers that fork detached processes end.
 *
 * As root we run the server as an unprivileged user, since servers refuse to run as root.
 */
#ifndef RATEL_DRIVER_TEMP_H
#define RATEL_DRIVER_TEMP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { TEMP_ARGS = 24 };

/* %d in an argument stands for the directory, %u for the user. */
typedef struct temp_spec {
    const char *user;               /* to run as if we are root; else nobody */
    const char *path;               /* where programs are looked for besides PATH, a glob or NULL */
    int stop;                       /* the signal that ends it at once and tidily */
    const char *lock;               /* its lock file, in PostgreSQL's form, or NULL */
    const char *prepare[TEMP_ARGS]; /* run once, to its end; may be empty */
    const char *serve[TEMP_ARGS];
} temp_spec;

typedef struct temp_server {
    bool running;
    int control; /* the warden's pipe */
    int report;  /* what it tells */
    pid_t warden;
    char dir[64];
} temp_server;

bool temp_start(temp_server *t, const temp_spec *s, char *why, size_t cap);
/* Stops the server, removes the directory, waits until that is done. */
void temp_stop(temp_server *t);
/* Has the server ended although nobody stopped it?  Then why says what it wrote last. */
bool temp_ended(temp_server *t, char *why, size_t cap);

enum temp_fault { TEMP_KILL = 'k', TEMP_PAUSE = 'p', TEMP_CONTINUE = 'c' };
/* kill: kill -9 of all its processes and a new start.  Returns when it is done. */
bool temp_fault(temp_server *t, enum temp_fault f);

#endif
