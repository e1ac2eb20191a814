/*
 * run.c - the runner: each session is a thread that executes programs against its connection and
 * sends what happened to the recorder.
 *
 * A session stops a transaction at the first failure and aborts it; only a commit whose answer did
 * not arrive leaves an outcome unknown.  Times are taken just before a call and just after it, from
 * one monotonic clock, so that they are never tighter than the truth.
 */
#include "work/run.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/rng.h"
#include "work/durable.h"
#include "work/ids.h"
#include "work/inflict.h"
#include "work/record.h"
#include "work/turns.h"

#define MILLISECOND 1000000u
#define RECONNECT_NS 30000000000u
#define HANG_NS 30000000000u      /* a COMMIT that takes longer is told */
#define HANG_GRACE_NS 5000000000u /* when all others have ended, it is given so long */
#define LEARN_NS 10000000000u     /* a server that is not disturbed has come back by then */
#define SEND_NS 20000000u
enum { SEND_BYTES = 1 << 14, SEND_SHARE = 25 };
enum { LAST_KEYS = 16, LAST_TRIES = 50 };  /* of the reads after all faults are over */
enum { BACK_KEYS = 512, BACK_TRIES = 20 }; /* of the reads after an engine was killed */

typedef struct run {
    db *db;
    const program *program;
    const run_options *options;
    recorder recorder;
    turns *turns;         /* of the stepwise schedule; NULL: sessions run as they like */
    pthread_mutex_t lock; /* of the program, the ids and the error */
    bool with_ids;
    id_table ids;
    atomic_ullong start, deadline; /* counted from when all sessions are connected */
    atomic_bool stop, begun;
    atomic_uint running, ready;
    atomic_bool disturbed, healed; /* a fault is going on; there will be none any more */
    atomic_bool hopeless;          /* the run has failed */
    atomic_uint waiting;           /* sessions that are done but for their last reads */
    atomic_uint open;              /* sessions that are within a transaction */
    durable *durable;       /* what was acknowledged, if the engine is to be killed; or NULL */
    struct session *reader; /* reads it back */
    struct session *all;
    atomic_ullong failed_commits;
    char failed_commit[300];   /* the first, under the lock */
    uint64_t hung, hung_since; /* of the overseer: sessions whose COMMIT hangs; alone since */
    atomic_ullong next_id, taken;
    atomic_uint next_session;
    atomic_ullong committed, aborted, unknown, ops, lost, deleted, tampered, learnt;
    unsigned snapshot; /* the statements that take the snapshot: enum db_statement */
    bool dirty;        /* others may see writes before the commit */
    bool failed;
    char error[DB_ERROR];
} run;

typedef struct session {
    run *run;
    uint32_t slot;
    uint32_t name; /* in the history */
    mem mem;
    guard guard;
    db_session db;
    rng rng;
    strbuf ops;
    strbuf lines;  /* finished, not yet sent */
    strbuf intent; /* of the transaction that is open */
    uint64_t sent; /* when lines were last sent */
    uint64_t id, n_ops;
    uint64_t times[4];
    bool snapshot; /* times[1] is known: a statement that takes the snapshot has returned */
    bool wrote, connected;
    bool roll_back; /* the program wants it */
    bool refused;   /* the last transaction was, by the database */
    bool nested;    /* a savepoint is set */
    size_t saved;   /* what ops held then */
    size_t saved_writes;
    VEC(size_t) ends;        /* of operations since then */
    bool online;             /* there is a connection */
    bool doubtful;           /* nobody knows how its last commit ended */
    bool last;               /* all faults are over: it reads what it wrote, once more */
    int64_t mine[LAST_KEYS]; /* the keys that it wrote last, the newest first */
    uint32_t n_mine, at_mine;
    VEC(durable_write) writes; /* of the transaction */
    atomic_ullong in_commit;   /* since when it waits for the answer to a COMMIT; 0: it does not */
    uint64_t committed_then;   /* by all sessions, when it was sent */
    bool hangs;                /* that was told */
    bool read_only;            /* its node only reads, at least as the transaction began */
    const db_part *part;       /* of a mixture: that of the transaction; else NULL */
    uint32_t refusals;
    pthread_t thread;
} session;

static uint64_t run_time(const run *r)
{
    return clock_now() - atomic_load(&r->start);
}

/* What is recorded: nanoseconds, or with a schedule that is to repeat itself the calls so far. */
static uint64_t recorded_time(const run *r)
{
    return r->turns && r->options->count_calls ? turns_ticks(r->turns) : run_time(r);
}

static void take_turn(session *s)
{
    if (s->run->turns) turns_take(s->run->turns, s->slot, &s->db);
}

/* When a call has just returned; `frees`: it may have ended a transaction. */
static uint64_t call_returned(session *s, bool frees)
{
    uint64_t now = run_time(s->run), number = now;
    if (s->run->turns) number = turns_back(s->run->turns, s->slot, frees);
    return s->run->options->count_calls ? number : now;
}

/* Are there faults?  Then sessions have something to do when all are over. */
static bool has_faults(const run *r)
{
    return r->options->faults != NULL;
}

/* The first error is the one to tell. */
static void give_up(run *r, const char *about, const char *what)
{
    pthread_mutex_lock(&r->lock);
    if (!r->failed) snprintf(r->error, sizeof r->error, "%.30s%.450s", about, what);
    r->failed = true;
    pthread_mutex_unlock(&r->lock);
    atomic_store(&r->hopeless, true);
    atomic_store(&r->stop, true);
}

/* --- the text of a transaction ---------------------------------------------------------------- */

static void add_attributes(strbuf *b, uint64_t call, uint64_t back, bool failed, bool lock,
                           bool tomb, bool reverse)
{
    strbuf_str(b, ",{\"t\":[");
    strbuf_u64(b, call);
    strbuf_char(b, ',');
    strbuf_u64(b, back);
    strbuf_char(b, ']');
    if (failed) strbuf_str(b, ",\"ok\":false");
    if (lock) strbuf_str(b, ",\"lock\":true");
    if (tomb) strbuf_str(b, ",\"tomb\":true");
    if (reverse) strbuf_str(b, ",\"reverse\":true");
    strbuf_str(b, "}]");
}

/* A list as the database keeps it, with commas; anything else is shown as it is. */
static void add_list(strbuf *b, const strbuf *text)
{
    bool list = true, digit = false;
    for (size_t i = 0; i < text->n; i++) {
        char c = text->at[i];
        list = list && (c == ',' ? digit : c >= '0' && c <= '9');
        digit = c != ',';
    }
    if (!list || !digit) {
        strbuf_json(b, text->at, text->n);
        return;
    }
    strbuf_char(b, '[');
    strbuf_add(b, text->at, text->n);
    strbuf_char(b, ']');
}

