/*
 * check_argument.c - looks an argument up in the history.
 *
 * The second opinion of this room: it takes from the scene only who the actors are and which
 * operations its reads are, and asks the history for the rest again, one fact at a time, with no
 * regard to speed; which cycles a level forbids is written here once more, link by link.
 */
#include <assert.h>

#include "explain/cycle_shape.h"
#include "history/own_levels.h"
#include "opt/mixed_row.h"

typedef struct assumption {
    bool source;
    uint32_t a, b; /* order: a's version before b's; source: read a from actor b (NO_ID initial) */
    key_id key;
} assumption;

typedef struct append_seen {
    op_id op;
    bool once;
} append_seen;

typedef struct checker {
    const argument *arg;
    const scene *s;
    const history *h;
    const arg_ask *ask;
    mem *m;
    VEC(assumption) path;
    uint8_t *looked;           /* per read: its sources are known */
    actors *from;              /* per read */
    bool *initial, *elsewhere; /* per read: the initial state; somebody who is not in the scene */
    uint8_t *tells;            /* per key of the scene: 1 no, 2 yes (tells_appends) */
    VEC(append_seen) appends;  /* that were asked about */
} checker;

static bool writes(const history *h, op_id o)
{
    enum op_kind k = op_kind_of(h, o);
    return (k == OP_WRITE || k == OP_DELETE || k == OP_APPEND) && !(h->op_kind[o] & OP_FAILED);
}

static value_id same(value_id v)
{
    return v == VALUE_EMPTY ? VALUE_NULL : v;
}

/* The last write of key k by transaction t, or NO_ID. */
static op_id last_write(const history *h, txn_id t, key_id k)
{
    for (op_id o = h->txn_op[t + 1]; o-- > h->txn_op[t];)
        if (writes(h, o) && h->op_key[o] == k) return o;
    return NO_ID;
}

static bool is_actor(const checker *c, txn_id t, uint32_t *a)
{
    for (*a = 0; *a < c->s->n; ++*a)
        if (c->s->txn[*a] == t) return true;
    return false;
}

/* --- levels of single transactions ------------------------------------------------------------ */

/* The row of a mixture that the transaction names itself. */
static enum mixed_row row_named(const checker *c, txn_id t)
{
    size_t n;
    const char *text = history_level_text(c->h, t, &n);
    return text ? mixed_row_of(text, n) : n ? ROW_NONE : ROW_DEFAULT;
}

/* The one that it is held to: MIXPG-1 says which that is for PostgreSQL's. */
static enum mixed_row row_held(const checker *c, uint32_t actor)
{
    enum mixed_row row = row_named(c, c->s->txn[actor]);
    return c->ask->level == LEVEL_MIXED_PG ? mixed_row_of_postgres(row) : row;
}

/* Do reads of the actor say nothing of whom it read from?  MIX-3, as at read-uncommitted. */
static bool says_no_source(const checker *c, uint32_t actor)
{
    if (c->ask->level == LEVEL_RU) return true;
    return level_is_mixed(c->ask->level) && row_held(c, actor) == ROW_RU;
}

/* MIX-5: does the next version come after the reader's begin? */
static bool is_protected(const checker *c, uint32_t actor, bool predicate)
{
    enum mixed_row row = row_held(c, actor);
    return row == ROW_SI || row == ROW_SER || (row == ROW_RR && !predicate);
}

/* --- lists ------------------------------------------------------------------------------------ */

static atom shown_list(const checker *c, uint32_t read)
{
    value_id v = c->s->reads.at[read].value;
    return v == VALUE_NULL ? (atom){.kind = ATOM_LIST} : value_atom(c->h, v);
}

/* Where in the list actor a's appends first stand, or NO_ID; *last: where they end. */
static uint32_t place_in(const checker *c, uint32_t read, uint32_t a, uint32_t *last)
{
    const history *h = c->h;
    atom l = shown_list(c, read);
    uint32_t first = NO_ID;
    for (uint32_t i = 0; l.kind == ATOM_LIST && i < l.len; i++)
        for (op_id o = h->txn_op[c->s->txn[a]]; o < h->txn_op[c->s->txn[a] + 1]; o++) {
            if (!writes(h, o) || h->op_key[o] != c->s->reads.at[read].key ||
                h->op_value[o] != h->elements.at[l.as.offset + i])
                continue;
            if (first == NO_ID) first = i;
            *last = i;
        }
    return first;
}

/* Only appends, each element once: then a list tells who appended what. */
static bool only_appends(const checker *c, key_id k)
{
    const history *h = c->h;
    for (size_t t = 0; t < h->txns; t++) {
        if (txn_status_of(h, (txn_id)t) == TXN_ABORTED) continue;
        guard_tick(c->m->guard);
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++)
            if (writes(h, o) && h->op_key[o] == k && op_kind_of(h, o) != OP_APPEND) return false;
    }
    return !h->init_unknown;
}

