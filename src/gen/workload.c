/*
 * workload.c - see workload.h.
 *
 * Random draws are integers compared with integers; the one place where reals decide (building
 * the alias tables) uses the four basic operations only, which IEEE 754 fixes to the last bit, so
 * that no machine's libm changes a history.
 */
#include "gen/workload.h"

#include <assert.h>

enum { SHAPE_MIXED, SHAPE_READ_ONLY, SHAPE_WRITE_ONLY, SHAPE_TRANSFER, SHAPE_READ_ALL };

#define LN2 0.693147180559945309417
#define MOST_MONEY 0x40000000u

/* --- distributions ----------------------------------------------------------------------- */

/* x to the power -p, for x >= 1 and p >= 0. */
static double inverse_power(double x, double p)
{
    double ln = 0, halves = 0;
    for (; x > 1.5; x /= 2) halves += 1;
    double z = (x - 1) / (x + 1), zz = z * z, term = z;
    for (int i = 1; i < 40; i += 2) {
        ln += term / i;
        term *= zz;
    }
    double e = p * (2 * ln + halves * LN2), scale = 1;
    for (; e > LN2; e -= LN2) {
        scale /= 2;
        if (scale < 0x1.0p-100) return scale;
    }
    double sum = 1;
    term = 1;
    for (int i = 1; i < 24; i++) {
        term *= -e / i;
        sum += term;
    }
    return scale * sum;
}

/* weight i is (i + 1) ^ -theta, or 2 ^ -i for the exponential choice. */
static void alias_init(alias *a, mem *m, uint32_t n, bool exponential, double theta)
{
    a->n = n;
    a->keep = mem_array(m, uint32_t, n);
    a->other = mem_array(m, uint32_t, n);
    double *weight = mem_array(m, double, n), sum = 0, w = 1;
    for (uint32_t i = 0; i < n; i++) {
        weight[i] = exponential ? w : inverse_power((double)i + 1, theta);
        if (w > 0x1.0p-60) w /= 2;
        sum += weight[i];
    }
    /* Columns below the mean are filled up by those above; two stacks in one array. */
    uint32_t *stack = mem_array(m, uint32_t, n), low = 0, high = n;
    for (uint32_t i = 0; i < n; i++) {
        weight[i] = weight[i] / sum * n;
        if (weight[i] < 1)
            stack[low++] = i;
        else
            stack[--high] = i;
        a->keep[i] = UINT32_MAX;
        a->other[i] = i;
    }
    while (low && high < n) {
        uint32_t l = stack[--low], h = stack[high];
        a->keep[l] = (uint32_t)(weight[l] * 4294967295.0);
        a->other[l] = h;
        weight[h] -= 1 - weight[l];
        if (weight[h] < 1) {
            high++;
            stack[low++] = h;
        }
    }
    mem_put(m, stack);
    mem_put(m, weight);
}

static uint32_t alias_draw(const alias *a, rng *r)
{
    uint64_t x = rng_next(r);
    uint32_t i = (uint32_t)(((x >> 32) * a->n) >> 32);
    return (uint32_t)x < a->keep[i] ? i : a->other[i];
}

/* --- setting up -------------------------------------------------------------------------- */

static double share(mem *m, double given, double normal, const char *what)
{
    if (!(given >= 0 && given <= 1))
        guard_fail(m->guard, GUARD_INVAL, "the share of %s must be between 0 and 1", what);
    return given > 0 ? given : normal;
}

uint32_t workload_fresh_key(workload *w)
{
    if (w->next_key >= 0x7fffffffu)
        guard_fail(w->mem->guard, GUARD_UNSUPPORTED, "more than 2^31 keys");
    return w->next_key++;
}

void workload_init(workload *w, mem *m, enum workload_kind kind, const gen_options *o)
{
    memset(w, 0, sizeof *w);
    w->mem = m;
    w->kind = kind;
    w->keys = (uint32_t)o->keys;
    w->ops = (uint32_t)o->ops;
    bool rotating = kind == WORKLOAD_RW_REGISTER || kind == WORKLOAD_LIST_APPEND;
    double reads = share(m, o->reads, kind == WORKLOAD_BLINDW_RM ? 0.9 : 0.5, "reads");
    w->read_limit = (uint32_t)(reads * 4294967295.0);
    if (!(o->theta >= 0 && o->theta <= 64))
        guard_fail(m->guard, GUARD_INVAL, "theta must be between 0 and 64");
    double theta = o->theta > 0 ? o->theta : 0.5;
    w->choice = o->choice ? o->choice : rotating ? GEN_EXPONENTIAL : GEN_UNIFORM;
    if (w->choice != GEN_UNIFORM)
        alias_init(&w->key_choice, m, w->keys, w->choice == GEN_EXPONENTIAL, theta);
    if (kind == WORKLOAD_YCSB) {
        uint64_t values = o->values ? o->values : 100;
        if (values >= VALUE_TABLE) guard_fail(m->guard, GUARD_INVAL, "too many values");
        alias_init(&w->value_choice, m, (uint32_t)values, false, theta);
        w->duplicate_keys = (uint32_t)(share(m, o->duplicates, 0.5, "duplicates") * w->keys);
    }
    if (o->writes_per_key >= 0x7fffffffu || o->balance >= MOST_MONEY)
        guard_fail(m->guard, GUARD_INVAL, "writes per key or balance too large");
    w->writes_per_key = o->writes_per_key ? (uint32_t)o->writes_per_key : 32;
    w->balance = o->balance ? (uint32_t)o->balance : 100;
    if (rotating) {
        w->slot = mem_array(m, uint32_t, w->keys);
        for (uint32_t i = 0; i < w->keys; i++) w->slot[i] = workload_fresh_key(w);
    } else {
        w->next_key = w->keys;
    }
}

