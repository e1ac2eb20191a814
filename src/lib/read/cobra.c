/*
 * cobra.c - Cobra's client logs, a directory of T<thread>.log (doc/formats/others.md).
 *
 * Each log is one session: records of a letter and big-endian 64-bit numbers, no header.  S and C
 * may carry a timestamp (17 bytes instead of 9), which only trying tells: the variant under which
 * the first transaction is well-formed is taken for the whole log.
 *
 * Values.  A version is (write_id, key, value_hash).  An ordinary write_id names it alone, so the
 * value is that number, unsigned.  In VeriStrong's general variant every write_id is 0xabddefee
 * and the value_hash is all there is: the value is then the string "#" and 16 hex digits of it.
 * Being a string it can never equal a write_id, so logs may even mix the variants.
 * Initial state.  Reads of INIT (0xbebeebee), of NULL (0xdeadbeef), of "missing" and of the
 * garbage collector's markers are reads of null, and every key is absent at first: null is the one
 * value that no write can write.  The cost: INIT comes back as NULL when written again.
 * A W or R with the id "delete" is a delete, or a read of nothing.
 *
 * The writer id inside R is not used: it adds nothing where write ids are unique, and is the same
 * constant everywhere where they are not.  A read that names a write of no log is left as it is, a
 * read of a value nobody wrote.  A record cut off is an error; a transaction without its C at a
 * clean end has an unknown outcome (the client was killed); aborted ones are never logged, but an
 * A record is understood.
 */
#include "base/map.h"
#include "read/formats.h"
#include "read/integer_only.h"

#define ID_INIT 0xbebeebeeu
#define ID_NULL 0xdeadbeefu
#define ID_MISSING 0xadeafbeeu
#define ID_DELETE 0xabcdefabu
#define ID_GENERAL 0xabddefeeu
#define ID_GC_1 0x23332333u
#define ID_GC_2 0x66666666u
#define LONGEST 33
#define AHEAD 32

static uint64_t big64(const char *at)
{
    const unsigned char *p = (const unsigned char *)at;
    return (uint64_t)p[0] << 56 | (uint64_t)p[1] << 48 | (uint64_t)p[2] << 40 |
           (uint64_t)p[3] << 32 | (uint64_t)p[4] << 24 | (uint64_t)p[5] << 16 |
           (uint64_t)p[6] << 8 | (uint64_t)p[7];
}

/* By table: the kinds follow each other at random, which no branch predictor likes. */
static size_t record_length(char kind, bool stamped)
{
    static const unsigned char length[256] = {
        ['S'] = 9, ['C'] = 9, ['A'] = 9, ['W'] = 25, ['R'] = LONGEST};
    size_t n = length[(unsigned char)kind];
    return n == 9 && stamped ? 17 : n;
}

/* --- names and variants -------------------------------------------------------------------- */

bool cobra_member(const char *name, uint64_t *number)
{
    static const char *const tails[] = {".log", ".log.gz", ".log.zst"};
    if (*name != 'T') return false;
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        size_t tail = strlen(tails[i]);
        if (n <= tail || strcmp(name + n - tail, tails[i]) != 0) continue;
        uint64_t v = 0;
        const char *p = name + 1, *end = name + n - tail;
        bool numeric = p < end && end - p < 19;
        for (; p < end && numeric; p++) {
            numeric = *p >= '0' && *p <= '9';
            v = v * 10 + (uint64_t)(*p - '0');
        }
        *number = numeric ? v : UINT64_MAX;
        return true;
    }
    return false;
}

/* Whether the bytes can be read as whole records from an S to its C, as far as they reach. */
static bool chain(const char *p, size_t n, bool stamped)
{
    const char *end = p + n, *start = p;
    do {
        size_t len = record_length(*p, stamped);
        if (!len || (*p == 'S') != (p == start)) return false;
        if ((size_t)(end - p) < len) return true;
        if (*p == 'C' || *p == 'A') return !memcmp(p + 1, start + 1, 8);
        p += len;
    } while (p < end);
    return true;
}

int cobra_variant(const char *p, size_t n)
{
    if (!n || *p != 'S') return -1;
    if (n < 9) return -1; /* too little to be taken for anything */
    return chain(p, n, false) ? 0 : chain(p, n, true) ? 1 : -1;
}

/* --- reading ------------------------------------------------------------------------------- */

static value_id general_value(history *h, uint64_t hash)
{
    char text[17];
    text[0] = '#';
    for (int i = 0; i < 16; i++) text[1 + i] = "0123456789abcdef"[hash >> (60 - 4 * i) & 15];
    return value_str(h, text, sizeof text);
}

