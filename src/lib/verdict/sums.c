/*
 * sums.c - see sums.h.
 *
 * A counter begins with 0.  What the accounts of a bank held at first is not recorded: the first
 * read that takes effect tells it.
 *
 * Three questions, the first answer counts:
 * - Bank: do two reads show different totals?  A transfer moves money, and where a reader sees all
 *   that a transaction depends on and no update gets lost (consistent-view and whatever implies
 *   it), the total stays.  At weaker levels it need not.
 * - Counter, in real time: is a read less than what had surely been added when it began, or more
 *   than what can have been added when it ended?
 * - Is there an order in real time in which every read is what it should be (decide/key_search.h)?
 *   If so strict-serializable holds, and all that follows from it; if not, it does not.
 * What these leave open is undecided.
 */
#include "verdict/sums.h"

#include <assert.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/sort.h"
#include "history/header_notes.h"
#include "verdict/single_operations.h"

#define MOST_DIGITS 18u

typedef struct span {
    const char *at, *end;
} span;

typedef struct sums {
    hearing *x;
    const history *h;
    mem *m;
    bool bank;
    id_map account_of;          /* hash of the name -> index; names are compared */
    VEC(struct span *) account; /* names, as they stand in the history */
    uint32_t n;                 /* operations */
    txn_id *txn;
    key_op *op;
    uint32_t *vector; /* per operation: what it read or adds, in `numbers` */
    uint32_t width;   /* numbers of a vector: accounts, and whether it is relative to the start */
    VEC(int64_t) numbers;
    id_map known; /* hash of a vector -> its number */
    bool overflow, malformed;
} sums;

static bool header_model_is(const history *h, const char *json)
{
    const extra *e = history_header_member(h, "model");
    if (!e) return false;
    atom a = value_atom(h, e->text);
    return a.len == strlen(json) && !memcmp(atom_bytes(h, a), json, a.len);
}

bool history_has_sums(const history *h)
{
    return header_model_is(h, "\"counter\"") || header_model_is(h, "\"bank\"");
}

bool judging_sums(const hearing *x)
{
    return history_has_sums(x->h);
}

/* --- vectors ---------------------------------------------------------------------------------- */

static int64_t *numbers_of(const sums *s, uint32_t v)
{
    assert(s->width > 1 && ((size_t)v + 1) * s->width <= s->numbers.n);
    return s->numbers.at + (size_t)v * s->width;
}

/* The number of the vector that stands at the end of `numbers`, which goes if it was known. */
static uint32_t intern_last(sums *s)
{
    assert(s->numbers.n && s->numbers.n % s->width == 0);
    uint32_t fresh = (uint32_t)(s->numbers.n / s->width) - 1;
    const int64_t *mine = numbers_of(s, fresh);
    size_t bytes = s->width * sizeof *mine;
    for (uint64_t h = hash_bytes(mine, bytes, (uint64_t)(uintptr_t)s);; h++) {
        uint32_t *at = id_map_at(s->m, &s->known, h);
        if (*at == MAP_NONE) {
            *at = fresh;
            return fresh;
        }
        if (memcmp(numbers_of(s, *at), mine, bytes)) continue;
        s->numbers.n -= s->width;
        return *at;
    }
}

static void push_vector(sums *s)
{
    for (uint32_t i = 0; i < s->width; i++) vec_push(s->m, &s->numbers, 0);
}

#define RELATIVE(s) ((s)->width - 1) /* index of the flag */

/* A key_model. */
static uint32_t run_sums(void *ud, uint32_t i, uint32_t value)
{
    sums *s = ud;
    uint32_t mine = s->vector[i], last = RELATIVE(s);
    assert(i < s->n && value != NO_ID);
    if (!s->op[i].writes) {
        if (mine == NO_ID || mine == value) return value;
        return numbers_of(s, value)[last] ? mine : NO_ID;
    }
    push_vector(s);
    int64_t *sum = s->numbers.at + s->numbers.n - s->width;
    const int64_t *a = numbers_of(s, value), *b = numbers_of(s, mine);
    for (uint32_t k = 0; k < last; k++)
        if (__builtin_add_overflow(a[k], b[k], &sum[k])) s->overflow = true;
    sum[last] = a[last];
    return intern_last(s);
}

