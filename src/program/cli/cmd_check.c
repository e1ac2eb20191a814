/*
 * cmd_check.c - ratel check.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/all_anomalies.h"
#include "cli/backends.h"
#include "cli/modules.h"
#include "cli/ci.h"
#include "cli/coverage_report.h"
#include "cli/page_output.h"
#include "cli/synth_cli.h"
#include "opt/level.h"

/* --level all fits one screen: the answers wait until it is known which of them matter. */
typedef struct all_answers {
    char **text;          /* of violated and undecided levels, and of what "holds" of the strongest
                             was worth; or NULL */
    const char **anomaly; /* "": none */
    bool *strongest;      /* holds, and no other level that holds implies it */
    size_t at;            /* the level that is being answered */
} all_answers;

enum { COUNT_ACCEPTED = 3 }; /* after the exit statuses of the three verdicts */

typedef struct check {
    args *a;
    FILE *out;
    int status;    /* so far */
    char **levels; /* as typed, or every level */
    size_t n_levels;
    bool all;
    char *words;         /* storage of the typed names */
    synth *iso;          /* levels written by the user; NULL: there are none */
    int *number;         /* [level]: of a file's level in iso, else -1 */
    ci_report *ci;       /* NULL: nobody asks for a collection of the answers */
    const char **unread; /* inputs that could not be read */
    size_t n_unread;
    size_t count[4]; /* answers: holds, violated, undecided, violated and accepted */
    path_list paths; /* of --recursive */
    all_answers all_told;
    all_answers *told; /* &all_told: --level all in text; NULL: answers are printed as they come */
} check;

/* 1 if anything is violated, else the highest. */
static void merge_status(check *c, int status)
{
    if (c->status == EXIT_VIOLATED) return;
    if (status == EXIT_VIOLATED || status > c->status) c->status = status;
}

static bool push_level(check *c, char *name)
{
    char **more = realloc(c->levels, (c->n_levels + 1) * sizeof *more);
    if (!more) {
        complain("out of memory");
        c->a->short_of_memory = true;
        return false;
    }
    c->levels = more;
    int *numbers = realloc(c->number, (c->n_levels + 1) * sizeof *numbers);
    if (!numbers) {
        complain("out of memory");
        c->a->short_of_memory = true;
        return false;
    }
    c->number = numbers;
    numbers[c->n_levels] = -1;
    more[c->n_levels++] = name;
    return true;
}

/* my.iso; the status of a refusal is the command's. */
static bool push_file(check *c, char *name)
{
    int status = EXIT_UNDECIDED;
    if (!c->iso && !(c->iso = session_open(c->a))) {
        complain("out of memory");
        c->a->short_of_memory = true;
        return false;
    }
    int level = level_given(c->iso, name, &status);
    if (level < 0) {
        c->status = status;
        return false;
    }
    if (!push_level(c, name)) return false;
    c->number[c->n_levels - 1] = level;
    return true;
}

/* The built-in level that decides a file's level as it was asked for, or "".  Without session order
   it is another one, if the built-in level always has it. */
static const char *pipeline_of(const check *c, size_t i)
{
    const char *order = c->a->value[O_SESSION_ORDER];
    const char *builtin = synth_level_builtin(c->iso, c->number[i]);
    ratel_level l;
    if (!pass_chosen(c->a, "recognise-levels")) return "";
    for (size_t k = 0; order && !strcmp(order, "off") && !ratel_level_at(&l, k); k++)
        if (!strcmp(l.name, builtin) && strcmp(l.session_order, "option")) return "";
    return builtin;
}

/* A level that is searched has no stages that could be shown. */
static bool is_searched(const check *c)
{
    for (size_t i = 0; i < c->n_levels; i++)
        if (c->number[i] >= 0 && (c->a->value[O_DUMP] || !*pipeline_of(c, i))) return true;
    return false;
}

/* Is `all` one of the words of the list? */
static bool asks_for_all(const char *list)
{
    for (const char *p = list;; p++) {
        size_t k = strcspn(p, ",");
        if (k == 3 && !strncmp(p, "all", 3)) return true;
        p += k;
        if (!*p) return false;
    }
}

static bool push_all(check *c)
{
    ratel_level l;
    c->all = true;
    for (size_t i = 0; !ratel_level_at(&l, i); i++)
        if (!push_level(c, (char *)(uintptr_t)l.name)) return false;
    return true;
}

