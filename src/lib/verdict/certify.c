/*
 * certify.c - answers as claims for the second opinion (src/lib/verify), and as certificates.
 *
 * What holds has its witness already: the order and the choices that the verdict keeps.  What is
 * violated is decided once more, with a log from which decide/proof/justify.c makes the steps.  The
 * verdict may show the anomaly of a weaker level; the certificate is about the level asked for.
 * No proof of a violation leaves here that certificate_verify does not accept; an order is what the
 * answer was found with, and replaying it once more would cost more than writing it.
 */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "asg/list_slots.h"
#include "decide/proof/justify.h"
#include "history/key_sessions.h"
#include "order/added_order.h"
#include "verdict/subhistory.h"
#include "verdict/sums.h"
#include "verdict/describe.h"
#include "verdict/fuzzy_read.h"
#include "verify/certificate.h"
#include "verify/recheck.h"

claim claim_of(const verdict *v)
{
    claim c = {.level = v->level,
               .session_order = v->session_order,
               .ryow = v->ryow,
               .drift = v->drift,
               .outcome = v->outcome,
               .order = v->order,
               .ordered = v->ordered,
               .choices = v->choices,
               .points = v->points,
               .point_choices = v->point_choices,
               .events = v->events,
               .anomaly = v->anomaly,
               .reason = v->reason,
               .cycle = v->cycle,
               .core = v->core,
               .trusted = v->trusted,
               .at_op = v->at_op,
               .at_key = v->at_key,
               .through = v->through};
    /* What was shown is the stronger level. */
    if (c.through && c.outcome == OUTCOME_HOLDS) {
        level_named(&c.level, c.through);
        c.session_order = v->through_so;
    }
    return c;
}

bool recheck(const verdict *v, const history *h, mem *m, const char **why)
{
    claim c = claim_of(v);
    if (history_has_sums(h))
        guard_fail(m->guard, GUARD_UNSUPPORTED,
                   "answers about counters and banks are not replayed");
    if (v->aborted_read) h = verify_aborted_parts(history_as_recorded(h), m);
    return claim_recheck(&c, h, m, why);
}

/* --- holds ------------------------------------------------------------------------------------ */

#define NAMES_A_LINE 16

/* The number of an operation in its transaction; of a part, that in the whole history. */
/* How the graph of the claim is made. */
static unsigned graph_flags(const verdict *v, const history *h)
{
    return asg_level_flags(v->level.id) | (h->init_unknown ? ASG_INIT_FREE : 0);
}

static uint32_t op_number(const part *x, const history *h, op_id o)
{
    txn_id t = txn_of_op(h, o);
    assert(o < h->ops && h->txn_op[t] <= o && o < h->txn_op[t + 1]);
    if (!x) return o - h->txn_op[t];
    return x->ops.at[x->op_kept[o]].whole - x->whole->txn_op[x->txn[x->kept[t]]];
}

static void write_op(strbuf *b, const part *x, const history *h, op_id o, key_id k)
{
    strbuf_char(b, ' ');
    certificate_txn(b, h, txn_of_op(h, o));
    strbuf_printf(b, " %u ", op_number(x, h, o));
    certificate_name(b, h, key_atom(h, k));
}

static void write_writer(strbuf *b, const history *h, txn_id t)
{
    if (t == NO_ID)
        strbuf_str(b, "init");
    else
        certificate_txn(b, h, t);
}

/* Returns how many lines that is. */
static uint64_t write_reads(strbuf *b, const history *h, const char *word, const chosen_reads *x)
{
    for (size_t i = 0; i < x->n; i++) {
        strbuf_str(b, word);
        write_op(b, NULL, h, x->at[i].op, x->at[i].key);
        strbuf_char(b, ' ');
        write_writer(b, h, x->at[i].writer);
        strbuf_char(b, '\n');
        guard_tick(b->mem->guard);
    }
    return x->n;
}

static uint64_t write_points(strbuf *b, const history *h, const point_order *x)
{
    uint64_t lines = 0;
    for (size_t i = 0; i < x->n; i++) {
        if (i % NAMES_A_LINE == 0) {
            strbuf_str(b, i ? "\npoints" : "points");
            lines++;
        }
        strbuf_char(b, ' ');
        certificate_txn(b, h, x->at[i].txn);
        if (x->at[i].op != NO_ID) strbuf_printf(b, ".%u", op_number(NULL, h, x->at[i].op));
        guard_tick(b->mem->guard);
    }
    if (x->n) strbuf_char(b, '\n');
    return lines;
}

/* Under what modules added: every event in its place. */
static uint64_t write_events(strbuf *b, const history *h, const event_order *x)
{
    uint64_t lines = 0;
    for (size_t i = 0; i < x->n; i++) {
        if (i % NAMES_A_LINE == 0) {
            strbuf_str(b, i ? "\nevents" : "events");
            lines++;
        }
        strbuf_char(b, ' ');
        assumptions_event(b, h, x->at[i]);
        guard_tick(b->mem->guard);
    }
    if (x->n) strbuf_char(b, '\n');
    return lines;
}

