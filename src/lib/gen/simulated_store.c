/*
 * simulated_store.c - views, commits and replicas of the simulated store.
 *
 * A view is a commit number; where replicas or coins decide, it is a floor below which everything
 * is seen, and a rule for what is above.  `inside` says whether a version belongs to a view.  A
 * commit is refused as the row of isolations.def says, else its writes become the newest
 * versions.  Commit numbers and keys are 32-bit as ids of a history are; the driver bounds both
 * before it starts.
 *
 * Invariant: the versions of a key stand from new to old, and those that an open view needs are
 * kept.
 */
#include "gen/simulated_store.h"

#include <assert.h>

#include "base/hash.h"

#define NOBODY UINT32_MAX

static const struct {
    enum store_view view;
    unsigned refuse;
} modes[] = {
#define ISOLATION(id, name, others, view, refuse, keeps, about) {view, refuse},
#include "gen/isolations.def"
#undef ISOLATION
};

void store_init(store *s, mem *m, enum store_mode mode, uint32_t sessions, uint32_t replicas,
                uint32_t lag, uint32_t initial, uint32_t list_cap)
{
    memset(s, 0, sizeof *s);
    s->mem = m;
    s->mode = mode;
    s->kind = modes[mode].view;
    s->refuse = modes[mode].refuse;
    s->initial = initial;
    s->lag = lag;
    s->list_cap = list_cap;
    s->views = mem_array0(m, view, sessions);
    if (s->kind == VIEW_STALE || s->kind == VIEW_SESSION)
        s->high = mem_array0(m, uint32_t, sessions);
    if (s->kind != VIEW_REPLICA) return;
    s->replicas = replicas;
    s->known = mem_array0(m, uint32_t, (size_t)replicas * replicas);
    s->seen = mem_array0(m, uint32_t, (size_t)sessions * replicas);
}

void store_free(store *s)
{
    vec_free(s->mem, &s->cells);
    vec_free(s->mem, &s->old);
    vec_free(s->mem, &s->elements);
    mem_put(s->mem, s->views);
    mem_put(s->mem, s->high);
    mem_put(s->mem, s->known);
    mem_put(s->mem, s->seen);
}

void store_key(store *s, uint32_t key)
{
    version initial = {.value = s->initial, .owner = NOBODY};
    while (s->cells.n <= key) vec_push(s->mem, &s->cells, initial);
    size_t need = s->cells.n * s->list_cap;
    if (s->elements.n < need) {
        vec_reserve(s->mem, &s->elements, need - s->elements.n);
        s->elements.n = need;
    }
}

/* --- views ------------------------------------------------------------------------------- */

void store_begin(store *s, uint32_t session, bool fresh)
{
    if (fresh && s->kind == VIEW_REPLICA) store_sync(s);
    view *v = &s->views[session];
    v->seq = v->floor = s->seq;
    v->serial = fresh ? VIEW_ALL : s->serial++;
    if (s->serial == VIEW_ALL) s->serial = 0;
    bool prefix = s->kind == VIEW_STALE || s->kind == VIEW_SESSION || s->kind == VIEW_OLD;
    if (s->kind == VIEW_COINS || prefix) {
        v->floor = s->seq > s->lag ? s->seq - s->lag : 0;
        if (v->floor < s->barrier) v->floor = s->barrier;
    }
    if (prefix) {
        uint32_t behind = v->seq - v->floor, own = s->high ? s->high[session] : 0;
        if (!fresh) v->seq -= (uint32_t)(hash_pair(s->seq, v->serial) % ((uint64_t)behind + 1));
        if (v->seq < own) v->seq = own;
        if (s->high) s->high[session] = v->seq;
    }
    if (s->kind == VIEW_REPLICA) {
        size_t n = s->replicas;
        memcpy(s->seen + session * n, s->known + session % n * n, n * sizeof *s->seen);
        v->floor = s->stable;
    }
    v->prev = s->last;
    v->next = 0;
    if (s->last)
        s->views[s->last - 1].next = session + 1;
    else
        s->first = session + 1;
    s->last = session + 1;
}

