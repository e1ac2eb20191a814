/*
 * api_synth.c - the entry points around levels as text: sessions, definitions, the search for
 * histories that tell levels apart.
 *
 * The room synth has borders of its own, so nothing jumps through here.  What it finds has no
 * values; here it gets some, and the levels that are built in are asked once more.
 */
#include <stdio.h>
#include <string.h>

#define RATEL_EXPERIMENTAL
#include "ratel.h"

#include "api/api_internal.h"
#include "synth/synth.h"

struct ratel_synth {
    ratel *r;
    synth *s;
};

/* A call begins: the context's limits hold for it, its last error is forgotten. */
static void start(const ratel_synth *s)
{
    call c;
    api_open(&c, s->r);
    synth_limit(s->s, (double)s->r->values[API_OPTION_time] / 1000);
}

/* The session's last error becomes the context's. */
static int failed(const ratel_synth *s, int code)
{
    ratel *r = s->r;
    uint64_t line, column;
    const char *text = synth_error(s->s, &line, &column);
    r->line = line;
    r->column = column;
    return api_fail(r, code, "%s", text);
}

int ratel_synth_open(ratel_synth **out, ratel *r)
{
    if (!out || !r) return RATEL_EINVAL;
    call c;
    api_open(&c, r);
    *out = NULL;
    ratel_synth *s = r->fn(r->ud, NULL, 0, sizeof *s);
    if (!s) return api_fail(r, RATEL_ENOMEM, "out of memory");
    s->r = r;
    s->s = synth_open_with(r->fn, r->ud, 0, api_memory(r), &r->interrupted);
    if (!s->s) {
        r->fn(r->ud, s, sizeof *s, 0);
        return api_fail(r, RATEL_ENOMEM, "out of memory");
    }
    *out = s;
    return RATEL_OK;
}

void ratel_synth_close(ratel_synth *s)
{
    if (!s) return;
    synth_close(s->s);
    s->r->fn(s->r->ud, s, sizeof *s, 0);
}

int ratel_definition_at(const char **name, const char **text, const char **builtin, size_t i)
{
    const char *n, *t, *b;
    if (!synth_library_at(i, &n, &t, &b)) return RATEL_EINVAL;
    if (name) *name = n;
    if (text) *text = t;
    if (builtin) *builtin = b;
    return RATEL_OK;
}

/* The number of a level, or a code. */
static int keep_level(const ratel_synth *s, int got, int *level)
{
    if (got < 0) return failed(s, got);
    *level = got;
    return RATEL_OK;
}

int ratel_synth_named(ratel_synth *s, const char *name, int *level)
{
    if (!s || !name || !level) return RATEL_EINVAL;
    start(s);
    return keep_level(s, synth_level_named(s->s, name), level);
}

int ratel_synth_defined(ratel_synth *s, const char *text, size_t n, const char *name, int *level)
{
    if (!s || !text || !level) return RATEL_EINVAL;
    start(s);
    return keep_level(s, synth_level_read(s->s, "", name, text, n), level);
}

int ratel_synth_condition(ratel_synth *s, const char *formula, int *level)
{
    if (!s || !formula || !level) return RATEL_EINVAL;
    start(s);
    return keep_level(s, synth_condition(s->s, formula), level);
}

static bool level_ok(const ratel_synth *s, int level)
{
    return level >= 0 && level < synth_levels(s->s);
}

const char *ratel_synth_level_name(const ratel_synth *s, int level)
{
    return s && level_ok(s, level) ? synth_level_name(s->s, level) : NULL;
}

/* --- histories --- */

static ratel_value text_value(const char *s)
{
    return (ratel_value){.type = RATEL_STR, .as.str = {s, strlen(s)}};
}

static ratel_value int_value(int64_t i)
{
    return (ratel_value){.type = RATEL_INT, .as.i = i};
}

static int add_transaction(ratel_history *h, const synth_answer *a, uint32_t t)
{
    char name[24];
    int code = ratel_history_begin(h, int_value(a->session[t]));
    snprintf(name, sizeof name, "t%u", (unsigned)t);
    if (!code) code = ratel_history_id(h, text_value(name));
    for (int writes = 0; writes < 2; writes++)
        for (uint32_t x = 0; !code && x < a->keys; x++) {
            uint32_t from = a->from[(size_t)t * a->keys + x];
            synth_key_name(x, name, sizeof name);
            if (!writes && from != SYNTH_NONE_READ)
                code = ratel_history_get(h, text_value(name), int_value(from), 0);
            if (writes && a->writes[(size_t)t * a->keys + x])
                code = ratel_history_put(h, text_value(name), int_value(t), 0);
        }
    return code ? code : ratel_history_end(h, RATEL_COMMITTED);
}

static int history_with_values(ratel_history **out, ratel *r, const synth_answer *a)
{
    int code = ratel_history_new(out, r);
    if (code) return code;
    code = ratel_history_init(*out, int_value(0));
    for (uint32_t t = 1; !code && t <= a->txns; t++) code = add_transaction(*out, a, t);
    if (!code) code = ratel_history_freeze(*out);
    if (!code) return RATEL_OK;
    code = api_fail(r, code, "%s", ratel_history_errmsg(*out));
    ratel_history_free(*out);
    *out = NULL;
    return code;
}

