/*
 * decide.c - the table of deciders and the loop over it.
 *
 * Each row of the table has a question (does this decider suit the problem?) and an act.  Cheap
 * deciders come first.  Then come those that can give only one of the two answers: a segment can
 * only refute, a stronger level can only accept.  The strategy, which always answers, comes last.
 *
 * Invariant: a decider gives the true answer or none.  So the order of the rows changes only how
 * long the answer takes, and the name of the decider that it carries (decision.by).
 */
#include "decide/decide.h"

#include <assert.h>

#include "decide/begin_commit.h"
#include "decide/exhaustive/exhaustive.h"
#include "decide/exhaustive/unordered_lists.h"
#include "decide/first_order.h"
#include "decide/lazy/lazy.h"
#include "decide/polygraph.h"
#include "decide/portfolio.h"
#include "decide/proof/justify.h"
#include "decide/segments.h"
#include "decide/weak/unread_lists.h"
#include "asg/list_slots.h"

#define STRONGER_TRY 200u /* conflicts that a stronger question may cost */

/* --- what it costs ---------------------------------------------------------------------------- */

/* A second attempt adds to the stages of the first. */
static void count_stage(cost *c, stage_time s)
{
    size_t j = 0;
    while (j < c->stages.n && strcmp(c->stages.at[j].name, s.name)) j++;
    if (j < c->stages.n)
        c->stages.at[j].ns += s.ns;
    else
        vec_push(c->m, &c->stages, s);
}

/* Counts a search that began at `start` and is over. */
static void count_search(const problem *p, const decision *a, uint64_t start)
{
    cost *c = p->cost;
    if (!c) return;
    for (size_t i = 0; i < a->stages.n; i++) count_stage(c, a->stages.at[i]);
    c->ns_solve += clock_now() - start;
    c->vars = a->vars;
    c->clauses = c->instantiated = a->clauses;
    c->conflicts = a->conflicts;
    c->rounds = a->rounds;
    c->fixed = a->fixed;
    c->moved = a->moved;
    for (size_t i = 0; i < CYCLE_WIDTHS; i++) c->width[i] += a->width[i];
}

/* --- order problems --------------------------------------------------------------------------- */

/* The graph whose nodes the rule orders: transactions, or their parts.  The parts are kept and made
   anew only if the rule cuts transactions in another way than the question before. */
static asg *graph_of(problem *p, const level_rule *rule)
{
    enum rule_split cut = rule_split_of(rule->level);
    if (!cut) return p->g;
    if (p->split != cut) asg_split(&p->parts, p->g, cut == SPLIT_TIGHT);
    p->split = cut;
    assert(p->parts.unsplit == p->g);
    return &p->parts;
}

void decide_build(problem *p, const order_question *ask)
{
    problem_build(&p->order, graph_of(p, ask->rule), ask);
    p->ordered = true;
}

/* The question of the strategy: what was asked, in the encoding that was asked for.  Real time
   orders begins and commits, which the induced encoding does not have. */
static order_question own_question(const problem *p)
{
    order_question ask = p->ask;
    if (ask.tune->induced && !ask.rt) ask.rule = rule_induced(ask.rule);
    return ask;
}

static bool is_lazy(const problem *p)
{
    return p->ask.tune->strategy == STRATEGY_LAZY;
}

/* Leaves out all transactions but those in `in`, which surely take part, and those that the reads
   of the transactions that stay have chosen as their sources. */
static void keep_needed(const asg *g, const uint8_t *in, decision *a)
{
    VEC(node_id) todo = {0};
    for (node_id v = 0; v < g->nodes; v++) {
        a->out[v] = !in[v];
        if (in[v]) vec_push(g->m, &todo, v);
    }
    while (todo.n) {
        node_id v = todo.at[--todo.n];
        assert(!a->out[v]);
        for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++) {
            uint32_t w = a->rf[ob];
            if (w >= RF_LAST || !a->out[w]) continue;
            a->out[w] = 0;
            vec_push(g->m, &todo, w);
        }
    }
    vec_free(g->m, &todo);
}

/* Leaves out every transaction of unknown outcome that no read of the others needs: a strategy may
   have let it take part without need, and then its own reads would have to be explained.  Two
   traps: this is right at serializability and snapshot isolation only (at no-lost-update a
   transaction that is never read may be needed between two others), and a read of a list with
   repeated elements needs more transactions than the last one that appended, so with such lists all
   stay. */
static void leave_unneeded(const order_problem *p, decision *a)
{
    if (p->g->unknown && !p->g->slots) keep_needed(p->g, p->in, a);
}

