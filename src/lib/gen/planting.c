/*
 * planting.c - carries plants out in the midst of a simulation.
 *
 * planting_plan counts what will be planted; planting_fall_due spreads it over the run.
 * planting_hold chooses the next plant and keeps its sessions from beginning anything; once those
 * that the plant must not meet have ended (planting_ready), planting_carry_out writes its
 * transactions in one go.
 *
 * Invariant: no other event falls between the first and the last event of a plant; plant.h says
 * why a plant then violates what it should and no more.
 */
#include "gen/sim.h"

/* Values of hidden plants; ordinary ones count up from 1 and do not get here. */
#define FIRST_NUMBER 0x60000000u

static bool timed(const sim *m)
{
    return !m->o->no_times && !m->drift;
}

static void parse(sim *m, uint32_t kind)
{
    plant *p = &m->plant;
    plant_parse(p, m->h->mem.guard, kind, workload_lists(&m->work),
                (m->work.class->flags & WORK_ABSENT) != 0);
    if (m->hidden) plant_hide(p);
    /* Without true times nothing that rests on them is certain. */
    if (!timed(m)) p->violates = truth_up(p->weakest & ~TRUTH_TIMED);
}

void planting_plan(sim *m, uint64_t txns)
{
    guard *g = m->h->mem.guard;
    const gen_options *o = m->o;
    uint64_t planted = 0;
    m->hidden = o->hidden;
    m->number = FIRST_NUMBER;
    m->counts = mem_array(&m->h->mem, uint32_t, o->n_anomalies + 1);
    for (size_t i = 0; i < o->n_anomalies; i++) {
        plant *p = &m->plant;
        parse(m, o->anomalies[i].kind);
        const char *name = anomaly_at(p->kind)->name;
        if (p->sessions > m->sessions)
            guard_fail(g, GUARD_INVAL, "anomaly %s needs %u sessions, there are %u", name,
                       p->sessions, m->sessions);
        if (!p->violates && o->no_times)
            guard_fail(g, GUARD_INVAL, "anomaly %s needs recorded times", name);
        if (!p->violates)
            guard_fail(g, GUARD_INVAL, "anomaly %s needs clocks that do not drift", name);
        m->counts[i] = o->anomalies[i].count;
        m->plants_left += m->counts[i];
        planted += (uint64_t)m->counts[i] * (p->txns + plant_overwritten(p, m->hidden));
    }
    if (planted > 0xffff0000u || txns > 0xffff0000u)
        guard_fail(g, GUARD_INVAL, "too many transactions");
    if (m->plants_left > (VALUE_TABLE - FIRST_NUMBER) / PLANT_VERSIONS)
        guard_fail(g, GUARD_INVAL, "too many plants");
    m->base = txns > planted ? txns - planted : 0;
}

/* Which plants come before the next ordinary transaction: every way to spread them over the
   places that are left is as likely as any other. */
void planting_fall_due(sim *m)
{
    while (m->plants_left) {
        uint64_t places = m->base - m->recorded + m->plants_left;
        if (rng_unit(&m->rng) * (double)places >= (double)m->plants_left) return;
        m->plants_left--;
        m->due++;
    }
}

void planting_hold(sim *m)
{
    const gen_options *o = m->o;
    uint64_t sum = 0;
    for (size_t i = 0; i < o->n_anomalies; i++) sum += m->counts[i];
    uint64_t pick = (uint64_t)(rng_unit(&m->rng) * (double)sum);
    size_t a = 0;
    while (pick >= m->counts[a]) pick -= m->counts[a++];
    m->counts[a]--;
    parse(m, o->anomalies[a].kind);
    for (uint32_t i = 0; i < m->plant.sessions;) {
        uint32_t s = rng_below(&m->rng, m->sessions);
        if (m->clients[s].held) continue;
        m->clients[s].held = true;
        m->held[i++] = s;
    }
    m->holding = true;
}

bool planting_ready(const sim *m)
{
    if (m->hidden) return !m->active;
    for (uint32_t i = 0; i < m->plant.sessions; i++)
        if (m->clients[m->held[i]].active) return false;
    return true;
}

/* --- keys ---------------------------------------------------------------------------------- */

