/* oracle.c - the brute-force oracle (see oracle.h for what it promises).
 *
 * Four parts: a small JSON reader; the native format (doc/formats/native.md); levels and the search
 * for a witness (doc/levels.md 4) with one literal condition per level (doc/levels.md 5); the
 * derivation of obligations, session and real-time order (doc/levels.md 1, 3, 4) and the outermost
 * choices.
 *
 * The one idea that makes it quick enough: every condition forbids patterns of edges, so it can
 * only get worse when edges are added. Hence the witness is built key by key (version order of
 * the key, then the writer of each read of the key) and the condition is asked of every partial
 * witness.
 *
 * A list key is treated by its general definition: the state of every version is computed along
 * the version order, and a read may see the versions whose state equals what it returned.
 */
#include "oracle.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_OPS = 24,  /* operations of one transaction: events must fit a 64-bit row beside the txns */
    MAX_LIST = 40, /* elements of one list state */
    MAX_OBLIGATIONS = 256,
    MAX_SUBS = 64,    /* sub-transactions of section 5.2 */
    MAX_DEPTH = 32,   /* nesting of JSON */
    BUDGET = 20000000 /* conditions asked of partial witnesses, per question */
};

static void *xrealloc(void *p, size_t size)
{
    void *q = realloc(p, size ? size : 1);
    if (!q) {
        fputs("oracle: out of memory\n", stderr);
        abort();
    }
    return q;
}

static void *xcalloc(size_t n, size_t size)
{
    void *q = calloc(n ? n : 1, size ? size : 1);
    if (!q) {
        fputs("oracle: out of memory\n", stderr);
        abort();
    }
    return q;
}

/* -------------------------------------------------------------------------------------------- */
/* JSON: one line becomes a tree of nodes. */

enum json_type { J_NULL, J_FALSE, J_TRUE, J_INT, J_FLOAT, J_STRING, J_ARRAY, J_OBJECT };

struct json {
    enum json_type type;
    char *text; /* J_INT, J_FLOAT: as written; J_STRING: decoded bytes */
    size_t len;
    char *name; /* member name, when inside an object */
    struct json *child, *next;
};

struct reader {
    const char *at, *end;
    const char *problem; /* NULL while all is well */
};

static void json_free(struct json *j)
{
    while (j) {
        struct json *next = j->next;
        json_free(j->child);
        free(j->text);
        free(j->name);
        free(j);
        j = next;
    }
}

static void skip_space(struct reader *r)
{
    while (r->at < r->end &&
           (*r->at == ' ' || *r->at == '\t' || *r->at == '\r' || *r->at == '\n')) {
        r->at++;
    }
}

static bool fail(struct reader *r, const char *problem)
{
    if (!r->problem) {
        r->problem = problem;
    }
    return false;
}

static int hex4(struct reader *r)
{
    int v = 0;
    if (r->end - r->at < 4) {
        return -1;
    }
    for (int i = 0; i < 4; i++) {
        char c = *r->at++;
        int d = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
        if (d < 0) {
            return -1;
        }
        v = v * 16 + d;
    }
    return v;
}

static size_t utf8(char *out, unsigned c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | (c >> 6));
        out[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | (c >> 12));
        out[1] = (char)(0x80 | ((c >> 6) & 63));
        out[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    out[0] = (char)(0xf0 | (c >> 18));
    out[1] = (char)(0x80 | ((c >> 12) & 63));
    out[2] = (char)(0x80 | ((c >> 6) & 63));
    out[3] = (char)(0x80 | (c & 63));
    return 4;
}

/* At the opening quote; the result is NUL-terminated besides having a length. */
static char *read_string(struct reader *r, size_t *len)
{
    char *out = xcalloc((size_t)(r->end - r->at) + 8, 1);
    size_t n = 0;
    r->at++;
    while (r->at < r->end && *r->at != '"') {
        unsigned char c = (unsigned char)*r->at++;
        if (c < 0x20) {
            fail(r, "control character in a string");
            break;
        }
        if (c != '\\') {
            out[n++] = (char)c;
            continue;
        }
        if (r->at >= r->end) {
            break;
        }
        static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
        char e = *r->at++;
        const char *hit = e ? strchr(from, e) : NULL;
        if (hit) {
            out[n++] = to[hit - from];
        } else if (e == 'u') {
            int u = hex4(r);
            if (u >= 0xd800 && u < 0xdc00 && r->end - r->at >= 6 && r->at[0] == '\\' &&
                r->at[1] == 'u') {
                r->at += 2;
                int v = hex4(r);
                u = v >= 0xdc00 && v < 0xe000 ? 0x10000 + ((u - 0xd800) << 10) + (v - 0xdc00) : -1;
            }
            if (u < 0 || (u >= 0xd800 && u < 0xe000)) {
                fail(r, "bad \\u escape");
                break;
            }
            n += utf8(out + n, (unsigned)u);
        } else {
            fail(r, "bad escape");
            break;
        }
    }
    if (!r->problem && (r->at >= r->end || *r->at != '"')) {
        fail(r, "string without end");
    }
    if (!r->problem) {
        r->at++;
    }
    out[n] = 0;
    *len = n;
    return out;
}

static void read_number(struct reader *r, struct json *j)
{
    const char *start = r->at;
    bool is_float = false;
    if (*r->at == '-') {
        r->at++;
    }
    const char *digits = r->at;
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9') {
        r->at++;
    }
    if (r->at == digits || (*digits == '0' && r->at - digits > 1)) {
        fail(r, "bad number");
        return;
    }
    if (r->at < r->end && *r->at == '.') {
        is_float = true;
        const char *fraction = ++r->at;
        while (r->at < r->end && *r->at >= '0' && *r->at <= '9') {
            r->at++;
        }
        if (r->at == fraction) {
            fail(r, "bad number");
            return;
        }
    }
    if (r->at < r->end && (*r->at == 'e' || *r->at == 'E')) {
        is_float = true;
        r->at++;
        if (r->at < r->end && (*r->at == '+' || *r->at == '-')) {
            r->at++;
        }
        const char *exponent = r->at;
        while (r->at < r->end && *r->at >= '0' && *r->at <= '9') {
            r->at++;
        }
        if (r->at == exponent) {
            fail(r, "bad number");
            return;
        }
    }
    j->type = is_float ? J_FLOAT : J_INT;
    j->len = (size_t)(r->at - start);
    j->text = xcalloc(j->len + 1, 1);
    memcpy(j->text, start, j->len);
}

static bool word(struct reader *r, const char *w)
{
    size_t n = strlen(w);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, w, n) != 0) {
        return false;
    }
    r->at += n;
    return true;
}

static struct json *read_json(struct reader *r, int depth)
{
    struct json *j = xcalloc(1, sizeof *j);
    skip_space(r);
    if (r->at >= r->end || depth > MAX_DEPTH) {
        fail(r, depth > MAX_DEPTH ? "nested too deep" : "value expected");
        return j;
    }
    char c = *r->at;
    if (c == '"') {
        j->type = J_STRING;
        j->text = read_string(r, &j->len);
    } else if (c == '-' || (c >= '0' && c <= '9')) {
        read_number(r, j);
    } else if (c == '[' || c == '{') {
        char close = c == '[' ? ']' : '}';
        struct json **tail = &j->child;
        j->type = c == '[' ? J_ARRAY : J_OBJECT;
        r->at++;
        skip_space(r);
        if (r->at < r->end && *r->at == close) {
            r->at++;
            return j;
        }
        while (!r->problem) {
            char *name = NULL;
            if (c == '{') {
                size_t len;
                skip_space(r);
                if (r->at >= r->end || *r->at != '"') {
                    fail(r, "member name expected");
                    break;
                }
                name = read_string(r, &len);
                skip_space(r);
                if (r->at >= r->end || *r->at != ':') {
                    free(name);
                    fail(r, "':' expected");
                    break;
                }
                r->at++;
            }
            *tail = read_json(r, depth + 1);
            (*tail)->name = name;
            tail = &(*tail)->next;
            skip_space(r);
            if (r->problem || r->at >= r->end || (*r->at != ',' && *r->at != close)) {
                fail(r, "',' or closing bracket expected");
                break;
            }
            if (*r->at++ == close) {
                break;
            }
        }
    } else if (word(r, "null")) {
        j->type = J_NULL;
    } else if (word(r, "true")) {
        j->type = J_TRUE;
    } else if (word(r, "false")) {
        j->type = J_FALSE;
    } else {
        fail(r, "value expected");
    }
    return j;
}

static const struct json *member(const struct json *object, const char *name)
{
    for (const struct json *c = object->child; c; c = c->next) {
        if (c->name && strcmp(c->name, name) == 0) {
            return c;
        }
    }
    return NULL;
}

static const struct json *element(const struct json *array, int i)
{
    const struct json *c = array->child;
    while (c && i-- > 0) {
        c = c->next;
    }
    return c;
}

static int length(const struct json *array)
{
    int n = 0;
    for (const struct json *c = array->child; c; c = c->next) {
        n++;
    }
    return n;
}

static bool is_scalar(const struct json *j)
{
    return j->type != J_NULL && j->type != J_ARRAY && j->type != J_OBJECT;
}

/* -------------------------------------------------------------------------------------------- */
/* The history. */

enum { NONE = -1, INIT = -1, NO_HINT = -2, NO_SUCH = -3 };

/* The content of a key.  Absent and [] are the same state (5.5): scalar == NONE && n == 0. */
struct value {
    bool is_list; /* written as a list in the input, even if empty; no part of the state */
    int scalar;   /* interned scalar or NONE */
    int n;
    int e[MAX_LIST];
};

struct keyname {
    bool is_int, negative;
    uint64_t magnitude;
    char *text;
    size_t len;
};

enum op_kind { OP_READ, OP_READ_UNKNOWN, OP_WRITE, OP_DELETE, OP_APPEND, OP_RANGE };

struct item {
    int key;
    bool is_null;
    struct value v;
    int from; /* interned id, INIT or NO_HINT */
};

struct pin { /* one entry of vset */
    int key, from;
};

struct op {
    enum op_kind kind;
    int key;
    struct value v;
    bool lock, tomb, has_ver, undone;
    long long ver;
    int from;
    /* OP_RANGE */
    bool bounded_lo, bounded_hi, incl, reverse, done;
    struct keyname lo, hi;
    struct item *item;
    int nitem;
    struct pin *pin;
    int npin;
};

enum status { COMMITTED, ABORTED, UNKNOWN };

struct txn {
    int session, id;
    enum status status;
    bool has[4]; /* begin call, begin return, commit call, commit return (7.4) */
    long long time[4];
    bool has_start_ts, has_commit_ts;
    long long start_ts, commit_ts;
    struct op *op;
    int nop;
    char level[64]; /* "level": of its own; "" if it names none */
};

struct scalar {
    char *bytes; /* a tag for the type, then the content: 1, "1" and 1.0 are three values */
    size_t len;
};

struct oracle {
    struct scalar *scalar;
    int nscalar;
    struct keyname *key;
    int nkey;
    struct txn *txn;
    int ntxn;
    bool init_unknown;
    struct value init_default;
    struct value *init; /* by key, once parsed */
    struct {
        int key;
        struct value v;
    } * given; /* the header's entries */
    int ngiven;
    bool count_aborted; /* H-9 */
    bool bad_hint;
    char level[64]; /* the header's */
    /* what modules add: sets of edges, those of addition i from set_first[i] on */
    oracle_edge *edge;
    int nedge;
    int *set_end, *set_first; /* of each set: the end of its edges; of each addition: its sets */
    int nset, nadded;
};

struct parse {
    oracle *o;
    char *err;
    size_t errcap;
    int line;
    bool failed;
};

static bool complain(struct parse *p, const char *fmt, ...)
{
    if (!p->failed && p->errcap) {
        va_list ap;
        int n = snprintf(p->err, p->errcap, "line %d: ", p->line);
        va_start(ap, fmt);
        if (n >= 0 && (size_t)n < p->errcap) {
            vsnprintf(p->err + n, p->errcap - (size_t)n, fmt, ap);
        }
        va_end(ap);
    }
    p->failed = true;
    return false;
}

static int intern(oracle *o, char tag, const char *bytes, size_t len)
{
    for (int i = 0; i < o->nscalar; i++) {
        if (o->scalar[i].len == len + 1 && o->scalar[i].bytes[0] == tag &&
            memcmp(o->scalar[i].bytes + 1, bytes, len) == 0) {
            return i;
        }
    }
    o->scalar = xrealloc(o->scalar, ((size_t)o->nscalar + 1) * sizeof *o->scalar);
    struct scalar *s = &o->scalar[o->nscalar];
    s->len = len + 1;
    s->bytes = xcalloc(len + 2, 1);
    s->bytes[0] = tag;
    if (len) {
        memcpy(s->bytes + 1, bytes, len);
    }
    return o->nscalar++;
}

