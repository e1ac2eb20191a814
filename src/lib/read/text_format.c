/*
 * text_format.c - PolySI / Plume / C4 / IsoVista text, `r(key,value,session,txn)`
 * (doc/formats/others.md).
 *
 * Lines of a transaction normally stand together: then each is one append to the builder.  When
 * an id comes back later, the reader turns loose: from then on it notes the owner of every
 * operation and lets the builder regroup them at the end.  Ids that only rise need no table, so
 * none is made before one falls.
 *
 * txn -1 is "some aborted transaction": boundaries are lost, so the writes of a session go into
 * one aborted transaction labelled "aborted-<session>"; reads say nothing and are only counted
 * (extra text_aborted_reads).  Value 0 is the initial value of every key to which no committed
 * transaction writes 0; a key with such a write is absent at first and 0 is a value like others.
 * So an explicit initial transaction (IsoVista) stays the ordinary transaction that the file
 * shows and the manifest counts; the extra text_init says that the first one looks like that.
 */
#include "base/map.h"
#include "read/formats.h"
#include "read/integer_only.h"

/* --- one line ------------------------------------------------------------------------------ */

typedef struct line {
    bool write, aborted;
    uint64_t key, value, session, txn;
    const char *session_at, *txn_at;
} line;

/* Where and why a line cannot be parsed; if `at` is the end of the window, more may help. */
typedef struct trouble {
    const char *at, *what;
} trouble;

static const char *parse_number(const char *p, uint64_t *out, trouble *bad)
{
    const char *start = p;
    uint64_t v = 0;
    for (; (unsigned char)(*p - '0') < 10; p++) {
        if (p - start >= 19 &&
            (v > UINT64_MAX / 10 || v * 10 > UINT64_MAX - (uint64_t)(*p - '0'))) {
            *bad = (trouble){start, "a number beyond 64 bits"};
            return NULL;
        }
        v = v * 10 + (uint64_t)(*p - '0');
    }
    if (p == start) {
        *bad = (trouble){p, "expected an unsigned number"};
        return NULL;
    }
    *out = v;
    return p;
}

static const char *parse(const char *p, line *l, trouble *bad)
{
    if (*p != 'r' && *p != 'w') {
        *bad = (trouble){p, *p == '\n' ? "blank line" : "expected r( or w("};
        return NULL;
    }
    l->write = *p++ == 'w';
    if (*p != '(') {
        *bad = (trouble){p, "expected ("};
        return NULL;
    }
    if (!(p = parse_number(p + 1, &l->key, bad))) return NULL;
    if (*p != ',') goto comma;
    if (!(p = parse_number(p + 1, &l->value, bad))) return NULL;
    if (*p != ',') goto comma;
    l->session_at = ++p;
    if (!(p = parse_number(p, &l->session, bad))) return NULL;
    if (*p != ',') goto comma;
    l->txn_at = ++p;
    l->aborted = *p == '-';
    l->txn = 0;
    if (l->aborted) {
        if (p[1] != '1' || (unsigned char)(p[2] - '0') < 10) {
            *bad = (trouble){p[1] == '1' ? p + 2 : p + 1, "the only negative transaction is -1"};
            return NULL;
        }
        p += 2;
    } else if (!(p = parse_number(p, &l->txn, bad))) {
        return NULL;
    }
    if (*p != ')') {
        *bad = (trouble){p, "expected )"};
        return NULL;
    }
    if (*++p == '\n') return p + 1;
    if (*p == '\r' && p[1] == '\n') return p + 2;
    *bad = (trouble){*p == '\r' ? p + 1 : p, "expected the end of the line"};
    return NULL;
comma:
    *bad = (trouble){p, "expected ,"};
    return NULL;
}

/* --- reading ------------------------------------------------------------------------------- */

typedef struct text_reader {
    history *h;
    source *s;
    id_map txn_of_label; /* empty while labels rise */
    label highest;
    bool loose;          /* a transaction was split: operations have owners */
    VEC(txn_id) owner;   /* by operation, for history_regroup */
    VEC(txn_id) aborted; /* by session: its aborted transaction, or NO_ID */
    VEC(uint8_t) zero;   /* by key: a committed transaction writes 0 */
    bool any_zero;
    uint64_t aborted_reads;
    /* the transaction of the last line */
    bool any, current_aborted;
    txn_id current;
    uint64_t current_session, current_txn;
} text_reader;

