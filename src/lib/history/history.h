/*
 * history.h - the model of a history: sessions, transactions, operations, initial state.
 *
 * Built once through the builder calls below, then frozen: a frozen history never changes and
 * may be read by several threads.  Everything is a flat array indexed by 32-bit ids; keys and
 * values are interned; what most histories lack (attributes, times, notes) lives in sparse side
 * tables, so a plain operation costs 9 bytes.
 *
 * Values.  A value_id below 2^31 *is* that non-negative integer; others name a table entry
 * (negative and large integers, reals, strings, booleans, lists).  Two values are the same value
 * iff their ids are equal.  VALUE_NULL is "absent", VALUE_UNKNOWN a result nobody recorded.
 *
 * Transactions stand in input order; sess_* lists them by session, in session order.
 * The semantics of every field: doc/levels.md 1 and doc/formats/native.md.
 */
#ifndef RATEL_HISTORY_HISTORY_H
#define RATEL_HISTORY_HISTORY_H

#include "base/map.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"

typedef uint32_t key_id;
typedef uint32_t value_id;
typedef uint32_t txn_id;
typedef uint32_t op_id;
typedef uint64_t label; /* an id of the input: integer or string, see label_* */

#define VALUE_TABLE 0x80000000u   /* ids from here on index the value table */
#define VALUE_NULL 0x80000000u    /* absent; as a read result: the key did not exist */
#define VALUE_UNKNOWN 0xffffffffu /* a read whose result is not known */
#define VALUE_EMPTY 0x80000001u   /* the empty list */

/* To the levels, a list without elements and an absent key are the same. */
static inline value_id value_or_absent(value_id v)
{
    return v == VALUE_EMPTY ? VALUE_NULL : v;
}

enum atom_kind {
    ATOM_NULL,
    ATOM_INT,
    ATOM_UINT,
    ATOM_BIG,
    ATOM_REAL,
    ATOM_STR,
    ATOM_BOOL,
    ATOM_LIST
};

/* One interned thing.  ATOM_UINT only for integers in [2^63, 2^64); ATOM_BIG keeps the digits of
   integers beyond that.  Lists hold value ids in the element pool. */
typedef struct atom {
    uint32_t kind;
    uint32_t len; /* bytes (STR, BIG) or elements (LIST) */
    union {
        int64_t i;
        uint64_t u;
        double r;
        uint64_t offset; /* into bytes or elements */
    } as;
} atom;

typedef struct intern {
    VEC(atom) atoms;
    id_index by_content; /* dropped at freeze */
    VEC(uint32_t) small; /* index + 1 of small non-negative integers: no hashing for them */
} intern;

enum op_kind { OP_READ, OP_WRITE, OP_DELETE, OP_APPEND, OP_SCAN, OP_ITER };

#define OP_KIND_MASK 0x07u
#define OP_LOCK 0x08u   /* a locking read */
#define OP_FAILED 0x10u /* the statement failed: it neither read nor wrote */
#define OP_TOMB 0x20u   /* written or read as a tombstone */
#define OP_ATTR 0x40u   /* has entries in the attribute table */
/* Only in histories that aborted_readers.h makes.  Of a write, together with OP_FAILED: it was
   done, its own transaction alone sees it, and it is never installed.  Of a read: it did not show
   what its own transaction had appended to a list. */
#define OP_LOCAL 0x80u

enum txn_status { TXN_COMMITTED = 0, TXN_ABORTED = 1, TXN_UNKNOWN = 2 };

#define TXN_STATUS_MASK 0x03u
#define TXN_HAS_BEGIN 0x04u
#define TXN_HAS_END 0x08u
#define TXN_HAS_TIMES 0x10u
#define TXN_HAS_START_TS 0x20u
#define TXN_HAS_COMMIT_TS 0x40u
/* With TXN_HAS_TIMES: nobody knows by when the snapshot was taken, the second time is the first. */
#define TXN_NO_BEGIN_RETURN 0x80u

