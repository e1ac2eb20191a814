/*
 * certify.c - answers as claims, for the second opinion (src/verify).
 */
#include "verdict/verdict.h"

bool recheck(const verdict *v, const history *h, mem *m, const char **why)
{
    claim c = {.level = v->level,
               .session_order = v->session_order,
               .ryow = v->ryow,
               .drift = v->drift,
               .outcome = v->outcome,
               .order = v->order,
               .ordered = v->ordered,
               .choices = v->choices,
               .anomaly = v->anomaly,
               .reason = v->reason,
               .cycle = v->cycle,
               .core = v->core,
               .through = v->through};
    return claim_recheck(&c, h, m, why);
}
