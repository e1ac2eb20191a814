/*
 * snapshot_replay.c - see snapshot_replay.h.
 *
 * A snapshot cannot be opened later, so an idle REPEATABLE READ connection, a pin, is opened after
 * each commit whose state some later transaction may read.  A transaction that needs an old state
 * gets it from its pin by pg_export_snapshot and SET TRANSACTION SNAPSHOT; the pin stays.  A pin is
 * opened while the next transaction is running already: only its commit has to wait for it.
 */
#include "reference/snapshot_replay.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "reference/ahead_replay.h"
#include "reference/read_states.h"

/* PASS_COST: so many transactions take as long as it takes to begin anew. */
enum { LOOK_BACK = 512, PASS_COST = 16 };

struct replay_pin {
    engine_conn c;
    bool used;
    uint32_t until;
    uint32_t unread; /* answers of statements that were sent */
    uint32_t state;  /* MariaDB: that it shows */
    char id[64];     /* of the exported snapshot, or "" */
};

bool surely_seen(const audit_schedule *plan, uint32_t x, uint32_t p)
{
    const schedule_times *a = &plan->times[x], *b = &plan->times[p];
    return a->known && b->known && a->end + plan->drift < b->begin;
}

bool perhaps_seen(const audit_schedule *plan, uint32_t x, uint32_t p)
{
    const schedule_times *a = &plan->times[x], *b = &plan->times[p];
    return !a->known || !b->known || a->call <= b->seen + plan->drift;
}

void replay_init(snapshot_replay *r, reference_engine *e)
{
    memset(r, 0, sizeof *r);
    r->e = e;
    r->n = e->plan->n;
    r->order = mem_array(e->mem, uint32_t, r->n + 1);
    memcpy(r->order, e->plan->at, r->n * sizeof *r->order);
    r->low = mem_array(e->mem, uint32_t, r->n + 1);
    r->high = mem_array(e->mem, uint32_t, r->n + 1);
    r->until = mem_array(e->mem, uint32_t, r->n + 2);
    r->first_read = mem_array0(e->mem, uint32_t, r->n + 1);
    r->pins = mem_array0(e->mem, replay_pin, REPLAY_PINS);
    r->pin_of = mem_array0(e->mem, uint32_t, r->n + 2);
    r->alone = mem_array0(e->mem, bool, r->n + 1);
    r->differed = mem_array0(e->mem, bool, r->n + 1);
    r->pause = r->alone_from = UINT32_MAX;
}

static void window_of(snapshot_replay *r, uint32_t i)
{
    const audit_schedule *plan = r->e->plan;
    uint32_t p = r->order[i], lowest = i > LOOK_BACK ? i - LOOK_BACK : 0;
    r->high[i] = i;
    if (r->newest_only) {
        r->low[i] = i;
        return;
    }
    /* MariaDB needs a pin for each position and state: 64 are enough for ten of both */
    uint32_t back = r->e->kind == ENGINE_MARIADB ? 10 : REPLAY_PINS - 1;
    r->low[i] = i > back ? i - back : 0;
    if (!plan->times[p].known || (!plan->strict && !r->serializable)) {
        r->short_window |= r->low[i] > 0;
        return;
    }
    uint32_t high = i, low = i;
    while (high > lowest &&
           (plan->no_state[r->order[high - 1]] || !perhaps_seen(plan, r->order[high - 1], p)))
        high--;
    while (low > lowest &&
           (plan->no_state[r->order[low - 1]] || !surely_seen(plan, r->order[low - 1], p)))
        low--;
    r->high[i] = high > low ? high : low;
    r->low[i] = low;
}

void replay_windows(snapshot_replay *r)
{
    r->short_window = false;
    for (uint32_t i = 0; i < r->n; i++) window_of(r, i);
    memset(r->differed, 0, r->n * sizeof *r->differed); /* the order may be another one */
    r->alone_from = UINT32_MAX;
}

/* How long states are kept, for those who may read older ones. */
static void keep_until(snapshot_replay *r)
{
    for (uint32_t s = 0; s <= r->n; s++) r->until[s] = 0;
    for (uint32_t i = 0; i < r->n; i++)
        for (uint32_t s = r->low[i]; r->alone[i] && s <= r->high[i]; s++)
            if (s < i && r->until[s] < i) r->until[s] = i;
}

/* ---- pins ------------------------------------------------------------------------------------ */

static bool settle(snapshot_replay *r, replay_pin *p)
{
    bool done = true;
    for (; p->unread; p->unread--) done = engine_finishes(r->e, &p->c) && done;
    return done;
}

