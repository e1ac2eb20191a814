/*
 * explanation_text.c - an explanation as text and as Markdown (explanation.h).
 *
 * Both are the same lines; only how a line is set differs.
 */
#include "report/explanation.h"
#include "report/report_assumed.h"

#include <stdio.h>

#include "explain/mixture.h"
#include "report/report.h"

enum line_kind {
    LINE_TITLE,
    LINE_PLAIN,
    LINE_HEAD, /* "Let", "Then" */
    LINE_ITEM,
    LINE_CODE, /* what a transaction did */
    LINE_BLANK
};

typedef struct line {
    uint8_t kind, indent;
    size_t at, n;   /* in the buffer */
    told_step step; /* of the argument, if it is one */
} line;

/* What is assumed at a place of the tree, and how it is referred to. */
typedef struct premise {
    bool source;
    uint32_t a, b; /* as the check's: a's version before b's; read a from b */
    key_id key;
    char ref[24];
} premise;

typedef struct teller {
    const told *t;
    strbuf text;
    VEC(line) lines;
    VEC(premise) premises;
    uint32_t inferences, cycles;
    told_steps *steps; /* NULL: nobody asked for the steps */
} teller;

static void open_line(teller *k, enum line_kind kind, unsigned indent)
{
    line l = {.kind = (uint8_t)kind, .indent = (uint8_t)indent, .at = k->text.n};
    vec_push(k->t->m, &k->lines, l);
}

/* The line that was opened last is a step of the argument. */
static told_step *make_step(teller *k, enum step_kind kind, const arg_node *n)
{
    told_step *s = &k->lines.at[k->lines.n - 1].step;
    *s = (told_step){.kind = (uint8_t)kind, .node = n, .place = k->cycles};
    if (k->steps) {
        s->first_ref = (uint32_t)k->steps->refs.n;
        s->first_other = (uint32_t)k->steps->others.n;
    }
    return s;
}

static void close_line(teller *k)
{
    line *l = &k->lines.at[k->lines.n - 1];
    l->n = k->text.n - l->at;
}

static void say_line(teller *k, enum line_kind kind, unsigned indent, const char *text)
{
    open_line(k, kind, indent);
    strbuf_str(&k->text, text);
    close_line(k);
}

static void blank(teller *k)
{
    if (k->lines.n && k->lines.at[k->lines.n - 1].kind != LINE_BLANK)
        say_line(k, LINE_BLANK, 0, "");
}

/* --- the argument ----------------------------------------------------------------------------- */

static const arg_node *node_at(const teller *k, uint32_t i)
{
    return &k->t->e->arg.nodes.at[i];
}

static void refer(teller *k, bool source, uint32_t a, uint32_t b, key_id key)
{
    for (size_t i = k->premises.n; i-- > 0;) {
        const premise *p = &k->premises.at[i];
        if (p->source != source || p->a != a || p->b != b || (!source && p->key != key)) continue;
        if (!*p->ref) return;
        strbuf_printf(&k->text, " [%s]", p->ref);
        if (!k->steps) return;
        step_ref r;
        snprintf(r.name, sizeof r.name, "%s", p->ref);
        vec_push(k->t->m, &k->steps->refs, r);
        k->lines.at[k->lines.n - 1].step.n_refs++;
        return;
    }
}

/* Which earlier lines a link needs. */
static void say_refs(teller *k, const arg_link *l)
{
    if (l->kind == LINK_WW && l->why == SHOWN_CHOICE) refer(k, false, l->from, l->to, l->key);
    if (l->kind == LINK_WR && l->why == SHOWN_CHOICE) refer(k, true, l->read, l->from, l->key);
    if (l->kind != LINK_RW || l->why == SHOWN_LACKING) return;
    refer(k, true, l->read, l->why == SHOWN_INITIAL ? NO_ID : l->source, l->key);
    if (l->why == SHOWN_ORDER && l->order_why == SHOWN_CHOICE)
        refer(k, false, l->source, l->to, l->key);
}

/* Is it one of a mixture, where snapshots and commits are told apart? */
static bool tells_events(const teller *k, const arg_link *l, uint32_t n)
{
    if (!level_is_mixed(k->t->e->ask.level)) return false;
    for (uint32_t i = 0; i < n; i++)
        if (l[i].alone) return false; /* serializable transactions among themselves */
    return true;
}

