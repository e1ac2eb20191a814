/*
 * words.c - see words.h.
 *
 * The decision leaves a fault (a read that nothing explains), a cycle of session order, read-from,
 * version order and forced version order, or a read of the initial state past a visible writer.
 * A cycle with one forced edge is told as what it is: the reader T3 saw a version of x that T2
 * has overwritten although T2 was visible to it: T3 -rw-> T2 -...-> T3.
 */
#include "verdict/words.h"

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
    vec_push(&v->mem, &v->core, t);
}

static const char *edge_name(uint32_t kind)
{
    switch (kind) {
    case EDGE_SO: return "so";
    case EDGE_WR: return "wr";
    case STEP_RW: return "rw";
    default: return "ww";
    }
}

static void put_cycle(verdict *v, const asg *g, const step *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cycle_link l = {g->node_txn[s[i].from], g->node_txn[s[i].to], edge_name(s[i].kind), s[i].key};
        vec_push(&v->mem, &v->cycle, l);
        add_core(v, l.from);
        add_core(v, l.to);
    }
}

static void finish(verdict *v, strbuf *b)
{
    size_t n = b->n;
    v->reason = mem_get(&v->mem, n + 1);
    if (n) memcpy(v->reason, b->at, n);
    v->reason[n] = 0;
    strbuf_free(b);
}

/* --- faults ------------------------------------------------------------------------------------- */

static void explain_fault(verdict *v, const asg *g, const fault *f)
{
    strbuf b;
    strbuf_init(&b, &v->mem);
    v->anomaly = f->anomaly;
    add_core(v, g->node_txn[f->node]);
    if (f->other != NO_ID) add_core(v, f->other);
    name_txn(g, f->node, &b);
    if (f->anomaly == ANOMALY_MALFORMED_RESULT) {
        strbuf_str(&b, " has a scan whose rows are out of its range, out of order, repeated or null");
        finish(v, &b);
        return;
    }
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
        strbuf_str(&b, " itself overwrote before it committed");
        break;
    case ANOMALY_FUTURE_READ: strbuf_str(&b, ", which it wrote itself only later"); break;
    case ANOMALY_NOT_OWN_WRITE:
        strbuf_str(&b, ", although it had itself written something else before");
        break;
    case ANOMALY_INCOMPATIBLE_ORDER:
        strbuf_str(&b, ", which is no prefix of what ");
        if (f->other != NO_ID)
            name_txn_id(g->h, f->other, &b);
        else
            strbuf_str(&b, "the appends allow");
        if (f->other != NO_ID) strbuf_str(&b, " read");
        break;
    default: strbuf_str(&b, ", a value that nobody wrote"); break;
    }
    finish(v, &b);
}

/* --- paths from a visible writer to the reader ----------------------------------------------------- */

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
    if (found)
        for (node_id x = from; x != to; x = via[x].to) vec_push(g->m, out, via[x]);
    mem_put(g->m, via);
    mem_put(g->m, seen);
    mem_put(g->m, queue);
    return found;
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

/* t3 read x from t1 (or the initial state) although t2, visible to t3, had overwritten it. */
static bool explain_stale(verdict *v, asg *g, const weak_answer *a, uint32_t ob, node_id t2,
                          const step *between, size_t n_between, enum weak_level level)
{
    node_id t3 = g->ob_node[ob];
    uint32_t t1 = a->rf[ob];
    key_id k = g->ob_key[ob];
    steps path = {0};
    if (!visible_path(g, a->rf, v->session_order, t2, t3, &path)) return false;
    step rw = {t3, t2, STEP_RW, k, ob};
    put_cycle(v, g, &rw, 1);
    put_cycle(v, g, path.at, path.n);
    v->anomaly = name_premise(path.at, path.n, level);
    if (v->anomaly == ANOMALY_FRACTURED_READ && path.at[0].key == k)
        v->anomaly = ANOMALY_FUZZY_READ; /* it read the key twice and saw two versions */
    strbuf b;
    strbuf_init(&b, &v->mem);
    name_txn(g, t3, &b);
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

/* --- cycles ------------------------------------------------------------------------------------------ */

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
        strbuf_str(b, " from the latter)");
        break;
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

static void explain_cycle(verdict *v, asg *g, const weak_answer *a, enum weak_level level)
{
    const step *s = a->cycle.steps.at;
    size_t n = a->cycle.steps.n, forced = 0, at = 0, ww = 0, wr = 0;
    for (size_t i = 0; i < n; i++) {
        if (s[i].kind == EDGE_FORCE) forced++, at = i;
        ww += s[i].kind == EDGE_WW;
        wr += s[i].kind == EDGE_WR;
    }
    if (forced == 1 && explain_stale(v, g, a, s[at].ob, s[at].from, s, n, level)) return;
    if (forced == 2 && n == 2 && s[0].key == s[1].key &&
        g->ob_node[s[0].ob] == g->ob_node[s[1].ob] &&
        explain_stale(v, g, a, s[0].ob, s[0].from, s, n, level)) {
        if (level != WEAK_MAV) v->anomaly = ANOMALY_FUZZY_READ;
        return;
    }
    put_cycle(v, g, s, n);
    for (size_t i = 0; i < n; i++) /* those whose reads make the edge */
        if (s[i].kind == EDGE_FORCE || (s[i].kind == EDGE_WW && s[i].ob != NO_ID))
            add_core(v, g->node_txn[g->ob_node[s[i].ob]]);
    if (!forced)
        v->anomaly = ww && !wr ? ANOMALY_DIRTY_WRITE : ANOMALY_CIRCULAR_INFORMATION_FLOW;
    else
        v->anomaly = level == WEAK_MAV  ? ANOMALY_OBSERVED_TRANSACTION_VANISHES
                     : level == WEAK_RA ? ANOMALY_FRACTURED_READ
                                        : ANOMALY_CAUSALITY_VIOLATION;
    strbuf b;
    strbuf_init(&b, &v->mem);
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

void words_explain(verdict *v, asg *g, const weak_answer *a, enum weak_level level)
{
    strbuf b;
    switch (a->why) {
    case WHY_FAULT: explain_fault(v, g, &g->faults.at[a->fault]); return;
    case WHY_CYCLE: explain_cycle(v, g, a, level); return;
    case WHY_INIT:
        if (explain_stale(v, g, a, a->bad_ob, a->bad_node, NULL, 0, level)) return;
        break;
    default: break;
    }
    strbuf_init(&b, &v->mem);
    v->anomaly = g->wild_lists       ? ANOMALY_INCOMPATIBLE_ORDER
                 : level == WEAK_RC  ? ANOMALY_CIRCULAR_INFORMATION_FLOW
                 : level == WEAK_MAV ? ANOMALY_OBSERVED_TRANSACTION_VANISHES
                 : level == WEAK_RA  ? ANOMALY_FRACTURED_READ
                                     : ANOMALY_CAUSALITY_VIOLATION;
    strbuf_str(&b, "reads are ambiguous, and every way to match them with writers leads to a "
                   "contradiction");
    if (g->nodes <= WEAK_SMALL)
        for (node_id x = 0; x < g->nodes; x++) add_core(v, g->node_txn[x]);
    finish(v, &b);
}
