/*
 * chain_step.c - the step `chain`: what a list key held, one version after the other.
 *
 * For lists whose elements do not tell who appended them: elements that repeat, writes and deletes
 * among the appends, an unknown initial list.  In every execution each version of such a key has a
 * content: that of the version right before it, and then the appends of its transaction; or what
 * its transaction set the key to.  Contents are named by a read that begins with them, so those
 * that nobody saw have no name and do not matter.
 *
 *     T~C     T took part, and the version right before T's had content C; a scalar counts as the
 *             list of it, because appending to both leaves the same list
 *     T~C~W   ... and that version was W's, or `init`
 *     init~C  the initial content, which the history does not tell, was C
 *
 * C is R.I.K:N, the first N elements of what operation I of R returned for K, or R.I.K:s, the
 * scalar that is the first of them.
 */
#include "verify/proof_state.h"

/* --- contents --------------------------------------------------------------------------------- */

static uint32_t new_state(prover *x, key_id k, seq what)
{
    if (x->states.n >= UINT32_MAX / 4)
        guard_fail(x->m->guard, GUARD_UNSUPPORTED, "more than 2^30 contents of lists");
    vec_push(x->m, &x->states, ((list_state){k, what}));
    return (uint32_t)x->states.n - 1;
}

/* The content; `what` may be about a scalar that does not stay where it is. */
static uint32_t state_of(prover *x, key_id k, seq what)
{
    if (what.n == 1) {
        value_id *kept = mem_get(x->m, sizeof *kept);
        *kept = what.at[0];
        what.at = kept;
    }
    uint32_t *root = id_map_at(x->m, &x->state_root, map_pair(k, what.scalar ? what.at[0] : NO_ID));
    if (*root == MAP_NONE) *root = new_state(x, k, (seq){what.at, what.scalar, what.scalar});
    uint32_t at = *root;
    for (uint32_t i = 0; i < what.n && !what.scalar; i++) {
        uint32_t *below = id_map_at(x->m, &x->state_child, map_pair(at, what.at[i]));
        if (*below == MAP_NONE) *below = new_state(x, k, (seq){what.at, i + 1, false});
        at = *below;
        guard_tick(x->m->guard);
    }
    return at;
}

/* R.I.K:N or R.I.K:s, at the beginning of *s. */
static bool read_state(prover *x, parser *p, const char **s, size_t *n, uint32_t *state)
{
    const history *h = x->c.h;
    const char *whole = *s;
    value_id v;
    txn_id t = parse_txn(p, s, n, false);
    const char *dot = *n ? memchr(*s + 1, '.', *n - 1) : NULL;
    if (!*n || **s != '.' || !dot) parse_fail(p, whole, "a content expected");
    uint64_t i = parse_number(p, "the number of an operation", *s + 1, (size_t)(dot - *s - 1));
    *n -= (size_t)(dot - *s) + 1;
    *s = dot + 1;
    key_id k = parse_key(p, s, n);
    if (*n < 2 || **s != ':') parse_fail(p, *s, ": and a length expected");
    if (i >= h->txn_op[t + 1] - h->txn_op[t])
        parse_fail(p, whole, "the transaction has no such operation");
    size_t digits = 1;
    while (digits < *n && (*s)[digits] >= '0' && (*s)[digits] <= '9') digits++;
    bool scalar = (*s)[1] == 's';
    if (scalar) digits = 2;
    uint64_t want = scalar ? 1 : parse_number(p, "a length", *s + 1, digits - 1);
    *s += digits;
    *n -= digits;
    if (!x->c.is_list[k] || x->s.whole[k])
        return prover_no(x, "the key is no list that is only appended to, written and deleted");
    if (!source_value(&x->s, t, h->txn_op[t] + (op_id)i, k, &v))
        return prover_no(x, "the operation did not read the key");
    seq shown = content(h, &v);
    if (want > shown.n) return prover_no(x, "the list that was read is shorter");
    *state = state_of(x, k, (seq){shown.at, (uint32_t)want, scalar});
    return true;
}

