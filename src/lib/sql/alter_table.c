/*
 * alter_table.c - ALTER TABLE of a table that has rows, or that other transactions know.
 *
 * A new table takes the old one's place, with all versions of its rows: PostgreSQL does not write
 * rows anew for what is taken here, so that older snapshots go on seeing them, with new columns.
 * ACCESS EXCLUSIVE keeps every other transaction that uses the table away up to the commit; so what
 * a new constraint is tested against are the newest rows.
 */
#include <assert.h>

#include "base/hash.h"
#include "sql/exec.h"

static bool is_word_letter(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (unsigned char)c > 127;
}

/* Is there the name in the text of a query?  An unquoted one may be written with capitals. */
static bool text_has_name(const char *text, const char *name, size_t n)
{
    for (size_t at = 0; text[at]; at++) {
        size_t k = 0;
        while (k < n && (text[at + k] == name[k] || (text[at + k] | 32) == name[k])) k++;
        if (k == n && !(at && is_word_letter(text[at - 1])) && !is_word_letter(text[at + n]))
            return true;
    }
    return false;
}

bool alter_view_reads(const sql_exec *x, const table *t)
{
    const char *dot = strrchr(t->name, '.'), *name = dot ? dot + 1 : t->name;
    size_t n = strlen(name);
    for (size_t i = 0; n && i < x->s->routines.n; i++) {
        const routine *r = x->s->routines.at[i];
        if (r->view && r->dropped == NEVER && text_has_name(r->view, name, n)) return true;
    }
    for (size_t i = 0; n && i < x->s->tables.n; i++) { /* materialized views */
        const table *o = x->s->tables.at[i];
        if (o->source && o->dropped == NEVER && o != t && text_has_name(o->source, name, n))
            return true;
    }
    return false;
}

static bool needs_database(const expr *e)
{
    if (e->kind == E_OPEN || e->kind == E_ROUTINE || e->q) return true;
    for (uint32_t i = 0; i < e->n; i++)
        if (needs_database(e->arg[i])) return true;
    return false;
}

/* What the new columns hold in rows that are there. */
static value *added_values(sql_exec *x, const plan *p, const table *from, const table *to,
                           bool rows)
{
    value *added = arena_array(&x->work, value, to->n_cols + 1);
    frame none = {NULL, NULL, NULL};
    for (uint32_t c = 0; c < to->n_cols; c++) {
        const table_column *col = &to->cols[c];
        added[c] = value_null();
        if (vs_source(from, p->packed, c) != NO_COLUMN) continue;
        if (column_hidden(col)) continue; /* see fill_hidden */
        if (rows && (col->computed || (col->fallback && needs_database(col->fallback))))
            sql_refuse(&x->c, -1, "ADD COLUMN with values that differ from row to row");
        if (rows && col->fallback) added[c] = eval(x, col->fallback, &none);
    }
    return added;
}

static bool key_has_null(const unique_key *u, const value *row)
{
    for (uint32_t i = 0; i < u->n && !u->nulls_equal; i++)
        if (row[u->cols[i]].null) return true;
    return false;
}

/* No two rows have the same key; `state`: the error else, NULL: refused. */
static void test_unique(sql_exec *x, const table *t, const unique_key *u, const char *state)
{
    uint32_t cap = 16;
    while (cap < 2 * t->rows.n) cap *= 2;
    const value **slot = arena_array(&x->work, const value *, cap);
    memset(slot, 0, cap * sizeof *slot);
    for (uint32_t r = 0; r < t->rows.n; r++) {
        const row_version *v = exec_now(x, t, r);
        if (!v || v->dead || key_has_null(u, v->cols)) continue;
        uint64_t h = 0;
        guard_tick(x->c.guard);
        for (uint32_t i = 0; i < u->n; i++) {
            if (v->cols[u->cols[i]].open)
                sql_refuse(&x->c, -1, "a unique key of values that nobody observed");
            h = hash_pair(h, value_hash(t->cols[u->cols[i]].t.id, v->cols[u->cols[i]]));
        }
        uint32_t at = (uint32_t)hash_u64(h) & (cap - 1);
        for (; slot[at]; at = (at + 1) & (cap - 1)) {
            uint32_t i = 0;
            while (i < u->n &&
                   value_same(t->cols[u->cols[i]].t.id, slot[at][u->cols[i]], v->cols[u->cols[i]]))
                i++;
            if (i < u->n) continue;
            if (!state) sql_refuse(&x->c, -1, "CONCURRENTLY, where rows have equal keys");
            sql_raise(&x->c, state, "could not create unique index");
        }
        slot[at] = v->cols;
    }
}

