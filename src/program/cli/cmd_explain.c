/*
 * cmd_explain.c - ratel explain.
 *
 * Asks for the levels around the one that is explained: what holds implies what is weaker, what is
 * violated all that is stronger, so few of them are decided.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"

typedef struct survey {
    ratel_found *found;
    bool *known;
    size_t n;
    bool session_order;
} survey;

static int status_of(ratel_verdict v)
{
    return v == RATEL_HOLDS ? EXIT_HOLDS : v == RATEL_VIOLATED ? EXIT_VIOLATED : EXIT_UNDECIDED;
}

static bool needs_times(const char *level)
{
    static const char *const timed[] = {"forward-consistent-view", "generalized-snapshot-isolation",
                                        "prefix-consistent-snapshot-isolation",
                                        "strong-snapshot-isolation", "strict-serializable"};
    for (size_t i = 0; i < sizeof timed / sizeof *timed; i++)
        if (!strcmp(timed[i], level)) return true;
    return false;
}

static bool open_survey(survey *s, bool times)
{
    ratel_level l;
    size_t all = 0;
    while (!ratel_level_at(&l, all)) all++;
    s->found = calloc(all + 1, sizeof *s->found);
    s->known = calloc(all + 1, sizeof *s->known);
    if (!s->found || !s->known) {
        complain("out of memory");
        return false;
    }
    for (size_t i = 0; !ratel_level_at(&l, i); i++)
        if (l.decided && (times || !needs_times(l.name))) s->found[s->n++].level = l.name;
    return true;
}

/* What this answer says about the others. */
static void spread(survey *s, const char *level, ratel_verdict v)
{
    for (size_t i = 0; i < s->n; i++) {
        const char *other = s->found[i].level;
        bool same = !strcmp(other, level);
        bool follows =
            v == RATEL_HOLDS
                ? ratel_level_implies(level, other, s->session_order) == 1
                : v == RATEL_VIOLATED && ratel_level_implies(other, level, s->session_order) == 1;
        if (s->known[i] || !(same || follows)) continue;
        s->known[i] = true;
        s->found[i].verdict = v;
    }
}

static int ask(survey *s, ratel *r, const ratel_history *h, size_t i)
{
    ratel_result *a;
    int code = ratel_check(&a, r, h, s->found[i].level);
    if (code) return code;
    spread(s, s->found[i].level, ratel_result_verdict(a));
    ratel_result_free(a);
    return RATEL_OK;
}

/* The levels around the one that is explained are told along, not asked for: without --time they
   share so many milliseconds, each may use a third of what is left, and what is not decided by then
   is told as undecided. */
#define ASIDE_MS 6000
#define LEAST_MS 100

static int ask_aside(survey *s, args *a, const ratel_history *h, size_t i, int64_t *left)
{
    if (a->value[O_TIME]) return ask(s, a->context, h, i);
    uint64_t since = now();
    ratel_set(a->context, "time", *left / 3 > LEAST_MS ? *left / 3 : LEAST_MS);
    int code = ask(s, a->context, h, i);
    ratel_set(a->context, "time", 0);
    *left -= (int64_t)((now() - since) / 1000000);
    return code;
}

/* Those that tell most about others first; the first three in full where the level to be explained
   is chosen by them. */
static int ask_all(survey *s, args *a, const ratel_history *h)
{
    static const char *const telling[] = {
        "serializable", "snapshot-isolation",          "read-committed",     "causal",
        "read-atomic",  "parallel-snapshot-isolation", "strict-serializable"};
    int64_t left = ASIDE_MS;
    int code = RATEL_OK;
    for (size_t j = 0; j < sizeof telling / sizeof *telling; j++)
        for (size_t i = 0; i < s->n && !code; i++) {
            if (s->known[i] || strcmp(s->found[i].level, telling[j])) continue;
            code = !a->value[O_LEVEL] && j < 3 ? ask(s, a->context, h, i)
                                               : ask_aside(s, a, h, i, &left);
        }
    for (size_t i = 0; i < s->n && !code; i++)
        if (!s->known[i]) code = ask_aside(s, a, h, i, &left);
    return code;
}