static int intern_json(oracle *o, const struct json *j)
{
    char buffer[64];
    switch (j->type) {
    case J_INT:
        return strcmp(j->text, "-0") == 0 ? intern(o, 'i', "0", 1)
                                          : intern(o, 'i', j->text, j->len);
    case J_FLOAT:
        snprintf(buffer, sizeof buffer, "%.17g", strtod(j->text, NULL));
        return intern(o, 'f', buffer, strlen(buffer));
    case J_STRING: return intern(o, 's', j->text, j->len);
    case J_TRUE: return intern(o, 'b', "1", 1);
    case J_FALSE: return intern(o, 'b', "0", 1);
    default: return NONE;
    }
}

static bool read_value(struct parse *p, const struct json *j, struct value *v)
{
    memset(v, 0, sizeof *v);
    v->scalar = NONE;
    if (j->type == J_NULL) {
        return true;
    }
    if (j->type == J_ARRAY) {
        v->is_list = true;
        for (const struct json *c = j->child; c; c = c->next) {
            if (!is_scalar(c)) {
                return complain(p, "a list holds scalars");
            }
            if (v->n == MAX_LIST) {
                return complain(p, "list too long for the oracle");
            }
            v->e[v->n++] = intern_json(p->o, c);
        }
        return true;
    }
    if (j->type == J_OBJECT) {
        return complain(p, "a value is a scalar");
    }
    v->scalar = intern_json(p->o, j);
    return true;
}

static bool read_keyname(struct parse *p, const struct json *j, struct keyname *k)
{
    memset(k, 0, sizeof *k);
    if (j->type == J_STRING) {
        k->len = j->len;
        k->text = xcalloc(j->len + 1, 1);
        if (j->len) {
            memcpy(k->text, j->text, j->len);
        }
        return true;
    }
    if (j->type != J_INT) {
        return complain(p, "a key is an integer or a string");
    }
    const char *digits = j->text + (j->text[0] == '-');
    errno = 0;
    k->is_int = true;
    k->magnitude = strtoull(digits, NULL, 10);
    k->negative = j->text[0] == '-' && k->magnitude != 0;
    if (errno == ERANGE || (k->negative && k->magnitude > (uint64_t)1 << 63)) {
        return complain(p, "integer key out of range");
    }
    return true;
}

/* Integers numerically and before strings, strings by bytes (doc/formats/native.md). */
static int compare_keys(const struct keyname *a, const struct keyname *b)
{
    if (a->is_int != b->is_int) {
        return a->is_int ? -1 : 1;
    }
    if (a->is_int) {
        if (a->negative != b->negative) {
            return a->negative ? -1 : 1;
        }
        int c = a->magnitude < b->magnitude ? -1 : a->magnitude > b->magnitude;
        return a->negative ? -c : c;
    }
    size_t n = a->len < b->len ? a->len : b->len;
    int c = n ? memcmp(a->text, b->text, n) : 0;
    return c ? c : a->len < b->len ? -1 : a->len > b->len;
}

static int read_key(struct parse *p, const struct json *j)
{
    oracle *o = p->o;
    struct keyname k;
    if (!read_keyname(p, j, &k)) {
        return NONE;
    }
    for (int i = 0; i < o->nkey; i++) {
        if (compare_keys(&o->key[i], &k) == 0) {
            free(k.text);
            return i;
        }
    }
    o->key = xrealloc(o->key, ((size_t)o->nkey + 1) * sizeof *o->key);
    o->key[o->nkey] = k;
    return o->nkey++;
}

static bool read_integer(struct parse *p, const struct json *j, long long *out)
{
    if (j->type != J_INT) {
        return complain(p, "integer expected");
    }
    errno = 0;
    *out = strtoll(j->text, NULL, 10);
    return errno == ERANGE ? complain(p, "integer out of range") : true;
}

static int read_id(struct parse *p, const struct json *j)
{
    if (j->type != J_INT && j->type != J_STRING) {
        complain(p, "an id is an integer or a string");
        return NO_SUCH;
    }
    return intern_json(p->o, j);
}

/* The writer named by a hint; null is the initial state. */
static int read_from(struct parse *p, const struct json *j)
{
    return j->type == J_NULL ? INIT : read_id(p, j);
}

static bool flag(const struct json *attributes, const char *name, bool missing)
{
    const struct json *f = attributes ? member(attributes, name) : NULL;
    return f ? f->type == J_TRUE : missing;
}

static bool read_range(struct parse *p, const struct json *j, struct op *op,
                       const struct json *attr)
{
    const struct json *lo = element(j, 1), *hi = element(j, 2), *items = element(j, 3);
    const struct json *from = attr ? member(attr, "from") : NULL;
    const struct json *vset = attr ? member(attr, "vset") : NULL;
    op->kind = OP_RANGE;
    op->incl = flag(attr, "incl", false);
    op->reverse = flag(attr, "reverse", false);
    if (lo->type != J_NULL) {
        op->bounded_lo = true;
        if (!read_keyname(p, lo, &op->lo)) {
            return false;
        }
    }
    if (hi->type != J_NULL) {
        op->bounded_hi = true;
        if (!read_keyname(p, hi, &op->hi)) {
            return false;
        }
    }
    if (items->type != J_ARRAY) {
        return complain(p, "list of pairs expected");
    }
    if (from && from->type != J_ARRAY) {
        return complain(p, "\"from\" of a scan is a list");
    }
    op->item = xcalloc((size_t)length(items), sizeof *op->item);
    const struct json *f = from ? from->child : NULL;
    for (const struct json *c = items->child; c; c = c->next) {
        struct item *it = &op->item[op->nitem++];
        it->from = NO_HINT;
        if (c->type != J_ARRAY || length(c) != 2) {
            return complain(p, "pair expected");
        }
        it->key = read_key(p, element(c, 0));
        it->is_null = element(c, 1)->type == J_NULL;
        if (it->key == NONE || !read_value(p, element(c, 1), &it->v)) {
            return false;
        }
        if (from) {
            if (!f) {
                return complain(p, "\"from\" shorter than the result");
            }
            it->from = read_from(p, f);
            f = f->next;
        }
    }
    if (f) {
        return complain(p, "\"from\" longer than the result");
    }
    if (vset) {
        if (vset->type != J_ARRAY) {
            return complain(p, "\"vset\" is a list");
        }
        op->pin = xcalloc((size_t)length(vset), sizeof *op->pin);
        for (const struct json *c = vset->child; c; c = c->next) {
            if (c->type != J_ARRAY || length(c) != 2) {
                return complain(p, "\"vset\" holds pairs");
            }
            op->pin[op->npin].key = read_key(p, element(c, 0));
            op->pin[op->npin].from = read_from(p, element(c, 1));
            op->npin++;
        }
    }
    return !p->failed;
}

/* Fills *op; *drop for a statement that failed, which neither read nor wrote. */
static bool read_op(struct parse *p, const struct json *j, struct op *op, bool *drop)
{
    memset(op, 0, sizeof *op);
    op->key = NONE;
    op->from = NO_HINT;
    op->v.scalar = NONE;
    if (j->type != J_ARRAY || !j->child || j->child->type != J_STRING) {
        return complain(p, "operation expected");
    }
    const char *name = j->child->text;
    int n = length(j);
    const struct json *last = element(j, n - 1), *attr = NULL;
    if (last->type == J_OBJECT) {
        attr = last;
        n--;
    }
    op->lock = flag(attr, "lock", false);
    op->tomb = flag(attr, "tomb", false);
    *drop = !flag(attr, "ok", true);
    op->undone = flag(attr, "undone", false) && !*drop;
    const struct json *ver = attr ? member(attr, "ver") : NULL;
    if (ver && ver->type != J_NULL) {
        op->has_ver = true;
        if (!read_integer(p, ver, &op->ver)) {
            return false;
        }
    }
    if (strcmp(name, "scan") == 0) {
        /* A failed statement may come without its result. */
        if (n == 3 && *drop) {
            return true;
        }
        op->done = true;
        return n == 4 ? read_range(p, j, op, attr) : complain(p, "scan: from, to, result");
    }
    if (strcmp(name, "iter") == 0) {
        if (n == 3 && *drop) {
            return true;
        }
        if (n != 5 || (element(j, 4)->type != J_TRUE && element(j, 4)->type != J_FALSE)) {
            return complain(p, "iter: from, to, result, done");
        }
        op->done = element(j, 4)->type == J_TRUE;
        return read_range(p, j, op, attr);
    }
    if (n < 2) {
        return complain(p, "key expected");
    }
    op->key = read_key(p, element(j, 1));
    if (op->key == NONE) {
        return false;
    }
    const struct json *v = n > 2 ? element(j, 2) : NULL;
    if (strcmp(name, "r") == 0 && n <= 3) {
        op->kind = v ? OP_READ : OP_READ_UNKNOWN;
        if (v && !read_value(p, v, &op->v)) {
            return false;
        }
        const struct json *from = attr ? member(attr, "from") : NULL;
        if (from) {
            op->from = read_from(p, from);
        }
        return !p->failed;
    }
    if (strcmp(name, "w") == 0 && n == 3) {
        op->kind = OP_WRITE;
        return v->type == J_NULL ? complain(p, "a delete is [\"d\",k]") : read_value(p, v, &op->v);
    }
    if (strcmp(name, "d") == 0 && n == 2) {
        op->kind = OP_DELETE;
        return true;
    }
    if (strcmp(name, "append") == 0 && n == 3) {
        op->kind = OP_APPEND;
        return is_scalar(v) ? read_value(p, v, &op->v) : complain(p, "append takes a scalar");
    }
    return complain(p, "unknown operation \"%s\"", name);
}

static void op_free(struct op *op)
{
    free(op->lo.text);
    free(op->hi.text);
    free(op->item);
    free(op->pin);
}

static bool read_stamp(struct parse *p, const struct json *j, struct txn *t, int slot)
{
    if (!j || j->type == J_NULL) {
        return true;
    }
    t->has[slot] = true;
    return read_integer(p, j, &t->time[slot]);
}

static bool read_times(struct parse *p, const struct json *j, struct txn *t)
{
    const struct json *times = member(j, "times");
    if (times && times->type != J_NULL) {
        if (times->type != J_ARRAY || length(times) != 4) {
            return complain(p, "\"times\" has four entries");
        }
        for (int i = 0; i < 4; i++) {
            if (!read_stamp(p, element(times, i), t, i)) {
                return false;
            }
        }
    } else {
        /* One instant each: the call and its return coincide. */
        for (int i = 0; i < 4; i++) {
            if (!read_stamp(p, member(j, i < 2 ? "begin" : "end"), t, i)) {
                return false;
            }
        }
    }
    const struct json *start = member(j, "start_ts"), *commit = member(j, "commit_ts");
    t->has_start_ts = start && start->type == J_INT;
    t->has_commit_ts = commit && commit->type == J_INT;
    return (!t->has_start_ts || read_integer(p, start, &t->start_ts)) &&
           (!t->has_commit_ts || read_integer(p, commit, &t->commit_ts));
}

static void read_level(const struct json *j, char *out, size_t cap)
{
    const struct json *level = member(j, "level");
    if (level) {
        snprintf(out, cap, "%s", level->type == J_STRING ? level->text : "?");
    }
}

/* Writes of the transaction that was read last which a savepoint undid: they install nothing.  A
 * read that was undone, too, counts unless it returned what such a write of its key had left, or
 * follows an append that was undone; a scan counts if no write was undone before it. */
struct undone {
    int n;
    struct {
        int key;
        enum op_kind kind;
        int scalar;
    } at[MAX_OPS];
};

static bool rolled_back(struct undone *u, const struct op *op)
{
    bool wrote = op->kind == OP_WRITE || op->kind == OP_DELETE || op->kind == OP_APPEND;
    if (wrote) {
        if (u->n < MAX_OPS) {
            u->at[u->n].key = op->key;
            u->at[u->n].kind = op->kind;
            u->at[u->n++].scalar = op->kind == OP_WRITE ? op->v.scalar : NONE;
        }
        return true;
    }
    if (op->kind == OP_RANGE) {
        return u->n > 0;
    }
    for (int i = 0; i < u->n; i++) {
        if (u->at[i].key == op->key && u->at[i].kind == OP_APPEND) {
            return true;
        }
    }
    for (int i = 0; i < u->n && op->kind == OP_READ; i++) {
        if (u->at[i].key == op->key && op->v.scalar == u->at[i].scalar) {
            return true; /* savepoints nest: any of them may have been the latest then */
        }
    }
    return false;
}

