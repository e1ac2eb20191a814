/*
 * axiom.c - the steps of a proof that the history and the level show by themselves, and the clause
 * that each of them adds (doc/formats/certificate.md, section 3).
 *
 * What a level forbids is one row of `laws`, read off doc/levels.md 5: either a read finds the
 * newest version at its transaction's place (`read`), or it does not miss what leads to it
 * (`sees`).  Update serializability forbids cycles around one reader (`loop`).
 *
 * An execution orders those that took part; a version order is that order, on the writers of a key.
 * At update serializability it orders those that write, and all that only read stand behind them.
 */
#include "verify/proof_state.h"

static const level_law laws[] = {
    {LEVEL_RU, false, false, READS_NONE, 0, false, WHEN_EVER, {0}, PARTS_NONE},
    {LEVEL_RC, false, false, READS_NONE, 0, false, WHEN_EVER, {0}, PARTS_NONE},
    {LEVEL_CS, false, false, READS_OWN, 0, false, WHEN_EVER, {0}, PARTS_NONE},
    {LEVEL_RR, false, false, READS_ITEMS, 0, false, WHEN_EVER, {0}, PARTS_NONE},
    {LEVEL_US, false, false, READS_UPDATES, 0, false, WHEN_EVER, {0}, PARTS_NONE},
    {LEVEL_SER, false, false, READS_ALL, 0, false, WHEN_EVER, {0}, PARTS_NONE},
    {LEVEL_SSER, false, false, READS_ALL, 0, false, WHEN_EVER, {0}, PARTS_NONE},
    {LEVEL_LIN, false, false, READS_ALL, 0, false, WHEN_EVER, {0}, PARTS_NONE},
    {LEVEL_PC, true, false, READS_ALL, 0, false, WHEN_EVER, {0}, PARTS_NONE},
    {LEVEL_SI, true, true, READS_ALL, 0, false, WHEN_EVER, {0}, PARTS_NONE},
    {LEVEL_GSI, true, true, READS_ALL, 0, false, WHEN_EVER, {0}, PARTS_NONE},
    {LEVEL_PCSI, true, true, READS_ALL, 0, false, WHEN_EVER, {0}, PARTS_NONE},
    {LEVEL_STRONG_SI, true, true, READS_ALL, 0, false, WHEN_EVER, {0}, PARTS_NONE},
    {LEVEL_MAV, false, false, READS_NONE, HOP_WR, true, WHEN_EARLIER, {0}, PARTS_NONE},
    {LEVEL_RA, false, false, READS_NONE, HOP_SO | HOP_WR, true, WHEN_EVER, {0}, PARTS_NONE},
    {LEVEL_CC, false, false, READS_NONE, HOP_SO | HOP_WR, false, WHEN_EVER, {0}, PARTS_NONE},
    {LEVEL_UA,
     false,
     false,
     READS_NONE,
     HOP_SO | HOP_WR | HOP_WW,
     true,
     WHEN_EVER,
     {0},
     PARTS_NONE},
    {LEVEL_NLU,
     false,
     false,
     READS_NONE,
     HOP_SO | HOP_WR | HOP_NEXT,
     true,
     WHEN_EVER,
     {0},
     PARTS_NONE},
    {LEVEL_CV,
     false,
     false,
     READS_NONE,
     HOP_SO | HOP_WR | HOP_WW,
     false,
     WHEN_EVER,
     {0},
     PARTS_NONE},
    {LEVEL_PSI,
     false,
     false,
     READS_NONE,
     HOP_SO | HOP_WR | HOP_WW,
     false,
     WHEN_EVER,
     {0},
     PARTS_NONE},
    {LEVEL_FCV,
     false,
     false,
     READS_NONE,
     HOP_SO | HOP_WR | HOP_WW,
     false,
     WHEN_EVER,
     {0},
     PARTS_NONE},
    {LEVEL_MV,
     false,
     false,
     READS_NONE,
     HOP_SO | HOP_WR | HOP_WW,
     false,
     WHEN_SO_FAR,
     {0},
     PARTS_NONE},
    {LEVEL_RYW, false, false, READS_NONE, HOP_SO, true, WHEN_EVER, {HOP_SO}, PARTS_NONE},
    {LEVEL_MR,
     false,
     false,
     READS_NONE,
     HOP_SO | HOP_WR,
     false,
     WHEN_EVER,
     {HOP_SO, HOP_WR},
     PARTS_NONE},
    {LEVEL_MW,
     false,
     false,
     READS_NONE,
     HOP_SO | HOP_WR,
     false,
     WHEN_EVER,
     {HOP_WR, HOP_SO},
     PARTS_NONE},
    {LEVEL_WFR,
     false,
     false,
     READS_NONE,
     HOP_SO | HOP_WR,
     false,
     WHEN_EVER,
     {HOP_WR, HOP_SO, HOP_WR},
     PARTS_NONE},
    {LEVEL_MIXED, true, true, READS_BY_ROW, 0, false, WHEN_EVER, {0}, PARTS_NONE},
    {LEVEL_MIXED_PG, true, true, READS_BY_ROW, 0, false, WHEN_EVER, {0}, PARTS_NONE},
    {LEVEL_INNODB_RR, false, false, READS_ITEMS, 0, false, WHEN_EVER, {0}, PARTS_APART},
    {LEVEL_INNODB_RR_TIGHT, false, false, READS_ITEMS, 0, false, WHEN_EVER, {0}, PARTS_TIGHT},
};

