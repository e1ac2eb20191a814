/*
 * sql_run.c - runs SQL workloads: each session is a thread that executes transactions and writes
 * statements, parameters and results as lines of a log (doc/formats/sql-log.md).
 *
 * Lines go to the recorder (record.h) when their transactions are over.  Before a commit is asked
 * for, the recorder gets what the transaction has done as an intent: if nobody lives to tell its
 * outcome, the log has it as unknown.  So nothing that a recorded answer can have seen is missing.
 */
#include "work/sql_run.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "work/fuzz.h"
#include "work/inflict.h"
#include "work/record.h"
#include "work/turns.h"

#define HANGS_NS 30000000000ull /* a commit that takes so long is a finding */
#define RECONNECT_NS 30000000000ull
#define SEND_NS 20000000u /* finished lines wait no longer than that for others */
enum { SEND_BYTES = 1 << 14, SEND_SHARE = 25, BACK_TRIES = 20 };

typedef struct shared {
    sql_run *r;
    pthread_mutex_t lock;
    recorder recorder;
    bool dirty; /* others may see writes before the commit */
    atomic_uint_fast64_t started;
    atomic_bool stop;
    atomic_uint ready, names;
    atomic_ullong start, deadline; /* 0 until all sessions are connected */
    atomic_bool disturbed;         /* a fault is going on */
    atomic_bool abandoned;         /* sessions that hang are not waited for */
    atomic_uint open;              /* sessions that are within a transaction */
    bool probing;                  /* the engine was killed: only a session aside may connect */
    turns *turns;
} shared;

typedef struct worker {
    shared *all;
    sql_session s;
    pthread_t thread;
    atomic_ullong committing; /* since when; 0: it is not */
    atomic_bool ended;
    uint32_t name;         /* of its session in the log */
    strbuf lines, intent;  /* finished and not yet sent; of the transaction that is open */
    uint64_t sent;         /* when lines were last sent */
    uint64_t begin, begun; /* of the transaction */
} worker;

const sql_workload *sql_workload_named(const char *name)
{
    for (const sql_workload *w = sql_workloads; w->name; w++)
        if (!strcmp(w->name, name)) return w;
    return NULL;
}

uint32_t sql_below(sql_session *s, uint32_t n)
{
    return rng_below(&s->rng, n);
}

bool sql_chance(sql_session *s, double share)
{
    return rng_below(&s->rng, 1u << 20) < share * (1u << 20);
}

int64_t sql_int(const sql_session *s, uint32_t r, uint32_t col)
{
    if (r >= s->db.n_rows || col >= s->db.n_cols) return 0;
    db_cell c = s->db.cells.at[(size_t)r * s->db.n_cols + col];
    char text[32];
    if (c.at == UINT32_MAX || c.n >= sizeof text) return 0;
    memcpy(text, s->db.text.at + c.at, c.n); /* (the next cell may follow at once) */
    text[c.n] = 0;
    return strtoll(text, NULL, 10);
}

static void write_result(sql_session *s, enum db_answer a)
{
    strbuf *o = &s->line;
    if (a == DB_LOST) return; /* nobody knows */
    if (*s->db.state) {
        strbuf_printf(o, ",\"error\":\"%s\"", s->db.state);
        return;
    }
    /* MariaDB counts the rows that have become different, not those that were found. */
    if (!s->db.has_rows && !strcmp(db_inner(s->db.db)->driver->name, "mariadb")) return;
    if (!s->db.has_rows) {
        strbuf_printf(o, ",\"count\":%llu", (unsigned long long)s->db.affected);
        return;
    }
    strbuf_str(o, ",\"rows\":[");
    for (uint32_t i = 0; i < s->db.n_rows; i++) {
        strbuf_str(o, i ? ",[" : "[");
        for (uint32_t k = 0; k < s->db.n_cols; k++) {
            db_cell c = s->db.cells.at[(size_t)i * s->db.n_cols + k];
            if (k) strbuf_char(o, ',');
            if (c.at == UINT32_MAX)
                strbuf_str(o, "null");
            else if (c.kind == DB_TEXT)
                strbuf_json(o, s->db.text.at + c.at, c.n);
            else
                strbuf_add(o, s->db.text.at + c.at, c.n);
        }
        strbuf_char(o, ']');
    }
    strbuf_char(o, ']');
}

uint64_t sql_call_sent(sql_session *s)
{
    if (s->after) return ++s->after;
    if (s->turns) turns_take(s->turns, s->number - 1, &s->db);
    return s->turns && s->count_calls ? turns_ticks(s->turns) : clock_now();
}

uint64_t sql_call_returned(sql_session *s, bool frees)
{
    if (s->after) return ++s->after;
    uint64_t now = clock_now(), number = now;
    if (s->turns) number = turns_back(s->turns, s->number - 1, frees);
    return s->count_calls ? number : now;
}

