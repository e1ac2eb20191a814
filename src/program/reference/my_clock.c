/*
 * my_clock.c - see my_clock.h.
 *
 * A mark is a whole second, because many columns keep no more, in years in which no log was
 * written.  A value that is seen again with more digits takes the place of the one before.
 */
#include "reference/my_clock.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "reference/matched_rows.h"

enum { VALUE = 32 };
static const uint64_t first_mark = 2051222400; /* 2035-01-01, in UTC */

typedef struct clock_slot { /* a statement that may look at the clock */
    char value[VALUE];      /* "": not seen */
} clock_slot;

struct my_clock {
    VEC(clock_slot) slots;
    uint32_t **slot_of; /* by transaction and statement: 1 + its slot; NULL: none of it has one */
    bool marking;       /* statements get their marks */
};

static bool names_clock(const log_text *t)
{
    static const char *const words[] = {
        "now",           "current_timestamp", "localtime",    "curdate",        "localtimestamp",
        "current_time",  "curtime",           "current_date", "unix_timestamp", "utc_time",
        "utc_timestamp", "utc_date",          "timestampdiff"};
    char word[STATEMENT_WORD];
    for (word_walk w = {t->at, t->at + t->n}; next_statement_word(&w, word);)
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (!strcmp(word, words[i])) return true;
    return false;
}

static bool setup_names_clock(const reference_engine *e)
{
    size_t n;
    const log_stmt *s = engine_setup(e, &n);
    for (size_t i = 0; i < n; i++)
        if (names_clock(&e->plan->log->texts.at[s[i].text])) return true;
    return false;
}

/* ---- marks ----------------------------------------------------------------------------------- */