/* Of several weakest ones, the one that most people know; below FAMOUS. */
#define FAMOUS 12u
static size_t fame(const char *level)
{
    static const char *const best_known[] = {"read-uncommitted",
                                             "read-committed",
                                             "monotonic-atomic-view",
                                             "cursor-stability",
                                             "read-atomic",
                                             "no-lost-update",
                                             "update-atomic",
                                             "causal",
                                             "prefix",
                                             "parallel-snapshot-isolation",
                                             "snapshot-isolation"};
    size_t i = 0, n = sizeof best_known / sizeof *best_known;
    _Static_assert(sizeof best_known / sizeof *best_known < FAMOUS, "FAMOUS is too small");
    while (i < n && strcmp(best_known[i], level)) i++;
    return i;
}

/* InnoDB's levels and the session guarantees have no arguments: they are told when asked for. */
static bool unshaped(const char *level)
{
    static const char *const names[] = {"innodb-repeatable-read", "innodb-repeatable-read-tight",
                                        "read-your-writes",       "monotonic-reads",
                                        "monotonic-writes",       "writes-follow-reads"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(level, names[i])) return true;
    return false;
}

/* One of the weakest that are violated; else the strongest that holds; else what there is. */
static const char *choose(const survey *s)
{
    const char *best = NULL;
    for (int want = 0; want < 2 && !best; want++) {
        ratel_verdict v = want ? RATEL_HOLDS : RATEL_VIOLATED;
        for (size_t i = 0; i < s->n; i++) {
            bool keep = s->found[i].verdict == v && !unshaped(s->found[i].level);
            for (size_t j = 0; j < s->n && keep; j++) {
                if (j == i || s->found[j].verdict != v || unshaped(s->found[j].level)) continue;
                const char *a = s->found[want ? j : i].level, *b = s->found[want ? i : j].level;
                bool implied = ratel_level_implies(a, b, s->session_order) == 1;
                bool mutual = implied && ratel_level_implies(b, a, s->session_order) == 1;
                keep = !implied || (mutual && i < j);
            }
            if (!keep) continue;
            /* (of those that hold, the table's last: the serializable ones) */
            if (!best || want || fame(s->found[i].level) < fame(best)) best = s->found[i].level;
        }
    }
    return best ? best : "serializable";
}

/* --- drawing ---------------------------------------------------------------------------------- */

static int write_all(const void *buf, size_t n, void *payload)
{
    int fd = *(int *)payload;
    for (const char *p = buf; n;) {
        ssize_t k = write(fd, p, n);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) return -1;
        p += k;
        n -= (size_t)k;
    }
    return 0;
}

