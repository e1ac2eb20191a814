/*
 * native.c - the native history format, JSON lines, version 1 (doc/formats/native.md).
 *
 * One object a line: an optional header first, then transactions and marks.  Members stand in any
 * order; those that the model does not interpret are kept as text and written back.  The reader
 * builds while it parses, so a plain operation costs one pass over its bytes; a line that turns
 * out to be a mark is rolled back.
 */
#include <assert.h>

#include "base/map.h"
#include "history/cut_off.h"
#include "read/formats.h"
#include "read/json.h"
#include "read/read.h"

/* --- reading ------------------------------------------------------------------------------- */

#define UNDONE "undone"

typedef struct native_reader {
    json j;
    history *h;
    uint64_t line;
    VEC(value_id) list;
    VEC(op_id) undone; /* of the open transaction: rolled back to a savepoint */
} native_reader;

static value_id read_list(native_reader *r)
{
    json *j = &r->j;
    r->list.n = 0;
    json_need(j, '[');
    if (!json_take(j, ']')) do {
            value_id v = json_scalar(j, r->h, "a list element");
            vec_push(&r->h->mem, &r->list, v);
        } while (json_more(j, ']'));
    return value_list(r->h, r->list.at, r->list.n);
}

static value_id read_result(native_reader *r)
{
    json_space(&r->j);
    return *r->j.p == '[' ? read_list(r) : json_scalar(&r->j, r->h, "a value");
}

static bool read_bool(json *j, const char *what)
{
    if (json_literal(j, "true")) return true;
    if (json_literal(j, "false")) return false;
    json_expected(j, what);
}

static void read_from(native_reader *r, op_id op, bool is_range)
{
    json *j = &r->j;
    history *h = r->h;
    if (is_range) {
        json_space(j);
        const char *at = j->p;
        uint32_t rows = h->ranges.at[h->op_key[op]].rows, i = 0;
        json_need(j, '[');
        if (!json_take(j, ']')) do {
                if (json_literal(j, "null"))
                    history_attr(h, op, ATTR_ROW_FROM_INIT, i, 0);
                else
                    history_attr(h, op, ATTR_ROW_FROM, i, json_label(j, h, "a writer"));
                i++;
            } while (json_more(j, ']'));
        if (i != rows)
            json_fail(j, at, "\"from\" names %u writers for %u rows", (unsigned)i, (unsigned)rows);
    } else if (json_literal(j, "null")) {
        history_attr(h, op, ATTR_FROM_INIT, 0, 0);
    } else {
        history_attr(h, op, ATTR_FROM, 0, json_label(j, h, "a writer"));
    }
}

static void read_vset(native_reader *r, op_id op)
{
    json *j = &r->j;
    json_need(j, '[');
    if (json_take(j, ']')) return;
    do {
        json_need(j, '[');
        key_id k = json_key(j, r->h);
        json_need(j, ',');
        if (json_literal(j, "null"))
            history_attr(r->h, op, ATTR_VSET_INIT, k, 0);
        else
            history_attr(r->h, op, ATTR_VSET, k, json_label(j, r->h, "a writer"));
        json_need(j, ']');
    } while (json_more(j, ']'));
}

