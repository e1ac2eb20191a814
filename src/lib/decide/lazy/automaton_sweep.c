/*
 * automaton_sweep.c - broken reads of levels whose paths an automaton accepts
 * (order/path_automaton.h).
 *
 * The product of transactions and states of the automaton is walked along the current order, for
 * many suspects at once: each has a bit, and a row of bits for a transaction and a state says which
 * suspects have a walk from one of their later versions to there.  Steps between many pairs are
 * not looked at one by one: whatever left in a session, from a key's versions, or at all, is kept
 * in one row for each of these.  A read is broken if its bit arrives in an accepting state at the
 * reader; the walk is then found backwards, by as few uncertain steps as can be.
 *
 * All steps but `rw` go forward in the order, so without `rw` one walk over the part between the
 * first version and the last reader is enough.  With it the walk covers everything, and is repeated
 * until no row changes.
 */
#include <assert.h>

#include "base/search.h"
#include "base/sort.h"
#include "decide/lazy/settled_steps.h"

#define WORDS 4 /* of a row */
#define BLOCK (64 * WORDS)

typedef struct lanes {
    uint64_t w[WORDS];
} lanes;

typedef struct doubt {   /* a suspect of the block at hand */
    uint32_t ob, lo, hi; /* places of its first later version and of the reader */
    uint32_t next;       /* of the same reader, + 1 */
} doubt;

typedef struct starting { /* a later version of a suspect */
    uint32_t lane, next;
} starting;

/* A transaction and a state, found on the way back. */
typedef struct found {
    uint32_t place, state;
    uint32_t from; /* the index of the one after it */
    hop by;        /* the step between them */
} found;

/* An operation of the reader at which a step may arrive: a read, or an install. */
typedef struct arrival {
    op_id op;
    bool writes;
    uint32_t which; /* the obligation, or the install */
} arrival;

/* The runs of a settled letter. */
typedef struct settled_rows {
    enum path_letter letter;
    settled_steps steps;
    lanes *rows;    /* per member and group: what left it and those of its run before it */
    uint32_t *done; /* per run: the first member whose rows are not made in this walk */
} settled_rows;

struct word_sweep {
    lazy *z;
    const path_automaton *a;
    uint32_t *at;            /* the node at each place, or NO_ID */
    VEC(doubt) doubts;       /* of all blocks */
    uint32_t first, n;       /* the block */
    uint32_t lo, hi;         /* the places that are walked */
    lanes *seen, *out;       /* per place and state; per place and group */
    size_t rows;             /* for how many places there is memory */
    uint32_t *begins, *ends; /* per place: the first starting / doubt + 1; 0: none */
    VEC(starting) starting;
    bool sessions;
    lanes *before;    /* per place and group: what left those before it in its session */
    lanes *key, *any; /* what left by each letter; per group */
    struct overwriting {
        enum path_letter letter;
        lanes *rows;             /* per key and group: what left for later versions; NULL: unused */
        unsigned flags, without; /* of its reads: those that they have, and have not */
    } over[3];
    bool turns;  /* some letter is rw */
    lanes *past; /* real time: per rank of paths.ended */
    size_t past_n;
    VEC(settled_rows) settled;
    VEC(uint32_t) touched; /* keys */
    uint8_t *is_touched;
    uint32_t *readers_first, *readers;     /* with rw: reads by the version they see */
    uint32_t *waiting_head, *waiting_next; /* per key: readers that write it too, + 1; per ob */
    VEC(arrival) arrivals;                 /* of the reader at hand */
    lanes *before_op, *upto_op; /* per slot: what arrived before, and up to, an operation */
    uint32_t *lane_of;          /* per obligation: its lane + 1 while its reader is judged */
    bool changed, judge;
    VEC(uint8_t) broken; /* per suspect of the block */
    VEC(found) way;
    uint32_t *visited; /* per place and state: the suspect that was there, + 1 */
    uint32_t visit;
};
typedef struct word_sweep word_sweep;

/* --- rows ------------------------------------------------------------------------------------- */

static void join(lanes *to, const lanes *from)
{
    for (unsigned i = 0; i < WORDS; i++) to->w[i] |= from->w[i];
}

static bool has_lane(const lanes *row, uint32_t lane)
{
    assert(lane < BLOCK);
    return row->w[lane / 64] >> (lane % 64) & 1;
}

static lanes *seen_row(const word_sweep *s, uint32_t place, uint32_t state)
{
    assert(place >= s->lo && place <= s->hi);
    return s->seen + (size_t)(place - s->lo) * s->a->states + state;
}

static lanes *out_row(const word_sweep *s, uint32_t place, uint32_t group)
{
    assert(place >= s->lo && place <= s->hi && group < s->a->groups);
    return s->out + (size_t)(place - s->lo) * s->a->groups + group;
}

/* What a state must accept so that this read of v is broken. */
static uint8_t accepted_class(const lazy *z, uint32_t ob, uint8_t class)
{
    bool pred = z->g->ob_flags[ob] & OB_PRED;
    return (uint8_t)(pred ? ACCEPT_PRED((unsigned)class) : ACCEPT_ITEM(class));
}

static uint8_t class_of(const lazy *z, node_id v)
{
    return z->g->inst_first[v] < z->g->inst_first[v + 1] ? CLASS_UPDATES : CLASS_READERS;
}

static bool in_part(const word_sweep *s, node_id v)
{
    uint32_t place = s->z->pos[v];
    return place >= s->lo && place <= s->hi && s->z->present[v];
}

