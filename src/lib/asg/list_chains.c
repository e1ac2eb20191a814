/*
 * list_chains.c - see list_chains.h.
 *
 * One key at a time.  First the contents: a tree of all lists that were read, each less the
 * reader's own appends, and the scalars.  Then the writers: the appends of one fit below each
 * content that ends with them.  Last, for each content who can have left it, and for each read its
 * candidates.
 *
 * Appending to a scalar makes a list of the two, so a list of one element and a scalar are the same
 * thing to stand on, and different ones to read: stands are on lists, and such a list and its
 * scalar know each other as twins.
 */
#include "asg/list_chains.h"

#include <assert.h>

#include "asg/list_slots.h"
#include "base/map.h"

/* Elements of a list; as a scalar, one of them. */
typedef struct seen_list {
    const value_id *at;
    uint32_t n;
    bool scalar;
} seen_list;

typedef struct chain_maker {
    asg *g;
    list_chains *x;
    uint32_t *ob_first, *ob_index; /* obligations by key */
    const list_writes *writes;
    VEC(value_id) own; /* what a transaction has left so far, or its appends */
    bool own_scalar;
    id_map child;           /* (content, element) -> content */
    id_map scalar;          /* scalar -> content */
    id_map last_of;         /* element -> the last content that ends with it */
    VEC(uint32_t) same_end; /* per content of the key: another one that ends alike, or NO_ID */
    uint32_t *first_stand;  /* per node: its first stand on the key, or NO_ID */
    key_id key;
    op_id reading;            /* the read whose contents are made, or NO_ID */
    VEC(uint32_t) ob_content; /* per obligation of the key: what it saw of others, or NO_ID */
    VEC(uint8_t) ob_own;      /* ... it saw own appends, too */
    VEC(uint32_t) left_by;    /* per content of the key: its last leaver so far, or NO_ID */
    VEC(list_leaver) found;   /* leavers of the key, each ... */
    VEC(uint32_t) found_next; /* ... with the one found before it for the same content */
} chain_maker;

enum own_kind { OWN_NONE, OWN_ADDS, OWN_SETS_IT };

static seen_list list_seen(const history *h, const value_id *v)
{
    if (*v == VALUE_NULL || *v == VALUE_EMPTY) return (seen_list){NULL, 0, false};
    atom a = value_atom(h, *v);
    if (a.kind != ATOM_LIST) return (seen_list){v, 1, true};
    return (seen_list){h->elements.at + a.as.offset, a.len, false};
}

/* --- contents --------------------------------------------------------------------------------- */

static uint32_t new_content(chain_maker *c, list_content y)
{
    list_chains *x = c->x;
    y.key = c->key;
    y.twin = NO_ID;
    y.shown = c->reading;
    vec_push(c->g->m, &x->content, y);
    vec_push(c->g->m, &c->same_end, NO_ID);
    vec_push(c->g->m, &c->left_by, NO_ID);
    return (uint32_t)x->content.n - 1;
}

/* A list of one element and the scalar, if there are both. */
static void set_twins(chain_maker *c, uint32_t a, uint32_t b)
{
    list_content *all = c->x->content.at;
    if (b == NO_ID) return;
    assert(all[a].scalar != all[b].scalar && all[a].element == all[b].element);
    all[a].twin = b;
    all[b].twin = a;
    /* A scalar that nobody read is named by the list. */
    if (all[b].scalar && all[b].shown == NO_ID) all[b].shown = all[a].shown;
    if (all[a].scalar && all[a].shown == NO_ID) all[a].shown = all[b].shown;
}