static bool read_txn(struct parse *p, const struct json *j)
{
    oracle *o = p->o;
    const struct json *session = member(j, "session"), *id = member(j, "id");
    const struct json *status = member(j, "status"), *ops = member(j, "ops");
    o->txn = xrealloc(o->txn, ((size_t)o->ntxn + 1) * sizeof *o->txn);
    struct txn *t = &o->txn[o->ntxn++];
    memset(t, 0, sizeof *t);
    read_level(j, t->level, sizeof t->level);
    if (!session) {
        return complain(p, "\"session\" missing");
    }
    if (!ops || ops->type != J_ARRAY) {
        return complain(p, "\"ops\" missing");
    }
    t->session = read_id(p, session);
    if (id) {
        t->id = read_id(p, id);
    } else {
        char number[24];
        snprintf(number, sizeof number, "%d", p->line);
        t->id = intern(o, 'i', number, strlen(number));
    }
    if (p->failed) {
        return false;
    }
    for (int i = 0; i < o->ntxn - 1; i++) {
        if (o->txn[i].id == t->id) {
            return complain(p, "id used twice");
        }
    }
    if (status) {
        const char *s = status->type == J_STRING ? status->text : "";
        if (strcmp(s, "committed") != 0 && strcmp(s, "aborted") != 0 && strcmp(s, "unknown") != 0) {
            return complain(p, "bad status");
        }
        t->status = *s == 'c' ? COMMITTED : *s == 'a' ? ABORTED : UNKNOWN;
    }
    if (!read_times(p, j, t)) {
        return false;
    }
    t->op = xcalloc((size_t)length(ops), sizeof *t->op);
    struct undone gone = {0};
    for (const struct json *c = ops->child; c; c = c->next) {
        bool drop = false;
        bool good = read_op(p, c, &t->op[t->nop], &drop);
        t->nop++;
        if (!good) {
            return false;
        }
        if (drop || (t->op[t->nop - 1].undone && rolled_back(&gone, &t->op[t->nop - 1]))) {
            t->nop--;
            op_free(&t->op[t->nop]);
            memset(&t->op[t->nop], 0, sizeof *t->op);
        }
    }
    return true;
}

static bool give(struct parse *p, int key, const struct json *j)
{
    oracle *o = p->o;
    o->given = xrealloc(o->given, ((size_t)o->ngiven + 1) * sizeof *o->given);
    o->given[o->ngiven].key = key;
    return key != NONE && read_value(p, j, &o->given[o->ngiven++].v);
}

static bool read_header(struct parse *p, const struct json *j)
{
    const struct json *init = member(j, "init");
    p->o->init_unknown = flag(j, "init_unknown", false);
    read_level(j, p->o->level, sizeof p->o->level);
    if (!init || init->type == J_NULL) {
        return true;
    }
    if (init->type == J_OBJECT) {
        for (const struct json *c = init->child; c; c = c->next) {
            struct json key = {.type = J_STRING, .text = c->name, .len = strlen(c->name)};
            if (!give(p, read_key(p, &key), c)) {
                return false;
            }
        }
        return true;
    }
    if (init->type == J_ARRAY) {
        for (const struct json *c = init->child; c; c = c->next) {
            if (c->type != J_ARRAY || length(c) != 2) {
                return complain(p, "\"init\" holds pairs");
            }
            if (!give(p, read_key(p, element(c, 0)), element(c, 1))) {
                return false;
            }
        }
        return true;
    }
    return read_value(p, init, &p->o->init_default);
}

static bool read_line(struct parse *p, const char *text, size_t len, bool *first)
{
    struct reader r = {.at = text, .end = text + len};
    skip_space(&r);
    if (r.at == r.end) {
        return true;
    }
    struct json *j = read_json(&r, 0);
    skip_space(&r);
    if (!r.problem && r.at != r.end) {
        fail(&r, "text after the value");
    }
    bool good;
    if (r.problem) {
        good = complain(p, "%s", r.problem);
    } else if (j->type != J_OBJECT) {
        good = complain(p, "object expected");
    } else if (member(j, "ratel")) {
        good = *first ? read_header(p, j) : complain(p, "header not on the first line");
    } else if (member(j, "mark")) {
        good = true;
    } else {
        good = read_txn(p, j);
    }
    *first = false;
    json_free(j);
    return good;
}

static void find_bad_hints(oracle *o);

oracle *oracle_parse(const char *text, size_t len, char *err, size_t errcap)
{
    oracle *o = xcalloc(1, sizeof *o);
    struct parse p = {.o = o, .err = err, .errcap = errcap};
    bool first = true;
    o->init_default.scalar = NONE;
    for (size_t at = 0; at < len;) {
        const char *newline = memchr(text + at, '\n', len - at);
        size_t n = newline ? (size_t)(newline - (text + at)) : len - at;
        p.line++;
        if (!read_line(&p, text + at, n, &first)) {
            oracle_free(o);
            return NULL;
        }
        at += n + 1;
    }
    o->init = xcalloc((size_t)o->nkey, sizeof *o->init);
    for (int k = 0; k < o->nkey; k++) {
        o->init[k] = o->init_default;
    }
    /* "These keys, the rest absent": a map replaces the default, which is absent then. */
    for (int i = 0; i < o->ngiven; i++) {
        o->init[o->given[i].key] = o->given[i].v;
    }
    find_bad_hints(o);
    return o;
}

void oracle_free(oracle *o)
{
    if (o) {
        oracle_forget(o);
    }
    if (!o) {
        return;
    }
    for (int t = 0; t < o->ntxn; t++) {
        for (int i = 0; i < o->txn[t].nop; i++) {
            op_free(&o->txn[t].op[i]);
        }
        free(o->txn[t].op);
    }
    for (int i = 0; i < o->nscalar; i++) {
        free(o->scalar[i].bytes);
    }
    for (int i = 0; i < o->nkey; i++) {
        free(o->key[i].text);
    }
    free(o->txn);
    free(o->scalar);
    free(o->key);
    free(o->init);
    free(o->given);
    free(o);
}

/* -------------------------------------------------------------------------------------------- */
/* Values and effects. */

static bool same(const struct value *a, const struct value *b)
{
    return a->scalar == b->scalar && a->n == b->n &&
           memcmp(a->e, b->e, (size_t)a->n * sizeof a->e[0]) == 0;
}

static bool is_empty(const struct value *v)
{
    return v->scalar == NONE && v->n == 0;
}

static bool is_write(const struct op *op)
{
    return op->kind == OP_WRITE || op->kind == OP_DELETE || op->kind == OP_APPEND;
}

/* False if a list would grow beyond the cap. */
static bool apply(struct value *state, const struct op *op)
{
    if (op->kind == OP_WRITE) {
        *state = op->v;
    } else if (op->kind == OP_DELETE) {
        state->scalar = NONE;
        state->n = 0;
    } else if (op->kind == OP_APPEND) {
        if (state->scalar != NONE) {
            /* The documents are silent; README.md: the scalar becomes the first element. */
            state->n = 1;
            state->e[0] = state->scalar;
            state->scalar = NONE;
        }
        if (state->n == MAX_LIST) {
            return false;
        }
        state->e[state->n++] = op->v.scalar;
    }
    return true;
}

/* Applies what t did to key before its operation `before`. */
static bool apply_own(const struct txn *t, int key, int before, struct value *state)
{
    for (int i = 0; i < before; i++) {
        if (t->op[i].key == key && is_write(&t->op[i]) && !apply(state, &t->op[i])) {
            return false;
        }
    }
    return true;
}

enum own { OWN_NOTHING, OWN_APPENDS, OWN_SETS };

/* What t did to key before its operation `before`: nothing, appends only, or more. */
static enum own own_before(const struct txn *t, int key, int before)
{
    enum own own = OWN_NOTHING;
    for (int i = 0; i < before; i++) {
        if (t->op[i].key == key && is_write(&t->op[i])) {
            if (t->op[i].kind != OP_APPEND) {
                return OWN_SETS;
            }
            own = OWN_APPENDS;
        }
    }
    return own;
}

/* The write of key that t installs: nothing that an aborted transaction wrote is installed, even if
 * it takes part with its reads (H-9). */
static int last_write(const struct txn *t, int key)
{
    for (int i = t->status == ABORTED ? -1 : t->nop - 1; i >= 0; i--) {
        if (t->op[i].key == key && is_write(&t->op[i])) {
            return i;
        }
    }
    return NONE;
}

/* "A key that is ever appended to is a list key", and so is one that is read as a list (5.5). */
static bool mentions_list(const oracle *o, int key)
{
    for (int i = 0; i < o->ngiven; i++) {
        if (o->given[i].key == key && o->given[i].v.is_list) {
            return true;
        }
    }
    for (int t = 0; t < o->ntxn; t++) {
        for (int i = 0; i < o->txn[t].nop; i++) {
            const struct op *op = &o->txn[t].op[i];
            if (op->key == key && (op->kind == OP_APPEND || op->v.is_list)) {
                return true;
            }
            for (int n = 0; n < op->nitem; n++) {
                if (op->item[n].key == key && op->item[n].v.is_list) {
                    return true;
                }
            }
        }
    }
    return false;
}

/* Splits off the own appends: false if the list does not end with them. */
static bool strip_own(const struct txn *t, int key, int before, const struct value *seen,
                      struct value *rest)
{
    struct value own = {.scalar = NONE};
    *rest = *seen;
    if (!apply_own(t, key, before, &own) || seen->scalar != NONE || seen->n < own.n) {
        return false;
    }
    rest->n = seen->n - own.n;
    return memcmp(seen->e + rest->n, own.e, (size_t)own.n * sizeof own.e[0]) == 0;
}

/* -------------------------------------------------------------------------------------------- */
/* Hints that no execution can have (doc/levels.md 4) are found once, whatever the level. */

static int find_txn(const oracle *o, int id)
{
    for (int t = 0; t < o->ntxn; t++) {
        if (o->txn[t].id == id) {
            return t;
        }
    }
    return NO_SUCH;
}

/* Did any operation of t write this content to key?  For a list: append its last element. */
static bool wrote(const struct txn *t, int key, const struct value *v)
{
    for (int i = 0; i < t->nop; i++) {
        const struct op *op = &t->op[i];
        if (op->key != key || !is_write(op)) {
            continue;
        }
        if (op->kind == OP_DELETE ? is_empty(v) : op->kind == OP_WRITE ? same(&op->v, v) : false) {
            return true;
        }
        if (op->kind == OP_APPEND && v->n > 0 && v->e[v->n - 1] == op->v.scalar) {
            return true;
        }
    }
    return false;
}

static bool hint_is_possible(const oracle *o, int reader, int before, int key,
                             const struct value *v, int from)
{
    const struct txn *t = &o->txn[reader];
    struct value seen = *v, rest;
    int writer = from >= 0 ? find_txn(o, from) : from;
    if (from == NO_HINT) {
        return true;
    }
    if (writer == NO_SUCH) {
        return false;
    }
    if (writer != reader && own_before(t, key, before) == OWN_APPENDS &&
        strip_own(t, key, before, &seen, &rest)) {
        seen = rest; /* 5.5: what was read externally is the list less the own appends */
    }
    if (writer == INIT) {
        return o->init_unknown || same(&o->init[key], &seen);
    }
    return wrote(&o->txn[writer], key, &seen);
}

static int returned(const struct op *op, int key)
{
    for (int i = 0; i < op->nitem; i++) {
        if (op->item[i].key == key) {
            return i;
        }
    }
    return NONE;
}

static void find_bad_hints(oracle *o)
{
    const struct value absent = {.scalar = NONE};
    for (int t = 0; t < o->ntxn; t++) {
        const struct txn *tx = &o->txn[t];
        if (tx->has_start_ts && tx->has_commit_ts && tx->start_ts > tx->commit_ts) {
            o->bad_hint = true;
        }
        for (int i = 0; i < tx->nop; i++) {
            const struct op *op = &tx->op[i];
            if (op->kind == OP_READ && !hint_is_possible(o, t, i, op->key, &op->v, op->from)) {
                o->bad_hint = true;
            }
            for (int n = 0; n < op->nitem; n++) {
                const struct item *it = &op->item[n];
                if (!hint_is_possible(o, t, i, it->key, &it->v, it->from)) {
                    o->bad_hint = true;
                }
            }
            for (int n = 0; n < op->npin; n++) {
                int at = returned(op, op->pin[n].key);
                const struct value *v = at == NONE ? &absent : &op->item[at].v;
                if (!hint_is_possible(o, t, i, op->pin[n].key, v, op->pin[n].from)) {
                    o->bad_hint = true;
                }
            }
        }
        /* Two installed versions of one key in one position; an unknown one may not exist. */
        for (int s = 0; s < t; s++) {
            for (int k = 0; k < o->nkey; k++) {
                int a = last_write(&o->txn[s], k), b = last_write(tx, k);
                if (a != NONE && b != NONE && o->txn[s].status == COMMITTED &&
                    tx->status == COMMITTED && o->txn[s].op[a].has_ver && tx->op[b].has_ver &&
                    o->txn[s].op[a].ver == tx->op[b].ver) {
                    o->bad_hint = true;
                }
            }
        }
    }
}

