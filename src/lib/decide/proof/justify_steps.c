/*
 * justify_steps.c - single steps of a proof, each with the clause that it adds.
 *
 * The clauses are those that src/lib/verify makes of the same words; every clause by unit
 * propagation is tried out here, so a proof that does not work is never written.
 */
#include <assert.h>

#include "decide/proof/justify_internal.h"
#include "order/added_order.h"

/* --- literals of the proof -------------------------------------------------------------------- */

static uint64_t name_hash(const justify *j, const lit_name *x)
{
    uint64_t h = hash_pair(hash_secret(j), x->kind);
    return hash_pair(hash_pair(h, x->a), hash_pair(x->b, x->c));
}

uint32_t justify_named(justify *j, uint32_t kind, uint32_t a, uint32_t b, uint32_t c)
{
    lit_name x = {kind, a, b, c};
    assert(kind <= LITERAL_FIRST && j->value.n == j->names.n);
    uint64_t hash = name_hash(j, &x);
    for (index_walk w = id_index_walk(&j->name_index, hash); id_index_next(&j->name_index, &w);)
        if (!memcmp(&j->names.at[w.id], &x, sizeof x)) return 2 * w.id;
    uint32_t fresh = (uint32_t)j->names.n;
    vec_push(j->m, &j->names, x);
    vec_push(j->m, &j->value, 0);
    id_index_add(j->m, &j->name_index, hash, fresh);
    return 2 * fresh;
}

uint32_t justify_before(justify *j, uint32_t from, uint32_t to)
{
    return justify_named(j, LITERAL_BEFORE, from, to, 0);
}

/* Parts of a transaction took part together: one literal, of the first of them. */
static node_id first_part(justify *j, node_id v)
{
    const asg *g = j->g;
    if (!g->whole) return v;
    if (!j->first_part) {
        j->first_part = mem_array(j->m, node_id, (size_t)g->nodes + 1);
        for (node_id x = 0; x < g->nodes; x++)
            j->first_part[x] = x && asg_same(g, x - 1, x) ? j->first_part[x - 1] : x;
    }
    return j->first_part[v];
}

uint32_t justify_took_part(justify *j, node_id v)
{
    v = first_part(j, v);
    return j->g->maybe[v] ? justify_named(j, LITERAL_IN, v, 0, 0) : NEVER_FALSE;
}

/* The read saw w (NO_ID: the initial state).  If it can have seen nothing else: its reader took
   part. */
uint32_t justify_reads(justify *j, uint32_t ob, node_id w)
{
    const asg *g = j->g;
    bool one = g->ob_rf[ob] != RF_OPEN;
    if (!one && j->open_of && j->open_of[ob] != NONE)
        one = g->cand_first.at[j->open_of[ob] + 1] - g->cand_first.at[j->open_of[ob]] < 2;
    if (one) return justify_took_part(j, g->ob_node[ob]);
    return justify_named(j, LITERAL_READS, j->g->ob_op[ob], j->g->ob_key[ob], w);
}

/* A literal of the solver as one of the proof; ALWAYS or NEVER if it is true or false in every
   execution; NONE: it was never said what it means. */
uint32_t justify_translate(justify *j, uint32_t lit)
{
    if (lit >> 1 >= j->vars.n) return NONE;
    const var_info *v = &j->vars.at[lit >> 1];
    uint32_t x;
    switch (v->kind) {
    case VAR_BEFORE: x = justify_before(j, v->a, v->b); break;
    case VAR_READ: x = justify_reads(j, v->a, v->b); break;
    case VAR_TAKEN: x = justify_took_part(j, v->a); break;
    case VAR_CHOSEN: x = justify_named(j, LITERAL_CHOSEN, v->a, v->b, 0); break;
    case VAR_STANDS: x = justify_stands(j, v->a); break;
    case VAR_RIGHT: x = justify_right(j, v->a, v->b); break;
    case VAR_FIRST: x = justify_named(j, LITERAL_FIRST, 0, v->a, 0); break;
    default: return NONE;
    }
    if (x == NEVER_FALSE) return lit & 1 ? NEVER : ALWAYS;
    return x ^ (lit & 1);
}

/* --- steps ------------------------------------------------------------------------------------ */

