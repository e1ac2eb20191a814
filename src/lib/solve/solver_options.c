/*
 * solver_options.c - names, ranges and values of solve_options.def and solve_stats.def.
 */
#include <stddef.h>
#include <string.h>

#include "solve/solver_internal.h"

typedef struct option_row {
    const char *name;
    size_t offset;
    int64_t def, low, high;
    const char *help;
} option_row;

static const option_row rows[] = {
#define OPTION(name, def, low, high, help)                                                         \
    {#name, offsetof(solve_options, name), def, low, high, help},
#include "solve/solve_options.def"
#undef OPTION
};

typedef struct stat_row {
    const char *name;
    size_t offset;
    const char *help;
} stat_row;

static const stat_row stat_rows[] = {
#define STATISTIC(name, help) {#name, offsetof(solve_stats, name), help},
#include "solve/solve_stats.def"
#undef STATISTIC
};

#define COUNT(a) (sizeof(a) / sizeof *(a))

static int64_t *field(solve_options *o, const option_row *row)
{
    assert(row->offset < sizeof *o);
    return (int64_t *)(void *)((char *)o + row->offset);
}

void solve_options_init(solve_options *o)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert(rows[i].low <= rows[i].def && rows[i].def <= rows[i].high);
        *field(o, rows + i) = rows[i].def;
    }
}

bool solver_set_option(solver *s, const char *name, int64_t value)
{
    assert(s && name);
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (strcmp(rows[i].name, name) != 0) continue;
        if (value < rows[i].low || value > rows[i].high) return false;
        *field(&s->opt, rows + i) = value;
        return true;
    }
    return false;
}

bool solver_option_at(const solver *s, size_t i, solve_option *out)
{
    assert(s && out);
    if (i >= COUNT(rows)) return false;
    const char *at = (const char *)&s->opt + rows[i].offset;
    *out = (solve_option){rows[i].name, *(const int64_t *)(const void *)at, rows[i].low,
                          rows[i].high, rows[i].help};
    return true;
}

const char *solver_stat_at(const solver *s, size_t i, uint64_t *value, const char **help)
{
    assert(s);
    if (i >= COUNT(stat_rows)) return NULL;
    const char *at = (const char *)&s->stats + stat_rows[i].offset;
    if (value) *value = *(const uint64_t *)(const void *)at;
    if (help) *help = stat_rows[i].help;
    return stat_rows[i].name;
}
