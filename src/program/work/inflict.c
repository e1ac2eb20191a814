/*
 * inflict.c - faults of temporary servers (inflict.h).
 *
 * Processes are killed and stopped by the warden (temp.h), connections are disturbed by the proxy
 * (links.h), disk and clock by the library that servers load first (drivers/server_preload.c).
 */
#include "work/inflict.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#define MILLISECOND 1000000u
#define GAP_NS 1500000000u       /* between faults without a time, and up to twice as much */
#define COMEBACK_NS 30000000000u /* that long a server may take */

static uint32_t nodes_of(const db *d)
{
    return d->nodes ? d->nodes : 1;
}

static bool is_gone(const db *d, uint32_t node)
{
    return atomic_load(&d->node[node].gone);
}

/* The nodes as they are named: "server", "node b", "nodes a|bc". */
static void name_nodes(const db *d, const fault *f, char *to, size_t cap)
{
    size_t n = 0;
    uint32_t named = 0;
    if (d->nodes < 2) {
        snprintf(to, cap, d->driver->process ? "engine" : "server");
        return;
    }
    for (uint32_t i = 0; i < d->nodes; i++) named += f->group[i] != 0;
    n = (size_t)snprintf(to, cap, named > 1 ? "nodes " : "node ");
    for (uint8_t g = 1; g <= f->groups; g++) {
        if (g > 1) n += (size_t)snprintf(to + n, cap - n, "|");
        for (uint32_t i = 0; i < d->nodes; i++)
            if (f->group[i] == g) n += (size_t)snprintf(to + n, cap - n, "%c", (char)('a' + i));
    }
}

static void mark_fault(const inflictor *i, const fault *f, const char *what)
{
    char nodes[64], text[128];
    name_nodes(i->db, f, nodes, sizeof nodes);
    snprintf(text, sizeof text, "%s %s", what, nodes);
    i->mark(i->ud, text);
}

static bool failed(inflictor *i, const char *why)
{
    snprintf(i->error, sizeof i->error, "%s", why);
    return false;
}

/* How long it lasts: as it was asked for, or up to a second and a half. */
static uint64_t length(inflictor *i, const fault *f)
{
    return f->lasts ? f->lasts : (200 + (uint64_t)rng_below(&i->rng, 1300)) * MILLISECOND;
}

static uint32_t one_node(const fault *f)
{
    for (uint32_t i = 0; i < FAULT_NODES; i++)
        if (f->group[i]) return i;
    return 0;
}

/* --- processes -------------------------------------------------------------------------------- */

/* An embedded engine, or the programs of drivers: killed, opened again, and what was committed is
   read before anybody can write again. */
static bool kill_engine(inflictor *i, const fault *f)
{
    const driver *d = i->db->driver;
    mark_fault(i, f, "kill -9");
    if (!d->process(i->db, false)) return failed(i, "the engine could not be killed");
    if (f->lasts) i->wait(i->ud, f->lasts);
    bool back = i->read_back(i->ud);
    d->process(i->db, true);
    mark_fault(i, f, "end of kill -9,");
    return back;
}

static bool disturb_process(inflictor *i, const fault *f)
{
    if (i->db->driver->process && f->kind == FAULT_KILL) return kill_engine(i, f);
    temp_server *t = &i->db->temp;
    uint32_t node = one_node(f);
    bool done = true;
    switch (f->kind) {
    case FAULT_PAUSE:
        mark_fault(i, f, "pause");
        done = temp_fault(t, node, TEMP_PAUSE);
        i->wait(i->ud, length(i, f));
        done = temp_fault(t, node, TEMP_CONTINUE) && done;
        mark_fault(i, f, "continue");
        break;
    case FAULT_RESTART:
        mark_fault(i, f, "restart");
        done = temp_fault(t, node, TEMP_RESTART);
        if (done) return i->comes_back(i->ud, node);
        break;
    default:
        mark_fault(i, f, "kill -9");
        done = temp_fault(t, node, f->lasts ? TEMP_DOWN : TEMP_KILL);
        if (f->lasts) {
            i->wait(i->ud, f->lasts);
            mark_fault(i, f, "start");
            done = temp_fault(t, node, TEMP_UP) && done;
        }
        if (done) return i->comes_back(i->ud, node);
    }
    return done || failed(i, "the server could not be killed or paused");
}

/* --- connections ------------------------------------------------------------------------------ */

static bool disturb_links(inflictor *i, const fault *f)
{
    static const uint8_t acts[FAULT_KINDS] = {
        [FAULT_CUT] = LINK_CUT,
        [FAULT_DELAY] = LINK_DELAY,
        [FAULT_HALF_OPEN] = LINK_HALF_OPEN,
        [FAULT_PARTITION] = LINK_STALL,
        [FAULT_RESET] = LINK_RESET,
    };
    link_order o = {.act = acts[f->kind], .servers = f->groups > 1, .amount = (uint64_t)f->amount};
    link_order heal = {.act = LINK_HEAL};
    memcpy(o.group, f->group, sizeof o.group);
    char what[64];
    snprintf(what, sizeof what, f->kind == FAULT_DELAY ? "%s of %.0f ms," : "%s",
             fault_name(f->kind), (double)f->amount / MILLISECOND);
    mark_fault(i, f, what);
    bool done = temp_links(&i->db->temp, &o);
    if (done) i->wait(i->ud, length(i, f));
    done = temp_links(&i->db->temp, &heal) && done;
    snprintf(what, sizeof what, "end of %s,", fault_name(f->kind));
    mark_fault(i, f, what);
    return done || failed(i, "the proxy for faults has ended");
}