/* Runs one way to decide on the problem as it was asked. */
static bool run_strategy(problem *p, order_decider strategy, uint64_t conflicts, decision *a)
{
    uint64_t start = clock_now();
    order_question ask = own_question(p);
    decide_build(p, &ask);
    p->order.plain = p->plain;
    /* The sources of ambiguous reads are pruned without a trace in the log.  So with such reads a
       log is not kept along the way; if the answer is a violation, a second run keeps one. */
    bool welcome = p->log == KEEP_LOG_IF_CHEAP && is_lazy(p) && rule_is_basic(p->ask.rule) &&
                   !p->g->open.n && ask.rule == p->ask.rule;
    if (welcome || p->log == KEEP_LOG) p->order.justify = justify_new(&p->order);
    if (welcome) justify_limit(p->order.justify, CHEAP_LOG);
    strategy(&p->order, conflicts, a);
    count_search(p, a, start);
    return true;
}

/* --- the deciders ----------------------------------------------------------------------------- */

static bool has_test(const problem *p)
{
    return p->tested;
}

/* Read-uncommitted, with lists of repeated elements, each of which many transactions may have
   appended: if the history is read-committed, it is read-uncommitted, too.  If it is not, this says
   nothing. */
static bool accept_through_rc(problem *p, decision *a)
{
    order_question ask = p->ask;
    asg *g = p->g;
    decision found;
    if (!is_lazy(p) || g->faults.n) return false;
    if (!asg_slots(g) || g->slots->impossible) return false;
    ask.rule = rule_of(LEVEL_RC);
    decide_build(p, &ask);
    lazy_decide(&p->order, 0, &found);
    p->ordered = false;
    if (!found.holds) return false;
    lazy_commit_order(&p->order, &found);
    *a = found;
    a->by = BY_LAZY;
    for (uint32_t ob = 0; ob < asg_obs(g); ob++) a->rf[ob] = RF_NONE;
    return true;
}

/* The same lists, by trying a few orders, of which one mostly fits because the level asks little;
   or the level is violated by a read of an element that was never written.  False: neither is
   found. */
static bool decide_by_few_orders(problem *p, decision *a)
{
    order_question ask = p->ask;
    asg *g = p->g;
    decision found = {.by = BY_TEST};
    uint32_t garbage;
    if (!is_lazy(p)) return false;
    ask.rule = rule_of(LEVEL_RU);
    decide_build(p, &ask);
    p->ordered = false;
    uint32_t *pos = mem_array(g->m, uint32_t, (size_t)p->order.events + 1);
    found.out = mem_array0(g->m, uint8_t, (size_t)g->nodes + 1);
    found.rf = mem_array(g->m, uint32_t, asg_obs(g) + 1);
    for (node_id v = 0; v < g->nodes; v++) found.out[v] = g->maybe[v];
    for (uint32_t ob = 0; ob < asg_obs(g); ob++) found.rf[ob] = RF_NONE;
    found.holds = unread_lists_hold(&p->order, found.out, pos, &garbage);
    if (found.holds) {
        found.pos = pos;
        lazy_commit_order(&p->order, &found);
    } else if (garbage != NO_ID) {
        asg_fault(g, ANOMALY_GARBAGE_READ, g->ob_node[garbage], g->ob_op[garbage],
                  g->ob_key[garbage], g->ob_value[garbage], NO_ID);
        found.why = WHY_FAULT;
        found.fault = g->faults.n - 1;
    } else {
        return false;
    }
    *a = found;
    return true;
}

/* Causal consistency without session order: an order that keeps the sessions answers it, too, and
   the sessions are few chains where paths through the history are thousands.  Only a yes counts. */
static bool accept_with_sessions(problem *p, decision *a)
{
    if (p->test != WEAK_CC || p->ask.so || p->log == KEEP_LOG) return false;
    if (!is_lazy(p) || !pass_on(p->ask.tune, PASS_SESSIONS_FIRST)) return false;
    weak_decide(p->g, p->test, true, false, a);
    return a->holds;
}

/* The polynomial test with guessed sources for ambiguous reads.  If the guess does not hold, the
   sources are searched: exhaustively in small histories, otherwise by the order problem (which is
   what false stands for). */