static bool parse_levels(check *c)
{
    const char *given = c->a->value[O_LEVEL] ? c->a->value[O_LEVEL] : "serializable";
    size_t n = strlen(given);
    c->words = malloc(n + 1);
    if (!c->words) {
        complain("out of memory");
        c->a->short_of_memory = true;
        return false;
    }
    memcpy(c->words, given, n + 1);
    if (asks_for_all(given) && !push_all(c)) return false;
    for (char *p = c->words; *p;) {
        size_t k = strcspn(p, ",");
        bool last = !p[k];
        p[k] = 0;
        bool file = is_level_file(p), every = !strcmp(p, "all");
        if (!file && !every && ratel_level_named(p, NULL)) {
            complain_no_level(p);
            return false;
        }
        if (c->all && !file && !every) {
            complain("--level: all includes %s already; only files of levels can be added to it",
                     p);
            return false;
        }
        if (!every && !(file ? push_file(c, p) : push_level(c, p))) return false;
        if (last) break;
        p += k + 1;
    }
    if (!c->n_levels) complain("--level: no level given");
    return c->n_levels > 0;
}

static void print_warnings(const check *c, const char *name, const ratel_result *r)
{
    const char *id, *text;
    if (c->a->value[O_QUIET]) return;
    for (size_t i = 0; !ratel_result_warning(r, i, &id, &text); i++) {
        visible_to(stderr, name);
        fprintf(stderr, ": warning: %s [%s]\n", text, id);
    }
}

/* The name by which implications are known: a file's level that is a built-in one has that one's,
   any other file's none. */
static const char *known_name(const check *c, size_t i)
{
    return c->number[i] >= 0 ? pipeline_of(c, i) : c->levels[i];
}

static bool implies_level(const check *c, size_t i, size_t j, bool session_order)
{
    const char *a = known_name(c, i), *b = known_name(c, j);
    return *a && *b && (!strcmp(a, b) || ratel_level_implies(a, b, session_order) == 1);
}

/* Which of the levels that hold are not implied by another one that holds, and which of the
   violated ones imply no other violated one. */
static bool is_extreme(const check *c, const ratel_verdict *v, size_t i, bool violated,
                       bool session_order)
{
    ratel_verdict want = violated ? RATEL_VIOLATED : RATEL_HOLDS;
    if (v[i] != want) return false;
    for (size_t j = 0; j < c->n_levels; j++) {
        if (j == i || v[j] != want) continue;
        size_t strong = violated ? i : j, weak = violated ? j : i;
        bool implied = implies_level(c, strong, weak, session_order);
        /* Two names of one level (parallel SI and consistent view with sessions): the
           first stands for both. */
        bool mutual = implied && implies_level(c, weak, strong, session_order);
        if (implied && (!mutual || j < i)) return false;
    }
    return true;
}

static void summarise_json(const check *c, const char *name, const ratel_verdict *v,
                           bool session_order)
{
    json_writer to = json_file(c->out), *w = &to;
    jw_object(w);
    jw_member_u64(w, "schema", 1);
    jw_member_text(w, "history", name);
    for (int violated = 0; violated < 2; violated++) {
        jw_member_array(w, violated ? "weakest_violated" : "strongest");
        for (size_t i = 0; i < c->n_levels; i++)
            if (is_extreme(c, v, i, violated, session_order)) jw_text(w, c->levels[i]);
        jw_end_array(w);
    }
    if (c->a->n_modules) jw_member_array(w, "modules");
    for (size_t i = 0; i < c->a->n_modules; i++) jw_text(w, c->a->modules[i]);
    if (c->a->n_modules) jw_end_array(w);
    jw_end_object(w);
    jw_end_line(w);
}

/* What is violated, told at the weakest levels; what is undecided, and why. */
static void print_waiting(const check *c, const ratel_verdict *v, bool session_order)
{
    for (size_t i = 0; c->told && i < c->n_levels; i++)
        if (c->told->text[i] &&
            (v[i] != RATEL_VIOLATED || is_extreme(c, v, i, true, session_order)))
            fputs(c->told->text[i], c->out);
}

static void summarise_text(const check *c, const char *name, const ratel_verdict *v,
                           bool session_order)
{
    print_waiting(c, v, session_order);
    for (int violated = 0; violated < 2; violated++) {
        bool any = false;
        visible_to(c->out, name);
        fputs(violated ? ": weakest violated:" : ": strongest that hold:", c->out);
        for (size_t i = 0; i < c->n_levels; i++) {
            if (!is_extreme(c, v, i, violated, session_order)) continue;
            fprintf(c->out, "%s %s", any ? "," : "", c->levels[i]);
            if (violated && c->told && c->told->anomaly[i] && *c->told->anomaly[i])
                fprintf(c->out, " (%s)", c->told->anomaly[i]);
            any = true;
        }
        fputs(any ? "\n" : " none\n", c->out);
    }
    /* Answers that hold are not told one by one, so what they rest on stands here. */
    for (size_t i = 0; i < c->a->n_modules; i++) {
        fputs(i ? ", " : "  assuming what modules change and add: ", c->out);
        visible_to(c->out, c->a->modules[i]);
    }
    if (c->a->n_modules) fputc('\n', c->out);
}

