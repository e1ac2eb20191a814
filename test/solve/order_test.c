/*
 * order_test.c - the order theory: as a component against plain reachability, as a theory of the
 * solver against enumeration of all choices.  Every lemma must be a real cycle.
 */
#include "../test.h"

#include <stdlib.h>

#include "base/rng.h"
#include "rup.h"
#include "solve/order.h"
#include "solve/solve.h"

TEST_MAIN

#define POS(v) (2u * (v))
#define NEG(v) (2u * (v) + 1)
#define N 12
#define FAR 1000

typedef struct env {
    guard guard;
    mem mem;
} env;

static void env_open(env *e)
{
    guard_init(&e->guard);
    mem_init(&e->mem, NULL, NULL, &e->guard);
    if (guard_armed(&e->guard)) {
        printf("# guard: %s\n", e->guard.text);
        abort();
    }
}

/* The number of literals on the cheapest way between all pairs; FAR: none. */
typedef struct matrix {
    int d[N][N];
} matrix;

static void matrix_clear(matrix *m)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) m->d[i][j] = i == j ? 0 : FAR;
}

static void matrix_close(matrix *m)
{
    for (int k = 0; k < N; k++)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                if (m->d[i][k] + m->d[k][j] < m->d[i][j]) m->d[i][j] = m->d[i][k] + m->d[k][j];
}

static void matrix_edge(matrix *m, uint32_t a, uint32_t b, int cost)
{
    if (cost < m->d[a][b]) m->d[a][b] = cost;
}

static size_t random_dag(rng *r, uint32_t nodes, order_pair *pairs, size_t max)
{
    size_t n = 0;
    for (uint32_t a = 0; a < nodes; a++)
        for (uint32_t b = a + 1; b < nodes; b++)
            if (n < max && rng_below(r, 8) == 0) pairs[n++] = (order_pair){a, b};
    return n;
}

TEST(by_hand)
{
    env e;
    env_open(&e);
    order *o = order_new(&e.mem, 4, NULL, NULL);
    EXPECT(order_fix(o, 2, 1));
    EXPECT(order_before(o, 2, 1));
    uint32_t first = order_edge(o, POS(0), 1, 0), second = order_edge(o, POS(1), 0, 2);
    order_new_level(o);
    EXPECT(order_insert(o, first));
    size_t n;
    order_moved(o, &n);
    EXPECT(n > 0);
    EXPECT(order_before(o, 2, 1) && order_before(o, 1, 0));
    order_new_level(o);
    EXPECT(!order_insert(o, second));
    const uint32_t *lits = order_cycle(o, &n);
    EXPECT_EQ_UINT(n, 2);
    EXPECT_EQ_UINT(lits[0] + lits[1], POS(0) + POS(1));
    order_cycle_nodes(o, &n);
    EXPECT_EQ_UINT(n, 3);
    order_backtrack(o, 0);
    EXPECT(order_before(o, 1, 0)); /* the order stays */
    EXPECT(order_insert(o, second));
    EXPECT(order_check(o));
    EXPECT_EQ_UINT(order_add_node(o), 4);
    EXPECT_EQ_UINT(order_pos(o, 4), 4);
    EXPECT(order_fix(o, 4, 2));
    EXPECT(order_check(o));
    EXPECT(!order_fix(o, 3, 3));
    order_free(o);
    EXPECT_EQ_UINT(e.mem.used, 0);
}

