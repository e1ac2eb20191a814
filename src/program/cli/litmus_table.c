/*
 * litmus_table.c - the table of litmus as text, Markdown, JSON and a page, and its comparison with
 * an earlier one.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/litmus.h"
#include "cli/timed_input.h"

/* Rows of one database stand together; the next one begins where this returns. */
static size_t same_database(const litmus_table *t, size_t from)
{
    size_t to = from;
    while (to < t->rows.n && !strcmp(t->rows.at[to].database, t->rows.at[from].database)) to++;
    return to;
}

/* --- text ------------------------------------------------------------------------------------- */

static void print_stories(const litmus_table *t, size_t from, size_t to, FILE *f)
{
    for (size_t r = from; r < to; r++)
        for (size_t c = 0; c < t->cases.n; c++) {
            const litmus_cell *k = &t->rows.at[r].cells[c];
            fprintf(f, "\n%s, %s: %s", t->rows.at[r].isolation, t->cases.at[c].name,
                    case_outcome_name(k->outcome));
            if (k->why) fputs(": ", f), visible_to(f, k->why);
            fputc('\n', f);
            if (k->story) fputs(k->story, f);
        }
}

static void print_errors(const litmus_table *t, size_t from, size_t to, FILE *f)
{
    for (size_t r = from; r < to; r++)
        for (size_t c = 0; c < t->cases.n; c++) {
            const litmus_cell *k = &t->rows.at[r].cells[c];
            if (k->outcome != CASE_ERROR) continue;
            fprintf(f, "error in %s at %s: ", t->cases.at[c].name, t->rows.at[r].isolation);
            visible_to(f, k->why ? k->why : "unknown");
            fputc('\n', f);
        }
}

static const char *none_of(const litmus_row *w)
{
    return w->judged ? "no level that is known" : "every level, since no other case is one of keys";
}

void litmus_print_text(const litmus_table *t, bool verbose, FILE *f)
{
    int widest = 20;
    for (size_t c = 0; c < t->cases.n; c++) {
        int n = (int)strlen(t->cases.at[c].name);
        if (n > widest) widest = n;
    }
    for (size_t from = 0, to; from < t->rows.n; from = to) {
        to = same_database(t, from);
        if (from) fputc('\n', f);
        fprintf(f, "%s\n%-*s", t->rows.at[from].database, widest, "");
        for (size_t r = from; r < to; r++) fprintf(f, "  %-18s", t->rows.at[r].isolation);
        fputc('\n', f);
        for (size_t c = 0; c < t->cases.n; c++) {
            fprintf(f, "%-*s", widest, t->cases.at[c].name);
            for (size_t r = from; r < to; r++)
                fprintf(f, "  %-18s", case_outcome_name(t->rows.at[r].cells[c].outcome));
            fputc('\n', f);
        }
        for (size_t r = from; r < to; r++) {
            const litmus_row *w = &t->rows.at[r];
            fprintf(f, "%s: ", w->isolation);
            if (*w->apart) fprintf(f, "apart from %s, ", w->apart);
            fprintf(f, "all that was seen is consistent with %s",
                    *w->strongest ? w->strongest : none_of(w));
            fprintf(f, w->documented ? "; documented: %s\n" : "%s\n",
                    w->documented ? w->documented : "");
        }
        print_errors(t, from, to, f);
        if (verbose) print_stories(t, from, to, f);
    }
}

/* --- Markdown --------------------------------------------------------------------------------- */

void litmus_print_markdown(const litmus_table *t, FILE *f)
{
    for (size_t from = 0, to; from < t->rows.n; from = to) {
        to = same_database(t, from);
        fprintf(f, "%s### %s\n\n| case |", from ? "\n" : "", t->rows.at[from].database);
        for (size_t r = from; r < to; r++) fprintf(f, " %s |", t->rows.at[r].isolation);
        fputs("\n|---|", f);
        for (size_t r = from; r < to; r++) fputs("---|", f);
        fputc('\n', f);
        for (size_t c = 0; c < t->cases.n; c++) {
            fprintf(f, "| `%s` |", t->cases.at[c].name);
            for (size_t r = from; r < to; r++) {
                enum case_outcome o = t->rows.at[r].cells[c].outcome;
                fprintf(f, o == CASE_HAPPENED ? " **%s** |" : " %s |",
                        o == CASE_NOT_APPLICABLE ? "-" : case_outcome_name(o));
            }
            fputc('\n', f);
        }
        fputs("| *consistent with* |", f);
        for (size_t r = from; r < to; r++) {
            const litmus_row *w = &t->rows.at[r];
            fprintf(f, " %s%s%s%s |", w->strongest, *w->apart ? " (apart from " : "", w->apart,
                    *w->apart ? ")" : "");
        }
        fputs("\n| *documented* |", f);
        for (size_t r = from; r < to; r++) {
            const litmus_row *w = &t->rows.at[r];
            fprintf(f, " %s |", w->documented ? w->documented : "not known");
        }
        fputc('\n', f);
    }
}

