/*
 * native_bin.c - the native binary format, version 1 (doc/formats/native-bin.md).
 *
 * The frozen arrays of the model as columns, little-endian, each stored with the smallest width
 * that holds its largest element, each followed by a checksum: reading is copying plus checking.
 *
 *     file    := "RATELBIN" version:u32 0:u32 column*
 *     column  := tag:4 bytes  width:u32  count:u64  count * width bytes  checksum:u64
 *
 * The columns stand in the order of the table below; all are present, possibly empty; "END " is
 * the last.  Counts are never trusted for allocation: memory grows with the bytes that arrive.
 * After the bytes, every id is checked against the table it points into, so that a file made by
 * an enemy can be wrong but not harmful.
 */
#include <assert.h>

#include "base/hash.h"
#include "read/formats.h"
#include "read/read.h"

#define MAGIC "RATELBIN"
#define BLOCK 65536u /* the checksum folds blocks of this many bytes */

static uint32_t tag_of(const char *t)
{
    uint32_t v;
    memcpy(&v, t, 4);
    return v;
}

static uint64_t load(const unsigned char *p, unsigned width)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < width; i++) v |= (uint64_t)p[i] << (8 * i);
    return v;
}

/* --- writing ------------------------------------------------------------------------------- */

typedef struct column_out {
    sink *out;
    unsigned width;
    uint64_t sum;
    size_t in_block;
    unsigned char block[BLOCK];
} column_out;

static void put_bytes(sink *out, uint64_t v, unsigned width)
{
    char b[8];
    for (unsigned i = 0; i < width; i++) b[i] = (char)(v >> (8 * i));
    strbuf_add(&out->buf, b, width);
}

static void flush_block(column_out *c)
{
    if (!c->in_block) return;
    c->sum = hash_pair(c->sum, hash_bytes(c->block, c->in_block, 0));
    strbuf_add(&c->out->buf, (const char *)c->block, c->in_block);
    sink_check(c->out);
    c->in_block = 0;
}

static void open_column(column_out *c, sink *out, const char *tag, unsigned width, uint64_t count)
{
    c->out = out;
    c->width = width;
    c->sum = tag_of(tag);
    c->in_block = 0;
    strbuf_add(&out->buf, tag, 4);
    put_bytes(out, width, 4);
    put_bytes(out, count, 8);
}

/* Blocks hold whole elements only if the width divides BLOCK; 12 and 20 do not, so bytes it is. */
static void put_element(column_out *c, uint64_t v, unsigned width)
{
    for (unsigned i = 0; i < width; i++) {
        if (c->in_block == BLOCK) flush_block(c);
        c->block[c->in_block++] = (unsigned char)(v >> (8 * i));
    }
}

static void close_column(column_out *c)
{
    flush_block(c);
    put_bytes(c->out, c->sum, 8);
}

static unsigned width_for(uint64_t largest)
{
    return largest < 256 ? 1 : largest < 65536 ? 2 : largest <= UINT32_MAX ? 4 : 8;
}

static void put_u32(column_out *c, sink *out, const char *tag, const uint32_t *v, size_t n)
{
    uint32_t largest = 0;
    for (size_t i = 0; i < n; i++)
        if (v[i] > largest) largest = v[i];
    open_column(c, out, tag, width_for(largest), n);
    for (size_t i = 0; i < n; i++) put_element(c, v[i], c->width);
    close_column(c);
}

static void put_u64(column_out *c, sink *out, const char *tag, const uint64_t *v, size_t n)
{
    uint64_t largest = 0;
    for (size_t i = 0; i < n; i++)
        if (v[i] > largest) largest = v[i];
    open_column(c, out, tag, width_for(largest), n);
    for (size_t i = 0; i < n; i++) put_element(c, v[i], c->width);
    close_column(c);
}

static void put_raw(column_out *c, sink *out, const char *tag, const void *v, size_t n)
{
    open_column(c, out, tag, 1, n);
    const unsigned char *p = v;
    for (size_t i = 0; i < n; i++) put_element(c, p[i], 1);
    close_column(c);
}

