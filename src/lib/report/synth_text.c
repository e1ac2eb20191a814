/*
 * synth_text.c - what synth found, as text and as JSON (synth_report.h).
 *
 * A found history says who reads from whom, not which values: every key holds 0 at first and
 * transaction tN writes N, so a value names its writer.
 */
#include <stdio.h>
#include <string.h>

#include "report/synth_report.h"

static void add_visible(strbuf *b, const char *s)
{
    strbuf_visible(b, s, strlen(s));
}

/* Isolde's session orders need not be chains. */
bool synth_is_chains(const synth_answer *r)
{
    for (uint32_t a = 1; a <= r->txns; a++)
        for (uint32_t b = a + 1; b <= r->txns; b++)
            if (r->so[(size_t)a * (r->txns + 1) + b] != (r->session[a] == r->session[b]))
                return false;
    return true;
}

/* The next direct pair of the session order that crosses sessions; begin with 0, 0. */
static bool next_cross_edge(const synth_answer *r, uint32_t *a, uint32_t *b)
{
    size_t n = (size_t)r->txns + 1;
    for (size_t at = *a * n + *b + 1; at < n * n; at++) {
        uint32_t from = (uint32_t)(at / n), to = (uint32_t)(at % n);
        bool direct = from && r->so[at] && r->session[from] != r->session[to];
        for (size_t k = 1; k < n; k++) direct &= !(r->so[from * n + k] && r->so[k * n + to]);
        if (!direct) continue;
        *a = from;
        *b = to;
        return true;
    }
    return false;
}

/* --- text ------------------------------------------------------------------------------------- */

static void add_cross_edges(strbuf *b, const synth_answer *r, const char *indent)
{
    const char *comma = "session order also:";
    for (uint32_t from = 0, to = 0; next_cross_edge(r, &from, &to); comma = ",") {
        if (*comma != ',') strbuf_str(b, indent);
        strbuf_printf(b, "%s t%u before t%u", comma, (unsigned)from, (unsigned)to);
    }
    if (*comma == ',') strbuf_char(b, '\n');
}

void report_synth_history(strbuf *b, const synth_answer *r, const char *indent)
{
    char name[24];
    for (uint32_t t = 1; t <= r->txns; t++) {
        strbuf_printf(b, "%st%u  session %u  ", indent, (unsigned)t, (unsigned)r->session[t]);
        for (uint32_t x = 0; x < r->keys; x++) {
            uint32_t from = r->from[(size_t)t * r->keys + x];
            synth_key_name(x, name, sizeof name);
            if (from != SYNTH_NONE_READ) strbuf_printf(b, " r(%s)=%u", name, (unsigned)from);
        }
        for (uint32_t x = 0; x < r->keys; x++) {
            synth_key_name(x, name, sizeof name);
            if (r->writes[(size_t)t * r->keys + x])
                strbuf_printf(b, " w(%s)=%u", name, (unsigned)t);
        }
        strbuf_char(b, '\n');
    }
    add_cross_edges(b, r, indent);
}

static void add_names(strbuf *b, const char *what, const name_list *l)
{
    if (!l->n) return;
    strbuf_str(b, what);
    for (size_t i = 0; i < l->n; i++) {
        strbuf_str(b, i ? ", " : " ");
        add_visible(b, l->at[i]);
    }
}

static void add_scope(strbuf *b, const synth_question *q)
{
    const synth_problem *p = q->scope;
    strbuf_printf(b, "\n  up to %u transactions, %u keys, %u values of a key", (unsigned)p->txns,
                  (unsigned)p->keys, (unsigned)p->values);
    if (p->sessions) strbuf_printf(b, ", %u sessions", (unsigned)p->sessions);
    if (p->ops) strbuf_printf(b, ", %u operations of a transaction", (unsigned)p->ops);
    if (p->no_blind) strbuf_str(b, ", with Isolde's restrictions");
    if (q->conditional) strbuf_str(b, ", under the condition given");
    strbuf_char(b, '\n');
}

static void add_none(strbuf *b, const synth_question *q, const synth_answer *r)
{
    add_names(b, "no history is allowed by", &q->allow);
    if (!q->allow.n) strbuf_str(b, "no history is");
    add_names(b, q->allow.n ? " and forbidden by" : " forbidden by", &q->forbid);
    if (r->result == SYNTH_PROVED)
        strbuf_printf(b, "\n  proved for every size: %s\n", r->why);
    else
        add_scope(b, q);
}

static void add_visibility(strbuf *b, const synth_answer *r, size_t level)
{
    const char *comma = "; visible: ";
    for (uint32_t from = 1; from <= r->txns; from++)
        for (uint32_t to = 1; to <= r->txns; to++) {
            if (!r->vis[level][(size_t)from * (r->txns + 1) + to]) continue;
            strbuf_printf(b, "%st%u to t%u", comma, (unsigned)from, (unsigned)to);
            comma = ", ";
        }
    if (*comma == ';') strbuf_str(b, "; no transaction is visible to another");
}

