/*
 * edn.c - reads Jepsen/Elle EDN (doc/formats/others.md), list-append and rw-register alike, and
 * elle-cli's JSON, which is the same in other punctuation.
 *
 * The unit is one event, a map.  Its fields are found and checked first (scan_event), because
 * keys come in any order; then it is acted on.  An :invoke is only checked and its text put
 * aside until its process completes; the completion makes the transaction.  So transactions
 * stand in the order of their completions, those never completed at the end.
 *
 * Every transaction event has a number: its :index if that is greater than the number of the
 * event before, else one more than that.  A transaction's id is the number of its completion (or
 * of the invocation, if there is none), begin and end are the numbers of its two events: the order
 * of events in the file is the only real-time order there is.  :time orders nothing; it is kept
 * as the extra "time":[invocation,completion] if positive.
 *
 * Without :process: an invocation and the next completion belong together, so such pairs are
 * the session "nil"; a lone completion tells nothing about order and is a session of its own.
 *
 * Operations of Jepsen's other tests become transactions at the end, if there are no others
 * (jepsen_models.h).
 *
 * For lint, header extras count transactions without :process ("without_process"), operations of a
 * client that are no transactions ("skipped_operations", by their :f), and events whose :time is
 * less than an earlier one's ("time_backwards": the file is not in real-time order).
 */
#include "read/edn_lex.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/map.h"
#include "history/header_notes.h"
#include "read/formats.h"
#include "read/jepsen_models.h"
#include "read/json.h"
#include "read/read.h"

#define NUMBER_LIMIT ((int64_t)1 << 62) /* an :index from here on is not believed */

enum field { TYPE, PROCESS, F, VALUE, TIME, INDEX, TS, FIELDS };
enum event_type { INVOKE, OK, FAIL, INFO };

typedef struct event {
    edn_span map, field[FIELDS];
    enum event_type type;
    int64_t number;
    bool has_time;
    int64_t time;
    bool json; /* names are strings */
} event;

typedef struct other_field {
    edn_span key, value;
} other_field;

/* An invocation that waits for its completion.  Links are index + 1, 0 is none: open ones form a
   list in the order of the file, free ones a stack through `next`. */
typedef struct pending {
    VEC(char) text;  /* the whole map */
    size_t value_at; /* of :value in the text; 0: none */
    bool has_others; /* fields that the model does not know */
    int64_t number, time;
    bool has_time;
    label process;
    uint32_t prev, next;
} pending;

/* What is no transaction, by its :f.  Invocations and completions are counted apart, since either
   may be missing from a file; the larger number is that of the operations. */
typedef struct skipped_kind {
    value_id name;
    uint64_t invoked, completed;
} skipped_kind;

#define KEEP_TEXT ((size_t)1 << 16) /* a released invocation gives larger buffers back */

typedef struct process {
    label name;
    uint32_t open; /* index + 1 of its pending invocation, or 0 */
} process;

typedef struct edn_reader {
    history *h;
    source *s;
    mem *mem;
    edn e;
    VEC(other_field) others;    /* fields of the current event that the model does not know */
    VEC(other_field) completed; /* those of the completion, while the invocation's are read */
    VEC(value_id) list;         /* elements of the list being read, above those it stands in */
    strbuf text, json;
    VEC(pending) pendings;
    uint32_t free_pending, first_pending, last_pending;
    VEC(process) processes;
    id_map process_of; /* name -> index of processes */
    int64_t last_number;
    int64_t last_time;
    uint64_t nameless; /* transactions without :process */
    VEC(skipped_kind) skipped;
    id_map skipped_of;  /* :f -> index of skipped */
    uint64_t backwards; /* transaction events whose :time is less than an earlier one */
} edn_reader;

/* --- scalars ------------------------------------------------------------------------------- */

static value_id read_value(edn_reader *r, edn *e, const char **at);

static const char *decoded(edn_reader *r, const char *p)
{
    r->text.n = 0;
    edn_string(p, &r->text);
    return strbuf_cstr(&r->text);
}

/* Digits of a checked integer without plus sign and N; NULL if the number is not one. */
static bool integer_text(edn_span t, edn_span *digits)
{
    *digits = t;
    if (*t.at == '+') digits->at++;
    if (t.end[-1] == 'N') digits->end--;
    for (const char *p = digits->at + (*digits->at == '-'); p < digits->end; p++)
        if (!edn_digit(*p)) return false;
    return true;
}

static bool unsigned_of(edn_span digits, uint64_t *out)
{
    uint64_t v = 0;
    for (const char *p = digits.at; p < digits.end; p++) {
        uint64_t d = (uint64_t)(*p - '0');
        if (*p == '-' || v > (UINT64_MAX - d) / 10) return false;
        v = v * 10 + d;
    }
    *out = v;
    return true;
}

