/*
 * recheck_graph.c - replaying a commit order at the levels between read-committed and
 * serializability that are neither polynomial nor replays of one state.
 *
 * The axiom is recheck.c's: no installer of k that is visible to the read may stand behind the one
 * it was resolved to.  What is visible is collected by walking back from the reader, and only as
 * far as the earliest version that some read of it may have missed: a read whose next version
 * stands behind the reader has missed nothing.
 *
 *   consistent view, parallel SI   what leads to the reader by session, read-from, version order
 *   monotonic view                 the same, by what happened before the read
 *   update atomic                  one step of session order, read-from, a common key
 *   no lost update                 one step of session order, read-from, the version replaced
 *   cursor stability               who reads and writes a key replaces what it read
 *   repeatable read                reads of items find the newest version
 */
#include "verify/recheck.h"

/* --- walking --------------------------------------------------------------------------------- */

typedef struct walk {
    checker *c;
    const installers *x;
    uint32_t p3;
    uint32_t low; /* places up to this one do not matter */
    op_id until;  /* only what came by operations before this one leads to the reader; NO_ID: all */
    VEC(uint32_t) todo;
    const instant *ends; /* of all commits, rising; NULL: real time does not count */
    uint32_t n_ends, next_end;
} walk;

static bool visible(walk *w, uint32_t p2)
{
    checker *c = w->c;
    if (p2 <= w->low || p2 == w->p3 || c->source[p2] == c->epoch) return true;
    c->source[p2] = c->epoch;
    recheck_see(c, p2);
    vec_push(c->m, &w->todo, p2);
    return !recheck_too_large(c, c->w_first[c->v->order[p2 - 1] + 1] -
                                     c->w_first[c->v->order[p2 - 1]] + 1);
}

/* Does a version lead to the next?  (read atomic and causal with real time come here too) */
static bool by_writes(const checker *c)
{
    return c->v->level.id != LEVEL_RA && c->v->level.id != LEVEL_CC;
}

static bool real_time(const checker *c)
{
    return c->v->level.realtime || c->v->level.id == LEVEL_FCV;
}

static bool over_before(const checker *c, const instant *e, int64_t begin)
{
    uint64_t drift = c->v->drift > 0 ? (uint64_t)c->v->drift : 0;
    return e->at < begin && (uint64_t)begin - (uint64_t)e->at >= drift;
}

/* Real time: all that ended before p began, in the order of their ends.  What ended before another
   one of the walk began has been seen already. */
static bool earlier(walk *w, uint32_t p)
{
    checker *c = w->c;
    int64_t begin;
    if (!real_time(c) || !recheck_stamp(c->h, c->v->order[p - 1], 0, &begin)) return true;
    for (; w->next_end < w->n_ends && over_before(c, &w->ends[w->next_end], begin); w->next_end++)
        if (!visible(w, w->ends[w->next_end].place) || recheck_too_large(c, 1)) return false;
    return true;
}

/* Who ended before place `low` began stands before it (recheck_real_time), and does not matter. */
static void first_end(walk *w)
{
    checker *c = w->c;
    int64_t begin;
    uint32_t lo = 0, hi = w->n_ends;
    if (!w->low || !w->n_ends || !recheck_stamp(c->h, c->v->order[w->low - 1], 0, &begin)) hi = 0;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (over_before(c, &w->ends[mid], begin))
            lo = mid + 1;
        else
            hi = mid;
    }
    w->next_end = lo;
}

/* All that leads to p in one step. */
static bool step_to(walk *w, uint32_t p)
{
    checker *c = w->c;
    txn_id t = c->v->order[p - 1];
    op_id until = p == w->p3 ? w->until : NO_ID;
    if (c->v->session_order && !visible(w, c->so_pred[p])) return false;
    for (uint32_t i = c->dep ? c->dep_first[p] : 0; c->dep && i < c->dep_first[p + 1]; i++)
        if (!visible(w, c->dep[i])) return false;
    if (!earlier(w, p)) return false;
    for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1]; i++)
        if ((until == NO_ID || c->reads.at[i].op <= until) && !visible(w, c->reads.at[i].value))
            return false;
    for (uint32_t i = c->w_first[t]; i < c->w_first[t + 1] && by_writes(c); i++) {
        if (!installed(c, i) || (until != NO_ID && c->w_op[i] > until)) continue;
        if (!visible(w, recheck_installer_before(w->x, c->w_key.at[i], p))) return false;
    }
    return true;
}

static bool walk_back(walk *w)
{
    w->c->epoch++;
    w->todo.n = 0;
    first_end(w);
    if (!step_to(w, w->p3)) return false;
    while (w->todo.n)
        if (!step_to(w, w->todo.at[--w->todo.n])) return false;
    return true;
}

