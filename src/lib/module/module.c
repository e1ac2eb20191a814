/*
 * module.c - the host's side of ratel-module.h: what hooks may ask, and what they say.
 *
 * A hook is foreign code, over whose frame no failure may jump.  So every answer that needs memory
 * opens a border of its own (the call's guard), keeps what went wrong, and module_run fails after
 * the hook has returned.
 */
#include "module/module.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "module/module_sources.h"

struct ratel_module_call {
    const history *h;
    const guard *outer; /* of the call of the library: its limits are told by poll */
    guard guard;        /* the border of each answer */
    mem *m;             /* of what is said; fails through `guard` while a hook runs */
    bool mapping;
    bool failed; /* guard.code and guard.text say why */
    bool refused;
    char why[512];
    additions *added;
    edits edits;
    sources_index *index; /* made when it is asked for */
    char *settings;       /* "key\0value\0key\0value\0\0" */
    uint8_t *asked;       /* per byte of it: a key that begins there was asked for */
    const module_caller *caller;
    const ratel_module *module;
};

/* --- ending ----------------------------------------------------------------------------------- */

static void host_refuse(ratel_module_call *c, const char *why)
{
    if (c->refused) return;
    c->refused = true;
    snprintf(c->why, sizeof c->why, "%s", why ? why : "it gave no reason");
}

static int host_poll(ratel_module_call *c)
{
    const guard *g = c->outer;
    return c->failed || c->refused || (g->interrupt && *g->interrupt) ||
           (g->deadline && clock_now() > g->deadline);
}

/* Said in the wrong hook, or after something went wrong. */
static bool deaf(ratel_module_call *c, bool mapping)
{
    if (c->mapping != mapping)
        host_refuse(c, mapping ? "it changed an operation outside of its hook map"
                               : "it added an edge in its hook map");
    if (c->failed && c->caller) c->caller->failed(c->caller->payload);
    return c->failed || c->refused;
}

/* --- the history ------------------------------------------------------------------------------ */

static uint32_t host_txns(ratel_module_call *c)
{
    return (uint32_t)c->h->txns;
}

static uint32_t host_ops(ratel_module_call *c)
{
    return (uint32_t)c->h->ops;
}

static uint32_t host_keys(ratel_module_call *c)
{
    return (uint32_t)history_keys(c->h);
}

static uint32_t host_sessions(ratel_module_call *c)
{
    return (uint32_t)c->h->sessions.n;
}

static int host_txn(ratel_module_call *c, uint32_t t, ratel_module_txn *out)
{
    const history *h = c->h;
    if (!out || t >= h->txns) return 0;
    unsigned flags = h->txn_flags[t];
    *out = (ratel_module_txn){.session = h->txn_session[t],
                              .status = (uint32_t)txn_status_of(h, t),
                              .first_op = h->txn_op[t],
                              .ops = h->txn_op[t + 1] - h->txn_op[t],
                              .begin = RATEL_NO_TIME,
                              .begin_return = RATEL_NO_TIME,
                              .commit = RATEL_NO_TIME,
                              .end = RATEL_NO_TIME,
                              .start_ts = RATEL_NO_TIME,
                              .commit_ts = RATEL_NO_TIME};
    if (flags & TXN_HAS_TIMES) {
        const int64_t *at = h->txn_times + (size_t)t * 4;
        out->begin = at[0];
        if (!(flags & TXN_NO_BEGIN_RETURN)) out->begin_return = at[1];
        out->commit = at[2];
        out->end = at[3];
    } else {
        if (flags & TXN_HAS_BEGIN) out->begin = out->begin_return = h->txn_begin[t];
        if (flags & TXN_HAS_END) out->commit = out->end = h->txn_end[t];
    }
    if (flags & TXN_HAS_START_TS) out->start_ts = h->txn_start_ts[t];
    if (flags & TXN_HAS_COMMIT_TS) out->commit_ts = h->txn_commit_ts[t];
    return 1;
}

