/*
 * initial_rows.c - reads off a log what it shows of tables that are not known.
 *
 * Only plain forms tell something: SELECT of one table, UPDATE, DELETE and INSERT of rows that
 * constants choose by the primary key.  Every other statement that names such a table is noted all
 * the same: if it reads, nothing is concluded from its answer; if it writes, its table is lost.
 *
 * A row is certain if an answer showed it, or that it was missing, and no other transaction that
 * writes it can have been seen by then: the commit had not been called, or the transaction comes
 * later in the same session.  Invariant: whatever writes a row of these tables is in `writers`.
 */
#include "audit/initial_rows.h"

#include <assert.h>
#include <string.h>

#include "audit/audit_search.h"
#include "audit/named_tables.h"
#include "audit/txn_order.h"

enum { MOST_NAMED = 64 }; /* rows of one IN */

/* ---- the tables ------------------------------------------------------------------------------ */

/* Values of these types have one text each; numerics, if their scale is fixed. */
static bool makes_keys(type t)
{
    return type_is_int(t.id) || (t.id == T_NUMERIC && t.width >= 0) || t.id == T_TEXT ||
           t.id == T_VARCHAR || t.id == T_UUID || t.id == T_DATE || t.id == T_BOOL;
}

static bool is_referred_to(const store *s, const table *t)
{
    for (size_t i = 0; i < s->tables.n; i++)
        for (uint32_t k = 0; k < s->tables.at[i]->n_foreign; k++)
            if (!strcmp(s->tables.at[i]->foreign[k].parent, t->name)) return true;
    return false;
}

static bool is_plain_name(const char *s)
{
    for (const char *p = s; *p; p++)
        if (!(*p >= 'a' && *p <= 'z') && !(*p >= '0' && *p <= '9') && *p != '_') return false;
    return *s;
}

static void describe(initial_rows *w, const table *t, open_table *o)
{
    *o = (open_table){.name = arena_text(w->kept, t->name, strlen(t->name)),
                      .n_cols = t->n_cols,
                      .cols = arena_array(w->kept, open_column, t->n_cols + 1),
                      .linked = t->n_foreign || is_referred_to(&w->e->store, t)};
    bool all_used = t->n_checks > 0; /* that is, whoever writes a row looks at all of it */
    for (uint32_t c = 0; c < t->n_cols; c++) all_used |= t->cols[c].computed != NULL;
    for (uint32_t u = 0; u < t->n_unique; u++)
        all_used |= t->unique[u].n_keys || t->unique[u].where;
    for (uint32_t c = 0; c < t->n_cols; c++) {
        const table_column *from = &t->cols[c];
        o->cols[c] = (open_column){.name = arena_text(w->kept, from->name, strlen(from->name)),
                                   .t = from->t,
                                   .hidden = column_hidden(from),
                                   .not_null = from->not_null,
                                   .used = all_used};
    }
    for (uint32_t u = 0; u < t->n_unique; u++) {
        const unique_key *k = &t->unique[u];
        bool usable = k->primary && !k->where && !k->n_keys && !k->deferrable;
        for (uint32_t i = 0; i < k->n; i++) usable &= makes_keys(t->cols[k->cols[i]].t);
        for (uint32_t i = 0; i < k->n; i++) o->cols[k->cols[i]].used = true;
        o->more_keys |= !k->primary;
        if (!usable) continue;
        uint32_t *cols = arena_array(w->kept, uint32_t, k->n + 1);
        memcpy(cols, k->cols, k->n * sizeof *cols);
        o->n_key = k->n;
        o->key = cols;
    }
}

static bool find_tables(initial_rows *w)
{
    const store *s = &w->e->store;
    w->tables = arena_array(w->kept, open_table, OPEN_TABLES);
    for (size_t i = 0; i < s->tables.n; i++) {
        const table *t = s->tables.at[i];
        if (!t->unknown || t->dropped != NEVER) continue;
        if (w->n_tables == OPEN_TABLES || !is_plain_name(t->name)) return false;
        if (t->temporary || t->rows.n) return false; /* some rows are given */
        describe(w, t, &w->tables[w->n_tables++]);
    }
    return w->n_tables > 0;
}

