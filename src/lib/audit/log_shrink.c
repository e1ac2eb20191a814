/*
 * log_shrink.c - a smallest part of a log that fails in the same statement and in the same way.
 *
 * Every candidate is a log of its own, cut out of the present one, and is decided anew; it replaces
 * the present one if it is violated there, too: same transaction, statement and kind, and no right
 * answer or conflict that was none before.  Two things besides keep an example honest: every
 * statement that is left is taken back by the ROLLBACK TO that takes it back in the whole, or by
 * none, and if the whole is right but for the one answer, so is the part: what makes the errors and
 * the other answers right stays.  First all but the last few transactions before the
 * failing one go (windows that double), then delta debugging takes out transactions, statements,
 * answers, rows of the initial state and tables, in this order and again until nothing goes: the
 * result is minimal by single removals.
 *
 * An answer that is forgotten is one that nothing is known of, which the format allows.  Rows that
 * INSERTs of the setup made become rows of the initial state, so that they can go one by one.
 */
#include <stdio.h>

#include "audit/audit_internal.h"
#include "audit/txn_marks.h"

#include <assert.h>

/* What is known of the log with something else in place of the wrong answer. */
typedef enum rest_kind {
    REST_UNASKED,
    REST_SUCCESS, /* the statement succeeded, and nothing more is told: that is not violated */
    REST_ERROR,   /* it failed with an error that was right, and that is not violated */
    REST_WRONG    /* it is violated all the same, so that nothing is asked of parts */
} rest_kind;

typedef struct shrinker {
    audit *a;
    audit_options o;
    const audit_answer *want;
    const char *level;
    mem work, store; /* of a trial */
    arena kept;      /* what logs share: statements, cells */
    sql_log now;     /* fails as wanted */
    uint64_t trials;
    bool changed;          /* in this round */
    bool rolls_back;       /* the whole log has a ROLLBACK TO */
    uint32_t **taken_back; /* txn_marks.undone of the whole log */
    rest_kind rest;        /* of the whole log */
    char right_error[6];   /* that the statement should have had, or "" */
} shrinker;

/* ---- trials ---------------------------------------------------------------------------------- */

static bool was_possible(const audit_answer *w, const char *result)
{
    for (size_t i = 0; i < w->n_possible; i++)
        if (!strcmp(w->possible[i].result, result)) return true;
    return false;
}

static bool was_conflict(const audit_answer *w, const char *id)
{
    for (size_t i = 0; i < w->n_conflicts; i++)
        if (!strcmp(w->conflicts[i], id)) return true;
    return false;
}

/* Parts of a right log fail, too: what depends on a transaction that is gone cannot be explained.
   So the right answers must stay what they were, and the conflicts. */
static bool same_failure(const shrinker *s, const audit_answer *r)
{
    const audit_answer *w = s->want;
    if (r->verdict != AUDIT_VIOLATED || r->semantic != w->semantic || r->line != w->line ||
        r->column != w->column || !r->txn != !w->txn)
        return false;
    if (r->txn && strcmp(r->txn, w->txn) != 0) return false;
    for (size_t i = 0; i < r->n_possible; i++)
        if (!was_possible(w, r->possible[i].result)) return false;
    for (size_t i = 0; i < r->n_conflicts; i++)
        if (!was_conflict(w, r->conflicts[i])) return false;
    return !r->n_possible == !w->n_possible;
}

static bool not_violated(const shrinker *s, const audit_answer *r)
{
    (void)s;
    return r->verdict != AUDIT_VIOLATED;
}

/* Decides a candidate, and asks a question about the answer.  What is wrong with its initial state
   only refuses it; limits end all. */
static bool decided_so(shrinker *s, const sql_log *l,
                       bool (*question)(const shrinker *, const audit_answer *))
{
    guard *g = &s->a->guard, outer;
    engine e;
    audit_answer r = {0};
    memcpy(&outer, g, sizeof outer);
    s->trials++;
    bool good = false;
    if (guard_armed(g)) {
        int code = g->code;
        guard_restore(g, &outer);
        g->code = code;
        mem_free_all(&s->store);
        mem_free_all(&s->work);
        if (code != SQL_RAISED && code != SQL_REFUSED && code != GUARD_HISTORY) guard_fail_again(g);
        return false;
    }
    audit_engine(&e, g, &s->work, &s->store, &s->o, l);
    search_decide(&e, &r);
    good = question(s, &r);
    guard_restore(g, &outer);
    mem_free_all(&s->store);
    mem_free_all(&s->work);
    return good;
}

