/*
 * The fuzz target of `verify`: an input is a certificate, a line `%%` and a native history. The
 * certificate must be proved, refused or told to be no certificate, never crash; and what is proved
 * must be what the library decides about that history, for the same level, options and definition.
 *
 * No fuzzer guesses a hash, so the counts and the hash in the head are set right first; whether
 * wrong ones are refused is tested elsewhere. Deciding has little time, and an undecided history
 * shows nothing.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RATEL_EXPERIMENTAL
#include "ratel.h"

#include "api/api_internal.h"
#include "verify/certificate.h"

typedef struct text {
    char *at;
    size_t n, cap, pos;
} text;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "fuzz_verify: %s: %s\n", what, why);
    abort();
}

static ptrdiff_t give_text(void *buf, size_t cap, void *payload)
{
    text *t = payload;
    size_t n = t->n - t->pos < cap ? t->n - t->pos : cap;
    if (n) memcpy(buf, t->at + t->pos, n);
    t->pos += n;
    return (ptrdiff_t)n;
}

static int add_text(const void *buf, size_t n, void *payload)
{
    text *t = payload;
    if (t->n + n > t->cap) {
        t->cap = 2 * (t->n + n);
        t->at = realloc(t->at, t->cap);
        if (!t->at) fail("realloc", "out of memory");
    }
    if (n) memcpy(t->at + t->n, buf, n);
    t->n += n;
    return 0;
}

static uint64_t hash_of(const history *h)
{
    guard g;
    mem m;
    uint64_t hash;
    guard_init(&g);
    mem_init(&m, NULL, NULL, &g);
    if (guard_armed(&g)) fail("hash", "out of memory");
    hash = certificate_hash(h, &m);
    mem_free_all(&m);
    return hash;
}

/* The certificate with the right counts and hash, as far as its head goes. */
static void set_head(text *out, const char *at, size_t n, const history *h)
{
    char line[64];
    bool head = true;
    for (size_t from = 0; from < n;) {
        const char *end = memchr(at + from, '\n', n - from);
        size_t length = end ? (size_t)(end - at) + 1 - from : n - from;
        const char *s = at + from;
        int own = 0;
        if (head && length > 5 && !memcmp(s, "txns ", 5))
            own = snprintf(line, sizeof line, "txns %zu\n", h->txns);
        else if (head && length > 4 && !memcmp(s, "ops ", 4))
            own = snprintf(line, sizeof line, "ops %zu\n", h->ops);
        else if (head && length > 8 && !memcmp(s, "history ", 8))
            own = snprintf(line, sizeof line, "history %016" PRIx64 "\n", hash_of(h));
        if (length > 8 && !memcmp(s, "verdict ", 8)) head = false;
        add_text(own ? line : s, own ? (size_t)own : length, out);
        from += length;
    }
}

/* The text of the definition that a certificate has: its lines that begin with "| ". */
static text definition_of(const text *cert)
{
    text out = {NULL, 0, 0, 0};
    add_text("", 0, &out);
    for (size_t from = 0; from < cert->n;) {
        const char *s = cert->at + from, *end = memchr(s, '\n', cert->n - from);
        size_t length = end ? (size_t)(end - s) + 1 : cert->n - from;
        if (length >= 8 && !memcmp(s, "verdict ", 8)) break;
        if (length >= 2 && !memcmp(s, "| ", 2)) add_text(s + 2, length - 2, &out);
        if (length == 2 && !memcmp(s, "|\n", 2)) add_text("\n", 1, &out);
        from += length;
    }
    return out;
}

static ratel_verdict decided(ratel *r, const ratel_history *h, const ratel_proof *p,
                             const text *cert)
{
    static const char *const policies[] = {"must", "external", "may"};
    ratel_verdict v = RATEL_UNDECIDED;
    ratel_result *a = NULL;
    for (int i = 0; i < 3; i++)
        if (!strcmp(p->ryow, policies[i])) ratel_set(r, "ryow", i);
    ratel_set(r, "session_order", p->session_order);
    ratel_set(r, "drift", p->drift);
    ratel_set(r, "trust_timestamps", p->trusted);
    ratel_set(r, "time", 300);
    if (p->definition) {
        text d = definition_of(cert), proof = {NULL, 0, 0, 0};
        if (ratel_definition_hash(d.at, d.n) != p->definition)
            fail("a definition", "has another hash than its lines");
        if (ratel_certify_definition(&v, r, h, d.at, d.n, p->level + strlen("definition "),
                                     add_text, &proof))
            v = RATEL_UNDECIDED;
        free(d.at);
        free(proof.at);
    } else if (!ratel_check(&a, r, h, p->level)) {
        /* without timestamps nothing is decided by them, and the level itself was */
        v = ratel_result_verdict(a);
    }
    ratel_result_free(a);
    return v;
}

static void verify_pair(ratel *r, const ratel_history *h, text *cert)
{
    ratel_proof p;
    int code = ratel_verify(&p, r, h, give_text, cert);
    if (code && code != RATEL_EPARSE && code != RATEL_ETIME && code != RATEL_ENOMEM)
        fail("cannot verify", ratel_errmsg(r));
    if (code ? !ratel_errmsg(r)[0] : !p.proved && !p.reason[0]) fail("no reason", "given");
    if (code || !p.proved) return;
    ratel_verdict v = decided(r, h, &p, cert);
    if (v != RATEL_UNDECIDED && v != p.verdict) fail("a false certificate is proved", p.level);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *at = (const char *)data, *border = NULL;
    ratel *r = NULL;
    ratel_history *h = NULL;
    for (size_t i = 0; i + 4 <= size && !border; i++)
        if (!memcmp(at + i, "\n%%\n", 4)) border = at + i;
    if (!border) return 0;
    size_t certificate = (size_t)(border - at) + 1, rest = certificate + 3;
    if (ratel_open(&r, NULL)) fail("open", "out of memory");
    ratel_set(r, "time", 1000);
    ratel_set(r, "memory", 256);
    text in = {(char *)(uintptr_t)at + rest, size - rest, 0, 0}, cert = {NULL, 0, 0, 0};
    if (!ratel_history_read(&h, r, "ratel", give_text, &in)) {
        set_head(&cert, at, certificate, h->model);
        verify_pair(r, h, &cert);
        free(cert.at);
    }
    ratel_history_free(h);
    ratel_close(r);
    return 0;
}
