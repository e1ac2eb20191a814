/*
 * viper.c - Viper / ViperBench logs, a directory of J<thread>.log (doc/formats/others.md).
 *
 * One file a session, one committed transaction a line: {"value": [micro-operation, ...]}, where a
 * micro-operation is an array or, in ViperBench's other flavour, an object.  Both are parsed into
 * a mop first, because members of objects come in any order.
 *
 * The value 0 is the format's word for "absent", so nobody can write it.  ViperBench deletes by
 * writing a tombstone with a value of its own: that is a write with the flag OP_TOMB, and the rows
 * of a range are the live ones and the tombstones together.  A transaction marked isInitial is the
 * initial state; without one, a value that was read and never written is its key's first.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "read/formats.h"
#include "read/json.h"
#include "read/extra_members.h"
#include "read/integer_only.h"

/* Header member: the initial state is what was read and never written. */
#define INFERRED "init_inferred"
#define PREFIX "viper-" /* of members whose names are taken */

/* --- names --------------------------------------------------------------------------------- */

bool viper_member(const char *name, uint64_t *number)
{
    static const char *const tails[] = {"", ".log", ".log.gz", ".log.zst"};
    if (*name != 'J') return false;
    const char *p = name + 1;
    size_t digits = strspn(p, "0123456789");
    *number = UINT64_MAX;
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++)
        if (digits && digits < 19 && !strcmp(p + digits, tails[i])) *number = strtoull(p, NULL, 10);
    return digits || strstr(p, ".log");
}

/* --- reading ------------------------------------------------------------------------------- */

typedef struct row {
    const history *h; /* for the comparison: qsort passes no context */
    key_id key;
    value_id value;
    bool dead;
} row;

/* One micro-operation: r, w, i, d, a (append) or s (range). */
typedef struct mop {
    char what;
    bool has_key, dead, failed;
    bool zero; /* the value was written 0, which is one where lists are appended to */
    key_id key;
    value_id value, before; /* VALUE_UNKNOWN: not given */
    range span;
    bool has_time[2];
    int64_t time[2];
} mop;

enum stamp { PRE_BEGIN, POST_BEGIN, PRE_COMMIT, POST_COMMIT, STAMPS };
static const char *const stamp_names[] = {"preBeginTS", "postBeginTS", "preCommitTS",
                                          "postCommitTS"};

typedef struct viper_reader {
    json j;
    history *h;
    uint64_t line; /* of the log */
    VEC(value_id) list;
    VEC(row) rows; /* of the range being read */
    strbuf text;
    bool initial; /* an isInitial transaction was seen */
} viper_reader;

static bool read_bool(json *j)
{
    if (json_literal(j, "true")) return true;
    if (json_literal(j, "false")) return false;
    json_expected(j, "true or false");
}

/* A scalar, or the list that an appended key holds; 0 and null are "absent". */
static value_id read_value(viper_reader *r)
{
    json *j = &r->j;
    json_space(j);
    if (*j->p != '[') {
        value_id v = json_scalar(j, r->h, "a value");
        return v == 0 ? VALUE_NULL : v;
    }
    r->list.n = 0;
    j->p++;
    if (!json_take(j, ']')) do {
            value_id v = json_scalar(j, r->h, "a list element");
            vec_push(&r->h->mem, &r->list, v);
        } while (json_more(j, ']'));
    return value_list(r->h, r->list.at, r->list.n);
}

static void read_new_value(viper_reader *r, mop *m)
{
    json_space(&r->j);
    m->zero = *r->j.p == '0';
    m->value = read_value(r);
}

/* One end of a range: "nil", or in the other flavour an extreme number, is none. */
static uint32_t read_bound(viper_reader *r, uint32_t *kind, const char *extreme)
{
    json *j = &r->j;
    json_space(j);
    const char *at = j->p;
    if (*at == '"') {
        json_text t = json_string(j);
        *kind = json_is(t, "nil") ? BOUND_NONE : BOUND_AT;
        return *kind == BOUND_NONE ? 0 : bound_str(r->h, t.at, t.n);
    }
    uint32_t bound = json_bound(j, r->h, kind);
    size_t n = strlen(extreme);
    if (n && (size_t)(j->p - at) == n && !memcmp(at, extreme, n)) *kind = BOUND_NONE;
    return *kind == BOUND_NONE ? 0 : bound;
}

