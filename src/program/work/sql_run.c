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
#include "work/record.h"
#include "work/turns.h"

typedef struct shared {
    sql_run *r;
    pthread_mutex_t lock;
    int lost; /* why a line could not be written, or 0; under the lock */
    atomic_uint_fast64_t started;
    atomic_bool stop;
    atomic_uint ready;
    atomic_ullong start, deadline; /* 0 until all sessions are connected */
    turns *turns;
} shared;

typedef struct worker {
    shared *all;
    sql_session s;
    pthread_t thread;
    uint64_t statements;
    bool first;
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
    return c.at == UINT32_MAX ? 0 : strtoll(s->db.text.at + c.at, NULL, 10);
}

static void write_result(sql_session *s)
{
    strbuf *o = &s->line;
    if (*s->db.state) {
        strbuf_printf(o, ",\"error\":\"%s\"", s->db.state);
        return;
    }
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

/* Before and after a call: when it was sent, and when it returned. */
static uint64_t call_sent(sql_session *s)
{
    if (s->turns) turns_take(s->turns, s->number - 1, &s->db);
    return s->turns && s->count_calls ? turns_ticks(s->turns) : clock_now();
}

static uint64_t call_returned(sql_session *s, bool frees)
{
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
    uint64_t call = call_sent(s);
    enum db_answer a = s->db.db->driver->query(&s->db, text, params, n);
    uint64_t end = call_returned(s, a != DB_OK);
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

/* One transaction; false: the session cannot go on. */
static bool one(worker *w, uint64_t number)
{
    sql_session *s = &w->s;
    const driver *d = s->db.db->driver;
    s->line.n = 0;
    strbuf_printf(&s->line, "{\"id\":%llu,\"session\":%u,\"statements\":[",
                  (unsigned long long)number, (unsigned)s->number);
    uint64_t begin = call_sent(s);
    s->db.isolation = s->db.db->isolation;
    enum db_answer a = d->begin(&s->db);
    uint64_t begun = call_returned(s, a != DB_OK);
    if (a == DB_OK) a = w->all->r->w->txn(s);
    bool tried = a == DB_OK;
    uint64_t call = call_sent(s);
    if (tried && d->mark) d->mark(&s->db);
    if (tried) a = d->commit(&s->db);
    bool lost = a != DB_OK && d->abort(&s->db) == DB_LOST;
    uint64_t end = call_returned(s, true);
    const char *status = a == DB_OK ? "committed" : tried && a == DB_LOST ? "unknown" : "aborted";
    int64_t ts;
    strbuf_printf(&s->line, "],\"status\":\"%s\",\"times\":[%llu,%llu,%llu,%llu]", status,
                  (unsigned long long)begin, (unsigned long long)begun, (unsigned long long)call,
                  (unsigned long long)end);
    bool stamped = a == DB_OK && commit_stamp(s, call, &ts);
    if (stamped) strbuf_printf(&s->line, ",\"commit_ts\":%lld", (long long)ts);
    strbuf_str(&s->line, "}\n");
    sql_run *r = w->all->r;
    bool good = put_line(w->all, s->line.at, s->line.n);
    pthread_mutex_lock(&w->all->lock);
    r->committed += a == DB_OK;
    r->stamped += stamped;
    r->aborted += *status == 'a';
    r->unknown += *status == 'u';
    if (a == DB_BROKEN || !good) {
        if (good)
            snprintf(r->error, sizeof r->error, "%s", s->db.error);
        else
            tell_lost(r, w->all->lost);
        w->all->stop = true;
    }
    pthread_mutex_unlock(&w->all->lock);
    if (lost) {
        d->disconnect(&s->db);
        return d->connect(&s->db) == DB_OK;
    }
    return true;
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
    if (r->db->driver->connect(&s->db) != DB_OK) {
        give_up(w, s->db.error);
        return;
    }
    begin_together(w->all);
    call_sent(s); /* what is drawn before the first call has its order, too */
    call_returned(s, false);
    while (!w->all->stop && !(r->interrupt && *r->interrupt)) {
        uint64_t number = w->all->started++;
        if (r->txns && number >= r->txns) break;
        if (w->all->deadline && clock_now() > w->all->deadline) break;
        if (!one(w, number + 1)) break;
    }
    r->db->driver->disconnect(&s->db);
}

static void *work(void *arg)
{
    worker *w = arg;
    run_session(w);
    if (w->all->turns) turns_leave(w->all->turns, w->s.number - 1);
    return NULL;
}

/* The header: the same statements that filled the tables. */
static bool header(shared *all, const strbuf *setup, mem *m)
{
    strbuf b;
    strbuf_init(&b, m);
    strbuf_printf(&b, "{\"ratel_sql\":1,\"database\":\"%s\",\"isolation\":\"%s\"",
                  all->r->db->version, all->r->db->isolation);
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

static bool load(sql_run *r, strbuf *setup, mem *m)
{
    strbuf script;
    strbuf_init(&script, m);
    for (size_t i = 0; i < setup->n; i++)
        strbuf_str(&script, (char[]){setup->at[i] == '\n' ? ';' : setup->at[i], 0});
    bool good = r->db->driver->script(r->db, strbuf_cstr(&script));
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

bool sql_run_all(sql_run *r)
{
    /* The texts have parameters, and a log without times of commit says little. */
    if (!r->db->driver->query || !(r->db->driver->stamp || r->stepped)) {
        snprintf(r->error, sizeof r->error, "SQL workloads do not run on %s%s", r->db->driver->name,
                 r->db->driver->query ? " but with --schedule step, which knows when what committed"
                                      : " in this version");
        return false;
    }
    if (r->w->procedures && !r->db->driver->procedures) {
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
    r->w->setup(&setup, &r->z);
    shared all = {.r = r};
    pthread_mutex_init(&all.lock, NULL);
    if (!load(r, &setup, m)) return false;
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
        w[n].s.number = n + 1;
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
    for (uint32_t i = 0; i < n; i++) {
        pthread_join(w[i].thread, NULL);
        mem_free_all(&w[i].s.mem);
    }
    r->took = all.start ? (double)(clock_now() - all.start) / 1e9 : 0;
    turns_close(all.turns);
    pthread_mutex_destroy(&all.lock);
    mem_put(m, w);
    strbuf_free(&setup);
    return n && !*r->error;
}
