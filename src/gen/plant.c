/*
 * plant.c - see plant.h and plants.def.
 */
#include "gen/plant.h"

#include <assert.h>

typedef struct row {
    uint32_t kind;
    const char *schedule;
    truth_set weakest;
} row;

static const row table[] = {
#define PLANT(id, schedule, weakest) {ANOMALY_##id, schedule, weakest},
#include "gen/plants.def"
#undef PLANT
};

static unsigned digit(const char **p)
{
    assert(**p >= '0' && **p <= '9');
    return (unsigned)(*(*p)++ - '0');
}

/* One word of the schedule. */
static void parse_event(plant *p, const char **at)
{
    plant_event *e = &p->event[p->events++];
    assert(p->events <= PLANT_EVENTS);
    memset(e, 0, sizeof *e);
    unsigned txn = digit(at) - 1, home = txn;
    assert(txn < PLANT_TXNS);
    e->txn = (uint8_t)txn;
    if (txn >= p->txns) p->txns = txn + 1;
    if (**at == ':') {
        ++*at;
        home = digit(at) - 1;
    }
    char what = *(*at)++;
    switch (what) {
    case '(':
        e->what = PLANT_BEGIN;
        p->session[txn] = home == txn ? (uint8_t)p->sessions++ : p->session[home];
        return;
    case ')': e->what = PLANT_COMMIT; return;
    case '!': e->what = PLANT_ABORT; return;
    case 'r':
    case 'l': e->what = PLANT_READ; break;
    case 'R': e->what = PLANT_LOCK; break;
    case 'w':
    case 'a': e->what = PLANT_WRITE; break;
    default: assert(false && "plants.def: unknown event");
    }
    e->key = (uint8_t)(*(*at)++ - 'x');
    if (e->key >= p->keys) p->keys = e->key + 1u;
    while (**at >= '0' && **at <= '9') {
        assert(e->n < PLANT_LIST);
        e->value[e->n++] = (uint8_t)digit(at);
    }
    if (what == 'l') e->n |= 0x80; /* a list already */
}

static const plant_event *end_of(const plant *p, unsigned txn)
{
    for (uint32_t i = 0; i < p->events; i++) {
        const plant_event *e = &p->event[i];
        if (e->txn == txn && (e->what == PLANT_COMMIT || e->what == PLANT_ABORT)) return e;
    }
    assert(false && "plants.def: a transaction without an end");
    return NULL;
}

/* Makes "version v of the key" the list that stands there then: the elements of transactions
   which committed before its writer, and the writer's own up to v. */
static void make_list(const plant *p, plant_event *read)
{
    unsigned v = read->value[0];
    read->n = 0;
    if (!v) return;
    const plant_event *writer = NULL;
    for (uint32_t i = 0; i < p->events; i++) {
        const plant_event *e = &p->event[i];
        if (e->what == PLANT_WRITE && e->key == read->key && e->value[0] == v) writer = e;
    }
    const plant_event *last = writer ? end_of(p, writer->txn) : p->event;
    for (const plant_event *end = p->event; end <= last; end++) {
        bool own = writer && end == last;
        if (end->what != PLANT_COMMIT && !own) continue;
        for (uint32_t i = 0; i < p->events; i++) {
            const plant_event *e = &p->event[i];
            if (e->what != PLANT_WRITE || e->key != read->key || e->txn != end->txn) continue;
            if (own && e > writer) continue;
            read->value[read->n++] = e->value[0];
        }
    }
    if (!writer) read->value[read->n++] = (uint8_t)v;
}

void plant_parse(plant *p, guard *g, uint32_t kind, bool lists)
{
    const anomaly_info *a = anomaly_at(kind);
    if (!a) guard_fail(g, GUARD_INVAL, "no such anomaly");
    const row *r = NULL;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].kind == kind) r = &table[i];
    if (!r || !a->plantable)
        guard_fail(g, GUARD_UNSUPPORTED,
                   "cannot plant %s: reads and writes of single keys do not show it", a->name);
    if (a->plantable == 2 && !lists)
        guard_fail(g, GUARD_UNSUPPORTED,
                   "cannot plant %s among registers: use the workload list-append", a->name);
    memset(p, 0, sizeof *p);
    p->kind = kind;
    p->lists = lists;
    p->violates = truth_up(r->weakest);
    for (const char *at = r->schedule; *at;) {
        if (*at == ' ')
            at++;
        else
            parse_event(p, &at);
    }
    for (uint32_t i = 0; i < p->events; i++) {
        plant_event *e = &p->event[i];
        if (e->n & 0x80)
            e->n &= 0x7f;
        else if (lists && (e->what == PLANT_READ || e->what == PLANT_LOCK))
            make_list(p, e);
    }
}
