/*
 * shrink.c - the rounds in which a violated history loses what it can spare.
 *
 * Every trial is the whole question once more, on a history of a few transactions.  Within a pass
 * the masks refer to the history with which the pass began (the base); a pass that changed
 * something makes its result the next base.  Levels for which "a part of what holds, holds" is true
 * need each thing tried once; the others (remainder.h) need rounds, so there are rounds until one
 * changes nothing.
 */
#include "shrink/shrink.h"

#include <stdlib.h>

#include "base/rng.h"
#include "base/search.h"
#include "base/sort.h"
#include "shrink/remainder.h"

enum thing { THING_TXN, THING_KEY, THING_OP, THINGS };

typedef struct job {
    shrinking *s;
    const history *base;
    sub_mask now, next; /* of the base */
    txn_id *op_txn;     /* of the base's operations */
    sub_order order;
    txn_id *whole_of; /* of the base's transactions: what order.whole points to */
    uint32_t want;    /* anomaly; ANOMALIES: any of the kind of `of` */
    uint32_t of;      /* what is shrunk; ANOMALIES: not known, or of no account */
    bool patient;     /* trials take as long as they need */
    bool gave_up;     /* some trial was not patient enough */
    VEC(txn_id) core; /* of the last violated trial, by the base's ids */
} job;

/* --- one trial -------------------------------------------------------------------------------- */

typedef struct trial {
    guard guard;
    verdict *v;
    mem *work;
    const history *h;
    question q;
} trial;

/* The border of a trial: limits that it sets itself, and hints that no execution can have, end it
   and nothing else. */
static int run(trial *t)
{
    if (guard_armed(&t->guard)) return t->guard.code;
    judge(t->v, t->h, &t->q, t->work);
    return GUARD_OK;
}

static void keep_core(job *w, const verdict *v)
{
    /* the n-th transaction of the trial is the n-th of the base that is not out */
    VEC(txn_id) left = {0};
    for (txn_id t = 0; t < w->base->txns; t++)
        if (!w->next.txn[t]) vec_push(w->s->m, &left, t);
    w->core.n = 0;
    for (size_t i = 0; i < v->core.n; i++)
        if (v->core.at[i] < left.n) vec_push(w->s->m, &w->core, left.at[v->core.at[i]]);
    vec_free(w->s->m, &left);
}

/* A read that nothing can explain, at once: another kind of reason than a contradiction between
   transactions, and neither is to be exchanged for the other. */
static bool is_fault(uint32_t anomaly)
{
    static const uint32_t faults[] = {ANOMALY_ABORTED_READ,       ANOMALY_INTERMEDIATE_READ,
                                      ANOMALY_GARBAGE_READ,       ANOMALY_FUTURE_READ,
                                      ANOMALY_NOT_OWN_WRITE,      ANOMALY_MALFORMED_RESULT,
                                      ANOMALY_INCOMPATIBLE_ORDER, ANOMALY_DUPLICATE_ELEMENTS};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (faults[i] == anomaly) return true;
    return false;
}

/* Is a part that shows this as good as what was there? */
static bool wanted(const job *w, uint32_t anomaly)
{
    if (w->want != ANOMALIES) return w->want == anomaly;
    return w->of == ANOMALIES || w->of == anomaly || (!is_fault(w->of) && !is_fault(anomaly));
}

/* Most parts are decided in less than 150 steps an operation.  One that takes many times that is
   not worth its time while there is much else to leave out: it is asked again, without this limit,
   when little is left.  Steps, and not seconds: one seed leads to one part on every machine. */
static uint32_t most_ticks(const history *h)
{
    return h->ops < (1u << 23) ? 65536 + 256 * (uint32_t)h->ops : UINT32_MAX;
}