/* --- disk and clock --------------------------------------------------------------------------- */

static bool disorder_nodes(inflictor *i, const fault *f, const temp_disorder *d)
{
    bool done = true;
    for (uint32_t n = 0; n < nodes_of(i->db); n++) {
        if (!f->group[n]) continue;
        done = temp_disturb(&i->db->temp, n, d) && done;
        if (f->kind == FAULT_CLOCK && i->db->driver->unstick) i->db->driver->unstick(i->db, n);
    }
    return done;
}

/* A server for which the disk was full may have ended. */
static bool disturb_nodes(inflictor *i, const fault *f)
{
    temp_disorder d = {0}, none = {0};
    char what[64], end[64];
    int64_t amount = f->amount;
    bool done;
    if (f->kind == FAULT_CLOCK && !f->has_amount) /* up to two minutes early or late */
        amount = ((int64_t)rng_below(&i->rng, 240001) - 120000) * MILLISECOND;
    if (f->kind == FAULT_CLOCK) d.clock_ns = amount;
    if (f->kind == FAULT_FULL_DISK) d.full = 1;
    if (f->kind == FAULT_SLOW_FSYNC) d.fsync_ns = (uint64_t)amount;
    if (f->kind == FAULT_FULL_DISK)
        snprintf(what, sizeof what, "%s", fault_name(f->kind));
    else
        snprintf(what, sizeof what, "%s %+.3f s,", fault_name(f->kind), (double)amount / 1e9);
    snprintf(end, sizeof end, "end of %s,", fault_name(f->kind));
    mark_fault(i, f, what);
    done = disorder_nodes(i, f, &d);
    i->wait(i->ud, length(i, f));
    done = disorder_nodes(i, f, &none) && done;
    mark_fault(i, f, end);
    if (!done) return failed(i, "disk and clock of the server could not be disturbed");
    for (uint32_t n = 0; f->kind == FAULT_FULL_DISK && n < nodes_of(i->db); n++)
        if (f->group[n] && (!temp_fault(&i->db->temp, n, TEMP_UP) || !i->comes_back(i->ud, n)))
            return false;
    return true;
}

/* --- failover --------------------------------------------------------------------------------- */

/* The standby hears nothing for a while before the primary dies: what does not wait for the standby
   is then lost for certain, and not just by chance. */
static bool part_from_standby(inflictor *i, uint32_t old, uint32_t next, uint64_t ns)
{
    fault at = {.groups = 2};
    link_order o = {.act = LINK_STALL, .servers = true};
    at.group[old] = o.group[old] = 1;
    at.group[next] = o.group[next] = 2;
    mark_fault(i, &at, "failover: partition");
    if (!temp_links(&i->db->temp, &o)) return failed(i, "the proxy for faults has ended");
    i->wait(i->ud, ns);
    return true;
}

/* The old primary stays down, as one that is fenced off. */
static bool fail_over(inflictor *i, const fault *f)
{
    db *d = i->db;
    uint32_t old = db_primary(d), next = f->groups ? one_node(f) : 0;
    while (!f->groups && next < d->nodes && !atomic_load(&d->node[next].read_only)) next++;
    if (next >= d->nodes || next == old || is_gone(d, next)) return true;
    fault at = {.groups = 1};
    link_order heal = {.act = LINK_HEAL};
    link_order cut = {.act = LINK_CUT, .servers = true};
    at.group[old] = cut.group[old] = 1;
    cut.group[next] = 2;
    if (!part_from_standby(i, old, next, (uint64_t)f->amount)) return false;
    mark_fault(i, &at, "failover: kill -9");
    if (!temp_fault(&d->temp, old, TEMP_DOWN)) return failed(i, "the primary cannot be killed");
    atomic_store(&d->node[old].gone, true);
    /* What the old primary had sent before it died does not arrive after its death. */
    if (!temp_links(&d->temp, &cut) || !temp_links(&d->temp, &heal))
        return failed(i, "the proxy for faults has ended");
    if (!d->driver->promote(d, next)) return failed(i, d->error);
    atomic_store(&d->node[next].read_only, false);
    at = (fault){.groups = 1};
    at.group[next] = 1;
    mark_fault(i, &at, "promoted");
    return true;
}

/* --- all -------------------------------------------------------------------------------------- */

/* A database without a server of ours can only be killed, if it has a process at all. */
static bool only_kills(const db *d, const fault_plan *p, char *error, size_t cap)
{
    const char *why =
        "only a temporary server is disturbed, such as postgres:temp; an embedded engine "
        "and the programs of drivers can be killed";
    bool possible = d->driver->process && d->driver->may_die(d, &why);
    for (uint32_t i = 0; i < p->n && possible; i++)
        if (p->item[i].kind != FAULT_KILL) {
            possible = false;
            why = "only a temporary server can be disturbed so; this one can be killed";
        }
    if (!possible) snprintf(error, cap, "%s", why);
    return possible;
}

