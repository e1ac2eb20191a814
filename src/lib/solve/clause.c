/*
 * clause.c - making clauses, watching them, declaring them garbage.
 */
#include "solve/solver_internal.h"

uint32_t solve_new_clause(solver *s, const uint32_t *lits, size_t n, bool redundant, uint32_t glue)
{
    assert(n >= 1);
    size_t words = CLAUSE_WORDS + n;
    if (n > REF_MAX || s->arena.n + words > REF_MAX)
        guard_fail(s->guard, GUARD_NOMEM, "out of memory: the clause arena is full");
    vec_reserve(s->mem, &s->arena, words);
    uint32_t ref = (uint32_t)s->arena.n;
    s->arena.n += words;
    clause *c = solve_clause(s, ref);
    memset(c, 0, sizeof *c);
    c->size = (uint32_t)n;
    c->glue = (glue < GLUE_MAX ? glue : GLUE_MAX) & GLUE_MAX;
    c->redundant = redundant;
    memcpy(c->lits, lits, n * sizeof *lits);
    if (redundant)
        s->redundant++;
    else
        s->irredundant++;
    return ref;
}

/* The list of a literal is full: move it to the end of the pool with twice the room.  What it
 * leaves behind is won back when the lists are rebuilt (reduce.c). */
static void enlarge(solver *s, watch_list *list)
{
    uint32_t cap = list->cap ? 2 * list->cap : WATCH_CAP_FIRST;
    assert(cap > list->n);
    if (s->pool.n + cap > UINT32_MAX)
        guard_fail(s->guard, GUARD_NOMEM, "out of memory: the watch lists are full");
    vec_reserve(s->mem, &s->pool, cap);
    watch *to = s->pool.at + s->pool.n;
    memcpy(to, s->pool.at + list->start, list->n * sizeof *to);
    list->start = (uint32_t)s->pool.n;
    list->cap = cap;
    s->pool.n += cap;
}

/* May move the pool: pointers into it are void afterwards. */
void solve_push_watch(solver *s, uint32_t lit, watch w)
{
    watch_list *list = s->lists + lit;
    assert(lit < 2 * s->vars && list->n <= list->cap);
    if (list->n == list->cap) enlarge(s, list);
    assert(list->start + (size_t)list->cap <= s->pool.n);
    s->pool.at[list->start + list->n++] = w;
}

void solve_watch_clause(solver *s, uint32_t ref)
{
    const clause *c = solve_clause(s, ref);
    assert(c->size >= 2 && c->lits[0] != c->lits[1]);
    bool binary = c->size == 2;
    uint32_t a = c->lits[0], b = c->lits[1];
    solve_push_watch(s, a, watch_of(b, ref, binary));
    solve_push_watch(s, b, watch_of(a, ref, binary));
}

/* Watches stay until the next collection, which must follow before any propagation. */
void solve_mark_garbage(solver *s, uint32_t ref)
{
    clause *c = solve_clause(s, ref);
    assert(!c->garbage && !c->reason);
    solve_log_deleted(s, c->lits, c->size);
    c->garbage = 1;
    s->dead += CLAUSE_WORDS + c->size;
    if (c->redundant)
        s->redundant--;
    else
        s->irredundant--;
}

/* Distinct levels above 0 of assigned literals; unassigned ones count as one each. */
uint32_t solve_count_levels(solver *s, const uint32_t *lits, size_t n)
{
    if (!++s->stamp) { /* after 2^32 stamps old ones could look fresh */
        for (size_t i = 0; i < s->levels.n; i++) s->levels.at[i].stamp = 0;
        s->stamp = 1;
    }
    uint32_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (!s->values[lits[i]]) {
            count++;
            continue;
        }
        uint32_t level = solve_state(s, lits[i])->level;
        if (!level) continue;
        level_frame *f = s->levels.at + level - 1;
        if (f->stamp == s->stamp) continue;
        f->stamp = s->stamp;
        count++;
    }
    return count;
}
