/*
 * single_operations.c - linearizability, decided key by key (decide/key_search.h).
 *
 * Each key has an order of its own or the history has none.  Orders of all keys are put together
 * by moments: an operation takes effect at the latest begin of all that stand before it in the
 * order of its key, and its own.  That is not after its end, since those before it did not begin
 * after it had ended; so the operations of all keys, sorted by these moments, agree with real time
 * (Herlihy and Wing 1990, locality).
 *
 * Where a key has no order, the general way to decide is asked as well if values do not repeat or
 * there are few transactions: it finds those that contradict each other.
 */
#include "verdict/single_operations.h"

#include <assert.h>

#include "base/sort.h"
#include "decide/key_search.h"
#include "history/key_sessions.h"
#include "order/order_problem.h"

#define FEW 64u       /* transactions, of which the general way finds the smallest part */
#define TOLD_ALONG 8u /* operations before the one that has no place */

typedef struct singles {
    hearing *x;
    const history *h;
    mem *m;
    uint32_t *first; /* per key, in txn */
    txn_id *txn;     /* operations by key, in the order of the history; then those that committed
                        and did nothing */
    uint32_t n;
    uint64_t *moment; /* per place of txn: when it takes effect; out of the order: the last one */
    uint32_t *rank;   /* per place of txn: its place in the order of its key; NO_ID: it has none */
    uint32_t *reads_from; /* per place of txn: the place of the writer; NO_ID: the initial state */
} singles;

bool judging_by_key(const hearing *x)
{
    const history *h = x->h;
    assert(h->frozen && x->v);
    if (x->asked.id != LEVEL_LIN || h->assumed) return false;
    if (!pass_on(&x->q->tune, PASS_KEY_SEARCH)) return false;
    for (op_id o = 0; o < h->ops; o++)
        if (op_kind_of(h, o) == OP_APPEND) return false;
    for (size_t i = 0; i < h->attrs.n; i++) /* hints restrict what may be chosen */
        if (h->attrs.at[i].kind <= ATTR_VER) return false;
    return true;
}

static void group_by_key(singles *s)
{
    const history *h = s->h;
    size_t keys = history_keys(h);
    bool several;
    s->first = mem_array0(s->m, uint32_t, keys + 3);
    s->txn = mem_array(s->m, txn_id, h->txns + 1);
    for (txn_id t = 0; t < h->txns; t++) {
        key_id k = txn_status_of(h, t) == TXN_ABORTED ? NO_ID : txn_single_key(h, t, &several);
        if (k != NO_ID) s->first[k + 2]++;
    }
    for (size_t k = 2; k < keys + 2; k++) s->first[k] += s->first[k - 1];
    for (txn_id t = 0; t < h->txns; t++) {
        key_id k = txn_status_of(h, t) == TXN_ABORTED ? NO_ID : txn_single_key(h, t, &several);
        if (k != NO_ID) s->txn[s->first[k + 1]++] = t;
    }
    s->n = s->first[keys];
    for (txn_id t = 0; t < h->txns; t++)
        if (txn_status_of(h, t) == TXN_COMMITTED && txn_single_key(h, t, &several) == NO_ID)
            s->txn[s->n++] = t;
}

/* VALUE_UNKNOWN: it does not, or nobody knows what it read. */
typedef struct register_op {
    value_id read, write;
} register_op;

static register_op values_of(const history *h, txn_id t)
{
    register_op x = {VALUE_UNKNOWN, VALUE_UNKNOWN};
    for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
        enum op_kind kind = op_kind_of(h, o);
        if (op_failed(h, o)) continue;
        if (kind == OP_READ)
            x.read = value_or_absent(h->op_value[o]);
        else if (!op_is_local_write(h, o))
            x.write = kind == OP_DELETE ? VALUE_NULL : value_or_absent(h->op_value[o]);
    }
    return x;
}

/* What a key of unknown initial contents holds until somebody has read or written it.  (No value:
   the table of values is smaller.) */
#define INITIAL_OPEN (VALUE_UNKNOWN - 1)

/* A key_model: states are values. */
static uint32_t run_register(void *ud, uint32_t i, uint32_t value)
{
    const register_op *x = (const register_op *)ud + i;
    bool reads = x->read != VALUE_UNKNOWN;
    if (reads && x->read != value && value != INITIAL_OPEN) return NO_ID;
    if (x->write != VALUE_UNKNOWN) return x->write;
    return reads ? x->read : value;
}

static bool is_known(const void *ud, uint32_t value)
{
    (void)ud;
    return value != INITIAL_OPEN;
}

/* When a transaction ran, as the search takes it; the caller sets the rest. */
key_op judge_moment_of(const history *h, txn_id t)
{
    key_op x = {.certain = txn_status_of(h, t) == TXN_COMMITTED,
                .before = NO_ID,
                .begin = sort_key(INT64_MIN)};
    int64_t at;
    if (txn_begin_time(h, t, &at)) x.begin = sort_key(at);
    x.ends = txn_end_time(h, t, &at);
    if (x.ends) x.end = sort_key(at);
    return x;
}

