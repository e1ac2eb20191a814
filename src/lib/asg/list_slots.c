/*
 * list_slots.c - see list_slots.h.
 *
 * One key at a time: the lists that were read, each less the reader's own appends and with all of
 * them again, must be beginnings of one list; the ends of what was read are borders that no slot
 * crosses.  A reader of its own appends has one slot, right after what it read.  Places are found
 * by the first element of each transaction's appends.
 */
#include "asg/list_slots.h"

#include <assert.h>

#include "base/map.h"

typedef struct slot_maker {
    asg *g;
    list_slots *x;
    uint32_t *ob_first, *ob_index; /* obligations by key */
    list_writes writes;            /* of keys that are only appended to: their appends */
    VEC(value_id) list;            /* the longest list of the key */
    VEC(uint8_t) border;           /* per place of it: somebody read up to here */
    id_map place_of;               /* element -> its first place */
    VEC(uint32_t) next_place;      /* per place: the next one of the same element */
    uint32_t *own;                 /* per node: where its own reads put it, or NO_ID */
    VEC(node_id) owners;
    VEC(uint32_t) by_end;   /* per place: a slot that ends there, or NO_ID, ... */
    VEC(uint32_t) same_end; /* ... and the next one, per slot of the key */
} slot_maker;

static atom list_of(const history *h, value_id v)
{
    return v == VALUE_NULL || v == VALUE_EMPTY ? (atom){.kind = ATOM_LIST} : value_atom(h, v);
}

/* Is the key only appended to, and read only by transactions that surely took part, as a list? */
static bool is_appended_only(const slot_maker *s, key_id k)
{
    const asg *g = s->g;
    for (uint32_t i = s->writes.first[k]; i < s->writes.first[k + 1]; i++)
        if ((g->h->op_kind[s->writes.op[i]] & OP_KIND_MASK) != OP_APPEND) return false;
    if (!g->h->init_unknown && list_of(g->h, g->h->key_init[k]).kind != ATOM_LIST) return false;
    for (uint32_t i = s->ob_first[k]; i < s->ob_first[k + 1]; i++) {
        uint32_t ob = s->ob_index[i];
        if (!asg_in(g, g->ob_node[ob])) return false;
        if (list_of(g->h, g->ob_value[ob]).kind != ATOM_LIST) return false;
    }
    return true;
}

static bool blame_node(slot_maker *s, node_id v)
{
    s->x->impossible = true;
    s->x->blame = v;
    return false;
}

/* Does the element stand there, as far as the list is known?  Grows the list. */
static bool fits_list(slot_maker *s, uint32_t at, value_id e)
{
    if (at < s->list.n) return s->list.at[at] == e;
    assert(at == s->list.n);
    vec_push(s->g->m, &s->list, e);
    return true;
}

/* How many elements the read saw of others; NO_ID: the list does not end with its own appends. */
static uint32_t seen_of_others(slot_maker *s, uint32_t ob, atom seen, uint32_t first, uint32_t end,
                               bool *own)
{
    const asg *g = s->g;
    const history *h = g->h;
    uint32_t n = 0;
    while (first + n < end && s->writes.op[first + n] < g->ob_op[ob]) n++;
    *own = n != 0;
    if (n > seen.len || h->op_kind[g->ob_op[ob]] & OP_LOCAL) return NO_ID;
    for (uint32_t i = 0; i < n; i++)
        if (h->elements.at[seen.as.offset + seen.len - n + i] !=
            h->op_value[s->writes.op[first + i]])
            return NO_ID;
    return seen.len - n;
}

/* One read: the list grows to what it shows, its end is a border, and its own appends have a place.
   False: no execution has it. */
static bool load_read(slot_maker *s, key_id k, uint32_t ob, uint32_t *ext)
{
    const asg *g = s->g;
    const history *h = g->h;
    node_id v = g->ob_node[ob];
    uint32_t first, end;
    bool own;
    atom seen = list_of(h, g->ob_value[ob]);
    list_writes_of(&s->writes, k, v, &first, &end);
    *ext = seen_of_others(s, ob, seen, first, end, &own);
    if (*ext == NO_ID) return blame_node(s, v);
    for (uint32_t i = 0; i < *ext; i++)
        if (!fits_list(s, i, h->elements.at[seen.as.offset + i])) return blame_node(s, v);
    if (!own) return true;
    for (uint32_t i = first; i < end; i++)
        if (!fits_list(s, *ext + i - first, h->op_value[s->writes.op[i]])) return blame_node(s, v);
    if (s->own[v] == NO_ID) vec_push(g->m, &s->owners, v);
    if (s->own[v] != NO_ID && s->own[v] != *ext) return blame_node(s, v);
    s->own[v] = *ext;
    return true;
}

