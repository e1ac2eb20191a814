/*
 * certify_iso.c - an answer about a level that is written as text, with its proof.
 *
 * The clauses are those that the verifier makes (src/lib/verify/iso_clauses.c), so a proof speaks
 * of what it will be held against.  The solver either finds a witness, or learns clauses down to
 * the empty one; these are the proof.  No certificate leaves here that certificate_verify does not
 * accept.
 */
#include <assert.h>
#include <inttypes.h>

#include "solve/solve.h"
#include "verdict/certify_iso.h"
#include "verify/certificate.h"
#include "verify/iso_clauses.h"

typedef struct iso_scribe {
    const iso_facts *f;
    const iso_clauses *c;
    const solver *s;
    strbuf *b;
    uint64_t lines;
} iso_scribe;

/* A learned clause is a line; the last one is empty. */
static void write_learned(void *state, const uint32_t *lits, size_t n)
{
    iso_scribe *x = state;
    strbuf_str(x->b, "rup");
    for (size_t i = 0; i < n; i++)
        strbuf_printf(x->b, lit_negative(lits[i]) ? " -%u" : " %u", lit_var(lits[i]));
    strbuf_char(x->b, '\n');
    x->lines++;
}

static bool is_chosen(const iso_scribe *x, uint32_t lit)
{
    assert(x->s && lit / 2 <= x->c->vars);
    if (lit < 2) return lit == ISO_YES;
    return solver_model(x->s, lit_of(lit / 2, false)) > 0 ? !(lit & 1) : lit & 1;
}

static void write_txn(const iso_scribe *x, uint32_t t)
{
    assert(t < x->f->n);
    strbuf_char(x->b, ' ');
    if (t)
        certificate_txn(x->b, x->f->c.h, x->f->txn[t]);
    else
        strbuf_str(x->b, "init");
}

/* Whether a stands before b in the order that was found. */
static uint32_t place_of(const iso_scribe *x, uint32_t t)
{
    uint32_t before = 0;
    for (uint32_t a = 1; a < x->f->n; a++)
        before += a != t && is_chosen(x, x->c->before[(size_t)a * x->f->n + t]);
    assert(before + 1 < x->f->n);
    return before;
}

static void write_iso_order(iso_scribe *x)
{
    uint32_t n = x->f->n, at[ISO_MOST_TXNS + 1] = {0};
    bool any = false;
    for (uint32_t t = 1; t < n; t++) at[place_of(x, t)] = t;
    for (uint32_t i = 0; i + 1 < n; i++) {
        if (!is_chosen(x, x->c->act[at[i]])) continue;
        if (!any) strbuf_str(x->b, "order");
        any = true;
        write_txn(x, at[i]);
    }
    if (any) strbuf_char(x->b, '\n');
    x->lines += any;
}

static void write_iso_reads(iso_scribe *x)
{
    const history *h = x->f->c.h;
    for (size_t i = 0; i < x->f->reads.n; i++) {
        const iso_read *r = &x->f->reads.at[i];
        if (r->n < 2 || !is_chosen(x, x->c->act[r->txn])) continue;
        uint32_t k = 0;
        while (k < r->n && !is_chosen(x, x->c->saw[r->first + k])) k++;
        assert(k < r->n);
        strbuf_str(x->b, "reads");
        write_txn(x, r->txn);
        strbuf_printf(x->b, " %u", r->op - h->txn_op[x->f->txn[r->txn]]);
        write_txn(x, x->f->candidate.at[r->first + k]);
        strbuf_char(x->b, '\n');
        x->lines++;
    }
}

static void write_iso_visible(iso_scribe *x)
{
    uint32_t n = x->f->n;
    for (uint32_t t = 1; t < n && x->c->vis; t++) {
        bool any = false;
        for (uint32_t a = 1; a < n; a++) {
            if (!is_chosen(x, x->c->vis[(size_t)a * n + t])) continue;
            if (!any) {
                strbuf_str(x->b, "sees");
                write_txn(x, t);
            }
            any = true;
            write_txn(x, a);
        }
        if (any) strbuf_char(x->b, '\n');
        x->lines += any;
    }
}

