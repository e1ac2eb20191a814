/*
 * narrow_log.c - two logs without unknown tables, made of one that has some.
 *
 * The first has rows that fit what the log shows (a guess): if it holds, so does the log, for these
 * may have been the rows.  The second has the rows that are certain, and only statements that
 * depend on nothing else; in the place of each other one stands a query that reads nothing, at the
 * same time.  Every execution that explains the log explains this one, too, once all other rows are
 * taken out of it; so if there is none, the log is wrong whatever its rows were.
 */
#include "audit/narrow_log.h"

#include <assert.h>
#include <stdio.h>

#include "audit/initial_rows.h"
#include "audit/txn_order.h"
#include "base/search.h"
#include "base/sort.h"

static const char stand_in[] = "SELECT 'not compared: it depends on rows that are not known'";

typedef struct narrower {
    audit *a;
    initial_rows seen;
    arena *kept;
    uint64_t *moment; /* by position of the order: when it committed, rising */
    uint32_t *place;  /* by transaction: its position, or UINT32_MAX */
} narrower;

/* ---- the guess ------------------------------------------------------------------------------- */

enum { GUESSES = 8 };

/* What is known of one column of a row while its touches are walked in order.  Where a read stands
   among overlapping commits is not known, so that reads may tell different values: the one that
   most of them tell is taken. */
typedef struct column_guess {
    const cell *is[GUESSES]; /* before the log */
    uint32_t votes[GUESSES];
    uint32_t n;
    const num *sum;   /* added since; NULL: nothing */
    const num *least; /* that it must have been for a condition to hold, if nothing else is known */
    bool fixed;       /* what it holds now tells nothing of before */
} column_guess;

static void order_moments(narrower *n)
{
    engine *e = n->seen.e;
    order_sort(e, ORDER_BY_END);
    n->moment = mem_array(e->mem, uint64_t, e->order.n + 1);
    n->place = mem_array(e->mem, uint32_t, e->log->txns.n + 1);
    memset(n->place, 0xff, (e->log->txns.n + 1) * sizeof *n->place);
    for (uint32_t i = 0; i < e->order.n; i++) {
        txn_times t = times_of(e, &e->log->txns.at[e->order.at[i]]);
        uint64_t at = t.known ? sort_key(t.call / 2 + t.end / 2) : 0;
        n->moment[i] = i && n->moment[i - 1] > at ? n->moment[i - 1] : at;
        n->place[e->order.at[i]] = i;
    }
}

/* The state that a touch is of, twice, and one more if it comes after what made the state. */
static uint64_t guessed_place(const narrower *n, const row_touch *t)
{
    const engine *e = n->seen.e;
    const log_txn *x = &e->log->txns.at[t->txn];
    uint64_t position = n->place[t->txn];
    assert(t->row < n->seen.rows.n && t->stmt < x->n_stmts);
    bool reads = t->kind == TOUCH_SEEN || t->kind == TOUCH_ABSENT;
    if (!reads || t->own) return 2 * (position + 1);
    if (t->newest) return 2 * position + 1;
    txn_times times = times_of(e, x);
    if (!times.known) return 2 * position + 1;
    bool each = e->level.mode == MODE_STATEMENT || e->level.mode == MODE_ROW;
    const log_stmt *s = &x->stmts[t->stmt];
    int64_t at =
        each && s->has_time ? s->call / 2 + s->answer / 2 : times.begin / 2 + times.seen / 2;
    size_t state = upper_bound_u64(n->moment, e->order.n, sort_key(at));
    return 2 * (state < position ? state : position) + 1;
}

static const num *number_of(narrower *n, const char *text)
{
    const num *x = NULL;
    return num_parse(n->kept, text, strlen(text), &x) ? x : NULL;
}

static const cell *cell_of_number(narrower *n, const num *x)
{
    strbuf b;
    strbuf_init(&b, n->seen.e->mem);
    num_text(x, &b);
    cell *c = arena_array(n->kept, cell, 1);
    *c = (cell){CELL_NUMBER, (uint32_t)b.n, arena_text(n->kept, strbuf_cstr(&b), b.n)};
    strbuf_free(&b);
    return c;
}

