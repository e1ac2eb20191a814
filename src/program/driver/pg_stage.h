/*
 * pg_stage.h - the connections of a script to PostgreSQL, used without waiting: a statement is
 * sent, the server is asked whether its session is blocked, and the answers are printed as
 * isolationtester prints them.
 *
 * Nobody here decides what runs when; step/isolation.h does.  The control connection makes and
 * removes tables and watches the others.
 */
#ifndef RATEL_DRIVER_PG_STAGE_H
#define RATEL_DRIVER_PG_STAGE_H

#include "driver/driver.h"

typedef struct pg_stage pg_stage;

#define STAGE_CONTROL NO_ID /* the control connection, where a session is asked for */

/* What one statement was answered with; valid during the call that tells it. */
typedef struct stage_answer {
    const void *result;
    const char *tag; /* NULL: it failed */
    char state[6];   /* SQLSTATE, or "" */
    bool has_rows;
    uint32_t rows, cols;
} stage_answer;

/* Whoever watches the sessions, not the control connection; functions do not fail. */
typedef struct stage_user {
    void *ud;
    void (*notice)(void *ud, uint32_t session, const char *text);
    void (*answer)(void *ud, uint32_t session, const stage_answer *a);
} stage_user;

enum stage_state { STAGE_BUSY, STAGE_READY, STAGE_LOST };

/* Connects to the database that d encloses; `application` and the name of a session with a slash
   between are the name that the server sees.  NULL: d->error says why. */
pg_stage *pg_stage_open(db *d, mem *m, const char *const *names, uint32_t n,
                        const char *application, const stage_user *user);
void pg_stage_close(pg_stage *g);

bool pg_stage_send(pg_stage *g, uint32_t session, const char *sql);
/* Reads what has come, waiting so long at most. */
enum stage_state pg_stage_wait(pg_stage *g, uint32_t session, uint32_t ms);
/* Takes the answers of a session that is ready and adds them to `out`: all of them, or the last
   one's rows alone (what a setup prints).  False: the last one is an error, whose message is in
   pg_stage_error. */
bool pg_stage_answers(pg_stage *g, uint32_t session, bool all, strbuf *out);
/* NOTIFY messages that have come. */
void pg_stage_notifications(pg_stage *g, uint32_t session, strbuf *out);
/* Does the session wait for another one?  False in `*known`: the server could not be asked. */
bool pg_stage_blocked(pg_stage *g, uint32_t session, bool *known);
bool pg_stage_cancel(pg_stage *g, uint32_t session);
/* The status of its transaction: I, T or E; 0: the connection is lost. */
char pg_stage_status(const pg_stage *g, uint32_t session);
const char *pg_stage_error(const pg_stage *g, uint32_t session);

/* A value as text, NULL: it is null.  `type` is PostgreSQL's number of its type. */
const char *stage_cell(const stage_answer *a, uint32_t row, uint32_t col, uint32_t *n,
                       uint32_t *type);

#endif
