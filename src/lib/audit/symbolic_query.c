/*
 * symbolic_query.c - joins, aggregates and what the client saw, over guarded rows.
 *
 * A query gives candidates, each with the formula under which it is a row of the answer.  The
 * answer was the observed one if, for each distinct row that the client saw, exactly as many
 * candidates came out with these contents, and none with others.
 */
#include "audit/symbolic_exec.h"

#include <assert.h>
#include "base/hash.h"

#define MOST_PAIRS 4000000u

/* ---- joins ----------------------------------------------------------------------------------- */

static const gval **copy_slots(sx *x, const gval **from, uint32_t n)
{
    const gval **c = arena_array(&x->work, const gval *, n + 1);
    if (n) memcpy(c, from, n * sizeof *c);
    return c;
}

static void try_row(sx *x, const join *j, uint32_t slots, sframe *up, const sym_tuple *in,
                    uint32_t r, sym_tuples *out)
{
    guard_tick(x->p.g);
    sym_content c = sx_row(x, sx_table(x, j->table), r);
    fm when = fm_and2(&x->p, in->when, c.alive);
    if (when == FM_FALSE) return;
    const gval **tuple = copy_slots(x, in->slots, slots);
    tuple[j->slot] = c.cols;
    sframe f = {tuple, up, NULL};
    for (uint32_t i = 0; i < j->n_filters && when != FM_FALSE; i++)
        when = fm_and2(&x->p, when, sx_true(x, j->filters[i], &f, when));
    if (when != FM_FALSE) arena_push(&x->work, out, ((sym_tuple){when, tuple, r}));
}

/* Rows of an index whose key is known; false: there is none. */
static bool find_rows(sx *x, const join *j, sframe *f, fm path, row_list *out)
{
    assert(j->table && j->n_lookups && !out->n);
    sym_table *t = sx_table(x, j->table);
    for (uint32_t i = 0; i < j->n_lookups && engine_uses(x->e, AUDIT_PASS_INDEX); i++) {
        const lookup *l = &j->lookups[i];
        bool known = true;
        row_list rows = {0};
        for (uint32_t k = 0; k < l->n && known; k++) {
            gval v = sx_eval(x, l->keys[k], f, path);
            known = gval_plain(v);
            if (!known || v.at[0].v.null) continue;
            row_list one = {0};
            sx_lookup(x, t, l->column, value_hash(l->keys[k]->t.id, v.at[0].v), &one);
            for (size_t m = 0; m < one.n; m++) {
                size_t at = 0;
                while (at < rows.n && rows.at[at] != one.at[m]) at++;
                if (at == rows.n) arena_push(&x->work, &rows, one.at[m]);
            }
        }
        if (!known) continue;
        *out = rows;
        return true;
    }
    return false;
}

static void extend(sx *x, const join *j, uint32_t slots, sframe *up, const sym_tuple *in,
                   sym_tuples *out)
{
    if (j->kind == J_REL) {
        if (!j->table) sx_refuse(x, "a subquery in FROM");
        if (j->table->unknown) sx_refuse(x, "a table whose initial contents are unknown");
        sframe f = {copy_slots(x, in->slots, slots), up, NULL};
        row_list rows = {0};
        if (j->n_lookups && find_rows(x, j, &f, in->when, &rows)) {
            for (size_t i = 0; i < rows.n; i++) try_row(x, j, slots, up, in, rows.at[i], out);
            return;
        }
        size_t n = sx_table(x, j->table)->rows.n;
        for (uint32_t r = 0; r < n; r++) try_row(x, j, slots, up, in, r, out);
        return;
    }
    if (j->kind != J_INNER && j->kind != J_LEFT) sx_refuse(x, "a FULL or RIGHT join");
    sym_tuples left = {0};
    extend(x, j->left, slots, up, in, &left);
    for (size_t i = 0; i < left.n; i++) {
        sym_tuples right = {0};
        extend(x, j->right, slots, up, &left.at[i], &right);
        fm any = FM_FALSE;
        for (size_t k = 0; k < right.n; k++) {
            sframe f = {right.at[k].slots, up, NULL};
            fm when = right.at[k].when;
            if (j->on) when = fm_and2(&x->p, when, sx_true(x, j->on, &f, when));
            if (when == FM_FALSE) continue;
            any = fm_or2(&x->p, any, when);
            arena_push(&x->work, out, ((sym_tuple){when, right.at[k].slots, 0}));
        }
        fm none = fm_and2(&x->p, left.at[i].when, fm_not(any));
        if (j->kind == J_LEFT && none != FM_FALSE)
            arena_push(&x->work, out, ((sym_tuple){none, left.at[i].slots, 0}));
    }
}

