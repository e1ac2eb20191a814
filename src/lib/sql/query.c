/*
 * query.c - SELECT: joins by nested loops over index lookups, grouping, sorting.
 *
 * The index only leaves out rows that an equality of the condition excludes; the whole condition
 * is tested on what is left, so an answer never rests on the index alone.
 */
#include <assert.h>
#include <math.h>

#include "base/hash.h"
#include "sql/builtin.h"
#include "sql/pl.h"
#include "sql/interval.h"
#include "sql/jsonb.h"
#include "sql/sql_array.h"
#include "sql/sql_float.h"
#include "sql/window_frame.h"

void exec_init(sql_exec *x, store *s, mem *m)
{
    memset(x, 0, sizeof *x);
    x->s = s;
    arena_init(&x->work, m);
    arena_init(&x->held, m);
    x->c.guard = m->guard;
    x->c.work = &x->work;
    x->c.enums = &s->enums;
    x->session = UINT32_MAX; /* of no transaction: the setup */
}

void exec_begin(sql_exec *x)
{
    assert(!x->s->undo.n && "the transaction before was committed or taken back");
    x->savepoints.n = 0;
    x->locked.n = 0;
    x->twins = false;
    x->write_born = 0;
    x->bound = false;
    x->clock.reading = 0;
    x->clock.trying = x->clock.aged = false;
    x->portals.n = 0;
    x->modes.n = x->late.n = 0;
    vs_unprepare(x->s, PENDING);
    arena_reset(&x->held);
    x->regs.cid = x->last_cid = 0;
    x->regs.many = x->regs.calls = x->regs.caught = x->regs.moments = 0;
    x->regs.pl = NULL;
    x->c.place.routine = NULL;
}

/* Do two versions differ in nothing but columns that the query does not read? */
static bool look_alike(const table *t, uint64_t unread, const row_version *a, const row_version *b)
{
    if (a->dead || b->dead || a->commit == PENDING || b->commit == PENDING) return false;
    for (uint32_t c = 0; c < t->n_cols; c++) {
        if (c < 64 && unread >> c & 1) continue;
        if (a->cols[c].open || b->cols[c].open) return false;
        if (!value_identical(t->cols[c].t.id, a->cols[c], b->cols[c])) return false;
    }
    return true;
}

const row_version *exec_row(sql_exec *x, table *t, uint32_t r, uint64_t unread)
{
    assert(r < t->rows.n && x->state <= x->latest);
    const row_version *v = t->rows.at[r].head;
    if (v && v->commit == PENDING && v->cid < x->regs.cid) return v;
    uint32_t state = x->choose ? x->choose(x->ud, t, r) : x->state;
    v = vs_at(t, r, state, x->regs.cid);
    if (!v || v->commit == PENDING) return v;
    uint32_t from = x->any_version ? t->rows.at[r].born : v->commit;
    bool alike = unread && !x->any_version && !x->choose;
    for (const row_version *old = v->older; alike && from > x->valid_from && old;
         old = old->older) {
        if (!look_alike(t, unread, v, old)) break;
        from = old->commit;
    }
    if (from > x->valid_from) x->valid_from = from;
    /* where the newest version counts, an older newest state may have shown another one */
    if (x->any_version && v->commit > x->latest_from) x->latest_from = v->commit;
    return v;
}

/* ---- joins ----------------------------------------------------------------------------------- */

typedef struct scan {
    sql_exec *x;
    uint32_t slots;
    frame *up;
    bool rows; /* keep row numbers of slot 0 */
} scan;

static const value **copy_tuple(sql_exec *x, const value **t, uint32_t slots)
{
    const value **c = arena_array(&x->work, const value *, slots ? slots : 1);
    if (slots) memcpy(c, t, slots * sizeof *c);
    return c;
}

static bool fits(scan *s, const join *j, const value **in, const value *cols)
{
    assert(j->kind == J_REL && j->slot < s->slots && cols);
    const value *before = in[j->slot];
    in[j->slot] = cols;
    frame f = {in, s->up, NULL};
    uint32_t i = 0;
    while (i < j->n_filters && eval_true(s->x, j->filters[i], &f)) i++;
    in[j->slot] = before;
    return i == j->n_filters;
}

static bool add_row(scan *s, const join *j, const value **in, const value *cols, uint32_t r,
                    tuples *out)
{
    sql_exec *x = s->x;
    const value *before = in[j->slot];
    if (!fits(s, j, in, cols)) return false;
    in[j->slot] = cols;
    arena_push(&x->work, &out->at, copy_tuple(x, in, s->slots));
    in[j->slot] = before;
    if (s->rows) arena_push(&x->work, &out->rows, r);
    return true;
}

static uint64_t unread_columns(const sql_exec *x, const join *j)
{
    return x->all_columns ? 0 : j->unread;
}

/* Which versions decide what was seen of the row: the first of those that look like the one that
   was used, and the next one that does not; of one that is left out, those that would not be.
   Only the version before is asked whether it would: who wants to know can do with less. */
static void report_versions(scan *s, const join *j, const value **in, uint32_t r,
                            const row_version *v, bool used)
{
    sql_exec *x = s->x;
    const table *t = j->table;
    uint32_t after = 0, before = 0;
    uint64_t unread = unread_columns(x, j);
    assert(x->saw && !x->choose); /* at a snapshot every row comes from one state */
    if (v && v->commit == PENDING) return;
    const row_version *old = v && !used ? v->older : NULL;
    if (v && (used || (old && !old->dead && fits(s, j, in, old->cols)))) after = v->commit;
    for (const row_version *n = t->rows.at[r].head; n && n != v; n = n->older)
        if (n->commit != PENDING &&
            (used ? !look_alike(t, unread, n, v) : !n->dead && fits(s, j, in, n->cols)))
            before = n->commit;
    for (old = used ? v->older : NULL; old && look_alike(t, unread, old, v); old = old->older)
        after = old->commit;
    x->saw(x->saw_ud, j->table, r, after, before, used, unread);
}

/* Where rows come from states of their own, one that is left out at every state is no choice. */
static bool never_fits(scan *s, const join *j, const value **in, uint32_t r)
{
    assert(j->table && r < j->table->rows.n);
    const row_version *v = j->table->rows.at[r].head;
    if (!v || (!v->older && !v->commit) || v->commit == PENDING) return false;
    for (; v; v = v->older)
        if (v->commit != PENDING && !v->dead && fits(s, j, in, v->cols)) return false;
    return true;
}

static void try_row(scan *s, const join *j, const value **in, uint32_t r, tuples *out)
{
    guard_tick(s->x->c.guard);
    if (s->x->choose && j->n_filters && never_fits(s, j, in, r)) return;
    const row_version *v = exec_row(s->x, j->table, r, unread_columns(s->x, j));
    bool used = v && !v->dead && add_row(s, j, in, v->cols, r, out);
    if (s->x->saw) report_versions(s, j, in, r, v, used);
}

/* Rows that a lookup would list; their hashes, without those of null keys, which find nothing. */
static uint32_t lookup_size(scan *s, const join *j, const lookup *l, frame *f, uint64_t *hash,
                            uint32_t *n, uint32_t most)
{
    uint32_t size = 0;
    *n = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        value v = eval(s->x, l->keys[i], f);
        if (v.null) continue;
        hash[*n] = value_hash(l->keys[i]->t.id, v);
        size += vs_lookup_size(s->x->s, j->table, l->column, hash[(*n)++], most);
    }
    return size;
}

