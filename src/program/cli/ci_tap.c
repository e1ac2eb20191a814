/*
 * ci_tap.c - answers as the Test Anything Protocol, version 13, one test for each history and
 * level.
 *
 * A test that fails has a YAML block with the verdict, the anomaly and where it is.  An accepted
 * violation is a failure marked TODO, which consumers do not count; an undecided answer that passes
 * is skipped.  The plan comes last, since answers are printed as they are found.
 */
#include <string.h>

#include "cli/ci.h"

/* In a description a number sign would begin a directive. */
static void description(FILE *f, const char *s)
{
    char text[4096];
    visible_text(s, text, sizeof text);
    for (const char *p = text; *p; p++) {
        if (*p == '#') fputc('\\', f);
        fputc(*p, f);
    }
}

static void yaml_text(FILE *f, const char *name, const char *value)
{
    json_writer w = json_file(f); /* a string of JSON is one of YAML */
    fprintf(f, "  %s: ", name);
    jw_text(&w, value);
    fputc('\n', f);
}

static void diagnostics(FILE *f, const ci_case *k)
{
    fputs("  ---\n", f);
    yaml_text(f, "verdict", ci_verdict(k));
    if (*k->anomaly) yaml_text(f, "anomaly", k->anomaly);
    if (*k->reason) yaml_text(f, "message", k->reason);
    for (size_t i = 0; i < k->n_warnings; i++)
        if (k->warnings[i].fails) yaml_text(f, "warning", k->warnings[i].id);
    if (k->n_places) {
        fputs("  at:\n", f);
        for (size_t i = 0; i < k->n_places; i++) {
            json_writer w = json_file(f);
            fputs("    - ", f);
            jw_object(&w);
            jw_member_text(&w, "file", k->history);
            if (k->places[i].line) jw_member_u64(&w, "line", k->places[i].line);
            jw_member_text(&w, "transaction", k->places[i].id);
            jw_end_object(&w);
            fputc('\n', f);
        }
    }
    fputs("  ...\n", f);
}

void tap_case(FILE *f, const ci_case *k, size_t number)
{
    bool fails = ci_fails(k) || k->accepted;
    if (number == 1) fputs("TAP version 13\n", f);
    fprintf(f, "%s %zu - ", fails ? "not ok" : "ok", number);
    description(f, k->history);
    fputs(": ", f);
    description(f, *k->level ? k->level : "cannot be read");
    if (k->accepted && !ci_fails(k))
        fputs(" # TODO accepted by the baseline", f);
    else if (k->outcome == EXIT_UNDECIDED && !ci_fails(k))
        fputs(" # SKIP undecided", f);
    fputc('\n', f);
    if (fails) diagnostics(f, k);
}

void tap_close(FILE *f, size_t cases)
{
    if (!cases) fputs("TAP version 13\n", f);
    fprintf(f, "1..%zu\n", cases);
}
