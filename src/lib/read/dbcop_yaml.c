/*
 * dbcop_yaml.c - the YAML files of dbcop's early tests (doc/formats/others.md).
 *
 * A list of sessions, each a list of transactions {events, success}, each event {write, variable,
 * value, success}: what bincode holds, without its header.  The parser follows that shape and
 * reads as much YAML as it needs: block and flow collections, comments, quoted names, one
 * document.  Anchors, tags and block scalars have no place there and are refused.
 *
 * Indentation is YAML's whole structure: a block collection goes on while its items or names begin
 * a line in its own column.  Whoever sees a token elsewhere leaves it to those around, and the
 * outermost refuses it.
 */
#include "read/formats.h"
#include "read/integer_only.h"

/* --- tokens ---------------------------------------------------------------------------------- */

typedef struct yaml {
    history *h;
    source *s;
    const char *line, *p, *end;
    bool first;    /* the next token is the first of its line */
    bool started;  /* the document's start was seen, marked or not */
    bool finished; /* ... was */
    unsigned flow; /* brackets open: indentation means nothing */
    label session;
    uint64_t sessions;
    /* the transaction and the event being read */
    bool success;
    unsigned seen;
    struct {
        bool write, success;
        uint64_t variable, value;
        unsigned seen;
    } event;
} yaml;

static _Noreturn void fail(yaml *y, const char *where, const char *what)
{
    source_fail(y->s, (size_t)(where - y->s->at), "%s", what);
}

static bool is_break(const yaml *y, const char *p)
{
    return p >= y->end || *p == ' ' || *p == '\t';
}

static ptrdiff_t column(const yaml *y)
{
    return y->p - y->line;
}

/* --- and ... in the first column; false if the line is another. */
static bool marker(yaml *y)
{
    const char *p = y->line;
    if (y->end - p < 3 || (memcmp(p, "---", 3) && memcmp(p, "...", 3)) || !is_break(y, p + 3))
        return false;
    if (*p == '-' ? y->started : !y->started) fail(y, p, "more than one document");
    y->started = true;
    y->finished |= *p == '.';
    y->p = p + 3;
    return true;
}

/* Passes blanks, comments and lines without anything else; false at the end of input. */
static bool next(yaml *y)
{
    for (;;) {
        const char *from = y->p;
        while (y->p < y->end && (*y->p == ' ' || *y->p == '\t')) y->p++;
        bool comment = *y->p == '#' && (y->p > from || y->p == y->line);
        if (y->p < y->end && !comment) {
            if (y->first && !y->flow && memchr(y->line, '\t', (size_t)(y->p - y->line)))
                fail(y, y->line, "a tab in the indentation");
            if (y->finished) fail(y, y->p, "there is text after the end of the document");
            y->started = true;
            return true;
        }
        if (!source_next_line(y->s, &y->line, &y->end)) {
            y->line = y->p = y->end = y->s->at + y->s->n;
            return false;
        }
        y->p = y->line;
        y->first = true;
        marker(y);
    }
}

static bool is_dash(const yaml *y)
{
    return !y->flow && *y->p == '-' && is_break(y, y->p + 1);
}

static _Noreturn void expected(yaml *y, const char *what)
{
    unsigned char c = (unsigned char)*y->p;
    size_t where = (size_t)(y->p - y->s->at);
    if (y->p >= y->end)
        source_fail(y->s, where, "expected %s, but the %s ends here", what,
                    where == y->s->n ? "input" : "line");
    if (c < 0x20 || c >= 0x7f)
        source_fail(y->s, where, "expected %s, found byte 0x%02x", what, (unsigned)c);
    source_fail(y->s, where, "expected %s, found '%c'", what, c);
}

static bool take_char(yaml *y, char c)
{
    if (!next(y) || *y->p != c) return false;
    y->p++;
    y->first = false;
    return true;
}

typedef struct word {
    const char *at;
    size_t n;
} word;