static void write_head(strbuf *b, const claim *v, const char *text, size_t n, const history *h)
{
    uint64_t lines = 0;
    for (size_t i = 0; i < n; i++) lines += text[i] == '\n';
    lines += n && text[n - 1] != '\n';
    certificate_head(b, v, v, h, NULL);
    b->n -= strlen("verdict violated\n"); /* that line comes after these */
    strbuf_printf(b, "definition %" PRIu64 "\n", lines);
    for (size_t i = 0; i < n;) {
        size_t k = i;
        while (k < n && text[k] != '\n') k++;
        strbuf_str(b, k > i ? "| " : "|");
        strbuf_add(b, text + i, k - i);
        strbuf_char(b, '\n');
        i = k + 1;
    }
}

static void certify_fault(const iso_facts *f, strbuf *b)
{
    const history *h = f->c.h;
    assert(f->broken < h->ops);
    txn_id t = txn_of_op(h, f->broken);
    strbuf_str(b, "verdict violated\nfault ");
    certificate_txn(b, h, t);
    strbuf_printf(b, " %u\nend 1\n", f->broken - h->txn_op[t]);
}

static enum outcome certify_search(iso_facts *f, const iso_level *l, mem *work, strbuf *b)
{
    iso_clauses c;
    assert(f->broken == NO_ID); /* else nothing needs to be searched */
    iso_clauses_make(&c, f, l, NULL, work);
    if (iso_too_large(&c))
        guard_fail(work->guard, GUARD_UNSUPPORTED,
                   "too-large: the definition takes too long to evaluate");
    strbuf learned;
    strbuf_init(&learned, work);
    iso_scribe x = {.f = f, .c = &c, .b = &learned};
    proof log = {.state = &x, .learned = write_learned};
    solver *s = solver_new(work);
    solver_set_proof(s, &log);
    for (uint32_t v = 0; v <= c.vars; v++) solver_var(s);
    for (size_t i = 0; i + 1 < c.first.n; i++) {
        size_t lits = (size_t)(c.first.at[i + 1] - c.first.at[i]);
        solver_add_clause(s, lits ? c.lits.at + c.first.at[i] : NULL, lits);
    }
    bool holds = !c.empty && solver_solve(s, NULL, 0) == SOLVE_SAT;
    x.s = s;
    if (holds) {
        x.b = b;
        x.lines = 0;
        strbuf_str(b, "verdict holds\n");
        write_iso_order(&x);
        write_iso_reads(&x);
        write_iso_visible(&x);
    } else {
        strbuf_str(b, "verdict violated\n");
        strbuf_add(b, learned.at ? learned.at : "", learned.n);
        strbuf_str(b, "rup\n");
        x.lines++;
    }
    strbuf_printf(b, "end %" PRIu64 "\n", x.lines);
    solver_free(s);
    return holds ? OUTCOME_HOLDS : OUTCOME_VIOLATED;
}

enum outcome certify_iso(const iso_question *q, const history *h, mem *work, strbuf *b)
{
    const char *why = NULL;
    claim v = {.session_order = q->session_order,
               .ryow = q->ryow,
               .drift = q->drift,
               .outcome = OUTCOME_VIOLATED};
    const iso_level *l = iso_level_of(work, q->text, q->n, q->name);
    iso_facts *f = mem_zeroed(work, sizeof *f);
    if (!l) guard_fail(work->guard, GUARD_INVAL, "the definition has no level of that name");
    if (strlen(l->name) > 60)
        guard_fail(work->guard, GUARD_UNSUPPORTED, "too-large: the name of the level is too long");
    memcpy(v.level.name, l->name, strlen(l->name));
    if (!iso_facts_load(f, &v, h, work, &why))
        guard_fail(work->guard, GUARD_UNSUPPORTED, "%s", why);
    write_head(b, &v, q->text, q->n, h);
    enum outcome found = OUTCOME_VIOLATED;
    if (f->broken != NO_ID)
        certify_fault(f, b);
    else
        found = certify_search(f, l, work, b);
    mem_free_all(work);
    certificate_answer a;
    certificate_verify(&a, b->at, b->n, h, NULL, work);
    if (!a.proved)
        guard_fail(work->guard, GUARD_BUG, "internal error: the certificate is wrong: %s",
                   a.why ? a.why : "");
    mem_free_all(work);
    return found;
}
