/*
 * innodb_parts.c - the semantic graph of InnoDB's repeatable read (levels.md MDB-1).
 *
 * A transaction is its snapshot, which all plain reads share, and after it its current statements:
 * locking reads and writes, each at a place of its own (apart) or all at one (tight: locks are held
 * to the commit).  What is installed, what is internal and what explains a read was settled on the
 * whole transactions; here everything only moves to the part that did it.  A version belongs to the
 * statement of the last write of its key.  A list read after own appends shows the version before
 * them: it belongs to the append (test/oracle/README.md).
 */
#include <assert.h>

#include "asg/list_slots.h"
#include "base/sort.h"

typedef struct maker {
    asg *s;
    const asg *g;
    bool tight;

    uint32_t *inst_fresh, *ob_fresh;
} maker;

/* Where in node v operation o stands: 0 is the snapshot. */
static uint64_t place(const maker *k, node_id v, op_id o, bool current)
{
    assert(!current ||
           (o >= k->g->h->txn_op[k->g->node_txn[v]] && o < k->g->h->txn_op[k->g->node_txn[v] + 1]));
    uint64_t at = !current   ? 0
                  : k->tight ? 1
                             : (uint64_t)o - k->g->h->txn_op[k->g->node_txn[v]] + 1;
    return (uint64_t)v << 32 | at;
}

/* The last write of the key that the transaction did before o, or NO_ID. */
static op_id own_write(const asg *g, node_id v, key_id k, op_id o)
{
    const history *h = g->h;
    for (op_id first = h->txn_op[g->node_txn[v]]; o > first;) {
        enum op_kind kind = op_kind_of(h, --o);
        bool write = kind == OP_WRITE || kind == OP_DELETE || kind == OP_APPEND;
        if (write && !op_failed(h, o) && h->op_key[o] == k) return o;
        guard_tick(g->m->guard);
    }
    return NO_ID;
}

static uint64_t place_of_read(const maker *k, uint32_t ob)
{
    const asg *g = k->g;
    node_id v = g->ob_node[ob];
    op_id o = g->ob_op[ob];
    if (g->h->op_kind[o] & OP_LOCK) return place(k, v, o, true);
    op_id own = g->ob_flags[ob] & OB_LIST ? own_write(g, v, g->ob_key[ob], o) : NO_ID;
    return place(k, v, own, own != NO_ID);
}

/* Nodes are the places at which something happened; each transaction has one at least. */
static void number_nodes(maker *k, const uint64_t *inst_at, const uint32_t *inst_by,
                         const uint64_t *ob_at, const uint32_t *ob_by)
{
    const asg *g = k->g;
    asg *s = k->s;
    mem *m = g->m;
    size_t most = g->insts + g->obs + g->nodes + 1, i = 0, o = 0;
    if (most >= RF_LAST) guard_fail(m->guard, GUARD_UNSUPPORTED, "more than 2^32 statements");
    s->whole = mem_array(m, node_id, most);
    s->part_op = mem_array(m, op_id, most);
    s->so_pred = mem_array(m, node_id, most);
    s->inst_first = mem_array(m, uint32_t, most + 1);
    s->ob_first = mem_array(m, uint32_t, most + 1);
    node_id *last = mem_array(m, node_id, (size_t)g->nodes + 1); /* per transaction */
    for (node_id v = 0; v < g->nodes; v++) {
        node_id before = g->so_pred[v] != NO_ID ? last[g->so_pred[v]] : NO_ID;
        for (bool first = true;; first = false) {
            bool inst = i < g->insts && inst_at[inst_by[i]] >> 32 == v;
            bool ob = o < g->obs && ob_at[ob_by[o]] >> 32 == v;
            if (!inst && !ob && !first) break;
            uint64_t at = inst ? inst_at[inst_by[i]] : UINT64_MAX;
            if (ob && ob_at[ob_by[o]] < at) at = ob_at[ob_by[o]];
            node_id part = s->nodes++;
            s->whole[part] = v;
            s->so_pred[part] = before;
            bool snapshot = at == UINT64_MAX || !(uint32_t)at;
            s->part_op[part] = snapshot ? NO_ID : g->h->txn_op[g->node_txn[v]] + (uint32_t)at - 1;
            s->inst_first[part] = (uint32_t)i;
            s->ob_first[part] = (uint32_t)o;
            for (; i < g->insts && inst_at[inst_by[i]] == at; i++) s->inst_node[i] = part;
            for (; o < g->obs && ob_at[ob_by[o]] == at; o++) s->ob_node[o] = part;
            before = last[v] = part;
        }
        guard_tick(m->guard);
    }
    assert(i == g->insts && o == g->obs && s->nodes >= g->nodes && s->nodes < most);
    s->inst_first[s->nodes] = (uint32_t)g->insts;
    s->ob_first[s->nodes] = (uint32_t)g->obs;
    mem_put(m, last);
}

/* The part of v that installs k. */
static node_id writing_part(const maker *k, node_id v, key_id key)
{
    uint32_t inst = asg_install(k->g, v, key);
    assert(inst != NO_ID && k->inst_fresh[inst] < k->s->insts);
    node_id part = k->s->inst_node[k->inst_fresh[inst]];
    assert(k->s->whole[part] == v);
    return part;
}