/* `all` asks for mixtures only where some transaction names a level, and for linearizable only of
   single operations; files were asked for by their names. */
static bool is_left_out(const check *c, const ratel_history *h, size_t level)
{
    return c->all && c->number[level] < 0 && !ratel_history_concerns(h, c->levels[level]);
}

/* --- the lattice ------------------------------------------------------------------------------ */

typedef struct lattice {
    const check *c;
    const ratel_verdict *v;
    const ratel_history *h; /* levels that do not concern it are not shown */
    bool *above;            /* [i * n + j]: i implies j, another level */
    size_t *rank;           /* the longest way down to it */
} lattice;

static bool stronger(const lattice *x, size_t i, size_t j)
{
    return x->above[i * x->c->n_levels + j];
}

/* Another name of a level that stands before it, or a level that was not asked? */
static bool repeats(const lattice *x, size_t j)
{
    if (is_left_out(x->c, x->h, j)) return true;
    for (size_t i = 0; i < j; i++)
        if (stronger(x, i, j) && stronger(x, j, i)) return true;
    return false;
}

static void load_lattice(lattice *x, bool session_order)
{
    size_t n = x->c->n_levels;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            x->above[i * n + j] = i != j && implies_level(x->c, i, j, session_order);
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                if (stronger(x, i, j) && !stronger(x, j, i) && x->rank[j] <= x->rank[i]) {
                    x->rank[j] = x->rank[i] + 1;
                    moved = true;
                }
    }
}

/* i implies j, and nothing stands between them. */
static bool covers(const lattice *x, size_t i, size_t j)
{
    if (!stronger(x, i, j) || repeats(x, j)) return false;
    for (size_t k = 0; k < x->c->n_levels; k++)
        if (k != i && k != j && !repeats(x, k) && stronger(x, i, k) && stronger(x, k, j))
            return false;
    return true;
}

static char sign(const lattice *x, size_t i)
{
    return x->v[i] == RATEL_HOLDS ? '+' : x->v[i] == RATEL_VIOLATED ? '-' : '?';
}

/* Every level behind those that imply it, with what it implies itself. */
static void draw_lattice(check *c, const char *name, const ratel_verdict *v, bool session_order,
                         const ratel_history *h)
{
    size_t n = c->n_levels;
    lattice x = {c, v, h, calloc(n * n, sizeof(bool)), calloc(n, sizeof(size_t))};
    if (!x.above || !x.rank) {
        complain("out of memory");
        free(x.above);
        free(x.rank);
        return;
    }
    load_lattice(&x, session_order);
    visible_to(c->out, name);
    fputs(
        ": levels (+ holds, - violated, ? undecided; each line: a level > the levels it implies)\n",
        c->out);
    for (size_t rank = 0; rank < n; rank++)
        for (size_t i = 0; i < n; i++) {
            const char *between = " >";
            if (x.rank[i] != rank || repeats(&x, i)) continue;
            fprintf(c->out, "  %c %s", sign(&x, i), c->levels[i]);
            for (size_t j = i + 1; j < n; j++)
                if (stronger(&x, i, j) && stronger(&x, j, i))
                    fprintf(c->out, " = %s", c->levels[j]);
            for (size_t j = 0; j < n; j++) {
                if (!covers(&x, i, j)) continue;
                fprintf(c->out, "%s %c %s", between, sign(&x, j), c->levels[j]);
                between = ",";
            }
            fputc('\n', c->out);
        }
    free(x.above);
    free(x.rank);
}

/* The exit status of an answer that was collected; TAP is printed as answers are found. */
static int collected(const check *c, const ci_case *k)
{
    if (!k) return EXIT_UNDECIDED;
    bool ours = c->ci != c->a->ci; /* else test prints it, once the history has its name */
    if (c->a->value[O_TAP] && ours) tap_case(c->out, k, c->ci->n);
    if (k->outcome == EXIT_HOLDS && ci_fails(k))
        complain("%s: the level holds, but a warning that --fail-on-warning names fails the check",
                 k->history);
    if (k->outcome == EXIT_UNDECIDED && !ci_fails(k) && !c->a->value[O_QUIET])
        complain("%s: undecided, which --on-undecided lets pass", k->history);
    return k->status;
}