static void component(uint64_t seed)
{
    env e;
    rng r;
    rng_seed(&r, seed);
    env_open(&e);
    uint32_t nodes = 3 + rng_below(&r, N - 2);
    order_pair base[20];
    size_t base_n = random_dag(&r, nodes, base, 20);
    order_graph g;
    order_graph_build(&e.mem, nodes, base, base_n, &g);
    uint32_t pos[N];
    REQUIRE(order_graph_sort(&e.mem, nodes, &g, pos));
    order *o = order_new(&e.mem, nodes, &g, pos);

    /* what stands: ends and cost of each edge, heights of levels */
    struct {
        uint32_t a, b;
        int cost;
    } stands[256];
    size_t n = 0, heights[64], levels = 0;
    uint32_t lit = 0;
    for (int step = 0; step < 60 && !test_all.failures; step++) {
        uint32_t what = rng_below(&r, 10);
        if (what == 0 && levels < 60) {
            order_new_level(o);
            heights[levels++] = n;
            continue;
        }
        if (what == 1 && levels) {
            uint32_t to = rng_below(&r, levels);
            order_backtrack(o, to);
            n = heights[to];
            levels = to;
            EXPECT(order_check(o));
            continue;
        }
        matrix m;
        matrix_clear(&m);
        for (size_t i = 0; i < base_n; i++) matrix_edge(&m, base[i].from, base[i].to, 0);
        for (size_t i = 0; i < n; i++) matrix_edge(&m, stands[i].a, stands[i].b, stands[i].cost);
        matrix_close(&m);
        uint32_t a = rng_below(&r, nodes), b = rng_below(&r, nodes), before[N];
        memcpy(before, order_positions(o), nodes * sizeof *before);
        order_moved_clear(o);
        bool fixed = !levels && rng_below(&r, 2);
        bool ok = fixed ? order_fix(o, a, b) : order_insert(o, order_edge(o, lit++, a, b));
        EXPECT_EQ_INT(ok, m.d[b][a] == FAR);
        EXPECT(order_check(o));
        if (ok) {
            stands[n].a = a;
            stands[n].b = b;
            stands[n++].cost = !fixed;
            EXPECT(order_before(o, a, b));
        } else {
            size_t count;
            order_cycle(o, &count);
            EXPECT_EQ_INT(count, m.d[b][a] + !fixed);
            const uint32_t *walk = order_cycle_nodes(o, &count);
            EXPECT(walk[0] == b && walk[count - 1] == a);
        }
        size_t moved;
        const order_move *moves = order_moved(o, &moved);
        for (uint32_t v = 0; v < nodes; v++) {
            int told = 0;
            for (size_t i = 0; i < moved; i++)
                if (moves[i].node == v) told += moves[i].was == before[v] ? 1 : 100;
            EXPECT_EQ_INT(told, before[v] != order_pos(o, v));
        }
        uint32_t x = rng_below(&r, nodes), y = rng_below(&r, nodes);
        if (ok) {
            matrix_edge(&m, a, b, !fixed);
            matrix_close(&m);
        }
        EXPECT_EQ_INT(order_path(o, x, y), m.d[x][y] < FAR);
        EXPECT_EQ_INT(order_leads(o, x, y), x == y || m.d[x][y] < FAR);
        EXPECT(order_check(o));
    }
    if (test_all.failures) printf("# seed %llu\n", (unsigned long long)seed);
    order_free(o);
    mem_free_all(&e.mem);
}

TEST(component_against_reachability)
{
    for (uint64_t seed = 1; seed <= 8000 && !test_all.failures; seed++) component(seed);
}

/* ---- with the solver ----------------------------------------------------------------------- */

typedef struct problem {
    uint32_t nodes, vars;
    order_pair base[20];
    size_t base_n;
    struct {
        uint32_t lit, a, b;
    } edges[40];
    size_t edges_n;
    struct {
        uint32_t lits[3];
        size_t n;
    } clauses[40];
    size_t clauses_n;
    int wrong_lemmas;
} problem;

/* Is there a cycle when exactly the literals with value > 0 hold? */
static int cyclic(const problem *p, const signed char *value)
{
    matrix m;
    matrix_clear(&m);
    for (size_t i = 0; i < p->base_n; i++) matrix_edge(&m, p->base[i].from, p->base[i].to, 0);
    for (size_t i = 0; i < p->edges_n; i++) {
        if (value[p->edges[i].lit] <= 0) continue;
        if (p->edges[i].a == p->edges[i].b) return 1;
        matrix_edge(&m, p->edges[i].a, p->edges[i].b, 1);
    }
    matrix_close(&m);
    for (uint32_t a = 0; a < p->nodes; a++)
        for (uint32_t b = 0; b < p->nodes; b++)
            if (a != b && m.d[a][b] < FAR && m.d[b][a] < FAR) return 1;
    return 0;
}

static int holds(const problem *p, const signed char *value)
{
    for (size_t i = 0; i < p->clauses_n; i++) {
        int sat = 0;
        for (size_t j = 0; j < p->clauses[i].n; j++) sat |= value[p->clauses[i].lits[j]] > 0;
        if (!sat) return 0;
    }
    return !cyclic(p, value);
}

