/*
 * lazy.c - the order theory with obligations, on top of CDCL (doc/algorithms/strong.md).
 *
 * The solver's order of events (order.h) always extends what is known and chosen.  A read is
 * satisfied if, in that order, the last writer of its key before it is the one it saw.  Nothing is
 * decided and no clause is written for what the order satisfies by itself; only a violated pair
 * gets its clause
 *
 *     u before w   or   v before u        (v read w's version of the key, u writes it too)
 *
 * and the literal with the shorter way is tried.  After a move only obligations that it can have
 * broken are looked at again: reads of moved readers, readers of moved versions and of the versions
 * before them, and, for snapshot isolation, overlaps with neighbours.
 *
 * Invariant: an obligation that is not queued is satisfied by the current order (lazy_check).
 * Undoing edges keeps the order, so it keeps the invariant.
 *
 * A read with several candidates is satisfied by any writer of its value; a transaction of unknown
 * outcome exists while its literal is true.
 */
#include "decide/lazy/lazy.h"

#include <assert.h>

#include "base/rng.h"
#include "base/search.h"
#include "decide/first_order.h"
#include "decide/proof/justify.h"
#include "decide/lazy/added_search.h"
#include "decide/lazy/initial_values.h"
#include "decide/lazy/serial_among.h"
#include "decide/lazy/slot_search.h"

/* --- queue ------------------------------------------------------------------------------------ */

void lazy_enqueue(lazy *z, uint32_t ob)
{
    if (z->queued[ob]) return;
    z->queued[ob] = 1;
    vec_push(z->m, &z->queue, ob);
}

void lazy_enqueue_overlap(lazy *z, uint32_t inst)
{
    if (!z->overlap_queued || z->overlap_queued[inst]) return;
    z->overlap_queued[inst] = 1;
    vec_push(z->m, &z->queue, inst | OVERLAP);
}

/* --- reads without a certain writer ------------------------------------------------------------
   Each such read that is satisfied, and not queued, watches the version that it sees: the read can
   break only if that version moves, if another version comes to stand right after it, or if the
   reader itself moves. */

#define WATCH_LIST 0x80000000u /* in watch_prev: the read is the first of that list */

void lazy_watch_clear(lazy *z)
{
    if (!z->watch_next) return;
    memset(z->watch_prev, 0xff, (z->g->obs + 1) * sizeof *z->watch_prev);
    memset(z->watch_head, 0xff, (z->g->insts + history_keys(z->g->h) + 1) * sizeof *z->watch_head);
}

static void watch_start(lazy *z)
{
    asg *g = z->g;
    bool any = g->open.n || z->paths;
    for (node_id v = 0; v < z->p->txns && !any; v++) any = !z->p->in[v];
    if (!any) return;
    z->watch_next = mem_array(z->m, uint32_t, g->obs + 1);
    z->watch_prev = mem_array(z->m, uint32_t, g->obs + 1);
    z->watch_head = mem_array(z->m, uint32_t, g->insts + history_keys(g->h) + 1);
}

/* The list of those that watch a version of key k; NONE: its initial version. */
static uint32_t watch_list(const lazy *z, uint32_t inst, key_id k)
{
    return inst != NONE ? inst : (uint32_t)z->g->insts + k;
}

static void unwatch(lazy *z, uint32_t ob)
{
    uint32_t prev = z->watch_prev[ob], next = z->watch_next[ob];
    if (prev == NONE) return;
    if (prev & WATCH_LIST)
        z->watch_head[prev & ~WATCH_LIST] = next;
    else
        z->watch_next[prev] = next;
    if (next != NONE) z->watch_prev[next] = prev;
    z->watch_prev[ob] = NONE;
}

void lazy_watch(lazy *z, uint32_t ob, uint32_t inst)
{
    unwatch(z, ob);
    uint32_t list = watch_list(z, inst, z->g->ob_key[ob]), first = z->watch_head[list];
    z->watch_next[ob] = first;
    z->watch_prev[ob] = list | WATCH_LIST;
    if (first != NONE) z->watch_prev[first] = ob;
    z->watch_head[list] = ob;
}

static void wake(lazy *z, uint32_t inst, key_id k)
{
    if (!z->watch_next) return;
    uint32_t *head = &z->watch_head[watch_list(z, inst, k)];
    for (uint32_t ob = *head; ob != NONE; ob = z->watch_next[ob]) {
        z->watch_prev[ob] = NONE;
        lazy_enqueue(z, ob);
    }
    *head = NONE;
}

void lazy_wake_initial(lazy *z, key_id k)
{
    wake(z, NONE, k);
}

/* The version has moved, or its transaction has begun or ceased to take part. */
static void wake_around(lazy *z, uint32_t inst)
{
    key_id k = z->g->inst_key[inst];
    /* Reads that see past their own version: any change of the key may concern them. */
    for (uint32_t i = z->past ? z->past_first[k] : 0; z->past && i < z->past_first[k + 1]; i++)
        lazy_enqueue(z, z->past[i]);
    if (!z->watch_next) return;
    wake(z, inst, z->g->inst_key[inst]);
    wake(z, lazy_version_before(z, inst), z->g->inst_key[inst]);
}

/* --- the key's versions in the current order -------------------------------------------------- */

uint32_t lazy_next_version(const lazy *z, uint32_t inst)
{
    key_id k = z->g->inst_key[inst];
    for (uint32_t i = z->where[inst] + 1; i < z->g->kw_first[k + 1]; i++)
        if (z->present[z->g->inst_node[z->list[i]]]) return z->list[i];
    return NONE;
}

uint32_t lazy_version_before(const lazy *z, uint32_t inst)
{
    key_id k = z->g->inst_key[inst];
    for (uint32_t i = z->where[inst]; i-- > z->g->kw_first[k];)
        if (z->present[z->g->inst_node[z->list[i]]]) return z->list[i];
    return NONE;
}

uint32_t lazy_next_of_others(const lazy *z, uint32_t inst, node_id v)
{
    uint32_t u = lazy_next_version(z, inst);
    while (u != NONE && asg_same(z->g, z->g->inst_node[u], v)) u = lazy_next_version(z, u);
    return u;
}

uint32_t lazy_versions_before(const lazy *z, key_id k, node_id v)
{
    uint32_t at = z->pos[begin_of(z->p, v)];
    SEARCH_FIRST(uint32_t, i, z->g->kw_first[k], z->g->kw_first[k + 1],
                 commit_pos(z, z->list[i]) >= at);
    return i;
}

uint32_t lazy_version_seen(const lazy *z, key_id k, node_id v)
{
    for (uint32_t i = lazy_versions_before(z, k, v); i-- > z->g->kw_first[k];) {
        node_id u = z->g->inst_node[z->list[i]];
        if (z->present[u] && !asg_same(z->g, u, v)) return z->list[i];
    }
    return NONE;
}

bool lazy_may_read(const lazy *z, uint32_t ob, uint32_t inst)
{
    asg *g = z->g;
    if (g->inst_value[inst] != g->ob_value[ob]) return false;
    if (initial_alone(z, ob)) return false;
    bool tomb = g->ob_value[ob] == VALUE_NULL && g->h->op_kind[g->ob_op[ob]] & OP_TOMB;
    return !tomb || g->h->op_kind[g->inst_op[inst]] & OP_TOMB;
}