void sx_join(sx *x, const join *j, uint32_t slots, sframe *up, fm path, sym_tuples *out)
{
    const gval **none = arena_array(&x->work, const gval *, slots + 1);
    for (uint32_t i = 0; i <= slots; i++) none[i] = NULL;
    sym_tuple one = {path, none, 0};
    if (j)
        extend(x, j, slots, up, &one, out);
    else
        arena_push(&x->work, out, one);
}

/* ---- aggregates ------------------------------------------------------------------------------ */

static expr leaf_of(type t)
{
    return (expr){.kind = E_CONST, .t = t};
}

static gval plus(sx *x, type t, gval a, gval b, fm path)
{
    expr l = leaf_of(t), *args[2] = {&l, &l};
    expr e = {.kind = E_ARITH, .t = t, .op = '+', .sub = t.id, .n = 2, .arg = args};
    return sx_strict(x, &e, (gval[]){a, b}, path);
}

/* The number to be added: the argument as the type in which PostgreSQL sums it. */
static type sum_type(const aggregate *a)
{
    type_id t = a->arg->t.id;
    return type_plain(t == T_INT2 || t == T_INT4 ? T_INT8 : T_NUMERIC);
}

static gval cast_to(sx *x, gval v, type from, type to, fm path)
{
    if (from.id == to.id) return v;
    expr l = leaf_of(from), *args[1] = {&l};
    expr e = {.kind = E_CAST, .t = to, .n = 1, .arg = args, .cast = CAST_IMPLICIT};
    return sx_strict(x, &e, &v, path);
}

static gval pick(sx *x, type_id t, fm when, gval a, gval b)
{
    gval r = gval_ite(&x->p, &x->maker, t, when, a, b);
    if (!r.n && !r.number) sx_refuse(x, "an aggregate over numbers of different scales");
    return r;
}

typedef struct running {
    gval v;
    fm any; /* something was aggregated */
} running;

static uint32_t scale_of(gval v, uint32_t i)
{
    return !v.n ? v.scale : v.at[i].v.null ? UINT32_MAX : v.at[i].v.d->scale;
}

/* Equal numbers of different scales: which one is shown depends on the plan. */
static void one_scale(sx *x, gval a, gval b)
{
    uint32_t one = UINT32_MAX;
    for (int side = 0; side < 2; side++) {
        gval v = side ? b : a;
        for (uint32_t i = 0; i < (v.n ? v.n : 1); i++) {
            uint32_t s = scale_of(v, i);
            if (s == UINT32_MAX) continue;
            if (one != UINT32_MAX && s != one)
                sx_refuse(x, "min or max of numbers of different scales");
            one = s;
        }
    }
}

