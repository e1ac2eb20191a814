/*
 * coverage_report.h - what "holds" was worth (ratel_coverage_run), told by check and test.
 */
#ifndef RATEL_CLI_COVERAGE_REPORT_H
#define RATEL_CLI_COVERAGE_REPORT_H

#include "cli/cli.h"

/* check --coverage, after an answer that holds: to f, or as text to `kept` (both NULL: nowhere) and
   to the last entry of the page, if there is one; the exit status of that alone. */
int coverage_tell(const args *a, FILE *f, text_kept *kept, const char *history,
                  const ratel_history *h, const ratel_result *r);
/* test: a note if less than half of some changed reads would have been seen. */
void coverage_warn(const args *a, const char *history, const ratel_history *h,
                   const ratel_result *r);

#endif
