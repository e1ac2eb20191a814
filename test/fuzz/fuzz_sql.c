/*
 * The fuzz target of audit: any bytes, as a log (FORMATS "log"), as the statements of one, a line
 * each (FORMATS "statements"), or as a dump of its initial state (FORMATS "dump"), must get an
 * answer or a clear error, and never crash.  What holds at serializable holds at read-committed,
 * too, unless a limit says otherwise; a shrunk log can be read, and is violated, too.
 *
 * With a fuzzer (FUZZING) the last byte of the input says which of the checks is made, and is no
 * part of it, and the limits are short: most time went into searches that a limit of two seconds
 * ended.  A replay of a saved input makes all checks, with and without the last byte.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "base/strbuf.h"
#include "ratel.h"

typedef struct text {
    const char *at;
    size_t n, pos;
} text;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static ptrdiff_t give(void *buf, size_t cap, void *payload)
{
    text *t = payload;
    size_t n = t->n - t->pos < cap ? t->n - t->pos : cap;
    if (n) memcpy(buf, t->at + t->pos, n);
    t->pos += n;
    return (ptrdiff_t)n;
}

static void fail(const char *what)
{
    fprintf(stderr, "fuzz_sql: %s\n", what);
    abort();
}

static audit_options limits(const char *level, bool lenient)
{
#ifdef FUZZING
    enum { MOST_RUNS = 60 };
    const double seconds = 0.2;
#else
    enum { MOST_RUNS = 2000 };
    const double seconds = 2;
#endif
    return (audit_options){.level = level,
                           .lenient = lenient,
                           .seconds = seconds,
                           .memory = 64 << 20,
                           .runs = MOST_RUNS};
}

static void told(const audit *a, int code, const audit_answer *r)
{
    uint64_t line, column;
    if (code && !*audit_error(a, &line, &column)) fail("an error without a text");
    if (!code && (!r->reason || !*r->reason)) fail("an answer without a reason");
}

/* What is left of a violated log must be violated, too. */
static void shrink(audit *a, const audit_options *o, const audit_answer *r)
{
    audit_shrunk s;
    audit *b;
    audit_answer again;
    if (r->txns > 8 || audit_shrink(a, o, r, &s)) return;
    text in = {s.text, s.n, 0};
    audit_options same = *o;
    same.dump = NULL;
    int code = audit_run(&b, &same, give, &in, &again);
    bool limit = code == RATEL_ENOMEM || code == RATEL_ETIME; /* a busy machine, a big fuzzer */
    if (code && !limit) {
        uint64_t line, column;
        fprintf(stderr, "fuzz_sql: %s\n%.*s", audit_error(b, &line, &column), (int)s.n, s.text);
        fail("a shrunk log that cannot be read");
    }
    if (!code && again.verdict == AUDIT_HOLDS) fail("a shrunk log that holds");
    audit_free(b);
}

static audit_verdict decide(const char *level, bool lenient, const char *at, size_t n)
{
    audit *a;
    audit_answer r;
    text in = {at, n, 0};
    audit_options o = limits(level, lenient);
    int code = audit_run(&a, &o, give, &in, &r);
    told(a, code, &r);
    audit_verdict v = code ? AUDIT_UNDECIDED : r.verdict;
    if (v == AUDIT_VIOLATED && !lenient) shrink(a, &o, &r);
    audit_free(a);
    return v;
}

static void inspect(const char *at, size_t n)
{
    audit *a;
    audit_counts c;
    const audit_finding *found;
    size_t n_found;
    uint64_t line, column;
    text in = {at, n, 0}, first = in;
    audit_options o = limits(NULL, false);
    audit_sniff(give, &first);
    int code = audit_lint(&a, &o, give, &in, &c, &found, &n_found);
    if (code && !*audit_error(a, &line, &column)) fail("an error without a text");
    audit_free(a);
}

/* The bytes as a dump; some log that reads a table that may be there. */
static void with_dump(const char *at, size_t n)
{
    static const char log[] = "{\"ratel_sql\":1}\n{\"statements\":[{\"sql\":\"SELECT * FROM t\","
                              "\"count\":1},{\"sql\":\"INSERT INTO t VALUES (1)\"}]}\n";
    text dump = {at, n, 0}, in = {log, sizeof log - 1, 0};
    audit *a;
    audit_answer r;
    audit_options o = limits("snapshot-isolation", false);
    o.dump = give;
    o.dump_payload = &dump;
    int code = audit_run(&a, &o, give, &in, &r);
    told(a, code, &r);
    if (!code && r.verdict == AUDIT_VIOLATED) shrink(a, &o, &r);
    audit_free(a);
}

static void as_statements(strbuf *b, const char *at, size_t n)
{
    strbuf_str(b, "{\"ratel_sql\":1,\"setup\":[\"CREATE TABLE t (id int PRIMARY KEY, a int, n "
                  "numeric(8,2), c text, b boolean)\",\"INSERT INTO t VALUES (1, 2, 3.50, 'x', "
                  "true), (2, NULL, -1, NULL, false)\"]}\n{\"statements\":[");
    for (size_t from = 0, i = 0; i <= n; i++) {
        if (i < n && at[i] != '\n') continue;
        strbuf_str(b,
                   from ? ",{\"params\":[1,2,\"x\"],\"sql\":" : "{\"params\":[1,2,\"x\"],\"sql\":");
        strbuf_json(b, at + from, i - from);
        strbuf_char(b, '}');
        from = i + 1;
    }
    strbuf_str(b, "]}\n");
}

enum { CHECK_LINT, CHECK_TWO_LEVELS, CHECK_STRONG, CHECK_STATEMENTS, CHECKS };
static void make_check(int check, const char *at, size_t n)
{
    if (check == CHECK_LINT) {
        inspect(at, n);
    } else if (check == CHECK_TWO_LEVELS) {
        audit_verdict strong = decide("serializable", true, at, n);
        audit_verdict weak = decide("read-committed", true, at, n);
        if (strong == AUDIT_HOLDS && weak == AUDIT_VIOLATED)
            fail("serializable, but not read committed");
    } else {
        decide(check == CHECK_STRONG ? "strong-si" : "statement-snapshot", false, at, n);
    }
}

static void try_input(int first, int end, const char *at, size_t n)
{
    guard g;
    mem m;
    strbuf b;
    if (!strcmp(FORMATS, "dump")) {
        with_dump(at, n);
        return;
    }
    guard_init(&g);
    mem_init(&m, NULL, NULL, &g);
    if (guard_armed(&g)) fail("out of memory");
    strbuf_init(&b, &m);
    if (!strcmp(FORMATS, "log"))
        strbuf_add(&b, at, n);
    else
        as_statements(&b, at, n);
    for (int check = first; check < end; check++) make_check(check, b.at, b.n);
    mem_free_all(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *at = (const char *)data;
#ifdef FUZZING
    int check = size ? data[size - 1] % CHECKS : 0;
    try_input(check, check + 1, at, size ? size - 1 : 0);
#else
    try_input(0, CHECKS, at, size);
    if (size) try_input(0, CHECKS, at, size - 1);
#endif
    return 0;
}
