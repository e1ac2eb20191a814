/*
 * Tests of base/map.h, base/search.h and base/sort.h against the slow and obvious way.
 */
#include "test.h"
#include "counter.h"

#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "base/rng.h"
#include "base/search.h"
#include "base/sort.h"
#include "base/vec.h"

typedef struct place {
    counter c;
    guard g;
    mem m;
} place;

static void open_place(place *p, long allocations)
{
    p->c = (counter){0, allocations};
    guard_init(&p->g);
    mem_init(&p->m, count_fn, &p->c, &p->g);
}

static void close_place(place *p)
{
    EXPECT(mem_check(&p->m));
    mem_free_all(&p->m);
    EXPECT_EQ_UINT(p->c.live, 0);
}

TEST(an_empty_table_answers_without_memory)
{
    id_map t = {0};
    key_set s = {0};
    id_index x = {0};
    index_walk w = id_index_walk(&x, 17);
    EXPECT_EQ_UINT(id_map_get(&t, 0), MAP_NONE);
    EXPECT(!key_set_has(&s, 0) && !key_set_has(&s, 5));
    EXPECT(!id_index_next(&x, &w));
    EXPECT(id_map_check(&t) && key_set_check(&s) && id_index_check(&x));
}

/* Few distinct keys, the extreme ones among them, many times over. */
TEST(map_and_set_agree_with_an_array)
{
    place p;
    rng r;
    id_map t = {0};
    key_set s = {0};
    uint64_t key[700];
    uint32_t value[700];
    open_place(&p, 1000);
    rng_seed(&r, 7);
    for (size_t i = 0; i < 700; i++) {
        key[i] = i < 350 ? i : rng_next(&r);
        value[i] = MAP_NONE;
    }
    key[1] = UINT64_MAX;
    key[2] = (uint64_t)1 << 63;
    for (uint32_t i = 0; i < 20000; i++) {
        size_t k = (size_t)rng_below(&r, 700);
        EXPECT_EQ_UINT(id_map_get(&t, key[k]), value[k]);
        EXPECT_EQ_INT(key_set_has(&s, key[k]), value[k] != MAP_NONE);
        EXPECT_EQ_INT(key_set_add(&p.m, &s, key[k]), value[k] == MAP_NONE);
        EXPECT_EQ_UINT(*id_map_at(&p.m, &t, key[k]), value[k]);
        value[k] = i;
        id_map_put(&p.m, &t, key[k], i);
    }
    EXPECT(id_map_check(&t) && key_set_check(&s));
    EXPECT_EQ_UINT(t.n, 700);
    EXPECT_EQ_UINT(s.n, 699); /* 0 is kept apart */
    key_set_restart(&p.m, &s, 10);
    EXPECT(!key_set_has(&s, 0) && !key_set_has(&s, key[699]));
    EXPECT(key_set_add(&p.m, &s, 0) && key_set_check(&s));
    id_map_free(&p.m, &t);
    key_set_free(&p.m, &s);
    EXPECT_EQ_UINT(p.m.used, 0);
    close_place(&p);
}

TEST(a_reserved_table_does_not_move)
{
    place p;
    id_map t = {0};
    key_set s = {0};
    id_index x = {0};
    open_place(&p, 3);
    id_map_reserve(&p.m, &t, 10000);
    key_set_reserve(&p.m, &s, 10000);
    id_index_reserve(&p.m, &x, 10000);
    for (uint32_t i = 0; i < 10000; i++) { /* a fourth allocation would fail */
        id_map_put(&p.m, &t, (uint64_t)i << 40, i);
        key_set_add(&p.m, &s, (uint64_t)i << 40);
        id_index_add(&p.m, &x, hash_u64(i), i);
    }
    id_map_reserve(&p.m, &t, 100);
    EXPECT(id_map_check(&t) && key_set_check(&s) && id_index_check(&x));
    close_place(&p);
}

/* After a large question, small ones and growing ones; each starts from nothing. */
TEST(a_restarted_table_is_empty_and_clears_no_more_than_it_needs)
{
    place p;
    id_map t = {0};
    key_set s = {0};
    id_index x = {0};
    open_place(&p, 1000);
    for (uint32_t round = 0; round < 20; round++) {
        uint32_t n = round % 3 ? 3 * round : 5000;
        id_map_restart(&p.m, &t, n);
        key_set_restart(&p.m, &s, n);
        id_index_restart(&p.m, &x, n);
        EXPECT(!n || (key_set_enter(&s, 0) && !key_set_enter(&s, 0)));
        key_set_restart(&p.m, &s, n);
        EXPECT(t.mask < 16 || t.mask < 4 * (size_t)n);
        for (uint32_t i = 0; i < 2 * n; i++) { /* twice what was promised */
            EXPECT_EQ_UINT(id_map_get(&t, i), MAP_NONE);
            EXPECT(key_set_add(&p.m, &s, i));
            id_map_put(&p.m, &t, i, round);
            id_index_add(&p.m, &x, hash_u64(i), i);
        }
        EXPECT(id_map_check(&t) && key_set_check(&s) && id_index_check(&x));
        EXPECT_EQ_UINT(x.n, 2 * (size_t)n);
    }
    close_place(&p);
}

