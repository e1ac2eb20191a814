/*
 * driver.h - one small interface to databases; one adapter per file, each an optional feature.
 *
 * A database is opened once, by its URL, and then used by sessions, each in its own thread with
 * its own connection.  All keys are whole numbers in one table; a value is a whole number or, in
 * workloads of lists, a list of them kept as text.
 *
 * Everything lives in a place, a schema or a table, that this run makes under a name of its own,
 * marks by a comment, and removes at its end.  Nothing else in the database is dropped or altered.
 *
 * What an adapter must get right is how a call ended.  A statement that fails leaves a transaction
 * that cannot commit any more, whatever the database says to a later COMMIT: the caller stops and
 * calls abort.  Only commit can leave the outcome unknown.
 */
#ifndef RATEL_DRIVER_DRIVER_H
#define RATEL_DRIVER_DRIVER_H

#include <stdatomic.h>

#include "base/strbuf.h"
#include "driver/temp.h"

enum db_answer {
    DB_OK,
    DB_REFUSED, /* the transaction has no effect, now or later: try another */
    DB_LOST,    /* the connection is gone; if that was in commit, nobody knows the outcome */
    DB_BROKEN   /* nothing that happens under load: no such table, disk full; give up */
};

typedef struct db_row {
    int64_t key, value;
} db_row;

enum db_cell_kind {
    DB_TEXT,   /* as PostgreSQL prints it */
    DB_NUMBER, /* its value counts, not its digits: JSON's form */
    DB_BOOL    /* "true" or "false" */
};

typedef struct db_cell {
    uint32_t at, n; /* in db_session.text; at UINT32_MAX: null */
    uint32_t kind;  /* enum db_cell_kind */
} db_cell;

/* What can take a transaction's snapshot: BEGIN itself, a plain read, a locking read, a write. */
enum db_statement { DB_BEGIN = 1, DB_READ = 2, DB_LOCKING_READ = 4, DB_WRITE = 8 };

/* What is done with a savepoint: it is set, rolled back to, or released. */
enum db_nesting { DB_SAVEPOINT, DB_UNDO, DB_KEEP };

typedef struct driver driver;

enum { DB_ADDRESS = 1024, DB_ERROR = 512, DB_MIXED = 8, DB_PIN = 64 };

/* One part of a mixture: transactions of this isolation are so many of a thousand million. */
typedef struct db_part {
    const char *isolation; /* as the adapter calls it */
    const char *level;     /* what it is held to, by our name */
    uint64_t share;
} db_part;
#define DB_SHARES 1000000000u

/* A server of a cluster.  In the history, and for faults, the nodes are called a, b, c, ... */
enum { DB_NODES = TEMP_NODES };
typedef struct db_node {
    char host[128];        /* or the path of its socket */
    char port[8];          /* "": the usual one */
    char role[16];         /* "primary", "standby", ...: at first */
    atomic_bool read_only; /* sessions there only read; a failover changes it */
    atomic_bool gone;      /* after a failover: it will not come back */
} db_node;

/* What temporary servers are started with, so that faults can be made. */
enum db_wants {
    DB_LINKS = 1,        /* clients connect through a proxy of ours (links.h) */
    DB_SERVER_LINKS = 2, /* servers connect to each other through it; comes with DB_LINKS */
    DB_PRELOAD = 4,      /* each loads our library first (drivers/server_preload.c) */
    DB_FSYNC = 8,        /* it calls fsync, which else is spared */
    DB_APART = 16        /* an engine of this process runs in one of its own, which can be killed */
};