static value_id read_value(history *h, uint64_t writer, uint64_t id, uint64_t hash)
{
    switch (id) {
    case ID_INIT:
    case ID_NULL:
    case ID_MISSING:
    case ID_DELETE: return VALUE_NULL;
    case ID_GENERAL: return general_value(h, hash);
    case ID_GC_1:
    case ID_GC_2: return writer == ID_INIT ? VALUE_NULL : value_uint(h, id);
    default: return value_uint(h, id);
    }
}

static void write_op(history *h, source *s, const char *p)
{
    uint64_t id = big64(p + 1);
    key_id key = key_uint(h, big64(p + 9));
    switch (id) {
    case ID_INIT:
    case ID_NULL:
    case ID_MISSING:
        source_fail(s, s->pos + 1, "a write cannot have the reserved id 0x%llx",
                    (unsigned long long)id);
    case ID_DELETE: history_op(h, OP_DELETE, key, VALUE_NULL); break;
    case ID_GENERAL: history_op(h, OP_WRITE, key, general_value(h, big64(p + 17))); break;
    default: history_op(h, OP_WRITE, key, value_uint(h, id)); break;
    }
}

/* Looks a few records ahead, so that their write ids are in the cache when their turn comes. */
static size_t warm(const history *h, const source *s, bool stamped)
{
    uint64_t ids[AHEAD];
    size_t n = 0, at = s->pos;
    while (n < AHEAD && s->n - at >= LONGEST) {
        size_t len = record_length(s->at[at], stamped);
        if (!len) break;
        ids[n] = big64(s->at + at + (s->at[at] == 'R' ? 9 : 1));
        value_soon(h, ids[n++]);
        at += len;
    }
    for (size_t i = 0; i < n; i++) value_sooner(h, ids[i]);
    return n;
}

static void read_log(history *h, source *s, label session)
{
    s->binary = true;
    history_declare_session(h, session);
    source_need(s, 4096);
    bool stamped = cobra_variant(s->at + s->pos, s->n - s->pos) == 1;
    bool open = false;
    uint64_t id = 0;
    for (size_t warmed = 0;; warmed--) {
        if (s->n - s->pos < LONGEST) source_need(s, LONGEST);
        if (!warmed) warmed = warm(h, s, stamped) + 1;
        size_t have = s->n - s->pos;
        if (!have) break;
        const char *p = s->at + s->pos;
        size_t len = record_length(*p, stamped);
        if (!len)
            source_fail(s, s->pos, "expected a record S, C, A, W or R, found the byte 0x%02x",
                        (unsigned)(unsigned char)*p);
        if (have < len) source_fail(s, s->n, "the log ends inside a record %c", *p);
        if (*p == 'S') {
            if (open)
                source_fail(s, s->pos, "transaction 0x%llx starts inside transaction 0x%llx",
                            (unsigned long long)big64(p + 1), (unsigned long long)id);
            open = true;
            id = big64(p + 1);
            history_begin(h);
            history_session(h, session);
            history_label(h, label_uint(h, id));
            if (stamped) history_time(h, TXN_HAS_BEGIN, (int64_t)big64(p + 9));
        } else if (!open) {
            source_fail(s, s->pos, "record %c outside a transaction", *p);
        } else if (*p == 'R') {
            value_id v = read_value(h, big64(p + 1), big64(p + 9), big64(p + 25));
            history_op(h, OP_READ, key_uint(h, big64(p + 17)), v);
        } else if (*p == 'W') {
            write_op(h, s, p);
        } else {
            if (big64(p + 1) != id)
                source_fail(s, s->pos + 1, "transaction 0x%llx ends with the id 0x%llx",
                            (unsigned long long)id, (unsigned long long)big64(p + 1));
            if (stamped) history_time(h, TXN_HAS_END, (int64_t)big64(p + 9));
            history_end(h, *p == 'C' ? TXN_COMMITTED : TXN_ABORTED);
            open = false;
        }
        s->pos += len;
    }
    if (open) history_end(h, TXN_UNKNOWN);
}

void cobra_read(history *h, source *s)
{
    read_log(h, s, label_uint(h, 0));
}