static bool tells_appends(checker *c, key_id k)
{
    uint8_t *known = &c->tells[c->s->slot[k]];
    if (!*known) *known = only_appends(c, k) ? 2 : 1;
    return *known == 2;
}

/* Did nobody else append what operation o did? */
static bool appended_once(const checker *c, op_id o, txn_id mine)
{
    const history *h = c->h;
    for (size_t t = 0; t < h->txns; t++) {
        guard_tick(c->m->guard);
        if (t == mine || txn_status_of(h, (txn_id)t) == TXN_ABORTED) continue;
        for (op_id p = h->txn_op[t]; p < h->txn_op[t + 1]; p++)
            if (writes(h, p) && h->op_key[p] == h->op_key[o] && h->op_value[p] == h->op_value[o])
                return false;
    }
    return true;
}

/* Did an aborted transaction append it, too?  A dirty read may be from there. */
static bool appended_in_vain(const checker *c, op_id o)
{
    const history *h = c->h;
    for (op_id p = 0; p < h->ops; p++)
        if (writes(h, p) && h->op_key[p] == h->op_key[o] && h->op_value[p] == h->op_value[o] &&
            txn_status_of(h, txn_of_op(h, p)) == TXN_ABORTED)
            return true;
    return false;
}

/* Of what a appended: is each element that the list shows of nobody else? */
static bool alone(checker *c, uint32_t read, uint32_t a)
{
    const history *h = c->h;
    txn_id mine = c->s->txn[a];
    atom l = shown_list(c, read);
    for (op_id o = h->txn_op[mine]; o < h->txn_op[mine + 1]; o++) {
        bool shown = false;
        if (!writes(h, o) || h->op_key[o] != c->s->reads.at[read].key) continue;
        for (uint32_t i = 0; l.kind == ATOM_LIST && i < l.len && !shown; i++)
            shown = h->elements.at[l.as.offset + i] == h->op_value[o];
        if (!shown) continue;
        size_t i = 0;
        while (i < c->appends.n && c->appends.at[i].op != o) i++;
        if (i == c->appends.n) {
            append_seen fresh = {o, appended_once(c, o, mine)};
            vec_push(c->m, &c->appends, fresh);
        }
        if (!c->appends.at[i].once) return false;
        if (says_no_source(c, c->s->reads.at[read].actor) && appended_in_vain(c, o)) return false;
    }
    return true;
}

/* --- sources of reads ------------------------------------------------------------------------- */

static void look_up_list(checker *c, uint32_t read)
{
    const history *h = c->h;
    const scene_read *r = &c->s->reads.at[read];
    atom l = shown_list(c, read), init = {.kind = ATOM_LIST};
    uint32_t own = 0;
    if (h->key_init[r->key] != VALUE_NULL) init = value_atom(h, h->key_init[r->key]);
    if (!tells_appends(c, r->key) || l.kind != ATOM_LIST || init.kind != ATOM_LIST) {
        c->elsewhere[read] = true;
        return;
    }
    for (op_id o = h->txn_op[c->s->txn[r->actor]]; o < r->op; o++)
        own += writes(h, o) && h->op_key[o] == r->key;
    if (own > l.len) return;
    uint32_t n = l.len - own;
    if (n == init.len) {
        c->initial[read] = true;
        for (uint32_t i = 0; i < n; i++)
            c->initial[read] = c->initial[read] && h->elements.at[l.as.offset + i] ==
                                                       h->elements.at[init.as.offset + i];
    }
    for (size_t t = 0; n && t < h->txns; t++) {
        uint32_t a;
        guard_tick(c->m->guard);
        if (txn_status_of(h, (txn_id)t) == TXN_ABORTED || t == c->s->txn[r->actor]) continue;
        op_id o = last_write(h, (txn_id)t, r->key);
        if (o == NO_ID || h->op_value[o] != h->elements.at[l.as.offset + n - 1]) continue;
        if (is_actor(c, (txn_id)t, &a))
            c->from[read] |= actor_bit(a);
        else
            c->elsewhere[read] = true;
    }
}

