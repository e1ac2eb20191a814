/*
 * ratel.h - does this history keep its isolation promise?
 *
 * A function that is not declared here is not part of the library; ratel-audit.h is the header of
 * a second one, for logs of SQL, and ratel-module.h what modules are written against.
 * The stable part stands first; behind RATEL_EXPERIMENTAL is what may still change.
 *
 *     ratel *r;  ratel_history *h;  ratel_result *a;
 *     if (ratel_open(&r, NULL)) ...
 *     if (ratel_history_read_path(&h, r, NULL, "history.jsonl")) puts(ratel_errmsg(r));
 *     if (!ratel_check(&a, r, h, "snapshot-isolation"))
 *         if (ratel_result_verdict(a) == RATEL_VIOLATED) ...
 *     ratel_result_free(a);  ratel_history_free(h);  ratel_close(r);
 *
 * States of a history:  ratel_history_new -> BUILDING -> ratel_history_freeze -> FROZEN
 *                       ratel_history_read / _read_path / ratel_gen ------------> FROZEN
 * Builder calls require BUILDING, all others FROZEN; a call in the wrong state returns
 * RATEL_EINVAL and changes nothing.
 *
 * The library never prints, never exits, reads no environment variable and has no global state.
 * Use one context per thread.  A frozen history may be shared by threads.  Freeing NULL is a
 * harmless no-op.  Running out of memory is an error code.
 */
#ifndef RATEL_H
#define RATEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define RATEL_API __attribute__((visibility("default")))
#else
#define RATEL_API
#endif

typedef struct ratel ratel;                 /* context: options, allocator, last error */
typedef struct ratel_history ratel_history; /* frozen: read-only; may outlive its context */
typedef struct ratel_result ratel_result;   /* may outlive its context, not its history */
typedef struct ratel_lint ratel_lint;       /* may outlive its context and its history */

typedef enum {
    RATEL_OK = 0,
    RATEL_EINVAL = -1,       /* misuse: wrong argument, wrong state, unknown name */
    RATEL_ENOMEM = -2,       /* out of memory, or the memory limit reached */
    RATEL_EIO = -3,          /* the system could not read or write */
    RATEL_EPARSE = -4,       /* bytes that are not of the format */
    RATEL_EHISTORY = -5,     /* well-formed, but no history (duplicate ids, impossible hints) */
    RATEL_EUNSUPPORTED = -6, /* this build cannot do it */
    RATEL_ETIME = -7,        /* the time limit was reached while reading or writing */
    RATEL_EINTERRUPT = -8,   /* ratel_interrupt was called */
    RATEL_EBUG = -99         /* our mistake; please report it */
} ratel_error;

typedef enum { RATEL_UNDECIDED = 0, RATEL_HOLDS = 10, RATEL_VIOLATED = 20 } ratel_verdict;

/* One function for all memory, as in lua: nsize 0 frees, p NULL allocates; NULL means failure.
   With the options threads or portfolio above 1 it may be called from several threads at once. */
typedef struct {
    void *(*fn)(void *ud, void *p, size_t osize, size_t nsize);
    void *ud;
} ratel_alloc;

typedef struct {
    const char *name, *help;
    int64_t def, lo, hi;
} ratel_option;

typedef struct {
    const char *name, *help;
    unsigned strategies; /* bit N: strategy N has it (option "strategy") */
    int on;              /* 1: on at first; 0: only if asked for */
} ratel_pass;

typedef ptrdiff_t (*ratel_read_cb)(void *buf, size_t cap, void *payload);  /* 0 end, < 0 error */
typedef int (*ratel_write_cb)(const void *buf, size_t len, void *payload); /* 0, or an error */

RATEL_API unsigned ratel_version_number(void); /* major * 10000 + minor * 100 + patch */
RATEL_API const char *ratel_version(void);     /* "0.1.0" */
RATEL_API const char *ratel_build(void);       /* one JSON object: commit, compiler, features */

/* --- context ------------------------------------------------------------------------------ */

RATEL_API int ratel_open(ratel **out, const ratel_alloc *alloc); /* alloc NULL: libc */
RATEL_API void ratel_close(ratel *r);
RATEL_API const char *ratel_errmsg(const ratel *r); /* until the next call on this context */
RATEL_API const char *ratel_strerror(int code);
/* Where in the input the last error was: RATEL_OK and 1-based numbers, else RATEL_EINVAL. */
RATEL_API int ratel_errpos(const ratel *r, uint64_t *line, uint64_t *column);
/* Options by name (ratel_option_at); RATEL_EINVAL: unknown name, or a value out of range. */
RATEL_API int ratel_option_at(ratel_option *out, size_t i);
RATEL_API int ratel_set(ratel *r, const char *name, int64_t value);
/* The passes of the strategies, by name.  Switching one on or off may cost time, never an
   answer. */
RATEL_API int ratel_pass_at(ratel_pass *out, size_t i);
RATEL_API int ratel_set_pass(ratel *r, const char *name, int on);
/* The only call that is allowed from another thread or from a signal handler.  It stays: later
   calls on this context that work long end at once, until it is closed. */
RATEL_API void ratel_interrupt(ratel *r);
/* Where a call that works long stands, told about ten times a second from within it, in its thread;
   NULL (for p) when the call ends.  Anything but 0 ends the call as an interrupt would.  The
   callback must not use the context.  tell NULL: nobody watches, which is so at first. */