/* Copying a table in the order of its slots is the classic way to a quadratic loop. */
TEST(slot_order_of_one_table_is_no_trap_for_another)
{
    place p;
    key_set a = {0}, b = {0};
    open_place(&p, 1000);
    for (uint64_t i = 1; i <= 200000; i++) key_set_add(&p.m, &a, i);
    for (size_t i = 0; i <= a.mask; i++)
        if (a.slot[i]) key_set_add(&p.m, &b, a.slot[i]);
    uint64_t steps = 0;
    for (uint64_t i = 1; i <= 200000; i++) {
        size_t from = (size_t)hash_u64(i ^ b.secret) & b.mask;
        steps += (key_set_place(&b, i) - from) & b.mask;
    }
    EXPECT_EQ_UINT(b.n, 200000);
    EXPECT(steps < 200000 * 2);
    close_place(&p);
}

/* Words by content; a quarter of the hash, so that strangers meet. */
static uint32_t intern(place *p, id_index *x, uint32_t *all, uint32_t *n, uint32_t word)
{
    uint64_t hash = hash_u64(word) & 0xff00000000000000u;
    for (index_walk w = id_index_walk(x, hash); id_index_next(x, &w);)
        if (all[w.id] == word) return w.id;
    all[*n] = word;
    id_index_add(&p->m, x, hash, *n);
    return (*n)++;
}

TEST(index_finds_what_the_caller_calls_equal)
{
    place p;
    rng r;
    id_index x = {0};
    uint32_t all[500], n = 0, id_of[500];
    open_place(&p, 1000);
    rng_seed(&r, 3);
    memset(id_of, 0xff, sizeof id_of);
    for (int i = 0; i < 5000; i++) {
        uint32_t word = (uint32_t)rng_below(&r, 500), id = intern(&p, &x, all, &n, word);
        EXPECT(id_of[word] == MAP_NONE || id_of[word] == id);
        EXPECT_EQ_UINT(all[id], word);
        id_of[word] = id;
    }
    EXPECT_EQ_UINT(n, 500);
    EXPECT_EQ_UINT(x.n, 500);
    EXPECT(id_index_check(&x));
    close_place(&p);
}

TEST(index_keeps_equal_hashes_oldest_first_and_replaces)
{
    place p;
    id_index x = {0};
    uint64_t last = (uint64_t)UINT32_MAX << 32; /* the last slot of every size: runs go round */
    open_place(&p, 1000);
    for (uint32_t i = 0; i < 300; i++) id_index_add(&p.m, &x, i % 3 ? last : 5, i);
    uint32_t seen = 0, before = 0;
    for (index_walk w = id_index_walk(&x, last); id_index_next(&x, &w); seen++) {
        EXPECT(!seen || w.id > before);
        before = w.id;
    }
    EXPECT_EQ_UINT(seen, 200);
    index_walk w = id_index_walk(&x, last);
    EXPECT(id_index_next(&x, &w));
    EXPECT_EQ_UINT(w.id, 1);
    id_index_replace(&x, &w, 77777);
    w = id_index_walk(&x, last);
    EXPECT(id_index_next(&x, &w));
    EXPECT_EQ_UINT(w.id, 77777);
    EXPECT(id_index_check(&x));
    id_index_restart(&p.m, &x, 10);
    w = id_index_walk(&x, last);
    EXPECT(!id_index_next(&x, &w));
    id_index_free(&p.m, &x);
    close_place(&p);
}

/* Fills all three; the caller's guard says whether memory was enough.  Whatever fails, what was
   entered before is still there. */
static int fill_all(place *p, id_map *t, key_set *s, id_index *x)
{
    if (guard_armed(&p->g)) return 0;
    for (uint32_t i = 0; i < 300; i++) {
        id_map_put(&p->m, t, i * 3u, i);
        key_set_add(&p->m, s, i * 3u + 1);
        id_index_add(&p->m, x, hash_u64(i), i);
    }
    return 1;
}