/* -------------------------------------------------------------------------------------------- */
/* Levels: a condition and which order of transactions counts as dependency. */

enum condition {
    RU,
    RC,
    CS,
    MAV,
    PL2L,
    PL2PLUS,
    RR,
    PL3U,
    RA,
    CC,
    PC,
    NLU,
    UA,
    SI,
    SER,
    LIN, /* each key by itself: section 5, LIN-1 */
    BC,
    MDB_LOOSE,
    MDB_TIGHT,
    RYW,
    MR,
    MW,
    WFR,
    MIX,        /* a level for each transaction: doc/levels.md, "Mixed levels" */
    MIX_PG,     /* the same by PostgreSQL's rows */
    TRUSTED_SI, /* by the database's timestamps: doc/levels.md 4, "Hints" */
    TRUSTED_SER
};

/* "Asked": session order as the question says. */
enum order { PLAIN, SESSION, REALTIME, ASKED };

struct level {
    enum condition condition;
    enum order order;
};

static const struct {
    const char *name;
    struct level level;
} names[] = {
    {"read-uncommitted", {RU, ASKED}},
    {"ru", {RU, ASKED}},
    {"read-committed", {RC, ASKED}},
    {"rc", {RC, ASKED}},
    {"cursor-stability", {CS, ASKED}},
    {"cs", {CS, ASKED}},
    {"monotonic-atomic-view", {MAV, ASKED}},
    {"mav", {MAV, ASKED}},
    {"monotonic-view", {PL2L, ASKED}},
    {"consistent-view", {PL2PLUS, ASKED}},
    {"forward-consistent-view", {PL2PLUS, REALTIME}},
    {"fcv", {PL2PLUS, REALTIME}},
    {"repeatable-read", {RR, ASKED}},
    {"rr", {RR, ASKED}},
    {"update-serializable", {PL3U, ASKED}},
    {"read-atomic", {RA, ASKED}},
    {"ra", {RA, ASKED}},
    {"causal", {CC, ASKED}},
    {"cc", {CC, ASKED}},
    {"tcc", {CC, ASKED}},
    {"prefix", {PC, ASKED}},
    {"pc", {PC, ASKED}},
    {"update-atomic", {UA, ASKED}},
    {"ua", {UA, ASKED}},
    {"no-lost-update", {NLU, ASKED}},
    {"nlu", {NLU, ASKED}},
    {"parallel-snapshot-isolation", {PL2PLUS, SESSION}},
    {"psi", {PL2PLUS, SESSION}},
    {"snapshot-isolation", {SI, ASKED}},
    {"si", {SI, ASKED}},
    {"generalized-snapshot-isolation", {BC, PLAIN}},
    {"gsi", {BC, PLAIN}},
    {"ansi-si", {BC, PLAIN}},
    {"prefix-consistent-snapshot-isolation", {BC, SESSION}},
    {"pcsi", {BC, SESSION}},
    {"strong-snapshot-isolation", {BC, REALTIME}},
    {"strong-si", {BC, REALTIME}},
    {"serializable", {SER, ASKED}},
    {"ser", {SER, ASKED}},
    {"strict-serializable", {SER, REALTIME}},
    {"sser", {SER, REALTIME}},
    {"strong-serializable", {SER, REALTIME}},
    {"linearizable", {LIN, REALTIME}},
    {"lin", {LIN, REALTIME}},
    {"innodb-repeatable-read", {MDB_LOOSE, PLAIN}},
    {"mdb-rr", {MDB_LOOSE, PLAIN}},
    {"innodb-repeatable-read-tight", {MDB_TIGHT, PLAIN}},
    {"mdb-rr-tight", {MDB_TIGHT, PLAIN}},
    {"read-your-writes", {RYW, SESSION}},
    {"monotonic-reads", {MR, SESSION}},
    {"monotonic-writes", {MW, SESSION}},
    {"writes-follow-reads", {WFR, SESSION}},
    {"mixed", {MIX, ASKED}},
    {"mixed-pg", {MIX_PG, ASKED}},
    {"trusted-snapshot-isolation", {TRUSTED_SI, ASKED}},
    {"trusted-serializable", {TRUSTED_SER, ASKED}},
    {"pl-1", {RU, PLAIN}},
    {"pl-2", {RC, PLAIN}},
    {"pl-cs", {CS, PLAIN}},
    {"pl-2l", {PL2L, PLAIN}},
    {"pl-2+", {PL2PLUS, PLAIN}},
    {"pl-2.99", {RR, PLAIN}},
    {"pl-3u", {PL3U, PLAIN}},
    {"pl-si", {SI, PLAIN}},
    {"pl-3", {SER, PLAIN}},
    {"adya-si", {SI, PLAIN}},
    {"pl-fcv", {PL2PLUS, REALTIME}},
    {"pl-ss", {SER, REALTIME}},
};

static bool find_level(const char *name, int session_order, struct level *out)
{
    static const char session[] = "strong-session-", realtime[] = "realtime-";
    enum order prefix = ASKED;
    if (strncmp(name, session, sizeof session - 1) == 0) {
        prefix = SESSION;
        name += sizeof session - 1;
    } else if (strncmp(name, realtime, sizeof realtime - 1) == 0) {
        prefix = REALTIME;
        name += sizeof realtime - 1;
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i].name, name) != 0) {
            continue;
        }
        *out = names[i].level;
        if (prefix != ASKED) {
            if (out->condition == MDB_LOOSE || out->condition == MDB_TIGHT ||
                out->condition == LIN) {
                return false; /* "innodb-* never" have session order: there is no such level */
            }
            if (out->order != REALTIME) {
                out->order = prefix;
            }
        } else if (out->order == ASKED) {
            out->order = session_order ? SESSION : PLAIN;
        }
        return true;
    }
    return false;
}

/* -------------------------------------------------------------------------------------------- */
/* Relations over at most 64 nodes: row[a] has bit b iff a -> b. */

typedef uint64_t row;

static row bit(int i)
{
    return (row)1 << i;
}

static void close_relation(row *r, int n)
{
    for (int k = 0; k < n; k++) {
        for (int i = 0; i < n; i++) {
            if (r[i] & bit(k)) {
                r[i] |= r[k];
            }
        }
    }
}

static bool irreflexive(const row *r, int n)
{
    for (int i = 0; i < n; i++) {
        if (r[i] & bit(i)) {
            return false;
        }
    }
    return true;
}

static bool acyclic(const row *r, int n)
{
    row c[64];
    memcpy(c, r, (size_t)n * sizeof c[0]);
    close_relation(c, n);
    return irreflexive(c, n);
}

/* out = a ; b */
static void compose(row *out, const row *a, const row *b, int n)
{
    for (int i = 0; i < n; i++) {
        out[i] = 0;
        for (int j = 0; j < n; j++) {
            if (a[i] & bit(j)) {
                out[i] |= b[j];
            }
        }
    }
}

/* -------------------------------------------------------------------------------------------- */
/* One choice of outcomes and of initial values, and the search for a witness under it. */

enum class { ITEM, PRED };

struct obligation {
    int txn; /* node */
    int pos; /* operation within the transaction; a scan or iterator is one event */
    int key;
    struct value v;
    enum class class;
    bool pinned; /* read after own appends: sees the version just before its transaction (5.5) */
    int writer;  /* hint: node, INIT, NO_HINT, or NO_SUCH for one that takes no part */
    bool tomb;
    int sub[2]; /* sub-transaction for MDB-RR loose and tight */
};

#define T ORACLE_MAX_TXNS

struct witness {
    row ww[T], wr[T], item[T], pred[T], imm[T]; /* imm: immediate version successor */
};

struct search {
    const oracle *o;
    const oracle_question *q;
    struct level level;
    int n;        /* nodes: the transactions taken as committed */
    int txn[T];   /* node -> transaction */
    int node[64]; /* transaction -> node or NONE */
    row so[T], rt[T], extra[T];
    row rt_cc[T], rt_bc[T]; /* commit => commit, begin => commit (4.3) */
    row readonly;
    struct value *init; /* by key */
    struct obligation ob[MAX_OBLIGATIONS];
    int nob;
    row *installers;  /* by key, mask of nodes */
    row (*before)[T]; /* by key and node: hints say these come earlier in the key */
    int *sequence;    /* keys in the order they are decided */
    bool *list;       /* by key: some installer appends */
    /* the witness, as far as it is decided */
    int rf[MAX_OBLIGATIONS]; /* node, INIT, or NO_HINT while open */
    row added[2 * T + 32];   /* edges that were chosen: begins, commits, points (doc/modules.md) */
    row depends[T];          /* of these, those that are steps; then joined */
    row joined[T];
    int (*rank)[T]; /* by key and node: 1.. in the version order, 0 if not decided */
    bool split;     /* looking for the split witness of 5.2 */
    long budget;
    bool too_big;
};

/* Is node s's version of key later than the version of w (node or INIT)? */
static bool later(const struct search *s, int key, int w, int than)
{
    return s->rank[key][w] > (than == INIT ? 0 : s->rank[key][than]);
}

/* MAV (4.1): T reads from S, then x from S' != S although S installs x: S must be earlier at x. */
static bool no_otv(const struct search *s)
{
    for (int a = 0; a < s->nob; a++) {
        for (int b = 0; b < s->nob; b++) {
            const struct obligation *r1 = &s->ob[a], *r2 = &s->ob[b];
            int s1 = s->rf[a], s2 = s->rf[b];
            if (r1->txn != r2->txn || r1->pos >= r2->pos || s1 < 0 || s2 == NO_HINT || s1 == s2) {
                continue;
            }
            if ((s->installers[r2->key] & bit(s1)) && later(s, r2->key, s1, s2)) {
                return false;
            }
        }
    }
    return true;
}

/* CS (4.1): an item read of x by a writer of x, and another version between the two. */
static bool no_g_cursor(const struct search *s)
{
    for (int a = 0; a < s->nob; a++) {
        const struct obligation *r = &s->ob[a];
        if (s->rf[a] == NO_HINT || r->class != ITEM || !(s->installers[r->key] & bit(r->txn))) {
            continue;
        }
        for (int u = 0; u < s->n; u++) {
            if (u != r->txn && (s->installers[r->key] & bit(u)) && later(s, r->key, u, s->rf[a]) &&
                later(s, r->key, r->txn, u)) {
                return false;
            }
        }
    }
    return true;
}

/* PL-2L (4.1): no cycle with one rw, leaving a read event of ti, in ti's unfolded graph. */
static bool no_g_monotonic_at(const struct search *s, const struct witness *w, int ti)
{
    const struct txn *t = &s->o->txn[s->txn[ti]];
    row g[64] = {0};
    int events = t->nop, first = s->n, n = s->n + events;
    assert(n <= 64);
    if (events == 0) {
        return true;
    }
    for (int a = 0; a < s->n; a++) {
        if (a == ti) {
            continue;
        }
        g[a] |= (w->ww[a] | w->wr[a] | s->extra[a]) & ~bit(ti);
        if (s->extra[a] & bit(ti)) {
            g[a] |= bit(first);
        }
        if (s->extra[ti] & bit(a)) {
            g[n - 1] |= bit(a);
        }
    }
    for (int i = 0; i + 1 < events; i++) {
        g[first + i] |= bit(first + i + 1);
    }
    /* Its versions are those of its last writes. */
    for (int k = 0; k < s->o->nkey; k++) {
        if (!(s->installers[k] & bit(ti)) || !s->rank[k][ti]) {
            continue;
        }
        int event = first + last_write(t, k);
        for (int a = 0; a < s->n; a++) {
            if (a != ti && (s->installers[k] & bit(a))) {
                if (later(s, k, a, ti)) {
                    g[event] |= bit(a);
                } else {
                    g[a] |= bit(event);
                }
            }
        }
        for (int b = 0; b < s->nob; b++) {
            if (s->ob[b].key == k && s->rf[b] == ti) {
                g[event] |= bit(s->ob[b].txn);
            }
        }
    }
    for (int b = 0; b < s->nob; b++) {
        if (s->ob[b].txn == ti && s->rf[b] >= 0) {
            g[s->rf[b]] |= bit(first + s->ob[b].pos);
        }
    }
    close_relation(g, n);
    for (int b = 0; b < s->nob; b++) {
        const struct obligation *r = &s->ob[b];
        if (r->txn != ti || s->rf[b] == NO_HINT) {
            continue;
        }
        for (int u = 0; u < s->n; u++) {
            if (u != ti && (s->installers[r->key] & bit(u)) && later(s, r->key, u, s->rf[b]) &&
                (g[u] & bit(first + r->pos))) {
                return false;
            }
        }
    }
    return true;
}

