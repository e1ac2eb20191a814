/*
 * work_jepsen.c - the small models of Jepsen as workloads: counter, set, cas-register and mutex;
 * and increments, which are several additions in a transaction.
 *
 * A transaction of a model is one operation of it: one read, or a read and then a write of the
 * same key (of a set: one insert, or one scan).  So histories of all but the set can be checked at
 * `linearizable`.  What an operation writes depends on what it has read: an attempt that does not
 * find what it expects is a read.
 */
#include "gen/workload.h"

#define HIGHEST_SUM 0x40000000u

static uint32_t longest_pair(const workload *w)
{
    (void)w;
    return 2;
}

enum model_shape { MODEL_READ, MODEL_WRITE, MODEL_CHANGE, MODEL_RELEASE };

static void set_step(step *t, enum step_kind kind, uint32_t key, uint32_t value)
{
    t->kind = (uint8_t)kind;
    t->key = key;
    t->value = value;
}

/* --- counter, increments ---------------------------------------------------------------------- */

/* Steps come in pairs: a read, and a write of the sum or, of an action that only reads, nothing. */
static uint32_t longest_sums(const workload *w)
{
    return 2 * w->ops;
}

static void plan_sums(workload *w, rng *r, plan *p, step *steps, bool again)
{
    if (again) return;
    uint32_t n = w->slot ? 1 + rng_below(r, w->ops) : 1;
    p->n = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t slot = draw_slot(w, r), key = w->slot ? w->slot[slot] : slot;
        plan_read(steps, p, key);
        if (draw_read(w, r)) continue;
        plan_write(steps, p, key, 1 + rng_below(r, 5));
        if (w->slot && fresh_value(w, key) >= w->writes_per_key)
            w->slot[slot] = workload_fresh_key(w);
    }
}

/* The amounts stand in `to` while `value` has the sums, so that an attempt can be made again. */
static bool step_sums(workload *w, rng *r, plan *p, step *steps, uint32_t i)
{
    (void)w, (void)r;
    step *t = &steps[i];
    t->flags = 0;
    if (t->kind == STEP_READ && i + 1 < p->n && steps[i + 1].kind == STEP_WRITE)
        t->flags = STEP_SUM;
    if (t->kind == STEP_READ) return true;
    if (!t->to) t->to = t->value;
    if (steps[i - 1].value > HIGHEST_SUM) return false;
    t->value = steps[i - 1].value + t->to;
    return true;
}

const work_class work_counter = {.flags = WORK_MEANING,
                                 .theta = 0.5,
                                 .longest = longest_sums,
                                 .plan = plan_sums,
                                 .step = step_sums};
const work_class work_increments = {.flags = WORK_MEANING | WORK_ROTATING,
                                    .theta = 0.5,
                                    .longest = longest_sums,
                                    .plan = plan_sums,
                                    .step = step_sums};

/* --- set ------------------------------------------------------------------------------------- */

/* Elements are keys from `first` on.  A full set is followed by a new one, so that a read of a set
   does not cost more and more; the one before it is still read. */
typedef struct element_set {
    uint32_t first, added, before;
} element_set;

static void init_set(workload *w, const knob_set *k)
{
    (void)k;
    w->own = mem_zeroed(w->mem, sizeof(element_set));
    w->next_key = w->keys;
}

static uint32_t longest_set(const workload *w)
{
    (void)w;
    return 1;
}

static void plan_set(workload *w, rng *r, plan *p, step *steps, bool again)
{
    if (again) return;
    element_set *s = w->own;
    p->n = 0;
    if (draw_read(w, r)) {
        uint32_t first = rng_below(r, 4) ? s->first : s->before;
        plan_range(steps, p, STEP_SCAN, first, first + w->keys, 0);
        return;
    }
    if (s->added == w->keys) {
        s->before = s->first;
        s->first = w->next_key;
        s->added = 0;
        for (uint32_t i = 0; i < w->keys; i++) workload_fresh_key(w);
    }
    uint32_t key = s->first + s->added++;
    plan_write(steps, p, key, fresh_value(w, key));
}

