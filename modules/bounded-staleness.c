/* bounded-staleness.c - what committed `bound` time units before a transaction began was seen by
   it.  Linear: a chain of points, one for each time at which something begins. */
#include <stdio.h>
#include <stdlib.h>

#include "ratel-module.h"

typedef struct moment {
    int64_t at;
    uint32_t txn;
} moment;

static int by_time(const void *a, const void *b)
{
    const moment *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

static int late_enough(int64_t end, int64_t begin, uint64_t bound)
{
    return end < begin && (uint64_t)begin - (uint64_t)end >= bound;
}

static int extend(const ratel_module *self, const ratel_module_host *host, ratel_module_call *c)
{
    const char *given = host->setting(c, "bound");
    char *rest = NULL;
    uint64_t bound = given && *given >= '0' && *given <= '9' ? strtoull(given, &rest, 10) : 0;
    uint32_t n = host->txns(c), begins = 0;
    moment *begin = malloc((n + 1) * sizeof *begin);
    uint32_t *point = malloc((n + 1) * sizeof *point);
    char reason[80];
    ratel_module_txn x;
    (void)self;
    if (!rest || *rest) host->refuse(c, "the setting bound is no number, as in :bound=5000");
    snprintf(reason, sizeof reason, "nothing is seen more than %llu late",
             (unsigned long long)bound);
    if (!begin || !point) host->refuse(c, "out of memory");
    for (uint32_t t = 0; begin && point && t < n; t++)
        if (host->txn(c, t, &x) && x.begin != RATEL_NO_TIME) begin[begins++] = (moment){x.begin, t};
    if (begins) qsort(begin, begins, sizeof *begin, by_time);
    for (uint32_t i = 0; i < begins; i++) {
        point[i] = host->point(c);
        ratel_module_edge e[] = {
            {point[i], begin[i].txn, RATEL_POINT, RATEL_BEGIN, RATEL_ORDERS},
            {i ? point[i - 1] : 0, point[i], RATEL_POINT, RATEL_POINT, RATEL_ORDERS}};
        host->add(c, e, i ? 2 : 1, reason);
    }
    for (uint32_t t = 0; begins && t < n; t++) {
        uint32_t lo = 0, hi = begins;
        host->txn(c, t, &x);
        if (x.status != RATEL_COMMITTED_TXN || x.end == RATEL_NO_TIME) continue;
        while (lo < hi) { /* the first begin that is late enough */
            uint32_t mid = lo + (hi - lo) / 2;
            if (late_enough(x.end, begin[mid].at, bound))
                hi = mid;
            else
                lo = mid + 1;
        }
        ratel_module_edge e = {t, lo < begins ? point[lo] : 0, RATEL_COMMIT, RATEL_POINT,
                               RATEL_ORDERS};
        if (lo < begins) host->add(c, &e, 1, reason);
    }
    free(begin);
    free(point);
    return 0;
}

const ratel_module *ratel_module_entry(void)
{
    static const ratel_module module = {RATEL_MODULE_ABI,
                                        sizeof module,
                                        "bounded-staleness",
                                        "what committed long enough ago is seen",
                                        NULL,
                                        extend,
                                        NULL};
    return &module;
}
