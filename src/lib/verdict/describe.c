/*
 * describe.c - see describe.h.
 *
 * The decision leaves a fault (a read that nothing explains), a cycle of session order, read-from,
 * version order and forced version order, or a read of the initial state past a visible writer.
 * A cycle with one forced edge is told as what it is: the reader T3 saw a version of x that T2
 * has overwritten although T2 was visible to it: T3 -rw-> T2 -...-> T3.
 */
#include "verdict/describe.h"

#include <assert.h>

typedef VEC(step) steps;

/* Ids that are words stand as they are; bare numbers get a T in front. */
static void name_txn_id(const history *h, txn_id t, strbuf *b)
{
    label l = h->txn_label[t];
    if (!(l >> 63)) strbuf_char(b, 'T');
    label_text(h, l, b);
}

static void name_txn(const asg *g, node_id v, strbuf *b)
{
    name_txn_id(g->h, g->node_txn[v], b);
}

/* After the name of one that takes part with its reads alone. */
static void say_if_aborted(const asg *g, node_id v, strbuf *b)
{
    if (txn_reads_only(g->h, g->node_txn[v])) strbuf_str(b, ", which aborted,");
}

static void name_key(const asg *g, key_id k, strbuf *b)
{
    atom_text(g->h, key_atom(g->h, k), b);
}

/* Values can be long lists: what matters is the end. */
static void name_value(const asg *g, value_id x, strbuf *b)
{
    size_t before = b->n;
    if (x == VALUE_UNKNOWN)
        strbuf_str(b, "?");
    else
        atom_text(g->h, value_atom(g->h, x), b);
    if (b->n - before > 80) {
        size_t tail = 60;
        memmove(b->at + before + 3, b->at + b->n - tail, tail);
        memcpy(b->at + before, "...", 3);
        b->n = before + 3 + tail;
    }
}

static void add_core(verdict *v, txn_id t)
{
    for (size_t i = 0; i < v->core.n; i++)
        if (v->core.at[i] == t) return;
    vec_push(v->mem, &v->core, t);
}

static const char *edge_name(uint32_t kind)
{
    switch (kind) {
    case EDGE_SO: return "so";
    case EDGE_WR: return "wr";
    case STEP_RW: return "rw";
    case STEP_RT: return "rt";
    default: return "ww";
    }
}

static void put_cycle(verdict *v, const asg *g, const step *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        assert(s[i].from < g->nodes && s[i].to < g->nodes);
        cycle_link l = {g->node_txn[s[i].from], g->node_txn[s[i].to], edge_name(s[i].kind),
                        s[i].key};
        vec_push(v->mem, &v->cycle, l);
        add_core(v, l.from);
        add_core(v, l.to);
    }
}

static void finish(verdict *v, strbuf *b)
{
    size_t n = b->n;
    assert(n && v->anomaly < ANOMALIES); /* a sentence comes with a name */
    v->reason = mem_get(v->mem, n + 1);
    if (n) memcpy(v->reason, b->at, n);
    v->reason[n] = 0;
    strbuf_free(b);
}

/* --- faults ----------------------------------------------------------------------------------- */

static void explain_fault(verdict *v, const asg *g, const fault *f)
{
    strbuf b;
    strbuf_init(&b, v->mem);
    assert(f->anomaly < ANOMALIES && f->node < g->nodes);
    v->anomaly = f->anomaly;
    add_core(v, g->node_txn[f->node]);
    if (f->other != NO_ID) add_core(v, f->other);
    name_txn(g, f->node, &b);
    if (f->anomaly == ANOMALY_MALFORMED_RESULT) {
        strbuf_str(&b,
                   " has a scan whose rows are out of its range, out of order, repeated or null");
        finish(v, &b);
        return;
    }
    say_if_aborted(g, f->node, &b);
    strbuf_str(&b, " read ");
    name_key(g, f->key, &b);
    strbuf_str(&b, " = ");
    name_value(g, f->value, &b);
    switch (f->anomaly) {
    case ANOMALY_ABORTED_READ:
        strbuf_str(&b, ", written by the aborted ");
        if (f->other != NO_ID) name_txn_id(g->h, f->other, &b);
        break;
    case ANOMALY_INTERMEDIATE_READ:
        strbuf_str(&b, ", which ");
        if (f->other != NO_ID) name_txn_id(g->h, f->other, &b);
        strbuf_str(&b, " overwrote again before committing");
        break;
    case ANOMALY_FUTURE_READ:
        strbuf_str(&b, own_write_before(g->h, f->op, f->key, f->value)
                           ? ", a value that only it itself wrote, and could not see there"
                           : ", a value that it wrote only later");
        break;
    case ANOMALY_NOT_OWN_WRITE:
        strbuf_str(&b, ", although it had written another value before");
        break;
    case ANOMALY_DUPLICATE_ELEMENTS:
        strbuf_str(&b, ", in which ");
        name_value(g, f->element, &b);
        strbuf_str(&b, " occurs more often than it was ever appended");
        break;
    case ANOMALY_INCOMPATIBLE_ORDER:
        strbuf_str(&b, ", which is not a prefix of what ");
        if (f->other != NO_ID)
            name_txn_id(g->h, f->other, &b);
        else
            strbuf_str(&b, "the appends allow");
        if (f->other != NO_ID) strbuf_str(&b, " read");
        break;
    default: strbuf_str(&b, ", a value that no transaction wrote"); break;
    }
    finish(v, &b);
}

