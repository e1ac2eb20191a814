/*
 * emit_formats.c - a formula as SMT-LIB 2 (difference logic), as DIMACS (transitivity written out)
 * and as MonoSAT's GNF (graphs that must be acyclic); and an order from a satisfying assignment.
 *
 * Each format begins with comments that lead from its names and numbers back to transactions.
 */
#include <stdio.h>
#include <string.h>

#include "base/sort.h"
#include "emit/formula.h"

static const char *const format_names[EMIT_FORMATS] = {"smt2", "dimacs", "gnf"};

bool emit_format_named(const char *name, enum emit_format *out)
{
    for (size_t i = 0; i < EMIT_FORMATS; i++)
        if (!strcmp(format_names[i], name)) {
            *out = (enum emit_format)i;
            return true;
        }
    return false;
}

/* --- what names mean --- */

static void put_txn(const emit_formula *f, uint32_t node, strbuf *b)
{
    if (node == FROM_INIT)
        strbuf_str(b, "the initial state");
    else
        label_text(f->h, f->h->txn_label[f->txn[node]], b);
}

static void put_event(const emit_formula *f, uint32_t order, uint32_t event, strbuf *b)
{
    if (order && f->part_first) {
        const emit_part *p = &f->part.at[event];
        if (p->op == NO_ID)
            strbuf_str(b, "snapshot of ");
        else
            strbuf_printf(b, "operation %u of ", p->op - f->h->txn_op[f->txn[p->node]]);
        put_txn(f, p->node, b);
        return;
    }
    if (!order && f->added && event >= f->first_point) {
        strbuf_printf(b, "helper point %u", event - f->first_point);
        return;
    }
    bool split = f->split && !order;
    if (split) strbuf_str(b, event % 2 ? "commit of " : "begin of ");
    put_txn(f, split ? event / 2 : event, b);
}

/* Ids of transactions may hold anything but a line break: label_text shows no control byte. */
static void put_meaning(const emit_formula *f, const emit_var *v, strbuf *b)
{
    switch ((enum emit_kind)v->kind) {
    case VAR_IN:
        put_txn(f, v->a, b);
        strbuf_str(b, " takes part");
        break;
    case VAR_PART_SOURCE:
    case VAR_SOURCE: {
        const emit_read *r = &f->read.at[v->a];
        put_txn(f, r->node, b);
        strbuf_str(b, " reads ");
        atom_text(f->h, key_atom(f->h, r->key), b);
        strbuf_str(b, " from ");
        put_txn(f, f->candidate.at[r->first + v->b], b);
        if (v->kind == VAR_PART_SOURCE) strbuf_str(b, " (second order)");
        break;
    }
    case VAR_BEFORE:
        put_event(f, v->a, v->b, b);
        strbuf_str(b, " before ");
        put_event(f, v->a, v->c, b);
        if (v->a) strbuf_str(b, " (second order)");
        break;
    case VAR_PATH:
    case VAR_STEP:
        strbuf_str(b, v->kind == VAR_PATH ? "a path from " : "a step from ");
        put_txn(f, v->b, b);
        strbuf_str(b, " to ");
        put_txn(f, v->c, b);
        break;
    case VAR_DEPENDS:
        put_txn(f, v->c, b);
        strbuf_str(b, " depends on ");
        put_txn(f, v->b, b);
        strbuf_str(b, ", as modules say");
        break;
    case VAR_CHOSEN: { /* a module's text may hold anything, also line breaks */
        const char *reason = additions_reason(f->added, v->a);
        strbuf_printf(b, "set %u of module %s: ", v->b,
                      additions_name(f->added, f->added->at.at[v->a].module));
        strbuf_visible(b, reason, strlen(reason));
        break;
    }
    case VAR_AUX: strbuf_printf(b, "helper %u %u %u", v->a, v->b, v->c); break;
    }
}

static void put_head(const emit_formula *f, const char *comment, printer *d)
{
    const char *encoding, *about;
    emit_encoding_at(f->q.encoding, &encoding, &about);
    strbuf_printf(&d->text, "%s ratel: %s, encoding %s (doc/backends.md); satisfiable: it holds",
                  comment, f->q.level.name, encoding);
    printer_line(d);
}

/* --- SMT-LIB 2 --- */

static void put_smt_name(const emit_formula *f, uint32_t var, strbuf *b)
{
    const emit_var *v = &f->var.at[var];
    if (v->kind == VAR_BEFORE)
        strbuf_printf(b, "(< e%u_%u e%u_%u)", v->a, v->b, v->a, v->c);
    else if (v->kind == VAR_IN)
        strbuf_printf(b, "in_%u", v->a);
    else
        strbuf_printf(b, "b_%u", var);
}

