/*
 * edn_write.c - writes Jepsen/Elle EDN (doc/formats/others.md), one event a line, and elle-cli's
 * JSON, an array of the same events.
 *
 * If every transaction has times that the format can express, invocations and completions are
 * written in that order, since the order of events is the format's only real time.  Otherwise only
 * completions are written: an invocation standing right before its completion would claim a
 * real-time order that the history does not have.
 *
 * What edn.c reads comes back the same: event numbers as :index, unknown fields, marks.  A string
 * that begins with a colon and could be a keyword is written as one.  A read of an initial value
 * that nobody writes becomes nil, which is what the initial state is called here.
 */
#include <assert.h>

#include "base/sort.h"
#include "history/header_notes.h"
#include "read/edn_lex.h"
#include "read/formats.h"
#include "read/read.h"

enum kind { LIST_APPEND, REGISTER, EITHER };

#define KEY_LIST 1u        /* appended to, or read as a list */
#define KEY_REGISTER 2u    /* written, deleted or read as a scalar */
#define KEY_WRITES_INIT 4u /* somebody writes the initial value */

typedef struct event {
    int64_t at;
    uint32_t txn;
    bool completion;
} event;

typedef struct edn_writer {
    const history *h;
    sink *out;
    strbuf *b;
    mem *mem;
    enum kind kind;
    bool json;     /* elle-cli's punctuation */
    bool any;      /* an event was written */
    uint8_t *keys; /* KEY_* of each key */
    event *events; /* in the order of writing; NULL: completions only */
    size_t events_n;
    bool numbered;  /* events[].at are the numbers to write as :index */
    uint32_t *open; /* per session: transaction + 1 that is invoked and not completed */
    size_t header_extras, next_mark;
    int64_t next_index;
} edn_writer;

/* --- values -------------------------------------------------------------------------------- */

static bool keyword_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || edn_digit(c) ||
           (c && strchr("*+!-_?<>=.$%&|/'", c));
}

static bool is_keyword(const char *s, size_t n)
{
    if (n < 2 || s[0] != ':' || s[1] == '/') return false;
    for (size_t i = 1; i < n; i++)
        if (!keyword_char(s[i])) return false;
    return true;
}

static void put_quoted(strbuf *b, const char *s, size_t n)
{
    strbuf_char(b, '"');
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '"' || c == '\\')
            strbuf_char(b, '\\'), strbuf_char(b, (char)c);
        else if (c == '\n')
            strbuf_str(b, "\\n");
        else if (c < 0x20 || c == 0x7f)
            strbuf_printf(b, "\\u%04x", c);
        else
            strbuf_char(b, (char)c);
    }
    strbuf_char(b, '"');
}

static void put_string(strbuf *b, const char *s, size_t n)
{
    if (is_keyword(s, n))
        strbuf_add(b, s, n);
    else
        put_quoted(b, s, n);
}

/* The name of a field, given with a colon before it: a keyword if it can be one. */
static void put_name(strbuf *b, const char *s, size_t n)
{
    if (is_keyword(s, n))
        strbuf_add(b, s, n);
    else
        put_quoted(b, s + 1, n - 1);
}

static void put_atom(const history *h, atom a, strbuf *b)
{
    switch ((enum atom_kind)a.kind) {
    case ATOM_NULL: strbuf_str(b, "nil"); break;
    case ATOM_STR: put_string(b, atom_bytes(h, a), a.len); break;
    case ATOM_LIST:
        strbuf_char(b, '[');
        for (uint32_t i = 0; i < a.len; i++) {
            if (i) strbuf_char(b, ' ');
            put_atom(h, value_atom(h, h->elements.at[a.as.offset + i]), b);
        }
        strbuf_char(b, ']');
        break;
    case ATOM_UINT:
    case ATOM_BIG:
        atom_json(h, a, b);
        strbuf_char(b, 'N');
        break;
    case ATOM_INT:
    case ATOM_REAL:
    case ATOM_BOOL: atom_json(h, a, b); break;
    }
}

