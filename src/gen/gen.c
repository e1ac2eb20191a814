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

#include "base/rng.h"
#include "gen/plant.h"
#include "gen/store.h"
#include "gen/truth.h"
#include "gen/workload.h"

enum { PATIENCE = 3 };

typedef struct own {
    uint32_t key, stamp, step;
} own;

typedef struct client {
    plan plan;
    uint32_t at;    /* steps taken */
    uint32_t stamp; /* entries of the own table with another stamp are of earlier attempts */
    uint32_t writes;
    uint32_t refusals;
    bool active, held;
    int64_t begin;
} client;

typedef struct sim {
    history *h;
    const gen_options *o;
    rng rng;
    workload work;
    store store;
    client *clients;
    step *steps; /* of all clients, `longest` each */
    own *owns;   /* hash table of each client: the last own write of a key */
    uint32_t longest;
    size_t own_mask;
    uint32_t sessions, replicas, lag;
    uint64_t base, started, recorded; /* transactions that are not planted */
    int64_t clock;
    VEC(value_id) list;
    /* planting */
    uint64_t plants_left, due;
    uint32_t *counts; /* of each anomaly asked for, still to come */
    uint32_t held[PLANT_TXNS];
    bool holding;
    plant plant;
    truth_set violated;
    strbuf planted;
} sim;

/* --- tables ------------------------------------------------------------------------------ */

static const struct {
    const char *name, *others, *about;
    truth_set keeps;
} isolations[] = {
#define ISOLATION(id, name, others, keeps, about) {name, others, about, keeps},
#include "gen/isolations.def"
#undef ISOLATION
};

#define ISOLATIONS (sizeof isolations / sizeof *isolations)

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
    guard_fail(g, GUARD_INVAL, "no workload %.100s", name);
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
    guard_fail(g, GUARD_INVAL, "cannot simulate isolation %.100s", name);
}

/* --- writing transactions ---------------------------------------------------------------- */

static void open_txn(sim *m, uint32_t session, int64_t begin)
{
    history *h = m->h;
    history_begin(h);
    history_session(h, label_uint(h, (uint64_t)session + 1));
    history_label(h, label_uint(h, (uint64_t)h->txns + 1));
    if (!m->o->no_times) history_time(h, TXN_HAS_BEGIN, begin);
}

