/*
 * ci.c - the collection of answers: what each means for the exit status, and the files at the end.
 *
 * Policy is here and nowhere else.  An accepted violation counts as an answer that holds; an
 * undecided one counts so only with --on-undecided pass, and never if there was nothing to check or
 * if the command was interrupted, since a run that tested nothing must not look like a success.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/ci.h"

bool ci_wanted(const args *a)
{
    static const enum option_id asking[] = {O_JUNIT,        O_SARIF,          O_TAP,
                                            O_GITHUB,       O_BASELINE,       O_WRITE_BASELINE,
                                            O_ON_UNDECIDED, O_FAIL_ON_WARNING};
    for (size_t i = 0; i < sizeof asking / sizeof *asking; i++)
        if (a->value[asking[i]]) return true;
    return false;
}

/* --- options ---------------------------------------------------------------------------------- */

/* Is it a warning that check may give?  Complains if not. */
static bool is_check_warning(const char *id, size_t n)
{
    ratel_lint_rule rule;
    for (size_t i = 0; !ratel_lint_rule_at(&rule, i); i++) {
        if (strlen(rule.id) != n || strncmp(rule.id, id, n) != 0) continue;
        if (rule.in_check || rule.needs_level) return true;
        complain("--fail-on-warning: check does not look for %.*s; use ratel lint --only %.*s",
                 (int)n, id, (int)n, id);
        return false;
    }
    complain("--fail-on-warning: no warning \"%.*s\" (ratel lint --list lists them)", (int)n, id);
    return false;
}

static bool warning_fails(const args *a, const char *id)
{
    for (size_t i = 0; i < a->n_fail_on; i++)
        for (const char *p = a->fail_on[i]; *p;) {
            size_t n = strcspn(p, ",");
            if (strlen(id) == n && !strncmp(p, id, n)) return true;
            p += n + (p[n] == ',');
        }
    return false;
}

static bool warnings_known(const args *a)
{
    for (size_t i = 0; i < a->n_fail_on; i++) {
        const char *p = a->fail_on[i];
        do {
            size_t n = strcspn(p, ",");
            if (!is_check_warning(p, n)) return false;
            p += n + (p[n] == ',');
        } while (*p);
    }
    return true;
}

int ci_open(ci_report *ci, const args *a)
{
    *ci = (ci_report){.a = a};
    const char *undecided = a->value[O_ON_UNDECIDED], *baseline = a->value[O_BASELINE];
    ci->pass_undecided = undecided && !strcmp(undecided, "pass");
    if (undecided && !ci->pass_undecided && strcmp(undecided, "fail") != 0) {
        complain("--on-undecided: \"%s\" is neither fail nor pass", undecided);
        return EXIT_USAGE;
    }
    if (a->value[O_TAP] && a->value[O_JSON]) {
        complain("--tap and --json both choose what standard output is; give only one of them");
        return EXIT_USAGE;
    }
    if (!warnings_known(a)) return EXIT_USAGE;
    return baseline ? baseline_read(ci, baseline) : EXIT_HOLDS;
}

static void free_case(ci_case *k)
{
    if (!k) return;
    free(k->history);
    free(k->workload);
    free(k->level);
    free(k->reason);
    free(k->text);
    free(k->shape);
    free(k->warnings);
    free(k);
}

void ci_free(ci_report *ci)
{
    for (size_t i = 0; i < ci->n; i++) free_case(ci->cases[i]);
    for (size_t i = 0; i < ci->n_accepted; i++) free(ci->accepted[i].level);
    free(ci->cases);
    free(ci->accepted);
    *ci = (ci_report){0};
}

/* --- cases ------------------------------------------------------------------------------------ */

static int status_of_case(const ci_report *ci, const ci_case *k)
{
    if (k->outcome == EXIT_HOLDS || k->outcome == EXIT_VIOLATED || k->outcome == EXIT_UNDECIDED)
        for (size_t i = 0; i < k->n_warnings; i++)
            if (k->warnings[i].fails) return EXIT_VIOLATED;
    if (k->accepted) return EXIT_HOLDS;
    bool passes = ci->pass_undecided && !k->empty && !interrupted();
    return k->outcome == EXIT_UNDECIDED && passes ? EXIT_HOLDS : k->outcome;
}

