/*
 * wide_search.c - a serial order by running transactions along many lines at once, for ambiguous
 * reads (doc/algorithms/strong.md).
 *
 * Where a wrong choice shows only after some dozens of transactions, backtracking step by step
 * (serial_search.c) goes through every order of what lies between.  Here all states in which
 * equally many events have run compete: of each height the best are extended by every transaction
 * that can run, and the others wait.  A state is better the fewer reads of its ready transactions
 * the store does not show, and the fewer of these transactions lag behind the guess.  Two ways to
 * one state count once.  If no line leads on, the search takes up states that wait, some heights
 * below the furthest one: further below, and more of each height, each time that this does not
 * help.
 *
 * A state is a node of a tree: the event that ran last, and the node before it.  To look at a state
 * the one run there is (serial_run.h) is undone to the common ancestor and run again from there;
 * nodes of one height are visited in the order in which they were made, so that neighbours in the
 * tree follow each other.
 *
 * The search is limited like the other; what it finds is a first order, which is replayed.
 *
 * Invariant: line[i] is the node of the event trail[i - 1] of the run, and line[0] the root.  Nodes
 * that wait stand in the list of their height, and have no children.
 */
#include <assert.h>

#include "base/sort.h"
#include "decide/lazy/serial_run.h"

#define WIDTH 48u          /* states of one height that are extended in the first pass, ... */
#define MOST_WIDTH 1536u   /* ... and in any */
#define MOST_WAITING 3072u /* states of one height that may wait */
#define STEP_BACK 16u      /* heights, after the first pass that did not lead on */
#define MOST_SEEN 1000000u /* states that are remembered at a time */
#define MOST_NODES 4000000u
#define LAG_WEIGHT 32u /* in 256ths of a missing read */
/* How many events may be looked at: for each event that could be run, and until one more has run
   than ever before.  Where a contradiction is in the way, the second limit ends the search soon. */
#define LOOKS_EACH 20000u
#define LOOKS_STUCK 2000000u
#define ROOT 0u

typedef struct line_node {
    uint32_t parent, event, height;
    uint32_t score;
    uint32_t next; /* in its list, or NONE */
} line_node;

typedef struct wide {
    serial_run run;
    VEC(line_node) nodes;
    uint32_t spare;     /* the first node that is free again; by next */
    uint32_t *line;     /* per height of the run: its node */
    uint32_t *waiting;  /* per height: the first state that waits, or NONE */
    VEC(uint32_t) path; /* scratch */
    VEC(uint64_t) rank; /* scratch: score and node */
    key_set seen;       /* states that were made */
    uint64_t looks, most_looks;
    uint32_t furthest;
    uint32_t *best, best_height;
} wide;

/* --- the tree --------------------------------------------------------------------------------- */

static uint32_t new_node(wide *w, uint32_t parent, uint32_t event, uint32_t height, uint32_t score)
{
    line_node n = {parent, event, height, score, NONE};
    uint32_t id = w->spare;
    if (id == NONE) {
        id = (uint32_t)w->nodes.n;
        vec_push(w->run.z->m, &w->nodes, n);
    } else {
        w->spare = w->nodes.at[id].next;
        w->nodes.at[id] = n;
    }
    return id;
}

/* Brings the run to the state of the node. */
static void move_to(wide *w, uint32_t node)
{
    serial_run *r = &w->run;
    w->path.n = 0;
    uint32_t at = node;
    while (w->nodes.at[at].height > r->height || w->line[w->nodes.at[at].height] != at) {
        vec_push(r->z->m, &w->path, at);
        at = w->nodes.at[at].parent;
    }
    while (r->height > w->nodes.at[at].height) serial_run_undo(r);
    assert(w->line[r->height] == at);
    for (size_t i = w->path.n; i--;) {
        uint32_t id = w->path.at[i];
        serial_run_event(r, r->slot[w->nodes.at[id].event]);
        w->line[r->height] = id;
    }
}

/* --- states that wait ------------------------------------------------------------------------- */

/* Takes the best n states that wait at the height into w->rank, in the order in which they were
   made; the best `keep` after these go on waiting, and the others are forgotten. */
static void take_best(wide *w, uint32_t height, uint32_t n, uint32_t keep)
{
    mem *m = w->run.z->m;
    w->rank.n = 0;
    for (uint32_t id = w->waiting[height]; id != NONE; id = w->nodes.at[id].next)
        vec_push(m, &w->rank, map_pair(w->nodes.at[id].score, id));
    sort_u64(w->rank.at, w->rank.n);
    w->waiting[height] = NONE;
    for (size_t i = w->rank.n; i-- > n;) {
        uint32_t id = (uint32_t)w->rank.at[i];
        bool stays = i < (size_t)n + keep;
        uint32_t *list = stays ? &w->waiting[height] : &w->spare;
        w->nodes.at[id].next = *list;
        *list = id;
    }
    if (w->rank.n > n) w->rank.n = n;
    for (size_t i = 0; i < w->rank.n; i++) w->rank.at[i] = (uint32_t)w->rank.at[i];
    sort_u64(w->rank.at, w->rank.n);
}

static void add_waiting(wide *w, uint32_t id)
{
    uint32_t height = w->nodes.at[id].height;
    assert(height && height <= w->run.p->events);
    w->nodes.at[id].next = w->waiting[height];
    w->waiting[height] = id;
}

/* --- extending a state ------------------------------------------------------------------------ */