void justify_made_not(justify *j, uint32_t lit)
{
    if (lit != NEVER_FALSE) vec_push(j->m, &j->made, lit ^ 1);
}

/* Closes the line whose clause is in j->made; returns its number. */
uint32_t justify_add_line(justify *j, proof_line line)
{
    for (size_t i = 0; i < j->made.n; i++) vec_push(j->m, &j->lits, j->made.at[i]);
    j->made.n = 0;
    vec_push(j->m, &j->clause, j->lits.n);
    vec_push(j->m, &j->lines, line);
    if (j->lines.n >= UINT32_MAX - 16)
        guard_fail(j->m->guard, GUARD_UNSUPPORTED, "a proof of more than 2^32 steps");
    assert(j->clause.n == j->lines.n + 1);
    return (uint32_t)j->lines.n;
}

/* Propagates the line: 1 if one literal was left, which becomes true; -1 if none is; else 0. */
static int propagate_line(justify *j, uint32_t id)
{
    uint32_t unit = NONE;
    assert(id && id <= j->lines.n);
    for (size_t i = j->clause.at[id - 1]; i < j->clause.at[id]; i++) {
        uint32_t lit = j->lits.at[i];
        int v = j->value.at[lit / 2] * (lit & 1 ? -1 : 1);
        if (v > 0 || (!v && unit != NONE && unit != lit)) return 0;
        if (!v) unit = lit;
    }
    if (unit == NONE) return -1;
    j->value.at[unit / 2] = unit & 1 ? -1 : 1;
    vec_push(j->m, &j->trail, unit);
    return 1;
}

/* The clause in j->made from the steps in j->hints; what they do not add is left out.  0: they do
   not lead to it. */
uint32_t justify_rup(justify *j)
{
    assert(!j->trail.n);
    proof_line line = {.kind = PROOF_RUP, .first = j->lines_pool.n};
    bool conflict = false;
    for (size_t i = 0; i < j->made.n; i++) {
        uint32_t lit = j->made.at[i];
        vec_push(j->m, &j->lines_pool, lit);
        if (j->value.at[lit / 2]) continue;
        j->value.at[lit / 2] = lit & 1 ? 1 : -1;
        vec_push(j->m, &j->trail, lit ^ 1);
    }
    line.n = j->lines_pool.n - line.first;
    line.hints = j->lines_pool.n;
    for (size_t i = 0; i < j->hints.n && !conflict; i++) {
        int did = propagate_line(j, j->hints.at[i]);
        if (did) vec_push(j->m, &j->lines_pool, j->hints.at[i]);
        conflict = did < 0;
    }
    line.hn = j->lines_pool.n - line.hints;
    for (size_t i = 0; i < j->trail.n; i++) j->value.at[j->trail.at[i] / 2] = 0;
    j->trail.n = j->hints.n = 0;
    if (!conflict) {
        j->made.n = 0;
        return 0;
    }
    return justify_add_line(j, line);
}

void justify_hint(justify *j, uint32_t step_id)
{
    assert(step_id <= j->lines.n);
    vec_push(j->m, &j->hints, step_id);
}

static uint64_t axiom_hash(const justify *j, const proof_line *x)
{
    uint64_t h = hash_pair(hash_pair(hash_secret(j), x->kind), x->t);
    h = hash_pair(h, hash_pair(x->rule, x->content));
    return hash_pair(hash_pair(h, hash_pair(x->w, x->u)), hash_pair(x->op, x->key));
}

/* Is the axiom told by its fields alone?  Others have hops, and are said anew each time. */
static bool can_recur(const proof_line *x)
{
    return x->kind != PROOF_SEES && x->kind != PROOF_LOOP && x->kind != PROOF_AMONG &&
           x->kind != PROOF_STUCK;
}

static bool same_axiom(const proof_line *a, const proof_line *b)
{
    assert(can_recur(a) && can_recur(b));
    return a->kind == b->kind && a->t == b->t && a->w == b->w && a->u == b->u && a->op == b->op &&
           a->key == b->key && a->rule == b->rule && a->content == b->content;
}

