/*
 * sql_text.c - see sql_text.h.  The corner cases (negative lengths, empty patterns) are
 * PostgreSQL's.
 */
#include "sql/sql_text.h"

#include <assert.h>

/* The byte at which character `at` (from 0) begins, or the end. */
static uint32_t byte_of(value s, int64_t at)
{
    uint32_t i = 0;
    for (; i < s.n && at > 0; at--) do
            i++;
        while (i < s.n && ((unsigned char)s.s[i] & 0xc0) == 0x80);
    return i;
}

static uint32_t char_size(const char *s, uint32_t left)
{
    uint32_t n = 1;
    while (n < left && ((unsigned char)s[n] & 0xc0) == 0x80) n++;
    return n;
}

static bool has_prefix(value s, uint32_t at, value what)
{
    return what.n <= s.n - at && !memcmp(s.s + at, what.s, what.n);
}

/* Looks for a text in others in linear time (Knuth, Morris and Pratt): where a match fails, the
   part of it that is also a beginning of the text is the match so far. */
typedef struct finder {
    sql_exec *x;
    value what;
    uint32_t *back; /* i -> the longest proper beginning of what[0..i] that is also its end */
} finder;

static finder make_finder(sql_exec *x, value what)
{
    finder f = {x, what, arena_get(&x->work, ((size_t)what.n + 1) * sizeof *f.back)};
    f.back[0] = 0;
    for (uint32_t i = 1, k = 0; i < what.n; i++) {
        guard_tick(x->c.guard);
        while (k && what.s[i] != what.s[k]) k = f.back[k - 1];
        if (what.s[i] == what.s[k]) k++;
        f.back[i] = k;
    }
    return f;
}

/* The byte at which the text stands next, from `from` on; -1: nowhere. */
static int64_t find_text(const finder *f, value s, uint32_t from)
{
    if (!f->what.n) return from <= s.n ? (int64_t)from : -1;
    for (uint32_t i = from, k = 0; i < s.n; i++) {
        guard_tick(f->x->c.guard);
        while (k && s.s[i] != f->what.s[k]) k = f->back[k - 1];
        if (s.s[i] == f->what.s[k]) k++;
        if (k == f->what.n) return (int64_t)i + 1 - k;
    }
    return -1;
}

/* PostgreSQL takes texts of less than 1 GiB with their header of four bytes. */
enum { MOST_BYTES = 0x3fffffff - 4 };

static void fits(sql_exec *x, uint64_t n)
{
    if (n > MOST_BYTES) sql_raise(&x->c, "54000", "requested length too large");
}

static value repeat(sql_exec *x, value s, int64_t count)
{
    if (count < 0) count = 0;
    fits(x, s.n * (uint64_t)count);
    char *t = arena_get(&x->work, s.n * (size_t)count + 1);
    for (int64_t i = 0; i < count; i++) {
        guard_tick(x->c.guard);
        memcpy(t + (size_t)i * s.n, s.s, s.n);
    }
    return value_text(t, s.n * (size_t)count);
}

static value pad(sql_exec *x, value s, int64_t want, value fill, bool left)
{
    int64_t have = (int64_t)text_length(s), more = want - have;
    if (want < 0) want = 0;
    if (more <= 0 || !fill.n) return value_text(s.s, byte_of(s, want));
    fits(x, 4 * (uint64_t)want); /* it counts four bytes for a character of UTF-8 */
    int64_t each = (int64_t)text_length(fill);
    value whole = repeat(x, fill, more / each + 1);
    uint32_t n = byte_of(whole, more);
    fits(x, (uint64_t)n + s.n);
    char *t = arena_get(&x->work, (size_t)n + s.n + 1);
    memcpy(t + (left ? n : 0), s.s, s.n);
    memcpy(t + (left ? 0 : s.n), whole.s, n);
    return value_text(t, (size_t)n + s.n);
}

static value reverse(sql_exec *x, value s)
{
    char *t = arena_get(&x->work, s.n + 1u);
    for (uint32_t i = 0; i < s.n;) {
        uint32_t n = char_size(s.s + i, s.n - i);
        memcpy(t + s.n - i - n, s.s + i, n);
        i += n;
    }
    return value_text(t, s.n);
}

static value replace(sql_exec *x, value s, value from, value to)
{
    if (!from.n) return s;
    finder f = make_finder(x, from);
    uint64_t hits = 0;
    for (int64_t i = 0; (i = find_text(&f, s, (uint32_t)i)) >= 0; i += from.n) hits++;
    uint64_t n = s.n + hits * to.n - hits * from.n;
    fits(x, n);
    char *t = arena_get(&x->work, n + 1), *p = t;
    uint32_t at = 0;
    for (int64_t i; (i = find_text(&f, s, at)) >= 0; at = (uint32_t)i + from.n) {
        guard_tick(x->c.guard);
        memcpy(p, s.s + at, (size_t)i - at);
        p += (size_t)i - at;
        memcpy(p, to.s, to.n);
        p += to.n;
    }
    memcpy(p, s.s + at, s.n - at);
    return value_text(t, n);
}