/* Attributes of operations, beyond the flag bits. */
enum attr_kind {
    ATTR_FROM,      /* a: label of the writer */
    ATTR_FROM_INIT, /* the initial state was read */
    ATTR_VER,       /* a: position in the key's version order (signed) */
    ATTR_CALL,      /* a: time of the call */
    ATTR_RETURN,    /* a: time of the return */
    ATTR_VSET,      /* key: a member of the version set, a: label of its writer */
    ATTR_VSET_INIT, /* key: a member whose version is the initial one */
    ATTR_ROW_FROM,  /* key: index of a row of a scan, a: label of its writer */
    ATTR_ROW_FROM_INIT,
    ATTR_EXTRA /* key: value id (string) of the name, a: value id (string) of the JSON text */
};

typedef struct attr {
    op_id op;
    uint32_t kind;
    uint32_t key;
    uint64_t a;
} attr;

/* Scan or iterator: op.key is an index of this table. */
enum bound_kind { BOUND_NONE, BOUND_AT };

typedef struct range {
    uint32_t from_kind, to_kind;
    key_id from, to;          /* ids in the bounds table (not keys: a bound alone is no key) */
    uint32_t first_row, rows; /* in row_key / row_value */
    bool done;                /* iterator: the end was seen; scan: true */
    bool inclusive;           /* upper bound included */
    bool reverse;             /* from the high end */
} range;

/* A member of a transaction's or the header's JSON object that the model does not interpret
   (level, note, sql and unknown fields); kept and passed on. */
typedef struct extra {
    uint32_t txn;        /* NO_ID: header */
    value_id name, text; /* strings; text is the JSON of the value */
} extra;

typedef struct mark {
    txn_id before; /* stood before this transaction in the input */
    value_id text; /* the whole JSON object */
} mark;

enum init_kind { INIT_ABSENT, INIT_SCALAR, INIT_MAP };

typedef struct init_entry {
    key_id key;
    value_id value;
} init_entry;

typedef struct history {
    mem mem;
    bool frozen;
    bool open; /* a transaction is being built */

    intern keys, bounds, values;
    VEC(char) bytes;        /* of all strings */
    VEC(value_id) elements; /* of all lists */

    /* operations, parallel arrays */
    size_t ops, ops_cap;
    uint8_t *op_kind;
    uint32_t *op_key; /* key id, or range index for scans and iterators */
    value_id *op_value;
    VEC(attr) attrs; /* sorted by op */
    VEC(range) ranges;
    VEC(key_id) row_key;
    VEC(value_id) row_value;

    /* transactions, parallel arrays in input order; ops of t: [txn_op[t], txn_op[t+1]) */
    size_t txns, txns_cap;
    op_id *txn_op;
    uint32_t *txn_session;
    label *txn_label;
    uint8_t *txn_flags;
    int64_t *txn_begin, *txn_end; /* NULL while no transaction has one */
    int64_t *txn_times;           /* four a transaction, or NULL */
    int64_t *txn_start_ts, *txn_commit_ts;
    size_t begin_cap, end_cap, times_cap, start_ts_cap, commit_ts_cap;
    uint32_t *txn_line; /* where it begins in the input, 0 unknown; for those below line_cap */
    size_t line_cap;

    VEC(label) sessions; /* label of each session */
    id_map session_of;   /* label -> session; dropped at freeze */
    uint64_t secret;     /* in all hashes of content (base/hash.h) */
    uint32_t last_session;
    uint32_t declared_sessions; /* header's "sessions": how many there are if some are empty */

    VEC(extra) extras; /* sorted by txn, header first */
    /* Levels that transactions name for themselves (own_levels.h): per transaction 0, or 1 + the
       index of its level's text in level_texts; NULL: neither a transaction nor the header names
       one. */
    uint8_t *txn_level;
    VEC(value_id) level_texts; /* each once, as JSON */
    bool some_level;           /* a transaction names one, not only the header */
    VEC(mark) marks;

    enum init_kind init;
    value_id init_scalar;
    VEC(init_entry) init_map;
    bool init_unknown;

    /* made by freeze */
    uint32_t *sess_first;      /* sessions + 1 */
    txn_id *sess_txn;          /* transactions by session */
    uint32_t *key_rank;        /* key id -> position in key order; NULL if there are no ranges */
    key_id *key_sorted;        /* the inverse */
    value_id *key_init;        /* initial value of each key, after init is applied */
    const uint8_t *shown_list; /* parts of histories, per key: the whole shows that it is a list; or
                                  NULL */

    const struct edits *edited; /* edits.h: how it was made of `original`; NULL: it was not */
    const struct history *original;
    const struct history *recorded;  /* aborted_readers.h: what it was made of; NULL: it was not */
    const struct additions *assumed; /* additions.h: what modules added; NULL: nothing */
} history;