/* How far ready transactions stand behind their guesses. */
static uint64_t lag_of(const wide *w)
{
    const serial_run *r = &w->run;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < r->readies; i++) {
        uint32_t guess = r->z->pos[r->ready[i]];
        if (guess >= r->height) continue;
        uint64_t d = r->height - guess;
        sum += d * d;
    }
    return sum * LAG_WEIGHT / r->p->events;
}

/* Runs what changes nothing, and what only reads and can run: that spoils nothing. */
static void run_readers(wide *w)
{
    serial_run *r = &w->run;
    for (uint32_t i = 0; i < r->readies;) {
        uint32_t e = r->ready[i];
        w->looks++;
        if (!serial_run_idle(r, e) && (serial_run_writes(r, e) || !serial_run_can(r, e))) {
            i++;
            continue;
        }
        uint32_t parent = w->line[r->height];
        serial_run_event(r, i);
        w->line[r->height] = new_node(w, parent, e, r->height, 0);
    }
}

static void add_successors(wide *w)
{
    serial_run *r = &w->run;
    uint32_t parent = w->line[r->height];
    for (uint32_t i = 0; i < r->readies; i++) {
        uint32_t e = r->ready[i];
        w->looks++;
        assert(!serial_run_idle(r, e));
        if (!serial_run_can(r, e)) continue;
        serial_run_event(r, i);
        if (key_set_add(r->z->m, &w->seen, r->state)) {
            uint64_t score = r->misses * 256 + lag_of(w);
            w->looks += r->readies / 8;
            if (score > UINT32_MAX) score = UINT32_MAX;
            add_waiting(w, new_node(w, parent, e, r->height, (uint32_t)score));
        }
        serial_run_undo(r);
    }
}

static void keep_trail(wide *w)
{
    const serial_run *r = &w->run;
    if (r->height <= w->best_height + r->p->events / 128) return;
    memcpy(w->best, r->trail, r->height * sizeof *w->best);
    w->best_height = r->height;
}

/* True: everything has run. */
static bool extend(wide *w, uint32_t id)
{
    serial_run *r = &w->run;
    move_to(w, id);
    uint32_t height = r->height;
    run_readers(w);
    guard_tick(r->z->m->guard);
    if (!r->left) return true;
    if (r->height > w->furthest) {
        w->furthest = r->height;
        w->most_looks = w->looks + serial_run_patience(r, w->furthest, LOOKS_STUCK);
        keep_trail(w);
    }
    if (r->height == height || key_set_add(r->z->m, &w->seen, r->state)) add_successors(w);
    return false;
}

/* Is the effort spent that what was reached is worth? */
static bool spent(const wide *w)
{
    return w->looks > w->most_looks || w->looks > (uint64_t)LOOKS_EACH * w->furthest + LOOKS_STUCK;
}

/* --- passes ----------------------------------------------------------------------------------- */

/* Extends the best states of every height from `from` on.  True: everything has run. */
static bool run_pass(wide *w, uint32_t from, uint32_t width)
{
    VEC(uint32_t) now = {0};
    bool found = false;
    for (uint32_t h = from; h <= w->furthest + 1 && h < w->run.p->events && !found; h++) {
        if (w->waiting[h] == NONE) continue;
        take_best(w, h, width, MOST_WAITING);
        now.n = 0;
        for (size_t i = 0; i < w->rank.n; i++) vec_push(w->run.z->m, &now, (uint32_t)w->rank.at[i]);
        for (size_t i = 0; i < now.n && !found; i++) found = extend(w, now.at[i]);
        if (spent(w)) break;
        if (w->seen.n > MOST_SEEN) key_set_restart(w->run.z->m, &w->seen, 0);
    }
    vec_free(w->run.z->m, &now);
    return found;
}

static bool any_waiting(const wide *w)
{
    for (uint32_t h = w->furthest + 1; h-- > 0;)
        if (w->waiting[h] != NONE) return true;
    return false;
}

static bool search_lines(wide *w)
{
    uint32_t back = 0, best = 0, width = WIDTH;
    w->line[0] = new_node(w, ROOT, NONE, 0, 0);
    if (extend(w, ROOT)) return true;
    for (;;) {
        if (run_pass(w, back < best ? best - back : 0, width)) return true;
        if (spent(w) || !any_waiting(w)) return false;
        bool further = w->furthest > best;
        best = w->furthest;
        back = further ? STEP_BACK : 2 * back;
        width = further ? WIDTH : 2 * width;
        if (back > w->run.p->events) back = w->run.p->events;
        if (width > MOST_WIDTH) width = MOST_WIDTH;
    }
}

uint32_t lazy_wide_search(lazy *z, const order_graph *known, uint32_t *pos)
{
    wide w = {.spare = NONE};
    size_t n = (size_t)z->p->events + 1;
    serial_run_start(&w.run, z, known);
    w.most_looks = serial_run_patience(&w.run, 0, LOOKS_STUCK);
    w.line = mem_array(z->m, uint32_t, n);
    w.waiting = mem_array(z->m, uint32_t, n);
    memset(w.waiting, 0xff, n * sizeof *w.waiting);
    w.best = mem_array(z->m, uint32_t, n);
    bool found = search_lines(&w);
    uint32_t ran = found ? z->p->events : w.best_height;
    if (found)
        serial_run_order(&w.run, w.run.trail, w.run.height, pos);
    else if (ran > z->p->events / 2)
        serial_run_order(&w.run, w.best, ran, pos);
    void *arrays[] = {w.line, w.waiting, w.best};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) mem_put(z->m, arrays[i]);
    vec_free(z->m, &w.nodes);
    vec_free(z->m, &w.path);
    vec_free(z->m, &w.rank);
    key_set_free(z->m, &w.seen);
    serial_run_end(&w.run);
    return ran;
}
