/*
 * proof.c - a proof that no execution satisfies serializability or snapshot isolation.
 *
 * Literals: "event a before event b", "t took part" (of unknown outcomes only), "this read saw w"
 * (of reads with several candidates only; a read with one candidate saw it if its transaction took
 * part).  Events are transactions, or begins and commits for snapshot isolation.
 *
 * Every clause is made here, from the history, and holds in every execution, extended in this way
 * to transactions of unknown outcome that took no part: they stand behind all others, one after
 * the other.  So an edge from one that took part to one that did not always holds, and guards are
 * needed for sources only.  Clauses follow from earlier ones by unit propagation along the hints
 * that the step names.  The empty clause is the proof.
 */
#include "verify/proof.h"

#include <assert.h>

#include "base/hash.h"

enum lit_kind { LIT_BEFORE, LIT_IN, LIT_READS };
#define NEVER_FALSE UINT32_MAX /* in place of a literal that is true in every execution */

typedef struct lit_key {
    uint32_t kind, a, b, c;
} lit_key;

struct prover {
    checker c;
    sources s;
    mem *m;
    const char **why;
    bool si;
    bool strong; /* reads and writes take effect at one place of the order, or two */

    VEC(lit_key) vars; /* a literal is 2 * index + negated */
    uint32_t *slot;    /* index + 1 */
    size_t mask;
    VEC(uint32_t) meanings; /* by variable; of a read: what it comes down to, once known */

    VEC(uint32_t) lits;  /* of all clauses */
    VEC(uint64_t) first; /* of each clause, and of the one being made */
    VEC(int8_t) value;   /* by variable */
    VEC(uint32_t) trail;
};

static bool no(prover *x, const char *what)
{
    *x->why = what;
    return false;
}

prover *prover_new(mem *m, const history *h, const claim *c, const char **why)
{
    enum level_id l = c->level.id;
    bool strong = l == LEVEL_SER || l == LEVEL_SSER || l == LEVEL_SI;
    bool weak = l == LEVEL_RU || l == LEVEL_RC || l == LEVEL_MAV || l == LEVEL_RA || l == LEVEL_CC;
    if ((!strong && !weak) || (c->level.realtime && l != LEVEL_SER)) {
        *why = "violations of this level cannot be verified yet";
        return NULL;
    }
    if (h->txns >= UINT32_MAX / 4)
        guard_fail(m->guard, GUARD_UNSUPPORTED, "more than 2^30 transactions");
    prover *x = mem_zeroed(m, sizeof *x);
    x->m = m;
    x->why = why;
    x->si = l == LEVEL_SI;
    x->strong = strong;
    x->c = (checker){.v = c, .h = h, .m = m};
    recheck_load_writes(&x->c);
    recheck_load_keys(&x->c);
    x->c.used = mem_array0(m, uint8_t, x->c.w_key.n + 1);
    sources_load(&x->s, &x->c);
    vec_push(m, &x->first, 0);
    return x;
}

/* --- literals --------------------------------------------------------------------------------- */

static void grow(prover *x)
{
    size_t n = x->slot ? 2 * (x->mask + 1) : 256;
    mem_put(x->m, x->slot);
    x->slot = mem_array0(x->m, uint32_t, n);
    x->mask = n - 1;
    for (size_t i = 0; i < x->vars.n; i++) {
        const lit_key *k = &x->vars.at[i];
        size_t at = (size_t)hash_pair(hash_pair(k->kind, k->a), hash_pair(k->b, k->c)) & x->mask;
        while (x->slot[at]) at = (at + 1) & x->mask;
        x->slot[at] = (uint32_t)i + 1;
    }
}

static uint32_t literal(prover *x, lit_key k)
{
    if (!x->slot || 2 * x->vars.n >= x->mask) grow(x);
    size_t at = (size_t)hash_pair(hash_pair(k.kind, k.a), hash_pair(k.b, k.c)) & x->mask;
    for (; x->slot[at]; at = (at + 1) & x->mask)
        if (!memcmp(&x->vars.at[x->slot[at] - 1], &k, sizeof k)) return 2 * (x->slot[at] - 1);
    if (x->vars.n >= UINT32_MAX / 4)
        guard_fail(x->m->guard, GUARD_UNSUPPORTED, "more than 2^30 literals");
    vec_push(x->m, &x->vars, k);
    vec_push(x->m, &x->value, 0);
    vec_push(x->m, &x->meanings, UINT32_MAX - 1);
    x->slot[at] = (uint32_t)x->vars.n;
    return 2 * (uint32_t)(x->vars.n - 1);
}

