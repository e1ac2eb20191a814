/*
 * facts.c - counting what a history holds, for `stat`, `lint` and the warnings of `check`.
 *
 * `check` runs all of this on every history, so it stays at three passes over the operations, one
 * over the transactions, a sort of the times where there are any, and a table per key for repeated
 * values (cache-sized, as in asg.c).  What a finding asks of reads is asked until it is answered,
 * which in an ordinary history is after a few reads.
 */
#include "base/map.h"
#include "history/cut_off.h"
#include "history/header_notes.h"
#include "lint/lint_internal.h"

bool lint_failed_statement(const history *h, op_id o)
{
    return h->op_kind[o] & OP_FAILED && !op_undone(h, o);
}

static void count_op(facts *f, const history *h, op_id o)
{
    unsigned kind = h->op_kind[o];
    if (kind & OP_FAILED) { /* it neither read nor wrote */
        f->failed += lint_failed_statement(h, o);
        return;
    }
    f->ops++;
    if (kind & OP_ATTR) {
        const attr *a = op_attrs(h, o), *end = a ? h->attrs.at + h->attrs.n : NULL;
        for (; a < end && a->op == o; a++)
            if (a->kind <= ATTR_VER || (a->kind >= ATTR_VSET && a->kind <= ATTR_ROW_FROM_INIT)) {
                f->with_hints++;
                break;
            }
    }
    switch ((enum op_kind)(kind & OP_KIND_MASK)) {
    case OP_READ: f->reads++; break;
    case OP_WRITE: f->writes++; break;
    case OP_DELETE: f->deletes++; break;
    case OP_APPEND: f->appends++; break;
    case OP_SCAN: f->scans++; break;
    case OP_ITER: f->iterators++; break;
    }
    if ((kind & OP_KIND_MASK) >= OP_SCAN) f->rows += h->ranges.at[h->op_key[o]].rows;
}

static void count_txns(facts *f, const history *h)
{
    for (size_t t = 0; t < h->txns; t++) {
        enum txn_status status = txn_status_of(h, (txn_id)t);
        if (status == TXN_ABORTED) f->aborted++;
        if (status == TXN_UNKNOWN) f->unknown++;
        if (h->txn_flags[t] & (TXN_HAS_BEGIN | TXN_HAS_END | TXN_HAS_TIMES)) f->with_times++;
        if (status != TXN_COMMITTED) continue;
        f->txns++;
        uint64_t before = f->reads + f->scans + f->iterators, ops = f->ops;
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) count_op(f, h, o);
        uint64_t reads = f->reads + f->scans + f->iterators - before, n = f->ops - ops;
        if (n > f->max_txn_ops) f->max_txn_ops = n;
        if (!n)
            f->empty_txns++;
        else if (reads == n)
            f->read_only++;
        else if (!reads)
            f->write_only++;
    }
}

/* --- by key ----------------------------------------------------------------------------------- */

#define KEY_TWO_TXNS 1u     /* two transactions write it */
#define KEY_TWO_SESSIONS 2u /* ... of two sessions */
#define KEY_APPENDED 4u
#define KEY_REPLACED 8u /* written or deleted */

/* One cache line's quarter for each key: what the two passes touch stands together. */
typedef struct by_key {
    uint32_t touched;
    uint32_t at;     /* writes; then where the next of its values goes */
    uint32_t writer; /* the first transaction that writes it, + 1 */
    uint32_t flags;
} by_key;

static void note_write(by_key *k, const history *h, txn_id t, unsigned kind)
{
    k->flags |= kind == OP_APPEND ? KEY_APPENDED : KEY_REPLACED;
    if (!k->writer) {
        k->writer = t + 1;
    } else if (k->writer != t + 1 && !(k->flags & KEY_TWO_SESSIONS)) {
        k->flags |= KEY_TWO_TXNS;
        if (h->txn_session[k->writer - 1] != h->txn_session[t]) k->flags |= KEY_TWO_SESSIONS;
    }
}

static bool read_told_all(const facts *f)
{
    return f->contended_read && f->shared_read && f->seen_written;
}