static bool judged(job *w, const history *h, uint32_t *anomaly)
{
    shrinking *s = w->s;
    guard *g = s->m->guard;
    *anomaly = ANOMALIES;
    if (s->other) {
        w->core.n = 0;
        return s->other(h, s->payload) == 1;
    }
    verdict *v = &s->v;
    trial t = {.v = v, .work = &s->work, .h = h, .q = *s->q};
    guard_init(&t.guard);
    t.guard.interrupt = g->interrupt;
    t.guard.deadline = g->deadline;
    t.guard.progress = g->progress;
    if (!w->patient) t.guard.most_ticks = most_ticks(h);
    memset(v, 0, sizeof *v);
    mem_init(&s->keep, s->m->fn, s->m->ud, &t.guard);
    mem_init(&s->work, s->m->fn, s->m->ud, &t.guard);
    s->work.limit = s->memory_limit;
    v->mem = &s->keep;
    v->level = s->level;
    int code = run(&t);
    bool limited = code == GUARD_TIME || code == GUARD_NOMEM;
    bool violated = (code == GUARD_OK || limited) && v->outcome == OUTCOME_VIOLATED;
    if (code == GUARD_TIME && t.guard.most_ticks && t.guard.ticks > t.guard.most_ticks)
        w->gave_up = true;
    *anomaly = v->anomaly;
    mem_free_all(&s->work);
    if (violated) keep_core(w, v);
    mem_free_all(&s->keep);
    if (code == GUARD_BUG || code == GUARD_INTERRUPT ||
        (code == GUARD_NOMEM && !(violated && s->memory_limit)))
        guard_fail(g, code, "%s", t.guard.text);
    return violated && wanted(w, *anomaly);
}

static void drop_best(shrinking *s)
{
    if (s->best != s->base) history_free(s->best);
    s->best = NULL;
}

/* Tries what w->next leaves; if it is violated, that is the best so far and w->now. */
static bool try_next(job *w)
{
    shrinking *s = w->s;
    uint32_t anomaly;
    s->trials++;
    if (s->m->guard->progress) s->m->guard->progress->done = s->trials;
    s->trying = history_new(s->m->fn, s->m->ud, s->m->guard, s->memory_limit);
    sub_history(s->trying, w->base, &w->next, &w->order, &s->scratch);
    bool violated = judged(w, s->trying, &anomaly);
    history *made = s->trying;
    s->trying = NULL;
    if (violated) {
        drop_best(s);
        s->best = made;
        s->anomaly = anomaly;
        sub_mask swap = w->now;
        w->now = w->next;
        w->next = swap;
    } else {
        history_free(made);
    }
    guard_poll(s->m->guard); /* only now: what was found is kept */
    return violated;
}

/* --- masks ------------------------------------------------------------------------------------ */

static size_t count_of(const history *h, enum thing thing)
{
    return thing == THING_TXN ? h->txns : thing == THING_KEY ? history_keys(h) : h->ops;
}

static uint8_t *flags_of(const sub_mask *m, enum thing thing)
{
    return thing == THING_TXN ? m->txn : thing == THING_KEY ? m->key : m->op;
}

static void new_mask(mem *m, sub_mask *out, const history *h)
{
    out->txn = mem_array0(m, uint8_t, h->txns + 1);
    out->op = mem_array0(m, uint8_t, h->ops + 1);
    out->key = mem_array0(m, uint8_t, history_keys(h) + 1);
}

static void free_mask(mem *m, sub_mask *out)
{
    mem_put(m, out->txn);
    mem_put(m, out->op);
    mem_put(m, out->key);
}

static void again(job *w)
{
    for (enum thing i = 0; i < THINGS; i++)
        memcpy(flags_of(&w->next, i), flags_of(&w->now, i), count_of(w->base, i));
}

static void close_base(job *w)
{
    mem *m = w->s->m;
    free_mask(m, &w->now);
    free_mask(m, &w->next);
    mem_put(m, w->op_txn);
}

static void open_base(job *w, const history *h)
{
    mem *m = w->s->m;
    w->base = h;
    new_mask(m, &w->now, h);
    new_mask(m, &w->next, h);
    w->now.aborted_read = w->next.aborted_read = w->s->q && w->s->q->aborted_read;
    w->op_txn = mem_array(m, txn_id, h->ops + 1);
    for (txn_id t = 0; t < h->txns; t++)
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) w->op_txn[o] = t;
}

/* What was found becomes what the next pass makes smaller. */
static void rebase(job *w)
{
    shrinking *s = w->s;
    if (!s->best || s->best == s->base) return;
    size_t left = 0; /* w->now made the best */
    for (txn_id t = 0; t < w->base->txns; t++)
        if (!w->now.txn[t]) w->whole_of[left++] = w->whole_of[t];
    close_base(w);
    history_free(s->base);
    s->base = s->best;
    open_base(w, s->base);
}

