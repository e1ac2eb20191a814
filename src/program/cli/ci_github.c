/*
 * ci_github.c - answers for GitHub Actions: annotations on lines of files, and the job's summary.
 *
 * Annotations are workflow commands, lines that the runner takes out of the log.  Texts of inputs
 * are escaped as the runner asks, so that none can end its command and begin another.  The summary
 * is Markdown; the runner shows at most 1 MiB of it, so only the first failures are told in full.
 */
#include <string.h>
#include <sys/stat.h>

#include "cli/ci.h"

enum { TOLD_IN_FULL = 20 };

/* In the value of a property, a colon and a comma are escaped too. */
static void command_text(FILE *f, const char *s, bool property)
{
    for (; *s; s++)
        if (*s == '%' || *s == '\r' || *s == '\n' || (property && (*s == ':' || *s == ',')))
            fprintf(f, "%%%02X", (unsigned char)*s);
        else
            fputc(*s, f);
}

static void annotate(FILE *f, const char *severity, const ci_case *k, const char *title,
                     const char *text)
{
    struct stat s;
    fprintf(f, "::%s ", severity);
    if (!stat(k->history, &s) && S_ISREG(s.st_mode)) {
        fputs("file=", f);
        command_text(f, k->history, true);
        if (k->n_places && k->places[0].line)
            fprintf(f, ",line=%llu", (unsigned long long)k->places[0].line);
        fputc(',', f);
    }
    fputs("title=", f);
    command_text(f, title, true);
    fputs("::", f);
    command_text(f, text, false);
    fputc('\n', f);
}

void github_annotate(const ci_report *ci, FILE *f)
{
    for (size_t i = 0; i < ci->n; i++) {
        const ci_case *k = ci->cases[i];
        char title[256], text[4096];
        ci_sentence(k, text, sizeof text);
        snprintf(title, sizeof title, "%s%s%s", *k->anomaly ? k->anomaly : ci_verdict(k),
                 *k->level ? " at " : "", k->level);
        if (ci_fails(k))
            annotate(f, "error", k, title, k->text ? k->text : text);
        else if (k->outcome != EXIT_HOLDS)
            annotate(f, "notice", k, title, text);
        bool first = !i || strcmp(ci->cases[i - 1]->history, k->history) != 0;
        for (size_t j = 0; j < k->n_warnings && first; j++)
            if (!k->warnings[j].fails)
                annotate(f, "warning", k, k->warnings[j].id, k->warnings[j].text);
    }
    fflush(f);
}

/* Text in a table: nothing of it is markup. */
static void cell(FILE *f, const char *s)
{
    char text[512];
    visible_text(s, text, sizeof text);
    for (const char *p = text; *p; p++)
        if (strchr("|<>&`*_[]\\#~!@:", *p))
            fprintf(f, "&#%d;", *p);
        else
            fputc(*p, f);
}

/* A block of code, whose fence is longer than any row of backticks in it. */
static void code_block(FILE *f, const char *s)
{
    size_t fence = 3, row = 0;
    for (const char *p = s; *p; p++) {
        row = *p == '`' ? row + 1 : 0;
        if (row >= fence) fence = row + 1;
    }
    for (size_t i = 0; i < fence; i++) fputc('`', f);
    fprintf(f, "\n%.8000s%s", s, *s && s[strlen(s) - 1] == '\n' ? "" : "\n");
    if (strlen(s) > 8000) fputc('\n', f);
    for (size_t i = 0; i < fence; i++) fputc('`', f);
    fputs("\n", f);
}

void github_summarise(const ci_report *ci, FILE *f)
{
    size_t failed = 0, told = 0;
    for (size_t i = 0; i < ci->n; i++) failed += ci_fails(ci->cases[i]);
    fprintf(f, "### ratel %s: %zu of %zu answers fail\n\n", ci->a->command->name, failed, ci->n);
    fputs("| | history | level | verdict | anomaly |\n|---|---|---|---|---|\n", f);
    for (size_t i = 0; i < ci->n && i < 1000; i++) {
        const ci_case *k = ci->cases[i];
        fprintf(f, "| %s | ", ci_fails(k) ? "\xe2\x9d\x8c" : "\xe2\x9c\x85");
        cell(f, k->history);
        fputs(" | ", f);
        cell(f, *k->level ? k->level : "-");
        fprintf(f, " | %s | %s |\n", ci_verdict(k), k->anomaly);
    }
    if (ci->n > 1000) fprintf(f, "\n%zu more answers are not in this table.\n", ci->n - 1000);
    for (size_t i = 0; i < ci->n && told < TOLD_IN_FULL; i++) {
        const ci_case *k = ci->cases[i];
        if (!ci_fails(k)) continue;
        fputs("\n<details><summary>", f);
        cell(f, k->history);
        fputs(": ", f);
        cell(f, *k->level ? k->level : "cannot be read");
        fputs("</summary>\n\n", f);
        code_block(f, k->text ? k->text : k->reason);
        fputs("\n</details>\n", f);
        told++;
    }
    if (failed > told) fprintf(f, "\n%zu more failures are not shown in full.\n", failed - told);
    fputc('\n', f);
}
