/*
 * symbolic.c - the log as formulas: executes it, solves, and replays the solution.
 *
 * Every statement of the order becomes a claim: a formula over the states that were read, which
 * holds if the statement answered as observed.  From time to time values that the claims leave no
 * choice about are made plain again (concretization).  The claims are solved by src/lib/solve, and
 * by Z3 where sums of unknown numbers matter.  A solution is replayed before it counts; without
 * one, the shortest prefix of claims that has none names the statement to be shown.
 */
#include "audit/symbolic.h"

#include <assert.h>

#include <stdio.h>

#include "audit/snapshot_moments.h"
#include "audit/symbolic_exec.h"
#include "audit/symbolic_smt.h"
#include "audit/symbolic_solve.h"

#define MOST_CONFLICTS 2000000u
#define FEW_CONFLICTS 20000u
#define CONCRETIZE_EVERY 4u /* answers */
#define MOST_CELLS 4096u
#define QUICK_ASKED 50000u
#define MOST_ROUNDS 1000u
#define QUICK_NODES 150000u
#define SMT_SECONDS 120.0 /* of one question, if there is no limit */

typedef struct claim { /* a statement's answer as a formula that is not plainly true */
    fm f;
    uint32_t position, stmt;
    uint32_t n_cols; /* of a query with one candidate: what it gives */
    const gval *cols;
    const type_id *types;
} claim;

typedef struct symbolic {
    engine *e;
    sx x;
    VEC(claim) claims;
    bool any_order;
    uint32_t round;
    uint32_t only; /* position + 1 whose answers alone are asked for; 0: all */
    bool murky;    /* what we could not tell was ruled out: no refutation then */
    bool contradiction;
    /* a solution */
    VEC(signed char) truth; /* of nodes in it; 0: not looked at */
    VEC(uint32_t) look;
    fm_solver solved;
    size_t told, since; /* claims that `solved` has; that came after the last concretization */
    smt *smt;
    fm_smt numbers; /* its solution, if `by_numbers` */
    bool by_numbers;
    const char *why;    /* no solver decided */
    uint32_t **sym_row; /* replay: by table and row of the store */
    uint32_t *sym_rows;
    size_t next_insert, undo_seen;
    size_t reads_from, reads_to;
} symbolic;

/* ---- the conditions -------------------------------------------------------------------------- */

static void keep_output(symbolic *y, claim *c, const plan *p)
{
    sx *x = &y->x;
    c->n_cols = 0;
    if (p->kind != S_SELECT || x->out.n != 1) return;
    uint32_t n = p->q->n_out;
    gval *cols = arena_array(&x->p.keep, gval, n + 1);
    type_id *types = arena_array(&x->p.keep, type_id, n + 1);
    memcpy(cols, x->out.at[0].cols, n * sizeof *cols);
    for (uint32_t i = 0; i < n; i++) types[i] = p->q->out[i].e->t.id;
    c->n_cols = n;
    c->cols = cols;
    c->types = types;
}

static void claim_statement(symbolic *y, uint32_t position, uint32_t i, const log_stmt *s)
{
    assert(!y->contradiction || y->any_order);
    engine *e = y->e;
    sx *x = &y->x;
    const plan *p = engine_plan(e, s);
    bool left_out = y->only && position + 1 != y->only;
    log_stmt silent = *s;
    if (left_out) silent.has_rows = silent.has_count = false;
    if (y->any_order && left_out && p->kind == S_INSERT && y->round) return; /* the same row */
    if (y->any_order && left_out && p->kind == S_INSERT && p->q) sx_refuse(x, "INSERT SELECT");
    fm f = sx_statement(x, p, &silent, i + 1);
    fm doubt = fm_or(&x->p, x->murky.at, x->murky.n);
    if (doubt != FM_FALSE) y->murky = true;
    f = fm_and2(&x->p, f, fm_not(doubt));
    arena_reset(&e->x.work);
    if (x->p.full) sx_refuse(x, "formulas of this size");
    if (f == FM_TRUE || left_out) return;
    claim c = {.f = f, .position = position, .stmt = i};
    assert(!y->claims.n || y->claims.at[y->claims.n - 1].position <= position);
    keep_output(y, &c, p);
    vec_push(x->p.m, &y->claims, c);
    y->since++;
    if (f == FM_FALSE)
        y->contradiction = true;
    else
        fm_assume(&x->p, f);
}

static bool variable_holds(const symbolic *y, fm v)
{
    return y->by_numbers ? fsmt_true(&y->numbers, v) : fsolver_true(&y->solved, v);
}

