/*
 * The fuzz target of certificates: any bytes, taken as a certificate of a few small histories, must
 * be proved, refused or told to be no certificate, never crash, and never prove what is not so. The
 * input is tried as it is and as the body behind the right head of each history and level, since
 * no fuzzer guesses a hash.
 *
 * Trying all of them made 30 inputs a second. With a fuzzer (FUZZING) the last byte of the input
 * says which one is tried, and is no part of the certificate; a replay of a saved input tries all
 * of them, with and without the last byte.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ratel.h"

static const char *const histories[] = {
    "{\"ratel\":1,\"init\":0}\n"
    "{\"session\":1,\"id\":1,\"ops\":[[\"r\",\"x\",0],[\"r\",\"y\",0],[\"w\",\"x\",1]]}\n"
    "{\"session\":2,\"id\":2,\"ops\":[[\"r\",\"x\",0],[\"r\",\"y\",0],[\"w\",\"y\",1]]}\n",
    "{\"session\":1,\"id\":1,\"ops\":[[\"w\",\"x\",1],[\"w\",\"y\",1]]}\n"
    "{\"session\":2,\"id\":2,\"ops\":[[\"w\",\"x\",1],[\"d\",\"y\"]]}\n"
    "{\"session\":2,\"id\":3,\"status\":\"unknown\",\"ops\":[[\"w\",\"y\",1],[\"r\",\"x\",1]]}\n"
    "{\"session\":1,\"id\":4,\"ops\":[[\"r\",\"x\",1],[\"r\",\"y\",1],[\"r\",\"y\",null]]}\n",
    "{\"session\":1,\"id\":1,\"begin\":1,\"end\":2,\"ops\":[[\"append\",\"x\",1]]}\n"
    "{\"session\":2,\"id\":2,\"begin\":3,\"end\":4,\"ops\":[[\"append\",\"x\",2],"
    "[\"r\",\"x\",[1,2]]]}\n"
    "{\"session\":3,\"id\":3,\"begin\":1,\"end\":5,\"ops\":[[\"scan\",null,null,[]],"
    "[\"append\",\"x\",3]]}\n"
    "{\"session\":3,\"id\":4,\"begin\":6,\"end\":7,\"ops\":[[\"r\",\"x\",[1,2]]]}\n",
    "{\"ratel\":1,\"init_unknown\":true}\n"
    "{\"session\":1,\"id\":1,\"ops\":[[\"w\",\"x\",1,{\"ver\":2}],[\"r\",\"y\",7]]}\n"
    "{\"session\":2,\"id\":2,\"ops\":[[\"w\",\"x\",2,{\"ver\":1}],[\"r\",\"y\",8]]}\n"
    "{\"session\":2,\"id\":3,\"ops\":[[\"r\",\"x\",1],[\"r\",\"x\",2]]}\n"};
static const char *const levels[] = {"serializable",
                                     "snapshot-isolation",
                                     "strict-serializable",
                                     "causal",
                                     "read-committed",
                                     "consistent-view",
                                     "no-lost-update",
                                     "update-serializable",
                                     "prefix",
                                     "strong-snapshot-isolation",
                                     "monotonic-view",
                                     "innodb-repeatable-read",
                                     "read-atomic",
                                     "parallel-snapshot-isolation",
                                     "writes-follow-reads",
                                     "read-your-writes"};
enum { HISTORIES = sizeof histories / sizeof *histories, LEVELS = sizeof levels / sizeof *levels };

typedef struct text {
    char *at;
    size_t n, cap, pos;
} text;

static struct subject {
    ratel_history *h;
    ratel_verdict verdict[LEVELS][2]; /* session order off, on; policy must */
    text head[LEVELS];                /* of a certificate, its verdict line left out */
} subjects[HISTORIES];
static ratel *context;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "fuzz_certificate: %s: %s\n", what, why);
    abort();
}