static void read_row(viper_reader *r, bool dead)
{
    json *j = &r->j;
    row x = {.h = r->h, .dead = dead, .value = VALUE_NULL};
    key_id second = 0;
    bool has_id = false, has_second = false;
    json_space(j);
    const char *at = j->p;
    json_need(j, '{');
    if (!json_take(j, '}')) do {
            json_text name = json_member(j);
            if (json_is(name, "id")) {
                x.key = json_key(j, r->h);
                has_id = true;
            } else if (json_is(name, "sk")) {
                second = json_key(j, r->h);
                has_second = true;
            } else if (json_is(name, "val")) {
                x.value = read_value(r);
            } else {
                json_skip(j);
            }
        } while (json_more(j, '}'));
    if (!has_id) json_fail(j, at, "a row without \"id\"");
    if (has_second && second != x.key)
        json_fail(j, at,
                  "a row whose \"sk\" is not its \"id\": only ranges of keys are understood");
    if (x.value != VALUE_NULL) vec_push(&r->h->mem, &r->rows, x);
}

static void read_rows(viper_reader *r, bool dead)
{
    json_need(&r->j, '[');
    if (json_take(&r->j, ']')) return;
    do {
        read_row(r, dead);
    } while (json_more(&r->j, ']'));
}

static char read_name(viper_reader *r, const char **at)
{
    static const char *const names[] = {"r", "w", "i", "d", "append", "range"};
    json *j = &r->j;
    json_space(j);
    *at = j->p;
    json_text name = json_string(j);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (json_is(name, names[i])) return "rwidas"[i];
    json_fail(j, *at, "unknown micro-operation (r, w, i, d, append, range)");
}

/* ["r", key, value, is_dead] and the like; the cursor stands after the bracket.  The flags of
   reads and writes may be missing, as in lists that came from EDN. */
static void read_array(viper_reader *r, mop *m)
{
    json *j = &r->j;
    const char *at;
    m->what = read_name(r, &at);
    json_need(j, ',');
    if (m->what == 's') {
        m->span.from = read_bound(r, &m->span.from_kind, "");
        json_need(j, ',');
        m->span.to = read_bound(r, &m->span.to_kind, "");
        json_need(j, ',');
        read_rows(r, false);
        json_need(j, ',');
        read_rows(r, true);
        json_need(j, ']');
        return;
    }
    m->key = json_key(j, r->h);
    m->has_key = true;
    json_need(j, ',');
    read_new_value(r, m);
    if (m->what == 'i' || m->what == 'd') {
        json_need(j, ',');
        json_space(j);
        if (!json_literal(j, "null")) m->before = read_value(r);
        json_need(j, ',');
        m->dead = read_bool(j);
        json_need(j, ',');
        m->failed = !read_bool(j);
    } else if (m->what != 'a' && json_more(j, ']')) {
        if (m->what == 'r')
            m->dead = read_bool(j);
        else
            m->failed = !read_bool(j);
    } else if (m->what != 'a') {
        return;
    }
    json_need(j, ']');
}

/* {"opType":"r","key":1,...}; the cursor stands after the brace. */
static void read_object(viper_reader *r, mop *m, const char *start)
{
    json *j = &r->j;
    const char *at;
    if (!json_take(j, '}')) do {
            json_text name = json_member(j);
            if (json_is(name, "opType")) {
                m->what = read_name(r, &at);
            } else if (json_is(name, "key")) {
                m->key = json_key(j, r->h);
                m->has_key = true;
            } else if (json_is(name, "value")) {
                read_new_value(r, m);
            } else if (json_is(name, "readValue")) {
                json_space(j);
                if (!json_literal(j, "null")) m->before = read_value(r);
            } else if (json_is(name, "isDead")) {
                m->dead = read_bool(j);
            } else if (json_is(name, "succ")) {
                m->failed = !read_bool(j);
            } else if (json_is(name, "key1")) {
                m->span.from = read_bound(r, &m->span.from_kind, "-9223372036854775808");
            } else if (json_is(name, "key2")) {
                m->span.to = read_bound(r, &m->span.to_kind, "9223372036854775807");
            } else if (json_is(name, "liveKVs")) {
                read_rows(r, false);
            } else if (json_is(name, "deadKVs")) {
                read_rows(r, true);
            } else if (json_is(name, "reqTS") || json_is(name, "resTS")) {
                bool response = json_is(name, "resTS");
                m->time[response] = json_int(j, "a time");
                m->has_time[response] = true;
            } else {
                json_skip(j);
            }
        } while (json_more(j, '}'));
    if (!m->what) json_fail(j, start, "a micro-operation without \"opType\"");
    if (m->what != 's' && !m->has_key) json_fail(j, start, "a micro-operation without \"key\"");
    if (m->what != 's' && m->value == VALUE_UNKNOWN)
        json_fail(j, start, "a micro-operation without \"value\"");
}

static void add_read(viper_reader *r, const mop *m, value_id seen)
{
    unsigned flags = m->what == 'r' || !m->failed ? 0 : OP_FAILED;
    /* Of absence the flag says nothing: the row was never there. */
    if (m->dead && seen != VALUE_NULL) flags |= OP_TOMB;
    history_op(r->h, OP_READ | flags, m->key, seen);
}

