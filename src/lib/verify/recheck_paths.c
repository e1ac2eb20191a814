/*
 * recheck_paths.c - replaying a commit order at levels where what leads to the reader, in many
 * steps, may not have been missed: consistent view, parallel SI, monotonic view, and these and
 * causal with real time.
 *
 * The order is walked once.  The transactions are cut into chains, paths of the edges that the
 * level counts; a vector clock says of each chain the last member that leads to a place, WIDTH
 * chains at a time.  A read is broken if the version behind the one it was resolved to leads to the
 * reader: versions of a key lead to each other, so that one is the first to be seen.  Without
 * version order (causal) each of them is asked.
 */
#include "base/sort.h"
#include "verify/recheck.h"

#define WIDTH 32u /* chains whose clocks are kept at a time */

typedef struct clocks {
    checker *c;
    const installers *x;
    bool writes;  /* a version leads to the next */
    bool in_turn; /* a read sees what came before it in its transaction only */
    uint32_t chains;
    uint32_t *of, *rank;      /* per place; ranks from 1 */
    uint32_t lo, width;       /* the chains at hand */
    uint32_t *clock;          /* per place */
    uint32_t *ended, n_ended; /* with real time: places by their ends */
    uint32_t *past, n_past;   /* per member of ended: the clocks of all up to it */
} clocks;

/* --- chains ---------------------------------------------------------------------------------- */

static void make_chains(clocks *z)
{
    checker *c = z->c;
    z->of = mem_array(c->m, uint32_t, (size_t)c->n + 1);
    z->rank = mem_array(c->m, uint32_t, (size_t)c->n + 1);
    uint32_t *tail = mem_array(c->m, uint32_t, (size_t)c->n + 1); /* per chain */
    for (uint32_t p = 1; p <= c->n; p++) {
        txn_id t = c->v->order[p - 1];
        uint32_t q = c->v->session_order ? c->so_pred[p] : 0;
        for (uint32_t w = c->w_first[t]; w < c->w_first[t + 1] && z->writes; w++) {
            if (q && tail[z->of[q]] == q) break;
            if (installed(c, w)) q = recheck_installer_before(z->x, c->w_key.at[w], p);
        }
        for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1]; i++) {
            if (q && tail[z->of[q]] == q) break;
            q = c->reads.at[i].value;
        }
        bool goes_on = q && tail[z->of[q]] == q;
        z->of[p] = goes_on ? z->of[q] : z->chains++;
        z->rank[p] = goes_on ? z->rank[q] + 1 : 1;
        tail[z->of[p]] = p;
        guard_tick(c->m->guard);
    }
    mem_put(c->m, tail);
}

static void load_ended(clocks *z)
{
    checker *c = z->c;
    int64_t end;
    uint64_t *key = mem_array(c->m, uint64_t, (size_t)c->n + 1);
    z->ended = mem_array(c->m, uint32_t, (size_t)c->n + 1);
    for (uint32_t p = 1; p <= c->n; p++) {
        if (!recheck_stamp(c->h, c->v->order[p - 1], 3, &end)) continue;
        key[z->n_ended] = sort_key(end);
        z->ended[z->n_ended++] = p;
    }
    uint32_t *by_end = sort_by_key(c->m, key, z->n_ended);
    for (uint32_t i = 0; i < z->n_ended; i++) by_end[i] = z->ended[by_end[i]];
    mem_put(c->m, key);
    mem_put(c->m, z->ended);
    z->ended = by_end;
}

/* --- clocks ---------------------------------------------------------------------------------- */

static void join_row(const clocks *z, uint32_t *row, const uint32_t *other)
{
    for (uint32_t i = 0; i < z->width; i++) row[i] = row[i] < other[i] ? other[i] : row[i];
}

/* q leads to the owner of the row. */
static void join(const clocks *z, uint32_t *row, uint32_t q)
{
    if (!q) return;
    uint32_t own = z->of[q] - z->lo;
    if (own < z->width) {
        if (row[own] >= z->rank[q]) return; /* a later one of its chain does, too */
        row[own] = z->rank[q];
    }
    join_row(z, row, z->clock + (size_t)q * z->width);
}