/* --- transactions of unknown outcome ---------------------------------------------------------- */

#define MOST_COMMITTED 3u /* are told in a sentence */

/* "; T3 committed, because T1 read x from it" */
static void say_committed(const asg *g, node_id u, strbuf *b)
{
    uint32_t ob = g->forced_by[u];
    strbuf_str(b, "; ");
    name_txn(g, u, b);
    strbuf_str(b, ", whose outcome is unknown, committed, because ");
    name_txn(g, g->ob_node[ob], b);
    say_if_aborted(g, g->ob_node[ob], b);
    strbuf_str(b, " read ");
    name_key(g, g->ob_key[ob], b);
    strbuf_str(b, " = ");
    name_value(g, g->ob_value[ob], b);
    strbuf_str(b, g->ob_flags[ob] & OB_LIST ? ", which shows what it appended" : " from it");
}

/* Whoever is named and of unknown outcome counts only because others saw its writes: these are
   named too. */
static void add_committers(verdict *v, const asg *g)
{
    strbuf b;
    uint32_t told = 0;
    if (!g->unknown || !g->forced_by) return;
    uint8_t *seen = mem_array0(g->m, uint8_t, (size_t)g->nodes + 1);
    for (size_t i = 0; i < v->core.n; i++) {
        node_id x = g->txn_node[v->core.at[i]];
        if (x != NO_ID) seen[x] = 1;
    }
    strbuf_init(&b, v->mem);
    strbuf_str(&b, v->reason);
    for (size_t i = 0; i < v->core.n; i++) { /* the core grows meanwhile */
        node_id x = g->txn_node[v->core.at[i]];
        if (x == NO_ID || !g->maybe[x] || g->forced_by[x] == NO_ID) continue;
        node_id reader = g->ob_node[g->forced_by[x]];
        if (told++ < MOST_COMMITTED) say_committed(g, x, &b);
        if (!seen[reader]) vec_push(v->mem, &v->core, g->node_txn[reader]);
        seen[reader] = 1;
    }
    mem_put(g->m, seen);
    finish(v, &b);
}

/* --- one key read twice ----------------------------------------------------------------------- */

static void say_seen(const asg *g, uint32_t ob, strbuf *b)
{
    if (g->ob_flags[ob] & OB_PRED) {
        strbuf_str(b, " scanned without finding ");
        name_key(g, g->ob_key[ob], b);
        return;
    }
    strbuf_str(b, " read ");
    name_key(g, g->ob_key[ob], b);
    strbuf_str(b, " = ");
    name_value(g, g->ob_value[ob], b);
}

void words_twice(verdict *v, asg *g, uint32_t first, uint32_t second)
{
    strbuf b;
    bool row = (g->ob_flags[first] | g->ob_flags[second]) & OB_PRED;
    assert(g->ob_node[first] == g->ob_node[second] && first < second);
    strbuf_init(&b, v->mem);
    v->anomaly = row ? ANOMALY_PHANTOM : ANOMALY_FUZZY_READ;
    add_core(v, g->node_txn[g->ob_node[first]]);
    name_txn(g, g->ob_node[first], &b);
    say_seen(g, first, &b);
    strbuf_str(&b, ", and later");
    say_seen(g, second, &b);
    strbuf_str(&b, ", without writing it in between");
    finish(v, &b);
    add_committers(v, g);
}

/* The test that a contradiction is of: the level's own, or read-committed, which is asked of whole
   transactions before their parts. */
static enum weak_level test_of(const problem *p)
{
    return p->tested ? p->test : WEAK_RC;
}

/* --- paths from a visible writer to the reader ------------------------------------------------ */

/* Shortest path from `from` to `to` through session order and read-from, breadth first over
   predecessors.  One session step may skip transactions. */