/* A history that cannot be read, or whose hints no execution can have. */
static void refuse(check *c, const char *name, int code)
{
    ratel *r = c->a->context;
    char text[4096];
    error_line(r, name, text, sizeof text);
    if (c->a->value[O_JSON]) json_error_line(c->out, "history", name, text);
    int status = complain_about(r, name, code);
    page_add_status(c->a, name, "", status, text);
    merge_status(c, c->ci ? collected(c, ci_plain(c->ci, name, "", status, false, text)) : status);
    const char **more = realloc(c->unread, (c->n_unread + 1) * sizeof *more);
    if (!more) return; /* its message has been printed */
    c->unread = more;
    c->unread[c->n_unread++] = name;
}

/* Many histories: how many of each verdict. */
static void print_counts(const check *c, size_t inputs)
{
    static const struct {
        int verdict;
        const char *word;
    } rows[] = {{EXIT_HOLDS, "hold"},
                {EXIT_VIOLATED, "violated"},
                {COUNT_ACCEPTED, "violated and accepted"},
                {EXIT_UNDECIDED, "undecided"}};
    size_t answers = 0;
    const char *between = ": ";
    if (inputs < 2 || c->a->value[O_JSON] || c->a->value[O_TAP]) return;
    for (size_t i = 0; i < 4; i++) answers += c->count[i];
    fprintf(c->out, "%zu histories, %zu %s", inputs, answers, answers == 1 ? "answer" : "answers");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!c->count[rows[i].verdict]) continue;
        size_t n = c->count[rows[i].verdict];
        const char *s = n == 1 && rows[i].verdict == EXIT_HOLDS ? "s" : "";
        fprintf(c->out, "%s%zu %s%s", between, n, rows[i].word, s);
        between = ", ";
    }
    if (c->n_unread) fprintf(c->out, "; %zu could not be read", c->n_unread);
    fputc('\n', c->out);
}

/* Beside a violation, an input that could not be read does not show in the exit status. */
static void name_unread(const check *c)
{
    if (c->status != EXIT_VIOLATED || !c->n_unread || c->a->value[O_JSON] || c->a->value[O_TAP])
        return;
    fputs("could not be read:", c->out);
    for (size_t i = 0; i < c->n_unread; i++) {
        fputs(i ? ", " : " ", c->out);
        visible_to(c->out, c->unread[i]);
    }
    fputc('\n', c->out);
}

/* Of an accepted violation, others of the history may be news. */
typedef struct further {
    check *c;
    const char *name;
    uint64_t begun;
    bool news;
} further;

static bool see_further(void *payload, const ratel_history *h, const ratel_result *r)
{
    further *x = payload;
    const ci_case *k = ci_answer(x->c->ci, x->name, h, r, seconds_since(x->begun));
    merge_status(x->c, collected(x->c, k));
    x->news = x->news || (k && !k->accepted);
    return x->c->a->value[O_ALL_ANOMALIES] || (k && k->accepted);
}

/* Whatever was found is accepted, but what was not looked at may be news: undecided, unless
   --on-undecided says otherwise. */
static void leave_open(check *c, const char *name, const char *level, const violation_list *l)
{
    char why[512];
    snprintf(why, sizeof why,
             "%zu %s found and accepted by the baseline, but not all further ones were looked for: "
             "%.300s",
             l->n, l->n == 1 ? "violation was" : "violations were", l->why);
    complain("%s: %s: %s", name, level, why);
    merge_status(c, collected(c, ci_plain(c->ci, name, level, EXIT_UNDECIDED, false, why)));
}

/* --all-anomalies, and what a baseline would hide. */
static void find_further(check *c, const char *name, const ratel_history *h, const ratel_result *a,
                         bool accepted)
{
    bool asked = c->a->value[O_ALL_ANOMALIES], json = c->a->value[O_JSON];
    if (!asked && !accepted) return;
    violation_list l;
    further x = {.c = c, .name = name, .begun = now()};
    violations_find(&l, c->a, h, a, c->ci ? see_further : NULL, &x);
    if (c->a->value[O_TAP]) {
        ; /* every one has its line */
    } else if (json && (asked || x.news || !l.complete)) {
        violations_json(&l, c->out, name, ratel_result_level(a));
    } else if (asked || x.news) {
        violations_print(&l, c->out);
    }
    if (accepted && !x.news && !l.complete) leave_open(c, name, ratel_result_level(a), &l);
    violations_free(&l);
}

