/*
 * plant.c - schedules of plants.def, parsed and, for hidden plants, extended.
 *
 * A schedule is a line of words, one an event: which transaction begins, reads, writes, scans, or
 * ends.  plant_parse makes events of them, with lists instead of registers where the workload has
 * lists.  plant_hide adds the anchors, witnesses and the overwriting transaction that plant.h
 * explains.
 *
 * Invariant: events stand in the order of time, and every transaction has an end.
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

/* The rows of a scan over all keys of plants with scans (x, y, z), or over x only. */
static void parse_scan(plant *p, plant_event *e, bool narrow, const char **at)
{
    e->what = PLANT_SCAN;
    e->key = narrow ? 1 : 3;
    p->scans = true;
    p->keys = 3;
    while (**at && **at != ' ') {
        assert(e->n + 2 <= PLANT_LIST);
        e->value[e->n++] = (uint8_t)(*(*at)++ - 'x');
        e->value[e->n++] = (uint8_t)digit(at);
    }
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
    case 'o':
    case 'r':
    case 'l': e->what = PLANT_READ; break;
    case 'R': e->what = PLANT_LOCK; break;
    case 'w':
    case 'a': e->what = PLANT_WRITE; break;
    case 's':
    case 'S': parse_scan(p, e, what == 'S', at); return;
    default: assert(false && "plants.def: unknown event");
    }
    e->optional = what == 'o';
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

void plant_parse(plant *p, guard *g, uint32_t kind, bool lists, bool absent)
{
    const anomaly_info *a = anomaly_at(kind);
    if (!a) guard_fail(g, GUARD_INVAL, "no such anomaly");
    const row *r = NULL;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].kind == kind) r = &table[i];
    if (!r || !a->plantable)
        guard_fail(g, GUARD_UNSUPPORTED,
                   "cannot plant %s: reads and writes of single keys do not show it", a->name);
    if (a->plantable == 3 && !absent)
        guard_fail(g, GUARD_UNSUPPORTED,
                   "cannot plant %s here: use a workload with ranges, such as random-range",
                   a->name);
    if (a->plantable == 2 && !lists)
        guard_fail(g, GUARD_UNSUPPORTED,
                   "cannot plant %s among registers: use the workload list-append", a->name);
    memset(p, 0, sizeof *p);
    p->kind = kind;
    p->lists = lists;
    p->weakest = r->weakest;
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

bool plant_uses(const plant *p, uint32_t key)
{
    for (uint32_t i = 0; i < p->events; i++) {
        const plant_event *e = &p->event[i];
        if (e->what >= PLANT_READ && e->what != PLANT_SCAN && e->key == key) return true;
        for (uint32_t k = 0; e->what == PLANT_SCAN && k < e->n; k += 2)
            if (e->value[k] == key) return true;
    }
    return false;
}

/* --- hiding ------------------------------------------------------------------------------- */

static void add(plant *p, uint32_t txn, enum plant_what what, uint32_t key, uint32_t value)
{
    assert(p->events < PLANT_EVENTS && txn < PLANT_TXNS && key < PLANT_KEYS);
    p->event[p->events++] = (plant_event){.what = (uint8_t)what,
                                          .txn = (uint8_t)txn,
                                          .key = (uint8_t)key,
                                          .n = 1,
                                          .value = {(uint8_t)value}};
}

static bool reads_first(const plant *p, uint32_t key)
{
    for (uint32_t i = 0; i < p->events; i++) {
        const plant_event *e = &p->event[i];
        bool read = e->what == PLANT_READ || e->what == PLANT_LOCK;
        if (read && e->key == key && e->value[0] == 0) return true;
    }
    return false;
}

/* The version of the last committer that wrote the key, 0 if there is none. */
static uint32_t last_version(const plant *p, uint32_t key)
{
    uint32_t last = 0;
    for (uint32_t c = 0; c < p->events; c++) {
        if (p->event[c].what != PLANT_COMMIT) continue;
        for (uint32_t i = 0; i < c; i++) {
            const plant_event *e = &p->event[i];
            if (e->what == PLANT_WRITE && e->txn == p->event[c].txn && e->key == key)
                last = e->value[0];
        }
    }
    return last;
}

void plant_hide(plant *p)
{
    if (p->lists || p->scans) return;
    plant old = *p;
    uint32_t witness_of[PLANT_KEYS], n = 0; /* keys with an anchor */
    for (uint32_t k = 0; k < old.keys; k++)
        if (reads_first(&old, k) && last_version(&old, k)) witness_of[n++] = k;
    p->events = 0;
    /* Each anchor in a session of its own; its key first, since InnoDB's levels cut a transaction
       at every write and order the pieces. */
    for (uint32_t i = 0; i < n; i++) {
        uint32_t txn = p->txns++;
        p->session[txn] = (uint8_t)p->sessions++;
        add(p, txn, PLANT_BEGIN, 0, 0);
        add(p, txn, PLANT_WRITE, witness_of[i], PLANT_BASE);
        add(p, txn, PLANT_WRITE, old.keys + i, 1);
        add(p, txn, PLANT_COMMIT, 0, 0);
    }
    p->keys += n;
    for (uint32_t i = 0; i < old.events; i++) {
        if (old.event[i].optional) continue;
        plant_event *e = &p->event[p->events++];
        assert(p->events <= PLANT_EVENTS);
        *e = old.event[i];
        bool read = e->what == PLANT_READ || e->what == PLANT_LOCK;
        for (uint32_t k = 0; k < n && read && e->value[0] == 0; k++)
            if (witness_of[k] == e->key) e->value[0] = PLANT_BASE;
    }
    if (!n) return;
    uint32_t witness = p->txns++;
    p->session[witness] = p->session[old.txns];
    add(p, witness, PLANT_BEGIN, 0, 0);
    for (uint32_t i = 0; i < n; i++) add(p, witness, PLANT_READ, old.keys + i, 1);
    for (uint32_t i = 0; i < n; i++)
        add(p, witness, PLANT_READ, witness_of[i], last_version(&old, witness_of[i]));
    add(p, witness, PLANT_COMMIT, 0, 0);
}