static bool leaves_snapshot(const teller *k, const arg_link *l)
{
    return mixture_leaves_snapshot(&k->t->e->scene, k->t->e->ask.level, l);
}

static bool reaches_snapshot(const teller *k, const arg_link *l)
{
    return mixture_reaches_snapshot(&k->t->e->scene, k->t->e->ask.level, l);
}

/* "T1's snapshot", "T1's commit"; of a transaction that has a commit only, "T1". */
static void say_event(teller *k, uint32_t actor, bool snapshot)
{
    bool two = mixture_row(&k->t->e->scene, k->t->e->ask.level, actor) == ROW_SI;
    say_actor(k->t, actor, &k->text);
    if (two) strbuf_str(&k->text, snapshot ? "'s snapshot" : "'s commit");
}

static void say_before(teller *k, const arg_link *l)
{
    bool events = tells_events(k, l, 1);
    if (events)
        say_event(k, l->from, leaves_snapshot(k, l));
    else
        say_actor(k->t, l->from, &k->text);
    strbuf_str(&k->text, " < ");
    if (events)
        say_event(k, l->to, reaches_snapshot(k, l));
    else
        say_actor(k->t, l->to, &k->text);
}

/* Is the outcome of the actor unknown, but for a choice of what was read? */
static bool settled_by_choice(const told *t, uint32_t actor)
{
    const argument *a = &t->e->arg;
    if (!(t->e->scene.maybe & actor_bit(actor))) return false;
    for (size_t i = 0; i < a->committed.n; i++)
        if (a->committed.at[i].actor == actor) return false;
    return true;
}

/* "T1 wrote x before T2", "T3 read x = 1 from T2" */
static void say_premise(teller *k, const premise *p)
{
    strbuf *b = &k->text;
    const told *t = k->t;
    if (!p->source) {
        say_actor(t, p->a, b);
        strbuf_str(b, " wrote ");
        say_key_word(t->v->h, p->key, b);
        strbuf_str(b, " before ");
        say_actor(t, p->b, b);
        strbuf_str(b, " did");
        return;
    }
    const scene_read *r = &t->e->scene.reads.at[p->a];
    say_reader(t, r->actor, b);
    strbuf_str(b, " read ");
    say_key_word(t->v->h, r->key, b);
    strbuf_str(b, " = ");
    say_value(t, r->key, r->value, b);
    strbuf_str(b, p->b == NO_ID ? " from the initial state" : " from ");
    if (p->b == NO_ID) return;
    say_actor(t, p->b, b);
    if (settled_by_choice(t, p->b)) strbuf_str(b, ", which then committed");
}

static premise premise_of(const teller *k, const arg_node *n, uint32_t i, const char *ref)
{
    premise p = {.source = n->kind == ARG_SOURCE, .key = n->key};
    if (p.source) {
        uint32_t from[SCENE_MOST + 1];
        argument_sources(&k->t->e->scene.reads.at[n->read], from);
        p.a = n->read;
        p.b = from[i];
    } else {
        p.a = i ? n->b : n->a;
        p.b = i ? n->a : n->b;
    }
    snprintf(p.ref, sizeof p.ref, "%s", ref);
    return p;
}

static void say_cycle(teller *k, const arg_node *n)
{
    const arg_link *l = k->t->e->arg.links.at + n->first;
    strbuf *b = &k->text;
    bool events = tells_events(k, l, n->n);
    if (events)
        say_event(k, l[0].from, leaves_snapshot(k, &l[0]));
    else
        say_actor(k->t, l[0].from, b);
    for (uint32_t i = 0; i < n->n; i++) {
        bool snapshot = reaches_snapshot(k, &l[i]), leaves = leaves_snapshot(k, &l[(i + 1) % n->n]);
        strbuf_str(b, " < ");
        if (!events) {
            say_actor(k->t, l[i].to, b);
            continue;
        }
        say_event(k, l[i].to, snapshot);
        if (!snapshot || leaves) continue;
        strbuf_str(b, " < ");
        say_event(k, l[i].to, false);
    }
}