/* Through Graphviz's dot, if there is one; false: there is none, or it failed. */
static bool draw_by_dot(const ratel_explanation *e, ratel *r, const ratel_telling *t, FILE *out)
{
    int ends[2];
    if (pipe(ends)) return false;
    fflush(out);
    pid_t child = fork();
    if (child < 0) {
        close(ends[0]);
        close(ends[1]);
        return false;
    }
    if (!child) {
        if (dup2(ends[0], 0) < 0 || dup2(fileno(out), 1) < 0) _exit(127);
        close(ends[0]);
        close(ends[1]);
        execlp("dot", "dot", "-Tsvg", (char *)NULL);
        _exit(127);
    }
    close(ends[0]);
    /* (SIGPIPE is ignored by the program: a child that is gone is a failed write) */
    ratel_explanation_write(e, r, "dot", t, write_all, &ends[1]);
    close(ends[1]);
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* --- the command ------------------------------------------------------------------------------ */

static const char *format_wanted(const args *a)
{
    static const struct {
        enum option_id option;
        const char *name;
    } formats[] = {{O_JSON, "json"}, {O_DOT, "dot"}, {O_SVG, "svg"}, {O_MARKDOWN, "markdown"}};
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

typedef struct answer {
    ratel_result *result;
    ratel_explanation *e;
    const char *instead_of;
} answer;

static void drop(answer *x)
{
    ratel_explanation_free(x->e);
    ratel_result_free(x->result);
    memset(x, 0, sizeof *x);
}

static int explain_level(args *a, const ratel_history *h, const char *level, answer *x)
{
    ratel *r = a->context;
    int code = ratel_check(&x->result, r, h, level);
    return code ? code : ratel_explain(&x->e, r, h, x->result);
}

/* The weakest level was violated, but nothing short shows it: a stronger one may have an
   argument. */
static int explain_stronger(args *a, const ratel_history *h, const survey *s, answer *x)
{
    const char *weakest = ratel_result_level(x->result);
    int code = RATEL_OK;
    for (size_t k = 0; k < FAMOUS * s->n && !code; k++) {
        size_t i = k % s->n;
        answer y = {0};
        const char *level = s->found[i].level;
        if (fame(level) != k / s->n || s->found[i].verdict != RATEL_VIOLATED ||
            !strcmp(level, weakest) || ratel_level_implies(level, weakest, s->session_order) != 1)
            continue;
        code = explain_level(a, h, level, &y);
        if (!code && ratel_explanation_shown(y.e, NULL)) {
            for (size_t j = 0; j < s->n; j++) /* a name that outlives the result */
                if (!strcmp(s->found[j].level, weakest)) y.instead_of = s->found[j].level;
            drop(x);
            *x = y;
            return code;
        }
        drop(&y);
    }
    return code;
}

static int tell(args *a, const answer *x, const survey *s, const char *name, const char *format)
{
    ratel *r = a->context;
    FILE *out = open_output(a);
    if (!out) return EXIT_IO;
    int code = RATEL_OK, status = status_of(ratel_result_verdict(x->result));
    bool svg = !strcmp(format, "svg");
    ratel_telling t = {.history = name,
                       .found = s->found,
                       .n_found = s->n,
                       .session_order = s->session_order,
                       .instead_of = x->instead_of,
                       .colour = !strcmp(format, "text") && colour_wanted(a, fileno(out))};
    bool drawn = svg && draw_by_dot(x->e, r, &t, out);
    if (svg && !drawn && !a->value[O_QUIET])
        fputs("ratel: Graphviz (dot) is not installed; using the built-in layout\n", stderr);
    if (!drawn) code = ratel_explanation_write(x->e, r, format, &t, write_file_cb, out);
    if (code) status = complain_about(r, name, code);
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
    ratel *r = a->context;
    ratel_history *h;
    ratel_stat st;
    const char *session = a->value[O_SESSION_ORDER], *level = a->value[O_LEVEL];
    survey s = {.session_order = !session || strcmp(session, "off") != 0};
    answer x = {0};
    int code = read_history(a, name, &h), status = EXIT_UNDECIDED;
    if (a->shown) name = a->shown;
    if (code) return refuse(a, name, format, code);
    code = ratel_history_stat(&st, r, h);
    if (!code && !open_survey(&s, st.with_times > 0)) code = RATEL_ENOMEM;
    if (!code && level && !(code = explain_level(a, h, level, &x)))
        spread(&s, ratel_result_level(x.result), ratel_result_verdict(x.result));
    if (!code && st.txns) code = ask_all(&s, a, h);
    if (!st.txns) s.n = 0;
    if (!code && !level && !(code = explain_level(a, h, choose(&s), &x)) &&
        ratel_result_verdict(x.result) == RATEL_VIOLATED && !ratel_explanation_shown(x.e, NULL))
        code = explain_stronger(a, h, &s, &x);
    status = code ? refuse(a, name, format, code) : tell(a, &x, &s, name, format);
    drop(&x);
    ratel_history_free(h);
    free(s.found);
    free(s.known);
    return status;
}

int cmd_explain(args *a)
{
    const char *level = a->value[O_LEVEL], *format = format_wanted(a);
    if (!format) return EXIT_USAGE;
    if (a->n_files != 1) {
        complain("usage: ratel explain [options] HISTORY");
        return EXIT_USAGE;
    }
    if (level && ratel_level_named(level, NULL)) {
        if (strchr(level, ',') || !strcmp(level, "all"))
            complain("explain: give one level only");
        else
            complain_no_level(level);
        return EXIT_USAGE;
    }
    return explain_history(a, a->files[0], format);
}
