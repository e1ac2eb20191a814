/*
 * symbolic_store.c - rows with symbolic contents, and the states they are read at.
 *
 * An identifier of a state is a chain of variables "this state or a newer one", one for each state
 * at which something changed that it reads; a variable implies the one below it.  At statement
 * snapshots it also implies the same of the next statement, which may not read older.
 */
#include "audit/symbolic_exec.h"

#include <assert.h>
#include "base/hash.h"

/* ---- identifiers ----------------------------------------------------------------------------- */

static fm from_state(sx *x, uint32_t id, uint32_t state)
{
    assert(id < x->ids.n);
    sym_id *d = &x->ids.at[id];
    if (state <= d->low) return FM_TRUE;
    if (state > d->high) return FM_FALSE;
    size_t at = d->bounds.n;
    while (at && d->bounds.at[at - 1].state > state) at--;
    if (at && d->bounds.at[at - 1].state == state) return d->bounds.at[at - 1].from;
    fm f = fm_var(&x->p);
    vec_push(x->p.m, &d->bounds, ((sym_bound){0}));
    memmove(d->bounds.at + at + 1, d->bounds.at + at,
            (d->bounds.n - 1 - at) * sizeof *d->bounds.at);
    d->bounds.at[at] = (sym_bound){state, f};
    if (at) fm_imply(&x->p, f, d->bounds.at[at - 1].from);
    assert(!at || d->bounds.at[at - 1].state < state); /* bounds rise */
    if (at + 1 < d->bounds.n) fm_imply(&x->p, d->bounds.at[at + 1].from, f);
    return f;
}

static fm read_from(sx *x, uint32_t id, uint32_t state)
{
    if (x->e->run.mode != MODE_STATEMENT) return from_state(x, id, state);
    fm mine = FM_FALSE, before = FM_FALSE; /* every statement gets the bound, linked to the next */
    for (uint32_t i = 0; i < x->n_stmts; i++) {
        size_t vars = x->p.nodes.n;
        fm f = from_state(x, x->snapshot + i, state);
        bool fresh = x->p.nodes.n > vars;
        if (i && fresh && before > FM_FALSE) fm_imply(&x->p, before, f);
        if (x->snapshot + i == id) mine = f;
        before = f;
    }
    return mine;
}

static uint32_t new_id(sx *x, uint32_t low, uint32_t high)
{
    assert(high < x->txn); /* its own state, and later ones, cannot be read */
    vec_push(x->p.m, &x->ids, ((sym_id){.low = low, .high = high}));
    return (uint32_t)x->ids.n - 1;
}

void sx_txn(sx *x, uint32_t state, uint32_t n_stmts, uint32_t low, uint32_t high)
{
    assert(state && !x->touched.n); /* the one before has committed */
    x->txn = state;
    x->n_stmts = n_stmts;
    x->snapshot = (uint32_t)x->ids.n;
    uint32_t n = x->e->run.mode == MODE_SNAPSHOT    ? 1
                 : x->e->run.mode == MODE_STATEMENT ? n_stmts
                                                    : 0;
    for (uint32_t i = 0; i < n; i++) new_id(x, low, high);
}

/* ---- indexes --------------------------------------------------------------------------------- */

static void index_add(sx *x, sym_index *in, uint64_t hash, uint32_t row)
{
    mem *m = x->p.m;
    if (in->entries.n * 2 >= in->cap) {
        uint32_t cap = in->cap ? in->cap * 2 : 64;
        mem_put(m, in->slot);
        in->slot = mem_array0(m, uint32_t, cap);
        in->cap = cap;
        for (uint32_t i = 0; i < in->entries.n; i++) {
            sym_entry *en = &in->entries.at[i];
            en->next = in->slot[en->hash & (cap - 1)];
            in->slot[en->hash & (cap - 1)] = i + 1;
        }
    }
    uint32_t *head = &in->slot[hash & (in->cap - 1)];
    for (uint32_t i = *head, tries = 0; i && tries < 4; i = in->entries.at[i - 1].next, tries++)
        if (in->entries.at[i - 1].row == row && in->entries.at[i - 1].hash == hash) return;
    vec_push(m, &in->entries, ((sym_entry){hash, row, *head}));
    *head = (uint32_t)in->entries.n;
}

