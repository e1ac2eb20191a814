/*
 * report.c - a verdict as text or as JSON.
 *
 * Nothing is computed here: both forms print what the verdict holds.  Names and values come from
 * inputs, so text goes through the escapes of strbuf and JSON through the JSON writer.  Long
 * cycles, transactions and values are cut in text and complete in JSON.
 */
#include "report/report.h"
#include "report/report_assumed.h"

#include <stdlib.h>

const char *outcome_name(enum outcome o)
{
    return o == OUTCOME_HOLDS ? "holds" : o == OUTCOME_VIOLATED ? "violated" : "undecided";
}

/* --- JSON ------------------------------------------------------------------------------------- */

/* Ids and keys are strings, whatever they were in the input. */
static void atom_as_text(json_writer *w, const history *h, atom a, mem *m)
{
    strbuf text;
    if (a.kind == ATOM_STR) {
        jw_bytes(w, atom_bytes(h, a), a.len);
        return;
    }
    strbuf_init(&text, m);
    atom_json(h, a, &text);
    jw_bytes(w, text.n ? text.at : "", text.n);
    strbuf_free(&text);
}

void report_txn_id(json_writer *w, const history *h, txn_id t, mem *m)
{
    atom_as_text(w, h, label_atom(h, h->txn_label[t]), m);
}

void report_session_id(json_writer *w, const history *h, uint32_t session, mem *m)
{
    atom_as_text(w, h, label_atom(h, h->sessions.at[session]), m);
}

void report_key(json_writer *w, const history *h, key_id k, mem *m)
{
    atom_as_text(w, h, key_atom(h, k), m);
}

/* The names of what the violation rests on; how many there are. */
static size_t rests_on_names(const verdict *v, const char *names[3])
{
    size_t n = 0;
    if (v->rests_on & RESTS_SESSION) names[n++] = "session-order";
    if (v->rests_on & RESTS_REALTIME) names[n++] = "real-time";
    if (v->rests_on & RESTS_HINTS) names[n++] = "hints";
    return n;
}

void report_rests_on(json_writer *w, const verdict *v)
{
    const char *names[3];
    size_t n = rests_on_names(v, names);
    jw_member_array(w, "rests_on");
    for (size_t i = 0; i < n; i++) jw_text(w, names[i]);
    jw_end_array(w);
}

void report_warnings(json_writer *w, const verdict *v)
{
    jw_member_array(w, "warnings");
    for (uint32_t i = 0; i < LINTS; i++)
        if (v->warnings >> i & 1) jw_text(w, lint_at(i)->name);
    jw_end_array(w);
}

static void txns_json(json_writer *w, const char *name, const verdict *v, const txn_id *at,
                      size_t n, mem *m)
{
    jw_member_array(w, name);
    for (size_t i = 0; i < n; i++) report_txn_id(w, v->h, at[i], m);
    jw_end_array(w);
}

static void cycle_json(json_writer *w, const verdict *v, mem *m)
{
    jw_member_array(w, "cycle");
    for (size_t i = 0; i < v->cycle.n; i++) {
        const cycle_link *l = &v->cycle.at[i];
        jw_object(w);
        jw_name(w, "from");
        report_txn_id(w, v->h, l->from, m);
        jw_name(w, "to");
        report_txn_id(w, v->h, l->to, m);
        jw_member_text(w, "edge", l->edge);
        if (l->key != NO_ID) {
            jw_name(w, "key");
            report_key(w, v->h, l->key, m);
        }
        jw_end_object(w);
    }
    jw_end_array(w);
    txns_json(w, "core", v, v->core.at, v->core.n, m);
}

/* Seconds by the name of the stage. */
static void stages_json(json_writer *w, const cost *spent)
{
    jw_member_object(w, "stages");
    for (size_t i = 0; i < spent->stages.n; i++)
        jw_member_decimal(w, spent->stages.at[i].name, (double)spent->stages.at[i].ns / 1e9, 6);
    jw_end_object(w);
}

/* For studies of the solver: what each stage did, and the cycles that it met. */
static void counters_json(json_writer *w, const cost *spent)
{
    jw_member_object(w, "counts");
    jw_member_u64(w, "derivation_rounds", spent->rounds);
    jw_member_u64(w, "edges_fixed", spent->fixed);
    jw_member_u64(w, "events_moved", spent->moved);
    jw_end_object(w);
    jw_member_array(w, "conflict_widths");
    for (size_t i = 0; i < CYCLE_WIDTHS; i++) jw_u64(w, spent->width[i]);
    jw_end_array(w);
}