static bool visible_path(asg *g, const uint32_t *rf, bool so, node_id from, node_id to, steps *out)
{
    size_t n = (size_t)g->nodes + 1;
    step *via = mem_array(g->m, step, n);
    uint8_t *seen = mem_array0(g->m, uint8_t, n);
    node_id *queue = mem_array(g->m, node_id, n);
    size_t head = 0, tail = 0;
    queue[tail++] = to;
    seen[to] = 1;
    bool found = false;
    while (head < tail && !found) {
        node_id v = queue[head++];
        for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1] && !found; ob++) {
            uint32_t p = rf[ob];
            if (p >= RF_LAST || seen[p]) continue;
            seen[p] = 1;
            via[p] = (step){p, v, EDGE_WR, g->ob_key[ob], ob};
            queue[tail++] = p;
            found = p == from;
        }
        if (!so || found) continue;
        for (node_id p = g->so_pred[v]; p != NO_ID && !seen[p]; p = g->so_pred[p]) {
            seen[p] = 1;
            via[p] = (step){p, v, EDGE_SO, NO_ID, NO_ID};
            queue[tail++] = p;
            if (p == from) {
                found = true;
                break;
            }
        }
    }
    assert(tail <= g->nodes); /* each node is queued once */
    if (found)
        for (node_id x = from; x != to; x = via[x].to) vec_push(g->m, out, via[x]);
    mem_put(g->m, via);
    mem_put(g->m, seen);
    mem_put(g->m, queue);
    return found;
}

/* A violation of the level that shows no finer name. */
static uint32_t name_level(enum weak_level level)
{
    return level_at(level_with_test(level))->anomaly;
}

static uint32_t name_premise(const step *p, size_t n, enum weak_level level)
{
    if (level == WEAK_MAV) return ANOMALY_OBSERVED_TRANSACTION_VANISHES;
    if (n == 1 && p[0].kind == EDGE_WR) return ANOMALY_FRACTURED_READ;
    if (n == 1) return ANOMALY_READ_YOUR_WRITES_VIOLATION;
    if (n == 2 && p[0].kind == EDGE_WR && p[1].kind == EDGE_SO)
        return ANOMALY_MONOTONIC_READS_VIOLATION;
    if (n == 2 && p[0].kind == EDGE_SO && p[1].kind == EDGE_WR)
        return ANOMALY_MONOTONIC_WRITES_VIOLATION;
    if (n == 3 && p[0].kind == EDGE_WR && p[1].kind == EDGE_SO && p[2].kind == EDGE_WR)
        return ANOMALY_WRITES_FOLLOW_READS_VIOLATION;
    return ANOMALY_CAUSALITY_VIOLATION;
}

/* Does the list that ob read show what t2 appended last? */
static bool in_list(const asg *g, uint32_t ob, node_id t2)
{
    uint32_t i = asg_install(g, t2, g->ob_key[ob]);
    atom a = value_atom(g->h, g->ob_value[ob]);
    if (!(g->ob_flags[ob] & OB_LIST) || i == NO_ID || a.kind != ATOM_LIST) return false;
    for (uint32_t j = 0; j < a.len; j++)
        if (g->h->elements.at[a.as.offset + j] == g->inst_value[i]) return true;
    return false;
}

/* t3 read x from t1 (or the initial state) although t2, visible to t3, had overwritten it. */
static bool explain_stale(verdict *v, const problem *p, const decision *a, uint32_t ob, node_id t2,
                          const step *between, size_t n_between)
{
    asg *g = p->g;
    node_id t3 = g->ob_node[ob];
    uint32_t t1 = a->rf[ob];
    key_id k = g->ob_key[ob];
    steps path = {0};
    if (in_list(g, ob, t2)) return false; /* then t2 did not overwrite what was read */
    if (!visible_path(g, a->rf, p->ask.so, t2, t3, &path)) return false;
    assert(path.n && path.at[0].from == t2 && path.at[path.n - 1].to == t3);
    step rw = {t3, t2, STEP_RW, k, ob};
    put_cycle(v, g, &rw, 1);
    put_cycle(v, g, path.at, path.n);
    v->anomaly = name_premise(path.at, path.n, test_of(p));
    if (v->anomaly == ANOMALY_FRACTURED_READ && path.at[0].key == k)
        v->anomaly = ANOMALY_FUZZY_READ; /* it read the key twice and saw two versions */
    strbuf b;
    strbuf_init(&b, v->mem);
    name_txn(g, t3, &b);
    say_if_aborted(g, t3, &b);
    strbuf_str(&b, " read ");
    name_key(g, k, &b);
    strbuf_str(&b, " = ");
    name_value(g, g->ob_value[ob], &b);
    if (t1 < RF_LAST) {
        strbuf_str(&b, " from ");
        name_txn(g, t1, &b);
        add_core(v, g->node_txn[t1]);
    } else {
        strbuf_str(&b, ", the initial value");
    }
    strbuf_str(&b, "; but ");
    name_txn(g, t2, &b);
    strbuf_str(&b, ", which overwrote it");
    for (size_t i = 0; i < n_between; i++) add_core(v, g->node_txn[between[i].from]);
    strbuf_str(&b, ", was already visible: ");
    for (size_t i = 0; i < path.n; i++) {
        if (i) strbuf_str(&b, ", and ");
        name_txn(g, path.at[i].to, &b);
        if (path.at[i].kind == EDGE_WR) {
            strbuf_str(&b, " read ");
            name_key(g, path.at[i].key, &b);
            strbuf_str(&b, " from ");
            name_txn(g, path.at[i].from, &b);
        } else {
            strbuf_str(&b, " follows ");
            name_txn(g, path.at[i].from, &b);
            strbuf_str(&b, " in its session");
        }
    }
    finish(v, &b);
    vec_free(g->m, &path);
    return true;
}

