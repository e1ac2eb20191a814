/*
 * module_sources.c - see module_sources.h.
 *
 * Installs (the last write of a key by a transaction that was not aborted) by key, in the order of
 * the input.  What a read may have seen are the installs of its value, the initial state if that
 * had it, and of a list the transaction that appended its last element.
 */
#include "module/module_sources.h"

#include <string.h>

#include "base/hash.h"

typedef struct install {
    key_id key;
    txn_id txn;
    value_id value;
    bool append;
} install;

struct sources_index {
    const history *h;
    install *by_key;
    uint32_t *first; /* keys + 1 */
    uint32_t *name;  /* open addressing over the texts of names: transaction + 1 */
    size_t mask;
    VEC(char) text;  /* of all names, each with its 0 */
    size_t *text_of; /* per transaction */
};

static bool writes(const history *h, op_id o)
{
    unsigned kind = h->op_kind[o] & OP_KIND_MASK;
    return !(h->op_kind[o] & OP_FAILED) &&
           (kind == OP_WRITE || kind == OP_DELETE || kind == OP_APPEND);
}

static value_id written(const history *h, op_id o)
{
    return op_kind_of(h, o) == OP_DELETE ? VALUE_NULL : value_or_absent(h->op_value[o]);
}

static void index_installs(sources_index *x, mem *m)
{
    const history *h = x->h;
    size_t keys = history_keys(h);
    uint32_t *last = mem_array(m, uint32_t, keys + 1); /* per key: its last install, by place */
    txn_id *of = mem_array(m, txn_id, keys + 1);
    VEC(install) all = {0};
    memset(of, 0xff, (keys + 1) * sizeof *of);
    for (txn_id t = 0; t < h->txns; t++) {
        if (txn_status_of(h, t) == TXN_ABORTED) continue;
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            if (!writes(h, o)) continue;
            key_id k = h->op_key[o];
            install w = {k, t, written(h, o), op_kind_of(h, o) == OP_APPEND};
            if (of[k] == t && !w.append) {
                all.at[last[k]] = w;
                continue;
            }
            of[k] = t;
            last[k] = (uint32_t)all.n;
            vec_push(m, &all, w);
        }
    }
    x->first = mem_array0(m, uint32_t, keys + 3);
    for (size_t i = 0; i < all.n; i++) x->first[all.at[i].key + 2]++;
    for (size_t k = 2; k < keys + 2; k++) x->first[k] += x->first[k - 1];
    x->by_key = mem_array(m, install, all.n + 1);
    for (size_t i = 0; i < all.n; i++) x->by_key[x->first[all.at[i].key + 1]++] = all.at[i];
    mem_put(m, last);
    mem_put(m, of);
    vec_free(m, &all);
}

/* --- names ------------------------------------------------------------------------------------ */

static void index_names(sources_index *x, mem *m)
{
    size_t slots = 64;
    strbuf b;
    strbuf_init(&b, m);
    while (slots < 2 * x->h->txns) slots *= 2;
    x->name = mem_array0(m, uint32_t, slots);
    x->mask = slots - 1;
    x->text_of = mem_array(m, size_t, x->h->txns + 1);
    for (txn_id t = 0; t < x->h->txns; t++) {
        b.n = 0;
        label_text(x->h, x->h->txn_label[t], &b);
        x->text_of[t] = x->text.n;
        vec_reserve(m, &x->text, b.n + 1);
        memcpy(x->text.at + x->text.n, strbuf_cstr(&b), b.n + 1);
        x->text.n += b.n + 1;
        size_t at = (size_t)hash_bytes(b.n ? b.at : "", b.n, 0) & x->mask;
        while (x->name[at]) at = (at + 1) & x->mask;
        x->name[at] = t + 1;
    }
    strbuf_free(&b);
}

txn_id sources_named(const sources_index *x, const char *name)
{
    size_t n = strlen(name);
    for (size_t at = (size_t)hash_bytes(name, n, 0) & x->mask; x->name[at];
         at = (at + 1) & x->mask) {
        txn_id t = x->name[at] - 1;
        if (!strcmp(x->text.at + x->text_of[t], name)) return t;
    }
    return NO_ID;
}

sources_index *sources_new(mem *m, const history *h)
{
    sources_index *x = mem_zeroed(m, sizeof *x);
    x->h = h;
    index_installs(x, m);
    index_names(x, m);
    return x;
}

static void give(uint32_t *out, uint32_t most, uint32_t *n, uint32_t t)
{
    if (*n < most) out[*n] = t;
    ++*n;
}

uint32_t sources_writers(const sources_index *x, key_id key, uint32_t *out, uint32_t most)
{
    uint32_t n = 0;
    for (uint32_t i = x->first[key]; i < x->first[key + 1]; i++)
        if (i == x->first[key] || x->by_key[i].txn != x->by_key[i - 1].txn)
            give(out, most, &n, x->by_key[i].txn);
    return n;
}

/* What the operation read of the key; VALUE_UNKNOWN: it did not, or nobody knows. */
static value_id value_read(const history *h, op_id o, key_id key)
{
    enum op_kind kind = op_kind_of(h, o);
    if (h->op_kind[o] & OP_FAILED) return VALUE_UNKNOWN;
    if (kind == OP_READ) return h->op_key[o] == key ? h->op_value[o] : VALUE_UNKNOWN;
    if (kind < OP_SCAN) return VALUE_UNKNOWN;
    const range *r = &h->ranges.at[h->op_key[o]];
    for (uint32_t i = r->first_row; i < r->first_row + r->rows; i++)
        if (h->row_key.at[i] == key) return h->row_value.at[i];
    return VALUE_UNKNOWN;
}

uint32_t sources_of_read(const sources_index *x, op_id o, key_id key, uint32_t *out, uint32_t most)
{
    const history *h = x->h;
    value_id v = value_or_absent(value_read(h, o, key)), element = VALUE_UNKNOWN;
    uint32_t n = 0;
    if (v == VALUE_UNKNOWN) return 0;
    txn_id reader = txn_of_op(h, o);
    if (v != VALUE_NULL) {
        atom a = value_atom(h, v);
        if (a.kind == ATOM_LIST && a.len) element = h->elements.at[a.as.offset + a.len - 1];
    }
    if (h->init_unknown || value_or_absent(h->key_init[key]) == v) give(out, most, &n, NO_ID);
    for (uint32_t i = x->first[key]; i < x->first[key + 1]; i++) {
        const install *w = &x->by_key[i];
        bool fits = w->append ? w->value == element : w->value == v;
        if (fits && w->txn != reader) give(out, most, &n, w->txn);
    }
    return n;
}