typedef struct db {
    const driver *driver;
    mem *mem;
    void *own;
    const char *isolation;    /* as the adapter calls it; of a mixture "mixed" */
    db_part part[DB_MIXED];   /* of a mixture, the shares added up to DB_SHARES */
    uint32_t parts;           /* 0: every transaction has the one isolation */
    char place[32];           /* the schema or table that this run makes */
    bool made;                /* it is there */
    bool lists;               /* values are lists */
    bool own_tables;          /* the workload has tables of its own */
    bool pooled;              /* each transaction may be of another session of the server */
    char *leftovers;          /* statements that drop those of the workload before; or NULL */
    bool made_up;             /* its statements are not constants: none is kept prepared */
    bool enclosed;            /* connections go to a database that this run has made */
    bool all_rights;          /* in it statements have the rights of the URL's user */
    unsigned made_databases;  /* so far */
    bool tombstones;          /* a deleted row stays, with the value NULL */
    bool singles;             /* some transactions are single statements (see `alone`) */
    bool stepped;             /* one call at a time: SQLite and RocksDB refuse, not wait */
    atomic_uint turns;        /* steps of a script that have begun; 0: no script is played */
    bool holds;               /* of a cluster: commits can be held (hold) */
    char scheme[16];          /* of the URL */
    char form[32];            /* whose contracts count, if not those of the adapter by its name */
    db_node node[DB_NODES];   /* of a cluster; see `nodes` */
    uint32_t nodes;           /* 0 or 1: no cluster */
    char pin[DB_PIN];         /* of a cluster: the nodes that sessions are on, in turn */
    char address[DB_ADDRESS]; /* behind the scheme; never holds a secret */
    char version[128];        /* product and version, once there was a connection */
    char settings[512];       /* of the server: members of a JSON object, for the header */
    char error[DB_ERROR];     /* of open, load, and faults */
    bool misuse;              /* open failed because of what was asked, not of what happened */
    unsigned wants, has;      /* of a temporary server: enum db_wants, asked for and there */
    temp_server temp;
} db;

/* What a watcher knows of a call. */
enum db_waiting {
    DB_GOES_ON,
    DB_WAITS,
    DB_UNTOLD, /* this server, or this user's rights, do not let anybody ask */
};

/* A connection and what it answered last. */
typedef struct db_session {
    db *db;
    mem *mem;
    void *own;
    const char *isolation; /* that begin asks for */
    uint32_t slot;         /* its number among the sessions, from 0 */
    uint32_t node;         /* of a cluster: where it is connected to */
    bool probe;   /* it looks whether the engine is back: it may connect before the others */
    bool settled; /* commit was lost, but the engine that could have done it is dead */
    bool absent;  /* get: there is no such row, or it is a tombstone */
    bool tomb;    /* get: the row is there and marked as deleted */
    bool idle;    /* put, remove: the row was so already and was not written: in effect a read */
    bool newest;  /* idle, add: it saw the newest row, not the row of the snapshot */
    bool reverse; /* range is to begin with the last row */
    int64_t value;
    strbuf text;      /* get of a list: its elements with commas between */
    const char *note; /* set by an adapter: goes with the transaction into the history */
    VEC(db_row) rows;
    /* query: rows as text, or the SQLSTATE of its failure */
    VEC(db_cell) cells; /* n_rows * n_cols */
    uint32_t n_rows, n_cols;
    bool has_rows;
    uint64_t affected;
    char state[6];
    char mark[32]; /* the transaction's id, for stamp and outcome */
    char error[DB_ERROR];
    /* Set before connect, or NULL: an engine of this process asks it now and then while it works,
       and stops the statement if it says so. */
    bool (*gives_up)(void *ud);
    void *gives_up_ud;
} db_session;

/* What only a program as driver may be without. */
enum db_lack { DB_NO_LISTS = 1, DB_NO_RANGES = 2, DB_NO_DELETES = 4 };

