/*
 * spec_log.h - the log of SQL of each permutation of a script, as `ratel trace` would have recorded
 * it, and what audit says of it.
 *
 * What is promised is known: the weakest isolation that a transaction of the log asked for.  At the
 * levels of logs up to that one a right database's log is never violated.
 */
#ifndef RATEL_CLI_SPEC_LOG_H
#define RATEL_CLI_SPEC_LOG_H

#include "audit/audit.h"
#include "cli/cli.h"
#include "reference/reference.h"
#include "step/isolation.h"

typedef struct spec_log spec_log;

/* A verdict on one permutation. */
typedef struct spec_verdict {
    audit_verdict verdict;
    const char *level;  /* violated, undecided: at which */
    const char *reason; /* one sentence, valid during the call */
} spec_verdict;

typedef struct spec_log_user {
    void *ud;
    /* A permutation has ended: its log, and what audit says of it. */
    void (*judged)(void *ud, uint32_t permutation, const strbuf *text, const spec_verdict *v);
    bool (*stop)(void *ud);
} spec_log_user;

/* Of one script, in m, whose guard is armed while the script runs.  The reference, if there is one,
   executes logs that Ratel's own replay leaves undecided. */
spec_log *spec_log_open(const db *d, mem *m, const spec *s, reference *r,
                        const spec_log_user *user);
const isolation_user *spec_log_watcher(spec_log *l);

#endif
