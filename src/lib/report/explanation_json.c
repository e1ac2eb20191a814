/*
 * explanation_json.c - an explanation as one JSON object (doc/schema/explain.json).
 */
#include "report/explanation.h"

#include "report/report.h"

static void member(strbuf *b, const char *name)
{
    strbuf_str(b, ",\"");
    strbuf_str(b, name);
    strbuf_str(b, "\":");
}

static void string(strbuf *b, const char *name, const char *value)
{
    member(b, name);
    strbuf_json(b, value, strlen(value));
}

/* Text that was made by words: already without control characters. */
static void words(strbuf *b, const char *name, strbuf *text)
{
    member(b, name);
    strbuf_json(b, text->n ? text->at : "", text->n);
    strbuf_free(text);
}

/* Ids and keys are strings, whatever they were in the input. */
static void as_string(const history *h, atom a, strbuf *b)
{
    strbuf text;
    strbuf_init(&text, b->mem);
    if (a.kind == ATOM_STR)
        strbuf_add(&text, atom_bytes(h, a), a.len);
    else
        atom_json(h, a, &text);
    strbuf_json(b, text.n ? text.at : "", text.n);
    strbuf_free(&text);
}

static void id(const history *h, txn_id t, strbuf *b)
{
    as_string(h, label_atom(h, h->txn_label[t]), b);
}

static void actor(const told *t, const char *name, uint32_t a, strbuf *b)
{
    member(b, name);
    if (a == NO_ID)
        strbuf_str(b, "null"); /* the initial state */
    else
        id(t->v->h, t->e->scene.txn[a], b);
}

static void key_member(const told *t, key_id k, strbuf *b)
{
    if (k == NO_ID) return;
    member(b, "key");
    as_string(t->v->h, key_atom(t->v->h, k), b);
}

static void link_json(const told *t, const arg_link *l, strbuf *b)
{
    static const char *const why[] = {"session",    "time", "only-source", "assumed",       "list",
                                      "list-lacks", "hint", "initial",     "version-order", "next"};
    strbuf text;
    strbuf_init(&text, b->mem);
    strbuf_str(b, "{\"edge\":\"");
    strbuf_str(b, link_name(l));
    strbuf_char(b, '"');
    actor(t, "from", l->from, b);
    actor(t, "to", l->to, b);
    key_member(t, l->key, b);
    string(b, "shown_by", why[l->why]);
    if (l->why == SHOWN_ORDER) {
        actor(t, "read_from", l->source, b);
        string(b, "order_shown_by", why[l->order_why]);
    }
    say_because(t, l, &text);
    words(b, "because", &text);
    strbuf_char(b, '}');
}

static void node_json(const told *t, uint32_t at, strbuf *b)
{
    static const char *const kinds[] = {"cycle",          "read",  "malformed",
                                        "initial-values", "order", "source"};
    const argument *a = &t->e->arg;
    const arg_node *n = &a->nodes.at[at];
    strbuf_printf(b, "{\"kind\":\"%s\"", kinds[n->kind]);
    if (n->kind == ARG_CYCLE) {
        member(b, "links");
        strbuf_char(b, '[');
        for (uint32_t i = 0; i < n->n; i++) {
            if (i) strbuf_char(b, ',');
            link_json(t, &a->links.at[n->first + i], b);
        }
        strbuf_str(b, "]}");
        return;
    }
    actor(t, n->kind == ARG_ORDER ? "a" : "txn", n->a, b);
    if (n->kind == ARG_ORDER || n->kind == ARG_INITIALS) actor(t, "b", n->b, b);
    key_member(t, n->key, b);
    if (arg_leaf(n)) {
        strbuf text;
        strbuf_init(&text, b->mem);
        say_fault(t, n, &text);
        words(b, "because", &text);
        strbuf_char(b, '}');
        return;
    }
    uint32_t from[SCENE_MOST + 1];
    if (n->kind == ARG_SOURCE) argument_sources(&t->e->scene.reads.at[n->read], from);
    member(b, "cases");
    strbuf_char(b, '[');
    for (uint32_t i = 0; i < n->n; i++) {
        if (i) strbuf_char(b, ',');
        strbuf_str(b, "{\"case\":");
        strbuf_u64(b, i + 1);
        if (n->kind == ARG_SOURCE)
            actor(t, "from", from[i], b);
        else
            actor(t, "first", i ? n->b : n->a, b);
        member(b, "then");
        node_json(t, a->child.at[n->first + i], b);
        strbuf_char(b, '}');
    }
    strbuf_str(b, "]}");
}

