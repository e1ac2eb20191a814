/*
 * additions.c - see additions.h.
 */
#include "history/additions.h"

#include <string.h>

additions *additions_new(mem *m)
{
    additions *a = mem_zeroed(m, sizeof *a);
    a->m = m;
    return a;
}

/* Copies the text and returns where it begins. */
static uint32_t keep_text(additions *a, const char *s)
{
    size_t n = strlen(s) + 1, at = a->text.n;
    if (at + n > UINT32_MAX)
        guard_fail(a->m->guard, GUARD_UNSUPPORTED, "modules gave more than 4 GiB of reasons");
    vec_reserve(a->m, &a->text, n);
    memcpy(a->text.at + at, s, n);
    a->text.n += n;
    return (uint32_t)at;
}

void additions_module(additions *a, const char *name)
{
    uint32_t at = keep_text(a, name);
    vec_push(a->m, &a->modules, at);
}

void additions_begin(additions *a, const char *reason)
{
    const addition *last = a->at.n ? &a->at.at[a->at.n - 1] : NULL;
    /* One rule mostly gives one reason for all that it adds. */
    bool again = last && !strcmp(a->text.at + last->reason, reason);
    addition x = {.module = (uint32_t)a->modules.n - 1,
                  .reason = again ? last->reason : keep_text(a, reason),
                  .first_set = (uint32_t)a->set_end.n};
    if (a->at.n >= UINT32_MAX / 2 || a->set_end.n >= UINT32_MAX / 2)
        guard_fail(a->m->guard, GUARD_UNSUPPORTED, "modules added more than 2^31 statements");
    vec_push(a->m, &a->at, x);
}

void additions_edge(additions *a, added_edge e)
{
    if (a->edges.n >= UINT32_MAX / 2)
        guard_fail(a->m->guard, GUARD_UNSUPPORTED, "modules added more than 2^31 edges");
    vec_push(a->m, &a->edges, e);
}

void additions_set_end(additions *a)
{
    vec_push(a->m, &a->set_end, (uint32_t)a->edges.n);
    a->at.at[a->at.n - 1].sets++;
}

static const char *check_edge(const additions *a, const added_edge *e, bool plain, size_t txns)
{
    bool points = e->from_at == AT_POINT || e->to_at == AT_POINT;
    if (e->from_at > AT_POINT || e->to_at > AT_POINT || e->kind > ADDED_DEPENDS || e->reserved)
        return "an edge of no known kind";
    if (e->from >= (e->from_at == AT_POINT ? a->points : txns) ||
        e->to >= (e->to_at == AT_POINT ? a->points : txns))
        return "an edge of a transaction or point that does not exist";
    if (points && e->kind == ADDED_DEPENDS)
        return "a dependency of a helper point; points take part in \"orders\" only";
    if (points && !plain) return "a helper point in a clause or a choice";
    if (e->kind == ADDED_DEPENDS && (e->from_at != AT_COMMIT || e->to_at != AT_BEGIN))
        return "a dependency that does not lead from a commit to a begin";
    return NULL;
}

static const char *check_addition(const additions *a, size_t i, size_t txns)
{
    const addition *x = &a->at.at[i];
    if (x->module >= a->modules.n || x->reason >= a->text.n) return "a statement of no module";
    if (!x->sets || x->sets > a->set_end.n || x->first_set > a->set_end.n - x->sets)
        return "a statement without edges";
    for (uint32_t s = x->first_set; s < x->first_set + x->sets; s++) {
        uint32_t first = additions_set_first(a, s), end = a->set_end.at[s];
        if (first >= end || end > a->edges.n) return "a set without edges";
        for (uint32_t e = first; e < end; e++) {
            const char *wrong = check_edge(a, &a->edges.at[e], x->sets == 1, txns);
            if (wrong) return wrong;
        }
    }
    return NULL;
}

const char *additions_check(const additions *a, size_t txns)
{
    if (a->text.n && a->text.at[a->text.n - 1]) return "a text without an end";
    for (size_t i = 0; i < a->modules.n; i++)
        if (a->modules.at[i] >= a->text.n) return "a module without a name";
    for (size_t i = 0; i < a->at.n; i++) {
        const char *wrong = check_addition(a, i, txns);
        if (wrong) return wrong;
    }
    return NULL;
}

/* --- parts ------------------------------------------------------------------------------------ */

/* The edge among those that are left; false: it speaks of one that is not. */
static bool moved_edge(added_edge *e, const uint32_t *now)
{
    if (!now) return true;
    if (e->from_at != AT_POINT) e->from = now[e->from];
    if (e->to_at != AT_POINT) e->to = now[e->to];
    return (e->from_at == AT_POINT || e->from != NO_ID) && (e->to_at == AT_POINT || e->to != NO_ID);
}

/* One addition of `from`, as far as it speaks of those that are left. */
static void copy_addition(additions *to, const additions *from, size_t i, uint32_t module,
                          const uint32_t *now, uint32_t points)
{
    const addition *x = &from->at.at[i];
    size_t edges = to->edges.n, sets = to->set_end.n, said = to->at.n;
    bool always = false;
    additions_begin(to, additions_reason(from, i));
    to->at.at[said].module = module;
    for (uint32_t s = x->first_set; s < x->first_set + x->sets && !always; s++) {
        size_t before = to->edges.n;
        for (uint32_t k = additions_set_first(from, s); k < from->set_end.at[s]; k++) {
            added_edge e = from->edges.at[k];
            if (!moved_edge(&e, now)) continue; /* true */
            if (e.from_at == AT_POINT) e.from += points;
            if (e.to_at == AT_POINT) e.to += points;
            additions_edge(to, e);
        }
        always = to->edges.n == before; /* all of the set is true */
        if (!always) additions_set_end(to);
    }
    if (!always) return;
    to->edges.n = edges;
    to->set_end.n = sets;
    to->at.n = said;
}

static void copy_all(additions *to, const additions *from, const uint32_t *now)
{
    uint32_t modules = (uint32_t)to->modules.n, points = to->points;
    for (size_t i = 0; i < from->modules.n; i++)
        additions_module(to, additions_name(from, (uint32_t)i));
    to->points += from->points;
    for (size_t i = 0; i < from->at.n; i++) {
        copy_addition(to, from, i, modules + from->at.at[i].module, now, points);
        guard_tick(to->m->guard);
    }
}

additions *additions_restrict(mem *m, const additions *a, const uint32_t *now)
{
    if (!a) return NULL;
    additions *x = additions_new(m);
    copy_all(x, a, now);
    return x->at.n ? x : NULL;
}

additions *additions_join(mem *m, const additions *a, const additions *b)
{
    additions *x = additions_new(m);
    if (a) copy_all(x, a, NULL);
    if (b) copy_all(x, b, NULL);
    return x;
}
