/*
 * hash.h - mixing functions.
 *
 * They are quick, not cryptographic: whoever knows the seed can write keys that collide.  Tables
 * that take data from outside therefore mix in a secret of the process (hash_secret; map.h does).
 * A bad mix costs time, never an answer, because every table compares the keys themselves.
 */
#ifndef RATEL_BASE_HASH_H
#define RATEL_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Finalizer of splitmix64: every input bit reaches every output bit. */
static inline uint64_t hash_u64(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline uint64_t hash_pair(uint64_t a, uint64_t b)
{
    return hash_u64(a * 0x9e3779b97f4a7c15u + b + 0x165667b19e3779f9u);
}

/* A number that a writer of input cannot know: where a fresh block of memory stands.  Nothing that
   is shown to a user may depend on it. */
static inline uint64_t hash_secret(const void *block)
{
    return hash_u64((uint64_t)(uintptr_t)block ^ 0xd1b54a32d192ed03u);
}

static inline uint64_t hash_bytes(const void *p, size_t n, uint64_t seed)
{
    const unsigned char *s = p;
    uint64_t h = seed ^ (n * 0x9e3779b97f4a7c15u);
    while (n >= 8) {
        uint64_t w;
        memcpy(&w, s, 8);
        h = hash_pair(h, w);
        s += 8;
        n -= 8;
    }
    uint64_t tail = 0;
    for (size_t i = 0; i < n; i++) tail |= (uint64_t)s[i] << (8 * i);
    return hash_pair(h, tail);
}

#endif
