/*
 * report.c - see report.h.
 */
#include "report/report.h"

const char *outcome_name(enum outcome o)
{
    return o == OUTCOME_HOLDS ? "holds" : o == OUTCOME_VIOLATED ? "violated" : "undecided";
}

static const char *ryow_name(enum ryow r)
{
    return r == RYOW_MUST ? "must" : r == RYOW_EXTERNAL ? "external" : "may";
}

/* --- JSON ------------------------------------------------------------------------------------- */

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

static void number(strbuf *b, const char *name, uint64_t value)
{
    member(b, name);
    strbuf_u64(b, value);
}

/* Ids are strings, whatever they were in the input. */
static void id(const history *h, txn_id t, strbuf *b)
{
    atom a = label_atom(h, h->txn_label[t]);
    if (a.kind == ATOM_STR) {
        atom_json(h, a, b);
    } else {
        strbuf_char(b, '"');
        atom_json(h, a, b);
        strbuf_char(b, '"');
    }
}

static void key(const history *h, key_id k, strbuf *b)
{
    strbuf text;
    strbuf_init(&text, b->mem);
    atom a = key_atom(h, k);
    if (a.kind == ATOM_STR)
        strbuf_add(&text, atom_bytes(h, a), a.len);
    else
        atom_json(h, a, &text);
    strbuf_json(b, text.at, text.n);
    strbuf_free(&text);
}

static void cycle_json(const verdict *v, strbuf *b)
{
    member(b, "cycle");
    strbuf_char(b, '[');
    for (size_t i = 0; i < v->cycle.n; i++) {
        const cycle_link *l = &v->cycle.at[i];
        strbuf_str(b, i ? ",{\"from\":" : "{\"from\":");
        id(v->h, l->from, b);
        strbuf_str(b, ",\"to\":");
        id(v->h, l->to, b);
        string(b, "edge", l->edge);
        if (l->key != NO_ID) {
            member(b, "key");
            key(v->h, l->key, b);
        }
        strbuf_char(b, '}');
    }
    strbuf_char(b, ']');
    member(b, "core");
    strbuf_char(b, '[');
    for (size_t i = 0; i < v->core.n; i++) {
        if (i) strbuf_char(b, ',');
        id(v->h, v->core.at[i], b);
    }
    strbuf_char(b, ']');
}

static void list_json(strbuf *b, const char *name, const char *const *items, size_t n)
{
    member(b, name);
    strbuf_char(b, '[');
    for (size_t i = 0; i < n; i++) {
        if (i) strbuf_char(b, ',');
        strbuf_json(b, items[i], strlen(items[i]));
    }
    strbuf_char(b, ']');
}

static size_t rests(const verdict *v, const char **out)
{
    size_t n = 0;
    if (v->rests_on & RESTS_SESSION) out[n++] = "session-order";
    if (v->rests_on & RESTS_REALTIME) out[n++] = "real-time";
    if (v->rests_on & RESTS_HINTS) out[n++] = "hints";
    return n;
}

/* Seconds by the name of the stage. */
static void stages_json(const verdict *v, strbuf *b)
{
    member(b, "stages");
    strbuf_char(b, '{');
    for (size_t i = 0; i < v->stages.n; i++)
        strbuf_printf(b, "%s\"%s\":%.6f", i ? "," : "", v->stages.at[i].name,
                      (double)v->stages.at[i].ns / 1e9);
    strbuf_char(b, '}');
}

