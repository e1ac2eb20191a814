/*
 * exec_driver.h - drivers that are programs of their own; doc/drivers.md describes the protocol.
 *
 * What a driver declares in its hello, and the exchange of one request and its answer.  driver.h's
 * functions are in exec_driver.c; `ratel driver-check` also asks what they never would.
 */
#ifndef RATEL_DRIVER_EXEC_DRIVER_H
#define RATEL_DRIVER_EXEC_DRIVER_H

#include "driver/driver.h"
#include "driver/exec_child.h"

enum { EXEC_PROTOCOL = 1, EXEC_CONTRACTS = 16 };

enum exec_operation {
    EXEC_GET = 1,
    EXEC_PUT = 2,
    EXEC_APPEND = 4,
    EXEC_DELETE = 8,
    EXEC_BURY = 16, /* deletes that leave a tombstone */
    EXEC_RANGE = 32,
    EXEC_LOCK = 64, /* get can lock */
    EXEC_SQL = 128, /* script and query */
    EXEC_ADD = 256,
    EXEC_SAVEPOINT = 512,
    EXEC_AUTOCOMMIT = 1024, /* operations outside of a transaction */
    EXEC_REVERSE = 2048     /* range can begin at its end */
};

typedef struct exec_hello {
    unsigned operations; /* enum exec_operation */
    unsigned snapshot;   /* enum db_statement */
    bool many;           /* one program serves all sessions */
    bool inside;         /* the data are in the program and end with it */
    bool files;          /* the data are in files of which the program is the engine */
    bool text;           /* numbers are sent as strings */
    bool never_waits;    /* with one call at a time, no call waits for another session */
    uint32_t most;       /* sessions; 0: any number */
    uint32_t timeout_ms;
    char driver[64], engine[64];
    strbuf isolations; /* with spaces between */
    contract contracts[EXEC_CONTRACTS];
    uint32_t n_contracts;
} exec_hello;

typedef struct exec_own {
    exec_warden warden;
    char **words, **environment;
    uint32_t timeout_ms; /* of the command line; 0: what the hello says */
    exec_hello hello;
    driver driver;     /* as the hello describes it */
    exec_child keeper; /* makes and drops the table; with `many` also serves the sessions */
    bool kept;         /* the keeper is there */
    bool tables;       /* a script has made tables */
    pthread_mutex_t lock;
    struct exec_conn *alone; /* the sessions that have a program of their own */
    uint32_t generation;     /* of the keeper: how often it was started */
    uint32_t busy;           /* sessions that are asking the keeper something */
    bool down;         /* killed by a fault: only the session that looks after it may connect */
    uint32_t sessions; /* that are connected or about to be */
    uint32_t numbers;  /* sessions that were ever connected */
    uint32_t deaths;   /* in a row, before a session was connected */
    bool wrong;        /* a driver broke the protocol or failed in a commit: why */
    char why[DB_ERROR];
} exec_own;

/* One exchange at a time with one program. */
typedef struct exec_talk {
    exec_own *own;
    exec_child *child;
    uint32_t generation; /* of the keeper, that it talks to; 0: it talks to a program of its own */
    mem *mem;
    strbuf out, in;
    exec_json json; /* of the answer */
    char *error;    /* DB_ERROR bytes */
    uint64_t id;
    const char *op;
    uint32_t session; /* 0: none */
    uint32_t timeout_ms;
} exec_talk;

void exec_talk_init(exec_talk *t, exec_own *o, exec_child *c, mem *m, char *error);
void exec_talk_free(exec_talk *t);
/* Begins a request; members may be added to t->out. */
void exec_talk_begin(exec_talk *t, const char *op);
void exec_talk_number(exec_talk *t, const char *name, int64_t value);
/* Ends and sends it; the answer is in t->json. */
enum db_answer exec_talk_send(exec_talk *t);
/* The answer is done, but not as the protocol wants it. */
enum db_answer exec_talk_blame(exec_talk *t, const char *what);

/* Opens an engine of ours in a process of its own, which speaks the protocol (engine_server.h), so
   that it can be killed.  d->driver is the engine's adapter; false: d->error says why not. */
bool exec_open_engine(db *d, const exec_kind *kind);

/* Splits a command into words: spaces separate, quotes and backslashes keep together. */
bool exec_words(mem *m, const char *text, char ***out, size_t *n, char *error);

/* The talk of a session of an exec: database. */
exec_talk *exec_session_talk(db_session *s);

#endif