enum db_answer sql_do(sql_session *s, const char *text, const char *format, ...)
{
    char numbers[16][24];
    const char *params[16];
    uint32_t n = 0;
    va_list ap;
    va_start(ap, format);
    for (; n < 16 && format[n]; n++) {
        if (format[n] == 's') {
            params[n] = va_arg(ap, const char *);
        } else {
            snprintf(numbers[n], sizeof numbers[n], "%lld", (long long)va_arg(ap, int64_t));
            params[n] = numbers[n];
        }
    }
    va_end(ap);
    strbuf *o = &s->line;
    strbuf_str(o, o->n && o->at[o->n - 1] == '}' ? ",{\"sql\":" : "{\"sql\":");
    strbuf_json(o, text, strlen(text));
    for (uint32_t i = 0; i < n; i++) {
        strbuf_str(o, i ? "," : ",\"params\":[");
        if (format[i] == 's')
            strbuf_json(o, params[i], strlen(params[i]));
        else
            strbuf_str(o, params[i]);
    }
    if (n) strbuf_char(o, ']');
    if (s->announce) s->announce(s, text);
    uint64_t call = sql_call_sent(s);
    enum db_answer a = s->db.db->driver->query(&s->db, text, params, n);
    uint64_t end = sql_call_returned(s, a != DB_OK);
    write_result(s, a);
    strbuf_printf(o, ",\"t\":[%llu,%llu]}", (unsigned long long)call, (unsigned long long)end);
    return a;
}

/* --- the log ---------------------------------------------------------------------------------- */

static void stop_unwritten(shared *all)
{
    pthread_mutex_lock(&all->lock);
    if (!*all->r->error) snprintf(all->r->error, sizeof all->r->error, "the log cannot be written");
    pthread_mutex_unlock(&all->lock);
    all->stop = true;
}

static void send(worker *w)
{
    if (!record(&w->all->recorder, w->s.number - 1, &w->lines, &w->intent)) stop_unwritten(w->all);
    w->lines.n = w->intent.n = 0;
    w->sent = clock_now();
}

/* The end of a line.  A commit whose answer was lost has no end. */
static void add_end(strbuf *o, const worker *w, const char *status, uint64_t call, uint64_t end)
{
    strbuf_printf(o, "],\"status\":\"%s\",\"times\":[%llu,%llu,%llu,", status,
                  (unsigned long long)w->begin, (unsigned long long)w->begun,
                  (unsigned long long)call);
    if (*status == 'u')
        strbuf_str(o, "null]");
    else
        strbuf_printf(o, "%llu]", (unsigned long long)end);
}

/* What is under way.  `within`: the last statement has no answer yet. */
static void send_intent(worker *w, bool within, uint64_t call)
{
    strbuf_add(&w->intent, w->s.line.at, w->s.line.n);
    if (within) strbuf_char(&w->intent, '}');
    add_end(&w->intent, w, "unknown", call, 0);
    /* (If it is the last that is told of it, a reader must know where it belongs.) */
    const driver *d = db_inner(w->s.db.db)->driver;
    int64_t ts;
    bool foreseen = !within && !w->s.turns && !w->all->r->faults && d->foresees;
    if (foreseen && w->s.db.db->driver->stamp(&w->s.db, &ts))
        strbuf_printf(&w->intent, ",\"commit_ts\":%lld", (long long)ts);
    strbuf_str(&w->intent, "}\n");
    send(w);
}

/* What is written must be known before anybody can have seen it. */
static void announce(sql_session *s, const char *text)
{
    worker *w = s->worker;
    if (strncmp(text, "SELECT ", 7) != 0)
        send_intent(w, true, s->count_calls ? turns_ticks(s->turns) : clock_now());
}

/* A commit that failed, but not for a conflict: nobody knows what came of it. */
static void note_commit(worker *w)
{
    sql_run *r = w->all->r;
    pthread_mutex_lock(&w->all->lock);
    if (!r->odd_commits++)
        snprintf(
            r->finding, sizeof r->finding,
            "a COMMIT of session %u ended with an error that is no conflict, so that nobody knows "
            "its outcome: %.300s",
            (unsigned)w->s.number, w->s.db.error);
    pthread_mutex_unlock(&w->all->lock);
}

/* When it committed: what the database says, or with a stepwise schedule, where no two commits
   overlap unless one waited, the number of the call. */
static bool commit_stamp(const shared *all, sql_session *s, uint64_t call, int64_t *ts)
{
    /* A server takes the time before others can see the commit: a fault in between parts the two,
       and clocks may be disturbed. */
    if (all->r->faults) return false;
    const driver *d = s->db.db->driver;
    if (!s->turns) return d->stamp && d->stamp(&s->db, ts);
    if (turns_waited(s->turns, s->number - 1)) return false;
    *ts = (int64_t)call;
    return true;
}

