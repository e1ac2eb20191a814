/*
 * litmus_specs.c - ratel litmus --specs DIR: PostgreSQL's own isolation specs, run to the letter.
 *
 * DIR is the directory of isolation tests in PostgreSQL's source, with specs/ and expected/, or a
 * directory of .spec files beside which expected/ stands.  The output of each spec is compared with
 * expected/NAME.out and the alternatives NAME_0.out to NAME_9.out; a log of each permutation is
 * recorded and audited at the levels that its transactions were promised.  Expected outputs are
 * those of read committed, the server's default: at other levels outputs are not compared.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/litmus.h"
#include "cli/spec_log.h"

enum output_kind { OUTPUT_SAME, OUTPUT_ALTERNATIVE, OUTPUT_DIFFERS, OUTPUT_NOT_COMPARED };
static const char *const output_names[] = {"as expected", "as expected (alternative)", "differs",
                                           "not compared"};
static const char *const output_words[] = {"same", "alternative", "differs", "not-compared"};

typedef struct spec_row { /* one spec at one isolation level */
    const char *name, *isolation;
    enum output_kind output;
    uint32_t differs_at; /* line */
    isolation_result run;
    uint32_t verdicts[3]; /* permutations by audit_verdict */
    const char *reason;   /* of the first that is violated, else undecided */
    const char *failed;   /* the script could not be read or run to its end */
    double seconds;
} spec_row;

typedef struct reason_count {
    const char *text;
    uint32_t specs, logs;
} reason_count;

typedef struct specs {
    args *a;
    guard guard;
    mem mem;
    live live;
    reference *reference; /* of --reference, or NULL */
    const char *dir, *expected;
    VEC(const char *) names;
    VEC(spec_row) rows;
    VEC(reason_count) reasons; /* why audit leaves logs undecided */
    uint64_t start;
    int status;
    /* of the spec that runs */
    spec_row *row;
} specs;

static bool specs_stop(void *ud)
{
    const specs *p = ud;
    const char *limit = p->a->value[O_TIME];
    return interrupted() || (limit && seconds_since(p->start) > strtod(limit, NULL));
}

/* --- files ------------------------------------------------------------------------------------ */

static const char *text_of(mem *m, const char *format, const char *x, const char *y, const char *z)
{
    strbuf b;
    strbuf_init(&b, m);
    for (const char *p = format; *p; p++) {
        if (*p == '%') {
            strbuf_str(&b, x);
            x = y;
            y = z;
        } else {
            strbuf_char(&b, *p);
        }
    }
    return strbuf_cstr(&b);
}

static bool is_there(const char *path)
{
    struct stat s;
    return !stat(path, &s);
}

static bool find_directories(specs *p)
{
    const char *given = p->a->value[O_SPECS];
    const char *below = text_of(&p->mem, "%/specs", given, NULL, NULL);
    bool whole = is_there(below);
    p->dir = whole ? below : given;
    p->expected = text_of(&p->mem, whole ? "%/expected" : "%/../expected", given, NULL, NULL);
    if (is_there(p->dir)) return true;
    complain("%s: %s", given, strerror(errno));
    return false;
}

static bool is_asked_for(const specs *p, const char *name)
{
    for (size_t i = 0; i < p->a->n_files; i++)
        if (!strcmp(p->a->files[i], name)) return true;
    return !p->a->n_files;
}

static int compare_spec_names(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

static bool are_found(const specs *p)
{
    for (size_t i = 0; i < p->a->n_files; i++) {
        bool found = false;
        for (size_t k = 0; k < p->names.n; k++)
            found = found || !strcmp(p->names.at[k], p->a->files[i]);
        if (!found) {
            complain("%s: there is no spec \"%s\"", p->dir, p->a->files[i]);
            return false;
        }
    }
    return true;
}

static bool list_specs(specs *p)
{
    DIR *d = opendir(p->dir);
    if (!d) {
        complain("%s: %s", p->dir, strerror(errno));
        return false;
    }
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        size_t n = strlen(e->d_name);
        if (n <= 5 || strcmp(e->d_name + n - 5, ".spec") != 0) continue;
        char *name = mem_get(&p->mem, n - 4);
        memcpy(name, e->d_name, n - 5);
        name[n - 5] = 0;
        if (is_asked_for(p, name)) vec_push(&p->mem, &p->names, (const char *)name);
    }
    closedir(d);
    if (p->names.n) qsort(p->names.at, p->names.n, sizeof *p->names.at, compare_spec_names);
    if (!p->names.n && !p->a->n_files) complain("%s: there are no .spec files", p->dir);
    return are_found(p) && p->names.n;
}

