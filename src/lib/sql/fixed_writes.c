/*
 * fixed_writes.c - statements that write the same whatever snapshot they read.
 *
 * A search that fails at a transaction goes back to the ones before it: perhaps one of them read an
 * older state and wrote something else.  Mostly none of them can have.  An UPDATE computes what it
 * writes from the newest version of a row (or fails, where a newer version is a conflict); its
 * snapshot only says which rows are found.  If these were there at every state that may have been
 * read, and no column of the condition was ever changed, it finds them in each.
 */
#include "sql/sql.h"

#include <assert.h>

/* Has every version of a row the same value in each column that the condition reads? */
static bool condition_is_stable(const table *t, const expr *e)
{
    if (!e) return true;
    if (e->kind == E_COLUMN && (e->slot || e->up || t->cols[e->index].changed)) return false;
    for (uint32_t i = 0; i < e->n; i++)
        if (!condition_is_stable(t, e->arg[i])) return false;
    return true;
}

/* A default that a function computes may read tables. */
static bool calls_routine(const expr *e)
{
    if (!e) return false;
    if (e->kind == E_ROUTINE) return true;
    for (uint32_t i = 0; i < e->n; i++)
        if (calls_routine(e->arg[i])) return true;
    return false;
}

static bool defaults_are_plain(const table *t)
{
    for (uint32_t i = 0; i < t->n_cols; i++)
        if (calls_routine(t->cols[i].fallback)) return false;
    return true;
}

bool sql_writes_newest(const plan *p)
{
    if (p->nested || p->n_writes) return false;
    switch (p->kind) {
    case S_SELECT:
    case S_CONSTRAINTS:
    case S_UNSEEN:
    case S_NOTHING: return true;
    case S_INSERT: /* of several rows, DO NOTHING does not tell which ones it left out */
        return !p->q && defaults_are_plain(p->target) &&
               (p->n_rows == 1 || p->conflict != ON_CONFLICT_NOTHING);
    case S_UPDATE:
    case S_DELETE:
        assert(p->scan && p->target);
        return p->scan->kind == J_REL && defaults_are_plain(p->target);
    default: return false;
    }
}

bool sql_writes_fixed(const plan *p)
{
    if (!sql_writes_newest(p)) return false;
    if (p->kind == S_INSERT) return p->conflict == ON_CONFLICT_RAISE;
    bool changes = p->kind == S_UPDATE || p->kind == S_DELETE;
    return !changes || condition_is_stable(p->target, p->where);
}

static bool looks_elsewhere(const expr *e)
{
    if (!e) return false;
    if (e->q || e->kind == E_ROUTINE) return true;
    for (uint32_t i = 0; i < e->n; i++)
        if (looks_elsewhere(e->arg[i])) return true;
    return false;
}

bool sql_finds_newest(const plan *p)
{
    bool changes = (p->kind == S_UPDATE || p->kind == S_DELETE) && !p->n_writes;
    return changes && p->scan->kind == J_REL && !p->target->n_triggers &&
           !looks_elsewhere(p->where);
}

bool sql_writes_blindly(const plan *p)
{
    if ((p->kind != S_UPDATE && p->kind != S_DELETE) || p->n_writes) return false;
    bool blind = condition_is_stable(p->target, p->where);
    for (uint32_t i = 0; i < p->target->n_cols; i++) blind &= !p->target->cols[i].computed;
    for (uint32_t i = 0; p->kind == S_UPDATE && i < p->n_set; i++)
        blind &= condition_is_stable(p->target, p->set[i].e);
    return blind;
}