static uint32_t begin_of(const prover *x, txn_id t)
{
    return x->si ? 2 * t : t;
}

static uint32_t commit_of(const prover *x, txn_id t)
{
    return x->si ? 2 * t + 1 : t;
}

static uint32_t before(prover *x, uint32_t a, uint32_t b)
{
    return literal(x, (lit_key){LIT_BEFORE, a, b, 0});
}

static uint32_t took_part(prover *x, txn_id t)
{
    if (txn_status_of(x->c.h, t) == TXN_COMMITTED) return NEVER_FALSE;
    return literal(x, (lit_key){LIT_IN, t, 0, 0});
}

/* "o, of t, read k from w": NEVER_FALSE, that t took part, or a literal of its own. */
static bool reads_from(prover *x, txn_id t, op_id o, key_id k, txn_id w, uint32_t *lit)
{
    uint32_t own = literal(x, (lit_key){LIT_READS, o, k, w});
    uint32_t known = x->meanings.at[own / 2];
    if (known != UINT32_MAX - 1) {
        *lit = known;
        return true;
    }
    value_id v;
    txn_id one = NO_ID;
    if (x->c.v->level.id == LEVEL_RU) return no(x, "reads are from nobody at this level");
    if (!source_value(&x->s, t, o, k, &v)) return no(x, "the operation did not read the key");
    switch (source_of(&x->s, t, o, k, v, &one)) {
    case SOURCE_INTERNAL: return no(x, "its own writes explain the read");
    case SOURCE_NONE: return no(x, "nothing explains the read: that is a fault");
    case SOURCE_UNSURE: return no(x, "it is not known whom the list was read from");
    case SOURCE_ONE:
        if (one != w) return no(x, "it cannot have read from that transaction");
        *lit = took_part(x, t);
        break;
    case SOURCE_MANY:
        if (!source_may(&x->s, t, o, k, v, w))
            return no(x, "it cannot have read from that transaction");
        *lit = own;
        break;
    }
    x->meanings.at[own / 2] = *lit;
    return true;
}

/* --- clauses ---------------------------------------------------------------------------------- */

static void put(prover *x, uint32_t lit)
{
    vec_push(x->m, &x->lits, lit);
}

static void put_not(prover *x, uint32_t lit)
{
    if (lit != NEVER_FALSE) put(x, lit ^ 1);
}

static bool close_clause(prover *x)
{
    vec_push(x->m, &x->first, x->lits.n);
    return true;
}

bool prover_done(const prover *x)
{
    size_t n = x->first.n;
    return n > 1 && x->first.at[n - 1] == x->first.at[n - 2];
}

/* --- what the history shows ------------------------------------------------------------------- */

static bool takes_part(prover *x, txn_id t)
{
    return txn_status_of(x->c.h, t) != TXN_ABORTED || no(x, "an aborted transaction takes no part");
}

/* Two different transactions that may take part. */
static bool read_pair(prover *x, parser *p, txn_id *a, txn_id *b)
{
    *a = parse_txn_word(p, false);
    *b = parse_txn_word(p, false);
    if (*a == *b) return no(x, "two transactions are one");
    return takes_part(x, *a) && takes_part(x, *b);
}

/* T I K */
static bool read_op(prover *x, parser *p, txn_id *t, op_id *o, key_id *k)
{
    const history *h = x->c.h;
    *t = parse_txn_word(p, false);
    const char *at = p->now;
    uint64_t i = parse_u64(p, "the number of an operation");
    if (i >= h->txn_op[*t + 1] - h->txn_op[*t])
        parse_fail(p, at, "the transaction has no such operation");
    *o = h->txn_op[*t] + (op_id)i;
    *k = parse_key_word(p);
    return takes_part(x, *t);
}

static bool step_so(prover *x, parser *p)
{
    const history *h = x->c.h;
    txn_id a, b;
    if (!read_pair(x, p, &a, &b)) return false;
    if (!x->c.v->session_order) return no(x, "session order does not count");
    /* transactions stand in input order, and so do those of one session */
    if (h->txn_session[a] != h->txn_session[b] || a > b || txn_status_of(h, a) != TXN_COMMITTED)
        return no(x, "session order does not say so");
    put(x, before(x, commit_of(x, a), begin_of(x, b)));
    return close_clause(x);
}