uint32_t lazy_explained_by(const lazy *z, uint32_t ob)
{
    key_id k = z->g->ob_key[ob];
    node_id v = z->g->ob_node[ob];
    for (uint32_t i = lazy_versions_before(z, k, v); i-- > z->g->kw_first[k];) {
        node_id u = z->g->inst_node[z->list[i]];
        if (z->present[u] && u != v && lazy_may_read(z, ob, z->list[i])) return z->list[i];
    }
    return NONE;
}

/* --- literals and clauses --------------------------------------------------------------------- */

uint32_t lazy_new_var(lazy *z)
{
    uint32_t v = solver_var(z->s);
    solver_decidable(z->s, v, false); /* cb_decide alone picks these */
    return v;
}

uint32_t lazy_before(lazy *z, uint32_t from, uint32_t to)
{
    assert(from != to);
    uint32_t *slot = id_map_at(z->m, &z->pair_vars, map_pair(from, to));
    if (*slot != MAP_NONE) return lit_of(*slot, false);
    uint32_t var = *slot = lazy_new_var(z);
    if (z->j) justify_is_before(z->j, var, from, to);
    order_edge(z->o, lit_of(var, false), from, to);
    return lit_of(var, false);
}

/* Is this the first question about the pair?  Keeps the names of clauses that were written. */
bool lazy_first_time(lazy *z, uint32_t a, uint32_t b)
{
    return key_set_add(z->m, &z->written, map_pair(a, b));
}

void lazy_clause_start(lazy *z)
{
    z->lits.n = 0;
}

void lazy_clause_lit(lazy *z, uint32_t lit)
{
    vec_push(z->m, &z->lits, lit);
}

/* The clause holds only if v committed: adds the literal that v did not. */
void lazy_clause_unless(lazy *z, node_id v)
{
    if (z->taken_var && z->taken_var[v] != NONE) lazy_clause_lit(z, lit_of(z->taken_var[v], true));
}

/* Tells the proof why the next clause holds (justify.h). */
static void clause_why(lazy *z, enum justify_why why, uint32_t ob, node_id w, node_id u)
{
    if (z->j) justify_reason(z->j, why, ob, w, u);
}

void lazy_clause_end(lazy *z)
{
    if (z->j) justify_clause(z->j, z->lits.at, z->lits.n);
    solver_add_clause(z->s, z->lits.at, z->lits.n);
    z->a->clauses++;
}

void lazy_add_core(lazy *z, node_id v)
{
    vec_push(z->m, &z->a->core, v);
}

/* A literal that says "from before to", which the current order breaks; LIT_NONE: there is none. */
typedef struct way {
    uint32_t lit, from, to;
} way;

/* Of two literals that would both do, the one whose events are nearer to each other; or the one
   that is free. */
static uint32_t shorter_way(lazy *z, way a, way b)
{
    if (a.lit == LIT_NONE || (b.lit != LIT_NONE && solver_value(z->s, a.lit))) return b.lit;
    if (b.lit == LIT_NONE || solver_value(z->s, b.lit)) return a.lit;
    if (!pass_on(z->p->tune, PASS_TOPOLOGICAL)) return a.lit;
    assert(z->pos[a.from] > z->pos[a.to] && z->pos[b.from] > z->pos[b.to]);
    uint32_t way_a = z->pos[a.from] - z->pos[a.to], way_b = z->pos[b.from] - z->pos[b.to];
    /* Luck decides only between ways of about the same length: the long way costs far more than
       variety is worth. */
    bool close = way_a - way_a / 4 <= way_b && way_b - way_b / 4 <= way_a;
    if (z->p->tune->seed && close) return rng_below(&z->luck, 2) ? a.lit : b.lit;
    return way_a <= way_b ? a.lit : b.lit;
}

bool lazy_ruled_out(const lazy *z, node_id a, node_id b)
{
    return pass_on(z->p->tune, PASS_FOLD) && reaches(&z->reach, a, b);
}

/* v reads w's version (NONE: the initial one), and u stands between them in the order.  `reads` is
   the literal that says v reads w, or LIT_NONE if that is sure; `name` and u tell the clause from
   others.  Returns a literal to decide, or THEORY_ANY if a clause was written. */
static uint32_t mend_between(lazy *z, uint32_t ob, uint32_t w, uint32_t u, uint32_t reads,
                             uint32_t name)
{
    asg *g = z->g;
    node_id v = g->ob_node[ob], un = g->inst_node[u];
    assert(u != NONE && u != w && !asg_same(g, un, v));
    assert(commit_pos(z, u) < z->pos[begin_of(z->p, v)]);
    uint32_t from = commit_of(z->p, un), to = from, first = LIT_NONE, second = LIT_NONE;
    /* What the clocks rule out needs no literal at all. */
    if (w != NONE && !lazy_ruled_out(z, g->inst_node[w], un)) {
        to = version_target(z->p, g->inst_node[w]);
        first = lazy_before(z, from, to);
    }
    if (first == LIT_NONE || !lazy_ruled_out(z, un, v))
        second = lazy_before(z, begin_of(z->p, v), from);
    if (lazy_first_time(z, name, u)) {
        lazy_clause_start(z);
        clause_why(z, BECAUSE_READ, ob, w != NONE ? g->inst_node[w] : NO_ID, un);
        if (reads != LIT_NONE) lazy_clause_lit(z, lit_not(reads));
        lazy_clause_unless(z, v);
        lazy_clause_unless(z, un);
        if (first != LIT_NONE) lazy_clause_lit(z, first);
        if (second != LIT_NONE) lazy_clause_lit(z, second);
        lazy_clause_end(z);
        lazy_add_core(z, v);
        lazy_add_core(z, un);
        if (w != NONE) lazy_add_core(z, g->inst_node[w]);
        return THEORY_ANY;
    }
    return shorter_way(z, (way){first, from, to}, (way){second, begin_of(z->p, v), from});
}

/* --- open reads ------------------------------------------------------------------------------- */

uint32_t lazy_cand_lit(lazy *z, uint32_t i)
{
    return lit_of(z->cand_var[i], false);
}

/* The candidates of the read that were ruled out have one variable, which is false. */
static void never_chosen(lazy *z, uint32_t open)
{
    const asg *g = z->g;
    assert(!z->j && "candidates are not ruled out where a proof is wanted");
    if (z->never == NONE) {
        z->never = lazy_new_var(z);
        lazy_clause_start(z);
        lazy_clause_lit(z, lit_of(z->never, true));
        lazy_clause_end(z);
    }
    for (uint32_t i = g->cand_first.at[open]; i < g->cand_first.at[open + 1]; i++)
        if (z->p->dropped[i]) z->cand_var[i] = z->never;
}