/* In the solution: parts come before what they are parts of, each is looked at once. */
static bool holds(symbolic *y, fm f)
{
    const fm_pool *p = &y->x.p;
    while (y->truth.n < p->nodes.n) vec_push(p->m, &y->truth, 0);
    assert(f >> 1 < p->nodes.n);
    y->truth.at[0] = 1;
    size_t base = y->look.n;
    vec_push(p->m, &y->look, f >> 1);
    while (y->look.n > base) {
        uint32_t node = y->look.at[y->look.n - 1];
        const fm_node *n = &p->nodes.at[node];
        if (y->truth.at[node]) {
            y->look.n--;
            continue;
        }
        signed char t = n->n ? 1 : variable_holds(y, 2 * node) ? 1 : -1;
        bool open = false;
        for (uint32_t i = 0; i < n->n && t > 0; i++) {
            fm part = p->parts.at[n->from + i];
            signed char of = y->truth.at[part >> 1];
            assert(part >> 1 < node); /* parts are older: no cycle */
            if (!of) {
                vec_push(p->m, &y->look, part >> 1);
                open = true;
                break;
            }
            if ((of > 0) == (part & 1)) t = -1;
        }
        if (!open) y->truth.at[node] = t;
    }
    return (y->truth.at[f >> 1] > 0) == !(f & 1);
}

static void new_solution(symbolic *y)
{
    if (y->truth.n) memset(y->truth.at, 0, y->truth.n);
}

/* ---- concretization (H3) --------------------------------------------------------------------- */

typedef struct cell_at { /* a column of a version that may have several values */
    sym_table *t;
    uint32_t row, version, column;
    fm f; /* it has the one of the solution */
} cell_at;
typedef VEC(cell_at) cell_list;

static void open_cells(symbolic *y, cell_list *out)
{
    sx *x = &y->x;
    for (size_t i = 0; i < x->recent.n && out->n < MOST_CELLS; i++) {
        sym_touched at = x->recent.at[i];
        const sym_row *row = &at.t->rows.at[at.row];
        uint32_t v = (uint32_t)row->versions.n - 1;
        const gval *cols = row->versions.at[v].cols;
        for (uint32_t c = 0; cols && c < at.t->t->n_cols; c++)
            for (uint32_t k = 0; cols[c].n > 1 && k < cols[c].n; k++)
                if (holds(y, cols[c].at[k].when)) {
                    vec_push(x->p.m, out, ((cell_at){at.t, at.row, v, c, cols[c].at[k].when}));
                    break;
                }
    }
    x->recent.n = 0;
}

static void settle(symbolic *y, const cell_list *cells)
{
    sx *x = &y->x;
    for (size_t i = 0; i < cells->n; i++) {
        fm_assume(&x->p, cells->at[i].f);
        fsolver_assert(&y->solved, cells->at[i].f);
    }
    for (size_t i = 0; i < cells->n; i++) {
        const cell_at *a = &cells->at[i];
        sym_version *v = &a->t->rows.at[a->row].versions.at[a->version];
        size_t n = a->t->t->n_cols;
        gval *cols = arena_array(&x->p.keep, gval, n + 1);
        memcpy(cols, v->cols, n * sizeof *cols);
        cols[a->column] = gval_settled(&x->p, cols[a->column]);
        v->cols = cols;
    }
}

/* Values that the answers so far leave no choice about become plain.  All of them are tried at
   once; a solution in which some differ leaves these out, and the rest is tried again. */
static void concretize(symbolic *y)
{
    assert(y->told <= y->claims.n && !y->contradiction);
    sx *x = &y->x;
    for (; y->told < y->claims.n; y->told++) fsolver_assert(&y->solved, y->claims.at[y->told].f);
    y->since = 0;
    solve_status r = fsolver_solve(&y->solved, NULL, 0, FEW_CONFLICTS);
    if (r == SOLVE_UNSAT) y->contradiction = true;
    if (r != SOLVE_SAT) return;
    new_solution(y);
    cell_list cells = {0};
    open_cells(y, &cells);
    for (int tries = 0; cells.n && tries < 16; tries++) {
        fm *other = arena_array(&x->work, fm, cells.n + 1);
        fm asked = fm_var(&x->p);
        for (size_t i = 0; i < cells.n; i++) other[i] = fm_not(cells.at[i].f);
        other[cells.n] = fm_not(asked);
        fm differs = fm_or(&x->p, other, cells.n + 1);
        if (x->p.full) sx_refuse(x, "formulas of this size");
        fsolver_assert(&y->solved, differs);
        r = fsolver_solve(&y->solved, &asked, 1, FEW_CONFLICTS);
        if (r == SOLVE_UNSAT) {
            settle(y, &cells);
            break;
        }
        if (r != SOLVE_SAT) break;
        new_solution(y);
        size_t n = 0;
        for (size_t i = 0; i < cells.n; i++)
            if (holds(y, cells.at[i].f)) cells.at[n++] = cells.at[i];
        cells.n = n;
    }
    vec_free(x->p.m, &cells);
}

