/*
 * pg_stage_absent.c - the same without PostgreSQL's client library: nothing can be opened, so that
 * nothing else is ever called.
 */
#include "driver/pg_stage.h"

pg_stage *pg_stage_open(db *d, mem *m, const char *const *names, uint32_t n,
                        const char *application, const stage_user *user)
{
    (void)m, (void)names, (void)n, (void)application, (void)user;
    db_fail(d->error, "this program was built without PostgreSQL's library");
    return NULL;
}

void pg_stage_close(pg_stage *g)
{
    (void)g;
}

bool pg_stage_send(pg_stage *g, uint32_t session, const char *sql)
{
    (void)g, (void)session, (void)sql;
    return false;
}

enum stage_state pg_stage_wait(pg_stage *g, uint32_t session, uint32_t ms)
{
    (void)g, (void)session, (void)ms;
    return STAGE_LOST;
}

bool pg_stage_answers(pg_stage *g, uint32_t session, bool all, strbuf *out)
{
    (void)g, (void)session, (void)all, (void)out;
    return false;
}

void pg_stage_notifications(pg_stage *g, uint32_t session, strbuf *out)
{
    (void)g, (void)session, (void)out;
}

bool pg_stage_blocked(pg_stage *g, uint32_t session, bool *known)
{
    (void)g, (void)session;
    return *known = false;
}

bool pg_stage_cancel(pg_stage *g, uint32_t session)
{
    (void)g, (void)session;
    return false;
}

char pg_stage_status(const pg_stage *g, uint32_t session)
{
    (void)g, (void)session;
    return 0;
}

const char *pg_stage_error(const pg_stage *g, uint32_t session)
{
    (void)g, (void)session;
    return "";
}

const char *stage_cell(const stage_answer *a, uint32_t row, uint32_t col, uint32_t *n,
                       uint32_t *type)
{
    (void)a, (void)row, (void)col;
    *n = *type = 0;
    return NULL;
}