/* The column was seen so: what was it before the log? */
static void guess_column(narrower *n, column_guess *g, const cell *seen, uint32_t votes)
{
    assert(votes && g->n <= GUESSES);
    if (g->fixed || !seen) return;
    const num *x = g->sum && seen->kind != CELL_NULL ? number_of(n, seen->s) : NULL;
    if (g->sum && !x) return;
    if (x) x = num_sub(n->kept, x, g->sum);
    if (x) seen = cell_of_number(n, x);
    for (uint32_t i = 0; i < g->n; i++) {
        const cell *c = g->is[i];
        bool null = c->kind == CELL_NULL || seen->kind == CELL_NULL;
        if (null ? c->kind != seen->kind : c->n != seen->n || memcmp(c->s, seen->s, c->n)) continue;
        g->votes[i] += votes;
        return;
    }
    if (g->n == GUESSES) return;
    g->is[g->n] = seen;
    g->votes[g->n++] = votes;
}

static const cell *best_guess(const column_guess *g)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < g->n; i++)
        if (g->votes[i] > g->votes[best]) best = i;
    return g->n ? g->is[best] : NULL;
}

/* The column was at least this much. */
static void guess_bound(narrower *n, column_guess *g, const num *bound)
{
    if (g->fixed) return;
    if (g->sum) bound = num_sub(n->kept, bound, g->sum);
    if (bound && (!g->least || num_cmp(bound, g->least) > 0)) g->least = bound;
}

static void guess_change(narrower *n, column_guess *g, const column_change *c)
{
    assert(c->how == '+' || c->how == '=' || c->how == '?');
    const num *by = c->how == '+' ? number_of(n, c->text) : NULL;
    if (by && g->sum) by = num_add(n->kept, g->sum, by);
    if (!by) {
        g->fixed = true;
        return;
    }
    g->sum = by;
    guess_bound(n, g, num_of(n->kept, 0)); /* many columns must not be negative */
}

/* A value that nobody saw: one that no constraint on it alone refuses, as far as can be told. */
static const cell *some_value(narrower *n, const open_column *c, const num *least)
{
    static const struct {
        type_id t;
        const char *text;
    } some[] = {{T_BOOL, "f"},
                {T_DATE, "2000-01-01"},
                {T_TIME, "00:00:00"},
                {T_STAMP, "2000-01-01 00:00:00"},
                {T_STAMPTZ, "2000-01-01 00:00:00+00"},
                {T_UUID, "00000000-0000-0000-0000-000000000000"},
                {T_INTERVAL, "00:00:00"},
                {T_JSON, "{}"},
                {T_JSONB, "{}"}};
    static const cell nothing = {CELL_NULL, 0, ""}, zero = {CELL_NUMBER, 1, "0"};
    bool number = type_rank(c->t.id) > 0;
    if (number && least && num_sign(least) > 0) return cell_of_number(n, least);
    if (number && (least || c->not_null)) return &zero;
    if (!c->not_null) return &nothing;
    cell *out = arena_array(n->kept, cell, 1);
    *out = (cell){CELL_TEXT, 0, type_is_float(c->t.id) ? "0" : ""};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        if (some[i].t == c->t.id) out->s = some[i].text;
    if (type_is_array(c->t.id)) out->s = "{}";
    out->n = (uint32_t)strlen(out->s);
    return out;
}

/* Was the row there before the log?  Writes read the last committed version, so that their place in
   the order is known; a snapshot's may be another one than was guessed. */