static void write_holds(const verdict *v, const history *h, strbuf *b)
{
    uint64_t lines = 0;
    assert(v->outcome == OUTCOME_HOLDS && (v->order || !v->ordered));
    for (uint32_t i = 0; i < v->ordered; i++) {
        if (i % NAMES_A_LINE == 0) {
            strbuf_str(b, i ? "\norder" : "order");
            lines++;
        }
        strbuf_char(b, ' ');
        certificate_txn(b, h, v->order[i]);
        guard_tick(b->mem->guard);
    }
    if (v->ordered) strbuf_char(b, '\n');
    lines += write_reads(b, h, "reads", &v->choices);
    lines += write_points(b, h, &v->points);
    lines += write_reads(b, h, "point-reads", &v->point_choices);
    lines += write_events(b, h, &v->events);
    strbuf_printf(b, "end %" PRIu64 "\n", lines);
}

/* --- violated --------------------------------------------------------------------------------- */

typedef struct scribe {
    const order_problem *p;
    const history *h;
    strbuf *b;
    const part *part;       /* what h is, or NULL */
    const uint32_t *number; /* of each addition in the head, from 1; NULL: there are none */
} scribe;

static void write_node(const scribe *s, node_id v)
{
    strbuf_char(s->b, ' ');
    write_writer(s->b, s->h, v == NO_ID ? NO_ID : s->p->g->node_txn[v]);
}

static void write_event(const scribe *s, uint32_t e)
{
    const asg *g = s->p->g;
    if (s->p->added && e >= s->p->added->first_point) {
        strbuf_printf(s->b, "p:%u", e - s->p->added->first_point);
        return;
    }
    if (s->p->si) strbuf_str(s->b, e % 2 ? "c:" : "b:");
    certificate_txn(s->b, s->h, g->node_txn[txn_of(s->p, e)]);
    if (!g->whole || g->part_op[e] == NO_ID) return;
    /* A current part is named by something that it did: by what it installs, or read.  A plain read
       of a list after own appends has no part of its own: it is in that of the last of these. */
    bool installs = g->inst_first[e] < g->inst_first[e + 1];
    op_id o = installs ? g->inst_op[g->inst_first[e]] : g->ob_op[g->ob_first[e]];
    if (!installs && !(s->h->op_kind[o] & OP_LOCK)) o = g->part_op[e];
    strbuf_printf(s->b, ".%u", op_number(s->part, s->h, o));
}

/* A content of a list key, by a read that begins with it. */
static void write_content(const scribe *s, uint32_t content)
{
    const list_content *c = &s->p->g->slots->chains.content.at[content];
    assert(content < s->p->g->slots->chains.content.n && c->shown < s->h->ops);
    certificate_txn(s->b, s->h, txn_of_op(s->h, c->shown));
    strbuf_printf(s->b, ".%u.", op_number(s->part, s->h, c->shown));
    certificate_name(s->b, s->h, key_atom(s->h, c->key));
    if (c->scalar)
        strbuf_str(s->b, ":s");
    else
        strbuf_printf(s->b, ":%u", c->n);
}

static void write_chain_literal(const scribe *s, proof_literal x)
{
    if (x.kind == LITERAL_FIRST)
        strbuf_str(s->b, "init");
    else
        certificate_txn(s->b, s->h, s->p->g->node_txn[x.a]);
    strbuf_char(s->b, '~');
    write_content(s, x.b);
    if (x.kind != LITERAL_RIGHT) return;
    strbuf_char(s->b, '~');
    write_writer(s->b, s->h, x.c == NO_ID ? NO_ID : s->p->g->node_txn[x.c]);
}

static void write_literal(const scribe *s, proof_literal x)
{
    strbuf *b = s->b;
    const history *h = s->h;
    strbuf_str(b, x.negated ? " !" : " ");
    switch (x.kind) {
    case LITERAL_BEFORE:
        write_event(s, x.a);
        strbuf_char(b, '<');
        write_event(s, x.b);
        break;
    case LITERAL_IN:
        strbuf_char(b, '@');
        certificate_txn(b, h, s->p->g->node_txn[x.a]);
        break;
    case LITERAL_CHOSEN: strbuf_printf(b, "#%u.%u", s->number[x.a], x.b + 1); break;
    case LITERAL_STANDS:
    case LITERAL_RIGHT:
    case LITERAL_FIRST: write_chain_literal(s, x); break;
    default: {
        certificate_txn(b, h, txn_of_op(h, x.a));
        strbuf_printf(b, ".%u.", op_number(s->part, h, x.a));
        certificate_name(b, h, key_atom(h, x.b));
        strbuf_char(b, '=');
        write_writer(b, h, x.c == NO_ID ? NO_ID : s->p->g->node_txn[x.c]);
        break;
    }
    }
}

