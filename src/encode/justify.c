/*
 * justify.c - see justify.h.
 *
 * Two languages.  The log holds clauses of the solver, over its variables: written ones with their
 * reasons, cycles, learned ones.  The proof holds steps, over literals that the history knows
 * (events before events, who took part, who was read from); a table maps one to the other.
 *
 * First the log is trimmed: going back from the empty clause, each learned clause that is needed is
 * derived once more by unit propagation, and what took part in that is needed too (as drat-trim
 * does).  Then, going forward, each needed clause becomes a step, or several: what the clocks knew
 * and lazy.c left out of a clause is shown by a path of known edges, found by search; what was
 * derived before the search (strong.forced) is shown the same way, using only edges derived
 * before it.  Every clause by unit propagation is tried out here, so a proof that does not work is
 * never written.
 */
#include "encode/justify.h"

#include <assert.h>

#include "base/hash.h"
#include "solve/order.h"

#define NONE UINT32_MAX
#define NEVER_FALSE UINT32_MAX /* a literal that is true in every execution */

enum var_kind { VAR_BEFORE, VAR_READ, VAR_TAKEN };
typedef struct var_info {
    uint32_t kind, a, b;
} var_info;

enum log_kind { LOG_CLAUSE, LOG_CYCLE, LOG_LEARNED };
typedef struct log_entry {
    uint8_t kind, why;
    bool needed;
    uint32_t n, hints_n;
    size_t lits;       /* in pool */
    size_t nodes, len; /* LOG_CYCLE */
    size_t hints;      /* LOG_LEARNED: entries, in pool */
    uint32_t ob, w, u;
    uint32_t done; /* the step that says it, 0: none yet */
} log_entry;

typedef struct lit_name { /* a literal of the proof */
    uint32_t kind, a, b, c;
} lit_name;

typedef VEC(uint32_t) u32s;

struct justify {
    strong *p;
    asg *g;
    mem *m;
    proof proof;

    VEC(var_info) vars;
    VEC(log_entry) entries;
    u32s pool;    /* of the log */
    size_t limit; /* of pool, 0: none */
    bool full;
    uint8_t why;
    uint32_t ob, w, u;

    size_t base_known;     /* edges of p->known that are no deductions */
    order_graph base;      /* those edges */
    uint32_t *forced_head; /* per event: deductions that leave it, index + 1; next: forced_next */
    uint32_t *forced_next, *forced_into, *forced_into_next, *forced_step;
    uint32_t *in_ob; /* per forced node of unknown outcome: the read that needs it */
    uint32_t *in_step;

    /* search for paths */
    uint32_t *mark[2], *via[2], round;
    u32s front[2], path;

    /* the proof */
    VEC(lit_name) names;
    uint32_t *name_slot;
    size_t name_mask;
    VEC(proof_line) lines;
    VEC(size_t) clause; /* of each line: where its literals begin in `lits`; one more */
    u32s lits, lines_pool;
    uint32_t *line_slot; /* axioms that were said already */
    size_t line_mask, axioms;
    VEC(int8_t) value;
    u32s trail, made, hints, used;
};

justify *justify_new(strong *p)
{
    justify *j = mem_zeroed(p->m, sizeof *j);
    j->p = p;
    j->g = p->g;
    j->m = p->m;
    vec_push(j->m, &j->clause, 0);
    return j;
}

void justify_limit(justify *j, size_t words)
{
    j->limit = words;
}

/* --- told by lazy.c --------------------------------------------------------------------------- */

void justify_start(justify *j)
{
    j->base_known = j->p->known.n;
}

static void var_is(justify *j, uint32_t var, enum var_kind kind, uint32_t a, uint32_t b)
{
    var_info none = {NONE, 0, 0}, x = {kind, a, b};
    while (j->vars.n <= var) vec_push(j->m, &j->vars, none);
    j->vars.at[var] = x;
}

void justify_is_before(justify *j, uint32_t var, uint32_t from, uint32_t to)
{
    var_is(j, var, VAR_BEFORE, from, to);
}

void justify_is_read(justify *j, uint32_t var, uint32_t ob, uint32_t w)
{
    var_is(j, var, VAR_READ, ob, w);
}

void justify_is_taken(justify *j, uint32_t var, node_id v)
{
    var_is(j, var, VAR_TAKEN, v, 0);
}

void justify_reason(justify *j, enum justify_why why, uint32_t ob, node_id w, node_id u)
{
    j->why = (uint8_t)why;
    j->ob = ob;
    j->w = w;
    j->u = u;
}

static void keep_entry(justify *j, enum log_kind kind, const uint32_t *lits, size_t n)
{
    log_entry e = {.kind = (uint8_t)kind, .n = (uint32_t)n, .lits = j->pool.n};
    if (j->limit && !j->full && j->pool.n > j->limit) {
        j->full = true;
        vec_free(j->m, &j->pool);
        vec_free(j->m, &j->entries);
    }
    if (j->full) return;
    vec_reserve(j->m, &j->pool, n);
    for (size_t i = 0; i < n; i++) vec_push(j->m, &j->pool, lits[i]);
    if (kind == LOG_CLAUSE) {
        e.why = j->why;
        e.ob = j->ob;
        e.w = j->w;
        e.u = j->u;
    }
    j->why = BECAUSE_UNSAID;
    vec_push(j->m, &j->entries, e);
}

void justify_clause(justify *j, const uint32_t *lits, size_t n)
{
    keep_entry(j, LOG_CLAUSE, lits, n);
}

void justify_cycle(justify *j, const uint32_t *nodes, size_t n, const uint32_t *lits, size_t k)
{
    keep_entry(j, LOG_CYCLE, lits, k);
    if (j->full) return;
    log_entry *e = &j->entries.at[j->entries.n - 1];
    e->nodes = j->pool.n;
    e->len = n;
    for (size_t i = 0; i < n; i++) vec_push(j->m, &j->pool, nodes[i]);
}

static void log_learned(void *state, const uint32_t *lits, size_t n)
{
    keep_entry(state, LOG_LEARNED, lits, n);
}

const proof *justify_proof(justify *j)
{
    j->proof = (proof){.state = j, .learned = log_learned};
    return &j->proof;
}

/* --- trimming the log ------------------------------------------------------------------------- */

/* Unit propagation over the first entries of the log, from an empty assignment each time. */
typedef struct trimmer {
    justify *j;
    uint32_t limit; /* entries from here on do not count */
    u32s *watch;    /* by literal: entries that watch it */
    u32s units;     /* entries of one literal */
    int8_t *value;  /* by literal */
    uint32_t *reason;
    u32s trail;
    size_t head;
    uint8_t *seen; /* by variable */
} trimmer;

static uint32_t *lits_of(justify *j, uint32_t id)
{
    return j->pool.at + j->entries.at[id].lits;
}

