/*
 * ratel.c - the entry points of ratel.h.
 *
 * Each call opens a guard and runs its body inside `api_border`, the only frame that is jumped back
 * to; what the body needs lives in a struct of the caller's frame, so nothing is indeterminate
 * after a jump.  No policy here: arguments are checked, states are checked, errors are copied.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RATEL_EXPERIMENTAL
#include "ratel.h"

#include "history/cut_off.h"
#include "api/api_internal.h"
#include "base/clock.h"
#include "commit.h"
#include "config.h"
#include "report/report.h"
#include "verdict/other_solver.h"

static_assert((int)GUARD_INVAL == (int)RATEL_EINVAL && (int)GUARD_NOMEM == (int)RATEL_ENOMEM &&
                  (int)GUARD_IO == (int)RATEL_EIO && (int)GUARD_PARSE == (int)RATEL_EPARSE &&
                  (int)GUARD_HISTORY == (int)RATEL_EHISTORY &&
                  (int)GUARD_UNSUPPORTED == (int)RATEL_EUNSUPPORTED &&
                  (int)GUARD_TIME == (int)RATEL_ETIME &&
                  (int)GUARD_INTERRUPT == (int)RATEL_EINTERRUPT &&
                  (int)GUARD_BUG == (int)RATEL_EBUG,
              "guard.h and ratel.h number errors alike");

static const ratel_option option_table[] = {
#define OPTION(name, def, lo, hi, help) {#name, help, def, lo, hi},
#include "opt/context_options.def"
#undef OPTION
};

/* --- versions and errors ---------------------------------------------------------------------- */

unsigned ratel_version_number(void)
{
    return RATEL_VERSION_MAJOR * 10000 + RATEL_VERSION_MINOR * 100 + RATEL_VERSION_PATCH;
}

const char *ratel_version(void)
{
    return RATEL_VERSION;
}

const char *ratel_build(void)
{
    return "{\"version\":\"" RATEL_VERSION "\",\"commit\":\"" RATEL_COMMIT
           "\",\"compiler\":\"" RATEL_COMPILER "\",\"buildtype\":\"" RATEL_BUILDTYPE
           "\",\"features\":{\"zlib\":"
#ifdef HAVE_ZLIB
           "true"
#else
           "false"
#endif
           ",\"zstd\":"
#ifdef HAVE_ZSTD
           "true"
#else
           "false"
#endif
           "}}";
}

const char *ratel_strerror(int code)
{
    switch (code) {
    case RATEL_OK: return "no error";
    case RATEL_EINVAL: return "invalid argument or state";
    case RATEL_ENOMEM: return "out of memory";
    case RATEL_EIO: return "input/output error";
    case RATEL_EPARSE: return "malformed input";
    case RATEL_EHISTORY: return "inconsistent history";
    case RATEL_EUNSUPPORTED: return "not supported by this build";
    case RATEL_ETIME: return "time limit reached";
    case RATEL_EINTERRUPT: return "interrupted";
    case RATEL_EBUG: return "internal error";
    default: return "unknown error";
    }
}

/* --- the border ------------------------------------------------------------------------------- */

int api_border(call *c, void (*body)(call *))
{
    if (guard_armed(&c->guard)) return c->guard.code;
    body(c);
    return RATEL_OK;
}

static void api_clear(ratel *r)
{
    r->message[0] = 0;
    r->line = r->column = 0;
}

static int64_t option(const ratel *r, size_t i)
{
    return r->values[i];
}

/* Calls the user's callback.  It returns before this library can fail, so no longjmp crosses it. */
static int tell_progress(guard_watch *p)
{
    call *c = (call *)((char *)p - offsetof(call, progress));
    ratel_progress now = {.stage = p->stage ? p->stage : "",
                          .unit = p->unit ? p->unit : "",
                          .done = p->done,
                          .total = p->total,
                          .seconds = (double)(clock_now() - c->begun) / 1e9};
    return c->r->tell(&now, c->r->tell_payload);
}

void api_open(call *c, ratel *r)
{
    memset(c, 0, sizeof *c);
    c->r = r;
    guard_init(&c->guard);
    c->guard.interrupt = &r->interrupted;
    int64_t ms = option(r, API_OPTION_time);
    if (ms > 0) {
        uint64_t limit = (uint64_t)ms < UINT64_MAX / 2000000u ? (uint64_t)ms * 1000000u : 0;
        if (limit) c->guard.deadline = clock_now() + limit;
    }
    if (r->tell) {
        c->progress.tell = tell_progress;
        c->guard.progress = &c->progress;
        c->begun = clock_now();
    }
    api_clear(r);
}