static bool state_word(prover *x, parser *p, uint32_t *state)
{
    const char *s;
    size_t n;
    parse_need(p, "a content", &s, &n);
    if (!read_state(x, p, &s, &n, state)) return false;
    if (n) parse_fail(p, s, "the content should end here");
    return true;
}

static seq as_list(seq what)
{
    return (seq){what.at, what.n, false};
}

/* --- literals --------------------------------------------------------------------------------- */

static uint32_t on_lit(prover *x, txn_id t, uint32_t state)
{
    return prover_literal(x, (lit_key){LIT_ON, t, state, 0});
}

static uint32_t right_lit(prover *x, txn_id t, uint32_t state, txn_id w)
{
    return prover_literal(x, (lit_key){LIT_RIGHT, t, state, w});
}

static uint32_t first_lit(prover *x, uint32_t state)
{
    return prover_literal(x, (lit_key){LIT_FIRST, 0, state, 0});
}

/* How w can have left the content on which somebody stands, a list or the scalar of it. */
static enum left_how left_as_list(const prover *x, uint32_t state, txn_id w, uint32_t *before)
{
    const list_state *y = &x->states.at[state];
    enum left_how how = source_left(&x->c, y->key, y->what, w, before);
    if (how == LEFT_NOT && y->what.n == 1)
        how = source_left(&x->c, y->key, (seq){y->what.at, 1, true}, w, before);
    return how;
}

/* T appends to the key of the content, which is a list, and may take part. */
static bool stands(prover *x, txn_id t, uint32_t state)
{
    const list_state *y = &x->states.at[state];
    uint32_t lo, hi;
    if (!prover_takes_part(x, t)) return false;
    if (prover_uncommitted(x, t)) return prover_no(x, "versions have no contents at this level");
    if (y->what.scalar) return prover_no(x, "one stands on a list");
    hi = recheck_own(&x->c, t, y->key, NO_ID, &lo);
    return (lo < hi && !write_is_local(&x->c, lo)) ||
           prover_no(x, "the transaction has no version of the key");
}

/* W, another one, can have left the content. */
static bool stands_after(prover *x, txn_id t, uint32_t state, txn_id w)
{
    uint32_t before;
    if (!stands(x, t, state)) return false;
    if (w == t) return prover_no(x, "no version is right before itself");
    if (w != NO_ID && !prover_takes_part(x, w)) return false;
    return left_as_list(x, state, w, &before) != LEFT_NOT ||
           prover_no(x, "that transaction cannot have left the content");
}

static bool can_be_first(prover *x, uint32_t state)
{
    return x->c.open[x->states.at[state].key] ||
           prover_no(x, "the initial content of the key is known");
}

bool chain_names_literal(const char *s, size_t n)
{
    size_t k = n > 5 && !memcmp(s, "init~", 5) ? 4 : name_length(s, n);
    return k && k < n && s[k] == '~';
}

bool chain_literal(prover *x, parser *p, const char *s, size_t n, uint32_t *lit)
{
    uint32_t state;
    txn_id t = parse_txn(p, &s, &n, true), w = NO_ID;
    if (!n || *s != '~') parse_fail(p, s, "~ expected");
    s++;
    n--;
    if (!read_state(x, p, &s, &n, &state)) return false;
    bool right = n && *s == '~';
    if (right) {
        s++;
        n--;
        w = parse_txn(p, &s, &n, true);
    }
    if (n) parse_fail(p, s, "the literal should end here");
    if (t == NO_ID) {
        *lit = first_lit(x, state);
        return right ? prover_no(x, "nothing is before the initial state") : can_be_first(x, state);
    }
    *lit = right ? right_lit(x, t, state, w) : on_lit(x, t, state);
    return right ? stands_after(x, t, state, w) : stands(x, t, state);
}

/* --- rules ------------------------------------------------------------------------------------ */

/* Adds that w had left the content `what` of k, in the way that it can. */
static bool put_left(prover *x, key_id k, seq what, txn_id w)
{
    uint32_t before;
    switch (source_left(&x->c, k, what, w, &before)) {
    case LEFT_NOT: break;
    case LEFT_FIRST: prover_put(x, first_lit(x, state_of(x, k, what))); break;
    case LEFT_APPENDED:
        prover_put(x, on_lit(x, w, state_of(x, k, (seq){what.at, before, false})));
        break;
    case LEFT_SURELY:
        if (w == NO_ID || prover_took_part(x, w) == NEVER_FALSE)
            return prover_no(x, "it is known to have left that");
        prover_put(x, prover_took_part(x, w));
        break;
    }
    return true;
}

