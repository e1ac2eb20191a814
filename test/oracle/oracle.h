/* oracle.h - a brute-force judge of tiny histories, written straight from LEVELS.md.
 *
 * The oracle shares no code with the product. It reads a native history (CLI.md), tries every
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
    const char *level; /* any name or alias of CLI.md */
    int session_order; /* 1 on, 0 off; ignored by names that settle it themselves */
    oracle_ryow ryow;  /* LEVELS.md 5.1 */
    long long drift;   /* LEVELS.md 3: rt needs a gap of at least this */
} oracle_question;

enum {
    ORACLE_VIOLATED = 0,
    ORACLE_HOLDS = 1,
    ORACLE_UNKNOWN_LEVEL = -1,
    ORACLE_NOTHING = -2, /* no committed transaction */
    ORACLE_TOO_BIG = -3, /* a cap or the step budget was reached */
    ORACLE_BAD_HINT = -4 /* a hint no execution at any level can have (LEVELS.md 3): bad input */
};

/* Returns NULL and a message "line N: ..." in err if the text is not a native history. */
oracle *oracle_parse(const char *jsonl_text, size_t len, char *err, size_t errcap);
void oracle_free(oracle *);
int oracle_check(oracle *, const oracle_question *);

/* "holds", "violated", "undecided (...)", ... for any result of oracle_check. */
const char *oracle_verdict_name(int verdict);

#endif
