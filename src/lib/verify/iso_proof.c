/*
 * iso_proof.c - certificates about a level that is written as text: the definition is part of what
 * is proved.
 *
 *     definition N          and N lines `| text`: the file, as it was
 *
 * holds: a witness, which every axiom is evaluated on.  violated: a read that nothing explains, or
 * clauses that follow one after the other, by unit propagation, from those that the level asks for
 * (iso_clauses.c), down to the empty one: then there is no witness.
 *
 * Histories of any size, of the definitions that recheck_words.c reads, which are positive in all
 * that is chosen:
 *
 *     replay                an order and the choices of reads, replayed against the definition
 *     part T T ...          the clauses are of these transactions alone, at most 64.  Any execution
 *                           of the whole that keeps such a level, with the others left out of it,
 *                           keeps it in the part: a part that has no witness refutes the whole
 */
#include "verify/iso_proof.h"

#include "verify/follows.h"

const char *iso_definition(parser *p, uint64_t lines, size_t *n)
{
    strbuf b;
    strbuf_init(&b, p->names.m);
    for (; lines; lines--) {
        if (!parse_line(p) || p->begin == p->end || *p->begin != '|')
            parse_fail(p, p->begin, "a line of the definition expected, after \"| \"");
        const char *s = p->begin + 1;
        if (s < p->end && *s == ' ') s++;
        strbuf_add(&b, s, (size_t)(p->end - s));
        strbuf_char(&b, '\n');
    }
    *n = b.n;
    return strbuf_cstr(&b);
}

static uint32_t number_of(iso_facts *f, parser *p, const char *at, txn_id t)
{
    if (t != NO_ID && !f->number[t]) parse_fail(p, at, "that transaction aborted");
    return t == NO_ID ? 0 : f->number[t];
}

/* reads T I W: the ambiguous read saw W */
static void read_saw(iso_facts *f, iso_chosen *w, parser *p)
{
    const history *h = f->c.h;
    const char *at = p->now;
    txn_id t = parse_txn_word(p, false);
    const char *number = p->now;
    uint64_t i = parse_u64(p, "the number of an operation");
    if (i >= h->txn_op[t + 1] - h->txn_op[t])
        parse_fail(p, number, "the transaction has no such operation");
    op_id o = h->txn_op[t] + (op_id)i;
    const char *writer = p->now;
    uint32_t from = number_of(f, p, writer, parse_txn_word(p, true));
    number_of(f, p, at, t);
    for (size_t k = 0; k < f->reads.n; k++)
        if (f->reads.at[k].op == o) w->saw[k] = from;
}

static void read_witness(iso_facts *f, iso_chosen *w, parser *p, const char *s, size_t n)
{
    bool order = parse_is(s, n, "order"), sees = parse_is(s, n, "sees");
    uint32_t reader = 0, last = 0;
    if (parse_is(s, n, "reads")) {
        read_saw(f, w, p);
        return;
    }
    if (!order && !sees) parse_fail(p, s, "\"order\", \"reads\", \"sees\" or \"end\" expected");
    for (uint32_t i = 1; order && i < f->n; i++)
        if (w->in[i] && w->place[i] > last) last = w->place[i];
    if (sees) {
        const char *at = p->now;
        reader = number_of(f, p, at, parse_txn_word(p, false));
    }
    while (p->now != p->end) {
        const char *at = p->now;
        uint32_t t = number_of(f, p, at, parse_txn_word(p, false));
        if (sees) {
            w->sees[(size_t)t * f->n + reader] = 1;
            continue;
        }
        if (w->in[t]) parse_fail(p, at, "it stands in the order already");
        w->in[t] = true;
        w->place[t] = ++last;
    }
}

/* Every axiom, on the witness. */
static bool witness_holds(iso_facts *f, const iso_level *l, iso_chosen *w, mem *m, const char **why)
{
    uint32_t last = f->n;
    for (uint32_t t = 1; t < f->n; t++) {
        if (!w->in[t] && !f->maybe[t]) {
            *why = "one that committed does not stand in the order";
            return false;
        }
        if (!w->in[t]) w->place[t] = ++last; /* any place: it does not count */
    }
    iso_clauses c;
    iso_clauses_make(&c, f, l, w, m);
    if (!c.empty && !iso_too_large(&c)) return true;
    *why = iso_too_large(&c) ? "the definition takes too long to evaluate"
                             : "the witness does not satisfy the definition";
    return false;
}

static void read_holds(parser *p, certificate_answer *a, iso_facts *f, const iso_level *l, mem *m)
{
    iso_chosen *w = mem_zeroed(m, sizeof *w);
    const char *s;
    size_t n;
    w->saw = mem_array0(m, uint32_t, f->reads.n + 1);
    for (size_t k = 0; k < f->reads.n; k++) /* (of those with a choice the text says it) */
        w->saw[k] = f->reads.at[k].n == 1 ? f->candidate.at[f->reads.at[k].first] : UINT32_MAX;
    for (;; a->steps++) {
        certificate_body_line(p);
        parse_need(p, "a word", &s, &n);
        if (certificate_at_end(p, s, n, a->steps)) break;
        read_witness(f, w, p, s, n);
        parse_no_more(p);
    }
    a->proved = f->broken == NO_ID && witness_holds(f, l, w, m, &a->why);
    if (f->broken != NO_ID) a->why = "a read that nothing explains";
}

