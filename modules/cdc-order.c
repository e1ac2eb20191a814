/* cdc-order.c - the versions of a key follow each other as a change stream says: by the attribute
   "lsn" of their transactions (setting `attribute`), a number or a position of PostgreSQL's
   log ("0/16B3748"); those without it stay free. */
#include <errno.h>
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

static int read_position(const char *text, long long *out)
{
    unsigned high, low;
    int n = 0;
    char *end;
    if (sscanf(text, "\"%8x/%8x\"%n", &high, &low, &n) == 2 && n && !text[n]) {
        *out = (long long)((unsigned long long)high << 32 | low);
        return 1;
    }
    errno = 0;
    *out = strtoll(text, &end, 10);
    return end != text && !*end && !errno;
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
            if (host->attribute(c, writer[i], name ? name : "lsn", text, sizeof text) < 0) continue;
            if (!read_position(text, &known[m].at)) {
                snprintf(reason, sizeof reason, "%s is no position in a change stream", text);
                host->refuse(c, reason);
            }
            known[m++].txn = writer[i];
        }
        if (m > 1) qsort(known, m, sizeof *known, by_position);
        host->key_text(c, key, key_name, sizeof key_name);
        for (uint32_t i = 0, first = 0, before = 0; i < m; i++) {
            if (i && known[i].at != known[i - 1].at) {
                before = first;
                first = i;
            }
            for (uint32_t k = before; k < first; k++) { /* all of the position before this one */
                ratel_module_edge e = {known[k].txn, known[i].txn, RATEL_COMMIT, RATEL_COMMIT,
                                       RATEL_ORDERS};
                snprintf(reason, sizeof reason, "the change stream has %lld before %lld of key %s",
                         known[k].at, known[i].at, key_name);
                host->add(c, &e, 1, reason);
            }
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