/* Lists the rows of the lookup with the fewest; false if there is none. */
static bool best_lookup(scan *s, const join *j, const value **in, uint32_t **rows, size_t *n)
{
    sql_exec *x = s->x;
    frame f = {in, s->up, NULL};
    uint32_t best = UINT32_MAX, column = 0, keys = 0;
    uint64_t *hash = NULL;
    uint32_t few = j->n_lookups > 1 ? FEW : 1; /* nothing to choose between: do not count */
    for (int whole = 0; whole < (j->n_lookups > 1 ? 2 : 1) && best >= few; whole++) {
        best = UINT32_MAX;
        for (uint32_t i = 0; i < j->n_lookups && best; i++) {
            const lookup *l = &j->lookups[i];
            if (j->table->cols[l->column].holes) continue;
            uint64_t *h = arena_array(&x->work, uint64_t, l->n + 1);
            uint32_t k, size = lookup_size(s, j, l, &f, h, &k, whole ? UINT32_MAX : few);
            if (size < best) best = size, column = l->column, hash = h, keys = k;
        }
    }
    if (best == UINT32_MAX) return false;
    assert(hash && column < j->table->n_cols);
    VEC(uint32_t) found = {0}; /* a copy: choosing states may look up again */
    for (uint32_t i = 0; i < keys; i++) {
        vs_lookup(x->s, j->table, column, hash[i], i > 0);
        for (size_t k = 0; k < x->s->found.n; k++) arena_push(&x->work, &found, x->s->found.at[k]);
    }
    *rows = found.at;
    *n = found.n;
    return true;
}

static void extend_table(scan *s, const join *j, const value **in, tuples *out)
{
    assert(j->kind == J_REL && j->table && !j->sub);
    sql_exec *x = s->x;
    table *t = j->table;
    uint32_t *found;
    size_t n;
    if (t->truncated && x->state != x->latest)
        sql_refuse(&x->c, -1, "an older state of table \"%s\", which was truncated", t->name);
    if (t->unknown)
        sql_refuse(&x->c, -1, "table \"%s\", whose initial contents are unknown", t->name);
    if (j->n_lookups && !x->no_index && best_lookup(s, j, in, &found, &n)) {
        for (size_t i = 0; i < n; i++) try_row(s, j, in, found[i], out);
        return;
    }
    uint32_t changed = vs_changed(t, x->state);
    if (changed > x->valid_from) x->valid_from = changed;
    for (uint32_t r = 0; r < t->rows.n; r++)
        if (t->rows.at[r].head) try_row(s, j, in, r, out);
}

static void extend(scan *s, const join *j, const value **in, tuples *out);

static void filtered(scan *s, tuples *from, const expr *on, tuples *out)
{
    assert(!s->rows || from->rows.n == from->at.n);
    sql_exec *x = s->x;
    for (size_t i = 0; i < from->at.n; i++) {
        frame f = {from->at.at[i], s->up, NULL};
        guard_tick(x->c.guard);
        if (on && !eval_true(x, on, &f)) continue;
        arena_push(&x->work, &out->at, from->at.at[i]);
        if (s->rows) arena_push(&x->work, &out->rows, from->rows.at[i]);
    }
}

static void extend_join(scan *s, const join *j, const value **in, tuples *out)
{
    assert(j->kind == J_INNER || j->kind == J_LEFT);
    tuples left = {0};
    extend(s, j->left, in, &left);
    for (size_t i = 0; i < left.at.n; i++) {
        tuples right = {0};
        size_t before = out->at.n;
        bool rows = s->rows;
        s->rows = false;
        extend(s, j->right, left.at.at[i], &right);
        filtered(s, &right, j->on, out);
        if (j->kind == J_LEFT && out->at.n == before)
            arena_push(&s->x->work, &out->at, left.at.at[i]);
        s->rows = rows;
    }
}

static void take_side(const value **to, const value *const *from, const join *j)
{
    if (j->kind != J_REL) {
        take_side(to, from, j->left);
        take_side(to, from, j->right);
        return;
    }
    to[j->slot] = from[j->slot];
}

/* Both sides come whole, neither depends on the other. */
static void extend_full(scan *s, const join *j, const value **in, tuples *out)
{
    sql_exec *x = s->x;
    tuples left = {0}, right = {0};
    extend(s, j->left, in, &left);
    extend(s, j->right, in, &right);
    bool *met = arena_array(&x->work, bool, right.at.n + 1);
    memset(met, 0, right.at.n);
    for (size_t i = 0; i < left.at.n; i++) {
        bool any = false;
        for (size_t k = 0; k < right.at.n; k++) {
            guard_tick(x->c.guard);
            const value **both = copy_tuple(x, left.at.at[i], s->slots);
            take_side(both, right.at.at[k], j->right);
            frame f = {both, s->up, NULL};
            if (j->on && !eval_true(x, j->on, &f)) continue;
            any = met[k] = true;
            arena_push(&x->work, &out->at, both);
        }
        if (!any) arena_push(&x->work, &out->at, left.at.at[i]);
    }
    for (size_t k = 0; k < right.at.n; k++)
        if (!met[k]) arena_push(&x->work, &out->at, right.at.at[k]);
}

static void extend(scan *s, const join *j, const value **in, tuples *out)
{
    if (j->kind == J_FULL) {
        bool rows = s->rows;
        s->rows = false;
        extend_full(s, j, in, out);
        s->rows = rows;
        return;
    }
    if (j->kind != J_REL) {
        extend_join(s, j, in, out);
        return;
    }
    if (j->table) {
        extend_table(s, j, in, out);
        return;
    }
    sql_result r;
    frame left = {in, s->up, NULL};
    exec_query(s->x, j->sub, j->lateral ? &left : s->up, &r);
    exec_cut(s->x, j->sub, &r);
    for (uint32_t i = 0; i < r.n; i++) add_row(s, j, in, r.rows[i], r.turn ? r.turn[i] : 0, out);
}

void exec_join(sql_exec *x, const join *j, uint32_t slots, frame *up, tuples *out)
{
    scan s = {x, slots, up, j && j->kind == J_REL};
    assert(!out->at.n && !out->rows.n);
    const value **none = arena_array(&x->work, const value *, slots ? slots : 1);
    for (uint32_t i = 0; i < slots; i++) none[i] = NULL;
    if (j)
        extend(&s, j, none, out);
    else
        arena_push(&x->work, &out->at, none);
}

void exec_matches(sql_exec *x, const join *j, uint32_t slots, const value **left, tuples *out)
{
    assert(j->right->kind == J_REL && j->right->table && !out->at.n);
    scan s = {x, slots, NULL, true};
    tuples all = {0};
    extend(&s, j->right, left, &all);
    filtered(&s, &all, j->on, out);
}

/* ---- grouping -------------------------------------------------------------------------------- */

/* Values of a DISTINCT aggregate, or rows.  Not an id_index: an error of SQL jumps out of a
   statement, and only what lies in the arena is forgotten then. */
typedef struct seen_set {
    VEC(const value *) rows;
    uint32_t *slot;
    uint32_t cap;
} seen_set;

typedef struct agg_item { /* of string_agg */
    value v, between;
    const value *keys;
    uint32_t turn; /* rows of one number may come in any order */
} agg_item;

typedef struct agg_state {
    VEC(agg_item) items;
    int64_t n;
    value best;
    int64_t sum;
    const num *big, *squares;
    seen_set seen;
    float_sum floats;
    uint32_t turn; /* of the row that is being fed */
} agg_state;

typedef struct group {
    const value *keys;
    const value **tuple;
    agg_state *aggs;
    uint64_t set; /* of grouping sets: the keys that it has */
} group;

/* Two numerics that are equal but print differently: which one is shown depends on the plan. */
static void same_face(sql_exec *x, type_id t, value a, value b)
{
    if (!value_identical(t, a, b))
        sql_refuse(&x->c, -1, "equal numbers of different scales in one group");
}

static uint64_t row_hash(const type_id *types, const value *row, uint32_t n)
{
    uint64_t h = n;
    for (uint32_t i = 0; i < n; i++) h = hash_pair(h, value_hash(types[i], row[i]));
    return h;
}

