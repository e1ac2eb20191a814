/*
 * assume_step.c - what a module added, as a step of a proof: `assume N ...`.
 *
 * N is the number of an assumption that the head of the certificate lists; nothing else can be
 * assumed.  A plain statement gives the clause of one of its edges, `assume N E`.  A choice gives
 * the clause that one of its sets is true, `assume N`; a set of several edges has a literal of its
 * own there, which `assume N S E` says implies the set's E-th edge.
 *
 * What is said of a transaction holds if it took part, so every clause has that as its way out.
 */
#include "verify/proof_state.h"

#include "history/additions.h"

uint32_t prover_first_point(const prover *x)
{
    uint32_t txns = (uint32_t)x->c.h->txns;
    return x->si ? 2 * txns : txns;
}

/* Edges of transactions that were aborted are true, and say nothing. */
static bool end_of(prover *x, uint32_t of, uint8_t at, uint32_t *event)
{
    if (at == AT_POINT) {
        *event = prover_first_point(x) + of;
        return true;
    }
    *event = at == AT_BEGIN ? begin_of(x, of) : commit_of(x, of);
    return prover_takes_part(x, of);
}

/* The edge, or that one of its transactions took no part. */
static bool put_edge(prover *x, const added_edge *e)
{
    uint32_t from, to;
    if (!end_of(x, e->from, e->from_at, &from) || !end_of(x, e->to, e->to_at, &to)) return false;
    if (e->from_at == AT_BEGIN && e->to_at == AT_COMMIT && e->from == e->to)
        return prover_no(x, "that a transaction begins before it commits says nothing");
    if (e->from_at != AT_POINT) prover_put_not(x, prover_took_part(x, e->from));
    if (e->to_at != AT_POINT && (e->from_at == AT_POINT || e->to != e->from))
        prover_put_not(x, prover_took_part(x, e->to));
    if (from != to) prover_put(x, prover_before(x, from, to));
    return true;
}

static uint32_t edges_of(const additions *add, uint32_t set)
{
    return add->set_end.at[set] - additions_set_first(add, set);
}

/* A number from 1 to most, as an index. */
static uint32_t parse_index(parser *p, const char *what, uint64_t most)
{
    const char *at = p->now;
    uint64_t n = parse_u64(p, what);
    if (!n || n > most) parse_fail(p, at, "there is no such %s", what);
    return (uint32_t)(n - 1);
}

bool prover_chosen(prover *x, uint64_t n, uint64_t set, uint32_t *lit)
{
    const additions *add = x->c.h->assumed;
    if (!add || !n || n > add->at.n) return prover_no(x, "no such assumption is declared");
    const addition *said = &add->at.at[n - 1];
    if (said->sets < 2 || !set || set > said->sets ||
        edges_of(add, said->first_set + (uint32_t)set - 1) < 2)
        return prover_no(x, "the assumption has no such set of edges");
    *lit = prover_choice(x, (uint32_t)n - 1, (uint32_t)set - 1);
    return true;
}

bool assume_step(prover *x, parser *p)
{
    const additions *add = x->c.h->assumed;
    if (!add) return prover_no(x, "the certificate declares no assumption");
    if (!recheck_takes_additions(x->c.v->level.id) || x->c.v->definition)
        return prover_no(x, "the level does not take what modules add");
    uint32_t n = parse_index(p, "assumption", add->at.n);
    const addition *said = &add->at.at[n];
    bool plain_one = said->sets == 1, whole = !plain_one && p->now == p->end;
    if (whole) {
        for (uint32_t s = 0; s < said->sets; s++) {
            uint32_t set = said->first_set + s;
            if (edges_of(add, set) > 1)
                prover_put(x, prover_choice(x, n, s));
            else if (!put_edge(x, &add->edges.at[additions_set_first(add, set)]))
                return false;
        }
        return prover_close(x);
    }
    uint32_t s = plain_one ? 0 : parse_index(p, "set", said->sets), set = said->first_set + s;
    if (!plain_one && edges_of(add, set) < 2)
        return prover_no(x, "a set of one edge stands for itself");
    uint32_t e = parse_index(p, "edge", edges_of(add, set));
    if (!plain_one) prover_put(x, prover_choice(x, n, s) ^ 1);
    return put_edge(x, &add->edges.at[additions_set_first(add, set) + e]) && prover_close(x);
}

bool assume_hop(prover *x, parser *p, txn_id at, txn_id *to)
{
    const additions *add = x->c.h->assumed;
    if (!add || x->c.v->definition)
        return prover_no(x, "the certificate declares no assumption for this level");
    const addition *said = &add->at.at[parse_index(p, "assumption", add->at.n)];
    *to = parse_txn_word(p, false);
    bool found = false;
    uint32_t first = additions_set_first(add, said->first_set);
    for (uint32_t i = first; said->sets == 1 && i < add->set_end.at[said->first_set]; i++) {
        const added_edge *e = &add->edges.at[i];
        found = found || (e->kind == ADDED_DEPENDS && e->from == *to && e->to == at);
    }
    if (!found) return prover_no(x, "the assumption does not say so");
    if (!prover_takes_part(x, *to) || *to == at)
        return prover_no(x, "the assumption says nothing about these");
    prover_put_not(x, prover_took_part(x, *to));
    return true;
}