static void set(trimmer *t, uint32_t lit, uint32_t reason)
{
    t->value[lit] = 1;
    t->value[lit ^ 1] = -1;
    t->reason[lit >> 1] = reason;
    vec_push(t->j->m, &t->trail, lit);
}

/* The falsified entry, or NONE. */
static uint32_t propagate(trimmer *t)
{
    justify *j = t->j;
    while (t->head < t->trail.n) {
        uint32_t off = t->trail.at[t->head++] ^ 1;
        u32s *list = &t->watch[off];
        size_t keep = 0;
        uint32_t conflict = NONE;
        for (size_t i = 0; i < list->n; i++) {
            uint32_t id = list->at[i];
            if (id >= t->limit) continue; /* gone for good: limits only fall */
            uint32_t *lits = lits_of(j, id), n = j->entries.at[id].n, k = 2;
            if (lits[0] == off) {
                lits[0] = lits[1];
                lits[1] = off;
            }
            if (conflict != NONE || t->value[lits[0]] > 0) {
                list->at[keep++] = id;
                continue;
            }
            while (k < n && t->value[lits[k]] < 0) k++;
            if (k < n) {
                lits[1] = lits[k];
                lits[k] = off;
                vec_push(j->m, &t->watch[lits[1]], id);
                list = &t->watch[off];
                continue;
            }
            list->at[keep++] = id;
            if (t->value[lits[0]] < 0)
                conflict = id;
            else
                set(t, lits[0], id);
        }
        list->n = keep;
        if (conflict != NONE) return conflict;
        guard_tick(j->m->guard);
    }
    return NONE;
}

static void forget(trimmer *t)
{
    for (size_t i = 0; i < t->trail.n; i++)
        t->value[t->trail.at[i]] = t->value[t->trail.at[i] ^ 1] = 0;
    t->trail.n = t->head = 0;
}

/* What led to the conflict, in the order of propagation, becomes needed and a list of hints. */
static void keep_hints(trimmer *t, uint32_t id, uint32_t conflict)
{
    justify *j = t->j;
    size_t first = j->pool.n;
    const uint32_t *lits = lits_of(j, conflict);
    for (uint32_t i = 0; i < j->entries.at[conflict].n; i++) t->seen[lits[i] >> 1] = 1;
    vec_push(j->m, &j->pool, conflict);
    j->entries.at[conflict].needed = true;
    for (size_t i = t->trail.n; i-- > 0;) {
        uint32_t var = t->trail.at[i] >> 1, why = t->reason[var];
        if (!t->seen[var] || why == NONE) continue;
        lits = lits_of(j, why);
        for (uint32_t k = 0; k < j->entries.at[why].n; k++) t->seen[lits[k] >> 1] = 1;
        vec_push(j->m, &j->pool, why);
        j->entries.at[why].needed = true;
    }
    for (size_t i = 0; i < t->trail.n; i++) t->seen[t->trail.at[i] >> 1] = 0;
    lits = lits_of(j, conflict);
    for (uint32_t i = 0; i < j->entries.at[conflict].n; i++) t->seen[lits[i] >> 1] = 0;
    size_t n = j->pool.n - first; /* collected backwards */
    for (size_t i = 0; i < n / 2; i++) {
        uint32_t swap = j->pool.at[first + i];
        j->pool.at[first + i] = j->pool.at[first + n - 1 - i];
        j->pool.at[first + n - 1 - i] = swap;
    }
    j->entries.at[id].hints = first;
    j->entries.at[id].hints_n = (uint32_t)n;
}

static bool derive_entry(trimmer *t, uint32_t id)
{
    justify *j = t->j;
    uint32_t conflict = NONE;
    t->limit = id;
    for (uint32_t i = 0; i < j->entries.at[id].n; i++) {
        uint32_t lit = lits_of(j, id)[i] ^ 1;
        if (!t->value[lit]) set(t, lit, NONE);
    }
    size_t keep = 0;
    for (size_t i = 0; i < t->units.n; i++) {
        uint32_t unit = t->units.at[i];
        if (unit >= id) continue;
        t->units.at[keep++] = unit;
        uint32_t lit = lits_of(j, unit)[0];
        if (conflict == NONE && t->value[lit] < 0) conflict = unit;
        if (conflict == NONE && !t->value[lit]) set(t, lit, unit);
    }
    t->units.n = keep;
    if (conflict == NONE) conflict = propagate(t);
    if (conflict != NONE) keep_hints(t, id, conflict);
    forget(t);
    return conflict != NONE;
}

static bool trim(justify *j)
{
    size_t n = 0, lits = 2 * j->vars.n + 2;
    while (n < j->entries.n && j->entries.at[n].n) n++; /* to the first empty clause */
    if (n == j->entries.n) return false;
    j->entries.at[n].needed = true;
    j->entries.n = n + 1;
    trimmer t = {.j = j};
    t.watch = mem_zeroed(j->m, mem_bytes(j->m, lits, sizeof *t.watch));
    t.value = mem_array0(j->m, int8_t, lits);
    t.reason = mem_array0(j->m, uint32_t, lits);
    t.seen = mem_array0(j->m, uint8_t, lits);
    for (uint32_t id = 0; id < n; id++) {
        const log_entry *e = &j->entries.at[id];
        for (uint32_t i = 0; i < e->n; i++)
            if (lits_of(j, id)[i] >= lits) return false; /* a variable that was not told of */
        if (e->n == 1) vec_push(j->m, &t.units, id);
        for (uint32_t i = 0; i < 2 && e->n > 1; i++)
            vec_push(j->m, &t.watch[lits_of(j, id)[i]], id);
    }
    bool ok = true;
    for (uint32_t id = (uint32_t)n + 1; id-- > 0 && ok;) {
        log_entry *e = &j->entries.at[id];
        if (e->needed && e->kind == LOG_LEARNED) ok = derive_entry(&t, id);
        guard_tick(j->m->guard);
    }
    return ok;
}

/* --- literals of the proof -------------------------------------------------------------------- */

static size_t name_hash(const lit_name *x)
{
    return (size_t)hash_pair(hash_pair(x->kind, x->a), hash_pair(x->b, x->c));
}

static uint32_t name(justify *j, uint32_t kind, uint32_t a, uint32_t b, uint32_t c)
{
    lit_name x = {kind, a, b, c};
    if (!j->name_slot || 2 * j->names.n >= j->name_mask) {
        size_t n = j->name_slot ? 2 * (j->name_mask + 1) : 256;
        mem_put(j->m, j->name_slot);
        j->name_slot = mem_array0(j->m, uint32_t, n);
        j->name_mask = n - 1;
        for (size_t i = 0; i < j->names.n; i++) {
            size_t at = name_hash(&j->names.at[i]) & j->name_mask;
            while (j->name_slot[at]) at = (at + 1) & j->name_mask;
            j->name_slot[at] = (uint32_t)i + 1;
        }
    }
    size_t at = name_hash(&x) & j->name_mask;
    for (; j->name_slot[at]; at = (at + 1) & j->name_mask)
        if (!memcmp(&j->names.at[j->name_slot[at] - 1], &x, sizeof x))
            return 2 * (j->name_slot[at] - 1);
    vec_push(j->m, &j->names, x);
    vec_push(j->m, &j->value, 0);
    j->name_slot[at] = (uint32_t)j->names.n;
    return 2 * (uint32_t)(j->names.n - 1);
}

