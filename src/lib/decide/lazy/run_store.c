/*
 * run_store.c - see run_store.h.
 *
 * Invariant: every count is that of the reads (installs) which have not run; running a read or an
 * install and taking it back leaves all arrays as they were.
 */
#include "decide/lazy/run_store.h"

#include <assert.h>

static uint32_t *filled_array(mem *m, size_t n, int byte)
{
    uint32_t *a = mem_array(m, uint32_t, n + 1);
    memset(a, byte, (n + 1) * sizeof *a);
    return a;
}

static bool wants_version(const run_store *s, uint32_t ob)
{
    if (!s->p->in[s->g->ob_node[ob]] || !strict_read(s->p, ob)) return false;
    if (!(s->g->ob_flags[ob] & (OB_OWN | OB_LIST))) return true;
    /* (One that is not open shows what the reader itself had set.) */
    return s->has_lists && s->lists.searched[s->g->ob_key[ob]] && s->z->open_of &&
           s->z->open_of[ob] != NONE;
}

bool run_store_certain(const run_store *s, uint32_t ob)
{
    return s->p->rf[ob] < RF_LAST && wants_version(s, ob);
}

bool run_store_ambiguous(const run_store *s, uint32_t ob)
{
    return s->p->rf[ob] == RF_OPEN && wants_version(s, ob);
}

/* --- starting --------------------------------------------------------------------------------- */

/* Names the classes of ambiguous reads, and counts who asks for them. */
static void name_classes(run_store *s, id_map *names)
{
    asg *g = s->g;
    for (uint32_t i = 0; i < g->open.n; i++) {
        uint32_t ob = g->open.at[i];
        if (!run_store_ambiguous(s, ob)) continue;
        if (s->g->ob_flags[ob] & OB_LIST) {
            uint32_t *content = &s->content_class[list_store_seen(&s->lists, i)];
            if (*content == NONE) *content = s->classes++;
            s->open_class[i] = *content;
            continue;
        }
        uint32_t *name = id_map_at(s->z->m, names, map_pair(g->ob_key[ob], g->ob_value[ob]));
        if (*name == MAP_NONE) *name = s->classes++;
        s->open_class[i] = *name;
        if (asg_cand_init(g, i)) s->init_class[g->ob_key[ob]] = *name;
    }
}

static void make_classes(run_store *s)
{
    asg *g = s->g;
    mem *m = s->z->m;
    id_map names = {0};
    s->class_of = filled_array(m, g->insts, 0xff);
    s->open_class = filled_array(m, g->open.n, 0xff);
    s->init_class = filled_array(m, history_keys(g->h), 0xff);
    s->prior_class = filled_array(m, g->insts, 0xff);
    name_classes(s, &names);
    s->demand = filled_array(m, s->classes, 0);
    s->class_updates = filled_array(m, s->classes, 0);
    s->supply = filled_array(m, s->classes, 0);
    for (uint32_t i = 0; i < g->open.n; i++) {
        uint32_t c = s->open_class[i], ob = g->open.at[i];
        if (c == NONE) continue;
        uint32_t j = asg_install(g, g->ob_node[ob], g->ob_key[ob]);
        (j == NO_ID ? s->demand : s->class_updates)[c]++;
        if (j != NO_ID) s->prior_class[j] = c;
    }
    for (uint32_t j = 0; j < g->insts; j++) {
        if (!s->p->in[g->inst_node[j]]) continue;
        if (s->has_lists && s->lists.searched[g->inst_key[j]]) {
            list_store_supply(&s->lists, j, s->content_class, 1, s->supply);
            continue;
        }
        uint32_t c = id_map_get(&names, map_pair(g->inst_key[j], g->inst_value[j]));
        if (c == MAP_NONE) continue;
        s->class_of[j] = c;
        s->supply[c]++;
    }
    id_map_free(m, &names);
}

