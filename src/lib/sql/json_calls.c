/*
 * json_calls.c - functions and operators of json and jsonb.
 *
 * A jsonb is read into a tree, looked into or changed, and written again.  What an operator takes
 * out of a json is the piece of its text.
 */
#include <assert.h>

#include "sql/builtin.h"
#include "sql/jsonb.h"
#include "sql/sql_array.h"

static jsonb_node *tree_of(sql_exec *x, value v)
{
    return jsonb_read(&x->c, v.s, v.n);
}

static const jsonb_node *item_at(const jsonb_node *j, int64_t i)
{
    if (j->kind != JSON_ARRAY) return NULL;
    if (i < 0) i += j->n;
    return i >= 0 && i < j->n ? j->items[i] : NULL;
}

static const jsonb_node *member(const jsonb_node *j, value key)
{
    int at = j->kind == JSON_OBJECT ? jsonb_key_at(j, key) : -1;
    return at < 0 ? NULL : j->items[at];
}

static value as_json(sql_exec *x, const expr *e, const jsonb_node *j)
{
    if (!j) return value_null();
    return e->t.id == T_JSON ? j->raw : jsonb_write(&x->c, j);
}

/* ->> gives a string without its quotes, and SQL's null for null. */
static value as_text(sql_exec *x, const expr *e, const jsonb_node *j)
{
    if (!j || j->kind == JSON_NULL) return value_null();
    if (j->kind == JSON_STRING) return j->text;
    return e->arg[0]->t.id == T_JSON ? j->raw : jsonb_write(&x->c, j);
}

static value key_json(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    return as_json(x, e, member(tree_of(x, v[0]), v[1]));
}
static value key_text(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    return as_text(x, e, member(tree_of(x, v[0]), v[1]));
}
/* PostgreSQL keeps a jsonb that is a scalar as an array of one item, which shows here. */
static const jsonb_node *item_of(sql_exec *x, const expr *e, const value *v)
{
    const jsonb_node *j = tree_of(x, v[0]);
    bool alone = j->kind < JSON_ARRAY && e->arg[0]->t.id == T_JSONB;
    if (alone) return v[1].i == 0 || v[1].i == -1 ? j : NULL;
    return item_at(j, v[1].i);
}
static value index_json(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    return as_json(x, e, item_of(x, e, v));
}
static value index_text(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    return as_text(x, e, item_of(x, e, v));
}

/* A step of a path as the place in an array; false: it is no number. */
static bool path_index(value step, int64_t *i)
{
    int64_t r = 0;
    size_t at = 0;
    while (at < step.n && (step.s[at] == ' ' || (step.s[at] >= '\t' && step.s[at] <= '\r'))) at++;
    bool minus = at < step.n && step.s[at] == '-';
    at += at < step.n && (step.s[at] == '-' || step.s[at] == '+');
    if (at == step.n) return false;
    for (; at < step.n; at++) {
        if (step.s[at] < '0' || step.s[at] > '9' || r > INT32_MAX) return false;
        r = r * 10 + (step.s[at] - '0');
    }
    *i = minus ? -r : r;
    return *i >= INT32_MIN && *i <= INT32_MAX;
}

static const jsonb_node *at_path(sql_exec *x, value json, value path)
{
    const jsonb_node *j = tree_of(x, json);
    array_walk w = array_begin_walk(T_TEXT, path);
    value step;
    while (j && array_next(&w, &step)) {
        int64_t i;
        if (step.null) return NULL;
        if (j->kind == JSON_OBJECT)
            j = member(j, step);
        else
            j = path_index(step, &i) ? item_at(j, i) : NULL;
    }
    return j;
}

static value path_json(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    return as_json(x, e, at_path(x, v[0], v[1]));
}
static value path_text(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    return as_text(x, e, at_path(x, v[0], v[1]));
}

/* ---- containment ----------------------------------------------------------------------------- */

static bool is_scalar(const jsonb_node *j)
{
    return j->kind < JSON_ARRAY;
}

static bool contains(sql_exec *x, const jsonb_node *a, const jsonb_node *b, bool top)
{
    guard_tick(x->c.guard);
    if (is_scalar(b)) {
        if (is_scalar(a)) return jsonb_equal(a, b);
        if (a->kind != JSON_ARRAY || !top) return false; /* an array may contain a bare scalar */
        for (uint32_t i = 0; i < a->n; i++)
            if (jsonb_equal(a->items[i], b)) return true;
        return false;
    }
    if (a->kind != b->kind) return false;
    for (uint32_t i = 0; i < b->n; i++) {
        bool found = false;
        if (b->kind == JSON_OBJECT) {
            const jsonb_node *in = member(a, b->keys[i]);
            found = in && contains(x, in, b->items[i], false);
        }
        for (uint32_t k = 0; b->kind == JSON_ARRAY && k < a->n && !found; k++)
            found = contains(x, a->items[k], b->items[i], false);
        if (!found) return false;
    }
    return true;
}