static bool decide_test(problem *p, uint64_t conflicts, decision *a)
{
    const asg *g = p->g;
    bool as_order = p->ask.rule && p->test != WEAK_RU;
    bool tries = pass_on(p->ask.tune, PASS_SMALL_SEARCH);
    (void)conflicts;
    if (accept_with_sessions(p, a)) return true;
    weak_decide(p->g, p->test, p->ask.so, !p->guess && !p->ask.rule, a);
    bool lists = p->test == WEAK_RU && p->g->wild_lists && a->why != WHY_FAULT;
    if (lists && (a->undecided || !tries) &&
        (decide_by_few_orders(p, a) || (a->undecided && accept_through_rc(p, a))))
        return true;
    if (!a->undecided || p->guess || !p->ask.rule) return true;
    if (as_order && (g->nodes > WEAK_SMALL || !tries) &&
        (!g->wild_lists || (is_lazy(p) && asg_slots(p->g))))
        return false;
    weak_decide(p->g, p->test, p->ask.so, true, a);
    return true;
}

static bool ignores_reads(const problem *p)
{
    return p->ask.rule && p->ask.rule->strict == STRICT_IGNORED;
}

/* Did a transaction that took part end before it began?  Then real time alone has a cycle, which
   the known edges show, and no search for an order needs to begin. */
static bool has_backward(const problem *p)
{
    const asg *g = p->g;
    uint64_t drift = p->ask.drift > 0 ? (uint64_t)p->ask.drift : 0;
    int64_t end, begin;
    for (node_id v = 0; p->ask.rt && v < g->nodes; v++)
        if (txn_stamp(g->h, g->node_txn[v], COMMIT_RETURN, &end) &&
            txn_stamp(g->h, g->node_txn[v], BEGIN_CALL, &begin) && end < begin &&
            (uint64_t)begin - (uint64_t)end >= drift)
            return true;
    return false;
}

/* Every order of at most 8 transactions, with real time written out. */
static void try_unread_lists(problem *p, decision *a)
{
    asg *g = p->g;
    uint64_t drift = p->ask.drift > 0 ? (uint64_t)p->ask.drift : 0;
    size_t keep = g->extra.n;
    int64_t end, begin;
    for (node_id u = 0; p->ask.rt && u < g->nodes; u++)
        for (node_id v = 0; v < g->nodes; v++)
            if (u != v && txn_end_time(g->h, g->node_txn[u], &end) &&
                txn_begin_time(g->h, g->node_txn[v], &begin) && end < begin &&
                (uint64_t)begin - (uint64_t)end >= drift)
                asg_add_edge(g, u, v, EDGE_WW, NO_ID, NO_ID);
    a->order = mem_array(g->m, node_id, (size_t)g->nodes + 1);
    a->holds = wild_decide(g, WEAK_RU, p->ask.so, a);
    asg_drop_edges(g, keep);
    if (a->holds) return;
    a->order = NULL;
    a->why = WHY_SEARCH;
}

/* Read-uncommitted with real time, and lists of which no read shows the order. */
static void decide_unread_lists(problem *p, decision *a)
{
    bool few = p->g->nodes <= WEAK_SMALL;
    if ((!few || !pass_on(p->ask.tune, PASS_SMALL_SEARCH)) && decide_by_few_orders(p, a)) return;
    if (few)
        try_unread_lists(p, a);
    else if (!accept_through_rc(p, a))
        a->undecided = "lists with repeated elements, writes or deletes: this build tries all "
                       "orders of up to 8 transactions at this level";
}

/* Read-uncommitted with real time.  Without reads nothing is left to choose: an order of what is
   known is the answer, or a cycle of it. */
static bool decide_unread(problem *p, uint64_t conflicts, decision *a)
{
    asg *g = p->g;
    uint64_t since = clock_now();
    order_graph known;
    reach clocks = {0};
    (void)conflicts;
    a->out = mem_array0(g->m, uint8_t, (size_t)g->nodes + 1);
    a->rf = mem_array(g->m, uint32_t, asg_obs(g) + 1);
    if (!weak_unread_orders(g, a)) return true;
    if (g->wild_lists && !has_backward(p)) {
        decide_unread_lists(p, a);
        return true;
    }
    decide_build(p, &p->ask);
    uint32_t *pos = mem_array(g->m, uint32_t, (size_t)p->order.events + 1);
    order_graph_build(g->m, p->order.events, (const order_pair *)(const void *)p->order.known.at,
                      p->order.known.n, &known);
    if (p->log == KEEP_LOG) {
        p->order.justify = justify_new(&p->order);
        justify_start(p->order.justify);
    }
    a->holds = first_order(&p->order, &known, pos, &clocks);
    if (a->holds)
        a->pos = pos;
    else
        answer_known_cycle(&p->order, &known, a);
    reach_free(g->m, &clocks);
    answer_stage(g->m, a, "order", &since);
    return true;
}