static running feed_aggregate(sx *x, const aggregate *a, running s, fm when, sframe *f)
{
    fm_pool *p = &x->p;
    if (!a->arg) {
        type t = type_plain(T_INT8);
        gval one = gval_of(p, T_INT8, value_int(1)), none = gval_of(p, T_INT8, value_int(0));
        return (running){plus(x, t, s.v, pick(x, T_INT8, when, one, none), FM_TRUE), FM_TRUE};
    }
    gval v = sx_eval(x, a->arg, f, when);
    fm here = fm_and2(p, when, fm_not(gval_null(p, v)));
    if (a->kind == AGG_COUNT) {
        gval one = gval_of(p, T_INT8, value_int(1)), none = gval_of(p, T_INT8, value_int(0));
        return (running){
            plus(x, type_plain(T_INT8), s.v, pick(x, T_INT8, here, one, none), FM_TRUE), FM_TRUE};
    }
    if (here == FM_FALSE) return s;
    type_id id = a->arg->t.id;
    if ((a->kind == AGG_MIN || a->kind == AGG_MAX) && id == T_NUMERIC)
        one_scale(x, v, s.any == FM_FALSE ? v : s.v);
    fm both = fm_and2(p, s.any, here);
    gval r;
    if (a->kind == AGG_MIN || a->kind == AGG_MAX) {
        expr l = leaf_of(a->arg->t), *args[2] = {&l, &l};
        expr e = {.kind = E_COMPARE,
                  .t = type_plain(T_BOOL),
                  .op = a->kind == AGG_MIN ? OP_LT : OP_GT,
                  .sub = id,
                  .n = 2,
                  .arg = args};
        fm better = fm_not(s.any);
        if (both != FM_FALSE)
            better = fm_or2(p, better, gval_true(p, sx_strict(x, &e, (gval[]){v, s.v}, both)));
        r = s.any == FM_FALSE ? v : pick(x, id, fm_and2(p, here, better), v, s.v);
    } else {
        type t = sum_type(a);
        gval d = cast_to(x, v, a->arg->t, t, here);
        gval sum = both == FM_FALSE ? d : plus(x, t, s.v, d, both);
        gval with = s.any == FM_FALSE ? d : pick(x, t.id, s.any, sum, d);
        r = s.any == FM_FALSE ? d : pick(x, t.id, here, with, s.v);
    }
    return (running){r, fm_or2(p, s.any, here)};
}

static gval aggregated(sx *x, const aggregate *a, const running *s)
{
    if (a->kind == AGG_COUNT) return s->v;
    type_id t = a->kind == AGG_SUM ? sum_type(a).id : a->arg->t.id;
    gval null = gval_of(&x->p, t, value_null());
    return s->any == FM_FALSE ? null : pick(x, t, s->any, s->v, null);
}

typedef struct sym_group {
    const gval *keys;
    const gval **tuple;
    running *aggs;
    fm when;
    bool several; /* more than the one tuple */
} sym_group;

static bool same_keys(sx *x, const query *q, const gval *a, const gval *b)
{
    for (uint32_t i = 0; i < q->n_keys; i++) assert(gval_plain(a[i]) && gval_plain(b[i]));
    for (uint32_t i = 0; i < q->n_keys; i++)
        if (!value_same(q->keys[i]->t.id, a[i].at[0].v, b[i].at[0].v)) return false;
    for (uint32_t i = 0; i < q->n_keys; i++)
        if (!value_identical(q->keys[i]->t.id, a[i].at[0].v, b[i].at[0].v))
            sx_refuse(x, "equal numbers of different scales in one group");
    return true;
}

static void emit(sx *x, const query *q, sframe *f, fm when)
{
    gval *row = arena_array(&x->work, gval, q->n_out + 1);
    for (uint32_t i = 0; i < q->n_out; i++) {
        row[i] = sx_eval(x, q->out[i].e, f, when);
        if (!row[i].n && !row[i].number) sx_refuse(x, "a column that is not the same for a group");
    }
    vec_push(x->p.m, &x->out, ((sym_out){when, row}));
}

static running *fresh_aggs(sx *x, const query *q)
{
    running *r = arena_array(&x->work, running, q->n_aggs + 1);
    for (uint32_t i = 0; i < q->n_aggs; i++) {
        const aggregate *a = &q->aggs[i];
        bool counts = a->kind == AGG_COUNT;
        if (a->kind == AGG_AVG) sx_refuse(x, "avg");
        if (a->distinct) sx_refuse(x, "an aggregate of DISTINCT values");
        if (a->kind > AGG_MAX || a->filter || a->n_order)
            sx_refuse(x, "an aggregate with FILTER or ORDER BY, or of booleans or texts");
        r[i] = (running){
            gval_of(&x->p, counts ? T_INT8 : a->arg->t.id, counts ? value_int(0) : value_null()),
            FM_FALSE};
    }
    return r;
}

typedef VEC(sym_group) group_list;

