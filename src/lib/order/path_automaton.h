/*
 * path_automaton.h - which walks from a later version to a reader break the read.
 *
 * Some levels are told by words: v read x from w, u writes x and stands after w, and a walk leads
 * from u to v whose steps (session order, read-from, ...) spell a word of a regular language.
 * Then the read is broken.  Axioms about closed walks, irreflexive(R) for a regular R, are turned
 * into this form: every such walk has a step `rw` that goes back in the order, because all other
 * steps go forward, so the walk is looked at from that step on (automaton_add_closed).
 *
 * A transaction has a class, since definitions may speak of those that write and those that only
 * read.  State 0 is the start; no move leads to it.
 */
#ifndef RATEL_ORDER_PATH_AUTOMATON_H
#define RATEL_ORDER_PATH_AUTOMATON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

enum path_letter {
    LETTER_SO, /* session order */
    LETTER_WR, /* read-from */
    LETTER_WW, /* version order of a common key */
    LETTER_RW, /* from a reader to a later version of what it read */
    LETTER_CO, /* the order itself */
    LETTER_RT, /* real time: ended before the other began */
    LETTER_RW_ITEM,
    LETTER_RW_PRED, /* of item reads, of predicate reads alone */
    /* The last step to the reader, which must arrive at an operation before the read in question;
       UPTO: at that operation or before it.  Read-from arrives at the read, version order at the
       write. */
    LETTER_WR_BEFORE,
    LETTER_WR_UPTO,
    LETTER_WW_BEFORE,
    LETTER_WW_UPTO,
    LETTER_KEY,     /* version order of the very key that was read, to the reader, from the start */
    LETTER_SETTLED, /* and the seven after it: pairs that the history settles, see below */
    LETTER_SETTLED_LAST = LETTER_SETTLED + 7,
    LETTERS
};
#define LETTERS_SETTLED (0xffu << LETTER_SETTLED)
#define LETTERS_RW (1u << LETTER_RW | 1u << LETTER_RW_ITEM | 1u << LETTER_RW_PRED)
/* Those that only the reader of a suspect is asked for. */
#define LETTERS_LAST                                                                               \
    (1u << LETTER_WR_BEFORE | 1u << LETTER_WR_UPTO | 1u << LETTER_WW_BEFORE |                      \
     1u << LETTER_WW_UPTO | 1u << LETTER_KEY)

/* A settled letter is a set of kinds of pairs (u, v) of two transactions: how u stands to v in the
   session, and how in real time.  What kind a pair is of does not depend on any other transaction,
   so a part of a history has the pairs of the whole. */
enum settled_side { SIDE_BEFORE, SIDE_AFTER, SIDE_NEITHER };
#define SETTLED_CELL(session, time) (1u << (3 * (session) + (time)))
#define SETTLED_ROW(session) (7u << (3 * (session)))
#define SETTLED_COLUMN(time) (0111u << (time))
/* Pairs that go forward in every order that keeps session order and real time. */
#define SETTLED_FORWARD (SETTLED_ROW(SIDE_BEFORE) | SETTLED_COLUMN(SIDE_BEFORE))

/* Classes of transactions, as a set. */
#define CLASS_UPDATES 1u
#define CLASS_READERS 2u
#define CLASS_ALL 3u
/* Classes of the reader where a state accepts: those of item reads, and of predicate reads. */
#define ACCEPT_ITEM(classes) (classes)
#define ACCEPT_PRED(classes) ((classes) << 2)

/* A regular expression over letters and tests.  A test stands between two steps, and its set of
   classes must have the transaction there. */
enum regex_op { REGEX_LETTER, REGEX_TEST, REGEX_SEQ, REGEX_OR, REGEX_PLUS };
typedef struct path_regex {
    enum regex_op op;
    uint8_t letter, classes;
    const struct path_regex *a, *b;
} path_regex;

typedef struct path_slot { /* where a step arrives: a letter, and the state after it */
    uint32_t letter, to, group;
} path_slot;

typedef struct path_move { /* a step that leaves `from`, at a transaction of these classes */
    uint32_t from, group;
    uint8_t classes;
} path_move;

typedef struct path_automaton {
    uint32_t states;
    uint32_t groups; /* slots that are reached by the same moves are one group */
    uint32_t slots, moves;
    path_slot *slot; /* by letter */
    path_move *move; /* by group */
    uint32_t slot_first[LETTERS + 1];
    uint32_t *move_first; /* per group, and one more */
    uint8_t *accept;      /* per state: classes of the reader, ACCEPT_ITEM and ACCEPT_PRED */
    unsigned letters;     /* a bit for each that occurs */
    uint16_t settled[LETTERS - LETTER_SETTLED]; /* kinds of pairs */
} path_automaton;

static inline bool automaton_uses(const path_automaton *a, enum path_letter l)
{
    return a->letters >> l & 1;
}

/* Builds an automaton from several axioms; all memory is the region's. */
typedef struct automaton_builder automaton_builder;
automaton_builder *automaton_begin(mem *m);
/* The letter of these kinds of pairs, which all go forward; LETTERS: there are too many letters. */
enum path_letter automaton_settled(automaton_builder *b, unsigned cells);
/* The axiom irreflexive(r).  `ordered`: every pair of r is also known to stand in the order (doc:
   see compile_iso.c), so a walk of r back to an earlier transaction is enough.  NULL, or why the
   automaton cannot have it: r relates a transaction to itself without a step, or is too long. */
const char *automaton_add_closed(automaton_builder *b, const path_regex *r, bool ordered);
/* Does the language of r have the word of this one letter, whatever the classes? */
bool regex_has_letter(mem *m, const path_regex *r, enum path_letter letter);
/* The classes of a transaction at which the expression may be no step at all. */
unsigned regex_empty_at(const path_regex *r);
/* The walks of r whose last step arrives before the read (or, if `upto`, at it). */
const path_regex *regex_arriving(mem *m, const path_regex *r, bool upto);
const path_automaton *automaton_end(automaton_builder *b);

#endif