/* The object that may end an operation; the cursor stands after its '{'. */
static void read_attributes(native_reader *r, op_id op)
{
    json *j = &r->j;
    history *h = r->h;
    enum op_kind kind = op_kind_of(h, op);
    bool is_range = kind == OP_SCAN || kind == OP_ITER;
    bool undone = false;
    if (json_take(j, '}')) return;
    do {
        json_space(j);
        const char *at = j->p;
        json_text name = json_member(j);
        if (json_is(name, "undone")) {
            undone = read_bool(j, "true or false") || undone;
        } else if (json_is(name, "lock")) {
            if (read_bool(j, "true or false")) h->op_kind[op] |= OP_LOCK;
        } else if (json_is(name, "ok")) {
            if (!read_bool(j, "true or false")) h->op_kind[op] |= OP_FAILED;
        } else if (json_is(name, "tomb")) {
            if (read_bool(j, "true or false")) h->op_kind[op] |= OP_TOMB;
        } else if (json_is(name, "t")) {
            json_need(j, '[');
            history_attr(h, op, ATTR_CALL, 0, (uint64_t)json_int(j, "a time"));
            json_need(j, ',');
            history_attr(h, op, ATTR_RETURN, 0, (uint64_t)json_int(j, "a time"));
            json_need(j, ']');
        } else if (json_is(name, "from")) {
            read_from(r, op, is_range);
        } else if (json_is(name, "ver")) {
            if (kind != OP_WRITE && kind != OP_DELETE && kind != OP_APPEND && kind != OP_READ)
                json_fail(j, at, "\"ver\" on an operation that has no version");
            history_attr(h, op, ATTR_VER, 0, (uint64_t)json_int(j, "a version position"));
        } else if (json_is(name, "incl") || json_is(name, "reverse")) {
            if (!is_range) json_fail(j, at, "this attribute is for scans and iterators");
            bool incl = json_is(name, "incl"), on = read_bool(j, "true or false");
            range *g = &h->ranges.at[h->op_key[op]];
            if (incl)
                g->inclusive = on;
            else
                g->reverse = on;
        } else if (json_is(name, "vset")) {
            if (!is_range) json_fail(j, at, "\"vset\" is for scans and iterators");
            read_vset(r, op);
        } else {
            value_id n = value_str(h, name.at, name.n);
            json_text t = json_skip(j);
            history_attr(h, op, ATTR_EXTRA, n, value_str(h, t.at, t.n));
        }
    } while (json_more(j, '}'));
    if (!undone || h->op_kind[op] & OP_FAILED) return; /* nothing is left to undo of a failure */
    history_attr(h, op, ATTR_EXTRA, value_str(h, UNDONE, sizeof UNDONE - 1),
                 value_str(h, "true", 4));
    vec_push(&h->mem, &r->undone, op);
}

/* What a savepoint undid: writes install nothing, and reads count unless they were of such writes
   (doc/formats/native.md, "Savepoints").  Any of them may have been the latest when the read came,
   since savepoints nest: a rollback to the inner one brings back what the outer one had written.
   Another value may be of a second rollback, which nobody tells apart: it counts like any read. */
static void settle_undone(native_reader *r)
{
    history *h = r->h;
    bool wrote = false;
    key_set values = {0},
            lists = {0}; /* what was written and undone: (key, value); keys appended to */
    for (size_t i = 0; i < r->undone.n; i++) {
        op_id o = r->undone.at[i];
        enum op_kind kind = op_kind_of(h, o);
        bool own = kind != OP_READ && (wrote || (kind != OP_SCAN && kind != OP_ITER));
        value_id x = kind == OP_DELETE ? VALUE_NULL : h->op_value[o];
        uint64_t pair = map_pair(h->op_key[o], value_or_absent(x));
        if (kind == OP_READ) {
            own = key_set_has(&lists, h->op_key[o]) || key_set_has(&values, pair);
        } else if (own) {
            wrote = true;
            if (kind == OP_APPEND)
                key_set_add(&h->mem, &lists, h->op_key[o]);
            else if (kind == OP_WRITE || kind == OP_DELETE)
                key_set_add(&h->mem, &values, pair);
        }
        if (own) h->op_kind[o] |= OP_FAILED;
    }
    key_set_free(&h->mem, &values);
    key_set_free(&h->mem, &lists);
    r->undone.n = 0;
}

static void read_rows(native_reader *r)
{
    json *j = &r->j;
    json_need(j, '[');
    if (json_take(j, ']')) return;
    do {
        json_need(j, '[');
        key_id k = json_key(j, r->h);
        json_need(j, ',');
        history_row(r->h, k, read_result(r));
        json_need(j, ']');
    } while (json_more(j, ']'));
}