/* A row whose keys are known, where `when` holds. */
static void into_group(sx *x, const query *q, sframe *f, const gval *keys, fm when,
                       group_list *groups)
{
    size_t at = 0;
    while (at < groups->n && !same_keys(x, q, groups->at[at].keys, keys)) at++;
    if (at == groups->n) {
        if (at > 1024) sx_refuse(x, "more than 1024 groups");
        gval *kept = arena_array(&x->work, gval, q->n_keys + 1);
        if (q->n_keys) memcpy(kept, keys, q->n_keys * sizeof *kept);
        arena_push(&x->work, groups,
                   ((sym_group){kept, f->slots, fresh_aggs(x, q), FM_FALSE, false}));
    }
    sym_group *g = &groups->at[at];
    g->several |= g->tuple != f->slots;
    g->when = fm_or2(&x->p, g->when, when);
    for (uint32_t k = 0; k < q->n_aggs; k++)
        g->aggs[k] = feed_aggregate(x, &q->aggs[k], g->aggs[k], when, f);
}

/* Every combination of the values that the keys from `k` on may have. */
static void by_keys(sx *x, const query *q, sframe *f, const gval *may, gval *keys, uint32_t k,
                    fm when, group_list *groups)
{
    if (when == FM_FALSE) return;
    if (k == q->n_keys) {
        into_group(x, q, f, keys, when, groups);
        return;
    }
    if (!may[k].n) sx_refuse(x, "GROUP BY of an unknown number");
    for (uint32_t i = 0; i < may[k].n; i++) {
        keys[k] = gval_of(&x->p, q->keys[k]->t.id, may[k].at[i].v);
        by_keys(x, q, f, may, keys, k + 1, fm_and2(&x->p, when, may[k].at[i].when), groups);
    }
}

static uint32_t width(const join *j, uint32_t slot)
{
    if (j->kind == J_REL) return j->slot == slot && j->table ? j->table->n_cols : 0;
    uint32_t n = width(j->left, slot);
    return n ? n : width(j->right, slot);
}

/* The row that stands for a group: its keys are the group's.  What else it has is not the same for
   all rows of the group, if there are several: nothing may look at it. */
static const gval **group_tuple(sx *x, const query *q, const sym_group *g)
{
    const gval **tuple = copy_slots(x, g->tuple, q->slots);
    for (uint32_t s = 0; s < q->slots && q->from; s++) {
        uint32_t n = width(q->from, s);
        if (!tuple[s] || !n) continue;
        gval *row = arena_array(&x->work, gval, n + 1);
        for (uint32_t c = 0; c < n; c++) row[c] = g->several ? (gval){0} : tuple[s][c];
        for (uint32_t k = 0; k < q->n_keys; k++)
            if (q->keys[k]->kind == E_COLUMN && !q->keys[k]->up && q->keys[k]->slot == s)
                row[q->keys[k]->index] = g->keys[k];
        tuple[s] = row;
    }
    return tuple;
}

static void grouped(sx *x, const query *q, sframe *up, const sym_tuples *in)
{
    assert(q->grouped && !q->n_windows);
    if (q->n_sets) sx_refuse(x, "grouping sets");
    group_list groups = {0};
    for (size_t i = 0; i < in->n; i++) {
        sframe f = {in->at[i].slots, up, NULL};
        fm when = in->at[i].when;
        gval *may = arena_array(&x->work, gval, q->n_keys + 1);
        gval *keys = arena_array(&x->work, gval, q->n_keys + 1);
        for (uint32_t k = 0; k < q->n_keys; k++) may[k] = sx_eval(x, q->keys[k], &f, when);
        by_keys(x, q, &f, may, keys, 0, when, &groups);
    }
    if (!groups.n && !q->n_keys) {
        const gval **none = arena_array(&x->work, const gval *, q->slots + 1);
        for (uint32_t i = 0; i <= q->slots; i++) none[i] = NULL;
        arena_push(&x->work, &groups, ((sym_group){NULL, none, fresh_aggs(x, q), FM_TRUE, false}));
    }
    for (size_t i = 0; i < groups.n; i++) {
        sym_group *g = &groups.at[i];
        gval *aggs = arena_array(&x->work, gval, q->n_aggs + 1);
        for (uint32_t k = 0; k < q->n_aggs; k++) aggs[k] = aggregated(x, &q->aggs[k], &g->aggs[k]);
        sframe f = {q->n_keys ? group_tuple(x, q, g) : g->tuple, up, aggs};
        fm when = q->n_keys ? g->when : FM_TRUE;
        if (q->having) when = fm_and2(&x->p, when, sx_true(x, q->having, &f, when));
        if (when != FM_FALSE) emit(x, q, &f, when);
    }
}

