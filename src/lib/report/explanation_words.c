/*
 * explanation_words.c - the words of an explanation (explanation.h).
 */
#include <assert.h>

#include "report/explanation.h"

/* --- names and values ------------------------------------------------------------------------- */

void say_txn(const history *h, txn_id t, strbuf *b)
{
    label l = h->txn_label[t];
    if (!(l >> 63)) strbuf_char(b, 'T');
    label_text(h, l, b);
}

void say_actor(const told *t, uint32_t actor, strbuf *b)
{
    say_txn(t->v->h, t->e->scene.txn[actor], b);
}

void say_reader(const told *t, uint32_t actor, strbuf *b)
{
    say_actor(t, actor, b);
    if (txn_reads_only(t->v->h, t->e->scene.txn[actor])) strbuf_str(b, ", which aborted,");
}

/* Cuts the middle out of what was added since `from`; never a character in two. */
static void cut(strbuf *b, size_t from, size_t most)
{
    size_t n = b->n - from, head = most * 2 / 3, tail = most / 3;
    if (n <= most + 3) return;
    while (head && ((unsigned char)b->at[from + head] & 0xc0) == 0x80) head--;
    while (tail && ((unsigned char)b->at[b->n - tail] & 0xc0) == 0x80) tail--;
    memmove(b->at + from + head + 3, b->at + b->n - tail, tail);
    memcpy(b->at + from + head, "...", 3);
    b->n = from + head + 3 + tail;
}

void say_key(const history *h, key_id k, strbuf *b)
{
    size_t from = b->n;
    atom_text(h, key_atom(h, k), b);
    cut(b, from, 40);
}

/* In a sentence a bare number could be anything. */
void say_key_word(const history *h, key_id k, strbuf *b)
{
    if (key_atom(h, k).kind != ATOM_STR) strbuf_str(b, "key ");
    say_key(h, k, b);
}

static void say_scalar(const history *h, value_id v, strbuf *b)
{
    size_t from = b->n;
    if (v == VALUE_UNKNOWN)
        strbuf_char(b, '?');
    else
        atom_text(h, value_atom(h, v), b);
    cut(b, from, 40);
}

/* Did a transaction of the argument append it? */
static bool matters(const told *t, key_id k, value_id element)
{
    const history *h = t->v->h;
    if (!t->e || !t->e->argued) return false;
    for (uint32_t a = 0; a < t->e->scene.n; a++) {
        txn_id x = t->e->scene.txn[a];
        if (!(t->e->who & actor_bit(a))) continue;
        for (op_id o = h->txn_op[x]; o < h->txn_op[x + 1]; o++)
            if (op_kind_of(h, o) == OP_APPEND && h->op_key[o] == k && h->op_value[o] == element)
                return true;
    }
    return false;
}

#define LIST_WHOLE 8u /* so many elements are told all */
#define LIST_SHOWN 12u

static void say_list(const told *t, key_id k, atom a, strbuf *b)
{
    const history *h = t->v->h;
    const value_id *e = a.len ? h->elements.at + a.as.offset : NULL;
    uint32_t shown = 0;
    bool gap = false;
    strbuf_char(b, '[');
    for (uint32_t i = 0; i < a.len; i++) {
        bool last = i + 1 == a.len;
        if (a.len > LIST_WHOLE && !last && (shown >= LIST_SHOWN || !matters(t, k, e[i]))) {
            gap = true;
            continue;
        }
        if (gap) strbuf_str(b, shown ? ", ..." : "...");
        if (gap || shown) strbuf_str(b, ", ");
        gap = false;
        say_scalar(h, e[i], b);
        shown++;
    }
    strbuf_char(b, ']');
    if (a.len > LIST_WHOLE) strbuf_printf(b, " (%u elements)", (unsigned)a.len);
}

void say_value(const told *t, key_id k, value_id v, strbuf *b)
{
    const history *h = t->v->h;
    atom a = v == VALUE_UNKNOWN ? (atom){0} : value_atom(h, v);
    if (v != VALUE_UNKNOWN && v > VALUE_NULL && a.kind == ATOM_LIST)
        say_list(t, k, a, b);
    else
        say_scalar(h, v, b);
}

/* --- operations ------------------------------------------------------------------------------- */

static void add_key(const told *t, key_ids *out, key_id k)
{
    if (k == NO_ID) return;
    for (size_t i = 0; i < out->n; i++)
        if (out->at[i] == k) return;
    vec_push(t->m, out, k);
}

