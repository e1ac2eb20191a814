/*
 * work_app.c - applications on a key-value store: twitter, rubis, retwis.
 *
 * Values mean something where later operations depend on them: the value of a follow-list or of
 * last-tweet is the number of an entry here, and entries are chained as the writer saw them, so a
 * reader follows what it has read.  Flags, quantities and ratings repeat naturally, as in the
 * applications; with duplicates=0 they are numbered instead.
 */
#include "base/map.h"
#include "gen/workload.h"

/* A transaction type by its share in percent; shares end at 100. */
static uint32_t draw_shape(rng *r, const uint8_t *until)
{
    uint32_t x = rng_below(r, 100), shape = 0;
    while (x >= until[shape]) shape++;
    return shape;
}

/* --- twitter ------------------------------------------------------------------------------- */

enum { NEW_TWEET, FOLLOW, TIMELINE, SHOW_FOLLOW, SHOW_TWEETS };
static const uint8_t twitter_mix[] = {20, 60, 70, 80, 100};
enum { SHOWN_TWEETS = 10 };

typedef struct entry {
    uint32_t key;  /* a tweet's; of a follow: its first, the second is the next */
    uint32_t who;  /* who is followed */
    uint32_t prev; /* entry + 1 */
} entry;

typedef struct twitter {
    VEC(entry) tweets, follows;
    VEC(uint32_t) last; /* tweet + 1 of each user, as far as the clients know */
    /* (who, whom) -> first of two keys, so that whoever follows again writes the same rows */
    id_map pair_key;
    bool natural;
} twitter;

static void init_twitter(workload *w, const knob_set *k)
{
    twitter *t = w->own = mem_zeroed(w->mem, sizeof *t);
    t->natural = knob_real(k, KNOB_DUPLICATES, 1) > 0;
    w->duplicate_keys = 0;
    w->next_key = 2 * w->keys;
    for (uint32_t i = 0; i < w->keys; i++) vec_push(w->mem, &t->last, 0);
}

static void free_twitter(workload *w)
{
    twitter *t = w->own;
    vec_free(w->mem, &t->tweets);
    vec_free(w->mem, &t->follows);
    vec_free(w->mem, &t->last);
    id_map_free(w->mem, &t->pair_key);
}

static uint32_t pair_key(workload *w, twitter *t, uint32_t who, uint32_t whom)
{
    uint32_t *known = id_map_at(w->mem, &t->pair_key, map_pair(who, whom));
    if (*known == MAP_NONE) {
        *known = workload_fresh_key(w);
        workload_fresh_key(w);
    }
    return *known;
}

static uint32_t longest_twitter(const workload *w)
{
    uint32_t n = 1 + (w->ops > SHOWN_TWEETS ? w->ops : SHOWN_TWEETS) * 2;
    return n > 4 ? n : 4;
}

static void plan_twitter(workload *w, rng *r, plan *p, step *steps, bool again)
{
    twitter *t = w->own;
    uint32_t users = w->keys;
    if (!again) {
        p->shape = draw_shape(r, twitter_mix);
        p->a = draw_slot(w, r);
    } else if (p->shape == NEW_TWEET || p->shape == FOLLOW) {
        return; /* the same rows again; what depends on reads is done by step_twitter */
    }
    p->n = 0;
    switch (p->shape) {
    case NEW_TWEET: {
        entry e = {.key = workload_fresh_key(w), .prev = t->last.at[p->a]};
        vec_push(w->mem, &t->tweets, e);
        t->last.at[p->a] = (uint32_t)t->tweets.n;
        plan_fresh(w, steps, p, e.key);
        plan_write(steps, p, p->a, (uint32_t)t->tweets.n);
        break;
    }
    case FOLLOW: {
        entry e = {.who = draw_slot(w, r)};
        e.key = pair_key(w, t, p->a, e.who);
        vec_push(w->mem, &t->follows, e);
        for (uint32_t i = 0; i < 2; i++)
            plan_write(steps, p, e.key + i, t->natural ? 1 : fresh_value(w, e.key + i));
        plan_read(steps, p, users + p->a);
        plan_write(steps, p, users + p->a, (uint32_t)t->follows.n);
        break;
    }
    case TIMELINE: p->n = 1 + 2 * w->ops; break;
    case SHOW_FOLLOW: p->n = 1 + w->ops; break;
    case SHOW_TWEETS: p->n = 1 + SHOWN_TWEETS; break;
    default: break;
    }
}

