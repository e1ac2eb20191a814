/*
 * initial_values.c - keys whose initial value is unknown and may be one that was written too: the
 * value is a choice of the search (asg.init_open, doc/algorithms/strong.md).
 *
 * The initial state is a candidate of every read of such a key, and one value for all of them: the
 * literal "ob reads the initial state" implies "the key held that value at first", and of the
 * latter at most one is true for a key.  A read that finds no version before it is satisfied only
 * while its literal is true, so that no two such reads can differ.
 *
 * At most one of many: each new value of a key adds one more variable, "one of the values up to
 * here", so the clauses are linear in number.  A proof cannot name such variables; for it the
 * clauses are about two reads each.
 */
#include "decide/lazy/initial_values.h"

#include <assert.h>

#include "base/map.h"

/* A literal that says, if it is true, what a key held at first: of a value, or (for a proof) of a
   read. */
typedef struct initial_lit {
    uint32_t lit;
    key_id key;
    value_id value;
    uint32_t ob;   /* of a read, else NO_ID */
    uint32_t next; /* for a proof: of the same key, or NONE */
} initial_lit;

struct initial_values {
    VEC(key_id) keys; /* those that are open */
    VEC(initial_lit) lits;
    id_map value_lit; /* (key, value) -> index of lits; for a proof not used */
    uint32_t *one_of; /* per key: variable "one of the values so far", or NONE */
    uint32_t *head;   /* for a proof, per key: its last literal, or NONE */
    uint64_t looked;  /* how often choices had been undone when their readers were last queued */
};

bool initial_is_open(const lazy *z, uint32_t ob)
{
    const asg *g = z->g;
    return z->initial && z->p->rf[ob] == RF_OPEN && g->init_open[g->ob_key[ob]] &&
           !(g->ob_flags[ob] & OB_LIST);
}

bool initial_alone(const lazy *z, uint32_t ob)
{
    const asg *g = z->g;
    if (!initial_is_open(z, ob)) return false;
    uint32_t open = z->open_of[ob];
    return asg_cand_init(g, open) && g->cand_first.at[open + 1] == g->cand_first.at[open] + 1;
}

void initial_start(lazy *z)
{
    asg *g = z->g;
    if (!g->init_open) return;
    size_t keys = history_keys(g->h);
    initial_values *x = z->initial = mem_array0(z->m, initial_values, 1);
    x->looked = UINT64_MAX;
    x->one_of = mem_array(z->m, uint32_t, keys + 1);
    memset(x->one_of, 0xff, (keys + 1) * sizeof *x->one_of);
    if (z->j) {
        x->head = mem_array(z->m, uint32_t, keys + 1);
        memset(x->head, 0xff, (keys + 1) * sizeof *x->head);
    }
    for (key_id k = 0; k < keys; k++)
        if (g->init_open[k]) vec_push(z->m, &x->keys, k);
}

static void write_two(lazy *z, uint32_t a, uint32_t b)
{
    lazy_clause_start(z);
    lazy_clause_lit(z, a);
    lazy_clause_lit(z, b);
    lazy_clause_end(z);
}

/* The literal "the key held that value at first". */
static uint32_t value_lit(lazy *z, key_id k, value_id v)
{
    initial_values *x = z->initial;
    uint32_t *slot = id_map_at(z->m, &x->value_lit, map_pair(k, v));
    if (*slot != MAP_NONE) return x->lits.at[*slot].lit;
    *slot = (uint32_t)x->lits.n;
    uint32_t held = lit_of(lazy_new_var(z), false), before = x->one_of[k];
    uint32_t here = x->one_of[k] = lazy_new_var(z);
    initial_lit said = {held, k, v, NO_ID, NONE};
    vec_push(z->m, &x->lits, said);
    write_two(z, lit_not(held), lit_of(here, false));
    if (before != NONE) {
        write_two(z, lit_of(before, true), lit_of(here, false));
        write_two(z, lit_of(before, true), lit_not(held));
    }
    if (z->p->initial && z->p->initial[k] != VALUE_UNKNOWN && z->p->initial[k] != v)
        write_two(z, lit_not(held), lit_not(held)); /* another order has settled it */
    return held;
}

