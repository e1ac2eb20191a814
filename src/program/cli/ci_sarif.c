/*
 * ci_sarif.c - answers as SARIF 2.1.0 (OASIS), for code scanning and for editors.
 *
 * A violation is a result of the rule with the anomaly's name.  It points to the line of the first
 * transaction of the violation in the history's file; the others are related locations.  What
 * stays the same from run to run (level, anomaly, shape) is its fingerprint.  A warning is a
 * result of level "warning", an undecided answer one of kind "open", and an input that could not
 * be read is a notification of the invocation.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/ci.h"
#include "opt/anomaly.h"

typedef struct sarif_rules {
    const char **id;
    size_t n, cap;
} sarif_rules;

/* Its index, or -1 if memory is short. */
static ptrdiff_t rule_index(sarif_rules *rules, const char *id)
{
    for (size_t i = 0; i < rules->n; i++) /* anomalies and warnings: a few dozen names */
        if (!strcmp(rules->id[i], id)) return (ptrdiff_t)i;
    if (rules->n == rules->cap) {
        size_t cap = rules->cap ? 2 * rules->cap : 16;
        const char **more = realloc(rules->id, cap * sizeof *more);
        if (!more) return -1;
        rules->id = more;
        rules->cap = cap;
    }
    rules->id[rules->n] = id;
    return (ptrdiff_t)rules->n++;
}

static const char *rule_of(const ci_case *k)
{
    return k->outcome == EXIT_VIOLATED ? (*k->anomaly ? k->anomaly : "violated") : "undecided";
}

static bool collect_rules(const ci_report *ci, sarif_rules *rules)
{
    for (size_t i = 0; i < ci->n; i++) {
        const ci_case *k = ci->cases[i];
        bool told = k->outcome == EXIT_VIOLATED || k->outcome == EXIT_UNDECIDED;
        if (told && rule_index(rules, rule_of(k)) < 0) return false;
        for (size_t j = 0; j < k->n_warnings; j++)
            if (rule_index(rules, k->warnings[j].id) < 0) return false;
    }
    return true;
}

static void message(json_writer *w, const char *name, const char *text)
{
    jw_member_object(w, name);
    jw_member_text(w, "text", text);
    jw_end_object(w);
}

static void rule_json(json_writer *w, const char *id)
{
    char about[512] = "";
    ratel_lint_rule rule;
    for (size_t i = 0; !ratel_lint_rule_at(&rule, i); i++)
        if (!strcmp(rule.id, id)) snprintf(about, sizeof about, "%s.", rule.text);
    for (size_t i = 0; i < ANOMALIES && !*about; i++)
        if (!strcmp(anomaly_at(i)->name, id))
            snprintf(about, sizeof about, "The anomaly %s%s%s%s.", id,
                     *anomaly_at(i)->others ? " (" : "", anomaly_at(i)->others,
                     *anomaly_at(i)->others ? ")" : "");
    if (!*about)
        snprintf(about, sizeof about, "The level is %s.",
                 strcmp(id, "undecided") ? "violated" : "neither shown to hold nor to be violated");
    if (about[0] >= 'a' && about[0] <= 'z') about[0] = (char)(about[0] - 'a' + 'A');
    jw_object(w);
    jw_member_text(w, "id", id);
    message(w, "shortDescription", about);
    jw_end_object(w);
}

/* A path as a URI reference: what is not unreserved is escaped, byte by byte. */
static void uri_json(json_writer *w, const char *path)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
    char uri[3 * 4096 + 8];
    size_t n = 0;
    if (path[0] == '/') n = (size_t)snprintf(uri, sizeof uri, "file://");
    for (; *path && n + 4 < sizeof uri; path++)
        if (strchr(plain, *path))
            uri[n++] = *path;
        else
            n += (size_t)snprintf(uri + n, 4, "%%%02X", (unsigned char)*path);
    uri[n] = 0;
    jw_member_text(w, "uri", uri);
}

/* Lines are lines of one file: a directory of files has none, nor has standard input. */
static bool is_one_file(const char *path)
{
    struct stat s;
    return strcmp(path, "-") && (stat(path, &s) || !S_ISDIR(s.st_mode));
}

static void location_json(json_writer *w, const char *path, uint64_t line, const char *what)
{
    jw_object(w);
    if (strcmp(path, "-") != 0) {
        jw_member_object(w, "physicalLocation");
        jw_member_object(w, "artifactLocation");
        uri_json(w, path);
        jw_end_object(w);
        if (line && is_one_file(path)) {
            jw_member_object(w, "region");
            jw_member_u64(w, "startLine", line);
            jw_end_object(w);
        }
        jw_end_object(w);
    }
    if (what) message(w, "message", what);
    jw_end_object(w);
}

static void places_json(json_writer *w, const ci_case *k)
{
    char what[128];
    jw_member_array(w, "locations");
    snprintf(what, sizeof what, "transaction %s", k->n_places ? k->places[0].id : "");
    location_json(w, k->history, k->n_places ? k->places[0].line : 0, k->n_places ? what : NULL);
    jw_end_array(w);
    if (k->n_places < 2) return;
    jw_member_array(w, "relatedLocations");
    for (size_t i = 1; i < k->n_places; i++) {
        snprintf(what, sizeof what, "transaction %s", k->places[i].id);
        location_json(w, k->history, k->places[i].line, what);
    }
    jw_end_array(w);
}

