/*
 * api_explain.c - the entry points that explain an answer.
 */
#include <string.h>

#define RATEL_EXPERIMENTAL
#include "ratel.h"

#include "api/api_internal.h"
#include "history/aborted_readers.h"
#include "report/explanation.h"
#include "verdict/find_argument.h"

struct ratel_explanation {
    mem mem;
    mem_fn fn;
    void *ud;
    const ratel_result *a;
    explanation e;
};

typedef struct explain_call {
    call c;
    ratel_explanation *out;
    const history *h;
    mem keep, work; /* of find_argument */
} explain_call;

static void body_explain(call *c)
{
    explain_call *ec = (explain_call *)c;
    find_argument(&ec->out->e, &ec->out->mem, &ec->out->a->v, ec->h, &ec->keep, &ec->work);
}

static bool is_limit(const ratel_explanation *e, int code)
{
    return code == RATEL_ETIME || code == RATEL_EINTERRUPT ||
           (code == RATEL_ENOMEM && e->mem.limit);
}

int ratel_explain(ratel_explanation **out, ratel *r, const ratel_history *h, const ratel_result *a)
{
    if (!out || !r || !h || !a) return RATEL_EINVAL;
    explain_call ec;
    const verdict *v = &a->v;
    *out = NULL;
    memset(&ec, 0, sizeof ec);
    api_open(&ec.c, r);
    if (!v->h || history_as_recorded(v->h) != h->model)
        return api_fail(r, RATEL_EINVAL, "the result belongs to another history");
    ratel_explanation *e = r->fn(r->ud, NULL, 0, sizeof *e);
    if (!e) return api_fail(r, RATEL_ENOMEM, "out of memory");
    memset(e, 0, sizeof *e);
    e->fn = r->fn;
    e->ud = r->ud;
    e->a = a;
    mem_init(&e->mem, r->fn, r->ud, &ec.c.guard);
    e->mem.limit = api_memory(r);
    ec.out = e;
    ec.h = v->h;
    mem_init(&ec.keep, r->fn, r->ud, &ec.c.guard);
    mem_init(&ec.work, r->fn, r->ud, &ec.c.guard);
    ec.work.limit = e->mem.limit;
    int code = api_border(&ec.c, body_explain);
    mem_free_all(&ec.keep);
    mem_free_all(&ec.work);
    if (is_limit(e, code)) {
        e->e.argued = false;
        e->e.anomaly = v->anomaly;
        e->e.why_not = code == RATEL_ETIME        ? "the time limit was reached"
                       : code == RATEL_EINTERRUPT ? "it was interrupted"
                                                  : "the memory limit was reached";
        code = RATEL_OK;
    }
    api_close(&ec.c, code);
    if (code)
        ratel_explanation_free(e);
    else
        *out = e;
    return code;
}

int ratel_explanation_shown(const ratel_explanation *e, size_t *txns)
{
    size_t n = 0;
    if (!e) return 0;
    for (actors who = e->e.argued ? e->e.who : 0; who; who &= who - 1) n++;
    if (txns) *txns = n;
    return e->e.argued;
}

typedef struct tell_call {
    call c;
    mem work;
    const ratel_explanation *e;
    const ratel_telling *telling;
    void (*tell)(const told *t, strbuf *b);
    strbuf text;
} tell_call;

static void body_tell(call *c)
{
    tell_call *tc = (tell_call *)c;
    const ratel_telling *with = tc->telling;
    const verdict *v = &tc->e->a->v;
    tell_context context = {.format = tc->e->a->format};
    told t = {v, v->outcome == OUTCOME_VIOLATED ? &tc->e->e : NULL, &context, &tc->work};
    if (with) {
        tell_level *levels = mem_array(&tc->work, tell_level, with->n_found + 1);
        for (size_t i = 0; i < with->n_found; i++) {
            ratel_verdict x = with->found[i].verdict;
            levels[i].name = with->found[i].level;
            levels[i].outcome = x == RATEL_HOLDS      ? OUTCOME_HOLDS
                                : x == RATEL_VIOLATED ? OUTCOME_VIOLATED
                                                      : OUTCOME_UNDECIDED;
        }
        context.history = with->history;
        context.levels = levels;
        context.n_levels = with->n_found;
        context.session_order = with->session_order;
        context.instead_of = with->instead_of;
        context.colour = with->colour;
        context.quiet = with->quiet;
    }
    strbuf_init(&tc->text, &tc->work);
    tc->tell(&t, &tc->text);
}

int ratel_explanation_write(const ratel_explanation *e, ratel *r, const char *format,
                            const ratel_telling *telling, ratel_write_cb write, void *payload)
{
    static const struct {
        const char *name;
        void (*tell)(const told *t, strbuf *b);
    } formats[] = {{"text", tell_text},
                   {"markdown", tell_markdown},
                   {"json", tell_json},
                   {"dot", tell_dot},
                   {"svg", tell_svg},
                   {"tikz", tell_tikz},
                   {"html", tell_html},
                   {"page-entry", tell_page_entry},
                   {"page-scene", tell_page_scene},
                   {"scene-dot", tell_scene_dot},
                   {"scene-svg", tell_scene_svg},
                   {"scene-tikz", tell_scene_tikz}};
    size_t i = 0, n = sizeof formats / sizeof *formats;
    if (!e || !r || !format || !write) return RATEL_EINVAL;
    tell_call tc = {.e = e, .telling = telling};
    api_open(&tc.c, r);
    tc.c.guard.deadline = 0; /* what was found in time is also told */
    tc.c.guard.interrupt = NULL;
    while (i < n && strcmp(formats[i].name, format)) i++;
    if (i == n) return api_fail(r, RATEL_EINVAL, "no explanation format \"%.40s\"", format);
    tc.tell = formats[i].tell;
    mem_init(&tc.work, r->fn, r->ud, &tc.c.guard);
    int code = api_border(&tc.c, body_tell);
    if (!code && tc.text.n && write(tc.text.at, tc.text.n, payload))
        code = api_fail(r, RATEL_EIO, "write error");
    else
        api_close(&tc.c, code);
    mem_free_all(&tc.work);
    return code;
}

void ratel_explanation_free(ratel_explanation *e)
{
    if (!e) return;
    mem_free_all(&e->mem);
    e->fn(e->ud, e, sizeof *e, 0);
}