static void put_atoms(column_out *c, sink *out, const char *tag, const intern *t)
{
    open_column(c, out, tag, 16, t->atoms.n);
    for (size_t i = 0; i < t->atoms.n; i++) {
        put_element(c, t->atoms.at[i].kind, 4);
        put_element(c, t->atoms.at[i].len, 4);
        put_element(c, t->atoms.at[i].as.u, 8);
    }
    close_column(c);
}

/* Missing time columns are empty; present ones are full, though ours may end with the last
   transaction that had one. */
static void put_times(column_out *c, sink *out, const char *tag, const int64_t *v, size_t have,
                      size_t n)
{
    if (!v) n = 0;
    open_column(c, out, tag, 8, n);
    for (size_t i = 0; i < n; i++) put_element(c, i < have ? (uint64_t)v[i] : 0, 8);
    close_column(c);
}

static void put_txns(const history *h, column_out *c, sink *out)
{
    put_u64(c, out, "SESS", h->sessions.at, h->sessions.n);
    put_u32(c, out, "TSES", h->txn_session, h->txns);
    uint32_t most = 0;
    for (size_t t = 0; t < h->txns; t++)
        if (h->txn_op[t + 1] - h->txn_op[t] > most) most = h->txn_op[t + 1] - h->txn_op[t];
    open_column(c, out, "TLEN", width_for(most), h->txns);
    for (size_t t = 0; t < h->txns; t++) put_element(c, h->txn_op[t + 1] - h->txn_op[t], c->width);
    close_column(c);
    put_u64(c, out, "TLAB", h->txn_label, h->txns);
    put_raw(c, out, "TFLG", h->txn_flags, h->txns);
    put_times(c, out, "TBEG", h->txn_begin, h->begin_cap, h->txns);
    put_times(c, out, "TEND", h->txn_end, h->end_cap, h->txns);
    put_times(c, out, "TTIM", h->txn_times, 4 * h->times_cap, 4 * h->txns);
    put_times(c, out, "TSTS", h->txn_start_ts, h->start_ts_cap, h->txns);
    put_times(c, out, "TCTS", h->txn_commit_ts, h->commit_ts_cap, h->txns);
}

static void put_ops(const history *h, column_out *c, sink *out)
{
    put_raw(c, out, "OKND", h->op_kind, h->ops);
    put_u32(c, out, "OKEY", h->op_key, h->ops);
    put_u32(c, out, "OVAL", h->op_value, h->ops);
    open_column(c, out, "ATTR", 20, h->attrs.n);
    for (size_t i = 0; i < h->attrs.n; i++) {
        put_element(c, h->attrs.at[i].op, 4);
        put_element(c, h->attrs.at[i].kind, 4);
        put_element(c, h->attrs.at[i].key, 4);
        put_element(c, h->attrs.at[i].a, 8);
    }
    close_column(c);
    open_column(c, out, "RNGE", 16, h->ranges.n);
    for (size_t i = 0; i < h->ranges.n; i++) {
        const range *g = &h->ranges.at[i];
        put_element(c, g->from, 4);
        put_element(c, g->to, 4);
        put_element(c, g->rows, 4);
        put_element(c,
                    (uint64_t)(g->from_kind | g->to_kind << 1) | (uint64_t)g->done << 2 |
                        (uint64_t)g->inclusive << 3 | (uint64_t)g->reverse << 4,
                    4);
    }
    close_column(c);
    put_u32(c, out, "ROWK", h->row_key.at, h->row_key.n);
    put_u32(c, out, "ROWV", h->row_value.at, h->row_value.n);
}

