/*
 * gen.c - the driver: sessions take their steps in an order drawn by the seed.
 *
 * Each event (begin, operation, end) is one tick of the clock.  A transaction is written into the
 * history when it ends, so transactions stand in the order of their ends; an attempt that the
 * store refuses leaves no trace and is made again.  After a few refusals the next attempt runs
 * without interruption, which bounds the work under any contention.
 *
 * Everything taken here belongs to h->mem, so a jump out of the middle leaks nothing.
 */
#include "gen/gen.h"

#include <assert.h>

#include "gen/sim.h"

enum { PATIENCE = 3 };

/* --- tables ------------------------------------------------------------------------------ */

static const struct {
    const char *name, *others, *about;
    truth_set keeps;
} isolations[] = {
#define ISOLATION(id, name, others, view, refuse, keeps, about) {name, others, about, keeps},
#include "gen/isolations.def"
#undef ISOLATION
};

#define ISOLATIONS (sizeof isolations / sizeof *isolations)
#define MOST_SESSIONS 1000000
#define MOST_KEYS 100000000 /* the store has a version of each, some 50 bytes in all */

const char *gen_workload_at(size_t i, const char **about)
{
    const workload_info *w = workload_at(i);
    if (w && about) *about = w->about;
    return w ? w->name : NULL;
}

const char *gen_isolation_at(size_t i, const char **about)
{
    if (i >= ISOLATIONS) return NULL;
    if (about) *about = isolations[i].about;
    return isolations[i].name;
}

const char *gen_anomaly_at(size_t i, const char **about)
{
    for (size_t k = 0; k < ANOMALIES; k++) {
        const anomaly_info *a = anomaly_at(k);
        if (!a->plantable || i--) continue;
        if (about) *about = a->others;
        return a->name;
    }
    return NULL;
}

int gen_anomaly_named(const char *name)
{
    return anomaly_named(name);
}

static enum workload_kind workload_named(guard *g, const char *name)
{
    for (size_t i = 0; workload_at(i); i++)
        if (!strcmp(workload_at(i)->name, name)) return (enum workload_kind)i;
    guard_fail(g, GUARD_INVAL, "no workload \"%.100s\"", name);
}

static enum store_mode isolation_named(guard *g, const char *name)
{
    for (size_t i = 0; i < ISOLATIONS; i++) {
        if (!strcmp(isolations[i].name, name)) return (enum store_mode)i;
        size_t n = strlen(name);
        for (const char *p = isolations[i].others; n && (p = strstr(p, name)) != NULL; p += n)
            if ((p == isolations[i].others || p[-1] == ' ') && (!p[n] || p[n] == ' '))
                return (enum store_mode)i;
    }
    guard_fail(g, GUARD_INVAL, "cannot simulate isolation \"%.100s\"", name);
}

/* --- writing transactions ---------------------------------------------------------------- */

/* Clocks that drift wander by one tick at a time and never run backwards. */
int64_t sim_time(sim *m, uint32_t session)
{
    if (!m->drift) return m->clock;
    client *c = &m->clients[session];
    uint64_t x = rng_next(&m->clocks);
    if (x & 1 && (x & 2 ? c->skew : -c->skew) < m->drift / 2) c->skew += x & 2 ? 1 : -1;
    int64_t t = m->clock + c->skew;
    if (t < c->shown) t = c->shown;
    return c->shown = t;
}

void sim_open(sim *m, uint32_t session, int64_t begin)
{
    history *h = m->h;
    history_begin(h);
    history_session(h, label_uint(h, (uint64_t)session + 1));
    history_label(h, label_uint(h, (uint64_t)h->txns + 1));
    if (!m->o->no_times) history_time(h, TXN_HAS_BEGIN, begin);
    /* (the store's clock: what the session's shows, without its skew) */
    if (m->timestamps) history_time(h, TXN_HAS_START_TS, m->clients[session].began);
}