static void add_value(strbuf *b, const run *r, int64_t value)
{
    if (!r->with_ids) {
        strbuf_i64(b, value);
        return;
    }
    strbuf_char(b, '"');
    strbuf_u64(b, ids_id(value));
    strbuf_char(b, ':');
    strbuf_u64(b, ids_value(value));
    strbuf_char(b, '"');
}

static void add_rows(strbuf *b, const run *r, const db_row *rows, size_t n)
{
    strbuf_char(b, '[');
    for (size_t i = 0; i < n; i++) {
        strbuf_str(b, i ? ",[" : "[");
        strbuf_i64(b, rows[i].key);
        strbuf_char(b, ',');
        add_value(b, r, rows[i].value);
        strbuf_char(b, ']');
    }
    strbuf_char(b, ']');
}

/* Until the savepoint is gone, where each operation ends. */
static void end_op(session *s)
{
    if (s->nested) vec_push(&s->mem, &s->ends, s->ops.n);
}

/* All operations since the savepoint were undone; each ends with its attributes and a bracket. */
static void mark_undone(session *s)
{
    strbuf tail;
    strbuf_init(&tail, &s->mem);
    size_t from = s->saved;
    for (size_t i = 0; i < s->ends.n; i++) {
        strbuf_add(&tail, s->ops.at + from, s->ends.at[i] - 2 - from);
        strbuf_str(&tail, ",\"undone\":true}]");
        from = s->ends.at[i];
    }
    s->ops.n = s->saved;
    strbuf_add(&s->ops, tail.at, tail.n);
    strbuf_free(&tail);
}

static void add_head(session *s, const char *name, const act *a)
{
    strbuf *b = &s->ops;
    strbuf_str(b, b->n ? ",[\"" : "[\"");
    strbuf_str(b, name);
    strbuf_str(b, "\",");
    strbuf_i64(b, a->key);
}

/* A sum is a read of what was there, and a write.  Of one that failed nothing is known. */
static void add_sum(session *s, const act *a, uint64_t call, uint64_t back)
{
    strbuf *b = &s->ops;
    int64_t before = s->db.value - a->value;
    s->n_ops += s->db.absent ? 1 : 2;
    if (s->run->options->mute) return;
    add_head(s, "r", a);
    strbuf_char(b, ',');
    if (s->db.absent || (a->upsert && !before)) /* sums are never 0 */
        strbuf_str(b, "null");
    else
        strbuf_i64(b, before);
    add_attributes(b, call, back, false, s->db.newest, false, false);
    end_op(s);
    if (s->db.absent) return;
    add_head(s, "w", a);
    strbuf_char(b, ',');
    strbuf_i64(b, s->db.value);
    add_attributes(b, call, back, false, false, false, false);
    end_op(s);
}

static void add_op(session *s, const act *a, enum db_answer answer, uint64_t call, uint64_t back)
{
    static const char *const names[] = {
        [ACT_READ] = "r",        [ACT_WRITE] = "w",   [ACT_DELETE] = "d",
        [ACT_APPEND] = "append", [ACT_SCAN] = "scan", [ACT_ITER] = "iter",
    };
    strbuf *b = &s->ops;
    bool range = a->kind == ACT_SCAN || a->kind == ACT_ITER;
    bool reads = range || a->kind == ACT_READ;
    if (answer != DB_OK && (reads || a->kind == ACT_ADD)) return; /* nothing was learnt */
    if (a->kind == ACT_ADD) {
        add_sum(s, a, call, back);
        return;
    }
    s->n_ops++;
    if (s->run->options->mute) return;
    /* A delete that found no row has written nothing, and others may insert it without waiting. */
    bool writes = a->kind == ACT_WRITE || a->kind == ACT_DELETE;
    if (writes && answer == DB_OK && s->db.idle) {
        add_head(s, "r", a);
        strbuf_char(b, ',');
        if (a->kind == ACT_WRITE)
            add_value(b, s->run, a->value);
        else
            strbuf_str(b, "null");
        add_attributes(b, call, back, false, s->db.newest,
                       a->kind == ACT_DELETE && s->run->db->tombstones, false);
        end_op(s);
        return;
    }
    add_head(s, names[a->kind], a);
    if (a->kind == ACT_WRITE || a->kind == ACT_APPEND) {
        strbuf_char(b, ',');
        add_value(b, s->run, a->value);
    } else if (a->kind == ACT_READ) {
        strbuf_char(b, ',');
        if (s->db.absent)
            strbuf_str(b, "null");
        else if (s->run->program->lists)
            add_list(b, &s->db.text);
        else
            add_value(b, s->run, s->db.value);
    } else if (range) {
        strbuf_char(b, ',');
        strbuf_i64(b, a->to);
        strbuf_char(b, ',');
        add_rows(b, s->run, s->db.rows.at, s->db.rows.n);
        if (a->kind == ACT_ITER)
            strbuf_str(b, a->limit && s->db.rows.n >= a->limit ? ",false" : ",true");
    }
    bool tomb = a->kind == ACT_READ ? s->db.tomb : a->kind == ACT_DELETE && s->run->db->tombstones;
    /* A write that was refused has not happened; one whose answer was lost may have been seen. */
    add_attributes(b, call, back, answer == DB_REFUSED, a->lock, tomb, a->reverse);
    end_op(s);
}

/* Of an unknown outcome the last two times count for nothing: the client knows no end. */
static void add_times(const session *s, strbuf *b)
{
    for (int i = 0; i < 4; i++) {
        strbuf_str(b, i ? "," : ",\"times\":[");
        if (i == 1 && !s->snapshot)
            strbuf_str(b, "null");
        else
            strbuf_u64(b, s->times[i]);
    }
    strbuf_char(b, ']');
}

/* What the transaction is held to in a mixture, and what the product calls that. */
static void add_level(const session *s, strbuf *b)
{
    if (!s->part) return;
    strbuf_printf(b, ",\"level\":\"%s\",\"isolation\":\"%s\"", s->part->level, s->part->isolation);
}

