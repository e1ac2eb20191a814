/*
 * words_state.h - private to recheck_words.c, missed_reads.c and word_stops.c: a definition as
 * networks of steps, and the places of an order that they are walked in.
 */
#ifndef RATEL_VERIFY_WORDS_STATE_H
#define RATEL_VERIFY_WORDS_STATE_H

#include "base/search.h"
#include "verify/recheck.h"
#include "verify/settled_words.h"

/* Early: the last step to a reader, at an operation before the read (or, `upto`, at that one). */
enum word_letter {
    W_SO,
    W_WR,
    W_WW,
    W_RW,
    W_CO,
    W_RT,
    W_RW_ITEM,
    W_RW_PRED,
    W_WR_EARLY,
    W_WW_EARLY,
    W_SETTLED, /* see settled_words.h */
    W_TEST
};

typedef struct wire { /* of the network */
    uint32_t from, to;
    enum word_letter letter;
    uint8_t classes;  /* W_TEST; of an early letter: upto; W_SETTLED: the ways to stand */
    uint32_t ordinal; /* among the wires of its letter */
} wire;

typedef struct net {
    uint32_t in, out;
    bool bad;      /* no network: the definition says something else */
    bool turns;    /* has rw */
    uint8_t empty; /* classes at which it may be no step at all */
} net;

typedef struct words {
    checker *c;
    uint32_t states;
    VEC(wire) wires;
    VEC(uint32_t) of_letter[W_TEST + 1];
    uint32_t *into_first, *into; /* wires by where they lead */
    uint8_t *class;              /* per place */
    uint32_t *ended, n_ended;    /* places by their ends, if real time is spoken of */
    uint32_t *ended_rank;        /* per place: its index there, plus one; 0: it has no end */
    uint32_t *ended_before;      /* per place: how many of them ended before it began */
    bool timed;
    settled_chains *chains[32];        /* by the ways to stand; NULL: not used */
    size_t chain_links[33];            /* where the links of each begin, among those of W_SETTLED */
    uint8_t *is_first;                 /* per version: the first of its key */
    uint32_t *readers_first, *readers; /* places by the version they read (place in by_key), twice,
                                          plus one if by a predicate */
    uint32_t *begin_readers_first, *begin_readers; /* by key: readers of the initial state */
    key_id *link_key;                              /* per link of rw: see readers_link */
    /* the search */
    VEC(uint64_t) todo;
    uint32_t *mark, epoch; /* per node */
    uint32_t lo, hi;       /* the places that are walked; the links of others are not reached */
    size_t nodes;
    size_t links_from[W_TEST + 1]; /* where the links of each letter's chains begin; then the end */
} words;

#define ALL_CLASSES 3u
#define CLASS_COUNT 2u

/* The index in by_key of the version of key k that place p installed. */
static inline uint32_t words_version(const checker *c, key_id k, uint32_t p)
{
    const installers *x = &c->by_key;
    SEARCH_FIRST(uint32_t, at, x->first[k], x->first[k + 1], x->place[at] >= p);
    return at;
}

/* word_stops.c: a network without its tests, as a walk backwards needs it.  What arrives at a place
   by one step goes on by the steps that follow there after all tests were taken; states from which
   the same steps go on are one stop. */
typedef struct word_track { /* the steps of a letter that come from one stop */
    enum word_letter letter;
    uint8_t classes; /* as those of a wire */
    uint32_t stop;
} word_track;

typedef struct word_stop {
    uint64_t hash;
    uint32_t first[CLASS_COUNT], end[CLASS_COUNT]; /* by class: the tracks, a part of `onward` */
    bool begins[CLASS_COUNT];                      /* a walk of the network may begin here */
} word_stop;

typedef struct word_stops {
    VEC(word_track) tracks;
    VEC(word_stop) stops; /* the first one is where walks end */
    VEC(uint32_t) onward;
} word_stops;

void word_stops_make(word_stops *out, const words *w, net x);

enum read_class { ALL_READS, ITEM_READS, PREDICATE_READS };

/* missed_reads.c: does no walk of x lead from a version that a read misses to its reader?  `each`:
   walks must arrive before the very read. */
bool words_reads_kept(words *w, net x, enum read_class of, bool each);

#endif
