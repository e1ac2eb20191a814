/*
 * iso_why.c - why a history breaks a level: parts of the level that no witness keeps together.
 *
 * Every part is assumed by a literal of its own; what the solver needed is taken, then each part
 * that can go goes.  What is left is a contradiction in which nothing is in vain.
 */
#include <stdio.h>
#include <string.h>

#include "synth/synth_search.h"

typedef struct why {
    mem *mem;
    gates g;
    const tiny *h;
    const iso_level *level;
    VEC(gate) assume;       /* one for each part */
    VEC(const char *) text; /* of the same */
    char name[2][24];       /* the last two names handed out */
    int turn;
} why;

/* A variable that a quantifier inside the formula binds has no value: UINT32_MAX. */
static const char *name_of(void *ud, enum iso_type type, uint32_t value)
{
    why *w = ud;
    char *buf = w->name[w->turn ^= 1];
    if (value == UINT32_MAX) return NULL;
    if (type == ISO_KEY)
        synth_key_name(value, buf, sizeof w->name[0]);
    else if (value)
        snprintf(buf, sizeof w->name[0], "t%u", (unsigned)value);
    else
        snprintf(buf, sizeof w->name[0], "init");
    return buf;
}

static void txn(strbuf *b, uint32_t t)
{
    if (t)
        strbuf_printf(b, "t%u", (unsigned)t);
    else
        strbuf_str(b, "init");
}

static void edge_text(const why *w, const part *p, strbuf *b)
{
    char key[24];
    bool vis = w->level->witness == ISO_VIS_AR;
    if (vis) strbuf_str(b, "vis(");
    txn(b, p->a), strbuf_str(b, vis ? "," : " before "), txn(b, p->b);
    if (vis) strbuf_str(b, ")");
    if (w->h->so[(size_t)p->a * (w->h->n + 1) + p->b]) {
        strbuf_str(b, ": session order");
        return;
    }
    uint32_t x = 0;
    while (w->h->from[(size_t)p->b * w->h->keys + x] != p->a) x++;
    synth_key_name(x, key, sizeof key);
    strbuf_printf(b, ": t%u reads %s from t%u", (unsigned)p->b, key, (unsigned)p->a);
}

/* so(t2,t3), (co ; [upd])(t2,t3), vis(t2,t3) */
static void premise_text(why *w, const part *p, strbuf *b)
{
    if (!p->node) {
        strbuf_str(b, "vis("), txn(b, p->b), strbuf_str(b, ","), txn(b, p->c), strbuf_str(b, ")");
        return;
    }
    bool bare = !p->node->kid[0];
    if (!bare) strbuf_str(b, "(");
    iso_print(p->node, NULL, name_of, w, b);
    strbuf_str(b, bare ? "(" : ")(");
    txn(b, p->b), strbuf_str(b, ","), txn(b, p->c), strbuf_str(b, ")");
}

/* t2 before t1: t3 reads x from t1, t2 writes x, and so(t2,t3) */
static void read_text(why *w, const part *p, strbuf *b)
{
    char key[24];
    synth_key_name(p->x, key, sizeof key);
    if (!p->sure && p->a) strbuf_str(b, "if "), premise_text(w, p, b), strbuf_str(b, ", ");
    if (p->a) {
        txn(b, p->b), strbuf_str(b, " before "), txn(b, p->a);
    } else {
        strbuf_str(b, "not "), premise_text(w, p, b);
    }
    strbuf_str(b, ": ");
    txn(b, p->c), strbuf_printf(b, " reads %s from ", key), txn(b, p->a);
    strbuf_str(b, ", and "), txn(b, p->b), strbuf_str(b, " writes it");
    if (p->sure && p->a) strbuf_str(b, ", "), premise_text(w, p, b);
}

/* Slots that a quantifier inside binds have no value. */
static void unbind(const iso_node *x, uint32_t *env)
{
    if (!x) return;
    if (x->op == ISO_ALL || x->op == ISO_SOME) env[x->slot] = UINT32_MAX;
    for (size_t i = 0; i < 3; i++) unbind(x->kid[i], env);
}

static void formula_text(why *w, const part *p, strbuf *b)
{
    uint32_t *env = mem_array(w->mem, uint32_t, (size_t)p->slots + 1);
    memcpy(env, p->env, ((size_t)p->slots + 1) * sizeof *env);
    unbind(p->node, env);
    if (*p->axiom->name) strbuf_printf(b, "%.60s: ", p->axiom->name);
    if (p->negated) strbuf_str(b, "not (");
    iso_print(p->node, env, name_of, w, b);
    if (p->negated) strbuf_str(b, ")");
    if (p->kind == PART_PAIR) {
        strbuf_str(b, ", at ("), txn(b, p->a), strbuf_str(b, ","), txn(b, p->b);
        strbuf_str(b, ")");
    }
    mem_put(w->mem, env);
}

static void add_part(void *ud, const part *p)
{
    why *w = ud;
    gate own = gate_new(&w->g), rule[2] = {gate_not(own), p->gate};
    strbuf b;
    guard_tick(w->mem->guard);
    gate_clause(&w->g, rule, 2);
    strbuf_init(&b, w->mem);
    if (p->kind == PART_EDGE)
        edge_text(w, p, &b);
    else if (p->kind == PART_READ)
        read_text(w, p, &b);
    else
        formula_text(w, p, &b);
    vec_push(w->mem, &w->assume, own);
    vec_push(w->mem, &w->text, strbuf_cstr(&b));
}

static void keep_failed(why *w)
{
    size_t kept = 0;
    for (size_t i = 0; i < w->assume.n; i++) {
        if (!solver_failed(w->g.solver, w->assume.at[i])) continue;
        w->assume.at[kept] = w->assume.at[i];
        w->text.at[kept++] = w->text.at[i];
    }
    w->assume.n = w->text.n = kept;
}

/* Tries each part once, the last first: those of the axioms, so that what stays is the simplest. */
static void shrink(why *w)
{
    for (size_t i = w->assume.n; i--;) {
        gate own = w->assume.at[i];
        const char *text = w->text.at[i];
        size_t last = w->assume.n - 1;
        memmove(w->assume.at + i, w->assume.at + i + 1, (last - i) * sizeof own);
        memmove(w->text.at + i, w->text.at + i + 1, (last - i) * sizeof text);
        w->assume.n = w->text.n = last;
        if (!gates_solve(&w->g, w->assume.at, last)) continue;
        memmove(w->assume.at + i + 1, w->assume.at + i, (last - i) * sizeof own);
        memmove(w->text.at + i + 1, w->text.at + i, (last - i) * sizeof text);
        w->assume.at[i] = own;
        w->text.at[i] = text;
        w->assume.n = w->text.n = last + 1;
    }
}

void why_broken(mem *m, const tiny *h, const iso_level *l, line_list *out)
{
    why w = {.mem = m, .h = h, .level = l};
    world at;
    gates_init(&w.g, m, NULL, NULL);
    world_constant(&at, &w.g, h);
    gate *order = order_any(&at), *vis = NULL;
    if (l->witness == ISO_VIS_AR) vis = vis_any(&at, order);
    level_parts(&at, l, order, vis, add_part, &w);
    if (gates_solve(&w.g, w.assume.at, w.assume.n))
        guard_fail(m->guard, GUARD_BUG, "the history keeps %s", l->name);
    keep_failed(&w);
    shrink(&w);
    for (size_t i = 0; i < w.text.n; i++) vec_push(m, out, w.text.at[i]);
    gates_free(&w.g);
}