static value_id read_number(edn_reader *r, edn_span t)
{
    edn_span digits;
    int64_t i;
    uint64_t u;
    if (edn_int(t, &i)) return value_int(r->h, i);
    if (integer_text(t, &digits)) {
        if (unsigned_of(digits, &u)) return value_uint(r->h, u);
        return value_big(r->h, digits.at, (size_t)(digits.end - digits.at));
    }
    /* 1.0M is not 1.0 in Clojure, 1/2 has no double, and 1e999 is beyond them. */
    if (t.end[-1] != 'M' && !memchr(t.at, '/', (size_t)(t.end - t.at))) {
        double d = strtod(t.at, NULL);
        if (isfinite(d)) return value_real(r->h, d);
    }
    return value_str(r->h, t.at, (size_t)(t.end - t.at));
}

/* A collection as one value: its JSON, so that white space makes no difference. */
static value_id as_json(edn_reader *r, edn *e, const char **at)
{
    r->json.n = 0;
    *at = edn_json(e, *at, &r->json);
    return value_str(r->h, r->json.at, r->json.n);
}

static value_id read_list(edn_reader *r, edn *e, const char **at)
{
    size_t start = r->list.n;
    char close = **at == '[' ? ']' : ')';
    const char *p = *at + 1;
    while (*(p = edn_space(e, p)) != close) {
        /* Elements are scalars; a list among them is something that nobody appended. */
        value_id v = *p == '[' || *p == '(' ? as_json(r, e, &p) : read_value(r, e, &p);
        vec_push(r->mem, &r->list, v);
    }
    value_id list = value_list(r->h, r->list.at + start, r->list.n - start);
    r->list.n = start;
    *at = p + 1;
    return list;
}

static value_id read_value(edn_reader *r, edn *e, const char **at)
{
    const char *p = *at;
    if (*p == '[' || *p == '(') return read_list(r, e, at);
    if (*p == '{' || (*p == '#' && p[1] == '{')) return as_json(r, e, at);
    edn_span t = {p, *at = edn_skip(e, p)};
    if (edn_is_number(p)) return read_number(r, t);
    if (*p == '"') {
        const char *s = decoded(r, p);
        return value_str(r->h, s, r->text.n);
    }
    if (edn_is(t, "nil")) return VALUE_NULL;
    if (edn_is(t, "true")) return value_bool(r->h, true);
    if (edn_is(t, "false")) return value_bool(r->h, false);
    return value_str(r->h, t.at, (size_t)(t.end - t.at));
}

static bool is_collection(const char *p)
{
    return *p == '[' || *p == '(' || *p == '{' || (*p == '#' && p[1] == '{');
}

static key_id read_key(edn_reader *r, edn *e, const char **at)
{
    const char *p = *at;
    edn_span t = {p, *at = edn_skip(e, p)}, digits;
    int64_t i;
    uint64_t u;
    if (edn_is_number(p)) {
        if (edn_int(t, &i)) return key_int(r->h, i);
        if (integer_text(t, &digits)) {
            if (unsigned_of(digits, &u)) return key_uint(r->h, u);
            t = digits;
        }
    } else if (*p == '"') {
        const char *s = decoded(r, p);
        return key_str(r->h, s, r->text.n);
    }
    return key_str(r->h, t.at, (size_t)(t.end - t.at));
}

static label read_label(edn_reader *r, edn *e, const char *p)
{
    edn_span t = {p, edn_skip(e, p)};
    int64_t i;
    if (edn_int(t, &i)) return label_int(r->h, i);
    if (*p == '"') {
        const char *s = decoded(r, p);
        return label_str(r->h, s, r->text.n);
    }
    return label_str(r->h, t.at, (size_t)(t.end - t.at));
}

/* --- micro-operations ---------------------------------------------------------------------- */

/* CHECK: an invocation, nothing is kept; KNOWN: results count; BLIND: reads saw nobody knows
   what. */
enum ops_mode { CHECK, KNOWN, BLIND };

static bool starts_with(const char *p, const char *word)
{
    while (*word && *p == *word) p++, word++;
    return !*word;
}

/* Up to 18 digits, so that nothing overflows; returns p if there is no such number. */
static inline const char *plain_number(const char *p, int64_t *out)
{
    const char *start = p;
    int64_t v = 0;
    while (edn_digit(*p) && p - start < 18) v = v * 10 + (*p++ - '0');
    *out = v;
    return edn_digit(*p) ? start : p;
}

/* [:r 12 nil] [:r 12 [1 2 3]] [:w 12 7] [:append 12 7] with single spaces, which is what Jepsen
   prints and nearly all that is ever read.  For anything else returns NULL and has added no
   operation. */
