/*
 * explanation_json.c - an explanation as one JSON object (doc/schema/explain.json).
 */
#include "report/explanation.h"
#include "report/report_assumed.h"

#include "report/report.h"

/* A member whose text the renderers of sentences made; the text is freed. */
static void sentence_json(json_writer *w, const char *name, strbuf *text)
{
    jw_name(w, name);
    jw_bytes(w, text->n ? text->at : "", text->n);
    strbuf_free(text);
}

static void actor_json(json_writer *w, const told *t, const char *name, uint32_t a)
{
    jw_name(w, name);
    if (a == NO_ID)
        jw_null(w); /* the initial state */
    else
        report_txn_id(w, t->v->h, t->e->scene.txn[a], t->m);
}

static void key_json(json_writer *w, const told *t, key_id k)
{
    if (k == NO_ID) return;
    jw_name(w, "key");
    report_key(w, t->v->h, k, t->m);
}

static void link_json(json_writer *w, const told *t, const arg_link *l)
{
    static const char *const why[] = {"session",    "time", "only-source", "assumed",       "list",
                                      "list-lacks", "hint", "initial",     "version-order", "next"};
    strbuf text;
    strbuf_init(&text, t->m);
    jw_object(w);
    jw_member_text(w, "edge", link_name(l));
    actor_json(w, t, "from", l->from);
    actor_json(w, t, "to", l->to);
    key_json(w, t, l->key);
    jw_member_text(w, "shown_by", why[l->why]);
    if (l->why == SHOWN_ORDER) {
        actor_json(w, t, "read_from", l->source);
        jw_member_text(w, "order_shown_by", why[l->order_why]);
    }
    say_because(t, l, &text);
    sentence_json(w, "because", &text);
    jw_end_object(w);
}

static void node_json(json_writer *w, const told *t, uint32_t at);

/* A read that had one of several sources, or two transactions in one of two orders. */
static void cases_json(json_writer *w, const told *t, const arg_node *n)
{
    const argument *a = &t->e->arg;
    uint32_t from[SCENE_MOST + 1];
    if (n->kind == ARG_SOURCE) argument_sources(&t->e->scene.reads.at[n->read], from);
    jw_member_array(w, "cases");
    for (uint32_t i = 0; i < n->n; i++) {
        jw_object(w);
        jw_member_u64(w, "case", i + 1);
        if (n->kind == ARG_SOURCE)
            actor_json(w, t, "from", from[i]);
        else
            actor_json(w, t, "first", i ? n->b : n->a);
        jw_name(w, "then");
        node_json(w, t, a->child.at[n->first + i]);
        jw_end_object(w);
    }
    jw_end_array(w);
}

static void node_json(json_writer *w, const told *t, uint32_t at)
{
    static const char *const kinds[] = {"cycle",      "read",  "malformed", "initial-values",
                                        "read-twice", "order", "source"};
    const argument *a = &t->e->arg;
    const arg_node *n = &a->nodes.at[at];
    jw_object(w);
    jw_member_text(w, "kind", kinds[n->kind]);
    if (n->kind == ARG_CYCLE) {
        jw_member_array(w, "links");
        for (uint32_t i = 0; i < n->n; i++) link_json(w, t, &a->links.at[n->first + i]);
        jw_end_array(w);
    } else {
        actor_json(w, t, n->kind == ARG_ORDER ? "a" : "txn", n->a);
        if (n->kind == ARG_ORDER || n->kind == ARG_INITIALS) actor_json(w, t, "b", n->b);
        key_json(w, t, n->key);
        if (arg_leaf(n)) {
            strbuf text;
            strbuf_init(&text, t->m);
            say_fault(t, n, &text);
            sentence_json(w, "because", &text);
        } else {
            cases_json(w, t, n);
        }
    }
    jw_end_object(w);
}

/* Members of the input that Ratel does not know: their texts are JSON already. */
static void extras_json(json_writer *w, const history *h, txn_id x)
{
    bool any = false;
    for (size_t i = 0; i < h->extras.n; i++) {
        const extra *e = &h->extras.at[i];
        if (e->txn != x) continue;
        atom name = value_atom(h, e->name), text = value_atom(h, e->text);
        if (!any) jw_member_object(w, "fields");
        any = true;
        jw_name_bytes(w, atom_bytes(h, name), name.len);
        jw_raw(w, atom_bytes(h, text), text.len);
    }
    if (any) jw_end_object(w);
}

