/* random_history.c - seeded tiny histories (see random_history.h).
 *
 * A history is made in three steps. First a skeleton: transactions with operations and the
 * values they write. Then a run: the operations are interleaved over a small multi-version store
 * whose visibility rule is drawn per history (serial, snapshot, latest committed, old snapshot,
 * a snapshot per key, any version), so that no level is nearly always kept or nearly always
 * broken. Last the lies: with some probability a read is given the value of another version, of
 * an aborted or unfinished write, or garbage.
 *
 * What the documents leave open is not generated (README.md lists it), so that a difference
 * between the oracle and the product is a bug in one of them. A profile is one row of numbers.
 *
 * Telling the history otherwise (random_history_told) draws from a generator of its own, so that
 * everything else stays as it was.
 */
#include "random_history.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TXNS = 6, KEYS = 4, OPS = 4, LIST = 24, VERSIONS = TXNS + 1 };

/* Shares in percent unless said otherwise. */
struct profile {
    const char *name;
    int txns;    /* at most */
    int keys;    /* at most */
    int dup;     /* histories whose values come from a tiny domain */
    int del;     /* writes that are deletes */
    int scan;    /* reads that are scans */
    int iter;    /* reads that are iterators */
    int list;    /* keys that are lists */
    int unknown; /* transactions of unknown outcome */
    int aborted;
    int no_result; /* reads of unknown result */
    int ver;       /* histories with version positions */
    int from;      /* histories with known writers */
    int times;     /* histories with timestamps */
    int lock;      /* reads that lock */
    int failed;    /* statements with ok:false */
    int hidden;    /* histories with init_unknown */
    int malformed; /* scans with an impossible result, per thousand */
    int lies;      /* histories with lies */
    int forks;     /* histories of one-sided transactions and a snapshot per key */
    int set;       /* writes of lists that are no appends */
};

/* clang-format off */
static const struct profile profiles[] = {
    /* columns as in struct profile:
                        t k dup del scn itr lst unk abt nor ver frm tim lck fld hid mal lie frk s */
    {"registers-unique",6,3,  0,  0,  0,  0,  0,  0,  4,  0,  0,  0,  0,  8,  0,  0,  0, 50,  0, 0},
    {"registers-dup",   6,3,100,  0,  0,  0,  0,  0,  4,  0,  0,  0,  0,  8,  0,  0,  0, 60,  0, 0},
    {"deletes",         6,3, 50, 40,  0,  0,  0,  0,  4,  0,  0,  0,  0,  4,  0,  0,  0, 60,  0, 0},
    {"scans",           5,4, 40, 35, 40, 30,  0,  0,  4,  0,  0,  0,  0,  4,  0,  0, 10, 45,  0, 0},
    {"lists",           6,2, 15,  5,  0,  0, 85,  0,  4,  0,  0,  0,  0,  4,  0,  0,  0, 70,  0, 0},
    {"unknown",         6,3, 30, 10,  5,  0,  0, 35, 10,  5,  0,  0, 50,  4,  0, 20,  0, 60,  0, 0},
    {"hints",           6,3, 50, 15, 10,  0, 10,  0,  4,  0, 85, 60,  0,  4,  0,  0,  0, 60,  0, 0},
    {"hints-unknown",   6,3, 50, 10,  5,  0,  0, 40,  4,  5, 85, 30,  0,  4,  0,  0,  0, 60,  0, 0},
    {"times",           6,3, 20,  5,  5,  0,  0, 10,  4,  0,  0,  0,100,  4,  0,  0,  0, 50,  0, 0},
    {"everything",      5,3, 50, 15, 12, 12, 25, 15,  8,  6, 25, 20, 40, 10,  6, 15,  5, 50,  0, 0},
    {"initial",         6,3, 60, 10,  5,  0,  0, 12,  4,  0, 10, 15, 45, 15,  0,100,  0, 60,  0, 0},
    {"repeats",         6,2,100,  0,  0,  0, 90,  8,  4,  0,  0,  5, 45, 12,  0, 25,  0, 60,  0, 0},
    {"forks",           6,3, 15,  8,  8,  0,  0,  0,  0,  0,  0,  0, 15,  4,  0,  0,  0, 10,100, 0},
    {"small",           3,2, 50, 15, 10, 10, 20, 10, 10,  3, 10, 10, 30, 15,  5, 10,  0, 60,  0, 0},
    {"lists-dup",       5,2,100, 10,  0,  0, 80, 10,  6,  0,  5,  0, 20,  4,  4, 10,  0, 60,  0, 0},
    {"init-unknown",    5,3, 60, 15,  8,  4, 10, 10,  4,  4,  5,  5, 25,  6,  4,100,  0, 50,  0, 0},
    {"savepoints",      5,3, 50, 15, 10,  5, 20, 10, 25,  5,  5,  5, 15, 10, 35,  5,  0, 50,  0, 0},
    {"locks",           5,3, 40, 20, 15,  5,  0,  5,  4,  0,  0,  0, 15, 60,  0,  0,  0, 40, 20, 0},
    {"lists-hints",     6,2,100,  8,  0,  0, 90,  5,  4,  0, 85,  0, 10,  4,  0,  0,  0, 70,  0, 0},
    {"lists-set",       6,2, 40, 25,  0,  0, 90, 12,  4,  0,  0,  5, 45, 12,  0, 15,  0, 50,  0,30},
    {"all-at-once",     6,3, 70, 20, 15, 10, 50, 20, 10,  5, 15, 15, 60, 20, 10, 30,  3, 60, 10,20},
};
enum { PROFILES = sizeof profiles / sizeof profiles[0] };
/* clang-format on */

