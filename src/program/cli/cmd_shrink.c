/*
 * cmd_shrink.c - ratel shrink: a smallest part of a history that is still violated.
 *
 * The history is the answer, so what was done to it goes to standard error when the history goes to
 * standard output.  After an interrupt what was found so far is still written.
 */
#include <string.h>

#include "base/search.h"
#include "cli/modules.h"
#include "cli/sql_log.h"
#include "cli/synth_cli.h"

typedef struct shrink {
    args *a;
    FILE *told; /* where we say what was done */
    ratel_history *h, *part;
    synth *iso; /* NULL: a level that the library knows */
    int number; /* of the level in iso */
    const char *given;
    char level[96];
    bool session_order;
    ratel_verdict verdict;
    char anomaly[64], reason[1024];
    ratel_shrunk shrunk;
    uint64_t start; /* of the command: --time counts from here */
    double read, check, total;
} shrink;

typedef int (*item_at)(const ratel_history *h, size_t i);

static int txn_there(const ratel_history *h, size_t i)
{
    ratel_txn_info t;
    return ratel_history_txn_at(h, i, &t) == RATEL_OK;
}

static int op_there(const ratel_history *h, size_t i)
{
    ratel_op_info o;
    return ratel_history_op_at(h, i, &o) == RATEL_OK;
}

/* How many there are, of whatever outcome. */
static unsigned long long count(const ratel_history *h, item_at there)
{
    size_t enough = 1;
    while (there(h, enough - 1)) enough *= 2;
    SEARCH_FIRST(size_t, i, 0, enough, !there(h, i));
    return i;
}

/* --- telling ---------------------------------------------------------------------------------- */

static void print_text(const shrink *s, const char *name)
{
    FILE *f = s->told;
    if (f == stderr && s->a->value[O_QUIET]) return;
    visible_to(f, name);
    fprintf(f, ": %s %s", s->level, verdict_name(s->verdict));
    if (*s->anomaly) fprintf(f, " (%s)", s->anomaly);
    if (!s->part) {
        fputs(": ", f);
        visible_to(f, s->reason);
        fputc('\n', f);
        return;
    }
    fprintf(f, ": %llu of %llu transactions, %llu of %llu operations",
            (unsigned long long)s->shrunk.txns, count(s->h, txn_there),
            (unsigned long long)s->shrunk.ops, count(s->h, op_there));
    if (strcmp(s->shrunk.anomaly, s->anomaly)) fprintf(f, ", %s", s->shrunk.anomaly);
    if (!s->shrunk.minimal) fprintf(f, "; there may be a smaller one: %s", s->shrunk.reason);
    fputc('\n', f);
}

static void part_json(json_writer *w, const shrink *s, const char *to)
{
    jw_member_object(w, "shrunk");
    jw_member_text(w, "history", s->a->value[O_OUTPUT]);
    jw_member_text(w, "format", to);
    if (*s->shrunk.anomaly) jw_member_text(w, "anomaly", s->shrunk.anomaly);
    jw_member_u64(w, "all_txns", s->shrunk.txns);
    jw_member_u64(w, "all_ops", s->shrunk.ops);
    jw_member_u64(w, "trials", s->shrunk.trials);
    jw_member_bool(w, "minimal", s->shrunk.minimal);
    if (!s->shrunk.minimal) jw_member_text(w, "reason", s->shrunk.reason);
    jw_end_object(w);
}

static void print_shrink_json(const shrink *s, const char *name, const char *to)
{
    json_writer out = json_file(s->told), *w = &out;
    jw_object(w);
    jw_member_u64(w, "schema", 1);
    jw_member_text(w, "history", name);
    jw_member_text(w, "format", ratel_history_format(s->h));
    jw_member_text(w, "level", s->level);
    jw_member_text(w, "given", s->given);
    jw_member_bool(w, "session_order", s->session_order);
    jw_member_text(w, "verdict", verdict_name(s->verdict));
    jw_member_text(w, "reason", s->reason);
    if (*s->anomaly) jw_member_text(w, "anomaly", s->anomaly);
    jw_member_u64(w, "all_txns", count(s->h, txn_there));
    jw_member_u64(w, "all_ops", count(s->h, op_there));
    if (s->part) part_json(w, s, to);
    if (!s->a->value[O_DETERMINISTIC]) {
        jw_member_object(w, "seconds");
        jw_member_decimal(w, "read", s->read, 6);
        jw_member_decimal(w, "check", s->check, 6);
        jw_member_decimal(w, "shrink", s->total - s->read - s->check, 6);
        jw_member_decimal(w, "total", s->total, 6);
        jw_end_object(w);
        jw_member_u64(w, "peak_rss_kib", peak_rss_kib());
    }
    jw_end_object(w);
    jw_end_line(w);
}

/* --- deciding and shrinking ------------------------------------------------------------------- */

static void copy_text(char *to, size_t n, const char *text)
{
    snprintf(to, n, "%.*s", (int)n - 1, text);
}

static int judge_iso(const ratel_history *h, void *payload)
{
    const shrink *s = payload;
    return decide_iso(s->a, s->iso, s->number, h, NULL, 0) == EXIT_VIOLATED;
}

static int by_file(shrink *s)
{
    int status = decide_iso(s->a, s->iso, s->number, s->h, s->reason, sizeof s->reason);
    s->verdict = status == EXIT_HOLDS      ? RATEL_HOLDS
                 : status == EXIT_VIOLATED ? RATEL_VIOLATED
                                           : RATEL_UNDECIDED;
    if (s->verdict != RATEL_VIOLATED) return RATEL_OK;
    return ratel_shrink_by(&s->part, s->a->context, s->h, judge_iso, s, &s->shrunk);
}

