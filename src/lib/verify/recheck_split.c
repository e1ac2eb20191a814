/*
 * recheck_split.c - replaying InnoDB's repeatable read (levels.md MDB-1, MDBT-1).
 *
 * The commit order and its choices were shown to be read-committed by recheck.c.  The second
 * witness is an order of points: (t, no operation) is where the snapshot of t was taken, (t, o)
 * where the locking reads and writes of t from operation o on, up to its next point, took effect.
 * At the tight level a transaction has one such point at most.  Along the points an item read finds
 * the newest version of others, and every read finds its writer before it.  A transaction without
 * points stands, with all it did, at its place in the commit order.
 */
#include "base/hash.h"
#include "base/sort.h"
#include "verify/recheck.h"

typedef struct points {
    checker *c;
    uint32_t *first, *at; /* per transaction: its points, as places from 1 */
    uint32_t *write_at;   /* per write: the place of its part */
    installers x;         /* writes by key, in the order of their places */
    uint32_t *choice;     /* (op, key) -> index + 1 of point_choices */
    size_t mask;
} points;

static bool load_points(points *z)
{
    checker *c = z->c;
    const claim *v = c->v;
    z->first = mem_array0(c->m, uint32_t, c->h->txns + 2);
    z->at = mem_array(c->m, uint32_t, v->points.n + 1);
    for (size_t i = 0; i < v->points.n; i++) {
        txn_id t = v->points.at[i].txn;
        op_id o = v->points.at[i].op;
        if (t >= c->h->txns || !c->place[t])
            return recheck_no(c, NO_ID, "a point of a transaction that takes no part");
        if (o != NO_ID && (o < c->h->txn_op[t] || o >= c->h->txn_op[t + 1]))
            return recheck_no(c, t, "a point at an operation of another transaction");
        z->first[t + 2]++;
    }
    for (size_t t = 2; t < c->h->txns + 2; t++) z->first[t] += z->first[t - 1];
    for (uint32_t i = 0; i < v->points.n; i++) z->at[z->first[v->points.at[i].txn + 1]++] = i + 1;
    for (uint32_t i = 1; i < v->points.n; i++) {
        const order_point *a = &v->points.at[z->at[i - 1] - 1], *b = &v->points.at[z->at[i] - 1];
        if (a->txn == b->txn && a->op + 1 >= b->op + 1) /* +1: the snapshot comes first */
            return recheck_no(c, a->txn, "its points stand in another order than its operations");
        if (a->txn == b->txn && a->op != NO_ID && v->level.id == LEVEL_INNODB_RR_TIGHT)
            return recheck_no(c, a->txn, "the level has one point for all that it locked");
    }
    return true;
}

/* Where operation o of t took effect; NO_ID: the snapshot. */
static uint32_t place_at(const points *z, txn_id t, op_id o)
{
    uint32_t lo = z->first[t], hi = z->first[t + 1], end = hi;
    if (lo == hi) return z->c->v->points.n ? 0 : z->c->place[t];
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (z->c->v->points.at[z->at[mid] - 1].op + 1 <= o + 1)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == z->first[t] || lo > end) return 0;
    uint32_t p = z->at[lo - 1];
    bool snapshot = z->c->v->points.at[p - 1].op == NO_ID;
    return snapshot == (o == NO_ID) ? p : 0; /* no point covers it */
}

static bool load_versions(points *z)
{
    checker *c = z->c;
    size_t keys = history_keys(c->h), n = 0;
    uint32_t *which = mem_array(c->m, uint32_t, c->w_key.n + 1);
    uint64_t *at = mem_array(c->m, uint64_t, c->w_key.n + 1);
    z->write_at = mem_array0(c->m, uint32_t, c->w_key.n + 1);
    z->x.first = mem_array0(c->m, uint32_t, keys + 2);
    for (uint32_t w = 0; w < c->w_key.n; w++) {
        if (!installed(c, w) || !c->place[c->w_txn[w]]) continue;
        z->write_at[w] = place_at(z, c->w_txn[w], c->w_op[w]);
        if (!z->write_at[w]) return recheck_no(c, c->w_txn[w], "a write has no point");
        which[n] = w;
        at[n++] = z->write_at[w];
        z->x.first[c->w_key.at[w] + 2]++;
    }
    for (size_t k = 2; k < keys + 2; k++) z->x.first[k] += z->x.first[k - 1];
    z->x.place = mem_array(c->m, uint32_t, n + 1);
    uint32_t *by = sort_by_key(c->m, at, (uint32_t)n);
    for (size_t i = 0; i < n; i++) /* for now the writes, not their places */
        z->x.place[z->x.first[c->w_key.at[which[by[i]]] + 1]++] = which[by[i]];
    mem_put(c->m, which);
    mem_put(c->m, at);
    mem_put(c->m, by);
    return true;
}

/* Positions that the history gives rise along the points, too; and the lists that were read are the
   same along both orders if both have the same versions up to the last that was read. */
