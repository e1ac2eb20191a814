/*
 * forgeries.c - whatever step the verifier accepts, its clause holds in every allowed execution.
 *
 * For tiny random histories and every level: all orders of all outcomes, with all choices of
 * writers, are put to the verifier as `holds`.  Those that it accepts are the executions that the
 * level allows; there is one iff the oracle says that the level holds, so no forged order passes.
 * Then random steps of every kind, sensible or not, are put to it as a proof.  Every clause that it
 * adds must be true in every one of these executions, and with begins and commits there must be
 * places for the begins that make all clauses true.  So no proof made of such steps can end in the
 * empty clause where the level holds.  And an implication that `through` relies on must be
 * one.
 *
 *     forgeries [histories [seed [text]]]   default 2000, seed from RATEL_TEST_SEED or 1; only
 *                                           levels whose name contains the text
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/rng.h"
#include "diff/diff_text.h"
#include "diff/history_model.h"
#include "diff/oracle_levels.h"
#include "oracle/oracle.h"
#include "oracle/random_history.h"
#include "ratel.h"
#include "verify/certificate.h"
#include "verify/proof_state.h"

enum {
    TXNS = 4,      /* that did not abort */
    ASKED = 8,     /* questions of a history */
    STEPS = 240,   /* of a question */
    TRIES = 20000, /* orders and choices of a question */
    NONSENSE = 40, /* claims of no shape, of a question */
    OPEN = 12,     /* reads with a choice */
    POINTS = 24,   /* orders of the parts of transactions, of an execution */
    EVENTS = 512,  /* transactions, begins and commits, parts */
};
static const char *only = "";
static uint64_t accepted[PROOF_STEPS], empty_clauses, executions, asked, skipped, implied;
static uint64_t rules[CHAIN_RULES]; /* accepted steps `chain` */
static enum chain_rule last_rule;

typedef struct world {
    rng *g;
    const history *h;
    mem *m, *brief; /* of the question; of the execution at hand */
    parser p;
    claim c;
    prover *x;
    const char *why;
    text line;
    txn_id writer; /* of the read that was written last, as likely as not */
    key_id key;

    bool unsure;     /* some list can have been read in ways that are not counted here */
    txn_id in[TXNS]; /* those that may take part */
    uint32_t n;
    txn_id order[TXNS];
    bool placed[TXNS];
    chosen_reads open; /* of those that may take part: the reads with a choice */
    uint64_t tries, found;
    size_t last; /* the clause that failed last */
    size_t bad;  /* a clause that is false in an execution, + 1 */
    uint32_t place[EVENTS];
    VEC(uint8_t) known; /* per literal about lists: 1 true, 2 false in the execution at hand */
} world;

/* --- steps ------------------------------------------------------------------------------------ */

static void put(world *w, const char *s)
{
    add_text(s, strlen(s), &w->line);
}

static void put_txn(world *w, txn_id t)
{
    strbuf b;
    strbuf_init(&b, w->m);
    if (t == NO_ID)
        strbuf_str(&b, "init");
    else
        certificate_txn(&b, w->h, t);
    put(w, strbuf_cstr(&b));
}

static txn_id some_txn(world *w)
{
    if (w->n && rng_below(w->g, 20)) return w->in[rng_below(w->g, w->n)];
    return (txn_id)rng_below(w->g, w->h->txns);
}

static void put_some_txn(world *w, bool init)
{
    put(w, " ");
    put_txn(w, init && !rng_below(w->g, 4) ? NO_ID : some_txn(w));
}

static void put_key(world *w, key_id k)
{
    strbuf b;
    strbuf_init(&b, w->m);
    certificate_name(&b, w->h, key_atom(w->h, k));
    put(w, " ");
    put(w, strbuf_cstr(&b));
}

static key_id some_key(world *w)
{
    return (key_id)rng_below(w->g, history_keys(w->h));
}

/* A read of t, more often than not. */
static void some_read(world *w, txn_id t, op_id *o, key_id *k)
{
    const history *h = w->h;
    value_id v;
    for (int i = 0; i < 12; i++) {
        *o = h->txn_op[t] + (op_id)rng_below(w->g, h->txn_op[t + 1] - h->txn_op[t] + 0u);
        *k = some_key(w);
        if (source_value(&w->x->s, t, *o, *k, &v)) return;
    }
}

/* Whom the operation can have read the key from, more often than not. */
static txn_id some_writer(world *w, txn_id t, op_id o, key_id k)
{
    sources *s = &w->x->s;
    value_id v;
    txn_id one;
    if (!rng_below(w->g, 4) || !source_value(s, t, o, k, &v)) return some_txn(w);
    enum source_kind kind = source_of(s, t, o, k, v, &one);
    if (kind == SOURCE_ONE) return one;
    for (int i = 0; i < 8 && kind == SOURCE_MANY; i++) {
        one = rng_below(w->g, 4) ? some_txn(w) : NO_ID;
        if (source_may(s, t, o, k, v, one)) return one;
    }
    return some_txn(w);
}

/* An operation and a key of t; returns a writer for it. */
static txn_id put_op_key(world *w, txn_id t, key_id *of)
{
    op_id o;
    key_id k;
    char number[24];
    some_read(w, t, &o, &k);
    snprintf(number, sizeof number, " %u", o - w->h->txn_op[t]);
    put(w, number);
    put_key(w, k);
    *of = k;
    return some_writer(w, t, o, k);
}

/* T I K; the writer and the key that go with it are kept. */
static txn_id put_read(world *w)
{
    txn_id t = some_txn(w);
    while (w->h->txn_op[t] == w->h->txn_op[t + 1]) t = (t + 1) % (txn_id)w->h->txns;
    put(w, " ");
    put_txn(w, t);
    w->writer = put_op_key(w, t, &w->key);
    return t;
}

