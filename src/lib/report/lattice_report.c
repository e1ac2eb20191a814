/*
 * lattice_report.c - which levels imply which: a table, JSON, Graphviz, a drawing.
 *
 * Levels that imply each other are shown as one node of the diagram, by the first of them; an edge
 * is drawn only where no other level stands between.  A dashed edge is not proved for every size.
 */
#include <string.h>

#include "report/synth_report.h"

bool lattice_implies(const lattice_table *l, size_t i, size_t j)
{
    int c = l->cell[i * l->levels.n + j];
    return i == j || c == CELL_PROVED || c == CELL_NONE;
}

/* Is i the first of the levels that are equivalent to it? */
static bool stands_for_all(const lattice_table *l, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (lattice_implies(l, i, k) && lattice_implies(l, k, i)) return false;
    return true;
}

static bool covers(const lattice_table *l, size_t i, size_t j)
{
    if (i == j || !stands_for_all(l, i) || !stands_for_all(l, j) || !lattice_implies(l, i, j))
        return false;
    for (size_t k = 0; k < l->levels.n; k++)
        if (k != i && k != j && stands_for_all(l, k) && lattice_implies(l, i, k) &&
            lattice_implies(l, k, j))
            return false;
    return true;
}

/* "a = b" of the levels that imply each other. */
static void add_label(strbuf *b, const lattice_table *l, size_t i)
{
    for (size_t k = i; k < l->levels.n; k++) {
        if (k != i && !(lattice_implies(l, i, k) && lattice_implies(l, k, i))) continue;
        if (k != i) strbuf_str(b, " = ");
        strbuf_visible(b, l->levels.at[k], strlen(l->levels.at[k]));
    }
}

void report_lattice_dot(strbuf *b, const lattice_table *l)
{
    size_t n = l->levels.n;
    strbuf_str(b, "digraph levels {\n  rankdir=BT;\n");
    for (size_t i = 0; i < n; i++) {
        if (!stands_for_all(l, i)) continue;
        strbuf_printf(b, "  n%zu [label=\"", i);
        add_label(b, l, i);
        strbuf_str(b, "\"];\n");
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (covers(l, i, j))
                strbuf_printf(b, "  n%zu -> n%zu%s;\n", j, i,
                              l->cell[i * n + j] == CELL_PROVED ? "" : " [style=dashed]");
    strbuf_str(b, "}\n");
}

void report_lattice_svg(strbuf *b, const lattice_table *l)
{
    mem *m = b->mem;
    size_t n = l->levels.n;
    hasse h = {.label = mem_array0(m, const char *, n + 1),
               .edge = mem_array0(m, hasse_edge, n * n + 1)};
    size_t *number = mem_array0(m, size_t, n + 1);
    for (size_t i = 0; i < n; i++) {
        if (!stands_for_all(l, i)) continue;
        strbuf label;
        strbuf_init(&label, m);
        add_label(&label, l, i);
        number[i] = h.n;
        h.label[h.n++] = strbuf_cstr(&label);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (covers(l, i, j))
                h.edge[h.n_edges++] =
                    (hasse_edge){number[i], number[j], l->cell[i * n + j] != CELL_PROVED};
    report_hasse(b, &h);
}

static const char *const cell_names[] = {"undecided", "proved", "none-up-to-scope", "history",
                                         "undecided"};

static void pair_json(json_writer *w, const lattice_table *l, size_t i, size_t j)
{
    size_t c = i * l->levels.n + j;
    jw_object(w);
    jw_member_text(w, "allow", l->levels.at[i]);
    jw_member_text(w, "forbid", l->levels.at[j]);
    jw_member_text(w, "result", cell_names[l->cell[c]]);
    if (l->cell[c] == CELL_SEPARATED) {
        jw_member_u64(w, "size", l->size[c]);
        jw_member_array(w, "history");
        if (l->evidence[c]) jw_raw(w, l->evidence[c], strlen(l->evidence[c]));
        jw_end_array(w);
    }
    jw_end_object(w);
}

void report_lattice_json(strbuf *b, const lattice_table *l)
{
    size_t n = l->levels.n;
    json_writer to = jw_strbuf(b), *w = &to;
    jw_object(w);
    jw_member_u64(w, "schema", 1);
    report_level_names(w, "levels", &l->levels);
    jw_member_u64(w, "txns", l->scope->txns);
    jw_member_u64(w, "keys", l->scope->keys);
    jw_member_u64(w, "values", l->scope->values);
    jw_member_array(w, "pairs");
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (i != j) pair_json(w, l, i, j);
    jw_end_array(w);
    jw_member_array(w, "covers");
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            if (!covers(l, i, j)) continue;
            jw_array(w);
            jw_text(w, l->levels.at[i]);
            jw_text(w, l->levels.at[j]);
            jw_end_array(w);
        }
    jw_end_array(w);
    jw_end_object(w);
    jw_end_line(w);
}

static void add_cell(strbuf *b, const lattice_table *l, size_t i, size_t j)
{
    size_t c = i * l->levels.n + j;
    if (i != j && l->cell[c] == CELL_SEPARATED)
        strbuf_printf(b, " %6u", (unsigned)l->size[c]);
    else
        strbuf_printf(b, " %6s",
                      i == j                      ? "-"
                      : l->cell[c] == CELL_PROVED ? "yes"
                      : l->cell[c] == CELL_NONE   ? "(yes)"
                                                  : "?");
}

static void add_table(strbuf *b, const lattice_table *l)
{
    size_t width = 8, n = l->levels.n;
    for (size_t i = 0; i < n; i++)
        if (strlen(l->levels.at[i]) + 1 > width) width = strlen(l->levels.at[i]) + 1;
    if (width > 40) width = 40;
    strbuf_printf(
        b,
        "does the row imply the column?  yes: proved for every size;  (yes): no history up to\n"
        "%u transactions, %u keys, %u values;  a number: transactions of a %shistory%s\n\n",
        (unsigned)l->scope->txns, (unsigned)l->scope->keys, (unsigned)l->scope->values,
        l->program_order ? "" : "smallest ",
        l->program_order ? "\n(perhaps not a smallest one where a level has program order)" : "");
    strbuf_printf(b, "%*s", (int)width, "");
    for (size_t j = 0; j < n; j++) strbuf_printf(b, " %6.6s", l->levels.at[j]);
    strbuf_char(b, '\n');
    for (size_t i = 0; i < n; i++) {
        strbuf_printf(b, "%-*.*s", (int)width, (int)width, l->levels.at[i]);
        for (size_t j = 0; j < n; j++) add_cell(b, l, i, j);
        strbuf_char(b, '\n');
    }
}

void report_lattice_text(strbuf *b, const lattice_table *l)
{
    size_t n = l->levels.n;
    add_table(b, l);
    strbuf_str(b, "\nstronger > weaker, nothing between:\n");
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            if (!covers(l, i, j)) continue;
            strbuf_str(b, "  ");
            add_label(b, l, i);
            strbuf_str(b, " > ");
            add_label(b, l, j);
            strbuf_char(b, '\n');
        }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            if (!l->evidence[i * n + j]) continue;
            strbuf_str(b, "\n  allowed by ");
            strbuf_visible(b, l->levels.at[i], strlen(l->levels.at[i]));
            strbuf_str(b, ", forbidden by ");
            strbuf_visible(b, l->levels.at[j], strlen(l->levels.at[j]));
            strbuf_str(b, ":\n");
            strbuf_str(b, l->evidence[i * n + j]);
        }
}