static uint32_t table_number(const initial_rows *w, const table *t)
{
    for (uint32_t i = 0; t && t->unknown && i < w->n_tables; i++)
        if (!strcmp(w->tables[i].name, t->name)) return i;
    return UINT32_MAX;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static const char *key_text(initial_rows *w, type_id t, value v)
{
    w->scratch.n = 0;
    value_print(t, v, &w->scratch);
    size_t n = w->scratch.n;
    const char *s = strbuf_cstr(&w->scratch);
    if (t == T_NUMERIC && memchr(s, '.', n)) {
        while (s[n - 1] == '0') n--;
        n -= s[n - 1] == '.';
    }
    return arena_text(w->kept, s, n);
}

static uint32_t row_of(initial_rows *w, uint32_t of, const char **key)
{
    assert(of < w->n_tables && w->tables[of].n_key);
    const open_table *t = &w->tables[of];
    uint64_t h = of;
    for (uint32_t i = 0; i < t->n_key; i++) h = hash_bytes(key[i], strlen(key[i]), h);
    for (index_walk i = id_index_walk(&w->index, h); id_index_next(&w->index, &i);) {
        const open_row *r = &w->rows.at[i.id];
        bool same = r->table == of;
        for (uint32_t k = 0; same && k < t->n_key; k++) same = !strcmp(r->key[k], key[k]);
        if (same) return i.id;
    }
    const char **own = arena_array(w->kept, const char *, t->n_key + 1);
    memcpy(own, key, t->n_key * sizeof *own);
    open_row r = {.table = of, .key = own};
    r.is = arena_array(w->kept, const cell *, t->n_cols + 1);
    memset(r.is, 0, t->n_cols * sizeof *r.is);
    uint32_t id = (uint32_t)w->rows.n;
    vec_push(w->e->mem, &w->rows, r);
    id_index_add(w->e->mem, &w->index, h, id);
    return id;
}

/* ---- expressions ----------------------------------------------------------------------------- */

/* A value that no row decides. */
static bool fixed(initial_rows *w, const expr *e, value *v)
{
    sql_exec *x = &w->e->x;
    if (!e) return false;
    if (e->kind == E_CONST) {
        *v = e->v;
        return !e->v.open;
    }
    if (e->kind == E_PARAM) {
        if (e->index >= x->regs.n_params) return false;
        *v = x->regs.params[e->index];
        return true;
    }
    if (e->kind != E_CAST || e->n != 1 || !fixed(w, e->arg[0], v)) return false;
    if (!v->null) *v = value_cast(&x->c, *v, e->arg[0]->t, e->t, e->cast);
    return true;
}

/* varchar and text are compared alike. */
static const expr *uncast_text(const expr *e)
{
    while (e->kind == E_CAST && e->n == 1 && (e->t.id == T_TEXT || e->t.id == T_VARCHAR) &&
           (e->arg[0]->t.id == T_TEXT || e->arg[0]->t.id == T_VARCHAR) && e->t.width < 0)
        e = e->arg[0];
    return e;
}

static bool names_column(const expr *e, uint32_t column)
{
    return e->kind == E_COLUMN && !e->slot && !e->up && e->index == column;
}

/* Finds `column = constant` in a conjunction. */
static const char *key_part(initial_rows *w, const expr *e, const open_table *t, uint32_t column)
{
    if (!e) return NULL;
    for (uint32_t i = 0; e->kind == E_AND && i < e->n; i++) {
        const char *k = key_part(w, e->arg[i], t, column);
        if (k) return k;
    }
    if (e->kind != E_COMPARE || e->op != OP_EQ || e->n != 2) return NULL;
    for (int side = 0; side < 2; side++) {
        const expr *other = uncast_text(e->arg[!side]);
        type_id is = t->cols[column].t.id;
        bool texts = is == T_VARCHAR && other->t.id == T_TEXT;
        value v;
        if (!names_column(uncast_text(e->arg[side]), column)) continue;
        if ((other->t.id != is && !texts) || !fixed(w, other, &v) || v.null) continue;
        return key_text(w, is, v);
    }
    return NULL;
}

/* How many conditions a conjunction has. */
static uint32_t conditions(const expr *e)
{
    uint32_t n = 0;
    if (!e) return 0;
    if (e->kind != E_AND) return 1;
    for (uint32_t i = 0; i < e->n; i++) n += conditions(e->arg[i]);
    return n;
}

/* The row that a condition chooses; UINT32_MAX: perhaps several.  `only`: it asks nothing else. */
static uint32_t chosen_row(initial_rows *w, uint32_t of, const expr *where, bool *only)
{
    const open_table *t = &w->tables[of];
    const char *key[32];
    if (!t->n_key || t->n_key > 32) return UINT32_MAX;
    for (uint32_t i = 0; i < t->n_key; i++) {
        key[i] = key_part(w, where, t, t->key[i]);
        if (!key[i]) return UINT32_MAX;
    }
    assert(conditions(where) >= t->n_key); /* each part of the key took one */
    *only = conditions(where) == t->n_key;
    return row_of(w, of, key);
}

static const num *num_text_of(initial_rows *w, type_id t, value v)
{
    const num *n = NULL;
    w->scratch.n = 0;
    value_print(t, v, &w->scratch);
    return num_parse(w->kept, strbuf_cstr(&w->scratch), w->scratch.n, &n) ? n : NULL;
}

static const expr *uncast(const expr *e)
{
    while (e->kind == E_CAST && e->n == 1) e = e->arg[0];
    return e;
}

/* The first `column >= constant` of a conjunction that holds. */
static const num *lower_bound(initial_rows *w, const expr *e, const open_table *t, uint32_t *column)
{
    if (!e) return NULL;
    for (uint32_t i = 0; e->kind == E_AND && i < e->n; i++) {
        const num *n = lower_bound(w, e->arg[i], t, column);
        if (n) return n;
    }
    if (e->kind != E_COMPARE || e->n != 2 || (e->op != OP_GE && e->op != OP_GT)) return NULL;
    const expr *of = uncast(e->arg[0]), *by = e->arg[1];
    value v;
    if (of->kind != E_COLUMN || of->slot || of->up || of->index >= t->n_cols) return NULL;
    if (!type_rank(of->t.id) || !type_rank(by->t.id) || !fixed(w, by, &v) || v.null) return NULL;
    const num *n = num_text_of(w, by->t.id, v);
    *column = of->index;
    return n && e->op == OP_GT ? num_add(w->kept, n, num_of(w->kept, 1)) : n;
}

/* Notes the columns that an expression looks at; false: it may look at more than its row. */
static bool looks(const expr *e, open_table *t)
{
    if (!e) return true;
    if (e->q || e->kind == E_ROUTINE || e->kind == E_VAR || e->kind == E_AGGREGATE) return false;
    if (e->kind == E_COLUMN && (e->up || e->slot > 1))
        return false; /* 1: what was to be inserted */
    if (e->kind == E_COLUMN && !e->slot && e->index < t->n_cols) t->cols[e->index].used = true;
    for (uint32_t i = 0; i < e->n; i++)
        if (!looks(e->arg[i], t)) return false;
    return true;
}

static bool outputs_look(const out_column *out, uint32_t n, open_table *t)
{
    for (uint32_t i = 0; i < n; i++)
        if (!looks(out[i].e, t)) return false;
    return true;
}

/* ---- what statements show -------------------------------------------------------------------- */

static row_touch *touch(initial_rows *w, uint32_t row, touch_kind kind)
{
    assert(row < w->rows.n && w->e->log->txns.at[w->txn].status != LOG_ABORTED);
    const uint32_t *undone = w->e->marks.undone[w->txn];
    open_row *r = &w->rows.at[row];
    row_touch t = {.row = row,
                   .txn = w->txn,
                   .stmt = w->stmt,
                   .kind = kind,
                   .own = r->written_by == w->txn + 1,
                   .undone = undone && undone[w->stmt]};
    vec_push(w->e->mem, &w->touches, t);
    return &w->touches.at[w->touches.n - 1];
}

/* The cells of an answer's row that stand for columns of the table. */
static const cell **cells_shown(initial_rows *w, const open_table *t, const out_column *out,
                                uint32_t n_out, const cell *cells)
{
    const cell **shown = arena_array(w->kept, const cell *, t->n_cols + 1);
    memset(shown, 0, t->n_cols * sizeof *shown);
    for (uint32_t i = 0; i < n_out; i++)
        if (out[i].e->kind == E_COLUMN && !out[i].e->slot && !out[i].e->up &&
            out[i].e->index < t->n_cols)
            shown[out[i].e->index] = &cells[i];
    return shown;
}

/* A recorder was told to hide what stood there. */
static bool is_masked(const cell *c)
{
    return c->kind == CELL_TEXT && strstr(c->s, "***");
}

/* The row that an answer's row is of, by its own key; UINT32_MAX: it does not show it. */
static uint32_t shown_row(initial_rows *w, uint32_t of, const cell **shown)
{
    const open_table *t = &w->tables[of];
    const char *key[32];
    if (!t->n_key || t->n_key > 32) return UINT32_MAX;
    for (uint32_t i = 0; i < t->n_key; i++) {
        const cell *c = shown[t->key[i]];
        if (!c || c->kind == CELL_NULL || is_masked(c)) return UINT32_MAX;
        type is = t->cols[t->key[i]].t;
        key[i] = key_text(w, is.id, value_parse(&w->e->x.c, is, c->s, c->n));
    }
    return row_of(w, of, key);
}

static void use_row(initial_rows *w, open_use *u, uint32_t row)
{
    assert(row < w->rows.n && u->first <= u->end);
    vec_push(w->e->mem, &w->rows_used, row);
    u->end = (uint32_t)w->rows_used.n;
}

static bool is_one_table(const query *q)
{
    return q && !q->set && q->from && q->from->kind == J_REL && q->from->table && !q->from->slot &&
           !q->grouped && !q->n_windows && !q->spread && !q->skips;
}

/* SELECT without a condition that shows every column. */
static void whole_table(initial_rows *w, uint32_t of, const query *q, const log_stmt *s)
{
    assert(q->from->table && !strcmp(q->from->table->name, w->tables[of].name));
    open_table *t = &w->tables[of];
    if (q->where || q->limit || q->offset || q->distinct || t->whole) return;
    uint32_t *place = arena_array(w->kept, uint32_t, t->n_cols + 1);
    for (uint32_t c = 0; c < t->n_cols; c++) place[c] = UINT32_MAX;
    for (uint32_t i = 0; i < q->n_out; i++)
        if (q->out[i].e->kind == E_COLUMN && !q->out[i].e->slot && !q->out[i].e->up)
            place[q->out[i].e->index] = i;
    for (uint32_t c = 0; c < t->n_cols; c++)
        if (place[c] == UINT32_MAX && !t->cols[c].hidden) return;
    if (w->e->log->txns.at[w->txn].status != LOG_COMMITTED || !s->has_rows) return;
    t->whole = true; /* if nobody can have written before: initial_rows_settle */
    t->whole_txn = w->txn;
    t->whole_stmt = w->stmt;
    t->whole_place = place;
}

/* The rows that a condition names, one or (as IN does) several; 0: it may be others.  `only`: it
   asks nothing else of them. */
static uint32_t named_rows(initial_rows *w, uint32_t of, const expr *where, uint32_t *rows,
                           bool *only)
{
    assert(of < w->n_tables && rows && only);
    uint32_t n = where && where->kind == E_OR ? where->n : 1;
    *only = true;
    if (n > MOST_NAMED) return 0;
    for (uint32_t i = 0; i < n; i++) {
        bool alone = false;
        rows[i] = chosen_row(w, of, n > 1 ? where->arg[i] : where, &alone);
        if (rows[i] == UINT32_MAX) return 0;
        *only &= alone;
    }
    return n;
}

static bool has_row(const uint32_t *rows, size_t n, uint32_t row)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i] == row) return true;
    return false;
}