void cobra_read_dir(history *h, const read_dir *d, source *s)
{
    uint64_t number, before = UINT64_MAX;
    for (size_t i = 0; i < d->members; i++) {
        if (!cobra_member(d->names[i], &number)) continue; /* .debug, .error and strangers */
        source_open_member(s, d, i);
        /* T1 and T01 are two sessions all the same */
        bool plain_number = number != UINT64_MAX && number != before;
        label session =
            plain_number ? label_uint(h, number) : label_str(h, d->names[i], strlen(d->names[i]));
        before = number;
        read_log(h, s, session);
    }
}

/* --- writing ------------------------------------------------------------------------------- */

/* What is decided once for the directory. */
typedef struct plan {
    plain base;       /* keys, and transactions of unknown outcome */
    bool same_labels; /* else transaction t is t + 1 */
    bool same_values; /* else values are numbered by their first operation */
    bool stamped;
    id_map op_of; /* (key, value) -> operation: the write, or else the first read */
} plan;

static bool is_magic(uint64_t v)
{
    return v == ID_INIT || v == ID_NULL || v == ID_MISSING || v == ID_DELETE || v == ID_GENERAL ||
           v == ID_GC_1 || v == ID_GC_2;
}

static bool general_hash(const history *h, atom a, uint64_t *hash)
{
    if (a.kind != ATOM_STR || a.len != 17 || *atom_bytes(h, a) != '#') return false;
    *hash = 0;
    for (int i = 1; i < 17; i++) {
        char c = atom_bytes(h, a)[i];
        if (c >= '0' && c <= '9')
            *hash = *hash << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            *hash = *hash << 4 | (uint64_t)(c - 'a' + 10);
        else
            return false;
    }
    return true;
}

/* Read or write of a value that a log can hold, the initial state and absence apart. */
static bool has_number(const history *h, op_id o)
{
    value_id v = h->op_value[o];
    return op_kind_of(h, o) <= OP_WRITE && !(h->op_kind[o] & OP_FAILED) && v != VALUE_NULL &&
           v != VALUE_UNKNOWN && value_atom(h, v).kind != ATOM_LIST &&
           (op_kind_of(h, o) == OP_WRITE || v != h->key_init[h->op_key[o]]);
}

static uint64_t version_of(const history *h, op_id o)
{
    return map_pair(h->op_key[o], h->op_value[o]);
}

/* Writes enter the table before reads, those that took place before those that did not. */
static void fill_table(plan *p, const history *h, mem *m)
{
    for (int round = 0; round < 3; round++)
        for (txn_id t = 0; t < h->txns; t++) {
            bool aborted = plain_status(&p->base, t) == TXN_ABORTED;
            if (round < 2 && aborted != (round == 1)) continue;
            for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
                if (!has_number(h, o) || (op_kind_of(h, o) == OP_WRITE) != (round < 2)) continue;
                uint32_t *known = id_map_at(m, &p->op_of, version_of(h, o));
                if (*known == MAP_NONE) *known = o;
            }
        }
}

/* Write ids must be unique over all keys: do the values keep that promise? */
static bool unique_ids(const plan *p, const history *h, mem *m)
{
    key_set seen = {0};
    bool unique = true;
    for (op_id o = 0; o < h->ops && unique; o++) {
        uint64_t v;
        if (!has_number(h, o) || id_map_get(&p->op_of, version_of(h, o)) != o) continue;
        if (general_hash(h, value_atom(h, h->op_value[o]), &v)) continue;
        unique = plain_uint(value_atom(h, h->op_value[o]), &v) && !is_magic(v) &&
                 key_set_add(m, &seen, h->op_value[o]);
    }
    key_set_free(m, &seen);
    return unique;
}

static plan *make_plan(const history *h, sink *out)
{
    plan *p = mem_zeroed(out->mem, sizeof *p);
    uint64_t told = out->lost_bits, v;
    plain_open(&p->base, h, out, PLAIN_EMPTY);
    /* Logs hold absence, deletes and times; what else plain formats lose, they lose as well. */
    out->lost_bits &=
        ~((uint64_t)1 << LOST_NULLS | (uint64_t)1 << LOST_DELETES | (uint64_t)1 << LOST_VALUES |
          (uint64_t)1 << LOST_TIMES | (uint64_t)1 << LOST_INIT | (uint64_t)1 << LOST_UNKNOWN);
    out->lost_bits |= told;
    sink_keep_ops(out, LOST_NULLS);
    sink_keep_ops(out, LOST_DELETES);
    for (key_id k = 0; k < history_keys(h); k++)
        if (h->key_init[k] != VALUE_NULL) sink_lose(out, LOST_INIT);
    if (h->init_unknown) sink_lose(out, LOST_INIT);
    p->same_labels = true;
    p->stamped = h->txns > 0;
    for (txn_id t = 0; t < h->txns; t++) {
        if (!plain_uint(label_atom(h, h->txn_label[t]), &v) || is_magic(v)) p->same_labels = false;
        unsigned both = TXN_HAS_BEGIN | TXN_HAS_END, flags = h->txn_flags[t];
        if ((flags & both) != both) p->stamped = false;
        if (txn_status_of(h, t) == TXN_ABORTED) sink_lose_txn(out, h, t, LOST_ABORTED);
    }
    if (!p->same_labels) sink_lose(out, LOST_LABELS);
    if (h->txn_times || h->txn_start_ts || h->txn_commit_ts ||
        ((h->txn_begin || h->txn_end) && !p->stamped))
        sink_lose(out, LOST_TIMES);
    fill_table(p, h, out->mem);
    p->same_values = unique_ids(p, h, out->mem);
    if (!p->same_values) sink_lose(out, LOST_VALUES);
    return p;
}