/* What kind of cycle it is. */
static const char *kind_of_cycle(const teller *k, const arg_node *n)
{
    const arg_link *l = k->t->e->arg.links.at + n->first;
    bool rw = false, wr = false, so = false, rt = false;
    for (uint32_t i = 0; i < n->n; i++) {
        rw = rw || l[i].kind == LINK_RW;
        wr = wr || l[i].kind == LINK_WR;
        so = so || l[i].kind == LINK_SO;
        rt = rt || l[i].kind == LINK_RT;
    }
    for (uint32_t i = 0; i < n->n; i++)
        if (l[i].alone) return "a cycle of serializable transactions among themselves";
    if (!rw && !so && !rt) return wr ? "a cycle of dependencies" : "a cycle of version orders";
    if (!rw) return rt ? "dependencies against real time" : "dependencies against session order";
    return shape_of(k->t->e->ask.level)->what;
}

static void narrate_leaf(teller *k, const arg_node *n, unsigned indent)
{
    const told *t = k->t;
    strbuf *b = &k->text;
    const char *level = t->v->through ? t->v->through : t->v->level.name;
    if (n->kind != ARG_CYCLE) {
        open_line(k, LINE_ITEM, indent);
        make_step(k, STEP_FAULT, n);
        say_fault(t, n, b);
        strbuf_printf(b, ". %s forbids that.", level);
        close_line(k);
        return;
    }
    for (uint32_t i = 0; i < n->n; i++) {
        const arg_link *l = &t->e->arg.links.at[n->first + i];
        open_line(k, LINE_ITEM, indent);
        make_step(k, STEP_LINK, n)->link = l;
        say_before(k, l);
        strbuf_str(b, ", because ");
        say_because(t, l, b);
        say_refs(k, l);
        strbuf_char(b, '.');
        close_line(k);
    }
    open_line(k, LINE_ITEM, indent);
    make_step(k, STEP_CONTRADICTION, n);
    k->cycles++;
    strbuf_str(b, "A contradiction: ");
    say_cycle(k, n);
    strbuf_printf(b, ". %s forbids %s.", level, kind_of_cycle(k, n));
    close_line(k);
}

/* Does the link stand or fall with the premise? */
static bool is_premise(const arg_link *l, const premise *p)
{
    return !p->source && l->kind == LINK_WW && l->why == SHOWN_CHOICE && l->from == p->a &&
           l->to == p->b && l->key == p->key;
}

/* Why an alternative is ruled out: "else T2 < T1, but T1 < T2 (...)". */
static void say_otherwise(teller *k, const arg_node *leaf, const premise *p, const premise *kept)
{
    const told *t = k->t;
    strbuf *b = &k->text;
    if (leaf->kind != ARG_CYCLE) {
        strbuf_str(b, "if ");
        say_premise(k, p);
        strbuf_str(b, ", then ");
        say_fault(t, leaf, b);
        return;
    }
    const arg_link *l = t->e->arg.links.at + leaf->first;
    if (leaf->n == 2 && !p->source) {
        uint32_t at = is_premise(&l[0], p) ? 0 : is_premise(&l[1], p) ? 1 : 2;
        const arg_link *other = &l[at == 0];
        /* The other link says it all: the later one read the earlier one, follows it, ... */
        if (at < 2 && other->kind != LINK_RW && other->from == kept->a && other->to == kept->b) {
            say_because(t, other, b);
            say_refs(k, other);
            return;
        }
    }
    strbuf_str(b, "if ");
    say_premise(k, p);
    strbuf_str(b, ", then ");
    for (uint32_t i = 0; i < leaf->n; i++) {
        if (i) strbuf_str(b, i + 1 == leaf->n ? " and " : ", ");
        say_before(k, &l[i]);
        if (is_premise(&l[i], p)) continue;
        strbuf_str(b, " (");
        say_because(t, &l[i], b);
        say_refs(k, &l[i]);
        strbuf_char(b, ')');
    }
}

/* Is the alternative ruled out by one fact?  (It follows in the session, was read, ...) */
static bool ruled_out_at_once(const teller *k, const arg_node *n, uint32_t i)
{
    const arg_node *leaf = node_at(k, k->t->e->arg.child.at[n->first + i]);
    premise p = premise_of(k, n, i, "");
    if (leaf->kind != ARG_CYCLE) return false;
    const arg_link *l = k->t->e->arg.links.at + leaf->first;
    return leaf->n == 2 && !p.source && l[0].kind != LINK_RW && l[1].kind != LINK_RW &&
           (is_premise(&l[0], &p) || is_premise(&l[1], &p));
}