static void look_up(checker *c, uint32_t read)
{
    const history *h = c->h;
    const scene_read *r = &c->s->reads.at[read];
    label named;
    bool initial, hinted = scene_hint(h, r->op, r->key, &named, &initial);
    bool tomb = r->value == VALUE_NULL && h->op_kind[r->op] & OP_TOMB, open = h->init_unknown;
    if (c->looked[read]) return;
    c->looked[read] = 1;
    if (r->list) {
        look_up_list(c, read);
        return;
    }
    for (size_t i = 0; i < h->init_map.n; i++) open = open && h->init_map.at[i].key != r->key;
    c->initial[read] =
        !tomb && (!hinted || initial) && (open || same(h->key_init[r->key]) == r->value);
    for (size_t t = 0; t < h->txns; t++) {
        uint32_t a;
        guard_tick(c->m->guard);
        if (txn_status_of(h, (txn_id)t) == TXN_ABORTED || t == c->s->txn[r->actor]) continue;
        op_id o = last_write(h, (txn_id)t, r->key);
        if (o == NO_ID || same(h->op_value[o]) != r->value) continue;
        if (tomb && !(h->op_kind[o] & OP_TOMB)) continue;
        if (hinted && (initial || h->txn_label[t] != named)) continue;
        if (is_actor(c, (txn_id)t, &a))
            c->from[read] |= actor_bit(a);
        else
            c->elsewhere[read] = true;
    }
}

/* Was it read from `from` (NO_ID: the initial state), by its only source or by assumption? */
static bool read_from(checker *c, uint32_t read, uint32_t from)
{
    look_up(c, read);
    if (c->elsewhere[read]) return false;
    actors all = c->from[read];
    if (from == NO_ID && c->initial[read] && !all) return true;
    if (from != NO_ID && all == actor_bit(from) && !c->initial[read]) return true;
    bool possible = from == NO_ID ? c->initial[read] : all >> from & 1;
    for (size_t i = 0; possible && i < c->path.n; i++)
        if (c->path.at[i].source && c->path.at[i].a == read && c->path.at[i].b == from) return true;
    return false;
}

/* --- who takes part --------------------------------------------------------------------------- */

static bool takes_part(checker *c, uint32_t a, actors asked)
{
    const scene *s = c->s;
    if (txn_status_of(c->h, s->txn[a]) == TXN_COMMITTED) return true;
    if (asked & actor_bit(a)) return false;
    asked |= actor_bit(a);
    for (uint32_t i = 0; i < s->reads.n; i++) {
        uint32_t last;
        const scene_read *r = &s->reads.at[i];
        if (r->actor == a || says_no_source(c, r->actor)) continue;
        if (!takes_part(c, r->actor, asked)) continue;
        if (r->list) {
            if (place_in(c, i, a, &last) != NO_ID && tells_appends(c, r->key) && alone(c, i, a))
                return true;
        } else if (r->from & actor_bit(a) && read_from(c, i, a)) {
            return true;
        }
    }
    return false;
}

/* --- links ------------------------------------------------------------------------------------ */

/* Does the list that was read show a's version before b's? */
static bool list_shows(checker *c, uint32_t read, uint32_t a, uint32_t b)
{
    const scene_read *r = &c->s->reads.at[read];
    uint32_t a_last = 0, b_last = 0, a_at, b_at;
    if (!r->list || !takes_part(c, r->actor, 0)) return false;
    if (!tells_appends(c, r->key) || !alone(c, read, a) || !alone(c, read, b)) return false;
    a_at = place_in(c, read, a, &a_last);
    b_at = place_in(c, read, b, &b_last);
    if (a_at == NO_ID) return false;
    if (b_at != NO_ID && a_at < b_last) return true; /* an element of a before one of b */
    if (says_no_source(c, r->actor)) /* who reads what it has appended to comes last */
        return a != b && b == r->actor && scene_wrote_before(c->s, b, r->op, r->key);
    if (b_at != NO_ID) return false;
    /* b is not in it: then behind all that it shows, be they its last element's or not */
    return last_write(c->h, c->s->txn[b], r->key) != NO_ID;
}

static bool comes_first(checker *c, uint32_t a, uint32_t b, key_id k)
{
    const scene_write *x = scene_installs(c->s, a, k), *y = scene_installs(c->s, b, k);
    if (!x || !y || a == b) return false;
    if (x->placed && y->placed && x->place < y->place) return true;
    for (size_t i = 0; i < c->path.n; i++) {
        const assumption *p = &c->path.at[i];
        if (!p->source && p->key == k && p->a == a && p->b == b) return true;
    }
    for (uint32_t i = 0; i < c->s->reads.n; i++)
        if (c->s->reads.at[i].key == k && list_shows(c, i, a, b)) return true;
    return false;
}

