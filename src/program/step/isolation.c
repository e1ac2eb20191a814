/*
 * isolation.c - the scheduler of isolationtester, told anew (isolation.h).
 *
 * A session has at most one active turn, from the moment its statement is sent until it is
 * reported as complete.  A turn that was reported as waiting is in the list of waiting turns; the
 * list is in the order of these reports, which is also the order in which they are looked at.
 */
#include "step/isolation.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/sort.h"

#define STEP_SECONDS 300u /* then a step is cancelled, as there; twice that: given up */
#define LOOK_MS 10u       /* between looks at locks */

typedef struct played_turn {
    uint32_t step;
    const spec_blocker *blockers;
    uint32_t n_blockers;
    uint32_t *notices; /* by blocker: how many the other session must have sent */
} played_turn;

typedef struct played_session {
    const played_turn *active; /* NULL: idle */
    uint32_t notices;
} played_session;

typedef struct isolation {
    db *db;
    mem *mem;
    const spec *spec;
    pg_stage *stage;
    const isolation_user *user;
    stage_user watcher;
    strbuf *out;
    isolation_result *result;
    played_session *sessions;
    played_turn *turns; /* of the permutation */
    uint32_t n_turns;
    const played_turn **waiting;
    uint32_t n_waiting;
    bool noticed; /* a notice has come */
} isolation;

enum patience { UNTIL_BLOCKED, UNTIL_DONE };

/* --- what the sessions tell ------------------------------------------------------------------- */

static void hear_notice(void *ud, uint32_t session, const char *text)
{
    isolation *p = ud;
    strbuf_printf(p->out, "%s: %s", p->spec->sessions.at[session].name, text);
    p->sessions[session].notices++;
    p->noticed = true;
}

static void hear_answer(void *ud, uint32_t session, const stage_answer *a)
{
    const isolation *p = ud;
    if (p->user) p->user->answer(p->user->ud, session, a);
}

static bool fail_run(isolation *p, const char *what, const char *detail)
{
    strbuf b;
    strbuf_init(&b, p->mem);
    strbuf_printf(&b, "%s%s", what, detail);
    if (!p->result->failed) p->result->failed = strbuf_cstr(&b);
    return false;
}

static bool must_stop(isolation *p)
{
    if (p->user && p->user->stop(p->user->ud)) p->result->stopped = true;
    return p->result->stopped;
}

static void tell_sent(const isolation *p, uint32_t session, const char *sql)
{
    if (p->user && session != STAGE_CONTROL) p->user->sent(p->user->ud, session, sql);
}

static void tell_ready(const isolation *p, uint32_t session)
{
    if (p->user && session != STAGE_CONTROL)
        p->user->ready(p->user->ud, session, pg_stage_status(p->stage, session));
}

/* --- setups and teardowns --------------------------------------------------------------------- */

/* Runs to its end; false: an error, and `what` and the message are in the output. */
static bool run_text(isolation *p, uint32_t session, spec_text t, const char *what)
{
    const char *sql = spec_sql(p->spec, t, "postgres");
    if (!sql) return true;
    uint64_t start = clock_now();
    bool cancelled = false;
    tell_sent(p, session, sql);
    bool good = pg_stage_send(p->stage, session, sql);
    while (good && pg_stage_wait(p->stage, session, LOOK_MS) == STAGE_BUSY) {
        bool late = clock_now() - start > STEP_SECONDS * 1000000000ull;
        if (!cancelled && (must_stop(p) || late))
            cancelled = pg_stage_cancel(p->stage, session) || p->result->stopped;
        if (cancelled && clock_now() - start > 2 * STEP_SECONDS * 1000000000ull) good = false;
    }
    good = good && pg_stage_answers(p->stage, session, false, p->out);
    tell_ready(p, session);
    if (good) return true;
    const char *of = session == STAGE_CONTROL ? "" : " of session ";
    const char *name = session == STAGE_CONTROL ? "" : p->spec->sessions.at[session].name;
    strbuf_printf(p->out, "%s%s%s failed: %s\n", what, of, name, pg_stage_error(p->stage, session));
    return false;
}

static bool set_up_permutation(isolation *p, uint32_t number)
{
    const spec *s = p->spec;
    for (size_t i = 0; i < s->setups.n; i++)
        if (!run_text(p, STAGE_CONTROL, s->setups.at[i], "setup"))
            return fail_run(p, "setup failed: ", pg_stage_error(p->stage, STAGE_CONTROL));
    if (p->user) p->user->begin(p->user->ud, number);
    for (uint32_t i = 0; i < s->sessions.n; i++)
        if (!run_text(p, i, s->sessions.at[i].setup, "setup"))
            return fail_run(p, "setup of a session failed: ", pg_stage_error(p->stage, i));
    return true;
}