static bool has_faults(const problem *p)
{
    return p->g->faults.n != 0;
}

static bool decide_faults(problem *p, uint64_t conflicts, decision *a)
{
    (void)p, (void)conflicts;
    a->why = WHY_FAULT; /* the first of them */
    return true;
}

/* Forward chaining decides read-committed with ambiguous reads without a search, and every level
   that is decided here implies read-committed.  It is worth asking first if a search would have to
   begin with very many choices: which transactions of unknown outcome committed, or who was
   read from. */
static bool wants_chaining(const problem *p)
{
    const asg *g = p->g;
    bool many = g->unknown || asg_cands(g) / 8 > g->open.n;
    return g->open.n && many && !g->wild_lists && !g->init_open && p->ask.rule &&
           p->log != KEEP_LOG && pass_on(p->ask.tune, PASS_CHAIN_FIRST);
}

/* Chaining has chosen the earliest source of every read.  The level's own test tries that choice,
   with only those transactions of unknown outcome that the choice needs. */
static bool guess_by_chain(problem *p, decision *a)
{
    const asg *g = p->g;
    view w = {.so = p->ask.so, .extra = true, .rf = a->rf, .out = a->out};
    assert(a->holds && a->rf != g->ob_rf);
    keep_needed(g, g->forced, a);
    a->holds = weak_test(p->g, &w, p->test, a, false);
    a->by = BY_SOURCES;
    return a->holds;
}

static bool decide_chaining(problem *p, uint64_t conflicts, decision *a)
{
    (void)conflicts;
    weak_decide(p->g, WEAK_RC, p->ask.so, false, a);
    if (decision_violated(a)) return true;
    return p->tested && a->holds && a->by == BY_CHAINING && guess_by_chain(p, a);
}

/* The limits of the exhaustive searches: they respect real time in serial orders only, they order
   whole transactions and not parts, and they hold all transactions to one level. */
static bool fits_exhaustive(const problem *p)
{
    const level_rule *rule = p->ask.rule;
    bool known = rule->level == LEVEL_SER ||
                 (!rule_split_of(rule->level) && !p->ask.rt && !rule_real_time(rule->level));
    return known && !level_is_mixed(rule->level) && !rule->automaton && p->g->nodes <= WEAK_SMALL;
}

static bool has_parts(const problem *p)
{
    return rule_split_of(p->ask.rule->level) != SPLIT_NONE;
}

/* The strategy lazy chooses initial values and the places of appends itself
   (lazy/initial_values.c, slot_search.c, chain_search.c). */
static bool needs_exhaustive(const problem *p)
{
    if (!is_lazy(p)) return p->g->wild_lists || p->g->init_open;
    return p->g->wild_lists && !asg_slots(p->g);
}

static bool is_open_search(const problem *p)
{
    bool wanted = fits_exhaustive(p) && pass_on(p->ask.tune, PASS_SMALL_SEARCH);
    /* The exhaustive search leaves no steps from which a proof could be made. */
    bool logged = p->log == KEEP_LOG && (p->g->chains_only || !p->g->wild_lists);
    bool open = p->g->wild_lists || p->g->init_open;
    if (wanted && !logged && open && !has_backward(p)) return true;
    return needs_exhaustive(p);
}

/* The exhaustive search would be needed but does not suit the problem: the reason for the user. */
static const char *unsearched(const problem *p)
{
    if (p->g->wild_lists && is_lazy(p))
        return "the elements of lists may have been appended in more than 4 million places";
    return p->g->wild_lists
               ? "lists with writes, deletes or repeated elements need a search, which this "
                 "strategy does for up to 8 transactions"
               : "the initial state is unknown and may equal values that were written: "
                 "this strategy searches that for up to 8 transactions";
}

static bool decide_exhaustive(problem *p, uint64_t conflicts, decision *a)
{
    asg *g = p->g;
    const order_question *ask = &p->ask;
    (void)conflicts;
    if (!fits_exhaustive(p)) {
        a->undecided = unsearched(p);
        return true;
    }
    a->order = mem_array(g->m, node_id, WEAK_SMALL);
    a->rf = mem_array(g->m, uint32_t, g->obs + 1);
    a->all_sources = true;
    a->holds = rule_is_basic(ask->rule)
                   ? small_decide(g, ask->rule->events, ask->so, ask->rt, ask->drift, a->order,
                                  a->rf, &a->n)
                   : small_graph(g, ask->rule, ask->so, a->order, a->rf, &a->n);
    assert(a->n <= g->nodes);
    return true;
}

