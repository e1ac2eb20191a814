/*
 * api_levels.c - the levels that single transactions of a history name.
 */
#define RATEL_EXPERIMENTAL
#include "ratel.h"

#include <string.h>

#include "api/api_internal.h"

#include "history/key_sessions.h"
#include "history/own_levels.h"
#include "opt/mixed_row.h"

int ratel_history_mixed(const ratel_history *h)
{
    return h && h->model->frozen && h->model->some_level;
}

int ratel_history_concerns(const ratel_history *h, const char *level)
{
    level_ref l;
    if (!h || !level || !h->model->frozen || !level_named(&l, level)) return 0;
    if (level_is_mixed(l.id)) return h->model->some_level;
    return l.id != LEVEL_LIN || history_first_larger(h->model) == NO_ID;
}

typedef struct level_call {
    call c;
    history *h;
    const char *session, *level;
    bool found;
} level_call;

static void body_level_of(call *c)
{
    level_call *lc = (level_call *)c;
    history_set_guard(lc->h, &c->guard);
    lc->found =
        history_level_of(lc->h, lc->session, strlen(lc->session), lc->level, strlen(lc->level));
}

int ratel_history_level_of(ratel_history *h, ratel *r, const char *session, const char *level)
{
    if (!h || !r || !session || !level) return RATEL_EINVAL;
    level_call lc = {.h = h->model, .session = session, .level = level};
    level_ref l;
    api_open(&lc.c, r);
    if (!level_named(&l, level)) return api_fail(r, RATEL_EINVAL, "no level \"%.60s\"", level);
    if (!h->model->frozen) return api_fail(r, RATEL_EINVAL, "the history is still being built");
    int code = api_border(&lc.c, body_level_of);
    history_set_guard(lc.h, NULL);
    code = api_close(&lc.c, code);
    if (!code && !lc.found)
        return api_fail(r, RATEL_EINVAL, "the history has no session %.80s", session);
    return code;
}
