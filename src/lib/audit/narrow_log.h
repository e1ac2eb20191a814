/*
 * narrow_log.h - decides a log of which some tables' first rows are not known, by what it shows of
 * them.
 */
#ifndef RATEL_AUDIT_NARROW_LOG_H
#define RATEL_AUDIT_NARROW_LOG_H

#include "audit/audit_internal.h"

/* The log is undecided as it stands: `answer` is kept if it stays so.  Afterwards a->e is the
   engine that gave the answer, and a->narrow.on tells whether its log is a->narrow.log. */
void narrow_decide(audit *a, const audit_options *o, audit_answer *answer);

#endif