static int host_op(ratel_module_call *c, uint32_t o, ratel_module_op *out)
{
    const history *h = c->h;
    if (!out || o >= h->ops) return 0;
    unsigned kind = h->op_kind[o];
    bool range_op = (kind & OP_KIND_MASK) >= OP_SCAN;
    value_id value = h->op_value[o];
    *out = (ratel_module_op){.kind = kind & OP_KIND_MASK,
                             .txn = txn_of_op(h, o),
                             .key = range_op ? RATEL_NO_NUMBER : h->op_key[o],
                             .value = range_op ? RATEL_NO_NUMBER : value};
    if (range_op) out->rows = h->ranges.at[h->op_key[o]].rows;
    if (kind & OP_LOCK) out->flags |= RATEL_FLAG_LOCKS;
    if (kind & OP_FAILED) out->flags |= RATEL_FLAG_FAILED;
    if (kind & OP_TOMB) out->flags |= RATEL_FLAG_TOMBSTONE;
    if (!range_op && value == VALUE_NULL) out->flags |= RATEL_FLAG_ABSENT;
    if (!range_op && value == VALUE_UNKNOWN) out->flags |= RATEL_FLAG_UNKNOWN;
    const attr *a = op_attrs(h, o), *end = h->attrs.at + h->attrs.n;
    for (; a && a < end && a->op == o; a++)
        if (a->kind == ATTR_VER) {
            out->flags |= RATEL_FLAG_VERSION;
            out->version = (int64_t)a->a;
        }
    return 1;
}

static int host_row(ratel_module_call *c, uint32_t o, uint32_t row, uint32_t *key, uint32_t *value)
{
    const history *h = c->h;
    if (o >= h->ops || (h->op_kind[o] & OP_KIND_MASK) < OP_SCAN) return 0;
    const range *r = &h->ranges.at[h->op_key[o]];
    if (row >= r->rows) return 0;
    if (key) *key = h->row_key.at[r->first_row + row];
    if (value) *value = h->row_value.at[r->first_row + row];
    return 1;
}

static uint32_t host_session_txn(ratel_module_call *c, uint32_t s, uint32_t i)
{
    const history *h = c->h;
    if (s >= h->sessions.n || i >= h->sess_first[s + 1] - h->sess_first[s]) return RATEL_NO_NUMBER;
    return h->sess_txn[h->sess_first[s] + i];
}

/* --- texts ------------------------------------------------------------------------------------ */

static int give_text(const char *s, size_t n, char *out, size_t size)
{
    if (out && size) {
        size_t k = n < size - 1 ? n : size - 1;
        if (k) memcpy(out, s, k);
        out[k] = 0;
    }
    return n > INT32_MAX ? INT32_MAX : (int)n;
}

/* The atom as text; the call's region holds it for a moment. */
static int give_atom(ratel_module_call *c, atom a, char *out, size_t size)
{
    strbuf b;
    if (out && size) *out = 0;
    if (c->failed) return -1;
    if (guard_armed(&c->guard)) {
        c->failed = true;
        return -1;
    }
    strbuf_init(&b, c->m);
    atom_text(c->h, a, &b);
    int n = give_text(strbuf_cstr(&b), b.n, out, size);
    strbuf_free(&b);
    return n;
}

static int host_txn_name(ratel_module_call *c, uint32_t t, char *out, size_t size)
{
    if (t >= c->h->txns) return -1;
    return give_atom(c, label_atom(c->h, c->h->txn_label[t]), out, size);
}

static int host_key_text(ratel_module_call *c, uint32_t key, char *out, size_t size)
{
    return key < history_keys(c->h) ? give_atom(c, key_atom(c->h, key), out, size) : -1;
}

static bool is_value(const history *h, uint32_t v)
{
    return v < VALUE_TABLE || (v != VALUE_UNKNOWN && v - VALUE_TABLE < h->values.atoms.n + 2);
}

