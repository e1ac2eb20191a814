/*
 * A long history is violated; what is the smallest part of it that still is? The history is made by
 * the generator, with one lost update in it. Compiles as C11 and as C++17.
 */
#define RATEL_EXPERIMENTAL
#include <ratel.h>
#include <stdio.h>
#include <string.h>

static int print(const void *bytes, size_t n, void *payload)
{
    return fwrite(bytes, 1, n, (FILE *)payload) != n;
}

int main(void)
{
    ratel *r = NULL;
    ratel_history *h = NULL, *part = NULL;
    ratel_result *a = NULL;
    ratel_gen_options o;
    ratel_shrunk s;
    const char *truth = NULL;
    int bad = 1;
    memset(&o, 0, sizeof o);
    o.workload = "blindw-rw";
    o.isolation = "serializable";
    o.anomalies = "lost-update";
    o.txns = 500;
    o.sessions = 8;
    o.keys = 20;
    o.ops = 4;
    o.seed = 1;
    o.no_times = 1;
    if (ratel_open(&r, NULL)) return 70;
    if (ratel_gen(&h, r, &o, &truth) || ratel_check(&a, r, h, "snapshot-isolation") ||
        ratel_shrink(&part, r, h, a, &s) || ratel_history_write(part, r, "ratel", print, stdout))
        fprintf(stderr, "%s\n", ratel_errmsg(r));
    else {
        printf("%s in %d transactions\n", s.anomaly, (int)s.txns);
        bad = !s.minimal || strcmp(s.anomaly, "lost-update") != 0;
    }
    ratel_result_free(a);
    ratel_history_free(part);
    ratel_history_free(h);
    ratel_close(r);
    return bad;
}