static const void *key_identity(const unique_key *u)
{
    return u->same ? u->same : u->cols;
}

/* The constraints that the old table did not have, on the newest rows. */
static void test_rows(sql_exec *x, const plan *p, const table *from, table *to)
{
    uint32_t failing = 0, checks = p->tests_all ? 0 : from->n_checks;
    if (p->tests_none) return;
    const char *state = NULL;
    for (uint32_t r = 0; r < to->rows.n; r++) {
        const row_version *v = exec_now(x, to, r);
        if (!v || v->dead) continue;
        const value *row = v->cols;
        frame f = {&row, NULL, NULL};
        guard_tick(x->c.guard);
        for (uint32_t c = 0; c < to->n_cols; c++)
            if (to->cols[c].not_null && row[c].null) state = "23502", failing |= 1;
        for (uint32_t i = checks; i < to->n_checks; i++) {
            value ok = eval(x, to->checks[i], &f);
            if (!ok.null && !ok.i) state = "23514", failing |= 2;
        }
        if (to->n_foreign > (p->tests_all ? 0 : from->n_foreign)) {
            if (x->state != x->latest)
                sql_refuse(&x->c, -1, "ADD FOREIGN KEY in a transaction with an older snapshot");
            refer_note(x, to, NULL, row);
        }
    }
    if (failing == 3) sql_refuse(&x->c, -1, "ALTER TABLE that fails in two ways");
    if (failing) sql_raise(&x->c, state, "a row violates the new constraint");
    for (uint32_t i = 0; i < to->n_unique; i++) {
        uint32_t k = 0; /* a key that the old table had shares its columns */
        while (k < from->n_unique && key_identity(&from->unique[k]) != key_identity(&to->unique[i]))
            k++;
        if (k == from->n_unique) test_unique(x, to, &to->unique[i], "23505");
    }
}

static uint32_t primaries(const table *t)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n_unique; i++) n += t->unique[i].primary;
    return n;
}

/* A view of SELECT * keeps the columns that there were. */
static void refuse_views(sql_exec *x)
{
    for (size_t i = 0; i < x->s->routines.n; i++) {
        const routine *r = x->s->routines.at[i];
        if (r->view && r->dropped == NEVER && strchr(r->view, '*'))
            sql_refuse(&x->c, -1, "ADD COLUMN beside a view of all columns");
    }
}

/* The keys that a new index has in one version of a row.  One that cannot be computed may be of a
   row that is gone, which PostgreSQL would not have looked at. */
static void fill_hidden(void *ud, const table *t, value *cols)
{
    sql_exec *x = ud;
    guard *g = x->c.guard, outer;
    memcpy(&outer, g, sizeof outer);
    if (guard_armed(g)) {
        bool raised = g->code == SQL_RAISED;
        guard_restore(g, &outer);
        if (!raised) guard_fail_again(g);
        sql_refuse(&x->c, -1, "a unique index whose expression fails (%s)", x->c.state);
    }
    exec_index_row(x, t, cols);
    guard_restore(g, &outer);
}

static bool has_hidden_keys(const plan *p, const table *from, const table *to)
{
    for (uint32_t c = 0; c < to->n_cols; c++)
        if (vs_source(from, p->packed, c) == NO_COLUMN && column_hidden(&to->cols[c])) return true;
    return false;
}

static uint32_t visible_columns(const table *t)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n_cols; i++) n += !column_hidden(&t->cols[i]);
    return n;
}

/* Changes of types: PostgreSQL writes the newest rows anew, and older snapshots, which show
   neither these nor the old ones, find the table empty. */
static void rewrite_rows(sql_exec *x, const plan *p, const table *from, table *to)
{
    for (uint32_t r = 0; r < from->rows.n; r++) {
        const row_version *v = exec_now(x, from, r);
        if (!v || v->dead) continue;
        guard_tick(x->c.guard);
        const value *old = v->cols;
        frame f = {&old, NULL, NULL};
        value *row = arena_array(&x->work, value, to->n_cols + 1u);
        memcpy(row, old, to->n_cols * sizeof *row);
        for (uint32_t c = 0; c < to->n_cols; c++)
            if (p->convert[c]) row[c] = eval(x, p->convert[c], &f);
        vs_insert(x->s, to, row, x->regs.cid);
    }
    test_rows(x, p, from, to);
    for (uint32_t i = 0; i < to->n_unique; i++) test_unique(x, to, &to->unique[i], "23505");
}

