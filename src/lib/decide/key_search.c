/*
 * key_search.c - orders of the operations on one key: Lowe's "just in time" linearization ("Testing
 * for linearizability", 2017), after Wing and Gong 1993.
 *
 * The operations are looked at in the order of time.  A state is the value that the key holds and
 * which of the open operations, those that have begun and not ended, have taken effect.  When an
 * operation ends it must have taken effect: from every state without it, the open operations are
 * run in all orders up to it.  Two ways to one state count once, and so:
 * - A read that finds its value takes effect at once, which never hurts.
 * - A state is dropped if another one has the same value, the same writes of known outcome, no
 *   fewer reads and no more writes of unknown outcome.
 * No state left: there is no order.
 *
 * Invariant: mask bits of a state belong to open operations; those that have ended took effect in
 * every state.
 */
#include "decide/key_search.h"

#include <assert.h>

#include "base/hash.h"
#include "base/sort.h"

#define WORDS 4u                      /* of a mask: 256 operations may be open at a time */
#define MOST_STATES ((size_t)1 << 18) /* that one end of an operation may need */
#define MOST_TRAIL ((size_t)1 << 28)

typedef struct key_state {
    uint32_t value;
    uint32_t trail; /* the operation that took effect last, in trails; NO_ID: none */
    uint32_t next;  /* in the chain of its hash */
    uint64_t done[WORDS];
} key_state;

typedef VEC(key_state) key_states;

typedef struct trail_step {
    uint32_t before, op;
} trail_step;

typedef struct key_search {
    mem *m;
    const key_op *op;
    uint32_t n;
    const key_model *model;
    uint64_t late;  /* by the drift, ends are so much later */
    uint8_t *slot;  /* per operation that is open */
    uint8_t *phase; /* per operation: not begun, open, over */
    uint32_t open[WORDS * 64];
    uint64_t used[WORDS], reads[WORDS], unknown[WORDS]; /* slots: taken, pure reads, may be out */
    key_states now, next, todo;
    uint32_t *chain; /* hash -> state of the set that is being made */
    size_t buckets;
    VEC(trail_step) trails;
    bool too_many;
} key_search;

enum { NOT_BEGUN, IS_OPEN, IS_OVER };

static bool has_bit(const uint64_t *mask, unsigned i)
{
    return mask[i / 64] >> (i % 64) & 1;
}

static void set_bit(uint64_t *mask, unsigned i)
{
    mask[i / 64] |= (uint64_t)1 << (i % 64);
}

static void clear_bit(uint64_t *mask, unsigned i)
{
    mask[i / 64] &= ~((uint64_t)1 << (i % 64));
}

/* --- states ----------------------------------------------------------------------------------- */

/* Value and writes of known outcome: what states that one can stand for have in common. */
static size_t bucket_of(const key_search *s, const key_state *x)
{
    uint64_t h = hash_u64(x->value + 1);
    for (unsigned i = 0; i < WORDS; i++)
        h = hash_u64(h ^ (x->done[i] & ~s->reads[i] & ~s->unknown[i]));
    return (size_t)h & (s->buckets - 1);
}

/* May b be dropped, a being there? */
static bool stands_for(const key_search *s, const key_state *a, const key_state *b)
{
    if (a->value != b->value) return false;
    for (unsigned i = 0; i < WORDS; i++) {
        uint64_t more = a->done[i] & ~b->done[i], fewer = b->done[i] & ~a->done[i];
        if (more & ~s->reads[i] || fewer & ~s->unknown[i]) return false;
    }
    return true;
}

static void forget_states(key_search *s)
{
    memset(s->chain, 0xff, s->buckets * sizeof *s->chain);
}

/* Adds the state unless one that is there stands for it. */
static void add_state(key_search *s, key_states *set, key_state x)
{
    size_t b = bucket_of(s, &x);
    for (uint32_t i = s->chain[b]; i != NO_ID; i = set->at[i].next)
        if (stands_for(s, &set->at[i], &x)) return;
    if (set->n >= MOST_STATES) {
        s->too_many = true;
        return;
    }
    x.next = s->chain[b];
    s->chain[b] = (uint32_t)set->n;
    vec_push(s->m, set, x);
    if (set->n <= s->buckets) return;
    mem_put(s->m, s->chain);
    s->buckets *= 4;
    s->chain = mem_array(s->m, uint32_t, s->buckets);
    forget_states(s);
    for (size_t i = 0; i < set->n; i++) {
        b = bucket_of(s, &set->at[i]);
        set->at[i].next = s->chain[b];
        s->chain[b] = (uint32_t)i;
    }
}

/* --- taking effect ---------------------------------------------------------------------------- */

