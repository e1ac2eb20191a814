/*
 * dbcop.c - dbcop's bincode files, 2019 layout (doc/formats/others.md).
 *
 * Rust's bincode: little-endian u64s, one-byte bools, counted strings and vectors, no magic and
 * no names.  Events are 18 bytes each and make up nearly all of a file, so they are taken straight
 * from the window, as many at a time as it holds.  No count is believed before its bytes have
 * come: nothing is allocated by a number of the file, and a file that lies ends at its last byte
 * with an error.
 *
 * Value 0 is the initial value.  A failed event keeps its value under OP_FAILED: it neither read
 * nor wrote, but a read of what it would have written is still to be recognised.  The header's
 * strings and numbers are the generator's, not facts about the history; they travel as extras.
 */
#include "read/formats.h"
#include "read/integer_only.h"

#define EVENT 18
#define PARAMS 5
#define NO_TIME "1970-01-01T00:00:00+00:00"

static uint64_t load64(const unsigned char *p)
{
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
           (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 |
           (uint64_t)p[7] << 56;
}

/* --- reading ------------------------------------------------------------------------------- */

static const unsigned char *take_bytes(source *s, size_t n, const char *what)
{
    if (!source_need(s, n)) source_fail(s, s->n, "the file ends inside %s", what);
    const char *p = s->at + s->pos;
    s->pos += n;
    return (const unsigned char *)p;
}

static uint64_t take64(source *s, const char *what)
{
    return load64(take_bytes(s, 8, what));
}

/* A header string, kept as a JSON string.  It comes in pieces, so a false length costs nothing. */
static void header_string(history *h, source *s, const char *name, const char *what)
{
    uint64_t left = take64(s, what);
    strbuf raw, json;
    strbuf_init(&raw, &h->mem);
    strbuf_init(&json, &h->mem);
    while (left) {
        if (s->pos == s->n && !source_more(s))
            source_fail(s, s->n, "the file ends inside %s, %llu bytes before its end", what,
                        (unsigned long long)left);
        size_t n = s->n - s->pos < left ? s->n - s->pos : (size_t)left;
        strbuf_add(&raw, s->at + s->pos, n);
        s->pos += n;
        left -= n;
    }
    for (size_t i = 0, len; i < raw.n; i += len)
        if (!(len = utf8_length(raw.at + i, raw.n - i)))
            source_fail(s, s->pos, "%s, which ends here, is not UTF-8 text", what);
    strbuf_json(&json, raw.at, raw.n);
    history_extra(h, name, strlen(name), json.at, json.n);
    strbuf_free(&raw);
    strbuf_free(&json);
}

static void header(history *h, source *s)
{
    strbuf json;
    strbuf_init(&json, &h->mem);
    for (int i = 0; i < PARAMS; i++) {
        strbuf_char(&json, i ? ',' : '[');
        strbuf_u64(&json, take64(s, "the header"));
    }
    strbuf_char(&json, ']');
    history_extra(h, "dbcop_params", 12, json.at, json.n);
    strbuf_free(&json);
    header_string(h, s, "dbcop_info", "the header's info string");
    header_string(h, s, "dbcop_start", "the header's start string");
    header_string(h, s, "dbcop_end", "the header's end string");
}

static void events(history *h, source *s, uint64_t left)
{
    while (left) {
        if (!source_need(s, EVENT)) source_fail(s, s->n, "the file ends inside a transaction");
        size_t n = (s->n - s->pos) / EVENT;
        if (n > left) n = (size_t)left;
        const unsigned char *p = (const unsigned char *)s->at + s->pos;
        for (size_t i = 0; i < n; i++, p += EVENT) {
            if (p[0] > 1 || p[17] > 1) {
                size_t at = (size_t)((const char *)p - s->at) + (p[0] > 1 ? 0 : 17);
                source_fail(s, at, "expected the byte 0 or 1, found %u",
                            (unsigned)(unsigned char)s->at[at]);
            }
            unsigned kind = (p[0] ? OP_WRITE : OP_READ) | (p[17] ? 0 : OP_FAILED);
            key_id key = key_uint(h, load64(p + 1));
            history_op(h, kind, key, value_uint(h, load64(p + 9)));
        }
        s->pos += n * EVENT;
        left -= n;
    }
}

void dbcop_read(history *h, source *s)
{
    s->binary = true;
    history_init_scalar(h, value_uint(h, 0));
    if (!source_need(s, 1)) return; /* an empty file, read as this format on demand */
    header(h, s);
    uint64_t sessions = take64(s, "the number of sessions");
    for (uint64_t i = 0; i < sessions; i++) {
        uint64_t txns = take64(s, "a session's number of transactions");
        label session = label_uint(h, i);
        history_declare_session(h, session);
        for (uint64_t t = 0; t < txns; t++) {
            uint64_t n = take64(s, "a transaction's number of events");
            history_begin(h);
            history_session(h, session);
            events(h, s, n);
            const unsigned char *ok = take_bytes(s, 1, "a transaction");
            if (*ok > 1)
                source_fail(s, s->pos - 1, "expected the byte 0 or 1, found %u", (unsigned)*ok);
            history_end(h, *ok ? TXN_COMMITTED : TXN_ABORTED);
        }
    }
    if (source_need(s, 1)) source_fail(s, s->pos, "bytes follow the last session");
}

/* --- writing ------------------------------------------------------------------------------- */

static void put64(sink *out, uint64_t v)
{
    char b[8];
    for (int i = 0; i < 8; i++) b[i] = (char)(v >> (8 * i));
    strbuf_add(&out->buf, b, 8);
}

/* The text of a JSON string literal that strbuf_json made, or that a user put into the header. */
static bool unquote(const char *p, size_t n, strbuf *out)
{
    const char *end = p + n - 1;
    if (n < 2 || *p != '"' || *end != '"') return false;
    for (p++; p < end; p++) {
        if (*p != '\\') {
            strbuf_char(out, *p);
            continue;
        }
        static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
        const char *short_form = ++p < end && *p ? strchr(from, *p) : NULL;
        if (short_form) {
            strbuf_char(out, to[short_form - from]);
            continue;
        }
        if (p + 4 >= end || *p != 'u') return false;
        unsigned code = 0;
        for (int i = 1; i <= 4; i++) {
            static const char digits[] = "0123456789abcdefABCDEF";
            const char *d = p[i] ? strchr(digits, p[i]) : NULL;
            if (!d) return false;
            unsigned v = (unsigned)(d - digits);
            code = code * 16 + (v < 16 ? v : v - 6);
        }
        p += 4;
        if (code >= 0xd800 && code < 0xe000) return false; /* no generator's name needs these */
        if (code < 0x80) {
            strbuf_char(out, (char)code);
        } else if (code < 0x800) {
            strbuf_char(out, (char)(0xc0 | code >> 6));
            strbuf_char(out, (char)(0x80 | (code & 0x3f)));
        } else {
            strbuf_char(out, (char)(0xe0 | code >> 12));
            strbuf_char(out, (char)(0x80 | (code >> 6 & 0x3f)));
            strbuf_char(out, (char)(0x80 | (code & 0x3f)));
        }
    }
    return true;
}

static void put_string(const history *h, sink *out, const char *name, const char *otherwise)
{
    size_t n;
    const char *json = plain_extra(h, name, &n);
    strbuf text;
    strbuf_init(&text, out->mem);
    if (!json || !unquote(json, n, &text)) {
        text.n = 0;
        strbuf_str(&text, otherwise);
    }
    put64(out, text.n);
    strbuf_add(&out->buf, text.at, text.n);
    strbuf_free(&text);
}

static bool old_params(const history *h, uint64_t v[PARAMS])
{
    size_t n;
    const char *p = plain_extra(h, "dbcop_params", &n);
    if (!p) return false;
    const char *end = p + n;
    for (int i = 0; i < PARAMS; i++) {
        if (p == end || *p++ != (i ? ',' : '[')) return false;
        uint64_t x = 0;
        for (; p < end && *p >= '0' && *p <= '9'; p++)
            if (__builtin_mul_overflow(x, 10u, &x) ||
                __builtin_add_overflow(x, (uint64_t)(*p - '0'), &x))
                return false;
        v[i] = x;
    }
    return p < end && *p == ']';
}

void dbcop_write(const history *h, sink *out)
{
    plain pl;
    plain_open(&pl, h, out, PLAIN_FAILED_OPS | PLAIN_EMPTY);
    uint64_t params[PARAMS] = {0, h->sessions.n, history_keys(h), h->txns, h->ops};
    if (!old_params(h, params)) params[0] = 0;
    for (int i = 0; i < PARAMS; i++) put64(out, params[i]);
    put_string(h, out, "dbcop_info", "ratel");
    put_string(h, out, "dbcop_start", NO_TIME);
    put_string(h, out, "dbcop_end", NO_TIME);
    put64(out, h->sessions.n);
    uint64_t number = 0;
    for (uint32_t i = 0; i < h->sessions.n; i++) {
        if (h->sessions.at[i] != i) sink_lose(out, LOST_LABELS);
        put64(out, h->sess_first[i + 1] - h->sess_first[i]);
        for (uint32_t j = h->sess_first[i]; j < h->sess_first[i + 1]; j++) {
            txn_id t = h->sess_txn[j];
            if (h->txn_label[t] != number++) sink_lose(out, LOST_LABELS);
            uint64_t n = 0;
            plain_op op;
            for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) n += plain_get(&pl, o, &op);
            put64(out, n);
            for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
                if (!plain_get(&pl, o, &op)) continue;
                strbuf_char(&out->buf, op.write);
                put64(out, op.key);
                put64(out, op.value);
                strbuf_char(&out->buf, !op.failed);
                sink_check(out);
            }
            strbuf_char(&out->buf, plain_status(&pl, t) == TXN_COMMITTED);
        }
    }
    plain_close(&pl);
}
