/*
 * emit_mixed.c - transactions that each name a level of their own (MIX-1 to MIX-6 and MIXPG-1 to
 * MIXPG-3 of doc/levels.md, "Mixed levels").
 *
 * Order 0 is of commits, and of the begins of transactions at snapshot isolation; elsewhere the
 * commit is the begin.  At `mixed-pg` order 1 is of the serializable transactions among themselves.
 */
#include "emit/formula.h"
#include "history/own_levels.h"

static enum mixed_row row_named(const history *h, txn_id t)
{
    size_t n;
    const char *text = history_level_text(h, t, &n);
    return text ? mixed_row_of(text, n) : n ? ROW_NONE : ROW_DEFAULT;
}

/* MIXPG-2: keys that a transaction deletes physically. */
static void load_deleted(emit_formula *f)
{
    const history *h = f->h;
    f->deleted = mem_array0(f->m, uint8_t, history_keys(h) + 1);
    for (uint32_t v = 0; v < f->n; v++)
        for (op_id o = h->txn_op[f->txn[v]]; o < h->txn_op[f->txn[v] + 1]; o++)
            if (op_kind_of(h, o) == OP_DELETE && !(h->op_kind[o] & (OP_FAILED | OP_TOMB)))
                f->deleted[h->op_key[o]] = 1;
}

void mixed_load_rows(emit_formula *f)
{
    bool postgres = f->q.level.id == LEVEL_MIXED_PG;
    f->row = mem_array(f->m, uint8_t, (size_t)f->n + 1);
    f->serial = mem_array0(f->m, uint8_t, (size_t)f->n + 1);
    for (uint32_t v = 0; v < f->n; v++) {
        enum mixed_row row = row_named(f->h, f->txn[v]);
        f->serial[v] = postgres && row == ROW_SER;
        if (postgres) row = mixed_row_of_postgres(row);
        if (row == ROW_NONE)
            guard_fail(f->m->guard, GUARD_UNSUPPORTED,
                       "a transaction names a level that has no rule in %s", f->q.level.name);
        f->row[v] = (uint8_t)row;
    }
    if (postgres) load_deleted(f);
}

static uint32_t commit_of(uint32_t node)
{
    return 2 * node + 1;
}

uint32_t mixed_begin(const emit_formula *f, uint32_t node)
{
    return f->row[node] == ROW_SI ? 2 * node : 2 * node + 1;
}

/* MIX-6: do a and b install a common key on which snapshots exclude each other? */
static bool excludes(const emit_formula *f, uint32_t a, uint32_t b)
{
    if (!f->deleted) return true;
    for (key_id k = 0; k < history_keys(f->h); k++)
        if (!f->deleted[k] && facts_installs(f, a, k) && facts_installs(f, b, k)) return true;
    return false;
}

/* "a's versions come before b's", for two that install a common key. */
static uint32_t installs_before(emit_formula *f, uint32_t a, uint32_t b)
{
    return formula_before(f, 0, commit_of(a), excludes(f, a, b) ? mixed_begin(f, b) : commit_of(b));
}

static void encode_commits(emit_formula *f)
{
    for (uint32_t a = 0; a < f->n; a++) {
        if (f->row[a] == ROW_SI) CLAUSE(f, formula_before(f, 0, 2 * a, commit_of(a)));
        for (uint32_t b = 0; b < f->n; b++) {
            if (a == b) continue;
            if (f->ordered[(size_t)a * f->n + b])
                CLAUSE(f, lit_not(formula_in(f, b)),
                       formula_before(f, 0, commit_of(a), mixed_begin(f, b)));
            if (a < b && f->common[(size_t)a * f->n + b])
                CLAUSE(f, lit_not(formula_in(f, a)), lit_not(formula_in(f, b)),
                       installs_before(f, a, b), installs_before(f, b, a));
        }
    }
}

/* MIX-5: whose reads see the newest version at their begin. */
static bool is_protected(const emit_formula *f, const emit_read *r)
{
    enum mixed_row row = (enum mixed_row)f->row[r->node];
    return row == ROW_SI || row == ROW_SER || (row == ROW_RR && !r->pred);
}