typedef struct ratel_progress {
    const char *stage;    /* "read", "analyse", "solve", ...; "" between stages */
    const char *unit;     /* of done and total: "bytes", "transactions", ...; "" if not counted */
    uint64_t done, total; /* total 0: nobody knows */
    double seconds;       /* since the call began */
} ratel_progress;
typedef int (*ratel_progress_cb)(const ratel_progress *p, void *payload);
RATEL_API int ratel_on_progress(ratel *r, ratel_progress_cb tell, void *payload);

/* --- histories: reading and writing -------------------------------------------------------- */

/* `format` is an id of ratel_format_at, or NULL to detect it from the content. */
RATEL_API int ratel_history_read(ratel_history **out, ratel *r, const char *format,
                                 ratel_read_cb read, void *payload);
/* A file, a directory, "-" for standard input; .gz and .zst are unpacked. */
RATEL_API int ratel_history_read_path(ratel_history **out, ratel *r, const char *format,
                                      const char *path);
/* What some recorders put into files of their own; NULL: there is none. */
typedef struct {
    const char *init;     /* TimeKiller's initial values: replaces the initial state */
    const char *versions; /* a history with version positions (ver), such as timekiller-cdc: gives
                             them, and timestamps, to the transactions that wrote these versions */
} ratel_beside;
RATEL_API int ratel_history_read_with(ratel_history **out, ratel *r, const char *format,
                                      const char *path, const ratel_beside *beside);
RATEL_API int ratel_history_write(const ratel_history *h, ratel *r, const char *format,
                                  ratel_write_cb write, void *payload);
RATEL_API int ratel_history_write_path(const ratel_history *h, ratel *r, const char *format,
                                       const char *path);
/* What the last write could not express, one line each; "" if nothing was lost. */
RATEL_API const char *ratel_lost(const ratel *r);
RATEL_API int ratel_format_at(const char **id, const char **about, size_t i);
RATEL_API void ratel_history_free(ratel_history *h);

/* --- histories: looking --------------------------------------------------------------------- */

typedef struct {
    uint64_t txns, ops;        /* committed transactions and their operations */
    uint64_t aborted, unknown; /* transactions */
    uint64_t sessions, keys;
    uint64_t reads, writes, deletes, appends, scans, iterators, rows, failed;
    uint64_t empty_txns, read_only, write_only;
    uint64_t duplicate_writes; /* committed writes whose key and value occur before */
    uint64_t hot_key_ops;      /* operations on the busiest key */
    uint64_t max_txn_ops;
    uint64_t with_times, with_hints; /* transactions with client times; operations with hints */
    uint64_t max_concurrency;        /* by client times; 0 if there are none */
    int unique_values;               /* 1: no two writes of a key wrote the same value */
    char hot_key[64];                /* text, cut */
    uint64_t initial_writes;         /* committed writes of the initial value of their key */
} ratel_stat;

/* The format that it was read from, by its name; "ratel" if it was built here. */
RATEL_API const char *ratel_history_format(const ratel_history *h);
/* Is a recording complete, by its end mark?  0: lines are missing, *lines of them (0: it was cut
   off, and nobody knows how many).  Histories without a recorder count as complete. */
RATEL_API int ratel_history_complete(const ratel_history *h, uint64_t *lines);
RATEL_API int ratel_history_stat(ratel_stat *out, ratel *r, const ratel_history *h);

/* --- histories: building -------------------------------------------------------------------- */

typedef enum { RATEL_NULL, RATEL_INT, RATEL_UINT, RATEL_REAL, RATEL_STR, RATEL_BOOL } ratel_type;
typedef struct {
    ratel_type type;
    union {
        int64_t i;
        uint64_t u;
        double r;
        int b;
        struct {
            const char *s;
            size_t n;
        } str;
    } as;
} ratel_value; /* strings are UTF-8; also for keys and labels: integers and strings only */

typedef struct {
    ratel_value key, value;
} ratel_row;

typedef enum { RATEL_COMMITTED = 0, RATEL_ABORTED = 1, RATEL_STATUS_UNKNOWN = 2 } ratel_status;

#define RATEL_OP_LOCK 0x08   /* a locking read */
#define RATEL_OP_FAILED 0x10 /* the statement failed */
#define RATEL_OP_TOMB 0x20   /* a tombstone was written, or read: doc/formats/native.md */

/* An empty history, BUILDING. */
RATEL_API int ratel_history_new(ratel_history **out, ratel *r);
RATEL_API int ratel_history_init(ratel_history *h, ratel_value all); /* NULL: absent (default) */
RATEL_API int ratel_history_init_key(ratel_history *h, ratel_value key, ratel_value value);
RATEL_API int ratel_history_init_unknown(ratel_history *h);
RATEL_API int ratel_history_begin(ratel_history *h, ratel_value session);
RATEL_API int ratel_history_id(ratel_history *h, ratel_value id); /* default: running number */
RATEL_API int ratel_history_instants(ratel_history *h, int64_t begin, int64_t end);
RATEL_API int ratel_history_intervals(ratel_history *h, const int64_t times[4]);
/* A read result of type RATEL_NULL: the key was absent. */
RATEL_API int ratel_history_get(ratel_history *h, ratel_value key, ratel_value seen, int flags);
RATEL_API int ratel_history_get_unknown(ratel_history *h, ratel_value key, int flags);
RATEL_API int ratel_history_get_list(ratel_history *h, ratel_value key, const ratel_value *seen,
                                     size_t n, int flags);