bool inflict_possible(const db *d, const fault_plan *p, char *error, size_t cap)
{
    if (p->n && !(d->temp.running && d->driver->server)) return only_kills(d, p, error, cap);
    uint32_t replicas = 0;
    for (uint32_t i = 0; i < d->nodes; i++) replicas += atomic_load(&d->node[i].read_only);
    for (uint32_t i = 0; i < p->n; i++) {
        const fault *f = &p->item[i];
        const char *name = fault_name(f->kind), *why = NULL;
        uint32_t node = one_node(f);
        bool between;
        switch (f->kind) {
        case FAULT_FAILOVER:
            if (!d->driver->promote || !replicas || !(d->has & DB_SERVER_LINKS))
                why = "the database has no standby or replica that could be promoted";
            else if (f->groups && !atomic_load(&d->node[node].read_only))
                why = "the node that it names is not a standby or replica";
            break;
        case FAULT_CLOCK:
        case FAULT_FULL_DISK:
        case FAULT_SLOW_FSYNC:
            if (!(d->has & DB_PRELOAD))
                why = "the server does not use the C library through which disk and clock are "
                      "disturbed";
            break;
        case FAULT_KILL:
        case FAULT_PAUSE:
        case FAULT_RESTART: break;
        default:
            between = f->groups > 1 || f->kind == FAULT_PARTITION;
            if (!(d->has & (between ? DB_SERVER_LINKS : DB_LINKS)))
                why = between ? "connections between these servers do not go through our proxy"
                              : "connections to the server do not go through our proxy";
            break;
        }
        if (!why) continue;
        snprintf(error, cap, "%s: %s", name, why);
        return false;
    }
    return true;
}

/* The seed chooses where nothing was named: one node, or for a partition one against the rest. */
static fault placed(inflictor *i, const fault *f)
{
    fault at = *f;
    uint32_t nodes = nodes_of(i->db), drawn, node;
    if (f->groups || f->kind == FAULT_FAILOVER) return at;
    drawn = node = (uint32_t)rng_below(&i->rng, nodes);
    while (is_gone(i->db, node) && (node = (node + 1) % nodes) != drawn) {}
    at.groups = f->kind == FAULT_PARTITION ? 2 : 1;
    for (uint32_t n = 0; f->kind == FAULT_PARTITION && n < nodes; n++) at.group[n] = 2;
    at.group[node] = 1;
    return at;
}

/* A node that is gone for good cannot be disturbed any more. */
static bool names_a_gone_node(const db *d, const fault *f)
{
    for (uint32_t n = 0; n < nodes_of(d); n++)
        if (f->group[n] && is_gone(d, n)) return true;
    return false;
}

bool inflict(inflictor *i, const fault *f)
{
    fault at = placed(i, f);
    *i->error = 0;
    if (names_a_gone_node(i->db, &at) && at.groups < 2) {
        i->mark(i->ud, "skipped: the node is gone");
        return true;
    }
    switch (f->kind) {
    case FAULT_KILL:
    case FAULT_PAUSE:
    case FAULT_RESTART: return disturb_process(i, &at);
    case FAULT_CLOCK:
    case FAULT_FULL_DISK:
    case FAULT_SLOW_FSYNC: return disturb_nodes(i, &at);
    case FAULT_FAILOVER: return fail_over(i, f);
    default: return disturb_links(i, &at);
    }
}

/* --- when ------------------------------------------------------------------------------------- */

const fault *inflict_due(fault_clock *c, inflictor *i, uint64_t ran)
{
    const fault_plan *p = c->plan;
    uint32_t others = p->n - p->scheduled;
    if (c->next < p->scheduled && ran >= p->item[c->next].at) return &p->item[c->next++];
    if (!c->due) c->due = GAP_NS;
    if (!others || ran < c->due) return NULL;
    return &p->item[p->scheduled + (uint32_t)rng_below(&i->rng, others)];
}

void inflict_over(fault_clock *c, inflictor *i, const fault *f, uint64_t ran)
{
    if (!f->scheduled) c->due = ran + GAP_NS + (uint64_t)rng_below(&i->rng, GAP_NS);
}

bool inflict_comes_back(db *d, uint32_t node, bool (*ended)(void *ud), void *ud, char *why,
                        size_t cap)
{
    db_session probe = {.db = d, .mem = d->mem, .node = node};
    snprintf(why, cap, "the server did not come back");
    strbuf_init(&probe.text, d->mem); /* (no session uses that region) */
    for (uint64_t begun = clock_now(); clock_now() - begun < COMEBACK_NS;) {
        enum db_answer a = d->driver->connect(&probe);
        d->driver->disconnect(&probe);
        if (a == DB_OK) return true;
        if (temp_ended(&d->temp, why, cap)) break;
        if (ended(ud)) return true;
        clock_nap(20 * MILLISECOND);
    }
    return false;
}