/* `on T C`: one of those that can have left C is right before T. */
static bool rule_on(prover *x, txn_id t, uint32_t state)
{
    const list_state y = x->states.at[state];
    uint32_t before;
    if (!stands(x, t, state)) return false;
    prover_put_not(x, on_lit(x, t, state));
    if (left_as_list(x, state, NO_ID, &before) != LEFT_NOT)
        prover_put(x, right_lit(x, t, state, NO_ID));
    int forms = y.what.n == 1 ? 2 : 1; /* a list of one element may be that element itself */
    for (int scalar = 0; scalar < forms; scalar++) {
        seq what = {y.what.at, y.what.n, scalar};
        uint32_t at = 0;
        for (txn_id w; (w = source_leaver(&x->c, y.key, what, &at)) != NO_ID;)
            if (w != t) prover_put(x, right_lit(x, t, state, w));
    }
    return prover_close(x);
}

/* `left T C W`: W, right before T, had left C, or the scalar that counts as it. */
static bool rule_left(prover *x, txn_id t, uint32_t state, txn_id w)
{
    const list_state y = x->states.at[state];
    if (!stands_after(x, t, state, w)) return false;
    prover_put_not(x, right_lit(x, t, state, w));
    if (!put_left(x, y.key, y.what, w)) return false;
    if (y.what.n == 1 && !put_left(x, y.key, (seq){y.what.at, 1, true}, w)) return false;
    return prover_close(x);
}

/* `between T C W U`: U's version is not between W's and T's. */
static bool rule_between(prover *x, parser *p, txn_id t, uint32_t state, txn_id w)
{
    key_id k = x->states.at[state].key;
    txn_id u = parse_txn_word(p, false);
    if (!stands_after(x, t, state, w) || !prover_takes_part(x, u)) return false;
    if (u == t || u == w || recheck_install(&x->c, u, k) == NO_ID)
        return prover_no(x, "that transaction is no other writer of the key");
    prover_put_not(x, right_lit(x, t, state, w));
    if (w != NO_ID)
        prover_put(x, prover_before(x, prover_write_event(x, u, k), axiom_version(x, w, k)));
    prover_put(x, prover_before(x, prover_write_event(x, t, k), axiom_version(x, u, k)));
    return prover_close(x);
}

/* T C W, and then the clause. */
static bool rule_right(prover *x, parser *p, enum chain_rule rule)
{
    uint32_t state;
    txn_id t = parse_txn_word(p, false);
    if (!state_word(x, p, &state)) return false;
    key_id k = x->states.at[state].key;
    txn_id w = parse_txn_word(p, rule != CHAIN_RIGHT);
    if (rule == CHAIN_LEFT) return rule_left(x, t, state, w);
    if (rule == CHAIN_BETWEEN) return rule_between(x, p, t, state, w);
    if (!stands_after(x, t, state, w)) return false;
    prover_put_not(x, right_lit(x, t, state, w));
    if (rule == CHAIN_IS)
        prover_put(x, on_lit(x, t, state));
    else
        prover_put(x, prover_before(x, prover_write_event(x, w, k), axiom_version(x, t, k)));
    return prover_close(x);
}