static bool has_impossible_list(const problem *p)
{
    return p->g->slots && p->g->slots->impossible;
}

/* No way to cut the lists that were read into appends. */
static bool decide_impossible_list(problem *p, uint64_t conflicts, decision *a)
{
    (void)conflicts;
    a->why = WHY_SEARCH;
    vec_push(p->g->m, &a->core, p->g->slots->blame);
    return true;
}

/* Why the strategy does not decide the problem, or NULL. */
static const char *refusal(const problem *p)
{
    if (is_lazy(p)) return NULL;
    if (!rule_is_basic(p->ask.rule))
        return "this strategy decides serializability and snapshot isolation only";
    return own_question(p).rule != p->ask.rule ? "the induced encoding is one of the strategy lazy"
                                               : NULL;
}

static bool is_refused(const problem *p)
{
    return refusal(p) != NULL;
}

static bool refuse(problem *p, uint64_t conflicts, decision *a)
{
    (void)conflicts;
    a->undecided = refusal(p);
    return true;
}

/* Where the writer of every read is known, causal consistency is decided without a search.  For
   levels that imply it this is a cheap way to find a violation; their own paths cost more. */
static bool wants_causal(const problem *p)
{
    const asg *g = p->g;
    const level_rule *rule = p->ask.rule;
    bool known = !g->open.n && !g->unknown && !g->wild_lists && !g->init_open && !g->unread;
    if (!known || !is_lazy(p) || p->log == KEEP_LOG || p->plain || rule->automaton) return false;
    return rule->path && !level_is_mixed(rule->level) && pass_on(p->ask.tune, PASS_CAUSAL_FIRST) &&
           level_implies(rule->level, p->ask.so, p->ask.rt, LEVEL_CC, p->ask.so, false);
}

static bool decide_causal(problem *p, uint64_t conflicts, decision *a)
{
    (void)conflicts;
    weak_decide(p->g, WEAK_CC, p->ask.so, false, a);
    return decision_violated(a);
}

/* A level of parts (InnoDB's) also requires something of whole transactions, see decide_whole().
   That is asked first, unless orders of lists must be searched: then a serial order, which answers
   both questions at once, is easier to find, and the stronger questions come first. */
static bool wants_whole_first(const problem *p)
{
    return has_parts(p) && !p->g->slots;
}

static bool wants_whole_last(const problem *p)
{
    return has_parts(p) && p->g->slots;
}

/* InnoDB's levels require that the whole transactions are read-committed.  Only a violation of that
   decides the level. */
static bool decide_whole(problem *p, uint64_t conflicts, decision *a)
{
    bool search = p->g->init_open || p->g->slots;
    (void)conflicts;
    if (search)
        whole_decide(&p->order, p->g, p->ask.tune, NULL, NULL, a);
    else
        weak_decide(p->g, WEAK_RC, false, true, a);
    p->ordered = search && !a->holds;
    return !a->holds;
}

static bool wants_segments(const problem *p)
{
    return is_lazy(p) && p->log != KEEP_LOG && !has_parts(p) && !p->g->init_open && !p->g->slots &&
           pass_on(p->ask.tune, PASS_UNSAT_SEARCH);
}

static bool decide_segments(problem *p, uint64_t conflicts, decision *a)
{
    uint64_t start = clock_now(), since = start;
    order_question ask = own_question(p);
    (void)conflicts;
    bool found = segments_refute(p->g, &ask, &p->segment, &p->order, a);
    p->ordered = found;
    a->stages.n = 0; /* the whole search is one stage */
    answer_stage(p->g->m, a, "unsat-search", &since);
    if (found)
        count_search(p, a, start);
    else if (p->cost)
        p->cost->ns_solve += since - start, count_stage(p->cost, a->stages.at[0]);
    return found;
}

/* Stronger questions, in the order in which they are tried.  If a stronger question holds, the one
   that was asked holds: a serializable history is snapshot isolated, and one that holds with
   session order holds without.  A yes to the stronger question is often cheaper to find.  A no
   counts only if the question is the very one that was asked.  Levels of paths are mostly decided
   quickly by themselves, so snapshot isolation is tried after them.  InnoDB's tight level orders
   two parts of a transaction instead of one part for each statement.  If looking for a serial order
   was given up soon, that is tried once more at the end, for longer. */
