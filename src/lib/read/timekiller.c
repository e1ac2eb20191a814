/*
 * timekiller.c - TimeKiller (Chronos, Aion) JSON (doc/formats/others.md), and its file of initial
 * values.
 *
 * One array of committed transactions, or the same objects one after another as they are posted
 * online.  Timestamps are pairs of a hybrid clock, physical then logical; a transaction has one
 * 64-bit number for each, so pairs are packed with as many low bits as the largest logical part
 * needs.  If that does not fit, they become their ranks: the order is all that anybody uses.
 *
 * The format has no place for the initial state: keys start as null or all as 0, by an option of
 * the tool.  A read of 0 where nobody writes 0, and no key is read as null, tells that it was 0.
 */
#include <assert.h>
#include <stdlib.h>

#include "read/formats.h"
#include "read/json.h"
#include "read/extra_members.h"
#include "read/integer_only.h"

/* Header members. */
#define HLC_BITS "hlc_bits"   /* low bits of start_ts and commit_ts that are the logical part */
#define HLC_RANKS "hlc_ranks" /* true: start_ts and commit_ts are ranks */
#define INFERRED "init_inferred"

#define PREFIX "timekiller-" /* of members whose names are taken */

typedef struct hlc {
    int64_t physical, logical;
} hlc;

typedef struct timekiller_reader {
    json j;
    history *h;
    VEC(value_id) list;
    strbuf text;
    VEC(hlc) clocks; /* two a transaction: start, commit */
    int64_t highest; /* logical part */
    bool fits;       /* no part is negative */
} timekiller_reader;

/* --- reading: operations ------------------------------------------------------------------- */

static value_id read_value(timekiller_reader *r)
{
    json *j = &r->j;
    json_space(j);
    if (*j->p != '[') return json_scalar(j, r->h, "a value");
    r->list.n = 0;
    j->p++;
    if (!json_take(j, ']')) do {
            value_id v = json_scalar(j, r->h, "a list element");
            vec_push(&r->h->mem, &r->list, v);
        } while (json_more(j, ']'));
    return value_list(r->h, r->list.at, r->list.n);
}

static bool is_word(json_text t, const char *letter, const char *word)
{
    size_t n = t.n == 1 ? 1 : strlen(word);
    const char *want = t.n == 1 ? letter : word;
    if (t.n != n) return false;
    for (size_t i = 0; i < n; i++)
        if ((t.at[i] | 0x20) != want[i]) return false;
    return true;
}

static unsigned read_kind(json *j)
{
    json_space(j);
    const char *at = j->p;
    json_text t = json_string(j);
    if (is_word(t, "r", "read")) return OP_READ;
    if (is_word(t, "w", "write")) return OP_WRITE;
    if (is_word(t, "a", "append")) return OP_APPEND;
    json_fail(j, at, "unknown operation (r, read, w, write, a, append)");
}

static void read_op(timekiller_reader *r)
{
    json *j = &r->j;
    history *h = r->h;
    json_space(j);
    const char *start = j->p;
    unsigned kind = OP_ITER; /* none yet */
    bool has_key = false;
    key_id k = 0;
    value_id v = VALUE_NULL;
    json_need(j, '{');
    if (!json_take(j, '}')) do {
            json_text name = json_member(j);
            if (json_is(name, "t")) {
                kind = read_kind(j);
            } else if (json_is(name, "k")) {
                k = json_key(j, h);
                has_key = true;
            } else if (json_is(name, "v")) {
                v = read_value(r);
            } else {
                json_skip(j);
            }
        } while (json_more(j, '}'));
    if (kind == OP_ITER) json_fail(j, start, "an operation without \"t\"");
    if (!has_key) json_fail(j, start, "an operation without \"k\"");
    bool list = v == VALUE_EMPTY || (v > VALUE_EMPTY && value_atom(h, v).kind == ATOM_LIST);
    if (kind != OP_READ && list)
        json_fail(j, start, "a list cannot be written, only single values");
    if (kind == OP_APPEND && v == VALUE_NULL) json_fail(j, start, "an append of null");
    if (kind == OP_WRITE && v == VALUE_NULL) kind = OP_DELETE;
    history_op(h, kind, k, v);
}

