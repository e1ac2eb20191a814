/*
 * settled_words.c - see settled_words.h.
 *
 * Chains: the predecessors of each session, and all that ended, by their ends.  To leave out the
 * own session, those that ended are also divided by every bit of the number of their session:
 * two different numbers differ in one.
 */
#include "verify/settled_words.h"

/* --- meaning ---------------------------------------------------------------------------------- */

enum standing { IS_BEFORE, IS_AFTER, IS_NEITHER };

/* How two stand to each other; class 0 writes, 1 only reads, 2 is the initial state. */
typedef struct two {
    enum standing session, time;
    unsigned a, b;
    bool same;
} two;

enum { NO, YES, UNSETTLED };

static int is_member(const iso_node *x, unsigned class)
{
    int a, b;
    switch (x->op) {
    case ISO_TXNS: return YES;
    case ISO_UPD: return class != 1;
    case ISO_RO: return class == 1;
    case ISO_INIT: return class == 2;
    case ISO_USE: return x->kid[0] ? UNSETTLED : is_member(x->def->body, class);
    case ISO_JOIN:
    case ISO_MEET:
    case ISO_MINUS:
        a = is_member(x->kid[0], class);
        b = is_member(x->kid[1], class);
        if (a == UNSETTLED || b == UNSETTLED) return UNSETTLED;
        return x->op == ISO_JOIN ? a || b : x->op == ISO_MEET ? a && b : a && !b;
    default: return UNSETTLED;
    }
}

static const iso_node *unnamed(const iso_node *x)
{
    while (x->op == ISO_USE && !x->kid[0]) x = x->def->body;
    return x;
}

static int relates(const iso_node *x, const two *w);

static int relates_inverse(const iso_node *x, const two *w)
{
    static const enum standing turned[] = {IS_AFTER, IS_BEFORE, IS_NEITHER};
    two other = {turned[w->session], turned[w->time], w->b, w->a, w->same};
    return relates(x, &other);
}

static int both_of(int a, int b)
{
    return a == UNSETTLED || b == UNSETTLED ? UNSETTLED : a && b;
}

/* A composition is settled where one of the two only tests where the other begins or ends. */
static int relates_tested(const iso_node *x, const two *w)
{
    const iso_node *a = unnamed(x->kid[0]), *b = unnamed(x->kid[1]);
    if (a->op == ISO_DIAG) return both_of(is_member(a->kid[0], w->a), relates(b, w));
    if (b->op == ISO_DIAG) return both_of(relates(a, w), is_member(b->kid[0], w->b));
    return UNSETTLED;
}

static int relates(const iso_node *x, const two *w)
{
    int a, b;
    x = unnamed(x);
    switch (x->op) {
    case ISO_SO: return w->session == IS_BEFORE;
    case ISO_RT: return w->time == IS_BEFORE;
    case ISO_ID: return w->same;
    case ISO_DIAG: return both_of(w->same, is_member(x->kid[0], w->a));
    case ISO_PRODUCT: return both_of(is_member(x->kid[0], w->a), is_member(x->kid[1], w->b));
    case ISO_INVERSE: return relates_inverse(x->kid[0], w);
    case ISO_SEQ: return relates_tested(x, w);
    case ISO_OPT: a = relates(x->kid[0], w); return a == UNSETTLED ? a : a || w->same;
    case ISO_PLUS:
    case ISO_STAR:
        if (unnamed(x->kid[0])->op != ISO_SO && unnamed(x->kid[0])->op != ISO_RT)
            return UNSETTLED; /* these two are transitive */
        return relates(x->kid[0], w) || (x->op == ISO_STAR && w->same);
    case ISO_JOIN:
    case ISO_MEET:
    case ISO_MINUS:
        a = relates(x->kid[0], w);
        b = relates(x->kid[1], w);
        if (a == UNSETTLED || b == UNSETTLED) return UNSETTLED;
        return x->op == ISO_JOIN ? a || b : x->op == ISO_MEET ? a && b : a && !b;
    default: return UNSETTLED;
    }
}

static bool inverts(const iso_node *x)
{
    x = unnamed(x);
    switch (x->op) {
    case ISO_INVERSE:
    case ISO_PRODUCT: return true;
    case ISO_MEET:
    case ISO_MINUS: return inverts(x->kid[0]);
    case ISO_JOIN: return inverts(x->kid[0]) || inverts(x->kid[1]);
    default: return false;
    }
}

