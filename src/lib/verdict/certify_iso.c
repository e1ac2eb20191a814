/*
 * certify_iso.c - an answer about a level that is written as text, with its proof.
 *
 * Beyond what clauses over all pairs of transactions can state, the engine decides.  Its order is
 * written to be replayed; of a violation, the few transactions that show it, and the refutation of
 * the clauses about these (verify/iso_proof.c says why that is one of the whole).
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
#include "verdict/judge_iso.h"
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

static void write_verdict(strbuf *b, const char *word, const char *part, uint64_t *lines)
{
    strbuf_printf(b, "verdict %s\n", word);
    if (!part) return;
    strbuf_str(b, part);
    ++*lines;
}

static void certify_fault(const iso_facts *f, const char *part, strbuf *b)
{
    const history *h = f->c.h;
    uint64_t lines = 1;
    assert(f->broken < h->ops);
    txn_id t = txn_of_op(h, f->broken);
    write_verdict(b, "violated", part, &lines);
    strbuf_str(b, "fault ");
    certificate_txn(b, h, t);
    strbuf_printf(b, " %u\nend %" PRIu64 "\n", f->broken - h->txn_op[t], lines);
}

/* part: the line that names the part which the facts are of; NULL: of the whole. */
static enum outcome certify_search(iso_facts *f, const iso_level *l, const char *part, mem *work,
                                   strbuf *b)
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
    if (holds && part)
        guard_fail(work->guard, GUARD_UNSUPPORTED,
                   "too-large: the transactions that show the violation do so only with scans, "
                   "lists or others");
    if (holds) {
        x.b = b;
        x.lines = 0;
        strbuf_str(b, "verdict holds\n");
        write_iso_order(&x);
        write_iso_reads(&x);
        write_iso_visible(&x);
    } else {
        write_verdict(b, "violated", part, &x.lines);
        strbuf_add(b, learned.at ? learned.at : "", learned.n);
        strbuf_str(b, "rup\n");
        x.lines++;
    }
    strbuf_printf(b, "end %" PRIu64 "\n", x.lines);
    solver_free(s);
    return holds ? OUTCOME_HOLDS : OUTCOME_VIOLATED;
}

/* --- beyond the clauses of all -------------------------------------------------------------- */

#define NAMES_A_LINE 16u

static void write_replay(const iso_judgement *j, const history *h, strbuf *b)
{
    uint64_t lines = 1;
    assert(j->outcome == OUTCOME_HOLDS && j->order);
    strbuf_str(b, "verdict holds\nreplay\n");
    for (uint32_t i = 0; i < j->ordered; i++) {
        bool first = i % NAMES_A_LINE == 0, last = i + 1 == j->ordered || !((i + 1) % NAMES_A_LINE);
        if (first) strbuf_str(b, "order");
        strbuf_char(b, ' ');
        certificate_txn(b, h, j->order[i]);
        if (last) strbuf_char(b, '\n');
        lines += first;
        guard_tick(b->mem->guard);
    }
    for (size_t i = 0; i < j->choices.n; i++, lines++) {
        const chosen *x = &j->choices.at[i];
        txn_id t = txn_of_op(h, x->op);
        strbuf_str(b, "reads ");
        certificate_txn(b, h, t);
        strbuf_printf(b, " %u ", x->op - h->txn_op[t]);
        certificate_name(b, h, key_atom(h, x->key));
        strbuf_char(b, ' ');
        if (x->writer == NO_ID)
            strbuf_str(b, "init");
        else
            certificate_txn(b, h, x->writer);
        strbuf_char(b, '\n');
        guard_tick(b->mem->guard);
    }
    strbuf_printf(b, "end %" PRIu64 "\n", lines);
}

static void certify_part(const iso_judgement *j, const claim *v, const iso_level *l,
                         const history *h, mem *work, strbuf *b)
{
    const char *why = NULL;
    iso_facts *f = mem_zeroed(work, sizeof *f);
    uint8_t *only = mem_array0(work, uint8_t, h->txns + 1);
    strbuf names;
    strbuf_init(&names, work);
    strbuf_str(&names, "part");
    for (size_t i = 0; i < j->core.n + (j->faulty != NO_ID); i++) {
        txn_id t = i < j->core.n ? j->core.at[i] : j->faulty;
        only[t] = 1;
        strbuf_char(&names, ' ');
        certificate_txn(&names, h, t);
    }
    strbuf_char(&names, '\n');
    if (!iso_facts_load(f, v, h, only, work, &why))
        guard_fail(work->guard, GUARD_UNSUPPORTED, "%s", why);
    if (f->broken != NO_ID)
        certify_fault(f, strbuf_cstr(&names), b);
    else
        certify_search(f, l, strbuf_cstr(&names), work, b);
}

static enum outcome certify_judged(const iso_question *q, const question *asked, const claim *v,
                                   const history *h, mem *kept, mem *work, const char *small,
                                   strbuf *b)
{
    iso_judgement j;
    judge_iso(&j, q, asked, h, kept, work);
    if (j.outside)
        guard_fail(work->guard, GUARD_UNSUPPORTED,
                   "%s; the engine of the built-in levels does not handle %s", small, j.reason);
    if (j.outcome == OUTCOME_UNDECIDED) guard_fail(work->guard, GUARD_UNSUPPORTED, "%s", j.reason);
    if (j.outcome == OUTCOME_VIOLATED && !j.core.n && j.faulty == NO_ID)
        guard_fail(work->guard, GUARD_UNSUPPORTED,
                   "too-large: no few transactions were found that show the violation");
    const iso_level *l = iso_level_of(work, q->text, q->n, q->name);
    write_head(b, v, q->text, q->n, h);
    if (j.outcome == OUTCOME_HOLDS)
        write_replay(&j, h, b);
    else
        certify_part(&j, v, l, h, work, b);
    return j.outcome;
}

enum outcome certify_iso(const iso_question *q, const question *asked, const history *h, mem *kept,
                         mem *work, strbuf *b)
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
    enum outcome found = OUTCOME_VIOLATED;
    if (!iso_facts_load(f, &v, h, NULL, work, &why)) {
        found = certify_judged(q, asked, &v, h, kept, work, why, b);
    } else {
        write_head(b, &v, q->text, q->n, h);
        if (f->broken != NO_ID)
            certify_fault(f, NULL, b);
        else
            found = certify_search(f, l, NULL, work, b);
    }
    mem_free_all(work);
    certificate_answer a;
    certificate_verify(&a, b->at, b->n, h, NULL, work);
    if (!a.proved)
        guard_fail(work->guard, GUARD_BUG, "internal error: the certificate is wrong: %s",
                   a.why ? a.why : "");
    mem_free_all(work);
    return found;
}