static void add_write(viper_reader *r, const mop *m, const char *start)
{
    unsigned flags = m->failed ? OP_FAILED : 0;
    if (m->what == 'd' && m->value == VALUE_NULL) {
        history_op(r->h, OP_DELETE | flags, m->key, VALUE_NULL);
        return;
    }
    if (m->what == 'd') flags |= OP_TOMB;
    value_id v = m->value;
    if (v >= VALUE_TABLE && value_atom(r->h, v).kind == ATOM_LIST)
        json_fail(&r->j, start, "a list cannot be written, only single values");
    if (v == VALUE_NULL && (m->failed || (m->what == 'a' && m->zero))) v = 0;
    if (v == VALUE_NULL)
        json_fail(&r->j, start, "the value 0 means that nothing is there: it cannot be written");
    history_op(r->h, (m->what == 'a' ? OP_APPEND : OP_WRITE) | flags, m->key, v);
}

static int by_key(const void *x, const void *y)
{
    const row *a = x, *b = y;
    int c = key_compare(a->h, key_atom(a->h, a->key), key_atom(b->h, b->key));
    return c ? c : (a->dead > b->dead) - (a->dead < b->dead);
}

/* Rows come in no promised order, the dead after the live; a range has them by key. */
static void add_range(viper_reader *r, mop *m)
{
    history *h = r->h;
    bool some_dead = false;
    if (r->rows.n > 1) qsort(r->rows.at, r->rows.n, sizeof *r->rows.at, by_key);
    r->text.n = 0;
    for (size_t i = 0; i < r->rows.n; i++) {
        history_row(h, r->rows.at[i].key, r->rows.at[i].value);
        if (!r->rows.at[i].dead) continue;
        strbuf_char(&r->text, some_dead ? ',' : '[');
        strbuf_u64(&r->text, i);
        some_dead = true;
    }
    strbuf_char(&r->text, ']');
    m->span.done = true;
    m->span.inclusive = m->span.to_kind != BOUND_NONE;
    op_id op = history_range(h, OP_SCAN, m->span);
    if (some_dead) {
        value_id name = value_str(h, "dead", 4);
        history_attr(h, op, ATTR_EXTRA, name, value_str(h, r->text.at, r->text.n));
    }
}

static void read_mop(viper_reader *r)
{
    json *j = &r->j;
    history *h = r->h;
    mop m = {.value = VALUE_UNKNOWN, .before = VALUE_UNKNOWN};
    json_space(j);
    const char *start = j->p;
    r->rows.n = 0;
    if (json_take(j, '{')) {
        read_object(r, &m, start);
    } else {
        json_need(j, '[');
        read_array(r, &m);
    }
    size_t first = h->ops;
    if (m.what == 's') {
        add_range(r, &m);
    } else if (m.what == 'r') {
        add_read(r, &m, m.value);
    } else {
        if (m.before != VALUE_UNKNOWN) add_read(r, &m, m.before);
        add_write(r, &m, start);
    }
    if (!m.has_time[0] || !m.has_time[1]) return;
    for (size_t o = first; o < h->ops; o++) {
        history_attr(h, (op_id)o, ATTR_CALL, 0, (uint64_t)m.time[0]);
        history_attr(h, (op_id)o, ATTR_RETURN, 0, (uint64_t)m.time[1]);
    }
}

static void read_mops(viper_reader *r)
{
    json_need(&r->j, '[');
    if (json_take(&r->j, ']')) return;
    do {
        read_mop(r);
    } while (json_more(&r->j, ']'));
}

/* What the line put into the history, to be taken back. */
typedef struct state {
    size_t ops, attrs, ranges, rows, extras;
} state;

static state now(const history *h)
{
    return (state){h->ops, h->attrs.n, h->ranges.n, h->row_key.n, h->extras.n};
}

/* The transaction was the initial state: only writes, or one unbounded range. */
static void take_initial(viper_reader *r, const char *start, state was)
{
    history *h = r->h;
    if (r->initial) json_fail(&r->j, start, "a second transaction with \"isInitial\"");
    r->initial = true;
    for (size_t o = was.ops; o < h->ops; o++) {
        unsigned kind = h->op_kind[o] & OP_KIND_MASK;
        if (h->op_kind[o] & OP_FAILED) continue;
        if (kind == OP_WRITE) {
            history_init_entry(h, h->op_key[o], h->op_value[o]);
        } else if (kind == OP_SCAN) {
            const range *g = &h->ranges.at[h->op_key[o]];
            if (g->from_kind != BOUND_NONE || g->to_kind != BOUND_NONE)
                json_fail(&r->j, start, "the initial state is a range with bounds");
            for (uint32_t i = 0; i < g->rows; i++)
                history_init_entry(h, h->row_key.at[g->first_row + i],
                                   h->row_value.at[g->first_row + i]);
        } else {
            json_fail(&r->j, start, "the initial state has other operations than w and range");
        }
    }
    h->ops = was.ops;
    h->attrs.n = was.attrs;
    h->ranges.n = was.ranges;
    h->row_key.n = h->row_value.n = was.rows;
    h->extras.n = was.extras;
    h->open = false;
}