static void put(sink *out, uint64_t v)
{
    char b[8];
    for (int i = 0; i < 8; i++) b[i] = (char)(v >> (56 - 8 * i));
    strbuf_add(&out->buf, b, 8);
}

static uint64_t txn_number(const plan *p, const history *h, txn_id t)
{
    return p->same_labels ? label_atom(h, h->txn_label[t]).as.u : (uint64_t)t + 1;
}

/* The transaction of an operation. */
static void put_op(const plan *p, const history *h, op_id o, sink *out)
{
    enum op_kind kind = op_kind_of(h, o);
    uint64_t writer = 0, id, hash = 0, key;
    if (kind > OP_DELETE || (h->op_kind[o] & OP_FAILED)) return;
    key = p->base.same_keys ? key_atom(h, h->op_key[o]).as.u : h->op_key[o];
    if (has_number(h, o)) {
        op_id first = id_map_get(&p->op_of, version_of(h, o));
        bool general = general_hash(h, value_atom(h, h->op_value[o]), &hash);
        id = general          ? ID_GENERAL
             : p->same_values ? value_atom(h, h->op_value[o]).as.u
                              : ((uint64_t)1 << 40) + first;
        if (!general) hash = id;
        /* a value nobody wrote: no transaction has the number 0 unless the input says so */
        writer = general                            ? ID_GENERAL
                 : op_kind_of(h, first) == OP_WRITE ? txn_number(p, h, txn_of_op(h, first))
                                                    : 0;
    } else if (kind == OP_DELETE) {
        id = ID_DELETE;
    } else if (h->op_value[o] == VALUE_NULL && h->key_init[h->op_key[o]] == VALUE_NULL) {
        writer = id = ID_NULL;
    } else if (h->op_value[o] == VALUE_NULL) {
        writer = id = ID_DELETE;
    } else if (h->op_value[o] == h->key_init[h->op_key[o]]) {
        writer = id = ID_INIT;
    } else {
        return; /* an unknown result or a list: noted as lost */
    }
    strbuf_char(&out->buf, kind == OP_READ ? 'R' : 'W');
    if (kind == OP_READ) put(out, writer);
    put(out, id);
    put(out, key);
    put(out, hash);
}

uint32_t cobra_members(const history *h)
{
    return read_session_files(h);
}

void cobra_write_member(const history *h, uint32_t session, sink *out)
{
    if (!out->cache) out->cache = make_plan(h, out);
    const plan *p = out->cache;
    if (session >= h->sessions.n) return; /* an empty log */
    for (uint32_t j = h->sess_first[session]; j < h->sess_first[session + 1]; j++) {
        txn_id t = h->sess_txn[j];
        bool unknown = txn_status_of(h, t) == TXN_UNKNOWN;
        bool last = j + 1 == h->sess_first[session + 1]; /* there an outcome may be missing */
        if (unknown && !last) sink_lose(out, LOST_UNKNOWN);
        if (plain_status(&p->base, t) == TXN_ABORTED && !(unknown && last)) {
            if (unknown) sink_lose_txn(out, h, t, LOST_UNKNOWN);
            continue;
        }
        strbuf_char(&out->buf, 'S');
        put(out, txn_number(p, h, t));
        if (p->stamped) put(out, (uint64_t)h->txn_begin[t]);
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            put_op(p, h, o, out);
            sink_check(out);
        }
        if (unknown && last) continue;
        strbuf_char(&out->buf, 'C');
        put(out, txn_number(p, h, t));
        if (p->stamped) put(out, (uint64_t)h->txn_end[t]);
    }
}