static void execute(symbolic *y)
{
    engine *e = y->e;
    uint32_t end = y->only ? y->only : e->order.n;
    assert(end <= e->order.n);
    for (uint32_t i = 0; i < end && !y->contradiction; i++) {
        const log_txn *t = &e->log->txns.at[e->order.at[i]];
        bool one = e->run.mode == MODE_SNAPSHOT;
        guard_tick(e->guard);
        if (one && e->order.low[i] > e->order.high[i])
            sx_refuse(&y->x, "times that allow no snapshot");
        sx_txn(&y->x, i + 1, t->n_stmts, e->run.mode == MODE_ROW ? 0 : e->order.low[i],
               one ? e->order.high[i] : i);
        for (uint32_t k = 0; k < t->n_stmts && !y->contradiction; k++)
            claim_statement(y, i, k, &t->stmts[k]);
        if (y->contradiction) break;
        sx_commit(&y->x);
        bool due = y->since >= CONCRETIZE_EVERY + y->claims.n / 4;
        if (due && engine_uses(e, AUDIT_PASS_CONCRETIZE)) concretize(y);
    }
}

/* ---- any order ------------------------------------------------------------------------------- */

/* At read committed a transaction may read whatever others wrote, in an order where these come
   before it.  All others are executed over and over, each reading what earlier rounds wrote,
   as long as that brings anything new, and at most as many times as there are transactions: every
   order's versions are among those.  What the one transaction saw must come from them. */
static void execute_any_order(symbolic *y)
{
    assert(y->any_order && y->only && y->only <= y->e->order.n);
    engine *e = y->e;
    const sql_log *l = e->log;
    sx *x = &y->x;
    uint32_t state = 0, me = e->order.at[y->only - 1];
    x->distinct = x->no_errors = true;
    for (; y->round < l->txns.n; y->round++) {
        size_t before = x->versions;
        for (uint32_t i = 0; i < l->txns.n; i++) {
            const log_txn *t = &l->txns.at[i];
            if (i == me || t->status == LOG_ABORTED) continue;
            if (++state > MOST_ROUNDS) sx_refuse(x, "orders of this many transactions");
            sx_txn(x, state, t->n_stmts, 0, state - 1);
            for (uint32_t k = 0; k < t->n_stmts; k++)
                claim_statement(y, UINT32_MAX - 1, k, &t->stmts[k]);
            sx_commit(x);
        }
        if (x->versions == before) break;
    }
    const log_txn *t = &l->txns.at[me];
    sx_txn(x, state + 1, t->n_stmts, 0, state);
    for (uint32_t k = 0; k < t->n_stmts && !y->contradiction; k++)
        claim_statement(y, y->only - 1, k, &t->stmts[k]);
}

/* ---- the first contradiction ----------------------------------------------------------------- */

/* With the numbers: the solver of src/lib/solve has found no contradiction without them. */
static solve_status solve_numbers(symbolic *y, size_t n)
{
    engine *e = y->e;
    const char *why = NULL;
    y->why = "Z3 gave up";
    if (!engine_uses(e, AUDIT_PASS_SMT) || !smt_here(&why)) {
        y->why = why ? why : "sums of unknown numbers need Z3";
        return SOLVE_UNKNOWN;
    }
    smt_close(y->smt);
    y->smt = smt_open(y->x.p.m, e->o->memory >> 20, fsmt_bits(&y->x.p));
    if (!y->smt) return SOLVE_UNKNOWN;
    fsmt_begin(&y->numbers, &y->x.p, y->smt);
    for (size_t i = 0; i < n; i++) fsmt_assert(&y->numbers, y->claims.at[i].f);
    smt_answer r = fsmt_check(&y->numbers, SMT_SECONDS);
    y->by_numbers = r == SMT_SAT;
    return r == SMT_SAT ? SOLVE_SAT : r == SMT_UNSAT ? SOLVE_UNSAT : SOLVE_UNKNOWN;
}