/* --- cycles ----------------------------------------------------------------------------------- */

static void say_step(const asg *g, const step *s, strbuf *b)
{
    name_txn(g, s->from, b);
    strbuf_str(b, " before ");
    name_txn(g, s->to, b);
    switch (s->kind) {
    case EDGE_SO: strbuf_str(b, " (session order)"); break;
    case EDGE_WR:
        strbuf_str(b, " (which read ");
        name_key(g, s->key, b);
        strbuf_str(b, " from it)");
        break;
    case EDGE_FORCE:
        strbuf_str(b, " (");
        name_txn(g, g->ob_node[s->ob], b);
        strbuf_str(b, " saw both, and read ");
        name_key(g, s->key, b);
        strbuf_str(b, " from the second)");
        break;
    case STEP_RW:
        strbuf_str(b, " (which overwrote the version of ");
        name_key(g, s->key, b);
        strbuf_str(b, " that it read)");
        break;
    case STEP_RT: strbuf_str(b, " (real time)"); break;
    default:
        strbuf_str(b, " (version order of ");
        name_key(g, s->key, b);
        if (s->ob != NO_ID) {
            strbuf_str(b, ", as ");
            name_txn(g, g->ob_node[s->ob], b);
            strbuf_str(b, " read it");
        }
        strbuf_char(b, ')');
        break;
    }
}

/* The cycle edge by edge, a long one cut. */
static void say_cycle(verdict *v, asg *g, const step *s, size_t n)
{
    strbuf b;
    strbuf_init(&b, v->mem);
    strbuf_str(&b, "a cycle: ");
    for (size_t i = 0; i < n; i++) {
        if (i == 6 && n > 8) {
            strbuf_printf(&b, "; ... %zu more", n - i);
            break;
        }
        if (i) strbuf_str(&b, "; ");
        say_step(g, &s[i], &b);
    }
    finish(v, &b);
}

static void explain_cycle(verdict *v, const problem *p, const decision *a)
{
    asg *g = p->g;
    enum weak_level level = test_of(p);
    const step *s = a->path.steps.at;
    size_t n = a->path.steps.n, n_forced = 0, at = 0, ww = 0, wr = 0;
    for (size_t i = 0; i < n; i++) {
        if (s[i].kind == EDGE_FORCE) n_forced++, at = i;
        ww += s[i].kind == EDGE_WW;
        wr += s[i].kind == EDGE_WR;
    }
    if (n_forced == 1 && explain_stale(v, p, a, s[at].ob, s[at].from, s, n)) return;
    if (n_forced == 2 && n == 2 && s[0].key == s[1].key &&
        g->ob_node[s[0].ob] == g->ob_node[s[1].ob] &&
        (explain_stale(v, p, a, s[0].ob, s[0].from, s, n) ||
         explain_stale(v, p, a, s[1].ob, s[1].from, s, n))) {
        if (level != WEAK_MAV) v->anomaly = ANOMALY_FUZZY_READ;
        return;
    }
    assert(n && s[n - 1].to == s[0].from);
    put_cycle(v, g, s, n);
    for (size_t i = 0; i < n; i++) /* those whose reads make the edge */
        if (s[i].kind == EDGE_FORCE || (s[i].kind == EDGE_WW && s[i].ob != NO_ID))
            add_core(v, g->node_txn[g->ob_node[s[i].ob]]);
    if (!n_forced)
        v->anomaly = ww && !wr ? ANOMALY_DIRTY_WRITE : ANOMALY_CIRCULAR_INFORMATION_FLOW;
    else
        v->anomaly = name_level(level);
    say_cycle(v, g, s, n);
}

/* How many others are needed to show that the node committed. */
static uint32_t committers(const asg *g, node_id v)
{
    uint32_t n = 0;
    for (; g->maybe[v] && g->forced_by && g->forced_by[v] != NO_ID; n++)
        v = g->ob_node[g->forced_by[v]];
    return n;
}