static op_id read_range(native_reader *r, unsigned kind)
{
    json *j = &r->j;
    range g = {.done = true};
    json_need(j, ',');
    g.from = json_bound(j, r->h, &g.from_kind);
    json_need(j, ',');
    g.to = json_bound(j, r->h, &g.to_kind);
    json_need(j, ',');
    read_rows(r);
    if (kind == OP_ITER) {
        json_need(j, ',');
        g.done = read_bool(j, "true or false: did the iterator see the end");
    }
    return history_range(r->h, kind, g);
}

/* The general form of an operation; the cursor stands after its '['. */
static void read_op(native_reader *r)
{
    json *j = &r->j;
    history *h = r->h;
    json_space(j);
    const char *at = j->p;
    json_text name = json_string(j);
    op_id op;
    if (json_is(name, "r")) {
        json_need(j, ',');
        key_id k = json_key(j, h);
        value_id v = VALUE_UNKNOWN;
        if (json_more(j, ']')) {
            json_space(j);
            if (*j->p == '{') { /* ["r",k,{...}]: attributes of a read of unknown result */
                j->p++;
                read_attributes(r, history_op(h, OP_READ, k, v));
                json_need(j, ']');
                return;
            }
            v = read_result(r);
            op = history_op(h, OP_READ, k, v);
        } else {
            history_op(h, OP_READ, k, v);
            return;
        }
    } else if (json_is(name, "w") || json_is(name, "append")) {
        unsigned kind = name.n == 1 ? OP_WRITE : OP_APPEND;
        json_need(j, ',');
        key_id k = json_key(j, h);
        json_need(j, ',');
        json_space(j);
        const char *where = j->p;
        value_id v = json_scalar(j, h, "a value");
        if (v == VALUE_NULL)
            json_fail(j, where,
                      kind == OP_WRITE ? "a write of null (a delete is [\"d\",key])"
                                       : "an append of null");
        op = history_op(h, kind, k, v);
    } else if (json_is(name, "d")) {
        json_need(j, ',');
        op = history_op(h, OP_DELETE, json_key(j, h), VALUE_NULL);
    } else if (json_is(name, "scan")) {
        op = read_range(r, OP_SCAN);
    } else if (json_is(name, "iter")) {
        op = read_range(r, OP_ITER);
    } else {
        char shown[41];
        size_t n = name.n < 40 ? name.n : 40;
        memcpy(shown, name.at, n);
        shown[n] = 0;
        json_fail(j, at, "unknown operation \"%s\" (r, w, d, scan, iter, append)", shown);
    }
    if (!json_more(j, ']')) return;
    json_need(j, '{');
    read_attributes(r, op);
    json_need(j, ']');
}

/* `"r",123,456]` and `"w",...` with plain non-negative integers, the bulk of large files: one
   pass over the bytes.  Leaves the cursor alone if the operation is anything else. */
static inline bool read_plain_op(native_reader *r)
{
    const char *p = r->j.p;
    if (p[0] != '"' || (p[1] != 'r' && p[1] != 'w') || p[2] != '"' || p[3] != ',') return false;
    unsigned kind = p[1] == 'r' ? OP_READ : OP_WRITE;
    p += 4;
    uint64_t n[2];
    for (int i = 0; i < 2; i++) {
        const char *start = p;
        uint64_t u = 0;
        while ((unsigned)(*p - '0') < 10) u = u * 10 + (uint64_t)(*p++ - '0');
        if (p == start || p - start > 18 || (*start == '0' && p - start > 1)) return false;
        if (*p++ != (i ? ']' : ',')) return false;
        n[i] = u;
    }
    r->j.p = p;
    key_id k = key_uint(r->h, n[0]);
    history_op(r->h, kind, k, value_uint(r->h, n[1]));
    return true;
}

static void read_ops(native_reader *r)
{
    json *j = &r->j;
    json_need(j, '[');
    if (json_take(j, ']')) return;
    do {
        json_need(j, '[');
        if (!read_plain_op(r)) read_op(r);
    } while (json_more(j, ']'));
}

