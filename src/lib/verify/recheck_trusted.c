/*
 * recheck_trusted.c - answers by the database's own timestamps (levels.md TS-1 to TS-5), once more.
 *
 * Nothing is searched: the versions of a key stand in the order of their commit_ts, and a read
 * returns the last one that is not after the moment of its reader.  First the timestamps must
 * decide at all (TS-3, TS-4); then what holds is looked through from end to end, and of what is
 * violated only the read, the two writers or the two steps of a session that the claim names.
 * No walk in the order of time, as the deciding code has one: each read is looked up by itself.
 */
#include "base/sort.h"
#include "verify/recheck.h"

typedef struct stamps {
    checker c; /* first, so that a visit of its reads finds the rest */
    bool si;
    uint32_t *first, *write; /* installed writes by key, in the order of commit_ts */
    uint32_t *text_first;    /* per key of a list: where its content begins in `text` */
    uint32_t *text_end;      /* per write of a list key: where the content ends with it */
    uint8_t *texted;         /* per key: 1 `text` is made, 2 it has writes that replace it */
    VEC(value_id) text;
    value_id *initial; /* per key of unknown initial value: what a read showed; FREE: none did */
} stamps;

static bool part_of(const history *h, txn_id t)
{
    enum txn_status s = txn_status_of(h, t);
    return s == TXN_COMMITTED || (s == TXN_UNKNOWN && h->txn_flags[t] & TXN_HAS_COMMIT_TS);
}

static int64_t start_ts(const history *h, txn_id t)
{
    return h->txn_start_ts[t];
}

/* TS-3: the start of one that only reads will do. */
static int64_t commit_ts(const history *h, txn_id t)
{
    return h->txn_flags[t] & TXN_HAS_COMMIT_TS ? h->txn_commit_ts[t] : h->txn_start_ts[t];
}

static bool updates(const checker *c, txn_id t)
{
    return c->w_first[t] < c->w_first[t + 1];
}

/* --- do the timestamps decide? ---------------------------------------------------------------- */

static bool check_stamped(checker *c)
{
    const history *h = c->h;
    for (size_t i = 0; i < h->attrs.n; i++) {
        unsigned kind = h->attrs.at[i].kind;
        if (kind != ATTR_CALL && kind != ATTR_RETURN && kind != ATTR_EXTRA && kind != ATTR_VER)
            return recheck_no(c, NO_ID,
                              "the history names writers of reads: timestamps are not "
                              "used then");
    }
    if (!h->txn_start_ts) return recheck_no(c, NO_ID, "the history has no timestamps");
    for (txn_id t = 0; t < h->txns; t++) {
        unsigned has = h->txn_flags[t] & (TXN_HAS_START_TS | TXN_HAS_COMMIT_TS);
        if (!part_of(h, t)) continue;
        if (!(has & TXN_HAS_START_TS) || (!(has & TXN_HAS_COMMIT_TS) && updates(c, t)))
            return recheck_no(c, t, "lacks a timestamp");
        if (start_ts(h, t) > commit_ts(h, t)) return recheck_no(c, t, "starts after its commit");
    }
    return true;
}

/* Two updates of one moment each, and of the same: which saw which is open (TS-4). */
static bool check_moments(stamps *z)
{
    checker *c = &z->c;
    const history *h = c->h;
    VEC(uint64_t) at = {0};
    for (txn_id t = 0; t < h->txns; t++)
        if (part_of(h, t) && updates(c, t) && (!z->si || start_ts(h, t) == commit_ts(h, t)))
            vec_push(c->m, &at, sort_key(commit_ts(h, t)));
    uint32_t *by = sort_by_key(c->m, at.at, (uint32_t)at.n);
    bool tie = false;
    for (size_t i = 1; i < at.n; i++) tie = tie || at.at[by[i]] == at.at[by[i - 1]];
    vec_free(c->m, &at);
    mem_put(c->m, by);
    return !tie || recheck_no(c, NO_ID,
                              "two updates have one timestamp: that leaves their order "
                              "open");
}