static uint32_t before(justify *j, uint32_t from, uint32_t to)
{
    return name(j, LITERAL_BEFORE, from, to, 0);
}

static uint32_t took_part(justify *j, node_id v)
{
    return j->g->maybe[v] ? name(j, LITERAL_IN, v, 0, 0) : NEVER_FALSE;
}

/* The read saw w (NO_ID: the initial state).  If it can have seen nothing else: its reader took
   part. */
static uint32_t reads(justify *j, uint32_t ob, node_id w)
{
    if (j->g->ob_rf[ob] != RF_OPEN) return took_part(j, j->g->ob_node[ob]);
    return name(j, LITERAL_READS, j->g->ob_op[ob], j->g->ob_key[ob], w);
}

/* A literal of the solver as one of the proof; NONE: it was never said what it means. */
static uint32_t translate(justify *j, uint32_t lit)
{
    if (lit >> 1 >= j->vars.n) return NONE;
    const var_info *v = &j->vars.at[lit >> 1];
    uint32_t x;
    switch (v->kind) {
    case VAR_BEFORE: x = before(j, v->a, v->b); break;
    case VAR_READ: x = reads(j, v->a, v->b); break;
    case VAR_TAKEN: x = took_part(j, v->a); break;
    default: return NONE;
    }
    return x == NEVER_FALSE ? NONE : x ^ (lit & 1);
}

/* --- steps ------------------------------------------------------------------------------------ */

static void made_not(justify *j, uint32_t lit)
{
    if (lit != NEVER_FALSE) vec_push(j->m, &j->made, lit ^ 1);
}

/* Closes the line whose clause is in j->made; returns its number. */
static uint32_t add_line(justify *j, proof_line line)
{
    for (size_t i = 0; i < j->made.n; i++) vec_push(j->m, &j->lits, j->made.at[i]);
    j->made.n = 0;
    vec_push(j->m, &j->clause, j->lits.n);
    vec_push(j->m, &j->lines, line);
    if (j->lines.n >= UINT32_MAX - 16)
        guard_fail(j->m->guard, GUARD_UNSUPPORTED, "a proof of more than 2^32 steps");
    return (uint32_t)j->lines.n;
}