static bool leap(unsigned year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* Seconds since 1970 of "2035-01-02 03:04:05", whose fraction must be zero; 0: it is not one. */
static uint64_t seconds_of(const char *t, size_t n)
{
    static const unsigned days_before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    unsigned y, mo, d, h, mi, s;
    char text[VALUE];
    int at = 0;
    if (n < 19 || n >= VALUE) return 0;
    memcpy(text, t, n);
    text[n] = 0;
    if (sscanf(text, "%4u-%2u-%2u %2u:%2u:%2u%n", &y, &mo, &d, &h, &mi, &s, &at) != 6) return 0;
    if (text[at] && (text[at] != '.' || text[at + 1 + (int)strspn(text + at + 1, "0")])) return 0;
    if (y < 2035 || y > 2038 || mo < 1 || mo > 12) return 0;
    uint64_t days = 0;
    for (unsigned i = 1970; i < y; i++) days += leap(i) ? 366 : 365;
    days += days_before[mo - 1] + (mo > 2 && leap(y)) + d - 1;
    return ((days * 24 + h) * 60 + mi) * 60 + s;
}

/* The slot whose mark this is; NULL: none. */
static clock_slot *slot_of_mark(struct my_clock *k, const char *t, size_t n)
{
    uint64_t s = seconds_of(t, n);
    bool mark = s >= first_mark && s - first_mark < k->slots.n;
    return mark ? &k->slots.at[s - first_mark] : NULL;
}

/* A time of the log, as far as it can stand in a statement of ours. */
static bool is_time(const cell *c)
{
    if (c->kind != CELL_TEXT || c->n < 19 || c->n >= VALUE) return false;
    for (uint32_t i = 0; i < c->n; i++)
        if ((c->s[i] < '0' || c->s[i] > '9') && !strchr("-: .", c->s[i])) return false;
    return true;
}

static bool may_be_value(const clock_slot *s, const cell *c)
{
    size_t n = strlen(s->value);
    if (!is_time(c)) return false;
    return !memcmp(s->value, c->s, n < c->n ? n : c->n);
}

/* ---- answers --------------------------------------------------------------------------------- */

static bool row_fits(reference_engine *e, const log_stmt *l, uint32_t i, const db_session *s,
                     uint32_t row, bool bind)
{
    for (uint32_t c = 0; c < l->n_cols; c++) {
        const cell *want = &l->cells[(size_t)i * l->n_cols + c];
        const db_cell *have = &s->cells.at[(size_t)row * s->n_cols + c];
        const char *t = have->at == UINT32_MAX ? "" : s->text.at + have->at;
        clock_slot *k = slot_of_mark(e->my_clock, t, have->at == UINT32_MAX ? 0 : have->n);
        if (!k) {
            if (compare_cell(e->kind, want, s, have) != ANSWERS_AGREE) return false;
            continue;
        }
        if (!may_be_value(k, want)) return false;
        if (bind && want->n > strlen(k->value)) {
            memcpy(k->value, want->s, want->n);
            k->value[want->n] = 0;
        }
    }
    return true;
}

/* ---- the execution with marks ---------------------------------------------------------------- */

static void observe_txn(reference_engine *e, uint32_t txn)
{
    const log_txn *t = &e->plan->log->txns.at[txn];
    engine_conn *c = engine_session(e, txn);
    bool conflict;
    if (!c) guard_fail(e->guard, GUARD_IO, "%s", e->why);
    if (!engine_does(e, c, "SET time_zone = '+00:00'")) engine_lost(e, c);
    engine_begins(e, c, ENGINE_STATEMENTS);
    for (uint32_t i = 0; i < t->n_stmts; i++) {
        const log_stmt *x = &t->stmts[i];
        if (x->has_error && !e->words[x->text].is_savepoint) continue; /* it did nothing */
        engine_run_statement(e, c, txn, i);
        if (!*c->s.state) bind_matched_rows(e, x, &c->s, row_fits);
        guard_poll(e->guard);
    }
    engine_commit(e, c, &conflict);
}

/* A slot for each statement that may look; false: there is none. */
static bool find_slots(reference_engine *e)
{
    const sql_log *l = e->plan->log;
    struct my_clock *k = e->my_clock;
    bool defaults = setup_names_clock(e);
    bool *looks = mem_array0(e->mem, bool, l->texts.n + 1);
    for (uint32_t i = 0; i < l->texts.n; i++)
        looks[i] =
            names_clock(&l->texts.at[i]) || (defaults && !e->words[i].only_reads &&
                                             !e->words[i].is_savepoint && !e->words[i].is_setting);
    for (uint32_t i = 0; i < l->txns.n; i++) {
        const log_txn *t = &l->txns.at[i];
        for (uint32_t s = 0; s < t->n_stmts; s++) {
            if (!looks[t->stmts[s].text]) continue;
            if (!k->slot_of[i]) k->slot_of[i] = mem_array0(e->mem, uint32_t, t->n_stmts + 1);
            vec_push(e->mem, &k->slots, (clock_slot){.value = ""});
            k->slot_of[i][s] = (uint32_t)k->slots.n;
        }
    }
    mem_put(e->mem, looks);
    return k->slots.n > 0;
}

void my_clock_observe(reference_engine *e)
{
    const sql_log *l = e->plan->log;
    if (e->kind != ENGINE_MARIADB || !e->draws) return;
    struct my_clock *k = e->my_clock = mem_zeroed(e->mem, sizeof *k);
    k->slot_of = mem_array0(e->mem, uint32_t *, l->txns.n + 1);
    if (!find_slots(e)) {
        e->my_clock = NULL;
        return;
    }
    k->marking = true;
    if (!engine_begin_pass(e)) guard_fail(e->guard, GUARD_HISTORY, "%s", e->why);
    for (uint32_t i = 0; i < e->plan->n; i++) {
        guard_tick(e->guard);
        observe_txn(e, e->plan->at[i]);
    }
    k->marking = false;
}

void my_clock_give(reference_engine *e, engine_conn *c, uint32_t txn, uint32_t stmt)
{
    const struct my_clock *k = e->my_clock;
    char sql[96];
    uint32_t slot = k && k->slot_of[txn] ? k->slot_of[txn][stmt] : 0;
    if (!slot) return;
    const char *value = k->slots.at[slot - 1].value;
    if (k->marking)
        snprintf(sql, sizeof sql, "SET timestamp = %llu",
                 (unsigned long long)(first_mark + slot - 1));
    else if (*value)
        snprintf(sql, sizeof sql, "SET timestamp = UNIX_TIMESTAMP('%s')", value);
    else
        snprintf(sql, sizeof sql, "SET timestamp = DEFAULT");
    if (!engine_does(e, c, sql) && k->marking) engine_lost(e, c);
}
