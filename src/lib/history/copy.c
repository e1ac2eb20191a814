/*
 * copy.c - a history that speaks of the same keys and values as another one.
 *
 * For those who make a changed copy: ids of the one are ids of the other, so transactions and
 * operations can be carried over as they are.  Tables of the copy cannot find what they hold (they
 * have no hash slots, as after freezing), so nothing new may be interned into it: labels are
 * numbers or those of the original.
 */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "history/history.h"

#define COPY_VEC(to, from)                                                                         \
    do {                                                                                           \
        vec_reserve(&h->mem, &(to), (from).n + 1);                                                 \
        if ((from).n) memcpy((to).at, (from).at, (from).n * sizeof *(from).at);                    \
        (to).n = (from).n;                                                                         \
    } while (0)

void history_like(history *h, const history *from)
{
    assert(from->frozen && !h->frozen && !h->txns && !h->keys.atoms.n && !h->values.atoms.n);
    COPY_VEC(h->keys.atoms, from->keys.atoms);
    COPY_VEC(h->bounds.atoms, from->bounds.atoms);
    COPY_VEC(h->values.atoms, from->values.atoms);
    COPY_VEC(h->bytes, from->bytes);
    COPY_VEC(h->elements, from->elements);
    h->init = from->init;
    h->init_scalar = from->init_scalar;
    COPY_VEC(h->init_map, from->init_map);
    h->init_unknown = from->init_unknown;
}

void history_borrow(history *h, const history *from)
{
    assert(from->frozen && !h->frozen && !h->txns);
    /* all but the region, which is the first member and stays its own */
    memcpy((char *)h + sizeof h->mem, (const char *)from + sizeof from->mem,
           sizeof *h - sizeof h->mem);
}