void store_end(store *s, uint32_t session)
{
    view *v = &s->views[session];
    if (s->kind == VIEW_SESSION) s->high[session] = s->seq;
    if (v->prev)
        s->views[v->prev - 1].next = v->next;
    else
        s->first = v->next;
    if (v->next)
        s->views[v->next - 1].prev = v->prev;
    else
        s->last = v->prev;
}

static bool inside(const store *s, uint32_t session, const version *v)
{
    const view *w = &s->views[session];
    switch (s->kind) {
    case VIEW_LATEST: return true;
    case VIEW_SNAPSHOT:
    case VIEW_STALE:
    case VIEW_SESSION:
    case VIEW_OLD: return v->seq <= w->seq;
    case VIEW_COINS:
        /* The coin belongs to the pair of transactions: all keys of one writer fall alike. */
        return v->seq <= w->floor ||
               (v->seq <= w->seq && (v->owner == session || w->serial == VIEW_ALL ||
                                     (hash_pair(v->seq, w->serial) & 1)));
    case VIEW_REPLICA:
        return v->seq <= w->floor ||
               v->seq <= s->seen[(size_t)session * s->replicas + v->owner % s->replicas];
    }
    return true;
}

const version *store_read(const store *s, uint32_t session, uint32_t key)
{
    const version *v = &s->cells.at[key];
    while (!inside(s, session, v)) {
        assert(v->older); /* the invariant: what a view needs is still there */
        v = &s->old.at[v->older - 1];
    }
    return v;
}

const version *store_newest(const store *s, uint32_t key)
{
    return &s->cells.at[key];
}

/* --- commits ----------------------------------------------------------------------------- */

/* Has a row of the range, or a key that it showed to be absent, changed since? */
static bool range_changed(const store *s, uint32_t session, const step *t, const store_row *rows)
{
    uint32_t end = t->value + t->seen;
    if (s->refuse & REFUSE_GAPS) {
        uint32_t to = t->flags & STEP_DONE ? t->to : rows[end - 1].key + 1;
        if (to > s->cells.n) to = (uint32_t)s->cells.n;
        for (uint32_t k = t->key; k < to; k++)
            if (s->cells.at[k].seq > s->views[session].seq) return true;
        return false;
    }
    for (uint32_t i = t->value; i < end; i++)
        if (rows[i].seen != STEP_MINE && s->cells.at[rows[i].key].seq != rows[i].seen) return true;
    return false;
}

static bool refused(const store *s, uint32_t session, const step *steps, uint32_t n,
                    const store_row *rows)
{
    bool writes = s->refuse & REFUSE_READERS;
    for (uint32_t i = 0; i < n && !writes; i++)
        writes = step_writes(&steps[i]) || steps[i].flags & STEP_LOCK;
    if (!writes) return false;
    for (uint32_t i = 0; i < n; i++) {
        const step *t = &steps[i];
        if (t->kind == STEP_SCAN || t->kind == STEP_ITER) {
            if ((s->refuse & REFUSE_READS) && range_changed(s, session, t, rows)) return true;
            continue;
        }
        const version *newest = &s->cells.at[t->key];
        if (step_writes(t)) {
            if ((s->refuse & REFUSE_WRITES) && !inside(s, session, newest)) return true;
            continue;
        }
        if (t->flags & STEP_LOCK && newest->seq != t->seen) return true;
        bool own_list = s->list_cap && (t->flags & STEP_OWN);
        bool external = !(t->flags & STEP_OWN) || own_list;
        if ((s->refuse & REFUSE_READS) && external && newest->seq != t->seen) return true;
        /* A list read after own appends has shown which version this one follows. */
        if (own_list && newest->seq != t->seen) return true;
    }
    return false;
}