/* The number of an equal row of the set, or the set's size after adding it. */
static uint32_t seen_add(sql_exec *x, seen_set *s, const type_id *types, const value *row,
                         uint32_t n, bool *fresh)
{
    if (s->rows.n * 2 >= s->cap) {
        uint32_t cap = s->cap ? s->cap * 2 : 16;
        s->slot = arena_array(&x->work, uint32_t, cap);
        memset(s->slot, 0xff, cap * sizeof *s->slot);
        s->cap = cap;
        for (uint32_t i = 0; i < s->rows.n; i++) {
            uint64_t at = row_hash(types, s->rows.at[i], n) & (cap - 1);
            while (s->slot[at] != UINT32_MAX) at = (at + 1) & (cap - 1);
            s->slot[at] = i;
        }
    }
    uint64_t at = row_hash(types, row, n) & (s->cap - 1);
    for (; s->slot[at] != UINT32_MAX; at = (at + 1) & (s->cap - 1)) {
        const value *other = s->rows.at[s->slot[at]];
        uint32_t i = 0;
        while (i < n && value_same(types[i], row[i], other[i])) i++;
        if (i < n) continue;
        for (i = 0; i < n; i++) same_face(x, types[i], row[i], other[i]);
        *fresh = false;
        return s->slot[at];
    }
    *fresh = true;
    s->slot[at] = (uint32_t)s->rows.n;
    arena_push(&x->work, &s->rows, row);
    return s->slot[at];
}

static const value *agg_keys(sql_exec *x, const aggregate *a, frame *f)
{
    assert(!a->n_order || a->order);
    value *keys = arena_array(&x->work, value, a->n_order + 1);
    for (uint32_t i = 0; i < a->n_order; i++) keys[i] = eval(x, a->order[i].e, f);
    return keys;
}

/* Sorted by merging, as rows are. */
static void sort_items(sql_exec *x, const aggregate *a, agg_state *s)
{
    size_t n = s->items.n;
    agg_item *v = s->items.at, *w = arena_array(&x->work, agg_item, n + 1);
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t i = 0; i < n; i += 2 * width) {
            size_t mid = i + width < n ? i + width : n, end = mid + width < n ? mid + width : n;
            guard_tick(x->c.guard);
            for (size_t k = i, l = i, r = mid; k < end; k++) {
                bool left = l < mid && (r >= end || order_cmp(a, v[l].keys, v[r].keys) <= 0);
                w[k] = left ? v[l++] : v[r++];
            }
        }
        memcpy(v, w, n * sizeof *v);
    }
}

/* The two may come in any order: neither ORDER BY of the aggregate nor that of the subquery whose
   rows these are says which one is first. */
static bool tied(const aggregate *a, const agg_item *l, const agg_item *r)
{
    return !order_cmp(a, l->keys, r->keys) && (a->n_order || l->turn == r->turn);
}

/* array_agg, json_agg. */
static value collected(sql_exec *x, const aggregate *a, agg_state *s)
{
    type_id t = a->arg->t.id;
    size_t n = s->items.n;
    sort_items(x, a, s);
    value *v = arena_array(&x->work, value, n + 1);
    for (size_t i = 0; i < n; i++) {
        const agg_item *at = &s->items.at[i];
        if (i && tied(a, &at[-1], at) && !value_identical(t, at[-1].v, at->v))
            sql_refuse(&x->c, -1, "an aggregate of rows that may come in any order");
        v[i] = at->v;
    }
    if (a->kind == AGG_ARRAY_AGG) return array_make(&x->work, type_element(a->t.id), v, n);
    bool lines = type_is_array(t) || (a->arg->kind == E_BUILTIN && a->arg->builtin == &row_object);
    return json_of_items(x, a->t.id, t, v, n, lines);
}

/* json_object_agg, jsonb_object_agg.  Of equal keys jsonb keeps the last. */
static value collected_members(sql_exec *x, const aggregate *a, agg_state *s)
{
    size_t n = s->items.n;
    type_id kt = a->arg->t.id, vt = a->between->t.id;
    sort_items(x, a, s);
    value *keys = arena_array(&x->work, value, n + 1), *v = arena_array(&x->work, value, n + 1);
    for (size_t i = 0; i < n; i++) {
        const agg_item *at = &s->items.at[i];
        bool tie = i && tied(a, &at[-1], at);
        bool same = tie && value_identical(kt, at[-1].v, at->v) &&
                    value_identical(vt, at[-1].between, at->between);
        if (tie && !same && a->kind == AGG_JSON_OBJECT_AGG)
            sql_refuse(&x->c, -1, "an aggregate of rows that may come in any order");
        keys[i] = at->v;
        v[i] = at->between;
    }
    bool ordered = a->n_order || (n && s->items.at[n - 1].turn != s->items.at[0].turn);
    return json_of_members(x, a->t.id, kt, keys, vt, v, n, ordered);
}

/* The order of the rows decides how a sum of floats is rounded. */
static value summed_floats(sql_exec *x, const aggregate *a, const agg_state *s)
{
    if (!float_sum_exact(&s->floats))
        sql_refuse(&x->c, -1, "a sum of floats that depends on the order of the rows");
    double sum = s->floats.sum;
    if (!s->floats.special) float_checked(&x->c, T_FLOAT8, sum, false, true);
    if (a->kind == AGG_AVG) return value_float(sum / (double)s->floats.n);
    return value_float(float_checked(&x->c, a->t.id, sum, s->floats.special, true));
}

/* Which of two items that tie comes first must not matter. */
static value joined_text(sql_exec *x, const aggregate *a, agg_state *s)
{
    size_t n = s->items.n;
    agg_item *v = s->items.at;
    sort_items(x, a, s);
    strbuf b;
    strbuf_init(&b, x->work.mem);
    for (size_t i = 0; i < n; i++) {
        bool tie = i && tied(a, &v[i - 1], &v[i]);
        if (tie && !(value_same(T_TEXT, v[i - 1].v, v[i].v) &&
                     value_same(T_TEXT, v[i - 1].between, v[i].between))) {
            strbuf_free(&b);
            sql_refuse(&x->c, -1, "string_agg of rows that may come in any order");
        }
        if (i && !v[i].between.null) strbuf_add(&b, v[i].between.s, v[i].between.n);
        strbuf_add(&b, v[i].v.s, v[i].v.n);
    }
    value r = value_text(arena_text(&x->work, b.at, b.n), b.n);
    strbuf_free(&b);
    return r;
}

static void add_to_sum(sql_exec *x, type_id t, agg_state *s, value v)
{
    assert(!v.null && s->n > 0);
    if (t == T_INTERVAL) {
        interval before = s->n == 1 ? (interval){0, 0, 0} : interval_of(s->best);
        s->best = interval_value(&x->work, interval_add(&x->c, before, interval_of(v), 1));
    } else if (type_is_float(t)) {
        float_sum_add(&s->floats, value_double(v));
    } else if (t == T_INT2 || t == T_INT4) {
        if (__builtin_add_overflow(s->sum, v.i, &s->sum))
            sql_raise(&x->c, "22003", "bigint out of range");
    } else {
        const num *d = t == T_NUMERIC ? v.d : num_of(&x->work, v.i);
        s->big = s->big ? value_need(&x->c, num_add(&x->work, s->big, d)) : d;
    }
}

static bool takes_nulls(agg_kind k)
{
    return k >= AGG_ARRAY_AGG && k <= AGG_JSONB_OBJECT_AGG;
}

/* Of variances. */
static void add_square(sql_exec *x, agg_state *s, const num *d)
{
    const num *square = value_need(&x->c, num_mul(&x->work, d, d));
    s->big = s->big ? value_need(&x->c, num_add(&x->work, s->big, d)) : d;
    s->squares = s->squares ? value_need(&x->c, num_add(&x->work, s->squares, square)) : square;
}

static void add_bits(const aggregate *a, agg_state *s, value v)
{
    if (s->n > 1) v.i = a->kind == AGG_BIT_AND ? v.i & s->best.i : v.i | s->best.i;
    s->best = v;
}

static void keep_extreme(sql_exec *x, const aggregate *a, agg_state *s, value v)
{
    type_id t = a->arg->t.id;
    int c = s->n == 1 ? 0 : value_cmp(t, v, s->best);
    if (s->n > 1 && !c) same_face(x, t, v, s->best);
    if (s->n == 1 || (a->kind == AGG_MIN ? c < 0 : c > 0)) s->best = v;
}

static bool is_ordered_set(agg_kind k)
{
    return k >= AGG_PERCENTILE_CONT && k <= AGG_MODE;
}