static int possible(const problem *p)
{
    for (uint32_t bits = 0; bits < 1u << p->vars; bits++) {
        signed char value[32];
        for (uint32_t v = 0; v < p->vars; v++) {
            value[2 * v] = bits >> v & 1 ? 1 : -1;
            value[2 * v + 1] = (signed char)-value[2 * v];
        }
        if (holds(p, value)) return 1;
    }
    return 0;
}

/* The negated literals of a lemma must make a cycle. */
static void see_lemma(void *ud, const uint32_t *lits, size_t n, uint64_t tag)
{
    problem *p = ud;
    signed char value[32] = {0};
    (void)tag;
    for (size_t i = 0; i < n; i++) value[lits[i] ^ 1] = 1;
    if (!cyclic(p, value)) p->wrong_lemmas++;
}

static void make_problem(problem *p, rng *r)
{
    memset(p, 0, sizeof *p);
    p->nodes = 2 + rng_below(r, 6);
    p->vars = 1 + rng_below(r, 9);
    p->base_n = random_dag(r, p->nodes, p->base, 20);
    for (uint32_t v = 0; v < p->vars; v++) {
        uint32_t kind = rng_below(r, 4), a = rng_below(r, p->nodes), b = rng_below(r, p->nodes);
        p->edges[p->edges_n].lit = POS(v);
        p->edges[p->edges_n].a = a;
        p->edges[p->edges_n++].b = b;
        if (kind == 0) continue; /* an edge or nothing */
        p->edges[p->edges_n].lit = NEG(v);
        p->edges[p->edges_n].a = kind == 1 ? b : rng_below(r, p->nodes);
        p->edges[p->edges_n++].b = kind == 1 ? a : rng_below(r, p->nodes);
        if (kind == 3) { /* two edges for one literal */
            p->edges[p->edges_n].lit = POS(v);
            p->edges[p->edges_n].a = rng_below(r, p->nodes);
            p->edges[p->edges_n++].b = rng_below(r, p->nodes);
        }
    }
    size_t n = rng_below(r, 2 * p->vars);
    for (size_t i = 0; i < n; i++) {
        p->clauses[i].n = 1u + (rng_below(r, 8) > 0) + rng_below(r, 2);
        for (size_t j = 0; j < p->clauses[i].n; j++)
            p->clauses[i].lits[j] = rng_below(r, 2 * (uint64_t)p->vars);
    }
    p->clauses_n = n;
}

static void polygraph(uint64_t seed, int *sat)
{
    static problem p;
    static rup log;
    env e;
    rng r;
    rng_seed(&r, seed);
    make_problem(&p, &r);
    env_open(&e);
    solver *s = solver_new(&e.mem);
    solver_set_proof(s, rup_open(&log));
    log.on_lemma = see_lemma;
    log.ud = &p;
    order_graph g;
    order_graph_build(&e.mem, p.nodes, p.base, p.base_n, &g);
    uint32_t pos[N];
    REQUIRE(order_graph_sort(&e.mem, p.nodes, &g, pos));
    order *o = order_new(&e.mem, p.nodes, &g, pos);
    for (uint32_t v = 0; v < p.vars; v++) solver_var(s);
    for (size_t i = 0; i < p.edges_n; i++)
        order_edge(o, p.edges[i].lit, p.edges[i].a, p.edges[i].b);
    solver_set_theory(s, order_theory(o, s, seed & 1));

    /* the clauses one by one, solved in between */
    size_t all = p.clauses_n;
    for (p.clauses_n = 0;; p.clauses_n++) {
        if (rng_below(&r, 4) == 0 || p.clauses_n == all) {
            int want = possible(&p) ? SOLVE_SAT : SOLVE_UNSAT;
            int got = (int)solver_solve(s, NULL, 0);
            EXPECT_EQ_INT(got, want);
            *sat += got == SOLVE_SAT;
            if (got == SOLVE_SAT) {
                signed char value[32];
                for (uint32_t lit = 0; lit < 2 * p.vars; lit++)
                    value[lit] = (signed char)solver_model(s, lit);
                EXPECT(holds(&p, value));
                for (size_t i = 0; i < p.edges_n; i++)
                    EXPECT(value[p.edges[i].lit] < 0 ||
                           order_before(o, p.edges[i].a, p.edges[i].b));
            }
        }
        EXPECT(solver_check(s));
        EXPECT(order_check(o));
        if (p.clauses_n == all) break;
        solver_add_clause(s, p.clauses[p.clauses_n].lits, p.clauses[p.clauses_n].n);
    }
    EXPECT_EQ_INT(log.wrong, 0);
    EXPECT_EQ_INT(p.wrong_lemmas, 0);
    if (test_all.failures) printf("# seed %llu\n", (unsigned long long)seed);
    rup_close(&log);
    mem_free_all(&e.mem);
}

