/*
 * emit_transactions.c - levels that order whole transactions: one strict total order that contains
 * session order (where it counts), read-from and, of each key, the order of its versions, which is
 * therefore the order itself; and the axioms of doc/levels.md 5 about it.
 *
 * Most of these axioms have one form: if U is visible to a read of k by T, in the sense of the
 * level, and U installs k, then the version that was read is U's or a later one (`see`).
 */
#include "emit/formula.h"

static bool precedes(const emit_formula *f, uint32_t a, uint32_t b)
{
    return f->ordered[(size_t)a * f->n + b];
}

void encode_dependency_order(emit_formula *f)
{
    for (uint32_t a = 0; a < f->n; a++)
        for (uint32_t b = 0; b < f->n; b++) {
            if (a == b) continue;
            if (precedes(f, a, b)) CLAUSE(f, lit_not(formula_in(f, b)), formula_before(f, 0, a, b));
            if (a < b && f->common[(size_t)a * f->n + b])
                CLAUSE(f, lit_not(formula_in(f, a)), lit_not(formula_in(f, b)),
                       formula_before(f, 0, a, b), formula_before(f, 0, b, a));
        }
    for (uint32_t r = 0; r < f->read.n; r++)
        for (uint32_t i = 0; i < f->read.at[r].n; i++) {
            uint32_t s = f->candidate.at[f->read.at[r].first + i];
            if (s != FROM_INIT)
                CLAUSE(f, lit_not(formula_source(f, r, i)),
                       formula_before(f, 0, s, f->read.at[r].node));
        }
}

/* The read sees the last version before its transaction: no other one stands between. */
static void encode_latest(emit_formula *f, uint32_t order, uint32_t r)
{
    const emit_read read = f->read.at[r];
    for (uint32_t i = 0; i < read.n; i++)
        for (uint32_t x = f->key_first[read.key]; x < f->key_first[read.key + 1]; x++) {
            uint32_t u = f->install[x].node, s = f->candidate.at[read.first + i];
            if (u == s || u == read.node) continue;
            CLAUSE(f, lit_not(formula_source(f, r, i)), lit_not(formula_in(f, u)),
                   s == FROM_INIT ? LIT_FALSE : formula_before(f, order, u, s),
                   formula_before(f, order, read.node, u));
        }
}

static bool must_be_latest(const emit_formula *f, const emit_read *r)
{
    switch (f->q.level.id) {
    case LEVEL_SER:
    case LEVEL_SSER:
    case LEVEL_LIN: return true;
    case LEVEL_RR: return !r->pred;                                       /* RR-1 */
    case LEVEL_CS: return !r->pred && facts_installs(f, r->node, r->key); /* CS-1 */
    default: return false;
    }
}

/* If all of `when` is true, U is visible to read r. */
static void see(emit_formula *f, uint32_t r, uint32_t u, const uint32_t *when, size_t n)
{
    const emit_read read = f->read.at[r];
    for (uint32_t i = 0; i < read.n; i++) {
        uint32_t s = f->candidate.at[read.first + i];
        if (s == u) continue;
        clause_open(f);
        for (size_t k = 0; k < n; k++) clause_add(f, lit_not(when[k]));
        clause_add(f, lit_not(formula_source(f, r, i)));
        clause_add(f, s == FROM_INIT ? LIT_FALSE : formula_before(f, 0, u, s));
        clause_close(f);
    }
}

/* For each way in which node t reads from u, at an operation up to `last`. */
typedef void (*source_fn)(emit_formula *f, uint32_t r, uint32_t u, uint32_t source);

static void each_source(emit_formula *f, uint32_t t, uint32_t u, op_id last, uint32_t r,
                        source_fn fn)
{
    for (uint32_t r1 = f->node_first[t]; r1 < f->node_first[t + 1]; r1++) {
        const emit_read read = f->read.at[r1];
        for (uint32_t i = 0; read.op <= last && i < read.n; i++)
            if (f->candidate.at[read.first + i] == u) fn(f, r, u, formula_source(f, r1, i));
    }
}