static bool is_absolute(const void *ud, uint32_t value)
{
    const sums *s = ud;
    return !numbers_of(s, value)[RELATIVE(s)];
}

/* --- what was recorded ------------------------------------------------------------------------ */

static span member_of(const history *h, txn_id t, const char *name)
{
    for (size_t i = txn_extras(h, t); i < h->extras.n && h->extras.at[i].txn == t; i++) {
        atom a = value_atom(h, h->extras.at[i].name);
        if (a.len != strlen(name) || memcmp(atom_bytes(h, a), name, a.len)) continue;
        a = value_atom(h, h->extras.at[i].text);
        return (span){atom_bytes(h, a), atom_bytes(h, a) + a.len};
    }
    return (span){NULL, NULL};
}

/* A number of at most 18 digits at *p, which moves behind it.  With a fraction or an exponent it is
   another number than its first digits are. */
static bool read_integer(span *p, int64_t *out)
{
    const char *at = p->at;
    bool minus = at < p->end && *at == '-';
    int64_t v = 0;
    at += minus;
    const char *digits = at;
    for (; at < p->end && *at >= '0' && *at <= '9'; at++) {
        if (at - digits >= (ptrdiff_t)MOST_DIGITS) return false;
        v = v * 10 + (*at - '0');
    }
    p->at = at;
    *out = minus ? -v : v;
    return at > digits && (at == p->end || strchr(" ,:]}\t\n\r", *at));
}

static void skip_blank(span *p)
{
    while (p->at < p->end && strchr(" ,:\t\n\r", *p->at)) p->at++;
}

/* The text of a name or number, without quotes; empty: something else stands there. */
static span read_word(span *p)
{
    span w = {p->at, p->at};
    if (p->at < p->end && *p->at == '"') {
        w.at = w.end = p->at + 1;
        while (w.end < p->end && *w.end != '"' && *w.end != '\\') w.end++;
        p->at = w.end < p->end ? w.end + 1 : w.end;
        return w;
    }
    while (w.end < p->end && !strchr(" ,:[]{}\"", *w.end)) w.end++;
    p->at = w.end;
    return w;
}

static bool word_is(span w, const char *text)
{
    return (size_t)(w.end - w.at) == strlen(text) && !memcmp(w.at, text, strlen(text));
}

/* The index of an account; fresh ones are entered while `enter`, else NO_ID. */
static uint32_t account_index(sums *s, span name, bool enter)
{
    size_t n = (size_t)(name.end - name.at);
    for (uint64_t h = hash_bytes(name.at, n, (uint64_t)(uintptr_t)s);; h++) {
        uint32_t *at = id_map_at(s->m, &s->account_of, h);
        if (*at == MAP_NONE) {
            if (!enter) return NO_ID;
            span *keep = mem_get(s->m, sizeof *keep);
            *keep = name;
            *at = (uint32_t)s->account.n;
            vec_push(s->m, &s->account, keep);
            return *at;
        }
        const span *known = s->account.at[*at];
        if ((size_t)(known->end - known->at) == n && !memcmp(known->at, name.at, n)) return *at;
    }
}

/* {"0":10,"1":20}: into the vector if it is given, else the accounts are entered.  The number of
   accounts; 0: it is no such map. */
static uint32_t read_balances(sums *s, span p, int64_t *out)
{
    uint32_t n = 0;
    skip_blank(&p);
    if (p.at == p.end || *p.at++ != '{') return 0;
    for (skip_blank(&p); p.at < p.end && *p.at != '}'; skip_blank(&p), n++) {
        int64_t v;
        span name = read_word(&p);
        skip_blank(&p);
        if (name.at == name.end || !read_integer(&p, &v)) return 0;
        uint32_t i = account_index(s, name, !out);
        if (i == NO_ID) return 0;
        if (out) out[i] = v;
    }
    return n;
}

