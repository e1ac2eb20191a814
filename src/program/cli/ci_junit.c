/*
 * ci_junit.c - answers as JUnit XML, which nearly every CI system reads.
 *
 * One test case for each history and level: the history is the class, the level the test.  A
 * violation is a failure; an input that could not be read, and an undecided answer, are errors; an
 * accepted violation, and an undecided answer that passes, are skipped.
 */
#include <string.h>

#include "cli/ci.h"

/* Text of XML 1.0: control characters, stray bytes and the two non-characters have no place there,
   not even escaped, and become U+FFFD. */
static void xml_text(FILE *f, const char *s)
{
    size_t n = strlen(s);
    while (n) {
        unsigned char c = (unsigned char)*s;
        size_t len = utf8_length(s, n < 4 ? n : 4);
        bool control = c < 0x20 && c != '\n' && c != '\t';
        bool non = len == 3 && !memcmp(s, "\xef\xbf", 2) && (unsigned char)s[2] >= 0xbe;
        if (!len || control || non)
            fputs("\xef\xbf\xbd", f);
        else if (c == '&')
            fputs("&amp;", f);
        else if (c == '<')
            fputs("&lt;", f);
        else if (c == '>')
            fputs("&gt;", f);
        else if (c == '"')
            fputs("&quot;", f);
        else
            fwrite(s, 1, len, f);
        s += len ? len : 1;
        n -= len ? len : 1;
    }
}

static void attribute(FILE *f, const char *name, const char *value)
{
    fprintf(f, " %s=\"", name);
    xml_text(f, value);
    fputc('"', f);
}

enum junit_kind { JUNIT_PASSED, JUNIT_FAILURE, JUNIT_ERROR, JUNIT_SKIPPED };

static enum junit_kind kind_of(const ci_case *k)
{
    if (!ci_fails(k)) return k->outcome == EXIT_HOLDS ? JUNIT_PASSED : JUNIT_SKIPPED;
    return k->status == EXIT_VIOLATED ? JUNIT_FAILURE : JUNIT_ERROR;
}

static void outcome_xml(FILE *f, const ci_case *k)
{
    static const char *const names[] = {"", "failure", "error", "skipped"};
    enum junit_kind kind = kind_of(k);
    char text[4096];
    ci_sentence(k, text, sizeof text);
    if (kind == JUNIT_PASSED) return;
    fprintf(f, "      <%s", names[kind]);
    attribute(f, "message", text);
    if (kind == JUNIT_SKIPPED) {
        fputs("/>\n", f);
        return;
    }
    attribute(f, "type",
              *k->anomaly                ? k->anomaly
              : k->outcome == EXIT_HOLDS ? "warning"
                                         : ci_verdict(k));
    fputc('>', f);
    xml_text(f, k->text ? k->text : k->reason);
    if (k->workload && strcmp(k->workload, k->history) != 0) {
        fputs("The history is in ", f);
        xml_text(f, k->history);
        fputs(".\n", f);
    }
    fprintf(f, "</%s>\n", names[kind]);
}

static void case_xml(FILE *f, const ci_case *k)
{
    fputs("    <testcase", f);
    attribute(f, "classname", k->workload ? k->workload : k->history); /* the same in each run */
    attribute(f, "name", *k->level ? k->level : "read");
    fprintf(f, " time=\"%.3f\">\n", k->seconds);
    outcome_xml(f, k);
    if (k->n_warnings) {
        fputs("      <system-err>", f);
        for (size_t i = 0; i < k->n_warnings; i++) {
            fputs("warning: ", f);
            xml_text(f, k->warnings[i].text);
            fprintf(f, " [%s]\n", k->warnings[i].id);
        }
        fputs("</system-err>\n", f);
    }
    fputs("    </testcase>\n", f);
}

void junit_write(const ci_report *ci, FILE *f)
{
    size_t count[4] = {0};
    double seconds = 0;
    char totals[256];
    for (size_t i = 0; i < ci->n; i++) {
        count[kind_of(ci->cases[i])]++;
        seconds += ci->cases[i]->seconds;
    }
    snprintf(totals, sizeof totals,
             " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\" time=\"%.3f\"", ci->n,
             count[JUNIT_FAILURE], count[JUNIT_ERROR], count[JUNIT_SKIPPED], seconds);
    fprintf(f, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites%.*s>\n",
            (int)(strstr(totals, " skipped") - totals), totals);
    fprintf(f, "  <testsuite name=\"ratel %s\"%s>\n", ci->a->command->name, totals);
    for (size_t i = 0; i < ci->n; i++) case_xml(f, ci->cases[i]);
    fputs("  </testsuite>\n</testsuites>\n", f);
}
