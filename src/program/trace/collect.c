/*
 * collect.c - files of libratel-trace, made into one history or one log of SQL.
 *
 * A first pass over the events finds where each transaction begins and when it ended; a second one
 * writes them in the order of their ends.  So the whole costs a few words of memory for each
 * transaction, however long the files are.
 *
 * What is not known is never made up.  A transaction without an end, or whose answer was lost, is
 * `unknown`; a call without an answer has no result; and if events were lost, the line that says
 * "this is the end" is missing, by which a reader knows that something may be.
 */
#include "trace/collect.h"

#include <inttypes.h>
#include <string.h>

#include "base/sort.h"
#include "base/strbuf.h"

typedef struct txn_start {
    uint32_t file, session, number; /* number: of the session's transactions */
    uint32_t chunk;
    uint64_t at;
} txn_start;

typedef struct collector {
    mem *m;
    envelope_file *files;
    size_t n_files;
    bool sql, timed;
    VEC(txn_start) starts;
    VEC(uint64_t) ends; /* by start */
    strbuf line, calls;
    collect_counts *counts;
} collector;

static bool is_text(const envelope_event *e, const char *word)
{
    return e->n == strlen(word) && !memcmp(e->at, word, e->n);
}

/* Text of the program's: a line stays one line. */
static void add_json(strbuf *b, const char *at, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool ends_line = at[i] == '\n' || at[i] == '\r' || !at[i];
        strbuf_char(b, ends_line ? ' ' : at[i]);
    }
}

/* What stands between the brackets; false: there are none. */
static bool inside(const char **at, size_t *n, char open, char close)
{
    while (*n && strchr(" \t\r\n", (*at)[0])) ++*at, --*n;
    while (*n && strchr(" \t\r\n", (*at)[*n - 1])) --*n;
    if (*n < 2 || (*at)[0] != open || (*at)[*n - 1] != close) return false;
    ++*at;
    *n -= 2;
    return true;
}

/* ---- where transactions begin and end -------------------------------------------------------- */

static void find_txns(collector *c, uint32_t file, uint32_t session)
{
    const envelope_file *f = &c->files[file];
    envelope_cursor at = {.f = f, .s = &f->sessions.at[session]}, before = at;
    envelope_event e;
    uint32_t number = 0;
    bool open = false, alone = false;
    for (; envelope_next(&at, &e); before = at) {
        bool call = e.kind == ENVELOPE_INPUT && (!open || alone);
        if (e.kind == ENVELOPE_BEGIN || call) {
            txn_start s = {file, session, ++number, before.chunk, before.at};
            vec_push(c->m, &c->starts, s);
            vec_push(c->m, &c->ends, e.time);
            open = true;
            alone = call;
        }
        if (!open) continue;
        c->ends.at[c->ends.n - 1] = e.time;
        if (e.kind == ENVELOPE_ENDED || (alone && e.kind == ENVELOPE_OUTPUT)) open = false;
        if (e.kind == ENVELOPE_CLOSED) open = false;
    }
}

/* ---- one transaction ------------------------------------------------------------------------- */

typedef struct one_call {
    bool any, answered;
    envelope_event in, out;
    strbuf hints;
} one_call;

typedef struct one_txn {
    bool alone; /* a call without BEGIN */
    uint64_t begin, begun, commit, ended;
    bool has_begun, has_commit, has_end, rolled_back, unsure;
    unsigned outcome;
    uint64_t first_answer; /* of its first call; 0: none */
    uint32_t n_calls;
    strbuf hints;
} one_txn;

static void add_times(const collector *c, const one_call *o, bool first)
{
    if (!c->timed || !o->answered) return;
    strbuf_printf((strbuf *)&c->calls, "%s\"t\":[%" PRIu64 ",%" PRIu64 "]", first ? "" : ",",
                  o->in.time, o->out.time);
}

static void wrong_input(collector *c, const one_call *o, const txn_start *s, const char *what)
{
    guard_fail(c->m->guard, GUARD_HISTORY, "%s: the event at byte %" PRIu64 " %s",
               c->files[s->file].path, o->in.place, what);
}