static void put_writer(world *w)
{
    put(w, " ");
    put_txn(w, w->writer);
}

enum hop { HOP_IS_SO, HOP_IS_RT, HOP_IS_WW, HOP_IS_NEXT, HOP_IS_RW, HOP_IS_WR, HOP_KINDS };

/* A kind of hop, more often than not one that the level knows. */
static enum hop some_hop(world *w, bool loop)
{
    unsigned law = loop ? HOP_SO | HOP_WR | HOP_WW : w->x->law->hops;
    for (int i = 0; i < 4; i++) {
        enum hop kind = (enum hop)rng_below(w->g, HOP_KINDS);
        if ((kind == HOP_IS_SO && law & HOP_SO) || kind == HOP_IS_WR ||
            (kind == HOP_IS_RW && loop) || (kind == HOP_IS_WW && law & HOP_WW) ||
            (kind == HOP_IS_NEXT && law & HOP_NEXT) || (kind == HOP_IS_RT && w->c.level.realtime))
            return kind;
    }
    return (enum hop)rng_below(w->g, HOP_KINDS);
}

/* Hops back from t, or around to it. */
static void put_hops(world *w, txn_id t, bool back)
{
    txn_id home = t;
    uint64_t n = back || !w->x->law->one ? rng_below(w->g, 4) : rng_below(w->g, 8) > 0;
    while (n--) {
        txn_id next = back && !n ? home : some_txn(w);
        switch (some_hop(w, back)) {
        case HOP_IS_SO: put(w, " so "); break;
        case HOP_IS_RT: put(w, " rt "); break;
        case HOP_IS_WW:
            put(w, " ww");
            put_key(w, some_key(w));
            put(w, " ");
            break;
        case HOP_IS_NEXT:
            put(w, " next");
            put_key(w, some_key(w));
            put(w, " ");
            put_txn(w, next);
            for (uint64_t y = rng_below(w->g, 3); y--;) {
                put(w, rng_below(w->g, 2) ? " behind" : " out");
                put_some_txn(w, false);
            }
            t = next;
            continue;
        case HOP_IS_RW:
            if (w->h->txn_op[next] == w->h->txn_op[next + 1]) return;
            put(w, " rw ");
            put_txn(w, next);
            w->writer = put_op_key(w, next, &w->key);
            put_writer(w);
            t = next;
            continue;
        default:
            if (w->h->txn_op[t] == w->h->txn_op[t + 1]) return;
            put(w, " wr");
            next = put_op_key(w, t, &w->key);
            if (next == NO_ID) next = some_txn(w);
            put(w, " ");
            break;
        }
        put_txn(w, next);
        t = next;
    }
}

static bool has_parts(const world *w)
{
    return w->c.level.id == LEVEL_INNODB_RR || w->c.level.id == LEVEL_INNODB_RR_TIGHT;
}

static void put_event_of(world *w, txn_id t)
{
    uint32_t ops = w->h->txn_op[t + 1] - w->h->txn_op[t];
    char number[24];
    if (w->x->si) put(w, rng_below(w->g, 2) ? "b:" : "c:");
    put_txn(w, t);
    if (!has_parts(w) || !ops || !rng_below(w->g, 3)) return;
    snprintf(number, sizeof number, ".%u", (unsigned)rng_below(w->g, ops));
    put(w, number);
}

static void put_event(world *w)
{
    put_event_of(w, some_txn(w));
}

/* Transactions that wait for each other, or something like it. */
static void put_stuck(world *w)
{
    put_some_txn(w, false);
    for (uint64_t n = 1 + rng_below(w->g, 5); n--;) switch (rng_below(w->g, 8)) {
        case 0:
            put(w, " fault");
            put_some_txn(w, false);
            break;
        case 1:
            put(w, " ver");
            put_key(w, some_key(w));
            put_some_txn(w, false);
            put_some_txn(w, false);
            break;
        case 2:
            put(w, " list");
            put_read(w);
            put_writer(w);
            put_some_txn(w, false);
            break;
        case 3:
            put(w, " out");
            put_some_txn(w, false);
            break;
        default:
            put(w, " wr");
            put_read(w);
            break;
        }
}

/* All of them, each by some read, and the steps that begin with one of them. */
static void put_whole_stuck(world *w)
{
    put_some_txn(w, false);
    for (uint32_t i = 0; i < w->n; i++) {
        op_id o;
        key_id k;
        char number[24];
        if (w->h->txn_op[w->in[i]] == w->h->txn_op[w->in[i] + 1] || !rng_below(w->g, 5)) continue;
        some_read(w, w->in[i], &o, &k);
        put(w, " wr ");
        put_txn(w, w->in[i]);
        snprintf(number, sizeof number, " %u", o - w->h->txn_op[w->in[i]]);
        put(w, number);
        put_key(w, k);
    }
    for (uint32_t i = 0; i < w->n; i++) {
        if (txn_status_of(w->h, w->in[i]) != TXN_UNKNOWN || !rng_below(w->g, 3)) continue;
        put(w, " out ");
        put_txn(w, w->in[i]);
    }
}

