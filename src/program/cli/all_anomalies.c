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

static char *ids_of(const ratel_history *h, const ratel_result *r, size_t *n)
{
    size_t t, used = 0, cap = 0;
    char *ids = NULL;
    ratel_txn_info info;
    for (*n = 0; !ratel_result_core_at(r, *n, &t); ++*n) {
        if (ratel_history_txn_at(h, t, &info)) break;
        size_t len = strlen(info.id) + 1;
        if (used + len > cap) {
            cap = 2 * (used + len);
            char *more = realloc(ids, cap);
            if (!more) {
                free(ids);
                return NULL;
            }
            ids = more;
        }
        memcpy(ids + used, info.id, len);
        used += len;
    }
    return ids;
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
    v->ids = ids_of(h, r, &v->n_ids);
    v->reason = malloc(strlen(reason) + 1);
    if (!v->ids || !v->reason) {
        free(v->ids);
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

static void print_group(FILE *f, violation *const *at, size_t n)
{
    fprintf(f, "    %s", at[0]->anomaly);
    if (strcmp(at[0]->shape, "-") != 0) fprintf(f, " (%s)", at[0]->shape);
    fprintf(f, ", %zu %s: ", n, n == 1 ? "violation" : "violations");
    visible_to(f, at[0]->reason);
    fputc('\n', f);
    for (size_t i = 0; i < n && n > 1; i++) {
        const char *id = at[i]->ids;
        fputs("      ", f);
        for (size_t k = 0; k < at[i]->n_ids && k < 8; k++, id += strlen(id) + 1) {
            if (k) fputs(", ", f);
            visible_to(f, id);
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
        const char *id = v->ids;
        for (size_t k = 0; k < v->n_ids; k++, id += strlen(id) + 1) jw_text(w, id);
        jw_end_array(w);
        jw_end_object(w);
    }
    jw_end_array(w);
    jw_end_object(w);
    jw_end_line(w);
}
