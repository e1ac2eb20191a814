/*
 * table_store.c - chains of versions, their indexes, and taking writes back.
 *
 * Versions are blocks of a few sizes from slabs, with texts and numbers after their columns.  Every
 * write of the running transaction is on the undo list, so that a savepoint is a length of that
 * list; committing renames the pending versions and, during a search, keeps the list to take the
 * state back.  An index holds each value of a chain once per run of equal versions, and is made
 * when a column is first asked for.
 */
#include "sql/table_store.h"

#include <assert.h>

#include "base/hash.h"
#include "base/search.h"

/* ---- blocks of versions --------------------------------------------------------------------- */

#define SLAB 65536u
#define CLASS 32u /* bytes between two classes of blocks */

static void *block_get(store *s, uint32_t size)
{
    assert(size >= sizeof(row_version) && s->slab <= s->slab_end);
    uint32_t class = (size + CLASS - 1) / CLASS;
    if (class >= sizeof s->free_blocks / sizeof s->free_blocks[0]) return mem_get(s->mem, size);
    void *p = s->free_blocks[class];
    if (p) {
        memcpy(&s->free_blocks[class], p, sizeof(void *));
        return p;
    }
    if ((size_t)(s->slab_end - s->slab) < (size_t) class * CLASS) {
        s->slab = mem_get(s->mem, SLAB);
        s->slab_end = s->slab + SLAB;
    }
    p = s->slab;
    s->slab += (size_t) class * CLASS;
    return p;
}

static void block_put(store *s, void *p, uint32_t size)
{
    assert(p && size >= sizeof(row_version)); /* what is free holds a pointer */
    uint32_t class = (size + CLASS - 1) / CLASS;
    if (class >= sizeof s->free_blocks / sizeof s->free_blocks[0]) {
        mem_put(s->mem, p);
        return;
    }
    memcpy(p, &s->free_blocks[class], sizeof(void *));
    s->free_blocks[class] = p;
}

static size_t bytes_after(type_id t, value v)
{
    if (v.null || v.open) return 0;
    size_t n = type_is_bytes(t) ? v.n : t == T_NUMERIC ? num_bytes(v.d) : 0;
    return (n + 7) & ~(size_t)7;
}

/* A fresh one gets a number, by which its copies are known. */
static value stored_hole(store *s, type_id t, value v)
{
    assert(v.open && !v.null);
    if (v.open == OPEN_FIXED && v.i) return v;
    /* a fresh one of the clock has the number of the reading (sql/clock_values.c) */
    uint32_t clock = v.open == OPEN_FREE && !v.n ? (uint32_t)v.i : 0;
    vec_push(s->mem, &s->hole, ((hole){.t = t, .clock = clock}));
    vec_push(s->mem, &s->undo, ((store_undo){.row = UNDO_HOLE}));
    v.open = OPEN_FIXED;
    v.n = 0;
    v.i = (int64_t)s->hole.n;
    return v;
}

void vs_bind(store *s, value open, value is)
{
    assert(open.open == OPEN_FIXED && open.i && (size_t)open.i <= s->hole.n && !is.open);
    hole *h = &s->hole.at[open.i - 1];
    assert(!h->bound);
    h->bound = true;
    h->v = is;
    if (!is.null && type_is_bytes(h->t)) h->v.s = arena_text(&s->names, is.s, is.n);
    if (!is.null && h->t == T_NUMERIC) {
        num *copy = arena_get(&s->names, num_bytes(is.d));
        memcpy(copy, is.d, num_bytes(is.d));
        h->v.d = copy;
    }
    vec_push(s->mem, &s->undo, ((store_undo){.row = UNDO_BIND, .hole = (uint32_t)open.i}));
}

uint32_t vs_read_clock(store *s, int64_t lo, int64_t hi)
{
    assert(lo < hi);
    vec_push(s->mem, &s->readings, ((reading){lo, hi, 0}));
    vec_push(s->mem, &s->undo, ((store_undo){.row = UNDO_READING}));
    return (uint32_t)s->readings.n;
}