size_t api_memory(const ratel *r)
{
    int64_t mib = option(r, API_OPTION_memory);
    return mib > 0 && (uint64_t)mib < SIZE_MAX >> 21 ? (size_t)mib << 20 : 0;
}

int api_fail(ratel *r, int code, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(r->message, sizeof r->message, format, ap);
    va_end(ap);
    return code;
}

/* The guard's message, with the member of a directory and a byte offset where there are any. */
int api_close(call *c, int code)
{
    ratel *r = c->r;
    const guard *g = &c->guard;
    if (c->progress.told && r->tell) r->tell(NULL, r->tell_payload);
    if (!code || !g->text[0]) return code; /* no guard was involved: api_fail has told it */
    size_t n = 0;
    if (g->member[0]) n = (size_t)snprintf(r->message, sizeof r->message, "%s: ", g->member);
    if (n < sizeof r->message && g->has_offset)
        n += (size_t)snprintf(r->message + n, sizeof r->message - n,
                              "byte %llu: ", (unsigned long long)g->offset);
    if (n < sizeof r->message) snprintf(r->message + n, sizeof r->message - n, "%s", g->text);
    r->line = g->line;
    r->column = g->column;
    return code;
}

/* --- context ---------------------------------------------------------------------------------- */

int ratel_open(ratel **out, const ratel_alloc *alloc)
{
    if (!out || (alloc && !alloc->fn)) return RATEL_EINVAL;
    *out = NULL;
    mem_fn fn = alloc ? alloc->fn : mem_libc;
    void *ud = alloc ? alloc->ud : NULL;
    ratel *r = fn(ud, NULL, 0, sizeof *r);
    if (!r) return RATEL_ENOMEM;
    memset(r, 0, sizeof *r);
    r->fn = fn;
    r->ud = ud;
    mem_init(&r->kept, fn, ud, NULL);
    r->passes_off = passes_off_at_first();
    for (size_t i = 0; i < API_OPTIONS; i++) r->values[i] = option_table[i].def;
    *out = r;
    return RATEL_OK;
}

void ratel_close(ratel *r)
{
    if (!r) return;
    mem_free_all(&r->kept);
    r->fn(r->ud, r, sizeof *r, 0);
}

const char *ratel_errmsg(const ratel *r)
{
    return r ? r->message : "no context";
}

int ratel_errpos(const ratel *r, uint64_t *line, uint64_t *column)
{
    if (!r || !r->line) return RATEL_EINVAL;
    if (line) *line = r->line;
    if (column) *column = r->column;
    return RATEL_OK;
}

int ratel_option_at(ratel_option *out, size_t i)
{
    if (!out || i >= API_OPTIONS) return RATEL_EINVAL;
    *out = option_table[i];
    return RATEL_OK;
}

int ratel_set(ratel *r, const char *name, int64_t value)
{
    if (!r || !name) return RATEL_EINVAL;
    for (size_t i = 0; i < API_OPTIONS; i++) {
        if (strcmp(option_table[i].name, name)) continue;
        if (value < option_table[i].lo || value > option_table[i].hi)
            return api_fail(r, RATEL_EINVAL, "option %s: %lld is out of range (%lld to %lld)", name,
                            (long long)value, (long long)option_table[i].lo,
                            (long long)option_table[i].hi);
        r->values[i] = value;
        return RATEL_OK;
    }
    return api_fail(r, RATEL_EINVAL, "no option \"%s\"", name);
}

int ratel_pass_at(ratel_pass *out, size_t i)
{
    const pass_info *p = pass_at(i);
    if (!out || !p) return RATEL_EINVAL;
    *out =
        (ratel_pass){p->name, p->help, p->strategies & ~PASS_ASKED, !(p->strategies & PASS_ASKED)};
    return RATEL_OK;
}

int ratel_set_pass(ratel *r, const char *name, int on)
{
    if (!r || !name) return RATEL_EINVAL;
    uint64_t bits = passes_named(name);
    if (!bits) return api_fail(r, RATEL_EINVAL, "no pass \"%.60s\"", name);
    r->passes_off = on ? r->passes_off & ~bits : r->passes_off | bits;
    return RATEL_OK;
}

