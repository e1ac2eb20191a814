/*
 * key_state.c - the contents of a key, changed operation by operation.
 *
 * A version is a list of values; a scalar is a list of one with its mark, an absent key an empty
 * list.  Invariant: a scalar has exactly one element.  Which operations write is defined here alone
 * for the exhaustive searches (doc/levels.md, H-5).
 */
#include <assert.h>

#include "decide/exhaustive/key_state.h"

bool version_writes(const history *h, op_id o, key_id k)
{
    unsigned kind = h->op_kind[o] & OP_KIND_MASK;
    return !(h->op_kind[o] & OP_FAILED) && h->op_key[o] == k &&
           (kind == OP_WRITE || kind == OP_DELETE || kind == OP_APPEND);
}

bool version_written(const history *h, op_id o, key_id k)
{
    return version_writes(h, o, k) || (op_is_local_write(h, o) && h->op_key[o] == k);
}

void version_apply(asg *g, version *x, op_id o)
{
    const history *h = g->h;
    switch (op_kind_of(h, o)) {
    case OP_WRITE:
        x->list.n = 0;
        x->scalar = true;
        vec_push(g->m, &x->list, h->op_value[o]);
        break;
    case OP_DELETE:
        x->list.n = 0;
        x->scalar = false;
        break;
    default:
        assert(op_kind_of(h, o) == OP_APPEND);
        x->scalar = false;
        vec_push(g->m, &x->list, h->op_value[o]);
        break;
    }
    assert(!x->scalar || x->list.n == 1);
}

void version_load(asg *g, version *x, value_id v)
{
    const history *h = g->h;
    x->list.n = 0;
    x->scalar = false;
    if (v == VALUE_NULL) return;
    atom a = value_atom(h, v);
    if (a.kind != ATOM_LIST) {
        x->scalar = true;
        vec_push(g->m, &x->list, v);
        return;
    }
    for (uint32_t i = 0; i < a.len; i++) vec_push(g->m, &x->list, h->elements.at[a.as.offset + i]);
}

bool version_same(const version *x, const version *y, size_t drop)
{
    assert(!x->scalar || x->list.n == 1);
    assert(!y->scalar || y->list.n == 1);
    if (y->list.n < drop || x->list.n != y->list.n - drop) return false;
    if (x->list.n && x->scalar != y->scalar) return false;
    return !x->list.n || !memcmp(x->list.at, y->list.at, x->list.n * sizeof(value_id));
}

enum own version_own(asg *g, uint32_t ob, version *own)
{
    const history *h = g->h;
    enum own kind = OWN_NOTHING;
    assert(ob < g->obs);
    own->list.n = 0;
    own->scalar = false;
    for (op_id o = h->txn_op[g->node_txn[g->ob_node[ob]]]; o < g->ob_op[ob]; o++) {
        if (!version_writes(h, o, g->ob_key[ob])) continue;
        if (op_kind_of(h, o) != OP_APPEND)
            kind = OWN_SETS;
        else if (kind == OWN_NOTHING)
            kind = OWN_APPENDS;
        version_apply(g, own, o);
    }
    if (h->op_kind[g->ob_op[ob]] & OP_LOCAL) { /* it did not show its own appends: no list does */
        kind = OWN_APPENDS;
        vec_push(g->m, &own->list, VALUE_UNKNOWN);
    }
    return kind;
}