/* Has the transaction that is being written any write? */
static bool has_writes(const history *h)
{
    for (size_t o = h->txn_op[h->txns]; o < h->ops; o++) {
        unsigned kind = h->op_kind[o] & OP_KIND_MASK;
        if (kind == OP_WRITE || kind == OP_DELETE || kind == OP_APPEND) return true;
    }
    return false;
}

void sim_close(sim *m, uint32_t session, enum txn_status status)
{
    int64_t end = sim_time(m, session);
    /* The client of an unknown outcome never saw its end. */
    if (!m->o->no_times && status != TXN_UNKNOWN) history_time(m->h, TXN_HAS_END, end);
    /* Who only reads commits nothing: its snapshot is all there is. */
    bool committed = status == TXN_COMMITTED || (status == TXN_UNKNOWN && m->applied);
    if (m->timestamps && committed && has_writes(m->h))
        history_time(m->h, TXN_HAS_COMMIT_TS, m->clock);
    history_end(m->h, status);
}

/* A list as steps[i] saw it: the committed elements, then own appends so far. */
static value_id list_seen(sim *m, const step *steps, uint32_t i)
{
    const step *t = &steps[i];
    mem *mm = &m->h->mem;
    const uint32_t *elements = m->store.elements.at + (size_t)t->key * m->store.list_cap;
    m->list.n = 0;
    vec_reserve(mm, &m->list, (size_t)t->value + i);
    for (uint32_t k = 0; k < t->value; k++) m->list.at[m->list.n++] = elements[k];
    if (t->flags & STEP_OWN)
        for (uint32_t k = 0; k < i; k++)
            if (steps[k].kind == STEP_APPEND && steps[k].key == t->key)
                m->list.at[m->list.n++] = steps[k].value;
    return value_list(m->h, m->list.at, m->list.n);
}

static void write_range(sim *m, const client *c, const step *t)
{
    history *h = m->h;
    for (uint32_t i = t->value; i < t->value + t->seen; i++) {
        const store_row *row = &c->rows.at[i];
        history_row(h, workload_key(&m->work, h, row->key), row->value);
    }
    history_range(h, t->kind == STEP_SCAN ? OP_SCAN : OP_ITER,
                  (range){.from_kind = BOUND_AT,
                          .to_kind = BOUND_AT,
                          .from = workload_bound(&m->work, h, t->key),
                          .to = workload_bound(&m->work, h, t->to),
                          .done = t->flags & STEP_DONE});
}

static void write_client(sim *m, uint32_t s, enum txn_status status)
{
    static const uint8_t kinds[] = {OP_READ, OP_WRITE, OP_APPEND};
    history *h = m->h;
    const client *c = &m->clients[s];
    const step *steps = m->steps + (size_t)s * m->longest;
    bool lists = workload_lists(&m->work);
    sim_open(m, s, c->begin);
    for (uint32_t i = 0; i < c->at; i++) {
        const step *t = &steps[i];
        if (t->kind > STEP_APPEND) {
            write_range(m, c, t);
            continue;
        }
        unsigned kind =
            t->kind == STEP_WRITE && t->value == VALUE_NULL ? OP_DELETE : kinds[t->kind];
        value_id v = lists && t->kind == STEP_READ ? list_seen(m, steps, i) : (value_id)t->value;
        if (t->flags & STEP_LOCK) kind |= OP_LOCK;
        history_op(h, kind, workload_key(&m->work, h, t->key), v);
    }
    sim_close(m, s, status);
}

/* --- running ----------------------------------------------------------------------------- */

static void begin_client(sim *m, uint32_t s)
{
    client *c = &m->clients[s];
    c->active = true;
    m->active++;
    c->at = c->writes = 0;
    c->rows.n = 0;
    c->stamp++;
    m->clock++;
    c->begin = sim_time(m, s);
    c->began = m->clock;
    store_begin(&m->store, s, c->refusals >= PATIENCE);
    workload_plan(&m->work, &m->rng, &c->plan, m->steps + (size_t)s * m->longest, c->refusals > 0);
}