static void read_ops(timekiller_reader *r)
{
    json_need(&r->j, '[');
    if (json_take(&r->j, ']')) return;
    do {
        read_op(r);
    } while (json_more(&r->j, ']'));
}

/* --- reading: transactions ----------------------------------------------------------------- */

/* An integer, or one written as a string. */
static int64_t read_part(json *j)
{
    json_space(j);
    if (*j->p != '"') return json_int(j, "a part of a timestamp");
    const char *at = j->p;
    json_text t = json_string(j);
    const char *p = t.at, *end = t.at + t.n;
    bool minus = p < end && *p == '-';
    uint64_t v = 0, limit = (uint64_t)INT64_MAX + minus;
    p += minus;
    if (p == end) json_fail(j, at, "a timestamp that is not a number");
    for (; p < end; p++) {
        uint64_t d = (uint64_t)(*p - '0');
        if (*p < '0' || *p > '9') json_fail(j, at, "a timestamp that is not a number");
        if (v > (limit - d) / 10) json_fail(j, at, "a timestamp beyond 64 bits");
        v = v * 10 + d;
    }
    return minus ? (int64_t)(0 - v) : (int64_t)v;
}

/* {"p": physical, "l": logical}; false for null. */
static bool read_clock(timekiller_reader *r, hlc *c)
{
    json *j = &r->j;
    bool has_physical = false;
    if (json_literal(j, "null")) return false;
    json_space(j);
    const char *start = j->p;
    *c = (hlc){0};
    json_need(j, '{');
    if (!json_take(j, '}')) do {
            json_text name = json_member(j);
            if (json_is(name, "p")) {
                c->physical = read_part(j);
                has_physical = true;
            } else if (json_is(name, "l")) {
                c->logical = read_part(j);
            } else {
                json_skip(j);
            }
        } while (json_more(j, '}'));
    if (!has_physical) json_fail(j, start, "a timestamp without \"p\"");
    if (c->logical > r->highest) r->highest = c->logical;
    if (c->logical < 0 || c->physical < 0) r->fits = false;
    return true;
}

static int compare_clocks(hlc a, hlc b)
{
    if (a.physical != b.physical) return a.physical < b.physical ? -1 : 1;
    return a.logical < b.logical ? -1 : a.logical > b.logical;
}

enum { SEEN_TID = 1, SEEN_SID = 2, SEEN_STS = 4, SEEN_CTS = 8, SEEN_OPS = 16 };

