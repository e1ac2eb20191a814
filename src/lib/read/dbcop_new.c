/*
 * dbcop_new.c - the formats of dbcop since 2024: JSON and the text language `.hist`
 * (doc/formats/others.md).
 *
 * Both tell the same: sessions of transactions of reads and writes, committed or not, where a read
 * of the initial state is null or `?`.  A read of version 0 is one as well if nobody writes version
 * 0 of that variable; what nobody does is known at the end only, so such reads are settled there,
 * and become null.  Sessions are numbered from 1, as in dbcop's messages.
 *
 * JSON: the unit is a transaction.  The members around `data` are the generator's and travel as
 * header extras under the names that bincode's have, other members as extras "dbcop_NAME", so that
 * the writer can put them back.  Without any of the former it writes the raw form.
 * Text: the unit is a line.  Variables have names, which stay strings even if they are digits.
 */
#include "read/formats.h"
#include "read/json.h"
#include "read/integer_only.h"

#define PARAMS 5
static const char *const param_names[PARAMS] = {"id", "n_node", "n_variable", "n_transaction",
                                                "n_event"};
static const char prefix[] = "dbcop_";
#define PREFIX (sizeof prefix - 1)

/* --- the initial state ----------------------------------------------------------------------- */

typedef struct zeros {
    VEC(uint8_t) written; /* by key */
    bool read;
} zeros;

static void add_op(history *h, zeros *z, bool write, key_id k, value_id v)
{
    guard_tick(h->mem.guard); /* one transaction may be as large as the file */
    if (v == 0 && write) {
        while (z->written.n <= k) vec_push(&h->mem, &z->written, 0);
        z->written.at[k] = 1;
    }
    z->read |= v == 0 && !write;
    history_op(h, write ? OP_WRITE : OP_READ, k, v);
}

static void settle_zeros(history *h, zeros *z)
{
    for (op_id o = 0; z->read && o < h->ops; o++) {
        key_id k = h->op_key[o];
        if (h->op_value[o] == 0 && h->op_kind[o] == OP_READ &&
            (k >= z->written.n || !z->written.at[k]))
            h->op_value[o] = VALUE_NULL;
    }
    vec_free(&h->mem, &z->written);
}

/* --- JSON: reading --------------------------------------------------------------------------- */

typedef struct dbcop_reader {
    history *h;
    json j;
    zeros zeros;
    strbuf name, text;
    uint64_t sessions;
} dbcop_reader;

static void only_once(json *j, bool *seen, const char *where, const char *name)
{
    if (*seen) json_fail(j, where, "\"%s\" occurs twice", name);
    *seen = true;
}

static value_id read_version(dbcop_reader *r, bool write)
{
    json *j = &r->j;
    json_space(j);
    if (*j->p == 'n') {
        const char *at = j->p;
        if (!json_literal(j, "null")) json_expected(j, "a version");
        if (write) json_fail(j, at, "a write needs a version; null is not one");
        return VALUE_NULL;
    }
    return value_uint(r->h, json_uint(j, "a version"));
}

/* {"variable":0,"version":1}, the brace being next */
static void read_tagged(dbcop_reader *r, bool write)
{
    json *j = &r->j;
    bool has_variable = false, has_version = false;
    key_id k = 0;
    value_id v = VALUE_NULL;
    json_need(j, '{');
    const char *start = j->p - 1;
    if (!json_take(j, '}')) do {
            json_space(j);
            const char *at = j->p;
            json_text name = json_member(j);
            if (json_is(name, "variable")) {
                only_once(j, &has_variable, at, "variable");
                k = key_uint(r->h, json_uint(j, "a variable"));
            } else if (json_is(name, "version")) {
                only_once(j, &has_version, at, "version");
                v = read_version(r, write);
            } else {
                json_fail(j, at, "unknown member: expected \"variable\" or \"version\"");
            }
        } while (json_more(j, '}'));
    if (!has_variable) json_fail(j, start, "an event without \"variable\"");
    if (write && !has_version) json_fail(j, start, "a write without \"version\"");
    add_op(r->h, &r->zeros, write, k, v);
}