/* Makes the candidates' literals, and writes what choosing one means. */
static void write_candidates(lazy *z, uint32_t open)
{
    asg *g = z->g;
    uint32_t ob = g->open.at[open];
    node_id v = g->ob_node[ob];
    if (z->p->dropped) never_chosen(z, open);
    for (uint32_t n = lazy_cands(z, open), k = 0; k < n; k++) {
        uint32_t i = lazy_cand(z, open, k), c = asg_cand(g, open, i);
        z->cand_var[i] = lazy_new_var(z);
        if (z->j) justify_is_read(z->j, z->cand_var[i], ob, c < RF_LAST ? c : NO_ID);
        if (c >= RF_LAST) continue;
        order_edge(z->o, lazy_cand_lit(z, i), commit_of(z->p, c), begin_of(z->p, v));
        if (z->taken_var && z->taken_var[c] != NONE) {
            lazy_clause_start(z);
            clause_why(z, BECAUSE_TAKEN, ob, c, NO_ID);
            lazy_clause_lit(z, lit_not(lazy_cand_lit(z, i)));
            lazy_clause_lit(z, lit_of(z->taken_var[c], false));
            lazy_clause_end(z);
        }
    }
    lazy_clause_start(z);
    clause_why(z, BECAUSE_FROM, ob, NO_ID, NO_ID);
    lazy_clause_unless(z, v);
    for (uint32_t n = lazy_cands(z, open), k = 0; k < n; k++)
        lazy_clause_lit(z, lazy_cand_lit(z, lazy_cand(z, open, k)));
    for (uint32_t i = g->cand_first.at[open]; i < g->cand_first.at[open + 1]; i++)
        if (asg_cand(g, open, i) < RF_LAST) lazy_add_core(z, asg_cand(g, open, i));
    lazy_add_core(z, v);
    lazy_clause_end(z);
    z->chosen_clause[open] = 1;
    initial_written(z, open);
}

bool lazy_write_choice(lazy *z, uint32_t ob)
{
    if (z->chosen_clause[z->open_of[ob]]) return false;
    write_candidates(z, z->open_of[ob]);
    return true;
}

/* Among candidates that are still free, the last one before the reader, else the first after it. */
uint32_t lazy_likeliest(lazy *z, uint32_t open)
{
    asg *g = z->g;
    uint32_t at = z->pos[begin_of(z->p, g->ob_node[g->open.at[open]])], best = LIT_NONE;
    bool best_before = false;
    uint32_t best_pos = 0;
    for (uint32_t n = lazy_cands(z, open), k = 0; k < n; k++) {
        uint32_t i = lazy_cand(z, open, k);
        if (solver_value(z->s, lazy_cand_lit(z, i))) continue;
        if (!pass_on(z->p->tune, PASS_TOPOLOGICAL)) return lazy_cand_lit(z, i);
        uint32_t c = asg_cand(g, open, i);
        bool init = c >= RF_LAST;
        uint32_t p = init ? 0 : z->pos[commit_of(z->p, c)];
        bool early = init || p < at;
        if (!init && !z->present[c] && best != LIT_NONE) continue; /* one that exists is better */
        bool better = best == LIT_NONE ||
                      (early ? !best_before || p > best_pos : !best_before && p < best_pos);
        if (!better) continue;
        best = lazy_cand_lit(z, i);
        best_before = early;
        best_pos = p;
    }
    return best;
}

/* The open read has chosen candidate i, and u, which is none of its candidates, stands between. */
static uint32_t mend_chosen_open(lazy *z, uint32_t ob, uint32_t i, uint32_t u)
{
    asg *g = z->g;
    node_id v = g->ob_node[ob], un = g->inst_node[u];
    uint32_t c = asg_cand(g, z->open_of[ob], i);
    uint32_t w = c >= RF_LAST ? NONE : asg_install(g, c, g->ob_key[ob]);
    way earlier = {LIT_NONE, commit_of(z->p, un), commit_of(z->p, un)};
    way later = {LIT_NONE, begin_of(z->p, v), earlier.from};
    if (w != NONE && (z->j || !lazy_ruled_out(z, c, un))) {
        earlier.to = version_target(z->p, c);
        earlier.lit = lazy_before(z, earlier.from, earlier.to);
    }
    if (earlier.lit == LIT_NONE || z->j || !lazy_ruled_out(z, un, v))
        later.lit = lazy_before(z, later.from, later.to);
    if (lazy_first_time(z, i | OVERLAP, u)) {
        lazy_clause_start(z);
        clause_why(z, BECAUSE_READ, ob, w != NONE ? c : NO_ID, un);
        lazy_clause_lit(z, lit_not(lazy_cand_lit(z, i)));
        lazy_clause_unless(z, v);
        lazy_clause_unless(z, un);
        if (earlier.lit != LIT_NONE) lazy_clause_lit(z, earlier.lit);
        if (later.lit != LIT_NONE) lazy_clause_lit(z, later.lit);
        lazy_clause_end(z);
        lazy_add_core(z, un);
        return THEORY_ANY;
    }
    return shorter_way(z, earlier, later);
}

/* An open read must find some writer of its value. */
static uint32_t check_open_read(lazy *z, uint32_t ob, bool *violated)
{
    asg *g = z->g;
    uint32_t open = z->open_of[ob];
    uint32_t u = lazy_version_seen(z, g->ob_key[ob], g->ob_node[ob]);
    *violated = false;
    bool initial = u == NONE && asg_cand_init(g, open);
    if (initial ? initial_allowed(z, ob) : u != NONE && lazy_may_read(z, ob, u)) {
        lazy_watch(z, ob, u);
        return LIT_NONE;
    }
    *violated = true;
    if (initial) return initial_demand(z, ob);
    if (!z->chosen_clause[open]) {
        write_candidates(z, open);
        return THEORY_ANY;
    }
    for (uint32_t n = lazy_cands(z, open), k = 0; k < n; k++) {
        uint32_t i = lazy_cand(z, open, k);
        if (solver_value(z->s, lazy_cand_lit(z, i)) <= 0) continue;
        assert(u != NONE && "a chosen writer stands before its reader");
        if (u == NONE) return LIT_NONE;
        return mend_chosen_open(z, ob, i, u);
    }
    return lazy_likeliest(z, open);
}

/* A read whose source must be chosen outright. */
static uint32_t choose_source(lazy *z, uint32_t ob, bool *violated)
{
    uint32_t open = z->open_of[ob];
    *violated = true;
    if (z->chosen_clause[open]) return lazy_likeliest(z, open);
    write_candidates(z, open);
    return THEORY_ANY;
}

/* An update's read whose source is chosen must find just that one. */
static uint32_t check_chosen_read(lazy *z, uint32_t ob, uint32_t cand, bool *violated)
{
    asg *g = z->g;
    node_id v = g->ob_node[ob];
    uint32_t c = asg_cand(g, z->open_of[ob], cand);
    uint32_t w = c < RF_LAST ? asg_install(g, c, g->ob_key[ob]) : NONE;
    uint32_t u = lazy_version_seen(z, g->ob_key[ob], v);
    *violated = u != w;
    if (u == w) {
        lazy_watch(z, ob, u);
        return LIT_NONE;
    }
    assert(u != NONE && "a chosen writer stands before its reader");
    return mend_between(z, ob, w, u, lazy_cand_lit(z, cand), cand | OVERLAP);
}