/* A LIMIT that leaves out none of so many rows. */
static bool limits_none(const query *q, uint32_t n)
{
    const expr *l = q->limit;
    if (q->offset) return false;
    return !l || (l->kind == E_CONST && !l->v.null && !l->v.open && l->t.id == T_INT8 &&
                  l->v.i >= (int64_t)n);
}

static void see_select(initial_rows *w, const query *q, const log_stmt *s, open_use *u)
{
    uint32_t of = is_one_table(q) ? table_number(w, q->from->table) : UINT32_MAX;
    if (of == UINT32_MAX) return;
    open_table *t = &w->tables[of];
    uint32_t rows[MOST_NAMED], shown_rows[MOST_NAMED], n_found = 0;
    bool only = false, fits = s->has_rows && (!s->n_rows || s->n_cols == q->n_out);
    uint32_t n = named_rows(w, of, q->where, rows, &only);
    bool all = limits_none(q, n);
    u->by_row = n && all && looks(q->where, t) && outputs_look(q->out, q->n_out, t) && !q->n_sort &&
                !q->distinct;
    for (uint32_t i = 0; i < n; i++) use_row(w, u, rows[i]);
    if (!fits) return;
    if (!n) whole_table(w, of, q, s);
    for (uint32_t r = 0; r < s->n_rows; r++) {
        const cell **shown = cells_shown(w, t, q->out, q->n_out, &s->cells[(size_t)r * s->n_cols]);
        uint32_t is = n == 1 ? rows[0] : shown_row(w, of, shown);
        if (is == UINT32_MAX || n_found == MOST_NAMED) only = false; /* which, nobody knows */
        if (is == UINT32_MAX) continue;
        row_touch *c = touch(w, is, TOUCH_SEEN);
        c->shown = shown;
        c->newest = q->locking;
        if (n_found < MOST_NAMED) shown_rows[n_found++] = is;
    }
    for (uint32_t i = 0; i < n && only && all; i++)
        if (!has_row(shown_rows, n_found, rows[i]))
            touch(w, rows[i], TOUCH_ABSENT)->newest = q->locking;
}

