/*
 * cmd_explain.c - ratel explain: reads a history, has the library choose a level and explain it
 * (ratel_survey_run), and writes or draws the explanation.
 */
#include <string.h>

#include "cli/modules.h"
#include "cli/page_output.h"
#include "cli/synth_cli.h"

static int status_of(ratel_verdict v)
{
    return v == RATEL_HOLDS ? EXIT_HOLDS : v == RATEL_VIOLATED ? EXIT_VIOLATED : EXIT_UNDECIDED;
}

static const char *format_wanted(const args *a)
{
    static const struct {
        enum option_id option;
        const char *name;
    } formats[] = {{O_JSON, "json"},
                   {O_DOT, "dot"},
                   {O_SVG, "svg"},
                   {O_TIKZ, "tikz"},
                   {O_MARKDOWN, "markdown"}};
    const char *found = NULL;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (!a->value[formats[i].option]) continue;
        if (found) {
            complain("explain: --%s and --%s cannot be combined", found, formats[i].name);
            return NULL;
        }
        found = formats[i].name;
    }
    return found ? found : "text";
}

static int write_explanation(args *a, const ratel_survey *s, const char *name, const char *format)
{
    ratel *r = a->context;
    FILE *out = open_output(a);
    if (!out) return EXIT_IO;
    int code, status = status_of(ratel_result_verdict(ratel_survey_result(s)));
    const ratel_explanation *e = ratel_survey_explanation(s);
    ratel_telling t = {.history = name,
                       .quiet = a->value[O_QUIET] != NULL,
                       .colour = !strcmp(format, "text") && colour_wanted(a, fileno(out))};
    ratel_survey_tell(s, &t);
    code = ratel_explanation_write(e, r, format, &t, write_file_cb, out);
    if (code) status = complain_about(r, name, code);
    page_add_explanation(a, e, &t);
    return close_output(a, out, status);
}

/* A history that cannot be read, or decided. */
static int refuse(args *a, const char *name, const char *format, int code)
{
    ratel *r = a->context;
    FILE *out = strcmp(format, "json") ? NULL : open_output(a);
    if (out) {
        char text[4096];
        error_line(r, name, text, sizeof text);
        json_error_line(out, "history", name, text);
        close_output(a, out, EXIT_INPUT);
    }
    return complain_about(r, name, code);
}

static int explain_history(args *a, const char *name, const char *format)
{
    ratel_history *h;
    ratel_survey *s = NULL;
    uint64_t start = now();
    int code = read_history(a, name, &h);
    if (a->shown) name = a->shown;
    if (code) return refuse(a, name, format, code);
    limit_rest(a, start);
    module_chain chain;
    int status = modules_apply(a, name, &h, &chain);
    if (!status) {
        code = ratel_survey_run(&s, a->context, h, a->value[O_LEVEL]);
        status = code ? refuse(a, name, format, code) : write_explanation(a, s, name, format);
    }
    ratel_survey_free(s);
    modules_free(&chain);
    return status;
}

/* A level of a file: an exit status; or < 0, if a built-in level, now in place of it, decides the
   same. */
static int explain_level_file(args *a, const char *format)
{
    const char *given = a->value[O_LEVEL], *builtin;
    int status = EXIT_UNDECIDED;
    synth *s = session_open(a);
    if (!s) {
        complain("out of memory");
        return EXIT_UNDECIDED;
    }
    int level = level_given(s, given, &status);
    builtin = level < 0 ? "" : synth_level_builtin(s, level);
    if (level >= 0 && *builtin) {
        if (!a->value[O_QUIET])
            fprintf(stderr, "%s: explained as the built-in level %s, which is equivalent\n", given,
                    builtin);
        a->value[O_LEVEL] = builtin;
        status = -1;
    } else if (level >= 0) {
        page_output page;
        page_open(a, &page);
        status = explain_iso(a, s, level, given, a->files[0], format);
        status = page_close(a, &page, a->files[0], status);
    }
    synth_close(s);
    return status;
}

int cmd_explain(args *a)
{
    const char *level = a->value[O_LEVEL], *format = format_wanted(a);
    if (!format) return EXIT_USAGE;
    if (a->n_files != 1) {
        complain("explain: give one history (see ratel explain --help)");
        return EXIT_USAGE;
    }
    if (level && is_level_file(level) && a->n_modules) {
        complain("explain: a level from a file takes no modules");
        return EXIT_USAGE;
    }
    if (level && is_level_file(level)) {
        int status = explain_level_file(a, format);
        if (status >= 0) return status;
        level = a->value[O_LEVEL];
    }
    if (level && ratel_level_named(level, NULL)) {
        if (strchr(level, ',') || !strcmp(level, "all"))
            complain("explain: give one level only");
        else
            complain_no_level(level);
        return EXIT_USAGE;
    }
    page_output page;
    page_open(a, &page);
    int status = explain_history(a, a->files[0], format);
    return page_close(a, &page, a->files[0], status);
}
