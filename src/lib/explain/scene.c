/*
 * scene.c - see scene.h.
 */
#include "explain/scene.h"

#include <assert.h>

#include "base/map.h"
#include "base/sort.h"
#include "explain/mixture.h"

static atom list_of(const history *h, value_id v)
{
    return v == VALUE_NULL ? (atom){.kind = ATOM_LIST} : value_atom(h, v);
}

static bool is_list(const history *h, value_id v)
{
    return v > VALUE_NULL && v != VALUE_UNKNOWN && value_atom(h, v).kind == ATOM_LIST;
}

static bool writes(const history *h, op_id o)
{
    unsigned kind = h->op_kind[o] & OP_KIND_MASK;
    bool changes = kind == OP_WRITE || kind == OP_DELETE || kind == OP_APPEND;
    return changes && !(h->op_kind[o] & OP_FAILED);
}

/* A write that no version has: of an aborted transaction, even of one whose reads count (H-9). */
static bool aborted_write(const history *h, txn_id t, op_id o)
{
    return txn_status_of(h, t) == TXN_ABORTED || op_is_local_write(h, o);
}

/* --- keys ------------------------------------------------------------------------------------- */

static scene_key *know(scene *s, key_id k)
{
    if (s->slot[k] == NO_ID) {
        scene_key fresh = {.key = k, .list = is_list(s->h, s->h->key_init[k]), .last_txn = NO_ID};
        s->slot[k] = (uint32_t)s->keys.n;
        vec_push(s->m, &s->keys, fresh);
    }
    return &s->keys.at[s->slot[k]];
}

const scene_key *scene_key_of(const scene *s, key_id key)
{
    return s->slot[key] == NO_ID ? NULL : &s->keys.at[s->slot[key]];
}

/* Keys that the transactions read and write by name, and rows that their scans returned. */
static void know_keys(scene *s)
{
    const history *h = s->h;
    for (uint32_t a = 0; a < s->n; a++)
        for (op_id o = h->txn_op[s->txn[a]]; o < h->txn_op[s->txn[a] + 1]; o++) {
            unsigned kind = h->op_kind[o] & OP_KIND_MASK;
            if (kind != OP_SCAN && kind != OP_ITER) {
                know(s, h->op_key[o]);
                continue;
            }
            const range *r = &h->ranges.at[h->op_key[o]];
            for (uint32_t i = 0; i < r->rows; i++) know(s, h->row_key.at[r->first_row + i]);
        }
}

/* First walk: which of these keys are lists, and how many write them. */
static void survey_keys(scene *s)
{
    const history *h = s->h;
    for (size_t t = 0; t < h->txns; t++) {
        bool aborted = txn_status_of(h, (txn_id)t) == TXN_ABORTED;
        bool lower = h->txn_level && mixture_named(h, (txn_id)t) != ROW_SER;
        guard_tick(s->m->guard);
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            unsigned kind = h->op_kind[o] & OP_KIND_MASK;
            if (kind == OP_SCAN || kind == OP_ITER || op_failed(h, o)) continue;
            uint32_t at = s->slot[h->op_key[o]];
            if (at == NO_ID) continue;
            scene_key *k = &s->keys.at[at];
            if (kind == OP_APPEND || (kind == OP_READ && is_list(h, h->op_value[o])))
                k->list = true;
            if (!aborted && kind == OP_DELETE && !(h->op_kind[o] & OP_TOMB)) k->deleted = true;
            if (aborted || kind == OP_READ || op_is_local_write(h, o)) continue;
            if (kind != OP_APPEND) k->mixed = true; /* if it is a list */
            k->all += k->last_txn != t;
            k->lower += lower && k->last_txn != t;
            k->last_txn = (uint32_t)t;
        }
    }
    for (size_t i = 0; i < h->row_key.n; i++)
        if (s->slot[h->row_key.at[i]] != NO_ID && is_list(h, h->row_value.at[i]))
            s->keys.at[s->slot[h->row_key.at[i]]].list = true;
}

/* --- writes ----------------------------------------------------------------------------------- */

static void place_of(const history *h, scene_write *w)
{
    const attr *a = op_attrs(h, w->op), *end = h->attrs.at + h->attrs.n;
    for (; a && a < end && a->op == w->op; a++)
        if (a->kind == ATTR_VER) {
            w->placed = true;
            w->place = (int64_t)a->a;
        }
}

