/* oracle.h - a brute-force judge of tiny histories, written straight from doc/levels.md.
 *
 * The oracle shares no code with the product. It reads a native history, tries every
 * outcome of the unknown transactions, every initial value where init is unknown, every version
 * order and every choice of writer, and asks the literal condition of the level. It is
 * exponential by design and meant for at most about 6 transactions (hard cap ORACLE_MAX_TXNS
 * taking part).
 *
 * An oracle is read-only after oracle_parse; oracle_check may be called any number of times on
 * it.
 */
#ifndef RATEL_TEST_ORACLE_H
#define RATEL_TEST_ORACLE_H

#include <stddef.h>

#define ORACLE_MAX_TXNS 16

typedef struct oracle oracle;

typedef enum { ORACLE_MUST, ORACLE_EXTERNAL, ORACLE_MAY } oracle_ryow;

typedef struct {
    const char *level; /* any name or alias of `ratel levels` */
    int session_order; /* 1 on, 0 off; ignored by names that settle it themselves */
    oracle_ryow ryow;  /* doc/levels.md 3 */
    long long drift;   /* doc/levels.md 4: rt needs a gap of at least this */
} oracle_question;

enum {
    ORACLE_VIOLATED = 0,
    ORACLE_HOLDS = 1,
    ORACLE_UNKNOWN_LEVEL = -1,
    ORACLE_NOTHING = -2, /* no committed transaction */
    ORACLE_TOO_BIG = -3, /* a cap or the step budget was reached */
    ORACLE_NO_ROW = -5,  /* a mixture with a level that does not mix; linearizable, and a
                            transaction of several operations */
    ORACLE_BAD_HINT = -4 /* bad input: a hint that no execution can have (doc/levels.md 4) */
};

/* Returns NULL and a message "line N: ..." in err if the text is not a native history. */
oracle *oracle_parse(const char *jsonl_text, size_t len, char *err, size_t errcap);
void oracle_free(oracle *);
int oracle_check(oracle *, const oracle_question *);

/* What modules add (doc/modules.md): at least one of n sets of edges is true, of sizes[i] edges
 * each.  Transactions by their place in the file, aborted ones too; at: 0 begin, 1 commit, 2 a
 * point. */
typedef struct {
    int from, from_at, to, to_at;
    int depends;
} oracle_edge;
void oracle_assume(oracle *, const oracle_edge *edges, const int *sizes, int n);
void oracle_forget(oracle *); /* all that was assumed */

/* H-9: from now on the reads of aborted transactions count (1), or do not (0, as at first). */
void oracle_count_aborted(oracle *, int count);

/* "holds", "violated", "undecided (...)", ... for any result of oracle_check. */
const char *oracle_verdict_name(int verdict);

#endif