static bool time_of(const history *h, txn_id t, bool end, int64_t *at)
{
    unsigned flags = h->txn_flags[t];
    bool calls = flags & TXN_HAS_TIMES;
    if (!calls && !(flags & (end ? TXN_HAS_END : TXN_HAS_BEGIN))) return false;
    *at = calls ? h->txn_times[(size_t)t * 4 + (end ? 3 : 0)]
          : end ? h->txn_end[t]
                : h->txn_begin[t];
    return true;
}

static bool step_rt(prover *x, parser *p)
{
    const history *h = x->c.h;
    const claim *v = x->c.v;
    txn_id a, b;
    int64_t end, begin;
    if (!read_pair(x, p, &a, &b)) return false;
    if (v->level.id != LEVEL_SSER && !v->level.realtime) return no(x, "real time does not count");
    uint64_t drift = v->drift > 0 ? (uint64_t)v->drift : 0;
    if (txn_status_of(h, a) != TXN_COMMITTED || !time_of(h, a, true, &end) ||
        !time_of(h, b, false, &begin) || end >= begin || (uint64_t)begin - (uint64_t)end < drift)
        return no(x, "the times do not say so");
    put(x, before(x, commit_of(x, a), begin_of(x, b)));
    return close_clause(x);
}

static bool step_wr(prover *x, parser *p)
{
    txn_id t;
    op_id o;
    key_id k;
    uint32_t reads;
    if (!read_op(x, p, &t, &o, &k)) return false;
    txn_id w = parse_txn_word(p, false);
    if (!reads_from(x, t, o, k, w, &reads)) return false;
    put_not(x, reads);
    put(x, before(x, commit_of(x, w), begin_of(x, t)));
    return close_clause(x);
}

static bool step_taken(prover *x, parser *p)
{
    txn_id t;
    op_id o;
    key_id k;
    uint32_t reads;
    if (!read_op(x, p, &t, &o, &k)) return false;
    txn_id w = parse_txn_word(p, false);
    if (!reads_from(x, t, o, k, w, &reads)) return false;
    uint32_t in = took_part(x, w);
    if (in == NEVER_FALSE) return no(x, "it is known to have committed");
    put_not(x, reads);
    put(x, in);
    return close_clause(x);
}

static bool step_read(prover *x, parser *p)
{
    txn_id t;
    op_id o;
    key_id k;
    uint32_t reads;
    if (!read_op(x, p, &t, &o, &k)) return false;
    txn_id w = parse_txn_word(p, true), u = parse_txn_word(p, false);
    if (!x->strong) return no(x, "the level does not say so");
    if (!takes_part(x, u) || !reads_from(x, t, o, k, w, &reads)) return false;
    if (u == w || u == t || recheck_install(&x->c, u, k) == NO_ID)
        return no(x, "that transaction is no other writer of the key");
    put_not(x, reads);
    if (w != NO_ID) put(x, before(x, commit_of(x, u), begin_of(x, w)));
    put(x, before(x, begin_of(x, t), commit_of(x, u)));
    return close_clause(x);
}

/* t, which read k from w at o, saw u: by the hops, each to one that the last one read from or that
   came before it in its session.  Then u is before w (MAV-1, RA-1, CC-1). */
static bool step_sees(prover *x, parser *p)
{
    const history *h = x->c.h;
    enum level_id level = x->c.v->level.id;
    txn_id t, w, at;
    op_id o;
    key_id k;
    uint32_t reads, hops = 0;
    const char *s;
    size_t n;
    if (!read_op(x, p, &t, &o, &k)) return false;
    at = t;
    w = parse_txn_word(p, true);
    if (level != LEVEL_MAV && level != LEVEL_RA && level != LEVEL_CC)
        return no(x, "the level does not say so");
    if (!reads_from(x, t, o, k, w, &reads)) return false;
    put_not(x, reads);
    for (; parse_word(p, &s, &n); hops++) {
        txn_id next;
        if (hops && level != LEVEL_CC) return no(x, "the level looks one step back only");
        if (parse_is(s, n, "so")) {
            next = parse_txn_word(p, false);
            if (level == LEVEL_MAV || !x->c.v->session_order ||
                h->txn_session[next] != h->txn_session[at] || next >= at ||
                txn_status_of(h, next) != TXN_COMMITTED)
                return no(x, "session order does not say so");
        } else if (parse_is(s, n, "wr")) {
            const char *place = p->now;
            uint64_t i = parse_u64(p, "the number of an operation");
            if (i >= h->txn_op[at + 1] - h->txn_op[at])
                parse_fail(p, place, "the transaction has no such operation");
            op_id from = h->txn_op[at] + (op_id)i;
            key_id key = parse_key_word(p);
            next = parse_txn_word(p, false);
            if (level == LEVEL_MAV && from >= o) return no(x, "that read came no earlier");
            if (!takes_part(x, next) || !reads_from(x, at, from, key, next, &reads)) return false;
            put_not(x, reads);
        } else {
            parse_fail(p, s, "\"so\" or \"wr\" expected");
        }
        at = next;
    }
    if (!hops || at == t || at == w || recheck_install(&x->c, at, k) == NO_ID)
        return no(x, "the last one is no other writer of the key");
    if (w != NO_ID) put(x, before(x, at, w));
    return close_clause(x);
}