/* Everything that arrives by a letter from the rows of one group each. */
static void arrive_from(word_sweep *s, lanes *row, enum path_letter letter, const lanes *groups)
{
    for (uint32_t k = s->a->slot_first[letter]; k < s->a->slot_first[letter + 1]; k++)
        join(&row[s->a->slot[k].to], &groups[s->a->slot[k].group]);
}

static void arrive_from_node(word_sweep *s, lanes *row, enum path_letter letter, node_id u)
{
    if (in_part(s, u)) arrive_from(s, row, letter, out_row(s, s->z->pos[u], 0));
}

static void leave_into(const word_sweep *s, lanes *groups, uint32_t place)
{
    const lanes *out = out_row(s, place, 0);
    for (uint32_t i = 0; i < s->a->groups; i++) join(&groups[i], &out[i]);
}

/* --- the steps into a transaction ------------------------------------------------------------- */

static bool uses(const word_sweep *s, enum path_letter letter)
{
    return automaton_uses(s->a, letter);
}

static lanes *key_row(const word_sweep *s, lanes *rows, key_id k)
{
    assert(rows && k < history_keys(s->z->g->h));
    return rows + (size_t)k * s->a->groups;
}

static void touch_key(word_sweep *s, key_id k)
{
    if (s->is_touched[k]) return;
    s->is_touched[k] = 1;
    vec_push(s->z->m, &s->touched, k);
    size_t n = s->a->groups * sizeof(lanes);
    if (s->key) memset(key_row(s, s->key, k), 0, n);
    if (!s->turns) return;
    for (int i = 0; i < 3; i++)
        if (s->over[i].rows) memset(key_row(s, s->over[i].rows, k), 0, n);
    s->waiting_head[k] = 0;
}

static bool is_over(const word_sweep *s, const struct overwriting *o, uint32_t ob)
{
    unsigned flags = s->z->g->ob_flags[ob];
    return (flags & o->flags) == o->flags && !(flags & o->without);
}

/* The reader of ob leaves for all later versions of the key. */
static void leave_for_later(word_sweep *s, key_id k, uint32_t ob, uint32_t place)
{
    for (int i = 0; i < 3; i++)
        if (s->over[i].rows && is_over(s, &s->over[i], ob))
            leave_into(s, key_row(s, s->over[i].rows, k), place);
}

/* A reader that does not write the key itself has left for every later version of it; one that does
   has left for all but its own, so until that has passed it is asked by itself. */
static void readers_leave(word_sweep *s, key_id k, uint32_t version)
{
    lazy *z = s->z;
    for (uint32_t i = s->readers_first[version]; i < s->readers_first[version + 1]; i++) {
        uint32_t ob = s->readers[i];
        node_id a = z->g->ob_node[ob];
        if (!in_part(s, a)) continue;
        uint32_t own = asg_install(z->g, a, k);
        if (own == NO_ID) {
            leave_for_later(s, k, ob, z->pos[a]);
        } else {
            s->waiting_next[ob] = s->waiting_head[k];
            s->waiting_head[k] = ob + 1;
        }
    }
}

static void arrive_overwrites(word_sweep *s, lanes *row, key_id k, node_id v)
{
    lazy *z = s->z;
    if (!s->is_touched[k]) {
        touch_key(s, k);
        readers_leave(s, k, (uint32_t)z->g->insts + k);
    }
    for (uint32_t *i = &s->waiting_head[k]; *i;) {
        uint32_t ob = *i - 1;
        node_id a = z->g->ob_node[ob];
        if (a != v) {
            for (int o = 0; o < 3; o++)
                if (s->over[o].rows && is_over(s, &s->over[o], ob))
                    arrive_from_node(s, row, s->over[o].letter, a);
            i = &s->waiting_next[ob];
        } else {
            *i = s->waiting_next[ob];
        }
    }
    for (int o = 0; o < 3; o++)
        if (s->over[o].rows) arrive_from(s, row, s->over[o].letter, key_row(s, s->over[o].rows, k));
}

static size_t ended_before_node(const lazy *z, node_id v)
{
    const paths *x = z->paths;
    SEARCH_FIRST(size_t, n, 0, x->ended.n, !paths_rt_before(z, x->ended.at[n], v));
    return n;
}

static void arrive_by_time(word_sweep *s, lanes *row, node_id v)
{
    const paths *x = s->z->paths;
    size_t n = ended_before_node(s->z, v), groups = s->a->groups;
    for (; s->past_n < n; s->past_n++) {
        lanes *to = s->past + s->past_n * groups;
        node_id u = x->ended.at[s->past_n];
        if (s->past_n)
            memcpy(to, to - groups, groups * sizeof *to);
        else
            memset(to, 0, groups * sizeof *to);
        if (in_part(s, u)) leave_into(s, to, s->z->pos[u]);
    }
    if (n) arrive_from(s, row, LETTER_RT, s->past + (n - 1) * groups);
}

/* Settled steps go forward in the order, so the rows of every transaction that leads to v are
   complete. */