static const char *plain_op(edn_reader *r, const char *p, enum ops_mode mode)
{
    unsigned kind;
    int64_t key, v;
    value_id value = VALUE_NULL;
    if (p[1] != ':') return NULL;
    if (p[2] == 'r' && p[3] == ' ') {
        kind = OP_READ;
        p += 4;
    } else if (p[2] == 'w' && p[3] == ' ') {
        kind = OP_WRITE;
        p += 4;
    } else if (starts_with(p + 2, "append ")) {
        kind = OP_APPEND;
        p += 9;
    } else {
        return NULL;
    }
    const char *q = plain_number(p, &key);
    if (q == p || *q++ != ' ') return NULL;
    p = q;
    q = plain_number(p, &v);
    if (q > p) {
        if (*q != ']') return NULL;
        if (mode == KNOWN || (mode == BLIND && kind != OP_READ)) value = value_int(r->h, v);
    } else if (kind != OP_READ) {
        return NULL;
    } else if (starts_with(p, "nil]")) {
        q += 3;
    } else if (*p == '[') {
        size_t start = r->list.n;
        for (p++; (q = plain_number(p, &v)) > p; p = q) {
            value_id element = mode == KNOWN ? value_int(r->h, v) : 0;
            vec_push(r->mem, &r->list, element);
            if (*q != ' ') break;
            q++;
        }
        size_t n = r->list.n - start;
        r->list.n = start;
        if (*q != ']' || q[1] != ']') return NULL;
        if (mode == KNOWN) value = value_list(r->h, r->list.at + start, n);
        q++;
    } else {
        return NULL;
    }
    if (mode != CHECK) {
        if (mode == BLIND && kind == OP_READ) value = VALUE_UNKNOWN;
        key_id k = key_int(r->h, key);
        history_op(r->h, kind, k, value);
    }
    return q + 1;
}

static unsigned read_op_name(edn *e, const char *p, const char *end)
{
    edn_span t = {p, end}, name;
    if (edn_name(t, &name)) {
        if (edn_is(name, "r")) return OP_READ;
        if (edn_is(name, "w")) return OP_WRITE;
        if (edn_is(name, "append")) return OP_APPEND;
    }
    edn_fail(e, p, "unknown micro-operation %.*s: expected :r, :w or :append",
             end - p > 60 ? 60 : (int)(end - p), p);
}

/* Any micro-operation; p stands on its first byte. */
static const char *read_op(edn_reader *r, edn *e, const char *p, enum ops_mode mode)
{
    const char *start = p = edn_untag(e, p);
    if (*p != '[' && *p != '(') edn_fail(e, p, "expected a micro-operation such as [:r 1 nil]");
    char close = *p == '[' ? ']' : ')';
    p = edn_space(e, p + 1);
    if (*p == close) edn_fail(e, start, "empty micro-operation");
    const char *name = p;
    p = edn_skip(e, p);
    unsigned kind = read_op_name(e, name, p);
    p = edn_space(e, p);
    if (*p == close) edn_fail(e, p, "micro-operation without a key");
    if (is_collection(p)) edn_fail(e, p, "a key must be a number, keyword, string or symbol");
    key_id key = 0;
    if (mode == CHECK)
        p = edn_skip(e, p);
    else
        key = read_key(r, e, &p);
    p = edn_space(e, p);
    value_id value = VALUE_UNKNOWN;
    const char *at = p;
    if (kind != OP_READ && (*p == '[' || *p == '('))
        edn_fail(e, p, "a list cannot be written, only single values");
    if (*p != close) {
        if (mode == CHECK || (mode == BLIND && kind == OP_READ)) {
            p = edn_skip(e, p);
            if (kind != OP_READ && edn_is((edn_span){at, p}, "nil")) value = VALUE_NULL;
        } else {
            value = read_value(r, e, &p);
        }
        p = edn_space(e, p);
    } else if (kind != OP_READ) {
        edn_fail(e, p, "micro-operation without a value");
    }
    if (kind != OP_READ && value == VALUE_NULL)
        edn_fail(e, at, "nil cannot be written: it stands for a missing value");
    if (*p != close) edn_fail(e, p, "micro-operation of more than three elements");
    if (mode != CHECK) history_op(r->h, kind, key, value);
    return p + 1;
}

/* The value of a transaction event; nil is none. */
static void read_ops(edn_reader *r, edn *e, const char *value, enum ops_mode mode)
{
    const char *p = edn_untag(e, value);
    if (starts_with(p, "nil") && edn_token(p) == p + 3) return;
    if (*p != '[' && *p != '(') edn_fail(e, p, "expected a vector of micro-operations");
    char close = *p++ == '[' ? ']' : ')';
    while (*(p = edn_space(e, p)) != close) {
        const char *after = *p == '[' ? plain_op(r, p, mode) : NULL;
        p = after ? after : read_op(r, e, p, mode);
    }
}

/* --- processes and what they have open ----------------------------------------------------- */

static process *find_process(edn_reader *r, label name)
{
    uint32_t *known = id_map_at(r->mem, &r->process_of, name);
    if (*known != MAP_NONE) return &r->processes.at[*known];
    if (r->processes.n >= UINT32_MAX / 4)
        guard_fail(r->s->guard, GUARD_UNSUPPORTED, "more than 2^30 processes");
    process fresh = {.name = name};
    vec_push(r->mem, &r->processes, fresh);
    *known = (uint32_t)r->processes.n - 1;
    return &r->processes.at[*known];
}