/* FOR UPDATE: a row that another one wrote after the snapshot is an error, or read again. */
static void lock_rows(sx *x, const query *q, sframe *up, sym_tuples *t)
{
    if (q->skips) sx_refuse(x, "SKIP LOCKED");
    if (x->e->run.rule == WRITE_FREE) return;
    if (!q->from || q->from->kind != J_REL || !q->from->table)
        sx_refuse(x, "FOR UPDATE of more than one table");
    if (q->n_locks != 1 || q->locks[0].keys_only || q->n_sort)
        sx_refuse(x, "FOR UPDATE with ORDER BY, or FOR KEY SHARE");
    sym_table *target = sx_table(x, q->from->table);
    for (size_t i = 0; i < t->n; i++) {
        sym_tuple *at = &t->at[i];
        assert(at->row < target->rows.n);
        if (x->e->run.rule == WRITE_CONFLICT) {
            fm theirs = fm_not(sx_own(x, &target->rows.at[at->row]));
            fm conflict[3] = {at->when, theirs, sx_overtaken(x, target, at->row)};
            vec_push(x->p.m, &x->bad, fm_and(&x->p, conflict, 3));
            continue;
        }
        sym_content now = sx_latest(x, target, at->row, false);
        const gval **tuple = copy_slots(x, at->slots, q->slots);
        tuple[0] = now.cols;
        fm when = fm_and2(&x->p, at->when, now.alive);
        sframe f = {tuple, up, NULL};
        if (q->where && when != FM_FALSE)
            when = fm_and2(&x->p, when, sx_true(x, q->where, &f, when));
        *at = (sym_tuple){when, tuple, at->row};
    }
}

void sx_query(sx *x, const query *q, sframe *up, fm path)
{
    if (q->call || q->series[0] || q->work) sx_refuse(x, "a function in FROM");
    if (q->n_windows) sx_refuse(x, "a window function");
    if (q->spread) sx_refuse(x, "a function of rows");
    if (q->set != SET_NONE) sx_refuse(x, "UNION, INTERSECT or EXCEPT");
    if (q->rows || q->kept || q->shared) sx_refuse(x, "WITH or VALUES");
    if (q->limit || q->offset || q->ties) sx_refuse(x, "LIMIT");
    if (q->distinct || q->n_on) sx_refuse(x, "DISTINCT");
    sym_tuples t = {0};
    sx_join(x, q->from, q->slots, up, path, &t);
    size_t n = 0;
    for (size_t i = 0; i < t.n; i++) {
        sframe f = {t.at[i].slots, up, NULL};
        if (q->where) {
            fm w = sx_true(x, q->where, &f, t.at[i].when);
            t.at[i].when = fm_and2(&x->p, t.at[i].when, w);
        }
        if (t.at[i].when != FM_FALSE) t.at[n++] = t.at[i];
    }
    t.n = n;
    if (q->locking) lock_rows(x, q, up, &t);
    if (q->grouped) {
        grouped(x, q, up, &t);
        return;
    }
    for (size_t i = 0; i < t.n; i++) {
        sframe f = {t.at[i].slots, up, NULL};
        if (t.at[i].when != FM_FALSE) emit(x, q, &f, t.at[i].when);
    }
}

/* ---- what the client saw --------------------------------------------------------------------- */

typedef struct seen_rows { /* equal rows of the answer */
    const cell *cells;
    uint64_t times;
} seen_rows;

static bool same_cells(const cell *a, const cell *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (a[i].kind != b[i].kind || a[i].n != b[i].n ||
            (a[i].kind >= CELL_NUMBER && a[i].n && memcmp(a[i].s, b[i].s, a[i].n)))
            return false;
    return true;
}