enum stronger_try {
    TRY_SERIAL,
    TRY_TIGHT,
    TRY_PATHS,
    TRY_ITSELF,
    TRY_SNAPSHOT,
    TRY_SESSIONS,
    TRY_LONGER,
    TRIES
};

/* A word is a sequence of edges (letters) that the automaton accepts.  Does every word end with one
   of these letters? */
static bool words_end_with(const path_automaton *a, unsigned letters)
{
    for (uint32_t i = 0; i < a->slots; i++)
        if (a->accept[a->slot[i].to] && !(letters >> a->slot[i].letter & 1)) return false;
    return true;
}

/* Is every word a single letter? */
static bool words_are_steps(const path_automaton *a)
{
    for (uint32_t i = 0; i < a->moves; i++)
        if (a->move[i].from) return false;
    return true;
}

/* Does an anti-dependency (rw) lead into the state? */
static bool after_overwrite(const path_automaton *a, uint32_t state)
{
    for (uint32_t i = 0; i < a->slots; i++)
        if (LETTERS_RW >> a->slot[i].letter & 1 && a->slot[i].to == state) return true;
    return false;
}

/* A word together with the anti-dependency of the read that it breaks is a closed walk.  Has no
   such walk two anti-dependencies in a row?  The word begins in state 0, after that of the read,
   and ends before it. */
static bool overwrites_apart(const path_automaton *a)
{
    for (uint32_t i = 0; i < a->slots; i++) {
        const path_slot *s = &a->slot[i];
        if (!(LETTERS_RW >> s->letter & 1)) continue;
        if (a->accept[s->to]) return false;
        for (uint32_t m = a->move_first[s->group]; m < a->move_first[s->group + 1]; m++)
            if (!a->move[m].from || after_overwrite(a, a->move[m].from)) return false;
    }
    return true;
}

/* A built-in level that implies a level given by an automaton, and is cheaper to decide.  It
   depends on the letters of the automaton's words:
   - session order, read-from and version order only: a level at which every path of such edges
     counts (causal, parallel snapshot isolation) makes every word count; for words of one letter
     read atomic or update atomic is enough.  These levels are decided by clocks, which cost less
     than words.
   - commit order, too, with another edge at the end: at prefix or snapshot isolation, everything
     that commits before the start of that last edge is in the reader's snapshot.
   - anti-dependencies, never two in a row: snapshot isolation forbids every such closed walk.
   False: there is no such level. */
static bool all_paths_question(const problem *p, order_question *out)
{
    const path_automaton *a = p->ask.rule->automaton;
    unsigned reads = 1u << LETTER_SO | 1u << LETTER_WR | 1u << LETTER_RT | 1u << LETTER_WR_BEFORE |
                     1u << LETTER_WR_UPTO | LETTERS_SETTLED;
    unsigned versions = 1u << LETTER_WW | (LETTERS_LAST & ~reads), chosen = 1u << LETTER_CO;
    if (!a || !a->letters || a->letters & ~(reads | versions | chosen | LETTERS_RW)) return false;
    if (a->letters & LETTERS_RW) {
        if (a->letters & chosen || !overwrites_apart(a)) return false;
        out->rule = rule_of(LEVEL_SI);
    } else if (!(a->letters & chosen) && words_are_steps(a))
        out->rule = rule_of(a->letters & ~reads ? LEVEL_UA : LEVEL_RA);
    else if (!(a->letters & chosen))
        out->rule = rule_of(a->letters & ~reads ? LEVEL_PSI : LEVEL_CC);
    else if (words_end_with(a, reads))
        out->rule = rule_of(LEVEL_PC);
    else if (words_end_with(a, reads | versions))
        out->rule = rule_of(LEVEL_SI);
    else
        return false;
    return true;
}

/* May session order be added to the question?  Not if the level is a text with a difference of
   relations: `x \ so` is larger without session order, so adding it would not make the level
   stronger. */
static bool sessions_imply(const problem *p, enum stronger_try try)
{
    const path_automaton *a = p->ask.rule->automaton;
    bool differs = a && a->letters & LETTERS_SETTLED;
    if (differs && try != TRY_SERIAL && try != TRY_PATHS) return false;
    return pass_on(own_question(p).tune, PASS_SESSIONS_FIRST);
}