static replay_pin *free_pin(snapshot_replay *r, uint32_t position)
{
    replay_pin *soonest = NULL;
    for (uint32_t i = 0; i < REPLAY_PINS; i++) {
        replay_pin *p = &r->pins[i];
        if (!p->used || p->until < position) return p;
        if (!soonest || p->until < soonest->until) soonest = p;
    }
    return soonest; /* the state is lost for those who would have read it */
}

static void forget_pin(snapshot_replay *r, replay_pin *p, uint32_t state)
{
    uint32_t number = (uint32_t)(p - r->pins) + 1,
             from = state > 2 * LOOK_BACK ? state - 2 * LOOK_BACK : 0;
    for (uint32_t s = from; s <= state; s++)
        if (r->pin_of[s] == number) r->pin_of[s] = 0;
}

/* The present state will be read by a later position. */
static void open_pin(snapshot_replay *r, uint32_t state)
{
    reference_engine *e = r->e;
    const char *begin = r->serializable ? "BEGIN ISOLATION LEVEL SERIALIZABLE"
                                        : "BEGIN ISOLATION LEVEL REPEATABLE READ";
    replay_pin *p = free_pin(r, state);
    settle(r, p);
    if (!p->c.open && !engine_connect(e, &p->c)) return; /* fewer pins will have to do */
    forget_pin(r, p, state);
    if (p->used) engine_starts(e, &p->c, "ROLLBACK");
    engine_starts(e, &p->c, begin);
    engine_starts(e, &p->c, "SELECT 1"); /* takes the snapshot */
    p->unread = p->used ? 3 : 2;
    p->used = true;
    p->until = r->until[state];
    p->id[0] = 0;
    r->pin_of[state] = (uint32_t)(p - r->pins) + 1;
}

/* MariaDB cannot share a snapshot: each position has a pin of its own for each state. */
static void open_pins(snapshot_replay *r, uint32_t state)
{
    reference_engine *e = r->e;
    for (uint32_t i = state + 1; i <= r->until[state]; i++) {
        if (state < r->low[i] || state > r->high[i]) continue;
        replay_pin *p = r->pins;
        while (p < r->pins + REPLAY_PINS && p->used && p->until >= state) p++;
        if (p == r->pins + REPLAY_PINS) return; /* fewer pins will have to do */
        if (!p->c.open && !engine_connect(e, &p->c)) return;
        if (p->used) engine_rollback(e, &p->c);
        engine_begins(e, &p->c, ENGINE_SNAPSHOT);
        p->used = true;
        p->state = state;
        p->until = i;
    }
}

static replay_pin *pin_for(snapshot_replay *r, uint32_t position, uint32_t state)
{
    for (replay_pin *p = r->pins; p < r->pins + REPLAY_PINS; p++)
        if (p->used && p->state == state && p->until == position) return p;
    return NULL;
}

static void close_pins(snapshot_replay *r)
{
    for (uint32_t i = 0; i < REPLAY_PINS; i++) {
        engine_disconnect(r->e, &r->pins[i].c);
        memset(&r->pins[i], 0, sizeof r->pins[i]);
    }
    memset(r->pin_of, 0, (r->n + 2) * sizeof *r->pin_of);
}

/* The statement that chooses a pin's snapshot; false: there is no such pin. */
static bool import_statement(snapshot_replay *r, uint32_t state, char *to, size_t cap)
{
    if (!r->pin_of[state]) return false;
    replay_pin *p = &r->pins[r->pin_of[state] - 1];
    if (!settle(r, p)) return false;
    if (!*p->id) {
        if (!engine_does(r->e, &p->c, "SELECT pg_export_snapshot()")) return false;
        if (!p->c.s.n_rows || p->c.s.cells.at[0].n >= sizeof p->id) return false;
        memcpy(p->id, p->c.s.text.at + p->c.s.cells.at[0].at, p->c.s.cells.at[0].n + 1);
    }
    snprintf(to, cap, "SET TRANSACTION SNAPSHOT '%s'", p->id);
    return true;
}

/* ---- one position ---------------------------------------------------------------------------- */

/* MariaDB's part of run_on: the connection is that of the pin, which is used up. */
static bool run_on_pin(snapshot_replay *r, uint32_t i, uint32_t state, engine_conn **c,
                       run_outcome *o)
{
    static const char *const none[] = {NULL};
    replay_pin *p = state == i ? NULL : pin_for(r, i, state);
    if (state != i && !p) return false;
    if (p)
        p->used = false, *c = &p->c;
    else
        engine_begins(r->e, *c = engine_session(r->e, r->order[i]), ENGINE_SNAPSHOT);
    *o = engine_run_txn(r->e, *c, none, r->order[i]);
    return true;
}