static void index_value(sx *x, sym_table *t, uint32_t column, uint32_t row, gval v)
{
    sym_index *in = t->index[column];
    if (!in) return;
    assert(v.n || v.number);
    if (!v.n) vec_push(x->p.m, &in->any_value, row);
    for (uint32_t i = 0; i < v.n; i++)
        if (!v.at[i].v.null) index_add(x, in, value_hash(t->t->cols[column].t.id, v.at[i].v), row);
}

static void index_cols(sx *x, sym_table *t, uint32_t row, const gval *cols)
{
    for (uint32_t c = 0; cols && c < t->t->n_cols; c++) index_value(x, t, c, row, cols[c]);
}

void sx_lookup(sx *x, sym_table *t, uint32_t column, uint64_t hash, row_list *out)
{
    if (!t->index[column]) {
        t->index[column] = mem_zeroed(x->p.m, sizeof *t->index[column]);
        for (uint32_t r = 0; r < t->rows.n; r++) {
            const sym_row *row = &t->rows.at[r];
            for (size_t i = 0; i < row->versions.n; i++)
                if (row->versions.at[i].cols)
                    index_value(x, t, column, r, row->versions.at[i].cols[column]);
            for (size_t i = 0; i < row->own.n; i++)
                if (row->own.at[i].cols) index_value(x, t, column, r, row->own.at[i].cols[column]);
        }
    }
    const sym_index *in = t->index[column];
    x->lookup++;
    for (uint32_t i = in->cap ? in->slot[hash & (in->cap - 1)] : 0; i;) {
        const sym_entry *en = &in->entries.at[i - 1];
        i = en->next;
        if (en->hash != hash || t->rows.at[en->row].seen == x->lookup) continue;
        t->rows.at[en->row].seen = x->lookup;
        arena_push(&x->work, out, en->row);
    }
    for (size_t i = 0; i < in->any_value.n; i++) {
        if (t->rows.at[in->any_value.at[i]].seen == x->lookup) continue;
        t->rows.at[in->any_value.at[i]].seen = x->lookup;
        arena_push(&x->work, out, in->any_value.at[i]);
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

static const gval *merged(sx *x, const table *t, fm when, const gval *a, const gval *b)
{
    if (!a || when == FM_FALSE) return b;
    if (!b || when == FM_TRUE || a == b) return a;
    gval *out = arena_array(&x->p.keep, gval, t->n_cols + 1);
    for (uint32_t c = 0; c < t->n_cols; c++) {
        out[c] = a[c].at == b[c].at && a[c].n == b[c].n && a[c].number == b[c].number
                     ? a[c]
                     : gval_ite(&x->p, &x->maker, t->cols[c].t.id, when, a[c], b[c]);
        if (!out[c].n && !out[c].number) sx_refuse(x, "a column of numbers of different scales");
    }
    return out;
}

/* The newest of the transaction's own versions that the statement sees. */
static const sym_version *own_version(const sx *x, const sym_row *r, bool all)
{
    size_t i = r->own.n;
    while (i && !all && r->own.at[i - 1].state >= x->cid) i--;
    return i ? &r->own.at[i - 1] : NULL;
}

fm sx_own(const sx *x, const sym_row *r)
{
    const sym_version *v = own_version(x, r, false);
    return v ? v->wrote : FM_FALSE;
}

static sym_content over(sx *x, const table *t, const sym_version *own, sym_content below)
{
    assert(!own || own->wrote != FM_FALSE);
    if (!own) return below;
    fm mine = fm_and2(&x->p, own->wrote, own->alive);
    fm theirs = fm_and2(&x->p, fm_not(own->wrote), below.alive);
    return (sym_content){fm_or2(&x->p, mine, theirs),
                         merged(x, t, own->wrote, own->cols, below.cols)};
}

static bool same_gval(type_id t, gval a, gval b)
{
    if (a.at == b.at && a.n == b.n && a.number == b.number) return true;
    return gval_plain(a) && gval_plain(b) && value_identical(t, a.at[0].v, b.at[0].v);
}

/* A column of the versions [from, n), each with the formula that it is the one read. */
static gval read_column(sx *x, const table *t, uint32_t c, const sym_version *v, size_t from,
                        size_t n, const fm *which)
{
    type_id id = t->cols[c].t.id;
    const gval *first = NULL;
    assert(c < t->n_cols && from <= n);
    bool same = true, number = false;
    size_t size = 0;
    for (size_t i = from; i < n; i++) {
        if (!v[i].cols || which[i] == FM_FALSE) continue;
        if (!first) first = &v[i].cols[c];
        same = same && same_gval(id, *first, v[i].cols[c]);
        number |= !v[i].cols[c].n;
        size += v[i].cols[c].n;
    }
    if (!first) return gval_of(&x->p, id, value_null());
    if (same) return *first;
    if (type_rank(id) && size > 4 * (size_t)gval_most(&x->p)) number = true;
    if (!number) {
        gmaker_begin(&x->maker, &x->p, id);
        for (size_t i = from; i < n; i++) {
            if (!v[i].cols || which[i] == FM_FALSE) continue;
            gval g = v[i].cols[c];
            for (uint32_t k = 0; k < g.n; k++)
                gmaker_add(&x->maker, fm_and2(&x->p, which[i], g.at[k].when), g.at[k].v);
        }
        gval r = gmaker_end(&x->maker);
        if (r.n <= gval_most(&x->p)) return r;
        if (!type_rank(id)) sx_refuse(x, "a column with too many possible values");
    }
    gval r = {0};
    for (size_t i = from; i < n; i++) {
        if (!v[i].cols || which[i] == FM_FALSE) continue;
        gval g;
        if (!gval_term(&x->p, id, v[i].cols[c], &g))
            sx_refuse(x, "a column with too many possible values");
        r = r.number ? gval_ite(&x->p, &x->maker, id, which[i], g, r) : g;
        if (!r.number) sx_refuse(x, "a column of numbers of different scales");
    }
    return r;
}

static sym_content read_versions(sx *x, sym_table *t, uint32_t r, uint32_t id)
{
    const sym_row *row = &t->rows.at[r];
    const sym_version *v = row->versions.at;
    size_t n = row->versions.n, from = 0;
    assert(n && id < x->ids.n);
    fm *which = arena_array(&x->work, fm, n + 2), *alive = arena_array(&x->work, fm, n + 2);
    if (x->window && n > x->window) {
        from = n - x->window;
        x->windowed = true;
    }
    fm above = FM_FALSE;
    for (size_t i = n; i-- > from;) {
        fm here = read_from(x, id, v[i].state);
        if (i == from && from) vec_push(x->p.m, &x->bad, fm_not(here));
        which[i] = fm_and2(&x->p, here, fm_not(above));
        alive[i] = fm_and2(&x->p, which[i], v[i].alive);
        above = here;
    }
    gval *cols = arena_array(&x->p.keep, gval, t->t->n_cols + 1);
    for (uint32_t c = 0; c < t->t->n_cols; c++)
        cols[c] = read_column(x, t->t, c, v, from, n, which);
    bool always = from || (n && v[0].state <= x->ids.at[id].low);
    for (size_t i = from; i < n; i++) always = always && v[i].alive == FM_TRUE;
    return (sym_content){always ? FM_TRUE : fm_or(&x->p, alive + from, n - from), cols};
}

static sym_content newest(const sym_row *r)
{
    if (!r->versions.n) return (sym_content){FM_FALSE, NULL};
    const sym_version *v = &r->versions.at[r->versions.n - 1];
    return (sym_content){v->alive, v->cols};
}

static sym_content visible_row(sx *x, sym_table *t, uint32_t r)
{
    sym_row *row = &t->rows.at[r];
    const sym_version *own = own_version(x, row, false);
    sym_content c = {FM_FALSE, NULL};
    if (own && own->wrote == FM_TRUE) {
        c = (sym_content){own->alive, own->cols};
    } else if (row->versions.n) {
        bool fixed = row->versions.n == 1 && !row->versions.at[0].state;
        uint32_t id = x->snapshot;
        if (fixed) {
            c = newest(row);
        } else {
            if (x->e->run.mode == MODE_STATEMENT) id += x->cid - 1;
            if (x->e->run.mode == MODE_ROW) {
                size_t n = row->versions.n;
                bool cut = x->window && n > x->window;
                uint32_t low = cut ? row->versions.at[n - x->window].state : 0;
                id = new_id(x, low, x->txn - 1);
                vec_push(x->p.m, &x->reads, ((sym_read){x->txn, x->cid, t, r, id}));
            }
            c = read_versions(x, t, r, id);
        }
        c = over(x, t->t, own, c);
    } else if (own) {
        c = (sym_content){fm_and2(&x->p, own->wrote, own->alive), own->cols};
    }
    if (!c.cols) c.alive = FM_FALSE;
    return c;
}

sym_content sx_row(sx *x, sym_table *t, uint32_t r)
{
    assert(r < t->rows.n && x->txn && x->cid);
    sym_row *row = &t->rows.at[r];
    if (row->now_txn == x->txn && row->now_cid == x->cid) return row->now;
    sym_content c = visible_row(x, t, r);
    row->now_txn = x->txn;
    row->now_cid = x->cid;
    row->now = c;
    return c;
}

sym_content sx_latest(sx *x, sym_table *t, uint32_t r, bool all)
{
    const sym_row *row = &t->rows.at[r];
    sym_content c = over(x, t->t, own_version(x, row, all), newest(row));
    if (!c.cols) c.alive = FM_FALSE;
    return c;
}

fm sx_overtaken(sx *x, sym_table *t, uint32_t r)
{
    assert(x->e->run.mode == MODE_SNAPSHOT && r < t->rows.n);
    const sym_row *row = &t->rows.at[r];
    fm *any = arena_array(&x->work, fm, row->versions.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < row->versions.n; i++) {
        const sym_version *v = &row->versions.at[i];
        if (v->state)
            any[n++] = fm_and2(&x->p, v->wrote, fm_not(read_from(x, x->snapshot, v->state)));
    }
    return fm_or(&x->p, any, n);
}

/* ---- writing --------------------------------------------------------------------------------- */

uint32_t sx_insert(sx *x, sym_table *t, fm when, const gval *cols)
{
    assert(cols && when >> 1 < x->p.nodes.n);
    uint32_t r = (uint32_t)t->rows.n;
    vec_push(x->p.m, &t->rows, ((sym_row){0}));
    vec_push(x->p.m, &x->inserts, ((sym_insert){t, r, x->txn, x->cid, when}));
    sym_row *row = &t->rows.at[r];
    vec_push(x->p.m, &row->own, ((sym_version){x->cid, when, FM_TRUE, cols}));
    vec_push(x->p.m, &x->touched, ((sym_touched){t, r}));
    index_cols(x, t, r, cols);
    return r;
}

void sx_write(sx *x, sym_table *t, uint32_t r, fm when, const gval *cols)
{
    sym_row *row = &t->rows.at[r];
    if (when == FM_FALSE) return;
    const sym_version *before = own_version(x, row, true);
    assert(!before || before->state <= x->cid);
    sym_version v = {x->cid, when, cols ? FM_TRUE : FM_FALSE, cols};
    if (before) {
        fm kept = fm_and2(&x->p, fm_not(when), before->alive);
        v.wrote = fm_or2(&x->p, when, before->wrote);
        v.alive = cols ? fm_or2(&x->p, when, kept) : kept;
        v.cols = merged(x, t->t, when, cols, before->cols);
    }
    index_cols(x, t, r, v.cols);
    if (!before) vec_push(x->p.m, &x->touched, ((sym_touched){t, r}));
    vec_push(x->p.m, &row->own, v);
}

static bool seen_before(const table *t, const sym_row *row, const sym_version *v)
{
    for (size_t i = 0; i < row->versions.n; i++) {
        const sym_version *o = &row->versions.at[i];
        if (o->alive != v->alive || !o->cols != !v->cols) continue;
        uint32_t c = 0;
        while (v->cols && c < t->n_cols && same_gval(t->cols[c].t.id, v->cols[c], o->cols[c])) c++;
        if (!v->cols || c == t->n_cols) return true;
    }
    return false;
}

static void commit_row(sx *x, sym_table *t, uint32_t r)
{
    assert(t->rows.at[r].own.n); /* it is on the list of touched rows */
    sym_row *row = &t->rows.at[r];
    const sym_version *own = &row->own.at[row->own.n - 1];
    fm wrote = fm_known(&x->p, own->wrote);
    if (wrote != FM_FALSE) {
        sym_content c = over(x, t->t, own, newest(row));
        gval *cols = NULL;
        if (c.cols) {
            cols = arena_array(&x->p.keep, gval, t->t->n_cols + 1);
            for (uint32_t k = 0; k < t->t->n_cols; k++) cols[k] = gval_settled(&x->p, c.cols[k]);
        }
        sym_version v = {x->txn, wrote, fm_known(&x->p, c.alive), cols};
        if (!x->distinct || !seen_before(t->t, row, &v)) {
            vec_push(x->p.m, &row->versions, v);
            assert(row->versions.n < 2 || row->versions.at[row->versions.n - 2].state < v.state);
            x->versions++;
        }
        if (wrote != FM_TRUE) index_cols(x, t, r, cols);
    }
    row->own.n = 0;
}

void sx_commit(sx *x)
{
    for (size_t i = 0; i < x->touched.n; i++) {
        sym_touched at = x->touched.at[i];
        commit_row(x, at.t, at.row);
        if (at.t->rows.at[at.row].versions.n) vec_push(x->p.m, &x->recent, at);
    }
    x->touched.n = 0;
}

/* ---- the beginning --------------------------------------------------------------------------- */

sym_table *sx_table(sx *x, const table *t)
{
    for (size_t i = 0; i < x->tables.n; i++)
        if (x->tables.at[i]->t == t) return x->tables.at[i];
    sx_refuse(x, "a table made during the log");
}

static void take_table(sx *x, table *t, uint32_t number)
{
    sym_table *s = mem_zeroed(x->p.m, sizeof *s);
    s->t = t;
    s->number = number;
    s->index = mem_array0(x->p.m, sym_index *, t->n_cols + 1);
    for (uint32_t r = 0; r < t->rows.n; r++) {
        guard_tick(x->p.g);
        const row_version *v = vs_at(t, r, 0, 0);
        vec_push(x->p.m, &s->rows, ((sym_row){0}));
        if (!v || v->dead) continue;
        gval *cols = arena_array(&x->p.keep, gval, t->n_cols + 1);
        for (uint32_t c = 0; c < t->n_cols; c++)
            cols[c] = gval_of(&x->p, t->cols[c].t.id, v->cols[c]);
        vec_push(x->p.m, &s->rows.at[r].versions, ((sym_version){0, FM_TRUE, FM_TRUE, cols}));
    }
    vec_push(x->p.m, &x->tables, s);
}

void sx_begin(sx *x, engine *e)
{
    x->e = e;
    fm_init(&x->p, x->p.m);
    arena_init(&x->work, x->p.m);
    if (e->store.holes) sx_refuse(x, "a value that the database chose");
    for (size_t i = 0; i < e->store.tables.n; i++)
        x->foreign |= e->store.tables.at[i]->n_foreign > 0;
    for (size_t i = 0; i < e->store.tables.n; i++)
        if (vs_find(&e->store, e->store.tables.at[i]->name, 0) == e->store.tables.at[i])
            take_table(x, e->store.tables.at[i], (uint32_t)i);
}