int ratel_on_progress(ratel *r, ratel_progress_cb tell, void *payload)
{
    if (!r) return RATEL_EINVAL;
    r->tell = tell;
    r->tell_payload = payload;
    return RATEL_OK;
}

void ratel_interrupt(ratel *r)
{
    if (r) r->interrupted = 1;
}

/* --- reading and writing ---------------------------------------------------------------------- */

typedef struct read_call {
    call c;
    ratel_history *h;
    read_file file;
    const char *format, *path;
    ratel_read_cb read;
    void *payload;
    const ratel_beside *beside;
    read_file side;       /* one of the files beside */
    history *certificate; /* in a region of its own */
} read_call;

/* A shell that knows its format and its last builder error; the history has its own region. */
static void body_new(call *c)
{
    ratel_history *h = c->out;
    h->model = history_new(c->r->fn, c->r->ud, &c->guard, api_memory(c->r));
}

static ratel_history *shell(ratel *r)
{
    ratel_history *h = r->fn(r->ud, NULL, 0, sizeof *h);
    if (!h) return NULL;
    memset(h, 0, sizeof *h);
    h->fn = r->fn;
    h->ud = r->ud;
    h->format = "";
    h->current = NO_ID;
    return h;
}

int api_new_history(ratel_history **out, call *c)
{
    ratel_history *h = shell(c->r);
    *out = h;
    if (!h) return api_fail(c->r, RATEL_ENOMEM, "out of memory");
    c->out = h;
    return api_border(c, body_new);
}

static void read_side(read_call *rc)
{
    history *h = rc->h->model;
    guard *g = h->mem.guard;
    const char *versions = rc->beside->versions;
    if (rc->beside->init) read_init_path(&rc->side, h, rc->beside->init);
    if (!versions) return;
    rc->certificate = history_new(rc->c.r->fn, rc->c.r->ud, g, api_memory(rc->c.r));
    snprintf(g->member, sizeof g->member, "%s", versions);
    read_path(&rc->side, rc->certificate, versions, NULL);
    history_freeze(rc->certificate);
    g->member[0] = 0;
    read_versions(h, rc->certificate);
}

static void body_read(call *c)
{
    read_call *rc = (read_call *)c;
    const read_format *f =
        rc->read ? read_stream(&rc->file, rc->h->model, rc->read, rc->payload, rc->format)
                 : read_path(&rc->file, rc->h->model, rc->path, rc->format);
    rc->h->format = f->id;
    if (rc->beside) read_side(rc);
    history_freeze(rc->h->model);
    assert(!history_check(rc->h->model));
}

static int do_read(ratel_history **out, ratel *r, const char *format, const char *path,
                   ratel_read_cb read, void *payload, const ratel_beside *beside)
{
    read_call rc;
    *out = NULL;
    api_open(&rc.c, r);
    if (format && !read_format_named(format))
        return api_fail(r, RATEL_EINVAL, "no format \"%s\"", format);
    rc.format = format;
    rc.path = path;
    rc.read = read;
    rc.payload = payload;
    rc.beside = beside;
    rc.certificate = NULL;
    read_file_init(&rc.file);
    read_file_init(&rc.side);
    int code = api_new_history(&rc.h, &rc.c);
    if (!code) code = api_border(&rc.c, body_read);
    read_file_close(&rc.side);
    read_file_close(&rc.file);
    history_free(rc.certificate);
    api_close(&rc.c, code);
    if (code) {
        ratel_history_free(rc.h);
        return code;
    }
    history_set_guard(rc.h->model, NULL);
    *out = rc.h;
    return RATEL_OK;
}

int ratel_history_read(ratel_history **out, ratel *r, const char *format, ratel_read_cb read,
                       void *payload)
{
    if (!out || !r || !read) return RATEL_EINVAL;
    return do_read(out, r, format, NULL, read, payload, NULL);
}

int ratel_history_read_path(ratel_history **out, ratel *r, const char *format, const char *path)
{
    if (!out || !r || !path) return RATEL_EINVAL;
    return do_read(out, r, format, path, NULL, NULL, NULL);
}

int ratel_history_read_with(ratel_history **out, ratel *r, const char *format, const char *path,
                            const ratel_beside *beside)
{
    if (!out || !r || !path) return RATEL_EINVAL;
    return do_read(out, r, format, path, NULL, NULL, beside);
}

typedef struct write_call {
    call c;
    const history *h;
    write_file file;
    const read_format *format;
    const char *path;
    sink out;
} write_call;