static void compose(session *s, strbuf *b, const char *status)
{
    strbuf_str(b, "{\"session\":");
    strbuf_u64(b, s->name);
    strbuf_str(b, ",\"id\":");
    strbuf_u64(b, s->id);
    if (*status) {
        strbuf_str(b, ",\"status\":\"");
        strbuf_str(b, status);
        strbuf_char(b, '"');
    }
    add_level(s, b);
    if (s->run->db->nodes > 1) strbuf_printf(b, ",\"node\":\"%c\"", (char)('a' + s->db.node));
    add_times(s, b);
    if (s->db.note) {
        strbuf_str(b, ",\"note\":");
        strbuf_json(b, s->db.note, strlen(s->db.note));
    }
    strbuf_str(b, ",\"ops\":[");
    strbuf_add(b, s->ops.at, s->ops.n);
    strbuf_str(b, "]}\n");
}

static void send(session *s)
{
    run *r = s->run;
    if (!record(&r->recorder, s->slot, &s->lines, &s->intent))
        give_up(r, "", "the history cannot be written");
    s->lines.n = s->intent.n = 0;
    s->sent = run_time(r);
}

static void send_intent(session *s)
{
    if (s->run->options->mute) return;
    s->times[2] = s->times[3] = recorded_time(s->run);
    compose(s, &s->intent, "unknown");
    send(s);
}

/* Finished lines may wait a little: until then the recorder knows what others can have read. */
static void finish(session *s, enum db_answer outcome)
{
    run *r = s->run;
    atomic_fetch_add(outcome == DB_OK     ? &r->committed
                     : outcome == DB_LOST ? &r->unknown
                                          : &r->aborted,
                     1);
    atomic_fetch_add(&r->ops, s->n_ops);
    if (r->options->mute) return;
    compose(s, &s->lines, outcome == DB_OK ? "" : outcome == DB_LOST ? "unknown" : "aborted");
    bool now = r->turns != NULL; /* lines stand in the order of the turns */
    /* Hundreds of sessions commit seldom: their lines go with the next intent, in one message. */
    uint64_t wait = (uint64_t)SEND_NS * (1 + r->options->sessions / SEND_SHARE);
    if (now || s->lines.n > SEND_BYTES || s->times[3] - s->sent > wait) send(s);
}

/* --- a transaction ---------------------------------------------------------------------------- */

/* Where only reads are possible, a write becomes a read of its key. */
static void only_read(act *a)
{
    a->lock = false;
    if (a->kind == ACT_SCAN || a->kind == ACT_ITER || a->kind == ACT_READ ||
        a->kind >= ACT_SAVEPOINT)
        return;
    a->kind = ACT_READ;
    a->instead = true;
}

/* The keys that it wrote last, for the end. */
static void keep_key(session *s, int64_t key)
{
    uint32_t at = 0;
    while (at < s->n_mine && s->mine[at] != key) at++;
    if (at == s->n_mine && s->n_mine < LAST_KEYS) s->n_mine++;
    if (at == LAST_KEYS) at--;
    for (; at; at--) s->mine[at] = s->mine[at - 1];
    s->mine[0] = key;
}

static bool ask_last(session *s, act *a, bool plan)
{
    if (plan) s->at_mine = 0;
    if (plan || s->at_mine == s->n_mine) return false;
    *a = (act){.kind = ACT_READ, .key = s->mine[s->at_mine++], .instead = true};
    return true;
}

/* The program's next operation; false: none, or it has failed.  Of a plan: is it one statement? */
static bool ask(session *s, act *a, bool plan)
{
    run *r = s->run;
    const program *p = r->program;
    bool more = false;
    if (s->last) return ask_last(s, a, plan);
    pthread_mutex_lock(&r->lock);
    if (guard_armed(p->guard)) {
        if (!r->failed) snprintf(r->error, sizeof r->error, "%.400s", p->guard->text);
        r->failed = true;
        atomic_store(&r->stop, true);
        more = false;
    } else {
        more = plan ? p->plan(p->state, s->slot, s->refused) : p->next(p->state, s->slot, a);
        if (plan) {
            pthread_mutex_unlock(&r->lock);
            return more;
        }
        if (more && s->read_only) only_read(a);
        if (more && r->with_ids && a->kind == ACT_WRITE)
            a->value = ids_issue(&r->ids, a->key, a->value);
    }
    pthread_mutex_unlock(&r->lock);
    return more;
}

/* A value that is not what its id stands for is marked, before the transaction that read it. */
static void inspect(session *s, int64_t key, int64_t value)
{
    run *r = s->run;
    char why[160];
    pthread_mutex_lock(&r->lock);
    bool fine = ids_true(&r->ids, key, value, why, sizeof why);
    pthread_mutex_unlock(&r->lock);
    if (fine) return;
    atomic_fetch_add(&r->tampered, 1);
    if (!r->options->mute)
        strbuf_printf(&s->lines, "{\"mark\":\"tampering\",\"at\":%llu,\"what\":\"%s\"}\n",
                      (unsigned long long)recorded_time(r), why);
}

static void tell_seen(session *s, const act *a)
{
    run *r = s->run;
    const db_session *d = &s->db;
    bool row = a->kind == ACT_READ;
    if (r->with_ids && row && !d->absent) inspect(s, a->key, d->value);
    for (size_t i = 0; r->with_ids && !row && i < d->rows.n; i++)
        inspect(s, d->rows.at[i].key, d->rows.at[i].value);
    if (!row || a->instead) return;
    pthread_mutex_lock(&r->lock);
    r->program->seen(r->program->state, s->slot, d->absent,
                     r->with_ids ? (int64_t)ids_value(d->value) : d->value);
    pthread_mutex_unlock(&r->lock);
}

static enum db_answer perform(session *s, const act *a)
{
    const driver *d = s->run->db->driver;
    db_session *c = &s->db;
    switch (a->kind) {
    case ACT_READ: return d->get(c, a->key, a->lock);
    case ACT_WRITE: return d->put(c, a->key, a->value);
    case ACT_DELETE: return d->remove(c, a->key);
    case ACT_APPEND: return d->append(c, a->key, a->value);
    case ACT_ADD: return d->add(c, a->key, a->value, a->upsert);
    case ACT_SAVEPOINT: return d->nest(c, DB_SAVEPOINT);
    case ACT_UNDO: return d->nest(c, DB_UNDO);
    case ACT_KEEP: return d->nest(c, DB_KEEP);
    case ACT_SCAN: c->reverse = a->reverse; return d->range(c, a->key, a->to, 0);
    default: c->reverse = a->reverse; return d->range(c, a->key, a->to, a->limit);
    }
}

