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

enum { UNKNOWN, PROVED, NONE, SEPARATED, UNDECIDED };

typedef struct lattice {
    const args *a;
    synth *s;
    const level_list *levels;
    synth_problem scope;
    size_t n;
    int *cell;       /* [i * n + j]: does i imply j */
    char **evidence; /* of SEPARATED: the history, as text or JSON */
    uint32_t *size;
    FILE *out;
} lattice;

static bool implies(const lattice *l, size_t i, size_t j)
{
    int c = l->cell[i * l->n + j];
    return i == j || c == PROVED || c == NONE;
}

/* The printed history, kept until all is known; NULL: it could not be. */
static char *printed_history(const lattice *l, const synth_answer *r)
{
    char *text = NULL;
    FILE *f = tmpfile();
    if (!f) return NULL;
    json_writer w = json_file(f);
    if (l->a->value[O_JSON])
        transactions_json(&w, r);
    else
        print_history(f, r, "    ");
    long end = ftell(f);
    if (end >= 0 && (text = malloc((size_t)end + 1)) != NULL) {
        rewind(f);
        size_t n = fread(text, 1, (size_t)end, f);
        text[n] = 0;
        if (n != (size_t)end) free(text), text = NULL;
    }
    fclose(f);
    return text;
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
    l->evidence[c] = printed_history(l, r);
    if (l->evidence[c]) return EXIT_HOLDS;
    complain("synth: out of memory, or a temporary file could not be written");
    return EXIT_IO;
}

/* i implies k and k implies j: then i implies j, as surely as the weaker of the two. */
static bool follows(lattice *l, size_t i, size_t j)
{
    for (size_t k = 0; k < l->n; k++) {
        if (k == i || k == j || !implies(l, i, k) || !implies(l, k, j)) continue;
        bool sure = l->cell[i * l->n + k] == PROVED && l->cell[k * l->n + j] == PROVED;
        l->cell[i * l->n + j] = sure ? PROVED : NONE;
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
                l->cell[i * n + j] = PROVED;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            size_t c = i * n + j;
            if (i == j || l->cell[c] != UNKNOWN || follows(l, i, j)) continue;
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
            l->cell[c] = r.result == SYNTH_HISTORY     ? SEPARATED
                         : r.result == SYNTH_UNDECIDED ? UNDECIDED
                         : r.result == SYNTH_PROVED    ? PROVED
                                                       : NONE;
            if (r.result != SYNTH_HISTORY) continue;
            int status = separated(l, i, j, &r);
            if (status) return status;
        }
    return EXIT_HOLDS;
}

/* Levels that imply each other have one speaker, the first. */
static bool speaks(const lattice *l, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (implies(l, i, k) && implies(l, k, i)) return false;
    return true;
}

static bool covers(const lattice *l, size_t i, size_t j)
{
    if (i == j || !speaks(l, i) || !speaks(l, j) || !implies(l, i, j)) return false;
    for (size_t k = 0; k < l->n; k++)
        if (k != i && k != j && speaks(l, k) && implies(l, i, k) && implies(l, k, j)) return false;
    return true;
}

static void print_label(const lattice *l, size_t i)
{
    for (size_t k = i; k < l->n; k++) {
        if (k != i && !(implies(l, i, k) && implies(l, k, i))) continue;
        if (k != i) fputs(" = ", l->out);
        visible_to(l->out, l->levels->name[k]);
    }
}

static void print_dot(const lattice *l)
{
    fputs("digraph levels {\n  rankdir=BT;\n", l->out);
    for (size_t i = 0; i < l->n; i++) {
        if (!speaks(l, i)) continue;
        fprintf(l->out, "  n%zu [label=\"", i);
        print_label(l, i);
        fputs("\"];\n", l->out);
    }
    for (size_t i = 0; i < l->n; i++)
        for (size_t j = 0; j < l->n; j++)
            if (covers(l, i, j))
                fprintf(l->out, "  n%zu -> n%zu%s;\n", j, i,
                        l->cell[i * l->n + j] == PROVED ? "" : " [style=dashed]");
    fputs("}\n", l->out);
}

/* "a = b" of the levels that imply each other; to be freed. */
static char *label_of(const lattice *l, size_t i)
{
    size_t cap = 1, n = 0;
    for (size_t k = i; k < l->n; k++) cap += strlen(l->levels->name[k]) + 3;
    char *text = malloc(cap);
    for (size_t k = i; text && k < l->n; k++)
        if (k == i || (implies(l, i, k) && implies(l, k, i)))
            n += (size_t)snprintf(text + n, cap - n, "%s%s", k == i ? "" : " = ",
                                  l->levels->name[k]);
    return text;
}