/* --- passes ----------------------------------------------------------------------------------- */

static bool is_out(const job *w, enum thing thing, uint32_t i)
{
    if (flags_of(&w->now, thing)[i]) return true;
    if (thing != THING_OP) return false;
    bool many = op_kind_of(w->base, i) >= OP_SCAN;
    return w->now.txn[w->op_txn[i]] || (!many && w->now.key[w->base->op_key[i]]);
}

static size_t txns_left(const job *w)
{
    size_t n = 0;
    for (txn_id t = 0; t < w->base->txns; t++) n += !w->now.txn[t];
    return n;
}

/* On with those whom the last violation names, as long as they are fewer. */
static bool follow_core(job *w)
{
    bool any = false;
    while (w->core.n && w->core.n < txns_left(w)) {
        again(w);
        memset(w->next.txn, 1, w->base->txns);
        for (size_t i = 0; i < w->core.n; i++) w->next.txn[w->core.at[i]] = 0;
        for (txn_id t = 0; t < w->base->txns; t++) w->next.txn[t] |= w->now.txn[t];
        if (!try_next(w)) break;
        any = true;
    }
    return any;
}

/* The order in which things are tried: from the end, or as the seed says. */
static uint32_t *order_of(job *w, size_t n, enum thing thing)
{
    uint32_t *order = mem_array(w->s->m, uint32_t, n + 1);
    rng r;
    for (size_t i = 0; i < n; i++) order[i] = (uint32_t)(n - 1 - i);
    if (!w->s->seed) return order;
    rng_seed(&r, w->s->seed * THINGS + thing);
    for (size_t i = n; i > 1; i--) {
        uint32_t j = rng_below(&r, i), swap = order[j];
        order[j] = order[i - 1];
        order[i - 1] = swap;
    }
    return order;
}

/* Leaves out what can be, of one kind: halves, quarters, ..., one by one. */
static bool pass(job *w, enum thing thing)
{
    size_t n = count_of(w->base, thing), chunk = 1;
    uint32_t *order = order_of(w, n, thing);
    bool any = false;
    while (chunk * 4 <= n) chunk *= 2;
    for (; chunk; chunk /= 2)
        for (size_t i = 0; i < n;) {
            size_t taken = 0;
            again(w);
            for (; i < n && taken < chunk; i++) {
                if (is_out(w, thing, order[i])) continue;
                flags_of(&w->next, thing)[order[i]] = 1;
                taken++;
            }
            if (!taken) break;
            if (!try_next(w)) continue;
            any = true;
            if (thing == THING_TXN && chunk > 1) follow_core(w);
        }
    mem_put(w->s->m, order);
    rebase(w);
    return any;
}

static void minimise(job *w)
{
    bool any;
    do {
        any = false;
        for (enum thing i = 0; i < THINGS; i++) any = pass(w, i) || any;
    } while (any);
}

/* --- where to start --------------------------------------------------------------------------- */

typedef VEC(uint64_t) pairs;

static void add_seen(job *w, pairs *p, key_id key, value_id v)
{
    const history *h = w->base;
    mem *m = w->s->m;
    uint64_t high = (uint64_t)key << 32;
    if (v == VALUE_EMPTY) v = VALUE_NULL;
    atom a = v > VALUE_NULL && v != VALUE_UNKNOWN ? value_atom(h, v) : (atom){.kind = ATOM_NULL};
    if (a.kind != ATOM_LIST) vec_push(m, p, high | v);
    for (uint32_t i = 0; a.kind == ATOM_LIST && i < a.len; i++)
        vec_push(m, p, high | h->elements.at[a.as.offset + i]);
}

static bool holds_pair(const pairs *p, uint64_t x)
{
    size_t at = lower_bound_u64(p->at, p->n, x);
    return at < p->n && p->at[at] == x;
}

/* What those that are in have read, sorted: a pair for each read. */
static pairs pairs_seen(job *w)
{
    const history *h = w->base;
    pairs p = {0};
    for (txn_id t = 0; t < h->txns; t++) {
        if (w->next.txn[t]) continue;
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            enum op_kind kind = op_kind_of(h, o);
            if (kind == OP_READ) add_seen(w, &p, h->op_key[o], h->op_value[o]);
            if (kind < OP_SCAN) continue;
            const range *r = &h->ranges.at[h->op_key[o]];
            for (uint32_t i = r->first_row; i < r->first_row + r->rows; i++)
                add_seen(w, &p, h->row_key.at[i], h->row_value.at[i]);
        }
    }
    sort_u64(p.at, p.n);
    return p;
}

