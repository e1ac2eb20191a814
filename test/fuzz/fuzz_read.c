/*
 * The fuzz target of every reader: any bytes must end in a history or in an error with a text,
 * never in a crash, a leak or a hang. What was read must be writable in the native format and
 * come back; so a reader cannot build a history that the rest of the library chokes on.
 *
 * FORMATS (from targets.txt) names the formats to read the input as; "-" leaves it to detection,
 * which is also the way into decompression.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void round_trip(ratel *r, const ratel_history *h)
{
    text t = {NULL, 0, 0};
    ratel_history *again = NULL;

    if (ratel_history_write(h, r, "ratel", take, &t) != RATEL_OK)
        fail("cannot write what was read", ratel_errmsg(r));
    bytes b = {t.at, t.n, 0, t.n};
    if (ratel_history_read(&again, r, "ratel", give, &b) != RATEL_OK)
        fail("cannot read what was written", ratel_errmsg(r));
    ratel_history_free(again);
    free(t.at);
}

static void read_as(const char *format, const uint8_t *data, size_t size)
{
    ratel *r = NULL;
    ratel_history *h = NULL;
    /* the step depends on the input alone, so that a finding replays */
    bytes b = {data, size, 0, size % 3 == 0 ? 1 + size % 61 : 1 + size};

    if (ratel_open(&r, NULL) != RATEL_OK) fail("ratel_open", "failed");
    int code = ratel_history_read(&h, r, format, give, &b);
    if (code == RATEL_OK) {
        round_trip(r, h);
    } else {
        if (h != NULL) fail("an error came with a history", format ? format : "-");
        if (ratel_errmsg(r) == NULL || ratel_errmsg(r)[0] == '\0')
            fail("an error without a text", format ? format : "-");
        if (code == RATEL_EBUG) fail("an inner check failed", ratel_errmsg(r));
    }
    ratel_history_free(h);
    ratel_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char names[] = FORMATS;

    if (strcmp(names, "-") == 0) {
        read_as(NULL, data, size);
        return 0;
    }
    for (char *p = names, *end; p != NULL; p = end) {
        end = strchr(p, ',');
        if (end != NULL) *end++ = '\0';
        read_as(p, data, size);
    }
    return 0;
}