TEST(polygraphs_against_enumeration)
{
    int sat = 0, runs = 10000;
    for (int seed = 1; seed <= runs && !test_all.failures; seed++) polygraph((uint64_t)seed, &sat);
    printf("# %d satisfiable\n", sat);
    EXPECT(sat > runs / 5);
}

/* A few thousand nodes, so that searches are real. */
TEST(large_orders_hold)
{
    env e;
    rng r;
    rng_seed(&r, 3);
    env_open(&e);
    uint32_t nodes = 3000, levels = 0;
    order *o = order_new(&e.mem, nodes, NULL, NULL);
    uint32_t *secret = mem_array(&e.mem, uint32_t, nodes);
    for (uint32_t v = 0; v < nodes; v++) secret[v] = v;
    for (uint32_t v = nodes - 1; v > 0; v--) {
        uint32_t w = rng_below(&r, v + 1), t = secret[v];
        secret[v] = secret[w];
        secret[w] = t;
    }
    for (uint32_t i = 0; i < 6000; i++) {
        uint32_t a = rng_below(&r, nodes), b = rng_below(&r, nodes);
        if (secret[a] >= secret[b]) continue;
        if (i % 100 < 2) {
            order_new_level(o);
            levels++;
        }
        EXPECT(order_insert(o, order_edge(o, i, a, b)));
        if (i % 700 < 3 && levels > 2) order_backtrack(o, levels -= 2);
        if (test_all.failures) break;
    }
    EXPECT(order_check(o));
    order_free(o);
    mem_put(&e.mem, secret);
    EXPECT_EQ_UINT(e.mem.used, 0);
}

/* ---- memory -------------------------------------------------------------------------------- */

typedef struct failing {
    uint64_t left; /* allocations until one fails */
    int64_t blocks;
} failing;

static void *failing_fn(void *ud, void *p, size_t osize, size_t nsize)
{
    failing *f = ud;
    (void)osize;
    if (!nsize) {
        if (p) f->blocks--;
        free(p);
        return NULL;
    }
    if (!f->left) return NULL;
    f->left--;
    if (!p) f->blocks++;
    return realloc(p, nsize);
}

/* 12 nodes, every pair a choice between both directions; within three classes it is made. */
static int choose_with(uint64_t allowed, failing *f, int *status)
{
    static guard g;
    static mem m;
    *f = (failing){allowed, 0};
    guard_init(&g);
    mem_init(&m, failing_fn, f, &g);
    if (!guard_armed(&g)) {
        solver *s = solver_new(&m);
        order *o = order_new(&m, N, NULL, NULL);
        for (uint32_t a = 0; a < N; a++)
            for (uint32_t b = 0; b < a; b++) {
                uint32_t var = solver_var(s);
                order_edge(o, POS(var), a, b);
                order_edge(o, NEG(var), b, a);
                if (a % 3 == b % 3) solver_add_clause(s, (uint32_t[]){POS(var)}, 1);
                if (b == 0) order_add_node(o);
            }
        solver_set_theory(s, order_theory(o, s, true));
        *status = (int)solver_solve(s, NULL, 0);
        order_free(o);
        solver_free(s);
    }
    mem_free_all(&m);
    return g.code;
}

TEST(each_allocation_fails)
{
    failing f;
    int status = 0, code = GUARD_NOMEM;
    uint64_t n = 0;
    for (; n < 100000 && code == GUARD_NOMEM && !test_all.failures; n++) {
        code = choose_with(n, &f, &status);
        EXPECT_EQ_INT(f.blocks, 0);
    }
    EXPECT_EQ_INT(code, GUARD_OK);
    EXPECT_EQ_INT(status, SOLVE_SAT);
    EXPECT(n > 30);
}
