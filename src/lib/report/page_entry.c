/*
 * page_entry.c - an explanation as an entry of a page (page.h, doc/schema/page.json).
 *
 * The entry holds the object of `explain --json` as it is, and beside it what only a page needs:
 * the steps of the argument, the pictures, the transactions around it, the whole run.  What a
 * history can make long is cut: an entry is as large as its argument, not as its history.
 */
#include "report/page_parts.h"

#include "report/picture.h"
#include "report/report.h"

enum { CORE = 64, OPS = 120, TEXTS = 400000, FIELD = 4000 };

/* A text that the renderers made, as a value; the buffer is empty afterwards. */
static void text_json(json_writer *w, strbuf *text)
{
    jw_bytes(w, text->n ? text->at : "", text->n);
    text->n = 0;
}

static void name_json(json_writer *w, const told *t, txn_id x, strbuf *text)
{
    say_txn(t->v->h, x, text);
    text_json(w, text);
}

/* --- the argument ----------------------------------------------------------------------------- */

static void actor_name(json_writer *w, const told *t, uint32_t actor, strbuf *text)
{
    if (actor != NO_ID) name_json(w, t, t->e->scene.txn[actor], text);
}

/* The transactions that a step speaks of. */
static void step_txns(json_writer *w, const told *t, const told_step *s, strbuf *text)
{
    const arg_node *n = s->node;
    jw_member_array(w, "txns");
    if (s->outcome) {
        actor_name(w, t, s->outcome->actor, text);
        actor_name(w, t, t->e->scene.reads.at[s->outcome->read].actor, text);
    } else if (s->link) {
        actor_name(w, t, s->link->from, text);
        actor_name(w, t, s->link->to, text);
        if (s->link->why == SHOWN_ORDER) actor_name(w, t, s->link->source, text);
    } else if (n->kind == ARG_CYCLE) {
        for (uint32_t i = 0; i < n->n; i++)
            actor_name(w, t, t->e->arg.links.at[n->first + i].from, text);
    } else if (n->kind == ARG_SOURCE) {
        uint32_t from[SCENE_MOST + 1];
        const scene_read *r = &t->e->scene.reads.at[n->read];
        uint32_t many = argument_sources(r, from);
        actor_name(w, t, r->actor, text);
        for (uint32_t i = 0; i < many; i++) actor_name(w, t, from[i], text);
    } else {
        actor_name(w, t, n->a, text);
        if (n->kind == ARG_ORDER || n->kind == ARG_INITIALS) actor_name(w, t, n->b, text);
    }
    jw_end_array(w);
}

/* An alternative that an inference rules out: the links that contradict each other. */
static void other_json(json_writer *w, const told *t, const step_other *o, strbuf *text)
{
    const arg_node *n = o->leaf;
    jw_object(w);
    jw_name(w, "if");
    jw_bytes(w, o->text, o->n);
    if (n->kind != ARG_CYCLE) {
        say_fault(t, n, text);
        jw_name(w, "fault");
        text_json(w, text);
    } else {
        jw_member_array(w, "links");
        for (uint32_t i = 0; i < n->n; i++) {
            const arg_link *l = &t->e->arg.links.at[n->first + i];
            jw_object(w);
            jw_member_text(w, "kind", link_name(l));
            jw_name(w, "from");
            actor_name(w, t, l->from, text);
            jw_name(w, "to");
            actor_name(w, t, l->to, text);
            say_because(t, l, text);
            jw_name(w, "because");
            text_json(w, text);
            jw_end_object(w);
        }
        jw_end_array(w);
    }
    jw_end_object(w);
}

static void steps_json(json_writer *w, const told *t, const told_steps *steps, strbuf *text)
{
    static const char *const kinds[] = {"inference",     "either", "case",   "link",
                                        "contradiction", "fault",  "outcome"};
    jw_member_array(w, "steps");
    for (size_t i = 0; i < steps->steps.n; i++) {
        const told_step *s = &steps->steps.at[i];
        jw_object(w);
        jw_member_text(w, "kind", kinds[s->kind]);
        jw_member_u64(w, "indent", s->indent);
        if (*s->ref) jw_member_text(w, "ref", s->ref);
        jw_name(w, "text");
        jw_bytes(w, s->text, s->n);
        step_txns(w, t, s, text);
        if (s->kind == STEP_LINK || s->kind == STEP_CONTRADICTION)
            jw_member_u64(w, "cycle", s->place);
        if (s->n_refs) {
            jw_member_array(w, "uses");
            for (uint32_t k = 0; k < s->n_refs; k++)
                jw_text(w, steps->refs.at[s->first_ref + k].name);
            jw_end_array(w);
        }
        if (s->n_others) {
            jw_member_array(w, "otherwise");
            for (uint32_t k = 0; k < s->n_others; k++)
                other_json(w, t, &steps->others.at[s->first_other + k], text);
            jw_end_array(w);
        }
        jw_end_object(w);
    }
    jw_end_array(w);
}