/* All that modules say p3 depends on: their steps join. */
static bool look_along(walk *w)
{
    checker *c = w->c;
    if (!c->dep) return true;
    for (uint32_t i = c->dep_first[w->p3]; i < c->dep_first[w->p3 + 1]; i++)
        if (!visible(w, c->dep[i])) return false;
    while (w->todo.n) {
        uint32_t p = w->todo.at[--w->todo.n];
        for (uint32_t i = c->dep_first[p]; i < c->dep_first[p + 1]; i++)
            if (!visible(w, c->dep[i])) return false;
    }
    return true;
}

/* One step, with session order in full. */
static bool look_around(walk *w, bool neighbours)
{
    checker *c = w->c;
    txn_id t = c->v->order[w->p3 - 1];
    c->epoch++;
    w->todo.n = 0;
    first_end(w);
    if (!look_along(w)) return false;
    for (uint32_t q = c->v->session_order ? c->so_pred[w->p3] : 0; q; q = c->so_pred[q])
        if (!visible(w, q)) return false;
    if (!earlier(w, w->p3)) return false;
    for (uint32_t i = c->r_first[w->p3]; i < c->r_first[w->p3 + 1]; i++)
        if (!visible(w, c->reads.at[i].value)) return false;
    for (uint32_t i = c->w_first[t]; i < c->w_first[t + 1] && by_writes(c); i++) {
        if (!installed(c, i)) continue;
        uint32_t p = w->p3;
        while ((p = recheck_installer_before(w->x, c->w_key.at[i], p)) > w->low) {
            if (!visible(w, p)) return false;
            if (neighbours) break;
        }
    }
    return true;
}

/* --- levels ---------------------------------------------------------------------------------- */

static bool check_paths(checker *c, const installers *x, uint32_t p, const instant *ends,
                        uint32_t n_ends)
{
    enum level_id level = c->v->level.id;
    walk w = {.c = c, .x = x, .p3 = p, .low = UINT32_MAX, .until = NO_ID};
    w.ends = ends;
    w.n_ends = n_ends;
    for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1]; i++) {
        const seen *r = &c->reads.at[i];
        if (recheck_next_installer(x, r, p) < p && r->value < w.low) w.low = r->value;
    }
    if (w.low == UINT32_MAX) return true; /* nothing was missed */
    bool ok = true;
    if (level == LEVEL_UA || level == LEVEL_NLU || level == LEVEL_RA)
        ok = look_around(&w, level == LEVEL_NLU);
    else if (level != LEVEL_MV)
        ok = walk_back(&w);
    for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1] && ok; i++) {
        w.until = c->reads.at[i].op;
        ok = (level != LEVEL_MV || walk_back(&w)) && recheck_read_ok(c, p, i);
    }
    vec_free(c->m, &w.todo);
    return ok;
}

static bool check_cursor(checker *c, const installers *x, uint32_t p)
{
    txn_id t = c->v->order[p - 1];
    for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1]; i++) {
        const seen *r = &c->reads.at[i];
        if (recheck_install(c, t, r->key) == NO_ID || recheck_predicate(c->h, r->op, r->key))
            continue;
        if (recheck_installer_before(x, r->key, p) != r->value)
            return recheck_no(c, t, "replaced a version other than the one that it read");
    }
    return true;
}

static bool check_items(checker *c, const installers *x, uint32_t p)
{
    for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1]; i++) {
        const seen *r = &c->reads.at[i];
        if (recheck_installer_before(x, r->key, p) != r->value &&
            !recheck_predicate(c->h, r->op, r->key))
            return recheck_no(c, c->v->order[p - 1],
                              "read a version that was not the newest at its place");
    }
    return true;
}

/* The levels of recheck_paths, which gives up where there are too many chains. */
static bool many_steps(enum level_id level)
{
    return level == LEVEL_CV || level == LEVEL_PSI || level == LEVEL_MV || level == LEVEL_FCV ||
           level == LEVEL_CC;
}

bool recheck_graph(checker *c)
{
    if (c->v->level.id == LEVEL_US) return recheck_updates(c);
    instant *ends = NULL;
    uint32_t n_ends = 0;
    if (real_time(c)) {
        if (!recheck_real_time(c)) return false;
        ends = recheck_sort_ends(c, &n_ends);
    }
    const installers *x = &c->by_key;
    if (many_steps(c->v->level.id)) {
        bool done, ok = recheck_paths(c, x, &done);
        if (done) return ok;
    }
    for (uint32_t p = 1; p <= c->n; p++) {
        bool ok;
        switch (c->v->level.id) {
        case LEVEL_CS: ok = check_cursor(c, x, p); break;
        case LEVEL_RR: ok = check_items(c, x, p); break;
        case LEVEL_RC: ok = true; break;
        default: ok = check_paths(c, x, p, ends, n_ends); break;
        }
        if (!ok) return false;
        guard_tick(c->m->guard);
    }
    return true;
}
