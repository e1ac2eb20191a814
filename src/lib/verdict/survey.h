/*
 * survey.h - which levels `explain` asks, in what order, how long, and which of them it explains.
 *
 * A survey decides nothing.  It says which level to ask next, takes the answer, and derives what
 * follows for others: if a level holds, all weaker ones hold, and if it is violated, all stronger
 * ones are.  So few levels are asked.  What a survey says of a level does not depend on the order
 * of the questions, except for levels that ran out of time.
 */
#ifndef RATEL_VERDICT_SURVEY_H
#define RATEL_VERDICT_SURVEY_H

#include "verdict/verdict.h"

typedef struct surveyed {
    enum level_id level;
    bool known; /* asked, or implied by an answer */
    enum outcome outcome;
} surveyed;

typedef struct survey {
    surveyed at[LEVELS]; /* in the order of levels.def */
    size_t n;
    bool session_order; /* where a level leaves it open */
    bool choosing;      /* the level to be explained is chosen by the answers */
    bool limited;       /* the caller set a limit, and left_ms is what is left of it */
    int64_t left_ms;    /* left for all levels, or for those that are only told along */
} survey;

/* times: does the history have client times?  Levels that look at them are left out without.
   mixed, single: do its transactions name levels, is each of them one operation?  choosing: nobody
   named the level to be explained.  limit_ms: what the caller allows for everything together; 0:
   no limit. */
typedef struct survey_facts {
    bool times, mixed, single;
} survey_facts;
void survey_begin(survey *s, survey_facts of, bool session_order, bool choosing, int64_t limit_ms);
/* The answer for a level, which need not be one of the survey (realtime-X). */
void survey_learn(survey *s, const level_ref *level, bool session_order, enum outcome outcome);

/* The next level to ask, and within how many milliseconds; 0: as many as it takes.  False: all are
   known, or the caller's limit is used up and the others stay undecided. */
bool survey_next(const survey *s, enum level_id *level, int64_t *ms);
/* The level of survey_next took so many. */
void survey_spent(survey *s, int64_t ms);

/* The level to explain: of the weakest that are violated the one that most people know; else, if
   levels stayed undecided, the best known of those, since it may be violated; else the strongest
   that holds; else serializable. */
enum level_id survey_choice(const survey *s);
/* The i-th violated level that is stronger than this one, the best known first; false: no more. */
bool survey_stronger(const survey *s, enum level_id weakest, size_t i, enum level_id *out);

#endif
