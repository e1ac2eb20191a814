/*
 * campaign.h - what the files of the campaign share.
 *
 * A unit of work is one random history, by its number: everything that is done with it is drawn
 * from the seed and that number (draw_for), never from what happened before, so a failure can be
 * repeated alone.  A cell is one question about one history: a level, session order on or off, a
 * policy for reads of own writes, an uncertainty of the clocks.
 */
#ifndef RATEL_TEST_CAMPAIGN_H
#define RATEL_TEST_CAMPAIGN_H

#include <stdbool.h>
#include <stdint.h>

#define RATEL_EXPERIMENTAL
#include "diff/diff_text.h"
#include "oracle/oracle.h"
#include "oracle/random_history.h"
#include "ratel.h"

enum { MOST_LEVELS = 64, COMBINATIONS = 2, SHAPES = 32, VARIANTS = TELLINGS + 1 };
enum { IN_BINARY = TELLINGS }; /* a variant: through the binary format and back */

typedef struct level_row {
    char name[80];
    bool asks_session_order; /* else the level settles it itself */
    bool may_refuse;         /* some histories are too much for it: undecided is no mistake */
} level_row;

typedef struct cell {
    int level;
    int session_order, policy;
    int64_t drift;
} cell;

typedef struct tally {
    uint64_t histories, cells, answers, rechecked, too_large, impossible_hints, nothing;
    uint64_t implications, certificates, forged, forged_true, arguments, unargued, refuted, shrunk;
    uint64_t variants[VARIANTS], failures, shapes[SHAPES];
    uint64_t said[MOST_LEVELS][3]; /* by level: undecided, holds, violated */
} tally;

/* A fault in the campaign itself, which it must find: that it can fail is tested, too. */
enum plant { PLANT_NOTHING, PLANT_VERDICT, PLANT_CRASH, PLANT_FORGERY, PLANT_VARIANT };

typedef struct campaign {
    enum plant plant;
    uint64_t thorough;     /* of so many histories one gets more than its verdicts compared */
    uint64_t seed, number; /* of the history at hand */
    const char *shape;
    level_row levels[MOST_LEVELS];
    int n_levels;
    bool implies[2][MOST_LEVELS][MOST_LEVELS]; /* by session order */
    size_t passes;
    ratel *plain, *turning; /* as users have it; strategies and passes in turn */
    tally *t;
} campaign;

/* What went wrong.  `kind` is a word; the rest is for people. */
typedef struct failure {
    const char *kind;
    cell at;
    bool has_cell;
    char detail[600];
    text certificate, other; /* what was wrongly believed; a second history; or empty */
} failure;

extern const char *const policies[3];

/* A number for one purpose, from the seed and the history's number. */
uint64_t draw_for(const campaign *c, uint64_t purpose, uint64_t which);

/* judge_history.c: everything about one history; false: *f says what is wrong.  `variants`: also
   the history told otherwise.  `only` (or NULL) is the one cell to ask. */
bool judge_one_history(campaign *c, const char *history, size_t n, bool variants, const cell *only,
                       failure *f);
bool fail_cell(failure *f, const char *kind, const cell *at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* forge_certificate.c: a certificate changed in one of many ways; `other` is one of another
   question about the same history, or empty. */
void forge_certificate(const campaign *c, uint64_t drawn, const text *from, const text *other,
                       text *to);

/* judge_argument.c: the argument against a violated level stands when it is checked again, and
   against a level that holds none is found. */
bool judge_argument(campaign *c, const ratel_history *h, const ratel_result *a, const cell *at,
                    bool holds, failure *f);

/* save_failure.c.  After so many seconds of processor time the process ends; 0: it has as many as
   it needs.  (By the clock, it would depend on what else the machine does.) */
void limit_work(unsigned seconds);
/* Shrinks the history and writes everything below `folder`. */
void save_failure(campaign *c, const char *folder, const char *history, size_t n, failure *f);

#endif
