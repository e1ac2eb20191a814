/*
 * judge.c - from a question to an answer.
 *
 * Builds the semantic graph, runs the decision that the level needs, and says the result in the
 * history's own terms.  A level that this build does not decide can still be refuted by a weaker
 * one that it implies (LEVELS.md 6); else the answer is `undecided`, with the reason.
 */
#include "verdict/verdict.h"

#include <assert.h>
#include <stdio.h>

#include "base/clock.h"
#include "ir/weak.h"
#include "verdict/words.h"

const char *warning_name(enum warning w)
{
    static const char *const names[] = {
#define X(id, name, text) name,
        WARNING_LIST(X)
#undef X
    };
    return names[w];
}

const char *warning_text(enum warning w)
{
    static const char *const texts[] = {
#define X(id, name, text) text,
        WARNING_LIST(X)
#undef X
    };
    return texts[w];
}

/* The levels of this build by their test. */
static bool weak_of(enum level_id id, enum weak_level *out)
{
    switch (id) {
    case LEVEL_RU: *out = WEAK_RU; return true;
    case LEVEL_RC: *out = WEAK_RC; return true;
    case LEVEL_MAV: *out = WEAK_MAV; return true;
    case LEVEL_RA: *out = WEAK_RA; return true;
    case LEVEL_CC: *out = WEAK_CC; return true;
    default: return false;
    }
}

/* --- the read-your-own-writes policy ------------------------------------------------------------ */

/* The strictest policy under which every read of an own-written key is explained. */
static enum ryow pick_policy(const history *h, mem *work)
{
    static const enum ryow strictest_first[] = {RYOW_MUST, RYOW_EXTERNAL};
    for (size_t i = 0; i < 2; i++) {
        asg g;
        asg_build(&g, h, work, strictest_first[i], 0);
        bool bad = false;
        for (size_t j = 0; j < g.faults.n; j++) {
            uint32_t a = g.faults.at[j].anomaly;
            bad = bad || a == ANOMALY_NOT_OWN_WRITE || (i == 1 && a == ANOMALY_FUTURE_READ) ||
                  (i == 1 && a == ANOMALY_GARBAGE_READ);
        }
        mem_free_all(work);
        if (!bad) return strictest_first[i];
    }
    return RYOW_MAY;
}

/* --- deciding ------------------------------------------------------------------------------------- */

typedef struct attempt {
    asg g;
    weak_answer a;
} attempt;

static void decide(attempt *t, const history *h, mem *work, enum weak_level level, bool so,
                   enum ryow ryow, unsigned flags)
{
    mem_free_all(work);
    asg_build(&t->g, h, work, ryow, flags);
    assert(!asg_check(&t->g));
    weak_decide(&t->g, level, so, &t->a);
    /* A key of unknown initial contents was taken to have held something nobody wrote; before
       that is held against the history, every initial value gets its chance. */
    if (t->a.verdict == WEAK_VIOLATED && t->g.init_assumed) {
        mem_free_all(work);
        asg_build(&t->g, h, work, ryow, flags | ASG_INIT_FREE);
        weak_decide(&t->g, level, so, &t->a);
    }
}

static void keep_witness(verdict *v, const attempt *t)
{
    const asg *g = &t->g;
    v->order = mem_array(&v->mem, txn_id, (size_t)t->a.n + 1);
    v->ordered = t->a.n;
    for (uint32_t i = 0; i < t->a.n; i++) v->order[i] = g->node_txn[t->a.order[i]];
    for (size_t i = 0; i < g->open.n; i++) {
        uint32_t ob = g->open.at[i], rf = t->a.rf[ob];
        if (rf >= RF_LAST && rf != RF_INIT) continue;
        chosen c = {g->ob_op[ob], g->ob_key[ob], rf == RF_INIT ? NO_ID : g->node_txn[rf]};
        vec_push(&v->mem, &v->choices, c);
    }
}

/* Is it still violated without session order, without hints? */
static void find_rests(verdict *v, const history *h, enum weak_level level, bool uses_hints)
{
    attempt t;
    if (v->session_order) {
        decide(&t, h, &v->work, level, false, v->ryow, 0);
        if (t.a.verdict == WEAK_HOLDS) v->rests_on |= RESTS_SESSION;
    }
    if (uses_hints) {
        decide(&t, h, &v->work, level, v->session_order, v->ryow, ASG_NO_HINTS);
        if (t.a.verdict == WEAK_HOLDS) v->rests_on |= RESTS_HINTS;
    }
}

static void set_reason(verdict *v, const char *text)
{
    size_t n = strlen(text);
    v->reason = mem_get(&v->mem, n + 1);
    memcpy(v->reason, text, n + 1);
}