static void add_statement(collector *c, const one_call *o, const txn_start *s)
{
    strbuf *b = &c->calls;
    const char *at = o->in.at, *out = o->out.at;
    size_t n = o->in.n, n_out = o->answered ? o->out.n : 0;
    if (!inside(&at, &n, '{', '}')) wrong_input(c, o, s, "is not a JSON object with \"sql\"");
    strbuf_char(b, '{');
    add_json(b, at, n);
    if (n_out && inside(&out, &n_out, '{', '}') && n_out) {
        strbuf_char(b, ',');
        add_json(b, out, n_out);
    }
    add_times(c, o, false);
    strbuf_add(b, o->hints.at, o->hints.n);
    strbuf_char(b, '}');
}

/* The name of the operation: the first member of the list, without its quotes. */
static envelope_event name_of(const char *at, size_t n)
{
    envelope_event name = {0};
    while (n && strchr(" \t\r\n", *at)) at++, n--;
    if (!n || *at != '"') return name;
    const char *end = memchr(at + 1, '"', n - 1);
    name.at = at + 1;
    name.n = end ? (uint32_t)(end - at - 1) : 0;
    return name;
}

static void add_operation(collector *c, const one_call *o, const txn_start *s)
{
    strbuf *b = &c->calls;
    const char *at = o->in.at;
    size_t n = o->in.n;
    if (!inside(&at, &n, '[', ']')) wrong_input(c, o, s, "is not a JSON array with an operation");
    envelope_event name = name_of(at, n);
    bool failed = o->answered && o->out.outcome == 1;
    bool known = o->answered && !o->out.outcome && o->out.n;
    bool rows = is_text(&name, "scan") || is_text(&name, "iter");
    strbuf_char(b, '[');
    add_json(b, at, n);
    if (known && (rows || is_text(&name, "r"))) {
        strbuf_char(b, ',');
        add_json(b, o->out.at, o->out.n);
    } else if (rows) { /* there is no scan without a result: it saw nothing that we know of */
        strbuf_str(b, is_text(&name, "iter") ? ",[],false" : ",[]");
        failed = true;
    }
    if (failed || o->hints.n || (c->timed && o->answered)) {
        strbuf_str(b, ",{");
        if (failed) strbuf_str(b, "\"ok\":false");
        add_times(c, o, !failed);
        bool bare = !failed && !(c->timed && o->answered);
        strbuf_add(b, o->hints.at + bare, o->hints.n - bare);
        strbuf_char(b, '}');
    }
    strbuf_char(b, ']');
}

static void end_call(collector *c, one_txn *t, one_call *o, const txn_start *s)
{
    if (!o->any) return;
    if (t->n_calls++) strbuf_char(&c->calls, ',');
    if (c->sql)
        add_statement(c, o, s);
    else
        add_operation(c, o, s);
    if (t->n_calls == 1 && o->answered) t->first_answer = o->out.time;
    t->unsure |= o->answered && o->out.outcome == 2;
    o->any = o->answered = false;
    o->hints.n = 0;
}

static void add_hint(strbuf *b, const envelope_event *e)
{
    const char *end = memchr(e->at, 0, e->n);
    if (!end) return;
    size_t n = (size_t)(end - e->at);
    strbuf_char(b, ',');
    strbuf_json(b, e->at, n);
    strbuf_char(b, ':');
    add_json(b, end + 1, e->n - n - 1);
}