static void find_writes(scene *s)
{
    const history *h = s->h;
    for (uint32_t a = 0; a < s->n; a++) {
        size_t first = s->writes.n;
        for (op_id o = h->txn_op[s->txn[a]]; o < h->txn_op[s->txn[a] + 1]; o++) {
            if (!writes(h, o)) continue;
            size_t i = first;
            while (i < s->writes.n && s->writes.at[i].key != h->op_key[o]) i++;
            scene_write w = {
                .actor = a, .key = h->op_key[o], .value = value_or_absent(h->op_value[o]), .op = o};
            if (i == s->writes.n)
                vec_push(s->m, &s->writes, w);
            else
                s->writes.at[i] = w;
        }
        for (size_t i = first; i < s->writes.n; i++) {
            place_of(h, &s->writes.at[i]);
            know(s, s->writes.at[i].key)->writers |= actor_bit(a);
            s->updates |= actor_bit(a);
        }
    }
}

const scene_write *scene_installs(const scene *s, uint32_t actor, key_id key)
{
    for (size_t i = 0; i < s->writes.n; i++)
        if (s->writes.at[i].actor == actor && s->writes.at[i].key == key) return &s->writes.at[i];
    return NULL;
}

/* --- reads ------------------------------------------------------------------------------------ */

bool scene_hint(const history *h, op_id o, key_id key, label *writer, bool *initial)
{
    const attr *a = op_attrs(h, o), *end = h->attrs.at + h->attrs.n;
    bool by_range = op_kind_of(h, o) == OP_SCAN || op_kind_of(h, o) == OP_ITER;
    for (; a && a < end && a->op == o; a++) {
        bool mine = !by_range && (a->kind == ATTR_FROM || a->kind == ATTR_FROM_INIT);
        if (by_range && (a->kind == ATTR_VSET || a->kind == ATTR_VSET_INIT)) mine = a->key == key;
        if (by_range && (a->kind == ATTR_ROW_FROM || a->kind == ATTR_ROW_FROM_INIT)) {
            const range *r = &h->ranges.at[h->op_key[o]];
            mine = a->key < r->rows && h->row_key.at[r->first_row + a->key] == key;
        }
        if (!mine) continue;
        *initial =
            a->kind == ATTR_FROM_INIT || a->kind == ATTR_VSET_INIT || a->kind == ATTR_ROW_FROM_INIT;
        *writer = a->a;
        return true;
    }
    return false;
}

/* The own write before operation o, or NO_ID. */
static op_id own_before(const history *h, txn_id t, op_id o, key_id k)
{
    op_id found = NO_ID;
    for (op_id i = h->txn_op[t]; i < o; i++)
        if ((writes(h, i) || op_is_local_write(h, i)) && h->op_key[i] == k) found = i;
    return found;
}

bool scene_wrote_before(const scene *s, uint32_t actor, op_id o, key_id key)
{
    return own_before(s->h, s->txn[actor], o, key) != NO_ID;
}

static void add_read(scene *s, uint32_t actor, op_id o, key_id k, value_id seen, bool predicate)
{
    const history *h = s->h;
    txn_id t = s->txn[actor];
    scene_read r = {.actor = actor,
                    .op = o,
                    .key = k,
                    .value = value_or_absent(seen),
                    .predicate = predicate,
                    .list = know(s, k)->list,
                    .aborted = NO_ID,
                    .later = NO_ID,
                    .overwritten = NO_ID};
    label writer;
    bool initial, hinted = scene_hint(h, o, k, &writer, &initial);
    r.hinted = hinted;
    op_id own = r.list ? NO_ID : own_before(h, t, o, k);
    if (own != NO_ID && s->ryow != RYOW_EXTERNAL) {
        bool other = hinted && (initial || writer != h->txn_label[t]);
        if (value_or_absent(h->op_value[own]) == r.value && !other)
            return; /* internal, and right */
        if (s->ryow == RYOW_MUST) r.fault = SCENE_NOT_OWN;
    }
    vec_push(s->m, &s->reads, r);
}

#define SCAN_KEYS 4096u /* of the initial state that a scan covers: more are not looked at */