/* The place of a key in the client's table of own writes, or of the free entry for it. */
static own *own_entry(sim *m, uint32_t s, uint32_t key)
{
    own *table = m->owns + s * (m->own_mask + 1);
    uint32_t stamp = m->clients[s].stamp;
    size_t at = (key * 0x9e3779b1u >> 7) & m->own_mask;
    while (table[at].stamp == stamp && table[at].key != key) at = (at + 1) & m->own_mask;
    return &table[at];
}

/* Rows of a range: own writes, else what the view shows. */
static void take_range(sim *m, uint32_t s, step *t)
{
    client *c = &m->clients[s];
    const step *steps = m->steps + (size_t)s * m->longest;
    t->value = (uint32_t)c->rows.n;
    t->seen = 0;
    t->flags = STEP_DONE;
    uint32_t to = t->to < m->store.cells.n ? t->to : (uint32_t)m->store.cells.n;
    for (uint32_t k = t->key; k < to; k++) {
        const own *w = c->writes ? own_entry(m, s, k) : NULL;
        store_row row = {.key = k, .seen = STEP_MINE};
        if (w && w->stamp == c->stamp) {
            row.value = steps[w->step].value;
        } else {
            const version *v = store_read(&m->store, s, k);
            row.value = v->value;
            row.seen = v->seq;
        }
        if (row.value == VALUE_NULL) continue;
        vec_push(&m->h->mem, &c->rows, row);
        if (++t->seen != t->limit) continue;
        t->flags = 0;
        return;
    }
}

/* False: the transaction has no further operation. */
static bool take_step(sim *m, uint32_t s)
{
    client *c = &m->clients[s];
    step *steps = m->steps + (size_t)s * m->longest, *t = &steps[c->at];
    if (c->at == c->plan.n || !workload_step(&m->work, &m->rng, &c->plan, steps, c->at))
        return false;
    t->flags = 0;
    m->clock++;
    if (t->kind > STEP_APPEND) {
        take_range(m, s, t);
        c->at++;
        return true;
    }
    if (t->key >= m->store.cells.n) store_key(&m->store, t->key);
    if (t->kind != STEP_READ) {
        own *w = own_entry(m, s, t->key);
        if (w->stamp == c->stamp) steps[w->step].flags &= (uint8_t)~STEP_LAST;
        *w = (own){t->key, c->stamp, c->at};
        t->flags = STEP_LAST;
        c->writes++;
    } else {
        const own *w = c->writes ? own_entry(m, s, t->key) : NULL;
        bool mine = w && w->stamp == c->stamp;
        if (mine) t->flags = STEP_OWN;
        if (mine && steps[w->step].kind == STEP_WRITE) {
            t->value = steps[w->step].value;
        } else {
            if (m->lock_limit && draw_below(&m->rng, m->lock_limit)) t->flags |= STEP_LOCK;
            const version *v = t->flags & STEP_LOCK ? store_newest(&m->store, t->key)
                                                    : store_read(&m->store, s, t->key);
            t->value = v->value;
            t->seen = v->seq;
        }
    }
    c->at++;
    return true;
}

static void replicas_talk(sim *m)
{
    uint32_t pairs = m->replicas * (m->replicas - 1);
    uint32_t talks = pairs / m->lag + (rng_below(&m->rng, m->lag) < pairs % m->lag);
    for (uint32_t i = 0; i < talks; i++) {
        uint32_t to = rng_below(&m->rng, m->replicas);
        uint32_t from = rng_below(&m->rng, m->replicas - 1);
        store_talk(&m->store, to, from >= to ? from + 1 : from);
    }
}