/* c = constant, c = c + constant, or something else. */
static column_change change_of(initial_rows *w, const open_table *t, uint32_t column, const expr *e)
{
    column_change c = {.column = column, .how = '?'};
    type_id is = t->cols[column].t.id;
    value v;
    if (e && e->t.id == is && fixed(w, e, &v)) {
        c.how = '=';
        if (!v.null) {
            w->scratch.n = 0;
            value_print(is, v, &w->scratch);
            c.text = arena_text(w->kept, strbuf_cstr(&w->scratch), w->scratch.n);
        }
        return c;
    }
    const expr *sum = e ? uncast(e) : NULL;
    bool adds = sum && sum->kind == E_ARITH && sum->n == 2 && (sum->op == '+' || sum->op == '-') &&
                (type_is_int(is) || is == T_NUMERIC);
    for (uint32_t side = 0; adds && side < (sum->op == '+' ? 2 : 1); side++) {
        const expr *by = sum->arg[!side];
        if (!names_column(uncast(sum->arg[side]), column) || !fixed(w, by, &v) || v.null) continue;
        const num *n = type_rank(by->t.id) ? num_text_of(w, by->t.id, v) : NULL;
        if (n && sum->op == '-') n = num_neg(w->kept, n);
        if (!n) break;
        w->scratch.n = 0;
        num_text(n, &w->scratch);
        c.how = '+';
        c.text = arena_text(w->kept, strbuf_cstr(&w->scratch), w->scratch.n);
        break;
    }
    return c;
}