const level_law *law_of(enum level_id level)
{
    for (size_t i = 0; i < sizeof laws / sizeof *laws; i++)
        if (laws[i].level == level) return &laws[i];
    return NULL;
}

/* "c:U before this event of W": U's version of k is older.  Where writers may overlap, by
   commits. */
uint32_t axiom_version(const prover *x, txn_id w, key_id k)
{
    if (x->law->parts) return prover_write_event(x, w, k);
    bool overlap = !x->law->overlap || x->c.deletes;
    return x->si && overlap ? commit_of(x, w) : begin_of(x, w);
}

static bool writes(const prover *x, txn_id t)
{
    return x->c.w_first[t] < x->c.w_first[t + 1];
}

/* --- arguments ------------------------------------------------------------------------------- */

/* Two different transactions that may take part. */
static bool read_pair(prover *x, parser *p, txn_id *a, txn_id *b)
{
    *a = parse_txn_word(p, false);
    *b = parse_txn_word(p, false);
    if (*a == *b) return prover_no(x, "two transactions are one");
    return prover_takes_part(x, *a) && prover_takes_part(x, *b);
}

/* T I K */
bool axiom_read_op(prover *x, parser *p, txn_id *t, op_id *o, key_id *k)
{
    const history *h = x->c.h;
    *t = parse_txn_word(p, false);
    const char *at = p->now;
    uint64_t i = parse_u64(p, "the number of an operation");
    if (i >= h->txn_op[*t + 1] - h->txn_op[*t])
        parse_fail(p, at, "the transaction has no such operation");
    *o = h->txn_op[*t] + (op_id)i;
    *k = parse_key_word(p);
    return prover_takes_part(x, *t);
}

/* Two events of transactions that may take part. */
static bool read_events(prover *x, parser *p, uint32_t *e)
{
    for (int i = 0; i < 2; i++) {
        const char *s;
        size_t n;
        parse_need(p, "an event", &s, &n);
        if (!prover_event(x, p, &s, &n, &e[i])) return false;
        if (n) parse_fail(p, s, "an event expected");
        if (!prover_event_takes_part(x, e[i])) return false;
    }
    return true;
}

/* --- orders ---------------------------------------------------------------------------------- */

static bool session_before(const prover *x, txn_id a, txn_id b)
{
    const history *h = x->c.h;
    /* transactions stand in input order, and so do those of one session */
    return x->c.v->session_order && recheck_same_session(&x->c, a, b) && a < b &&
           txn_status_of(h, a) == TXN_COMMITTED;
}

static bool step_so(prover *x, parser *p)
{
    txn_id a, b;
    if (!read_pair(x, p, &a, &b)) return false;
    if (!session_before(x, a, b)) return prover_no(x, "session order does not say so");
    if (x->law->reads == READS_UPDATES && !writes(x, a) && writes(x, b))
        return prover_no(x, "readers have no place before updates at this level");
    prover_put(x, prover_before(x, commit_of(x, a), begin_of(x, b)));
    return prover_close(x);
}

/* Two parts of one transaction, in the order of its operations; the snapshot comes first.  (Numbers
   of events rise in that order.) */
static bool step_po(prover *x, parser *p)
{
    uint32_t e[2];
    if (!x->law->parts) return prover_no(x, "the level does not look at parts of transactions");
    if (!read_events(x, p, e)) return false;
    if (prover_event_txn(x, e[0]) != prover_event_txn(x, e[1]) || e[0] >= e[1])
        return prover_no(x, "they are not two parts of one transaction, in their order");
    prover_put(x, prover_before(x, e[0], e[1]));
    return prover_close(x);
}

/* Which of the four calls and returns (0 begin called ... 3 commit returned) lies `which`-wise
   before which, by the drift at least? */
static bool stamps_rise(const prover *x, txn_id a, unsigned returned, txn_id b, unsigned called)
{
    int64_t from, to;
    uint64_t drift = x->c.v->drift > 0 ? (uint64_t)x->c.v->drift : 0;
    return recheck_stamp(x->c.h, a, returned, &from) && recheck_stamp(x->c.h, b, called, &to) &&
           from < to && (uint64_t)to - (uint64_t)from >= drift;
}