static void extras_json(const history *h, txn_id x, strbuf *b)
{
    bool any = false;
    for (size_t i = 0; i < h->extras.n; i++) {
        const extra *e = &h->extras.at[i];
        if (e->txn != x) continue;
        atom name = value_atom(h, e->name), text = value_atom(h, e->text);
        if (!any) strbuf_str(b, ",\"fields\":{");
        if (any) strbuf_char(b, ',');
        any = true;
        strbuf_json(b, atom_bytes(h, name), name.len);
        strbuf_char(b, ':');
        strbuf_add(b, atom_bytes(h, text), text.len); /* JSON already */
    }
    if (any) strbuf_char(b, '}');
}

static void txn_json(const told *t, txn_id x, strbuf *b)
{
    static const char *const status[] = {"committed", "aborted", "unknown"};
    const history *h = t->v->h;
    int64_t at;
    strbuf text;
    strbuf_init(&text, b->mem);
    strbuf_str(b, "{\"id\":");
    id(h, x, b);
    member(b, "session");
    as_string(h, label_atom(h, h->sessions.at[h->txn_session[x]]), b);
    string(b, "status", status[txn_status_of(h, x)]);
    if (scene_time(h, x, BEGIN_CALLED, &at)) strbuf_printf(b, ",\"begin\":%lld", (long long)at);
    if (scene_time(h, x, COMMIT_RETURNED, &at)) strbuf_printf(b, ",\"end\":%lld", (long long)at);
    extras_json(h, x, b);
    say_ops(t, x, &text);
    words(b, "ops", &text);
    strbuf_char(b, '}');
}

static void levels_json(const told *t, strbuf *b)
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
    member(b, "levels");
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        strbuf_printf(b, "%s\"%s\":[", i ? "," : "{", lists[i].name);
        told_levels(t, lists[i].outcome, lists[i].extreme, b, ",", true);
        strbuf_char(b, ']');
    }
    strbuf_char(b, '}');
}

void tell_json(const told *t, strbuf *b)
{
    const verdict *v = t->v;
    strbuf_str(b, "{\"schema\":1");
    if (t->c->history) string(b, "history", t->c->history);
    if (t->c->format) string(b, "format", t->c->format);
    string(b, "level", v->level.name);
    string(b, "given", v->given);
    member(b, "session_order");
    strbuf_str(b, v->session_order ? "true" : "false");
    string(b, "verdict", outcome_name(v->outcome));
    string(b, "reason", v->reason ? v->reason : "");
    if (v->outcome == OUTCOME_VIOLATED) {
        const anomaly_names *n = anomaly_names_of(t->e->anomaly);
        if (n) {
            string(b, "anomaly", anomaly_at(t->e->anomaly)->name);
            strbuf_str(b, ",\"names\":{\"ratel\":");
            strbuf_json(b, anomaly_at(t->e->anomaly)->name,
                        strlen(anomaly_at(t->e->anomaly)->name));
            if (*n->adya) string(b, "adya", n->adya);
            if (*n->elle) string(b, "elle", n->elle);
            if (*n->berenson) string(b, "berenson", n->berenson);
            strbuf_char(b, '}');
            string(b, "gist", n->gist);
        }
        if (v->through) string(b, "through", v->through);
        if (t->c->instead_of) string(b, "instead_of", t->c->instead_of);
        static const char *const rests[] = {"session-order", "real-time", "hints"};
        bool any = false;
        member(b, "rests_on");
        strbuf_char(b, '[');
        for (unsigned i = 0; i < 3; i++) {
            if (!(v->rests_on >> i & 1)) continue;
            strbuf_printf(b, "%s\"%s\"", any ? "," : "", rests[i]);
            any = true;
        }
        strbuf_char(b, ']');
        txn_ids txns = {0};
        told_txns(t, &txns);
        member(b, "core");
        strbuf_char(b, '[');
        for (size_t i = 0; i < txns.n; i++) {
            if (i) strbuf_char(b, ',');
            id(v->h, txns.at[i], b);
        }
        strbuf_char(b, ']');
        member(b, "transactions");
        strbuf_char(b, '[');
        for (size_t i = 0; i < txns.n; i++) {
            if (i) strbuf_char(b, ',');
            txn_json(t, txns.at[i], b);
        }
        strbuf_char(b, ']');
        vec_free(t->m, &txns);
        member(b, "shown");
        strbuf_str(b, t->e->argued ? "true" : "false");
        if (t->e->argued) {
            member(b, "argument");
            node_json(t, t->e->arg.root, b);
        } else {
            string(b, "not_shown", t->e->why_not);
        }
    }
    levels_json(t, b);
    bool any = false;
    member(b, "warnings");
    strbuf_char(b, '[');
    for (uint32_t w = 0; w < LINTS; w++) {
        if (!(v->warnings >> w & 1)) continue;
        if (any) strbuf_char(b, ',');
        any = true;
        strbuf_json(b, lint_at(w)->name, strlen(lint_at(w)->name));
    }
    strbuf_str(b, "]}\n");
}
