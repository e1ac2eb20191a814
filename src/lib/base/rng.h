/*
 * rng.h - the one random generator (xoshiro256**, seeded by splitmix64).  Same seed, same
 * sequence, on every machine: generated histories are reproducible byte for byte.
 */
#ifndef RATEL_BASE_RNG_H
#define RATEL_BASE_RNG_H

#include <stdint.h>

typedef struct rng {
    uint64_t s[4];
} rng;

void rng_seed(rng *r, uint64_t seed);

static inline uint64_t rng_rotl(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

static inline uint64_t rng_next(rng *r)
{
    uint64_t result = rng_rotl(r->s[1] * 5, 7) * 9, t = r->s[1] << 17;
    r->s[2] ^= r->s[0];
    r->s[3] ^= r->s[1];
    r->s[1] ^= r->s[2];
    r->s[0] ^= r->s[3];
    r->s[2] ^= t;
    r->s[3] = rng_rotl(r->s[3], 45);
    return result;
}

/* Uniform in [0, n) for 0 < n <= 2^32, by multiplication: bias below 2^-32, no division. */
static inline uint32_t rng_below(rng *r, uint64_t n)
{
    return (uint32_t)(((rng_next(r) >> 32) * n) >> 32);
}

/* Uniform in [0, 1). */
static inline double rng_unit(rng *r)
{
    return (double)(rng_next(r) >> 11) * 0x1.0p-53;
}

#endif