/* False: the store refused the attempt. */
static bool finish(sim *m, uint32_t s)
{
    client *c = &m->clients[s];
    const gen_options *o = m->o;
    const step *steps = m->steps + (size_t)s * m->longest;
    enum txn_status status = TXN_COMMITTED;
    bool apply = true;
    if (o->aborted > 0 || o->unknown > 0) {
        double u = rng_unit(&m->rng);
        if (u < o->aborted)
            status = TXN_ABORTED;
        else if (u < o->aborted + o->unknown)
            status = TXN_UNKNOWN;
        apply = status == TXN_COMMITTED || (status == TXN_UNKNOWN && (rng_next(&m->rng) >> 63));
    }
    bool done = !apply || store_commit(&m->store, s, steps, c->at, c->rows.at);
    store_end(&m->store, s);
    c->active = false;
    m->active--;
    m->clock++;
    if (!done) {
        c->refusals++;
        return false;
    }
    c->refusals = 0;
    m->applied = apply;
    write_client(m, s, status);
    m->recorded++;
    if (m->plants_left) planting_fall_due(m);
    if (m->replicas > 1) replicas_talk(m);
    return true;
}

static void go_on(sim *m, uint32_t s)
{
    if (take_step(m, s)) return;
    if (finish(m, s)) return;
    begin_client(m, s);
    if (m->clients[s].refusals < PATIENCE) return;
    while (take_step(m, s)) {}
    bool done = finish(m, s);
    assert(done); /* alone and up to date: nothing to refuse */
    (void)done;
}

static void run(sim *m)
{
    planting_fall_due(m);
    for (;;) {
        if (m->due && !m->holding) planting_hold(m);
        if (m->holding && planting_ready(m)) {
            planting_carry_out(m);
            continue;
        }
        if (m->recorded == m->base) return;
        uint32_t s = rng_below(&m->rng, m->sessions);
        client *c = &m->clients[s];
        guard_tick_at(m->h->mem.guard, m->recorded);
        if (c->active) {
            go_on(m, s);
        } else if (!c->held && !(m->holding && m->hidden) && m->started < m->base) {
            m->started++;
            begin_client(m, s);
        }
    }
}

/* --- setting up -------------------------------------------------------------------------- */

static uint32_t option_count(guard *g, uint64_t given, uint64_t normal, const char *what)
{
    if (given >= 0x7fffffffu) guard_fail(g, GUARD_INVAL, "too many %s", what);
    return (uint32_t)(given ? given : normal);
}

static void write_truth(const sim *m, const gen_options *o, strbuf *truth)
{
    strbuf_printf(truth, "{\"schema\":1,\"workload\":\"%s\",\"isolation\":\"%s\",\"seed\":%llu,",
                  workload_at(m->work.kind)->name, isolations[m->store.mode].name,
                  (unsigned long long)o->seed);
    strbuf_printf(truth, "\"txns\":%llu,\"sessions\":%u,\"keys\":%u,\"ops\":%u,",
                  (unsigned long long)m->h->txns, m->sessions, m->work.keys, m->work.ops);
    strbuf_printf(truth, "\"aborted\":%g,\"unknown\":%g,\"times\":%s,", o->aborted, o->unknown,
                  o->no_times ? "false" : "true");
    strbuf_str(truth, "\"holds\":");
    truth_set holds = truth_down(isolations[m->store.mode].keeps) & ~m->violated & TRUTH_NAMED;
    truth_names(truth_strongest(m->drift ? holds & ~TRUTH_TIMED : holds), truth);
    if (m->drift) {
        strbuf_printf(truth, ",\"drift\":%lld,\"holds_with_drift\":", (long long)m->drift);
        truth_names(truth_strongest(holds), truth);
    }
    if (o->hidden) strbuf_str(truth, ",\"plant\":\"hidden\"");
    strbuf_str(truth, ",\"planted\":[");
    strbuf_add(truth, m->planted.at, m->planted.n);
    strbuf_str(truth, "]}\n");
}

/* What only a real database has would be left out in silence. */
static void refuse_live_knobs(const knob_set *k, guard *g)
{
    static const enum gen_knob live_only[] = {KNOB_SAVEPOINTS, KNOB_EARLY_SAVEPOINTS,
                                              KNOB_ROLLBACKS,  KNOB_AUTOCOMMIT,
                                              KNOB_RETRIES,    KNOB_REVERSE};
    for (size_t i = 0; i < sizeof live_only / sizeof *live_only; i++)
        if (knob_given(k, live_only[i]))
            guard_fail(g, GUARD_INVAL,
                       "the knob %s is for run: the simulated store does not have it",
                       knob_at(live_only[i], NULL));
}

