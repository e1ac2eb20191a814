/*
 * recheck_split.c - replaying InnoDB's repeatable read (levels.md MDB-1, MDBT-1).
 *
 * The commit order and its choices were shown to be read-committed by recheck.c.  The second
 * witness is an order of points: (t, no operation) is where the snapshot of t was taken, (t, o)
 * where the locking reads and writes of t from operation o on, up to its next point, took effect.
 * At the tight level a transaction has one such point at most.  Along the points an item read finds
 * the newest version of others, and every read finds its writer before it.  A transaction without
 * points stands, with all it did, at its place in the commit order.
 *
 * Lists are replayed along the points: each version is the one before it with what its transaction
 * did.  What a list of unknown initial content held at first is the same for both orders.
 */
#include "base/hash.h"
#include "base/search.h"
#include "base/sort.h"
#include "verify/recheck.h"

typedef struct points {
    checker *c;
    uint32_t *first, *at; /* per transaction: its points, as places from 1 */
    uint32_t *write_at;   /* per write: the place of its part */
    installers x;         /* writes by key, in the order of their places */
    uint32_t *choice;     /* (op, key) -> index + 1 of point_choices */
    size_t mask;
    size_t text; /* how much of checker.text is of the commit order */
} points;

typedef struct list_read {
    txn_id txn;
    uint32_t at; /* of checker.reads */
} list_read;

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