/* A list key starts as the empty list, whatever stands for absence. */
static bool initial_value(const history *h, key_id k, value_id v)
{
    return v == h->key_init[k] || (v == VALUE_EMPTY && h->key_init[k] == VALUE_NULL);
}

static void note_read(facts *f, const history *h, const by_key *k, txn_id t, key_id id, value_id v)
{
    if (k->flags & KEY_TWO_TXNS) f->contended_read = true;
    if (k->writer &&
        (k->flags & KEY_TWO_SESSIONS || h->txn_session[k->writer - 1] != h->txn_session[t]))
        f->shared_read = true;
    if (v != VALUE_UNKNOWN && !initial_value(h, id, v)) f->seen_written = true;
}

/* Scans read their rows, and the absence of everything else that they cover. */
static void note_ranges(facts *f, const history *h, const by_key *key, mem *m)
{
    size_t keys = history_keys(h);
    uint32_t *written = mem_array(m, uint32_t, keys + 1), *twice = mem_array(m, uint32_t, keys + 1);
    written[0] = twice[0] = 0;
    for (size_t i = 0; i < keys; i++) { /* in key order, how many stand before */
        const by_key *k = &key[h->key_sorted[i]];
        written[i + 1] = written[i] + (k->writer != 0);
        twice[i + 1] = twice[i] + (k->flags & KEY_TWO_TXNS);
    }
    for (size_t t = 0; t < h->txns && !read_told_all(f); t++) {
        if (txn_status_of(h, (txn_id)t) != TXN_COMMITTED) continue;
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            if ((h->op_kind[o] & OP_KIND_MASK) < OP_SCAN || h->op_kind[o] & OP_FAILED) continue;
            const range *r = &h->ranges.at[h->op_key[o]];
            for (uint32_t i = r->first_row; i < r->first_row + r->rows; i++)
                note_read(f, h, &key[h->row_key.at[i]], (txn_id)t, h->row_key.at[i],
                          h->row_value.at[i]);
            uint32_t lo, hi;
            range_ranks(h, r, &lo, &hi);
            /* Whose writes they are is not looked into: better no finding than a wrong one. */
            if (written[hi] > written[lo]) f->shared_read = true;
            if (twice[hi] > twice[lo]) f->contended_read = true;
        }
    }
    mem_put(m, written);
    mem_put(m, twice);
}

/* Repeated values of one key. */
static uint64_t count_repeats(const value_id *value, size_t n, key_set *distinct, mem *m)
{
    uint64_t repeats = 0;
    key_set_restart(m, distinct, n);
    key_set here = *distinct; /* a copy stays in registers: every write of a history passes here */
    for (size_t i = 0; i < n; i++) repeats += !key_set_enter(&here, value[i]);
    *distinct = here;
    return repeats;
}

/* Writes of committed transactions by key; then repeated values, the hot key, and whether reads
   could have shown anything. */