bool ci_fails(const ci_case *k)
{
    return k->status != EXIT_HOLDS;
}

const char *ci_verdict(const ci_case *k)
{
    if (k->accepted) return "accepted";
    return k->outcome == EXIT_HOLDS       ? "holds"
           : k->outcome == EXIT_VIOLATED  ? "violated"
           : k->outcome == EXIT_UNDECIDED ? "undecided"
                                          : "error";
}

void ci_sentence(const ci_case *k, char *buf, size_t n)
{
    const char *fails = NULL;
    for (size_t i = 0; i < k->n_warnings && !fails; i++)
        if (k->warnings[i].fails) fails = k->warnings[i].text;
    bool told = k->outcome == EXIT_HOLDS && fails;
    snprintf(buf, n, "%s%s%s%s%s%s%s", *k->level ? k->level : "the history cannot be read",
             *k->level ? " " : "", *k->level ? ci_verdict(k) : "", *k->anomaly ? ", " : "",
             k->anomaly, told || *k->reason ? ": " : "", told ? fails : k->reason);
}

/* NULL if memory is short. */
static char *copy_text(const char *s)
{
    size_t n = strlen(s) + 1;
    char *copy = malloc(n);
    return copy ? memcpy(copy, s, n) : NULL;
}

/* A case with its strings; NULL if memory is short. */
static ci_case *new_case(ci_report *ci, const char *history, const char *level, const char *reason)
{
    if (ci->n == ci->cap) {
        size_t cap = ci->cap ? 2 * ci->cap : 16;
        ci_case **more = realloc(ci->cases, cap * sizeof *more);
        if (!more) return NULL;
        ci->cases = more;
        ci->cap = cap;
    }
    ci_case *k = calloc(1, sizeof *k);
    if (!k) return NULL;
    k->anomaly = "";
    k->history = copy_text(history);
    k->level = copy_text(level);
    k->reason = copy_text(reason);
    k->workload = ci->workload ? copy_text(ci->workload) : NULL;
    if (k->history && k->level && k->reason && (k->workload || !ci->workload)) return k;
    free_case(k);
    return NULL;
}

static const ci_case *keep_case(ci_report *ci, ci_case *k)
{
    if (!k) {
        if (!ci->short_of_memory) complain("out of memory");
        ci->short_of_memory = true;
        return NULL;
    }
    k->status = status_of_case(ci, k);
    ci->cases[ci->n++] = k;
    return k;
}

static bool put_warnings(ci_report *ci, ci_case *k, const ratel_result *r)
{
    size_t n = 0;
    while (!ratel_result_warning(r, n, NULL, NULL)) n++;
    if (!n) return true;
    k->warnings = calloc(n, sizeof *k->warnings);
    if (!k->warnings) return false;
    for (size_t i = 0; i < n; i++) {
        ci_warning *w = &k->warnings[i];
        ratel_result_warning(r, i, &w->id, &w->text);
        w->fails = warning_fails(ci->a, w->id);
    }
    k->n_warnings = n;
    return true;
}

static void put_places(ci_case *k, const ratel_history *h, const ratel_result *r)
{
    size_t t;
    ratel_txn_info info;
    for (size_t i = 0; !ratel_result_core_at(r, i, &t); i++) {
        k->core++;
        if (k->n_places == CI_PLACES || ratel_history_txn_at(h, t, &info)) continue;
        ci_place *p = &k->places[k->n_places++];
        memcpy(p->id, info.id, sizeof p->id);
        p->line = info.line;
    }
}

static bool put_text(ci_report *ci, ci_case *k, const ratel_result *r)
{
    text_kept t = {0};
    ratel_report report = {.history = k->history, .deterministic = 1};
    bool bad = ratel_result_write(r, ci->a->context, "text", &report, keep_text, &t) != 0;
    k->text = t.at;
    return !bad && t.at;
}