static void put_aside(edn_reader *r, const event *v, process *owner)
{
    if (!r->free_pending) {
        pending fresh = {0};
        vec_push(r->mem, &r->pendings, fresh);
        r->free_pending = (uint32_t)r->pendings.n;
    }
    uint32_t index = r->free_pending;
    pending *p = &r->pendings.at[index - 1];
    r->free_pending = p->next;
    size_t n = (size_t)(v->map.end - v->map.at);
    p->text.n = 0;
    vec_reserve(r->mem, &p->text, n + 1);
    memcpy(p->text.at, v->map.at, n);
    p->text.at[n] = 0;
    p->text.n = n;
    p->value_at = v->field[VALUE].at ? (size_t)(v->field[VALUE].at - v->map.at) : 0;
    p->has_others = r->others.n > 0;
    p->number = v->number;
    p->has_time = v->has_time;
    p->time = v->time;
    p->process = owner->name;
    p->prev = r->last_pending;
    p->next = 0;
    *(p->prev ? &r->pendings.at[p->prev - 1].next : &r->first_pending) = index;
    r->last_pending = index;
    owner->open = index;
}

static void release(edn_reader *r, process *owner)
{
    pending *p = &r->pendings.at[owner->open - 1];
    *(p->prev ? &r->pendings.at[p->prev - 1].next : &r->first_pending) = p->next;
    *(p->next ? &r->pendings.at[p->next - 1].prev : &r->last_pending) = p->prev;
    if (p->text.cap > KEEP_TEXT) vec_free(r->mem, &p->text);
    p->next = r->free_pending;
    r->free_pending = owner->open;
    owner->open = 0;
}

/* --- events -------------------------------------------------------------------------------- */

/* The name that a key spells: a keyword, a symbol or a string may spell the same one, and all of
   them are written as one keyword, so that :index and index are the same field twice. */
static edn_span key_name(edn_reader *r, edn_span key)
{
    edn_span name;
    if (edn_name(key, &name)) return name;
    if (*key.at != '"') return key;
    r->text.n = 0;
    edn_string(key.at, &r->text);
    return (edn_span){r->text.at, r->text.at + r->text.n};
}

static enum field field_named(edn_reader *r, edn_span key)
{
    edn_span name = key_name(r, key);
    switch (name.end - name.at) {
    case 1: return edn_is(name, "f") ? F : FIELDS;
    case 2: return edn_is(name, "ts") ? TS : FIELDS;
    case 4: return edn_is(name, "type") ? TYPE : edn_is(name, "time") ? TIME : FIELDS;
    case 5: return edn_is(name, "value") ? VALUE : edn_is(name, "index") ? INDEX : FIELDS;
    case 7: return edn_is(name, "process") ? PROCESS : FIELDS;
    default: return FIELDS;
    }
}

/* Finds the fields of the event whose brace is at p; NULL if the text ends first.  Keeps nothing
   but pointers into it, so that the unit can be started again. */
static const char *scan_event(edn_reader *r, edn *e, const char *p, event *v)
{
    memset(v, 0, sizeof *v);
    r->others.n = 0;
    v->map.at = p++;
    for (;;) {
        other_field o;
        if (!(p = edn_space(e, p))) return NULL;
        if (*p == '}') break;
        if (*p == ']' || *p == ')') edn_fail(e, p, "expected '}', found '%c'", *p);
        o.key.at = p;
        if (!(o.key.end = edn_skip(e, p))) return NULL;
        if (!(p = edn_space(e, o.key.end))) return NULL;
        if (*p == '}') edn_fail(e, o.key.at, "map key without a value");
        o.value.at = p;
        if (!(p = o.value.end = edn_skip(e, p))) return NULL;
        enum field f = field_named(r, o.key);
        if (f == FIELDS) {
            vec_push(r->mem, &r->others, o);
            continue;
        }
        if (v->field[f].at)
            edn_fail(e, o.key.at, "%.*s occurs twice in one event", (int)(o.key.end - o.key.at),
                     o.key.at);
        v->field[f] = o.value;
    }
    return v->map.end = p + 1;
}

static bool field_name(edn *e, const event *v, enum field f, edn_span *name)
{
    edn_span t = v->field[f];
    if (!t.at) return false;
    t.at = edn_untag(e, t.at);
    return edn_name(t, name);
}

static void read_type(edn *e, event *v)
{
    edn_span t = v->field[TYPE], name;
    if (!t.at) edn_fail(e, v->map.at, "event without :type");
    if (!field_name(e, v, TYPE, &name))
        edn_fail(e, t.at, "expected :invoke, :ok, :fail or :info as :type");
    else if (edn_is(name, "invoke"))
        v->type = INVOKE;
    else if (edn_is(name, "ok"))
        v->type = OK;
    else if (edn_is(name, "fail"))
        v->type = FAIL;
    else if (edn_is(name, "info"))
        v->type = INFO;
    else
        edn_fail(e, t.at, "unknown :type %.*s: expected :invoke, :ok, :fail or :info",
                 t.end - t.at > 60 ? 60 : (int)(t.end - t.at), t.at);
}

static bool is_nil(edn_span t)
{
    return !t.at || edn_is(t, "nil");
}