/* How a transaction went. */
typedef struct sql_end {
    uint64_t call, end; /* of the commit */
    enum db_answer answer;
    bool tried;  /* its commit was asked for */
    bool lost;   /* the connection is gone */
    bool learnt; /* nobody answered the commit, but the server has told later what came of it */
} sql_end;

static bool is_over(const shared *all)
{
    const sql_run *r = all->r;
    uint64_t deadline = all->deadline;
    return all->stop || (r->interrupt && *r->interrupt) || (deadline && clock_now() > deadline);
}

enum { CONNECTIONS = 8 }; /* that may be lost in a row although nobody disturbs them */

/* Where faults come, servers need a while to return.  Elsewhere a connection may be lost, too: the
   program of a driver can be killed by anybody.  `aside`: the sessions have ended. */
static bool connected(shared *all, sql_session *s, bool aside)
{
    const driver *d = s->db.db->driver;
    uint64_t begun = clock_now();
    for (int tries = 1;; tries++) {
        if (atomic_load(&s->db.db->node[s->db.node].gone)) s->db.node = db_primary(s->db.db);
        enum db_answer a = d->connect(&s->db);
        if (a == DB_OK) break;
        if (atomic_load(&all->disturbed)) begun = clock_now();
        bool late = all->r->faults ? clock_now() - begun > RECONNECT_NS
                                   : a != DB_LOST || tries == CONNECTIONS;
        if (a == DB_BROKEN || late || (!aside && is_over(all))) return false;
        d->disconnect(&s->db);
        clock_nap(20000000);
    }
    if (s->fuzz) fuzz_connected(s);
    return true;
}

/* The others neither wait for a session that cannot go on, nor record more: the log may lack a
   transaction of this one. */
static void give_up(shared *all, const char *about, const char *why)
{
    sql_run *r = all->r;
    pthread_mutex_lock(&all->lock);
    if (!*r->error) snprintf(r->error, sizeof r->error, "%.30s%.450s", about, why);
    pthread_mutex_unlock(&all->lock);
    all->stop = true;
}

static bool reconnected(worker *w)
{
    shared *all = w->all;
    w->s.db.db->driver->disconnect(&w->s.db);
    bool back = connected(all, &w->s, false);
    pthread_mutex_lock(&all->lock);
    all->r->reconnected += back;
    pthread_mutex_unlock(&all->lock);
    if (!back && all->r->faults && !is_over(all)) give_up(all, "cannot connect: ", w->s.db.error);
    return back;
}

/* After a commit whose answer was lost: what does the server say?  If it can tell, there is a new
   connection and the transaction has ended. */
static void learn_outcome(worker *w, sql_end *e)
{
    sql_session *s = &w->s;
    const driver *d = s->db.db->driver;
    if (!w->all->r->faults || !d->outcome || !*s->db.mark) return;
    d->disconnect(&s->db);
    e->lost = !connected(w->all, s, true);
    if (e->lost) return;
    enum db_answer a = d->outcome(&s->db);
    if (a != DB_OK && a != DB_REFUSED) return;
    e->answer = a;
    e->learnt = true;
}

static sql_end do_transaction(worker *w, enum db_answer (*body)(sql_session *s))
{
    sql_session *s = &w->s;
    const driver *d = s->db.db->driver;
    sql_end e = {0};
    w->begin = sql_call_sent(s);
    s->db.isolation = s->db.db->isolation;
    e.answer = d->begin(&s->db);
    w->begun = sql_call_returned(s, e.answer != DB_OK);
    s->roll_back = false;
    s->announce = w->all->dirty ? announce : NULL;
    if (e.answer == DB_OK) e.answer = body(s);
    e.tried = e.answer == DB_OK && !s->roll_back;
    if (s->roll_back) e.answer = DB_REFUSED;
    e.call = sql_call_sent(s);
    if (e.tried && s->fuzz) fuzz_commits(s);
    *s->db.mark = 0;
    if (e.tried && w->all->r->faults && d->token)
        d->token(&s->db);
    else if (e.tried && d->mark)
        d->mark(&s->db);
    if (e.tried) send_intent(w, false, e.call);
    atomic_store(&w->committing, e.tried ? clock_now() : 0);
    if (e.tried) e.answer = d->commit(&s->db);
    atomic_store(&w->committing, 0);
    while (atomic_load(&w->all->abandoned)) pause(); /* what it would use is gone */
    /* (Of a commit that a fault has met nothing else can be expected.) */
    if (e.tried && e.answer > DB_REFUSED && !w->all->r->faults) note_commit(w);
    if (e.tried && e.answer == DB_LOST) learn_outcome(w, &e);
    if (!e.learnt && !e.lost) e.lost = e.answer != DB_OK && d->abort(&s->db) == DB_LOST;
    e.end = sql_call_returned(s, true);
    return e;
}