static void read_stamps(viper_reader *r, const int64_t *stamps, unsigned seen)
{
    if (seen == (1u << STAMPS) - 1) {
        history_times(r->h, stamps);
        return;
    }
    for (int i = 0; i < STAMPS; i++) { /* too few to be intervals: carried as they are */
        if (!(seen >> i & 1)) continue;
        r->text.n = 0;
        strbuf_i64(&r->text, stamps[i]);
        history_extra(r->h, stamp_names[i], strlen(stamp_names[i]), r->text.at, r->text.n);
    }
}

/* The log's name up to its ending, and the line; a lone log has no name. */
static label line_label(viper_reader *r)
{
    const char *member = r->j.s->member;
    if (!member) return label_uint(r->h, r->line);
    r->text.n = 0;
    strbuf_add(&r->text, member, strcspn(member, "."));
    strbuf_char(&r->text, ':');
    strbuf_u64(&r->text, r->line);
    return label_str(r->h, r->text.at, r->text.n);
}

static bool is_stamp(json_text name, int *which)
{
    for (*which = 0; *which < STAMPS; ++*which)
        if (json_is(name, stamp_names[*which])) return true;
    return false;
}

/* False if the line was the initial state. */
static bool read_line(viper_reader *r, label session)
{
    json *j = &r->j;
    history *h = r->h;
    const char *start = j->p;
    state was = now(h);
    int64_t stamps[STAMPS] = {0};
    unsigned seen = 0;
    int which;
    bool has_value = false, initial = false;
    json_need(j, '{');
    history_begin(h);
    if (!json_take(j, '}')) do {
            json_space(j);
            const char *at = j->p;
            json_text name = json_member(j);
            if (json_is(name, "value")) {
                if (has_value) json_fail(j, at, "this member occurs twice");
                has_value = true;
                read_mops(r);
            } else if (json_is(name, "isInitial")) {
                initial = read_bool(j);
            } else if (is_stamp(name, &which)) {
                if (seen >> which & 1) json_fail(j, at, "this member occurs twice");
                if (json_literal(j, "null")) continue;
                seen |= 1u << which;
                stamps[which] = json_int(j, "a time");
            } else {
                bool final = json_is(name, "isFinal");
                r->text.n = 0; /* a copy: the scanner may overwrite the name */
                strbuf_add(&r->text, name.at, name.n);
                json_text t = json_skip(j);
                if (final && json_is(t, "false")) continue;
                kept_add(h, PREFIX, (json_text){r->text.at, r->text.n}, t);
            }
        } while (json_more(j, '}'));
    json_space(j);
    if (j->p < j->end) json_expected(j, "the end of the line");
    if (!has_value) json_fail(j, start, "a transaction without \"value\"");
    if (initial) {
        take_initial(r, start, was);
        return false;
    }
    history_session(h, session);
    history_label(h, line_label(r));
    read_stamps(r, stamps, seen);
    history_end(h, TXN_COMMITTED);
    return true;
}

static void read_log(viper_reader *r, source *s, label session)
{
    bool only_initial = false;
    json_init(&r->j, s);
    r->line = 0;
    while (json_next_line(&r->j, &r->line))
        if (!read_line(r, session)) only_initial = true;
    /* An empty log is a session too, but the initial state belongs to none. */
    if (!only_initial) history_declare_session(r->h, session);
    strbuf_free(&r->j.scratch);
}

static bool is_write(const history *h, size_t o)
{
    return (h->op_kind[o] & (OP_KIND_MASK | OP_FAILED)) == OP_WRITE;
}

/* A value that was seen and never written was there at first; a second one of the same key stays
   unexplained, and so does absence beside it. */
static void infer_one(history *h, const key_set *written, uint8_t *known, key_id k, value_id v)
{
    if (v == VALUE_NULL || v == VALUE_EMPTY || known[k] || key_set_has(written, map_pair(k, v)))
        return;
    if (value_atom(h, v).kind == ATOM_LIST) return;
    known[k] = 1;
    history_init_entry(h, k, v);
}