static value contains_json(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    (void)e;
    return value_bool(contains(x, tree_of(x, v[0]), tree_of(x, v[1]), true));
}
static value contained_json(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    (void)e;
    return value_bool(contains(x, tree_of(x, v[1]), tree_of(x, v[0]), true));
}

static bool has_key(const jsonb_node *j, value key)
{
    if (j->kind == JSON_OBJECT) return jsonb_key_at(j, key) >= 0;
    bool found = j->kind == JSON_STRING && j->text.n == key.n && !memcmp(j->text.s, key.s, key.n);
    for (uint32_t i = 0; j->kind == JSON_ARRAY && i < j->n && !found; i++)
        found = j->items[i]->kind == JSON_STRING && j->items[i]->text.n == key.n &&
                !memcmp(j->items[i]->text.s, key.s, key.n);
    return found;
}

static value key_exists(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    (void)e;
    return value_bool(has_key(tree_of(x, v[0]), v[1]));
}
static value keys_exist(sql_exec *x, value json, value keys, bool all)
{
    const jsonb_node *j = tree_of(x, json);
    array_walk w = array_begin_walk(T_TEXT, keys);
    value key;
    while (array_next(&w, &key))
        if (!key.null && has_key(j, key) != all) return value_bool(!all);
    return value_bool(all);
}
static value any_exists(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    (void)e;
    return keys_exist(x, v[0], v[1], false);
}
static value all_exist(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    (void)e;
    return keys_exist(x, v[0], v[1], true);
}

/* ---- changes --------------------------------------------------------------------------------- */

static jsonb_node *wrapped(sql_exec *x, jsonb_node *j)
{
    jsonb_node *a = jsonb_new(&x->work, JSON_ARRAY, 1);
    a->items[0] = j;
    return a;
}

static value concat_json(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    jsonb_node *a = tree_of(x, v[0]), *b = tree_of(x, v[1]);
    (void)e;
    bool objects = a->kind == JSON_OBJECT && b->kind == JSON_OBJECT;
    if (!objects && a->kind != JSON_ARRAY) a = wrapped(x, a);
    if (!objects && b->kind != JSON_ARRAY) b = wrapped(x, b);
    jsonb_node *r = jsonb_new(&x->work, a->kind, a->n + b->n);
    for (uint32_t i = 0; i < r->n; i++) {
        const jsonb_node *from = i < a->n ? a : b;
        uint32_t at = i < a->n ? i : i - a->n;
        r->items[i] = from->items[at];
        if (objects) r->keys[i] = from->keys[at];
    }
    if (objects) jsonb_sort_keys(&x->c, r);
    return jsonb_write(&x->c, r);
}

static void leave_out(jsonb_node *j, uint32_t at)
{
    for (j->n--; at < j->n; at++) {
        j->items[at] = j->items[at + 1];
        if (j->kind == JSON_OBJECT) j->keys[at] = j->keys[at + 1];
    }
}

static void without_key(jsonb_node *j, value key)
{
    if (j->kind == JSON_OBJECT) {
        int at = jsonb_key_at(j, key);
        if (at >= 0) leave_out(j, (uint32_t)at);
        return;
    }
    for (uint32_t i = j->n; i-- > 0;)
        if (j->items[i]->kind == JSON_STRING && j->items[i]->text.n == key.n &&
            !memcmp(j->items[i]->text.s, key.s, key.n))
            leave_out(j, i);
}

static value minus_key(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    jsonb_node *j = tree_of(x, v[0]);
    (void)e;
    if (is_scalar(j)) sql_raise(&x->c, "22023", "cannot delete from scalar");
    without_key(j, v[1]);
    return jsonb_write(&x->c, j);
}

static value minus_keys(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    jsonb_node *j = tree_of(x, v[0]);
    array_walk w = array_begin_walk(T_TEXT, v[1]);
    value key;
    (void)e;
    if (is_scalar(j)) sql_raise(&x->c, "22023", "cannot delete from scalar");
    while (array_next(&w, &key))
        if (!key.null) without_key(j, key);
    return jsonb_write(&x->c, j);
}

