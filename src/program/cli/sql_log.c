/*
 * sql_log.c - logs of SQL transactions in the commands that otherwise read histories: recognizing
 * them, reading them with the dump of --init, and their `stat`.
 *
 * A log is recognized by its first line, so only regular files are looked at: standard input
 * could not be read a second time.
 */
#include "cli/sql_log.h"
#include "cli/timed_input.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

ptrdiff_t read_sql_log(void *buf, size_t cap, void *file)
{
    return timed_read(buf, cap, file);
}

bool open_sql_dump(const args *a, audit_options *o)
{
    const char *path = a->value[O_INIT];
    o->dump = NULL;
    o->dump_payload = NULL;
    if (!path) return true;
    o->dump_payload = timed_open(path);
    o->dump = read_sql_log;
    if (!o->dump_payload) timed_failure(path);
    return o->dump_payload != NULL;
}

bool is_sql_log(const char *path, int *status)
{
    struct stat st;
    *status = EXIT_HOLDS;
    if (stat(path, &st) || !S_ISREG(st.st_mode)) return false;
    FILE *f = fopen(path, "rb");
    int yes = f ? audit_sniff(read_sql_log, f) : errno == ENOMEM ? -1 : 0;
    if (f) fclose(f);
    if (yes < 0) {
        complain("%s: out of memory", path);
        *status = EXIT_UNDECIDED;
    }
    return yes > 0;
}

int inspect_sql_log(const args *a, FILE *out, const char *path, audit **log, audit_counts *counts,
                    const audit_finding **at, size_t *n)
{
    audit_options o = {.interrupt = &interrupt_flag};
    FILE *f = fopen(path, "rb");
    *log = NULL;
    if (!f) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return EXIT_IO;
    }
    if (!open_sql_dump(a, &o)) {
        fclose(f);
        return EXIT_IO;
    }
    int code = audit_lint(log, &o, read_sql_log, f, counts, at, n);
    if (o.dump_payload) fclose(o.dump_payload);
    fclose(f);
    if (!code) return EXIT_HOLDS;
    int late = timed_failure(a->value[O_INIT] ? a->value[O_INIT] : path);
    if (late >= 0) return late;
    uint64_t line, column;
    const char *text = audit_error(*log, &line, &column);
    char where[64] = "";
    if (line)
        snprintf(where, sizeof where, ":%llu:%llu", (unsigned long long)line,
                 (unsigned long long)column);
    if (a->value[O_JSON]) {
        char whole[4096];
        snprintf(whole, sizeof whole, "%.1500s%s: %s", path, where, text);
        json_error_line(out, "history", path, whole);
    }
    visible_to(stderr, path);
    fprintf(stderr, "%s: ", where);
    visible_to(stderr, text);
    fputc('\n', stderr);
    return exit_of(code);
}

int stat_sql_log(const args *a, FILE *out, const char *path)
{
    audit *log;
    audit_counts c;
    const audit_finding *at;
    size_t n;
    int status = inspect_sql_log(a, out, path, &log, &c, &at, &n);
    const struct {
        const char *name, *text;
        uint64_t n;
        bool always;
    } rows[] = {
        {"txns", "committed transactions", c.committed, true},
        {"aborted", "aborted transactions", c.aborted, false},
        {"unknown", "transactions of unknown outcome", c.unknown, false},
        {"sessions", "sessions", c.sessions, true},
        {"tables", "tables at first", c.tables, true},
        {"initial_rows", "  their rows", c.initial_rows, true},
        {"statements", "statements", c.statements, true},
        {"texts", "  different texts", c.texts, true},
        {"answered", "  with an answer (committed)", c.answered, true},
        {"failed", "  that failed (committed)", c.failed, false},
        {"rows", "  rows returned (committed)", c.rows, true},
        {"read_only", "read-only transactions", c.read_only, true},
        {"with_commit_ts", "transactions with commit_ts", c.stamped, false},
        {"with_times", "transactions with times", c.timed, false},
    };
    size_t lines = status ? 0 : sizeof rows / sizeof rows[0];
    bool json = a->value[O_JSON];
    json_writer w = json_file(out);
    if (!status && json) {
        jw_object(&w);
        jw_member_u64(&w, "schema", 1);
        jw_member_text(&w, "history", path);
        jw_member_text(&w, "format", "ratel-sql");
    } else if (!status) {
        visible_to(out, path);
        fputs(" (ratel-sql: a log of SQL transactions, for ratel audit)\n", out);
    }
    for (size_t i = 0; i < lines; i++) {
        if (json)
            jw_member_u64(&w, rows[i].name, rows[i].n);
        else if (rows[i].n || rows[i].always)
            fprintf(out, "  %-34s %llu\n", rows[i].text, (unsigned long long)rows[i].n);
    }
    if (!status && json) {
        jw_end_object(&w);
        jw_end_line(&w);
    }
    audit_free(log);
    return status;
}