static void infer_initial(history *h)
{
    key_set written = {0}; /* (key, value) */
    uint8_t *known = mem_zeroed(&h->mem, history_keys(h) + 1);
    for (size_t o = 0; o < h->ops; o++)
        if (is_write(h, o)) key_set_add(&h->mem, &written, map_pair(h->op_key[o], h->op_value[o]));
    for (size_t o = 0; o < h->ops; o++)
        if ((h->op_kind[o] & (OP_KIND_MASK | OP_FAILED)) == OP_READ)
            infer_one(h, &written, known, h->op_key[o], h->op_value[o]);
    for (size_t i = 0; i < h->row_key.n; i++)
        infer_one(h, &written, known, h->row_key.at[i], h->row_value.at[i]);
    key_set_free(&h->mem, &written);
    mem_put(&h->mem, known);
    history_extra(h, INFERRED, strlen(INFERRED), "true", 4);
    extra header = h->extras.at[h->extras.n - 1]; /* headers stand first */
    memmove(h->extras.at + 1, h->extras.at, (h->extras.n - 1) * sizeof *h->extras.at);
    h->extras.at[0] = header;
}

static void finish(viper_reader *r)
{
    if (!r->initial) infer_initial(r->h);
    vec_free(&r->h->mem, &r->list);
    vec_free(&r->h->mem, &r->rows);
    strbuf_free(&r->text);
}

void viper_read(history *h, source *s)
{
    viper_reader r = {.h = h};
    strbuf_init(&r.text, &h->mem);
    read_log(&r, s, label_uint(h, 0));
    finish(&r);
}

void viper_read_dir(history *h, const read_dir *d, source *s)
{
    viper_reader r = {.h = h};
    uint64_t number, before = UINT64_MAX;
    strbuf_init(&r.text, &h->mem);
    for (size_t i = 0; i < d->members; i++) {
        if (!viper_member(d->names[i], &number)) continue;
        source_open_member(s, d, i);
        bool plain_number = number != UINT64_MAX && number != before; /* J1 and J01 are two */
        label session =
            plain_number ? label_uint(h, number) : label_str(h, d->names[i], strlen(d->names[i]));
        before = number;
        read_log(&r, s, session);
    }
    finish(&r);
}

/* --- writing ------------------------------------------------------------------------------- */

/* What is decided once for the directory. */
typedef struct plan {
    plain base; /* which transactions of unknown outcome count as committed */
    bool numbered;
    int64_t zero; /* written for the value 0, which would mean "absent" */
} plan;

static bool is_list(const history *h, value_id v)
{
    return v == VALUE_EMPTY || value_atom(h, v).kind == ATOM_LIST;
}

/* An integer that no value has. */
static int64_t unused(const history *h, guard *g)
{
    int64_t least = 0;
    for (size_t i = 0; i < h->values.atoms.n; i++) {
        atom a = h->values.atoms.at[i];
        if (a.kind == ATOM_INT && a.as.i < least) least = a.as.i;
    }
    if (least == INT64_MIN)
        guard_fail(g, GUARD_UNSUPPORTED, "no integer is left that could stand for the value 0");
    return least - 1;
}

/* The reader will come to the same initial state again. */
static bool inferred(const history *h)
{
    size_t n;
    const char *text = plain_extra(h, INFERRED, &n);
    return text && n == 4 && !memcmp(text, "true", 4);
}

static plan *make_plan(const history *h, sink *out)
{
    plan *p = mem_zeroed(out->mem, sizeof *p);
    uint64_t told = out->lost_bits;
    plain_open(&p->base, h, out, PLAIN_EMPTY);
    out->lost_bits = told | (out->lost_bits & (uint64_t)1 << LOST_UNKNOWN);
    for (unsigned b = 0; b < LOST_COUNT; b++) sink_keep_ops(out, (enum lost_bit)b);
    p->numbered = read_numbered(h);
    p->zero = unused(h, out->guard);
    for (txn_id t = 0; t < h->txns; t++) {
        unsigned flags = h->txn_flags[t];
        if (plain_status(&p->base, t) == TXN_ABORTED) sink_lose_txn(out, h, t, LOST_ABORTED);
        if (flags & (TXN_HAS_BEGIN | TXN_HAS_END | TXN_HAS_START_TS | TXN_HAS_COMMIT_TS))
            sink_lose(out, LOST_TIMES);
    }
    if (h->marks.n) sink_lose(out, LOST_MARKS);
    for (size_t i = 0; i < h->extras.n && h->extras.at[i].txn == NO_ID; i++)
        if (i || !inferred(h)) sink_lose(out, LOST_EXTRAS);
    if (h->init == INIT_SCALAR || (h->init_unknown && h->init != INIT_ABSENT))
        sink_lose(out, LOST_INIT);
    return p;
}

static void put_value(plan *p, const history *h, value_id v, sink *out)
{
    strbuf *b = &out->buf;
    if (v == VALUE_NULL) {
        strbuf_char(b, '0');
    } else if (v == 0) {
        strbuf_i64(b, p->zero);
    } else {
        atom_json(h, value_atom(h, v), b);
    }
    if (v == 0) sink_lose(out, LOST_VALUES);
}

static void put_key(const history *h, op_id o, strbuf *b)
{
    atom_json(h, key_atom(h, h->op_key[o]), b);
}