static value minus_index(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    jsonb_node *j = tree_of(x, v[0]);
    (void)e;
    if (is_scalar(j)) sql_raise(&x->c, "22023", "cannot delete from scalar");
    if (j->kind == JSON_OBJECT)
        sql_raise(&x->c, "22023", "cannot delete from object using integer index");
    int64_t i = v[1].i < 0 ? v[1].i + j->n : v[1].i;
    if (i >= 0 && i < j->n) leave_out(j, (uint32_t)i);
    return jsonb_write(&x->c, j);
}

static void append(sql_exec *x, jsonb_node *j, value key, jsonb_node *item, bool first)
{
    jsonb_node *r = jsonb_new(&x->work, j->kind, j->n + 1);
    uint32_t at = first ? 0 : j->n;
    for (uint32_t i = 0; i < j->n; i++) {
        r->items[i + first] = j->items[i];
        r->keys[i + first] = j->keys[i];
    }
    r->items[at] = item;
    r->keys[at] = key;
    if (r->kind == JSON_OBJECT) jsonb_sort_keys(&x->c, r);
    *j = *r;
}

/* jsonb_set: the last step of the path is set, or added if it may be; steps before it must be
   there. */
static value set_json(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n >= 3 && e->n <= 4 && !v[0].null && !v[1].null);
    jsonb_node *top = tree_of(x, v[0]), *j = top, *to = tree_of(x, v[2]);
    uint32_t n;
    value *path = array_items(&x->work, T_TEXT, v[1], &n);
    bool create = e->n < 4 || v[3].i;
    if (is_scalar(top)) sql_raise(&x->c, "22023", "cannot set path in scalar");
    if (!create && !top->n) return v[0];
    for (uint32_t i = 0; i < n; i++) {
        bool last = i + 1 == n;
        if (path[i].null) sql_raise(&x->c, "22004", "path element is null");
        if (j->kind == JSON_OBJECT) {
            int at = jsonb_key_at(j, path[i]);
            if (at < 0 && last && create) append(x, j, path[i], to, false);
            if (at < 0) break;
            if (last) j->items[at] = to;
            j = j->items[at];
        } else if (j->kind == JSON_ARRAY) {
            int64_t at;
            if (!path_index(path[i], &at))
                sql_raise(&x->c, "22P02", "path element is not an integer");
            bool before = at < 0 && at + j->n < 0;
            if (at < 0) at += j->n;
            bool inside = at >= 0 && at < j->n;
            if (!inside && last && create) append(x, j, value_null(), to, before);
            if (!inside) break;
            if (last) j->items[at] = to;
            j = j->items[at];
        } else {
            break;
        }
    }
    return jsonb_write(&x->c, top);
}

/* jsonb_insert: beside an item of an array, or as a new key. */
static value insert_json(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n >= 3 && e->n <= 4 && !v[0].null && !v[1].null);
    jsonb_node *top = tree_of(x, v[0]), *j = top, *to = tree_of(x, v[2]);
    uint32_t n;
    value *path = array_items(&x->work, T_TEXT, v[1], &n);
    bool after = e->n > 3 && v[3].i;
    if (is_scalar(top)) sql_raise(&x->c, "22023", "cannot set path in scalar");
    for (uint32_t i = 0; i < n; i++) {
        bool last = i + 1 == n;
        int64_t at = -1;
        if (path[i].null) sql_raise(&x->c, "22004", "path element is null");
        if (j->kind == JSON_OBJECT) {
            at = jsonb_key_at(j, path[i]);
            if (at >= 0 && last) sql_raise(&x->c, "22023", "cannot replace existing key");
            if (last) append(x, j, path[i], to, false);
        } else if (j->kind == JSON_ARRAY) {
            if (!path_index(path[i], &at))
                sql_raise(&x->c, "22P02", "path element is not an integer");
            bool before_all = at < 0 && at + j->n < 0;
            if (at < 0 && !before_all) at += j->n;
            if (last) {
                uint32_t place = before_all ? 0 : at >= j->n ? j->n : (uint32_t)at + after;
                append(x, j, value_null(), to, false);
                memmove(j->items + place + 1, j->items + place,
                        (j->n - 1 - place) * sizeof *j->items);
                j->items[place] = to;
            }
            if (at >= j->n) at = -1;
        }
        if (at < 0 || last) break;
        j = j->items[at];
    }
    return jsonb_write(&x->c, top);
}

