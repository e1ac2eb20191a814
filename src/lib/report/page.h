/*
 * page.h - results as one self-contained HTML page.
 *
 * A page is a frame (page.css, page.js, and a policy under which nothing else runs or loads) around
 * one JSON object: what the page is about, and a list of entries, one for each answer.  Every
 * member of an entry but "verdict" and "sentence" may be missing, and the page shows what is there;
 * so any command can feed it: explanations through tell_page_entry, others by writing an entry of
 * their own (doc/schema/page.json).
 *
 * Text of an input is data in that object and never markup: `<`, `>` and `&` are escaped in the
 * JSON, so nothing in it can end its element, and page.js only ever sets text.
 */
#ifndef RATEL_REPORT_PAGE_H
#define RATEL_REPORT_PAGE_H

#include "base/json_writer.h"

typedef struct page_head {
    const char *title;   /* of the document */
    const char *version; /* of the program, or NULL */
    bool session_order;  /* for the order between the levels */
} page_head;

/* A page is page_begin, any number of page_entry, page_end. */
void page_begin(strbuf *b, const page_head *head);
/* The next entry: a JSON object.  `first`: no entry stands before it. */
void page_entry(strbuf *b, const char *json, size_t n, bool first);
void page_end(strbuf *b);

/* page_lattice.c: the value of a member: all levels of histories, the stronger ones above. */
void page_lattice(json_writer *w, bool session_order, mem *m);

#endif