/* --- JSON ------------------------------------------------------------------------------------- */

void litmus_print_json(const litmus_table *t, bool times, FILE *f)
{
    json_writer to = json_file(f), *w = &to;
    for (size_t r = 0; r < t->rows.n; r++)
        for (size_t c = 0; c < t->cases.n; c++) {
            const litmus_row *row = &t->rows.at[r];
            const litmus_cell *k = &row->cells[c];
            const litmus_case *s = &t->cases.at[c];
            jw_object(w);
            jw_member_u64(w, "schema", 1);
            jw_member_text(w, "database", row->product);
            jw_member_text(w, "version", row->database);
            jw_member_text(w, "isolation", row->isolation);
            jw_member_text(w, "case", s->name);
            if (s->spec.anomaly) jw_member_text(w, "anomaly", s->spec.anomaly);
            jw_member_text(w, "outcome", case_outcome_name(k->outcome));
            if (k->file) jw_member_text(w, "history", k->file);
            if (k->check) {
                jw_member_text(w, "forbidden_by", s->spec.forbidden ? s->spec.forbidden : "");
                jw_member_text(w, "judged_by", k->history ? "check" : "audit");
                jw_member_text(w, "verdict", k->check);
            }
            if (k->why) jw_member_text(w, "reason", k->why);
            if (times) jw_member_decimal(w, "seconds", k->seconds, 3);
            jw_end_object(w);
            jw_end_line(w);
        }
}

/* --- a page ----------------------------------------------------------------------------------- */

static void print_escaped(FILE *f, const char *s)
{
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '<')
            fputs("&lt;", f);
        else if (c == '>')
            fputs("&gt;", f);
        else if (c == '&')
            fputs("&amp;", f);
        else if (c == '"')
            fputs("&quot;", f);
        else if ((c >= 0x20 || c == '\n') && c != 0x7f)
            fputc(c, f);
        else
            fprintf(f, "\\x%02x", c);
    }
}

static void print_page_cell(const litmus_case *c, const litmus_cell *k, FILE *f)
{
    const char *o = case_outcome_name(k->outcome);
    fprintf(f, "<td class=\"%s\">", o);
    if (k->story) fputs("<details><summary>", f);
    fputs(o, f);
    if (k->story) {
        fputs("</summary><pre>", f);
        print_escaped(f, k->story);
        if (k->check && c->spec.forbidden)
            fprintf(f, "%s: %s says %s", c->spec.forbidden, k->history ? "check" : "audit",
                    k->check);
        fputs("</pre></details>", f);
    } else if (k->why) {
        fputs(": ", f);
        print_escaped(f, k->why);
    }
    fputs("</td>", f);
}

static void print_page_table(const litmus_table *t, size_t from, size_t to, FILE *f)
{
    fputs("<h2>", f);
    print_escaped(f, t->rows.at[from].database);
    fputs("</h2>\n<table><thead><tr><th scope=\"col\">case</th>", f);
    for (size_t r = from; r < to; r++)
        fprintf(f, "<th scope=\"col\">%s</th>", t->rows.at[r].isolation);
    fputs("</tr></thead><tbody>\n", f);
    for (size_t c = 0; c < t->cases.n; c++) {
        const litmus_case *s = &t->cases.at[c];
        fputs("<tr><th scope=\"row\">", f);
        print_escaped(f, s->spec.title ? s->spec.title : s->name);
        fputs("</th>", f);
        for (size_t r = from; r < to; r++) print_page_cell(s, &t->rows.at[r].cells[c], f);
        fputs("</tr>\n", f);
    }
    fputs("<tr><th scope=\"row\">all that was seen is consistent with</th>", f);
    for (size_t r = from; r < to; r++) {
        const litmus_row *w = &t->rows.at[r];
        fprintf(f, "<td>%s%s%s%s</td>", w->strongest, *w->apart ? " (apart from " : "", w->apart,
                *w->apart ? ")" : "");
    }
    fputs("</tr>\n<tr><th scope=\"row\">documented</th>", f);
    for (size_t r = from; r < to; r++) {
        const litmus_row *w = &t->rows.at[r];
        fputs("<td>", f);
        print_escaped(f, w->documented ? w->documented : "not known");
        fputs("</td>", f);
    }
    fputs("</tr></tbody></table>\n", f);
}