static void prepare_session(run *r, session *s, uint32_t slot)
{
    s->run = r;
    s->slot = slot;
    guard_init(&s->guard);
    mem_init(&s->mem, mem_libc, NULL, &s->guard);
    strbuf_init(&s->ops, &s->mem);
    strbuf_init(&s->lines, &s->mem);
    strbuf_init(&s->intent, &s->mem);
    strbuf_init(&s->db.text, &s->mem);
    s->db.db = r->db;
    s->db.mem = &s->mem;
    s->db.slot = slot;
    s->db.node = db_node_of(r->db, slot);
    rng_seed(&s->rng, r->options->seed * 1000003 + slot);
}

/* What was written must be known before anybody can have seen it. */
static void announce(session *s, const act *a)
{
    size_t ops = s->ops.n, ends = s->ends.n;
    uint64_t n = s->n_ops;
    s->db.idle = false;
    add_op(s, a, DB_OK, recorded_time(s->run), recorded_time(s->run));
    send_intent(s);
    s->ops.n = ops;
    s->ends.n = ends;
    s->n_ops = n;
}

/* The first statement that takes the snapshot has returned: by now it is there. */
static void note_snapshot(session *s, unsigned statement, uint64_t back)
{
    if (s->snapshot || !(s->run->snapshot & statement)) return;
    s->times[1] = back;
    s->snapshot = true;
}

static unsigned statement_of(const act *a)
{
    switch (a->kind) {
    case ACT_READ: return a->lock ? DB_LOCKING_READ : DB_READ;
    case ACT_SCAN:
    case ACT_ITER: return DB_READ;
    default: return DB_WRITE;
    }
}

static void keep_write(session *s, const act *a)
{
    durable_write w = {.key = a->key,
                       .value = a->kind == ACT_ADD ? s->db.value : a->value,
                       .deletes = a->kind == ACT_DELETE,
                       .appends = a->kind == ACT_APPEND};
    vec_push(&s->mem, &s->writes, w);
}

static bool writes_key(const act *a)
{
    return a->kind == ACT_WRITE || a->kind == ACT_APPEND || a->kind == ACT_DELETE ||
           a->kind == ACT_ADD;
}

/* One operation of the history, with the times of its call and its return. */
static enum db_answer operate_one(session *s, const act *a, uint64_t *call, uint64_t *back)
{
    bool writes = writes_key(a);
    take_turn(s);
    *call = recorded_time(s->run);
    s->db.idle = s->db.newest = false;
    enum db_answer answer = perform(s, a);
    *back = call_returned(s, answer != DB_OK);
    if (answer == DB_OK) note_snapshot(s, statement_of(a), *back);
    add_op(s, a, answer, *call, *back);
    if (answer == DB_OK && !writes) tell_seen(s, a);
    s->wrote = s->wrote || writes;
    bool wrote = writes && answer == DB_OK && !s->db.idle && !(a->kind == ACT_ADD && s->db.absent);
    if (wrote && s->run->durable) keep_write(s, a);
    if (writes && has_faults(s->run)) keep_key(s, a->key);
    if (a->kind == ACT_DELETE && !s->db.idle && !s->run->db->tombstones)
        atomic_fetch_add(&s->run->deleted, 1);
    return answer;
}

static enum db_answer change_nesting(session *s, const act *a)
{
    take_turn(s);
    enum db_answer answer = perform(s, a);
    call_returned(s, answer != DB_OK);
    if (answer != DB_OK) return answer;
    if (a->kind == ACT_UNDO && !s->run->options->mute) mark_undone(s);
    if (a->kind == ACT_UNDO) s->writes.n = s->saved_writes;
    s->saved_writes = s->writes.n;
    s->nested = a->kind == ACT_SAVEPOINT;
    s->saved = s->ops.n;
    s->ends.n = 0;
    return DB_OK;
}

static enum db_answer operate(session *s)
{
    act a;
    uint64_t call, back;
    enum db_answer answer = DB_OK;
    while (answer == DB_OK && !s->roll_back && ask(s, &a, false)) {
        if (a.kind == ACT_ROLLBACK) {
            s->roll_back = true;
        } else if (a.kind >= ACT_SAVEPOINT) {
            answer = change_nesting(s, &a);
        } else {
            if (writes_key(&a) && s->run->dirty) announce(s, &a);
            answer = operate_one(s, &a, &call, &back);
        }
    }
    return answer;
}

static void note_durable(session *s, enum db_answer outcome)
{
    run *r = s->run;
    if (!r->durable || (outcome != DB_OK && outcome != DB_LOST)) return;
    if (!durable_note(r->durable, s->id, s->times[0], s->times[3], outcome == DB_OK, s->writes.at,
                      s->writes.n))
        give_up(r, "", "there is not enough memory to remember what was acknowledged");
}

/* A commit that ends without an answer is told, unless a fault of ours may be the reason. */
static enum db_answer commit_watched(session *s)
{
    run *r = s->run;
    s->committed_then = atomic_load(&r->committed);
    atomic_store(&s->in_commit, clock_now());
    enum db_answer a = r->db->driver->commit(&s->db);
    uint64_t took = clock_now() - atomic_exchange(&s->in_commit, 0);
    if (a != DB_LOST || has_faults(r)) return a;
    if (atomic_fetch_add(&r->failed_commits, 1)) return a;
    pthread_mutex_lock(&r->lock);
    snprintf(r->failed_commit, sizeof r->failed_commit,
             "T%llu of session %u, after %.3f s, in which the other sessions committed %llu "
             "transactions: %.120s",
             (unsigned long long)s->id, s->name, (double)took / 1e9,
             (unsigned long long)(atomic_load(&r->committed) - s->committed_then), s->db.error);
    pthread_mutex_unlock(&r->lock);
    return a;
}

/* After a commit whose answer was lost: what does the server say?  DB_LOST: it cannot tell, or has
   not come back; else there is a new connection. */
static enum db_answer learnt(session *s)
{
    static const char *const notes[] = {
        [DB_OK] = "the answer to COMMIT was lost; asked later, the server said: committed",
        [DB_REFUSED] = "the answer to COMMIT was lost; asked later, the server said: rolled back"};
    run *r = s->run;
    const driver *d = r->db->driver;
    if (!has_faults(r) || !d->outcome || !*s->db.mark) return DB_LOST;
    d->disconnect(&s->db);
    s->online = false;
    uint64_t begun = clock_now();
    while (d->connect(&s->db) != DB_OK) {
        d->disconnect(&s->db);
        if (atomic_load(&r->disturbed)) begun = clock_now();
        if (atomic_load(&r->hopeless) || clock_now() - begun > LEARN_NS) return DB_LOST;
        clock_nap(20 * MILLISECOND);
    }
    s->online = true;
    enum db_answer a = d->outcome(&s->db);
    if (a != DB_OK && a != DB_REFUSED) return DB_LOST;
    s->db.note = notes[a];
    atomic_fetch_add(&r->lost, 1);
    atomic_fetch_add(&r->learnt, 1);
    return a;
}

