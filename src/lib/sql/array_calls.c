/*
 * array_calls.c - functions and operators of arrays, their subscripts and constructors.
 */
#include <assert.h>

#include "sql/builtin.h"
#include "sql/sql_array.h"

static type_id element_of(const expr *e, uint32_t i)
{
    return type_element(e->arg[i]->t.id);
}

static bool has_item(type_id of, value array, value item)
{
    array_walk w = array_begin_walk(of, array);
    value v;
    while (array_next(&w, &v))
        if (!v.null && !item.null && !value_cmp(of, v, item)) return true;
    return false;
}

static bool contains_all(sql_exec *x, type_id of, value outer, value inner)
{
    array_walk w = array_begin_walk(of, inner);
    value v;
    while (array_next(&w, &v)) {
        guard_tick(x->c.guard);
        if (v.null || !has_item(of, outer, v)) return false;
    }
    return true;
}

static value array_contains(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    return value_bool(contains_all(x, element_of(e, 0), v[0], v[1]));
}
static value array_contained(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    return value_bool(contains_all(x, element_of(e, 0), v[1], v[0]));
}
static value array_overlaps(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    array_walk w = array_begin_walk(element_of(e, 0), v[1]);
    value item;
    while (array_next(&w, &item)) {
        guard_tick(x->c.guard);
        if (has_item(element_of(e, 0), v[0], item)) return value_bool(true);
    }
    return value_bool(false);
}

/* The items of two arrays or values one after the other; a null array has none. */
static value joined(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2);
    type_id of = type_element(e->t.id);
    uint32_t n[2] = {0, 0};
    value *items[2] = {NULL, NULL}, one[2];
    bool array[2];
    for (int i = 0; i < 2; i++) {
        array[i] = type_is_array(e->arg[i]->t.id);
        if (array[i] && !v[i].null) items[i] = array_items(&x->work, of, v[i], &n[i]);
        if (!array[i]) one[i] = v[i], items[i] = &one[i], n[i] = 1;
    }
    if (array[0] && array[1] && v[0].null && v[1].null) return value_null();
    value *all = arena_array(&x->work, value, (size_t)n[0] + n[1] + 1);
    for (uint32_t i = 0; i < n[0] + n[1]; i++) all[i] = i < n[0] ? items[0][i] : items[1][i - n[0]];
    return array_make(&x->work, of, all, (size_t)n[0] + n[1]);
}

/* array_length, array_upper of dimension 1; an empty array has no dimension. */
static value length_of(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    uint32_t n = array_count(v[0]);
    (void)x, (void)e;
    return v[1].i == 1 && n ? value_int(n) : value_null();
}
static value lower_of(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    (void)x, (void)e;
    return v[1].i == 1 && array_count(v[0]) ? value_int(1) : value_null();
}
static value cardinality(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 1 && !v[0].null);
    (void)x, (void)e;
    return value_int(array_count(v[0]));
}

static value place_of(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2);
    value item;
    (void)x;
    if (v[0].null) return value_null();
    array_walk w = array_begin_walk(element_of(e, 0), v[0]);
    for (int64_t i = 1; array_next(&w, &item); i++)
        if (value_same(element_of(e, 0), item, v[1])) return value_int(i);
    return value_null();
}

static value replaced(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n >= 2 && e->n <= 3);
    uint32_t n, k = 0;
    if (v[0].null) return value_null();
    value *items = array_items(&x->work, element_of(e, 0), v[0], &n);
    for (uint32_t i = 0; i < n; i++) {
        bool hit = value_same(element_of(e, 0), items[i], v[1]);
        if (!hit)
            items[k++] = items[i];
        else if (e->n > 2)
            items[k++] = v[2];
    }
    return array_make(&x->work, element_of(e, 0), items, k);
}