static void put_smt_literal(const emit_formula *f, uint32_t lit, strbuf *b)
{
    if (lit & 1) strbuf_str(b, "(not ");
    put_smt_name(f, lit / 2, b);
    if (lit & 1) strbuf_char(b, ')');
}

static void write_smt2(const emit_formula *f, printer *d)
{
    put_head(f, ";", d);
    strbuf_str(&d->text, "(set-logic QF_IDL)");
    printer_line(d);
    for (uint32_t o = 0; o < f->orders; o++)
        for (uint32_t i = 0; i < f->events[o]; i++) {
            strbuf_printf(&d->text, "(declare-const e%u_%u Int) ; ", o, i);
            put_event(f, o, i, &d->text);
            printer_line(d);
        }
    for (uint32_t v = 0; v < f->var.n; v++) {
        if (f->var.at[v].kind == VAR_BEFORE) continue;
        strbuf_str(&d->text, "(declare-const ");
        put_smt_name(f, v, &d->text);
        strbuf_str(&d->text, " Bool) ; ");
        put_meaning(f, &f->var.at[v], &d->text);
        printer_line(d);
    }
    for (size_t at = 0; at < f->lit.n; at += f->lit.at[at] + 1) {
        uint32_t n = f->lit.at[at];
        strbuf_str(&d->text, n == 0 ? "(assert false" : n == 1 ? "(assert " : "(assert (or");
        for (uint32_t i = 1; i <= n; i++) {
            if (n > 1) strbuf_char(&d->text, ' ');
            put_smt_literal(f, f->lit.at[at + i], &d->text);
        }
        strbuf_str(&d->text, n > 1 ? "))" : ")");
        printer_line(d);
        guard_tick(f->m->guard);
    }
    strbuf_str(&d->text, "(check-sat)");
    printer_line(d);
}

/* --- DIMACS --- */

/* Beyond this, the transitivity alone is a file of gigabytes. */
#define MOST_TRIPLES ((uint64_t)1 << 26)

/* One variable for each unordered pair of events of an order, after all others; which of the two
   comes first is its sign. */
static uint64_t pair_number(const emit_formula *f, uint32_t order, uint32_t a, uint32_t b)
{
    uint64_t n = order ? (uint64_t)f->events[0] * (f->events[0] - 1) / 2 : 0;
    assert(a < b);
    return f->stated + n + (uint64_t)b * (b - 1) / 2 + a + 1;
}

static int64_t before_number(const emit_formula *f, uint32_t order, uint32_t a, uint32_t b)
{
    return a < b ? (int64_t)pair_number(f, order, a, b) : -(int64_t)pair_number(f, order, b, a);
}

static int64_t dimacs_literal(const emit_formula *f, uint32_t lit)
{
    const emit_var *v = &f->var.at[lit / 2];
    int64_t n = v->kind == VAR_BEFORE ? before_number(f, v->a, v->b, v->c) : lit / 2 + 1;
    return lit & 1 ? -n : n;
}

static void put_clauses(const emit_formula *f, printer *d,
                        int64_t (*literal)(const emit_formula *f, uint32_t lit))
{
    for (size_t at = 0; at < f->lit.n; at += f->lit.at[at] + 1) {
        for (uint32_t i = 1; i <= f->lit.at[at]; i++) {
            strbuf_i64(&d->text, literal(f, f->lit.at[at + i]));
            strbuf_char(&d->text, ' ');
        }
        strbuf_char(&d->text, '0');
        printer_line(d);
        guard_tick(f->m->guard);
    }
}

static void put_transitivity(const emit_formula *f, uint32_t o, printer *d)
{
    for (uint32_t c = 2; c < f->events[o]; c++)
        for (uint32_t b = 1; b < c; b++)
            for (uint32_t a = 0; a < b; a++) {
                int64_t ab = before_number(f, o, a, b), bc = before_number(f, o, b, c),
                        ac = before_number(f, o, a, c);
                strbuf_printf(&d->text, "%lld %lld %lld 0\n", (long long)-ab, (long long)-bc,
                              (long long)ac);
                strbuf_printf(&d->text, "%lld %lld %lld 0", (long long)ab, (long long)bc,
                              (long long)-ac);
                printer_line(d);
                guard_tick(f->m->guard);
            }
}

static void put_legend(const emit_formula *f, printer *d)
{
    for (uint32_t v = 0; v < f->var.n; v++) {
        if (f->var.at[v].kind == VAR_BEFORE) continue;
        strbuf_printf(&d->text, "c %u: ", v + 1);
        put_meaning(f, &f->var.at[v], &d->text);
        printer_line(d);
    }
}

