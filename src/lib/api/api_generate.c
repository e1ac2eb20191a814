/*
 * api_generate.c - ratel_gen: options as text, checked, given to the generator.
 */
#include <stdlib.h>
#include <string.h>

#define RATEL_EXPERIMENTAL
#include "ratel.h"

#include "api/api_internal.h"
#include "gen/gen.h"

typedef struct gen_call {
    call c;
    ratel_history *h;
    gen_options o;
    VEC(gen_anomaly) anomalies;
    mem work;
    strbuf truth;
    const ratel_gen_options *given;
} gen_call;

/* "write-skew:3,lost-update" */
static void parse_anomalies(gen_call *gc, const char *text)
{
    guard *g = &gc->c.guard;
    while (*text) {
        size_t n = strcspn(text, ","), name = 0;
        while (name < n && text[name] != ':') name++;
        char word[64];
        if (!name || name >= sizeof word)
            guard_fail(g, GUARD_INVAL, "no anomaly \"%.*s\"", (int)(n < 60 ? n : 60), text);
        memcpy(word, text, name);
        word[name] = 0;
        gen_anomaly a = {.count = 1};
        int kind = gen_anomaly_named(word);
        if (kind < 0) guard_fail(g, GUARD_INVAL, "no anomaly \"%s\"", word);
        a.kind = (uint32_t)kind;
        if (name < n) {
            char *end;
            unsigned long count = strtoul(text + name + 1, &end, 10);
            if (end != text + n || !count || count > 1000000)
                guard_fail(g, GUARD_INVAL, "anomaly %s: the count must be 1 to 1000000", word);
            a.count = (uint32_t)count;
        }
        vec_push(&gc->work, &gc->anomalies, a);
        text += n + (text[n] == ',');
    }
    gc->o.anomalies = gc->anomalies.at;
    gc->o.n_anomalies = gc->anomalies.n;
}

static void body_gen(call *c)
{
    gen_call *gc = (gen_call *)c;
    const ratel_gen_options *g = gc->given;
    gc->o = (gen_options){.workload = g->workload,
                          .isolation = g->isolation,
                          .txns = g->txns,
                          .sessions = g->sessions,
                          .keys = g->keys,
                          .ops = g->ops,
                          .seed = g->seed,
                          .aborted = g->aborted,
                          .unknown = g->unknown,
                          .no_times = g->no_times != 0};
    if (g->plant && strcmp(g->plant, "easy") && strcmp(g->plant, "hidden"))
        guard_fail(&c->guard, GUARD_INVAL, "plants are easy or hidden, not \"%.60s\"", g->plant);
    gc->o.hidden = g->plant && !strcmp(g->plant, "hidden");
    if (g->anomalies) parse_anomalies(gc, g->anomalies);
    for (const char *const *k = g->knobs; k && *k; k++) knob_parse(&gc->o.knobs, &c->guard, *k);
    strbuf_init(&gc->truth, &c->r->kept);
    gen_history(gc->h->model, &gc->o, &gc->truth);
    history_freeze(gc->h->model);
    strbuf_cstr(&gc->truth);
}

int ratel_gen(ratel_history **out, ratel *r, const ratel_gen_options *o, const char **truth)
{
    if (!out || !r || !o) return RATEL_EINVAL;
    gen_call gc;
    memset(&gc, 0, sizeof gc);
    *out = NULL;
    api_open(&gc.c, r);
    gc.given = o;
    mem_free_all(&r->kept);
    r->kept.guard = &gc.c.guard;
    mem_init(&gc.work, r->fn, r->ud, &gc.c.guard);
    int code = api_new_history(&gc.h, &gc.c);
    if (!code) code = api_border(&gc.c, body_gen);
    mem_free_all(&gc.work);
    api_close(&gc.c, code);
    if (code) {
        ratel_history_free(gc.h);
        return code;
    }
    history_set_guard(gc.h->model, NULL);
    gc.h->format = "ratel";
    if (truth) *truth = gc.truth.at;
    *out = gc.h;
    return RATEL_OK;
}

int ratel_gen_workload_at(const char **name, const char **about, size_t i)
{
    const char *text, *n = gen_workload_at(i, &text);
    if (!n) return RATEL_EINVAL;
    if (name) *name = n;
    if (about) *about = text;
    return RATEL_OK;
}

int ratel_gen_isolation_at(const char **name, const char **about, size_t i)
{
    const char *text, *n = gen_isolation_at(i, &text);
    if (!n) return RATEL_EINVAL;
    if (name) *name = n;
    if (about) *about = text;
    return RATEL_OK;
}

int ratel_gen_anomaly_at(const char **name, const char **about, size_t i)
{
    const char *text, *n = gen_anomaly_at(i, &text);
    if (!n) return RATEL_EINVAL;
    if (name) *name = n;
    if (about) *about = text;
    return RATEL_OK;
}

int ratel_gen_knob_at(const char **name, const char **about, size_t i)
{
    const char *text, *n = knob_at(i, &text);
    if (!n) return RATEL_EINVAL;
    if (name) *name = n;
    if (about) *about = text;
    return RATEL_OK;
}