/* Leaves a solution in `solved`, or in `numbers`. */
static solve_status solve_prefix(symbolic *y, size_t n)
{
    assert(n <= y->claims.n);
    fsolver_end(&y->solved);
    fsolver_begin(&y->solved, &y->x.p, y->x.p.m);
    for (size_t i = 0; i < n; i++) fsolver_assert(&y->solved, y->claims.at[i].f);
    y->by_numbers = false;
    solve_status r = fsolver_solve(&y->solved, NULL, 0, MOST_CONFLICTS);
    new_solution(y);
    return r == SOLVE_SAT && y->solved.terms ? solve_numbers(y, n) : r;
}

/* The number of claims of the shortest prefix that cannot be; all of them cannot. */
static size_t shortest(symbolic *y)
{
    assert(y->claims.n);
    size_t good = 0, wrong = y->claims.n;
    while (good + 1 < wrong) {
        size_t mid = good + (wrong - good) / 2;
        if (solve_prefix(y, mid) == SOLVE_UNSAT)
            wrong = mid;
        else
            good = mid;
    }
    return wrong;
}

static void show_possible(symbolic *y, const claim *c, failure *f)
{
    engine *e = y->e;
    uint32_t open = UINT32_MAX;
    for (uint32_t i = 0; i < c->n_cols; i++) {
        if (gval_plain(c->cols[i])) continue;
        if (open != UINT32_MAX || !c->cols[i].n) return;
        open = i;
    }
    if (!c->n_cols) return;
    value *row = arena_array(&e->kept, value, c->n_cols);
    const value *rows[1] = {row};
    uint32_t n = open == UINT32_MAX ? 1 : c->cols[open].n;
    for (uint32_t i = 0; i < c->n_cols; i++)
        row[i] = c->cols[i].n ? c->cols[i].at[0].v : value_null();
    for (uint32_t k = 0; k < n && k < 8; k++) {
        if (open != UINT32_MAX) row[open] = c->cols[open].at[k].v;
        sql_result r = {.has_rows = true,
                        .n_cols = c->n_cols,
                        .types = (type_id *)(uintptr_t)c->types,
                        .n = 1,
                        .rows = rows,
                        .count = 1};
        strbuf b;
        strbuf_init(&b, e->mem);
        match_show(&e->x, &r, &b);
        const char *text = arena_text(&e->kept, b.at, b.n);
        strbuf_free(&b);
        vec_push(e->mem, &f->possible, ((audit_possible){engine_state(e, c->position), text}));
    }
}

static void record_contradiction(symbolic *y, const claim *c)
{
    engine *e = y->e;
    failure *f = &e->fail;
    for (uint32_t i = 0; i < e->order.n; i++)
        e->order.state_name[i + 1] = e->log->txns.at[e->order.at[i]].id;
    bool known = f->any && f->position == c->position && f->stmt == c->stmt &&
                 f->txn == e->order.at[c->position] && f->why != RUN_REFUSED;
    if (!known || e->run.mode == MODE_ROW) f->possible.n = 0;
    if (!known) {
        f->conflicts.n = f->order.n = 0;
        for (uint32_t i = 1; i <= c->position; i++) vec_push(e->mem, &f->order, engine_state(e, i));
        f->any = true;
        f->position = c->position;
        f->stmt = c->stmt;
        f->txn = e->order.at[c->position];
        f->why = RUN_MISMATCH;
        f->semantic = false;
    }
    if (!f->possible.n) show_possible(y, c, f);
    f->classified = true;
    if (e->run.mode == MODE_ROW) f->semantic = true; /* no level is weaker */
}

/* ---- a solution is replayed ------------------------------------------------------------------ */

static uint32_t state_of(symbolic *y, uint32_t id)
{
    const sym_id *d = &y->x.ids.at[id];
    assert(id < y->x.ids.n && d->low <= d->high);
    for (size_t i = d->bounds.n; i-- > 0;)
        if (holds(y, d->bounds.at[i].from)) return d->bounds.at[i].state;
    return d->low;
}

static void number_row(symbolic *y, uint32_t number, uint32_t row, uint32_t sym)
{
    mem *m = y->x.p.m;
    if (row >= y->sym_rows[number]) {
        uint32_t n = 2 * row + 16;
        y->sym_row[number] = mem_resize(m, y->sym_row[number], n * sizeof(uint32_t));
        for (uint32_t i = y->sym_rows[number]; i < n; i++) y->sym_row[number][i] = UINT32_MAX;
        y->sym_rows[number] = n;
    }
    y->sym_row[number][row] = sym;
}