/* A statement outside of a transaction is one. */
static sql_end do_alone(worker *w)
{
    sql_session *s = &w->s;
    sql_end e = {.tried = true};
    w->begin = w->begun = s->count_calls ? turns_ticks(s->turns) + 1 : clock_now();
    s->announce = announce;
    e.answer = fuzz_single(s);
    fuzz_commits(s);
    e.call = w->begin;
    e.end = s->count_calls ? turns_ticks(s->turns) : clock_now();
    e.lost = e.answer == DB_LOST;
    return e;
}

static const char *status_of(const sql_end *e)
{
    if (e->answer == DB_OK) return "committed";
    return e->tried && (e->answer == DB_LOST || e->answer == DB_BROKEN) ? "unknown" : "aborted";
}

/* Finished lines may wait a little: until then the recorder has what others can have read. */
static void write_transaction(worker *w, const sql_end *e)
{
    sql_session *s = &w->s;
    sql_run *r = w->all->r;
    const char *status = status_of(e);
    int64_t ts;
    strbuf_add(&w->lines, s->line.at, s->line.n);
    add_end(&w->lines, w, status, e->call, e->end);
    /* (What its session does next may precede a commit whose answer was lost.) */
    if (*status == 'u') w->name = atomic_fetch_add(&w->all->names, 1) + 1;
    bool stamped = e->answer == DB_OK && !s->after && commit_stamp(w->all, s, e->call, &ts);
    if (stamped) strbuf_printf(&w->lines, ",\"commit_ts\":%lld", (long long)ts);
    /* It wrote, but the database did not tell: the connection was lost, perhaps. */
    if (!stamped && e->answer == DB_OK && !s->turns && !r->faults && *s->db.mark)
        strbuf_str(&w->lines, ",\"commit_ts\":null");
    if (e->learnt)
        strbuf_printf(
            &w->lines,
            ",\"note\":\"the answer to COMMIT was lost; asked later, the server said: %s\"",
            e->answer == DB_OK ? "committed" : "rolled back");
    strbuf_str(&w->lines, "}\n");
    bool now = s->turns || s->after; /* lines stand in the order of the turns */
    uint64_t wait = (uint64_t)SEND_NS * (1 + r->sessions / SEND_SHARE);
    if (now || w->lines.n > SEND_BYTES || clock_now() - w->sent > wait) send(w);
    pthread_mutex_lock(&w->all->lock);
    r->committed += e->answer == DB_OK;
    r->stamped += stamped;
    r->aborted += *status == 'a';
    r->unknown += *status == 'u';
    r->learnt += e->learnt;
    r->reconnected += e->learnt;
    if (e->answer == DB_BROKEN && !s->fuzz) {
        snprintf(r->error, sizeof r->error, "%s", s->db.error);
        w->all->stop = true;
    }
    pthread_mutex_unlock(&w->all->lock);
}

/* One transaction; false: the session cannot go on. */
static bool one(worker *w, uint64_t number, enum db_answer (*body)(sql_session *s))
{
    sql_session *s = &w->s;
    s->line.n = 0;
    atomic_fetch_add(&w->all->open, 1);
    bool alone = s->fuzz && fuzz_alone(s);
    strbuf_printf(&s->line, "{\"id\":%llu,\"session\":%u,\"statements\":[",
                  (unsigned long long)number, (unsigned)w->name);
    sql_end e = alone ? do_alone(w) : do_transaction(w, body);
    if (s->fuzz && e.tried) fuzz_committed(s, e.answer);
    write_transaction(w, &e);
    atomic_fetch_sub(&w->all->open, 1);
    if (e.lost) return !s->after && reconnected(w);
    return !s->fuzz || s->after || fuzz_maintain(s) || reconnected(w);
}

/* The last session that has connected starts the clock for all. */
static void begin_together(shared *all)
{
    const sql_run *r = all->r;
    if (++all->ready == r->sessions) {
        uint64_t now = clock_now();
        if (r->seconds > 0) all->deadline = now + (uint64_t)(r->seconds * 1e9);
        all->start = now;
    }
    while (!all->start && !all->stop && !(r->interrupt && *r->interrupt)) clock_nap(500000);
}

static void open_session(worker *w)
{
    sql_session *s = &w->s;
    s->worker = w;
    strbuf_init(&s->line, &s->mem);
    strbuf_init(&s->db.text, &s->mem);
    strbuf_init(&w->lines, &s->mem);
    strbuf_init(&w->intent, &s->mem);
}

