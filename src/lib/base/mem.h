/*
 * mem.h - memory regions.
 *
 * A region owns every block taken from it; freeing the region frees them all, so an error path
 * has nothing to remember.  Blocks are few and large (arrays of ids), never one per operation:
 * the header of 32 bytes is then nothing.  A region counts its bytes, refuses to pass its limit,
 * and fails through its guard: callers never see NULL.
 *
 * Invariant: used == sum of the sizes of the linked blocks (mem_check walks it).
 */
#ifndef RATEL_BASE_MEM_H
#define RATEL_BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

#include "base/guard.h"

/* The one allocator function, as in lua: nsize 0 frees, p NULL allocates. */
typedef void *(*mem_fn)(void *ud, void *p, size_t osize, size_t nsize);

typedef struct mem_block {
    struct mem_block *prev, *next;
    size_t size;
    size_t guard_word; /* catches the commonest overruns in mem_check */
} mem_block;

typedef struct mem {
    mem_fn fn;
    void *ud;
    guard *guard;
    mem_block head;
    size_t used, peak, limit; /* limit 0: none */
} mem;

void *mem_libc(void *ud, void *p, size_t osize, size_t nsize);

void mem_init(mem *m, mem_fn fn, void *ud, guard *g);
void mem_free_all(mem *m);
int mem_check(const mem *m); /* 1 if the invariant holds */

void *mem_get(mem *m, size_t size);
void *mem_zeroed(mem *m, size_t size);
void *mem_resize(mem *m, void *p, size_t size);
void mem_put(mem *m, void *p); /* NULL is a no-op */

/* Frees every block taken or resized after `mark`, a block of the region, and `mark` too. */
void mem_free_since(mem *m, void *mark);

/* Moves a block from one region to another, so that the receiver owns what is given across. */
void mem_give(mem *from, mem *to, void *p);

/* All blocks of one region, without allocating. */
void mem_give_all(mem *from, mem *to);

/* count * size with the overflow check that every array needs. */
size_t mem_bytes(mem *m, size_t count, size_t size);

#define mem_array(m, T, n) ((T *)mem_get((m), mem_bytes((m), (n), sizeof(T))))
#define mem_array0(m, T, n) ((T *)mem_zeroed((m), mem_bytes((m), (n), sizeof(T))))

#endif