static void costs_json(json_writer *w, const verdict *v, const report_context *c)
{
    static const cost nothing = {0};
    const cost *spent = v->cost ? v->cost : &nothing;
    if (c->total >= 0) {
        jw_member_object(w, "seconds");
        jw_member_decimal(w, "read", c->read, 6);
        jw_member_decimal(w, "analyse", (double)spent->ns_analyse / 1e9, 6);
        jw_member_decimal(w, "solve", (double)spent->ns_solve / 1e9, 6);
        jw_member_decimal(w, "total", c->total, 6);
        jw_end_object(w);
        jw_member_u64(w, "peak_rss_kib", c->peak_rss_kib);
        if (spent->stages.n) stages_json(w, spent);
    }
    jw_member_object(w, "solver");
    jw_member_u64(w, "vars", spent->vars);
    jw_member_u64(w, "clauses", spent->clauses);
    jw_member_u64(w, "conflicts", spent->conflicts);
    jw_member_u64(w, "instantiated", spent->instantiated);
    if (c->counters) counters_json(w, spent);
    jw_end_object(w);
}

void report_json(const verdict *v, const report_context *c, strbuf *b)
{
    json_writer to = jw_strbuf(b), *w = &to;
    jw_object(w);
    jw_member_u64(w, "schema", 1);
    jw_member_optional(w, "history", c->history);
    jw_member_optional(w, "format", c->format);
    jw_member_optional(w, "workload", c->workload);
    jw_member_text(w, "level", v->level.name);
    jw_member_text(w, "given", v->given);
    jw_member_bool(w, "session_order", v->session_order);
    jw_member_text(w, "ryow", ryow_name(v->ryow));
    jw_member_text(w, "verdict", outcome_name(v->outcome));
    jw_member_text(w, "reason", v->reason ? v->reason : "");
    if (v->anomaly != ANOMALIES) jw_member_text(w, "anomaly", anomaly_at(v->anomaly)->name);
    if (v->outcome == OUTCOME_VIOLATED) {
        report_rests_on(w, v);
        jw_member_optional(w, "through", v->through);
        if (c->accepted) jw_member_bool(w, "accepted", true);
    } else if (v->outcome == OUTCOME_HOLDS) {
        jw_member_optional(w, "through", v->through ? v->through : v->shown);
    }
    report_assumed_json(w, v);
    if (v->aborted_read) jw_member_text(w, "aborted", "reads");
    if (v->trusted) jw_member_bool(w, "trusted", true);
    jw_member_optional(w, "decided_by", decider_name(v->decided_by));
    jw_member_u64(w, "txns", v->txns);
    jw_member_u64(w, "ops", v->ops);
    jw_member_u64(w, "sessions", v->sessions);
    jw_member_u64(w, "keys", v->keys);
    if (v->outcome == OUTCOME_VIOLATED) cycle_json(w, v, b->mem);
    if (c->verbose && v->outcome == OUTCOME_HOLDS)
        txns_json(w, "order", v, v->order, v->ordered, b->mem);
    report_warnings(w, v);
    costs_json(w, v, c);
    jw_end_object(w);
    jw_end_line(w);
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
        if (i == 23 && v->cycle.n > 26) {
            strbuf_printf(b, " ... (%zu steps)", v->cycle.n);
            break;
        }
    }
    strbuf_char(b, '\n');
}

/* --- the transactions that matter --- */

enum {
    SHOWN_TXNS = 8,  /* of a core that is too large to show as a whole */
    WHOLE_CORE = 24, /* one that is not */
    SHOWN_OPS = 12,  /* of a transaction: more are shown only if the violation is about them */
    MOST_OPS = 200,  /* if nobody knows which it is about */
    LONG_VALUE = 60, /* columns; of a longer one, the end */
    SHOWN_VALUE = 40
};

/* The keys that a violation is about: those of its cycle; without a cycle, those that several of
   its transactions use. */
typedef struct matter {
    const history *h;
    VEC(key_id) keys; /* sorted */
    bool all;         /* nobody knows: every key may matter */
} matter;

static int compare_keys(const void *x, const void *y)
{
    key_id a = *(const key_id *)x, b = *(const key_id *)y;
    return (a > b) - (a < b);
}

