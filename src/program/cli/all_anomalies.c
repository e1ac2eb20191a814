/*
 * all_anomalies.c - further violations of a history, beside the one that its answer tells.
 *
 * The transactions of a violation are left out, together with the reads that may have seen their
 * writes, and what remains is decided again; and so on.  What is found in a remainder is a
 * violation of the whole (ratel_history_without), and no two of them have a transaction in common.
 * The search ends when the level holds, at a limit, or where the level cannot be asked of a part.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/all_anomalies.h"

enum { MOST_VIOLATIONS = 100, USUAL_SECONDS = 30 };

/* The ids one after the other, whole and with any byte; false: no memory. */
static bool put_ids(violation *v, const ratel_history *h, const ratel_result *r)
{
    size_t t, used = 0, core = 0;
    for (; !ratel_result_core_at(r, core, &t); core++) used += ratel_history_txn_id(h, t, NULL, 0);
    v->ids = malloc(used + 1);
    v->ends = malloc((core + 1) * sizeof *v->ends);
    if (!v->ids || !v->ends) return false;
    for (size_t at = 0; v->n_ids < core && !ratel_result_core_at(r, v->n_ids, &t);) {
        at += ratel_history_txn_id(h, t, v->ids + at, used - at);
        v->ends[v->n_ids++] = at;
    }
    return true;
}

/* The i-th of them. */
static const char *id_at(const violation *v, size_t i, size_t *n)
{
    size_t from = i ? v->ends[i - 1] : 0;
    *n = v->ends[i] - from;
    return v->ids + from;
}

static bool put_violation(violation_list *l, const ratel_history *h, const ratel_result *r)
{
    violation *more = realloc(l->at, (l->n + 1) * sizeof *more);
    if (!more) return false;
    l->at = more;
    violation *v = &more[l->n];
    const char *reason = ratel_result_reason(r);
    *v = (violation){.anomaly = ratel_result_anomaly(r)};
    ci_shape(r, v->shape, sizeof v->shape);
    v->reason = malloc(strlen(reason) + 1);
    if (!put_ids(v, h, r) || !v->reason) {
        free(v->ids);
        free(v->ends);
        free(v->reason);
        return false;
    }
    memcpy(v->reason, reason, strlen(reason) + 1);
    l->n++;
    return true;
}

void violations_free(violation_list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->at[i].ids);
        free(l->at[i].ends);
        free(l->at[i].reason);
    }
    free(l->at);
    *l = (violation_list){0};
}

/* What is left of the time for one history and level. */
static bool is_time_left(const args *a, uint64_t begun)
{
    if (interrupted()) return false;
    if (!a->value[O_TIME]) return seconds_since(begun) < USUAL_SECONDS;
    return seconds_since(begun) < strtod(a->value[O_TIME], NULL);
}

/* The next one, in what is left of *h, which becomes *h; *own: it is ours to free. */
static ratel_result *next_violation(const args *a, const ratel_history **h, ratel_history **own,
                                    const ratel_result *last, violation_list *l, uint64_t begun)
{
    ratel_history *rest;
    ratel_result *r = NULL;
    limit_rest(a, begun);
    int code = ratel_history_without(&rest, a->context, *h, last);
    if (!code) {
        ratel_history_free(*own);
        *h = *own = rest;
        limit_rest(a, begun);
        code = ratel_check(&r, a->context, rest, ratel_result_level(last));
    }
    if (code) {
        snprintf(l->why, sizeof l->why, "%s", ratel_errmsg(a->context));
        return NULL;
    }
    if (ratel_result_verdict(r) == RATEL_VIOLATED) return r;
    /* what remains may be nothing at all, which no level can be asked about */
    ratel_stat count;
    bool empty = !ratel_history_stat(&count, a->context, rest) && !count.txns;
    l->complete = ratel_result_verdict(r) == RATEL_HOLDS || empty;
    if (!l->complete) snprintf(l->why, sizeof l->why, "%s", ratel_result_reason(r));
    ratel_result_free(r);
    return NULL;
}