static void run_session(worker *w)
{
    sql_session *s = &w->s;
    sql_run *r = w->all->r;
    if (guard_armed(&s->guard)) { /* never jumped to with the lock */
        give_up(w->all, "", s->guard.text);
        r->db->driver->disconnect(&s->db);
        return;
    }
    open_session(w);
    rng_seed(&s->rng, r->seed * 1000003 + s->number);
    s->db.db = r->db;
    s->db.mem = &s->mem;
    s->db.slot = s->number - 1;
    s->turns = w->all->turns;
    s->count_calls = s->turns && r->count_calls;
    s->fuzz = r->fuzz;
    if (!connected(w->all, s, false)) {
        give_up(w->all, "", s->db.error);
        return;
    }
    begin_together(w->all);
    sql_call_sent(s); /* what is drawn before the first call has its order, too */
    sql_call_returned(s, false);
    while (!is_over(w->all)) {
        uint64_t number = w->all->started++;
        if (r->txns && number >= r->txns) break;
        if (!one(w, number + 1, r->w->txn)) break;
    }
    if (w->lines.n) send(w);
    r->db->driver->disconnect(&s->db);
}

static void *work(void *arg)
{
    worker *w = arg;
    run_session(w);
    if (w->all->turns) turns_leave(w->all->turns, w->s.number - 1);
    atomic_store(&w->ended, true);
    return NULL;
}

/* The header: the same statements that filled the tables. */
static bool header(shared *all, const strbuf *setup, mem *m)
{
    strbuf b, none;
    strbuf_init(&b, m);
    strbuf_init(&none, m);
    strbuf_str(&b, "{\"ratel_sql\":1,\"recorder\":");
    strbuf_json(&b, all->r->recorder, strlen(all->r->recorder));
    strbuf_str(&b, ",\"database\":");
    strbuf_json(&b, all->r->db->version, strlen(all->r->db->version));
    strbuf_printf(&b, ",\"isolation\":\"%s\"", all->r->db->isolation);
    if (all->r->fuzz)
        strbuf_printf(&b, ",\"dialect\":\"%s\",\"workload\":\"%s\",\"seed\":%llu",
                      all->r->fuzz->dialect, all->r->w->name, (unsigned long long)all->r->seed);
    else if (!strcmp(fuzz_dialect(all->r->db), "mysql"))
        strbuf_str(&b, ",\"dialect\":\"mysql\"");
    if (all->r->level) strbuf_printf(&b, ",\"level\":\"%s\"", all->r->level);
    strbuf_str(&b, ",\"setup\":[");
    for (size_t from = 0; from < setup->n;) {
        size_t end = from;
        while (end < setup->n && setup->at[end] != '\n') end++;
        if (from) strbuf_char(&b, ',');
        strbuf_json(&b, setup->at + from, end - from);
        from = end + 1;
    }
    strbuf_str(&b, "]}\n");
    bool sent = record(&all->recorder, all->r->sessions, &b, &none);
    strbuf_free(&b);
    return sent;
}

/* A later workload of the same program may have tables of the same names.  The last one made is the
   first to go, since it may refer to others. */
static char *drops_of(const strbuf *setup, mem *m)
{
    static const char create[] = "CREATE TABLE ";
    enum { CREATE = sizeof create - 1 };
    strbuf all, one;
    strbuf_init(&all, m);
    strbuf_init(&one, m);
    for (size_t at = 0; at + CREATE < setup->n; at++) {
        if ((at && setup->at[at - 1] != '\n') || memcmp(setup->at + at, create, CREATE)) continue;
        size_t name = at + CREATE, end = name;
        while (end < setup->n && setup->at[end] != ' ') end++;
        one.n = 0;
        strbuf_printf(&one, "DROP TABLE %.*s;", (int)(end - name), setup->at + name);
        strbuf_add(&one, all.at, all.n);
        all.n = 0;
        strbuf_add(&all, one.at, one.n);
    }
    char *text = mem_get(m, all.n + 1);
    memcpy(text, strbuf_cstr(&all), all.n + 1);
    strbuf_free(&one);
    strbuf_free(&all);
    return text;
}

static bool load(sql_run *r, strbuf *setup, mem *m)
{
    strbuf script;
    strbuf_init(&script, m);
    if (r->db->leftovers && !r->db->driver->script(r->db, r->db->leftovers)) {
        snprintf(r->error, sizeof r->error, "%s", r->db->error);
        return false;
    }
    r->db->leftovers = NULL;
    for (size_t i = 0; i < setup->n; i++)
        strbuf_str(&script, (char[]){setup->at[i] == '\n' ? ';' : setup->at[i], 0});
    bool good = r->db->driver->script(r->db, strbuf_cstr(&script));
    if (good) r->db->leftovers = drops_of(setup, m);
    if (!good) snprintf(r->error, sizeof r->error, "%s", r->db->error);
    strbuf_free(&script);
    return good;
}