static void write_hop(const scribe *s, const uint32_t *words)
{
    static const char *const names[] = {
        [HOP_SO] = " so",   [HOP_RT] = " rt",     [HOP_WR] = " wr",
        [HOP_WW] = " ww",   [HOP_NEXT] = " next", [HOP_BEHIND] = " behind",
        [HOP_OUT] = " out", [HOP_RW] = " rw",     [HOP_ADDED] = " assumed"};
    const asg *g = s->p->g;
    const proof_hop x = {words[0], words[1], words[2], words[3]};
    assert(x.kind < sizeof names / sizeof *names && names[x.kind]);
    strbuf_str(s->b, names[x.kind]);
    if (x.kind == HOP_ADDED) strbuf_printf(s->b, " %u", s->number[x.with]);
    if (x.kind == HOP_RW) write_node(s, x.to);
    if (x.kind == HOP_WR || x.kind == HOP_RW) {
        op_id o = g->ob_op[x.with];
        strbuf_printf(s->b, " %u ", op_number(s->part, s->h, o));
        certificate_name(s->b, s->h, key_atom(s->h, g->ob_key[x.with]));
    }
    if (x.kind == HOP_WW || x.kind == HOP_NEXT) {
        strbuf_char(s->b, ' ');
        certificate_name(s->b, s->h, key_atom(s->h, x.with));
    }
    write_node(s, x.kind == HOP_RW ? x.from : x.to);
}

static void write_stuck(const scribe *s, const uint32_t *words, size_t n)
{
    const asg *g = s->p->g;
    for (size_t i = 0; i < n; i += 4) {
        const proof_hop x = {words[i], words[i + 1], words[i + 2], words[i + 3]};
        const edge *e = x.kind == HOP_AFTER ? &g->extra.at[x.with] : NULL;
        switch ((enum hop_kind)x.kind) {
        case HOP_WAITS:
            strbuf_str(s->b, " wr");
            write_op(s->b, s->part, s->h, x.with, x.from);
            break;
        case HOP_AFTER:
            strbuf_str(s->b, e->ob == NO_ID ? " ver " : " list");
            if (e->ob == NO_ID)
                certificate_name(s->b, s->h, key_atom(s->h, e->key));
            else
                write_op(s->b, s->part, s->h, g->ob_op[e->ob], e->key);
            write_node(s, x.from);
            write_node(s, x.to);
            break;
        default:
            strbuf_str(s->b, x.kind == HOP_OUT ? " out" : " fault");
            write_node(s, x.to);
            break;
        }
    }
}

/* What a module added: its number in the head, and which of its sets and edges. */
static void write_assumption(const scribe *s, const proof_line *x)
{
    strbuf_printf(s->b, " %u", s->number[x->t]);
    if (x->w != NO_ID) strbuf_printf(s->b, " %u", x->w + 1);
    if (x->u != NO_ID) strbuf_printf(s->b, " %u", x->u + 1);
}

/* A rule of chains and its arguments (opt/chain_rules.def). */
static void write_chain(const scribe *s, const proof_line *x)
{
    enum chain_rule rule = (enum chain_rule)x->rule;
    bool of_read = rule == CHAIN_READ || rule == CHAIN_SOURCE || rule == CHAIN_SAW;
    strbuf_char(s->b, ' ');
    strbuf_str(s->b, chain_rule_word(rule));
    if (of_read || rule == CHAIN_OWN)
        write_op(s->b, s->part, s->h, x->op,
                 of_read ? x->key : s->p->g->slots->chains.content.at[x->content].key);
    else
        write_node(s, x->t);
    if (rule != CHAIN_READ && rule != CHAIN_SOURCE && rule != CHAIN_OWN) {
        strbuf_char(s->b, ' ');
        write_content(s, x->content);
    }
    if (rule == CHAIN_ONE) {
        strbuf_char(s->b, ' ');
        write_content(s, x->u);
    }
    if (rule == CHAIN_RIGHT || rule == CHAIN_LEFT || rule == CHAIN_IS || rule == CHAIN_READ ||
        rule == CHAIN_SOURCE || rule == CHAIN_BETWEEN)
        write_node(s, x->w);
    if (rule == CHAIN_BETWEEN) write_node(s, x->u);
}