static void arrive_by_settled(word_sweep *s, settled_rows *x, lanes *row, node_id v)
{
    const settled_steps *t = &x->steps;
    size_t groups = s->a->groups;
    for (uint32_t i = t->ask_first[v]; i < t->ask_first[v + 1]; i++) {
        uint32_t to = t->ask.at[i], run = t->run_of.at[to];
        assert(to < t->member.n && t->run_first.at[run] <= to);
        for (uint32_t k = x->done[run]; k <= to; k++) {
            lanes *made = x->rows + k * groups;
            if (k > t->run_first.at[run])
                memcpy(made, made - groups, groups * sizeof *made);
            else
                memset(made, 0, groups * sizeof *made);
            if (in_part(s, t->member.at[k])) leave_into(s, made, s->z->pos[t->member.at[k]]);
        }
        if (x->done[run] <= to) x->done[run] = to + 1;
        arrive_from(s, row, x->letter, x->rows + to * groups);
    }
    for (uint32_t i = t->pair_first[v]; i < t->pair_first[v + 1]; i++)
        arrive_from_node(s, row, x->letter, t->pair.at[i]);
}

/* (Not by one row for each session: nothing follows a transaction of unknown outcome, so that one
   may stand after others that come later in the session.) */
static void arrive_by_session(word_sweep *s, lanes *row, node_id v)
{
    size_t groups = s->a->groups;
    lanes *before = s->before + (s->z->pos[v] - s->lo) * groups;
    node_id u = s->z->g->so_pred[v];
    memset(before, 0, groups * sizeof *before);
    if (u == NO_ID || !in_part(s, u)) return;
    memcpy(before, s->before + (s->z->pos[u] - s->lo) * groups, groups * sizeof *before);
    leave_into(s, before, s->z->pos[u]);
    arrive_from(s, row, LETTER_SO, before);
}

static void arrive_all(word_sweep *s, lanes *row, node_id v)
{
    const lazy *z = s->z;
    const asg *g = z->g;
    if (s->sessions) arrive_by_session(s, row, v);
    if (s->past) arrive_by_time(s, row, v);
    for (size_t i = 0; i < s->settled.n; i++) arrive_by_settled(s, &s->settled.at[i], row, v);
    if (uses(s, LETTER_CO)) arrive_from(s, row, LETTER_CO, s->any);
    for (uint32_t i = g->ob_first[v]; uses(s, LETTER_WR) && i < g->ob_first[v + 1]; i++) {
        uint32_t w = paths_stands(z, i);
        if (w < FROM_INIT) arrive_from_node(s, row, LETTER_WR, g->inst_node[w]);
    }
    for (uint32_t j = g->inst_first[v]; j < g->inst_first[v + 1]; j++) {
        key_id k = g->inst_key[j];
        if (s->turns) arrive_overwrites(s, row, k, v);
        if (!s->key) continue;
        touch_key(s, k);
        arrive_from(s, row, LETTER_WW, key_row(s, s->key, k));
    }
}

static void leave_all(word_sweep *s, uint32_t place, node_id v)
{
    const asg *g = s->z->g;
    if (uses(s, LETTER_CO)) leave_into(s, s->any, place);
    for (uint32_t j = g->inst_first[v]; j < g->inst_first[v + 1]; j++) {
        key_id k = g->inst_key[j];
        if (s->key) leave_into(s, key_row(s, s->key, k), place);
        if (s->turns) readers_leave(s, k, j);
        for (uint32_t ob = g->ob_first[v]; s->turns && ob < g->ob_first[v + 1]; ob++) {
            uint32_t w = g->ob_key[ob] == k ? paths_stands(s->z, ob) : NONE;
            if (w != NONE) leave_for_later(s, k, ob, place);
        }
    }
}

/* --- one walk --------------------------------------------------------------------------------- */

/* --- the last step ----------------------------------------------------------------------------
   Whether it counts depends on the read, not on the reader alone: it must arrive early enough, or
   be a version of the very key. */

static bool accepts_any(const word_sweep *s, uint8_t class)
{
    for (uint32_t k = 0; k < s->a->slots; k++)
        if (LETTERS_LAST >> s->a->slot[k].letter & 1 &&
            s->a->accept[s->a->slot[k].to] &
                (ACCEPT_ITEM((unsigned)class) | ACCEPT_PRED((unsigned)class)))
            return true;
    return false;
}

/* The reads and installs of v, by their operations. */
static void collect_arrivals(word_sweep *s, node_id v)
{
    const asg *g = s->z->g;
    mem *m = s->z->m;
    VEC(uint64_t) keys = {0};
    VEC(arrival) all = {0};
    for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++) {
        arrival x = {g->ob_op[ob], false, ob};
        vec_push(m, &all, x);
        vec_push(m, &keys, x.op);
    }
    for (uint32_t j = g->inst_first[v]; j < g->inst_first[v + 1]; j++) {
        arrival x = {g->inst_op[j], true, j};
        vec_push(m, &all, x);
        vec_push(m, &keys, x.op);
    }
    uint32_t *by = sort_by_key(m, keys.at, (uint32_t)all.n);
    s->arrivals.n = 0;
    for (size_t i = 0; i < all.n; i++) vec_push(m, &s->arrivals, all.at[by[i]]);
    mem_put(m, by);
    vec_free(m, &all);
    vec_free(m, &keys);
}