static void note_writer(initial_rows *w, uint32_t row)
{
    open_row *r = &w->rows.at[row];
    assert(!r->writers.n || r->writers.at[r->writers.n - 1] <= w->txn); /* rising */
    r->written_by = w->txn + 1;
    if (!r->writers.n || r->writers.at[r->writers.n - 1] != w->txn)
        vec_push(w->e->mem, &r->writers, w->txn);
}

static void see_change(initial_rows *w, uint32_t of, const plan *p, const log_stmt *s, open_use *u)
{
    assert(p->target && (p->kind == S_UPDATE || p->kind == S_DELETE) && !s->has_error);
    open_table *t = &w->tables[of];
    bool only = false, keeps = p->slots == 1 && looks(p->where, t);
    uint32_t row = p->slots == 1 ? chosen_row(w, of, p->where, &only) : UINT32_MAX;
    column_change *changes = arena_array(w->kept, column_change, p->n_set + 1);
    for (uint32_t i = 0; i < p->n_set; i++) {
        for (uint32_t k = 0; k < t->n_key; k++) keeps &= t->key[k] != p->set[i].column;
        keeps &= looks(p->set[i].e, t);
        changes[i] = change_of(w, t, p->set[i].column, p->set[i].e);
    }
    if (row == UINT32_MAX || !keeps) return;
    u->by_row = outputs_look(p->returning, p->n_returning, t);
    use_row(w, u, row);
    bool known = s->has_count || s->has_rows;
    uint64_t n = s->has_rows ? s->n_rows : s->count;
    if (known && !n && only) touch(w, row, TOUCH_ABSENT)->newest = true;
    if (known && n) {
        row_touch *seen = touch(w, row, TOUCH_SEEN);
        seen->newest = true;
        seen->bound = lower_bound(w, p->where, t, &seen->bound_column);
    }
    if (!known || n) {
        row_touch *c = touch(w, row, p->kind == S_DELETE ? TOUCH_DELETE : TOUCH_UPDATE);
        c->changes = changes;
        c->n_changes = p->n_set;
    }
    note_writer(w, row);
    if (p->kind == S_UPDATE && s->n_rows == 1 && s->n_cols == p->n_returning)
        touch(w, row, TOUCH_SEEN)->shown =
            cells_shown(w, t, p->returning, p->n_returning, s->cells);
}

/* The row that the r-th row of VALUES makes; a key that the database chose may be in the answer. */
static uint32_t inserted_row(initial_rows *w, uint32_t of, const plan *p, const log_stmt *s,
                             uint32_t r)
{
    const open_table *t = &w->tables[of];
    const char *key[32];
    if (!t->n_key || t->n_key > 32) return UINT32_MAX;
    if (p->n_rows == 1 && s->n_rows == 1 && s->n_cols == p->n_returning) {
        const cell **shown = cells_shown(w, t, p->returning, p->n_returning, s->cells);
        uint32_t row = shown_row(w, of, shown);
        if (row != UINT32_MAX) return row;
    }
    for (uint32_t k = 0; k < t->n_key; k++) {
        key[k] = NULL;
        for (uint32_t i = 0; i < p->n_columns; i++) {
            const expr *e = p->rows[(size_t)r * p->n_columns + i];
            value v;
            if (p->columns[i] != t->key[k] || !e || e->t.id != t->cols[t->key[k]].t.id) continue;
            if (fixed(w, e, &v) && !v.null) key[k] = key_text(w, e->t.id, v);
        }
        if (!key[k]) return UINT32_MAX;
    }
    return row_of(w, of, key);
}

