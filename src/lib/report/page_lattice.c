/*
 * page_lattice.c - the order between all levels, for the page: names, and where they stand.
 *
 * Which of them hold is not known here: page.js colours them by what the entries say.
 */
#include "opt/level.h"
#include "report/page.h"
#include "report/synth_report.h"

typedef struct level_order {
    bool so;
    size_t n;
    size_t level[LEVELS]; /* those that stand for themselves */
    char names[LEVELS][40];
} level_order;

static bool stronger(const level_order *o, size_t a, size_t b)
{
    level_ref x, y;
    if (a == b || !level_named(&x, level_at(a)->name) || !level_named(&y, level_at(b)->name))
        return false;
    return level_implies(x.id, level_session_order(&x, o->so), x.realtime, y.id,
                         level_session_order(&y, o->so), y.realtime);
}

/* Another name of a level that stands before it. */
static bool repeats(const level_order *o, size_t b)
{
    for (size_t i = 0; i < o->n; i++)
        if (stronger(o, o->level[i], b) && stronger(o, b, o->level[i])) return true;
    return false;
}

/* The first alias is what people write; many levels have none. */
static void short_name(level_order *o, size_t i)
{
    const level_info *l = level_at(o->level[i]);
    size_t n = l->aliases ? strcspn(l->aliases, ", ") : 0;
    const char *from = n ? l->aliases : l->name;
    if (!n) n = strlen(from);
    if (n >= sizeof o->names[i]) n = sizeof o->names[i] - 1;
    memcpy(o->names[i], from, n);
    o->names[i][n] = 0;
}

static bool covers(const level_order *o, size_t i, size_t j)
{
    if (!stronger(o, o->level[i], o->level[j])) return false;
    for (size_t k = 0; k < o->n; k++)
        if (k != i && k != j && stronger(o, o->level[i], o->level[k]) &&
            stronger(o, o->level[k], o->level[j]))
            return false;
    return true;
}

void page_lattice(json_writer *w, bool session_order, mem *m)
{
    level_order *o = mem_array0(m, level_order, 1);
    o->so = session_order;
    for (size_t i = 0; i < LEVELS; i++)
        if (!repeats(o, i)) o->level[o->n++] = i;
    hasse h = {.n = o->n};
    h.label = mem_array(m, const char *, o->n + 1);
    h.edge = mem_array(m, hasse_edge, o->n * o->n + 1);
    for (size_t i = 0; i < o->n; i++) {
        short_name(o, i);
        h.label[i] = o->names[i];
        for (size_t j = 0; j < o->n; j++)
            if (covers(o, i, j)) h.edge[h.n_edges++] = (hasse_edge){i, j, false};
    }
    jw_object(w);
    jw_member_array(w, "names");
    for (size_t i = 0; i < o->n; i++) {
        jw_array(w);
        jw_text(w, level_at(o->level[i])->name);
        for (size_t k = 0; k < LEVELS; k++)
            if (k != o->level[i] && stronger(o, o->level[i], k) && stronger(o, k, o->level[i]))
                jw_text(w, level_at(k)->name);
        jw_end_array(w);
    }
    jw_end_array(w);
    report_hasse_places(w, &h, m);
    jw_end_object(w);
    mem_put(m, h.edge);
    mem_put(m, h.label);
    mem_put(m, o);
}