TEST(a_failed_allocation_leaves_the_tables_whole)
{
    int done = 0;
    for (long n = 0; n < 100 && !done; n++) {
        place p;
        id_map t = {0};
        key_set s = {0};
        id_index x = {0};
        open_place(&p, n);
        done = fill_all(&p, &t, &s, &x);
        EXPECT_EQ_INT(p.g.code, done ? GUARD_OK : GUARD_NOMEM);
        EXPECT(id_map_check(&t) && key_set_check(&s) && id_index_check(&x));
        for (uint32_t i = 0; i < t.n; i++) EXPECT_EQ_UINT(id_map_get(&t, i * 3u), i);
        for (uint32_t i = 0; i < s.n; i++) EXPECT(key_set_has(&s, i * 3u + 1));
        close_place(&p);
    }
    EXPECT(done);
}

TEST(bounds_agree_with_counting)
{
    rng r;
    uint32_t a[40];
    uint64_t b[40];
    int64_t c[40];
    rng_seed(&r, 11);
    for (int round = 0; round < 300; round++) {
        size_t n = (size_t)rng_below(&r, 40);
        uint32_t x = 0;
        for (size_t i = 0; i < n; i++) {
            x += (uint32_t)rng_below(&r, 3);
            a[i] = x;
            b[i] = (uint64_t)x << 33;
            c[i] = (int64_t)x - 20;
        }
        for (uint32_t y = 0; y <= x + 2; y++) {
            size_t below = 0, not_above = 0;
            for (size_t i = 0; i < n; i++) {
                below += a[i] < y;
                not_above += a[i] <= y;
            }
            EXPECT_EQ_UINT(lower_bound_u32(a, n, y), below);
            EXPECT_EQ_UINT(upper_bound_u32(a, n, y), not_above);
            EXPECT_EQ_UINT(lower_bound_u64(b, n, (uint64_t)y << 33), below);
            EXPECT_EQ_UINT(upper_bound_u64(b, n, (uint64_t)y << 33), not_above);
            EXPECT_EQ_UINT(lower_bound_i64(c, n, (int64_t)y - 20), below);
            EXPECT_EQ_UINT(upper_bound_i64(c, n, (int64_t)y - 20), not_above);
            SEARCH_FIRST(uint32_t, i, 0, (uint32_t)n, a[i] >= y);
            EXPECT_EQ_UINT(i, below);
        }
    }
    SEARCH_FIRST(uint32_t, at, 7, 7, true);
    EXPECT_EQ_UINT(at, 7);
    SEARCH_FIRST(uint32_t, end, UINT32_MAX - 4, UINT32_MAX, end == UINT32_MAX - 1);
    EXPECT_EQ_UINT(end, UINT32_MAX - 1);
}

typedef struct card {
    uint32_t key, born;
} card;

static bool lower_key(card x, card y)
{
    return x.key < y.key;
}

/* Random, rising, falling, all equal, and long enough for every part of the sorts. */
TEST(sorts_agree)
{
    place p;
    rng r;
    open_place(&p, 100000);
    rng_seed(&r, 5);
    for (uint32_t round = 0; round < 120; round++) {
        uint32_t n = round < 60 ? round : round * 37;
        uint64_t *key = mem_array(&p.m, uint64_t, n + 1), *flat = mem_array(&p.m, uint64_t, n + 1);
        card *a = mem_array(&p.m, card, n + 1), *b = mem_array(&p.m, card, n + 1);
        for (uint32_t i = 0; i < n; i++) {
            uint64_t x[] = {rng_below(&r, n + 1), i, n - i, 7};
            key[i] = flat[i] = x[round % 4];
            a[i] = (card){(uint32_t)key[i], i};
        }
        uint32_t *by = sort_by_key(&p.m, key, n);
        sort_u64(flat, n);
        SORT_MERGE(card, a, b, n, lower_key);
        for (uint32_t i = 0; i < n; i++) {
            EXPECT_EQ_UINT(key[by[i]], flat[i]);
            EXPECT_EQ_UINT(a[i].born, by[i]);
            EXPECT(!i || flat[i - 1] <= flat[i]);
            EXPECT(!i || flat[i - 1] < flat[i] || by[i - 1] < by[i]); /* stable */
        }
        mem_put(&p.m, by);
        mem_put(&p.m, key);
        mem_put(&p.m, flat);
        mem_put(&p.m, a);
        mem_put(&p.m, b);
    }
    EXPECT_EQ_INT(sort_key(INT64_MIN) < sort_key(-1) && sort_key(-1) < sort_key(0), 1);
    close_place(&p);
}

TEST_MAIN