/* What was not given is the workload's own. */
static sql_sizes sizes(const sql_run *r)
{
    sql_sizes z = r->z, n = r->w->normal;
    if (!z.keys) z.keys = n.keys;
    if (!z.warehouses) z.warehouses = n.warehouses;
    if (!z.districts) z.districts = n.districts;
    if (!z.customers) z.customers = n.customers;
    if (!z.items) z.items = n.items;
    if (z.reads < 0) z.reads = n.reads;
    if (z.blind < 0) z.blind = n.blind;
    if (z.rows < 0) z.rows = n.rows;
    return z;
}

/* --- faults ----------------------------------------------------------------------------------- */

/* What inflict.h asks of a run. */
typedef struct faulted {
    shared *all;
    worker *w;
    uint32_t n;
} faulted;

static void mark_fault(void *ud, const char *what)
{
    const faulted *f = ud;
    sql_run *r = f->all->r;
    strbuf line, none;
    strbuf_init(&line, r->db->mem); /* (no session uses that region) */
    strbuf_init(&none, r->db->mem);
    strbuf_printf(&line, "{\"mark\":\"fault\",\"at\":%llu,\"what\":\"%s\"}\n",
                  (unsigned long long)clock_now(), what);
    record(&f->all->recorder, r->sessions, &line, &none);
    strbuf_free(&line);
}

static bool all_have_ended(void *ud)
{
    const faulted *f = ud;
    uint32_t left = 0;
    for (uint32_t i = 0; i < f->n; i++) left += !atomic_load(&f->w[i].ended);
    return !left || is_over(f->all);
}

/* A fault is over at the latest when the run ends. */
static void last_a_while(void *ud, uint64_t ns)
{
    for (uint64_t begun = clock_now(); clock_now() - begun < ns && !all_have_ended(ud);)
        clock_nap(10000000);
}

static bool server_returns(void *ud, uint32_t node)
{
    const faulted *f = ud;
    char why[DB_ERROR];
    bool back = inflict_comes_back(f->all->r->db, node, all_have_ended, ud, why, sizeof why);
    if (!back) give_up(f->all, "", why);
    return back;
}

static void make_fault(faulted *f, inflictor *i, const fault *due)
{
    atomic_store(&f->all->disturbed, true);
    bool done = inflict(i, due);
    atomic_store(&f->all->disturbed, false);
    f->all->r->n_faults += done;
    if (!done && *i->error) give_up(f->all, "", i->error);
}

/* --- before the sessions, and after them ------------------------------------------------------ */

/* A session of its own, before the others or after them; false: r->error says why. */
static bool open_aside(shared *all, worker *w)
{
    sql_run *r = all->r;
    sql_session *s = &w->s;
    w->all = all;
    s->number = r->sessions + 1;
    s->sessions = r->sessions;
    open_session(w);
    rng_seed(&s->rng, r->seed);
    s->db.db = r->db;
    s->db.mem = &s->mem;
    s->db.slot = r->sessions;
    s->db.probe = all->probing;
    s->fuzz = r->fuzz;
    if (connected(all, s, true)) return true;
    snprintf(r->error, sizeof r->error, "%s", s->db.error);
    return false;
}

/* What a session aside is for; false: r->error says why it did not work. */
static bool do_aside(shared *all, void (*body)(worker *w))
{
    worker w = {0};
    sql_run *r = all->r;
    guard_init(&w.s.guard);
    mem_init(&w.s.mem, NULL, NULL, &w.s.guard);
    if (!guard_armed(&w.s.guard) && open_aside(all, &w))
        body(&w);
    else if (!*r->error)
        snprintf(r->error, sizeof r->error, "%.400s", w.s.guard.text);
    r->db->driver->disconnect(&w.s.db);
    mem_free_all(&w.s.mem);
    return !*r->error;
}

static void probe_aside(worker *w)
{
    fuzz_probe(w->all->r->fuzz, &w->s);
}

/* The tables that the workload made, by the statements that drop them. */
static enum db_answer read_all_tables(sql_session *s)
{
    static const char drop[] = "DROP TABLE ";
    enum db_answer a = DB_OK;
    const char *left = s->db.db->leftovers, *at = left ? strstr(left, drop) : NULL;
    for (; a == DB_OK && at; at = strstr(at, drop)) {
        char text[128];
        at += sizeof drop - 1;
        snprintf(text, sizeof text, "SELECT * FROM %.*s", (int)strcspn(at, ";"), at);
        a = sql_do(s, text, "");
    }
    return a;
}

/* The last transaction of the log reads all that is left; then come the invariants. */
static void finish_aside(worker *w)
{
    sql_session *s = &w->s;
    sql_run *r = w->all->r;
    bool counted = w->all->turns && r->count_calls;
    s->after = counted ? turns_ticks(w->all->turns) + 1 : clock_now();
    one(w, w->all->started + 1, r->fuzz ? fuzz_final_reads : read_all_tables);
    if (r->fuzz) fuzz_invariants(r->fuzz, s);
}

/* --- after an engine was killed --------------------------------------------------------------- */

