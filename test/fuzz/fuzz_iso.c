/*
 * The fuzz target of `.iso` files: any bytes are refused with a place, or are levels.  Then the
 * tidy text is read again, is its own tidy text, and decides a few small histories in the same way;
 * and what a history breaks can be told.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ratel.h"
#include "synth/synth.h"

enum { TXNS = 3, KEYS = 2, HISTORIES = 4, MOST = 600 };
#define NO SYNTH_NONE_READ

static const struct {
    uint32_t from[(TXNS + 1) * KEYS];
    bool writes[(TXNS + 1) * KEYS], so[(TXNS + 1) * (TXNS + 1)];
} histories[HISTORIES] = {
    {{NO, NO, 0, NO, NO, 0, NO, NO}, {1, 1, 0, 1, 1, 0, 1, 0}, {0, 1, 1, 1}},
    {{NO, NO, NO, NO, 1, 0, 0, NO}, {1, 1, 1, 0, 0, 1, 0, 0}, {0, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0, 1}},
    {{NO, NO, 0, NO, 0, NO, 2, 1}, {1, 1, 1, 1, 1, 0, 0, 0}, {0, 1, 1, 1}},
    {{NO, NO, NO, 3, 1, NO, 2, NO}, {1, 1, 1, 0, 1, 0, 0, 1}, {0, 1, 1, 1}},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "fuzz_iso: %s: %s\n", what, why);
    abort();
}

static int judge(synth *s, int level, int h)
{
    return synth_check(s, level, TXNS, KEYS, histories[h].from, histories[h].writes,
                       histories[h].so, NULL);
}

/* These histories have no clocks and no order within a transaction: some levels are refused. */
static bool may_refuse(int code)
{
    return code == RATEL_ETIME || code == RATEL_ENOMEM || code == RATEL_EUNSUPPORTED;
}

static void compare(synth *s, int first, int second)
{
    for (int h = 0; h < HISTORIES; h++) {
        int a = judge(s, first, h), b = a < 0 ? a : judge(s, second, h);
        if (a < 0 || b < 0) {
            if (!may_refuse(a < 0 ? a : b)) fail("deciding", synth_error(s, NULL, NULL));
            return;
        }
        if (a != b) fail("the tidy level", "decides otherwise");
        const char *const *lines;
        size_t n = 0;
        int code = a ? 0
                     : synth_why(s, first, TXNS, KEYS, histories[h].from, histories[h].writes,
                                 histories[h].so, &lines, &n);
        if (may_refuse(code)) return;
        if (code || (!a && !n)) fail("why", synth_error(s, NULL, NULL));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    synth *s = synth_open(0.5, (size_t)1 << 28, NULL);
    if (!s) return 0;
    const char *text = (const char *)data, *tidy = NULL, *again = NULL;
    uint64_t line;
    int level = size > MOST ? RATEL_EPARSE : synth_level_read(s, "f.iso", NULL, text, size);
    if (level < 0) {
        synth_error(s, &line, NULL);
        if (size <= MOST && (level != RATEL_EPARSE || !line))
            fail("a refusal without a place", synth_error(s, NULL, NULL));
        synth_close(s);
        return 0;
    }
    if (synth_tidy(s, "f.iso", text, size, &tidy)) fail("tidy", synth_error(s, NULL, NULL));
    size_t n = strlen(tidy);
    char *copy = malloc(n + 1);
    if (!copy) abort();
    memcpy(copy, tidy, n + 1);
    if (synth_tidy(s, "f.iso", copy, n, &again)) fail("tidy twice", synth_error(s, NULL, NULL));
    if (strcmp(copy, again)) fail("tidy twice", "is not tidy once");
    int second = synth_level_read(s, "f.iso", NULL, copy, n);
    if (second < 0) fail("the tidy text", synth_error(s, NULL, NULL));
    compare(s, level, second);
    free(copy);
    synth_close(s);
    return 0;
}