/* Read-uncommitted minds few faults, and the decision names one of those. */
static bool minds_few(const problem *p)
{
    return (p->tested && p->test == WEAK_RU) || (p->ask.rule && p->ask.rule->level == LEVEL_RU);
}

/* Any of the faults will do: the first of those that need the fewest transactions. */
static const fault *simplest_fault(const asg *g)
{
    const fault *best = &g->faults.at[0];
    uint32_t least = committers(g, best->node);
    for (size_t i = 1; i < g->faults.n && least; i++) {
        uint32_t n = committers(g, g->faults.at[i].node);
        if (n >= least) continue;
        best = &g->faults.at[i];
        least = n;
    }
    return best;
}

/* A contradiction of a test: edge by edge, or that every choice fails. */
static void explain_test(verdict *v, const problem *p, const decision *a)
{
    asg *g = p->g;
    strbuf b;
    switch (a->why) {
    case WHY_FAULT:
        explain_fault(v, g, minds_few(p) ? &g->faults.at[a->fault] : simplest_fault(g));
        return;
    case WHY_CYCLE: explain_cycle(v, p, a); return;
    case WHY_INIT:
        if (explain_stale(v, p, a, a->bad_ob, a->bad_node, NULL, 0)) return;
        break;
    case WHY_NONE:
    case WHY_SEARCH: break;
    }
    strbuf_init(&b, v->mem);
    v->anomaly = g->wild_lists ? ANOMALY_INCOMPATIBLE_ORDER : name_level(test_of(p));
    strbuf_str(&b, "reads are ambiguous, and every way to match them with writers leads to a "
                   "contradiction");
    if (g->nodes <= WEAK_SMALL)
        for (node_id x = 0; x < g->nodes; x++) add_core(v, g->node_txn[x]);
    finish(v, &b);
}

/* --- serializability and snapshot isolation --------------------------------------------------- */

/* Did a read the initial state of a key that b writes?  Then a gate stands between them. */
static bool gate_between(const asg *g, node_id a, node_id b)
{
    for (uint32_t ob = g->ob_first[a]; ob < g->ob_first[a + 1]; ob++)
        if (g->ob_rf[ob] == RF_INIT && asg_install(g, b, g->ob_key[ob]) != NO_ID) return true;
    return false;
}

/* The order of versions that a list, a hint or a rule shows; NULL: none. */
static const edge *shown_order(const asg *g, node_id a, node_id b)
{
    uint32_t i = g->extra_head[b];
    while (i != NO_ID && g->extra.at[i].from != a) i = g->extra.at[i].next;
    return i == NO_ID ? NULL : &g->extra.at[i];
}

/* What leads from transaction a to b, given that the known graph says so.  With `helper`, an event
   of no transaction lies between: a gate, or a point in time. */
static step known_step(asg *g, const order_problem *p, node_id a, node_id b, bool helper)
{
    const history *h = g->h;
    if (helper && p->rt && !gate_between(g, a, b)) return (step){a, b, STEP_RT, NO_ID, NO_ID};
    for (uint32_t ob = g->ob_first[b]; ob < g->ob_first[b + 1]; ob++)
        if (p->rf[ob] == a) return (step){a, b, EDGE_WR, g->ob_key[ob], ob};
    const edge *shown = shown_order(g, a, b);
    if (shown) return (step){a, b, EDGE_WW, shown->key, shown->kind == EDGE_WW ? shown->ob : NO_ID};
    bool session =
        !g->maybe[a] && a < b && h->txn_session[g->node_txn[a]] == h->txn_session[g->node_txn[b]];
    if (p->so && session) return (step){a, b, EDGE_SO, NO_ID, NO_ID};
    int64_t end, begin;
    if (p->rt & RT_CB && txn_end_time(h, g->node_txn[a], &end) &&
        txn_begin_time(h, g->node_txn[b], &begin) && end < begin &&
        (uint64_t)begin - (uint64_t)end >= (uint64_t)(p->drift > 0 ? p->drift : 0))
        return (step){a, b, STEP_RT, NO_ID, NO_ID};
    for (size_t i = p->forced.n; i-- > 0;) {
        const forced *f = &p->forced.at[i];
        if (f->from == a && f->to == b)
            return (step){a, b, f->rw ? STEP_RW : EDGE_FORCE, g->ob_key[f->ob], f->ob};
    }
    /* An edge that the others force: b overwrote what a read, or both write a key. */
    for (uint32_t ob = g->ob_first[a]; ob < g->ob_first[a + 1]; ob++)
        if (g->ob_rf[ob] == RF_INIT && asg_install(g, b, g->ob_key[ob]) != NO_ID)
            return (step){a, b, STEP_RW, g->ob_key[ob], ob};
    for (uint32_t ob = g->ob_first[a]; ob < g->ob_first[a + 1]; ob++)
        if (g->ob_rf[ob] != b && asg_install(g, b, g->ob_key[ob]) != NO_ID)
            return (step){a, b, STEP_RW, g->ob_key[ob], ob};
    for (uint32_t i = g->inst_first[a]; i < g->inst_first[a + 1]; i++)
        if (asg_install(g, b, g->inst_key[i]) != NO_ID)
            return (step){a, b, EDGE_WW, g->inst_key[i], NO_ID};
    return (step){a, b, STEP_RT, NO_ID, NO_ID};
}