void report_json(const verdict *v, const report_context *c, strbuf *b)
{
    const char *names[LINTS + 3];
    strbuf_str(b, "{\"schema\":1");
    if (c->history) string(b, "history", c->history);
    if (c->format) string(b, "format", c->format);
    string(b, "level", v->level.name);
    string(b, "given", v->given);
    member(b, "session_order");
    strbuf_str(b, v->session_order ? "true" : "false");
    string(b, "ryow", ryow_name(v->ryow));
    string(b, "verdict", outcome_name(v->outcome));
    string(b, "reason", v->reason ? v->reason : "");
    if (v->anomaly != ANOMALIES) string(b, "anomaly", anomaly_at(v->anomaly)->name);
    if (v->outcome == OUTCOME_VIOLATED) {
        list_json(b, "rests_on", names, rests(v, names));
        if (v->through) string(b, "through", v->through);
    } else if (v->outcome == OUTCOME_HOLDS && (v->through || v->shown)) {
        string(b, "through", v->through ? v->through : v->shown);
    }
    if (v->trusted) {
        member(b, "trusted");
        strbuf_str(b, "true");
    }
    number(b, "txns", v->txns);
    number(b, "ops", v->ops);
    number(b, "sessions", v->sessions);
    number(b, "keys", v->keys);
    if (v->outcome == OUTCOME_VIOLATED) cycle_json(v, b);
    if (c->verbose && v->outcome == OUTCOME_HOLDS) {
        member(b, "order");
        strbuf_char(b, '[');
        for (uint32_t i = 0; i < v->ordered; i++) {
            if (i) strbuf_char(b, ',');
            id(v->h, v->order[i], b);
        }
        strbuf_char(b, ']');
    }
    size_t n = 0;
    for (uint32_t w = 0; w < LINTS; w++)
        if (v->warnings >> w & 1) names[n++] = lint_at(w)->name;
    list_json(b, "warnings", names, n);
    if (c->total >= 0) {
        strbuf_printf(b,
                      ",\"seconds\":{\"read\":%.6f,\"analyse\":%.6f,\"solve\":%.6f,\"total\":%.6f}",
                      c->read, (double)v->ns_analyse / 1e9, (double)v->ns_solve / 1e9, c->total);
        number(b, "peak_rss_kib", c->peak_rss_kib);
        if (v->stages.n) stages_json(v, b);
    }
    strbuf_printf(b,
                  ",\"solver\":{\"vars\":%llu,\"clauses\":%llu,\"conflicts\":%llu,"
                  "\"instantiated\":%llu}}\n",
                  (unsigned long long)v->vars, (unsigned long long)v->clauses,
                  (unsigned long long)v->conflicts, (unsigned long long)v->instantiated);
}

/* --- text ------------------------------------------------------------------------------------- */

static void colour(const report_context *c, strbuf *b, const char *code)
{
    if (c->colour) strbuf_printf(b, "\033[%sm", code);
}

static void text_txn(const history *h, txn_id t, strbuf *b)
{
    label l = h->txn_label[t];
    if (!(l >> 63)) strbuf_char(b, 'T');
    label_text(h, l, b);
}

static void cycle_text(const verdict *v, strbuf *b)
{
    strbuf_str(b, "  cycle: ");
    text_txn(v->h, v->cycle.at[0].from, b);
    for (size_t i = 0; i < v->cycle.n; i++) {
        const cycle_link *l = &v->cycle.at[i];
        strbuf_printf(b, " --%s", l->edge);
        if (l->key != NO_ID) {
            strbuf_char(b, '(');
            atom_text(v->h, key_atom(v->h, l->key), b);
            strbuf_char(b, ')');
        }
        strbuf_str(b, "--> ");
        text_txn(v->h, l->to, b);
        if (i == 11 && v->cycle.n > 14) {
            strbuf_printf(b, " ... (%zu steps)", v->cycle.n);
            break;
        }
    }
    strbuf_char(b, '\n');
}