/* :nemesis, or in JSON "nemesis". */
static bool is_nemesis(const event *v)
{
    edn_span name;
    return v->field[PROCESS].at && edn_name(v->field[PROCESS], &name) && edn_is(name, "nemesis") &&
           (*v->field[PROCESS].at == ':' || v->json);
}

/* Long fork calls its transactions :read and :write; what they are shows their value. */
static bool has_micro_operations(edn *e, const event *v)
{
    const char *p = v->field[VALUE].at;
    edn_span name;
    if (!p || (*p != '[' && *p != '(')) return false;
    p = edn_space(e, p + 1);
    if (*p != '[' && *p != '(') return false;
    p = edn_space(e, p + 1);
    return edn_name((edn_span){p, edn_skip(e, p)}, &name) &&
           (edn_is(name, "r") || edn_is(name, "w") || edn_is(name, "append"));
}

static bool is_transaction(edn *e, const event *v)
{
    edn_span name;
    if (is_nemesis(v)) return false;
    if (is_nil(v->field[F]) || !field_name(e, v, F, &name)) return is_nil(v->field[F]);
    if (edn_is(name, "txn")) return true;
    return (edn_is(name, "read") || edn_is(name, "write")) && has_micro_operations(e, v);
}

/* --- fields that are only carried along ------------------------------------------------------ */

static void read_others(edn_reader *r, edn *e)
{
    for (size_t i = 0; i < r->others.n; i++) {
        const other_field *o = &r->others.at[i];
        const char *name = o->key.at + (*o->key.at == ':');
        r->text.n = r->json.n = 0;
        strbuf_str(&r->text, "edn-");
        if (*name == '"')
            edn_string(name, &r->text);
        else
            strbuf_add(&r->text, name, (size_t)(o->key.end - name));
        edn_json(e, o->value.at, &r->json);
        name = strbuf_cstr(&r->text);
        size_t prefix = edn_is_escaped((edn_span){name + 4, name + r->text.n}) ? 0 : 4;
        history_extra(r->h, name + prefix, r->text.n - prefix, r->json.at, r->json.n);
    }
}

/* Fields of the invocation that the completion, whose own were just read, does not repeat. */
static void read_invoked_others(edn_reader *r, const pending *p)
{
    edn e;
    event v;
    size_t n = r->others.n, kept = 0;
    r->completed.n = 0;
    for (size_t i = 0; i < n; i++) vec_push(r->mem, &r->completed, r->others.at[i]);
    edn_copy(&e, r->s, (edn_span){p->text.at, p->text.at + p->text.n});
    scan_event(r, &e, p->text.at, &v);
    for (size_t i = 0; i < r->others.n; i++) {
        edn_span key = r->others.at[i].key;
        size_t len = (size_t)(key.end - key.at);
        bool known = false;
        for (size_t j = 0; j < n && !known; j++)
            known = (size_t)(r->completed.at[j].key.end - r->completed.at[j].key.at) == len &&
                    !memcmp(r->completed.at[j].key.at, key.at, len);
        if (!known) r->others.at[kept++] = r->others.at[i];
    }
    r->others.n = kept;
    read_others(r, &e);
}

/* A :time or :index that is no integer is of no use to us, but still the user's. */
static void keep_strange(edn_reader *r, edn_span value, const char *key)
{
    if (is_nil(value)) return;
    other_field o = {{key, key + strlen(key) - 1}, value};
    vec_push(r->mem, &r->others, o);
}

static void read_times(edn_reader *r, const pending *p, const event *v)
{
    bool begun = p && p->has_time, ended = v && v->has_time;
    if (!(begun && p->time > 0) && !(ended && v->time > 0)) return;
    r->json.n = 0;
    strbuf_char(&r->json, '[');
    if (begun)
        strbuf_i64(&r->json, p->time);
    else
        strbuf_str(&r->json, "null");
    strbuf_char(&r->json, ',');
    if (ended)
        strbuf_i64(&r->json, v->time);
    else
        strbuf_str(&r->json, "null");
    strbuf_char(&r->json, ']');
    history_extra(r->h, "time", 4, r->json.at, r->json.n);
}

/* dbcdc-runner: {:rts start :cts commit}, where a transaction that wrote nothing has no :cts.
   Anything else under that name is an unknown field. */
static void read_ts(edn_reader *r, edn *e, const event *v)
{
    edn_span t = v->field[TS];
    int64_t start = 0, commit = 0;
    bool has_start = false, has_commit = false, strange = false;
    if (!t.at) return;
    const char *p = edn_untag(e, t.at);
    if (*p != '{') strange = true;
    for (p++; !strange && *(p = edn_space(e, p)) != '}';) {
        edn_span key = {p, edn_skip(e, p)}, name;
        p = edn_space(e, key.end);
        edn_span value = {p, edn_skip(e, p)};
        p = value.end;
        if (!edn_name(key, &name))
            strange = true;
        else if (edn_is(name, "rts"))
            has_start = edn_int(value, &start), strange = !has_start && !is_nil(value);
        else if (edn_is(name, "cts"))
            has_commit = edn_int(value, &commit), strange = !has_commit && !is_nil(value);
        else
            strange = true;
    }
    if (strange) {
        r->json.n = 0;
        edn_json(e, t.at, &r->json);
        history_extra(r->h, "ts", 2, r->json.at, r->json.n);
        return;
    }
    if (has_start) history_time(r->h, TXN_HAS_START_TS, start);
    if (has_commit || has_start) history_time(r->h, TXN_HAS_COMMIT_TS, has_commit ? commit : start);
}