static void write_answer(check *c, const ratel_result *a, const ratel_report *report)
{
    ratel *r = c->a->context;
    if (c->a->value[O_TAP]) return;
    if (!c->told) {
        bool json = c->a->value[O_JSON];
        int code = ratel_result_write(a, r, json ? "json" : "text", report, write_file_cb, c->out);
        if (code == RATEL_EIO) return; /* told when the file is closed */
        if (code) {
            c->a->outputs->lost = true; /* and never a status that says that all is said */
            merge_status(c, complain_about(r, report->history, code));
        }
        return;
    }
    text_kept t = {0};
    c->told->anomaly[c->told->at] = ratel_result_anomaly(a);
    if (ratel_result_verdict(a) == RATEL_HOLDS) return;
    int code = ratel_result_write(a, r, "text", report, keep_text, &t);
    if (code) {
        c->a->outputs->lost = true;
        merge_status(c, complain_about(r, report->history, code));
    }
    c->told->text[c->told->at] = t.at;
}

/* --level all: only the strongest levels that hold are asked what that was worth. */
static void keep_coverage(check *c, const char *name, const ratel_history *h, const ratel_result *a)
{
    char head[256];
    text_kept t = {0};
    if (!c->told->strongest[c->told->at]) return;
    snprintf(head, sizeof head, "%s: what the answer \"holds\" is worth:\n", ratel_result_level(a));
    if (keep_text(head, strlen(head), &t)) complain("out of memory");
    merge_status(c, coverage_tell(c->a, NULL, &t, name, h, a));
    c->told->text[c->told->at] = t.at;
}

/* What the options say of an answer, and the answer itself. */
static void put_answer(check *c, const char *name, const ratel_history *h, const ratel_result *a,
                       double read, uint64_t begun)
{
    double total = read + seconds_since(begun);
    ratel_verdict v = ratel_result_verdict(a);
    int plain = v == RATEL_HOLDS      ? EXIT_HOLDS
                : v == RATEL_VIOLATED ? EXIT_VIOLATED
                                      : EXIT_UNDECIDED;
    const ci_case *k = c->ci ? ci_answer(c->ci, name, h, a, total) : NULL;
    bool accepted = k && k->accepted;
    merge_status(c, c->ci ? collected(c, k) : plain);
    c->count[accepted ? COUNT_ACCEPTED : plain]++;
    ratel_report report = {.history = name,
                           .read_seconds = read,
                           .total_seconds = total,
                           .peak_rss_kib = peak_rss_kib(),
                           .deterministic = c->a->value[O_DETERMINISTIC] != NULL,
                           .verbose = c->a->value[O_VERBOSE] != NULL,
                           .colour = !c->a->value[O_JSON] && colour_wanted(c->a, fileno(c->out)),
                           .accepted = accepted,
                           .workload = c->ci ? c->ci->workload : NULL,
                           .counters = c->a->value[O_STATS] != NULL};
    write_answer(c, a, &report);
    stats_result(c->a, a);
    page_add_result(c->a, h, a, name);
    if (v == RATEL_VIOLATED) find_further(c, name, h, a, accepted);
    if (v != RATEL_HOLDS) return;
    if (c->a->value[O_COVERAGE] && c->told)
        keep_coverage(c, name, h, a);
    else if (c->a->value[O_COVERAGE])
        merge_status(c, coverage_tell(c->a, c->a->value[O_TAP] ? NULL : c->out, NULL, name, h, a));
    else if (c->a->command->bit == CMD_TEST && !c->told)
        coverage_warn(c->a, name, h, a);
}

/* The stage of each level; the semantic graph is the same for all. */
static void dump_history(check *c, const char *name)
{
    ratel *r = c->a->context;
    ratel_history *h;
    const char *stage = c->a->value[O_DUMP];
    int code = read_history(c->a, name, &h);
    if (code) {
        merge_status(c, complain_about(r, name, code));
        return;
    }
    module_chain chain;
    int status = modules_apply(c->a, name, &h, &chain);
    if (status) merge_status(c, status);
    size_t levels = status ? 0 : !stage || strcmp(stage, "asg") ? c->n_levels : 1;
    for (size_t i = 0; i < levels; i++) {
        code = stage ? ratel_dump(h, r, c->levels[i], stage, write_file_cb, c->out)
                     : emit_level(c->a, h, c->levels[i], c->out);
        if (code) merge_status(c, complain_about(r, name, code));
    }
    modules_free(&chain);
}