/* For a proof: not both that read and any that saw another value. */
static void write_pairs(lazy *z, uint32_t ob, uint32_t lit)
{
    const asg *g = z->g;
    initial_values *x = z->initial;
    key_id k = g->ob_key[ob];
    for (uint32_t i = x->head[k]; i != NONE; i = x->lits.at[i].next) {
        const initial_lit *other = &x->lits.at[i];
        if (other->value == g->ob_value[ob]) continue;
        justify_reason(z->j, BECAUSE_INITIAL, ob, other->ob, NO_ID);
        write_two(z, lit_not(lit), lit_not(other->lit));
        guard_tick(z->m->guard);
    }
    initial_lit said = {lit, k, g->ob_value[ob], ob, x->head[k]};
    x->head[k] = (uint32_t)x->lits.n;
    vec_push(z->m, &x->lits, said);
}

void initial_written(lazy *z, uint32_t open)
{
    const asg *g = z->g;
    uint32_t ob = g->open.at[open], cand = g->cand_first.at[open];
    if (!initial_is_open(z, ob) || !asg_cand_init(g, open)) return;
    if (z->j)
        write_pairs(z, ob, lazy_cand_lit(z, cand));
    else
        write_two(z, lit_not(lazy_cand_lit(z, cand)), value_lit(z, g->ob_key[ob], g->ob_value[ob]));
}

bool initial_allowed(lazy *z, uint32_t ob)
{
    const asg *g = z->g;
    if (!initial_is_open(z, ob)) return true;
    uint32_t open = z->open_of[ob], cand = g->cand_first.at[open];
    assert(asg_cand_init(g, open));
    return z->chosen_clause[open] && solver_value(z->s, lazy_cand_lit(z, cand)) > 0;
}

bool initial_in_model(const lazy *z, uint32_t ob)
{
    const asg *g = z->g;
    if (!initial_is_open(z, ob)) return false;
    uint32_t open = z->open_of[ob], cand = g->cand_first.at[open];
    return asg_cand_init(g, open) && z->chosen_clause[open] &&
           solver_model(z->s, lit_of(z->cand_var[cand], false)) > 0;
}

uint32_t initial_demand(lazy *z, uint32_t ob)
{
    assert(initial_is_open(z, ob) && !initial_allowed(z, ob));
    uint32_t open = z->open_of[ob];
    if (lazy_write_choice(z, ob)) return THEORY_ANY;
    uint32_t lit = lazy_cand_lit(z, z->g->cand_first.at[open]);
    return solver_value(z->s, lit) ? lazy_likeliest(z, open) : lit;
}

/* An initial value that is chosen stays so until choices are undone. */
bool initial_look_again(lazy *z)
{
    initial_values *x = z->initial;
    if (!x || z->updates || x->looked == z->backtracks) return false;
    size_t before = z->queue.n;
    x->looked = z->backtracks;
    for (size_t i = 0; i < x->keys.n; i++) lazy_wake_initial(z, x->keys.at[i]);
    return z->queue.n > before;
}

void initial_chosen(lazy *z, value_id *value, uint32_t *lits, size_t *n)
{
    initial_values *x = z->initial;
    size_t keys = history_keys(z->g->h);
    *n = 0;
    for (size_t k = 0; k < keys; k++) value[k] = VALUE_UNKNOWN;
    for (size_t i = 0; x && i < x->lits.n; i++) {
        const initial_lit *y = &x->lits.at[i];
        if (solver_value(z->s, y->lit) <= 0) continue;
        value[y->key] = y->value;
        lits[(*n)++] = y->lit;
    }
}

size_t initial_lits(const lazy *z)
{
    return z->initial ? z->initial->lits.n : 0;
}