static void keys_of(const told *t, uint32_t node, key_ids *out)
{
    const argument *a = &t->e->arg;
    const arg_node *n = &a->nodes.at[node];
    add_key(t, out, n->key);
    for (uint32_t i = 0; i < n->n; i++) {
        if (n->kind == ARG_CYCLE)
            add_key(t, out, a->links.at[n->first + i].key);
        else
            keys_of(t, a->child.at[n->first + i], out);
    }
}

void told_keys(const told *t, key_ids *out)
{
    if (t->e && t->e->argued) keys_of(t, t->e->arg.root, out);
    for (size_t i = 0; i < t->v->cycle.n && !out->n; i++) add_key(t, out, t->v->cycle.at[i].key);
}

void told_txns(const told *t, txn_ids *out)
{
    if (t->e && t->e->argued) {
        for (uint32_t a = 0; a < t->e->scene.n; a++)
            if (t->e->who & actor_bit(a)) vec_push(t->m, out, t->e->scene.txn[a]);
        /* Whose write was seen that is no version: aborted ones are in no scene. */
        const arg_node *root = &t->e->arg.nodes.at[t->e->arg.root];
        if (root->kind != ARG_FAULT) return;
        const scene_read *r = &t->e->scene.reads.at[root->read];
        txn_id other = r->aborted != NO_ID ? r->aborted : r->overwritten;
        if (r->fault == SCENE_NO_SOURCE && other != NO_ID) vec_push(t->m, out, other);
        return;
    }
    for (size_t i = 0; i < t->v->core.n; i++) vec_push(t->m, out, t->v->core.at[i]);
}

static bool about(const key_ids *keys, key_id k)
{
    for (size_t i = 0; i < keys->n; i++)
        if (keys->at[i] == k) return true;
    return !keys->n;
}

static void say_bound(const history *h, uint32_t kind, uint32_t at, strbuf *b)
{
    if (kind == BOUND_AT) atom_text(h, h->bounds.atoms.at[at], b);
}

static void say_range(const told *t, op_id o, const key_ids *keys, strbuf *b)
{
    const history *h = history_as_recorded(t->v->h);
    const range *r = &h->ranges.at[h->op_key[o]];
    uint32_t shown = 0;
    strbuf_str(b, op_kind_of(h, o) == OP_SCAN ? "scan [" : "iter [");
    say_bound(h, r->from_kind, r->from, b);
    strbuf_str(b, "..");
    say_bound(h, r->to_kind, r->to, b);
    strbuf_str(b, r->inclusive ? "] = {" : ") = {");
    for (uint32_t i = 0; i < r->rows; i++) {
        key_id k = h->row_key.at[r->first_row + i];
        if (r->rows > LIST_WHOLE && (shown >= LIST_SHOWN || !about(keys, k))) continue;
        if (shown++) strbuf_str(b, ", ");
        say_key(h, k, b);
        strbuf_str(b, ": ");
        say_value(t, k, h->row_value.at[r->first_row + i], b);
    }
    if (shown < r->rows)
        strbuf_printf(b, "%s%u rows in all", shown ? ", ... " : "", (unsigned)r->rows);
    strbuf_char(b, '}');
    if (!r->done) strbuf_str(b, " ended early");
}

void say_op(const told *t, op_id o, const key_ids *keys, strbuf *b)
{
    static const char *const names[] = {"r", "w", "d", "append", "scan", "iter"};
    const history *h = history_as_recorded(t->v->h);
    enum op_kind kind = op_kind_of(h, o);
    if (kind == OP_SCAN || kind == OP_ITER) {
        say_range(t, o, keys, b);
    } else {
        strbuf_str(b, names[kind]);
        strbuf_char(b, '(');
        say_key(h, h->op_key[o], b);
        if (kind != OP_DELETE) {
            strbuf_str(b, ", ");
            say_value(t, h->op_key[o], h->op_value[o], b);
        }
        strbuf_char(b, ')');
    }
    if (h->op_kind[o] & OP_LOCK) strbuf_str(b, " locking");
    if (op_undone(h, o))
        strbuf_str(b, " undone");
    else if (h->op_kind[o] & OP_FAILED)
        strbuf_str(b, " failed");
}

bool op_about(const history *h, op_id o, const key_ids *keys)
{
    enum op_kind kind = op_kind_of(h, o);
    return kind == OP_SCAN || kind == OP_ITER || about(keys, h->op_key[o]);
}

#define FEW_OPS 6u /* a transaction of so many is told whole */
#define MOST_OPS 16u