RATEL_API int ratel_history_put(ratel_history *h, ratel_value key, ratel_value value, int flags);
RATEL_API int ratel_history_delete(ratel_history *h, ratel_value key, int flags);
RATEL_API int ratel_history_append(ratel_history *h, ratel_value key, ratel_value value, int flags);
/* from/to of type RATEL_NULL: unbounded; [from, to). */
RATEL_API int ratel_history_scan(ratel_history *h, ratel_value from, ratel_value to,
                                 const ratel_row *rows, size_t n, int flags);
RATEL_API int ratel_history_iterate(ratel_history *h, ratel_value from, ratel_value to,
                                    const ratel_row *rows, size_t n, int done, int reverse,
                                    int flags);
/* What a database tells about the operation that was added last, by these calls directly after it:
   hints narrow what reads can have seen.  A writer is named by the id of its transaction, which may
   come later; RATEL_NULL is the initial state. */
RATEL_API int ratel_history_from(ratel_history *h, ratel_value writer); /* of a read */
/* Of a scan or an iterator: one writer for each row. */
RATEL_API int ratel_history_from_rows(ratel_history *h, const ratel_value *writers, size_t n);
/* The position of the version that was read or written in the version order of its key. */
RATEL_API int ratel_history_ver(ratel_history *h, int64_t position);
/* A member of the version set of a scan or an iterator: the predicate was evaluated on the version
   of this key that this transaction wrote. */
RATEL_API int ratel_history_vset(ratel_history *h, ratel_value key, ratel_value writer);
/* When the operation was called and when it returned. */
RATEL_API int ratel_history_called(ratel_history *h, int64_t at, int64_t returned);
/* An attribute that the levels do not interpret; `json` is one JSON value of n bytes. */
RATEL_API int ratel_history_attribute(ratel_history *h, const char *name, const char *json,
                                      size_t n);
/* The database's own timestamps of the transaction (option "trust_timestamps"). */
RATEL_API int ratel_history_start_ts(ratel_history *h, int64_t ts);
RATEL_API int ratel_history_commit_ts(ratel_history *h, int64_t ts);
/* A member of the transaction that the levels do not interpret, such as "note"; between
   transactions, a member of the header.  Each name once, else freezing is RATEL_EHISTORY. */
RATEL_API int ratel_history_member(ratel_history *h, const char *name, const char *json, size_t n);
RATEL_API int ratel_history_end(ratel_history *h, ratel_status status);
/* Side by side, as things happen: opens a transaction of a session that has none open, and selects
   it.  Builder calls and ratel_history_end mean the selected one; after its end none is selected.
   In the history, transactions stand in the order in which they were opened. */
typedef uint32_t ratel_txn;
RATEL_API int ratel_history_open(ratel_history *h, ratel_value session, ratel_txn *txn);
RATEL_API int ratel_history_select(ratel_history *h, ratel_txn txn);
/* Ends all that are open, say as RATEL_STATUS_UNKNOWN when the recording is cut off. */
RATEL_API int ratel_history_end_open(ratel_history *h, ratel_status status);
/* Validates; RATEL_EHISTORY if a transaction id occurs twice. */
RATEL_API int ratel_history_freeze(ratel_history *h);
/* The last error of a builder call (a history may outlive its context). */
RATEL_API const char *ratel_history_errmsg(const ratel_history *h);

/* --- checking --------------------------------------------------------------------------------- */

/* Decides one level.  A violation is an answer, not an error: RATEL_OK and a result; so is
   undecided (a limit, nothing to check, a case that this build cannot decide). */
RATEL_API int ratel_check(ratel_result **out, ratel *r, const ratel_history *h, const char *level);
/* The answer for a level that a stronger one, which was found to hold, implies, without deciding
   anything; RATEL_EINVAL if `stronger` says nothing about it.  Options must be as they were. */
RATEL_API int ratel_result_implied(ratel_result **out, ratel *r, const ratel_result *stronger,
                                   const char *level);
RATEL_API ratel_verdict ratel_result_verdict(const ratel_result *a);
RATEL_API const char *ratel_result_level(const ratel_result *a);   /* the long name */
RATEL_API const char *ratel_result_anomaly(const ratel_result *a); /* "" unless violated */
RATEL_API const char *ratel_result_reason(const ratel_result *a);  /* one sentence */
/* 1: decided by the database's timestamps (option "trust_timestamps"). */
RATEL_API int ratel_result_trusted(const ratel_result *a);
/* What only the caller knows; NULL and 0 leave it out of the report. */
typedef struct {
    const char *history; /* how the caller names the history */
    double read_seconds, total_seconds;
    uint64_t peak_rss_kib;
    int deterministic;    /* leave times and memory out */
    int colour;           /* text: terminal colours */
    int verbose;          /* holds: the commit order that explains every read */
    int accepted;         /* violated, but the caller's baseline accepts it */
    const char *workload; /* what made the history, or NULL */
    int counters;         /* json: what each stage did, and the widths of conflict cycles */
} ratel_report;
/* "text", or "json": one object on one line.  `report` may be NULL. */
RATEL_API int ratel_result_write(const ratel_result *a, ratel *r, const char *format,
                                 const ratel_report *report, ratel_write_cb write, void *payload);
