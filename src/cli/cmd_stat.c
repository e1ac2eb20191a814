/*
 * cmd_stat.c - ratel stat.
 */
#include <string.h>

#include "cli/cli.h"

static void print_json(FILE *out, const char *name, const char *format, const ratel_stat *s)
{
    fputs("{\"schema\":1,\"history\":", out);
    json_text_to(out, name);
    fputs(",\"format\":", out);
    json_text_to(out, format);
#define N(field) fprintf(out, ",\"" #field "\":%llu", (unsigned long long)s->field)
    N(txns), N(ops), N(sessions), N(keys), N(aborted), N(unknown);
    fprintf(out, ",\"unique_values\":%s", s->unique_values ? "true" : "false");
    N(reads), N(writes), N(deletes), N(appends), N(scans), N(iterators), N(rows), N(failed);
    N(empty_txns), N(read_only), N(write_only), N(duplicate_writes), N(max_txn_ops);
    N(with_times), N(with_hints), N(max_concurrency), N(hot_key_ops);
#undef N
    fputs(",\"hot_key\":", out);
    json_text_to(out, s->hot_key);
    fputs("}\n", out);
}

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

int cmd_stat(args *a)
{
    int status = EXIT_HOLDS;
    if (!a->n_files) {
        complain("stat: no history given (see ratel stat --help)");
        return EXIT_USAGE;
    }
    FILE *out = open_output(a);
    if (!out) return EXIT_IO;
    for (size_t i = 0; i < a->n_files; i++) {
        ratel_history *h;
        ratel_stat s;
        const char *name = a->files[i];
        int code = read_history(a, name, &h);
        if (!code && (code = ratel_history_stat(&s, a->context, h)) == 0) {
            if (a->value[O_JSON])
                print_json(out, name, ratel_history_format(h), &s);
            else
                print_text(out, name, ratel_history_format(h), &s);
        }
        if (code) {
            int worse = complain_about(a->context, name, code);
            if (worse > status) status = worse;
        }
        ratel_history_free(h);
    }
    return close_output(a, out, status);
}
