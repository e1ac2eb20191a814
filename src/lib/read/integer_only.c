/*
 * integer_only.c - what the integer-only formats can hold of a history.
 *
 * First transactions of unknown outcome are settled: committed if a committed transaction has
 * read from them, which may settle more of them, else aborted.  Then one walk over all operations
 * finds what is lost and whether values can keep their numbers; if not, values are renumbered
 * from 1 in the order of the walk.  The writers then ask for operation after operation
 * (plain_get).
 *
 * Invariant: two operations on a key get the same number iff they had the same value (the header
 * says what 0 means).
 */
#include "read/integer_only.h"

#include <assert.h>

#include "base/map.h"

bool plain_uint(atom a, uint64_t *v)
{
    *v = a.as.u;
    return a.kind == ATOM_UINT || (a.kind == ATOM_INT && a.as.i >= 0);
}

const char *plain_extra(const history *h, const char *name, size_t *n)
{
    size_t len = strlen(name);
    *n = 0;
    for (size_t i = 0; i < h->extras.n; i++) {
        if (h->extras.at[i].txn != NO_ID) continue;
        atom a = value_atom(h, h->extras.at[i].name);
        if (a.len != len || memcmp(atom_bytes(h, a), name, len) != 0) continue;
        atom text = value_atom(h, h->extras.at[i].text);
        *n = text.len;
        return atom_bytes(h, text);
    }
    return NULL;
}

enum txn_status plain_status(const plain *p, txn_id t)
{
    enum txn_status status = txn_status_of(p->h, t);
    if (status != TXN_UNKNOWN) return status;
    return p->seen && p->seen[t] ? TXN_COMMITTED : TXN_ABORTED;
}

/* --- transactions of unknown outcome ------------------------------------------------------- */

static uint64_t version_hash(const history *h, op_id o)
{
    return hash_pair(h->op_key[o], h->op_value[o]);
}

static bool is_plain_write(const history *h, op_id o)
{
    return (h->op_kind[o] & (OP_KIND_MASK | OP_FAILED)) == OP_WRITE;
}

/* Marks the unknown transactions that t has read from; true if one was new.  `writes`: those of
   unknown transactions, by key and value. */
static bool mark_seen(plain *p, const id_index *writes, txn_id t)
{
    const history *h = p->h;
    bool fresh = false;
    for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
        if ((h->op_kind[o] & (OP_KIND_MASK | OP_FAILED)) != OP_READ) continue;
        for (index_walk w = id_index_walk(writes, version_hash(h, o)); id_index_next(writes, &w);) {
            op_id x = w.id;
            if (h->op_key[x] != h->op_key[o] || h->op_value[x] != h->op_value[o]) continue;
            txn_id writer = txn_of_op(h, x);
            if (writer != t && !p->seen[writer]) {
                p->seen[writer] = 1;
                fresh = true;
            }
        }
    }
    return fresh;
}

static void settle_unknown(plain *p)
{
    const history *h = p->h;
    bool any = false;
    for (txn_id t = 0; t < h->txns && !any; t++) any = txn_status_of(h, t) == TXN_UNKNOWN;
    if (!any) return;
    sink_lose(p->out, LOST_UNKNOWN);
    p->seen = mem_zeroed(p->out->mem, h->txns);
    id_index writes = {0};
    for (txn_id t = 0; t < h->txns; t++) {
        if (txn_status_of(h, t) != TXN_UNKNOWN) continue;
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            if (is_plain_write(h, o)) id_index_add(p->out->mem, &writes, version_hash(h, o), o);
        }
    }
    /* An unknown transaction that turns out committed makes its own reads count. */
    for (bool again = true; again;) {
        again = false;
        for (txn_id t = 0; t < h->txns; t++)
            if (plain_status(p, t) == TXN_COMMITTED) again |= mark_seen(p, &writes, t);
    }
    id_index_free(p->out->mem, &writes);
}

/* --- numbers ------------------------------------------------------------------------------- */

static void add_number(plain *p, value_id v)
{
    uint32_t *number = id_map_at(p->out->mem, &p->numbers, v);
    if (*number == MAP_NONE) *number = ++p->last_number;
}

/* What becomes of an operation; VALUE_* tells which number it needs. */
enum fate { FATE_LOST, FATE_ZERO, FATE_NUMBER };