/* A beginning of something that was read, of a list more often than not. */
static void put_state(world *w)
{
    op_id o = 0;
    key_id k = 0;
    value_id v;
    txn_id t = 0;
    char number[40];
    uint32_t n = 0;
    for (int i = 0; i < 12; i++) {
        t = some_txn(w);
        if (w->h->txn_op[t] == w->h->txn_op[t + 1]) continue;
        some_read(w, t, &o, &k);
        if (!w->x->c.is_list[k] || !source_value(&w->x->s, t, o, k, &v)) continue;
        n = content(w->h, &v).n;
        break;
    }
    put_txn(w, t);
    snprintf(number, sizeof number, ".%u.", o - w->h->txn_op[t]);
    put(w, number);
    strbuf b;
    strbuf_init(&b, w->m);
    certificate_name(&b, w->h, key_atom(w->h, k));
    put(w, strbuf_cstr(&b));
    if (!rng_below(w->g, 8))
        put(w, ":s");
    else {
        snprintf(number, sizeof number, ":%u",
                 (unsigned)rng_below(w->g, n + 1 + !rng_below(w->g, 9)));
        put(w, number);
    }
}

static void put_chain(world *w)
{
    enum chain_rule rule = last_rule = (enum chain_rule)rng_below(w->g, CHAIN_RULES);
    put(w, " ");
    put(w, chain_rule_word(rule));
    switch (rule) {
    case CHAIN_READ:
    case CHAIN_SOURCE:
        put_read(w);
        put_writer(w);
        return;
    case CHAIN_OWN: put_read(w); return;
    case CHAIN_SAW:
        put_read(w);
        put(w, " ");
        put_state(w);
        return;
    default: break;
    }
    put_some_txn(w, rule == CHAIN_ONE);
    put(w, " ");
    put_state(w);
    if (rule == CHAIN_ONE) {
        put(w, " ");
        put_state(w);
    }
    if (rule == CHAIN_ON || rule == CHAIN_IN || rule == CHAIN_ONE) return;
    put_some_txn(w, true);
    if (rule == CHAIN_BETWEEN) put_some_txn(w, false);
}

/* A literal about what a list held. */
static void put_chain_literal(world *w)
{
    put_txn(w, rng_below(w->g, 4) ? some_txn(w) : NO_ID);
    put(w, "~");
    put_state(w);
    if (rng_below(w->g, 2)) return;
    put(w, "~");
    put_txn(w, rng_below(w->g, 4) ? some_txn(w) : NO_ID);
}

static void put_rup(world *w)
{
    char number[24];
    for (uint64_t i = rng_below(w->g, 3); i--;) {
        put(w, rng_below(w->g, 2) ? " !" : " ");
        if (rng_below(w->g, 4)) {
            put_event(w);
            put(w, "<");
            put_event(w);
        } else if (rng_below(w->g, 2)) {
            put_chain_literal(w);
        } else {
            put(w, "@");
            put_txn(w, some_txn(w));
        }
    }
    put(w, " :");
    for (uint64_t i = rng_below(w->g, 4); i--;) {
        snprintf(number, sizeof number, " %u", 1 + rng_below(w->g, (uint32_t)w->x->first.n));
        put(w, number);
    }
}

static void put_step(world *w, enum proof_step kind)
{
    txn_id t;
    w->line.n = w->line.pos = 0;
    put(w, proof_step_word(kind));
    switch (kind) {
    case PROOF_RT:
        put(w, " ");
        put_event(w);
        put(w, " ");
        put_event(w);
        break;
    case PROOF_PO:
        t = some_txn(w);
        put(w, " ");
        put_event_of(w, t);
        put(w, " ");
        put_event_of(w, rng_below(w->g, 8) ? t : some_txn(w));
        break;
    case PROOF_STUCK:
        if (rng_below(w->g, 2))
            put_stuck(w);
        else
            put_whole_stuck(w);
        break;
    case PROOF_SO:
        put_some_txn(w, false);
        put_some_txn(w, false);
        break;
    case PROOF_FAULT: put_some_txn(w, false); break;
    case PROOF_CHAIN: put_chain(w); break;
    case PROOF_INITIAL:
        put_read(w);
        put_read(w);
        break;
    case PROOF_SEES:
        t = put_read(w);
        put_writer(w);
        put_hops(w, t, false);
        break;
    case PROOF_AMONG:
    case PROOF_LOOP:
        t = some_txn(w);
        put(w, " ");
        put_txn(w, t);
        put_hops(w, t, true);
        break;
    case PROOF_OVERLAP:
    case PROOF_VER:
        put_key(w, some_key(w));
        put_some_txn(w, false);
        put_some_txn(w, false);
        break;
    case PROOF_ASSUME: put(w, rng_below(w->g, 2) ? " 1 1" : " 1"); break; /* none is declared */
    case PROOF_FROM: put_read(w); break;
    case PROOF_WR:
    case PROOF_TAKEN:
    case PROOF_SHOWS:
        put_read(w);
        put_writer(w);
        break;
    case PROOF_READ:
    case PROOF_LIST:
        put_read(w);
        put_writer(w);
        put_some_txn(w, false);
        break;
    case PROOF_TWICE: {
        char number[24];
        t = put_read(w);
        uint32_t ops = w->h->txn_op[t + 1] - w->h->txn_op[t];
        snprintf(number, sizeof number, " %u", rng_below(w->g, ops + 1));
        put(w, number);
        break;
    }
    case PROOF_CYCLE:
        for (uint64_t n = 1 + rng_below(w->g, 4); n--;) {
            put(w, " ");
            put_event(w);
        }
        break;
    case PROOF_RUP: put_rup(w); break;
    case PROOF_EXHAUSTIVE:
    case PROOF_STEPS: break;
    }
    put(w, "\n");
}

