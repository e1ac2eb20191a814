/*
 * stuck.c - the step `stuck`: transactions that wait for each other, so that none of them took
 * part.
 *
 *     stuck T  wr T I K ...  fault T ...  ver K A B ...  list R I K A B ...  out Y ...
 *
 * Every item but `out` names a transaction that waits: the reader of a read all of whose sources
 * wait or are out; one that nothing explains; one (B) whose version comes after that of another
 * that waits (A).  Suppose that no `out` took part, and that every A and every R did.  Those among
 * the waiting that took part would each come after another one of them in the commit order, which
 * contains read-from and version orders (levels.md RC-2); a finite order has no such set but the
 * empty one.  So T, which is one of them, took no part.
 *
 * That holds at every level which implies read-committed.  InnoDB's levels need it of whole
 * transactions, beside the order of their parts.
 */
#include "verify/proof_state.h"

enum { WAITS = 1, IS_OUT = 2 };

typedef struct waiting_read {
    txn_id t;
    op_id o;
    key_id k;
} waiting_read;

typedef struct stuck_set {
    prover *x;
    parser *p;
    VEC(txn_id) marked;      /* whose side is set */
    VEC(txn_id) first;       /* every A: it must wait itself */
    VEC(waiting_read) reads; /* of `wr`: its sources must wait or be out */
} stuck_set;

static void set_side(stuck_set *z, txn_id t, uint8_t as)
{
    prover *x = z->x;
    if (!x->side[t]) vec_push(x->m, &z->marked, t);
    x->side[t] |= as;
}

/* B waits for A, which took part: for the clause. */
static void put_order(stuck_set *z, txn_id a, txn_id b)
{
    prover_put_not(z->x, prover_took_part(z->x, a));
    vec_push(z->x->m, &z->first, a);
    set_side(z, b, WAITS);
}

static bool item_ver(stuck_set *z)
{
    prover *x = z->x;
    int64_t at_a, at_b;
    key_id k = parse_key_word(z->p);
    txn_id a = parse_txn_word(z->p, false), b = parse_txn_word(z->p, false);
    if (!prover_takes_part(x, a) || !prover_takes_part(x, b)) return false;
    if (a == b || !axiom_position(x, a, k, &at_a) || !axiom_position(x, b, k, &at_b) || at_a > at_b)
        return prover_no(x, "the positions of the versions do not say so");
    if (at_a < at_b) {
        put_order(z, a, b);
    } else { /* one position, one version: if A took part, B did not */
        prover_put_not(x, prover_took_part(x, a));
        set_side(z, b, WAITS);
    }
    return true;
}

static bool item_list(stuck_set *z)
{
    prover *x = z->x;
    txn_id t;
    op_id o;
    key_id k;
    value_id v;
    if (!axiom_read_op(x, z->p, &t, &o, &k)) return false;
    txn_id a = parse_txn_word(z->p, false), b = parse_txn_word(z->p, false);
    if (a == b) return prover_no(x, "two transactions are one");
    if (!prover_takes_part(x, a) || !prover_takes_part(x, b)) return false;
    if (!source_value(&x->s, t, o, k, &v))
        return prover_no(x, "the operation did not read the key");
    if (!axiom_list_shows(x, k, v, a, b)) return false;
    prover_put_not(x, prover_took_part(x, t));
    put_order(z, a, b);
    return true;
}

static bool read_item(stuck_set *z, const char *s, size_t n)
{
    prover *x = z->x;
    if (parse_is(s, n, "ver")) return item_ver(z);
    if (parse_is(s, n, "list")) return item_list(z);
    if (parse_is(s, n, "wr")) {
        waiting_read r;
        if (!axiom_read_op(x, z->p, &r.t, &r.o, &r.k)) return false;
        vec_push(x->m, &z->reads, r);
        set_side(z, r.t, WAITS);
        return true;
    }
    bool out = parse_is(s, n, "out");
    if (!out && !parse_is(s, n, "fault"))
        parse_fail(z->p, s, "\"wr\", \"fault\", \"ver\", \"list\" or \"out\" expected");
    txn_id t = parse_txn_word(z->p, false);
    if (!prover_takes_part(x, t)) return false;
    set_side(z, t, out ? IS_OUT : WAITS);
    if (!out)
        return source_faulty(&x->s, t) ||
               prover_no(x, "every read of the transaction can be explained");
    if (txn_status_of(x->c.h, t) == TXN_COMMITTED)
        return prover_no(x, "one that committed took part");
    prover_put(x, prover_took_part(x, t));
    return true;
}

/* All that the read can have seen waits, or is out. */
static bool sources_wait(stuck_set *z, const waiting_read *r)
{
    prover *x = z->x;
    txn_id one;
    value_id v;
    uint32_t at = 0;
    if (!source_value(&x->s, r->t, r->o, r->k, &v))
        return prover_no(x, "the operation did not read the key");
    switch (source_of(&x->s, r->t, r->o, r->k, v, &one)) {
    case SOURCE_INTERNAL: return prover_no(x, "its own writes explain the read");
    case SOURCE_NONE: return prover_no(x, "nothing explains the read: that is a fault");
    case SOURCE_UNSURE:
        return prover_no(x, "it is not known which transaction the list was read from");
    case SOURCE_ONE:
        return (one != NO_ID && x->side[one]) ||
               prover_no(x, "a read waits for nobody that waits or is out");
    case SOURCE_MANY: break;
    }
    bool all = !source_may(&x->s, r->t, r->o, r->k, v, NO_ID);
    for (txn_id w; all && (w = source_next(&x->s, r->t, r->o, r->k, v, &at)) != NO_ID;) {
        all = x->side[w] != 0;
        guard_tick(x->m->guard);
    }
    return all || prover_no(x, "a read may have seen one that neither waits nor is out");
}

/* Has the level a commit order that contains read-from and version orders? */
static bool read_committed(const prover *x)
{
    const claim *v = x->c.v;
    return level_implies(v->level.id, v->session_order, v->level.realtime, LEVEL_RC, false, false);
}

bool stuck_step(prover *x, parser *p)
{
    stuck_set z = {.x = x, .p = p};
    const char *s;
    size_t n;
    bool ok = true;
    if (!read_committed(x)) return prover_no(x, "the level does not say so");
    txn_id t = parse_txn_word(p, false);
    if (!prover_takes_part(x, t)) return false;
    if (!x->side) x->side = mem_array0(x->m, uint8_t, x->c.h->txns + 1);
    prover_put_not(x, prover_took_part(x, t));
    while (ok && parse_word(p, &s, &n)) ok = read_item(&z, s, n);
    for (size_t i = 0; ok && i < z.reads.n; i++) ok = sources_wait(&z, &z.reads.at[i]);
    for (size_t i = 0; ok && i < z.first.n; i++)
        ok =
            x->side[z.first.at[i]] & WAITS || prover_no(x, "it comes after one that does not wait");
    if (ok && !(x->side[t] & WAITS)) ok = prover_no(x, "nothing says that it waits");
    for (size_t i = 0; i < z.marked.n; i++) x->side[z.marked.at[i]] = 0;
    vec_free(x->m, &z.marked);
    vec_free(x->m, &z.first);
    vec_free(x->m, &z.reads);
    return ok && prover_close(x);
}
