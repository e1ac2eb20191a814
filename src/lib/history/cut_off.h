/*
 * cut_off.h - recordings of which lines are missing.
 *
 * A recorder that names itself in the header, as the member "recorder", ends its file with the line
 * {"mark":"end","lines":N}.  Where that mark is missing, lines were lost: the disk was full, the
 * recorder was killed, or the copy is incomplete.  "lines" counts the lines before the mark, the
 * header included: fewer mean that some were lost in between, more that somebody added some.
 */
#ifndef RATEL_HISTORY_CUT_OFF_H
#define RATEL_HISTORY_CUT_OFF_H

#include "history/history.h"

/* Does the header name a recorder? */
bool history_recorded(const history *h);
/* Does it, and is the end mark missing? */
bool history_cut_off(const history *h);

typedef struct line_count {
    uint64_t missing, added; /* lines: those that end marks count and are not there; the others */
} line_count;

/* Of a recording; of other histories 0. */
line_count history_count_lines(const history *h);
/* Are lines missing, at the end or before? */
bool history_incomplete(const history *h);
/* Before history_freeze: makes reads unknown that a lost line may have to explain. */
void history_forget_lost(history *h);
/* Gives the part that was copied the end mark of the whole, if that has one. */
void history_copy_end(history *part, const history *from);
/* Before history_freeze of a part of `from`, whose marks it has: corrects what its end marks count,
   so that of both the same number of lines is missing. */
void history_recount_lines(history *part, const history *from);

/* Is this object a mark of the end?  `lines`: what it counts; NO_COUNT if nothing. */
#define NO_COUNT UINT64_MAX
typedef struct end_mark {
    uint64_t lines;
    const char *digits; /* of that number, in the text */
    size_t n_digits;
} end_mark;
bool end_mark_read(const char *text, size_t n, end_mark *out);

#endif