static void read_event(dbcop_reader *r)
{
    json *j = &r->j;
    json_space(j);
    if (json_take(j, '[')) {
        json_space(j);
        const char *at = j->p;
        json_text kind = json_string(j);
        bool write = json_is(kind, "w");
        if (!write && !json_is(kind, "r")) json_fail(j, at, "expected \"r\" or \"w\"");
        json_need(j, ',');
        key_id k = key_uint(r->h, json_uint(j, "a variable"));
        json_need(j, ',');
        value_id v = read_version(r, write);
        json_need(j, ']');
        add_op(r->h, &r->zeros, write, k, v);
        return;
    }
    if (*j->p != '{') json_expected(j, "an event, [\"r\",0,1] or {\"Read\":{...}}");
    json_need(j, '{');
    json_space(j);
    const char *at = j->p;
    json_text kind = json_member(j);
    bool write = json_is(kind, "Write");
    if (!write && !json_is(kind, "Read")) json_fail(j, at, "expected \"Read\" or \"Write\"");
    read_tagged(r, write);
    json_need(j, '}');
}

/* Members that we do not know are kept under their names with our prefix. */
static void name_member(dbcop_reader *r, json_text name)
{
    r->name.n = 0;
    strbuf_str(&r->name, prefix);
    strbuf_add(&r->name, name.at, name.n);
}

static void keep_member(dbcop_reader *r)
{
    r->text.n = 0;
    json_compact(json_skip(&r->j), &r->text);
    history_extra(r->h, r->name.at, r->name.n, r->text.at, r->text.n);
}

static void read_transaction(dbcop_reader *r, label session)
{
    json *j = &r->j;
    history *h = r->h;
    bool has_events = false, has_committed = false, committed = false;
    json_whole(j);
    if (*j->p != '{') json_expected(j, "a transaction, {\"events\":[...],\"committed\":true}");
    const char *start = j->p++;
    history_begin(h);
    history_line(h, source_line(j->s, (size_t)(start - j->s->at)));
    history_session(h, session);
    if (!json_take(j, '}')) do {
            json_space(j);
            const char *at = j->p;
            json_text name = json_member(j);
            if (json_is(name, "events")) {
                only_once(j, &has_events, at, "events");
                json_need(j, '[');
                if (!json_take(j, ']')) do
                        read_event(r);
                    while (json_more(j, ']'));
            } else if (json_is(name, "committed")) {
                only_once(j, &has_committed, at, "committed");
                committed = json_literal(j, "true");
                if (!committed && !json_literal(j, "false")) json_expected(j, "true or false");
            } else {
                name_member(r, name);
                keep_member(r);
            }
        } while (json_more(j, '}'));
    if (!has_events) json_fail(j, start, "a transaction without \"events\"");
    if (!has_committed) json_fail(j, start, "a transaction without \"committed\"");
    history_end(h, committed ? TXN_COMMITTED : TXN_ABORTED);
}

/* In an array of the stream, after the bracket or an element. */
static bool stream_empty(json *j)
{
    return json_peek(j) && json_take(j, ']');
}
static bool stream_more(json *j, char close)
{
    json_peek(j);
    return json_more(j, close);
}

static void read_sessions(dbcop_reader *r)
{
    json *j = &r->j;
    json_peek(j);
    json_need(j, '[');
    if (stream_empty(j)) return;
    do {
        label session = label_uint(r->h, ++r->sessions);
        history_declare_session(r->h, session);
        json_peek(j);
        if (*j->p != '[') json_expected(j, "a session, an array of transactions");
        j->p++;
        if (stream_empty(j)) continue;
        do {
            json_peek(j);
            read_transaction(r, session);
        } while (stream_more(j, ']'));
    } while (stream_more(j, ']'));
}

/* {"id":0,"n_node":2,...} as [0,2,...], which is what bincode's header becomes; false if it has
   another shape. */
static bool params_as_array(const strbuf *object, strbuf *out)
{
    const char *p = object->at, *end = object->at + object->n;
    for (int i = 0; i < PARAMS; i++) {
        size_t n = strlen(param_names[i]);
        if ((size_t)(end - p) < n + 5 || p[0] != (i ? ',' : '{') || p[1] != '"' ||
            memcmp(p + 2, param_names[i], n) || p[2 + n] != '"' || p[3 + n] != ':')
            return false;
        strbuf_char(out, i ? ',' : '[');
        const char *digits = p += n + 4;
        while (p < end && *p >= '0' && *p <= '9') p++;
        if (p == digits) return false;
        strbuf_add(out, digits, (size_t)(p - digits));
    }
    strbuf_char(out, ']');
    return end - p == 1;
}

static void keep_params(dbcop_reader *r)
{
    strbuf array;
    strbuf_init(&array, &r->h->mem);
    r->text.n = 0;
    json_compact(json_skip(&r->j), &r->text);
    const strbuf *kept = params_as_array(&r->text, &array) ? &array : &r->text;
    history_extra(r->h, r->name.at, r->name.n, kept->at, kept->n);
    strbuf_free(&array);
}