/* Does it count that a commit was over when another transaction began? */
static bool commits_before_begins(const prover *x)
{
    enum level_id l = x->c.v->level.id;
    return x->c.v->level.realtime || l == LEVEL_SSER || l == LEVEL_LIN || l == LEVEL_FCV ||
           l == LEVEL_STRONG_SI;
}

static bool step_rt(prover *x, parser *p)
{
    enum level_id l = x->c.v->level.id;
    uint32_t e[2];
    if (!read_events(x, p, e)) return false;
    txn_id a = x->si ? e[0] / 2 : e[0], b = x->si ? e[1] / 2 : e[1];
    bool from_begin = x->si && e[0] % 2 == 0, to_commit = x->si && e[1] != begin_of(x, b);
    bool counts = to_commit ? l == LEVEL_GSI || l == LEVEL_PCSI || l == LEVEL_STRONG_SI
                            : !from_begin && commits_before_begins(x);
    if (!counts) return prover_no(x, "real time does not count, or not between these");
    /* (One whose commit returned before it began, or before it was called, took no part.) */
    if ((a == b && from_begin) || !stamps_rise(x, a, from_begin ? 1 : 3, b, to_commit ? 2 : 0))
        return prover_no(x, "the times do not say so");
    if (x->law->reads == READS_UPDATES && !writes(x, a) && writes(x, b))
        return prover_no(x, "readers have no place before updates at this level");
    prover_put_not(x, prover_took_part(x, a));
    if (e[0] != e[1]) prover_put(x, prover_before(x, e[0], e[1]));
    return prover_close(x);
}

/* --- reads ----------------------------------------------------------------------------------- */

static bool step_wr(prover *x, parser *p)
{
    txn_id t;
    op_id o;
    key_id k;
    uint32_t reads;
    if (!axiom_read_op(x, p, &t, &o, &k)) return false;
    txn_id w = parse_txn_word(p, false);
    if (!prover_reads(x, t, o, k, w, &reads)) return false;
    prover_put_not(x, reads);
    prover_put(x, prover_before(x, prover_write_event(x, w, k), prover_read_event(x, t, o, k)));
    return prover_close(x);
}

static bool step_taken(prover *x, parser *p)
{
    txn_id t;
    op_id o;
    key_id k;
    uint32_t reads;
    if (!axiom_read_op(x, p, &t, &o, &k)) return false;
    txn_id w = parse_txn_word(p, false);
    if (!prover_reads(x, t, o, k, w, &reads)) return false;
    uint32_t in = prover_took_part(x, w);
    if (in == NEVER_FALSE) return prover_no(x, "it is known to have committed");
    prover_put_not(x, reads);
    prover_put(x, in);
    return prover_close(x);
}

/* Must the read find the newest version at the place of its transaction? */
bool axiom_finds_newest(const prover *x, txn_id t, op_id o, key_id k)
{
    switch (x->law->reads) {
    case READS_ALL: return true;
    case READS_ITEMS: return !recheck_predicate(x->c.h, o, k);
    case READS_OWN:
        return !recheck_predicate(x->c.h, o, k) && recheck_install(&x->c, t, k) != NO_ID;
    case READS_UPDATES: return writes(x, t);
    case READS_BY_ROW:
        return x->c.row[t] >= ROW_SI || (x->c.row[t] == ROW_RR && !recheck_predicate(x->c.h, o, k));
    case READS_NONE: break;
    }
    return false;
}

static bool step_read(prover *x, parser *p)
{
    txn_id t;
    op_id o;
    key_id k;
    uint32_t reads;
    if (!axiom_read_op(x, p, &t, &o, &k)) return false;
    txn_id w = parse_txn_word(p, true), u = parse_txn_word(p, false);
    if (!axiom_finds_newest(x, t, o, k)) return prover_no(x, "the level does not say so");
    if (!prover_takes_part(x, u) || !prover_reads(x, t, o, k, w, &reads)) return false;
    if (u == w || u == t || recheck_install(&x->c, u, k) == NO_ID)
        return prover_no(x, "that transaction is no other writer of the key");
    prover_put_not(x, reads);
    uint32_t other = prover_write_event(x, u, k);
    if (w != NO_ID) prover_put(x, prover_before(x, other, axiom_version(x, w, k)));
    prover_put(x, prover_before(x, prover_read_event(x, t, o, k), other));
    return prover_close(x);
}

/* --- what leads to a transaction ------------------------------------------------------------- */

/* The next word; false if the line ends, or if it is not that one. */
static bool next_is(parser *p, const char *word)
{
    parser before = *p;
    const char *s;
    size_t n;
    if (parse_word(p, &s, &n) && parse_is(s, n, word)) return true;
    p->now = before.now;
    return false;
}

