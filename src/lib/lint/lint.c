/*
 * lint.c - the findings on a history: the table, and the cheap ones told in full.
 *
 * Each row of lints.def has a function find_*: it says whether the finding stands, how often, and
 * where first.  Those here were seen in the counts (lint_cheap), so they run only when there is
 * something to tell and may take a pass over the history for their example; those of costly.c
 * decide by themselves.
 */
#include <assert.h>

#include "history/cut_off.h"
#include "history/header_notes.h"
#include "lint/lint_internal.h"

static const lint_info table[] = {
#define LINT(ID, function, name, severity, cost, fix, text, advice)                                \
    {name, LINT_##severity, LINT_##cost, fix, text, advice},
#include "lint/lints.def"
#undef LINT
};
static_assert(LINTS <= 64, "a lint_set has 64 bits");

const lint_info *lint_at(size_t i)
{
    return i < LINTS ? &table[i] : NULL;
}

/* --- examples --------------------------------------------------------------------------------- */

#define LONGEST_NAME 60

/* Long names are cut in the middle of nothing: whole characters stay whole. */
static void cut(strbuf *b, size_t before)
{
    if (b->n - before <= LONGEST_NAME) return;
    size_t n = before + LONGEST_NAME;
    while (n > before && ((unsigned char)b->at[n] & 0xc0) == 0x80) n--;
    b->n = n;
    strbuf_str(b, "...");
}

void lint_example(lint *l, finding *f, const char *format, ...)
{
    const history *h = l->h;
    strbuf b;
    va_list ap;
    size_t txns = 0;
    strbuf_init(&b, l->m);
    va_start(ap, format);
    for (const char *p = format; *p; p++) {
        if (*p != '%') {
            strbuf_char(&b, *p);
            continue;
        }
        size_t before = b.n;
        switch (*++p) {
        case 'T': {
            txn_id t = va_arg(ap, txn_id);
            if (txns < 2) f->txn[txns++] = t;
            if (!(h->txn_label[t] >> 63)) strbuf_char(&b, 'T'); /* bare numbers, as in check */
            label_text(h, h->txn_label[t], &b);
            break;
        }
        case 'K':
            f->key = va_arg(ap, key_id);
            atom_text(h, key_atom(h, f->key), &b);
            break;
        case 'V': atom_text(h, value_atom(h, va_arg(ap, value_id)), &b); break;
        case 'S': label_text(h, h->sessions.at[va_arg(ap, uint32_t)], &b); break;
        case 'N': strbuf_u64(&b, va_arg(ap, uint64_t)); break;
        case 'I': strbuf_i64(&b, va_arg(ap, int64_t)); break;
        default: assert(false && "no such conversion");
        }
        cut(&b, before);
    }
    va_end(ap);
    strbuf_cstr(&b);
    f->example = b.at;
}

static bool told(finding *f, uint64_t count, const char *unit)
{
    f->count = count;
    f->unit = unit;
    return true;
}

/* The next transaction from t on that committed, or NO_ID. */
static txn_id committed_from(const history *h, size_t t)
{
    for (; t < h->txns; t++)
        if (txn_status_of(h, (txn_id)t) == TXN_COMMITTED) return (txn_id)t;
    return NO_ID;
}

#define EACH_COMMITTED(h, t)                                                                       \
    for (txn_id t = committed_from((h), 0); t != NO_ID; t = committed_from((h), (size_t)t + 1))

/* --- the whole history ------------------------------------------------------------------------ */

bool find_empty_history(lint *l, finding *f)
{
    return told(f, l->h->sessions.n, "sessions");
}

bool find_all_aborted(lint *l, finding *f)
{
    lint_example(l, f, "%N aborted, %N of unknown outcome", l->f.aborted, l->f.unknown);
    return told(f, l->h->txns, "transactions");
}

bool find_no_reads(lint *l, finding *f)
{
    return told(f, l->f.txns, "transactions");
}

bool find_no_shared_reads(lint *l, finding *f)
{
    return told(f, l->f.active_sessions, "sessions");
}

bool find_no_concurrency(lint *l, finding *f)
{
    if (l->f.with_times && l->f.active_sessions > 1)
        lint_example(l, f, "judging by their times, although there are %N sessions",
                     l->f.active_sessions);
    return told(f, l->f.txns, "transactions");
}

bool find_no_contention(lint *l, finding *f)
{
    return told(f, l->f.keys, "keys");
}

bool find_no_contended_reads(lint *l, finding *f)
{
    return told(f, l->f.keys_written_twice, "keys written twice");
}

bool find_only_initial_reads(lint *l, finding *f)
{
    return told(f, l->f.reads + l->f.rows, "reads");
}

bool find_single_operations(lint *l, finding *f)
{
    return told(f, l->f.txns, "transactions");
}

bool find_mostly_failed(lint *l, finding *f)
{
    lint_example(l, f, "%N aborted, %N of unknown outcome, %N committed", l->f.aborted,
                 l->f.unknown, l->f.txns);
    return told(f, l->f.aborted + l->f.unknown, "transactions");
}

bool find_unknown_init(lint *l, finding *f)
{
    return told(f, l->f.keys, "keys");
}

/* --- transactions and operations -------------------------------------------------------------- */

bool find_unknown_outcomes(lint *l, finding *f)
{
    for (txn_id t = 0; t < l->h->txns && !f->example; t++)
        if (txn_status_of(l->h, t) == TXN_UNKNOWN) lint_example(l, f, "%T", t);
    return told(f, l->f.unknown, "transactions");
}

bool find_unanswered_reads(lint *l, finding *f)
{
    const history *h = l->h;
    EACH_COMMITTED(h, t)
    {
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++)
            if ((h->op_kind[o] & (OP_KIND_MASK | OP_FAILED)) == OP_READ &&
                h->op_value[o] == VALUE_UNKNOWN) {
                lint_example(l, f, "%T read %K", t, h->op_key[o]);
                return told(f, l->f.unanswered, "reads");
            }
    }
    return false;
}