/* Has what its session did before on this key taken effect? */
static bool is_next_of_session(const key_search *s, const key_state *x, uint32_t i)
{
    uint32_t before = s->op[i].before;
    if (before == NO_ID) return true;
    return s->phase[before] == IS_OVER ||
           (s->phase[before] == IS_OPEN && has_bit(x->done, s->slot[before]));
}

/* False: the operation cannot take effect in this state. */
static bool take_effect(key_search *s, key_state *x, uint32_t i)
{
    trail_step t = {x->trail, i};
    assert(s->phase[i] == IS_OPEN && !has_bit(x->done, s->slot[i]));
    if (!is_next_of_session(s, x, i)) return false;
    uint32_t after = s->model->run(s->model->ud, i, x->value);
    if (after == NO_ID) return false;
    x->value = after;
    set_bit(x->done, s->slot[i]);
    x->trail = (uint32_t)s->trails.n;
    vec_push(s->m, &s->trails, t);
    if (s->trails.n >= MOST_TRAIL) s->too_many = true;
    return true;
}

/* Do reads take effect at once in this state, because they change nothing? */
static bool is_settled(const key_search *s, const key_state *x)
{
    return !s->model->settled || s->model->settled(s->model->ud, x->value);
}

/* All open reads that find their value. */
static void run_reads(key_search *s, key_state *x)
{
    for (bool more = is_settled(s, x); more;) {
        more = false;
        for (unsigned w = 0; w < WORDS; w++)
            for (uint64_t left = s->used[w] & s->reads[w] & ~x->done[w]; left; left &= left - 1) {
                uint32_t v = s->open[w * 64 + (unsigned)__builtin_ctzll(left)];
                more = take_effect(s, x, v) || more;
            }
    }
}

/* From states without v to all in which it has taken effect, in s->next. */
static void run_up_to(key_search *s, uint32_t v)
{
    unsigned mine = s->slot[v];
    assert(s->now.n && has_bit(s->used, mine));
    s->todo.n = s->next.n = 0;
    forget_states(s);
    for (size_t i = 0; i < s->now.n; i++)
        if (!has_bit(s->now.at[i].done, mine)) add_state(s, &s->todo, s->now.at[i]);
    for (size_t i = 0; i < s->todo.n && !s->too_many; i++) {
        for (unsigned w = 0; w < WORDS; w++) {
            uint64_t left = s->used[w] & ~s->todo.at[i].done[w];
            if (is_settled(s, &s->todo.at[i])) left &= ~s->reads[w];
            for (; left; left &= left - 1) {
                uint32_t x = s->open[w * 64 + (unsigned)__builtin_ctzll(left)];
                key_state from = s->todo.at[i];
                if (!take_effect(s, &from, x)) continue;
                run_reads(s, &from);
                if (!has_bit(from.done, mine))
                    add_state(s, &s->todo, from);
                else
                    vec_push(s->m, &s->next, from);
            }
        }
        guard_tick(s->m->guard);
    }
}

static void close_slot(key_search *s, uint32_t v)
{
    unsigned i = s->slot[v];
    assert(s->phase[v] == IS_OPEN && has_bit(s->used, i) && s->open[i] == v);
    clear_bit(s->used, i);
    clear_bit(s->reads, i);
    clear_bit(s->unknown, i);
    s->phase[v] = IS_OVER;
}

/* The operation is over; false: no state is left. */
static bool end_operation(key_search *s, uint32_t v)
{
    unsigned mine = s->slot[v];
    run_up_to(s, v);
    if (s->too_many) return true;
    for (size_t i = 0; i < s->now.n; i++)
        if (has_bit(s->now.at[i].done, mine)) vec_push(s->m, &s->next, s->now.at[i]);
    if (!s->next.n) return false;
    close_slot(s, v);
    s->now.n = 0;
    forget_states(s);
    for (size_t i = 0; i < s->next.n; i++) {
        clear_bit(s->next.at[i].done, mine);
        add_state(s, &s->now, s->next.at[i]);
    }
    return true;
}

/* False: too many operations are open. */
static bool begin_operation(key_search *s, uint32_t v)
{
    unsigned i = 0;
    while (i < WORDS * 64 && has_bit(s->used, i)) i++;
    if (i == WORDS * 64) return false;
    bool reads = !s->op[v].writes;
    /* One that may not have happened, and wrote nothing, is no help to anybody. */
    if (reads && !s->op[v].certain) return true;
    assert(s->phase[v] == NOT_BEGUN);
    s->slot[v] = (uint8_t)i;
    s->phase[v] = IS_OPEN;
    s->open[i] = v;
    set_bit(s->used, i);
    if (reads) set_bit(s->reads, i);
    if (!s->op[v].certain) set_bit(s->unknown, i);
    for (size_t x = 0; x < s->now.n && reads; x++) run_reads(s, &s->now.at[x]);
    return true;
}

