/*
 * fuzz_wire.h - what the fuzz targets of the proxy's readers hold their lines to.
 */
#ifndef RATEL_FUZZ_WIRE_H
#define RATEL_FUZZ_WIRE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "trace/pg_session.h"

static inline uint64_t next_id(void *ud)
{
    return ++*(uint64_t *)ud;
}

static inline void take_line(void *ud, const char *at, size_t n)
{
    (void)ud;
    if (!n || at[0] != '{' || at[n - 1] != '\n' || memchr(at, '\n', n - 1)) abort();
    for (size_t i = 0; i + 1 < n; i++)
        if ((unsigned char)at[i] < ' ') abort();
}

static inline void take_gap(void *ud, uint32_t session, uint64_t from, const char *why)
{
    (void)ud, (void)from;
    if (session != 7 || !why || !*why) abort();
}

static inline void take_count(void *ud, pg_count what, uint64_t n)
{
    (void)ud, (void)n;
    if (what >= PG_COUNTS) abort();
}

static inline bool committed(void *ud, const char *xid, int64_t *ts)
{
    (void)ud;
    *ts = 5;
    return *xid == '7';
}

#endif