bool settled_operator(const iso_node *x)
{
    if (x->op == ISO_INVERSE || x->op == ISO_PRODUCT) return true;
    if (x->op != ISO_MINUS && x->op != ISO_MEET) return false;
    return unnamed(x->kid[1])->op != ISO_PRODUCT || inverts(x->kid[0]);
}

bool settled_meaning_of(settled_meaning *out, const iso_node *x)
{
    static const uint8_t ways[3][3] = {{WAY_SESSION_AND_TIME, WAY_SESSION_LATE, WAY_SESSION},
                                       {WAY_TIME_LATE, 0, 0},
                                       {WAY_TIME, 0, 0}};
    memset(out, 0, sizeof *out);
    for (unsigned i = 0; i < 36; i++) {
        two w = {i % 3, i / 3 % 3, i / 9 % 2, i / 18, false};
        int found = relates(x, &w);
        uint8_t way = ways[w.session][w.time];
        if (found == UNSETTLED || (found && !way)) return false;
        if (found) out->ways[w.a][w.b] |= way;
    }
    for (unsigned class = 0; class < 2; class ++) {
        two itself = {IS_NEITHER, IS_NEITHER, class, class, true};
        two to_init = {IS_AFTER, IS_NEITHER, class, 2, false};
        if (relates(x, &itself) || relates(x, &to_init)) return false;
    }
    return true;
}

/* --- chains ----------------------------------------------------------------------------------- */

typedef struct chain_maker {
    settled_chains *out;
    checker *c;
    unsigned ways;
    const uint32_t *by_end, *rank, *ended_before;
    uint32_t n;
    uint32_t *at;                            /* per place: its member in the chain of its session */
    uint32_t *last_end, *first_end, *latest; /* per place, of it and its predecessors: the last and
                                                first rank, the most that ended before one */
} chain_maker;

static void open_chain(chain_maker *k)
{
    vec_push(k->c->m, &k->out->first, (uint32_t)k->out->place.n);
}

static void put_place(chain_maker *k, uint32_t p)
{
    uint32_t chain = (uint32_t)k->out->first.n - 1;
    vec_push(k->c->m, &k->out->place, p);
    vec_push(k->c->m, &k->out->chain, chain);
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* The chains of those whom somebody follows in a session, and what is known of their beginnings. */
static void make_sessions(chain_maker *k)
{
    checker *c = k->c;
    uint32_t *follower = mem_array0(c->m, uint32_t, (size_t)c->n + 2);
    uint8_t *followed = mem_array0(c->m, uint8_t, (size_t)c->n + 2);
    for (uint32_t p = 1; p <= c->n; p++) followed[c->so_pred[p]] = 1;
    for (uint32_t p = 1; p <= c->n; p++) /* (only one of those who follow is followed itself) */
        if (followed[p]) follower[c->so_pred[p]] = p;
    for (uint32_t root = 1; root <= c->n; root++) {
        if (!followed[root] || c->so_pred[root]) continue;
        open_chain(k);
        for (uint32_t p = root; p; p = follower[p]) {
            uint32_t q = c->so_pred[p], end = k->rank[p] ? k->rank[p] : UINT32_MAX;
            k->at[p] = (uint32_t)k->out->place.n;
            put_place(k, p);
            k->last_end[p] = q ? larger(k->last_end[q], end) : end;
            k->first_end[p] = q && k->first_end[q] < end ? k->first_end[q] : end;
            k->latest[p] = q ? larger(k->latest[q], k->ended_before[p]) : k->ended_before[p];
            guard_tick(c->m->guard);
        }
    }
}

static bool in_time(const chain_maker *k, uint32_t q, uint32_t p)
{
    return k->rank[q] && k->rank[q] <= k->ended_before[p];
}

#define WAYS_OF_SESSIONS (WAY_SESSION_AND_TIME | WAY_SESSION | WAY_SESSION_LATE)

static void follow_session(chain_maker *k, uint32_t p)
{
    checker *c = k->c;
    unsigned all = WAYS_OF_SESSIONS;
    for (uint32_t q = c->so_pred[p]; q && k->ways & all; q = c->so_pred[q]) {
        bool ended = k->last_end[q] <= k->ended_before[p];
        bool open =
            k->first_end[q] > k->ended_before[p] && (!k->rank[p] || k->latest[q] < k->rank[p]);
        bool whole = (k->ways & all) == all;
        if (whole || ended || open) {
            unsigned way = ended ? WAY_SESSION_AND_TIME : WAY_SESSION;
            if (whole || k->ways & way) vec_push(c->m, &k->out->upto, k->at[q]);
            return;
        }
        unsigned way = in_time(k, q, p)   ? WAY_SESSION_AND_TIME
                       : in_time(k, p, q) ? WAY_SESSION_LATE
                                          : WAY_SESSION;
        if (k->ways & way) vec_push(c->m, &k->out->single, q);
        c->steps++;
        guard_tick(c->m->guard);
    }
}

/* Nothing follows one of unknown outcome, so later ones of its session are as others are. */
static void follow_unknown(chain_maker *k, uint32_t p)
{
    checker *c = k->c;
    const history *h = c->h;
    txn_id t = c->v->order[p - 1];
    if (txn_status_of(h, t) == TXN_COMMITTED) return;
    uint32_t s = h->txn_session[t], j = h->sess_first[s];
    while (h->sess_txn[j] != t) j++;
    for (j++; j < h->sess_first[s + 1]; j++) {
        uint32_t q = c->place[h->sess_txn[j]];
        if (q && in_time(k, q, p)) vec_push(c->m, &k->out->single, q);
    }
    c->steps += j - h->sess_first[s];
}

/* Those before the count of the ended that are in the chain: a member before which all are. */
static void follow_ended(chain_maker *k, uint32_t chain, uint32_t p)
{
    const settled_chains *x = k->out;
    uint32_t lo = x->first.at[chain], from = lo;
    uint32_t hi = chain + 1 < x->first.n ? x->first.at[chain + 1] : (uint32_t)x->place.n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (k->rank[x->place.at[mid]] <= k->ended_before[p])
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo > from) vec_push(k->c->m, &k->out->upto, lo - 1);
}