void vs_learn_clock(store *s, uint32_t number, reading r)
{
    assert(number && number <= s->readings.n && r.lo < r.hi && r.same != number);
    vec_push(s->mem, &s->reading_was, s->readings.at[number - 1]);
    vec_push(s->mem, &s->undo, ((store_undo){.row = UNDO_CLOCK, .hole = number}));
    s->readings.at[number - 1] = r;
}

uint32_t vs_sequence(store *s, const char *name)
{
    for (size_t i = 0; i < s->sequences.n; i++)
        if (!strcmp(s->sequences.at[i], name)) return (uint32_t)i + 1;
    const char *kept = arena_text(&s->names, name, strlen(name));
    vec_push(s->mem, &s->sequences, kept);
    return (uint32_t)s->sequences.n;
}

static row_version *version_make(store *s, table *t, const value *cols, uint32_t cid)
{
    size_t size = sizeof(row_version) + (cols ? t->n_cols : 0) * sizeof(value);
    size_t at = size;
    for (uint32_t i = 0; cols && i < t->n_cols; i++) size += bytes_after(t->cols[i].t.id, cols[i]);
    if (size > UINT32_MAX / 2) guard_fail(s->mem->guard, GUARD_NOMEM, "a row of over 2 GiB");
    row_version *v = block_get(s, (uint32_t)size);
    v->older = NULL;
    v->commit = PENDING;
    v->cid = cid;
    v->size = (uint32_t)size;
    v->dead = !cols;
    assert(at <= size && size - at <= v->size);
    for (uint32_t i = 0; cols && i < t->n_cols; i++) {
        type_id id = t->cols[i].t.id;
        size_t n = bytes_after(id, cols[i]);
        v->cols[i] = cols[i];
        if (cols[i].open) {
            v->cols[i] = stored_hole(s, id, cols[i]);
            t->cols[i].holes = s->holes = true;
        }
        if (!n) continue;
        char *to = (char *)v + at;
        if (id == T_NUMERIC) {
            memcpy(to, cols[i].d, num_bytes(cols[i].d));
            v->cols[i].d = (const num *)(const void *)to;
        } else {
            memcpy(to, cols[i].s, cols[i].n);
            v->cols[i].s = to;
        }
        at += n;
    }
    assert(at == size && "texts and numbers fill the block");
    return v;
}

/* ---- indexes: hash of the value -> rows ------------------------------------------------------ */

typedef struct entry {
    uint64_t hash;
    uint32_t row, next;
} entry;

struct table_index {
    VEC(entry) entries;
    uint32_t free_entry;
    uint32_t *bucket; /* a power of two of them */
    uint32_t buckets, used;
};

static void index_grow(store *s, table_index *x)
{
    assert((x->buckets & (x->buckets - 1)) == 0 && x->used <= x->entries.n);
    uint32_t n = x->buckets ? x->buckets * 2 : 64;
    mem_put(s->mem, x->bucket);
    x->bucket = mem_array(s->mem, uint32_t, n);
    memset(x->bucket, 0xff, n * sizeof x->bucket[0]);
    uint32_t old = x->buckets;
    x->buckets = n;
    if (!old) return;
    for (uint32_t i = 0; i < x->entries.n; i++) {
        entry *e = &x->entries.at[i];
        if (e->row == NO_ID) continue;
        uint32_t *b = &x->bucket[e->hash & (n - 1)];
        e->next = *b;
        *b = i;
    }
}

static void index_add(store *s, table_index *x, uint64_t hash, uint32_t r)
{
    if (x->used >= x->buckets) index_grow(s, x);
    assert(x->used < x->buckets && r != NO_ID);
    uint32_t i = x->free_entry;
    if (i != NO_ID) {
        x->free_entry = x->entries.at[i].next;
    } else {
        i = (uint32_t)x->entries.n;
        vec_push(s->mem, &x->entries, ((entry){0, 0, 0}));
    }
    uint32_t *b = &x->bucket[hash & (x->buckets - 1)];
    x->entries.at[i] = (entry){hash, r, *b};
    *b = i;
    x->used++;
}

