/*
 * vec.h - growing arrays over a region.
 *
 * `VEC(T) v = {0}` is empty; elements stand at v.at[0..v.n).  Growth doubles, so large arrays end
 * as one mapped block whose untouched tail costs no resident memory.
 */
#ifndef RATEL_BASE_VEC_H
#define RATEL_BASE_VEC_H

#include <string.h>

#include "base/mem.h"

/* The index of no element: arrays are indexed by 32-bit ids. */
#define NO_ID UINT32_MAX

#define VEC(T)                                                                                     \
    struct {                                                                                       \
        T *at;                                                                                     \
        size_t n, cap;                                                                             \
    }

void *vec_grow_to(mem *m, void *at, size_t *cap, size_t need, size_t size);

#define vec_reserve(m, v, more)                                                                    \
    do {                                                                                           \
        if ((v)->cap - (v)->n < (size_t)(more))                                                    \
            (v)->at =                                                                              \
                vec_grow_to((m), (v)->at, &(v)->cap, (v)->n + (size_t)(more), sizeof *(v)->at);    \
    } while (0)

#define vec_push(m, v, x)                                                                          \
    do {                                                                                           \
        vec_reserve(m, v, 1);                                                                      \
        (v)->at[(v)->n++] = (x);                                                                   \
    } while (0)

#define vec_free(m, v)                                                                             \
    do {                                                                                           \
        mem_put((m), (v)->at);                                                                     \
        (v)->at = NULL;                                                                            \
        (v)->n = (v)->cap = 0;                                                                     \
    } while (0)

/* Gives back what growth left over. */
#define vec_trim(m, v)                                                                             \
    do {                                                                                           \
        if ((v)->n < (v)->cap && (v)->n) {                                                         \
            (v)->at = mem_resize((m), (v)->at, (v)->n * sizeof *(v)->at);                          \
            (v)->cap = (v)->n;                                                                     \
        }                                                                                          \
    } while (0)

#endif
