/*
 * atom.c - looking at keys, values and labels, and writing them out.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "history/history.h"

atom value_atom(const history *h, value_id v)
{
    if (v < VALUE_TABLE) return (atom){.kind = ATOM_INT, .as.u = v};
    if (v == VALUE_NULL || v == VALUE_UNKNOWN) return (atom){.kind = ATOM_NULL};
    if (v == VALUE_EMPTY) return (atom){.kind = ATOM_LIST};
    return h->values.atoms.at[v - VALUE_TABLE - 2];
}

atom label_atom(const history *h, label l)
{
    if (l >> 63) return value_atom(h, (value_id)l);
    return (atom){.kind = ATOM_INT, .as.u = l};
}

/* The shortest digits that read back as the same double; always with a point or exponent, so
   that 1.0 stays apart from 1. */
static void real_text(double r, strbuf *out)
{
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, r);
        if (strtod(text, NULL) == r) break;
    }
    strbuf_str(out, text);
    if (!strpbrk(text, ".eEn")) strbuf_str(out, ".0");
}

static void list_out(const history *h, atom a, strbuf *out,
                     void (*one)(const history *, atom, strbuf *))
{
    strbuf_char(out, '[');
    for (uint32_t i = 0; i < a.len; i++) {
        if (i) strbuf_char(out, ',');
        one(h, value_atom(h, h->elements.at[a.as.offset + i]), out);
    }
    strbuf_char(out, ']');
}

void atom_json(const history *h, atom a, strbuf *out)
{
    switch ((enum atom_kind)a.kind) {
    case ATOM_NULL: strbuf_str(out, "null"); break;
    case ATOM_INT: strbuf_i64(out, a.as.i); break;
    case ATOM_UINT: strbuf_u64(out, a.as.u); break;
    case ATOM_BIG: strbuf_add(out, atom_bytes(h, a), a.len); break;
    case ATOM_REAL: real_text(a.as.r, out); break;
    case ATOM_STR: strbuf_json(out, atom_bytes(h, a), a.len); break;
    case ATOM_BOOL: strbuf_str(out, a.as.u ? "true" : "false"); break;
    case ATOM_LIST: list_out(h, a, out, atom_json); break;
    }
}

void atom_text(const history *h, atom a, strbuf *out)
{
    if (a.kind == ATOM_NULL)
        strbuf_str(out, "absent");
    else if (a.kind == ATOM_STR)
        strbuf_visible(out, atom_bytes(h, a), a.len);
    else if (a.kind == ATOM_LIST)
        list_out(h, a, out, atom_text);
    else
        atom_json(h, a, out);
}

void label_text(const history *h, label l, strbuf *out)
{
    atom_text(h, label_atom(h, l), out);
}

/* Position of the first key, in key order, that is not below the bound (or, with `after`, that
   is above it). */
static uint32_t first_not_below(const history *h, atom bound, bool after)
{
    uint32_t lo = 0, hi = (uint32_t)history_keys(h);
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        int c = key_compare(h, key_atom(h, h->key_sorted[mid]), bound);
        if (c < 0 || (after && c == 0))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

void range_ranks(const history *h, const range *r, uint32_t *lo, uint32_t *hi)
{
    assert(h->frozen && h->key_sorted);
    *lo = r->from_kind == BOUND_AT ? first_not_below(h, h->bounds.atoms.at[r->from], false) : 0;
    *hi = r->to_kind == BOUND_AT ? first_not_below(h, h->bounds.atoms.at[r->to], r->inclusive)
                                 : (uint32_t)history_keys(h);
    if (*hi < *lo) *hi = *lo; /* an empty or upside-down range covers nothing */
}

txn_id txn_of_op(const history *h, op_id o)
{
    size_t lo = 0, hi = h->txns;
    while (hi - lo > 1) { /* txn_op[lo] <= o < txn_op[hi] */
        size_t mid = lo + (hi - lo) / 2;
        if (h->txn_op[mid] <= o)
            lo = mid;
        else
            hi = mid;
    }
    return (txn_id)lo;
}

const attr *op_attrs(const history *h, op_id o)
{
    if (!(h->op_kind[o] & OP_ATTR)) return NULL;
    size_t lo = 0, hi = h->attrs.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (h->attrs.at[mid].op < o)
            lo = mid + 1;
        else
            hi = mid;
    }
    assert(lo < h->attrs.n && h->attrs.at[lo].op == o);
    return &h->attrs.at[lo];
}