/* Joins what arrives at the operation by the last letters of read-from or of version order. */
static void join_last(const word_sweep *s, lanes *upto, const arrival *x)
{
    const lazy *z = s->z;
    const path_automaton *a = s->a;
    assert(x->which < (x->writes ? z->g->insts : z->g->obs));
    uint32_t w = x->writes ? NONE : paths_stands(z, x->which);
    node_id source = !x->writes && w < FROM_INIT ? z->g->inst_node[w] : NO_ID;
    for (uint32_t k = 0; k < a->slots; k++) {
        enum path_letter letter = a->slot[k].letter;
        bool by_write = letter == LETTER_WW_BEFORE || letter == LETTER_WW_UPTO;
        bool by_read = letter == LETTER_WR_BEFORE || letter == LETTER_WR_UPTO;
        if (x->writes && by_write)
            join(&upto[k], &key_row(s, s->key, z->g->inst_key[x->which])[a->slot[k].group]);
        else if (!x->writes && by_read && source != NO_ID && in_part(s, source))
            join(&upto[k], &out_row(s, z->pos[source], 0)[a->slot[k].group]);
    }
}

/* Is the suspect of this read broken by what arrived at the operations so far? */
static bool last_step_breaks(const word_sweep *s, uint32_t ob, uint32_t lane, uint8_t class,
                             const lanes *before, const lanes *upto)
{
    const path_automaton *a = s->a;
    uint8_t accepted = accepted_class(s->z, ob, class);
    assert(accepted && lane < s->n);
    for (uint32_t k = 0; k < a->slots; k++) {
        enum path_letter letter = a->slot[k].letter;
        if (!(LETTERS_LAST >> letter & 1) || !(a->accept[a->slot[k].to] & accepted)) continue;
        bool strict = letter == LETTER_WR_BEFORE || letter == LETTER_WW_BEFORE;
        if (letter == LETTER_KEY) {
            if (asg_install(s->z->g, s->z->g->ob_node[ob], s->z->g->ob_key[ob]) != NO_ID)
                return true;
        } else if (has_lane(strict ? &before[k] : &upto[k], lane)) {
            return true;
        }
    }
    return false;
}

static void judge_last_steps(word_sweep *s, uint32_t place, node_id v, uint8_t class)
{
    size_t n = s->a->slots * sizeof *s->before_op;
    if (!(s->a->letters & LETTERS_LAST) || !accepts_any(s, class)) return;
    for (uint32_t k = s->ends[place - s->lo]; k; k = s->doubts.at[s->first + k - 1].next)
        s->lane_of[s->doubts.at[s->first + k - 1].ob] = k;
    collect_arrivals(s, v);
    memset(s->upto_op, 0, n);
    for (size_t i = 0, end; i < s->arrivals.n; i = end) {
        assert(!i || s->arrivals.at[i - 1].op < s->arrivals.at[i].op);
        memcpy(s->before_op, s->upto_op, n);
        for (end = i; end < s->arrivals.n && s->arrivals.at[end].op == s->arrivals.at[i].op; end++)
            join_last(s, s->upto_op, &s->arrivals.at[end]);
        for (size_t j = i; j < end; j++) {
            const arrival *x = &s->arrivals.at[j];
            uint32_t k = x->writes ? 0 : s->lane_of[x->which];
            if (k && last_step_breaks(s, x->which, k - 1, class, s->before_op, s->upto_op))
                s->broken.at[k - 1] = 1;
        }
        guard_tick(s->z->m->guard);
    }
    for (uint32_t k = s->ends[place - s->lo]; k; k = s->doubts.at[s->first + k - 1].next)
        s->lane_of[s->doubts.at[s->first + k - 1].ob] = 0;
}

static void judge_arrivals(word_sweep *s, uint32_t place, const lanes *row, uint8_t class)
{
    lanes item = {{0}}, pred = {{0}};
    for (uint32_t q = 1; q < s->a->states; q++) {
        if (s->a->accept[q] & ACCEPT_ITEM(class)) join(&item, &row[q]);
        if (s->a->accept[q] & ACCEPT_PRED((unsigned)class)) join(&pred, &row[q]);
    }
    for (uint32_t k = s->ends[place - s->lo]; k; k = s->doubts.at[s->first + k - 1].next) {
        bool of_pred = s->z->g->ob_flags[s->doubts.at[s->first + k - 1].ob] & OB_PRED;
        if (has_lane(of_pred ? &pred : &item, k - 1)) s->broken.at[k - 1] = 1;
    }
}

static void walk_place(word_sweep *s, uint32_t place)
{
    const path_automaton *a = s->a;
    node_id v = s->at[place];
    if (v == NO_ID || !s->z->present[v]) return;
    lanes *row = seen_row(s, place, 0), *out = out_row(s, place, 0);
    uint8_t class = class_of(s->z, v);
    for (uint32_t k = s->begins[place - s->lo]; k; k = s->starting.at[k - 1].next) {
        uint32_t lane = s->starting.at[k - 1].lane;
        row->w[lane / 64] |= (uint64_t)1 << (lane % 64);
    }
    arrive_all(s, row, v);
    for (uint32_t i = 0; i < a->groups; i++) {
        lanes was = out[i];
        for (uint32_t k = a->move_first[i]; k < a->move_first[i + 1]; k++)
            if (a->move[k].classes & class) join(&out[i], &row[a->move[k].from]);
        s->changed = s->changed || memcmp(&was, &out[i], sizeof was) != 0;
    }
    if (s->ends[place - s->lo]) {
        judge_arrivals(s, place, row, class);
        judge_last_steps(s, place, v, class); /* while the rows of keys are those before v */
    }
    leave_all(s, place, v);
}

static void clear_sums(word_sweep *s)
{
    for (size_t i = 0; i < s->touched.n; i++) s->is_touched[s->touched.at[i]] = 0;
    s->touched.n = 0;
    s->past_n = 0;
    for (size_t i = 0; i < s->settled.n; i++) {
        settled_rows *x = &s->settled.at[i];
        size_t runs = x->steps.run_first.n;
        if (runs) memcpy(x->done, x->steps.run_first.at, runs * sizeof *x->done);
    }
    memset(s->any, 0, s->a->groups * sizeof *s->any);
}