/* Is the step accepted?  Wrong text is not. */
static bool put_to_verifier(world *w, enum proof_step kind)
{
    const char *s;
    size_t n;
    guard *g = w->m->guard, outer = *g;
    prover *x = w->x;
    bool ok = false;
    if (!guard_armed(g)) {
        w->p.text = w->line.at;
        w->p.n = w->line.n;
        w->p.at = 0;
        w->p.line = 0;
        w->why = NULL;
        parse_line(&w->p);
        parse_word(&w->p, &s, &n);
        bool yes = prover_step(x, &w->p, kind);
        if (yes && w->p.now != w->p.end) {
            x->first.n--; /* a step that goes on is wrong text */
            yes = false;
        }
        guard_restore(g, &outer);
        ok = yes;
    } else {
        guard_restore(g, &outer);
    }
    if (!ok) x->lits.n = x->first.at[x->first.n - 1];
    if (!ok && x->side) memset(x->side, 0, w->h->txns); /* wrong text leaves it as it is */
    accepted[kind] += ok;
    if (kind == PROOF_CHAIN) rules[last_rule] += ok;
    return ok;
}

/* --- executions ------------------------------------------------------------------------------- */

enum { MOST_ELEMENTS = 256 };
typedef struct held { /* a content of a list key */
    value_id at[MOST_ELEMENTS];
    uint32_t n;
    bool scalar, known; /* known: the initial content is, or does not matter */
} held;

/* All that t did to k. */
static void apply_writes(const world *w, txn_id t, key_id k, held *x)
{
    const checker *c = &w->x->c;
    uint32_t lo, hi = recheck_own(c, t, k, NO_ID, &lo);
    for (; lo < hi; lo++) {
        enum op_kind kind = op_kind_of(w->h, c->w_op[lo]);
        if (kind != OP_APPEND) {
            x->n = 0;
            x->known = true;
        }
        x->scalar = kind == OP_WRITE;
        if (kind != OP_DELETE && x->n < MOST_ELEMENTS) x->at[x->n++] = w->h->op_value[c->w_op[lo]];
    }
}

/* Those that took part and have a version of k, in the order of their versions. */
static uint32_t versions(const world *w, key_id k, txn_id *t)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->c.ordered; i++)
        if (recheck_install(&w->x->c, w->order[i], k) != NO_ID) t[n++] = w->order[i];
    for (uint32_t i = 1; i < n && w->x->law->parts; i++)
        for (uint32_t j = i; j > 0 && w->place[prover_write_event(w->x, t[j - 1], k)] >
                                          w->place[prover_write_event(w->x, t[j], k)];
             j--) {
            txn_id swap = t[j];
            t[j] = t[j - 1];
            t[j - 1] = swap;
        }
    return n;
}

/* Whom the read saw in the execution. */
static txn_id source_in(const world *w, txn_id t, op_id o, key_id k, value_id v)
{
    const chosen_reads *all = w->c.points.n ? &w->c.point_choices : &w->c.choices;
    txn_id one = NO_ID;
    for (size_t i = 0; i < all->n; i++)
        if (all->at[i].op == o && all->at[i].key == k) return all->at[i].writer;
    source_of(&w->x->s, t, o, k, v, &one);
    return one;
}

/* What k held at first.  If the history does not tell, a read of a version that rests on it does;
   if there is none, it may have been anything. */
static held held_first(const world *w, key_id k)
{
    const checker *c = &w->x->c;
    held x = {.known = !c->open[k]}, direct = x;
    txn_id t[TXNS];
    uint32_t n = versions(w, k, t);
    seq init = content(w->h, &c->init[k]);
    if (x.known) {
        x.n = init.n;
        x.scalar = init.scalar;
        if (init.n) memcpy(x.at, init.at, init.n * sizeof *x.at);
        return x;
    }
    for (uint32_t i = 0; i < w->c.ordered; i++)
        for (op_id o = w->h->txn_op[w->order[i]]; o < w->h->txn_op[w->order[i] + 1]; o++) {
            value_id v;
            bool own;
            held y = {0};
            if (!source_value(&w->x->s, w->order[i], o, k, &v)) continue;
            seq saw = content(w->h, &v);
            if (recheck_internal(c, w->order[i], o, k, v) ||
                !source_external(c, w->order[i], o, k, &saw, &own))
                continue;
            txn_id from = source_in(w, w->order[i], o, k, v);
            for (uint32_t j = 0; j < n && from != NO_ID; j++) {
                apply_writes(w, t[j], k, &y);
                if (t[j] == from) break;
            }
            if (y.known || saw.n < y.n) continue;
            held *to = from == NO_ID ? &direct : &x;
            to->known = true;
            to->n = saw.n - y.n;
            to->scalar = from == NO_ID && saw.scalar;
            if (to->n) memcpy(to->at, saw.at, to->n * sizeof *to->at);
        }
    return direct.known ? direct : x;
}

static bool holds_state(const held *x, seq what, bool exact)
{
    if (!x->known || x->n != what.n) return false;
    if (exact && x->scalar != what.scalar) return false;
    return !x->n || !memcmp(x->at, what.at, x->n * sizeof *x->at);
}

/* A literal about what a list held, in the execution at hand. */
static bool list_literal(const world *w, const lit_key *l)
{
    const list_state *state = &w->x->states.at[l->b];
    txn_id t[TXNS], before = NO_ID;
    held x = held_first(w, state->key);
    if (l->kind == LIT_FIRST) return holds_state(&x, state->what, true);
    uint32_t n = versions(w, state->key, t), i = 0;
    for (; i < n && t[i] != l->a; i++) {
        apply_writes(w, t[i], state->key, &x);
        before = t[i];
    }
    if (i == n || !holds_state(&x, state->what, false)) return false;
    return l->kind == LIT_ON || before == l->c;
}

