/*
 * bind_partition.c - PARTITION BY, and CREATE TABLE ... PARTITION OF.
 *
 * A new partition is a change of the table's description.  A partition by its own name is a view of
 * the table's rows that lie between its bounds; what would take rows of it away is refused.
 */
#include <assert.h>
#include <strings.h>

#include "sql/bind.h"
#include "sql/partitions.h"

#define CTX(b) (&(b)->x->c)

static partition_kind kind_of(binder *b, const PgQuery__PartitionSpec *s)
{
    if (!strcasecmp(s->strategy, "range")) return PARTITION_RANGE;
    if (!strcasecmp(s->strategy, "hash")) return PARTITION_HASH;
    if (strcasecmp(s->strategy, "list") != 0)
        sql_raise(CTX(b), "22023", "unrecognized partitioning strategy \"%s\"", s->strategy);
    return PARTITION_LIST;
}

/* Every unique key has every key of the partitions. */
static void check_unique(binder *b, const making *m, const partitioning *d)
{
    for (size_t i = 0; i < m->unique.n; i++) {
        const unique_key *u = &m->unique.at[i];
        for (uint32_t k = 0; k < d->n_keys; k++) {
            uint32_t c = 0;
            while (c < u->n && u->cols[c] != d->keys[k]) c++;
            if (c == u->n)
                sql_raise(CTX(b), "0A000",
                          "unique constraint on partitioned table must include all partitioning "
                          "columns");
        }
    }
}

void bind_partitioning(binder *b, making *m, const PgQuery__PartitionSpec *s)
{
    partitioning *d = arena_get(b->mem, sizeof *d);
    memset(d, 0, sizeof *d);
    d->kind = kind_of(b, s);
    d->n_keys = (uint32_t)s->n_part_params;
    d->keys = arena_array(b->mem, uint32_t, d->n_keys + 1);
    d->types = arena_array(b->mem, type_id, d->n_keys + 1);
    for (uint32_t i = 0; i < d->n_keys; i++) {
        const PgQuery__PartitionElem *e = s->part_params[i]->partition_elem;
        if (e->expr || e->n_collation || e->n_opclass)
            sql_refuse(CTX(b), e->location, "partitions by an expression");
        d->keys[i] = column_named(b, m->t, e->name, e->location);
        d->types[i] = m->t->cols[d->keys[i]].t.id;
        if (m->t->cols[d->keys[i]].computed || type_is_float(d->types[i]) ||
            d->types[i] == T_JSON || d->types[i] == T_CHAR)
            sql_refuse(CTX(b), e->location, "partitions by a column of this type");
    }
    if (d->kind == PARTITION_LIST && d->n_keys != 1)
        sql_raise(CTX(b), "42P17", "cannot use \"list\" partition strategy with several columns");
    check_unique(b, m, d);
    assert(d->n_keys && !m->t->parts);
    m->t->parts = d;
}

static value bound_value(binder *b, const partitioning *d, uint32_t key, const table *t,
                         const node *n)
{
    scope none = {0};
    expr *e = assigned(b, &none, n, t->cols[d->keys[key]].t);
    if (!e || e->kind != E_CONST) sql_refuse(CTX(b), -1, "this bound of a partition");
    return value_keep(b, d->types[key], e->v);
}

static partition_end *range_end(binder *b, const partitioning *d, const table *t, node **list,
                                size_t n)
{
    partition_end *end = arena_array(b->mem, partition_end, d->n_keys + 1);
    if (n != d->n_keys)
        sql_raise(CTX(b), "42P16", "FROM and TO must specify one value per partitioning column");
    for (uint32_t i = 0; i < n; i++) {
        const PgQuery__ColumnRef *c =
            list[i]->node_case == PG_QUERY__NODE__NODE_COLUMN_REF ? list[i]->column_ref : NULL;
        const char *word = c && c->n_fields == 1 ? string_of(b, c->fields[0], -1) : "";
        bool least = !strcasecmp(word, "minvalue"), most = !strcasecmp(word, "maxvalue");
        end[i] = (partition_end){least ? -1 : most, value_null()};
        if (least || most) continue;
        end[i].v = bound_value(b, d, i, t, list[i]);
        if (end[i].v.null) sql_raise(CTX(b), "42P17", "cannot specify NULL in range bound");
    }
    return end;
}

static partition bounds_of(binder *b, const table *t, const char *name,
                           const PgQuery__PartitionBoundSpec *s)
{
    const partitioning *d = t->parts;
    partition p = {.name = name_keep(b, name), .fallback = s->is_default};
    if (s->is_default) {
        if (d->kind == PARTITION_HASH)
            sql_raise(CTX(b), "42P16", "a hash-partitioned table may not have a default partition");
        return p;
    }
    if (d->kind == PARTITION_HASH) {
        if (s->modulus <= 0 || s->modulus > 10000 || s->remainder < 0 || s->remainder >= s->modulus)
            sql_refuse(CTX(b), s->location, "this modulus of a partition");
        p.modulus = (uint32_t)s->modulus;
        p.remainder = (uint32_t)s->remainder;
    } else if (d->kind == PARTITION_LIST) {
        if (!s->n_listdatums) sql_raise(CTX(b), "42P16", "invalid bound specification");
        p.n = (uint32_t)s->n_listdatums;
        p.values = arena_array(b->mem, value, p.n);
        for (uint32_t i = 0; i < p.n; i++) p.values[i] = bound_value(b, d, 0, t, s->listdatums[i]);
    } else {
        p.from = range_end(b, d, t, s->lowerdatums, s->n_lowerdatums);
        p.to = range_end(b, d, t, s->upperdatums, s->n_upperdatums);
    }
    return p;
}