static bool malformed(const history *h, const range *r, uint32_t lo, uint32_t hi)
{
    for (uint32_t i = 0; i < r->rows; i++) {
        uint32_t rank = h->key_rank[h->row_key.at[r->first_row + i]];
        value_id x = h->row_value.at[r->first_row + i];
        if (rank < lo || rank >= hi || x == VALUE_NULL || x == VALUE_UNKNOWN) return true;
        if (!i) continue;
        uint32_t before = h->key_rank[h->row_key.at[r->first_row + i - 1]];
        if (r->reverse ? before <= rank : before >= rank) return true;
    }
    return false;
}

static void add_range(scene *s, uint32_t actor, op_id o)
{
    const history *h = s->h;
    const range *r = &h->ranges.at[h->op_key[o]];
    uint32_t lo, hi;
    range_ranks(h, r, &lo, &hi);
    if (malformed(h, r, lo, hi)) {
        s->malformed[actor] = o;
        return;
    }
    if (!r->done) { /* nothing is known past the last item */
        if (!r->rows) return;
        uint32_t last = h->key_rank[h->row_key.at[r->first_row + r->rows - 1]];
        if (r->reverse)
            lo = last;
        else
            hi = last + 1;
    }
    for (uint32_t i = 0; i < r->rows; i++)
        add_read(s, actor, o, h->row_key.at[r->first_row + i], h->row_value.at[r->first_row + i],
                 false);
    uint32_t initial = 0;
    for (uint32_t rank = lo; rank < hi; rank++) {
        key_id k = h->key_sorted[rank];
        bool returned = false;
        guard_tick(s->m->guard);
        if (s->slot[k] == NO_ID) {
            /* Nobody here touches it; it may still be one that must have been there. */
            if (value_or_absent(h->key_init[k]) == VALUE_NULL || initial == SCAN_KEYS) continue;
            initial++;
        }
        for (uint32_t i = 0; i < r->rows && !returned; i++)
            returned = h->row_key.at[r->first_row + i] == k;
        if (!returned) add_read(s, actor, o, k, VALUE_NULL, true);
    }
}

static void find_reads(scene *s)
{
    const history *h = s->h;
    for (uint32_t a = 0; a < s->n; a++) {
        s->malformed[a] = NO_ID;
        for (op_id o = h->txn_op[s->txn[a]]; o < h->txn_op[s->txn[a] + 1]; o++) {
            if (h->op_kind[o] & OP_FAILED) continue;
            enum op_kind kind = op_kind_of(h, o);
            if (kind == OP_SCAN || kind == OP_ITER)
                add_range(s, a, o);
            else if (kind == OP_READ && h->op_value[o] != VALUE_UNKNOWN)
                add_read(s, a, o, h->op_key[o], h->op_value[o], false);
        }
    }
}

/* --- who wrote what was read ------------------------------------------------------------------ */

/* A pair of key and value (of a list: element) that somebody here read, and who wrote it. */
#define WANTED_WRITERS (SCENE_MOST + 8)
typedef struct wanted {
    key_id key;
    value_id value;
    uint32_t n; /* writes of it, aborted ones too; beyond the array only counted */
    op_id op[WANTED_WRITERS];
    txn_id txn[WANTED_WRITERS];
} wanted;

typedef struct wants {
    VEC(wanted) all;
    id_map index; /* (key, value) -> index of all */
} wants;

static wanted *want_find(const wants *w, key_id k, value_id x)
{
    uint32_t i = id_map_get(&w->index, map_pair(k, x));
    return i == MAP_NONE ? NULL : &w->all.at[i];
}

static void want(scene *s, wants *w, key_id k, value_id x)
{
    uint32_t *known = id_map_at(s->m, &w->index, map_pair(k, x));
    if (*known != MAP_NONE) return;
    wanted fresh = {.key = k, .value = x};
    *known = (uint32_t)w->all.n;
    vec_push(s->m, &w->all, fresh);
}

static void want_all(scene *s, wants *w)
{
    const history *h = s->h;
    for (size_t i = 0; i < s->reads.n; i++) {
        const scene_read *r = &s->reads.at[i];
        atom a = r->list ? list_of(h, r->value) : (atom){0};
        if (!r->list || a.kind != ATOM_LIST) {
            want(s, w, r->key, r->value);
            continue;
        }
        for (uint32_t j = 0; j < a.len; j++) want(s, w, r->key, h->elements.at[a.as.offset + j]);
        want(s, w, r->key, VALUE_NULL); /* deletes */
    }
}