static unsigned member_bit(json_text name)
{
    static const char *const names[] = {"tid", "sid", "sts", "cts", "ops"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (json_is(name, names[i])) return 1u << i;
    return 0;
}

static void read_other(timekiller_reader *r, json_text name)
{
    strbuf *b = &r->text; /* the name, which the scanner may overwrite, then the text */
    b->n = 0;
    strbuf_add(b, name.at, name.n);
    json_compact(json_skip(&r->j), b);
    kept_add(r->h, PREFIX, (json_text){b->at, name.n}, (json_text){b->at + name.n, b->n - name.n});
}

static void read_txn(timekiller_reader *r)
{
    json *j = &r->j;
    history *h = r->h;
    const char *start = j->p;
    unsigned seen = 0;
    hlc clock[2] = {{0}, {0}};
    bool timed[2] = {false, false};
    json_need(j, '{');
    history_begin(h);
    history_line(h, source_line(j->s, (size_t)(start - j->s->at)));
    if (!json_take(j, '}')) do {
            json_space(j);
            const char *at = j->p;
            json_text name = json_member(j);
            unsigned bit = member_bit(name);
            if (seen & bit) json_fail(j, at, "this member occurs twice");
            seen |= bit;
            switch (bit) {
            case SEEN_TID: history_label(h, json_label(j, h, "a transaction id")); break;
            case SEEN_SID: history_session(h, json_label(j, h, "a session id")); break;
            case SEEN_STS: timed[0] = read_clock(r, &clock[0]); break;
            case SEEN_CTS: timed[1] = read_clock(r, &clock[1]); break;
            case SEEN_OPS: read_ops(r); break;
            default: read_other(r, name); break;
            }
        } while (json_more(j, '}'));
    if (!(seen & SEEN_TID)) json_fail(j, start, "a transaction without \"tid\"");
    if (!(seen & SEEN_SID)) json_fail(j, start, "a transaction without \"sid\"");
    if (!(seen & SEEN_OPS)) json_fail(j, start, "a transaction without \"ops\"");
    if (timed[0] && timed[1] && compare_clocks(clock[0], clock[1]) > 0)
        json_fail(j, start, "a transaction that starts (sts) after its commit (cts)");
    for (int i = 0; i < 2; i++) {
        if (timed[i]) history_time(h, i ? TXN_HAS_COMMIT_TS : TXN_HAS_START_TS, 0);
        vec_push(&h->mem, &r->clocks, clock[i]);
    }
    history_end(h, TXN_COMMITTED);
}

/* --- reading: clocks ----------------------------------------------------------------------- */

typedef struct stamp {
    hlc at;
    int64_t *to;
} stamp;

static int by_clock(const void *x, const void *y)
{
    return compare_clocks(((const stamp *)x)->at, ((const stamp *)y)->at);
}

static void rank_clocks(timekiller_reader *r)
{
    history *h = r->h;
    VEC(stamp) all = {0};
    for (size_t t = 0; t < h->txns; t++) {
        stamp start = {.at = r->clocks.at[2 * t]}, commit = {.at = r->clocks.at[2 * t + 1]};
        if (h->txn_flags[t] & TXN_HAS_START_TS) {
            start.to = &h->txn_start_ts[t];
            vec_push(&h->mem, &all, start);
        }
        if (h->txn_flags[t] & TXN_HAS_COMMIT_TS) {
            commit.to = &h->txn_commit_ts[t];
            vec_push(&h->mem, &all, commit);
        }
    }
    if (all.n) qsort(all.at, all.n, sizeof *all.at, by_clock);
    int64_t rank = 0;
    for (size_t i = 0; i < all.n; i++) {
        if (i && by_clock(&all.at[i - 1], &all.at[i])) rank++;
        *all.at[i].to = rank;
    }
    vec_free(&h->mem, &all);
}

/* Behind all others so far; headers stand before transactions' members. */
static void header_member(timekiller_reader *r, const char *name, const char *value)
{
    history *h = r->h;
    history_extra(h, name, strlen(name), value, strlen(value));
    extra fresh = h->extras.at[h->extras.n - 1];
    memmove(h->extras.at + 1, h->extras.at, (h->extras.n - 1) * sizeof *h->extras.at);
    h->extras.at[0] = fresh;
}

static void settle_clocks(timekiller_reader *r)
{
    history *h = r->h;
    unsigned bits = 0;
    bool fits = r->fits;
    while (bits < 63 && r->highest >> bits) bits++;
    for (size_t i = 0; i < r->clocks.n && fits; i++)
        fits = r->clocks.at[i].physical <= INT64_MAX >> bits;
    if (!fits) {
        rank_clocks(r);
        header_member(r, HLC_RANKS, "true");
        return;
    }
    for (size_t t = 0; t < h->txns; t++) {
        const hlc *c = &r->clocks.at[2 * t];
        if (h->txn_flags[t] & TXN_HAS_START_TS)
            h->txn_start_ts[t] = c[0].physical << bits | c[0].logical;
        if (h->txn_flags[t] & TXN_HAS_COMMIT_TS)
            h->txn_commit_ts[t] = c[1].physical << bits | c[1].logical;
    }
    if (!bits) return;
    r->text.n = 0;
    strbuf_u64(&r->text, bits);
    header_member(r, HLC_BITS, strbuf_cstr(&r->text));
}

/* --- the initial state --------------------------------------------------------------------- */

#define SEES_ZERO 1u /* a read, not of an own write, returned 0 */
#define SEES_NULL 2u
#define HAS_ZERO 4u /* 0 is written */
#define IS_LIST 8u  /* appended to, or read as a list: it starts empty, whatever registers do */

static bool is_list_value(const history *h, value_id v)
{
    return v == VALUE_EMPTY ||
           (v > VALUE_NULL && v != VALUE_UNKNOWN && value_atom(h, v).kind == ATOM_LIST);
}

/* By key.  The caller gives it back. */
static uint8_t *survey(const history *h, mem *m, const plain *p)
{
    uint8_t *use = mem_zeroed(m, history_keys(h) + 1);
    uint32_t *own = mem_array0(m, uint32_t, history_keys(h) + 1); /* the last writer + 1 */
    for (txn_id t = 0; t < h->txns; t++) {
        if (p && plain_status(p, t) == TXN_ABORTED) continue;
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            key_id k = h->op_key[o];
            enum op_kind kind = op_kind_of(h, o);
            if (kind > OP_APPEND || (h->op_kind[o] & OP_FAILED)) continue;
            if (kind == OP_APPEND || (kind == OP_READ && is_list_value(h, h->op_value[o])))
                use[k] |= IS_LIST;
            if (kind != OP_READ) {
                own[k] = t + 1;
                if (kind == OP_WRITE && h->op_value[o] == 0) use[k] |= HAS_ZERO;
            } else if (own[k] != t + 1) {
                if (h->op_value[o] == 0) use[k] |= SEES_ZERO;
                if (h->op_value[o] == VALUE_NULL) use[k] |= SEES_NULL;
            }
        }
    }
    mem_put(m, own);
    return use;
}

