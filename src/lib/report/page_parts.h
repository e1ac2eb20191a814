/*
 * page_parts.h - the parts of a page's entry about a history (page.h); for page_*.c alone.
 */
#ifndef RATEL_REPORT_PAGE_PARTS_H
#define RATEL_REPORT_PAGE_PARTS_H

#include "report/explanation.h"
#include "report/page.h"

/* page_strip.c: the value of a member: the whole run. */
void page_strip(json_writer *w, const told *t, const txn_ids *core);
/* page_around.c: the neighbourhood of the core, which is not part of it. */
void page_around(const told *t, const txn_ids *core, txn_ids *out);
/* page_versions.c: the value of a member: the versions of the argument's keys in their order. */
void page_versions(json_writer *w, const told *t, const told_steps *steps);

#endif
