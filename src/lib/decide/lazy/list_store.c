/*
 * list_store.c - see list_store.h.
 *
 * Contents are numbered: first those of chains, as they are, then for each key with slots the
 * beginnings of its longest list, by length.
 */
#include "decide/lazy/list_store.h"

#include <assert.h>

#include "asg/list_slots.h"

static void load_slot_key(list_store *s, uint32_t at)
{
    const asg *g = s->g;
    const slot_key *y = &g->slots->keys.at[at];
    s->searched[y->key] = 1;
    s->slot_of[y->key] = at;
    s->slot_first[at] = s->contents;
    s->now[y->key] = s->contents + y->lo;
    s->contents += y->len + 1;
    for (uint32_t i = y->writers; i < y->last; i++) {
        uint32_t j = asg_install(g, g->slots->writer.at[i].node, y->key);
        assert(j != NO_ID);
        s->only_adds[j] = 1;
        s->first[j] = g->slots->writer.at[i].first;
    }
}

static void load_chain_key(list_store *s, const chain_key *y)
{
    const asg *g = s->g;
    const list_chains *c = &g->slots->chains;
    s->searched[y->key] = 1;
    for (uint32_t i = y->writers; i < y->writer_end; i++) {
        uint32_t j = asg_install(g, c->writer.at[i].node, y->key);
        assert(j != NO_ID);
        s->only_adds[j] = !c->writer.at[i].sets;
        s->first[j] = c->writer.at[i].first;
    }
    for (uint32_t i = y->contents; i < y->content_end; i++)
        for (uint32_t l = c->content.at[i].leavers; l < c->content.at[i].end; l++) {
            if (c->leaver.at[l].stand != LEFT_SURELY) continue;
            node_id v = c->leaver.at[l].node;
            if (v == RF_INIT)
                s->now[y->key] = i;
            else
                s->sets[asg_install(g, v, y->key)] = i;
        }
}

/* A read that names its writer, or wants a tombstone, may not take an equal list of another one. */
static bool names_writer(const asg *g, uint32_t ob)
{
    bool found = false, init;
    asg_hint(g, ob, &found, &init);
    return found || g->h->op_kind[g->ob_op[ob]] & OP_TOMB;
}

bool list_store_fits(const asg *g)
{
    const list_slots *x = g->slots;
    if (!x) return false;
    for (size_t i = 0; i < g->open.n; i++)
        if (g->ob_flags[g->open.at[i]] & OB_LIST && names_writer(g, g->open.at[i])) return false;
    for (size_t i = 0; i < x->keys.n; i++)
        if (x->keys.at[i].lo != x->keys.at[i].hi) return false;
    for (size_t i = 0; i < x->chains.keys.n; i++)
        if (x->chains.keys.at[i].open) return false;
    return true;
}

void list_store_start(list_store *s, const lazy *z)
{
    const asg *g = z->g;
    const list_slots *x = g->slots;
    size_t keys = history_keys(g->h);
    assert(list_store_fits(g));
    *s = (list_store){.g = g, .m = z->m};
    s->searched = mem_array0(z->m, uint8_t, keys + 1);
    s->only_adds = mem_array0(z->m, uint8_t, g->insts + 1);
    s->slot_first = mem_array(z->m, uint32_t, x->keys.n + 1);
    uint32_t **filled[] = {&s->now, &s->slot_of, &s->before, &s->sets, &s->first};
    for (size_t i = 0; i < sizeof filled / sizeof *filled; i++) {
        size_t n = (i < 2 ? keys : g->insts) + 1;
        *filled[i] = mem_array(z->m, uint32_t, n);
        memset(*filled[i], 0xff, n * sizeof **filled[i]);
    }
    static_assert(LIST_OTHER == NO_ID, "arrays are filled with both");
    s->contents = (uint32_t)x->chains.content.n;
    for (size_t i = 0; i < x->chains.keys.n; i++) load_chain_key(s, &x->chains.keys.at[i]);
    for (uint32_t i = 0; i < x->keys.n; i++) load_slot_key(s, i);
}

void list_store_end(list_store *s)
{
    void *arrays[] = {s->searched,  s->now,   s->before,     s->sets,
                      s->only_adds, s->first, s->slot_first, s->slot_of};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) mem_put(s->m, arrays[i]);
}

uint32_t list_store_after(const list_store *s, uint32_t j)
{
    const list_slots *x = s->g->slots;
    key_id k = s->g->inst_key[j];
    uint32_t on = s->now[k], at = s->slot_of[k], i = s->first[j];
    assert(s->searched[k]);
    if (!s->only_adds[j]) return s->sets[j];
    if (on == LIST_OTHER) return LIST_OTHER;
    if (at != NO_ID) {
        uint32_t place = on - s->slot_first[at];
        while (i != NO_ID && x->slot.at[i].at != place) i = x->slot.at[i].next;
        return i == NO_ID ? LIST_OTHER : on + x->slot.at[i].n;
    }
    on = content_as_list(&x->chains, on); /* (a scalar without a twin begins no list) */
    while (i != NO_ID && x->chains.stand.at[i].before != on) i = x->chains.stand.at[i].next;
    return i == NO_ID ? LIST_OTHER : x->chains.stand.at[i].after;
}

uint32_t list_store_seen(const list_store *s, uint32_t open)
{
    const list_slots *x = s->g->slots;
    assert(open >= x->first_open);
    if (open >= x->end_open) return x->chains.read_content.at[open - x->end_open];
    uint32_t i = open - x->first_open;
    return s->slot_first[x->read_key.at[i]] + x->ends.at[i];
}

void list_store_supply(const list_store *s, uint32_t j, const uint32_t *class_of, uint32_t by,
                       uint32_t *count)
{
    const list_chains *c = &s->g->slots->chains;
    uint32_t after = s->sets[j];
    if (s->slot_of[s->g->inst_key[j]] != NO_ID) return;
    if (!s->only_adds[j]) {
        if (after != LIST_OTHER && class_of[after] != NONE) count[class_of[after]] += by;
        return;
    }
    for (uint32_t i = s->first[j]; i != NO_ID; i = c->stand.at[i].next) {
        after = c->stand.at[i].after;
        if (after != NO_ID && class_of[after] != NONE) count[class_of[after]] += by;
    }
}