/* `so X`: X came earlier in the session of `at`. */
static bool hop_so(prover *x, parser *p, txn_id at, txn_id *to)
{
    *to = parse_txn_word(p, false);
    return session_before(x, *to, at) || prover_no(x, "session order does not say so");
}

/* `wr I K X`: `at` read K from X, by an operation up to `until`. */
static bool hop_wr(prover *x, parser *p, txn_id at, op_id until, txn_id *to)
{
    const history *h = x->c.h;
    uint32_t reads;
    const char *place = p->now;
    uint64_t i = parse_u64(p, "the number of an operation");
    if (i >= h->txn_op[at + 1] - h->txn_op[at])
        parse_fail(p, place, "the transaction has no such operation");
    op_id o = h->txn_op[at] + (op_id)i;
    key_id k = parse_key_word(p);
    *to = parse_txn_word(p, false);
    if (o > until) return prover_no(x, "that read came no earlier");
    if (!prover_takes_part(x, *to) || !prover_reads(x, at, o, k, *to, &reads)) return false;
    prover_put_not(x, reads);
    return true;
}

/* `ww K X`: both write K, X first; by `at`, with an operation up to `until`. */
static bool hop_ww(prover *x, parser *p, txn_id at, op_id until, key_id *k, txn_id *to)
{
    *k = parse_key_word(p);
    *to = parse_txn_word(p, false);
    uint32_t w = recheck_install(&x->c, at, *k);
    if (*to == at || w == NO_ID || recheck_install(&x->c, *to, *k) == NO_ID)
        return prover_no(x, "they are not two writers of the key");
    if (x->c.w_op[w] > until) return prover_no(x, "that write came no earlier");
    if (!prover_takes_part(x, *to)) return false;
    prover_put(x, prover_before(x, at, *to));
    return true;
}

static void index_writers(prover *x)
{
    size_t keys = history_keys(x->c.h), n = x->c.w_key.n;
    if (x->kw_first) return;
    x->kw_first = mem_array0(x->m, uint32_t, keys + 2);
    x->kw = mem_array(x->m, uint32_t, n + 1);
    for (uint32_t w = 0; w < n; w++) x->kw_first[x->c.w_key.at[w] + 2]++;
    for (size_t k = 2; k < keys + 2; k++) x->kw_first[k] += x->kw_first[k - 1];
    for (uint32_t w = 0; w < n; w++) x->kw[x->kw_first[x->c.w_key.at[w] + 1]++] = w;
}

/* Where a step says that other writers of a key stand; not told: before. */
enum { SIDE_BEFORE, SIDE_BEHIND, SIDE_OUT };
typedef VEC(txn_id) txn_list;

/* [`behind` Y] ... [`out` Y] ...: fills x->side; `said` are the transactions that were named. */
static void read_sides(prover *x, parser *p, txn_list *said)
{
    if (!x->side) x->side = mem_array0(x->m, uint8_t, x->c.h->txns + 1);
    for (;;) {
        uint8_t side = next_is(p, "behind") ? SIDE_BEHIND
                       : next_is(p, "out")  ? SIDE_OUT
                                            : SIDE_BEFORE;
        if (side == SIDE_BEFORE) return;
        txn_id y = parse_txn_word(p, false);
        x->side[y] = side;
        vec_push(x->m, said, y);
    }
}

static void forget_sides(prover *x, txn_list *said)
{
    for (size_t i = 0; i < said->n; i++) x->side[said->at[i]] = SIDE_BEFORE;
    vec_free(x->m, said);
}

/* The clause holds, too, if y took part. */
static bool put_out(prover *x, txn_id y)
{
    if (txn_status_of(x->c.h, y) == TXN_COMMITTED)
        return prover_no(x, "one that committed took part");
    prover_put(x, prover_took_part(x, y));
    return true;
}

/* `next K X` [`behind` Y] ... [`out` Y] ...: as ww, and nobody is between: every other writer Y of
   K stands before X, or behind, or took no part. */
static bool hop_next(prover *x, parser *p, txn_id at, txn_id *to)
{
    const history *h = x->c.h;
    key_id k;
    if (!hop_ww(x, p, at, NO_ID, &k, to)) return false;
    index_writers(x);
    txn_list said = {0};
    read_sides(x, p, &said);
    bool ok = true;
    for (uint32_t i = x->kw_first[k]; i < x->kw_first[k + 1] && ok; i++) {
        uint32_t w = x->kw[i];
        txn_id y = x->c.w_txn[w];
        if (y == at || y == *to || !installed(&x->c, w) || txn_status_of(h, y) == TXN_ABORTED)
            continue;
        if (x->side[y] == SIDE_OUT)
            ok = put_out(x, y);
        else
            prover_put(x, x->side[y] == SIDE_BEHIND ? prover_before(x, y, at)
                                                    : prover_before(x, *to, y));
        guard_tick(x->m->guard);
    }
    forget_sides(x, &said);
    return ok;
}

