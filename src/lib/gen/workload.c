/*
 * workload.c - what all classes of workloads share: draws, keys, values, plans.
 *
 * Random draws are integers compared with integers; the one place where reals decide (building
 * the alias tables) uses the four basic operations only, which IEEE 754 fixes to the last bit, so
 * that no machine's libm changes a history.
 */
#include "gen/workload.h"

#define LN2 0.693147180559945309417

#define WORKLOAD(id, name, class, txns, sessions, keys, ops, reads, about)                         \
    extern const work_class work_##class;
#include "gen/workloads.def"
#undef WORKLOAD

static const workload_info table[] = {
#define WORKLOAD(id, name, class, txns, sessions, keys, ops, reads, about)                         \
    {name, about, txns, sessions, keys, ops, reads, &work_##class},
#include "gen/workloads.def"
#undef WORKLOAD
};

const workload_info *workload_at(size_t i)
{
    return i < WORKLOADS ? &table[i] : NULL;
}

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
void alias_init(alias *a, mem *m, uint32_t n, bool exponential, double theta)
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

void alias_free(alias *a, mem *m)
{
    mem_put(m, a->keep);
    mem_put(m, a->other);
}

/* --- keys and values --------------------------------------------------------------------- */

uint32_t workload_fresh_key(workload *w)
{
    if (w->next_key >= 0x7fffffffu)
        guard_fail(w->mem->guard, GUARD_UNSUPPORTED, "more than 2^31 keys");
    return w->next_key++;
}

uint32_t workload_plant_key(workload *w)
{
    if (!(w->class->flags & WORK_ABSENT)) return workload_fresh_key(w);
    if (w->next_plant >= VALUE_TABLE - FIRST_PLANT_KEY)
        guard_fail(w->mem->guard, GUARD_UNSUPPORTED, "too many planted keys");
    return FIRST_PLANT_KEY + w->next_plant++;
}

uint32_t workload_shared_key(const workload *w, rng *r, uint32_t *slot)
{
    if (w->slot) {
        *slot = draw_slot(w, r);
        return w->slot[*slot];
    }
    if (w->class->shared) return w->class->shared(w, r);
    return w->class->flags & WORK_EXPLICIT ? rng_below(r, w->next_key) : draw_slot(w, r);
}

uint32_t workload_bound(workload *w, history *h, uint32_t key)
{
    if (!w->named) return bound_uint(h, key);
    char name[64];
    bool own = w->class->bound && key < FIRST_PLANT_KEY;
    size_t n = (own ? w->class->bound : w->class->name)(w, key, name, sizeof name);
    return bound_str(h, name, n);
}

key_id workload_key(workload *w, history *h, uint32_t key)
{
    if (!w->named) return key_uint(h, key);
    if (key >= FIRST_PLANT_KEY) {
        char name[64];
        return key_str(h, name, w->class->name(w, key, name, sizeof name));
    }
    while (w->names.n <= key) vec_push(w->mem, &w->names, 0);
    key_id *id = &w->names.at[key];
    if (!*id) {
        char name[64];
        *id = key_str(h, name, w->class->name(w, key, name, sizeof name)) + 1;
    }
    return *id - 1;
}

uint32_t fresh_value(workload *w, uint32_t key)
{
    while (w->issued.n <= key) vec_push(w->mem, &w->issued, 0);
    uint32_t v = ++w->issued.at[key];
    if (v >= VALUE_TABLE)
        guard_fail(w->mem->guard, GUARD_UNSUPPORTED, "more than 2^31 writes of one key");
    return v;
}

uint32_t draw_value(workload *w, rng *r, uint32_t key)
{
    if (key < w->duplicate_keys) return 1 + alias_pick(&w->value_choice, rng_next(r));
    return fresh_value(w, key);
}

/* --- setting up -------------------------------------------------------------------------- */

/* Keys with duplicate values are the first ones, so that a share of them is a comparison. */
static void choose_duplicates(workload *w, const knob_set *k, double theta)
{
    double normal = w->class->duplicates;
    if (normal <= 0 && knob_given(k, KNOB_VALUES)) normal = 1;
    double duplicates = knob_real(k, KNOB_DUPLICATES, normal);
    if (duplicates <= 0) return;
    double skew = knob_real(k, KNOB_VALUE_THETA, w->kind == WORKLOAD_YCSB_HD ? 1.5 : theta);
    alias_init(&w->value_choice, w->mem, knob_size(k, w->mem->guard, KNOB_VALUES, 100), false,
               skew);
    w->duplicate_keys = duplicates >= 1 ? UINT32_MAX : (uint32_t)(duplicates * w->keys);
}

void workload_init(workload *w, mem *m, enum workload_kind kind, const gen_options *o)
{
    const knob_set *k = &o->knobs;
    memset(w, 0, sizeof *w);
    w->mem = m;
    w->kind = kind;
    w->class = table[kind].class;
    w->keys = (uint32_t)o->keys;
    w->ops = (uint32_t)o->ops;
    w->read_limit = share_limit(knob_real(k, KNOB_READS, table[kind].reads));
    w->hot_limit = share_limit(knob_real(k, KNOB_HOT, 0));
    double theta = knob_real(k, KNOB_THETA, w->class->theta);
    w->choice = (enum gen_choice)knob_count(k, KNOB_CHOICE, w->class->choice);
    if (w->choice != GEN_UNIFORM)
        alias_init(&w->key_choice, m, w->keys, w->choice == GEN_EXPONENTIAL, theta);
    if (!workload_lists(w)) choose_duplicates(w, k, knob_real(k, KNOB_THETA, 0.5));
    w->writes_per_key = knob_size(k, m->guard, KNOB_WRITES_PER_KEY, 32);
    if (w->class->flags & WORK_ABSENT) w->initial = VALUE_NULL;
    if (w->class->flags & WORK_ROTATING) {
        w->slot = mem_array(m, uint32_t, w->keys);
        for (uint32_t i = 0; i < w->keys; i++) w->slot[i] = workload_fresh_key(w);
    } else if (!(w->class->flags & WORK_EXPLICIT)) {
        w->next_key = w->keys;
    }
    w->named = w->class->name && knob_count(k, KNOB_NAMES, 1);
    if (w->class->init) w->class->init(w, k);
}

void workload_free(workload *w)
{
    if (w->class->free) w->class->free(w);
    alias_free(&w->key_choice, w->mem);
    alias_free(&w->value_choice, w->mem);
    mem_put(w->mem, w->slot);
    mem_put(w->mem, w->own);
    vec_free(w->mem, &w->issued);
    vec_free(w->mem, &w->names);
}

uint32_t workload_longest(const workload *w)
{
    return w->class->longest ? w->class->longest(w) : w->ops;
}
