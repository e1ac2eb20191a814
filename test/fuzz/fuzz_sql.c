/*
 * The fuzz target of audit: any bytes, as a log (FORMATS "log"), as the statements of one, a line
 * each (FORMATS "statements"), or as a dump of its initial state (FORMATS "dump"), must get an
 * answer or a clear error, and never crash.  What holds at serializable holds at read-committed,
 * too, unless a limit says otherwise; a shrunk log can be read, and is violated, too.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "base/strbuf.h"

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
    return (audit_options){
        .level = level, .lenient = lenient, .seconds = 2, .memory = 64 << 20, .runs = 2000};
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
    if (code) fail("a shrunk log that cannot be read");
    if (again.verdict == AUDIT_HOLDS) fail("a shrunk log that holds");
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    guard g;
    mem m;
    strbuf b;
    guard_init(&g);
    mem_init(&m, NULL, NULL, &g);
    if (guard_armed(&g)) fail("out of memory");
    strbuf_init(&b, &m);
    if (!strcmp(FORMATS, "dump")) {
        with_dump((const char *)data, size);
        mem_free_all(&m);
        return 0;
    }
    if (!strcmp(FORMATS, "log"))
        strbuf_add(&b, (const char *)data, size);
    else
        as_statements(&b, (const char *)data, size);
    inspect(b.at, b.n);
    audit_verdict strong = decide("serializable", true, b.at, b.n);
    audit_verdict weak = decide("read-committed", true, b.at, b.n);
    decide("strong-si", false, b.at, b.n);
    decide("statement-snapshot", false, b.at, b.n);
    if (strong == AUDIT_HOLDS && weak == AUDIT_VIOLATED)
        fail("serializable, but not read committed");
    mem_free_all(&m);
    return 0;
}