bool find_writes_initial(lint *l, finding *f)
{
    const history *h = l->h;
    EACH_COMMITTED(h, t)
    {
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            unsigned kind = h->op_kind[o] & (OP_KIND_MASK | OP_FAILED);
            key_id k = h->op_key[o];
            if ((kind == OP_WRITE || kind == OP_APPEND) && h->op_value[o] == h->key_init[k]) {
                lint_example(l, f, "%T wrote %K = %V", t, k, h->op_value[o]);
                return told(f, l->f.init_writes, "writes");
            }
        }
    }
    return false;
}

bool find_failed_statements(lint *l, finding *f)
{
    const history *h = l->h;
    static const char *const forms[] = {"a read of %K in %T", "a write to %K in %T",
                                        "a delete of %K in %T", "an append to %K in %T"};
    EACH_COMMITTED(h, t)
    {
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            if (!lint_failed_statement(h, o)) continue;
            unsigned kind = h->op_kind[o] & OP_KIND_MASK;
            if (kind >= OP_SCAN)
                lint_example(l, f, "a scan in %T", t);
            else
                lint_example(l, f, forms[kind], h->op_key[o], t);
            return told(f, l->f.failed, "statements");
        }
    }
    return false;
}

bool find_empty_txns(lint *l, finding *f)
{
    const history *h = l->h;
    EACH_COMMITTED(h, t)
    {
        bool some = false;
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1] && !some; o++)
            some = !(h->op_kind[o] & OP_FAILED);
        if (some) continue;
        lint_example(l, f, "%T", t);
        return told(f, l->f.empty_txns, "transactions");
    }
    return false;
}

bool find_list_and_register(lint *l, finding *f)
{
    const history *h = l->h;
    uint8_t *kinds = mem_array0(l->m, uint8_t, history_keys(h) + 1);
    EACH_COMMITTED(h, t)
    {
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            unsigned kind = h->op_kind[o] & OP_KIND_MASK;
            if (kind >= OP_SCAN || kind == OP_READ || h->op_kind[o] & OP_FAILED) continue;
            uint8_t *k = &kinds[h->op_key[o]];
            *k |= kind == OP_APPEND ? 1u : 2u;
            if (*k != 3) continue;
            mem_put(l->m, kinds);
            lint_example(l, f, "%K, in %T", h->op_key[o], t);
            return told(f, l->f.mixed_keys, "keys");
        }
    }
    mem_put(l->m, kinds);
    return false;
}

