/*
 * cut_off.c - see cut_off.h.
 *
 * A lost line may have deleted any key, so a read of an absent key becomes a read of unknown
 * result, and a scan, which also says what is absent, counts as failed. A lost line may also
 * have written any value, even one that a line in the file writes: that no value repeats among
 * the lines that are left says nothing about the lost ones. So a read of a value is kept only if
 * the recorder promised in the header that it writes no value of a key twice, and if the file
 * keeps that promise; then a read of a value that no line has written, and that is not the
 * initial one, is of a lost line and becomes unknown too. What else was lost makes a history
 * weaker, never wrong: its writes are missing with all that followed from them.
 */
#include "history/cut_off.h"

#include <string.h>

#include "base/map.h"
#include "history/header_notes.h"

/* --- end marks -------------------------------------------------------------------------------- */

static const char *past_space(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r')) p++;
    return p;
}

/* Past the string at p; NULL if it has no end. */
static const char *past_string(const char *p, const char *end)
{
    for (p++; p < end && *p != '"'; p++)
        if (*p == '\\' && p + 1 < end) p++;
    return p < end ? p + 1 : NULL;
}

/* Past the value at p, of any kind; NULL if it has no end. */
static const char *past_value(const char *p, const char *end)
{
    size_t depth = 0;
    do {
        if (p == end) return NULL;
        if (*p == '"') {
            if (!(p = past_string(p, end))) return NULL;
        } else if (*p == '[' || *p == '{') {
            depth++, p++;
        } else if (*p == ']' || *p == '}') {
            if (!depth) return NULL;
            depth--, p++;
        } else if (depth) {
            p++;
        } else {
            while (p < end && *p != ',' && *p != '}' && *p != ' ' && *p != '\t' && *p != '\r') p++;
        }
    } while (depth);
    return p;
}

static bool same_text(const char *at, const char *end, const char *text)
{
    size_t n = strlen(text);
    return (size_t)(end - at) == n && !memcmp(at, text, n);
}

static void read_lines(const char *at, const char *end, end_mark *out)
{
    uint64_t n = 0;
    if (at == end || end - at > 18) return;
    for (const char *p = at; p < end; p++) {
        if (*p < '0' || *p > '9') return;
        n = n * 10 + (uint64_t)(*p - '0');
    }
    *out = (end_mark){n, at, (size_t)(end - at)};
}

/* A reader has found the text to be JSON, or not yet: its last line may have been cut off. */
bool end_mark_read(const char *text, size_t n, end_mark *out)
{
    const char *end = text + n, *p = past_space(text, end);
    bool is_end = false;
    *out = (end_mark){NO_COUNT, NULL, 0};
    if (p == end || *p++ != '{') return false;
    for (;;) {
        const char *name = p = past_space(p, end);
        if (p == end || *p != '"' || !(p = past_string(p, end))) return false;
        const char *name_end = p;
        p = past_space(p, end);
        if (p == end || *p++ != ':') return false;
        const char *value = p = past_space(p, end);
        if (p == end || !(p = past_value(p, end))) return false;
        if (same_text(name, name_end, "\"mark\"")) is_end = same_text(value, p, "\"end\"");
        if (same_text(name, name_end, "\"lines\"")) read_lines(value, p, out);
        p = past_space(p, end);
        if (p == end) return false;
        if (*p == '}') return is_end && past_space(p + 1, end) == end;
        if (*p++ != ',') return false;
    }
}

static bool end_mark_at(const history *h, size_t i, end_mark *out)
{
    atom a = value_atom(h, h->marks.at[i].text);
    return end_mark_read(atom_bytes(h, a), a.len, out);
}

/* --- what is missing -------------------------------------------------------------------------- */

bool history_recorded(const history *h)
{
    return history_header_member(h, "recorder") != NULL;
}

bool history_cut_off(const history *h)
{
    end_mark e;
    if (!history_recorded(h)) return false;
    for (size_t i = h->marks.n; i && h->marks.at[i - 1].before == h->txns; i--)
        if (end_mark_at(h, i - 1, &e)) return false;
    return true;
}

/* The lines since the last end mark, or since the beginning: each counts those before itself.
   `next` is the first mark after that one. */
static uint64_t lines_since(const history *h, size_t next, size_t i)
{
    uint64_t before = next ? h->marks.at[next - 1].before : 0;
    return h->marks.at[i].before - before + (i - next) + (next == 0);
}

line_count history_count_lines(const history *h)
{
    line_count c = {0};
    size_t next = 0;
    end_mark e;
    if (!history_recorded(h)) return c;
    for (size_t i = 0; i < h->marks.n; i++) {
        if (!end_mark_at(h, i, &e)) continue;
        uint64_t there = lines_since(h, next, i);
        if (e.lines != NO_COUNT && e.lines > there) c.missing += e.lines - there;
        if (e.lines != NO_COUNT && e.lines < there) c.added += there - e.lines;
        next = i + 1;
    }
    if (next) c.added += h->marks.n - next + h->txns - h->marks.at[next - 1].before;
    return c;
}

