/*
 * cmd_stat.c - ratel stat: counts, and how they are spread over time, keys, sessions and sizes.
 *
 * JSON always has everything.  Text has the counts first; the bars follow on a terminal, or where
 * asked for (-v), so that what scripts read from a pipe stays short.  They use the width of the
 * terminal, at most 100 columns.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/child.h"
#include "cli/sql_log.h"

static const char *const classes[RATEL_SHAPE_CLASSES] = {"0",   "1",    "2",     "3-4",
                                                         "5-8", "9-16", "17-32", "33 or more"};

/* --- JSON ------------------------------------------------------------------------------------- */

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static void numbers_json(json_writer *w, const char *name, const uint64_t *n, size_t count)
{
    jw_member_array(w, name);
    for (size_t i = 0; i < count; i++) jw_u64(w, n[i]);
    jw_end_array(w);
}

static void sessions_json(json_writer *w, const ratel_shape *p)
{
    jw_member_object(w, "session_txns");
    jw_member_u64(w, "min", p->session_min);
    jw_member_u64(w, "median", p->session_median);
    jw_member_u64(w, "max", p->session_max);
    jw_member_text(w, "least", p->session_small);
    jw_member_text(w, "most", p->session_big);
    jw_end_object(w);
}

static void hot_keys_json(json_writer *w, const ratel_shape *p)
{
    jw_member_object(w, "hot_share");
    jw_member_decimal(w, "1%", share(p->top1, p->touches), 6);
    jw_member_decimal(w, "10%", share(p->top10, p->touches), 6);
    jw_end_object(w);
    jw_member_array(w, "hot_keys");
    for (size_t i = 0; i < p->hot; i++) {
        jw_object(w);
        jw_member_text(w, "key", p->hot_keys[i].key);
        jw_member_u64(w, "reads", p->hot_keys[i].reads);
        jw_member_u64(w, "writes", p->hot_keys[i].writes);
        jw_end_object(w);
    }
    jw_end_array(w);
}

static void shape_json(json_writer *w, const ratel_stat *s, const ratel_shape *p)
{
    uint64_t written = s->writes + s->appends;
    jw_member_decimal(w, "duplicate_ratio", share(s->duplicate_writes, written), 6);
    jw_member_u64(w, "initial_writes", s->initial_writes);
    jw_member_u64(w, "ambiguous_reads", p->ambiguous_reads);
    jw_member_u64(w, "most_writers", p->most_sources);
    if (p->ambiguity_counted) numbers_json(w, "reads_by_writers", p->sources, RATEL_SHAPE_CLASSES);
    numbers_json(w, "txns_by_ops", p->sizes, RATEL_SHAPE_CLASSES);
    sessions_json(w, p);
    hot_keys_json(w, p);
    if (!p->timed) return;
    jw_member_object(w, "concurrency");
    jw_member_i64(w, "first", p->first);
    jw_member_i64(w, "last", p->last);
    jw_member_array(w, "mean_open");
    for (size_t i = 0; i < RATEL_SHAPE_BINS; i++) jw_decimal(w, p->open[i], 3);
    jw_end_array(w);
    jw_end_object(w);
}

static void print_stat_json(FILE *out, const char *name, const char *format, const ratel_stat *s,
                            const ratel_shape *p)
{
    json_writer to = json_file(out), *w = &to;
    jw_object(w);
    jw_member_u64(w, "schema", 1);
    jw_member_text(w, "history", name);
    jw_member_text(w, "format", format);
#define N(field) jw_member_u64(w, #field, s->field)
    N(txns), N(ops), N(sessions), N(keys), N(aborted), N(unknown);
    jw_member_bool(w, "unique_values", s->unique_values);
    N(reads), N(writes), N(deletes), N(appends), N(scans), N(iterators), N(rows), N(failed);
    N(empty_txns), N(read_only), N(write_only), N(duplicate_writes), N(max_txn_ops);
    N(with_times), N(with_hints), N(max_concurrency), N(hot_key_ops);
#undef N
    jw_member_text(w, "hot_key", s->hot_key);
    shape_json(w, s, p);
    jw_end_object(w);
    jw_end_line(w);
}

/* --- text ------------------------------------------------------------------------------------- */