static void write_dimacs(const emit_formula *f, printer *d)
{
    uint64_t pairs = 0, triples = 0;
    for (uint32_t o = 0; o < f->orders; o++) {
        uint64_t n = f->events[o];
        if (n > 100000) triples = UINT64_MAX / 4;
        pairs += n ? n * (n - 1) / 2 : 0;
        triples += n > 2 ? n * (n - 1) / 2 * (n - 2) / 3 : 0;
    }
    if (triples > MOST_TRIPLES)
        guard_fail(f->m->guard, GUARD_UNSUPPORTED,
                   "eager transitivity over %u events has too many clauses; use smt2 or gnf",
                   f->events[0]);
    put_head(f, "c", d);
    put_legend(f, d);
    for (uint32_t o = 0; o < f->orders; o++)
        for (uint32_t b = 1; b < f->events[o]; b++)
            for (uint32_t a = 0; a < b; a++) {
                strbuf_printf(&d->text, "c %llu: ", (unsigned long long)pair_number(f, o, a, b));
                emit_var v = {VAR_BEFORE, o, a, b};
                put_meaning(f, &v, &d->text);
                printer_line(d);
            }
    strbuf_printf(&d->text, "p cnf %llu %llu", (unsigned long long)(f->var.n + pairs),
                  (unsigned long long)(f->clauses + 2 * triples));
    printer_line(d);
    put_clauses(f, d, dimacs_literal);
    for (uint32_t o = 0; o < f->orders; o++) put_transitivity(f, o, d);
}

/* --- GNF: an edge for each atom; the last variables say that the graphs are acyclic --- */

static int64_t gnf_literal(const emit_formula *f, uint32_t lit)
{
    (void)f;
    return lit & 1 ? -(int64_t)(lit / 2 + 1) : lit / 2 + 1;
}

static void write_gnf(const emit_formula *f, printer *d)
{
    put_head(f, "c", d);
    for (uint32_t v = 0; v < f->var.n; v++) {
        strbuf_printf(&d->text, "c %u: ", v + 1);
        put_meaning(f, &f->var.at[v], &d->text);
        printer_line(d);
    }
    strbuf_printf(&d->text, "p cnf %zu %zu", f->var.n + f->orders, f->clauses + f->orders);
    printer_line(d);
    put_clauses(f, d, gnf_literal);
    for (uint32_t o = 0; o < f->orders; o++) {
        strbuf_printf(&d->text, "%zu 0", f->var.n + o + 1);
        printer_line(d);
    }
    for (uint32_t o = 0; o < f->orders; o++) {
        size_t edges = 0;
        for (size_t v = 0; v < f->var.n; v++)
            edges += f->var.at[v].kind == VAR_BEFORE && f->var.at[v].a == o;
        strbuf_printf(&d->text, "digraph int %u %zu %u", f->events[o], edges, o);
        printer_line(d);
        for (uint32_t v = 0; v < f->var.n; v++) {
            const emit_var *e = &f->var.at[v];
            if (e->kind != VAR_BEFORE || e->a != o) continue;
            strbuf_printf(&d->text, "edge %u %u %u %u", o, e->b, e->c, v + 1);
            printer_line(d);
        }
        strbuf_printf(&d->text, "acyclic %u %zu", o, f->var.n + o + 1);
        printer_line(d);
    }
}

void emit_write(emit_formula *f, enum emit_format format, printer *out)
{
    switch (format) {
    case EMIT_SMT2: write_smt2(f, out); break;
    case EMIT_DIMACS: write_dimacs(f, out); break;
    case EMIT_GNF:
    case EMIT_FORMATS: write_gnf(f, out); break;
    }
    printer_flush(out);
}

/* --- from an assignment to an order --- */

typedef struct model_reader {
    emit_formula *f;
    enum emit_format format;
    emit_value value;
    void *ud;
} model_reader;

static bool lit_is_true(const model_reader *r, uint32_t lit)
{
    char name[48];
    if (lit >= LIT_FALSE) return lit == LIT_TRUE;
    if (lit / 2 >= r->f->stated) return lit & 1; /* a transaction that no clause names */
    const emit_var *v = &r->f->var.at[lit / 2];
    if (r->format != EMIT_SMT2)
        snprintf(name, sizeof name, "%u", lit / 2 + 1);
    else if (v->kind == VAR_IN)
        snprintf(name, sizeof name, "in_%u", v->a);
    else
        snprintf(name, sizeof name, "b_%u", lit / 2);
    return (r->value(r->ud, name) != 0) != (lit & 1);
}