/* What the line says now: 1 one literal is left, which becomes true; -1 none is; 0 nothing. */
static int say(justify *j, uint32_t id)
{
    uint32_t unit = NONE;
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
static uint32_t by_propagation(justify *j)
{
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
        int did = say(j, j->hints.at[i]);
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
    return add_line(j, line);
}

static void hint(justify *j, uint32_t step_id)
{
    vec_push(j->m, &j->hints, step_id);
}

static size_t line_hash(const proof_line *x)
{
    uint64_t h = hash_pair(hash_pair(x->kind, x->t), hash_pair(x->w, x->u));
    return (size_t)hash_pair(h, hash_pair(x->op, x->key));
}

static bool same_axiom(const proof_line *a, const proof_line *b)
{
    return a->kind == b->kind && a->t == b->t && a->w == b->w && a->u == b->u && a->op == b->op &&
           a->key == b->key;
}

/* The number of that axiom if it was said before, else 0 and the slot for it. */
static uint32_t said(justify *j, const proof_line *x, size_t *slot)
{
    if (!j->line_slot || 2 * j->axioms >= j->line_mask) {
        size_t n = j->line_slot ? 2 * (j->line_mask + 1) : 256, old = j->line_mask + 1;
        uint32_t *fresh = mem_array0(j->m, uint32_t, 2 * n);
        for (size_t i = 0; j->line_slot && i < old; i++) {
            if (!j->line_slot[2 * i]) continue;
            size_t at = line_hash(&j->lines.at[j->line_slot[2 * i] - 1]) & (n - 1);
            while (fresh[2 * at]) at = (at + 1) & (n - 1);
            fresh[2 * at] = j->line_slot[2 * i];
            fresh[2 * at + 1] = j->line_slot[2 * i + 1];
        }
        mem_put(j->m, j->line_slot);
        j->line_slot = fresh;
        j->line_mask = n - 1;
    }
    size_t at = line_hash(x) & j->line_mask;
    for (; j->line_slot[2 * at]; at = (at + 1) & j->line_mask)
        if (same_axiom(&j->lines.at[j->line_slot[2 * at] - 1], x)) return j->line_slot[2 * at + 1];
    *slot = at;
    return 0;
}

static uint32_t prove_in(justify *j, node_id v);

/* An axiom, its clause in j->made, without the guards that are known to hold: the number of the
   step that says so. */
static uint32_t axiom(justify *j, proof_line x)
{
    size_t slot;
    uint32_t id = said(j, &x, &slot);
    if (id) {
        j->made.n = 0;
        return id;
    }
    size_t from = j->used.n; /* a stack: proving guards comes back here */
    for (size_t i = 0; i < j->made.n; i++) vec_push(j->m, &j->used, j->made.at[i]);
    uint32_t whole = add_line(j, x);
    j->line_slot[2 * slot] = whole;
    j->line_slot[2 * slot + 1] = whole;
    j->axioms++;
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
    if (sure) {
        for (size_t i = 0; i < n; i++) {
            uint32_t lit = j->used.at[from + i];
            const lit_name *l = &j->names.at[lit / 2];
            if ((lit & 1) && l->kind == LITERAL_IN && j->p->in[l->a])
                hint(j, prove_in(j, l->a));
            else
                vec_push(j->m, &j->made, lit);
        }
        hint(j, whole);
        id = by_propagation(j);
        /* proving guards may have moved the table */
        uint32_t again = said(j, &x, &slot);
        assert(again == whole);
        (void)again;
        for (size_t at = line_hash(&x) & j->line_mask;; at = (at + 1) & j->line_mask)
            if (j->line_slot[2 * at] == whole) {
                j->line_slot[2 * at + 1] = id;
                break;
            }
    } else {
        id = whole;
    }
    j->used.n = from;
    return id;
}

/* --- axioms ----------------------------------------------------------------------------------- */

static uint32_t say_read(justify *j, uint32_t ob, node_id w, node_id u)
{
    const asg *g = j->g;
    node_id v = g->ob_node[ob];
    proof_line x = {PROOF_READ, v, w, u, g->ob_op[ob], g->ob_key[ob], 0, 0, 0, 0};
    j->made.n = 0;
    made_not(j, reads(j, ob, w));
    if (w != NO_ID) vec_push(j->m, &j->made, before(j, commit_of(j->p, u), begin_of(j->p, w)));
    vec_push(j->m, &j->made, before(j, begin_of(j->p, v), commit_of(j->p, u)));
    return axiom(j, x);
}

static uint32_t say_wr(justify *j, uint32_t ob, node_id w)
{
    const asg *g = j->g;
    node_id v = g->ob_node[ob];
    proof_line x = {PROOF_WR, v, w, 0, g->ob_op[ob], g->ob_key[ob], 0, 0, 0, 0};
    j->made.n = 0;
    made_not(j, reads(j, ob, w));
    vec_push(j->m, &j->made, before(j, commit_of(j->p, w), begin_of(j->p, v)));
    return axiom(j, x);
}

static uint32_t say_taken(justify *j, uint32_t ob, node_id w)
{
    const asg *g = j->g;
    proof_line x = {PROOF_TAKEN, g->ob_node[ob], w, 0, g->ob_op[ob], g->ob_key[ob], 0, 0, 0, 0};
    j->made.n = 0;
    made_not(j, reads(j, ob, w));
    vec_push(j->m, &j->made, took_part(j, w));
    return axiom(j, x);
}

static uint32_t say_pair(justify *j, enum proof_step kind, node_id a, node_id b)
{
    proof_line x = {kind, a, b, 0, 0, 0, 0, 0, 0, 0};
    j->made.n = 0;
    vec_push(j->m, &j->made, before(j, commit_of(j->p, a), begin_of(j->p, b)));
    return axiom(j, x);
}

static uint32_t say_list(justify *j, uint32_t ob, node_id a, node_id b)
{
    const asg *g = j->g;
    proof_line x = {PROOF_LIST, g->ob_node[ob], a, b, g->ob_op[ob], g->ob_key[ob], 0, 0, 0, 0};
    j->made.n = 0;
    made_not(j, took_part(j, g->ob_node[ob]));
    vec_push(j->m, &j->made, before(j, commit_of(j->p, a), begin_of(j->p, b)));
    return axiom(j, x);
}

static uint32_t say_shows(justify *j, uint32_t ob, node_id a)
{
    const asg *g = j->g;
    proof_line x = {PROOF_SHOWS, g->ob_node[ob], a, 0, g->ob_op[ob], g->ob_key[ob], 0, 0, 0, 0};
    j->made.n = 0;
    made_not(j, took_part(j, g->ob_node[ob]));
    vec_push(j->m, &j->made, took_part(j, a));
    return axiom(j, x);
}

static bool position(const asg *g, node_id v, key_id k, int64_t *at)
{
    const history *h = g->h;
    uint32_t i = asg_install(g, v, k);
    const attr *a = op_attrs(h, g->inst_op[i]), *end = h->attrs.at + h->attrs.n;
    for (; a && a < end && a->op == g->inst_op[i]; a++)
        if (a->kind == ATTR_VER) {
            *at = (int64_t)a->a;
            return true;
        }
    return false;
}

static uint32_t say_ver(justify *j, key_id k, node_id a, node_id b)
{
    int64_t at_a, at_b;
    proof_line x = {PROOF_VER, 0, a, b, 0, k, 0, 0, 0, 0};
    if (!position(j->g, a, k, &at_a) || !position(j->g, b, k, &at_b)) return 0;
    j->made.n = 0;
    made_not(j, took_part(j, a));
    if (at_a == at_b)
        made_not(j, took_part(j, b));
    else
        vec_push(j->m, &j->made, before(j, commit_of(j->p, a), begin_of(j->p, b)));
    return axiom(j, x);
}

static uint32_t say_extra(justify *j, const edge *e)
{
    return e->ob == NO_ID ? say_ver(j, e->key, e->from, e->to) : say_list(j, e->ob, e->from, e->to);
}

static uint32_t say_overlap(justify *j, key_id k, node_id a, node_id b)
{
    proof_line x = {PROOF_OVERLAP, 0, a, b, 0, k, 0, 0, 0, 0};
    j->made.n = 0;
    vec_push(j->m, &j->made, before(j, commit_of(j->p, a), begin_of(j->p, b)));
    vec_push(j->m, &j->made, before(j, commit_of(j->p, b), begin_of(j->p, a)));
    return axiom(j, x);
}

static uint32_t say_fault(justify *j, node_id v)
{
    proof_line x = {PROOF_FAULT, v, 0, 0, 0, 0, 0, 0, 0, 0};
    j->made.n = 0;
    made_not(j, took_part(j, v));
    return axiom(j, x);
}

static uint32_t say_from(justify *j, uint32_t ob)
{
    const asg *g = j->g;
    proof_line x = {PROOF_FROM, g->ob_node[ob], 0, 0, g->ob_op[ob], g->ob_key[ob], 0, 0, 0, 0};
    size_t open = 0;
    while (open < g->open.n && g->open.at[open] != ob) open++;
    if (open == g->open.n) return 0;
    j->made.n = 0;
    made_not(j, took_part(j, g->ob_node[ob]));
    for (uint32_t i = g->cand_first.at[open]; i < g->cand_first.at[open + 1]; i++)
        vec_push(j->m, &j->made, reads(j, ob, g->cand.at[i] < RF_LAST ? g->cand.at[i] : NO_ID));
    return axiom(j, x);
}

/* Events, each before the next, and the last before the first: their numbers are in j->path. */
static uint32_t say_cycle(justify *j)
{
    proof_line x = {.kind = PROOF_CYCLE, .first = j->lines_pool.n, .n = j->path.n};
    j->made.n = 0;
    for (size_t i = 0; i < j->path.n; i++) {
        uint32_t a = j->path.at[i], b = j->path.at[(i + 1) % j->path.n];
        vec_push(j->m, &j->lines_pool, a);
        if (j->p->si && a % 2 == 0 && b == a + 1) continue;
        made_not(j, before(j, a, b));
    }
    return add_line(j, x);
}

/* --- who must have taken part ----------------------------------------------------------------- */

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
    /* appenders of unknown outcome, by element */
    size_t slots = 64, ops = 0;
    for (node_id v = 0; v < n; v++)
        if (g->maybe[v]) ops += h->txn_op[g->node_txn[v] + 1] - h->txn_op[g->node_txn[v]];
    while (slots < 2 * ops) slots *= 2;
    uint64_t *slot = mem_array0(j->m, uint64_t, slots);
    for (node_id v = 0; v < n; v++) {
        if (!g->maybe[v]) {
            reached[v] = 1;
            vec_push(j->m, &work, v);
            continue;
        }
        txn_id t = g->node_txn[v];
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            if ((h->op_kind[o] & (OP_KIND_MASK | OP_FAILED)) != OP_APPEND) continue;
            size_t at = (size_t)hash_pair(h->op_key[o], h->op_value[o]) & (slots - 1);
            while (slot[at]) at = (at + 1) & (slots - 1);
            slot[at] = ((uint64_t)v << 32 | o) + 1;
        }
    }
    while (work.n) {
        node_id v = work.at[--work.n];
        for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++) {
            uint32_t rf = g->ob_rf[ob];
            if (rf < RF_LAST && !reached[rf]) {
                reached[rf] = 1;
                j->in_ob[rf] = ob;
                vec_push(j->m, &work, rf);
            }
            value_id x = g->ob_value[ob];
            if (!(g->ob_flags[ob] & OB_LIST) || g->list_key[g->ob_key[ob]] != 1 || x == VALUE_NULL)
                continue;
            atom a = value_atom(h, x);
            for (uint32_t i = 0; a.kind == ATOM_LIST && i < a.len; i++) {
                value_id e = h->elements.at[a.as.offset + i];
                size_t at = (size_t)hash_pair(g->ob_key[ob], e) & (slots - 1);
                for (; slot[at]; at = (at + 1) & (slots - 1)) {
                    op_id o = (op_id)(slot[at] - 1);
                    node_id u = (node_id)((slot[at] - 1) >> 32);
                    if (h->op_key[o] != g->ob_key[ob] || h->op_value[o] != e || reached[u])
                        continue;
                    reached[u] = 1;
                    j->in_ob[u] = ob;
                    vec_push(j->m, &work, u);
                }
            }
        }
        guard_tick(j->m->guard);
    }
    mem_put(j->m, slot);
    mem_put(j->m, reached);
    vec_free(j->m, &work);
}