/* fault T I: the read that nothing explains */
static bool read_fault(parser *p, iso_facts *f)
{
    const history *h = f->c.h;
    txn_id t = parse_txn_word(p, false);
    const char *at = p->now;
    uint64_t i = parse_u64(p, "the number of an operation");
    if (i >= h->txn_op[t + 1] - h->txn_op[t])
        parse_fail(p, at, "the transaction has no such operation");
    for (size_t k = 0; k < f->reads.n; k++)
        if (f->reads.at[k].op == h->txn_op[t] + i && !f->reads.at[k].n &&
            !f->maybe[f->reads.at[k].txn])
            return true;
    return false;
}

static void read_lits(parser *p, uint32_t vars, mem *m, iso_lits *out)
{
    const char *s;
    size_t n;
    out->n = 0;
    while (parse_word(p, &s, &n)) {
        bool negative = *s == '-';
        uint64_t v = parse_number(p, "a literal", s + negative, n - negative);
        if (!v || v > vars) parse_fail(p, s, "there is no such literal");
        vec_push(m, out, 2 * (uint32_t)v + negative);
    }
}

static void read_violated(parser *p, certificate_answer *a, iso_facts *f, const iso_level *l,
                          mem *m)
{
    const char *s;
    size_t n;
    iso_lits clause = {0};
    rup *r = NULL;
    iso_clauses c = {0};
    bool going = true;
    for (;; a->steps++) {
        certificate_body_line(p);
        parse_need(p, "a word", &s, &n);
        if (certificate_at_end(p, s, n, a->steps)) break;
        if (parse_is(s, n, "fault")) {
            a->proved = read_fault(p, f);
            if (!a->proved) a->why = "something explains the read";
            parse_no_more(p);
            continue;
        }
        if (!parse_is(s, n, "rup")) parse_fail(p, s, "\"fault\", \"rup\" or \"end\" expected");
        if (!r) {
            iso_clauses_make(&c, f, l, NULL, m);
            r = rup_new(m, c.vars);
            for (size_t i = 0; i + 1 < c.first.n; i++) {
                size_t from = c.first.at[i], to = c.first.at[i + 1];
                rup_take(r, from < to ? c.lits.at + from : NULL, to - from); /* none: no array */
            }
        }
        read_lits(p, c.vars, m, &clause);
        if (going && !rup_follows(r, clause.at, clause.n)) {
            going = false;
            strbuf b;
            strbuf_init(&b, m);
            strbuf_printf(&b, "line %llu of the body: the clause does not follow",
                          (unsigned long long)a->steps + 1);
            a->why = strbuf_cstr(&b);
        }
    }
    if (a->proved || a->why) return;
    a->proved = r && going && rup_refuted(r) && !iso_too_large(&c);
    if (!a->proved)
        a->why = iso_too_large(&c) ? "the definition takes too long to evaluate"
                                   : "the clauses do not end in a contradiction";
}

/* Is this the first word of the next line?  Then it is read. */
static bool begins_with(parser *p, const char *word)
{
    parser before = *p;
    const char *s;
    size_t n;
    certificate_body_line(p);
    parse_need(p, "a word", &s, &n);
    if (parse_is(s, n, word)) return true;
    *p = before;
    return false;
}

static bool is_replayed(const history *h, const claim *v, const iso_level *l, mem *m)
{
    claim c = *v;
    checker x = {.v = &c, .h = h, .m = m};
    c.definition = l;
    return recheck_words_known(&x);
}

static void read_replay(parser *p, certificate_answer *a, const iso_level *l, const history *h,
                        mem *m)
{
    claim c = a->claim;
    c.definition = l;
    level_named(&c.level,
                iso_level_uses(l, ISO_USES_RT) ? "realtime-read-committed" : "read-committed");
    parse_no_more(p);
    a->steps = 1;
    certificate_replay(p, a, &c, h, m);
}

static const uint8_t *read_part(parser *p, const history *h, mem *m)
{
    uint8_t *only = mem_array0(m, uint8_t, h->txns + 1);
    while (p->now != p->end) {
        const char *at = p->now;
        txn_id t = parse_txn_word(p, false);
        if (only[t]) parse_fail(p, at, "it is in the part already");
        only[t] = 1;
    }
    return only;
}

void iso_verify(parser *p, certificate_answer *a, const char *text, size_t n, const char *name,
                const history *h, mem *m)
{
    const char *why = NULL;
    iso_facts *f = mem_zeroed(m, sizeof *f);
    const iso_level *l = iso_level_of(m, text, n, name);
    bool holds = a->claim.outcome == OUTCOME_HOLDS;
    const uint8_t *only = NULL;
    if (!l) {
        a->why = "the definition has no level of that name";
        return;
    }
    if (holds && begins_with(p, "replay")) {
        read_replay(p, a, l, h, m);
        return;
    }
    if (!holds && begins_with(p, "part")) {
        only = read_part(p, h, m);
        a->steps = 1;
        if (!is_replayed(h, &a->claim, l, m)) {
            a->why = "what the definition says of a part need not hold of the whole";
            return;
        }
    }
    if (!iso_facts_load(f, &a->claim, h, only, m, &why))
        a->why = why;
    else if (holds)
        read_holds(p, a, f, l, m);
    else
        read_violated(p, a, f, l, m);
}
