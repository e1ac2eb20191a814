/*
 * pg_txn.c - from statements and their answers to the lines of a log.
 *
 * Outside of BEGIN ... COMMIT, all statements up to the next ReadyForQuery are one transaction,
 * which commits there: a simple query of several statements, or a pipeline up to its Sync.  BEGIN
 * among them makes them the beginning of a block, and COMMIT among them ends what came before it.
 */
#include "trace/pg_txn.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pg_txn_init(pg_txn *t, mem *m, uint32_t session, const mask *masks, const pg_sink *sink)
{
    memset(t, 0, sizeof *t);
    t->sink = sink;
    t->masks = masks;
    t->session = session;
    strbuf_init(&t->statements, m);
    strbuf_init(&t->line, m);
    strbuf_init(&t->scratch, m);
}

static void open_txn(pg_txn *t, uint64_t call, uint64_t back)
{
    t->open = true;
    t->block = false;
    t->own_isolation = t->isolation;
    t->begun = call;
    t->begun_back = back;
    t->refused = t->has_xid = false;
    t->n = 0;
    t->statements.n = 0;
}

/* With commit timestamps, a transaction has the server's number, by which change streams name it,
   or a name that cannot be one. */
static void put_id(pg_txn *t)
{
    uint64_t number = t->sink->next_id(t->sink->ud);
    if (!t->sink->committed)
        strbuf_u64(&t->line, number);
    else if (t->has_xid && *t->xid)
        strbuf_printf(&t->line, "\"%s\"", t->xid);
    else
        strbuf_printf(&t->line, "\"t%llu\"", (unsigned long long)number);
}

/* Nothing, if the transaction is known to have written nothing; null, if its time is not known. */
static void put_commit(pg_txn *t, pg_status status)
{
    int64_t ts;
    if (!t->sink->committed || status != STATUS_COMMITTED || (t->has_xid && !*t->xid)) return;
    if (t->has_xid && t->sink->committed(t->sink->ud, t->xid, &ts)) {
        strbuf_str(&t->line, "\"commit_ts\":");
        strbuf_i64(&t->line, ts);
        strbuf_char(&t->line, ',');
    } else {
        strbuf_str(&t->line, "\"commit_ts\":null,");
    }
}

void pg_txn_end(pg_txn *t, pg_status status, uint64_t call, uint64_t back)
{
    static const char *const names[] = {"committed", "aborted", "unknown"};
    static const pg_count counts[] = {PG_COMMITTED, PG_ABORTED, PG_OUTCOME_UNKNOWN};
    assert(t->open);
    t->open = t->block = false;
    if (t->mute) t->n = 0;
    if (!t->n) return; /* BEGIN and COMMIT alone */
    t->sink->count(t->sink->ud, counts[status], 1);
    if (call < t->begun) call = t->begun;
    uint64_t begun_back = t->begun_back < call ? t->begun_back : call;
    strbuf *o = &t->line;
    o->n = 0;
    strbuf_str(o, "{\"id\":");
    put_id(t);
    strbuf_str(o, ",\"session\":");
    strbuf_u64(o, t->session);
    strbuf_str(o, ",\"status\":\"");
    strbuf_str(o, names[status]);
    strbuf_str(o, "\",\"times\":[");
    strbuf_u64(o, t->begun);
    strbuf_char(o, ',');
    strbuf_u64(o, begun_back);
    strbuf_char(o, ',');
    strbuf_u64(o, call);
    strbuf_char(o, ',');
    strbuf_u64(o, back > call ? back : call);
    strbuf_str(o, "],");
    put_commit(t, status);
    if (t->own_isolation) strbuf_printf(o, "\"isolation\":\"%s\",", t->own_isolation);
    strbuf_str(o, "\"statements\":[");
    strbuf_add(o, t->statements.at, t->statements.n);
    strbuf_str(o, "]}\n");
    t->sink->line(t->sink->ud, o->at, o->n);
    t->statements.n = t->n = 0;
}

