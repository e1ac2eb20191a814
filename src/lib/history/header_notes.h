/*
 * header_notes.h - members of the header in which readers note what they could not take as it is.
 *
 * "skipped_operations": {"read":40,"transfer":12}, what was left out because it is no transaction,
 * by its kind; "without_process": how many transactions name no client.  They are members like any
 * other, so that a converted history still tells.
 */
#ifndef RATEL_HISTORY_HEADER_NOTES_H
#define RATEL_HISTORY_HEADER_NOTES_H

#include "history/history.h"

#define NOTE_SKIPPED "skipped_operations"
#define NOTE_WITHOUT_PROCESS "without_process"

/* The member of the header, or NULL. */
const extra *history_header_member(const history *h, const char *name);
/* How many operations were left out; 0 if the member is missing or is no such object. */
uint64_t history_skipped(const history *h);
/* Their kinds for people, the most frequent first: "40 read, 12 transfer". */
void history_skipped_text(const history *h, strbuf *out);
/* How many transactions name no client. */
uint64_t history_without_process(const history *h);

#endif