struct driver {
    const char *name;
    const char *isolations; /* what begin can ask for, separated by spaces; the first: default */
    bool server;            /* scheme:temp starts a temporary server */
    bool row_locks;         /* SELECT ... FOR UPDATE */
    bool procedures;        /* PL/pgSQL */
    bool in_process;        /* calls are executed by the thread that makes them */
    bool never_waits;       /* one call at a time: none waits for another session, however slow */
    /* Looks at the address, starts a temporary server, finds the version. */
    bool (*open)(db *d);
    void (*close)(db *d);
    /* Makes an empty table and fills it with rows; d->lists is set. */
    bool (*load)(db *d, const db_row *rows, size_t n);
    enum db_answer (*connect)(db_session *s);
    void (*disconnect)(db_session *s); /* also of a connection that failed or was lost */
    /* The statements (enum db_statement) after whose return the snapshot of a transaction at this
       isolation is taken for certain, whichever comes first; 0: there is never one. */
    unsigned (*snapshot)(const db *d);
    enum db_answer (*begin)(db_session *s);
    enum db_answer (*get)(db_session *s, int64_t key, bool lock);
    enum db_answer (*put)(db_session *s, int64_t key, int64_t value);
    enum db_answer (*append)(db_session *s, int64_t key, int64_t value);
    enum db_answer (*remove)(db_session *s, int64_t key);
    /* Rows with keys in [from, to) in order, `limit` of them at most (0: all). */
    enum db_answer (*range)(db_session *s, int64_t from, int64_t to, uint32_t limit);
    bool reverses;  /* range obeys s->reverse */
    unsigned lacks; /* enum db_lack */
    /* One statement that adds to the number of a row; with `upsert` it makes a row that is not
       there, with this number.  s->absent: there is no row, and nothing was done; else s->value is
       the sum.  NULL: there is no such statement. */
    enum db_answer (*add)(db_session *s, int64_t key, int64_t amount, bool upsert);
    /* There is one savepoint at most; after DB_UNDO and DB_KEEP there is none.  NULL: there are no
       savepoints. */
    enum db_answer (*nest)(db_session *s, enum db_nesting what);
    /* With d->singles: is a statement outside of a transaction one, at d->isolation?  NULL: no. */
    bool (*alone)(const db *d);
    enum db_answer (*commit)(db_session *s);
    /* Afterwards there is no transaction; DB_LOST if the connection went too. */
    enum db_answer (*abort)(db_session *s);
    /* Workloads with tables of their own; NULL: the adapter has none of it. */
    bool (*script)(db *d, const char *text); /* statements, before the sessions */
    enum db_answer (*query)(db_session *s, const char *text, const char *const *params, uint32_t n);
    /* Sends a statement without waiting for its answer; `receive` gives the answers in order, each
       as `query` leaves it.  A session that sends uses nothing else.  After a failure everything up
       to the next statement that was sent as `last` fails, too; nothing is answered before one was.
       `name`: it was prepared under that name; an adapter without `prepare` has one statement on
       its way at most.  No answer within `wait_ms` leaves *pending true. */
    bool (*send)(db_session *s, const char *name, const char *text, const char *const *params,
                 uint32_t n, bool last);
    enum db_answer (*receive)(db_session *s, int wait_ms, bool *pending);
    bool (*prepare)(db_session *s, const char *name, const char *text);
    /* Makes a database named d->place for statements that come from elsewhere, and sends every
       later connection there; close drops it.  They must not have a superuser's rights, unless
       d->all_rights says that the user wants just that. */
    bool (*enclose)(db *d);
    void (*mark)(db_session *s);                /* before commit: keeps what stamp needs */
    bool (*stamp)(db_session *s, int64_t *out); /* when the last transaction committed */
    bool foresees; /* stamp can tell after mark already: when it commits, if it does */
    /* Of servers that are disturbed: before commit, keeps what outcome needs in s->mark, "" if
       nothing can be learnt.  After a commit whose answer was lost, over a new connection: DB_OK it
       was committed, DB_REFUSED it was rolled back, both for good; anything else: nobody knows. */
    void (*token)(db_session *s);
    enum db_answer (*outcome)(db_session *s);
    /* What is promised at d->isolation; NULL: contracts.def has it. */
    const struct contract *(*contract)(const db *d);
    /* Does the call of s that another thread is making wait for another session?  The watcher is a
       session of its own, and what it says is newer than the question.  NULL: the adapter cannot
       tell. */
    enum db_waiting (*waits)(db_session *watcher, const db_session *s);
    /* Ends, from outside, the connection of s in which another thread waits for an answer: that
       call returns, and the server gives its locks free.  NULL: the adapter cannot. */
    void (*cut)(db *d, const db_session *s);
    /* Of an engine in a process of its own: the place was made by a process before this one. */
    bool (*adopt)(db *d);
    /* May the programs that are the database's clients or engine be killed?  NULL: there are none;
       false: *why says what it would mean. */
    bool (*may_die)(const db *d, const char **why);
    /* Kills them all, or lets them be started again: till then only a probe can connect. */
    bool (*process)(db *d, bool up);
    /* From now on, or no longer, commits of this session are held: they are done, replicas show
       them, but the primary does so only after `release`.  false: that cannot be had here. */
    bool (*hold)(db_session *s, bool on);
    void (*release)(db *d, const db_session *s);
    /* Waits until a node that only reads has all that is written now; false: d->error says why. */
    bool (*catch_up)(db *d, uint32_t node);
    /* The clock of the node has just jumped: statements that wait for locks, and whose time limits
       have jumped with it, are cancelled.  NULL: the server counts time in another way. */
    void (*unstick)(db *d, uint32_t node);
    /* Makes a replica, whose primary is gone, a primary; NULL: the adapter cannot. */
    bool (*promote)(db *d, uint32_t node);
};