/* --- pictures --------------------------------------------------------------------------------- */

static void edge_reasons(json_writer *w, const told *t, const told_edges *edges,
                         const told_steps *steps, strbuf *text)
{
    jw_member_array(w, "reasons");
    for (size_t i = 0; i < edges->n; i++) {
        const told_edge *d = &edges->at[i];
        jw_object(w);
        if (d->step != NO_ID) {
            jw_member_u64(w, "step", d->step);
            say_because(t, steps->steps.at[d->step].link, text);
            jw_name(w, "because");
            text_json(w, text);
        }
        jw_end_object(w);
    }
    jw_end_array(w);
}

/* The member `name`: a picture, and beside its edges why each is there. */
static void picture_member(json_writer *w, const char *name, const told *t, const told_steps *steps,
                           const txn_ids *around, strbuf *text)
{
    picture p;
    told_edges edges = {0};
    told_picture(t, steps, around, CORE, &p, &edges);
    jw_member_object(w, name);
    picture_json(&p, w);
    edge_reasons(w, t, &edges, steps, text);
    jw_end_object(w);
    vec_free(t->m, &edges);
}

/* --- transactions ----------------------------------------------------------------------------- */

/* Fields of the input, as strings: of what is no string the JSON, and what is too long is cut. */
static void fields_json(json_writer *w, const history *h, txn_id x, size_t *room)
{
    size_t i = txn_extras(h, x);
    if (i >= h->extras.n || h->extras.at[i].txn != x) return;
    jw_member_object(w, "fields");
    for (; i < h->extras.n && h->extras.at[i].txn == x; i++) {
        atom name = value_atom(h, h->extras.at[i].name),
             value = value_atom(h, h->extras.at[i].text);
        size_t most = *room < FIELD ? *room : FIELD;
        jw_name_bytes(w, atom_bytes(h, name), name.len);
        if (value.len <= most && value.len && *atom_bytes(h, value) == '"')
            jw_raw(w, atom_bytes(h, value), value.len);
        else
            jw_bytes(w, atom_bytes(h, value), value.len < most ? value.len : most);
        *room -= value.len < most ? value.len : most;
    }
    jw_end_object(w);
}

static void ops_json(json_writer *w, const told *t, txn_id x, const key_ids *keys, strbuf *text,
                     size_t *room)
{
    const history *h = t->v->h;
    uint32_t n = h->txn_op[x + 1] - h->txn_op[x], shown = 0;
    jw_member_array(w, "ops");
    for (op_id o = h->txn_op[x]; o < h->txn_op[x + 1] && shown<OPS && * room> 200; o++, shown++) {
        say_op(t, o, keys, text);
        *room -= text->n < *room ? text->n : *room;
        jw_array(w);
        text_json(w, text);
        jw_bool(w, keys->n && op_about(h, o, keys));
        jw_end_array(w);
    }
    jw_end_array(w);
    if (shown < n) jw_member_u64(w, "more", n - shown);
}

/* Times are texts: a number of JavaScript does not hold 64 bits. */
static void time_member(json_writer *w, const char *name, int64_t at)
{
    jw_name(w, name);
    jw_format(w, "%lld", (long long)at);
}

static void txn_json(json_writer *w, const told *t, txn_id x, bool core, const key_ids *keys,
                     strbuf *text, size_t *room)
{
    static const char *const status[] = {"committed", "aborted", "unknown"};
    const history *h = t->v->h;
    int64_t at;
    jw_object(w);
    jw_name(w, "name");
    name_json(w, t, x, text);
    label_text(h, h->sessions.at[h->txn_session[x]], text);
    jw_name(w, "session");
    text_json(w, text);
    jw_member_text(w, "status", status[txn_status_of(history_as_recorded(h), x)]);
    jw_member_bool(w, "core", core);
    jw_member_u64(w, "place", (uint64_t)x + 1);
    if (scene_time(h, x, BEGIN_CALLED, &at)) time_member(w, "begin", at);
    if (scene_time(h, x, COMMIT_RETURNED, &at)) time_member(w, "end", at);
    if (h->txn_flags[x] & TXN_HAS_START_TS) time_member(w, "start_ts", h->txn_start_ts[x]);
    if (h->txn_flags[x] & TXN_HAS_COMMIT_TS) time_member(w, "commit_ts", h->txn_commit_ts[x]);
    fields_json(w, h, x, room);
    ops_json(w, t, x, keys, text, room);
    jw_end_object(w);
}