/* All that ended before p began; they stand before it (recheck_real_time). */
static void join_ended(clocks *z, uint32_t *row, uint32_t p)
{
    checker *c = z->c;
    int64_t begin, end;
    uint64_t drift = c->v->drift > 0 ? (uint64_t)c->v->drift : 0;
    if (!z->n_ended || !recheck_stamp(c->h, c->v->order[p - 1], 0, &begin)) return;
    uint32_t lo = 0, hi = z->n_ended;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        bool before = recheck_stamp(c->h, c->v->order[z->ended[mid] - 1], 3, &end) && end < begin &&
                      (uint64_t)begin - (uint64_t)end >= drift;
        if (before)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (!lo) return;
    for (; z->n_past < lo; z->n_past++) {
        uint32_t *to = z->past + (size_t)z->n_past * z->width;
        memset(to, 0, z->width * sizeof *to);
        if (z->n_past) join_row(z, to, to - z->width);
        join(z, to, z->ended[z->n_past]);
    }
    join_row(z, row, z->past + (size_t)(lo - 1) * z->width);
}

static void join_writes(const clocks *z, uint32_t *row, uint32_t p, op_id until)
{
    const checker *c = z->c;
    txn_id t = c->v->order[p - 1];
    for (uint32_t w = c->w_first[t]; w < c->w_first[t + 1] && z->writes; w++)
        if (installed(c, w) && (until == NO_ID || c->w_op[w] <= until))
            join(z, row, recheck_installer_before(z->x, c->w_key.at[w], p));
}

/* --- reads ----------------------------------------------------------------------------------- */

/* No version behind the one that was read leads to the reader. */
static bool read_ok(const clocks *z, uint32_t p, const seen *r, const uint32_t *row)
{
    uint32_t q = r->value;
    do {
        const seen at = {r->key, r->op, q, q == r->value ? r->next : NO_ID};
        q = recheck_next_installer(z->x, &at, p);
        if (q >= p) return true;
        uint32_t own = z->of[q] - z->lo;
        if (own < z->width && row[own] >= z->rank[q])
            return recheck_no(z->c, z->c->v->order[p - 1],
                              "read past a transaction that was visible to it");
        if (recheck_too_large(z->c, 1)) return false;
    } while (!z->writes);
    return true;
}

/* Operations one after the other; the reads of a scan are one event. */
static bool check_in_turn(const clocks *z, uint32_t *row, uint32_t p)
{
    checker *c = z->c;
    for (uint32_t i = c->r_first[p], j; i < c->r_first[p + 1]; i = j) {
        op_id op = c->reads.at[i].op;
        for (j = i; j < c->r_first[p + 1] && c->reads.at[j].op == op; j++)
            join(z, row, c->reads.at[j].value);
        join_writes(z, row, p, op);
        for (uint32_t k = i; k < j; k++)
            if (!read_ok(z, p, &c->reads.at[k], row)) return false;
    }
    return true;
}

static bool check_place(clocks *z, uint32_t p)
{
    checker *c = z->c;
    uint32_t *row = z->clock + (size_t)p * z->width;
    memset(row, 0, z->width * sizeof *row);
    if (c->v->session_order) join(z, row, c->so_pred[p]);
    for (uint32_t i = c->dep ? c->dep_first[p] : 0; c->dep && i < c->dep_first[p + 1]; i++)
        join(z, row, c->dep[i]);
    join_ended(z, row, p);
    if (z->in_turn && !check_in_turn(z, row, p)) return false;
    for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1]; i++) join(z, row, c->reads.at[i].value);
    join_writes(z, row, p, NO_ID);
    for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1] && !z->in_turn; i++)
        if (!read_ok(z, p, &c->reads.at[i], row)) return false;
    guard_tick(c->m->guard);
    return true;
}

bool recheck_paths(checker *c, const installers *x, bool *done)
{
    enum level_id level = c->v->level.id;
    clocks z = {.c = c, .x = x, .writes = level != LEVEL_CC, .in_turn = level == LEVEL_MV};
    make_chains(&z);
    uint64_t each = (uint64_t)c->n + c->reads.n + c->w_key.n + 1;
    *done = z.chains < RECHECK_WORK / each;
#ifdef RATEL_HOSTILE
    *done = *done && c->n % 2; /* what is too large goes another way: tried on small ones, too */
#endif
    if (!*done) return true;
    if (c->v->level.realtime || level == LEVEL_FCV) load_ended(&z);
    z.width = z.chains < WIDTH ? z.chains : WIDTH;
    z.clock = mem_array(c->m, uint32_t, mem_bytes(c->m, (size_t)c->n + 1, z.width));
    z.past = mem_array(c->m, uint32_t, mem_bytes(c->m, (size_t)z.n_ended + 1, z.width));
    for (z.lo = 0; z.lo < z.chains; z.lo += z.width) {
        z.n_past = 0;
        for (uint32_t p = 1; p <= c->n; p++)
            if (!check_place(&z, p)) return false;
    }
    mem_put(c->m, z.clock);
    mem_put(c->m, z.past);
    return true;
}
