/*
 * exec_child.h - one running driver program: lines of requests to it, lines of answers from it.
 *
 * Sessions ask from their own threads.  Of those that wait, one reads for all and gives each its
 * line by the id of the request; no thread is needed besides.  A program that has ended, was too
 * late or broke the protocol is killed at once, with its process group, and everybody who waits is
 * told; it is never asked again.
 */
#ifndef RATEL_DRIVER_EXEC_CHILD_H
#define RATEL_DRIVER_EXEC_CHILD_H

#include <stdatomic.h>

#include "base/strbuf.h"
#include "driver/exec_json.h"
#include "driver/exec_warden.h"

enum { EXEC_WHY = 512, EXEC_KEPT = 240 };

/* The longest line that a program may write. */
#define EXEC_LINE ((size_t)64 << 20)

typedef struct exec_wait exec_wait;

typedef struct exec_child {
    exec_warden *warden;
    exec_process process;
    guard guard;
    mem mem; /* under the lock, like all that follows */
    pthread_mutex_t lock, writing;
    pthread_cond_t changed;
    exec_wait *waits;
    bool reading;     /* somebody reads */
    atomic_bool dead; /* why says why */
    bool wrong;       /* it broke the protocol: another one would do so, too */
    bool killed;      /* we killed it on purpose */
    char why[EXEC_WHY];
    strbuf unfinished;
    exec_json json;
    char kept[EXEC_KEPT]; /* the last it wrote to standard error */
    size_t n_kept;
    uint64_t next_id;
} exec_child;

enum exec_reply { EXEC_ANSWERED, EXEC_DEAD };

/* False: why says why not. */
bool exec_child_start(exec_child *c, exec_warden *w, char *why, size_t cap);
/* Ends the program; nobody may be asking.  It has so many milliseconds to end by itself. */
void exec_child_end(exec_child *c, int grace);

/* An id that no request has had. */
uint64_t exec_child_id(exec_child *c);
/* Sends a whole line, which has this id, and waits for the line that answers it, which replaces
   what is in `answer`.  DEAD: c->why says why there is none. */
enum exec_reply exec_child_ask(exec_child *c, uint64_t id, const char *what, const strbuf *line,
                               uint32_t timeout_ms, strbuf *answer);
/* Kills it with kill -9, for a fault; whoever waits for an answer is told.  Any thread may call. */
void exec_child_kill(exec_child *c);
/* It has answered something that the protocol does not allow. */
void exec_child_blame(exec_child *c, const char *what, const strbuf *answer);

#endif