/* Keys that two transactions of the core use: each transaction puts a key once. */
static void find_shared(matter *x, const verdict *v, mem *m)
{
    const history *h = v->h;
    for (size_t i = 0; i < v->core.n; i++) {
        txn_id t = v->core.at[i];
        size_t first = x->keys.n, kept = first;
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++)
            if (op_kind_of(h, o) != OP_SCAN && op_kind_of(h, o) != OP_ITER)
                vec_push(m, &x->keys, h->op_key[o]);
        if (x->keys.n == first) continue;
        qsort(x->keys.at + first, x->keys.n - first, sizeof *x->keys.at, compare_keys);
        for (size_t k = first; k < x->keys.n; k++)
            if (k == first || x->keys.at[k] != x->keys.at[k - 1])
                x->keys.at[kept++] = x->keys.at[k];
        x->keys.n = kept;
    }
    if (!x->keys.n) return;
    qsort(x->keys.at, x->keys.n, sizeof *x->keys.at, compare_keys);
    size_t kept = 0;
    for (size_t k = 1; k < x->keys.n; k++)
        if (x->keys.at[k] == x->keys.at[k - 1]) x->keys.at[kept++] = x->keys.at[k];
    x->keys.n = kept;
}

static void find_matter(matter *x, const verdict *v, mem *m)
{
    *x = (matter){.h = history_as_recorded(v->h)};
    for (size_t i = 0; i < v->cycle.n; i++)
        if (v->cycle.at[i].key != NO_ID) vec_push(m, &x->keys, v->cycle.at[i].key);
    if (x->keys.n)
        qsort(x->keys.at, x->keys.n, sizeof *x->keys.at, compare_keys);
    else if (v->core.n > 1)
        find_shared(x, v, m);
    x->all = !x->keys.n;
}

static bool key_matters(const matter *x, key_id k)
{
    return x->all || bsearch(&k, x->keys.at, x->keys.n, sizeof k, compare_keys) != NULL;
}

static bool is_ranged(const history *h, op_id o)
{
    return op_kind_of(h, o) == OP_SCAN || op_kind_of(h, o) == OP_ITER;
}

static bool op_matters(const matter *x, op_id o)
{
    return is_ranged(x->h, o) || key_matters(x, x->h->op_key[o]);
}

static void text_value(const history *h, value_id value, strbuf *b)
{
    size_t before = b->n;
    if (value == VALUE_UNKNOWN)
        strbuf_char(b, '?');
    else
        atom_text(h, value_atom(h, value), b);
    if (b->n - before <= LONG_VALUE) return;
    size_t keep = SHOWN_VALUE; /* less where that would cut a character in two */
    while (((unsigned char)b->at[b->n - keep] & 0xc0) == 0x80) keep--;
    memmove(b->at + before + 3, b->at + b->n - keep, keep);
    memcpy(b->at + before, "...", 3);
    b->n = before + 3 + keep;
}

/* A scan: how many rows, those of keys that matter, and such keys of its range that it did not
   find. */
static void range_text(const matter *x, const range *r, strbuf *b)
{
    const history *h = x->h;
    uint32_t lo, hi;
    strbuf_printf(b, "(%u rows", (unsigned)r->rows);
    if (!x->all) {
        range_ranks(h, r, &lo, &hi);
        for (size_t i = 0; i < x->keys.n; i++) {
            key_id k = x->keys.at[i];
            if ((i && k == x->keys.at[i - 1]) || h->key_rank[k] < lo || h->key_rank[k] >= hi)
                continue;
            uint32_t row = r->first_row, end = r->first_row + r->rows;
            while (row < end && h->row_key.at[row] != k) row++;
            if (row == end && !r->done) continue; /* it may have ended before */
            strbuf_str(b, row < end ? ", " : ", no ");
            atom_text(h, key_atom(h, k), b);
            if (row == end) continue;
            strbuf_str(b, " = ");
            text_value(h, h->row_value.at[row], b);
        }
    }
    strbuf_char(b, ')');
}

static void op_text(const matter *x, op_id o, strbuf *b)
{
    static const char *const names[] = {"r", "w", "d", "append", "scan", "iter"};
    const history *h = x->h;
    enum op_kind kind = op_kind_of(h, o);
    strbuf_str(b, names[kind]);
    if (is_ranged(h, o)) {
        range_text(x, &h->ranges.at[h->op_key[o]], b);
    } else {
        strbuf_char(b, '(');
        atom_text(h, key_atom(h, h->op_key[o]), b);
        if (kind != OP_DELETE) {
            strbuf_str(b, ", ");
            text_value(h, h->op_value[o], b);
        }
        strbuf_char(b, ')');
    }
    if (op_undone(h, o))
        strbuf_str(b, " undone");
    else if (h->op_kind[o] & OP_FAILED)
        strbuf_str(b, " failed");
}

