/*
 * cdc.c - version certificates of dbcdc-runner (`timekiller-cdc`, doc/formats/others.md): for every
 * written version its transaction's timestamps and the version that it replaced.
 *
 * One JSON object; the name of each member is the text {'k': 1155, 'v': 13}, in single quotes.
 * Versions with the same two timestamps are one transaction.  The certificate says nothing about
 * sessions, so each transaction is a session of its own; it names no reads.  Alone it is half a
 * history; read_versions (join_versions.c) gives what it tells to the history that it belongs to.
 *
 * The version order of a key is that of commit timestamps.  pre_write must agree with it where it
 * names a version of the certificate; what the first one replaced was there before.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "read/formats.h"
#include "read/json.h"
#include "read/integer_only.h"

/* --- reading ------------------------------------------------------------------------------- */

typedef struct entry {
    int64_t start, commit;
    size_t at; /* in the file */
    key_id key;
    value_id value, before; /* VALUE_UNKNOWN: nothing was replaced, or nobody says what */
} entry;

typedef struct cdc_reader {
    json j;
    history *h;
    VEC(entry) entries;
} cdc_reader;

/* A word of the member's name: an integer, 'text' or None. */
typedef struct word {
    const char *at;
    size_t n;
    bool quoted;
} word;

static const char *spaces(const char *p, const char *end)
{
    while (p < end && *p == ' ') p++;
    return p;
}

static const char *take_word(const char *p, const char *end, word *w)
{
    p = spaces(p, end);
    w->quoted = p < end && *p == '\'';
    p += w->quoted;
    w->at = p;
    while (p < end && (w->quoted ? *p != '\'' : *p != ',' && *p != '}' && *p != ' ' && *p != ':'))
        p++;
    w->n = (size_t)(p - w->at);
    if (w->quoted && p < end) p++;
    return spaces(p, end);
}

static bool to_int(word w, int64_t *v)
{
    bool minus = w.n && *w.at == '-';
    uint64_t u = 0, limit = (uint64_t)INT64_MAX + minus;
    if (w.quoted || w.n == minus) return false;
    for (size_t i = minus; i < w.n; i++) {
        uint64_t d = (uint64_t)(w.at[i] - '0');
        if (w.at[i] < '0' || w.at[i] > '9' || u > (limit - d) / 10) return false;
        u = u * 10 + d;
    }
    *v = minus ? (int64_t)(0 - u) : (int64_t)u;
    return true;
}

static bool take_version(cdc_reader *r, json_text name, entry *e)
{
    const char *p = spaces(name.at, name.at + name.n), *end = name.at + name.n;
    bool has_key = false, has_value = false;
    int64_t v;
    if (p == end || *p++ != '{') return false;
    for (;;) {
        word label_, value;
        p = take_word(p, end, &label_);
        if (!label_.quoted || label_.n != 1 || p == end || *p++ != ':') return false;
        p = take_word(p, end, &value);
        bool number = to_int(value, &v);
        if (*label_.at == 'k' && !has_key && (number || value.quoted)) {
            e->key = number ? key_int(r->h, v) : key_str(r->h, value.at, value.n);
            has_key = true;
        } else if (*label_.at == 'v' && !has_value && (number || value.quoted)) {
            e->value = number ? value_int(r->h, v) : value_str(r->h, value.at, value.n);
            has_value = true;
        } else if (*label_.at == 'v' && !has_value && value.n == 4 &&
                   !memcmp(value.at, "None", 4)) {
            e->value = VALUE_NULL;
            has_value = true;
        } else {
            return false;
        }
        if (p == end) return false;
        if (*p == '}') break;
        if (*p++ != ',') return false;
    }
    return has_key && has_value && p + 1 == end;
}

static void read_before(cdc_reader *r, entry *e)
{
    json *j = &r->j;
    if (json_literal(j, "null")) return;
    json_space(j);
    const char *at = j->p;
    bool has_value = false;
    json_need(j, '{');
    if (!json_take(j, '}')) do {
            json_text name = json_member(j);
            if (json_is(name, "k")) {
                if (json_key(j, r->h) != e->key)
                    json_fail(j, at, "a version that replaced a version of another key");
            } else if (json_is(name, "v")) {
                e->before = json_scalar(j, r->h, "a value");
                has_value = true;
            } else {
                json_skip(j);
            }
        } while (json_more(j, '}'));
    if (!has_value) json_fail(j, at, "\"pre_write\" without \"v\"");
    if (e->before == VALUE_NULL) e->before = VALUE_UNKNOWN;
}

