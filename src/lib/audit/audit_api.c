/*
 * audit_api.c - the entry points of ratel-audit.h.
 *
 * The room's border (audit.h) is below, so nothing jumps through here, except where a buffer is
 * filled for the caller: that is a guard of its own, and no frame of the caller's is jumped over.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "ratel-audit.h"

#include "audit/audit_report.h"
#include "base/mem.h"

struct ratel_audit {
    mem_fn fn;
    void *ud;
    volatile int interrupted;
    audit *log; /* that was read last, or NULL */
    audit_answer answer;
    bool answered;
    const audit_finding *finding;
    size_t n_findings;
    char message[1200];
    uint64_t line, column;
};

static_assert((int)GUARD_NOMEM == (int)RATEL_ENOMEM && (int)GUARD_IO == (int)RATEL_EIO,
              "guard.h and ratel.h number errors alike");

int ratel_audit_open(ratel_audit **out, const ratel_alloc *alloc)
{
    if (!out || (alloc && !alloc->fn)) return RATEL_EINVAL;
    *out = NULL;
    mem_fn fn = alloc ? alloc->fn : mem_libc;
    void *ud = alloc ? alloc->ud : NULL;
    ratel_audit *a = fn(ud, NULL, 0, sizeof *a);
    if (!a) return RATEL_ENOMEM;
    memset(a, 0, sizeof *a);
    a->fn = fn;
    a->ud = ud;
    *out = a;
    return RATEL_OK;
}

static void forget(ratel_audit *a)
{
    audit_free(a->log);
    a->log = NULL;
    a->answered = false;
    a->finding = NULL;
    a->n_findings = 0;
}

void ratel_audit_close(ratel_audit *a)
{
    if (!a) return;
    forget(a);
    a->fn(a->ud, a, sizeof *a, 0);
}

const char *ratel_audit_errmsg(const ratel_audit *a)
{
    return a ? a->message : "no audit";
}

int ratel_audit_errpos(const ratel_audit *a, uint64_t *line, uint64_t *column)
{
    if (!a || !a->line) return RATEL_EINVAL;
    if (line) *line = a->line;
    if (column) *column = a->column;
    return RATEL_OK;
}

void ratel_audit_interrupt(ratel_audit *a)
{
    if (a) a->interrupted = 1;
}

int ratel_audit_available(void)
{
    return audit_available();
}

int ratel_audit_level_at(const char **name, const char **aliases, const char **about, size_t i)
{
    const char *n, *s, *t;
    if (!audit_level_at(i, &n, &s, &t)) return RATEL_EINVAL;
    if (name) *name = n;
    if (aliases) *aliases = s;
    if (about) *about = t;
    return RATEL_OK;
}

static int refuse_call(ratel_audit *a, int code, const char *text)
{
    snprintf(a->message, sizeof a->message, "%s", text);
    a->line = a->column = 0;
    return code;
}

/* The message of the room below becomes ours. */
static int failed(ratel_audit *a, int code)
{
    const char *text = audit_error(a->log, &a->line, &a->column);
    snprintf(a->message, sizeof a->message, "%s", text);
    return code;
}

static audit_options options_below(ratel_audit *a, const ratel_audit_options *o)
{
    audit_options below = {.fn = a->fn, .ud = a->ud, .interrupt = &a->interrupted};
    a->message[0] = 0;
    a->line = a->column = 0;
    if (!o) return below;
    below.level = o->level;
    below.lenient = o->lenient != 0;
    below.by_value = o->conflicts_by_value != 0;
    below.no_session_order = o->no_session_order != 0;
    below.drift = o->drift;
    below.seconds = o->seconds;
    below.memory = o->memory_mib < SIZE_MAX >> 21 ? (size_t)o->memory_mib << 20 : 0;
    below.dump = o->dump;
    below.dump_payload = o->dump_payload;
    return below;
}