/* The versions of each key by commit_ts, which must differ. */
static bool load_stamped_writes(stamps *z)
{
    checker *c = &z->c;
    const history *h = c->h;
    size_t keys = history_keys(h), n = 0;
    uint32_t *which = mem_array(c->m, uint32_t, c->w_key.n + 1);
    uint64_t *at = mem_array(c->m, uint64_t, c->w_key.n + 1);
    z->first = mem_array0(c->m, uint32_t, keys + 2);
    for (uint32_t w = 0; w < c->w_key.n; w++) {
        if (!installed(c, w) || !part_of(h, c->w_txn[w])) continue;
        which[n] = w;
        at[n++] = sort_key(commit_ts(h, c->w_txn[w]));
        z->first[c->w_key.at[w] + 2]++;
    }
    for (size_t k = 2; k < keys + 2; k++) z->first[k] += z->first[k - 1];
    z->write = mem_array(c->m, uint32_t, n + 1);
    uint32_t *by = sort_by_key(c->m, at, (uint32_t)n);
    for (size_t i = 0; i < n; i++)
        z->write[z->first[c->w_key.at[which[by[i]]] + 1]++] = which[by[i]];
    mem_put(c->m, which);
    mem_put(c->m, at);
    mem_put(c->m, by);
    for (size_t k = 0; k < keys; k++)
        for (uint32_t i = z->first[k] + 1; i < z->first[k + 1]; i++) {
            txn_id a = c->w_txn[z->write[i - 1]], b = c->w_txn[z->write[i]];
            if (commit_ts(h, a) == commit_ts(h, b))
                return recheck_no(c, b, "has a version with the timestamp of another one");
        }
    return true;
}

/* Steps of sessions: none is open, and with `forward` none goes back in time. */
static bool check_stamped_sessions(stamps *z, bool forward)
{
    checker *c = &z->c;
    const history *h = c->h;
    for (size_t s = 0; s < h->sessions.n && c->v->session_order; s++) {
        txn_id next = NO_ID, before;
        for (uint32_t j = h->sess_first[s]; j < h->sess_first[s + 1]; j++) {
            txn_id t = h->sess_txn[j];
            before = next; /* the last one before t whose outcome is known */
            if (txn_status_of(h, t) == TXN_COMMITTED) next = t;
            if (!part_of(h, t) || before == NO_ID) continue;
            int64_t at = commit_ts(h, t), end = commit_ts(h, before);
            bool one = start_ts(h, t) == at && start_ts(h, before) == end;
            if (!forward && at == end && updates(c, t) && (!z->si || one))
                return recheck_no(c, t, "shares its moment with the one before in its session");
            if (forward && end > (z->si ? start_ts(h, t) : at))
                return recheck_no(c, t, "comes before its session predecessor, by timestamps");
        }
    }
    return true;
}

static bool check_stamped_lists(checker *c)
{
    for (key_id k = 0; k < history_keys(c->h); k++) {
        if (!c->is_list[k]) continue;
        if (c->h->init_unknown)
            return recheck_no(c, NO_ID,
                              "lists of an unknown initial state: timestamps are not "
                              "used then");
        if (content(c->h, &c->init[k]).scalar)
            return recheck_no(c, NO_ID,
                              "a list key holds a plain value at first: timestamps are "
                              "not used then");
    }
    return true;
}

/* --- what a reader finds ---------------------------------------------------------------------- */

/* How many versions of k are there at the moment of t, those of others. */
static uint32_t visible(const stamps *z, txn_id t, key_id k)
{
    const checker *c = &z->c;
    const history *h = c->h;
    bool before = !z->si && updates(c, t); /* its own moment is that of its version */
    int64_t at = z->si ? start_ts(h, t) : commit_ts(h, t);
    uint32_t lo = z->first[k], hi = z->first[k + 1];
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        int64_t end = commit_ts(h, c->w_txn[z->write[mid]]);
        if (before ? end < at : end <= at)
            lo = mid + 1;
        else
            hi = mid;
    }
    lo -= z->first[k];
    return lo && c->w_txn[z->write[z->first[k] + lo - 1]] == t ? lo - 1 : lo;
}