static const char *put_bool(bool v)
{
    return v ? "true" : "false";
}

/* The members of a viper range that are not in the row's list: positions told by "dead". */
static bool next_dead(const char **p, uint32_t *at)
{
    while (**p && (**p < '0' || **p > '9')) ++*p;
    if (!**p) return false;
    *at = 0;
    while (**p >= '0' && **p <= '9') *at = *at * 10 + (uint32_t)(*(*p)++ - '0');
    return true;
}

static bool is_dead_list(const history *h, const attr *a)
{
    atom name = value_atom(h, a->key);
    return name.len == 4 && !memcmp(atom_bytes(h, name), "dead", 4);
}

static const char *dead_rows(const history *h, op_id o)
{
    const attr *a = op_attrs(h, o), *end = h->attrs.n ? h->attrs.at + h->attrs.n : NULL;
    for (; a && a < end && a->op == o; a++) {
        if (a->kind == ATTR_EXTRA && is_dead_list(h, a))
            return atom_bytes(h, value_atom(h, (value_id)a->a));
    }
    return "";
}

static void put_rows(plan *p, const history *h, op_id o, bool dead, sink *out)
{
    const range *g = &h->ranges.at[h->op_key[o]];
    const char *told = dead_rows(h, o);
    uint32_t next = 0;
    bool more = next_dead(&told, &next), first = true;
    strbuf_char(&out->buf, '[');
    for (uint32_t i = 0; i < g->rows; i++) {
        uint32_t at = g->first_row + i;
        bool is_dead = more && next == i;
        if (is_dead) more = next_dead(&told, &next);
        if (is_dead != dead) continue;
        strbuf_str(&out->buf, first ? "{\"id\": " : ", {\"id\": ");
        first = false;
        atom_json(h, key_atom(h, h->row_key.at[at]), &out->buf);
        strbuf_str(&out->buf, ", \"sk\": ");
        atom_json(h, key_atom(h, h->row_key.at[at]), &out->buf);
        strbuf_str(&out->buf, ", \"val\": ");
        put_value(p, h, h->row_value.at[at], out);
        strbuf_char(&out->buf, '}');
    }
    strbuf_char(&out->buf, ']');
}

/* The highest key of a range, which Viper includes.  Below an integer bound stands the integer
   before; below a string there is no greatest one. */
static bool put_upper(const history *h, const range *g, strbuf *b)
{
    atom a = g->to_kind == BOUND_NONE ? (atom){0} : h->bounds.atoms.at[g->to];
    if (g->to_kind == BOUND_NONE) {
        strbuf_str(b, "\"nil\"");
    } else if (g->inclusive) {
        atom_json(h, a, b);
    } else if (a.kind == ATOM_UINT) {
        strbuf_u64(b, a.as.u - 1);
    } else if (a.kind == ATOM_INT && a.as.i > INT64_MIN) {
        strbuf_i64(b, a.as.i - 1);
    } else {
        return false;
    }
    return true;
}

static bool is_nil_bound(const history *h, uint32_t kind, uint32_t bound)
{
    if (kind == BOUND_NONE) return false;
    atom a = h->bounds.atoms.at[bound];
    return a.kind == ATOM_STR && a.len == 3 && !memcmp(atom_bytes(h, a), "nil", 3);
}

static bool can_hold_range(const history *h, op_id o, sink *out)
{
    const range *g = &h->ranges.at[h->op_key[o]];
    if (!g->done || (h->op_kind[o] & OP_FAILED)) return false;
    if (is_nil_bound(h, g->from_kind, g->from) || is_nil_bound(h, g->to_kind, g->to)) return false;
    size_t mark_at = out->buf.n;
    bool ok = put_upper(h, g, &out->buf);
    out->buf.n = mark_at;
    for (uint32_t i = 0; i < g->rows && ok; i++) {
        value_id v = h->row_value.at[g->first_row + i];
        /* Absent and unknown rows are malformed; the format has no word for them. */
        ok = v != VALUE_NULL && v != VALUE_UNKNOWN;
        /* Order is lost in sorting: rows that were out of it must stay evidence elsewhere. */
        if (i && ok) {
            atom a = key_atom(h, h->row_key.at[g->first_row + i - 1]);
            int c = key_compare(h, a, key_atom(h, h->row_key.at[g->first_row + i]));
            ok = g->reverse ? c > 0 : c < 0;
        }
    }
    return ok;
}

static void put_range(plan *p, const history *h, op_id o, sink *out)
{
    const range *g = &h->ranges.at[h->op_key[o]];
    strbuf *b = &out->buf;
    strbuf_str(b, "[\"range\", ");
    if (g->from_kind == BOUND_NONE)
        strbuf_str(b, "\"nil\"");
    else
        atom_json(h, h->bounds.atoms.at[g->from], b);
    strbuf_str(b, ", ");
    put_upper(h, g, b);
    strbuf_str(b, ", ");
    put_rows(p, h, o, false, out);
    strbuf_str(b, ", ");
    put_rows(p, h, o, true, out);
    strbuf_char(b, ']');
}

