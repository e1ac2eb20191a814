/*
 * chosen_draws.c - see chosen_draws.h.
 *
 * Functions in a schema of ours stand before those of pg_catalog in the search path.  They take
 * their values from a setting, a queue that is filled before each statement that draws; an empty
 * queue lets the engine choose.  A mark tells the statement and the number of the draw: the numbers
 * are so far apart that computing with one does not give another.  A value counts as known only if
 * the statement, executed again with it, gives the very answer of the log.
 */
#include "reference/chosen_draws.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/sort.h"
#include "reference/forced_states.h"
#include "reference/matched_rows.h"

enum { KINDS = 4, DRAWS = 64, SLOTS = 16000, ROUNDS = 3, VALUE = 40, APART = 1021 };

typedef enum draw_kind { DRAW_SEQUENCE, DRAW_CLOCK, DRAW_UUID, DRAW_RANDOM } draw_kind;

static const char *const queue_names[KINDS] = {"ratel.sequence", "ratel.clock", "ratel.uuid",
                                               "ratel.random"};

typedef struct draw_slot { /* a statement of the log that draws */
    uint32_t txn, stmt;
    uint32_t used[KINDS];
    const char **value[KINDS]; /* NULL: not seen */
    bool shown;                /* its own answer shows all of them */
} draw_slot;

struct draws_known {
    VEC(draw_slot) slots;
    uint32_t **slot_of; /* by transaction and statement: 1 + its slot; NULL: none of it draws */
    const char **now;   /* by transaction: its time, if it was seen */
    bool *now_used, *now_shown;
    uint32_t txns;
    bool incomplete; /* some draw was not looked at */
    bool learnt;     /* something new, in this round */
};

static const char *const functions[] = {
    "CREATE SCHEMA ratel_chosen",
    "CREATE FUNCTION ratel_chosen.next_of(kind text) RETURNS text LANGUAGE plpgsql AS "
    "$$ DECLARE q text := coalesce(current_setting(kind, true), ''); v text; BEGIN "
    "v := split_part(q, '|', 1); PERFORM set_config(kind, substr(q, length(v) + 2), true); "
    "RETURN nullif(v, ''); END $$",
    "CREATE FUNCTION ratel_chosen.nextval(s regclass) RETURNS bigint LANGUAGE plpgsql AS "
    "$$ DECLARE v bigint := ratel_chosen.next_of('ratel.sequence')::bigint; BEGIN "
    "IF v IS NULL THEN v := pg_catalog.nextval(s); END IF; "
    "PERFORM set_config('ratel.last_' || s::oid, v::text, false), "
    "set_config('ratel.last', v::text, false); RETURN v; END $$",
    "CREATE FUNCTION ratel_chosen.currval(s regclass) RETURNS bigint LANGUAGE plpgsql AS "
    "$$ BEGIN RETURN coalesce(nullif(current_setting('ratel.last_' || s::oid, true), '')::bigint, "
    "pg_catalog.currval(s)); END $$",
    "CREATE FUNCTION ratel_chosen.lastval() RETURNS bigint LANGUAGE plpgsql AS "
    "$$ BEGIN RETURN coalesce(nullif(current_setting('ratel.last', true), '')::bigint, "
    "pg_catalog.lastval()); END $$",
    "CREATE FUNCTION ratel_chosen.now() RETURNS timestamptz STABLE LANGUAGE plpgsql AS "
    "$$ BEGIN PERFORM set_config('ratel.now_used', 'y', true); "
    "RETURN coalesce(nullif(current_setting('ratel.now', true), '')::timestamptz, "
    "pg_catalog.now()); END $$",
    "CREATE FUNCTION ratel_chosen.transaction_timestamp() RETURNS timestamptz STABLE LANGUAGE "
    "sql AS 'SELECT ratel_chosen.now()'",
    "CREATE FUNCTION ratel_chosen.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS "
    "'SELECT coalesce(ratel_chosen.next_of(''ratel.clock'')::timestamptz, "
    "pg_catalog.clock_timestamp())'",
    "CREATE FUNCTION ratel_chosen.statement_timestamp() RETURNS timestamptz LANGUAGE sql AS "
    "'SELECT ratel_chosen.clock_timestamp()'",
    "CREATE FUNCTION ratel_chosen.gen_random_uuid() RETURNS uuid LANGUAGE sql AS "
    "'SELECT coalesce(ratel_chosen.next_of(''ratel.uuid'')::uuid, "
    "pg_catalog.gen_random_uuid())'",
    "CREATE FUNCTION ratel_chosen.random() RETURNS float8 LANGUAGE sql AS "
    "'SELECT coalesce(ratel_chosen.next_of(''ratel.random'')::float8, pg_catalog.random())'",
};

