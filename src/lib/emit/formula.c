/*
 * formula.c - variables and clauses, and which encoding a level has.
 */
#include "emit/formula.h"

#include <string.h>

static const struct {
    const char *name, *about;
} encodings[] = {
#define ENCODING(id, name, about) {name, about},
#include "emit/encodings.def"
#undef ENCODING
};

bool emit_encoding_at(size_t i, const char **name, const char **about)
{
    if (i >= EMIT_ENCODINGS) return false;
    *name = encodings[i].name;
    *about = encodings[i].about;
    return true;
}

bool emit_encoding_named(const char *name, enum emit_encoding *out)
{
    for (size_t i = 0; i < EMIT_ENCODINGS; i++)
        if (!strcmp(encodings[i].name, name)) {
            *out = (enum emit_encoding)i;
            return true;
        }
    return false;
}

/* --- variables --- */

uint32_t formula_var(emit_formula *f, uint32_t kind, uint32_t a, uint32_t b, uint32_t c)
{
    emit_var v = {kind, a, b, c};
    if (f->var.n >= UINT32_MAX / 4)
        guard_fail(f->m->guard, GUARD_UNSUPPORTED, "the encoding has more than 2^30 variables");
    vec_push(f->m, &f->var, v);
    return 2 * (uint32_t)(f->var.n - 1);
}

static uint32_t mapped(emit_formula *f, id_map *map, uint32_t kind, uint32_t a, uint32_t b,
                       uint32_t c)
{
    uint32_t *at = id_map_at(f->m, map, map_pair(b, c));
    if (*at != MAP_NONE) return *at;
    uint32_t lit = formula_var(f, kind, a, b, c);
    id_map_put(f->m, map, map_pair(b, c), lit);
    return lit;
}

uint32_t formula_in_var(emit_formula *f, uint32_t node)
{
    uint32_t *at = id_map_at(f->m, &f->in, node);
    if (*at != MAP_NONE) return *at;
    uint32_t lit = formula_var(f, VAR_IN, node, 0, 0);
    id_map_put(f->m, &f->in, node, lit);
    return lit;
}

uint32_t formula_in(emit_formula *f, uint32_t node)
{
    if (f->never[node]) return f->maybe[node] ? LIT_FALSE : LIT_TRUE;
    if (!f->maybe[node]) return LIT_TRUE;
    if (f->settled_in && f->settled_in[node])
        return f->settled_in[node] == SETTLED_TRUE ? LIT_TRUE : LIT_FALSE;
    return formula_in_var(f, node);
}

uint32_t formula_source_var(emit_formula *f, uint32_t read, uint32_t i)
{
    uint32_t *lit = &f->source.at[f->read.at[read].first + i];
    if (*lit == NO_ID) {
        uint32_t made = formula_var(f, VAR_SOURCE, read, i, 0);
        f->source.at[f->read.at[read].first + i] = made;
        return made;
    }
    return *lit;
}

/* A read with one candidate reads from it if it takes place at all. */
uint32_t formula_source(emit_formula *f, uint32_t read, uint32_t i)
{
    const emit_read *r = &f->read.at[read];
    if (r->n == 1) return formula_in(f, r->node);
    uint8_t is = f->settled_source ? f->settled_source[r->first + i] : SETTLED_OPEN;
    if (is) return is == SETTLED_TRUE ? LIT_TRUE : LIT_FALSE;
    return formula_source_var(f, read, i);
}

uint32_t formula_before_var(emit_formula *f, uint32_t order, uint32_t a, uint32_t b)
{
    return mapped(f, &f->before[order], VAR_BEFORE, order, a, b);
}

uint32_t formula_before(emit_formula *f, uint32_t order, uint32_t a, uint32_t b)
{
    if (a == b) return LIT_FALSE;
    if (units_order(f, order, a, b)) return LIT_TRUE;
    if (units_order(f, order, b, a)) return LIT_FALSE;
    return formula_before_var(f, order, a, b);
}

uint32_t formula_path(emit_formula *f, uint32_t graph, uint32_t a, uint32_t b)
{
    if (units_path(f, graph, a, b)) return LIT_TRUE;
    if (units_no_path(f, graph, a, b)) return LIT_FALSE;
    return mapped(f, &f->path[graph], VAR_PATH, graph, a, b);
}

uint32_t formula_step(emit_formula *f, uint32_t graph, uint32_t a, uint32_t b)
{
    if (units_path(f, graph, a, b)) return LIT_TRUE;
    return mapped(f, &f->step[graph], VAR_STEP, graph, a, b);
}

/* --- clauses --- */

