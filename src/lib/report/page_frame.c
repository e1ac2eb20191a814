/*
 * page_frame.c - what stands around the entries of a page (page.h).
 *
 * The policy names the two texts that the frame holds by their SHA-256, which the build computes
 * (tool/embed-text): an inline script or style that came from anywhere else would not run.
 */
#include "report/page.h"

static const struct {
    const char *name, *hash, *text;
} parts[] = {
#define TEXT(name, hash, text) {name, hash, text},
#include "report/page_texts.inc"
#undef TEXT
};

static size_t part_named(const char *name)
{
    size_t i = 0;
    while (i + 1 < sizeof parts / sizeof *parts && strcmp(parts[i].name, name) != 0) i++;
    return i;
}

static void html_text(strbuf *b, const char *s)
{
    for (; *s; s++) {
        switch (*s) {
        case '&': strbuf_str(b, "&amp;"); break;
        case '<': strbuf_str(b, "&lt;"); break;
        case '>': strbuf_str(b, "&gt;"); break;
        case '"': strbuf_str(b, "&quot;"); break;
        default: strbuf_char(b, *s); break;
        }
    }
}

/* JSON inside a script element.  These characters stand only in strings, where they may be escaped:
   without them nothing looks like the end of the element, and no old parser sees a line end. */
static void script_json(strbuf *b, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool separator = n - i > 2 && !memcmp(s + i, "\xe2\x80", 2) &&
                         (s[i + 2] == '\xa8' || s[i + 2] == '\xa9');
        if (separator) {
            strbuf_str(b, s[i + 2] == '\xa8' ? "\\u2028" : "\\u2029");
            i += 2;
        } else if (s[i] == '<' || s[i] == '>' || s[i] == '&') {
            strbuf_printf(b, "\\u%04x", (unsigned)s[i]);
        } else {
            strbuf_char(b, s[i]);
        }
    }
}

static void page_data(strbuf *b, const page_head *head)
{
    strbuf json;
    strbuf_init(&json, b->mem);
    json_writer to = jw_strbuf(&json), *w = &to;
    jw_object(w);
    jw_member_u64(w, "page", 1);
    jw_member_text(w, "title", head->title);
    jw_member_optional(w, "version", head->version);
    jw_name(w, "lattice");
    page_lattice(w, head->session_order, b->mem);
    jw_member_array(w, "entries");
    script_json(b, json.at, json.n);
    strbuf_free(&json);
}

void page_begin(strbuf *b, const page_head *head)
{
    size_t css = part_named("page_style"), js = part_named("page_script");
    strbuf_str(b, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                  "<meta name=\"color-scheme\" content=\"light dark\">\n");
    strbuf_printf(b,
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                  "script-src 'sha256-%s'; style-src 'sha256-%s'; base-uri 'none'; "
                  "form-action 'none'\">\n<title>",
                  parts[js].hash, parts[css].hash);
    html_text(b, head->title);
    strbuf_str(b, "</title>\n<style>");
    strbuf_str(b, parts[css].text);
    strbuf_str(b, "</style>\n</head>\n<body>\n<noscript>");
    html_text(b, head->title);
    strbuf_str(b, ". This page needs JavaScript; ratel explain prints the same as text."
                  "</noscript>\n<div id=\"page\"></div>\n"
                  "<script type=\"application/json\" id=\"data\">");
    page_data(b, head);
}

void page_entry(strbuf *b, const char *json, size_t n, bool first)
{
    while (n && (json[n - 1] == '\n' || json[n - 1] == ' ')) n--;
    strbuf_str(b, first ? "\n" : ",\n");
    script_json(b, json, n);
}

void page_end(strbuf *b)
{
    strbuf_str(b, "]}</script>\n<script>");
    strbuf_str(b, parts[part_named("page_script")].text);
    strbuf_str(b, "</script>\n</body>\n</html>\n");
}