void native_bin_write(const history *h, sink *out)
{
    column_out *c = mem_get(out->mem, sizeof *c);
    strbuf_str(&out->buf, MAGIC);
    put_bytes(out, 1, 4);
    put_bytes(out, 0, 4);
    uint32_t head[4] = {(uint32_t)h->init, h->init_scalar, h->init_unknown, h->declared_sessions};
    put_u32(c, out, "HEAD", head, 4);
    put_raw(c, out, "BYTE", h->bytes.at, h->bytes.n);
    put_u32(c, out, "ELEM", h->elements.at, h->elements.n);
    put_atoms(c, out, "KEYS", &h->keys);
    put_atoms(c, out, "BNDS", &h->bounds);
    put_atoms(c, out, "VALS", &h->values);
    open_column(c, out, "INIT", 8, h->init_map.n);
    for (size_t i = 0; i < h->init_map.n; i++) {
        put_element(c, h->init_map.at[i].key, 4);
        put_element(c, h->init_map.at[i].value, 4);
    }
    close_column(c);
    put_txns(h, c, out);
    put_ops(h, c, out);
    open_column(c, out, "XTRA", 12, h->extras.n);
    for (size_t i = 0; i < h->extras.n; i++) {
        put_element(c, h->extras.at[i].txn, 4);
        put_element(c, h->extras.at[i].name, 4);
        put_element(c, h->extras.at[i].text, 4);
    }
    close_column(c);
    open_column(c, out, "MARK", 8, h->marks.n);
    for (size_t i = 0; i < h->marks.n; i++) {
        put_element(c, h->marks.at[i].before, 4);
        put_element(c, h->marks.at[i].text, 4);
    }
    close_column(c);
    open_column(c, out, "END ", 0, 0);
    close_column(c);
    mem_put(out->mem, c);
}

/* --- reading ------------------------------------------------------------------------------- */

typedef struct column_in {
    source *s;
    unsigned width;
    uint64_t left; /* bytes */
    uint64_t count;
    uint64_t sum;
    const unsigned char *p, *end; /* of the current block */
} column_in;

static void need(source *s, size_t n)
{
    if (!source_need(s, n)) source_fail(s, s->n, "the file ends early");
}

static uint64_t take_integer(source *s, unsigned width)
{
    need(s, width);
    uint64_t v = load((const unsigned char *)s->at + s->pos, width);
    s->pos += width;
    return v;
}

static void enter(column_in *c, source *s, const char *tag, unsigned lo, unsigned hi)
{
    need(s, 16);
    if (memcmp(s->at + s->pos, tag, 4)) source_fail(s, s->pos, "expected column \"%s\"", tag);
    s->pos += 4;
    c->s = s;
    c->width = (unsigned)take_integer(s, 4);
    if (c->width < lo || c->width > hi || (lo == 1 && c->width == 3) ||
        (lo == 1 && c->width > 4 && c->width < 8))
        source_fail(s, s->pos - 4, "column \"%s\" with elements of %u bytes", tag, c->width);
    c->count = take_integer(s, 8);
    if (c->count > UINT32_MAX && memcmp(tag, "BYTE", 4))
        source_fail(s, s->pos - 8, "column \"%s\" is too long", tag);
    if (c->width && c->count > UINT64_MAX / 32)
        source_fail(s, s->pos - 8, "column \"%s\" is too long", tag);
    c->left = c->count * c->width;
    c->sum = tag_of(tag);
    c->p = c->end = NULL;
}

/* The next block of the column's bytes; the last one is shorter. */
static void next_block(column_in *c)
{
    source *s = c->s;
    assert(c->left);
    size_t n = c->left < BLOCK ? (size_t)c->left : BLOCK;
    guard_tick(s->guard);
    need(s, n);
    c->p = (const unsigned char *)s->at + s->pos;
    c->end = c->p + n;
    c->sum = hash_pair(c->sum, hash_bytes(c->p, n, 0));
    c->left -= n;
    s->pos += n;
}