static bool dumpable(const check *c)
{
    static const char *const stages[] = {
#define STAGE(id, name, help) name,
#include "opt/stages.def"
#undef STAGE
    };
    const args *a = c->a;
    size_t i = 0, n = sizeof stages / sizeof *stages;
    while (i < n && strcmp(stages[i], a->value[O_DUMP])) i++;
    if (i == n)
        complain("--dump: \"%s\" is not one of %s", a->value[O_DUMP], option_table[O_DUMP].arg);
    else if (a->n_files > 1)
        complain("--dump: give one history only");
    else if (a->value[O_JSON] || a->value[O_CERTIFICATE] || a->value[O_RECHECK])
        complain(
            "--dump prints text and no answer: it cannot be combined with --json, --certificate, "
            "--recheck");
    else
        return true;
    return false;
}

static bool wants(const check *c, const char *level)
{
    for (size_t i = 0; i < c->n_levels; i++)
        if (!strcmp(c->levels[i], level)) return true;
    return false;
}

/* The level, if one of the n answers shows that it holds; else NULL. */
static ratel_result *implied(const check *c, ratel_result *const *known, size_t n,
                             const char *level)
{
    ratel_result *a = NULL;
    for (size_t k = 0; k < n && !a; k++)
        if (known[k]) ratel_result_implied(&a, c->a->context, known[k], level);
    return a;
}

/* Of a level in a file, its text is part of what is proved; where that cannot be done, the built-in
   level that decides the same. */
static int certify_answer(const check *c, size_t i, const ratel_result *a, const ratel_history *h)
{
    ratel_verdict v = ratel_result_verdict(a);
    int decided = v == RATEL_HOLDS      ? EXIT_HOLDS
                  : v == RATEL_VIOLATED ? EXIT_VIOLATED
                                        : EXIT_UNDECIDED;
    bool file = c->number[i] >= 0 && is_level_file(c->levels[i]) && decided != EXIT_UNDECIDED;
    bool beyond = !file;
    int status = file ? certify_level_text(c->a, c->levels[i], h, decided, &beyond) : EXIT_HOLDS;
    if (beyond) {
        if (file)
            complain("%s: the certificate is about %s, the built-in level that is equivalent",
                     c->a->value[O_CERTIFICATE], ratel_result_level(a));
        status = write_certificate(c->a, a, h);
    }
    return status;
}

/* --level all has decided every level before the first one is told. */
static void find_strongest(check *c, ratel_result *const *known, const char *const *name, size_t n,
                           ratel_verdict *verdicts, bool session_order)
{
    for (size_t i = 0; i < c->n_levels; i++)
        for (size_t k = 0; k < n; k++)
            if (known[k] && !strcmp(name[k], c->levels[i]))
                verdicts[i] = ratel_result_verdict(known[k]);
    for (size_t i = 0; i < c->n_levels; i++)
        c->told->strongest[i] = is_extreme(c, verdicts, i, false, session_order);
}

/* An answer about a level from a file has no place in TAP but its test line. */
static FILE *iso_out(const check *c)
{
    return c->a->value[O_TAP] ? stderr : c->out;
}

static ratel_verdict verdict_of(int status)
{
    return status == EXIT_HOLDS      ? RATEL_HOLDS
           : status == EXIT_VIOLATED ? RATEL_VIOLATED
                                     : RATEL_UNDECIDED;
}

/* What was told of one history is forgotten before the next. */
static void forget_told(check *c)
{
    for (size_t i = 0; c->told && i < c->n_levels; i++) {
        free(c->told->text[i]);
        c->told->text[i] = NULL;
        c->told->anomaly[i] = NULL;
        c->told->strongest[i] = false;
    }
    if (c->told) c->told->at = 0;
}

