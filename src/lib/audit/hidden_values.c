/*
 * hidden_values.c - values that statements wrote without showing them, out of a replay of the log.
 *
 * The log is decided as an audit decides it; then the order that explained it is replayed once
 * more, and what each transaction wrote is kept when it commits.  A replay with backtracking
 * commits a position several times: the last time counts.  Writes are kept by key, in the order of
 * the versions, so that one walk over a key tells whether the log itself dictates that order.
 */
#include "audit/hidden_values.h"

#include <assert.h>

#include "audit/audit_search.h"
#include "audit/txn_order.h"
#include "base/search.h"

#define REPLAY_RUNS 100000u /* and 20 for each transaction: a history is not worth a long search */
#define WIDE_STATES 4096u

typedef enum known_order { ORDER_NOT_ASKED, ORDER_KNOWN, ORDER_OPEN } known_order;

struct hidden_values {
    engine *e;
    audit_options o; /* the engine's */
    hidden_wanted wanted;
    arena kept;
    strbuf scratch;
    VEC(hidden_write) writes; /* by position; then sorted by key */
    VEC(const row_version *) chain;
    size_t *first;      /* by key: its first write */
    size_t *cursor;     /* by key: the write that was asked for last */
    uint8_t *order;     /* by key: enum known_order */
    uint32_t *place_of; /* by transaction: its position, or UINT32_MAX */
};

/* ---- what each transaction wrote ------------------------------------------------------------- */

static const char *version_text(hidden_values *h, type_id t, value v)
{
    if (v.null) return h->wanted.null;
    h->scratch.n = 0;
    value_print(t, v, &h->scratch);
    return arena_text(&h->kept, h->scratch.n ? h->scratch.at : "", h->scratch.n);
}

/* The versions of one row that the transaction made, as every wanted key of the row has them. */
static void keep_versions(hidden_values *h, const table *t, uint32_t position)
{
    const running_txn *run = &h->e->run;
    assert(h->chain.n && run->cids.n);
    for (uint32_t i = 0; i < h->wanted.n; i++) {
        uint32_t key, column;
        if (!h->wanted.column_of(h->wanted.ud, i, t->name, &key, &column)) continue;
        if (key >= t->n_cols || column >= t->n_cols) continue;
        for (size_t k = h->chain.n; k-- > 0;) {
            const row_version *v = h->chain.at[k], *named = v;
            while (named && named->dead) named = named->older; /* a dead one has no columns */
            if (!named || named->cols[key].open || named->cols[key].null) continue;
            const char *row = version_text(h, t->cols[key].t.id, named->cols[key]);
            uint32_t id = h->wanted.key_of(h->wanted.ud, i, row);
            if (id == UINT32_MAX) continue;
            size_t stmt = upper_bound_u32(run->cids.at, run->cids.n, v->cid);
            assert(stmt); /* every version is some statement's */
            bool shown = !v->dead && !v->cols[column].open;
            vec_push(h->e->mem, &h->writes,
                     ((hidden_write){id, i, position, run->trial->txn, (uint32_t)stmt - 1,
                                     shown ? version_text(h, t->cols[column].t.id, v->cols[column])
                                           : NULL}));
        }
    }
}

/* Before each position commits. */
static void keep_writes(void *ud, uint32_t position)
{
    hidden_values *h = ud;
    store *s = &h->e->store;
    while (h->writes.n && h->writes.at[h->writes.n - 1].position >= position) h->writes.n--;
    uint32_t mark = ++s->lookup; /* each row once, as a lookup has it */
    for (size_t i = 0; i < s->undo.n; i++) {
        store_undo u = s->undo.at[i];
        if (u.row >= UNDO_LEAST || u.t->rows.at[u.row].seen == mark) continue;
        u.t->rows.at[u.row].seen = mark;
        h->chain.n = 0;
        for (const row_version *v = u.t->rows.at[u.row].head; v && v->commit == PENDING;
             v = v->older)
            vec_push(h->e->mem, &h->chain, v);
        if (h->chain.n) keep_versions(h, u.t, position);
    }
}

/* ---- the replay ------------------------------------------------------------------------------ */

