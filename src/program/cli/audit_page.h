/*
 * audit_page.h - answers of `audit` on a page (page_output.h).
 */
#ifndef RATEL_CLI_AUDIT_PAGE_H
#define RATEL_CLI_AUDIT_PAGE_H

#include "audit/audit_report.h"
#include "cli/page_output.h"

/* Adds the answer about this log. */
void page_add_audit(const args *a, const audit_answer *r, const audit_report_context *report);

#endif