static void check_history(check *c, const char *name)
{
    ratel *r = c->a->context;
    ratel_history *h;
    uint64_t start = now();
    bool json = c->a->value[O_JSON];
    int code = read_history(c->a, name, &h);
    if (c->a->shown) name = c->a->shown;
    double read = seconds_since(start);
    stats_seconds(c->a, "history", "read", read);
    if (code) {
        refuse(c, name, code);
        return;
    }
    module_chain chain;
    int status_of_modules = modules_apply(c->a, name, &h, &chain);
    if (status_of_modules) {
        merge_status(c, status_of_modules);
        modules_free(&chain);
        return;
    }
    ratel_verdict *verdicts = calloc(c->n_levels, sizeof *verdicts);
    /* Several levels: the strongest of them first, and what one shows is not asked again. */
    const char *strongest[LEVELS];
    size_t n_strongest = 0;
    for (enum level_id id; level_in_turn(&id, TURN_CHECK, n_strongest);)
        strongest[n_strongest++] = level_at(id)->name;
    ratel_result *known[LEVELS] = {NULL};
    bool own = !c->a->backend; /* another solver is asked about every level */
    for (size_t i = 0; own && i < n_strongest && c->n_levels > 1; i++)
        if (wants(c, strongest[i]) && !(known[i] = implied(c, known, i, strongest[i]))) {
            progress_level(i + 1, c->n_levels);
            ratel_check(&known[i], r, h, strongest[i]);
        }
    const char *session = c->a->value[O_SESSION_ORDER];
    bool sessions = !session || strcmp(session, "off") != 0;
    if (c->told && verdicts && c->a->value[O_COVERAGE])
        find_strongest(c, known, strongest, n_strongest, verdicts, sessions);
    for (size_t i = 0; i < c->n_levels; i++) {
        ratel_result *a = NULL;
        uint64_t begun = now();
        const char *level = c->levels[i];
        if (is_left_out(c, h, i)) continue;
        progress_level(i + 1, c->n_levels);
        if (c->number[i] >= 0) {
            level = pipeline_of(c, i);
            if (!*level) {
                int status =
                    check_iso(c->a, c->iso, c->number[i], c->levels[i], h, name, iso_out(c));
                if (verdicts) verdicts[i] = verdict_of(status);
                if (status <= EXIT_UNDECIDED) c->count[status]++;
                page_add_status(c->a, name, c->levels[i], status, "");
                if (c->ci)
                    status = collected(c, ci_plain(c->ci, name, c->levels[i], status, false, ""));
                merge_status(c, status);
                if (c->a->value[O_CERTIFICATE])
                    merge_status(c, certify_level_text(c->a, c->levels[i], h, status, NULL));
                continue;
            }
            if (!c->a->value[O_QUIET])
                fprintf(stderr, "%s: decided as the built-in level %s, which is equivalent\n",
                        c->levels[i], level);
        }
        code = 0;
        bool lent = false; /* decided already */
        for (size_t k = 0; k < n_strongest && !lent; k++) {
            lent = known[k] && !strcmp(strongest[k], level);
            if (lent) a = known[k];
        }
        if (!a && own) a = implied(c, known, n_strongest, level);
        if (!a) code = check_by_backend(c->a, &a, h, level);
        if (code == RATEL_EHISTORY) { /* the same for every level */
            refuse(c, name, code);
            break;
        }
        if (code) {
            merge_status(c, complain_about(r, name, code));
            continue;
        }
        if (c->a->value[O_RECHECK] && (code = ratel_result_recheck(a, r, h)) != 0) {
            complain("%s: %s", name, ratel_errmsg(r));
            if (code != RATEL_EUNSUPPORTED) merge_status(c, exit_of(code));
        }
        if (c->a->value[O_CERTIFICATE]) merge_status(c, certify_answer(c, i, a, h));
        if (i == 0) print_warnings(c, name, a);
        ratel_verdict v = ratel_result_verdict(a);
        if (verdicts) verdicts[i] = v;
        if (c->told) c->told->at = i;
        put_answer(c, name, h, a, read, begun);
        if (!lent) ratel_result_free(a);
    }
    progress_level(0, 0);
    for (size_t i = 0; i < n_strongest; i++) ratel_result_free(known[i]);
    if (c->all && verdicts && code != RATEL_EHISTORY && !c->a->value[O_TAP]) {
        if (json) {
            summarise_json(c, name, verdicts, sessions);
        } else {
            summarise_text(c, name, verdicts, sessions);
            draw_lattice(c, name, verdicts, sessions, h);
        }
    }
    forget_told(c);
    free(verdicts);
    modules_free(&chain);
}

static void list_passes(void)
{
    static const char *const strategies[] = {
#define STRATEGY(id, name, help) name,
#include "opt/strategies.def"
#undef STRATEGY
    };
    ratel_pass p;
    for (size_t i = 0; !ratel_pass_at(&p, i); i++) {
        printf("%-16s %s (", p.name, p.help);
        const char *comma = "";
        for (size_t s = 0; s < sizeof strategies / sizeof *strategies; s++) {
            if (!(p.strategies >> s & 1)) continue;
            printf("%s%s", comma, strategies[s]);
            comma = ", ";
        }
        puts(p.on ? ")" : "; off by default)");
    }
    static const struct {
        const char *name, *help;
    } groups[] = {
#define GROUP(name, passes, help) {name, help},
#include "opt/pass_groups.def"
#undef GROUP
    };
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        printf("%-16s %s (several passes)\n", groups[i].name, groups[i].help);
}