uint32_t words_name(const step *s, size_t n)
{
    size_t rw = 0, rt = 0, adjacent = 0, writes = 0;
    for (size_t i = 0; i < n; i++) {
        rw += s[i].kind == STEP_RW;
        writes += s[i].kind == EDGE_WW || s[i].kind == EDGE_SO;
        rt += s[i].kind == STEP_RT;
        adjacent += s[i].kind == STEP_RW && s[(i + 1) % n].kind == STEP_RW;
    }
    if (rt) return rw ? ANOMALY_STALE_READ : ANOMALY_TIMESTAMP_INVERSION;
    if (!rw) return writes == n ? ANOMALY_DIRTY_WRITE : ANOMALY_CIRCULAR_INFORMATION_FLOW;
    assert(rw + rt <= n && adjacent <= rw);
    if (n == 2 && rw == 2) {
        /* Both read what the other overwrote: the same key is a lost update. */
        return s[0].key == s[1].key ? ANOMALY_LOST_UPDATE : ANOMALY_WRITE_SKEW;
    }
    if (rw == 1 && n == 2 && s[0].key == s[1].key && s[0].kind != EDGE_WR && s[1].kind != EDGE_WR)
        return ANOMALY_LOST_UPDATE; /* one overwrote what the other had read and overwrote */
    if (rw == 1) return ANOMALY_READ_SKEW;
    if (n == 4 && rw == 2 && !adjacent) return ANOMALY_LONG_FORK;
    if (n == 3 && rw == 2) return ANOMALY_READ_ONLY_ANOMALY;
    return adjacent ? ANOMALY_G2_ITEM : ANOMALY_G_NONADJACENT;
}

/* Two transactions that read the same version of a key and both replace it. */
static bool explain_lost_update(verdict *v, asg *g)
{
    asg_by_key(g);
    size_t slots = g->insts + history_keys(g->h) + 1;
    node_id *first = mem_array(g->m, node_id, slots);
    uint32_t *first_ob = mem_array(g->m, uint32_t, slots);
    memset(first, 0xff, slots * sizeof *first);
    bool found = false;
    for (uint32_t ob = 0; ob < g->obs && !found; ob++) {
        node_id x = g->ob_node[ob];
        bool init = g->ob_rf[ob] == RF_INIT;
        if ((g->ob_rf[ob] >= RF_LAST && !init) || !asg_in(g, x)) continue;
        key_id k = g->ob_key[ob];
        /* the initial version has no install: the slots behind them are for keys */
        size_t inst = init ? g->insts + k : g->ob_inst[ob];
        if (inst == NO_ID || asg_install(g, x, k) == NO_ID) continue;
        if (first[inst] == NO_ID || first[inst] == x) {
            first[inst] = x;
            first_ob[inst] = ob;
            continue;
        }
        node_id y = first[inst];
        assert(y != x && g->ob_key[first_ob[inst]] == k);
        step s[2] = {{y, x, STEP_RW, k, first_ob[inst]}, {x, y, STEP_RW, k, ob}};
        put_cycle(v, g, s, 2);
        if (!init) add_core(v, g->node_txn[g->ob_rf[ob]]);
        v->anomaly = ANOMALY_LOST_UPDATE;
        strbuf b;
        strbuf_init(&b, v->mem);
        name_txn(g, y, &b);
        strbuf_str(&b, " and ");
        name_txn(g, x, &b);
        strbuf_str(&b, " both read ");
        name_key(g, k, &b);
        strbuf_str(&b, " = ");
        name_value(g, g->ob_value[ob], &b);
        if (!init) {
            strbuf_str(&b, " from ");
            name_txn(g, g->ob_rf[ob], &b);
        }
        strbuf_str(&b, " and both overwrote it: one of the updates is lost");
        finish(v, &b);
        found = true;
    }
    mem_put(g->m, first);
    mem_put(g->m, first_ob);
    return found;
}