/* Second walk. */
static void find_writers(scene *s, wants *w)
{
    const history *h = s->h;
    for (size_t t = 0; t < h->txns; t++) {
        guard_tick(s->m->guard);
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            if (!writes(h, o) && !op_is_local_write(h, o)) continue;
            if (s->slot[h->op_key[o]] == NO_ID) continue;
            wanted *p = want_find(w, h->op_key[o], value_or_absent(h->op_value[o]));
            if (!p) continue;
            if (p->n < WANTED_WRITERS) {
                p->op[p->n] = o;
                p->txn[p->n] = (txn_id)t;
            }
            p->n++;
        }
    }
}

static bool overwritten(const history *h, txn_id t, op_id o)
{
    for (op_id i = o + 1; i < h->txn_op[t + 1]; i++)
        if (writes(h, i) && h->op_key[i] == h->op_key[o]) return true;
    return false;
}

static uint32_t actor_of(const scene *s, txn_id t)
{
    for (uint32_t a = 0; a < s->n; a++)
        if (s->txn[a] == t) return a;
    return NO_ID;
}

static bool header_names(const history *h, key_id k)
{
    for (size_t i = 0; i < h->init_map.n; i++)
        if (h->init_map.at[i].key == k) return true;
    return false;
}

/* One that may have written it, or why not. */
static void consider(const scene *s, scene_read *r, txn_id t, op_id o)
{
    const history *h = s->h;
    uint32_t a = actor_of(s, t);
    bool tomb = r->value == VALUE_NULL && h->op_kind[r->op] & OP_TOMB;
    if (a == r->actor)
        r->later = t;
    else if (aborted_write(h, t, o))
        r->aborted = t;
    else if (overwritten(h, t, o))
        r->overwritten = t;
    else if (tomb && !(h->op_kind[o] & OP_TOMB))
        return;
    else if (a == NO_ID)
        r->whole = false;
    else
        r->from |= actor_bit(a);
}

static void explain_scalar(const scene *s, const wants *w, scene_read *r)
{
    const history *h = s->h;
    const wanted *p = want_find(w, r->key, r->value);
    label named;
    bool initial;
    bool tomb = r->value == VALUE_NULL && h->op_kind[r->op] & OP_TOMB;
    r->usable = r->whole = p->n <= WANTED_WRITERS;
    if (!r->usable) return;
    for (uint32_t i = 0; i < p->n; i++) consider(s, r, p->txn[i], p->op[i]);
    bool open_init = h->init_unknown && !header_names(h, r->key);
    r->initial = (value_or_absent(h->key_init[r->key]) == r->value || open_init) && !tomb;
    if (scene_hint(h, r->op, r->key, &named, &initial)) {
        /* The named one only; who is missing does not matter unless it is that one. */
        actors one = 0;
        bool there = initial;
        for (uint32_t i = 0; i < p->n; i++) {
            uint32_t a = actor_of(s, p->txn[i]);
            if (initial || h->txn_label[p->txn[i]] != named) continue;
            there = there || a != NO_ID || aborted_write(h, p->txn[i], p->op[i]);
            if (a != NO_ID) one |= actor_bit(a);
        }
        r->from &= one;
        r->initial = r->initial && initial;
        r->whole = there;
    }
    if (!r->whole || r->from || r->initial) return;
    r->fault = SCENE_NO_SOURCE;
    r->nobody = !p->n;
}

/* --- lists ------------------------------------------------------------------------------------ */

static uint32_t append_index(const history *h, txn_id t, op_id o)
{
    uint32_t n = 0;
    for (op_id i = h->txn_op[t]; i < o; i++) n += writes(h, i) && h->op_key[i] == h->op_key[o];
    return n;
}

/* How many own appends end the list, or NO_ID if it does not end with them. */
static uint32_t own_suffix(const scene *s, const scene_read *r, atom seen)
{
    const history *h = s->h;
    txn_id t = s->txn[r->actor];
    uint32_t own = 0, at;
    if (h->op_kind[r->op] & OP_LOCAL) return NO_ID;
    for (op_id o = h->txn_op[t]; o < r->op; o++) own += writes(h, o) && h->op_key[o] == r->key;
    if (own > seen.len) return NO_ID;
    at = seen.len - own;
    for (op_id o = h->txn_op[t]; o < r->op; o++)
        if (writes(h, o) && h->op_key[o] == r->key &&
            h->elements.at[seen.as.offset + at++] != h->op_value[o])
            return NO_ID;
    return own;
}