/* An unknown initial state is one value for each key. */
static bool step_initial(prover *x, parser *p)
{
    txn_id t[2];
    op_id o[2];
    key_id k[2];
    value_id v[2];
    uint32_t reads;
    for (int i = 0; i < 2; i++) {
        if (!read_op(x, p, &t[i], &o[i], &k[i])) return false;
        if (!source_value(&x->s, t[i], o[i], k[i], &v[i]))
            return no(x, "the operation did not read the key");
        if (!reads_from(x, t[i], o[i], k[i], NO_ID, &reads)) return false;
        put_not(x, reads);
    }
    if (k[0] != k[1] || v[0] == v[1]) return no(x, "they are not two values of one key");
    return close_clause(x);
}

static bool step_from(prover *x, parser *p)
{
    txn_id t, one;
    op_id o;
    key_id k;
    value_id v;
    uint32_t lit, at = 0;
    if (!read_op(x, p, &t, &o, &k)) return false;
    if (x->c.v->level.id == LEVEL_RU) return no(x, "reads are from nobody at this level");
    if (!source_value(&x->s, t, o, k, &v)) return no(x, "the operation did not read the key");
    if (source_of(&x->s, t, o, k, v, &one) != SOURCE_MANY)
        return no(x, "the read has not several candidates");
    put_not(x, took_part(x, t));
    if (source_may(&x->s, t, o, k, v, NO_ID)) {
        if (!reads_from(x, t, o, k, NO_ID, &lit)) return false;
        put(x, lit);
    }
    for (txn_id w; (w = source_next(&x->s, t, o, k, v, &at)) != NO_ID;) {
        if (!reads_from(x, t, o, k, w, &lit)) return false;
        put(x, lit);
    }
    return close_clause(x);
}

static bool step_overlap(prover *x, parser *p)
{
    txn_id a, b;
    key_id k = parse_key_word(p);
    if (!read_pair(x, p, &a, &b)) return false;
    if (!x->si) return no(x, "only snapshot isolation has begins and commits");
    if (recheck_install(&x->c, a, k) == NO_ID || recheck_install(&x->c, b, k) == NO_ID)
        return no(x, "they do not both write the key");
    put(x, before(x, commit_of(x, a), begin_of(x, b)));
    put(x, before(x, commit_of(x, b), begin_of(x, a)));
    return close_clause(x);
}

static bool step_list(prover *x, parser *p, bool shows)
{
    txn_id t, a, b = NO_ID;
    op_id o;
    key_id k;
    value_id v;
    if (!read_op(x, p, &t, &o, &k)) return false;
    if (shows) {
        a = parse_txn_word(p, false);
        if (!takes_part(x, a)) return false;
    } else if (!read_pair(x, p, &a, &b)) {
        return false;
    }
    if (!source_value(&x->s, t, o, k, &v)) return no(x, "the operation did not read the key");
    if (x->c.v->level.id == LEVEL_RU) {
        if (shows || !source_uncommitted(&x->s, t, o, k, v, a, b))
            return no(x, "the list does not show that order");
        put(x, before(x, a, b));
        return close_clause(x);
    }
    uint32_t at = source_shown(&x->s, k, v, a);
    if (!at || at == UINT32_MAX) return no(x, "the list does not show the transaction");
    put_not(x, took_part(x, t));
    if (shows) {
        uint32_t in = took_part(x, a);
        if (in == NEVER_FALSE) return no(x, "it is known to have committed");
        put(x, in);
        return close_clause(x);
    }
    /* b comes later in the list, or is missing there although it appends to it */
    uint32_t other = source_shown(&x->s, k, v, b);
    if (other ? other < at : !source_missing(&x->s, k, v, b))
        return no(x, "the list does not show that order");
    put(x, before(x, commit_of(x, a), begin_of(x, b)));
    return close_clause(x);
}