/* The whole of a regular file, with a 0 after it; NULL: it cannot be read. */
static char *spec_file_text(mem *m, const char *path, size_t *n)
{
    struct stat s;
    if (stat(path, &s) || !S_ISREG(s.st_mode)) return NULL;
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    strbuf b;
    char buf[1 << 14];
    strbuf_init(&b, m);
    for (size_t got; (got = fread(buf, 1, sizeof buf, f)) > 0;) strbuf_add(&b, buf, got);
    bool bad = ferror(f);
    fclose(f);
    *n = b.n;
    strbuf_char(&b, 0);
    return bad ? NULL : b.at;
}

static void keep_spec_file(specs *p, const char *suffix, const char *text, size_t n)
{
    const char *dir = p->a->value[O_KEEP];
    if (!dir) return;
    const char *path = text_of(&p->mem, "%/%-", dir, p->row->isolation, NULL);
    path = text_of(&p->mem, "%%%", path, p->row->name, suffix);
    output to;
    if (!output_open(p->a, &to, path)) return;
    fwrite(text, 1, n, to.f);
    output_close(p->a, &to);
}

/* --- what came out ---------------------------------------------------------------------------- */

/* The line at which two texts differ, from 1; 0: they do not. */
static uint32_t differing_line(const char *x, size_t n, const char *y, size_t m)
{
    uint32_t line = 1;
    size_t i = 0;
    for (; i < n && i < m && x[i] == y[i]; i++) line += x[i] == '\n';
    return i == n && i == m ? 0 : line;
}

static void compare_output(specs *p, mem *m, const strbuf *out)
{
    spec_row *row = p->row;
    row->output = OUTPUT_NOT_COMPARED;
    if (strcmp(row->isolation, "read-committed") != 0) return;
    for (int i = -1; i <= 9; i++) {
        char suffix[16];
        size_t n;
        snprintf(suffix, sizeof suffix, i < 0 ? ".out" : "_%d.out", i);
        const char *path = text_of(m, "%/%%", p->expected, row->name, suffix);
        const char *text = spec_file_text(m, path, &n);
        if (!text) continue;
        uint32_t line = differing_line(out->at, out->n, text, n);
        if (!line) {
            row->output = i < 0 ? OUTPUT_SAME : OUTPUT_ALTERNATIVE;
            return;
        }
        if (row->output == OUTPUT_NOT_COMPARED || line > row->differs_at) row->differs_at = line;
        row->output = OUTPUT_DIFFERS;
    }
}

static const char *kept_copy(specs *p, const char *text)
{
    return text ? text_of(&p->mem, "%", text, NULL, NULL) : NULL;
}

/* Sentences that differ only in a line, a name or a number are one reason. */
static void count_reason(specs *p, const char *reason)
{
    size_t skip = 0;
    while (reason[skip] && strncmp(reason + skip, ": ", 2) != 0) skip++;
    const char *text = reason[skip] && !strncmp(reason, "line ", 5) ? reason + skip + 2 : reason;
    for (size_t i = 0; i < p->reasons.n; i++)
        if (!strcmp(p->reasons.at[i].text, text)) {
            p->reasons.at[i].logs++;
            return;
        }
    reason_count c = {kept_copy(p, text), 0, 1};
    vec_push(&p->mem, &p->reasons, c);
}