static void tear_down_permutation(isolation *p)
{
    for (uint32_t i = 0; i < p->spec->sessions.n; i++)
        run_text(p, i, p->spec->sessions.at[i].teardown, "teardown");
    if (p->user) p->user->end(p->user->ud);
    run_text(p, STAGE_CONTROL, p->spec->teardown, "teardown");
}

/* --- one step --------------------------------------------------------------------------------- */

static uint32_t session_of(const isolation *p, const played_turn *t)
{
    return p->spec->steps.at[t->step].session;
}

static const char *step_sql(const isolation *p, const played_turn *t)
{
    const char *sql = spec_sql(p->spec, p->spec->steps.at[t->step].text, "postgres");
    return sql ? sql : "";
}

/* Must the report that the step is complete wait? */
static bool is_held_back(const isolation *p, const played_turn *t)
{
    for (uint32_t i = 0; i < t->n_blockers; i++) {
        const spec_blocker *b = &t->blockers[i];
        if (b->kind == BLOCKER_ONCE) continue;
        const played_session *other = &p->sessions[p->spec->steps.at[b->step].session];
        if (b->kind == BLOCKER_STEP && other->active && other->active->step == b->step) return true;
        if (b->kind == BLOCKER_NOTICES && other->notices < t->notices[i]) return true;
    }
    return false;
}

static bool waits_once(const played_turn *t)
{
    for (uint32_t i = 0; i < t->n_blockers; i++)
        if (t->blockers[i].kind == BLOCKER_ONCE) return true;
    return false;
}

static bool report_waiting(isolation *p, const played_turn *t, bool again)
{
    if (again) return true;
    p->result->waits++;
    strbuf_printf(p->out, "step %s: %s <waiting ...>\n", p->spec->steps.at[t->step].name,
                  step_sql(p, t));
    return true;
}

static void report_complete(isolation *p, const played_turn *t, bool again)
{
    uint32_t session = session_of(p, t);
    const char *name = p->spec->steps.at[t->step].name;
    if (again)
        strbuf_printf(p->out, "step %s: <... completed>\n", name);
    else
        strbuf_printf(p->out, "step %s: %s\n", name, step_sql(p, t));
    if (!pg_stage_answers(p->stage, session, true, p->out)) p->result->errors++;
    pg_stage_notifications(p->stage, session, p->out);
    tell_ready(p, session);
    p->sessions[session].active = NULL;
}

/* A step that does not end is cancelled, and given up in the end. */
static bool lose_patience(isolation *p, const played_turn *t, uint64_t start, bool *cancelled)
{
    uint64_t seconds = (clock_now() - start) / 1000000000u;
    uint32_t session = session_of(p, t);
    const char *name = p->spec->steps.at[t->step].name;
    if (must_stop(p)) {
        pg_stage_cancel(p->stage, session);
        return true;
    }
    if (seconds >= STEP_SECONDS && !*cancelled) {
        *cancelled = pg_stage_cancel(p->stage, session);
        strbuf_printf(p->out, "isolationtester: canceling step %s after %u seconds\n", name,
                      (unsigned)seconds);
    }
    if (seconds < 2 * STEP_SECONDS) return false;
    fail_run(p, "a step neither returned nor could be cancelled: ", name);
    return true;
}

/* Waits until the step has returned or, if so asked, waits for another session; then reports what
   is to be reported.  True: it is not complete yet. */
static bool is_left_waiting(isolation *p, const played_turn *t, enum patience until, bool again)
{
    uint32_t session = session_of(p, t);
    uint64_t start = clock_now();
    bool cancelled = false, known;
    if (!again && waits_once(t)) return report_waiting(p, t, again);
    while (pg_stage_wait(p->stage, session, LOOK_MS) == STAGE_BUSY) {
        if (until == UNTIL_BLOCKED) {
            bool blocked = pg_stage_blocked(p->stage, session, &known);
            if (!known) {
                fail_run(p, "the server could not be asked which session waits: ",
                         pg_stage_error(p->stage, STAGE_CONTROL));
                return true;
            }
            /* Asking takes time, in which an answer or a notice may have come. */
            if (blocked && pg_stage_wait(p->stage, session, 0) != STAGE_BUSY) break;
            if (blocked) return report_waiting(p, t, again);
        }
        if (lose_patience(p, t, start, &cancelled)) return true;
    }
    if (is_held_back(p, t)) return report_waiting(p, t, again);
    report_complete(p, t, again);
    return false;
}

