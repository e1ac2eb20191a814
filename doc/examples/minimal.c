/* Builds a history of three sessions with libratel and asks whether it is causal. */
#include <ratel.h>
#include <stdio.h>
#include <string.h>

static ratel_value text(const char *s)
{
    ratel_value v = {.type = RATEL_STR, .as.str = {s, strlen(s)}};
    return v;
}

static const ratel_value nothing = {.type = RATEL_NULL};

/* Ann posts; Bob reads the post and likes it; Eve sees the like, but no post. */
static int build(ratel_history *h)
{
    int bad = 0; /* each call returns 0 or an error */
    bad |= ratel_history_begin(h, text("ann"));
    bad |= ratel_history_id(h, text("publish"));
    bad |= ratel_history_put(h, text("post"), text("hello"), 0);
    bad |= ratel_history_end(h, RATEL_COMMITTED);
    bad |= ratel_history_begin(h, text("bob"));
    bad |= ratel_history_id(h, text("like"));
    bad |= ratel_history_get(h, text("post"), text("hello"), 0);
    bad |= ratel_history_put(h, text("likes"), text("bob"), 0);
    bad |= ratel_history_end(h, RATEL_COMMITTED);
    bad |= ratel_history_begin(h, text("eve"));
    bad |= ratel_history_id(h, text("look"));
    bad |= ratel_history_get(h, text("likes"), text("bob"), 0);
    bad |= ratel_history_get(h, text("post"), nothing, 0);
    bad |= ratel_history_end(h, RATEL_COMMITTED);
    return bad ? bad : ratel_history_freeze(h);
}

int main(void)
{
    ratel *r = NULL;
    ratel_history *h = NULL;
    ratel_result *a = NULL;
    if (ratel_open(&r, NULL)) return 70;
    if (ratel_history_new(&h, r))
        fprintf(stderr, "%s\n", ratel_errmsg(r));
    else if (build(h))
        fprintf(stderr, "%s\n", ratel_history_errmsg(h));
    else if (ratel_check(&a, r, h, "causal"))
        fprintf(stderr, "%s\n", ratel_errmsg(r));
    else if (ratel_result_verdict(a) == RATEL_VIOLATED)
        printf("%s: %s\n", ratel_result_anomaly(a), ratel_result_reason(a));
    ratel_verdict v = ratel_result_verdict(a); /* undecided if there is no result */
    ratel_result_free(a);
    ratel_history_free(h);
    ratel_close(r);
    return v == RATEL_HOLDS ? 0 : v == RATEL_VIOLATED ? 1 : 2;
}