static const char *check_rw(checker *c, const arg_link *l)
{
    const scene_read *r = &c->s->reads.at[l->read];
    uint32_t last;
    if (r->actor != l->from || r->key != l->key || l->from == l->to)
        return "an anti-dependency of another read";
    if (last_write(c->h, c->s->txn[l->to], l->key) == NO_ID) return "nothing was overwritten";
    if (l->predicate != r->predicate) return "an item for a predicate";
    if (l->why == SHOWN_LACKING) {
        bool ok =
            r->list && tells_appends(c, r->key) && place_in(c, l->read, l->to, &last) == NO_ID;
        return ok ? NULL : "the list does not lack it";
    }
    if (l->why == SHOWN_INITIAL)
        return read_from(c, l->read, NO_ID) ? NULL : "it did not surely read the initial version";
    if (l->why != SHOWN_ORDER) return "no reason";
    if (!read_from(c, l->read, l->source)) return "it did not surely read that version";
    return comes_first(c, l->source, l->to, l->key) ? NULL : "the order of versions is not known";
}

static bool directly_next(checker *c, uint32_t a, uint32_t b, key_id k)
{
    const history *h = c->h;
    if (!comes_first(c, a, b, k)) return false;
    for (size_t t = 0; t < h->txns; t++) {
        uint32_t u;
        guard_tick(c->m->guard);
        if (txn_status_of(h, (txn_id)t) == TXN_ABORTED || last_write(h, (txn_id)t, k) == NO_ID)
            continue;
        if (!is_actor(c, (txn_id)t, &u)) return false;
        if (u != a && u != b && !comes_first(c, u, a, k) && !comes_first(c, b, u, k)) return false;
    }
    return true;
}

/* Does it name what there is? */
static bool well_made(const checker *c, const arg_link *l)
{
    const scene *s = c->s;
    bool of_key = l->kind >= LINK_WR, of_read = l->kind == LINK_WR || l->kind == LINK_RW;
    if (l->from >= s->n || l->to >= s->n || l->kind > LINK_RW || l->times > TIMES_BEGIN_COMMIT)
        return false;
    if (of_key && (l->key >= history_keys(s->h) || !scene_key_of(s, l->key))) return false;
    if (l->why == SHOWN_ORDER && l->source >= s->n) return false;
    return !of_read || l->read < s->reads.n;
}

static const char *check_link(checker *c, const arg_link *l)
{
    static const enum scene_when from[] = {COMMIT_RETURNED, COMMIT_RETURNED, BEGIN_RETURNED},
                                 to[] = {BEGIN_CALLED, COMMIT_CALLED, COMMIT_CALLED};
    const history *h = c->h;
    if (!well_made(c, l)) return "a link to nowhere";
    txn_id x = c->s->txn[l->from], y = c->s->txn[l->to];
    if (!takes_part(c, l->from, 0) || !takes_part(c, l->to, 0))
        return "a transaction that may not have committed";
    switch (l->kind) {
    case LINK_SO:
        return c->ask->so && x < y && h->txn_session[x] == h->txn_session[y] &&
                       txn_status_of(h, x) == TXN_COMMITTED
                   ? NULL
                   : "no session order";
    case LINK_RT:
        return shape_times(c->ask) >> l->times & 1 &&
                       scene_before(c->s, l->from, from[l->times], l->to, to[l->times],
                                    c->ask->drift)
                   ? NULL
                   : "no real-time order";
    case LINK_WR:
        if (c->s->reads.at[l->read].actor != l->to || c->s->reads.at[l->read].key != l->key)
            return "another read";
        return read_from(c, l->read, l->from) ? NULL : "it did not surely read from there";
    case LINK_RW: return check_rw(c, l);
    default: break;
    }
    if (l->why == SHOWN_NEXT)
        return directly_next(c, l->from, l->to, l->key) ? NULL : "another version may be between";
    return comes_first(c, l->from, l->to, l->key) ? NULL : "the order of versions is not known";
}

/* --- cycles ----------------------------------------------------------------------------------- */

/* In a graph of begins and commits: who arrives at a commit cannot leave from a begin. */
static bool events_fit(const arg_link *in, const arg_link *out, bool prefix)
{
    bool at_commit = in->kind == LINK_RW || (in->kind == LINK_WW && prefix) ||
                     (in->kind == LINK_RT && in->times != TIMES_COMMIT_BEGIN);
    bool from_begin =
        out->kind == LINK_RW || (out->kind == LINK_RT && out->times == TIMES_BEGIN_COMMIT);
    return !(at_commit && from_begin);
}

/* Where in its transaction a link leaves (or arrives): 0 in the snapshot, else at the operation
   that locks or writes, plus one; where all of these are one part, 1. */