static bool is_failing(const shrinker *s, const log_txn *t)
{
    return s->want->txn && !strcmp(t->id, s->want->txn);
}

static bool is_failing_stmt(const shrinker *s, const log_stmt *t)
{
    return t->line == s->want->line && t->column == s->want->column;
}

/* ---- what a part must keep ------------------------------------------------------------------- */

static bool is_same_place(const log_stmt *a, const log_stmt *b)
{
    return a->line == b->line && a->column == b->column;
}

/* Is every statement of the part, a transaction of the log with this number, taken back by the same
   ROLLBACK TO as in the whole? */
static bool same_taken_back(const shrinker *s, uint32_t number, const log_txn *part,
                            const uint32_t *undone)
{
    const log_txn *whole = &s->a->log.txns.at[number];
    const uint32_t *was = s->taken_back[number];
    uint32_t k = 0;
    for (uint32_t i = 0; i < part->n_stmts; i++, k++) {
        while (!is_same_place(&whole->stmts[k], &part->stmts[i])) k++;
        assert(k < whole->n_stmts);
        /* a savepoint has no effect of its own that could be taken back */
        if (text_kind_of(&s->a->log.texts.at[part->stmts[i].text]) >= TEXT_SAVEPOINT) continue;
        uint32_t by = undone ? undone[i] : 0, was_by = was ? was[k] : 0;
        if (!by != !was_by) return false;
        if (by && !is_same_place(&part->stmts[by - 1], &whole->stmts[was_by - 1])) return false;
    }
    return true;
}

/* A statement that was undone must not take effect in the part, nor one that took effect be undone:
   the log would tell another story. */
static bool keeps_savepoints(shrinker *s, const sql_log *part)
{
    assert(part->txns.n <= s->a->log.txns.n);
    if (!s->rolls_back) return true;
    txn_marks m = marks_of_log(&s->work, part);
    bool same = true;
    uint32_t number = 0;
    for (size_t i = 0; same && i < part->txns.n; i++, number++) {
        /* parts have the transactions of the whole in its order */
        while (s->a->log.txns.at[number].id != part->txns.at[i].id) number++;
        assert(number < s->a->log.txns.n);
        same = same_taken_back(s, number, &part->txns.at[i], m.undone[i]);
    }
    mem_free_all(&s->work);
    return same;
}

/* Is the log, with another outcome of the failing statement, not violated? */
static bool right_but_for_it(shrinker *s, const sql_log *l, rest_kind kind)
{
    sql_log other = *l;
    mem *m = &s->a->shrunk;
    assert(kind == REST_SUCCESS || kind == REST_ERROR);
    other.txns.at = mem_array(m, log_txn, l->txns.n + 1);
    memcpy(other.txns.at, l->txns.at, l->txns.n * sizeof *l->txns.at);
    for (size_t i = 0; i < l->txns.n; i++) {
        log_txn *t = &other.txns.at[i];
        if (!is_failing(s, t)) continue;
        log_stmt *changed = arena_array(&s->kept, log_stmt, t->n_stmts + 1);
        for (uint32_t k = 0; k < t->n_stmts; k++) {
            log_stmt *c = &changed[k];
            *c = t->stmts[k];
            if (!is_failing_stmt(s, c)) continue;
            c->has_rows = c->has_count = false;
            c->has_error = kind == REST_ERROR;
            if (c->has_error) memcpy(c->error, s->right_error, sizeof c->error);
        }
        t->stmts = changed;
    }
    bool right = decided_so(s, &other, not_violated);
    mem_put(m, other.txns.at);
    return right;
}