static void result_json(json_writer *w, sarif_rules *rules, const ci_report *ci, const ci_case *k)
{
    char text[4096];
    bool violated = k->outcome == EXIT_VIOLATED;
    ci_sentence(k, text, sizeof text);
    jw_object(w);
    jw_member_text(w, "ruleId", rule_of(k));
    jw_member_u64(w, "ruleIndex", (uint64_t)rule_index(rules, rule_of(k)));
    jw_member_text(w, "kind", violated ? "fail" : "open");
    jw_member_text(w, "level", violated ? "error" : "none");
    message(w, "message", text);
    places_json(w, k);
    if (violated && k->shape) {
        jw_member_object(w, "partialFingerprints");
        char fingerprint[1024];
        snprintf(fingerprint, sizeof fingerprint, "%s %s %s", k->level, k->anomaly, k->shape);
        jw_member_text(w, "ratelAnomaly/v1", fingerprint);
        jw_end_object(w);
        if (ci->n_accepted) jw_member_text(w, "baselineState", k->accepted ? "unchanged" : "new");
        if (k->accepted) {
            jw_member_array(w, "suppressions");
            jw_object(w);
            jw_member_text(w, "kind", "external");
            jw_member_text(w, "justification", "accepted by the baseline");
            jw_end_object(w);
            jw_end_array(w);
        }
    }
    jw_member_object(w, "properties");
    jw_member_text(w, "isolationLevel", k->level);
    jw_member_optional(w, "workload", k->workload);
    if (violated) jw_member_u64(w, "transactions", k->core);
    jw_end_object(w);
    jw_end_object(w);
}

static void warnings_json(json_writer *w, sarif_rules *rules, const ci_case *k)
{
    for (size_t i = 0; i < k->n_warnings; i++) {
        const ci_warning *x = &k->warnings[i];
        jw_object(w);
        jw_member_text(w, "ruleId", x->id);
        jw_member_u64(w, "ruleIndex", (uint64_t)rule_index(rules, x->id));
        jw_member_text(w, "level", x->fails ? "error" : "warning");
        message(w, "message", x->text);
        jw_member_array(w, "locations");
        location_json(w, k->history, 0, NULL);
        jw_end_array(w);
        jw_end_object(w);
    }
}

static bool is_error(const ci_case *k)
{
    return k->outcome != EXIT_HOLDS && k->outcome != EXIT_VIOLATED && k->outcome != EXIT_UNDECIDED;
}

static void invocation_json(json_writer *w, const ci_report *ci, int status)
{
    bool whole = true;
    for (size_t i = 0; i < ci->n; i++) whole = whole && !is_error(ci->cases[i]);
    jw_member_array(w, "invocations");
    jw_object(w);
    jw_member_bool(w, "executionSuccessful", whole);
    jw_member_i64(w, "exitCode", status);
    jw_member_array(w, "toolExecutionNotifications");
    for (size_t i = 0; i < ci->n; i++) {
        const ci_case *k = ci->cases[i];
        if (!is_error(k)) continue;
        jw_object(w);
        jw_member_text(w, "level", "error");
        message(w, "message", k->reason);
        jw_member_array(w, "locations");
        location_json(w, k->history, 0, NULL);
        jw_end_array(w);
        jw_end_object(w);
    }
    jw_end_array(w);
    jw_end_object(w);
    jw_end_array(w);
}

/* A warning is about the history: it is told once, with the first level. */
static bool is_first_of_history(const ci_report *ci, size_t i)
{
    return !i || strcmp(ci->cases[i - 1]->history, ci->cases[i]->history) != 0;
}

bool sarif_write(const ci_report *ci, FILE *f, int status)
{
    sarif_rules rules = {0};
    if (!collect_rules(ci, &rules)) {
        free((void *)rules.id);
        complain("out of memory");
        return false;
    }
    json_writer to = json_file(f), *w = &to;
    jw_object(w);
    jw_member_text(w, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    jw_member_text(w, "version", "2.1.0");
    jw_member_array(w, "runs");
    jw_object(w);
    jw_member_object(w, "tool");
    jw_member_object(w, "driver");
    jw_member_text(w, "name", "Ratel");
    jw_member_text(w, "version", ratel_version());
    jw_member_array(w, "rules");
    for (size_t i = 0; i < rules.n; i++) rule_json(w, rules.id[i]);
    jw_end_array(w);
    jw_end_object(w);
    jw_end_object(w);
    invocation_json(w, ci, status);
    jw_member_array(w, "results");
    for (size_t i = 0; i < ci->n; i++) {
        const ci_case *k = ci->cases[i];
        if (k->outcome == EXIT_VIOLATED || k->outcome == EXIT_UNDECIDED)
            result_json(w, &rules, ci, k);
        if (is_first_of_history(ci, i)) warnings_json(w, &rules, k);
    }
    jw_end_array(w);
    jw_end_object(w);
    jw_end_array(w);
    jw_end_object(w);
    jw_end_line(w);
    free((void *)rules.id);
    return true;
}