static uint32_t part_of(const checker *c, const arg_link *l, bool leaves)
{
    const history *h = c->h;
    uint32_t actor = leaves ? l->from : l->to;
    bool tight = c->ask->level == LEVEL_INNODB_RR_TIGHT,
         reads = l->kind == (leaves ? LINK_RW : LINK_WR);
    op_id first = h->txn_op[c->s->txn[actor]], at = last_write(h, c->s->txn[actor], l->key);
    if (reads) {
        const scene_read *r = &c->s->reads.at[l->read];
        at = NO_ID;
        if (h->op_kind[r->op] & OP_LOCK) at = r->op;
        /* a list after own appends shows what they were appended to */
        for (op_id o = r->op; at == NO_ID && r->list && o-- > first;)
            if ((writes(h, o) || op_is_local_write(h, o)) && h->op_key[o] == r->key) at = o;
    }
    return at == NO_ID ? 0 : tight ? 1 : at - first + 1;
}

/* Is the cycle one of the parts: does every transaction go on where it was reached, or later? */
static bool parts_fit(const checker *c, const arg_link *l, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (l[i].kind < LINK_WR || part_of(c, &l[i], false) > part_of(c, &l[(i + 1) % n], true))
            return false;
    return true;
}

/* Do exactly these links lead back, after the anti-dependency? */
static bool leads_back(const arg_link *l, uint32_t n, uint32_t at, const uint8_t *kinds,
                       uint32_t length)
{
    for (uint32_t i = 0; n == length + 1 && i < length; i++)
        if (l[(at + 1 + i) % n].kind != kinds[i]) return false;
    return n == length + 1;
}

/* MIXPG-2: does somebody who did not abort delete the key physically? */
static bool deleted(const checker *c, key_id k)
{
    const history *h = c->h;
    for (txn_id t = 0; t < h->txns; t++)
        for (op_id o = h->txn_op[t]; txn_status_of(h, t) != TXN_ABORTED && o < h->txn_op[t + 1];
             o++)
            if (op_kind_of(h, o) == OP_DELETE && h->op_key[o] == k &&
                !(h->op_kind[o] & (OP_FAILED | OP_TOMB)))
                return true;
    return false;
}

/* MIX-1 to MIX-6: does every transaction go on at the event where it was reached, or after it?
   Those of snapshot isolation have a begin, which is reached by what they read from or write over,
   and left by what replaced what they read. */
static bool mixture_fits(const checker *c, const arg_link *l, uint32_t n)
{
    bool postgres = c->ask->level == LEVEL_MIXED_PG;
    for (uint32_t i = 0; i < n; i++) {
        const arg_link *in = &l[i], *out = &l[(i + 1) % n];
        if (in->kind == LINK_RW && !is_protected(c, in->from, in->predicate)) return false;
        if (in->kind == LINK_WR && says_no_source(c, in->to)) return false;
        if (row_held(c, in->to) == ROW_NONE) return false;
        bool commit =
            in->kind == LINK_RW || (in->kind == LINK_WW && postgres && deleted(c, in->key));
        if (row_held(c, in->to) == ROW_SI && commit && out->kind == LINK_RW) return false;
    }
    return true;
}

/* MIXPG-3: is everybody of another level who writes the key before what was read, or after what
   replaced it, if it took part at all? */
static bool none_between(checker *c, const arg_link *l)
{
    const history *h = c->h;
    for (txn_id t = 0; t < h->txns; t++) {
        uint32_t y, last;
        guard_tick(c->m->guard);
        if (txn_status_of(h, t) == TXN_ABORTED || row_named(c, t) == ROW_SER) continue;
        if (last_write(h, t, l->key) == NO_ID) continue;
        if (!is_actor(c, t, &y)) return false;
        if (comes_first(c, l->to, y, l->key)) continue;
        if (l->why == SHOWN_ORDER && (y == l->source || comes_first(c, y, l->source, l->key)))
            continue;
        if (l->why == SHOWN_LACKING && place_in(c, l->read, y, &last) != NO_ID) continue;
        return false;
    }
    return true;
}

static bool among_serializable(checker *c, const arg_link *l, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (row_named(c, c->s->txn[l[i].from]) != ROW_SER || l[i].kind == LINK_RT) return false;
        if (l[i].kind == LINK_RW && !none_between(c, &l[i])) return false;
    }
    return true;
}

