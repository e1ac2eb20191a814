/*
 * scene_drawing.c - the transactions of a small history as a graph or a picture, with what the
 * history settles between them and nothing of a verdict: session order, and who read from whom
 * where there is one writer only.  For levels that a user wrote, which have no cycles by name: the
 * demands that contradict each other are told in words, and this shows what they speak of.
 *
 * The title is what the caller gives as the name of the history.
 */
#include "report/explanation.h"

#define MOST_DRAWN 64u

static bool writes_value(const history *h, txn_id t, key_id k, value_id x)
{
    for (op_id o = h->txn_op[t + 1]; o-- > h->txn_op[t];) {
        enum op_kind kind = op_kind_of(h, o);
        bool changes = kind == OP_WRITE || kind == OP_DELETE;
        if (!changes || op_failed(h, o) || h->op_key[o] != k) continue;
        return value_or_absent(h->op_value[o]) == x;
    }
    return false;
}

static bool has_written(const history *h, txn_id t, op_id before, key_id k)
{
    for (op_id o = h->txn_op[t]; o < before; o++)
        if (op_kind_of(h, o) != OP_READ && !op_failed(h, o) && op_kind_of(h, o) < OP_SCAN &&
            h->op_key[o] == k)
            return true;
    return false;
}

/* The one transaction that left the value behind, or NO_ID. */
static txn_id only_writer(const history *h, txn_id reader, key_id k, value_id x)
{
    txn_id found = NO_ID;
    if (value_or_absent(h->key_init[k]) == x || h->init_unknown) return NO_ID;
    for (txn_id t = 0; t < h->txns; t++) {
        if (t == reader || txn_status_of(h, t) == TXN_ABORTED || !writes_value(h, t, k, x))
            continue;
        if (found != NO_ID) return NO_ID;
        found = t;
    }
    return found;
}

static void add_reads(verdict *v, const history *h, txn_id t, mem *m)
{
    for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
        key_id k = h->op_key[o];
        if (op_kind_of(h, o) != OP_READ || op_failed(h, o) || h->op_value[o] == VALUE_UNKNOWN)
            continue;
        if (has_written(h, t, o, k)) continue;
        txn_id from = only_writer(h, t, k, value_or_absent(h->op_value[o]));
        cycle_link l = {.from = from, .to = t, .edge = "wr", .key = k};
        if (from != NO_ID) vec_push(m, &v->cycle, l);
    }
}

/* A verdict that says nothing but who is there, and the edges that are settled. */
static void settled_graph(verdict *v, const verdict *of, mem *m)
{
    const history *h = of->h;
    txn_ids core = {0};
    *v = *of;
    v->outcome = OUTCOME_VIOLATED;
    memset(&v->cycle, 0, sizeof v->cycle);
    for (txn_id t = 0; t < h->txns && t < MOST_DRAWN; t++) {
        vec_push(m, &core, t);
        for (txn_id s = t; s-- > 0;) {
            if (h->txn_session[s] != h->txn_session[t]) continue;
            cycle_link l = {.from = s, .to = t, .edge = "so", .key = NO_ID};
            vec_push(m, &v->cycle, l);
            break;
        }
        if (txn_status_of(h, t) != TXN_ABORTED) add_reads(v, h, t, m);
    }
    v->core = core;
}

static void draw_settled(const told *t, strbuf *b, void (*tell)(const told *t, strbuf *b))
{
    verdict plain;
    tell_context c = *t->c;
    told drawn = {&plain, NULL, &c, t->m};
    c.titled = true;
    settled_graph(&plain, t->v, t->m);
    tell(&drawn, b);
}

void tell_scene_dot(const told *t, strbuf *b)
{
    draw_settled(t, b, tell_dot);
}

void tell_scene_svg(const told *t, strbuf *b)
{
    draw_settled(t, b, tell_svg);
}

void tell_scene_tikz(const told *t, strbuf *b)
{
    draw_settled(t, b, tell_tikz);
}