static int by_level(shrink *s)
{
    ratel *r = s->a->context;
    ratel_result *a;
    uint64_t start = now();
    const char *name = s->iso ? synth_level_builtin(s->iso, s->number) : s->given;
    ratel_set(r, "quick", 1);
    int code = ratel_check(&a, r, s->h, name);
    s->check = seconds_since(start);
    if (code) return code;
    limit_rest(s->a, s->start);
    stats_result(s->a, a);
    s->verdict = ratel_result_verdict(a);
    s->session_order = ratel_result_session_order(a);
    copy_text(s->level, sizeof s->level, ratel_result_level(a));
    copy_text(s->anomaly, sizeof s->anomaly, ratel_result_anomaly(a));
    copy_text(s->reason, sizeof s->reason, ratel_result_reason(a));
    if (s->verdict == RATEL_VIOLATED) code = ratel_shrink(&s->part, r, s->h, a, &s->shrunk);
    ratel_result_free(a);
    return code;
}

static int write_part(shrink *s, const char *to)
{
    args *a = s->a;
    const char *out = a->value[O_OUTPUT] ? a->value[O_OUTPUT] : "-";
    ratel *mine = a->context, *fresh = NULL;
    /* an interrupted context writes no more */
    if (interrupted() && !ratel_open(&fresh, NULL)) a->context = fresh;
    int status = write_history(a, s->part, to, out);
    a->context = mine;
    ratel_close(fresh);
    return status;
}

static int shrink_file(shrink *s, const char *name, const char *to)
{
    uint64_t start = s->start = now();
    int code = read_history(s->a, name, &s->h), status;
    s->read = seconds_since(start);
    stats_seconds(s->a, "history", "read", s->read);
    if (code) return complain_about(s->a->context, name, code);
    warn_incomplete(s->a, name, s->h);
    limit_rest(s->a, start);
    module_chain chain;
    status = modules_apply(s->a, name, &s->h, &chain);
    if (status) {
        modules_free(&chain);
        return status;
    }
    bool file = s->iso && !*synth_level_builtin(s->iso, s->number);
    code = file ? by_file(s) : by_level(s);
    s->total = seconds_since(start);
    if (s->part) {
        stats_seconds(s->a, "shrink", "seconds", s->total - s->read - s->check);
        stats_number(s->a, "shrink", "trials", s->shrunk.trials);
    }
    if (code) {
        status = complain_about(s->a->context, name, code);
    } else {
        status = s->verdict == RATEL_HOLDS      ? EXIT_HOLDS
                 : s->verdict == RATEL_VIOLATED ? EXIT_VIOLATED
                                                : EXIT_UNDECIDED;
        int wrote = s->part ? write_part(s, to) : EXIT_HOLDS;
        if (wrote) {
            status = wrote;
        } else if (s->a->value[O_JSON]) {
            print_shrink_json(s, name, to);
        } else {
            print_text(s, name);
        }
    }
    ratel_history_free(s->part);
    modules_free(&chain);
    return status;
}

/* The one level; else a complaint and the exit status. */
static int find_level(shrink *s)
{
    const char *so = s->a->value[O_SESSION_ORDER];
    int status = EXIT_UNDECIDED;
    s->given = s->a->value[O_LEVEL] ? s->a->value[O_LEVEL] : "serializable";
    s->session_order = !so || strcmp(so, "off") != 0;
    if (is_level_file(s->given)) {
        s->iso = session_open(s->a);
        if (!s->iso) {
            complain("out of memory");
            return EXIT_UNDECIDED;
        }
        s->number = level_given(s->iso, s->given, &status);
        if (s->number < 0) return status;
        copy_text(s->level, sizeof s->level, synth_level_name(s->iso, s->number));
        return EXIT_HOLDS;
    }
    if (strchr(s->given, ',') || !strcmp(s->given, "all"))
        complain("shrink: give one level only");
    else if (!ratel_level_named(s->given, NULL))
        return EXIT_HOLDS;
    else
        complain_no_level(s->given);
    return EXIT_USAGE;
}

int cmd_shrink(args *a)
{
    shrink s = {.a = a};
    const char *out = a->value[O_OUTPUT], *to = a->value[O_TO] ? a->value[O_TO] : "ratel";
    bool file = out && strcmp(out, "-");
    if (a->n_files != 1) {
        complain("shrink: give one history (see ratel shrink --help)");
        return EXIT_USAGE;
    }
    if (a->value[O_JSON] && !file) {
        complain(
            "shrink: --json needs -o FILE, because the history would go to standard output too");
        return EXIT_USAGE;
    }
    int status;
    if (is_sql_log(a->files[0], &status)) {
        if (!file) {
            complain("shrink: a log of SQL transactions needs -o FILE");
            return EXIT_USAGE;
        }
        a->value[O_SHRUNK] = out;
        a->value[O_OUTPUT] = NULL;
        return cmd_audit(a);
    }
    if (status) return status;
    s.told = file ? stdout : stderr;
    status = find_level(&s);
    if (!status && a->n_modules && s.iso && !*synth_level_builtin(s.iso, s.number)) {
        complain("shrink: modules work only with levels from a file that are built-in levels");
        status = EXIT_USAGE;
    }
    if (!status) status = shrink_file(&s, a->files[0], to);
    synth_close(s.iso);
    return status;
}
