/*
 * costly.c - the findings that need a look at who wrote what was read, or at every value.
 *
 * `lint` only.  Linear: results and writes are grouped by key (values_by_key.c), one key at a time.
 */
#include "lint/lint_internal.h"

/* --- who wrote it ----------------------------------------------------------------------------- */

bool find_duplicate_values(lint *l, finding *f)
{
    const history *h = l->h;
    versions v;
    versions_build(&v, h, l->m, WRITERS_COMMITTED);
    for (key_id k = 0; k < history_keys(h) && !f->example; k++) {
        uint32_t first = v.write_first[k], last = v.write_first[k + 1];
        if (last - first < 2) continue;
        versions_open(&v, k);
        for (uint32_t i = first; i < last && !f->example; i++) {
            value_id x = v.write[i].value;
            uint32_t j = versions_find(&v, x);
            txn_id t = txn_of_op(h, v.write[i].op), u = txn_of_op(h, v.write[j].op);
            if (j == i) continue;
            if (t == u)
                lint_example(l, f, "%T wrote %K = %V twice", t, k, x);
            else
                lint_example(l, f, "%T and %T wrote %K = %V", u, t, k, x);
        }
    }
    versions_free(&v);
    f->count = l->f.duplicate_writes;
    f->unit = "writes";
    return true;
}

/* Elements of the key's initial list count as written; they should stand in front. */
static bool in_initial(const history *h, key_id k, value_id x, uint32_t place)
{
    value_id init = h->key_init[k];
    if (init == x) return true;
    atom a = value_atom(h, init);
    if (a.kind != ATOM_LIST) return false;
    if (place < a.len && h->elements.at[a.as.offset + place] == x) return true;
    for (uint32_t i = 0; i < a.len; i++)
        if (h->elements.at[a.as.offset + i] == x) return true;
    return false;
}

bool find_never_written(lint *l, finding *f)
{
    const history *h = l->h;
    versions v;
    versions_build(&v, h, l->m, WRITERS_COMMITTED | WRITERS_UNKNOWN | WRITERS_ABORTED);
    for (key_id k = 0; k < history_keys(h); k++) {
        if (v.read_first[k] == v.read_first[k + 1]) continue;
        versions_open(&v, k);
        value_id assumed = VALUE_UNKNOWN; /* of an unknown initial state, one value may be it */
        value_id fine = VALUE_UNKNOWN;    /* the list last looked at: reads repeat them */
        for (uint64_t i = v.read_first[k]; i < v.read_first[k + 1]; i++) {
            value_id x = v.read[i].value, bad = VALUE_UNKNOWN;
            if (x == VALUE_NULL || x == VALUE_UNKNOWN || x == VALUE_EMPTY) continue;
            if (x == fine || versions_find(&v, x) != NO_ID || in_initial(h, k, x, 0)) continue;
            atom a = value_atom(h, x);
            if (a.kind == ATOM_LIST) {
                for (uint32_t e = 0; e < a.len && bad == VALUE_UNKNOWN; e++) {
                    value_id y = h->elements.at[a.as.offset + e];
                    if (versions_find(&v, y) == NO_ID && !in_initial(h, k, y, e)) bad = y;
                }
                if (bad == VALUE_UNKNOWN) fine = x;
            } else {
                bad = x;
            }
            if (bad == VALUE_UNKNOWN) continue;
            if (h->init_unknown && (assumed == VALUE_UNKNOWN || assumed == bad)) {
                assumed = bad;
                continue;
            }
            if (!f->count++)
                lint_example(l, f, "%T read %K = %V", txn_of_op(h, v.read[i].op), k, bad);
        }
    }
    versions_free(&v);
    f->unit = "reads";
    return f->count > 0;
}

/* Who reads the values of the open key, by the place of their first write: nobody (NO_ID), one
   transaction, or several. */
#define SEVERAL (NO_ID - 1)

static void mark_read(const history *h, const versions *v, value_id x, op_id reader, txn_id *by)
{
    uint32_t i = versions_find(v, x);
    if (i == NO_ID || by[i] == SEVERAL) return;
    txn_id t = txn_of_op(h, reader);
    by[i] = by[i] == NO_ID || by[i] == t ? t : SEVERAL;
}

bool lint_unread(const history *h, mem *m, uint8_t *unread)
{
    versions v;
    bool any = false;
    versions_build(&v, h, m, WRITERS_UNKNOWN);
    size_t writes = v.write_first[history_keys(h)];
    txn_id *by = mem_array(m, txn_id, writes + 1);
    memset(by, 0xff, (writes + 1) * sizeof *by);
    for (txn_id t = 0; t < h->txns; t++) {
        unread[t] = txn_status_of(h, t) == TXN_UNKNOWN;
        /* Deletes and hints are evidence of another kind: such transactions stay. */
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1] && unread[t]; o++)
            unread[t] = (h->op_kind[o] & OP_KIND_MASK) != OP_DELETE && !(h->op_kind[o] & OP_ATTR);
    }
    for (key_id k = 0; k < history_keys(h); k++) {
        if (v.write_first[k] == v.write_first[k + 1]) continue;
        versions_open(&v, k);
        for (uint64_t i = v.read_first[k]; i < v.read_first[k + 1]; i++) {
            value_id x = v.read[i].value;
            atom a = x == VALUE_UNKNOWN ? (atom){.kind = ATOM_NULL} : value_atom(h, x);
            for (uint32_t e = 0; a.kind == ATOM_LIST && e < a.len; e++)
                mark_read(h, &v, h->elements.at[a.as.offset + e], v.read[i].op, by);
            if (a.kind != ATOM_NULL) mark_read(h, &v, x, v.read[i].op, by);
        }
        for (uint32_t i = v.write_first[k]; i < v.write_first[k + 1]; i++) {
            txn_id reader = by[versions_find(&v, v.write[i].value)];
            txn_id writer = txn_of_op(h, v.write[i].op);
            if (reader != NO_ID && reader != writer) unread[writer] = 0;
        }
    }
    versions_free(&v);
    mem_put(m, by);
    for (txn_id t = 0; t < h->txns && !any; t++) any = unread[t];
    return any;
}