static bool forbidden(checker *c, const arg_link *l, uint32_t n)
{
    static const uint8_t in_session[] = {LINK_WR, LINK_SO, LINK_WR};
    const scene *s = c->s;
    uint32_t rw = 0, at = 0, wr = 0, ww = 0, readers = 0;
    bool item = true, events = true, prefix = true;
    actors seen = 0;
    for (uint32_t i = 0; i < n; i++) {
        const arg_link *next = &l[(i + 1) % n];
        if (l[i].kind == LINK_RW) {
            rw++;
            at = i;
            item = item && !l[i].predicate;
        }
        wr += l[i].kind == LINK_WR;
        ww += l[i].kind == LINK_WW;
        events = events && events_fit(&l[i], next, false);
        prefix = prefix && events_fit(&l[i], next, true);
        if (!(seen & actor_bit(l[i].from)) && !(s->updates & actor_bit(l[i].from))) readers++;
        seen |= actor_bit(l[i].from);
    }
    const arg_link *a = &l[at], *last = &l[(at + n - 1) % n];
    op_id read = rw ? s->reads.at[a->read].op : 0;
    const scene_write *own = last->kind == LINK_WW ? scene_installs(s, a->from, last->key) : NULL;
    op_id arrived = last->kind == LINK_WR ? s->reads.at[last->read].op : own ? own->op : 0;
    bool dependencies = !rw, own_key = n == 2 && rw == 1 && ww == 1 && item && last->key == a->key;
    switch (c->ask->level) {
    case LEVEL_RU: return dependencies && !wr;
    case LEVEL_RC: return dependencies;
    case LEVEL_CS: return dependencies || own_key;
    case LEVEL_MAV: return dependencies || (n == 2 && rw == 1 && wr == 1 && arrived < read);
    case LEVEL_MV: return dependencies || (rw == 1 && arrived <= read);
    case LEVEL_CV:
    case LEVEL_FCV:
    case LEVEL_PSI: return rw <= 1;
    case LEVEL_RR: return item;
    case LEVEL_US: return dependencies || readers <= 1;
    case LEVEL_RA: return dependencies || (n == 2 && rw == 1 && !ww);
    case LEVEL_CC: return dependencies || (rw == 1 && !ww);
    case LEVEL_UA: return dependencies || (n == 2 && rw == 1);
    case LEVEL_NLU:
        /* (The version that it directly replaced is one that its read missed: own_key.) */
        return dependencies || (n == 2 && rw == 1 && (!ww || last->why == SHOWN_NEXT || own_key));
    case LEVEL_RYW: return dependencies || (rw == 1 && leads_back(l, n, at, in_session + 1, 1));
    case LEVEL_MR: return dependencies || (rw == 1 && leads_back(l, n, at, in_session, 2));
    case LEVEL_MW: return dependencies || (rw == 1 && leads_back(l, n, at, in_session + 1, 2));
    case LEVEL_WFR: return dependencies || (rw == 1 && leads_back(l, n, at, in_session, 3));
    case LEVEL_INNODB_RR:
    case LEVEL_INNODB_RR_TIGHT: return item && parts_fit(c, l, n);
    case LEVEL_PC: return prefix;
    case LEVEL_SI:
    case LEVEL_GSI:
    case LEVEL_PCSI:
    case LEVEL_STRONG_SI: return events;
    case LEVEL_SER:
    case LEVEL_SSER:
    case LEVEL_LIN: return true;
    case LEVEL_MIXED: return mixture_fits(c, l, n);
    case LEVEL_MIXED_PG: return mixture_fits(c, l, n) || among_serializable(c, l, n);
    default: return false;
    }
}

static const char *check_cycle(checker *c, const arg_node *n)
{
    const arg_link *l = c->arg->links.at + n->first;
    if (n->n < 2 || n->first + (size_t)n->n > c->arg->links.n) return "no cycle";
    for (uint32_t i = 0; i < n->n; i++) {
        if (l[i].to != l[(i + 1) % n->n].from) return "links that do not meet";
        const char *wrong = check_link(c, &l[i]);
        if (wrong) return wrong;
    }
    return forbidden(c, l, n->n) ? NULL : "the level does not forbid this cycle";
}

/* --- reads that nothing explains -------------------------------------------------------------- */

static bool wrote(const history *h, txn_id t, key_id k, value_id v)
{
    for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++)
        if (writes(h, o) && h->op_key[o] == k && same(h->op_value[o]) == v) return true;
    return false;
}

/* Counted once more, in the whole history: how often is the element in the list, and how often was
   it put there? */
static const char *check_repeated(const checker *c, const scene_read *r)
{
    const history *h = c->h;
    uint64_t shown = 0, there = 0;
    const value_id of[] = {r->value, h->key_init[r->key]};
    for (int i = 0; i < 2; i++) {
        if (of[i] == VALUE_NULL || of[i] == VALUE_UNKNOWN) continue;
        atom a = value_atom(h, of[i]);
        uint64_t *sum = i ? &there : &shown;
        *sum += of[i] == r->repeated;
        for (uint32_t j = 0; a.kind == ATOM_LIST && j < a.len; j++)
            *sum += h->elements.at[a.as.offset + j] == r->repeated;
    }
    for (op_id o = 0; o < h->ops; o++)
        there += writes(h, o) && h->op_key[o] == r->key && h->op_value[o] == r->repeated;
    return !h->init_unknown && shown > there && shown == r->times_seen && there == r->times_put
               ? NULL
               : "it was appended so often";
}

