/*
 * record_calls.c - the text of a row, and values with a part that is set.
 */
#include <assert.h>

#include "sql/builtin.h"
#include "sql/jsonb.h"
#include "sql/sql_array.h"

static bool needs_quotes(const strbuf *b)
{
    if (!b->n) return true;
    for (size_t i = 0; i < b->n; i++)
        if (strchr("\"\\(),", b->at[i]) || b->at[i] == ' ' ||
            (b->at[i] >= '\t' && b->at[i] <= '\r'))
            return true;
    return false;
}

/* record_out: commas between, nothing for a null. */
static value row_text(sql_exec *x, const expr *e, const value *v)
{
    strbuf row, field;
    strbuf_init(&row, x->work.mem);
    strbuf_init(&field, x->work.mem);
    strbuf_char(&row, '(');
    for (uint32_t i = 0; i < e->n; i++) {
        if (i) strbuf_char(&row, ',');
        if (v[i].null) continue;
        field.n = 0;
        value_write(&x->c, e->arg[i]->t.id, v[i], &field);
        if (!needs_quotes(&field)) {
            strbuf_add(&row, field.at, field.n);
            continue;
        }
        strbuf_char(&row, '"');
        for (size_t k = 0; k < field.n; k++) {
            if (field.at[k] == '"' || field.at[k] == '\\') strbuf_char(&row, field.at[k]);
            strbuf_char(&row, field.at[k]);
        }
        strbuf_char(&row, '"');
    }
    strbuf_char(&row, ')');
    value r = value_text(arena_text(&x->work, row.at, row.n), row.n);
    strbuf_free(&field);
    strbuf_free(&row);
    return r;
}
const builtin record_text = {"record", "", row_text, BUILTIN_NULLS | BUILTIN_STABLE};

/* array[i] = v: an item, the one after the last, or with nulls between. */
static value set_item(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 3);
    type_id of = type_element(e->t.id);
    uint32_t n = 0;
    if (v[1].null) sql_raise(&x->c, "22004", "array subscript in assignment must not be null");
    value *items = v[0].null ? NULL : array_items(&x->work, of, v[0], &n);
    int64_t at = v[1].i;
    if (at < 1 || (!n && at != 1) || at > 1000000)
        sql_refuse(&x->c, e->position, "an array with bounds");
    uint32_t size = (uint32_t)at > n ? (uint32_t)at : n;
    value *all = arena_array(&x->work, value, size + 1u);
    for (uint32_t i = 0; i < size; i++) all[i] = i < n ? items[i] : value_null();
    all[at - 1] = v[2];
    return array_make(&x->work, of, all, size);
}
const builtin array_item_set = {"set item", "", set_item, BUILTIN_NULLS};

/* jsonb['key'] = v, of an object or where there is none yet. */
static value set_member(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 3);
    if (v[1].null) sql_raise(&x->c, "22004", "jsonb subscript in assignment must not be null");
    jsonb_node *to = v[0].null ? jsonb_read(&x->c, "{}", 2) : jsonb_read(&x->c, v[0].s, v[0].n);
    if (to->kind != JSON_OBJECT)
        sql_refuse(&x->c, e->position, "SET of a key of a jsonb that is no object");
    value is = v[2].null ? value_text("null", 4) : v[2];
    jsonb_node *item = jsonb_read(&x->c, is.s, is.n);
    int at = jsonb_key_at(to, v[1]);
    if (at >= 0) {
        to->items[at] = item;
        return jsonb_write(&x->c, to);
    }
    jsonb_node *more = jsonb_new(&x->work, JSON_OBJECT, to->n + 1);
    for (uint32_t i = 0; i < to->n; i++) more->keys[i] = to->keys[i], more->items[i] = to->items[i];
    more->keys[to->n] = v[1];
    more->items[to->n] = item;
    jsonb_sort_keys(&x->c, more);
    return jsonb_write(&x->c, more);
}
const builtin jsonb_member_set = {"set member", "", set_member, BUILTIN_NULLS};