static void see_source(emit_formula *f, uint32_t r, uint32_t u, uint32_t source)
{
    see(f, r, u, &source, 1);
}

/* RA-1: one step of session order or read-from, or what a module says is one. */
static void see_atomic(emit_formula *f, uint32_t r, uint32_t u)
{
    uint32_t t = f->read.at[r].node, said = added_depends(f, u, t);
    if (precedes(f, u, t)) see(f, r, u, NULL, 0);
    if (said != LIT_FALSE) see(f, r, u, &said, 1);
    each_source(f, t, u, UINT32_MAX, r, see_source);
}

/* MAV-1: of what an earlier operation read from.  Rows of one scan are simultaneous. */
static void see_earlier(emit_formula *f, uint32_t r, uint32_t u)
{
    if (f->read.at[r].op)
        each_source(f, f->read.at[r].node, u, f->read.at[r].op - 1, r, see_source);
}

/* UA-1: also one step of version order. */
static void see_updates(emit_formula *f, uint32_t r, uint32_t u)
{
    uint32_t t = f->read.at[r].node;
    see_atomic(f, r, u);
    if (!f->common[(size_t)u * f->n + t]) return;
    uint32_t when[] = {formula_in(f, u), formula_in(f, t), formula_before(f, 0, u, t)};
    see(f, r, u, when, 3);
}

/* NLU-1: also the version right before the reader's own, of some key.  It is not right before if a
   third one stands between, which `between` implies. */
static void see_next(emit_formula *f, uint32_t r, uint32_t u)
{
    uint32_t t = f->read.at[r].node;
    see_atomic(f, r, u);
    for (key_id k = 0; k < history_keys(f->h); k++) {
        if (!facts_installs(f, u, k) || !facts_installs(f, t, k)) continue;
        uint32_t next = formula_var(f, VAR_AUX, k, u, t);
        size_t n = f->key_first[k + 1] - f->key_first[k], m = 0;
        uint32_t *between = mem_array(f->m, uint32_t, n + 1);
        for (uint32_t x = f->key_first[k]; x < f->key_first[k + 1]; x++) {
            uint32_t w = f->install[x].node;
            if (w == u || w == t) continue;
            between[m] = formula_var(f, VAR_AUX, u, w, t);
            CLAUSE(f, lit_not(between[m]), formula_in(f, w));
            CLAUSE(f, lit_not(between[m]), formula_before(f, 0, u, w));
            CLAUSE(f, lit_not(between[m]), formula_before(f, 0, w, t));
            m++;
        }
        clause_open(f);
        clause_add(f, lit_not(formula_in(f, u)));
        clause_add(f, lit_not(formula_in(f, t)));
        clause_add(f, lit_not(formula_before(f, 0, u, t)));
        clause_add(f, next);
        for (size_t i = 0; i < m; i++) clause_add(f, between[i]);
        clause_close(f);
        see(f, r, u, &next, 1);
        mem_put(f->m, between);
    }
}

/* CC-1, CV-1, PSI-1, FCV-1: along a path, whose steps are those of encode_steps. */
static void see_along(emit_formula *f, uint32_t r, uint32_t u)
{
    uint32_t path = formula_path(f, 0, u, f->read.at[r].node);
    see(f, r, u, &path, 1);
}

/* MV-1: along a path that arrives at the read or at an earlier operation: by reading there, by
   overwriting there (the last write of the key counts), or in front by session order. */
static void see_arrived(emit_formula *f, uint32_t r, uint32_t u, uint32_t s, const uint32_t *when,
                        size_t n)
{
    uint32_t all[5];
    for (size_t i = 0; i < n; i++) all[i] = when[i];
    if (s != u) all[n++] = formula_path(f, 0, u, s);
    see(f, r, u, all, n);
}