static void indent(strbuf *b, uint32_t depth)
{
    strbuf_char(b, '\n');
    for (uint32_t i = 0; i < 4 * depth; i++) strbuf_char(b, ' ');
}

static void put_pretty(sql_exec *x, strbuf *b, const jsonb_node *j, uint32_t depth)
{
    guard_tick(x->c.guard);
    if (j->kind != JSON_ARRAY && j->kind != JSON_OBJECT) {
        value v = jsonb_write(&x->c, j);
        strbuf_add(b, v.s, v.n);
        return;
    }
    bool object = j->kind == JSON_OBJECT;
    strbuf_char(b, object ? '{' : '[');
    for (uint32_t i = 0; i < j->n; i++) {
        if (i) strbuf_char(b, ',');
        indent(b, depth + 1);
        if (object) {
            jsonb_put_string(b, j->keys[i].s, j->keys[i].n);
            strbuf_str(b, ": ");
        }
        put_pretty(x, b, j->items[i], depth + 1);
    }
    indent(b, depth);
    strbuf_char(b, object ? '}' : ']');
}

static value pretty_json(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 1 && !v[0].null);
    strbuf b;
    (void)e;
    strbuf_init(&b, x->work.mem);
    put_pretty(x, &b, tree_of(x, v[0]), 0);
    value r = value_text(arena_text(&x->work, b.at, b.n), b.n);
    strbuf_free(&b);
    return r;
}

/* ---- building -------------------------------------------------------------------------------- */

static void put_json(sql_exec *x, strbuf *b, type_id t, value v, bool jsonb);

static void put_array(sql_exec *x, strbuf *b, type_id of, value v, bool jsonb)
{
    array_walk w = array_begin_walk(of, v);
    value item;
    strbuf_char(b, '[');
    for (bool first = true; array_next(&w, &item); first = false) {
        if (!first) strbuf_char(b, ',');
        put_json(x, b, of, item, jsonb);
    }
    strbuf_char(b, ']');
}

/* A value as to_json writes it. */
static void put_json(sql_exec *x, strbuf *b, type_id t, value v, bool jsonb)
{
    if (v.null) {
        strbuf_str(b, "null");
        return;
    }
    if (type_is_array(t)) {
        put_array(x, b, type_element(t), v, jsonb);
    } else if (t == T_BOOL) {
        strbuf_str(b, v.i ? "true" : "false");
    } else if (type_rank(t) || t == T_JSON || t == T_JSONB) {
        value_write(&x->c, t, v, b);
    } else {
        bool zoned = t == T_STAMPTZ;
        if ((zoned && x->c.zone != ZONE_UTC) || type_is_float(t) || t == T_RECORD)
            sql_refuse(&x->c, -1, "%s made into json", type_name(t));
        strbuf text;
        strbuf_init(&text, x->work.mem);
        value_write(&x->c, t, v, &text);
        if ((zoned || t == T_STAMP) && text.n > 10) text.at[10] = 'T';
        if (zoned) strbuf_str(&text, ":00"); /* +00:00 */
        jsonb_put_string(b, text.at, text.n);
        strbuf_free(&text);
    }
}

static value made_json(sql_exec *x, const expr *e, strbuf *b)
{
    value v = value_text(arena_text(&x->work, b->at, b->n), b->n);
    strbuf_free(b);
    return e->t.id == T_JSONB ? jsonb_parse(&x->c, T_JSONB, v.s, v.n) : v;
}

static value to_json(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 1 && !v[0].null);
    strbuf b;
    strbuf_init(&b, x->work.mem);
    put_json(x, &b, e->arg[0]->t.id, v[0], e->t.id == T_JSONB);
    return made_json(x, e, &b);
}

static value build_object(sql_exec *x, const expr *e, const value *v)
{
    strbuf b;
    if (e->n % 2) sql_raise(&x->c, "22023", "argument list must have even number of elements");
    for (uint32_t i = 0; i < e->n; i += 2)
        if (v[i].null) sql_raise(&x->c, "22023", "argument must not be null");
    strbuf_init(&b, x->work.mem);
    strbuf_char(&b, '{');
    for (uint32_t i = 0; i < e->n; i += 2) {
        type_id t = e->arg[i]->t.id;
        strbuf key;
        if (i) strbuf_str(&b, ", ");
        strbuf_init(&key, x->work.mem);
        if (t == T_BOOL)
            strbuf_str(&key, v[i].i ? "true" : "false");
        else
            value_write(&x->c, t, v[i], &key);
        jsonb_put_string(&b, key.n ? key.at : "", key.n);
        strbuf_free(&key);
        strbuf_str(&b, " : ");
        put_json(x, &b, e->arg[i + 1]->t.id, v[i + 1], e->t.id == T_JSONB);
    }
    strbuf_char(&b, '}');
    return made_json(x, e, &b);
}