static bool ends_now(const isolation *p)
{
    return p->result->failed || p->result->stopped;
}

/* Looks at all that wait.  One that completes, or a notice, may let another one go whose report
   was held back: then once more. */
static void look_at_waiting(isolation *p, enum patience until)
{
    bool again = true;
    while (again && !ends_now(p)) {
        uint32_t before = p->n_waiting, kept = 0;
        bool held = false;
        p->noticed = false;
        for (uint32_t i = 0; i < before; i++) {
            const played_turn *t = p->waiting[i];
            bool left = ends_now(p) || is_left_waiting(p, t, until, true);
            if (left) p->waiting[kept++] = t;
            held = held || (left && t->n_blockers);
        }
        p->n_waiting = kept;
        again = held && (kept < before || p->noticed);
    }
}

static void forget_waiting(isolation *p, const played_turn *t)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < p->n_waiting; i++)
        if (p->waiting[i] != t) p->waiting[kept++] = p->waiting[i];
    p->n_waiting = kept;
}

/* Until the session has nothing active. */
static void finish_session(isolation *p, uint32_t session)
{
    uint64_t start = clock_now();
    while (p->sessions[session].active && !ends_now(p)) {
        const played_turn *t = p->sessions[session].active;
        if (!is_left_waiting(p, t, UNTIL_DONE, true)) forget_waiting(p, t);
        look_at_waiting(p, UNTIL_BLOCKED);
        if (p->sessions[session].active && clock_now() - start > 2 * STEP_SECONDS * 1000000000ull)
            fail_run(p, "a step never became complete: ", p->spec->steps.at[t->step].name);
        if (p->sessions[session].active) clock_nap(1000000);
    }
}

static void play_turn(isolation *p, const played_turn *t)
{
    uint32_t session = session_of(p, t);
    finish_session(p, session);
    if (ends_now(p)) return;
    tell_sent(p, session, step_sql(p, t));
    if (!pg_stage_send(p->stage, session, step_sql(p, t))) {
        strbuf_printf(p->out, "failed to send query for step %s: %s\n",
                      p->spec->steps.at[t->step].name, pg_stage_error(p->stage, session));
        fail_run(p, "a statement could not be sent: ", pg_stage_error(p->stage, session));
        return;
    }
    p->sessions[session].active = t;
    for (uint32_t i = 0; i < t->n_blockers; i++)
        if (t->blockers[i].kind == BLOCKER_NOTICES)
            t->notices[i] = t->blockers[i].notices +
                            p->sessions[p->spec->steps.at[t->blockers[i].step].session].notices;
    bool left = is_left_waiting(p, t, UNTIL_BLOCKED, false);
    look_at_waiting(p, UNTIL_BLOCKED);
    if (left) p->waiting[p->n_waiting++] = t;
}

/* --- permutations ----------------------------------------------------------------------------- */

/* After a failure: nothing may be under way when the connections are closed. */
static void abandon_permutation(isolation *p)
{
    for (uint32_t i = 0; i < p->spec->sessions.n; i++)
        if (p->sessions[i].active) pg_stage_cancel(p->stage, i);
}

static bool play_permutation(isolation *p, uint32_t number)
{
    strbuf_str(p->out, "\nstarting permutation:");
    for (uint32_t i = 0; i < p->n_turns; i++)
        strbuf_printf(p->out, " %s", p->spec->steps.at[p->turns[i].step].name);
    strbuf_char(p->out, '\n');
    p->n_waiting = 0;
    if (!set_up_permutation(p, number)) return false;
    for (uint32_t i = 0; i < p->n_turns && !ends_now(p); i++) play_turn(p, &p->turns[i]);
    look_at_waiting(p, UNTIL_DONE);
    if (p->n_waiting && !ends_now(p)) {
        strbuf_str(p->out, "failed to complete permutation due to mutually-blocking steps\n");
        fail_run(p, "steps of a permutation wait for each other", "");
    }
    if (ends_now(p)) {
        abandon_permutation(p);
        return false;
    }
    tear_down_permutation(p);
    p->result->permutations++;
    /* a server that has gone looks like steps that failed */
    bool known;
    pg_stage_blocked(p->stage, 0, &known);
    if (!known)
        return fail_run(
            p, "the connection to the server was lost: ", pg_stage_error(p->stage, STAGE_CONTROL));
    return !must_stop(p);
}

