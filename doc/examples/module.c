/*
 * A rule of your own: nobody starts before the first doctor is done. Compiles as C11 and as C++17.
 */
#include <ratel-module.h>
#include <ratel.h>
#include <stdio.h>

static int extend(const ratel_module *self, const ratel_module_host *host, ratel_module_call *c)
{
    (void)self;
    for (uint32_t t = 1; t < host->txns(c); t++) {
        ratel_module_edge e = {0, t, RATEL_COMMIT, RATEL_BEGIN, RATEL_DEPENDS};
        host->add(c, &e, 1, "the first one was alone");
    }
    return host->poll(c);
}

int main(void)
{
    const ratel_module alone = {RATEL_MODULE_ABI, sizeof alone, "alone", "an example",
                                NULL,             extend,       NULL};
    ratel *r = NULL;
    ratel_history *h = NULL, *under = NULL;
    ratel_result *before = NULL, *after = NULL;
    int code = 1;
    if (ratel_open(&r, NULL)) return 70;
    if (ratel_history_read_path(&h, r, NULL, "doc/examples/doctors.jsonl") ||
        ratel_module_add(&under, r, h, &alone, NULL) ||
        ratel_check(&before, r, h, "snapshot-isolation") ||
        ratel_check(&after, r, under, "snapshot-isolation")) {
        fprintf(stderr, "%s\n", ratel_errmsg(r));
    } else {
        code = ratel_result_verdict(before) != RATEL_HOLDS ||
               ratel_result_verdict(after) != RATEL_VIOLATED;
        printf("%s\n", ratel_result_reason(after));
    }
    ratel_result_free(before);
    ratel_result_free(after);
    ratel_history_free(under);
    ratel_history_free(h);
    ratel_close(r);
    return code;
}