/* The one append of an element that did not abort, as index of p; NO_ID: none, or several. */
static uint32_t only_append(const scene *s, const wanted *p, scene_read *r)
{
    uint32_t found = NO_ID, n = 0;
    for (uint32_t i = 0; i < p->n && i < WANTED_WRITERS; i++) {
        if (aborted_write(s->h, p->txn[i], p->op[i])) {
            r->plainly_shown = false;
            continue;
        }
        found = i;
        n++;
    }
    return n == 1 && p->n <= WANTED_WRITERS ? found : NO_ID;
}

/* Was the value written, and not appended, by anybody? */
static bool was_written(const history *h, const wanted *p)
{
    if (p->n > WANTED_WRITERS) return true; /* not all of them are known */
    for (uint32_t i = 0; i < p->n; i++)
        if (op_kind_of(h, p->op[i]) != OP_APPEND) return true;
    return false;
}

/* A list with what no transaction of any outcome put there, and was not there at first (C-1): of
   repeated elements, and of keys that are also written or deleted, all orders would have to be
   tried, but not for this.  Own appends, with which the list ends, are left out of what is judged;
   after other own writes nothing is. */
static bool find_unheard(const scene *s, const wants *w, scene_read *r, atom seen, atom init)
{
    const history *h = s->h;
    txn_id t = s->txn[r->actor];
    for (op_id o = h->txn_op[t]; o < r->op; o++)
        if (writes(h, o) && h->op_key[o] == r->key && op_kind_of(h, o) != OP_APPEND) return false;
    if (seen.kind != ATOM_LIST) {
        r->nobody = r->value != value_or_absent(h->key_init[r->key]) &&
                    !scene_wrote_before(s, r->actor, r->op, r->key) &&
                    !was_written(h, want_find(w, r->key, r->value));
    } else {
        uint32_t own = own_suffix(s, r, seen);
        if (own == NO_ID) return false;
        bool something = init.kind != ATOM_LIST || init.len;
        r->emptied = own == seen.len && something && !want_find(w, r->key, VALUE_NULL)->n;
        r->nobody = r->emptied;
        for (uint32_t i = 0; i < seen.len - own && !r->nobody; i++) {
            value_id e = h->elements.at[seen.as.offset + i];
            bool initial = false;
            for (uint32_t j = 0; init.kind == ATOM_LIST && j < init.len && !initial; j++)
                initial = h->elements.at[init.as.offset + j] == e;
            r->nobody = !initial && !want_find(w, r->key, e)->n;
        }
    }
    if (!r->nobody) return false;
    r->usable = true;
    r->fault = SCENE_NO_SOURCE;
    return true;
}

