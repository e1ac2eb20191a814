/*
 * Two transactions write the same value, so a reader's value alone does not tell whom it read from.
 * The database tells it: a hint. Compiles as C11 and as C++17.
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

static int write_light(ratel_history *h, const char *id, const char *colour, int64_t version)
{
    int bad = ratel_history_begin(h, text("operator"));
    bad |= ratel_history_id(h, text(id));
    bad |= ratel_history_put(h, text("light"), text(colour), 0);
    bad |= ratel_history_ver(h, version); /* of the write before */
    return bad | ratel_history_end(h, RATEL_COMMITTED);
}

static int record(ratel_history *h)
{
    int bad = write_light(h, "t1", "red", 1);
    bad |= write_light(h, "t2", "green", 2);
    bad |= write_light(h, "t3", "red", 3);
    bad |= ratel_history_begin(h, text("operator"));
    bad |= ratel_history_id(h, text("t4"));
    bad |= ratel_history_get(h, text("light"), text("red"), 0);
    bad |= ratel_history_from(h, text("t1")); /* red, but the red of long ago */
    bad |= ratel_history_attribute(h, "replica", "\"eu-2\"", 6);
    bad |= ratel_history_end(h, RATEL_COMMITTED);
    return bad ? bad : ratel_history_freeze(h);
}

int main(void)
{
    ratel *r = NULL;
    ratel_history *h = NULL;
    ratel_result *a = NULL;
    int violated = 0;
    if (ratel_open(&r, NULL)) return 70;
    if (ratel_history_new(&h, r))
        fprintf(stderr, "%s\n", ratel_errmsg(r));
    else if (record(h))
        fprintf(stderr, "%s\n", ratel_history_errmsg(h));
    else if (ratel_check(&a, r, h, "read-your-writes"))
        fprintf(stderr, "%s\n", ratel_errmsg(r));
    else {
        violated = ratel_result_verdict(a) == RATEL_VIOLATED;
        printf("%s\n", ratel_result_reason(a));
    }
    ratel_result_free(a);
    ratel_history_free(h);
    ratel_close(r);
    return violated ? 0 : 1;
}