static void mark_member(edn_reader *r, edn *e, const char *name, edn_span value)
{
    if (!value.at) return;
    strbuf_printf(&r->json, ",\"%s\":", name);
    edn_json(e, value.at, &r->json);
}

/* Counts an event of a client that is no transaction: bank, register, set and counter tests have
   them, and what is not looked at must be told. */
static void count_skipped(edn_reader *r, edn *e, const event *v)
{
    edn_span t = v->field[F], type = v->field[TYPE];
    if (is_nil(t) || !type.at) return;
    t.at = edn_untag(e, t.at);
    r->text.n = 0;
    if (*t.at == '"')
        edn_string(t.at, &r->text);
    else
        strbuf_add(&r->text, t.at, (size_t)(t.end - t.at));
    const char *name = strbuf_cstr(&r->text);
    size_t colon = *name == ':' && r->text.n > 1;
    value_id kind = value_str(r->h, name + colon, r->text.n - colon);
    uint32_t *known = id_map_at(r->mem, &r->skipped_of, kind);
    if (*known == MAP_NONE) {
        skipped_kind fresh = {.name = kind};
        vec_push(r->mem, &r->skipped, fresh);
        *known = (uint32_t)r->skipped.n - 1;
    }
    skipped_kind *k = &r->skipped.at[*known];
    type.at += *type.at == '"';
    if (starts_with(type.at + (*type.at == ':'), "invoke"))
        k->invoked++;
    else
        k->completed++;
}

/* A fault or another event that is no transaction: all its fields, and "at" on the clock of begin
   and end, the number of the transaction event before it.  A mark that our writer turned into an
   event (:f :mark, the object as :value) is itself again. */
static void read_mark(edn_reader *r, edn *e, const event *v)
{
    edn_span name;
    bool nemesis = is_nemesis(v);
    r->json.n = 0;
    if (nemesis && field_name(e, v, F, &name) && edn_is(name, "mark") && v->field[VALUE].at &&
        starts_with(v->field[VALUE].at, v->json ? "{\"mark\" " : "{:mark ")) {
        edn_json(e, v->field[VALUE].at, &r->json);
        history_mark(r->h, r->json.at, r->json.n);
        event inner;
        if (starts_with(strbuf_cstr(&r->json), "{\"mark\":\"event\"") &&
            scan_event(r, e, v->field[VALUE].at, &inner))
            count_skipped(r, e, &inner);
        return;
    }
    if (!nemesis) count_skipped(r, e, v);
    strbuf_str(&r->json, nemesis ? "{\"mark\":\"nemesis\",\"at\":" : "{\"mark\":\"event\",\"at\":");
    strbuf_i64(&r->json, r->last_number);
    mark_member(r, e, "type", v->field[TYPE]);
    if (!nemesis) mark_member(r, e, "process", v->field[PROCESS]);
    mark_member(r, e, "f", v->field[F]);
    if (v->has_time) mark_member(r, e, "time", v->field[TIME]);
    mark_member(r, e, "value", v->field[VALUE]);
    mark_member(r, e, "ts", v->field[TS]);
    for (size_t i = 0; i < r->others.n; i++) {
        strbuf_char(&r->json, ',');
        edn_json_key(e, r->others.at[i].key.at, &r->json);
        strbuf_char(&r->json, ':');
        edn_json(e, r->others.at[i].value.at, &r->json);
    }
    strbuf_char(&r->json, '}');
    history_mark(r->h, r->json.at, r->json.n);
}

/* --- transactions -------------------------------------------------------------------------- */

/* The operations of an invocation that has no completion, or one without :value.  What it read
   is not known. */
static void read_pending_ops(edn_reader *r, const pending *p)
{
    edn e;
    if (!p->value_at) return;
    edn_copy(&e, r->s, (edn_span){p->text.at, p->text.at + p->text.n});
    read_ops(r, &e, p->text.at + p->value_at, BLIND);
}

static label lone_session(edn_reader *r, int64_t number)
{
    r->text.n = 0;
    strbuf_str(&r->text, "event ");
    strbuf_i64(&r->text, number);
    return label_str(r->h, r->text.at, r->text.n);
}