static void play_listed(isolation *p)
{
    const spec *s = p->spec;
    uint32_t most = 0;
    for (size_t i = 0; i < s->permutations.n; i++)
        if (s->permutations.at[i].n > most) most = s->permutations.at[i].n;
    p->turns = mem_array(p->mem, played_turn, most);
    uint32_t *notices = mem_array0(p->mem, uint32_t, s->blockers.n + 1);
    for (uint32_t k = 0; k < s->permutations.n; k++) {
        const spec_permutation *o = &s->permutations.at[k];
        p->n_turns = o->n;
        for (uint32_t i = 0; i < o->n; i++) {
            const spec_turn *t = &s->turns.at[o->first + i];
            p->turns[i] =
                (played_turn){.step = t->step,
                              .blockers = t->n_blockers ? s->blockers.at + t->first_blocker : NULL,
                              .n_blockers = t->n_blockers,
                              .notices = notices + t->first_blocker};
        }
        if (!play_permutation(p, k)) return;
    }
}

bool isolation_next_order(uint32_t *a, uint32_t n)
{
    if (n < 2) return false;
    uint32_t i = n - 1, k = n - 1;
    while (i && a[i - 1] >= a[i]) i--;
    if (!i) return false;
    while (a[k] <= a[i - 1]) k--;
    uint32_t swap = a[i - 1];
    a[i - 1] = a[k];
    a[k] = swap;
    for (k = n - 1; i < k; i++, k--) {
        swap = a[i];
        a[i] = a[k];
        a[k] = swap;
    }
    return true;
}

static void play_all_orders(isolation *p)
{
    const spec *s = p->spec;
    uint32_t n = (uint32_t)s->steps.n, number = 0;
    p->n_turns = n;
    p->turns = mem_array0(p->mem, played_turn, n);
    uint32_t *order = mem_array(p->mem, uint32_t, n);
    uint32_t *taken = mem_array(p->mem, uint32_t, s->sessions.n);
    for (uint32_t i = 0; i < n; i++) order[i] = s->steps.at[i].session;
    do {
        memset(taken, 0, s->sessions.n * sizeof *taken);
        for (uint32_t i = 0; i < n; i++)
            p->turns[i].step = s->sessions.at[order[i]].first + taken[order[i]]++;
    } while (play_permutation(p, number++) && isolation_next_order(order, n));
}

#define NAME_PRECEDES(a, b) (strcmp(a, b) < 0)

/* In the order of their names. */
static void name_unused(isolation *p)
{
    const spec *s = p->spec;
    bool *used = mem_array0(p->mem, bool, s->steps.n);
    const char **names = mem_array(p->mem, const char *, s->steps.n);
    const char **other = mem_array(p->mem, const char *, s->steps.n);
    size_t n = 0;
    for (size_t i = 0; i < s->turns.n; i++) used[s->turns.at[i].step] = true;
    for (size_t i = 0; i < s->steps.n; i++)
        if (!used[i]) names[n++] = s->steps.at[i].name;
    SORT_MERGE(const char *, names, other, n, NAME_PRECEDES);
    for (size_t i = 0; i < n; i++) strbuf_printf(p->out, "unused step name: %s\n", names[i]);
}

void isolation_run(db *d, mem *m, const spec *s, const char *application,
                   const isolation_user *user, strbuf *out, isolation_result *r)
{
    isolation p = {.db = d, .mem = m, .spec = s, .user = user, .out = out, .result = r};
    *r = (isolation_result){0};
    p.watcher = (stage_user){&p, hear_notice, hear_answer};
    p.sessions = mem_array0(m, played_session, s->sessions.n);
    p.waiting = mem_array(m, const played_turn *, s->sessions.n + 1);
    const char **names = mem_array(m, const char *, s->sessions.n);
    for (size_t i = 0; i < s->sessions.n; i++) names[i] = s->sessions.at[i].name;
    if (s->permutations.n) name_unused(&p);
    strbuf_printf(out, "Parsed test spec with %u sessions\n", (unsigned)s->sessions.n);
    p.stage = pg_stage_open(d, m, names, (uint32_t)s->sessions.n, application, &p.watcher);
    if (!p.stage) {
        fail_run(&p, "", d->error);
        return;
    }
    if (s->permutations.n)
        play_listed(&p);
    else
        play_all_orders(&p);
    pg_stage_close(p.stage);
}