static bool literal_true(world *w, uint32_t lit)
{
    const lit_key *k = &w->x->vars.at[lit / 2];
    bool yes = false;
    if (k->kind >= LIT_ON) {
        while (w->known.n <= lit / 2) vec_push(w->m, &w->known, 0);
        uint8_t *known = &w->known.at[lit / 2];
        if (!*known) *known = list_literal(w, k) ? 1 : 2;
        return (*known == 1) != (lit & 1);
    }
    if (k->kind == LIT_BEFORE) {
        yes = w->place[k->a] < w->place[k->b];
    } else if (k->kind == LIT_IN) {
        for (uint32_t i = 0; i < w->c.ordered; i++) yes = yes || w->order[i] == k->a;
    } else {
        const chosen_reads *all = w->c.points.n ? &w->c.point_choices : &w->c.choices;
        for (size_t i = 0; i < all->n; i++) {
            const chosen *c = &all->at[i];
            yes = yes || (c->op == k->a && c->key == k->b && c->writer == k->c);
        }
    }
    return yes != (lit & 1);
}

static bool clause_true(world *w, size_t id)
{
    for (uint64_t i = w->x->first.at[id]; i < w->x->first.at[id + 1]; i++)
        if (literal_true(w, w->x->lits.at[i])) return true;
    return false;
}

/* Are all clauses true?  The one that failed last comes first. */
static bool all_true(world *w)
{
    size_t n = w->x->first.n - 1;
    for (size_t i = 0; i < n; i++) {
        size_t id = (w->last + i) % n;
        if (clause_true(w, id)) continue;
        w->last = id;
        return false;
    }
    return true;
}

/* Some places of the begins, from the i-th of the order on, make all clauses true. */
static bool some_begins(world *w, uint32_t i)
{
    if (!w->x->si || i == w->c.ordered) return all_true(w);
    for (uint32_t before = 0; before <= i; before++) {
        w->place[2 * w->order[i]] = 2 * before + 1;
        if (some_begins(w, i + 1)) return true;
    }
    return false;
}

/* At update serializability an order says in which order the versions of each key come; the
   updates, of which the clauses speak, may stand in any order that agrees with that. */
static bool some_updates(world *w, uint32_t i, unsigned used)
{
    const checker *c = &w->x->c;
    if (i == w->c.ordered) return all_true(w);
    for (uint32_t j = 0; j < w->c.ordered; j++) {
        txn_id t = w->order[j];
        bool may = !(used >> j & 1), late = c->w_first[t] == c->w_first[t + 1];
        for (uint32_t e = 0; e < j && may; e++)
            for (uint32_t k = c->w_first[t]; k < c->w_first[t + 1] && may; k++)
                may = used >> e & 1 || recheck_install(c, w->order[e], c->w_key.at[k]) == NO_ID;
        if (!may) continue;
        w->place[t] = 2 * i + 2 + (late ? 500 : 0);
        if (some_updates(w, i + 1, used | 1u << j)) return true;
    }
    return false;
}

/* InnoDB's levels: an order of the parts of the transactions, or something like it. */
static void some_points(world *w)
{
    bool nonsense = !rng_below(w->g, 8), tight = w->c.level.id == LEVEL_INNODB_RR_TIGHT;
    op_id next[TXNS]; /* NO_ID: the snapshot; past the last: nothing */
    w->c.points.n = 0;
    for (uint32_t i = 0; i < w->c.ordered; i++) next[i] = NO_ID;
    for (uint32_t open = w->c.ordered; open && w->c.points.n < 64;) {
        uint32_t i = (uint32_t)rng_below(w->g, w->c.ordered);
        txn_id t = w->order[i];
        op_id end = w->h->txn_op[t + 1];
        if (next[i] == end) continue;
        order_point x = {t, next[i]};
        if (nonsense && !rng_below(w->g, 4) && end > w->h->txn_op[t])
            x.op = w->h->txn_op[t] + (op_id)rng_below(w->g, end - w->h->txn_op[t]);
        vec_push(w->m, &w->c.points, x);
        /* a wrong number of points must not pass either */
        bool last = tight && next[i] != NO_ID && rng_below(w->g, 8);
        op_id o = next[i] == NO_ID ? w->h->txn_op[t] : next[i] + 1;
        while (o < end && w->h->op_kind[o] == OP_READ) o++;
        next[i] = last ? end : o;
        open -= next[i] == end;
    }
}

/* What the reads saw along the points need not be what they saw along the commits. */
static void some_point_choices(world *w)
{
    sources *s = &w->x->s;
    w->c.point_choices.n = 0;
    for (size_t i = 0; i < w->c.choices.n; i++) {
        chosen c = w->c.choices.at[i];
        txn_id t = txn_of_op(w->h, c.op), other;
        value_id v;
        uint32_t at = (uint32_t)rng_below(w->g, w->c.ordered + 1u);
        other = at < w->c.ordered ? w->order[at] : NO_ID;
        source_value(s, t, c.op, c.key, &v);
        if (source_may(s, t, c.op, c.key, v, other)) c.writer = other;
        vec_push(w->m, &w->c.point_choices, c);
    }
}

/* The place of each part: that of the last point of its transaction up to it, and the operations of
   one point in their order.  What no point covers touches nothing that was ever written. */