static void count_keys(facts *f, const history *h, mem *m)
{
    size_t keys = history_keys(h);
    by_key *key = mem_array0(m, by_key, keys + 1);
    for (size_t t = 0; t < h->txns; t++) {
        if (txn_status_of(h, (txn_id)t) != TXN_COMMITTED) continue;
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            unsigned kind = h->op_kind[o] & OP_KIND_MASK;
            if (kind >= OP_SCAN || h->op_kind[o] & OP_FAILED) continue;
            by_key *k = &key[h->op_key[o]];
            k->touched++;
            if (kind == OP_READ) continue;
            note_write(k, h, (txn_id)t, kind);
            k->at += kind != OP_DELETE;
        }
    }
    size_t writes = 0;
    for (size_t k = 0; k < keys; k++) {
        uint32_t n = key[k].at;
        key[k].at = (uint32_t)writes;
        writes += n;
    }
    /* An unknown transaction may be the other writer: then nothing is said. */
    f->contended_read = f->shared_read = f->unknown > 0;
    f->seen_written = h->init_unknown;
    bool told = read_told_all(f);
    value_id *value = mem_array(m, value_id, writes + 1);
    for (size_t t = 0; t < h->txns; t++) {
        if (txn_status_of(h, (txn_id)t) != TXN_COMMITTED) continue;
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            unsigned kind = h->op_kind[o];
            if (kind & OP_FAILED) continue;
            kind &= OP_KIND_MASK;
            if (kind == OP_WRITE || kind == OP_APPEND) {
                value[key[h->op_key[o]].at++] = h->op_value[o];
            } else if (kind == OP_READ) {
                value_id v = h->op_value[o];
                f->unanswered += v == VALUE_UNKNOWN;
                if (told) continue; /* the common case, after a few reads */
                note_read(f, h, &key[h->op_key[o]], (txn_id)t, h->op_key[o], v);
                told = read_told_all(f);
            }
        }
    }
    if (h->ranges.n && !read_told_all(f)) note_ranges(f, h, key, m);
    size_t first = 0;
    key_set distinct = {0};
    for (size_t k = 0; k < keys; k++) {
        if (key[k].touched > f->hot_key_ops) {
            f->hot_key_ops = key[k].touched;
            f->hot_key = (key_id)k;
        }
        unsigned both = KEY_APPENDED | KEY_REPLACED;
        f->mixed_keys += (key[k].flags & both) == both;
        size_t n = key[k].at - first;
        if (h->key_init[k] != VALUE_NULL)
            for (size_t i = 0; i < n; i++) f->init_writes += value[first + i] == h->key_init[k];
        first += n;
        if (n < 2) continue;
        f->keys_written_twice++;
        f->duplicate_writes += count_repeats(value + first - n, n, &distinct, m);
    }
    key_set_free(m, &distinct);
    mem_put(m, value);
    mem_put(m, key);
}

/* --- concurrency ------------------------------------------------------------------------------ */

void lint_sort(uint64_t *a, uint64_t *b, size_t n)
{
    /* Radix sort: linear, no comparison callback; digits that all numbers share are skipped. */
    uint64_t *home = a, any = 0, all = ~(uint64_t)0;
    for (size_t i = 0; i < n; i++) {
        any |= a[i];
        all &= a[i];
    }
    for (unsigned shift = 0; shift < 64; shift += 8) {
        size_t count[256] = {0}, sum = 0;
        if (!((any ^ all) >> shift & 0xff)) continue;
        for (size_t i = 0; i < n; i++) count[a[i] >> shift & 0xff]++;
        for (size_t i = 0; i < 256; i++) {
            size_t c = count[i];
            count[i] = sum;
            sum += c;
        }
        for (size_t i = 0; i < n; i++) b[count[a[i] >> shift & 0xff]++] = a[i];
        uint64_t *swap = a;
        a = b;
        b = swap;
    }
    if (a != home && n) memcpy(home, a, n * sizeof *a);
}

bool lint_times(const history *h, txn_id t, int64_t *begin, int64_t *end)
{
    unsigned both = TXN_HAS_BEGIN | TXN_HAS_END;
    if (h->txn_flags[t] & TXN_HAS_TIMES) {
        *begin = h->txn_times[(size_t)t * 4];
        *end = h->txn_times[(size_t)t * 4 + 3];
        return true;
    }
    if ((h->txn_flags[t] & both) != both) return false;
    *begin = h->txn_begin[t];
    *end = h->txn_end[t];
    return true;
}

/* Signed order as unsigned order: flip the sign bit. */
static uint64_t sortable(int64_t v)
{
    return (uint64_t)v ^ (uint64_t)1 << 63;
}

static void count_concurrency(facts *f, const history *h, mem *m)
{
    /* Without times only sessions tell: one session is a sequence. */
    f->concurrent = f->active_sessions > 1;
    if (!f->with_times) return;
    uint64_t *begin = mem_array(m, uint64_t, h->txns + 1),
             *end = mem_array(m, uint64_t, h->txns + 1);
    uint64_t *spare = mem_array(m, uint64_t, h->txns + 1);
    size_t n = 0, untimed = 0;
    for (size_t t = 0; t < h->txns; t++) {
        int64_t b, e;
        if (txn_status_of(h, (txn_id)t) == TXN_ABORTED) continue;
        if (!lint_times(h, (txn_id)t, &b, &e)) {
            untimed++;
            continue;
        }
        begin[n] = sortable(b);
        end[n++] = sortable(e);
    }
    lint_sort(begin, spare, n);
    lint_sort(end, spare, n);
    uint64_t open = 0;
    for (size_t i = 0, j = 0; i < n; i++) {
        while (j < n && end[j] <= begin[i]) j++, open -= open > 0;
        open++;
        if (open > f->max_concurrency) f->max_concurrency = open;
    }
    f->concurrent = f->max_concurrency > 1 || (untimed && f->active_sessions > 1);
    mem_put(m, begin);
    mem_put(m, end);
    mem_put(m, spare);
}