/* The i-th warning that limits the answer: stable id and sentence; RATEL_EINVAL past the end. */
RATEL_API int ratel_result_warning(const ratel_result *a, size_t i, const char **id,
                                   const char **text);
/* The i-th stage of deciding and the seconds it took; RATEL_EINVAL past the end. */
RATEL_API int ratel_result_stage(const ratel_result *a, size_t i, const char **name,
                                 double *seconds);
typedef struct {
    double analyse, solve; /* seconds */
    uint64_t vars, clauses, conflicts, instantiated;
} ratel_cost;
/* The time that deciding took, and the solver's counters. */
RATEL_API int ratel_result_cost(const ratel_result *a, ratel_cost *out);
/* 1 if session order counted. */
RATEL_API int ratel_result_session_order(const ratel_result *a);
/* Checks the answer against the history again, with code that is independent of ratel_check. */
RATEL_API int ratel_result_recheck(const ratel_result *a, ratel *r, const ratel_history *h);
RATEL_API void ratel_result_free(ratel_result *a);

/* --- certificates ----------------------------------------------------------------------------- */

/* The answer with its proof, as text for ratel_verify (doc/formats/certificate.md).  A violation is
   decided once more on the way.  RATEL_EINVAL: the answer is undecided; RATEL_EUNSUPPORTED: there
   are no proofs of this kind yet. */
RATEL_API int ratel_result_certificate(const ratel_result *a, ratel *r, const ratel_history *h,
                                       ratel_write_cb write, void *payload);
typedef struct {
    int proved;            /* 1: the certificate proves its verdict on this history; 0: refused */
    ratel_verdict verdict; /* the verdict that it claims: RATEL_HOLDS or RATEL_VIOLATED */
    char level[80];        /* the level that the verdict is about; of one in text "definition NAME",
                              so that it is not taken for a level of that name */
    int session_order;     /* 1: session order counted */
    const char *ryow;      /* the policy for reads of own writes: static text */
    int64_t drift;         /* the uncertainty of the clocks */
    uint64_t steps;        /* lines of the proof */
    char reason[1024];     /* refused: why, one sentence */
    int trusted;           /* 1: the verdict is by the database's timestamps */
    uint64_t definition;   /* the level is that of a text, which has this hash; 0: it is not */
    uint64_t assumptions;  /* what modules added or changed, and the verdict is proved under */
    char assumed[1024];    /* these, by module and in its words; cut */
    int aborted;           /* 1: the reads of aborted transactions count (option `aborted`) */
} ratel_proof;
/* The hash of a definition's text, which ratel_proof has: equal texts, up to a missing newline at
   the end, have equal hashes. */
RATEL_API uint64_t ratel_definition_hash(const char *text, size_t n);
/* What is found out about a level that is written as text (an `.iso` file). */
typedef struct ratel_definition {
    ratel_verdict verdict; /* RATEL_UNDECIDED: `reason` says why */
    int outside;           /* 1: the definition says more than the engine decides; `reason` is the
                              construct, with its line and column */
    int unfit;             /* 1: the engine does not decide this kind of history (lists that do not
                              show their order) */
    char reason[512];      /* one sentence */
    const char *anomaly;   /* violated by a read that no level allows: its name; else NULL */
    uint64_t states;       /* of the automaton that the definition became */
    uint64_t core;         /* violated: so many transactions show it, 0: nobody looked */
    uint64_t conflicts;    /* of the search */
    uint64_t vars, clauses, instantiated; /* the same, as in ratel_cost */
} ratel_definition;
/* Decides a level that is written as text on a history of any size, by the engine of the built-in
   levels; name NULL: the last level of the text.  RATEL_EPARSE: the text is no definition. */
RATEL_API int ratel_check_definition(ratel_definition *out, ratel *r, const ratel_history *h,
                                     const char *text, size_t n, const char *name);
/* The answer of a level that is written as text (an `.iso` file), with its proof, which contains
   the text; name NULL: the last level of the text.  *out is the answer.  RATEL_EPARSE: the text is
   no definition; RATEL_EUNSUPPORTED: no proof can be given, and ratel_errmsg says why. */
RATEL_API int ratel_certify_definition(ratel_verdict *out, ratel *r, const ratel_history *h,
                                       const char *text, size_t n, const char *name,
                                       ratel_write_cb write, void *payload);
/* Checks a certificate against a history, with code that is independent of ratel_check.  A refusal
   is an answer and returns RATEL_OK; text that is not a certificate is RATEL_EPARSE, with its
   position. */
RATEL_API int ratel_verify(ratel_proof *out, ratel *r, const ratel_history *h, ratel_read_cb read,
                           void *payload);

typedef struct {
    const char *name, *aliases, *about;
    const char *how;           /* the method that checks it */
    const char *session_order; /* "option", "always" or "never" */
    int decided;               /* 1: this build decides it */
} ratel_level;
RATEL_API int ratel_level_at(ratel_level *out, size_t i);
/* RATEL_OK if the name (or alias, or prefixed name) is a level; *base (may be NULL) gets the static
   long name without prefix.  Otherwise *base is the name that was probably meant, or NULL. */