/* The operations of the transactions that matter, cut where they are many. */
static void core_text(const verdict *v, strbuf *b)
{
    static const char *const names[] = {"r", "w", "d", "append", "scan", "iter"};
    const history *h = v->h;
    for (size_t i = 0; i < v->core.n && i < 8; i++) {
        txn_id t = v->core.at[i];
        strbuf_str(b, "    ");
        text_txn(h, t, b);
        strbuf_str(b, " (session ");
        label_text(h, h->sessions.at[h->txn_session[t]], b);
        enum txn_status s = txn_status_of(h, t);
        strbuf_str(b, s == TXN_ABORTED ? ", aborted)" : s == TXN_UNKNOWN ? ", unknown)" : ")");
        uint32_t n = h->txn_op[t + 1] - h->txn_op[t];
        for (uint32_t j = 0; j < n && j < 12; j++) {
            op_id o = h->txn_op[t] + j;
            enum op_kind kind = op_kind_of(h, o);
            strbuf_printf(b, "%s%s", j ? ", " : ": ", names[kind]);
            if (kind == OP_SCAN || kind == OP_ITER) {
                strbuf_printf(b, "(%u rows)", (unsigned)h->ranges.at[h->op_key[o]].rows);
                continue;
            }
            strbuf_char(b, '(');
            atom_text(h, key_atom(h, h->op_key[o]), b);
            if (kind != OP_DELETE) {
                strbuf_str(b, ", ");
                size_t before = b->n;
                if (h->op_value[o] == VALUE_UNKNOWN)
                    strbuf_char(b, '?');
                else
                    atom_text(h, value_atom(h, h->op_value[o]), b);
                if (b->n - before > 60) {
                    size_t keep = 40; /* less where that would cut a character in two */
                    while (((unsigned char)b->at[b->n - keep] & 0xc0) == 0x80) keep--;
                    memmove(b->at + before + 3, b->at + b->n - keep, keep);
                    memcpy(b->at + before, "...", 3);
                    b->n = before + 3 + keep;
                }
            }
            strbuf_char(b, ')');
            if (h->op_kind[o] & OP_FAILED) strbuf_str(b, " failed");
        }
        if (n > 12) strbuf_printf(b, ", ... %u more", (unsigned)(n - 12));
        strbuf_char(b, '\n');
    }
    if (v->core.n > 8) strbuf_printf(b, "    ... and %zu more transactions\n", v->core.n - 8);
}

void report_text(const verdict *v, const report_context *c, strbuf *b)
{
    if (c->history) {
        strbuf_visible(b, c->history, strlen(c->history));
        strbuf_str(b, ": ");
    }
    strbuf_str(b, v->level.name);
    strbuf_printf(b, " (session order %s): ", v->session_order ? "on" : "off");
    colour(c, b, v->outcome == OUTCOME_HOLDS ? "32" : v->outcome == OUTCOME_VIOLATED ? "31" : "33");
    strbuf_str(b, outcome_name(v->outcome));
    colour(c, b, "0");
    if (v->anomaly != ANOMALIES) {
        const anomaly_info *a = anomaly_at(v->anomaly);
        strbuf_printf(b, ", %s", a->name);
        if (*a->others) strbuf_printf(b, " (%s)", a->others);
    }
    if (v->outcome == OUTCOME_HOLDS) {
        strbuf_printf(b, " (%llu transactions, %llu operations, %llu sessions)\n",
                      (unsigned long long)v->txns, (unsigned long long)v->ops,
                      (unsigned long long)v->sessions);
        if (c->verbose) {
            strbuf_str(b, "  commit order:");
            for (uint32_t i = 0; i < v->ordered && i < 100; i++) {
                strbuf_char(b, ' ');
                text_txn(v->h, v->order[i], b);
            }
            if (v->ordered > 100)
                strbuf_printf(b, " ... %u more (--json has all)", (unsigned)(v->ordered - 100));
            strbuf_char(b, '\n');
        }
        return;
    }
    strbuf_char(b, '\n');
    if (v->reason && *v->reason) {
        strbuf_str(b, "  ");
        strbuf_str(b, v->reason);
        strbuf_char(b, '\n');
    }
    if (v->outcome != OUTCOME_VIOLATED) return;
    if (v->cycle.n) cycle_text(v, b);
    core_text(v, b);
    if (v->trusted) strbuf_str(b, "  the database's timestamps were trusted\n");
    if (v->through && v->outcome == OUTCOME_HOLDS)
        strbuf_printf(b, "  %s implies it, and holds\n", v->through);
    else if (v->through)
        strbuf_printf(b, "  it implies %s, which is violated\n", v->through);
    const char *names[3];
    size_t n = rests(v, names);
    for (size_t i = 0; i < n; i++)
        strbuf_printf(b, "  rests on %s: without it the level would hold\n", names[i]);
}