/* Times against session order, which is the order of the input.  Of an unknown transaction only
   the begin is believed: its client may have gone on before the end was recorded. */
static void check_times(facts *f, const history *h, mem *m)
{
    if (!f->with_times) return;
    typedef struct last {
        int64_t begin, end; /* of the last one; of the one that ends last */
        bool some;
    } last;
    last *of = mem_array0(m, last, h->sessions.n + 1);
    size_t timed = 0;
    int64_t b0 = 0, e0 = 0;
    bool constant = true;
    for (size_t t = 0; t < h->txns; t++) {
        int64_t b, e;
        if (!lint_times(h, (txn_id)t, &b, &e)) {
            f->untimed += txn_status_of(h, (txn_id)t) == TXN_COMMITTED;
            continue;
        }
        const int64_t *i = h->txn_flags[t] & TXN_HAS_TIMES ? h->txn_times + t * 4 : NULL;
        if (!timed++) b0 = b, e0 = e;
        constant = constant && b == b0 && e == e0;
        if (e < b || (i && (i[1] < i[0] || i[2] < i[1] || i[3] < i[2]))) {
            f->impossible++; /* and says nothing about its neighbours */
            continue;
        }
        last *l = &of[h->txn_session[t]];
        if (txn_status_of(h, (txn_id)t) == TXN_UNKNOWN) e = b;
        if (l->some && b < l->begin)
            f->backwards++;
        else if (l->some && b < l->end)
            f->overlaps++;
        if (!l->some || e > l->end) l->end = e;
        l->begin = b;
        l->some = true;
    }
    f->constant_times = timed > 1 && constant;
    mem_put(m, of);
}

/* --- sessions --------------------------------------------------------------------------------- */

/* All of it aborted.  After an unknown outcome a client has crashed or taken a new number: that it
   did no more is no news. */
bool lint_failed_session(const history *h, uint32_t s)
{
    uint32_t j = h->sess_first[s], end = h->sess_first[s + 1];
    while (j < end && txn_status_of(h, h->sess_txn[j]) == TXN_ABORTED) j++;
    return j == end && h->sess_first[s] < end;
}

static void count_sessions(facts *f, const history *h)
{
    uint64_t lo = UINT64_MAX, hi = 0;
    bool numbers = true;
    for (size_t i = 0; i < h->sessions.n; i++) {
        atom a = label_atom(h, h->sessions.at[i]);
        numbers = numbers && a.kind == ATOM_INT && a.as.i >= 0;
        if (a.as.u < lo) lo = a.as.u;
        if (a.as.u > hi) hi = a.as.u;
        f->all_sessions += h->sess_first[i] < h->sess_first[i + 1];
        f->failed_sessions += lint_failed_session(h, (uint32_t)i);
    }
    if (history_recorded(h))
        f->failed_sessions = 0; /* a session has a new number when it reconnects */
    uint64_t n = h->sessions.n > h->declared_sessions ? h->sessions.n : h->declared_sessions;
    f->empty_sessions = n - f->all_sessions;
    /* Jepsen's clients take a new number after an unknown outcome, so then gaps say nothing; and a
       few numbers far apart are names, not a row with gaps.  Our own recorder numbers sessions
       before they have done anything. */
    n = h->sessions.n;
    if (numbers && n > 2 && !f->unknown && !history_recorded(h) && hi - lo >= n &&
        hi - lo - n + 1 < n)
        f->session_gaps = hi - lo - n + 1;
}