/* Is there an execution that explains the log?  The engine's order is then its order. */
static bool log_is_explained(engine *e, const char **why)
{
    audit_answer a = {0};
    bool newest = e->level.mode == MODE_LATEST || e->level.rule != WRITE_FREE;
    if (e->log->dialect != DIALECT_POSTGRES || !newest || e->level.mode == MODE_ROW ||
        e->plans.changes_schema) {
        *why = e->log->dialect != DIALECT_POSTGRES ? "the replay computes as PostgreSQL does"
               : e->plans.changes_schema           ? "the log changes tables"
                                                   : "at the log's level updates may be lost";
        return false;
    }
    search_decide(e, &a);
    *why = "the replay does not explain the log";
    return a.n_order > 0 && a.verdict != AUDIT_VIOLATED; /* (it has an order where it holds) */
}

static bool replay_again(hidden_values *h)
{
    engine *e = h->e;
    assert(!e->hooks.commits && !e->hooks.choose && !e->hooks.by_row);
    e->run.mode = e->level.mode;
    e->run.rule = e->level.rule;
    e->exploring = false;
    order_windows(e);
    e->hooks.commits = keep_writes;
    e->hooks.commits_ud = h;
    found r = search_quickly(e, WIDE_STATES);
    if (r == FOUND_CUT && e->run.mode != MODE_LATEST) r = search_replay(e, true, WIDE_STATES);
    e->hooks.commits = NULL;
    return r == FOUND_YES;
}

/* A table that a statement may have changed which is not understood. */
static bool is_lost_table(const hidden_values *h, uint32_t column)
{
    const store *s = &h->e->store;
    for (size_t i = 0; i < s->tables.n; i++) {
        uint32_t key, value_column;
        const table *t = s->tables.at[i];
        if (t->unknown && h->wanted.column_of(h->wanted.ud, column, t->name, &key, &value_column))
            return true;
    }
    return false;
}

/* Leaves out the columns of such tables. */
static void drop_lost_tables(hidden_values *h)
{
    bool *lost = mem_array0(h->e->mem, bool, (size_t)h->wanted.n + 1);
    size_t n = 0;
    for (uint32_t i = 0; i < h->wanted.n; i++) lost[i] = is_lost_table(h, i);
    for (size_t i = 0; i < h->writes.n; i++)
        if (!lost[h->writes.at[i].column]) h->writes.at[n++] = h->writes.at[i];
    h->writes.n = n;
    mem_put(h->e->mem, lost);
}

/* By key, and for each key in the order of its versions.  Counting sort: nothing changes places. */
static void sort_writes(hidden_values *h, uint32_t n_keys)
{
    mem *m = h->e->mem;
    hidden_write *by_key = mem_array(m, hidden_write, h->writes.n + 1);
    size_t *first = h->first = mem_array0(m, size_t, (size_t)n_keys + 2);
    h->order = mem_array0(m, uint8_t, (size_t)n_keys + 1);
    h->cursor = mem_array0(m, size_t, (size_t)n_keys + 1);
    for (size_t i = 0; i < h->writes.n; i++) {
        assert(h->writes.at[i].key < n_keys);
        first[h->writes.at[i].key + 2]++;
    }
    for (uint32_t k = 2; k < n_keys + 2; k++) first[k] += first[k - 1];
    for (size_t i = 0; i < h->writes.n; i++)
        by_key[first[h->writes.at[i].key + 1]++] = h->writes.at[i];
    if (h->writes.n) memcpy(h->writes.at, by_key, h->writes.n * sizeof *by_key);
    mem_put(m, by_key);
}

hidden_values *hidden_values_replay(engine *e, const hidden_wanted *wanted, uint32_t n_keys,
                                    const char **why)
{
    hidden_values *h = mem_array0(e->mem, hidden_values, 1);
    h->e = e;
    h->o = *e->o;
    h->o.lenient = true; /* tables that a statement may have changed are left out below */
    if (!h->o.runs) h->o.runs = REPLAY_RUNS + 20 * (uint64_t)e->log->txns.n;
    e->o = &h->o;
    h->wanted = *wanted;
    arena_init(&h->kept, e->mem);
    strbuf_init(&h->scratch, e->mem);
    if (!log_is_explained(e, why) || !replay_again(h)) return NULL;
    h->place_of = mem_array(e->mem, uint32_t, e->log->txns.n + 1);
    memset(h->place_of, 0xff, (e->log->txns.n + 1) * sizeof *h->place_of);
    for (uint32_t i = 0; i < e->order.n; i++) h->place_of[e->order.at[i]] = i;
    drop_lost_tables(h);
    sort_writes(h, n_keys);
    return h;
}