/* `rt X`: X was over when `at` began. */
static bool hop_rt(prover *x, parser *p, txn_id at, txn_id *to)
{
    *to = parse_txn_word(p, false);
    if (!commits_before_begins(x)) return prover_no(x, "real time does not count");
    return (prover_takes_part(x, *to) && stamps_rise(x, *to, 3, at, 0)) ||
           prover_no(x, "the times do not say so");
}

/* May this be the hop after `hops` others? */
static bool fits_shape(const level_law *law, uint32_t hops, unsigned kind)
{
    return !law->shape[0] || (hops < sizeof law->shape && law->shape[hops] == kind);
}

/* t, which read k from w at o, was led to by u, along the hops.  Then u's version is older than w's
   (MAV-1, RA-1, CC-1, and what doc/levels.md says of the others).  A ww hop stands in the clause as
   its opposite.  Where the level wants hops of one shape they may lead back to t, if it writes k:
   that is a cycle, so something that they rest on is false, and the clause is true. */
static bool step_sees(prover *x, parser *p)
{
    const level_law *law = x->law;
    txn_id t, w, at, next;
    op_id o;
    key_id k, any;
    uint32_t reads, hops = 0;
    const char *s;
    size_t n;
    bool assumed = false; /* the last hop is one that modules added; these join */
    if (!axiom_read_op(x, p, &t, &o, &k)) return false;
    at = t;
    w = parse_txn_word(p, true);
    if (!law->hops) return prover_no(x, "the level does not say so");
    if (!prover_reads(x, t, o, k, w, &reads)) return false;
    prover_put_not(x, reads);
    for (; parse_word(p, &s, &n); hops++, at = next) {
        op_id until = NO_ID;
        bool ok;
        bool by_module = parse_is(s, n, "assumed"), joins = hops && by_module && assumed;
        assumed = by_module;
        if (hops && law->one && !joins) return prover_no(x, "the level looks one step back only");
        if (!hops && law->when == WHEN_SO_FAR) until = o;
        if (!hops && law->when == WHEN_EARLIER) {
            if (o == x->c.h->txn_op[t]) return prover_no(x, "nothing came before that read");
            until = o - 1;
        }
        if (parse_is(s, n, "so") && law->hops & HOP_SO && fits_shape(law, hops, HOP_SO))
            ok = hop_so(x, p, at, &next);
        else if (parse_is(s, n, "rt") && law->hops & HOP_SO && !law->shape[0])
            ok = hop_rt(x, p, at, &next);
        else if (by_module && law->hops & HOP_SO && !law->shape[0])
            ok = assume_hop(x, p, at, &next);
        else if (parse_is(s, n, "wr") && law->hops & HOP_WR && fits_shape(law, hops, HOP_WR))
            ok = hop_wr(x, p, at, until, &next);
        else if (parse_is(s, n, "ww") && law->hops & HOP_WW)
            ok = hop_ww(x, p, at, until, &any, &next);
        else if (parse_is(s, n, "next") && law->hops & HOP_NEXT)
            ok = hop_next(x, p, at, &next);
        else
            parse_fail(p, s, "no hop of this level");
        if (!ok) return false;
    }
    if (!fits_shape(law, hops, 0)) return prover_no(x, "the level requires more hops");
    if (!hops || (at == t && !law->shape[0]) || at == w || recheck_install(&x->c, at, k) == NO_ID)
        return prover_no(x, "the last one is no other writer of the key");
    if (w != NO_ID) prover_put(x, prover_before(x, at, w));
    return prover_close(x);
}

/* `rw X I K W`: X read K from W by I, and `at` wrote it later. */
static bool hop_rw(prover *x, parser *p, txn_id at, txn_id *to)
{
    op_id o;
    key_id k;
    uint32_t reads;
    if (!axiom_read_op(x, p, to, &o, &k)) return false;
    txn_id w = parse_txn_word(p, true);
    if (at == *to || at == w || recheck_install(&x->c, at, k) == NO_ID)
        return prover_no(x, "that transaction is no other writer of the key");
    if (!prover_reads(x, *to, o, k, w, &reads)) return false;
    prover_put_not(x, reads);
    if (w != NO_ID) prover_put(x, prover_before(x, at, w));
    return true;
}

/* A cycle back to t.  Without anti-dependencies nobody may be on one; with them, nobody together
   with updates. */