/* All transactions that the kill has met must have ended, lest an increment be thought missing. */
static bool all_have_noticed(shared *all)
{
    for (uint64_t begun = clock_now(); clock_now() - begun < RECONNECT_NS;) {
        if (!atomic_load(&all->open)) return true;
        clock_nap(1000000);
    }
    return false;
}

/* Nobody else can connect yet: what is there is what was committed before. */
static void read_back_aside(worker *w)
{
    sql_session *s = &w->s;
    shared *all = w->all;
    sql_run *r = all->r;
    fuzz *f = r->fuzz;
    uint32_t before = f->broken;
    uint64_t committed = r->committed;
    for (int tries = 0; tries < BACK_TRIES && r->committed == committed; tries++) {
        if (tries) clock_nap(20000000);
        s->after = clock_now();
        one(w, all->started++ + 1, fuzz_final_reads);
    }
    r->acknowledged = committed;
    if (r->committed == committed) {
        snprintf(r->error, sizeof r->error, "killed, and cannot be read back: %.400s", s->db.error);
        return;
    }
    fuzz_invariants(f, s);
    r->read_back += f->tables + 2;
    if (before || !f->broken) return;
    char what[DB_ERROR];
    snprintf(what, sizeof what, "of the tables as they were after kill -9: %.450s", f->finding);
    memcpy(f->finding, what, sizeof what);
}

static bool engine_returns(void *ud)
{
    const faulted *f = ud;
    shared *all = f->all;
    if (!all_have_noticed(all)) {
        give_up(all, "", "a session did not notice that the engine was killed");
        return false;
    }
    all->probing = true;
    bool back = do_aside(all, read_back_aside);
    all->probing = false;
    if (!back) all->stop = true;
    return back;
}

/* --- all sessions ----------------------------------------------------------------------------- */

/* Until all sessions have ended.  A commit that never returns is a finding; the others are given
   some time to show whether they go on. */
static void wait_for_all(shared *all, worker *w, uint32_t n)
{
    sql_run *r = all->r;
    uint32_t left = n, stuck = 0;
    uint64_t ended = 0, calm = 0; /* since when no fault goes on */
    faulted f = {all, w, n};
    fault_clock times = {.plan = r->faults};
    inflictor inf = {.db = r->db,
                     .mark = mark_fault,
                     .wait = last_a_while,
                     .comes_back = server_returns,
                     .read_back = engine_returns,
                     .ud = &f};
    rng_seed(&inf.rng, r->seed);
    while (left && !r->hung) {
        clock_nap(5000000);
        left = stuck = 0;
        for (uint32_t i = 0; i < n; i++) {
            uint64_t since = atomic_load(&w[i].committing);
            if (since && since < calm) since = calm;
            left += !atomic_load(&w[i].ended);
            stuck += since && clock_now() > since && clock_now() - since > HANGS_NS;
        }
        const fault *due = NULL;
        if (r->faults && left && all->start && !is_over(all))
            due = inflict_due(&times, &inf, clock_now() - all->start);
        if (due) {
            make_fault(&f, &inf, due);
            calm = clock_now();
            inflict_over(&times, &inf, due, calm - all->start);
            continue;
        }
        if (!stuck || left > stuck) ended = clock_now();
        if (!stuck) continue;
        pthread_mutex_lock(&all->lock);
        if (!r->odd_commits++)
            snprintf(r->finding, sizeof r->finding,
                     "a COMMIT has not returned for %u seconds; %llu transactions had committed",
                     (unsigned)(HANGS_NS / 1000000000u), (unsigned long long)r->committed);
        pthread_mutex_unlock(&all->lock);
        all->stop = true;
        r->hung = left == stuck && clock_now() - ended > HANGS_NS / 10;
    }
    atomic_store(&all->abandoned, r->hung);
    for (uint32_t i = 0; i < n && !r->hung; i++) pthread_join(w[i].thread, NULL);
}

static void tell_unwritten(sql_run *r, int reason)
{
    char text[128];
    r->unread = reason == EPIPE && !r->file;
    snprintf(r->error, sizeof r->error, "%.300s: the log cannot be written: %s",
             r->output_name ? r->output_name : "standard output",
             reason > 0 ? replace_error(reason, text, sizeof text) : "the recorder has ended");
}