/* A read that any candidate before it explains. */
static uint32_t check_any_candidate(lazy *z, uint32_t ob, bool *violated)
{
    asg *g = z->g;
    uint32_t c = lazy_any_before(z, ob);
    *violated = false;
    if (c == RF_OPEN && initial_is_open(z, ob) && asg_cand_init(g, z->open_of[ob])) {
        *violated = true;
        return initial_demand(z, ob);
    }
    if (c == RF_OPEN) return choose_source(z, ob, violated);
    if (c < RF_LAST || initial_is_open(z, ob))
        lazy_watch(z, ob, c < RF_LAST ? asg_install(g, c, g->ob_key[ob]) : NONE);
    return LIT_NONE;
}

/* --- checking one obligation ------------------------------------------------------------------ */

static uint32_t check_read(lazy *z, uint32_t ob, bool *violated)
{
    asg *g = z->g;
    node_id v = g->ob_node[ob];
    *violated = false;
    if (!z->present[v]) return LIT_NONE;
    uint32_t rf = z->p->rf[ob];
    if (rf == RF_OPEN && g->ob_flags[ob] & OB_LIST && !slots_own(z, ob)) return LIT_NONE;
    if (rf == RF_NONE) return LIT_NONE; /* its transaction is barred by a clause */
    if (slots_own(z, ob) && !z->updates) {
        uint32_t cand = paths_choice(z, ob);
        if (cand == NONE) {
            *violated = true;
            return slots_cover(z, ob);
        }
        if (!z->paths) {
            uint32_t lit = LIT_NONE;
            if (strict_read(z->p, ob)) lit = check_chosen_read(z, ob, cand, violated);
            if (!*violated) slots_hold(z, ob, cand);
            return lit;
        }
    }
    if (z->paths) {
        if (paths_check(z, ob)) return LIT_NONE;
        bool initial = paths_stands(z, ob) == FROM_INIT; /* which is not what was chosen */
        *violated = true;
        return initial ? initial_demand(z, ob) : choose_source(z, ob, violated);
    }
    if (lazy_outright(z, ob) && rf == RF_OPEN) {
        uint32_t cand = paths_choice(z, ob);
        if (cand == NONE) return choose_source(z, ob, violated);
        return strict_read(z->p, ob) ? check_chosen_read(z, ob, cand, violated) : LIT_NONE;
    }
    if (!strict_read(z->p, ob))
        return rf == RF_OPEN ? check_any_candidate(z, ob, violated) : LIT_NONE;
    if (rf == RF_OPEN) return check_open_read(z, ob, violated);
    uint32_t u;
    if (rf == RF_INIT) {
        if (z->p->in[v] && !(g->ob_flags[ob] & OB_OWN)) return LIT_NONE; /* known edges */
        u = lazy_version_seen(z, g->ob_key[ob], v);
        if (u == NONE) {
            if (lazy_must_watch(z, ob)) lazy_watch(z, ob, NONE);
            return LIT_NONE;
        }
        *violated = true;
        return mend_between(z, ob, NONE, u, LIT_NONE, ob);
    }
    uint32_t w = z->p->rf_inst[ob];
    u = lazy_next_of_others(z, w, v);
    if (u == NONE || commit_pos(z, u) > z->pos[begin_of(z->p, v)]) return LIT_NONE;
    *violated = true;
    return mend_between(z, ob, w, u, LIT_NONE, ob);
}

/* Snapshot isolation: does the install overlap the version before it? */
static uint32_t check_overlap(lazy *z, uint32_t b, bool *violated)
{
    asg *g = z->g;
    *violated = false;
    if (!z->present[g->inst_node[b]] || is_lax_key(z->p, g->inst_key[b])) return LIT_NONE;
    uint32_t a = lazy_version_before(z, b);
    if (a == NONE) return LIT_NONE;
    node_id an = g->inst_node[a], bn = g->inst_node[b];
    if (z->pos[commit_of(z->p, an)] < z->pos[begin_of(z->p, bn)]) return LIT_NONE;
    *violated = true;
    uint32_t first = lazy_before(z, commit_of(z->p, an), begin_of(z->p, bn));
    uint32_t second = lazy_before(z, commit_of(z->p, bn), begin_of(z->p, an));
    uint32_t low = a < b ? a : b, high = a < b ? b : a;
    if (lazy_first_time(z, low, high | OVERLAP)) {
        lazy_clause_start(z);
        clause_why(z, BECAUSE_OVERLAP, g->inst_key[a], an, bn);
        lazy_clause_unless(z, an);
        lazy_clause_unless(z, bn);
        lazy_clause_lit(z, first);
        lazy_clause_lit(z, second);
        lazy_clause_end(z);
        lazy_add_core(z, an);
        lazy_add_core(z, bn);
        return THEORY_ANY;
    }
    return shorter_way(z, (way){first, commit_of(z->p, an), begin_of(z->p, bn)},
                       (way){second, commit_of(z->p, bn), begin_of(z->p, an)});
}

/* --- moves ------------------------------------------------------------------------------------ */

/* Widens the window of moved versions of its key. */
static void touch_version(lazy *z, uint32_t inst)
{
    key_id k = z->g->inst_key[inst];
    uint32_t at = z->where[inst];
    if (!z->key_hi[k]) {
        vec_push(z->m, &z->touched, k);
        z->key_lo[k] = at;
        z->key_hi[k] = at + 1;
        return;
    }
    if (at < z->key_lo[k]) z->key_lo[k] = at;
    if (at + 1 > z->key_hi[k]) z->key_hi[k] = at + 1;
}

static void queue_readers(lazy *z, uint32_t inst)
{
    for (uint32_t i = z->p->reader_first[inst]; i < z->p->reader_first[inst + 1]; i++)
        lazy_enqueue(z, z->p->reader[i]);
}

static void version_swapped(lazy *z, uint32_t inst)
{
    queue_readers(z, inst);
    lazy_enqueue_overlap(z, inst);
}

/* Insertion sort from the first moved version on; it ends after the last moved one as soon as the
   rest is in order.  Of two versions that change places both are to be looked at. */
static void resort_key(lazy *z, key_id k)
{
    uint32_t first = z->g->kw_first[k], end = z->g->kw_first[k + 1];
    uint32_t lo = z->key_lo[k], hi = z->key_hi[k];
    assert(first <= lo && lo < hi && hi <= end);
    for (uint32_t i = lo > first ? lo : first + 1; i < end; i++) {
        uint32_t x = z->list[i], px = commit_pos(z, x), j = i;
        if (i >= hi && commit_pos(z, z->list[i - 1]) < px) break;
        for (; j > first && commit_pos(z, z->list[j - 1]) > px; j--) {
            z->list[j] = z->list[j - 1];
            z->where[z->list[j]] = j;
            version_swapped(z, z->list[j]);
        }
        if (j == i) continue;
        z->list[j] = x;
        z->where[x] = j;
        version_swapped(z, x);
    }
    z->key_hi[k] = 0;
}

