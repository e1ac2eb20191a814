/*
 * awdit.c - AWDIT's test files (doc/formats/others.md).
 *
 * Lines `r key value` and `w key value`; a run of dashes ends a transaction, a run of equals signs
 * ends a session.  Empty transactions and sessions vanish, so each is begun by its first event.
 *
 * There is no initial state: every key is absent at first, and who reads 0 must find a writer of
 * it.  Files that need an initial transaction contain one, ordinary and unordered like all others.
 * So the writer adds a first session with a transaction that writes 0 to each key whose initial
 * state is read; that it came before everything is lost.
 */
#include "read/formats.h"
#include "read/integer_only.h"

/* --- reading ------------------------------------------------------------------------------- */

typedef struct awdit_reader {
    history *h;
    source *s;
    bool in_session; /* it has an event already */
    uint64_t sessions;
    label session;
} awdit_reader;

static const char *skip_blanks(const char *p)
{
    while (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\f' || *p == '\v') p++;
    return p;
}

static void end_transaction(awdit_reader *r)
{
    if (r->h->open) history_end(r->h, TXN_COMMITTED);
}

static const char *parse_number(awdit_reader *r, const char *p, uint64_t *out, const char *what)
{
    source *s = r->s;
    const char *start = p;
    uint64_t v = 0;
    if (*p != ' ' && *p != '\t') source_fail(s, (size_t)(p - s->at), "expected a space");
    start = p = skip_blanks(p);
    for (; *p >= '0' && *p <= '9'; p++) {
        uint64_t d = (uint64_t)(*p - '0');
        if (v > (UINT64_MAX - d) / 10)
            source_fail(s, (size_t)(start - s->at), "a %s beyond 64 bits", what);
        v = v * 10 + d;
    }
    if (p == start) source_fail(s, (size_t)(p - s->at), "expected a %s, an unsigned number", what);
    *out = v;
    return p;
}

static const char *event(awdit_reader *r, const char *p)
{
    history *h = r->h;
    uint64_t key, value;
    bool write = *p == 'w';
    p = parse_number(r, p + 1, &key, "key");
    p = parse_number(r, p, &value, "value");
    if (!r->in_session) r->session = label_uint(h, r->sessions++);
    r->in_session = true;
    if (!h->open) {
        history_begin(h);
        history_session(h, r->session);
        history_line(h, source_line(r->s, (size_t)(p - r->s->at)));
    }
    key_id k = key_uint(h, key);
    history_op(h, write ? OP_WRITE : OP_READ, k, value_uint(h, value));
    return p;
}

/* A line holds at most one event, with separators before and after it. */
static void read_line(awdit_reader *r, const char *p, const char *end)
{
    bool had_event = false;
    while ((p = skip_blanks(p)) < end) {
        if (*p == '-') {
            while (*p == '-') p++;
            end_transaction(r);
            had_event = false;
        } else if (*p == '=') {
            while (*p == '=') p++;
            end_transaction(r);
            r->in_session = had_event = false;
        } else if ((*p == 'r' || *p == 'w') && !had_event) {
            p = event(r, p);
            had_event = true;
        } else {
            source_fail(r->s, (size_t)(p - r->s->at), "expected %s",
                        had_event ? "the end of the line" : "r, w, or a line of - or =");
        }
    }
}

void awdit_read(history *h, source *s)
{
    awdit_reader r = {.h = h, .s = s};
    const char *p, *end;
    source_skip_bom(s);
    while (source_next_line(s, &p, &end)) read_line(&r, p, end);
    end_transaction(&r);
}

/* --- writing ------------------------------------------------------------------------------- */

static void put_event(sink *out, bool write, uint64_t key, uint64_t value)
{
    strbuf_str(&out->buf, write ? "w " : "r ");
    strbuf_u64(&out->buf, key);
    strbuf_char(&out->buf, ' ');
    strbuf_u64(&out->buf, value);
    strbuf_char(&out->buf, '\n');
    sink_check(out);
}

/* True if there was something to write. */
static bool put_initial(const plain *pl)
{
    bool any = false;
    for (key_id k = 0; k < history_keys(pl->h); k++) {
        if (!plain_reads_init(pl, k)) continue;
        put_event(pl->out, true, plain_key(pl, k), 0);
        any = true;
    }
    return any;
}

void awdit_write(const history *h, sink *out)
{
    plain pl;
    uint64_t sessions = 0, number = 0;
    plain_open(&pl, h, out, PLAIN_EXPLICIT);
    bool any = put_initial(&pl); /* something stands before, so that a separator is needed */
    for (uint32_t i = 0; i < h->sessions.n; i++) {
        bool in_session = false;
        for (uint32_t j = h->sess_first[i]; j < h->sess_first[i + 1]; j++) {
            txn_id t = h->sess_txn[j];
            bool in_transaction = false;
            if (plain_status(&pl, t) != TXN_COMMITTED) {
                sink_lose_txn(out, h, t, LOST_ABORTED);
                continue;
            }
            for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
                plain_op op;
                if (!plain_get(&pl, o, &op)) continue;
                if (!in_transaction) {
                    if (any) strbuf_str(&out->buf, in_session ? "-----\n" : "=====\n");
                    if (h->txn_label[t] != number++) sink_lose(out, LOST_LABELS);
                }
                any = in_session = in_transaction = true;
                put_event(out, op.write, op.key, op.value);
            }
            if (!in_transaction) sink_lose(out, LOST_EMPTY);
        }
        if (!in_session)
            sink_lose(out, LOST_EMPTY);
        else if (h->sessions.at[i] != sessions++)
            sink_lose(out, LOST_LABELS);
    }
    plain_close(&pl);
}