static void index_members(settled_chains *x, checker *c)
{
    x->member_first = mem_array0(c->m, uint32_t, (size_t)c->n + 3);
    x->member = mem_array(c->m, uint32_t, x->place.n + 1);
    for (size_t i = 0; i < x->place.n; i++) x->member_first[x->place.at[i] + 2]++;
    for (uint32_t p = 0; p <= c->n; p++) x->member_first[p + 2] += x->member_first[p + 1];
    for (uint32_t i = 0; i < x->place.n; i++) x->member[x->member_first[x->place.at[i] + 1]++] = i;
}

void settled_chains_make(settled_chains *out, checker *c, unsigned ways, const uint32_t *by_end,
                         uint32_t n, const uint32_t *rank, const uint32_t *ended_before)
{
    chain_maker k = {out, c, ways, by_end, rank, ended_before, n, NULL, NULL, NULL, NULL};
    uint32_t **arrays[] = {&k.at, &k.last_end, &k.first_end, &k.latest};
    bool sessions = c->v->session_order;
    memset(out, 0, sizeof *out);
    for (int i = 0; i < 4; i++) *arrays[i] = mem_array0(c->m, uint32_t, (size_t)c->n + 2);
    if (sessions && ways & WAYS_OF_SESSIONS) make_sessions(&k);
    uint32_t bits = 0, times = (uint32_t)out->first.n;
    bool own = !sessions || ways & WAY_SESSION_AND_TIME, timed = ways & WAY_TIME;
    for (size_t s = c->h->sessions.n; timed && !own && s > 1 && (s - 1) >> bits;) bits++;
    for (uint32_t i = 0; timed && i < (own ? 1 : 2 * bits); i++) {
        open_chain(&k);
        for (uint32_t r = 0; r < n; r++) {
            uint32_t s = c->h->txn_session[c->v->order[by_end[r] - 1]];
            if (own || (s >> i / 2 & 1) == (i & 1)) put_place(&k, by_end[r]);
        }
    }
    out->upto_first = mem_array0(c->m, uint32_t, (size_t)c->n + 3);
    out->single_first = mem_array0(c->m, uint32_t, (size_t)c->n + 3);
    for (uint32_t p = 1; p <= c->n; p++) {
        uint32_t s = c->h->txn_session[c->v->order[p - 1]];
        if (sessions) follow_session(&k, p);
        if (timed && own) follow_ended(&k, times, p);
        for (uint32_t i = 0; timed && !own && i < bits; i++)
            follow_ended(&k, times + 2 * i + !(s >> i & 1), p);
        if (timed && !own) follow_unknown(&k, p);
        out->upto_first[p + 1] = (uint32_t)out->upto.n;
        out->single_first[p + 1] = (uint32_t)out->single.n;
        guard_tick(c->m->guard);
    }
    index_members(out, c);
}