/* The content, or NO_ID if there is none and none is to be made. */
static uint32_t content_of(chain_maker *c, const chain_key *y, seen_list l, bool make)
{
    mem *m = c->g->m;
    if (l.scalar) {
        uint32_t at = id_map_get(&c->scalar, l.at[0]);
        if (at != NO_ID || !make) return at;
        at = new_content(
            c, (list_content){.before = NO_ID, .element = l.at[0], .n = 1, .scalar = true});
        id_map_put(m, &c->scalar, l.at[0], at);
        set_twins(c, at, id_map_get(&c->child, map_pair(y->contents, l.at[0])));
        return at;
    }
    uint32_t at = y->contents; /* the empty list */
    for (uint32_t i = 0; i < l.n; i++) {
        uint32_t below = id_map_get(&c->child, map_pair(at, l.at[i]));
        if (below == NO_ID && !make) return NO_ID;
        if (below == NO_ID) {
            below = new_content(c, (list_content){.before = at, .element = l.at[i], .n = i + 1});
            id_map_put(m, &c->child, map_pair(at, l.at[i]), below);
            uint32_t *last = id_map_at(m, &c->last_of, l.at[i]);
            c->same_end.at[below - y->contents] = *last;
            *last = below;
            if (!i) set_twins(c, below, id_map_get(&c->scalar, l.at[0]));
        }
        at = below;
        guard_tick(m->guard);
    }
    return at;
}

/* --- what one transaction does to the key ----------------------------------------------------- */

/* Fills c->own with what the writes [first, end) before `until` come to. */
static enum own_kind add_up_writes(chain_maker *c, uint32_t first, uint32_t end, op_id until)
{
    const history *h = c->g->h;
    enum own_kind kind = OWN_NONE;
    c->own.n = 0;
    c->own_scalar = false;
    const op_id *op = c->writes->op;
    for (uint32_t i = first; i < end && op[i] < until; i++) {
        unsigned does = h->op_kind[op[i]] & OP_KIND_MASK;
        if (does != OP_APPEND) {
            c->own.n = 0;
            kind = OWN_SETS_IT;
        } else if (kind == OWN_NONE) {
            kind = OWN_ADDS;
        }
        c->own_scalar = does == OP_WRITE;
        if (does != OP_DELETE) vec_push(c->g->m, &c->own, h->op_value[op[i]]);
    }
    return kind;
}

static seen_list own_list(const chain_maker *c)
{
    return (seen_list){c->own.at, (uint32_t)c->own.n, c->own_scalar};
}

static bool same_list(seen_list a, seen_list b)
{
    if (a.n != b.n || (a.n && a.scalar != b.scalar)) return false;
    return !a.n || !memcmp(a.at, b.at, a.n * sizeof *a.at);
}

/* The transaction cannot have taken part. */
static void rule_out(chain_maker *c, node_id v)
{
    if (!asg_in(c->g, v)) {
        vec_push(c->g->m, &c->x->barred, v);
        return;
    }
    c->x->impossible = true;
    c->x->blame = v;
}

/* --- one key ---------------------------------------------------------------------------------- */

/* The contents that were read.  A read of what the reader itself has set asks nothing of others. */
static void load_reads(chain_maker *c, const chain_key *y)
{
    asg *g = c->g;
    c->ob_content.n = c->ob_own.n = 0;
    for (uint32_t i = c->ob_first[y->key]; i < c->ob_first[y->key + 1]; i++) {
        uint32_t ob = c->ob_index[i], first, end, content = NO_ID;
        seen_list seen = list_seen(g->h, &g->ob_value[ob]);
        c->reading = g->ob_op[ob];
        list_writes_of(c->writes, y->key, g->ob_node[ob], &first, &end);
        enum own_kind own = add_up_writes(c, first, end, g->ob_op[ob]);
        uint32_t n = (uint32_t)c->own.n;
        /* (Marked so: it does not show what the reader, which aborted, had appended.) */
        bool ok = !(g->h->op_kind[g->ob_op[ob]] & OP_LOCAL);
        if (ok && own == OWN_SETS_IT) {
            ok = same_list(own_list(c), seen);
        } else if (ok && own == OWN_ADDS) {
            ok = !seen.scalar && seen.n >= n &&
                 !memcmp(seen.at + (seen.n - n), c->own.at, n * sizeof(value_id));
            if (ok) seen.n -= n;
        }
        if (!ok)
            rule_out(c, g->ob_node[ob]);
        else if (own != OWN_SETS_IT)
            content = content_of(c, y, seen, true);
        vec_push(g->m, &c->ob_content, content);
        vec_push(g->m, &c->ob_own, own == OWN_ADDS);
    }
}