/* {"from":0,"to":1,"amount":5} */
static bool read_transfer(sums *s, span p, int64_t *out)
{
    span from = {NULL, NULL}, to = {NULL, NULL}, amount = {NULL, NULL};
    int64_t v;
    skip_blank(&p);
    if (p.at == p.end || *p.at++ != '{') return false;
    for (skip_blank(&p); p.at < p.end && *p.at != '}'; skip_blank(&p)) {
        span name = read_word(&p);
        skip_blank(&p);
        span value = read_word(&p);
        if (name.at == name.end || value.at == value.end) return false;
        if (word_is(name, "from")) from = value;
        if (word_is(name, "to")) to = value;
        if (word_is(name, "amount")) amount = value;
    }
    if (!from.at || !to.at || !amount.at || !read_integer(&amount, &v)) return false;
    uint32_t a = account_index(s, from, !out), b = account_index(s, to, !out);
    if (a == NO_ID || b == NO_ID) return false;
    if (!out) return true;
    out[a] -= v;
    out[b] += v;
    return true;
}

/* The vector of an operation, at the end of `numbers`; false: it is not of this model. */
static bool read_operation(sums *s, span f, span argument, int64_t *out)
{
    bool reads = word_is(f, "read");
    int64_t v;
    if (s->bank)
        return reads ? read_balances(s, argument, out) > 0 : read_transfer(s, argument, out);
    skip_blank(&argument);
    if (!read_integer(&argument, &v)) return false;
    if (out) out[0] = v;
    return reads || word_is(f, "add");
}

static void load_accounts(sums *s)
{
    for (txn_id t = 0; t < s->h->txns; t++) {
        span f = member_of(s->h, t, "operation"), a = member_of(s->h, t, "argument");
        span name = read_word(&f);
        if (a.at && txn_status_of(s->h, t) != TXN_ABORTED) read_operation(s, name, a, NULL);
    }
    s->width = (s->account.n ? (uint32_t)s->account.n : 1) + 1;
    assert(s->bank || s->width == 2);
}

static void load_operations(sums *s)
{
    const history *h = s->h;
    s->txn = mem_array(s->m, txn_id, h->txns + 1);
    s->op = mem_array(s->m, key_op, h->txns + 1);
    s->vector = mem_array(s->m, uint32_t, h->txns + 1);
    uint32_t *last = mem_array(s->m, uint32_t, h->sessions.n + 1);
    memset(last, 0xff, (h->sessions.n + 1) * sizeof *last);
    for (txn_id t = 0; t < h->txns; t++) {
        span f = member_of(h, t, "operation"), a = member_of(h, t, "argument");
        span name = read_word(&f);
        if (txn_status_of(h, t) == TXN_ABORTED || !name.at) continue;
        key_op x = judge_moment_of(h, t);
        x.writes = !word_is(name, "read");
        if (!x.certain && !x.writes) continue;
        push_vector(s);
        int64_t *mine = s->numbers.at + s->numbers.n - s->width;
        if (!a.at || !read_operation(s, name, a, mine)) s->malformed = true;
        if (s->bank && !x.writes && a.at && read_balances(s, a, mine) + 1 != s->width)
            s->malformed = true;
        x.before = last[h->txn_session[t]];
        s->txn[s->n] = t;
        s->op[s->n] = x;
        s->vector[s->n] = intern_last(s);
        if (x.certain) last[h->txn_session[t]] = s->n;
        s->n++;
        guard_tick(s->m->guard);
    }
}

/* --- telling ---------------------------------------------------------------------------------- */

static void say_txn(const sums *s, uint32_t i, strbuf *b)
{
    strbuf_str(b, "transaction ");
    label_text(s->h, s->h->txn_label[s->txn[i]], b);
}

static strbuf *open_words(sums *s, strbuf *b, enum outcome outcome)
{
    hearing *x = s->x;
    assert(x->h == s->h);
    x->found = x->blank;
    x->found.outcome = outcome;
    if (outcome != OUTCOME_UNDECIDED) x->found.decided_by = BY_SUMS;
    strbuf_init(b, x->found.mem);
    return b;
}

static void close_words(sums *s, strbuf *b)
{
    strbuf_cstr(b);
    s->x->found.reason = b->at;
}

static void leave_open(sums *s, const char *why)
{
    strbuf b;
    strbuf_str(open_words(s, &b, OUTCOME_UNDECIDED), why);
    close_words(s, &b);
}

static void blame(sums *s, uint32_t i, enum anomaly anomaly)
{
    assert(i < s->n && s->x->found.outcome == OUTCOME_VIOLATED);
    vec_push(s->x->found.mem, &s->x->found.core, s->txn[i]);
    s->x->found.anomaly = anomaly;
}