RATEL_API int ratel_level_named(const char *name, const char **base);
/* 1 if every history that satisfies level a satisfies level b, with session order as given (it
   matters for levels that leave it open); 0 if not; RATEL_EINVAL if a name is unknown. */
RATEL_API int ratel_level_implies(const char *a, const char *b, int session_order);

/* --- lint: what makes a verdict weak or meaningless ------------------------------------------- */

typedef enum {
    RATEL_NOTE = 0,       /* good to know; the verdict is not affected */
    RATEL_WARNING = 1,    /* the verdict is weaker than it looks */
    RATEL_MEANINGLESS = 2 /* the verdict could hardly have been anything but "holds" */
} ratel_severity;

/* A rule that can be broken; ids are stable, and those of ratel_result_warning. */
typedef struct {
    const char *id, *text, *advice; /* what it is, what to do */
    const char *fix;                /* what ratel_history_fix does, or NULL */
    ratel_severity severity;
    int in_check;    /* 1: ratel_check warns of it on every history */
    int needs_level; /* 1: depends on the level asked for, so only ratel_check reports it */
} ratel_lint_rule;
RATEL_API int ratel_lint_rule_at(ratel_lint_rule *out, size_t i);

typedef struct {
    const char *id, *text, *advice, *fix; /* as in the rule */
    ratel_severity severity;
    uint64_t count;
    const char *unit;    /* what is counted: "writes", "transactions", ... */
    const char *example; /* the first one, a clause; "" if there is none */
    const char *txn[2];  /* ids of the transactions that it names, or NULL */
    const char *key;     /* the key that it names, or NULL */
} ratel_finding;
RATEL_API int ratel_lint_run(ratel_lint **out, ratel *r, const ratel_history *h);
/* The i-th finding; its texts live as long as the lint.  RATEL_EINVAL past the end. */
RATEL_API int ratel_lint_at(const ratel_lint *l, size_t i, ratel_finding *out);
RATEL_API void ratel_lint_free(ratel_lint *l);

/* --- modules: rules of your own -------------------------------------------------------------- */

/* The history under what a module (ratel-module.h) says of it: its operations as the hook `map`
   changes them, with what the hook `extend` adds.  Every answer about *out is one under these
   assumptions, and names them.  Modules add up: give *out to the next one; only one of them may
   change operations.  settings: "key=value,..." or NULL.  The hooks run in this process; limits and
   ratel_interrupt reach them through host->poll.  h must outlive *out.  RATEL_EINVAL: the module
   cannot be used, or refused; ratel_errmsg says why and names it. */
struct ratel_module;
RATEL_API int ratel_module_add(ratel_history **out, ratel *r, const ratel_history *h,
                               const struct ratel_module *module, const char *settings);
/* The same in two halves, for hooks that run in another process: what the module said, as bytes of
   this program, and the history under it.  If memory has run out, and the module says still more,
   write is called with NULL and 0 from within the hook, which may never return: the process may end
   there. */
RATEL_API int ratel_module_run(ratel *r, const ratel_history *h, const struct ratel_module *module,
                               const char *settings, ratel_write_cb write, void *payload);
RATEL_API int ratel_module_take(ratel_history **out, ratel *r, const ratel_history *h,
                                const void *said, size_t n);
/* The i-th assumption that an answer rests on: the module and its reason.  Of a violation these
   are those that the contradiction needs, where that is known; of what holds, all of them.
   RATEL_EINVAL past the end. */
RATEL_API int ratel_result_assumption(const ratel_result *a, size_t i, const char **module,
                                      const char **reason);

#ifdef RATEL_EXPERIMENTAL
/* --- may still change ------------------------------------------------------------------------- */

/* The step that decided, by name (doc/architecture.md lists them), for example "client times" or
   "lazy"; "" if the answer is undecided. */
RATEL_API const char *ratel_result_decided_by(const ratel_result *a);

typedef struct {
    const char *workload, *isolation;
    uint64_t txns, sessions, keys, ops, seed;
    double aborted, unknown;  /* rates */
    const char *anomalies;    /* "write-skew:3,lost-update" or NULL */
    int no_times;             /* record no begin and end */
    const char *const *knobs; /* "name=value" of the workload, NULL-terminated, or NULL */
    const char *plant;        /* "easy" (NULL) or "hidden" */
} ratel_gen_options;
/* The ground truth is one JSON object, owned by the context until its next call. */
RATEL_API int ratel_gen(ratel_history **out, ratel *r, const ratel_gen_options *o,
                        const char **truth);
RATEL_API int ratel_gen_workload_at(const char **name, const char **about, size_t i);
RATEL_API int ratel_gen_isolation_at(const char **name, const char **about, size_t i);
RATEL_API int ratel_gen_knob_at(const char **name, const char **about, size_t i);
RATEL_API int ratel_gen_anomaly_at(const char **name, const char **about, size_t i);

/* A copy with the safe repairs of what lint finds: all of them, or those of the comma-separated ids
   `only`.  `init` (or NULL) is the id of a transaction that the caller says is the initial state.
   *done lists what was repaired, as findings: id, count, unit. */
RATEL_API int ratel_history_fix(ratel_history **out, ratel_lint **done, ratel *r,
                                const ratel_history *h, const char *only, const char *init);