/* ---- values that are certain ----------------------------------------------------------------- */

/* No commit of the transaction took place before this time.  One statement may commit by itself. */
static bool commit_called(const log_txn *t, int64_t *call)
{
    if (!t->has_times && !t->has_begin) return false;
    *call = t->has_times ? t->times[2] : t->begin;
    if (t->n_stmts == 1 && t->stmts[0].has_time && t->stmts[0].call < *call)
        *call = t->stmts[0].call;
    return true;
}

/* Does the log tell that `a`, the first write of its transaction, came before those of another one?
   A statement without times was answered before its transaction ended. */
static bool came_before(const hidden_values *h, const hidden_write *a, const hidden_write *b)
{
    const engine *e = h->e;
    const log_txn *first = &e->log->txns.at[a->txn], *second = &e->log->txns.at[b->txn];
    assert(a->txn != b->txn && a->stmt < first->n_stmts);
    if (first->session == second->session) return a->txn < b->txn;
    if (e->order.stamped && first->has_commit && second->has_commit)
        return first->commit < second->commit;
    const log_stmt *s = &first->stmts[a->stmt];
    int64_t call, done = s->has_time ? s->answer : first->has_times ? first->times[3] : first->end;
    if (!s->has_time && !first->has_times && !first->has_end) return false;
    if (!commit_called(second, &call)) return false;
    return done < call && (uint64_t)call - (uint64_t)done > e->o->drift;
}

/* Is the order in which the row was written known from the log alone? */
static bool order_is_known(hidden_values *h, uint32_t key)
{
    if (h->order[key] != ORDER_NOT_ASKED) return h->order[key] == ORDER_KNOWN;
    bool known = true;
    size_t first = h->first[key];
    for (size_t i = first; known && i < h->first[key + 1]; i++) {
        if (h->writes.at[i].txn == h->writes.at[first].txn) continue;
        known = came_before(h, &h->writes.at[first], &h->writes.at[i]);
        first = i; /* of the next transaction */
    }
    h->order[key] = known ? ORDER_KNOWN : ORDER_OPEN;
    return known;
}

/* The statement's only write of the key, or NULL.  Statements are asked for in their order, so that
   a transaction that writes a row many times is walked once. */
static const hidden_write *write_of(hidden_values *h, uint32_t key, uint32_t txn, uint32_t stmt)
{
    uint32_t place = h->place_of[txn];
    const hidden_write *w = h->writes.at;
    SEARCH_FIRST(size_t, from, h->first[key], h->first[key + 1], w[from].position >= place);
    size_t end = h->first[key + 1], at = h->cursor[key];
    bool goes_on = at >= from && at < end && w[at].txn == txn && w[at].stmt <= stmt;
    for (at = goes_on ? at : from; at < end && w[at].txn == txn && w[at].stmt != stmt;) at++;
    if (at == end || w[at].txn != txn) return NULL;
    h->cursor[key] = at;
    bool again = at + 1 < end && w[at + 1].txn == txn && w[at + 1].stmt == stmt;
    return again ? NULL : &w[at];
}

const char *hidden_value_of(hidden_values *h, uint32_t key, uint32_t txn, uint32_t stmt,
                            const char **why)
{
    assert(txn < h->e->log->txns.n);
    const hidden_write *w = write_of(h, key, txn, stmt);
    if (!w || !w->is) {
        *why = "a value that was written is not shown, and the replay does not determine it";
        return NULL;
    }
    if (order_is_known(h, key)) return w->is;
    *why = "a value that was written is not shown, and it is not known in which order the row was "
           "written";
    return NULL;
}