enum verdict_of_zero { ZERO_NONE, ZERO_SOME, ZERO_ALL };

/* Whether all keys start as 0, or those for which starts_as_zero says so. */
static enum verdict_of_zero zeros(const uint8_t *use, size_t keys)
{
    bool zero = false, null = false;
    for (size_t k = 0; k < keys; k++) {
        zero |= (use[k] & (SEES_ZERO | HAS_ZERO | IS_LIST)) == SEES_ZERO;
        null |= (use[k] & (SEES_NULL | IS_LIST)) == SEES_NULL;
    }
    return !zero ? ZERO_NONE : null ? ZERO_SOME : ZERO_ALL;
}

static bool starts_as_zero(uint8_t use, enum verdict_of_zero z)
{
    return z == ZERO_ALL ? !(use & IS_LIST) : z == ZERO_SOME && use == SEES_ZERO;
}

static void settle_initial(timekiller_reader *r)
{
    history *h = r->h;
    uint8_t *use = survey(h, &h->mem, NULL);
    enum verdict_of_zero z = zeros(use, history_keys(h));
    bool lists = false;
    for (size_t k = 0; k < history_keys(h); k++) lists |= (use[k] & IS_LIST) != 0;
    if (z == ZERO_ALL && !lists) history_init_scalar(h, 0);
    for (size_t k = 0; k < history_keys(h) && (lists || z == ZERO_SOME); k++)
        if (starts_as_zero(use[k], z)) history_init_entry(h, (key_id)k, 0);
    if (z != ZERO_NONE) header_member(r, INFERRED, "true");
    mem_put(&h->mem, use);
}

/* --- the file ------------------------------------------------------------------------------ */

static void next_txn(timekiller_reader *r)
{
    json *j = &r->j;
    json_whole(j);
    if (*j->p != '{') json_expected(j, "a transaction, an object");
    read_txn(r);
    guard_tick(j->s->guard);
}

static void read_array(timekiller_reader *r)
{
    json *j = &r->j;
    j->p++;
    if (json_peek(j) && *j->p == ']') {
        j->p++;
    } else {
        do {
            json_peek(j);
            next_txn(r);
            json_peek(j);
        } while (json_more(j, ']'));
    }
    if (json_peek(j)) json_expected(j, "the end of the file");
}