/* The alternative that an inference rules out, for those who want it in steps of its own. */
static void note_other(teller *k, const arg_node *n, uint32_t i, const premise *p)
{
    size_t from = k->text.n;
    say_premise(k, p);
    step_other o = {.leaf = node_at(k, k->t->e->arg.child.at[n->first + i]), .n = k->text.n - from};
    o.text = mem_get(k->t->m, o.n + 1);
    memcpy(o.text, k->text.at + from, o.n);
    k->text.n = from;
    vec_push(k->t->m, &k->steps->others, o);
    k->lines.at[k->lines.n - 1].step.n_others++;
}

static void narrate(teller *k, uint32_t node, unsigned indent, const char *cases);

static void narrate_cases(teller *k, const arg_node *n, unsigned indent, const char *outer)
{
    char ref[24];
    strbuf *b = &k->text;
    uint32_t first = n->first, count = n->n;
    open_line(k, LINE_ITEM, indent);
    make_step(k, STEP_EITHER, n);
    for (uint32_t i = 0; i < count; i++) {
        premise p = premise_of(k, n, i, "");
        strbuf_str(b, i ? ", or " : "Either ");
        say_premise(k, &p);
    }
    strbuf_char(b, '.');
    close_line(k);
    for (uint32_t i = 0; i < count; i++) {
        snprintf(ref, sizeof ref, "%.12s%s%u", *outer ? outer : "case ", *outer ? "." : "", i + 1);
        premise p = premise_of(k, n, i, ref);
        open_line(k, LINE_ITEM, indent);
        told_step *s = make_step(k, STEP_CASE, n);
        s->branch = i;
        snprintf(s->ref, sizeof s->ref, "%s", ref);
        strbuf_printf(b, "[%s] ", ref);
        say_premise(k, &p);
        strbuf_char(b, ':');
        close_line(k);
        vec_push(k->t->m, &k->premises, p);
        narrate(k, k->t->e->arg.child.at[first + i], indent + 1, ref);
        k->premises.n--;
    }
}

static void narrate(teller *k, uint32_t node, unsigned indent, const char *cases)
{
    size_t before = k->premises.n;
    for (;;) {
        const arg_node *n = node_at(k, node);
        if (arg_leaf(n)) {
            narrate_leaf(k, n, indent);
            break;
        }
        uint32_t left = NO_ID, open = 0;
        for (uint32_t i = 0; i < n->n; i++)
            if (!arg_leaf(node_at(k, k->t->e->arg.child.at[n->first + i]))) {
                left = i;
                open++;
            }
        if (!open) left = argument_goes_on(&k->t->e->arg, n);
        if (!open && left != NO_ID) open = 1;
        if (open != 1) {
            narrate_cases(k, n, indent, cases);
            break;
        }
        char ref[24];
        snprintf(ref, sizeof ref, "%u", ++k->inferences);
        premise kept = premise_of(k, n, left, ref);
        strbuf *b = &k->text;
        open_line(k, LINE_ITEM, indent);
        told_step *s = make_step(k, STEP_INFERENCE, n);
        s->branch = left;
        snprintf(s->ref, sizeof s->ref, "%s", ref);
        strbuf_printf(b, "[%s] ", ref);
        say_premise(k, &kept);
        bool first = true;
        for (uint32_t i = 0; i < n->n; i++) {
            if (i == left) continue;
            premise p = premise_of(k, n, i, "");
            bool at_once = ruled_out_at_once(k, n, i);
            strbuf_str(b, first && at_once ? ", because " : first ? ": " : "; ");
            first = false;
            vec_push(k->t->m, &k->premises, p);
            say_otherwise(k, node_at(k, k->t->e->arg.child.at[n->first + i]), &p, &kept);
            k->premises.n--;
            if (k->steps) note_other(k, n, i, &p);
        }
        strbuf_char(b, '.');
        close_line(k);
        vec_push(k->t->m, &k->premises, kept);
        node = k->t->e->arg.child.at[n->first + left];
    }
    k->premises.n = before;
}

/* Who of unknown outcome committed, whatever else is assumed. */
static void say_outcomes(teller *k)
{
    const argument *a = &k->t->e->arg;
    for (size_t i = 0; i < a->committed.n; i++) {
        open_line(k, LINE_ITEM, 1);
        make_step(k, STEP_OUTCOME, NULL)->outcome = &a->committed.at[i];
        say_outcome(k->t, &a->committed.at[i], &k->text);
        strbuf_char(&k->text, '.');
        close_line(k);
    }
}

