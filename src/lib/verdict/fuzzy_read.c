/*
 * fuzzy_read.c - see fuzzy_read.h.
 *
 * Which levels say that two reads of a key see one version follows from doc/levels.md 5: all from
 * read-atomic, repeatable-read and consistent-view on.  Repeatable-read and InnoDB's levels say it
 * of items only: what a scan did not find may have come to be since.  InnoDB's plain reads share a
 * snapshot; its locking reads each see the newest version, and only at the tight level together.
 * Own writes before the second read would make it another question, and are left to the deciders.
 */
#include "verdict/fuzzy_read.h"

#include <assert.h>

#define FEW_READS 16u /* a transaction of so many reads is looked at pair by pair */

typedef struct finder {
    const asg *g;
    bool items;    /* only what was found, not what a scan did not find */
    bool split;    /* plain and locking reads are apart */
    bool unlocked; /* locking reads do not count */
    /* Of transactions with many reads.  Per key and class: the last obligation; per key: the last
       node that wrote it before the read at hand. */
    uint32_t *last;
    node_id *writer;
} finder;

static bool same_version_law(enum level_id level, finder *f)
{
    switch (level) {
    case LEVEL_INNODB_RR: f->unlocked = true;    /* fall through */
    case LEVEL_INNODB_RR_TIGHT: f->split = true; /* fall through */
    case LEVEL_RR: f->items = true; return true;
    case LEVEL_RA:
    case LEVEL_CC:
    case LEVEL_PC:
    case LEVEL_UA:
    case LEVEL_NLU:
    case LEVEL_PSI:
    case LEVEL_CV:
    case LEVEL_FCV:
    case LEVEL_US:
    case LEVEL_SI:
    case LEVEL_GSI:
    case LEVEL_PCSI:
    case LEVEL_STRONG_SI:
    case LEVEL_SER:
    case LEVEL_SSER:
    case LEVEL_LIN: return true;
    default: return false;
    }
}

/* 0 or 1, or 2: the read does not count. */
static unsigned class_of(const finder *f, uint32_t ob)
{
    bool locking = f->g->h->op_kind[f->g->ob_op[ob]] & OP_LOCK;
    if ((f->items && f->g->ob_flags[ob] & OB_PRED) || (f->unlocked && locking)) return 2;
    return f->split && locking;
}

static bool is_write_of(const history *h, op_id o)
{
    unsigned kind = h->op_kind[o] & OP_KIND_MASK;
    return (kind == OP_WRITE || kind == OP_DELETE || kind == OP_APPEND) && !op_failed(h, o);
}

/* Do two obligations of one key and node contradict each other, own writes aside? */
static bool differ(const finder *f, uint32_t a, uint32_t b)
{
    const asg *g = f->g;
    assert(a < b && g->ob_node[a] == g->ob_node[b] && g->ob_key[a] == g->ob_key[b]);
    unsigned class = class_of(f, a);
    return class < 2 && class == class_of(f, b) &&
           value_or_absent(g->ob_value[a]) != value_or_absent(g->ob_value[b]);
}

static bool wrote_before(const asg *g, uint32_t ob)
{
    const history *h = g->h;
    for (op_id o = h->txn_op[g->node_txn[g->ob_node[ob]]]; o < g->ob_op[ob]; o++)
        if (is_write_of(h, o) && h->op_key[o] == g->ob_key[ob]) return true;
    return false;
}

static bool find_in_few(const finder *f, uint32_t lo, uint32_t hi, repeated_read *out)
{
    const key_id *key = f->g->ob_key;
    for (uint32_t b = lo + 1; b < hi; b++)
        for (uint32_t a = lo; a < b; a++)
            if (key[a] == key[b] && differ(f, a, b) && !wrote_before(f->g, b)) {
                *out = (repeated_read){a, b};
                return true;
            }
    return false;
}

static void make_tables(finder *f)
{
    mem *m = f->g->m;
    size_t keys = history_keys(f->g->h);
    if (f->last) return;
    f->last = mem_array(m, uint32_t, 2 * keys + 1);
    f->writer = mem_array(m, node_id, keys + 1);
    memset(f->last, 0xff, (2 * keys + 1) * sizeof *f->last);
    memset(f->writer, 0xff, (keys + 1) * sizeof *f->writer);
}

/* Of more than two reads that are not all the same, some two in a row differ. */
static bool find_in_many(finder *f, uint32_t lo, uint32_t hi, repeated_read *out)
{
    const asg *g = f->g;
    const history *h = g->h;
    node_id v = g->ob_node[lo];
    op_id o = h->txn_op[g->node_txn[v]];
    make_tables(f);
    for (uint32_t b = lo; b < hi; b++) {
        key_id k = g->ob_key[b];
        for (; o < g->ob_op[b]; o++)
            if (is_write_of(h, o)) f->writer[h->op_key[o]] = v;
        unsigned class = class_of(f, b);
        if (class == 2) continue;
        uint32_t *last = &f->last[2 * (size_t)k + class], a = *last;
        *last = b;
        /* (Any other number is of another node: those of unknown outcome come last.) */
        if (a >= lo && a < b && f->writer[k] != v && differ(f, a, b)) {
            *out = (repeated_read){a, b};
            return true;
        }
    }
    return false;
}

/* Among those of known outcome, or among those that others show to have committed. */
static bool find_among(finder *f, bool maybe, repeated_read *out)
{
    const asg *g = f->g;
    bool found = false;
    for (node_id v = 0; v < g->nodes && !found; v++) {
        uint32_t lo = g->ob_first[v], hi = g->ob_first[v + 1];
        if (hi - lo < 2 || !asg_in(g, v) || g->maybe[v] != maybe) continue;
        found = hi - lo <= FEW_READS ? find_in_few(f, lo, hi, out) : find_in_many(f, lo, hi, out);
        guard_tick(g->m->guard);
    }
    return found;
}

bool fuzzy_read_find(const asg *g, enum level_id level, repeated_read *out)
{
    finder f = {.g = g};
    if (!same_version_law(level, &f)) return false;
    bool found = find_among(&f, false, out) || (g->unknown && find_among(&f, true, out));
    mem_put(g->m, f.last);
    mem_put(g->m, f.writer);
    return found;
}
