/*
 * page_output.c - see page_output.h.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/page_output.h"
#include "report/page.h"

void page_open(args *a, page_output *mine)
{
    const char *path = a->value[O_HTML];
    *mine = (page_output){0};
    if (!path || a->page) return;
    a->page = mine;
}

static int collect_entry(const void *bytes, size_t n, void *payload)
{
    page_output *p = payload;
    if (!p->failed && keep_text(bytes, n, &p->entries)) p->failed = true;
    return 0;
}

void page_add(const args *a, const char *json, size_t n)
{
    if (!a->page) return;
    collect_entry(json, n, a->page);
    if (n && json[n - 1] != '\n') collect_entry("\n", 1, a->page);
}

typedef struct rendered_entry {
    const args *a;
    void (*body)(strbuf *b, void *what);
    void *what;
} rendered_entry;

static void render_entry(strbuf *b, void *what)
{
    const rendered_entry *x = what;
    x->body(b, x->what);
    page_add(x->a, b->at, b->n);
    b->n = 0; /* nothing is left to be written elsewhere */
}

void page_add_rendered(const args *a, void (*body)(strbuf *b, void *what), void *what)
{
    rendered_entry x = {a, body, what};
    if (a->page && render(NULL, render_entry, &x)) a->page->failed = true;
}

/* An entry is an object and the end of its line: the member goes before its last brace. */
void page_add_member(const args *a, const char *name, void (*body)(strbuf *b, void *what),
                     void *what)
{
    page_output *p = a->page;
    if (!p || p->failed || p->entries.n < 2) return;
    p->entries.n -= 2;
    collect_entry(",\"", 2, p);
    collect_entry(name, strlen(name), p);
    collect_entry("\":", 2, p);
    page_add_rendered(a, body, what); /* and the end of a line */
    if (p->failed) return;
    p->entries.n -= p->entries.at[p->entries.n - 1] == '\n';
    collect_entry("}\n", 2, p);
}

/* A page is for people: once it is large, further answers are added without their details. */
enum { MOST_DETAIL = 6000000 };

static void put_entry(void *to, const char *bytes, size_t n)
{
    collect_entry(bytes, n, to);
}

static void add_brief(page_output *p, const ratel_result *r, const char *name)
{
    json_writer to = {.put = put_entry, .to = p}, *w = &to;
    const char *reason = ratel_result_reason(r), *anomaly = ratel_result_anomaly(r);
    jw_object(w);
    jw_member_text(w, "verdict", verdict_name(ratel_result_verdict(r)));
    char sentence[4096];
    snprintf(sentence, sizeof sentence, "%.1800s: %.200s%s%.1800s.", name,
             anomaly && *anomaly ? anomaly : "", anomaly && *anomaly ? ": " : "",
             reason ? reason : "");
    jw_member_text(w, "sentence", sentence);
    jw_member_text(w, "source", name);
    jw_end_object(w);
    jw_end_line(w);
}

void page_add_status(const args *a, const char *name, const char *level, int status,
                     const char *why)
{
    const char *word = status == EXIT_HOLDS       ? "holds"
                       : status == EXIT_VIOLATED  ? "violated"
                       : status == EXIT_UNDECIDED ? "undecided"
                                                  : "error";
    if (!a->page) return;
    json_writer to = {.put = put_entry, .to = a->page}, *w = &to;
    jw_object(w);
    jw_member_text(w, "verdict", word);
    char sentence[4096];
    if (*why)
        snprintf(sentence, sizeof sentence, "%.4000s.", why);
    else
        snprintf(sentence, sizeof sentence, "%.3000s: %.800s: %s.", name, level, word);
    jw_member_text(w, "sentence", sentence);
    jw_member_text(w, "source", name);
    if (*level) jw_member_text(w, "level", level);
    jw_end_object(w);
    jw_end_line(w);
}

/* --- names that come late --------------------------------------------------------------------- */

/* Where the text begins with it; its length, or 0. */
static size_t begins(const char *at, const char *end, const char *with)
{
    size_t n = strlen(with);
    return (size_t)(end - at) >= n && !memcmp(at, with, n) ? n : 0;
}