/* percentile_cont, percentile_disc, mode: all but nulls, sorted. */
static value of_ordered_set(sql_exec *x, const aggregate *a, agg_state *s)
{
    size_t n = s->items.n, best = 0, most = 0;
    type_id t = a->arg->t.id;
    double part = 0;
    if (a->between) {
        value v = eval(x, a->between, NULL);
        if (v.null) return v;
        part = value_double(v);
        if (!(part >= 0 && part <= 1)) sql_raise(&x->c, "22003", "percentile value out of range");
    }
    if (!n) return value_null();
    sort_items(x, a, s);
    const agg_item *at = s->items.at;
    for (size_t i = 0, from = 0; i < n; i++) {
        bool same = i && !value_cmp(t, at[i - 1].v, at[i].v);
        if (same && !value_identical(t, at[i - 1].v, at[i].v))
            sql_refuse(&x->c, -1, "an aggregate of values that are equal but look different");
        if (!same) from = i;
        if (i - from + 1 > most) most = i - from + 1, best = from;
    }
    if (a->kind == AGG_MODE) return at[best].v;
    if (a->kind == AGG_PERCENTILE_DISC) {
        double row = ceil(part * (double)n);
        return at[row < 1 ? 0 : (size_t)row - 1].v;
    }
    double place = part * (double)(n - 1), first = floor(place), second = ceil(place);
    double low = value_double(at[(size_t)first].v);
    if (first == second) return value_float(low);
    double high = value_double(at[(size_t)second].v);
    return value_float(low + (place - first) * (high - low));
}

static void agg_feed(sql_exec *x, const aggregate *a, agg_state *s, frame *f)
{
    if (a->filter && !eval_true(x, a->filter, f)) return;
    if (!a->arg) {
        s->n++;
        return;
    }
    type_id t = a->arg->t.id;
    value v = eval(x, a->arg, f);
    if (v.null && !takes_nulls(a->kind)) return;
    if (a->distinct) {
        assert(a->kind < AGG_ROW_NUMBER); /* a rank has no argument to be distinct */
        value *copy = arena_get(&x->work, sizeof *copy);
        *copy = v;
        bool fresh;
        seen_add(x, &s->seen, &t, copy, 1, &fresh);
        if (!fresh) return;
    }
    s->n++;
    if (a->kind >= AGG_VAR_SAMP && a->kind <= AGG_STDDEV_POP) {
        add_square(x, s, t == T_NUMERIC ? v.d : num_of(&x->work, v.i));
        return;
    }
    if (a->kind == AGG_STRING_AGG || takes_nulls(a->kind) || is_ordered_set(a->kind)) {
        bool pairs = a->between && !is_ordered_set(a->kind);
        agg_item one = {v, pairs ? eval(x, a->between, f) : value_null(), agg_keys(x, a, f),
                        s->turn};
        arena_push(&x->work, &s->items, one);
        return;
    }
    switch (a->kind) {
    default: break; /* count */
    case AGG_BOOL_AND:
    case AGG_EVERY: s->best = value_bool(s->n == 1 ? v.i : v.i && s->best.i); break;
    case AGG_BOOL_OR: s->best = value_bool(s->n == 1 ? v.i : v.i || s->best.i); break;
    case AGG_BIT_AND:
    case AGG_BIT_OR: add_bits(a, s, v); break;
    case AGG_MIN:
    case AGG_MAX: keep_extreme(x, a, s, v); break;
    case AGG_SUM:
    case AGG_AVG: add_to_sum(x, t, s, v);
    }
}

static value agg_end(sql_exec *x, const aggregate *a, agg_state *s)
{
    assert(a->kind < AGG_ROW_NUMBER && s->n >= 0);
    if (a->kind == AGG_COUNT) return value_int(s->n);
    if (is_ordered_set(a->kind)) return of_ordered_set(x, a, s);
    if (!s->n) return value_null();
    if (a->kind == AGG_STRING_AGG) return joined_text(x, a, s);
    if (a->kind >= AGG_ARRAY_AGG && a->kind <= AGG_JSONB_AGG) return collected(x, a, s);
    if (a->kind == AGG_JSON_OBJECT_AGG || a->kind == AGG_JSONB_OBJECT_AGG)
        return collected_members(x, a, s);
    if (a->kind >= AGG_VAR_SAMP && a->kind <= AGG_STDDEV_POP) {
        bool whole = a->kind == AGG_VAR_POP || a->kind == AGG_STDDEV_POP;
        return num_spread(x, s->n, s->big, s->squares, whole, a->kind >= AGG_STDDEV_SAMP);
    }
    if (s->floats.n && (a->kind == AGG_SUM || a->kind == AGG_AVG)) return summed_floats(x, a, s);
    if (a->arg && a->arg->t.id == T_INTERVAL && a->kind == AGG_AVG)
        return interval_value(&x->work,
                              interval_divided(&x->c, interval_of(s->best), (double)s->n));
    if (a->kind != AGG_SUM && a->kind != AGG_AVG) return s->best;
    if (a->arg && a->arg->t.id == T_INTERVAL) return s->best;
    if (a->kind == AGG_SUM && !s->big) return value_int(s->sum);
    const num *sum = s->big ? s->big : num_of(&x->work, s->sum);
    if (a->kind == AGG_SUM) return value_num(sum);
    return value_num(value_need(&x->c, num_div(&x->work, sum, num_of(&x->work, s->n))));
}

typedef VEC(group) group_list;

static void feed_group(sql_exec *x, const query *q, group *g, frame *f, uint32_t turn)
{
    for (uint32_t i = 0; i < q->n_aggs; i++) {
        g->aggs[i].turn = turn;
        agg_feed(x, &q->aggs[i], &g->aggs[i], f);
    }
}

/* The rows are those of one subquery, whose order PostgreSQL keeps: it takes no subquery with
   ORDER BY apart, and what follows neither joins nor sorts. */
static bool keeps_order(const query *q)
{
    bool one = q->from && q->from->kind == J_REL && q->from->sub && !q->n_keys && !q->n_sets &&
               !q->spread && !q->n_windows && !q->locking;
    for (uint32_t i = 0; one && i < q->n_aggs; i++)
        one = !q->aggs[i].n_order && !q->aggs[i].distinct;
    return one;
}

static void add_group(sql_exec *x, const query *q, const value *keys, const value **tuple,
                      uint64_t set, group_list *out)
{
    agg_state *aggs = arena_array(&x->work, agg_state, q->n_aggs + 1);
    memset(aggs, 0, (q->n_aggs + 1) * sizeof *aggs);
    arena_push(&x->work, out, ((group){keys, tuple, aggs, set}));
}

/* The groups of one grouping set, or of all keys. */
static void make_groups(sql_exec *x, const query *q, frame *up, tuples *in, uint64_t set,
                        group_list *out)
{
    assert(q->grouped);
    seen_set seen = {0};
    size_t first = out->n;
    uint64_t all = q->n_keys < 64 ? ((uint64_t)1 << q->n_keys) - 1 : UINT64_MAX;
    bool whole = !q->n_sets || (set & all) == all;
    bool turns = keeps_order(q) && in->rows.n;
    assert(!turns || in->rows.n == in->at.n);
    type_id *types = arena_array(&x->work, type_id, q->n_keys + 1);
    for (uint32_t i = 0; i < q->n_keys; i++) types[i] = q->keys[i]->t.id;
    for (size_t i = 0; i < in->at.n; i++) {
        guard_tick(x->c.guard);
        frame f = {in->at.at[i], up, NULL};
        value *keys = arena_array(&x->work, value, q->n_keys + 1);
        for (uint32_t k = 0; k < q->n_keys; k++)
            keys[k] = whole || set >> k & 1 ? eval(x, q->keys[k], &f) : value_null();
        bool fresh;
        uint32_t at = seen_add(x, &seen, types, keys, q->n_keys, &fresh);
        assert(first + at <= out->n && fresh == (first + at == out->n)); /* numbered as they come */
        if (fresh) add_group(x, q, keys, in->at.at[i], set, out);
        feed_group(x, q, &out->at[first + at], &f, turns ? in->rows.at[i] : 0);
    }
    if (out->n == first && (q->n_sets ? !set : !q->n_keys)) { /* over nothing: one row */
        const value **none = arena_array(&x->work, const value *, q->slots + 1);
        for (uint32_t i = 0; i <= q->slots; i++) none[i] = NULL;
        value *keys = arena_array(&x->work, value, q->n_keys + 1);
        for (uint32_t k = 0; k < q->n_keys; k++) keys[k] = value_null();
        add_group(x, q, keys, none, set, out);
    }
}

