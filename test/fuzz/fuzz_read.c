/*
 * The fuzz target of every reader: any bytes must end in a history or in an error with a text,
 * never in a crash, a leak or a hang. What was read must be writable in the native format, come
 * back and be written the same again, and both copies must get the same verdicts; so a reader
 * cannot build a history that the rest of the library chokes on. The other formats may refuse it,
 * but not break. Deciding has little time: histories that need more are for other tests.
 *
 * FORMATS (from targets.txt) names the formats to read the input as; "-" leaves it to detection,
 * which is also the way into decompression.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "ratel.h"

typedef struct bytes {
    const uint8_t *at;
    size_t n, done, step;
} bytes;

typedef struct text {
    uint8_t *at;
    size_t n, cap;
} text;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "fuzz_read: %s: %s\n", what, why);
    abort();
}

/* Hands out small pieces, because readers break where a buffer ends. */
static ptrdiff_t give(void *buf, size_t cap, void *payload)
{
    bytes *b = payload;
    size_t n = b->n - b->done;
    if (n > b->step) n = b->step;
    if (n > cap) n = cap;
    if (n > 0) memcpy(buf, b->at + b->done, n);
    b->done += n;
    return (ptrdiff_t)n;
}

static int take(const void *buf, size_t len, void *payload)
{
    text *t = payload;
    if (t->n + len > t->cap) {
        t->cap = 2 * t->cap + len;
        t->at = realloc(t->at, t->cap);
        if (t->at == NULL) fail("realloc", "out of memory");
    }
    if (len > 0) memcpy(t->at + t->n, buf, len);
    t->n += len;
    return 0;
}

static ratel_verdict decide(ratel *r, const ratel_history *h, const char *level)
{
    ratel_result *a = NULL;
    ratel_verdict v = RATEL_UNDECIDED;
    text t = {NULL, 0, 0};

    ratel_set(r, "time", 200);
    int code = ratel_check(&a, r, h, level);
    ratel_set(r, "time", 0); /* reading and writing must end by themselves */
    if (code == RATEL_OK) {
        v = ratel_result_verdict(a);
        if (ratel_result_reason(a)[0] == '\0' && v != RATEL_HOLDS) fail("no reason given", level);
        if (ratel_result_write(a, r, "json", NULL, take, &t) != RATEL_OK)
            fail("cannot tell the answer", ratel_errmsg(r));
        if (ratel_result_write(a, r, "text", NULL, take, &t) != RATEL_OK)
            fail("cannot tell the answer", ratel_errmsg(r));
        free(t.at);
    } else if (code != RATEL_EHISTORY && code != RATEL_ETIME) {
        fail("cannot check what was read", ratel_errmsg(r));
    }
    ratel_result_free(a);
    return v;
}

/* `forged`: the checksums were set right by us, so names and texts that the writer would never have
   written may come through. They may be told badly, but they must do no harm. */