/* Opens what a URL names; false: d->error says why.  The isolation is one, or several with shares,
   such as ser:0.5,rr:0.5: then the adapter's `begin` asks for that of the session; NULL: the first
   that the adapter has. */
bool db_open(db *d, mem *m, const char *url, const char *isolation);
/* The same, of a temporary server that is started with these (enum db_wants) if it can be. */
bool db_open_for(db *d, mem *m, const char *url, const char *isolation, unsigned wants);
void db_close(db *d);
/* Of a mixture, the part that a number below DB_SHARES draws. */
const db_part *db_draw(const db *d, uint64_t drawn);
/* The database itself, if this one is a client with a bug around it. */
const db *db_inner(const db *d);
/* Does some transaction have this isolation? */
bool db_asks_for(const db *d, const char *isolation);

/* The node of a session of this number, and how many sessions of lower numbers are there too. */
uint32_t db_node_of(const db *d, uint32_t slot);
uint32_t db_ordinal(const db *d, uint32_t slot);
/* The first node that can write. */
uint32_t db_primary(const db *d);
/* The isolation levels of the adapter that a URL names, separated by spaces; NULL: there is none.
 */
const char *driver_isolations(const char *url);
/* Sets d->isolation to the adapter's own name of it; false: d->error says why not. */
bool db_isolation(db *d, const char *isolation);

/* The i-th adapter that this program could have: is it there?  NULL past the end. */
const char *driver_at(size_t i, bool *there);

/* The i-th bug that faulty:BUG:URL can have and that a check should find; NULL past the end. */
const char *driver_bug_at(size_t i);

typedef struct contract {
    const char *driver, *isolation;
    const char *level, *deleted, *implied; /* see contracts.def */
    const char *session_order, *ryow;
    const char *source, *read;
} contract;
/* What the product's documents promise at this setting, or NULL. */
const contract *contract_of(const db *d);
const contract *contract_at(size_t i); /* NULL past the end */

/* An answer that a full disk gave, by the adapter's own word for it: on a server whose disk can be
   full for a while, the run goes on. */
enum db_answer db_disk_full(const db *d, bool commit);

/* For adapters: the value of name=... behind a `?`, cut off the address by db_open. */
bool db_parameter(const db *d, const char *name, char *value, size_t cap);
/* The i-th of several with this name; %XX in it is decoded. */
bool db_parameter_at(const db *d, const char *name, uint32_t i, char *value, size_t cap);
/* A whole number within bounds, `usual` if it is not there; false: d->error says what is wrong. */
bool db_parameter_number(db *d, const char *name, uint32_t low, uint32_t high, uint32_t usual,
                         uint32_t *out);
/* Is the address temp[+FORM][?...]?  Then `form` is that, or "". */
bool db_temporary(const db *d, char *form, size_t cap);
/* The parameter bin=DIR: the only place where a server's programs are looked for. */
bool db_programs(db *d, temp_spec *s);
/* For each set=NAME:VALUE an argument of this format, of two strings, and `before` ahead of it. */
bool db_server_settings(db *d, const char **arguments, const char *before, const char *format);
/* Adds a formatted argument, kept in the region of d. */
bool db_argument(db *d, const char **arguments, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* If connections are to go through our proxy: adds a link to a node, from clients or from the other
   servers; true also if there is nothing to do.  Both are paths, with %d for the directory, or
   ports. */
bool db_link(db *d, temp_spec *s, unsigned node, bool servers, const char *listen,
             const char *target);
/* If the servers are to load our library first: finds it. */
bool db_preload(db *d, temp_spec *s);
/* The parameter pin=..., of nodes that d->nodes counts; false: d->error says what is wrong. */
bool db_pin(db *d);
void db_fail(char *to, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* One more node of a cluster: the n bytes at p, host[:port]. */
bool db_add_node(db *d, const char *p, size_t n, const char *default_port);
/* Are all parameters after the `?` in this list, which ends with NULL?  Else d->error names one. */
bool db_parameters_known(db *d, const char *const *names);
/* Adds a member to d->settings; one that does not fit is left out. */
void db_setting(db *d, const char *name, const char *value);

/* Text in which every password that the URL holds is replaced by ***. */
void db_hide(const char *url, const char *text, char *to, size_t cap);

/* The comment that marks what a run has made. */
#define DB_MADE_BY "made by ratel run, which drops it at its end"

#endif
