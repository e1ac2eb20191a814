/*
 * recheck_causal.c - causality for recheck.c: visible to t3 is all that reaches it through session
 * order and read-from (levels.md CC-1).
 *
 * The transactions are cut into chains, paths of those edges; a vector clock says of each chain the
 * last member that reaches a transaction, WIDTH chains at a time.  Along a chain clocks only grow,
 * so what becomes visible is counted once per chain.  Where there are too many chains for that
 * (no session order, and short read-from paths) the past of each transaction is walked.
 */
#include "verify/recheck.h"

#define WIDTH 32u /* chains whose clocks are kept at a time */

/* Paths of session order and read-from that cover all transactions.  A session is one, while
   session order counts and all outcomes are known. */
typedef struct chains {
    uint32_t n;
    uint32_t *of, *rank;      /* per place; ranks from 1 */
    uint32_t *first, *member; /* places by chain */
    uint32_t *clock;          /* per place: of each chain at hand, the rank of the last member
                                 that reaches it; 0: none */
} chains;

static void make_chains(checker *c, chains *x)
{
    x->of = mem_array(c->m, uint32_t, (size_t)c->n + 1);
    x->rank = mem_array(c->m, uint32_t, (size_t)c->n + 1);
    uint32_t *tail = mem_array(c->m, uint32_t, (size_t)c->n + 1); /* per chain */
    for (uint32_t p = 1; p <= c->n; p++) {
        uint32_t q = c->so_pred[p];
        for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1]; i++) {
            if (q && tail[x->of[q]] == q) break;
            q = c->reads.at[i].value;
        }
        bool goes_on = q && tail[x->of[q]] == q;
        x->of[p] = goes_on ? x->of[q] : x->n++;
        x->rank[p] = goes_on ? x->rank[q] + 1 : 1;
        tail[x->of[p]] = p;
    }
    x->first = mem_array0(c->m, uint32_t, (size_t)x->n + 2);
    x->member = mem_array(c->m, uint32_t, (size_t)c->n + 1);
    for (uint32_t p = 1; p <= c->n; p++) x->first[x->of[p] + 1]++;
    for (uint32_t i = 0; i < x->n; i++) x->first[i + 1] += x->first[i];
    for (uint32_t p = 1; p <= c->n; p++) x->member[x->first[x->of[p]] + x->rank[p] - 1] = p;
    mem_put(c->m, tail);
}

static void join(const chains *x, uint32_t *row, uint32_t q, uint32_t lo, uint32_t width)
{
    const uint32_t *other = x->clock + (size_t)q * width;
    for (uint32_t i = 0; i < width; i++) row[i] = row[i] < other[i] ? other[i] : row[i];
    uint32_t own = x->of[q] - lo;
    if (own < width && row[own] < x->rank[q]) row[own] = x->rank[q];
}

/* Clocks grow along a chain: what becomes visible to it stays so. */
static bool check_chain(checker *c, const chains *x, uint32_t ch, uint32_t lo, uint32_t width)
{
    uint32_t at[WIDTH] = {0};
    c->epoch++;
    for (uint32_t j = x->first[ch]; j < x->first[ch + 1]; j++) {
        uint32_t p = x->member[j];
        const uint32_t *row = x->clock + (size_t)p * width;
        if (c->r_first[p] == c->r_first[p + 1]) continue;
        for (uint32_t i = 0; i < width; i++)
            for (; at[i] < row[i]; at[i]++) recheck_see(c, x->member[x->first[lo + i] + at[i]]);
        for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1]; i++)
            if (!recheck_read_ok(c, p, i)) return false;
    }
    guard_poll(c->m->guard);
    return true;
}

static bool check_clocks(checker *c, chains *x)
{
    uint32_t width = x->n < WIDTH ? x->n : WIDTH;
    x->clock = mem_array(c->m, uint32_t, mem_bytes(c->m, (size_t)c->n + 1, width));
    for (uint32_t lo = 0; lo < x->n; lo += width) {
        for (uint32_t p = 1; p <= c->n; p++) {
            uint32_t *row = x->clock + (size_t)p * width;
            memset(row, 0, width * sizeof *row);
            if (c->so_pred[p]) join(x, row, c->so_pred[p], lo, width);
            for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1]; i++)
                if (c->reads.at[i].value) join(x, row, c->reads.at[i].value, lo, width);
            guard_tick(c->m->guard);
        }
        for (uint32_t ch = 0; ch < x->n; ch++)
            if (!check_chain(c, x, ch, lo, width)) return false;
    }
    return true;
}

/* Many short chains: then the past of each transaction is walked instead. */
static bool check_walks(checker *c)
{
    VEC(uint32_t) todo = {0};
    for (uint32_t p3 = 1; p3 <= c->n; p3++) {
        if (c->r_first[p3] == c->r_first[p3 + 1]) continue;
        c->epoch++;
        todo.n = 0;
        vec_push(c->m, &todo, p3);
        while (todo.n) {
            uint32_t p = todo.at[--todo.n];
            if (p != p3 && c->source[p] == p3) continue;
            if (p != p3 && !recheck_see_for(c, p, p3)) return false;
            for (uint32_t i = c->r_first[p]; i <= c->r_first[p + 1]; i++) {
                uint32_t q = i < c->r_first[p + 1] ? c->reads.at[i].value : c->so_pred[p];
                if (q && c->source[q] != p3) vec_push(c->m, &todo, q);
            }
            if (recheck_too_large(c, c->r_first[p + 1] - c->r_first[p] + 1)) return false;
        }
        for (uint32_t i = c->r_first[p3]; i < c->r_first[p3 + 1]; i++)
            if (!recheck_read_ok(c, p3, i)) return false;
    }
    return true;
}

bool recheck_causal(checker *c)
{
    chains x = {0};
    make_chains(c, &x);
    uint64_t each = (uint64_t)c->n + c->reads.n + c->w_key.n + 1;
    return x.n < RECHECK_WORK / each ? check_clocks(c, &x) : check_walks(c);
}