/* The aggregates of a group, then, with grouping sets, its keys and what GROUPING says of them. */
static void group_values(sql_exec *x, const query *q, group *g, value *out)
{
    assert(!q->n_sets || g->keys);
    for (uint32_t k = 0; k < q->n_aggs; k++) out[k] = agg_end(x, &q->aggs[k], &g->aggs[k]);
    if (!q->n_sets) return;
    for (uint32_t k = 0; k < q->n_keys; k++) out[q->n_aggs + k] = g->keys[k];
    for (uint32_t i = 0; i < q->n_groupings; i++) {
        const uint32_t *keys = q->groupings[i];
        int64_t bits = 0;
        for (uint32_t k = 0; k < keys[0]; k++) bits = bits << 1 | !(g->set >> keys[k + 1] & 1);
        out[q->n_aggs + q->n_keys + i] = value_int(bits);
    }
}

/* ---- output ---------------------------------------------------------------------------------- */

typedef struct out_row {
    const value *row, *keys, *on;
    uint32_t conflict; /* of a query that locks: the state that changed the row; 0: none */
} out_row;
typedef VEC(out_row) out_list;

static void emit(sql_exec *x, const query *q, frame *f, out_list *out)
{
    value *row = arena_array(&x->work, value, q->n_out + 1);
    for (uint32_t i = 0; i < q->n_out; i++) row[i] = eval_open(x, q->out[i].e, f);
    value *keys = arena_array(&x->work, value, q->n_sort + 1);
    for (uint32_t i = 0; i < q->n_sort; i++)
        keys[i] = eval(x, q->sort[i].e ? q->sort[i].e : q->out[q->sort[i].column].e, f);
    value *on = arena_array(&x->work, value, q->n_on + 1);
    for (uint32_t i = 0; i < q->n_on; i++) on[i] = eval(x, q->on[i], f);
    arena_push(&x->work, out, ((out_row){row, keys, on, 0}));
}

static type_id key_type(const query *q, uint32_t i)
{
    assert(i < q->n_sort && (q->sort[i].e || q->sort[i].column < q->n_out));
    return q->sort[i].e ? q->sort[i].e->t.id : q->out[q->sort[i].column].e->t.id;
}

static int cmp_keys(const query *q, const value *a, const value *b)
{
    for (uint32_t i = 0; i < q->n_sort; i++) {
        const order_key *k = &q->sort[i];
        int c;
        if (a[i].null || b[i].null) {
            if (a[i].null == b[i].null) continue;
            return a[i].null == k->nulls_first ? -1 : 1;
        }
        c = value_cmp(key_type(q, i), a[i], b[i]);
        if (c) return (c < 0) != k->desc ? -1 : 1;
    }
    return 0;
}

static void sort_rows(sql_exec *x, const query *q, out_row *a, size_t n)
{
    out_row *b = arena_array(&x->work, out_row, n + 1);
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t i = 0; i < n; i += 2 * width) {
            size_t mid = i + width < n ? i + width : n, end = mid + width < n ? mid + width : n;
            size_t l = i, r = mid;
            guard_tick(x->c.guard);
            for (size_t k = i; k < end; k++) {
                bool left = l < mid && (r >= end || cmp_keys(q, a[l].keys, a[r].keys) <= 0);
                b[k] = left ? a[l++] : a[r++];
            }
        }
        memcpy(a, b, n * sizeof *a);
    }
    assert(n < 2 || cmp_keys(q, a[0].keys, a[n - 1].keys) <= 0);
}

static uint64_t bound(sql_exec *x, const expr *e, frame *up, const char *state, const char *what,
                      bool *given)
{
    *given = false;
    if (!e) return 0;
    frame f = {NULL, up, NULL};
    value v = eval(x, e, &f);
    if (v.null) return 0;
    if (v.i < 0) sql_raise(&x->c, state, "%s must not be negative", what);
    *given = true;
    return (uint64_t)v.i;
}

static void distinct_rows(sql_exec *x, const query *q, out_list *rows)
{
    type_id *types = arena_array(&x->work, type_id, q->n_out + 1);
    for (uint32_t i = 0; i < q->n_out; i++) types[i] = q->out[i].e->t.id;
    seen_set seen = {0};
    size_t n = 0;
    for (size_t i = 0; i < rows->n; i++) {
        bool fresh;
        for (uint32_t c = 0; c < q->n_out; c++)
            if (rows->at[i].row[c].open)
                sql_refuse(&x->c, q->position, "DISTINCT of values that were not observed");
        seen_add(x, &seen, types, rows->at[i].row, q->n_out, &fresh);
        if (fresh) rows->at[n++] = rows->at[i];
    }
    rows->n = n;
}

/* DISTINCT ON: the first row of each group, if it is clear which one that is. */
static void first_rows(sql_exec *x, const query *q, out_list *rows)
{
    type_id *types = arena_array(&x->work, type_id, q->n_on + 1);
    for (uint32_t i = 0; i < q->n_on; i++) types[i] = q->on[i]->t.id;
    seen_set seen = {0};
    size_t n = 0;
    assert(q->n_on);
    for (size_t i = 0; i < rows->n; i++) {
        bool fresh;
        uint32_t at = seen_add(x, &seen, types, rows->at[i].on, q->n_on, &fresh);
        assert(at <= n && fresh == (at == n));
        if (fresh) {
            rows->at[n++] = rows->at[i];
            continue;
        }
        if (cmp_keys(q, rows->at[at].keys, rows->at[i].keys)) continue;
        for (uint32_t c = 0; c < q->n_out; c++)
            if (!value_identical(q->out[c].e->t.id, rows->at[at].row[c], rows->at[i].row[c]))
                sql_refuse(&x->c, q->position, "DISTINCT ON of rows that may come in any order");
    }
    rows->n = n;
}

/* ---- windows --------------------------------------------------------------------------------- */

static bool before(const aggregate *a, const windowed *l, const windowed *r)
{
    if (l->part != r->part) return l->part < r->part;
    return order_cmp(a, l->keys, r->keys) <= 0;
}

static void sort_windowed(sql_exec *x, const aggregate *a, windowed *v, size_t n)
{
    windowed *w = arena_array(&x->work, windowed, n + 1);
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t i = 0; i < n; i += 2 * width) {
            size_t mid = i + width < n ? i + width : n, end = mid + width < n ? mid + width : n;
            guard_tick(x->c.guard);
            for (size_t k = i, l = i, r = mid; k < end; k++)
                w[k] = l < mid && (r >= end || before(a, &v[l], &v[r])) ? v[l++] : v[r++];
        }
        memcpy(v, w, n * sizeof *v);
    }
}

/* Does the answer depend on which of two rows with equal keys comes first? */
static bool needs_order(const aggregate *a)
{
    bool whole = a->from.kind == BOUND_FIRST && a->to.kind == BOUND_LAST;
    return a->kind == AGG_ROW_NUMBER || a->kind >= AGG_NTILE ||
           (a->kind < AGG_ROW_NUMBER && a->mode == FRAME_OF_ROWS && !whole);
}

typedef struct window_part { /* the rows of a partition, in order */
    const aggregate *a;
    window_frame w;
    tuples *in;
    value **aggs; /* of each row, which is a group; NULL: rows are no groups */
    frame *up;
    uint32_t at; /* number of the window function */
    value **out;
} window_part;

/* Which part of the partition's rows comes before, or up to, the current one and its peers. */
static value share(const window_part *p)
{
    const window_frame *w = &p->w;
    bool before = p->a->kind == AGG_PERCENT_RANK;
    double rows = (double)(w->to - w->from - before);
    double part = (double)((before ? w->peers : w->strangers) - w->from);
    return value_float(rows > 0 ? part / rows : 0);
}

static frame row_frame(const window_part *p, uint32_t row)
{
    return (frame){p->in->at.at[row], p->up, p->aggs ? p->aggs[row] : NULL};
}