/* A smallest part of a history that is still violated: no transaction, key or operation of it can
   be left out.  Reads of what is left out go with it (doc/shrink.md), so that nothing is violated
   that was not.  `a` is the violated answer of ratel_check on h; options must be as they were;
   "seed" is that of the order in which things are tried. */
typedef struct {
    const char *anomaly; /* of the part; "" if another judge decided */
    uint64_t txns, ops;  /* all of them: aborted and unknown ones too */
    uint64_t trials;     /* histories that were decided on the way */
    int minimal;         /* 0: a limit or an interrupt ended the search; a smaller part may exist */
    char reason[128];    /* why the search ended, if minimal is 0 */
} ratel_shrunk;
RATEL_API int ratel_shrink(ratel_history **out, ratel *r, const ratel_history *h,
                           const ratel_result *a, ratel_shrunk *shrunk);
/* As ratel_shrink, with a judge of your own: it returns 1 if the history still has the property
   that you look for, else 0.  The judge may use any context but r. */
typedef int (*ratel_judge_cb)(const ratel_history *h, void *payload);
RATEL_API int ratel_shrink_by(ratel_history **out, ratel *r, const ratel_history *h,
                              ratel_judge_cb decide, void *payload, ratel_shrunk *shrunk);

/* The history without the transactions of a violation, and without the reads that may have seen
   what they wrote, so that nothing is violated in it that is not in h.  `a` is the violated answer
   of ratel_check on h.  RATEL_EUNSUPPORTED at no-lost-update and mixed-pg, where that is not
   so. */
RATEL_API int ratel_history_without(ratel_history **out, ratel *r, const ratel_history *h,
                                    const ratel_result *a);

/* The levels of single transactions, for the levels "mixed" and "mixed-pg": the member "level" of
   each.  ratel_history_mixed is 1 if some transaction names one; ratel_history_level_of sets it for
   all transactions of a session (by its name in the input), in a history that nobody else uses at
   that time: results that were made of the history before must be freed first. */
RATEL_API int ratel_history_mixed(const ratel_history *h);
/* 1 if the level says something of the history: mixtures where some transaction names a level,
   "linearizable" where every transaction is one operation, all others always. */
RATEL_API int ratel_history_concerns(const ratel_history *h, const char *level);
RATEL_API int ratel_history_level_of(ratel_history *h, ratel *r, const char *session,
                                     const char *level);

/* What "holds" was worth.  One read at a time is changed to every other value of its key that the
   history knows, and the level is decided again: each change that violates it is a place where the
   anomaly of that name would have been seen.  `a` is the answer of ratel_check on h, which holds;
   options must be as they were.  At most `most` changes are tried, all or a random sample (option
   "seed"), and none after `seconds` (0: no limit). */
#define RATEL_COVERAGE_KINDS 48
#define RATEL_COVERAGE_NAMES 8
typedef struct {
    uint64_t changes, tried;          /* ways to change one read; those that were tried */
    uint64_t seen, missed, undecided; /* of those tried: violated, not, not decided */
    int exact;                        /* 1: all were tried */
    struct {
        const char *anomaly;
        uint64_t places;
    } kind[RATEL_COVERAGE_KINDS]; /* of those seen */
    size_t kinds;
    uint64_t reads_known, reads_open; /* reads that one writer explains, or several may */
    /* steps of the version order: shown by a read, a list or a hint; following from such; neither.
       All 0 if the answer has no order. */
    uint64_t versions_known, versions_inferred, versions_open;
    uint64_t keys, keys_apart, sessions, sessions_apart; /* apart: without any conflict */
    int updates_overlap;  /* two overlapping transactions, of any outcome, update one key */
    int aborted_read;     /* a key that an aborted transaction wrote is read */
    int overwritten_read; /* a key that a transaction wrote twice is read */
    int pairs_read;       /* a transaction reads two keys that another one writes */
    int ranges_read;      /* there are scans */
    /* the first of the keys and sessions without any conflict, as text, cut */
    char key_apart[RATEL_COVERAGE_NAMES][64], session_apart[RATEL_COVERAGE_NAMES][64];
} ratel_coverage;
RATEL_API int ratel_coverage_run(ratel_coverage *out, ratel *r, const ratel_history *h,
                                 const ratel_result *a, uint64_t most, double seconds);

/* Why an answer is what it is.  Of a violation: an argument about a few transactions, a tree of
   cases with a contradiction in each, every fact of which was looked up in the history again.  If
   a limit is reached, there is no argument, which is not an error.  The explanation must be freed
   before its result. */
typedef struct ratel_explanation ratel_explanation;
RATEL_API int ratel_explain(ratel_explanation **out, ratel *r, const ratel_history *h,
                            const ratel_result *a);
