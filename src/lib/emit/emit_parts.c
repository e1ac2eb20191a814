/*
 * emit_parts.c - InnoDB's repeatable read (MDB-1 and MDBT-1 of doc/levels.md): order 0 is that of
 * read-committed, order 1 of the parts of transactions, with sources of its own for reads that have
 * several candidates.  Who takes part is the same for both.
 */
#include "emit/formula.h"

static bool begins_part(const history *h, op_id o)
{
    enum op_kind kind = op_kind_of(h, o);
    if (op_failed(h, o)) return false;
    return kind == OP_WRITE || kind == OP_DELETE || (h->op_kind[o] & OP_LOCK);
}

/* The snapshot of each node, and one part for each current statement, or for all of them. */
static void load_parts(emit_formula *f)
{
    const history *h = f->h;
    bool tight = level_at(f->q.level.id)->split == SPLIT_TIGHT;
    f->part_first = mem_array(f->m, uint32_t, (size_t)f->n + 1);
    for (uint32_t v = 0; v < f->n; v++) {
        f->part_first[v] = (uint32_t)f->part.n;
        vec_push(f->m, &f->part, ((emit_part){v, NO_ID}));
        bool any = false;
        for (op_id o = h->txn_op[f->txn[v]]; o < h->txn_op[f->txn[v] + 1]; o++) {
            if (!begins_part(h, o) || (tight && any)) continue;
            vec_push(f->m, &f->part, ((emit_part){v, o}));
            any = true;
        }
    }
    f->part_first[f->n] = (uint32_t)f->part.n;
}

/* The last part that began at the operation or before it. */
static uint32_t part_with(const emit_formula *f, uint32_t node, op_id o)
{
    uint32_t p = f->part_first[node + 1] - 1;
    while (p > f->part_first[node] && f->part.at[p].op > o) p--;
    return p;
}

static uint32_t part_of_read(const emit_formula *f, const emit_read *r)
{
    bool locks = f->h->op_kind[r->op] & OP_LOCK;
    return locks ? part_with(f, r->node, r->op) : f->part_first[r->node];
}

static uint32_t part_of_install(const emit_formula *f, const emit_install *x)
{
    return part_with(f, x->node, x->op);
}

uint32_t parts_source(emit_formula *f, uint32_t read, uint32_t i)
{
    const emit_read *r = &f->read.at[read];
    if (r->n == 1) return formula_in(f, r->node);
    return f->part_source[r->first + i];
}

/* Every part's read has a source, which takes part. */
static void encode_part_sources(emit_formula *f)
{
    f->part_source = mem_array(f->m, uint32_t, f->candidate.n + 1);
    for (uint32_t r = 0; r < f->read.n; r++) {
        const emit_read read = f->read.at[r];
        if (read.n < 2) continue;
        for (uint32_t i = 0; i < read.n; i++)
            f->part_source[read.first + i] = formula_var(f, VAR_PART_SOURCE, r, i, 0);
        clause_open(f);
        clause_add(f, lit_not(formula_in(f, read.node)));
        for (uint32_t i = 0; i < read.n; i++) clause_add(f, parts_source(f, r, i));
        clause_close(f);
        for (uint32_t i = 0; i < read.n; i++) {
            uint32_t s = f->candidate.at[read.first + i];
            if (s != FROM_INIT) CLAUSE(f, lit_not(parts_source(f, r, i)), formula_in(f, s));
        }
    }
}

static void encode_part_versions(emit_formula *f)
{
    for (uint32_t p = 0; p + 1 < f->part.n; p++)
        if (f->part.at[p].node == f->part.at[p + 1].node) CLAUSE(f, formula_before(f, 1, p, p + 1));
    for (key_id k = 0; k < history_keys(f->h); k++)
        for (uint32_t i = f->key_first[k]; i < f->key_first[k + 1]; i++)
            for (uint32_t j = f->key_first[k]; j < i; j++) {
                const emit_install *x = &f->install[i], *y = &f->install[j];
                uint32_t a = part_of_install(f, x), b = part_of_install(f, y);
                CLAUSE(f, lit_not(formula_in(f, x->node)), lit_not(formula_in(f, y->node)),
                       formula_before(f, 1, a, b), formula_before(f, 1, b, a));
            }
}

/* A read comes after its source; an item read also before the next version of another. */
static void encode_part_read(emit_formula *f, uint32_t r, uint32_t i)
{
    const emit_read read = f->read.at[r];
    uint32_t s = f->candidate.at[read.first + i], me = part_of_read(f, &read), from = NO_ID;
    uint32_t src = parts_source(f, r, i);
    for (uint32_t x = f->key_first[read.key]; x < f->key_first[read.key + 1]; x++)
        if (f->install[x].node == s) from = part_of_install(f, &f->install[x]);
    if (s != FROM_INIT) CLAUSE(f, lit_not(src), formula_before(f, 1, from, me));
    for (uint32_t x = f->key_first[read.key]; !read.pred && x < f->key_first[read.key + 1]; x++) {
        uint32_t u = f->install[x].node, at = part_of_install(f, &f->install[x]);
        if (u == s || u == read.node) continue;
        CLAUSE(f, lit_not(src), lit_not(formula_in(f, u)),
               s == FROM_INIT ? LIT_FALSE : formula_before(f, 1, at, from),
               formula_before(f, 1, me, at));
    }
}

void encode_parts(emit_formula *f)
{
    if (!f->part_first) load_parts(f);
    f->orders = 2;
    f->events[0] = f->n;
    f->events[1] = (uint32_t)f->part.n;
    encode_dependency_order(f);
    encode_part_sources(f);
    encode_part_versions(f);
    for (uint32_t r = 0; r < f->read.n; r++)
        for (uint32_t i = 0; i < f->read.at[r].n; i++) encode_part_read(f, r, i);
}