static void decide_weak(verdict *v, const history *h, enum weak_level level, const question *q)
{
    attempt t;
    uint64_t start = clock_now();
    decide(&t, h, &v->work, level, v->session_order, v->ryow, 0);
    v->ns_analyse = clock_now() - start;
    if (t.g.duplicate_values) v->warnings |= 1u << WARNING_DUPLICATE_VALUES;
    if (t.g.garbage) v->warnings |= 1u << WARNING_NEVER_WRITTEN;
    v->instantiated = t.g.base_extra + t.a.derived;
    switch (t.a.verdict) {
    case WEAK_HOLDS:
        v->outcome = OUTCOME_HOLDS;
        keep_witness(v, &t);
        set_reason(v, "a commit order explains every read");
        break;
    case WEAK_VIOLATED:
        v->outcome = OUTCOME_VIOLATED;
        words_explain(v, &t.g, &t.a, level);
        if (!q->quick) find_rests(v, h, level, t.g.uses_hints);
        break;
    case WEAK_UNDECIDED:
        v->outcome = OUTCOME_UNDECIDED;
        set_reason(v, t.a.reason);
        break;
    }
    mem_free_all(&v->work);
}

/* Refutes a level that this build cannot decide through the strongest ones it implies that it
   can; returns false if that refutes nothing. */
static bool refute(verdict *v, const history *h, const question *q)
{
    static const enum level_id strongest_first[] = {LEVEL_CC, LEVEL_RA, LEVEL_MAV, LEVEL_RC,
                                                    LEVEL_RU};
    bool asked_so = v->session_order;
    level_ref asked = v->level;
    for (size_t i = 0; i < sizeof strongest_first / sizeof *strongest_first; i++) {
        enum level_id id = strongest_first[i];
        for (int so = 1; so >= 0; so--) {
            if (!level_implies(asked.id, asked_so, asked.realtime, id, so, false)) continue;
            /* One strongest level is enough where it implies the rest; levels off the causal
               line (cursor stability and the like) go on to the next. */
            enum weak_level w;
            if (!weak_of(id, &w)) continue;
            v->session_order = so;
            decide_weak(v, h, w, q);
            v->session_order = asked_so;
            if (v->outcome == OUTCOME_VIOLATED) {
                const char *name = level_at(id)->name;
                v->through = mem_get(&v->mem, strlen(name) + 1);
                memcpy(v->through, name, strlen(name) + 1);
                return true;
            }
            v->reason = NULL;
            v->ordered = 0;
            v->choices.n = 0;
            if (v->outcome == OUTCOME_HOLDS) return false; /* what it implies holds too */
        }
    }
    return false;
}

static void warn(verdict *v, const facts *f, const history *h)
{
    if (!f->concurrent) v->warnings |= 1u << WARNING_NO_CONCURRENCY;
    if (f->unknown) v->warnings |= 1u << WARNING_UNKNOWN_OUTCOMES;
    if (!f->keys_written_twice) v->warnings |= 1u << WARNING_NO_CONTENTION;
    if (!f->reads && !f->scans && !f->iterators) v->warnings |= 1u << WARNING_NO_READS;
    if (f->duplicate_writes) v->warnings |= 1u << WARNING_DUPLICATE_VALUES;
    if (h->init_unknown) v->warnings |= 1u << WARNING_UNKNOWN_INIT;
    bool realtime = v->level.realtime || v->level.id == LEVEL_SSER || v->level.id == LEVEL_FCV ||
                    v->level.id == LEVEL_GSI || v->level.id == LEVEL_PCSI ||
                    v->level.id == LEVEL_SSI;
    if (realtime && !f->with_times) v->warnings |= 1u << WARNING_NO_TIMES;
}

void judge(verdict *v, const history *h, const question *q)
{
    facts f;
    v->h = h;
    v->anomaly = ANOMALIES;
    v->session_order = level_session_order(&v->level, q->session_order);
    facts_gather(&f, h, &v->work);
    v->txns = f.txns;
    v->ops = f.ops;
    v->sessions = f.sessions;
    v->keys = f.keys;
    warn(v, &f, h);
    if (!f.txns) {
        set_reason(v, "nothing to check: no committed transaction");
        v->warnings = 0;
        return;
    }
    v->ryow = q->policy == POLICY_AUTO ? pick_policy(h, &v->work) : (enum ryow)q->policy;
    enum weak_level level;
    if (weak_of(v->level.id, &level) && !v->level.realtime) {
        decide_weak(v, h, level, q);
        return;
    }
    if (refute(v, h, q)) return;
    v->outcome = OUTCOME_UNDECIDED;
    v->anomaly = ANOMALIES;
    set_reason(v, "this version does not decide the level yet, and nothing that it implies and "
                  "that can be decided is violated");
}