/* An entry + 1 as it was read.  A real database may have answered anything. */
static uint32_t entry_read(size_t entries, uint32_t value)
{
    return value <= entries ? value : 0;
}

/* Reads that follow what has been read; p->b is the entry + 1 that is next. */
static bool step_twitter(workload *w, rng *r, plan *p, step *steps, uint32_t i)
{
    (void)r;
    twitter *t = w->own;
    step *s = &steps[i];
    if (p->shape == NEW_TWEET) return true;
    if (p->shape == FOLLOW) {
        if (i == 3) t->follows.at[s->value - 1].prev = entry_read(t->follows.n, steps[2].value);
        return true;
    }
    s->kind = STEP_READ;
    if (i == 0) {
        s->key = p->shape == SHOW_TWEETS ? p->a : w->keys + p->a;
        return true;
    }
    if (i == 1)
        p->b = entry_read(p->shape == SHOW_TWEETS ? t->tweets.n : t->follows.n, steps[0].value);
    if (p->shape == TIMELINE && i % 2 == 0) { /* the tweet that the last-tweet just read names */
        uint32_t tweet = entry_read(t->tweets.n, steps[i - 1].value);
        if (tweet) {
            s->key = t->tweets.at[tweet - 1].key;
            return true;
        }
        s->key = steps[i - 1].key; /* none yet: look again */
        return true;
    }
    if (!p->b) return false;
    const entry *e = p->shape == SHOW_TWEETS ? &t->tweets.at[p->b - 1] : &t->follows.at[p->b - 1];
    s->key = p->shape == TIMELINE ? e->who : e->key;
    p->b = e->prev;
    return true;
}

/* Tweets and who follows whom; the rest is read for its meaning. */
static uint32_t shared_twitter(const workload *w, rng *r)
{
    uint32_t rows = w->next_key - 2 * w->keys;
    return rows ? 2 * w->keys + rng_below(r, rows) : NO_ID;
}

const work_class work_twitter = {.flags = WORK_EXPLICIT,
                                 .shared = shared_twitter,
                                 .choice = GEN_ZIPF,
                                 .theta = 1,
                                 .init = init_twitter,
                                 .free = free_twitter,
                                 .longest = longest_twitter,
                                 .plan = plan_twitter,
                                 .step = step_twitter};

/* --- rubis --------------------------------------------------------------------------------- */

enum { REGISTER_USER, REGISTER_ITEM, STORE_BUY_NOW, STORE_COMMENT, RANDOM_BROWSE };
static const uint8_t rubis_mix[] = {10, 25, 40, 60, 100};
enum { STOCK = 10 };

typedef struct rubis {
    uint32_t items; /* at first; their keys follow those of the first users */
    VEC(uint32_t) new_users, new_items;
    bool natural;
} rubis;

/* Each user has two keys: the row and its rating.  So has each item: the row and its quantity. */
static void init_rubis(workload *w, const knob_set *k)
{
    rubis *b = w->own = mem_zeroed(w->mem, sizeof *b);
    b->items = knob_size(k, w->mem->guard, KNOB_ITEMS, 80000);
    b->natural = knob_real(k, KNOB_DUPLICATES, 1) > 0;
    if ((uint64_t)b->items + w->keys >= 0x3fffffffu)
        guard_fail(w->mem->guard, GUARD_INVAL, "too many users and items");
    w->duplicate_keys = 0;
    w->next_key = 2 * (w->keys + b->items);
}

static void free_rubis(workload *w)
{
    rubis *b = w->own;
    vec_free(w->mem, &b->new_users);
    vec_free(w->mem, &b->new_items);
}

static uint32_t longest_rubis(const workload *w)
{
    return w->ops > 4 ? w->ops : 4;
}

static uint32_t draw_user(const workload *w, const rubis *b, rng *r)
{
    size_t n = b->new_users.n;
    if (n && rng_below(r, w->keys + n) >= w->keys) return b->new_users.at[rng_below(r, n)];
    return 2 * draw_slot(w, r);
}

static uint32_t draw_item(const workload *w, const rubis *b, rng *r)
{
    size_t n = b->new_items.n;
    if (n && rng_below(r, b->items + n) >= b->items) return b->new_items.at[rng_below(r, n)];
    uint64_t i = rng_below(r, b->items);
    if (w->choice != GEN_UNIFORM) i = (uint64_t)draw_slot(w, r) * b->items / w->keys;
    return 2 * (w->keys + (uint32_t)i);
}