static void write_line(const scribe *s, const justify *j, const proof_line *x)
{
    strbuf *b = s->b;
    const uint32_t *pool = justify_pool(j);
    switch ((enum proof_step)x->kind) {
    case PROOF_PO:
    case PROOF_RT:
        strbuf_char(b, ' ');
        write_event(s, x->t);
        strbuf_char(b, ' ');
        write_event(s, x->w);
        break;
    case PROOF_SO:
        write_node(s, x->t);
        write_node(s, x->w);
        break;
    case PROOF_FAULT: write_node(s, x->t); break;
    case PROOF_ASSUME: write_assumption(s, x); break;
    case PROOF_CHAIN: write_chain(s, x); break;
    case PROOF_INITIAL:
        write_op(b, s->part, s->h, x->op, x->key);
        write_op(b, s->part, s->h, x->w, x->key);
        break;
    case PROOF_SEES:
        write_op(b, s->part, s->h, x->op, x->key);
        write_node(s, x->w);
        for (size_t i = x->first; i < x->first + x->n; i += 4) write_hop(s, pool + i);
        break;
    case PROOF_AMONG:
    case PROOF_LOOP:
        write_node(s, x->t);
        for (size_t i = x->first; i < x->first + x->n; i += 4) write_hop(s, pool + i);
        break;
    case PROOF_STUCK:
        write_node(s, x->t);
        write_stuck(s, pool + x->first, x->n);
        break;
    case PROOF_OVERLAP:
    case PROOF_VER:
        strbuf_char(b, ' ');
        certificate_name(b, s->h, key_atom(s->h, x->key));
        write_node(s, x->w);
        write_node(s, x->u);
        break;
    case PROOF_FROM: write_op(b, s->part, s->h, x->op, x->key); break;
    case PROOF_WR:
    case PROOF_TAKEN:
    case PROOF_SHOWS:
        write_op(b, s->part, s->h, x->op, x->key);
        write_node(s, x->w);
        break;
    case PROOF_READ:
    case PROOF_LIST:
        write_op(b, s->part, s->h, x->op, x->key);
        write_node(s, x->w);
        write_node(s, x->u);
        break;
    case PROOF_CYCLE:
        for (size_t i = 0; i < x->n; i++) {
            strbuf_char(b, ' ');
            write_event(s, pool[x->first + i]);
        }
        break;
    case PROOF_RUP:
        for (size_t i = 0; i < x->n; i++) write_literal(s, justify_literal(j, pool[x->first + i]));
        strbuf_str(b, " :");
        for (size_t i = 0; i < x->hn; i++) strbuf_printf(b, " %u", pool[x->hints + i]);
        break;
    case PROOF_TWICE: /* written by write_twice */
    case PROOF_EXHAUSTIVE:
    case PROOF_STEPS: break;
    }
}

static void write_steps(const order_problem *p, const part *of, const justify *j,
                        const uint32_t *numbers, strbuf *b)
{
    scribe s = {p, p->g->h, b, of, numbers};
    size_t n = justify_count(j);
    assert(n && (!of || &of->h == s.h)); /* a proof has steps, about the history that it names */
    for (size_t i = 0; i < n; i++) {
        const proof_line *x = justify_line(j, i);
        strbuf_printf(b, "%zu %s", i + 1, proof_step_word((enum proof_step)x->kind));
        write_line(&s, j, x);
        strbuf_char(b, '\n');
        guard_tick(b->mem->guard);
    }
    strbuf_printf(b, "end %zu\n", n);
}

/* A read that nothing explains; if that is not it, lists of one key that contradict each other. */
static justify *justify_faults(problem *p, const fault *f, bool lists)
{
    justify *j = justify_new(&p->order);
    if (lists && f->anomaly != ANOMALY_INCOMPATIBLE_ORDER) return NULL;
    return (lists ? justify_list_fault(j, f->key) : justify_fault(j, f->node)) ? j : NULL;
}

/* The level as an order problem, of which a log is kept. */
static problem logged_problem(const verdict *v, asg *g)
{
    static const tuning lazily = {.strategy = STRATEGY_LAZY};
    problem p = {.g = g, .log = KEEP_LOG};
    p.ask = (order_question){.so = v->session_order, .drift = v->drift, .tune = &lazily};
    p.ask.rule = judge_rule(&v->level, &p.ask.rt);
    /* An order of transactions; the rule of its own is for real time. */
    if (v->level.id == LEVEL_RU && !p.ask.rule) p.ask.rule = rule_of(LEVEL_RC);
    return p;
}

/* The same, made and not decided. */
static void build(problem *p, const verdict *v, asg *g)
{
    *p = logged_problem(v, g);
    decide_build(p, &p->ask);
}

/* A list that was read and that nobody can have left. */
static justify *justify_blamed(problem *p, const verdict *v, asg *g)
{
    assert(g->slots && g->slots->blame < g->nodes);
    build(p, v, g);
    justify *j = justify_new(&p->order);
    return justify_fault(j, g->slots->blame) ? j : NULL;
}

static justify *justify_search(problem *p, const verdict *v, asg *g)
{
    assert(v->level.id == LEVEL_RU || !g->faults.n);
    for (int plain = 0; plain < 2; plain++) {
        decision a;
        *p = logged_problem(v, g);
        p->plain = plain;
        decide(p, 0, &a);
        if (!decision_violated(&a)) return NULL;
        if (g->slots && g->slots->impossible) return justify_blamed(p, v, g);
        if (p->order.justify && justify_steps(p->order.justify, &a)) return p->order.justify;
        /* Something was deduced that is not explained: once more, deducing less. */
    }
    return NULL;
}

/* Read uncommitted judges few faults, and has orders of its own. */
static justify *justify_ru(problem *p, const verdict *v, asg *g)
{
    size_t at = g->faults.n;
    for (size_t i = 0; i < g->faults.n; i++) {
        uint32_t kind = g->faults.at[i].anomaly;
        if ((kind == ANOMALY_MALFORMED_RESULT || kind == ANOMALY_GARBAGE_READ ||
             kind == ANOMALY_DUPLICATE_ELEMENTS) &&
            !g->maybe[g->faults.at[i].node])
            at = i;
    }
    asg_drop_edges(g, g->hint_extra);
    bool ordered = at < g->faults.n || asg_list_orders(g, &at);
    justify *j = justify_new(&p->order);
    if (at < g->faults.n) return justify_fault(j, g->faults.at[at].node) ? j : NULL;
    if (ordered && v->level.realtime) return justify_search(p, v, g);
    return ordered && justify_uncommitted(j, v->session_order) ? j : NULL;
}

