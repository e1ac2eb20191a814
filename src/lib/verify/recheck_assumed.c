/*
 * recheck_assumed.c - an order that keeps what modules added (history/additions.h).
 *
 * Such an answer gives every event its place: commits, begins where the level orders these, and
 * helper points.  Commits must stand as in the commit order, which the rest of this room replays;
 * a begin is the snapshot that its transaction takes.  Each addition is then looked up in the
 * places.
 */
#include "verify/recheck.h"

#include "history/additions.h"

bool recheck_orders_begins(enum level_id level)
{
    return level == LEVEL_SI || level == LEVEL_GSI || level == LEVEL_PCSI ||
           level == LEVEL_STRONG_SI || level == LEVEL_PC;
}

bool recheck_takes_additions(enum level_id level)
{
    switch (level) {
    case LEVEL_RU:
    case LEVEL_US:
    case LEVEL_RYW:
    case LEVEL_MR:
    case LEVEL_MW:
    case LEVEL_WFR:
    case LEVEL_INNODB_RR:
    case LEVEL_INNODB_RR_TIGHT: return false;
    default: return true;
    }
}

typedef struct event_places {
    uint32_t *begin, *commit; /* per transaction: from 1; 0: it takes no part */
    uint32_t *point;          /* per helper point; 0: it has no place */
} event_places;

bool recheck_begins_apart(const checker *c, txn_id t)
{
    return c->row ? c->row[t] == ROW_SI : recheck_orders_begins(c->v->level.id);
}

/* Reads the order of events, and counts for each begin the commits before it. */
static bool load_places(checker *c, event_places *x)
{
    const event_order *e = &c->v->events;
    const additions *add = c->h->assumed;
    uint32_t commits = 0;
    x->begin = mem_array0(c->m, uint32_t, c->h->txns + 1);
    x->commit = mem_array0(c->m, uint32_t, c->h->txns + 1);
    x->point = mem_array0(c->m, uint32_t, (size_t)add->points + 1);
    c->snapshot = mem_array0(c->m, uint32_t, (size_t)c->n + 1);
    for (size_t i = 0; i < e->n; i++) {
        uint32_t of = e->at[i].of, at = e->at[i].at, place = (uint32_t)i + 1;
        if (of >= (at == AT_POINT ? add->points : c->h->txns))
            return recheck_no(c, NO_ID, "the order of events names an event that does not exist");
        uint32_t *to = at == AT_POINT   ? &x->point[of]
                       : at == AT_BEGIN ? &x->begin[of]
                                        : &x->commit[of];
        if (*to) return recheck_no(c, NO_ID, "the order of events names an event twice");
        *to = place;
        bool begins = at != AT_POINT && recheck_begins_apart(c, of);
        if (at == AT_BEGIN) {
            if (!begins) return recheck_no(c, of, "has no begin of its own at this level");
            if (!c->place[of]) return recheck_no(c, of, "takes no part");
            c->snapshot[c->place[of]] = commits;
        }
        if (at != AT_COMMIT) continue;
        if (commits == c->n || c->v->order[commits] != of)
            return recheck_no(c, of, "commits elsewhere in the commit order");
        if (begins && !x->begin[of]) return recheck_no(c, of, "commits before it begins");
        if (!begins) {
            x->begin[of] = place;
            c->snapshot[c->place[of]] = commits;
        }
        commits++;
    }
    return commits == c->n || recheck_no(c, NO_ID, "the order of events lacks a commit");
}

/* Where the event stands; 0: its transaction takes no part. */
static uint32_t place_of(const event_places *x, uint32_t of, uint8_t at)
{
    return at == AT_POINT ? x->point[of] : at == AT_BEGIN ? x->begin[of] : x->commit[of];
}

static bool edge_kept(const event_places *x, const added_edge *e)
{
    uint32_t from = place_of(x, e->from, e->from_at), to = place_of(x, e->to, e->to_at);
    if ((!from && e->from_at != AT_POINT) || (!to && e->to_at != AT_POINT)) return true;
    if (!from || !to) return false;
    bool own = e->from_at == AT_BEGIN && e->to_at == AT_COMMIT && e->from == e->to;
    return own || from < to;
}

static bool addition_kept(const additions *add, const event_places *x, const addition *said)
{
    for (uint32_t s = said->first_set; s < said->first_set + said->sets; s++) {
        bool kept = true;
        for (uint32_t e = additions_set_first(add, s); e < add->set_end.at[s] && kept; e++)
            kept = edge_kept(x, &add->edges.at[e]);
        if (kept) return true;
    }
    return false;
}

/* The dependencies among those that take part, by the one that depends. */
static void load_depends(checker *c)
{
    const additions *add = c->h->assumed;
    c->dep_first = mem_array0(c->m, uint32_t, (size_t)c->n + 3);
    for (int fill = 0; fill < 2; fill++) {
        if (fill) {
            for (uint32_t p = 1; p <= c->n; p++) c->dep_first[p + 2] += c->dep_first[p + 1];
            c->dep = mem_array(c->m, uint32_t, (size_t)c->dep_first[c->n + 2] + 1);
        }
        for (size_t i = 0; i < add->at.n; i++) {
            const addition *said = &add->at.at[i];
            if (said->sets != 1) continue;
            uint32_t end = add->set_end.at[said->first_set];
            for (uint32_t k = additions_set_first(add, said->first_set); k < end; k++) {
                const added_edge *e = &add->edges.at[k];
                if (e->kind != ADDED_DEPENDS || e->from == e->to) continue;
                uint32_t from = c->place[e->from], to = c->place[e->to];
                if (!from || !to) continue;
                if (fill)
                    c->dep[c->dep_first[to + 1]++] = from;
                else
                    c->dep_first[to + 2]++;
            }
        }
    }
}

/* A dependency in a clause or a choice is a step only if it was chosen, which an order does not
   say. */
static bool has_chosen_steps(const additions *add)
{
    for (size_t i = 0; i < add->at.n; i++) {
        const addition *said = &add->at.at[i];
        uint32_t end = add->set_end.at[said->first_set + said->sets - 1];
        for (uint32_t k = additions_set_first(add, said->first_set); said->sets > 1 && k < end; k++)
            if (add->edges.at[k].kind == ADDED_DEPENDS) return true;
    }
    return false;
}

static bool has_paths(enum level_id level)
{
    return level == LEVEL_RA || level == LEVEL_CC || level == LEVEL_CV || level == LEVEL_PSI ||
           level == LEVEL_FCV || level == LEVEL_MV || level == LEVEL_UA || level == LEVEL_NLU;
}

const char *recheck_refuses_additions(const checker *c)
{
    if (!recheck_takes_additions(c->v->level.id) || c->v->definition)
        return "the level does not take what modules add";
    if (has_paths(c->v->level.id) && has_chosen_steps(c->h->assumed))
        return "the level does not take dependencies that are chosen";
    return NULL;
}

bool recheck_assumed(checker *c)
{
    const additions *add = c->h->assumed;
    const char *refused = recheck_refuses_additions(c);
    event_places x;
    if (refused) return recheck_no(c, NO_ID, refused);
    if (c->v->events.n >= UINT32_MAX - 1)
        return recheck_no(c, NO_ID, "the order of events is too long");
    if (!load_places(c, &x)) return false;
    load_depends(c);
    for (size_t i = 0; i < add->at.n; i++) {
        if (!addition_kept(add, &x, &add->at.at[i]))
            return recheck_no(c, NO_ID, "the order breaks what a module added");
        guard_tick(c->m->guard);
    }
    return true;
}
