/*
 * synth.h - levels as text, and histories that tell levels apart.
 *
 * The border of the room: no call jumps out of it, none prints.  A session holds the levels that
 * were named or read, by number.  Errors are codes of ratel.h; the text is in synth_error.
 */
#ifndef RATEL_SYNTH_SYNTH_H
#define RATEL_SYNTH_SYNTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct synth synth;

/* seconds 0, memory (bytes) 0: no limit.  interrupt may be NULL.  NULL: out of memory. */
synth *synth_open(double seconds, size_t memory, const volatile int *interrupt);
/* The same with another allocator, in the manner of base/mem.h. */
synth *synth_open_with(void *(*fn)(void *ud, void *p, size_t osize, size_t nsize), void *ud,
                       double seconds, size_t memory, const volatile int *interrupt);
void synth_close(synth *s);
/* For each call from now on; 0: no limit. */
void synth_limit(synth *s, double seconds);
/* The last error, and where in the text of the level it was (line 0: nowhere). */
const char *synth_error(const synth *s, uint64_t *line, uint64_t *column);

/* ---- levels -------------------------------------------------------------------------------- */

/* The i-th definition that comes with the program: name, text, and the long name of the built-in
   level that decides the same ("" if there is none); false past the end. */
bool synth_library_at(size_t i, const char **name, const char **text, const char **builtin);
/* Any name or alias of a library definition, NULL if there is none; *near: what was meant. */
const char *synth_library_name(const char *name, const char **near);
/* Why the built-in level of this name or alias has no definition as text; NULL: no reason. */
const char *synth_unwritten(const char *name);

/* The number of a level by its library name, or < 0: a code of ratel.h. */
int synth_level_named(synth *s, const char *name);
/* A formula over the history alone; as a level, it is one condition more. */
int synth_condition(synth *s, const char *formula);
/* Of a file's text: its level `name`, or its last one if name is NULL. */
int synth_level_read(synth *s, const char *file, const char *name, const char *text, size_t n);
/* The file's text in its usual layout, comments kept; until the next call.  0 or a code. */
int synth_tidy(synth *s, const char *file, const char *text, size_t n, const char **out);
/* How many levels the session has: their numbers are below that. */
int synth_levels(const synth *s);
const char *synth_level_name(const synth *s, int level);
/* The text that defines it, whole. */
const char *synth_level_text(const synth *s, int level);
/* The long name of the built-in level that decides the same, or "". */
const char *synth_level_builtin(const synth *s, int level);
/* Does it speak of clocks or of program order, which synth_decide does not know? */
bool synth_level_has_steps(const synth *s, int level);

/* ---- searching ----------------------------------------------------------------------------- */

/* A SAT solver from outside, in the manner of IPASIR; literals are 2 * variable + sign.  It may be
   given clauses between the calls of solve. */
typedef struct synth_engine {
    const char *name;
    void *(*open)(void); /* NULL: out of memory */
    void (*close)(void *state);
    void (*clause)(void *state, const uint32_t *lits, size_t n);
    /* 10 satisfiable, 20 not, 0 stopped: asks stop(ud) now and then, and ends if it says so. */
    int (*solve)(void *state, const uint32_t *assume, size_t n, int (*stop)(void *ud), void *ud);
    bool (*value)(void *state, uint32_t lit); /* after 10 */
} synth_engine;

#define SYNTH_MAX_TXNS 40
#define SYNTH_MAX_KEYS 40

typedef struct synth_problem {
    const int *allow, *forbid; /* levels by number */
    size_t n_allow, n_forbid;
    uint32_t txns, keys; /* at most */
    uint32_t values;     /* of a key, the initial one included; 0: no limit */
    uint32_t sessions;   /* at most; 0: no limit */
    uint32_t ops;        /* of a transaction, at most; 0: no limit */
    bool no_blind;       /* who writes a key reads it first (Isolde) */
    bool partial;        /* session order is any partial order (Isolde) */
    bool no_prove;       /* do not look for a proof for all sizes */
    uint32_t more;       /* how many more of the smallest histories are wanted, none like another */
    /* Called for each encoding that has no history (up to so many transactions): the clauses as
       DIMACS, their refutation as DRAT.  NULL: no proof is logged. */
    void (*proof)(void *ud, uint32_t txns, const char *formula, size_t n, const char *steps,
                  size_t m);
    void *proof_ud;
    const synth_engine *engine; /* for proposing histories; NULL: our own, and the only one for
                                   which there is a proof */
    /* to measure what each idea is worth */
    bool no_smart; /* the allowed levels' own orders are not refuted from the start */
    bool no_least; /* learn from constant visibilities */
    bool no_fixed; /* the first allowed level's order is not that of the numbers */
    bool no_learn; /* a counterexample excludes one history only */
    bool brute;    /* the solver knows histories but no levels: each is tried */
} synth_problem;