void run_store_start(run_store *s, lazy *z)
{
    asg *g = z->g;
    *s = (run_store){.z = z, .g = g, .p = z->p};
    s->has_lists = list_store_fits(g);
    if (s->has_lists) list_store_start(&s->lists, z);
    if (s->has_lists) s->content_class = filled_array(z->m, s->lists.contents, 0xff);
    s->version = filled_array(z->m, history_keys(g->h), 0xff);
    s->unread = filled_array(z->m, g->insts, 0);
    s->updates = filled_array(z->m, g->insts, 0);
    s->prior = filled_array(z->m, g->insts, 0xff);
    for (uint32_t ob = 0; ob < g->obs; ob++) {
        if (!run_store_certain(s, ob)) continue;
        uint32_t j = asg_install(g, g->ob_node[ob], g->ob_key[ob]);
        (j == NO_ID ? s->unread : s->updates)[z->p->rf_inst[ob]]++;
        if (j != NO_ID) s->prior[j] = z->p->rf_inst[ob];
    }
    if (g->open.n) make_classes(s);
}

void run_store_end(run_store *s)
{
    void *arrays[] = {s->version,  s->unread,        s->updates,    s->prior,
                      s->class_of, s->open_class,    s->init_class, s->prior_class,
                      s->demand,   s->class_updates, s->supply,     s->content_class};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) mem_put(s->z->m, arrays[i]);
    if (s->has_lists) list_store_end(&s->lists);
}

/* --- asking ----------------------------------------------------------------------------------- */

bool run_store_unread(const run_store *s, uint32_t j)
{
    key_id k = s->g->inst_key[j];
    uint32_t w = s->version[k], c = run_store_shown(s, k);
    if (w != NONE && (s->unread[w] || (s->updates[w] && s->prior[j] != w))) return true;
    if (c == NONE || s->supply[c]) return false;
    return s->demand[c] || (s->class_updates[c] && s->prior_class[j] != c);
}

uint32_t run_store_missed(const run_store *s, node_id v)
{
    const asg *g = s->g;
    for (uint32_t ob = g->ob_first[v]; s->class_of && ob < g->ob_first[v + 1]; ob++) {
        if (!run_store_ambiguous(s, ob)) continue;
        uint32_t c = s->open_class[s->z->open_of[ob]];
        assert(c != NONE);
        if (run_store_shown(s, g->ob_key[ob]) != c) return c;
    }
    return NONE;
}

/* --- running ---------------------------------------------------------------------------------- */

void run_store_read(run_store *s, uint32_t ob, bool back)
{
    const asg *g = s->g;
    uint32_t by = back ? 1u : UINT32_MAX; /* counts are modulo 2^32 */
    bool also_writes = asg_install(g, g->ob_node[ob], g->ob_key[ob]) != NO_ID;
    if (run_store_certain(s, ob))
        (also_writes ? s->updates : s->unread)[s->p->rf_inst[ob]] += by;
    else if (run_store_ambiguous(s, ob))
        (also_writes ? s->class_updates : s->demand)[s->open_class[s->z->open_of[ob]]] += by;
}

void run_store_write(run_store *s, uint32_t j)
{
    s->version[s->g->inst_key[j]] = j;
    if (s->has_lists && s->lists.searched[s->g->inst_key[j]]) {
        list_store_write(&s->lists, j);
        list_store_supply(&s->lists, j, s->content_class, UINT32_MAX, s->supply);
    }
    if (s->class_of && s->class_of[j] != NONE) s->supply[s->class_of[j]]--;
}

void run_store_unwrite(run_store *s, uint32_t j, uint32_t before)
{
    assert(s->version[s->g->inst_key[j]] == j);
    s->version[s->g->inst_key[j]] = before;
    if (s->has_lists && s->lists.searched[s->g->inst_key[j]]) {
        list_store_unwrite(&s->lists, j);
        list_store_supply(&s->lists, j, s->content_class, 1, s->supply);
    }
    if (s->class_of && s->class_of[j] != NONE) s->supply[s->class_of[j]]++;
}