/* --- an initial state written as a transaction ------------------------------------------------ */

bool lint_all_writes(const history *h, txn_id t, uint8_t *taken)
{
    bool fine = txn_status_of(h, t) == TXN_COMMITTED && h->txn_op[t] < h->txn_op[t + 1];
    op_id o = h->txn_op[t];
    for (; fine && o < h->txn_op[t + 1]; o++) {
        fine = h->op_kind[o] == OP_WRITE && !taken[h->op_key[o]];
        if (fine)
            taken[h->op_key[o]] = 1;
        else
            break;
    }
    while (o-- > h->txn_op[t]) taken[h->op_key[o]] = 0;
    return fine;
}

static bool same_values(const history *h, txn_id t)
{
    for (op_id o = h->txn_op[t] + 1; o < h->txn_op[t + 1]; o++)
        if (h->op_value[o] != h->op_value[o - 1]) return false;
    return true;
}

/* Is there a read that the header's initial state, and nothing else, explains? */
static bool initial_read(const history *h)
{
    for (size_t t = 0; t < h->txns; t++) {
        if (txn_status_of(h, (txn_id)t) != TXN_COMMITTED) continue;
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            unsigned kind = h->op_kind[o];
            if (kind & OP_FAILED) continue;
            if ((kind & OP_KIND_MASK) >= OP_SCAN) return true; /* may well be */
            if ((kind & OP_KIND_MASK) == OP_READ && initial_value(h, h->op_key[o], h->op_value[o]))
                return true;
        }
    }
    return false;
}

static bool extra_is(const history *h, const extra *e, const char *name, const char *part)
{
    atom a = value_atom(h, e->name), b = value_atom(h, e->text);
    size_t n = strlen(part);
    if (a.len != strlen(name) || memcmp(atom_bytes(h, a), name, a.len)) return false;
    for (size_t i = 0; i + n <= b.len; i++)
        if (!memcmp(atom_bytes(h, b) + i, part, n)) return true;
    return false;
}

/* Cobra's id of the initial state, which Viper's converter writes to every key. */
static bool viper_initial(const history *h, op_id o)
{
    atom a = value_atom(h, h->op_value[o]);
    return a.kind == ATOM_INT && a.as.u == 0xbebeebeeu;
}

/* What converters leave (doc/formats/others.md): PolySI's a session of its own, Viper's the first
   transaction of session 0; IsoVista's text reader has told already.  There the file proves it.
   Elsewhere it only looks so: a session of one transaction that writes every key, all with one
   value, in a history that never shows the header's initial state; and no second one like it. */
static void find_init(facts *f, const history *h, mem *m)
{
    enum { NO_PROOF, POLYSI, VIPER, TEXT } proof = NO_PROOF;
    for (size_t i = 0; i < h->extras.n && h->extras.at[i].txn == NO_ID; i++) {
        const extra *e = &h->extras.at[i];
        if (extra_is(h, e, "dbcop_info", "generated by SIVerifier")) proof = POLYSI;
        if (extra_is(h, e, "dbcop_info", "cobra logs")) proof = VIPER;
        if (extra_is(h, e, "text_init", "true")) proof = TEXT;
    }
    f->init_txn = NO_ID;
    if (f->all_sessions < 2) return;
    uint8_t *taken = mem_array0(m, uint8_t, history_keys(h) + 1);
    unsigned fits = 0;
    for (size_t s = 0; s < h->sessions.n && fits < 2; s++) {
        uint32_t n = h->sess_first[s + 1] - h->sess_first[s];
        if (!n || (n > 1 && proof != VIPER)) continue;
        txn_id t = h->sess_txn[h->sess_first[s]];
        size_t writes = h->txn_op[t + 1] - h->txn_op[t];
        if (proof == NO_PROOF && (writes < 2 || writes != history_keys(h))) continue;
        if (proof == VIPER && (s || !writes || !viper_initial(h, h->txn_op[t]))) continue;
        if (proof == TEXT && t) continue;
        if (!lint_all_writes(h, t, taken)) continue;
        if (proof != POLYSI && !same_values(h, t)) continue;
        fits++;
        f->init_txn = t;
    }
    mem_put(m, taken);
    if (fits != 1 || (proof == NO_PROOF && (!f->reads || initial_read(h)))) f->init_txn = NO_ID;
    f->init_certain = f->init_txn != NO_ID && proof != NO_PROOF;
}