static bool was_there(const narrower *n, const uint32_t *by, size_t count)
{
    const row_touch *all = n->seen.touches.at;
    for (int snapshots = 0; snapshots < 2; snapshots++)
        for (size_t i = 0; i < count; i++) {
            const row_touch *x = &all[by[i]];
            if (x->own || (x->undone && x->kind > TOUCH_ABSENT)) continue;
            if (x->kind <= TOUCH_ABSENT && x->newest != !snapshots) continue;
            if (x->kind == TOUCH_INSERT) return false;
            if (x->kind <= TOUCH_ABSENT) return x->kind == TOUCH_SEEN;
        }
    for (size_t i = 0; i < count; i++)
        if (all[by[i]].kind == TOUCH_UPDATE && !all[by[i]].upsert) return true;
    return false;
}

/* One row out of its touches, in their order; false: it was not there before the log. */
static bool guess_row(narrower *n, const open_row *r, const uint32_t *by, size_t count,
                      column_guess *g)
{
    assert(r->table < n->seen.n_tables && r->is);
    const open_table *t = &n->seen.tables[r->table];
    bool first = true; /* it is still the row of before the log */
    if (!was_there(n, by, count)) return false;
    memset(g, 0, t->n_cols * sizeof *g);
    for (uint32_t c = 0; c < t->n_cols; c++) guess_column(n, &g[c], r->is[c], 1000);
    for (size_t i = 0; i < count && first; i++) {
        const row_touch *x = &n->seen.touches.at[by[i]];
        if (x->undone && x->kind > TOUCH_ABSENT) continue;
        first = x->kind != TOUCH_DELETE && x->kind != TOUCH_INSERT;
        bool seen = x->kind == TOUCH_SEEN;
        for (uint32_t c = 0; seen && x->shown && c < t->n_cols; c++)
            guess_column(n, &g[c], x->shown[c], x->own || x->newest ? 4 : 1);
        if (seen && x->bound) guess_bound(n, &g[x->bound_column], x->bound);
        for (uint32_t c = 0; x->kind == TOUCH_UPDATE && c < x->n_changes; c++)
            guess_change(n, &g[x->changes[c].column], &x->changes[c]);
    }
    return true;
}

/* ---- rows of the initial state --------------------------------------------------------------- */

typedef struct row_list {
    VEC(cell) cells;
    uint32_t n;
} row_list;

/* One row: what is known of its columns, and some value where nothing is. */
static void add_row(narrower *n, row_list *to, const open_row *r, const column_guess *g)
{
    assert(r->table < n->seen.n_tables && (g || (r->certain && !r->absent)));
    const open_table *t = &n->seen.tables[r->table];
    mem *m = n->seen.e->mem;
    to->n++;
    for (uint32_t c = 0; c < t->n_cols; c++) {
        if (t->cols[c].hidden) continue;
        const cell *is = g ? best_guess(&g[c]) : r->is[c];
        const char *key = NULL;
        for (uint32_t k = 0; k < t->n_key; k++)
            if (t->key[k] == c) key = r->key[k];
        cell of_key = {CELL_TEXT, key ? (uint32_t)strlen(key) : 0, key};
        if (key) is = &of_key;
        vec_push(m, &to->cells, is ? *is : *some_value(n, &t->cols[c], g ? g[c].least : NULL));
    }
}

static void add_whole(narrower *n, row_list *to, const open_table *t)
{
    const log_stmt *s = &n->seen.e->log->txns.at[t->whole_txn].stmts[t->whole_stmt];
    assert(t->whole && s->has_rows && !s->has_error);
    for (uint32_t r = 0; r < s->n_rows; r++, to->n++)
        for (uint32_t c = 0; c < t->n_cols; c++)
            if (!t->cols[c].hidden)
                vec_push(n->seen.e->mem, &to->cells,
                         s->cells[(size_t)r * s->n_cols + t->whole_place[c]]);
}

/* The rows of each table, as lines of the log have them.  `guess`: not only those that are
   certain. */
