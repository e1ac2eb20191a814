/* causality-tokens.c - a client that was given the token of a transaction sees that transaction:
   the attribute "after" (setting `attribute`) lists the transactions by name. */
#include <stdio.h>
#include <string.h>

#include "ratel-module.h"

/* The next name of a JSON array of plain strings and numbers; NULL at its end. */
static const char *next_name(const char *at, char *out, size_t size)
{
    size_t n = 0;
    while (*at && strchr("[], \t", *at)) at++;
    if (!*at) return NULL;
    char quote = *at == '"';
    for (at += quote; *at && (quote ? *at != '"' : !strchr("], \t", *at)); at++)
        if (n + 1 < size) out[n++] = *at;
    out[n] = 0;
    return at + (quote && *at);
}

static int extend(const ratel_module *self, const ratel_module_host *host, ratel_module_call *c)
{
    const char *name = host->setting(c, "attribute");
    char text[4096], token[sizeof text], me[80], reason[240];
    (void)self;
    for (uint32_t t = 0; t < host->txns(c); t++) {
        int n = host->attribute(c, t, name ? name : "after", text, sizeof text);
        if (n < 0) continue;
        if ((size_t)n >= sizeof text) {
            host->refuse(c, "a list of tokens is longer than 4095 bytes");
            return 1;
        }
        if (*text == '{' || strchr(text, '\\')) {
            host->refuse(c, "tokens are names in a list, without escapes");
            return 1;
        }
        host->txn_name(c, t, me, sizeof me);
        for (const char *at = next_name(text, token, sizeof token); at;
             at = next_name(at, token, sizeof token)) {
            uint32_t seen = host->txn_named(c, token);
            if (seen == RATEL_NO_NUMBER || seen == t) continue;
            ratel_module_edge e = {seen, t, RATEL_COMMIT, RATEL_BEGIN, RATEL_DEPENDS};
            snprintf(reason, sizeof reason, "the client of %s had the token of %.80s", me,
                     token);
            host->add(c, &e, 1, reason);
        }
        if (host->poll(c)) return 1;
    }
    return 0;
}

const ratel_module *ratel_module_entry(void)
{
    static const ratel_module module = {RATEL_MODULE_ABI,
                                        sizeof module,
                                        "causality-tokens",
                                        "clients see what they had tokens of",
                                        NULL,
                                        extend,
                                        NULL};
    return &module;
}
