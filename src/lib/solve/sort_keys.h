/*
 * sort_keys.h - sorting of 64-bit keys in place (key and payload packed by the caller): quicksort
 * with insertion sort below, heap sort when a bad input makes it deep.  qsort may allocate behind
 * our back and calls a function for each comparison.
 */
#ifndef RATEL_SOLVE_SORT_KEYS_H
#define RATEL_SOLVE_SORT_KEYS_H

#include <stddef.h>
#include <stdint.h>

void solve_sort(uint64_t *a, size_t n);

#endif