static uint64_t event_place(const model_reader *r, uint32_t order, uint32_t event)
{
    char name[48];
    uint64_t place = 0;
    if (r->format == EMIT_SMT2) {
        snprintf(name, sizeof name, "e%u_%u", order, event);
        return sort_key(r->value(r->ud, name));
    }
    for (uint32_t other = 0; other < r->f->events[order]; other++) {
        if (other == event) continue;
        int64_t lit = before_number(r->f, order, other, event);
        snprintf(name, sizeof name, "%lld", (long long)(lit < 0 ? -lit : lit));
        place += (r->value(r->ud, name) != 0) == (lit > 0);
    }
    return place;
}

/* What reads read from, of one candidate, too: another version may hold the same value, and only a
   hint says which of them it was. */
static size_t read_choices(const model_reader *r,
                           uint32_t (*source)(emit_formula *f, uint32_t read, uint32_t i),
                           emit_choice *out)
{
    emit_formula *f = r->f;
    size_t n = 0;
    for (uint32_t x = 0; x < f->read.n; x++) {
        const emit_read *read = &f->read.at[x];
        if (!lit_is_true(r, formula_in(f, read->node))) continue;
        for (uint32_t i = 0; i < read->n; i++) {
            if (!lit_is_true(r, source(f, x, i))) continue;
            uint32_t s = f->candidate.at[read->first + i];
            out[n++] = (emit_choice){read->op, read->key, s == FROM_INIT ? NO_ID : f->txn[s]};
            break;
        }
    }
    return n;
}

static void read_parts(const model_reader *r, emit_model *out)
{
    emit_formula *f = r->f;
    uint64_t *place = mem_array(f->m, uint64_t, f->part.n + 1);
    uint32_t *part = mem_array(f->m, uint32_t, f->part.n + 1), n = 0;
    for (uint32_t p = 0; p < f->part.n; p++) {
        if (!lit_is_true(r, formula_in(f, f->part.at[p].node))) continue;
        place[n] = event_place(r, 1, p);
        part[n++] = p;
    }
    const uint32_t *by = sort_by_key(f->m, place, n);
    out->part = mem_array(f->m, emit_point, n + 1);
    out->parts = n;
    for (uint32_t i = 0; i < n; i++) {
        const emit_part *p = &f->part.at[part[by[i]]];
        out->part[i] = (emit_point){f->txn[p->node], p->op};
    }
    out->part_choice = mem_array(f->m, emit_choice, f->read.n + 1);
    out->part_choices = read_choices(r, parts_source, out->part_choice);
}

/* Every event that takes part, in its place; of one place commits stand as in the order. */
static void read_events(const model_reader *r, emit_model *out)
{
    emit_formula *f = r->f;
    uint32_t events = f->events[0], n = 0;
    uint64_t *place = mem_array(f->m, uint64_t, (size_t)events + 1);
    emit_event *at = mem_array(f->m, emit_event, (size_t)events + 1);
    for (uint32_t e = 0; e < events; e++) {
        uint32_t v = f->split ? e / 2 : e;
        bool point = e >= f->first_point, commit = !f->split || e % 2;
        if (!point && !lit_is_true(r, formula_in(f, v))) continue;
        if (!point && !commit && f->row && mixed_begin(f, v) != e) continue;
        place[n] = event_place(r, 0, e);
        at[n++] = point ? (emit_event){e - f->first_point, AT_POINT}
                        : (emit_event){f->txn[v], commit ? AT_COMMIT : AT_BEGIN};
    }
    const uint32_t *by = sort_by_key(f->m, place, n);
    out->event = mem_array(f->m, emit_event, (size_t)n + 1);
    out->events = n;
    for (uint32_t i = 0; i < n; i++) out->event[i] = at[by[i]];
}

void emit_read_model(emit_formula *f, enum emit_format format, emit_value value, void *ud,
                     emit_model *out)
{
    model_reader r = {f, format, value, ud};
    *out = (emit_model){0};
    uint64_t *place = mem_array(f->m, uint64_t, f->n + 1);
    uint32_t *node = mem_array(f->m, uint32_t, f->n + 1), n = 0;
    for (uint32_t v = 0; v < f->n; v++) {
        if (!lit_is_true(&r, formula_in(f, v))) continue;
        place[n] = event_place(&r, 0, f->split ? 2 * v + 1 : v);
        node[n++] = v;
    }
    const uint32_t *by = sort_by_key(f->m, place, n);
    out->order = mem_array(f->m, txn_id, n + 1);
    out->ordered = n;
    for (uint32_t i = 0; i < n; i++) out->order[i] = f->txn[node[by[i]]];
    out->choice = mem_array(f->m, emit_choice, f->read.n + 1);
    out->choices = read_choices(&r, formula_source, out->choice);
    if (f->part_first) read_parts(&r, out);
    if (f->added) read_events(&r, out);
}
