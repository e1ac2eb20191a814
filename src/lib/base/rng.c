/*
 * rng.c - seeding.
 */
#include "base/rng.h"

#include "base/hash.h"

void rng_seed(rng *r, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        seed += 0x9e3779b97f4a7c15u;
        r->s[i] = hash_u64(seed);
    }
}