static void place_parts(world *w)
{
    enum { APART = 64 };
    uint32_t txns = (uint32_t)w->h->txns;
    for (txn_id t = 0; t < txns; t++) {
        uint32_t first = UINT32_MAX, at = (1000 + t) * APART;
        for (uint32_t i = 0; i < w->c.ordered; i++)
            if (w->order[i] == t) at = (i + 1) * APART;
        bool in = at < 1000 * APART;
        for (uint32_t i = 0; in && i < w->c.points.n; i++)
            if (w->c.points.at[i].txn == t && first == UINT32_MAX) first = at = (i + 2) * APART;
        bool late = first != UINT32_MAX && w->c.points.at[first / APART - 2].op != NO_ID;
        w->place[t] = late ? at - 1 : at; /* the snapshot */
        for (op_id o = w->h->txn_op[t]; o < w->h->txn_op[t + 1]; o++) {
            for (uint32_t i = 0; in && i < w->c.points.n; i++)
                if (w->c.points.at[i].txn == t && w->c.points.at[i].op != NO_ID &&
                    w->c.points.at[i].op <= o)
                    at = (i + 2) * APART;
            w->place[txns + o] = at + 1 + (o - w->h->txn_op[t]);
        }
        /* tight: all that it locked is one event, of its first operation */
        op_id last = w->h->txn_op[t + 1];
        if (w->c.level.id == LEVEL_INNODB_RR_TIGHT && last > w->h->txn_op[t])
            w->place[txns + w->h->txn_op[t]] = w->place[txns + last - 1];
    }
}

/* InnoDB's levels: orders of the parts, of which every one that passes is an execution. */
static bool points_pass(world *w)
{
    const char *why;
    bool any = false;
    for (int i = 0; i < POINTS; i++) {
        w->c.points.n = w->c.point_choices.n = 0;
        if (i) some_points(w), some_point_choices(w);
        bool yes = claim_recheck(&w->c, w->h, w->brief, &why);
        mem_free_all(w->brief);
        any = any || yes;
        if (!yes || w->bad || w->x->first.n == 1) continue;
        place_parts(w);
        w->known.n = 0;
        if (!all_true(w)) w->bad = w->last + 1;
        if (!i)
            break; /* the order serves for both, and whatever points are given are not looked at */
    }
    w->c.points.n = w->c.point_choices.n = 0;
    return any;
}

static void execution(world *w)
{
    prover *x = w->x;
    const char *why;
    if (w->tries++ > TRIES) return;
    if (has_parts(w)) {
        w->found += points_pass(w);
        return;
    }
    bool yes = claim_recheck(&w->c, w->h, w->brief, &why);
    mem_free_all(w->brief);
    if (!yes) return;
    w->found++;
    if (!x || w->bad) return;
    /* those that took no part stand after all others */
    for (txn_id t = 0; t < w->h->txns; t++) {
        if (x->si) w->place[2 * t] = 1000 + 4 * t;
        w->place[x->si ? 2 * t + 1 : t] = 1002 + 4 * t;
    }
    for (uint32_t i = 0; i < w->c.ordered; i++) {
        txn_id t = w->order[i];
        w->place[x->si ? 2 * t + 1 : t] = 2 * i + 2;
    }
    if (x->first.n == 1) return;
    w->known.n = 0;
    bool fits = x->law->reads == READS_UPDATES ? some_updates(w, 0, 0) : some_begins(w, 0);
    if (!fits) w->bad = w->last + 1;
}

static void choose(world *w, size_t i)
{
    while (i < w->open.n) { /* of one that takes part */
        txn_id t = txn_of_op(w->h, w->open.at[i].op);
        bool in = false;
        for (uint32_t j = 0; j < w->c.ordered; j++) in = in || w->order[j] == t;
        if (in) break;
        i++;
    }
    if (i == w->open.n || w->tries > TRIES) {
        execution(w);
        return;
    }
    chosen c = w->open.at[i];
    txn_id t = txn_of_op(w->h, c.op);
    value_id v;
    sources *s = &w->x->s;
    source_value(s, t, c.op, c.key, &v);
    for (uint32_t j = 0; j <= w->c.ordered; j++) {
        c.writer = j < w->c.ordered ? w->order[j] : NO_ID;
        if (!source_may(s, t, c.op, c.key, v, c.writer)) continue;
        vec_push(w->m, &w->c.choices, c);
        choose(w, i + 1);
        w->c.choices.n--;
    }
}

static void orders(world *w)
{
    bool whole = true;
    for (uint32_t i = 0; i < w->n; i++)
        whole = whole && (w->placed[i] || txn_status_of(w->h, w->in[i]) == TXN_UNKNOWN);
    if (whole) choose(w, 0);
    for (uint32_t i = 0; i < w->n; i++) {
        if (w->placed[i]) continue;
        w->placed[i] = true;
        w->order[w->c.ordered++] = w->in[i];
        orders(w);
        w->c.ordered--;
        w->placed[i] = false;
    }
}

/* The reads with a choice. */
static void load_open(world *w)
{
    value_id v;
    txn_id one;
    w->open.n = 0;
    w->unsure = false;
    for (uint32_t i = 0; i < w->n; i++)
        for (op_id o = w->h->txn_op[w->in[i]]; o < w->h->txn_op[w->in[i] + 1]; o++)
            for (key_id k = 0; k < history_keys(w->h); k++) {
                if (!source_value(&w->x->s, w->in[i], o, k, &v)) continue;
                enum source_kind kind = source_of(&w->x->s, w->in[i], o, k, v, &one);
                w->unsure = w->unsure || kind == SOURCE_UNSURE;
                /* (of a list, equal contents may be of others: a claim names every source) */
                bool named = kind == SOURCE_ONE && w->x->c.is_list[k];
                if ((kind != SOURCE_MANY && !named) || w->c.level.id == LEVEL_RU) continue;
                chosen c = {o, k, NO_ID};
                vec_push(w->m, &w->open, c);
            }
}

/* Claims of any shape: transactions left out, repeated or aborted, reads of whatever from whomever.
   True if one passes. */