static void read_completion(edn_reader *r, edn *e, const event *v, process *owner)
{
    static const enum txn_status status[] = {
        [OK] = TXN_COMMITTED, [FAIL] = TXN_ABORTED, [INFO] = TXN_UNKNOWN};
    const pending *p = owner->open ? &r->pendings.at[owner->open - 1] : NULL;
    bool nameless = is_nil(v->field[PROCESS]);
    history *h = r->h;
    history_begin(h);
    history_line(h, source_line(r->s, (size_t)(v->map.at - r->s->at)));
    r->nameless += nameless;
    history_session(h, nameless && !p ? lone_session(r, v->number) : owner->name);
    history_label(h, (label)v->number);
    if (p) {
        history_time(h, TXN_HAS_BEGIN, p->number);
        history_time(h, TXN_HAS_END, v->number);
    }
    if (!is_nil(v->field[VALUE]))
        read_ops(r, e, v->field[VALUE].at, v->type == OK ? KNOWN : BLIND);
    else if (p)
        read_pending_ops(r, p);
    read_times(r, p, v);
    read_ts(r, e, v);
    read_others(r, e);
    if (p && p->has_others) read_invoked_others(r, p);
    history_end(h, status[v->type]);
    if (p) release(r, owner);
}

/* The invocations still open at the end of the file, in their order. */
static void read_unfinished(edn_reader *r)
{
    while (r->first_pending) {
        const pending *p = &r->pendings.at[r->first_pending - 1];
        edn e;
        event v;
        edn_copy(&e, r->s, (edn_span){p->text.at, p->text.at + p->text.n});
        scan_event(r, &e, p->text.at, &v);
        history_begin(r->h);
        r->nameless += is_nil(v.field[PROCESS]);
        history_session(r->h, p->process);
        history_label(r->h, (label)p->number);
        history_time(r->h, TXN_HAS_BEGIN, p->number);
        read_pending_ops(r, p);
        read_times(r, p, NULL);
        read_others(r, &e);
        history_end(r->h, TXN_UNKNOWN);
        release(r, find_process(r, p->process));
    }
}

static void read_event(edn_reader *r, edn *e, event *v)
{
    int64_t index;
    read_type(e, v);
    v->has_time = edn_int(v->field[TIME], &v->time);
    if (!v->has_time) keep_strange(r, v->field[TIME], ":time ");
    if (!edn_int(v->field[INDEX], &index)) keep_strange(r, v->field[INDEX], ":index ");
    if (!is_transaction(e, v)) {
        read_mark(r, e, v);
        return;
    }
    bool indexed = edn_int(v->field[INDEX], &index) && index < NUMBER_LIMIT;
    v->number = indexed && index > r->last_number ? index : r->last_number + 1;
    r->last_number = v->number;
    if (v->has_time && v->time > 0) {
        r->backwards += v->time < r->last_time;
        if (v->time > r->last_time) r->last_time = v->time;
    }
    const char *who = is_nil(v->field[PROCESS]) ? NULL : edn_untag(e, v->field[PROCESS].at);
    process *owner = find_process(r, who ? read_label(r, e, who) : label_str(r->h, "nil", 3));
    if (v->type != INVOKE) {
        read_completion(r, e, v, owner);
    } else {
        if (owner->open)
            edn_fail(e, v->map.at,
                     who ? "process invokes while its last operation is still open"
                         : "events without :process overlap and cannot be paired");
        if (v->field[VALUE].at) read_ops(r, e, v->field[VALUE].at, CHECK);
        put_aside(r, v, owner);
    }
}

/* --- the file ------------------------------------------------------------------------------ */

/* More text for the unit at s->pos.  Twice as much at least, or a source that gives little at a
   time would make us start a large unit again and again. */
static void more(edn_reader *r, const char *what)
{
    source *s = r->s;
    size_t had = s->n - s->pos;
    if (s->eof) source_fail(s, s->n, "the input ends inside %s", what);
    do {
        if (!source_more(s)) break;
    } while (s->n - s->pos < 2 * had);
}

static void read_file(edn_reader *r)
{
    source *s = r->s;
    edn *e = &r->e;
    char close = 0;      /* of the vector or list around all events, when inside */
    bool tagged = false; /* a tag stood before: a form must follow */
    if (source_need(s, 3) && !memcmp(s->at + s->pos, "\xef\xbb\xbf", 3)) s->pos += 3;
    for (;;) {
        edn_window(e, s);
        const char *p = edn_space(e, s->at + s->pos);
        if (!p && s->eof && !e->open && !tagged && !close) return;
        if (!p) {
            more(r, e->open  ? "a discarded form"
                    : tagged ? "a tagged form"
                             : "the vector of events");
            continue;
        }
        s->pos = (size_t)(p - s->at);
        if (*p == '{') {
            event v;
            const char *after = scan_event(r, e, p, &v);
            if (!after) {
                more(r, "an event");
                continue;
            }
            edn_check_utf8(e, v.map);
            read_event(r, e, &v);
            s->pos = (size_t)(after - s->at);
            tagged = false;
        } else if (!close && (*p == '[' || *p == '(')) {
            close = *p == '[' ? ']' : ')';
            s->pos++;
            tagged = false;
        } else if (close && *p == close && !tagged) {
            close = 0;
            s->pos++;
        } else if (*p == '#' && edn_class_of(p[1]) == EDN_TOKEN && p[1] != '#') {
            const char *after = edn_token(p + 1);
            if (after == e->end) {
                more(r, "a tag");
                continue;
            }
            s->pos = (size_t)(after - s->at);
            tagged = true;
        } else {
            edn_fail(e, p, "expected an event, a map such as {:type :ok ...}");
        }
    }
}