static void start(timekiller_reader *r, history *h, source *s)
{
    memset(r, 0, sizeof *r);
    r->h = h;
    r->fits = true;
    strbuf_init(&r->text, &h->mem);
    json_stream(&r->j, s);
}

static void stop(timekiller_reader *r)
{
    vec_free(&r->h->mem, &r->list);
    vec_free(&r->h->mem, &r->clocks);
    strbuf_free(&r->text);
    strbuf_free(&r->j.scratch);
}

void timekiller_read(history *h, source *s)
{
    timekiller_reader r;
    start(&r, h, s);
    if (json_peek(&r.j)) {
        if (*r.j.p == '[')
            read_array(&r);
        else
            do next_txn(&r);
            while (json_peek(&r.j));
    }
    settle_clocks(&r);
    settle_initial(&r);
    stop(&r);
}

void timekiller_read_init(history *h, source *s)
{
    timekiller_reader r;
    start(&r, h, s);
    json *j = &r.j;
    size_t ops = h->ops;
    if (!json_peek(j)) json_expected(j, "an object with \"ops\"");
    json_whole(j);
    const char *at = j->p;
    json_need(j, '{');
    bool found = false;
    h->init = INIT_MAP;
    h->init_map.n = 0;
    h->init_scalar = VALUE_NULL;
    h->init_unknown = false;
    if (!json_take(j, '}')) do {
            json_text name = json_member(j);
            if (!json_is(name, "ops")) {
                json_skip(j);
                continue;
            }
            found = true;
            read_ops(&r);
        } while (json_more(j, '}'));
    if (!found) json_fail(j, at, "an initial state without \"ops\"");
    for (size_t o = ops; o < h->ops; o++)
        if (h->op_kind[o] == OP_WRITE) history_init_entry(h, h->op_key[o], h->op_value[o]);
    h->ops = ops;
    if (json_peek(j)) json_expected(j, "the end of the file");
    stop(&r);
    /* What a reader inferred is not so any more. */
    for (size_t i = 0; i < h->extras.n; i++) {
        atom name = value_atom(h, h->extras.at[i].name);
        if (h->extras.at[i].txn != NO_ID || name.len != strlen(INFERRED) ||
            memcmp(atom_bytes(h, name), INFERRED, name.len) != 0)
            continue;
        memmove(h->extras.at + i, h->extras.at + i + 1,
                (h->extras.n - i - 1) * sizeof *h->extras.at);
        h->extras.n--;
        break;
    }
}

/* --- writing ------------------------------------------------------------------------------- */

typedef struct timekiller_writer {
    plain base; /* keys, and which transactions of unknown outcome count as committed */
    const history *h;
    sink *out;
    unsigned bits;
    bool ranks;
    int64_t base_value; /* above all integers: values that are none are numbered from here */
} timekiller_writer;

static void put_value(timekiller_writer *w, value_id v)
{
    const history *h = w->h;
    strbuf *b = &w->out->buf;
    atom a = value_atom(h, v);
    if (a.kind == ATOM_LIST) {
        strbuf_char(b, '[');
        for (uint32_t i = 0; i < a.len; i++) {
            if (i) strbuf_char(b, ',');
            put_value(w, h->elements.at[a.as.offset + i]);
        }
        strbuf_char(b, ']');
    } else if (a.kind == ATOM_STR || a.kind == ATOM_REAL || a.kind == ATOM_BOOL) {
        sink_lose(w->out, LOST_VALUES);
        strbuf_i64(b, w->base_value + (int64_t)(v - VALUE_TABLE));
    } else {
        atom_json(h, a, b);
    }
}

static void put_clock(timekiller_writer *w, const char *name, int64_t v)
{
    strbuf *b = &w->out->buf;
    strbuf_str(b, name);
    strbuf_str(b, "{\"p\":");
    strbuf_i64(b, v >= 0 ? v >> w->bits : v);
    strbuf_str(b, ",\"l\":");
    strbuf_i64(b, v >= 0 ? v & (((int64_t)1 << w->bits) - 1) : 0);
    strbuf_char(b, '}');
}