static txn_id find_txn(text_reader *r, label l)
{
    history *h = r->h;
    if (!r->txn_of_label.n) {
        if (!h->txns || l > r->highest) return NO_ID; /* rising: certainly new */
        id_map_reserve(&h->mem, &r->txn_of_label, h->txns);
        for (txn_id t = 0; t < h->txns; t++)
            id_map_put(&h->mem, &r->txn_of_label, h->txn_label[t], t);
    }
    return id_map_get(&r->txn_of_label, l);
}

static void leave(text_reader *r)
{
    if (r->h->open) history_end(r->h, r->current_aborted ? TXN_ABORTED : TXN_COMMITTED);
}

static void turn_loose(text_reader *r)
{
    history *h = r->h;
    for (txn_id t = 0; t < h->txns; t++)
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) vec_push(&h->mem, &r->owner, t);
    r->loose = true;
}

static txn_id find_aborted(text_reader *r, uint32_t session)
{
    while (r->aborted.n <= session) vec_push(&r->h->mem, &r->aborted, NO_ID);
    return r->aborted.at[session];
}

static label aborted_label(history *h, uint64_t session)
{
    strbuf name;
    strbuf_init(&name, &h->mem);
    strbuf_str(&name, "aborted-");
    strbuf_u64(&name, session);
    label id = label_str(h, name.at, name.n);
    strbuf_free(&name);
    return id;
}

static _Noreturn void two_sessions(text_reader *r, const line *l, txn_id known)
{
    history *h = r->h;
    strbuf first;
    strbuf_init(&first, &h->mem);
    label_text(h, h->sessions.at[h->txn_session[known]], &first);
    source_fail(r->s, (size_t)(l->session_at - r->s->at),
                "transaction %llu belongs to session %.40s, but here it belongs to session %llu",
                (unsigned long long)l->txn, strbuf_cstr(&first), (unsigned long long)l->session);
}

/* Makes the transaction of a line the current one. */
static void enter(text_reader *r, const line *l)
{
    history *h = r->h;
    leave(r);
    label session = label_uint(h, l->session);
    uint32_t slot = history_declare_session(h, session);
    label id = l->aborted ? 0 : label_uint(h, l->txn);
    txn_id known = l->aborted ? find_aborted(r, slot) : find_txn(r, id);
    r->any = true;
    r->current_aborted = l->aborted;
    r->current_session = l->session;
    r->current_txn = l->txn;
    if (known != NO_ID) {
        if (h->txn_session[known] != slot) two_sessions(r, l, known);
        if (!r->loose) turn_loose(r);
        r->current = known;
        return;
    }
    r->current = history_begin(h);
    history_session(h, session);
    history_line(h, source_line(r->s, r->s->pos));
    history_label(h, l->aborted ? aborted_label(h, l->session) : id);
    if (l->aborted) r->aborted.at[slot] = r->current;
    if (r->txn_of_label.n)
        id_map_put(&h->mem, &r->txn_of_label, h->txn_label[r->current], r->current);
    if (!l->aborted && id > r->highest) r->highest = id;
    if (r->loose) leave(r); /* its operations will be told by their owner */
}

static void note_zero(text_reader *r, key_id k)
{
    while (r->zero.n <= k) vec_push(&r->h->mem, &r->zero, 0);
    r->zero.at[k] = 1;
    r->any_zero = true;
}

static void settle_init(text_reader *r)
{
    history *h = r->h;
    if (!r->any_zero) {
        history_init_scalar(h, value_uint(h, 0));
        return;
    }
    for (key_id k = 0; k < history_keys(h); k++)
        if (k >= r->zero.n || !r->zero.at[k]) history_init_entry(h, k, value_uint(h, 0));
    bool init = h->txns && txn_status_of(h, 0) == TXN_COMMITTED && h->txn_op[0] < h->txn_op[1];
    for (op_id o = 0; init && o < h->txn_op[1]; o++)
        init = h->op_kind[o] == OP_WRITE && h->op_value[o] == 0;
    for (txn_id t = 1; init && t < h->txns; t++) init = h->txn_session[t] != h->txn_session[0];
    if (init) history_extra(h, "text_init", 9, "true", 4);
}