static bool valid_text(const char *at, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t k = (unsigned char)at[i] < 0x80 ? 1 : utf8_length(at + i, n - i);
        if (!k) return false;
        i += k;
    }
    return true;
}

/* The text of the statement, without what must not be written; why it is not the whole, or NULL. */
static const char *put_sql(pg_txn *t, const pg_asked *q)
{
    strbuf *o = &t->statements, *s = &t->scratch;
    const char *at = q->part.at, *opaque = q->opaque;
    size_t n = q->part.n;
    if (q->hide || mask_matches(t->masks, at, n)) {
        s->n = 0;
        if (q->hide)
            sql_hide_values(at, n, t->rules, s);
        else
            mask_replace(t->masks, at, n, s);
        at = s->at;
        n = s->n;
        opaque = "its values are masked";
    } else if (mask_matches_literal(t->masks, at, n, t->rules, s)) {
        s->n = 0; /* a pattern that is about the whole of a value */
        sql_hide_values(q->part.at, n, t->rules, s);
        at = s->at;
        n = s->n;
        opaque = "its values are masked";
    }
    if (!opaque && !valid_text(at, n)) opaque = "its text is not in UTF-8";
    strbuf_json(o, n ? at : "", n);
    return opaque;
}

static void put_rows(pg_txn *t, const pg_answer *a)
{
    strbuf *o = &t->statements;
    if (a->over || a->hidden) {
        t->sink->count(t->sink->ud, a->over ? PG_HASHED : PG_HIDDEN, 1);
        strbuf_str(o, ",\"count\":");
        strbuf_u64(o, a->n_rows);
        if (a->over && !a->hidden && !t->masks->patterns) /* short secrets can be guessed from it */
            strbuf_printf(o, ",\"rows_hash\":\"%016llx\"", (unsigned long long)a->hash);
        return;
    }
    strbuf_str(o, ",\"rows\":[");
    strbuf_add(o, a->rows.at, a->rows.n);
    strbuf_char(o, ']');
}

/* The number at the end of a command tag, such as INSERT 0 5. */
static bool tag_count(const char *tag, uint64_t *n)
{
    const char *last = tag ? strrchr(tag, ' ') : NULL;
    if (!last || last[1] < '0' || last[1] > '9') return false;
    char *end;
    *n = strtoull(last + 1, &end, 10);
    return !*end;
}

static void add_statement(pg_txn *t, const pg_asked *q, const pg_answer *a, const char *tag,
                          uint64_t back)
{
    strbuf *o = &t->statements;
    uint64_t count;
    t->sink->count(t->sink->ud, PG_STATEMENTS, 1);
    strbuf_str(o, t->n++ ? ",{\"sql\":" : "{\"sql\":");
    const char *opaque = put_sql(t, q);
    if (q->params && !q->hide) {
        strbuf_str(o, ",\"params\":[");
        strbuf_add(o, q->params, q->n_params);
        strbuf_char(o, ']');
    }
    if (opaque) {
        strbuf_str(o, ",\"opaque\":");
        strbuf_json(o, opaque, strlen(opaque));
    }
    if (a && *a->error) {
        strbuf_printf(o, ",\"error\":\"%.5s\"", a->error);
    } else if (a && a->has_rows) {
        put_rows(t, a);
    } else if (a && tag_count(tag, &count)) {
        strbuf_str(o, ",\"count\":");
        strbuf_u64(o, count);
    }
    if (a && a->insert_id && !q->hide && !opaque) {
        strbuf_str(o, ",\"insert_id\":");
        strbuf_u64(o, a->insert_id);
    }
    if (a && a->copied) {
        strbuf_str(o, ",\"copied\":");
        strbuf_u64(o, a->copied);
    }
    strbuf_str(o, ",\"t\":[");
    strbuf_u64(o, q->call);
    strbuf_char(o, ',');
    strbuf_u64(o, back);
    strbuf_str(o, "]}");
}

