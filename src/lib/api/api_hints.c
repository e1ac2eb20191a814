/*
 * api_hints.c - the builder calls that say more: hints about the last operation, the database's
 * timestamps, and members that the levels do not interpret.
 *
 * A hint follows its operation directly.  So the attributes of a history that is built side by side
 * come in the order of the operations, which the table of attributes needs, and no call has to
 * search for the last operation of a transaction.
 */
#include <string.h>

#include "api/builder.h"
#include "read/json.h"

/* The last operation, if it is one of the transaction that builder calls mean; else NO_ID. */
static op_id last_op(const ratel_history *h)
{
    const history *m = h->model;
    if (!m->ops) return NO_ID;
    if (h->current != NO_ID)
        return h->owner.n == m->ops && h->owner.at[m->ops - 1] == h->current ? (op_id)m->ops - 1
                                                                             : NO_ID;
    return m->ops > m->txn_op[m->txns] ? (op_id)m->ops - 1 : NO_ID;
}

#define AFTER_OP(h, op)                                                                            \
    do {                                                                                           \
        IN_TXN(h);                                                                                 \
        (op) = last_op(h);                                                                         \
        if ((op) == NO_ID)                                                                         \
            return builder_refuse(h, RATEL_EINVAL, "a hint must directly follow its operation");   \
    } while (0)

static bool has_attr(const ratel_history *h, op_id op, enum attr_kind a, enum attr_kind b)
{
    const history *m = h->model;
    for (size_t i = m->attrs.n; i-- > 0 && m->attrs.at[i].op == op;)
        if (m->attrs.at[i].kind == a || m->attrs.at[i].kind == b) return true;
    return false;
}

static bool is_range(const ratel_history *h, op_id op)
{
    enum op_kind kind = op_kind_of(h->model, op);
    return kind == OP_SCAN || kind == OP_ITER;
}

/* A writer is named by the id of its transaction; NULL stands for the initial state. */
static bool writer_ok(const ratel_value *v)
{
    return v->type == RATEL_NULL || builder_key_ok(v);
}

static void body_from(build *b)
{
    history *h = b->h;
    op_id op = (op_id)h->ops - 1;
    label l = b->key.type == RATEL_NULL ? 0 : builder_label(h, &b->key);
    history_attr(h, op, b->key.type == RATEL_NULL ? ATTR_FROM_INIT : ATTR_FROM, 0, l);
}

int ratel_history_from(ratel_history *h, ratel_value writer)
{
    op_id op;
    AFTER_OP(h, op);
    if (op_kind_of(h->model, op) != OP_READ)
        return builder_refuse(h, RATEL_EINVAL, "only a read has a writer that it read from");
    if (!writer_ok(&writer))
        return builder_refuse(h, RATEL_EINVAL, "a writer is null, an integer or a string");
    if (has_attr(h, op, ATTR_FROM, ATTR_FROM_INIT))
        return builder_refuse(h, RATEL_EINVAL, "the read has a writer already");
    build b = {.key = writer};
    return builder_run(h, &b, body_from);
}

/* All memory and all labels first, so that a failure leaves no half of a hint. */
static void body_from_rows(build *b)
{
    history *h = b->h;
    op_id op = (op_id)h->ops - 1;
    mem_init(&b->scratch, b->shell->fn, b->shell->ud, &b->guard);
    label *l = mem_array(&b->scratch, label, b->n + 1);
    for (size_t i = 0; i < b->n; i++)
        l[i] = b->list[i].type == RATEL_NULL ? 0 : builder_label(h, &b->list[i]);
    vec_reserve(&h->mem, &h->attrs, b->n);
    for (size_t i = 0; i < b->n; i++)
        history_attr(h, op, b->list[i].type == RATEL_NULL ? ATTR_ROW_FROM_INIT : ATTR_ROW_FROM,
                     (uint32_t)i, l[i]);
}

