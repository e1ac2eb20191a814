/*
 * missed_reads.c - for recheck_words.c: do the walks that a definition forbids lead from a version
 * that a read misses to its reader?
 *
 * Readers that have missed a version are looked at together, MANY at a time, one bit for each.  The
 * order is walked backwards from the last of them: whatever a node has is handed on to those that
 * lead to it, all of which stand before it, so each place is done once and then forgotten.  Nodes
 * are a place and a stop (word_stops.c), and the links of chains.
 */
#include <assert.h>

#include "base/sort.h"
#include "verify/words_state.h"

#define ROW_WORDS 4u
#define MANY (64u * ROW_WORDS)

typedef struct bit_row {
    uint64_t word[ROW_WORDS];
} bit_row;

typedef struct missing_reader {
    uint32_t place, lowest; /* all that it misses stands after the latter */
    uint32_t read;          /* the one that is asked about; NO_ID: all of them */
} missing_reader;

typedef struct chain_sum {
    size_t links;      /* where the rows of the chain's links begin */
    uint32_t low, top; /* links below top may have bits; from low on they are summed up */
    uint32_t bottom;   /* no link below it has any */
} chain_sum;

typedef struct back_walk {
    words *w;
    word_stops machine;
    uint32_t lo, hi;                 /* the places that are walked */
    bit_row *at;                     /* per place and stop */
    bit_row *missed;                 /* per place: the readers that miss a version of it */
    bit_row *links;                  /* per link of each track */
    size_t *links_first;             /* per track: where its links begin there */
    chain_sum *sums;                 /* see hand_to_chain */
    size_t *sums_first;              /* per track: where its sums begin, one for each chain */
    VEC(uint32_t) used;              /* of these, the ones that have bits */
    VEC(uint32_t) by_letter[W_TEST]; /* tracks */
    const missing_reader *readers;   /* whose bits these are */
    uint32_t n;
    enum read_class of;
} back_walk;

static bool any_bit(const bit_row *a)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < ROW_WORDS; i++) all |= a->word[i];
    return all != 0;
}

static void add_bits(bit_row *to, const bit_row *row)
{
    for (uint32_t i = 0; i < ROW_WORDS; i++) to->word[i] |= row->word[i];
}

/* To the stop of a track, at place p. */
static void hand_to_place(back_walk *b, uint32_t p, uint32_t track, const bit_row *row)
{
    size_t stops = b->machine.stops.n;
    add_bits(&b->at[p * stops + b->machine.tracks.at[track].stop], row);
}

static bit_row *link_row(back_walk *b, uint32_t track, size_t link)
{
    return &b->links[b->links_first[track] + link];
}

/* Chains whose members are visited in another order than they stand in: those that ended, and
   settled steps.  The bits of a link are for all members up to it.  Whoever hands them over stands
   after those members in the order, so when one of them is visited the links from it on get no
   more: each link then takes what the one after it has, from `low` on. */
static void hand_to_chain(back_walk *b, size_t sum, size_t links, uint32_t link, const bit_row *row)
{
    chain_sum *s = &b->sums[sum];
    if (!s->top) {
        s->links = links;
        s->bottom = link;
        vec_push(b->w->c->m, &b->used, (uint32_t)sum);
    }
    assert(link < s->low || s->low == s->top);
    if (link >= s->top) s->low = s->top = link + 1;
    if (link < s->bottom) s->bottom = link;
    add_bits(&b->links[links + link], row);
}

static void take_chain(back_walk *b, uint32_t track, size_t sum, uint32_t link, uint32_t p)
{
    chain_sum *s = &b->sums[sum];
    if (link >= s->top) return;
    bit_row *links = &b->links[s->links];
    for (; s->low > link; s->low--)
        if (s->low < s->top) add_bits(&links[s->low - 1], &links[s->low]);
    hand_to_place(b, p, track, &links[link]);
}

static void forget_chains(back_walk *b)
{
    for (size_t i = 0; i < b->used.n; i++) {
        chain_sum *s = &b->sums[b->used.at[i]];
        uint32_t first = s->bottom < s->low ? s->bottom : s->low;
        memset(&b->links[s->links + first], 0, (s->top - first) * sizeof *b->links);
        memset(s, 0, sizeof *s);
    }
    b->used.n = 0;
}