static void queue_version(lazy *z, uint32_t inst)
{
    uint32_t prior = lazy_version_before(z, inst);
    queue_readers(z, inst);
    if (prior != NONE) queue_readers(z, prior);
    if (!z->overlap_queued) return;
    uint32_t next = lazy_next_version(z, inst);
    lazy_enqueue_overlap(z, inst);
    if (next != NONE) lazy_enqueue_overlap(z, next);
}

/* What a move can break.  A read of w by v is broken by the version u after w if u comes to stand
   before v: v moved on, or u moved back, or u and w changed places (resort_key).  Two neighbours
   come to overlap if the first commits later, the second begins earlier, or they changed places.
   Reads without a certain writer may break either way. */
static void begin_moved(lazy *z, node_id v, uint32_t was, uint32_t now)
{
    asg *g = z->g;
    if (now > was || z->watch_next)
        for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++)
            if (now > was || z->p->rf[ob] >= RF_LAST) lazy_enqueue(z, ob);
    if (now < was && z->overlap_queued)
        for (uint32_t j = g->inst_first[v]; j < g->inst_first[v + 1]; j++)
            lazy_enqueue_overlap(z, j);
}

static void commit_moved(lazy *z, node_id v, uint32_t was, uint32_t now)
{
    asg *g = z->g;
    for (uint32_t j = g->inst_first[v]; j < g->inst_first[v + 1]; j++) {
        if (now < was) {
            uint32_t prior = lazy_version_before(z, j);
            if (prior != NONE) queue_readers(z, prior);
        } else if (z->overlap_queued) {
            uint32_t next = lazy_next_version(z, j);
            if (next != NONE) lazy_enqueue_overlap(z, next);
        }
        wake_around(z, j);
    }
}

void lazy_follow_moves(lazy *z)
{
    asg *g = z->g;
    size_t n;
    const order_move *moves = order_moved(z->o, &n);
    uint32_t txn_events = z->p->si ? 2 * z->p->txns : z->p->txns;
    z->a->moved += n;
    z->touched.n = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t e = moves[i].node;
        if (e >= txn_events) continue;
        node_id v = txn_of(z->p, e);
        if (e != commit_of(z->p, v)) continue;
        for (uint32_t j = g->inst_first[v]; j < g->inst_first[v + 1]; j++) touch_version(z, j);
    }
    for (size_t i = 0; i < z->touched.n; i++) resort_key(z, z->touched.at[i]);
    for (size_t i = 0; i < n; i++) {
        uint32_t e = moves[i].node;
        if (e >= txn_events) continue;
        node_id v = txn_of(z->p, e);
        uint32_t now = z->pos[e], was = moves[i].was;
        if (e == begin_of(z->p, v)) begin_moved(z, v, was, now);
        if (e == commit_of(z->p, v)) commit_moved(z, v, was, now);
        added_moved(z, v);
    }
    order_moved_clear(z->o);
    /* One move in a dense graph may take milliseconds: too long to be one tick. */
    z->m->guard->ticks += (uint32_t)n;
    if (n) guard_poll(z->m->guard);
}

/* --- the theory ------------------------------------------------------------------------------- */

/* A transaction of unknown outcome begins (or ceases) to take part. */
static void outcome_changed(lazy *z, node_id v, bool yes)
{
    asg *g = z->g;
    z->present[v] = yes;
    z->epoch++;
    added_moved(z, v);
    for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++) lazy_enqueue(z, ob);
    for (uint32_t j = g->inst_first[v]; j < g->inst_first[v + 1]; j++) {
        wake_around(z, j);
        if (yes) queue_version(z, j);
    }
}

/* The unknown transaction whose outcome the literal says, or NO_ID.  The variables of outcomes come
   in a row. */
static node_id outcome_of(const lazy *z, uint32_t lit)
{
    uint32_t i = lit_var(lit) - z->first_taken;
    return i < z->unknown.n ? z->unknown.at[i] : NO_ID;
}

static void note_outcomes(lazy *z, const uint32_t *lits, size_t n)
{
    for (size_t i = 0; i < n && z->unknown.n; i++) {
        node_id v = outcome_of(z, lits[i]);
        if (v == NO_ID) continue;
        vec_push(z->m, &z->outcomes, v);
        vec_push(z->m, &z->decided, v);
    }
}

static void notify_assignment(void *state, const uint32_t *lits, size_t n)
{
    lazy *z = state;
    z->epoch++;
    note_outcomes(z, lits, n);
    for (size_t i = 0; i < n && !z->conflicting; i++) {
        if (lit_negative(lits[i])) continue;
        if (!order_assert(z->o, lits[i])) {
            size_t k;
            const uint32_t *closed = order_cycle(z->o, &k);
            z->conflict.n = 0;
            assert(k);
            z->a->width[k < CYCLE_WIDTHS ? k - 1 : CYCLE_WIDTHS - 1]++;
            for (size_t j = 0; j < k; j++) vec_push(z->m, &z->conflict, lit_not(closed[j]));
            if (z->j) {
                size_t n_nodes;
                const uint32_t *nodes = order_cycle_nodes(z->o, &n_nodes);
                justify_cycle(z->j, nodes, n_nodes, z->conflict.at, z->conflict.n);
            }
            z->conflicting = true;
            lazy_follow_moves(z);
            return;
        }
        lazy_follow_moves(z);
    }
}

static void notify_new_level(void *state)
{
    lazy *z = state;
    if (z->unknown.n) vec_push(z->m, &z->outcome_levels, z->outcomes.n);
    order_new_level(z->o);
}

static void notify_backtrack(void *state, uint32_t level)
{
    lazy *z = state;
    z->conflicting = false;
    z->epoch++;
    z->backtracks++;
    assert(z->outcome_levels.n == 0 || z->unknown.n);
    if (level < z->outcome_levels.n) {
        size_t keep = z->outcome_levels.at[level];
        for (size_t i = keep; i < z->outcomes.n; i++)
            vec_push(z->m, &z->decided, z->outcomes.at[i]);
        z->outcomes.n = keep;
        z->outcome_levels.n = level;
    }
    order_backtrack(z->o, level);
}

static bool cb_add_external_clause(void *state, theory_clause *out)
{
    lazy *z = state;
    if (!z->conflicting) return false;
    z->conflicting = false;
    *out = (theory_clause){z->conflict.at, z->conflict.n, 0, true};
    return true;
}

/* Which unknown transactions take part follows from the assignment.  Looked at here and not when a
   literal is assigned, because it may be undone before anybody asks. */
static void follow_outcomes(lazy *z)
{
    for (size_t i = 0; i < z->decided.n; i++) {
        node_id v = z->decided.at[i];
        bool yes = solver_value(z->s, lit_of(z->taken_var[v], false)) > 0;
        for (; v < z->p->txns && asg_same(z->g, z->decided.at[i], v);
             v++) /* every part of the transaction */
            if (yes != z->present[v]) outcome_changed(z, v, yes);
    }
    z->decided.n = 0;
}

