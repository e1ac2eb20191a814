/*
 * Feeds a history as it happens: two clients of a pretended store take turns, each inside a
 * transaction, and both withdraw from the same account. Compiles as C11 and as C++17.
 */
#include <ratel.h>
#include <stdio.h>
#include <string.h>

static ratel_value text(const char *s)
{
    ratel_value v;
    memset(&v, 0, sizeof v);
    v.type = RATEL_STR;
    v.as.str.s = s;
    v.as.str.n = strlen(s);
    return v;
}

static ratel_value number(int64_t i)
{
    ratel_value v;
    memset(&v, 0, sizeof v);
    v.type = RATEL_INT;
    v.as.i = i;
    return v;
}

/* What a recorder would do at each event. The first error is kept: look at it before the end. */
static int record(ratel_history *h)
{
    ratel_txn ann, bob;
    int bad = 0;
    bad |= ratel_history_init_key(h, text("account"), number(100));
    bad |= ratel_history_open(h, text("ann"), &ann); /* selects it */
    bad |= ratel_history_get(h, text("account"), number(100), 0);
    bad |= ratel_history_open(h, text("bob"), &bob);
    bad |= ratel_history_get(h, text("account"), number(100), 0);
    bad |= ratel_history_select(h, ann);
    bad |= ratel_history_put(h, text("account"), number(70), 0);
    bad |= ratel_history_end(h, RATEL_COMMITTED);
    bad |= ratel_history_select(h, bob);
    bad |= ratel_history_put(h, text("account"), number(60), 0);
    bad |= ratel_history_end(h, RATEL_COMMITTED);
    bad |= ratel_history_open(h, text("ann"), &ann);
    bad |= ratel_history_put(h, text("account"), number(0), 0);
    /* here the connection breaks: nobody knows */
    bad |= ratel_history_end_open(h, RATEL_STATUS_UNKNOWN);
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
    else if (record(h))
        fprintf(stderr, "%s\n", ratel_history_errmsg(h));
    else if (ratel_check(&a, r, h, "snapshot-isolation"))
        fprintf(stderr, "%s\n", ratel_errmsg(r));
    else
        printf("%s\n", ratel_result_anomaly(a));
    int lost = a && strcmp(ratel_result_anomaly(a), "lost-update") == 0;
    ratel_result_free(a);
    ratel_history_free(h);
    ratel_close(r);
    return lost ? 0 : 1;
}
