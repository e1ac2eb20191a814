/*
 * work_register.c - workloads of plain reads and writes: blindw-*, ycsb*, rw-register,
 * list-append, bank, mini, and the small groups that aim at one anomaly.
 */
#include "gen/workload.h"

enum { SHAPE_MIXED, SHAPE_READ_ONLY, SHAPE_WRITE_ONLY };

#define MOST_MONEY 0x40000000u

/* --- free choice of key and kind ----------------------------------------------------------- */

static void plan_ops(workload *w, rng *r, plan *p, step *steps, bool again)
{
    (void)r, (void)steps, (void)again;
    p->shape = SHAPE_MIXED;
    p->n = w->ops;
}

static void plan_blind(workload *w, rng *r, plan *p, step *steps, bool again)
{
    (void)steps, (void)again;
    p->n = w->ops;
    p->shape = draw_read(w, r) ? SHAPE_READ_ONLY : SHAPE_WRITE_ONLY;
}

static void plan_up_to_ops(workload *w, rng *r, plan *p, step *steps, bool again)
{
    (void)steps, (void)again;
    p->shape = SHAPE_MIXED;
    p->n = 1 + rng_below(r, w->ops);
}

static bool step_any(workload *w, rng *r, plan *p, step *steps, uint32_t i)
{
    step *t = &steps[i];
    uint32_t slot = draw_slot(w, r);
    t->key = w->slot ? w->slot[slot] : slot;
    t->kind = STEP_READ;
    if (p->shape == SHAPE_MIXED ? draw_read(w, r) : p->shape == SHAPE_READ_ONLY) return true;
    t->kind = workload_lists(w) ? STEP_APPEND : STEP_WRITE;
    t->value = draw_value(w, r, t->key);
    if (w->slot && t->value >= w->writes_per_key) w->slot[slot] = workload_fresh_key(w);
    return true;
}

const work_class work_blind = {
    .flags = WORK_FRESH, .theta = 0.5, .plan = plan_blind, .step = step_any};
const work_class work_mixed = {
    .flags = WORK_FRESH, .theta = 0.5, .duplicates = 0.5, .plan = plan_ops, .step = step_any};
const work_class work_rotating = {.flags = WORK_ROTATING | WORK_FRESH,
                                  .choice = GEN_EXPONENTIAL,
                                  .theta = 0.5,
                                  .plan = plan_up_to_ops,
                                  .step = step_any};
const work_class work_lists = {.flags = WORK_ROTATING | WORK_LISTS | WORK_FRESH,
                               .choice = GEN_EXPONENTIAL,
                               .theta = 0.5,
                               .plan = plan_up_to_ops,
                               .step = step_any};

/* --- bank ------------------------------------------------------------------------------------ */

static void init_bank(workload *w, const knob_set *k)
{
    w->initial = knob_size(k, w->mem->guard, KNOB_BALANCE, 100);
    if (w->initial >= MOST_MONEY) guard_fail(w->mem->guard, GUARD_INVAL, "balance too large");
}

static uint32_t longest_bank(const workload *w)
{
    return w->keys > 4 ? w->keys : 4;
}

static void plan_bank(workload *w, rng *r, plan *p, step *steps, bool again)
{
    (void)steps, (void)again;
    p->shape = w->keys < 2 || draw_read(w, r) ? SHAPE_READ_ONLY : SHAPE_MIXED;
    p->n = p->shape == SHAPE_READ_ONLY ? w->keys : 4;
    if (p->shape == SHAPE_READ_ONLY) return;
    p->a = draw_slot(w, r);
    p->b = rng_below(r, w->keys - 1);
    if (p->b >= p->a) p->b++;
    p->amount = 1 + rng_below(r, 5);
}