void text_read(history *h, source *s)
{
    text_reader r = {.h = h, .s = s};
    for (;;) {
        if (s->pos == s->n && !source_more(s)) break;
        const char *end = s->at + s->n, *p = s->at + s->pos;
        line l;
        trouble bad;
        const char *next = parse(p, &l, &bad);
        if (!next) {
            if (bad.at == end) {
                if (source_more(s)) continue; /* the line was cut off by the window */
                end = s->at + s->n;           /* which has moved all the same */
                parse(s->at + s->pos, &l, &bad);
            }
            /* At the end of the input the last newline may be missing. */
            if (!next && bad.at == end && end[-1] == ')') next = end;
            if (!next) source_fail(s, (size_t)(bad.at - s->at), "%s", bad.what);
        }
        if (l.aborted && !l.write) {
            r.aborted_reads++;
        } else {
            if (!r.any || l.txn != r.current_txn || l.session != r.current_session ||
                l.aborted != r.current_aborted)
                enter(&r, &l);
            if (r.loose) vec_push(&h->mem, &r.owner, r.current);
            key_id k = key_uint(h, l.key);
            if (l.value == 0 && l.write && !l.aborted) note_zero(&r, k);
            history_op(h, l.write ? OP_WRITE : OP_READ, k, value_uint(h, l.value));
        }
        s->pos = (size_t)(next - s->at);
    }
    leave(&r);
    id_map_free(&h->mem, &r.txn_of_label);
    if (r.loose) history_regroup(h, r.owner.at);
    vec_free(&h->mem, &r.owner);
    vec_free(&h->mem, &r.aborted);
    settle_init(&r);
    vec_free(&h->mem, &r.zero);
    if (r.aborted_reads) {
        strbuf n;
        strbuf_init(&n, &h->mem);
        strbuf_u64(&n, r.aborted_reads);
        history_extra(h, "text_aborted_reads", 18, n.at, n.n);
        strbuf_free(&n);
    }
}

/* --- writing ------------------------------------------------------------------------------- */

/* Whether every label that is written is a number; if not, all are renumbered. */
static bool numeric_labels(const history *h, const plain *pl)
{
    uint64_t v;
    for (size_t i = 0; i < h->sessions.n; i++)
        if (!plain_uint(label_atom(h, h->sessions.at[i]), &v)) return false;
    for (txn_id t = 0; t < h->txns; t++)
        if (plain_status(pl, t) == TXN_COMMITTED && !plain_uint(label_atom(h, h->txn_label[t]), &v))
            return false;
    return true;
}

/* An aborted transaction comes back whole only if it is its session's only one, writes only, and
   has the label that the reader makes up. */
static void note_aborted(const history *h, const plain *pl, sink *out)
{
    for (uint32_t i = 0; i < h->sessions.n; i++) {
        strbuf name;
        strbuf_init(&name, out->mem);
        strbuf_str(&name, "aborted-");
        label_text(h, h->sessions.at[i], &name);
        unsigned seen = 0;
        for (uint32_t j = h->sess_first[i]; j < h->sess_first[i + 1]; j++) {
            txn_id t = h->sess_txn[j];
            if (plain_status(pl, t) != TXN_ABORTED) continue;
            atom a = label_atom(h, h->txn_label[t]);
            if (a.kind != ATOM_STR || a.len != name.n || memcmp(atom_bytes(h, a), name.at, name.n))
                sink_lose(out, LOST_LABELS);
            if (seen++) sink_lose(out, LOST_ABORTED);
            for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++)
                if (op_kind_of(h, o) == OP_READ) sink_lose_op(out, LOST_ABORTED);
        }
        strbuf_free(&name);
    }
}

void text_write(const history *h, sink *out)
{
    plain pl;
    plain_open(&pl, h, out, PLAIN_ZERO_WRITES);
    bool numeric = numeric_labels(h, &pl);
    if (!numeric) sink_lose(out, LOST_LABELS);
    note_aborted(h, &pl, out);
    for (txn_id t = 0; t < h->txns; t++) {
        bool aborted = plain_status(&pl, t) == TXN_ABORTED;
        uint32_t slot = h->txn_session[t];
        uint64_t session = numeric ? label_atom(h, h->sessions.at[slot]).as.u : slot;
        uint64_t id = numeric ? label_atom(h, h->txn_label[t]).as.u : t;
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            plain_op op;
            if (!plain_get(&pl, o, &op) || (aborted && !op.write)) continue;
            strbuf_str(&out->buf, op.write ? "w(" : "r(");
            strbuf_u64(&out->buf, op.key);
            strbuf_char(&out->buf, ',');
            strbuf_u64(&out->buf, op.value);
            strbuf_char(&out->buf, ',');
            strbuf_u64(&out->buf, session);
            strbuf_char(&out->buf, ',');
            if (aborted)
                strbuf_str(&out->buf, "-1");
            else
                strbuf_u64(&out->buf, id);
            strbuf_str(&out->buf, ")\n");
            sink_check(out);
        }
    }
    plain_close(&pl);
}