static bool step_loop(prover *x, parser *p)
{
    txn_id t = parse_txn_word(p, false), at = t, next;
    bool anti = false, readers = false, moved = false;
    key_id any;
    const char *s;
    size_t n;
    if (x->law->reads != READS_UPDATES) return prover_no(x, "the level does not say so");
    if (!prover_takes_part(x, t)) return false;
    prover_put_not(x, prover_took_part(x, t));
    for (; parse_word(p, &s, &n); at = next) {
        bool ok;
        if (parse_is(s, n, "so"))
            ok = hop_so(x, p, at, &next);
        else if (parse_is(s, n, "rt"))
            ok = hop_rt(x, p, at, &next);
        else if (parse_is(s, n, "wr"))
            ok = hop_wr(x, p, at, NO_ID, &next);
        else if (parse_is(s, n, "ww"))
            ok = hop_ww(x, p, at, NO_ID, &any, &next);
        else if (parse_is(s, n, "rw"))
            ok = anti = hop_rw(x, p, at, &next);
        else
            parse_fail(p, s, "\"so\", \"rt\", \"wr\", \"ww\" or \"rw\" expected");
        if (!ok) return false;
        if (next != t && !writes(x, next)) readers = true;
        moved = true;
    }
    if (!moved) return prover_no(x, "a cycle without a hop forbids nothing");
    if (at != t) return prover_no(x, "the hops do not come back");
    if (anti && readers) return prover_no(x, "a second one that only reads is on the cycle");
    return prover_close(x);
}

/* MIXPG-3.  `rw X I K W` [`behind` Y] ... [`out` Y] ...: X read K from W by I, and `at` wrote it
   later, and nobody of another level in between: every other writer Y of K that is not serializable
   stands before W, or behind `at`, or took no part. */
static bool hop_rw_among(prover *x, parser *p, txn_id at, txn_id *to)
{
    const history *h = x->c.h;
    op_id o;
    key_id k;
    uint32_t reads;
    if (!axiom_read_op(x, p, to, &o, &k)) return false;
    txn_id w = parse_txn_word(p, true);
    if (at == *to || at == w || recheck_install(&x->c, at, k) == NO_ID)
        return prover_no(x, "that transaction is no other writer of the key");
    if (!prover_reads(x, *to, o, k, w, &reads)) return false;
    prover_put_not(x, reads);
    if (w != NO_ID) prover_put(x, prover_before(x, commit_of(x, at), axiom_version(x, w, k)));
    index_writers(x);
    txn_list said = {0};
    read_sides(x, p, &said);
    bool ok = true;
    for (uint32_t i = x->kw_first[k]; i < x->kw_first[k + 1] && ok; i++) {
        txn_id y = x->c.w_txn[x->kw[i]];
        if (y == w || x->c.serial[y] || !installed(&x->c, x->kw[i]) ||
            txn_status_of(h, y) == TXN_ABORTED)
            continue;
        if (x->side[y] == SIDE_OUT)
            ok = put_out(x, y);
        else if (x->side[y] == SIDE_BEHIND)
            prover_put(x, prover_before(x, commit_of(x, y), axiom_version(x, at, k)));
        else if (w == NO_ID)
            ok = prover_no(x, "no version comes before the initial one");
        else
            prover_put(x, prover_before(x, commit_of(x, w), axiom_version(x, y, k)));
        guard_tick(x->m->guard);
    }
    forget_sides(x, &said);
    return ok;
}

/* `ww K X`: X wrote K too, and earlier. */
static bool hop_ww_among(prover *x, parser *p, txn_id at, txn_id *to)
{
    key_id k = parse_key_word(p);
    *to = parse_txn_word(p, false);
    if (*to == at || recheck_install(&x->c, at, k) == NO_ID ||
        recheck_install(&x->c, *to, k) == NO_ID)
        return prover_no(x, "they are not two writers of the key");
    prover_put(x, prover_before(x, commit_of(x, at), axiom_version(x, *to, k)));
    return true;
}

/* A cycle of serializable transactions back to t (MIXPG-3). */
static bool step_among(prover *x, parser *p)
{
    txn_id t = parse_txn_word(p, false), at = t, next;
    bool moved = false;
    const char *s;
    size_t n;
    if (!x->c.serial) return prover_no(x, "the level does not say so");
    for (; parse_word(p, &s, &n); at = next) {
        bool ok;
        if (parse_is(s, n, "so"))
            ok = hop_so(x, p, at, &next);
        else if (parse_is(s, n, "wr"))
            ok = hop_wr(x, p, at, NO_ID, &next);
        else if (parse_is(s, n, "ww"))
            ok = hop_ww_among(x, p, at, &next);
        else if (parse_is(s, n, "rw"))
            ok = hop_rw_among(x, p, at, &next);
        else
            parse_fail(p, s, "\"so\", \"wr\", \"ww\" or \"rw\" expected");
        if (!ok || !prover_takes_part(x, next)) return false;
        if (!x->c.serial[next]) return prover_no(x, "one of them is not serializable");
        prover_put_not(x, prover_took_part(x, next));
        moved = true;
    }
    if (!moved) return prover_no(x, "a cycle without a hop forbids nothing");
    if (at != t) return prover_no(x, "the hops do not come back");
    return prover_close(x);
}