static int host_value_text(ratel_module_call *c, uint32_t value, char *out, size_t size)
{
    return is_value(c->h, value) ? give_atom(c, value_atom(c->h, value), out, size) : -1;
}

static int host_value_int(ratel_module_call *c, uint32_t value, int64_t *out)
{
    if (!out || !is_value(c->h, value)) return 0;
    atom a = value_atom(c->h, value);
    if (a.kind != ATOM_INT) return 0;
    *out = a.as.i;
    return 1;
}

static int host_attribute(ratel_module_call *c, uint32_t t, const char *name, char *out,
                          size_t size)
{
    const history *h = c->h;
    size_t n = name ? strlen(name) : 0;
    if (out && size) *out = 0;
    if (!name || (t != RATEL_NO_NUMBER && t >= h->txns)) return -1;
    for (size_t i = t == RATEL_NO_NUMBER ? 0 : txn_extras(h, t);
         i < h->extras.n && h->extras.at[i].txn == t; i++) {
        atom a = value_atom(h, h->extras.at[i].name), text = value_atom(h, h->extras.at[i].text);
        if (a.len != n || memcmp(atom_bytes(h, a), name, n)) continue;
        return give_text(atom_bytes(h, text), text.len, out, size);
    }
    return -1;
}

static const char *host_setting(ratel_module_call *c, const char *key)
{
    for (const char *s = c->settings; s && key && *s;) {
        const char *value = s + strlen(s) + 1;
        if (!strcmp(s, key)) {
            c->asked[s - c->settings] = 1;
            return value;
        }
        s = value + strlen(value) + 1;
    }
    return NULL;
}

/* A word that nobody asked for is a wrong one, and the user would take its default for the rule. */
static void refuse_unasked(const ratel_module_call *c)
{
    for (const char *s = c->settings; s && *s;) {
        const char *value = s + strlen(s) + 1;
        if (!c->asked[s - c->settings])
            guard_fail(
                c->m->guard, GUARD_INVAL,
                "module \"%s\" did not ask for the setting %s=%s; is its name right, and given "
                "once?",
                c->module->name, s, value);
        s = value + strlen(value) + 1;
    }
}

/* --- who may have read from whom -------------------------------------------------------------- */

static const sources_index *index_of(ratel_module_call *c)
{
    if (c->failed) return NULL;
    if (guard_armed(&c->guard)) {
        c->failed = true;
        return NULL;
    }
    if (!c->index) c->index = sources_new(c->m, c->h);
    return c->index;
}

static uint32_t host_txn_named(ratel_module_call *c, const char *name)
{
    const sources_index *x = name ? index_of(c) : NULL;
    return x ? sources_named(x, name) : RATEL_NO_NUMBER;
}

static uint32_t host_writers(ratel_module_call *c, uint32_t key, uint32_t *out, uint32_t most)
{
    const sources_index *x = key < history_keys(c->h) ? index_of(c) : NULL;
    return x ? sources_writers(x, key, out, out ? most : 0) : 0;
}

static uint32_t host_sources(ratel_module_call *c, uint32_t o, uint32_t key, uint32_t *out,
                             uint32_t most)
{
    bool known = o < c->h->ops && key < history_keys(c->h);
    const sources_index *x = known ? index_of(c) : NULL;
    return x ? sources_of_read(x, o, key, out, out ? most : 0) : 0;
}

/* --- additions -------------------------------------------------------------------------------- */

static uint32_t host_point(ratel_module_call *c)
{
    if (deaf(c, false)) return RATEL_NO_NUMBER;
    if (c->added->points >= UINT32_MAX / 8) {
        host_refuse(c, "it made more than 2^29 helper points");
        return RATEL_NO_NUMBER;
    }
    return c->added->points++;
}

static bool edge_in(const ratel_module_edge *e, added_edge *out)
{
    if (e->from_at > RATEL_POINT || e->to_at > RATEL_POINT || e->kind > RATEL_DEPENDS) return false;
    *out =
        (added_edge){e->from, e->to, (uint8_t)e->from_at, (uint8_t)e->to_at, (uint8_t)e->kind, 0};
    return true;
}

