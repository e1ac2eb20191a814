/*
 * rng.c - seeding of the random generator.
 *
 * Four words of state are made from one seed by splitmix64, as the authors of xoshiro256** advise
 * (Blackman and Vigna, ACM TOMS 47(4), 2021): similar seeds give unrelated states, and a state of
 * zeros alone, from which the generator would never leave, cannot occur.
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