static uint64_t cells_hash(const cell *a, uint32_t n)
{
    uint64_t h = n;
    for (uint32_t i = 0; i < n; i++)
        h = hash_pair(h,
                      a[i].kind >= CELL_NUMBER ? hash_bytes(a[i].s, a[i].n, a[i].kind) : a[i].kind);
    return h;
}

static uint32_t distinct_cells(sx *x, const log_stmt *s, seen_rows **out)
{
    uint32_t n = 0, cap = 16;
    while (cap < 2 * s->n_rows) cap *= 2;
    uint32_t *slot = arena_array(&x->work, uint32_t, cap);
    memset(slot, 0, cap * sizeof *slot);
    *out = arena_array(&x->work, seen_rows, s->n_rows + 1);
    for (uint32_t i = 0; i < s->n_rows; i++) {
        const cell *c = s->cells + (size_t)i * s->n_cols;
        uint64_t h = cells_hash(c, s->n_cols);
        uint32_t at;
        while ((at = slot[h & (cap - 1)]) != 0 && !same_cells((*out)[at - 1].cells, c, s->n_cols))
            h++;
        if (at) {
            (*out)[at - 1].times++;
            continue;
        }
        (*out)[n] = (seen_rows){c, 1};
        slot[h & (cap - 1)] = ++n;
    }
    return n;
}

static fm term_is(sx *x, type_id t, gval v, const cell *c)
{
    assert(!v.n && v.number);
    if (c->kind == CELL_NULL) return v.null;
    const num *d;
    if (c->kind != CELL_NUMBER && c->kind != CELL_TEXT) return FM_FALSE;
    if (!num_parse(&x->work, c->s, c->n, &d) || !d) return FM_FALSE;
    if (c->kind == CELL_TEXT && t == T_NUMERIC && d->scale != v.scale) return FM_FALSE;
    if (d->scale > v.scale) {
        const num *cut = num_trunc(&x->work, d, (int)v.scale);
        if (!cut || num_cmp(cut, d)) return FM_FALSE;
        d = cut;
    }
    strbuf b;
    strbuf_init(&b, x->p.m);
    num_text(num_round(&x->work, d, (int)v.scale), &b);
    char *text = arena_get(&x->work, b.n + 1), *to = text;
    for (size_t i = 0; i < b.n; i++)
        if (b.at[i] != '.') *to++ = b.at[i];
    *to = 0;
    strbuf_free(&b);
    uint32_t k = term_const(&x->p, text);
    return fm_and2(&x->p, fm_not(v.null), term_equal(&x->p, v.number, k));
}

static fm cell_is(sx *x, type_id t, gval v, const cell *c)
{
    if (!v.n) return term_is(x, t, v, c);
    if (gval_plain(v)) return match_cell(&x->e->x, t, v.at[0].v, c) ? FM_TRUE : FM_FALSE;
    fm *any = arena_array(&x->work, fm, v.n + 1);
    size_t n = 0;
    for (uint32_t i = 0; i < v.n; i++)
        if (match_cell(&x->e->x, t, v.at[i].v, c)) any[n++] = v.at[i].when;
    return fm_or(&x->p, any, n);
}

static fm row_is(sx *x, const type_id *types, uint32_t n, const gval *cols, const cell *c)
{
    fm *all = arena_array(&x->work, fm, n + 1);
    for (uint32_t i = 0; i < n; i++) /* plain columns first: they settle most */
        if (gval_plain(cols[i]) && cell_is(x, types[i], cols[i], &c[i]) == FM_FALSE)
            return FM_FALSE;
    for (uint32_t i = 0; i < n; i++) {
        all[i] = gval_plain(cols[i]) ? FM_TRUE : cell_is(x, types[i], cols[i], &c[i]);
        if (all[i] == FM_FALSE) return FM_FALSE;
    }
    return fm_and(&x->p, all, n);
}