static bool make_told(check *c)
{
    all_answers *x = &c->all_told;
    x->text = calloc(c->n_levels, sizeof *x->text);
    x->anomaly = calloc(c->n_levels, sizeof *x->anomaly);
    x->strongest = calloc(c->n_levels, sizeof *x->strongest);
    if (!x->text || !x->anomaly || !x->strongest) {
        complain("out of memory");
        return false;
    }
    c->told = x;
    return true;
}

/* Every history, and what closes the answers. */
static void check_all(check *c)
{
    args *a = c->a;
    bool text = !a->value[O_JSON] && !a->value[O_TAP] && !a->value[O_VERBOSE];
    if (c->all && text && !make_told(c)) {
        merge_status(c, EXIT_UNDECIDED);
        return;
    }
    for (size_t i = 0; i < a->n_files; i++)
        (a->value[O_DUMP] || a->value[O_EMIT] ? dump_history : check_history)(c, a->files[i]);
    if (!a->n_files) merge_status(c, EXIT_UNDECIDED); /* --recursive found no file */
    if (!a->value[O_DUMP] && !a->value[O_EMIT]) print_counts(c, a->n_files);
    name_unread(c);
    if (c->ci && c->ci != a->ci && a->value[O_TAP]) tap_close(c->out, c->ci->n);
    c->status = close_output(a, c->out, c->status);
    if (c->ci && c->ci != a->ci) c->status = ci_finish(c->ci, c->status);
}

/* --recursive: the files are what the directories stand for; false after a complaint. */
static bool find_paths(check *c)
{
    args *a = c->a;
    for (size_t i = 0; i < a->n_files; i++)
        if (!paths_below(a, a->files[i], &c->paths)) return false;
    a->files = (const char **)c->paths.at;
    a->n_files = c->paths.n;
    return true;
}

int cmd_check(args *a)
{
    check c = {.a = a, .ci = a->ci};
    ci_report own = {0};
    page_output page;
    if (a->value[O_PASS] && !strcmp(a->value[O_PASS], "list")) {
        list_passes();
        return EXIT_HOLDS;
    }
    if (!a->n_files) {
        complain("check: no history given (see ratel check --help)");
        return EXIT_USAGE;
    }
    const char **given = a->files;
    size_t n_given = a->n_files;
    if (!parse_levels(&c)) {
        if (!c.status) c.status = EXIT_USAGE;
    } else if (a->value[O_RECURSIVE] && !find_paths(&c)) {
        c.status = EXIT_IO;
    } else if (a->value[O_CERTIFICATE] && (a->n_files > 1 || c.n_levels > 1)) {
        complain("--certificate: give one history and one level only");
        c.status = EXIT_USAGE;
    } else if (a->n_modules && (a->value[O_DUMP] || a->value[O_TRUST])) {
        complain("--module cannot be combined with %s",
                 a->value[O_DUMP]
                     ? "--dump: a dump shows the stages of deciding a history without modules"
                     : "--trust-timestamps: trusted timestamps give every transaction its place, "
                       "so nothing is left that a module could add");
        c.status = EXIT_USAGE;
    } else if (a->n_modules && is_searched(&c)) {
        complain("--module: modules work only with levels from a file that are built-in levels: "
                 "what they add is no word of the language of such files");
        c.status = EXIT_USAGE;
    } else if (a->value[O_DUMP] && is_searched(&c)) {
        complain("--dump: not available for this level from a file");
        c.status = EXIT_USAGE;
    } else if (a->value[O_DUMP] && !dumpable(&c)) {
        c.status = EXIT_USAGE;
    } else if (!backend_open(a, is_searched(&c))) {
        c.status = EXIT_USAGE;
    } else if (!c.ci && ci_wanted(a) && (c.status = ci_open(c.ci = &own, a)) != EXIT_HOLDS) {
        ; /* it has said why */
    } else if (!(c.out = open_output(a))) {
        c.status = EXIT_IO;
    } else {
        page_open(a, &page);
        check_all(&c);
        c.status = page_close(a, &page, "ratel check", c.status);
    }
    backend_close(a);
    a->files = given;
    a->n_files = n_given;
    ci_free(&own);
    paths_free(&c.paths);
    synth_close(c.iso);
    free((void *)c.unread);
    free(c.all_told.text);
    free((void *)c.all_told.anomaly);
    free(c.all_told.strongest);
    free(c.number);
    free(c.words);
    free(c.levels);
    return c.status;
}