/* The operation, or false with the reason noted. */
static bool put_op(timekiller_writer *w, op_id o, bool first)
{
    const history *h = w->h;
    strbuf *b = &w->out->buf;
    enum op_kind kind = op_kind_of(h, o);
    unsigned flags = h->op_kind[o];
    enum lost_bit why = flags & OP_FAILED                       ? LOST_FAILED
                        : kind > OP_APPEND                      ? LOST_RANGES
                        : h->op_value[o] == VALUE_UNKNOWN       ? LOST_UNKNOWN_READS
                        : flags & (OP_LOCK | OP_TOMB | OP_ATTR) ? LOST_ATTRS
                                                                : LOST_COUNT;
    if (why == LOST_ATTRS) sink_lose(w->out, why);
    if (why != LOST_COUNT && why != LOST_ATTRS) return sink_lose_op(w->out, why), false;
    static const char *const names[] = {
        "{\"t\":\"r\",\"k\":", "{\"t\":\"w\",\"k\":", "{\"t\":\"w\",\"k\":", "{\"t\":\"a\",\"k\":"};
    if (!first) strbuf_char(b, ',');
    strbuf_str(b, names[kind]);
    if (w->base.same_keys)
        strbuf_u64(b, key_atom(h, h->op_key[o]).as.u);
    else
        strbuf_u64(b, h->op_key[o]);
    strbuf_str(b, ",\"v\":");
    put_value(w, kind == OP_DELETE ? VALUE_NULL : h->op_value[o]);
    strbuf_char(b, '}');
    return true;
}

static void put_txn(timekiller_writer *w, txn_id t)
{
    const history *h = w->h;
    strbuf *b = &w->out->buf;
    strbuf_str(b, "{\"tid\":");
    atom_json(h, label_atom(h, h->txn_label[t]), b);
    strbuf_str(b, ",\"sid\":");
    atom_json(h, label_atom(h, h->sessions.at[h->txn_session[t]]), b);
    unsigned flags = h->txn_flags[t], both = TXN_HAS_START_TS | TXN_HAS_COMMIT_TS;
    if ((flags & both) == both && h->txn_start_ts[t] > h->txn_commit_ts[t]) {
        sink_lose(w->out, LOST_TIMES); /* readers of the format refuse such a pair */
        flags &= ~(unsigned)TXN_HAS_START_TS;
    }
    if (flags & TXN_HAS_START_TS) put_clock(w, ",\"sts\":", h->txn_start_ts[t]);
    if (flags & TXN_HAS_COMMIT_TS) put_clock(w, ",\"cts\":", h->txn_commit_ts[t]);
    strbuf_str(b, ",\"ops\":[");
    bool first = true;
    for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
        if (put_op(w, o, first)) first = false;
        sink_check(w->out);
    }
    strbuf_char(b, ']');
}

static void put_extras(timekiller_writer *w, txn_id t, const extra **e)
{
    const history *h = w->h;
    const extra *end = h->extras.n ? h->extras.at + h->extras.n : NULL;
    while (*e < end && ((*e)->txn == NO_ID || (*e)->txn < t)) ++*e;
    for (; *e < end && (*e)->txn == t; ++*e) {
        atom stored = value_atom(h, (*e)->name), text = value_atom(h, (*e)->text);
        json_text name = kept_name(PREFIX, (json_text){atom_bytes(h, stored), stored.len});
        if (member_bit(name)) { /* the name is taken */
            sink_lose(w->out, LOST_EXTRAS);
            continue;
        }
        strbuf_char(&w->out->buf, ',');
        strbuf_json(&w->out->buf, name.at, name.n);
        strbuf_char(&w->out->buf, ':');
        strbuf_add(&w->out->buf, atom_bytes(h, text), text.len);
    }
}