/* PL-3U (4.1): the updates, with each reader alone; with no reader the updates alone. */
static bool no_g_update(const struct search *s, const row *all)
{
    for (int reader = -1; reader < s->n; reader++) {
        row keep = ~s->readonly, g[T];
        if (reader >= 0) {
            if (!(s->readonly & bit(reader))) {
                continue;
            }
            keep |= bit(reader);
        }
        for (int i = 0; i < s->n; i++) {
            g[i] = keep & bit(i) ? all[i] & keep : 0;
        }
        if (!acyclic(g, s->n)) {
            return false;
        }
    }
    return true;
}

/* GSI, SSESSI, STRONG-SI (4.3): begin nodes 0..n-1, commit nodes n..2n-1. */
static bool bc_acyclic(const struct search *s, const struct witness *w)
{
    row g[2 * T] = {0};
    int n = s->n;
    for (int a = 0; a < n; a++) {
        g[a] |= bit(n + a);
        g[n + a] |= w->ww[a] | w->wr[a] | s->extra[a];
        g[a] |= (w->item[a] | w->pred[a] | s->rt_bc[a]) << n;
        g[n + a] |= s->rt_cc[a] << n;
    }
    return acyclic(g, 2 * n);
}

/* The rows of a mixture: RU, RC, RR, SI or SER; NONE for a level that has no row. */
static int own_level(const oracle *o, int t)
{
    static const struct {
        const char *name;
        int level;
    } rows[] = {{"read-uncommitted", RU},
                {"ru", RU},
                {"pl-1", RU},
                {"read-committed", RC},
                {"rc", RC},
                {"pl-2", RC},
                {"rr", RR},
                {"repeatable-read", RR},
                {"pl-2.99", RR},
                {"si", SI},
                {"pl-si", SI},
                {"snapshot-isolation", SI},
                {"adya-si", SI},
                {"ser", SER},
                {"pl-3", SER},
                {"serializable", SER}};
    const char *name = o->txn[t].level[0] ? o->txn[t].level : o->level;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            return rows[i].level;
        }
    }
    return *name ? NONE : SER;
}

/* The row by which node a is judged. */
static int row_of(const struct search *s, int a)
{
    int level = own_level(s->o, s->txn[a]);
    if (s->level.condition != MIX_PG) {
        return level;
    }
    return level == RU || level == RC ? RC : SI;
}

static bool reads_are_ignored(const struct search *s, int a)
{
    return s->level.condition == RU || (s->level.condition == MIX && row_of(s, a) == RU);
}

/* MIXPG-2: does a transaction that is not aborted delete the key physically? */
static bool deleted(const oracle *o, int key)
{
    for (int t = 0; t < o->ntxn; t++) {
        for (int i = 0; o->txn[t].status != ABORTED && i < o->txn[t].nop; i++) {
            const struct op *op = &o->txn[t].op[i];
            if (op->kind == OP_DELETE && op->key == key && !op->tomb) {
                return true;
            }
        }
    }
    return false;
}

/* MIX-1 to MIX-5: an order of the commits (nodes n..2n-1) and of the begins of snapshots (0..n-1;
 * of the others the begin is the commit).  Key by key: its version order is one of commits. */
static void mixture_edges(const struct search *s, const struct witness *w, row *g)
{
    int n = s->n, begin[T];
    for (int a = 0; a < n; a++) {
        begin[a] = row_of(s, a) == SI ? a : n + a;
        if (begin[a] == a) {
            g[a] |= bit(n + a);
        }
    }
    for (int a = 0; a < n; a++) {
        int level = row_of(s, a);
        row after = level == RR                   ? w->item[a]
                    : level == SI || level == SER ? w->item[a] | w->pred[a]
                                                  : 0;
        for (int b = 0; b < n; b++) {
            if ((w->wr[a] | s->extra[a]) & bit(b)) {
                g[n + a] |= bit(begin[b]);
            }
            if (after & bit(b)) {
                g[begin[a]] |= bit(n + b);
            }
            for (int k = 0; (w->ww[a] & bit(b)) && k < s->o->nkey; k++) {
                if (!s->rank[k][a] || !s->rank[k][b] || s->rank[k][a] > s->rank[k][b]) {
                    continue;
                }
                bool tight = s->level.condition == MIX || !deleted(s->o, k);
                g[n + a] |= bit(tight ? begin[b] : n + b);
            }
        }
    }
}

static bool mixture_acyclic(const struct search *s, const struct witness *w)
{
    row g[2 * T] = {0};
    mixture_edges(s, w, g);
    return acyclic(g, 2 * s->n);
}

/* doc/modules.md: the same with what was added.  Where a transaction has no begin of its own, its
 * commit stands for it. */
static bool mixture_keeps_added(const struct search *s, const struct witness *w)
{
    row g[2 * T + 32] = {0};
    int n = s->n, points = 2 * n;
    mixture_edges(s, w, g);
    for (int a = 0; a < points + 32; a++) {
        int from = a < n && row_of(s, a) != SI ? n + a : a;
        row to = s->added[a];
        for (int b = 0; b < n; b++) {
            if (to & bit(b) && row_of(s, b) != SI) {
                to = (to & ~bit(b)) | bit(n + b);
            }
        }
        /* (that its begin comes before its commit says nothing there) */
        g[from] |= from != a ? to & ~bit(n + a) : to;
    }
    return acyclic(g, points + 32);
}

/* MIXPG-3: the serializable transactions alone. */
static bool serial_among(const struct search *s, const struct witness *w)
{
    row g[T] = {0}, serial = 0;
    for (int a = 0; a < s->n; a++) {
        if (own_level(s->o, s->txn[a]) == SER) {
            serial |= bit(a);
        }
    }
    for (int a = 0; a < s->n; a++) {
        bool sessions = s->level.order != PLAIN;
        g[a] = w->ww[a] | w->wr[a] | (sessions ? s->so[a] : 0);
    }
    for (int i = 0; i < s->nob; i++) {
        const struct obligation *r = &s->ob[i];
        if (s->rf[i] == NO_HINT) {
            continue; /* not decided */
        }
        int at = s->rf[i] == INIT ? 0 : s->rank[r->key][s->rf[i]];
        for (int u = 0; u < s->n; u++) {
            if (u != r->txn && s->rank[r->key][u] == at + 1) {
                g[r->txn] |= bit(u);
            }
        }
    }
    for (int a = 0; a < s->n; a++) {
        g[a] = serial & bit(a) ? g[a] & serial : 0;
    }
    return acyclic(g, s->n);
}

/* doc/modules.md: is there an order of the level's events that keeps what was added?  The level's
 * own edges: all of them lead from place to place (one place a transaction), or from commits to
 * begins, from begins to commits (rw), and at PC from commit to commit (ww). */
static bool keeps_added(const struct search *s, const struct witness *w)
{
    row g[2 * T + 32] = {0};
    int n = s->n, points = 2 * n;
    if (s->level.condition == MIX || s->level.condition == MIX_PG) {
        return mixture_keeps_added(s, w);
    }
    bool events = s->level.condition == SI || s->level.condition == BC || s->level.condition == PC;
    bool item = s->level.condition == RR || s->level.condition == SER;
    bool pred = s->level.condition == SER;
    for (int a = 0; a < points + 32; a++) {
        g[a] |= s->added[a];
    }
    for (int a = 0; a < n; a++) {
        row dep = w->wr[a] | s->extra[a], rw = w->item[a] | w->pred[a];
        g[a] |= bit(n + a);
        if (!events) {
            /* one place: the commit stands for both, so what leaves or enters the begin does so
             * there */
            g[n + a] |= s->added[a] & ~bit(n + a);
            dep |= w->ww[a] | (item ? w->item[a] : 0) | (pred ? w->pred[a] : 0);
            g[n + a] |= dep << n;
            continue;
        }
        g[n + a] |= dep | (s->level.condition == PC ? w->ww[a] << n : w->ww[a]);
        g[a] |= rw << n;
        if (s->level.condition == BC) {
            g[a] |= s->rt_bc[a] << n;
            g[n + a] |= s->rt_cc[a] << n;
        }
    }
    if (!events) {
        row begins = bit(n) - 1;
        for (int a = 0; a < points + 32; a++) {
            row to = g[a] & begins;
            g[a] = (g[a] & ~begins) | to << n;
        }
        for (int a = 0; a < n; a++) {
            g[a] = 0;
        }
    }
    return acyclic(g, points + 32);
}

/* Which sub-transaction writes t's version of key, loose (0) or tight (1). */
static int writing_sub(const struct txn *t, int upto, int key, int tight)
{
    int sub = 0, found = 0;
    for (int i = 0; i <= upto; i++) {
        if (t->op[i].lock || is_write(&t->op[i])) {
            sub = tight ? 1 : sub + 1;
        }
        if (t->op[i].key == key && is_write(&t->op[i])) {
            found = sub;
        }
    }
    return found;
}

/* MDB-RR (5.2): dep and rw_item between sub-transactions, which follow each other. */
static bool split_acyclic(const struct search *s)
{
    row g[MAX_SUBS] = {0};
    int tight = s->level.condition == MDB_TIGHT, base[T + 1] = {0};
    for (int a = 0; a < s->n; a++) {
        const struct txn *t = &s->o->txn[s->txn[a]];
        int subs = 1;
        for (int i = 0; i < t->nop; i++) {
            if (t->op[i].lock || is_write(&t->op[i])) {
                subs = tight ? 2 : subs + 1;
            }
        }
        base[a + 1] = base[a] + subs;
        assert(base[a + 1] <= MAX_SUBS);
        for (int i = base[a]; i + 1 < base[a + 1]; i++) {
            g[i] |= bit(i + 1);
        }
    }
    for (int k = 0; k < s->o->nkey; k++) {
        int at[T];
        for (int a = 0; a < s->n; a++) {
            const struct txn *t = &s->o->txn[s->txn[a]];
            at[a] = base[a] + writing_sub(t, t->nop - 1, k, tight);
        }
        for (int a = 0; a < s->n; a++) {
            for (int b = 0; b < s->n; b++) {
                if (a != b && s->rank[k][a] && s->rank[k][b] && later(s, k, b, a)) {
                    g[at[a]] |= bit(at[b]);
                }
            }
        }
        for (int i = 0; i < s->nob; i++) {
            const struct obligation *r = &s->ob[i];
            if (r->key != k || s->rf[i] == NO_HINT) {
                continue;
            }
            int me = base[r->txn] + r->sub[tight];
            if (s->rf[i] >= 0) {
                g[at[s->rf[i]]] |= bit(me);
            }
            for (int u = 0; u < s->n; u++) {
                if (r->class == ITEM && u != r->txn && s->rank[k][u] && later(s, k, u, s->rf[i])) {
                    g[me] |= bit(at[u]);
                }
            }
        }
    }
    return acyclic(g, base[s->n]);
}

/* Asks the level's condition of the decided part of the witness. */
static bool level_admits(struct search *s, const struct witness *w)
{
    row dep[T] = {0}, base[T] = {0}, rw[T] = {0}, x[T] = {0}, y[T] = {0};
    int n = s->n;
    if (s->budget-- <= 0) {
        s->too_big = true;
        return false;
    }
    if (s->split) {
        return split_acyclic(s);
    }
    for (int i = 0; i < n; i++) {
        dep[i] = w->ww[i] | w->wr[i] | s->extra[i];
        base[i] = w->wr[i] | s->extra[i];
        rw[i] = w->item[i] | w->pred[i];
    }
    if (!acyclic(dep, n)) {
        return false; /* part of every condition; at RU wr is empty */
    }
    switch (s->level.condition) {
    case RU:
    case RC:
    case MDB_LOOSE:
    case MDB_TIGHT: return true;
    case TRUSTED_SI:
    case TRUSTED_SER: return false; /* they have no witness to look for */
    case RYW:                       /* doc/levels.md 5, "Session guarantees" */
        compose(x, s->so, rw, n);
        return irreflexive(x, n);
    case MR:
        compose(y, w->wr, s->so, n);
        compose(x, y, rw, n);
        return irreflexive(x, n);
    case MW:
        compose(y, s->so, w->wr, n);
        compose(x, y, rw, n);
        return irreflexive(x, n);
    case WFR:
        compose(y, w->wr, s->so, n);
        compose(base, y, w->wr, n);
        compose(x, base, rw, n);
        return irreflexive(x, n);
    case CS: return no_g_cursor(s);
    case MAV: return no_otv(s);
    case PL2L:
        for (int i = 0; i < n; i++) {
            if (!no_g_monotonic_at(s, w, i)) {
                return false;
            }
        }
        return true;
    case PL2PLUS:
        close_relation(dep, n);
        compose(x, dep, rw, n);
        return irreflexive(x, n);
    case RR:
        for (int i = 0; i < n; i++) {
            dep[i] |= w->item[i];
        }
        return acyclic(dep, n);
    case PL3U:
        for (int i = 0; i < n; i++) {
            dep[i] |= rw[i];
        }
        return no_g_update(s, dep);
    case RA: compose(x, base, rw, n); return irreflexive(x, n);
    case CC:
        close_relation(base, n);
        compose(x, base, rw, n);
        return irreflexive(x, n);
    case PC:
        compose(x, base, rw, n);
        for (int i = 0; i < n; i++) {
            x[i] |= base[i] | w->ww[i];
        }
        return acyclic(x, n);
    case NLU:
        for (int i = 0; i < n; i++) {
            y[i] = base[i] | w->imm[i];
        }
        compose(x, y, rw, n);
        return irreflexive(x, n);
    case UA: compose(x, dep, rw, n); return irreflexive(x, n);
    case SI:
        compose(x, dep, rw, n);
        for (int i = 0; i < n; i++) {
            x[i] |= dep[i];
        }
        return acyclic(x, n);
    case SER:
    case LIN:
        for (int i = 0; i < n; i++) {
            dep[i] |= rw[i];
        }
        return acyclic(dep, n);
    case BC: return bc_acyclic(s, w);
    case MIX: return mixture_acyclic(s, w);
    case MIX_PG: return mixture_acyclic(s, w) && serial_among(s, w);
    }
    return false;
}