static justify *justify_level(problem *p, const verdict *v, asg *g)
{
    enum weak_level level;
    if (!weak_of(v->level.id, &level) || v->level.realtime) return justify_search(p, v, g);
    /* (as it was decided) */
    if (g->wild_lists || (g->open.n && g->nodes > WEAK_SMALL)) {
        justify *found = justify_search(p, v, g);
        if (found || g->wild_lists) return found;
    }
    build(p, v, g);
    justify *j = justify_new(&p->order);
    return justify_weak(j, level, v->session_order) ? j : NULL;
}

static bool stands(const strbuf *b, const history *h, mem *work, const char **why)
{
    certificate_answer a;
    certificate_verify(&a, b->at, b->n, h, NULL, work);
    *why = a.why;
    return a.proved;
}

#define MOST_FAULTS 64

static bool write_proof(const verdict *v, const history *h, asg *g, mem *work, strbuf *b)
{
    enum level_id id = v->level.id;
    problem p;
    size_t head = b->n;
    const char *why;
    if (id == LEVEL_RU || !g->faults.n) {
        if (id == LEVEL_RU) build(&p, v, g);
        const justify *j = id == LEVEL_RU ? justify_ru(&p, v, g) : justify_level(&p, v, g);
        if (j) write_steps(&p.order, NULL, j, NULL, b);
        return j != NULL;
    }
    /* Any of the faults will do. */
    build(&p, v, g);
    for (size_t i = 0; i < 2 * g->faults.n && i < MOST_FAULTS; i++) {
        const justify *j = justify_faults(&p, &g->faults.at[i / 2], i % 2);
        if (!j) continue;
        b->n = head;
        write_steps(&p.order, NULL, j, NULL, b);
        if (stands(b, h, work, &why)) return true;
    }
    return false;
}

#define MOST_CORE 4096u

/* A proof about the few transactions that the answer shows.  What holds of them by themselves also
   holds of them in the whole history (subhistory.h), so the verifier need not know that they are a
   part. */
static bool write_core(const verdict *v, const history *h, asg *g, mem *work, strbuf *b)
{
    if (!v->core.n || v->core.n > MOST_CORE || v->core.n >= g->nodes) return false;
    uint8_t *in = mem_array0(work, uint8_t, (size_t)g->nodes + 1);
    for (size_t i = 0; i < v->core.n; i++)
        if (g->txn_node[v->core.at[i]] != NO_ID) in[g->txn_node[v->core.at[i]]] = 1;
    part *x = part_new(work, g, in);
    uint8_t *out = mem_array0(work, uint8_t, (size_t)x->txns + x->ops.n + 1);
    asg few;
    problem p;
    size_t head = b->n;
    const char *why;
    asg_build(&few, part_history(x, out, out + x->txns), work, v->ryow, graph_flags(v, h));
    if (few.faults.n || few.wild_lists) return false;
    const justify *j = justify_level(&p, v, &few);
    if (!j) return false;
    write_steps(&p.order, x, j, NULL, b);
    if (stands(b, h, work, &why)) return true;
    b->n = head;
    return false;
}

/* One key read twice: a step, and if the outcome is unknown, those that show that it committed. */
static bool write_twice(const verdict *v, const history *h, asg *g, strbuf *b)
{
    repeated_read twice;
    uint32_t lines = 1, refuted = 1;
    if (v->cycle.n || (v->anomaly != ANOMALY_FUZZY_READ && v->anomaly != ANOMALY_PHANTOM))
        return false;
    if (!fuzzy_read_find(g, v->level.id, &twice)) return false;
    node_id at = g->ob_node[twice.first];
    strbuf_str(b, "1 twice");
    write_op(b, NULL, h, g->ob_op[twice.first], g->ob_key[twice.first]);
    strbuf_printf(b, " %u\n", op_number(NULL, h, g->ob_op[twice.second]));
    for (; g->maybe[at]; at = g->ob_node[g->forced_by[at]]) {
        uint32_t ob = g->forced_by[at];
        bool list = g->ob_flags[ob] & OB_LIST;
        strbuf_printf(b, "%u %s", ++lines, proof_step_word(list ? PROOF_SHOWS : PROOF_TAKEN));
        write_op(b, NULL, h, g->ob_op[ob], g->ob_key[ob]);
        strbuf_char(b, ' ');
        certificate_txn(b, h, g->node_txn[at]);
        strbuf_char(b, '\n');
    }
    if (lines > 1) { /* from the one that is known to have committed, back to the first step */
        uint32_t last = lines++;
        strbuf_printf(b, "%u rup :", lines);
        for (uint32_t i = last; i > refuted; i--) strbuf_printf(b, " %u", i);
        strbuf_printf(b, " %u\n", refuted);
    }
    strbuf_printf(b, "end %u\n", lines);
    return true;
}