static void explain_list(scene *s, const wants *w, scene_read *r)
{
    const history *h = s->h;
    const scene_key *k = scene_key_of(s, r->key);
    atom seen = list_of(h, r->value), init = list_of(h, value_or_absent(h->key_init[r->key]));
    if (h->init_unknown || find_unheard(s, w, r, seen, init)) return;
    if (init.kind != ATOM_LIST || k->mixed) return;
    /* An empty list after own appends misses these, whatever it misses besides. */
    if (seen.kind == ATOM_LIST && !seen.len && own_suffix(s, r, seen) == NO_ID) {
        r->usable = true;
        r->fault = SCENE_NOT_OWN;
        return;
    }
    /* A version of a list is a list, and has at least what was there at first. */
    bool bare = seen.kind == ATOM_LIST && init.len && own_suffix(s, r, seen) == seen.len;
    if (seen.kind != ATOM_LIST || bare) {
        const wanted *p = want_find(w, r->key, bare ? VALUE_NULL : r->value);
        r->emptied = bare;
        for (uint32_t i = 0; i < p->n && i < WANTED_WRITERS; i++)
            if (aborted_write(h, p->txn[i], p->op[i])) r->aborted = p->txn[i];
        r->usable = true;
        r->fault = SCENE_NO_SOURCE;
        r->nobody = r->aborted == NO_ID;
        return;
    }
    uint32_t own = own_suffix(s, r, seen);
    r->usable = true;
    r->plainly_shown = true;
    /* (read-uncommitted asks for the order of the elements also of one that misses own ones) */
    bool not_own = own == NO_ID;
    if (not_own) own = 0;
    r->own = own > 0;
    const value_id *e = seen.len ? h->elements.at + seen.as.offset : NULL;
    uint32_t ext = seen.len - own, last_actor = NO_ID;
    txn_id before = NO_ID;
    op_id before_op = NO_ID;
    bool broken = ext < init.len, missing = false, written = false;
    r->first = (uint32_t)s->chain.n;
    for (uint32_t i = 0; i < ext; i++) {
        bool initial = i < init.len && h->elements.at[init.as.offset + i] == e[i];
        for (uint32_t j = 0; j < init.len && written; j++)
            if (h->elements.at[init.as.offset + j] == e[i]) r->initial_late = true;
        if (initial) continue;
        if (i < init.len) broken = true;
        const wanted *p = want_find(w, r->key, e[i]);
        uint32_t one = only_append(s, p, r);
        if (one == NO_ID) {
            bool living = false;
            for (uint32_t j = 0; j < p->n && j < WANTED_WRITERS; j++) {
                if (aborted_write(h, p->txn[j], p->op[j]))
                    r->aborted = p->txn[j];
                else
                    living = true;
            }
            for (uint32_t j = 0; j < init.len; j++)
                if (h->elements.at[init.as.offset + j] == e[i]) broken = living = true;
            if (living) { /* appended twice: no telling which */
                r->usable = broken || not_own;
                r->plainly_shown = false;
                bool lacks_own = not_own && !r->initial_late; /* that is the graver fault */
                if (r->usable) r->fault = lacks_own ? SCENE_NOT_OWN : SCENE_BROKEN_LIST;
                s->chain.n = r->first;
                r->shown = 0;
                return;
            }
            missing = true;
            if (!p->n) r->nobody = true;
            continue;
        }
        txn_id t = p->txn[one];
        written = written || (p->n == 1 && txn_status_of(h, t) == TXN_COMMITTED);
        uint32_t index = append_index(h, t, p->op[one]);
        if (t == s->txn[r->actor]) r->later = t;
        if (t == before)
            broken = broken || append_index(h, t, before_op) + 1 != index;
        else
            broken = broken || index || (before != NO_ID && overwritten(h, before, before_op));
        before = t;
        before_op = p->op[one];
        last_actor = actor_of(s, t);
        if (last_actor == NO_ID) continue;
        if (r->n && s->chain.at[s->chain.n - 1] == last_actor) continue;
        if (r->shown & actor_bit(last_actor)) broken = true;
        r->shown |= actor_bit(last_actor);
        vec_push(s->m, &s->chain, (uint8_t)last_actor);
        r->n++;
    }
    if (not_own) {
        r->fault = SCENE_NOT_OWN;
    } else if (missing || (r->later != NO_ID && r->shown & actor_bit(r->actor))) {
        r->fault = SCENE_NO_SOURCE;
    } else if (before != NO_ID && overwritten(h, before, before_op)) {
        r->fault = SCENE_NO_SOURCE;
        r->overwritten = before;
    } else if (broken) {
        r->fault = SCENE_BROKEN_LIST;
    } else {
        r->initial = before == NO_ID;
        r->whole = r->initial || last_actor != NO_ID;
        if (!r->initial && last_actor != NO_ID) r->from = actor_bit(last_actor);
    }
}

/* Is an element there more often than anybody, aborted ones included, put it there?  Lists with
   an element that nobody appended have another fault. */