static value value_of_row(sql_exec *x, const window_part *p, const expr *e, int64_t i)
{
    frame f = row_frame(p, p->w.v[i].row);
    return eval(x, e, &f);
}

static value neighbour(sql_exec *x, const window_part *p, int64_t i)
{
    value by = p->a->second ? value_of_row(x, p, p->a->second, i) : value_int(1);
    if (by.null) return value_null();
    int64_t at = p->a->kind == AGG_LAG ? i - by.i : i + by.i;
    if (at >= p->w.from && at < p->w.to) return value_of_row(x, p, p->a->arg, at);
    return p->a->third ? value_of_row(x, p, p->a->third, i) : value_null();
}

static value tile(sql_exec *x, const window_part *p, int64_t i)
{
    const window_frame *w = &p->w;
    value n = value_of_row(x, p, p->a->arg, w->from);
    if (n.null) return value_null();
    if (n.i <= 0) sql_raise(&x->c, "22014", "argument of ntile must be greater than zero");
    int64_t rows = w->to - w->from, small = rows / n.i, large = rows % n.i, k = i - w->from;
    if (k < large * (small + 1)) return value_int(k / (small + 1) + 1);
    return value_int(large + (k - large * (small + 1)) / (small ? small : 1) + 1);
}

/* The n-th row of row i's frame, from 1, or (n = 0) the last one; -1: there is none. */
static int64_t nth_in_frame(sql_exec *x, const window_part *p, int64_t i, int64_t n)
{
    const window_frame *w = &p->w;
    assert(n >= 0);
    if (p->a->without == EXCLUDE_NOTHING) {
        if (!n) return w->hi > w->lo ? w->hi - 1 : -1;
        return w->hi > w->lo && n <= w->hi - w->lo ? w->lo + n - 1 : -1;
    }
    int64_t met = 0, at = -1;
    for (int64_t k = w->lo; k < w->hi; k++) {
        guard_tick(x->c.guard);
        if (frame_without(w, i, k)) continue;
        at = k;
        if (++met == n) return k;
    }
    return n ? -1 : at;
}

/* first_value, last_value, nth_value: a row of the frame. */
static value value_in_frame(sql_exec *x, window_part *p, int64_t i)
{
    int64_t n = p->a->kind == AGG_LAST_VALUE ? 0 : 1;
    frame_ends(x, &p->w, i);
    if (p->a->kind == AGG_NTH_VALUE) {
        value nth = value_of_row(x, p, p->a->second, i);
        if (nth.null) return value_null();
        if (nth.i <= 0)
            sql_raise(&x->c, "22016", "argument of nth_value must be greater than zero");
        n = nth.i;
    }
    int64_t at = nth_in_frame(x, p, i, n);
    return at < 0 ? value_null() : value_of_row(x, p, p->a->arg, at);
}

static void feed_row(sql_exec *x, const window_part *p, agg_state *s, int64_t k)
{
    guard_tick(x->c.guard);
    frame f = row_frame(p, p->w.v[k].row);
    agg_feed(x, p->a, s, &f);
}

/* The aggregate of each row's frame; while frames only grow, it goes on from the row before. */
static void fold_frames(sql_exec *x, window_part *p)
{
    window_frame *w = &p->w;
    agg_state s = {0};
    int64_t lo = w->from, hi = lo; /* what `s` is the aggregate of */
    for (int64_t i = w->from; i < w->to; i++) {
        frame_current(x, w, i);
        frame_ends(x, w, i);
        if (w->lo != lo || w->hi < hi || p->a->without != EXCLUDE_NOTHING) {
            memset(&s, 0, sizeof s);
            lo = hi = w->lo;
        }
        for (; hi < w->hi; hi++)
            if (!frame_without(w, i, hi)) feed_row(x, p, &s, hi);
        p->out[w->v[i].row][p->at] = agg_end(x, p->a, &s);
    }
}

static void run_partition(sql_exec *x, window_part *p)
{
    window_frame *w = &p->w;
    assert(w->from < w->to);
    if (p->a->kind < AGG_ROW_NUMBER) {
        fold_frames(x, p);
        return;
    }
    int64_t dense = 0;
    for (int64_t i = w->from; i < w->to; i++) {
        guard_tick(x->c.guard);
        frame_current(x, w, i);
        if (i == w->peers) dense++;
        value r;
        switch (p->a->kind) {
        case AGG_ROW_NUMBER: r = value_int(i - w->from + 1); break;
        case AGG_RANK: r = value_int(w->peers - w->from + 1); break;
        case AGG_DENSE_RANK: r = value_int(dense); break;
        case AGG_PERCENT_RANK:
        case AGG_CUME_DIST: r = share(p); break;
        case AGG_NTILE: r = tile(x, p, i); break;
        case AGG_LAG:
        case AGG_LEAD: r = neighbour(x, p, i); break;
        default: r = value_in_frame(x, p, i);
        }
        p->out[w->v[i].row][p->at] = r;
    }
}

/* One window function for every row. */
static void run_window(sql_exec *x, const aggregate *a, uint32_t at, frame *up, tuples *in,
                       value **aggs, value **out)
{
    size_t n = in->at.n;
    windowed *v = arena_array(&x->work, windowed, n + 1);
    type_id *types = arena_array(&x->work, type_id, a->n_keys + 1);
    for (uint32_t i = 0; i < a->n_keys; i++) types[i] = a->keys[i]->t.id;
    seen_set parts = {0};
    for (size_t i = 0; i < n; i++) {
        frame f = {in->at.at[i], up, aggs ? aggs[i] : NULL};
        value *keys = arena_array(&x->work, value, a->n_keys + 1);
        for (uint32_t k = 0; k < a->n_keys; k++) keys[k] = eval(x, a->keys[k], &f);
        bool fresh;
        uint32_t part = seen_add(x, &parts, types, keys, a->n_keys, &fresh);
        v[i] = (windowed){(uint32_t)i, part, agg_keys(x, a, &f)};
    }
    sort_windowed(x, a, v, n);
    assert(parts.rows.n <= n);
    window_part p = {
        .a = a, .w = {.a = a, .v = v}, .in = in, .aggs = aggs, .up = up, .at = at, .out = out};
    if (n) frame_distances(x, &p.w, up);
    for (size_t i = 0; i < n; i = (size_t)p.w.to) {
        size_t to = i + 1;
        for (; to < n && v[to].part == v[i].part; to++)
            if (needs_order(a) && !order_cmp(a, v[to - 1].keys, v[to].keys))
                sql_refuse(&x->c, -1, "a window over rows that may come in any order");
        frame_enter(x, &p.w, (int64_t)i, (int64_t)to);
        run_partition(x, &p);
    }
}

/* For each row the values of its windows; of groups (`aggs`) they come after the aggregates. */
static value **run_windows(sql_exec *x, const query *q, frame *up, tuples *in, value **aggs)
{
    assert(q->n_windows && q->grouped == (aggs != NULL));
    value **out = arena_array(&x->work, value *, in->at.n + 1);
    for (size_t i = 0; i < in->at.n; i++) {
        out[i] = arena_array(&x->work, value, q->n_aggs + q->n_windows);
        if (q->n_aggs && aggs) memcpy(out[i], aggs[i], q->n_aggs * sizeof *out[i]);
    }
    for (uint32_t k = 0; k < q->n_windows; k++)
        run_window(x, &q->windows[k], q->n_aggs + k, up, in, aggs, out);
    return out;
}

/* Groups as rows of windows. */
static void project_groups(sql_exec *x, const query *q, frame *up, group_list *groups,
                           out_list *rows)
{
    tuples in = {0};
    VEC(value *) aggs = {0};
    for (size_t i = 0; i < groups->n; i++) {
        group *g = &groups->at[i];
        value *v = arena_array(&x->work, value, q->n_aggs + 1);
        group_values(x, q, g, v);
        frame f = {g->tuple, up, v};
        if (q->having && !eval_true(x, q->having, &f)) continue;
        arena_push(&x->work, &in.at, g->tuple);
        arena_push(&x->work, &aggs, v);
    }
    if (!in.at.n) return;
    value **all = run_windows(x, q, up, &in, aggs.at);
    for (size_t i = 0; i < in.at.n; i++) {
        frame f = {in.at.at[i], up, all[i]};
        emit(x, q, &f, rows);
    }
}

