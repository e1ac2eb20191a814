/*
 * function_rows.c - the rows of functions in FROM: generate_series, unnest, jsonb_array_elements,
 * jsonb_each, jsonb_to_recordset.
 *
 * A row has the columns of its query's output; WITH ORDINALITY adds the row's number as the last.
 */
#include <assert.h>

#include "sql/exec.h"
#include "sql/interval.h"
#include "sql/jsonb.h"
#include "sql/sql_array.h"

#define MOST_SERIES 10000000

/* Room for the next row, with its number. */
static value *next_row(sql_exec *x, const query *q, made_rows *out)
{
    guard_tick(x->c.guard);
    if (out->n >= MOST_SERIES) sql_refuse(&x->c, q->position, "a series of this length");
    value *row = arena_array(&x->work, value, q->n_out + 1);
    if (q->numbered) row[q->n_out - 1] = value_int((int64_t)out->n + 1);
    arena_push(&x->work, out, row);
    return row;
}

static value member_value(sql_exec *x, const jsonb_node *at, bool text)
{
    if (text && at->kind == JSON_NULL) return value_null();
    return text && at->kind == JSON_STRING ? at->text : jsonb_write(&x->c, at);
}

/* jsonb_each: keys and values, these as text if their column is one. */
static void member_pairs(sql_exec *x, const query *q, const jsonb_node *j, made_rows *out)
{
    if (j->kind != JSON_OBJECT) sql_raise(&x->c, "22023", "cannot call jsonb_each on a non-object");
    for (uint32_t i = 0; i < j->n; i++) {
        value *row = next_row(x, q, out);
        row[0] = j->keys[i];
        row[1] = member_value(x, j->items[i], q->out[1].e->t.id == T_TEXT);
    }
}

/* A member as a column of a record: its text as the type reads it. */
static value field_value(sql_exec *x, const jsonb_node *j, const out_column *c)
{
    int at = jsonb_key_at(j, value_text(c->name, strlen(c->name)));
    if (at < 0 || j->items[at]->kind == JSON_NULL) return value_null();
    value v = member_value(x, j->items[at], true);
    return value_parse(&x->c, c->e->t, v.s, v.n);
}

static void record_row(sql_exec *x, const query *q, const jsonb_node *j, made_rows *out)
{
    if (j->kind != JSON_OBJECT)
        sql_raise(&x->c, "22023", "argument of jsonb_to_recordset must be an array of objects");
    value *row = next_row(x, q, out);
    for (uint32_t i = 0; i + q->numbered < q->n_out; i++) row[i] = field_value(x, j, &q->out[i]);
}

static void record_rows(sql_exec *x, const query *q, const jsonb_node *j, made_rows *out)
{
    if (q->records == RECORD_ONE) {
        record_row(x, q, j, out);
        return;
    }
    if (j->kind != JSON_ARRAY)
        sql_raise(&x->c, "22023", "cannot call jsonb_to_recordset on a non-array");
    for (uint32_t i = 0; i < j->n; i++) record_row(x, q, j->items[i], out);
}

/* unnest of several arrays: side by side, nulls where one has ended. */
static void side_by_side(sql_exec *x, const query *q, frame *f, made_rows *out)
{
    uint32_t n = q->n_side, *have = arena_array(&x->work, uint32_t, n + 1), most = 0;
    value **items = arena_array(&x->work, value *, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        value v = eval(x, q->side[i], f);
        have[i] = 0;
        if (!v.null) items[i] = array_items(&x->work, type_element(q->side[i]->t.id), v, &have[i]);
        if (have[i] > most) most = have[i];
    }
    for (uint32_t k = 0; k < most; k++) {
        value *row = next_row(x, q, out);
        for (uint32_t i = 0; i < n; i++) row[i] = k < have[i] ? items[i][k] : value_null();
    }
}

static void item_rows(sql_exec *x, const query *q, frame *f, made_rows *out)
{
    type_id t = q->series[0]->t.id;
    value v = eval(x, q->series[0], f), item;
    if (v.null && q->records == RECORD_ONE)
        sql_refuse(&x->c, q->position, "jsonb_to_record of a null");
    if (v.null) return;
    if (type_is_array(t)) {
        array_walk w = array_begin_walk(type_element(t), v);
        while (array_next(&w, &item)) *next_row(x, q, out) = item;
        return;
    }
    const jsonb_node *j = jsonb_read(&x->c, v.s, v.n);
    if (q->records) {
        record_rows(x, q, j, out);
        return;
    }
    if (q->n_out - q->numbered == 2) {
        member_pairs(x, q, j, out);
        return;
    }
    if (j->kind != JSON_ARRAY) sql_raise(&x->c, "22023", "cannot extract elements from this");
    for (uint32_t i = 0; i < j->n; i++)
        *next_row(x, q, out) = member_value(x, j->items[i], q->out[0].e->t.id == T_TEXT);
}

static void stamp_rows(sql_exec *x, const query *q, const value *v, made_rows *out)
{
    interval by = interval_of(v[2]), none = {0, 0, 0};
    int sign = interval_cmp(by, none);
    if (!sign) sql_raise(&x->c, "22023", "step size cannot equal zero");
    for (int64_t at = v[0].i; sign > 0 ? at <= v[1].i : at >= v[1].i;) {
        *next_row(x, q, out) = value_int(at);
        at = interval_move(&x->c, at, by, 1);
    }
}

void series_rows(sql_exec *x, const query *q, frame *up, made_rows *out)
{
    frame f = {NULL, up, NULL};
    value v[3] = {{0}};
    assert(q->series[0]);
    if (q->n_side) {
        side_by_side(x, q, &f, out);
        return;
    }
    if (!q->series[1]) {
        item_rows(x, q, &f, out);
        return;
    }
    for (int i = 0; i < 3; i++) {
        v[i] = q->series[i] ? eval(x, q->series[i], &f) : value_int(1);
        if (v[i].null) return;
    }
    if (type_is_moment(q->series[0]->t.id)) {
        stamp_rows(x, q, v, out);
        return;
    }
    int64_t step = v[2].i;
    if (!step) sql_raise(&x->c, "22023", "step size cannot equal zero");
    for (int64_t at = v[0].i; step > 0 ? at <= v[1].i : at >= v[1].i;) {
        *next_row(x, q, out) = value_int(at);
        if (__builtin_add_overflow(at, step, &at)) break;
    }
}