/* A statement outside of a transaction.  Nothing is known of when it took its snapshot but that it
   was between call and return. */
static bool transact_alone(session *s)
{
    act a;
    uint64_t call, back;
    if (!ask(s, &a, false)) return true;
    bool writes = writes_key(&a);
    s->times[0] = recorded_time(s->run);
    s->snapshot = false;
    if (writes) announce(s, &a);
    enum db_answer answer = operate_one(s, &a, &call, &back);
    s->snapshot = false;
    s->times[0] = s->times[2] = call;
    s->times[3] = back;
    if (answer == DB_BROKEN) give_up(s->run, "database error: ", s->db.error);
    bool lost = answer == DB_LOST || answer == DB_BROKEN;
    s->doubtful = lost && writes;
    s->refused = answer == DB_REFUSED;
    s->refusals = answer == DB_OK ? 0 : s->refusals + 1;
    enum db_answer outcome = answer == DB_OK ? DB_OK : s->doubtful ? DB_LOST : DB_REFUSED;
    if (outcome == DB_LOST && s->run->durable) keep_write(s, &a);
    note_durable(s, outcome);
    finish(s, outcome);
    if (answer == DB_REFUSED) return s->run->db->driver->abort(&s->db) == DB_OK;
    return answer != DB_LOST;
}

/* False: the connection is gone. */
static bool transact_open(session *s)
{
    run *r = s->run;
    const driver *d = r->db->driver;
    s->writes.n = 0;
    s->db.settled = false;
    s->id = atomic_fetch_add(&r->next_id, 1) + 1;
    s->ops.n = 0;
    s->n_ops = 0;
    s->wrote = false;
    s->db.note = NULL;
    s->doubtful = false;
    s->read_only = r->db->nodes && atomic_load(&r->db->node[s->db.node].read_only);
    s->roll_back = s->nested = false;
    s->saved = s->ends.n = 0;
    bool single = ask(s, NULL, true);
    if (single && d->alone && d->alone(r->db) && !s->last) return transact_alone(s);
    s->part = r->db->parts ? db_draw(r->db, rng_below(&s->rng, DB_SHARES)) : NULL;
    s->db.isolation = s->part ? s->part->isolation : r->db->isolation;
    take_turn(s);
    s->times[0] = recorded_time(r);
    s->snapshot = false;
    enum db_answer a = d->begin(&s->db);
    uint64_t begun = call_returned(s, a != DB_OK);
    if (a == DB_OK) note_snapshot(s, DB_BEGIN, begun);
    bool connected = a != DB_LOST;
    if (a == DB_OK) {
        a = operate(s);
        bool undone = a != DB_OK || s->roll_back;
        if (undone) {
            take_turn(s);
            s->times[2] = recorded_time(r);
            if (a == DB_BROKEN) give_up(r, "database error: ", s->db.error);
            connected = a != DB_LOST && d->abort(&s->db) == DB_OK;
            a = DB_REFUSED;
        } else {
            take_turn(s);
            *s->db.mark = 0;
            if (s->wrote && has_faults(r) && d->token) d->token(&s->db);
            if (s->wrote) send_intent(s);
            s->times[2] = recorded_time(r);
            a = commit_watched(s);
            if (a == DB_LOST) a = learnt(s);
            connected = a != DB_LOST;
        }
        s->times[3] = call_returned(s, true);
        s->doubtful = a == DB_LOST && !s->db.settled;
        note_durable(s, a);
        finish(s, a);
    } else if (a == DB_BROKEN) {
        give_up(r, "database error: ", s->db.error);
    }
    s->refused = a == DB_REFUSED && !s->roll_back;
    s->refusals = a == DB_OK || s->roll_back ? 0 : s->refusals + 1;
    return connected;
}

static bool transact(session *s)
{
    atomic_fetch_add(&s->run->open, 1);
    bool connected = transact_open(s);
    atomic_fetch_sub(&s->run->open, 1);
    return connected;
}

/* --- a session -------------------------------------------------------------------------------- */

static bool stopped(const run *r)
{
    uint64_t deadline = atomic_load(&r->deadline);
    return atomic_load(&r->stop) || (deadline && clock_now() >= deadline);
}

/* Servers need a while to come back. */
static bool connected(session *s)
{
    run *r = s->run;
    uint64_t begun = clock_now();
    while (s->last ? !atomic_load(&r->hopeless) : !stopped(r)) {
        if (atomic_load(&r->db->node[s->db.node].gone)) s->db.node = db_primary(r->db);
        if (atomic_load(&r->disturbed)) begun = clock_now();
        enum db_answer a = r->db->driver->connect(&s->db);
        if (a == DB_OK) return s->connected = true;
        r->db->driver->disconnect(&s->db);
        if (a == DB_BROKEN || clock_now() - begun > RECONNECT_NS) {
            give_up(r, "cannot connect: ", s->db.error);
            return false;
        }
        clock_nap(20 * MILLISECOND);
    }
    /* A run that ended before this session ever got through has not tested what was asked for. */
    if (!s->connected && *s->db.error) give_up(r, "cannot connect: ", s->db.error);
    return false;
}

/* After refusals, wait a random while that grows, so that those in each other's way part. */
static void back_off(session *s)
{
    if (s->run->turns) return; /* the seed parts them */
    uint32_t steps = s->refusals < 6 ? s->refusals : 6;
    if (steps) clock_nap((uint64_t)rng_below(&s->rng, (uint64_t)MILLISECOND / 4 << steps));
}

static void keep_rate(session *s, uint64_t number)
{
    const run *r = s->run;
    if (r->options->rate <= 0) return;
    uint64_t due = (uint64_t)((double)number / r->options->rate * 1e9);
    for (uint64_t t; (t = run_time(r)) < due && !stopped(r);)
        clock_nap(due - t < 50 * MILLISECOND ? due - t : 50 * MILLISECOND);
}

/* All begin together, lest the first have done the work before the last is there; the last one to
   come starts the clock. */