static void note_losses(timekiller_writer *w)
{
    const history *h = w->h;
    static const char *const ours[] = {HLC_BITS, HLC_RANKS, INFERRED};
    for (size_t i = 0; i < h->extras.n && h->extras.at[i].txn == NO_ID; i++) {
        bool known = false;
        atom a = value_atom(h, h->extras.at[i].name);
        for (size_t j = 0; j < sizeof ours / sizeof *ours; j++)
            known |= a.len == strlen(ours[j]) && !memcmp(atom_bytes(h, a), ours[j], a.len);
        if (!known) sink_lose(w->out, LOST_EXTRAS);
    }
    for (txn_id t = 0; t < h->txns; t++) {
        if (plain_status(&w->base, t) == TXN_ABORTED) sink_lose_txn(w->out, h, t, LOST_ABORTED);
        if (h->txn_flags[t] & (TXN_HAS_BEGIN | TXN_HAS_END | TXN_HAS_TIMES))
            sink_lose(w->out, LOST_TIMES);
    }
    for (size_t i = 0; i < h->sessions.n; i++)
        if (h->sess_first[i] == h->sess_first[i + 1]) sink_lose(w->out, LOST_EMPTY);
    if (h->declared_sessions > h->sessions.n) sink_lose(w->out, LOST_EMPTY);
    if (h->marks.n) sink_lose(w->out, LOST_MARKS);
    if (w->ranks) sink_lose(w->out, LOST_TIMES);
    if (!w->base.same_keys) sink_lose(w->out, LOST_KEYS);
    /* Will the reader come to the same initial state? */
    if (h->init_unknown) sink_lose(w->out, LOST_INIT);
    uint8_t *use = survey(h, w->out->mem, &w->base);
    enum verdict_of_zero z = zeros(use, history_keys(h));
    for (size_t k = 0; k < history_keys(h); k++) {
        bool zero = starts_as_zero(use[k], z), empty = use[k] & IS_LIST;
        if (h->key_init[k] != (zero ? 0 : VALUE_NULL) && !(empty && h->key_init[k] == VALUE_EMPTY))
            sink_lose(w->out, LOST_INIT);
    }
    mem_put(w->out->mem, use);
}

static void choose_numbers(timekiller_writer *w)
{
    const history *h = w->h;
    size_t n;
    const char *ranks = plain_extra(h, HLC_RANKS, &n);
    w->ranks = ranks && *ranks == 't';
    const char *bits = plain_extra(h, HLC_BITS, &n); /* digits, without a NUL after them */
    for (size_t i = 0; i < n && n < 3 && bits[i] >= '0' && bits[i] <= '9'; i++)
        w->bits = w->bits * 10 + (unsigned)(bits[i] - '0');
    if (w->bits > 62) w->bits = 0;
    w->base_value = (int64_t)1 << 32;
    for (size_t i = 0; i < h->values.atoms.n; i++) {
        atom a = h->values.atoms.at[i];
        if (a.kind == ATOM_INT && a.as.i >= w->base_value && a.as.i < INT64_MAX - UINT32_MAX)
            w->base_value = a.as.i + 1;
    }
}

void timekiller_write(const history *h, sink *out)
{
    timekiller_writer w = {.h = h, .out = out};
    const extra *e = h->extras.at;
    uint64_t told = out->lost_bits;
    bool first = true;
    plain_open(&w.base, h, out, PLAIN_EMPTY);
    out->lost_bits = told | (out->lost_bits & (uint64_t)1 << LOST_UNKNOWN);
    for (unsigned b = 0; b < LOST_COUNT; b++) sink_keep_ops(out, (enum lost_bit)b);
    choose_numbers(&w);
    note_losses(&w);
    strbuf_char(&out->buf, '[');
    for (txn_id t = 0; t < h->txns; t++) {
        if (plain_status(&w.base, t) == TXN_ABORTED) continue;
        if (!first) strbuf_str(&out->buf, ",\n");
        first = false;
        put_txn(&w, t);
        put_extras(&w, t, &e);
        strbuf_char(&out->buf, '}');
        sink_check(out);
        guard_tick(out->guard);
    }
    strbuf_str(&out->buf, "]\n");
    plain_close(&w.base);
}