void gen_history(history *h, const gen_options *o, strbuf *truth)
{
    mem *mm = &h->mem;
    guard *g = mm->guard;
    enum workload_kind kind = workload_named(g, o->workload ? o->workload : "blindw-rw");
    enum store_mode mode = isolation_named(g, o->isolation ? o->isolation : "serializable");
    if (!(o->aborted >= 0 && o->unknown >= 0 && o->aborted + o->unknown <= 1))
        guard_fail(g, GUARD_INVAL, "shares of aborted and unknown must lie between 0 and 1");

    sim *m = mem_zeroed(mm, sizeof *m);
    m->h = h;
    m->o = o;
    rng_seed(&m->rng, o->seed);
    rng_seed(&m->clocks, ~o->seed);
    strbuf_init(&m->planted, mm);
    gen_options sized = *o; /* with defaults filled in */
    const workload_info *info = workload_at(kind);
    sized.keys = option_count(g, o->keys, info->keys, "keys");
    if (sized.keys > MOST_KEYS) guard_fail(g, GUARD_INVAL, "too many keys (at most %d)", MOST_KEYS);
    sized.ops = option_count(g, o->ops, info->ops, "operations");
    m->sessions = option_count(g, o->sessions, info->sessions, "sessions");
    if (m->sessions > MOST_SESSIONS)
        guard_fail(g, GUARD_INVAL, "too many sessions (at most %d)", MOST_SESSIONS);
    workload_init(&m->work, mm, kind, &sized);
    refuse_live_knobs(&o->knobs, g);
    m->drift = (int64_t)knob_count(&o->knobs, KNOB_DRIFT, 0);
    if (m->drift < 0 || m->drift > INT32_MAX) guard_fail(g, GUARD_INVAL, "drift too large");
    planting_plan(m, o->txns ? o->txns : info->txns);

    m->lag = knob_size(&o->knobs, g, KNOB_LAG, 24);
    if (mode == STORE_CAUSAL || mode == STORE_PARALLEL_SI)
        m->replicas = knob_size(&o->knobs, g, KNOB_REPLICAS, 3);
    if (m->replicas > 0xffff) guard_fail(g, GUARD_INVAL, "too many replicas");
    m->timestamps = knob_count(&o->knobs, KNOB_TIMESTAMPS, 0) != 0;
    if (mode == STORE_INNODB) m->lock_limit = share_limit(knob_real(&o->knobs, KNOB_LOCKS, 0.25));
    bool lists = workload_lists(&m->work);
    store_init(&m->store, mm, mode, m->sessions, m->replicas, m->lag, m->work.initial,
               lists ? m->work.writes_per_key : 0);
    m->longest = workload_longest(&m->work);
    for (m->own_mask = 7; m->own_mask < 2ull * m->longest;) m->own_mask = 2 * m->own_mask + 1;
    m->clients = mem_array0(mm, client, m->sessions);
    m->steps = mem_array0(mm, step, (size_t)m->sessions * m->longest);
    m->owns = mem_array0(mm, own, m->sessions * (m->own_mask + 1));

    if (!lists && m->work.initial != VALUE_NULL) history_init_scalar(h, m->work.initial);
    for (uint32_t s = 0; s < m->sessions; s++)
        history_declare_session(h, label_uint(h, (uint64_t)s + 1));
    guard_stage(g, "generate", "transactions", m->base);
    run(m);
    if (truth) write_truth(m, &sized, truth);

    strbuf_free(&m->planted);
    workload_free(&m->work);
    store_free(&m->store);
    vec_free(mm, &m->list);
    for (uint32_t s = 0; s < m->sessions; s++) vec_free(mm, &m->clients[s].rows);
    mem_put(mm, m->clients);
    mem_put(mm, m->steps);
    mem_put(mm, m->owns);
    mem_put(mm, m->counts);
    mem_put(mm, m);
}
