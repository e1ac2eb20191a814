/*
 * report_assumed.h - what an answer assumes: see report_assumed.c.
 */
#ifndef RATEL_REPORT_REPORT_ASSUMED_H
#define RATEL_REPORT_REPORT_ASSUMED_H

#include "base/json_writer.h"
#include "verdict/verdict.h"

/* Nothing, if no module was given. */
void report_assumed_text(const verdict *v, strbuf *b);
void report_assumed_json(json_writer *w, const verdict *v);

#endif
