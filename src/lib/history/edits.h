/*
 * edits.h - changes of single operations, and the history that they make of another one.
 *
 * They come from the hook `map` of a module, or from the certificate of an answer that rests on
 * them.  Operations and transactions are those of the history before the changes.
 */
#ifndef RATEL_HISTORY_EDITS_H
#define RATEL_HISTORY_EDITS_H

#include "history/history.h"

enum edit_kind {
    EDIT_DROP,       /* the operation did not happen */
    EDIT_ABSENT,     /* its value is that the key does not exist */
    EDIT_ROW_ABSENT, /* row `row` of a scan was not returned */
    EDIT_SPLIT,      /* with it another transaction begins; before it there may be nothing */
    EDIT_EARLY       /* it happens before all others of its transaction that are not such */
};

typedef struct edit {
    op_id op;
    uint32_t kind;
    uint32_t row; /* EDIT_ROW_ABSENT, else 0 */
} edit;

typedef struct edits {
    VEC(edit) at;
    const char *module; /* whose they are; NULL: there are none */
} edits;

/* NULL, or what is wrong with them. */
const char *edits_check(const edits *e, const history *h);
/* Builds the changed history in `out`, which is empty, and freezes it.  Transactions keep their
   names; the parts of one that was split are name, name/2, name/3, ... */
void edits_apply(history *out, const history *from, const edits *e);

#endif