static void project(sql_exec *x, const query *q, frame *up, tuples *in, out_list *rows)
{
    if (!q->grouped) {
        value **windows = q->n_windows ? run_windows(x, q, up, in, NULL) : NULL;
        for (size_t i = 0; i < in->at.n; i++) {
            frame f = {in->at.at[i], up, windows ? windows[i] : NULL};
            emit(x, q, &f, rows);
        }
        return;
    }
    group_list groups = {0};
    for (uint32_t i = 0; i < (q->n_sets ? q->n_sets : 1); i++)
        make_groups(x, q, up, in, q->n_sets ? q->sets[i] : 0, &groups);
    if (q->n_windows) {
        project_groups(x, q, up, &groups, rows);
        return;
    }
    value *aggs = arena_array(&x->work, value, q->n_aggs + q->n_keys + q->n_groupings + 1);
    for (size_t i = 0; i < groups.n; i++) {
        group *g = &groups.at[i];
        group_values(x, q, g, aggs);
        frame f = {g->tuple, up, aggs};
        if (!q->having || eval_true(x, q->having, &f)) emit(x, q, &f, rows);
    }
}

void exec_where(sql_exec *x, const query *q, frame *up, tuples *t)
{
    if (!q->where) return;
    assert(!t->rows.n || t->rows.n == t->at.n);
    size_t n = 0;
    for (size_t i = 0; i < t->at.n; i++) {
        frame f = {t->at.at[i], up, NULL};
        guard_tick(x->c.guard);
        if (!eval_true(x, q->where, &f)) continue;
        t->at.at[n] = t->at.at[i];
        if (t->rows.n) t->rows.at[n] = t->rows.at[i];
        n++;
    }
    t->at.n = n;
    if (t->rows.n) t->rows.n = n;
}

/* The rows of a query that locks: in the order of what the snapshot showed, with the contents that
   they have when the lock is given.  Rows that must not be locked are marked. */
static void project_locked(sql_exec *x, const query *q, frame *up, tuples *t, out_list *rows)
{
    for (size_t i = 0; i < t->at.n; i++) {
        const value **then = t->at.at[i], **now = then;
        uint32_t conflict = 0;
        if (!exec_lock_tuple(x, q, up, &now, &conflict)) continue;
        frame before = {then, up, NULL}, f = {now, up, NULL};
        emit(x, q, &f, rows);
        out_row *last = &rows->at[rows->n - 1];
        last->conflict = conflict;
        if (now == then || !q->n_sort) continue;
        out_list old = {0};
        emit(x, q, &before, &old);
        last->keys = old.at[0].keys;
    }
}

/* Which rows come before the limit are locked, and no others.  Of rows that may come in any order,
   those that another transaction has changed come last, if that is enough. */
static void settle_conflicts(sql_exec *x, const query *q, out_list *rows, const sql_result *r)
{
    uint64_t most = r->has_limit ? r->offset + r->limit : UINT64_MAX;
    if (most < r->offset) most = UINT64_MAX;
    size_t n = 0;
    for (size_t from = 0, to; from < rows->n; from = to) {
        size_t bad = 0;
        to = from + 1;
        while (to < rows->n && (!q->n_sort || !cmp_keys(q, rows->at[from].keys, rows->at[to].keys)))
            to++;
        for (size_t i = from; i < to; i++) bad += rows->at[i].conflict > 0;
        if (bad && n < most && n + (to - from - bad) < most) {
            for (size_t i = from; i < to; i++)
                if (rows->at[i].conflict) x->conflict = rows->at[i].conflict;
            sql_raise(&x->c, "40001", "could not serialize access due to concurrent update");
        }
        for (size_t i = from; i < to; i++)
            if (!rows->at[i].conflict) rows->at[n++] = rows->at[i];
    }
    rows->n = n;
}

/* ---- UNION, VALUES, WITH --------------------------------------------------------------------- */

static void add_output(sql_exec *x, const query *q, const value *row, out_list *out)
{
    value *keys = arena_array(&x->work, value, q->n_sort + 1);
    for (uint32_t i = 0; i < q->n_sort; i++) keys[i] = row[q->sort[i].column];
    for (uint32_t i = 0; i < q->n_out; i++)
        if (row[i].open) sql_refuse(&x->c, q->position, "a value that was not observed, in UNION");
    arena_push(&x->work, out, ((out_row){row, keys, NULL, 0}));
}

/* The rows of one side, in the types of the whole. */
static void side_rows(sql_exec *x, const query *q, const query *side, frame *up, sql_result *r)
{
    exec_query(x, side, up, r);
    exec_cut(x, side, r);
    bool cast = false;
    for (uint32_t c = 0; c < q->n_out; c++) cast |= r->types[c] != q->out[c].e->t.id;
    for (uint32_t i = 0; cast && i < r->n; i++) {
        value *row = arena_array(&x->work, value, q->n_out + 1);
        for (uint32_t c = 0; c < q->n_out; c++)
            row[c] = value_cast(&x->c, r->rows[i][c], type_plain(r->types[c]), q->out[c].e->t,
                                CAST_IMPLICIT);
        r->rows[i] = row;
    }
}

static void set_rows(sql_exec *x, const query *q, frame *up, out_list *out)
{
    sql_result side[2];
    side_rows(x, q, q->left, up, &side[0]);
    side_rows(x, q, q->right, up, &side[1]);
    assert(side[0].n_cols == q->n_out && side[1].n_cols == q->n_out);
    type_id *types = arena_array(&x->work, type_id, q->n_out + 1);
    for (uint32_t c = 0; c < q->n_out; c++) types[c] = q->out[c].e->t.id;
    if (q->set == SET_UNION && q->all) {
        for (int k = 0; k < 2; k++)
            for (uint32_t i = 0; i < side[k].n; i++) add_output(x, q, side[k].rows[i], out);
        return;
    }
    seen_set seen = {0};
    uint32_t *count[2], most = side[0].n + side[1].n;
    for (int k = 0; k < 2; k++) {
        count[k] = arena_array(&x->work, uint32_t, most + 1u);
        memset(count[k], 0, (most + 1u) * sizeof *count[k]);
        for (uint32_t i = 0; i < side[k].n; i++) {
            bool fresh;
            guard_tick(x->c.guard);
            count[k][seen_add(x, &seen, types, side[k].rows[i], q->n_out, &fresh)]++;
        }
    }
    for (uint32_t i = 0; i < seen.rows.n; i++) {
        uint32_t l = count[0][i], r = count[1][i], n;
        assert(l + r > 0);
        if (!q->all) l = l > 0, r = r > 0;
        if (q->set == SET_UNION)
            n = 1;
        else if (q->set == SET_INTERSECT)
            n = l < r ? l : r;
        else
            n = l > r ? l - r : 0;
        if (q->set == SET_EXCEPT && !q->all) n = count[0][i] && !count[1][i];
        for (; n; n--) add_output(x, q, seen.rows.at[i], out);
    }
}

#define MOST_SERIES 10000000

static void function_rows(sql_exec *x, const query *q, frame *up, out_list *out)
{
    made_rows list = {0};
    series_rows(x, q, up, &list);
    for (size_t i = 0; i < list.n; i++) add_output(x, q, list.at[i], out);
}

#define MOST_ROUNDS 1000000

/* WITH RECURSIVE: the second query is executed again and again on what the round before gave. */
static void rounds(sql_exec *x, const query *q, frame *up, out_list *out)
{
    sql_result r;
    type_id *types = arena_array(&x->work, type_id, q->n_out + 1);
    for (uint32_t c = 0; c < q->n_out; c++) types[c] = q->out[c].e->t.id;
    seen_set seen = {0};
    side_rows(x, q, q->left, up, &r);
    size_t from = x->kept.n;
    for (uint32_t round = 0;; round++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < r.n; i++) {
            bool fresh = true;
            guard_tick(x->c.guard);
            if (!q->all) seen_add(x, &seen, types, r.rows[i], q->n_out, &fresh);
            if (!fresh) continue;
            r.rows[n++] = r.rows[i];
            add_output(x, q, r.rows[i], out);
        }
        if (!n) break;
        if (round > MOST_ROUNDS) sql_refuse(&x->c, q->position, "WITH RECURSIVE without an end");
        r.n = n;
        r.count = n;
        r.tie = NULL;
        x->kept.n = from;
        arena_push(&x->work, &x->kept, ((kept_result){q->work, r, NULL}));
        side_rows(x, q, q->right, up, &r);
    }
    x->kept.n = from;
}