static bool nonsense_passes(world *w)
{
    txn_id order[TXNS + 2];
    const char *why;
    bool yes = false;
    claim c = w->c;
    memset(&c.choices, 0, sizeof c.choices);
    memset(&c.points, 0, sizeof c.points);
    for (int i = 0; i < NONSENSE && !yes; i++) {
        c.order = order;
        c.ordered = 0;
        c.choices.n = c.points.n = c.point_choices.n = 0;
        for (uint32_t j = 0; j < w->n; j++) order[c.ordered++] = w->in[j];
        for (uint32_t j = 0; j < w->n; j++) { /* any order of them, and then perhaps not */
            uint32_t a = (uint32_t)rng_below(w->g, w->n);
            txn_id t = order[a];
            order[a] = order[j];
            order[j] = t;
        }
        if (!rng_below(w->g, 4)) order[c.ordered++] = (txn_id)rng_below(w->g, w->h->txns);
        if (!rng_below(w->g, 4)) c.ordered -= c.ordered > 0;
        for (uint64_t n = rng_below(w->g, 5); n--;) {
            chosen x = {(op_id)rng_below(w->g, w->h->ops), some_key(w),
                        rng_below(w->g, 4) ? some_txn(w) : NO_ID};
            vec_push(w->m, &c.choices, x);
            if (rng_below(w->g, 2)) vec_push(w->m, &c.point_choices, x);
        }
        for (uint64_t n = rng_below(w->g, 2) * rng_below(w->g, 10); n--;) {
            order_point x = {some_txn(w), NO_ID};
            if (rng_below(w->g, 2)) x.op = (op_id)rng_below(w->g, w->h->ops);
            vec_push(w->m, &c.points, x);
        }
        yes = claim_recheck(&c, w->h, w->brief, &why);
        mem_free_all(w->brief);
    }
    return yes;
}

/* --- questions -------------------------------------------------------------------------------- */

static bool fail(const world *w, const char *what, const char *trace, const char *step_text)
{
    printf("# %s, session order %s, ryow %d: %s\n%s%s\n", w->c.level.name,
           w->c.session_order ? "on" : "off", (int)w->c.ryow, what, step_text, trace);
    return false;
}

static bool ask_question(world *w, int expected, const char *trace)
{
    text said = {0};
    size_t emptied = 0; /* the first empty clause, + 1 */
    bool ok = true;
    w->x = prover_new(w->m, w->h, &w->c, &w->why);
    bool proofs = w->x != NULL;
    if (!proofs) { /* its sources are needed all the same */
        claim other = w->c;
        level_named(&other.level, "read-committed");
        claim *kept = mem_get(w->m, sizeof *kept);
        *kept = other;
        w->x = prover_new(w->m, w->h, kept, &w->why);
    }
    load_open(w);
    bool lists = false;
    for (key_id k = 0; k < history_keys(w->h); k++) lists = lists || w->x->c.is_list[k];
    VEC(size_t) at = {0}; /* where the text of each accepted step begins */
    for (int i = 0; proofs && i < STEPS; i++) {
        enum proof_step kind = (enum proof_step)rng_below(w->g, PROOF_STEPS);
        if (w->x->law->hops && rng_below(w->g, 2)) kind = PROOF_SEES;
        if (w->x->law->reads == READS_UPDATES && rng_below(w->g, 2)) kind = PROOF_LOOP;
        if (w->x->law->parts && !rng_below(w->g, 3)) kind = PROOF_STUCK;
        if (w->x->c.serial && !rng_below(w->g, 3)) kind = PROOF_AMONG;
        if (lists && rng_below(w->g, 2)) kind = PROOF_CHAIN;
        if (kind == PROOF_EXHAUSTIVE && i) continue; /* once is enough: it is slow */
        if (!i) kind = PROOF_EXHAUSTIVE;
        put_step(w, kind);
        if (!put_to_verifier(w, kind)) continue;
        vec_push(w->m, &at, said.n);
        add_text(w->line.at, w->line.n, &said);
        if (!emptied && prover_done(w->x)) emptied = at.n;
    }
    w->tries = w->found = w->bad = w->last = 0;
    w->c.ordered = 0;
    w->c.order = w->order;
    w->c.choices.n = 0;
    prover *x = w->x;
    if (!proofs) x->first.n = 1; /* no clauses */
    if (w->open.n <= OPEN) orders(w);
    bool whole = w->tries <= TRIES && w->open.n <= OPEN;
    empty_clauses += emptied > 0;
    executions += w->found;
    asked++;
    if (expected == ORACLE_VIOLATED && (w->found || nonsense_passes(w)))
        ok = fail(w, "a forged order passes", trace, "");
    if (expected == ORACLE_HOLDS && emptied)
        ok = fail(w, "a falsehood is proved", trace, said.at + at.at[emptied - 1]);
    if (ok && w->bad)
        ok = fail(w, "a step is false in an execution", trace, said.at + at.at[w->bad - 1]);
    /* InnoDB's levels have points, of which only some are tried */
    bool every = whole && !w->unsure && !strstr(w->c.level.name, "innodb");
    /* ... and of mixtures some are refused */
    if (!proofs && strstr(w->c.level.name, "mixed")) every = false;
    if (ok && expected == ORACLE_HOLDS && !w->found && every)
        ok = fail(w, "it holds, and no order passes", trace, "");
    skipped += !whole;
    free(said.at);
    return ok;
}