static uint32_t prove_in(justify *j, node_id v)
{
    if (!j->in_ob) find_needed(j);
    if (j->in_step[v] || j->in_ob[v] == NONE) return j->in_step[v];
    /* The reader may be of unknown outcome itself: from the far end of the chain, no recursion
       deeper than one. */
    u32s chain = {0};
    for (node_id u = v; j->g->maybe[u] && !j->in_step[u] && j->in_ob[u] != NONE;
         u = j->g->ob_node[j->in_ob[u]])
        vec_push(j->m, &chain, u);
    while (chain.n) {
        node_id u = chain.at[--chain.n];
        uint32_t ob = j->in_ob[u];
        size_t keep_made = j->made.n;
        assert(!keep_made);
        (void)keep_made;
        j->in_step[u] = j->g->ob_rf[ob] == u ? say_taken(j, ob, u) : say_shows(j, ob, u);
    }
    vec_free(j->m, &chain);
    return j->in_step[v];
}

/* --- known edges ------------------------------------------------------------------------------ */

static uint32_t txn_events(const justify *j)
{
    return j->p->si ? 2 * j->p->txns : j->p->txns;
}

static void load_graph(justify *j)
{
    strong *p = j->p;
    size_t n = (size_t)p->events + 1, f = p->forced.n;
    if (j->forced_head) return;
    order_graph_build(j->m, p->events, (const order_pair *)(const void *)p->known.at, j->base_known,
                      &j->base);
    j->forced_head = mem_array0(j->m, uint32_t, n);
    j->forced_into = mem_array0(j->m, uint32_t, n);
    j->forced_next = mem_array0(j->m, uint32_t, f + 1);
    j->forced_into_next = mem_array0(j->m, uint32_t, f + 1);
    j->forced_step = mem_array0(j->m, uint32_t, f + 1);
    for (size_t i = f; i-- > 0;) { /* the oldest first in each list */
        const forced *x = &p->forced.at[i];
        uint32_t a = x->rw ? begin_of(p, x->from) : commit_of(p, x->from);
        uint32_t b = x->rw ? commit_of(p, x->to) : begin_of(p, x->to);
        j->forced_next[i] = j->forced_head[a];
        j->forced_head[a] = (uint32_t)i + 1;
        j->forced_into_next[i] = j->forced_into[b];
        j->forced_into[b] = (uint32_t)i + 1;
    }
    for (int d = 0; d < 2; d++) {
        j->mark[d] = mem_array0(j->m, uint32_t, n);
        j->via[d] = mem_array(j->m, uint32_t, n);
    }
}

static uint32_t forced_event(const justify *j, uint32_t i, bool from)
{
    const forced *x = &j->p->forced.at[i];
    if (from) return x->rw ? begin_of(j->p, x->from) : commit_of(j->p, x->from);
    return x->rw ? commit_of(j->p, x->to) : begin_of(j->p, x->to);
}

static bool reach_event(justify *j, int d, uint32_t e, uint32_t via)
{
    if (j->mark[d][e] == j->round) return false;
    j->mark[d][e] = j->round;
    j->via[d][e] = via;
    vec_push(j->m, &j->front[d], e);
    return j->mark[!d][e] == j->round;
}

/* One layer of the search from one end; the event where both meet, or NONE. */
static uint32_t widen(justify *j, int d, size_t *head, uint32_t limit)
{
    size_t end = j->front[d].n;
    for (; *head < end; ++*head) {
        uint32_t e = j->front[d].at[*head];
        const uint32_t *start = d ? j->base.in_start : j->base.out_start;
        const uint32_t *list = d ? j->base.in : j->base.out;
        for (uint32_t i = start[e]; i < start[e + 1]; i++)
            if (reach_event(j, d, list[i], e)) return list[i];
        for (uint32_t i = d ? j->forced_into[e] : j->forced_head[e]; i;
             i = d ? j->forced_into_next[i - 1] : j->forced_next[i - 1]) {
            uint32_t other = forced_event(j, i - 1, d);
            if (i - 1 < limit && reach_event(j, d, other, e)) return other;
        }
        guard_tick(j->m->guard);
    }
    return NONE;
}

/* A shortest way from event a to event b through what is known and what was derived before
   `limit`, without helper events, in j->path; a and b included. */
static bool find_path(justify *j, uint32_t a, uint32_t b, uint32_t limit)
{
    size_t head[2] = {0, 0};
    uint32_t meet = NONE;
    j->round++;
    j->front[0].n = j->front[1].n = j->path.n = 0;
    reach_event(j, 0, a, NONE);
    if (reach_event(j, 1, b, NONE)) meet = b;
    while (meet == NONE) {
        size_t open0 = j->front[0].n - head[0], open1 = j->front[1].n - head[1];
        if (!open0 || !open1) return false;
        int d = open1 < open0;
        meet = widen(j, d, &head[d], limit);
    }
    for (uint32_t e = meet; e != NONE; e = j->via[0][e]) vec_push(j->m, &j->path, e);
    for (size_t i = 0, n = j->path.n; i < n / 2; i++) {
        uint32_t swap = j->path.at[i];
        j->path.at[i] = j->path.at[n - 1 - i];
        j->path.at[n - 1 - i] = swap;
    }
    for (uint32_t e = j->via[1][meet]; e != NONE; e = j->via[1][e]) vec_push(j->m, &j->path, e);
    size_t keep = 0;
    for (size_t i = 0; i < j->path.n; i++)
        if (j->path.at[i] < txn_events(j)) j->path.at[keep++] = j->path.at[i];
    j->path.n = keep;
    return true;
}

