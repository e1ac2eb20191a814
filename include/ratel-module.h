/*
 * ratel-module.h - a module: rules of your own, for ratel to check a history under.
 *
 * A module is a shared object that defines one function, ratel_module_entry, or a ratel_module in a
 * program that uses the library (ratel_module_add of ratel.h).  It needs no library: everything is
 * asked of the host, a table of functions that its hooks are given.
 *
 *     cc -shared -fPIC -o FILE.so FILE
 *     ratel check --module ./FILE.so:key=value history.jsonl
 *
 * Both hooks may be absent.  `map` changes operations before anything is derived from them;
 * `extend` sees the history, which is then fixed, and adds edges, clauses and choices.  A hook
 * returns 0, or anything else after host->refuse.  What a module adds is an assumption: the answer,
 * its explanation and its certificate list it with the reason that the module gives.
 * doc/modules.md is the tutorial.
 *
 * Numbers: transactions, operations, keys and values of a history are counted from 0.  Values and
 * keys are equal if and only if their numbers are.  Nothing in this header is a macro with effects,
 * a bit field or a variable argument list, so that other languages can bind to it.
 *
 * The interface has a number, RATEL_MODULE_ABI.  A host takes modules of its own number; functions
 * are only ever added at the end of the host's table, whose size says which of them are there.
 */
#ifndef RATEL_MODULE_H
#define RATEL_MODULE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RATEL_MODULE_ABI 1
#define RATEL_NO_NUMBER 0xffffffffu /* no transaction, no operation, no key */
#define RATEL_NO_TIME INT64_MIN     /* a time that was not recorded */

/* The events of a transaction, and helper points, which are nothing but places in the order. */
enum { RATEL_BEGIN = 0, RATEL_COMMIT = 1, RATEL_POINT = 2 };
/* RATEL_ORDERS: the first event stands before the second.  RATEL_DEPENDS: from a commit to a begin,
   and the second transaction saw the first, as the next one of a session does. */
enum { RATEL_ORDERS = 0, RATEL_DEPENDS = 1 };
/* The outcome of a transaction. */
enum { RATEL_COMMITTED_TXN = 0, RATEL_ABORTED_TXN = 1, RATEL_UNKNOWN_TXN = 2 };
/* Kinds of operations. */
enum {
    RATEL_OP_READ = 0,
    RATEL_OP_WRITE = 1,
    RATEL_OP_DELETE = 2,
    RATEL_OP_APPEND = 3,
    RATEL_OP_SCAN = 4,
    RATEL_OP_ITERATE = 5
};
/* Bits of ratel_module_op.flags. */
enum {
    RATEL_FLAG_LOCKS = 1,     /* a locking read */
    RATEL_FLAG_FAILED = 2,    /* the statement failed: it neither read nor wrote */
    RATEL_FLAG_TOMBSTONE = 4, /* written or read as a tombstone */
    RATEL_FLAG_ABSENT = 8,    /* the value is that the key does not exist */
    RATEL_FLAG_UNKNOWN = 16,  /* a read whose result nobody recorded */
    RATEL_FLAG_VERSION = 32   /* `version` is the place in the key's version order */
};

typedef struct ratel_module_txn {
    uint32_t session;
    uint32_t status; /* RATEL_COMMITTED_TXN, ... */
    uint32_t first_op, ops;
    int64_t begin, begin_return, commit, end; /* client times: call and return of begin and commit;
                                                 RATEL_NO_TIME if not recorded */
    int64_t start_ts, commit_ts;              /* of the database */
} ratel_module_txn;

typedef struct ratel_module_op {
    uint32_t kind, flags;
    uint32_t txn;
    uint32_t key;   /* RATEL_NO_NUMBER for scans and iterators, which have rows */
    uint32_t value; /* of a read or write */
    uint32_t rows;  /* of a scan or iterator */
    int64_t version;
} ratel_module_op;

typedef struct ratel_module_edge {
    uint32_t from, to;       /* transactions, or points */
    uint32_t from_at, to_at; /* RATEL_BEGIN, RATEL_COMMIT, RATEL_POINT */
    uint32_t kind;           /* RATEL_ORDERS, RATEL_DEPENDS */
} ratel_module_edge;

typedef struct ratel_module_call ratel_module_call; /* one call of a hook; the host's */

/* What a hook may ask and say.  Texts are written to buffers, cut if need be, and always end with
   a 0; the length of the whole text is returned, or -1 if there is none.  Numbers out of range
   give 0, RATEL_NO_NUMBER or -1. */