/* --- totals ----------------------------------------------------------------------------------- */

static int64_t total_of(sums *s, uint32_t i)
{
    int64_t sum = 0;
    for (uint32_t k = 0; k < RELATIVE(s); k++)
        if (__builtin_add_overflow(sum, numbers_of(s, s->vector[i])[k], &sum)) s->overflow = true;
    return sum;
}

static bool find_totals(sums *s)
{
    uint32_t first = NO_ID, i;
    for (i = 0; i < s->n; i++) {
        if (s->op[i].writes) continue;
        if (first == NO_ID) first = i;
        if (total_of(s, first) != total_of(s, i)) break;
    }
    if (i == s->n || s->overflow) return false;
    strbuf b;
    open_words(s, &b, OUTCOME_VIOLATED);
    blame(s, i, ANOMALY_G_SINGLE);
    blame(s, first, ANOMALY_G_SINGLE);
    say_txn(s, first, &b);
    strbuf_str(&b, " read balances of ");
    strbuf_i64(&b, total_of(s, first));
    strbuf_str(&b, " in total and ");
    say_txn(s, i, &b);
    strbuf_str(&b, " of ");
    strbuf_i64(&b, total_of(s, i));
    strbuf_str(&b, ", although transfers leave the total as it is");
    close_words(s, &b);
    return true;
}

/* --- bounds of a counter ---------------------------------------------------------------------- */

typedef struct bounds {
    int64_t added, removed; /* all positive and all negative numbers */
} bounds;

static void add_to(sums *s, bounds *b, uint32_t i)
{
    int64_t v = numbers_of(s, s->vector[i])[0];
    int64_t *sum = v > 0 ? &b->added : &b->removed;
    if (__builtin_add_overflow(*sum, v, sum)) s->overflow = true;
}

static void tell_bound(sums *s, uint32_t i, int64_t bound, bool less)
{
    assert(!s->bank && !s->op[i].writes);
    strbuf b;
    open_words(s, &b, OUTCOME_VIOLATED);
    blame(s, i, less ? ANOMALY_STALE_READ : ANOMALY_GARBAGE_READ);
    say_txn(s, i, &b);
    strbuf_str(&b, " read ");
    strbuf_i64(&b, numbers_of(s, s->vector[i])[0]);
    strbuf_str(&b, less ? ", but when it began the counter was at least "
                        : ", but until it ended no more can have been added than ");
    strbuf_i64(&b, bound);
    close_words(s, &b);
}

/* Begins before ends at one moment, as operation * 2 (+ 1: its end). */
static uint32_t *by_time(sums *s, uint32_t *n)
{
    uint64_t *key = mem_array(s->m, uint64_t, 2 * (size_t)s->n + 1);
    uint32_t *what = mem_array(s->m, uint32_t, 2 * (size_t)s->n + 1), count = 0;
    int64_t drift = s->x->q->drift;
    for (uint32_t i = 0; i < s->n; i++) {
        what[count] = 2 * i;
        key[count++] = s->op[i].begin;
    }
    for (uint32_t i = 0; i < s->n; i++) {
        if (!s->op[i].ends) continue;
        uint64_t late = drift > 1 ? (uint64_t)drift - 1 : 0, end = s->op[i].end;
        what[count] = 2 * i + 1;
        key[count++] = end > UINT64_MAX - late ? UINT64_MAX : end + late;
    }
    uint32_t *order = sort_by_key(s->m, key, count);
    for (uint32_t i = 0; i < count; i++) order[i] = what[order[i]];
    *n = count;
    return order;
}

static bool find_bounds(sums *s)
{
    uint32_t n, *moment = by_time(s, &n);
    bounds begun = {0, 0}, ended = {0, 0}, *at_begin = mem_array(s->m, bounds, (size_t)s->n + 1);
    for (uint32_t m = 0; m < n && !s->overflow; m++) {
        uint32_t i = moment[m] / 2;
        bool end = moment[m] % 2;
        if (s->op[i].writes) {
            add_to(s, end ? &ended : &begun, i);
            continue;
        }
        if (!end) at_begin[i] = ended;
        if (!end) continue;
        int64_t v = numbers_of(s, s->vector[i])[0], low, high;
        if (__builtin_add_overflow(at_begin[i].added, begun.removed, &low) ||
            __builtin_add_overflow(at_begin[i].removed, begun.added, &high))
            s->overflow = true;
        else if (v < low || v > high) {
            tell_bound(s, i, v < low ? low : high, v < low);
            return true;
        }
    }
    return false;
}

