/*
 * work_range.c - workloads with deletes, scans and iterators: random-*, Viper's range-*, and what
 * a file system does to its metadata.  All keys are absent at first.
 */
#include <stdio.h>

#include "gen/workload.h"

static uint32_t span_of(const workload *w, const knob_set *k)
{
    return knob_size(k, w->mem->guard, KNOB_SPAN, 100);
}

static bool step_planned(workload *w, rng *r, plan *p, step *steps, uint32_t i)
{
    (void)w, (void)r, (void)p, (void)steps, (void)i;
    return true;
}

/* --- random-bench, random-range, random-rmw-range ------------------------------------------- */

enum op { GET, PUT, REMOVE, SCAN, ITERATE, MODIFY, SCAN_ALL, OPS };

/* Percent of each up to and with it, in the order above; SCAN_ALL scans all keys before. */
static const uint8_t random_mix[][OPS] = {
    [0] = {25, 50, 55, 65, 75, 100, 100}, /* random-bench */
    [1] = {25, 50, 55, 75, 75, 100, 100}, /* random-range */
    [2] = {0, 0, 0, 0, 0, 90, 100},       /* random-rmw-range */
};
enum { MOST_TAKEN = 10 }; /* rows that an iterator takes */

typedef struct ranges {
    uint32_t span;
    const uint8_t *mix;
} ranges;

static void init_random(workload *w, const knob_set *k)
{
    ranges *g = w->own = mem_zeroed(w->mem, sizeof *g);
    g->span = span_of(w, k);
    g->mix = random_mix[w->kind - WORKLOAD_RANDOM_BENCH];
}

static uint32_t longest_random(const workload *w)
{
    return 2 * w->ops;
}

static void plan_random(workload *w, rng *r, plan *p, step *steps, bool again)
{
    if (again) return;
    const ranges *g = w->own;
    p->n = 0;
    for (uint32_t i = 0; i < w->ops; i++) {
        uint32_t x = rng_below(r, 100), op = 0, key = draw_slot(w, r), to = w->keys;
        while (x >= g->mix[op]) op++;
        if (op == SCAN || op == ITERATE || op == SCAN_ALL) {
            uint32_t width = 1 + rng_below(r, g->span);
            if (width < w->keys - key) to = key + width;
        }
        switch ((enum op)op) {
        case GET: plan_read(steps, p, key); break;
        case PUT: plan_write(steps, p, key, draw_value(w, r, key)); break;
        case REMOVE: plan_write(steps, p, key, VALUE_NULL); break;
        case ITERATE: plan_range(steps, p, STEP_ITER, key, to, 1 + rng_below(r, MOST_TAKEN)); break;
        case MODIFY:
            plan_read(steps, p, key);
            plan_write(steps, p, key, draw_value(w, r, key));
            break;
        case SCAN_ALL: plan_range(steps, p, STEP_SCAN, 0, w->keys, 0); /* fall through */
        case SCAN: plan_range(steps, p, STEP_SCAN, key, to, 0); break;
        case OPS: break;
        }
    }
}

const work_class work_random = {.flags = WORK_ABSENT | WORK_FRESH,
                                .theta = 0.5,
                                .duplicates = 1,
                                .init = init_random,
                                .longest = longest_random,
                                .plan = plan_random,
                                .step = step_planned};
const work_class work_random_unique = {.flags = WORK_ABSENT | WORK_FRESH,
                                       .theta = 0.5,
                                       .init = init_random,
                                       .longest = longest_random,
                                       .plan = plan_random,
                                       .step = step_planned};

/* --- Viper's: one kind of operation a transaction ------------------------------------------ */

enum { ALL_READ, ALL_WRITE, ALL_INSERT, ALL_DELETE, ALL_SCAN };
static const uint16_t viper_mix[][5] = {
    {200, 400, 600, 800, 1000}, /* range-b */
    {125, 250, 375, 500, 1000}, /* range-rqh */
    {100, 200, 550, 900, 1000}, /* range-idh */
};

/* Keys as the clients believe them to be; an attempt that ends badly leaves them wrong. */
typedef struct viper {
    uint32_t span;
    const uint16_t *mix;
    VEC(uint32_t) there, gone;
} viper;