typedef struct ratel_module_host {
    uint32_t abi, size;

    /* --- the history, in both hooks --- */
    uint32_t (*txns)(ratel_module_call *c);
    uint32_t (*ops)(ratel_module_call *c);
    uint32_t (*keys)(ratel_module_call *c);
    uint32_t (*sessions)(ratel_module_call *c);
    int (*txn)(ratel_module_call *c, uint32_t txn, ratel_module_txn *out); /* 1: there is one */
    int (*op)(ratel_module_call *c, uint32_t op, ratel_module_op *out);
    int (*row)(ratel_module_call *c, uint32_t op, uint32_t row, uint32_t *key, uint32_t *value);
    /* The i-th transaction of a session, in session order; RATEL_NO_NUMBER past the end. */
    uint32_t (*session_txn)(ratel_module_call *c, uint32_t session, uint32_t i);
    int (*txn_name)(ratel_module_call *c, uint32_t txn, char *out, size_t size);
    int (*key_text)(ratel_module_call *c, uint32_t key, char *out, size_t size);
    int (*value_text)(ratel_module_call *c, uint32_t value, char *out, size_t size);
    /* 1: the value is an integer of 64 bits. */
    int (*value_int)(ratel_module_call *c, uint32_t value, int64_t *out);
    /* The JSON text of a free attribute of a transaction, or (RATEL_NO_NUMBER) of the header. */
    int (*attribute)(ratel_module_call *c, uint32_t txn, const char *name, char *out, size_t size);
    /* The transaction of that name, or RATEL_NO_NUMBER. */
    uint32_t (*txn_named)(ratel_module_call *c, const char *name);
    /* What the user set in `--module FILE:key=value,...`, or NULL. */
    const char *(*setting)(ratel_module_call *c, const char *key);

    /* --- who may have read from whom, in extend --- */
    /* The transactions that installed a version of the key; how many there are is returned, and
       at most `most` of them are written. */
    uint32_t (*writers)(ratel_module_call *c, uint32_t key, uint32_t *out, uint32_t most);
    /* The transactions that an operation, a read, may have read the key from; RATEL_NO_NUMBER
       stands for the initial state.  A scan: one key of its rows. */
    uint32_t (*sources)(ratel_module_call *c, uint32_t op, uint32_t key, uint32_t *out,
                        uint32_t most);

    /* --- additions, in extend --- */
    uint32_t (*point)(ratel_module_call *c); /* a new helper point */
    /* All of these edges are true. */
    void (*add)(ratel_module_call *c, const ratel_module_edge *edges, uint32_t n,
                const char *reason);
    /* At least one of n sets is true; sizes[i] edges of `edges` are the i-th set. */
    void (*choose)(ratel_module_call *c, const ratel_module_edge *edges, const uint32_t *sizes,
                   uint32_t n, const char *reason);

    /* --- changes, in map --- */
    void (*drop)(ratel_module_call *c, uint32_t op); /* as if it had not happened */
    /* The value is that the key does not exist: a write becomes a delete, a row is not returned. */
    void (*absent)(ratel_module_call *c, uint32_t op);
    void (*row_absent)(ratel_module_call *c, uint32_t op, uint32_t row);
    /* The operation, and those after it, become a transaction of their own, which the session runs
       next.  Refused for transactions of unknown outcome. */
    void (*split)(ratel_module_call *c, uint32_t op);
    /* The operation happens before all others of its transaction that are not moved so: in its
       first part, if it is split. */
    void (*early)(ratel_module_call *c, uint32_t op);

    /* --- ending --- */
    /* Not 0: a limit was reached or the user asked to stop; the hook should return. */
    int (*poll)(ratel_module_call *c);
    /* The hook cannot do its work on this history; it returns after that. */
    void (*refuse)(ratel_module_call *c, const char *why);
} ratel_module_host;

typedef struct ratel_module {
    uint32_t abi;      /* RATEL_MODULE_ABI */
    uint32_t size;     /* sizeof(ratel_module) */
    const char *name;  /* how answers name it: letters, digits, - and _ */
    const char *about; /* one sentence */
    int (*map)(const struct ratel_module *self, const ratel_module_host *host,
               ratel_module_call *c);
    int (*extend)(const struct ratel_module *self, const ratel_module_host *host,
                  ratel_module_call *c);
    void *user; /* the module's own; the host does not look at it */
} ratel_module;

/* The one function that a shared object defines. */
typedef const ratel_module *(*ratel_module_entry_fn)(void);
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const ratel_module *
ratel_module_entry(void);

#ifdef __cplusplus
}
#endif
#endif