static ptrdiff_t give(void *buf, size_t cap, void *payload)
{
    text *t = payload;
    size_t n = t->n - t->pos < cap ? t->n - t->pos : cap;
    if (n) memcpy(buf, t->at + t->pos, n);
    t->pos += n;
    return (ptrdiff_t)n;
}

static int take(const void *buf, size_t n, void *payload)
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

/* For leak checkers: the block that holds these is static, what they hold is not. */
static void tear_down(void)
{
    for (int i = 0; i < HISTORIES; i++) {
        for (int level = 0; level < LEVELS; level++) free(subjects[i].head[level].at);
        ratel_history_free(subjects[i].h);
    }
    ratel_close(context);
}

/* Every history has an answer at every level, so a certificate to take the head of. */
static void set_up(void)
{
    if (context) return;
    if (ratel_open(&context, NULL)) fail("open", "out of memory");
    if (atexit(tear_down)) fail("atexit", "refused");
    for (int i = 0; i < HISTORIES; i++) {
        text in = {(char *)(uintptr_t)histories[i], strlen(histories[i]), 0, 0};
        if (ratel_history_read(&subjects[i].h, context, "ratel", give, &in))
            fail("history", ratel_errmsg(context));
        for (int level = 0; level < LEVELS; level++)
            for (int so = 0; so < 2; so++) {
                ratel_result *a = NULL;
                text cert = {NULL, 0, 0, 0};
                ratel_set(context, "session_order", so);
                if (ratel_check(&a, context, subjects[i].h, levels[level]))
                    fail(levels[level], ratel_errmsg(context));
                subjects[i].verdict[level][so] = ratel_result_verdict(a);
                if (ratel_result_certificate(a, context, subjects[i].h, take, &cert) == RATEL_OK &&
                    ratel_result_session_order(a)) {
                    size_t n = 0;
                    while (strncmp(cert.at + n, "verdict ", 8)) n++;
                    subjects[i].head[level].n = 0;
                    take(cert.at, n, &subjects[i].head[level]);
                }
                free(cert.at);
                ratel_result_free(a);
            }
    }
}

static void verify(struct subject *s, text *cert)
{
    ratel_proof p;
    cert->pos = 0;
    int code = ratel_verify(&p, context, s->h, give, cert);
    if (code && code != RATEL_EPARSE) fail("cannot verify", ratel_errmsg(context));
    if (code ? !ratel_errmsg(context)[0] : !p.proved && !p.reason[0]) fail("no reason", "given");
    if (code || !p.proved || strcmp(p.ryow, "must") || p.drift) return;
    for (int level = 0; level < LEVELS; level++)
        if (!strcmp(p.level, levels[level]) &&
            s->verdict[level][p.session_order] != RATEL_UNDECIDED &&
            s->verdict[level][p.session_order] != p.verdict)
            fail("a false certificate is proved", p.level);
}

/* One of the questions, by number: a history, and a head for the body or none. */
enum { HEADS = 2 * LEVELS, QUESTIONS = HISTORIES * (1 + HEADS) };
static void try_question(int question, const uint8_t *data, size_t size)
{
    static const char *const verdicts[] = {"verdict holds\n", "verdict violated\n"};
    struct subject *s = &subjects[question % HISTORIES];
    int head = question / HISTORIES - 1;
    text cert = {NULL, 0, 0, 0};
    take("", 0, &cert);
    if (head >= 0) {
        const text *h = &s->head[head / 2];
        if (!h->n) return;
        take(h->at, h->n, &cert);
        take(verdicts[head % 2], strlen(verdicts[head % 2]), &cert);
    }
    take(data, size, &cert);
    verify(s, &cert);
    free(cert.at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    set_up();
#ifdef FUZZING
    if (size) try_question(data[size - 1] % QUESTIONS, data, size - 1);
#else
    for (int i = 0; i < QUESTIONS; i++) {
        try_question(i, data, size);
        if (size) try_question(i, data, size - 1);
    }
#endif
    return 0;
}