static void txns_json(json_writer *w, const told *t, const txn_ids *core, const txn_ids *around,
                      strbuf *text)
{
    key_ids keys = {0};
    size_t room = TEXTS;
    told_keys(t, &keys);
    jw_member_array(w, "transactions");
    for (size_t i = 0; i < core->n && i < CORE; i++)
        txn_json(w, t, core->at[i], true, &keys, text, &room);
    for (size_t i = 0; i < around->n; i++) txn_json(w, t, around->at[i], false, &keys, text, &room);
    jw_end_array(w);
    vec_free(t->m, &keys);
}

/* --- around it -------------------------------------------------------------------------------- */

static void counts_json(json_writer *w, const verdict *v)
{
    jw_member_object(w, "counts");
    jw_member_u64(w, "transactions", v->h->txns);
    jw_member_u64(w, "committed", v->txns);
    jw_member_u64(w, "operations", v->ops);
    jw_member_u64(w, "sessions", v->sessions);
    jw_member_u64(w, "keys", v->keys);
    jw_end_object(w);
    if (!v->cost) return;
    jw_member_object(w, "solver");
    jw_member_u64(w, "vars", v->cost->vars);
    jw_member_u64(w, "clauses", v->cost->clauses);
    jw_member_u64(w, "conflicts", v->cost->conflicts);
    jw_end_object(w);
    jw_member_array(w, "stages");
    for (size_t i = 0; i < v->cost->stages.n; i++) {
        jw_array(w);
        jw_text(w, v->cost->stages.at[i].name);
        jw_decimal(w, (double)v->cost->stages.at[i].ns / 1e9, 6);
        jw_end_array(w);
    }
    jw_end_array(w);
}

static void levels_json(json_writer *w, const told *t)
{
    jw_member_array(w, "levels");
    for (size_t i = 0; i < t->c->n_levels; i++) {
        jw_array(w);
        jw_text(w, t->c->levels[i].name);
        jw_text(w, outcome_name(t->c->levels[i].outcome));
        jw_end_array(w);
    }
    jw_end_array(w);
}

static void warnings_json(json_writer *w, const verdict *v)
{
    jw_member_array(w, "warnings");
    for (uint32_t i = 0; i < LINTS; i++) {
        if (!(v->warnings >> i & 1)) continue;
        jw_array(w);
        jw_text(w, lint_at(i)->name);
        jw_text(w, verdict_warning_text(v, i));
        jw_end_array(w);
    }
    jw_end_array(w);
}

static void command_json(json_writer *w, const told *t, const char *command, const char *more)
{
    strbuf line;
    strbuf_init(&line, t->m);
    strbuf_printf(&line, "ratel %s --level ", command);
    strbuf_shell_path(&line, t->v->given);
    if (t->v->level.so == LEVEL_OPTION && !t->v->session_order)
        strbuf_str(&line, " --session-order off");
    if (t->v->ryow != RYOW_MUST) strbuf_printf(&line, " --ryow %s", ryow_name(t->v->ryow));
    if (t->v->aborted_read) strbuf_str(&line, " --aborted reads");
    if (t->v->drift) strbuf_printf(&line, " --drift %lld", (long long)t->v->drift);
    strbuf_str(&line, more);
    strbuf_char(&line, ' ');
    strbuf_shell_path(&line, t->c->history);
    text_json(w, &line);
    strbuf_free(&line);
}

static void reproduce_json(json_writer *w, const told *t)
{
    jw_member_array(w, "reproduce");
    if (t->c->history) {
        command_json(w, t, "explain", "");
        if (t->v->outcome == OUTCOME_VIOLATED) command_json(w, t, "shrink", " -o small.jsonl");
        command_json(w, t, "check", " --certificate proof.txt");
    }
    jw_end_array(w);
}

