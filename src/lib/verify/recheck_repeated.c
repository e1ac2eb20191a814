/*
 * recheck_repeated.c - did a transaction read one key twice, with two results, where its level
 * gives it one version of each key?
 *
 * What the levels say of it is read off doc/levels.md 5 once more: two reads of a key see one
 * version at read-atomic (RA-1), consistent-view (CV-1) and whatever implies one of them; at
 * repeatable-read (RR-1) and InnoDB's levels (MDB-1) if both of them returned an item.  InnoDB's
 * plain reads are one snapshot; its locking reads stand together at the tight level only.
 */
#include "verify/recheck.h"

#include "base/sort.h"

/* Do reads a and b, of one key, have to see one version at the level? */
static bool one_version(const history *h, enum level_id level, op_id a, op_id b, key_id k)
{
    bool lock_a = h->op_kind[a] & OP_LOCK, lock_b = h->op_kind[b] & OP_LOCK;
    bool items = !recheck_predicate(h, a, k) && !recheck_predicate(h, b, k);
    switch (level) {
    case LEVEL_RR: return items;
    case LEVEL_INNODB_RR: return items && !lock_a && !lock_b;
    case LEVEL_INNODB_RR_TIGHT: return items && lock_a == lock_b;
    case LEVEL_RA:
    case LEVEL_CC:
    case LEVEL_PC:
    case LEVEL_UA:
    case LEVEL_NLU:
    case LEVEL_PSI:
    case LEVEL_CV:
    case LEVEL_FCV:
    case LEVEL_US:
    case LEVEL_SI:
    case LEVEL_GSI:
    case LEVEL_PCSI:
    case LEVEL_STRONG_SI:
    case LEVEL_SER:
    case LEVEL_SSER:
    case LEVEL_LIN: return true;
    default: return false; /* what was not seen before may be seen later */
    }
}

bool recheck_two_versions(const checker *c, enum level_id level, const seen *a, const seen *b,
                          txn_id t)
{
    const seen *later = a->op < b->op ? b : a;
    return a->key == b->key && a->op != b->op && a->value != b->value &&
           recheck_own_statement(c, t, a->key, later->op) == NO_ID &&
           one_version(c->h, level, a->op, b->op, a->key);
}

static bool collect_read(checker *c, txn_id t, op_id o, key_id k, value_id x)
{
    seen r = {k, o, x, NO_ID};
    (void)t;
    vec_push(c->m, &c->reads, r);
    return true;
}

/* Reads of one key that do not all agree have two neighbours that do not; at InnoDB's levels of
   the same kind, so that plain and locking reads are looked at apart. */
static bool reads_differ(checker *c, enum level_id level, txn_id t)
{
    for (unsigned lock = 0; lock < 2; lock++) {
        bool split = level == LEVEL_INNODB_RR || level == LEVEL_INNODB_RR_TIGHT;
        VEC(uint64_t) order = {0};
        bool found = false;
        for (size_t i = 0; i < c->reads.n; i++) {
            const seen *r = &c->reads.at[i];
            bool item = !recheck_predicate(c->h, r->op, r->key);
            if (split && ((c->h->op_kind[r->op] & OP_LOCK) != 0) != lock) continue;
            if ((split || level == LEVEL_RR) && !item) continue;
            vec_push(c->m, &order, (uint64_t)r->key << 32 | i);
        }
        sort_u64(order.at, order.n);
        for (size_t i = 1; i < order.n && !found; i++)
            found = recheck_two_versions(c, level, &c->reads.at[(uint32_t)order.at[i - 1]],
                                         &c->reads.at[(uint32_t)order.at[i]], t);
        vec_free(c->m, &order);
        if (found || !split) return found;
    }
    return false;
}

bool recheck_repeated(checker *c)
{
    const claim *v = c->v;
    level_ref level = v->level;
    if (v->through) level_named(&level, v->through);
    for (size_t i = 0; i < v->core.n; i++) {
        txn_id t = v->core.at[i];
        if (txn_status_of(c->h, t) == TXN_ABORTED) continue;
        c->reads.n = 0;
        if (!recheck_visit(c, t, collect_read)) return false;
        if (!reads_differ(c, level.id, t)) continue;
        return recheck_committed(c, t) ||
               recheck_no(c, t, "nothing shows that the transaction committed");
    }
    return recheck_no(c, NO_ID, "no named transaction read a key twice with two results");
}