static void move_installs(maker *k, const uint32_t *by)
{
    const asg *g = k->g;
    asg *s = k->s;
    for (size_t i = 0; i < g->insts; i++) {
        s->inst_key[i] = g->inst_key[by[i]];
        s->inst_value[i] = g->inst_value[by[i]];
        s->inst_op[i] = g->inst_op[by[i]];
        k->inst_fresh[by[i]] = (uint32_t)i;
    }
}

/* A group has writers of one key, so that those of a transaction are written by one part. */
static void move_candidates(maker *k)
{
    const asg *g = k->g;
    asg *s = k->s;
    uint32_t *group = mem_array(g->m, uint32_t, g->cand_groups.n + 1);
    memset(group, 0xff, (g->cand_groups.n + 1) * sizeof *group);
    vec_push(g->m, &s->cand_first, 0);
    for (size_t i = 0; i < g->open.n; i++) {
        uint32_t ob = g->open.at[i], from = g->cand_ref.at[i].group;
        if (group[from] == NO_ID) {
            cand_group x = g->cand_groups.at[from];
            size_t first = s->cand_pool.n;
            for (uint32_t j = x.first; j < x.first + x.n; j++) {
                uint32_t c = g->cand_pool.at[j];
                if (c < RF_LAST) c = writing_part(k, c, g->ob_key[ob]);
                vec_push(g->m, &s->cand_pool, c);
            }
            group[from] = asg_cand_group(s, first);
        }
        asg_open(s, k->ob_fresh[ob], group[from], g->cand_ref.at[i].skip);
        guard_tick(g->m->guard);
    }
    mem_put(g->m, group);
}

static void move_reads(maker *k, const uint32_t *by)
{
    const asg *g = k->g;
    asg *s = k->s;
    for (size_t i = 0; i < g->obs; i++) {
        uint32_t ob = by[i], rf = g->ob_rf[ob];
        uint32_t own = asg_install(g, g->ob_node[ob], g->ob_key[ob]);
        k->ob_fresh[ob] = (uint32_t)i;
        s->ob_key[i] = g->ob_key[ob];
        s->ob_value[i] = g->ob_value[ob];
        s->ob_op[i] = g->ob_op[ob];
        s->ob_flags[i] = g->ob_flags[ob];
        s->ob_inst[i] = rf < RF_LAST ? k->inst_fresh[g->ob_inst[ob]] : NO_ID;
        s->ob_rf[i] = rf < RF_LAST ? s->inst_node[s->ob_inst[i]] : rf;
        assert(s->whole[s->ob_node[i]] == g->ob_node[ob]);
        assert(rf >= RF_LAST || s->inst_key[s->ob_inst[i]] == s->ob_key[i]);
        if (own != NO_ID && s->inst_node[k->inst_fresh[own]] < s->ob_node[i])
            s->ob_flags[i] |= OB_OWN;
    }
    move_candidates(k);
}

/* Lists whose order is searched: what can stand where is as it was, and each version belongs to the
   part that installs it.  Reads and candidates were moved in their order, so whatever counts these
   stays; nothing but nodes is copied. */
static void move_slots(maker *k)
{
    const list_slots *from = k->g->slots;
    mem *m = k->g->m;
    if (!from) return;
    assert(!from->impossible);
    list_slots *to = k->s->slots = mem_array(m, list_slots, 1);
    *to = *from;
    to->slot.at = mem_array(m, list_slot, from->slot.n + 1);
    to->writer.at = mem_array(m, list_writer, from->writer.n + 1);
    for (size_t i = 0; i < from->keys.n; i++) {
        const slot_key *y = &from->keys.at[i];
        for (uint32_t j = y->slots; j < y->end; j++) {
            to->slot.at[j] = from->slot.at[j];
            to->slot.at[j].node = writing_part(k, from->slot.at[j].node, y->key);
        }
        for (uint32_t j = y->writers; j < y->last; j++) {
            to->writer.at[j] = from->writer.at[j];
            to->writer.at[j].node = writing_part(k, from->writer.at[j].node, y->key);
        }
    }
}