static void hand_to_settled(back_walk *b, uint32_t track, uint32_t p, const bit_row *row)
{
    const settled_chains *x = b->w->chains[b->machine.tracks.at[track].classes];
    for (uint32_t i = x->upto_first[p]; i < x->upto_first[p + 1]; i++) {
        uint32_t chain = x->chain.at[x->upto.at[i]], first = x->first.at[chain];
        hand_to_chain(b, b->sums_first[track] + chain, b->links_first[track] + first,
                      x->upto.at[i] - first, row);
    }
    for (uint32_t i = x->single_first[p]; i < x->single_first[p + 1]; i++)
        if (x->single.at[i] >= b->lo) hand_to_place(b, x->single.at[i], track, row);
}

static void take_chains(back_walk *b, uint32_t p)
{
    const words *w = b->w;
    for (size_t i = 0; i < b->by_letter[W_RT].n && w->ended_rank[p]; i++) {
        uint32_t track = b->by_letter[W_RT].at[i];
        take_chain(b, track, b->sums_first[track], w->ended_rank[p] - 1, p);
    }
    for (size_t i = 0; i < b->by_letter[W_SETTLED].n; i++) {
        uint32_t track = b->by_letter[W_SETTLED].at[i];
        const settled_chains *x = w->chains[b->machine.tracks.at[track].classes];
        for (uint32_t j = x->member_first[p]; j < x->member_first[p + 1]; j++) {
            uint32_t chain = x->chain.at[x->member[j]];
            take_chain(b, track, b->sums_first[track] + chain, x->member[j] - x->first.at[chain],
                       p);
        }
    }
}

/* The last step to readers at p: what leads there must arrive early enough. */
static void hand_early(back_walk *b, uint32_t p, uint32_t track, const bit_row *row)
{
    const words *w = b->w;
    const checker *c = w->c;
    const word_track *e = &b->machine.tracks.at[track];
    txn_id t = c->v->order[p - 1];
    for (uint32_t i = 0; i < b->n; i++) {
        bit_row own = {{0}};
        if (b->readers[i].place != p || !(row->word[i / 64] >> (i % 64) & 1)) continue;
        own.word[i / 64] = (uint64_t)1 << (i % 64);
        op_id end = c->reads.at[b->readers[i].read].op + (e->classes ? 1 : 0);
        for (uint32_t k = c->r_first[p]; e->letter == W_WR_EARLY && k < c->r_first[p + 1]; k++)
            if (c->reads.at[k].op < end && c->reads.at[k].value >= b->lo)
                hand_to_place(b, c->reads.at[k].value, track, &own);
        for (uint32_t k = c->w_first[t]; e->letter == W_WW_EARLY && k < c->w_first[t + 1]; k++) {
            if (!installed(c, k) || c->w_op[k] >= end) continue;
            for (uint32_t at = words_version(c, c->w_key.at[k], p); !w->is_first[at]; at--) {
                if (c->by_key.place[at - 1] < b->lo) break;
                hand_to_place(b, c->by_key.place[at - 1], track, &own);
                b->w->c->steps++;
            }
        }
        b->w->c->steps += c->r_first[p + 1] - c->r_first[p];
        guard_tick(c->m->guard);
    }
}

/* From the transaction at p, after a step of the track, to whatever leads there by such a step. */
static void hand_over(back_walk *b, uint32_t p, uint32_t track, const bit_row *row)
{
    const words *w = b->w;
    const checker *c = w->c;
    txn_id t = c->v->order[p - 1];
    switch (b->machine.tracks.at[track].letter) {
    case W_SO:
        if (c->v->session_order && c->so_pred[p] >= b->lo)
            add_bits(link_row(b, track, c->so_pred[p]), row);
        return;
    case W_CO:
        if (p > b->lo) add_bits(link_row(b, track, p - 1), row);
        return;
    case W_WR:
        for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1]; i++)
            if (c->reads.at[i].value >= b->lo) hand_to_place(b, c->reads.at[i].value, track, row);
        return;
    case W_WW:
        for (uint32_t i = c->w_first[t]; i < c->w_first[t + 1]; i++) {
            if (!installed(c, i)) continue;
            uint32_t at = words_version(c, c->w_key.at[i], p);
            if (!w->is_first[at] && c->by_key.place[at - 1] >= b->lo)
                add_bits(link_row(b, track, at - 1), row);
        }
        return;
    case W_RT: {
        uint32_t n = w->ended_before[p];
        if (n) hand_to_chain(b, b->sums_first[track], b->links_first[track], n - 1, row);
        return;
    }
    case W_SETTLED: hand_to_settled(b, track, p, row); return;
    case W_WR_EARLY:
    case W_WW_EARLY: hand_early(b, p, track, row); return;
    default: return; /* rw: such networks do not come here */
    }
}

