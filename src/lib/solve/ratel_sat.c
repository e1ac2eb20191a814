/*
 * ratel_sat.c - the solver as a program: DIMACS formulas and Cobra's polygraphs.
 *
 * Output and exit status are those of SAT competitions: "s SATISFIABLE" (10) with the model in "v"
 * lines, "s UNSATISFIABLE" (20), "s UNKNOWN" (0).  Usage errors exit 64, bad input 3, files 4.
 * Every model is checked against the input before it is printed.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/vec.h"
#include "solve/dimacs.h"
#include "solve/order.h"
#include "solve/solve.h"

enum { EXIT_UNKNOWN = 0, EXIT_INPUT = 3, EXIT_FILE = 4, EXIT_USAGE = 64, EXIT_BUG = 70 };

typedef struct setting {
    const char *name;
    int64_t value;
} setting;

typedef struct arguments {
    const char *input, *proof;
    bool binary, stats, quiet, no_propagate;
    int64_t seconds;
    setting settings[64];
    size_t n_settings;
} arguments;

typedef struct run {
    const arguments *args;
    mem mem;
    solver *solver;
    order *order;
    drat *drat;
    FILE *proof;
    VEC(char) text;
    cnf cnf;
    polyg polyg;
} run;

static volatile int interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

/* ---- arguments ----------------------------------------------------------------------------- */

static void help(void)
{
    guard g;
    mem m;
    guard_init(&g);
    mem_init(&m, NULL, NULL, &g);
    printf(
        "usage: ratel-sat [OPTION...] [FILE]\n\n"
        "Decides a DIMACS formula, or a Cobra polygraph (n:, e:, c: lines), read from FILE or\n"
        "standard input ('-').  Prints 's SATISFIABLE' with a model (exit 10), 's UNSATISFIABLE'\n"
        "(exit 20) or 's UNKNOWN' (exit 0).\n\n"
        "  --proof FILE     write a DRAT proof (formulas only)\n"
        "  --binary         in the binary form\n"
        "  --time SECONDS   give up after this time\n"
        "  --stats          print counters as 'c' lines\n"
        "  --no-model       leave out the 'v' lines\n"
        "  --no-propagate   polygraphs: no propagation by the order, conflicts only\n"
        "  --help           this text\n\n"
        "Options of the solver, as --NAME VALUE or --NAME=VALUE:\n\n");
    if (!guard_armed(&g)) {
        solver *s = solver_new(&m);
        solve_option o;
        for (size_t i = 0; solver_option_at(s, i, &o); i++)
            printf("  --%-15s %s (%" PRId64 ")\n", o.name, o.help, o.value);
    }
    mem_free_all(&m);
}

static int usage(const char *what, const char *arg)
{
    fprintf(stderr, "ratel-sat: %s%s%s; see ratel-sat --help\n", what, *arg ? " " : "", arg);
    return EXIT_USAGE;
}

static bool parse_int(const char *text, int64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return *text && !*end && !errno;
}

/* 0: go on; else the exit status. */
static int parse_arguments(int argc, char **argv, arguments *a)
{
    bool plain = false;
    for (int i = 1; i < argc; i++) {
        char *arg = argv[i];
        if (plain || arg[0] != '-' || !arg[1]) {
            if (a->input) return usage("more than one file:", arg);
            a->input = arg;
            continue;
        }
        if (strcmp(arg, "--") == 0) {
            plain = true;
        } else if (strcmp(arg, "--binary") == 0) {
            a->binary = true;
        } else if (strcmp(arg, "--stats") == 0) {
            a->stats = true;
        } else if (strcmp(arg, "--no-model") == 0) {
            a->quiet = true;
        } else if (strcmp(arg, "--no-propagate") == 0) {
            a->no_propagate = true;
        } else if (strncmp(arg, "--", 2) == 0) {
            char *value = strchr(arg, '=');
            if (value)
                *value++ = 0;
            else if (i + 1 < argc)
                value = argv[++i];
            else
                return usage("no value for", arg);
            setting s = {arg + 2, 0};
            if (strcmp(s.name, "proof") == 0) {
                a->proof = value;
                continue;
            }
            if (!parse_int(value, &s.value)) return usage("not a number:", value);
            if (strcmp(s.name, "time") == 0) {
                if (s.value < 0 || s.value > INT32_MAX) return usage("out of range:", value);
                a->seconds = s.value;
                continue;
            }
            if (a->n_settings == sizeof a->settings / sizeof *a->settings)
                return usage("too many options", "");
            a->settings[a->n_settings++] = s;
        } else {
            return usage("unknown option", arg);
        }
    }
    if (!a->input) a->input = "-";
    return 0;
}

/* ---- input and proof ----------------------------------------------------------------------- */

