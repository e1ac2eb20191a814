/*
 * vec.c - the one growth policy of all arrays.
 *
 * Capacity doubles from 16 elements on, so n pushes cost O(n) and about half of an array is
 * used.  A capacity that would overflow the number of bytes is out of memory, not a wrap to zero.
 *
 * Invariant: `cap` changes only after the region has given the memory.
 */
#include "base/vec.h"

void *vec_grow_to(mem *m, void *at, size_t *cap, size_t need, size_t size)
{
    size_t n = *cap ? *cap : 16;
    while (n < need) {
        if (n > SIZE_MAX / 4) guard_fail(m->guard, GUARD_NOMEM, "out of memory: array too long");
        n *= 2;
    }
    at = mem_resize(m, at, mem_bytes(m, n, size));
    *cap = n;
    return at;
}
