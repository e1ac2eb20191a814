/*
 * api_certificate.c - the entry points that write and verify certificates.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define RATEL_EXPERIMENTAL
#include "ratel.h"

#include "api/api_internal.h"
#include "base/hash.h"
#include "history/aborted_readers.h"
#include "history/additions.h"
#include "verdict/certify_iso.h"
#include "verdict/judge_iso.h"
#include "verify/assumptions_text.h"
#include "verify/certificate.h"

typedef struct certify_call {
    call c;
    const ratel_result *a;
    const history *h;
    mem text, work;
    strbuf out;
} certify_call;

static void body_certify(call *c)
{
    certify_call *cc = (certify_call *)c;
    const verdict *v = &cc->a->v;
    bool own = v->h && history_as_recorded(v->h) == cc->h; /* else the answer is of another one */
    certify(v, own ? v->h : cc->h, &cc->work, &cc->out);
}

static void open_regions(call *c, mem *text, mem *work)
{
    const ratel *r = c->r;
    mem_init(text, r->fn, r->ud, &c->guard);
    mem_init(work, r->fn, r->ud, &c->guard);
    text->limit = work->limit = api_memory(r);
}

int ratel_result_certificate(const ratel_result *a, ratel *r, const ratel_history *h,
                             ratel_write_cb write, void *payload)
{
    if (!a || !r || !h || !write) return RATEL_EINVAL;
    certify_call cc;
    api_open(&cc.c, r);
    if (!h->model->frozen) return api_fail(r, RATEL_EINVAL, "the history is still being built");
    cc.a = a;
    cc.h = h->model;
    open_regions(&cc.c, &cc.text, &cc.work);
    strbuf_init(&cc.out, &cc.text);
    int code = api_border(&cc.c, body_certify);
    api_close(&cc.c, code);
    if (!code && write(cc.out.at, cc.out.n, payload)) code = api_fail(r, RATEL_EIO, "write error");
    mem_free_all(&cc.text);
    mem_free_all(&cc.work);
    return code;
}

/* --- definitions ------------------------------------------------------------------------------ */

uint64_t ratel_definition_hash(const char *text, size_t n)
{
    if (!text) return 0;
    while (n && text[n - 1] == '\n') n--;
    uint64_t x = hash_bytes(text, n, 1);
    return x ? x : 1;
}

typedef struct define_call {
    call c;
    iso_question q;
    const history *h;
    question asked;
    mem text, work;
    strbuf out;
    enum outcome found;
} define_call;

static void body_define(call *c)
{
    define_call *dc = (define_call *)c;
    const history *h = judge_history(dc->h, &dc->asked, &dc->text);
    dc->found = certify_iso(&dc->q, &dc->asked, h, &dc->text, &dc->work, &dc->out);
}

typedef struct judge_call {
    call c;
    iso_question ask;
    question q;
    const history *h;
    mem kept, work;
    iso_judgement found;
} judge_call;

static void body_judge(call *c)
{
    judge_call *jc = (judge_call *)c;
    jc->h = judge_history(jc->h, &jc->q, &jc->kept);
    judge_iso(&jc->found, &jc->ask, &jc->q, jc->h, &jc->kept, &jc->work);
}

int ratel_check_definition(ratel_definition *out, ratel *r, const ratel_history *h,
                           const char *text, size_t n, const char *name)
{
    static const ratel_verdict verdicts[] = {[OUTCOME_UNDECIDED] = RATEL_UNDECIDED,
                                             [OUTCOME_HOLDS] = RATEL_HOLDS,
                                             [OUTCOME_VIOLATED] = RATEL_VIOLATED};
    if (!out || !r || !h || !text) return RATEL_EINVAL;
    judge_call jc = {.h = h->model, .ask = {.text = text, .n = n, .name = name}};
    memset(out, 0, sizeof *out);
    api_open(&jc.c, r);
    if (!h->model->frozen) return api_fail(r, RATEL_EINVAL, "the history is still being built");
    jc.q = api_question(r, NULL);
    open_regions(&jc.c, &jc.kept, &jc.work);
    int code = api_border(&jc.c, body_judge);
    api_close(&jc.c, code);
    if (!code) {
        out->verdict = verdicts[jc.found.outcome];
        out->outside = jc.found.outside;
        out->unfit = jc.found.unfit;
        out->anomaly = jc.found.anomaly;
        out->states = jc.found.states;
        out->core = jc.found.core.n;
        out->conflicts = jc.found.conflicts;
        out->vars = jc.found.vars;
        out->clauses = jc.found.clauses;
        out->instantiated = jc.found.instantiated;
        snprintf(out->reason, sizeof out->reason, "%s", jc.found.reason);
    }
    mem_free_all(&jc.kept);
    mem_free_all(&jc.work);
    return code;
}