/* Rows that the replay inserted since the last look are, in their order, those of the execution. */
static void number_inserts(symbolic *y)
{
    store *s = &y->e->store;
    for (; y->undo_seen < s->undo.n; y->undo_seen++) {
        store_undo u = s->undo.at[y->undo_seen];
        if (u.row >= UNDO_LEAST) continue;
        const row_version *v = u.t->rows.at[u.row].head;
        while (v->older && v->older->commit == PENDING) v = v->older;
        if (v->older) continue; /* it was there */
        bool before = false;    /* inserted and changed: listed twice */
        for (size_t i = 0; i < y->undo_seen && !before; i++)
            before = s->undo.at[i].t == u.t && s->undo.at[i].row == u.row;
        if (before) continue;
        const sym_insert *in;
        do {
            if (y->next_insert == y->x.inserts.n) return;
            in = &y->x.inserts.at[y->next_insert++];
        } while (!holds(y, in->when));
        number_row(y, in->t->number, u.row, in->row);
    }
}

static uint32_t chosen(void *ud, table *t, uint32_t r)
{
    engine *e = ud;
    symbolic *y = e->symbolic;
    number_inserts(y);
    for (size_t i = 0; i < y->x.tables.n; i++) {
        const sym_table *s = y->x.tables.at[i];
        if (y->e->store.tables.at[s->number] != t || r >= y->sym_rows[s->number]) continue;
        uint32_t row = y->sym_row[s->number][r];
        for (size_t k = y->reads_from; k < y->reads_to; k++) {
            const sym_read *d = &y->x.reads.at[k];
            if (d->t == s && d->row == row && d->cid == e->x.regs.cid) return state_of(y, d->id);
        }
    }
    return e->run.position;
}

static void set_choices(symbolic *y, trial *t, uint32_t first_id, uint32_t n_stmts)
{
    engine *e = y->e;
    uint32_t n = e->run.mode == MODE_SNAPSHOT ? 1 : e->run.mode == MODE_STATEMENT ? n_stmts : 0;
    t->choices.n = t->reached.n = t->effects.n = t->changed = 0;
    t->unstable =
        e->store.unstable; /* these choices are prescribed, not passed over by a measure */
    for (uint32_t i = 0; i < n; i++)
        vec_push(e->mem, &t->choices, ((choice){state_of(y, first_id + i), 0, 0, 0}));
}

static bool replay(symbolic *y)
{
    engine *e = y->e;
    mem *m = y->x.p.m;
    engine_reset(e);
    y->sym_row = mem_array0(m, uint32_t *, e->store.tables.n + 1);
    y->sym_rows = mem_array0(m, uint32_t, e->store.tables.n + 1);
    for (size_t i = 0; i < y->x.tables.n; i++)
        for (uint32_t r = 0; r < y->x.tables.at[i]->rows.n; r++)
            number_row(y, y->x.tables.at[i]->number, r, r);
    e->symbolic = y;
    e->hooks.choose = chosen;
    trial t = {0};
    bool good = true;
    uint32_t id = 0;
    for (uint32_t i = 0; i < e->order.n && good; i++) {
        const log_txn *txn = &e->log->txns.at[e->order.at[i]];
        t.txn = e->order.at[i];
        set_choices(y, &t, id, txn->n_stmts);
        id += (uint32_t)t.choices.n;
        y->undo_seen = 0;
        while (y->reads_to < y->x.reads.n && y->x.reads.at[y->reads_to].txn == i + 1) y->reads_to++;
        e->run.low = e->order.low[i];
        e->run.high = e->order.high[i];
        good = engine_run(e, &t, i) == RUN_OK;
        if (!good) break;
        number_inserts(y);
        y->reads_from = y->reads_to;
        vs_commit(&e->store, i + 1);
        e->order.state_name[i + 1] = txn->id;
    }
    vec_free(e->mem, &t.choices);
    vec_free(e->mem, &t.reached);
    e->hooks.choose = NULL;
    e->symbolic = NULL;
    return good;
}

/* ---- one attempt ----------------------------------------------------------------------------- */

static found undecided(engine *e, const char *why)
{
    e->symbolic_why = why;
    return FOUND_CUT;
}