static void close_txn(sim *m, enum txn_status status)
{
    /* The client of an unknown outcome never saw its end. */
    if (!m->o->no_times && status != TXN_UNKNOWN) history_time(m->h, TXN_HAS_END, m->clock);
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

static void write_client(sim *m, uint32_t s, enum txn_status status)
{
    static const uint8_t kinds[] = {OP_READ, OP_WRITE, OP_APPEND};
    history *h = m->h;
    const client *c = &m->clients[s];
    const step *steps = m->steps + (size_t)s * m->longest;
    bool lists = workload_lists(&m->work);
    open_txn(m, s, c->begin);
    for (uint32_t i = 0; i < c->at; i++) {
        const step *t = &steps[i];
        value_id v = lists && t->kind == STEP_READ ? list_seen(m, steps, i) : (value_id)t->value;
        history_op(h, kinds[t->kind], workload_key(&m->work, h, t->key), v);
    }
    close_txn(m, status);
}

/* --- planting ---------------------------------------------------------------------------- */

/* Which plants come before the next ordinary transaction: every way to spread them over the
   places that are left is as likely as any other. */
static void plants_fall_due(sim *m)
{
    while (m->plants_left) {
        uint64_t places = m->base - m->recorded + m->plants_left;
        if (rng_unit(&m->rng) * (double)places >= (double)m->plants_left) return;
        m->plants_left--;
        m->due++;
    }
}

static void hold_sessions(sim *m)
{
    const gen_options *o = m->o;
    uint64_t sum = 0;
    for (size_t i = 0; i < o->n_anomalies; i++) sum += m->counts[i];
    uint64_t pick = (uint64_t)(rng_unit(&m->rng) * (double)sum);
    size_t a = 0;
    while (pick >= m->counts[a]) pick -= m->counts[a++];
    m->counts[a]--;
    plant_parse(&m->plant, m->h->mem.guard, o->anomalies[a].kind, workload_lists(&m->work));
    for (uint32_t i = 0; i < m->plant.sessions;) {
        uint32_t s = rng_below(&m->rng, m->sessions);
        if (m->clients[s].held) continue;
        m->clients[s].held = true;
        m->held[i++] = s;
    }
    m->holding = true;
}

static bool held_are_idle(const sim *m)
{
    for (uint32_t i = 0; i < m->plant.sessions; i++)
        if (m->clients[m->held[i]].active) return false;
    return true;
}

static value_id plant_value(sim *m, const plant_event *e)
{
    if (!m->plant.lists) return m->store.initial + e->value[0];
    value_id list[PLANT_LIST];
    for (uint32_t i = 0; i < e->n; i++) list[i] = e->value[i];
    return value_list(m->h, list, e->n);
}

static void write_planted(sim *m, uint32_t txn, const uint32_t *keys, int64_t begin, bool commit)
{
    history *h = m->h;
    open_txn(m, m->held[m->plant.session[txn]], begin);
    for (uint32_t i = 0; i < m->plant.events; i++) {
        const plant_event *e = &m->plant.event[i];
        if (e->txn != txn) continue;
        switch ((enum plant_what)e->what) {
        case PLANT_READ:
            history_op(h, OP_READ, key_uint(h, keys[e->key]), plant_value(m, e));
            break;
        case PLANT_LOCK:
            history_op(h, OP_READ | OP_LOCK, key_uint(h, keys[e->key]), plant_value(m, e));
            break;
        case PLANT_WRITE:
            history_op(h, m->plant.lists ? OP_APPEND : OP_WRITE, key_uint(h, keys[e->key]),
                       m->plant.lists ? e->value[0] : plant_value(m, e));
            break;
        default: break;
        }
    }
    close_txn(m, commit ? TXN_COMMITTED : TXN_ABORTED);
}

static void tell_plant(sim *m, const uint64_t *ids, const uint32_t *keys)
{
    const plant *p = &m->plant;
    strbuf *b = &m->planted;
    if (b->n) strbuf_char(b, ',');
    strbuf_printf(b, "{\"anomaly\":\"%s\",\"txns\":[", anomaly_at(p->kind)->name);
    for (uint32_t i = 0; i < p->txns; i++)
        strbuf_printf(b, "%s\"%llu\"", i ? "," : "", (unsigned long long)ids[i]);
    strbuf_str(b, "],\"keys\":[");
    for (uint32_t i = 0; i < p->keys; i++) strbuf_printf(b, "%s%u", i ? "," : "", keys[i]);
    strbuf_str(b, "],\"weakest\":");
    truth_names(truth_weakest(p->violates & TRUTH_NAMED), b);
    strbuf_str(b, ",\"violates\":");
    truth_names(p->violates, b);
    strbuf_char(b, '}');
}

/* The window of plant.h: no other event falls between its first and its last. */
static void carry_out(sim *m)
{
    const plant *p = &m->plant;
    uint32_t keys[PLANT_KEYS];
    int64_t begin[PLANT_TXNS] = {0};
    uint64_t ids[PLANT_TXNS] = {0};
    for (uint32_t i = 0; i < p->keys; i++) keys[i] = workload_fresh_key(&m->work);
    if (m->store.mode == STORE_CAUSAL) store_sync(&m->store);
    for (uint32_t i = 0; i < p->events; i++) {
        const plant_event *e = &p->event[i];
        m->clock++;
        if (e->what == PLANT_BEGIN) begin[e->txn] = m->clock;
        if (e->what != PLANT_COMMIT && e->what != PLANT_ABORT) continue;
        ids[e->txn] = (uint64_t)m->h->txns + 1;
        write_planted(m, e->txn, keys, begin[e->txn], e->what == PLANT_COMMIT);
    }
    for (uint32_t i = 0; i < p->sessions; i++) m->clients[m->held[i]].held = false;
    m->holding = false;
    m->due--;
    m->violated |= p->violates;
    tell_plant(m, ids, keys);
}

/* --- running ----------------------------------------------------------------------------- */

static void begin_client(sim *m, uint32_t s)
{
    client *c = &m->clients[s];
    c->active = true;
    c->at = c->writes = 0;
    c->stamp++;
    c->begin = ++m->clock;
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

/* False: the transaction has no further operation. */
static bool take_step(sim *m, uint32_t s)
{
    client *c = &m->clients[s];
    step *steps = m->steps + (size_t)s * m->longest, *t = &steps[c->at];
    if (c->at == c->plan.n || !workload_step(&m->work, &m->rng, &c->plan, steps, c->at))
        return false;
    t->flags = 0;
    m->clock++;
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
            const version *v = store_read(&m->store, s, t->key);
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
    bool done = !apply || store_commit(&m->store, s, steps, c->at);
    store_end(&m->store, s);
    c->active = false;
    m->clock++;
    if (!done) {
        c->refusals++;
        return false;
    }
    c->refusals = 0;
    write_client(m, s, status);
    m->recorded++;
    if (m->plants_left) plants_fall_due(m);
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
    plants_fall_due(m);
    for (;;) {
        if (m->due && !m->holding) hold_sessions(m);
        if (m->holding && held_are_idle(m)) {
            carry_out(m);
            continue;
        }
        if (m->recorded == m->base) return;
        uint32_t s = rng_below(&m->rng, m->sessions);
        client *c = &m->clients[s];
        guard_tick(m->h->mem.guard);
        if (c->active) {
            go_on(m, s);
        } else if (!c->held && m->started < m->base) {
            m->started++;
            begin_client(m, s);
        }
    }
}

/* --- setting up -------------------------------------------------------------------------- */

static uint32_t number(guard *g, uint64_t given, uint64_t normal, const char *what)
{
    if (given >= 0x7fffffffu) guard_fail(g, GUARD_INVAL, "too many %s", what);
    return (uint32_t)(given ? given : normal);
}

/* All that can be wrong with the plants is found before the first transaction. */
static void plan_plants(sim *m, const gen_options *o, uint64_t txns)
{
    guard *g = m->h->mem.guard;
    uint64_t planted = 0;
    m->counts = mem_array(&m->h->mem, uint32_t, o->n_anomalies + 1);
    for (size_t i = 0; i < o->n_anomalies; i++) {
        plant *p = &m->plant;
        plant_parse(p, g, o->anomalies[i].kind, workload_lists(&m->work));
        const char *name = anomaly_at(p->kind)->name;
        if (p->sessions > m->sessions)
            guard_fail(g, GUARD_INVAL, "anomaly %s needs %u sessions, there are %u", name,
                       p->sessions, m->sessions);
        bool timed = p->kind == ANOMALY_STALE_READ || p->kind == ANOMALY_TIMESTAMP_INVERSION;
        if (timed && o->no_times)
            guard_fail(g, GUARD_INVAL, "anomaly %s needs recorded times", name);
        m->counts[i] = o->anomalies[i].count;
        m->plants_left += m->counts[i];
        planted += (uint64_t)m->counts[i] * p->txns;
    }
    if (planted > 0xffff0000u || txns > 0xffff0000u)
        guard_fail(g, GUARD_INVAL, "too many transactions");
    m->base = txns > planted ? txns - planted : 0;
}

static void tell(const sim *m, const gen_options *o, strbuf *truth)
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
    truth_names(truth_strongest(holds), truth);
    strbuf_str(truth, ",\"planted\":[");
    strbuf_add(truth, m->planted.at, m->planted.n);
    strbuf_str(truth, "]}\n");
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
    strbuf_init(&m->planted, mm);
    gen_options sized = *o; /* with defaults filled in */
    const workload_info *info = workload_at(kind);
    sized.keys = number(g, o->keys, info->keys, "keys");
    sized.ops = number(g, o->ops, info->ops, "operations");
    m->sessions = number(g, o->sessions, info->sessions, "sessions");
    workload_init(&m->work, mm, kind, &sized);
    plan_plants(m, o, o->txns ? o->txns : info->txns);

    m->lag = knob_size(&o->knobs, g, KNOB_LAG, 24);
    if (mode == STORE_CAUSAL) m->replicas = knob_size(&o->knobs, g, KNOB_REPLICAS, 3);
    if (m->replicas > 0xffff) guard_fail(g, GUARD_INVAL, "too many replicas");
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
    run(m);
    if (truth) tell(m, &sized, truth);

    strbuf_free(&m->planted);
    workload_free(&m->work);
    store_free(&m->store);
    vec_free(mm, &m->list);
    mem_put(mm, m->clients);
    mem_put(mm, m->steps);
    mem_put(mm, m->owns);
    mem_put(mm, m->counts);
    mem_put(mm, m);
}