/* The links of chains at p: their bits arrive at p, and go on to the link before. */
static void take_links(back_walk *b, uint32_t p)
{
    const words *w = b->w;
    const checker *c = w->c;
    txn_id t = c->v->order[p - 1];
    static const enum word_letter along[] = {W_SO, W_CO};
    for (uint32_t k = 0; k < 2; k++)
        for (size_t i = 0; i < b->by_letter[along[k]].n; i++) {
            uint32_t track = b->by_letter[along[k]].at[i];
            bit_row *link = link_row(b, track, p);
            uint32_t before = along[k] == W_SO ? c->so_pred[p] : p - 1;
            if (!any_bit(link)) continue;
            hand_to_place(b, p, track, link);
            if (before >= b->lo) add_bits(link_row(b, track, before), link);
            memset(link, 0, sizeof *link);
        }
    for (uint32_t i = c->w_first[t]; b->by_letter[W_WW].n && i < c->w_first[t + 1]; i++) {
        if (!installed(c, i)) continue;
        uint32_t at = words_version(c, c->w_key.at[i], p);
        for (size_t k = 0; k < b->by_letter[W_WW].n; k++) {
            uint32_t track = b->by_letter[W_WW].at[k];
            bit_row *link = link_row(b, track, at);
            if (!any_bit(link)) continue;
            hand_to_place(b, p, track, link);
            if (!w->is_first[at] && c->by_key.place[at - 1] >= b->lo)
                add_bits(link_row(b, track, at - 1), link);
            memset(link, 0, sizeof *link);
        }
    }
}

/* True if the transaction at p is a version that a reader misses, and leads to that reader. */
static bool walk_back(back_walk *b, uint32_t p)
{
    words *w = b->w;
    size_t stops = b->machine.stops.n;
    bit_row *row = &b->at[p * stops];
    uint32_t class = w->class[p] - 1u;
    bool found = false;
    take_links(b, p);
    take_chains(b, p);
    for (size_t i = 0; i < stops; i++) {
        const word_stop *s = &b->machine.stops.at[i];
        if (!any_bit(&row[i])) continue;
        for (uint32_t k = 0; k < ROW_WORDS && s->begins[class]; k++)
            found = found || row[i].word[k] & b->missed[p].word[k];
        for (uint32_t k = s->first[class]; k < s->end[class]; k++)
            hand_over(b, p, b->machine.onward.at[k], &row[i]);
        memset(&row[i], 0, sizeof *row);
        w->c->steps++;
    }
    memset(&b->missed[p], 0, sizeof *b->missed);
    guard_tick(w->c->m->guard);
    return found;
}

/* Marks the versions that the reader misses; false: there are none. */
static bool find_missed(const checker *c, missing_reader *r, enum read_class of, uint32_t bit,
                        bit_row *missed)
{
    const installers *x = &c->by_key;
    r->lowest = UINT32_MAX;
    for (uint32_t i = c->r_first[r->place]; i < c->r_first[r->place + 1]; i++) {
        const seen *read = &c->reads.at[i];
        if (r->read != NO_ID && r->read != i) continue;
        if (of != ALL_READS &&
            recheck_predicate(c->h, read->op, read->key) != (of == PREDICATE_READS))
            continue;
        uint32_t at = words_version(c, read->key, read->value + 1);
        for (; at < x->first[read->key + 1] && x->place[at] < r->place; at++) {
            if (read->value < r->lowest) r->lowest = read->value;
            if (!missed) break;
            missed[x->place[at]].word[bit / 64] |= (uint64_t)1 << (bit % 64);
        }
    }
    return r->lowest != UINT32_MAX;
}

static bool check_some(back_walk *b, missing_reader *readers, uint32_t n, uint32_t *culprit)
{
    b->lo = UINT32_MAX;
    b->hi = 0;
    b->readers = readers;
    b->n = n;
    for (uint32_t i = 0; i < n; i++) {
        if (readers[i].lowest + 1 < b->lo) b->lo = readers[i].lowest + 1;
        if (readers[i].place > b->hi) b->hi = readers[i].place;
    }
    for (uint32_t i = 0; i < n; i++) {
        find_missed(b->w->c, &readers[i], b->of, i, b->missed);
        b->at[readers[i].place * b->machine.stops.n].word[i / 64] |= (uint64_t)1 << (i % 64);
    }
    bool ok = true;
    for (uint32_t p = b->hi; p >= b->lo; p--)
        if (walk_back(b, p) && ok) {
            ok = false;
            *culprit = p;
        }
    forget_chains(b);
    return ok;
}