/* The index in j->said of that axiom if it was said before, else NONE. */
static uint32_t find_axiom(const justify *j, const proof_line *x)
{
    if (!can_recur(x)) return NONE;
    uint64_t hash = axiom_hash(j, x);
    for (index_walk w = id_index_walk(&j->said_index, hash); id_index_next(&j->said_index, &w);)
        if (same_axiom(&j->lines.at[j->said.at[w.id].line - 1], x)) return w.id;
    return NONE;
}

/* Writes the axiom, whose clause is in j->made, and returns its index in j->said. */
static uint32_t add_axiom(justify *j, const proof_line *x)
{
    uint32_t line = justify_add_line(j, *x), fresh = (uint32_t)j->said.n;
    vec_push(j->m, &j->said, ((said_axiom){line, line}));
    if (can_recur(x)) id_index_add(j->m, &j->said_index, axiom_hash(j, x), fresh);
    return fresh;
}

static uint32_t prove_in(justify *j, node_id v);

/* An axiom, its clause in j->made, without the guards that are known to hold: the number of the
   step that says so. */
uint32_t justify_axiom(justify *j, proof_line x)
{
    uint32_t said = find_axiom(j, &x);
    if (said != NONE) {
        j->made.n = 0;
        return j->said.at[said].step;
    }
    size_t from = j->used.n; /* a stack: proving guards comes back here */
    for (size_t i = 0; i < j->made.n; i++) vec_push(j->m, &j->used, j->made.at[i]);
    said = add_axiom(j, &x);
    uint32_t whole = j->said.at[said].line;
    size_t sure = 0, n = j->used.n - from;
    for (size_t i = 0; i < n; i++) {
        uint32_t lit = j->used.at[from + i];
        const lit_name *l = &j->names.at[lit / 2];
        if (!(lit & 1) || l->kind != LITERAL_IN || !j->p->in[l->a]) continue;
        uint32_t in = prove_in(j, l->a);
        if (!in) {
            j->used.n = from;
            return 0;
        }
        sure++;
    }
    assert(j->used.n == from + n && !j->made.n);
    if (sure) {
        for (size_t i = 0; i < n; i++) {
            uint32_t lit = j->used.at[from + i];
            const lit_name *l = &j->names.at[lit / 2];
            if ((lit & 1) && l->kind == LITERAL_IN && j->p->in[l->a])
                justify_hint(j, prove_in(j, l->a));
            else
                vec_push(j->m, &j->made, lit);
        }
        justify_hint(j, whole);
        j->said.at[said].step = justify_rup(j);
    }
    j->used.n = from;
    return j->said.at[said].step;
}

/* --- axioms ----------------------------------------------------------------------------------- */

uint32_t justify_say_read(justify *j, uint32_t ob, node_id w, node_id u)
{
    const asg *g = j->g;
    node_id v = g->ob_node[ob];
    proof_line x = {PROOF_READ, v, w, u, g->ob_op[ob], g->ob_key[ob], 0, 0, 0, 0, 0, 0};
    j->made.n = 0;
    justify_made_not(j, justify_reads(j, ob, w));
    if (w != NO_ID)
        vec_push(j->m, &j->made, justify_before(j, commit_of(j->p, u), version_target(j->p, w)));
    vec_push(j->m, &j->made, justify_before(j, begin_of(j->p, v), commit_of(j->p, u)));
    return justify_axiom(j, x);
}

/* The arc, or that one of its transactions took no part. */
static void made_arc(justify *j, const added_arc *a)
{
    if (a->a != NO_ID) justify_made_not(j, justify_took_part(j, a->a));
    if (a->b != NO_ID && a->b != a->a) justify_made_not(j, justify_took_part(j, a->b));
    if (a->from != a->to) vec_push(j->m, &j->made, justify_before(j, a->from, a->to));
}

uint32_t justify_say_added(justify *j, uint32_t choice, uint32_t set, uint32_t which)
{
    const added_order *x = j->p->added;
    const added_choice *c = &x->choices.at[choice];
    assert(choice < x->choices.n && (set == NO_ID) == (which == NO_ID));
    proof_line line = {.kind = PROOF_ASSUME, .t = c->of, .w = NO_ID, .u = c->edge};
    j->made.n = 0;
    if (set != NO_ID) {
        line.w = x->set_of.at[set];
        line.u = x->arcs.at[which].edge;
        justify_made_not(j, justify_named(j, LITERAL_CHOSEN, c->of, line.w, 0));
        made_arc(j, &x->arcs.at[which]);
        return justify_axiom(j, line);
    }
    for (uint32_t s = c->first_set; s < c->first_set + c->sets; s++)
        if (x->single.at[s])
            made_arc(j, &x->arcs.at[added_set_first(x, s)]);
        else
            vec_push(j->m, &j->made, justify_named(j, LITERAL_CHOSEN, c->of, x->set_of.at[s], 0));
    return justify_axiom(j, line);
}