/* --- the search ------------------------------------------------------------------------------- */

static void tell_no_order(sums *s, uint32_t i)
{
    strbuf b;
    open_words(s, &b, OUTCOME_VIOLATED);
    blame(s, i, ANOMALY_STALE_READ);
    strbuf_str(&b, "no order of the operations that agrees with real time has a place for ");
    say_txn(s, i, &b);
    close_words(s, &b);
}

static enum key_answer search_sums(sums *s, key_found *found)
{
    key_model model = {run_sums, is_absolute, s};
    assert(!s->malformed);
    push_vector(s);
    s->numbers.at[s->numbers.n - 1] = s->bank; /* relative to what was there at first */
    uint32_t start = intern_last(s);
    return key_search_run(s->m, s->op, s->n, &model, start, s->x->q->drift, found);
}

/* The order that was found explains every read: run once more, without the search. */
static bool replays(sums *s, const key_found *found)
{
    int64_t *now = mem_array0(s->m, int64_t, s->width);
    bool known = !s->bank, right = true;
    assert(found->line.n <= s->n);
    for (size_t l = 0; l < found->line.n; l++) {
        uint32_t i = found->line.at[l];
        const int64_t *mine = numbers_of(s, s->vector[i]);
        for (uint32_t k = 0; k < RELATIVE(s); k++) {
            if (s->op[i].writes)
                now[k] += mine[k];
            else if (known)
                right = right && now[k] == mine[k];
            else
                now[k] = mine[k];
        }
        if (!s->op[i].writes) known = true;
    }
    return right;
}

static bool implies_totals(const hearing *x)
{
    return level_implies(x->asked.id, x->so, x->asked.realtime, LEVEL_CV, false, false);
}

static bool follows_from_strict(const hearing *x)
{
    return x->asked.id == LEVEL_SSER ||
           level_implies(LEVEL_SSER, true, false, x->asked.id, x->so, x->asked.realtime);
}

static void decide_order(sums *s, bool timed)
{
    hearing *x = s->x;
    key_found found = {0};
    enum key_answer answer = search_sums(s, &found);
    strbuf b;
    if (s->overflow) {
        leave_open(s, "the numbers are too large");
    } else if (answer == KEY_HAS_ORDER && follows_from_strict(x)) {
        if (!replays(s, &found))
            guard_fail(s->m->guard, GUARD_BUG, "the order found does not replay");
        strbuf_str(open_words(s, &b, OUTCOME_HOLDS),
                   "an order in real time explains what every read returned");
        close_words(s, &b);
    } else if (answer == KEY_HAS_NONE && timed) {
        tell_no_order(s, found.stuck);
    } else if (answer == KEY_TOO_HARD) {
        leave_open(s,
                   "too many operations overlap, or have an unknown outcome, to try their orders");
    } else {
        leave_open(s, "no order in real time explains what every read returned, and without real "
                      "time the sums of counters and banks are not decided");
    }
}

bool judge_sums(hearing *x)
{
    sums s = {.x = x, .h = x->h, .m = x->work, .bank = header_model_is(x->h, "\"bank\"")};
    bool timed = x->asked.id == LEVEL_SSER || (x->asked.id == LEVEL_LIN && !s.bank);
    assert(history_has_sums(x->h));
    load_accounts(&s);
    load_operations(&s);
    if (s.malformed)
        leave_open(&s, "an operation is not of the model that the header names, a number is too "
                       "large, or a read does not show every account");
    else if (x->asked.id == LEVEL_LIN && s.bank)
        leave_open(&s, "linearizable is decided only if every transaction is a single operation, "
                       "and a transfer is two: ask for strict-serializable");
    else if (!(s.bank && implies_totals(x) && find_totals(&s)) &&
             !(!s.bank && timed && find_bounds(&s)))
        decide_order(&s, timed);
    mem_free_all(x->work);
    return true;
}