void facts_count(facts *f, const history *h)
{
    memset(f, 0, sizeof *f);
    for (size_t i = 0; i < h->sessions.n; i++) {
        /* Those that committed something, and those of logs that are there but empty. */
        if (h->sess_first[i] == h->sess_first[i + 1]) f->sessions++;
        for (uint32_t j = h->sess_first[i]; j < h->sess_first[i + 1]; j++)
            if (txn_status_of(h, h->sess_txn[j]) == TXN_COMMITTED) {
                f->sessions++;
                f->active_sessions++;
                break;
            }
    }
    if (h->declared_sessions > f->sessions) f->sessions = h->declared_sessions;
    f->keys = history_keys(h);
    f->hot_key = NO_ID;
    f->init_txn = NO_ID;
    count_txns(f, h);
}

void facts_gather(facts *f, const history *h, mem *m)
{
    facts_count(f, h);
    count_keys(f, h, m);
    count_concurrency(f, h, m);
    check_times(f, h, m);
    count_sessions(f, h);
    find_init(f, h, m);
}

/* --- the cheap findings ----------------------------------------------------------------------- */

lint_set lint_cheap(const facts *f, const history *h)
{
    lint_set s = 0;
#define IF(ID, condition)                                                                          \
    if (condition) s |= lint_bit(LINT_##ID)
    IF(EMPTY_HISTORY, !h->txns);
    IF(ALL_ABORTED, h->txns && !f->txns);
    IF(UNKNOWN_OUTCOMES, f->unknown);
    IF(UNKNOWN_INIT, h->init_unknown);
    IF(TIMESTAMPS, h->txn_start_ts || h->txn_commit_ts);
    IF(EMPTY_SESSIONS, f->all_sessions && f->empty_sessions);
    IF(FAILED_SESSIONS, f->txns && f->failed_sessions);
    line_count lines = history_count_lines(h);
    IF(CUT_OFF, history_cut_off(h));
    IF(LOST_LINES, lines.missing);
    IF(ADDED_LINES, lines.added);
    IF(SESSION_GAPS, f->session_gaps);
    IF(SKIPPED_OPERATIONS, history_skipped(h));
    IF(MISSING_PROCESS, history_without_process(h));
    IF(IMPOSSIBLE_TIMES, f->impossible);
    IF(SESSION_BACKWARDS, f->backwards);
    IF(SESSION_OVERLAP, f->overlaps);
    IF(CONSTANT_TIMES, f->constant_times);
    IF(PARTIAL_TIMES, f->untimed);
    IF(MOSTLY_FAILED, f->txns && 2 * f->txns < h->txns);
    if (!f->txns) return s; /* the rest is about what committed */
    bool reads = f->reads > f->unanswered || f->scans || f->iterators,
         sessions = f->active_sessions > 1;
    IF(NO_READS, !reads);
    IF(NO_SHARED_READS, reads && sessions && !f->shared_read);
    IF(DUPLICATE_VALUES, f->duplicate_writes);
    IF(NO_CONCURRENCY, !f->concurrent);
    IF(NO_CONTENTION, !f->keys_written_twice);
    /* each of these says less than one of those above */
    IF(NO_CONTENDED_READS,
       reads && f->keys_written_twice && !f->contended_read && (f->shared_read || !sessions));
    IF(ONLY_INITIAL_READS, reads && !f->seen_written && (f->shared_read || !sessions));
    IF(UNANSWERED_READS, f->unanswered);
    IF(SINGLE_OPERATIONS, f->max_txn_ops == 1);
    IF(WRITES_INITIAL, f->init_writes);
    IF(LIST_AND_REGISTER, f->mixed_keys);
    IF(INIT_SESSION, f->init_txn != NO_ID);
    IF(FAILED_STATEMENTS, f->failed);
    IF(EMPTY_TXNS, f->empty_txns);
#undef IF
    return s;
}
