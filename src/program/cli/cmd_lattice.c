/*
 * cmd_lattice.c - ratel synth --lattice: which of some levels imply which, with what shows it.
 *
 * Every ordered pair is proved, or searched for a history that the first allows and the second
 * forbids; what follows by transitivity is not searched.  The diagram shows levels that imply each
 * other as one node.
 *
 * The histories of synth have no order of operations.  A level with program order (po) is searched
 * as the same level without, which is stronger: commit(P) for commit(P ; po).  What tells that one
 * apart from another level is then put into an order of operations, and counts if the library
 * says so of the level itself.  Where that settles nothing, another level is searched, in which the
 * last step must be session order, which arrives before every operation.
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
    int *plain;   /* the level without po, or the level */
    int *guessed; /* a level like it that may be told apart more easily; or the level */
} lattice;

static lattice_table table_of(const lattice *l)
{
    bool program_order = false;
    for (size_t i = 0; i < l->n; i++) program_order |= l->plain[i] != l->levels->at[i];
    return (lattice_table){
        {l->levels->name, l->n}, &l->scope, l->cell, l->evidence, l->size, program_order};
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

/* --- program order ---------------------------------------------------------------------------- */

/* The level with every `; po` and `; po?` left out, or else with `; so` in their place and with
   commit(so), which most such levels imply; itself, if it has none. */
static int without_po(synth *s, int level, bool guess)
{
    static const char own[] = " commit(so);", step[] = "; so";
    const char *text = synth_level_text(s, level);
    size_t n = strlen(text), kept = 0;
    char *copy = malloc(2 * n + sizeof own);
    bool open = false;
    if (!copy || !synth_level_has_steps(s, level)) {
        free(copy);
        return level;
    }
    for (size_t i = 0; i < n;) {
        size_t k = text[i] == ';' ? 1 + strspn(text + i + 1, " \t\n") : 0;
        bool po = k && !strncmp(text + i + k, "po", 2);
        size_t end = i + k + 2;
        if (po && text[end] == '?') end++;
        if (po && text[end + strspn(text + end, " \t\n")] == ')') {
            i = end;
            if (guess) memcpy(copy + kept, step, sizeof step - 1), kept += sizeof step - 1;
            continue;
        }
        copy[kept++] = text[i++];
        if (!guess || open || text[i - 1] != '{') continue;
        open = true;
        memcpy(copy + kept, own, sizeof own - 1), kept += sizeof own - 1;
    }
    copy[kept] = 0;
    int plain = synth_level_read(s, "the level without po", synth_level_name(s, level), copy, kept);
    free(copy);
    return plain < 0 ? level : plain;
}

/* Does the library say of the history that i allows it and j forbids it? */
static bool shown_apart(const lattice *l, const synth_answer *r, size_t i, size_t j)
{
    const char *first = synth_level_builtin(l->s, l->levels->at[i]);
    const char *second = synth_level_builtin(l->s, l->levels->at[j]);
    const level_list none = {NULL, NULL, 0};
    ratel_history *h = NULL;
    ratel_result *a = NULL, *b = NULL;
    bool apart =
        *first && *second && !confirm(l->a, l->s, r, &none, &none, &h) &&
        !ratel_check(&a, l->a->context, h, first) && !ratel_check(&b, l->a->context, h, second) &&
        ratel_result_verdict(a) == RATEL_HOLDS && ratel_result_verdict(b) == RATEL_VIOLATED;
    ratel_result_free(a);
    ratel_result_free(b);
    ratel_history_free(h);
    return apart;
}

/* The history with its keys named the other way round, so that reads come in another order. */
static bool turn_keys(synth_answer *r, uint32_t *from, bool *writes)
{
    for (uint32_t t = 0; t <= r->txns; t++)
        for (uint32_t x = 0; x < r->keys; x++) {
            size_t to = (size_t)t * r->keys + x, at = (size_t)t * r->keys + r->keys - 1 - x;
            from[to] = r->from[at];
            writes[to] = r->writes[at];
        }
    r->from = from;
    r->writes = writes;
    return true;
}

/* A history that tells i from the level j without po: does it tell it from j in some order of
   operations? */
static int try_orders(lattice *l, size_t i, size_t j, synth_answer *r)
{
    size_t cells = (size_t)(r->txns + 1) * r->keys;
    uint32_t *from = malloc((cells + 1) * sizeof *from);
    bool *writes = malloc((cells + 1) * sizeof *writes);
    int status = EXIT_HOLDS;
    bool apart =
        from && writes &&
        (shown_apart(l, r, i, j) || (turn_keys(r, from, writes) && shown_apart(l, r, i, j)));
    l->cell[i * l->n + j] = apart ? CELL_SEPARATED : CELL_UNDECIDED;
    if (apart) status = separated(l, i, j, r);
    free(from);
    free(writes);
    return status;
}

/* Nothing tells the two apart without po: what that says of the levels themselves. */
static int cell_of_none(const lattice *l, size_t i, size_t j, bool proved)
{
    const char *first = synth_level_builtin(l->s, l->levels->at[i]);
    const char *second = synth_level_builtin(l->s, l->levels->at[j]);
    if (l->plain[i] == l->levels->at[i]) return proved ? CELL_PROVED : CELL_NONE;
    return *first && *second && ratel_level_implies(first, second, true) == 1 ? CELL_NONE
                                                                              : CELL_UNDECIDED;
}

static int search_levels(const lattice *l, const int *allow, const int *forbid, synth_answer *r)
{
    synth_problem p = l->scope;
    p.allow = allow;
    p.forbid = forbid;
    p.n_allow = p.n_forbid = 1;
    int code = synth_search(l->s, &p, r);
    if (!code) return EXIT_HOLDS;
    complain("synth: %s", synth_error(l->s, NULL, NULL));
    return exit_of(code);
}

static int search_pair(lattice *l, size_t i, size_t j)
{
    synth_answer r;
    int status = search_levels(l, &l->plain[i], &l->plain[j], &r);
    if (status) return status;
    l->cell[i * l->n + j] = r.result == SYNTH_HISTORY ? CELL_SEPARATED
                            : r.result == SYNTH_UNDECIDED
                                ? CELL_UNDECIDED
                                : cell_of_none(l, i, j, r.result == SYNTH_PROVED);
    if (r.result != SYNTH_HISTORY) return EXIT_HOLDS;
    bool ordered = l->plain[j] != l->levels->at[j];
    return ordered ? try_orders(l, i, j, &r) : separated(l, i, j, &r);
}

/* The levels without po settled nothing: other candidates, of which the library says the last
   word. */
static int guess_pair(lattice *l, size_t i, size_t j)
{
    synth_answer r;
    bool first = l->guessed[i] != l->levels->at[i], second = l->guessed[j] != l->levels->at[j];
    int status = EXIT_HOLDS, *cell = &l->cell[i * l->n + j];
    for (int k = 0; k < 2 && !status && *cell == CELL_UNDECIDED; k++) {
        if (k ? !second : !first) continue;
        status = search_levels(l, k ? &l->plain[i] : &l->guessed[i],
                               k ? &l->guessed[j] : &l->plain[j], &r);
        if (!status && r.result == SYNTH_HISTORY) status = try_orders(l, i, j, &r);
    }
    return status;
}

static int fill(lattice *l)
{
    size_t n = l->n;
    uint64_t start = now();
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (i != j && !l->scope.no_prove &&
                (synth_proves(l->s, l->levels->at[i], l->levels->at[j]) == 1 ||
                 synth_proves(l->s, l->levels->at[i], l->plain[j]) == 1))
                l->cell[i * n + j] = CELL_PROVED;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            size_t c = i * n + j;
            if (i == j || l->cell[c] != CELL_UNKNOWN || follows(l, i, j)) continue;
            time_left(l->a, l->s, start);
            int status = search_pair(l, i, j);
            if (!status && l->cell[c] == CELL_UNDECIDED) {
                time_left(l->a, l->s, start);
                status = guess_pair(l, i, j);
            }
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
    l.plain = calloc(n, sizeof *l.plain);
    l.guessed = calloc(n, sizeof *l.guessed);
    for (size_t i = 0; l.plain && l.guessed && i < n; i++) {
        l.plain[i] = without_po(s, levels->at[i], false);
        l.guessed[i] = without_po(s, levels->at[i], true);
    }
    if (!l.cell || !l.evidence || !l.size || !l.plain || !l.guessed)
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
    free(l.plain);
    free(l.guessed);
    return status;
}
