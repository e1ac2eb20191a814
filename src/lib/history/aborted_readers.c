/*
 * aborted_readers.c - see aborted_readers.h.
 */
#include "history/aborted_readers.h"

#include <assert.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"

typedef struct reader_maker {
    const history *from;
    history *to;
    mem *m;
    uint8_t *list_key;
    /* of the transaction at hand, while own_txn[k] is that one + 1 */
    uint32_t *own_txn;
    op_id *last_append; /* of the key, or NO_ID */
    uint8_t *replaced;  /* the key was written or deleted */
    op_id *append_before;
    id_map lists; /* hash of a list's content -> the first such list; others follow by next_list */
    VEC(uint32_t) next_list; /* per entry of the value table */
    VEC(key_id) own_lists;   /* the keys that the transaction at hand appended to, or replaced */
    uint32_t *returned;      /* per key: operation + 1 of the last scan that returned it */
} reader_maker;

static bool is_list(const history *h, value_id v)
{
    return v > VALUE_NULL && v != VALUE_UNKNOWN && value_atom(h, v).kind == ATOM_LIST;
}

/* A key is a list if anybody of any outcome appended to it or read it as one. */
static void find_list_keys(reader_maker *x)
{
    const history *h = x->from;
    size_t keys = history_keys(h);
    x->list_key = mem_array0(x->m, uint8_t, keys + 1);
    for (key_id k = 0; k < keys; k++) x->list_key[k] = is_list(h, h->key_init[k]);
    for (op_id o = 0; o < h->ops; o++) {
        enum op_kind kind = op_kind_of(h, o);
        if (h->op_kind[o] & OP_FAILED || kind >= OP_SCAN) continue;
        if (kind == OP_APPEND || (kind == OP_READ && is_list(h, h->op_value[o])))
            x->list_key[h->op_key[o]] = 1;
    }
    for (size_t i = 0; i < h->row_key.n; i++)
        if (is_list(h, h->row_value.at[i])) x->list_key[h->row_key.at[i]] = 1;
}

static uint64_t list_hash(const history *h, atom a, uint32_t n)
{
    uint64_t x = hash_pair(n, h->secret);
    for (uint32_t i = 0; i < n; i++) x = hash_pair(x, h->elements.at[a.as.offset + i]);
    return x;
}

/* The lists there are, in a table of values that may grow. */
static void load_lists(reader_maker *x)
{
    history *to = x->to;
    size_t n = to->values.atoms.n;
    const atom *old = to->values.atoms.at;
    memset(&to->values.atoms, 0, sizeof to->values.atoms);
    vec_reserve(x->m, &to->values.atoms, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        vec_push(x->m, &to->values.atoms, old[i]);
        vec_push(x->m, &x->next_list, MAP_NONE);
        if (old[i].kind != ATOM_LIST) continue;
        uint32_t *at = id_map_at(x->m, &x->lists, list_hash(to, old[i], old[i].len));
        x->next_list.at[i] = *at;
        *at = i;
    }
}

/* The list of the first n elements of a. */
static value_id cut_to(reader_maker *x, atom a, uint32_t n)
{
    history *to = x->to;
    if (!n) return VALUE_EMPTY;
    if (!x->next_list.n) load_lists(x);
    const value_id *e = to->elements.at + a.as.offset;
    uint32_t *first = id_map_at(x->m, &x->lists, list_hash(to, a, n));
    for (uint32_t i = *first; i != MAP_NONE; i = x->next_list.at[i]) {
        atom b = to->values.atoms.at[i];
        if (b.len == n && !memcmp(e, to->elements.at + b.as.offset, n * sizeof *e))
            return VALUE_TABLE + 2 + i;
    }
    uint32_t fresh = (uint32_t)to->values.atoms.n;
    a.len = n;
    vec_push(x->m, &to->values.atoms, a);
    vec_push(x->m, &x->next_list, *first);
    *first = fresh;
    return VALUE_TABLE + 2 + fresh;
}

static const char replaced_list[] =
    "--aborted reads: an aborted transaction reads a list that it wrote or deleted itself";

static bool own_key(const reader_maker *x, txn_id t, key_id k)
{
    return x->own_txn[k] == t + 1;
}

/* What t was shown of a list that it may have appended to before; false: not its appends. */
static bool cut_value(reader_maker *x, txn_id t, key_id k, value_id *v)
{
    const history *h = x->from;
    if (!x->list_key[k] || !own_key(x, t, k) || *v == VALUE_UNKNOWN) return true;
    if (x->replaced[k]) guard_fail(x->m->guard, GUARD_UNSUPPORTED, "%s", replaced_list);
    atom a = value_or_absent(*v) == VALUE_NULL ? (atom){.kind = ATOM_LIST} : value_atom(h, *v);
    if (a.kind != ATOM_LIST) return false;
    uint32_t n = a.len;
    for (op_id o = x->last_append[k]; o != NO_ID; o = x->append_before[o])
        if (!n-- || h->elements.at[a.as.offset + n] != h->op_value[o]) return false;
    *v = cut_to(x, a, n);
    return true;
}

