/*
 * iso_shapes.c - axioms that are known by their shape.
 *
 * Three axioms quantify over keys, and yet mean a plain relation.  Two of them are of levels over
 * vis, ar: writers of a common key see each other one way or the other, and a writer sees the
 * version that it overwrites.  The third says that a transaction which reads and writes a key
 * overwrites what it read.  The premise of commit(P ; po) is taken apart here, too.
 */
#include "iso/iso.h"

static const iso_node *unfold(const iso_node *x)
{
    while (x->op == ISO_USE && !x->kid[0]) x = x->def->body;
    return x;
}

static bool is_order(const iso_node *x)
{
    x = unfold(x);
    return x->op == ISO_CO_REL || x->op == ISO_AR;
}

static bool is_vis(const iso_node *x)
{
    return unfold(x)->op == ISO_VIS;
}

bool iso_is_noconflict(const iso_node *f)
{
    const iso_node *q[3];
    for (int i = 0; i < 3; i++, f = f->kid[1]) {
        if (f->op != ISO_ALL) return false;
        q[i] = f;
    }
    if (q[0]->kid[0] || !q[1]->kid[0] || !q[2]->kid[0]) return false;
    for (int i = 1; i < 3; i++)
        if (q[i]->kid[0]->op != ISO_W || q[i]->kid[0]->kid[0]->slot != q[0]->slot) return false;
    if (f->op != ISO_IMPLIES || f->kid[0]->op != ISO_NE || f->kid[1]->op != ISO_OR) return false;
    const iso_node *l = f->kid[1]->kid[0], *r = f->kid[1]->kid[1], *ne = f->kid[0];
    if (l->op != ISO_APPLY2 || r->op != ISO_APPLY2 || !is_vis(l->kid[0]) || !is_vis(r->kid[0]))
        return false;
    uint32_t a = q[1]->slot, b = q[2]->slot;
    return ne->kid[0]->slot == a && ne->kid[1]->slot == b && l->kid[1]->slot == a &&
           l->kid[2]->slot == b && r->kid[1]->slot == b && r->kid[2]->slot == a;
}

bool iso_is_near(const iso_node *f)
{
    if (f->op != ISO_ALL || f->kid[0] || f->kid[1]->op != ISO_ALL) return false;
    uint32_t x = f->slot;
    const iso_node *q = f->kid[1], *d = q->kid[0], *b = q->kid[1];
    if (!d || d->op != ISO_MINUS || d->kid[0]->op != ISO_W || d->kid[0]->kid[0]->slot != x ||
        d->kid[1]->op != ISO_INIT || b->op != ISO_IN)
        return false;
    const iso_node *max = b->kid[0], *seen = b->kid[1];
    if (max->op != ISO_MAX || !is_order(max->kid[0]) || max->kid[1]->op != ISO_MEET) return false;
    const iso_node *before = max->kid[1]->kid[0], *w = max->kid[1]->kid[1];
    return before->op == ISO_PREDS && is_order(before->kid[0]) && before->kid[1]->slot == q->slot &&
           w->op == ISO_W && w->kid[0]->slot == x && seen->op == ISO_PREDS &&
           is_vis(seen->kid[0]) && seen->kid[1]->slot == q->slot;
}

bool iso_is_own_key(const iso_node *f, const iso_node **read)
{
    if (f->op != ISO_ALL || f->kid[0] || f->kid[1]->op != ISO_IRREFLEXIVE) return false;
    const iso_node *seq = f->kid[1]->kid[0];
    if (seq->op != ISO_SEQ || seq->kid[0]->op != ISO_WWX) return false;
    const iso_node *r = seq->kid[1];
    if (r->op != ISO_RWX && r->op != ISO_RWX_ITEM && r->op != ISO_RWX_PRED) return false;
    *read = r;
    return seq->kid[0]->kid[0]->slot == f->slot && r->kid[0]->slot == f->slot;
}

const iso_node *iso_premise(const iso_node *commit, enum iso_arrival *arrival)
{
    const iso_node *p = commit->kid[0];
    *arrival = ISO_ANYWHERE;
    if (p->op != ISO_SEQ) return p;
    const iso_node *last = p->kid[1];
    if (last->op == ISO_PO)
        *arrival = ISO_BEFORE;
    else if (last->op == ISO_OPT && last->kid[0]->op == ISO_PO)
        *arrival = ISO_UPTO;
    return *arrival == ISO_ANYWHERE ? p : p->kid[0];
}