/* Takes an event in; false: it belongs to the next transaction. */
static bool take_event(collector *c, one_txn *t, one_call *o, const txn_start *s,
                       const envelope_event *e, bool first)
{
    bool over = t->has_end || (t->alone && (o->any || t->n_calls));
    switch (e->kind) {
    case ENVELOPE_BEGIN:
        if (!first) return false;
        t->begin = e->time;
        break;
    case ENVELOPE_BEGUN: t->begun = e->time, t->has_begun = true; break;
    case ENVELOPE_INPUT:
        if (over) return false;
        end_call(c, t, o, s);
        if (first) t->alone = true, t->begin = t->begun = t->commit = e->time;
        o->any = true;
        o->in = *e;
        break;
    case ENVELOPE_OUTPUT:
        if (!o->any || o->answered) break;
        o->answered = true;
        o->out = *e;
        if (!t->alone) break;
        t->has_end = t->has_commit = true;
        t->ended = e->time;
        t->outcome = e->outcome;
        break;
    case ENVELOPE_COMMIT:
    case ENVELOPE_ROLLBACK:
        t->commit = e->time;
        t->has_commit = true;
        t->rolled_back = e->kind == ENVELOPE_ROLLBACK;
        break;
    case ENVELOPE_ENDED:
        if (t->has_end) break;
        t->has_end = true;
        t->ended = e->time;
        t->outcome = e->outcome;
        break;
    case ENVELOPE_OP_HINT:
        if (o->any) add_hint(&o->hints, e);
        break;
    case ENVELOPE_TXN_HINT: add_hint(&t->hints, e); break;
    case ENVELOPE_SESSION:
    case ENVELOPE_CLOSED: break;
    }
    return true;
}

static const char *status_of(collector *c, const one_txn *t, const txn_start *s)
{
    if (t->rolled_back || (t->has_end && t->outcome == 1)) {
        c->counts->aborted++;
        return "aborted";
    }
    if (!t->has_end || t->outcome == 2) {
        c->counts->unknown++;
        return "unknown";
    }
    if (t->unsure && !t->alone)
        guard_fail(c->m->guard, GUARD_HISTORY,
                   "%s: transaction %u of session %u committed, but the outcome of one of its "
                   "calls is not known",
                   c->files[s->file].path, (unsigned)s->number,
                   (unsigned)c->files[s->file].sessions.at[s->session].number);
    c->counts->committed++;
    return "committed";
}

static void add_label(collector *c, const txn_start *s)
{
    const envelope_file *f = &c->files[s->file];
    const envelope_session *session = &f->sessions.at[s->session];
    strbuf label;
    strbuf_init(&label, c->m);
    strbuf_add(&label, session->name, session->n_name);
    strbuf_printf(&label, "%s%u.%u", session->n_name ? " " : "", (unsigned)f->pid,
                  (unsigned)session->number);
    strbuf_json(&c->line, label.at, label.n);
    strbuf_free(&label);
}

/* A snapshot was taken by the answer of the first call, whatever BEGIN did. */
static void add_txn_times(collector *c, const one_txn *t, bool unknown)
{
    strbuf *b = &c->line;
    if (!c->timed) return;
    if (unknown || !t->has_end) { /* it may take effect at any time */
        if (!c->sql) strbuf_printf(b, ",\"begin\":%" PRIu64, t->begin);
        return;
    }
    uint64_t commit = t->has_commit ? t->commit : t->begin;
    strbuf_printf(b, ",\"times\":[%" PRIu64 ",", t->begin);
    if (c->sql)
        strbuf_u64(b, t->has_begun && t->begun <= commit ? t->begun : t->begin);
    else if (t->first_answer && t->first_answer <= commit)
        strbuf_u64(b, t->first_answer);
    else
        strbuf_str(b, "null");
    strbuf_printf(b, ",%" PRIu64 ",%" PRIu64 "]", commit, t->ended);
}