/* The newest obligation first: so a part of the order is at rest before the next one is begun, and
   what contradicts a choice is found next to it.  In turn, every choice of a round is lost to a
   conflict that is far from most of them, and its neighbours, which waited for their turn, are
   mended the other way: rounds that undo each other.  Where conflicts are many all the same, the
   contradiction is better looked for everywhere: a search that stays in one place learns the same
   thing a thousand times (measured on dense duplicates: 30 conflicts in turn, no end newest
   first).  Neither is better everywhere, and a conflict in turn may cost a thousand choices.  So
   after some conflicts the two take turns, each for as many obligations as the other one had, then
   for twice as many: the worse one costs no more than the better one, but for a factor. */
#define NEWEST_CONFLICTS 64u
#define FIRST_TURN 16384u

static bool takes_newest(lazy *z)
{
    lazy_turns *t = &z->turns;
    if (!pass_on(z->p->tune, PASS_NEWEST_FIRST)) return false;
    t->taken++;
    if (t->taken > t->most && solver_stats(z->s)->conflicts >= NEWEST_CONFLICTS) {
        t->taken = 0;
        t->oldest = !t->oldest;
        if (!t->most)
            t->most = FIRST_TURN;
        else if (!t->oldest)
            t->most *= 2;
    }
    return !t->oldest;
}

static uint32_t next_queued(lazy *z)
{
    if (takes_newest(z)) return z->queue.at[--z->queue.n];
    uint32_t x = z->queue.at[z->head++];
    if (z->head > 4096 && 2 * z->head > z->queue.n) {
        z->queue.n -= z->head;
        memmove(z->queue.at, z->queue.at + z->head, z->queue.n * sizeof *z->queue.at);
        z->head = 0;
    }
    return x;
}

static uint32_t cb_decide(void *state)
{
    lazy *z = state;
    follow_outcomes(z);
    guard_tick(z->m->guard);
    assert(!z->conflicting);
#ifdef RATEL_HOSTILE
    assert(!lazy_check(z, false));
#endif
    uint32_t answer;
    while (z->head < z->queue.n || added_mend(z, &answer) || paths_mend(z, &answer) ||
           paths_look_again(z) || updates_look_again(z) || among_look_again(z) ||
           initial_look_again(z) || slots_look_again(z)) {
        if (z->head == z->queue.n) return answer;
        uint32_t x = next_queued(z);
        bool violated;
        if (x & OVERLAP) {
            x &= ~OVERLAP;
            z->overlap_queued[x] = 0;
            answer = check_overlap(z, x, &violated);
            if (violated) lazy_enqueue_overlap(z, x);
        } else {
            z->queued[x] = 0;
            answer = check_read(z, x, &violated);
            if (violated) lazy_enqueue(z, x);
        }
        guard_tick(z->m->guard);
        if (!violated) continue;
        return answer;
    }
    if (slots_broken(z, &answer) || paths_broken(z, &answer) || updates_broken(z, &answer) ||
        split_broken(z, &answer) || among_broken(z, &answer))
        return answer;
    assert(!lazy_check(z, true));
    return THEORY_STOP;
}

static bool cb_check_found_model(void *state)
{
    lazy *z = state;
    return z->head == z->queue.n && added_clean(z) && slots_clean(z) && paths_clean(z) &&
           updates_clean(z) && split_clean(z) && among_clean(z);
}

/* --- unknown outcomes ------------------------------------------------------------------------- */

static void make_outcome_vars(lazy *z)
{
    asg *g = z->g;
    z->taken_var = mem_array(z->m, uint32_t, (size_t)z->p->txns + 1);
    for (node_id v = 0; v < z->p->txns; v++) {
        bool again = v && asg_same(g, v - 1, v); /* another part of the same transaction */
        z->taken_var[v] = z->p->in[v] ? NONE : again ? z->taken_var[v - 1] : lazy_new_var(z);
        if (z->p->in[v] || again) continue;
        if (z->j) justify_is_taken(z->j, z->taken_var[v], v);
        if (!z->unknown.n) z->first_taken = z->taken_var[v];
        vec_push(z->m, &z->unknown, v);
        assert(outcome_of(z, lit_of(z->taken_var[v], false)) == v);
    }
}

/* If v took part, so did those that it read from; if nothing explains a read of v, it did not. */
static void write_outcome(lazy *z, node_id v)
{
    asg *g = z->g;
    uint32_t taken = lit_of(z->taken_var[v], false);
    bool impossible = g->barred[v] || z->p->present;
    for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++) {
        uint32_t rf = z->p->rf[ob];
        if (rf == RF_NONE) impossible = true;
        if (rf >= RF_LAST) continue;
        order_edge(z->o, taken, commit_of(z->p, rf), begin_of(z->p, v));
        if (z->p->in[rf]) continue;
        lazy_clause_start(z);
        clause_why(z, BECAUSE_TAKEN, ob, rf, NO_ID);
        lazy_clause_lit(z, lit_not(taken));
        lazy_clause_lit(z, lit_of(z->taken_var[rf], false));
        lazy_clause_end(z);
    }
    if (!impossible) return;
    lazy_clause_start(z);
    clause_why(z, BECAUSE_FAULT, NO_ID, NO_ID, v);
    lazy_clause_lit(z, lit_not(taken));
    lazy_clause_end(z);
}

/* A version order that lists or hints show, with an unknown transaction in it. */
static void write_shown_edge(lazy *z, uint32_t i)
{
    const edge *e = &z->g->extra.at[i];
    uint32_t both = lazy_new_var(z);
    if (z->j) justify_is_before(z->j, both, commit_of(z->p, e->from), version_target(z->p, e->to));
    lazy_clause_start(z);
    clause_why(z, BECAUSE_SHOWN, i, NO_ID, NO_ID);
    lazy_clause_unless(z, e->from);
    lazy_clause_unless(z, e->to);
    lazy_clause_lit(z, lit_of(both, false));
    lazy_clause_end(z);
    order_edge(z->o, lit_of(both, false), commit_of(z->p, e->from), version_target(z->p, e->to));
}

/* Literals of unknown outcomes, and what is known about each of them. */
static void write_outcomes(lazy *z)
{
    asg *g = z->g;
    bool any = false;
    for (node_id v = 0; v < z->p->txns && !any; v++) any = !z->p->in[v];
    if (!any) return;
    make_outcome_vars(z);
    for (node_id v = 0; v < z->p->txns; v++)
        if (!z->p->in[v]) write_outcome(z, v);
    for (size_t i = 0; i < z->p->unsure.n; i++) {
        arc x = z->p->unsure.at[i];
        assert(!z->p->in[txn_of(z->p, x.from)]);
        order_edge(z->o, lit_of(z->taken_var[txn_of(z->p, x.from)], false), x.from, x.to);
    }
    for (uint32_t i = 0; i < g->extra.n; i++)
        if (!z->p->in[g->extra.at[i].from] || !z->p->in[g->extra.at[i].to]) write_shown_edge(z, i);
}

/* --- the answer ------------------------------------------------------------------------------- */