static void add_rows(narrower *n, sql_log *to, bool guess)
{
    initial_rows *w = &n->seen;
    mem *m = w->e->mem, *keep = n->kept->mem;
    uint32_t n_touches = (uint32_t)w->touches.n, *by = NULL;
    uint64_t *key = mem_array(m, uint64_t, n_touches + 1);
    row_list *lists = mem_array0(m, row_list, w->n_tables + 1);
    uint32_t widest = 1;
    for (uint32_t i = 0; i < n_touches; i++)
        key[i] = (uint64_t)w->touches.at[i].row << 32 |
                 (guess ? guessed_place(n, &w->touches.at[i]) & UINT32_MAX : 0);
    by = sort_by_key(m, key, n_touches);
    for (uint32_t i = 0; i < w->n_tables; i++) {
        if (w->tables[i].n_cols > widest) widest = w->tables[i].n_cols;
        if (w->tables[i].whole) add_whole(n, &lists[i], &w->tables[i]);
    }
    column_guess *g = mem_array0(m, column_guess, widest);
    uint32_t from = 0;
    for (uint32_t i = 0; i < w->rows.n; i++) {
        const open_row *r = &w->rows.at[i];
        uint32_t end = from;
        guard_tick(w->e->guard);
        while (end < n_touches && w->touches.at[by[end]].row == i) end++;
        if (w->tables[r->table].whole)
            ;
        else if (guess && guess_row(n, r, by + from, end - from, g))
            add_row(n, &lists[r->table], r, g);
        else if (!guess && r->certain && !r->absent)
            add_row(n, &lists[r->table], r, NULL);
        from = end;
    }
    for (uint32_t i = 0; i < w->n_tables; i++) {
        if (!lists[i].n) continue;
        assert(lists[i].cells.n % lists[i].n == 0); /* all rows of a table are equally wide */
        log_rows rows = {.table = w->tables[i].name,
                         .n_rows = lists[i].n,
                         .n_cols = (uint32_t)(lists[i].cells.n / lists[i].n),
                         .line = 1};
        cell *cells = arena_array(n->kept, cell, lists[i].cells.n + 1);
        memcpy(cells, lists[i].cells.at, lists[i].cells.n * sizeof *cells);
        rows.cells = cells;
        vec_push(keep, &to->rows, rows);
    }
}

/* ---- the two logs ---------------------------------------------------------------------------- */

/* The log without unknown tables, and with lists of its own. */
static sql_log copy_of(narrower *n)
{
    const sql_log *l = &n->a->log;
    mem *m = n->kept->mem;
    sql_log out = *l;
    assert(l->unknown.n);
    arena_init(&out.kept, m);
    memset(&out.text_index, 0, sizeof out.text_index);
    memset(&out.unknown, 0, sizeof out.unknown);
    memset(&out.rows, 0, sizeof out.rows);
    memset(&out.texts, 0, sizeof out.texts);
    memset(&out.txns, 0, sizeof out.txns);
    for (size_t i = 0; i < l->rows.n; i++) vec_push(m, &out.rows, l->rows.at[i]);
    for (size_t i = 0; i < l->texts.n; i++) vec_push(m, &out.texts, l->texts.at[i]);
    for (size_t i = 0; i < l->txns.n; i++) vec_push(m, &out.txns, l->txns.at[i]);
    return out;
}

/* Leaves only what depends on nothing but rows that are certain. */
static void leave_certain(narrower *n, sql_log *to)
{
    const initial_rows *w = &n->seen;
    uint32_t text = (uint32_t)to->texts.n;
    log_text stands = {stand_in, sizeof stand_in - 1};
    vec_push(n->kept->mem, &to->texts, stands);
    for (size_t i = 0; i < w->uses.n;) {
        log_txn *t = &to->txns.at[w->uses.at[i].txn];
        log_stmt *own = NULL;
        for (uint32_t txn = w->uses.at[i].txn; i < w->uses.n && w->uses.at[i].txn == txn; i++) {
            const open_use *u = &w->uses.at[i];
            const log_stmt *s = &t->stmts[u->stmt];
            assert(u->stmt < t->n_stmts && t->status != LOG_ABORTED);
            bool asks = text_kind_of(&to->texts.at[s->text]) == TEXT_QUERY;
            if (!asks || initial_use_is_certain(w, u)) continue;
            if (!own) {
                own = arena_array(n->kept, log_stmt, t->n_stmts + 1);
                memcpy(own, t->stmts, t->n_stmts * sizeof *own);
            }
            own[u->stmt] = (log_stmt){.text = text,
                                      .has_time = s->has_time,
                                      .call = s->call,
                                      .answer = s->answer,
                                      .line = s->line,
                                      .column = s->column};
        }
        if (own) t->stmts = own;
    }
    size_t left = 0;
    for (size_t i = 0; i < to->txns.n; i++)
        if (to->txns.at[i].status != LOG_ABORTED) to->txns.at[left++] = to->txns.at[i];
    to->txns.n = left;
}