/* The operations on one key; sessions are those of key_sessions.h. */
static key_op *load_key(const singles *s, key_id k, uint32_t *last_of, register_op *what)
{
    const history *h = s->h;
    uint32_t from = s->first[k], n = s->first[k + 1] - from;
    key_op *op = mem_array(s->m, key_op, (size_t)n + 1);
    for (uint32_t i = 0; i < n; i++) {
        txn_id t = s->txn[from + i];
        uint32_t *last = &last_of[h->txn_session[t]];
        op[i] = judge_moment_of(h, t);
        what[i] = values_of(h, t);
        op[i].writes = what[i].write != VALUE_UNKNOWN;
        op[i].before = *last == NO_ID || *last < from ? NO_ID : *last - from;
        if (op[i].certain) *last = from + i;
    }
    return op;
}

static void keep_key(singles *s, key_id k, const key_op *op, const key_found *found)
{
    uint32_t from = s->first[k], writer = NO_ID;
    uint64_t now = 0;
    for (uint32_t i = 0; i < found->line.n; i++) {
        uint32_t at = found->line.at[i];
        assert(at < s->first[k + 1] - from && s->rank[from + at] == NO_ID);
        if (op[at].begin > now) now = op[at].begin;
        s->moment[from + at] = now;
        s->rank[from + at] = i;
        s->reads_from[from + at] = writer;
        if (op[at].writes) writer = from + at;
    }
}

/* The order of all, by moments; equal ones of a key stand in the order of the key. */
static void keep_all(const singles *s)
{
    const history *h = s->h;
    verdict *v = &s->x->found;
    assert(!v->ordered && v->outcome == OUTCOME_HOLDS);
    uint32_t count = 0;
    uint32_t *at = mem_array(s->m, uint32_t, h->txns + 1);
    uint64_t *key = mem_array(s->m, uint64_t, h->txns + 1);
    for (key_id k = 0; k < history_keys(h); k++) {
        uint32_t from = s->first[k], before = count;
        for (uint32_t i = from; i < s->first[k + 1]; i++)
            if (s->rank[i] != NO_ID) {
                at[before + s->rank[i]] = i;
                count++;
            }
    }
    for (uint32_t i = s->first[history_keys(h)]; i < s->n; i++) at[count++] = i;
    for (uint32_t i = 0; i < count; i++) key[i] = s->moment[at[i]];
    assert(count <= s->n);
    uint32_t *by_moment = sort_by_key(s->m, key, count);
    v->order = mem_array(v->mem, txn_id, h->txns + 1);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t j = at[by_moment[i]];
        txn_id t = s->txn[j];
        op_id o = h->txn_op[t];
        v->order[v->ordered++] = t;
        while (o < h->txn_op[t + 1] && op_failed(h, o)) o++;
        if (o == h->txn_op[t + 1] || op_kind_of(h, o) != OP_READ || h->op_value[o] == VALUE_UNKNOWN)
            continue;
        chosen c = {o, h->op_key[o], s->reads_from[j] == NO_ID ? NO_ID : s->txn[s->reads_from[j]]};
        vec_push(v->mem, &v->choices, c);
    }
}

static void tell_order(const singles *s)
{
    hearing *x = s->x;
    const char *wrong = NULL;
    x->found = x->blank;
    x->found.outcome = OUTCOME_HOLDS;
    x->found.decided_by = BY_KEYS;
    verdict_reason(&x->found, "an order of the operations on each key explains every read");
    keep_all(s);
    claim c = claim_of(&x->found);
    if (!claim_recheck(&c, s->h, s->m, &wrong) && wrong != claim_too_large)
        guard_fail(s->m->guard, GUARD_BUG, "the order found does not replay: %s", wrong);
}

static void say_value(const history *h, value_id v, strbuf *b)
{
    if (v == VALUE_NULL || v == INITIAL_OPEN)
        strbuf_str(b, v == VALUE_NULL ? "nothing" : "its unknown initial value");
    else
        atom_text(h, value_atom(h, v), b);
}

/* Was the value that was read never written, by whatever transaction? */
static bool is_garbage(const history *h, key_id k, value_id read)
{
    if (h->init_unknown || read == VALUE_UNKNOWN || read == value_or_absent(h->key_init[k]))
        return false;
    for (op_id o = 0; o < h->ops; o++) {
        enum op_kind kind = op_kind_of(h, o);
        if (kind == OP_SCAN || kind == OP_ITER || kind == OP_READ || h->op_key[o] != k) continue;
        if ((kind == OP_DELETE ? VALUE_NULL : value_or_absent(h->op_value[o])) == read)
            return false;
    }
    return true;
}