uint32_t lazy_any_before(lazy *z, uint32_t ob)
{
    const asg *g = z->g;
    uint32_t open = z->open_of[ob], at = z->pos[begin_of(z->p, g->ob_node[ob])];
    bool initial = asg_cand_init(g, open);
    if (initial && initial_allowed(z, ob)) return RF_INIT;
    for (uint32_t n = lazy_cands(z, open), k = 0; k < n; k++) {
        uint32_t c = asg_cand(g, open, lazy_cand(z, open, k));
        if (c < RF_LAST && z->present[c] && z->pos[commit_of(z->p, c)] < at) return c;
    }
    return RF_OPEN;
}

void lazy_keep_path(lazy *z, uint32_t ob, node_id u)
{
    node_id v = z->g->ob_node[ob];
    step back = {v, u, STEP_RW, z->g->ob_key[ob], ob};
    z->a->path.steps.n = 0;
    paths_path(z, u, v, &z->a->path);
    vec_push(z->m, &z->a->path.steps, back);
}

static void keep_model(lazy *z)
{
    asg *g = z->g;
    z->a->pos = mem_array(z->m, uint32_t, (size_t)z->p->events + 1);
    memcpy(z->a->pos, z->pos, z->p->events * sizeof *z->pos);
    if (z->updates) memcpy(z->a->pos, updates_order(z), z->p->txns * sizeof *z->pos);
    z->a->out = mem_array0(z->m, uint8_t, (size_t)z->p->txns + 1);
    for (node_id v = 0; v < z->p->txns; v++) z->a->out[v] = !z->present[v];
    z->a->rf = mem_array(z->m, uint32_t, g->obs + 1);
    for (uint32_t ob = 0; ob < g->obs; ob++) {
        z->a->rf[ob] = z->p->rf[ob];
        if (z->p->rf[ob] != RF_OPEN || !z->present[g->ob_node[ob]]) continue;
        if (g->ob_flags[ob] & OB_LIST && !slots_own(z, ob)) {
            z->a->rf[ob] = RF_OPEN; /* what the reader itself had set */
        } else if (z->paths || lazy_outright(z, ob) || slots_own(z, ob)) {
            z->a->rf[ob] = paths_source(z, ob);
        } else if (strict_read(z->p, ob)) {
            uint32_t u = lazy_version_seen(z, g->ob_key[ob], g->ob_node[ob]);
            z->a->rf[ob] = u == NONE ? RF_INIT : g->inst_node[u];
        } else {
            z->a->rf[ob] = initial_in_model(z, ob) ? RF_INIT : lazy_any_before(z, ob);
        }
    }
}

/* Lists are searched: does a run of all transactions explain every read?  What it cannot have
   looked at is queued: reads of other keys, if the order breaks them. */
static bool run_explains(const lazy *z)
{
    if (!z->slots || !z->all_ran || z->p->added || z->initial) return false;
    for (size_t i = z->head; i < z->queue.n; i++) {
        uint32_t x = z->queue.at[i];
        if (x & OVERLAP || z->p->rf[x] != RF_OPEN || !(z->g->ob_flags[x] & OB_LIST)) return false;
    }
    return true;
}

/* The answer is the order of the run: every read is from the version right before it. */
static void keep_run(lazy *z, const uint32_t *pos)
{
    const asg *g = z->g;
    decision *a = z->a;
    assert(!z->p->si && z->p->rule->strict == STRICT_ALL);
    a->holds = true;
    a->pos = mem_array(z->m, uint32_t, (size_t)z->p->events + 1);
    memcpy(a->pos, pos, z->p->events * sizeof *pos);
    a->out = mem_array0(z->m, uint8_t, (size_t)z->p->txns + 1);
    for (node_id v = 0; v < z->p->txns; v++) a->out[v] = !z->present[v];
    a->rf = mem_array(z->m, uint32_t, g->obs + 1);
    for (uint32_t ob = 0; ob < g->obs; ob++) {
        a->rf[ob] = z->p->rf[ob];
        if (a->rf[ob] != RF_OPEN || !z->present[g->ob_node[ob]]) continue;
        if (g->ob_flags[ob] & OB_LIST && !slots_own(z, ob)) continue; /* its own write */
        uint32_t u = lazy_version_seen(z, g->ob_key[ob], g->ob_node[ob]);
        a->rf[ob] = u == NONE ? RF_INIT : g->inst_node[u];
    }
}

/* --- the strategy ----------------------------------------------------------------------------- */

static bool too_large(const asg *g)
{
    return g->insts + history_keys(g->h) >= OVERLAP || g->obs >= OVERLAP || asg_cands(g) >= OVERLAP;
}

static void make_state(lazy *z)
{
    order_problem *p = z->p;
    asg *g = z->g;
    assert(!problem_check(p));
    if (z->j) justify_start(z->j);
    rng_seed(&z->luck, p->tune->seed);
    z->present = mem_array(p->m, uint8_t, (size_t)p->txns + 1);
    for (node_id v = 0; v < p->txns; v++) z->present[v] = p->in[v];
    z->queued = mem_array0(p->m, uint8_t, g->obs + 1);
    if (p->rule->exclusive) z->overlap_queued = mem_array0(p->m, uint8_t, g->insts + 1);
    asg_by_key(g);
    paths_start(z);
    updates_start(z);
    among_start(z);
    initial_start(z);
    slots_start(z);
    added_start(z);
    assert(!z->paths || !z->updates);
    lazy_index_open(z);
    watch_start(z);
    lazy_index_past(z);
    z->list = mem_array(z->m, uint32_t, g->insts + 1);
    z->where = mem_array(z->m, uint32_t, g->insts + 1);
}

/* From the first order to the order that the solver keeps. */
static void make_solver(lazy *z, const order_graph *known, const uint32_t *pos)
{
    order_problem *p = z->p;
    size_t keys = history_keys(z->g->h);
    z->s = solver_new(p->m);
    if (z->j) solver_set_proof(z->s, justify_proof(z->j));
    /* Units come one by one here, and simplifying at each would be quadratic. */
    solver_set_option(z->s, "simplify", 0);
    z->o = order_new(p->m, p->events, known, pos);
    z->pos = order_positions(z->o);
    z->key_lo = mem_array0(p->m, uint32_t, keys + 1);
    z->key_hi = mem_array0(p->m, uint32_t, keys + 1);
    if (p->rf != z->g->ob_rf) problem_index_readers(p);
    lazy_index_unlisted(z);
}

static void keep_certain_cycle(lazy *z)
{
    size_t n;
    const uint32_t *closed = order_cycle_nodes(z->o, &n);
    z->a->known_cycle = true;
    for (size_t i = 0; i < n; i++) vec_push(z->m, &z->a->cycle, closed[i]);
}

/* Where lists with few different elements are also written or deleted, a search that has not ended
   by then may take very long; the limit is for time, and no property of such histories.  What a
   conflict costs grows with the number of variables. */
#define CHAIN_CONFLICTS 4000u
#define CHAIN_WORK ((uint64_t)1 << 28) /* conflicts times variables */

static uint64_t most_chain_conflicts(const lazy *z)
{
    uint64_t most = CHAIN_WORK / (solver_vars(z->s) + 1);
    return most > CHAIN_CONFLICTS ? most : CHAIN_CONFLICTS;
}