static bool ended_before(const justify *j, node_id a, node_id b)
{
    const history *h = j->g->h;
    int64_t end, begin;
    uint64_t drift = j->p->drift > 0 ? (uint64_t)j->p->drift : 0;
    return j->p->rt && txn_end_time(h, j->g->node_txn[a], &end) &&
           txn_begin_time(h, j->g->node_txn[b], &begin) && end < begin &&
           (uint64_t)begin - (uint64_t)end >= drift;
}

/* The commit of a is before the begin of b. */
static uint32_t prove_dependency(justify *j, node_id a, node_id b)
{
    asg *g = j->g;
    const uint32_t *session = g->h->txn_session;
    if (j->p->so && a < b && !g->maybe[a] && session[g->node_txn[a]] == session[g->node_txn[b]])
        return say_pair(j, PROOF_SO, a, b);
    for (uint32_t ob = g->ob_first[b]; ob < g->ob_first[b + 1] && j->p->in[b]; ob++)
        if (g->ob_rf[ob] == a) return say_wr(j, ob, a);
    for (uint32_t i = g->extra_head[b]; i != NO_ID && j->p->in[a] && j->p->in[b];
         i = g->extra.at[i].next)
        if (g->extra.at[i].from == a) return say_extra(j, &g->extra.at[i]);
    if (ended_before(j, a, b)) return say_pair(j, PROOF_RT, a, b);
    return 0;
}

/* The begin of a is before the commit of b: a read the initial version of what b writes. */
static uint32_t prove_initial(justify *j, node_id a, node_id b)
{
    asg *g = j->g;
    for (uint32_t ob = g->ob_first[a]; ob < g->ob_first[a + 1] && j->p->in[a]; ob++)
        if (g->ob_rf[ob] == RF_INIT && asg_install(g, b, g->ob_key[ob]) != NO_ID)
            return say_read(j, ob, NO_ID, b);
    return 0;
}

/* A step that says that event x is before y, from what is known and was derived before `limit`.
   0: that is not known, or an edge that was derived, *missing - 1, must be shown first. */
static uint32_t say_edge(justify *j, uint32_t x, uint32_t y, uint32_t limit, uint32_t *missing)
{
    strong *p = j->p;
    node_id a = txn_of(p, x), b = txn_of(p, y);
    uint32_t id = 0;
    *missing = 0;
    if (a == b) return 0;
    if (x == commit_of(p, a) && y == begin_of(p, b)) id = prove_dependency(j, a, b);
    if (!id && x == begin_of(p, a) && y == commit_of(p, b)) id = prove_initial(j, a, b);
    for (uint32_t i = j->forced_head[x]; i && !id && !*missing; i = j->forced_next[i - 1]) {
        if (i - 1 >= limit || forced_event(j, i - 1, false) != y) continue;
        id = j->forced_step[i - 1];
        if (!id) *missing = i;
    }
    return id;
}

static bool own_edge(const justify *j, uint32_t x, uint32_t y)
{
    return j->p->si && x % 2 == 0 && y == x + 1;
}

/* Steps for the edges of a way, into `steps`; as say_edge. */
static bool say_way(justify *j, const u32s *way, uint32_t limit, u32s *steps, uint32_t *missing)
{
    steps->n = 0;
    *missing = 0;
    for (size_t i = 0; i + 1 < way->n; i++) {
        if (own_edge(j, way->at[i], way->at[i + 1])) continue;
        uint32_t id = say_edge(j, way->at[i], way->at[i + 1], limit, missing);
        if (!id) return false;
        vec_push(j->m, steps, id);
    }
    return true;
}

static void copy_path(justify *j, u32s *way)
{
    way->n = 0;
    for (size_t i = 0; i < j->path.n; i++) vec_push(j->m, way, j->path.at[i]);
}

/* The ends of the way that makes a derived edge certain: for "reader before u", w reaches u; for
   "u before w", u reaches the reader. */
static bool ends_of_forced(const justify *j, uint32_t i, uint32_t *x, uint32_t *y)
{
    const forced *f = &j->p->forced.at[i];
    node_id v = j->g->ob_node[f->ob], w = j->g->ob_rf[f->ob];
    if (w >= RF_LAST) return false;
    *x = f->rw ? begin_of(j->p, w) : commit_of(j->p, f->from);
    *y = f->rw ? commit_of(j->p, f->to) : begin_of(j->p, v);
    return true;
}

/* An edge that was derived: of a pair, what is known rules out the other half.  It may rest on
   edges derived before, and those on others: a stack, since such chains are long. */
static uint32_t prove_forced(justify *j, uint32_t last)
{
    u32s stack = {0}, way = {0}, steps = {0};
    bool ok = true;
    vec_push(j->m, &stack, last);
    while (stack.n && ok) {
        uint32_t i = stack.at[stack.n - 1], x, y, missing;
        const forced *f = &j->p->forced.at[i];
        ok = ends_of_forced(j, i, &x, &y) && find_path(j, x, y, i) && j->path.n > 1;
        if (!ok) break;
        copy_path(j, &way);
        if (!say_way(j, &way, i, &steps, &missing)) {
            ok = missing != 0;
            vec_push(j->m, &stack, missing - 1);
            continue;
        }
        uint32_t rule = say_read(j, f->ob, j->g->ob_rf[f->ob], f->rw ? f->to : f->from);
        uint32_t closed = say_cycle(j); /* nothing since has searched: j->path is the way */
        j->hints.n = j->made.n = 0;
        for (size_t k = 0; k < steps.n; k++) hint(j, steps.at[k]);
        hint(j, closed);
        hint(j, rule);
        vec_push(j->m, &j->made, before(j, forced_event(j, i, true), forced_event(j, i, false)));
        j->forced_step[i] = rule ? by_propagation(j) : 0;
        ok = j->forced_step[i] != 0;
        stack.n--;
    }
    vec_free(j->m, &stack);
    vec_free(j->m, &way);
    vec_free(j->m, &steps);
    return j->forced_step[last];
}

/* Step for an edge, with all that it needs; 0: not known. */
static uint32_t prove_edge(justify *j, uint32_t x, uint32_t y)
{
    for (;;) {
        uint32_t missing, id = say_edge(j, x, y, NONE, &missing);
        if (id || !missing || !prove_forced(j, missing - 1)) return id;
    }
}

/* Steps that refute "y before x", because a known way leads from x to y. */
static bool refute(justify *j, uint32_t x, uint32_t y, u32s *out)
{
    u32s way = {0}, steps = {0};
    bool ok = find_path(j, x, y, NONE) && j->path.n > 1;
    if (ok) copy_path(j, &way);
    for (uint32_t missing; ok && !say_way(j, &way, NONE, &steps, &missing);)
        ok = missing && prove_forced(j, missing - 1);
    if (ok) {
        j->path.n = 0;
        for (size_t i = 0; i < way.n; i++) vec_push(j->m, &j->path, way.at[i]);
        vec_push(j->m, &steps, say_cycle(j));
        for (size_t i = 0; i < steps.n; i++) vec_push(j->m, out, steps.at[i]);
    }
    vec_free(j->m, &way);
    vec_free(j->m, &steps);
    return ok;
}