/* Looked for once more, in the whole history: a list with an element that nobody put there, of any
   outcome, or without what was there at first, which nobody deleted.  Own appends may follow. */
static const char *check_unheard(const checker *c, const scene_read *r)
{
    const history *h = c->h;
    value_id first = same(h->key_init[r->key]);
    atom seen = r->value == VALUE_NULL ? (atom){.kind = ATOM_LIST} : value_atom(h, r->value);
    atom init = first == VALUE_NULL ? (atom){.kind = ATOM_LIST} : value_atom(h, first);
    bool list = seen.kind == ATOM_LIST;
    uint32_t n = list ? seen.len : 1, foreign = 0;
    if (h->init_unknown || r->value == first) return "it may have been there at first";
    for (uint32_t i = 0; i < n; i++) {
        value_id e = list ? h->elements.at[seen.as.offset + i] : r->value;
        bool put = false, own = false;
        for (uint32_t j = 0; list && init.kind == ATOM_LIST && j < init.len; j++)
            put = put || h->elements.at[init.as.offset + j] == e;
        for (op_id o = 0; o < h->ops; o++) {
            bool it = writes(h, o) && h->op_key[o] == r->key && h->op_value[o] == e;
            put = put || (it && (list || op_kind_of(h, o) != OP_APPEND));
            own = own || (it && txn_of_op(h, o) == c->s->txn[r->actor] && o < r->op);
        }
        if (!put) return NULL;
        foreign += !own;
    }
    for (op_id o = 0; o < h->ops; o++)
        if (op_kind_of(h, o) == OP_DELETE && h->op_key[o] == r->key) return "it was deleted";
    return list && !foreign ? NULL : "somebody put it there";
}

static const char *check_fault(checker *c, const arg_node *n)
{
    const history *h = c->h;
    const scene_read *r = &c->s->reads.at[n->read];
    bool weakest = says_no_source(c, r->actor);
    if (!takes_part(c, r->actor, 0)) return "a read that may not count";
    if (r->fault == SCENE_NOT_OWN) {
        op_id own = NO_ID;
        for (op_id o = h->txn_op[c->s->txn[r->actor]]; o < r->op; o++)
            if (writes(h, o) && h->op_key[o] == r->key) own = o;
        return own != NO_ID && !weakest ? NULL : "no own write";
    }
    if (r->fault == SCENE_REPEATED) return check_repeated(c, r);
    if (r->list && r->nobody) return check_unheard(c, r);
    if (r->list) return NULL; /* what a list can look like is told by no single fact */
    look_up(c, n->read);
    if (c->elsewhere[n->read] || c->from[n->read] || c->initial[n->read]) return "it has a source";
    for (size_t t = 0; weakest && t < h->txns; t++)
        if (wrote(h, (txn_id)t, r->key, r->value)) return "somebody wrote it";
    return NULL;
}

/* One transaction that read a key twice, did not write it, and saw two versions, where the level
   shows it one version of each. */
static const char *check_twice(checker *c, const arg_node *n)
{
    const history *h = c->h;
    if (n->other >= c->s->reads.n) return "a step about nobody";
    const scene_read *a = &c->s->reads.at[n->read], *b = &c->s->reads.at[n->other];
    if (a->actor != b->actor || a->key != b->key || a->op == b->op || a->value == b->value)
        return "not two results of one key";
    if (!takes_part(c, a->actor, 0)) return "a read that may not count";
    for (op_id o = h->txn_op[c->s->txn[a->actor]]; o < a->op || o < b->op; o++)
        if (writes(h, o) && h->op_key[o] == a->key) return "an own write before it";
    switch (c->ask->level) {
    case LEVEL_RA:
    case LEVEL_CC:
    case LEVEL_PC:
    case LEVEL_UA:
    case LEVEL_NLU:
    case LEVEL_PSI:
    case LEVEL_CV:
    case LEVEL_FCV:
    case LEVEL_US:
    case LEVEL_SI:
    case LEVEL_GSI:
    case LEVEL_PCSI:
    case LEVEL_STRONG_SI:
    case LEVEL_SER:
    case LEVEL_SSER:
    case LEVEL_LIN: return NULL;
    case LEVEL_RR: return a->predicate || b->predicate ? "a scan may find more later" : NULL;
    case LEVEL_MIXED:
    case LEVEL_MIXED_PG:
        return is_protected(c, a->actor, a->predicate || b->predicate) ? NULL
                                                                       : "its level allows it";
    default: return "the level allows it";
    }
}