static void see_so_far(emit_formula *f, uint32_t r, uint32_t u)
{
    const emit_read read = f->read.at[r];
    uint32_t t = read.node;
    for (uint32_t s = 0; s < f->n; s++) {
        uint32_t said = added_depends(f, s, t);
        if (precedes(f, s, t)) see_arrived(f, r, u, s, NULL, 0);
        if (said != LIT_FALSE) see_arrived(f, r, u, s, &said, 1);
    }
    for (uint32_t r1 = f->node_first[t]; r1 < f->node_first[t + 1]; r1++)
        for (uint32_t i = 0; f->read.at[r1].op <= read.op && i < f->read.at[r1].n; i++) {
            uint32_t s = f->candidate.at[f->read.at[r1].first + i], lit = formula_source(f, r1, i);
            if (s != FROM_INIT) see_arrived(f, r, u, s, &lit, 1);
        }
    for (key_id k = 0; k < history_keys(f->h); k++)
        for (uint32_t x = f->key_first[k]; x < f->key_first[k + 1]; x++) {
            if (f->install[x].node != t || f->install[x].op > read.op) continue;
            for (uint32_t y = f->key_first[k]; y < f->key_first[k + 1]; y++) {
                uint32_t s = f->install[y].node;
                if (s == t) continue;
                uint32_t when[] = {formula_in(f, s), formula_in(f, t), formula_before(f, 0, s, t)};
                see_arrived(f, r, u, s, when, 3);
            }
        }
}

/* RYW-1: session order. */
static void see_session(emit_formula *f, uint32_t r, uint32_t u)
{
    if (f->session[(size_t)u * f->n + f->read.at[r].node]) see(f, r, u, NULL, 0);
}

/* MR-1: what an earlier transaction of the session read from. */
static void see_read_before(emit_formula *f, uint32_t r, uint32_t u)
{
    for (uint32_t x = 0; x < f->n; x++)
        if (f->session[(size_t)x * f->n + f->read.at[r].node])
            each_source(f, x, u, UINT32_MAX, r, see_source);
}

/* MW-1: what the session of one that was read from had written before. */
static void see_written_before(emit_formula *f, uint32_t r, uint32_t u)
{
    uint32_t t = f->read.at[r].node;
    for (uint32_t r1 = f->node_first[t]; r1 < f->node_first[t + 1]; r1++)
        for (uint32_t i = 0; i < f->read.at[r1].n; i++) {
            uint32_t x = f->candidate.at[f->read.at[r1].first + i], lit = formula_source(f, r1, i);
            if (x != FROM_INIT && f->session[(size_t)u * f->n + x]) see(f, r, u, &lit, 1);
        }
}

/* WFR-1: what the session of one that was read from had read before. */
static void see_followed(emit_formula *f, uint32_t r, uint32_t u)
{
    uint32_t t = f->read.at[r].node;
    for (uint32_t r1 = f->node_first[t]; r1 < f->node_first[t + 1]; r1++)
        for (uint32_t i = 0; i < f->read.at[r1].n; i++) {
            uint32_t x = f->candidate.at[f->read.at[r1].first + i];
            for (uint32_t y = 0; x != FROM_INIT && y < f->n; y++) {
                if (!f->session[(size_t)y * f->n + x]) continue;
                for (uint32_t r2 = f->node_first[y]; r2 < f->node_first[y + 1]; r2++)
                    for (uint32_t j = 0; j < f->read.at[r2].n; j++) {
                        if (f->candidate.at[f->read.at[r2].first + j] != u) continue;
                        uint32_t when[] = {formula_source(f, r1, i), formula_source(f, r2, j)};
                        see(f, r, u, when, 2);
                    }
            }
        }
}