static bool admissible(struct search *s, const struct witness *w)
{
    return level_admits(s, w) && (!s->o->nadded || s->split || keeps_added(s, w));
}

/* RU (4.1, 5.5): the order of the elements of a committed list read constrains the version order
 * of its key.  An element may come from any transaction that wrote it; one that takes no part
 * constrains nothing.  Taking the earliest possible writer each time is best, so no search. */
static bool list_order_ok(const struct search *s, int key, int reader, const struct value *v,
                          bool own)
{
    int reached = 0;
    for (int i = 0; i < v->n; i++) {
        int best = INT_MAX;
        bool free_choice = false, anyone = false;
        for (int j = 0; j < s->init[key].n; j++) {
            if (s->init[key].e[j] == v->e[i] && reached == 0) {
                best = 0;
            }
            anyone |= s->init[key].e[j] == v->e[i];
        }
        for (int t = 0; t < s->o->ntxn; t++) {
            const struct txn *tx = &s->o->txn[t];
            for (int k = 0; k < tx->nop; k++) {
                const struct op *op = &tx->op[k];
                bool hit = op->key == key && ((op->kind == OP_APPEND || op->kind == OP_WRITE) &&
                                              op->v.scalar == v->e[i]);
                for (int j = 0; op->key == key && op->kind == OP_WRITE && j < op->v.n; j++) {
                    hit |= op->v.e[j] == v->e[i];
                }
                if (!hit) {
                    continue;
                }
                anyone = true;
                if (s->node[t] == NONE || s->o->txn[t].status == ABORTED) {
                    free_choice = true;
                } else if (s->rank[key][s->node[t]] >= reached && s->rank[key][s->node[t]] < best) {
                    best = s->rank[key][s->node[t]];
                }
            }
        }
        if (free_choice || !anyone) {
            continue; /* nobody at all: garbage, which is judged elsewhere */
        }
        if (best == INT_MAX) {
            return false;
        }
        reached = best;
    }
    /* A read after own appends shows its transaction's place. */
    return !own || reached <= s->rank[key][reader];
}

static bool lists_ok(const struct search *s, int key)
{
    for (int a = 0; a < s->n; a++) {
        const struct txn *t = &s->o->txn[s->txn[a]];
        for (int i = 0; reads_are_ignored(s, a) && i < t->nop; i++) {
            const struct op *op = &t->op[i];
            bool own = t->status != ABORTED && own_before(t, key, i) == OWN_APPENDS;
            if (op->kind == OP_READ && op->key == key && !list_order_ok(s, key, a, &op->v, own)) {
                return false;
            }
            for (int k = 0; k < op->nitem; k++) {
                if (op->item[k].key == key && !list_order_ok(s, key, a, &op->item[k].v, own)) {
                    return false;
                }
            }
        }
    }
    return true;
}

static bool decide_key(struct search *s, int index, const struct witness *w);

struct key_state {
    int key, m;
    int order[T];
    struct value state[T + 1]; /* state[0] is the initial one */
    int reads[MAX_OBLIGATIONS];
    int nread;
};

/* May obligation r see the version at position p of the key's order (0: the initial one)? */
static bool candidate(const struct search *s, const struct key_state *k, const struct obligation *r,
                      int p)
{
    int writer = p == 0 ? INIT : k->order[p - 1];
    if (writer == r->txn || !same(&k->state[p], &r->v)) {
        return false;
    }
    if (r->pinned && p + 1 != s->rank[k->key][r->txn]) {
        return false;
    }
    if (r->writer != NO_HINT && r->writer != writer) {
        return false;
    }
    if (r->tomb) {
        if (writer == INIT) {
            return false;
        }
        const struct txn *t = &s->o->txn[s->txn[writer]];
        return t->op[last_write(t, k->key)].tomb;
    }
    return true;
}

static bool choose_writers(struct search *s, int index, struct key_state *k, int i,
                           const struct witness *w)
{
    if (i == k->nread) {
        return decide_key(s, index + 1, w);
    }
    int read = k->reads[i];
    const struct obligation *r = &s->ob[read];
    for (int p = 0; p <= k->m; p++) {
        if (!candidate(s, k, r, p)) {
            continue;
        }
        struct witness next = *w;
        s->rf[read] = p == 0 ? INIT : k->order[p - 1];
        if (p > 0) {
            next.wr[s->rf[read]] |= bit(r->txn);
        }
        for (int later_p = p + 1; later_p <= k->m; later_p++) {
            int u = k->order[later_p - 1];
            if (u != r->txn && r->class == ITEM) {
                next.item[r->txn] |= bit(u);
            } else if (u != r->txn) {
                next.pred[r->txn] |= bit(u);
            }
        }
        if (admissible(s, &next) && choose_writers(s, index, k, i + 1, &next)) {
            return true;
        }
        s->rf[read] = NO_HINT;
        if (s->too_big) {
            return false;
        }
    }
    return false;
}

/* The version order of the key is complete: its states, then its reads. */
static bool order_complete(struct search *s, int index, struct key_state *k,
                           const struct witness *w)
{
    struct witness next = *w;
    k->state[0] = s->init[k->key];
    for (int i = 0; i < k->m; i++) {
        const struct txn *t = &s->o->txn[s->txn[k->order[i]]];
        s->rank[k->key][k->order[i]] = i + 1;
        k->state[i + 1] = k->state[i];
        if (!apply_own(t, k->key, t->nop, &k->state[i + 1])) {
            s->too_big = true;
            return false;
        }
        for (int j = i + 1; j < k->m; j++) {
            next.ww[k->order[i]] |= bit(k->order[j]);
        }
        if (i + 1 < k->m) {
            next.imm[k->order[i]] |= bit(k->order[i + 1]);
        }
    }
    bool good =
        lists_ok(s, k->key) && admissible(s, &next) && choose_writers(s, index, k, 0, &next);
    if (!good) {
        for (int i = 0; i < k->m; i++) {
            s->rank[k->key][k->order[i]] = 0;
        }
    }
    return good;
}

/* Extends the version order by one; `reach` is what dependencies already say. */
static bool extend_order(struct search *s, int index, struct key_state *k, row left,
                         const row *reach, const struct witness *w)
{
    if (!left) {
        return order_complete(s, index, k, w);
    }
    for (int a = 0; a < s->n; a++) {
        bool free_to_go = (left & bit(a)) && !(s->before[k->key][a] & left);
        for (int b = 0; free_to_go && b < s->n; b++) {
            free_to_go = !((left & bit(b)) && b != a && (reach[b] & bit(a)));
        }
        if (!free_to_go) {
            continue;
        }
        k->order[k->m++] = a;
        if (extend_order(s, index, k, left & ~bit(a), reach, w)) {
            return true;
        }
        k->m--;
        if (s->too_big) {
            return false;
        }
    }
    return false;
}

static bool decide_key(struct search *s, int index, const struct witness *w)
{
    row reach[T] = {0};
    if (index == s->o->nkey) {
        return true;
    }
    struct key_state *k = xcalloc(1, sizeof *k);
    k->key = s->sequence[index];
    if (s->level.condition != RU) {
        for (int i = 0; i < s->nob; i++) {
            if (s->ob[i].key == k->key) {
                k->reads[k->nread++] = i;
            }
        }
    }
    /* acyclic(dep) is part of every condition but the split one: skip orders against it. */
    if (!s->split) {
        for (int i = 0; i < s->n; i++) {
            reach[i] = w->ww[i] | w->wr[i] | s->extra[i];
        }
        close_relation(reach, s->n);
    }
    bool good = extend_order(s, index, k, s->installers[k->key], reach, w);
    free(k);
    return good;
}

static bool find_witness(struct search *s, bool split)
{
    struct witness w;
    memset(&w, 0, sizeof w);
    s->split = split;
    for (int i = 0; i < MAX_OBLIGATIONS; i++) {
        s->rf[i] = NO_HINT;
    }
    for (int k = 0; k < s->o->nkey; k++) {
        memset(s->rank[k], 0, sizeof s->rank[k]);
    }
    return admissible(s, &w) && decide_key(s, 0, &w);
}

/* -------------------------------------------------------------------------------------------- */
/* Obligations (doc/levels.md 1, 3, H-8).  Each of these returns false if the history is refuted. */

static bool at_least_rc(const struct search *s, int node)
{
    return !reads_are_ignored(s, node);
}

/* Garbage (2): no operation of any transaction wrote it and it is not initial. */
static bool is_garbage(const struct search *s, int key, const struct value *v)
{
    if (same(&s->init[key], v)) {
        return false;
    }
    if (v->n == 0) {
        for (int t = 0; t < s->o->ntxn; t++) {
            if (wrote(&s->o->txn[t], key, v)) {
                return false;
            }
        }
        return true;
    }
    for (int i = 0; i < v->n; i++) {
        struct value one = {.scalar = NONE, .n = 1, .e = {v->e[i]}};
        struct value plain = {.scalar = v->e[i]};
        bool known = false;
        for (int j = 0; j < s->init[key].n; j++) {
            known |= s->init[key].e[j] == v->e[i];
        }
        for (int t = 0; !known && t < s->o->ntxn; t++) {
            const struct txn *tx = &s->o->txn[t];
            known = wrote(tx, key, &one) || wrote(tx, key, &plain);
            for (int k = 0; !known && k < tx->nop; k++) {
                const struct op *op = &tx->op[k];
                for (int j = 0; op->key == key && op->kind == OP_WRITE && j < op->v.n; j++) {
                    known |= op->v.e[j] == v->e[i];
                }
            }
        }
        if (!known) {
            return true;
        }
    }
    return false;
}

/* How often an element can be in a list at most: as often as the initial content has it and as any
 * transaction, whatever became of it, wrote or appended it. */
static int times_put(const struct search *s, int key, int e)
{
    int times = s->init[key].scalar == e;
    for (int j = 0; j < s->init[key].n; j++) {
        times += s->init[key].e[j] == e;
    }
    for (int t = 0; t < s->o->ntxn; t++) {
        for (int i = 0; i < s->o->txn[t].nop; i++) {
            const struct op *op = &s->o->txn[t].op[i];
            bool puts = op->kind == OP_APPEND || op->kind == OP_WRITE;
            times += puts && op->key == key && op->v.scalar == e;
            for (int j = 0; puts && op->key == key && j < op->v.n; j++) {
                times += op->v.e[j] == e;
            }
        }
    }
    return times;
}

/* C-8: more often than that; what nobody ever put there is garbage, which is judged elsewhere. */
static bool has_duplicates(const struct search *s, int key, const struct value *v)
{
    for (int i = 0; i < v->n; i++) {
        int seen = 0, put = times_put(s, key, v->e[i]);
        for (int j = 0; j < v->n; j++) {
            seen += v->e[j] == v->e[i];
        }
        if (put > 0 && seen > put) {
            return true;
        }
    }
    return false;
}