/* Positions that the history gives rise along the points, too. */
static bool check_versions(points *z)
{
    checker *c = z->c;
    const history *h = c->h;
    size_t keys = history_keys(h);
    for (size_t k = 0; k < keys; k++) {
        bool known = false;
        int64_t position = 0;
        for (uint32_t i = z->x.first[k]; i < z->x.first[k + 1]; i++) {
            uint32_t w = z->x.place[i];
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

/* The writer that the answer names for a read along the points: an index + 1 of point_choices; 0:
   it names none. */
static uint32_t choice_at(const points *z, const seen *r)
{
    const chosen_reads *all = &z->c->v->point_choices;
    size_t at = (size_t)hash_pair(r->op, r->key) & z->mask;
    while (z->choice[at] &&
           (all->at[z->choice[at] - 1].op != r->op || all->at[z->choice[at] - 1].key != r->key))
        at = (at + 1) & z->mask;
    return z->choice[at];
}

/* The write that the answer names for a read, NO_ID: the initial state; without a name, the one of
   the commit order. */
static bool named_source(points *z, txn_id t, const seen *r, uint32_t *w)
{
    checker *c = z->c;
    uint32_t i = choice_at(z, r);
    *w = r->value ? recheck_install(c, c->v->order[r->value - 1], r->key) : NO_ID;
    if (!i) return true;
    txn_id writer = c->v->point_choices.at[i - 1].writer;
    bool takes_part = writer < c->h->txns && c->place[writer];
    if (writer != NO_ID && (!takes_part || writer == t))
        return recheck_no(c, t, "a writer chosen for a point takes no part");
    *w = writer == NO_ID ? NO_ID : recheck_install(c, writer, r->key);
    return writer == NO_ID || *w != NO_ID ||
           recheck_no(c, t, "a writer chosen for a point did not install what was read");
}

/* The write that a read saw along the points. */
static bool source_of(points *z, txn_id t, const seen *r, value_id x, uint32_t *w)
{
    checker *c = z->c;
    if (!named_source(z, t, r, w)) return false;
    if (!choice_at(z, r)) return true;
    if (*w == NO_ID && c->init[r->key] == FREE) c->init[r->key] = x;
    bool gave = *w == NO_ID ? c->init[r->key] == x : plain(c->h->op_value[c->w_op[*w]]) == x;
    if (gave && recheck_allowed(c, r->op, recheck_hint(c, r->op, r->key), x == VALUE_NULL, *w))
        return true;
    return recheck_no(c, t, "a writer chosen for a point did not install what was read");
}

/* --- lists ------------------------------------------------------------------------------------ */

/* Does a version that was read along the commit order rest on the initial content of its key?  Then
   that content is settled.  The reads are those of the key. */
static bool initial_shown(const checker *c, const list_read *reads, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const seen *r = &c->reads.at[reads[i].at];
        uint32_t v = recheck_version_at(c, r->key, r->value);
        if (v != NO_ID && !c->versions[v].set) return true;
    }
    return false;
}

/* What t was shown of a list by others, less its own appends, which *pin it to the version before
   its own. */
static bool shown_by_others(const checker *c, txn_id t, const seen *r, const value_id *x, seq *out,
                            bool *pin)
{
    uint32_t lo, hi = recheck_own(c, t, r->key, r->op, &lo);
    *out = content(c->h, x);
    *pin = lo < hi;
    return recheck_strip(c, lo, hi, out);
}

/* The version of k after i writes of its row, by the rank of the write; 0: the initial one. */
static uint32_t rank_of(const points *z, key_id k, uint32_t w)
{
    if (w == NO_ID) return 0;
    SEARCH_FIRST(uint32_t, at, z->x.first[k], z->x.first[k + 1],
                 z->write_at[z->x.place[at]] >= z->write_at[w]);
    return at - z->x.first[k] + 1;
}

/* The versions of list k along the points, from that initial content, in list[0..]. */
static void replay_points(points *z, key_id k, seq init, version *list)
{
    checker *c = z->c;
    list[0] = (version){0, (uint32_t)c->text.n, init.n, init.scalar, false};
    for (uint32_t i = 0; i < init.n; i++) vec_push(c->m, &c->text, init.at[i]);
    for (uint32_t i = z->x.first[k], n = 1; i < z->x.first[k + 1]; i++, n++) {
        list[n] = list[n - 1];
        recheck_apply(c, c->w_txn[z->x.place[i]], k, &list[n]);
    }
}

/* Where nothing else has settled the initial content, it is what a read along the points shows. */
static seq find_initial_list(points *z, const list_read *reads, size_t n, const value_id *what,
                             version *list)
{
    checker *c = z->c;
    seq init = {0};
    bool direct = false;
    key_id k = c->reads.at[reads[0].at].key;
    replay_points(z, k, init, list);
    for (size_t i = 0; i < n && !direct; i++) {
        const seen *r = &c->reads.at[reads[i].at];
        uint32_t w;
        seq x;
        bool pin;
        if (!shown_by_others(c, reads[i].txn, r, &what[reads[i].at], &x, &pin) ||
            !named_source(z, reads[i].txn, r, &w))
            continue; /* as check_list will say */
        const version *v = &list[rank_of(z, k, w)];
        if (v->set || v->len > x.n) continue;
        direct = v->len == 0; /* shows also whether it is a list */
        x.n -= v->len;
        init = x;
    }
    return init;
}

/* Is it one plain value instead of a list of one element?  A read of what was appended to it does
   not tell, so that where no read along the commit order saw it as it was, one along the points may
   say so. */
static bool initial_is_scalar(points *z, const list_read *reads, size_t n, const value_id *what,
                              seq known)
{
    checker *c = z->c;
    bool told = known.scalar;
    for (size_t i = 0; i < n; i++) {
        const seen *r = &c->reads.at[reads[i].at];
        uint32_t w;
        seq x;
        bool pin;
        if (recheck_version_at(c, r->key, r->value) == c->v_first[r->key]) return known.scalar;
        if (known.n == 1 && shown_by_others(c, reads[i].txn, r, &what[reads[i].at], &x, &pin) &&
            named_source(z, reads[i].txn, r, &w) && w == NO_ID && x.n == 1 &&
            x.at[0] == known.at[0])
            told = x.scalar;
    }
    return told;
}

/* One read of a list: what it saw is the version that it names, right before its own if it saw own
   appends. */
static bool check_list(points *z, txn_id t, const seen *r, const value_id *what,
                       const version *list)
{
    checker *c = z->c;
    uint32_t w;
    seq x;
    bool pin;
    hint f = recheck_hint(c, r->op, r->key);
    if (!shown_by_others(c, t, r, what, &x, &pin))
        return recheck_no(c, t, "did not read its own appends");
    if (!named_source(z, t, r, &w)) return false;
    uint32_t at = rank_of(z, r->key, w);
    if (!same(recheck_content(c, &list[at]), x))
        return recheck_no(c, t, "read a list that the appends along the points do not give");
    if (pin && at + 1 != rank_of(z, r->key, recheck_install(c, t, r->key)))
        return recheck_no(c, t, "read another list along the points than the one it appended to");
    if (pin && f.given && !f.init && f.from == c->h->txn_label[t]) f.given = false;
    return recheck_allowed(c, r->op, f, x.n == 0, w) ||
           recheck_no(c, t, "a list read goes against its hint along the points");
}

/* All reads of one list. */
static bool check_key(points *z, const list_read *reads, size_t n, const value_id *what,
                      version *list)
{
    checker *c = z->c;
    key_id k = c->reads.at[reads[0].at].key;
    bool ok = true;
    c->text.n = z->text;
    if (c->open[k] && !initial_shown(c, reads, n)) {
        seq init = find_initial_list(z, reads, n, what, list);
        replay_points(z, k, init, list);
    } else { /* a copy, since the text may move when it grows */
        seq known = recheck_content(c, &c->versions[c->v_first[k]]);
        value_id *copy = mem_array(c->m, value_id, (size_t)known.n + 1);
        if (known.n) memcpy(copy, known.at, known.n * sizeof *copy);
        seq init = {copy, known.n, known.scalar};
        if (c->open[k]) init.scalar = initial_is_scalar(z, reads, n, what, init);
        replay_points(z, k, init, list);
        mem_put(c->m, copy);
    }
    for (size_t i = 0; i < n && ok; i++) {
        uint32_t at = reads[i].at;
        ok = check_list(z, reads[i].txn, &c->reads.at[at], &what[at], list);
        guard_tick(c->m->guard);
    }
    return ok;
}

static bool check_lists(points *z, const value_id *what)
{
    checker *c = z->c;
    size_t keys = history_keys(c->h), n = 0, most = 0;
    list_read *reads = mem_array(c->m, list_read, c->reads.n + 1);
    list_read *sorted = mem_array(c->m, list_read, c->reads.n + 1);
    uint64_t *key = mem_array(c->m, uint64_t, c->reads.n + 1);
    for (uint32_t p = 1; p <= c->n; p++)
        for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1]; i++) {
            if (!c->is_list[c->reads.at[i].key]) continue;
            reads[n] = (list_read){c->v->order[p - 1], i};
            key[n++] = c->reads.at[i].key;
        }
    for (size_t k = 0; k < keys; k++)
        if (z->x.first[k + 1] - z->x.first[k] > most) most = z->x.first[k + 1] - z->x.first[k];
    version *list = mem_array(c->m, version, most + 2);
    uint32_t *by = sort_by_key(c->m, key, (uint32_t)n);
    for (size_t i = 0; i < n; i++) sorted[i] = reads[by[i]];
    bool ok = true;
    for (size_t i = 0, end; i < n && ok; i = end) {
        for (end = i; end < n && key[by[end]] == key[by[i]]; end++) {}
        ok = check_key(z, sorted + i, end - i, what, list);
    }
    mem_put(c->m, reads);
    mem_put(c->m, sorted);
    mem_put(c->m, key);
    mem_put(c->m, list);
    mem_put(c->m, by);
    return ok;
}

/* --- reads ------------------------------------------------------------------------------------ */

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
    if (c->is_list[r->key] ? !named_source(z, t, r, &w) : !source_of(z, t, r, x, &w)) return false;
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
    z.text = c->text.n;
    if (!check_lists(&z, what)) return false;
    for (uint32_t p = 1; p <= c->n; p++) {
        for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1]; i++)
            if (!check_read(&z, c->v->order[p - 1], &c->reads.at[i], what[i])) return false;
        guard_tick(c->m->guard);
    }
    return true;
}