static void body_write(call *c)
{
    write_call *wc = (write_call *)c;
    guard_stage(&c->guard, "write", "bytes", 0);
    if (wc->path) {
        write_path(&wc->file, wc->h, wc->format->id, wc->path);
        wc->out.lost_bits = wc->file.out.lost_bits;
        return;
    }
    if (!wc->format->write)
        guard_fail(&c->guard, GUARD_UNSUPPORTED, "format %s is a directory: write it to a path",
                   wc->format->id);
    if (wc->file.whole) write_refuse_loss(&wc->file, wc->h, wc->format);
    wc->format->write(wc->h, &wc->out);
    sink_flush(&wc->out);
}

static void keep_lost(ratel *r, uint64_t bits)
{
    r->lost[0] = 0;
    size_t n = 0;
    for (unsigned b = 0; b < LOST_COUNT; b++)
        if (bits >> b & 1 && n < sizeof r->lost)
            n += (size_t)snprintf(r->lost + n, sizeof r->lost - n, "%s\n",
                                  lost_text((enum lost_bit)b));
}

static int do_write(const ratel_history *h, ratel *r, const char *format, const char *path,
                    ratel_write_cb write, void *payload)
{
    write_call wc;
    api_open(&wc.c, r);
    r->lost[0] = 0;
    if (!h->model || !h->model->frozen)
        return api_fail(r, RATEL_EINVAL, "the history is still being built");
    wc.format = read_format_named(format);
    if (!wc.format || (!wc.format->write && !wc.format->write_member))
        return api_fail(r, RATEL_EINVAL, "no format \"%s\" to write", format);
    wc.h = h->model;
    wc.path = path;
    mem work;
    mem_init(&work, r->fn, r->ud, &wc.c.guard);
    work.limit = api_memory(r);
    write_file_init(&wc.file, r->fn, r->ud, &wc.c.guard);
    wc.file.whole = option(r, API_OPTION_whole) != 0;
    wc.file.mem.limit = work.limit; /* reading back takes as much as reading */
    wc.out.lost_bits = 0;           /* told also when a write to a path fails early */
    if (!path) sink_init(&wc.out, &work, &wc.c.guard, write, payload);
    int code = api_border(&wc.c, body_write);
    keep_lost(r, wc.out.lost_bits);
    write_file_close(&wc.file);
    mem_free_all(&work);
    return api_close(&wc.c, code);
}

int ratel_history_write(const ratel_history *h, ratel *r, const char *format, ratel_write_cb write,
                        void *payload)
{
    if (!h || !r || !format || !write) return RATEL_EINVAL;
    return do_write(h, r, format, NULL, write, payload);
}

int ratel_history_write_path(const ratel_history *h, ratel *r, const char *format, const char *path)
{
    if (!h || !r || !format || !path) return RATEL_EINVAL;
    return do_write(h, r, format, path, NULL, NULL);
}

const char *ratel_lost(const ratel *r)
{
    return r ? r->lost : "";
}

int ratel_format_at(const char **id, const char **about, size_t i)
{
    const read_format *f = read_format_at(i);
    if (!f) return RATEL_EINVAL;
    if (id) *id = f->id;
    if (about) *about = f->about;
    return RATEL_OK;
}

void ratel_history_free(ratel_history *h)
{
    if (!h) return;
    history_free(h->model);
    h->fn(h->ud, h, sizeof *h, 0);
}

const char *ratel_history_format(const ratel_history *h)
{
    return h ? h->format : "";
}

int ratel_history_complete(const ratel_history *h, uint64_t *lines)
{
    uint64_t missing = h && h->model ? history_count_lines(h->model).missing : 0;
    if (lines) *lines = missing;
    return !missing && (!h || !h->model || !history_cut_off(h->model));
}

/* --- looking ---------------------------------------------------------------------------------- */

typedef struct stat_call {
    call c;
    const history *h;
    mem work;
    facts f;
    strbuf hot;
} stat_call;

static void body_stat(call *c)
{
    stat_call *sc = (stat_call *)c;
    facts_gather(&sc->f, sc->h, &sc->work);
    strbuf_init(&sc->hot, &sc->work);
    if (sc->f.hot_key != NO_ID) atom_text(sc->h, key_atom(sc->h, sc->f.hot_key), &sc->hot);
    strbuf_cstr(&sc->hot);
}