static void write_txn(collector *c, const txn_start *s, void (*write)(void *, const char *, size_t),
                      void *ud)
{
    const envelope_file *f = &c->files[s->file];
    envelope_cursor at = {f, &f->sessions.at[s->session], s->chunk, s->at};
    envelope_event e;
    one_txn t = {0};
    one_call o = {0};
    strbuf_init(&t.hints, c->m);
    strbuf_init(&o.hints, c->m);
    c->calls.n = c->line.n = 0;
    for (bool first = true; envelope_next(&at, &e) && take_event(c, &t, &o, s, &e, first);)
        first = false;
    end_call(c, &t, &o, s);
    const char *status = status_of(c, &t, s);
    strbuf_str(&c->line, "{\"session\":");
    add_label(c, s);
    if (!t.hints.n || !strstr(strbuf_cstr(&t.hints), ",\"id\":"))
        strbuf_printf(&c->line, ",\"id\":\"%u.%u.%u\"", (unsigned)f->pid,
                      (unsigned)f->sessions.at[s->session].number, (unsigned)s->number);
    if (strcmp(status, "committed") != 0) strbuf_printf(&c->line, ",\"status\":\"%s\"", status);
    add_txn_times(c, &t, !strcmp(status, "unknown"));
    strbuf_add(&c->line, t.hints.at, t.hints.n);
    strbuf_str(&c->line, c->sql ? ",\"statements\":[" : ",\"ops\":[");
    strbuf_add(&c->line, c->calls.at, c->calls.n);
    strbuf_str(&c->line, "]}\n");
    write(ud, c->line.at, c->line.n);
    c->counts->operations += t.n_calls;
    strbuf_free(&t.hints);
    strbuf_free(&o.hints);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void write_header(collector *c, void (*write)(void *, const char *, size_t), void *ud)
{
    const envelope_file *f = &c->files[0];
    for (size_t i = 0; i < c->n_files; i++)
        if (!c->files[i].forked) f = &c->files[i];
    const char *at = f->header;
    size_t n = f->n_header;
    if (!inside(&at, &n, '{', '}') || !n)
        guard_fail(c->m->guard, GUARD_HISTORY, "%s: the header is not a JSON object", f->path);
    c->line.n = 0;
    strbuf_char(&c->line, '{');
    add_json(&c->line, at, n);
    c->sql = strstr(strbuf_cstr(&c->line), "\"ratel_sql\"") != NULL;
    strbuf_str(&c->line, c->sql ? ",\"trace\":{\"by\":\"libratel-trace\"}}\n"
                                : ",\"recorder\":\"libratel-trace\"}\n");
    write(ud, c->line.at, c->line.n);
}

static void write_end(collector *c, void (*write)(void *, const char *, size_t), void *ud)
{
    uint64_t from = UINT64_MAX;
    bool whole = true;
    for (size_t i = 0; i < c->n_files; i++) {
        const envelope_file *f = &c->files[i];
        c->counts->lost += f->lost;
        c->counts->damaged += f->damaged;
        if (f->lost && f->lost_from < from) from = f->lost_from;
        if (f->lost || f->damaged) whole = false;
    }
    c->line.n = 0;
    if (!whole)
        strbuf_printf(&c->line,
                      "{\"mark\":\"unlogged\",\"from\":%" PRIu64 ",\"why\":\"%" PRIu64
                      " events were lost, %" PRIu64 " parts of files are damaged\"}\n",
                      from == UINT64_MAX ? 0 : from, c->counts->lost, c->counts->damaged);
    else
        strbuf_printf(&c->line, "{\"mark\":\"end\",\"lines\":%zu}\n", c->starts.n + 1);
    write(ud, c->line.at, c->line.n);
}

void collect_files(mem *m, envelope_file *files, size_t n,
                   void (*write)(void *ud, const char *at, size_t n), void *ud, collect_counts *c)
{
    collector k = {.m = m, .files = files, .n_files = n, .timed = true, .counts = c};
    *c = (collect_counts){0};
    strbuf_init(&k.line, m);
    strbuf_init(&k.calls, m);
    for (size_t i = 1; i < n; i++)
        if (strcmp(files[i].host, files[0].host) != 0) k.timed = false;
    c->untimed = !k.timed;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t s = 0; s < files[i].sessions.n; s++) {
            find_txns(&k, i, s);
            c->sessions++;
        }
    write_header(&k, write, ud);
    if (k.starts.n > UINT32_MAX) guard_fail(m->guard, GUARD_NOMEM, "more than 2^32 transactions");
    uint32_t *by = sort_by_key(m, k.ends.at, (uint32_t)k.starts.n);
    for (size_t i = 0; i < k.starts.n; i++) {
        guard_tick(m->guard);
        write_txn(&k, &k.starts.at[by[i]], write, ud);
    }
    write_end(&k, write, ud);
    mem_put(m, by);
    vec_free(m, &k.starts);
    vec_free(m, &k.ends);
    strbuf_free(&k.line);
    strbuf_free(&k.calls);
}
