/*
 * sort_keys.c - see sort_keys.h.
 */
#include "solve/sort_keys.h"

#include <assert.h>

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

static uint64_t median(uint64_t a, uint64_t b, uint64_t c)
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
        uint64_t pivot = median(a[0], a[n / 2], a[n - 1]);
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

void solve_sort(uint64_t *a, size_t n)
{
    unsigned depth = 2;
    for (size_t i = n; i; i >>= 1) depth += 2;
    quick_sort(a, n, depth);
#ifndef NDEBUG
    for (size_t i = 1; i < n; i++) assert(a[i - 1] <= a[i]);
#endif
}
