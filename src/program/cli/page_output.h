/*
 * page_output.h - --html: the page of a command, which its answers are added to (report/page.h).
 *
 * A command opens the page before its first answer and closes it after the last one; commands that
 * it calls on the way find it in args and add to it.  The file is written when the page is closed,
 * so a command that fails leaves no half of one.
 */
#ifndef RATEL_CLI_PAGE_OUTPUT_H
#define RATEL_CLI_PAGE_OUTPUT_H

#include "cli/cli.h"

typedef struct page_output {
    text_kept entries; /* JSON, a line each */
    bool failed;       /* no memory: said once, at the end */
} page_output;

/* With --html: from here on answers are added to `mine`, unless there is a page already. */
void page_open(args *a, page_output *mine);
/* Adds an entry: a JSON object of doc/schema/page.json. */
void page_add(const args *a, const char *json, size_t n);
/* Adds the entry that a renderer of the library writes (cli.h, render). */
void page_add_rendered(const args *a, void (*body)(strbuf *b, void *what), void *what);
/* The entries from an offset (entries.n before they were added) are about a file that got its name
   only now, or that was not kept (NULL: its commands go). `old`: plain words. */
void page_rename(const args *a, size_t from, const char *old, const char *name);
/* Gives the last entry a further member: a name, and a renderer of its value. */
void page_add_member(const args *a, const char *name, void (*body)(strbuf *b, void *what),
                     void *what);
void page_add_explanation(const args *a, const ratel_explanation *e, const ratel_telling *t);
/* The same for an answer that was not explained yet. */
void page_add_result(const args *a, const ratel_history *h, const ratel_result *r,
                     const char *name);
/* An answer of which only the exit status is known (why: ""), or an input that could not be read:
   why. */
void page_add_status(const args *a, const char *name, const char *level, int status,
                     const char *why);
/* Writes the file, if the page is `mine`; the status, or EXIT_IO if that failed.  Without an entry
   nothing is written: a command that failed leaves the old file. */
int page_close(args *a, page_output *mine, const char *title, int status);

#endif