static bool ask_questions(world *w, oracle *o, const char *trace)
{
    claim was[ASKED];
    int answer[ASKED];
    bool ok = true;
    for (int i = 0; i < ASKED && ok; i++) {
        const char *name = levels[rng_below(w->g, ORACLE_LEVELS)];
        while (!strstr(name, only)) name = levels[rng_below(w->g, ORACLE_LEVELS)];
        w->c = (claim){.ryow = (enum ryow)rng_below(w->g, 3), .outcome = OUTCOME_HOLDS};
        if (i) w->c.ryow = was[0].ryow; /* implications are between levels */
        level_named(&w->c.level, name);
        w->c.session_order = level_session_order(&w->c.level, rng_below(w->g, 2));
        oracle_question q = {w->c.level.name, w->c.session_order, (oracle_ryow)w->c.ryow, 0};
        answer[i] = oracle_check(o, &q);
        was[i] = w->c;
        if (answer[i] == ORACLE_BAD_HINT || answer[i] == ORACLE_NOTHING) return true;
        for (int j = 0; j < i; j++)
            for (int swap = 0; swap < 2; swap++) {
                int a = swap ? i : j, b = swap ? j : i;
                if (!claim_implies(&was[a], &was[b])) continue;
                implied++;
                if (answer[a] != ORACLE_HOLDS || answer[b] != ORACLE_VIOLATED) continue;
                printf("# %s does not imply %s\n%s\n", was[a].level.name, was[b].level.name, trace);
                ok = false;
            }
        ok = ask_question(w, answer[i], trace) && ok;
        memset(&w->open, 0, sizeof w->open);
        memset(&w->known, 0, sizeof w->known);
        mem_free_all(w->m);
    }
    return ok;
}

/* False: too many transactions for this test. */
static bool tiny(world *w)
{
    w->n = 0;
    if (w->h->txns > 6 || w->h->txns + w->h->ops >= EVENTS) return false;
    for (txn_id t = 0; t < w->h->txns; t++) {
        if (txn_status_of(w->h, t) == TXN_ABORTED) continue;
        if (w->n == TXNS) return false;
        w->in[w->n++] = t;
    }
    return w->n > 0 && w->h->ops > 0 && history_keys(w->h) > 0;
}

static void *reallocate(void *ud, void *p, size_t old, size_t n)
{
    (void)ud, (void)old;
    if (n) return realloc(p, n);
    free(p);
    return NULL;
}

/* 1 passed, 0 failed, -1 does not count. */
static int one_history(ratel *r, rng *g, uint64_t seed, const char *profile)
{
    size_t n;
    char err[256], *t = random_history(seed, profile, &n);
    t = random_levels(t, 3 * seed + seed % 2, &n); /* none that PostgreSQL does not have */
    text in = {t, n, 0, 0};
    ratel_history *h = NULL;
    oracle *o = oracle_parse(t, n, err, sizeof err);
    int result = -1;
    if (o && !ratel_history_read(&h, r, "ratel", read_text, &in)) {
        guard border;
        mem m, of_question, of_execution;
        world *w = calloc(1, sizeof *w);
        if (!w) abort();
        guard_init(&border);
        mem_init(&m, reallocate, NULL, &border);
        mem_init(&of_question, reallocate, NULL, &border);
        mem_init(&of_execution, reallocate, NULL, &border);
        w->g = g;
        w->h = history_model(h);
        w->m = &of_question;
        w->brief = &of_execution;
        if (guard_armed(&border)) {
            printf("# %s\n%s\n", border.text, t);
            result = 0;
        } else if (tiny(w)) {
            w->p.guard = &border;
            names_init(&w->p.names, w->h, &m);
            result = ask_questions(w, o, t);
        }
        mem_free_all(&of_execution);
        mem_free_all(&of_question);
        mem_free_all(&m);
        free(w->line.at);
        free(w);
    }
    ratel_history_free(h);
    oracle_free(o);
    free(t);
    return result;
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 2000;
    const char *env = getenv("RATEL_TEST_SEED");
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : env ? strtoull(env, NULL, 10) : 1;
    uint64_t passed = 0, failed = 0, profiles = 0;
    bool known = false;
    if (argc > 3) only = argv[3];
    for (int i = 0; i < ORACLE_LEVELS; i++) known = known || strstr(levels[i], only);
    if (!known) {
        printf("# no level is called %s\n0 passed, 1 failed\n", only);
        return 1;
    }
    rng g;
    ratel *r;
    if (ratel_open(&r, NULL)) return 1;
    rng_seed(&g, seed);
    while (random_profiles[profiles]) profiles++;
    printf("# %" PRIu64 " histories from seed %" PRIu64 "\n", count, seed);
    for (uint64_t i = 0; passed + failed < count && failed < 10; i++) {
        static const char *const lists[] = {"lists-set", "lists-dup", "lists-hints"};
        uint64_t at = i % (profiles + 3);
        int ok = one_history(r, &g, seed * 1000003 + i,
                             at < profiles ? random_profiles[at] : lists[at - profiles]);
        passed += ok > 0;
        failed += ok == 0;
    }
    for (int i = 0; i < PROOF_STEPS; i++) {
        printf("# %-10s accepted %" PRIu64 "\n", proof_step_word((enum proof_step)i), accepted[i]);
        if (i == PROOF_ASSUME) { /* nothing is declared here, so nothing may be assumed */
            failed += accepted[i] != 0;
            continue;
        }
        if (count < 1000 || accepted[i] || *only) continue;
        printf("# a kind of step that was never accepted was not tested\n");
        failed++;
    }
    for (int i = 0; i < CHAIN_RULES; i++) {
        printf("# chain %-8s accepted %" PRIu64 "\n", chain_rule_word((enum chain_rule)i),
               rules[i]);
        if (count < 1000 || rules[i] || *only) continue;
        printf("# a rule that was never accepted was not tested\n");
        failed++;
    }
    printf("# %" PRIu64 " questions, %" PRIu64 " executions, %" PRIu64 " questions too large, "
           "%" PRIu64 " empty clauses, %" PRIu64 " implications\n",
           asked, executions, skipped, empty_clauses, implied);
    ratel_close(r);
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", passed, failed);
    return failed > 0;
}