/* A cycle told edge by edge. */
static void tell_steps(verdict *v, asg *g, const step *s, size_t n, uint32_t anomaly)
{
    put_cycle(v, g, s, n);
    for (size_t i = 0; i < n; i++)
        if (s[i].kind == EDGE_FORCE || (s[i].kind == EDGE_WW && s[i].ob != NO_ID))
            add_core(v, g->node_txn[g->ob_node[s[i].ob]]);
    v->anomaly = anomaly;
    say_cycle(v, g, s, n);
}

void words_steps(verdict *v, asg *g, const step *s, size_t n)
{
    tell_steps(v, g, s, n, words_name(s, n));
}

void words_cycle(verdict *v, asg *g, const step *s, size_t n, uint32_t anomaly)
{
    if (anomaly == ANOMALY_LOST_UPDATE && explain_lost_update(v, g)) return;
    tell_steps(v, g, s, n, anomaly);
}

/* A transaction that follows itself: its times say that it ended before it began. */
static void explain_backward(verdict *v, const asg *g, node_id x)
{
    txn_id t = g->node_txn[x];
    int64_t begin = 0, end = 0, called = 0;
    strbuf s;
    strbuf_init(&s, v->mem);
    add_core(v, t);
    v->anomaly = ANOMALY_TIMESTAMP_INVERSION;
    name_txn(g, x, &s);
    bool ended = txn_stamp(g->h, t, COMMIT_RETURN, &end);
    bool begun = ended && txn_stamp(g->h, t, BEGIN_CALL, &begin);
    if (begun && end >= begin && txn_stamp(g->h, t, COMMIT_CALL, &called) && end < called)
        strbuf_printf(&s, "'s commit returned before it was called (called %lld, returned %lld)",
                      (long long)called, (long long)end);
    else
        strbuf_str(&s, " ended before it began");
    if (begun && end < begin)
        strbuf_printf(&s, " (begin %lld, end %lld)", (long long)begin, (long long)end);
    strbuf_str(&s, ": its own times leave it no place");
    finish(v, &s);
}

void words_events(verdict *v, asg *g, const order_problem *p, const uint32_t *events, size_t n)
{
    uint32_t txn_events = p->si ? 2 * p->txns : p->txns;
    VEC(node_id) nodes = {0};
    VEC(uint8_t) helper = {0}; /* per node: one follows it */
    steps s = {0};
    size_t first = 0; /* a transaction's event, so that no helper is at the seam */
    while (first < n && events[first] >= txn_events) first++;
    assert(first < n); /* helpers alone make no cycle */
    for (size_t i = 0; i < n; i++) {
        uint32_t event = events[(first + i) % n];
        if (event >= txn_events) {
            if (nodes.n) helper.at[nodes.n - 1] = 1;
            continue;
        }
        node_id x = txn_of(p, event);
        if (nodes.n && nodes.at[nodes.n - 1] == x) {
            helper.at[nodes.n - 1] = 0;
            continue;
        }
        vec_push(g->m, &nodes, x);
        vec_push(g->m, &helper, 0);
    }
    while (nodes.n > 1 && nodes.at[0] == nodes.at[nodes.n - 1]) nodes.n--;
    if (nodes.n == 1) {
        explain_backward(v, g, nodes.at[0]);
        vec_free(g->m, &nodes);
        vec_free(g->m, &helper);
        return;
    }
    for (size_t i = 0; i < nodes.n; i++) {
        step x = known_step(g, p, nodes.at[i], nodes.at[(i + 1) % nodes.n], helper.at[i]);
        vec_push(g->m, &s, x);
    }
    assert(s.n == nodes.n && s.n > 1);
    vec_free(g->m, &helper);
    size_t kept = 0; /* without steps from part to part of a transaction */
    bool told = false, rw = false;
    for (size_t i = 0; i < s.n; i++) {
        told = told || s.at[i].kind == EDGE_FORCE;
        rw = rw || s.at[i].kind == STEP_RW;
        if (!asg_same(g, s.at[i].from, s.at[i].to)) s.at[kept++] = s.at[i];
    }
    s.n = kept;
    if (g->whole && told && !rw) /* versions that snapshots put in both orders */
        tell_steps(v, g, s.at, s.n, ANOMALY_READ_SKEW);
    else if (p->rule->level == LEVEL_SER || p->rule->level == LEVEL_SI)
        words_cycle(v, g, s.at, s.n, words_name(s.at, s.n));
    else
        words_steps(v, g, s.at, s.n);
    vec_free(g->m, &nodes);
    vec_free(g->m, &s);
}

/* Had the begin of a returned when the commit of b was called, by the drift at least? */
static bool began_before_commit(const history *h, const order_problem *p, txn_id a, txn_id b)
{
    int64_t begin, commit;
    uint64_t drift = p->drift > 0 ? (uint64_t)p->drift : 0;
    return txn_stamp(h, a, BEGIN_RETURN, &begin) && txn_stamp(h, b, COMMIT_CALL, &commit) &&
           begin < commit && (uint64_t)commit - (uint64_t)begin >= drift;
}