/* ---- deciding -------------------------------------------------------------------------------- */

static void decide_again(audit *a, const audit_options *o, const sql_log *l, audit_answer *answer)
{
    mem_free_all(&a->store);
    mem_free_all(&a->work);
    memset(&a->e, 0, sizeof a->e);
    assert(answer->level && l->txns.n <= a->log.txns.n);
    *answer = (audit_answer){
        .level = answer->level, .statements = answer->statements, .sessions = answer->sessions};
    audit_engine(&a->e, &a->guard, &a->work, &a->store, o, l);
    search_decide(&a->e, answer);
}

/* Wrong or refused rows end an attempt alone; lack of memory and limits end the whole audit. */
static void pass_on_failure(guard *g, const guard *outer)
{
    int code = g->code;
    guard_restore(g, outer);
    g->code = code;
    if (code != SQL_RAISED && code != SQL_REFUSED && code != GUARD_HISTORY) guard_fail_again(g);
}

/* Makes a->narrow.log: with rows that are guessed, or else with what is certain.  What is wrong
   with the rows that came out, or not understood, is no more than a guess that failed. */
static bool make_log(narrower *n, const audit_options *o, bool guess)
{
    audit *a = n->a;
    engine *e = &a->e;
    guard *g = &a->guard, outer;
    volatile bool good = false; /* outlives a jump */
    memcpy(&outer, g, sizeof outer);
    if (guard_armed(g)) {
        pass_on_failure(g, &outer);
        return false;
    }
    mem_free_all(&a->store);
    mem_free_all(&a->work);
    audit_engine(e, g, &a->work, &a->store, o, &a->log);
    engine_reset(e);
    if (initial_rows_see(&n->seen, e, n->kept)) {
        initial_rows_settle(&n->seen);
        good = guess || !n->seen.lost;
    }
    if (good) {
        order_moments(n);
        a->narrow.log = copy_of(n);
        if (!guess) leave_certain(n, &a->narrow.log);
        add_rows(n, &a->narrow.log, guess);
    }
    guard_restore(g, &outer);
    return good;
}

static bool decided_so(audit *a, const audit_options *o, audit_answer *answer, audit_verdict want)
{
    guard *g = &a->guard, outer;
    memcpy(&outer, g, sizeof outer);
    if (guard_armed(g)) {
        pass_on_failure(g, &outer);
        return false;
    }
    decide_again(a, o, &a->narrow.log, answer);
    guard_restore(g, &outer);
    return answer->verdict == want;
}

void narrow_decide(audit *a, const audit_options *o, audit_answer *answer)
{
    assert(answer->verdict == AUDIT_UNDECIDED && a->read && answer->level);
    narrower n = {.a = a, .kept = &a->narrow.kept};
    arena_init(n.kept, &a->kept);
    a->narrow.on = true;
    if (make_log(&n, o, true) && decided_so(a, o, answer, AUDIT_HOLDS)) {
        answer->first_rows = FIRST_ROWS_FIT;
        return;
    }
    if (make_log(&n, o, false)) {
        bool timed = n.seen.timed;
        if (decided_so(a, o, answer, AUDIT_VIOLATED)) {
            answer->first_rows = timed ? FIRST_ROWS_TIMED : FIRST_ROWS_SHOWN;
            return;
        }
    }
    a->narrow.on = false;
    decide_again(a, o, &a->log, answer);
}