/* The SQLSTATE that the statement should have given, if that is the one thing that it could. */
static void find_right_error(shrinker *s)
{
    const audit_answer *w = s->want;
    static const char word[] = "error ";
    size_t n = sizeof word - 1;
    if (w->n_possible != 1 || strncmp(w->possible[0].result, word, n) != 0) return;
    if (strlen(w->possible[0].result) < n + 5) return;
    memcpy(s->right_error, w->possible[0].result + n, 5);
}

/* A part counts only if it is right but for the one answer, as the whole is.  Whether the whole is
   so is asked when a part is not. */
static bool keeps_the_rest(shrinker *s, const sql_log *part)
{
    assert(s->want && part->txns.n);
    if (s->rest == REST_WRONG) return true;
    bool success = s->rest != REST_ERROR && right_but_for_it(s, part, REST_SUCCESS);
    if (success) return true;
    if (*s->right_error && s->rest != REST_SUCCESS && right_but_for_it(s, part, REST_ERROR))
        return true;
    if (s->rest != REST_UNASKED) return false;
    s->rest = right_but_for_it(s, &s->a->log, REST_SUCCESS)                    ? REST_SUCCESS
              : *s->right_error && right_but_for_it(s, &s->a->log, REST_ERROR) ? REST_ERROR
                                                                               : REST_WRONG;
    return s->rest == REST_WRONG;
}

/* Takes the candidate if it fails; it is the caller's to free otherwise. */
static bool take_candidate(shrinker *s, sql_log *candidate)
{
    if (!keeps_savepoints(s, candidate) || !decided_so(s, candidate, same_failure)) return false;
    if (!keeps_the_rest(s, candidate)) return false;
    s->now = *candidate;
    s->changed = true;
    return true;
}

/* ---- items: what can be left out ------------------------------------------------------------- */

typedef enum item_kind { ITEM_TXN, ITEM_STMT, ITEM_ANSWER, ITEM_ROW, ITEM_SETUP } item_kind;

typedef struct item {
    uint32_t a, b; /* transaction and statement, or rows and row */
} item;

typedef VEC(item) item_list;

static bool has_answer(const log_stmt *s)
{
    return s->has_rows || s->has_count;
}

static void list_stmts(const shrinker *s, mem *m, item_kind kind, item_list *out)
{
    for (uint32_t i = 0; i < s->now.txns.n; i++) {
        const log_txn *t = &s->now.txns.at[i];
        for (uint32_t k = 0; k < t->n_stmts; k++) {
            if (is_failing_stmt(s, &t->stmts[k])) continue;
            if (kind == ITEM_ANSWER && !has_answer(&t->stmts[k])) continue;
            vec_push(m, out, ((item){i, k}));
        }
    }
}

static void list_items(const shrinker *s, item_kind kind, item_list *out)
{
    mem *m = &s->a->shrunk;
    out->n = 0;
    if (kind == ITEM_STMT || kind == ITEM_ANSWER) list_stmts(s, m, kind, out);
    for (uint32_t i = 0; kind == ITEM_TXN && i < s->now.txns.n; i++)
        if (!is_failing(s, &s->now.txns.at[i])) vec_push(m, out, ((item){i, 0}));
    for (uint32_t i = 0; kind == ITEM_SETUP && i < s->now.setup.n; i++)
        vec_push(m, out, ((item){i, 0}));
    for (uint32_t i = 0; kind == ITEM_ROW && i < s->now.rows.n; i++)
        for (uint32_t k = 0; k < s->now.rows.at[i].n_rows; k++) vec_push(m, out, ((item){i, k}));
}

static void without_txns(const shrinker *s, const item *at, size_t n, sql_log *out)
{
    mem *m = &s->a->shrunk;
    out->txns.at = mem_array(m, log_txn, s->now.txns.n + 1);
    out->txns.n = 0;
    for (uint32_t i = 0; i < s->now.txns.n; i++) {
        if (n && at->a == i)
            at++, n--;
        else
            out->txns.at[out->txns.n++] = s->now.txns.at[i];
    }
}