int ratel_certify_definition(ratel_verdict *out, ratel *r, const ratel_history *h, const char *text,
                             size_t n, const char *name, ratel_write_cb write, void *payload)
{
    if (!out || !r || !h || !text || !write) return RATEL_EINVAL;
    define_call dc = {.found = OUTCOME_UNDECIDED};
    api_open(&dc.c, r);
    if (!h->model->frozen) return api_fail(r, RATEL_EINVAL, "the history is still being built");
    if (api_bare(r, h, "a level in text")) return RATEL_EUNSUPPORTED;
    enum policy policy = (enum policy)r->values[API_OPTION_ryow];
    dc.q = (iso_question){.text = text,
                          .n = n,
                          .name = name,
                          .session_order = r->values[API_OPTION_session_order] != 0,
                          .ryow = policy == POLICY_AUTO ? RYOW_MAY : (enum ryow)policy,
                          .drift = r->values[API_OPTION_drift]};
    dc.h = h->model;
    dc.asked = api_question(r, NULL);
    open_regions(&dc.c, &dc.text, &dc.work);
    strbuf_init(&dc.out, &dc.text);
    int code = api_border(&dc.c, body_define);
    api_close(&dc.c, code);
    if (!code) *out = dc.found == OUTCOME_HOLDS ? RATEL_HOLDS : RATEL_VIOLATED;
    if (!code && write(dc.out.at, dc.out.n, payload)) code = api_fail(r, RATEL_EIO, "write error");
    mem_free_all(&dc.text);
    mem_free_all(&dc.work);
    return code;
}

/* --- verifying -------------------------------------------------------------------------------- */

typedef struct verify_call {
    call c;
    const history *h;
    ratel_read_cb read;
    void *payload;
    mem text, work;
    strbuf in;
    certificate_answer answer;
    ratel_history *changed; /* for the changes that the certificate declares */
    char assumed[1024];     /* the first assumptions, in words */
    uint64_t definition;
    char reason[GUARD_TEXT];
} verify_call;

/* The assumptions that the certificate declares, as far as they fit. */
static void tell_assumed(verify_call *vc)
{
    const certificate_answer *a = &vc->answer;
    strbuf b;
    strbuf_init(&b, &vc->work);
    if (a->changed_by)
        strbuf_printf(&b, "module %s: %" PRIu64 " operations changed", a->changed_by, a->changes);
    for (size_t i = 0; a->assumed && i < a->assumed->at.n && b.n < sizeof vc->assumed; i++) {
        /* What is assumed, and only then what the certificate calls it: it may call it anything. */
        strbuf_printf(&b, "%smodule %s: ", b.n ? "; " : "",
                      additions_name(a->assumed, a->assumed->at.at[i].module));
        assumptions_tell(&b, a->assumed_of, a->assumed, i);
        strbuf_printf(&b, " (\"%s\")", additions_reason(a->assumed, i));
    }
    snprintf(vc->assumed, sizeof vc->assumed, "%s", strbuf_cstr(&b));
}

static void body_verify(call *c)
{
    verify_call *vc = (verify_call *)c;
    char buf[1 << 14];
    for (ptrdiff_t n; (n = vc->read(buf, sizeof buf, vc->payload)) != 0;) {
        if (n < 0 || (size_t)n > sizeof buf) guard_fail(&c->guard, GUARD_IO, "read error");
        strbuf_add(&vc->in, buf, (size_t)n);
        guard_poll(&c->guard);
    }
    guard_stage(&c->guard, "verify", NULL, 0);
    certificate_verify(&vc->answer, vc->in.n ? vc->in.at : "", vc->in.n, vc->h, vc->changed->model,
                       &vc->work);
    const certificate_answer *a = &vc->answer;
    tell_assumed(vc);
    vc->definition = a->definition ? ratel_definition_hash(a->definition, a->definition_length) : 0;
    size_t n = vc->answer.why ? strlen(vc->answer.why) : 0;
    if (n >= sizeof vc->reason) n = sizeof vc->reason - 1;
    if (n) memcpy(vc->reason, vc->answer.why, n);
    vc->reason[n] = 0;
}

int ratel_verify(ratel_proof *out, ratel *r, const ratel_history *h, ratel_read_cb read,
                 void *payload)
{
    if (!out || !r || !h || !read) return RATEL_EINVAL;
    verify_call vc;
    memset(&vc, 0, sizeof vc);
    memset(out, 0, sizeof *out);
    api_open(&vc.c, r);
    if (!h->model->frozen) return api_fail(r, RATEL_EINVAL, "the history is still being built");
    vc.h = h->model;
    vc.read = read;
    vc.payload = payload;
    open_regions(&vc.c, &vc.text, &vc.work);
    strbuf_init(&vc.in, &vc.text);
    int code = api_new_history(&vc.changed, &vc.c);
    if (!code) code = api_border(&vc.c, body_verify);
    if (!code) {
        out->assumptions = vc.answer.changes;
        if (vc.answer.assumed) out->assumptions += vc.answer.assumed->at.n;
        memcpy(out->assumed, vc.assumed, sizeof out->assumed);
        const claim *c = &vc.answer.claim;
        out->proved = vc.answer.proved;
        out->verdict = c->outcome == OUTCOME_HOLDS ? RATEL_HOLDS : RATEL_VIOLATED;
        out->session_order = c->session_order;
        out->ryow = ryow_name(c->ryow);
        out->drift = c->drift;
        out->trusted = c->trusted;
        out->aborted = vc.answer.aborted_read;
        out->definition = vc.definition;
        out->steps = vc.answer.steps;
        snprintf(out->level, sizeof out->level, "%s%.60s", vc.definition ? "definition " : "",
                 c->level.name);
        memcpy(out->reason, vc.reason, sizeof out->reason);
    }
    mem_free_all(&vc.text);
    mem_free_all(&vc.work);
    ratel_history_free(vc.changed);
    return api_close(&vc.c, code);
}