/* An update that the format writes in one piece with the read before it: a delete, or an insert
   that failed. */
static bool is_pair(const history *h, op_id o, op_id end)
{
    if (o + 1 >= end || op_kind_of(h, o) != OP_READ) return false;
    enum op_kind kind = op_kind_of(h, o + 1);
    unsigned failed = h->op_kind[o] & OP_FAILED, next = h->op_kind[o + 1];
    if (h->op_key[o] != h->op_key[o + 1] || (next & OP_FAILED) != failed) return false;
    if (h->op_value[o] == VALUE_UNKNOWN || is_list(h, h->op_value[o])) return false;
    return kind == OP_DELETE || (kind == OP_WRITE && (failed || (next & OP_TOMB)));
}

/* True if the operation at o (and the one after it, if paired) can be written. */
static bool can_hold(const history *h, op_id o, bool pair, sink *out)
{
    unsigned flags = h->op_kind[o];
    enum op_kind kind = op_kind_of(h, o);
    if (pair) return true;
    if (kind == OP_SCAN || kind == OP_ITER) {
        const range *g = &h->ranges.at[h->op_key[o]];
        bool ok = can_hold_range(h, o, out);
        if (!ok) sink_lose_op(out, LOST_RANGES);
        if (kind == OP_ITER || g->reverse) sink_lose(out, LOST_RANGES);
        return ok;
    }
    if (flags & OP_FAILED && kind != OP_WRITE && kind != OP_DELETE)
        return sink_lose_op(out, LOST_FAILED), false;
    if (kind == OP_READ && h->op_value[o] == VALUE_UNKNOWN)
        return sink_lose_op(out, LOST_UNKNOWN_READS), false;
    return true;
}

static void note_attributes(const history *h, op_id o, sink *out)
{
    unsigned flags = h->op_kind[o];
    if (flags & OP_LOCK) sink_lose(out, LOST_ATTRS);
    /* A tombstone delete without a value, or its absence read as one, is a plain one here. */
    if (flags & OP_TOMB && (op_kind_of(h, o) > OP_WRITE || h->op_value[o] == VALUE_NULL))
        sink_lose(out, LOST_ATTRS);
    if (!(flags & OP_ATTR)) return;
    const attr *a = op_attrs(h, o), *end = h->attrs.at + h->attrs.n;
    for (; a < end && a->op == o; a++) {
        if (op_kind_of(h, o) == OP_SCAN && a->kind == ATTR_EXTRA && is_dead_list(h, a)) continue;
        sink_lose(out, LOST_ATTRS);
    }
}

static void put_mop(plan *p, const history *h, op_id o, bool pair, sink *out)
{
    strbuf *b = &out->buf;
    op_id change = pair ? o + 1 : o;
    unsigned flags = h->op_kind[change];
    enum op_kind kind = op_kind_of(h, change);
    if (kind == OP_SCAN || kind == OP_ITER) {
        put_range(p, h, o, out);
        return;
    }
    bool removes = kind == OP_DELETE || (kind == OP_WRITE && (flags & OP_TOMB));
    strbuf_str(b, removes             ? "[\"d\", "
                  : pair              ? "[\"i\", "
                  : kind == OP_READ   ? "[\"r\", "
                  : kind == OP_APPEND ? "[\"append\", "
                                      : "[\"w\", ");
    put_key(h, o, b);
    strbuf_str(b, ", ");
    if (kind == OP_APPEND) /* elements of lists are what they are */
        atom_json(h, value_atom(h, h->op_value[o]), b);
    else
        put_value(p, h, h->op_value[change], out);
    if (pair) {
        strbuf_str(b, ", ");
        put_value(p, h, h->op_value[o], out);
        strbuf_printf(b, ", %s", put_bool(h->op_kind[o] & OP_TOMB));
    } else if (removes) {
        strbuf_str(b, ", null, false");
    }
    if (kind == OP_READ)
        strbuf_printf(b, ", %s", put_bool(flags & OP_TOMB && h->op_value[o] != VALUE_NULL));
    else if (kind != OP_APPEND)
        strbuf_printf(b, ", %s", put_bool(!(flags & OP_FAILED)));
    strbuf_char(b, ']');
}

