/*
 * sort.c - radix sort of indices, and an in-place sort of numbers.
 *
 * The radix sort takes 11 bits at a time from below and carries indices between two arrays; digits
 * in which all keys agree cost nothing.  A short list is sorted by insertion: clearing 2048
 * counters would cost more than the list.  sort_u64 is quicksort by the median of three, bounded in
 * depth by heap sort (introsort: Musser, Software: Practice and Experience 27(8), 1997).
 */
#include "base/sort.h"

#include <assert.h>

#define BITS 11
#define DIGITS (1u << BITS)
#define SHORT 24

uint32_t *sort_by_key(mem *m, const uint64_t *key, uint32_t n)
{
    uint32_t *a = mem_array(m, uint32_t, (size_t)n + 1), *b = mem_array(m, uint32_t, (size_t)n + 1);
    if (n <= SHORT) {
        for (uint32_t i = 0; i < n; i++) {
            uint32_t j = i;
            for (; j && key[a[j - 1]] > key[i]; j--) a[j] = a[j - 1];
            a[j] = i;
        }
        mem_put(m, b);
        return a;
    }
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

/* --- numbers in place ------------------------------------------------------------------------- */

static void insertion_sort(uint64_t *a, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        uint64_t x = a[i];
        size_t j = i;
        for (; j && a[j - 1] > x; j--) a[j] = a[j - 1];
        a[j] = x;
    }
}

static void sift(uint64_t *a, size_t i, size_t n)
{
    assert(i < n);
    uint64_t x = a[i];
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && a[child + 1] > a[child]) child++;
        if (a[child] <= x) break;
        a[i] = a[child];
    }
    a[i] = x;
}

static void heap_sort(uint64_t *a, size_t n)
{
    for (size_t i = n / 2; i--;) sift(a, i, n);
    while (n > 1) {
        uint64_t top = a[0];
        a[0] = a[--n];
        a[n] = top;
        sift(a, 0, n);
    }
}

static uint64_t median_of_three(uint64_t a, uint64_t b, uint64_t c)
{
    if (a < b) return b < c ? b : a < c ? c : a;
    return a < c ? a : b < c ? c : b;
}

static void quick_sort(uint64_t *a, size_t n, unsigned depth)
{
    while (n > 24) {
        if (!depth--) {
            heap_sort(a, n);
            return;
        }
        uint64_t pivot = median_of_three(a[0], a[n / 2], a[n - 1]);
        size_t i = 0, j = n - 1;
        for (;;) {
            while (a[i] < pivot) i++;
            while (a[j] > pivot) j--;
            if (i >= j) break;
            uint64_t x = a[i];
            a[i++] = a[j];
            a[j--] = x;
        }
        /* a[0..i) <= pivot <= a[i..n); the smaller half by recursion, so the stack stays short */
        assert(i > 0 && i < n);
        if (i < n - i) {
            quick_sort(a, i, depth);
            a += i;
            n -= i;
        } else {
            quick_sort(a + i, n - i, depth);
            n = i;
        }
    }
    insertion_sort(a, n);
}

void sort_u64(uint64_t *a, size_t n)
{
    unsigned depth = 2;
    for (size_t i = n; i; i >>= 1) depth += 2;
    quick_sort(a, n, depth);
#ifndef NDEBUG
    for (size_t i = 1; i < n; i++) assert(a[i - 1] <= a[i]);
#endif
}
