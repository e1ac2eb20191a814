/*
 * iso_print.c - an expression of the language back as text, its variables by what they stand for.
 *
 * Parentheses stand where the grammar needs them: around what binds less tightly than its place.
 */
#include "iso/iso.h"

typedef struct printer {
    const uint32_t *env;
    iso_name name;
    void *ud;
    strbuf *out;
} printer;

static const char *const texts[] = {
#define ISO_OP(id, shape, text) text,
#include "iso/iso_ops.def"
#undef ISO_OP
};

/* As in the parser: loosest first. */
static int tightness(enum iso_op op)
{
    switch (op) {
    case ISO_ALL:
    case ISO_SOME: return -1;
    case ISO_IFF: return 0;
    case ISO_IMPLIES: return 1;
    case ISO_OR: return 2;
    case ISO_AND: return 3;
    case ISO_NOT: return 4;
    case ISO_IN:
    case ISO_EQ:
    case ISO_NE: return 5;
    case ISO_JOIN: return 6;
    case ISO_MINUS: return 7;
    case ISO_MEET: return 8;
    case ISO_PRODUCT: return 9;
    case ISO_SEQ: return 10;
    case ISO_PREDS:
    case ISO_SUCCS: return 11;
    case ISO_PLUS:
    case ISO_STAR:
    case ISO_OPT:
    case ISO_INVERSE: return 12;
    default: return 13;
    }
}

static void print(const printer *p, const iso_node *x, int place);

static void text(const printer *p, const char *s)
{
    strbuf_str(p->out, s);
}

static void arguments(const printer *p, const iso_node *a, const iso_node *b, const char *comma)
{
    text(p, "(");
    print(p, a, -1);
    if (b) text(p, comma), print(p, b, -1);
    text(p, ")");
}

static void indexed(const printer *p, const char *name, const iso_node *key)
{
    text(p, name);
    text(p, "[");
    print(p, key, -1);
    text(p, "]");
}

static void quantified(const printer *p, const iso_node *x)
{
    text(p, texts[x->op]);
    text(p, " ");
    text(p, x->name);
    text(p, ":");
    if (x->kid[0])
        print(p, x->kid[0], 7);
    else
        text(p, "key");
    text(p, " | ");
    print(p, x->kid[1], -1);
}

static void print_bare(const printer *p, const iso_node *x)
{
    const iso_node *a = x->kid[0], *b = x->kid[1];
    int own = tightness(x->op);
    switch (x->op) {
    case ISO_VAR: {
        const char *s = p->env ? p->name(p->ud, x->type, p->env[x->slot]) : NULL;
        text(p, s ? s : x->name);
        return;
    }
    case ISO_USE: {
        if (a)
            indexed(p, x->name, a);
        else
            text(p, x->name);
        return;
    }
    case ISO_WRX: indexed(p, "wr", a); return;
    case ISO_WWX: indexed(p, "ww", a); return;
    case ISO_RWX: indexed(p, "rw", a); return;
    case ISO_RWX_ITEM: indexed(p, "rw-item", a); return;
    case ISO_RWX_PRED: indexed(p, "rw-pred", a); return;
    case ISO_W: indexed(p, "W", a); return;
    case ISO_R: indexed(p, "R", a); return;
    case ISO_DIAG: text(p, "["), print(p, a, -1), text(p, "]"); return;
    case ISO_PREDS: print(p, a, own), text(p, " . "), print(p, b, own + 1); return;
    case ISO_SUCCS: print(p, b, own), text(p, " . "), print(p, a, own + 1); return;
    case ISO_PLUS:
    case ISO_STAR:
    case ISO_OPT:
    case ISO_INVERSE: print(p, a, own), text(p, texts[x->op]); return;
    case ISO_NOT: text(p, "not "), print(p, a, own); return;
    case ISO_ALL:
    case ISO_SOME: quantified(p, x); return;
    case ISO_APPLY2:
        print(p, a, own);
        arguments(p, b, x->kid[2], ",");
        return;
    case ISO_APPLY1: print(p, a, own), arguments(p, b, NULL, ""); return;
    default: break;
    }
    if (x->op >= ISO_ACYCLIC) {
        text(p, texts[x->op]);
        arguments(p, a, b, ", ");
        return;
    }
    if (!b) {
        text(p, texts[x->op]);
        return;
    }
    print(p, a, own + (x->op == ISO_IMPLIES));
    text(p, " "), text(p, texts[x->op]), text(p, " ");
    print(p, b, own + (x->op != ISO_IMPLIES));
}

static void print(const printer *p, const iso_node *x, int place)
{
    bool parens = tightness(x->op) < place;
    if (parens) text(p, "(");
    print_bare(p, x);
    if (parens) text(p, ")");
}

void iso_print(const iso_node *x, const uint32_t *env, iso_name name, void *ud, strbuf *out)
{
    printer p = {env, name, ud, out};
    print(&p, x, -1);
}