static void txn_json(json_writer *w, const told *t, txn_id x)
{
    static const char *const status[] = {"committed", "aborted", "unknown"};
    const history *h = t->v->h;
    int64_t at;
    strbuf text;
    strbuf_init(&text, t->m);
    jw_object(w);
    jw_name(w, "id");
    report_txn_id(w, h, x, t->m);
    jw_name(w, "session");
    report_session_id(w, h, h->txn_session[x], t->m);
    jw_member_text(w, "status", status[txn_status_of(h, x)]);
    if (scene_time(h, x, BEGIN_CALLED, &at)) jw_member_i64(w, "begin", at);
    if (scene_time(h, x, COMMIT_RETURNED, &at)) jw_member_i64(w, "end", at);
    extras_json(w, h, x);
    say_ops(t, x, &text);
    sentence_json(w, "ops", &text);
    jw_end_object(w);
}

static void levels_json(json_writer *w, const told *t)
{
    static const struct {
        const char *name;
        enum outcome outcome;
        bool extreme;
    } lists[] = {{"holds", OUTCOME_HOLDS, false},
                 {"violated", OUTCOME_VIOLATED, false},
                 {"undecided", OUTCOME_UNDECIDED, false},
                 {"strongest", OUTCOME_HOLDS, true},
                 {"weakest_violated", OUTCOME_VIOLATED, true}};
    if (!t->c->n_levels) return;
    jw_member_object(w, "levels");
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        strbuf names;
        strbuf_init(&names, t->m);
        told_levels(t, lists[i].outcome, lists[i].extreme, &names, ",", true);
        jw_member_array(w, lists[i].name);
        jw_raw(w, names.at, names.n);
        jw_end_array(w);
        strbuf_free(&names);
    }
    jw_end_object(w);
}

static void anomaly_json(json_writer *w, const told *t)
{
    const anomaly_names *n = anomaly_names_of(t->e->anomaly);
    if (!n) return;
    jw_member_text(w, "anomaly", anomaly_at(t->e->anomaly)->name);
    jw_member_object(w, "names");
    jw_member_text(w, "ratel", anomaly_at(t->e->anomaly)->name);
    if (*n->adya) jw_member_text(w, "adya", n->adya);
    if (*n->elle) jw_member_text(w, "elle", n->elle);
    if (*n->berenson) jw_member_text(w, "berenson", n->berenson);
    jw_end_object(w);
    jw_member_text(w, "gist", n->gist);
}

/* Which transactions of unknown outcome committed, and what shows it. */
static void outcomes_json(json_writer *w, const told *t)
{
    const argument *a = &t->e->arg;
    if (!a->committed.n) return;
    jw_member_array(w, "committed");
    for (size_t i = 0; i < a->committed.n; i++) {
        strbuf text;
        strbuf_init(&text, t->m);
        jw_object(w);
        actor_json(w, t, "txn", a->committed.at[i].actor);
        say_outcome(t, &a->committed.at[i], &text);
        sentence_json(w, "because", &text);
        jw_end_object(w);
    }
    jw_end_array(w);
}

static void violation_json(json_writer *w, const told *t)
{
    const verdict *v = t->v;
    anomaly_json(w, t);
    jw_member_optional(w, "through", v->through);
    jw_member_optional(w, "instead_of", t->c->instead_of);
    report_rests_on(w, v);
    txn_ids txns = {0};
    told_txns(t, &txns);
    jw_member_array(w, "core");
    for (size_t i = 0; i < txns.n; i++) report_txn_id(w, v->h, txns.at[i], t->m);
    jw_end_array(w);
    jw_member_array(w, "transactions");
    for (size_t i = 0; i < txns.n; i++) txn_json(w, t, txns.at[i]);
    jw_end_array(w);
    vec_free(t->m, &txns);
    jw_member_bool(w, "shown", t->e->argued);
    if (t->e->argued) {
        outcomes_json(w, t);
        jw_name(w, "argument");
        node_json(w, t, t->e->arg.root);
    } else {
        jw_member_text(w, "not_shown", t->e->why_not);
    }
}

void tell_json(const told *t, strbuf *b)
{
    const verdict *v = t->v;
    json_writer to = jw_strbuf(b), *w = &to;
    jw_object(w);
    jw_member_u64(w, "schema", 1);
    jw_member_optional(w, "history", t->c->history);
    jw_member_optional(w, "format", t->c->format);
    jw_member_text(w, "level", v->level.name);
    jw_member_text(w, "given", v->given);
    jw_member_bool(w, "session_order", v->session_order);
    jw_member_text(w, "verdict", outcome_name(v->outcome));
    jw_member_text(w, "reason", v->reason ? v->reason : "");
    report_assumed_json(w, v);
    if (v->aborted_read) jw_member_text(w, "aborted", "reads");
    if (v->outcome == OUTCOME_VIOLATED) violation_json(w, t);
    levels_json(w, t);
    report_warnings(w, v);
    jw_end_object(w);
    jw_end_line(w);
}