static bool taken(const sim *m, uint32_t n, uint32_t key)
{
    for (uint32_t i = 0; i < n; i++)
        if (m->keys[i] == key) return true;
    return false;
}

/* Keys that others have written, as long as some are found. */
static void shared_key(sim *m, uint32_t i)
{
    enum { TRIES = 64, CHOOSY = 48 };
    for (uint32_t n = 0; n < TRIES; n++) {
        uint32_t slot = NO_ID, key = workload_shared_key(&m->work, &m->rng, &slot);
        if (key == NO_ID || taken(m, i, key)) continue;
        if (key >= m->store.cells.n) store_key(&m->store, key);
        if (n < CHOOSY && !m->store.cells.at[key].seq) continue;
        m->keys[i] = key;
        m->slots[i] = slot;
        return;
    }
    m->keys[i] = workload_plant_key(&m->work);
    m->slots[i] = NO_ID;
}

static void choose_keys(sim *m)
{
    const plant *p = &m->plant;
    /* Absent keys in a range cannot be told from what others deleted there: own keys for scans. */
    bool share = m->hidden && !p->scans;
    for (uint32_t i = 0; i < p->keys; i++) {
        m->slots[i] = NO_ID;
        if (share)
            shared_key(m, i);
        else
            m->keys[i] = workload_plant_key(&m->work);
    }
}

/* --- transactions -------------------------------------------------------------------------- */

static value_id version_value(const sim *m, uint32_t v)
{
    if (m->hidden && !m->plant.scans) return m->number + v;
    if (m->store.initial == VALUE_NULL) return v ? v : VALUE_NULL;
    return m->store.initial + v;
}

/* A list: what others left of it, then the planted elements. */
static value_id list_value(sim *m, const plant_event *e)
{
    mem *mm = &m->h->mem;
    uint32_t key = m->keys[e->key];
    m->list.n = 0;
    if (m->hidden && key < m->store.cells.n) {
        const uint32_t *elements = m->store.elements.at + (size_t)key * m->store.list_cap;
        for (uint32_t k = 0; k < m->store.cells.at[key].value; k++)
            vec_push(mm, &m->list, elements[k]);
    }
    for (uint32_t i = 0; i < e->n; i++) vec_push(mm, &m->list, version_value(m, e->value[i]));
    return value_list(m->h, m->list.at, m->list.n);
}

static value_id event_value(sim *m, const plant_event *e)
{
    if (m->plant.lists) return list_value(m, e);
    uint32_t key = m->keys[e->key];
    /* A key that nobody planted a write of keeps what others left there. */
    if (m->hidden && !m->plant.scans && !e->value[0] && key < m->store.cells.n)
        return m->store.cells.at[key].value;
    return version_value(m, e->value[0]);
}

static void write_scan(sim *m, const plant_event *e)
{
    history *h = m->h;
    for (uint32_t i = 0; i < e->n; i += 2)
        history_row(h, workload_key(&m->work, h, m->keys[e->value[i]]),
                    version_value(m, e->value[i + 1]));
    history_range(h, OP_SCAN,
                  (range){.from_kind = BOUND_AT,
                          .to_kind = BOUND_AT,
                          .from = workload_bound(&m->work, h, m->keys[0]),
                          .to = workload_bound(&m->work, h, m->keys[0] + e->key),
                          .done = true});
}

static void write_planted(sim *m, uint32_t txn, int64_t begin, bool commit)
{
    history *h = m->h;
    const plant *p = &m->plant;
    uint32_t session = m->held[p->session[txn]];
    sim_open(m, session, begin);
    for (uint32_t i = 0; i < p->events; i++) {
        const plant_event *e = &p->event[i];
        if (e->txn != txn) continue;
        key_id key = NO_ID;
        if (e->what >= PLANT_READ && e->what != PLANT_SCAN)
            key = workload_key(&m->work, h, m->keys[e->key]);
        switch ((enum plant_what)e->what) {
        case PLANT_READ: history_op(h, OP_READ, key, event_value(m, e)); break;
        case PLANT_LOCK: history_op(h, OP_READ | OP_LOCK, key, event_value(m, e)); break;
        case PLANT_WRITE:
            history_op(h, p->lists ? OP_APPEND : OP_WRITE, key, version_value(m, e->value[0]));
            break;
        case PLANT_SCAN: write_scan(m, e); break;
        default: break;
        }
    }
    sim_close(m, session, commit ? TXN_COMMITTED : TXN_ABORTED);
}

