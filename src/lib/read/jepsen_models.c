/*
 * jepsen_models.c - see jepsen_models.h.
 *
 * The reader of EDN has made a mark of every event, as JSON; so all of them can be looked at before
 * anything is decided.  First every event is parsed (load_events), then the model is chosen by the
 * operations that occur and by what reads returned (choose_model), then invocations and completions
 * are paired and each pair becomes a transaction, in the order of completions, with the numbers of
 * its events as times.
 *
 * The texts were written by edn_json and are well formed.
 */
#include "read/jepsen_models.h"

#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "history/header_notes.h"

#define EVENT_MARK "{\"mark\":\"event\""

typedef struct text_part {
    const char *at; /* NULL: not there */
    size_t n;
} text_part;

typedef struct jepsen_event {
    uint32_t mark; /* index of h->marks */
    char type;     /* i, o, f, n: invoke, ok, fail, info */
    text_part f, process, value;
    bool paired;
} jepsen_event;

enum jepsen_model { MODEL_NONE, MODEL_REGISTER, MODEL_MUTEX, MODEL_SET, MODEL_COUNTER, MODEL_BANK };

typedef struct jepsen {
    history *h;
    mem *m;
    VEC(jepsen_event) events;
    enum jepsen_model model;
    bool tuples; /* registers: values are [key value] */
} jepsen;

/* --- JSON that is known to be well formed ----------------------------------------------------- */

static const char *skip_space(const char *p)
{
    while (*p == ' ' || *p == ',' || *p == ':') p++;
    return p;
}

/* What follows the value at p. */
static const char *skip_value(const char *p)
{
    int depth = 0;
    do {
        if (*p == '"') {
            for (p++; *p && *p != '"'; p++)
                if (*p == '\\' && p[1]) p++;
        } else if (*p == '[' || *p == '{') {
            depth++;
        } else if (*p == ']' || *p == '}') {
            depth--;
        }
        if (*p) p++;
        if (!depth && *p && !strchr(",:]} ", *p) && strchr("\"]}", p[-1])) break;
    } while (*p && (depth > 0 || !strchr(",:]} ", *p)));
    return p;
}

static text_part value_at(const char *p)
{
    const char *end = skip_value(p);
    return (text_part){p, (size_t)(end - p)};
}

static bool part_is(text_part t, const char *word)
{
    return t.at && t.n == strlen(word) && !memcmp(t.at, word, t.n);
}

static bool is_null(text_part t)
{
    return !t.at || part_is(t, "null");
}

static bool part_int(text_part t, int64_t *out)
{
    char *end;
    char digits[24];
    if (!t.at || !t.n || t.n >= sizeof digits) return false;
    memcpy(digits, t.at, t.n);
    digits[t.n] = 0;
    if (digits[0] != '-' && (digits[0] < '0' || digits[0] > '9')) return false;
    long long v = strtoll(digits, &end, 10);
    *out = v;
    return !*end && t.n <= 18; /* so it fits */
}

/* The i-th element of an array; false: there is none. */
static bool element_of(text_part list, size_t i, text_part *out)
{
    if (!list.at || *list.at != '[') return false;
    const char *p = skip_space(list.at + 1);
    for (;; i--) {
        if (*p == ']') return false;
        *out = value_at(p);
        if (!i) return true;
        p = skip_space(out->at + out->n);
    }
}

static bool has_elements(text_part list, size_t n)
{
    text_part x;
    return element_of(list, n - 1, &x) && !element_of(list, n, &x);
}

/* Without quotes; strings with escapes stay as they are. */
static text_part unquoted(text_part t)
{
    if (t.at && t.n >= 2 && *t.at == '"') t = (text_part){t.at + 1, t.n - 2};
    return t;
}

/* The same without the colon of a keyword. */
static text_part bare(text_part t)
{
    t = unquoted(t);
    if (t.at && t.n > 1 && *t.at == ':') t = (text_part){t.at + 1, t.n - 1};
    return t;
}

static void load_event(jepsen_event *v, const char *text)
{
    const char *p = text + 1;
    while (*(p = skip_space(p)) != '}' && *p) {
        text_part name = value_at(p);
        p = skip_space(name.at + name.n);
        text_part value = value_at(p);
        p = value.at + value.n;
        if (part_is(name, "\"type\"")) {
            text_part t = bare(value);
            v->type = part_is(t, "invoke") ? 'i'
                      : part_is(t, "ok")   ? 'o'
                      : part_is(t, "fail") ? 'f'
                                           : 'n';
        } else if (part_is(name, "\"f\"")) {
            v->f = bare(value);
        } else if (part_is(name, "\"process\"")) {
            v->process = value;
        } else if (part_is(name, "\"value\"")) {
            v->value = value;
        }
    }
}