void report_synth_text(strbuf *b, const synth_question *q, const synth_answer *r)
{
    if (r->result == SYNTH_UNDECIDED) {
        strbuf_printf(b, "undecided: %s\n", r->why ? r->why : "");
        return;
    }
    if (r->result != SYNTH_HISTORY) {
        add_none(b, q, r);
        return;
    }
    add_names(b, "allowed by", &q->allow);
    add_names(b, q->allow.n ? ", forbidden by" : "forbidden by", &q->forbid);
    strbuf_printf(b, ": %u transaction%s, every key holds 0 at first\n", (unsigned)r->txns,
                  r->txns == 1 ? "" : "s");
    report_synth_history(b, r, "  ");
    for (size_t i = 0; i < q->allow.n; i++) {
        strbuf_str(b, "  ");
        add_visible(b, q->allow.at[i]);
        strbuf_str(b, " holds in the order");
        for (uint32_t k = 0; k < r->txns; k++) strbuf_printf(b, " t%u", (unsigned)r->witness[i][k]);
        if (r->vis[i]) add_visibility(b, r, i);
        strbuf_char(b, '\n');
    }
}

void report_synth_violated(strbuf *b, const char *level, const char *anomaly, const char *reason,
                           const char *const *lines, size_t n)
{
    strbuf_str(b, "  ");
    add_visible(b, level);
    strbuf_str(b, " is violated");
    if (reason) strbuf_printf(b, ": %s, %s", anomaly, reason);
    if (n) strbuf_printf(b, "%s these requirements contradict each other:", reason ? ";" : ":");
    strbuf_char(b, '\n');
    for (size_t k = 0; k < n; k++) strbuf_printf(b, "    %s\n", lines[k]);
}

void report_synth_others(strbuf *b, const synth_answer *r)
{
    synth_answer other;
    for (size_t i = 0; synth_more(r, i, &other); i++) {
        strbuf_str(b, "or\n");
        report_synth_history(b, &other, "  ");
    }
    strbuf_printf(b, "%zu %s of this size%s\n", r->n_others + 1,
                  r->n_others ? "histories" : "history",
                  r->all ? ", up to the names of transactions and keys" : "; there may be more");
}

/* --- JSON ------------------------------------------------------------------------------------- */

const char *synth_result_name(synth_result r)
{
    static const char *const names[] = {"undecided", "history", "none-up-to-scope", "proved"};
    return names[r];
}

void report_level_names(json_writer *w, const char *name, const name_list *levels)
{
    jw_member_array(w, name);
    for (size_t i = 0; i < levels->n; i++) jw_text(w, levels->at[i]);
    jw_end_array(w);
}

void report_synth_transactions(json_writer *w, const synth_answer *r)
{
    for (uint32_t t = 1; t <= r->txns; t++) {
        jw_object(w);
        jw_member_u64(w, "session", r->session[t]);
        jw_name(w, "id");
        jw_format(w, "t%u", (unsigned)t);
        jw_member_array(w, "ops");
        for (int writes = 0; writes < 2; writes++)
            for (uint32_t x = 0; x < r->keys; x++) {
                char name[24];
                size_t cell = (size_t)t * r->keys + x;
                uint32_t v = writes ? t : r->from[cell];
                if (writes ? !r->writes[cell] : v == SYNTH_NONE_READ) continue;
                synth_key_name(x, name, sizeof name);
                jw_array(w);
                jw_text(w, writes ? "w" : "r");
                jw_text(w, name);
                jw_u64(w, v);
                jw_end_array(w);
            }
        jw_end_array(w);
        jw_end_object(w);
    }
}

static void cross_edges_json(json_writer *w, const synth_answer *r)
{
    bool any = false;
    for (uint32_t a = 0, b = 0; next_cross_edge(r, &a, &b); any = true) {
        if (!any) jw_member_array(w, "session_order");
        jw_array(w);
        jw_format(w, "t%u", (unsigned)a);
        jw_format(w, "t%u", (unsigned)b);
        jw_end_array(w);
    }
    if (any) jw_end_array(w);
}

/* Of the levels over visibility and arbitration: the pairs, the first of which is visible to the
   second. */
static void visibility_json(json_writer *w, const synth_answer *r, const name_list *allow)
{
    bool any = false;
    for (size_t i = 0; i < allow->n; i++) {
        if (!r->vis[i]) continue;
        if (!any) jw_member_object(w, "visibility");
        any = true;
        jw_member_array(w, allow->at[i]);
        for (uint32_t a = 1; a <= r->txns; a++)
            for (uint32_t b = 1; b <= r->txns; b++) {
                if (!r->vis[i][(size_t)a * (r->txns + 1) + b]) continue;
                jw_array(w);
                jw_format(w, "t%u", (unsigned)a);
                jw_format(w, "t%u", (unsigned)b);
                jw_end_array(w);
            }
        jw_end_array(w);
    }
    if (any) jw_end_object(w);
}

void report_synth_found(json_writer *w, const synth_answer *r, const name_list *allow)
{
    jw_member_u64(w, "size", r->txns);
    jw_member_u64(w, "init", 0);
    jw_member_array(w, "history");
    report_synth_transactions(w, r);
    jw_end_array(w);
    cross_edges_json(w, r);
    jw_member_object(w, "witness");
    for (size_t i = 0; i < allow->n; i++) {
        jw_member_array(w, allow->at[i]);
        for (uint32_t k = 0; k < r->txns; k++) jw_format(w, "t%u", (unsigned)r->witness[i][k]);
        jw_end_array(w);
    }
    jw_end_object(w);
    visibility_json(w, r, allow);
}