/* `in T C`; `one T C C`, where T may be init. */
static bool rule_on_alone(prover *x, parser *p, enum chain_rule rule)
{
    uint32_t a, b = 0;
    txn_id t = parse_txn_word(p, rule == CHAIN_ONE);
    if (!state_word(x, p, &a) || (rule == CHAIN_ONE && !state_word(x, p, &b))) return false;
    if (rule == CHAIN_ON) return rule_on(x, t, a);
    if (rule == CHAIN_IN) {
        if (!stands(x, t, a)) return false;
        uint32_t in = prover_took_part(x, t);
        if (in == NEVER_FALSE) return prover_no(x, "it is known to have committed");
        prover_put_not(x, on_lit(x, t, a));
        prover_put(x, in);
        return prover_close(x);
    }
    if (a == b || x->states.at[a].key != x->states.at[b].key)
        return prover_no(x, "they are not two contents of one key");
    if (t == NO_ID ? !can_be_first(x, a) : !stands(x, t, a) || !stands(x, t, b)) return false;
    prover_put_not(x, t == NO_ID ? first_lit(x, a) : on_lit(x, t, a));
    prover_put_not(x, t == NO_ID ? first_lit(x, b) : on_lit(x, t, b));
    return prover_close(x);
}

/* Does T, which read k at o and writes it, install its version where it read, so that nobody may
   write in between? */
static bool reads_where_it_writes(const prover *x, txn_id t, op_id o, key_id k)
{
    if (recheck_install(&x->c, t, k) == NO_ID || !axiom_finds_newest(x, t, o, k)) return false;
    if (x->law->parts) return prover_read_event(x, t, o, k) == prover_write_event(x, t, k);
    if (!x->si || begin_of(x, t) == commit_of(x, t)) return true;
    return x->law->overlap && !x->c.deletes;
}

/* T I K, and then the clause. */
static bool rule_read(prover *x, parser *p, enum chain_rule rule)
{
    txn_id t, w = NO_ID;
    op_id o;
    key_id k;
    value_id v;
    bool own;
    uint32_t lit, state = 0;
    if (!axiom_read_op(x, p, &t, &o, &k)) return false;
    if (prover_uncommitted(x, t)) return prover_no(x, "versions have no contents at this level");
    if (!x->c.is_list[k] || x->s.whole[k] || !source_value(&x->s, t, o, k, &v))
        return prover_no(x, "the operation read no such list");
    seq saw = content(x->c.h, &v);
    if (recheck_internal(&x->c, t, o, k, v) || !source_external(&x->c, t, o, k, &saw, &own))
        return prover_no(x, "the read shows nothing of others");
    if (rule == CHAIN_SAW) {
        if (!state_word(x, p, &state) || !stands(x, t, state)) return false;
        if (!reads_where_it_writes(x, t, o, k)) return prover_no(x, "the level does not say so");
        if (x->states.at[state].key != k || same(x->states.at[state].what, as_list(saw)))
            return prover_no(x, "that is what was read");
        prover_put_not(x, on_lit(x, t, state));
        return prover_close(x);
    }
    if (rule != CHAIN_OWN) {
        w = parse_txn_word(p, true);
        if (!prover_reads(x, t, o, k, w, &lit)) return false;
        prover_put_not(x, lit);
    }
    if (rule == CHAIN_READ) return put_left(x, k, saw, w) && prover_close(x);
    if (!own) return prover_no(x, "it did not see its own appends");
    state = state_of(x, k, saw);
    if (!stands(x, t, state)) return false;
    if (rule == CHAIN_OWN) {
        prover_put_not(x, prover_took_part(x, t));
        prover_put(x, on_lit(x, t, state));
    } else {
        if (!stands_after(x, t, state, w)) return false;
        prover_put(x, right_lit(x, t, state, w));
    }
    return prover_close(x);
}

bool chain_step(prover *x, parser *p)
{
    const char *s;
    size_t n;
    parse_need(p, "a rule", &s, &n);
    for (enum chain_rule rule = 0; rule < CHAIN_RULES; rule++) {
        if (!parse_is(s, n, chain_rule_word(rule))) continue;
        switch (rule) {
        case CHAIN_ON:
        case CHAIN_IN:
        case CHAIN_ONE: return rule_on_alone(x, p, rule);
        case CHAIN_READ:
        case CHAIN_OWN:
        case CHAIN_SOURCE:
        case CHAIN_SAW: return rule_read(x, p, rule);
        case CHAIN_RIGHT:
        case CHAIN_LEFT:
        case CHAIN_IS:
        case CHAIN_BETWEEN: return rule_right(x, p, rule);
        case CHAIN_RULES: break;
        }
    }
    parse_fail(p, s, "no rule of lists");
}