static enum fate fate(const plain *p, op_id o, enum lost_bit *why)
{
    const history *h = p->h;
    unsigned kind = h->op_kind[o] & OP_KIND_MASK;
    bool failed = h->op_kind[o] & OP_FAILED;
    value_id v = h->op_value[o];
    if (failed && !(p->can & PLAIN_FAILED_OPS)) return *why = LOST_FAILED, FATE_LOST;
    if (kind == OP_DELETE) return *why = LOST_DELETES, FATE_LOST;
    if (kind == OP_APPEND) return *why = LOST_LISTS, FATE_LOST;
    if (kind > OP_APPEND) return *why = LOST_RANGES, FATE_LOST;
    if (value_atom(h, v).kind == ATOM_LIST) return *why = LOST_LISTS, FATE_LOST;
    if (failed && (v == VALUE_NULL || v == VALUE_UNKNOWN)) return FATE_ZERO;
    if (v == VALUE_UNKNOWN) return *why = LOST_UNKNOWN_READS, FATE_LOST;
    key_id k = h->op_key[o];
    if (v == VALUE_NULL && (h->key_init[k] != VALUE_NULL || (p->deleted && p->deleted[k])))
        return *why = LOST_NULLS, FATE_LOST;
    return v == h->key_init[k] ? FATE_ZERO : FATE_NUMBER;
}

/* How a key is used, among what the format can hold. */
#define KEY_INIT_READ 1u       /* its initial value is read */
#define KEY_ZERO 2u            /* 0 is an ordinary value of it */
#define KEY_ZERO_WRITE 4u      /* 0, as an ordinary value, is written and committed */
#define KEY_INIT_WRITE 8u      /* its initial value is written again */
#define KEY_ZERO_ANY_WRITE 16u /* 0, as an ordinary value, is written */

uint64_t plain_key(const plain *p, key_id k)
{
    return p->same_keys ? key_atom(p->h, k).as.u : k;
}

bool plain_reads_init(const plain *p, key_id k)
{
    return p->use[k] & KEY_INIT_READ;
}

bool plain_get(const plain *p, op_id o, plain_op *op)
{
    const history *h = p->h;
    enum lost_bit why;
    enum fate f = fate(p, o, &why);
    if (f == FATE_LOST) return false;
    key_id k = h->op_key[o];
    op->write = (h->op_kind[o] & OP_KIND_MASK) == OP_WRITE;
    op->failed = h->op_kind[o] & OP_FAILED;
    op->initial = f == FATE_ZERO && !op->write && !(p->use[k] & KEY_INIT_WRITE);
    op->key = plain_key(p, k);
    if (f == FATE_ZERO)
        op->value = 0;
    else if (p->same_values)
        op->value = value_atom(h, h->op_value[o]).as.u;
    else
        op->value = id_map_get(&p->numbers, h->op_value[o]);
    return true;
}

static unsigned use_of_zero(bool write, bool committed)
{
    if (!write) return KEY_ZERO;
    return KEY_ZERO | KEY_ZERO_ANY_WRITE | (committed ? KEY_ZERO_WRITE : 0u);
}

/* May 0 be an ordinary value of a key that is used so?  Reading it back must not make it the
   initial one. */
static bool zero_stays(unsigned can, unsigned use)
{
    if (can & PLAIN_NULL) return (use & KEY_ZERO_ANY_WRITE) && !(use & KEY_INIT_WRITE);
    if (can & PLAIN_EXPLICIT) return !(use & (KEY_INIT_READ | KEY_INIT_WRITE));
    return (can & PLAIN_ZERO_WRITES) && (use & KEY_ZERO_WRITE) && !(use & KEY_INIT_READ);
}

/* Does the initial state of a key come back as another one? */
static bool init_changes(unsigned can, unsigned use, value_id init)
{
    if (can & (PLAIN_NULL | PLAIN_ZERO_WRITES) && use & KEY_INIT_WRITE) return true;
    if (can & PLAIN_EXPLICIT && use & KEY_INIT_READ) return true;
    return init != VALUE_NULL && (init != 0 || can & (PLAIN_NULL | PLAIN_EXPLICIT));
}