static bool find_repeated(const scene *s, const wants *w, scene_read *r)
{
    const history *h = s->h;
    atom seen = list_of(h, r->value), init = list_of(h, value_or_absent(h->key_init[r->key]));
    if (!r->list || seen.kind != ATOM_LIST || h->init_unknown) return false;
    const value_id *e = seen.len ? h->elements.at + seen.as.offset : NULL;
    uint32_t n = init.kind == ATOM_LIST ? init.len : 0;
    uint64_t *sorted = mem_array(s->m, uint64_t, (size_t)seen.len + n + 1);
    uint64_t *first = sorted + seen.len; /* the initial list */
    for (uint32_t i = 0; i < seen.len; i++) sorted[i] = e[i];
    for (uint32_t i = 0; i < n; i++) first[i] = h->elements.at[init.as.offset + i];
    sort_u64(sorted, seen.len);
    sort_u64(first, n);
    bool found = false, unheard = false;
    for (uint32_t i = 0, j = 0, end; i < seen.len; i = end) {
        value_id x = (value_id)sorted[i];
        const wanted *p = want_find(w, r->key, x);
        uint64_t there = p ? p->n : 0;
        for (end = i; end < seen.len && sorted[end] == x;) end++;
        while (j < n && first[j] < x) j++;
        for (; j < n && first[j] == x; j++) there++;
        there += value_or_absent(h->key_init[r->key]) == x;
        unheard = unheard || !there;
        if (there >= end - i || found) continue;
        found = true;
        r->repeated = x;
        r->times_seen = end - i;
        r->times_put = (uint32_t)there; /* less than that */
    }
    mem_put(s->m, sorted);
    if (!found || unheard) return false;
    r->usable = true;
    r->fault = SCENE_REPEATED;
    return true;
}

/* --- all of it -------------------------------------------------------------------------------- */

void scene_build(scene *s, mem *m, const history *h, enum ryow ryow, const txn_id *txns, size_t n)
{
    memset(s, 0, sizeof *s);
    s->h = h;
    s->m = m;
    s->ryow = ryow;
    for (size_t i = 0; i < n; i++) {
        assert(s->n < SCENE_MOST && txn_status_of(h, txns[i]) != TXN_ABORTED);
        uint32_t at = s->n;
        if (actor_of(s, txns[i]) != NO_ID) continue;
        for (; at && s->txn[at - 1] > txns[i]; at--) s->txn[at] = s->txn[at - 1];
        s->txn[at] = txns[i];
        s->n++;
    }
    for (uint32_t a = 0; a < s->n; a++)
        if (txn_status_of(h, s->txn[a]) == TXN_UNKNOWN) s->maybe |= actor_bit(a);
    for (uint32_t a = 0; a < s->n; a++) s->row[a] = (uint8_t)mixture_named(h, s->txn[a]);
    s->slot = mem_array(m, uint32_t, history_keys(h) + 1);
    memset(s->slot, 0xff, (history_keys(h) + 1) * sizeof *s->slot);
    know_keys(s);
    survey_keys(s);
    find_writes(s);
    find_reads(s);
    wants w = {0};
    want_all(s, &w);
    find_writers(s, &w);
    for (size_t i = 0; i < s->reads.n; i++) {
        scene_read *r = &s->reads.at[i];
        if (find_repeated(s, &w, r)) continue;
        if (r->fault == SCENE_NOT_OWN)
            r->usable = true;
        else if (r->list)
            explain_list(s, &w, r);
        else
            explain_scalar(s, &w, r);
    }
    vec_free(m, &w.all);
    id_map_free(m, &w.index);
}

bool scene_session(const scene *s, uint32_t a, uint32_t b)
{
    const history *h = s->h;
    return a < b && !(s->maybe & actor_bit(a)) &&
           h->txn_session[s->txn[a]] == h->txn_session[s->txn[b]];
}

bool scene_time(const history *h, txn_id t, enum scene_when when, int64_t *at)
{
    bool commit = when >= COMMIT_CALLED;
    if (commit && txn_status_of(h, t) == TXN_UNKNOWN) return false;
    if (when == BEGIN_RETURNED && h->txn_flags[t] & TXN_NO_BEGIN_RETURN) return false;
    if (h->txn_flags[t] & TXN_HAS_TIMES)
        *at = h->txn_times[(size_t)t * 4 + when];
    else if (h->txn_flags[t] & (commit ? TXN_HAS_END : TXN_HAS_BEGIN))
        *at = commit ? h->txn_end[t] : h->txn_begin[t];
    else
        return false;
    return true;
}

bool scene_before(const scene *s, uint32_t a, enum scene_when from, uint32_t b, enum scene_when to,
                  int64_t drift)
{
    int64_t x, y;
    if (a == b || !scene_time(s->h, s->txn[a], from, &x) || !scene_time(s->h, s->txn[b], to, &y))
        return false;
    return x < y && (uint64_t)y - (uint64_t)x >= (uint64_t)(drift > 0 ? drift : 0);
}
