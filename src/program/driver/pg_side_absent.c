/*
 * pg_side_absent.c - the same without PostgreSQL's client library.
 */
#include "driver/pg_side.h"

#include <stdio.h>

static bool absent(pg_side *s)
{
    snprintf(s->error, sizeof s->error, "this program was built without PostgreSQL's library");
    return false;
}

bool pg_side_available(void)
{
    return false;
}

bool pg_side_open(pg_side *s, const char *url)
{
    (void)url;
    memset(s, 0, sizeof *s);
    return absent(s);
}

void pg_side_close(pg_side *s)
{
    (void)s;
}

bool pg_side_head(pg_side *s, mem *m, pg_side_schema *o)
{
    (void)m, (void)o;
    return absent(s);
}

bool pg_side_keeps_commits(pg_side *s)
{
    (void)s;
    return false;
}

bool pg_side_xid(pg_side *s, uint32_t process, char *id, size_t cap)
{
    (void)process;
    if (cap) *id = 0;
    return absent(s);
}

bool pg_side_committed(pg_side *s, const char *id, int64_t *out)
{
    (void)id, (void)out;
    return absent(s);
}
