/*
 * read_sets.c - tries every set of versions that a statement may have read.
 *
 * The store holds all states of a replay.  The transaction in question has its own versions hidden
 * (their cid is HIDDEN) and is run again statement by statement, and each row that it comes to is a
 * choice among its versions.  Ways that differ in one row, by neighbouring versions, are merged.
 * Invariant: the store is the same before and after, to the last version.
 */
#include "audit/read_sets.h"

#include <assert.h>

#define MOST_TRIES 20000u /* of a statement */
#define MOST_ROWS 48u     /* with a choice; more cannot be tried anyway */
#define HIDDEN UINT32_MAX /* cid */

typedef struct finder {
    engine *e;
    uint32_t position, snapshot, stmt;
    uint32_t cid;           /* from which on versions are the statement's */
    bool reference;         /* read what the replay read */
    VEC(store_undo) writes; /* of the statement */
    uint64_t *budget;
    exact *out;
} finder;

static bool is_hidden(const row_version *v)
{
    return v->commit == PENDING && v->cid == HIDDEN;
}

/* The transaction's own versions: out of sight, or back. */
static void hide(engine *e, uint32_t state, bool out)
{
    assert(state && state <= e->store.log_from.n); /* the store holds every state */
    size_t from = e->store.log_from.at[state - 1];
    size_t to = state < e->store.log_from.n ? e->store.log_from.at[state] : e->store.log.n;
    for (size_t i = from; i < to; i++) {
        store_undo u = e->store.log.at[i];
        if (u.row >= UNDO_LEAST) continue;
        for (row_version *v = u.t->rows.at[u.row].head; v; v = v->older) {
            if (out ? v->commit != state : !is_hidden(v)) continue;
            v->commit = out ? PENDING : state;
            v->cid = out ? HIDDEN : 0;
        }
    }
}

static bool in_list(const finder *f, const table *t, uint32_t row)
{
    for (size_t i = 0; i < f->writes.n; i++)
        if (f->writes.at[i].t == t && f->writes.at[i].row == row) return true;
    return false;
}

/* What the replay read the row at. */
static uint32_t replayed_at(const finder *f, const table *t, uint32_t r)
{
    const engine *e = f->e;
    if (!e->hooks.by_row || !e->hooks.by_row[f->position]) return f->snapshot;
    for (size_t i = 0; i < e->hooks.row_reads.n; i++) {
        const row_read *w = &e->hooks.row_reads.at[i];
        if (w->position == f->position && w->stmt == f->stmt && w->row == r &&
            e->store.tables.at[w->table] == t)
            return w->state;
    }
    return f->position;
}

static uint32_t choose(void *ud, table *t, uint32_t r)
{
    engine *e = ud;
    finder *f = e->hooks.chooser;
    assert(f && f->e == e);
    for (size_t i = 0; !f->reference && i < e->run.seen.n; i++)
        if (e->run.seen.at[i].t == t && e->run.seen.at[i].row == r) return e->run.seen.at[i].state;
    uint32_t versions = 0;
    bool own = false, always = false;
    for (const row_version *v = t->rows.at[r].head; v; v = v->older) {
        own |= is_hidden(v);
        if (v->commit == PENDING) continue;
        versions++;
        always = !v->commit;
    }
    if (versions == 1 && always && !own) return e->order.n;
    uint32_t state = replayed_at(f, t, r);
    if (!f->reference && e->run.seen.n >= MOST_ROWS) {
        f->out->cut = true;
        return e->order.n;
    }
    if (!f->reference) {
        choice *c = engine_choice(e, 0, e->order.n);
        const row_version *v = vs_at(t, r, c->now, 0);
        c->valid_from = v ? v->commit : 0;
        state = c->now;
    }
    vec_push(e->mem, &e->run.seen, ((seen_row){t, r, state}));
    return state;
}

static span span_of(seen_row s)
{
    span p = {s.t, s.row, 0, LAST_STATE};
    assert(s.row < s.t->rows.n);
    for (const row_version *v = s.t->rows.at[s.row].head; v; v = v->older) {
        if (v->commit == PENDING) continue;
        if (v->commit <= s.state) {
            p.from = v->commit;
            break;
        }
        p.to = v->commit;
    }
    return p;
}

