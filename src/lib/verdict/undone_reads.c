/*
 * undone_reads.c - see undone_reads.h.
 *
 * Three passes over the operations: what was undone, what was written and stayed (of whatever
 * outcome), and who read the former without the latter.  An element of a list, and the absence that
 * a scan shows, are not followed so far: there any such read of the key, or any scan, counts.
 */
#include "verdict/undone_reads.h"

#include <assert.h>

#include "base/map.h"
#include "history/own_levels.h"
#include "opt/mixed_row.h"

#define SEVERAL (NO_ID - 1) /* more than one transaction; no transaction has this number */

typedef struct undone_finder {
    const history *h;
    mem *m;
    id_map by;      /* (key, value) -> the transaction that wrote it and undid it, or SEVERAL */
    id_map lists;   /* key -> the transaction that appended to it and undid that, or SEVERAL */
    key_set stayed; /* (key, value) that was written and not undone */
    txn_id deleter; /* the transaction that undid a delete, SEVERAL, or NO_ID */
    bool rows;
} undone_finder;

static uint64_t pair_written(const history *h, op_id o)
{
    return map_pair(h->op_key[o], value_or_absent(h->op_value[o]));
}

static bool changes(const history *h, op_id o)
{
    enum op_kind kind = op_kind_of(h, o);
    return kind == OP_WRITE || kind == OP_DELETE || kind == OP_APPEND;
}

static txn_id one_or_several(txn_id before, txn_id t)
{
    return before == NO_ID || before == t ? t : SEVERAL;
}

static void note_undone(undone_finder *f, txn_id t, op_id o)
{
    static_assert(NO_ID == MAP_NONE, "what is new in a map has no transaction");
    bool append = op_kind_of(f->h, o) == OP_APPEND;
    uint64_t what = append ? f->h->op_key[o] : pair_written(f->h, o);
    uint32_t *by = id_map_at(f->m, append ? &f->lists : &f->by, what);
    *by = one_or_several(*by, t);
    if (op_kind_of(f->h, o) == OP_DELETE) f->deleter = one_or_several(f->deleter, t);
}

/* May the read of k by t have shown x because another transaction had written it and undid it? */
static bool shown(const undone_finder *f, txn_id t, key_id k, value_id x)
{
    uint64_t pair = map_pair(k, value_or_absent(x));
    uint32_t by = id_map_get(&f->by, pair), list = id_map_get(&f->lists, k);
    if (x == VALUE_UNKNOWN) return false;
    if (list != MAP_NONE && list != t && x != VALUE_NULL) return true;
    return by != MAP_NONE && by != t && !key_set_has(&f->stayed, pair) &&
           value_or_absent(f->h->key_init[k]) != value_or_absent(x);
}

static bool shown_by(const undone_finder *f, txn_id t, op_id o)
{
    const history *h = f->h;
    enum op_kind kind = op_kind_of(h, o);
    if (h->op_kind[o] & OP_FAILED) return false;
    if (kind == OP_READ) return shown(f, t, h->op_key[o], h->op_value[o]);
    if (kind != OP_SCAN && kind != OP_ITER) return false;
    const range *g = &h->ranges.at[h->op_key[o]];
    bool found = f->deleter != NO_ID && f->deleter != t;
    for (uint32_t i = 0; i < g->rows && !found; i++)
        found = shown(f, t, h->row_key.at[g->first_row + i], h->row_value.at[g->first_row + i]);
    return found;
}

static bool is_judged(const undone_finder *f, txn_id t)
{
    size_t n;
    if (txn_status_of(f->h, t) == TXN_ABORTED) return false;
    const char *text = f->rows ? history_level_text(f->h, t, &n) : NULL;
    return !f->rows || (text && mixed_row_of(text, n) == ROW_RU);
}

static txn_id first_reader(const undone_finder *f)
{
    const history *h = f->h;
    for (txn_id t = 0; t < h->txns; t++) {
        if (!is_judged(f, t)) continue;
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++)
            if (shown_by(f, t, o)) return t;
        guard_tick(f->m->guard);
    }
    return NO_ID;
}

txn_id undone_read(const history *h, bool rows, mem *work)
{
    undone_finder f = {.h = h, .m = work, .deleter = NO_ID, .rows = rows};
    for (txn_id t = 0; t < h->txns; t++)
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++)
            if (h->op_kind[o] & OP_FAILED && changes(h, o) && op_undone(h, o))
                note_undone(&f, t, o);
    if (!f.by.n && !f.lists.n) return NO_ID;
    for (op_id o = 0; o < h->ops; o++)
        if (!op_failed(h, o) && changes(h, o)) key_set_add(work, &f.stayed, pair_written(h, o));
    txn_id reader = first_reader(&f);
    id_map_free(work, &f.by);
    id_map_free(work, &f.lists);
    key_set_free(work, &f.stayed);
    return reader;
}
