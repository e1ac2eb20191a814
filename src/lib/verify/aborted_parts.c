/*
 * aborted_parts.c - the history of a claim that counts the reads of aborted transactions.
 *
 * Read off doc/levels.md H-9 once more, and on purpose not made by history/aborted_readers.c, which
 * what decided has used: an aborted transaction takes part as one that only reads.  Its writes are
 * marked as its own (OP_LOCAL), and what it read of a list to which it had appended loses these
 * appends at its end; where they do not end it, the read is marked.
 */
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "verify/recheck.h"

typedef struct parting {
    const history *h;
    history *to;
    mem *m;
    uint8_t *list; /* per key */
    id_map same;   /* hash of elements -> a list of this history, + 1; several share one rarely */
} parting;

static bool shows_list(const history *h, value_id v)
{
    return v > VALUE_NULL && v != VALUE_UNKNOWN && value_atom(h, v).kind == ATOM_LIST;
}

static bool changes(const history *h, op_id o)
{
    enum op_kind kind = op_kind_of(h, o);
    return !(h->op_kind[o] & OP_FAILED) &&
           (kind == OP_WRITE || kind == OP_DELETE || kind == OP_APPEND);
}

static void mark_lists(parting *p)
{
    const history *h = p->h;
    p->list = mem_array0(p->m, uint8_t, history_keys(h) + 1);
    for (op_id o = 0; o < h->ops; o++) {
        bool read = op_kind_of(h, o) == OP_READ && shows_list(h, h->op_value[o]);
        if (h->op_kind[o] & OP_FAILED || op_kind_of(h, o) >= OP_SCAN) continue;
        if (read || op_kind_of(h, o) == OP_APPEND) p->list[h->op_key[o]] = 1;
    }
    for (size_t i = 0; i < h->row_key.n; i++)
        if (shows_list(h, h->row_value.at[i])) p->list[h->row_key.at[i]] = 1;
    for (key_id k = 0; k < history_keys(h); k++)
        if (shows_list(h, h->key_init[k])) p->list[k] = 1;
}

/* The list of these elements as a value: equal lists are one value. */
static value_id value_of(parting *p, uint64_t offset, uint32_t n)
{
    history *to = p->to;
    const value_id *e = to->elements.at + offset;
    if (!n) return VALUE_EMPTY;                         /* a row that was returned stays one */
    if (to->values.atoms.at == p->h->values.atoms.at) { /* a table of its own, to add to */
        size_t old = p->h->values.atoms.n;
        memset(&to->values.atoms, 0, sizeof to->values.atoms);
        for (size_t i = 0; i < old; i++) {
            atom a = p->h->values.atoms.at[i];
            vec_push(p->m, &to->values.atoms, a);
            if (a.kind != ATOM_LIST || !a.len) continue;
            const value_id *x = to->elements.at + a.as.offset;
            uint64_t at = hash_bytes(x, a.len * sizeof *x, a.len);
            while (id_map_get(&p->same, at) != MAP_NONE) at++;
            id_map_put(p->m, &p->same, at, (uint32_t)i);
        }
    }
    uint64_t at = hash_bytes(e, n * sizeof *e, n);
    for (uint32_t i; (i = id_map_get(&p->same, at)) != MAP_NONE; at++) {
        atom a = to->values.atoms.at[i];
        if (a.len == n && !memcmp(to->elements.at + a.as.offset, e, n * sizeof *e))
            return VALUE_TABLE + 2 + i;
    }
    atom fresh = {.kind = ATOM_LIST, .len = n, .as.offset = offset};
    id_map_put(p->m, &p->same, at, (uint32_t)to->values.atoms.n);
    vec_push(p->m, &to->values.atoms, fresh);
    return VALUE_TABLE + 2 + (uint32_t)(to->values.atoms.n - 1);
}

