/*
 * settled_words.h - for recheck_words.c: relations that the history alone settles.
 *
 * Such a relation is made of session order, real time, the identity and products of sets by |, &,
 * \, ^-1 and ?.  Whether it relates two transactions is evaluated for every way in which two can
 * stand to each other; what is understood are relations that only lead forward in an order that
 * keeps session order and real time.
 */
#ifndef RATEL_VERIFY_SETTLED_WORDS_H
#define RATEL_VERIFY_SETTLED_WORDS_H

#include "iso/iso.h"
#include "verify/recheck.h"

/* Ways to stand: a bit for being before in the session and before in time, ... */
enum settled_way {
    WAY_SESSION_AND_TIME = 1,
    WAY_SESSION = 2, /* and neither ended before the other began */
    WAY_TIME = 4,    /* and neither is before the other in a session */
    WAY_SESSION_LATE = 8,
    WAY_TIME_LATE = 16 /* the clocks contradict the session; no order keeps both */
};

typedef struct settled_meaning {
    uint8_t ways[2][2]; /* by the class of either: 0 writes, 1 only reads */
} settled_meaning;

/* Is it a relation that can be understood in this way alone? */
bool settled_operator(const iso_node *x);
/* False if it is not settled, may lead back, or relates transactions to themselves. */
bool settled_meaning_of(settled_meaning *out, const iso_node *x);

/* Who leads to a place: the beginnings of chains of places, and single places. */
typedef struct settled_chains {
    VEC(uint32_t) place;                 /* the chains, one after another */
    VEC(uint32_t) chain;                 /* per member: its chain */
    VEC(uint32_t) first;                 /* per chain: its first member */
    VEC(uint32_t) upto, single;          /* members (and all before them in the chain); places */
    uint32_t *upto_first, *single_first; /* per place, and one more */
    uint32_t *member_first, *member;     /* per place: where it stands in chains */
} settled_chains;

/* `by_end`: the places by their ends, n of them; rank: per place its index there, plus one. */
void settled_chains_make(settled_chains *out, checker *c, unsigned ways, const uint32_t *by_end,
                         uint32_t n, const uint32_t *rank, const uint32_t *ended_before);

#endif
