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
void synth_close(synth *s);
/* The last error, and where in the text of the level it was (line 0: nowhere). */
const char *synth_error(const synth *s, uint64_t *line, uint64_t *column);

/* ---- levels -------------------------------------------------------------------------------- */

/* The i-th definition that comes with the program: name, text, and the long name of the built-in
   level that decides the same ("" if there is none); false past the end. */
bool synth_library_at(size_t i, const char **name, const char **text, const char **builtin);
/* Any name or alias of a library definition, NULL if there is none; *near: what was meant. */
const char *synth_library_name(const char *name, const char **near);

/* The number of a level by its library name, or < 0: a code of ratel.h. */
int synth_level_named(synth *s, const char *name);
/* Of a file's text: its level `name`, or its last one if name is NULL. */
int synth_level_read(synth *s, const char *file, const char *name, const char *text, size_t n);
const char *synth_level_name(const synth *s, int level);
/* The long name of the built-in level that decides the same, or "". */
const char *synth_level_builtin(const synth *s, int level);

/* ---- searching ----------------------------------------------------------------------------- */

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
    /* to measure what each idea is worth */
    bool no_smart, no_least;
} synth_problem;

typedef enum synth_result { SYNTH_UNDECIDED, SYNTH_HISTORY, SYNTH_NONE, SYNTH_PROVED } synth_result;

typedef struct synth_answer {
    synth_result result;
    const char *why; /* undecided or proved: one clause */
    /* a history: transactions 1..txns, 0 is the initial state */
    uint32_t txns, keys;
    const uint32_t *from;     /* [t * keys + x]: whom t reads x from, or SYNTH_NONE_READ */
    const bool *writes;       /* [t * keys + x] */
    const uint32_t *session;  /* [t], from 1 on; of partial session orders, chains that cover it */
    const bool *so;           /* [a * (txns + 1) + b] */
    uint32_t *const *witness; /* [allowed level][i]: the transactions in its order, i < txns */
    /* work */
    uint64_t candidates; /* histories that were tried and allowed by a forbidden level */
    uint64_t variables, clauses, conflicts;
} synth_answer;
#define SYNTH_NONE_READ UINT32_MAX

/* The answer lives until the next call on the session. */
int synth_search(synth *s, const synth_problem *p, synth_answer *out);

/* Is the level kept by this history?  1, 0, or < 0: a code.  from, writes, so as in the answer. */
int synth_check(synth *s, int level, uint32_t txns, uint32_t keys, const uint32_t *from,
                const bool *writes, const bool *so, uint32_t *order);

/* Does every history that keeps a keep b?  1: proved by inclusion; 0: not proved. */
int synth_proves(synth *s, int a, int b);

#endif
