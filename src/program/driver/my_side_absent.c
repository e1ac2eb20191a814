/*
 * my_side_absent.c - my_side.h in a build without the client library of MariaDB.
 */
#include <stdio.h>

#include "driver/my_side.h"

bool my_side_open(pg_side *s, const char *url)
{
    (void)url;
    memset(s, 0, sizeof *s);
    snprintf(s->error, sizeof s->error, "this build has no client library of MariaDB");
    return false;
}

void my_side_close(pg_side *s)
{
    (void)s;
}

bool my_side_head(pg_side *s, mem *m, pg_side_schema *o)
{
    (void)s, (void)m, (void)o;
    return false;
}