/* The ordinary transaction after a hidden plant: nobody else reads what was planted. */
static void overwrite(sim *m)
{
    const plant *p = &m->plant;
    uint32_t s = rng_below(&m->rng, m->sessions);
    step steps[PLANT_KEYS];
    uint32_t n = 0;
    bool restore = m->work.class->flags & WORK_MEANING;
    m->clock++;
    int64_t begin = sim_time(m, s);
    m->clients[s].began = m->clock;
    store_begin(&m->store, s, true);
    for (uint32_t i = 0; i < p->keys; i++) {
        uint32_t key = m->keys[i];
        if (key >= FIRST_PLANT_KEY) continue; /* the store knows nothing of these */
        if (key >= m->store.cells.n) store_key(&m->store, key);
        steps[n++] = (step){.kind = STEP_WRITE,
                            .flags = STEP_LAST,
                            .key = key,
                            .value = restore ? m->store.cells.at[key].value
                                             : draw_value(&m->work, &m->rng, key)};
    }
    store_commit(&m->store, s, steps, n, NULL);
    store_end(&m->store, s);
    m->clock++;
    sim_open(m, s, begin);
    for (uint32_t i = 0; i < n; i++) {
        bool absent = steps[i].value == VALUE_NULL;
        history_op(m->h, absent ? OP_DELETE : OP_WRITE, workload_key(&m->work, m->h, steps[i].key),
                   steps[i].value);
    }
    sim_close(m, s, TXN_COMMITTED);
}

static void tell_plant(sim *m, const uint64_t *ids)
{
    const plant *p = &m->plant;
    strbuf *b = &m->planted;
    if (b->n) strbuf_char(b, ',');
    strbuf_printf(b, "{\"anomaly\":\"%s\",\"txns\":[", anomaly_at(p->kind)->name);
    for (uint32_t i = 0; i < p->txns; i++)
        strbuf_printf(b, "%s\"%llu\"", i ? "," : "", (unsigned long long)ids[i]);
    strbuf_str(b, "],\"keys\":[");
    for (uint32_t i = 0, n = 0; i < p->keys; i++) {
        if (!plant_uses(p, i)) continue;
        if (n++) strbuf_char(b, ',');
        atom_json(m->h, key_atom(m->h, workload_key(&m->work, m->h, m->keys[i])), b);
    }
    strbuf_str(b, "],\"weakest\":");
    truth_names(truth_weakest(p->violates & TRUTH_NAMED), b);
    strbuf_str(b, ",\"violates\":");
    truth_names(p->violates, b);
    strbuf_char(b, '}');
}

/* The window of plant.h: no other event falls between its first and its last. */
void planting_carry_out(sim *m)
{
    const plant *p = &m->plant;
    int64_t begin[PLANT_TXNS] = {0};
    uint64_t ids[PLANT_TXNS] = {0};
    choose_keys(m);
    store_barrier(&m->store);
    for (uint32_t i = 0; i < p->events; i++) {
        const plant_event *e = &p->event[i];
        m->clock++;
        if (e->what == PLANT_BEGIN) {
            uint32_t s = m->held[p->session[e->txn]];
            begin[e->txn] = sim_time(m, s);
            m->clients[s].began = m->clock;
        }
        if (e->what != PLANT_COMMIT && e->what != PLANT_ABORT) continue;
        ids[e->txn] = (uint64_t)m->h->txns + 1;
        write_planted(m, e->txn, begin[e->txn], e->what == PLANT_COMMIT);
    }
    m->violated |= truth_up(p->weakest);
    tell_plant(m, ids);
    if (plant_overwritten(p, m->hidden)) overwrite(m);
    for (uint32_t i = 0; i < p->keys; i++) /* lists keep what was planted: nobody uses them again */
        if (p->lists && m->slots[i] != NO_ID)
            m->work.slot[m->slots[i]] = workload_fresh_key(&m->work);
    if (m->hidden) {
        store_barrier(&m->store);
        m->number += PLANT_VERSIONS;
    }
    for (uint32_t i = 0; i < p->sessions; i++) m->clients[m->held[i]].held = false;
    m->holding = false;
    m->due--;
}