static void permutation_judged(void *ud, uint32_t permutation, const strbuf *text,
                               const spec_verdict *v)
{
    specs *p = ud;
    spec_row *row = p->row;
    char suffix[48];
    row->verdicts[v->verdict]++;
    bool worse = v->verdict == AUDIT_VIOLATED && row->verdicts[AUDIT_VIOLATED] == 1;
    if (worse || (v->verdict == AUDIT_UNDECIDED && !row->reason))
        row->reason = text_of(&p->mem, "%: %", v->level, v->reason, NULL);
    if (v->verdict == AUDIT_UNDECIDED) count_reason(p, v->reason);
    snprintf(suffix, sizeof suffix, "-%u.sql.jsonl", (unsigned)permutation + 1);
    keep_spec_file(p, suffix, text->at, text->n);
}

/* --- one spec --------------------------------------------------------------------------------- */

static void run_spec_text(specs *p, mem *m, const char *text, size_t n)
{
    spec_row *row = p->row;
    db *d = &p->live.db;
    spec s;
    strbuf out;
    strbuf_init(&out, m);
    spec_read(&s, m, row->name, text, n);
    spec_log_user user = {p, permutation_judged, specs_stop};
    spec_log *log = spec_log_open(d, m, &s, p->reference, &user);
    const char *application = text_of(m, "isolation/%", row->name, NULL, NULL);
    isolation_run(d, m, &s, application, spec_log_watcher(log), &out, &row->run);
    row->failed = kept_copy(p, row->run.failed);
    row->run.failed = NULL;
    if (row->run.stopped) return;
    compare_output(p, m, &out);
    keep_spec_file(p, ".out", out.at, out.n);
}

static void run_spec(specs *p, const char *name)
{
    spec_row row = {.name = name,
                    .isolation = kept_copy(p, p->live.db.isolation),
                    .output = OUTPUT_NOT_COMPARED};
    guard inner;
    mem m;
    size_t n = 0;
    uint64_t start = now();
    guard_init(&inner);
    mem_init(&m, mem_libc, NULL, &inner);
    p->row = &row;
    if (!guard_armed(&inner)) {
        const char *text = spec_file_text(&m, text_of(&m, "%/%.spec", p->dir, name, NULL), &n);
        if (text)
            run_spec_text(p, &m, text, n);
        else
            row.failed = "the file cannot be read, or is no regular file";
    } else {
        strbuf b;
        strbuf_init(&b, &p->mem);
        strbuf_printf(&b, "%llu:%llu: %s", (unsigned long long)inner.line,
                      (unsigned long long)inner.column, inner.text);
        row.failed = strbuf_cstr(&b);
    }
    mem_free_all(&m);
    row.seconds = seconds_since(start);
    vec_push(&p->mem, &p->rows, row);
}

/* --- the answer ------------------------------------------------------------------------------- */

static bool is_decided(const spec_row *r)
{
    return !r->failed && r->run.permutations && !r->verdicts[AUDIT_UNDECIDED];
}

static void print_spec_json(const specs *p, FILE *f)
{
    json_writer to = json_file(f), *w = &to;
    for (size_t i = 0; i < p->rows.n; i++) {
        const spec_row *r = &p->rows.at[i];
        jw_object(w);
        jw_member_u64(w, "schema", 1);
        jw_member_text(w, "database", "PostgreSQL");
        jw_member_text(w, "version", p->live.db.version);
        jw_member_text(w, "isolation", r->isolation);
        jw_member_text(w, "spec", r->name);
        jw_member_text(w, "output", output_words[r->output]);
        if (r->output == OUTPUT_DIFFERS) jw_member_u64(w, "differs_at", r->differs_at);
        jw_member_u64(w, "permutations", r->run.permutations);
        jw_member_u64(w, "waits", r->run.waits);
        jw_member_u64(w, "errors", r->run.errors);
        jw_member_u64(w, "holds", r->verdicts[AUDIT_HOLDS]);
        jw_member_u64(w, "violated", r->verdicts[AUDIT_VIOLATED]);
        jw_member_u64(w, "undecided", r->verdicts[AUDIT_UNDECIDED]);
        if (r->failed || r->reason) jw_member_text(w, "reason", r->failed ? r->failed : r->reason);
        if (!p->a->value[O_DETERMINISTIC]) jw_member_decimal(w, "seconds", r->seconds, 3);
        jw_end_object(w);
        jw_end_line(w);
    }
}

