/*
 * mixture.c - see mixture.h.
 */
#include "explain/mixture.h"

#include "history/own_levels.h"

enum mixed_row mixture_named(const history *h, txn_id t)
{
    size_t n;
    const char *text = history_level_text(h, t, &n);
    if (!text) return n ? ROW_NONE : ROW_DEFAULT;
    return mixed_row_of(text, n);
}

enum mixed_row mixture_row(const scene *s, enum level_id level, uint32_t actor)
{
    enum mixed_row row = (enum mixed_row)s->row[actor];
    return level == LEVEL_MIXED_PG ? mixed_row_of_postgres(row) : row;
}

bool mixture_defined(const scene *s, enum level_id level)
{
    for (uint32_t a = 0; level_is_mixed(level) && a < s->n; a++)
        if (mixture_row(s, level, a) == ROW_NONE) return false;
    return true;
}

bool mixture_ignores(const scene *s, enum level_id level, uint32_t actor)
{
    return level == LEVEL_RU || (level_is_mixed(level) && mixture_row(s, level, actor) == ROW_RU);
}

bool mixture_one_version(const scene *s, enum level_id level, uint32_t actor, bool items)
{
    enum mixed_row row = mixture_row(s, level, actor);
    return row == ROW_SI || row == ROW_SER || (row == ROW_RR && items);
}

bool mixture_counts(const scene *s, enum level_id level, const arg_link *l)
{
    if (l->kind == LINK_WR) return mixture_row(s, level, l->to) != ROW_RU;
    if (l->kind != LINK_RW) return true;
    return !l->alone && mixture_one_version(s, level, l->from, !l->predicate);
}

bool mixture_leaves_snapshot(const scene *s, enum level_id level, const arg_link *l)
{
    return l->kind == LINK_RW && mixture_row(s, level, l->from) == ROW_SI;
}

/* MIXPG-2: of keys that are deleted, snapshots know nothing of who else wrote them. */
static bool only_commits(const scene *s, enum level_id level, key_id key)
{
    return level == LEVEL_MIXED_PG && scene_key_of(s, key)->deleted;
}

bool mixture_reaches_snapshot(const scene *s, enum level_id level, const arg_link *l)
{
    if (l->kind == LINK_RW || mixture_row(s, level, l->to) != ROW_SI) return false;
    return l->kind != LINK_WW || !only_commits(s, level, l->key);
}
