/*
 * api_module.c - modules: their hooks are run on a history, and what they say is put on a new one.
 */
#include "ratel.h"

#include <string.h>

#include "api/api_internal.h"
#include "module/module.h"

typedef struct module_call {
    call c;
    const history *h;
    const ratel_module *module;
    const char *settings;
    ratel_history *changed; /* where edits are applied */
    ratel_history *out;
    const void *bytes; /* instead of running the module */
    size_t n;
    mem work;
    module_said said;
    strbuf packed;
    ratel_write_cb write; /* of ratel_module_run */
    void *payload;
} module_call;

/* A history's own copy of the edits that made it. */
static edits *keep_edits(mem *m, const edits *from)
{
    edits *e = mem_zeroed(m, sizeof *e);
    size_t n = strlen(from->module) + 1;
    for (size_t i = 0; i < from->at.n; i++) vec_push(m, &e->at, from->at.at[i]);
    e->module = memcpy(mem_get(m, n), from->module, n);
    return e;
}

static bool splits(const edits *e)
{
    for (size_t i = 0; i < e->at.n; i++)
        if (e->at.at[i].kind == EDIT_SPLIT) return true;
    return false;
}

/* The history under what was said: the changed one, or one that shares the arrays of h. */
static void put_together(module_call *mc)
{
    history *to = mc->out->model;
    const edits *e = &mc->said.edits;
    if (e->at.n && mc->h->edited)
        guard_fail(to->mem.guard, GUARD_INVAL,
                   "module \"%s\": another module has changed operations before it, and only one "
                   "may",
                   e->module);
    if (e->at.n && splits(e) && mc->h->assumed)
        guard_fail(to->mem.guard, GUARD_INVAL,
                   "module \"%s\" splits transactions, so it must come before modules that add "
                   "edges",
                   e->module);
    if (e->at.n) {
        edits_apply(to, mc->h, e);
        to->edited = keep_edits(&to->mem, e);
        to->original = mc->h;
    } else {
        history_borrow(to, mc->h);
    }
    const char *wrong = mc->said.added ? additions_check(mc->said.added, to->txns) : NULL;
    if (wrong) guard_fail(to->mem.guard, GUARD_PARSE, "a module added %s", wrong);
    to->assumed = mc->h->assumed;
    if (mc->said.added) to->assumed = additions_join(&to->mem, mc->h->assumed, mc->said.added);
}

static void tell_failed(void *payload)
{
    const module_call *mc = payload;
    (void)mc->write(NULL, 0, mc->payload);
}

static void body_run(call *c)
{
    module_call *mc = (module_call *)c;
    module_caller caller = {tell_failed, mc};
    const char *wrong = module_check(mc->module);
    if (wrong) guard_fail(mc->work.guard, GUARD_INVAL, "this is not a module: %s", wrong);
    guard_stage(mc->work.guard, "module", NULL, 0);
    module_run(mc->module, mc->settings, mc->h, mc->changed->model, mc->write ? &caller : NULL,
               &mc->work, &mc->said);
}

static void body_add(call *c)
{
    body_run(c);
    put_together((module_call *)c);
}

static void body_pack(call *c)
{
    module_call *mc = (module_call *)c;
    body_run(c);
    strbuf_init(&mc->packed, &mc->work);
    module_pack(&mc->said, &mc->packed);
}

static void body_take(call *c)
{
    module_call *mc = (module_call *)c;
    module_unpack(&mc->said, mc->bytes, mc->n, mc->h, &mc->work);
    put_together(mc);
}

/* Runs the body with a history for what the hooks change and one for the result. */
static int run_call(module_call *mc, ratel *r, const ratel_history *h, void (*body)(call *))
{
    if (!h->model->frozen) return api_fail(r, RATEL_EINVAL, "the history is still being built");
    mc->h = h->model;
    mem_init(&mc->work, r->fn, r->ud, &mc->c.guard);
    mc->work.limit = api_memory(r);
    int code = api_new_history(&mc->changed, &mc->c);
    if (!code) code = api_new_history(&mc->out, &mc->c);
    if (!code) code = api_border(&mc->c, body);
    return code;
}

static int end_call(module_call *mc, int code)
{
    mem_free_all(&mc->work);
    ratel_history_free(mc->changed);
    return api_close(&mc->c, code);
}

static int give_history(module_call *mc, const ratel_history *h, ratel_history **out, int code)
{
    code = end_call(mc, code);
    if (code) {
        ratel_history_free(mc->out);
        return code;
    }
    history_set_guard(mc->out->model, NULL);
    mc->out->format = h->format;
    *out = mc->out;
    return RATEL_OK;
}

int ratel_module_add(ratel_history **out, ratel *r, const ratel_history *h,
                     const ratel_module *module, const char *settings)
{
    if (!out || !r || !h || !module) return RATEL_EINVAL;
    module_call mc = {.module = module, .settings = settings};
    *out = NULL;
    api_open(&mc.c, r);
    return give_history(&mc, h, out, run_call(&mc, r, h, body_add));
}

int ratel_module_run(ratel *r, const ratel_history *h, const ratel_module *module,
                     const char *settings, ratel_write_cb write, void *payload)
{
    if (!r || !h || !module || !write) return RATEL_EINVAL;
    module_call mc = {.module = module, .settings = settings, .write = write, .payload = payload};
    api_open(&mc.c, r);
    int code = run_call(&mc, r, h, body_pack);
    if (!code && write(mc.packed.at, mc.packed.n, payload))
        code = api_fail(r, RATEL_EIO, "what the module said could not be written");
    ratel_history_free(mc.out);
    return end_call(&mc, code);
}

int ratel_module_take(ratel_history **out, ratel *r, const ratel_history *h, const void *said,
                      size_t n)
{
    if (!out || !r || !h || (!said && n)) return RATEL_EINVAL;
    module_call mc = {.bytes = said, .n = n};
    *out = NULL;
    api_open(&mc.c, r);
    return give_history(&mc, h, out, run_call(&mc, r, h, body_take));
}

int api_bare(ratel *r, const ratel_history *h, const char *what)
{
    if (!h->model->assumed) return RATEL_OK; /* changes make a history like any other */
    return api_fail(r, RATEL_EUNSUPPORTED, "%s is not possible together with modules", what);
}

int ratel_result_assumption(const ratel_result *a, size_t i, const char **module,
                            const char **reason)
{
    if (!a || !a->v.assumed || !a->v.h || !a->v.h->assumed) return RATEL_EINVAL;
    const additions *add = a->v.h->assumed;
    if (a->v.used.n) {
        if (i >= a->v.used.n) return RATEL_EINVAL;
        i = a->v.used.at[i];
    }
    if (i >= add->at.n) return RATEL_EINVAL;
    if (module) *module = additions_name(add, add->at.at[i].module);
    if (reason) *reason = additions_reason(add, i);
    return RATEL_OK;
}