static value build_array(sql_exec *x, const expr *e, const value *v)
{
    strbuf b;
    strbuf_init(&b, x->work.mem);
    strbuf_char(&b, '[');
    for (uint32_t i = 0; i < e->n; i++) {
        if (i) strbuf_str(&b, ", ");
        put_json(x, &b, e->arg[i]->t.id, v[i], e->t.id == T_JSONB);
    }
    strbuf_char(&b, ']');
    return made_json(x, e, &b);
}

/* {"a":1,"b":null}, as row_to_json writes it. */
static value object_of_row(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n % 2 == 0);
    strbuf b;
    bool known = !e->n;
    for (uint32_t i = 0; i < e->n; i += 2) known |= !v[i + 1].null;
    /* an outer join may have no row here, which is null and no object */
    if (!known) sql_refuse(&x->c, e->position, "a whole row of nulls");
    strbuf_init(&b, x->work.mem);
    strbuf_char(&b, '{');
    for (uint32_t i = 0; i < e->n; i += 2) {
        if (i) strbuf_char(&b, ',');
        jsonb_put_string(&b, v[i].s, v[i].n);
        strbuf_char(&b, ':');
        put_json(x, &b, e->arg[i + 1]->t.id, v[i + 1], false);
    }
    strbuf_char(&b, '}');
    return made_json(x, e, &b);
}
const builtin row_object = {"row", "", object_of_row, BUILTIN_STABLE | BUILTIN_NULLS};

static value same_json(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 1 && !v[0].null);
    (void)x, (void)e;
    return v[0];
}

value json_of_items(sql_exec *x, type_id result, type_id t, const value *v, size_t n, bool lines)
{
    expr like = {.t = type_plain(result)};
    strbuf b;
    strbuf_init(&b, x->work.mem);
    strbuf_char(&b, '[');
    for (size_t i = 0; i < n; i++) {
        if (i) strbuf_str(&b, lines && !v[i].null ? ", \n " : ", ");
        put_json(x, &b, t, v[i], result == T_JSONB);
    }
    strbuf_char(&b, ']');
    return made_json(x, &like, &b);
}

value json_of_members(sql_exec *x, type_id result, type_id kt, const value *keys, type_id vt,
                      const value *v, size_t n, bool ordered)
{
    expr like = {.t = type_plain(result)};
    value *names = arena_array(&x->work, value, n + 1);
    for (size_t i = 0; i < n; i++) {
        if (keys[i].null) sql_raise(&x->c, "22023", "field name must not be null");
        names[i] = value_cast(&x->c, keys[i], type_plain(kt), type_plain(T_TEXT), CAST_EXPLICIT);
    }
    strbuf b;
    strbuf_init(&b, x->work.mem);
    strbuf_str(&b, "{ ");
    for (size_t i = 0; i < n; i++) {
        if (i) strbuf_str(&b, ", ");
        jsonb_put_string(&b, names[i].s, names[i].n);
        strbuf_str(&b, " : ");
        put_json(x, &b, vt, v[i], result == T_JSONB);
    }
    strbuf_str(&b, " }");
    value made = made_json(x, &like, &b);
    if (result == T_JSONB && !ordered && tree_of(x, made)->n < n)
        sql_refuse(&x->c, -1, "equal keys of rows that may come in any order");
    return made;
}

/* The keys of an object, as an array. */
static value object_keys(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 1 && !v[0].null);
    jsonb_node *j = tree_of(x, v[0]);
    (void)e;
    if (j->kind != JSON_OBJECT)
        sql_raise(&x->c, "22023", "cannot call jsonb_object_keys on something else");
    return array_make(&x->work, T_TEXT, j->keys, j->n);
}