bool history_incomplete(const history *h)
{
    return history_cut_off(h) || history_count_lines(h).missing;
}

void history_copy_end(history *part, const history *from)
{
    end_mark e;
    if (!history_recorded(from) || history_cut_off(from)) return;
    size_t i = from->marks.n;
    while (!end_mark_at(from, i - 1, &e)) i--;
    atom a = value_atom(from, from->marks.at[i - 1].text);
    history_mark(part, atom_bytes(from, a), a.len);
}

void history_recount_lines(history *part, const history *from)
{
    uint64_t missing = history_count_lines(from).missing;
    size_t last = part->marks.n, next = 0;
    end_mark e;
    if (!history_recorded(from)) return;
    while (last && !end_mark_at(part, last - 1, &e)) last--;
    for (size_t i = 0; i < last; i++) {
        if (!end_mark_at(part, i, &e)) continue;
        uint64_t lines = lines_since(part, next, i) + (i + 1 == last ? missing : 0);
        next = i + 1;
        if (e.lines == NO_COUNT || e.lines == lines) continue;
        atom a = value_atom(part, part->marks.at[i].text);
        const char *text = atom_bytes(part, a);
        strbuf b;
        strbuf_init(&b, &part->mem);
        strbuf_add(&b, text, (size_t)(e.digits - text));
        strbuf_u64(&b, lines);
        strbuf_add(&b, e.digits + e.n_digits, a.len - (size_t)(e.digits - text) - e.n_digits);
        part->marks.at[i].text = value_str(part, b.at, b.n);
        strbuf_free(&b);
    }
}

/* --- what it may have said -------------------------------------------------------------------- */

typedef struct known {
    id_map written; /* pairs of key and value */
    id_map initial; /* key -> value, of a map in the header */
    bool unique;    /* no value of a key was written twice, by a line here or by a lost one */
} known;

static bool promised_unique(const history *h)
{
    const extra *promise = history_header_member(h, "unique_values");
    if (!promise) return false;
    atom a = value_atom(h, promise->text);
    return a.len == 4 && !memcmp(atom_bytes(h, a), "true", 4);
}

static value_id initial_value(const history *h, const known *k, key_id key)
{
    if (h->init == INIT_SCALAR) return h->init_scalar;
    uint32_t v = id_map_get(&k->initial, key);
    return v == MAP_NONE ? VALUE_NULL : v;
}

static void enter_written(history *h, known *k)
{
    k->unique = promised_unique(h);
    for (size_t i = 0; i < h->init_map.n; i++)
        *id_map_at(&h->mem, &k->initial, h->init_map.at[i].key) = h->init_map.at[i].value;
    for (size_t o = 0; o < h->ops; o++) {
        unsigned kind = h->op_kind[o] & OP_KIND_MASK;
        if (kind == OP_WRITE || kind == OP_APPEND) {
            uint32_t *at = id_map_at(&h->mem, &k->written, map_pair(h->op_key[o], h->op_value[o]));
            if (*at != MAP_NONE || initial_value(h, k, h->op_key[o]) == h->op_value[o])
                k->unique = false;
            *at = 1;
        }
    }
}

/* Can only a line that is there, or the initial state, have left this value at the key? */
static bool explained(const history *h, const known *k, key_id key, value_id v)
{
    if (v == VALUE_UNKNOWN) return true;
    if (!k->unique || v == VALUE_NULL || v == VALUE_EMPTY) return false;
    if (v == initial_value(h, k, key) || id_map_get(&k->written, map_pair(key, v)) != MAP_NONE)
        return true;
    if (v < VALUE_TABLE) return false;
    atom a = value_atom(h, v);
    if (a.kind != ATOM_LIST) return false;
    for (uint32_t i = 0; i < a.len; i++) {
        value_id e = h->elements.at[a.as.offset + i];
        if (id_map_get(&k->written, map_pair(key, e)) == MAP_NONE) return false;
    }
    return true;
}

void history_forget_lost(history *h)
{
    known k = {0};
    enter_written(h, &k);
    for (size_t o = 0; o < h->ops; o++) {
        unsigned kind = h->op_kind[o] & OP_KIND_MASK;
        if (kind == OP_READ && !explained(h, &k, h->op_key[o], h->op_value[o]))
            h->op_value[o] = VALUE_UNKNOWN;
        if (kind == OP_SCAN || kind == OP_ITER) h->op_kind[o] |= OP_FAILED;
    }
    id_map_free(&h->mem, &k.written);
    id_map_free(&h->mem, &k.initial);
}