static void print_spec_rows(const specs *p, FILE *f)
{
    fprintf(f, "%-34s %-15s %5s  %-26s %5s %9s %8s\n", "spec", "isolation", "runs", "output",
            "holds", "undecided", "violated");
    for (size_t i = 0; i < p->rows.n; i++) {
        const spec_row *r = &p->rows.at[i];
        char told[64];
        snprintf(told, sizeof told, "%s", r->failed ? "failed" : output_names[r->output]);
        if (!r->failed && r->output == OUTPUT_DIFFERS)
            snprintf(told, sizeof told, "differs at line %u", (unsigned)r->differs_at);
        fprintf(f, "%-34s %-15s %5u  %-26s %5u %9u %8u\n", r->name, r->isolation,
                (unsigned)r->run.permutations, told, (unsigned)r->verdicts[AUDIT_HOLDS],
                (unsigned)r->verdicts[AUDIT_UNDECIDED], (unsigned)r->verdicts[AUDIT_VIOLATED]);
        bool shown = r->failed || r->verdicts[AUDIT_VIOLATED] || p->a->value[O_VERBOSE];
        const char *why = r->failed ? r->failed : r->reason;
        if (shown && why) {
            fputs("    ", f);
            visible_to(f, why);
            fputc('\n', f);
        }
    }
}

static void print_spec_sums(const specs *p, FILE *f)
{
    uint32_t by_output[4] = {0}, logs[3] = {0}, failed = 0, decided = 0;
    for (size_t i = 0; i < p->rows.n; i++) {
        const spec_row *r = &p->rows.at[i];
        by_output[r->output] += !r->failed;
        failed += r->failed != NULL;
        decided += is_decided(r);
        for (int k = 0; k < 3; k++) logs[k] += r->verdicts[k];
    }
    fprintf(f,
            "\n%zu specs: %u outputs as expected (%u by an alternative), %u differ, %u not "
            "compared, %u failed\n%u logs: %u hold, %u undecided, %u violated; of %zu specs %u "
            "are decided in every permutation\n",
            p->rows.n, (unsigned)(by_output[OUTPUT_SAME] + by_output[OUTPUT_ALTERNATIVE]),
            (unsigned)by_output[OUTPUT_ALTERNATIVE], (unsigned)by_output[OUTPUT_DIFFERS],
            (unsigned)by_output[OUTPUT_NOT_COMPARED], (unsigned)failed,
            (unsigned)(logs[0] + logs[1] + logs[2]), (unsigned)logs[AUDIT_HOLDS],
            (unsigned)logs[AUDIT_UNDECIDED], (unsigned)logs[AUDIT_VIOLATED], p->rows.n,
            (unsigned)decided);
    if (p->reasons.n) fputs("\nlogs undecided, by reason:\n", f);
    for (size_t i = 0; i < p->reasons.n; i++) {
        fprintf(f, "%6u  ", (unsigned)p->reasons.at[i].logs);
        visible_to(f, p->reasons.at[i].text);
        fputc('\n', f);
    }
}

static int more_logs_first(const void *x, const void *y)
{
    const reason_count *a = x, *b = y;
    if (a->logs != b->logs) return a->logs < b->logs ? 1 : -1;
    return strcmp(a->text, b->text);
}

static void print_specs(specs *p)
{
    FILE *f = open_output(p->a);
    if (!f) {
        p->status = EXIT_IO;
        return;
    }
    if (p->reasons.n) qsort(p->reasons.at, p->reasons.n, sizeof *p->reasons.at, more_logs_first);
    if (p->a->value[O_JSON]) {
        print_spec_json(p, f);
    } else {
        print_spec_rows(p, f);
        print_spec_sums(p, f);
    }
    for (size_t i = 0; i < p->rows.n; i++) {
        const spec_row *r = &p->rows.at[i];
        if (r->output == OUTPUT_DIFFERS || r->verdicts[AUDIT_VIOLATED] || r->failed)
            p->status = EXIT_VIOLATED;
    }
    if (p->status == EXIT_HOLDS && specs_stop(p)) p->status = EXIT_UNDECIDED;
    p->status = close_output(p->a, f, p->status);
}