/* Does the read show that the actor committed, with those before it in the list known to have? */
static const char *check_outcome(checker *c, const arg_outcome *o, actors known)
{
    uint32_t last;
    if (o->actor >= c->s->n || o->read >= c->s->reads.n) return "an outcome of nobody";
    const scene_read *r = &c->s->reads.at[o->read];
    bool in = txn_status_of(c->h, c->s->txn[r->actor]) == TXN_COMMITTED;
    if (!in && !(known & actor_bit(r->actor))) return "an outcome shown by nobody";
    if (r->list ? place_in(c, o->read, o->actor, &last) != NO_ID && tells_appends(c, r->key) &&
                      alone(c, o->read, o->actor)
                : read_from(c, o->read, o->actor))
        return NULL;
    return "an outcome that the read does not show";
}

static const char *check_node(checker *c, uint32_t at)
{
    const arg_node *n = &c->arg->nodes.at[at];
    assumption p = {.source = n->kind == ARG_SOURCE, .key = n->key};
    uint32_t sources[SCENE_MOST + 1], count = 2;
    const char *wrong = NULL;
    bool of_read = n->kind == ARG_FAULT || n->kind == ARG_INITIALS || n->kind == ARG_SOURCE ||
                   n->kind == ARG_TWICE;
    if (n->a >= c->s->n || n->b >= c->s->n || (of_read && n->read >= c->s->reads.n))
        return "a step about nobody";
    switch (n->kind) {
    case ARG_CYCLE: return check_cycle(c, n);
    case ARG_FAULT: return check_fault(c, n);
    case ARG_MALFORMED:
        return takes_part(c, n->a, 0) && c->s->malformed[n->a] != NO_ID ? NULL
                                                                        : "it is well formed";
    case ARG_INITIALS:
        return c->s->reads.at[n->read].key == c->s->reads.at[n->other].key &&
                       c->s->reads.at[n->read].value != c->s->reads.at[n->other].value &&
                       !says_no_source(c, c->s->reads.at[n->read].actor) &&
                       !says_no_source(c, c->s->reads.at[n->other].actor) &&
                       read_from(c, n->read, NO_ID) && read_from(c, n->other, NO_ID)
                   ? NULL
                   : "not two initial values";
    case ARG_TWICE: return check_twice(c, n);
    case ARG_SOURCE:
        look_up(c, n->read);
        count = argument_sources(&c->s->reads.at[n->read], sources);
        if (c->elsewhere[n->read] || c->from[n->read] != c->s->reads.at[n->read].from ||
            c->initial[n->read] != c->s->reads.at[n->read].initial)
            return "not all sources";
        if (!takes_part(c, c->s->reads.at[n->read].actor, 0)) return "a read that may not count";
        break;
    default:
        if (n->a == n->b || !scene_installs(c->s, n->a, n->key) ||
            !scene_installs(c->s, n->b, n->key))
            return "not two writers of the key";
        if (!takes_part(c, n->a, 0) || !takes_part(c, n->b, 0)) return "a write that may not count";
        break;
    }
    if (n->n != count) return "not every case";
    for (uint32_t i = 0; i < count && !wrong; i++) {
        p.a = p.source ? n->read : i ? n->b : n->a;
        p.b = p.source ? sources[i] : i ? n->a : n->b;
        vec_push(c->m, &c->path, p);
        wrong = check_node(c, c->arg->child.at[n->first + i]);
        c->path.n--;
    }
    return wrong;
}

const char *argument_check(const argument *a, const scene *s, const arg_ask *ask, mem *m)
{
    checker c = {.arg = a, .s = s, .h = s->h, .ask = ask, .m = m};
    size_t n = s->reads.n + 1;
    c.looked = mem_array0(m, uint8_t, n);
    c.from = mem_array0(m, actors, n);
    c.initial = mem_array0(m, bool, n);
    c.elsewhere = mem_array0(m, bool, n);
    c.tells = mem_array0(m, uint8_t, s->keys.n + 1);
    const char *wrong = NULL;
    actors known = 0;
    for (size_t i = 0; i < a->committed.n && !wrong; i++) {
        wrong = check_outcome(&c, &a->committed.at[i], known);
        if (!wrong) known |= actor_bit(a->committed.at[i].actor);
    }
    if (!wrong) wrong = check_node(&c, a->root);
    vec_free(m, &c.path);
    mem_put(m, c.looked);
    mem_put(m, c.from);
    mem_put(m, c.initial);
    mem_put(m, c.elsewhere);
    mem_put(m, c.tells);
    vec_free(m, &c.appends);
    return wrong;
}