enum {
    SEEN_SESSION = 1,
    SEEN_ID = 2,
    SEEN_STATUS = 4,
    SEEN_OPS = 8,
    SEEN_TIMES = 16,
    SEEN_BEGIN = 32,
    SEEN_END = 64,
    SEEN_START_TS = 128,
    SEEN_COMMIT_TS = 256
};

static void once(json *j, const char *at, unsigned *seen, unsigned bit)
{
    if (*seen & bit) json_fail(j, at, "this member occurs twice");
    *seen |= bit;
}

static enum txn_status read_status(json *j)
{
    json_space(j);
    const char *at = j->p;
    json_text t = json_string(j);
    if (json_is(t, "committed")) return TXN_COMMITTED;
    if (json_is(t, "aborted")) return TXN_ABORTED;
    if (json_is(t, "unknown")) return TXN_UNKNOWN;
    json_fail(j, at, "status must be \"committed\", \"aborted\" or \"unknown\"");
}

static void read_time(native_reader *r, unsigned which)
{
    if (json_literal(&r->j, "null")) return; /* a time that nobody knows */
    history_time(r->h, which, json_int(&r->j, "a time"));
}

static void read_times(native_reader *r)
{
    int64_t v[4] = {0};
    bool open = false; /* nobody knows by when the snapshot was taken */
    json_need(&r->j, '[');
    for (int i = 0; i < 4; i++) {
        if (i) json_need(&r->j, ',');
        if (i == 1 && json_literal(&r->j, "null"))
            open = true;
        else
            v[i] = json_int(&r->j, "a time");
    }
    json_need(&r->j, ']');
    history_times(r->h, v);
    if (open) history_no_begin_return(r->h);
}

/* Everything the line has put into the history so far goes away again: it is a mark. */
static void take_mark(native_reader *r, const char *line_start, size_t ops, size_t extras,
                      size_t attrs, size_t ranges, size_t rows)
{
    json *j = &r->j;
    history *h = r->h;
    h->ops = ops;
    h->extras.n = extras;
    h->attrs.n = attrs;
    h->ranges.n = ranges;
    h->row_key.n = h->row_value.n = rows;
    h->open = false;
    j->p = line_start;
    json_text t = json_skip(j);
    json_space(j);
    if (j->p < j->end) json_expected(j, "the end of the line");
    history_mark(h, t.at, t.n);
}

static void read_line(native_reader *r)
{
    json *j = &r->j;
    history *h = r->h;
    const char *start = j->p;
    size_t ops = h->ops, extras = h->extras.n, attrs = h->attrs.n, ranges = h->ranges.n,
           rows = h->row_key.n;
    unsigned seen = 0;
    label session = 0;
    enum txn_status status = TXN_COMMITTED;
    json_need(j, '{');
    history_begin(h);
    if (!json_take(j, '}')) do {
            json_space(j);
            const char *at = j->p;
            json_text name = json_member(j);
            if (json_is(name, "ops")) {
                once(j, at, &seen, SEEN_OPS);
                read_ops(r);
            } else if (json_is(name, "session")) {
                once(j, at, &seen, SEEN_SESSION);
                session = json_label(j, h, "a session"); /* not yet: this may be a mark */
            } else if (json_is(name, "id")) {
                once(j, at, &seen, SEEN_ID);
                history_label(h, json_label(j, h, "an id"));
            } else if (json_is(name, "status")) {
                once(j, at, &seen, SEEN_STATUS);
                status = read_status(j);
            } else if (json_is(name, "begin")) {
                once(j, at, &seen, SEEN_BEGIN);
                read_time(r, TXN_HAS_BEGIN);
            } else if (json_is(name, "end")) {
                once(j, at, &seen, SEEN_END);
                read_time(r, TXN_HAS_END);
            } else if (json_is(name, "times")) {
                once(j, at, &seen, SEEN_TIMES);
                read_times(r);
            } else if (json_is(name, "start_ts")) {
                once(j, at, &seen, SEEN_START_TS);
                read_time(r, TXN_HAS_START_TS);
            } else if (json_is(name, "commit_ts")) {
                once(j, at, &seen, SEEN_COMMIT_TS);
                read_time(r, TXN_HAS_COMMIT_TS);
            } else if (json_is(name, "mark")) {
                take_mark(r, start, ops, extras, attrs, ranges, rows);
                return;
            } else if (json_is(name, "ratel")) {
                json_fail(j, at, "a header after the first line");
            } else {
                value_id n = value_str(h, name.at, name.n);
                json_text t = json_skip(j);
                extra e = {.txn = (uint32_t)h->txns, .name = n, .text = value_str(h, t.at, t.n)};
                vec_push(&h->mem, &h->extras, e);
            }
        } while (json_more(j, '}'));
    json_space(j);
    if (j->p < j->end) json_expected(j, "the end of the line");
    if (!(seen & SEEN_SESSION)) json_fail(j, start, "a transaction without \"session\"");
    if (!(seen & SEEN_OPS)) json_fail(j, start, "a transaction without \"ops\"");
    history_session(h, session);
    if (!(seen & SEEN_ID)) history_label(h, label_uint(h, r->line));
    history_line(h, r->line);
    if (r->undone.n) settle_undone(r);
    history_end(h, status);
}

