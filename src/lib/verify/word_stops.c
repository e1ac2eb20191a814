/*
 * word_stops.c - a network of steps without its tests, for walks that go backwards.
 *
 * A network (Thompson 1968) has more tests that say nothing than steps, and a walk would take each
 * of them at each place.  So what lies between two steps is worked out here once: for every state
 * at which a step begins, and both classes of transactions, the steps that end there when tests are
 * followed backwards as far as they go.
 *
 * Cost: one search of the tests for each such state; the lists are shared by states that have the
 * same ones.
 */
#include "base/hash.h"
#include "verify/words_state.h"

typedef struct stop_maker {
    word_stops *out;
    const words *w;
    net x;
    uint32_t *stop_of;     /* per state, or NO_ID */
    uint32_t *mark, epoch; /* per state: seen by the search at hand */
    VEC(uint32_t) todo;    /* of that search */
    VEC(uint32_t) wires;   /* of all stops: what goes on from each, as wires */
} stop_maker;

static void reach_state(stop_maker *k, uint32_t state)
{
    if (k->mark[state] == k->epoch) return;
    k->mark[state] = k->epoch;
    vec_push(k->w->c->m, &k->todo, state);
}

/* What ends at a state, or at one from which tests of the class lead to it. */
static void search_tests(stop_maker *k, uint32_t state, uint32_t class, word_stop *s)
{
    const words *w = k->w;
    s->first[class] = (uint32_t)k->wires.n;
    k->epoch++;
    k->todo.n = 0;
    reach_state(k, state);
    for (size_t i = 0; i < k->todo.n; i++) {
        uint32_t at = k->todo.at[i];
        s->begins[class] = s->begins[class] || at == k->x.in;
        for (uint32_t j = w->into_first[at]; j < w->into_first[at + 1]; j++) {
            const wire *e = &w->wires.at[w->into[j]];
            if (e->letter != W_TEST)
                vec_push(w->c->m, &k->wires, w->into[j]);
            else if (e->classes & 1u << class)
                reach_state(k, e->from);
        }
        guard_tick(w->c->m->guard);
    }
    s->end[class] = (uint32_t)k->wires.n;
    for (uint32_t i = s->first[class]; i < s->end[class]; i++)
        s->hash += hash_pair(class, k->wires.at[i]); /* in whatever order they were found */
    s->hash += s->begins[class] ? hash_pair(class, NO_ID) : 0;
}

/* Are the wires of both the same ones?  No list has a wire twice. */
static bool same_onward(stop_maker *k, const word_stop *a, const word_stop *b)
{
    if (a->hash != b->hash) return false;
    for (uint32_t class = 0; class < CLASS_COUNT; class ++) {
        if (a->begins[class] != b->begins[class] ||
            a->end[class] - a->first[class] != b->end[class] - b->first[class])
            return false;
        k->epoch++;
        for (uint32_t i = a->first[class]; i < a->end[class]; i++)
            k->mark[k->w->states + k->wires.at[i]] = k->epoch;
        for (uint32_t i = b->first[class]; i < b->end[class]; i++)
            if (k->mark[k->w->states + k->wires.at[i]] != k->epoch) return false;
    }
    return true;
}

static uint32_t stop_at(stop_maker *k, uint32_t state)
{
    word_stop s = {0};
    if (k->stop_of[state] != NO_ID) return k->stop_of[state];
    size_t before = k->wires.n;
    for (uint32_t class = 0; class < CLASS_COUNT; class ++) search_tests(k, state, class, &s);
    uint32_t found = 0;
    while (found < k->out->stops.n && !same_onward(k, &k->out->stops.at[found], &s)) found++;
    if (found < k->out->stops.n) {
        k->wires.n = before;
    } else {
        vec_push(k->w->c->m, &k->out->stops, s);
    }
    return k->stop_of[state] = found;
}

/* Wires of one letter that come from one stop are one track. */
static uint32_t *number_tracks(stop_maker *k)
{
    const words *w = k->w;
    uint32_t *track_of = mem_array(w->c->m, uint32_t, w->wires.n + 1);
    for (size_t i = 0; i < w->wires.n; i++) track_of[i] = NO_ID;
    for (size_t i = 0; i < k->wires.n; i++) {
        uint32_t index = k->wires.at[i], found = 0;
        const wire *e = &w->wires.at[index];
        word_track t = {e->letter, e->classes, k->stop_of[e->from]};
        if (track_of[index] != NO_ID) continue;
        for (; found < k->out->tracks.n; found++) {
            const word_track *other = &k->out->tracks.at[found];
            if (other->letter == t.letter && other->classes == t.classes && other->stop == t.stop)
                break;
        }
        if (found == k->out->tracks.n) vec_push(w->c->m, &k->out->tracks, t);
        track_of[index] = found;
        guard_tick(w->c->m->guard);
    }
    return track_of;
}

static void list_tracks(stop_maker *k, const uint32_t *track_of)
{
    mem *m = k->w->c->m;
    uint32_t *last = mem_array0(m, uint32_t, k->out->tracks.n + 1), list = 0;
    for (size_t i = 0; i < k->out->stops.n; i++)
        for (uint32_t class = 0; class < CLASS_COUNT; class ++) {
            word_stop *s = &k->out->stops.at[i];
            uint32_t first = s->first[class], end = s->end[class];
            list++;
            s->first[class] = (uint32_t)k->out->onward.n;
            for (uint32_t j = first; j < end; j++) {
                uint32_t track = track_of[k->wires.at[j]];
                if (last[track] == list) continue;
                last[track] = list;
                vec_push(m, &k->out->onward, track);
            }
            s->end[class] = (uint32_t)k->out->onward.n;
        }
    mem_put(m, last);
}

void word_stops_make(word_stops *out, const words *w, net x)
{
    stop_maker k = {.out = out, .w = w, .x = x};
    mem *m = w->c->m;
    memset(out, 0, sizeof *out);
    k.stop_of = mem_array(m, uint32_t, (size_t)w->states + 1);
    for (uint32_t i = 0; i < w->states; i++) k.stop_of[i] = NO_ID;
    k.mark = mem_array0(m, uint32_t, (size_t)w->states + w->wires.n + 1);
    stop_at(&k, x.out);
    for (size_t i = 0; i < k.wires.n; i++) stop_at(&k, w->wires.at[k.wires.at[i]].from);
    uint32_t *track_of = number_tracks(&k);
    list_tracks(&k, track_of);
    mem_put(m, k.stop_of);
    mem_put(m, k.mark);
    mem_put(m, track_of);
    vec_free(m, &k.todo);
    vec_free(m, &k.wires);
}