/* --- the search ------------------------------------------------------------------------------- */

/* Begins and ends by time, as operation * 2 (+ 1: its end); at one time begins come first, since
   only what ended before counts. */
static uint32_t *moments_of(key_search *s, uint32_t *n)
{
    uint64_t *key = mem_array(s->m, uint64_t, 2 * (size_t)s->n + 1);
    uint32_t *what = mem_array(s->m, uint32_t, 2 * (size_t)s->n + 1), count = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        what[count] = 2 * i;
        key[count++] = s->op[i].begin;
    }
    for (uint32_t i = 0; i < s->n; i++) {
        if (!s->op[i].ends) continue;
        what[count] = 2 * i + 1;
        key[count++] = s->op[i].end > UINT64_MAX - s->late ? UINT64_MAX : s->op[i].end + s->late;
    }
    uint32_t *by_time = sort_by_key(s->m, key, count);
    for (uint32_t i = 0; i < count; i++) by_time[i] = what[by_time[i]];
    mem_put(s->m, key);
    mem_put(s->m, what);
    *n = count;
    return by_time;
}

/* All that must have happened and of which nobody knows when it was over. */
static enum key_answer end_the_rest(key_search *s, uint32_t *stuck)
{
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->phase[i] != IS_OPEN || !s->op[i].certain) continue;
        *stuck = i;
        if (!end_operation(s, i)) return KEY_HAS_NONE;
        if (s->too_many) return KEY_TOO_HARD;
    }
    return KEY_HAS_ORDER;
}

static enum key_answer search_key(key_search *s, uint32_t initial, uint32_t *stuck)
{
    key_state first = {initial, NO_ID, NO_ID, {0}};
    uint32_t n, *moment = moments_of(s, &n);
    enum key_answer answer = KEY_HAS_ORDER;
    vec_push(s->m, &s->now, first);
    for (uint32_t i = 0; i < n && answer == KEY_HAS_ORDER; i++) {
        uint32_t v = moment[i] / 2;
        *stuck = v;
        if (moment[i] % 2 == 0) {
            if (!begin_operation(s, v)) answer = KEY_TOO_HARD;
        } else if (s->phase[v] == IS_OPEN && !end_operation(s, v)) {
            answer = KEY_HAS_NONE;
        }
        if (s->too_many) answer = KEY_TOO_HARD;
    }
    mem_put(s->m, moment);
    return answer == KEY_HAS_ORDER ? end_the_rest(s, stuck) : answer;
}

static void keep_line(const key_search *s, key_found *out)
{
    for (uint32_t t = s->now.at[0].trail; t != NO_ID; t = s->trails.at[t].before)
        vec_push(s->m, &out->line, s->trails.at[t].op);
    for (size_t i = 0, j = out->line.n; i + 1 < j--; i++) {
        uint32_t x = out->line.at[i];
        out->line.at[i] = out->line.at[j];
        out->line.at[j] = x;
    }
}

/* What the key can have held when the operation that has no place ended, each value once. */
static void keep_held(const key_search *s, key_found *out)
{
    for (size_t i = 0; i < s->todo.n && !out->held_more; i++) {
        bool known = false;
        for (unsigned j = 0; j < out->n_held; j++)
            known = known || out->held[j] == s->todo.at[i].value;
        if (known) continue;
        if (out->n_held == KEY_HELD)
            out->held_more = true;
        else
            out->held[out->n_held++] = s->todo.at[i].value;
    }
}

enum key_answer key_search_run(mem *m, const key_op *op, uint32_t n, const key_model *model,
                               uint32_t initial, int64_t drift, key_found *out)
{
    key_search s = {.m = m,
                    .op = op,
                    .n = n,
                    .model = model,
                    .late = drift > 1 ? (uint64_t)drift - 1 : 0,
                    .slot = mem_array0(m, uint8_t, (size_t)n + 1),
                    .phase = mem_array0(m, uint8_t, (size_t)n + 1),
                    .chain = mem_array(m, uint32_t, 64),
                    .buckets = 64};
    out->line.n = 0;
    out->n_held = 0;
    out->held_more = false;
    enum key_answer answer = search_key(&s, initial, &out->stuck);
    if (answer == KEY_HAS_ORDER) keep_line(&s, out);
    if (answer == KEY_HAS_NONE) keep_held(&s, out);
    mem_put(m, s.slot);
    mem_put(m, s.phase);
    mem_put(m, s.chain);
    vec_free(m, &s.now);
    vec_free(m, &s.next);
    vec_free(m, &s.todo);
    vec_free(m, &s.trails);
    return answer;
}