static void add_leaver(chain_maker *c, const chain_key *y, uint32_t content, list_leaver l)
{
    uint32_t *last = &c->left_by.at[content - y->contents];
    vec_push(c->g->m, &c->found, l);
    vec_push(c->g->m, &c->found_next, *last);
    *last = (uint32_t)c->found.n - 1;
}

/* The stand of v on that content, or NO_ID. */
static uint32_t stand_on(const chain_maker *c, node_id v, uint32_t content)
{
    uint32_t i = c->first_stand[v];
    while (i != NO_ID && c->x->stand.at[i].before != content) i = c->x->stand.at[i].next;
    return i;
}

static uint32_t add_stand(chain_maker *c, node_id v, uint32_t before, uint32_t after)
{
    list_stand s = {v, before, after, c->first_stand[v], false, NO_ID};
    vec_push(c->g->m, &c->x->stand, s);
    return c->first_stand[v] = (uint32_t)c->x->stand.n - 1;
}

/* Does the content end with the appends of c->own?  Then *before is the content less these. */
static bool ends_with_own(const chain_maker *c, uint32_t content, uint32_t *before)
{
    const list_content *all = c->x->content.at;
    if (all[content].scalar || all[content].n < c->own.n) return false;
    for (size_t i = c->own.n; i-- > 0; content = all[content].before)
        if (all[content].element != c->own.at[i]) return false;
    *before = content;
    return true;
}

/* A transaction that only appends: it may stand on every content that its appends follow. */
static bool add_appender(chain_maker *c, const chain_key *y, node_id v)
{
    list_chains *x = c->x;
    assert(c->own.n);
    uint32_t content = id_map_get(&c->last_of, c->own.at[c->own.n - 1]);
    for (; content != NO_ID; content = c->same_end.at[content - y->contents]) {
        uint32_t before;
        guard_tick(c->g->m->guard);
        if (!ends_with_own(c, content, &before)) continue;
        if (x->stand.n >= MOST_SLOTS) return false;
        add_leaver(c, y, content, (list_leaver){v, add_stand(c, v, before, content)});
    }
    return true;
}

/* Scalars that are not read may be appended to, too: those that begin a list. */
static void load_scalars(chain_maker *c, const chain_key *y, seen_list l)
{
    if (!l.scalar) return;
    seen_list list = {l.at, 1, false};
    if (content_of(c, y, list, false) != NO_ID) content_of(c, y, l, true);
}

/* An unknown initial content may have been the scalar that begins a list. */
static void add_open_scalars(chain_maker *c, const chain_key *y)
{
    for (uint32_t i = y->contents; i < c->x->content.n; i++) {
        value_id e = c->x->content.at[i].element;
        if (c->x->content.at[i].n == 1 && !c->x->content.at[i].scalar)
            content_of(c, y, (seen_list){&e, 1, true}, true);
    }
}

/* The writers of the key, or (only_scalars) what they have set that begins a list. */
static bool add_writers(chain_maker *c, const chain_key *y, bool only_scalars)
{
    list_chains *x = c->x;
    bool few = true;
    uint32_t last = c->writes->first[y->key + 1];
    for (uint32_t i = c->writes->first[y->key], end; i < last && few; i = end) {
        node_id v = c->writes->node[c->writes->op[i]];
        end = list_writes_end(c->writes, y->key, i);
        enum own_kind kind = add_up_writes(c, i, end, NO_ID);
        if (only_scalars) {
            if (kind == OWN_SETS_IT) load_scalars(c, y, own_list(c));
            continue;
        }
        if (kind == OWN_ADDS) {
            few = add_appender(c, y, v);
        } else {
            uint32_t content = content_of(c, y, own_list(c), false);
            if (content != NO_ID) add_leaver(c, y, content, (list_leaver){v, LEFT_SURELY});
        }
        chain_writer w = {v, NO_ID, kind == OWN_SETS_IT};
        vec_push(c->g->m, &x->writer, w);
    }
    return few;
}