static void read_init(native_reader *r)
{
    json *j = &r->j;
    history *h = r->h;
    json_space(j);
    if (*j->p == '{') {
        j->p++;
        h->init = INIT_MAP;
        if (json_take(j, '}')) return;
        do {
            json_text name = json_member(j);
            key_id k = key_str(h, name.at, name.n);
            history_init_entry(h, k, read_result(r));
        } while (json_more(j, '}'));
    } else if (*j->p == '[') {
        j->p++;
        h->init = INIT_MAP;
        if (json_take(j, ']')) return;
        do {
            json_need(j, '[');
            key_id k = json_key(j, h);
            json_need(j, ',');
            history_init_entry(h, k, read_result(r));
            json_need(j, ']');
        } while (json_more(j, ']'));
    } else {
        history_init_scalar(h, json_scalar(j, h, "an initial value"));
    }
}

enum { SEEN_RATEL = 1, SEEN_INIT = 2, SEEN_INIT_UNKNOWN = 4, SEEN_SESSIONS = 8 };

static void read_header(native_reader *r)
{
    json *j = &r->j;
    history *h = r->h;
    unsigned seen = 0;
    json_need(j, '{');
    if (json_take(j, '}')) return;
    do {
        json_space(j);
        const char *at = j->p;
        json_text name = json_member(j);
        if (json_is(name, "ratel")) {
            once(j, at, &seen, SEEN_RATEL);
            int64_t v = json_int(j, "the format's version");
            if (v != 1)
                json_fail(j, at, "native format version %lld; this build reads 1", (long long)v);
        } else if (json_is(name, "init")) {
            once(j, at, &seen, SEEN_INIT);
            read_init(r);
        } else if (json_is(name, "init_unknown")) {
            once(j, at, &seen, SEEN_INIT_UNKNOWN);
            h->init_unknown = read_bool(j, "true or false");
        } else if (json_is(name, "sessions")) {
            once(j, at, &seen, SEEN_SESSIONS);
            int64_t n = json_int(j, "a number of sessions");
            if (n < 0 || n > UINT32_MAX) json_fail(j, at, "the number of sessions is out of range");
            h->declared_sessions = (uint32_t)n;
        } else {
            value_id n = value_str(h, name.at, name.n);
            json_text t = json_skip(j);
            extra e = {.txn = NO_ID, .name = n, .text = value_str(h, t.at, t.n)};
            vec_push(&h->mem, &h->extras, e);
        }
    } while (json_more(j, '}'));
    json_space(j);
    if (j->p < j->end) json_expected(j, "the end of the line");
}

/* Has the object at the cursor a member "ratel"?  Leaves the cursor where it was. */
static bool is_header(json *j)
{
    const char *start = j->p;
    bool found = false;
    if (*j->p == '{') {
        j->p++;
        if (!json_take(j, '}')) do {
                json_text name = json_member(j);
                if (json_is(name, "ratel")) found = true;
                json_skip(j);
            } while (!found && json_more(j, '}'));
    }
    j->p = start;
    return found;
}