static uint64_t element(column_in *c, unsigned width)
{
    if ((size_t)(c->end - c->p) >= width) {
        uint64_t v = load(c->p, width);
        c->p += width;
        return v;
    }
    uint64_t v = 0;
    for (unsigned i = 0; i < width; i++) {
        if (c->p == c->end) next_block(c);
        v |= (uint64_t)*c->p++ << (8 * i);
    }
    return v;
}

static void leave(column_in *c)
{
    source *s = c->s;
    assert(!c->left && c->p == c->end);
    /* Taking may move the buffer, so the place is counted from its end. */
    if (take_integer(s, 8) != c->sum)
        source_fail(s, s->pos - 8, "wrong checksum: the preceding column is damaged");
}

/* Reads a whole column of unsigned integers into a growing array of 4-byte elements. */
typedef VEC(uint32_t) vec_u32;
typedef VEC(uint64_t) vec_u64;

static void get_u32(history *h, source *s, const char *tag, uint32_t **at, size_t *n, size_t *cap)
{
    column_in c;
    vec_u32 v = {0};
    enter(&c, s, tag, 1, 4);
    while (v.n < c.count) {
        if (c.p == c.end) next_block(&c);
        size_t fit = (size_t)(c.end - c.p) / c.width;
        vec_reserve(&h->mem, &v, fit + 1);
        uint32_t *out = v.at + v.n;
        const unsigned char *p = c.p;
        if (c.width == 1)
            for (size_t i = 0; i < fit; i++) out[i] = p[i];
        else if (c.width == 2)
            for (size_t i = 0; i < fit; i++) out[i] = p[2 * i] | (uint32_t)p[2 * i + 1] << 8;
        else
            for (size_t i = 0; i < fit; i++) out[i] = (uint32_t)load(p + 4 * i, 4);
        v.n += fit;
        c.p += fit * c.width;
        if (v.n < c.count && c.p < c.end) v.at[v.n++] = (uint32_t)element(&c, c.width);
    }
    leave(&c);
    vec_trim(&h->mem, &v);
    *at = v.at;
    *n = v.n;
    if (cap) *cap = v.cap;
}

static void get_u64(history *h, source *s, const char *tag, unsigned lo, uint64_t **at, size_t *n)
{
    column_in c;
    vec_u64 v = {0};
    enter(&c, s, tag, lo, 8);
    while (v.n < c.count) vec_push(&h->mem, &v, element(&c, c.width));
    leave(&c);
    vec_trim(&h->mem, &v);
    *at = v.at;
    *n = v.n;
}

static void get_raw(history *h, source *s, const char *tag, void **at, size_t *n, size_t *cap)
{
    column_in c;
    VEC(char) v = {0};
    enter(&c, s, tag, 1, 1);
    while (v.n < c.count) {
        if (c.p == c.end) next_block(&c);
        size_t fit = (size_t)(c.end - c.p);
        vec_reserve(&h->mem, &v, fit);
        memcpy(v.at + v.n, c.p, fit);
        v.n += fit;
        c.p = c.end;
    }
    leave(&c);
    vec_trim(&h->mem, &v);
    *at = v.at;
    *n = v.n;
    if (cap) *cap = v.cap;
}

static void get_atoms(history *h, source *s, const char *tag, intern *t, bool is_key)
{
    column_in c;
    enter(&c, s, tag, 16, 16);
    for (uint64_t i = 0; i < c.count; i++) {
        atom a;
        a.kind = (uint32_t)element(&c, 4);
        a.len = (uint32_t)element(&c, 4);
        a.as.u = element(&c, 8);
        bool text = a.kind == ATOM_STR || a.kind == ATOM_BIG, list = a.kind == ATOM_LIST;
        bool integer = a.kind == ATOM_INT || a.kind == ATOM_UINT;
        size_t pool = text ? h->bytes.n : h->elements.n;
        bool bad = a.kind > ATOM_LIST || a.kind == ATOM_NULL;
        if (is_key && a.kind != ATOM_STR && !integer) bad = true;
        if ((text || list) && (a.as.offset > pool || a.len > pool - a.as.offset)) bad = true;
        if (!text && !list && a.len) bad = true;
        if (a.kind == ATOM_UINT && !(a.as.u >> 63)) bad = true;
        /* Small integers have no entry: they are their own id. */
        if (!is_key && a.kind == ATOM_INT && a.as.i >= 0 && a.as.u < VALUE_TABLE) bad = true;
        if (list && !a.len) bad = true;
        if (a.kind == ATOM_BOOL && a.as.u > 1) bad = true;
        if (a.kind == ATOM_REAL && a.as.r - a.as.r != 0) bad = true;
        if (bad)
            source_fail(s, s->pos, "column \"%s\": entry %llu is wrong", tag,
                        (unsigned long long)i);
        vec_push(&h->mem, &t->atoms, a);
    }
    leave(&c);
}