static void without_stmts(shrinker *s, item_kind kind, const item *at, size_t n, sql_log *out)
{
    without_txns(s, NULL, 0, out);
    while (n) {
        log_txn *t = &out->txns.at[at->a];
        log_stmt *kept = arena_array(&s->kept, log_stmt, t->n_stmts + 1);
        uint32_t k = 0, i = at->a;
        for (uint32_t j = 0; j < t->n_stmts; j++) {
            bool hit = n && at->a == i && at->b == j;
            if (hit) at++, n--;
            if (hit && kind == ITEM_STMT) continue;
            kept[k] = t->stmts[j];
            if (hit) kept[k].has_rows = kept[k].has_count = false;
            k++;
        }
        t->stmts = kept;
        t->n_stmts = k;
    }
}

static void without_rows(shrinker *s, const item *at, size_t n, sql_log *out)
{
    mem *m = &s->a->shrunk;
    out->rows.at = mem_array(m, log_rows, s->now.rows.n + 1);
    out->rows.n = 0;
    for (uint32_t i = 0; i < s->now.rows.n; i++) {
        log_rows r = s->now.rows.at[i];
        if (n && at->a == i) {
            cell *cells = arena_array(&s->kept, cell, (size_t)r.n_rows * r.n_cols + 1);
            uint32_t k = 0;
            for (uint32_t j = 0; j < s->now.rows.at[i].n_rows; j++) {
                bool hit = n && at->a == i && at->b == j;
                if (hit)
                    at++, n--;
                else
                    memcpy(cells + (size_t)k++ * r.n_cols, r.cells + (size_t)j * r.n_cols,
                           r.n_cols * sizeof *cells);
            }
            r.cells = cells;
            r.n_rows = k;
        }
        if (r.n_rows) out->rows.at[out->rows.n++] = r;
    }
}

static void without_setup(const shrinker *s, const item *at, size_t n, sql_log *out)
{
    out->setup.at = mem_array(&s->a->shrunk, log_stmt, s->now.setup.n + 1);
    out->setup.n = 0;
    for (uint32_t i = 0; i < s->now.setup.n; i++) {
        if (n && at->a == i)
            at++, n--;
        else
            out->setup.at[out->setup.n++] = s->now.setup.at[i];
    }
}

/* Tries the log without n items of one kind, which stand in the order of the log. */
static bool try_without(shrinker *s, item_kind kind, const item *at, size_t n)
{
    assert(n);
    sql_log part = s->now;
    switch (kind) {
    case ITEM_TXN: without_txns(s, at, n, &part); break;
    case ITEM_STMT:
    case ITEM_ANSWER: without_stmts(s, kind, at, n, &part); break;
    case ITEM_ROW: without_rows(s, at, n, &part); break;
    case ITEM_SETUP: without_setup(s, at, n, &part); break;
    }
    if (take_candidate(s, &part)) return true;
    if (part.txns.at != s->now.txns.at) mem_put(&s->a->shrunk, part.txns.at);
    if (part.rows.at != s->now.rows.at) mem_put(&s->a->shrunk, part.rows.at);
    if (part.setup.at != s->now.setup.at) mem_put(&s->a->shrunk, part.setup.at);
    return false;
}

/* Delta debugging: pieces of all, a half, a quarter, ... of the items, down to single ones, from
   the end on, since what came last is needed least by what came before. */
static void reduce(shrinker *s, item_kind kind)
{
    item_list items = {0};
    list_items(s, kind, &items);
    size_t piece = items.n;
    while (piece && items.n) {
        bool gone = false;
        for (size_t end = items.n; end;) {
            size_t from = end > piece ? end - piece : 0;
            assert(from < end && end <= items.n);
            if (try_without(s, kind, items.at + from, end - from)) {
                gone = true;
                list_items(s, kind, &items);
                if (from > items.n) from = items.n;
            }
            end = from;
        }
        if (piece > items.n) piece = items.n;
        if (piece > 1)
            piece /= 2;
        else if (!gone)
            break;
    }
    vec_free(&s->a->shrunk, &items);
}

/* ---- first moves ----------------------------------------------------------------------------- */

/* Only the `k` transactions before the failing one, it, and those that it conflicts with; without
   the other answers if they are `quiet`. */