int ratel_history_from_rows(ratel_history *h, const ratel_value *writers, size_t n)
{
    op_id op;
    AFTER_OP(h, op);
    if (!is_range(h, op) || (n && !writers))
        return builder_refuse(h, RATEL_EINVAL, "only a scan or an iterator has rows");
    if (n != h->model->ranges.at[h->model->op_key[op]].rows)
        return builder_refuse(h, RATEL_EINVAL, "each row needs one writer");
    for (size_t i = 0; i < n; i++)
        if (!writer_ok(&writers[i]))
            return builder_refuse(h, RATEL_EINVAL, "a writer is null, an integer or a string");
    if (has_attr(h, op, ATTR_ROW_FROM, ATTR_ROW_FROM_INIT))
        return builder_refuse(h, RATEL_EINVAL, "the rows have writers already");
    build b = {.list = writers, .n = n};
    int code = builder_run(h, &b, body_from_rows);
    mem_free_all(&b.scratch);
    return code;
}

static void body_ver(build *b)
{
    history_attr(b->h, (op_id)b->h->ops - 1, ATTR_VER, 0, (uint64_t)b->begin);
}

int ratel_history_ver(ratel_history *h, int64_t position)
{
    op_id op;
    AFTER_OP(h, op);
    if (is_range(h, op))
        return builder_refuse(h, RATEL_EINVAL, "a scan or an iterator has no version");
    if (has_attr(h, op, ATTR_VER, ATTR_VER))
        return builder_refuse(h, RATEL_EINVAL, "the operation has a version already");
    build b = {.begin = position};
    return builder_run(h, &b, body_ver);
}

static void body_vset(build *b)
{
    history *h = b->h;
    key_id k = builder_key(h, &b->key);
    bool initial = b->value.type == RATEL_NULL;
    label l = initial ? 0 : builder_label(h, &b->value);
    history_attr(h, (op_id)h->ops - 1, initial ? ATTR_VSET_INIT : ATTR_VSET, k, l);
}

int ratel_history_vset(ratel_history *h, ratel_value key, ratel_value writer)
{
    op_id op;
    AFTER_OP(h, op);
    if (!is_range(h, op))
        return builder_refuse(h, RATEL_EINVAL, "only a scan or an iterator has a version set");
    if (!builder_key_ok(&key) || !writer_ok(&writer))
        return builder_refuse(h, RATEL_EINVAL, "no such key or writer");
    const history *m = h->model;
    if (m->attrs.n && has_attr(h, op, ATTR_VSET, ATTR_VSET_INIT)) {
        uint32_t last = m->attrs.at[m->attrs.n - 1].kind; /* the file format has one list */
        if (last != ATTR_VSET && last != ATTR_VSET_INIT)
            return builder_refuse(h, RATEL_EINVAL, "the members of a version set come together");
    }
    build b = {.key = key, .value = writer};
    return builder_run(h, &b, body_vset);
}

static void body_called(build *b)
{
    op_id op = (op_id)b->h->ops - 1;
    vec_reserve(&b->h->mem, &b->h->attrs, 2);
    history_attr(b->h, op, ATTR_CALL, 0, (uint64_t)b->begin);
    history_attr(b->h, op, ATTR_RETURN, 0, (uint64_t)b->end);
}

int ratel_history_called(ratel_history *h, int64_t at, int64_t returned)
{
    op_id op;
    AFTER_OP(h, op);
    if (has_attr(h, op, ATTR_CALL, ATTR_RETURN))
        return builder_refuse(h, RATEL_EINVAL, "the operation has times already");
    build b = {.begin = at, .end = returned};
    return builder_run(h, &b, body_called);
}

/* --- the database's timestamps ---------------------------------------------------------------- */

static void body_timestamp(build *b)
{
    txn_id t = b->shell->current;
    if (t != NO_ID)
        history_time_of(b->h, t, b->kind, b->begin);
    else
        history_time(b->h, b->kind, b->begin);
}

int ratel_history_start_ts(ratel_history *h, int64_t ts)
{
    IN_TXN(h);
    build b = {.begin = ts, .kind = TXN_HAS_START_TS};
    return builder_run(h, &b, body_timestamp);
}

int ratel_history_commit_ts(ratel_history *h, int64_t ts)
{
    IN_TXN(h);
    build b = {.begin = ts, .kind = TXN_HAS_COMMIT_TS};
    return builder_run(h, &b, body_timestamp);
}

/* --- members that the levels do not interpret --- */

typedef struct json_bytes {
    const char *at;
    size_t n;
} json_bytes;

static ptrdiff_t give_bytes(void *buf, size_t cap, void *payload)
{
    json_bytes *t = payload;
    size_t n = t->n < cap ? t->n : cap;
    if (n) memcpy(buf, t->at, n);
    t->at += n;
    t->n -= n;
    return (ptrdiff_t)n;
}