/* The initial list: a beginning of the longest one, no longer than the shortest that was read. */
static bool load_initial(slot_maker *s, slot_key *y, uint32_t shortest, node_id reader)
{
    const asg *g = s->g;
    const history *h = g->h;
    y->lo = 0;
    y->hi = shortest;
    if (!list_init_named(h, y->key)) return true;
    atom a = list_of(h, h->key_init[y->key]);
    if (a.kind != ATOM_LIST || a.len > shortest) return blame_node(s, reader);
    for (uint32_t i = 0; i < a.len; i++)
        if (s->list.at[i] != h->elements.at[a.as.offset + i]) return blame_node(s, reader);
    y->lo = y->hi = a.len;
    return true;
}

static void index_places(slot_maker *s)
{
    asg *g = s->g;
    id_map_restart(g->m, &s->place_of, s->list.n);
    s->next_place.n = 0;
    for (size_t i = 0; i < s->list.n; i++) vec_push(g->m, &s->next_place, NO_ID);
    for (size_t i = s->list.n; i-- > 0;) {
        uint32_t *at = id_map_at(g->m, &s->place_of, s->list.at[i]);
        s->next_place.at[i] = *at;
        *at = (uint32_t)i;
    }
}

/* Can the appends [first, end) stand at `at`? */
static bool block_fits(const slot_maker *s, const slot_key *y, uint32_t first, uint32_t end,
                       uint32_t at)
{
    uint32_t n = end - first;
    if (at < y->lo || n > y->len - at) return false;
    for (uint32_t i = 0; i < n; i++) {
        if (s->list.at[at + i] != s->g->h->op_value[s->writes.op[first + i]]) return false;
        if (i && s->border.at[at + i]) return false;
    }
    return true;
}

/* The slots of one transaction. */
static bool add_slots(slot_maker *s, const slot_key *y, uint32_t first, uint32_t end)
{
    asg *g = s->g;
    list_slots *x = s->x;
    node_id v = s->writes.node[s->writes.op[first]];
    list_writer w = {v, NO_ID, s->own[v] != NO_ID};
    value_id e = g->h->op_value[s->writes.op[first]];
    for (uint32_t at = id_map_get(&s->place_of, e); at != NO_ID; at = s->next_place.at[at]) {
        guard_tick(g->m->guard);
        if ((s->own[v] != NO_ID && s->own[v] != at) || !block_fits(s, y, first, end, at)) continue;
        if (x->slot.n >= MOST_SLOTS) return false;
        list_slot z = {v, at, end - first, w.first};
        w.first = (uint32_t)x->slot.n;
        vec_push(g->m, &x->slot, z);
        vec_push(g->m, &s->same_end, s->by_end.at[at + z.n]);
        s->by_end.at[at + z.n] = w.first;
    }
    if (s->own[v] != NO_ID && w.first == NO_ID) blame_node(s, v);
    vec_push(g->m, &x->writer, w);
    return true;
}

/* The candidates of one read. */
static void add_read(slot_maker *s, const slot_key *y, uint32_t ob, uint32_t ext)
{
    asg *g = s->g;
    list_slots *x = s->x;
    size_t before = g->cand_pool.n;
    uint32_t first, end;
    list_writes_of(&s->writes, y->key, g->ob_node[ob], &first, &end);
    bool own = first < end && s->writes.op[first] < g->ob_op[ob]; /* it saw its own appends, too */
    if (y->lo <= ext && ext <= y->hi && list_hint_allows(g, ob, RF_INIT, own)) {
        vec_push(g->m, &g->cand_pool, RF_INIT);
        vec_push(g->m, &x->cand_slot, SLOT_INITIAL);
    }
    for (uint32_t i = s->by_end.at[ext]; i != NO_ID; i = s->same_end.at[i]) {
        node_id w = x->slot.at[i].node;
        if (w == g->ob_node[ob] || !list_hint_allows(g, ob, w, own)) continue;
        vec_push(g->m, &g->cand_pool, w);
        vec_push(g->m, &x->cand_slot, i);
    }
    if (g->cand_pool.n == before) blame_node(s, g->ob_node[ob]);
    asg_open(g, ob, asg_cand_group(g, before), NO_ID);
    vec_push(g->m, &x->ends, ext);
    vec_push(g->m, &x->read_key, (uint32_t)x->keys.n);
}