/* Looks at every operation once: losses, and whether values can keep their numbers. */
static void survey(plain *p)
{
    const history *h = p->h;
    uint8_t *use = p->use = mem_zeroed(p->out->mem, history_keys(h) + 1);
    for (txn_id t = 0; t < h->txns; t++) {
        bool committed = plain_status(p, t) == TXN_COMMITTED;
        if (h->txn_op[t] == h->txn_op[t + 1] && !(p->can & PLAIN_EMPTY))
            sink_lose(p->out, LOST_EMPTY);
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            enum lost_bit why;
            enum fate f = fate(p, o, &why);
            if (h->op_kind[o] & (OP_LOCK | OP_TOMB | OP_ATTR)) sink_lose(p->out, LOST_ATTRS);
            if (f == FATE_LOST) {
                sink_lose_op(p->out, why);
                continue;
            }
            bool write = (h->op_kind[o] & OP_KIND_MASK) == OP_WRITE;
            bool failed = h->op_kind[o] & OP_FAILED;
            key_id k = h->op_key[o];
            uint64_t n;
            if (f == FATE_ZERO && !failed) {
                if (h->op_value[o] == VALUE_NULL && !(p->can & PLAIN_NULL))
                    sink_lose(p->out, LOST_NULLS);
                use[k] |= write ? KEY_INIT_WRITE : KEY_INIT_READ;
            } else if (f == FATE_NUMBER) {
                if (!plain_uint(value_atom(h, h->op_value[o]), &n))
                    p->same_values = false;
                else if (!n)
                    use[k] |= (uint8_t)use_of_zero(write && !failed, committed);
            }
        }
    }
    for (size_t k = 0; k < history_keys(h); k++) {
        if (use[k] & KEY_ZERO && !zero_stays(p->can, use[k])) p->same_values = false;
        if (init_changes(p->can, use[k], h->key_init[k])) sink_lose(p->out, LOST_INIT);
    }
}

static void note_rest(plain *p)
{
    const history *h = p->h;
    bool told = p->can & PLAIN_EXTRAS;
    static const char *const ours[] = {"dbcop_params", "dbcop_info", "dbcop_start",
                                       "dbcop_end",    "text_init",  "text_aborted_reads"};
    for (size_t i = 0; i < h->extras.n && !told; i++) {
        bool known = false;
        atom a = value_atom(h, h->extras.at[i].name);
        for (size_t j = 0; j < sizeof ours / sizeof *ours; j++)
            known |= a.len == strlen(ours[j]) && !memcmp(atom_bytes(h, a), ours[j], a.len);
        if (!known || h->extras.at[i].txn != NO_ID) sink_lose(p->out, LOST_EXTRAS);
    }
    if (h->marks.n) sink_lose(p->out, LOST_MARKS);
    if (h->init_unknown) sink_lose(p->out, LOST_INIT);
    if (h->init != INIT_ABSENT && p->can & (PLAIN_NULL | PLAIN_EXPLICIT))
        sink_lose(p->out, LOST_INIT);
    if (h->txn_begin || h->txn_end || h->txn_times || h->txn_start_ts || h->txn_commit_ts)
        sink_lose(p->out, LOST_TIMES);
    if (!(p->can & PLAIN_EMPTY))
        for (size_t i = 0; i < h->sessions.n; i++)
            if (h->sess_first[i] == h->sess_first[i + 1]) sink_lose(p->out, LOST_EMPTY);
}

void plain_open(plain *p, const history *h, sink *out, unsigned can)
{
    assert(h->frozen);
    memset(p, 0, sizeof *p);
    p->h = h;
    p->out = out;
    p->can = can;
    p->same_keys = p->same_values = true;
    uint64_t n;
    for (key_id k = 0; k < history_keys(h); k++)
        if (!plain_uint(key_atom(h, k), &n)) p->same_keys = false;
    for (op_id o = 0; o < h->ops; o++) {
        if ((h->op_kind[o] & OP_KIND_MASK) != OP_DELETE) continue;
        if (!p->deleted) p->deleted = mem_zeroed(out->mem, history_keys(h) * sizeof *p->deleted);
        p->deleted[h->op_key[o]] = true;
    }
    settle_unknown(p);
    survey(p);
    note_rest(p);
    if (!p->same_keys && !(can & PLAIN_NAMES)) sink_lose(out, LOST_KEYS);
    if (p->same_values) return;
    sink_lose(out, LOST_VALUES);
    enum lost_bit why;
    for (op_id o = 0; o < h->ops; o++)
        if (fate(p, o, &why) == FATE_NUMBER) add_number(p, h->op_value[o]);
}

void plain_close(plain *p)
{
    mem_put(p->out->mem, p->use);
    mem_put(p->out->mem, p->deleted);
    mem_put(p->out->mem, p->seen);
    id_map_free(p->out->mem, &p->numbers);
}
