/*
 * builder.h - what the builder calls share: api_build.c has the calls, api_hints.c those that say
 * more about an operation or a transaction that is there.
 */
#ifndef RATEL_API_BUILDER_H
#define RATEL_API_BUILDER_H

#include "ratel.h"

#include "api/api_internal.h"

/* Every builder call runs in a guard of its own; the arguments travel in this struct. */
typedef struct build {
    guard guard;
    ratel_history *shell;
    history *h;
    ratel_value key, value;
    const ratel_value *list;
    const ratel_row *rows;
    size_t n;
    unsigned kind;
    int flags;
    int done, reverse;
    ratel_value from, to;
    const int64_t *times;
    int64_t begin, end;
    ratel_status status;
    txn_id txn;
    const char *name, *json;
    size_t json_n;
    mem scratch; /* emptied when the call ends */
} build;

/* Leaves the text in the history and returns the code. */
int builder_refuse(ratel_history *h, int code, const char *text);
/* Runs the body in a guard; a failure changes nothing that a user can see. */
int builder_run(ratel_history *h, build *b, void (*body)(build *));

/* What the native format can hold: finite numbers, strings in UTF-8; keys are integers and
   strings. */
bool builder_scalar_ok(const ratel_value *v);
bool builder_key_ok(const ratel_value *v);
key_id builder_key(history *h, const ratel_value *v);
label builder_label(history *h, const ratel_value *v);

#define BUILDING(h)                                                                                \
    do {                                                                                           \
        if (!(h)) return RATEL_EINVAL;                                                             \
        if ((h)->model->frozen) return builder_refuse(h, RATEL_EINVAL, "the history is frozen");   \
    } while (0)
#define IN_TXN(h)                                                                                  \
    do {                                                                                           \
        BUILDING(h);                                                                               \
        if (!(h)->model->open && (h)->current == NO_ID)                                            \
            return builder_refuse(h, RATEL_EINVAL,                                                 \
                                  "no transaction has begun, or none is selected");                \
    } while (0)
#define BETWEEN(h)                                                                                 \
    do {                                                                                           \
        BUILDING(h);                                                                               \
        if ((h)->model->open || (h)->open_txns)                                                    \
            return builder_refuse(h, RATEL_EINVAL, "a transaction is open");                       \
    } while (0)

#endif