/* False: too many slots. */
static bool make_key(slot_maker *s, key_id k)
{
    asg *g = s->g;
    list_slots *x = s->x;
    uint32_t n = s->ob_first[k + 1] - s->ob_first[k], shortest = UINT32_MAX;
    slot_key y = {.key = k, .slots = (uint32_t)x->slot.n, .writers = (uint32_t)x->writer.n};
    node_id reader = NO_ID;
    bool ok = true;
    if (!n) return true; /* nobody saw it: its versions stand as they like */
    uint32_t *ext = mem_array(g->m, uint32_t, (size_t)n + 1);
    s->list.n = s->border.n = s->by_end.n = 0;
    for (uint32_t i = 0; i < n && ok; i++) {
        uint32_t ob = s->ob_index[s->ob_first[k] + i];
        ok = load_read(s, k, ob, &ext[i]);
        if (!ok || ext[i] >= shortest) continue;
        shortest = ext[i];
        reader = g->ob_node[ob];
    }
    y.len = (uint32_t)s->list.n;
    for (uint32_t i = 0; i <= y.len; i++) {
        vec_push(g->m, &s->border, 0);
        vec_push(g->m, &s->by_end, NO_ID);
    }
    for (uint32_t i = 0; i < n && ok; i++) s->border.at[ext[i]] = 1;
    ok = ok && load_initial(s, &y, shortest, reader);
    bool few = true;
    if (ok) index_places(s);
    for (uint32_t i = s->writes.first[k], end; ok && few && i < s->writes.first[k + 1]; i = end) {
        end = list_writes_end(&s->writes, k, i);
        few = add_slots(s, &y, i, end);
    }
    for (uint32_t i = 0; i < n && ok && few; i++)
        add_read(s, &y, s->ob_index[s->ob_first[k] + i], ext[i]);
    y.end = (uint32_t)x->slot.n;
    y.last = (uint32_t)x->writer.n;
    vec_push(g->m, &x->keys, y);
    for (size_t i = 0; i < s->owners.n; i++) s->own[s->owners.at[i]] = NO_ID;
    s->owners.n = 0;
    mem_put(g->m, ext);
    return few;
}

bool asg_slots(asg *g)
{
    if (g->slots || !g->wild_lists) return true;
    size_t keys = history_keys(g->h), open = g->open.n, groups = g->cand_groups.n;
    slot_maker s = {.g = g, .x = mem_array0(g->m, list_slots, 1)};
    s.ob_index = asg_group(g, g->ob_key, asg_obs(g), keys, &s.ob_first);
    list_writes_load(g, &s.writes);
    s.own = mem_array(g->m, uint32_t, (size_t)g->nodes + 1);
    memset(s.own, 0xff, ((size_t)g->nodes + 1) * sizeof *s.own);
    s.x->first_open = (uint32_t)open;
    s.x->first_cand = asg_cands(g);
    bool ok = true;
    uint8_t *chained = mem_array0(g->m, uint8_t, keys + 1);
    for (key_id k = 0; k < keys; k++)
        chained[k] = g->list_key[k] == 2 && (g->chains_only || !is_appended_only(&s, k));
    for (key_id k = 0; k < keys && ok && !s.x->impossible; k++)
        if (g->list_key[k] == 2 && !chained[k]) ok = make_key(&s, k);
    s.x->end_open = (uint32_t)g->open.n;
    if (ok && !s.x->impossible) ok = asg_chains(g, chained, &s.writes, &s.x->chains);
    if (s.x->chains.impossible) {
        s.x->impossible = true;
        s.x->blame = s.x->chains.blame;
    }
    if (!ok || s.x->impossible) asg_unopen(g, open, groups);
    mem_put(g->m, chained);
    if (ok) g->slots = s.x;
    mem_put(g->m, s.own);
    mem_put(g->m, s.ob_index);
    mem_put(g->m, s.ob_first);
    list_writes_free(g->m, &s.writes);
    return ok;
}