#define WEAKEST "read committed" /* that PostgreSQL has: READ UNCOMMITTED is the same there */

/* A setting inside of a block is undone with it: then either of the two may hold, and no
   transaction must be held to more than it has. */
static void set_isolation(pg_txn *t, const char *to)
{
    const char *old = t->isolation;
    bool same = old == to || (old && to && !strcmp(old, to));
    t->isolation = t->block && !same ? WEAKEST : to;
}

/* What a statement that succeeded does to isolation. */
static void note_isolation(pg_txn *t, const sql_part *p)
{
    if (p->kind == SQL_SET_ISOLATION) set_isolation(t, p->isolation);
    if (p->kind == SQL_RESET_ISOLATION) set_isolation(t, t->first_isolation);
    if (p->kind == SQL_OTHER && p->isolation) t->own_isolation = p->isolation;
    if (p->may_set_isolation) t->isolation = t->own_isolation = WEAKEST;
}

/* COMMIT or ROLLBACK was answered. */
static void end_block(pg_txn *t, const pg_asked *q, const char *tag, uint64_t back)
{
    if (t->open)
        pg_txn_end(t, strcmp(tag, "COMMIT") ? STATUS_ABORTED : STATUS_COMMITTED, q->call, back);
    if (!q->part.chain) return;
    const char *same = t->own_isolation; /* the next one has the isolation of this one */
    open_txn(t, q->call, back);
    t->own_isolation = same;
    t->block = true;
}

void pg_txn_statement(pg_txn *t, const pg_asked *q, const pg_answer *a, const char *tag,
                      uint64_t back)
{
    sql_kind kind = q->part.kind;
    bool ends = kind == SQL_COMMIT || kind == SQL_ROLLBACK;
    if (tag && ends) {
        end_block(t, q, tag, back);
        return;
    }
    if (!t->open) open_txn(t, q->call, back);
    if (ends) { /* an error at the commit, which ends the transaction, or nobody knows */
        t->refused = a && *a->error;
        return;
    }
    if (tag && kind == SQL_BEGIN) {
        if (!t->block && !t->n) t->begun = q->call, t->begun_back = back;
        if (q->part.isolation) t->own_isolation = q->part.isolation;
        t->block = true;
        return;
    }
    if (tag) note_isolation(t, &q->part);
    if (tag && (kind == SQL_PREPARE_TRANSACTION || kind == SQL_END_PREPARED))
        t->sink->gap(t->sink->ud, t->session, t->begun,
                     "a transaction was prepared, and may commit at any time");
    if (tag && q->part.sets_default)
        t->sink->gap(t->sink->ud, t->session, t->begun,
                     "the isolation of sessions that begin later was changed");
    if (!(tag && q->followed)) add_statement(t, q, a, tag, back);
    if (tag && kind == SQL_PREPARE_TRANSACTION) pg_txn_end(t, STATUS_UNKNOWN, q->call, back);
}

bool pg_txn_ready(pg_txn *t, char status, bool failed, uint64_t call, uint64_t back)
{
    bool in_block = status != 'I';
    if (!t->open && !in_block) return true;
    if (!t->open) { /* it began where we did not look */
        open_txn(t, call, back);
        t->block = true;
        return false;
    }
    if (in_block && t->block) return true;
    if (in_block) {
        t->block = true;
        return false;
    }
    bool refused = failed && (t->refused || !t->block), surprise = t->block && !refused;
    pg_txn_end(t,
               surprise  ? STATUS_UNKNOWN
               : refused ? STATUS_ABORTED
                         : STATUS_COMMITTED,
               call, back);
    return !surprise;
}

void pg_txn_lost(pg_txn *t, bool pending, uint64_t back)
{
    if (t->open) pg_txn_end(t, pending ? STATUS_UNKNOWN : STATUS_ABORTED, t->begun, back);
}
