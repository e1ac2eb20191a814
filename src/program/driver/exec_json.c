/*
 * exec_json.c - see exec_json.h.  A line comes from a program that may be broken: nothing of it is
 * believed, depth and numbers are bounded, and nothing is read past its end.
 */
#include "driver/exec_json.h"

#include <errno.h>
#include <stdlib.h>

enum { DEEPEST = 32 };

typedef struct cursor {
    exec_json *json;
    mem *mem;
    const char *p, *end;
} cursor;

static bool refuse(cursor *c, const char *why)
{
    if (!c->json->why) c->json->why = why;
    return false;
}

static void skip_space(cursor *c)
{
    while (c->p < c->end && (*c->p == ' ' || *c->p == '\t' || *c->p == '\r')) c->p++;
}

static size_t add_node(cursor *c, enum exec_json_kind kind)
{
    exec_json_node n = {.kind = kind, .at = (uint32_t)(c->p - c->json->text), .span = 1};
    vec_push(c->mem, &c->json->nodes, n);
    return c->json->nodes.n - 1;
}

static bool hex_digit(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool parse_string(cursor *c)
{
    c->p++;
    size_t node = add_node(c, EXEC_JSON_STRING);
    const char *from = c->p;
    for (; c->p < c->end && *c->p != '"'; c->p++) {
        if ((unsigned char)*c->p < 0x20) return refuse(c, "a control character in a string");
        if (*c->p != '\\') continue;
        c->p++;
        if (c->p < c->end && *c->p == 'u') {
            for (int i = 1; i <= 4; i++)
                if (c->end - c->p <= i || !hex_digit(c->p[i])) return refuse(c, "a wrong \\u");
            c->p += 4;
        } else if (c->p >= c->end || !strchr("\"\\/bfnrt", *c->p) || !*c->p) {
            return refuse(c, "a wrong escape in a string");
        }
    }
    if (c->p >= c->end) return refuse(c, "a string without an end");
    c->json->nodes.at[node].n = (uint32_t)(c->p - from);
    c->p++;
    return true;
}

static bool parse_number(cursor *c)
{
    size_t node = add_node(c, EXEC_JSON_NUMBER);
    const char *from = c->p;
    if (*c->p == '-') c->p++;
    bool digits = c->p < c->end && *c->p >= '0' && *c->p <= '9';
    while (c->p < c->end && strchr("0123456789.eE+-", *c->p) && *c->p) c->p++;
    c->json->nodes.at[node].n = (uint32_t)(c->p - from);
    return digits || refuse(c, "a wrong number");
}

static bool parse_word(cursor *c)
{
    static const struct {
        const char *word;
        size_t n;
        enum exec_json_kind kind;
    } words[] = {
        {"null", 4, EXEC_JSON_NULL}, {"true", 4, EXEC_JSON_TRUE}, {"false", 5, EXEC_JSON_FALSE}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if ((size_t)(c->end - c->p) >= words[i].n && !memcmp(c->p, words[i].word, words[i].n)) {
            add_node(c, words[i].kind);
            c->p += words[i].n;
            return true;
        }
    return refuse(c, "neither a value nor a word of JSON");
}

static bool parse_value(cursor *c, int depth);

/* The inside of an array or object, after its bracket. */
static bool parse_items(cursor *c, char close, bool named, int depth)
{
    c->p++;
    skip_space(c);
    if (c->p < c->end && *c->p == close) {
        c->p++;
        return true;
    }
    for (;;) {
        skip_space(c);
        if (named) {
            if (c->p >= c->end || *c->p != '"') return refuse(c, "a member without a name");
            if (!parse_string(c)) return false;
            skip_space(c);
            if (c->p >= c->end || *c->p != ':') return refuse(c, "a member without a value");
            c->p++;
        }
        if (!parse_value(c, depth + 1)) return false;
        skip_space(c);
        if (c->p >= c->end) return refuse(c, "a bracket is not closed");
        if (*c->p++ == close) return true;
        if (c->p[-1] != ',') return refuse(c, "a comma is missing");
    }
}

static bool parse_value(cursor *c, int depth)
{
    skip_space(c);
    if (c->p >= c->end) return refuse(c, "the line is cut off");
    if (depth > DEEPEST) return refuse(c, "brackets are nested too deeply");
    if (*c->p == '"') return parse_string(c);
    if (*c->p == '-' || (*c->p >= '0' && *c->p <= '9')) return parse_number(c);
    if (*c->p != '{' && *c->p != '[') return parse_word(c);
    bool object = *c->p == '{';
    size_t node = add_node(c, object ? EXEC_JSON_OBJECT : EXEC_JSON_ARRAY);
    if (!parse_items(c, object ? '}' : ']', object, depth)) return false;
    exec_json_node *n = &c->json->nodes.at[node];
    n->n = (uint32_t)(c->p - c->json->text) - n->at;
    n->span = (uint32_t)(c->json->nodes.n - node);
    return true;
}

bool exec_json_parse(exec_json *j, mem *m, const char *text, size_t n)
{
    cursor c = {.json = j, .mem = m, .p = text, .end = text + n};
    j->text = text;
    j->nodes.n = 0;
    j->why = NULL;
    if (n >= UINT32_MAX) return refuse(&c, "the line is too long");
    if (!parse_value(&c, 0)) return false;
    skip_space(&c);
    return c.p == c.end || refuse(&c, "something follows after the value");
}

uint32_t exec_json_member(const exec_json *j, uint32_t object, const char *name)
{
    const exec_json_node *o = &j->nodes.at[object];
    size_t len = strlen(name);
    if (o->kind != EXEC_JSON_OBJECT) return 0;
    for (uint32_t i = object + 1; i < object + o->span;) {
        const exec_json_node *k = &j->nodes.at[i];
        if (k->n == len && !memcmp(j->text + k->at, name, len)) return i + 1;
        i += 1 + j->nodes.at[i + 1].span;
    }
    return 0;
}

bool exec_json_int(const exec_json *j, uint32_t node, int64_t *out)
{
    const exec_json_node *n = &j->nodes.at[node];
    char digits[24], *end;
    if ((n->kind != EXEC_JSON_NUMBER && n->kind != EXEC_JSON_STRING) || !n->n ||
        n->n >= sizeof digits)
        return false;
    memcpy(digits, j->text + n->at, n->n);
    digits[n->n] = 0;
    if (*digits != '-' && (*digits < '0' || *digits > '9')) return false;
    errno = 0;
    *out = strtoll(digits, &end, 10);
    return !*end && !errno;
}

static uint32_t hex_of(const char *p)
{
    uint32_t v = 0;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        v = v * 16 + (uint32_t)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
    }
    return v;
}

/* One character of a string, escaped or not; returns the bytes of text that it took. */
static size_t next_character(const char *p, const char *end, char out[4], size_t *n)
{
    static const char names[] = "bfnrt", values[] = "\b\f\n\r\t";
    *n = 1;
    out[0] = *p;
    if (*p != '\\') return 1;
    const char *named = strchr(names, p[1]);
    out[0] = named ? values[named - names] : p[1];
    if (p[1] != 'u') return 2;
    uint32_t u = hex_of(p + 2);
    size_t took = 6;
    if (u >= 0xd800 && u < 0xdc00 && end - p >= 12 && p[6] == '\\' && p[7] == 'u') {
        uint32_t low = hex_of(p + 8);
        if (low >= 0xdc00 && low < 0xe000) {
            u = 0x10000 + ((u - 0xd800) << 10) + (low - 0xdc00);
            took = 12;
        }
    }
    if (!u || (u >= 0xd800 && u < 0xe000)) u = 0xfffd; /* no character by itself */
    *n = utf8_put(out, u);
    return took;
}

bool exec_json_text(const exec_json *j, uint32_t node, char *out, size_t cap)
{
    const exec_json_node *n = &j->nodes.at[node];
    size_t used = 0;
    *out = 0;
    if (n->kind != EXEC_JSON_STRING) return false;
    for (const char *p = j->text + n->at, *end = p + n->n; p < end;) {
        char c[4];
        size_t len;
        p += next_character(p, end, c, &len);
        if (used + len >= cap) break;
        memcpy(out + used, c, len);
        used += len;
    }
    out[used] = 0;
    return true;
}

bool exec_json_add_text(const exec_json *j, uint32_t node, strbuf *to)
{
    const exec_json_node *n = &j->nodes.at[node];
    if (n->kind != EXEC_JSON_STRING) return false;
    for (const char *p = j->text + n->at, *end = p + n->n; p < end;) {
        char c[4];
        size_t len;
        p += next_character(p, end, c, &len);
        strbuf_add(to, c, len);
    }
    return true;
}