int ratel_history_stat(ratel_stat *out, ratel *r, const ratel_history *h)
{
    if (!out || !r || !h) return RATEL_EINVAL;
    stat_call sc = {0};
    api_open(&sc.c, r);
    if (!h->model->frozen) return api_fail(r, RATEL_EINVAL, "the history is still being built");
    sc.h = h->model;
    mem_init(&sc.work, r->fn, r->ud, &sc.c.guard);
    sc.work.limit = api_memory(r);
    int code = api_border(&sc.c, body_stat);
    if (!code) {
        memset(out, 0, sizeof *out);
#define COPY(name) out->name = sc.f.name
        COPY(txns), COPY(ops), COPY(aborted), COPY(unknown), COPY(sessions), COPY(keys);
        COPY(reads), COPY(writes), COPY(deletes), COPY(appends), COPY(scans), COPY(iterators);
        COPY(rows), COPY(failed), COPY(empty_txns), COPY(read_only), COPY(write_only);
        COPY(duplicate_writes), COPY(hot_key_ops), COPY(max_txn_ops), COPY(with_times);
        COPY(with_hints), COPY(max_concurrency);
#undef COPY
        out->unique_values = !sc.f.duplicate_writes;
        out->initial_writes = sc.f.init_writes;
        snprintf(out->hot_key, sizeof out->hot_key, "%s", sc.hot.at);
    }
    mem_free_all(&sc.work);
    return api_close(&sc.c, code);
}

/* --- checking --------------------------------------------------------------------------------- */

typedef struct check_call {
    call c;
    const history *h;
    ratel_result *a;
    question q;
    const other_solver *by; /* NULL: our own */
} check_call;

static void body_check(call *c)
{
    check_call *cc = (check_call *)c;
    if (cc->by)
        judge_by(&cc->a->v, cc->h, &cc->q, cc->by, &cc->a->work);
    else
        judge(&cc->a->v, cc->h, &cc->q, &cc->a->work);
}

question api_question(const ratel *r, const char *level)
{
    return (question){.level = level,
                      .session_order = option(r, API_OPTION_session_order) != 0,
                      .policy = (enum policy)option(r, API_OPTION_ryow),
                      .drift = option(r, API_OPTION_drift),
                      .quick = option(r, API_OPTION_quick) != 0,
                      .trust = option(r, API_OPTION_trust_timestamps) != 0,
                      .aborted_read = option(r, API_OPTION_aborted) != 0,
                      .tune = {.strategy = (enum strategy)option(r, API_OPTION_strategy),
                               .induced = option(r, API_OPTION_si_encoding) != 0,
                               .off = r->passes_off,
                               .portfolio = (uint32_t)option(r, API_OPTION_portfolio),
                               .threads = (uint32_t)option(r, API_OPTION_threads),
                               .seed = (uint64_t)option(r, API_OPTION_seed)}};
}

int api_no_level(ratel *r, const char *name)
{
    const char *instead = level_refused(name);
    return instead ? api_fail(r, RATEL_EINVAL, "level \"%.60s\" is refused: %s", name, instead)
                   : api_fail(r, RATEL_EINVAL, "no level \"%.60s\"", name);
}