static void read_object(dbcop_reader *r)
{
    json *j = &r->j;
    bool has_data = false;
    j->p++;
    if (json_peek(j) && *j->p == '}') json_fail(j, j->p, "a history without \"data\"");
    do {
        json_peek(j);
        json_whole(j);
        name_member(r, json_string(j));
        bool data = r->name.n == PREFIX + 4 && !memcmp(r->name.at + PREFIX, "data", 4);
        bool params = r->name.n == PREFIX + 6 && !memcmp(r->name.at + PREFIX, "params", 6);
        json_peek(j);
        json_need(j, ':');
        json_peek(j);
        if (data) {
            only_once(j, &has_data, j->p, "data");
            read_sessions(r);
            continue;
        }
        json_whole(j);
        if (params)
            keep_params(r);
        else
            keep_member(r);
    } while (stream_more(j, '}'));
    if (!has_data) json_fail(j, j->p - 1, "a history without \"data\"");
}

/* Header extras that came after those of transactions must stand before them. */
static void sort_extras(history *h)
{
    VEC(extra) late = {0};
    size_t n = 0, first = 0;
    while (first < h->extras.n && h->extras.at[first].txn == NO_ID) first++;
    for (size_t i = first; i < h->extras.n; i++) {
        if (h->extras.at[i].txn == NO_ID)
            vec_push(&h->mem, &late, h->extras.at[i]);
        else
            h->extras.at[first + n++] = h->extras.at[i];
    }
    if (late.n) {
        memmove(h->extras.at + first + late.n, h->extras.at + first, n * sizeof *h->extras.at);
        memcpy(h->extras.at + first, late.at, late.n * sizeof *h->extras.at);
    }
    vec_free(&h->mem, &late);
}

void dbcop_json_read(history *h, source *s)
{
    dbcop_reader r = {.h = h};
    json *j = &r.j;
    json_stream(j, s);
    strbuf_init(&r.name, &h->mem);
    strbuf_init(&r.text, &h->mem);
    if (!json_peek(j)) return; /* an empty file, read as this format on demand */
    if (*j->p == '{')
        read_object(&r);
    else if (*j->p == '[')
        read_sessions(&r);
    else
        json_expected(j, "an array of sessions, or an object with \"data\"");
    if (json_peek(j)) json_fail(j, j->p, "there is text after the history");
    settle_zeros(h, &r.zeros);
    sort_extras(h);
    strbuf_free(&r.name);
    strbuf_free(&r.text);
    strbuf_free(&j->scratch);
}

/* --- text: reading --------------------------------------------------------------------------- */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
static const char *skip_blanks(const char *p)
{
    while (*p == ' ' || *p == '\t') p++;
    return p;
}

static _Noreturn void fail_at(source *s, const char *p, const char *end, const char *what)
{
    unsigned char c = (unsigned char)*p;
    size_t where = (size_t)(p - s->at);
    if (p == end) source_fail(s, where, "expected %s, but the line ends here", what);
    if (c < 0x20 || c >= 0x7f)
        source_fail(s, where, "expected %s, found byte 0x%02x", what, (unsigned)c);
    source_fail(s, where, "expected %s, found '%c'", what, c);
}

static const char *read_number(source *s, const char *p, const char *end, uint64_t *out)
{
    const char *start = p;
    uint64_t v = 0;
    for (; *p >= '0' && *p <= '9'; p++) {
        uint64_t d = (uint64_t)(*p - '0');
        if (v > (UINT64_MAX - d) / 10)
            source_fail(s, (size_t)(start - s->at), "a version beyond 64 bits");
        v = v * 10 + d;
    }
    if (p == start) fail_at(s, p, end, "a version");
    *out = v;
    return p;
}

/* x:=1, x==1 or x==? */
static const char *read_assignment(history *h, source *s, zeros *z, const char *p, const char *end)
{
    const char *name = p;
    uint64_t v = 0;
    while (is_word(*p)) p++;
    if (p == name) fail_at(s, p, end, "a variable");
    key_id k = key_str(h, name, (size_t)(p - name));
    bool write = *p == ':';
    if ((*p != ':' && *p != '=') || p[1] != '=') fail_at(s, p, end, ":= or ==");
    p += 2;
    if (!write && *p == '?') {
        add_op(h, z, false, k, VALUE_NULL);
        return p + 1;
    }
    p = read_number(s, p, end, &v);
    add_op(h, z, write, k, value_uint(h, v));
    return p;
}