static void keep_addition(ratel_module_call *c, const ratel_module_edge *edges,
                          const uint32_t *sizes, uint32_t n, const char *reason)
{
    size_t at = 0;
    additions_begin(c->added, reason);
    for (uint32_t s = 0; s < (sizes ? n : 1); s++) {
        uint32_t size = sizes ? sizes[s] : n;
        for (uint32_t i = 0; i < size; i++) {
            added_edge e;
            if (!edge_in(&edges[at++], &e)) {
                host_refuse(c, "it added an edge of an unknown kind");
                return;
            }
            additions_edge(c->added, e);
        }
        additions_set_end(c->added);
    }
}

/* n sets, of sizes[i] edges each; sizes NULL: one set of n edges. */
static void take_addition(ratel_module_call *c, const ratel_module_edge *edges,
                          const uint32_t *sizes, uint32_t n, const char *reason)
{
    if (deaf(c, false)) return;
    if (!n || !edges || !reason || !*reason) {
        host_refuse(c, "it added something without edges or without a reason");
        return;
    }
    if (guard_armed(&c->guard)) {
        c->failed = true;
        return;
    }
    keep_addition(c, edges, sizes, n, reason);
}

static void host_add(ratel_module_call *c, const ratel_module_edge *edges, uint32_t n,
                     const char *reason)
{
    take_addition(c, edges, NULL, n, reason);
}

static void host_choose(ratel_module_call *c, const ratel_module_edge *edges, const uint32_t *sizes,
                        uint32_t n, const char *reason)
{
    if (!sizes)
        host_refuse(c, "it added a choice without the sizes of its sets");
    else
        take_addition(c, edges, sizes, n, reason);
}

/* --- changes ---------------------------------------------------------------------------------- */

static void take_edit(ratel_module_call *c, uint32_t op, enum edit_kind kind, uint32_t row)
{
    if (deaf(c, true)) return;
    if (guard_armed(&c->guard)) {
        c->failed = true;
        return;
    }
    edit e = {op, (uint32_t)kind, row};
    vec_push(c->m, &c->edits.at, e);
}

static void host_drop(ratel_module_call *c, uint32_t op)
{
    take_edit(c, op, EDIT_DROP, 0);
}

static void host_absent(ratel_module_call *c, uint32_t op)
{
    take_edit(c, op, EDIT_ABSENT, 0);
}

static void host_row_absent(ratel_module_call *c, uint32_t op, uint32_t row)
{
    take_edit(c, op, EDIT_ROW_ABSENT, row);
}

static void host_split(ratel_module_call *c, uint32_t op)
{
    take_edit(c, op, EDIT_SPLIT, 0);
}

static void host_early(ratel_module_call *c, uint32_t op)
{
    take_edit(c, op, EDIT_EARLY, 0);
}

static const ratel_module_host host = {.abi = RATEL_MODULE_ABI,
                                       .size = sizeof host,
                                       .txns = host_txns,
                                       .ops = host_ops,
                                       .keys = host_keys,
                                       .sessions = host_sessions,
                                       .txn = host_txn,
                                       .op = host_op,
                                       .row = host_row,
                                       .session_txn = host_session_txn,
                                       .txn_name = host_txn_name,
                                       .key_text = host_key_text,
                                       .value_text = host_value_text,
                                       .value_int = host_value_int,
                                       .attribute = host_attribute,
                                       .txn_named = host_txn_named,
                                       .setting = host_setting,
                                       .writers = host_writers,
                                       .sources = host_sources,
                                       .point = host_point,
                                       .add = host_add,
                                       .choose = host_choose,
                                       .drop = host_drop,
                                       .absent = host_absent,
                                       .row_absent = host_row_absent,
                                       .split = host_split,
                                       .early = host_early,
                                       .poll = host_poll,
                                       .refuse = host_refuse};

