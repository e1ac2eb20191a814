/*
 * sort.c - see sort.h.
 */
#include "base/sort.h"

#define BITS 11
#define DIGITS (1u << BITS)

uint32_t *sort_by_key(mem *m, const uint64_t *key, uint32_t n)
{
    uint32_t *a = mem_array(m, uint32_t, (size_t)n + 1), *b = mem_array(m, uint32_t, (size_t)n + 1);
    uint64_t any = 0, all = ~(uint64_t)0;
    for (uint32_t i = 0; i < n; i++) {
        a[i] = i;
        any |= key[i];
        all &= key[i];
    }
    for (unsigned shift = 0; shift < 64; shift += BITS) {
        if (!((any ^ all) >> shift & (DIGITS - 1))) continue;
        uint32_t count[DIGITS] = {0}, sum = 0;
        for (uint32_t i = 0; i < n; i++) count[key[a[i]] >> shift & (DIGITS - 1)]++;
        for (uint32_t i = 0; i < DIGITS; i++) {
            uint32_t c = count[i];
            count[i] = sum;
            sum += c;
        }
        for (uint32_t i = 0; i < n; i++) b[count[key[a[i]] >> shift & (DIGITS - 1)]++] = a[i];
        uint32_t *swap = a;
        a = b;
        b = swap;
    }
    mem_put(m, b);
    return a;
}