/* [x:=1 y==2]!, the bracket being next */
static const char *read_brackets(history *h, source *s, zeros *z, const char *p, const char *end)
{
    p++;
    for (;;) {
        p = read_assignment(h, s, z, p, end);
        if (*p == ']') break;
        if (*p != ' ' && *p != '\t') fail_at(s, p, end, "a space or ]");
        p = skip_blanks(p);
    }
    return p + 1;
}

void dbcop_hist_read(history *h, source *s)
{
    zeros z = {0};
    const char *p, *end;
    uint64_t sessions = 1;
    source_skip_bom(s);
    if (!source_need(s, 1)) return; /* an empty file, read as this format on demand */
    label session = label_uint(h, sessions);
    history_declare_session(h, session);
    while (source_next_line(s, &p, &end)) {
        p = skip_blanks(p);
        if (*p == '/' && p[1] == '/') continue;
        if (*p == '-') {
            while (*p == '-') p++;
            p = skip_blanks(p);
            if (p != end) fail_at(s, p, end, "the end of the line");
            session = label_uint(h, ++sessions);
            history_declare_session(h, session);
            continue;
        }
        while (p != end) {
            if (*p != '[') fail_at(s, p, end, "a transaction, [x:=1 y==2]");
            history_begin(h);
            history_session(h, session);
            history_line(h, source_line(s, (size_t)(p - s->at)));
            p = read_brackets(h, s, &z, p, end);
            history_end(h, *p == '!' ? TXN_ABORTED : TXN_COMMITTED);
            p = skip_blanks(p + (*p == '!'));
        }
    }
    settle_zeros(h, &z);
}

/* --- writing --------------------------------------------------------------------------------- */

/* Sessions are written as they stand, and what is read gets numbers again. */
static void note_labels(const history *h, sink *out)
{
    uint64_t number = 0;
    for (uint32_t i = 0; i < h->sessions.n; i++) {
        if (h->sessions.at[i] != (label)i + 1) sink_lose(out, LOST_LABELS);
        for (uint32_t j = h->sess_first[i]; j < h->sess_first[i + 1]; j++)
            if (h->txn_label[h->sess_txn[j]] != number++) sink_lose(out, LOST_LABELS);
    }
}

static bool is_called(const history *h, const extra *x, const char *name)
{
    atom a = value_atom(h, x->name);
    return a.len == strlen(name) && !memcmp(atom_bytes(h, a), name, a.len);
}

/* The numbers of bincode's header as the object that dbcop wants; false if they are not five. */
static bool put_params(sink *out, const char *p, const char *end)
{
    size_t start = out->buf.n;
    int i = 0;
    for (; i < PARAMS && p < end && *p == (i ? ',' : '['); i++) {
        strbuf_str(&out->buf, i ? ",\"" : "{\"");
        strbuf_str(&out->buf, param_names[i]);
        strbuf_str(&out->buf, "\":");
        const char *digits = ++p;
        while (p < end && *p >= '0' && *p <= '9') p++;
        if (p == digits) break;
        strbuf_add(&out->buf, digits, (size_t)(p - digits));
    }
    strbuf_char(&out->buf, '}');
    if (i == PARAMS && end - p == 1 && *p == ']') return true;
    out->buf.n = start;
    return false;
}

/* `"name":json` of an extra of ours; false for others. */
static bool put_member(const history *h, sink *out, const extra *x, const char *before)
{
    atom name = value_atom(h, x->name), text = value_atom(h, x->text);
    const char *n = atom_bytes(h, name), *t = atom_bytes(h, text);
    if (name.len <= PREFIX || memcmp(n, prefix, PREFIX)) return false;
    strbuf_str(&out->buf, before);
    strbuf_json(&out->buf, n + PREFIX, name.len - PREFIX);
    strbuf_char(&out->buf, ':');
    if (is_called(h, x, "dbcop_params") && put_params(out, t, t + text.len)) return true;
    strbuf_add(&out->buf, t, text.len);
    return true;
}

static void put_event(sink *out, const plain_op *op)
{
    strbuf_str(&out->buf, op->write ? "[\"w\"," : "[\"r\",");
    strbuf_u64(&out->buf, op->key);
    strbuf_char(&out->buf, ',');
    if (op->initial)
        strbuf_str(&out->buf, "null");
    else
        strbuf_u64(&out->buf, op->value);
    strbuf_char(&out->buf, ']');
}