static void init_viper(workload *w, const knob_set *k)
{
    viper *v = w->own = mem_zeroed(w->mem, sizeof *v);
    v->span = span_of(w, k);
    v->mix = viper_mix[w->kind - WORKLOAD_RANGE_B];
    w->next_key = w->keys;
    for (uint32_t i = 0; i < w->keys; i++) vec_push(w->mem, &v->gone, i);
}

static void free_viper(workload *w)
{
    viper *v = w->own;
    vec_free(w->mem, &v->there);
    vec_free(w->mem, &v->gone);
}

static uint32_t insert_key(workload *w, viper *v, rng *r)
{
    uint32_t key;
    if (v->gone.n && rng_below(r, 2)) {
        uint32_t i = rng_below(r, v->gone.n);
        key = v->gone.at[i];
        v->gone.at[i] = v->gone.at[--v->gone.n];
    } else {
        key = workload_fresh_key(w);
    }
    vec_push(w->mem, &v->there, key);
    return key;
}

static void plan_viper(workload *w, rng *r, plan *p, step *steps, bool again)
{
    if (again) return;
    viper *v = w->own;
    uint32_t x = rng_below(r, 1000);
    for (p->shape = 0; x >= v->mix[p->shape];) p->shape++;
    p->n = 0;
    while (p->n < w->ops) {
        uint32_t i = v->there.n ? rng_below(r, v->there.n) : NO_ID;
        uint32_t key = i == NO_ID ? rng_below(r, w->next_key) : v->there.at[i];
        switch (p->shape) {
        case ALL_READ: plan_read(steps, p, key); break;
        case ALL_WRITE: plan_write(steps, p, key, draw_value(w, r, key)); break;
        case ALL_INSERT:
            key = insert_key(w, v, r);
            plan_write(steps, p, key, draw_value(w, r, key));
            break;
        case ALL_DELETE:
            if (i != NO_ID) {
                v->there.at[i] = v->there.at[--v->there.n];
                vec_push(w->mem, &v->gone, key);
            }
            plan_write(steps, p, key, VALUE_NULL);
            break;
        default: plan_range(steps, p, STEP_SCAN, key, key + 1 + rng_below(r, v->span), 0); break;
        }
    }
}

const work_class work_viper = {.flags = WORK_ABSENT | WORK_EXPLICIT,
                               .theta = 0.5,
                               .init = init_viper,
                               .free = free_viper,
                               .plan = plan_viper,
                               .step = step_planned};

/* --- fs-metadata --------------------------------------------------------------------------- */

enum { CREATE, RENAME, UNLINK, READDIR, STAT };
static const uint8_t fs_mix[] = {30, 40, 55, 75, 100};
enum { FS_STEPS = 8 };

/* Directory d has the names [d * names, (d + 1) * names); after all names come the attributes of
   the directories, after these those of files.  The value of a name is its file's key. */
typedef struct fs {
    uint32_t dirs, names;
} fs;

static void init_fs(workload *w, const knob_set *k)
{
    (void)k;
    fs *f = w->own = mem_zeroed(w->mem, sizeof *f);
    for (f->dirs = 1; (uint64_t)(f->dirs + 1) * (f->dirs + 1) <= w->keys;) f->dirs++;
    f->names = w->keys / f->dirs;
    w->duplicate_keys = 0;
    w->next_key = f->dirs * (f->names + 1);
}

static uint32_t longest_fs(const workload *w)
{
    (void)w;
    return FS_STEPS;
}

static uint32_t attributes(const fs *f, uint32_t name)
{
    return f->dirs * f->names + name / f->names;
}

static void plan_fs(workload *w, rng *r, plan *p, step *steps, bool again)
{
    (void)steps;
    const fs *f = w->own;
    p->n = FS_STEPS;
    if (again) return;
    uint32_t all = f->dirs * f->names;
    for (p->shape = 0, p->a = rng_below(r, 100); p->a >= fs_mix[p->shape];) p->shape++;
    p->a = (uint32_t)((uint64_t)draw_slot(w, r) * all / w->keys);
    p->b = rng_below(r, all);
    p->amount = 0;
    if (p->shape == CREATE) p->amount = workload_fresh_key(w);
    if (p->shape == READDIR && rng_below(r, 2)) p->amount = 1 + rng_below(r, w->ops);
}

static bool reads(step *t, uint32_t key)
{
    t->kind = STEP_READ;
    t->key = key;
    return true;
}