/* The position that the database told of t's version of k. */
static bool position(const prover *x, txn_id t, key_id k, int64_t *at)
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
    if (!position(x, a, k, &at_a) || !position(x, b, k, &at_b) || at_a > at_b)
        return no(x, "the positions of the versions do not say so");
    put_not(x, took_part(x, a));
    if (at_a == at_b)
        put_not(x, took_part(x, b)); /* one position, one version */
    else
        put(x, before(x, commit_of(x, a), begin_of(x, b)));
    return close_clause(x);
}

static bool step_fault(prover *x, parser *p)
{
    txn_id t = parse_txn_word(p, false);
    if (!takes_part(x, t)) return false;
    bool faulty = x->c.v->level.id == LEVEL_RU ? source_garbage(&x->s, t) : source_faulty(&x->s, t);
    if (!faulty) return no(x, "every read of the transaction can be explained");
    put_not(x, took_part(x, t));
    return close_clause(x);
}

static bool step_exhaustive(prover *x)
{
    return exhaust(&x->c, &x->s, x->why) && close_clause(x);
}

/* --- what follows ----------------------------------------------------------------------------- */

static uint32_t parse_event(prover *x, parser *p, const char **s, size_t *n)
{
    bool commit = false;
    if (x->si) {
        if (*n < 2 || (**s != 'b' && **s != 'c') || (*s)[1] != ':')
            parse_fail(p, *s, "b: or c: expected");
        commit = **s == 'c';
        *s += 2;
        *n -= 2;
    }
    txn_id t = parse_txn(p, s, n, false);
    return commit ? commit_of(x, t) : begin_of(x, t);
}

static bool event_takes_part(prover *x, uint32_t e)
{
    return takes_part(x, x->si ? e / 2 : e);
}

static bool step_cycle(prover *x, parser *p)
{
    VEC(uint32_t) e = {0};
    const char *s;
    size_t n;
    while (parse_word(p, &s, &n)) {
        uint32_t event = parse_event(x, p, &s, &n);
        if (n) parse_fail(p, s, "an event expected");
        if (!event_takes_part(x, event)) return false;
        vec_push(x->m, &e, event);
    }
    if (e.n < 2) return no(x, "a cycle has two events at least");
    for (size_t i = 0; i < e.n; i++) {
        uint32_t a = e.at[i], b = e.at[(i + 1) % e.n];
        if (a == b) return no(x, "an event is not before itself");
        if (x->si && b == a + 1 && a % 2 == 0) continue; /* a begin and its own commit */
        put_not(x, before(x, a, b));
    }
    vec_free(x->m, &e);
    return close_clause(x);
}

/* [!]EVENT<EVENT, [!]@T or [!]T.I.K=W; NEVER_FALSE if it is always true, with *negated said. */
static bool parse_literal(prover *x, parser *p, const char *s, size_t n, uint32_t *lit,
                          bool *negated)
{
    const char *whole = s;
    *negated = *s == '!';
    s += *negated;
    n -= *negated;
    if (n && *s == '@') {
        s++;
        n--;
        txn_id t = parse_txn(p, &s, &n, false);
        if (n) parse_fail(p, s, "the literal should end here");
        *lit = took_part(x, t);
        return takes_part(x, t);
    }
    size_t k = name_length(s, n);
    if (!x->si && k && k < n && s[k] == '.') goto reads;
    if (x->si && k) goto reads;
    uint32_t a = parse_event(x, p, &s, &n);
    if (!n || *s != '<') parse_fail(p, s, "< expected");
    s++;
    n--;
    uint32_t b = parse_event(x, p, &s, &n);
    if (n) parse_fail(p, s, "the literal should end here");
    if (a == b) return no(x, "an event is not before itself");
    *lit = before(x, a, b);
    return event_takes_part(x, a) && event_takes_part(x, b);
reads:;
    const history *h = x->c.h;
    txn_id t = parse_txn(p, &s, &n, false);
    const char *dot = n ? memchr(s + 1, '.', n - 1) : NULL;
    if (!n || *s != '.' || !dot) parse_fail(p, whole, "no literal");
    uint64_t i = parse_number(p, "the number of an operation", s + 1, (size_t)(dot - s - 1));
    n -= (size_t)(dot - s) + 1;
    s = dot + 1;
    key_id key = parse_key(p, &s, &n);
    if (!n || *s != '=') parse_fail(p, s, "= expected");
    s++;
    n--;
    txn_id w = parse_txn(p, &s, &n, true);
    if (n) parse_fail(p, s, "the literal should end here");
    if (i >= h->txn_op[t + 1] - h->txn_op[t])
        parse_fail(p, whole, "the transaction has no such operation");
    return takes_part(x, t) && reads_from(x, t, h->txn_op[t] + (op_id)i, key, w, lit);
}