void violations_find(violation_list *l, const args *a, const ratel_history *h,
                     const ratel_result *first, violation_seen seen, void *payload)
{
    uint64_t begun = now();
    ratel_history *own = NULL;
    const ratel_result *last = first;
    ratel_result *mine = NULL;
    *l = (violation_list){0};
    for (bool more = true; more;) {
        if (l->n && seen) more = seen(payload, h, last);
        if (!put_violation(l, h, last)) {
            snprintf(l->why, sizeof l->why, "out of memory");
            break;
        }
        if (!more || (!seen && l->n == MOST_VIOLATIONS) || !is_time_left(a, begun)) {
            snprintf(l->why, sizeof l->why, more ? "a limit was reached" : "");
            break;
        }
        /* the answer points into the history that it is about, so both go together */
        const ratel_history *rest = h;
        ratel_history *before = own;
        own = NULL;
        ratel_result *next = next_violation(a, &rest, &own, last, l, begun);
        ratel_result_free(mine);
        ratel_history_free(before);
        mine = next;
        last = next;
        h = rest;
        more = next != NULL;
    }
    ratel_result_free(mine);
    ratel_history_free(own);
    if (a->value[O_TIME]) limit_rest(a, now());
}

/* --- printing --------------------------------------------------------------------------------- */

static int compare_kinds(const void *x, const void *y)
{
    const violation *a = *(const violation *const *)x, *b = *(const violation *const *)y;
    int d = strcmp(a->anomaly, b->anomaly);
    return d ? d : strcmp(a->shape, b->shape);
}

typedef struct shown_id {
    const char *id;
    size_t n;
} shown_id;

static void render_id(strbuf *b, void *what)
{
    const shown_id *s = what;
    strbuf_visible(b, s->id, s->n);
}

static void print_group(FILE *f, violation *const *at, size_t n)
{
    fprintf(f, "    %s", at[0]->anomaly);
    if (strcmp(at[0]->shape, "-") != 0) fprintf(f, " (%s)", at[0]->shape);
    fprintf(f, ", %zu %s: ", n, n == 1 ? "violation" : "violations");
    visible_to(f, at[0]->reason);
    fputc('\n', f);
    for (size_t i = 0; i < n && n > 1; i++) {
        fputs("      ", f);
        for (size_t k = 0, len; k < at[i]->n_ids && k < 8; k++) {
            if (k) fputs(", ", f);
            const char *id = id_at(at[i], k, &len);
            shown_id s = {id, len};
            render(f, render_id, &s);
        }
        if (at[i]->n_ids > 8) fprintf(f, " and %zu more", at[i]->n_ids - 8);
        fputc('\n', f);
    }
}

void violations_print(const violation_list *l, FILE *f)
{
    violation **at = malloc((l->n + 1) * sizeof *at);
    if (!at) {
        complain("out of memory");
        return;
    }
    for (size_t i = 0; i < l->n; i++) at[i] = &l->at[i];
    qsort(at, l->n, sizeof *at, compare_kinds);
    fprintf(f, "  %s%zu independent %s (no two share a transaction)",
            l->complete ? "" : "at least ", l->n, l->n == 1 ? "violation" : "violations");
    if (!l->complete && *l->why) fprintf(f, "; %s", l->why);
    fputs(":\n", f);
    for (size_t i = 0, from = 0; i <= l->n; i++)
        if (i == l->n || compare_kinds(&at[from], &at[i])) {
            if (i > from) print_group(f, at + from, i - from);
            from = i;
        }
    free(at);
}

void violations_json(const violation_list *l, FILE *f, const char *history, const char *level)
{
    json_writer to = json_file(f), *w = &to;
    jw_object(w);
    jw_member_u64(w, "schema", 1);
    jw_member_text(w, "history", history);
    jw_member_text(w, "level", level);
    jw_member_bool(w, "complete", l->complete);
    jw_member_array(w, "violations");
    for (size_t i = 0; i < l->n; i++) {
        const violation *v = &l->at[i];
        jw_object(w);
        jw_member_text(w, "anomaly", v->anomaly);
        jw_member_text(w, "shape", v->shape);
        jw_member_text(w, "reason", v->reason);
        jw_member_array(w, "core");
        for (size_t k = 0, len; k < v->n_ids; k++) {
            const char *id = id_at(v, k, &len);
            jw_bytes(w, id, len);
        }
        jw_end_array(w);
        jw_end_object(w);
    }
    jw_end_array(w);
    jw_end_object(w);
    jw_end_line(w);
}