/* --- building ---------------------------------------------------------------------------- */

/* A history that lives in its own region, using the given guard until history_set_guard. */
history *history_new(mem_fn fn, void *ud, guard *g, size_t memory_limit);
void history_free(history *h);
static inline void history_set_guard(history *h, guard *g)
{
    h->mem.guard = g;
}

value_id value_int(history *h, int64_t v);
value_id value_uint(history *h, uint64_t v);
/* Two steps of a hint, some operations apart, that value_uint(h, v) is to follow: large tables cost
   two cache misses a value, which a reader that sees its next records can hide. */
void value_soon(const history *h, uint64_t v);
void value_sooner(const history *h, uint64_t v);
value_id value_real(history *h, double v);
value_id value_bool(history *h, bool v);
value_id value_str(history *h, const char *s, size_t n);
value_id value_big(history *h, const char *digits, size_t n); /* an integer beyond 64 bits */
value_id value_list(history *h, const value_id *elements, size_t n);

key_id key_int(history *h, int64_t v);
key_id key_uint(history *h, uint64_t v);
key_id key_str(history *h, const char *s, size_t n);
uint32_t bound_int(history *h, int64_t v);
uint32_t bound_uint(history *h, uint64_t v);
uint32_t bound_str(history *h, const char *s, size_t n);

label label_int(history *h, int64_t v);
label label_uint(history *h, uint64_t v);
label label_str(history *h, const char *s, size_t n);

/* Starts a transaction in a session (created at its first mention) and returns its index.
   The session may be given later, until history_end. */
txn_id history_begin(history *h);
void history_session(history *h, label session);
void history_label(history *h, label id);
/* The line of the input where the open transaction begins; kept for reports alone. */
void history_line(history *h, uint64_t line);
void history_time(history *h, unsigned which_flag, int64_t v); /* one of TXN_HAS_BEGIN.. */
void history_time_of(history *h, txn_id t, unsigned which_flag, int64_t v); /* t has ended */
void history_times(history *h, const int64_t v[4]);
void history_times_of(history *h, txn_id t, const int64_t v[4]);
/* After history_times: the return of begin is not known. */
void history_no_begin_return(history *h);
void history_extra(history *h, const char *name, size_t nn, const char *json, size_t jn);
/* Of any transaction, or of the header (NO_ID); then history_sort_extras must come before the
   freeze: it puts them into their order, and fails with GUARD_HISTORY if one occurs twice. */
void history_extra_of(history *h, txn_id t, const char *name, size_t nn, const char *json,
                      size_t jn);
void history_sort_extras(history *h);
void history_end(history *h, enum txn_status status);
/* A session that may have no transaction. */
uint32_t history_declare_session(history *h, label session);

