/*
 * api_internal.h - what the files of src/lib/api share.
 */
#ifndef RATEL_API_API_INTERNAL_H
#define RATEL_API_API_INTERNAL_H

#include "read/file.h"
#include "verdict/verdict.h"

enum api_option {
#define OPTION(name, def, lo, hi, help) API_OPTION_##name,
#include "opt/context_options.def"
#undef OPTION
    API_OPTIONS
};

struct ratel {
    mem_fn fn;
    void *ud;
    int64_t values[API_OPTIONS];
    uint64_t passes_off; /* by bit */
    volatile int interrupted;
    char message[GUARD_TEXT + 512];
    uint64_t line, column;
    char lost[1024];
    int (*tell)(const struct ratel_progress *p, void *payload); /* NULL: nobody watches */
    void *tell_payload;
    mem kept; /* texts that calls hand out, until the next such call */
};

struct ratel_history {
    history *model;
    mem_fn fn;
    void *ud;
    const char *format;
    char message[GUARD_TEXT];
    /* Transactions that are open side by side (api_build.c); the arrays are in the model's region.
       */
    bool streaming;
    size_t open_txns;
    txn_id current;     /* builder calls mean this one; NO_ID: none, or the model's open one */
    VEC(txn_id) owner;  /* by operation, while streaming */
    VEC(uint32_t) busy; /* by session: its open transaction + 1, or 0 */
};

struct ratel_result {
    verdict v;
    mem mem;  /* of the verdict */
    mem work; /* of deciding; empty afterwards */
    mem_fn fn;
    void *ud;
    const char *format;
    char limit[GUARD_TEXT];
};

/* One call on a context; bodies find their own struct around it. */
typedef struct call {
    struct ratel *r;
    guard guard;
    guard_watch progress; /* used if somebody watches */
    uint64_t begun;
    void *out;
} call;

/* The only frame that is jumped back to: runs the body, returns RATEL_OK or the guard's code. */
int api_border(call *c, void (*body)(call *));
void api_open(call *c, struct ratel *r);
int api_close(call *c, int code);
int api_fail(struct ratel *r, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
size_t api_memory(const struct ratel *r);
/* What the options say of a question at this level. */
question api_question(const struct ratel *r, const char *level);
/* ratel_check, by another solver if it is given. */
struct other_solver;
int api_check(struct ratel_result **out, struct ratel *r, const struct ratel_history *h,
              const char *level, const struct other_solver *by);
/* Says that there is no such level; RATEL_EINVAL. */
int api_no_level(struct ratel *r, const char *name);
/* RATEL_OK, or RATEL_EUNSUPPORTED with a message: `what` does not know what modules add. */
int api_bare(struct ratel *r, const struct ratel_history *h, const char *what);
int api_new_history(struct ratel_history **out, call *c);
/* A key or an id as text, cut to the buffer. */
void api_put_atom(const history *m, atom a, char *buf, size_t cap);

#endif