const ci_case *ci_answer(ci_report *ci, const char *history, const ratel_history *h,
                         const ratel_result *r, double seconds)
{
    ci_case *k = new_case(ci, history, ratel_result_level(r), ratel_result_reason(r));
    if (!k) return keep_case(ci, NULL);
    char shape[256];
    ratel_stat count;
    ratel_verdict v = ratel_result_verdict(r);
    k->outcome = v == RATEL_HOLDS      ? EXIT_HOLDS
                 : v == RATEL_VIOLATED ? EXIT_VIOLATED
                                       : EXIT_UNDECIDED;
    k->anomaly = ratel_result_anomaly(r);
    k->seconds = ci->a->value[O_DETERMINISTIC] ? 0 : seconds;
    k->empty =
        v == RATEL_UNDECIDED && !ratel_history_stat(&count, ci->a->context, h) && !count.txns;
    ci_shape(r, shape, sizeof shape);
    k->shape = copy_text(shape);
    put_places(k, h, r);
    if (!k->shape || !put_warnings(ci, k, r) || !put_text(ci, k, r)) {
        free_case(k);
        return keep_case(ci, NULL);
    }
    k->accepted = v == RATEL_VIOLATED && baseline_accepts(ci, k);
    return keep_case(ci, k);
}

const ci_case *ci_plain(ci_report *ci, const char *history, const char *level, int status,
                        bool empty, const char *reason)
{
    ci_case *k = new_case(ci, history, level, reason);
    if (k) {
        k->outcome = status;
        k->empty = empty;
    }
    return keep_case(ci, k);
}

void ci_rename_last(ci_report *ci, const char *from, const char *history)
{
    for (size_t i = ci->n; i > 0 && !strcmp(ci->cases[i - 1]->history, from); i--) {
        char *name = copy_text(history);
        if (!name) return; /* it keeps a name that says less */
        free(ci->cases[i - 1]->history);
        ci->cases[i - 1]->history = name;
    }
}

/* --- the files -------------------------------------------------------------------------------- */

typedef bool (*file_writer)(const ci_report *ci, FILE *f, int status);

static bool write_junit(const ci_report *ci, FILE *f, int status)
{
    (void)status;
    junit_write(ci, f);
    return true;
}

static bool write_baseline(const ci_report *ci, FILE *f, int status)
{
    (void)status;
    return baseline_write(ci, f);
}

static bool write_report(const ci_report *ci, enum option_id o, file_writer write, int status)
{
    output out;
    const char *path = ci->a->value[o];
    if (!path) return true;
    if (!output_open(ci->a, &out, path)) return false;
    if (write(ci, out.f, status)) return output_close(ci->a, &out);
    output_abandon(&out);
    return false;
}

/* The step's summary is a file that GitHub names; others in the same step may have written to it,
   so it is added to. */
static bool add_summary(const ci_report *ci)
{
    const char *path = getenv("GITHUB_STEP_SUMMARY");
    if (!path || !*path) return true;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "a");
    if (!f) {
        perror(path);
        if (fd >= 0) close(fd);
        return false;
    }
    github_summarise(ci, f);
    bool bad = ferror(f) != 0;
    if (!fclose(f) && !bad) return true;
    perror(path);
    return false;
}

int ci_finish(ci_report *ci, int status)
{
    const args *a = ci->a;
    if (ci->short_of_memory) {
        complain(
            "no report is written, because there was not enough memory for all of its answers");
        return status == EXIT_HOLDS ? EXIT_UNDECIDED : status;
    }
    bool whole = write_report(ci, O_JUNIT, write_junit, status);
    whole = write_report(ci, O_SARIF, sarif_write, status) && whole;
    whole = write_report(ci, O_WRITE_BASELINE, write_baseline, status) && whole;
    if (a->value[O_GITHUB]) {
        bool text = !a->value[O_JSON] && !a->value[O_TAP];
        github_annotate(ci, text ? stdout : stderr);
        whole = add_summary(ci) && whole;
    }
    return whole ? status : EXIT_IO;
}