static void load_events(jepsen *j)
{
    history *h = j->h;
    for (size_t i = 0; i < h->marks.n; i++) {
        atom a = value_atom(h, h->marks.at[i].text);
        const char *text = atom_bytes(h, a);
        if (a.len < sizeof EVENT_MARK || memcmp(text, EVENT_MARK, sizeof EVENT_MARK - 1)) continue;
        /* strings of the history are not ended by a zero */
        char *own = mem_get(j->m, (size_t)a.len + 1);
        memcpy(own, text, a.len);
        own[a.len] = 0;
        jepsen_event v = {.mark = (uint32_t)i};
        load_event(&v, own);
        vec_push(j->m, &j->events, v);
        guard_tick(j->m->guard);
    }
}

/* --- which model ------------------------------------------------------------------------------ */

enum {
    F_READ = 1,
    F_WRITE = 2,
    F_CAS = 4,
    F_ACQUIRE = 8,
    F_RELEASE = 16,
    F_ADD = 32,
    F_TRANSFER = 64,
    F_OTHER = 128
};

static unsigned kind_of(text_part f)
{
    static const struct {
        const char *name;
        unsigned kind;
    } kinds[] = {{"read", F_READ},        {"write", F_WRITE},     {"cas", F_CAS},
                 {"acquire", F_ACQUIRE},  {"release", F_RELEASE}, {"add", F_ADD},
                 {"transfer", F_TRANSFER}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (part_is(f, kinds[i].name)) return kinds[i].kind;
    return F_OTHER;
}

/* What completed reads returned: bits 1 lists, 2 numbers, 4 maps, 8 others. */
static unsigned read_shapes(const jepsen *j)
{
    unsigned shapes = 0;
    int64_t n;
    for (size_t i = 0; i < j->events.n; i++) {
        const jepsen_event *v = &j->events.at[i];
        if (v->type != 'o' || kind_of(v->f) != F_READ || is_null(v->value)) continue;
        shapes |= *v->value.at == '['      ? 1u
                  : part_int(v->value, &n) ? 2u
                  : *v->value.at == '{'    ? 4u
                                           : 8u;
    }
    return shapes;
}

static bool is_scalar(text_part t)
{
    return t.at && *t.at != '[' && *t.at != '{';
}

/* Are the values of a register [key value] (jepsen.independent)?  Otherwise none may be a list. */
static bool fits_register(jepsen *j)
{
    unsigned tuples = 0, plain = 0;
    text_part a, b;
    for (size_t i = 0; i < j->events.n; i++) {
        const jepsen_event *v = &j->events.at[i];
        unsigned kind = kind_of(v->f);
        if (is_null(v->value)) continue;
        bool two = has_elements(v->value, 2) && element_of(v->value, 0, &a) &&
                   element_of(v->value, 1, &b) && is_scalar(a);
        if (kind == F_CAS) {
            bool inner = two && has_elements(b, 2);
            if (!two || (!inner && !is_scalar(b))) return false;
            *(inner ? &tuples : &plain) += 1;
        } else if (two && is_scalar(b)) {
            tuples++;
        } else if (is_scalar(v->value)) {
            plain++;
        } else {
            return false;
        }
    }
    j->tuples = tuples > 0;
    return !tuples || !plain;
}

/* Elements of sets are keys. */
static bool fits_set(const jepsen *j)
{
    for (size_t i = 0; i < j->events.n; i++) {
        const jepsen_event *v = &j->events.at[i];
        text_part x;
        int64_t n;
        if (is_null(v->value)) continue;
        if (kind_of(v->f) == F_ADD) {
            if (!part_int(v->value, &n) && *v->value.at != '"') return false;
            continue;
        }
        if (*v->value.at != '[') return false;
        const char *p = skip_space(v->value.at + 1);
        for (; *p != ']' && *p; p = skip_space(x.at + x.n)) {
            x = value_at(p);
            if (!part_int(x, &n) && *x.at != '"') return false;
        }
    }
    return true;
}

static void choose_model(jepsen *j)
{
    unsigned kinds = 0, shapes = read_shapes(j);
    for (size_t i = 0; i < j->events.n; i++) {
        kinds |= kind_of(j->events.at[i].f);
        if (!j->events.at[i].type) kinds |= F_OTHER;
    }
    if (kinds & (F_WRITE | F_CAS) && !(kinds & ~(unsigned)(F_READ | F_WRITE | F_CAS)))
        j->model = fits_register(j) ? MODEL_REGISTER : MODEL_NONE;
    else if (kinds && !(kinds & ~(unsigned)(F_ACQUIRE | F_RELEASE)))
        j->model = MODEL_MUTEX;
    else if (kinds == (F_ADD | F_READ) && shapes == 1)
        j->model = fits_set(j) ? MODEL_SET : MODEL_NONE;
    else if (kinds == (F_ADD | F_READ) && shapes == 2)
        j->model = MODEL_COUNTER;
    else if (kinds == (F_TRANSFER | F_READ) && shapes == 4)
        j->model = MODEL_BANK;
}

/* --- transactions ----------------------------------------------------------------------------- */

static key_id key_of(jepsen *j, text_part t)
{
    int64_t n;
    if (part_int(t, &n)) return key_int(j->h, n);
    t = unquoted(t);
    return key_str(j->h, t.at, t.n);
}

static value_id value_of(jepsen *j, text_part t)
{
    int64_t n;
    if (is_null(t)) return VALUE_NULL;
    if (part_int(t, &n)) return value_int(j->h, n);
    if (part_is(t, "true") || part_is(t, "false")) return value_bool(j->h, *t.at == 't');
    t = unquoted(t);
    return value_str(j->h, t.at, t.n);
}

static void write_to(jepsen *j, key_id k, value_id v)
{
    if (v == VALUE_NULL)
        history_op(j->h, OP_DELETE, k, VALUE_NULL);
    else
        history_op(j->h, OP_WRITE, k, v);
}

/* known: what reads returned counts. */
static void register_ops(jepsen *j, const jepsen_event *v, text_part value, bool known)
{
    unsigned kind = kind_of(v->f);
    key_id k = 0;
    text_part t = value, old, new;
    bool keyed = true;
    if (j->tuples) {
        keyed = element_of(value, 0, &t);
        if (keyed) k = key_of(j, t);
        if (!element_of(value, 1, &t)) t = (text_part){NULL, 0};
    } else {
        k = key_str(j->h, "register", 8);
    }
    if (!keyed) return; /* an operation on nobody knows which key */
    if (kind == F_READ)
        history_op(j->h, OP_READ, k, known ? value_of(j, t) : VALUE_UNKNOWN);
    else if (kind == F_WRITE)
        write_to(j, k, value_of(j, t));
    else if (element_of(t, 0, &old) && element_of(t, 1, &new)) {
        history_op(j->h, OP_READ, k, value_of(j, old));
        write_to(j, k, value_of(j, new));
    }
}

static void mutex_ops(jepsen *j, const jepsen_event *v)
{
    key_id k = key_str(j->h, "mutex", 5);
    value_id free = value_str(j->h, "free", 4), held = value_str(j->h, "held", 4);
    bool acquires = kind_of(v->f) == F_ACQUIRE;
    history_op(j->h, OP_READ, k, acquires ? free : held);
    history_op(j->h, OP_WRITE, k, acquires ? held : free);
}

static void set_ops(jepsen *j, const jepsen_event *v, text_part value, bool known)
{
    history *h = j->h;
    value_id there = value_bool(h, true);
    VEC(key_id) row = {0};
    key_id *a, *b;
    if (is_null(value)) return;
    if (kind_of(v->f) == F_ADD) {
        key_id k = key_of(j, value);
        history_op(h, OP_WRITE, k, there);
        return;
    }
    if (!known) return;
    const char *p = skip_space(value.at + 1);
    while (*p != ']' && *p) {
        text_part x = value_at(p);
        key_id k = key_of(j, x);
        vec_push(j->m, &row, k);
        p = skip_space(x.at + x.n);
    }
    a = row.at;
    b = mem_array(j->m, key_id, row.n + 1);
#define ROW_BEFORE(x, y) (key_compare(h, key_atom(h, x), key_atom(h, y)) < 0)
    SORT_MERGE(key_id, a, b, row.n, ROW_BEFORE);
#undef ROW_BEFORE
    for (size_t i = 0; i < row.n; i++)
        if (!i || a[i] != a[i - 1]) history_row(h, a[i], there);
    history_range(h, OP_SCAN, (range){.done = true});
}

/* What the model of reads and writes cannot express is kept as it is (verdict/sums.c). */
static void kept_ops(jepsen *j, const jepsen_event *v, text_part value, bool known)
{
    history *h = j->h;
    strbuf b;
    bool read = kind_of(v->f) == F_READ;
    strbuf_init(&b, j->m);
    strbuf_json(&b, v->f.at, v->f.n);
    history_extra(h, "operation", 9, b.at, b.n);
    strbuf_free(&b);
    if (!is_null(value) && (known || !read)) history_extra(h, "argument", 8, value.at, value.n);
}

static label session_of(history *h, text_part process)
{
    int64_t n;
    text_part name = unquoted(process);
    return part_int(process, &n) ? label_int(h, n) : label_str(h, name.at, name.n);
}

static void write_transaction(jepsen *j, const jepsen_event *begun, const jepsen_event *ended,
                              size_t begin, size_t end)
{
    history *h = j->h;
    const jepsen_event *v = ended ? ended : begun;
    // cppcheck-suppress nullPointerRedundantCheck ; one of the two is always there
    text_part value = v->value, process = v->process;
    bool known = ended && ended->type == 'o';
    if (is_null(value) && ended && begun) value = begun->value;
    history_begin(h);
    history_session(h, session_of(h, process));
    history_label(h, label_int(h, (int64_t)(ended ? end : begin)));
    if (begun) history_time(h, TXN_HAS_BEGIN, (int64_t)begin);
    if (begun && ended) history_time(h, TXN_HAS_END, (int64_t)end);
    switch (j->model) {
    case MODEL_REGISTER: register_ops(j, v, value, known); break;
    case MODEL_MUTEX: mutex_ops(j, v); break;
    case MODEL_SET: set_ops(j, v, value, known); break;
    default: kept_ops(j, v, value, known); break;
    }
    history_end(h, known ? TXN_COMMITTED : ended && ended->type == 'f' ? TXN_ABORTED : TXN_UNKNOWN);
}

/* All events in their order; marks that stay are moved to where they stood. */
static void write_transactions(jepsen *j)
{
    history *h = j->h;
    id_map open = {0}; /* process -> its invocation */
    size_t next = 0, kept = 0;
    for (size_t i = 0; i < h->marks.n; i++) {
        if (next == j->events.n || j->events.at[next].mark != i) {
            h->marks.at[kept] = h->marks.at[i];
            h->marks.at[kept++].before = (txn_id)h->txns;
            continue;
        }
        jepsen_event *v = &j->events.at[next++];
        text_part name = v->process.at ? v->process : (text_part){"nil", 3};
        v->process = name;
        uint64_t who = session_of(h, name);
        uint32_t *at = id_map_at(j->m, &open, who);
        if (v->type == 'i') {
            *at = (uint32_t)(next - 1);
            continue;
        }
        jepsen_event *begun = *at == MAP_NONE ? NULL : &j->events.at[*at];
        if (begun) begun->paired = true;
        write_transaction(j, begun, v, begun ? *at : 0, next - 1);
        *at = MAP_NONE;
        guard_tick(j->m->guard);
    }
    for (size_t i = 0; i < j->events.n; i++)
        if (j->events.at[i].type == 'i' && !j->events.at[i].paired)
            write_transaction(j, &j->events.at[i], NULL, i, 0);
    h->marks.n = kept;
    id_map_free(j->m, &open);
}

/* Header extras stand before all others. */
static void write_model(history *h, const char *json)
{
    history_extra(h, "model", 5, json, strlen(json));
    h->extras.at[h->extras.n - 1].txn = NO_ID;
    extra header = h->extras.at[h->extras.n - 1];
    memmove(h->extras.at + 1, h->extras.at, (h->extras.n - 1) * sizeof *h->extras.at);
    h->extras.at[0] = header;
}

bool jepsen_models_read(history *h, mem *m)
{
    static const char *const names[] = {[MODEL_REGISTER] = "\"register\"",
                                        [MODEL_MUTEX] = "\"mutex\"",
                                        [MODEL_SET] = "\"set\"",
                                        [MODEL_COUNTER] = "\"counter\"",
                                        [MODEL_BANK] = "\"bank\""};
    jepsen j = {.h = h, .m = m};
    if (h->txns) return false;
    load_events(&j);
    choose_model(&j);
    if (j.model != MODEL_NONE) {
        /* What a register held at first is not in the file; a mutex is free, a set is empty. */
        if (j.model == MODEL_REGISTER) h->init_unknown = true;
        if (j.model == MODEL_MUTEX)
            history_init_entry(h, key_str(h, "mutex", 5), value_str(h, "free", 4));
        write_transactions(&j);
        write_model(h, names[j.model]);
    }
    vec_free(m, &j.events);
    return j.model != MODEL_NONE;
}