/* Those who saw their own appends stood on what they saw besides. */
static void pin_readers(chain_maker *c, const chain_key *y)
{
    asg *g = c->g;
    for (uint32_t i = c->ob_first[y->key]; i < c->ob_first[y->key + 1]; i++) {
        uint32_t at = i - c->ob_first[y->key], content = c->ob_content.at[at];
        node_id v = g->ob_node[c->ob_index[i]];
        if (content == NO_ID || !c->ob_own.at[at]) continue;
        uint32_t stand = stand_on(c, v, content);
        if (stand == NO_ID) stand = add_stand(c, v, content, NO_ID);
        c->x->stand.at[stand].pinned = true;
        c->x->stand.at[stand].pinned_by = g->ob_op[c->ob_index[i]];
    }
}

/* What was there at first, and then the leavers of each content in a row. */
static void add_leavers(chain_maker *c, chain_key *y)
{
    list_chains *x = c->x;
    mem *m = c->g->m;
    const history *h = c->g->h;
    if (!y->open) {
        uint32_t content = content_of(c, y, list_seen(h, &h->key_init[y->key]), false);
        if (content != NO_ID) add_leaver(c, y, content, (list_leaver){RF_INIT, LEFT_SURELY});
    }
    for (uint32_t i = y->contents; i < y->content_end; i++) {
        list_content *k = &x->content.at[i];
        k->leavers = (uint32_t)x->leaver.n;
        if (y->open) vec_push(m, &x->leaver, ((list_leaver){RF_INIT, LEFT_AT_FIRST}));
        for (uint32_t j = c->left_by.at[i - y->contents]; j != NO_ID; j = c->found_next.at[j])
            vec_push(m, &x->leaver, c->found.at[j]);
        k->end = (uint32_t)x->leaver.n;
    }
}

/* May the read have been from that version, by what the history says of it? */
static bool may_be_source(const asg *g, uint32_t ob, node_id w, bool own)
{
    if (!list_hint_allows(g, ob, w, own)) return false;
    if (!(g->h->op_kind[g->ob_op[ob]] & OP_TOMB) || g->ob_value[ob] != VALUE_NULL) return true;
    if (w == RF_INIT) return false;
    uint32_t inst = asg_install(g, w, g->ob_key[ob]);
    return (g->h->op_kind[g->inst_op[inst]] & OP_TOMB) != 0;
}

static void add_candidates(chain_maker *c, const chain_key *y)
{
    asg *g = c->g;
    list_chains *x = c->x;
    for (uint32_t i = c->ob_first[y->key]; i < c->ob_first[y->key + 1]; i++) {
        uint32_t at = i - c->ob_first[y->key], ob = c->ob_index[i], content = c->ob_content.at[at];
        node_id v = g->ob_node[ob];
        size_t before = g->cand_pool.n;
        if (content == NO_ID) continue;
        const list_content *k = &x->content.at[content];
        for (uint32_t j = k->leavers; j < k->end; j++) {
            node_id w = x->leaver.at[j].node;
            if (w == v || !may_be_source(g, ob, w, c->ob_own.at[at])) continue;
            vec_push(g->m, &g->cand_pool, w);
            vec_push(g->m, &x->cand_leaver, j);
            guard_tick(g->m->guard);
        }
        if (g->cand_pool.n == before) {
            rule_out(c, v);
            continue;
        }
        asg_open(g, ob, asg_cand_group(g, before), NO_ID);
        vec_push(g->m, &x->read_stand, c->ob_own.at[at] ? stand_on(c, v, content) : NO_ID);
        vec_push(g->m, &x->read_content, content);
    }
}