static int options_ok(ratel_audit *a, const ratel_audit_options *o)
{
    if (!o) return RATEL_OK;
    if (o->level && !audit_level_named(o->level))
        return refuse_call(a, RATEL_EINVAL, "no such level of logs");
    if (o->drift > INT64_MAX / 2 || !(o->seconds >= 0))
        return refuse_call(a, RATEL_EINVAL, "a limit or the drift is out of range");
    return RATEL_OK;
}

static void fill_answer(ratel_audit_answer *out, const audit_answer *r)
{
    assert(r->verdict <= AUDIT_UNDECIDED);
    static const ratel_verdict verdicts[] = {[AUDIT_HOLDS] = RATEL_HOLDS,
                                             [AUDIT_VIOLATED] = RATEL_VIOLATED,
                                             [AUDIT_UNDECIDED] = RATEL_UNDECIDED};
    *out = (ratel_audit_answer){.verdict = verdicts[r->verdict],
                                .level = r->level,
                                .reason = r->reason,
                                .txn = r->txn,
                                .statement = r->statement,
                                .line = r->line,
                                .column = r->column,
                                .sql = r->sql,
                                .observed = r->observed,
                                .semantic = r->semantic,
                                .all_orders = r->all_orders,
                                .other_order = r->other_order,
                                .txns = r->txns,
                                .statements = r->statements,
                                .sessions = r->sessions,
                                .unchecked = r->unchecked};
}

/* An answer that lack of memory cut off is an error, as it is in ratel.h. */
static int finish(ratel_audit *a, int code, ratel_audit_answer *out)
{
    a->answered = false;
    if (code) return failed(a, code);
    if (a->answer.limit == RATEL_ENOMEM) return failed(a, RATEL_ENOMEM);
    a->answered = true;
    fill_answer(out, &a->answer);
    return RATEL_OK;
}

int ratel_audit_run(ratel_audit *a, const ratel_audit_options *options, ratel_read_cb read,
                    void *payload, ratel_audit_answer *out)
{
    if (!a || !read || !out) return RATEL_EINVAL;
    memset(out, 0, sizeof *out);
    audit_options o = options_below(a, options);
    int code = options_ok(a, options);
    if (code) return code;
    forget(a);
    code = audit_run(&a->log, &o, read, payload, &a->answer);
    return finish(a, code, out);
}

int ratel_audit_again(ratel_audit *a, const ratel_audit_options *options, ratel_audit_answer *out)
{
    if (!a || !out) return RATEL_EINVAL;
    memset(out, 0, sizeof *out);
    audit_options o = options_below(a, options);
    int code = options_ok(a, options);
    if (code) return code;
    if (!a->log || a->finding) return refuse_call(a, RATEL_EINVAL, "no log was read");
    code = audit_again(a->log, &o, &a->answer);
    if (code == RATEL_EINVAL) return refuse_call(a, code, "the log was not read to its end");
    return finish(a, code, out);
}

int ratel_audit_order_at(const ratel_audit *a, size_t i, const char **txn)
{
    if (!a || !txn || !a->answered || i >= a->answer.n_order) return RATEL_EINVAL;
    *txn = a->answer.order[i];
    return RATEL_OK;
}

int ratel_audit_possible_at(const ratel_audit *a, size_t i, const char **after, const char **result)
{
    if (!a || !a->answered || i >= a->answer.n_possible) return RATEL_EINVAL;
    if (after) *after = a->answer.possible[i].after;
    if (result) *result = a->answer.possible[i].result;
    return RATEL_OK;
}

int ratel_audit_warning_at(const ratel_audit *a, size_t i, const char **text)
{
    if (!a || !text || !a->answered || i >= a->answer.n_warnings) return RATEL_EINVAL;
    *text = a->answer.warnings[i];
    return RATEL_OK;
}

/* --- writing --- */

typedef struct render {
    guard guard;
    mem m;
    strbuf text;
    audit_report_context context;
} render;

static void add_bytes(void *to, const char *bytes, size_t n)
{
    strbuf_add(&((render *)to)->text, bytes, n);
}