static void print_text(FILE *out, const char *name, const char *format, const ratel_stat *s)
{
    visible_to(out, name);
    fprintf(out, " (%s)\n", format);
#define N(field, text) fprintf(out, "  %-34s %llu\n", text, (unsigned long long)s->field)
    N(txns, "committed transactions");
    if (s->aborted) N(aborted, "aborted transactions");
    if (s->unknown) N(unknown, "transactions of unknown outcome");
    N(sessions, "sessions");
    N(keys, "keys");
    N(ops, "operations");
    N(reads, "  reads");
    N(writes, "  writes");
    if (s->deletes) N(deletes, "  deletes");
    if (s->appends) N(appends, "  appends");
    if (s->scans) N(scans, "  scans");
    if (s->iterators) N(iterators, "  iterators");
    if (s->rows) N(rows, "  rows returned");
    if (s->failed) N(failed, "  failed statements");
    N(read_only, "read-only transactions");
    N(write_only, "write-only transactions");
    if (s->empty_txns) N(empty_txns, "empty transactions");
    N(max_txn_ops, "operations of the largest");
    fprintf(out, "  %-34s %s\n", "unique values", s->unique_values ? "yes" : "no");
    if (s->duplicate_writes) N(duplicate_writes, "writes of a value already written");
    if (s->with_times) N(with_times, "transactions with times");
    if (s->max_concurrency) N(max_concurrency, "most transactions open at once");
    if (s->with_hints) N(with_hints, "operations with hints");
#undef N
    if (s->hot_key_ops)
        fprintf(out, "  %-34s %s (%llu operations)\n", "busiest key", s->hot_key,
                (unsigned long long)s->hot_key_ops);
}

/* --- bars ------------------------------------------------------------------------------------- */

typedef struct chart {
    FILE *out;
    bool colour;
    int columns;
    int width; /* of the longest bar */
} chart;

#define LEFT 22  /* columns of a bar's name */
#define RIGHT 16 /* and of its number */

static int columns(FILE *out)
{
    struct winsize w;
    const char *given = getenv("COLUMNS");
    long n = given ? strtol(given, NULL, 10) : 0;
    if (n <= 0 && !ioctl(fileno(out), TIOCGWINSZ, &w)) n = w.ws_col;
    if (n <= 0) n = 80;
    return n > 100 ? 100 : n < 50 ? 50 : (int)n;
}

static void title(const chart *c, const char *text)
{
    fprintf(c->out, "\n  %s%s%s\n", c->colour ? "\033[1m" : "", text, c->colour ? "\033[0m" : "");
}

static void bar(const chart *c, const char *name, double value, double most, const char *number)
{
    int n = most > 0 ? (int)(value / most * c->width + 0.5) : 0;
    if (value > 0 && !n) n = 1;
    /* names are cut, so that bars stand below each other */
    char shown[LEFT + 1];
    size_t len = strlen(name), cut = len > LEFT ? LEFT - 2 : len;
    while (cut && cut < len && ((unsigned char)name[cut] & 0xc0) == 0x80) cut--;
    snprintf(shown, sizeof shown, "%.*s%s", (int)cut, name, cut < len ? ".." : "");
    fprintf(c->out, "    %-*s %s", LEFT, shown, c->colour ? "\033[36m" : "");
    for (int i = 0; i < n; i++) fputc('#', c->out);
    fprintf(c->out, "%s%*s %s\n", c->colour ? "\033[0m" : "", c->width - n, "", number);
}

static void class_bars(const chart *c, const uint64_t *n)
{
    uint64_t most = 0, all = 0;
    for (size_t i = 0; i < RATEL_SHAPE_CLASSES; i++) {
        if (n[i] > most) most = n[i];
        all += n[i];
    }
    for (size_t i = 0; i < RATEL_SHAPE_CLASSES; i++) {
        char number[40];
        if (!n[i]) continue;
        snprintf(number, sizeof number, "%llu (%.1f%%)", (unsigned long long)n[i],
                 100 * share(n[i], all));
        bar(c, classes[i], (double)n[i], (double)most, number);
    }
}

/* Time from left to right, in rows of '#'. */
static void timeline(const chart *c, const ratel_shape *p)
{
    enum { ROWS = 6 };
    double most = 0, open[RATEL_SHAPE_BINS];
    /* on a narrow terminal, two slices in one */
    size_t one = c->columns < RATEL_SHAPE_BINS + 16 ? 2 : 1, bins = RATEL_SHAPE_BINS / one;
    for (size_t i = 0; i < bins; i++) {
        open[i] = (p->open[one * i] + p->open[one * i + one - 1]) / 2;
        if (open[i] > most) most = open[i];
    }
    title(c, "open transactions over time");
    for (int row = ROWS; row > 0; row--) {
        fprintf(c->out, "    %8.1f | %s", most * row / ROWS, c->colour ? "\033[36m" : "");
        int blanks = 0; /* no white space at the ends of lines */
        for (size_t i = 0; i < bins; i++) {
            double level = most > 0 ? open[i] / most * ROWS : 0;
            if (level < row - 0.5) {
                blanks++;
                continue;
            }
            fprintf(c->out, "%*s#", blanks, "");
            blanks = 0;
        }
        fprintf(c->out, "%s\n", c->colour ? "\033[0m" : "");
    }
    fprintf(c->out, "             from %lld to %lld\n", (long long)p->first, (long long)p->last);
}