/* Defaults of serial columns name the engine's own function. */
static const char *const adapt_defaults =
    "DO $ratel$ DECLARE r record; BEGIN FOR r IN SELECT d.adrelid::regclass AS t, a.attname AS c, "
    "regexp_replace(pg_get_expr(d.adbin, d.adrelid), '^(pg_catalog[.])?nextval', "
    "'ratel_chosen.nextval') AS e FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid "
    "AND a.attnum = d.adnum WHERE a.attgenerated = '' AND pg_get_expr(d.adbin, d.adrelid) ~ "
    "'^(pg_catalog[.])?nextval' LOOP EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT "
    "%s', r.t, r.c, r.e); END LOOP; END $ratel$";

bool draws_prepare(reference_engine *e, engine_conn *c)
{
    bool done = true;
    for (size_t i = 0; done && i < sizeof functions / sizeof *functions; i++)
        done = e->db.driver->query(&c->s, functions[i], NULL, 0) == DB_OK;
    if (!done) snprintf(e->why, sizeof e->why, "the reference engine: %s", c->s.error);
    return done;
}

bool draws_adapt(reference_engine *e, engine_conn *c)
{
    bool done = e->db.driver->query(&c->s, adapt_defaults, NULL, 0) == DB_OK;
    if (!done) snprintf(e->why, sizeof e->why, "the reference engine: %s", c->s.error);
    return done;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static const char *stand_in(const char *word, bool called)
{
    static const char *const words[][2] = {
        {"current_timestamp", "(ratel_chosen.now())"},
        {"localtimestamp", "(ratel_chosen.now()::timestamp)"},
        {"current_date", "(ratel_chosen.now()::date)"},
    };
    for (size_t i = 0; !called && i < sizeof words / sizeof *words; i++)
        if (!strcmp(word, words[i][0])) return words[i][1];
    return NULL;
}

/* The end of a string, a quoted name or a comment that begins at p; p: none does. */
static const char *after_quoted(const char *p, const char *end)
{
    if (*p == '\'' || *p == '"') {
        const char *q = p + 1;
        while (q < end && *q != *p) q++;
        return q < end ? q + 1 : end;
    }
    if (*p == '-' && p + 1 < end && p[1] == '-') {
        while (p < end && *p != '\n') p++;
        return p;
    }
    return p;
}

static bool in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

const char *draws_text(reference_engine *e, const char *text, size_t n)
{
    strbuf b;
    bool other = false;
    strbuf_init(&b, e->mem);
    for (const char *p = text, *end = text + n; p < end;) {
        const char *q = after_quoted(p, end);
        if (q == p && in_word(*p)) {
            char word[STATEMENT_WORD];
            word_walk w = {p, end};
            while (q < end && in_word(*q)) q++;
            next_statement_word(&w, word);
            const char *s = stand_in(word, q < end && *q == '(');
            other |= s != NULL;
            if (s)
                strbuf_str(&b, s);
            else
                strbuf_add(&b, p, (size_t)(q - p));
            p = q;
            continue;
        }
        if (q == p) q++;
        strbuf_add(&b, p, (size_t)(q - p));
        p = q;
    }
    if (other) return strbuf_cstr(&b);
    strbuf_free(&b);
    return text;
}

/* ---- marks ----------------------------------------------------------------------------------- */

static void put_time(strbuf *b, unsigned day, uint64_t us)
{
    strbuf_printf(b, "2200-01-%02u %02u:%02u:%02u.%06u+00", day, (unsigned)(us / 3600000000u),
                  (unsigned)(us / 60000000u % 60), (unsigned)(us / 1000000u % 60),
                  (unsigned)(us % 1000000u));
}

static void put_mark(strbuf *b, draw_kind kind, uint64_t id)
{
    switch (kind) {
    case DRAW_SEQUENCE: strbuf_u64(b, 1000000000u + id * APART); break;
    case DRAW_CLOCK: put_time(b, 2, id * APART); break;
    case DRAW_UUID:
        strbuf_printf(b, "7a7e1000-0000-4000-8000-%012llx", (unsigned long long)(id * APART));
        break;
    case DRAW_RANDOM: strbuf_printf(b, "%.17g", (double)(id * APART + 1) / 2199023255552.0); break;
    }
}

/* The time of a mark; `day` must be that of its kind. */
static bool read_time(const char *t, size_t n, char day, uint64_t *us)
{
    unsigned h, m, s, digits = 0;
    int at = 0;
    char rest[VALUE] = "";
    if (n < 19 || n >= VALUE || strncmp(t, "2200-01-0", 9) != 0 || t[9] != day) return false;
    if (sscanf(t + 10, "%*1[ T]%2u:%2u:%2u%n", &h, &m, &s, &at) != 3 || !at) return false;
    snprintf(rest, sizeof rest, "%.*s", (int)(n - 10) - at, t + 10 + at);
    *us = 0;
    const char *p = rest;
    if (*p == '.')
        for (p++; *p >= '0' && *p <= '9' && digits < 6; p++, digits++)
            *us = *us * 10 + (uint64_t)(*p - '0');
    for (; digits < 6; digits++) *us *= 10;
    *us += ((h * 60ull + m) * 60 + s) * 1000000;
    return true;
}

static bool read_mark(const char *t, size_t n, draw_kind *kind, uint64_t *id)
{
    char text[VALUE], *end;
    uint64_t x;
    if (!n || n >= VALUE) return false;
    memcpy(text, t, n);
    text[n] = 0;
    if (read_time(t, n, '2', &x)) {
        *kind = DRAW_CLOCK;
    } else if (!strncmp(text, "7a7e1000-0000-4000-8000-", 24) && n == 36) {
        *kind = DRAW_UUID;
        x = strtoull(text + 24, &end, 16);
    } else if (n > 9 && strspn(text, "0123456789") == n) {
        *kind = DRAW_SEQUENCE;
        x = strtoull(text, &end, 10) - 1000000000u;
    } else {
        double v = strtod(text, &end) * 2199023255552.0;
        if (*end || !(v >= 1 && v < 1e15) || v != (double)(uint64_t)v) return false;
        *kind = DRAW_RANDOM;
        x = (uint64_t)v - 1;
    }
    *id = x / APART;
    return x % APART == 0;
}

/* Where a mark's value is kept; NULL: that is no mark. */
static const char **value_of_mark(draws_known *k, const char *t, size_t n, uint32_t *slot)
{
    draw_kind kind;
    uint64_t id, us;
    *slot = UINT32_MAX;
    if (read_time(t, n, '1', &us) && us % APART == 0 && us / APART) {
        /* of no slot: the time of a transaction */
        return us / APART <= k->txns ? &k->now[us / APART - 1] : NULL;
    }
    if (!read_mark(t, n, &kind, &id) || id / DRAWS >= k->slots.n) return NULL;
    draw_slot *s = &k->slots.at[id / DRAWS];
    *slot = (uint32_t)(id / DRAWS);
    return id % DRAWS < s->used[kind] ? &s->value[kind][id % DRAWS] : NULL;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* A value of the log that can stand in a queue. */
static const char *kept_value(reference_engine *e, const cell *c)
{
    if (c->kind != CELL_NUMBER && c->kind != CELL_TEXT) return NULL;
    if (!c->n || c->n >= VALUE) return NULL;
    for (uint32_t i = 0; i < c->n; i++)
        if (!in_word(c->s[i]) && !strchr("+-:. ", c->s[i])) return NULL;
    char *v = mem_get(e->mem, c->n + 1);
    memcpy(v, c->s, c->n);
    v[c->n] = 0;
    return v;
}

static bool row_fits(reference_engine *e, const log_stmt *l, uint32_t i, const db_session *s,
                     uint32_t row, bool bind)
{
    draws_known *k = e->draws_known;
    for (uint32_t c = 0; c < l->n_cols; c++) {
        const cell *want = &l->cells[(size_t)i * l->n_cols + c];
        const db_cell *have = &s->cells.at[(size_t)row * s->n_cols + c];
        uint32_t slot;
        const char **v =
            have->at == UINT32_MAX ? NULL : value_of_mark(k, s->text.at + have->at, have->n, &slot);
        if (!v) {
            if (compare_cell(e->kind, want, s, have) != ANSWERS_AGREE) return false;
            continue;
        }
        const char *value = kept_value(e, want);
        if (!value || (*v && strcmp(*v, value) != 0)) return false;
        if (bind && !*v) *v = value, k->learnt = true;
    }
    return true;
}

/* ---- the execution with marks ---------------------------------------------------------------- */

static draw_slot *slot_at(const draws_known *k, uint32_t txn, uint32_t stmt)
{
    uint32_t at = k->slot_of[txn] ? k->slot_of[txn][stmt] : 0;
    return at ? &k->slots.at[at - 1] : NULL;
}

static void put_now(const draws_known *k, uint32_t txn, strbuf *b)
{
    if (k->now[txn])
        strbuf_str(b, k->now[txn]);
    else
        put_time(b, 1, ((uint64_t)txn + 1) * APART);
}

/* `all`: marks for as many draws as a statement may have. */
static const char *giving_text(const reference_engine *e, const draw_slot *s, bool all)
{
    const draws_known *k = e->draws_known;
    strbuf b;
    strbuf_init(&b, e->mem);
    strbuf_str(&b, "SELECT set_config('ratel.now', '");
    put_now(k, s->txn, &b);
    strbuf_str(&b, "', true)");
    for (int kind = 0; kind < KINDS; kind++) {
        uint32_t n = all ? DRAWS : s->used[kind];
        if (!n) continue;
        strbuf_printf(&b, ", set_config('%s', '", queue_names[kind]);
        for (uint32_t i = 0; i < n; i++) {
            bool known = i < s->used[kind] && s->value[kind][i];
            if (i) strbuf_char(&b, '|');
            if (known)
                strbuf_str(&b, s->value[kind][i]);
            else
                put_mark(&b, (draw_kind)kind, (uint64_t)(s - k->slots.at) * DRAWS + i);
        }
        strbuf_str(&b, "', true)");
    }
    return strbuf_cstr(&b);
}

bool draws_are_given(const reference_engine *e, uint32_t txn, uint32_t stmt)
{
    const draws_known *k = e->draws_known;
    if (!k || !e->draws_given) return false;
    const draw_slot *s = slot_at(k, txn, stmt);
    if (!s) return false;
    bool any = k->now_used[txn];
    for (int kind = 0; kind < KINDS; kind++) any |= s->used[kind] > 0;
    return any;
}

const char *draws_given(const reference_engine *e, uint32_t txn, uint32_t stmt)
{
    if (!draws_are_given(e, txn, stmt)) return NULL;
    return giving_text(e, slot_at(e->draws_known, txn, stmt), false);
}

/* What is left in the queues tells how much was taken. */
static bool count_used(reference_engine *e, engine_conn *c, draw_slot *s)
{
    draws_known *k = e->draws_known;
    if (!engine_does(e, c,
                     "SELECT current_setting('ratel.sequence', true), "
                     "current_setting('ratel.clock', true), current_setting('ratel.uuid', true), "
                     "current_setting('ratel.random', true), "
                     "current_setting('ratel.now_used', true)"))
        return false;
    for (int kind = 0; kind < KINDS; kind++) {
        const db_cell *d = &c->s.cells.at[kind];
        const char *left = d->at == UINT32_MAX ? "" : c->s.text.at + d->at;
        uint32_t n = *left ? 1 : 0;
        for (; *left; left++) n += *left == '|';
        if (!n) k->incomplete = true; /* there may have been more */
        if (s->used[kind] == DRAWS - n) continue;
        s->used[kind] = DRAWS - n;
        s->value[kind] = mem_array0(e->mem, const char *, DRAWS - n + 1);
    }
    const db_cell *used = &c->s.cells.at[KINDS];
    k->now_used[s->txn] |= used->at != UINT32_MAX && used->n;
    return true;
}

static bool all_known(const draws_known *k, const draw_slot *s)
{
    if (k->now_used[s->txn] && !k->now[s->txn]) return false;
    for (int kind = 0; kind < KINDS; kind++)
        for (uint32_t i = 0; i < s->used[kind]; i++)
            if (!s->value[kind][i]) return false;
    return true;
}

static bool undo(reference_engine *e, engine_conn *c)
{
    return engine_does(e, c, "ROLLBACK TO SAVEPOINT ratel_draw") &&
           engine_does(e, c, "RELEASE SAVEPOINT ratel_draw");
}

/* A statement that may draw: with marks, and again with what its answer shows of them. */
static bool observe_statement(reference_engine *e, engine_conn *c, draw_slot *s)
{
    const log_stmt *l = &e->plan->log->txns.at[s->txn].stmts[s->stmt];
    bool told =
        engine_does(e, c, "SAVEPOINT ratel_draw") && engine_does(e, c, giving_text(e, s, true));
    if (!told) return false;
    run_outcome o = engine_run_statement(e, c, s->txn, s->stmt);
    if (l->has_error || *c->s.state) { /* nothing is left of it in either case */
        e->draws_known->incomplete |= o.how != ANSWERS_AGREE;
        return undo(e, c);
    }
    db_session shown = c->s; /* the answer is kept beside the next ones */
    strbuf_init(&c->s.text, e->mem);
    memset(&c->s.cells, 0, sizeof c->s.cells);
    bool counted = count_used(e, c, s);
    if (counted) bind_matched_rows(e, l, &shown, row_fits);
    strbuf_free(&shown.text);
    vec_free(e->mem, &shown.cells);
    if (!counted) return false;
    s->shown = all_known(e->draws_known, s);
    if (!undo(e, c)) return false;
    told = engine_does(e, c, "SAVEPOINT ratel_draw") && engine_does(e, c, giving_text(e, s, false));
    o = engine_run_statement(e, c, s->txn, s->stmt);
    s->shown &= o.how == ANSWERS_AGREE && l->has_rows;
    if (s->shown && e->draws_known->now_used[s->txn]) e->draws_known->now_shown[s->txn] = true;
    bool broken = *c->s.state != 0;
    if (broken) e->draws_known->incomplete = true;
    return told && (broken ? undo(e, c) : engine_does(e, c, "RELEASE SAVEPOINT ratel_draw"));
}

static bool may_draw(const reference_engine *e, const log_stmt *x)
{
    const statement_words *w = &e->words[x->text];
    if (w->is_savepoint || w->sets_level || w->is_setting || w->runs_alone) return false;
    return w->draws || (!w->only_reads && e->setup_draws);
}

static draw_slot *slot_for(reference_engine *e, uint32_t txn, uint32_t stmt)
{
    draws_known *k = e->draws_known;
    draw_slot *s = slot_at(k, txn, stmt);
    if (s) return s;
    if (k->slots.n == SLOTS) {
        k->incomplete = true;
        return NULL;
    }
    if (!k->slot_of[txn])
        k->slot_of[txn] = mem_array0(e->mem, uint32_t, e->plan->log->txns.at[txn].n_stmts + 1);
    vec_push(e->mem, &k->slots, ((draw_slot){.txn = txn, .stmt = stmt}));
    k->slot_of[txn][stmt] = (uint32_t)k->slots.n;
    return &k->slots.at[k->slots.n - 1];
}

static void observe_txn(reference_engine *e, uint32_t txn)
{
    const log_txn *t = &e->plan->log->txns.at[txn];
    engine_conn *c = engine_session(e, txn);
    bool conflict, good = true;
    if (!c) guard_fail(e->guard, GUARD_IO, "%s", e->why);
    if (!engine_does(e, c, "BEGIN")) engine_lost(e, c);
    for (uint32_t i = 0; i < t->n_stmts && good; i++) {
        const log_stmt *x = &t->stmts[i];
        draw_slot *s = may_draw(e, x) ? slot_for(e, txn, i) : NULL;
        if (s) {
            good = observe_statement(e, c, s);
            continue;
        }
        if (x->has_error && !e->words[x->text].is_savepoint) continue; /* it did nothing */
        engine_run_statement(e, c, txn, i);
        good = !*c->s.state;
        if (good) bind_matched_rows(e, x, &c->s, row_fits);
    }
    if (!good) {
        e->draws_known->incomplete = true;
        engine_rollback(e, c);
        return;
    }
    if (!engine_commit(e, c, &conflict)) e->draws_known->incomplete = true;
}

/* ---- what was learnt ------------------------------------------------------------------------- */

/* A sequence that gave one value twice to statements of the same text was set back, or is wrong. */
static bool has_a_value_twice(const reference_engine *e)
{
    const draws_known *k = e->draws_known;
    VEC(uint64_t) keys = {0};
    for (size_t i = 0; i < k->slots.n; i++) {
        const draw_slot *s = &k->slots.at[i];
        uint32_t text = e->plan->log->txns.at[s->txn].stmts[s->stmt].text;
        for (uint32_t d = 0; d < s->used[DRAW_SEQUENCE]; d++) {
            uint64_t h = 1469598103934665603u ^ text;
            if (!s->value[DRAW_SEQUENCE][d]) continue;
            for (const char *p = s->value[DRAW_SEQUENCE][d]; *p; p++)
                h = (h ^ (unsigned char)*p) * 1099511628211u;
            vec_push(e->mem, &keys, h);
        }
    }
    bool twice = false;
    if (keys.n) sort_u64(keys.at, keys.n);
    for (size_t i = 1; i < keys.n && !twice; i++) twice = keys.at[i] == keys.at[i - 1];
    vec_free(e->mem, &keys);
    return twice;
}

static bool is_all_shown(const reference_engine *e)
{
    const draws_known *k = e->draws_known;
    bool all = !k->incomplete;
    for (size_t i = 0; i < k->slots.n && all; i++) {
        const draw_slot *s = &k->slots.at[i];
        uint32_t used = k->now_used[s->txn];
        for (int kind = 0; kind < KINDS; kind++) used += s->used[kind];
        all = !used || (s->shown && (!k->now_used[s->txn] || k->now_shown[s->txn]));
    }
    return all;
}

static bool knows_any(const draws_known *k, uint32_t txns)
{
    for (uint32_t i = 0; i < txns; i++)
        if (k->now[i]) return true;
    for (size_t i = 0; i < k->slots.n; i++)
        for (int kind = 0; kind < KINDS; kind++)
            for (uint32_t d = 0; d < k->slots.at[i].used[kind]; d++)
                if (k->slots.at[i].value[kind][d]) return true;
    return false;
}

void draws_observe(reference_engine *e)
{
    const sql_log *l = e->plan->log;
    if (e->kind != ENGINE_POSTGRES || !e->draws) return;
    if (texts_draw_unseen(e)) {
        e->draws = NULL; /* nobody looks, so nothing depends on them */
        return;
    }
    draws_known *k = e->draws_known = mem_zeroed(e->mem, sizeof *k);
    k->txns = (uint32_t)l->txns.n;
    k->slot_of = mem_array0(e->mem, uint32_t *, l->txns.n + 1);
    k->now = mem_array0(e->mem, const char *, l->txns.n + 1);
    k->now_used = mem_array0(e->mem, bool, l->txns.n + 1);
    k->now_shown = mem_array0(e->mem, bool, l->txns.n + 1);
    const char **texts = mem_array0(e->mem, const char *, l->texts.n + 1);
    for (size_t i = 0; i < l->texts.n; i++)
        texts[i] = draws_text(e, l->texts.at[i].at, l->texts.at[i].n);
    e->texts = texts;
    k->learnt = true;
    for (int round = 0; round < ROUNDS && k->learnt; round++) {
        k->learnt = k->incomplete = false;
        if (!engine_begin_pass(e)) guard_fail(e->guard, GUARD_HISTORY, "%s", e->why);
        for (uint32_t i = 0; i < e->plan->n; i++) {
            guard_tick(e->guard);
            observe_txn(e, e->plan->at[i]);
        }
    }
    e->drawn_twice = has_a_value_twice(e);
    e->draws_given = knows_any(k, (uint32_t)l->txns.n);
    if (!e->draws_given) { /* the engine's own values are as good */
        e->draws_known = NULL;
        e->texts = NULL;
        return;
    }
    if (!e->draws_other && !e->drawn_twice && is_all_shown(e)) e->draws = NULL;
}
