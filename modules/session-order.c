/* session-order.c - the transactions of a session happen in its order, as with --session-order on.
   What follows one of unknown outcome follows the last one before it that surely committed. */
#include <stdio.h>

#include "ratel-module.h"

static int extend(const ratel_module *self, const ratel_module_host *host, ratel_module_call *c)
{
    (void)self;
    for (uint32_t s = 0; s < host->sessions(c); s++) {
        uint32_t last = RATEL_NO_NUMBER, t;
        for (uint32_t i = 0; (t = host->session_txn(c, s, i)) != RATEL_NO_NUMBER; i++) {
            ratel_module_txn x;
            host->txn(c, t, &x);
            if (x.status == RATEL_ABORTED_TXN) continue;
            if (last != RATEL_NO_NUMBER) {
                char a[40], b[40], reason[160];
                host->txn_name(c, last, a, sizeof a);
                host->txn_name(c, t, b, sizeof b);
                snprintf(reason, sizeof reason, "%s comes before %s in their session", a, b);
                ratel_module_edge e = {last, t, RATEL_COMMIT, RATEL_BEGIN, RATEL_DEPENDS};
                host->add(c, &e, 1, reason);
            }
            if (x.status == RATEL_COMMITTED_TXN) last = t;
        }
        if (host->poll(c)) return 1;
    }
    return 0;
}

const ratel_module *ratel_module_entry(void)
{
    static const ratel_module module = {
        RATEL_MODULE_ABI, sizeof module, "session-order", "the order of a session counts", NULL,
        extend,           NULL};
    return &module;
}