static void search_order(lazy *z, uint64_t conflicts)
{
    decision *a = z->a;
    bool chains = !conflicts && z->slots && z->g->slots->chains.keys.n;
    theory t = {.state = z,
                .notify_assignment = notify_assignment,
                .notify_new_level = notify_new_level,
                .notify_backtrack = notify_backtrack,
                .cb_add_external_clause = cb_add_external_clause,
                .cb_decide = cb_decide,
                .cb_check_found_model = cb_check_found_model};
    if (z->slots && z->g->slots->chains.wanted > MOST_SLOTS) {
        a->undecided = "the elements of lists may have been appended in more than 4 million places";
        return;
    }
    solver_set_theory(z->s, &t);
    write_outcomes(z);
    slots_write(z);
    added_write(z);
    if (chains) conflicts = most_chain_conflicts(z);
    if (conflicts) solver_set_option(z->s, "conflicts", (int64_t)conflicts);
    solver_set_option(z->s, "seed", (int64_t)(z->p->tune->seed & INT64_MAX));
    solve_status status = solver_solve(z->s, NULL, 0);
    a->holds = status == SOLVE_SAT;
    if (a->holds && a->whole && a->whole->undecided) {
        a->holds = false;
        a->undecided = a->whole->undecided;
    }
    if (status == SOLVE_UNKNOWN && chains)
        a->undecided = "gave up: there are too many ways to order the writes, deletes and appends "
                       "of lists";
    else if (status == SOLVE_UNKNOWN)
        a->undecided = "gave up after too many conflicts";
    a->vars = solver_vars(z->s);
    a->conflicts = solver_stats(z->s)->conflicts;
    if (a->holds) keep_model(z);
}

/* How the next attempt differs.  Each is changed at most once, so that attempts end. */
typedef struct attempt {
    bool use_sure_edges; /* fix edges that have no recorded reason (lazy_settle_paths): only `holds`
                            may come of it */
    bool derive_open;    /* the same, of edges that rounds derive */
    bool derive;         /* derive, although the first order breaks few reads */
    bool run;            /* run the transactions, although a search may find an order sooner */
    size_t known, deps, forced; /* what the problem had at first */
} attempt;

#define FIRST_CONFLICTS 1000u /* of a search that is tried before a run, which costs more */

/* The problem is again what it was before the first attempt. */
static void restore_problem(order_problem *p, const attempt *now)
{
    asg *g = p->g;
    p->known.n = now->known;
    p->deps.n = now->deps;
    p->forced.n = now->forced;
    if (p->rf != g->ob_rf) {
        mem_put(p->m, p->rf);
        mem_put(p->m, p->rf_inst);
        p->rf = g->ob_rf;
        p->rf_inst = g->ob_inst;
    }
    mem_put(p->m, p->dropped);
    p->dropped = NULL;
    problem_index_readers(p);
}

/* There is no order, but some edges have no reason that could be told: the next attempt does
   without them, unless only a yes counts. */
static bool gave_up_reasons(const order_problem *p, attempt *now, decision *a)
{
    now->derive_open = false;
    if (p->only_holds) a->undecided = "there is no order, and why is not known";
    return p->only_holds;
}

/* Returns false if it must be called again, with the attempt as it is then: edges without a reason
   were used and no order was found, the certain edges were too many to be fixed one by one, or the
   transactions were not run and the search did not end soon. */
static bool decide_order(order_problem *p, uint64_t conflicts, attempt *now, decision *a)
{
    uint64_t since = clock_now();
    lazy z = {.p = p, .g = p->g, .m = p->m, .a = a, .j = p->justify, .never = NONE, .epoch = 1};
    order_graph known;
    z.derive_anyway = now->derive;
    z.derive_open = now->derive_open;
    z.may_wait = !now->run;
    if (too_large(p->g)) {
        a->undecided = "more than 2^31 reads or writes";
        return true;
    }
    make_state(&z);
    uint32_t *pos = mem_array(p->m, uint32_t, (size_t)p->events + 1);
    guard_stage(p->m->guard, "order", NULL, 0);
    bool acyclic = lazy_first_order(&z, &known, pos);
    if (!acyclic && z.unexplained) return gave_up_reasons(p, now, a);
    if (!acyclic) answer_known_cycle(p, &known, a);
    answer_stage(p->m, a, "order", &since);
    if (!acyclic) return true;
    if (run_explains(&z)) {
        keep_run(&z, pos);
        return true;
    }

    guard_stage(p->m->guard, "settle", NULL, 0);
    make_solver(&z, &known, pos);
    bool settled = true;
    if (now->use_sure_edges && paths_may_settle(&z)) settled = lazy_settle_paths(&z);
    bool unrecorded = a->fixed != 0;
    if (settled && pass_on(p->tune, PASS_SETTLE) && !lazy_settle(&z)) {
        if (z.unexplained) return gave_up_reasons(p, now, a);
        keep_certain_cycle(&z);
        answer_stage(p->m, a, "settle", &since);
        return true;
    }
    answer_stage(p->m, a, "settle", &since);
    if (z.crowded) {
        assert(!now->derive);
        now->derive = true; /* what was fixed, in an order that is given up, is forgotten */
        return false;
    }
    if (!settled) {
        assert(now->use_sure_edges);
        now->use_sure_edges = false;
        return false;
    }

    guard_stage(p->m->guard, "solve", "conflicts", 0);
    search_order(&z, z.run_waits ? FIRST_CONFLICTS : conflicts);
    answer_stage(p->m, a, "solve", &since);
    if (a->holds) return true;
    if (a->undecided) {
        now->run = z.run_waits;
        return !z.run_waits;
    }
    if (unrecorded) now->use_sure_edges = false;
    return z.unexplained ? gave_up_reasons(p, now, a) : !unrecorded;
}

void lazy_commit_order(const order_problem *p, decision *a)
{
    uint32_t *at = mem_array(p->m, uint32_t, (size_t)p->events + 1);
    memset(at, 0xff, ((size_t)p->events + 1) * sizeof *at);
    assert(a->holds && a->pos && !a->order);
    for (node_id v = 0; v < p->txns; v++)
        if (!a->out[v]) at[a->pos[commit_of(p, v)]] = v;
    a->order = mem_array(p->m, node_id, (size_t)p->txns + 1);
    a->n = 0;
    for (uint32_t i = 0; i < p->events; i++)
        if (at[i] != NO_ID) a->order[a->n++] = at[i];
    mem_put(p->m, at);
    a->pos = NULL;
}

void lazy_decide(order_problem *p, uint64_t conflicts, decision *a)
{
    attempt now = {.use_sure_edges = true,
                   .derive_open = pass_on(p->tune, PASS_DERIVE_OPEN),
                   .known = p->known.n,
                   .deps = p->deps.n,
                   .forced = p->forced.n};
    assert(p->rf == p->g->ob_rf && !p->dropped);
    memset(a, 0, sizeof *a);
    while (!decide_order(p, conflicts, &now, a)) {
        decision first = *a;
        restore_problem(p, &now);
        memset(a, 0, sizeof *a);
        a->stages.at = first.stages.at;
        a->stages.n = first.stages.n;
        a->stages.cap = first.stages.cap;
        a->moved = first.moved;
    }
}