/* --- punctuation of the two formats ---------------------------------------------------------- */

static void begin_event(edn_writer *w)
{
    if (w->json) strbuf_str(w->b, w->any ? ",\n{" : "[{");
    if (!w->json) strbuf_char(w->b, '{');
    w->any = true;
}

static void end_event(edn_writer *w)
{
    strbuf_str(w->b, w->json ? "}" : "}\n");
    sink_check(w->out);
}

/* The name of a field and what stands around it; `first` in its map. */
static void put_field(edn_writer *w, const char *name, bool first)
{
    if (!first) strbuf_str(w->b, w->json ? "," : ", ");
    strbuf_str(w->b, w->json ? "\"" : ":");
    strbuf_str(w->b, name);
    strbuf_str(w->b, w->json ? "\":" : " ");
}

/* A keyword of EDN. */
static void put_word(edn_writer *w, const char *word)
{
    strbuf_str(w->b, w->json ? "\"" : ":");
    strbuf_str(w->b, word);
    if (w->json) strbuf_char(w->b, '"');
}

static void put_nothing(edn_writer *w)
{
    strbuf_str(w->b, w->json ? "null" : "nil");
}

static void put_scalar(edn_writer *w, atom a)
{
    (w->json ? atom_json : put_atom)(w->h, a, w->b);
}

/* --- JSON of extras and marks, as EDN ------------------------------------------------------ */

static const char *json_space(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r')) p++;
    return p;
}

/* Length of the escape at p, 0 if it is none of JSON's. */
static size_t json_escape(const char *p, const char *end)
{
    if (end - p < 2 || !p[1] || !strchr("\"\\/bfnrtu", p[1])) return 0;
    if (p[1] != 'u') return 2;
    for (size_t i = 2; i < 6; i++)
        if (p + i >= end || !p[i] || !strchr("0123456789abcdefABCDEF", p[i])) return 0;
    return 6;
}

/* Decodes the JSON string at p.  Its escapes are EDN's, but for \/. */
static const char *json_text(const char *p, const char *end, strbuf *text)
{
    strbuf raw;
    strbuf_init(&raw, text->mem);
    strbuf_char(&raw, '"');
    for (p++; p < end && *p != '"';) {
        size_t n = *p == '\\' ? json_escape(p, end) : 1;
        if (!n) return NULL;
        size_t skip = n == 2 && p[1] == '/';
        strbuf_add(&raw, p + skip, n - skip);
        p += n;
    }
    if (p >= end) return NULL;
    strbuf_char(&raw, '"');
    edn_string(strbuf_cstr(&raw), text);
    strbuf_free(&raw);
    return p + 1;
}

static const char *put_json(edn_writer *w, const char *p, const char *end, unsigned depth);

static const char *put_json_string(edn_writer *w, const char *p, const char *end, bool key)
{
    strbuf text;
    strbuf_init(&text, w->mem);
    if (key) strbuf_char(&text, ':');
    if (!(p = json_text(p, end, &text))) return NULL;
    (key ? put_name : put_string)(w->b, strbuf_cstr(&text), text.n);
    strbuf_free(&text);
    return p;
}

/* Puts `"name": value, ...` up to the brace that ends the object. */
static const char *put_json_members(edn_writer *w, const char *p, const char *end, unsigned depth)
{
    for (bool first = true;; first = false) {
        p = json_space(p, end);
        if (p < end && *p == '}') return p + 1;
        if (!first) {
            if (p >= end || *p != ',') return NULL;
            p = json_space(p + 1, end);
            strbuf_str(w->b, ", ");
        }
        if (p >= end || *p != '"' || !(p = put_json_string(w, p, end, true))) return NULL;
        p = json_space(p, end);
        if (p >= end || *p != ':') return NULL;
        strbuf_char(w->b, ' ');
        if (!(p = put_json(w, json_space(p + 1, end), end, depth))) return NULL;
    }
}