static void index_remove(table_index *x, uint64_t hash, uint32_t r)
{
    assert(x->used && r != NO_ID);
    uint32_t *p = &x->bucket[hash & (x->buckets - 1)];
    while (*p != NO_ID) {
        entry *e = &x->entries.at[*p];
        if (e->hash == hash && e->row == r) {
            uint32_t i = *p;
            *p = e->next;
            e->row = NO_ID;
            e->next = x->free_entry;
            x->free_entry = i;
            x->used--;
            return;
        }
        p = &e->next;
    }
    assert(false && "an entry for each run of values");
}

static bool same_in(const table *t, uint32_t col, const row_version *a, const row_version *b)
{
    if (!a || !b || a->dead || b->dead) return (!a || a->dead) && (!b || b->dead);
    return value_same(t->cols[col].t.id, a->cols[col], b->cols[col]);
}

static bool stands(const row_version *v)
{
    return v && !v->dead;
}

/* v came between newer and older (either may be NULL), or leaves from there. */
static void index_version(store *s, table *t, uint32_t r, const row_version *newer,
                          const row_version *v, const row_version *older, bool comes)
{
    if (!t->index) return;
    for (uint32_t c = 0; c < t->n_cols; c++) {
        table_index *x = t->index[c];
        if (!x) continue;
        type_id id = t->cols[c].t.id;
        if (stands(v) && !same_in(t, c, v, older)) {
            uint64_t h = value_hash(id, v->cols[c]);
            if (comes)
                index_add(s, x, h, r);
            else
                index_remove(x, h, r);
        }
        if (!stands(newer)) continue;
        bool with = !same_in(t, c, newer, v), without = !same_in(t, c, newer, older);
        if (with == without) continue;
        uint64_t h = value_hash(id, newer->cols[c]);
        if (comes == with)
            index_add(s, x, h, r);
        else
            index_remove(x, h, r);
    }
}

static table_index *index_of(store *s, table *t, uint32_t col)
{
    if (!t->index) t->index = mem_array0(s->mem, table_index *, t->n_cols);
    assert(col < t->n_cols);
    if (t->index[col]) return t->index[col];
    table_index *x = mem_zeroed(s->mem, sizeof *x);
    x->free_entry = NO_ID;
    index_grow(s, x);
    for (uint32_t r = 0; r < t->rows.n; r++)
        for (const row_version *v = t->rows.at[r].head; v; v = v->older)
            if (stands(v) && !same_in(t, col, v, v->older))
                index_add(s, x, value_hash(t->cols[col].t.id, v->cols[col]), r);
    t->index[col] = x;
    return x;
}

uint32_t vs_lookup_size(store *s, table *t, uint32_t col, uint64_t hash, uint32_t most)
{
    table_index *x = index_of(s, t, col);
    uint32_t n = 0;
    uint32_t i = x->bucket[hash & (x->buckets - 1)];
    for (; i != NO_ID && n < most; i = x->entries.at[i].next) n += x->entries.at[i].hash == hash;
    return n;
}

void vs_lookup(store *s, table *t, uint32_t col, uint64_t hash, bool more)
{
    table_index *x = index_of(s, t, col);
    s->found.n = 0;
    if (!more) s->lookup++;
    for (uint32_t i = x->bucket[hash & (x->buckets - 1)]; i != NO_ID; i = x->entries.at[i].next) {
        const entry *e = &x->entries.at[i];
        if (e->hash != hash || t->rows.at[e->row].seen == s->lookup) continue;
        t->rows.at[e->row].seen = s->lookup;
        vec_push(s->mem, &s->found, e->row);
    }
}

/* ---- tables ---------------------------------------------------------------------------------- */

void vs_init(store *s, mem *m)
{
    memset(s, 0, sizeof *s);
    s->mem = m;
    arena_init(&s->names, m);
    arena_init(&s->bodies, m);
    s->epoch = 1;
}

static bool visible_table(const table *t, uint32_t state)
{
    if (t->created != PENDING && t->created > state) return false;
    return t->dropped == NEVER || (t->dropped != PENDING && t->dropped > state);
}

table *vs_find(const store *s, const char *name, uint32_t state)
{
    for (size_t i = s->tables.n; i-- > 0;)
        if (!strcmp(s->tables.at[i]->name, name) && visible_table(s->tables.at[i], state))
            return s->tables.at[i];
    return NULL;
}