/* Runs the position's transaction on a state; false: that state is not there. */
static bool run_on(snapshot_replay *r, uint32_t i, uint32_t state, engine_conn **at, run_outcome *o)
{
    if (r->e->kind == ENGINE_MARIADB && !r->newest_only) return run_on_pin(r, i, state, at, o);
    engine_conn *c = *at;
    char import[128];
    const char *first[3] = {NULL, NULL, NULL};
    bool postgres = r->e->kind == ENGINE_POSTGRES;
    first[0] = !postgres         ? (r->e->kind == ENGINE_SQLITE ? "BEGIN" : "START TRANSACTION")
               : r->serializable ? "BEGIN ISOLATION LEVEL SERIALIZABLE"
                                 : "BEGIN ISOLATION LEVEL REPEATABLE READ";
    if (state != i) {
        if (!import_statement(r, state, import, sizeof import)) return false;
        first[1] = import;
    }
    *o = engine_run_txn(r->e, c, first, r->order[i]);
    return true;
}

/* What the open transaction has written, as a text that other ways to write can be compared with;
   NULL: it cannot be told. */
static const char *written(snapshot_replay *r, engine_conn *c)
{
    reference_engine *e = r->e;
    strbuf b;
    strbuf_init(&b, e->mem);
    if (!engine_does(e, c, "SELECT pg_current_xact_id()::xid::text")) return NULL;
    char xid[32];
    snprintf(xid, sizeof xid, "%.20s", c->s.text.at + c->s.cells.at[0].at);
    if (!engine_does(e, c,
                     "SELECT string_agg(format('SELECT %L || string_agg(t::text, ''|'' ORDER BY "
                     "t::text) FROM %s t WHERE xmin::text::bigint >= ', relid::regclass::text, "
                     "relid::regclass) || '%s', ' UNION ALL '), coalesce(sum(n_tup_del), 0) "
                     "FROM pg_stat_xact_user_tables WHERE n_tup_ins + n_tup_upd + n_tup_del > 0"))
        return NULL;
    if (strcmp(c->s.text.at + c->s.cells.at[1].at, "0") != 0) return NULL; /* rows that are gone */
    if (c->s.cells.at[0].at == UINT32_MAX) return "";
    for (const char *p = c->s.text.at + c->s.cells.at[0].at; *p;)
        if (p[0] == '%' && p[1] == 's')
            strbuf_str(&b, xid), p += 2;
        else
            strbuf_char(&b, *p++);
    if (!engine_does(e, c, strbuf_cstr(&b))) return NULL;
    b.n = 0;
    strbuf_add(&b, c->s.text.at, c->s.text.n);
    for (size_t i = 0; i < b.n; i++)
        if (!b.at[i]) b.at[i] = '\n';
    return strbuf_cstr(&b);
}

/* Does another snapshot agree, too, on which something else is written? */
static void look_for_other_choice(snapshot_replay *r, uint32_t i, uint32_t state, engine_conn *c)
{
    run_outcome o;
    if (r->e->kind != ENGINE_POSTGRES) { /* snapshots are used up: the words have to tell */
        if (state > r->low[i]) r->open_choice = r->order[i];
        return;
    }
    const char *first = NULL;
    bool told = false;
    for (uint32_t s = r->low[i]; s < state; s++) {
        if (!told) {
            first = written(r, c);
            told = true;
        }
        engine_rollback(r->e, c);
        if (!run_on(r, i, s, &c, &o)) {
            r->open_choice = r->order[i]; /* nobody knows */
        } else if (o.how == ANSWERS_AGREE) {
            const char *other = written(r, c);
            if (!first || !other || strcmp(first, other) != 0) r->open_choice = r->order[i];
        } else if (o.how == ANSWERS_UNSURE) {
            r->open_choice = r->order[i];
        }
        if (r->open_choice != UINT32_MAX) break;
    }
    if (!told) return;
    engine_rollback(r->e, c);
    if (!run_on(r, i, state, &c, &o) || o.how != ANSWERS_AGREE)
        guard_fail(r->e->guard, GUARD_IO,
                   "the reference engine gave another answer the second time");
}

void replay_note_picks(snapshot_replay *r, uint32_t i)
{
    const log_txn *t = &r->e->plan->log->txns.at[r->order[i]];
    for (uint32_t k = 0; k < t->n_stmts; k++) {
        const statement_words *w = &r->e->words[t->stmts[k].text];
        bool writes = !(w->only_reads || w->locks_only) || r->e->has_routines;
        if (w->picks && writes) r->picked = true;
    }
}