/* Two ways that differ in one row, and there are neighbours, are one. */
static bool merge_ways(engine *e, option_set *a, option_set *b)
{
    size_t apart = SIZE_MAX;
    if (a->stmt != b->stmt || a->spans.n != b->spans.n) return false;
    for (size_t i = 0; i < a->spans.n; i++) {
        const span *p = &a->spans.at[i], *q = &b->spans.at[i];
        if (p->t != q->t || p->row != q->row) return false;
        if (p->from == q->from && p->to == q->to) continue;
        if (apart != SIZE_MAX || p->from != q->to) return false;
        apart = i;
    }
    if (apart != SIZE_MAX) a->spans.at[apart].from = b->spans.at[apart].from;
    vec_free(e->mem, &b->spans);
    return true;
}

static void add_way(finder *f, uint32_t stmt)
{
    engine *e = f->e;
    exact *x = f->out;
    option_set o = {.stmt = stmt};
    assert(!x->ways.n || x->ways.at[x->ways.n - 1].stmt <= stmt); /* by statement */
    for (size_t i = 0; i < e->run.seen.n; i++) {
        vec_push(e->mem, &o.spans, span_of(e->run.seen.at[i]));
    }
    vec_push(e->mem, &x->ways, o);
    while (x->ways.n > 1 && merge_ways(e, &x->ways.at[x->ways.n - 2], &x->ways.at[x->ways.n - 1]))
        x->ways.n--;
}

/* The run explained the statement.  Was each row that it should write read as its predecessor left
   it?  If not, writing it brings versions out of order, and not writing it is another log. */
static bool in_place(finder *f)
{
    engine *e = f->e;
    bool good = true;
    for (size_t i = 0; i < e->run.seen.n; i++) {
        seen_row s = e->run.seen.at[i];
        if (!in_list(f, s.t, s.row)) continue;
        if (vs_at(s.t, s.row, s.state, 0) == vs_at(s.t, s.row, f->position, 0)) continue;
        const row_version *v = s.t->rows.at[s.row].head;
        bool wrote = v->commit == PENDING && v->cid != HIDDEN && v->cid >= f->cid;
        if (!wrote) f->out->other_writes = true;
        good = false;
    }
    return good;
}

static void every_way(finder *f, uint32_t stmt, uint64_t effects)
{
    engine *e = f->e;
    trial t = {.txn = e->run.trial->txn};
    trial *outer = e->run.trial;
    size_t mark = vs_mark(&e->store);
    bool any = false;
    assert(outer != &t);
    e->run.trial = &t;
    f->reference = false;
    for (uint32_t tries = 0;; tries++) {
        if (tries >= MOST_TRIES || !*f->budget || f->out->cut) {
            f->out->cut = true;
            break;
        }
        --*f->budget;
        f->cid = e->x.last_cid + 1;
        outcome r = engine_statement(e, stmt, choose);
        assert(e->run.used <= t.choices.n);
        if (r == RUN_REFUSED) {
            f->out->cut = true;
            break;
        }
        if (r == RUN_OK) { /* out of place: the order of versions will contradict it */
            if (!in_place(f) || engine_effects(e) == effects) {
                add_way(f, stmt);
                any = true;
            } else {
                f->out->other_writes = true;
            }
        }
        vs_rollback(&e->store, mark);
        t.choices.n = e->run.used;
        if (!engine_advance(e, &t)) break;
    }
    if (!any) f->out->cut = true; /* the replay's own way is one: something is not as we think */
    vs_rollback(&e->store, mark);
    vec_free(e->mem, &t.choices);
    e->run.trial = outer;
}

const char *exact_row_name(engine *e, uint32_t number, uint32_t row)
{
    const table *t = e->store.tables.at[number];
    strbuf b;
    strbuf_init(&b, e->mem);
    strbuf_str(&b, t->name);
    const row_version *v = t->rows.at[row].head;
    while (v && v->dead) v = v->older;
    for (uint32_t i = 0; v && i < t->n_unique; i++) {
        if (!t->unique[i].primary) continue;
        for (uint32_t k = 0; k < t->unique[i].n; k++) {
            uint32_t c = t->unique[i].cols[k];
            strbuf_str(&b, k ? ", " : " ");
            if (!v->cols[c].null) value_print(t->cols[c].t.id, v->cols[c], &b);
        }
    }
    const char *text = arena_text(&e->kept, strbuf_cstr(&b), strlen(strbuf_cstr(&b)));
    strbuf_free(&b);
    return text;
}