/* Header extras stand before all others; the JSON of this one is in r->json. */
static void header_extra(edn_reader *r, const char *name)
{
    history *h = r->h;
    history_extra(h, name, strlen(name), r->json.at, r->json.n);
    extra header = h->extras.at[h->extras.n - 1];
    memmove(h->extras.at + 1, h->extras.at, (h->extras.n - 1) * sizeof *h->extras.at);
    h->extras.at[0] = header;
}

static void header_count(edn_reader *r, const char *name, uint64_t count)
{
    if (!count) return;
    r->json.n = 0;
    strbuf_u64(&r->json, count);
    header_extra(r, name);
}

static void header_skipped(edn_reader *r)
{
    if (!r->skipped.n) return;
    r->json.n = 0;
    for (size_t i = 0; i < r->skipped.n; i++) {
        const skipped_kind *k = &r->skipped.at[i];
        atom name = value_atom(r->h, k->name);
        strbuf_char(&r->json, i ? ',' : '{');
        strbuf_json(&r->json, atom_bytes(r->h, name), name.len);
        strbuf_char(&r->json, ':');
        strbuf_u64(&r->json, k->invoked > k->completed ? k->invoked : k->completed);
    }
    strbuf_char(&r->json, '}');
    header_extra(r, NOTE_SKIPPED);
}

static void open_reader(edn_reader *r, history *h, source *s)
{
    *r = (edn_reader){.h = h, .s = s, .mem = s->mem, .last_number = -1};
    strbuf_init(&r->text, r->mem);
    strbuf_init(&r->json, r->mem);
    vec_reserve(r->mem, &r->list, 64); /* never NULL, so that an empty list is no special case */
}

static void close_reader(edn_reader *r)
{
    read_unfinished(r);
    if (r->skipped.n && jepsen_models_read(r->h, r->mem)) r->skipped.n = 0;
    header_count(r, "time_backwards", r->backwards);
    header_count(r, NOTE_WITHOUT_PROCESS, r->nameless);
    header_skipped(r);
    for (size_t i = 0; i < r->pendings.n; i++) vec_free(r->mem, &r->pendings.at[i].text);
    vec_free(r->mem, &r->pendings);
    vec_free(r->mem, &r->processes);
    vec_free(r->mem, &r->others);
    vec_free(r->mem, &r->completed);
    vec_free(r->mem, &r->list);
    id_map_free(r->mem, &r->process_of);
    vec_free(r->mem, &r->skipped);
    id_map_free(r->mem, &r->skipped_of);
    strbuf_free(&r->text);
    strbuf_free(&r->json);
}

void edn_la_read(history *h, source *s)
{
    edn_reader r;
    open_reader(&r, h, s);
    read_file(&r);
    close_reader(&r);
}

/* The two kinds differ in their micro-operations only, and either reader takes both. */
void edn_rw_read(history *h, source *s)
{
    edn_la_read(h, s);
}

/* --- elle-cli JSON --------------------------------------------------------------------------- */

/* JSON is EDN in other punctuation: commas are white space, strings serve as keywords.  What is
   left are the colons after names, and null.  So an event that has been checked as JSON is made
   EDN where it stands, byte for byte, and errors found later still have their right place. */
static void make_edn(char *p, const char *end)
{
    bool quoted = false;
    for (; p < end; p++) {
        if (*p == '"')
            quoted = !quoted;
        else if (quoted)
            p += *p == '\\';
        else if (*p == ':')
            *p = ' ';
        else if (*p == 'n')
            memcpy(p, "nil ", 4);
    }
}

static void read_json_event(edn_reader *r, json *j)
{
    event v;
    if (*j->p != '{') json_expected(j, "an event, an object such as {\"type\":\"ok\",...}");
    json_whole(j);
    json_text t = json_skip(j);
    make_edn(r->s->at + (t.at - r->s->at), t.at + t.n);
    edn_window(&r->e, r->s);
    scan_event(r, &r->e, t.at, &v);
    v.json = true;
    read_event(r, &r->e, &v);
}

/* One array of events, as elle-cli has it, or events one after another. */
void elle_json_read(history *h, source *s)
{
    edn_reader r;
    json j;
    open_reader(&r, h, s);
    json_stream(&j, s);
    bool some = json_peek(&j), array = some && *j.p == '[';
    if (array) {
        j.p++;
        if (json_peek(&j) && *j.p == ']') some = false, j.p++;
    }
    while (some) {
        read_json_event(&r, &j);
        some = json_peek(&j);
        if (array) {
            some = json_more(&j, ']');
            json_peek(&j);
        }
    }
    if (json_peek(&j)) json_fail(&j, j.p, "there is text after the array of events");
    strbuf_free(&j.scratch);
    close_reader(&r);
}