static bool value_ok(const history *h, value_id v)
{
    return v <= VALUE_EMPTY || v == VALUE_UNKNOWN || v - VALUE_TABLE - 2 < h->values.atoms.n;
}

static bool string_ok(const history *h, value_id v)
{
    return v > VALUE_EMPTY && v != VALUE_UNKNOWN && v - VALUE_TABLE - 2 < h->values.atoms.n &&
           value_atom(h, v).kind == ATOM_STR;
}

static bool label_ok(const history *h, label l)
{
    if (!(l >> 63)) return true;
    uint64_t v = l & ~((uint64_t)1 << 63);
    if (v > UINT32_MAX || v <= VALUE_EMPTY || v == VALUE_UNKNOWN) return false;
    if ((value_id)v - VALUE_TABLE - 2 >= h->values.atoms.n) return false;
    unsigned kind = value_atom(h, (value_id)v).kind;
    return kind == ATOM_STR || kind == ATOM_UINT || kind == ATOM_INT;
}

static void get_times(history *h, source *s, const char *tag, int64_t **at, size_t *cap, size_t per)
{
    uint64_t *v;
    size_t n;
    get_u64(h, s, tag, 8, &v, &n);
    if (n && n != h->txns * per) source_fail(s, s->pos, "column \"%s\" has the wrong length", tag);
    memcpy(at, &v, sizeof v); /* same representation, other signedness */
    *cap = n / per;
}

static void get_txns(history *h, source *s)
{
    size_t n, cap;
    uint64_t *labels;
    get_u64(h, s, "SESS", 1, &labels, &n);
    h->sessions.at = labels;
    h->sessions.n = h->sessions.cap = n;
    get_u32(h, s, "TSES", &h->txn_session, &h->txns, &h->txns_cap);
    uint32_t *len;
    get_u32(h, s, "TLEN", &len, &n, NULL);
    if (n != h->txns) source_fail(s, s->pos, "column \"TLEN\" has the wrong length");
    h->txn_op = mem_array(&h->mem, op_id, h->txns + 1);
    uint64_t sum = 0;
    for (size_t t = 0; t < n; t++) {
        h->txn_op[t] = (op_id)sum;
        sum += len[t];
        if (sum >= UINT32_MAX) source_fail(s, s->pos, "more than 2^32 operations");
    }
    h->txn_op[n] = (op_id)sum;
    mem_put(&h->mem, len);
    get_u64(h, s, "TLAB", 1, &h->txn_label, &n);
    if (n != h->txns) source_fail(s, s->pos, "column \"TLAB\" has the wrong length");
    void *flags;
    get_raw(h, s, "TFLG", &flags, &n, &cap);
    h->txn_flags = flags;
    if (n != h->txns) source_fail(s, s->pos, "column \"TFLG\" has the wrong length");
    get_times(h, s, "TBEG", &h->txn_begin, &h->begin_cap, 1);
    get_times(h, s, "TEND", &h->txn_end, &h->end_cap, 1);
    get_times(h, s, "TTIM", &h->txn_times, &h->times_cap, 4);
    get_times(h, s, "TSTS", &h->txn_start_ts, &h->start_ts_cap, 1);
    get_times(h, s, "TCTS", &h->txn_commit_ts, &h->commit_ts_cap, 1);
    for (size_t t = 0; t < h->txns; t++) {
        unsigned f = h->txn_flags[t];
        if (h->txn_session[t] >= h->sessions.n || !label_ok(h, h->txn_label[t]) ||
            (f & TXN_STATUS_MASK) > TXN_UNKNOWN ||
            ((f & TXN_NO_BEGIN_RETURN) && !(f & TXN_HAS_TIMES)) ||
            ((f & TXN_HAS_BEGIN) && !h->begin_cap) || ((f & TXN_HAS_END) && !h->end_cap) ||
            ((f & TXN_HAS_TIMES) && !h->times_cap) ||
            ((f & TXN_HAS_START_TS) && !h->start_ts_cap) ||
            ((f & TXN_HAS_COMMIT_TS) && !h->commit_ts_cap))
            source_fail(s, s->pos, "transaction %zu is wrong", t);
        if (f & TXN_NO_BEGIN_RETURN) h->txn_times[4 * t + 1] = h->txn_times[4 * t];
    }
    for (size_t i = 0; i < h->sessions.n; i++)
        if (!label_ok(h, h->sessions.at[i])) source_fail(s, s->pos, "session %zu is wrong", i);
}