static void value_rows(sql_exec *x, const query *q, frame *up, out_list *out)
{
    frame f = {NULL, up, NULL};
    for (uint32_t i = 0; i < q->n_rows; i++) {
        value *row = arena_array(&x->work, value, q->n_out + 1);
        for (uint32_t c = 0; c < q->n_out; c++)
            row[c] = eval(x, q->rows[(size_t)i * q->n_out + c], &f);
        add_output(x, q, row, out);
    }
}

/* A query of WITH is executed once in a statement. */
static bool kept_rows(sql_exec *x, const query *q, sql_result *out)
{
    assert(x->regs.kept_from <= x->kept.n);
    for (size_t i = x->regs.kept_from; i < x->kept.n; i++) {
        if (x->kept.at[i].q != q) continue;
        *out = x->kept.at[i].r;
        return true;
    }
    return false;
}

/* A function of rows in the output list: a row for each of its rows. */
static void spread_rows(sql_exec *x, const query *q, frame *up, tuples *t)
{
    tuples all = {0};
    assert(q->slots && !q->locking);
    for (size_t i = 0; i < t->at.n; i++) {
        frame f = {t->at.at[i], up, NULL};
        sql_result r;
        exec_query(x, q->spread, &f, &r);
        for (uint32_t k = 0; k < r.n; k++) {
            const value **row = copy_tuple(x, t->at.at[i], q->slots);
            row[q->slots - 1] = r.rows[k];
            arena_push(&x->work, &all.at, row);
        }
        if (all.at.n > MOST_SERIES) sql_refuse(&x->c, q->position, "a series of this length");
    }
    *t = all;
}

static void scan_rows(sql_exec *x, const query *q, frame *up, out_list *rows, uint32_t **turn)
{
    tuples t = {0};
    uint32_t many = x->regs.many;
    if (q->from && (q->where || q->from->kind != J_REL)) x->regs.many = 1;
    exec_join(x, q->from, q->slots, up, &t);
    exec_where(x, q, up, &t);
    if (q->spread) spread_rows(x, q, up, &t);
    if (keeps_order(q) && !q->grouped && !q->distinct && !q->n_on && !q->n_sort) *turn = t.rows.at;
    x->regs.many = many || t.at.n > 1 || (q->from && (q->limit || q->offset));
    if (q->locking)
        project_locked(x, q, up, &t, rows);
    else
        project(x, q, up, &t, rows);
    if (q->distinct) distinct_rows(x, q, rows);
}

static void describe(sql_exec *x, const query *q, sql_result *out)
{
    out->has_rows = true;
    out->n_cols = q->n_out;
    out->types = arena_array(&x->work, type_id, q->n_out + 1);
    out->names = arena_array(&x->work, const char *, q->n_out + 1);
    for (uint32_t i = 0; i < q->n_out; i++) {
        out->types[i] = q->out[i].e->t.id;
        out->names[i] = q->out[i].name;
    }
}

/* The rows of a function. */
static void call_rows(sql_exec *x, const query *q, frame *up, sql_result *out)
{
    frame f = {NULL, up, NULL};
    pl_call_rows(x, q->call->routine, eval_args(x, q->call, &f), out);
    describe(x, q, out);
}

/* FETCH FIRST ... WITH TIES. */
static void take_ties(sql_result *out)
{
    if (!out->has_limit || !out->limit) return;
    assert(out->tie || !out->n);
    while (out->offset < out->n && out->limit < out->n - out->offset &&
           out->tie[out->offset + out->limit] == out->tie[out->offset + out->limit - 1])
        out->limit++;
}

void exec_query(sql_exec *x, const query *q, frame *up, sql_result *out)
{
    const query *same = q->shared ? q->shared : q;
    assert(!q->shared || q->shared->n_out == q->n_out);
    if (same->kept && kept_rows(x, same, out)) {
        describe(x, q, out);
        return;
    }
    memset(out, 0, sizeof *out);
    if (q->call) {
        call_rows(x, q, up, out);
        return;
    }
    uint32_t many = x->regs.many;
    if (++x->regs.depth > 500) sql_refuse(&x->c, -1, "subqueries nested this deep");
    out_list rows = {0};
    bool given;
    out->offset = bound(x, q->offset, up, "2201X", "OFFSET", &given);
    out->limit = bound(x, q->limit, up, "2201W", "LIMIT", &out->has_limit);
    assert(!q->writes && "executed before what reads it");
    if (q->series[0])
        function_rows(x, q, up, &rows);
    else if (q->work)
        rounds(x, q, up, &rows);
    else if (q->set)
        set_rows(x, q, up, &rows);
    else if (q->n_rows)
        value_rows(x, q, up, &rows);
    else
        scan_rows(x, q, up, &rows, &out->turn);
    if (q->n_sort) sort_rows(x, q, rows.at, rows.n);
    if (q->n_on) first_rows(x, q, &rows);
    if (q->locking) settle_conflicts(x, q, &rows, out);
    out->skips = q->skips && !x->single_session;
    if (rows.n > UINT32_MAX - 2) guard_fail(x->c.guard, GUARD_NOMEM, "more than 2^32 rows");
    out->n = (uint32_t)rows.n;
    describe(x, q, out);
    out->rows = arena_array(&x->work, const value *, rows.n + 1);
    if (q->n_sort) out->tie = arena_array(&x->work, uint32_t, rows.n + 1);
    for (size_t i = 0; i < rows.n; i++) {
        out->rows[i] = rows.at[i].row;
        if (!q->n_sort) continue;
        bool tied = i && !cmp_keys(q, rows.at[i - 1].keys, rows.at[i].keys);
        out->tie[i] = tied ? out->tie[i - 1] : (uint32_t)i;
    }
    if (q->n_sort) out->turn = out->tie;
    out->count = out->n;
    if (q->ties) take_ties(out);
    x->regs.many = many;
    x->regs.depth--;
    assert(!out->tie || out->n == rows.n);
    if (!same->kept) return;
    exec_cut(x, q, out);
    arena_push(&x->work, &x->kept, ((kept_result){same, *out, NULL}));
}

static bool same_row(const sql_result *r, uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; i < r->n_cols; i++)
        if (!value_identical(r->types[i], r->rows[a][i], r->rows[b][i])) return false;
    return true;
}

static void clean_cut(sql_exec *x, const query *q, const sql_result *r, uint64_t at)
{
    if (!at || at >= r->n) return;
    uint32_t a = (uint32_t)at - 1, from = a, to;
    while (from && (!r->turn || r->turn[from - 1] == r->turn[a])) from--;
    if (r->turn && r->turn[a] != r->turn[at]) return;
    to = from;
    while (to < r->n && (!r->turn || r->turn[to] == r->turn[from])) {
        if (!same_row(r, from, to))
            sql_refuse(&x->c, q->position, "LIMIT between rows that may come in any order");
        to++;
    }
}

void exec_cut(sql_exec *x, const query *q, sql_result *r)
{
    if (r->skips) exec_skip(x, q, r);
    if (!r->has_limit && !r->offset) return;
    uint64_t from = r->offset < r->n ? r->offset : r->n;
    uint64_t to = r->has_limit && r->limit < r->n - from ? from + r->limit : r->n;
    assert(from <= to && to <= r->n);
    clean_cut(x, q, r, from);
    clean_cut(x, q, r, to);
    r->rows += from;
    if (r->tie) r->tie += from;
    if (r->turn) r->turn += from;
    r->n = (uint32_t)(to - from);
    r->count = r->n;
    r->has_limit = false;
    r->offset = 0;
}