/* The steps of paths: session order, read-from and, if `versions`, version order. */
static void encode_steps(emit_formula *f, bool versions)
{
    for (uint32_t a = 0; a < f->n; a++)
        for (uint32_t b = 0; b < f->n; b++) {
            if (a == b) continue;
            uint32_t said = added_depends(f, a, b);
            if (precedes(f, a, b)) CLAUSE(f, lit_not(formula_in(f, b)), formula_step(f, 0, a, b));
            if (said != LIT_FALSE) CLAUSE(f, lit_not(said), formula_step(f, 0, a, b));
            if (versions && f->common[(size_t)a * f->n + b])
                CLAUSE(f, lit_not(formula_in(f, a)), lit_not(formula_in(f, b)),
                       lit_not(formula_before(f, 0, a, b)), formula_step(f, 0, a, b));
        }
    for (uint32_t r = 0; r < f->read.n; r++)
        for (uint32_t i = 0; i < f->read.at[r].n; i++) {
            uint32_t s = f->candidate.at[f->read.at[r].first + i];
            if (s != FROM_INIT)
                CLAUSE(f, lit_not(formula_source(f, r, i)),
                       formula_step(f, 0, s, f->read.at[r].node));
        }
    formula_close_paths(f, 0, f->n);
}

typedef void (*see_fn)(emit_formula *f, uint32_t r, uint32_t u);

static see_fn visibility_of(enum level_id level)
{
    switch (level) {
    case LEVEL_RA: return see_atomic;
    case LEVEL_MAV: return see_earlier;
    case LEVEL_UA: return see_updates;
    case LEVEL_NLU: return see_next;
    case LEVEL_CC:
    case LEVEL_CV:
    case LEVEL_PSI:
    case LEVEL_FCV: return see_along;
    case LEVEL_MV: return see_so_far;
    case LEVEL_RYW: return see_session;
    case LEVEL_MR: return see_read_before;
    case LEVEL_MW: return see_written_before;
    case LEVEL_WFR: return see_followed;
    default: return NULL;
    }
}

/* Levels that this file states; a level that is added to the table is refused until it is here. */
static bool is_stated(enum level_id level)
{
    switch (level) {
    case LEVEL_RU:
    case LEVEL_RC:
    case LEVEL_SER:
    case LEVEL_SSER:
    case LEVEL_LIN:
    case LEVEL_RR:
    case LEVEL_CS: return true;
    default: return visibility_of(level) != NULL;
    }
}

void encode_transactions(emit_formula *f)
{
    enum level_id level = f->q.level.id;
    see_fn visible = visibility_of(level);
    if (!is_stated(level))
        guard_fail(f->m->guard, GUARD_UNSUPPORTED, "there is no encoding of %s", f->q.level.name);
    f->orders = 1;
    f->events[0] = f->n;
    added_open(f);
    encode_dependency_order(f);
    if (visible == see_along || visible == see_so_far) encode_steps(f, level != LEVEL_CC);
    for (uint32_t r = 0; r < f->read.n; r++) {
        const emit_read read = f->read.at[r];
        if (must_be_latest(f, &read)) encode_latest(f, 0, r);
        for (uint32_t x = f->key_first[read.key]; visible && x < f->key_first[read.key + 1]; x++)
            if (f->install[x].node != read.node) visible(f, r, f->install[x].node);
    }
}

/* --- update serializability ---

   Order 0 is that of read-committed, of all transactions.  Order 1 is of those that write, with
   anti-dependencies; both order versions alike.  A transaction that only reads is looked at alone:
   no path of the writers' graph leads from what must come after it to what must come before it. */

static bool writes(const emit_formula *f, uint32_t v)
{
    for (op_id o = f->h->txn_op[f->txn[v]]; o < f->h->txn_op[f->txn[v] + 1]; o++) {
        enum op_kind kind = op_kind_of(f->h, o);
        if ((kind == OP_WRITE || kind == OP_DELETE) && !(f->h->op_kind[o] & OP_FAILED)) return true;
    }
    return false;
}

static void update_step(emit_formula *f, uint32_t a, uint32_t b, const uint32_t *when, size_t n)
{
    for (int what = 0; what < 2; what++) {
        clause_open(f);
        for (size_t i = 0; i < n; i++) clause_add(f, lit_not(when[i]));
        clause_add(f, what ? formula_step(f, 0, a, b) : formula_before(f, 1, a, b));
        clause_close(f);
    }
}

