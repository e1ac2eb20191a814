/*
 * key_search.h - is there an order of the operations on one object that agrees with real time and
 * explains every read?
 *
 * The object is a key that is read and written, or what else the caller can run operations on: a
 * counter, a bank.  Values may repeat as often as they like; what the search costs depends on how
 * many operations overlap (key_search.c).
 */
#ifndef RATEL_DECIDE_KEY_SEARCH_H
#define RATEL_DECIDE_KEY_SEARCH_H

#include "history/history.h"

/* Times are keys of sort_key. */
typedef struct key_op {
    bool writes;     /* else it only reads */
    bool certain;    /* else it may not have happened */
    bool ends;       /* `end` is known */
    uint32_t before; /* the operation before it in its session, or NO_ID */
    uint64_t begin, end;
} key_op;

/* What the operations do. */
typedef struct key_model {
    /* What the object holds after operation i; NO_ID: it cannot have taken effect then. */
    uint32_t (*run)(void *ud, uint32_t i, uint32_t value);
    /* Does a read leave this value as it is?  NULL: always. */
    bool (*settled)(const void *ud, uint32_t value);
    void *ud;
} key_model;

enum key_answer {
    KEY_HAS_ORDER,
    KEY_HAS_NONE,
    KEY_TOO_HARD /* too many operations overlap */
};

#define KEY_HELD 4u

typedef struct key_found {
    VEC(uint32_t) line;      /* KEY_HAS_ORDER: the operations that took effect, in their order */
    uint32_t stuck;          /* KEY_HAS_NONE: one that has no place when it ends; then ... */
    uint32_t held[KEY_HELD]; /* ... the object can have held these */
    unsigned n_held;
    bool held_more; /* ... or others */
} key_found;

/* In the region m; `out` keeps its memory from call to call, zeroed before the first one. */
enum key_answer key_search_run(mem *m, const key_op *op, uint32_t n, const key_model *model,
                               uint32_t initial, int64_t drift, key_found *out);

#endif