static void see_insert(initial_rows *w, uint32_t of, const plan *p, const log_stmt *s, open_use *u)
{
    open_table *t = &w->tables[of];
    uint64_t n = s->has_rows ? s->n_rows : s->count;
    assert(p->target && p->kind == S_INSERT && !s->has_error);
    bool by_key = p->arbiter >= 0 && p->target->unique[p->arbiter].primary;
    bool good = p->rows && !p->q && (p->conflict == ON_CONFLICT_RAISE || by_key || !t->more_keys);
    bool made = p->conflict == ON_CONFLICT_RAISE;
    bool all = made || (p->conflict == ON_CONFLICT_NOTHING && (s->has_rows || s->has_count) &&
                        n == p->n_rows);
    for (uint32_t i = 0; i < p->n_set; i++) {
        for (uint32_t k = 0; k < t->n_key; k++) good &= t->key[k] != p->set[i].column;
        good &= looks(p->set[i].e, t);
    }
    for (uint32_t i = 0; good && i < p->n_rows * p->n_columns; i++) good = looks(p->rows[i], t);
    good = good && looks(p->conflict_where, t) && outputs_look(p->returning, p->n_returning, t);
    u->by_row = good;
    for (uint32_t r = 0; good && r < p->n_rows; r++) {
        uint32_t row = inserted_row(w, of, p, s, r);
        u->by_row = good = row != UINT32_MAX;
        if (!good) return;
        use_row(w, u, row);
        if (all) {
            touch(w, row, TOUCH_ABSENT)->newest = true;
            touch(w, row, TOUCH_INSERT);
        } else if (p->conflict == ON_CONFLICT_NOTHING && p->n_rows == 1 &&
                   (s->has_rows || s->has_count)) {
            touch(w, row, TOUCH_SEEN)->newest = true;
        }
        note_writer(w, row);
        if (all || p->conflict == ON_CONFLICT_NOTHING) continue;
        row_touch *c = touch(w, row, TOUCH_UPDATE); /* or it is inserted: nothing is concluded */
        column_change *lost = arena_array(w->kept, column_change, t->n_cols + 1);
        for (uint32_t k = 0; k < t->n_cols; k++) lost[k] = (column_change){.column = k, .how = '?'};
        c->upsert = true;
        c->changes = lost;
        c->n_changes = t->n_cols;
    }
}

/* ---- all statements -------------------------------------------------------------------------- */

static uint64_t tables_mentioned(const initial_rows *w, const log_text *t)
{
    uint64_t all = 0;
    assert(w->n_tables && w->n_tables <= OPEN_TABLES && t->at);
    for (uint32_t i = 0; i < w->n_tables; i++)
        if (statement_names(t, w->tables[i].name)) all |= (uint64_t)1 << i;
    return strstr(t->at, "&\"") ? UINT64_MAX >> (64 - w->n_tables) : all; /* U&"..." */
}

static void see_plan(initial_rows *w, const plan *p, const log_stmt *s, open_use *u)
{
    uint32_t of = table_number(w, p->target);
    bool changes = p->kind == S_INSERT || p->kind == S_UPDATE || p->kind == S_DELETE;
    if (p->kind == S_NOTHING || p->kind == S_UNSEEN) {
        u->tables = 0; /* it is left as it is */
        return;
    }
    const log_text *text = &w->e->log->texts.at[s->text];
    if (p->kind == S_DO || statement_names(text, "setval") || statement_names(text, "set_config")) {
        w->lost = "a statement does more than its text shows";
        return;
    }
    if (p->n_writes || (changes && p->target && of == UINT32_MAX) ||
        (!changes && p->kind != S_SELECT)) {
        if (u->tables) w->lost = "a statement does more with them than their rows show";
        return;
    }
    u->writes = changes;
    if (p->kind == S_SELECT) see_select(w, p->q, s, u);
    if (p->kind == S_UPDATE || p->kind == S_DELETE) see_change(w, of, p, s, u);
    if (p->kind == S_INSERT) see_insert(w, of, p, s, u);
    if (!changes || of == UINT32_MAX) return;
    open_table *t = &w->tables[of];
    if (!t->writers.n || t->writers.at[t->writers.n - 1] != w->txn)
        vec_push(w->e->mem, &t->writers, w->txn);
    t->lost |= !u->by_row;
}