int api_check(ratel_result **out, ratel *r, const ratel_history *h, const char *level,
              const struct other_solver *by)
{
    check_call cc;
    *out = NULL;
    api_open(&cc.c, r);
    level_ref l;
    if (!level_named(&l, level)) return api_no_level(r, level);
    if (!h->model->frozen) return api_fail(r, RATEL_EINVAL, "the history is still being built");
    ratel_result *a = r->fn(r->ud, NULL, 0, sizeof *a);
    if (!a) return api_fail(r, RATEL_ENOMEM, "out of memory");
    memset(a, 0, sizeof *a);
    a->fn = r->fn;
    a->ud = r->ud;
    a->format = h->format;
    mem_init(&a->mem, r->fn, r->ud, &cc.c.guard);
    mem_init(&a->work, r->fn, r->ud, &cc.c.guard);
    size_t limit = api_memory(r);
    if (limit) {
        size_t used = h->model->mem.used;
        a->work.limit = limit > used ? limit - used : 1;
    }
    a->v.mem = &a->mem;
    a->v.level = l;
    snprintf(a->v.given, sizeof a->v.given, "%s", level);
    cc.h = h->model;
    cc.a = a;
    cc.by = by;
    cc.q = api_question(r, level);
    int code = api_border(&cc.c, body_check);
    mem_free_all(&a->work);
    /* A limit is an answer: undecided, with the reason. */
    bool limited = code == RATEL_ETIME || code == RATEL_EINTERRUPT ||
                   (code == RATEL_ENOMEM && limit) ||
                   (code == RATEL_EUNSUPPORTED && by) ||              /* what no encoding states */
                   (code == RATEL_EUNSUPPORTED && cc.q.aborted_read); /* a replaced list */
    if (limited && a->v.outcome == OUTCOME_VIOLATED) {
        code = RATEL_OK; /* a violation was found; only what it rests on was not */
    } else if (limited) {
        if (code == RATEL_ENOMEM) /* the guard knows only what the history had left of it */
            snprintf(a->limit, sizeof a->limit, "memory limit reached (%zu MiB)", limit >> 20);
        else
            snprintf(a->limit, sizeof a->limit, "%s", cc.c.guard.text);
        a->v.reason = a->limit;
        facts f;
        facts_count(&f, cc.h);
        a->v.txns = f.txns;
        a->v.ops = f.ops;
        a->v.sessions = f.sessions;
        a->v.keys = f.keys;
        code = RATEL_OK;
    }
    api_close(&cc.c, code);
    if (code) {
        ratel_result_free(a);
        return code;
    }
    a->mem.guard = a->work.guard = NULL;
    *out = a;
    return RATEL_OK;
}

int ratel_check(ratel_result **out, ratel *r, const ratel_history *h, const char *level)
{
    if (!out || !r || !h || !level) return RATEL_EINVAL;
    return api_check(out, r, h, level, NULL);
}

typedef struct dump_call {
    call c;
    const history *h;
    level_ref level;
    mem mem, work; /* of what is printed, and of the stages */
    question q;
    enum dump_stage stage;
    printer d;
} dump_call;

static void body_dump(call *c)
{
    dump_call *dc = (dump_call *)c;
    strbuf_init(&dc->d.text, &dc->mem);
    dc->h = judge_history(dc->h, &dc->q, &dc->mem);
    judge_dump(&dc->level, dc->h, &dc->q, dc->stage, &dc->d, &dc->work);
    printer_flush(&dc->d);
}

int ratel_dump(const ratel_history *h, ratel *r, const char *level, const char *stage,
               ratel_write_cb write, void *payload)
{
    static const char *const stages[] = {
#define STAGE(id, name, help) name,
#include "opt/stages.def"
#include "opt/mixed_row.h"
#undef STAGE
    };
    if (!h || !r || !level || !stage || !write) return RATEL_EINVAL;
    dump_call dc = {.h = h->model, .d = {.write = write, .payload = payload}};
    api_open(&dc.c, r);
    if (!level_named(&dc.level, level)) return api_no_level(r, level);
    size_t i = 0;
    while (i < DUMP_STAGES && strcmp(stages[i], stage)) i++;
    if (i == DUMP_STAGES) return api_fail(r, RATEL_EINVAL, "no stage \"%.60s\"", stage);
    if (!h->model->frozen) return api_fail(r, RATEL_EINVAL, "the history is still being built");
    if (api_bare(r, h, "showing a stage")) return RATEL_EUNSUPPORTED;
    dc.stage = (enum dump_stage)i;
    dc.q = api_question(r, level);
    mem_init(&dc.mem, r->fn, r->ud, &dc.c.guard);
    mem_init(&dc.work, r->fn, r->ud, &dc.c.guard);
    dc.work.limit = api_memory(r);
    int code = api_border(&dc.c, body_dump);
    mem_free_all(&dc.mem);
    mem_free_all(&dc.work);
    return api_close(&dc.c, code);
}

typedef struct implied_call {
    call c;
    ratel_result *a;
    const ratel_result *stronger;
} implied_call;

static void body_implied(call *c)
{
    implied_call *ic = (implied_call *)c;
    judge_implied(&ic->a->v, &ic->stronger->v);
}