static found attempt_with(symbolic *y, size_t window)
{
    engine *e = y->e;
    y->x.window = window;
    engine_reset(e);
    e->x.latest = 0;
    sx_begin(&y->x, e);
    fsolver_begin(&y->solved, &y->x.p, y->x.p.m);
    y->x.p.short_lists = !engine_uses(e, AUDIT_PASS_LISTS);
    if (y->any_order) y->x.p.most = QUICK_NODES;
    if (y->only) { /* a quick look */
        y->x.p.no_atoms = true;
        y->x.p.most_asked = QUICK_ASKED;
    }
    if (y->any_order)
        execute_any_order(y);
    else
        execute(y);
    if (y->x.p.full) sx_refuse(&y->x, "formulas of this size");
    size_t n = y->claims.n;
    solve_status r = y->contradiction ? SOLVE_UNSAT : solve_prefix(y, n);
    if (r == SOLVE_UNKNOWN) return undecided(e, y->why ? y->why : "the solver gave up");
    if (r == SOLVE_SAT && y->only) return undecided(e, "not all answers");
    if (r == SOLVE_SAT) {
        if (!replay(y)) return undecided(e, "a solution could not be replayed");
        uint32_t early, late;
        if (moments_matter(e) && !moments_fit(e, NULL, e->order.n, &early, &late))
            return undecided(e, "snapshots were found, but none with moments that fit together");
        return FOUND_YES;
    }
    if (y->x.windowed || y->murky)
        return undecided(e, y->x.windowed ? "not all states" : "errors that depend on the plan");
    record_contradiction(y, &y->claims.at[shortest(y) - 1]);
    return FOUND_NO;
}

/* All that it takes is given back, however it ends. */
static found in_border(engine *e, size_t window, uint32_t only, bool any_order, bool *windowed)
{
    guard *g = e->guard, outer;
    mem m;
    mem_init(&m, e->mem->fn, e->mem->ud, g);
    m.limit = e->mem->limit;
    symbolic *y = mem_zeroed(&m, sizeof *y);
    y->e = e;
    y->x.p.m = &m;
    y->only = only;
    y->any_order = any_order;
    *windowed = false;
    memcpy(&outer, g, sizeof outer);
    if (guard_armed(g)) {
        int code = g->code;
        guard_restore(g, &outer);
        g->code = code;
        e->hooks.choose = NULL;
        e->symbolic = NULL;
        *windowed = false;
        smt_close(y->smt);
        mem_free_all(&m);
        if (code == SQL_RAISED || code == SQL_REFUSED)
            return undecided(e, arena_text(&e->kept, g->text, strlen(g->text)));
        guard_fail_again(g);
    }
    found r = attempt_with(y, window);
    *windowed = y->x.windowed;
    guard_restore(g, &outer);
    smt_close(y->smt);
    mem_free_all(&m);
    return r;
}

found symbolic_decide(engine *e)
{
    static const size_t windows[] = {3, 9, 27, 0}; /* versions of a row; 0: all */
    found r = FOUND_CUT;
    if (!engine_uses(e, AUDIT_PASS_SYMBOLIC)) return FOUND_CUT;
    e->symbolic_why = NULL;
    if (e->run.mode == MODE_LATEST || e->o->lenient || e->o->by_value) return FOUND_CUT;
    bool windowed;
    /* the concrete search explained what came before: often this answer alone cannot be */
    const failure *f = &e->fail;
    if (engine_uses(e, AUDIT_PASS_STRONGER) && f->any && f->why != RUN_REFUSED &&
        f->position < e->order.n && f->txn == e->order.at[f->position])
        r = in_border(e, 0, f->position + 1, false, &windowed);
    for (size_t i = engine_uses(e, AUDIT_PASS_WINDOW) ? 0 : 3; r == FOUND_CUT && i < 4; i++) {
        r = in_border(e, windows[i], 0, false, &windowed);
        if (r != FOUND_CUT || !windowed) break;
    }
    return r;
}

bool symbolic_in_no_order(engine *e)
{
    bool windowed;
    const failure *f = &e->fail;
    const char *why = e->symbolic_why;
    bool fits = e->level.mode == MODE_ROW && engine_uses(e, AUDIT_PASS_SYMBOLIC) && f->any &&
                f->why != RUN_REFUSED && f->position < e->order.n &&
                f->txn == e->order.at[f->position];
    if (!fits || e->o->lenient || e->o->by_value) return false;
    e->run.mode = e->level.mode;
    e->run.rule = e->level.rule;
    found r = in_border(e, 0, f->position + 1, true, &windowed);
    e->symbolic_why = why;
    return r == FOUND_NO;
}