static void print_bars(const chart *c, const ratel_stat *s, const ratel_shape *p)
{
    char number[80];
    if (p->timed && p->last > p->first) timeline(c, p);
    title(c, "transactions by number of operations");
    class_bars(c, p->sizes);
    title(c, "transactions of a session");
    const struct {
        const char *what, *name;
        uint64_t n;
    } session[] = {{"most", p->session_big, p->session_max},
                   {"median", "", p->session_median},
                   {"least", p->session_small, p->session_min}};
    for (size_t i = 0; i < 3; i++) {
        char left[80];
        snprintf(left, sizeof left, "%s%s%s", session[i].what, *session[i].name ? ": " : "",
                 session[i].name);
        snprintf(number, sizeof number, "%llu", (unsigned long long)session[i].n);
        bar(c, left, (double)session[i].n, (double)p->session_max, number);
    }
    if (p->hot) {
        title(c, "busiest keys (operations, of which writes)");
        double most = (double)(p->hot_keys[0].reads + p->hot_keys[0].writes);
        for (size_t i = 0; i < p->hot; i++) {
            uint64_t n = p->hot_keys[i].reads + p->hot_keys[i].writes;
            snprintf(number, sizeof number, "%llu, %llu", (unsigned long long)n,
                     (unsigned long long)p->hot_keys[i].writes);
            bar(c, p->hot_keys[i].key, (double)n, most, number);
        }
        fprintf(c->out, "    busiest 1%% of the keys: %.1f%%, 10%%: %.1f%%\n",
                100 * share(p->top1, p->touches), 100 * share(p->top10, p->touches));
    }
    if (p->ambiguity_counted) {
        title(c, "reads by number of possible writers");
        class_bars(c, p->sources);
        fprintf(c->out, "    repeated values: %.1f%%; initial values: %llu\n",
                100 * share(s->duplicate_writes, s->writes + s->appends),
                (unsigned long long)s->initial_writes);
    }
}

typedef struct sql_stat {
    const args *a;
    FILE *out;
    const char *name;
} sql_stat;

static int stat_sql(void *ud)
{
    const sql_stat *x = ud;
    return stat_sql_log(x->a, x->out, x->name);
}

int cmd_stat(args *a)
{
    int status = EXIT_HOLDS;
    if (!a->n_files) {
        complain("stat: no history given (see ratel stat --help)");
        return EXIT_USAGE;
    }
    FILE *out = open_output(a);
    if (!out) return EXIT_IO;
    bool json = a->value[O_JSON], bars = !json && (a->value[O_VERBOSE] || isatty(fileno(out)));
    chart c = {.out = out, .colour = colour_wanted(a, fileno(out))};
    c.columns = columns(out);
    c.width = c.columns - LEFT - RIGHT - 6;
    for (size_t i = 0; i < a->n_files; i++) {
        ratel_history *h;
        ratel_stat s;
        ratel_shape p;
        const char *name = a->files[i];
        int short_of_memory;
        if (is_sql_log(name, &short_of_memory)) {
            sql_stat x = {a, out, name};
            bool failed;
            int worse = run_in_child(a, out, name, stat_sql, &x, &failed);
            if (worse > status) status = worse;
            continue;
        }
        if (short_of_memory) {
            if (short_of_memory > status) status = short_of_memory;
            continue;
        }
        int code = read_history(a, name, &h);
        if (!code) warn_incomplete(a, name, h);
        if (!code) code = ratel_history_stat(&s, a->context, h);
        if (!code && (json || bars)) code = ratel_history_shape(&p, a->context, h, &s);
        if (code) {
            int worse = complain_about(a->context, name, code);
            if (worse > status) status = worse;
        } else if (json) {
            print_stat_json(out, name, ratel_history_format(h), &s, &p);
        } else {
            print_text(out, name, ratel_history_format(h), &s);
            if (bars) print_bars(&c, &s, &p);
        }
        ratel_history_free(h);
    }
    return close_output(a, out, status);
}
