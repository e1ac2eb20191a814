/*
 * page_around.c - which transactions of a history stand near those of an argument.
 *
 * A small history is shown whole.  Of a large one: what comes just before and after each
 * transaction of the argument in its session and in the input, and who else used the argument's
 * keys, those nearest in the input first.  One walk over the operations, and a fixed number of
 * transactions.
 */
#include "base/sort.h"
#include "report/page_parts.h"

enum { WHOLE = 60, AROUND = 60, IN_SESSION = 2, IN_INPUT = 8 };

typedef struct found_near {
    uint64_t distance;
    txn_id txn;
} found_near;

typedef struct nearby {
    const told *t;
    const history *h;
    const txn_ids *core;
    uint8_t *taken; /* a byte a transaction */
    txn_ids *out;
} nearby;

static void take_txn(nearby *k, txn_id x)
{
    if (k->taken[x] || k->out->n >= AROUND) return;
    k->taken[x] = 1;
    vec_push(k->t->m, k->out, x);
}

/* Where the transaction stands in its session: its place in sess_txn. */
static uint32_t session_place(const history *h, txn_id x)
{
    uint32_t at = h->sess_first[h->txn_session[x]];
    while (h->sess_txn[at] != x) at++;
    return at;
}

static void take_session(nearby *k, txn_id x)
{
    const history *h = k->h;
    uint32_t at = session_place(h, x), first = h->sess_first[h->txn_session[x]];
    uint32_t end = h->sess_first[h->txn_session[x] + 1];
    for (uint32_t i = 1; i <= IN_SESSION; i++) {
        if (at >= first + i) take_txn(k, h->sess_txn[at - i]);
        if (at + i < end) take_txn(k, h->sess_txn[at + i]);
    }
}

/* What stands next to it in the input mostly ran at the same time. */
static void take_input(nearby *k, uint32_t far)
{
    for (size_t i = 0; i < k->core->n && k->out->n < AROUND / 2; i++) {
        txn_id x = k->core->at[i];
        if (x >= far) take_txn(k, x - far);
        if (k->h->txns - x > far) take_txn(k, x + far);
    }
}

static uint64_t distance_to(const txn_ids *core, txn_id x)
{
    uint64_t best = UINT64_MAX;
    for (size_t i = 0; i < core->n; i++) {
        uint64_t d = core->at[i] < x ? x - core->at[i] : core->at[i] - x;
        if (d < best) best = d;
    }
    return best;
}

/* Keeps the nearest AROUND of what was found, sorted. */
static void insert_near(found_near *best, size_t *n, found_near x)
{
    size_t at = *n;
    while (at && best[at - 1].distance > x.distance) at--;
    if (at == AROUND) return;
    size_t end = *n < AROUND ? *n : AROUND - 1;
    memmove(best + at + 1, best + at, (end - at) * sizeof *best);
    best[at] = x;
    *n = end + 1;
}

static void take_keys(nearby *k)
{
    const history *h = k->h;
    key_ids keys = {0};
    found_near best[AROUND + 1];
    size_t n = 0;
    told_keys(k->t, &keys);
    if (!keys.n) return;
    uint8_t *wanted = mem_array0(k->t->m, uint8_t, history_keys(h) + 1);
    for (size_t i = 0; i < keys.n; i++) wanted[keys.at[i]] = 1;
    for (txn_id x = 0; x < h->txns; x++) {
        bool uses = false;
        for (op_id o = h->txn_op[x]; o < h->txn_op[x + 1] && !uses; o++)
            uses = op_kind_of(h, o) < OP_SCAN && wanted[h->op_key[o]];
        if (uses && !k->taken[x]) insert_near(best, &n, (found_near){distance_to(k->core, x), x});
    }
    for (size_t i = 0; i < n; i++) take_txn(k, best[i].txn);
    mem_put(k->t->m, wanted);
    vec_free(k->t->m, &keys);
}

void page_around(const told *t, const txn_ids *core, txn_ids *out)
{
    nearby k = {.t = t, .h = t->v->h, .core = core, .out = out};
    k.taken = mem_array0(t->m, uint8_t, k.h->txns + 1);
    for (size_t i = 0; i < core->n; i++) k.taken[core->at[i]] = 1;
    if (k.h->txns <= WHOLE || !core->n) {
        for (txn_id x = 0; x < k.h->txns && out->n < AROUND; x++) take_txn(&k, x);
    } else {
        for (size_t i = 0; i < core->n; i++) take_session(&k, core->at[i]);
        for (uint32_t far = 1; far <= IN_INPUT; far++) take_input(&k, far);
        take_keys(&k);
    }
    mem_put(t->m, k.taken);
}