/* --- running ---------------------------------------------------------------------------------- */

const char *module_check(const ratel_module *module)
{
    if (!module) return "it has no description";
    if (module->abi != RATEL_MODULE_ABI)
        return "it was compiled for another version of the interface";
    if (module->size < sizeof *module) return "its description is too short";
    if (!module->name || !*module->name || strlen(module->name) > 64)
        return "it has no usable name";
    for (const char *s = module->name; *s; s++)
        if (!((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ||
              *s == '-' || *s == '_'))
            return "its name has characters other than letters, digits, - and _";
    return module->map || module->extend ? NULL : "it has no hook";
}

/* "a=b,c=d" becomes a\0b\0c\0d\0\0. */
static char *parse_settings(mem *m, const char *text)
{
    size_t n = strlen(text);
    char *s = mem_zeroed(m, n + 3), *to = s;
    while (*text) {
        size_t k = strcspn(text, ",");
        const char *equals = memchr(text, '=', k);
        if (!equals || equals == text)
            guard_fail(m->guard, GUARD_INVAL, "the settings of a module are key=value, ...: %s",
                       text);
        memcpy(to, text, k);
        to[equals - text] = 0;
        to += k + 1;
        text += k + (text[k] == ',');
    }
    assert((size_t)(to - s) <= n + 1);
    return s;
}

typedef int (*module_hook)(const ratel_module *, const ratel_module_host *, ratel_module_call *);

static void run_hook(ratel_module_call *c, module_hook hook, bool mapping)
{
    guard *outer = c->m->guard;
    const char *name = c->module->name;
    c->mapping = mapping;
    guard_init(&c->guard);
    c->m->guard = &c->guard;
    int code = hook(c->module, &host, c);
    c->m->guard = outer;
    if (c->failed) guard_fail(outer, c->guard.code, "module \"%s\": %s", name, c->guard.text);
    guard_poll(outer);
    if (c->refused || code)
        guard_fail(outer, GUARD_INVAL, "module \"%s\": %s", name,
                   c->refused ? c->why : "its hook failed and gave no reason");
}

static int by_op(const void *a, const void *b)
{
    const edit *x = a, *y = b;
    if (x->op != y->op) return x->op < y->op ? -1 : 1;
    return x->kind != y->kind ? x->kind < y->kind ? -1 : 1 : (x->row > y->row) - (x->row < y->row);
}

void module_run(const ratel_module *module, const char *settings, const history *h,
                history *changed, const module_caller *caller, mem *m, module_said *out)
{
    ratel_module_call c = {.h = h, .m = m, .outer = m->guard, .module = module, .caller = caller};
    memset(out, 0, sizeof *out);
    if (settings && *settings) {
        c.settings = parse_settings(m, settings);
        c.asked = mem_array0(m, uint8_t, strlen(settings) + 3);
    }
    if (module->map) {
        run_hook(&c, module->map, true);
        if (c.edits.at.n) qsort(c.edits.at.at, c.edits.at.n, sizeof *c.edits.at.at, by_op);
        const char *wrong = edits_check(&c.edits, h);
        if (wrong) guard_fail(m->guard, GUARD_INVAL, "module \"%s\" made %s", module->name, wrong);
        c.edits.module = module->name;
        if (c.edits.at.n) {
            edits_apply(changed, h, &c.edits);
            c.h = changed;
        }
    }
    out->edits = c.edits;
    if (!module->extend) {
        refuse_unasked(&c);
        return;
    }
    c.added = additions_new(m);
    additions_module(c.added, module->name);
    run_hook(&c, module->extend, false);
    refuse_unasked(&c);
    const char *wrong = additions_check(c.added, c.h->txns);
    if (wrong) guard_fail(m->guard, GUARD_INVAL, "module \"%s\" added %s", module->name, wrong);
    if (c.added->at.n) out->added = c.added;
}