/* A statement that failed wrote nothing, and what it met is not looked into. */
static void see_error(initial_rows *w, const open_use *u)
{
    const uint32_t *undone = w->e->marks.undone[w->txn];
    if (u->tables && !(undone && undone[w->stmt]))
        w->lost = "a statement on them failed, and nothing took it back";
}

static void see_statement(initial_rows *w, const log_stmt *s)
{
    engine *e = w->e;
    guard *g = e->guard, outer;
    guard_tick(g);
    open_use u = {.txn = w->txn,
                  .stmt = w->stmt,
                  .tables = w->mentions[s->text],
                  .first = (uint32_t)w->rows_used.n,
                  .end = (uint32_t)w->rows_used.n};
    memcpy(&outer, g, sizeof outer);
    if (guard_armed(g)) {
        int code = g->code;
        guard_restore(g, &outer);
        if (code != SQL_RAISED && code != SQL_REFUSED) {
            g->code = code;
            guard_fail_again(g);
        }
        if (s->has_error)
            see_error(w, &u);
        else
            w->lost = "a statement beside them is not understood";
    } else {
        if (s->has_error)
            see_error(w, &u);
        else
            see_plan(w, engine_plan(e, s), s, &u);
        guard_restore(g, &outer);
    }
    if (u.tables) vec_push(e->mem, &w->uses, u);
    arena_reset(&e->x.work);
}

bool initial_rows_see(initial_rows *w, engine *e, arena *kept)
{
    const sql_log *l = e->log;
    memset(w, 0, sizeof *w);
    w->e = e;
    w->kept = kept;
    strbuf_init(&w->scratch, e->mem);
    if (e->plans.changes_schema || e->store.routines.n || l->hidden_routines || !find_tables(w))
        return false;
    for (size_t i = 0; i < e->store.tables.n; i++)
        if (e->store.tables.at[i]->n_triggers) return false;
    w->mentions = mem_array0(e->mem, uint64_t, l->texts.n + 1);
    for (size_t i = 0; i < l->texts.n; i++) w->mentions[i] = tables_mentioned(w, &l->texts.at[i]);
    for (size_t i = 0; i < l->txns.n; i++) {
        const log_txn *t = &l->txns.at[i];
        if (t->status == LOG_ABORTED) continue;
        e->x.session = t->session;
        w->txn = (uint32_t)i;
        for (w->stmt = 0; w->stmt < t->n_stmts; w->stmt++) see_statement(w, &t->stmts[w->stmt]);
    }
    return w->uses.n > 0;
}

/* ---- what is certain ------------------------------------------------------------------------- */

/* Does it count that a commit was called after a statement had been answered?  Levels without real
   time do not ask, so that few transactions are tried in every order; of many it is taken as given
   (timed_orders.c). */
static bool times_count(const engine *e)
{
    uint32_t ran = 0;
    bool unknown = false;
    for (size_t i = 0; i < e->log->txns.n; i++) {
        ran += e->log->txns.at[i].status != LOG_ABORTED;
        unknown |= e->log->txns.at[i].status == LOG_UNKNOWN;
    }
    if (e->level.strict) return true;
    return ran > FREE_ORDER && !unknown && !e->o->drift && e->level.mode != MODE_ROW;
}

/* May the statement have seen what the other transaction wrote? */
static bool may_have_seen(initial_rows *w, uint32_t txn, uint32_t stmt, uint32_t writer)
{
    const engine *e = w->e;
    assert(txn != writer && stmt < e->log->txns.at[txn].n_stmts);
    const log_txn *t = &e->log->txns.at[txn], *o = &e->log->txns.at[writer];
    if (o->session == t->session && !e->o->no_session_order) return writer < txn;
    const log_stmt *s = &t->stmts[stmt];
    txn_times ours = times_of(e, t), theirs = times_of(e, o);
    if (!w->times_count || !ours.known || !theirs.known) return true;
    int64_t answered = s->has_time ? s->answer : ours.end, called = theirs.call;
    if (o->n_stmts == 1 && o->stmts[0].has_time && o->stmts[0].call < called)
        called = o->stmts[0].call; /* it may commit by itself */
    if (called <= answered + (int64_t)e->o->drift) return true;
    w->timed = true;
    return false;
}