/* Fails unless the text is one JSON value; b->json is then that value without space around it and
   within it, so that it fits on the line of a transaction. */
static void check_json(build *b, strbuf *out)
{
    json_bytes t = {b->json, b->json_n};
    source s;
    json j;
    mem_init(&b->scratch, b->shell->fn, b->shell->ud, &b->guard);
    source_init(&s, &b->scratch, &b->guard, give_bytes, &t);
    json_stream(&j, &s);
    if (!json_peek(&j)) guard_fail(&b->guard, GUARD_PARSE, "the value of a member is not JSON");
    json_whole(&j);
    json_text value = json_skip(&j);
    strbuf_init(out, &b->scratch);
    json_compact(value, out);
    if (json_peek(&j)) json_expected(&j, "the end of the value");
}

static bool is_one_of(const char *name, const char *const *words)
{
    for (; *words; words++)
        if (!strcmp(name, *words)) return true;
    return false;
}

static bool name_ok(const char *name, const char *const *taken)
{
    if (!name || !*name) return false;
    ratel_value text = {.type = RATEL_STR, .as.str = {name, strlen(name)}};
    return builder_scalar_ok(&text) && !is_one_of(name, taken);
}

static void body_attribute(build *b)
{
    strbuf text;
    check_json(b, &text);
    value_id name = value_str(b->h, b->name, strlen(b->name));
    history_attr(b->h, (op_id)b->h->ops - 1, ATTR_EXTRA, name, value_str(b->h, text.at, text.n));
}

static bool same_text(const history *h, value_id v, const char *text)
{
    atom a = value_atom(h, v);
    return a.kind == ATOM_STR && a.len == strlen(text) && !memcmp(atom_bytes(h, a), text, a.len);
}

int ratel_history_attribute(ratel_history *h, const char *name, const char *text, size_t n)
{
    static const char *const taken[] = {"lock", "ok",   "tomb",    "t",    "from",
                                        "ver",  "incl", "reverse", "vset", NULL};
    op_id op;
    AFTER_OP(h, op);
    if (!text || !name_ok(name, taken))
        return builder_refuse(h, RATEL_EINVAL,
                              "an attribute needs a name that has no meaning of its own");
    const history *m = h->model;
    for (size_t i = m->attrs.n; i-- > 0 && m->attrs.at[i].op == op;)
        if (m->attrs.at[i].kind == ATTR_EXTRA && same_text(m, m->attrs.at[i].key, name))
            return builder_refuse(h, RATEL_EINVAL, "the operation has this attribute already");
    build b = {.name = name, .json = text, .json_n = n};
    int code = builder_run(h, &b, body_attribute);
    mem_free_all(&b.scratch);
    return code;
}

/* The transaction that is built, or NO_ID: the history itself. */
static txn_id member_owner(const ratel_history *h)
{
    if (h->current != NO_ID) return h->current;
    return h->model->open ? (txn_id)h->model->txns : NO_ID;
}

static void body_member(build *b)
{
    strbuf text;
    check_json(b, &text);
    history_extra_of(b->h, b->txn, b->name, strlen(b->name), text.at, text.n);
}

int ratel_history_member(ratel_history *h, const char *name, const char *text, size_t n)
{
    static const char *const of_txn[] = {"session", "id",       "status",    "ops",  "begin", "end",
                                         "times",   "start_ts", "commit_ts", "mark", "ratel", NULL};
    /* With a recorder's name, a file without an end mark counts as cut off. */
    static const char *const of_history[] = {"ratel",    "init",     "init_unknown",
                                             "sessions", "recorder", NULL};
    BUILDING(h);
    txn_id t = member_owner(h);
    if (t == NO_ID && h->open_txns)
        return builder_refuse(h, RATEL_EINVAL, "transactions are open, and none is selected");
    if (!text || !name_ok(name, t == NO_ID ? of_history : of_txn))
        return builder_refuse(h, RATEL_EINVAL,
                              "a member needs a name that has no meaning of its own");
    build b = {.name = name, .json = text, .json_n = n, .txn = t};
    int code = builder_run(h, &b, body_member);
    mem_free_all(&b.scratch);
    return code;
}