static void note_write(reader_maker *x, txn_id t, op_id o)
{
    key_id k = x->from->op_key[o];
    if (!own_key(x, t, k)) {
        x->own_txn[k] = t + 1;
        x->last_append[k] = NO_ID;
        x->replaced[k] = 0;
        if (x->list_key[k]) vec_push(x->m, &x->own_lists, k);
    }
    if (op_kind_of(x->from, o) != OP_APPEND) {
        x->replaced[k] = 1;
        return;
    }
    x->append_before[o] = x->last_append[k];
    x->last_append[k] = o;
}

/* Does the scan cover a list that t appended to, and not return it? */
static bool misses_own(const reader_maker *x, op_id o)
{
    const history *h = x->from;
    const range *r = &h->ranges.at[h->op_key[o]];
    uint32_t lo, hi;
    range_ranks(h, r, &lo, &hi);
    if (!r->done) { /* nothing is known past the last item */
        if (!r->rows) return false;
        uint32_t last = h->key_rank[h->row_key.at[r->first_row + r->rows - 1]];
        if (r->reverse)
            lo = last;
        else
            hi = last + 1;
    }
    for (size_t i = 0; i < x->own_lists.n; i++) {
        key_id k = x->own_lists.at[i];
        if (x->returned[k] == o + 1 || h->key_rank[k] < lo || h->key_rank[k] >= hi) continue;
        if (!x->replaced[k]) return true;
        guard_fail(x->m->guard, GUARD_UNSUPPORTED, "%s", replaced_list);
    }
    return false;
}

/* What t was shown of lists by a scan; false: not its appends. */
static bool cut_rows(reader_maker *x, txn_id t, op_id o)
{
    const history *h = x->from;
    const range *r = &h->ranges.at[h->op_key[o]];
    bool fits = true;
    if (!x->own_lists.n) return true;
    for (uint32_t i = r->first_row; i < r->first_row + r->rows; i++) {
        x->returned[h->row_key.at[i]] = o + 1;
        fits = cut_value(x, t, h->row_key.at[i], &x->to->row_value.at[i]) && fits;
    }
    return fits && !misses_own(x, o);
}

static void make_reader(reader_maker *x, txn_id t)
{
    const history *h = x->from;
    history *to = x->to;
    x->own_lists.n = 0;
    /* nothing was committed at a commit timestamp, should there be one */
    unsigned plain = h->txn_flags[t] & ~(TXN_STATUS_MASK | TXN_HAS_COMMIT_TS);
    to->txn_flags[t] = (uint8_t)(plain | TXN_COMMITTED);
    for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
        enum op_kind kind = op_kind_of(h, o);
        bool fits = true;
        if (h->op_kind[o] & OP_FAILED) continue;
        if (kind == OP_READ)
            fits = cut_value(x, t, h->op_key[o], &to->op_value[o]);
        else if (kind == OP_SCAN || kind == OP_ITER)
            fits = cut_rows(x, t, o);
        else
            note_write(x, t, o);
        if (!fits) to->op_kind[o] |= OP_LOCAL;
        if (kind == OP_WRITE || kind == OP_DELETE || kind == OP_APPEND)
            to->op_kind[o] |= OP_LOCAL | OP_FAILED;
    }
    guard_tick(x->m->guard);
}

#define OWN_COPY(field, type, n)                                                                   \
    do {                                                                                           \
        type *copy_ = mem_array(m, type, (n) + 1);                                                 \
        if (n) memcpy(copy_, h->field, (n) * sizeof(type));                                        \
        to->field = copy_;                                                                         \
    } while (0)

const history *aborted_readers(const history *h, mem *m)
{
    bool some = false;
    assert(h->frozen);
    if (h->recorded) return h;
    for (txn_id t = 0; t < h->txns && !some; t++) some = txn_status_of(h, t) == TXN_ABORTED;
    if (!some) return h;
    history *to = mem_zeroed(m, sizeof *to);
    *to = *h;
    to->recorded = h;
    OWN_COPY(txn_flags, uint8_t, h->txns);
    OWN_COPY(op_kind, uint8_t, h->ops);
    OWN_COPY(op_value, value_id, h->ops);
    OWN_COPY(row_value.at, value_id, h->row_value.n);
    size_t keys = history_keys(h) + 1;
    reader_maker x = {.from = h, .to = to, .m = m};
    find_list_keys(&x);
    x.own_txn = mem_array0(m, uint32_t, keys);
    x.last_append = mem_array(m, op_id, keys);
    x.replaced = mem_array(m, uint8_t, keys);
    x.append_before = mem_array(m, op_id, h->ops + 1);
    x.returned = mem_array0(m, uint32_t, keys);
    for (txn_id t = 0; t < h->txns; t++)
        if (txn_status_of(h, t) == TXN_ABORTED) make_reader(&x, t);
    mem_put(m, x.list_key);
    mem_put(m, x.own_txn);
    mem_put(m, x.last_append);
    mem_put(m, x.replaced);
    mem_put(m, x.append_before);
    mem_put(m, x.returned);
    id_map_free(m, &x.lists);
    vec_free(m, &x.next_list);
    vec_free(m, &x.own_lists);
    return to;
}
