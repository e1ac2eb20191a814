/*
 * recheck_session.c - replaying a commit order at the four session guarantees (levels.md 5).
 *
 * The axiom is recheck.c's.  What is visible stands in a table: for each session and key, after
 * each of its committed transactions, the latest place of an installer of the key that the session
 * has written (read-your-writes, monotonic-writes) or seen (the other two).  A reader looks it up
 * for its own session, or for the sessions of those it read from.
 */
#include "verify/recheck.h"

typedef struct entry {
    uint32_t after; /* index in sess_txn of the transaction */
    uint32_t latest;
} entry;

typedef struct table {
    checker *c;
    uint32_t *index;     /* per place: index in sess_txn */
    uint32_t *first;     /* per key */
    entry *at;           /* by key, rising */
    uint32_t *best, *of; /* per key: of the session at hand (+ 1) */
    VEC(entry) found;
    VEC(key_id) key;
} table;

static void learn(table *x, uint32_t session, uint32_t j, uint32_t p2)
{
    checker *c = x->c;
    txn_id t = c->v->order[p2 - 1];
    for (uint32_t w = c->w_first[t]; w < c->w_first[t + 1]; w++) {
        key_id k = c->w_key.at[w];
        if (!installed(c, w)) continue;
        if (x->of[k] != session + 1) x->best[k] = 0;
        x->of[k] = session + 1;
        if (x->best[k] >= p2) continue;
        x->best[k] = p2;
        entry e = {j, p2};
        vec_push(c->m, &x->found, e);
        vec_push(c->m, &x->key, k);
    }
}

static bool fill(table *x, bool seen_too)
{
    checker *c = x->c;
    const history *h = c->h;
    size_t keys = history_keys(h);
    x->index = mem_array0(c->m, uint32_t, (size_t)c->n + 2);
    x->best = mem_array0(c->m, uint32_t, keys + 1);
    x->of = mem_array0(c->m, uint32_t, keys + 1);
    for (uint32_t j = 0; j < h->txns; j++) {
        txn_id t = h->sess_txn[j];
        uint32_t p = c->place[t];
        if (!p) continue;
        x->index[p] = j;
        if (txn_status_of(h, t) != TXN_COMMITTED) continue;
        if (!seen_too) learn(x, h->txn_session[t], j, p);
        for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1] && seen_too; i++) {
            uint32_t from = c->reads.at[i].value;
            if (!from) continue;
            learn(x, h->txn_session[t], j, from);
            txn_id s = c->v->order[from - 1];
            if (recheck_too_large(c, c->w_first[s + 1] - c->w_first[s] + 1)) return false;
        }
    }
    x->first = mem_array0(c->m, uint32_t, keys + 2);
    x->at = mem_array(c->m, entry, x->found.n + 1);
    for (size_t i = 0; i < x->key.n; i++) x->first[x->key.at[i] + 2]++;
    for (size_t k = 2; k < keys + 2; k++) x->first[k] += x->first[k - 1];
    for (size_t i = 0; i < x->key.n; i++) x->at[x->first[x->key.at[i] + 1]++] = x->found.at[i];
    return true;
}

/* The latest installer of k that the session of p knew before p, or 0. */
static uint32_t known_before(const table *x, uint32_t p, key_id k)
{
    const history *h = x->c->h;
    uint32_t j = x->index[p], lo = x->first[k], hi = x->first[k + 1];
    uint32_t begin = h->sess_first[h->txn_session[x->c->v->order[p - 1]]];
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (x->at[mid].after < j)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == x->first[k] || x->at[lo - 1].after < begin) return 0;
    return x->at[lo - 1].latest;
}

static bool fits(table *x, uint32_t p, const seen *r, uint32_t end)
{
    uint32_t latest = known_before(x, end, r->key);
    if (latest <= r->value || latest == p) return true;
    return recheck_no(x->c, x->c->v->order[p - 1],
                      "read past a version that its session, or that "
                      "of one it read from, already knew");
}

bool recheck_session(checker *c)
{
    enum level_id level = c->v->level.id;
    bool saw = level == LEVEL_MR || level == LEVEL_WFR,
         via = level == LEVEL_MW || level == LEVEL_WFR;
    table x = {.c = c};
    if (!c->v->session_order) return true;
    if (!fill(&x, saw)) return false;
    for (uint32_t p = 1; p <= c->n; p++) {
        for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1]; i++) {
            const seen *r = &c->reads.at[i];
            if (!via && !fits(&x, p, r, p)) return false;
            for (uint32_t j = c->r_first[p]; j < c->r_first[p + 1] && via; j++) {
                uint32_t end = c->reads.at[j].value;
                if (end && !fits(&x, p, r, end)) return false;
                if (recheck_too_large(c, 1)) return false;
            }
        }
        guard_tick(c->m->guard);
    }
    return true;
}