static void read_input(run *r)
{
    guard *g = r->mem.guard;
    bool standard = strcmp(r->args->input, "-") == 0;
    FILE *f = standard ? stdin : fopen(r->args->input, "rb");
    if (!f) guard_fail(g, GUARD_IO, "%s", strerror(errno));
    for (;;) {
        vec_reserve(&r->mem, &r->text, 1 << 16);
        size_t n = fread(r->text.at + r->text.n, 1, r->text.cap - r->text.n, f);
        r->text.n += n;
        if (!n) break;
    }
    bool bad = ferror(f);
    if (!standard) fclose(f);
    if (bad) guard_fail(g, GUARD_IO, "%s", strerror(errno));
}

static void write_proof(void *ud, const char *bytes, size_t n)
{
    run *r = ud;
    if (fwrite(bytes, 1, n, r->proof) != n)
        guard_fail(r->mem.guard, GUARD_IO, "%s: %s", r->args->proof, strerror(errno));
}

static void open_proof(run *r)
{
    if (!r->args->proof) return;
    r->proof = fopen(r->args->proof, "wb");
    if (!r->proof) guard_fail(r->mem.guard, GUARD_IO, "%s: %s", r->args->proof, strerror(errno));
    r->drat = drat_new(&r->mem, r->args->binary, write_proof, r);
    solver_set_proof(r->solver, drat_proof(r->drat));
}

static void close_proof(run *r)
{
    if (!r->proof) return;
    drat_flush(r->drat);
    FILE *f = r->proof;
    r->proof = NULL;
    if (fclose(f)) guard_fail(r->mem.guard, GUARD_IO, "%s: %s", r->args->proof, strerror(errno));
}

/* ---- formulas ------------------------------------------------------------------------------ */

static solve_status solve_cnf(run *r)
{
    cnf *f = &r->cnf;
    dimacs_read(&r->mem, r->text.at, r->text.n, f);
    vec_free(&r->mem, &r->text);
    open_proof(r);
    for (uint32_t v = 0; v < f->vars; v++) solver_var(r->solver);
    for (size_t i = 0, first = 0; i < f->lits.n; i++) {
        if (f->lits.at[i] != LIT_NONE) continue;
        solver_add_clause(r->solver, f->lits.at + first, i - first);
        first = i + 1;
    }
    solve_status status = solver_solve(r->solver, NULL, 0);
    close_proof(r);
    if (status != SOLVE_SAT) return status;
    bool satisfied = false;
    for (size_t i = 0; i < f->lits.n; i++) {
        uint32_t lit = f->lits.at[i];
        if (lit != LIT_NONE) {
            satisfied |= solver_model(r->solver, lit) > 0;
            continue;
        }
        if (!satisfied) guard_fail(r->mem.guard, GUARD_BUG, "the model falsifies a clause");
        satisfied = false;
    }
    return status;
}

/* ---- polygraphs ---------------------------------------------------------------------------- */

/* The known edges and the chosen ones, sorted anew. */
static void check_choice(run *r)
{
    const polyg *p = &r->polyg;
    VEC(order_pair) edges = {0};
    vec_reserve(&r->mem, &edges, p->edges.n + p->choices.n);
    for (size_t i = 0; i < p->edges.n; i++) edges.at[edges.n++] = p->edges.at[i];
    for (size_t i = 0; i < p->choices.n; i++) {
        int value = solver_model(r->solver, lit_of((uint32_t)i, false));
        if (!value) guard_fail(r->mem.guard, GUARD_BUG, "a choice is left open");
        edges.at[edges.n++] = value > 0 ? p->choices.at[i].first : p->choices.at[i].second;
    }
    order_graph g;
    order_graph_build(&r->mem, p->nodes, edges.at, edges.n, &g);
    uint32_t *pos = mem_array(&r->mem, uint32_t, (size_t)p->nodes + 1);
    if (!order_graph_sort(&r->mem, p->nodes, &g, pos))
        guard_fail(r->mem.guard, GUARD_BUG, "the choice has a cycle");
}

static solve_status solve_polyg(run *r)
{
    polyg *p = &r->polyg;
    polyg_read(&r->mem, r->text.at, r->text.n, p);
    vec_free(&r->mem, &r->text);
    if (r->args->proof)
        guard_fail(r->mem.guard, GUARD_UNSUPPORTED, "no DRAT proof for a polygraph");
    order_graph *g = mem_get(&r->mem, sizeof *g);
    order_graph_build(&r->mem, p->nodes, p->edges.at, p->edges.n, g);
    uint32_t *pos = mem_array(&r->mem, uint32_t, (size_t)p->nodes + 1);
    if (!order_graph_sort(&r->mem, p->nodes, g, pos)) return SOLVE_UNSAT;
    r->order = order_new(&r->mem, p->nodes, g, pos);
    for (size_t i = 0; i < p->choices.n; i++) {
        const polyg_choice *c = p->choices.at + i;
        uint32_t var = solver_var(r->solver);
        order_edge(r->order, lit_of(var, false), c->first.from, c->first.to);
        order_edge(r->order, lit_of(var, true), c->second.from, c->second.to);
    }
    solver_set_theory(r->solver, order_theory(r->order, r->solver, !r->args->no_propagate));
    solve_status status = solver_solve(r->solver, NULL, 0);
    if (status == SOLVE_SAT) check_choice(r);
    return status;
}