bool find_init_session(lint *l, finding *f)
{
    const history *h = l->h;
    txn_id t = l->f.init_txn;
    uint64_t writes = h->txn_op[t + 1] - h->txn_op[t];
    lint_example(l, f,
                 l->f.init_certain ? "%T, as the origin of the file proves; it writes %N keys"
                                   : "%T writes %N keys, all with one value, alone in its "
                                     "session; no read shows the header's initial state",
                 t, writes);
    return told(f, 1, "transactions");
}

/* --- times ------------------------------------------------------------------------------------ */

bool find_impossible_times(lint *l, finding *f)
{
    const history *h = l->h;
    for (txn_id t = 0; t < h->txns; t++) {
        int64_t b, e;
        if (!lint_times(h, t, &b, &e)) continue;
        const int64_t *i = h->txn_flags[t] & TXN_HAS_TIMES ? h->txn_times + (size_t)t * 4 : NULL;
        if (e < b)
            lint_example(l, f, "%T begins at %I and ends at %I", t, b, e);
        else if (i && (i[1] < i[0] || i[2] < i[1] || i[3] < i[2]))
            lint_example(l, f, "the four times of %T are not in ascending order", t);
        else
            continue;
        return told(f, l->f.impossible, "transactions");
    }
    return false;
}

/* The first transaction that begins before its predecessor began, or an earlier one ended. */
static void first_disorder(lint *l, finding *f, bool backwards)
{
    const history *h = l->h;
    for (uint32_t s = 0; s < h->sessions.n; s++) {
        txn_id before = NO_ID, latest = NO_ID; /* the last one, and the one that ends last */
        int64_t pb = 0, pe = 0;
        for (uint32_t j = h->sess_first[s]; j < h->sess_first[s + 1]; j++) {
            txn_id t = h->sess_txn[j];
            int64_t b, e;
            if (!lint_times(h, t, &b, &e) || e < b) continue;
            if (before != NO_ID && b < pb && backwards) {
                lint_example(l, f, "session %S: %T begins at %I, then %T at %I", s, before, pb, t,
                             b);
                return;
            }
            if (before != NO_ID && b >= pb && b < pe && !backwards) {
                lint_example(l, f, "session %S: %T ends at %I, %T begins at %I", s, latest, pe, t,
                             b);
                return;
            }
            if (txn_status_of(h, t) == TXN_UNKNOWN) e = b;
            if (before == NO_ID || e > pe) {
                latest = t;
                pe = e;
            }
            before = t;
            pb = b;
        }
    }
}

bool find_session_backwards(lint *l, finding *f)
{
    first_disorder(l, f, true);
    return told(f, l->f.backwards, "transactions");
}

bool find_session_overlap(lint *l, finding *f)
{
    first_disorder(l, f, false);
    return told(f, l->f.overlaps, "transactions");
}

bool find_constant_times(lint *l, finding *f)
{
    int64_t b, e;
    for (txn_id t = 0; t < l->h->txns; t++)
        if (lint_times(l->h, t, &b, &e)) {
            lint_example(l, f, "from %I to %I", b, e);
            break;
        }
    return told(f, l->f.with_times, "transactions");
}

bool find_partial_times(lint *l, finding *f)
{
    int64_t b, e;
    EACH_COMMITTED(l->h, t)
    {
        if (lint_times(l->h, t, &b, &e)) continue;
        lint_example(l, f, "%T", t);
        break;
    }
    return told(f, l->f.untimed, "transactions");
}

/* A question of the level asked for; here there is none. */
bool find_no_times(lint *l, finding *f)
{
    (void)l, (void)f;
    return false;
}

bool find_timestamps(lint *l, finding *f)
{
    const history *h = l->h;
    uint64_t n = 0;
    for (txn_id t = 0; t < h->txns; t++) {
        if (!(h->txn_flags[t] & (TXN_HAS_START_TS | TXN_HAS_COMMIT_TS))) continue;
        if (!n++) lint_example(l, f, "%T", t);
    }
    return told(f, n, "transactions");
}

