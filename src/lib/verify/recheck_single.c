/*
 * recheck_single.c - which operations linearizable is about, read off doc/levels.md (LIN-1) once
 * more and on purpose not taken from history/key_sessions.c, which what decided has used.
 */
#include "verify/recheck.h"

static bool counts(const history *h, op_id o)
{
    return !(h->op_kind[o] & OP_FAILED) || h->op_kind[o] & OP_LOCAL;
}

key_id recheck_single_key(const history *h, txn_id t, bool *larger)
{
    op_id first = NO_ID, second = NO_ID;
    *larger = false;
    for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
        if (!counts(h, o)) continue;
        if (second != NO_ID) *larger = true;
        if (first == NO_ID)
            first = o;
        else
            second = o;
    }
    if (first == NO_ID) return NO_ID;
    unsigned kind = op_kind_of(h, first);
    if (kind == OP_SCAN || kind == OP_ITER) *larger = true;
    if (second != NO_ID) {
        unsigned then = op_kind_of(h, second);
        bool writes = then == OP_WRITE || then == OP_DELETE || then == OP_APPEND;
        if (kind != OP_READ || !writes || h->op_key[first] != h->op_key[second]) *larger = true;
    }
    return h->op_key[first];
}

bool recheck_single(checker *c)
{
    if (c->v->level.id != LEVEL_LIN) return true;
    for (txn_id t = 0; t < c->h->txns; t++) {
        bool larger;
        if (txn_status_of(c->h, t) == TXN_ABORTED) continue;
        recheck_single_key(c->h, t, &larger);
        if (larger) return recheck_no(c, t, "is more than one operation on one key");
    }
    return true;
}

bool recheck_same_session(const checker *c, txn_id a, txn_id b)
{
    bool larger;
    if (c->h->txn_session[a] != c->h->txn_session[b]) return false;
    if (c->v->level.id != LEVEL_LIN) return true;
    return recheck_single_key(c->h, a, &larger) == recheck_single_key(c->h, b, &larger);
}