void workload_free(workload *w)
{
    mem_put(w->mem, w->key_choice.keep);
    mem_put(w->mem, w->key_choice.other);
    mem_put(w->mem, w->value_choice.keep);
    mem_put(w->mem, w->value_choice.other);
    mem_put(w->mem, w->slot);
    vec_free(w->mem, &w->issued);
}

uint32_t workload_longest(const workload *w)
{
    if (w->kind == WORKLOAD_BANK) return w->keys > 4 ? w->keys : 4;
    return w->ops;
}

/* --- transactions ------------------------------------------------------------------------ */

static bool draw_read(const workload *w, rng *r)
{
    return (uint32_t)(rng_next(r) >> 32) < w->read_limit;
}

static uint32_t draw_slot(const workload *w, rng *r)
{
    return w->choice == GEN_UNIFORM ? rng_below(r, w->keys) : alias_draw(&w->key_choice, r);
}

void workload_plan(workload *w, rng *r, plan *p)
{
    p->shape = SHAPE_MIXED;
    p->n = w->ops;
    switch (w->kind) {
    case WORKLOAD_BLINDW_RW:
    case WORKLOAD_BLINDW_RM: p->shape = draw_read(w, r) ? SHAPE_READ_ONLY : SHAPE_WRITE_ONLY; break;
    case WORKLOAD_RW_REGISTER:
    case WORKLOAD_LIST_APPEND: p->n = 1 + rng_below(r, w->ops); break;
    case WORKLOAD_BANK:
        p->shape = w->keys < 2 || draw_read(w, r) ? SHAPE_READ_ALL : SHAPE_TRANSFER;
        p->n = p->shape == SHAPE_READ_ALL ? w->keys : 4;
        if (p->shape == SHAPE_READ_ALL) break;
        p->a = draw_slot(w, r);
        p->b = rng_below(r, w->keys - 1);
        if (p->b >= p->a) p->b++;
        p->amount = 1 + rng_below(r, 5);
        break;
    case WORKLOAD_YCSB:
    case WORKLOADS: break;
    }
}

static uint32_t fresh_value(workload *w, uint32_t key)
{
    while (w->issued.n <= key) vec_push(w->mem, &w->issued, 0);
    uint32_t v = ++w->issued.at[key];
    if (v >= VALUE_TABLE)
        guard_fail(w->mem->guard, GUARD_UNSUPPORTED, "more than 2^31 writes of one key");
    return v;
}

static bool bank_step(const plan *p, step *steps, uint32_t i)
{
    step *t = &steps[i];
    t->kind = i < 2 ? STEP_READ : STEP_WRITE;
    t->key = i % 2 ? p->b : p->a;
    if (i < 2) return true;
    /* No overdraft; nor may the updates that weak levels lose pile up beyond plain values. */
    if (steps[0].value < p->amount || steps[1].value > MOST_MONEY) return false;
    t->value = i == 2 ? steps[0].value - p->amount : steps[1].value + p->amount;
    return true;
}

bool workload_step(workload *w, rng *r, const plan *p, step *steps, uint32_t i)
{
    step *t = &steps[i];
    t->kind = STEP_READ;
    if (p->shape == SHAPE_TRANSFER) return bank_step(p, steps, i);
    if (p->shape == SHAPE_READ_ALL) {
        t->key = i;
        return true;
    }
    uint32_t slot = draw_slot(w, r);
    t->key = w->slot ? w->slot[slot] : slot;
    bool read = p->shape == SHAPE_MIXED ? draw_read(w, r) : p->shape == SHAPE_READ_ONLY;
    if (read) return true;
    t->kind = workload_lists(w) ? STEP_APPEND : STEP_WRITE;
    if (t->key < w->duplicate_keys) {
        t->value = 1 + alias_draw(&w->value_choice, r);
        return true;
    }
    t->value = fresh_value(w, t->key);
    if (w->slot && t->value >= w->writes_per_key) w->slot[slot] = workload_fresh_key(w);
    return true;
}