static uint32_t keep_old(store *s, version v)
{
    uint32_t at = s->unused;
    if (at) {
        s->unused = s->old.at[at - 1].older;
        s->old.at[at - 1] = v;
        return at;
    }
    vec_push(s->mem, &s->old, v);
    return (uint32_t)s->old.n;
}

static void install(store *s, uint32_t session, uint32_t key, uint32_t value)
{
    version *cell = &s->cells.at[key];
    uint32_t older = 0;
    if (s->kind != VIEW_LATEST) {
        older = keep_old(s, *cell);
        /* Views open in order of age, so the first one has the lowest floor. */
        uint32_t floor = s->views[s->first - 1].floor, at = older;
        while (at && s->old.at[at - 1].seq > floor) at = s->old.at[at - 1].older;
        if (at) {
            uint32_t drop = s->old.at[at - 1].older;
            s->old.at[at - 1].older = 0;
            while (drop) {
                uint32_t next = s->old.at[drop - 1].older;
                s->old.at[drop - 1].older = s->unused;
                s->unused = drop;
                drop = next;
            }
        }
    }
    *cell = (version){.value = value, .seq = s->seq, .owner = session, .older = older};
}

bool store_commit(store *s, uint32_t session, const step *steps, uint32_t n, const store_row *rows)
{
    if (refused(s, session, steps, n, rows)) return false;
    bool numbered = false;
    for (uint32_t i = 0; i < n; i++) {
        const step *t = &steps[i];
        if (!step_writes(t)) continue;
        if (!numbered) s->seq++;
        numbered = true;
        if (t->kind == STEP_WRITE) {
            if (t->flags & STEP_LAST) install(s, session, t->key, t->value);
            continue;
        }
        /* Appends of one key: the elements as they come, the version with the last of them. */
        if (!(t->flags & STEP_LAST)) continue;
        uint32_t length = s->cells.at[t->key].value;
        uint32_t *list = s->elements.at + (size_t)t->key * s->list_cap;
        for (uint32_t j = 0; j <= i; j++) {
            if (steps[j].kind != STEP_APPEND || steps[j].key != t->key) continue;
            assert(length < s->list_cap);
            list[length++] = steps[j].value;
        }
        install(s, session, t->key, length);
    }
    if (numbered && s->high) s->high[session] = s->seq;
    if (numbered && s->kind == VIEW_REPLICA) {
        uint32_t home = session % s->replicas;
        s->known[(size_t)home * s->replicas + home] = s->seq;
    }
    return true;
}

/* --- replicas ---------------------------------------------------------------------------- */

/* Every commit up to `stable` is known everywhere. */
static void find_stable(store *s)
{
    uint32_t stable = s->seq, n = s->replicas;
    for (uint32_t o = 0; o < n; o++) {
        uint32_t least = UINT32_MAX;
        for (uint32_t r = 0; r < n; r++) {
            uint32_t k = s->known[(size_t)r * n + o];
            if (k < least) least = k;
        }
        if (least < s->known[(size_t)o * n + o] && least < stable) stable = least;
    }
    s->stable = stable;
}

/* Both sides know causally closed sets, so the union is one too and needs no further order. */
void store_talk(store *s, uint32_t to, uint32_t from)
{
    uint32_t n = s->replicas;
    uint32_t *a = s->known + (size_t)to * n;
    const uint32_t *b = s->known + (size_t)from * n;
    for (uint32_t o = 0; o < n; o++)
        if (b[o] > a[o]) a[o] = b[o];
    if (++s->talks >= n) { /* costs n squared, hence not each time */
        find_stable(s);
        s->talks = 0;
    }
}

void store_sync(store *s)
{
    for (uint32_t r = 1; r < s->replicas; r++) store_talk(s, 0, r);
    for (uint32_t r = 1; r < s->replicas; r++) store_talk(s, r, 0);
}

void store_barrier(store *s)
{
    s->barrier = s->seq;
    if (s->kind == VIEW_REPLICA) store_sync(s);
}
