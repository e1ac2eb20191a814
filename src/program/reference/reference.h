/*
 * reference.h - decides logs of SQL by letting a real engine execute them: the border of the room.
 *
 * The engine is started, or found, once; each decision has an empty database of its own, which this
 * run makes, marks and drops.  Statements run without the rights of a superuser, and a log with
 * statements that reach beyond their database is refused before anything is executed.
 */
#ifndef RATEL_REFERENCE_REFERENCE_H
#define RATEL_REFERENCE_REFERENCE_H

#include "audit/audit_schedule.h"

typedef struct reference reference;

/* Opens postgres:temp, mariadb:temp, sqlite or a URL.  NULL: *why is a sentence until the next call
   of reference_close, and *misuse says that the URL is wrong, not the world. */
reference *reference_open(const char *url, char *why, size_t cap, bool *misuse);
void reference_close(reference *r);
/* 0, or a code of ratel.h with reference_error.  The answer lives until the next decision. */
int reference_decide(reference *r, const audit_schedule *plan, const audit_options *o,
                     audit_answer *answer);
const char *reference_error(const reference *r);
/* The engine and its version. */
const char *reference_version(const reference *r);

#endif