static bool try_window(shrinker *s, uint32_t failing, uint32_t k, bool quiet)
{
    assert(failing < s->now.txns.n && k <= failing);
    sql_log part = s->now;
    mem *m = &s->a->shrunk;
    part.txns.at = mem_array(m, log_txn, s->now.txns.n + 1);
    part.txns.n = 0;
    for (uint32_t i = 0; i < s->now.txns.n; i++) {
        log_txn t = s->now.txns.at[i];
        bool near = i <= failing && failing - i <= k;
        bool lost = t.status == LOG_ABORTED && !is_failing(s, &t);
        if (lost || (!near && !was_conflict(s->want, t.id))) continue;
        if (quiet) {
            log_stmt *kept = arena_array(&s->kept, log_stmt, t.n_stmts + 1);
            for (uint32_t j = 0; j < t.n_stmts; j++) {
                kept[j] = t.stmts[j];
                if (!is_failing_stmt(s, &kept[j])) kept[j].has_rows = kept[j].has_count = false;
            }
            t.stmts = kept;
        }
        part.txns.at[part.txns.n++] = t;
    }
    if (take_candidate(s, &part)) return true;
    mem_put(m, part.txns.at);
    return false;
}

static void windows_first(shrinker *s)
{
    uint32_t failing = 0, n = (uint32_t)s->now.txns.n;
    while (failing < n && !is_failing(s, &s->now.txns.at[failing])) failing++;
    if (failing == n) return;
    for (uint64_t k = 0;; k = 2 * k + 1) {
        uint32_t width = k < failing ? (uint32_t)k : failing;
        if (try_window(s, failing, width, true) || try_window(s, failing, width, false)) return;
        if (width == failing) return;
    }
}

/* ---- rows of the setup ----------------------------------------------------------------------- */

static bool begins(const log_text *t, const char *word)
{
    size_t i = 0;
    while (i < t->n && strchr(" \t\r\n", t->at[i])) i++;
    for (; *word; word++, i++)
        if (i >= t->n || (t->at[i] | 32) != *word) return false;
    return true;
}