/* What operation o wrote, as a pair; false if it is no write. */
static bool pair_written(const history *h, op_id o, uint64_t *pair)
{
    enum op_kind kind = op_kind_of(h, o);
    if (kind == OP_READ || kind >= OP_SCAN) return false;
    *pair = (uint64_t)h->op_key[o] << 32 | (kind == OP_DELETE ? VALUE_NULL : h->op_value[o]);
    return true;
}

/* Lets in whoever wrote what those that are in have read. */
static void let_writers_in(job *w)
{
    const history *h = w->base;
    pairs p = pairs_seen(w);
    for (txn_id t = 0; t < h->txns; t++) {
        guard_tick(w->s->m->guard);
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1] && w->next.txn[t]; o++) {
            uint64_t pair;
            if (pair_written(h, o, &pair) && holds_pair(&p, pair)) w->next.txn[t] = 0;
        }
    }
    vec_free(w->s->m, &p);
}

/* The last write of transaction t of something for which a read still lacks a writer, or NO_ID. */
static op_id lacking_write(const history *h, txn_id t, const pairs *p, uint32_t *given)
{
    uint64_t pair;
    for (op_id o = h->txn_op[t + 1]; o-- > h->txn_op[t];) {
        if (!pair_written(h, o, &pair) || h->op_kind[o] & OP_FAILED) continue;
        size_t at = lower_bound_u64(p->at, p->n, pair), reads = at;
        while (reads < p->n && p->at[reads] == pair) reads++;
        if (given[at] >= reads - at) continue;
        for (op_id later = o + 1; later < h->txn_op[t + 1]; later++) {
            uint64_t other;
            if (pair_written(h, later, &other) && other >> 32 == pair >> 32) return NO_ID;
        }
        given[at]++;
        return o;
    }
    return NO_ID;
}

/* Lets in a writer for each read of those that are in, and of it nothing but that write: enough if
   such a writer may stand in for all others (remainder.h). */
static void let_stand_ins_in(job *w)
{
    const history *h = w->base;
    mem *m = w->s->m;
    pairs p = pairs_seen(w);
    uint32_t *given = mem_array0(m, uint32_t, p.n + 1);
    uint8_t *met = mem_array0(m, uint8_t, h->sessions.n + 1);
    for (txn_id t = 0; t < h->txns; t++)
        if (!w->next.txn[t]) met[h->txn_session[t]] = 1;
    for (txn_id t = 0; t < h->txns; t++) {
        guard_tick(m->guard);
        if (!w->next.txn[t] || met[h->txn_session[t]] || txn_status_of(h, t) != TXN_COMMITTED)
            continue;
        op_id o = lacking_write(h, t, &p, given);
        if (o == NO_ID) continue;
        w->next.txn[t] = 0;
        met[h->txn_session[t]] = 1;
        memset(w->next.op + h->txn_op[t], 1, h->txn_op[t + 1] - h->txn_op[t]);
        w->next.op[o] = 0;
    }
    mem_put(m, given);
    mem_put(m, met);
    vec_free(m, &p);
}

/* Leaves out the keys of which those that are in say nothing. */
static void leave_unnamed_keys(job *w)
{
    const history *h = w->base;
    memset(w->next.key, 1, history_keys(h));
    for (txn_id t = 0; t < h->txns; t++) {
        if (w->next.txn[t]) continue;
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            if (op_kind_of(h, o) < OP_SCAN) {
                w->next.key[h->op_key[o]] = 0;
                continue;
            }
            const range *r = &h->ranges.at[h->op_key[o]];
            for (uint32_t i = r->first_row; i < r->first_row + r->rows; i++)
                w->next.key[h->row_key.at[i]] = 0;
        }
    }
}

static void leave_keys_off_cycle(job *w)
{
    const verdict *v = w->s->whole;
    memset(w->next.key, 1, history_keys(w->base));
    for (size_t i = 0; i < v->cycle.n; i++)
        if (v->cycle.at[i].key != NO_ID) w->next.key[v->cycle.at[i].key] = 0;
}

/* Notes that transaction t wrote a key, if any[] has that of the first one, plus 1; or that it says
   something of a key that others wrote. */
