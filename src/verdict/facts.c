/*
 * facts.c - counting what a history holds, for `stat` and for the warnings of `check`.
 *
 * Everything is one pass over the operations, plus a sort of the times where there are any and a
 * table per key for repeated values (cache-sized, as in asg.c).
 */
#include "base/hash.h"
#include "verdict/verdict.h"

static void count_op(facts *f, const history *h, op_id o)
{
    unsigned kind = h->op_kind[o];
    if (kind & OP_FAILED) { /* it neither read nor wrote */
        f->failed++;
        return;
    }
    f->ops++;
    if (kind & OP_ATTR) {
        const attr *a = op_attrs(h, o), *end = a ? h->attrs.at + h->attrs.n : NULL;
        for (; a < end && a->op == o; a++)
            if (a->kind <= ATTR_VER || (a->kind >= ATTR_VSET && a->kind <= ATTR_ROW_FROM_INIT)) {
                f->with_hints++;
                break;
            }
    }
    switch ((enum op_kind)(kind & OP_KIND_MASK)) {
    case OP_READ: f->reads++; break;
    case OP_WRITE: f->writes++; break;
    case OP_DELETE: f->deletes++; break;
    case OP_APPEND: f->appends++; break;
    case OP_SCAN: f->scans++; break;
    case OP_ITER: f->iterators++; break;
    }
    if ((kind & OP_KIND_MASK) >= OP_SCAN) f->rows += h->ranges.at[h->op_key[o]].rows;
}

static void count_txns(facts *f, const history *h)
{
    for (size_t t = 0; t < h->txns; t++) {
        enum txn_status status = txn_status_of(h, (txn_id)t);
        if (status == TXN_ABORTED) f->aborted++;
        if (status == TXN_UNKNOWN) f->unknown++;
        if (h->txn_flags[t] & (TXN_HAS_BEGIN | TXN_HAS_END | TXN_HAS_TIMES)) f->with_times++;
        if (status != TXN_COMMITTED) continue;
        f->txns++;
        uint64_t before = f->reads + f->scans + f->iterators, ops = f->ops;
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) count_op(f, h, o);
        uint64_t reads = f->reads + f->scans + f->iterators - before, n = f->ops - ops;
        if (n > f->max_txn_ops) f->max_txn_ops = n;
        if (!n)
            f->empty_txns++;
        else if (reads == n)
            f->read_only++;
        else if (!reads)
            f->write_only++;
    }
}

/* Writes of committed transactions by key; then repeated values and the hot key. */
static void count_keys(facts *f, const history *h, mem *m)
{
    size_t keys = history_keys(h);
    uint32_t *first = mem_array0(m, uint32_t, keys + 2),
             *touched = mem_array0(m, uint32_t, keys + 1);
    size_t writes = 0;
    for (size_t t = 0; t < h->txns; t++) {
        if (txn_status_of(h, (txn_id)t) != TXN_COMMITTED) continue;
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            unsigned kind = h->op_kind[o] & OP_KIND_MASK;
            if (kind >= OP_SCAN) continue;
            touched[h->op_key[o]]++;
            if (kind == OP_READ || h->op_kind[o] & OP_FAILED || kind == OP_DELETE) continue;
            first[h->op_key[o] + 2]++;
            writes++;
        }
    }
    for (size_t k = 2; k < keys + 2; k++) first[k] += first[k - 1];
    value_id *value = mem_array(m, value_id, writes + 1);
    for (size_t t = 0; t < h->txns; t++) {
        if (txn_status_of(h, (txn_id)t) != TXN_COMMITTED) continue;
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            unsigned kind = h->op_kind[o] & OP_KIND_MASK;
            if (kind >= OP_SCAN || kind == OP_READ || h->op_kind[o] & OP_FAILED ||
                kind == OP_DELETE)
                continue;
            value[first[h->op_key[o] + 1]++] = h->op_value[o];
        }
    }
    size_t cap = 0;
    uint64_t *slot = NULL; /* value + 1 */
    for (size_t k = 0; k < keys; k++) {
        if (touched[k] > f->hot_key_ops) {
            f->hot_key_ops = touched[k];
            f->hot_key = (key_id)k;
        }
        size_t n = first[k + 1] - first[k], need = 8;
        if (n > 1) f->keys_written_twice++;
        if (n < 2) continue;
        while (need < 2 * n) need *= 2;
        if (need > cap) {
            mem_put(m, slot);
            slot = mem_array(m, uint64_t, need);
            cap = need;
        }
        memset(slot, 0, need * sizeof *slot);
        for (size_t i = first[k]; i < first[k + 1]; i++) {
            size_t at = (size_t)hash_u64(value[i]) & (need - 1);
            while (slot[at] && slot[at] != (uint64_t)value[i] + 1) at = (at + 1) & (need - 1);
            if (slot[at])
                f->duplicate_writes++;
            else
                slot[at] = (uint64_t)value[i] + 1;
        }
    }
    mem_put(m, slot);
    mem_put(m, value);
    mem_put(m, first);
    mem_put(m, touched);
}

