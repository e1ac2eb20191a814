/*
 * prooflog.c - writes the clauses of a solver as DIMACS and what it learned as DRAT, both as text.
 */
#include "synth/prooflog.h"

static void clause(strbuf *out, const char *head, const uint32_t *lits, size_t n)
{
    strbuf_str(out, head);
    for (size_t i = 0; i < n; i++) {
        if (lit_negative(lits[i])) strbuf_char(out, '-');
        strbuf_u64(out, (uint64_t)lit_var(lits[i]) + 1);
        strbuf_char(out, ' ');
    }
    strbuf_str(out, "0\n");
}

static void on_original(void *state, const uint32_t *lits, size_t n)
{
    prooflog *p = state;
    p->n_clauses++;
    clause(&p->clauses, "", lits, n);
}

static void on_learned(void *state, const uint32_t *lits, size_t n)
{
    clause(&((prooflog *)state)->steps, "", lits, n);
}

static void on_deleted(void *state, const uint32_t *lits, size_t n)
{
    clause(&((prooflog *)state)->steps, "d ", lits, n);
}

void prooflog_init(prooflog *p, mem *m)
{
    *p = (prooflog){
        .hooks = {.original = on_original, .learned = on_learned, .deleted = on_deleted}};
    p->hooks.state = p;
    strbuf_init(&p->clauses, m);
    strbuf_init(&p->steps, m);
}

void prooflog_end(prooflog *p, const solver *s, uint32_t assumed, strbuf *formula)
{
    on_original(p, &assumed, 1);
    strbuf_str(&p->steps, "0\n");
    strbuf_printf(formula, "p cnf %llu %llu\n", (unsigned long long)solver_vars(s),
                  (unsigned long long)p->n_clauses);
    strbuf_add(formula, p->clauses.at, p->clauses.n);
}