static bool step_bank(workload *w, rng *r, plan *p, step *steps, uint32_t i)
{
    (void)w, (void)r;
    step *t = &steps[i];
    t->kind = STEP_READ;
    t->key = i;
    if (p->shape == SHAPE_READ_ONLY) return true;
    t->key = i % 2 ? p->b : p->a;
    if (i < 2) return true;
    t->kind = STEP_WRITE;
    /* No overdraft; nor may the updates that weak levels lose pile up beyond plain values. */
    if (steps[0].value < p->amount || steps[1].value > MOST_MONEY) return false;
    t->value = i == 2 ? steps[0].value - p->amount : steps[1].value + p->amount;
    return true;
}

const work_class work_bank = {.flags = WORK_MEANING,
                              .theta = 0.5,
                              .init = init_bank,
                              .longest = longest_bank,
                              .plan = plan_bank,
                              .step = step_bank};

/* --- transactions that are planned as a whole ----------------------------------------------- */

static bool step_planned(workload *w, rng *r, plan *p, step *steps, uint32_t i)
{
    (void)w, (void)r, (void)p, (void)steps, (void)i;
    return true;
}

static void plan_modify(workload *w, rng *r, step *steps, plan *p, uint32_t key)
{
    plan_read(steps, p, key);
    plan_write(steps, p, key, draw_value(w, r, key));
}

static uint32_t longest_mini(const workload *w)
{
    return 2 * w->ops;
}

static void plan_mini(workload *w, rng *r, plan *p, step *steps, bool again)
{
    if (again) return;
    p->n = 0;
    uint32_t first = draw_slot(w, r), n = w->ops > 1 && w->keys > 1 ? 1 + rng_below(r, 2) : 1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t key = i ? rng_below(r, w->keys - 1) : first;
        if (i && key >= first) key++;
        if (draw_read(w, r))
            plan_read(steps, p, key);
        else
            plan_modify(w, r, steps, p, key);
    }
}

const work_class work_mini = {.flags = WORK_FRESH,
                              .theta = 0.5,
                              .longest = longest_mini,
                              .plan = plan_mini,
                              .step = step_planned};

/* A group of keys is retired after so many transactions, so anomalies stay small. */
typedef struct group {
    uint32_t first, used;
} group;

static void init_group(workload *w, const knob_set *k)
{
    (void)k;
    w->own = mem_zeroed(w->mem, sizeof(group));
    w->next_key = w->keys;
}

static uint32_t longest_group(const workload *w)
{
    return 2 * w->keys;
}

static void read_group(const workload *w, plan *p, step *steps, uint32_t first)
{
    for (uint32_t i = 0; i < w->keys; i++) plan_read(steps, p, first + i);
}

static void plan_group(workload *w, rng *r, plan *p, step *steps, bool again)
{
    if (again) return;
    group *g = w->own;
    if (g->used++ >= w->writes_per_key) {
        g->used = 1;
        g->first = w->next_key;
        for (uint32_t i = 0; i < w->keys; i++) workload_fresh_key(w);
    }
    p->n = 0;
    uint32_t key = g->first + draw_slot(w, r);
    bool look = draw_read(w, r);
    if (look) {
        read_group(w, p, steps, g->first);
    } else if (w->kind == WORKLOAD_LONG_FORK) {
        plan_write(steps, p, key, draw_value(w, r, key));
    } else if (w->kind == WORKLOAD_LOST_UPDATE) {
        plan_modify(w, r, steps, p, key);
    } else {
        /* Fekete's anomaly needs writers that look at more than they change, and others. */
        if (w->kind == WORKLOAD_WRITE_SKEW || rng_below(r, 2))
            read_group(w, p, steps, g->first);
        else
            plan_read(steps, p, key);
        plan_write(steps, p, key, draw_value(w, r, key));
    }
}

static uint32_t shared_group(const workload *w, rng *r)
{
    const group *g = w->own;
    return g->first + rng_below(r, w->keys);
}

const work_class work_group = {.flags = WORK_EXPLICIT | WORK_FRESH,
                               .shared = shared_group,
                               .theta = 0.5,
                               .init = init_group,
                               .longest = longest_group,
                               .plan = plan_group,
                               .step = step_planned};