/* --- concurrency ------------------------------------------------------------------------------ */

/* Radix sort of 64-bit times: linear, no comparison callback.  The result ends up in a: eight
   passes are an even number of swaps. */
static void sort_times(uint64_t *a, uint64_t *b, size_t n)
{
    for (unsigned shift = 0; shift < 64; shift += 8) {
        size_t count[256] = {0}, sum = 0;
        for (size_t i = 0; i < n; i++) count[a[i] >> shift & 0xff]++;
        for (size_t i = 0; i < 256; i++) {
            size_t c = count[i];
            count[i] = sum;
            sum += c;
        }
        for (size_t i = 0; i < n; i++) b[count[a[i] >> shift & 0xff]++] = a[i];
        uint64_t *swap = a;
        a = b;
        b = swap;
    }
}

static void count_concurrency(facts *f, const history *h, mem *m)
{
    /* Without times only sessions tell: one session is a sequence. */
    f->concurrent = f->active_sessions > 1;
    if (!f->with_times) return;
    uint64_t *begin = mem_array(m, uint64_t, h->txns + 1),
             *end = mem_array(m, uint64_t, h->txns + 1);
    uint64_t *spare = mem_array(m, uint64_t, h->txns + 1);
    size_t n = 0, untimed = 0;
    for (size_t t = 0; t < h->txns; t++) {
        int64_t b, e;
        if (txn_status_of(h, (txn_id)t) == TXN_ABORTED) continue;
        if (h->txn_flags[t] & TXN_HAS_TIMES) {
            b = h->txn_times[t * 4];
            e = h->txn_times[t * 4 + 3];
        } else if ((h->txn_flags[t] & (TXN_HAS_BEGIN | TXN_HAS_END)) ==
                   (TXN_HAS_BEGIN | TXN_HAS_END)) {
            b = h->txn_begin[t];
            e = h->txn_end[t];
        } else {
            untimed++;
            continue;
        }
        /* flip the sign bit: signed order becomes unsigned order */
        begin[n] = (uint64_t)b ^ ((uint64_t)1 << 63);
        end[n++] = (uint64_t)e ^ ((uint64_t)1 << 63);
    }
    sort_times(begin, spare, n);
    sort_times(end, spare, n);
    uint64_t open = 0;
    for (size_t i = 0, j = 0; i < n; i++) {
        while (j < n && end[j] <= begin[i]) j++, open -= open > 0;
        open++;
        if (open > f->max_concurrency) f->max_concurrency = open;
    }
    f->concurrent = f->max_concurrency > 1 || (untimed && f->active_sessions > 1);
    mem_put(m, begin);
    mem_put(m, end);
    mem_put(m, spare);
}

void facts_count(facts *f, const history *h)
{
    memset(f, 0, sizeof *f);
    for (size_t i = 0; i < h->sessions.n; i++) {
        /* Those that committed something, and those of logs that are there but empty. */
        if (h->sess_first[i] == h->sess_first[i + 1]) f->sessions++;
        for (uint32_t j = h->sess_first[i]; j < h->sess_first[i + 1]; j++)
            if (txn_status_of(h, h->sess_txn[j]) == TXN_COMMITTED) {
                f->sessions++;
                f->active_sessions++;
                break;
            }
    }
    if (h->declared_sessions > f->sessions) f->sessions = h->declared_sessions;
    f->keys = history_keys(h);
    f->hot_key = NO_ID;
    count_txns(f, h);
}

void facts_gather(facts *f, const history *h, mem *m)
{
    facts_count(f, h);
    count_keys(f, h, m);
    count_concurrency(f, h, m);
}