typedef enum synth_result { SYNTH_UNDECIDED, SYNTH_HISTORY, SYNTH_NONE, SYNTH_PROVED } synth_result;

typedef struct synth_answer {
    synth_result result;
    const char *why; /* undecided or proved: one clause */
    int limit;       /* undecided by a limit: its code of ratel.h */
    /* a history: transactions 1..txns, 0 is the initial state */
    uint32_t txns, keys;
    const uint32_t *from;     /* [t * keys + x]: whom t reads x from, or SYNTH_NONE_READ */
    const bool *writes;       /* [t * keys + x] */
    const uint32_t *session;  /* [t], from 1 on; of partial session orders, chains that cover it */
    const bool *so;           /* [a * (txns + 1) + b] */
    uint32_t *const *witness; /* [allowed level][i]: the transactions in its order, i < txns */
    bool *const
        *vis; /* [allowed level][a * (txns + 1) + b]: b sees a; NULL: the level is over co */
    const struct synth_answer *others; /* synth_more */
    size_t n_others;
    bool all; /* `more` was asked for, and these are all */
    /* work */
    uint64_t candidates; /* histories that were tried and allowed by a forbidden level */
    uint64_t variables, clauses, conflicts;
} synth_answer;
#define SYNTH_NONE_READ UINT32_MAX

/* The answer lives until the next call on the session. */
int synth_search(synth *s, const synth_problem *p, synth_answer *out);
/* The i-th further history that `more` asked for, in place of the answer's; false past the end. */
bool synth_more(const synth_answer *first, size_t i, synth_answer *out);

/* Is the level kept by this history?  1, 0, or < 0: a code.  from, writes, so as in the answer. */
int synth_check(synth *s, int level, uint32_t txns, uint32_t keys, const uint32_t *from,
                const bool *writes, const bool *so, uint32_t *order);

/* A history that leaves choices open (doc/levels.md 5): which of those with an unknown outcome took
   part, and whom a read reads from.  Transactions 1..txns; 0 is the initial state. */
typedef struct synth_write {
    uint32_t txn, key;
} synth_write;
typedef struct synth_read {
    uint32_t txn, key;
    uint32_t first, n; /* candidate[first] and on: those who wrote what it read, not itself */
} synth_read;
typedef struct synth_facts {
    uint32_t txns, keys, sessions;
    const bool *maybe;       /* [t]: its outcome is unknown; NULL: none */
    const uint32_t *session; /* [t], below sessions; its order is that of the numbers; NULL: none */
    const synth_write *write; /* what each leaves behind, a key once */
    size_t n_writes;
    const synth_read *read;
    size_t n_reads;
    const uint32_t *candidate;
} synth_facts;

/* Up to so many transactions if a level must be searched for; commit(P) over session order and
   read-from, nothing open, needs no search. */
#define SYNTH_MOST_SEARCHED 64
/* Does some choice make the history keep the level?  1, 0, or < 0: a code. */
int synth_decide(synth *s, int level, const synth_facts *h, bool *searched);

/* Of a level that this history breaks: what it asks for that no witness keeps together, none of it
   in vain, a line each.  An answer whose arrays are given stays.  0 or a code. */
int synth_why(synth *s, int level, uint32_t txns, uint32_t keys, const uint32_t *from,
              const bool *writes, const bool *so, const char *const **lines, size_t *n);
/* How the lines name a key: x, y, z, k3, ... */
void synth_key_name(uint32_t x, char *buf, size_t n);

/* Does every history that keeps a keep b?  1: proved by inclusion; 0: not proved; < 0: a code. */
int synth_proves(synth *s, int a, int b);

#endif