/* The verdict in one sentence. */
static void sentence(const told *t, strbuf *b)
{
    const verdict *v = t->v;
    if (t->c->history)
        strbuf_visible(b, t->c->history, strlen(t->c->history));
    else
        strbuf_str(b, "The history");
    if (v->outcome == OUTCOME_UNDECIDED) {
        strbuf_printf(b, ": whether it satisfies %s is undecided: %s.", v->level.name,
                      v->reason ? v->reason : "");
        return;
    }
    strbuf_printf(b, v->outcome == OUTCOME_HOLDS ? " satisfies %s" : " violates %s", v->level.name);
    const anomaly_names *n =
        v->outcome == OUTCOME_VIOLATED ? anomaly_names_of(t->e->anomaly) : NULL;
    if (n)
        strbuf_printf(b, " (%s): %s", anomaly_at(t->e->anomaly)->name, n->gist);
    else if (v->outcome == OUTCOME_HOLDS && v->reason && *v->reason)
        strbuf_printf(b, ": %s", v->reason);
    strbuf_char(b, '.');
}

static void explanation_member(json_writer *w, const told *t)
{
    strbuf json;
    strbuf_init(&json, t->m);
    tell_json(t, &json);
    while (json.n && json.at[json.n - 1] == '\n') json.n--;
    jw_name(w, "explanation");
    jw_raw(w, json.at, json.n);
    strbuf_free(&json);
}

void tell_page_entry(const told *t, strbuf *b)
{
    json_writer to = jw_strbuf(b), *w = &to;
    told_steps steps;
    txn_ids core = {0}, around = {0};
    strbuf text;
    strbuf_init(&text, t->m);
    told_argument(t, &steps);
    told_txns(t, &core);
    page_around(t, &core, &around);
    jw_object(w);
    jw_member_text(w, "verdict", outcome_name(t->v->outcome));
    sentence(t, &text);
    jw_name(w, "sentence");
    text_json(w, &text);
    if (t->c->history) strbuf_visible(&text, t->c->history, strlen(t->c->history));
    jw_name(w, "source");
    text_json(w, &text);
    jw_member_text(w, "level", t->v->level.name);
    explanation_member(w, t);
    steps_json(w, t, &steps, &text);
    jw_member_u64(w, "cycles", steps.cycles);
    if (core.n) picture_member(w, "picture", t, &steps, NULL, &text);
    if (around.n) picture_member(w, "around", t, &steps, &around, &text);
    jw_name(w, "versions");
    page_versions(w, t, &steps);
    txns_json(w, t, &core, &around, &text);
    jw_name(w, "strip");
    page_strip(w, t, &core);
    counts_json(w, t->v);
    levels_json(w, t);
    warnings_json(w, t->v);
    reproduce_json(w, t);
    jw_end_object(w);
    jw_end_line(w);
    vec_free(t->m, &around);
    vec_free(t->m, &core);
    strbuf_free(&text);
}

/* Whatever was found of the history is for somebody else to tell: a small history is drawn whole,
   of a large one the beginning. */
void tell_page_scene(const told *t, strbuf *b)
{
    json_writer to = jw_strbuf(b), *w = &to;
    verdict plain = *t->v;
    told drawn = {&plain, NULL, t->c, t->m};
    told_steps steps = {0};
    txn_ids core = {0}, around = {0};
    strbuf text;
    strbuf_init(&text, t->m);
    for (txn_id x = 0; plain.h->txns <= CORE && x < plain.h->txns; x++) vec_push(t->m, &core, x);
    plain.core = core;
    plain.cycle.n = 0;
    if (!core.n) page_around(&drawn, &core, &around);
    jw_object(w);
    if (core.n) picture_member(w, "picture", &drawn, &steps, NULL, &text);
    if (around.n) picture_member(w, "around", &drawn, &steps, &around, &text);
    txns_json(w, &drawn, &core, &around, &text);
    jw_name(w, "strip");
    page_strip(w, &drawn, &core);
    jw_end_object(w);
    jw_end_line(w);
    vec_free(t->m, &around);
    vec_free(t->m, &core);
    strbuf_free(&text);
}

void tell_html(const told *t, strbuf *b)
{
    strbuf entry, title;
    strbuf_init(&entry, t->m);
    strbuf_init(&title, t->m);
    told_title(t, &title);
    page_head head = {strbuf_cstr(&title), NULL, t->c->session_order};
    page_begin(b, &head);
    tell_page_entry(t, &entry);
    page_entry(b, entry.at, entry.n, true);
    page_end(b);
    strbuf_free(&title);
    strbuf_free(&entry);
}
