/*
 * cut_off.c - see cut_off.h.
 *
 * What was lost may have written any value.  A read of a value that no line has written, and that
 * is not the initial one, can only come from a lost line; it becomes a read of unknown result.  So
 * does a read of an absent key, if it may have been deleted: there are deletes, or the key was
 * there at first.  A scan with such a row counts as failed.  Where values repeat, a lost line may
 * have written any of them again: then every read is unknown.  What else was lost makes a history
 * weaker, never wrong: its writes are missing with all that followed from them.
 */
#include "history/cut_off.h"

#include <string.h>

#include "base/map.h"

#define END_MARK "{\"mark\":\"end\""

bool history_recorded(const history *h)
{
    static const char name[] = "recorder";
    for (size_t i = 0; i < h->extras.n && h->extras.at[i].txn == NO_ID; i++) {
        atom a = value_atom(h, h->extras.at[i].name);
        if (a.len == sizeof name - 1 && !memcmp(atom_bytes(h, a), name, a.len)) return true;
    }
    return false;
}

bool history_cut_off(const history *h)
{
    size_t n = sizeof END_MARK - 1;
    if (!history_recorded(h)) return false;
    if (!h->marks.n || h->marks.at[h->marks.n - 1].before != h->txns) return true;
    atom a = value_atom(h, h->marks.at[h->marks.n - 1].text);
    return a.len < n || memcmp(atom_bytes(h, a), END_MARK, n) != 0;
}

typedef struct known {
    id_map written; /* pairs of key and value */
    id_map initial; /* key -> value, of a map in the header */
    bool deletes, repeats;
} known;

static value_id initial_value(const history *h, const known *k, key_id key)
{
    if (h->init == INIT_SCALAR) return h->init_scalar;
    uint32_t v = id_map_get(&k->initial, key);
    return v == MAP_NONE ? VALUE_NULL : v;
}

static void enter_written(history *h, known *k)
{
    for (size_t i = 0; i < h->init_map.n; i++)
        *id_map_at(&h->mem, &k->initial, h->init_map.at[i].key) = h->init_map.at[i].value;
    for (size_t o = 0; o < h->ops; o++) {
        unsigned kind = h->op_kind[o] & OP_KIND_MASK;
        if (kind == OP_WRITE || kind == OP_APPEND) {
            uint32_t *at = id_map_at(&h->mem, &k->written, map_pair(h->op_key[o], h->op_value[o]));
            k->repeats = k->repeats || *at != MAP_NONE ||
                         initial_value(h, k, h->op_key[o]) == h->op_value[o];
            *at = 1;
        }
        k->deletes = k->deletes || kind == OP_DELETE;
    }
}

/* Can a line that is there, or the initial state, have left this value at the key? */
static bool explained(const history *h, const known *k, key_id key, value_id v)
{
    value_id first = initial_value(h, k, key);
    if (v == VALUE_UNKNOWN) return true;
    if (k->repeats) return false;
    if (v == VALUE_NULL || v == VALUE_EMPTY)
        return !k->deletes && (first == VALUE_NULL || first == VALUE_EMPTY);
    if (v == first || id_map_get(&k->written, map_pair(key, v)) != MAP_NONE) return true;
    if (v < VALUE_TABLE) return false;
    atom a = value_atom(h, v);
    if (a.kind != ATOM_LIST) return false;
    for (uint32_t i = 0; i < a.len; i++) {
        value_id e = h->elements.at[a.as.offset + i];
        if (id_map_get(&k->written, map_pair(key, e)) == MAP_NONE) return false;
    }
    return true;
}

static bool range_explained(const history *h, const known *k, const range *r)
{
    bool fine = !k->deletes && !k->repeats;
    for (uint32_t i = r->first_row; fine && i < r->first_row + r->rows; i++)
        fine = explained(h, k, h->row_key.at[i], h->row_value.at[i]);
    return fine;
}

void history_forget_lost(history *h)
{
    known k = {0};
    enter_written(h, &k);
    for (size_t o = 0; o < h->ops; o++) {
        unsigned kind = h->op_kind[o] & OP_KIND_MASK;
        if (kind == OP_READ && !explained(h, &k, h->op_key[o], h->op_value[o]))
            h->op_value[o] = VALUE_UNKNOWN;
        if ((kind == OP_SCAN || kind == OP_ITER) &&
            !range_explained(h, &k, &h->ranges.at[h->op_key[o]]))
            h->op_kind[o] |= OP_FAILED;
    }
    id_map_free(&h->mem, &k.written);
    id_map_free(&h->mem, &k.initial);
}
