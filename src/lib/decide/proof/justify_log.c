/*
 * justify_log.c - what lazy.c and the solver say while they decide, and what of it is needed.
 *
 * Trimming goes back from the empty clause: each learned clause that is needed is derived once more
 * by unit propagation, and what took part in that is needed too (as drat-trim does).
 */
#include <assert.h>

#include "decide/proof/justify_internal.h"

/* --- told by lazy.c --------------------------------------------------------------------------- */

void justify_start(justify *j)
{
    j->base_known = j->p->known.n;
}

static void var_is(justify *j, uint32_t var, enum var_kind kind, uint32_t a, uint32_t b)
{
    var_info none = {NONE, 0, 0}, x = {kind, a, b};
    assert(kind <= VAR_FIRST);
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

void justify_is_chosen(justify *j, uint32_t var, uint32_t addition, uint32_t set)
{
    var_is(j, var, VAR_CHOSEN, addition, set);
}

void justify_is_stand(justify *j, uint32_t var, uint32_t stand)
{
    var_is(j, var, VAR_STANDS, stand, 0);
}

void justify_is_right(justify *j, uint32_t var, uint32_t stand, uint32_t leaver)
{
    var_is(j, var, VAR_RIGHT, stand, leaver);
}

void justify_is_first(justify *j, uint32_t var, uint32_t content)
{
    var_is(j, var, VAR_FIRST, content, 0);
}

void justify_chain(justify *j, enum chain_rule rule, uint32_t at, uint32_t content, node_id w,
                   uint32_t u)
{
    justify_reason(j, BECAUSE_CHAIN, at, w, u);
    j->hops.n = 0; /* of a reason whose clause was not written */
    justify_hop(j, (proof_hop){rule, NO_ID, content, NO_ID});
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
    if (j->full) {
        j->hops.n = 0;
        return;
    }
    vec_reserve(j->m, &j->pool, n);
    for (size_t i = 0; i < n; i++) vec_push(j->m, &j->pool, lits[i]);
    if (kind == LOG_CLAUSE) {
        e.nodes = j->pool.n;
        e.len = j->hops.n;
        for (size_t i = 0; i < j->hops.n; i++) vec_push(j->m, &j->pool, j->hops.at[i]);
        j->hops.n = 0;
        e.why = j->why;
        e.ob = j->ob;
        e.w = j->w;
        e.u = j->u;
    }
    j->why = BECAUSE_UNSAID;
    vec_push(j->m, &j->entries, e);
}

void justify_hop(justify *j, proof_hop x)
{
    const uint32_t words[] = {x.kind, x.to, x.with, x.from};
    for (size_t i = 0; i < 4; i++) vec_push(j->m, &j->hops, words[i]);
}

void justify_clause(justify *j, const uint32_t *lits, size_t n)
{
    keep_entry(j, LOG_CLAUSE, lits, n);
    if (j->dump) justify_print(j);
}

void justify_cycle(justify *j, const uint32_t *nodes, size_t n, const uint32_t *lits, size_t k)
{
    keep_entry(j, LOG_CYCLE, lits, k);
    if (j->full) return;
    log_entry *e = &j->entries.at[j->entries.n - 1];
    e->nodes = j->pool.n;
    e->len = n;
    for (size_t i = 0; i < n; i++) vec_push(j->m, &j->pool, nodes[i]);
    if (j->dump) justify_print(j);
}

static void log_learned(void *state, const uint32_t *lits, size_t n)
{
    const justify *j = state;
    if (!j->dump) keep_entry(state, LOG_LEARNED, lits, n); /* nobody told the solver that */
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
    assert(id < j->entries.n);
    return j->pool.at + j->entries.at[id].lits;
}

static void set_literal(trimmer *t, uint32_t lit, uint32_t reason)
{
    assert(!t->value[lit]);
    t->value[lit] = 1;
    t->value[lit ^ 1] = -1;
    t->reason[lit >> 1] = reason;
    vec_push(t->j->m, &t->trail, lit);
}

/* The falsified entry, or NONE. */
static uint32_t propagate_entries(trimmer *t)
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
                set_literal(t, lits[0], id);
        }
        list->n = keep;
        if (conflict != NONE) return conflict;
        guard_tick(j->m->guard);
    }
    return NONE;
}

static void undo_trail(trimmer *t)
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
    assert(n && conflict < id);
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
    assert(!t->trail.n && (!t->limit || id <= t->limit)); /* limits only fall */
    t->limit = id;
    for (uint32_t i = 0; i < j->entries.at[id].n; i++) {
        uint32_t lit = lits_of(j, id)[i] ^ 1;
        if (!t->value[lit]) set_literal(t, lit, NONE);
    }
    size_t keep = 0;
    for (size_t i = 0; i < t->units.n; i++) {
        uint32_t unit = t->units.at[i];
        if (unit >= id) continue;
        t->units.at[keep++] = unit;
        uint32_t lit = lits_of(j, unit)[0];
        if (conflict == NONE && t->value[lit] < 0) conflict = unit;
        if (conflict == NONE && !t->value[lit]) set_literal(t, lit, unit);
    }
    t->units.n = keep;
    if (conflict == NONE) conflict = propagate_entries(t);
    if (conflict != NONE) keep_hints(t, id, conflict);
    undo_trail(t);
    return conflict != NONE;
}

bool justify_trim(justify *j)
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
