/*
 * cmd_lattice.c - ratel synth --lattice: which of some levels imply which, with what shows it.
 *
 * Every ordered pair is proved, or searched for a history that the first allows and the second
 * forbids; what follows by transitivity is not searched.  The diagram shows levels that imply each
 * other as one node.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/synth_cli.h"

typedef struct lattice {
    const args *a;
    synth *s;
    const level_list *levels;
    synth_problem scope;
    size_t n;
    int *cell;       /* [i * n + j]: does i imply j */
    char **evidence; /* of CELL_SEPARATED: the history, as text or JSON */
    uint32_t *size;
} lattice;

static lattice_table table_of(const lattice *l)
{
    return (lattice_table){{l->levels->name, l->n}, &l->scope, l->cell, l->evidence, l->size};
}

static bool implies(const lattice *l, size_t i, size_t j)
{
    lattice_table t = table_of(l);
    return lattice_implies(&t, i, j);
}

typedef struct evidence_of {
    const synth_answer *r;
    bool json;
    char *kept; /* a copy of the rendered text */
} evidence_of;

static void render_evidence(strbuf *b, void *what)
{
    evidence_of *e = what;
    json_writer w = jw_strbuf(b);
    if (e->json)
        report_synth_transactions(&w, e->r);
    else
        report_synth_history(b, e->r, "    ");
    e->kept = malloc(b->n + 1);
    if (e->kept) memcpy(e->kept, strbuf_cstr(b), b->n + 1);
}

/* The rendered history, kept until all is known; NULL: out of memory. */
static char *rendered_history(const lattice *l, const synth_answer *r)
{
    evidence_of e = {r, l->a->value[O_JSON] != NULL, NULL};
    render(NULL, render_evidence, &e);
    return e.kept;
}

/* Checked by the library as well, and kept. */
static int separated(lattice *l, size_t i, size_t j, const synth_answer *r)
{
    size_t c = i * l->n + j;
    level_list allow = {&l->levels->at[i], &l->levels->name[i], 1};
    level_list forbid = {&l->levels->at[j], &l->levels->name[j], 1};
    int status = confirm(l->a, l->s, r, &allow, &forbid, NULL);
    if (status) return status;
    l->size[c] = r->txns;
    l->evidence[c] = rendered_history(l, r);
    if (l->evidence[c]) return EXIT_HOLDS;
    complain("out of memory");
    return EXIT_UNDECIDED;
}

/* i implies k and k implies j: then i implies j, as surely as the weaker of the two. */
static bool follows(lattice *l, size_t i, size_t j)
{
    for (size_t k = 0; k < l->n; k++) {
        if (k == i || k == j || !implies(l, i, k) || !implies(l, k, j)) continue;
        bool sure = l->cell[i * l->n + k] == CELL_PROVED && l->cell[k * l->n + j] == CELL_PROVED;
        l->cell[i * l->n + j] = sure ? CELL_PROVED : CELL_NONE;
        return true;
    }
    return false;
}

static int fill(lattice *l)
{
    size_t n = l->n;
    uint64_t start = now();
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (i != j && !l->scope.no_prove &&
                synth_proves(l->s, l->levels->at[i], l->levels->at[j]) == 1)
                l->cell[i * n + j] = CELL_PROVED;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            size_t c = i * n + j;
            if (i == j || l->cell[c] != CELL_UNKNOWN || follows(l, i, j)) continue;
            synth_answer r;
            synth_problem p = l->scope;
            p.allow = &l->levels->at[i];
            p.forbid = &l->levels->at[j];
            p.n_allow = p.n_forbid = 1;
            time_left(l->a, l->s, start);
            int code = synth_search(l->s, &p, &r);
            if (code) {
                complain("synth: %s", synth_error(l->s, NULL, NULL));
                return exit_of(code);
            }
            l->cell[c] = r.result == SYNTH_HISTORY     ? CELL_SEPARATED
                         : r.result == SYNTH_UNDECIDED ? CELL_UNDECIDED
                         : r.result == SYNTH_PROVED    ? CELL_PROVED
                                                       : CELL_NONE;
            if (r.result != SYNTH_HISTORY) continue;
            int status = separated(l, i, j, &r);
            if (status) return status;
        }
    return EXIT_HOLDS;
}

static void render_lattice(strbuf *b, void *what)
{
    const lattice *l = what;
    lattice_table t = table_of(l);
    if (l->a->value[O_JSON])
        report_lattice_json(b, &t);
    else if (l->a->value[O_SVG])
        report_lattice_svg(b, &t);
    else if (l->a->value[O_DOT])
        report_lattice_dot(b, &t);
    else
        report_lattice_text(b, &t);
}

int print_lattice(const args *a, synth *s, const level_list *levels, const synth_problem *scope,
                  FILE *out)
{
    size_t n = levels->n;
    lattice l = {.a = a, .s = s, .levels = levels, .scope = *scope, .n = n};
    l.cell = calloc(n * n, sizeof *l.cell);
    l.evidence = calloc(n * n, sizeof *l.evidence);
    l.size = calloc(n * n, sizeof *l.size);
    int status = EXIT_UNDECIDED;
    if (!l.cell || !l.evidence || !l.size)
        complain("out of memory");
    else
        status = fill(&l);
    if (status == EXIT_HOLDS) {
        status = render(out, render_lattice, &l);
        for (size_t c = 0; c < n * n; c++)
            if (l.cell[c] == CELL_UNDECIDED && !status) status = EXIT_UNDECIDED;
    }
    for (size_t c = 0; l.evidence && c < n * n; c++) free(l.evidence[c]);
    free(l.cell);
    free(l.evidence);
    free(l.size);
    return status;
}