/* The question of one try; false: it is not worth asking. */
static bool stronger_question(const problem *p, enum stronger_try try, order_question *out)
{
    order_question ask = own_question(p);
    const level_rule *rule = p->ask.rule;
    const tuning *tune = ask.tune;
    unsigned timed = rule_real_time(rule->level);
    bool serial_first = pass_on(tune, PASS_SERIAL_FIRST);
    bool itself = serial_first && ask.rule->path && tune->portfolio <= 1;
    *out = ask;
    /* Without letters no word breaks a read: any order that extends the known edges is enough. */
    if (rule->automaton && !rule->automaton->letters && try != TRY_ITSELF) return false;
    if (sessions_imply(p, try)) out->so = true;
    if (try == TRY_TIGHT) {
        out->rule = rule_of(LEVEL_INNODB_RR_TIGHT);
        return serial_first && rule->level == LEVEL_INNODB_RR && !ask.rt;
    }
    if (try == TRY_PATHS) return serial_first && all_paths_question(p, out);
    if (try == TRY_ITSELF ? !itself : try == TRY_SESSIONS && itself) return false;
    /* A level that requires commits to stand in real order is not implied by these two. */
    if (serial_first && !(timed & ~RT_CB) && (try == TRY_SERIAL || try == TRY_SNAPSHOT)) {
        enum level_id id = try == TRY_SERIAL ? LEVEL_SER : LEVEL_SI;
        bool real = ask.rt || timed;
        /* A level with one event for each transaction and no paths is as cheap as snapshot
           isolation itself, so trying that first would gain nothing. */
        bool worth = (rule->events || rule->path) && !rule->automaton;
        if (try == TRY_SERIAL ||
            (worth && level_implies(id, out->so, real, rule->level, ask.so, ask.rt))) {
            out->rule = rule_of(id);
            out->rt = real;
        }
    }
    bool same = out->rule == ask.rule, whole = same && out->so == ask.so;
    return try == TRY_ITSELF || !same || (!whole && try == TRY_SESSIONS);
}

static bool wants_stronger(const problem *p)
{
    /* If the graph leaves out reads (unread), a serial order of it proves nothing about them. */
    return is_lazy(p) && p->log != KEEP_LOG && !p->g->unread;
}

/* A level whose words consist of session order and read-from, in a history where the writer of
   every read is known: causal, read atomic or monotonic atomic view implies it, and these have a
   test that needs no search.  Only a yes counts. */
static bool wants_words_test(const problem *p)
{
    const asg *g = p->g;
    const path_automaton *a = p->ask.rule ? p->ask.rule->automaton : NULL;
    unsigned reads =
        1u << LETTER_SO | 1u << LETTER_WR | 1u << LETTER_WR_BEFORE | 1u << LETTER_WR_UPTO;
    if (!a || !a->letters || a->letters & ~reads || p->ask.rt || !wants_stronger(p)) return false;
    return !g->open.n && !g->wild_lists && !g->init_open && !g->faults.n &&
           pass_on(p->ask.tune, PASS_SERIAL_FIRST);
}

static bool decide_words_test(problem *p, uint64_t conflicts, decision *a)
{
    const path_automaton *words = p->ask.rule->automaton;
    bool earlier = words->letters == 1u << LETTER_WR_BEFORE;
    enum weak_level test = !words_are_steps(words) ? WEAK_CC : earlier ? WEAK_MAV : WEAK_RA;
    uint64_t start = clock_now();
    (void)conflicts;
    p->shown = p->ask;
    if (sessions_imply(p, TRY_PATHS)) p->shown.so = true;
    weak_decide(p->g, test, p->shown.so, false, a);
    count_search(p, a, start);
    return a->holds;
}

static bool decide_stronger(problem *p, uint64_t conflicts, decision *a)
{
    order_question asked = own_question(p);
    bool brief = false;
    (void)conflicts;
    for (enum stronger_try try = TRY_SERIAL; try < TRIES; try++) {
        uint64_t start = clock_now();
        bool longer = try == TRY_LONGER;
        if (longer && !brief) continue;
        if (!stronger_question(p, longer ? TRY_SERIAL : try, &p->shown)) continue;
        decide_build(p, &p->shown);
        bool itself = p->shown.rule == asked.rule && p->shown.so == asked.so;
        p->order.only_holds = !itself;
        p->order.brief = !itself && try == TRY_SERIAL;
        lazy_decide(&p->order, STRONGER_TRY, a);
        count_search(p, a, start);
        if (try == TRY_SERIAL) brief = a->brief;
        if (a->holds || (itself && !a->undecided)) {
            /* If only session order was added, the answer is said to come from the level itself. */
            if (p->shown.rule->level == p->ask.rule->level) a->by = BY_LAZY;
            return true;
        }
    }
    return false;
}