static bool writes(step *t, uint32_t key, uint32_t value)
{
    t->kind = STEP_WRITE;
    t->key = key;
    t->value = value;
    return true;
}

static bool touches(workload *w, step *t, uint32_t key)
{
    return writes(t, key, fresh_value(w, key));
}

static bool step_create(workload *w, const plan *p, step *steps, uint32_t i)
{
    uint32_t dir = attributes(w->own, p->a), found = steps[0].value;
    if (found != VALUE_NULL) return i == 1 && reads(&steps[i], found); /* it exists */
    switch (i) {
    case 1: return reads(&steps[i], dir);
    case 2: return touches(w, &steps[i], dir);
    case 3: return touches(w, &steps[i], p->amount);
    case 4: return writes(&steps[i], p->a, p->amount);
    default: return false;
    }
}

static bool step_unlink(workload *w, const plan *p, step *steps, uint32_t i)
{
    uint32_t dir = attributes(w->own, p->a), file = steps[0].value;
    if (file == VALUE_NULL) return false;
    switch (i) {
    case 1: return reads(&steps[i], file);
    case 2: return writes(&steps[i], p->a, VALUE_NULL);
    case 3: return writes(&steps[i], file, VALUE_NULL);
    case 4: return reads(&steps[i], dir);
    case 5: return touches(w, &steps[i], dir);
    default: return false;
    }
}

static bool step_rename(workload *w, const plan *p, step *steps, uint32_t i)
{
    uint32_t from = attributes(w->own, p->a), to = attributes(w->own, p->b);
    if (steps[0].value == VALUE_NULL || p->a == p->b) return false;
    switch (i) {
    case 1: return reads(&steps[i], p->b);
    case 2: return writes(&steps[i], p->a, VALUE_NULL);
    case 3: return writes(&steps[i], p->b, steps[0].value);
    case 4: return touches(w, &steps[i], from);
    case 5: return from != to ? touches(w, &steps[i], to) : reads(&steps[i], from);
    case 6: /* what stood there is gone */
        return steps[1].value != VALUE_NULL && steps[1].value != steps[0].value &&
               writes(&steps[i], steps[1].value, VALUE_NULL);
    default: return false;
    }
}

static bool step_fs(workload *w, rng *r, plan *p, step *steps, uint32_t i)
{
    (void)r;
    const fs *f = w->own;
    if (p->shape == READDIR) {
        if (i > 1) return false;
        if (i == 0) return reads(&steps[0], attributes(f, p->a));
        uint32_t first = p->a / f->names * f->names;
        steps[1] = (step){
            .kind = STEP_ITER, .key = first, .to = first + f->names, .limit = (uint16_t)p->amount};
        return true;
    }
    if (i == 0) return reads(&steps[0], p->a);
    switch (p->shape) {
    case CREATE: return step_create(w, p, steps, i);
    case RENAME: return step_rename(w, p, steps, i);
    case UNLINK: return step_unlink(w, p, steps, i);
    default: return i == 1 && steps[0].value != VALUE_NULL && reads(&steps[1], steps[0].value);
    }
}

static size_t bound_fs(const workload *w, uint32_t key, char *out, size_t cap)
{
    const fs *f = w->own;
    return (size_t)snprintf(out, cap, "D%05u:%05u", key / f->names, key % f->names);
}

static size_t name_fs(const workload *w, uint32_t key, char *out, size_t cap)
{
    const fs *f = w->own;
    if (key >= FIRST_PLANT_KEY) return (size_t)snprintf(out, cap, "X%010u", key - FIRST_PLANT_KEY);
    if (key < f->dirs * f->names) return bound_fs(w, key, out, cap);
    return (size_t)snprintf(out, cap, "A%010u", key - f->dirs * f->names);
}

static uint32_t shared_fs(const workload *w, rng *r)
{
    const fs *f = w->own;
    return f->dirs * f->names + rng_below(r, f->dirs);
}

const work_class work_fs = {.flags = WORK_ABSENT | WORK_EXPLICIT,
                            .theta = 0.5,
                            .init = init_fs,
                            .longest = longest_fs,
                            .plan = plan_fs,
                            .step = step_fs,
                            .name = name_fs,
                            .bound = bound_fs,
                            .shared = shared_fs};