/* #-: without what the path leads to. */
static value minus_path(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    jsonb_node *top = tree_of(x, v[0]), *j = top;
    uint32_t n;
    value *path = array_items(&x->work, T_TEXT, v[1], &n);
    (void)e;
    if (is_scalar(top)) sql_raise(&x->c, "22023", "cannot delete path in scalar");
    if (!top->n) return v[0];
    for (uint32_t i = 0; i < n; i++) {
        int64_t at = -1;
        if (path[i].null) sql_raise(&x->c, "22004", "path element is null");
        if (j->kind == JSON_OBJECT) {
            at = jsonb_key_at(j, path[i]);
        } else if (j->kind == JSON_ARRAY) {
            if (!path_index(path[i], &at))
                sql_raise(&x->c, "22P02", "path element is not an integer");
            if (at < 0) at += j->n;
            if (at >= j->n) at = -1;
        }
        if (at < 0) break;
        if (i + 1 == n)
            leave_out(j, (uint32_t)at);
        else
            j = j->items[at];
    }
    return jsonb_write(&x->c, top);
}

static void strip_nulls(sql_exec *x, jsonb_node *j)
{
    guard_tick(x->c.guard);
    for (uint32_t i = j->n; i-- > 0;) {
        if (j->kind == JSON_OBJECT && j->items[i]->kind == JSON_NULL)
            leave_out(j, i);
        else
            strip_nulls(x, j->items[i]);
    }
}

static value without_nulls(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 1 && !v[0].null);
    jsonb_node *j = tree_of(x, v[0]);
    (void)e;
    strip_nulls(x, j);
    return jsonb_write(&x->c, j);
}

static value json_kind_name(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 1 && !v[0].null);
    static const char *const names[] = {"null",   "boolean", "boolean", "number",
                                        "string", "array",   "object"};
    (void)e;
    const char *name = names[tree_of(x, v[0])->kind];
    return value_text(name, strlen(name));
}

static value json_length(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 1 && !v[0].null);
    jsonb_node *j = tree_of(x, v[0]);
    (void)e;
    if (j->kind != JSON_ARRAY) sql_raise(&x->c, "22023", "cannot get array length of this");
    return value_int(j->n);
}

const builtin json_builtins[] = {
    {"jsonb_object_keys to array", "J>T", object_keys, 0},
    {"#-", "JT>J", minus_path, 0},
    {"jsonb_strip_nulls", "J>J", without_nulls, 0},
    {"->", "Jt>J", key_json, 0},
    {"->", "J4>J", index_json, 0},
    {"->", "jt>j", key_json, 0},
    {"->", "j4>j", index_json, 0},
    {"->>", "Jt>t", key_text, 0},
    {"->>", "J4>t", index_text, 0},
    {"->>", "jt>t", key_text, 0},
    {"->>", "j4>t", index_text, 0},
    {"#>", "JT>J", path_json, 0},
    {"#>", "jT>j", path_json, 0},
    {"#>>", "JT>t", path_text, 0},
    {"#>>", "jT>t", path_text, 0},
    {"@>", "JJ>b", contains_json, 0},
    {"<@", "JJ>b", contained_json, 0},
    {"?", "Jt>b", key_exists, 0},
    {"?|", "JT>b", any_exists, 0},
    {"?&", "JT>b", all_exist, 0},
    {"||", "JJ>J", concat_json, 0},
    {"-", "Jt>J", minus_key, 0},
    {"-", "J4>J", minus_index, 0},
    {"-", "JT>J", minus_keys, 0},
    {"jsonb_set", "JTJ>J", set_json, 0},
    {"jsonb_set", "JTJb>J", set_json, 0},
    {"jsonb_insert", "JTJ>J", insert_json, 0},
    {"jsonb_insert", "JTJb>J", insert_json, 0},
    {"jsonb_pretty", "J>t", pretty_json, 0},
    {"row_to_json", "j>j", same_json, BUILTIN_STABLE},
    {"to_json", "*>j", to_json, BUILTIN_STABLE},
    {"to_jsonb", "*>J", to_json, BUILTIN_STABLE},
    {"jsonb_build_object", "*...>J", build_object, BUILTIN_STABLE | BUILTIN_NULLS},
    {"json_build_object", "*...>j", build_object, BUILTIN_STABLE | BUILTIN_NULLS},
    {"jsonb_build_array", "*...>J", build_array, BUILTIN_STABLE | BUILTIN_NULLS},
    {"json_build_array", "*...>j", build_array, BUILTIN_STABLE | BUILTIN_NULLS},
    {"jsonb_typeof", "J>t", json_kind_name, 0},
    {"json_typeof", "j>t", json_kind_name, 0},
    {"jsonb_array_length", "J>4", json_length, 0},
    {"json_array_length", "j>4", json_length, 0},
    {NULL, NULL, NULL, 0},
};