static void get_attrs(history *h, source *s)
{
    column_in c;
    enter(&c, s, "ATTR", 20, 20);
    for (uint64_t i = 0; i < c.count; i++) {
        attr a;
        a.op = (op_id)element(&c, 4);
        a.kind = (uint32_t)element(&c, 4);
        a.key = (uint32_t)element(&c, 4);
        a.a = element(&c, 8);
        bool bad = a.op >= h->ops || a.kind > ATTR_EXTRA || !(h->op_kind[a.op] & OP_ATTR) ||
                   (i && h->attrs.at[i - 1].op > a.op);
        if (!bad && (a.kind == ATTR_FROM || a.kind == ATTR_VSET || a.kind == ATTR_ROW_FROM))
            bad = !label_ok(h, a.a);
        if (!bad && (a.kind == ATTR_VSET || a.kind == ATTR_VSET_INIT))
            bad = a.key >= h->keys.atoms.n;
        if (!bad && a.kind == ATTR_EXTRA)
            bad = !string_ok(h, a.key) || a.a > UINT32_MAX || !string_ok(h, (value_id)a.a);
        if (bad) source_fail(s, s->pos, "attribute %llu is wrong", (unsigned long long)i);
        vec_push(&h->mem, &h->attrs, a);
    }
    leave(&c);
}

static void get_ranges(history *h, source *s)
{
    column_in c;
    uint64_t row = 0;
    enter(&c, s, "RNGE", 16, 16);
    for (uint64_t i = 0; i < c.count; i++) {
        range g = {0};
        g.from = (uint32_t)element(&c, 4);
        g.to = (uint32_t)element(&c, 4);
        g.rows = (uint32_t)element(&c, 4);
        uint32_t f = (uint32_t)element(&c, 4);
        g.from_kind = f & 1;
        g.to_kind = f >> 1 & 1;
        g.done = f >> 2 & 1;
        g.inclusive = f >> 3 & 1;
        g.reverse = f >> 4 & 1;
        g.first_row = (uint32_t)row;
        row += g.rows;
        if ((g.from_kind && g.from >= h->bounds.atoms.n) ||
            (g.to_kind && g.to >= h->bounds.atoms.n) || f >> 5 || row >= UINT32_MAX)
            source_fail(s, s->pos, "range %llu is wrong", (unsigned long long)i);
        vec_push(&h->mem, &h->ranges, g);
    }
    leave(&c);
}

static bool is_vset(uint32_t kind)
{
    return kind == ATTR_VSET || kind == ATTR_VSET_INIT;
}

