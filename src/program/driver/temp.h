/*
 * temp.h - private servers in a temporary directory, which never outlive us.
 *
 * A warden process of ours starts the servers and does nothing but wait on a pipe whose other end
 * only we hold.  When that end closes, by our word or by our death of whatever kind, the warden
 * kills everything it has started and removes the directory.  It is the reaper of all that its
 * children leave behind, so that also servers that fork detached processes end.
 *
 * A cluster has several nodes: the first is started with the warden, the others when they are asked
 * for.  Nodes that talk to each other do so in a network namespace of their own, which no other
 * process reaches; clients use Unix sockets in the directory.
 *
 * As root we run the servers as an unprivileged user, since servers refuse to run as root.
 */
#ifndef RATEL_DRIVER_TEMP_H
#define RATEL_DRIVER_TEMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "driver/links.h"

enum { TEMP_ARGS = 64, TEMP_NODES = 9 };

/* %d in an argument stands for the directory, %u for the user, %% for a percent sign. */
typedef struct temp_node {
    const char *lock;               /* its lock file, in PostgreSQL's form, or NULL */
    const char *socket;             /* that it leaves behind if it is killed, or NULL */
    const char *dir;                /* a directory below to be made first, or NULL */
    const char *prepare[TEMP_ARGS]; /* run once, to its end; may be empty */
    const char *serve[TEMP_ARGS];
    const char *first; /* one more argument, at the first start alone; or NULL */
} temp_node;

typedef struct temp_spec {
    const char *user; /* to run as if we are root; else nobody */
    const char *path; /* where programs are looked for besides PATH, a glob or NULL */
    bool only_path;   /* and not in PATH */
    bool network;     /* in a network namespace of their own, with a loopback device */
    int stop;         /* the signal that ends it at once, or 0 */
    int restart;      /* the signal that ends it tidily, for a restart */
    unsigned nodes;   /* 0: there is only the directory */
    temp_node node[TEMP_NODES];
    link_spec link[LINKS_MOST]; /* what goes through a proxy of ours; %d as above */
    unsigned links;
    const char *preload; /* what each server loads first (drivers/server_preload.c), or NULL */
} temp_spec;

typedef struct temp_server {
    bool running;
    int control; /* the warden's pipe */
    int report;  /* what it tells */
    int links;   /* to the proxy; -1: there is none */
    pid_t warden;
    char dir[64];
} temp_server;

/* Adds an argument at the end; false: there is no room. */
bool temp_argument(const char **arguments, const char *more);

/* Starts the warden and the first node. */
bool temp_start(temp_server *t, const temp_spec *s, char *why, size_t cap);
/* Prepares and starts another node. */
bool temp_start_node(temp_server *t, unsigned node, char *why, size_t cap);
/* Stops all nodes, removes the directory, waits until that is done. */
void temp_stop(temp_server *t);
/* Has a server ended although nobody stopped it?  Then why says what it wrote last. */
bool temp_ended(temp_server *t, char *why, size_t cap);

enum temp_fault {
    TEMP_KILL = 'k',    /* kill -9 of all its processes and a new start */
    TEMP_RESTART = 'r', /* a tidy end and a new start */
    TEMP_DOWN = 'x',    /* kill -9, and it stays down */
    TEMP_UP = 'u',      /* a new start of a node that is down */
    TEMP_PAUSE = 'p',
    TEMP_CONTINUE = 'c'
};
/* Returns when it is done. */
bool temp_fault(temp_server *t, unsigned node, enum temp_fault f);
/* Tells the proxy what to do with connections; returns when it does. */
bool temp_links(temp_server *t, const link_order *o);
/* What the library that servers load first does, of a node. */
typedef struct temp_disorder {
    uint64_t full; /* not 0: no file can grow */
    uint64_t fsync_ns;
    int64_t clock_ns;
} temp_disorder;
bool temp_disturb(temp_server *t, unsigned node, const temp_disorder *d);
/* The parent of a process; 0: it is not there. */
pid_t temp_parent(pid_t pid);
/* The environment variable that names the file with a node's temp_disorder. */
#define TEMP_DISORDER_VARIABLE "RATEL_DISORDER"

#endif
