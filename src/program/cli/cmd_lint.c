/*
 * cmd_lint.c - ratel lint: what makes a verdict on a history weak or meaningless.
 *
 * Text is one line a finding in the form of a compiler's warning, then where, and what to do; JSON
 * is one object a history.  With --fix the repaired history goes to -o, and the exit status is
 * about what is left.
 */
#include <string.h>

#include "cli/child.h"
#include "cli/sql_log.h"

static const char *const severities[] = {"note", "warning", "meaningless"};
static const char *const colours[] = {"\033[36m", "\033[33m", "\033[31m"};

typedef struct lint {
    args *a;
    FILE *out;
    int status;
    ratel_severity least;
    bool colour;
} lint;

static void merge_status(lint *l, int status)
{
    if (l->status == EXIT_VIOLATED) return;
    if (status == EXIT_VIOLATED || status > l->status) l->status = status;
}

/* Is the word an item of the list? */
static bool listed(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = list; *p;) {
        size_t k = strcspn(p, ",");
        if (k == n && !strncmp(p, word, n)) return true;
        p += k + (p[k] == ',');
    }
    return false;
}

static bool wanted(const lint *l, const char *id, unsigned severity)
{
    const char *only = l->a->value[O_ONLY];
    return severity >= l->least && (!only || listed(only, id));
}

static bool counts(const lint *l, const ratel_finding *f)
{
    return wanted(l, f->id, f->severity);
}

/* --- text ------------------------------------------------------------------------------------- */