/* The content of a list key after each of its versions; false: some write replaces it. */
static bool load_text(stamps *z, key_id k)
{
    checker *c = &z->c;
    if (z->texted[k]) return z->texted[k] == 1;
    seq init = content(c->h, &c->init[k]);
    z->texted[k] = 1;
    z->text_first[k] = (uint32_t)z->text.n;
    for (uint32_t i = 0; i < init.n; i++) vec_push(c->m, &z->text, init.at[i]);
    for (uint32_t i = z->first[k]; i < z->first[k + 1]; i++) {
        uint32_t lo, hi = recheck_own(c, c->w_txn[z->write[i]], k, NO_ID, &lo);
        if (recheck_sets(c, lo, hi)) z->texted[k] = 2;
        for (; lo < hi; lo++) vec_push(c->m, &z->text, c->h->op_value[c->w_op[lo]]);
        z->text_end[i] = (uint32_t)z->text.n;
    }
    if (z->text.n > UINT32_MAX - 16) guard_fail(c->m->guard, GUARD_UNSUPPORTED, "lists too long");
    return z->texted[k] == 1;
}

enum shown { SHOWN_RIGHT, SHOWN_WRONG, SHOWN_OPEN };

static enum shown list_shown(stamps *z, txn_id t, op_id o, key_id k, value_id x)
{
    checker *c = &z->c;
    uint32_t lo, hi = recheck_own(c, t, k, o, &lo), n = visible(z, t, k);
    if (!load_text(z, k) || recheck_sets(c, lo, hi)) return SHOWN_OPEN;
    seq read = content(c->h, &x), init = content(c->h, &c->init[k]);
    if (read.scalar || !recheck_strip(c, lo, hi, &read)) return SHOWN_WRONG;
    const value_id *from = z->text.n ? z->text.at + z->text_first[k] : NULL;
    uint32_t end = n ? z->text_end[z->first[k] + n - 1] - z->text_first[k] : init.n;
    return same((seq){from, end, false}, read) ? SHOWN_RIGHT : SHOWN_WRONG;
}

/* Did t read what stands there at its moment?  OPEN: the first version of a key whose initial value
   is unknown, or a list that cannot be told. */
static enum shown read_shown(stamps *z, txn_id t, op_id o, key_id k, value_id x)
{
    checker *c = &z->c;
    if (c->is_list[k]) return list_shown(z, t, o, k, x);
    int own = recheck_internal(c, t, o, k, x);
    if (own) return own > 0 ? SHOWN_RIGHT : SHOWN_WRONG;
    uint32_t n = visible(z, t, k);
    if (!n && c->open[k]) return SHOWN_OPEN;
    value_id now = n ? c->h->op_value[c->w_op[z->write[z->first[k] + n - 1]]] : c->init[k];
    return plain(now) == plain(x) ? SHOWN_RIGHT : SHOWN_WRONG;
}

/* --- holds ------------------------------------------------------------------------------------ */

static bool check_shown(checker *c, txn_id t, op_id o, key_id k, value_id x)
{
    stamps *z = (stamps *)c;
    switch (read_shown(z, t, o, k, x)) {
    case SHOWN_RIGHT: return true;
    case SHOWN_WRONG: return recheck_no(c, t, "did not read what stood there at its timestamp");
    case SHOWN_OPEN: break;
    }
    if (c->is_list[k]) return recheck_no(c, t, "read a list that is not only appended to");
    if (z->initial[k] == FREE) z->initial[k] = x;
    return z->initial[k] == x || recheck_no(c, t, "read another initial value than others did");
}

static bool check_overlaps(stamps *z)
{
    checker *c = &z->c;
    for (size_t k = 0; z->si && k < history_keys(c->h); k++)
        for (uint32_t i = z->first[k] + 1; i < z->first[k + 1]; i++) {
            txn_id a = c->w_txn[z->write[i - 1]], b = c->w_txn[z->write[i]];
            if (commit_ts(c->h, a) > start_ts(c->h, b))
                return recheck_no(c, b, "overlaps with another writer of a key");
        }
    return true;
}

static bool stamps_hold(stamps *z)
{
    checker *c = &z->c;
    if (!check_stamped_sessions(z, true) || !check_overlaps(z)) return false;
    for (txn_id t = 0; t < c->h->txns; t++)
        if (part_of(c->h, t) && !recheck_visit(c, t, check_shown)) return false;
    return true;
}

/* --- violated --------------------------------------------------------------------------------- */

static bool find_shown(checker *c, txn_id t, op_id o, key_id k, value_id x)
{
    (void)t;
    if (o != c->v->at_op || k != c->v->at_key) return true;
    c->value = x;
    c->found = true;
    return false;
}

/* Another read of the unknown initial value, which returned something else. */
static bool find_other_initial(checker *c, txn_id t, op_id o, key_id k, value_id x)
{
    stamps *z = (stamps *)c;
    if (k == c->v->at_key && x != c->value && read_shown(z, t, o, k, x) == SHOWN_OPEN)
        c->found = true;
    return !c->found;
}