void bind_partition(binder *b, plan *p, const PgQuery__CreateStmt *c)
{
    if (c->n_inh_relations != 1 || c->n_table_elts || c->partspec || c->if_not_exists ||
        *c->relation->schemaname)
        sql_refuse(CTX(b), c->relation->location, "a partition with more than its bounds");
    table *now = bind_table(b, c->inh_relations[0]->range_var);
    if (!now->parts) sql_raise(CTX(b), "42P17", "\"%s\" is not partitioned", now->name);
    const char *name = c->relation->relname;
    if (vs_find(b->x->s, name, b->x->latest) || partition_parent(b->x, name))
        sql_raise(CTX(b), "42P07", "relation \"%s\" already exists", name);
    making m = making_of(b, p, now);
    partitioning *d = arena_get(b->mem, sizeof *d);
    *d = *now->parts;
    for (uint32_t i = 0; i < d->n; i++)
        if (d->at[i].fallback) /* whose rows the new one may take */
            sql_refuse(CTX(b), c->relation->location, "a partition beside DEFAULT");
    d->at = arena_array(b->mem, partition, d->n + 1);
    if (d->n) memcpy(d->at, now->parts->at, d->n * sizeof *d->at);
    d->at[d->n++] = bounds_of(b, now, name, c->partbound);
    m.t->parts = d;
    making_done(&m);
    assert(p->kind == S_ALTER);
}

void bind_not_partition(binder *b, const char *name, int position)
{
    if (partition_parent(b->x, name))
        sql_refuse(CTX(b), position, "the partition \"%s\" by its own name", name);
}

/* ---- a partition by its own name ------------------------------------------------------------- */

static void put_value(binder *b, strbuf *s, type_id t, value v)
{
    strbuf text;
    strbuf_init(&text, b->mem->mem);
    value_write(CTX(b), t, v, &text);
    strbuf_char(s, '\'');
    for (size_t i = 0; i < text.n; i++) {
        if (text.at[i] == '\'') strbuf_char(s, '\'');
        strbuf_char(s, text.at[i]);
    }
    strbuf_char(s, '\'');
    strbuf_free(&text);
}

static void put_list(binder *b, strbuf *s, const partitioning *d, const partition *p,
                     const char *column)
{
    for (uint32_t i = 0; i < p->n; i++) {
        if (i) strbuf_str(s, " OR ");
        bind_put_name(s, column);
        strbuf_str(s, p->values[i].null ? " IS NULL" : " = ");
        if (!p->values[i].null) put_value(b, s, d->types[0], p->values[i]);
    }
}

/* One column alone: ends of several columns are compared one after the other. */
static void put_range(binder *b, strbuf *s, const partitioning *d, const partition *p,
                      const char *column)
{
    const partition_end *ends[2] = {p->from, p->to};
    bind_put_name(s, column);
    strbuf_str(s, " IS NOT NULL");
    for (int i = 0; i < 2; i++) {
        bool all = ends[i]->beyond == (i ? 1 : -1);
        if (ends[i]->beyond && !all) sql_refuse(CTX(b), -1, "a partition without rows by its name");
        if (all) continue;
        strbuf_str(s, " AND ");
        bind_put_name(s, column);
        strbuf_str(s, i ? " < " : " >= ");
        put_value(b, s, d->types[0], ends[i]->v);
    }
}

routine *bind_partition_view(binder *b, const char *name)
{
    const table *t = partition_parent(b->x, name);
    if (!t) return NULL;
    const partitioning *d = t->parts;
    uint32_t i = 0;
    while (strcmp(d->at[i].name, name) != 0) i++;
    assert(i < d->n);
    if (d->kind == PARTITION_HASH || d->at[i].fallback || d->n_keys != 1 || strchr(t->name, '.'))
        sql_refuse(CTX(b), -1, "the partition \"%s\" by its own name", name);
    const char *column = t->cols[d->keys[0]].name;
    strbuf s;
    strbuf_init(&s, b->mem->mem);
    strbuf_str(&s, "SELECT * FROM ");
    bind_put_name(&s, t->name);
    strbuf_str(&s, " WHERE ");
    if (d->kind == PARTITION_LIST)
        put_list(b, &s, d, &d->at[i], column);
    else
        put_range(b, &s, d, &d->at[i], column);
    routine *r = arena_get(b->mem, sizeof *r);
    memset(r, 0, sizeof *r);
    r->name = name_keep(b, name);
    r->view = arena_text(b->mem, s.at, s.n);
    r->checked = r->part = true;
    strbuf_free(&s);
    return r;
}