/* --- the command ------------------------------------------------------------------------------ */

static void run_isolation(specs *p)
{
    db *d = &p->live.db;
    for (size_t i = 0; i < p->names.n && !specs_stop(p); i++) {
        run_spec(p, p->names.at[i]);
        /* What a script that failed has left behind must not touch the next one. */
        const spec_row *r = &p->rows.at[p->rows.n - 1];
        if ((r->failed || r->run.stopped) && !d->driver->enclose(d)) {
            complain("%s", d->error);
            p->status = EXIT_IO;
            return;
        }
    }
}

static void run_isolations(specs *p)
{
    args b = *p->a;
    const char *asked = p->a->value[O_ISOLATION], *list = asked ? asked : "read-committed";
    if (asked && !strcmp(asked, "all")) list = "read-committed,repeatable-read,serializable";
    for (const char *at = list; *at && p->status == EXIT_HOLDS;) {
        size_t n = strcspn(at, ", ");
        char *name = mem_get(&p->mem, n + 1);
        memcpy(name, at, n);
        name[n] = 0;
        at += n;
        at += strspn(at, ", ");
        b.value[O_ISOLATION] = name;
        if (!p->live.open) {
            p->status = live_open(&p->live, &b);
            if (p->status != EXIT_HOLDS) return;
            live_fails_to(&p->live, &p->guard);
            db *d = &p->live.db;
            d->all_rights = true;
            if (strcmp(d->driver->name, "postgres") != 0 || !d->driver->enclose(d)) {
                complain("%s", *d->error ? d->error : "litmus --specs needs a PostgreSQL server");
                p->status = *d->error ? EXIT_IO : EXIT_USAGE;
                return;
            }
        } else if (!db_isolation(&p->live.db, name)) {
            complain("%s", p->live.db.error);
            p->status = EXIT_USAGE;
            return;
        }
        run_isolation(p);
    }
}

static bool open_spec_reference(specs *p)
{
    char why[1024];
    bool misuse;
    if (!p->a->value[O_REFERENCE]) return true;
    p->reference = reference_open(p->a->value[O_REFERENCE], why, sizeof why, &misuse);
    if (p->reference) return true;
    complain("--reference: %s", why);
    p->status = misuse ? EXIT_USAGE : EXIT_IO;
    return false;
}

static void run_specs(specs *p)
{
    const char *keep = p->a->value[O_KEEP];
    if (!find_directories(p) || !list_specs(p)) {
        p->status = EXIT_IO;
        return;
    }
    if (keep && mkdir(keep, 0777) && errno != EEXIST) {
        complain("%s: %s", keep, strerror(errno));
        p->status = EXIT_IO;
        return;
    }
    if (open_spec_reference(p)) run_isolations(p);
    if (p->status == EXIT_HOLDS) print_specs(p);
}

int litmus_specs(args *a)
{
    specs p = {.a = a, .start = now()};
    if (a->value[O_SYNTH] || a->value[O_DIFF] || a->value[O_EXPECT] || a->value[O_HTML] ||
        a->value[O_MARKDOWN]) {
        complain(
            "litmus: --specs goes with --isolation, --keep, --json, --time and names of specs");
        return EXIT_USAGE;
    }
    guard_init(&p.guard);
    mem_init(&p.mem, mem_libc, NULL, &p.guard);
    if (!guard_armed(&p.guard)) {
        run_specs(&p);
    } else {
        complain("litmus: %s", p.guard.text);
        p.status = exit_of(p.guard.code);
    }
    if (p.reference) reference_close(p.reference);
    live_close(&p.live);
    mem_free_all(&p.mem);
    return p.status;
}
