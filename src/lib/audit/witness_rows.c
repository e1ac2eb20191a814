/*
 * witness_rows.c - the rows that each transaction of an execution wrote, as they were before and
 * after it.
 *
 * The replay that explained the log has left its states in the store: chains of versions, each with
 * the number of the state that made it.  They are all there if nothing was forgotten on the way
 * (audit_options.keep_states).  ALTER TABLE makes a table anew with copies of its versions; a state
 * is told of the table that it made, and of no table that it took away.
 */
#include <assert.h>
#include <stdio.h>

#include "audit/audit_internal.h"
#include "base/json_writer.h"
#include "base/sort.h"

typedef VEC(audit_change) change_list;

static void put_value(json_writer *w, strbuf *text, type_id t, value v)
{
    assert(w && text);
    if (v.null) {
        jw_null(w);
        return;
    }
    if (v.open) { /* the database chose it, and no answer shows it */
        jw_object(w);
        jw_member_bool(w, "unknown", true);
        jw_end_object(w);
        return;
    }
    text->n = 0;
    value_print(t, v, text);
    const char *is = strbuf_cstr(text);
    if (t == T_BOOL)
        jw_bool(w, *is == 't');
    else if (type_rank(t) && strchr("-0123456789", *is)) /* not NaN */
        jw_raw(w, is, text->n);
    else
        jw_bytes(w, is, text->n);
}

/* A row as a JSON object, or NULL if there is none. */
static const char *row_text(audit *a, strbuf *row, strbuf *text, const table *t,
                            const row_version *v)
{
    if (!v || v->dead) return NULL;
    row->n = 0;
    json_writer w = jw_strbuf(row);
    jw_object(&w);
    for (uint32_t c = 0; c < t->n_cols; c++) {
        jw_name(&w, t->cols[c].name);
        put_value(&w, text, t->cols[c].t.id, vs_known(&a->e.store, v->cols[c]));
    }
    jw_end_object(&w);
    return arena_text(&a->e.kept, row->at, row->n);
}

static void add_changes(audit *a, const table *t, change_list *out)
{
    strbuf row, text;
    strbuf_init(&row, &a->work);
    strbuf_init(&text, &a->work);
    for (uint32_t r = 0; r < t->rows.n; r++) {
        guard_tick(&a->guard);
        for (const row_version *v = t->rows.at[r].head; v; v = v->older) {
            assert(v->commit != PENDING);
            if (!v->commit || v->commit < t->created || v->commit >= t->dropped) continue;
            audit_change c = {.state = v->commit, .table = t->name};
            c.after = row_text(a, &row, &text, t, v);
            c.before = row_text(a, &row, &text, t, v->older);
            /* neither: it deleted, at read committed, what another one had deleted meanwhile */
            if (c.before || c.after) vec_push(&a->work, out, c);
        }
    }
    strbuf_free(&text);
    strbuf_free(&row);
}

int audit_changes(audit *a, const audit_answer *r, const audit_change **at, size_t *n)
{
    *at = NULL;
    *n = 0;
    if (!a || !a->read || r->verdict != AUDIT_HOLDS || !a->e.log || !a->e.o->keep_states)
        return GUARD_INVAL;
    audit_limits(a, &(audit_options){.memory = 0});
    if (guard_armed(&a->guard)) {
        snprintf(a->text, sizeof a->text, "%s", a->guard.text);
        a->line = a->column = 0;
        return a->guard.code;
    }
    change_list all = {0};
    for (size_t i = 0; i < a->e.store.tables.n; i++) add_changes(a, a->e.store.tables.at[i], &all);
    assert(all.n < UINT32_MAX);
    uint64_t *key = mem_array(&a->work, uint64_t, all.n + 1);
    for (size_t i = 0; i < all.n; i++) key[i] = all.at[i].state;
    const uint32_t *by_state = sort_by_key(&a->work, key, (uint32_t)all.n);
    audit_change *out = mem_array(&a->work, audit_change, all.n + 1);
    for (size_t i = 0; i < all.n; i++) out[i] = all.at[by_state[i]];
    *at = out;
    *n = all.n;
    return 0;
}