static void put_txn(plan *p, const history *h, txn_id t, sink *out)
{
    strbuf *b = &out->buf;
    op_id end = h->txn_op[t + 1];
    bool first = true;
    strbuf_char(b, '{');
    if (h->txn_flags[t] & TXN_HAS_TIMES)
        for (int i = 0; i < STAMPS; i++) {
            if (i == POST_BEGIN && h->txn_flags[t] & TXN_NO_BEGIN_RETURN) {
                sink_lose(out, LOST_TIMES); /* the other three are no intervals without it */
                continue;
            }
            strbuf_printf(b, "\"%s\": ", stamp_names[i]);
            strbuf_i64(b, h->txn_times[(size_t)t * 4 + (size_t)i]);
            strbuf_str(b, ", ");
        }
    strbuf_str(b, "\"value\": [");
    for (op_id o = h->txn_op[t]; o < end; o++) {
        bool pair = is_pair(h, o, end);
        note_attributes(h, o, out);
        if (pair) note_attributes(h, o + 1, out);
        if (!can_hold(h, o, pair, out)) continue;
        if (!first) strbuf_str(b, ", ");
        first = false;
        put_mop(p, h, o, pair, out);
        if (pair) o++;
        sink_check(out);
    }
    strbuf_char(b, ']');
}

/* An integer of 64 bits for certain. */
static bool is_number(json_text t)
{
    bool minus = t.n && *t.at == '-';
    for (size_t i = minus; i < t.n; i++)
        if (t.at[i] < '0' || t.at[i] > '9') return false;
    return t.n > minus && t.n - minus < 19;
}

/* Fields that the model does not know, as they came. */
static void put_extras(const history *h, txn_id t, sink *out)
{
    unsigned stamps = h->txn_flags[t] & TXN_HAS_TIMES ? ~0u : 0; /* those that are written */
    for (size_t i = txn_extras(h, t); i < h->extras.n && h->extras.at[i].txn == t; i++) {
        atom stored = value_atom(h, h->extras.at[i].name);
        atom text = value_atom(h, h->extras.at[i].text);
        json_text name = kept_name(PREFIX, (json_text){atom_bytes(h, stored), stored.len});
        int which;
        bool taken = json_is(name, "value") || json_is(name, "isInitial");
        if (is_stamp(name, &which)) {
            taken = stamps >> which & 1 || !is_number((json_text){atom_bytes(h, text), text.len});
            stamps |= 1u << which;
        }
        if (taken) {
            sink_lose(out, LOST_EXTRAS);
            continue;
        }
        strbuf_str(&out->buf, ", ");
        strbuf_json(&out->buf, name.at, name.n);
        strbuf_str(&out->buf, ": ");
        strbuf_add(&out->buf, atom_bytes(h, text), text.len);
    }
}

static void put_initial(plan *p, const history *h, sink *out)
{
    bool first = true;
    strbuf_str(&out->buf, "{\"value\": [");
    size_t n = h->init == INIT_MAP ? h->init_map.n : h->init == INIT_SCALAR ? history_keys(h) : 0;
    for (size_t i = 0; i < n; i++) {
        key_id k = h->init == INIT_MAP ? h->init_map.at[i].key : (key_id)i;
        value_id v = h->init == INIT_MAP ? h->init_map.at[i].value : h->init_scalar;
        if (v == VALUE_NULL || is_list(h, v)) {
            sink_lose(out, LOST_INIT);
            continue;
        }
        strbuf_str(&out->buf, first ? "[\"w\", " : ", [\"w\", ");
        first = false;
        atom_json(h, key_atom(h, k), &out->buf);
        strbuf_str(&out->buf, ", ");
        put_value(p, h, v, out);
        strbuf_str(&out->buf, ", true]");
        sink_check(out);
    }
    strbuf_str(&out->buf, "], \"isInitial\": true, \"isFinal\": false}\n");
}

uint32_t viper_members(const history *h)
{
    return read_session_files(h) + !(h->init_unknown || inferred(h));
}

void viper_write_member(const history *h, uint32_t session, sink *out)
{
    if (!out->cache) out->cache = make_plan(h, out);
    plan *p = out->cache;
    uint64_t line = 0;
    if (session >= h->sessions.n) { /* an empty log, or after all of them the initial state */
        if (session == read_session_files(h)) put_initial(p, h, out);
        return;
    }
    uint32_t number = p->numbered ? (uint32_t)h->sessions.at[session] : session;
    for (uint32_t j = h->sess_first[session]; j < h->sess_first[session + 1]; j++) {
        txn_id t = h->sess_txn[j];
        if (plain_status(&p->base, t) == TXN_ABORTED) continue;
        put_txn(p, h, t, out);
        put_extras(h, t, out);
        strbuf_str(&out->buf, "}\n");
        char name[64];
        int n = snprintf(name, sizeof name, "J%lu:%llu", (unsigned long)number,
                         (unsigned long long)++line);
        atom id = label_atom(h, h->txn_label[t]);
        if (id.kind != ATOM_STR || id.len != (uint32_t)n || memcmp(atom_bytes(h, id), name, id.len))
            sink_lose(out, LOST_LABELS);
        sink_check(out);
        guard_tick(out->guard);
    }
}
