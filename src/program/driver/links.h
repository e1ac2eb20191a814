/*
 * links.h - a proxy of our own between clients and servers, and between servers, that can cut,
 * delay and stall what passes through it.
 *
 * It is a process of the warden's (temp.h), in the network of the servers.  Each link is a socket
 * on which it listens and the socket of a server to which it forwards.  A server that connects to
 * another is recognized by its process, so that one address serves all the others.
 */
#ifndef RATEL_DRIVER_LINKS_H
#define RATEL_DRIVER_LINKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { LINK_NODES = 9, LINKS_MOST = 2 * LINK_NODES };

typedef struct link_spec {
    char listen[100], target[100]; /* a path, or a port of 127.0.0.1 */
    uint8_t node;                  /* of the target */
    bool servers;                  /* servers connect, not clients */
} link_spec;

enum link_act {
    LINK_HEAL,      /* all is as it was; connections that were half open end */
    LINK_CUT,       /* connections end, and new ones at once */
    LINK_STALL,     /* nothing passes, and nothing is lost */
    LINK_DELAY,     /* what is read waits so long */
    LINK_HALF_OPEN, /* connections end for the server; the client hears of it when all is healed */
    LINK_RESET      /* connections end when a commit passes, now before it and now after it */
};

typedef struct link_order {
    uint8_t act;               /* enum link_act */
    bool servers;              /* the links between servers of different groups; else of clients */
    uint8_t group[LINK_NODES]; /* of each node; 0: not concerned */
    uint64_t amount;           /* ns */
} link_order;

/* The environment variable by which a process is known to belong to a node. */
#define LINK_NODE_VARIABLE "RATEL_NODE"

/* Forwards until `control` closes; orders come through it, and each is answered by one byte. */
_Noreturn void links_serve(int control, const link_spec *links, unsigned n);

#endif