void history_grow_ops(history *h);
/* The hot call of every reader. */
static inline op_id history_op(history *h, unsigned kind, uint32_t key, value_id value)
{
    if (h->ops == h->ops_cap) history_grow_ops(h);
    size_t i = h->ops++;
    h->op_kind[i] = (uint8_t)kind;
    h->op_key[i] = key;
    h->op_value[i] = value;
    return (op_id)i;
}
void history_attr(history *h, op_id op, enum attr_kind kind, uint32_t key, uint64_t a);
/* A scan or iterator: first the rows, then the range. */
void history_row(history *h, key_id key, value_id value);
op_id history_range(history *h, unsigned kind, range r); /* takes the rows pushed since the last */

void history_init_scalar(history *h, value_id v);
void history_init_entry(history *h, key_id k, value_id v);
void history_mark(history *h, const char *json, size_t n);

/* For formats that scatter the lines of a transaction: operation o becomes one of transaction
   owner[o], after those that came before it.  Transactions may have been ended empty, and
   operations added between them.  Overwrites owner. */
void history_regroup(history *h, txn_id *owner);

/* An empty history becomes a frozen one that says what `from` says and shares its arrays, so `from`
   must outlive it (copy.c). */
void history_borrow(history *h, const history *from);
/* Makes an empty history speak of the keys, values and initial state of a frozen one (copy.c). */
void history_like(history *h, const history *from);

/* Validates and closes the history; fails with GUARD_HISTORY on a duplicate transaction id. */
void history_freeze(history *h);
/* NULL if the invariants of a frozen history hold, else what is broken. */
const char *history_check(const history *h);

/* --- reading a frozen history ------------------------------------------------------------ */

static inline enum op_kind op_kind_of(const history *h, op_id o)
{
    return (enum op_kind)(h->op_kind[o] & OP_KIND_MASK);
}
/* Did the statement fail?  A write that only its own transaction saw did not. */
static inline bool op_failed(const history *h, op_id o)
{
    return (h->op_kind[o] & (OP_FAILED | OP_LOCAL)) == OP_FAILED;
}
/* A write of an aborted transaction that takes part with its reads alone. */
static inline bool op_is_local_write(const history *h, op_id o)
{
    return (h->op_kind[o] & (OP_FAILED | OP_LOCAL)) == (OP_FAILED | OP_LOCAL);
}
static inline enum txn_status txn_status_of(const history *h, txn_id t)
{
    return (enum txn_status)(h->txn_flags[t] & TXN_STATUS_MASK);
}
static inline uint32_t txn_line_of(const history *h, txn_id t)
{
    return t < h->line_cap ? h->txn_line[t] : 0;
}
static inline size_t history_keys(const history *h)
{
    return h->keys.atoms.n;
}
/* The atom of any value id; small integers are made up on the spot. */
atom value_atom(const history *h, value_id v);
atom label_atom(const history *h, label l);
static inline atom key_atom(const history *h, key_id k)
{
    return h->keys.atoms.at[k];
}
static inline const char *atom_bytes(const history *h, atom a)
{
    return h->bytes.at + a.as.offset;
}
/* The keys of range r in key order: ranks [*lo, *hi). */
void range_ranks(const history *h, const range *r, uint32_t *lo, uint32_t *hi);
/* The transaction that operation o belongs to: a binary search. */
txn_id txn_of_op(const history *h, op_id o);
/* Does the transaction of a read write the value to the key before it? */
bool own_write_before(const history *h, op_id read, key_id k, value_id x);
/* First attribute of an operation, or NULL; its others follow it in the array. */
const attr *op_attrs(const history *h, op_id o);
/* Did a rollback to a savepoint take it back?  (doc/formats/native.md, "Savepoints") */
bool op_undone(const history *h, op_id o);
/* Index of the first extra of the transaction, or of the next one that has any.  Those of the
   header (NO_ID) stand first. */
size_t txn_extras(const history *h, txn_id t);
int key_compare(const history *h, atom a, atom b);

/* As JSON (a key, value or label), for writers and --json. */
void atom_json(const history *h, atom a, strbuf *out);
/* As text for people: no quotes around plain words, never a raw control byte. */
void atom_text(const history *h, atom a, strbuf *out);
void label_text(const history *h, label l, strbuf *out);

#endif