static void encode_update_versions(emit_formula *f, const uint8_t *update)
{
    for (uint32_t a = 0; a < f->n; a++)
        for (uint32_t b = 0; b < f->n; b++) {
            if (a == b || !update[a] || !update[b]) continue;
            uint32_t in[] = {formula_in(f, a), formula_in(f, b)};
            if (precedes(f, a, b)) update_step(f, a, b, in, 2);
            if (!f->common[(size_t)a * f->n + b]) continue;
            uint32_t when[] = {in[0], in[1], formula_before(f, 0, a, b)};
            update_step(f, a, b, when, 3);
        }
}

/* What read r of a reader or a writer says: fn(after, before) for edges among transactions. */
static void encode_update_reads(emit_formula *f, const uint8_t *update, const uint32_t *into,
                                const uint32_t *out)
{
    for (uint32_t r = 0; r < f->read.n; r++) {
        const emit_read read = f->read.at[r];
        uint32_t t = read.node;
        for (uint32_t i = 0; i < read.n; i++) {
            uint32_t s = f->candidate.at[read.first + i], src = formula_source(f, r, i);
            if (s != FROM_INIT && update[t]) update_step(f, s, t, &src, 1);
            if (s != FROM_INIT && !update[t]) CLAUSE(f, lit_not(src), into[(size_t)t * f->n + s]);
            for (uint32_t x = f->key_first[read.key]; x < f->key_first[read.key + 1]; x++) {
                uint32_t u = f->install[x].node;
                if (u == s || u == t) continue;
                uint32_t when[] = {src, formula_in(f, u),
                                   s == FROM_INIT ? LIT_TRUE : formula_before(f, 0, s, u)};
                if (update[t])
                    update_step(f, t, u, when, 3);
                else
                    CLAUSE(f, lit_not(when[0]), lit_not(when[1]), lit_not(when[2]),
                           out[(size_t)t * f->n + u]);
            }
        }
    }
}

static void encode_reader(emit_formula *f, const uint8_t *update, const uint32_t *into,
                          const uint32_t *out, uint32_t t)
{
    for (uint32_t s = 0; s < f->n; s++) {
        if (!update[s]) continue;
        size_t at = (size_t)t * f->n + s;
        if (precedes(f, s, t)) CLAUSE(f, lit_not(formula_in(f, t)), into[at]);
        if (precedes(f, t, s)) CLAUSE(f, lit_not(formula_in(f, s)), out[at]);
        CLAUSE(f, lit_not(into[at]), lit_not(out[at]));
        for (uint32_t u = 0; u < f->n; u++)
            if (update[u] && u != s)
                CLAUSE(f, lit_not(into[at]), lit_not(out[(size_t)t * f->n + u]),
                       lit_not(formula_path(f, 0, u, s)));
    }
}

void encode_updates(emit_formula *f)
{
    size_t pairs = (size_t)f->n * f->n;
    uint8_t *update = mem_array0(f->m, uint8_t, f->n + 1);
    uint32_t *into = mem_array(f->m, uint32_t, pairs + 1),
             *out = mem_array(f->m, uint32_t, pairs + 1);
    f->orders = 2;
    f->events[0] = f->events[1] = f->n;
    f->steps_in = 1;
    for (uint32_t v = 0; v < f->n; v++) update[v] = writes(f, v);
    for (uint32_t t = 0; t < f->n; t++)
        for (uint32_t s = 0; s < f->n; s++) {
            bool used = !update[t] && update[s];
            into[(size_t)t * f->n + s] = used ? formula_var(f, VAR_AUX, 0, s, t) : LIT_TRUE;
            out[(size_t)t * f->n + s] = used ? formula_var(f, VAR_AUX, 1, t, s) : LIT_TRUE;
        }
    encode_dependency_order(f);
    encode_update_versions(f, update);
    encode_update_reads(f, update, into, out);
    formula_close_paths(f, 0, f->n);
    for (uint32_t t = 0; t < f->n; t++)
        if (!update[t]) encode_reader(f, update, into, out, t);
}