/* What operation o of t showed of k, without what t had appended: false if that is not its end. */
static bool without_own(parting *p, txn_id t, op_id o, key_id k, value_id *v)
{
    const history *h = p->h;
    uint32_t own = 0;
    if (!p->list[k] || *v == VALUE_UNKNOWN) return true;
    for (op_id i = h->txn_op[t]; i < o; i++) {
        if (!changes(h, i) || h->op_key[i] != k) continue;
        if (op_kind_of(h, i) != OP_APPEND)
            guard_fail(p->m->guard, GUARD_UNSUPPORTED,
                       "an aborted transaction reads a list that it wrote or deleted itself");
        own++;
    }
    if (!own) return true;
    atom a = plain(*v) == VALUE_NULL ? (atom){.kind = ATOM_LIST} : value_atom(h, *v);
    if (a.kind != ATOM_LIST || a.len < own) return false;
    uint32_t at = a.len - own;
    for (op_id i = h->txn_op[t]; i < o; i++)
        if (changes(h, i) && h->op_key[i] == k &&
            h->elements.at[a.as.offset + at++] != h->op_value[i])
            return false;
    *v = value_of(p, a.as.offset, a.len - own);
    return true;
}

/* A scan: its rows, and what it covers of t's own lists and did not return. */
static bool scan_without_own(parting *p, txn_id t, op_id o)
{
    const history *h = p->h;
    const range *r = &h->ranges.at[h->op_key[o]];
    uint32_t lo, hi;
    bool fits = true;
    for (uint32_t i = r->first_row; i < r->first_row + r->rows; i++)
        if (!without_own(p, t, o, h->row_key.at[i], &p->to->row_value.at[i])) fits = false;
    range_ranks(h, r, &lo, &hi);
    if (!r->done && !r->rows) return fits;
    uint32_t last = r->rows ? h->key_rank[h->row_key.at[r->first_row + r->rows - 1]] : 0;
    if (!r->done && r->reverse) lo = last;
    if (!r->done && !r->reverse) hi = last + 1;
    for (op_id i = h->txn_op[t]; i < o && fits; i++) {
        key_id k = h->op_key[i];
        if (!changes(h, i) || !p->list[k] || h->key_rank[k] < lo || h->key_rank[k] >= hi) continue;
        value_id none = VALUE_NULL;
        bool returned = false;
        for (uint32_t j = r->first_row; j < r->first_row + r->rows; j++)
            returned = returned || h->row_key.at[j] == k;
        if (!returned) fits = without_own(p, t, o, k, &none);
        guard_tick(p->m->guard);
    }
    return fits;
}

static void take_part(parting *p, txn_id t)
{
    const history *h = p->h;
    history *to = p->to;
    to->txn_flags[t] &= (uint8_t) ~(TXN_STATUS_MASK | TXN_HAS_COMMIT_TS);
    for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
        bool fits = true;
        if (h->op_kind[o] & OP_FAILED) continue;
        if (changes(h, o)) {
            to->op_kind[o] |= OP_FAILED | OP_LOCAL;
        } else if (op_kind_of(h, o) == OP_READ) {
            fits = without_own(p, t, o, h->op_key[o], &to->op_value[o]);
        } else {
            fits = scan_without_own(p, t, o);
        }
        if (!fits) to->op_kind[o] |= OP_LOCAL;
        guard_tick(p->m->guard);
    }
}

#define OWN_ARRAY(array, n)                                                                        \
    do {                                                                                           \
        void *own_ = mem_get(m, ((n) + 1) * sizeof *to->array);                                    \
        if (n) memcpy(own_, to->array, (n) * sizeof *to->array);                                   \
        to->array = own_;                                                                          \
    } while (0)

const history *verify_aborted_parts(const history *h, mem *m)
{
    history *to = mem_zeroed(m, sizeof *to);
    parting p = {.h = h, .to = to, .m = m};
    static_assert(TXN_COMMITTED == 0, "take_part clears the outcome");
    *to = *h;
    to->recorded = h;
    OWN_ARRAY(txn_flags, h->txns);
    OWN_ARRAY(op_kind, h->ops);
    OWN_ARRAY(op_value, h->ops);
    OWN_ARRAY(row_value.at, h->row_value.n);
    mark_lists(&p);
    for (txn_id t = 0; t < h->txns; t++)
        if (txn_status_of(h, t) == TXN_ABORTED) take_part(&p, t);
    mem_put(m, p.list);
    id_map_free(m, &p.same);
    return to;
}
