/*
 * workload.h - what the transactions of a workload do.
 *
 * workload_plan draws the shape of a transaction, workload_step its next operation: key, kind and
 * value to write.  Steps may look at what earlier ones have read (bank).  The workload also hands
 * out keys and values: those of a key count up from 1, so unless duplicates are wanted each value
 * is written once.
 */
#ifndef RATEL_GEN_WORKLOAD_H
#define RATEL_GEN_WORKLOAD_H

#include "base/rng.h"
#include "gen/gen.h"
#include "gen/store.h"

enum workload_kind {
#define WORKLOAD(id, name, txns, sessions, keys, ops, about) WORKLOAD_##id,
#include "gen/workloads.def"
#undef WORKLOAD
    WORKLOADS
};

/* Draws from a given distribution in constant time (Walker's alias method). */
typedef struct alias {
    uint32_t n;
    uint32_t *keep, *other; /* stay in column i if the coin is below keep[i] */
} alias;

typedef struct plan {
    uint32_t n; /* operations at most */
    uint32_t shape;
    uint32_t a, b, amount;
} plan;

typedef struct workload {
    mem *mem;
    enum workload_kind kind;
    uint32_t keys, ops;
    uint32_t read_limit; /* a 32-bit draw below it means read */
    enum gen_choice choice;
    alias key_choice, value_choice;
    uint32_t duplicate_keys; /* keys below it take duplicate values */
    uint32_t writes_per_key;
    uint32_t balance;
    uint32_t next_key;    /* the first key nobody has used */
    uint32_t *slot;       /* rotating keys: the keys in use, or NULL */
    VEC(uint32_t) issued; /* values handed out of each key */
} workload;

void workload_init(workload *w, mem *m, enum workload_kind kind, const gen_options *o);
void workload_free(workload *w);
/* The most operations a transaction can have. */
uint32_t workload_longest(const workload *w);
static inline bool workload_lists(const workload *w)
{
    return w->kind == WORKLOAD_LIST_APPEND;
}

/* A key nobody has used. */
uint32_t workload_fresh_key(workload *w);

void workload_plan(workload *w, rng *r, plan *p);
/* Fills kind, key and, of writes, value of steps[i]; false: the transaction ends here. */
bool workload_step(workload *w, rng *r, const plan *p, step *steps, uint32_t i);

#endif
