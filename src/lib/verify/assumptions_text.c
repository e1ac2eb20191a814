/*
 * assumptions_text.c - see assumptions_text.h.
 */
#include "verify/assumptions_text.h"

#include <string.h>

/* As certificate_name writes strings: odd bytes as \xNN, so that a text is one word. */
static void write_text(strbuf *b, const char *s)
{
    static const char digit[] = "0123456789abcdef";
    strbuf_char(b, '"');
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c > 0x20 && c != 0x7f && c != '"' && c != '\\') {
            strbuf_char(b, (char)c);
            continue;
        }
        strbuf_str(b, "\\x");
        strbuf_char(b, digit[c >> 4]);
        strbuf_char(b, digit[c & 15]);
    }
    strbuf_char(b, '"');
}

void assumptions_event(strbuf *b, const history *h, ordered_event e)
{
    strbuf_str(b, e.at == AT_POINT ? "p:" : e.at == AT_BEGIN ? "b:" : "c:");
    if (e.at == AT_POINT)
        strbuf_printf(b, "%u", e.of);
    else
        certificate_txn(b, h, e.of);
}

void assumptions_write(strbuf *b, const history *h, const additions *add, const uint8_t *only)
{
    size_t n = 0;
    for (size_t i = 0; i < add->at.n; i++) n += !only || only[i];
    strbuf_printf(b, "assumptions %zu %u\n", n, add->points);
    for (size_t i = 0; i < add->at.n; i++) {
        const addition *said = &add->at.at[i];
        if (only && !only[i]) continue;
        write_text(b, additions_name(add, said->module));
        strbuf_char(b, ' ');
        write_text(b, additions_reason(add, i));
        for (uint32_t s = said->first_set; s < said->first_set + said->sets; s++) {
            uint32_t first = additions_set_first(add, s);
            if (s > said->first_set) strbuf_str(b, " or");
            for (uint32_t k = first; k < add->set_end.at[s]; k++) {
                const added_edge *e = &add->edges.at[k];
                strbuf_str(b, k > first ? " and " : " ");
                assumptions_event(b, h, (ordered_event){e->from, e->from_at});
                strbuf_str(b, e->kind == ADDED_DEPENDS ? "<<" : "<");
                assumptions_event(b, h, (ordered_event){e->to, e->to_at});
            }
        }
        strbuf_char(b, '\n');
        guard_tick(b->mem->guard);
    }
}

/* --- telling ---------------------------------------------------------------------------------- */

#define MOST_TOLD 8u /* edges of one assumption */

static void tell_event(strbuf *b, const history *h, uint32_t of, uint8_t at)
{
    if (at == AT_POINT) {
        strbuf_printf(b, "point %u", of);
        return;
    }
    strbuf_str(b, at == AT_BEGIN ? "the begin of " : "the commit of ");
    certificate_txn(b, h, of);
}

static void tell_edge(strbuf *b, const history *h, const added_edge *e)
{
    if (e->kind == ADDED_DEPENDS) {
        certificate_txn(b, h, e->to);
        strbuf_str(b, " saw ");
        certificate_txn(b, h, e->from);
        return;
    }
    tell_event(b, h, e->from, e->from_at);
    strbuf_str(b, " is before ");
    tell_event(b, h, e->to, e->to_at);
}

void assumptions_tell(strbuf *b, const history *h, const additions *add, size_t i)
{
    const addition *said = &add->at.at[i];
    uint32_t first = additions_set_first(add, said->first_set), s = said->first_set;
    uint32_t end = add->set_end.at[said->first_set + said->sets - 1];
    for (uint32_t k = first; k < end; k++) {
        bool next_set = k == add->set_end.at[s];
        s += next_set;
        if (k - first == MOST_TOLD) {
            strbuf_printf(b, ", and %u more", end - k);
            return;
        }
        if (k > first) strbuf_str(b, next_set ? ", or " : ", and ");
        tell_edge(b, h, &add->edges.at[k]);
    }
}