/* Appends one JSON value as EDN; NULL if it is none (its text then half written). */
static const char *put_json(edn_writer *w, const char *p, const char *end, unsigned depth)
{
    if (p >= end || depth > EDN_DEPTH - 2) return NULL;
    if (*p == '"') return put_json_string(w, p, end, false);
    if (*p == '{') {
        strbuf_char(w->b, '{');
        p = put_json_members(w, p + 1, end, depth + 1);
        strbuf_char(w->b, '}');
        return p;
    }
    if (*p == '[') {
        strbuf_char(w->b, '[');
        p = json_space(p + 1, end);
        for (bool first = true; p < end && *p != ']'; first = false) {
            if (!first) {
                if (*p != ',') return NULL;
                p = json_space(p + 1, end);
                strbuf_char(w->b, ' ');
            }
            if (!(p = put_json(w, p, end, depth + 1))) return NULL;
            p = json_space(p, end);
        }
        strbuf_char(w->b, ']');
        return p < end ? p + 1 : NULL;
    }
    const char *start = p;
    while (p < end && (keyword_char(*p) && *p != '/')) p++;
    size_t n = (size_t)(p - start);
    if (n == 4 && !memcmp(start, "null", 4))
        strbuf_str(w->b, "nil");
    else if (edn_digit(*start) || *start == '-' || (n == 4 && !memcmp(start, "true", 4)) ||
             (n == 5 && !memcmp(start, "false", 5)))
        strbuf_add(w->b, start, n);
    else
        return NULL;
    return p;
}

/* --- operations ---------------------------------------------------------------------------- */

static bool is_list(const history *h, value_id v)
{
    return v >= VALUE_EMPTY && v != VALUE_UNKNOWN && value_atom(h, v).kind == ATOM_LIST;
}

static void look_at_keys(edn_writer *w)
{
    const history *h = w->h;
    w->keys = mem_array0(w->mem, uint8_t, history_keys(h) + 1);
    for (op_id o = 0; o < h->ops; o++) {
        uint8_t *k = &w->keys[h->op_key[o]];
        value_id v = h->op_value[o];
        switch (op_kind_of(h, o)) {
        case OP_READ:
            if (v == VALUE_NULL || v == VALUE_UNKNOWN) break;
            *k |= is_list(h, v) ? KEY_LIST : KEY_REGISTER;
            break;
        case OP_WRITE:
            *k |= KEY_REGISTER;
            if (v == h->key_init[h->op_key[o]]) *k |= KEY_WRITES_INIT;
            break;
        case OP_DELETE: *k |= KEY_REGISTER; break;
        case OP_APPEND: *k |= KEY_LIST; break;
        case OP_SCAN:
        case OP_ITER: break;
        }
    }
}

/* The JSON value at p, as EDN or, if it is one, as it stands; NULL if it is none. */
static const char *put_value(edn_writer *w, const char *p, const char *end)
{
    size_t start = w->b->n;
    const char *after = put_json(w, p, end, 0);
    if (!after || !w->json) return after;
    w->b->n = start;
    strbuf_add(w->b, p, (size_t)(after - p));
    return after;
}