static bool any_may_have_been_seen(initial_rows *w, uint32_t txn, uint32_t stmt,
                                   const uint32_t *writers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (writers[i] != txn && may_have_seen(w, txn, stmt, writers[i])) return true;
    return false;
}

/* Is the text of the answer the whole value?  Floats may be shown with fewer digits, and a number
   without the zeros that count in a numeric. */
static bool is_exact(const open_column *c, const cell *shown)
{
    if (type_is_float(c->t.id) || is_masked(shown)) return false;
    return c->t.id != T_NUMERIC || c->t.width >= 0 || shown->kind != CELL_NUMBER;
}

/* Takes from a touch what was so before the log. */
static void learn(initial_rows *w, const row_touch *t)
{
    assert(t->row < w->rows.n);
    open_row *r = &w->rows.at[t->row];
    const open_table *of = &w->tables[r->table];
    if (t->own || (t->kind != TOUCH_SEEN && t->kind != TOUCH_ABSENT)) return;
    if (w->e->log->txns.at[t->txn].status != LOG_COMMITTED) return;
    bool more = !r->certain;
    for (uint32_t c = 0; t->shown && !more && c < of->n_cols; c++) more = t->shown[c] && !r->is[c];
    if (!more || any_may_have_been_seen(w, t->txn, t->stmt, r->writers.at, r->writers.n)) return;
    if (!r->certain) r->absent = t->kind == TOUCH_ABSENT;
    r->certain = true;
    for (uint32_t c = 0; t->shown && c < of->n_cols; c++)
        if (t->shown[c] && !r->is[c] && is_exact(&of->cols[c], t->shown[c])) r->is[c] = t->shown[c];
}

static uint64_t whole_tables(const initial_rows *w)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < w->n_tables; i++) all |= (uint64_t)w->tables[i].whole << i;
    return all;
}

static void settle_tables(initial_rows *w)
{
    for (uint32_t i = 0; i < w->n_tables; i++) {
        open_table *t = &w->tables[i];
        bool own = false;
        for (size_t k = 0; t->whole && k < t->writers.n; k++)
            own |= t->writers.at[k] == t->whole_txn;
        t->whole =
            t->whole && !own &&
            !any_may_have_been_seen(w, t->whole_txn, t->whole_stmt, t->writers.at, t->writers.n);
    }
    /* what is written to such a table must not come from one that is not */
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < w->uses.n; i++) {
            uint64_t named = w->uses.at[i].tables, whole = whole_tables(w) & named;
            if (!w->uses.at[i].writes || whole == named || !whole) continue;
            for (uint32_t k = 0; k < w->n_tables; k++)
                if (whole >> k & 1) w->tables[k].whole = false;
            more = true;
        }
    }
    for (uint32_t i = 0; i < w->n_tables; i++)
        if (w->tables[i].linked && !w->tables[i].whole)
            w->lost = "foreign keys connect them with other tables";
}

/* Every column that some statement looks at must have been shown. */
static bool shows_enough(const initial_rows *w, const open_row *r)
{
    assert(r->table < w->n_tables && r->certain);
    const open_table *t = &w->tables[r->table];
    if (r->absent) return true;
    for (uint32_t c = 0; c < t->n_cols; c++) {
        bool key = false;
        for (uint32_t k = 0; k < t->n_key; k++) key |= t->key[k] == c;
        if (t->cols[c].used && !key && !r->is[c]) return false;
    }
    return true;
}

bool initial_use_is_certain(const initial_rows *w, const open_use *u)
{
    assert(u->tables && u->first <= u->end && u->end <= w->rows_used.n);
    if (!(u->tables & ~whole_tables(w))) return true;
    for (uint32_t k = u->first; u->by_row && k < u->end; k++)
        if (!w->rows.at[w->rows_used.at[k]].certain) return false;
    return u->by_row;
}

void initial_rows_settle(initial_rows *w)
{
    w->times_count = times_count(w->e);
    settle_tables(w);
    for (size_t i = 0; i < w->touches.n; i++) learn(w, &w->touches.at[i]);
    for (size_t i = 0; i < w->rows.n; i++) {
        open_row *r = &w->rows.at[i];
        r->certain = r->certain && !w->tables[r->table].lost && shows_enough(w, r);
    }
    /* a statement that writes a row that is not certain is left out, with all of its rows */
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < w->uses.n; i++) {
            const open_use *u = &w->uses.at[i];
            if (!u->writes || initial_use_is_certain(w, u)) continue;
            for (uint32_t k = u->first; k < u->end; k++) {
                open_row *r = &w->rows.at[w->rows_used.at[k]];
                more |= r->certain;
                r->certain = false;
            }
        }
    }
}
