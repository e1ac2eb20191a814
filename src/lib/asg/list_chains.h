/*
 * list_chains.h - lists that are also written or deleted, or that are read by transactions of
 * unknown outcome: which contents such a key can have had (doc/algorithms/lists.md).
 *
 * A *content* is a list that somebody read, a beginning of such a list, or a scalar.  A transaction
 * that only appends to the key *stands* on a content if the version before its own has that
 * content; it then leaves the content that is longer by its appends.  A transaction that writes or
 * deletes the key leaves the same content wherever it stands.  So the content of a version follows
 * from a chain of versions, each of which stands right after the one before it, and a read was from
 * some version that left what it saw.
 *
 * Nothing is chosen here: this lists the stands that are possible, and for each content who can
 * have left it.
 */
#ifndef RATEL_ASG_LIST_CHAINS_H
#define RATEL_ASG_LIST_CHAINS_H

#include "asg/list_writes.h"

#define LEFT_SURELY 0xffffffffu   /* as a stand: it leaves that content wherever it stands */
#define LEFT_AT_FIRST 0xfffffffeu /* ... the initial state, if that is what it was */

typedef struct list_content {
    key_id key;
    uint32_t before;  /* the list without its last element; NO_ID: empty, or a scalar */
    value_id element; /* the last one, or the scalar */
    uint32_t n;       /* elements */
    bool scalar;
    uint32_t twin;         /* the scalar that looks the same as this list of one to those who append
                              to it, or the list that looks like this scalar; NO_ID: none */
    op_id shown;           /* a read whose list begins with it, or with its only element */
    uint32_t leavers, end; /* [leavers, end) of list_chains.leaver */
} list_content;

typedef struct list_stand {
    node_id node;
    uint32_t before; /* the content of the version before it, as a list: a scalar counts as one */
    uint32_t after;  /* the content that it leaves; NO_ID: nobody read that */
    uint32_t next;   /* another stand of the same transaction, or NO_ID */
    bool pinned;     /* it saw its own appends: if it took part, it stood here ... */
    op_id pinned_by; /* ... by this read */
} list_stand;

typedef struct list_leaver {
    node_id node;   /* or RF_INIT */
    uint32_t stand; /* it left the content if it stood there; or LEFT_* */
} list_leaver;

typedef struct chain_writer {
    node_id node;
    uint32_t first; /* its first stand; NO_ID: nothing is asked of its place */
    bool sets;      /* it writes or deletes the key: what it leaves does not rest on its place */
} chain_writer;

typedef struct chain_key {
    key_id key;
    bool open;                      /* the initial content is unknown */
    uint32_t contents, content_end; /* ranges of the arrays of list_chains */
    uint32_t writers, writer_end;
} chain_key;

typedef struct list_chains {
    VEC(chain_key) keys;
    VEC(list_content) content;
    VEC(list_stand) stand;
    VEC(chain_writer) writer;
    VEC(list_leaver) leaver;
    uint32_t first_open;       /* of g->open: from there on reads of these keys */
    uint32_t first_cand;       /* of the numbers of candidates: the same */
    VEC(uint32_t) cand_leaver; /* per candidate from there on: of `leaver` */
    VEC(uint32_t)
    read_stand;                 /* per open read from there on: the reader's own stand if it saw its
                                  own appends, so that it saw the very version before them; NO_ID */
    VEC(uint32_t) read_content; /* ... and what it saw of others */
    VEC(node_id) barred;        /* of unknown outcome, and their reads show that they aborted */
    size_t wanted;              /* literals that a search of the stands would need */
    bool impossible;            /* a transaction that took part read what nobody can have left */
    node_id blame;              /* ... this one */
} list_chains;

/* The content on which one that appends then stands: a scalar counts as the list of it. */
static inline uint32_t content_as_list(const list_chains *x, uint32_t content)
{
    const list_content *c = &x->content.at[content];
    return c->scalar ? c->twin : content;
}

/* The chains of the keys with chosen[k]; adds their reads to g->open.  False: there are too many;
   then nothing is changed but the open reads of g, from first_open and first_cand on. */
bool asg_chains(asg *g, const uint8_t *chosen, const list_writes *writes, list_chains *x);

#endif