/* Whether the format can hold an operation; what it cannot is noted. */
static bool holds(edn_writer *w, op_id o, enum txn_status status)
{
    const history *h = w->h;
    enum op_kind kind = op_kind_of(h, o);
    value_id v = h->op_value[o];
    enum lost_bit lost;
    if (kind == OP_SCAN || kind == OP_ITER) {
        lost = LOST_RANGES;
    } else if (kind == OP_DELETE) {
        lost = LOST_DELETES;
    } else if (h->op_kind[o] & OP_FAILED) {
        lost = LOST_FAILED;
    } else if (kind == OP_READ && v == VALUE_UNKNOWN && status == TXN_COMMITTED) {
        lost = LOST_UNKNOWN_READS; /* Elle would take a missing result for nil */
    } else {
        bool list = kind == OP_APPEND || (kind == OP_READ && is_list(h, v)) ||
                    (w->keys[h->op_key[o]] & (KEY_LIST | KEY_REGISTER)) == KEY_LIST;
        bool plain = kind == OP_READ && (v == VALUE_NULL || v == VALUE_UNKNOWN);
        bool either = plain && !(w->keys[h->op_key[o]] & (KEY_LIST | KEY_REGISTER));
        if (h->op_kind[o] & (OP_LOCK | OP_TOMB | OP_ATTR)) sink_lose(w->out, LOST_ATTRS);
        if (kind == OP_READ && v != VALUE_UNKNOWN && status != TXN_COMMITTED)
            sink_lose(w->out, status == TXN_ABORTED ? LOST_ABORTED : LOST_UNKNOWN);
        if (either || w->kind == EITHER || list == (w->kind == LIST_APPEND)) return true;
        lost = list ? LOST_LISTS : LOST_REGISTERS;
    }
    sink_lose_op(w->out, lost);
    return false;
}

static void put_ops(edn_writer *w, txn_id t, bool results)
{
    static const char *const names[] = {[OP_READ] = "r", [OP_WRITE] = "w", [OP_APPEND] = "append"};
    const history *h = w->h;
    char space = w->json ? ',' : ' ';
    bool first = true;
    strbuf_char(w->b, '[');
    for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
        if (!holds(w, o, txn_status_of(h, t))) continue;
        key_id k = h->op_key[o];
        value_id v = h->op_value[o];
        if (op_kind_of(h, o) == OP_READ &&
            (!results || (v == h->key_init[k] && !(w->keys[k] & KEY_WRITES_INIT))))
            v = VALUE_NULL;
        if (!first) strbuf_char(w->b, space);
        first = false;
        strbuf_char(w->b, '[');
        put_word(w, names[op_kind_of(h, o)]);
        strbuf_char(w->b, space);
        put_scalar(w, key_atom(h, k));
        strbuf_char(w->b, space);
        if (v < VALUE_TABLE)
            strbuf_u64(w->b, v);
        else
            put_scalar(w, value_atom(h, v));
        strbuf_char(w->b, ']');
    }
    strbuf_char(w->b, ']');
}

/* --- events -------------------------------------------------------------------------------- */

static edn_span string_of(const history *h, value_id v)
{
    atom a = value_atom(h, v);
    return (edn_span){atom_bytes(h, a), atom_bytes(h, a) + a.len};
}

/* "[invocation,completion]", either of them null: the wanted one as an integer. */
static bool time_in(edn_span t, bool completion, int64_t *out)
{
    if (t.end - t.at < 5 || *t.at != '[' || t.end[-1] != ']') return false;
    const char *comma = memchr(t.at, ',', (size_t)(t.end - t.at));
    if (!comma) return false;
    edn_span half = {completion ? comma + 1 : t.at + 1, completion ? t.end - 1 : comma};
    while (half.at < half.end && *half.at == ' ') half.at++;
    return half.at < half.end && edn_int(half, out);
}