/* Tries the states of the position, the newest first; true: it has committed. */
static bool take_position(snapshot_replay *r, uint32_t i)
{
    reference_engine *e = r->e;
    engine_conn *c = engine_session(e, r->order[i]);
    if (!c) guard_fail(e->guard, GUARD_IO, "%s", e->why);
    r->tried.n = 0;
    uint32_t low = r->low[i];
    if (r->oldest_first) {
        uint32_t least = read_states_least(r->states, r, i);
        if (least > low) low = least;
    }
    for (uint32_t k = low; k <= r->high[i]; k++) {
        uint32_t s = r->oldest_first ? k : r->high[i] - (k - low);
        run_outcome o;
        bool conflict = false;
        if (!run_on(r, i, s, &c, &o)) {
            r->cut = true;
            continue;
        }
        if (o.how == ANSWERS_AGREE) {
            bool may = !engine_txn_reads_only(e, r->order[i]) && !engine_txn_by_key(e, r->order[i]);
            if (r->other_choices && may && r->open_choice == UINT32_MAX)
                look_for_other_choice(r, i, s, c);
            if (r->pin_of[i]) settle(r, &r->pins[r->pin_of[i] - 1]);
            if (engine_commit(e, c, &conflict)) {
                r->first_read[i] = s;
                if (r->oldest_first) read_states_note(r->states, r, i, s);
                replay_note_picks(r, i);
                return true;
            }
            o = (run_outcome){.how = conflict                        ? ANSWERS_CONFLICT
                                     : !strncmp(c->s.state, "23", 2) ? ANSWERS_DIFFER
                                                                     : ANSWERS_UNSURE,
                              .stmt = e->plan->log->txns.at[r->order[i]].n_stmts,
                              .answer = "the commit fails"};
        } else {
            engine_rollback(e, c);
        }
        vec_push(e->mem, &r->tried, ((tried_state){s, o}));
    }
    return false;
}

/* Keeps the state of now, if somebody may read it later. */
static void keep_present_state(snapshot_replay *r)
{
    uint32_t i = r->at;
    bool same = i && engine_txn_reads_only(r->e, r->order[i - 1]) && r->pin_of[i - 1];
    if (r->without_pins || r->until[i] <= i) return;
    if (r->e->kind == ENGINE_MARIADB) {
        if (!r->newest_only) open_pins(r, i);
    } else if (same) {
        replay_pin *p = &r->pins[r->pin_of[i - 1] - 1];
        r->pin_of[i] = r->pin_of[i - 1];
        if (p->until < r->until[i]) p->until = r->until[i];
    } else {
        open_pin(r, i);
    }
}

static void begin_run(snapshot_replay *r)
{
    close_pins(r);
    if (!engine_begin_pass(r->e)) guard_fail(r->e->guard, GUARD_HISTORY, "%s", r->e->why);
    ahead_choose(r);
    keep_until(r);
    r->cut = r->picked = false;
    r->at = 0;
    r->open_choice = UINT32_MAX;
    r->tried.n = 0;
}

/* What ran ahead did not agree at r->at.  Where nothing else can be tried, that is the end of the
   replay; else it begins again, unless too much work was lost already: then all that follows is run
   one at a time. */
static bool is_stuck_ahead(snapshot_replay *r, run_outcome o)
{
    uint32_t i = r->at, n_stmts = r->e->plan->log->txns.at[r->order[i]].n_stmts;
    bool choice = engine_may_force_rows(r->e, r->order[i], o.stmt);
    if (r->newest_only && o.stmt < n_stmts && !o.unlike_error && !choice) {
        r->tried.n = 0;
        vec_push(r->e->mem, &r->tried, ((tried_state){i, o}));
        return true;
    }
    r->differed[i] = true;
    r->lost_work += i + PASS_COST;
    if (r->lost_work > r->n) r->alone_from = i;
    begin_run(r);
    return false;
}

replay_end replay_go_on(snapshot_replay *r)
{
    while (r->at < r->n) {
        guard_tick(r->e->guard);
        if (r->at == r->pause) {
            r->pause = UINT32_MAX;
            return REPLAY_PAUSED;
        }
        keep_present_state(r);
        uint32_t to = ahead_end(r);
        if (to > r->at) {
            run_outcome o;
            if (r->pin_of[r->at]) settle(r, &r->pins[r->pin_of[r->at] - 1]);
            if (ahead_run(r, to, &o) || !is_stuck_ahead(r, o)) continue;
            close_pins(r);
            return REPLAY_STUCK;
        }
        if (!take_position(r, r->at)) {
            r->cut |= r->short_window && r->low[r->at] > 0;
            close_pins(r);
            return REPLAY_STUCK;
        }
        r->at++;
    }
    close_pins(r);
    return REPLAY_AGREES;
}

replay_end replay_run(snapshot_replay *r)
{
    r->lost_work = 0;
    begin_run(r);
    return replay_go_on(r);
}