static void encode_mixed_read(emit_formula *f, uint32_t r)
{
    const emit_read read = f->read.at[r];
    uint32_t begin = mixed_begin(f, read.node);
    for (uint32_t i = 0; i < read.n; i++) {
        uint32_t s = f->candidate.at[read.first + i], src = formula_source(f, r, i);
        if (s != FROM_INIT) CLAUSE(f, lit_not(src), formula_before(f, 0, commit_of(s), begin));
        if (!is_protected(f, &read)) continue;
        for (uint32_t x = f->key_first[read.key]; x < f->key_first[read.key + 1]; x++) {
            uint32_t u = f->install[x].node;
            if (u == s || u == read.node) continue;
            CLAUSE(f, lit_not(src), lit_not(formula_in(f, u)),
                   s == FROM_INIT ? LIT_FALSE : installs_before(f, u, s),
                   formula_before(f, 0, begin, commit_of(u)));
        }
    }
}

/* --- serializable transactions among themselves (MIXPG-3) --- */

/* Read r of t from s, and u right after s among all who install the key: t before u.  u is not
   right after s if another stands between, which `between` implies. */
static void encode_next_version(emit_formula *f, uint32_t r, uint32_t i, uint32_t u)
{
    const emit_read read = f->read.at[r];
    uint32_t s = f->candidate.at[read.first + i], first = f->key_first[read.key];
    size_t n = f->key_first[read.key + 1] - first, found = 0;
    uint32_t *between = mem_array(f->m, uint32_t, n + 1);
    for (size_t x = 0; x < n; x++) {
        uint32_t w = f->install[first + x].node;
        if (w == u || w == s) continue;
        uint32_t is = formula_var(f, VAR_AUX, s, w, u);
        CLAUSE(f, lit_not(is), formula_in(f, w));
        CLAUSE(f, lit_not(is), s == FROM_INIT ? LIT_TRUE : installs_before(f, s, w));
        CLAUSE(f, lit_not(is), installs_before(f, w, u));
        between[found++] = is;
    }
    clause_open(f);
    clause_add(f, lit_not(formula_source(f, r, i)));
    clause_add(f, lit_not(formula_in(f, u)));
    clause_add(f, s == FROM_INIT ? LIT_FALSE : lit_not(installs_before(f, s, u)));
    for (size_t x = 0; x < found; x++) clause_add(f, between[x]);
    clause_add(f, formula_before(f, 1, read.node, u));
    clause_close(f);
    mem_put(f->m, between);
}

static void encode_serial_read(emit_formula *f, uint32_t r)
{
    const emit_read read = f->read.at[r];
    for (uint32_t i = 0; i < read.n; i++) {
        uint32_t s = f->candidate.at[read.first + i];
        if (s != FROM_INIT && f->serial[s])
            CLAUSE(f, lit_not(formula_source(f, r, i)), formula_before(f, 1, s, read.node));
        for (uint32_t x = f->key_first[read.key]; x < f->key_first[read.key + 1]; x++) {
            uint32_t u = f->install[x].node;
            if (u != s && u != read.node && f->serial[u]) encode_next_version(f, r, i, u);
        }
    }
}

static void encode_serial(emit_formula *f)
{
    for (uint32_t a = 0; a < f->n; a++)
        for (uint32_t b = 0; b < f->n; b++) {
            size_t at = (size_t)a * f->n + b;
            if (a == b || !f->serial[a] || !f->serial[b]) continue;
            if (f->session[at]) CLAUSE(f, lit_not(formula_in(f, b)), formula_before(f, 1, a, b));
            if (f->common[at])
                CLAUSE(f, lit_not(formula_in(f, a)), lit_not(formula_in(f, b)),
                       lit_not(installs_before(f, a, b)), formula_before(f, 1, a, b));
        }
    for (uint32_t r = 0; r < f->read.n; r++)
        if (f->serial[f->read.at[r].node]) encode_serial_read(f, r);
}

void encode_mixed(emit_formula *f)
{
    bool postgres = f->q.level.id == LEVEL_MIXED_PG;
    f->orders = postgres ? 2 : 1;
    f->split = true;
    f->events[0] = 2 * f->n;
    f->events[1] = postgres ? f->n : 0;
    added_open(f);
    encode_commits(f);
    for (uint32_t r = 0; r < f->read.n; r++) encode_mixed_read(f, r);
    if (postgres) encode_serial(f);
}
