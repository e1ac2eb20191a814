/*
 * arena.h - bump memory of one execution: values, intermediate rows, sort keys.
 *
 * Nothing is freed alone.  arena_reset keeps the first chunk, so that replaying a million short
 * transactions asks the region for memory once.
 */
#ifndef RATEL_SQL_ARENA_H
#define RATEL_SQL_ARENA_H

#include <string.h>

#include "base/mem.h"

typedef struct arena_chunk {
    struct arena_chunk *next;
    size_t size;
} arena_chunk;

typedef struct arena {
    mem *mem;
    arena_chunk *first; /* the newest chunk */
    char *at, *end;
} arena;

static inline void arena_init(arena *a, mem *m)
{
    a->mem = m;
    a->first = NULL;
    a->at = a->end = NULL;
}

static inline void *arena_get(arena *a, size_t size)
{
    size = (size + 15) & ~(size_t)15;
    if (size > (size_t)(a->end - a->at)) {
        size_t chunk = size > 1u << 16 ? size : 1u << 16;
        arena_chunk *c = mem_get(a->mem, sizeof *c + 16 + chunk);
        c->next = a->first;
        c->size = chunk;
        a->first = c;
        a->at = (char *)(((uintptr_t)(c + 1) + 15) & ~(uintptr_t)15);
        a->end = a->at + chunk;
    }
    void *p = a->at;
    a->at += size;
    return p;
}

/* Forgets everything; the oldest chunk stays for the next execution. */
static inline void arena_reset(arena *a)
{
    while (a->first && a->first->next) {
        arena_chunk *c = a->first;
        a->first = c->next;
        mem_put(a->mem, c);
    }
    if (!a->first) return;
    a->at = (char *)(((uintptr_t)(a->first + 1) + 15) & ~(uintptr_t)15);
    a->end = a->at + a->first->size;
}

/* What the arena was at a moment; arena_back gives back everything that was taken since. */
typedef struct arena_place {
    arena_chunk *first;
    char *at, *end;
} arena_place;

static inline arena_place arena_here(const arena *a)
{
    return (arena_place){a->first, a->at, a->end};
}

static inline void arena_back(arena *a, arena_place to)
{
    while (a->first != to.first) {
        arena_chunk *c = a->first;
        a->first = c->next;
        mem_put(a->mem, c);
    }
    a->at = to.at;
    a->end = to.end;
}

static inline void arena_free(arena *a)
{
    arena_reset(a);
    mem_put(a->mem, a->first);
    arena_init(a, a->mem);
}

#define arena_array(a, T, n) ((T *)arena_get((a), mem_bytes((a)->mem, (n), sizeof(T))))

/* A VEC that grows in the arena: what it outgrows is lost until the reset. */
#define arena_push(a, v, x)                                                                        \
    do {                                                                                           \
        if ((v)->n == (v)->cap) {                                                                  \
            size_t more = (v)->cap ? (v)->cap * 2 : 8;                                             \
            void *moved = arena_get((a), mem_bytes((a)->mem, more, sizeof *(v)->at));              \
            if ((v)->n) memcpy(moved, (v)->at, (v)->n * sizeof *(v)->at);                          \
            (v)->at = moved;                                                                       \
            (v)->cap = more;                                                                       \
        }                                                                                          \
        (v)->at[(v)->n++] = (x);                                                                   \
    } while (0)

static inline char *arena_text(arena *a, const char *s, size_t n)
{
    char *t = arena_get(a, n + 1);
    if (n) memcpy(t, s, n);
    t[n] = 0;
    return t;
}

#endif
