/*
 * The library from outside, with the installed header alone: builds an aborted read, has it
 * checked, and reads text. Compiles as C11 and as C++17. Exit 0 if all went as ratel.h promises.
 */
#include <ratel.h>
#include <stdio.h>
#include <string.h>

static int failures;

static void must(int ok, const char *what)
{
    if (!ok) {
        printf("not so: %s\n", what);
        failures++;
    }
}

static ratel_value number(int64_t i)
{
    ratel_value v;
    memset(&v, 0, sizeof v);
    v.type = RATEL_INT;
    v.as.i = i;
    return v;
}

static ratel_value nothing(void)
{
    ratel_value v;
    memset(&v, 0, sizeof v);
    v.type = RATEL_NULL;
    return v;
}

/* A read of x = 2, which only a transaction that aborted ever wrote: G1a. */
static void build_and_check(ratel *r)
{
    ratel_history *h = NULL;
    ratel_result *a = NULL;

    must(ratel_history_new(&h, r) == RATEL_OK, "a history can be made");
    must(ratel_history_begin(h, number(1)) == RATEL_OK, "begin");
    must(ratel_history_get(h, number(7), nothing(), 0) == RATEL_OK, "get");
    must(ratel_history_put(h, number(7), number(2), 0) == RATEL_OK, "put");
    must(ratel_history_end(h, RATEL_ABORTED) == RATEL_OK, "abort");
    must(ratel_history_begin(h, number(2)) == RATEL_OK, "begin");
    must(ratel_history_get(h, number(7), number(2), 0) == RATEL_OK, "get");
    must(ratel_history_end(h, RATEL_COMMITTED) == RATEL_OK, "commit");
    must(ratel_check(&a, r, h, "read-committed") == RATEL_EINVAL, "unfrozen is not checked");
    must(ratel_history_freeze(h) == RATEL_OK, "freeze");
    must(ratel_history_begin(h, number(3)) == RATEL_EINVAL, "frozen is not built on");
    must(ratel_check(&a, r, h, "read-committed") == RATEL_OK, "a violation is an answer");
    must(ratel_result_verdict(a) == RATEL_VIOLATED, "an aborted read violates read-committed");
    must(strcmp(ratel_result_anomaly(a), "aborted-read") == 0, "the anomaly is named");
    ratel_result_free(a);
    ratel_history_free(h);
}

typedef struct {
    const char *at;
    size_t n;
} input;

static ptrdiff_t give(void *buf, size_t cap, void *payload)
{
    input *in = (input *)payload;
    size_t n = in->n < cap ? in->n : cap;
    memcpy(buf, in->at, n);
    in->at += n;
    in->n -= n;
    return (ptrdiff_t)n;
}

static void read_text(ratel *r)
{
    static const char good[] = "w(0,1,1,1)\nr(0,1,2,2)\n", bad[] = "w(0,1,1,1)\nw(0,?,1,2)\n";
    ratel_history *h = NULL;
    ratel_stat s;
    uint64_t line = 0, column = 0;
    input in;

    in.at = good;
    in.n = sizeof good - 1;
    must(ratel_history_read(&h, r, NULL, give, &in) == RATEL_OK, "text is told by its content");
    must(ratel_history_stat(&s, r, h) == RATEL_OK && s.txns == 2 && s.ops == 2, "it is counted");
    ratel_history_free(h);

    h = NULL;
    in.at = bad;
    in.n = sizeof bad - 1;
    must(ratel_history_read(&h, r, "text", give, &in) == RATEL_EPARSE, "wrong bytes are an error");
    must(h == NULL, "an error gives no history");
    must(ratel_errpos(r, &line, &column) == RATEL_OK && line == 2 && column == 5, "with its place");
}

int main(void)
{
    ratel *r = NULL;

    must(ratel_version_number() > 0, "there is a version");
    must(ratel_open(&r, NULL) == RATEL_OK, "a context opens");
    must(ratel_set(r, "no-such-option", 1) == RATEL_EINVAL, "unknown options are refused");
    build_and_check(r);
    read_text(r);
    ratel_close(r);
    ratel_close(NULL);
    ratel_history_free(NULL);
    ratel_result_free(NULL);
    return failures != 0;
}