static bool is(word w, const char *text)
{
    return w.n == strlen(text) && !memcmp(w.at, text, w.n);
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* A name or scalar, in quotes or not; n is 0 if none is there. */
static word take_word(yaml *y)
{
    char quote = *y->p == '"' || *y->p == '\'' ? *y->p : 0;
    word w = {y->p + (quote != 0), 0};
    while (is_letter(w.at[w.n])) w.n++;
    if (quote && w.at[w.n] != quote) expected(y, "a plain word in these quotes");
    if (!w.n) return w;
    y->p = w.at + w.n + (quote != 0);
    y->first = false;
    return w;
}

/* --- collections ----------------------------------------------------------------------------- */

/* What stands after a dash or a colon: it begins in a column right of `indent`. */
typedef void (*node)(yaml *y, ptrdiff_t indent);
typedef void (*member)(yaml *y, word name, const char *at, ptrdiff_t indent);

static void must_be_inside(yaml *y, ptrdiff_t indent, const char *what)
{
    if (!next(y) || (!y->flow && y->first && column(y) <= indent)) expected(y, what);
}

/* After an item of a block collection in column c: does another one of its kind follow? */
static bool goes_on(yaml *y, ptrdiff_t c, bool dash)
{
    if (!next(y)) return false;
    if (!y->first) expected(y, "the end of the line");
    if (column(y) > c) fail(y, y->p, "this line is indented too far");
    return column(y) == c && is_dash(y) == dash;
}

static void flow(yaml *y, char close, node item, member of)
{
    y->p++;
    y->first = false;
    y->flow++;
    while (!take_char(y, close)) {
        if (item) {
            item(y, 0);
        } else {
            const char *at = y->p;
            word name = take_word(y);
            if (!name.n) expected(y, "a name");
            if (*y->p != ':') expected(y, "':'");
            y->p++;
            of(y, name, at, 0);
        }
        if (!take_char(y, ',') && (!next(y) || *y->p != close))
            expected(y, close == ']' ? "',' or ']'" : "',' or '}'");
    }
    y->flow--;
}

static void sequence(yaml *y, ptrdiff_t indent, node item, const char *what)
{
    must_be_inside(y, indent, what);
    if (*y->p == '[') {
        flow(y, ']', item, NULL);
        return;
    }
    if (!is_dash(y)) expected(y, what);
    ptrdiff_t c = column(y);
    do {
        y->p++;
        y->first = false;
        item(y, c);
    } while (goes_on(y, c, true));
}

static void mapping(yaml *y, ptrdiff_t indent, member of, const char *what)
{
    must_be_inside(y, indent, what);
    if (*y->p == '{') {
        flow(y, '}', NULL, of);
        return;
    }
    if (y->flow) expected(y, what);
    ptrdiff_t c = column(y);
    do {
        const char *at = y->p;
        word name = take_word(y);
        if (!name.n) expected(y, what);
        if (*y->p != ':' || !is_break(y, y->p + 1)) expected(y, "':' and a space");
        y->p++;
        of(y, name, at, c);
    } while (goes_on(y, c, false));
}

/* --- scalars --------------------------------------------------------------------------------- */

static bool boolean(yaml *y, ptrdiff_t indent)
{
    must_be_inside(y, indent, "true or false");
    const char *at = y->p;
    word w = take_word(y);
    bool yes = is(w, "true") || is(w, "True") || is(w, "TRUE");
    if (!yes && !is(w, "false") && !is(w, "False") && !is(w, "FALSE")) {
        y->p = at;
        expected(y, "true or false");
    }
    return yes;
}

static uint64_t read_number(yaml *y, ptrdiff_t indent)
{
    uint64_t v = 0;
    must_be_inside(y, indent, "an unsigned number");
    const char *start = y->p;
    for (; *y->p >= '0' && *y->p <= '9'; y->p++) {
        uint64_t d = (uint64_t)(*y->p - '0');
        if (v > (UINT64_MAX - d) / 10) fail(y, start, "a number beyond 64 bits");
        v = v * 10 + d;
    }
    if (y->p == start || is_letter(*y->p)) expected(y, "an unsigned number");
    y->first = false;
    return v;
}

/* --- the history ----------------------------------------------------------------------------- */

enum { WRITE = 1, VARIABLE = 2, VALUE = 4, SUCCESS = 8, EVENTS = 16 };

static void once(yaml *y, unsigned *seen, unsigned bit, const char *at)
{
    if (*seen & bit) fail(y, at, "this name occurs twice");
    *seen |= bit;
}

static void event_member(yaml *y, word name, const char *at, ptrdiff_t indent)
{
    if (is(name, "write")) {
        once(y, &y->event.seen, WRITE, at);
        y->event.write = boolean(y, indent);
    } else if (is(name, "variable")) {
        once(y, &y->event.seen, VARIABLE, at);
        y->event.variable = read_number(y, indent);
    } else if (is(name, "value")) {
        once(y, &y->event.seen, VALUE, at);
        y->event.value = read_number(y, indent);
    } else if (is(name, "success")) {
        once(y, &y->event.seen, SUCCESS, at);
        y->event.success = boolean(y, indent);
    } else {
        fail(y, at, "unknown name: an event has write, variable, value and success");
    }
}

static void event(yaml *y, ptrdiff_t indent)
{
    history *h = y->h;
    y->event.seen = 0;
    mapping(y, indent, event_member, "an event");
    if (y->event.seen != (WRITE | VARIABLE | VALUE | SUCCESS))
        fail(y, y->p, "the event before this line lacks one of write, variable, value, success");
    key_id k = key_uint(h, y->event.variable);
    unsigned kind = y->event.write ? OP_WRITE : OP_READ;
    history_op(h, y->event.success ? kind : kind | OP_FAILED, k, value_uint(h, y->event.value));
    guard_tick(y->s->guard);
}

static void transaction_member(yaml *y, word name, const char *at, ptrdiff_t indent)
{
    if (is(name, "events")) {
        once(y, &y->seen, EVENTS, at);
        must_be_inside(y, indent - 1, "a list of events");
        if (is_dash(y) && !y->first) expected(y, "the list on lines of its own");
        /* the dashes may stand in the column of the name */
        sequence(y, indent - 1, event, "a list of events");
    } else if (is(name, "success")) {
        once(y, &y->seen, SUCCESS, at);
        y->success = boolean(y, indent);
    } else {
        fail(y, at, "unknown name: a transaction has events and success");
    }
}

static void transaction(yaml *y, ptrdiff_t indent)
{
    y->seen = 0;
    history_begin(y->h);
    history_session(y->h, y->session);
    mapping(y, indent, transaction_member, "a transaction");
    if (y->seen != (EVENTS | SUCCESS))
        fail(y, y->p, "the transaction before this line lacks events or success");
    history_end(y->h, y->success ? TXN_COMMITTED : TXN_ABORTED);
}

static void session(yaml *y, ptrdiff_t indent)
{
    y->session = label_uint(y->h, y->sessions++);
    history_declare_session(y->h, y->session);
    sequence(y, indent, transaction, "a session, a list of transactions");
}

void dbcop_yaml_read(history *h, source *s)
{
    source_skip_bom(s);
    const char *start = s->at + s->pos;
    yaml y = {.h = h, .s = s, .line = start, .p = start, .end = start};
    history_init_scalar(h, value_uint(h, 0));
    if (!next(&y)) return; /* an empty file, read as this format on demand */
    sequence(&y, -1, session, "a list of sessions");
    if (next(&y)) expected(&y, "the end of the document");
}

/* --- writing --------------------------------------------------------------------------------- */

static void put_event(sink *out, const plain_op *op)
{
    strbuf_str(&out->buf, op->write ? "      - write: true\n" : "      - write: false\n");
    strbuf_str(&out->buf, "        variable: ");
    strbuf_u64(&out->buf, op->key);
    strbuf_str(&out->buf, "\n        value: ");
    strbuf_u64(&out->buf, op->value);
    strbuf_str(&out->buf, op->failed ? "\n        success: false\n" : "\n        success: true\n");
    sink_check(out);
}

void dbcop_yaml_write(const history *h, sink *out)
{
    plain pl;
    uint64_t number = 0;
    plain_open(&pl, h, out, PLAIN_FAILED_OPS | PLAIN_EMPTY);
    strbuf_str(&out->buf, h->sessions.n ? "---\n" : "--- []\n");
    for (uint32_t i = 0; i < h->sessions.n; i++) {
        if (h->sessions.at[i] != i) sink_lose(out, LOST_LABELS);
        if (h->sess_first[i] == h->sess_first[i + 1]) strbuf_str(&out->buf, "- []\n");
        for (uint32_t j = h->sess_first[i]; j < h->sess_first[i + 1]; j++) {
            txn_id t = h->sess_txn[j];
            bool any = false;
            plain_op op;
            if (h->txn_label[t] != number++) sink_lose(out, LOST_LABELS);
            strbuf_str(&out->buf, j == h->sess_first[i] ? "- - events:" : "  - events:");
            for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
                if (!plain_get(&pl, o, &op)) continue;
                if (!any) strbuf_char(&out->buf, '\n');
                any = true;
                put_event(out, &op);
            }
            if (!any) strbuf_str(&out->buf, " []\n");
            strbuf_str(&out->buf, plain_status(&pl, t) == TXN_COMMITTED ? "    success: true\n"
                                                                        : "    success: false\n");
        }
    }
    plain_close(&pl);
}