static void read_entry(cdc_reader *r)
{
    json *j = &r->j;
    entry e = {.before = VALUE_UNKNOWN, .at = r->entries.n};
    bool has_start = false, has_commit = false;
    json_whole(j);
    const char *at = j->p;
    json_text name = json_string(j);
    if (!take_version(r, name, &e))
        json_fail(j, at, "expected the name of a version such as \"{'k': 1, 'v': 2}\"");
    if (!json_peek(j)) json_expected(j, "':'");
    json_need(j, ':');
    json_peek(j);
    json_whole(j);
    at = j->p;
    json_need(j, '{');
    if (!json_take(j, '}')) do {
            json_text member = json_member(j);
            if (json_is(member, "start_ts")) {
                e.start = json_int(j, "a timestamp");
                has_start = true;
            } else if (json_is(member, "commit_ts")) {
                e.commit = json_int(j, "a timestamp");
                has_commit = true;
            } else if (json_is(member, "pre_write")) {
                read_before(r, &e);
            } else {
                json_skip(j);
            }
        } while (json_more(j, '}'));
    if (!has_start || !has_commit) json_fail(j, at, "a version without start_ts and commit_ts");
    if (e.start > e.commit) json_fail(j, at, "a transaction that starts after its commit");
    vec_push(&r->h->mem, &r->entries, e);
    guard_tick(j->s->guard);
}

