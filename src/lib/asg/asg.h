/*
 * asg.h - the semantic graph: what a history says, before any choice is made.
 *
 * Nodes are the transactions that take part (committed and unknown), numbered so that a session
 * is contiguous.  For each node: what it installs (the last write of each key, levels.md H-5) and
 * its obligations (external reads, scans expanded key by key).  For each obligation: the one
 * transaction it can have read from, or the list of candidates, or the fault that no execution
 * explains (levels.md 2).  Everything is flat arrays indexed by node, install and obligation.
 *
 * Edges are kept implicit where they are many: session order is so_pred, read-from is ob_rf.
 * Explicit edges (version orders that lists and hints show, and what a level derives) stand in
 * asg.extra, each with the reason that explanations quote.
 *
 * Nothing is chosen here: an obligation with several candidates stays so (ob_rf == RF_OPEN).
 */
#ifndef RATEL_ASG_ASG_H
#define RATEL_ASG_ASG_H

#include <assert.h>

#include "history/history.h"
#include "opt/mixed_row.h"

typedef uint32_t node_id;

/* Values of ob_rf that are no node. */
#define RF_INIT 0xfffffffeu /* the initial state */
#define RF_OPEN 0xfffffffdu /* several candidates: cand_* */
#define RF_NONE 0xfffffffcu /* no candidate: see faults */
#define RF_LAST 0xfffffff0u /* nodes are below this */

/* Classes of obligations. */
#define OB_PRED 1u /* a covered key that was not returned */
#define OB_LIST 2u /* of a list key */
#define OB_OWN 4u  /* split graphs: an own version of the key stands before the reader */

/* Why an edge exists; explanations and certificates read these. */
enum edge_kind {
    EDGE_SO,   /* session order */
    EDGE_WR,   /* read-from */
    EDGE_WW,   /* version order shown by lists or hints */
    EDGE_FORCE /* version order that the level forces: a reader saw `to`, and `from` was visible */
};

typedef struct edge {
    node_id from, to;
    uint32_t next; /* of the same target, or NO_ID */
    uint32_t kind; /* EDGE_WW or EDGE_FORCE */
    key_id key;
    uint32_t ob; /* the obligation that forces it or shows it (a list read), or NO_ID */
} edge;

/* Immediate violations, numbered as in opt/anomalies.def. */
typedef struct fault {
    uint32_t anomaly;
    node_id node;
    op_id op;
    key_id key;
    value_id value;
    txn_id other;     /* the aborted or intermediate writer, if one is to blame, or NO_ID */
    value_id element; /* ANOMALY_DUPLICATE_ELEMENTS: the one that is there too often */
} fault;

/* Candidates that several reads have in common: the writers of one value of one key, say. */
typedef struct cand_group {
    uint32_t first, n; /* of cand_pool */
} cand_group;

/* The candidates of one open obligation: those of a group, but for one, which is of the reader. */
typedef struct cand_ref {
    uint32_t group;
    uint32_t skip; /* the place in the group that is left out, or NO_ID */
} cand_ref;