static bool is_row_from(uint32_t kind)
{
    return kind == ATTR_ROW_FROM || kind == ATTR_ROW_FROM_INIT;
}

/* Whether the attributes of operation o, which are at[0] to at[n - 1], can be said in text: a call
   and its return side by side, one version set, and one list with a writer for each row. */
static bool attrs_in_order(const history *h, size_t o, const attr *at, size_t n)
{
    unsigned kind = h->op_kind[o] & OP_KIND_MASK;
    uint32_t rows = kind == OP_SCAN || kind == OP_ITER ? h->ranges.at[h->op_key[o]].rows : 0;
    uint32_t next_row = 0;
    bool had_vset = false;
    for (size_t i = 0; i < n; i++) {
        uint32_t before = i ? at[i - 1].kind : ATTR_EXTRA;
        if ((at[i].kind == ATTR_RETURN) != (before == ATTR_CALL)) return false;
        if (is_vset(at[i].kind) && !is_vset(before)) {
            if (had_vset) return false;
            had_vset = true;
        }
        if (is_row_from(at[i].kind) && at[i].key != next_row++) return false;
        bool row_list_ends = is_row_from(before) && !is_row_from(at[i].kind);
        if (row_list_ends && next_row != rows) return false;
    }
    return (!n || at[n - 1].kind != ATTR_CALL) && (!next_row || next_row == rows);
}

static void get_ops(history *h, source *s)
{
    size_t n;
    void *kinds;
    get_raw(h, s, "OKND", &kinds, &h->ops, &h->ops_cap);
    h->op_kind = kinds;
    get_u32(h, s, "OKEY", &h->op_key, &n, NULL);
    if (n != h->ops) source_fail(s, s->pos, "column \"OKEY\" has the wrong length");
    get_u32(h, s, "OVAL", &h->op_value, &n, NULL);
    if (n != h->ops || h->txn_op[h->txns] != n)
        source_fail(s, s->pos, "column \"OVAL\" has the wrong length");
    get_attrs(h, s);
    get_ranges(h, s);
    get_u32(h, s, "ROWK", &h->row_key.at, &h->row_key.n, &h->row_key.cap);
    get_u32(h, s, "ROWV", &h->row_value.at, &h->row_value.n, &h->row_value.cap);
    size_t rows = h->ranges.n
                      ? h->ranges.at[h->ranges.n - 1].first_row + h->ranges.at[h->ranges.n - 1].rows
                      : 0;
    if (h->row_key.n != rows || h->row_value.n != rows)
        source_fail(s, s->pos, "rows do not add up");
    for (size_t i = 0; i < rows; i++)
        if (h->row_key.at[i] >= h->keys.atoms.n || !value_ok(h, h->row_value.at[i]))
            source_fail(s, s->pos, "row %zu is wrong", i);
    size_t attrs = 0, next_range = 0;
    for (size_t o = 0; o < h->ops; o++) {
        unsigned kind = h->op_kind[o] & OP_KIND_MASK;
        bool is_range = kind == OP_SCAN || kind == OP_ITER;
        bool bad = kind > OP_ITER || h->op_kind[o] & 0x80 || !value_ok(h, h->op_value[o]);
        /* Each range belongs to one operation, in order: rows are then partitioned. */
        if (!bad && is_range) bad = h->op_key[o] != next_range++ || h->ranges.n < next_range;
        if (!bad && !is_range) bad = h->op_key[o] >= h->keys.atoms.n;
        value_id v = h->op_value[o];
        if (!bad && (kind == OP_WRITE || kind == OP_APPEND))
            bad = v == VALUE_NULL || v == VALUE_UNKNOWN || value_atom(h, v).kind == ATOM_LIST;
        if (!bad && h->op_kind[o] & OP_ATTR) {
            size_t first = attrs;
            while (attrs < h->attrs.n && h->attrs.at[attrs].op == o) attrs++;
            bad = attrs == first || !attrs_in_order(h, o, h->attrs.at + first, attrs - first);
        }
        if (bad) source_fail(s, s->pos, "operation %zu is wrong", o);
    }
    if (next_range != h->ranges.n) source_fail(s, s->pos, "ranges without an operation");
}