/* The built-in level that decides the same is asked with session order, whatever the options of the
   context say: definitions have it. */
static int level_agrees(const ratel_synth *s, const ratel_history *h, int level, ratel_verdict want)
{
    ratel *r = s->r;
    const char *builtin = synth_level_builtin(s->s, level);
    if (!*builtin) return RATEL_OK;
    ratel_result *a = NULL;
    int64_t so = r->values[API_OPTION_session_order];
    r->values[API_OPTION_session_order] = 1;
    int code = ratel_check(&a, r, h, builtin);
    r->values[API_OPTION_session_order] = so;
    ratel_verdict v = ratel_result_verdict(a);
    ratel_result_free(a);
    if (code || v == want || v == RATEL_UNDECIDED) return code;
    return api_fail(r, RATEL_EBUG, "the checker disagrees about %s on the history that was found",
                    builtin);
}

/* A history whose session order is more than chains of sessions cannot be asked about. */
static bool is_chains(const synth_answer *a)
{
    for (uint32_t x = 1; x <= a->txns; x++)
        for (uint32_t y = x + 1; y <= a->txns; y++)
            if (a->so[x * (a->txns + 1) + y] != (a->session[x] == a->session[y])) return false;
    return true;
}

static int confirm_found(const ratel_synth *s, const ratel_history *h, const synth_answer *a,
                         const ratel_synth_question *q)
{
    int code = RATEL_OK;
    if (!is_chains(a)) return RATEL_OK;
    for (size_t i = 0; !code && i < q->n_allow; i++)
        code = level_agrees(s, h, q->allow[i], RATEL_HOLDS);
    for (size_t i = 0; !code && i < q->n_forbid; i++)
        code = level_agrees(s, h, q->forbid[i], RATEL_VIOLATED);
    return code;
}

static bool levels_ok(const ratel_synth *s, const int *at, size_t n)
{
    if (n && !at) return false;
    for (size_t i = 0; i < n; i++)
        if (!level_ok(s, at[i])) return false;
    return true;
}

static void fill_answer(ratel_synth_answer *out, const synth_answer *a)
{
    static const ratel_synth_result results[] = {[SYNTH_UNDECIDED] = RATEL_SYNTH_UNDECIDED,
                                                 [SYNTH_HISTORY] = RATEL_SYNTH_HISTORY,
                                                 [SYNTH_NONE] = RATEL_SYNTH_NONE,
                                                 [SYNTH_PROVED] = RATEL_SYNTH_PROVED};
    out->result = results[a->result];
    snprintf(out->why, sizeof out->why, "%.250s", a->why ? a->why : "");
    out->txns = a->txns;
    out->candidates = a->candidates;
    out->variables = a->variables;
    out->clauses = a->clauses;
    out->conflicts = a->conflicts;
}

int ratel_synth_search(ratel_history **found, ratel_synth *s, const ratel_synth_question *q,
                       ratel_synth_answer *out)
{
    if (!found || !s || !q || !out) return RATEL_EINVAL;
    *found = NULL;
    memset(out, 0, sizeof *out);
    start(s);
    if (!levels_ok(s, q->allow, q->n_allow) || !levels_ok(s, q->forbid, q->n_forbid))
        return api_fail(s->r, RATEL_EINVAL, "no such level in this session");
    if (!q->n_allow && !q->n_forbid)
        return api_fail(s->r, RATEL_EINVAL, "there is no level to search for");
    if (q->txns > SYNTH_MAX_TXNS || q->keys > SYNTH_MAX_KEYS)
        return api_fail(s->r, RATEL_EINVAL, "at most %d transactions and %d keys", SYNTH_MAX_TXNS,
                        SYNTH_MAX_KEYS);
    synth_problem p = {.allow = q->allow,
                       .n_allow = q->n_allow,
                       .forbid = q->forbid,
                       .n_forbid = q->n_forbid,
                       .txns = q->txns ? q->txns : 5,
                       .keys = q->keys ? q->keys : 5,
                       .values = q->values,
                       .sessions = q->sessions,
                       .ops = q->ops,
                       .no_blind = q->no_blind_writes != 0,
                       .partial = q->partial_sessions != 0};
    synth_answer a;
    int code = synth_search(s->s, &p, &a);
    if (code) return failed(s, code);
    if (a.limit == RATEL_ENOMEM) return failed(s, RATEL_ENOMEM);
    fill_answer(out, &a);
    if (a.result != SYNTH_HISTORY) return RATEL_OK;
    ratel_history *h;
    code = history_with_values(&h, s->r, &a);
    if (code) return code;
    code = confirm_found(s, h, &a, q);
    if (code)
        ratel_history_free(h);
    else
        *found = h;
    return code;
}

int ratel_synth_proves(ratel_synth *s, int a, int b)
{
    if (!s) return RATEL_EINVAL;
    start(s);
    if (!level_ok(s, a) || !level_ok(s, b))
        return api_fail(s->r, RATEL_EINVAL, "no such level in this session");
    int got = synth_proves(s->s, a, b);
    return got < 0 ? failed(s, got) : got;
}