static void begin_together(run *r)
{
    if (atomic_fetch_add(&r->ready, 1) + 1 == r->options->sessions) {
        uint64_t now = clock_now();
        atomic_store(&r->start, now);
        if (r->options->seconds > 0)
            atomic_store(&r->deadline, now + (uint64_t)(r->options->seconds * 1e9));
        atomic_store(&r->begun, true);
    }
    /* Hundreds that look every moment would keep the last ones from connecting. */
    uint64_t nap = (uint64_t)MILLISECOND / 2 * (1 + r->options->sessions / 8);
    while (!atomic_load(&r->begun) && !stopped(r)) clock_nap(nap);
}

/* A session whose connection was lost keeps its name, unless its last transaction may still take
   effect. */
static bool reconnected(session *s)
{
    run *r = s->run;
    r->db->driver->disconnect(&s->db);
    s->online = false;
    atomic_fetch_add(&r->lost, 1);
    if (s->doubtful) s->name = atomic_fetch_add(&r->next_session, 1) + 1;
    s->online = connected(s);
    if (!s->online || !r->durable || s->last || !s->n_mine) return s->online;
    /* The engine was killed: under its old name the session reads what it wrote, so that a check
       finds what is missing by the order of the session alone. */
    s->last = true;
    bool same = transact(s);
    s->last = false;
    return same || reconnected(s);
}

/* When all faults are over, each session reads once more what it wrote: what was committed and then
   lost is missing there. */
static void read_at_last(session *s)
{
    run *r = s->run;
    if (!has_faults(r) || r->turns || !s->n_mine) return;
    atomic_fetch_add(&r->waiting, 1);
    while (!atomic_load(&r->healed) && !atomic_load(&r->hopeless)) clock_nap(2 * MILLISECOND);
    s->last = true;
    if (!s->online && !(s->online = connected(s))) return;
    for (int tries = 0; tries < LAST_TRIES && !atomic_load(&r->hopeless); tries++) {
        if (!transact(s) && !reconnected(s)) return;
        if (!s->refusals) return;
        back_off(s);
    }
}

static void work(session *s)
{
    run *r = s->run;
    if (!(s->online = connected(s))) return;
    begin_together(r);
    take_turn(s); /* what is drawn before the first call has its order, too */
    call_returned(s, false);
    while (!stopped(r)) {
        uint64_t number = atomic_fetch_add(&r->taken, 1);
        if (r->options->txns && number >= r->options->txns) return;
        keep_rate(s, number);
        if (stopped(r)) return;
        if (!transact(s) && !reconnected(s)) return;
        back_off(s);
    }
}

static void work_guarded(session *s)
{
    if (guard_armed(&s->guard)) {
        give_up(s->run, "", s->guard.text);
        return;
    }
    work(s);
    read_at_last(s);
}

static void *session_thread(void *arg)
{
    session *s = arg;
    work_guarded(s);
    if (s->lines.n) send(s);
    if (s->run->turns) turns_leave(s->run->turns, s->slot);
    s->run->db->driver->disconnect(&s->db);
    atomic_fetch_sub(&s->run->running, 1);
    return NULL;
}

/* --- the run ---------------------------------------------------------------------------------- */

/* Of a mixture: its parts with their shares, and the level that the product promises for it. */
static void add_mixture(const run *r, strbuf *b)
{
    const db *d = r->db;
    const contract *c = d->parts ? contract_of(d) : NULL;
    for (uint32_t i = 0; i < d->parts; i++) {
        uint64_t share = d->part[i].share - (i ? d->part[i - 1].share : 0);
        strbuf_printf(b, "%s\"%s\":%.6g", i ? "," : ",\"mixture\":{", d->part[i].isolation,
                      (double)share / DB_SHARES);
    }
    if (d->parts) strbuf_char(b, '}');
    if (c) strbuf_printf(b, ",\"contract\":\"%s\"", c->level);
}

/* Of a cluster: its nodes and what they were at first. */
static void add_nodes(const run *r, strbuf *b)
{
    if (r->db->nodes < 2) return;
    for (uint32_t i = 0; i < r->db->nodes; i++)
        strbuf_printf(b, "%s\"%c\":\"%s\"", i ? "," : ",\"nodes\":{", (char)('a' + i),
                      r->db->node[i].role);
    strbuf_char(b, '}');
}

static bool write_header(run *r, mem *m)
{
    const program *p = r->program;
    strbuf b;
    strbuf_init(&b, m);
    strbuf_str(&b, "{\"ratel\":1,\"init\":");
    if (p->n_rows)
        add_rows(&b, r, p->rows, p->n_rows);
    else
        strbuf_str(&b, "null");
    strbuf_str(&b, ",\"database\":");
    strbuf_json(&b, r->db->version, strlen(r->db->version));
    strbuf_str(&b, ",\"isolation\":");
    strbuf_json(&b, r->db->isolation, strlen(r->db->isolation));
    add_mixture(r, &b);
    strbuf_str(&b, ",\"workload\":");
    strbuf_json(&b, p->name, strlen(p->name));
    strbuf_printf(&b, ",\"seed\":%llu%s,\"unit\":\"%s\"%s", (unsigned long long)r->options->seed,
                  r->turns ? ",\"schedule\":\"step\"" : "",
                  r->turns && r->options->count_calls ? "calls" : "ns",
                  r->with_ids ? ",\"write_ids\":true" : "");
    if (r->with_ids || p->unique) strbuf_str(&b, ",\"unique_values\":true");
    strbuf_str(&b, ",\"recorder\":");
    strbuf_json(&b, r->options->recorder, strlen(r->options->recorder));
    add_nodes(r, &b);
    strbuf_printf(&b, ",\"settings\":{\"sessions\":%u%s%s}}\n", r->options->sessions,
                  *r->db->settings ? "," : "", r->db->settings);
    strbuf none;
    strbuf_init(&none, m);
    bool sent = record(&r->recorder, r->options->sessions, &b, &none);
    strbuf_free(&b);
    return sent;
}

static void mark(run *r, const char *what)
{
    if (r->options->mute) return;
    strbuf line, none;
    strbuf_init(&line, r->db->mem);
    strbuf_init(&none, r->db->mem);
    strbuf_printf(&line, "{\"mark\":\"fault\",\"at\":%llu,\"what\":\"%s\"}\n",
                  (unsigned long long)recorded_time(r), what);
    record(&r->recorder, r->options->sessions, &line, &none);
    strbuf_free(&line);
}

