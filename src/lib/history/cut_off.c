/*
 * cut_off.c - see cut_off.h.
 *
 * A lost line may have deleted any key, so a read of an absent key becomes a read of unknown
 * result, and a scan, which also says what is absent, counts as failed. A lost line may also
 * have written any value, even one that a line in the file writes: that no value repeats among
 * the lines that are left says nothing about the lost ones. So a read of a value is kept only if
 * the recorder promised in the header that it writes no value of a key twice, and if the file
 * keeps that promise; then a read of a value that no line has written, and that is not the
 * initial one, is of a lost line and becomes unknown too. What else was lost makes a history
 * weaker, never wrong: its writes are missing with all that followed from them.
 */
#include "history/cut_off.h"

#include <string.h>

#include "base/map.h"
#include "history/header_notes.h"

#define END_MARK "{\"mark\":\"end\""

bool history_recorded(const history *h)
{
    return history_header_member(h, "recorder") != NULL;
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
    bool unique;    /* no value of a key was written twice, by a line here or by a lost one */
} known;

static bool promised_unique(const history *h)
{
    const extra *promise = history_header_member(h, "unique_values");
    if (!promise) return false;
    atom a = value_atom(h, promise->text);
    return a.len == 4 && !memcmp(atom_bytes(h, a), "true", 4);
}

static value_id initial_value(const history *h, const known *k, key_id key)
{
    if (h->init == INIT_SCALAR) return h->init_scalar;
    uint32_t v = id_map_get(&k->initial, key);
    return v == MAP_NONE ? VALUE_NULL : v;
}

static void enter_written(history *h, known *k)
{
    k->unique = promised_unique(h);
    for (size_t i = 0; i < h->init_map.n; i++)
        *id_map_at(&h->mem, &k->initial, h->init_map.at[i].key) = h->init_map.at[i].value;
    for (size_t o = 0; o < h->ops; o++) {
        unsigned kind = h->op_kind[o] & OP_KIND_MASK;
        if (kind == OP_WRITE || kind == OP_APPEND) {
            uint32_t *at = id_map_at(&h->mem, &k->written, map_pair(h->op_key[o], h->op_value[o]));
            if (*at != MAP_NONE || initial_value(h, k, h->op_key[o]) == h->op_value[o])
                k->unique = false;
            *at = 1;
        }
    }
}

/* Can only a line that is there, or the initial state, have left this value at the key? */
static bool explained(const history *h, const known *k, key_id key, value_id v)
{
    if (v == VALUE_UNKNOWN) return true;
    if (!k->unique || v == VALUE_NULL || v == VALUE_EMPTY) return false;
    if (v == initial_value(h, k, key) || id_map_get(&k->written, map_pair(key, v)) != MAP_NONE)
        return true;
    if (v < VALUE_TABLE) return false;
    atom a = value_atom(h, v);
    if (a.kind != ATOM_LIST) return false;
    for (uint32_t i = 0; i < a.len; i++) {
        value_id e = h->elements.at[a.as.offset + i];
        if (id_map_get(&k->written, map_pair(key, e)) == MAP_NONE) return false;
    }
    return true;
}

void history_forget_lost(history *h)
{
    known k = {0};
    enter_written(h, &k);
    for (size_t o = 0; o < h->ops; o++) {
        unsigned kind = h->op_kind[o] & OP_KIND_MASK;
        if (kind == OP_READ && !explained(h, &k, h->op_key[o], h->op_value[o]))
            h->op_value[o] = VALUE_UNKNOWN;
        if (kind == OP_SCAN || kind == OP_ITER) h->op_kind[o] |= OP_FAILED;
    }
    id_map_free(&h->mem, &k.written);
    id_map_free(&h->mem, &k.initial);
}