/* --- the transactions ------------------------------------------------------------------------- */

static void say_extras(teller *k, txn_id txn)
{
    const history *h = k->t->v->h;
    for (size_t i = 0; i < h->extras.n; i++) {
        const extra *x = &h->extras.at[i];
        if (x->txn != txn) continue;
        atom name = value_atom(h, x->name), text = value_atom(h, x->text);
        size_t n = text.len > 300 ? 300 : text.len;
        open_line(k, LINE_CODE, 3);
        strbuf_visible(&k->text, atom_bytes(h, name), name.len);
        strbuf_str(&k->text, ": ");
        while (n && n < text.len && ((unsigned char)atom_bytes(h, text)[n] & 0xc0) == 0x80) n--;
        strbuf_visible(&k->text, atom_bytes(h, text), n);
        if (n < text.len) strbuf_str(&k->text, "...");
        close_line(k);
    }
}

static void say_txn_line(teller *k, txn_id txn)
{
    const history *h = k->t->v->h;
    static const char *const status[] = {"", ", aborted", ", outcome unknown"};
    static const char *const held_to[] = {[ROW_NONE] = "a level that has no rule in a mixture",
                                          [ROW_RU] = "read-uncommitted",
                                          [ROW_RC] = "read-committed",
                                          [ROW_RR] = "repeatable-read",
                                          [ROW_SI] = "snapshot-isolation",
                                          [ROW_SER] = "serializable"};
    strbuf *b = &k->text;
    int64_t begin, end;
    open_line(k, LINE_CODE, 1);
    say_txn(h, txn, b);
    strbuf_str(b, " (session ");
    label_text(h, h->sessions.at[h->txn_session[txn]], b);
    strbuf_str(b, status[txn_status_of(history_as_recorded(h), txn)]);
    if (level_is_mixed(k->t->v->level.id))
        strbuf_printf(b, ", held to %s", held_to[mixture_named(h, txn)]);
    bool begun = scene_time(h, txn, BEGIN_CALLED, &begin);
    bool ended = scene_time(h, txn, COMMIT_RETURNED, &end);
    if (begun && ended)
        strbuf_printf(b, ", from %lld to %lld", (long long)begin, (long long)end);
    else if (begun)
        strbuf_printf(b, ", from %lld", (long long)begin);
    if (h->txn_flags[txn] & TXN_HAS_START_TS)
        strbuf_printf(b, ", start_ts %lld", (long long)h->txn_start_ts[txn]);
    if (h->txn_flags[txn] & TXN_HAS_COMMIT_TS)
        strbuf_printf(b, ", commit_ts %lld", (long long)h->txn_commit_ts[txn]);
    strbuf_str(b, ") = ");
    say_ops(k->t, txn, b);
    close_line(k);
    say_extras(k, txn);
}

#define MOST_TXNS 12u

static void say_txns(teller *k)
{
    txn_ids txns = {0};
    told_txns(k->t, &txns);
    if (!txns.n) return;
    say_line(k, LINE_HEAD, 0, k->t->e && k->t->e->argued ? "Let" : "These transactions show it:");
    for (size_t i = 0; i < txns.n && i < MOST_TXNS; i++) say_txn_line(k, txns.at[i]);
    if (txns.n > MOST_TXNS) {
        open_line(k, LINE_CODE, 1);
        strbuf_printf(&k->text, "... and %zu more", txns.n - MOST_TXNS);
        close_line(k);
    }
    vec_free(k->t->m, &txns);
}

/* --- around it -------------------------------------------------------------------------------- */

#define USES_SESSION 1u
#define USES_TIME 2u
#define USES_HINTS 4u

static unsigned uses_of(const told *t, uint32_t node)
{
    const argument *a = &t->e->arg;
    const arg_node *n = &a->nodes.at[node];
    unsigned uses = 0;
    if (n->kind == ARG_FAULT && t->e->scene.reads.at[n->read].hinted) uses |= USES_HINTS;
    if (n->kind == ARG_SOURCE && t->e->scene.reads.at[n->read].hinted) uses |= USES_HINTS;
    for (uint32_t i = 0; i < n->n; i++) {
        if (n->kind != ARG_CYCLE) {
            uses |= uses_of(t, a->child.at[n->first + i]);
            continue;
        }
        const arg_link *l = &a->links.at[n->first + i];
        if (l->kind == LINK_SO) uses |= USES_SESSION;
        if (l->kind == LINK_RT) uses |= USES_TIME;
        if (l->why == SHOWN_HINT || l->order_why == SHOWN_HINT) uses |= USES_HINTS;
        if (l->read != NO_ID && t->e->scene.reads.at[l->read].hinted) uses |= USES_HINTS;
    }
    return uses;
}