/* No order of the key has a place for one of its operations. */
static void tell_stuck(const singles *s, key_id k, const register_op *what, const key_found *found)
{
    const history *h = s->h;
    hearing *x = s->x;
    uint32_t from = s->first[k], i = found->stuck, told = 0;
    assert(i < s->first[k + 1] - from);
    const char *before = ": when it ended, the key can only have held ";
    strbuf b;
    strbuf_init(&b, x->v->mem);
    x->found = x->blank;
    x->found.outcome = OUTCOME_VIOLATED;
    x->found.decided_by = BY_KEYS;
    x->found.anomaly = is_garbage(h, k, what[i].read) ? ANOMALY_GARBAGE_READ : ANOMALY_STALE_READ;
    vec_push(x->found.mem, &x->found.core, s->txn[from + i]);
    for (uint32_t j = i; j-- > 0 && told < TOLD_ALONG; told++)
        vec_push(x->found.mem, &x->found.core, s->txn[from + j]);
    strbuf_str(&b, "no order of the operations on key ");
    atom_text(h, key_atom(h, k), &b);
    strbuf_str(&b, " that agrees with real time has a place for transaction ");
    atom_text(h, label_atom(h, h->txn_label[s->txn[from + i]]), &b);
    if (what[i].read != VALUE_UNKNOWN) {
        strbuf_str(&b, ", which read ");
        say_value(h, what[i].read, &b);
        for (unsigned n = 0; n < found->n_held; n++, before = " or ") {
            strbuf_str(&b, before);
            say_value(h, found->held[n], &b);
        }
        if (found->held_more) strbuf_str(&b, " or other values");
    }
    strbuf_cstr(&b);
    x->found.reason = b.at;
}

/* Is there a value that was written twice? */
static bool repeats_values(mem *m, const register_op *op, uint32_t n, value_id initial)
{
    id_map writers = {0};
    bool repeats = false;
    id_map_put(m, &writers, initial, 1);
    for (uint32_t i = 0; i < n && !repeats; i++) {
        if (op[i].write == VALUE_UNKNOWN) continue;
        uint32_t *count = id_map_at(m, &writers, op[i].write);
        repeats = *count != MAP_NONE;
        *count = 1;
    }
    id_map_free(m, &writers);
    return repeats;
}

static void open_singles(singles *s)
{
    group_by_key(s);
    size_t n = s->n;
    assert(n <= s->h->txns);
    s->moment = mem_array0(s->m, uint64_t, n + 1);
    s->rank = mem_array(s->m, uint32_t, n + 1);
    s->reads_from = mem_array(s->m, uint32_t, n + 1);
    memset(s->rank, 0xff, (n + 1) * sizeof *s->rank);
    for (uint32_t i = s->first[history_keys(s->h)]; i < s->n; i++) { /* anywhere in their time */
        int64_t at;
        if (txn_begin_time(s->h, s->txn[i], &at)) s->moment[i] = sort_key(at);
    }
}

bool judge_by_key(hearing *x)
{
    singles s = {.x = x, .h = x->h, .m = x->work};
    key_found found = {0};
    enum key_answer answer = KEY_HAS_ORDER;
    uint64_t begun = clock_now();
    bool repeats = false;
    guard_stage(s.m->guard, "search", NULL, 0);
    open_singles(&s);
    uint32_t *last_of = mem_array(s.m, uint32_t, s.h->sessions.n + 1);
    memset(last_of, 0xff, (s.h->sessions.n + 1) * sizeof *last_of);
    for (key_id k = 0; k < history_keys(s.h) && answer == KEY_HAS_ORDER; k++) {
        uint32_t n = s.first[k + 1] - s.first[k];
        register_op *what = mem_array(s.m, register_op, (size_t)n + 1);
        key_op *op = load_key(&s, k, last_of, what);
        key_model model = {run_register, is_known, what};
        bool open = s.h->init_unknown;
        value_id initial = open ? INITIAL_OPEN : value_or_absent(s.h->key_init[k]);
        answer = key_search_run(s.m, op, n, &model, initial, x->q->drift, &found);
        if (answer == KEY_HAS_NONE) repeats = repeats_values(s.m, what, n, initial);
        if (answer == KEY_HAS_ORDER) keep_key(&s, k, op, &found);
        if (answer == KEY_HAS_NONE) tell_stuck(&s, k, what, &found);
        mem_put(s.m, op);
        mem_put(s.m, what);
    }
    if (answer == KEY_HAS_ORDER) tell_order(&s);
    x->blank.cost->ns_solve += clock_now() - begun;
    mem_free_all(x->work);
    if (answer == KEY_HAS_NONE && (!repeats || s.h->txns <= FEW)) {
        hearing_publish(x); /* a limit may strike below */
        return false;
    }
    return answer != KEY_TOO_HARD;
}