typedef struct asg {
    const history *h;
    mem *m;
    enum ryow ryow;
    unsigned flags;

    uint32_t nodes;
    txn_id *node_txn;
    node_id *txn_node; /* NO_ID: takes no part */
    node_id *so_pred;  /* the committed transaction before it in its session, or NO_ID */
    uint8_t *maybe;    /* 1: outcome unknown */
    uint32_t unknown;  /* how many of them */

    /* installs of node v: [inst_first[v], inst_first[v+1]); sorted by key if more than 32 */
    uint32_t *inst_first;
    size_t insts;
    key_id *inst_key;
    value_id *inst_value;
    op_id *inst_op;
    node_id *inst_node;
    size_t inst_cap;
    /* installs by key: [kw_first[k], kw_first[k+1]) index installs, in node order; made by
       asg_by_key when somebody needs it */
    uint32_t *kw_first, *kw_inst;

    /* obligations of node v: [ob_first[v], ob_first[v+1]), in program order */
    uint32_t *ob_first;
    size_t obs;
    key_id *ob_key;
    value_id *ob_value;
    op_id *ob_op;
    node_id *ob_node;
    uint8_t *ob_flags;
    uint32_t *ob_rf;
    uint32_t *ob_inst; /* the install read from, where ob_rf is a node */
    size_t ob_cap;
    VEC(uint32_t) late; /* obligations that needed more than a table */
    /* candidates of open obligations, which stand in no particular order (see asg_open_of): each
       refers to a group, which it may share (asg_cand, asg_cands) */
    VEC(uint32_t) open;       /* obligations that are open */
    VEC(uint32_t) cand_first; /* open.n + 1 entries: the numbers of their candidates */
    VEC(cand_ref) cand_ref;   /* open.n entries */
    VEC(cand_group) cand_groups;
    VEC(node_id) cand_pool; /* what the groups hold: nodes, after RF_INIT if it is one */

    uint8_t *list_key;        /* per key: 1 a list, 2 a list whose order must be searched */
    uint32_t wild_lists;      /* keys of the second kind */
    bool chains_only;         /* asg_slots gives these keys chains, of which proofs can speak */
    struct list_slots *slots; /* list_slots.h: of all of them; NULL until asked for */

    VEC(fault) faults;
    bool garbage;       /* some fault is one that even read-uncommitted rejects */
    bool init_assumed;  /* see asg_build */
    uint8_t *init_open; /* per key: the initial value is a choice; NULL if for none */
    uint8_t *forced;    /* per node: committed, or needed by the reads of such */
    /* per forced node of unknown outcome: the read that shows that it committed, made by a node
       that is nearer to a committed one; else NO_ID.  NULL if every outcome is known. */
    uint32_t *forced_by;
    uint8_t *barred;   /* per node: its own reads show that it did not commit */
    size_t hint_extra; /* extra edges that come from hints */
    bool uses_hints;   /* candidates or version orders were narrowed by hints */

    VEC(edge) extra;
    uint32_t *extra_head; /* per node: index of its first incoming extra edge, or NO_ID */
    size_t base_extra;    /* extra edges that hold at every level; those after those are derived */

    /* innodb_parts.c: the graph that this one was cut from, and per node the node of that one; else
       NULL. The parts of a transaction follow each other by so_pred, and the first of them that of
       the transaction before it in the session, which counts for nothing by itself. */
    struct asg *unsplit;
    node_id *whole;
    op_id *part_op; /* per node: its first statement; NO_ID: the snapshot */

    /* asg_mixed_rows (mixed_rows.c), with ASG_MIXED or ASG_MIXED_PG; else NULL.  Reads of
       read-uncommitted transactions are no obligations there, unless nobody wrote the value. */
    uint8_t *row;      /* per node: enum mixed_row */
    uint8_t *serial;   /* per node, ASG_MIXED_PG: it is serializable; else NULL */
    bool unread;       /* some transaction is read-uncommitted: its reads were left out */
    bool rows_deleted; /* ASG_MIXED_PG: a transaction deletes a row physically, and then: */
    uint8_t *lax_key;  /* per key: one deletes it; two snapshots may both write it */

    bool duplicate_values;   /* two installs of one key with the same value */
    uint32_t unread_unknown; /* unknown transactions whose writes nobody can have read */
} asg;

/* Builds the graph.  Fails with GUARD_HISTORY on a hint that no execution can have.
   ASG_INIT_FREE matters for an unknown initial state only: without it, a key of which no
   unexplained value was read is assumed to have held, at first, a value that nobody wrote; with
   it, the initial state is a candidate of each of its reads (g->init_assumed says if the
   assumption was made). */
#define ASG_INIT_FREE 1u
#define ASG_NO_HINTS 2u /* as if the history gave no writers and version positions */
#define ASG_MIXED 4u    /* each transaction at its own level */
#define ASG_MIXED_PG 8u /* the same by the rows of PostgreSQL */
void asg_build(asg *g, const history *h, mem *m, enum ryow ryow, unsigned flags);
const char *asg_check(const asg *g); /* NULL or what is broken */
/* The flags that a level asks for. */
static inline unsigned asg_level_flags(enum level_id level)
{
    return level == LEVEL_MIXED ? ASG_MIXED : level == LEVEL_MIXED_PG ? ASG_MIXED_PG : 0;
}
/* mixed_rows.c: the rows of all nodes, which have been numbered.  Fails with GUARD_UNSUPPORTED if a
   transaction names a level that has no row. */
void asg_mixed_rows(asg *g);
/* Why a mixture cannot be decided: a text in m that names a transaction and its level; or NULL. */
const char *mixed_refusal(const history *h, bool postgres, mem *m);
/* A fresh array: per obligation its index in g->open, or NO_ID. */
uint32_t *asg_open_of(const asg *g);

/* How many candidates all open obligations have.  Their numbers run from cand_first of the one to
   that of the next, and other arrays may be parallel to them. */