/* Two texts of one value ("1" and "1.0" of a number) would make rows that are told apart equal. */
static void one_face(sx *x, const type_id *types, const seen_rows *g, uint32_t n, uint32_t cols)
{
    for (uint32_t c = 0; c < cols && n > 1; c++) {
        bool numbers = false, texts = false;
        if (!type_rank(types[c])) continue;
        for (uint32_t i = 0; i < n; i++) {
            numbers |= g[i].cells[c].kind == CELL_NUMBER;
            texts |= g[i].cells[c].kind == CELL_TEXT;
            for (uint32_t k = 0; k < g[i].cells[c].n && g[i].cells[c].kind == CELL_NUMBER; k++) {
                char d = g[i].cells[c].s[k];
                if (d != '-' && (d < '0' || d > '9') && n > 1 && types[c] != T_NUMERIC)
                    sx_refuse(x, "numbers of the log with a point where integers belong");
                if (d == '.' || d == 'e' || d == 'E') texts = texts || numbers;
            }
        }
        if (numbers && texts) sx_refuse(x, "numbers that the log writes in different ways");
    }
}

/* ORDER BY: where every key is a column of the answer, the answer itself must be in order. */
static bool in_order(sx *x, const query *q, const log_stmt *s)
{
    sql_context *c = &x->e->x.c;
    for (uint32_t k = 0; k < q->n_sort; k++)
        if (q->sort[k].e) sx_refuse(x, "ORDER BY of what is not in the answer");
    for (uint32_t i = 1; i < s->n_rows; i++) {
        const cell *a = s->cells + (size_t)(i - 1) * s->n_cols, *b = a + s->n_cols;
        for (uint32_t k = 0; k < q->n_sort; k++) {
            const order_key *o = &q->sort[k];
            type t = type_plain(q->out[o->column].e->t.id);
            const cell *ca = &a[o->column], *cb = &b[o->column];
            bool na = ca->kind == CELL_NULL, nb = cb->kind == CELL_NULL;
            if (na && nb) continue;
            if (na || nb) {
                if (na != o->nulls_first) return false;
                break;
            }
            if (ca->kind == CELL_TRUE || ca->kind == CELL_FALSE)
                sx_refuse(x, "ORDER BY of booleans");
            int r =
                value_cmp(t.id, value_parse(c, t, ca->s, ca->n), value_parse(c, t, cb->s, cb->n));
            if (r && (r < 0) == o->desc) return false;
            if (r) break;
        }
    }
    return true;
}

fm sx_match(sx *x, const query *q, const type_id *types, uint32_t n_cols, const log_stmt *s)
{
    size_t n = x->out.n;
    fm *when = arena_array(&x->work, fm, n + 1), good = FM_TRUE;
    for (size_t i = 0; i < n; i++) when[i] = x->out.at[i].when;
    if (s->has_count) good = fm_exactly(&x->p, when, n, s->count);
    if (!s->has_rows || good == FM_FALSE) return good;
    if (s->n_rows && s->n_cols != n_cols) return FM_FALSE;
    if (q && q->n_sort && s->n_rows > 1 && !in_order(x, q, s)) return FM_FALSE;
    seen_rows *g;
    uint32_t m = distinct_cells(x, s, &g);
    assert(m <= s->n_rows);
    one_face(x, types, g, m, n_cols);
    if ((uint64_t)m * n > MOST_PAIRS) sx_refuse(x, "an answer of this size");
    fm *is = arena_array(&x->work, fm, n + 1), *any = arena_array(&x->work, fm, n + 1);
    for (size_t i = 0; i < n; i++) any[i] = FM_FALSE;
    for (uint32_t k = 0; k < m && good != FM_FALSE; k++) {
        for (size_t i = 0; i < n; i++) {
            guard_tick(x->p.g);
            fm eq = row_is(x, types, n_cols, x->out.at[i].cols, g[k].cells);
            is[i] = fm_and2(&x->p, when[i], eq);
            any[i] = fm_or2(&x->p, any[i], eq);
        }
        good = fm_and2(&x->p, good, fm_exactly(&x->p, is, n, g[k].times));
    }
    for (size_t i = 0; i < n && good != FM_FALSE; i++)
        good = fm_and2(&x->p, good, fm_or2(&x->p, fm_not(when[i]), any[i]));
    return good;
}
