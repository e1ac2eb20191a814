/*
 * synth_history.c - what synth found as a history with values, for the library.
 *
 * What the search finds has no values; here it gets some.  Before anything is printed the library
 * checks it once more, at every level that it decides itself.
 */
#include <string.h>

#include "cli/synth_cli.h"

static ratel_value text_value(const char *s)
{
    return (ratel_value){.type = RATEL_STR, .as.str = {s, strlen(s)}};
}

static ratel_value int_value(int64_t i)
{
    return (ratel_value){.type = RATEL_INT, .as.i = i};
}

/* The code of the first call that failed, or 0. */
static int add_transaction(ratel_history *h, const synth_answer *r, uint32_t t)
{
    char name[24];
    int code = ratel_history_begin(h, int_value(r->session[t]));
    snprintf(name, sizeof name, "t%u", (unsigned)t);
    if (!code) code = ratel_history_id(h, text_value(name));
    for (int writes = 0; writes < 2; writes++)
        for (uint32_t x = 0; !code && x < r->keys; x++) {
            uint32_t from = r->from[(size_t)t * r->keys + x];
            synth_key_name(x, name, sizeof name);
            if (!writes && from != SYNTH_NONE_READ)
                code = ratel_history_get(h, text_value(name), int_value(from), 0);
            if (writes && r->writes[(size_t)t * r->keys + x])
                code = ratel_history_put(h, text_value(name), int_value(t), 0);
        }
    return code ? code : ratel_history_end(h, RATEL_COMMITTED);
}

/* The initial value is 0; the write of transaction t has the value t, unique for a key. */
static int build(const args *a, const synth_answer *r, ratel_history **out)
{
    if (ratel_history_new(out, a->context)) {
        complain("out of memory");
        return EXIT_UNDECIDED;
    }
    int code = ratel_history_init(*out, int_value(0));
    for (uint32_t t = 1; !code && t <= r->txns; t++) code = add_transaction(*out, r, t);
    if (!code) code = ratel_history_freeze(*out);
    if (!code) return EXIT_HOLDS;
    complain("synth: %s", ratel_history_errmsg(*out));
    return code == RATEL_ENOMEM ? EXIT_UNDECIDED : EXIT_BUG;
}

/* The second opinion: the library's own decision at the levels it has. */
static bool agrees(const args *a, synth *s, const ratel_history *h, const level_list *levels,
                   ratel_verdict want)
{
    for (size_t i = 0; i < levels->n; i++) {
        const char *builtin = synth_level_builtin(s, levels->at[i]);
        ratel_result *r;
        if (!*builtin || ratel_check(&r, a->context, h, builtin)) continue;
        ratel_verdict v = ratel_result_verdict(r);
        ratel_result_free(r);
        if (v == want || v == RATEL_UNDECIDED) continue;
        complain("synth: the checker disagrees about %s on the history found; please report this",
                 synth_level_name(s, levels->at[i]));
        return false;
    }
    return true;
}

int confirm(const args *a, synth *s, const synth_answer *r, const level_list *allow,
            const level_list *forbid, ratel_history **out)
{
    ratel_history *h = NULL;
    int status = build(a, r, &h);
    if (!status && synth_is_chains(r) &&
        !(agrees(a, s, h, allow, RATEL_HOLDS) && agrees(a, s, h, forbid, RATEL_VIOLATED)))
        status = EXIT_BUG;
    if (out)
        *out = h;
    else
        ratel_history_free(h);
    return status;
}