static void tell_reads(finder *f, uint32_t stmt)
{
    engine *e = f->e;
    for (size_t i = 0; i < e->run.seen.n; i++) {
        seen_row s = e->run.seen.at[i];
        span p = span_of(s);
        uint32_t t = 0;
        while (e->store.tables.at[t] != s.t) t++;
        told_edge w = {p.from - 1, f->position, stmt, t, s.row, "wr"};
        if (p.from) vec_push(e->mem, &f->out->told, w);
        w = (told_edge){f->position, p.to - 1, stmt, t, s.row, "rw"};
        if (p.to != LAST_STATE) vec_push(e->mem, &f->out->told, w);
    }
}

/* Runs the statement as the replay did; its writes stay. */
static bool as_replayed(finder *f, uint32_t stmt)
{
    assert(stmt == f->stmt);
    engine *e = f->e;
    f->reference = true;
    e->run.trial->choices.n = 0;
    return engine_statement(e, stmt, choose) == RUN_OK;
}

/* Ways that contain every state say nothing; a statement with such a way says nothing. */
static void simplify(engine *e, exact *x)
{
    size_t keep = 0;
    for (size_t i = 0; i < x->ways.n;) {
        size_t end = i;
        bool free_way = false;
        for (; end < x->ways.n && x->ways.at[end].stmt == x->ways.at[i].stmt; end++) {
            option_set *o = &x->ways.at[end];
            size_t n = 0;
            for (size_t k = 0; k < o->spans.n; k++)
                if (o->spans.at[k].from || o->spans.at[k].to != LAST_STATE)
                    o->spans.at[n++] = o->spans.at[k];
            o->spans.n = n;
            free_way |= !n;
        }
        for (; i < end; i++) {
            if (free_way)
                vec_free(e->mem, &x->ways.at[i].spans);
            else
                x->ways.at[keep++] = x->ways.at[i];
        }
    }
    x->ways.n = keep;
}

void exact_find(engine *e, uint32_t position, uint32_t snapshot, uint64_t *budget, exact *out)
{
    assert(position < e->order.n && snapshot <= position && !e->store.undo.n);
    finder f = {.e = e, .position = position, .snapshot = snapshot, .budget = budget, .out = out};
    trial t = {.txn = e->order.at[position]};
    failure fail = e->fail;
    bool cut = e->effort.cut;
    uint32_t window = e->effort.window;
    memset(out, 0, sizeof *out);
    e->run.mode = MODE_ROW;
    e->run.rule = WRITE_FREE;
    e->exploring = false;
    e->effort.window = UINT32_MAX;
    hide(e, position + 1, true);
    engine_begin(e, &t, e->order.n);
    // cppcheck-suppress autoVariables ; taken back below, and nobody asks after a jump
    e->hooks.chooser = &f;
    e->x.any_key = true;
    for (uint32_t i = 0; i < e->run.txn->n_stmts && !out->cut; i++) {
        size_t mark = vs_mark(&e->store);
        f.writes.n = 0;
        f.stmt = i;
        if (!as_replayed(&f, i)) {
            out->cut = true;
            break;
        }
        uint64_t effects = engine_effects(e);
        for (size_t k = mark; k < e->store.undo.n; k++)
            vec_push(e->mem, &f.writes, e->store.undo.at[k]);
        tell_reads(&f, i);
        vs_rollback(&e->store, mark);
        every_way(&f, i, effects);
        if (!as_replayed(&f, i)) out->cut = true;
    }
    vs_rollback(&e->store, 0);
    e->x.any_key = false;
    e->hooks.chooser = NULL;
    hide(e, position + 1, false);
    vec_free(e->mem, &f.writes);
    vec_free(e->mem, &t.choices);
    simplify(e, out);
    e->fail = fail;
    e->effort.cut = cut;
    e->effort.window = window;
}

void exact_free(engine *e, exact *x)
{
    for (size_t i = 0; i < x->ways.n; i++) vec_free(e->mem, &x->ways.at[i].spans);
    vec_free(e->mem, &x->ways);
    vec_free(e->mem, &x->told);
}