/* The last line of a recording that was cut off within it. */
static bool unfinished(const native_reader *r)
{
    const source *s = r->j.s;
    end_mark end;
    if (!s->eof || s->pos < s->n || s->at[s->n - 1] == '\n') return false;
    return history_recorded(r->h) && !end_mark_read(r->j.p, (size_t)(r->j.end - r->j.p), &end);
}

void native_read(history *h, source *s)
{
    native_reader r = {.h = h};
    json_init(&r.j, s);
    if (!json_next_line(&r.j, &r.line)) return;
    if (is_header(&r.j)) {
        read_header(&r);
        if (!json_next_line(&r.j, &r.line)) return;
    }
    do {
        if (unfinished(&r)) break;
        read_line(&r);
    } while (json_next_line(&r.j, &r.line));
    if (history_incomplete(h)) history_forget_lost(h);
    vec_free(&h->mem, &r.list);
    strbuf_free(&r.j.scratch);
}

/* --- writing ------------------------------------------------------------------------------- */

static void put_value(const history *h, value_id v, strbuf *b)
{
    if (v < VALUE_TABLE)
        strbuf_u64(b, v);
    else
        atom_json(h, value_atom(h, v), b);
}

static void put_label(const history *h, label l, strbuf *b)
{
    atom_json(h, label_atom(h, l), b);
}

static void put_bound(const history *h, uint32_t kind, uint32_t bound, strbuf *b)
{
    if (kind == BOUND_NONE)
        strbuf_str(b, "null");
    else
        atom_json(h, h->bounds.atoms.at[bound], b);
}

static void put_attributes(const history *h, op_id o, strbuf *b)
{
    unsigned flags = h->op_kind[o];
    enum op_kind kind = op_kind_of(h, o);
    const range *g = kind == OP_SCAN || kind == OP_ITER ? &h->ranges.at[h->op_key[o]] : NULL;
    char sep = '{';
#define MEMBER(name) (strbuf_char(b, sep), sep = ',', strbuf_str(b, "\"" name "\":"))
    strbuf_char(b, ',');
    if (flags & OP_LOCK) MEMBER("lock"), strbuf_str(b, "true");
    if (flags & OP_FAILED && !op_undone(h, o)) MEMBER("ok"), strbuf_str(b, "false");
    if (flags & OP_TOMB) MEMBER("tomb"), strbuf_str(b, "true");
    if (g && g->inclusive) MEMBER("incl"), strbuf_str(b, "true");
    if (g && g->reverse) MEMBER("reverse"), strbuf_str(b, "true");
    const attr *a = op_attrs(h, o), *end = h->attrs.n ? h->attrs.at + h->attrs.n : NULL;
    for (; a && a < end && a->op == o; a++) {
        switch ((enum attr_kind)a->kind) {
        case ATTR_FROM:
            MEMBER("from");
            put_label(h, a->a, b);
            break;
        case ATTR_FROM_INIT: MEMBER("from"), strbuf_str(b, "null"); break;
        case ATTR_VER:
            MEMBER("ver");
            strbuf_i64(b, (int64_t)a->a);
            break;
        case ATTR_CALL:
            MEMBER("t");
            strbuf_char(b, '[');
            strbuf_i64(b, (int64_t)a->a);
            break;
        case ATTR_RETURN:
            strbuf_char(b, ',');
            strbuf_i64(b, (int64_t)a->a);
            strbuf_char(b, ']');
            break;
        case ATTR_VSET:
        case ATTR_VSET_INIT:
            if (a == h->attrs.at || a[-1].op != o ||
                (a[-1].kind != ATTR_VSET && a[-1].kind != ATTR_VSET_INIT)) {
                MEMBER("vset");
                strbuf_char(b, '[');
            } else {
                strbuf_char(b, ',');
            }
            strbuf_char(b, '[');
            atom_json(h, key_atom(h, a->key), b);
            strbuf_char(b, ',');
            if (a->kind == ATTR_VSET)
                put_label(h, a->a, b);
            else
                strbuf_str(b, "null");
            strbuf_char(b, ']');
            if (a + 1 == end || a[1].op != o ||
                (a[1].kind != ATTR_VSET && a[1].kind != ATTR_VSET_INIT))
                strbuf_char(b, ']');
            break;
        case ATTR_ROW_FROM:
        case ATTR_ROW_FROM_INIT:
            if (a->key == 0) {
                MEMBER("from");
                strbuf_char(b, '[');
            } else {
                strbuf_char(b, ',');
            }
            if (a->kind == ATTR_ROW_FROM)
                put_label(h, a->a, b);
            else
                strbuf_str(b, "null");
            if (g && a->key + 1 == g->rows) strbuf_char(b, ']');
            break;
        case ATTR_EXTRA: {
            atom name = value_atom(h, a->key), text = value_atom(h, (value_id)a->a);
            strbuf_char(b, sep);
            sep = ',';
            strbuf_json(b, atom_bytes(h, name), name.len);
            strbuf_char(b, ':');
            strbuf_add(b, atom_bytes(h, text), text.len);
            break;
        }
        }
    }
#undef MEMBER
    if (sep == '{') strbuf_char(b, '{'); /* only an empty vset or the like: keep it well formed */
    strbuf_char(b, '}');
}