void vs_create(store *s, table *t)
{
    assert(t->name && !t->rows.n && !t->index && (t->n_cols == 0 || t->cols));
    t->created = PENDING;
    t->dropped = NEVER;
    vec_push(s->mem, &s->tables, t);
    vec_push(s->mem, &s->undo, ((store_undo){.t = t, .row = UNDO_CREATE}));
    s->catalog++;
}

void vs_drop(store *s, table *t)
{
    assert(t->dropped == NEVER && "dropped once");
    t->dropped = PENDING;
    vec_push(s->mem, &s->undo, ((store_undo){.t = t, .row = UNDO_DROP}));
    s->catalog++;
}

routine *vs_routine(const store *s, const char *name, uint32_t state, uint32_t i)
{
    for (size_t k = s->routines.n; k-- > 0;) {
        routine *f = s->routines.at[k];
        if (strcmp(f->name, name) != 0) continue;
        if (f->created != PENDING && f->created > state) continue;
        if (f->dropped != NEVER && (f->dropped == PENDING || f->dropped <= state)) continue;
        if (!i--) return f;
    }
    return NULL;
}

void vs_create_routine(store *s, routine *f)
{
    assert(f->name && (f->body || f->view || f->source));
    f->created = PENDING;
    f->dropped = NEVER;
    vec_push(s->mem, &s->routines, f);
    vec_push(s->mem, &s->undo, ((store_undo){.f = f, .row = UNDO_ROUTINE}));
    s->catalog++;
}

void vs_drop_routine(store *s, routine *f)
{
    assert(f->dropped == NEVER && "dropped once");
    f->dropped = PENDING;
    vec_push(s->mem, &s->undo, ((store_undo){.f = f, .row = UNDO_DROP_ROUTINE}));
    s->catalog++;
}

void vs_unprepare(store *s, uint32_t state)
{
    size_t n = 0;
    for (size_t i = 0; i < s->prepared.n; i++) {
        prepared *p = &s->prepared.at[i];
        if (p->made == state) continue;
        if (p->gone == state) p->gone = NEVER;
        s->prepared.at[n++] = *p;
    }
    s->prepared.n = n;
}