static bool step_set(workload *w, rng *r, plan *p, step *steps, uint32_t i)
{
    (void)w, (void)r, (void)p, (void)steps, (void)i;
    return true;
}

static uint32_t shared_set(const workload *w, rng *r)
{
    const element_set *s = w->own;
    return s->first + rng_below(r, w->keys);
}

const work_class work_set = {.flags = WORK_EXPLICIT | WORK_ABSENT | WORK_FRESH,
                             .theta = 0.5,
                             .init = init_set,
                             .longest = longest_set,
                             .plan = plan_set,
                             .step = step_set,
                             .shared = shared_set};

/* --- cas-register ---------------------------------------------------------------------------- */

/* What a compare-and-set expects: the value handed out last, which is often there, or with
   duplicate values any. */
static uint32_t expected_value(const workload *w, rng *r, uint32_t key)
{
    if (key < w->duplicate_keys) return 1 + alias_pick(&w->value_choice, rng_next(r));
    return key < w->issued.n ? w->issued.at[key] : w->initial;
}

static void plan_cas(workload *w, rng *r, plan *p, step *steps, bool again)
{
    (void)steps, (void)again;
    p->a = draw_slot(w, r);
    p->shape = draw_read(w, r) ? MODEL_READ : rng_below(r, 2) ? MODEL_WRITE : MODEL_CHANGE;
    p->n = p->shape == MODEL_CHANGE ? 2 : 1;
}

static bool step_cas(workload *w, rng *r, plan *p, step *steps, uint32_t i)
{
    if (p->shape == MODEL_CHANGE && !i) p->b = expected_value(w, r, p->a);
    bool writes = p->shape == MODEL_WRITE || i;
    if (i && steps[0].value != p->b) return false;
    set_step(&steps[i], writes ? STEP_WRITE : STEP_READ, p->a, 0);
    if (writes) steps[i].value = draw_value(w, r, p->a);
    return true;
}

const work_class work_cas = {.flags = WORK_FRESH | WORK_MEANING,
                             .theta = 0.5,
                             .longest = longest_pair,
                             .plan = plan_cas,
                             .step = step_cas};

/* --- mutex ----------------------------------------------------------------------------------- */

/* An odd value is the token of whoever holds the lock, an even one (0 at first) says that it is
   free; no value comes twice.  A session with a token tries to release next, whether its acquire
   was committed or not: if the lock does not hold the token, it was not. */
static void plan_mutex(workload *w, rng *r, plan *p, step *steps, bool again)
{
    (void)steps;
    if (again) return;
    p->n = 2;
    if (p->a) {
        p->shape = MODEL_RELEASE;
        p->amount = p->a; /* kept for an attempt that is refused and made again */
        return;
    }
    p->b = draw_slot(w, r);
    p->shape = draw_read(w, r) ? MODEL_READ : MODEL_CHANGE;
    if (p->shape == MODEL_READ) p->n = 1;
}

static uint32_t lock_value(workload *w, uint32_t key, bool held)
{
    uint32_t v = fresh_value(w, key);
    return v % 2 == held ? v : fresh_value(w, key);
}

static bool step_mutex(workload *w, rng *r, plan *p, step *steps, uint32_t i)
{
    (void)r;
    set_step(&steps[i], i ? STEP_WRITE : STEP_READ, p->b, 0);
    if (!i) return true;
    p->a = 0;
    bool acquire = p->shape == MODEL_CHANGE;
    if (acquire ? steps[0].value % 2 : steps[0].value != p->amount) return false;
    steps[i].value = lock_value(w, p->b, acquire);
    if (acquire) p->a = steps[i].value;
    return true;
}

const work_class work_mutex = {.flags = WORK_FRESH | WORK_MEANING,
                               .theta = 0.5,
                               .longest = longest_pair,
                               .plan = plan_mutex,
                               .step = step_mutex};