static void walk_block(word_sweep *s)
{
    bool again = s->turns;
    do {
        s->changed = false;
        clear_sums(s);
        for (uint32_t place = s->lo; place <= s->hi; place++) {
            walk_place(s, place);
            guard_tick(s->z->m->guard);
        }
    } while (again && s->changed);
}

/* --- the way back ----------------------------------------------------------------------------- */

typedef struct back {
    word_sweep *s;
    uint32_t lane, index;    /* of the found whose steps are looked for */
    VEC(uint32_t) near, far; /* indices of `way`: at the present cost, and at a higher one */
    size_t head;             /* of near, which is a queue, so that walks are short */
} back;

static bool stands_in(const word_sweep *s, node_id u, uint32_t state, uint32_t lane)
{
    return in_part(s, u) && has_lane(seen_row(s, s->z->pos[u], state), lane);
}

/* Goes back to by.at by the hop, in every state from which the slot's moves leave.  True: nobody
   further back need be asked for the same step.  (Where walks may go back in the order, the walk to
   by.at may be one through this very place, so all must be asked.) */
static bool go_back(back *b, const path_slot *slot, hop by, bool costs)
{
    word_sweep *s = b->s;
    bool any = false;
    assert(by.at != by.to && by.at < s->z->p->txns && slot->group < s->a->groups);
    for (uint32_t k = s->a->move_first[slot->group]; k < s->a->move_first[slot->group + 1]; k++) {
        const path_move *m = &s->a->move[k];
        if (!(m->classes & class_of(s->z, by.at)) || !stands_in(s, by.at, m->from, b->lane))
            continue;
        any = true;
        found f = {s->z->pos[by.at], m->from, b->index, by};
        uint32_t *was = &s->visited[(size_t)(f.place - s->lo) * s->a->states + f.state];
        if (*was == s->visit) continue;
        uint32_t at = (uint32_t)s->way.n;
        vec_push(s->z->m, &s->way, f);
        if (costs)
            vec_push(s->z->m, &b->far, at);
        else
            vec_push(s->z->m, &b->near, at);
    }
    return any && !s->turns;
}

static void back_by_session(back *b, const path_slot *slot, node_id v)
{
    const lazy *z = b->s->z;
    for (node_id u = z->p->so ? z->g->so_pred[v] : NO_ID; u != NO_ID && z->pos[u] >= b->s->lo;
         u = z->g->so_pred[u])
        if (go_back(b, slot, (hop){u, v, PATH_SO, NONE}, false)) return;
}

static void back_by_time(back *b, const path_slot *slot, node_id v)
{
    const lazy *z = b->s->z;
    for (size_t n = ended_before_node(z, v); n--;)
        if (go_back(b, slot, (hop){z->paths->ended.at[n], v, PATH_RT, NONE}, false)) return;
}

static void back_by_settled(back *b, const path_slot *slot, node_id v)
{
    const settled_rows *x = b->s->settled.at;
    assert(b->s->settled.n && LETTERS_SETTLED >> slot->letter & 1);
    while (x->letter != slot->letter) x++;
    const settled_steps *t = &x->steps;
    for (uint32_t i = t->pair_first[v]; i < t->pair_first[v + 1]; i++)
        if (go_back(b, slot, (hop){t->pair.at[i], v, PATH_RT, NONE}, false)) return;
    for (uint32_t i = t->ask_first[v]; i < t->ask_first[v + 1]; i++) {
        uint32_t first = t->run_first.at[t->run_of.at[t->ask.at[i]]];
        for (uint32_t k = t->ask.at[i] + 1; k-- > first;)
            if (go_back(b, slot, (hop){t->member.at[k], v, PATH_RT, NONE}, false)) return;
    }
}

static void back_by_reads(back *b, const path_slot *slot, node_id v)
{
    const lazy *z = b->s->z;
    for (uint32_t i = z->g->ob_first[v]; i < z->g->ob_first[v + 1]; i++) {
        uint32_t w = paths_stands(z, i);
        if (w < FROM_INIT)
            go_back(b, slot, (hop){z->g->inst_node[w], v, PATH_WR, i}, z->p->rf[i] == RF_OPEN);
    }
}

static void back_by_versions(back *b, const path_slot *slot, node_id v)
{
    const lazy *z = b->s->z;
    for (uint32_t j = z->g->inst_first[v]; j < z->g->inst_first[v + 1]; j++)
        for (uint32_t i = lazy_version_before(z, j); i != NONE; i = lazy_version_before(z, i)) {
            node_id u = z->g->inst_node[i];
            if (z->pos[u] < b->s->lo) break;
            if (go_back(b, slot, (hop){u, v, PATH_WW, j}, !lazy_ruled_out(z, u, v))) break;
        }
}

static void back_by_order(back *b, const path_slot *slot, node_id v)
{
    const word_sweep *s = b->s;
    for (uint32_t place = s->z->pos[v]; place-- > s->lo;) {
        node_id u = s->at[place];
        if (u == NO_ID || !s->z->present[u]) continue;
        if (go_back(b, slot, (hop){u, v, PATH_ANY, NONE}, !lazy_ruled_out(s->z, u, v))) return;
    }
}