static bool stamped_read(stamps *z)
{
    checker *c = &z->c;
    const history *h = c->h;
    const claim *v = c->v;
    txn_id t = v->core.n ? v->core.at[0] : NO_ID;
    if (t >= h->txns || !part_of(h, t) || v->at_op < h->txn_op[t] || v->at_op >= h->txn_op[t + 1] ||
        h->op_kind[v->at_op] & OP_FAILED)
        return recheck_no(c, NO_ID, "the read is not of the transaction named");
    unsigned kind = op_kind_of(h, v->at_op);
    if (v->at_key == NO_ID)
        return ((kind == OP_SCAN || kind == OP_ITER) &&
                recheck_malformed(h, &h->ranges.at[h->op_key[v->at_op]])) ||
               recheck_no(c, t, "the scan is not malformed");
    c->found = false;
    recheck_visit(c, t, find_shown);
    if (!c->found) return recheck_no(c, t, "has no such read");
    value_id x = c->value;
    enum shown shown = read_shown(z, t, v->at_op, v->at_key, x);
    if (shown == SHOWN_WRONG) return true;
    c->found = false;
    for (txn_id u = 0; u < h->txns && shown == SHOWN_OPEN && !c->is_list[v->at_key] && !c->found;
         u++)
        if (part_of(h, u)) recheck_visit(c, u, find_other_initial);
    return c->found || recheck_no(c, t, "read what stood there at its timestamp");
}

static bool stamps_violated(stamps *z)
{
    checker *c = &z->c;
    const history *h = c->h;
    const claim *v = c->v;
    if (v->at_op != NO_ID) return stamped_read(z);
    txn_id a = v->core.n > 1 ? v->core.at[0] : NO_ID, b = v->core.n > 1 ? v->core.at[1] : NO_ID;
    if (a >= h->txns || b >= h->txns || a == b || !part_of(h, a) || !part_of(h, b))
        return recheck_no(c, NO_ID, "the answer names no two transactions with timestamps");
    if (v->at_key == NO_ID)
        return (v->session_order && h->txn_session[a] == h->txn_session[b] && b < a &&
                txn_status_of(h, b) == TXN_COMMITTED &&
                commit_ts(h, b) > (z->si ? start_ts(h, a) : commit_ts(h, a))) ||
               recheck_no(c, a, "its session does not run backwards");
    bool both =
        recheck_install(c, a, v->at_key) != NO_ID && recheck_install(c, b, v->at_key) != NO_ID;
    return (z->si && both && start_ts(h, a) < commit_ts(h, b) &&
            start_ts(h, b) < commit_ts(h, a)) ||
           recheck_no(c, a, "the two writers do not overlap");
}

/* --- both ------------------------------------------------------------------------------------- */

bool recheck_trusted(checker *c)
{
    enum level_id id = c->v->level.id;
    size_t keys = history_keys(c->h);
    stamps z = {.c = *c, .si = id == LEVEL_SI};
    if ((id != LEVEL_SI && id != LEVEL_SER) || c->v->level.realtime)
        return recheck_no(c, NO_ID, "timestamps say nothing of this level by itself");
    z.text_first = mem_array0(c->m, uint32_t, keys + 1);
    z.text_end = mem_array0(c->m, uint32_t, c->w_key.n + 1);
    z.texted = mem_array0(c->m, uint8_t, keys + 1);
    z.initial = mem_array(c->m, value_id, keys + 1);
    for (size_t k = 0; k < keys; k++) z.initial[k] = FREE;
    bool ok = check_stamped(&z.c) && check_stamped_lists(&z.c) && check_moments(&z) &&
              load_stamped_writes(&z) && check_stamped_sessions(&z, false) &&
              (c->v->outcome == OUTCOME_HOLDS ? stamps_hold(&z) : stamps_violated(&z));
    c->why = z.c.why;
    return ok;
}

bool claim_trusted(const claim *v, const history *h, mem *m, const char **why)
{
    checker c = {.v = v, .h = h, .m = m};
    recheck_load_writes(&c);
    recheck_load_keys(&c);
    recheck_index_values(&c);
    bool ok = recheck_trusted(&c);
    *why = c.why;
    return ok;
}