uint32_t justify_say_wr(justify *j, uint32_t ob, node_id w)
{
    const asg *g = j->g;
    node_id v = g->ob_node[ob];
    proof_line x = {PROOF_WR, v, w, 0, g->ob_op[ob], g->ob_key[ob], 0, 0, 0, 0, 0, 0};
    j->made.n = 0;
    justify_made_not(j, justify_reads(j, ob, w));
    vec_push(j->m, &j->made, justify_before(j, commit_of(j->p, w), begin_of(j->p, v)));
    return justify_axiom(j, x);
}

uint32_t justify_say_taken(justify *j, uint32_t ob, node_id w)
{
    const asg *g = j->g;
    proof_line x = {
        PROOF_TAKEN, g->ob_node[ob], w, 0, g->ob_op[ob], g->ob_key[ob], 0, 0, 0, 0, 0, 0};
    j->made.n = 0;
    justify_made_not(j, justify_reads(j, ob, w));
    vec_push(j->m, &j->made, justify_took_part(j, w));
    return justify_axiom(j, x);
}

uint32_t justify_say_pair(justify *j, enum proof_step kind, node_id a, node_id b)
{
    proof_line x = {kind, a, b, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    j->made.n = 0;
    vec_push(j->m, &j->made, justify_before(j, commit_of(j->p, a), begin_of(j->p, b)));
    return justify_axiom(j, x);
}

uint32_t justify_say_rt(justify *j, uint32_t from, uint32_t to)
{
    proof_line x = {PROOF_RT, from, to, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    j->made.n = 0;
    justify_made_not(j, justify_took_part(j, txn_of(j->p, from)));
    vec_push(j->m, &j->made, justify_before(j, from, to));
    return justify_axiom(j, x);
}

uint32_t justify_say_list(justify *j, uint32_t ob, node_id a, node_id b)
{
    const asg *g = j->g;
    proof_line x = {PROOF_LIST, g->ob_node[ob], a, b, g->ob_op[ob], g->ob_key[ob], 0, 0, 0, 0, 0,
                    0};
    j->made.n = 0;
    justify_made_not(j, justify_took_part(j, g->ob_node[ob]));
    vec_push(j->m, &j->made, justify_before(j, commit_of(j->p, a), version_target(j->p, b)));
    return justify_axiom(j, x);
}

static uint32_t say_shows(justify *j, uint32_t ob, node_id a)
{
    const asg *g = j->g;
    proof_line x = {
        PROOF_SHOWS, g->ob_node[ob], a, 0, g->ob_op[ob], g->ob_key[ob], 0, 0, 0, 0, 0, 0};
    j->made.n = 0;
    justify_made_not(j, justify_took_part(j, g->ob_node[ob]));
    vec_push(j->m, &j->made, justify_took_part(j, a));
    return justify_axiom(j, x);
}

static bool version_position(const asg *g, node_id v, key_id k, int64_t *at)
{
    const history *h = g->h;
    uint32_t i = asg_install(g, v, k);
    assert(i != NO_ID);
    const attr *a = op_attrs(h, g->inst_op[i]), *end = h->attrs.at + h->attrs.n;
    for (; a && a < end && a->op == g->inst_op[i]; a++)
        if (a->kind == ATTR_VER) {
            *at = (int64_t)a->a;
            return true;
        }
    return false;
}

uint32_t justify_say_ver(justify *j, key_id k, node_id a, node_id b)
{
    int64_t at_a, at_b;
    proof_line x = {PROOF_VER, 0, a, b, 0, k, 0, 0, 0, 0, 0, 0};
    if (!version_position(j->g, a, k, &at_a) || !version_position(j->g, b, k, &at_b)) return 0;
    j->made.n = 0;
    justify_made_not(j, justify_took_part(j, a));
    if (at_a == at_b)
        justify_made_not(j, justify_took_part(j, b));
    else
        vec_push(j->m, &j->made, justify_before(j, commit_of(j->p, a), version_target(j->p, b)));
    return justify_axiom(j, x);
}

uint32_t justify_say_extra(justify *j, const edge *e)
{
    return e->ob == NO_ID ? justify_say_ver(j, e->key, e->from, e->to)
                          : justify_say_list(j, e->ob, e->from, e->to);
}

uint32_t justify_say_overlap(justify *j, key_id k, node_id a, node_id b)
{
    assert(a != b && asg_install(j->g, a, k) != NO_ID && asg_install(j->g, b, k) != NO_ID);
    proof_line x = {PROOF_OVERLAP, 0, a, b, 0, k, 0, 0, 0, 0, 0, 0};
    j->made.n = 0;
    vec_push(j->m, &j->made, justify_before(j, commit_of(j->p, a), begin_of(j->p, b)));
    vec_push(j->m, &j->made, justify_before(j, commit_of(j->p, b), begin_of(j->p, a)));
    return justify_axiom(j, x);
}

uint32_t justify_say_fault(justify *j, node_id v)
{
    proof_line x = {PROOF_FAULT, v, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    j->made.n = 0;
    justify_made_not(j, justify_took_part(j, v));
    return justify_axiom(j, x);
}

uint32_t justify_say_from(justify *j, uint32_t ob)
{
    const asg *g = j->g;
    proof_line x = {PROOF_FROM, g->ob_node[ob], 0, 0, g->ob_op[ob], g->ob_key[ob], 0, 0, 0, 0, 0,
                    0};
    uint32_t open = j->open_of ? j->open_of[ob] : NONE;
    if (open == NONE) return 0;
    /* (With one candidate the clause says nothing: justify.c does not come here.) */
    if (g->cand_first.at[open + 1] - g->cand_first.at[open] < 2) return 0;
    j->made.n = 0;
    justify_made_not(j, justify_took_part(j, g->ob_node[ob]));
    for (uint32_t i = g->cand_first.at[open]; i < g->cand_first.at[open + 1]; i++)
        vec_push(
            j->m, &j->made,
            justify_reads(j, ob, asg_cand(g, open, i) < RF_LAST ? asg_cand(g, open, i) : NO_ID));
    return justify_axiom(j, x);
}

uint32_t justify_say_initial(justify *j, uint32_t a, uint32_t b)
{
    const asg *g = j->g;
    proof_line x = {.kind = PROOF_INITIAL, .t = g->ob_node[a], .op = g->ob_op[a]};
    x.key = g->ob_key[a];
    x.w = g->ob_op[b];
    j->made.n = 0;
    justify_made_not(j, justify_reads(j, a, NO_ID));
    justify_made_not(j, justify_reads(j, b, NO_ID));
    return justify_axiom(j, x);
}

/* Adds what denies that no other transaction wrote k between u and v; the hops say on which side
   each stands. */
static void made_between(justify *j, key_id k, node_id u, node_id v, const proof_hop *sides,
                         size_t n)
{
    asg *g = j->g;
    if (!j->side) j->side = mem_array0(j->m, uint8_t, (size_t)g->nodes + 1);
    for (size_t i = 0; i < n; i++) j->side[sides[i].to] = (uint8_t)sides[i].kind;
    asg_by_key(g);
    for (uint32_t i = g->kw_first[k]; i < g->kw_first[k + 1]; i++) {
        node_id y = g->inst_node[g->kw_inst[i]];
        if (y == u || y == v) continue;
        uint32_t lit = j->side[y] == HOP_OUT      ? justify_took_part(j, y)
                       : j->side[y] == HOP_BEHIND ? justify_before(j, y, v)
                                                  : justify_before(j, u, y);
        assert(lit != NEVER_FALSE);
        vec_push(j->m, &j->made, lit);
    }
    for (size_t i = 0; i < n; i++) j->side[sides[i].to] = 0;
}

/* What the hops back from `at` rest on, for the clause; and the hops themselves, for the line. */
static void made_hops(justify *j, node_id at, const proof_hop *hops, size_t n, proof_line *x)
{
    x->first = j->lines_pool.n;
    x->n = 4 * n;
    for (size_t i = 0; i < n; i++) {
        const proof_hop *p = &hops[i];
        const uint32_t words[] = {p->kind, p->to, p->with, p->from};
        for (size_t k = 0; k < 4; k++) vec_push(j->m, &j->lines_pool, words[k]);
        switch ((enum hop_kind)p->kind) {
        case HOP_WR: justify_made_not(j, justify_reads(j, p->with, p->to)); break;
        case HOP_NEXT:
            made_between(j, p->with, p->to, at, hops + i + 1, n - i - 1); /* fall through */
        case HOP_WW: vec_push(j->m, &j->made, justify_before(j, at, p->to)); break;
        case HOP_RW:
            justify_made_not(j, justify_reads(j, p->with, p->from));
            if (p->from != NO_ID) vec_push(j->m, &j->made, justify_before(j, at, p->from));
            break;
        case HOP_ADDED: justify_made_not(j, justify_took_part(j, p->to)); break;
        case HOP_SO:
        case HOP_RT:
        case HOP_BEHIND:
        case HOP_OUT:
        case HOP_WAITS:
        case HOP_WRONG:
        case HOP_AFTER: break;
        }
        if (p->kind != HOP_BEHIND && p->kind != HOP_OUT) at = p->to;
    }
}

uint32_t justify_say_sees(justify *j, uint32_t ob, node_id w, const proof_hop *hops, size_t n)
{
    const asg *g = j->g;
    node_id v = g->ob_node[ob], u = v;
    proof_line x = {.kind = PROOF_SEES, .t = v, .w = w, .op = g->ob_op[ob], .key = g->ob_key[ob]};
    j->made.n = 0;
    for (size_t i = 0; i < n; i++)
        if (hops[i].kind != HOP_BEHIND && hops[i].kind != HOP_OUT) u = hops[i].to;
    x.u = u;
    justify_made_not(j, justify_reads(j, ob, w));
    made_hops(j, v, hops, n, &x);
    if (w != NO_ID) vec_push(j->m, &j->made, justify_before(j, u, w));
    return justify_axiom(j, x);
}

uint32_t justify_say_loop(justify *j, node_id v, const proof_hop *hops, size_t n)
{
    proof_line x = {.kind = PROOF_LOOP, .t = v};
    j->made.n = 0;
    justify_made_not(j, justify_took_part(j, v));
    made_hops(j, v, hops, n, &x);
    return justify_axiom(j, x);
}

uint32_t justify_say_stuck(justify *j, node_id v, const proof_hop *hops, size_t n)
{
    const asg *g = j->g;
    proof_line x = {.kind = PROOF_STUCK, .t = v, .first = j->lines_pool.n, .n = 4 * n};
    j->made.n = 0;
    justify_made_not(j, justify_took_part(j, v));
    for (size_t i = 0; i < n; i++) {
        const proof_hop *p = &hops[i];
        const uint32_t words[] = {p->kind, p->to, p->with, p->from};
        for (size_t k = 0; k < 4; k++) vec_push(j->m, &j->lines_pool, words[k]);
        if (p->kind == HOP_OUT) vec_push(j->m, &j->made, justify_took_part(j, p->to));
        if (p->kind != HOP_AFTER) continue;
        uint32_t ob = g->extra.at[p->with].ob;
        if (ob != NO_ID) justify_made_not(j, justify_took_part(j, g->ob_node[ob]));
        justify_made_not(j, justify_took_part(j, p->from));
    }
    return justify_axiom(j, x);
}

/* Events, each before the next, and the last before the first: their numbers are in j->path. */
uint32_t justify_say_cycle(justify *j)
{
    proof_line x = {.kind = PROOF_CYCLE, .first = j->lines_pool.n, .n = j->path.n};
    j->made.n = 0;
    for (size_t i = 0; i < j->path.n; i++) {
        uint32_t a = j->path.at[i], b = j->path.at[(i + 1) % j->path.n];
        vec_push(j->m, &j->lines_pool, a);
        if (j->p->si && a % 2 == 0 && b == a + 1 && b < 2 * j->p->txns) continue;
        justify_made_not(j, justify_before(j, a, b));
    }
    return justify_add_line(j, x);
}

/* --- transactions that must have taken part --------------------------------------------------- */

/* The transaction of node u took part, with all of its parts, because ob read from it. */
static void reach_whole(justify *j, node_id u, uint32_t ob, uint8_t *reached, u32s *work)
{
    const asg *g = j->g;
    for (u = first_part(j, u); u < g->nodes && !reached[u]; u++) {
        reached[u] = 1;
        j->in_ob[u] = ob;
        vec_push(j->m, work, u);
        if (u + 1 == g->nodes || !asg_same(g, u, u + 1)) break;
    }
}

/* For each transaction of unknown outcome that surely took part: the read that needs it, of one
   that took part; in the manner of asg's force(), so that reasons do not go in circles. */
static void find_needed(justify *j)
{
    asg *g = j->g;
    const history *h = g->h;
    uint32_t n = g->nodes;
    j->in_ob = mem_array(j->m, uint32_t, (size_t)n + 1);
    j->in_step = mem_array0(j->m, uint32_t, (size_t)n + 1);
    memset(j->in_ob, 0xff, ((size_t)n + 1) * sizeof *j->in_ob);
    uint8_t *reached = mem_array0(j->m, uint8_t, (size_t)n + 1);
    u32s work = {0};
    /* (key, element) -> its appender, if that is of unknown outcome; there is only one, because
       keys with repeated elements are wild. */
    id_map appender = {0};
    for (node_id v = 0; v < n; v++) {
        if (!g->maybe[v]) {
            reached[v] = 1;
            vec_push(j->m, &work, v);
            continue;
        }
        txn_id t = g->node_txn[v];
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            if ((h->op_kind[o] & (OP_KIND_MASK | OP_FAILED)) != OP_APPEND) continue;
            if (g->list_key[h->op_key[o]] != 1) continue;
            uint32_t *at = id_map_at(j->m, &appender, map_pair(h->op_key[o], h->op_value[o]));
            assert(*at == MAP_NONE || asg_same(g, *at, v)); /* each part sees all operations */
            *at = v;
        }
    }
    while (work.n) {
        node_id v = work.at[--work.n];
        for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++) {
            uint32_t rf = g->ob_rf[ob];
            if (rf < RF_LAST) reach_whole(j, rf, ob, reached, &work);
            value_id x = g->ob_value[ob];
            if (!(g->ob_flags[ob] & OB_LIST) || g->list_key[g->ob_key[ob]] != 1 || x == VALUE_NULL)
                continue;
            atom a = value_atom(h, x);
            for (uint32_t i = 0; a.kind == ATOM_LIST && i < a.len; i++) {
                value_id e = h->elements.at[a.as.offset + i];
                node_id u = id_map_get(&appender, map_pair(g->ob_key[ob], e));
                if (u != MAP_NONE) reach_whole(j, u, ob, reached, &work);
            }
        }
        guard_tick(j->m->guard);
    }
    id_map_free(j->m, &appender);
    mem_put(j->m, reached);
    vec_free(j->m, &work);
}

static uint32_t prove_in(justify *j, node_id v)
{
    if (!j->in_ob) find_needed(j);
    v = first_part(j, v);
    if (j->in_step[v] || j->in_ob[v] == NONE) return j->in_step[v];
    /* The reader may be of unknown outcome itself: from the far end of the chain, no recursion
       deeper than one. */
    u32s chain = {0};
    for (node_id u = v; j->g->maybe[u] && !j->in_step[u] && j->in_ob[u] != NONE;
         u = first_part(j, j->g->ob_node[j->in_ob[u]]))
        vec_push(j->m, &chain, u);
    while (chain.n) {
        node_id u = chain.at[--chain.n];
        uint32_t ob = j->in_ob[u];
        size_t keep_made = j->made.n;
        assert(!keep_made);
        (void)keep_made;
        uint32_t rf = j->g->ob_rf[ob];
        j->in_step[u] = rf < RF_LAST && asg_same(j->g, rf, u) ? justify_say_taken(j, ob, rf)
                                                              : say_shows(j, ob, u);
    }
    vec_free(j->m, &chain);
    return j->in_step[v];
}
