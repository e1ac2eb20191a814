/*
 * workload.h - what the transactions of a workload do.
 *
 * A class of workloads plans a transaction and then gives its operations one by one: kind, key
 * and value to write.  Steps may look at what earlier ones have read.  The workload also hands
 * out keys and values: those of a key count up from 1, so unless duplicates are wanted each value
 * is written once.
 *
 * A refused attempt is planned anew by classes that draw as they go; those that plan everything
 * beforehand keep the plan (`again`), as a client that tries again would.
 */
#ifndef RATEL_GEN_WORKLOAD_H
#define RATEL_GEN_WORKLOAD_H

#include "base/rng.h"
#include "gen/gen.h"
#include "gen/simulated_store.h"

enum workload_kind {
#define WORKLOAD(id, name, class, txns, sessions, keys, ops, reads, about) WORKLOAD_##id,
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

typedef struct workload workload;

#define WORK_LISTS 1u    /* keys are lists */
#define WORK_ROTATING 2u /* keys are retired */
#define WORK_EXPLICIT 4u /* w->keys is no number of keys: the class hands them all out */
#define WORK_ABSENT 8u /* every key is absent at first and there are ranges; else it is a number */
#define WORK_MEANING 16u /* steps reckon with values: none but the workload's own may be left */
#define WORK_FRESH 32u   /* every write draws its value: unique where no duplicates are asked for */

typedef struct work_class {
    unsigned flags;
    enum gen_choice choice; /* of keys, by default */
    double theta;
    double duplicates; /* share of keys that take duplicate values */
    /* Any of these may be NULL but plan and step. */
    void (*init)(workload *w, const knob_set *k);
    void (*free)(workload *w);
    uint32_t (*longest)(const workload *w); /* the most steps; NULL: ops */
    void (*plan)(workload *w, rng *r, plan *p, step *steps, bool again);
    /* Fills kind, key and, of writes, value of steps[i]; false: the transaction ends here. */
    bool (*step)(workload *w, rng *r, plan *p, step *steps, uint32_t i);
    /* The name of a key; returns its length.  NULL: the number. */
    size_t (*name)(const workload *w, uint32_t key, char *out, size_t cap);
    /* The name of a range's end, if that is not the key's of this number. */
    size_t (*bound)(const workload *w, uint32_t key, char *out, size_t cap);
    /* A key in use whose value steps do not interpret, or NO_ID.  NULL: any. */
    uint32_t (*shared)(const workload *w, rng *r);
} work_class;

struct workload {
    mem *mem;
    enum workload_kind kind;
    const work_class *class;
    void *own; /* of the class */
    uint32_t keys, ops;
    uint64_t read_limit; /* a 32-bit draw below it means read */
    uint64_t hot_limit;  /* likewise: the first key */
    enum gen_choice choice;
    alias key_choice, value_choice;
    uint32_t duplicate_keys; /* keys below it take duplicate values */
    uint32_t writes_per_key;
    uint32_t initial;     /* value of every key at first */
    uint32_t next_key;    /* the first key nobody has used */
    uint32_t next_plant;  /* the same of those outside of all ranges */
    uint32_t *slot;       /* rotating keys: the keys in use, or NULL */
    VEC(uint32_t) issued; /* values handed out of each key */
    bool named;           /* keys are strings */
    VEC(key_id) names;    /* key id + 1 of each key that has been named */
};

typedef struct workload_info {
    const char *name, *about;
    uint64_t txns, sessions, keys, ops;
    double reads;
    const work_class *class;
} workload_info;

const workload_info *workload_at(size_t i); /* NULL past the end */

void workload_init(workload *w, mem *m, enum workload_kind kind, const gen_options *o);
void workload_free(workload *w);
/* The most operations a transaction can have. */
uint32_t workload_longest(const workload *w);
static inline bool workload_lists(const workload *w)
{
    return w->class->flags & WORK_LISTS;
}
/* Is no value of a key written twice, as long as no transaction is tried again? */
static inline bool workload_unique(const workload *w)
{
    return (w->class->flags & WORK_FRESH) && !w->duplicate_keys;
}

/* A key nobody has used. */
uint32_t workload_fresh_key(workload *w);
/* The same, outside of every range that the workload looks at; calls in a row give neighbours. */
uint32_t workload_plant_key(workload *w);
/* A key that transactions use, or NO_ID; *slot is its place among rotating keys. */
uint32_t workload_shared_key(const workload *w, rng *r, uint32_t *slot);
/* The key, or the end of a range, as the history has it. */
key_id workload_key(workload *w, history *h, uint32_t key);
uint32_t workload_bound(workload *w, history *h, uint32_t key);

static inline void workload_plan(workload *w, rng *r, plan *p, step *steps, bool again)
{
    w->class->plan(w, r, p, steps, again);
}
static inline bool workload_step(workload *w, rng *r, plan *p, step *steps, uint32_t i)
{
    return w->class->step(w, r, p, steps, i);
}

/* --- for the classes ----------------------------------------------------------------------- */

void alias_init(alias *a, mem *m, uint32_t n, bool exponential, double theta);
void alias_free(alias *a, mem *m);
static inline uint32_t alias_pick(const alias *a, uint64_t x)
{
    uint32_t i = (uint32_t)(((x >> 32) * a->n) >> 32);
    return (uint32_t)x < a->keep[i] ? i : a->other[i];
}

/* A share of 32-bit draws: none at 0, all at 1. */
static inline uint64_t share_limit(double share)
{
    return (uint64_t)(share * 4294967296.0);
}
static inline bool draw_below(rng *r, uint64_t limit)
{
    return rng_next(r) >> 32 < limit;
}
static inline bool draw_read(const workload *w, rng *r)
{
    return draw_below(r, w->read_limit);
}
static inline uint32_t draw_slot(const workload *w, rng *r)
{
    if (w->hot_limit && draw_below(r, w->hot_limit)) return 0;
    return w->choice == GEN_UNIFORM ? rng_below(r, w->keys)
                                    : alias_pick(&w->key_choice, rng_next(r));
}
/* A value never given to this key before. */
uint32_t fresh_value(workload *w, uint32_t key);
/* A value to write: duplicate or fresh, as the key is. */
uint32_t draw_value(workload *w, rng *r, uint32_t key);

#define FIRST_PLANT_KEY 0x70000000u

static inline void plan_read(step *steps, plan *p, uint32_t key)
{
    steps[p->n++] = (step){.kind = STEP_READ, .key = key};
}
static inline void plan_write(step *steps, plan *p, uint32_t key, uint32_t value)
{
    steps[p->n++] = (step){.kind = STEP_WRITE, .key = key, .value = value};
}
static inline void plan_range(step *steps, plan *p, enum step_kind kind, uint32_t from, uint32_t to,
                              uint32_t limit)
{
    steps[p->n++] = (step){.kind = (uint8_t)kind, .key = from, .to = to, .limit = (uint16_t)limit};
}
static inline void plan_fresh(workload *w, step *steps, plan *p, uint32_t key)
{
    plan_write(steps, p, key, fresh_value(w, key));
}

#endif