void clause_open(emit_formula *f)
{
    f->open = f->lit.n;
    f->satisfied = false;
    vec_push(f->m, &f->lit, 0);
}

void clause_add(emit_formula *f, uint32_t lit)
{
    if (lit == LIT_FALSE) return;
    if (lit == LIT_TRUE) f->satisfied = true;
    vec_push(f->m, &f->lit, lit);
}

void clause_close(emit_formula *f)
{
    if (f->satisfied) {
        f->lit.n = f->open;
        return;
    }
    f->lit.at[f->open] = (uint32_t)(f->lit.n - f->open - 1);
    f->clauses++;
    guard_tick(f->m->guard);
}

void clause_of(emit_formula *f, const uint32_t *lits, size_t n)
{
    clause_open(f);
    for (size_t i = 0; i < n; i++) clause_add(f, lits[i]);
    clause_close(f);
}

/* A path is larger than the least one if the solver likes: it stands in clauses only as something
   that must not be, so the least one is among those that it may choose. */
void formula_close_paths(emit_formula *f, uint32_t graph, uint32_t nodes)
{
    units_close_paths(f, graph);
    size_t vars = f->var.n;
    for (size_t v = 0; v < vars; v++) {
        emit_var e = f->var.at[v];
        if (e.kind != VAR_STEP || e.a != graph) continue;
        if (units_no_path(f, graph, e.b, e.c)) continue;
        uint32_t step = 2 * (uint32_t)v;
        CLAUSE(f, lit_not(step), formula_path(f, graph, e.b, e.c));
        for (uint32_t a = 0; a < nodes; a++)
            if (a != e.b && a != e.c && !units_no_path(f, graph, a, e.c))
                CLAUSE(f, lit_not(step), lit_not(formula_path(f, graph, a, e.b)),
                       formula_path(f, graph, a, e.c));
    }
}

/* --- which encoding --- */

/* Every obligation of a transaction that takes part has a source, which takes part too. */
static void encode_sources(emit_formula *f)
{
    for (uint32_t t = 0; t < f->n; t++)
        if (f->never[t] && !f->maybe[t]) CLAUSE(f, LIT_FALSE);
    for (uint32_t r = 0; r < f->read.n; r++) {
        const emit_read read = f->read.at[r];
        clause_open(f);
        clause_add(f, lit_not(formula_in(f, read.node)));
        for (uint32_t i = 0; i < read.n; i++) clause_add(f, formula_source(f, r, i));
        clause_close(f);
        for (uint32_t i = 0; i < read.n; i++) {
            uint32_t s = f->candidate.at[read.first + i];
            if (s != FROM_INIT) CLAUSE(f, lit_not(formula_source(f, r, i)), formula_in(f, s));
        }
    }
}

static void choose_encoding(emit_formula *f)
{
    switch (f->q.level.id) {
    case LEVEL_SI:
        switch (f->q.encoding) {
        case EMIT_ADYA: encode_adya(f); return;
        case EMIT_VIPER: encode_viper(f); return;
        case EMIT_POLYSI: encode_polysi(f); return;
        case EMIT_PLAIN:
        case EMIT_GSI:
        case EMIT_ENCODINGS: break;
        }
        encode_events(f);
        return;
    case LEVEL_PC:
    case LEVEL_GSI:
    case LEVEL_PCSI:
    case LEVEL_STRONG_SI: encode_events(f); return;
    case LEVEL_US: encode_updates(f); return;
    case LEVEL_MIXED:
    case LEVEL_MIXED_PG: encode_mixed(f); return;
    case LEVEL_INNODB_RR:
    case LEVEL_INNODB_RR_TIGHT: encode_parts(f); return;
    default: encode_transactions(f); return;
    }
}

static void encode_whole(emit_formula *f)
{
    units_state(f);
    encode_sources(f);
    choose_encoding(f);
    added_state(f);
}

emit_formula *emit_build(mem *m, const history *h, const emit_question *q)
{
    if (q->encoding != EMIT_PLAIN && (q->level.id != LEVEL_SI || q->level.realtime))
        guard_fail(m->guard, GUARD_UNSUPPORTED, "encoding %s is for snapshot-isolation only",
                   encodings[q->encoding].name);
    emit_formula *f = mem_zeroed(m, sizeof *f);
    f->m = m;
    f->h = h;
    f->q = *q;
    facts_load(f);
    encode_whole(f);
    if (q->encoding == EMIT_PLAIN) units_simplify(f, encode_whole);
    f->stated = f->var.n;
    return f;
}

emit_size emit_count(const emit_formula *f)
{
    return (emit_size){f->var.n, f->clauses, f->events[0] + (f->orders > 1 ? f->events[1] : 0)};
}