static value to_text(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n >= 2 && e->n <= 3);
    type_id of = element_of(e, 0);
    if (v[0].null || v[1].null) return value_null();
    if (of == T_STAMPTZ && x->c.zone != ZONE_UTC)
        sql_refuse(&x->c, e->position, "what depends on the session's time zone");
    array_walk w = array_begin_walk(of, v[0]);
    value item;
    bool first = true;
    strbuf b;
    strbuf_init(&b, x->work.mem);
    while (array_next(&w, &item)) {
        if (item.null && (e->n < 3 || v[2].null)) continue;
        if (!first) strbuf_add(&b, v[1].s, v[1].n);
        first = false;
        if (item.null)
            strbuf_add(&b, v[2].s, v[2].n);
        else
            value_write(&x->c, of, item, &b);
    }
    value r = value_text(arena_text(&x->work, b.n ? b.at : "", b.n), b.n);
    strbuf_free(&b);
    return r;
}

static value subscript(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    array_walk w = array_begin_walk(element_of(e, 0), v[0]);
    value item;
    (void)x;
    for (int64_t i = 1; array_next(&w, &item); i++)
        if (i == v[1].i) return item;
    return value_null();
}

static value slice(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 3 && !v[0].null && !v[1].null);
    uint32_t n;
    value *items = array_items(&x->work, element_of(e, 0), v[0], &n);
    int64_t from = v[1].i < 1 ? 1 : v[1].i, to = v[2].i > n ? n : v[2].i;
    if (from > to) return array_make(&x->work, element_of(e, 0), NULL, 0);
    return array_make(&x->work, element_of(e, 0), items + from - 1, (size_t)(to - from + 1));
}

/* array_fill(v, ARRAY[n]) of one dimension. */
static value filled(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2);
    uint32_t n;
    if (type_element(e->t.id) != T_INT4) sql_refuse(&x->c, e->position, "array_fill of this type");
    if (v[1].null) sql_raise(&x->c, "22004", "dimension array or low bound array cannot be null");
    value *size = array_items(&x->work, T_INT4, v[1], &n);
    if (n > 1) sql_refuse(&x->c, e->position, "array_fill of several dimensions");
    if (!n || (!size[0].null && !size[0].i)) return array_make(&x->work, T_INT4, NULL, 0);
    if (size[0].null) sql_raise(&x->c, "22004", "dimension values cannot be null");
    if (size[0].i < 0 || size[0].i > 1000000)
        sql_refuse(&x->c, e->position, "array_fill of this size");
    value *all = arena_array(&x->work, value, (size_t)size[0].i + 1);
    for (int64_t i = 0; i < size[0].i; i++) all[i] = v[0];
    return array_make(&x->work, T_INT4, all, (size_t)size[0].i);
}

/* ARRAY[...], bound apart: the arguments have the type of the items. */
static value constructed(sql_exec *x, const expr *e, const value *v)
{
    return array_make(&x->work, type_element(e->t.id), v, e->n);
}
const builtin array_constructor = {"ARRAY", "", constructed, BUILTIN_NULLS};

const builtin array_builtins[] = {
    {"@>", "AA>b", array_contains, 0},
    {"<@", "AA>b", array_contained, 0},
    {"&&", "AA>b", array_overlaps, 0},
    {"||", "AA>A", joined, BUILTIN_NULLS},
    {"||", "Ae>A", joined, BUILTIN_NULLS},
    {"||", "eA>A", joined, BUILTIN_NULLS},
    {"array_append", "Ae>A", joined, BUILTIN_NULLS},
    {"array_prepend", "eA>A", joined, BUILTIN_NULLS},
    {"array_cat", "AA>A", joined, BUILTIN_NULLS},
    {"array_length", "A4>4", length_of, 0},
    {"array_upper", "A4>4", length_of, 0},
    {"array_lower", "A4>4", lower_of, 0},
    {"cardinality", "A>4", cardinality, 0},
    {"array_position", "Ae>4", place_of, BUILTIN_NULLS},
    {"array_remove", "Ae>A", replaced, BUILTIN_NULLS},
    {"array_replace", "Aee>A", replaced, BUILTIN_NULLS},
    {"array_to_string", "At>t", to_text, BUILTIN_NULLS | BUILTIN_STABLE},
    {"array_to_string", "Att>t", to_text, BUILTIN_NULLS | BUILTIN_STABLE},
    {"array_fill", "4A>A", filled, BUILTIN_NULLS | BUILTIN_EXACT},
    {"[]", "A4>e", subscript, 0},
    {"[:]", "A44>A", slice, 0},
    {NULL, NULL, NULL, 0},
};