int ratel_result_implied(ratel_result **out, ratel *r, const ratel_result *stronger,
                         const char *level)
{
    if (!out || !r || !stronger || !level) return RATEL_EINVAL;
    implied_call ic = {.stronger = stronger};
    *out = NULL;
    api_open(&ic.c, r);
    level_ref l;
    if (!level_named(&l, level)) return api_no_level(r, level);
    bool so = level_session_order(&l, option(r, API_OPTION_session_order) != 0);
    const verdict *s = &stronger->v;
    if (s->assumed)
        return api_fail(r, RATEL_EINVAL, "with modules, each level must be asked by itself");
    if (s->outcome != OUTCOME_HOLDS ||
        !level_implies(s->level.id, s->session_order, s->level.realtime, l.id, so, l.realtime))
        return api_fail(r, RATEL_EINVAL, "%s does not say that %s holds", s->level.name, l.name);
    /* A mixture may hold a level that has no rule there, and linearizable says nothing of larger
       transactions, so the history itself is asked. */
    if (level_is_mixed(l.id) || l.id == LEVEL_LIN)
        return api_fail(r, RATEL_EINVAL, "%s is decided by itself", l.name);
    ratel_result *a = r->fn(r->ud, NULL, 0, sizeof *a);
    if (!a) return api_fail(r, RATEL_ENOMEM, "out of memory");
    memset(a, 0, sizeof *a);
    a->fn = r->fn;
    a->ud = r->ud;
    a->format = stronger->format;
    mem_init(&a->mem, r->fn, r->ud, &ic.c.guard);
    mem_init(&a->work, r->fn, r->ud, &ic.c.guard);
    a->v.mem = &a->mem;
    a->v.level = l;
    a->v.session_order = so;
    snprintf(a->v.given, sizeof a->v.given, "%s", level);
    ic.a = a;
    int code = api_border(&ic.c, body_implied);
    api_close(&ic.c, code);
    if (code) {
        ratel_result_free(a);
        return code;
    }
    a->mem.guard = a->work.guard = NULL;
    *out = a;
    return RATEL_OK;
}

ratel_verdict ratel_result_verdict(const ratel_result *a)
{
    if (!a) return RATEL_UNDECIDED;
    return a->v.outcome == OUTCOME_HOLDS      ? RATEL_HOLDS
           : a->v.outcome == OUTCOME_VIOLATED ? RATEL_VIOLATED
                                              : RATEL_UNDECIDED;
}

const char *ratel_result_level(const ratel_result *a)
{
    return a ? a->v.level.name : "";
}

const char *ratel_result_anomaly(const ratel_result *a)
{
    return a && a->v.anomaly != ANOMALIES ? anomaly_at(a->v.anomaly)->name : "";
}

int ratel_result_trusted(const ratel_result *a)
{
    return a && a->v.trusted;
}

const char *ratel_result_reason(const ratel_result *a)
{
    return a && a->v.reason ? a->v.reason : "";
}

const char *ratel_result_decided_by(const ratel_result *a)
{
    const char *name = a ? decider_name(a->v.decided_by) : NULL;
    return name ? name : "";
}

int ratel_result_session_order(const ratel_result *a)
{
    return a ? a->v.session_order : 0;
}

int ratel_result_warning(const ratel_result *a, size_t i, const char **id, const char **text)
{
    if (!a) return RATEL_EINVAL;
    for (uint32_t w = 0; w < LINTS; w++) {
        if (!(a->v.warnings >> w & 1) || i--) continue;
        if (id) *id = lint_at(w)->name;
        if (text) *text = verdict_warning_text(&a->v, w);
        return RATEL_OK;
    }
    return RATEL_EINVAL;
}

int ratel_result_stage(const ratel_result *a, size_t i, const char **name, double *seconds)
{
    const cost *c = a ? a->v.cost : NULL;
    if (!c || i >= c->stages.n) return RATEL_EINVAL;
    if (name) *name = c->stages.at[i].name;
    if (seconds) *seconds = (double)c->stages.at[i].ns / 1e9;
    return RATEL_OK;
}

int ratel_result_cost(const ratel_result *a, ratel_cost *out)
{
    if (!a || !out) return RATEL_EINVAL;
    static const cost nothing = {0};
    const cost *c = a->v.cost ? a->v.cost : &nothing;
    *out = (ratel_cost){.analyse = (double)c->ns_analyse / 1e9,
                        .solve = (double)c->ns_solve / 1e9,
                        .vars = c->vars,
                        .clauses = c->clauses,
                        .conflicts = c->conflicts,
                        .instantiated = c->instantiated};
    return RATEL_OK;
}

typedef struct report_call {
    call c;
    const ratel_result *a;
    report_context context;
    bool json;
    mem work;
    strbuf text;
} report_call;