static void put_op(const history *h, op_id o, strbuf *b)
{
    static const char *const names[] = {"[\"r\",",      "[\"w\",",    "[\"d\",",
                                        "[\"append\",", "[\"scan\",", "[\"iter\","};
    enum op_kind kind = op_kind_of(h, o);
    strbuf_str(b, names[kind]);
    bool plain = !(h->op_kind[o] & (unsigned)~OP_KIND_MASK);
    if (kind == OP_SCAN || kind == OP_ITER) {
        const range *g = &h->ranges.at[h->op_key[o]];
        put_bound(h, g->from_kind, g->from, b);
        strbuf_char(b, ',');
        put_bound(h, g->to_kind, g->to, b);
        strbuf_str(b, ",[");
        for (uint32_t i = 0; i < g->rows; i++) {
            strbuf_str(b, i ? ",[" : "[");
            atom_json(h, key_atom(h, h->row_key.at[g->first_row + i]), b);
            strbuf_char(b, ',');
            put_value(h, h->row_value.at[g->first_row + i], b);
            strbuf_char(b, ']');
        }
        strbuf_char(b, ']');
        if (kind == OP_ITER) strbuf_str(b, g->done ? ",true" : ",false");
        if (g->inclusive || g->reverse) plain = false;
    } else {
        atom_json(h, key_atom(h, h->op_key[o]), b);
        value_id v = h->op_value[o];
        if (kind != OP_DELETE && v != VALUE_UNKNOWN) {
            strbuf_char(b, ',');
            put_value(h, v, b);
        }
    }
    if (!plain) put_attributes(h, o, b);
    strbuf_char(b, ']');
}

static void put_extras(const history *h, const extra **e, uint32_t txn, strbuf *b)
{
    const extra *end = h->extras.n ? h->extras.at + h->extras.n : NULL;
    for (; *e < end && (*e)->txn == txn; ++*e) {
        atom name = value_atom(h, (*e)->name), text = value_atom(h, (*e)->text);
        strbuf_char(b, ',');
        strbuf_json(b, atom_bytes(h, name), name.len);
        strbuf_char(b, ':');
        strbuf_add(b, atom_bytes(h, text), text.len);
    }
}