uint32_t vs_changed(const table *t, uint32_t state)
{
    size_t n = upper_bound_u32(t->changes.at, t->changes.n, state);
    return n ? t->changes.at[n - 1] : 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void push(store *s, table *t, uint32_t r, row_version *v)
{
    assert(r < t->rows.n && r < UNDO_LEAST && v->commit == PENDING);
    v->older = t->rows.at[r].head;
    t->rows.at[r].head = v;
    index_version(s, t, r, NULL, v, v->older, true);
    vec_push(s->mem, &s->undo, ((store_undo){.t = t, .row = r}));
}

uint32_t vs_insert(store *s, table *t, const value *cols, uint32_t cid)
{
    row_version *v = version_make(s, t, cols, cid);
    uint32_t r;
    if (t->free_rows.n) {
        r = t->free_rows.at[--t->free_rows.n];
        assert(r < t->rows.n && !t->rows.at[r].head);
    } else {
        if (t->rows.n >= UINT32_MAX - 8)
            guard_fail(s->mem->guard, GUARD_NOMEM, "more than 2^32 rows");
        r = (uint32_t)t->rows.n;
        vec_push(s->mem, &t->rows, ((stored_row){NULL, 0, 0, 0}));
    }
    push(s, t, r, v);
    return r;
}

void vs_update(store *s, table *t, uint32_t r, const value *cols, uint32_t cid)
{
    assert(t->rows.at[r].head && "a row without versions is free");
    push(s, t, r, version_make(s, t, cols, cid));
}

void vs_remake(store *s, const table *from, table *to, const uint32_t *places, const value *added,
               vs_fill *fill, void *ud)
{
    assert(!to->rows.n && to->created == PENDING);
    value *cols = mem_array(s->mem, value, to->n_cols + 1);
    for (uint32_t r = 0; r < from->rows.n; r++) {
        guard_tick(s->mem->guard);
        stored_row row = {.born = from->rows.at[r].born};
        row_version **end = &row.head;
        for (const row_version *v = from->rows.at[r].head; v; v = v->older) {
            for (uint32_t c = 0; !v->dead && c < to->n_cols; c++) {
                uint32_t k = vs_source(from, places, c);
                cols[c] = k == NO_COLUMN ? added[c] : v->cols[k];
            }
            if (fill && !v->dead) fill(ud, to, cols);
            row_version *copy = version_make(s, to, v->dead ? NULL : cols, v->cid);
            copy->commit = v->commit;
            *end = copy;
            end = &copy->older;
            if (v->commit == PENDING) vec_push(s->mem, &s->undo, ((store_undo){.t = to, .row = r}));
        }
        vec_push(s->mem, &to->rows, row);
        if (!row.head) vec_push(s->mem, &to->free_rows, r);
    }
    for (size_t i = 0; i < from->changes.n; i++)
        vec_push(s->mem, &to->changes, from->changes.at[i]);
    mem_put(s->mem, cols);
}

/* Takes the version after `newer` (NULL: the head) out of its chain. */
static void take_out(store *s, table *t, uint32_t r, row_version *newer)
{
    row_version *v = newer ? newer->older : t->rows.at[r].head;
    assert(v && (!newer || newer->commit == PENDING || newer->commit >= v->commit));
    index_version(s, t, r, newer, v, v->older, false);
    if (newer)
        newer->older = v->older;
    else
        t->rows.at[r].head = v->older;
    block_put(s, v, v->size);
    if (!t->rows.at[r].head) vec_push(s->mem, &t->free_rows, r);
}

static void undo_one(store *s, store_undo u)
{
    if (u.row == UNDO_CREATE) {
        assert(s->tables.n && s->tables.at[s->tables.n - 1] == u.t);
        s->tables.n--;
        s->catalog++;
    } else if (u.row == UNDO_DROP) {
        u.t->dropped = NEVER;
        s->catalog++;
    } else if (u.row == UNDO_ROUTINE) {
        assert(s->routines.n && s->routines.at[s->routines.n - 1] == u.f);
        s->routines.n--;
        s->catalog++;
    } else if (u.row == UNDO_DROP_ROUTINE) {
        u.f->dropped = NEVER;
        s->catalog++;
    } else if (u.row == UNDO_HOLE) {
        assert(s->hole.n && "the newest is taken back first");
        s->hole.n--;
    } else if (u.row == UNDO_BIND) {
        s->hole.at[u.hole - 1].bound = false;
    } else if (u.row == UNDO_READING) {
        s->readings.n--;
    } else if (u.row == UNDO_CLOCK) {
        assert(s->reading_was.n && u.hole <= s->readings.n);
        s->readings.at[u.hole - 1] = s->reading_was.at[--s->reading_was.n];
    } else {
        take_out(s, u.t, u.row, NULL);
    }
}

size_t vs_mark(const store *s)
{
    return s->undo.n;
}

void vs_rollback(store *s, size_t mark)
{
    assert(mark <= s->undo.n && "a mark outlives what came after it only");
    while (s->undo.n > mark) undo_one(s, s->undo.at[--s->undo.n]);
}

/* Drops what nobody reads any more: everything older than the newest version at the horizon, and
   that one too if it is a grave. */
static void trim_row(store *s, table *t, uint32_t r)
{
    assert(!s->searching && r < t->rows.n);
    row_version *v = t->rows.at[r].head, *newer = NULL;
    while (v && (v->commit == PENDING || v->commit > s->horizon)) newer = v, v = v->older;
    if (!v) return;
    while (v->older) take_out(s, t, r, v);
    if (v->dead) take_out(s, t, r, newer);
}

static void queue_row(store *s, table *t, uint32_t r)
{
    if (t->rows.at[r].queued) return;
    t->rows.at[r].queued = 1;
    vec_push(s->mem, &s->trim, ((store_undo){.t = t, .row = r}));
}

/* The rows of a table that was dropped at a state which nobody looks below any more. */
static void empty_table(store *s, table *t)
{
    for (uint32_t r = 0; r < t->rows.n; r++)
        for (row_version *v = t->rows.at[r].head; v;) {
            row_version *older = v->older;
            block_put(s, v, v->size);
            v = older;
        }
    vec_free(s->mem, &t->rows);
    vec_free(s->mem, &t->free_rows);
    vec_free(s->mem, &t->changes);
    for (uint32_t c = 0; t->index && c < t->n_cols; c++) {
        table_index *x = t->index[c];
        if (!x) continue;
        vec_free(s->mem, &x->entries);
        mem_put(s->mem, x->bucket);
        *x = (table_index){.free_entry = UINT32_MAX};
    }
    t->index = NULL;
}

void vs_forget(store *s, uint32_t horizon)
{
    assert(!s->searching && !s->undo.n); /* a search takes states back: it needs them all */
    s->horizon = horizon;
    size_t keep = 0;
    /* rows written by states above the horizon stay in the queue: there are few of these */
    for (size_t i = 0; i < s->trim.n; i++) {
        store_undo u = s->trim.at[i];
        if (u.row >= u.t->rows.n) continue; /* of a table that is gone */
        trim_row(s, u.t, u.row);
        stored_row *w = &u.t->rows.at[u.row];
        if (w->head && (w->head->older || w->head->dead))
            s->trim.at[keep++] = u;
        else
            w->queued = 0;
    }
    s->trim.n = keep;
    for (size_t i = 0; i < s->tables.n; i++) { /* the search for a change never looks below */
        table *t = s->tables.at[i];
        bool gone = t->dropped < PENDING - 1 && t->dropped <= horizon;
        if (gone && t->rows.n) empty_table(s, t);
        size_t low = 0;
        while (low + 1 < t->changes.n && t->changes.at[low + 1] <= horizon) low++;
        if (low < 1024) continue;
        memmove(t->changes.at, t->changes.at + low, (t->changes.n - low) * sizeof t->changes.at[0]);
        t->changes.n -= low;
    }
}

void vs_commit(store *s, uint32_t state)
{
    if (s->searching) {
        vec_push(s->mem, &s->log_from, s->log.n);
        assert(s->log_from.n == state);
    }
    for (size_t i = 0; i < s->undo.n; i++) {
        store_undo u = s->undo.at[i];
        if (u.row == UNDO_CREATE) {
            u.t->created = state;
        } else if (u.row == UNDO_DROP) {
            u.t->dropped = state;
        } else if (u.row == UNDO_ROUTINE) {
            u.f->created = state;
        } else if (u.row == UNDO_DROP_ROUTINE) {
            u.f->dropped = state;
        } else if (u.row < UNDO_LEAST) {
            row_version *v = u.t->rows.at[u.row].head;
            assert(u.row < UNDO_LEAST && u.row < u.t->rows.n);
            if (!v || v->commit != PENDING) continue; /* done with an earlier entry */
            while (v->older && v->older->commit == PENDING) take_out(s, u.t, u.row, v);
            v->commit = state;
            if (!v->older) u.t->rows.at[u.row].born = state;
            assert(!v->older || v->older->commit < state || !state);
            if (v->dead && !v->older) { /* born and dead within the transaction */
                take_out(s, u.t, u.row, NULL);
                continue;
            }
            if (!u.t->changes.n || u.t->changes.at[u.t->changes.n - 1] != state)
                vec_push(s->mem, &u.t->changes, state);
            if (!s->searching && (v->older || v->dead)) queue_row(s, u.t, u.row);
        }
        if (s->searching) vec_push(s->mem, &s->log, u);
    }
    s->undo.n = 0;
    if (!s->searching) s->reading_was.n = 0; /* never taken back */
    for (size_t i = 0; i < s->prepared.n; i++) {
        prepared *p = &s->prepared.at[i];
        if (p->made == PENDING) p->made = state;
        if (p->gone == PENDING) p->gone = state;
    }
}

void vs_uncommit(store *s, uint32_t state)
{
    assert(s->searching && s->log_from.n == state && !s->undo.n);
    size_t from = s->log_from.at[--s->log_from.n];
    while (s->log.n > from) {
        store_undo u = s->log.at[--s->log.n];
        if (u.row < UNDO_LEAST) {
            assert(u.t->rows.at[u.row].head->commit == state);
            if (u.t->changes.n && u.t->changes.at[u.t->changes.n - 1] == state) u.t->changes.n--;
        }
        undo_one(s, u);
    }
    vs_unprepare(s, state);
}