static void say_rests(teller *k)
{
    static const struct {
        unsigned rests, uses;
        const char *name;
    } all[] = {{RESTS_SESSION, USES_SESSION, "session order"},
               {RESTS_REALTIME, USES_TIME, "real time"},
               {RESTS_HINTS, USES_HINTS, "the history's hints"}};
    const told *t = k->t;
    strbuf *b = &k->text;
    bool argued = t->e && t->e->argued, any = false;
    unsigned uses = argued ? uses_of(t, t->e->arg.root) : 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        bool rests = t->v->rests_on & all[i].rests;
        if (!rests && !(uses & all[i].uses)) continue;
        any = true;
        open_line(k, LINE_PLAIN, 0);
        if (rests)
            strbuf_printf(b, "The violation depends on %s: without %s, the level would hold.",
                          all[i].name, all[i].rests == RESTS_HINTS ? "them" : "it");
        else
            strbuf_printf(b, "The argument uses %s.", all[i].name);
        close_line(k);
    }
    if (argued && !any && t->v->session_order)
        say_line(k, LINE_PLAIN, 0, "Session order is not to blame: the argument does not use it.");
}

static void say_levels(teller *k)
{
    const told *t = k->t;
    strbuf *b = &k->text;
    if (!t->c->n_levels) return;
    open_line(k, LINE_PLAIN, 0);
    size_t holding = 0;
    for (size_t i = 0; i < t->c->n_levels; i++) holding += t->c->levels[i].outcome == OUTCOME_HOLDS;
    strbuf_str(b, t->v->outcome == OUTCOME_VIOLATED ? "Still holds: " : "Strongest that hold: ");
    told_levels(t, OUTCOME_HOLDS, true, b, ", ", false);
    strbuf_str(b, holding > 1 ? ", and all weaker levels." : ".");
    close_line(k);
    open_line(k, LINE_PLAIN, 0);
    strbuf_str(b, "Weakest violated: ");
    told_levels(t, OUTCOME_VIOLATED, true, b, ", ", false);
    strbuf_str(b, ".");
    close_line(k);
    bool undecided = false;
    for (size_t i = 0; i < t->c->n_levels; i++)
        undecided = undecided || t->c->levels[i].outcome == OUTCOME_UNDECIDED;
    if (!undecided) return;
    open_line(k, LINE_PLAIN, 0);
    strbuf_str(b, "Undecided: ");
    told_levels(t, OUTCOME_UNDECIDED, false, b, ", ", false);
    strbuf_str(b, ".");
    close_line(k);
}

static void say_warnings(teller *k)
{
    for (uint32_t w = 0; w < LINTS && !k->t->c->quiet; w++) {
        if (!(k->t->v->warnings >> w & 1)) continue;
        open_line(k, LINE_PLAIN, 0);
        strbuf_printf(&k->text, "Warning: %s [%s]", verdict_warning_text(k->t->v, w),
                      lint_at(w)->name);
        close_line(k);
    }
}

static void say_names(teller *k)
{
    const anomaly_names *n = anomaly_names_of(k->t->e->anomaly);
    strbuf *b = &k->text;
    if (!n) return;
    open_line(k, LINE_PLAIN, 0);
    strbuf_printf(b, "Anomaly: %s", anomaly_at(k->t->e->anomaly)->name);
    const char *const who[] = {"Adya", "Elle", "Berenson et al."}, *const names[] = {n->adya,
                                                                                     n->elle,
                                                                                     n->berenson};
    bool any = false;
    for (size_t i = 0; i < 3; i++) {
        if (!*names[i]) continue;
        strbuf_printf(b, "%s%s: %s", any ? "; " : " (", who[i], names[i]);
        any = true;
    }
    strbuf_str(b, any ? ")." : ".");
    close_line(k);
    open_line(k, LINE_PLAIN, 0);
    strbuf_printf(b, "In short: %s.", n->gist);
    close_line(k);
}