/* All sessions, and what comes after them. */
static void run_threads(shared *all, mem *m)
{
    sql_run *r = all->r;
    all->turns = r->stepped ? turns_open(r->db, r->sessions, r->seed) : NULL;
    if (r->stepped && !all->turns) {
        snprintf(r->error, sizeof r->error, "%s", r->db->error);
        return;
    }
    worker *w = mem_array0(m, worker, r->sessions);
    uint32_t n = 0;
    for (; n < r->sessions; n++) {
        w[n].all = all;
        w[n].s.number = w[n].name = n + 1;
        w[n].s.sessions = r->sessions;
        w[n].s.z = r->z;
        guard_init(&w[n].s.guard);
        mem_init(&w[n].s.mem, NULL, NULL, &w[n].s.guard);
        if (pthread_create(&w[n].thread, NULL, work, &w[n])) break;
    }
    if (n < r->sessions) {
        snprintf(r->error, sizeof r->error, "cannot start that many threads");
        all->stop = true;
    }
    for (uint32_t i = n; all->turns && i < r->sessions; i++) turns_leave(all->turns, i);
    wait_for_all(all, w, n);
    if (r->hung) return; /* a thread uses all of this */
    if ((r->fuzz || r->faults) && !*r->error) do_aside(all, finish_aside);
    for (uint32_t i = 0; i < n; i++) mem_free_all(&w[i].s.mem);
    r->took = all->start ? (double)(clock_now() - all->start) / 1e9 : 0;
    turns_close(all->turns);
    mem_put(m, w);
}

bool sql_run_all(sql_run *r)
{
    /* The texts have parameters, and a log without times of commit says little. */
    const driver *inner = db_inner(r->db)->driver;
    bool mysql = !strcmp(fuzz_dialect(r->db), "mysql") && strcmp(inner->name, "exec") != 0;
    if (!inner->query || !(inner->stamp || r->w->fuzz || (mysql && r->w->plain))) {
        snprintf(r->error, sizeof r->error, "%s does not run on %s%s", r->w->name, inner->name,
                 !inner->query ? " in this version"
                 : mysql       ? "; bank-sql, sql-fuzz, predicates, upserts and constraints do"
                               : "; sql-fuzz, predicates, upserts, constraints and cursors do");
        return false;
    }
    if (r->w->procedures && !inner->procedures) {
        snprintf(r->error, sizeof r->error, "%s needs PL/pgSQL, which %s does not have", r->w->name,
                 r->db->driver->name);
        return false;
    }
    r->z = sizes(r);
    if (mysql && r->w->plain && r->z.blind < 1) {
        snprintf(r->error, sizeof r->error,
                 "%s: an UPDATE of %s cannot return rows, so it runs only if all writes are blind "
                 "(--set blind=1)",
                 r->w->name, inner->name);
        return false;
    }
    if (db_inner(r->db)->pooled) {
        snprintf(
            r->error, sizeof r->error,
            "%s does not run through a pooler (pooled=on): its sessions keep settings from one "
            "transaction to the next",
            r->w->name);
        return false;
    }
    r->db->own_tables = true;
    r->db->stepped = r->stepped;
    mem *m = r->db->mem;
    strbuf setup;
    strbuf_init(&setup, m);
    if (r->w->fuzz) {
        r->fuzz = mem_zeroed(m, sizeof *r->fuzz);
        r->db->made_up = true;
        fuzz_draw(r->fuzz, r->db, r->w->fuzz, r->seed);
        fuzz_setup(r->fuzz, &setup);
    } else {
        r->w->setup(&setup, &r->z);
    }
    shared *all = mem_zeroed(m, sizeof *all);
    all->r = r;
    all->names = r->sessions;
    all->dirty = db_asks_for(r->db, "read-uncommitted");
    pthread_mutex_init(&all->lock, NULL);
    if (!load(r, &setup, m)) return false;
    if (r->fuzz && !do_aside(all, probe_aside)) return false;
    if (r->w->fuzz == SQL_CURSORS && !(r->fuzz->features & FUZZ_CURSORS)) {
        snprintf(r->error, sizeof r->error,
                 "%.100s has no cursors here: it does not take DECLARE and FETCH from a client",
                 r->db->version);
        return false;
    }
    int unnamed = r->file ? replace_begin(r->file) : 0;
    if (unnamed) {
        char text[128];
        snprintf(r->error, sizeof r->error, "%.300s: %s", r->output_name,
                 replace_error(unnamed, text, sizeof text));
        return false;
    }
    if (!record_start(&all->recorder, r->output)) { /* (a process, before there are threads) */
        snprintf(r->error, sizeof r->error, "cannot start the recorder");
        return false;
    }
    if (!header(all, &setup, m))
        stop_unwritten(all);
    else
        run_threads(all, m);
    int reason = record_end(&all->recorder);
    /* A process that was killed does not know any more which tables it has made. */
    bool forgotten = r->faults && r->db->driver->process && r->db->leftovers;
    if (forgotten && !r->hung && r->db->driver->script(r->db, r->db->leftovers))
        r->db->leftovers = NULL;
    if (reason) tell_unwritten(r, reason); /* more than what a session knew of it */
    if (r->hung) return !*r->error;        /* a thread uses all of this */
    pthread_mutex_destroy(&all->lock);
    mem_put(m, all);
    strbuf_free(&setup);
    return !*r->error;
}