/* --- from the log to steps -------------------------------------------------------------------- */

static bool has(justify *j, const log_entry *e, uint32_t lit)
{
    for (uint32_t i = 0; i < e->n; i++)
        if (translate(j, j->pool.at[e->lits + i]) == lit) return true;
    return false;
}

static bool make_clause(justify *j, const log_entry *e)
{
    j->made.n = 0;
    for (uint32_t i = 0; i < e->n; i++) {
        uint32_t lit = translate(j, j->pool.at[e->lits + i]);
        if (lit == NONE) return false;
        vec_push(j->m, &j->made, lit);
    }
    return true;
}

/* A rule with one or both of its literals left out, because what is known rules them out. */
static uint32_t step_rule(justify *j, const log_entry *e, uint32_t rule, uint32_t x1, uint32_t y1,
                          uint32_t x2, uint32_t y2)
{
    u32s steps = {0};
    bool ok = rule != 0;
    if (ok && x1 != NONE && !has(j, e, before(j, x1, y1))) ok = refute(j, y1, x1, &steps);
    if (ok && !has(j, e, before(j, x2, y2))) ok = refute(j, y2, x2, &steps);
    if (ok && steps.n) {
        j->hints.n = 0;
        for (size_t i = 0; i < steps.n; i++) hint(j, steps.at[i]);
        hint(j, rule);
        rule = make_clause(j, e) ? by_propagation(j) : 0;
    }
    vec_free(j->m, &steps);
    return ok ? rule : 0;
}

static uint32_t step_clause(justify *j, const log_entry *e)
{
    strong *p = j->p;
    node_id v = e->ob < j->g->obs ? j->g->ob_node[e->ob] : 0;
    switch ((enum justify_why)e->why) {
    case BECAUSE_READ: {
        uint32_t u = commit_of(p, e->u), w = e->w == NO_ID ? NONE : begin_of(p, e->w);
        return step_rule(j, e, say_read(j, e->ob, e->w, e->u), w == NONE ? NONE : u, w,
                         begin_of(p, v), u);
    }
    case BECAUSE_OVERLAP:
        return step_rule(j, e, say_overlap(j, e->ob, e->u, e->w), commit_of(p, e->u),
                         begin_of(p, e->w), commit_of(p, e->w), begin_of(p, e->u));
    case BECAUSE_FROM: return say_from(j, e->ob);
    case BECAUSE_TAKEN: return say_taken(j, e->ob, e->w);
    case BECAUSE_FAULT: return say_fault(j, e->u);
    case BECAUSE_SHOWN: return say_extra(j, &j->g->extra.at[e->ob]);
    case BECAUSE_UNSAID: break;
    }
    return 0;
}

/* A literal of the cycle's clause whose edge this is. */
static bool edge_of_literal(justify *j, const log_entry *e, uint32_t x, uint32_t y, uint32_t *id)
{
    strong *p = j->p;
    *id = 0;
    for (uint32_t i = 0; i < e->n; i++) {
        uint32_t var = j->pool.at[e->lits + i] >> 1;
        if (var >= j->vars.n) return false;
        const var_info *v = &j->vars.at[var];
        if (v->kind == VAR_BEFORE && v->a == x && v->b == y) return true;
        if (v->kind == VAR_READ && v->b < RF_LAST && commit_of(p, v->b) == x &&
            begin_of(p, j->g->ob_node[v->a]) == y) {
            *id = say_wr(j, v->a, v->b);
            return *id != 0;
        }
        if (v->kind != VAR_TAKEN || begin_of(p, v->a) != y) continue;
        for (uint32_t ob = j->g->ob_first[v->a]; ob < j->g->ob_first[v->a + 1]; ob++)
            if (j->g->ob_rf[ob] < RF_LAST && commit_of(p, j->g->ob_rf[ob]) == x) {
                *id = say_wr(j, ob, j->g->ob_rf[ob]);
                return *id != 0;
            }
    }
    return false;
}

/* A cycle of events; edges that are not known stand for literals of the entry's clause, if any. */
static uint32_t step_cycle(justify *j, const uint32_t *nodes, size_t n, const log_entry *e)
{
    u32s way = {0}, steps = {0};
    bool ok = true;
    for (size_t i = 0; i < n; i++)
        if (nodes[i] < txn_events(j)) vec_push(j->m, &way, nodes[i]);
    for (size_t i = 0; i < way.n && ok; i++) {
        uint32_t x = way.at[i], y = way.at[(i + 1) % way.n], id;
        if (own_edge(j, x, y)) continue;
        id = prove_edge(j, x, y);
        if (!id) ok = e && edge_of_literal(j, e, x, y, &id);
        if (ok && id) vec_push(j->m, &steps, id);
    }
    uint32_t result = 0;
    if (ok && way.n > 1) {
        j->path.n = 0;
        for (size_t i = 0; i < way.n; i++) vec_push(j->m, &j->path, way.at[i]);
        result = say_cycle(j);
        if (steps.n || !e) {
            j->hints.n = j->made.n = 0;
            for (size_t i = 0; i < steps.n; i++) hint(j, steps.at[i]);
            hint(j, result);
            result = !e || make_clause(j, e) ? by_propagation(j) : 0;
        }
    }
    vec_free(j->m, &way);
    vec_free(j->m, &steps);
    return result;
}

static uint32_t step_learned(justify *j, const log_entry *e)
{
    if (!make_clause(j, e)) return 0;
    j->hints.n = 0;
    for (uint32_t i = 0; i < e->hints_n; i++) {
        uint32_t id = j->entries.at[j->pool.at[e->hints + i]].done;
        assert(id);
        hint(j, id);
    }
    return by_propagation(j);
}

/* A known cycle, made as short as can be through its first edge. */
static bool known_cycle(justify *j, const lazy_answer *a)
{
    u32s way = {0};
    size_t n = a->cycle.n, i = 0;
    uint32_t best = 0;
    while (i < n && a->cycle.at[i] >= txn_events(j)) i++;
    if (i == n) return false;
    uint32_t x = a->cycle.at[i], y = a->cycle.at[(i + 1) % n];
    if (find_path(j, y, x, NONE) && j->path.n > 1) {
        if (y >= txn_events(j) && j->path.at[0] == x) j->path.n = 0;
        for (size_t k = 0; k < j->path.n; k++) vec_push(j->m, &way, j->path.at[k]);
        if (way.n > 1) best = step_cycle(j, way.at, way.n, NULL);
    }
    if (!best) best = step_cycle(j, a->cycle.at, a->cycle.n, NULL);
    vec_free(j->m, &way);
    return best != 0;
}