#define OTHERS UINT32_MAX

static void note_write(uint32_t *by, key_id key, txn_id t)
{
    if (!by[key])
        by[key] = t + 1;
    else if (by[key] != t + 1)
        by[key] = OTHERS;
}

static void note_read(const uint32_t *by, key_id key, txn_id t, uint8_t *out)
{
    if (by[key] && by[key] != t + 1) out[key] = 0;
}

static bool is_write(const history *h, op_id o)
{
    uint64_t pair;
    return pair_written(h, o, &pair);
}

/* Leaves out the keys of which those that the answer names do not tell each other anything: none of
   them wrote it, or nobody else of them speaks of it. */
static void leave_untold_keys(job *w)
{
    const history *h = w->base;
    const txn_id *core = w->s->whole->core.at;
    size_t n = w->s->whole->core.n;
    uint32_t *by = mem_array0(w->s->m, uint32_t, history_keys(h) + 1);
    memset(w->next.key, 1, history_keys(h));
    for (size_t i = 0; i < n; i++)
        for (op_id o = h->txn_op[core[i]]; o < h->txn_op[core[i] + 1]; o++)
            if (is_write(h, o)) note_write(by, h->op_key[o], core[i]);
    for (size_t i = 0; i < n; i++)
        for (op_id o = h->txn_op[core[i]]; o < h->txn_op[core[i] + 1]; o++) {
            if (op_kind_of(h, o) < OP_SCAN) {
                note_read(by, h->op_key[o], core[i], w->next.key);
                continue;
            }
            const range *r = &h->ranges.at[h->op_key[o]];
            for (uint32_t j = r->first_row; j < r->first_row + r->rows; j++)
                note_read(by, h->row_key.at[j], core[i], w->next.key);
        }
    mem_put(w->s->m, by);
}

/* Lets in, of every session, `most` transactions on either side of the last one that surely came
   before transaction t. */
static void let_neighbours_in(job *w, txn_id t, uint32_t most)
{
    const history *h = w->base;
    const known_order *k = &w->s->known;
    for (uint32_t i = 0; i < k->sessions; i++) {
        uint32_t lo = h->sess_first[i], hi = h->sess_first[i + 1], first = lo, end = hi;
        uint32_t until = k->clock[(size_t)t * k->sessions + i];
        if (h->txn_session[t] == i) until = t;
        while (lo < hi) {
            uint32_t mid = lo + (hi - lo) / 2;
            if (h->sess_txn[mid] < until)
                lo = mid + 1;
            else
                hi = mid;
        }
        if (lo - first > most) first = lo - most;
        if (end - lo > most) end = lo + most;
        for (uint32_t j = first; j < end; j++) w->next.txn[h->sess_txn[j]] = 0;
    }
}

#define FEW_NAMED 32u

/* Whom the answer names, with what happened around them: in between others stand those that rule
   out what a part without them would allow. */
static bool start_from_neighbours(job *w)
{
    const verdict *v = w->s->whole;
    if (!w->order.known || !v->core.n || v->core.n > FEW_NAMED) return false;
    for (uint32_t most = 2; most < w->base->txns / 2; most *= 4) {
        again(w);
        memset(w->next.txn, 1, w->base->txns);
        for (size_t i = 0; i < v->core.n; i++) {
            w->next.txn[v->core.at[i]] = 0;
            let_neighbours_in(w, v->core.at[i], most);
        }
        if (try_next(w)) return true;
    }
    return false;
}

/* Whom the answer names; if that is not enough, with writers of what they read: one for each read,
   then all of them.  Each first with the keys of its cycle (or, without one, with those that
   one of them wrote and another one speaks of), then with all that they speak of, then with all. */