static bool rewrites(const plan *p)
{
    for (uint32_t c = 0; p->convert && c < p->altered->n_cols; c++)
        if (p->convert[c]) return true;
    return false;
}

void exec_alter(sql_exec *x, const plan *p)
{
    table *from = p->altered;
    bool rows = from->rows.n > from->free_rows.n;
    if (x->regs.calls) sql_refuse(&x->c, -1, "ALTER TABLE in a body");
    if (from->unknown || from->truncated)
        sql_refuse(&x->c, -1, "ALTER TABLE of a table that was truncated or is unknown");
    if (visible_columns(p->created) > visible_columns(from)) refuse_views(x);
    if (strcmp(from->name, p->created->name) != 0 && vs_find(x->s, p->created->name, x->latest))
        sql_raise(&x->c, "42P07", "relation \"%s\" already exists", p->created->name);
    if (primaries(p->created) > 1)
        sql_raise(&x->c, "42P16", "multiple primary keys are not allowed");
    table *to = arena_get(&x->s->names, sizeof *to);
    *to = (table){.name = p->created->name,
                  .n_cols = p->created->n_cols,
                  .n_unique = p->created->n_unique,
                  .unique = p->created->unique,
                  .n_checks = p->created->n_checks,
                  .checks = p->created->checks,
                  .check_names = p->created->check_names,
                  .n_loose = p->created->n_loose,
                  .n_triggers = p->created->n_triggers,
                  .triggers = p->created->triggers,
                  .unguarded = p->created->unguarded,
                  .temporary = from->temporary,
                  .parts = p->created->parts,
                  .read_only = from->read_only,
                  .source = from->source,
                  .on_commit = from->on_commit,
                  .n_foreign = p->created->n_foreign,
                  .foreign = p->created->foreign};
    to->cols = arena_array(&x->s->names, table_column, to->n_cols + 1u);
    memcpy(to->cols, p->created->cols, to->n_cols * sizeof *to->cols);
    for (uint32_t c = 0; c < to->n_cols; c++) {
        uint32_t k = vs_source(from, p->packed, c);
        if (k == NO_COLUMN) continue;
        assert(to->cols[c].t.id == from->cols[k].t.id || p->convert);
        to->cols[c].changed |= from->cols[k].changed;
        to->cols[c].holes |= from->cols[k].holes;
    }
    value *added = added_values(x, p, from, to, rows);
    vs_drop(x->s, from);
    vs_create(x->s, to);
    if (rewrites(p)) {
        rewrite_rows(x, p, from, to);
        return;
    }
    vs_remake(x->s, from, to, p->packed, added, has_hidden_keys(p, from, to) ? fill_hidden : NULL,
              x);
    if (rows) test_rows(x, p, from, to);
}

/* The rows of the query take the place of those that were there.  What others see while they have
   an older snapshot is not told by it: the new rows, but for CONCURRENTLY. */
void exec_refresh(sql_exec *x, const plan *p)
{
    table *t = p->altered;
    sql_result made;
    assert(t->read_only && p->q->n_out <= t->n_cols);
    if (x->regs.calls) sql_refuse(&x->c, -1, "REFRESH in a body");
    x->regs.many = 1;
    exec_query(x, p->q, NULL, &made);
    exec_cut(x, p->q, &made);
    for (uint32_t r = 0; r < t->rows.n; r++) {
        guard_tick(x->c.guard);
        const row_version *v = exec_now(x, t, r);
        if (v && !v->dead) vs_update(x->s, t, r, NULL, x->regs.cid);
    }
    for (uint32_t r = 0; r < made.n; r++) {
        guard_tick(x->c.guard);
        value *row = arena_array(&x->work, value, t->n_cols + 1u);
        for (uint32_t c = 0; c < t->n_cols; c++)
            row[c] = c < made.n_cols ? made.rows[r][c] : value_null();
        exec_index_row(x, t, row);
        vs_insert(x->s, t, row, x->regs.cid);
    }
    for (uint32_t i = 0; i < t->n_unique; i++)
        test_unique(x, t, &t->unique[i], p->quiet ? NULL : "23505");
    if (!p->quiet) t->truncated = true;
}