/* --- sessions --------------------------------------------------------------------------------- */

bool find_empty_sessions(lint *l, finding *f)
{
    const history *h = l->h;
    for (uint32_t s = 0; s < h->sessions.n && !f->example; s++)
        if (h->sess_first[s] == h->sess_first[s + 1]) lint_example(l, f, "session %S", s);
    if (!f->example)
        lint_example(l, f, "the header says %N sessions, %N have transactions",
                     (uint64_t)h->declared_sessions, l->f.all_sessions);
    return told(f, l->f.empty_sessions, "sessions");
}

bool find_failed_sessions(lint *l, finding *f)
{
    const history *h = l->h;
    for (uint32_t s = 0; s < h->sessions.n && !f->example; s++)
        if (lint_failed_session(h, s))
            lint_example(l, f, "session %S, of %N transactions", s,
                         (uint64_t)(h->sess_first[s + 1] - h->sess_first[s]));
    return told(f, l->f.failed_sessions, "sessions");
}

bool find_cut_off(lint *l, finding *f)
{
    lint_example(l, f, "%N transactions are there", (uint64_t)l->h->txns);
    return told(f, 1, "files");
}

bool find_lost_lines(lint *l, finding *f)
{
    lint_example(l, f, "%N transactions are there", (uint64_t)l->h->txns);
    return told(f, history_count_lines(l->h).missing, "lines");
}

bool find_added_lines(lint *l, finding *f)
{
    lint_example(l, f, "%N transactions are there", (uint64_t)l->h->txns);
    return told(f, history_count_lines(l->h).added, "lines");
}

bool find_session_gaps(lint *l, finding *f)
{
    const history *h = l->h;
    size_t n = h->sessions.n;
    label lo = h->sessions.at[0], hi = lo;
    for (size_t i = 0; i < n; i++) {
        if (h->sessions.at[i] < lo) lo = h->sessions.at[i];
        if (h->sessions.at[i] > hi) hi = h->sessions.at[i];
    }
    /* fewer numbers are missing than there are (count_sessions), so this is linear */
    uint8_t *have = mem_array0(l->m, uint8_t, (size_t)(hi - lo) + 1);
    for (size_t i = 0; i < n; i++) have[h->sessions.at[i] - lo] = 1;
    uint64_t first = 0;
    while (have[first]) first++;
    mem_put(l->m, have);
    lint_example(l, f, "session numbers go from %N to %N, but %N is missing", lo, hi, lo + first);
    return told(f, l->f.session_gaps, "numbers");
}

/* --- what the reader noted -------------------------------------------------------------------- */

bool find_skipped_operations(lint *l, finding *f)
{
    strbuf b;
    strbuf_init(&b, l->m);
    history_skipped_text(l->h, &b);
    strbuf_cstr(&b);
    f->example = b.at;
    return told(f, history_skipped(l->h), "operations");
}

bool find_missing_process(lint *l, finding *f)
{
    return told(f, history_without_process(l->h), "transactions");
}

/* --- all of them ------------------------------------------------------------------------------ */

void lint_run(lint *l, const history *h, mem *m)
{
    static bool (*const find[])(lint *, finding *) = {
#define LINT(ID, function, name, severity, cost, fix, text, advice) find_##function,
#include "lint/lints.def"
#undef LINT
    };
    memset(l, 0, sizeof *l);
    l->h = h;
    l->m = m;
    facts_gather(&l->f, h, m);
    lint_set cheap = lint_cheap(&l->f, h);
    for (size_t i = 0; i < LINTS; i++) {
        finding f = {.id = (enum lint_id)i, .txn = {NO_ID, NO_ID}, .key = NO_ID};
        if (table[i].cost == LINT_ASKED) continue;
        if (table[i].cost == LINT_CHEAP && !(cheap >> i & 1)) continue;
        bool stands = find[i](l, &f);
        /* what was counted must also be found */
        assert(stands || table[i].cost == LINT_DEAR);
        if (stands) vec_push(m, &l->findings, f);
        guard_tick(m->guard);
    }
}