const char *const random_profiles[] = {
    "registers-unique", "registers-dup", "deletes", "scans",      "lists",
    "unknown",          "hints",         "times",   "everything", "forks",
    "hints-unknown",    "initial",       "repeats", NULL};

const char *const random_shapes[] = {"registers-unique",
                                     "registers-dup",
                                     "deletes",
                                     "scans",
                                     "lists",
                                     "unknown",
                                     "hints",
                                     "times",
                                     "mixture",
                                     "everything",
                                     "forks",
                                     "small",
                                     "hints-unknown",
                                     "lists-dup",
                                     "mixture",
                                     "init-unknown",
                                     "savepoints",
                                     "locks",
                                     "mixture",
                                     "lists-set",
                                     "all-at-once",
                                     NULL};

/* splitmix64 */
struct rng {
    uint64_t s;
};

static uint64_t draw(struct rng *r)
{
    uint64_t z = (r->s += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int below(struct rng *r, int n)
{
    return (int)(draw(r) % (uint64_t)n);
}

static bool chance(struct rng *r, int percent)
{
    return below(r, 100) < percent;
}

/* Absent and the empty list are n == 0 && scalar == 0; scalars are positive. */
struct val {
    int scalar, n, e[LIST];
};

enum kind { READ, WRITE, DELETE, APPEND, RANGE };
enum { FROM_INIT = -1, FROM_NONE = -2 };
enum look { SERIAL, SNAPSHOT, LATEST, OLD_SNAPSHOT, PER_KEY, ANY };

struct row {
    int key, from;
    struct val v;
};

struct gop {
    enum kind kind;
    int key, value; /* value written */
    struct val seen;
    int from;
    bool no_result, lock, failed;
    bool iter, done, reverse, incl;
    int lo, hi; /* key index, or -1 for unbounded */
    struct row row[KEYS + 1];
    int rows;
};

struct gtxn {
    int session;
    enum { DONE, GAVE_UP, LOST } status;
    bool applied;
    int nop, next;
    struct gop op[OPS + 1];
    int snapshot[KEYS];
    int time[4];
};

struct version {
    struct val v;
    int writer, seq;
};

/* How the history is told: all zero as it is made. */
struct manner {
    bool renamed;
    int keys, values, ids, sessions; /* which style of names */
    int place[KEYS];                 /* by which keys are named: their order, or another one */
    int later;                       /* added to all times */
};

struct world {
    struct rng rng;
    const struct profile *p;
    struct profile mixture;
    struct manner manner;
    int ntxn, nkey, sessions;
    enum look look;
    int lie;     /* percent of reads */
    int garbage; /* percent of lies */
    bool forks, scrambled, dup, int_keys, has_times, has_ver, has_from, init_hidden, string_values;
    bool is_list[KEYS];
    enum { INIT_NULL, INIT_SCALAR, INIT_MAP, INIT_PAIRS } init_form;
    struct gtxn txn[TXNS];
    struct version version[KEYS][VERSIONS];
    int nversion[KEYS];
    int seq, clock, fresh;
};

struct text {
    char *at;
    size_t len, cap;
};

static void put(struct text *t, const char *fmt, ...)
{
    va_list ap;
    for (;;) {
        va_start(ap, fmt);
        int n = vsnprintf(t->at + t->len, t->cap - t->len, fmt, ap);
        va_end(ap);
        if (n < 0) {
            abort();
        }
        if ((size_t)n < t->cap - t->len) {
            t->len += (size_t)n;
            return;
        }
        t->cap = t->cap * 2 + (size_t)n + 1;
        t->at = realloc(t->at, t->cap);
        if (!t->at) {
            abort();
        }
    }
}

static bool equal(const struct val *a, const struct val *b)
{
    return a->scalar == b->scalar && a->n == b->n &&
           memcmp(a->e, b->e, (size_t)a->n * sizeof a->e[0]) == 0;
}

static void apply(struct val *v, const struct gop *op)
{
    if (op->kind == WRITE) {
        v->scalar = op->value;
        v->n = 0;
    } else if (op->kind == DELETE) {
        v->scalar = 0;
        v->n = 0;
    } else if (op->kind == APPEND && v->n < LIST) {
        if (v->scalar) {
            v->e[v->n++] = v->scalar;
            v->scalar = 0;
        }
        v->e[v->n++] = op->value;
    }
}

/* ---- skeleton ------------------------------------------------------------------------------- */

static int new_value(struct world *w)
{
    return w->dup ? 1 + below(&w->rng, 2) : ++w->fresh;
}

/* share: percent of reads. */
static void make_op(struct world *w, struct gop *op, int share)
{
    struct rng *r = &w->rng;
    const struct profile *p = w->p;
    memset(op, 0, sizeof *op);
    op->from = FROM_NONE;
    op->key = below(r, w->nkey);
    op->failed = chance(r, p->failed);
    if (chance(r, share)) {
        int what = below(r, 100);
        op->lock = chance(r, p->lock);
        op->kind = what < p->scan + p->iter ? RANGE : READ;
        op->no_result = op->kind == READ && chance(r, p->no_result);
        if (op->kind == RANGE) {
            op->iter = what >= p->scan;
            op->done = !op->iter || chance(r, 50);
            op->reverse = op->iter && chance(r, 30);
            op->incl = chance(r, 15);
            op->lo = chance(r, 40) ? -1 : below(r, w->nkey);
            op->hi = chance(r, 40) ? -1 : below(r, w->nkey);
            if (op->lo > op->hi && op->hi >= 0) {
                int swap = op->lo;
                op->lo = op->hi;
                op->hi = swap;
            }
        }
        return;
    }
    if (chance(r, p->del) && (!w->is_list[op->key] || chance(r, 50))) {
        op->kind = DELETE;
        return;
    }
    op->kind = w->is_list[op->key] ? APPEND : WRITE;
    if (p->set && op->kind == APPEND && chance(r, p->set)) op->kind = WRITE;
    op->value = new_value(w);
}

static void make_init(struct world *w)
{
    struct rng *r = &w->rng;
    bool any_list = false;
    for (int k = 0; k < w->nkey; k++) {
        any_list |= w->is_list[k];
    }
    int form = below(r, 100);
    w->init_form = form < 40   ? INIT_NULL
                   : form < 55 ? INIT_SCALAR
                   : form < 85 ? INIT_MAP
                               : INIT_PAIRS;
    /* A scalar for every key says nothing clear of list keys, nor of scans over keys that are only
     * bounds; a map names string keys only. */
    if (w->init_form == INIT_SCALAR && (any_list || w->p->scan + w->p->iter > 0)) {
        w->init_form = INIT_MAP;
    }
    if (w->init_form == INIT_MAP && w->int_keys) {
        w->init_form = INIT_PAIRS;
    }
    w->init_hidden = chance(r, w->p->hidden);
    int scalar = w->dup && chance(r, 30) ? 1 : ++w->fresh;
    for (int k = 0; k < w->nkey; k++) {
        struct version *v = &w->version[k][0];
        memset(v, 0, sizeof *v);
        v->writer = FROM_INIT;
        w->nversion[k] = 1;
        if (w->init_form == INIT_NULL || (w->init_form != INIT_SCALAR && chance(r, 25))) {
            continue;
        }
        if (w->is_list[k]) {
            if (chance(r, 40)) {
                v->v.n = 1;
                v->v.e[0] = ++w->fresh;
            }
        } else {
            v->v.scalar = scalar;
        }
    }
}

static void make_skeleton(struct world *w)
{
    struct rng *r = &w->rng;
    const struct profile *p = w->p;
    int size = below(r, 100);
    w->ntxn = size < 2 ? 1 : size < 10 ? 2 : size < 30 ? 3 : size < 60 ? 4 : size < 84 ? 5 : 6;
    if (w->ntxn > p->txns) {
        w->ntxn = p->txns;
    }
    w->nkey = chance(r, 20) ? 1 : 2 + below(r, p->keys - 1);
    w->sessions = 1 + below(r, chance(r, 50) ? w->ntxn : 3);
    w->forks = chance(r, p->forks);
    if (w->forks) {
        /* Long forks and their kin need room: two readers, two writers, each on its own. */
        w->ntxn = TXNS - below(r, 3);
        w->nkey = 2 + below(r, 2);
        w->sessions = chance(r, 70) ? 4 * w->ntxn : w->sessions;
    }
    w->scrambled = chance(r, 35);
    w->dup = chance(r, p->dup);
    w->int_keys = chance(r, 20);
    w->has_times = chance(r, p->times);
    w->has_ver = chance(r, p->ver);
    w->has_from = chance(r, p->from);
    w->string_values = chance(r, 8);
    w->lie = !chance(r, p->lies) ? 0 : chance(r, 50) ? 15 : chance(r, 60) ? 40 : 100;
    int look = below(r, 100);
    w->look = look < 8    ? SERIAL
              : look < 28 ? SNAPSHOT
              : look < 40 ? LATEST
              : look < 56 ? OLD_SNAPSHOT
              : look < 76 ? PER_KEY
                          : ANY;
    if (w->forks) {
        w->look = look < 60 ? PER_KEY : look < 80 ? SNAPSHOT : OLD_SNAPSHOT;
    }
    w->garbage = chance(r, p->lies * 2 / 3) ? 85 : 4;
    w->fresh = 2; /* 1 and 2 are the tiny domain */
    for (int k = 0; k < w->nkey; k++) {
        w->is_list[k] = chance(r, p->list);
    }
    make_init(w);
    int most = chance(r, 15) ? 1 + below(r, 2) : 3 + below(r, OPS - 2);
    bool committed = false;
    for (int t = 0; t < w->ntxn; t++) {
        struct gtxn *x = &w->txn[t];
        memset(x, 0, sizeof *x);
        x->session = below(r, w->sessions);
        x->status = chance(r, p->unknown) ? LOST : chance(r, p->aborted) ? GAVE_UP : DONE;
        x->applied = x->status == DONE || (x->status == LOST && chance(r, 60));
        committed |= x->status == DONE;
        x->nop = chance(r, 20) ? 1 : 1 + most / 2 + below(r, most - most / 2);
        int share = !w->forks ? 52 : chance(r, 40) ? 100 : chance(r, 50) ? 0 : 52;
        int first_key = below(r, w->nkey);
        if (w->forks && share != 52) {
            x->nop = share == 0 ? 1 + below(r, 2) : 2 + below(r, 2);
        }
        for (int i = 0; i < x->nop; i++) {
            make_op(w, &x->op[i], share);
            if (w->forks && share == 100) {
                x->op[i].key = (first_key + i) % w->nkey;
            }
        }
    }
    /* A history without a committed transaction is worth a look now and then only. */
    if (!committed && !chance(r, 2)) {
        w->txn[0].status = DONE;
        w->txn[0].applied = true;
    }
}

/* ---- run ------------------------------------------------------------------------------------ */

/* The version of key that t sees now. */
static const struct version *look_up(struct world *w, const struct gtxn *t, int key)
{
    int last = w->nversion[key] - 1;
    if (w->look == ANY) {
        return &w->version[key][below(&w->rng, last + 1)];
    }
    if (w->look == SNAPSHOT || w->look == OLD_SNAPSHOT || w->look == PER_KEY) {
        while (w->version[key][last].seq > t->snapshot[key]) {
            last--;
        }
    }
    return &w->version[key][last];
}

/* A value to lie with: another version's, one that somebody writes sometime, absent, or garbage. */
static void lie(struct world *w, int key, struct val *v, int *from)
{
    struct rng *r = &w->rng;
    int how = below(r, 100);
    *from = FROM_NONE;
    if (w->is_list[key]) {
        *v = w->version[key][below(r, w->nversion[key])].v;
        if (how < w->garbage && v->n < LIST) {
            v->e[v->n++] = 99;
        } else if (how < 55 && v->n > 1) {
            int i = below(r, v->n - 1), swap = v->e[i];
            v->e[i] = v->e[i + 1];
            v->e[i + 1] = swap;
        } else if (how < 65 && v->n > 0) {
            v->n--;
        } else if (how < 80 && v->n < LIST) {
            const struct gtxn *x = &w->txn[below(r, w->ntxn)];
            const struct gop *op = &x->op[below(r, x->nop)];
            if (op->kind == APPEND && op->key == key) {
                v->e[v->n++] = op->value;
            }
        }
        return;
    }
    memset(v, 0, sizeof *v);
    if (how < w->garbage) {
        v->scalar = 99;
    } else if (how < w->garbage + 13) {
        *v = w->version[key][0].v;
    } else {
        int seen = 0;
        for (int t = 0; t < w->ntxn; t++) {
            for (int i = 0; i < w->txn[t].nop; i++) {
                const struct gop *op = &w->txn[t].op[i];
                bool hit = op->key == key && (op->kind == WRITE || op->kind == DELETE);
                if (hit && below(r, ++seen) == 0) {
                    v->scalar = op->kind == WRITE ? op->value : 0;
                }
            }
        }
    }
}

static bool wrote_before(const struct gtxn *t, int key, int before)
{
    for (int i = 0; i < before; i++) {
        const struct gop *op = &t->op[i];
        if (op->key == key && !op->failed &&
            (op->kind == WRITE || op->kind == DELETE || op->kind == APPEND)) {
            return true;
        }
    }
    return false;
}

static void see(struct world *w, struct gtxn *t, int key, int before, struct val *v, int *from)
{
    const struct version *version = look_up(w, t, key);
    bool own = wrote_before(t, key, before);
    *v = version->v;
    *from = version->writer;
    if (w->lie && chance(&w->rng, w->lie)) {
        lie(w, key, v, from);
        /* Hiding the own write is one kind of lie; keeping the own appends at the end another. */
        if (!own || chance(&w->rng, 50)) {
            return;
        }
    }
    if (own) {
        *from = FROM_NONE;
        for (int i = 0; i < before; i++) {
            if (t->op[i].key == key && !t->op[i].failed) {
                apply(v, &t->op[i]);
            }
        }
    }
}

static void see_range(struct world *w, struct gtxn *t, struct gop *op, int before)
{
    struct rng *r = &w->rng;
    op->rows = 0;
    for (int i = 0; i < w->nkey; i++) {
        int k = op->reverse ? w->nkey - 1 - i : i;
        if ((op->lo >= 0 && k < op->lo) || (op->hi >= 0 && (op->incl ? k > op->hi : k >= op->hi))) {
            continue;
        }
        struct row *row = &op->row[op->rows];
        row->key = k;
        see(w, t, k, before, &row->v, &row->from);
        if (row->v.scalar || row->v.n) {
            op->rows++;
        }
    }
    if (!op->done && op->rows) {
        op->rows -= below(r, op->rows + 1);
    }
    if (below(r, 1000) < w->p->malformed && op->rows) {
        op->row[op->rows] = op->row[below(r, op->rows)];
        op->rows++; /* a key twice */
    }
}

static void step(struct world *w, int t)
{
    struct gtxn *x = &w->txn[t];
    struct gop *op = &x->op[x->next];
    if (x->next == 0) {
        x->time[0] = ++w->clock;
        w->clock += below(&w->rng, 2);
        x->time[1] = w->clock;
        int old = below(&w->rng, w->seq + 1);
        for (int k = 0; k < w->nkey; k++) {
            x->snapshot[k] = w->look == OLD_SNAPSHOT ? old
                             : w->look == PER_KEY    ? below(&w->rng, w->seq + 1)
                                                     : w->seq;
        }
    }
    if (op->kind == READ) {
        see(w, x, op->key, x->next, &op->seen, &op->from);
    } else if (op->kind == RANGE) {
        see_range(w, x, op, x->next);
    }
    if (++x->next < x->nop) {
        return;
    }
    x->time[2] = ++w->clock;
    w->clock += below(&w->rng, 2);
    x->time[3] = w->clock;
    if (!x->applied) {
        return;
    }
    w->seq++;
    for (int k = 0; k < w->nkey; k++) {
        if (!wrote_before(x, k, x->nop)) {
            continue;
        }
        struct version *v = &w->version[k][w->nversion[k]];
        *v = w->version[k][w->nversion[k] - 1];
        w->nversion[k]++;
        v->writer = t;
        v->seq = w->seq;
        for (int i = 0; i < x->nop; i++) {
            if (x->op[i].key == k && !x->op[i].failed) {
                apply(&v->v, &x->op[i]);
            }
        }
    }
}

static void run(struct world *w)
{
    int running = -1;
    for (;;) {
        int ready[TXNS], n = 0;
        for (int t = 0; t < w->ntxn; t++) {
            bool blocked = w->txn[t].next == w->txn[t].nop;
            for (int s = 0; s < t; s++) {
                blocked |= w->txn[s].session == w->txn[t].session && w->txn[s].next < w->txn[s].nop;
            }
            if (!blocked) {
                ready[n++] = t;
            }
        }
        if (n == 0) {
            return;
        }
        bool go_on = running >= 0 && w->txn[running].next < w->txn[running].nop &&
                     (w->look == SERIAL || chance(&w->rng, 40));
        if (!go_on) {
            running = ready[below(&w->rng, n)];
        }
        step(w, running);
    }
}

/* ---- text ----------------------------------------------------------------------------------- */

static void put_key(const struct world *w, struct text *out, int key)
{
    const struct manner *m = &w->manner;
    int place = m->place[key < 0 ? 0 : key];
    if (key < 0) {
        put(out, "null");
    } else if (!m->renamed && w->int_keys) {
        put(out, "%d", key * 5 - 5); /* negative, zero and two digits: numeric order matters */
    } else if (!m->renamed) {
        put(out, "\"%c\"", 'a' + key);
    } else if (m->keys == 0 || (m->keys == 1 && place < 1)) { /* integers stand before strings */
        put(out, "%lld", 4000000000ll * (place - 1) + 7);
    } else {
        put(out, m->keys == 1 ? "\"key %d\"" : "\"\\u00e4\\\"%d\"", place);
    }
}

static void put_scalar(const struct world *w, struct text *out, int v)
{
    const struct manner *m = &w->manner;
    if (!m->renamed) {
        put(out, w->string_values ? "\"v%d\"" : "%d", v);
    } else if (m->values == 0) {
        put(out, "%lld", 5 - 3000000000ll * v);
    } else {
        put(out, m->values == 1 ? "\"%d\"" : "\"\\u20ac %d\"", v);
    }
}

static void put_id(const struct world *w, struct text *out, int t)
{
    const struct manner *m = &w->manner;
    put(out, !m->renamed ? "\"t%d\"" : m->ids == 0 ? "7%d" : "\"transaction %d\"", t);
}

static void put_session(const struct world *w, struct text *out, int session)
{
    const struct manner *m = &w->manner;
    put(out, !m->renamed ? "%d" : m->sessions == 0 ? "-9%d" : "\"s %d\"", session);
}

static void put_value(const struct world *w, struct text *out, int key, const struct val *v)
{
    /* Of a list key, null and [] are the same. */
    bool as_null = (w->seq + key) % 4 == 0;
    if (v->n || (w->is_list[key] && !v->scalar && !as_null)) {
        put(out, "[");
        for (int i = 0; i < v->n; i++) {
            put(out, i ? "," : "");
            put_scalar(w, out, v->e[i]);
        }
        put(out, "]");
    } else if (v->scalar) {
        put_scalar(w, out, v->scalar);
    } else {
        put(out, "null");
    }
}

struct attributes {
    struct text *out;
    bool any;
};

static void attribute(struct attributes *a, const char *name)
{
    put(a->out, "%s\"%s\":", a->any ? "," : ",{", name);
    a->any = true;
}

/* A writer that may be named: the one the run saw or, after a lie, one that wrote the value. */
static int nameable(struct world *w, const struct gtxn *t, int key, int before, const struct val *v,
                    int from)
{
    if (from != FROM_NONE || wrote_before(t, key, before) || w->is_list[key]) {
        return from;
    }
    int seen = 0, pick = FROM_NONE;
    if (!w->init_hidden && equal(v, &w->version[key][0].v)) {
        pick = FROM_INIT;
        seen = 1;
    }
    for (int s = 0; s < w->ntxn; s++) {
        for (int i = 0; i < w->txn[s].nop; i++) {
            const struct gop *op = &w->txn[s].op[i];
            bool hit =
                op->key == key && !op->failed && &w->txn[s] != t &&
                (op->kind == WRITE ? v->scalar == op->value : op->kind == DELETE && !v->scalar);
            if (hit && below(&w->rng, ++seen) == 0) {
                pick = s;
            }
        }
    }
    return pick;
}

static void put_from(const struct world *w, struct text *out, int from)
{
    if (from == FROM_INIT) {
        put(out, "null");
    } else {
        put_id(w, out, from);
    }
}

static int version_place(const struct world *w, int key, int t)
{
    for (int i = 1; i < w->nversion[key]; i++) {
        if (w->version[key][i].writer == t) {
            return i;
        }
    }
    return 0;
}

static void put_op(struct world *w, struct text *out, int t, int i, const int *swap)
{
    struct rng *r = &w->rng;
    const struct gtxn *x = &w->txn[t];
    const struct gop *op = &x->op[i];
    struct attributes a = {.out = out};
    bool hint = w->has_from && !op->failed && chance(r, 50);
    static const char *const names[] = {"r", "w", "d", "append"};
    if (op->kind == RANGE) {
        put(out, "[\"%s\",", op->iter ? "iter" : "scan");
        put_key(w, out, op->lo);
        put(out, ",");
        put_key(w, out, op->hi);
        put(out, ",[");
        for (int n = 0; n < op->rows; n++) {
            put(out, n ? ",[" : "[");
            put_key(w, out, op->row[n].key);
            put(out, ",");
            put_value(w, out, op->row[n].key, &op->row[n].v);
            put(out, "]");
        }
        put(out, "]");
        if (op->iter) {
            put(out, op->done ? ",true" : ",false");
        }
        if (op->reverse) {
            attribute(&a, "reverse");
            put(out, "true");
        }
        if (op->incl) {
            attribute(&a, "incl");
            put(out, "true");
        }
        int from[KEYS + 1];
        for (int n = 0; n < op->rows; n++) {
            from[n] = nameable(w, x, op->row[n].key, i, &op->row[n].v, op->row[n].from);
            hint = hint && from[n] != FROM_NONE;
        }
        if (hint) {
            attribute(&a, "from");
            put(out, "[");
            for (int n = 0; n < op->rows; n++) {
                put(out, n ? "," : "");
                put_from(w, out, from[n]);
            }
            put(out, "]");
        }
    } else {
        put(out, "[\"%s\",", names[op->kind]);
        put_key(w, out, op->key);
        if (op->kind == READ && !op->no_result) {
            put(out, ",");
            put_value(w, out, op->key, &op->seen);
            int from = hint ? nameable(w, x, op->key, i, &op->seen, op->from) : FROM_NONE;
            if (from != FROM_NONE) {
                attribute(&a, "from");
                put_from(w, out, from);
            }
        } else if (op->kind == WRITE || op->kind == APPEND) {
            put(out, ",");
            put_scalar(w, out, op->value);
        }
        bool last = true;
        for (int n = i + 1; n < x->nop; n++) {
            const struct gop *o = &x->op[n];
            last =
                last && !(o->key == op->key && !o->failed && o->kind != READ && o->kind != RANGE);
        }
        int place = version_place(w, op->key, t);
        if (w->has_ver && op->kind != READ && !op->failed && last && place && chance(r, 80)) {
            attribute(&a, "ver");
            /* Some keys tell their versions in the reverse of the run's order. */
            int spread = w->manner.renamed ? 5 : 2;
            put(out, "%d", spread * (swap[op->key] ? 10 - place : place));
        }
    }
    if (op->lock) {
        attribute(&a, "lock");
        put(out, "true");
    }
    if (op->failed) {
        attribute(&a, "ok");
        put(out, "false");
    }
    put(out, a.any ? "}]" : "]");
}

static void put_times(struct world *w, struct text *out, const struct gtxn *x)
{
    struct rng *r = &w->rng;
    if (!w->has_times || chance(r, 12)) {
        return;
    }
    int time[4], shift = chance(r, 15) ? below(r, 5) - 2 : 0; /* a skewed clock */
    int start = below(r, 2 * w->ntxn);
    for (int i = 0; i < 4; i++) {
        /* Scrambled: intervals that have nothing to do with the run. */
        time[i] = w->scrambled ? start : x->time[i] + shift;
        start += below(r, 3);
    }
    bool open = time[1] % 4 == 3; /* nobody knows by when the snapshot was taken */
    for (int i = 0; i < 4; i++) {
        time[i] += w->manner.later;
    }
    if (chance(r, 40)) {
        if (open) {
            put(out, ",\"times\":[%d,null,%d,%d]", time[0], time[2], time[3]);
        } else {
            put(out, ",\"times\":[%d,%d,%d,%d]", time[0], time[1], time[2], time[3]);
        }
        return;
    }
    if (!chance(r, 5)) {
        put(out, ",\"begin\":%d", time[0]);
    }
    if (!chance(r, x->status == LOST ? 40 : 5)) {
        put(out, ",\"end\":%d", time[3] + 1);
    }
}

static void put_header(struct world *w, struct text *out)
{
    put(out, "{\"ratel\":1,\"init\":");
    bool map = w->init_form == INIT_MAP && !w->manner.renamed;
    if (w->init_form == INIT_NULL || w->init_hidden) {
        put(out, "null");
    } else if (w->init_form == INIT_SCALAR) {
        put_scalar(w, out, w->version[0][0].v.scalar);
    } else {
        bool any = false;
        put(out, map ? "{" : "[");
        for (int k = 0; k < w->nkey; k++) {
            const struct val *v = &w->version[k][0].v;
            if (!v->scalar && !v->n) {
                continue;
            }
            put(out, any ? "," : "");
            put(out, map ? "" : "[");
            put_key(w, out, k);
            put(out, map ? ":" : ",");
            put_value(w, out, k, v);
            put(out, map ? "" : "]");
            any = true;
        }
        put(out, map ? "}" : "]");
    }
    put(out, w->init_hidden ? ",\"init_unknown\":true}\n" : "}\n");
}

/* ---- telling it otherwise -------------------------------------------------------------------- */

static bool has_ranges(const struct world *w)
{
    for (int t = 0; t < w->ntxn; t++) {
        for (int i = 0; i < w->txn[t].nop; i++) {
            if (w->txn[t].op[i].kind == RANGE) {
                return true;
            }
        }
    }
    return false;
}

static void choose_names(struct world *w, struct rng *r)
{
    struct manner *m = &w->manner;
    m->renamed = true;
    m->keys = below(r, 3);
    m->values = below(r, 3);
    m->ids = below(r, 2);
    m->sessions = below(r, 2);
    m->later = below(r, 2) ? below(r, 1000000) : 0;
    int turn = has_ranges(w) ? 0 : below(r, w->nkey);
    for (int k = 0; k < KEYS; k++) {
        m->place[k] = k < w->nkey ? (k + turn) % w->nkey : k;
    }
}

/* Does the history say that the key is a list?  One only set and deleted could be either. */
static bool is_appended(const struct world *w, int key)
{
    for (int t = 0; t < w->ntxn; t++) {
        for (int i = 0; i < w->txn[t].nop; i++) {
            if (w->txn[t].op[i].kind == APPEND && w->txn[t].op[i].key == key) {
                return true;
            }
        }
    }
    return false;
}

/* Does it only read, and is not what tells that a key is a list? */
static bool reads(const struct world *w, const struct gop *op)
{
    if (op->kind == READ) {
        return !w->is_list[op->key] || is_appended(w, op->key);
    }
    for (int k = 0; k < w->nkey; k++) {
        if (w->is_list[k] && !is_appended(w, k)) {
            return false;
        }
    }
    return op->kind == RANGE;
}

/* A transaction (and, if op is not NULL, its operation) that only takes constraints away when it is
   left out; -1: there is none. */
static int removable(const struct world *w, struct rng *r, int *op)
{
    int seen = 0, pick = -1;
    for (int t = 0; t < w->ntxn; t++) {
        const struct gtxn *x = &w->txn[t];
        bool reader = x->status != GAVE_UP && w->ntxn > 1;
        for (int i = 0; i < x->nop; i++) {
            reader = reader && reads(w, &x->op[i]);
            if (op && x->nop > 1 && reads(w, &x->op[i]) && below(r, ++seen) == 0) {
                pick = t;
                *op = i;
            }
        }
        if (!op && reader && below(r, ++seen) == 0) {
            pick = t;
        }
    }
    return pick;
}

/* A write of a value that nobody else writes or reads. */
static void put_fresh_write(const struct world *w, struct rng *r, struct text *out, bool failed)
{
    int key = below(r, w->nkey);
    put(out, is_appended(w, key) ? "[\"append\"," : "[\"w\",");
    put_key(w, out, key);
    put(out, ",");
    put_scalar(w, out, 9000);
    put(out, failed ? ",{\"ok\":false}]" : "]");
}

/* Two transactions of a session and a key of their own. */
static void put_bystander(struct text *out)
{
    for (int i = 0; i < 2; i++) {
        put(out, "{\"session\":88,\"id\":\"by%d\",\"ops\":[[\"%s\",\"zz\",5]]}\n", i,
            i ? "r" : "w");
    }
}

static void put_txn(struct world *w, struct text *out, int t, const int *swap, int without,
                    const char *added, int place)
{
    static const char *const status[] = {"committed", "aborted", "unknown"};
    const struct gtxn *x = &w->txn[t];
    put(out, "{\"session\":");
    put_session(w, out, x->session);
    put(out, ",\"id\":");
    put_id(w, out, t);
    put(out, ",\"status\":\"%s\"", status[x->status]);
    put_times(w, out, x);
    put(out, ",\"ops\":[");
    bool any = false;
    for (int i = 0; i < x->nop; i++) {
        if (added && i == place) {
            put(out, any ? ",%s" : "%s", added);
            any = true;
        }
        struct text one = {.at = calloc(1, 64), .cap = 64};
        put_op(w, &one, t, i, swap); /* draws, whether it is kept or not */
        if (i != without) {
            put(out, any ? ",%s" : "%s", one.at);
            any = true;
        }
        free(one.at);
    }
    put(out, "]}\n");
}

/* The lines of the sessions in another order, each session's own in theirs. */
static void put_lines(struct world *w, struct rng *r, struct text *out, struct text *line,
                      bool shuffled)
{
    bool told[TXNS] = {false};
    for (int n = 0; n < w->ntxn; n++) {
        int pick = -1, seen = 0;
        for (int t = 0; t < w->ntxn; t++) {
            bool first = !told[t];
            for (int s = 0; s < t; s++) {
                first = first && (told[s] || w->txn[s].session != w->txn[t].session);
            }
            if (first && (shuffled ? below(r, ++seen) == 0 : pick < 0)) {
                pick = t;
            }
        }
        told[pick] = true;
        put(out, "%s", line[pick].at);
    }
}

static struct world *make_world(uint64_t seed, const char *profile)
{
    struct world *w = calloc(1, sizeof *w);
    if (!w) {
        abort();
    }
    for (int i = 0; i < PROFILES; i++) {
        if (strcmp(profiles[i].name, profile) == 0) {
            w->p = &profiles[i];
            w->rng.s = seed * 0xd1342543de82ef95u + (uint64_t)i;
        }
    }
    if (strcmp(profile, "mixture") == 0) { /* each number from any of the rows */
        w->rng.s = seed * 0xd1342543de82ef95u + 1000;
        w->mixture.name = "mixture";
        for (size_t i = offsetof(struct profile, txns); i < sizeof w->mixture; i += sizeof(int)) {
            const char *row = (const char *)&profiles[below(&w->rng, PROFILES)];
            memcpy((char *)&w->mixture + i, row + i, sizeof(int));
        }
        if (w->mixture.scan && w->mixture.txns > 5) {
            w->mixture.txns = 5; /* else too many ways for the oracle */
        }
        w->p = &w->mixture;
    }
    if (!w->p) {
        free(w);
        return NULL;
    }
    make_skeleton(w);
    run(w);
    return w;
}

char *random_history_told(uint64_t seed, const char *profile, enum random_telling how,
                          uint64_t drawn, size_t *len)
{
    struct world *w = make_world(seed, profile);
    if (!w) {
        return NULL;
    }
    struct rng other = {drawn};
    struct text out = {.at = calloc(1, 1024), .cap = 1024},
                added = {.at = calloc(1, 64), .cap = 64};
    int swap[KEYS], from = -1, without = -1, txn = -1, place = 0;
    for (int k = 0; k < KEYS; k++) {
        swap[k] = chance(&w->rng, 35);
    }
    if (!out.at || !added.at) {
        abort();
    }
    if (how == TOLD_RENAMED) {
        choose_names(w, &other);
    }
    bool possible = how != TOLD_WITH_BYSTANDER || !has_ranges(w);
    if (how == TOLD_WITHOUT_READ) {
        from = removable(w, &other, &without);
        possible = from >= 0;
    } else if (how == TOLD_WITHOUT_READER) {
        txn = removable(w, &other, NULL);
        possible = txn >= 0;
    } else if (how == TOLD_WITH_FAILED) {
        from = below(&other, w->ntxn);
        place = below(&other, w->txn[from].nop);
        put_fresh_write(w, &other, &added, true);
    }
    put_header(w, &out);
    struct text line[TXNS];
    for (int t = 0; t < w->ntxn; t++) {
        line[t] = (struct text){.at = calloc(1, 256), .cap = 256};
        if (!line[t].at) {
            abort();
        }
        bool here = t == from;
        put_txn(w, &line[t], t, swap, here ? without : -1, here && added.len ? added.at : NULL,
                place);
        if (t == txn) {
            line[t].at[0] = 0;
        }
    }
    if (how == TOLD_WITH_ABORTED) {
        put(&out, "{\"session\":99,\"id\":\"gone\",\"status\":\"aborted\",\"ops\":[");
        put_fresh_write(w, &other, &out, false);
        put(&out, "]}\n");
    }
    put_lines(w, &other, &out, line, how != TOLD_PLAINLY && how != TOLD_RENAMED);
    if (how == TOLD_WITH_BYSTANDER) {
        put_bystander(&out);
    }
    for (int t = 0; t < w->ntxn; t++) {
        free(line[t].at);
    }
    free(added.at);
    free(w);
    *len = out.len;
    if (!possible) {
        free(out.at);
        return NULL;
    }
    return out.at;
}

char *random_history(uint64_t seed, const char *profile, size_t *len)
{
    return random_history_told(seed, profile, TOLD_PLAINLY, 0, len);
}

char *random_levels(char *text, uint64_t seed, size_t *len)
{
    static const char *const names[] = {"ser", "si", "rc", "serializable", "snapshot-isolation",
                                        "si",  "ru", "rr", "pl-2.99",      "read-uncommitted"};
    size_t kinds = seed % 3 == 0 ? 6 : seed % 3 == 1 ? 7 : 10, n = 0;
    static const char mark[] = "{\"session\":";
    char *out = malloc(*len * 2 + 64);
    uint64_t drawn = seed * 0x9e3779b97f4a7c15u + 1;
    if (!out) abort();
    for (const char *at = text; *at;) {
        drawn ^= drawn << 13;
        drawn ^= drawn >> 7;
        drawn ^= drawn << 17;
        if (strncmp(at, mark, sizeof mark - 1) == 0 && drawn % 8) {
            n += (size_t)sprintf(out + n, "{\"level\":\"%s\",", names[(drawn >> 8) % kinds]);
            at++;
        } else {
            out[n++] = *at++;
        }
    }
    out[n] = 0;
    free(text);
    *len = n;
    return out;
}
