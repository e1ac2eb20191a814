/*
 * print_clauses.c - what the solver is told, as text (--dump clauses), one clause a line:
 *
 *     clause LITERAL | LITERAL ... because REASON
 *     cycle  LITERAL | ...         through EVENT EVENT ...
 *
 * It listens where proofs are made (justify.h), so a clause is named and explained in the same way
 * here and there; what a proof would keep is printed and forgotten.
 */
#include "decide/proof/justify_internal.h"
#include "order/print_order.h"

void justify_dump(justify *j, printer *d)
{
    j->dump = d;
}

static void literal(justify *j, uint32_t lit, strbuf *b)
{
    static const var_info unnamed = {NONE, 0, 0};
    const var_info *x = lit >> 1 < j->vars.n ? &j->vars.at[lit >> 1] : &unnamed;
    if (lit & 1) strbuf_str(b, "not ");
    switch (x->kind) {
    case VAR_BEFORE:
        print_event(j->p, x->a, b);
        strbuf_str(b, " before ");
        print_event(j->p, x->b, b);
        break;
    case VAR_READ:
        print_txn(j->g, j->g->ob_node[x->a], b);
        strbuf_str(b, " reads ");
        print_key(j->g, j->g->ob_key[x->a], b);
        strbuf_str(b, " from ");
        print_source(j->g, x->b == NO_ID ? RF_INIT : x->b, b);
        break;
    case VAR_TAKEN:
        print_txn(j->g, x->a, b);
        strbuf_str(b, " committed");
        break;
    default: strbuf_printf(b, "v%u", lit >> 1); break;
    }
}

static void because(justify *j, const log_entry *e, strbuf *b)
{
    static const char *const whys[] = {[BECAUSE_READ] = "read ",
                                       [BECAUSE_FROM] = "choice ",
                                       [BECAUSE_TAKEN] = "source of ",
                                       [BECAUSE_OVERLAP] = "overlap ",
                                       [BECAUSE_FAULT] = "fault of ",
                                       [BECAUSE_SHOWN] = "shown order",
                                       [BECAUSE_INITIAL] = "initial ",
                                       [BECAUSE_BLOCKED] = "blocked",
                                       [BECAUSE_PATH] = "path to ",
                                       [BECAUSE_LOOP] = "cycle through ",
                                       [BECAUSE_AMONG] = "cycle of serializable ",
                                       [BECAUSE_STUCK] = "waiting of ",
                                       [BECAUSE_ADDED] = "module",
                                       [BECAUSE_CHAIN] = "lists",
                                       [BECAUSE_UNSAID] = "known order"};
    strbuf_str(b, whys[e->why]);
    switch (e->why) {
    case BECAUSE_READ:
    case BECAUSE_PATH:
        print_read(j->g, e->ob, b);
        strbuf_str(b, " from ");
        print_source(j->g, e->w == NO_ID ? RF_INIT : e->w, b);
        strbuf_str(b, e->why == BECAUSE_PATH ? ", from " : ", also written by ");
        print_txn(j->g, e->u, b);
        break;
    case BECAUSE_FROM:
    case BECAUSE_TAKEN:
    case BECAUSE_INITIAL: print_read(j->g, e->ob, b); break;
    case BECAUSE_OVERLAP: print_key(j->g, e->ob, b); break;
    case BECAUSE_LOOP:
    case BECAUSE_AMONG:
    case BECAUSE_STUCK:
    case BECAUSE_FAULT: print_txn(j->g, e->u, b); break;
    default: break;
    }
}

void justify_print(justify *j)
{
    log_entry e = j->entries.at[--j->entries.n];
    strbuf *b = &j->dump->text;
    strbuf_str(b, e.kind == LOG_CYCLE ? "cycle" : "clause");
    if (!e.n) strbuf_str(b, " none");
    for (uint32_t i = 0; i < e.n; i++) {
        strbuf_str(b, i ? " | " : " ");
        literal(j, j->pool.at[e.lits + i], b);
    }
    if (e.kind == LOG_CYCLE) {
        strbuf_str(b, " through");
        for (size_t i = 0; i < e.len; i++) {
            strbuf_char(b, ' ');
            print_event(j->p, j->pool.at[e.nodes + i], b);
        }
    } else {
        strbuf_str(b, " because ");
        because(j, &e, b);
    }
    j->pool.n = e.lits;
    printer_line(j->dump);
}
