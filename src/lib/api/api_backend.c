/*
 * api_backend.c - the entry points that hand a level to other solvers.
 */
#include <string.h>

#define RATEL_EXPERIMENTAL
#include "ratel.h"

#include "api/api_internal.h"
#include "verdict/other_solver.h"

int ratel_encoding_at(const char **name, const char **about, size_t i)
{
    const char *n, *a;
    if (!emit_encoding_at(i, &n, &a)) return RATEL_EINVAL;
    if (name) *name = n;
    if (about) *about = a;
    return RATEL_OK;
}

typedef struct emit_call {
    call c;
    const history *h;
    level_ref level;
    question q;
    enum emit_format format;
    enum emit_encoding encoding;
    mem text, work;
    printer out;
} emit_call;

static void body_emit(call *c)
{
    emit_call *e = (emit_call *)c;
    strbuf_init(&e->out.text, &e->text);
    e->h = judge_history(e->h, &e->q, &e->text);
    judge_emit(&e->level, e->h, &e->q, e->format, e->encoding, &e->out, &e->work);
}

static int named_encoding(ratel *r, const char *name, enum emit_encoding *out)
{
    *out = EMIT_PLAIN;
    if (!name || emit_encoding_named(name, out)) return RATEL_OK;
    return api_fail(r, RATEL_EINVAL, "no encoding \"%.60s\"", name);
}

int ratel_emit(const ratel_history *h, ratel *r, const char *level, const char *format,
               const char *encoding, ratel_write_cb write, void *payload)
{
    if (!h || !r || !level || !format || !write) return RATEL_EINVAL;
    emit_call e;
    memset(&e, 0, sizeof e);
    api_open(&e.c, r);
    if (!level_named(&e.level, level)) return api_no_level(r, level);
    if (!emit_format_named(format, &e.format))
        return api_fail(r, RATEL_EINVAL, "no format \"%.60s\": use smt2, dimacs or gnf", format);
    int code = named_encoding(r, encoding, &e.encoding);
    if (code) return code;
    if (!h->model->frozen) return api_fail(r, RATEL_EINVAL, "the history is still being built");
    e.h = h->model;
    e.q = api_question(r, level);
    mem_init(&e.text, r->fn, r->ud, &e.c.guard);
    mem_init(&e.work, r->fn, r->ud, &e.c.guard);
    e.text.limit = e.work.limit = api_memory(r);
    e.out.write = write;
    e.out.payload = payload;
    code = api_border(&e.c, body_emit);
    mem_free_all(&e.text);
    mem_free_all(&e.work);
    return api_close(&e.c, code);
}

int ratel_check_by(ratel_result **out, ratel *r, const ratel_history *h, const char *level,
                   const char *encoding, const ratel_backend *by)
{
    if (!out || !r || !h || !level || !by) return RATEL_EINVAL;
    call c;
    api_open(&c, r);
    *out = NULL;
    other_solver s = {.name = by->name, .solve = by->solve, .value = by->value, .ud = by->payload};
    if (!s.name || !s.solve || !s.value || !by->format ||
        !emit_format_named(by->format, &s.format) || s.format == EMIT_GNF)
        return api_fail(r, RATEL_EINVAL, "a back end needs a name, functions, and smt2 or dimacs");
    int code = named_encoding(r, encoding, &s.encoding);
    return code ? code : api_check(out, r, h, level, &s);
}