/* Does the example say what was counted, and not where it was found first? */
static bool about_all(const char *id)
{
    static const char *const ids[] = {"skipped-operations", "all-aborted", "mostly-failed",
                                      "no-concurrency"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (!strcmp(id, ids[i])) return true;
    return false;
}

static void print_finding(const lint *l, const char *name, const ratel_finding *f)
{
    visible_to(l->out, name);
    fprintf(l->out, ": %s%s%s: %s [%s]\n", l->colour ? colours[f->severity] : "",
            severities[f->severity], l->colour ? "\033[0m" : "", f->text, f->id);
    fprintf(l->out, "    %llu %.*s", (unsigned long long)f->count,
            (int)(strlen(f->unit) - (f->count == 1 && f->unit[strlen(f->unit) - 1] == 's')),
            f->unit);
    if (*f->example) {
        fputs(f->count > 1 && !about_all(f->id) ? "; first: " : ": ", l->out);
        visible_to(l->out, f->example);
    }
    fprintf(l->out, "\n    do: %s\n", f->advice);
    if (f->fix) fprintf(l->out, "    --fix: %s\n", f->fix);
}

static void print_sum(const lint *l, const char *name, const unsigned *n)
{
    visible_to(l->out, name);
    if (!(n[0] + n[1] + n[2])) {
        fputs(": clean\n", l->out);
        return;
    }
    fprintf(l->out, ": %u meaningless, %u warning%s, %u note%s\n", n[2], n[1], n[1] == 1 ? "" : "s",
            n[0], n[0] == 1 ? "" : "s");
}

static void print_text(const lint *l, const char *name, const ratel_lint *found)
{
    ratel_finding f;
    unsigned n[3] = {0};
    for (size_t i = 0; !ratel_lint_at(found, i, &f); i++) {
        if (!counts(l, &f)) continue;
        n[f.severity]++;
        print_finding(l, name, &f);
    }
    print_sum(l, name, n);
}

static void print_fixes(const lint *l, const char *name, const ratel_lint *done)
{
    ratel_finding f;
    for (size_t i = 0; !ratel_lint_at(done, i, &f); i++) {
        visible_to(l->out, name);
        fprintf(l->out, ": fixed: %s (%llu) [%s]\n", f.fix, (unsigned long long)f.count, f.id);
    }
}

/* --- JSON ------------------------------------------------------------------------------------- */

/* A member whose value may be missing; then it is null. */
static void text_or_null(json_writer *w, const char *name, const char *value)
{
    jw_name(w, name);
    if (value)
        jw_text(w, value);
    else
        jw_null(w);
}

static void open_lint_json(json_writer *w, const char *name, const char *format)
{
    jw_object(w);
    jw_member_u64(w, "schema", 1);
    jw_member_text(w, "history", name);
    text_or_null(w, "format", format);
    jw_member_array(w, "findings");
}

static void finding_json(json_writer *w, const ratel_finding *f)
{
    jw_object(w);
    jw_member_text(w, "id", f->id);
    jw_member_text(w, "severity", severities[f->severity]);
    jw_member_u64(w, "count", f->count);
    text_or_null(w, "unit", f->unit);
    text_or_null(w, "text", f->text);
    text_or_null(w, "example", f->example);
    jw_member_array(w, "txns");
    for (int t = 0; t < 2 && f->txn[t]; t++) jw_text(w, f->txn[t]);
    jw_end_array(w);
    jw_member_optional(w, "key", f->key);
    text_or_null(w, "advice", f->advice);
    text_or_null(w, "fix", f->fix);
    jw_end_object(w);
}

static void close_lint_json(json_writer *w, bool meaningless, bool clean)
{
    jw_member_bool(w, "meaningless", meaningless);
    jw_member_bool(w, "clean", clean);
    jw_end_object(w);
    jw_end_line(w);
}

static void print_lint_json(const lint *l, const char *name, const char *format,
                            const ratel_lint *found, const ratel_lint *done, bool clean)
{
    ratel_finding f;
    bool meaningless = false;
    json_writer to = json_file(l->out), *w = &to;
    open_lint_json(w, name, format);
    for (size_t i = 0; !ratel_lint_at(found, i, &f); i++) {
        if (!counts(l, &f)) continue;
        meaningless = meaningless || f.severity == RATEL_MEANINGLESS;
        finding_json(w, &f);
    }
    jw_end_array(w);
    if (done) {
        jw_member_array(w, "fixed");
        for (size_t i = 0; !ratel_lint_at(done, i, &f); i++) {
            jw_object(w);
            jw_member_text(w, "id", f.id);
            jw_member_u64(w, "count", f.count);
            text_or_null(w, "unit", f.unit);
            jw_end_object(w);
        }
        jw_end_array(w);
    }
    close_lint_json(w, meaningless, clean);
}

static void refuse(lint *l, const char *name, int code)
{
    ratel *r = l->a->context;
    if (l->a->value[O_JSON]) {
        char text[4096];
        error_line(r, name, text, sizeof text);
        json_error_line(l->out, "history", name, text);
    }
    merge_status(l, complain_about(r, name, code));
}

/* --- the command ------------------------------------------------------------------------------ */

static bool clean(const lint *l, const ratel_lint *found)
{
    ratel_finding f;
    for (size_t i = 0; !ratel_lint_at(found, i, &f); i++)
        if (counts(l, &f)) return false;
    return true;
}

/* Repairs into -o, and lints what came out. */
static int fix(lint *l, const ratel_history *h, ratel_lint **done, ratel_lint **left)
{
    const args *a = l->a;
    ratel_history *fixed;
    const char *to = a->value[O_TO] ? a->value[O_TO] : "ratel";
    int code =
        ratel_history_fix(&fixed, done, a->context, h, a->value[O_ONLY], a->value[O_INIT_TXN]);
    if (code) return code;
    code = ratel_history_write_path(fixed, a->context, to, a->value[O_OUTPUT]);
    if (code == RATEL_EIO) a->outputs->lost = true;
    if (!code) print_lost(a, a->value[O_OUTPUT]);
    if (!code) code = ratel_lint_run(left, a->context, fixed);
    ratel_history_free(fixed);
    return code;
}

/* --- logs of SQL transactions ----------------------------------------------------------------- */

/* The severities of both tables are the same three, in the same order. */
static ratel_finding as_finding(const audit_finding *f)
{
    return (ratel_finding){.id = f->id,
                           .severity = (ratel_severity)f->severity,
                           .count = f->count,
                           .unit = f->unit,
                           .text = f->text,
                           .example = f->example ? f->example : "",
                           .txn = {f->txn},
                           .advice = f->advice};
}

typedef struct sql_lint {
    lint *l;
    const char *name;
} sql_lint;

static int lint_sql(void *ud)
{
    lint *l = ((sql_lint *)ud)->l;
    const char *name = ((sql_lint *)ud)->name;
    audit *log;
    audit_counts c;
    const audit_finding *at;
    size_t n;
    unsigned shown[3] = {0};
    bool json = l->a->value[O_JSON], first = true;
    json_writer w = json_file(l->out);
    int status = inspect_sql_log(l->a, l->out, name, &log, &c, &at, &n);
    if (!status && json) open_lint_json(&w, name, "ratel-sql");
    for (size_t i = 0; !status && i < n; i++) {
        ratel_finding f = as_finding(&at[i]);
        if (!counts(l, &f)) continue;
        shown[f.severity]++;
        if (json)
            finding_json(&w, &f);
        else
            print_finding(l, name, &f);
        first = false;
    }
    if (!status && json) {
        jw_end_array(&w);
        close_lint_json(&w, shown[2] > 0, first);
    } else if (!status) {
        print_sum(l, name, shown);
    }
    audit_free(log);
    return status ? status : first ? EXIT_HOLDS : EXIT_VIOLATED;
}

static void lint_history(lint *l, const char *name)
{
    int short_of_memory = EXIT_HOLDS;
    if (!l->a->value[O_FIX] && is_sql_log(name, &short_of_memory)) {
        sql_lint x = {l, name};
        bool failed;
        merge_status(l, run_in_child(l->a, l->out, name, lint_sql, &x, &failed));
        return;
    }
    if (short_of_memory) {
        merge_status(l, short_of_memory);
        return;
    }
    ratel *r = l->a->context;
    ratel_history *h = NULL;
    ratel_lint *found = NULL, *done = NULL, *left = NULL;
    int code = read_history(l->a, name, &h);
    if (!code) code = ratel_lint_run(&found, r, h);
    if (!code && l->a->value[O_FIX]) code = fix(l, h, &done, &left);
    if (code) { /* a file that could not be written is not the fault of the one that was read */
        refuse(l, l->a->outputs->lost ? l->a->value[O_OUTPUT] : name, code);
    } else {
        bool fine = clean(l, left ? left : found);
        if (l->a->value[O_JSON]) {
            print_lint_json(l, name, ratel_history_format(h), found, done, fine);
        } else {
            print_text(l, name, found);
            if (done) print_fixes(l, name, done);
        }
        if (!fine) merge_status(l, EXIT_VIOLATED);
    }
    ratel_lint_free(found);
    ratel_lint_free(done);
    ratel_lint_free(left);
    ratel_history_free(h);
}

static bool parse_severity(lint *l)
{
    const char *s = l->a->value[O_SEVERITY];
    if (!s) return true;
    for (int i = 0; i < 3; i++)
        if (!strcmp(s, severities[i])) {
            l->least = (ratel_severity)i;
            return true;
        }
    complain("--severity: \"%s\" is not one of note, warning, meaningless", s);
    return false;
}

static bool of_sql_logs(const char *id, size_t n)
{
    audit_finding f;
    for (size_t i = 0; audit_finding_at(i, &f); i++)
        if (!strncmp(f.id, id, n) && !f.id[n]) return true;
    return false;
}

static bool parse_only(const char *only)
{
    for (const char *p = only; p && *p;) {
        size_t n = strcspn(p, ","), i = 0;
        ratel_lint_rule rule;
        while (!ratel_lint_rule_at(&rule, i) && (strncmp(rule.id, p, n) || rule.id[n])) i++;
        if (ratel_lint_rule_at(&rule, i) && !of_sql_logs(p, n)) {
            complain("--only: no finding \"%.*s\" (ratel lint --list lists them)", (int)n, p);
            return false;
        }
        p += n + (p[n] == ',');
    }
    return true;
}

static void list_rules(FILE *out)
{
    ratel_lint_rule rule;
    for (size_t i = 0; !ratel_lint_rule_at(&rule, i); i++) {
        fprintf(out, "%s (%s%s)\n    %s\n    do: %s\n", rule.id, severities[rule.severity],
                rule.needs_level ? ", by check only"
                : rule.in_check  ? ", also by check"
                                 : "",
                rule.text, rule.advice);
        if (rule.fix) fprintf(out, "    --fix: %s\n", rule.fix);
    }
    audit_finding f;
    for (size_t i = 0; audit_finding_at(i, &f); i++)
        fprintf(out, "%s (%s, logs of SQL)\n    %s\n    do: %s\n", f.id, severities[f.severity],
                f.text, f.advice);
}

int cmd_lint(args *a)
{
    lint l = {.a = a, .out = stdout};
    bool fixes = a->value[O_FIX];
    if (!parse_severity(&l) || !parse_only(a->value[O_ONLY])) return EXIT_USAGE;
    if (a->value[O_LIST]) {
        list_rules(stdout);
        return EXIT_HOLDS;
    }
    if (!a->n_files) {
        complain("lint: no history given (see ratel lint --help)");
        return EXIT_USAGE;
    }
    if (fixes && (a->n_files != 1 || !a->value[O_OUTPUT])) {
        complain("lint --fix takes one history, and -o FILE for the repaired one");
        return EXIT_USAGE;
    }
    if (!fixes && (a->value[O_INIT_TXN] || a->value[O_TO])) {
        complain("--%s needs --fix", a->value[O_INIT_TXN] ? "init-txn" : "to");
        return EXIT_USAGE;
    }
    /* two streams on one: the report gives way */
    if (fixes && !strcmp(a->value[O_OUTPUT], "-")) l.out = stderr;
    if (!fixes && !(l.out = open_output(a))) return EXIT_IO;
    l.colour = !a->value[O_JSON] && colour_wanted(a, fileno(l.out));
    for (size_t i = 0; i < a->n_files; i++) lint_history(&l, a->files[i]);
    return fixes ? l.status : close_output(a, l.out, l.status);
}