/* --- choices and outcomes -------------------------------------------------------------------- */

/* An unknown initial state is one value for each key.  Two different lists may well show one known
   initial state: each reader's own appends stand behind it. */
static bool step_initial(prover *x, parser *p)
{
    txn_id t[2];
    op_id o[2];
    key_id k[2];
    value_id v[2];
    uint32_t reads;
    for (int i = 0; i < 2; i++) {
        if (!axiom_read_op(x, p, &t[i], &o[i], &k[i])) return false;
        if (!source_value(&x->s, t[i], o[i], k[i], &v[i]))
            return prover_no(x, "the operation did not read the key");
        if (!prover_reads(x, t[i], o[i], k[i], NO_ID, &reads)) return false;
        prover_put_not(x, reads);
    }
    if (k[0] != k[1] || v[0] == v[1]) return prover_no(x, "they are not two values of one key");
    if (!x->c.open[k[0]] || x->c.is_list[k[0]])
        return prover_no(x, "the initial value of the key is known, or is a list");
    return prover_close(x);
}

static bool step_from(prover *x, parser *p)
{
    txn_id t, one;
    op_id o;
    key_id k;
    value_id v;
    uint32_t lit, at = 0;
    if (!axiom_read_op(x, p, &t, &o, &k)) return false;
    if (prover_uncommitted(x, t)) return prover_no(x, "reads have no writers at this level");
    if (!source_value(&x->s, t, o, k, &v))
        return prover_no(x, "the operation did not read the key");
    if (source_of(&x->s, t, o, k, v, &one) != SOURCE_MANY)
        return prover_no(x, "the read does not have several candidates");
    prover_put_not(x, prover_took_part(x, t));
    if (source_may(&x->s, t, o, k, v, NO_ID)) {
        if (!prover_reads(x, t, o, k, NO_ID, &lit)) return false;
        prover_put(x, lit);
    }
    for (txn_id w; (w = source_next(&x->s, t, o, k, v, &at)) != NO_ID;) {
        if (!prover_reads(x, t, o, k, w, &lit)) return false;
        prover_put(x, lit);
    }
    return prover_close(x);
}

static bool step_overlap(prover *x, parser *p)
{
    txn_id a, b;
    key_id k = parse_key_word(p);
    if (!read_pair(x, p, &a, &b)) return false;
    if (!x->law->overlap || (x->c.lax && x->c.lax[k]))
        return prover_no(x, "the level does not say so");
    if (recheck_install(&x->c, a, k) == NO_ID || recheck_install(&x->c, b, k) == NO_ID)
        return prover_no(x, "they do not both write the key");
    prover_put(x, prover_before(x, commit_of(x, a), begin_of(x, b)));
    prover_put(x, prover_before(x, commit_of(x, b), begin_of(x, a)));
    return prover_close(x);
}

bool axiom_list_shows(prover *x, key_id k, value_id v, txn_id a, txn_id b)
{
    uint32_t at = source_shown(&x->s, k, v, a), other = source_shown(&x->s, k, v, b);
    if (!at || at == UINT32_MAX) return prover_no(x, "the list does not show the transaction");
    /* b comes later in the list, or is missing there although it appends to it */
    return (other ? other >= at : source_missing(&x->s, k, v, b)) ||
           prover_no(x, "the list does not show that order");
}

static bool step_list(prover *x, parser *p, bool shows)
{
    txn_id t, a, b = NO_ID;
    op_id o;
    key_id k;
    value_id v;
    if (!axiom_read_op(x, p, &t, &o, &k)) return false;
    if (shows) {
        a = parse_txn_word(p, false);
        if (!prover_takes_part(x, a)) return false;
    } else if (!read_pair(x, p, &a, &b)) {
        return false;
    }
    if (!source_value(&x->s, t, o, k, &v))
        return prover_no(x, "the operation did not read the key");
    if (x->c.v->level.id == LEVEL_RU) {
        if (shows || !source_uncommitted(&x->s, t, o, k, v, a, b))
            return prover_no(x, "the list does not show that order");
        prover_put(x, prover_before(x, a, b));
        return prover_close(x);
    }
    prover_put_not(x, prover_took_part(x, t));
    if (shows) {
        uint32_t at = source_shown(&x->s, k, v, a);
        if (!at || at == UINT32_MAX) return prover_no(x, "the list does not show the transaction");
        uint32_t in = prover_took_part(x, a);
        if (in == NEVER_FALSE) return prover_no(x, "it is known to have committed");
        prover_put(x, in);
        return prover_close(x);
    }
    if (!axiom_list_shows(x, k, v, a, b)) return false;
    prover_put(x, prover_before(x, prover_write_event(x, a, k), axiom_version(x, b, k)));
    return prover_close(x);
}