/* The same of those that are also written or deleted. */
static void move_chains(maker *k)
{
    const list_chains *from = k->g->slots ? &k->g->slots->chains : NULL;
    mem *m = k->g->m;
    if (!from) return;
    list_chains *to = &k->s->slots->chains;
    to->stand.at = mem_array(m, list_stand, from->stand.n + 1);
    to->leaver.at = mem_array(m, list_leaver, from->leaver.n + 1);
    to->writer.at = mem_array(m, chain_writer, from->writer.n + 1);
    to->barred.at = mem_array(m, node_id, from->barred.n + 1);
    for (size_t i = 0; i < from->keys.n; i++) {
        const chain_key *y = &from->keys.at[i];
        for (uint32_t j = y->writers; j < y->writer_end; j++) {
            node_id part = writing_part(k, from->writer.at[j].node, y->key);
            to->writer.at[j] = from->writer.at[j];
            to->writer.at[j].node = part;
            assert(j == y->writers || to->writer.at[j - 1].node < part);
            for (uint32_t s = from->writer.at[j].first; s != NO_ID; s = from->stand.at[s].next) {
                to->stand.at[s] = from->stand.at[s];
                to->stand.at[s].node = part;
            }
        }
        for (uint32_t c = y->contents; c < y->content_end; c++)
            for (uint32_t j = from->content.at[c].leavers; j < from->content.at[c].end; j++) {
                node_id v = from->leaver.at[j].node;
                to->leaver.at[j] = from->leaver.at[j];
                if (v != RF_INIT) to->leaver.at[j].node = writing_part(k, v, y->key);
            }
    }
    node_id *part_of = mem_array(m, node_id, (size_t)k->g->nodes + 1); /* any of its parts */
    for (node_id v = 0; v < k->s->nodes; v++) part_of[k->s->whole[v]] = v;
    for (size_t j = 0; j < from->barred.n; j++) to->barred.at[j] = part_of[from->barred.at[j]];
    mem_put(m, part_of);
}

static void move_edges(maker *k)
{
    const asg *g = k->g;
    for (size_t i = 0; i < g->base_extra; i++) {
        const edge *e = &g->extra.at[i];
        node_id from = writing_part(k, e->from, e->key), to = writing_part(k, e->to, e->key);
        uint32_t ob = e->ob == NO_ID ? NO_ID : k->ob_fresh[e->ob];
        asg_add_edge(k->s, from, to, (enum edge_kind)e->kind, e->key, ob);
    }
    k->s->base_extra = k->s->hint_extra = k->s->extra.n;
}

void asg_split(asg *s, asg *g, bool tight)
{
    mem *m = g->m;
    *s = (asg){.h = g->h, .m = m, .ryow = g->ryow, .flags = g->flags, .unsplit = g};
    s->list_key = g->list_key;
    s->init_open = g->init_open;
    s->duplicate_values = g->duplicate_values;
    s->uses_hints = g->uses_hints;
    s->insts = s->inst_cap = g->insts;
    s->obs = s->ob_cap = g->obs;
    s->inst_key = mem_array(m, key_id, g->insts + 1);
    s->inst_value = mem_array(m, value_id, g->insts + 1);
    s->inst_op = mem_array(m, op_id, g->insts + 1);
    s->inst_node = mem_array(m, node_id, g->insts + 1);
    s->ob_key = mem_array(m, key_id, g->obs + 1);
    s->ob_value = mem_array(m, value_id, g->obs + 1);
    s->ob_op = mem_array(m, op_id, g->obs + 1);
    s->ob_node = mem_array(m, node_id, g->obs + 1);
    s->ob_flags = mem_array(m, uint8_t, g->obs + 1);
    s->ob_rf = mem_array(m, uint32_t, g->obs + 1);
    s->ob_inst = mem_array(m, uint32_t, g->obs + 1);
    maker k = {.s = s, .g = g, .tight = tight};
    k.inst_fresh = mem_array(m, uint32_t, g->insts + 1);
    k.ob_fresh = mem_array(m, uint32_t, g->obs + 1);
    uint64_t *inst_at = mem_array(m, uint64_t, g->insts + 1);
    uint64_t *ob_at = mem_array(m, uint64_t, g->obs + 1);
    for (size_t i = 0; i < g->insts; i++)
        inst_at[i] = place(&k, g->inst_node[i], g->inst_op[i], true);
    for (size_t i = 0; i < g->obs; i++) ob_at[i] = place_of_read(&k, (uint32_t)i);
    uint32_t *inst_by = sort_by_key(m, inst_at, (uint32_t)g->insts);
    uint32_t *ob_by = sort_by_key(m, ob_at, (uint32_t)g->obs);
    number_nodes(&k, inst_at, inst_by, ob_at, ob_by);
    s->node_txn = mem_array(m, txn_id, (size_t)s->nodes + 1);
    s->maybe = mem_array(m, uint8_t, (size_t)s->nodes + 1);
    s->forced = mem_array(m, uint8_t, (size_t)s->nodes + 1);
    s->barred = mem_array(m, uint8_t, (size_t)s->nodes + 1);
    s->extra_head = mem_array(m, uint32_t, (size_t)s->nodes + 1);
    for (node_id v = 0; v < s->nodes; v++) {
        s->node_txn[v] = g->node_txn[s->whole[v]];
        s->maybe[v] = g->maybe[s->whole[v]];
        s->forced[v] = g->forced[s->whole[v]];
        s->barred[v] = g->barred[s->whole[v]];
        s->extra_head[v] = NO_ID;
        s->unknown += s->maybe[v];
    }
    move_installs(&k, inst_by);
    move_reads(&k, ob_by);
    move_slots(&k);
    move_chains(&k);
    move_edges(&k);
    mem_put(m, inst_at);
    mem_put(m, ob_at);
    mem_put(m, inst_by);
    mem_put(m, ob_by);
    mem_put(m, k.inst_fresh);
    mem_put(m, k.ob_fresh);
}