static void body_report(call *c)
{
    report_call *rc = (report_call *)c;
    strbuf_init(&rc->text, &rc->work);
    if (rc->json)
        report_json(&rc->a->v, &rc->context, &rc->text);
    else
        report_text(&rc->a->v, &rc->context, &rc->text);
}

int ratel_result_write(const ratel_result *a, ratel *r, const char *format,
                       const ratel_report *report, ratel_write_cb write, void *payload)
{
    if (!a || !r || !format || !write) return RATEL_EINVAL;
    report_call rc = {0};
    api_open(&rc.c, r);
    rc.c.guard.deadline = 0; /* an answer that was found in time is also told */
    rc.c.guard.interrupt = NULL;
    rc.json = !strcmp(format, "json");
    if (!rc.json && strcmp(format, "text"))
        return api_fail(r, RATEL_EINVAL, "no report format \"%s\"", format);
    rc.a = a;
    rc.context = (report_context){.format = a->format, .total = -1};
    if (report) {
        rc.context.history = report->history;
        rc.context.read = report->read_seconds;
        rc.context.total = report->deterministic ? -1 : report->total_seconds;
        rc.context.peak_rss_kib = report->peak_rss_kib;
        rc.context.colour = report->colour;
        rc.context.verbose = report->verbose;
        rc.context.accepted = report->accepted;
        rc.context.workload = report->workload;
        rc.context.counters = report->counters != 0;
    }
    mem_init(&rc.work, r->fn, r->ud, &rc.c.guard);
    int code = api_border(&rc.c, body_report);
    if (!code && rc.text.n && write(rc.text.at, rc.text.n, payload))
        code = api_fail(r, RATEL_EIO, "write error");
    else
        api_close(&rc.c, code);
    mem_free_all(&rc.work);
    return code;
}

typedef struct recheck_call {
    call c;
    const ratel_result *a;
    const history *h;
    mem work;
} recheck_call;

static void body_recheck(call *c)
{
    recheck_call *rc = (recheck_call *)c;
    const char *why = NULL;
    const verdict *v = &rc->a->v;
    if (v->outcome == OUTCOME_VIOLATED && v->decided_by >= BY_Z3 && v->decided_by <= BY_ANOTHER)
        guard_fail(&c->guard, GUARD_UNSUPPORTED,
                   "that the level is violated is what %s says: it gives no proof that could be "
                   "checked again",
                   decider_name(v->decided_by));
    if (!recheck(v, rc->h, &rc->work, &why))
        guard_fail(&c->guard, GUARD_BUG, "internal error: the answer is wrong: %s", why);
}

int ratel_result_recheck(const ratel_result *a, ratel *r, const ratel_history *h)
{
    if (!a || !r || !h || !h->model->frozen) return RATEL_EINVAL;
    recheck_call rc;
    api_open(&rc.c, r);
    rc.a = a;
    rc.h = h->model;
    mem_init(&rc.work, r->fn, r->ud, &rc.c.guard);
    int code = api_border(&rc.c, body_recheck);
    mem_free_all(&rc.work);
    return api_close(&rc.c, code);
}

void ratel_result_free(ratel_result *a)
{
    if (!a) return;
    mem_free_all(&a->mem);
    mem_free_all(&a->work);
    a->fn(a->ud, a, sizeof *a, 0);
}

/* --- levels ----------------------------------------------------------------------------------- */

int ratel_level_at(ratel_level *out, size_t i)
{
    const level_info *l = level_at(i);
    if (!out || !l) return RATEL_EINVAL;
    *out = (ratel_level){.name = l->name,
                         .aliases = l->aliases,
                         .about = l->about,
                         .how = l->how,
                         .session_order = l->session_order == LEVEL_OPTION   ? "option"
                                          : l->session_order == LEVEL_ALWAYS ? "always"
                                                                             : "never",
                         .decided = l->decided};
    return RATEL_OK;
}

int ratel_level_named(const char *name, const char **base)
{
    level_ref l;
    if (!name) return RATEL_EINVAL;
    bool known = level_named(&l, name);
    if (base) *base = known ? level_at(l.id)->name : level_near(name);
    return known ? RATEL_OK : RATEL_EINVAL;
}

int ratel_level_implies(const char *a, const char *b, int session_order)
{
    level_ref x, y;
    if (!a || !b || !level_named(&x, a) || !level_named(&y, b)) return RATEL_EINVAL;
    return level_implies(x.id, level_session_order(&x, session_order), x.realtime, y.id,
                         level_session_order(&y, session_order), y.realtime);
}