static bool fills(const sql_log *l, const log_stmt *s)
{
    static const char *const words[] = {"insert", "update", "delete"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (begins(&l->texts.at[s->text], words[i])) return true;
    return false;
}

static cell cell_of(shrinker *s, strbuf *b, type_id t, value v)
{
    if (v.null) return (cell){CELL_NULL, 0, ""};
    b->n = 0;
    value_print(t, v, b);
    const char *text = arena_text(&s->kept, b->at ? b->at : "", b->n);
    uint32_t kind = type_rank(t) ? CELL_NUMBER : CELL_TEXT;
    if (kind == CELL_NUMBER && !strchr("-0123456789", *text)) kind = CELL_TEXT; /* NaN */
    return (cell){kind, (uint32_t)b->n, text};
}

static void rows_of_table(shrinker *s, const engine *e, const table *t, sql_log *out)
{
    mem *m = &s->a->shrunk;
    strbuf b;
    VEC(cell) cells = {0};
    uint32_t n = 0;
    strbuf_init(&b, m);
    for (uint32_t r = 0; r < t->rows.n; r++) {
        const row_version *v = vs_at(t, r, 0, 0);
        guard_tick(e->guard);
        if (!v || v->dead) continue;
        n++;
        for (uint32_t c = 0; c < t->n_cols; c++)
            if (!column_hidden(&t->cols[c]))
                vec_push(m, &cells, cell_of(s, &b, t->cols[c].t.id, v->cols[c]));
    }
    cell *kept = arena_array(&s->kept, cell, cells.n + 1);
    if (cells.n) memcpy(kept, cells.at, cells.n * sizeof *kept);
    const char *name = arena_text(&s->kept, t->name, strlen(t->name));
    uint32_t width = n ? (uint32_t)(cells.n / n) : 0;
    log_rows rows = {.table = name, .n_rows = n, .n_cols = width, .cells = kept, .line = 1};
    if (n) vec_push(m, &out->rows, rows);
    vec_free(m, &cells);
    strbuf_free(&b);
}

/* The setup without its INSERTs, and rows as these left them. */
static void spread_setup(shrinker *s)
{
    sql_log part = s->now;
    mem *m = &s->a->shrunk;
    engine e;
    memset(&part.setup, 0, sizeof part.setup);
    memset(&part.rows, 0, sizeof part.rows);
    for (size_t i = 0; i < s->now.setup.n; i++)
        if (!fills(&s->now, &s->now.setup.at[i])) vec_push(m, &part.setup, s->now.setup.at[i]);
    if (part.setup.n == s->now.setup.n) return;
    audit_engine(&e, &s->a->guard, &s->work, &s->store, &s->o, &s->now);
    engine_reset(&e);
    for (size_t i = 0; i < e.store.tables.n; i++)
        if (e.store.tables.at[i]->dropped == NEVER)
            rows_of_table(s, &e, e.store.tables.at[i], &part);
    mem_free_all(&s->store);
    mem_free_all(&s->work);
    take_candidate(s, &part);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void shrink_all(shrinker *s)
{
    static const item_kind kinds[] = {ITEM_TXN, ITEM_STMT, ITEM_ANSWER, ITEM_ROW, ITEM_SETUP};
    txn_marks marks = marks_of_log(&s->a->shrunk, &s->a->log);
    s->taken_back = marks.undone;
    for (size_t i = 0; i < s->a->log.txns.n; i++) s->rolls_back |= marks.undone[i] != NULL;
    find_right_error(s);
    windows_first(s);
    reduce(s, ITEM_TXN);
    spread_setup(s);
    do {
        s->changed = false;
        for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) reduce(s, kinds[i]);
    } while (s->changed);
}

static void fill_shrunk(shrinker *s, audit_shrunk *out)
{
    strbuf b;
    const sql_log *l = &s->now;
    out->txns = l->txns.n;
    out->trials = s->trials;
    for (size_t i = 0; i < l->txns.n; i++) out->statements += l->txns.at[i].n_stmts;
    for (size_t i = 0; i < l->rows.n; i++) out->rows += l->rows.at[i].n_rows;
    strbuf_init(&b, &s->a->shrunk);
    log_write(l, s->level, &b);
    out->text = strbuf_cstr(&b);
    out->n = b.n;
}

static int shrink_log(audit *a, const audit_options *o, const audit_answer *answer,
                      audit_shrunk *out)
{
    memset(out, 0, sizeof *out);
    if (!a || !a->read || answer->verdict != AUDIT_VIOLATED) return GUARD_INVAL;
    mem_free_all(&a->shrunk);
    audit_limits(a, o);
    shrinker s = {.a = a, .o = *o, .want = answer, .level = answer->level, .now = a->log};
    shrinker *volatile held = &s; /* its members must outlive the jump */
    mem_init(&s.work, a->fn, a->ud, &a->guard);
    mem_init(&s.store, a->fn, a->ud, &a->guard);
    s.work.limit = s.store.limit = o->memory;
    s.o.level = answer->level;
    s.o.runs = 4 * answer->runs + 100000; /* what is hard to decide is no good example */
    arena_init(&s.kept, &a->shrunk);
    int code = 0;
    out->minimal = true;
    if (guard_armed(&a->guard)) {
        code = a->guard.code;
        bool limit = code == GUARD_TIME || code == GUARD_INTERRUPT;
        snprintf(a->text, sizeof a->text, "%s", a->guard.text);
        a->line = a->column = 0;
        out->minimal = false;
        out->reason = a->text;
        if (!limit) goto done;
        code = 0;
        audit_limits(a, &(audit_options){.memory = o->memory});
        if (guard_armed(&a->guard)) {
            code = a->guard.code;
            goto done;
        }
    } else {
        shrink_all(held);
    }
    fill_shrunk(held, out);
done:
    mem_free_all(&held->store);
    mem_free_all(&held->work);
    return code;
}

/* Rows that the answers show take the place of unknown ones. */
int audit_shrink(audit *a, const audit_options *o, const audit_answer *answer, audit_shrunk *out)
{
    if (!a || !a->narrow.on) return shrink_log(a, o, answer, out);
    sql_log whole = a->log;
    a->log = a->narrow.log;
    int code = shrink_log(a, o, answer, out);
    a->log = whole;
    return code;
}