static bool check_versions(points *z)
{
    checker *c = z->c;
    const history *h = c->h;
    size_t keys = history_keys(h);
    uint32_t *shown = mem_array0(c->m, uint32_t, keys + 1); /* lists: last place that was read */
    for (uint32_t p = 1; p <= c->n; p++)
        for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1]; i++) {
            const seen *r = &c->reads.at[i];
            uint32_t lo, hi, *last = &shown[r->key];
            if (!c->is_list[r->key]) continue;
            if (r->value > *last) *last = r->value;
            hi = recheck_own(c, c->v->order[p - 1], r->key, r->op, &lo);
            if (lo < hi && p > *last) *last = p; /* own appends stand right behind */
        }
    for (size_t k = 0; k < keys; k++) {
        bool known = false;
        int64_t position = 0;
        uint32_t before = 0;
        for (uint32_t i = z->x.first[k]; i < z->x.first[k + 1]; i++) {
            uint32_t w = z->x.place[i], p = c->place[c->w_txn[w]];
            if (c->is_list[k] && (p <= shown[k] || before < shown[k])) {
                if (p < before || (p > shown[k] && before < shown[k]))
                    return recheck_no(c, c->w_txn[w], "appended elsewhere along the points");
                before = p;
            }
            const attr *a = h->op_kind[c->w_op[w]] & OP_ATTR ? op_attrs(h, c->w_op[w]) : NULL;
            for (; a && a < h->attrs.at + h->attrs.n && a->op == c->w_op[w]; a++) {
                if (a->kind != ATTR_VER) continue;
                if (known && position >= (int64_t)a->a)
                    return recheck_no(c, c->w_txn[w], "a point goes against a version position");
                known = true;
                position = (int64_t)a->a;
            }
        }
    }
    mem_put(c->m, shown);
    return true;
}

static void load_point_choices(points *z)
{
    const chosen_reads *all = &z->c->v->point_choices;
    size_t n = 16;
    while (n < 2 * all->n) n *= 2;
    z->choice = mem_array0(z->c->m, uint32_t, n);
    z->mask = n - 1;
    for (uint32_t i = 0; i < all->n; i++) {
        size_t at = (size_t)hash_pair(all->at[i].op, all->at[i].key) & z->mask;
        while (z->choice[at]) at = (at + 1) & z->mask;
        z->choice[at] = i + 1;
    }
}

/* The write that a read saw along the points, NO_ID: the initial state. */
static bool source_of(points *z, txn_id t, const seen *r, value_id x, uint32_t *w)
{
    checker *c = z->c;
    size_t at = (size_t)hash_pair(r->op, r->key) & z->mask;
    *w = r->value ? recheck_install(c, c->v->order[r->value - 1], r->key) : NO_ID;
    for (; z->choice[at]; at = (at + 1) & z->mask) {
        const chosen *pick = &c->v->point_choices.at[z->choice[at] - 1];
        if (pick->op != r->op || pick->key != r->key) continue;
        if (c->is_list[r->key]) return recheck_no(c, t, "a list read is no choice here");
        bool takes_part = pick->writer < c->h->txns && c->place[pick->writer];
        if (pick->writer != NO_ID && (!takes_part || pick->writer == t))
            return recheck_no(c, t, "a writer chosen for a point takes no part");
        *w = pick->writer == NO_ID ? NO_ID : recheck_install(c, pick->writer, r->key);
        if (pick->writer == NO_ID && c->init[r->key] == FREE) c->init[r->key] = x;
        bool gave = pick->writer == NO_ID ? c->init[r->key] == x
                                          : *w != NO_ID && plain(c->h->op_value[c->w_op[*w]]) == x;
        if (!gave ||
            !recheck_allowed(c, r->op, recheck_hint(c, r->op, r->key), x == VALUE_NULL, *w))
            return recheck_no(c, t, "a writer chosen for a point did not install what was read");
        break;
    }
    return true;
}

/* The last version of the key before a place that is not t's own; NO_ID: the initial one. */
static uint32_t newest(points *z, key_id k, uint32_t place, txn_id t)
{
    uint32_t first = z->x.first[k], lo = first, hi = z->x.first[k + 1];
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (z->write_at[z->x.place[mid]] < place)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (; lo > first; lo--)
        if (z->c->w_txn[z->x.place[lo - 1]] != t) return z->x.place[lo - 1];
    return NO_ID;
}

static bool check_read(points *z, txn_id t, const seen *r, value_id x)
{
    checker *c = z->c;
    op_id o = c->h->op_kind[r->op] & OP_LOCK ? r->op : NO_ID;
    uint32_t w;
    if (o == NO_ID && c->is_list[r->key])
        o = recheck_own_statement(c, t, r->key, r->op); /* with the append */
    uint32_t place = place_at(z, t, o);
    if (!source_of(z, t, r, x, &w)) return false;
    if (w == NO_ID && z->x.first[r->key] == z->x.first[r->key + 1]) return true; /* never written */
    if (!place) return recheck_no(c, t, "a read has no point");
    if (w != NO_ID && z->write_at[w] >= place)
        return recheck_no(c, t, "a read takes effect before what it read");
    if (!recheck_predicate(c->h, r->op, r->key) && newest(z, r->key, place, t) != w)
        return recheck_no(c, t, "read a version that was not the newest at its point");
    return true;
}

bool recheck_split(checker *c, const value_id *what)
{
    points z = {.c = c};
    if (!load_points(&z) || !load_versions(&z) || !check_versions(&z)) return false;
    load_point_choices(&z);
    for (uint32_t p = 1; p <= c->n; p++) {
        for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1]; i++)
            if (!check_read(&z, c->v->order[p - 1], &c->reads.at[i], what[i])) return false;
        guard_tick(c->m->guard);
    }
    return true;
}