void say_ops(const told *t, txn_id txn, strbuf *b)
{
    const history *h = t->v->h;
    key_ids keys = {0};
    uint32_t n = h->txn_op[txn + 1] - h->txn_op[txn], shown = 0;
    bool gap = false;
    told_keys(t, &keys);
    for (op_id o = h->txn_op[txn]; o < h->txn_op[txn + 1]; o++) {
        if (n > FEW_OPS && (shown >= MOST_OPS || !op_about(h, o, &keys))) {
            gap = true;
            continue;
        }
        if (gap) strbuf_str(b, shown ? ", ..." : "...");
        if (gap || shown) strbuf_str(b, ", ");
        gap = false;
        say_op(t, o, &keys, b);
        shown++;
    }
    if (gap) strbuf_str(b, shown ? ", ..." : "...");
    if (!n) strbuf_str(b, "nothing");
    if (shown < n) strbuf_printf(b, " (%u operations)", (unsigned)n);
    vec_free(t->m, &keys);
}

/* --- links ------------------------------------------------------------------------------------ */

const char *link_name(const arg_link *l)
{
    static const char *const names[] = {"so", "rt", "wr", "ww", "rw"};
    return names[l->kind];
}

/* "T2 read x = 1", "T2's scan found no x" */
static void say_read(const told *t, const scene_read *r, strbuf *b)
{
    const history *h = t->v->h;
    say_reader(t, r->actor, b);
    if (r->predicate && txn_reads_only(h, t->e->scene.txn[r->actor])) {
        strbuf_str(b, " scanned without finding ");
        say_key_word(h, r->key, b);
        return;
    }
    if (r->predicate) {
        strbuf_str(b, "'s scan found no ");
        say_key_word(h, r->key, b);
        return;
    }
    if (r->value == VALUE_NULL && !r->list) {
        strbuf_str(b, " found no ");
        say_key_word(h, r->key, b);
        return;
    }
    strbuf_str(b, " read ");
    say_key_word(h, r->key, b);
    strbuf_str(b, " = ");
    if (r->value == VALUE_NULL)
        strbuf_str(b, "[]");
    else
        say_value(t, r->key, r->value, b);
}

/* " with 2", " (a delete)" */
static void say_installed(const told *t, uint32_t actor, key_id k, const char *with, strbuf *b)
{
    const scene_write *w = scene_installs(&t->e->scene, actor, k);
    const history *h = t->v->h;
    if (!w || op_kind_of(h, w->op) == OP_DELETE) {
        strbuf_str(b, " (a delete)");
        return;
    }
    strbuf_str(b, op_kind_of(h, w->op) == OP_APPEND ? " by appending " : with);
    say_value(t, k, w->value, b);
}

static void say_time(const told *t, uint32_t actor, enum scene_when when, strbuf *b)
{
    int64_t at = 0;
    scene_time(t->v->h, t->e->scene.txn[actor], when, &at);
    strbuf_i64(b, at);
}

static void say_times(const told *t, const arg_link *l, strbuf *b)
{
    static const char *const past[] = {" ended at ", " ended at ", " began at "}, *const then[] = {
                                                                                      " began at ",
                                                                                      " ended at ",
                                                                                      " ended at "};
    static const enum scene_when from[] = {COMMIT_RETURNED, COMMIT_RETURNED, BEGIN_RETURNED},
                                 to[] = {BEGIN_CALLED, COMMIT_CALLED, COMMIT_CALLED};
    say_actor(t, l->from, b);
    strbuf_str(b, past[l->times]);
    say_time(t, l->from, from[l->times], b);
    strbuf_str(b, ", before ");
    say_actor(t, l->to, b);
    strbuf_str(b, then[l->times]);
    say_time(t, l->to, to[l->times], b);
}

/* What the last append of the actor to the list was. */
static void say_appended(const told *t, uint32_t actor, key_id k, strbuf *b)
{
    const scene_write *w = scene_installs(&t->e->scene, actor, k);
    say_actor(t, actor, b);
    strbuf_str(b, "'s ");
    if (w) say_value(t, k, w->value, b);
}

/* Does the list show an append of `from` before one of `to`?  Else `to` is the reader itself, which
   had appended before. */
static bool shows_both(const scene *s, const scene_read *r, uint32_t from, uint32_t to)
{
    uint32_t first = NO_ID, last = 0;
    for (uint32_t i = 0; i < r->n; i++) {
        if (s->chain.at[r->first + i] == from && first == NO_ID) first = i;
        if (s->chain.at[r->first + i] == to) last = i;
    }
    return first < last || (to == r->actor && r->own);
}

