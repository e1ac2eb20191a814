/*
 * page_versions.c - for each key of an argument, who wrote its versions and who read them, and what
 * the argument knows about their order.
 *
 * The order is that of facts (lists that were read, hints) and of inferences that hold in every
 * case.  What is left open stays open: two versions without an edge between them may stand either
 * way.
 */
#include "report/page_parts.h"

typedef struct version_edge {
    uint32_t before, after; /* actors */
} version_edge;

typedef struct key_versions {
    const told *t;
    key_id key;
    VEC(version_edge) edges;
} key_versions;

static void add_order(key_versions *k, uint32_t before, uint32_t after)
{
    for (size_t i = 0; i < k->edges.n; i++)
        if (k->edges.at[i].before == before && k->edges.at[i].after == after) return;
    vec_push(k->t->m, &k->edges, ((version_edge){before, after}));
}

/* What links say that holds whatever is assumed. */
static void order_by_facts(key_versions *k)
{
    const argument *a = &k->t->e->arg;
    for (size_t i = 0; i < a->links.n; i++) {
        const arg_link *l = &a->links.at[i];
        if (l->key != k->key) continue;
        if (l->kind == LINK_WW && l->why != SHOWN_CHOICE) add_order(k, l->from, l->to);
        if (l->kind == LINK_RW && l->why == SHOWN_ORDER && l->order_why != SHOWN_CHOICE)
            add_order(k, l->source, l->to);
    }
}

static void order_by_inference(key_versions *k, const told_steps *steps)
{
    for (size_t i = 0; i < steps->steps.n; i++) {
        const told_step *s = &steps->steps.at[i];
        if (s->kind != STEP_INFERENCE || s->indent != 1) continue;
        const arg_node *n = s->node;
        if (n->kind != ARG_ORDER || n->key != k->key) continue;
        add_order(k, s->branch ? n->b : n->a, s->branch ? n->a : n->b);
    }
}

static void txn_name(json_writer *w, const told *t, txn_id x)
{
    strbuf text;
    strbuf_init(&text, t->m);
    say_txn(t->v->h, x, &text);
    jw_bytes(w, text.n ? text.at : "", text.n);
    strbuf_free(&text);
}

/* Who can only have read this version; actor NO_ID: the initial one. */
static void readers_json(json_writer *w, const key_versions *k, uint32_t actor)
{
    const scene *s = &k->t->e->scene;
    jw_member_array(w, "readers");
    uint64_t told_ones = 0;
    for (size_t i = 0; i < s->reads.n; i++) {
        const scene_read *r = &s->reads.at[i];
        if (r->key != k->key || !r->usable || !r->whole || r->fault != SCENE_FINE) continue;
        bool here =
            actor == NO_ID ? r->initial && !r->from : !r->initial && r->from == actor_bit(actor);
        if (!here || r->actor == actor || told_ones & actor_bit(r->actor)) continue;
        told_ones |= actor_bit(r->actor);
        txn_name(w, k->t, s->txn[r->actor]);
    }
    jw_end_array(w);
}

static void version_json(json_writer *w, const key_versions *k, const scene_write *v)
{
    const told *t = k->t;
    strbuf text;
    strbuf_init(&text, t->m);
    jw_object(w);
    jw_name(w, "txn");
    txn_name(w, t, t->e->scene.txn[v->actor]);
    if (op_kind_of(t->v->h, v->op) == OP_DELETE)
        strbuf_str(&text, "deleted");
    else
        say_value(t, k->key, v->value, &text);
    jw_name(w, "value");
    jw_bytes(w, text.n ? text.at : "", text.n);
    jw_member_array(w, "after");
    for (size_t i = 0; i < k->edges.n; i++)
        if (k->edges.at[i].after == v->actor)
            txn_name(w, t, t->e->scene.txn[k->edges.at[i].before]);
    jw_end_array(w);
    readers_json(w, k, v->actor);
    jw_end_object(w);
    strbuf_free(&text);
}

static void initial_json(json_writer *w, const key_versions *k)
{
    const told *t = k->t;
    value_id v = t->v->h->key_init[k->key];
    strbuf text;
    strbuf_init(&text, t->m);
    if (t->v->h->init_unknown)
        strbuf_str(&text, "unknown");
    else if (v == VALUE_NULL)
        strbuf_str(&text, "absent");
    else
        say_value(t, k->key, v, &text);
    jw_member_object(w, "initial");
    jw_name(w, "value");
    jw_bytes(w, text.n ? text.at : "", text.n);
    readers_json(w, k, NO_ID);
    jw_end_object(w);
    strbuf_free(&text);
}

static void key_json(json_writer *w, const told *t, const told_steps *steps, key_id key)
{
    key_versions k = {.t = t, .key = key};
    const scene *s = &t->e->scene;
    strbuf text;
    strbuf_init(&text, t->m);
    order_by_facts(&k);
    order_by_inference(&k, steps);
    say_key(t->v->h, key, &text);
    jw_object(w);
    jw_name(w, "key");
    jw_bytes(w, text.n ? text.at : "", text.n);
    initial_json(w, &k);
    jw_member_array(w, "versions");
    for (size_t i = 0; i < s->writes.n; i++) {
        const scene_write *v = &s->writes.at[i];
        if (v->key == key && t->e->who & actor_bit(v->actor)) version_json(w, &k, v);
    }
    jw_end_array(w);
    jw_end_object(w);
    vec_free(t->m, &k.edges);
    strbuf_free(&text);
}

void page_versions(json_writer *w, const told *t, const told_steps *steps)
{
    key_ids keys = {0};
    if (t->e && t->e->argued) told_keys(t, &keys);
    jw_array(w);
    for (size_t i = 0; i < keys.n && i < 24; i++) key_json(w, t, steps, keys.at[i]);
    jw_end_array(w);
    vec_free(t->m, &keys);
}
