/*
 * compare_answers.h - does an answer of the engine agree with what the log has?
 *
 * Rows are compared as a multiset: whether their order is forced depends on ties and collations,
 * which the words of a statement do not tell.
 */
#ifndef RATEL_REFERENCE_COMPARE_ANSWERS_H
#define RATEL_REFERENCE_COMPARE_ANSWERS_H

#include "audit/log.h"
#include "driver/driver.h"

typedef enum agreement {
    ANSWERS_AGREE,
    ANSWERS_DIFFER,
    ANSWERS_CONFLICT, /* the engine refused a concurrent write: 40001 */
    ANSWERS_UNSURE    /* they differ in a way that says nothing of the database in question */
} agreement;

typedef enum engine_kind { ENGINE_POSTGRES, ENGINE_MARIADB, ENGINE_SQLITE } engine_kind;

/* `failed`: the engine refused the statement, s->state and s->error say how. */
agreement compare_answer(engine_kind engine, const log_stmt *logged, const db_session *s,
                         bool failed);
agreement compare_cell(engine_kind engine, const cell *logged, const db_session *s,
                       const db_cell *answered);
/* Does the error depend on what others do at that moment, too? */
bool error_depends_on_time(const char *state);
/* The engine's answer in a few words. */
void show_engine_answer(const db_session *s, bool failed, strbuf *out);
/* What the log has. */
void show_logged_answer(const log_stmt *logged, strbuf *out);

#endif