static bool oblige(struct search *s, int node, int pos, int key, const struct value *v,
                   enum class class, int from, bool tomb)
{
    const struct txn *t = &s->o->txn[s->txn[node]];
    enum own own = own_before(t, key, pos);
    oracle_ryow policy = s->list[key] ? ORACLE_MUST : s->q->ryow; /* 5.1: lists only must */
    struct obligation r = {.txn = node,
                           .pos = pos,
                           .key = key,
                           .v = *v,
                           .class = class,
                           .writer = NO_HINT,
                           .tomb = tomb && is_empty(v)};
    if (!s->o->init_unknown && has_duplicates(s, key, v)) {
        return false; /* at every level, RU included */
    }
    int writer = from >= 0 ? find_txn(s->o, from) : from;
    bool own_hint = writer == s->txn[node];
    if (own == OWN_APPENDS) {
        r.pinned = t->status != ABORTED; /* H-9: it has no place among the versions */
        if (!strip_own(t, key, pos, v, &r.v)) {
            return !at_least_rc(s,
                                node); /* own writes are not judged at RU, nor are they garbage */
        }
        if (own_hint) {
            writer = NO_HINT;
        }
    } else if (own == OWN_SETS && policy != ORACLE_EXTERNAL) {
        struct value mine = {.scalar = NONE};
        if (!apply_own(t, key, pos, &mine)) {
            s->too_big = true;
            return false;
        }
        bool match = same(&mine, v) && (writer == NO_HINT || own_hint);
        if (match) {
            return true;
        }
        if (policy == ORACLE_MUST) {
            return !at_least_rc(s, node);
        }
    }
    if (!at_least_rc(s, node)) {
        return !is_garbage(s, key, &r.v);
    }
    if (writer != NO_HINT) {
        r.writer = writer == INIT ? INIT : s->node[writer] == NONE ? NO_SUCH : s->node[writer];
    }
    /* 5.2: a plain read belongs to the snapshot, a locking one starts a sub-transaction; a list
     * read after own appends belongs to the sub-transaction that appended. */
    for (int tight = 0; tight < 2; tight++) {
        if (t->op[pos].lock) {
            int sub = 0;
            for (int i = 0; i <= pos; i++) {
                sub += t->op[i].lock || is_write(&t->op[i]);
            }
            r.sub[tight] = tight ? 1 : sub;
        } else {
            r.sub[tight] = own == OWN_APPENDS ? writing_sub(t, pos, key, tight) : 0;
        }
    }
    if (s->nob == MAX_OBLIGATIONS) {
        s->too_big = true;
        return false;
    }
    s->ob[s->nob++] = r;
    return true;
}

static bool in_range(const oracle *o, const struct op *op, int key)
{
    const struct keyname *k = &o->key[key];
    if (op->bounded_lo && compare_keys(k, &op->lo) < 0) {
        return false;
    }
    int c = op->bounded_hi ? compare_keys(k, &op->hi) : -1;
    return c < 0 || (c == 0 && op->incl);
}

/* Coverage (1): an iterator left early says nothing past its last item. */
static bool covered(const oracle *o, const struct op *op, int key)
{
    if (!in_range(o, op, key)) {
        return false;
    }
    if (op->done) {
        return true;
    }
    if (op->nitem == 0) {
        return false;
    }
    int c = compare_keys(&o->key[key], &o->key[op->item[op->nitem - 1].key]);
    return op->reverse ? c >= 0 : c <= 0;
}

static bool malformed(const oracle *o, const struct op *op)
{
    for (int i = 0; i < op->nitem; i++) {
        if (!in_range(o, op, op->item[i].key) || op->item[i].is_null) {
            return true;
        }
        if (i > 0) {
            int c = compare_keys(&o->key[op->item[i - 1].key], &o->key[op->item[i].key]);
            if (op->reverse ? c <= 0 : c >= 0) {
                return true;
            }
        }
    }
    return false;
}

static bool oblige_range(struct search *s, int node, int pos)
{
    const struct op *op = &s->o->txn[s->txn[node]].op[pos];
    const struct value absent = {.scalar = NONE};
    if (malformed(s->o, op)) {
        return false; /* at every level, RU included (1) */
    }
    for (int k = 0; k < s->o->nkey; k++) {
        if (!covered(s->o, op, k)) {
            continue;
        }
        int at = returned(op, k);
        int from = at == NONE ? NO_HINT : op->item[at].from;
        for (int i = 0; i < op->npin; i++) {
            if (op->pin[i].key == k) {
                from = op->pin[i].from;
            }
        }
        if (!oblige(s, node, pos, k, at == NONE ? &absent : &op->item[at].v,
                    at == NONE ? PRED : ITEM, from, false)) {
            return false;
        }
    }
    return true;
}

static bool gather(struct search *s)
{
    s->nob = 0;
    for (int a = 0; a < s->n; a++) {
        const struct txn *t = &s->o->txn[s->txn[a]];
        for (int i = 0; i < t->nop; i++) {
            const struct op *op = &t->op[i];
            if (op->kind == OP_RANGE && !oblige_range(s, a, i)) {
                return false;
            }
            if (op->kind == OP_READ &&
                !oblige(s, a, i, op->key, &op->v, ITEM, op->from, op->tomb)) {
                return false;
            }
        }
    }
    return true;
}

/* A register read without candidate needs no search; the search would say the same. */
static bool hopeless(const struct search *s)
{
    for (int i = 0; i < s->nob; i++) {
        const struct obligation *r = &s->ob[i];
        bool found = s->list[r->key] || same(&s->init[r->key], &r->v);
        for (int a = 0; !found && a < s->n; a++) {
            const struct txn *t = &s->o->txn[s->txn[a]];
            struct value v = {.scalar = NONE};
            found = a != r->txn && (s->installers[r->key] & bit(a)) &&
                    apply_own(t, r->key, t->nop, &v) && same(&v, &r->v);
        }
        if (!found) {
            return true;
        }
    }
    return false;
}

/* -------------------------------------------------------------------------------------------- */
/* Orders among the transactions taken as committed (doc/levels.md 1, 4, 10). */

/* a =>hb b: both known, a < b, and b - a at least the drift. */
static bool precedes(const struct search *s, const struct txn *a, int slot_a, const struct txn *b,
                     int slot_b)
{
    if (!a->has[slot_a] || !b->has[slot_b] || a->time[slot_a] >= b->time[slot_b]) {
        return false;
    }
    /* Unsigned: the gap may exceed LLONG_MAX. */
    unsigned long long gap =
        (unsigned long long)b->time[slot_b] - (unsigned long long)a->time[slot_a];
    return s->q->drift <= 0 || gap >= (unsigned long long)s->q->drift;
}

/* LIN-1: the key of a single operation: a read or write of one key, or a read and then a write of
 * it.  NOTHING: no operation at all. */
enum { NOTHING = -1, LARGER = -2 };

static int single_key(const struct txn *t)
{
    if (t->nop == 0) {
        return NOTHING;
    }
    if (t->nop > 2 || t->op[0].kind == OP_RANGE) {
        return LARGER;
    }
    bool reads = t->op[0].kind == OP_READ || t->op[0].kind == OP_READ_UNKNOWN;
    if (t->nop == 2 && !(reads && is_write(&t->op[1]) && t->op[0].key == t->op[1].key)) {
        return LARGER;
    }
    return t->op[0].key;
}

static void derive_orders(struct search *s)
{
    enum { BEGIN_CALL, BEGIN_RETURN, COMMIT_CALL, COMMIT_RETURN };
    s->readonly = 0;
    for (int a = 0; a < s->n; a++) {
        const struct txn *ta = &s->o->txn[s->txn[a]];
        bool writes = false;
        for (int i = 0; i < ta->nop; i++) {
            writes |= ta->status != ABORTED && is_write(&ta->op[i]);
        }
        if (!writes) {
            s->readonly |= bit(a);
        }
        s->so[a] = s->rt[a] = s->rt_cc[a] = s->rt_bc[a] = 0;
        for (int b = 0; b < s->n; b++) {
            const struct txn *tb = &s->o->txn[s->txn[b]];
            bool known_a = ta->status != UNKNOWN, known_b = tb->status != UNKNOWN;
            if (a == b) { /* one that ended before it began is before itself */
                if (known_a && precedes(s, ta, COMMIT_RETURN, ta, BEGIN_CALL)) {
                    s->rt[a] |= bit(a);
                }
                if (known_a && precedes(s, ta, COMMIT_RETURN, ta, COMMIT_CALL)) {
                    s->rt_cc[a] |= bit(a);
                }
                continue;
            }
            /* Nodes stand in file order.  No session or real-time edge leaves the end of an unknown
             * transaction, and its commit takes part in no real-time edge; its begin does (1). */
            /* LIN-1: every key by itself, so nothing orders operations on different keys. */
            if (s->level.condition == LIN &&
                (single_key(ta) != single_key(tb) || single_key(ta) == NOTHING)) {
                continue;
            }
            if (a < b && known_a && ta->session == tb->session) {
                s->so[a] |= bit(b);
            }
            if (known_a && precedes(s, ta, COMMIT_RETURN, tb, BEGIN_CALL)) {
                s->rt[a] |= bit(b);
            }
            if (known_a && known_b && precedes(s, ta, COMMIT_RETURN, tb, COMMIT_CALL)) {
                s->rt_cc[a] |= bit(b);
            }
            if (known_b && precedes(s, ta, BEGIN_RETURN, tb, COMMIT_CALL)) {
                s->rt_bc[a] |= bit(b);
            }
        }
    }
    memcpy(s->joined, s->depends, sizeof s->joined);
    close_relation(s->joined, s->n);
    for (int a = 0; a < s->n; a++) {
        s->extra[a] = s->level.order == PLAIN     ? 0
                      : s->level.order == SESSION ? s->so[a]
                                                  : s->so[a] | s->rt[a];
        s->extra[a] |= s->joined[a];
    }
}

/* Version positions and database commit timestamps order the versions of a key. */
static void derive_versions(struct search *s)
{
    for (int k = 0; k < s->o->nkey; k++) {
        s->installers[k] = 0;
        for (int a = 0; a < s->n; a++) {
            s->before[k][a] = 0;
            if (last_write(&s->o->txn[s->txn[a]], k) != NONE) {
                s->installers[k] |= bit(a);
            }
        }
        for (int a = 0; a < s->n; a++) {
            for (int b = 0; b < s->n; b++) {
                const struct txn *ta = &s->o->txn[s->txn[a]], *tb = &s->o->txn[s->txn[b]];
                int wa = last_write(ta, k), wb = last_write(tb, k);
                if (a == b || wa == NONE || wb == NONE) {
                    continue;
                }
                /* <=: two in one position exclude each other (only unknown ones get here). */
                if (ta->op[wa].has_ver && tb->op[wb].has_ver && ta->op[wa].ver <= tb->op[wb].ver) {
                    s->before[k][b] |= bit(a);
                }
                if (ta->has_commit_ts && tb->has_commit_ts && ta->commit_ts < tb->commit_ts) {
                    s->before[k][b] |= bit(a);
                }
            }
        }
    }
    for (int i = 0; i < s->o->nkey; i++) {
        s->sequence[i] = i;
    }
    /* Keys with few versions first: they decide quickly. */
    for (int i = 1; i < s->o->nkey; i++) {
        for (int j = i; j > 0; j--) {
            int *q = s->sequence;
            if (__builtin_popcountll(s->installers[q[j]]) <
                __builtin_popcountll(s->installers[q[j - 1]])) {
                int swap = q[j];
                q[j] = q[j - 1];
                q[j - 1] = swap;
            }
        }
    }
}

/* -------------------------------------------------------------------------------------------- */
/* Trusted timestamps: the order and the snapshots are given. */

static long long commit_stamp(const struct txn *t)
{
    return t->has_commit_ts ? t->commit_ts : t->start_ts;
}

static bool is_reader(const struct txn *t)
{
    for (int i = 0; i < t->nop; i++) {
        if (is_write(&t->op[i])) {
            return false;
        }
    }
    return true;
}

/* Must node a see what node u committed? */
static bool sees_stamped(const struct search *s, int a, int u)
{
    const struct txn *ta = &s->o->txn[s->txn[a]], *tu = &s->o->txn[s->txn[u]];
    if (a == u) {
        return false;
    }
    if (s->level.condition == TRUSTED_SI) {
        return commit_stamp(tu) <= ta->start_ts;
    }
    return is_reader(ta) ? commit_stamp(tu) <= commit_stamp(ta)
                         : commit_stamp(tu) < commit_stamp(ta);
}

/* The content of key that node a must find. */
static bool stamped_state(const struct search *s, int a, int key, struct value *state)
{
    row left = 0;
    *state = s->init[key];
    for (int u = 0; u < s->n; u++) {
        if (sees_stamped(s, a, u)) {
            left |= bit(u);
        }
    }
    while (left) {
        int next = NONE;
        for (int u = 0; u < s->n; u++) {
            bool earlier = next == NONE || commit_stamp(&s->o->txn[s->txn[u]]) <
                                               commit_stamp(&s->o->txn[s->txn[next]]);
            if ((left & bit(u)) && earlier) {
                next = u;
            }
        }
        left &= ~bit(next);
        const struct txn *t = &s->o->txn[s->txn[next]];
        if (!apply_own(t, key, t->nop, state)) {
            return false;
        }
    }
    return true;
}