static int print_picture(const lattice *l)
{
    size_t n = l->n;
    hasse h = {.label = calloc(n, sizeof *h.label), .edge = calloc(n * n, sizeof *h.edge)};
    size_t *number = calloc(n, sizeof *number);
    bool ok = h.label && h.edge && number;
    for (size_t i = 0; ok && i < n; i++)
        if (speaks(l, i)) {
            number[i] = h.n;
            ok = (h.label[h.n++] = label_of(l, i)) != NULL;
        }
    for (size_t i = 0; ok && i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (covers(l, i, j))
                h.edge[h.n_edges++] =
                    (hasse_edge){number[i], number[j], l->cell[i * n + j] != PROVED};
    int status = EXIT_UNDECIDED;
    if (ok)
        status = print_hasse(l->out, &h);
    else
        complain("out of memory");
    for (size_t i = 0; h.label && i < h.n; i++) free(h.label[i]);
    free(h.label);
    free(h.edge);
    free(number);
    return status;
}

static const char *const cell_names[] = {"undecided", "proved", "none-up-to-scope", "history",
                                         "undecided"};

static void pair_json(json_writer *w, const lattice *l, size_t i, size_t j)
{
    size_t c = i * l->n + j;
    jw_object(w);
    jw_member_text(w, "allow", l->levels->name[i]);
    jw_member_text(w, "forbid", l->levels->name[j]);
    jw_member_text(w, "result", cell_names[l->cell[c]]);
    if (l->cell[c] == SEPARATED) {
        jw_member_u64(w, "size", l->size[c]);
        jw_member_array(w, "history");
        if (l->evidence[c]) jw_raw(w, l->evidence[c], strlen(l->evidence[c]));
        jw_end_array(w);
    }
    jw_end_object(w);
}

static void print_lattice_json(const lattice *l)
{
    json_writer to = json_file(l->out), *w = &to;
    jw_object(w);
    jw_member_u64(w, "schema", 1);
    jw_member_array(w, "levels");
    for (size_t i = 0; i < l->n; i++) jw_text(w, l->levels->name[i]);
    jw_end_array(w);
    jw_member_u64(w, "txns", l->scope.txns);
    jw_member_u64(w, "keys", l->scope.keys);
    jw_member_u64(w, "values", l->scope.values);
    jw_member_array(w, "pairs");
    for (size_t i = 0; i < l->n; i++)
        for (size_t j = 0; j < l->n; j++)
            if (i != j) pair_json(w, l, i, j);
    jw_end_array(w);
    jw_member_array(w, "covers");
    for (size_t i = 0; i < l->n; i++)
        for (size_t j = 0; j < l->n; j++) {
            if (!covers(l, i, j)) continue;
            jw_array(w);
            jw_text(w, l->levels->name[i]);
            jw_text(w, l->levels->name[j]);
            jw_end_array(w);
        }
    jw_end_array(w);
    jw_end_object(w);
    jw_end_line(w);
}

static void print_text(const lattice *l)
{
    size_t width = 8;
    for (size_t i = 0; i < l->n; i++)
        if (strlen(l->levels->name[i]) + 1 > width) width = strlen(l->levels->name[i]) + 1;
    if (width > 40) width = 40;
    fprintf(
        l->out,
        "does the row imply the column?  yes: proved for every size;  (yes): no history up to\n"
        "%u transactions, %u keys, %u values;  a number: transactions of a smallest history\n\n",
        (unsigned)l->scope.txns, (unsigned)l->scope.keys, (unsigned)l->scope.values);
    fprintf(l->out, "%*s", (int)width, "");
    for (size_t j = 0; j < l->n; j++) fprintf(l->out, " %6.6s", l->levels->name[j]);
    fputc('\n', l->out);
    for (size_t i = 0; i < l->n; i++) {
        fprintf(l->out, "%-*.*s", (int)width, (int)width, l->levels->name[i]);
        for (size_t j = 0; j < l->n; j++) {
            char number[16];
            size_t c = i * l->n + j;
            snprintf(number, sizeof number, "%u", (unsigned)l->size[c]);
            fprintf(l->out, " %6s",
                    i == j                    ? "-"
                    : l->cell[c] == SEPARATED ? number
                    : l->cell[c] == PROVED    ? "yes"
                    : l->cell[c] == NONE      ? "(yes)"
                                              : "?");
        }
        fputc('\n', l->out);
    }
    fputs("\nstronger > weaker, nothing between:\n", l->out);
    for (size_t i = 0; i < l->n; i++)
        for (size_t j = 0; j < l->n; j++) {
            if (!covers(l, i, j)) continue;
            fputs("  ", l->out);
            print_label(l, i);
            fputs(" > ", l->out);
            print_label(l, j);
            fputc('\n', l->out);
        }
    for (size_t i = 0; i < l->n; i++)
        for (size_t j = 0; j < l->n; j++) {
            if (!l->evidence[i * l->n + j]) continue;
            fputs("\n  allowed by ", l->out);
            visible_to(l->out, l->levels->name[i]);
            fputs(", forbidden by ", l->out);
            visible_to(l->out, l->levels->name[j]);
            fprintf(l->out, ":\n%s", l->evidence[i * l->n + j]);
        }
}

int print_lattice(const args *a, synth *s, const level_list *levels, const synth_problem *scope,
                  FILE *out)
{
    size_t n = levels->n;
    lattice l = {.a = a, .s = s, .levels = levels, .scope = *scope, .n = n, .out = out};
    l.cell = calloc(n * n, sizeof *l.cell);
    l.evidence = calloc(n * n, sizeof *l.evidence);
    l.size = calloc(n * n, sizeof *l.size);
    int status = EXIT_UNDECIDED;
    if (!l.cell || !l.evidence || !l.size)
        complain("out of memory");
    else
        status = fill(&l);
    if (status == EXIT_HOLDS) {
        if (a->value[O_JSON])
            print_lattice_json(&l);
        else if (a->value[O_SVG])
            status = print_picture(&l);
        else if (a->value[O_DOT])
            print_dot(&l);
        else
            print_text(&l);
        for (size_t c = 0; c < n * n; c++)
            if (l.cell[c] == UNDECIDED) status = EXIT_UNDECIDED;
    }
    for (size_t c = 0; l.evidence && c < n * n; c++) free(l.evidence[c]);
    free(l.cell);
    free(l.evidence);
    free(l.size);
    return status;
}