static int value_of(const prover *x, uint32_t lit)
{
    int v = x->value.at[lit / 2];
    return lit & 1 ? -v : v;
}

static void assign(prover *x, uint32_t lit)
{
    assert(!value_of(x, lit));
    x->value.at[lit / 2] = lit & 1 ? -1 : 1;
    vec_push(x->m, &x->trail, lit);
}

/* What the clause says now: 1 one literal is left (and becomes true), -1 none is, 0 nothing. */
static int propagate(prover *x, uint64_t id)
{
    uint32_t unit = NEVER_FALSE;
    for (uint64_t i = x->first.at[id]; i < x->first.at[id + 1]; i++) {
        uint32_t lit = x->lits.at[i];
        int v = value_of(x, lit);
        if (v > 0 || (!v && unit != NEVER_FALSE && unit != lit)) return 0;
        if (!v) unit = lit;
    }
    if (unit == NEVER_FALSE) return -1;
    assign(x, unit);
    return 1;
}

static bool step_rup(prover *x, parser *p)
{
    const char *s;
    size_t n;
    size_t start = x->lits.n, id = x->first.n; /* clauses are numbered from 1, as steps are */
    bool conflict = false, ok = true;
    for (;;) {
        parse_need(p, "\":\"", &s, &n);
        if (parse_is(s, n, ":")) break;
        uint32_t lit;
        bool negated;
        if (!parse_literal(x, p, s, n, &lit, &negated)) return false;
        if (lit == NEVER_FALSE) {
            if (negated) continue; /* never true: adds nothing */
            return no(x, "a literal of the clause is always true");
        }
        put(x, lit ^ negated);
    }
    for (size_t i = start; i < x->lits.n && ok; i++) {
        int v = value_of(x, x->lits.at[i] ^ 1);
        if (v < 0) ok = false; /* contains a literal and its negation */
        if (!v) assign(x, x->lits.at[i] ^ 1);
    }
    while (ok && parse_word(p, &s, &n)) {
        uint64_t hint_id = parse_number(p, "the number of a step", s, n);
        if (!hint_id || hint_id >= id) {
            ok = no(x, "a hint is no earlier step");
            break;
        }
        int did = conflict ? 0 : propagate(x, hint_id - 1);
        if (!did) {
            ok = no(x, conflict ? "hints behind the contradiction" : "a hint says nothing here");
            break;
        }
        conflict = did < 0;
    }
    for (size_t i = 0; i < x->trail.n; i++) x->value.at[x->trail.at[i] / 2] = 0;
    x->trail.n = 0;
    if (!ok) return *x->why ? false : no(x, "the clause contains a literal and its negation");
    if (!conflict) return no(x, "the hints do not lead to a contradiction");
    return close_clause(x);
}

bool prover_step(prover *x, parser *p, enum proof_step kind)
{
    guard_tick(x->m->guard);
    switch (kind) {
    case PROOF_SO: return step_so(x, p);
    case PROOF_RT: return step_rt(x, p);
    case PROOF_WR: return step_wr(x, p);
    case PROOF_READ: return step_read(x, p);
    case PROOF_SEES: return step_sees(x, p);
    case PROOF_INITIAL: return step_initial(x, p);
    case PROOF_FROM: return step_from(x, p);
    case PROOF_TAKEN: return step_taken(x, p);
    case PROOF_OVERLAP: return step_overlap(x, p);
    case PROOF_LIST: return step_list(x, p, false);
    case PROOF_SHOWS: return step_list(x, p, true);
    case PROOF_VER: return step_ver(x, p);
    case PROOF_FAULT: return step_fault(x, p);
    case PROOF_CYCLE: return step_cycle(x, p);
    case PROOF_RUP: return step_rup(x, p);
    case PROOF_EXHAUSTIVE: return step_exhaustive(x);
    case PROOF_STEPS: break;
    }
    return no(x, "no kind of step");
}