/* Two writers of a key that ran at the same time, where real time orders begins before commits:
   neither had committed when the other began, whatever was read. */
static bool explain_overlap(verdict *v, asg *g, const order_problem *p)
{
    asg_by_key(g);
    for (key_id k = 0; k < history_keys(g->h); k++)
        for (uint32_t i = g->kw_first[k]; i < g->kw_first[k + 1]; i++)
            for (uint32_t j = g->kw_first[k]; j < i; j++) {
                node_id a = g->inst_node[g->kw_inst[j]], b = g->inst_node[g->kw_inst[i]];
                txn_id x = g->node_txn[a], y = g->node_txn[b];
                if (!asg_in(g, a) || !asg_in(g, b) || !began_before_commit(g->h, p, x, y) ||
                    !began_before_commit(g->h, p, y, x))
                    continue;
                strbuf s;
                strbuf_init(&s, v->mem);
                add_core(v, x);
                add_core(v, y);
                v->anomaly = ANOMALY_TIMESTAMP_INVERSION;
                name_txn(g, a, &s);
                strbuf_str(&s, " and ");
                name_txn(g, b, &s);
                strbuf_str(&s, " both wrote ");
                name_key(g, k, &s);
                strbuf_str(&s, ", and each began before the other committed: every order of the "
                               "two writes contradicts their times");
                finish(v, &s);
                return true;
            }
    return false;
}

#define FEW_WRITERS 64u /* transactions whose pairs are looked at */

/* Nothing was read: then the anomaly is none of reads. */
static bool is_blind(const asg *g)
{
    for (node_id v = 0; v < g->nodes; v++)
        if (asg_in(g, v) && g->ob_first[v] < g->ob_first[v + 1]) return false;
    return true;
}

void words_search(verdict *v, asg *g, const level_rule *rule, const order_problem *p,
                  const node_id *core, size_t n)
{
    bool timed = p && p->rt != 0;
    /* Where writers of a key must see each other, two that read the same version do not. */
    bool exclusive = rule->strict == STRICT_NONE
                         ? rule->path & (PATH_WW | PATH_NEXT) && !rule->arrives_earlier
                         : rule->level != LEVEL_PC;
    if (exclusive && !g->wild_lists && !g->open.n && explain_lost_update(v, g)) return;
    if (timed && p->rt & RT_BC && g->nodes <= FEW_WRITERS && explain_overlap(v, g, p)) return;
    strbuf b;
    strbuf_init(&b, v->mem);
    v->anomaly = timed && is_blind(g) ? (uint32_t)ANOMALY_TIMESTAMP_INVERSION
                                      : level_at(rule->level)->anomaly;
    strbuf_str(&b, "every order of the writers leads to a cycle");
    if (!core && g->nodes <= WEAK_SMALL)
        for (node_id x = 0; x < g->nodes; x++) add_core(v, g->node_txn[x]);
    /* add_core is linear in what it has: enough for people, not for thousands */
    uint8_t *seen = mem_array0(g->m, uint8_t, (size_t)g->nodes + 1);
    for (size_t i = 0; i < n; i++) {
        assert(core[i] < g->nodes);
        node_id x = g->whole ? g->whole[core[i]] : core[i]; /* several parts are one transaction */
        if (seen[x]) continue;
        seen[x] = 1;
        vec_push(v->mem, &v->core, g->node_txn[core[i]]);
    }
    mem_put(g->m, seen);
    finish(v, &b);
}

static void tell_decision(verdict *v, const problem *p, const decision *a)
{
    if (a->why != WHY_NONE) {
        explain_test(v, p, a);
        return;
    }
    asg *g = p->ordered ? p->order.g : p->g;
    if (a->path.steps.n)
        words_steps(v, g, a->path.steps.at, a->path.steps.n);
    else if (a->known_cycle)
        words_events(v, g, &p->order, a->cycle.at, a->cycle.n);
    else
        words_search(v, g, p->ask.rule, p->ordered ? &p->order : NULL,
                     a->core.n ? a->core.at : NULL, a->core.n);
}

void words_decision(verdict *v, const problem *p, const decision *a)
{
    assert(decision_violated(a));
    tell_decision(v, p, a);
    /* A weak level that was decided as an order problem, since reads were ambiguous: its own name
       says more than the shape of the cycle. */
    if (v->anomaly == ANOMALY_READ_SKEW && p->tested && p->ordered)
        v->anomaly = name_level(p->test);
    add_committers(v, p->g);
}