/* Readers whose parts are of a like length together, so that none is long for the sake of one. */
static uint32_t *sort_readers(checker *c, const missing_reader *r, uint32_t n)
{
    uint64_t *key = mem_array(c->m, uint64_t, (size_t)n + 1);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t size = 63u - (uint64_t)__builtin_clzll((uint64_t)(r[i].place - r[i].lowest) | 1);
        key[i] = size / 2 << 32 | r[i].lowest;
    }
    uint32_t *by = sort_by_key(c->m, key, n);
    mem_put(c->m, key);
    return by;
}

/* The machine of x, and room for its bits. */
static void load_walk(back_walk *b, net x)
{
    const words *w = b->w;
    const checker *c = w->c;
    size_t links = 0, sums = 0;
    word_stops_make(&b->machine, w, x);
    size_t tracks = b->machine.tracks.n;
    b->links_first = mem_array(c->m, size_t, tracks + 1);
    b->sums_first = mem_array(c->m, size_t, tracks + 1);
    for (uint32_t i = 0; i < tracks; i++) {
        const word_track *e = &b->machine.tracks.at[i];
        const settled_chains *chains = e->letter == W_SETTLED ? w->chains[e->classes] : NULL;
        vec_push(c->m, &b->by_letter[e->letter], i);
        b->links_first[i] = links;
        b->sums_first[i] = sums;
        switch (e->letter) {
        case W_SO:
        case W_CO: links += (size_t)c->n + 1; break;
        case W_WW: links += c->by_key.first[history_keys(c->h)]; break;
        case W_RT: links += w->n_ended, sums++; break;
        case W_SETTLED: links += chains->place.n, sums += chains->first.n; break;
        default: break; /* these have no chains */
        }
    }
    b->at = mem_array0(c->m, bit_row, ((size_t)c->n + 1) * b->machine.stops.n);
    b->missed = mem_array0(c->m, bit_row, (size_t)c->n + 1);
    b->links = mem_array0(c->m, bit_row, links + 1);
    b->sums = mem_array0(c->m, chain_sum, sums + 1);
}

static void drop_walk(back_walk *b)
{
    mem *m = b->w->c->m;
    void *all[] = {b->at, b->missed, b->links, b->sums, b->links_first, b->sums_first};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) mem_put(m, all[i]);
    for (int i = 0; i < W_TEST; i++) vec_free(m, &b->by_letter[i]);
    vec_free(m, &b->used);
    vec_free(m, &b->machine.tracks);
    vec_free(m, &b->machine.stops);
    vec_free(m, &b->machine.onward);
}

/* `each`: every read has a bit of its own, since walks must arrive before it. */
bool words_reads_kept(words *w, net x, enum read_class of, bool each)
{
    checker *c = w->c;
    back_walk b = {.w = w, .of = of};
    VEC(missing_reader) all = {0};
    missing_reader some[MANY];
    uint32_t culprit = 0;
    for (uint32_t p = 1; p <= c->n; p++) {
        uint32_t first = each ? c->r_first[p] : 0, end = each ? c->r_first[p + 1] : 1;
        for (uint32_t i = first; i < end; i++) {
            missing_reader r = {p, 0, each ? i : NO_ID};
            if (find_missed(c, &r, of, 0, NULL)) vec_push(c->m, &all, r);
        }
    }
    if (!all.n) return true;
    load_walk(&b, x);
    uint32_t *by = sort_readers(c, all.at, (uint32_t)all.n);
    bool ok = true;
    for (size_t i = 0; ok && i < all.n; i += MANY) {
        uint32_t n = all.n - i < MANY ? (uint32_t)(all.n - i) : MANY;
        for (uint32_t k = 0; k < n; k++) some[k] = all.at[by[i + k]];
        ok = check_some(&b, some, n, &culprit);
        if (recheck_too_large(c, 0)) return false;
    }
    drop_walk(&b);
    mem_put(c->m, by);
    vec_free(c->m, &all);
    if (ok) return true;
    return recheck_no(c, c->v->order[culprit - 1],
                      "is missed by a reader that the definition wants to see it");
}