static void count(run *r, run_counts *c)
{
    c->committed = atomic_load(&r->committed);
    c->aborted = atomic_load(&r->aborted);
    c->unknown = atomic_load(&r->unknown);
    c->ops = atomic_load(&r->ops);
    c->lost = atomic_load(&r->lost);
    c->learnt = atomic_load(&r->learnt);
    c->deleted = atomic_load(&r->deleted);
    c->tampered = atomic_load(&r->tampered);
    c->failed_commits = atomic_load(&r->failed_commits);
    c->hung_commits = r->hung;
    c->seconds = (double)run_time(r) / 1e9;
}

/* --- after an engine was killed --------------------------------------------------------------- */

/* The run's own session, under a name of its own. */
static session *reader_of(run *r)
{
    session *s = r->reader;
    if (s) return s;
    s = r->reader = mem_zeroed(r->db->mem, sizeof *s);
    prepare_session(r, s, r->options->sessions);
    s->name = atomic_fetch_add(&r->next_session, 1) + 1;
    s->db.probe = true;
    return s;
}

static bool engine_opens(run *r, session *s)
{
    const driver *d = r->db->driver;
    for (uint64_t begun = clock_now(); clock_now() - begun < RECONNECT_NS;) {
        enum db_answer a = d->connect(&s->db);
        if (a == DB_OK) return true;
        d->disconnect(&s->db);
        if (a == DB_BROKEN) break;
        clock_nap(20 * MILLISECOND);
    }
    give_up(r, "killed, and cannot be opened: ", s->db.error);
    return false;
}

static void tell_lost(run *r, run_counts *c, session *s, const char *why)
{
    if (!c->lost_commits++) snprintf(c->lost_commit, sizeof c->lost_commit, "%s", why);
    if (!r->options->mute)
        strbuf_printf(&s->lines, "{\"mark\":\"lost-commit\",\"at\":%llu,\"what\":\"%s\"}\n",
                      (unsigned long long)recorded_time(r), why);
}

/* One transaction that reads these keys; false: it was refused, and nothing was told. */
static bool read_keys_back(run *r, run_counts *c, session *s, const int64_t *keys, size_t n)
{
    const driver *d = r->db->driver;
    s->id = atomic_fetch_add(&r->next_id, 1) + 1;
    s->ops.n = s->n_ops = 0;
    s->snapshot = false;
    s->part = r->db->parts ? &r->db->part[0] : NULL;
    s->db.isolation = s->part ? s->part->isolation : r->db->isolation;
    s->times[0] = recorded_time(r);
    enum db_answer a = d->begin(&s->db);
    if (a != DB_OK) return false;
    note_snapshot(s, DB_BEGIN, recorded_time(r));
    for (size_t i = 0; i < n && a == DB_OK; i++) {
        act read = {.kind = ACT_READ, .key = keys[i], .instead = true};
        char why[200];
        uint64_t call = recorded_time(r), back;
        a = d->get(&s->db, keys[i], false);
        back = recorded_time(r);
        if (a != DB_OK) break;
        note_snapshot(s, DB_READ, back);
        add_op(s, &read, a, call, back);
        if (durable_lost(r->durable, keys[i], &s->db, r->program->lists, why, sizeof why))
            tell_lost(r, c, s, why);
    }
    s->times[2] = recorded_time(r);
    if (a == DB_OK)
        a = d->commit(&s->db);
    else
        d->abort(&s->db);
    s->times[3] = recorded_time(r);
    finish(s, a);
    if (s->lines.n) send(s);
    return a == DB_OK;
}

/* All transactions that the kill has met must have ended, lest one be taken for missing. */
static bool all_have_noticed(run *r)
{
    for (uint64_t begun = clock_now(); clock_now() - begun < RECONNECT_NS;) {
        if (!atomic_load(&r->open)) return true;
        clock_nap(MILLISECOND);
    }
    return false;
}

static bool read_all_back(run *r, run_counts *c, session *s)
{
    int64_t keys[BACK_KEYS];
    if (!all_have_noticed(r)) {
        give_up(r, "", "a session did not notice that the engine was killed");
        return false;
    }
    if (!engine_opens(r, s)) return false;
    c->acknowledged = durable_acknowledged(r->durable);
    size_t n = durable_keys(r->durable, keys, BACK_KEYS);
    bool done = false;
    for (int tries = 0; tries < BACK_TRIES && !done; tries++) {
        done = read_keys_back(r, c, s, keys, n);
        if (!done) clock_nap(20 * MILLISECOND);
    }
    if (!done) give_up(r, "killed, and cannot be read back: ", s->db.error);
    c->read_back += done ? n : 0;
    r->db->driver->disconnect(&s->db);
    return done;
}

static bool read_back_guarded(run *r, run_counts *c, session *s)
{
    if (guard_armed(&s->guard)) {
        give_up(r, "", s->guard.text);
        return false;
    }
    return read_all_back(r, c, s);
}

static bool engine_reads_back(run *r, run_counts *c)
{
    return read_back_guarded(r, c, reader_of(r));
}

/* What inflict.h asks of a run. */
typedef struct faulted {
    run *run;
    run_counts *counts;
} faulted;

static bool all_are_done(run *r)
{
    return atomic_load(&r->waiting) == atomic_load(&r->running);
}

/* A fault is over at the latest when the run ends. */
static void last_a_while(void *ud, uint64_t ns)
{
    const faulted *f = ud;
    run *r = f->run;
    for (uint64_t begun = clock_now(); clock_now() - begun < ns && !stopped(r);) {
        count(r, f->counts);
        if (r->options->poll && r->options->poll(r->options->ud, f->counts)) break;
        if (all_are_done(r)) break;
        clock_nap(10 * MILLISECOND);
    }
}

static bool was_ended(void *ud)
{
    const faulted *f = ud;
    const run_options *o = f->run->options;
    return o->poll && o->poll(o->ud, f->counts);
}

static bool server_returns(void *ud, uint32_t node)
{
    const faulted *f = ud;
    char why[DB_ERROR];
    bool back = inflict_comes_back(f->run->db, node, was_ended, ud, why, sizeof why);
    if (!back) give_up(f->run, "", why);
    return back;
}

static bool engine_returns(void *ud)
{
    const faulted *f = ud;
    return engine_reads_back(f->run, f->counts);
}

static void mark_of_fault(void *ud, const char *what)
{
    mark(((const faulted *)ud)->run, what);
}

static void make_fault(run *r, inflictor *i, run_counts *c, const fault *f)
{
    atomic_store(&r->disturbed, true);
    bool done = inflict(i, f);
    atomic_store(&r->disturbed, false);
    if (done)
        c->faults++;
    else if (*i->error)
        give_up(r, "", i->error);
}