/* ---- output -------------------------------------------------------------------------------- */

static void print_model(const run *r)
{
    int column = printf("v");
    for (uint32_t v = 0; v < solver_vars(r->solver); v++) {
        char text[16];
        int64_t number = (int64_t)v + 1;
        if (solver_model(r->solver, lit_of(v, false)) < 0) number = -number;
        int n = snprintf(text, sizeof text, " %" PRId64, number);
        if (column + n > 78) {
            printf("\nv");
            column = 1;
        }
        fputs(text, stdout);
        column += n;
    }
    printf(" 0\n");
}

static void print_stats(const run *r)
{
    uint64_t value;
    const char *name;
    for (size_t i = 0; (name = solver_stat_at(r->solver, i, &value, NULL)); i++)
        printf("c %-24s %" PRIu64 "\n", name, value);
    if (r->order) {
        const order_stats *s = order_statistics(r->order);
        printf("c %-24s %" PRIu64 "\n", "order_insertions", s->insertions);
        printf("c %-24s %" PRIu64 "\n", "order_searches", s->searches);
        printf("c %-24s %" PRIu64 "\n", "order_visited", s->visited);
        printf("c %-24s %" PRIu64 "\n", "order_moved", s->moved);
        printf("c %-24s %" PRIu64 "\n", "order_cycles", s->cycles);
    }
    printf("c %-24s %.2f\n", "cpu_seconds", (double)clock_cpu() / 1e9);
    printf("c %-24s %zu\n", "memory_peak", r->mem.peak);
}

static int report_failure(const run *r, const guard *g)
{
    if (g->code == GUARD_TIME || g->code == GUARD_INTERRUPT || g->code == GUARD_NOMEM) {
        printf("c %s\ns UNKNOWN\n", g->text);
        return EXIT_UNKNOWN;
    }
    const char *name = strcmp(r->args->input, "-") == 0 ? "<stdin>" : r->args->input;
    if (g->code == GUARD_PARSE)
        fprintf(stderr, "%s:%" PRIu64 ":%" PRIu64 ": %s\n", name, g->line, g->column, g->text);
    else
        fprintf(stderr, "ratel-sat: %s: %s\n", name, g->text);
    return g->code == GUARD_PARSE ? EXIT_INPUT
           : g->code == GUARD_IO  ? EXIT_FILE
           : g->code == GUARD_BUG ? EXIT_BUG
                                  : EXIT_USAGE;
}

/* Everything that may fail, inside the guard. */
static int decide(run *r)
{
    r->solver = solver_new(&r->mem);
    for (size_t i = 0; i < r->args->n_settings; i++)
        if (!solver_set_option(r->solver, r->args->settings[i].name, r->args->settings[i].value))
            return usage("unknown option or value out of range: --", r->args->settings[i].name);
    read_input(r);
    bool polygraph = polyg_looks_like(r->text.at, r->text.n);
    solve_status status = polygraph ? solve_polyg(r) : solve_cnf(r);
    if (r->args->stats) print_stats(r);
    if (status == SOLVE_SAT) {
        printf("s SATISFIABLE\n");
        if (!r->args->quiet) print_model(r);
    } else {
        printf(status == SOLVE_UNSAT ? "s UNSATISFIABLE\n" : "s UNKNOWN\n");
    }
    return (int)status;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            help();
            return 0;
        }
    }
    static arguments args;
    static run r; /* static: not clobbered by the jump */
    static guard g;
    int status = parse_arguments(argc, argv, &args);
    if (status) return status;

    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    guard_init(&g);
    g.interrupt = &interrupted;
    if (args.seconds) g.deadline = clock_now() + (uint64_t)args.seconds * 1000000000u;
    r.args = &args;
    mem_init(&r.mem, NULL, NULL, &g);
    if (guard_armed(&g)) {
        if (args.stats && r.solver && g.code != GUARD_PARSE) print_stats(&r);
        status = report_failure(&r, &g);
    } else {
        status = decide(&r);
    }
    if (r.proof) fclose(r.proof);
    mem_free_all(&r.mem);
    if (fflush(stdout)) return EXIT_FILE;
    return status;
}