/* The position that the database told of t's version of k. */
bool axiom_position(const prover *x, txn_id t, key_id k, int64_t *at)
{
    const history *h = x->c.h;
    uint32_t w = recheck_install(&x->c, t, k);
    if (w == NO_ID || !(h->op_kind[x->c.w_op[w]] & OP_ATTR)) return false;
    const attr *end = h->attrs.at + h->attrs.n;
    for (const attr *a = op_attrs(h, x->c.w_op[w]); a && a < end && a->op == x->c.w_op[w]; a++)
        if (a->kind == ATTR_VER) {
            *at = (int64_t)a->a;
            return true;
        }
    return false;
}

static bool step_ver(prover *x, parser *p)
{
    txn_id a, b;
    int64_t at_a, at_b;
    key_id k = parse_key_word(p);
    if (!read_pair(x, p, &a, &b)) return false;
    if (!axiom_position(x, a, k, &at_a) || !axiom_position(x, b, k, &at_b) || at_a > at_b)
        return prover_no(x, "the positions of the versions do not say so");
    prover_put_not(x, prover_took_part(x, a));
    if (at_a == at_b)
        prover_put_not(x, prover_took_part(x, b)); /* one position, one version */
    else
        prover_put(x, prover_before(x, prover_write_event(x, a, k), axiom_version(x, b, k)));
    return prover_close(x);
}

static bool step_fault(prover *x, parser *p)
{
    txn_id t = parse_txn_word(p, false);
    if (!prover_takes_part(x, t)) return false;
    if (x->c.v->level.id == LEVEL_RU && txn_status_of(x->c.h, t) != TXN_COMMITTED)
        return prover_no(x, "no transaction of unknown outcome takes part at this level");
    bool faulty = prover_uncommitted(x, t) ? source_garbage(&x->s, t) : source_faulty(&x->s, t);
    if (!faulty) return prover_no(x, "every read of the transaction can be explained");
    prover_put_not(x, prover_took_part(x, t));
    return prover_close(x);
}

/* `twice T I K J`: operations I and J of T read K, and saw two versions. */
static bool step_twice(prover *x, parser *p)
{
    const history *h = x->c.h;
    txn_id t;
    seen a = {.next = NO_ID}, b = a;
    if (!axiom_read_op(x, p, &t, &a.op, &a.key)) return false;
    const char *at = p->now;
    uint64_t i = parse_u64(p, "the number of an operation");
    if (i >= h->txn_op[t + 1] - h->txn_op[t])
        parse_fail(p, at, "the transaction has no such operation");
    b.op = h->txn_op[t] + (op_id)i;
    b.key = a.key;
    if (!source_value(&x->s, t, a.op, a.key, &a.value) ||
        !source_value(&x->s, t, b.op, b.key, &b.value))
        return prover_no(x, "the operation did not read the key");
    if (!recheck_two_versions(&x->c, x->c.v->level.id, &a, &b, t))
        return prover_no(x, "the two reads may stand together at this level");
    prover_put_not(x, prover_took_part(x, t));
    return prover_close(x);
}

static bool step_exhaustive(prover *x)
{
    return exhaust(&x->c, &x->s, x->why) && prover_close(x);
}

bool axiom_step(prover *x, parser *p, enum proof_step kind)
{
    switch (kind) {
    case PROOF_SO: return step_so(x, p);
    case PROOF_RT: return step_rt(x, p);
    case PROOF_PO: return step_po(x, p);
    case PROOF_STUCK: return stuck_step(x, p);
    case PROOF_CHAIN: return chain_step(x, p);
    case PROOF_ASSUME: return assume_step(x, p);
    case PROOF_WR: return step_wr(x, p);
    case PROOF_READ: return step_read(x, p);
    case PROOF_SEES: return step_sees(x, p);
    case PROOF_LOOP: return step_loop(x, p);
    case PROOF_AMONG: return step_among(x, p);
    case PROOF_INITIAL: return step_initial(x, p);
    case PROOF_FROM: return step_from(x, p);
    case PROOF_TAKEN: return step_taken(x, p);
    case PROOF_OVERLAP: return step_overlap(x, p);
    case PROOF_LIST: return step_list(x, p, false);
    case PROOF_SHOWS: return step_list(x, p, true);
    case PROOF_VER: return step_ver(x, p);
    case PROOF_FAULT: return step_fault(x, p);
    case PROOF_TWICE: return step_twice(x, p);
    case PROOF_EXHAUSTIVE: return step_exhaustive(x);
    case PROOF_CYCLE:
    case PROOF_RUP:
    case PROOF_STEPS: break;
    }
    return prover_no(x, "no kind of step");
}