/* Looks for sessions that have not come back from a COMMIT.  True: only such sessions are left, and
   nothing more will come of them. */
static bool only_hung_are_left(run *r, run_counts *c)
{
    uint64_t now = clock_now(), pending = 0;
    for (uint32_t i = 0; i < r->options->sessions; i++) {
        session *s = &r->all[i];
        uint64_t since = s->run ? atomic_load(&s->in_commit) : 0;
        if (!since || now < since || now - since < HANG_NS) continue;
        pending++;
        if (s->hangs) continue;
        s->hangs = true;
        char what[200];
        snprintf(what, sizeof what,
                 "COMMIT of session %u has not returned for %u s, in which the other sessions "
                 "committed %llu transactions",
                 s->name, (unsigned)(HANG_NS / 1000000000u),
                 (unsigned long long)(atomic_load(&r->committed) - s->committed_then));
        mark(r, what);
        if (!r->hung++) snprintf(c->failed_commit, sizeof c->failed_commit, "%s", what);
    }
    if (!pending || pending < atomic_load(&r->running)) {
        r->hung_since = 0;
        return false;
    }
    if (!r->hung_since) r->hung_since = now;
    return now - r->hung_since > HANG_GRACE_NS;
}

/* Faults with a time come first and then each once; the others whenever they are due. */
static void oversee(run *r, run_counts *c)
{
    const fault_plan *p = r->options->faults;
    fault_clock times = {.plan = p};
    faulted f = {r, c};
    inflictor i = {.db = r->db,
                   .mark = mark_of_fault,
                   .wait = last_a_while,
                   .comes_back = server_returns,
                   .read_back = engine_returns,
                   .ud = &f};
    rng_seed(&i.rng, r->options->seed);
    while (atomic_load(&r->running)) {
        clock_nap(10 * MILLISECOND);
        count(r, c);
        if (r->options->poll && r->options->poll(r->options->ud, c)) atomic_store(&r->stop, true);
        if (only_hung_are_left(r, c)) {
            c->hung = true;
            return;
        }
        if (p && all_are_done(r)) atomic_store(&r->healed, true);
        if (!p || !atomic_load(&r->begun) || stopped(r) || atomic_load(&r->waiting)) continue;
        const fault *due = inflict_due(&times, &i, run_time(r));
        if (!due) continue;
        make_fault(r, &i, c, due);
        inflict_over(&times, &i, due, run_time(r));
    }
}

/* Starts as many threads as there may be; false: not even all that were asked for. */
static bool start_all(run *r, session *all)
{
    for (uint32_t i = 0; i < r->options->sessions; i++) {
        prepare_session(r, &all[i], i);
        all[i].name = i + 1;
    }
    for (uint32_t i = 0; i < r->options->sessions; i++) {
        atomic_fetch_add(&r->running, 1);
        if (!pthread_create(&all[i].thread, NULL, session_thread, &all[i])) continue;
        atomic_fetch_sub(&r->running, 1);
        all[i].run = NULL;
        give_up(r, "", "cannot start that many threads");
        for (uint32_t k = i + 1; k < r->options->sessions; k++) all[k].run = NULL;
        for (uint32_t k = i; r->turns && k < r->options->sessions; k++) turns_leave(r->turns, k);
        return false;
    }
    return true;
}

bool run_program(db *d, const program *p, const run_options *o, run_counts *c, char *error,
                 size_t cap)
{
    memset(c, 0, sizeof *c);
    d->lists = p->lists;
    d->stepped = o->stepped;
    d->singles = p->singles;
    d->own_tables = d->made_up = false; /* of a run before this one */
    if (!d->driver->load(d, p->rows, p->n_rows)) {
        snprintf(error, cap, "%s", d->error);
        return false;
    }
    int unnamed = o->file && !o->mute ? replace_begin(o->file) : 0;
    if (unnamed) {
        char text[128];
        snprintf(error, cap, "%.300s: %s", o->output_name,
                 replace_error(unnamed, text, sizeof text));
        return false;
    }
    run *r = mem_zeroed(d->mem, sizeof *r);
    session *all = r->all = mem_array0(d->mem, session, o->sessions);
    r->db = d;
    r->program = p;
    r->options = o;
    r->snapshot = d->driver->snapshot(d);
    r->dirty = db_asks_for(d, "read-uncommitted");
    r->with_ids = o->ids && !p->lists;
    ids_init(&r->ids, p->guard, p->rows, p->n_rows);
    if (o->faults && d->driver->process) r->durable = durable_open(d->mem, p->rows, p->n_rows);
    atomic_store(&r->next_session, o->sessions);
    if (!o->mute && !record_start(&r->recorder, o->output)) {
        snprintf(error, cap, "cannot start the recorder");
        return false;
    }
    /* (The recorder is a process, made before there are threads.) */
    r->turns = o->stepped ? turns_open(d, o->sessions, o->seed) : NULL;
    if (o->stepped && !r->turns) {
        snprintf(error, cap, "%s", d->error);
        if (!o->mute) record_end(&r->recorder);
        return false;
    }
    pthread_mutex_init(&r->lock, NULL);
    bool written = o->mute || write_header(r, d->mem);
    atomic_store(&r->start, clock_now());
    if (written) start_all(r, all);
    oversee(r, c);
    for (uint32_t i = 0; i < o->sessions; i++) {
        if (!all[i].run || atomic_load(&all[i].in_commit)) continue; /* (the latter hangs) */
        pthread_join(all[i].thread, NULL);
        mem_free_all(&all[i].mem);
    }
    count(r, c);
    if (c->failed_commits && !*c->failed_commit)
        memcpy(c->failed_commit, r->failed_commit, sizeof c->failed_commit);
    if (!c->hung) turns_close(r->turns);
    int reason = o->mute ? 0 : record_end(&r->recorder);
    if (reason || !written) { /* more than what a session knew of it */
        r->failed = true;
        snprintf(r->error, sizeof r->error, "%.300s: the history cannot be written: %s",
                 o->output_name, reason > 0 ? strerror(reason) : "the recorder has ended");
        if (reason == EPIPE && !o->file) *r->error = 0; /* nobody reads: no news to anybody */
    }
    bool done = !r->failed;
    if (!done) snprintf(error, cap, "%s", r->error);
    if (c->hung) return done; /* a thread still uses all this */
    pthread_mutex_destroy(&r->lock);
    ids_free(&r->ids);
    durable_close(r->durable);
    if (r->reader) mem_free_all(&r->reader->mem);
    mem_put(d->mem, all);
    mem_put(d->mem, r);
    return done;
}
