/* cdc-order.c - the versions of a key follow each other as a change stream says: by the attribute
   "lsn" of their transactions (setting `attribute`), a number; those without it stay free. */
#include <stdio.h>
#include <stdlib.h>

#include "ratel-module.h"

typedef struct change {
    long long at;
    uint32_t txn;
} change;

static int by_position(const void *a, const void *b)
{
    const change *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

static int extend(const ratel_module *self, const ratel_module_host *host, ratel_module_call *c)
{
    const char *name = host->setting(c, "attribute");
    uint32_t n = host->txns(c);
    uint32_t *writer = malloc((n + 1) * sizeof *writer);
    change *known = malloc((n + 1) * sizeof *known);
    (void)self;
    if (!writer || !known) host->refuse(c, "out of memory");
    for (uint32_t key = 0; writer && known && key < host->keys(c) && !host->poll(c); key++) {
        uint32_t writers = host->writers(c, key, writer, n), m = 0;
        char text[64], key_name[60], reason[160];
        for (uint32_t i = 0; i < writers && i < n; i++) {
            char *end;
            if (host->attribute(c, writer[i], name ? name : "lsn", text, sizeof text) < 0) continue;
            known[m] = (change){strtoll(text, &end, 10), writer[i]};
            if (end != text && !*end) m++;
        }
        if (m > 1) qsort(known, m, sizeof *known, by_position);
        host->key_text(c, key, key_name, sizeof key_name);
        for (uint32_t i = 1; i < m; i++) {
            if (known[i - 1].at == known[i].at) continue;
            ratel_module_edge e = {known[i - 1].txn, known[i].txn, RATEL_COMMIT, RATEL_COMMIT,
                                   RATEL_ORDERS};
            snprintf(reason, sizeof reason, "the change stream has %lld before %lld of key %s",
                     known[i - 1].at, known[i].at, key_name);
            host->add(c, &e, 1, reason);
        }
    }
    free(writer);
    free(known);
    return 0;
}

const ratel_module *ratel_module_entry(void)
{
    static const ratel_module module = {
        RATEL_MODULE_ABI, sizeof module, "cdc-order", "version order from a change stream", NULL,
        extend,           NULL};
    return &module;
}