static void round_trip(ratel *r, const ratel_history *h, int forged)
{
    static const char *const levels[] = {"read-committed", "causal"};
    static const char *const formats[] = {
        "ratel-bin",     "dbcop",      "text",          "edn-la",     "edn-rw",
        "dbcop-json",    "dbcop-hist", "dbcop-yaml",    "awdit-test", "elle-json",
        "veristrong-la", "timekiller", "timekiller-cdc"};
    text t = {NULL, 0, 0}, second = {NULL, 0, 0};
    ratel_history *again = NULL;
    ratel_stat stat;

    if (ratel_history_stat(&stat, r, h) != RATEL_OK)
        fail("cannot count what was read", ratel_errmsg(r));
    if (ratel_history_write(h, r, "ratel", take, &t) != RATEL_OK)
        fail("cannot write what was read", ratel_errmsg(r));
    bytes b = {t.at, t.n, 0, t.n};
    if (ratel_history_read(&again, r, "ratel", give, &b) != RATEL_OK && !forged)
        fail("cannot read what was written", ratel_errmsg(r));
    if (!forged && ratel_history_write(again, r, "ratel", take, &second) != RATEL_OK)
        fail("cannot write it again", ratel_errmsg(r));
    if (forged)
        second.n = 0;
    else if (t.n != second.n || (t.n > 0 && memcmp(t.at, second.at, t.n) != 0))
        fail("the second writing differs", "ratel");
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        ratel_verdict v = decide(r, h, levels[i]), w = forged ? v : decide(r, again, levels[i]);
        if (v != w && v != RATEL_UNDECIDED && w != RATEL_UNDECIDED)
            fail("another verdict after writing and reading", levels[i]);
    }
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        second.n = 0;
        int code = ratel_history_write(h, r, formats[i], take, &second);
        if (code != RATEL_OK && code != RATEL_EUNSUPPORTED && code != RATEL_EHISTORY)
            fail("cannot write", ratel_errmsg(r));
        bytes c = {second.at, second.n, 0, second.n + 1};
        ratel_history *other = NULL;
        if (code == RATEL_OK)
            code = ratel_history_read(&other, r, formats[i], give, &c);
        else
            code = RATEL_OK;
        if (code != RATEL_OK && code != RATEL_ETIME && !forged) /* the machine may be busy */
            fail("cannot read what was written", ratel_errmsg(r));
        ratel_history_free(other);
    }
    ratel_history_free(again);
    free(t.at);
    free(second.at);
}

static void read_as(const char *format, const uint8_t *data, size_t size, int forged)
{
    ratel *r = NULL;
    ratel_history *h = NULL;
    /* the step depends on the input alone, so that a finding replays */
    bytes b = {data, size, 0, size % 3 == 0 ? 1 + size % 61 : 1 + size};

    if (ratel_open(&r, NULL) != RATEL_OK) fail("ratel_open", "failed");
    int code = ratel_history_read(&h, r, format, give, &b);
    if (code == RATEL_OK) {
        round_trip(r, h, forged);
    } else {
        if (h != NULL) fail("an error came with a history", format ? format : "-");
        if (ratel_errmsg(r) == NULL || ratel_errmsg(r)[0] == '\0')
            fail("an error without a text", format ? format : "-");
        if (code == RATEL_EBUG) fail("an inner check failed", ratel_errmsg(r));
    }
    ratel_history_free(h);
    ratel_close(r);
}

/* A column of the native binary format ends in a checksum, which no fuzzer guesses: the same input
   is read once more with the sums set right, so that the checks behind them are reached. */
static void set_sums(uint8_t *p, size_t size)
{
    enum { BLOCK = 65536 };
    size_t at = 16;
    while (size >= 24 && at <= size - 24) {
        uint64_t width = 0, count = 0, sum = 0;
        for (int i = 0; i < 4; i++) sum |= (uint64_t)p[at + (size_t)i] << 8 * i;
        for (int i = 0; i < 4; i++) width |= (uint64_t)p[at + 4 + (size_t)i] << 8 * i;
        for (int i = 0; i < 8; i++) count |= (uint64_t)p[at + 8 + (size_t)i] << 8 * i;
        at += 16;
        if (count > size || width > 64 || count * width + 8 > size - at) return;
        size_t left = (size_t)(count * width);
        while (left > 0) {
            size_t n = left < BLOCK ? left : BLOCK;
            sum = hash_pair(sum, hash_bytes(p + at, n, 0));
            at += n;
            left -= n;
        }
        for (int i = 0; i < 8; i++) p[at++] = (uint8_t)(sum >> 8 * i);
    }
}

static void read_with_sums(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    if (copy == NULL) fail("malloc", "out of memory");
    if (size > 0) memcpy(copy, data, size);
    set_sums(copy, size);
    read_as("ratel-bin", copy, size, 1);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char names[] = FORMATS;

    if (strcmp(names, "-") == 0) {
        read_as(NULL, data, size, 0);
        return 0;
    }
    for (char *p = names, *end; p != NULL; p = end) {
        end = strchr(p, ',');
        if (end != NULL) *end++ = '\0';
        read_as(p, data, size, 0);
        if (strcmp(p, "ratel-bin") == 0) read_with_sums(data, size);
    }
    return 0;
}
