/*
 * mem.c - regions over one allocator function; the only file that calls malloc and realloc.
 *
 * Every block has a header that links it into the list of its region, so a region can free what
 * nobody remembers.  All requests pass check_limit before the allocator is asked.  A failed
 * request leaves list and counters as they were and leaves through the guard.
 *
 * Invariant: used == sum of the sizes of the linked blocks; a word at the end of each header
 * shows that nobody wrote before the start of a block (mem_check).
 */
#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define GUARD_WORD ((size_t)0x5261746c)

static_assert(sizeof(mem_block) % 16 == 0, "blocks must keep malloc's alignment");

void *mem_libc(void *ud, void *p, size_t osize, size_t nsize)
{
    (void)ud;
    (void)osize;
    if (!nsize) {
        free(p);
        return NULL;
    }
    return realloc(p, nsize);
}

void mem_init(mem *m, mem_fn fn, void *ud, guard *g)
{
    memset(m, 0, sizeof *m);
    m->fn = fn ? fn : mem_libc;
    m->ud = ud;
    m->guard = g;
    m->head.prev = m->head.next = NULL;
}

void mem_free_all(mem *m)
{
    mem_block *b = m->head.next;
    while (b) {
        mem_block *next = b->next;
        m->fn(m->ud, b, sizeof *b + b->size, 0);
        b = next;
    }
    m->head.next = NULL;
    m->used = 0;
}

int mem_check(const mem *m)
{
    size_t sum = 0;
    const mem_block *prev = NULL;
    for (const mem_block *b = m->head.next; b; prev = b, b = b->next) {
        if (b->guard_word != GUARD_WORD) return 0;
        if (prev && b->prev != prev) return 0;
        sum += b->size;
    }
    return sum == m->used;
}

size_t mem_bytes(mem *m, size_t count, size_t size)
{
    if (size && count > (SIZE_MAX / 2) / size)
        guard_fail(m->guard, GUARD_NOMEM, "out of memory: array of %zu elements", count);
    return count * size;
}

static void link_block(mem *m, mem_block *b)
{
    b->prev = &m->head;
    b->next = m->head.next;
    if (b->next) b->next->prev = b;
    m->head.next = b;
    m->used += b->size;
    if (m->used > m->peak) m->peak = m->used;
}

static void unlink_block(mem *m, mem_block *b)
{
    b->prev->next = b->next;
    if (b->next) b->next->prev = b->prev;
    m->used -= b->size;
}

static void check_limit(mem *m, size_t more)
{
    if (m->limit && (m->used > m->limit || more > m->limit - m->used))
        guard_fail(m->guard, GUARD_NOMEM, "memory limit reached (%zu MiB)", m->limit >> 20);
}

void *mem_get(mem *m, size_t size)
{
    if (size > SIZE_MAX / 2) guard_fail(m->guard, GUARD_NOMEM, "out of memory (%zu bytes)", size);
    check_limit(m, size);
    mem_block *b = m->fn(m->ud, NULL, 0, sizeof *b + size);
    if (!b) guard_fail(m->guard, GUARD_NOMEM, "out of memory (%zu bytes)", size);
    b->size = size;
    b->guard_word = GUARD_WORD;
    link_block(m, b);
    return b + 1;
}

void *mem_zeroed(mem *m, size_t size)
{
    void *p = mem_get(m, size);
    memset(p, 0, size);
    return p;
}

void *mem_resize(mem *m, void *p, size_t size)
{
    if (!p) return mem_get(m, size);
    mem_block *b = (mem_block *)p - 1;
    assert(b->guard_word == GUARD_WORD);
    if (size > SIZE_MAX / 2) guard_fail(m->guard, GUARD_NOMEM, "out of memory (%zu bytes)", size);
    if (size > b->size) check_limit(m, size - b->size);
    unlink_block(m, b);
    mem_block *moved = m->fn(m->ud, b, sizeof *b + b->size, sizeof *b + size);
    if (!moved) {
        link_block(m, b); /* the old block is still ours */
        guard_fail(m->guard, GUARD_NOMEM, "out of memory (%zu bytes)", size);
    }
    moved->size = size;
    link_block(m, moved);
    return moved + 1;
}

void mem_put(mem *m, void *p)
{
    if (!p) return;
    mem_block *b = (mem_block *)p - 1;
    assert(b->guard_word == GUARD_WORD);
    unlink_block(m, b);
    m->fn(m->ud, b, sizeof *b + b->size, 0);
}

void mem_give(mem *from, mem *to, void *p)
{
    if (!p || from == to) return;
    assert(from->fn == to->fn && from->ud == to->ud);
    mem_block *b = (mem_block *)p - 1;
    unlink_block(from, b);
    link_block(to, b);
}

void mem_give_all(mem *from, mem *to)
{
    while (from->head.next) mem_give(from, to, from->head.next + 1);
}

void mem_free_since(mem *m, void *mark)
{
    mem_block *last = (mem_block *)mark - 1;
    assert(last->guard_word == GUARD_WORD);
    for (bool more = true; more;) { /* the newest stands first */
        mem_block *b = m->head.next;
        more = b != last;
        unlink_block(m, b);
        m->fn(m->ud, b, sizeof *b + b->size, 0);
    }
}