/* A short transaction as a whole; of a long one, what the violation is about. */
static void txn_text(const matter *x, txn_id t, strbuf *b)
{
    const history *h = x->h;
    strbuf_str(b, "    ");
    text_txn(h, t, b);
    strbuf_str(b, " (session ");
    label_text(h, h->sessions.at[h->txn_session[t]], b);
    enum txn_status s = txn_status_of(h, t);
    strbuf_str(b, s == TXN_ABORTED ? ", aborted)" : s == TXN_UNKNOWN ? ", unknown)" : ")");
    uint32_t n = h->txn_op[t + 1] - h->txn_op[t], left = 0, shown = 0;
    for (uint32_t j = 0; j < n; j++) {
        op_id o = h->txn_op[t] + j;
        bool cut = x->all ? j >= MOST_OPS : n > SHOWN_OPS && !op_matters(x, o);
        if (cut) {
            left++;
            continue;
        }
        strbuf_str(b, shown++ ? ", " : ": ");
        op_text(x, o, b);
    }
    if (left)
        strbuf_printf(b, "%s... %u %s", shown ? ", " : ": ", (unsigned)left,
                      x->all ? "more" : "on other keys");
    strbuf_char(b, '\n');
}

static void core_text(const verdict *v, const report_context *c, strbuf *b)
{
    matter x;
    find_matter(&x, v, b->mem);
    size_t shown = v->core.n <= WHOLE_CORE ? v->core.n : SHOWN_TXNS;
    for (size_t i = 0; i < shown; i++) txn_text(&x, v->core.at[i], b);
    if (shown < v->core.n) {
        strbuf_printf(b, "    ... and %zu more transactions; a smallest part that is violated: ",
                      v->core.n - shown);
        strbuf_printf(b, "ratel shrink --level %s ", v->level.name);
        strbuf_shell_path(b, c->history ? c->history : "HISTORY");
        strbuf_str(b, " -o FILE\n");
    }
    vec_free(b->mem, &x.keys);
}

static void decided_by_text(const verdict *v, strbuf *b)
{
    const char *name = decider_name(v->decided_by);
    if (name) strbuf_printf(b, "  decided by: %s\n", name);
}

void report_text(const verdict *v, const report_context *c, strbuf *b)
{
    if (c->history) {
        strbuf_visible(b, c->history, strlen(c->history));
        strbuf_str(b, ": ");
    }
    strbuf_str(b, v->level.name);
    strbuf_printf(b, " (session order %s%s): ", v->session_order ? "on" : "off",
                  v->aborted_read ? ", reads of aborted transactions count" : "");
    colour(c, b, v->outcome == OUTCOME_HOLDS ? "32" : v->outcome == OUTCOME_VIOLATED ? "31" : "33");
    strbuf_str(b, outcome_name(v->outcome));
    colour(c, b, "0");
    if (v->anomaly != ANOMALIES) {
        const anomaly_info *a = anomaly_at(v->anomaly);
        strbuf_printf(b, ", %s", a->name);
        if (*a->others) strbuf_printf(b, " (%s)", a->others);
    }
    if (v->outcome == OUTCOME_HOLDS) {
        strbuf_printf(b, " (%llu transaction%s, %llu operation%s, %llu session%s)\n",
                      (unsigned long long)v->txns, v->txns == 1 ? "" : "s",
                      (unsigned long long)v->ops, v->ops == 1 ? "" : "s",
                      (unsigned long long)v->sessions, v->sessions == 1 ? "" : "s");
        if (c->verbose) {
            strbuf_str(b, "  commit order:");
            for (uint32_t i = 0; i < v->ordered && i < 100; i++) {
                strbuf_char(b, ' ');
                text_txn(v->h, v->order[i], b);
            }
            if (v->ordered > 100)
                strbuf_printf(b, " ... %u more (--json has all)", (unsigned)(v->ordered - 100));
            strbuf_char(b, '\n');
            decided_by_text(v, b);
        }
        report_assumed_text(v, b);
        return;
    }
    strbuf_char(b, '\n');
    if (v->reason && *v->reason) {
        strbuf_str(b, "  ");
        strbuf_str(b, v->reason);
        strbuf_char(b, '\n');
    }
    report_assumed_text(v, b);
    if (v->outcome != OUTCOME_VIOLATED) return;
    if (v->cycle.n) cycle_text(v, b);
    core_text(v, c, b);
    if (v->trusted) strbuf_str(b, "  decided by the database's timestamps\n");
    if (v->through && v->outcome == OUTCOME_HOLDS)
        strbuf_printf(b, "  the stronger level %s holds\n", v->through);
    else if (v->through)
        strbuf_printf(b, "  the weaker level %s is violated\n", v->through);
    const char *names[3];
    size_t n = rests_on_names(v, names);
    for (size_t i = 0; i < n; i++)
        strbuf_printf(b, "  rests on %s: without it, the level would hold\n", names[i]);
    if (c->accepted) strbuf_str(b, "  accepted by the baseline\n");
    if (c->verbose) decided_by_text(v, b);
}
