/*
 * dimacs.c - reading formulas and polygraphs from memory.
 *
 * One cursor with line and column; every complaint points at the first byte of what is wrong.
 */
#include "solve/dimacs.h"

#include <assert.h>
#include <ctype.h>

#define VARS_MAX (1u << 29)

typedef struct cursor {
    mem *mem;
    const char *at, *end, *line_start;
    uint64_t line;
} cursor;

static cursor start(mem *m, const char *text, size_t n)
{
    return (cursor){m, text, text + n, text, 1};
}

_Noreturn static void complain(const cursor *c, const char *where, const char *what)
{
    assert(where >= c->line_start);
    guard_set_position(c->mem->guard, c->line, (uint64_t)(where - c->line_start) + 1);
    guard_fail(c->mem->guard, GUARD_PARSE, "%s", what);
}

static bool at_end(const cursor *c)
{
    return c->at == c->end;
}

static void next(cursor *c)
{
    assert(!at_end(c));
    if (*c->at++ == '\n') {
        c->line++;
        c->line_start = c->at;
    }
}

static bool is_blank(char ch)
{
    return ch == ' ' || ch == '\t' || ch == '\r';
}

static void skip_blanks(cursor *c)
{
    assert(c->at <= c->end);
    while (!at_end(c) && is_blank(*c->at)) c->at++;
}

static void skip_space(cursor *c)
{
    while (!at_end(c) && (is_blank(*c->at) || *c->at == '\n')) next(c);
}

static void skip_line(cursor *c)
{
    while (!at_end(c) && *c->at != '\n') c->at++;
    if (!at_end(c)) next(c);
}

static void expect(cursor *c, char ch, const char *what)
{
    if (at_end(c) || *c->at != ch) complain(c, c->at, what);
    c->at++;
}

static void expect_line_end(cursor *c)
{
    skip_blanks(c);
    if (at_end(c)) return;
    if (*c->at != '\n') complain(c, c->at, "end of line expected");
    next(c);
}

static uint64_t number(cursor *c, uint64_t high, const char *what, const char *too_big)
{
    const char *first = c->at;
    uint64_t x = 0;
    while (!at_end(c) && isdigit((unsigned char)*c->at)) {
        x = x * 10 + (uint64_t)(*c->at++ - '0');
        if (x > high) complain(c, first, too_big);
    }
    if (c->at == first) complain(c, first, what);
    return x;
}

/* ---- DIMACS -------------------------------------------------------------------------------- */

static uint64_t read_header(cursor *c, cnf *out)
{
    for (;;) {
        skip_space(c);
        if (at_end(c)) complain(c, c->at, "no header 'p cnf VARIABLES CLAUSES'");
        if (*c->at != 'c') break;
        skip_line(c);
    }
    if (*c->at != 'p') complain(c, c->at, "header 'p cnf VARIABLES CLAUSES' expected");
    c->at++;
    skip_blanks(c);
    for (const char *want = "cnf"; *want; want++) expect(c, *want, "'p cnf' expected");
    skip_blanks(c);
    out->vars = (uint32_t)number(c, VARS_MAX, "number of variables expected", "too many variables");
    skip_blanks(c);
    uint64_t clauses = number(c, UINT32_MAX, "number of clauses expected", "too many clauses");
    expect_line_end(c);
    return clauses;
}

static bool read_literal(cursor *c, const cnf *f, uint32_t *lit)
{
    const char *first = c->at;
    assert(!at_end(c));
    bool negative = *c->at == '-';
    if (negative) c->at++;
    uint64_t x = number(c, f->vars, "literal expected", "variable above the header's number");
    if (!at_end(c) && !is_blank(*c->at) && *c->at != '\n')
        complain(c, c->at, "space expected after a literal");
    if (!x && negative) complain(c, first, "literal expected");
    if (!x) return false;
    assert(x <= f->vars);
    *lit = lit_of((uint32_t)x - 1, negative);
    return true;
}

void dimacs_read(mem *m, const char *text, size_t n, cnf *out)
{
    cursor c = start(m, text, n);
    memset(out, 0, sizeof *out);
    uint64_t clauses = read_header(&c, out);
    bool open = false;
    for (;;) {
        skip_space(&c);
        if (at_end(&c)) break;
        if (*c.at == 'c') {
            skip_line(&c);
            continue;
        }
        if (*c.at == '%' && !open) break; /* SATLIB's files end in "%\n0\n" */
        uint32_t lit;
        if (!open && out->clauses == clauses)
            complain(&c, c.at, "more clauses than the header says");
        open = read_literal(&c, out, &lit);
        vec_push(m, &out->lits, open ? lit : LIT_NONE);
        if (!open) out->clauses++;
    }
    if (open) complain(&c, c.at, "the last clause is not closed by 0");
    if (out->clauses < clauses) complain(&c, c.at, "fewer clauses than the header says");
}

/* ---- polygraphs ---------------------------------------------------------------------------- */

bool polyg_looks_like(const char *text, size_t n)
{
    while (n && (is_blank(*text) || *text == '\n')) text++, n--;
    return n >= 2 && text[0] == 'n' && text[1] == ':';
}

static uint32_t read_node(cursor *c, const polyg *g)
{
    const char *first = c->at;
    uint64_t x = number(c, UINT32_MAX, "node number expected", "node number too large");
    if (x >= g->nodes) complain(c, first, "node number not below the number of nodes");
    return (uint32_t)x;
}

static order_pair read_edge(cursor *c, const polyg *g)
{
    uint32_t from = read_node(c, g);
    expect(c, ',', "',' expected");
    return (order_pair){from, read_node(c, g)};
}

void polyg_read(mem *m, const char *text, size_t n, polyg *out)
{
    cursor c = start(m, text, n);
    memset(out, 0, sizeof *out);
    bool headed = false;
    for (;;) {
        skip_space(&c);
        if (at_end(&c)) break;
        const char *first = c.at;
        char kind = *c.at++;
        if (kind != 'n' && kind != 'e' && kind != 'c')
            complain(&c, first, "line 'n:', 'e:' or 'c:' expected");
        expect(&c, ':', "':' expected");
        if ((kind == 'n') == headed)
            complain(&c, first, headed ? "a second 'n:' line" : "'n:' must come first");
        if (kind == 'n') {
            headed = true;
            out->nodes =
                (uint32_t)number(&c, UINT32_MAX / 4, "number of nodes expected", "too many nodes");
        } else if (kind == 'e') {
            order_pair known = read_edge(&c, out);
            vec_push(m, &out->edges, known);
        } else {
            polyg_choice choice = {.first = read_edge(&c, out)};
            expect(&c, '|', "'|' expected");
            choice.second = read_edge(&c, out);
            vec_push(m, &out->choices, choice);
        }
        expect_line_end(&c);
    }
    if (!headed) complain(&c, c.at, "no line 'n:'");
}
