/*
 * page_strip.c - the whole run in a few hundred columns: how many transactions ended when, which
 * way, where the transactions of the argument lie, and when faults happened.
 *
 * Columns are equal spans of time if every committed transaction has an end, and else equal shares
 * of the input.  One walk over the transactions fills them.
 */
#include "report/page_parts.h"

enum { COLUMNS = 240 };

typedef struct strip {
    const history *h;
    bool timed;
    int64_t first, last;
    uint32_t columns;
    uint32_t count[3][COLUMNS]; /* by enum txn_status */
    bool core[COLUMNS];
} strip;

static bool ends_at(const history *h, txn_id t, int64_t *at)
{
    return scene_time(h, t, COMMIT_RETURNED, at) || scene_time(h, t, BEGIN_CALLED, at);
}

static void measure_strip(strip *s)
{
    int64_t at;
    s->timed = s->h->txns > 0;
    s->first = INT64_MAX;
    s->last = INT64_MIN;
    for (txn_id t = 0; t < s->h->txns; t++) {
        if (!ends_at(s->h, t, &at)) {
            s->timed = s->timed && txn_status_of(s->h, t) != TXN_COMMITTED;
            continue;
        }
        if (at < s->first) s->first = at;
        if (at > s->last) s->last = at;
    }
    s->timed = s->timed && s->first < s->last;
    size_t most = s->timed ? COLUMNS : s->h->txns;
    s->columns = most > COLUMNS ? COLUMNS : most ? (uint32_t)most : 1;
}

static uint32_t column_at(const strip *s, int64_t at)
{
    double span = (double)s->last - (double)s->first + 1;
    double share = ((double)at - (double)s->first) / span * s->columns;
    return share < 0 ? 0 : share >= s->columns ? s->columns - 1 : (uint32_t)share;
}

static uint32_t column_of(const strip *s, txn_id t)
{
    int64_t at = 0;
    if (s->timed && ends_at(s->h, t, &at)) return column_at(s, at);
    return (uint32_t)((uint64_t)t * s->columns / (s->h->txns ? s->h->txns : 1));
}

static void strip_faults(json_writer *w, const strip *s, mem *m)
{
    strbuf what;
    strbuf_init(&what, m);
    jw_member_array(w, "faults");
    for (size_t i = 0, shown = 0; i < s->h->marks.n && shown < 100; i++) {
        const mark *k = &s->h->marks.at[i];
        int64_t at = 0;
        bool timed;
        what.n = 0;
        if (!mark_parts(s->h, k, &at, &timed, &what)) continue;
        if (s->timed && !timed) continue;
        txn_id near =
            k->before < s->h->txns ? k->before : (txn_id)(s->h->txns ? s->h->txns - 1 : 0);
        if (what.n > 200) what.n = 200;
        jw_array(w);
        jw_u64(w, s->timed ? column_at(s, at) : column_of(s, near));
        jw_bytes(w, what.n ? what.at : "", what.n);
        jw_end_array(w);
        shown++;
    }
    jw_end_array(w);
    strbuf_free(&what);
}

void page_strip(json_writer *w, const told *t, const txn_ids *core)
{
    static const char *const names[] = {"committed", "aborted", "unknown"};
    strip *s = mem_array0(t->m, strip, 1);
    s->h = history_as_recorded(t->v->h);
    measure_strip(s);
    for (txn_id x = 0; x < s->h->txns; x++) s->count[txn_status_of(s->h, x)][column_of(s, x)]++;
    for (size_t i = 0; i < core->n; i++) s->core[column_of(s, core->at[i])] = true;
    jw_object(w);
    jw_member_text(w, "by", s->timed ? "time" : "order");
    /* as texts: a number of JavaScript does not hold 64 bits */
    jw_name(w, "from");
    jw_format(w, "%lld", (long long)(s->timed ? s->first : 1));
    jw_name(w, "to");
    jw_format(w, "%lld", s->timed ? (long long)s->last : (long long)s->h->txns);
    for (int k = 0; k < 3; k++) {
        jw_member_array(w, names[k]);
        for (uint32_t c = 0; c < s->columns; c++) jw_u64(w, s->count[k][c]);
        jw_end_array(w);
    }
    jw_member_array(w, "core");
    for (uint32_t c = 0; c < s->columns; c++)
        if (s->core[c]) jw_u64(w, c);
    jw_end_array(w);
    strip_faults(w, s, t->m);
    jw_end_object(w);
    mem_put(t->m, s);
}