/* Who waits in a circle, and why: read-committed decided without a search. */
typedef struct waiting {
    const asg *g;
    const decision *a;
    uint32_t *open_of;
    uint8_t *told; /* per node: it is in `todo`, or was */
    VEC(node_id) todo;
} waiting;

static void wait_for(waiting *w, node_id v)
{
    assert(v < w->g->nodes && w->a->out[v]);
    if (!w->told[v]) vec_push(w->g->m, &w->todo, v);
    w->told[v] = 1;
}

/* A read of v all of whose sources wait; NO_ID: there is none. */
static uint32_t waiting_read(waiting *w, node_id v)
{
    const asg *g = w->g;
    for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++) {
        if (g->ob_rf[ob] < RF_LAST && w->a->out[g->ob_rf[ob]]) {
            wait_for(w, g->ob_rf[ob]);
            return ob;
        }
        if (g->ob_rf[ob] != RF_OPEN || w->a->rf[ob] != RF_OPEN || w->open_of[ob] == NO_ID) continue;
        uint32_t open = w->open_of[ob];
        assert(g->open.at[open] == ob && !asg_cand_init(g, open));
        for (uint32_t i = g->cand_first.at[open]; i < g->cand_first.at[open + 1]; i++)
            wait_for(w, asg_cand(g, open, i));
        return ob;
    }
    return NO_ID;
}

/* Transactions of unknown outcome that wait for each other, and a committed one that waits for
   them: one step, where a search would have to choose among all of them. */
static bool write_waiting(const verdict *v, const history *h, asg *g, mem *work, strbuf *b)
{
    enum level_id id = v->level.id;
    size_t head = b->n;
    decision a = {.order = mem_array(work, node_id, (size_t)g->nodes + 1),
                  .out = mem_array(work, uint8_t, (size_t)g->nodes + 1),
                  .rf = mem_array(work, uint32_t, g->obs + 1)};
    if (!g->unknown || !g->open.n || g->wild_lists || g->faults.n ||
        !level_implies(id, v->session_order, v->level.realtime, LEVEL_RC, false, false))
        return false;
    memcpy(a.rf, g->ob_rf, g->obs * sizeof *a.rf);
    chain_decide(g, false, NULL, &a);
    waiting w = {.g = g, .a = &a, .open_of = asg_open_of(g)};
    w.told = mem_array0(work, uint8_t, (size_t)g->nodes + 1);
    for (node_id x = 0; x < g->nodes && !w.todo.n && !a.holds; x++)
        if (a.out[x] && !g->maybe[x]) wait_for(&w, x);
    if (!w.todo.n) return false;
    strbuf_str(b, "1 stuck ");
    certificate_txn(b, h, g->node_txn[w.todo.at[0]]);
    while (w.todo.n) {
        node_id x = w.todo.at[--w.todo.n];
        uint32_t ob = g->barred[x] ? NO_ID : waiting_read(&w, x);
        if (ob == NO_ID && !g->barred[x]) { /* it waits for an older version, say */
            b->n = head;
            return false;
        }
        strbuf_str(b, g->barred[x] ? " fault " : " wr");
        if (g->barred[x])
            certificate_txn(b, h, g->node_txn[x]);
        else
            write_op(b, NULL, h, g->ob_op[ob], g->ob_key[ob]);
    }
    strbuf_str(b, "\nend 1\n");
    const char *why;
    if (stands(b, h, work, &why)) return true;
    b->n = head;
    return false;
}

/* Read uncommitted, and a list of unknown order has an element that was never written: one step. */
static bool write_garbage(const verdict *v, const history *h, mem *work, strbuf *b)
{
    const char *why;
    size_t head = b->n;
    if (v->level.id != LEVEL_RU || v->anomaly != ANOMALY_GARBAGE_READ || v->core.n != 1)
        return false;
    strbuf_str(b, "1 fault ");
    certificate_txn(b, h, v->core.at[0]);
    strbuf_str(b, "\nend 1\n");
    if (stands(b, h, work, &why)) return true;
    b->n = head;
    return false;
}

/* There are no steps for it, and the verifier does not try all orders either: says why. */
static _Noreturn void refuse_proof(const verdict *v, const asg *g)
{
    guard *to = g->m->guard;
    const char *level = v->level.name;
    if (g->wild_lists)
        guard_fail(to, GUARD_UNSUPPORTED,
                   "unordered-lists: no certificate, because the search for a proof of this "
                   "violation of %s gave up: there are lists with repeated elements, writes or "
                   "deletes, which may have been written in too many orders",
                   level);
    if (g->init_open && level_at(v->level.id)->split)
        guard_fail(to, GUARD_UNSUPPORTED,
                   "initial-values: no certificate, because no proof was found of this violation "
                   "of %s, where initial values are unknown that may equal written ones",
                   level);
    guard_fail(to, GUARD_UNSUPPORTED, "unexplained: no proof was found of this violation of %s",
               level);
}

/* One whose times are the wrong way round is before itself, and needs no other.  Where commits have
   an order of their own in real time, its commit may be so. */