/* 1: there is an argument; *txns (may be NULL): how many transactions it needs. */
RATEL_API int ratel_explanation_shown(const ratel_explanation *e, size_t *txns);
/* Verdicts of other levels on the same history, for the explanation to mention. */
typedef struct {
    const char *level;
    ratel_verdict verdict;
} ratel_found;
typedef struct {
    const char *history; /* how the caller names the history, or NULL */
    const ratel_found *found;
    size_t n_found;
    int session_order;      /* session order of the levels in `found` that leave it open */
    const char *instead_of; /* a weaker violated level that has no argument, or NULL */
    int colour;             /* text: terminal colours */
    int quiet;              /* text and Markdown: without warnings */
} ratel_telling;
/* "text", "markdown", "json" (doc/schema/explain.json), "dot" for Graphviz, "svg", "tikz",
   "html": a page of its own, "page-entry": the JSON of its entry in a page of several, or
   "page-scene": the members of such an entry that show the transactions, without the verdict;
   "scene-dot", "scene-svg", "scene-tikz": these transactions, session order and the reads that have
   one writer, under the title that telling->history is. */
RATEL_API int ratel_explanation_write(const ratel_explanation *e, ratel *r, const char *format,
                                      const ratel_telling *telling, ratel_write_cb write,
                                      void *payload);
RATEL_API void ratel_explanation_free(ratel_explanation *e);

/* What `ratel explain` does: asks the levels that the history can be asked about, and explains one.
   `level` names it; NULL: of the weakest that are violated the one that most people know, or a
   stronger one if only that has an argument; if none is violated, the strongest that holds.
   Without the option "time", the levels around the explained one share a few seconds, and those
   that are not decided by then are RATEL_UNDECIDED. */
typedef struct ratel_survey ratel_survey;
RATEL_API int ratel_survey_run(ratel_survey **out, ratel *r, const ratel_history *h,
                               const char *level);
/* The answer at the explained level and its explanation; they live as long as the survey. */
RATEL_API const ratel_result *ratel_survey_result(const ratel_survey *s);
RATEL_API const ratel_explanation *ratel_survey_explanation(const ratel_survey *s);
/* Fills in found, n_found, session_order and instead_of, for ratel_explanation_write. */
RATEL_API void ratel_survey_tell(const ratel_survey *s, ratel_telling *out);
RATEL_API void ratel_survey_free(ratel_survey *s);

/* Other solvers (doc/backends.md).  The order problem of a level as a formula, written from the
   axioms of doc/levels.md: "smt2", "dimacs" or "gnf" (which MonoSAT reads).  encoding: a name of
   ratel_encoding_at; NULL: "plain".  RATEL_EUNSUPPORTED: the history or the level has something
   that is not stated. */
RATEL_API int ratel_emit(const ratel_history *h, ratel *r, const char *level, const char *format,
                         const char *encoding, ratel_write_cb write, void *payload);
RATEL_API int ratel_encoding_at(const char **name, const char **about, size_t i);
typedef struct {
    const char *name;
    const char *format; /* "smt2" or "dimacs" */
    /* 10 satisfiable, 20 not, 0 gave up; asks stop(stop_payload) now and then, and ends if it is
       not 0.  A NUL byte follows the problem. */
    int (*solve)(void *payload, const char *problem, size_t n, int (*stop)(void *stop_payload),
                 void *stop_payload);
    /* After 10: the value of a variable by its name (of DIMACS: its number); 0 is false. */
    int64_t (*value)(void *payload, const char *name);
    void *payload;
} ratel_backend;
/* As ratel_check, decided by this solver on that formula.  It holds: the order of the model was
   replayed as ratel_result_recheck does.  Violated: the solver says so, and nothing else was asked;
   there is no anomaly name. */
RATEL_API int ratel_check_by(ratel_result **out, ratel *r, const ratel_history *h,
                             const char *level, const char *encoding, const ratel_backend *by);

/* Levels as text, and the smallest histories that tell levels apart (doc/synth.md).  A session
   belongs to one context, which it must not outlive: allocator, options "time" and "memory" (for
   each call), errors and ratel_interrupt are the context's.  Levels are numbers of the session. */
typedef struct ratel_synth ratel_synth;
RATEL_API int ratel_synth_open(ratel_synth **out, ratel *r);
RATEL_API void ratel_synth_close(ratel_synth *s);
/* The i-th definition that comes with the library: name, text, and the level of ratel_level_at that
   decides the same ("" if there is none).  Static texts; RATEL_EINVAL past the end. */
RATEL_API int ratel_definition_at(const char **name, const char **text, const char **builtin,
                                  size_t i);
/* One of these by any of its names. */
RATEL_API int ratel_synth_named(ratel_synth *s, const char *name, int *level);
/* A level of an `.iso` text; name NULL: its last one.  RATEL_EPARSE with its position. */
RATEL_API int ratel_synth_defined(ratel_synth *s, const char *text, size_t n, const char *name,
                                  int *level);
/* A condition on the history, a formula of doc/synth.md: to be allowed, like a level. */
RATEL_API int ratel_synth_condition(ratel_synth *s, const char *formula, int *level);
RATEL_API const char *ratel_synth_level_name(const ratel_synth *s, int level); /* NULL: none */
typedef struct {
    const int *allow, *forbid; /* levels that the history must satisfy, and that it must violate */
    size_t n_allow, n_forbid;
    uint32_t txns, keys;    /* at most; 0: 5 */
    uint32_t values;        /* of a key, the initial one included; 0: no limit */
    uint32_t sessions, ops; /* sessions; operations of a transaction; 0: no limit */
    int no_blind_writes;    /* 1: a transaction reads what it writes */
    int partial_sessions;   /* 1: session order is any partial order */
} ratel_synth_question;
typedef enum {
    RATEL_SYNTH_UNDECIDED = 0, /* a limit */
    RATEL_SYNTH_HISTORY = 1,   /* the smallest history that there is */
    RATEL_SYNTH_NONE = 2,      /* there is none within the bounds */
    RATEL_SYNTH_PROVED = 3     /* there is none of any size */
} ratel_synth_result;
typedef struct {
    ratel_synth_result result;
    char why[256];                                      /* undecided or proved: one clause */
    uint32_t txns;                                      /* of the history */
    uint64_t candidates, variables, clauses, conflicts; /* work */
} ratel_synth_answer;
/* *found: the history with values (0 at first; transaction tN writes N), or NULL.  The levels that
   ratel_check knows were asked about it once more; RATEL_EBUG if they disagree. */