static uint32_t fresh_pair(workload *w)
{
    uint32_t key = workload_fresh_key(w);
    workload_fresh_key(w);
    return key;
}

static void plan_rubis(workload *w, rng *r, plan *p, step *steps, bool again)
{
    if (again) return;
    rubis *b = w->own;
    p->shape = draw_shape(r, rubis_mix);
    p->n = 0;
    uint32_t key;
    switch (p->shape) {
    case REGISTER_USER:
        key = fresh_pair(w);
        vec_push(w->mem, &b->new_users, key);
        plan_read(steps, p, key);
        plan_fresh(w, steps, p, key);
        plan_write(steps, p, key + 1, b->natural ? 0 : fresh_value(w, key + 1));
        break;
    case REGISTER_ITEM:
        key = fresh_pair(w);
        plan_read(steps, p, draw_user(w, b, r));
        vec_push(w->mem, &b->new_items, key);
        plan_fresh(w, steps, p, key);
        plan_write(steps, p, key + 1,
                   b->natural ? 1 + rng_below(r, STOCK) : fresh_value(w, key + 1));
        break;
    case STORE_BUY_NOW:
        key = draw_item(w, b, r) + 1;
        plan_read(steps, p, key);
        plan_write(steps, p, key, b->natural ? 0 : fresh_value(w, key));
        plan_fresh(w, steps, p, workload_fresh_key(w));
        break;
    case STORE_COMMENT:
        key = draw_user(w, b, r);
        plan_fresh(w, steps, p, workload_fresh_key(w));
        plan_read(steps, p, key);
        plan_read(steps, p, key + 1);
        p->amount = rng_below(r, 3);
        plan_write(steps, p, key + 1, b->natural ? 0 : fresh_value(w, key + 1));
        break;
    default:
        for (uint32_t i = 0; i < w->ops; i++)
            plan_read(steps, p, i % 2 ? draw_user(w, b, r) + 1 : draw_item(w, b, r));
        break;
    }
}

static bool step_rubis(workload *w, rng *r, plan *p, step *steps, uint32_t i)
{
    (void)r;
    const rubis *b = w->own;
    if (!b->natural) return true;
    if (p->shape == STORE_BUY_NOW && i == 1) {
        uint32_t left = steps[0].value;
        steps[1].value = left ? left - 1 : STOCK;
    }
    if (p->shape == STORE_COMMENT && i == 3) {
        uint32_t rating = steps[2].value + p->amount;
        steps[3].value = rating ? rating - 1 : 0;
    }
    return true;
}

const work_class work_rubis = {.flags = WORK_EXPLICIT,
                               .theta = 0.5,
                               .init = init_rubis,
                               .free = free_rubis,
                               .longest = longest_rubis,
                               .plan = plan_rubis,
                               .step = step_rubis};

/* --- retwis -------------------------------------------------------------------------------- */

static const uint8_t retwis_mix[] = {5, 20, 50, 100};
/* Of AddUser, Follow, PostTweet: keys that are read and written, then keys that are written. */
static const uint8_t retwis_modify[] = {1, 2, 3}, retwis_put[] = {2, 0, 2};

static uint32_t longest_retwis(const workload *w)
{
    return w->ops > 8 ? w->ops : 8;
}

static void plan_retwis(workload *w, rng *r, plan *p, step *steps, bool again)
{
    if (again) return;
    p->n = 0;
    p->shape = draw_shape(r, retwis_mix);
    if (p->shape == 3) {
        for (uint32_t n = 1 + rng_below(r, w->ops); n; n--) plan_read(steps, p, draw_slot(w, r));
        return;
    }
    for (uint32_t i = 0; i < retwis_modify[p->shape] + retwis_put[p->shape]; i++) {
        uint32_t key = draw_slot(w, r);
        if (i < retwis_modify[p->shape]) plan_read(steps, p, key);
        plan_write(steps, p, key, draw_value(w, r, key));
    }
}

static bool step_retwis(workload *w, rng *r, plan *p, step *steps, uint32_t i)
{
    (void)w, (void)r, (void)p, (void)steps, (void)i;
    return true;
}

const work_class work_retwis = {.choice = GEN_ZIPF,
                                .theta = 0.75,
                                .longest = longest_retwis,
                                .plan = plan_retwis,
                                .step = step_retwis};
