/*
 * sql_run.c - runs SQL workloads: each session is a thread that executes transactions and writes
 * statements, parameters and results as lines of a log (doc/formats/sql-log.md).
 *
 * A line is written when its transaction is over, under one lock, so lines are never mixed.
 */
#include "work/sql_run.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "work/fuzz.h"
#include "work/record.h"
#include "work/turns.h"

#define HANGS_NS 30000000000ull /* a commit that takes so long is a finding */

typedef struct shared {
    sql_run *r;
    pthread_mutex_t lock;
    int lost; /* why a line could not be written, or 0; under the lock */
    atomic_uint_fast64_t started;
    atomic_bool stop;
    atomic_uint ready, names;
    atomic_ullong start, deadline; /* 0 until all sessions are connected */
    turns *turns;
} shared;

typedef struct worker {
    shared *all;
    sql_session s;
    pthread_t thread;
    atomic_ullong committing; /* since when; 0: it is not */
    atomic_bool ended;
    uint32_t name; /* of its session in the log */
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

static void write_result(sql_session *s)
{
    strbuf *o = &s->line;
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
    uint64_t call = sql_call_sent(s);
    enum db_answer a = s->db.db->driver->query(&s->db, text, params, n);
    uint64_t end = sql_call_returned(s, a != DB_OK);
    write_result(s);
    strbuf_printf(o, ",\"t\":[%llu,%llu]}", (unsigned long long)call, (unsigned long long)end);
    return a;
}

static bool put_line(shared *all, const char *text, size_t n)
{
    pthread_mutex_lock(&all->lock);
    /* after the first failure nothing is written: a later line would follow what is missing */
    if (!all->lost) all->lost = record_write(all->r->output, text, n);
    bool good = !all->lost;
    pthread_mutex_unlock(&all->lock);
    return good;
}

static void tell_lost(sql_run *r, int error)
{
    char text[128];
    snprintf(r->error, sizeof r->error, "%.300s: the log cannot be written: %s",
             r->output_name ? r->output_name : "standard output",
             replace_error(error, text, sizeof text));
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
static bool commit_stamp(sql_session *s, uint64_t call, int64_t *ts)
{
    const driver *d = s->db.db->driver;
    if (!s->turns) return d->stamp && d->stamp(&s->db, ts);
    if (turns_waited(s->turns, s->number - 1)) return false;
    *ts = (int64_t)call;
    return true;
}

/* How a transaction went. */
typedef struct sql_end {
    uint64_t begin, begun, call, end;
    enum db_answer answer;
    bool tried; /* its commit was asked for */
    bool lost;  /* the connection is gone */
} sql_end;

static bool reconnected(sql_session *s)
{
    const driver *d = s->db.db->driver;
    d->disconnect(&s->db);
    if (d->connect(&s->db) != DB_OK) return false;
    if (s->fuzz) fuzz_connected(s);
    return true;
}

static sql_end do_transaction(worker *w, enum db_answer (*body)(sql_session *s))
{
    sql_session *s = &w->s;
    const driver *d = s->db.db->driver;
    sql_end e = {.begin = sql_call_sent(s)};
    s->db.isolation = s->db.db->isolation;
    e.answer = d->begin(&s->db);
    e.begun = sql_call_returned(s, e.answer != DB_OK);
    s->roll_back = false;
    if (e.answer == DB_OK) e.answer = body(s);
    e.tried = e.answer == DB_OK && !s->roll_back;
    if (s->roll_back) e.answer = DB_REFUSED;
    e.call = sql_call_sent(s);
    if (e.tried && s->fuzz) fuzz_commits(s);
    if (e.tried && d->mark) d->mark(&s->db);
    atomic_store(&w->committing, e.tried ? clock_now() : 0);
    if (e.tried) e.answer = d->commit(&s->db);
    atomic_store(&w->committing, 0);
    if (e.tried && e.answer > DB_REFUSED) note_commit(w);
    e.lost = e.answer != DB_OK && d->abort(&s->db) == DB_LOST;
    e.end = sql_call_returned(s, true);
    return e;
}

/* A statement outside of a transaction is one. */
static sql_end do_alone(worker *w)
{
    sql_session *s = &w->s;
    sql_end e = {.begin = turns_ticks(s->turns) + 1, .tried = true};
    if (!s->count_calls) e.begin = clock_now();
    e.answer = fuzz_single(s);
    fuzz_commits(s);
    e.begun = e.call = e.begin;
    e.end = s->count_calls ? turns_ticks(s->turns) : clock_now();
    e.lost = e.answer == DB_LOST;
    return e;
}

static const char *status_of(const sql_end *e)
{
    if (e->answer == DB_OK) return "committed";
    return e->tried && (e->answer == DB_LOST || e->answer == DB_BROKEN) ? "unknown" : "aborted";
}

static bool write_transaction(worker *w, const sql_end *e)
{
    sql_session *s = &w->s;
    sql_run *r = w->all->r;
    const char *status = status_of(e);
    int64_t ts;
    strbuf_printf(&s->line, "],\"status\":\"%s\",\"times\":[%llu,%llu,%llu,", status,
                  (unsigned long long)e->begin, (unsigned long long)e->begun,
                  (unsigned long long)e->call);
    /* A commit whose answer was lost has no end, and what its session does next may precede it. */
    if (*status == 'u') {
        strbuf_str(&s->line, "null]");
        w->name = atomic_fetch_add(&w->all->names, 1) + 1;
    } else {
        strbuf_printf(&s->line, "%llu]", (unsigned long long)e->end);
    }
    bool stamped = e->answer == DB_OK && !s->after && commit_stamp(s, e->call, &ts);
    if (stamped) strbuf_printf(&s->line, ",\"commit_ts\":%lld", (long long)ts);
    strbuf_str(&s->line, "}\n");
    bool good = put_line(w->all, s->line.at, s->line.n);
    pthread_mutex_lock(&w->all->lock);
    r->committed += e->answer == DB_OK;
    r->stamped += stamped;
    r->aborted += *status == 'a';
    r->unknown += *status == 'u';
    if ((e->answer == DB_BROKEN && !s->fuzz) || !good) {
        if (good)
            snprintf(r->error, sizeof r->error, "%s", s->db.error);
        else
            tell_lost(r, w->all->lost);
        w->all->stop = true;
    }
    pthread_mutex_unlock(&w->all->lock);
    return good;
}

/* One transaction; false: the session cannot go on. */
static bool one(worker *w, uint64_t number, enum db_answer (*body)(sql_session *s))
{
    sql_session *s = &w->s;
    s->line.n = 0;
    bool alone = s->fuzz && fuzz_alone(s);
    strbuf_printf(&s->line, "{\"id\":%llu,\"session\":%u,\"statements\":[",
                  (unsigned long long)number, (unsigned)w->name);
    sql_end e = alone ? do_alone(w) : do_transaction(w, body);
    if (s->fuzz && e.tried) fuzz_committed(s, e.answer);
    write_transaction(w, &e);
    if (e.lost) return reconnected(s);
    return !s->fuzz || s->after || fuzz_maintain(s) || reconnected(s);
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

/* The others neither wait for a session that cannot go on, nor record more: the log may lack a
   transaction of this one. */
static void give_up(worker *w, const char *why)
{
    sql_run *r = w->all->r;
    pthread_mutex_lock(&w->all->lock);
    snprintf(r->error, sizeof r->error, "%.500s", why);
    pthread_mutex_unlock(&w->all->lock);
    w->all->stop = true;
}

static void run_session(worker *w)
{
    sql_session *s = &w->s;
    sql_run *r = w->all->r;
    if (guard_armed(&s->guard)) { /* never jumped to with the lock */
        give_up(w, s->guard.text);
        r->db->driver->disconnect(&s->db);
        return;
    }
    strbuf_init(&s->line, &s->mem);
    strbuf_init(&s->db.text, &s->mem);
    rng_seed(&s->rng, r->seed * 1000003 + s->number);
    s->db.db = r->db;
    s->db.mem = &s->mem;
    s->db.slot = s->number - 1;
    s->turns = w->all->turns;
    s->count_calls = s->turns && r->count_calls;
    s->fuzz = r->fuzz;
    if (r->db->driver->connect(&s->db) != DB_OK) {
        give_up(w, s->db.error);
        return;
    }
    if (s->fuzz) fuzz_connected(s);
    begin_together(w->all);
    sql_call_sent(s); /* what is drawn before the first call has its order, too */
    sql_call_returned(s, false);
    while (!w->all->stop && !(r->interrupt && *r->interrupt)) {
        uint64_t number = w->all->started++;
        if (r->txns && number >= r->txns) break;
        if (w->all->deadline && clock_now() > w->all->deadline) break;
        if (!one(w, number + 1, r->w->txn)) break;
    }
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
    strbuf b;
    strbuf_init(&b, m);
    strbuf_printf(&b, "{\"ratel_sql\":1,\"database\":\"%s\",\"isolation\":\"%s\"",
                  all->r->db->version, all->r->db->isolation);
    if (all->r->fuzz)
        strbuf_printf(&b, ",\"dialect\":\"%s\",\"workload\":\"%s\",\"seed\":%llu",
                      all->r->fuzz->dialect, all->r->w->name, (unsigned long long)all->r->seed);
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
    bool good = put_line(all, b.at, b.n);
    if (!good) tell_lost(all->r, all->lost);
    strbuf_free(&b);
    return good;
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

/* Until all sessions have ended.  A commit that never returns is a finding; the others are given
   some time to show whether they go on. */
static void wait_for_all(shared *all, worker *w, uint32_t n)
{
    sql_run *r = all->r;
    uint32_t left = n, stuck = 0;
    uint64_t ended = 0;
    while (left && !r->hung) {
        clock_nap(5000000);
        left = stuck = 0;
        for (uint32_t i = 0; i < n; i++) {
            uint64_t since = atomic_load(&w[i].committing);
            left += !atomic_load(&w[i].ended);
            stuck += since && clock_now() > since && clock_now() - since > HANGS_NS;
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
    for (uint32_t i = 0; i < n && !r->hung; i++) pthread_join(w[i].thread, NULL);
}

/* A session of its own, before the others or after them; false: r->error says why. */
static bool open_aside(shared *all, worker *w)
{
    sql_run *r = all->r;
    sql_session *s = &w->s;
    w->all = all;
    s->number = r->sessions + 1;
    s->sessions = r->sessions;
    strbuf_init(&s->line, &s->mem);
    strbuf_init(&s->db.text, &s->mem);
    rng_seed(&s->rng, r->seed);
    s->db.db = r->db;
    s->db.mem = &s->mem;
    s->db.slot = r->sessions;
    s->fuzz = r->fuzz;
    if (r->db->driver->connect(&s->db) == DB_OK) {
        fuzz_connected(s);
        return true;
    }
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

/* The last transaction of the log reads all that is left; then come the invariants. */
static void finish_aside(worker *w)
{
    sql_session *s = &w->s;
    sql_run *r = w->all->r;
    bool counted = w->all->turns && r->count_calls;
    s->after = counted ? turns_ticks(w->all->turns) + 1 : clock_now();
    one(w, w->all->started + 1, fuzz_final_reads);
    fuzz_invariants(r->fuzz, s);
}

static void finish_fuzz(shared *all)
{
    do_aside(all, finish_aside);
}

bool sql_run_all(sql_run *r)
{
    /* The texts have parameters, and a log without times of commit says little. */
    const driver *inner = db_inner(r->db)->driver;
    if (!inner->query || !(inner->stamp || r->w->fuzz)) {
        snprintf(r->error, sizeof r->error, "%s does not run on %s%s", r->w->name, inner->name,
                 inner->query ? "; sql-fuzz, predicates and upserts do" : " in this version");
        return false;
    }
    if (r->w->procedures && !inner->procedures) {
        snprintf(r->error, sizeof r->error, "%s needs PL/pgSQL, which %s does not have", r->w->name,
                 r->db->driver->name);
        return false;
    }
    r->db->own_tables = true;
    r->db->stepped = r->stepped;
    mem *m = r->db->mem;
    strbuf setup;
    strbuf_init(&setup, m);
    r->z = sizes(r);
    if (r->w->fuzz) {
        r->fuzz = mem_zeroed(m, sizeof *r->fuzz);
        r->db->made_up = true;
        fuzz_draw(r->fuzz, r->db, r->w->fuzz, r->seed);
        fuzz_setup(r->fuzz, &setup);
    } else {
        r->w->setup(&setup, &r->z);
    }
    shared all = {.r = r, .names = r->sessions};
    pthread_mutex_init(&all.lock, NULL);
    if (!load(r, &setup, m)) return false;
    if (r->fuzz && !do_aside(&all, probe_aside)) return false;
    int unnamed = r->file ? replace_begin(r->file) : 0;
    if (unnamed) {
        char text[128];
        snprintf(r->error, sizeof r->error, "%.300s: %s", r->output_name,
                 replace_error(unnamed, text, sizeof text));
        return false;
    }
    if (!header(&all, &setup, m)) return false;
    all.turns = r->stepped ? turns_open(r->db, r->sessions, r->seed) : NULL;
    if (r->stepped && !all.turns) {
        snprintf(r->error, sizeof r->error, "%s", r->db->error);
        return false;
    }
    worker *w = mem_array0(m, worker, r->sessions);
    uint32_t n = 0;
    for (; n < r->sessions; n++) {
        w[n].all = &all;
        w[n].s.number = w[n].name = n + 1;
        w[n].s.sessions = r->sessions;
        w[n].s.z = r->z;
        guard_init(&w[n].s.guard);
        mem_init(&w[n].s.mem, NULL, NULL, &w[n].s.guard);
        if (pthread_create(&w[n].thread, NULL, work, &w[n])) break;
    }
    if (n < r->sessions) {
        snprintf(r->error, sizeof r->error, "cannot start that many threads");
        all.stop = true;
    }
    for (uint32_t i = n; all.turns && i < r->sessions; i++) turns_leave(all.turns, i);
    wait_for_all(&all, w, n);
    if (r->hung) return true; /* a thread uses all of this */
    if (r->fuzz && !*r->error) finish_fuzz(&all);
    for (uint32_t i = 0; i < n; i++) mem_free_all(&w[i].s.mem);
    r->took = all.start ? (double)(clock_now() - all.start) / 1e9 : 0;
    turns_close(all.turns);
    pthread_mutex_destroy(&all.lock);
    mem_put(m, w);
    strbuf_free(&setup);
    return n && !*r->error;
}