static void back_by_overwrites(back *b, const path_slot *slot, node_id v)
{
    const struct overwriting *kind = b->s->over;
    while (kind->letter != slot->letter) kind++;
    const lazy *z = b->s->z;
    const asg *g = z->g;
    for (uint32_t j = g->inst_first[v]; j < g->inst_first[v + 1]; j++) {
        uint32_t i = j;
        do {
            i = lazy_version_before(z, i);
            uint32_t list = i == NONE ? (uint32_t)g->insts + g->inst_key[j] : i;
            for (uint32_t k = b->s->readers_first[list]; k < b->s->readers_first[list + 1]; k++) {
                uint32_t ob = b->s->readers[k];
                node_id a = g->ob_node[ob];
                bool sure =
                    z->p->rf[ob] != RF_OPEN && (i == NONE || lazy_ruled_out(z, g->inst_node[i], v));
                if (a != v && is_over(b->s, kind, ob))
                    go_back(b, slot, (hop){a, v, PATH_RW, ob}, !sure);
            }
        } while (i != NONE);
    }
}

static void back_from(back *b, uint32_t index)
{
    static void (*const by[LETTERS])(back *, const path_slot *, node_id) = {
        [LETTER_SO] = back_by_session,         [LETTER_WR] = back_by_reads,
        [LETTER_WW] = back_by_versions,        [LETTER_RW] = back_by_overwrites,
        [LETTER_CO] = back_by_order,           [LETTER_RT] = back_by_time,
        [LETTER_RW_ITEM] = back_by_overwrites, [LETTER_RW_PRED] = back_by_overwrites};
    word_sweep *s = b->s;
    const path_automaton *a = s->a;
    assert(index < s->way.n);
    found here = s->way.at[index];
    assert(here.state < a->states && s->at[here.place] != NO_ID);
    node_id v = s->at[here.place];
    b->index = index;
    for (uint32_t k = 0; k < a->slots; k++)
        if (a->slot[k].to == here.state && LETTERS_SETTLED >> a->slot[k].letter & 1)
            back_by_settled(b, &a->slot[k], v);
        else if (a->slot[k].to == here.state && by[a->slot[k].letter])
            by[a->slot[k].letter](b, &a->slot[k], v);
    guard_tick(s->z->m->guard);
}

/* Back over a last step of read-from or version order that arrives at one of the operations. */
static void back_by_last(back *b, const path_slot *slot, uint32_t ob)
{
    const lazy *z = b->s->z;
    const asg *g = z->g;
    enum path_letter letter = slot->letter;
    bool strict = letter == LETTER_WR_BEFORE || letter == LETTER_WW_BEFORE;
    node_id v = g->ob_node[ob];
    op_id end = g->ob_op[ob] + !strict;
    bool by_read = letter == LETTER_WR_BEFORE || letter == LETTER_WR_UPTO;
    for (uint32_t i = g->ob_first[v]; by_read && i < g->ob_first[v + 1]; i++) {
        uint32_t w = g->ob_op[i] < end ? paths_stands(z, i) : NONE;
        if (w < FROM_INIT)
            go_back(b, slot, (hop){g->inst_node[w], v, PATH_WR, i}, z->p->rf[i] == RF_OPEN);
    }
    for (uint32_t j = g->inst_first[v]; !by_read && j < g->inst_first[v + 1]; j++) {
        bool counts = letter == LETTER_KEY ? g->inst_key[j] == g->ob_key[ob] : g->inst_op[j] < end;
        for (uint32_t i = counts ? lazy_version_before(z, j) : NONE; i != NONE;
             i = lazy_version_before(z, i)) {
            node_id u = g->inst_node[i];
            if (z->pos[u] < b->s->lo) break;
            if (go_back(b, slot, (hop){u, v, PATH_WW, j}, !lazy_ruled_out(z, u, v))) break;
        }
    }
}

/* The ends of walks that have such a last step. */
static void end_by_last(back *b, uint32_t ob, uint8_t accepted)
{
    word_sweep *s = b->s;
    const path_automaton *a = s->a;
    for (uint32_t k = 0; k < a->slots; k++) {
        if (!(LETTERS_LAST >> a->slot[k].letter & 1) || !(a->accept[a->slot[k].to] & accepted))
            continue;
        found end = {s->z->pos[s->z->g->ob_node[ob]], a->slot[k].to, NONE, {NO_ID, NO_ID, 0, NONE}};
        b->index = (uint32_t)s->way.n;
        vec_push(s->z->m, &s->way, end);
        back_by_last(b, &a->slot[k], ob);
    }
}

/* The walk of a broken suspect, from the reader back, certain steps first.  Where all steps go
   forward in the order every step back is on the way, so the first one is taken; else by a search,
   with as few uncertain steps as can be. */