static void restart_key(chain_maker *c, size_t reads)
{
    mem *m = c->g->m;
    id_map_restart(m, &c->child, reads);
    id_map_restart(m, &c->scalar, reads);
    id_map_restart(m, &c->last_of, reads);
    c->same_end.n = c->left_by.n = c->found.n = c->found_next.n = 0;
}

/* False: too many. */
static bool make_chain(chain_maker *c, key_id k)
{
    asg *g = c->g;
    list_chains *x = c->x;
    chain_key y = {.key = k,
                   .open = !list_init_named(g->h, k),
                   .contents = (uint32_t)x->content.n,
                   .writers = (uint32_t)x->writer.n};
    if (c->ob_first[k] == c->ob_first[k + 1]) return true; /* nobody saw it */
    restart_key(c, c->ob_first[k + 1] - c->ob_first[k]);
    c->key = k;
    c->reading = g->ob_op[c->ob_index[c->ob_first[k]]]; /* any list begins with the empty one */
    new_content(c, (list_content){.before = NO_ID, .element = NO_ID});
    load_reads(c, &y);
    c->reading = NO_ID;
    add_writers(c, &y, true);
    if (y.open) add_open_scalars(c, &y);
    if (!y.open) load_scalars(c, &y, list_seen(g->h, &g->h->key_init[k]));
    y.content_end = (uint32_t)x->content.n;
    bool few = add_writers(c, &y, false);
    y.writer_end = (uint32_t)x->writer.n;
    if (few) {
        pin_readers(c, &y);
        add_leavers(c, &y);
        add_candidates(c, &y);
    }
    for (uint32_t i = y.writers; i < y.writer_end; i++) {
        chain_writer *w = &x->writer.at[i];
        w->first = c->first_stand[w->node];
        c->first_stand[w->node] = NO_ID;
        for (uint32_t s = w->first; s != NO_ID; s = x->stand.at[s].next) {
            const list_content *on = &x->content.at[x->stand.at[s].before];
            const list_content *twin = on->twin != NO_ID ? &x->content.at[on->twin] : NULL;
            x->wanted += on->end - on->leavers + (twin ? twin->end - twin->leavers : 0);
        }
    }
    vec_push(g->m, &x->keys, y);
    return few;
}

bool asg_chains(asg *g, const uint8_t *chosen, const list_writes *writes, list_chains *x)
{
    size_t keys = history_keys(g->h);
    chain_maker c = {.g = g, .x = x, .writes = writes};
    bool ok = true;
    x->first_open = (uint32_t)g->open.n;
    x->first_cand = asg_cands(g);
    c.ob_index = asg_group(g, g->ob_key, asg_obs(g), keys, &c.ob_first);
    c.first_stand = mem_array(g->m, uint32_t, (size_t)g->nodes + 1);
    memset(c.first_stand, 0xff, ((size_t)g->nodes + 1) * sizeof *c.first_stand);
    for (key_id k = 0; k < keys && ok && !x->impossible; k++)
        if (chosen[k]) ok = make_chain(&c, k);
    vec_free(g->m, &c.own);
    vec_free(g->m, &c.same_end);
    vec_free(g->m, &c.ob_content);
    vec_free(g->m, &c.ob_own);
    vec_free(g->m, &c.left_by);
    vec_free(g->m, &c.found);
    vec_free(g->m, &c.found_next);
    id_map_free(g->m, &c.child);
    id_map_free(g->m, &c.scalar);
    id_map_free(g->m, &c.last_of);
    mem_put(g->m, c.first_stand);
    mem_put(g->m, c.ob_index);
    mem_put(g->m, c.ob_first);
    return ok;
}