void litmus_print_html(const litmus_table *t, FILE *f)
{
    fputs("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
          "'unsafe-inline'\"><title>ratel litmus</title>\n<style>body{font:15px/1.5 "
          "system-ui,sans-serif;margin:2em;color:#1b1b1b;background:#fff}table{border-collapse:"
          "collapse}th,td{border:1px solid #bbb;padding:.25em .6em;text-align:left;vertical-align:"
          "top}td.happened{background:#fbd5d0}td.aborted,td.blocked{background:#e3efd9}"
          "td.absent{background:#f1f7ea}td.error{background:#ffe9a8}td.not-applicable{color:#666}"
          "pre{margin:.4em 0 0;font-size:12px}summary{cursor:pointer}</style></head><body>\n"
          "<h1>What the databases let through</h1>\n<p>A cell says what became of the anomaly: it "
          "happened; a transaction was refused (aborted); a session had to wait (blocked); all of "
          "them completed and read correct values (absent).</p>\n",
          f);
    for (size_t from = 0, to; from < t->rows.n; from = to) {
        to = same_database(t, from);
        print_page_table(t, from, to, f);
    }
    fputs("</body></html>\n", f);
}

/* --- comparison with an earlier table --------------------------------------------------------- */

/* The text of a member of a line that litmus_print_json wrote; false: it has none. */
static bool member_of(const char *line, const char *name, char *to, size_t cap)
{
    char key[40];
    snprintf(key, sizeof key, "\"%s\":\"", name);
    const char *p = strstr(line, key);
    if (!p) return false;
    size_t n = 0;
    for (p += strlen(key); *p && *p != '"' && n + 1 < cap; p++) {
        if (*p == '\\' && p[1]) p++;
        to[n++] = *p;
    }
    to[n] = 0;
    return *p == '"';
}

static const litmus_cell *cell_of(const litmus_table *t, const char *product, const char *isolation,
                                  const char *name, const litmus_row **row)
{
    for (size_t r = 0; r < t->rows.n; r++) {
        *row = &t->rows.at[r];
        if (strcmp((*row)->product, product) != 0 || strcmp((*row)->isolation, isolation) != 0)
            continue;
        for (size_t c = 0; c < t->cases.n; c++)
            if (!strcmp(t->cases.at[c].name, name)) return &(*row)->cells[c];
    }
    return NULL;
}

typedef struct old_cell {
    char product[128], version[160], isolation[80], name[160], outcome[40];
} old_cell;

static bool read_old(const char *line, old_cell *o)
{
    return member_of(line, "database", o->product, sizeof o->product) &&
           member_of(line, "version", o->version, sizeof o->version) &&
           member_of(line, "isolation", o->isolation, sizeof o->isolation) &&
           member_of(line, "case", o->name, sizeof o->name) &&
           member_of(line, "outcome", o->outcome, sizeof o->outcome);
}

/* `old` is a text of whole lines, with a 0 after it. */
static int compare_lines(const litmus_table *t, char *old, const char *path, bool whole, FILE *to)
{
    size_t number = 0, differ = 0, same = 0, missing = 0;
    for (char *line = old, *end; *line; line = end) {
        end = line + strcspn(line, "\n");
        if (*end) *end++ = 0;
        old_cell o;
        const litmus_row *row;
        number++;
        if (!read_old(line, &o)) {
            complain("%s:%zu:1: this is not a line that litmus --json has printed", path, number);
            return EXIT_INPUT;
        }
        const litmus_cell *k = cell_of(t, o.product, o.isolation, o.name, &row);
        if (!k) {
            missing++;
            if (whole)
                fprintf(to, "%s, %s, %s: %s is expected, but it was not run\n", o.version,
                        o.isolation, o.name, o.outcome);
        } else if (strcmp(case_outcome_name(k->outcome), o.outcome) != 0) {
            differ++;
            fprintf(to, "%s, %s: %s with %s, %s with %s\n", o.isolation, o.name, o.outcome,
                    o.version, case_outcome_name(k->outcome), row->database);
        } else {
            same++;
        }
    }
    fprintf(to, "%zu cells as before, %zu differ, %zu were not run\n", same, differ, missing);
    return differ || (whole && missing) ? EXIT_VIOLATED : EXIT_HOLDS;
}

int litmus_compare(const litmus_table *t, const char *path, bool whole, FILE *to)
{
    char buf[1 << 14];
    text_kept text = {0};
    ptrdiff_t n = 0;
    FILE *old = timed_open(path);
    if (!old) return timed_failure(path);
    while ((n = timed_read(buf, sizeof buf, old)) > 0)
        if (memchr(buf, 0, (size_t)n) || keep_text(buf, (size_t)n, &text)) break;
    int status = EXIT_HOLDS;
    if (n < 0) {
        status = timed_failure(path);
    } else if (n > 0) {
        complain("%s: this is not what litmus --json has printed, or it is too long", path);
        status = EXIT_INPUT;
    } else if (text.at) {
        status = compare_lines(t, text.at, path, whole, to);
    } else {
        status = compare_lines(t, buf + (*buf = 0), path, whole, to);
    }
    fclose(old);
    free(text.at);
    return status;
}