static bool stamps_fit(struct search *s)
{
    bool si = s->level.condition == TRUSTED_SI;
    for (int i = 0; i < s->nob; i++) {
        struct value state;
        if (!stamped_state(s, s->ob[i].txn, s->ob[i].key, &state)) {
            s->too_big = true;
            return false;
        }
        if (!same(&state, &s->ob[i].v)) {
            return false;
        }
    }
    for (int a = 0; a < s->n; a++) {
        for (int b = 0; b < s->n; b++) {
            const struct txn *ta = &s->o->txn[s->txn[a]], *tb = &s->o->txn[s->txn[b]];
            bool overlap =
                a != b && ta->start_ts < commit_stamp(tb) && tb->start_ts < commit_stamp(ta);
            for (int k = 0; k < s->o->nkey && si && overlap; k++) {
                if (last_write(ta, k) != NONE && last_write(tb, k) != NONE) {
                    return false;
                }
            }
            if ((s->extra[a] & bit(b)) &&
                commit_stamp(ta) > (si ? tb->start_ts : commit_stamp(tb))) {
                return false;
            }
        }
    }
    return true;
}

/* Do the timestamps say who saw what?  (Else the product decides without them.) */
static bool stamps_decide(const oracle *o, bool si, bool sessions)
{
    for (int a = 0; a < o->ntxn; a++) {
        const struct txn *t = &o->txn[a];
        bool in = t->status == COMMITTED || (t->status == UNKNOWN && t->has_commit_ts);
        if (!in) {
            continue;
        }
        if (!t->has_start_ts || !(t->has_commit_ts || is_reader(t))) {
            return false;
        }
        int before = a - 1; /* the committed transaction before it in its session */
        while (before >= 0 &&
               (o->txn[before].session != t->session || o->txn[before].status != COMMITTED)) {
            before--;
        }
        bool points = before >= 0 && t->start_ts == commit_stamp(t) &&
                      o->txn[before].start_ts == commit_stamp(&o->txn[before]);
        if (sessions && before >= 0 && !is_reader(t) && (!si || points) &&
            commit_stamp(&o->txn[before]) == commit_stamp(t)) {
            return false;
        }
        for (int b = 0; b < a; b++) {
            const struct txn *u = &o->txn[b];
            bool other = u->status == COMMITTED || (u->status == UNKNOWN && u->has_commit_ts);
            bool at_once = t->start_ts == commit_stamp(t) && u->start_ts == commit_stamp(u);
            if (!other || commit_stamp(t) != commit_stamp(u)) {
                continue;
            }
            if (!is_reader(t) && !is_reader(u) && (!si || at_once)) {
                return false;
            }
            for (int k = 0; k < o->nkey; k++) {
                if (last_write(t, k) != NONE && last_write(u, k) != NONE) {
                    return false;
                }
            }
        }
    }
    return true;
}

/* -------------------------------------------------------------------------------------------- */
/* The outermost choices. */

static bool some_witness(struct search *s)
{
    if (s->level.condition == TRUSTED_SI || s->level.condition == TRUSTED_SER) {
        return gather(s) && stamps_fit(s);
    }
    if (!gather(s) || hopeless(s)) {
        return false;
    }
    if (!find_witness(s, false)) {
        return false;
    }
    /* 5.2: RC on the unsplit history (just found), and a witness of its own when split. */
    bool split = s->level.condition == MDB_LOOSE || s->level.condition == MDB_TIGHT;
    return !split || find_witness(s, true);
}

/* Unknown initial state (3): one free value per key.  Only values that some read may need matter:
 * what is read of the key, and, of a list, every beginning of it. */
static bool some_init(struct search *s, int key)
{
    if (s->too_big) {
        return false;
    }
    if (!s->o->init_unknown || key == s->o->nkey) {
        return some_witness(s);
    }
    struct value given = s->o->init[key];
    for (int i = 0; i < s->o->ngiven; i++) {
        if (s->o->given[i].key == key) {
            s->init[key] = given; /* the header names this one */
            return some_init(s, key + 1);
        }
    }
    struct value tried[64];
    int ntried = 1;
    memset(tried, 0, sizeof tried);
    tried[0].scalar = NONE; /* absent */
    for (int a = 0; a < s->n; a++) {
        const struct txn *t = &s->o->txn[s->txn[a]];
        for (int i = 0; i < t->nop; i++) {
            const struct op *op = &t->op[i];
            for (int j = -1; j < op->nitem; j++) {
                const struct value *v = j < 0 ? &op->v : &op->item[j].v;
                if ((j < 0 ? op->key : op->item[j].key) != key || (j < 0 && op->kind != OP_READ)) {
                    continue;
                }
                for (int n = v->n; n >= 0; n--) {
                    struct value start = *v;
                    bool known = false;
                    start.n = n;
                    for (int x = 0; x < ntried; x++) {
                        known |= same(&tried[x], &start);
                    }
                    if (known) {
                        continue;
                    }
                    if (ntried == 64) {
                        s->too_big = true;
                        return false;
                    }
                    tried[ntried++] = start;
                }
            }
        }
    }
    for (int i = 0; i < ntried; i++) {
        s->init[key] = tried[i];
        if (some_init(s, key + 1)) {
            return true;
        }
    }
    return false;
}

/* One set of each addition; what is said of those that take no part is true. */
static bool some_added(struct search *s, int i)
{
    const oracle *o = s->o;
    if (i == o->nadded) {
        derive_orders(s);
        derive_versions(s);
        return some_init(s, 0);
    }
    int end = i + 1 < o->nadded ? o->set_first[i + 1] : o->nset;
    row added[2 * T + 32], depends[T];
    memcpy(added, s->added, sizeof added);
    memcpy(depends, s->depends, sizeof depends);
    for (int set = o->set_first[i]; set < end && !s->too_big; set++) {
        bool possible = true;
        for (int e = set ? o->set_end[set - 1] : 0; e < o->set_end[set]; e++) {
            const oracle_edge *x = &o->edge[e];
            int from = x->from_at == 2 ? x->from : s->node[x->from];
            int to = x->to_at == 2 ? x->to : s->node[x->to];
            if (from == NONE || to == NONE) {
                continue;
            }
            int a = x->from_at == 2 ? 2 * s->n + from : x->from_at ? s->n + from : from;
            int b = x->to_at == 2 ? 2 * s->n + to : x->to_at ? s->n + to : to;
            bool own = x->from_at != 2 && x->to_at != 2 && from == to;
            if (own && x->from_at == 0 && x->to_at == 1) {
                continue;
            }
            possible &= !own;
            s->added[a] |= bit(b);
            if (x->depends && !own) {
                s->depends[from] |= bit(to);
            }
        }
        if (possible && some_added(s, i + 1)) {
            return true;
        }
        memcpy(s->added, added, sizeof added);
        memcpy(s->depends, depends, sizeof depends);
    }
    return false;
}

static bool some_outcome(struct search *s, int unknowns)
{
    for (unsigned choice = 0; choice < 1u << unknowns; choice++) {
        int u = 0;
        s->n = 0;
        for (int t = 0; t < s->o->ntxn; t++) {
            enum status status = s->o->txn[t].status;
            bool takes_part = status == COMMITTED || (status == ABORTED && s->o->count_aborted) ||
                              (status == UNKNOWN && (choice >> u & 1));
            if (s->level.condition == TRUSTED_SI || s->level.condition == TRUSTED_SER) {
                takes_part =
                    status == COMMITTED || (status == UNKNOWN && s->o->txn[t].has_commit_ts);
            }
            u += status == UNKNOWN;
            s->node[t] = takes_part ? s->n : NONE;
            if (takes_part) {
                s->txn[s->n++] = t;
            }
        }
        memset(s->added, 0, sizeof s->added);
        memset(s->depends, 0, sizeof s->depends);
        if (some_added(s, 0)) {
            return true;
        }
        if (s->too_big) {
            return false;
        }
    }
    return false;
}

void oracle_assume(oracle *o, const oracle_edge *edges, const int *sizes, int n)
{
    o->set_first = xrealloc(o->set_first, (size_t)(o->nadded + 1) * sizeof *o->set_first);
    o->set_first[o->nadded++] = o->nset;
    for (int s = 0; s < n; s++) {
        for (int i = 0; i < sizes[s]; i++) {
            o->edge = xrealloc(o->edge, (size_t)(o->nedge + 1) * sizeof *o->edge);
            o->edge[o->nedge++] = *edges++;
        }
        o->set_end = xrealloc(o->set_end, (size_t)(o->nset + 1) * sizeof *o->set_end);
        o->set_end[o->nset++] = o->nedge;
    }
}

void oracle_forget(oracle *o)
{
    free(o->edge);
    free(o->set_end);
    free(o->set_first);
    o->edge = NULL;
    o->set_end = o->set_first = NULL;
    o->nedge = o->nset = o->nadded = 0;
}

void oracle_count_aborted(oracle *o, int count)
{
    o->count_aborted = count != 0;
}

int oracle_check(oracle *o, const oracle_question *q)
{
    struct level level;
    int committed = 0, unknowns = 0, subs = 0;
    if (!find_level(q->level, q->session_order, &level)) {
        return ORACLE_UNKNOWN_LEVEL;
    }
    if (o->bad_hint) {
        return ORACLE_BAD_HINT;
    }
    bool too_big = o->ntxn > 64;
    for (int t = 0; t < o->ntxn; t++) {
        committed +=
            o->txn[t].status == COMMITTED || (o->txn[t].status == ABORTED && o->count_aborted);
        unknowns += o->txn[t].status == UNKNOWN;
        too_big |= o->txn[t].nop > MAX_OPS;
        if (o->txn[t].status != ABORTED || o->count_aborted) {
            subs += o->txn[t].nop + 1;
        }
    }
    if (!committed) {
        return ORACLE_NOTHING;
    }
    for (int t = 0; t < o->ntxn && (level.condition == MIX || level.condition == MIX_PG); t++) {
        int own = own_level(o, t);
        if ((o->txn[t].status != ABORTED || o->count_aborted) &&
            (own == NONE || (own == RR && level.condition == MIX_PG))) {
            return ORACLE_NO_ROW;
        }
    }
    for (int t = 0; t < o->ntxn && level.condition == LIN; t++) {
        bool counts = o->txn[t].status != ABORTED || o->count_aborted;
        if (counts && single_key(&o->txn[t]) == LARGER) {
            return ORACLE_NO_ROW;
        }
    }
    if (too_big || committed + unknowns > ORACLE_MAX_TXNS || subs > MAX_SUBS) {
        return ORACLE_TOO_BIG;
    }
    if ((level.condition == TRUSTED_SI || level.condition == TRUSTED_SER) &&
        !stamps_decide(o, level.condition == TRUSTED_SI, level.order == SESSION)) {
        return ORACLE_TOO_BIG;
    }
    struct search *s = xcalloc(1, sizeof *s);
    size_t nkey = (size_t)o->nkey;
    s->o = o;
    s->q = q;
    s->level = level;
    s->budget = BUDGET;
    s->init = xcalloc(nkey, sizeof *s->init);
    s->installers = xcalloc(nkey, sizeof *s->installers);
    s->before = xcalloc(nkey, sizeof *s->before);
    s->sequence = xcalloc(nkey, sizeof *s->sequence);
    s->list = xcalloc(nkey, sizeof *s->list);
    s->rank = xcalloc(nkey, sizeof *s->rank);
    for (int k = 0; k < o->nkey; k++) {
        s->init[k] = o->init[k];
        s->list[k] = mentions_list(o, k);
    }
    bool holds = some_outcome(s, unknowns);
    bool gave_up = s->too_big;
    free(s->init);
    free(s->installers);
    free(s->before);
    free(s->sequence);
    free(s->list);
    free(s->rank);
    free(s);
    return gave_up ? ORACLE_TOO_BIG : holds ? ORACLE_HOLDS : ORACLE_VIOLATED;
}

const char *oracle_verdict_name(int verdict)
{
    switch (verdict) {
    case ORACLE_HOLDS: return "holds";
    case ORACLE_VIOLATED: return "violated";
    case ORACLE_NOTHING: return "undecided (nothing to check)";
    case ORACLE_TOO_BIG: return "undecided (too big)";
    case ORACLE_NO_ROW: return "undecided (the level says nothing of such transactions)";
    case ORACLE_BAD_HINT: return "bad input (impossible hint)";
    default: return "unknown level";
    }
}