static bool write_backward(const verdict *v, const history *h, mem *work, strbuf *b)
{
    enum level_id id = v->level.id;
    bool events = recheck_orders_begins(id) || level_is_mixed(id);
    size_t head = b->n;
    const char *why;
    int64_t begin, called, end;
    assert(v->outcome == OUTCOME_VIOLATED && !h->assumed);
    if (v->anomaly != ANOMALY_TIMESTAMP_INVERSION) return false;
    for (txn_id t = 0; t < h->txns; t++) {
        if (txn_status_of(h, t) != TXN_COMMITTED || !txn_stamp(h, t, COMMIT_RETURN, &end)) continue;
        bool before = txn_stamp(h, t, BEGIN_CALL, &begin) && end < begin;
        if (!before && !(txn_stamp(h, t, COMMIT_CALL, &called) && end < called)) continue;
        strbuf name;
        strbuf_init(&name, work);
        certificate_txn(&name, h, t);
        const char *s = strbuf_cstr(&name);
        for (int form = 0; form < (events ? 2 : 1); form++) {
            if (!events)
                strbuf_printf(b, "1 rt %s %s\nend 1\n", s, s);
            else if (!form)
                strbuf_printf(b, "1 rt c:%s b:%s\n2 cycle c:%s b:%s\n3 rup : 1 2\nend 3\n", s, s, s,
                              s);
            else
                strbuf_printf(b, "1 rt c:%s c:%s\nend 1\n", s, s);
            assert(b->n > head);
            if (stands(b, h, work, &why)) return true;
            b->n = head;
        }
    }
    return false;
}

static void write_violated(const verdict *v, const history *h, mem *work, strbuf *b)
{
    enum level_id id = v->level.id;
    enum weak_level weak;
    bool rt, weak_level = weak_of(id, &weak) && !v->level.realtime;
    if (!level_at(id)->proved || (!weak_level && !judge_rule(&v->level, &rt)))
        guard_fail(work->guard, GUARD_UNSUPPORTED,
                   "no-rules: this version has no proofs for violations of %s", v->level.name);
    asg g;
    size_t head = b->n;
    asg_build(&g, h, work, v->ryow, graph_flags(v, h));
    g.chains_only = true;
    bool small = g.nodes <= WEAK_SMALL && !level_at(id)->split, wild = g.wild_lists != 0;
    bool done = write_backward(v, h, work, b);
    if (!done) done = !g.faults.n && write_twice(v, h, &g, b);
    if (!done) done = write_waiting(v, h, &g, work, b);
    if (!done && wild) done = write_garbage(v, h, work, b);
    if (!done) done = !wild && !g.faults.n && id != LEVEL_RU && write_core(v, h, &g, work, b);
    bool searched = wild && !g.faults.n;
    if (!done && (id != LEVEL_RU || !searched)) {
        const char *why;
        done = write_proof(v, h, &g, work, b);
        /* The search may have refuted the order of lists by an argument that no rule of proofs
           states, so the verifier is asked before the proof is handed out. */
        if (done && searched) done = stands(b, h, work, &why);
    }
    if (done) return;
    if (!small) refuse_proof(v, &g);
    b->n = head;
    strbuf_str(b, "1 exhaustive\nend 1\n");
}

/* What the timestamps contradict: one line. */
static void write_stamped(const verdict *v, const history *h, strbuf *b)
{
    bool pair = v->at_op == NO_ID;
    assert(v->core.n > pair);
    strbuf_str(b, v->at_op != NO_ID    ? v->at_key != NO_ID ? "stamped-read" : "stamped-scan"
                  : v->at_key != NO_ID ? "stamped-overlap"
                                       : "stamped-session");
    if (!pair) {
        strbuf_char(b, ' ');
        certificate_txn(b, h, v->core.at[0]);
        strbuf_printf(b, " %u", op_number(NULL, h, v->at_op));
    }
    if (v->at_key != NO_ID) {
        strbuf_char(b, ' ');
        certificate_name(b, h, key_atom(h, v->at_key));
    }
    for (size_t i = 2; pair && i-- > 0;) {
        strbuf_char(b, ' ');
        certificate_txn(b, h, v->core.at[i]);
    }
    strbuf_str(b, "\nend 1\n");
}

/* InnoDB's levels want whole transactions to be read-committed.  Where they are not, that is the
   simpler proof. */
static bool breaks_read_committed(const verdict *v, const history *h, mem *work)
{
    asg g;
    decision a = {0};
    if (v->outcome != OUTCOME_VIOLATED || !level_at(v->level.id)->split) return false;
    asg_build(&g, h, work, v->ryow, graph_flags(v, h));
    bool broken = g.faults.n != 0;
    if (!broken) {
        weak_decide(&g, WEAK_RC, false, true, &a);
        broken = decision_violated(&a);
    }
    if (!broken && a.undecided) { /* lists whose order must be searched */
        verdict whole = {.level = v->level};
        level_named(&whole.level, level_at(LEVEL_RC)->name);
        problem p = logged_problem(&whole, &g);
        decide(&p, 0, &a);
        broken = decision_violated(&a);
    }
    mem_free_all(work);
    return broken;
}

/* A contradiction with what modules added: decided once more with a log, in which their additions
   are clauses.  The head lists those that the steps use, and no others.  True: it was written. */