static void keep_walk(word_sweep *s, uint32_t lane)
{
    lazy *z = s->z;
    paths *x = z->paths;
    const doubt *d = &s->doubts.at[s->first + lane];
    back b = {.s = s, .lane = lane};
    bool greedy = !s->turns;
    finding f = {d->ob, x->hops.n, 0};
    uint8_t class = accepted_class(z, d->ob, class_of(z, z->g->ob_node[d->ob]));
    s->way.n = 0;
    s->visit++;
    for (uint32_t q = 1; q < s->a->states; q++) {
        if (!(s->a->accept[q] & class) || !has_lane(seen_row(s, d->hi, q), lane)) continue;
        found end = {d->hi, q, NONE, {NO_ID, NO_ID, 0, NONE}};
        uint32_t at = (uint32_t)s->way.n;
        vec_push(z->m, &s->way, end);
        vec_push(z->m, &b.near, at);
    }
    end_by_last(&b, d->ob, class);
    uint32_t start = NONE;
    while (start == NONE) {
        if (b.head == b.near.n) {
            b.head = b.near.n = 0;
            for (size_t i = 0; i < b.far.n; i++) vec_push(z->m, &b.near, b.far.at[i]);
            b.far.n = 0;
        }
        assert(b.head < b.near.n && "a bit that arrived has a walk");
        uint32_t index = b.near.at[b.head++];
        const found *here = &s->way.at[index];
        uint32_t *was = &s->visited[(size_t)(here->place - s->lo) * s->a->states + here->state];
        if (*was == s->visit) continue;
        *was = s->visit;
        if (!here->state) {
            start = index;
        } else {
            if (greedy) b.head = b.near.n = b.far.n = 0;
            back_from(&b, index);
        }
    }
    assert(s->way.at[start].state == 0 && s->way.at[start].from != NONE);
    for (uint32_t i = start; s->way.at[i].from != NONE; i = s->way.at[i].from, f.n++)
        vec_push(z->m, &x->hops, s->way.at[i].by);
    vec_push(z->m, &x->findings, f);
    vec_free(z->m, &b.near);
    vec_free(z->m, &b.far);
}

/* --- blocks ----------------------------------------------------------------------------------- */

static uint32_t first_later(const lazy *z, uint32_t ob)
{
    uint32_t w = paths_stands(z, ob);
    return w == FROM_INIT ? z->g->kw_first[z->g->ob_key[ob]] : z->where[w] + 1;
}

/* The next later version of a suspect, from *i on in the list of its key; NO_ID: none is left. */
static node_id next_later(const lazy *z, uint32_t ob, uint32_t *i)
{
    const asg *g = z->g;
    node_id v = g->ob_node[ob];
    for (uint32_t end = g->kw_first[g->ob_key[ob] + 1]; *i < end;) {
        node_id u = g->inst_node[z->list[(*i)++]];
        if (z->pos[u] >= z->pos[v]) break;
        if (z->present[u] && u != v) return u;
    }
    return NO_ID;
}

static void collect_doubts(word_sweep *s)
{
    lazy *z = s->z;
    const paths *x = z->paths;
    VEC(doubt) all = {0};
    VEC(uint64_t) keys = {0};
    s->doubts.n = 0;
    for (size_t k = 0; k < x->parked.n; k++) {
        uint32_t ob = x->parked.at[k];
        node_id v = z->g->ob_node[ob];
        if (!z->present[v] || paths_stands(z, ob) == NONE) continue;
        uint32_t i = first_later(z, ob);
        node_id u = next_later(z, ob, &i);
        if (u == NO_ID) continue;
        doubt d = {ob, z->pos[u], z->pos[v], 0};
        /* Long parts apart from short ones, so that no block is long for the sake of one. */
        uint64_t size = 63u - (uint64_t)__builtin_clzll((uint64_t)(d.hi - d.lo) | 1);
        vec_push(z->m, &all, d);
        vec_push(z->m, &keys, size / 2 << 32 | d.lo);
    }
    uint32_t *by = sort_by_key(z->m, keys.at, (uint32_t)all.n);
    for (size_t i = 0; i < all.n; i++) vec_push(z->m, &s->doubts, all.at[by[i]]);
    mem_put(z->m, by);
    vec_free(z->m, &all);
    vec_free(z->m, &keys);
}

static void make_rows(word_sweep *s)
{
    mem *m = s->z->m;
    size_t n = (size_t)(s->hi - s->lo) + 1;
    if (n > s->rows) {
        mem_put(m, s->seen), mem_put(m, s->out), mem_put(m, s->begins), mem_put(m, s->ends);
        mem_put(m, s->visited), mem_put(m, s->before);
        s->rows = n;
        s->seen = mem_array(m, lanes, mem_bytes(m, n, s->a->states));
        s->out = mem_array(m, lanes, mem_bytes(m, n, s->a->groups + 1));
        s->before = s->sessions ? mem_array(m, lanes, mem_bytes(m, n, s->a->groups + 1)) : NULL;
        s->begins = mem_array(m, uint32_t, n);
        s->ends = mem_array(m, uint32_t, n);
        s->visited = mem_array0(m, uint32_t, mem_bytes(m, n, s->a->states));
        s->visit = 0;
    }
    memset(s->seen, 0, n * s->a->states * sizeof *s->seen);
    memset(s->out, 0, n * s->a->groups * sizeof *s->out);
    memset(s->begins, 0, n * sizeof *s->begins);
    memset(s->ends, 0, n * sizeof *s->ends);
}

static void load_block(word_sweep *s)
{
    lazy *z = s->z;
    s->lo = s->turns ? 0 : UINT32_MAX;
    s->hi = s->turns ? z->p->events - 1 : 0;
    for (uint32_t k = 0; k < s->n; k++) {
        const doubt *d = &s->doubts.at[s->first + k];
        if (d->lo < s->lo) s->lo = d->lo;
        if (d->hi > s->hi) s->hi = d->hi;
    }
    assert(s->n && s->n <= BLOCK && s->lo <= s->hi && s->hi < z->p->events);
    make_rows(s);
    s->starting.n = 0;
    s->broken.n = 0;
    for (uint32_t k = 0; k < s->n; k++) {
        doubt *d = &s->doubts.at[s->first + k];
        uint32_t i = first_later(z, d->ob);
        for (node_id u; (u = next_later(z, d->ob, &i)) != NO_ID;) {
            uint32_t *head = &s->begins[z->pos[u] - s->lo];
            starting x = {k, *head};
            vec_push(z->m, &s->starting, x);
            *head = (uint32_t)s->starting.n;
            guard_tick(z->m->guard);
        }
        assert(d->lo < d->hi);
        d->next = s->ends[d->hi - s->lo];
        s->ends[d->hi - s->lo] = k + 1;
        vec_push(z->m, &s->broken, 0);
    }
}

