/*
 * statement_maker.h - what the makers of random statements share: a text that grows, and choices.
 */
#ifndef TEST_STATEMENT_MAKER_H
#define TEST_STATEMENT_MAKER_H

#include "base/rng.h"
#include "base/strbuf.h"

typedef struct maker {
    strbuf *b;
    rng *r;
} maker;

static inline unsigned below(const maker *m, uint32_t n)
{
    return (unsigned)rng_below(m->r, n);
}

static inline void add(maker *m, const char *s)
{
    strbuf_str(m->b, s);
}

/* One of these texts. */
#define PICK(m, ...)                                                                               \
    ((const char *[]){                                                                             \
        __VA_ARGS__})[below(m, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *))]

#endif