static void say_order(const told *t, const arg_link *l, strbuf *b)
{
    const scene *s = &t->e->scene;
    const scene_read *r = l->read == NO_ID ? NULL : &s->reads.at[l->read];
    const scene_write *x, *y;
    switch (l->why) {
    case SHOWN_HINT:
        x = scene_installs(s, l->from, l->key);
        y = scene_installs(s, l->to, l->key);
        strbuf_str(b, "the history places their versions of ");
        say_key_word(t->v->h, l->key, b);
        strbuf_printf(b, " at %lld and %lld", (long long)x->place, (long long)y->place);
        return;
    case SHOWN_LIST:
        say_read(t, r, b);
        if (!shows_both(s, r, l->from, l->to)) {
            strbuf_str(b, ", with ");
            say_appended(t, l->from, l->key, b);
            strbuf_str(b, ", after it had appended to the list itself");
            return;
        }
        strbuf_str(b, ", in which ");
        say_appended(t, l->from, l->key, b);
        strbuf_str(b, " stands before ");
        say_appended(t, l->to, l->key, b);
        return;
    case SHOWN_LACKING:
        say_read(t, r, b);
        strbuf_str(b, ", with ");
        say_appended(t, l->from, l->key, b);
        strbuf_str(b, " and not yet ");
        say_appended(t, l->to, l->key, b);
        return;
    case SHOWN_NEXT:
        say_actor(t, l->to, b);
        strbuf_str(b, " overwrote ");
        say_actor(t, l->from, b);
        strbuf_str(b, "'s version of ");
        say_key_word(t->v->h, l->key, b);
        strbuf_str(b, ", with no other between");
        return;
    default:
        say_actor(t, l->from, b);
        strbuf_str(b, " wrote ");
        say_key_word(t->v->h, l->key, b);
        strbuf_str(b, " first");
        return;
    }
}

void say_because(const told *t, const arg_link *l, strbuf *b)
{
    static const char none[] = ", and no transaction of a lower level wrote it in between";
    const history *h = t->v->h;
    const scene *s = &t->e->scene;
    const scene_read *r = l->read == NO_ID ? NULL : &s->reads.at[l->read];
    switch ((enum link_kind)l->kind) {
    case LINK_SO:
        say_actor(t, l->to, b);
        strbuf_str(b, " follows ");
        say_actor(t, l->from, b);
        strbuf_str(b, " in session ");
        label_text(h, h->sessions.at[h->txn_session[s->txn[l->to]]], b);
        return;
    case LINK_RT: say_times(t, l, b); return;
    case LINK_WR:
        say_read(t, r, b);
        if (l->why == SHOWN_CHOICE) {
            strbuf_str(b, " from ");
            say_actor(t, l->from, b);
            return;
        }
        strbuf_str(b, r->hinted ? ", which the history says "
                      : r->list ? ", whose end "
                                : ", which ");
        say_actor(t, l->from, b);
        strbuf_str(b, r->list ? " appended" : r->value == VALUE_NULL ? " deleted" : " wrote");
        return;
    case LINK_WW: say_order(t, l, b); return;
    case LINK_RW: break;
    }
    say_read(t, r, b);
    if (l->why == SHOWN_LACKING) {
        strbuf_str(b, ", without ");
        say_appended(t, l->to, l->key, b);
        if (l->alone) strbuf_str(b, none);
        return;
    }
    bool nothing = r->value == VALUE_NULL;
    if (l->why == SHOWN_INITIAL) {
        strbuf_str(b, nothing ? ", as in the initial state; " : ", the initial value, which ");
    } else {
        strbuf_str(b, nothing ? ", which " : " from ");
        say_actor(t, l->source, b);
        strbuf_str(b, nothing ? " had deleted; " : ", which ");
    }
    say_actor(t, l->to, b);
    if (nothing) {
        strbuf_str(b, " then wrote ");
        say_key_word(h, l->key, b);
    } else {
        strbuf_str(b, " overwrote");
    }
    say_installed(t, l->to, l->key, nothing ? " = " : " with ", b);
    if (l->alone) strbuf_str(b, none);
}

void say_outcome(const told *t, const arg_outcome *o, strbuf *b)
{
    const scene_read *r = &t->e->scene.reads.at[o->read];
    say_actor(t, o->actor, b);
    strbuf_str(b, " committed, because ");
    say_read(t, r, b);
    strbuf_str(b, r->list ? ", which shows that " : ", which ");
    say_actor(t, o->actor, b);
    strbuf_str(b, r->list ? " appended to it" : r->value == VALUE_NULL ? " deleted" : " wrote");
}