/* The place of a text in characters, from 1; 0: it does not occur. */
static value place(sql_exec *x, value s, value what)
{
    finder f = make_finder(x, what);
    int64_t at = find_text(&f, s, 0);
    if (at < 0) return value_int(0);
    return value_int((int64_t)text_length(value_text(s.s, (size_t)at)) + 1);
}

static value split_part(sql_exec *x, value s, value by, int64_t n)
{
    if (!n) sql_raise(&x->c, "22023", "field position must not be zero");
    if (!s.n) return s;
    if (!by.n) return n == 1 || n == -1 ? s : value_text(s.s, 0);
    finder f = make_finder(x, by);
    int64_t parts = 1;
    for (int64_t i = 0; (i = find_text(&f, s, (uint32_t)i)) >= 0; i += by.n) parts++;
    if (n < 0) n += parts + 1;
    if (n < 1 || n > parts) return value_text(s.s, 0);
    uint32_t at = 0;
    for (; n > 1; n--) at = (uint32_t)find_text(&f, s, at) + by.n;
    int64_t end = find_text(&f, s, at);
    return value_text(s.s + at, (end < 0 ? s.n : (uint32_t)end) - at);
}

static value translate(sql_exec *x, value s, value from, value to)
{
    strbuf b;
    strbuf_init(&b, x->work.mem);
    for (uint32_t i = 0; i < s.n;) {
        uint32_t n = char_size(s.s + i, s.n - i), k = 0, other = 0;
        bool hit = false;
        while (k < from.n && !hit) {
            uint32_t size = char_size(from.s + k, from.n - k);
            hit = size == n && !memcmp(from.s + k, s.s + i, n);
            if (hit) break;
            k += size;
            if (other < to.n) other += char_size(to.s + other, to.n - other);
            guard_tick(x->c.guard);
        }
        if (!hit)
            strbuf_add(&b, s.s + i, n);
        else if (other < to.n)
            strbuf_add(&b, to.s + other, char_size(to.s + other, to.n - other));
        i += n;
    }
    value r = value_text(arena_text(&x->work, b.at, b.n), b.n);
    strbuf_free(&b);
    return r;
}

static bool among(sql_exec *x, value set, const char *c, uint32_t n)
{
    for (uint32_t i = 0; i < set.n; i += char_size(set.s + i, set.n - i)) {
        if (char_size(set.s + i, set.n - i) == n && !memcmp(set.s + i, c, n)) return true;
        guard_tick(x->c.guard);
    }
    return false;
}

static value trim(sql_exec *x, value s, value set, bool left, bool right)
{
    uint32_t from = 0, to = s.n;
    while (left && from < to) {
        uint32_t n = char_size(s.s + from, to - from);
        if (!among(x, set, s.s + from, n)) break;
        from += n;
    }
    while (right && from < to) {
        uint32_t at = to - 1;
        while (at > from && ((unsigned char)s.s[at] & 0xc0) == 0x80) at--;
        if (!among(x, set, s.s + at, to - at)) break;
        to = at;
    }
    return value_text(s.s + from, to - from);
}

static value ascii(sql_exec *x, value s)
{
    if (!s.n) return value_int(0);
    const unsigned char *p = (const unsigned char *)s.s;
    uint32_t n = char_size(s.s, s.n);
    int64_t c = n == 1 ? p[0] : n == 2 ? p[0] & 0x1f : n == 3 ? p[0] & 0x0f : p[0] & 0x07;
    for (uint32_t i = 1; i < n; i++) c = c << 6 | (p[i] & 0x3f);
    (void)x;
    return value_int(c);
}

value text_call(sql_exec *x, call_id call, const value *v, uint32_t n)
{
    value blank = value_text(" ", 1);
    switch (call) {
    case CALL_LEFT: {
        int64_t k = v[1].i < 0 ? (int64_t)text_length(v[0]) + v[1].i : v[1].i;
        return value_text(v[0].s, byte_of(v[0], k));
    }
    case CALL_RIGHT: {
        int64_t k = v[1].i < 0 ? -v[1].i : (int64_t)text_length(v[0]) - v[1].i;
        uint32_t at = byte_of(v[0], k);
        return value_text(v[0].s + at, v[0].n - at);
    }
    case CALL_REPEAT: return repeat(x, v[0], v[1].i);
    case CALL_LPAD:
    case CALL_RPAD: return pad(x, v[0], v[1].i, n > 2 ? v[2] : blank, call == CALL_LPAD);
    case CALL_REVERSE: return reverse(x, v[0]);
    case CALL_REPLACE: return replace(x, v[0], v[1], v[2]);
    case CALL_STRPOS:
    case CALL_POSITION: return place(x, v[0], v[1]);
    case CALL_SPLIT_PART: return split_part(x, v[0], v[1], v[2].i);
    case CALL_TRANSLATE: return translate(x, v[0], v[1], v[2]);
    case CALL_BTRIM:
    case CALL_LTRIM:
    case CALL_RTRIM:
        return trim(x, v[0], n > 1 ? v[1] : blank, call != CALL_RTRIM, call != CALL_LTRIM);
    case CALL_STARTS_WITH: return value_bool(has_prefix(v[0], 0, v[1]));
    case CALL_ASCII: return ascii(x, v[0]);
    default: assert(call == CALL_OCTET_LENGTH); return value_int(v[0].n);
    }
}