static bool is_reserved(edn_span name)
{
    static const char *const names[] = {"type", "process", "f", "value", "index", "ts", "time"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (edn_is(name, names[i])) return true;
    return false;
}

static void put_extras(edn_writer *w, txn_id t)
{
    const history *h = w->h;
    for (size_t i = txn_extras(h, t); i < h->extras.n && h->extras.at[i].txn == t; i++) {
        const extra *x = &h->extras.at[i];
        edn_span name = string_of(h, x->name), json = string_of(h, x->text);
        int64_t time;
        if (edn_is(name, "time") && (time_in(json, false, &time) || time_in(json, true, &time)))
            continue; /* stands as :time */
        if (edn_is_escaped(name) && name.end - name.at > 4 && !memcmp(name.at, "edn-", 4))
            name.at += 4;
        if (is_reserved(name)) {
            sink_lose(w->out, LOST_EXTRAS);
            continue;
        }
        size_t start = w->b->n;
        strbuf key;
        strbuf_init(&key, w->mem);
        strbuf_char(&key, ':');
        strbuf_add(&key, name.at, (size_t)(name.end - name.at));
        strbuf_str(w->b, w->json ? "," : ", ");
        if (w->json)
            strbuf_json(w->b, key.at + 1, key.n - 1);
        else
            put_name(w->b, key.at, key.n);
        strbuf_free(&key);
        strbuf_char(w->b, w->json ? ':' : ' ');
        const char *after = put_value(w, json_space(json.at, json.end), json.end);
        if (!after || json_space(after, json.end) != json.end) {
            w->b->n = start;
            sink_lose(w->out, LOST_EXTRAS);
        }
    }
}

static void put_txn_time(edn_writer *w, txn_id t, bool completion)
{
    const history *h = w->h;
    for (size_t i = txn_extras(h, t); i < h->extras.n && h->extras.at[i].txn == t; i++) {
        const extra *x = &h->extras.at[i];
        int64_t time;
        if (edn_is(string_of(h, x->name), "time") &&
            time_in(string_of(h, x->text), completion, &time)) {
            put_field(w, "time", false);
            strbuf_i64(w->b, time);
        }
    }
}

static void put_ts(edn_writer *w, txn_id t)
{
    const history *h = w->h;
    bool start = h->txn_flags[t] & TXN_HAS_START_TS, commit = h->txn_flags[t] & TXN_HAS_COMMIT_TS;
    if (!start && !commit) return;
    put_field(w, "ts", false);
    strbuf_char(w->b, '{');
    put_field(w, "rts", true);
    if (start)
        strbuf_i64(w->b, h->txn_start_ts[t]);
    else
        put_nothing(w);
    put_field(w, "cts", false);
    if (commit)
        strbuf_i64(w->b, h->txn_commit_ts[t]);
    else
        put_nothing(w), sink_lose(w->out, LOST_TIMES); /* reads back as equal to :rts */
    strbuf_char(w->b, '}');
}

/* The process; one called "nemesis" would come back as no client at all. */
static void put_process(edn_writer *w, uint32_t session)
{
    atom a = label_atom(w->h, w->h->sessions.at[session]);
    if (w->json && a.kind == ATOM_STR && a.len == 7 && !memcmp(atom_bytes(w->h, a), "nemesis", 7))
        guard_fail(
            w->out->guard, GUARD_UNSUPPORTED,
            "the session \"nemesis\" cannot be written: elle-json reserves that name for faults");
    put_field(w, "process", false);
    put_scalar(w, a);
}

/* :f :txn and a number of its own make it a transaction event again. */
static void put_event(edn_writer *w, txn_id t, bool completion, bool last, int64_t index)
{
    static const char *const types[] = {
        [TXN_COMMITTED] = "ok", [TXN_ABORTED] = "fail", [TXN_UNKNOWN] = "info"};
    const history *h = w->h;
    begin_event(w);
    put_field(w, "index", true);
    strbuf_i64(w->b, index);
    w->next_index = index + 1;
    put_txn_time(w, t, completion);
    put_field(w, "type", false);
    put_word(w, completion ? types[txn_status_of(h, t)] : "invoke");
    put_process(w, h->txn_session[t]);
    put_field(w, "f", false);
    put_word(w, "txn");
    put_field(w, "value", false);
    put_ops(w, t, completion);
    if (last) {
        put_ts(w, t);
        put_extras(w, t);
    }
    end_event(w);
}

/* --- marks --------------------------------------------------------------------------------- */

/* A mark that edn.c made from an event of the nemesis: the number of the transaction event before
   it, and its other members.  False for marks of other origin. */
static bool nemesis_mark(edn_span t, int64_t *at, const char **members)
{
    static const char start[] = "{\"mark\":\"nemesis\",\"at\":";
    size_t n = sizeof start - 1;
    if ((size_t)(t.end - t.at) <= n || memcmp(t.at, start, n)) return false;
    const char *comma = memchr(t.at + n, ',', (size_t)(t.end - t.at) - n);
    if (!comma || !edn_int((edn_span){t.at + n, comma}, at)) return false;
    *members = comma + 1;
    return true;
}

static bool is_type(const edn_writer *w, edn_span json)
{
    static const char *const types[] = {"\":invoke\"", "\":ok\"", "\":fail\"", "\":info\""};
    static const char *const plain[] = {"\"invoke\"", "\"ok\"", "\"fail\"", "\"info\""};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (edn_is(json, w->json ? plain[i] : types[i])) return true;
    return false;
}

/* Would edn.c take these members back as fields of an event?  Marks of other origin may look like
   its own, and keys that were no keywords may share a field's name. */
static bool event_members(edn_writer *w, const char *p, const char *end)
{
    static const char *const fields[] = {"type", "f", "time", "value", "ts", "process", "index"};
    enum { TYPE_FIELD = 0, TIME_FIELD = 2, ONCE = 5, NAMES = 7 };
    unsigned seen = 0;
    size_t start = w->b->n;
    bool good = true;
    strbuf name;
    strbuf_init(&name, w->mem);
    for (p = json_space(p, end); good && p < end && *p != '}';) {
        const char *value;
        name.n = 0;
        good = *p == '"' && (p = json_text(p, end, &name)) && (p = json_space(p, end)) < end;
        if (!good || *p++ != ':') break;
        value = p = json_space(p, end);
        p = put_json(w, p, end, 0);
        w->b->n = start;
        if (!(good = p != NULL)) break;
        edn_span text = {value, p};
        for (unsigned i = 0; i < NAMES; i++) {
            int64_t number;
            if (strcmp(strbuf_cstr(&name), fields[i])) continue;
            if (seen >> i & 1 || i >= ONCE) good = false;
            if (i == TIME_FIELD && !edn_int(text, &number)) good = false;
            if (i == TYPE_FIELD) good = good && is_type(w, text);
            seen |= 1u << i;
        }
        p = json_space(p, end);
        if (p < end && *p == ',') p = json_space(p + 1, end);
    }
    w->b->n = start;
    strbuf_free(&name);
    return good && seen & 1u << TYPE_FIELD;
}

static void put_mark(edn_writer *w, edn_span t)
{
    size_t start = w->b->n;
    const char *p;
    int64_t at;
    bool any = w->any;
    begin_event(w);
    if (nemesis_mark(t, &at, &p) && event_members(w, p, t.end)) {
        put_field(w, "process", true);
        put_word(w, "nemesis");
        strbuf_str(w->b, w->json ? "," : ", ");
        size_t members = w->b->n;
        const char *first = p;
        p = put_json_members(w, p, t.end, 0);
        if (w->json && p) {
            w->b->n = members;
            strbuf_add(w->b, first, (size_t)(p - 1 - first));
        }
    } else {
        put_field(w, "type", true);
        put_word(w, "info");
        put_field(w, "process", false);
        put_word(w, "nemesis");
        put_field(w, "f", false);
        put_word(w, "mark");
        put_field(w, "value", false);
        p = put_value(w, t.at, t.end);
    }
    if (p != t.end) {
        w->b->n = start;
        w->any = any;
        sink_lose(w->out, LOST_MARKS);
        return;
    }
    end_event(w);
}

/* The marks that stand before transaction t or, if events are numbered, before event `number`. */
static void put_marks(edn_writer *w, size_t t, int64_t number)
{
    const history *h = w->h;
    for (; w->next_mark < h->marks.n; w->next_mark++) {
        const mark *m = &h->marks.at[w->next_mark];
        const char *members;
        int64_t at;
        edn_span text = string_of(h, m->text);
        bool due = m->before <= t;
        if (w->numbered && nemesis_mark(text, &at, &members)) due = at < number;
        if (!due) return;
        put_mark(w, text);
    }
}

/* --- the order of events ------------------------------------------------------------------- */

/* Completions stand after invocations of the same instant: only what ended strictly before
   something began is before it. */
static bool earlier(const event *a, const event *b)
{
    if (a->at != b->at) return a->at < b->at;
    return a->completion < b->completion;
}

static event *sort_events(edn_writer *w, event *a, size_t n)
{
    event *b = mem_array(w->mem, event, n + 1);
#define EARLIER(x, y) earlier(&(x), &(y))
    SORT_MERGE(event, a, b, n, EARLIER);
#undef EARLIER
    mem_put(w->mem, b);
    return a;
}

static bool times_of(const history *h, txn_id t, int64_t *begin, int64_t *end)
{
    unsigned flags = h->txn_flags[t];
    bool unknown = txn_status_of(h, t) == TXN_UNKNOWN;
    if (flags & TXN_HAS_TIMES) {
        *begin = h->txn_times[4 * (size_t)t];
        *end = h->txn_times[4 * (size_t)t + 3];
    } else {
        if (!(flags & TXN_HAS_BEGIN) || !(unknown || (flags & TXN_HAS_END))) return false;
        *begin = h->txn_begin[t];
        *end = flags & TXN_HAS_END ? h->txn_end[t] : *begin;
    }
    return *begin <= *end;
}

/* Collects the events; a transaction of unknown outcome has a completion only if `all`, since
   where it stands means nothing.  False if some transaction has no times. */
static bool collect_events(edn_writer *w, bool all)
{
    const history *h = w->h;
    event *events = mem_array(w->mem, event, 2 * h->txns + 1);
    size_t n = 0;
    for (txn_id t = 0; t < h->txns; t++) {
        int64_t begin, end;
        if (!times_of(h, t, &begin, &end)) {
            mem_put(w->mem, events);
            return false;
        }
        bool unknown = txn_status_of(h, t) == TXN_UNKNOWN;
        events[n++] = (event){begin, t, false};
        if (unknown ? all && (h->txn_flags[t] & TXN_HAS_END) : true)
            events[n++] = (event){end, t, true};
    }
    w->events = sort_events(w, events, n);
    w->events_n = n;
    return true;
}

/* Whether the times are event numbers as edn.c gives them: distinct, and ids of transactions. */
static bool are_numbers(const edn_writer *w)
{
    const history *h = w->h;
    for (size_t i = 0; i < w->events_n; i++) {
        const event *v = &w->events[i];
        unsigned flags = h->txn_flags[v->txn];
        if (flags & TXN_HAS_TIMES || v->at < 0) return false;
        if (i && w->events[i - 1].at >= v->at) return false;
        if ((v->completion || !(flags & TXN_HAS_END)) && h->txn_label[v->txn] != (label)v->at)
            return false;
    }
    return true;
}

/* Whether each session has one transaction open at a time and in session order.  `free` says that
   an unknown outcome may be told as late as needed. */
static bool sessions_fit(edn_writer *w, bool may_wait)
{
    const history *h = w->h;
    bool fit = true;
    uint32_t *last = mem_array0(w->mem, uint32_t, h->sessions.n + 1);
    memset(w->open, 0, (h->sessions.n + 1) * sizeof *w->open);
    for (size_t i = 0; i < w->events_n && fit; i++) {
        const event *v = &w->events[i];
        uint32_t session = h->txn_session[v->txn];
        if (v->completion) {
            w->open[session] = 0;
            continue;
        }
        uint32_t before = w->open[session];
        if (before && !(may_wait && txn_status_of(h, before - 1) == TXN_UNKNOWN)) fit = false;
        if (last[session] > v->txn) fit = false;
        w->open[session] = last[session] = v->txn + 1;
    }
    memset(w->open, 0, (h->sessions.n + 1) * sizeof *w->open);
    mem_put(w->mem, last);
    return fit;
}

static void drop_events(edn_writer *w)
{
    mem_put(w->mem, w->events);
    w->events = NULL;
    w->events_n = 0;
}

static void order_events(edn_writer *w)
{
    const history *h = w->h;
    w->open = mem_array0(w->mem, uint32_t, h->sessions.n + 1);
    if (!collect_events(w, true)) return;
    w->numbered = are_numbers(w) && sessions_fit(w, false);
    if (w->numbered) return;
    drop_events(w);
    collect_events(w, false);
    if (!sessions_fit(w, true)) drop_events(w);
}

/* --- the file ------------------------------------------------------------------------------ */

static void put_timed(edn_writer *w)
{
    const history *h = w->h;
    for (size_t i = 0; i < w->events_n; i++) {
        const event *v = &w->events[i];
        /* an invocation that stays without completion carries all there is to tell */
        bool last = v->completion || (w->numbered && !(h->txn_flags[v->txn] & TXN_HAS_END));
        uint32_t *open = &w->open[h->txn_session[v->txn]];
        put_marks(w, v->completion ? v->txn : 0, v->at);
        if (!v->completion && *open) /* of unknown outcome, or sessions_fit had refused */
            put_event(w, *open - 1, true, true, w->next_index);
        *open = v->completion ? 0 : v->txn + 1;
        put_event(w, v->txn, v->completion, last, w->numbered ? v->at : w->next_index);
    }
    for (size_t s = 0; s < h->sessions.n; s++)
        if (w->open[s] && !w->numbered) put_event(w, w->open[s] - 1, true, true, w->next_index);
}

static void put_completions(edn_writer *w)
{
    const history *h = w->h;
    bool rising = true;
    for (txn_id t = 0; t < h->txns && rising; t++)
        rising = !(h->txn_label[t] >> 62) && (!t || h->txn_label[t - 1] < h->txn_label[t]);
    if (!rising) sink_lose(w->out, LOST_LABELS);
    for (txn_id t = 0; t < h->txns; t++) {
        put_marks(w, t, 0);
        put_event(w, t, true, true, rising ? (int64_t)h->txn_label[t] : w->next_index);
    }
}

static void note_losses(edn_writer *w)
{
    const history *h = w->h;
    if (h->init != INIT_ABSENT || h->init_unknown) sink_lose(w->out, LOST_INIT);
    if (h->declared_sessions > h->sessions.n) sink_lose(w->out, LOST_EMPTY);
    for (size_t s = 0; s < h->sessions.n; s++)
        if (h->sess_first[s] == h->sess_first[s + 1]) sink_lose(w->out, LOST_EMPTY);
    for (; w->header_extras < h->extras.n; w->header_extras++) {
        const extra *x = &h->extras.at[w->header_extras];
        if (x->txn != NO_ID) break;
        /* our reader counts these again */
        edn_span name = string_of(h, x->name);
        if (!edn_is(name, "time_backwards") && !edn_is(name, NOTE_SKIPPED))
            sink_lose(w->out, LOST_EXTRAS);
    }
}

static void write_events(const history *h, sink *out, enum kind kind)
{
    edn_writer w = {.h = h, .out = out, .b = &out->buf, .mem = out->mem, .kind = kind};
    w.json = kind == EITHER;
    note_losses(&w);
    look_at_keys(&w);
    order_events(&w);
    if (w.events) {
        if (h->txn_times) sink_lose(out, LOST_TIMES);
        if (!w.numbered) sink_lose(out, LOST_LABELS);
        put_timed(&w);
    } else {
        if (h->txn_begin || h->txn_end || h->txn_times) sink_lose(out, LOST_TIMES);
        put_completions(&w);
    }
    put_marks(&w, h->txns, INT64_MAX);
    if (w.json) strbuf_str(w.b, w.any ? "]\n" : "[]\n");
    mem_put(w.mem, w.keys);
    mem_put(w.mem, w.open);
    drop_events(&w);
}

void edn_la_write(const history *h, sink *out)
{
    write_events(h, out, LIST_APPEND);
}

void edn_rw_write(const history *h, sink *out)
{
    write_events(h, out, REGISTER);
}

void elle_json_write(const history *h, sink *out)
{
    write_events(h, out, EITHER);
}