/* The ways to decide an order problem, by enum strategy. */
static const order_decider strategies[STRATEGIES] = {
    [STRATEGY_LAZY] = lazy_decide,
    [STRATEGY_POLYGRAPH] = polygraph_decide,
    [STRATEGY_BC] = bc_decide,
};

static bool wants_portfolio(const problem *p)
{
    return p->ask.tune->portfolio > 1 && p->log != KEEP_LOG;
}

static bool decide_portfolio(problem *p, uint64_t conflicts, decision *a)
{
    uint64_t start = clock_now();
    order_question ask = own_question(p);
    (void)conflicts;
    portfolio_decide(&p->order, graph_of(p, ask.rule), &ask, strategies[ask.tune->strategy], a);
    p->ordered = true;
    count_search(p, a, start);
    return true;
}

static bool decide_lazy(problem *p, uint64_t conflicts, decision *a)
{
    return run_strategy(p, lazy_decide, conflicts, a);
}

static bool wants_polygraph(const problem *p)
{
    return p->ask.tune->strategy == STRATEGY_POLYGRAPH;
}

static bool decide_polygraph(problem *p, uint64_t conflicts, decision *a)
{
    return run_strategy(p, polygraph_decide, conflicts, a);
}

static bool wants_bc(const problem *p)
{
    return p->ask.tune->strategy == STRATEGY_BC;
}

static bool decide_bc(problem *p, uint64_t conflicts, decision *a)
{
    return run_strategy(p, bc_decide, conflicts, a);
}

/* --- the loop --------------------------------------------------------------------------------- */

static const decider deciders[] = {
    {BY_TEST, has_test, decide_test},
    {BY_TEST, ignores_reads, decide_unread},
    {BY_FAULTS, has_faults, decide_faults},
    {BY_CHAINING, wants_chaining, decide_chaining},
    {BY_EXHAUSTIVE, is_open_search, decide_exhaustive},
    {BY_SOURCES, has_impossible_list, decide_impossible_list},
    {BY_NOBODY, is_refused, refuse},
    {BY_CAUSAL, wants_causal, decide_causal},
    {BY_WHOLE, wants_whole_first, decide_whole},
    {BY_SEGMENTS, wants_segments, decide_segments},
    {BY_STRONGER, wants_words_test, decide_words_test},
    {BY_STRONGER, wants_stronger, decide_stronger},
    {BY_WHOLE, wants_whole_last, decide_whole},
    {BY_PORTFOLIO, wants_portfolio, decide_portfolio},
    {BY_LAZY, is_lazy, decide_lazy},
    {BY_POLYGRAPH, wants_polygraph, decide_polygraph},
    {BY_BC, wants_bc, decide_bc},
};
enum { DECIDER_ROWS = sizeof deciders / sizeof *deciders };

const char *decision_check(const problem *p, const decision *a)
{
    if (a->undecided) return a->holds ? "it holds and is undecided" : NULL;
    if (a->by == BY_NOBODY) return "nobody decided it";
    if (a->holds && (a->order != NULL) == (a->pos != NULL)) return "not exactly one order";
    if (a->holds && !a->rf) return "no sources of reads";
    if (a->holds && a->pos && (!p->ordered || !a->out)) return "places of unknown events";
    if (a->holds) return NULL;
    if (a->why == WHY_FAULT && a->fault >= p->g->faults.n) return "no such fault";
    if (a->why == WHY_CYCLE && !a->path.steps.n) return "an empty cycle";
    if (a->why == WHY_NONE && !p->ordered && a->by != BY_EXHAUSTIVE) return "no contradiction";
    return NULL;
}

void decide(problem *p, uint64_t conflicts, decision *a)
{
    assert(p->g && p->ask.tune && (p->tested || p->ask.rule));
    bool answered = false;
    p->ordered = false;
    for (size_t i = 0; i < DECIDER_ROWS && !answered; i++) {
        const decider *d = &deciders[i];
        if (!d->applies(p)) continue;
        memset(a, 0, sizeof *a);
        answered = d->decide(p, conflicts, a);
        if (a->by == BY_NOBODY) a->by = d->id;
        assert(answered || !p->tested || p->ask.rule);
    }
    assert(answered);
    if (a->holds && a->pos && rule_is_basic(p->ask.rule)) leave_unneeded(&p->order, a);
    if (a->undecided) a->by = BY_NOBODY;
    if (decision_violated(a) && a->why == WHY_FAULT) a->by = BY_FAULTS;
    assert(!decision_check(p, a));
}