static bool write_assumed_proof(const verdict *v, const history *h, mem *work, strbuf *b,
                                bool *small)
{
    const claim c = claim_of(v);
    const additions *add = h->assumed;
    assert(add && v->assumed && v->outcome == OUTCOME_VIOLATED);
    uint32_t *numbers = mem_array0(work, uint32_t, add->at.n + 1), n = 0;
    uint8_t *only = mem_array0(work, uint8_t, add->at.n + 1);
    for (int plain = 0; plain < 2; plain++) {
        asg g;
        decision a;
        asg_build(&g, h, work, v->ryow, graph_flags(v, h));
        g.chains_only = true;
        problem p = logged_problem(v, &g);
        *small = g.nodes <= WEAK_SMALL;
        if (g.faults.n || !p.ask.rule) return false;
        if (g.wild_lists && (!asg_slots(&g) || g.slots->impossible)) return false;
        p.ask.added = add;
        p.ask.logged = true;
        decide_build(&p, &p.ask);
        p.order.plain = plain;
        p.order.justify = justify_new(&p.order);
        lazy_decide(&p.order, 0, &a);
        if (!decision_violated(&a)) return false;
        const justify *j = p.order.justify;
        if (!justify_steps(p.order.justify, &a)) continue;
        justify_added(j, only);
        for (size_t i = 0; i < add->at.n; i++)
            if (only[i]) numbers[i] = ++n;
        certificate_head(b, &c, &c, h, only);
        write_steps(&p.order, NULL, j, numbers, b);
        return true;
    }
    return false;
}

static void certify_assumed(const verdict *v, const history *h, mem *work, strbuf *b)
{
    const claim c = claim_of(v);
    const char *why = NULL;
    bool small = false, searched = false;
    assert(h->assumed && !v->through && !v->trusted);
    if (v->outcome == OUTCOME_HOLDS) {
        certificate_head(b, &c, &c, h, NULL);
        write_holds(v, h, b);
    } else if (!write_assumed_proof(v, h, work, b, &small)) {
        if (!small || v->level.id == LEVEL_LIN)
            guard_fail(work->guard, GUARD_UNSUPPORTED,
                       "unexplained: no proof was found of this violation of %s, which rests on "
                       "what modules added",
                       v->level.name);
        /* no proof by steps was found: all orders are tried, under all additions */
        certificate_head(b, &c, &c, h, NULL);
        strbuf_str(b, "1 exhaustive\nend 1\n");
        searched = true;
    }
    mem_free_all(work);
    bool fails = v->outcome == OUTCOME_VIOLATED && !stands(b, h, work, &why);
    if (fails && searched && why && strstr(why, exhaust_too_many))
        guard_fail(work->guard, GUARD_UNSUPPORTED,
                   "too-many-orders: no certificate, because the verifier would have too many "
                   "orders and choices to try");
    if (fails)
        guard_fail(work->guard, GUARD_BUG, "internal error: the certificate is wrong: %s",
                   why ? why : "");
    mem_free_all(work);
}

void certify(const verdict *v, const history *h, mem *work, strbuf *b)
{
    const char *why;
    if (history_has_sums(h))
        guard_fail(work->guard, GUARD_UNSUPPORTED,
                   "no-rules: this version has no certificates about counters and banks");
    claim shown = claim_of(v), asked = shown;
    verdict other = *v;
    asked.level = v->level;
    asked.session_order = v->session_order;
    if (v->outcome == OUTCOME_VIOLATED && v->through) { /* so what is proved is the weaker one */
        level_named(&other.level, v->through);
        other.session_order = v->through_so;
        other.through = NULL;
    } else if (breaks_read_committed(v, h, work)) {
        level_named(&other.level, level_at(LEVEL_RC)->name);
        other.session_order = false;
    }
    if (v->outcome == OUTCOME_VIOLATED) {
        shown.level = other.level;
        shown.session_order = other.session_order;
    }
    if (v->outcome == OUTCOME_UNDECIDED)
        guard_fail(work->guard, GUARD_INVAL,
                   "the answer is undecided: there is nothing to certify");
    if (v->assumed) {
        certify_assumed(v, h, work, b);
        return;
    }
    history bare = *h; /* the answer needs nothing that modules added */
    bare.assumed = NULL;
    h = &bare;
    certificate_head(b, &asked, &shown, h, NULL);
    if (v->outcome == OUTCOME_HOLDS)
        write_holds(v, h, b);
    else if (v->trusted)
        write_stamped(v, h, b);
    else
        write_violated(&other, other.level.id == LEVEL_LIN ? key_sessions(h, b->mem) : h, work, b);
    mem_free_all(work);
    bool fails = v->outcome == OUTCOME_VIOLATED && !stands(b, h, work, &why);
    if (fails && why && strstr(why, exhaust_too_many))
        guard_fail(work->guard, GUARD_UNSUPPORTED,
                   "too-many-orders: no certificate, because the verifier would have too many "
                   "orders and choices to try");
    if (fails)
        guard_fail(work->guard, GUARD_BUG, "internal error: the certificate is wrong: %s",
                   why ? why : "");
    mem_free_all(work);
}