static void say_title(teller *k)
{
    const verdict *v = k->t->v;
    strbuf *b = &k->text;
    open_line(k, LINE_TITLE, 0);
    if (k->t->c->history) {
        strbuf_visible(b, k->t->c->history, strlen(k->t->c->history));
        strbuf_str(b, ": ");
    }
    strbuf_printf(b, "%s (session order %s%s): %s", v->level.name, v->session_order ? "on" : "off",
                  v->aborted_read ? ", reads of aborted transactions count" : "",
                  outcome_name(v->outcome));
    close_line(k);
}

/* What modules said, of that which the answer needs: a line for each. */
static void say_assumed(teller *k)
{
    strbuf all;
    strbuf_init(&all, k->t->m);
    report_assumed_text(k->t->v, &all);
    const char *at = strbuf_cstr(&all);
    for (const char *end; *at && (end = strchr(at, '\n')) != NULL; at = end + 1) {
        while (*at == ' ') at++;
        open_line(k, LINE_PLAIN, 0);
        strbuf_char(&k->text, *at == 'a' ? 'A' : 'N'); /* "assuming", "nothing" */
        strbuf_add(&k->text, at + 1, (size_t)(end - at - 1));
        strbuf_char(&k->text, '.');
        close_line(k);
    }
    strbuf_free(&all);
}

static void say_violation(teller *k)
{
    const told *t = k->t;
    strbuf *b = &k->text;
    say_names(k);
    if (t->v->through) {
        open_line(k, LINE_PLAIN, 0);
        strbuf_printf(b, "The level implies %s, which is violated.", t->v->through);
        close_line(k);
    }
    if (t->c->instead_of) {
        open_line(k, LINE_PLAIN, 0);
        strbuf_printf(
            b,
            "%s, which is weaker, is violated too: that was found by search, and no argument about "
            "a few transactions shows it.",
            t->c->instead_of);
        close_line(k);
    }
    blank(k);
    say_txns(k);
    blank(k);
    if (t->e->argued) {
        say_line(k, LINE_HEAD, 0,
                 arg_leaf(node_at(k, t->e->arg.root)) &&
                         node_at(k, t->e->arg.root)->kind != ARG_CYCLE
                     ? "Then"
                     : "Then (A < B: A must come before B)");
        say_outcomes(k);
        narrate(k, t->e->arg.root, 1, "");
        blank(k);
    } else {
        open_line(k, LINE_PLAIN, 0);
        strbuf_str(b, t->v->reason ? t->v->reason : "");
        strbuf_char(b, '.');
        close_line(k);
        open_line(k, LINE_PLAIN, 0);
        strbuf_printf(b,
                      "This is the violation as it was found. It cannot be shown step by step: %s.",
                      t->e->why_not);
        close_line(k);
        blank(k);
    }
    say_assumed(k);
    say_rests(k);
}

static void tell_all(teller *k)
{
    const verdict *v = k->t->v;
    strbuf *b = &k->text;
    say_title(k);
    if (v->outcome == OUTCOME_VIOLATED) {
        say_violation(k);
    } else {
        open_line(k, LINE_PLAIN, 0);
        strbuf_printf(b, v->outcome == OUTCOME_HOLDS ? "Shown: %s." : "Not decided: %s.",
                      v->reason ? v->reason : "");
        close_line(k);
        if (v->outcome == OUTCOME_HOLDS) {
            say_assumed(k);
            open_line(k, LINE_PLAIN, 0);
            strbuf_printf(b, "Committed transactions: %llu, operations: %llu, sessions: %llu.",
                          (unsigned long long)v->txns, (unsigned long long)v->ops,
                          (unsigned long long)v->sessions);
            close_line(k);
        }
        blank(k);
    }
    say_levels(k);
    say_warnings(k);
    while (k->lines.n && k->lines.at[k->lines.n - 1].kind == LINE_BLANK) k->lines.n--;
}

static void open_teller(teller *k, const told *t)
{
    memset(k, 0, sizeof *k);
    k->t = t;
    strbuf_init(&k->text, t->m);
    tell_all(k);
}

static void close_teller(teller *k)
{
    strbuf_free(&k->text);
    vec_free(k->t->m, &k->lines);
    vec_free(k->t->m, &k->premises);
}