RATEL_API int ratel_synth_search(ratel_history **found, ratel_synth *s,
                                 const ratel_synth_question *q, ratel_synth_answer *out);
/* 1: level a implies level b, proved for histories of every size; 0: not proved; < 0: an error. */
RATEL_API int ratel_synth_proves(ratel_synth *s, int a, int b);

/* One stage of deciding a level, as text, an item a line: "asg" (the semantic graph), "ir" (the
   order problem), "clauses" (the clauses that the solver gets, then the answer).
   RATEL_EUNSUPPORTED if the level or the history has no such stage. */
RATEL_API int ratel_dump(const ratel_history *h, ratel *r, const char *level, const char *stage,
                         ratel_write_cb write, void *payload);

/* A frozen history, one by one: transactions in input order, operations in theirs.  Keys and values
   are numbers, equal iff the keys and values are. */
typedef struct {
    uint32_t session;
    ratel_status status;
    size_t first_op, ops;
    char id[64];   /* text, cut */
    uint64_t line; /* of the input, where it begins; 0: not known */
    int timed;     /* 1: `begin` and `end`, instants of the client's clock, are known */
    int64_t begin, end;
} ratel_txn_info;
typedef struct {
    char kind; /* r, w, d(elete), a(ppend), s(can), i(terator) */
    uint32_t key, value;
    int failed, known; /* known 0: a read whose result was not recorded */
    int initial;       /* 1: the value is the initial value of the key; -1: not known */
    int absent;        /* a read that found no value */
    /* The place of the key in the order of keys; of a scan or an iterator, the places [rank,
       rank_to) of its range.  Without scans and iterators keys have no order but that of their
       numbers. */
    uint32_t rank, rank_to;
    uint32_t before; /* the initial value of the key, if there is one and it is known */
    int timed;       /* 1: `called`, when the client sent it, is known */
    int64_t called;
    int had; /* 1: the key has an initial value, 0: it is absent at first, -1: not known */
} ratel_op_info;
RATEL_API int ratel_history_txn_at(const ratel_history *h, size_t i, ratel_txn_info *out);
/* The whole id, which may be longer than what ratel_txn_info has and may hold any byte: copies at
   most cap bytes of it, without a 0 after them, and returns its length; 0 past the end. */
RATEL_API size_t ratel_history_txn_id(const ratel_history *h, size_t i, char *buf, size_t cap);
RATEL_API int ratel_history_op_at(const ratel_history *h, size_t i, ratel_op_info *out);

/* The transactions that a violation is made of, by their index, and the steps of its cycle, if it
   has one.  RATEL_EINVAL past the end. */
typedef struct {
    size_t from, to;  /* transactions */
    const char *edge; /* "wr", "ww", "rw", "so" or "rt" */
    char key[64];     /* text, cut; "" if the step has no key */
} ratel_step;
RATEL_API int ratel_result_core_at(const ratel_result *a, size_t i, size_t *txn);
RATEL_API int ratel_result_step_at(const ratel_result *a, size_t i, ratel_step *out);

/* Distributions of what ratel_stat counts. */
#define RATEL_SHAPE_BINS 48
#define RATEL_SHAPE_HOT 10
#define RATEL_SHAPE_CLASSES 8 /* 0, 1, 2, 3-4, 5-8, 9-16, 17-32, more */
typedef struct {
    int64_t first, last;                 /* the span of the client times */
    uint64_t timed;                      /* transactions with times that did not abort; 0: none */
    double open[RATEL_SHAPE_BINS];       /* mean number of open ones in each slice of the span */
    uint64_t sizes[RATEL_SHAPE_CLASSES]; /* committed transactions by number of operations */
    struct {
        char key[64]; /* text, cut */
        uint64_t reads, writes;
    } hot_keys[RATEL_SHAPE_HOT]; /* busiest first */
    size_t hot;
    uint64_t touches, top1, top10; /* operations on keys; on the busiest 1% and 10% of the keys */
    uint64_t session_min, session_median, session_max; /* committed transactions of a session */
    char session_small[64], session_big[64];
    int ambiguity_counted; /* 0: values are unique, so no read has two possible writers */
    uint64_t sources[RATEL_SHAPE_CLASSES]; /* reads by number of possible writers */
    uint64_t ambiguous_reads, most_sources;
} ratel_shape;
/* `counted` is the result of ratel_history_stat for this history. */
RATEL_API int ratel_history_shape(ratel_shape *out, ratel *r, const ratel_history *h,
                                  const ratel_stat *counted);
#endif

#ifdef __cplusplus
}
#endif
#endif