bool find_unknown_unread(lint *l, finding *f)
{
    const history *h = l->h;
    if (!l->f.unknown) return false;
    uint8_t *unread = mem_array(l->m, uint8_t, h->txns + 1);
    lint_unread(h, l->m, unread);
    for (txn_id t = 0; t < h->txns; t++)
        if (unread[t] && !f->count++) lint_example(l, f, "%T", t);
    mem_put(l->m, unread);
    f->unit = "transactions";
    return f->count > 0;
}

/* --- types ------------------------------------------------------------------------------------ */

#define TYPE_INTEGER 1u
#define TYPE_REAL 2u
#define TYPE_STRING 4u
#define TYPE_BOOL 8u

static const char *type_name(unsigned bit)
{
    return bit == TYPE_INTEGER  ? "an integer"
           : bit == TYPE_REAL   ? "a real"
           : bit == TYPE_STRING ? "a string"
                                : "a boolean";
}

/* Of a list, the types of its elements; null, unknown and the empty list have none. */
static unsigned types_of(const history *h, value_id x)
{
    if (x < VALUE_TABLE) return TYPE_INTEGER;
    if (x == VALUE_UNKNOWN) return 0;
    atom a = value_atom(h, x);
    unsigned types = 0;
    switch ((enum atom_kind)a.kind) {
    case ATOM_NULL: return 0;
    case ATOM_INT:
    case ATOM_UINT:
    case ATOM_BIG: return TYPE_INTEGER;
    case ATOM_REAL: return TYPE_REAL;
    case ATOM_STR: return TYPE_STRING;
    case ATOM_BOOL: return TYPE_BOOL;
    case ATOM_LIST:
        for (uint32_t i = 0; i < a.len; i++) types |= types_of(h, h->elements.at[a.as.offset + i]);
        return types;
    }
    return 0;
}

static void add_types(lint *l, finding *f, uint8_t *types, txn_id t, key_id k, value_id x)
{
    unsigned old = types[k], now = old | types_of(l->h, x);
    types[k] = (uint8_t)now;
    bool mixed = now & (now - 1), was = old & (old - 1);
    if (!mixed || (old && was) || f->count++) return;
    unsigned other = now & ~old;
    lint_example(l, f, "%T has %K = %V", t, k, x);
    strbuf b;
    strbuf_init(&b, l->m);
    if (old)
        strbuf_printf(&b, "%s, %s; before it was %s", f->example, type_name(other & (0u - other)),
                      type_name(old));
    else
        strbuf_printf(&b, "%s, of several types", f->example);
    strbuf_cstr(&b);
    f->example = b.at;
}

bool find_mixed_types(lint *l, finding *f)
{
    const history *h = l->h;
    uint8_t *types = mem_array0(l->m, uint8_t, history_keys(h) + 1);
    for (key_id k = 0; k < history_keys(h); k++) types[k] = (uint8_t)types_of(h, h->key_init[k]);
    for (txn_id t = 0; t < h->txns; t++) {
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            unsigned kind = h->op_kind[o] & OP_KIND_MASK;
            if (h->op_kind[o] & OP_FAILED) continue;
            if (kind < OP_SCAN) {
                add_types(l, f, types, t, h->op_key[o], h->op_value[o]);
                continue;
            }
            const range *r = &h->ranges.at[h->op_key[o]];
            for (uint32_t i = r->first_row; i < r->first_row + r->rows; i++)
                add_types(l, f, types, t, h->row_key.at[i], h->row_value.at[i]);
        }
        guard_tick(l->m->guard);
    }
    mem_put(l->m, types);
    f->unit = "keys";
    return f->count > 0;
}

/* --- levels ----------------------------------------------------------------------------------- */

bool find_mixed_levels(lint *l, finding *f)
{
    const history *h = l->h;
    value_id name = VALUE_NULL;
    const extra *first = NULL;
    for (size_t i = 0; i < h->extras.n; i++) {
        const extra *e = &h->extras.at[i];
        if (e->txn == NO_ID) continue;
        if (name == VALUE_NULL) {
            atom a = value_atom(h, e->name);
            if (a.len == 5 && !memcmp(atom_bytes(h, a), "level", 5)) name = e->name;
        }
        if (e->name != name || name == VALUE_NULL) continue;
        if (!first) first = e;
        if (e->text == first->text) continue;
        if (!f->count++)
            lint_example(l, f, "%T asked for %V, %T for %V", first->txn, first->text, e->txn,
                         e->text);
    }
    f->unit = "transactions";
    return f->count > 0;
}