static bool start_from_core(job *w)
{
    enum { KEYS_OF_CYCLE, KEYS_NAMED, KEYS_ALL, KEYS };
    enum { ALONE, STAND_INS, WRITERS, COMPANIES };
    const verdict *v = w->s->whole;
    for (int tier = 0; v->core.n && tier < COMPANIES * KEYS; tier++) {
        if (tier / KEYS == STAND_INS && !w->order.stand_ins) continue;
        again(w);
        memset(w->next.txn, 1, w->base->txns);
        for (size_t i = 0; i < v->core.n; i++) w->next.txn[v->core.at[i]] = 0;
        if (tier / KEYS == STAND_INS) let_stand_ins_in(w);
        if (tier / KEYS == WRITERS) let_writers_in(w);
        if (tier % KEYS == KEYS_OF_CYCLE && v->cycle.n) leave_keys_off_cycle(w);
        if (tier % KEYS == KEYS_OF_CYCLE && !v->cycle.n) leave_untold_keys(w);
        if (tier % KEYS == KEYS_NAMED) leave_unnamed_keys(w);
        if (try_next(w)) return true;
    }
    return start_from_neighbours(w);
}

static bool at_least(const level_ref *level, enum level_id weaker)
{
    return level->id == weaker ||
           level_implies(level->id, true, level->realtime, weaker, true, false);
}

bool shrink_knows(const level_ref *level, bool session_order)
{
    return session_order && level->id != LEVEL_RU && !level_at(level->id)->split;
}

bool shrink_sees_past(const level_ref *level)
{
    return at_least(level, LEVEL_CC);
}

bool shrink_sees_session(const level_ref *level)
{
    return at_least(level, LEVEL_RYW);
}

void shrink_lets_stand_in(sub_order *out, const level_ref *level, bool session_order, bool trust)
{
    /* (Where transactions have levels of their own, no two of them are alike.) */
    out->stand_ins = level->id != LEVEL_MIXED && level->id != LEVEL_MIXED_PG;
    out->sessions = session_order;
    out->times = trust || level->realtime || level_needs_times(level_at(level->id));
}

/* Where session order counts, and reads do, what is certain tells which writes are spared. */
static void know_order(job *w)
{
    shrinking *s = w->s;
    bool counts = s->whole && shrink_knows(&s->level, s->whole->session_order);
    w->whole_of = mem_array(s->m, txn_id, w->base->txns + 1);
    for (txn_id t = 0; t < w->base->txns; t++) w->whole_of[t] = t;
    w->order = (sub_order){.whole = w->whole_of};
    if (s->whole) shrink_lets_stand_in(&w->order, &s->level, s->whole->session_order, s->q->trust);
    if (!counts) return;
    known_order_build(&s->known, w->base, s->m);
    if (!s->known.clock) return;
    w->order.known = &s->known;
    w->order.sees_past = shrink_sees_past(&s->level);
    w->order.sees_session = shrink_sees_session(&s->level);
}

void shrink_history(shrinking *s, const history *h)
{
    job w = {.s = s, .want = ANOMALIES, .of = ANOMALIES};
    bool named = false;
    mem_init(&s->scratch, s->m->fn, s->m->ud, s->m->guard);
    mem_init(&s->keep, s->m->fn, s->m->ud, s->m->guard);
    mem_init(&s->work, s->m->fn, s->m->ud, s->m->guard);
    s->anomaly = ANOMALIES;
    guard_stage(s->m->guard, "shrink", "trials", 0);
    if (s->m->guard->progress) s->m->guard->progress->held = true;
    open_base(&w, h);
    know_order(&w);
    if (s->whole) {
        w.of = w.want = s->whole->anomaly;
        named = start_from_core(&w);
        w.want = ANOMALIES;
        /* (A fault that needs more than those whom it names is shrunk from the whole.) */
        if (!named && !is_fault(w.of)) start_from_core(&w);
        w.of = ANOMALIES;
    }
    again(&w); /* of nothing left out */
    w.patient = !s->best;
    if (!s->best && !try_next(&w))
        guard_fail(s->m->guard, GUARD_UNSUPPORTED,
                   "when checked again, the history is not violated");
    rebase(&w);
    w.of = w.want = s->anomaly;
    w.patient = false;
    minimise(&w);
    if (w.want != ANOMALIES && !is_fault(w.want)) {
        w.want = ANOMALIES;
        minimise(&w);
    }
    w.patient = true;
    if (w.gave_up) minimise(&w);
    close_base(&w);
    mem_put(s->m, w.whole_of);
    mem_put(s->m, s->known.clock);
    s->minimal = true;
}

void shrink_close(shrinking *s)
{
    history_free(s->trying);
    if (s->base != s->best) history_free(s->base);
    s->trying = s->base = NULL;
    mem_free_all(&s->scratch);
    mem_free_all(&s->keep);
    mem_free_all(&s->work);
}
