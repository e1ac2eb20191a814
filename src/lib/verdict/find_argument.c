/*
 * find_argument.c - which transactions an argument is about: the three steps of find_argument.h.
 */
#include "verdict/find_argument.h"

#include <assert.h>

#include "history/key_sessions.h"
#include "verdict/narrow.h"
#include "verdict/sums.h"

void find_argument(explanation *e, mem *m, const verdict *v, const history *h, mem *keep, mem *work)
{
    explain_ask q = {v->level,   v->session_order, v->ryow,   v->drift,
                     v->anomaly, v->core.at,       v->core.n, true};
    if (v->outcome != OUTCOME_VIOLATED) return;
    if (v->through) level_named(&q.level, v->through);
    assert(v->h == h && !e->argued);
    if (v->assumed || history_has_sums(h)) {
        e->m = m;
        e->anomaly = v->anomaly;
        e->why_not = !v->assumed
                         ? "it is about sums, and the reason says which"
                         : "it rests on what modules add, which is stated in their own words";
        return;
    }
    if (q.level.id == LEVEL_LIN) h = key_sessions(h, m);
    explain(e, m, h, &q);
    if (e->argued) return;
    txn_ids few = {0};
    if (narrow(v, h, keep, work, m, &few) && few.n && few.n <= SCENE_MOST) {
        q.core = few.at;
        q.n = few.n;
    } else {
        q.alone = false;
    }
    explain(e, m, h, &q);
    /* That no transaction of a lower level wrote between two serializable ones is about all of the
       history's, not of the part that is violated by itself. */
    if (e->argued || q.alone == false || q.level.id != LEVEL_MIXED_PG) return;
    q.alone = false;
    explain(e, m, h, &q);
}