/* The old name at this place, as a member or as the last word of a command: what stands before it
   is written, its length is returned. */
static size_t named_at(page_output *to, const char *at, const char *end, const char *old)
{
    static const char *const before[] = {"\"source\":\"", "\"history\":\"", "\"sentence\":\""};
    char quoted[160];
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        size_t n = begins(at, end, before[i]), k = n ? begins(at + n, end, old) : 0;
        if (!k || !strchr("\" :", at[n + k])) continue;
        collect_entry(before[i], n, to);
        return n + k;
    }
    snprintf(quoted, sizeof quoted, strchr(old, ' ') ? " '%.120s'\"" : " %.120s\"", old);
    size_t n = begins(at, end, quoted);
    if (n) collect_entry(" ", 1, to);
    return n ? n - 1 : 0;
}

void page_rename(const args *a, size_t from, const char *old, const char *name)
{
    page_output *p = a->page, to = {0};
    if (!p || p->failed || from >= p->entries.n) return;
    collect_entry(p->entries.at, from, &to);
    const char *end = p->entries.at + p->entries.n;
    for (const char *at = p->entries.at + from; at < end;) {
        size_t k = name ? 0 : begins(at, end, ",\"reproduce\":[");
        const char *stop = k ? memchr(at, ']', (size_t)(end - at)) : NULL;
        if (stop) { /* no file, no commands */
            at = stop + 1;
        } else if (name && (k = named_at(&to, at, end, old)) > 0) {
            collect_entry(name, strlen(name), &to);
            at += k;
        } else {
            collect_entry(at++, 1, &to);
        }
    }
    p->failed = to.failed;
    free(p->entries.at);
    p->entries = to.entries;
}

void page_add_explanation(const args *a, const ratel_explanation *e, const ratel_telling *t)
{
    page_output *p = a->page;
    if (!p) return;
    if (ratel_explanation_write(e, a->context, "page-entry", t, collect_entry, p)) p->failed = true;
}

void page_add_result(const args *a, const ratel_history *h, const ratel_result *r, const char *name)
{
    ratel_explanation *e = NULL;
    const char *order = a->value[O_SESSION_ORDER];
    ratel_telling t = {.history = name, .session_order = !order || strcmp(order, "off") != 0};
    page_output *p = a->page;
    if (!p) return;
    if (p->entries.n > MOST_DETAIL) {
        add_brief(p, r, name);
        return;
    }
    if (ratel_explain(&e, a->context, h, r))
        p->failed = true;
    else
        page_add_explanation(a, e, &t);
    ratel_explanation_free(e);
}

typedef struct framed {
    const page_output *p;
    page_head head;
} framed;

static void frame_page(strbuf *b, void *what)
{
    const framed *x = what;
    page_begin(b, &x->head);
    const text_kept *t = &x->p->entries;
    for (size_t at = 0, n; at < t->n; at += n) {
        const char *line = t->at + at, *end = memchr(line, '\n', t->n - at);
        n = end ? (size_t)(end - line) + 1 : t->n - at;
        page_entry(b, line, n, at == 0);
    }
    page_end(b);
}

/* True if the file has its new content. */
static bool write_page(const args *a, framed *x)
{
    output o;
    if (x->p->failed) complain("--html: out of memory");
    if (x->p->failed || !output_open(a, &o, a->value[O_HTML])) return false;
    if (!render(o.f, frame_page, x)) return output_close(a, &o);
    output_abandon(&o);
    return false;
}

int page_close(args *a, page_output *mine, const char *title, int status)
{
    const char *order = a->value[O_SESSION_ORDER];
    framed x = {mine, {title, ratel_version(), !order || strcmp(order, "off") != 0}};
    if (a->page != mine) return status;
    a->page = NULL;
    bool written = (!mine->entries.n && !mine->failed) || write_page(a, &x);
    free(mine->entries.at);
    return written ? status : EXIT_IO;
}