static void render_body(render *x, const audit_answer *r, const char *format)
{
    if (!strcmp(format, "text")) {
        audit_report_into(r, &x->context, &x->text);
        return;
    }
    json_writer w = {.put = add_bytes, .to = x};
    if (!strcmp(format, "json"))
        audit_report_json(r, &x->context, &w);
    else
        audit_report_witness(r, &x->context, &w);
}

/* The only frame that is jumped back to: the caller's function is called after it. */
static int render_answer(render *x, const audit_answer *r, const char *format)
{
    assert(r->level && format);
    if (guard_armed(&x->guard)) return x->guard.code;
    render_body(x, r, format);
    return RATEL_OK;
}

int ratel_audit_write(ratel_audit *a, const char *format, const char *log, ratel_write_cb write,
                      void *payload)
{
    if (!a || !format || !write) return RATEL_EINVAL;
    a->message[0] = 0;
    if (!a->answered) return refuse_call(a, RATEL_EINVAL, "there is no answer");
    bool witness = !strcmp(format, "witness");
    if (!witness && strcmp(format, "text") != 0 && strcmp(format, "json") != 0)
        return refuse_call(a, RATEL_EINVAL, "a format is text, json or witness");
    if (witness && a->answer.verdict != AUDIT_HOLDS)
        return refuse_call(a, RATEL_EINVAL, "only an answer that holds has a witness");
    render x = {.context = {.log = log ? log : "log", .seconds = -1}};
    guard_init(&x.guard);
    mem_init(&x.m, a->fn, a->ud, &x.guard);
    strbuf_init(&x.text, &x.m);
    int code = render_answer(&x, &a->answer, format);
    if (code)
        refuse_call(a, code, x.guard.text);
    else if (write(x.text.at, x.text.n, payload))
        code = refuse_call(a, RATEL_EIO, "write error");
    mem_free_all(&x.m);
    return code;
}

int ratel_audit_shrink(ratel_audit *a, const ratel_audit_options *options, ratel_audit_shrunk *out,
                       ratel_write_cb write, void *payload)
{
    if (!a || !out || !write) return RATEL_EINVAL;
    memset(out, 0, sizeof *out);
    audit_options o = options_below(a, options);
    int code = options_ok(a, options);
    if (code) return code;
    if (!a->answered || a->answer.verdict != AUDIT_VIOLATED)
        return refuse_call(a, RATEL_EINVAL, "only a violated answer can be shrunk");
    audit_shrunk s;
    code = audit_shrink(a->log, &o, &a->answer, &s);
    if (code) return failed(a, code);
    *out = (ratel_audit_shrunk){s.txns, s.statements, s.rows, s.trials, s.minimal};
    if (write(s.text, s.n, payload)) return refuse_call(a, RATEL_EIO, "write error");
    return RATEL_OK;
}

int ratel_audit_lint(ratel_audit *a, const ratel_audit_options *options, ratel_read_cb read,
                     void *payload)
{
    if (!a || !read) return RATEL_EINVAL;
    audit_options o = options_below(a, options);
    int code = options_ok(a, options);
    if (code) return code;
    forget(a);
    audit_counts counts;
    code = audit_lint(&a->log, &o, read, payload, &counts, &a->finding, &a->n_findings);
    if (!code) return RATEL_OK;
    a->n_findings = 0;
    return failed(a, code);
}

int ratel_audit_finding_at(const ratel_audit *a, size_t i, ratel_finding *out)
{
    if (!a || !out || i >= a->n_findings) return RATEL_EINVAL;
    static const ratel_severity severity[] = {[AUDIT_NOTE] = RATEL_NOTE,
                                              [AUDIT_WARNING] = RATEL_WARNING,
                                              [AUDIT_MEANINGLESS] = RATEL_MEANINGLESS};
    const audit_finding *f = &a->finding[i];
    *out = (ratel_finding){.id = f->id,
                           .text = f->text,
                           .advice = f->advice,
                           .severity = severity[f->severity],
                           .count = f->count,
                           .unit = f->unit,
                           .example = f->example,
                           .txn = {f->txn, NULL}};
    return RATEL_OK;
}