/* --- the sweep -------------------------------------------------------------------------------- */

static void add_settled(word_sweep *s, enum path_letter letter)
{
    mem *m = s->z->m;
    settled_rows x = {.letter = letter};
    settled_steps_make(&x.steps, s->z, s->a->settled[letter - LETTER_SETTLED]);
    x.rows = mem_array(m, lanes, mem_bytes(m, x.steps.member.n + 1, s->a->groups + 1));
    x.done = mem_array(m, uint32_t, x.steps.run_first.n + 1);
    vec_push(m, &s->settled, x);
}

static word_sweep *word_sweep_of(lazy *z)
{
    mem *m = z->m;
    size_t keys = history_keys(z->g->h) + 1;
    if (z->paths->words) return z->paths->words;
    word_sweep *s = z->paths->words = mem_array0(m, word_sweep, 1);
    s->z = z;
    s->a = z->p->rule->automaton;
    assert(s->a && z->p->rule->path & PATH_WORDS && !z->p->si);
    size_t groups = s->a->groups + 1;
    s->at = mem_array(m, uint32_t, (size_t)z->p->events + 1);
    s->is_touched = mem_array0(m, uint8_t, keys);
    s->any = mem_array0(m, lanes, groups);
    s->sessions = z->p->so && uses(s, LETTER_SO);
    s->turns = s->a->letters & LETTERS_RW;
    if (s->a->letters & (1u << LETTER_WW | 1u << LETTER_WW_BEFORE | 1u << LETTER_WW_UPTO))
        s->key = mem_array0(m, lanes, mem_bytes(m, keys, groups));
    if (s->a->letters & LETTERS_LAST) {
        s->before_op = mem_array0(m, lanes, s->a->slots + 1);
        s->upto_op = mem_array0(m, lanes, s->a->slots + 1);
        s->lane_of = mem_array0(m, uint32_t, z->g->obs + 1);
    }
    if (uses(s, LETTER_RT) && z->paths->ended.n)
        s->past = mem_array0(m, lanes, mem_bytes(m, z->paths->ended.n, groups));
    for (uint32_t i = LETTER_SETTLED; i < LETTERS; i++)
        if (uses(s, (enum path_letter)i)) add_settled(s, (enum path_letter)i);
    if (!s->turns) return s;
    s->over[0] = (struct overwriting){.letter = LETTER_RW};
    s->over[1] = (struct overwriting){.letter = LETTER_RW_ITEM, .without = OB_PRED};
    s->over[2] = (struct overwriting){.letter = LETTER_RW_PRED, .flags = OB_PRED};
    for (int i = 0; i < 3; i++)
        if (uses(s, s->over[i].letter))
            s->over[i].rows = mem_array0(m, lanes, mem_bytes(m, keys, groups));
    s->waiting_head = mem_array0(m, uint32_t, keys);
    s->waiting_next = mem_array0(m, uint32_t, z->g->obs + 1);
    return s;
}

/* Reads by the version that they see as things stand; those of the initial state by their key. */
static void index_readers(word_sweep *s)
{
    lazy *z = s->z;
    const asg *g = z->g;
    size_t lists = g->insts + history_keys(g->h);
    mem_put(z->m, s->readers_first);
    mem_put(z->m, s->readers);
    s->readers_first = mem_array0(z->m, uint32_t, lists + 3);
    s->readers = mem_array(z->m, uint32_t, g->obs + 1);
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t ob = 0; ob < g->obs; ob++) {
            uint32_t w = paths_stands(z, ob);
            assert(w >= FROM_INIT || w < g->insts);
            if (w == NONE || !z->present[g->ob_node[ob]]) continue;
            size_t list = w == FROM_INIT ? g->insts + g->ob_key[ob] : w;
            if (fill)
                s->readers[s->readers_first[list + 1]++] = ob;
            else
                s->readers_first[list + 2]++;
        }
        for (size_t i = 0; !fill && i < lists + 1; i++)
            s->readers_first[i + 2] += s->readers_first[i + 1];
    }
}

void sweep_words(lazy *z)
{
    word_sweep *s = word_sweep_of(z);
    if (!s->a->groups) return;
    collect_doubts(s);
    if (!s->doubts.n) return;
    memset(s->at, 0xff, ((size_t)z->p->events + 1) * sizeof *s->at);
    for (node_id v = 0; v < z->p->txns; v++) s->at[z->pos[v]] = v;
    if (s->turns) index_readers(s);
    for (s->first = 0; s->first < s->doubts.n; s->first += s->n) {
        size_t left = s->doubts.n - s->first;
        s->n = left < BLOCK ? (uint32_t)left : BLOCK;
        load_block(s);
        walk_block(s);
        for (uint32_t lane = 0; lane < s->n; lane++)
            if (s->broken.at[lane]) keep_walk(s, lane);
    }
}