static inline uint32_t asg_cands(const asg *g)
{
    assert(g->cand_first.n == g->open.n + 1);
    return g->cand_first.at[g->open.n];
}
/* Candidate number i, which is one of the open obligation with index `open`: a node or RF_INIT. */
static inline uint32_t asg_cand(const asg *g, size_t open, uint32_t i)
{
    assert(i >= g->cand_first.at[open] && i < g->cand_first.at[open + 1]);
    cand_ref r = g->cand_ref.at[open];
    i -= g->cand_first.at[open];
    i += i >= r.skip;
    assert(i < g->cand_groups.at[r.group].n);
    return g->cand_pool.at[g->cand_groups.at[r.group].first + i];
}
/* May it have seen the initial state?  That is always the first candidate. */
static inline bool asg_cand_init(const asg *g, size_t open)
{
    return g->cand_first.at[open] < g->cand_first.at[open + 1] &&
           asg_cand(g, open, g->cand_first.at[open]) == RF_INIT;
}
/* candidates.c: what cand_pool holds from `first` on becomes a group; its number. */
uint32_t asg_cand_group(asg *g, size_t first);
/* An obligation becomes open, with the candidates of the group. */
void asg_open(asg *g, uint32_t ob, uint32_t group, uint32_t skip);
/* Forgets open obligations and groups from these numbers on. */
void asg_unopen(asg *g, size_t open, size_t groups);

static inline size_t asg_obs(const asg *g)
{
    return g->obs;
}
/* The install of key k by node v, or NO_ID. */
uint32_t asg_install(const asg *g, node_id v, key_id k);

void asg_add_edge(asg *g, node_id from, node_id to, enum edge_kind kind, key_id key, uint32_t ob);
void asg_drop_edges(asg *g, size_t keep); /* forgets extra edges from index `keep` on */

void asg_by_key(asg *g);

/* subgraph.c: the graph of n nodes only, in rising order, all of which surely take part; `fresh`
   says for each node of g its number among them, or NO_ID.  Lives in g's region.  Not made:
   txn_node, and what only building or searching wild lists needs. */
void asg_part(asg *part, const asg *g, const node_id *nodes, uint32_t n, const node_id *fresh);

/* innodb_parts.c: every transaction cut into its snapshot (plain reads) and its current statements
   (reads that lock, writes): each a node of its own, or, if tight, all of them one (levels.md
   MDB-1). Lives in g's region, as long as g. */
void asg_split(asg *split, asg *g, bool tight);
/* Are a and b of one transaction? */
static inline bool asg_same(const asg *g, node_id a, node_id b)
{
    return a == b || (g->whole && g->whole[a] == g->whole[b]);
}

/* Does v take part in every choice?  (Committed, or forced: see asg.forced.) */
static inline bool asg_in(const asg *g, node_id v)
{
    return g->forced[v] != 0;
}

/* lists.c: version orders and read-from of list keys; also makes g->forced. */
void asg_lists(asg *g);
void asg_fault(asg *g, uint32_t anomaly, node_id v, op_id o, key_id k, value_id x, txn_id other);
uint32_t *asg_group(asg *g, const uint32_t *key, size_t n, size_t keys, uint32_t **first);
/* read-uncommitted's view of lists: every committed list read orders its writers.  False and the
   fault it added if one shows an initial element after a written one. */
bool asg_list_orders(asg *g, size_t *fault);
/* The writer that the history names for an obligation. */
label asg_hint(const asg *g, uint32_t ob, bool *found, bool *init);

/* --- the graph --------------------------------------------------------------------------- */

typedef struct step {
    node_id from, to;
    uint32_t kind; /* enum edge_kind, or STEP_RW */
    key_id key;    /* NO_ID for session order */
    uint32_t ob;   /* of EDGE_WR and EDGE_FORCE */
} step;
#define STEP_RW 10u
#define STEP_RT 11u

typedef struct cycle {
    VEC(step) steps;
} cycle;

/* What part of the graph a walk sees. */
typedef struct view {
    bool so;            /* session order counts */
    bool extra;         /* explicit edges count */
    const uint32_t *rf; /* read-from, g->ob_rf or a choice; entries from RF_LAST on are no edges;
                           NULL: reads do not count */
    const uint8_t *out; /* per node: 1 if it takes no part (an unknown one left out), or NULL */
} view;

/* Does each step start where the one before it ends, and the first where the last one ends? */
bool cycle_closed(const cycle *c);

/* A topological order of the nodes that take part (order[0..*n)), or false and a cycle. */
bool graph_order(asg *g, const view *w, node_id *order, uint32_t *n, cycle *c);
/* Tries to find a shorter cycle through the nodes of c. */
void graph_shorten(asg *g, const view *w, cycle *c);

/* derive.c: the version orders that a level forces, as EDGE_FORCE in g->extra.  `order` is a
   topological order of so and wr.  Returns false at the first contradiction that needs no
   cycle: an obligation of the initial state although a writer is visible (then *bad_ob and
   *bad_node say which). */
enum derive_level { DERIVE_MAV, DERIVE_RA, DERIVE_CC };
bool derive_edges(asg *g, const view *w, enum derive_level level, const node_id *order, uint32_t n,
                  uint32_t *bad_ob, node_id *bad_node);

#endif