/* --- reading ---------------------------------------------------------------------------------- */

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The next word, a text in quotes. */
static const char *read_text(parser *p, strbuf *b)
{
    const char *s;
    size_t n;
    parse_need(p, "a text in quotes", &s, &n);
    if (n < 2 || *s != '"' || s[n - 1] != '"') parse_fail(p, s, "a text in quotes expected");
    b->n = 0;
    for (size_t i = 1; i + 1 < n; i++) {
        if (s[i] != '\\') {
            strbuf_char(b, s[i]);
            continue;
        }
        int high = i + 4 < n && s[i + 1] == 'x' ? hex_digit(s[i + 2]) : -1;
        int low = high >= 0 ? hex_digit(s[i + 3]) : -1;
        if (low < 0 || !(high | low)) parse_fail(p, s + i, "\\xNN expected");
        strbuf_char(b, (char)(16 * high + low));
        i += 3;
    }
    return strbuf_cstr(b);
}

ordered_event assumptions_read_event(parser *p, const char **s, size_t *n, uint32_t points)
{
    ordered_event e = {0, 0};
    const char *at = *s;
    if (*n < 3 || at[1] != ':' || (*at != 'b' && *at != 'c' && *at != 'p'))
        parse_fail(p, at, "an event expected");
    e.at = *at == 'b' ? AT_BEGIN : *at == 'c' ? AT_COMMIT : AT_POINT;
    *s += 2;
    *n -= 2;
    if (e.at != AT_POINT) {
        e.of = parse_txn(p, s, n, false);
        return e;
    }
    size_t k = 0;
    while (k < *n && (*s)[k] >= '0' && (*s)[k] <= '9') k++;
    uint64_t i = parse_number(p, "the number of a point", *s, k);
    if (i >= points) parse_fail(p, at, "there is no such point");
    e.of = (uint32_t)i;
    *s += k;
    *n -= k;
    return e;
}

static added_edge read_edge(parser *p, const char *s, size_t n, uint32_t points)
{
    ordered_event from = assumptions_read_event(p, &s, &n, points);
    if (!n || *s != '<') parse_fail(p, s, "< expected");
    bool depends = n > 1 && s[1] == '<';
    s += 1 + depends;
    n -= (size_t)1 + depends;
    ordered_event to = assumptions_read_event(p, &s, &n, points);
    if (n) parse_fail(p, s, "the edge should end here");
    return (added_edge){
        from.of, to.of, (uint8_t)from.at, (uint8_t)to.at, depends ? ADDED_DEPENDS : ADDED_ORDERS,
        0};
}

static void read_assumption(parser *p, additions *add, strbuf *b)
{
    const char *s;
    size_t n;
    const char *name = read_text(p, b);
    if (!add->modules.n || strcmp(name, additions_name(add, (uint32_t)add->modules.n - 1)))
        additions_module(add, name);
    additions_begin(add, read_text(p, b));
    do {
        parse_need(p, "an edge", &s, &n);
        additions_edge(add, read_edge(p, s, n, add->points));
        if (!parse_word(p, &s, &n)) break;
        if (parse_is(s, n, "or"))
            additions_set_end(add);
        else if (!parse_is(s, n, "and"))
            parse_fail(p, s, "\"and\", \"or\" or the end of the line expected");
    } while (true);
    additions_set_end(add);
}

additions *assumptions_read(parser *p, mem *m)
{
    additions *add = additions_new(m);
    strbuf b;
    strbuf_init(&b, m);
    uint64_t n = parse_u64(p, "a number of assumptions");
    const char *at = p->now;
    uint64_t points = parse_u64(p, "a number of points");
    parse_no_more(p);
    if (points > UINT32_MAX / 4) parse_fail(p, at, "there are too many points");
    add->points = (uint32_t)points;
    for (uint64_t i = 0; i < n; i++) {
        if (!parse_line(p))
            guard_fail(p->guard, GUARD_PARSE, "an assumption expected: the certificate is cut off");
        read_assumption(p, add, &b);
    }
    const char *wrong = additions_check(add, p->names.h->txns);
    if (wrong) parse_fail(p, p->begin, "the assumptions have %s", wrong);
    strbuf_free(&b);
    return add;
}