void native_bin_read(history *h, source *s)
{
    s->binary = true;
    need(s, 16);
    if (memcmp(s->at + s->pos, MAGIC, 8)) source_fail(s, s->pos, "not a ratel-bin file");
    s->pos += 8;
    uint64_t version = take_integer(s, 4);
    if (version != 1)
        source_fail(s, s->pos - 4, "ratel-bin version %u; this build reads 1", (unsigned)version);
    take_integer(s, 4);
    uint32_t *head;
    size_t n;
    get_u32(h, s, "HEAD", &head, &n, NULL);
    if (n != 4 || head[0] > INIT_MAP || head[2] > 1) source_fail(s, s->pos, "wrong header");
    h->init = (enum init_kind)head[0];
    h->init_scalar = head[1];
    h->init_unknown = head[2];
    h->declared_sessions = head[3];
    void *bytes;
    get_raw(h, s, "BYTE", &bytes, &h->bytes.n, &h->bytes.cap);
    h->bytes.at = bytes;
    get_u32(h, s, "ELEM", &h->elements.at, &h->elements.n, &h->elements.cap);
    get_atoms(h, s, "KEYS", &h->keys, true);
    get_atoms(h, s, "BNDS", &h->bounds, true);
    get_atoms(h, s, "VALS", &h->values, false);
    for (size_t i = 0; i < h->elements.n; i++)
        if (!value_ok(h, h->elements.at[i]) || value_atom(h, h->elements.at[i]).kind == ATOM_LIST)
            source_fail(s, s->pos, "list element %zu is wrong", i);
    if (!value_ok(h, h->init_scalar)) source_fail(s, s->pos, "wrong initial value");
    column_in c;
    enter(&c, s, "INIT", 8, 8);
    for (uint64_t i = 0; i < c.count; i++) {
        init_entry e;
        e.key = (key_id)element(&c, 4);
        e.value = (value_id)element(&c, 4);
        if (e.key >= h->keys.atoms.n || !value_ok(h, e.value))
            source_fail(s, s->pos, "initial entry %llu is wrong", (unsigned long long)i);
        vec_push(&h->mem, &h->init_map, e);
    }
    leave(&c);
    get_txns(h, s);
    get_ops(h, s);
    enter(&c, s, "XTRA", 12, 12);
    for (uint64_t i = 0; i < c.count; i++) {
        extra e;
        e.txn = (uint32_t)element(&c, 4);
        e.name = (value_id)element(&c, 4);
        e.text = (value_id)element(&c, 4);
        uint32_t before = i ? h->extras.at[i - 1].txn : NO_ID;
        bool late = before != NO_ID && (e.txn == NO_ID || before > e.txn); /* the header's first */
        if ((e.txn != NO_ID && e.txn >= h->txns) || late || !string_ok(h, e.name) ||
            !string_ok(h, e.text))
            source_fail(s, s->pos, "field %llu is wrong", (unsigned long long)i);
        vec_push(&h->mem, &h->extras, e);
    }
    leave(&c);
    enter(&c, s, "MARK", 8, 8);
    for (uint64_t i = 0; i < c.count; i++) {
        mark m;
        m.before = (txn_id)element(&c, 4);
        m.text = (value_id)element(&c, 4);
        if (m.before > h->txns || !string_ok(h, m.text) ||
            (i && h->marks.at[i - 1].before > m.before))
            source_fail(s, s->pos, "mark %llu is wrong", (unsigned long long)i);
        vec_push(&h->mem, &h->marks, m);
    }
    leave(&c);
    enter(&c, s, "END ", 0, 0);
    leave(&c);
    if (source_need(s, 1)) source_fail(s, s->pos, "bytes after the end");
    mem_put(&h->mem, head);
}
