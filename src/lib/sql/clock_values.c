/*
 * clock_values.c - comparisons with now() and its kin, which only the server knows.
 *
 * A transaction reads the clock once, at an instant that is unknown: all that is known of it is
 * what its answers tell.  A comparison with a known value splits the instants that are left into
 * those before and those after; if the answer is not the same for all, one part is chosen
 * (sql_exec.pick tries the others), and later comparisons of the transaction agree with it.  Both
 * sides may be expressions that rise or fall with the clock: where the answer changes is found by
 * trying instants.
 *
 * A value of the clock that was stored is that of an earlier reading, which is taken to have been
 * shortly before: both then share what is known.  That is one way in which the clock may have gone.
 * So an answer that does not agree is never called wrong: `guessed` stays set, and the audit is
 * undecided.  A reading that explains the answers in the time zone UTC explains them.
 */
#include <assert.h>

#include "sql/builtin.h"
#include "sql/calendar.h"

#define MANY_SLOPES 2
/* No server's clock shows another year than these. */
#define FIRST_YEAR 1990
#define LAST_YEAR 2150

/* ---- how an expression depends on the clock -------------------------------------------------- */

static bool is_clock(const expr *e)
{
    return e->kind == E_OPEN && e->op == OPEN_CLOCK;
}

bool clock_inside(const expr *e)
{
    if (e->kind == E_OPEN && e->op) return true;
    for (uint32_t i = 0; i < e->n; i++)
        if (clock_inside(e->arg[i])) return true;
    return false;
}

static int slope_of(const expr *e);

static int slope_of_sum(const expr *e, int sign)
{
    int l = slope_of(e->arg[0]), r = slope_of(e->arg[1]);
    assert(e->n == 2 && (sign == 1 || sign == -1));
    if (l == MANY_SLOPES || r == MANY_SLOPES) return MANY_SLOPES;
    r *= sign;
    if (l && r && l != r) return MANY_SLOPES;
    return l ? l : r;
}

/* Calls that keep the order of instants.  (age() does not: a month has no fixed length.) */
static int slope_of_call(const expr *e)
{
    const char *name = e->builtin->name;
    bool spans = type_is_moment(e->t.id) || e->t.id == T_INTERVAL || e->t.id == T_INT4;
    if (e->n == 2 && spans && !strcmp(name, "+")) return slope_of_sum(e, 1);
    if (e->n == 2 && spans && !strcmp(name, "-")) return slope_of_sum(e, -1);
    bool second = !strcmp(name, "date_trunc") || !strcmp(name, "timezone");
    const expr *what = e->n == 2 ? e->arg[0] : NULL;
    if (what && what->kind == E_CONST && !what->v.null && type_is_text(what->t.id) &&
        (!strcmp(name, "extract") || !strcmp(name, "date_part")))
        second = what->v.n == 5 && !memcmp(what->v.s, "epoch", 5);
    if (second && what->kind == E_CONST) return slope_of(e->arg[1]);
    return MANY_SLOPES;
}

static int slope_of(const expr *e)
{
    if (!clock_inside(e)) return 0;
    if (is_clock(e)) return 1;
    if (e->kind == E_BUILTIN) return slope_of_call(e);
    if (e->kind == E_CAST && type_is_moment(e->t.id) && type_is_moment(e->arg[0]->t.id))
        return slope_of(e->arg[0]);
    if (e->kind == E_CALL && e->op == CALL_DAYS_AFTER) return slope_of_sum(e, 1);
    if (e->kind == E_CALL && (e->op == CALL_DAYS_BEFORE || e->op == CALL_DAYS_BETWEEN))
        return slope_of_sum(e, -1);
    return MANY_SLOPES;
}

void clock_mark(expr *e)
{
    assert(e->kind == E_COMPARE && e->n == 2);
    bool bounded = false;
    for (int i = 0; i < 2; i++) {
        const expr *in = e->arg[i];
        while (in->kind == E_CAST) in = in->arg[0];
        bounded |= in->kind == E_OPEN && in->op > OPEN_CLOCK && !clock_inside(e->arg[1 - i]);
        e->slope[i] = slope_of(e->arg[i]);
    }
    bool moves = e->slope[0] || e->slope[1];
    e->clocked = bounded || (moves && e->slope[0] != MANY_SLOPES && e->slope[1] != MANY_SLOPES);
}

