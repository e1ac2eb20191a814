/*
 * emit_events.c - snapshot isolation, its real-time variants and prefix: one strict total order of
 * the begins and commits of all transactions (SI-1, SI-2, PC-1 and GSI to SSI of doc/levels.md 5).
 *
 *   a read of k by T from S:      C(S) before B(T), and every other writer U of k commits before S
 *                                 begins (prefix: commits), or after B(T)
 *   two writers of a key:         one commits before the other begins (prefix: commits)
 */
#include "emit/formula.h"

static uint32_t begins(uint32_t node)
{
    return 2 * node;
}

static uint32_t commits(uint32_t node)
{
    return 2 * node + 1;
}

/* "u's version before w's". */
static uint32_t version_before(emit_formula *f, uint32_t u, uint32_t w)
{
    bool exclusive = f->q.level.id != LEVEL_PC;
    return formula_before(f, 0, commits(u), exclusive ? begins(w) : commits(w));
}

static void encode_dependencies(emit_formula *f)
{
    unsigned rt = level_at(f->q.level.id)->real_time;
    for (uint32_t a = 0; a < f->n; a++) {
        CLAUSE(f, formula_before(f, 0, begins(a), commits(a)));
        for (uint32_t b = 0; b < f->n; b++) {
            if (a == b) continue;
            uint32_t out[2] = {lit_not(formula_in(f, a)), lit_not(formula_in(f, b))};
            if (f->ordered[(size_t)a * f->n + b])
                CLAUSE(f, out[1], formula_before(f, 0, commits(a), begins(b)));
            if (rt & RT_CC && facts_clock(f, a, STAMP_COMMIT_RETURN, b, STAMP_COMMIT_CALL))
                CLAUSE(f, out[0], out[1], formula_before(f, 0, commits(a), commits(b)));
            if (rt & RT_BC && facts_clock(f, a, STAMP_BEGIN_RETURN, b, STAMP_COMMIT_CALL))
                CLAUSE(f, out[0], out[1], formula_before(f, 0, begins(a), commits(b)));
            if (a < b && f->common[(size_t)a * f->n + b])
                CLAUSE(f, out[0], out[1], version_before(f, a, b), version_before(f, b, a));
        }
    }
}

void encode_events(emit_formula *f)
{
    f->orders = 1;
    f->split = true;
    f->events[0] = 2 * f->n;
    added_open(f);
    encode_dependencies(f);
    for (uint32_t r = 0; r < f->read.n; r++) {
        const emit_read read = f->read.at[r];
        for (uint32_t i = 0; i < read.n; i++) {
            uint32_t s = f->candidate.at[read.first + i], src = formula_source(f, r, i);
            if (s != FROM_INIT)
                CLAUSE(f, lit_not(src), formula_before(f, 0, commits(s), begins(read.node)));
            for (uint32_t x = f->key_first[read.key]; x < f->key_first[read.key + 1]; x++) {
                uint32_t u = f->install[x].node;
                if (u == s || u == read.node) continue;
                CLAUSE(f, lit_not(src), lit_not(formula_in(f, u)),
                       s == FROM_INIT ? LIT_FALSE : version_before(f, u, s),
                       formula_before(f, 0, begins(read.node), commits(u)));
            }
        }
    }
}