bool justify_steps(justify *j, const lazy_answer *a)
{
    load_graph(j);
    if (a->known_cycle) return known_cycle(j, a);
    if (j->full || !trim(j)) return false;
    for (size_t i = 0; i < j->entries.n; i++) {
        if (!j->entries.at[i].needed) continue;
        log_entry e = j->entries.at[i]; /* a copy: the pool may move, entries do not */
        uint32_t id = 0;
        switch ((enum log_kind)e.kind) {
        case LOG_CLAUSE: id = step_clause(j, &e); break;
        case LOG_CYCLE: id = step_cycle(j, j->pool.at + e.nodes, e.len, &e); break;
        case LOG_LEARNED: id = step_learned(j, &e); break;
        }
        if (!id) return false;
        j->entries.at[i].done = id;
        if (j->clause.at[id - 1] == j->clause.at[id]) return true; /* nothing is left to say */
        guard_tick(j->m->guard);
    }
    return false;
}

/* --- faults ----------------------------------------------------------------------------------- */

/* Two lists of a key where they first differ: each says that its writer there comes first. */
static bool lists_contradict(justify *j, uint32_t a, uint32_t b)
{
    asg *g = j->g;
    const history *h = g->h;
    atom x = value_atom(h, g->ob_value[a]), y = value_atom(h, g->ob_value[b]);
    if (x.kind != ATOM_LIST || y.kind != ATOM_LIST) return false;
    const value_id *ex = h->elements.at + x.as.offset, *ey = h->elements.at + y.as.offset;
    uint32_t at = 0;
    while (at < x.len && at < y.len && ex[at] == ey[at]) at++;
    if (at == x.len || at == y.len) return false;
    node_id first = NO_ID, second = NO_ID;
    asg_by_key(g);
    for (uint32_t i = g->kw_first[g->ob_key[a]]; i < g->kw_first[g->ob_key[a] + 1]; i++) {
        node_id v = g->inst_node[g->kw_inst[i]];
        txn_id t = g->node_txn[v];
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            if ((h->op_kind[o] & (OP_KIND_MASK | OP_FAILED)) != OP_APPEND ||
                h->op_key[o] != g->ob_key[a])
                continue;
            if (h->op_value[o] == ex[at]) first = v;
            if (h->op_value[o] == ey[at]) second = v;
        }
    }
    if (first == NO_ID || second == NO_ID || first == second) return false;
    uint32_t one = say_list(j, a, first, second), other = say_list(j, b, second, first);
    if (!one || !other) return false;
    uint32_t p = commit_of(j->p, first), q = commit_of(j->p, second);
    j->path.n = 0;
    if (j->p->si) {
        uint32_t four[] = {begin_of(j->p, first), p, begin_of(j->p, second), q};
        for (size_t i = 0; i < 4; i++) vec_push(j->m, &j->path, four[i]);
    } else {
        vec_push(j->m, &j->path, p);
        vec_push(j->m, &j->path, q);
    }
    uint32_t closed = say_cycle(j);
    j->hints.n = j->made.n = 0;
    hint(j, one);
    hint(j, other);
    hint(j, closed);
    return by_propagation(j) != 0;
}

bool justify_list_fault(justify *j, key_id k)
{
    asg *g = j->g;
    uint32_t longest = NO_ID;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t ob = 0; ob < g->obs; ob++) {
            if (g->ob_key[ob] != k || !j->p->in[g->ob_node[ob]] || g->ob_value[ob] == VALUE_NULL)
                continue;
            atom x = value_atom(g->h, g->ob_value[ob]);
            if (x.kind != ATOM_LIST) continue;
            if (pass && lists_contradict(j, longest, ob)) return true;
            if (!pass && (longest == NO_ID || value_atom(g->h, g->ob_value[longest]).len < x.len))
                longest = ob;
        }
    return false;
}

bool justify_fault(justify *j, node_id v)
{
    uint32_t id = say_fault(j, v);
    return id && j->clause.at[id - 1] == j->clause.at[id];
}

/* --- reading the steps ------------------------------------------------------------------------ */

size_t justify_count(const justify *j)
{
    return j->lines.n;
}

const proof_line *justify_line(const justify *j, size_t i)
{
    return &j->lines.at[i];
}

const uint32_t *justify_pool(const justify *j)
{
    return j->lines_pool.at;
}

proof_literal justify_literal(const justify *j, uint32_t lit)
{
    const lit_name *x = &j->names.at[lit / 2];
    return (proof_literal){x->kind, x->a, x->b, x->c, lit & 1};
}

static void see(uint8_t *seen, node_id v)
{
    if (v != NO_ID) seen[v] = 1;
}

static void see_candidates(const justify *j, const proof_line *x, const uint32_t *open_of,
                           uint8_t *seen)
{
    const asg *g = j->g;
    for (uint32_t ob = g->ob_first[x->t]; ob < g->ob_first[x->t + 1]; ob++) {
        if (g->ob_op[ob] != x->op || g->ob_key[ob] != x->key) continue;
        if (g->ob_rf[ob] < RF_LAST) seen[g->ob_rf[ob]] = 1;
        if (g->ob_rf[ob] != RF_OPEN || open_of[ob] == NONE) continue;
        uint32_t open = open_of[ob];
        for (uint32_t i = g->cand_first.at[open]; i < g->cand_first.at[open + 1]; i++)
            if (g->cand.at[i] < RF_LAST) seen[g->cand.at[i]] = 1;
    }
}

void justify_nodes(const justify *j, uint8_t *seen)
{
    const asg *g = j->g;
    uint32_t *open_of = mem_array(j->m, uint32_t, g->obs + 1);
    memset(open_of, 0xff, (g->obs + 1) * sizeof *open_of);
    for (uint32_t i = 0; i < g->open.n; i++) open_of[g->open.at[i]] = i;
    for (size_t i = 0; i < j->lines.n; i++) {
        const proof_line *x = &j->lines.at[i];
        switch ((enum proof_step)x->kind) {
        case PROOF_READ:
        case PROOF_LIST: see(seen, x->u); /* fall through */
        case PROOF_WR:
        case PROOF_TAKEN:
        case PROOF_SHOWS: see(seen, x->w);                    /* fall through */
        case PROOF_FROM: see_candidates(j, x, open_of, seen); /* fall through */
        case PROOF_FAULT: see(seen, x->t); break;
        case PROOF_SO:
        case PROOF_RT:
            see(seen, x->t);
            see(seen, x->w);
            break;
        case PROOF_OVERLAP:
        case PROOF_VER:
            see(seen, x->w);
            see(seen, x->u);
            break;
        case PROOF_CYCLE:
            for (size_t k = 0; k < x->n; k++)
                seen[txn_of(j->p, j->lines_pool.at[x->first + k])] = 1;
            break;
        case PROOF_RUP:
        case PROOF_EXHAUSTIVE:
        case PROOF_STEPS: break;
        }
    }
    mem_put(j->m, open_of);
}
