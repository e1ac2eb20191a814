/*
 * proof_check.c - a proof that no execution satisfies the level: literals, clauses, what follows.
 *
 * Literals: "event a before event b", "t took part" (of unknown outcomes only), "this read saw w"
 * (of reads with several candidates only; a read with one candidate saw it if its transaction took
 * part).  Events are transactions, or begins and commits where the level orders these.
 *
 * Every clause is made here, from the history, and holds in every execution, extended in this way
 * to transactions of unknown outcome that took no part: they stand behind all others, one after
 * the other.  So an edge from one that took part to one that did not always holds, and guards are
 * needed for sources only.  Clauses follow from earlier ones by unit propagation along the hints
 * that the step names.  The empty clause is the proof.
 */
#include "verify/proof_state.h"

#include <assert.h>

#include "base/hash.h"
#include "history/additions.h"

bool prover_no(prover *x, const char *what)
{
    *x->why = what;
    return false;
}

prover *prover_new(mem *m, const history *h, const claim *c, const char **why)
{
    const level_law *law = law_of(c->level.id);
    if (!law) {
        *why = "violations of this level cannot be verified";
        return NULL;
    }
    if (h->txns >= UINT32_MAX / 4 || (law->parts && h->ops >= UINT32_MAX / 4))
        guard_fail(m->guard, GUARD_UNSUPPORTED, "more than 2^30 transactions or operations");
    prover *x = mem_zeroed(m, sizeof *x);
    x->m = m;
    x->why = why;
    x->law = law;
    x->si = law->events;
    x->c = (checker){.v = c, .h = h, .m = m};
    if (!recheck_single(&x->c)) {
        *why = x->c.why;
        return NULL;
    }
    recheck_load_writes(&x->c);
    recheck_load_keys(&x->c);
    recheck_index_values(&x->c);
    if (!recheck_load_rows(&x->c)) {
        *why = x->c.why;
        return NULL;
    }
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

uint32_t prover_literal(prover *x, lit_key k)
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

uint32_t prover_before(prover *x, uint32_t a, uint32_t b)
{
    return prover_literal(x, (lit_key){LIT_BEFORE, a, b, 0});
}

uint32_t prover_choice(prover *x, uint32_t assumption, uint32_t set)
{
    return prover_literal(x, (lit_key){LIT_CHOSEN, assumption, set, 0});
}

uint32_t prover_took_part(prover *x, txn_id t)
{
    if (txn_status_of(x->c.h, t) == TXN_COMMITTED) return NEVER_FALSE;
    return prover_literal(x, (lit_key){LIT_IN, t, 0, 0});
}

/* "o, of t, read k from w": NEVER_FALSE, that t took part, or a literal of its own. */
bool prover_reads(prover *x, txn_id t, op_id o, key_id k, txn_id w, uint32_t *lit)
{
    uint32_t own = prover_literal(x, (lit_key){LIT_READS, o, k, w});
    uint32_t known = x->meanings.at[own / 2];
    if (known != UINT32_MAX - 1) {
        *lit = known;
        return true;
    }
    value_id v;
    txn_id one = NO_ID;
    if (prover_uncommitted(x, t)) return prover_no(x, "reads have no writers at this level");
    if (!source_value(&x->s, t, o, k, &v))
        return prover_no(x, "the operation did not read the key");
    switch (source_of(&x->s, t, o, k, v, &one)) {
    case SOURCE_INTERNAL: return prover_no(x, "its own writes explain the read");
    case SOURCE_NONE: return prover_no(x, "nothing explains the read: that is a fault");
    case SOURCE_UNSURE:
        return prover_no(x, "it is not known which transaction the list was read from");
    case SOURCE_ONE:
        if (one != w) return prover_no(x, "it cannot have read from that transaction");
        *lit = prover_took_part(x, t);
        break;
    case SOURCE_MANY:
        if (!source_may(&x->s, t, o, k, v, w))
            return prover_no(x, "it cannot have read from that transaction");
        *lit = own;
        break;
    }
    x->meanings.at[own / 2] = *lit;
    return true;
}

/* --- clauses ---------------------------------------------------------------------------------- */

void prover_put(prover *x, uint32_t lit)
{
    vec_push(x->m, &x->lits, lit);
}

void prover_put_not(prover *x, uint32_t lit)
{
    if (lit != NEVER_FALSE) prover_put(x, lit ^ 1);
}

bool prover_close(prover *x)
{
    vec_push(x->m, &x->first, x->lits.n);
    return true;
}

bool prover_done(const prover *x)
{
    size_t n = x->first.n;
    return n > 1 && x->first.at[n - 1] == x->first.at[n - 2];
}

bool prover_takes_part(prover *x, txn_id t)
{
    return txn_status_of(x->c.h, t) != TXN_ABORTED ||
           prover_no(x, "an aborted transaction takes no part");
}

/* --- what follows ----------------------------------------------------------------------------- */

txn_id prover_event_txn(const prover *x, uint32_t e)
{
    uint32_t txns = (uint32_t)x->c.h->txns;
    if (x->law->parts && e >= txns) return txn_of_op(x->c.h, e - txns);
    return x->si ? e / 2 : e;
}

/* Does the operation take effect by itself, beside the snapshot: a write, or a read that locks? */
static bool is_current(const history *h, op_id o)
{
    unsigned kind = op_kind_of(h, o);
    if (op_failed(h, o)) return false;
    return kind == OP_WRITE || kind == OP_DELETE || kind == OP_APPEND || h->op_kind[o] & OP_LOCK;
}

uint32_t prover_read_event(const prover *x, txn_id t, op_id o, key_id k)
{
    const checker *c = &x->c;
    if (!x->law->parts) return begin_of(x, t);
    if (c->h->op_kind[o] & OP_LOCK) return part_of(x, t, o);
    /* a list that was read after own appends is what they were appended to */
    op_id own = c->is_list[k] ? recheck_own_statement(c, t, k, o) : NO_ID;
    return own != NO_ID ? part_of(x, t, own) : t;
}

uint32_t prover_write_event(const prover *x, txn_id t, key_id k)
{
    if (!x->law->parts) return commit_of(x, t);
    uint32_t w = recheck_install(&x->c, t, k);
    assert(w != NO_ID);
    return part_of(x, t, x->c.w_op[w]);
}

/* The rest of `T.I`: a current statement of t. */
static bool read_part(prover *x, parser *p, txn_id t, const char **s, size_t *n, uint32_t *e)
{
    const history *h = x->c.h;
    size_t k = 1;
    while (k < *n && (*s)[k] >= '0' && (*s)[k] <= '9') k++;
    uint64_t i = parse_number(p, "the number of an operation", *s + 1, k - 1);
    if (i >= h->txn_op[t + 1] - h->txn_op[t])
        parse_fail(p, *s + 1, "the transaction has no such operation");
    *s += k;
    *n -= k;
    op_id o = h->txn_op[t] + (op_id)i;
    if (!is_current(h, o)) return prover_no(x, "the operation neither writes nor locks");
    *e = part_of(x, t, o);
    return true;
}

/* `p:N`, a helper point of the assumptions. */
static bool point_event(prover *x, parser *p, const char **s, size_t *n, uint32_t *e)
{
    size_t k = 2;
    while (k < *n && (*s)[k] >= '0' && (*s)[k] <= '9') k++;
    uint64_t i = parse_number(p, "the number of a point", *s + 2, k - 2);
    if (!x->c.h->assumed || i >= x->c.h->assumed->points)
        return prover_no(x, "the assumptions have no such point");
    *s += k;
    *n -= k;
    *e = prover_first_point(x) + (uint32_t)i;
    return true;
}

static bool is_point(const prover *x, uint32_t e)
{
    return x->c.h->assumed && e >= prover_first_point(x);
}

bool prover_event(prover *x, parser *p, const char **s, size_t *n, uint32_t *e)
{
    bool commit = false;
    if (!x->law->parts && *n > 2 && **s == 'p' && (*s)[1] == ':') return point_event(x, p, s, n, e);
    if (x->si) {
        if (*n < 2 || (**s != 'b' && **s != 'c') || (*s)[1] != ':')
            parse_fail(p, *s, "b: or c: expected");
        commit = **s == 'c';
        *s += 2;
        *n -= 2;
    }
    txn_id t = parse_txn(p, s, n, false);
    if (x->law->parts && *n && **s == '.') return read_part(x, p, t, s, n, e);
    if (x->si && !commit && begin_of(x, t) == commit_of(x, t))
        return prover_no(x, "the transaction has no begin of its own");
    *e = commit ? commit_of(x, t) : begin_of(x, t);
    return true;
}

bool prover_event_takes_part(prover *x, uint32_t e)
{
    return is_point(x, e) || prover_takes_part(x, prover_event_txn(x, e));
}

static bool step_cycle(prover *x, parser *p)
{
    VEC(uint32_t) e = {0};
    const char *s;
    size_t n;
    while (parse_word(p, &s, &n)) {
        uint32_t event;
        if (!prover_event(x, p, &s, &n, &event)) return false;
        if (n) parse_fail(p, s, "an event expected");
        if (!prover_event_takes_part(x, event)) return false;
        vec_push(x->m, &e, event);
    }
    if (e.n < 2) return prover_no(x, "a cycle has two events at least");
    for (size_t i = 0; i < e.n; i++) {
        uint32_t a = e.at[i], b = e.at[(i + 1) % e.n];
        if (a == b) return prover_no(x, "an event is not before itself");
        if (x->si && b == a + 1 && a % 2 == 0 && !is_point(x, a))
            continue; /* a begin and its own commit */
        prover_put_not(x, prover_before(x, a, b));
    }
    vec_free(x->m, &e);
    return prover_close(x);
}

/* Is a literal T.I.K=W meant, and no event?  A part of a transaction is T.I, without a key. */
static bool names_read(const prover *x, const char *s, size_t n)
{
    size_t k = name_length(s, n);
    if (x->si || !k) return k > 0;
    if (k == n || s[k] != '.') return false;
    for (k++; x->law->parts && k < n && s[k] >= '0' && s[k] <= '9'; k++) {}
    return !x->law->parts || (k < n && s[k] == '.');
}

/* [!]EVENT<EVENT, [!]@T, [!]T.I.K=W or one of chain_step.c; NEVER_FALSE if it is always true, with
   *negated said. */
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
        *lit = prover_took_part(x, t);
        return prover_takes_part(x, t);
    }
    if (n && *s == '#') {
        const char *dot = memchr(s, '.', n);
        if (!dot) parse_fail(p, s, "no literal");
        uint64_t said = parse_number(p, "an assumption", s + 1, (size_t)(dot - s - 1));
        uint64_t set = parse_number(p, "a set", dot + 1, n - (size_t)(dot - s) - 1);
        return prover_chosen(x, said, set, lit);
    }
    if (chain_names_literal(s, n)) return chain_literal(x, p, s, n, lit);
    if (names_read(x, s, n)) goto reads;
    uint32_t a, b;
    if (!prover_event(x, p, &s, &n, &a)) return false;
    if (!n || *s != '<') parse_fail(p, s, "< expected");
    s++;
    n--;
    if (!prover_event(x, p, &s, &n, &b)) return false;
    if (n) parse_fail(p, s, "the literal should end here");
    if (a == b) return prover_no(x, "an event is not before itself");
    *lit = prover_before(x, a, b);
    return prover_event_takes_part(x, a) && prover_event_takes_part(x, b);
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
    return prover_takes_part(x, t) && prover_reads(x, t, h->txn_op[t] + (op_id)i, key, w, lit);
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
            return prover_no(x, "a literal of the clause is always true");
        }
        prover_put(x, lit ^ negated);
    }
    for (size_t i = start; i < x->lits.n && ok; i++) {
        int v = value_of(x, x->lits.at[i] ^ 1);
        if (v < 0) ok = false; /* contains a literal and its negation */
        if (!v) assign(x, x->lits.at[i] ^ 1);
    }
    while (ok && parse_word(p, &s, &n)) {
        uint64_t hint_id = parse_number(p, "the number of a step", s, n);
        if (!hint_id || hint_id >= id) {
            ok = prover_no(x, "a hint is not an earlier step");
            break;
        }
        int did = conflict ? 0 : propagate(x, hint_id - 1);
        if (!did) {
            ok = prover_no(x,
                           conflict ? "hints after the contradiction" : "a hint says nothing here");
            break;
        }
        conflict = did < 0;
    }
    for (size_t i = 0; i < x->trail.n; i++) x->value.at[x->trail.at[i] / 2] = 0;
    x->trail.n = 0;
    if (!ok)
        return *x->why ? false : prover_no(x, "the clause contains a literal and its negation");
    if (!conflict) return prover_no(x, "the hints do not lead to a contradiction");
    return prover_close(x);
}

bool prover_step(prover *x, parser *p, enum proof_step kind)
{
    guard_tick(x->m->guard);
    if (kind == PROOF_CYCLE) return step_cycle(x, p);
    if (kind == PROOF_RUP) return step_rup(x, p);
    return axiom_step(x, p, kind);
}
