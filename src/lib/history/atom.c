/*
 * atom.c - looking at keys, values and labels, and writing them out.
 *
 * Ids become atoms (kind and content) by table lookups; atoms become text for people (atom_text)
 * or JSON (atom_json).  Here are also the searches over what a frozen history keeps sorted: keys
 * of a range, attributes of an operation, the transaction of an operation, extras of a
 * transaction.
 *
 * Invariant: atom_json gives text that a reader turns into the same atom again; doubles are
 * written with the fewest digits for which that is true.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
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
    SEARCH_FIRST(uint32_t, i, 0, (uint32_t)history_keys(h),
                 key_compare(h, key_atom(h, h->key_sorted[i]), bound) >= (after ? 1 : 0));
    return i;
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
    assert(h->txns && o < h->ops);
    return (txn_id)(upper_bound_u32(h->txn_op, h->txns, o) - 1); /* empty ones stand before it */
}

bool own_write_before(const history *h, op_id read, key_id k, value_id x)
{
    for (op_id o = h->txn_op[txn_of_op(h, read)]; o < read; o++)
        if (op_kind_of(h, o) == OP_WRITE && h->op_key[o] == k && h->op_value[o] == x) return true;
    return false;
}

const attr *op_attrs(const history *h, op_id o)
{
    if (!(h->op_kind[o] & OP_ATTR)) return NULL;
    SEARCH_FIRST(size_t, i, 0, h->attrs.n, h->attrs.at[i].op >= o);
    assert(i < h->attrs.n && h->attrs.at[i].op == o);
    return &h->attrs.at[i];
}

bool op_undone(const history *h, op_id o)
{
    static const char name[] = "undone";
    const attr *a = op_attrs(h, o), *end = a ? h->attrs.at + h->attrs.n : NULL;
    for (; a < end && a->op == o; a++) {
        if (a->kind != ATTR_EXTRA) continue;
        atom x = value_atom(h, a->key);
        if (x.len == sizeof name - 1 && !memcmp(atom_bytes(h, x), name, x.len)) return true;
    }
    return false;
}

size_t txn_extras(const history *h, txn_id t)
{
    SEARCH_FIRST(size_t, i, 0, h->extras.n,
                 h->extras.at[i].txn != NO_ID && h->extras.at[i].txn >= t);
    return i;
}