/* ---- readings -------------------------------------------------------------------------------- */

static uint32_t root_of(const store *s, uint32_t number)
{
    assert(number && number <= s->readings.n);
    while (s->readings.at[number - 1].same) number = s->readings.at[number - 1].same;
    return number;
}

/* The reading of the running transaction. */
static uint32_t our_reading(sql_exec *x)
{
    clock_state *c = &x->clock;
    if (!c->reading || c->reading > x->s->readings.n)
        c->reading = vs_read_clock(x->s, calendar_days(FIRST_YEAR, 1, 1) * DAY_US,
                                   calendar_days(LAST_YEAR, 1, 1) * DAY_US);
    return root_of(x->s, c->reading);
}

value clock_drawn(sql_exec *x, const expr *e)
{
    value v = value_open();
    if (x->clock.trying) {
        int64_t t = x->clock.trial;
        return value_int(e->t.id == T_DATE ? calendar_day_of(t) : t);
    }
    our_reading(x);
    v.i = x->clock.reading; /* for what is stored */
    return v;
}

/* A stored value that nobody has seen, while instants are tried; else itself. */
value clock_stored(sql_exec *x, value v)
{
    if (!x->clock.trying || v.open != OPEN_FIXED || !v.i) return v;
    const hole *h = &x->s->hole.at[v.i - 1];
    if (!h->clock || h->clock > x->s->readings.n || !type_is_moment(h->t)) return v;
    if (x->clock.aged && x->clock.old != h->clock) return v; /* two of them: which is older? */
    x->clock.aged = true;
    x->clock.old = h->clock;
    return value_int(h->t == T_DATE ? calendar_day_of(x->clock.trial) : x->clock.trial);
}

/* ---- comparing ------------------------------------------------------------------------------- */

typedef struct trial_run {
    sql_exec *x;
    const expr *e;
    frame *f;
    int sign;  /* 1: the left side rises beside the right one, -1: it falls */
    bool null; /* a side is */
    bool aged[2];
} trial_run;

/* How the sides compare if the clock is read at t; what changes hands is given back. */
static int compared_at(trial_run *r, int64_t t)
{
    clock_state *c = &r->x->clock, before = *c;
    value v[2];
    assert(!before.trying);
    for (int i = 0; i < 2; i++) {
        *c = before;
        c->trying = true;
        c->aged = false;
        c->trial = t;
        v[i] = eval(r->x, r->e->arg[i], r->f);
        r->aged[i] = c->aged;
        if (c->aged) before.old = c->old;
    }
    *c = before;
    r->null = v[0].null || v[1].null;
    return r->null ? 0 : value_cmp(r->e->sub, v[0], v[1]) * r->sign;
}