void say_fault(const told *t, const arg_node *n, strbuf *b)
{
    const history *h = t->v->h;
    const scene *s = &t->e->scene;
    if (n->kind == ARG_MALFORMED) {
        say_actor(t, n->a, b);
        strbuf_str(b,
                   " has a scan whose rows are out of its range, out of order, repeated or null");
        return;
    }
    const scene_read *r = &s->reads.at[n->read];
    say_read(t, r, b);
    if (n->kind == ARG_TWICE) {
        strbuf_str(b, ", and later ");
        say_read(t, &s->reads.at[n->other], b);
        strbuf_str(b, ": two versions of one key");
        return;
    }
    if (n->kind == ARG_INITIALS) {
        strbuf_str(b, " and ");
        say_read(t, &s->reads.at[n->other], b);
        strbuf_str(b, ", both of them the initial version, which has one value");
        return;
    }
    if (r->fault == SCENE_NOT_OWN) {
        op_id own = NO_ID;
        for (op_id o = h->txn_op[s->txn[r->actor]]; o < r->op; o++)
            if (h->op_key[o] == r->key && op_kind_of(h, o) != OP_READ &&
                op_kind_of(h, o) < OP_SCAN && !(h->op_kind[o] & OP_FAILED))
                own = o;
        strbuf_str(b, ", although it had itself ");
        if (own != NO_ID && op_kind_of(h, own) == OP_DELETE) {
            strbuf_str(b, "deleted it before");
        } else if (own != NO_ID) {
            strbuf_str(b, op_kind_of(h, own) == OP_APPEND ? "appended " : "written ");
            say_value(t, r->key, h->op_value[own], b);
            strbuf_str(b, " before");
        }
    } else if (r->fault == SCENE_REPEATED) {
        strbuf_str(b, ", in which ");
        say_value(t, r->key, r->repeated, b);
        strbuf_printf(b, " occurs %u times, but it was appended only ", r->times_seen);
        if (r->times_put == 1)
            strbuf_str(b, "once");
        else
            strbuf_printf(b, "%u times", r->times_put);
    } else if (r->fault == SCENE_BROKEN_LIST) {
        strbuf_str(b, ", which is not the result of any order of the appends");
    } else if (r->nobody) {
        strbuf_str(b, r->value == VALUE_NULL || r->emptied
                          ? ", although the key existed initially and no transaction deleted it"
                      : r->list ? ", with an element that nobody appended"
                                : ", which nobody wrote");
    } else if (r->aborted != NO_ID) {
        strbuf_str(b, r->list ? ", with an element that only " : ", which only ");
        say_txn(h, r->aborted, b);
        strbuf_str(b, r->list ? " appended, and " : " wrote, and ");
        say_txn(h, r->aborted, b);
        strbuf_str(b, " aborted");
    } else if (r->later != NO_ID) {
        strbuf_str(b, own_write_before(h, r->op, r->key, r->value)
                          ? ", a value that only it itself wrote, and could not see there"
                          : ", a value that it wrote only later");
    } else if (r->overwritten != NO_ID) {
        strbuf_str(b, ", which ");
        say_txn(h, r->overwritten, b);
        strbuf_str(b, " overwrote again before committing");
    } else {
        strbuf_str(b, ", which it cannot have read from any transaction");
    }
}

/* --- levels ----------------------------------------------------------------------------------- */

static bool implies(const tell_context *c, const char *a, const char *b)
{
    level_ref x, y;
    if (!level_named(&x, a) || !level_named(&y, b)) return false;
    return level_implies(x.id, level_session_order(&x, c->session_order), x.realtime, y.id,
                         level_session_order(&y, c->session_order), y.realtime);
}

void told_levels(const told *t, enum outcome o, bool extreme, strbuf *b, const char *between,
                 bool json)
{
    const tell_context *c = t->c;
    bool any = false;
    for (size_t i = 0; i < c->n_levels; i++) {
        bool keep = c->levels[i].outcome == o;
        for (size_t j = 0; extreme && keep && j < c->n_levels; j++) {
            if (j == i || c->levels[j].outcome != o) continue;
            bool holds = o == OUTCOME_HOLDS;
            const char *strong = c->levels[holds ? j : i].name,
                       *weak = c->levels[holds ? i : j].name;
            bool implied = implies(c, strong, weak), mutual = implied && implies(c, weak, strong);
            if (implied && (!mutual || j < i)) keep = false;
        }
        if (!keep) continue;
        if (any) strbuf_str(b, between);
        any = true;
        if (json)
            strbuf_json(b, c->levels[i].name, strlen(c->levels[i].name));
        else
            strbuf_str(b, c->levels[i].name);
    }
    if (!any && !json) strbuf_str(b, "none");
}
