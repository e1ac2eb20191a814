/*
 * key_search.h - is there an order of the operations on one key that agrees with real time and
 * explains every read?
 *
 * Values may repeat as often as they like; what the search costs depends on how many operations
 * overlap (key_search.c).
 */
#ifndef RATEL_DECIDE_KEY_SEARCH_H
#define RATEL_DECIDE_KEY_SEARCH_H

#include "history/history.h"

/* A read, a write, or a read and then a write.  Times are keys of sort_key. */
typedef struct key_op {
    value_id read, write; /* VALUE_UNKNOWN: it does not, or nobody knows what it read */
    uint32_t before;      /* the operation before it in its session, or NO_ID */
    bool certain;         /* else it may not have happened */
    bool ends;            /* `end` is known */
    uint64_t begin, end;
} key_op;

enum key_answer {
    KEY_HAS_ORDER,
    KEY_HAS_NONE,
    KEY_TOO_HARD /* too many operations overlap */
};

#define KEY_HELD 4u

typedef struct key_found {
    VEC(uint32_t) line;      /* KEY_HAS_ORDER: the operations that took effect, in their order */
    uint32_t stuck;          /* KEY_HAS_NONE: one that has no place when it ends; then ... */
    value_id held[KEY_HELD]; /* ... the key can have held these */
    unsigned n_held;
    bool held_more; /* ... or others */
} key_found;

/* In the region m; `out` keeps its memory from call to call, zeroed before the first one. */
enum key_answer key_search_run(mem *m, const key_op *op, uint32_t n, value_id initial,
                               int64_t drift, key_found *out);

#endif