static int by_commit(const void *x, const void *y)
{
    const entry *a = x, *b = y;
    if (a->commit != b->commit) return a->commit < b->commit ? -1 : 1;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

static _Noreturn void contradiction(cdc_reader *r, const entry *e, const char *what)
{
    strbuf b;
    strbuf_init(&b, &r->h->mem);
    strbuf_str(&b, "version ");
    atom_text(r->h, value_atom(r->h, e->value), &b);
    strbuf_str(&b, " of key ");
    atom_text(r->h, key_atom(r->h, e->key), &b);
    guard_fail(r->h->mem.guard, GUARD_HISTORY, "%.200s: %s", strbuf_cstr(&b), what);
}

/* Positions are given in the order of commits; the last version of each key is kept to see that
   pre_write says the same. */
static void check_order(cdc_reader *r)
{
    history *h = r->h;
    key_set known = {0}; /* (key, value) */
    value_id *last = mem_array(&h->mem, value_id, history_keys(h) + 1);
    for (size_t k = 0; k < history_keys(h); k++) last[k] = VALUE_UNKNOWN;
    for (size_t i = 0; i < r->entries.n; i++) {
        const entry *e = &r->entries.at[i];
        if (!key_set_add(&h->mem, &known, map_pair(e->key, e->value)))
            contradiction(r, e, "it occurs twice");
    }
    for (size_t i = 0; i < r->entries.n; i++) {
        const entry *e = &r->entries.at[i];
        value_id was = last[e->key];
        last[e->key] = e->value;
        if (e->before == VALUE_UNKNOWN || e->before == was) continue;
        if (key_set_has(&known, map_pair(e->key, e->before)))
            contradiction(r, e, "pre_write and commit_ts disagree about what it replaced");
        if (was == VALUE_UNKNOWN) history_init_entry(h, e->key, e->before);
    }
    key_set_free(&h->mem, &known);
    mem_put(&h->mem, last);
}

static label txn_name(cdc_reader *r, strbuf *b, const entry *e)
{
    b->n = 0;
    strbuf_i64(b, e->start);
    strbuf_char(b, '-');
    strbuf_i64(b, e->commit);
    return label_str(r->h, b->at, b->n);
}

static void build(cdc_reader *r)
{
    history *h = r->h;
    size_t keys = history_keys(h);
    int64_t *position = mem_array0(&h->mem, int64_t, keys + 1);
    size_t *last = mem_array0(&h->mem, size_t, keys + 1); /* entry + 1 that ends the key's writes */
    strbuf name;
    strbuf_init(&name, &h->mem);
    for (size_t i = 0, end; i < r->entries.n; i = end) {
        const entry *e = &r->entries.at[i];
        for (end = i; end < r->entries.n && r->entries.at[end].start == e->start &&
                      r->entries.at[end].commit == e->commit;
             end++)
            last[r->entries.at[end].key] = end + 1;
        history_begin(h);
        label l = txn_name(r, &name, e);
        history_session(h, l);
        history_label(h, l);
        history_time(h, TXN_HAS_START_TS, e->start);
        history_time(h, TXN_HAS_COMMIT_TS, e->commit);
        for (size_t o = i; o < end; o++) {
            const entry *x = &r->entries.at[o];
            op_id op =
                history_op(h, x->value == VALUE_NULL ? OP_DELETE : OP_WRITE, x->key, x->value);
            if (last[x->key] == o + 1) /* only the installed version has a position */
                history_attr(h, op, ATTR_VER, 0, (uint64_t)++position[x->key]);
        }
        history_end(h, TXN_COMMITTED);
    }
    strbuf_free(&name);
    mem_put(&h->mem, position);
    mem_put(&h->mem, last);
}

void cdc_read(history *h, source *s)
{
    cdc_reader r = {.h = h};
    json *j = &r.j;
    json_stream(j, s);
    if (!json_peek(j)) json_expected(j, "'{'");
    json_need(j, '{');
    if (json_peek(j) && *j->p == '}') {
        j->p++;
    } else {
        do {
            json_peek(j);
            read_entry(&r);
            json_peek(j);
        } while (json_more(j, '}'));
    }
    if (json_peek(j)) json_expected(j, "the end of the file");
    if (r.entries.n >= UINT32_MAX)
        guard_fail(s->guard, GUARD_UNSUPPORTED, "more than 2^32 versions");
    if (r.entries.n) qsort(r.entries.at, r.entries.n, sizeof *r.entries.at, by_commit);
    check_order(&r);
    build(&r);
    vec_free(&h->mem, &r.entries);
    strbuf_free(&j->scratch);
}

/* --- writing ------------------------------------------------------------------------------- */

typedef struct written {
    int64_t commit, start;
    op_id op;
    txn_id txn;
} written;

static int by_order(const void *x, const void *y)
{
    const written *a = x, *b = y;
    if (a->commit != b->commit) return a->commit < b->commit ? -1 : 1;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    return a->op < b->op ? -1 : a->op > b->op;
}

static bool can_name(const history *h, atom a)
{
    if (a.kind == ATOM_INT) return true;
    return a.kind == ATOM_STR && !memchr(atom_bytes(h, a), '\'', a.len);
}

static void put_name(const history *h, atom a, strbuf *b)
{
    strbuf text;
    if (a.kind != ATOM_STR) {
        if (a.kind == ATOM_NULL)
            strbuf_str(b, "None");
        else
            atom_json(h, a, b);
        return;
    }
    strbuf_init(&text, b->mem);
    strbuf_json(&text, atom_bytes(h, a), a.len);
    strbuf_char(b, '\'');
    strbuf_add(b, text.at + 1, text.n - 2); /* escapes, but not the quotes */
    strbuf_char(b, '\'');
    strbuf_free(&text);
}

static void put_entry(const history *h, const written *w, value_id before, sink *out)
{
    strbuf *b = &out->buf;
    key_id k = h->op_key[w->op];
    strbuf_str(b, "\"{'k': ");
    put_name(h, key_atom(h, k), b);
    strbuf_str(b, ", 'v': ");
    put_name(h, value_atom(h, h->op_value[w->op]), b);
    strbuf_str(b, "}\": {\"start_ts\": ");
    strbuf_i64(b, h->txn_start_ts[w->txn]);
    strbuf_str(b, ", \"commit_ts\": ");
    strbuf_i64(b, h->txn_commit_ts[w->txn]);
    strbuf_str(b, ", \"pre_write\": ");
    if (before == VALUE_NULL || before == VALUE_EMPTY || value_atom(h, before).kind == ATOM_LIST) {
        strbuf_str(b, "null}");
        return;
    }
    strbuf_str(b, "{\"k\": ");
    atom_json(h, key_atom(h, k), b);
    strbuf_str(b, ", \"v\": ");
    atom_json(h, value_atom(h, before), b);
    strbuf_str(b, "}}");
}

static bool goes_in(const history *h, txn_id t, op_id o)
{
    const unsigned both = TXN_HAS_START_TS | TXN_HAS_COMMIT_TS;
    return txn_status_of(h, t) == TXN_COMMITTED && (h->txn_flags[t] & both) == both &&
           h->txn_start_ts[t] <= h->txn_commit_ts[t] &&
           (op_kind_of(h, o) == OP_WRITE || op_kind_of(h, o) == OP_DELETE) &&
           !(h->op_kind[o] & OP_FAILED) && can_name(h, key_atom(h, h->op_key[o])) &&
           (op_kind_of(h, o) == OP_DELETE || can_name(h, value_atom(h, h->op_value[o])));
}

static bool has_our_label(const history *h, txn_id t)
{
    char text[64];
    const unsigned both = TXN_HAS_START_TS | TXN_HAS_COMMIT_TS;
    atom a = label_atom(h, h->txn_label[t]);
    if ((h->txn_flags[t] & both) != both || a.kind != ATOM_STR) return false;
    int n = snprintf(text, sizeof text, "%lld-%lld", (long long)h->txn_start_ts[t],
                     (long long)h->txn_commit_ts[t]);
    return a.len == (uint32_t)n && !memcmp(atom_bytes(h, a), text, a.len) &&
           h->sessions.at[h->txn_session[t]] == h->txn_label[t];
}

void cdc_write(const history *h, sink *out)
{
    VEC(written) all = {0};
    uint32_t *last = mem_array0(out->mem, uint32_t, history_keys(h) + 1); /* transaction + 1 */
    for (txn_id t = 0; t < h->txns; t++) {
        if (!has_our_label(h, t)) sink_lose(out, LOST_LABELS);
        for (op_id o = h->txn_op[t + 1]; o-- > h->txn_op[t];) {
            if (op_kind_of(h, o) == OP_READ) sink_lose_op(out, LOST_READS);
            if (op_kind_of(h, o) > OP_DELETE) sink_lose_op(out, LOST_RANGES);
            if (!goes_in(h, t, o)) {
                if (op_kind_of(h, o) == OP_WRITE) sink_lose_op(out, LOST_REGISTERS);
                continue;
            }
            if (last[h->op_key[o]] == t + 1) continue; /* overwritten by its own transaction */
            last[h->op_key[o]] = t + 1;
            written w = {h->txn_commit_ts[t], h->txn_start_ts[t], o, t};
            vec_push(out->mem, &all, w);
        }
    }
    if (all.n) qsort(all.at, all.n, sizeof *all.at, by_order);
    key_set named = {0}; /* (key, value) */
    value_id *before = mem_array(out->mem, value_id, history_keys(h) + 1);
    memcpy(before, h->key_init, history_keys(h) * sizeof *before);
    bool first = true;
    strbuf_char(&out->buf, '{');
    for (size_t i = 0; i < all.n; i++) {
        key_id k = h->op_key[all.at[i].op];
        /* A version has one name, so a value that is written twice to a key cannot be certified: a
           delete after the first, for one. */
        if (!key_set_add(out->mem, &named, map_pair(k, h->op_value[all.at[i].op]))) {
            sink_lose_op(out, LOST_REGISTERS);
            continue;
        }
        strbuf_str(&out->buf, first ? "\n" : ",\n");
        first = false;
        put_entry(h, &all.at[i], before[k], out);
        before[k] = h->op_value[all.at[i].op];
        sink_check(out);
        guard_tick(out->guard);
    }
    strbuf_str(&out->buf, "\n}\n");
    key_set_free(out->mem, &named);
    mem_put(out->mem, before);
    mem_put(out->mem, last);
    vec_free(out->mem, &all);
}