static void put_header(const history *h, const extra **e, strbuf *b)
{
    strbuf_str(b, "{\"ratel\":1,\"init\":");
    if (h->init == INIT_MAP) {
        /* The object form reads better, but holds string keys only. */
        bool strings = true;
        for (size_t i = 0; i < h->init_map.n; i++)
            strings = strings && key_atom(h, h->init_map.at[i].key).kind == ATOM_STR;
        strbuf_char(b, strings ? '{' : '[');
        for (size_t i = 0; i < h->init_map.n; i++) {
            if (i) strbuf_char(b, ',');
            if (!strings) strbuf_char(b, '[');
            atom_json(h, key_atom(h, h->init_map.at[i].key), b);
            strbuf_char(b, strings ? ':' : ',');
            put_value(h, h->init_map.at[i].value, b);
            if (!strings) strbuf_char(b, ']');
        }
        strbuf_char(b, strings ? '}' : ']');
    } else {
        put_value(h, h->init_scalar, b);
    }
    if (h->init_unknown) strbuf_str(b, ",\"init_unknown\":true");
    size_t sessions = h->sessions.n > h->declared_sessions ? h->sessions.n : h->declared_sessions;
    bool some_empty = h->declared_sessions > 0;
    for (size_t i = 0; i < h->sessions.n; i++)
        some_empty = some_empty || h->sess_first[i] == h->sess_first[i + 1];
    if (some_empty) {
        strbuf_str(b, ",\"sessions\":");
        strbuf_u64(b, sessions);
    }
    put_extras(h, e, NO_ID, b);
    strbuf_str(b, "}\n");
}

static void put_time(strbuf *b, const char *name, int64_t v)
{
    strbuf_str(b, name);
    strbuf_i64(b, v);
}

static void put_txn(const history *h, txn_id t, const extra **e, strbuf *b)
{
    unsigned flags = h->txn_flags[t];
    strbuf_str(b, "{\"session\":");
    put_label(h, h->sessions.at[h->txn_session[t]], b);
    strbuf_str(b, ",\"id\":");
    put_label(h, h->txn_label[t], b);
    if ((flags & TXN_STATUS_MASK) == TXN_ABORTED) strbuf_str(b, ",\"status\":\"aborted\"");
    if ((flags & TXN_STATUS_MASK) == TXN_UNKNOWN) strbuf_str(b, ",\"status\":\"unknown\"");
    if (flags & TXN_HAS_BEGIN) put_time(b, ",\"begin\":", h->txn_begin[t]);
    if (flags & TXN_HAS_END) put_time(b, ",\"end\":", h->txn_end[t]);
    if (flags & TXN_HAS_TIMES) {
        for (unsigned i = 0; i < 4; i++) {
            if (i == 1 && flags & TXN_NO_BEGIN_RETURN)
                strbuf_str(b, ",null");
            else
                put_time(b, i ? "," : ",\"times\":[", h->txn_times[(size_t)t * 4 + i]);
        }
        strbuf_char(b, ']');
    }
    if (flags & TXN_HAS_START_TS) put_time(b, ",\"start_ts\":", h->txn_start_ts[t]);
    if (flags & TXN_HAS_COMMIT_TS) put_time(b, ",\"commit_ts\":", h->txn_commit_ts[t]);
    put_extras(h, e, t, b);
    strbuf_str(b, ",\"ops\":[");
    for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
        if (o > h->txn_op[t]) strbuf_char(b, ',');
        put_op(h, o, b);
    }
    strbuf_str(b, "]}\n");
}

static void put_marks(const history *h, const mark **m, size_t txn, strbuf *b)
{
    for (; *m < h->marks.at + h->marks.n && (*m)->before <= txn; ++*m) {
        atom text = value_atom(h, (*m)->text);
        strbuf_add(b, atom_bytes(h, text), text.len);
        strbuf_char(b, '\n');
    }
}

void native_write(const history *h, sink *out)
{
    const extra *e = h->extras.at;
    const mark *m = h->marks.at;
    put_header(h, &e, &out->buf);
    for (size_t t = 0; t < h->txns; t++) {
        if (h->marks.n) put_marks(h, &m, t, &out->buf);
        put_txn(h, (txn_id)t, &e, &out->buf);
        sink_check(out);
        guard_tick(out->guard);
    }
    if (h->marks.n) put_marks(h, &m, h->txns, &out->buf);
}
