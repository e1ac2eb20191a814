/*
 * litmus_synth.c - cases that nobody has written: for each step between two levels the smallest
 * history that the weaker one allows and the stronger one forbids, as a script.
 *
 * The script is tried in the order of the history, in which transactions follow one another, and in
 * other orders, which are drawn from fixed seeds, so that a table can be made again.
 */
#include <string.h>

#include "cli/litmus.h"
#include "cli/recording_script.h"

enum { ORDERS = 12, DRAWN = 5000, PROMISING = 3, SYNTH_TXNS = 4 };

/* Steps of the lattice of levels that synth has definitions of. */
static const char *const steps[][2] = {
    {"read-committed", "read-atomic"},
    {"read-committed", "cursor-stability"},
    {"read-atomic", "causal"},
    {"read-atomic", "update-atomic"},
    {"causal", "prefix"},
    {"causal", "parallel-snapshot-isolation"},
    {"prefix", "snapshot-isolation"},
    {"parallel-snapshot-isolation", "snapshot-isolation"},
    {"snapshot-isolation", "serializable"},
};

/* Adds the present order unless it is there. */
static bool add_order(script *s, strbuf *all, strbuf *one)
{
    one->n = 0;
    strbuf_char(one, '\n');
    script_write_order(s, one);
    if (strstr(strbuf_cstr(all), strbuf_cstr(one))) return false;
    strbuf_str(all, strbuf_cstr(one) + 1);
    return true;
}

/* Other orders of the steps, each once: those first in which reads of the newest values would see
   what the history says. */
static const char *other_orders(script *s, mem *m)
{
    strbuf all, one;
    strbuf_init(&all, m);
    strbuf_init(&one, m);
    strbuf_char(&all, '\n');
    for (int dirty = 0; dirty < 2; dirty++)
        for (uint64_t seed = 1, found = 0; seed <= DRAWN && found < PROMISING; seed++) {
            script_order_by_chance(s, m, seed);
            if (script_order_promises(s, dirty)) found += add_order(s, &all, &one);
        }
    for (uint64_t seed = 1; seed <= ORDERS; seed++) {
        script_order_by_chance(s, m, seed);
        add_order(s, &all, &one);
    }
    return strbuf_cstr(&all);
}

static void add_step(litmus_table *t, const char *weak, const char *strong, const ratel_history *h)
{
    mem *m = t->mem;
    script s = {0};
    strbuf text, signs, name, title;
    strbuf_init(&text, m);
    strbuf_init(&signs, m);
    strbuf_init(&name, m);
    strbuf_init(&title, m);
    if (!recording_script(&s, m, h)) return;
    const char *more = other_orders(&s, m);
    script_order_by_time(&s, m);
    script_write_signs(&s, &signs);
    strbuf_printf(&name, "%s-not-%s", weak, strong);
    strbuf_printf(&title, "Allowed at %s, forbidden at %s", weak, strong);
    script_write(&s, strbuf_cstr(&title), strong, more, strbuf_cstr(&signs), &text);
    litmus_case c = {.name = strbuf_cstr(&name)};
    spec_read(&c.spec, m, c.name, text.at, text.n);
    vec_push(m, &t->cases, c);
}

static int search_step(ratel_synth *y, const char *weak, const char *strong, ratel_history **found)
{
    int allow[2], forbid;
    ratel_synth_answer answer;
    *found = NULL;
    int code = ratel_synth_named(y, weak, &allow[0]);
    if (!code) code = ratel_synth_named(y, strong, &forbid);
    /* No session has two transactions (what is there at first precedes all): one server seldom
       forgets what a session did. */
    if (!code) code = ratel_synth_condition(y, "empty(so ; so)", &allow[1]);
    if (code) return code;
    ratel_synth_question q = {
        .allow = allow, .n_allow = 2, .forbid = &forbid, .n_forbid = 1, .txns = SYNTH_TXNS};
    return ratel_synth_search(found, y, &q, &answer);
}

int litmus_add_synthesized(litmus_table *t, ratel *context)
{
    ratel_synth *y = NULL;
    int code = ratel_synth_open(&y, context);
    for (size_t i = 0; !code && i < sizeof steps / sizeof *steps; i++) {
        ratel_history *h;
        code = search_step(y, steps[i][0], steps[i][1], &h);
        if (!code && h) add_step(t, steps[i][0], steps[i][1], h);
        ratel_history_free(h);
    }
    ratel_synth_close(y);
    return code;
}
