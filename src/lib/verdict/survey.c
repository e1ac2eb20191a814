/*
 * survey.c - the state of a survey, as survey.h tells.
 *
 * The levels that settle most others come first (TURN_EXPLAIN of levels.def).  Invariant: an entry
 * that is known is never changed again; answers cannot contradict each other, since the lattice is
 * sound (doc/levels.md 7).
 */
#include "verdict/survey.h"

#include <assert.h>

#include "opt/mixed_row.h"

/* The levels around the one that is explained are told along, not asked for: if the caller set no
   limit they share so many milliseconds, each may use a third of what is left, and what is not
   decided by then is told as undecided.  With a limit every level may use a third of what is left
   of it: one that is hard must not keep the others from showing their violations. */
#define ASIDE_MS 6000
#define LEAST_MS 100

/* So many of TURN_EXPLAIN are decided in full where the level is chosen by them. */
#define ASKED_IN_FULL 3u

static bool follows(const survey *s, enum level_id a, enum level_id b)
{
    bool so = s->session_order;
    return level_implies(a, so, false, b, so, false);
}

void survey_begin(survey *s, survey_facts of, bool session_order, bool choosing, int64_t limit_ms)
{
    assert(limit_ms >= 0);
    *s = (survey){.session_order = session_order,
                  .choosing = choosing,
                  .limited = limit_ms > 0,
                  .left_ms = limit_ms > 0 ? limit_ms : ASIDE_MS};
    for (size_t i = 0; i < LEVELS; i++) {
        const level_info *l = level_at(i);
        if (!l->decided || (level_needs_times(l) && !of.times)) continue;
        if (level_is_mixed((enum level_id)i) && !of.mixed) continue;
        if (i == LEVEL_LIN && !of.single) continue;
        s->at[s->n++] = (surveyed){.level = (enum level_id)i, .outcome = OUTCOME_UNDECIDED};
    }
}

/* Session order as it counts for a level of the survey. */
static bool order_of(const survey *s, enum level_id level)
{
    enum level_so so = level_at(level)->session_order;
    return so == LEVEL_ALWAYS || (so == LEVEL_OPTION && s->session_order);
}

void survey_learn(survey *s, const level_ref *level, bool session_order, enum outcome outcome)
{
    assert(level->id < LEVELS && !(level->realtime && !session_order));
    for (size_t i = 0; i < s->n; i++) {
        surveyed *x = &s->at[i];
        bool so = order_of(s, x->level);
        bool same = x->level == level->id && !level->realtime && so == session_order;
        bool implied =
            outcome == OUTCOME_HOLDS
                ? level_implies(level->id, session_order, level->realtime, x->level, so, false)
                : outcome == OUTCOME_VIOLATED &&
                      level_implies(x->level, so, false, level->id, session_order, level->realtime);
        /* answers that contradict each other would mean that the lattice or a verdict is wrong */
        assert(!x->known || !implied || x->outcome == OUTCOME_UNDECIDED || x->outcome == outcome);
        if (x->known || !(same || implied)) continue;
        x->known = true;
        x->outcome = outcome;
    }
}

static const surveyed *entry_of(const survey *s, enum level_id level)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->at[i].level == level) return &s->at[i];
    return NULL;
}

bool survey_next(const survey *s, enum level_id *level, int64_t *ms)
{
    if (s->limited && s->left_ms <= 0) return false;
    *ms = s->left_ms / 3 > LEAST_MS ? s->left_ms / 3 : LEAST_MS;
    if (s->limited && *ms > s->left_ms) *ms = s->left_ms;
    for (size_t i = 0; level_in_turn(level, TURN_EXPLAIN, i); i++) {
        const surveyed *x = entry_of(s, *level);
        if (!x || x->known) continue;
        if (s->choosing && i < ASKED_IN_FULL && !s->limited) *ms = 0;
        return true;
    }
    for (size_t i = 0; i < s->n; i++)
        if (!s->at[i].known) {
            *level = s->at[i].level;
            return true;
        }
    return false;
}

void survey_spent(survey *s, int64_t ms)
{
    assert(ms >= 0);
    s->left_ms -= ms;
}

/* --- the choice ------------------------------------------------------------------------------- */

/* How far down the list of well-known levels; the others come after all of them. */
static unsigned rank(enum level_id level)
{
    unsigned fame = level_at(level)->fame;
    return fame ? fame : LEVELS + 1;
}

/* May the level be chosen, as one of those with this outcome? */
static bool eligible(const surveyed *x, enum outcome outcome)
{
    return x->outcome == outcome && level_at(x->level)->argued && !level_at(x->level)->aside;
}

/* Is it one of the weakest (strongest: one of the strongest) of its outcome?  Of two names of one
   level, the first. */
static bool extreme(const survey *s, size_t i, bool strongest)
{
    for (size_t j = 0; j < s->n; j++) {
        if (j == i || !eligible(&s->at[j], s->at[i].outcome)) continue;
        enum level_id a = s->at[strongest ? j : i].level, b = s->at[strongest ? i : j].level;
        if (!follows(s, a, b)) continue;
        if (!follows(s, b, a) || i > j) return false;
    }
    return true;
}

/* Might the level be violated, for all that was found out?  (Without a limit, those that are only
   told along may stay undecided: nobody asked for them.) */
static bool is_open(const survey *s, const surveyed *x)
{
    enum level_id full;
    if (x->outcome != OUTCOME_UNDECIDED || s->limited) return x->outcome == OUTCOME_UNDECIDED;
    for (size_t i = 0; i < ASKED_IN_FULL && level_in_turn(&full, TURN_EXPLAIN, i); i++)
        if (x->level == full) return true;
    return false;
}

enum level_id survey_choice(const survey *s)
{
    size_t best = s->n;
    for (size_t i = 0; i < s->n; i++)
        if (eligible(&s->at[i], OUTCOME_VIOLATED) && extreme(s, i, false) &&
            (best == s->n || rank(s->at[i].level) < rank(s->at[best].level)))
            best = i;
    for (size_t i = 0, none = best; i < s->n && none == s->n; i++)
        if (is_open(s, &s->at[i]) &&
            (best == s->n || rank(s->at[i].level) < rank(s->at[best].level)))
            best = i;
    /* (of those that hold, the table's last: the serializable ones) */
    for (size_t i = s->n; i-- > 0 && best == s->n;)
        if (eligible(&s->at[i], OUTCOME_HOLDS) && extreme(s, i, true)) best = i;
    return best < s->n ? s->at[best].level : LEVEL_SER;
}

bool survey_stronger(const survey *s, enum level_id weakest, size_t i, enum level_id *out)
{
    for (unsigned want = 1; want <= LEVELS + 1; want++)
        for (size_t k = 0; k < s->n; k++) {
            const surveyed *x = &s->at[k];
            if (rank(x->level) != want || x->outcome != OUTCOME_VIOLATED || x->level == weakest ||
                !follows(s, x->level, weakest))
                continue;
            if (i-- > 0) continue;
            *out = x->level;
            return true;
        }
    return false;
}