void told_argument(const told *t, told_steps *out)
{
    teller k;
    memset(out, 0, sizeof *out);
    if (!t->e || !t->e->argued) return;
    memset(&k, 0, sizeof k);
    k.t = t;
    k.steps = out;
    strbuf_init(&k.text, t->m);
    say_outcomes(&k);
    narrate(&k, t->e->arg.root, 1, "");
    out->cycles = k.cycles;
    for (size_t i = 0; i < k.lines.n; i++) {
        told_step s = k.lines.at[i].step;
        s.indent = k.lines.at[i].indent;
        s.n = k.lines.at[i].n;
        s.text = mem_get(t->m, s.n + 1);
        memcpy(s.text, k.text.at + k.lines.at[i].at, s.n);
        vec_push(t->m, &out->steps, s);
    }
    close_teller(&k);
}

/* --- text ------------------------------------------------------------------------------------- */

#define COLUMNS 100u

/* Folds at spaces; what follows stands two columns further in. */
static void fold(strbuf *b, const char *s, size_t n, size_t indent)
{
    size_t column = indent;
    for (size_t i = 0; i < indent; i++) strbuf_char(b, ' ');
    for (size_t i = 0; i < n;) {
        size_t end = i, width = 0;
        while (end < n && s[end] != ' ') width += ((unsigned char)s[end++] & 0xc0) != 0x80;
        if (column > indent && column + 1 + width > COLUMNS) {
            strbuf_char(b, '\n');
            for (size_t j = 0; j < indent + 2; j++) strbuf_char(b, ' ');
            column = indent + 2;
        } else if (i) {
            strbuf_char(b, ' ');
            column++;
        }
        strbuf_add(b, s + i, end - i);
        column += width;
        i = end + 1;
    }
    strbuf_char(b, '\n');
}

void tell_text(const told *t, strbuf *b)
{
    teller k;
    open_teller(&k, t);
    for (size_t i = 0; i < k.lines.n; i++) {
        const line *l = &k.lines.at[i];
        bool title = l->kind == LINE_TITLE && t->c->colour;
        if (l->kind == LINE_BLANK) {
            strbuf_char(b, '\n');
            continue;
        }
        if (title) strbuf_str(b, "\033[1m");
        if (l->kind == LINE_TITLE) { /* one line, for grep */
            strbuf_add(b, k.text.at + l->at, l->n);
            strbuf_char(b, '\n');
        } else {
            fold(b, k.text.at + l->at, l->n, 2u * l->indent);
        }
        if (title) strbuf_str(b, "\033[0m");
    }
    close_teller(&k);
}

/* --- Markdown --------------------------------------------------------------------------------- */

static void escape(strbuf *b, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strchr("\\`*_{}[]<>|#", s[i])) strbuf_char(b, '\\');
        strbuf_char(b, s[i]);
    }
}

/* An empty line, unless there is one. */
static void part(strbuf *b)
{
    if (b->n > 1 && b->at[b->n - 1] == '\n' && b->at[b->n - 2] != '\n') strbuf_char(b, '\n');
}

void tell_markdown(const told *t, strbuf *b)
{
    teller k;
    bool code = false;
    open_teller(&k, t);
    for (size_t i = 0; i < k.lines.n; i++) {
        const line *l = &k.lines.at[i];
        const char *s = k.text.at + l->at;
        if ((l->kind == LINE_CODE) != code) part(b);
        code = l->kind == LINE_CODE;
        switch ((enum line_kind)l->kind) {
        case LINE_TITLE:
            strbuf_str(b, "### ");
            escape(b, s, l->n);
            strbuf_str(b, "\n\n");
            break;
        case LINE_HEAD:
            strbuf_str(b, "**");
            escape(b, s, l->n);
            strbuf_str(b, "**\n\n");
            break;
        case LINE_CODE: /* indented: no value can end it */
            for (unsigned j = 1; j < l->indent; j++) strbuf_str(b, "  ");
            strbuf_str(b, "    ");
            strbuf_add(b, s, l->n);
            strbuf_char(b, '\n');
            break;
        case LINE_ITEM:
            for (unsigned j = 1; j < l->indent; j++) strbuf_str(b, "  ");
            strbuf_str(b, "- ");
            escape(b, s, l->n);
            strbuf_char(b, '\n');
            break;
        case LINE_PLAIN:
            escape(b, s, l->n);
            strbuf_str(b, "\n\n");
            break;
        case LINE_BLANK: part(b); break;
        }
    }
    while (b->n > 1 && b->at[b->n - 2] == '\n') b->n--;
    close_teller(&k);
}