/* The first instant from lo on at which they compare so or higher; hi: none before it. */
static int64_t first_at(trial_run *r, int64_t lo, int64_t hi, int least)
{
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (compared_at(r, mid) >= least)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

/* One of the parts of the instants that are left, each with one answer; the latest one first. */
static value choose_part(trial_run *r, uint32_t number, const reading *now)
{
    int64_t equal = first_at(r, now->lo, now->hi, 0), above = first_at(r, equal, now->hi, 1);
    struct {
        int64_t lo, hi;
        bool yes;
    } part[3] = {{above, now->hi, eval_compares(r->e->op, r->sign)},
                 {equal, above, eval_compares(r->e->op, 0)},
                 {now->lo, equal, eval_compares(r->e->op, -r->sign)}};
    uint32_t n = 0;
    for (int i = 0; i < 3; i++) {
        if (part[i].lo == part[i].hi) continue;
        bool joins = n && part[n - 1].yes == part[i].yes && part[n - 1].lo == part[i].hi;
        if (joins)
            part[n - 1].lo = part[i].lo;
        else
            part[n++] = part[i];
    }
    assert(n && n <= 3);
    if (n == 1) return value_bool(part[0].yes);
    if (!r->x->pick || r->x->savepoints.n)
        sql_refuse(&r->x->c, r->e->position, "what depends on when the clock was read");
    uint32_t at = r->x->pick(r->x->ud, n);
    vs_learn_clock(r->x->s, number, (reading){part[at].lo, part[at].hi, 0});
    return value_bool(part[at].yes);
}

/* A stored value of the clock beside the clock: both are one instant, the stored one the older. */
static value compare_aged(trial_run *r, uint32_t number, const reading *now)
{
    sql_exec *x = r->x;
    uint32_t old = root_of(x->s, x->clock.old);
    bool ours = x->clock.old == x->clock.reading;
    const reading *was = &x->s->readings.at[old - 1];
    reading both = {was->lo > now->lo ? was->lo : now->lo, was->hi < now->hi ? was->hi : now->hi,
                    0};
    if (both.lo >= both.hi || (r->aged[0] && r->aged[1]) || (x->savepoints.n && old != number))
        sql_refuse(&x->c, r->e->position, "what depends on when the clock was read");
    int64_t span = both.hi - both.lo; /* some instants, and none of them a midnight */
    int at[3] = {compared_at(r, both.lo + span / 7), compared_at(r, both.lo + span / 3),
                 compared_at(r, both.hi - 1 - span / 5)};
    bool rises = r->e->slope[r->aged[0]] >= 0; /* the side of the clock itself */
    if (at[0] != at[1] || at[1] != at[2] || !rises)
        sql_refuse(&x->c, r->e->position, "what depends on when the clock was read");
    int c = at[0] * r->sign;
    if (!c && !ours && r->e->sub != T_DATE) c = r->aged[0] ? -1 : 1;
    if (old != number) {
        vs_learn_clock(x->s, number, (reading){now->lo, now->hi, old});
        vs_learn_clock(x->s, old, both);
    }
    return value_bool(eval_compares(r->e->op, c));
}

/* random() lies in [0, 1), numbers of transactions and processes above 0. */
static value compare_bounded(sql_exec *x, const expr *e, frame *f)
{
    int known = clock_inside(e->arg[0]) ? 1 : 0;
    const expr *in = e->arg[1 - known];
    while (in->kind == E_CAST) in = in->arg[0];
    value v = eval(x, e->arg[known], f);
    if (v.null) return v;
    type_id t = e->sub;
    value zero = value_cast(&x->c, value_int(0), type_plain(T_INT4), type_plain(t), CAST_EXPLICIT);
    value one = value_cast(&x->c, value_int(1), type_plain(T_INT4), type_plain(t), CAST_EXPLICIT);
    int from_zero = value_cmp(t, v, zero), from_one = value_cmp(t, v, one), c = 0;
    bool unit = in->op == OPEN_UNIT;
    if (unit ? from_zero < 0 : from_zero <= 0) c = 1; /* the open one is above it */
    if (unit && from_one >= 0) c = -1;
    bool zero_tells = unit && !from_zero;
    int op = e->op;
    if (known == 0) { /* turned round */
        static const int turned[] = {OP_EQ, OP_NE, OP_GT, OP_GE, OP_LT, OP_LE};
        op = turned[op];
    }
    if (c) return value_bool(eval_compares(op, c));
    if (zero_tells && (op == OP_GE || op == OP_LT)) return value_bool(op == OP_GE);
    sql_refuse(&x->c, e->position, "a value that a sequence, clock or random function gave");
}

value clock_compare(sql_exec *x, const expr *e, frame *f)
{
    assert(e->kind == E_COMPARE && e->clocked);
    if (!e->slope[0] && !e->slope[1]) return compare_bounded(x, e, f);
    if (e->slope[0] == MANY_SLOPES || e->slope[1] == MANY_SLOPES) return compare_bounded(x, e, f);
    if (x->clock.trying || x->c.zone == ZONE_OTHER)
        sql_refuse(&x->c, e->position, "what depends on when the clock was read");
    trial_run r = {.x = x, .e = e, .f = f, .sign = 1};
    uint32_t number = our_reading(x);
    reading now = x->s->readings.at[number - 1];
    x->clock.old = 0;
    compared_at(&r, now.lo);
    if (r.null) return value_null();
    x->clock.guessed = true;
    if (r.aged[0] || r.aged[1]) return compare_aged(&r, number, &now);
    int rise = e->slope[0] - e->slope[1];
    if (!rise) sql_refuse(&x->c, e->position, "what depends on when the clock was read");
    r.sign = rise > 0 ? 1 : -1;
    return choose_part(&r, number, &now);
}