static void put_transaction(const plain *pl, txn_id t)
{
    const history *h = pl->h;
    sink *out = pl->out;
    bool first = true;
    plain_op op;
    strbuf_str(&out->buf, "{\"events\":[");
    for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
        if (!plain_get(pl, o, &op)) continue;
        if (!first) strbuf_char(&out->buf, ',');
        first = false;
        put_event(out, &op);
        sink_check(out);
    }
    strbuf_str(&out->buf, "],\"committed\":");
    strbuf_str(&out->buf, plain_status(pl, t) == TXN_COMMITTED ? "true" : "false");
    for (size_t i = txn_extras(h, t); i < h->extras.n && h->extras.at[i].txn == t; i++)
        if (is_called(h, &h->extras.at[i], "dbcop_events") ||
            is_called(h, &h->extras.at[i], "dbcop_committed") ||
            !put_member(h, out, &h->extras.at[i], ","))
            sink_lose(out, LOST_EXTRAS);
    strbuf_char(&out->buf, '}');
}

void dbcop_json_write(const history *h, sink *out)
{
    plain pl;
    plain_open(&pl, h, out, PLAIN_EMPTY | PLAIN_NULL | PLAIN_EXTRAS);
    note_labels(h, out);
    bool object = false;
    for (size_t i = 0; i < h->extras.n && h->extras.at[i].txn == NO_ID; i++) {
        const extra *x = &h->extras.at[i];
        if (!is_called(h, x, "dbcop_data") && put_member(h, out, x, object ? ",\n" : "{"))
            object = true;
        else
            sink_lose(out, LOST_EXTRAS);
    }
    if (object) strbuf_str(&out->buf, ",\n\"data\":");
    strbuf_char(&out->buf, '[');
    for (uint32_t i = 0; i < h->sessions.n; i++) {
        strbuf_str(&out->buf, i ? ",\n[" : "\n[");
        for (uint32_t j = h->sess_first[i]; j < h->sess_first[i + 1]; j++) {
            if (j > h->sess_first[i]) strbuf_str(&out->buf, ",\n");
            put_transaction(&pl, h->sess_txn[j]);
        }
        strbuf_char(&out->buf, ']');
    }
    strbuf_str(&out->buf, object ? "]}\n" : "]\n");
    plain_close(&pl);
}

/* Keys that are names in the file's sense stay; if one is not, all get names of numbers, which
   begin with a letter because dbcop's lexer wants one. */
static bool all_names(const history *h)
{
    for (key_id k = 0; k < history_keys(h); k++) {
        atom a = key_atom(h, k);
        if (a.kind != ATOM_STR || !a.len) return false;
        for (uint32_t i = 0; i < a.len; i++)
            if (!is_word(atom_bytes(h, a)[i])) return false;
    }
    return true;
}

static void put_brackets(const plain *pl, txn_id t, bool names)
{
    const history *h = pl->h;
    sink *out = pl->out;
    bool any = false;
    plain_op op;
    for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
        if (!plain_get(pl, o, &op)) continue;
        strbuf_char(&out->buf, any ? ' ' : '[');
        any = true;
        if (names) {
            atom a = key_atom(h, h->op_key[o]);
            strbuf_add(&out->buf, atom_bytes(h, a), a.len);
        } else {
            strbuf_char(&out->buf, 'k');
            strbuf_u64(&out->buf, op.key);
        }
        strbuf_str(&out->buf, op.write ? ":=" : op.initial ? "==?" : "==");
        if (!op.initial) strbuf_u64(&out->buf, op.value);
        sink_check(out);
    }
    if (!any) {
        sink_lose(out, LOST_EMPTY);
        return;
    }
    strbuf_str(&out->buf, plain_status(pl, t) == TXN_COMMITTED ? "]\n" : "]!\n");
}

void dbcop_hist_write(const history *h, sink *out)
{
    plain pl;
    plain_open(&pl, h, out, PLAIN_EMPTY | PLAIN_NULL | PLAIN_NAMES);
    note_labels(h, out);
    bool names = all_names(h);
    if (!names) sink_lose(out, LOST_KEYS);
    for (uint32_t i = 0; i < h->sessions.n; i++) {
        if (i) strbuf_str(&out->buf, "---\n");
        strbuf_str(&out->buf, "// session "); /* never an empty file for a session without any */
        strbuf_u64(&out->buf, (uint64_t)i + 1);
        strbuf_char(&out->buf, '\n');
        for (uint32_t j = h->sess_first[i]; j < h->sess_first[i + 1]; j++)
            put_brackets(&pl, h->sess_txn[j], names);
    }
    plain_close(&pl);
}
