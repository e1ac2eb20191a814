/*
 * iso_parse.c - reads `.iso` text: tokens, one expression grammar for relations, sets and formulas,
 * then names and types.
 *
 * Formulas and expressions share one grammar by precedence, because a parenthesis may open either;
 * the types sort them out afterwards.  `|` ends the declarations of a quantifier, so a union in a
 * declaration stands in parentheses.  Recursion is bounded by DEPTH, so no input ends the stack.
 */
#include <string.h>

#include "iso/iso.h"

#define DEPTH 200
#define NODES 10000

enum token { T_END, T_WORD, T_MARK };

typedef struct binding {
    const char *name;
    uint32_t slot;
    enum iso_type type;
} binding;

typedef struct parser {
    mem *mem;
    guard *guard;
    iso_module *module;
    const char *file, *at, *end;
    uint32_t line, column; /* of `at` */
    /* the current token */
    enum token token;
    const char *text;
    size_t len;
    uint32_t token_line, token_column;
    uint32_t depth, parens;
    iso_tokens *record; /* or NULL */
    uint32_t last_line; /* where the last token or comment ended */
    VEC(binding) scope;
    iso_find find;
    void *ud;
} parser;

static const struct {
    const char *text;
    enum iso_op op;
} words[] = {
#define ISO_OP(id, shape, text) {text, ISO_##id},
#include "iso/iso_ops.def"
#undef ISO_OP
};

static const char *const reserved[] = {
    "rel",    "level", "over",  "extends", "axiom",       "key",        "none",  "vis",  "ar",
    "co",     "all",   "some",  "not",     "and",         "or",         "in",    "W",    "R",
    "so",     "wr",    "ww",    "rw",      "id",          "init",       "upd",   "ro",   "txn",
    "commit", "max",   "total", "acyclic", "irreflexive", "transitive", "empty", "true", "false"};
#define N_RESERVED (sizeof reserved / sizeof *reserved)

/* ---- errors -------------------------------------------------------------------------------- */

static _Noreturn void fail_at(parser *p, uint32_t line, uint32_t column, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static _Noreturn void fail_at(parser *p, uint32_t line, uint32_t column, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    guard_set_position(p->guard, line, column);
    guard_vfail(p->guard, GUARD_PARSE, format, ap);
}

static size_t distance(const char *a, const char *b)
{
    size_t n = strlen(a), k = strlen(b), row[64];
    if (n > 60 || k > 60) return 99;
    for (size_t j = 0; j <= k; j++) row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t left = row[0]++;
        for (size_t j = 1; j <= k; j++) {
            size_t up = row[j], best = left + (a[i - 1] != b[j - 1]);
            if (up + 1 < best) best = up + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            left = up;
            row[j] = best;
        }
    }
    return row[k];
}

const char *iso_near(const char *s, const char *const *list, size_t n)
{
    const char *best = NULL;
    size_t least = strlen(s) < 4 ? 2 : 3;
    for (size_t i = 0; i < n; i++) {
        size_t d = distance(s, list[i]);
        if (d < least) least = d, best = list[i];
    }
    return best;
}

/* ---- tokens -------------------------------------------------------------------------------- */

static void forward(parser *p, size_t n)
{
    for (; n; n--, p->at++) {
        if (*p->at == '\n')
            p->line++, p->column = 1;
        else if (((unsigned char)*p->at & 0xc0) != 0x80)
            p->column++;
    }
}

static bool letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool in_word(char c)
{
    return letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '\'';
}

static void note(parser *p, const char *text, size_t n, uint32_t line, enum iso_role role)
{
    if (p->record && n) {
        bool first = p->record->n == 0;
        iso_token t = {text, n, role, first || line > p->last_line,
                       !first && line > p->last_line + 1};
        vec_push(p->mem, p->record, t);
    }
    p->last_line = line;
}

/* What the current token is for; words are words by themselves. */
static void role(parser *p, enum iso_role r)
{
    if (p->record) p->record->at[p->record->n - 1].role = r;
}

static void next(parser *p)
{
    static const char *const marks[] = {"<=>", "^-1", "=>", "!=", "(", ")", "[",
                                        "]",   "{",   "}",  ",",  ":", ";", "|",
                                        "&",   "\\",  "+",  "*",  "?", ".", "="};
    for (;;) {
        while (p->at < p->end &&
               (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r'))
            forward(p, 1);
        bool comment = (p->end - p->at >= 2 && p->at[0] == '/' && p->at[1] == '/') ||
                       (p->at < p->end && *p->at == '#');
        if (!comment) break;
        const char *from = p->at;
        while (p->at < p->end && *p->at != '\n') {
            if (!*p->at) fail_at(p, p->line, p->column, "byte 0x00 is not part of the language");
            forward(p, 1);
        }
        size_t n = (size_t)(p->at - from);
        while (n && (from[n - 1] == ' ' || from[n - 1] == '\t' || from[n - 1] == '\r')) n--;
        note(p, from, n, p->line, ISO_AS_COMMENT);
    }
    p->token_line = p->line;
    p->token_column = p->column;
    p->text = p->at;
    p->len = 0;
    if (p->at == p->end) {
        p->token = T_END;
        return;
    }
    if (letter(*p->at)) {
        while (p->at + p->len < p->end && in_word(p->at[p->len])) p->len++;
        p->token = T_WORD;
        note(p, p->at, p->len, p->line, ISO_AS_WORD);
        forward(p, p->len);
        return;
    }
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        size_t n = strlen(marks[i]);
        if ((size_t)(p->end - p->at) < n || memcmp(p->at, marks[i], n)) continue;
        p->token = T_MARK;
        p->len = n;
        note(p, p->at, n, p->line, ISO_AS_WORD);
        forward(p, n);
        return;
    }
    unsigned char c = (unsigned char)*p->at;
    if (c > 0x20 && c < 0x7f) fail_at(p, p->line, p->column, "'%c' is not part of the language", c);
    fail_at(p, p->line, p->column, "byte 0x%02x is not part of the language", c);
}

static bool is(const parser *p, const char *s)
{
    return p->token != T_END && strlen(s) == p->len && !memcmp(p->text, s, p->len);
}

static bool accept_as(parser *p, const char *s, enum iso_role r)
{
    if (!is(p, s)) return false;
    role(p, r);
    next(p);
    return true;
}

static bool accept(parser *p, const char *s)
{
    return accept_as(p, s, ISO_AS_WORD);
}

static char *word(parser *p)
{
    char *s = mem_get(p->mem, p->len + 1);
    memcpy(s, p->text, p->len);
    s[p->len] = 0;
    return s;
}

static _Noreturn void unexpected(parser *p, const char *wanted)
{
    if (p->token == T_END)
        fail_at(p, p->token_line, p->token_column, "the file ends where %s was expected", wanted);
    const char *found = word(p), *near = NULL;
    if (p->token == T_WORD) near = iso_near(found, reserved, N_RESERVED);
    if (near && !strcmp(near, found)) near = NULL;
    fail_at(p, p->token_line, p->token_column, "expected %s, found \"%.60s\"%s%s%s", wanted, found,
            near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static void expect(parser *p, const char *s, enum iso_role r, const char *wanted)
{
    if (!accept_as(p, s, r)) unexpected(p, wanted);
}

static const char *new_name(parser *p, const char *what)
{
    if (p->token != T_WORD) unexpected(p, what);
    const char *s = word(p);
    for (size_t i = 0; i < N_RESERVED; i++)
        if (!strcmp(s, reserved[i]))
            fail_at(p, p->token_line, p->token_column, "\"%s\" is a keyword and cannot be a name",
                    s);
    next(p);
    return s;
}

/* ---- nodes --------------------------------------------------------------------------------- */

static iso_node *node(parser *p, enum iso_op op, uint32_t line, uint32_t column)
{
    if (p->module->nodes >= NODES) /* whoever walks the tree recurses */
        fail_at(p, line, column, "the definitions are too large (over %d parts)", NODES);
    iso_node *x = mem_zeroed(p->mem, sizeof *x);
    x->op = op;
    x->id = p->module->nodes++;
    x->line = line;
    x->column = column;
    return x;
}

static iso_node *node2(parser *p, enum iso_op op, iso_node *a, iso_node *b, uint32_t line,
                       uint32_t column)
{
    iso_node *x = node(p, op, line, column);
    x->kid[0] = a;
    x->kid[1] = b;
    return x;
}

static uint32_t bind(parser *p, const char *name, enum iso_type type)
{
    binding b = {name, p->module->slots++, type};
    vec_push(p->mem, &p->scope, b);
    return b.slot;
}

static const binding *bound(const parser *p, const char *name)
{
    for (size_t i = p->scope.n; i--;)
        if (!strcmp(p->scope.at[i].name, name)) return &p->scope.at[i];
    return NULL;
}

/* ---- the grammar, by precedence ------------------------------------------------------------ */

static iso_node *expression(parser *p, int level);

static void deeper(parser *p)
{
    if (++p->depth > DEPTH)
        fail_at(p, p->token_line, p->token_column, "nested more than %d deep", DEPTH);
}

/* A variable that is in scope, where nothing else may stand. */
static iso_node *variable(parser *p, enum iso_type type)
{
    const char *kind = type == ISO_KEY ? "a key variable" : "a transaction variable";
    if (p->token != T_WORD) unexpected(p, kind);
    const char *s = word(p);
    const binding *b = bound(p, s);
    if (!b)
        fail_at(p, p->token_line, p->token_column, "\"%.60s\" is not declared; expected %s", s,
                kind);
    if (b->type != type)
        fail_at(p, p->token_line, p->token_column, "\"%.60s\" is a %s, expected %s", s,
                b->type == ISO_KEY ? "key" : "transaction", kind);
    iso_node *x = node(p, ISO_VAR, p->token_line, p->token_column);
    x->slot = b->slot;
    x->type = type;
    x->name = s;
    next(p);
    return x;
}

static iso_node *index_of(parser *p)
{
    expect(p, "[", ISO_AS_CALL, "\"[\" and a key variable");
    iso_node *k = variable(p, ISO_KEY);
    expect(p, "]", ISO_AS_CLOSE, "\"]\"");
    return k;
}

/* all x:key, a,b:W[x] | ...: one node for each variable, the rest as its body. */
static iso_node *quantified(parser *p, enum iso_op op)
{
    uint32_t line = p->token_line, column = p->token_column;
    size_t scope = p->scope.n;
    next(p);
    iso_node *first = NULL, **tail = &first;
    deeper(p);
    for (;;) {
        const char *names[32];
        uint32_t lines[32], columns[32];
        size_t n = 0;
        do {
            if (n == 32) fail_at(p, p->token_line, p->token_column, "too many variables");
            lines[n] = p->token_line;
            columns[n] = p->token_column;
            names[n++] = new_name(p, "a variable");
        } while (accept_as(p, ",", ISO_AS_TIGHT));
        expect(p, ":", ISO_AS_TIGHT, "\":\" and what the variable ranges over");
        enum iso_type type = ISO_TXN;
        iso_node *domain = NULL;
        if (accept(p, "key"))
            type = ISO_KEY;
        else
            domain = expression(p, 5);
        for (size_t i = 0; i < n; i++) {
            iso_node *q = node(p, op, i ? lines[i] : line, i ? columns[i] : column);
            q->kid[0] = domain;
            q->slot = bind(p, names[i], type);
            q->name = names[i];
            *tail = q;
            tail = &q->kid[1];
        }
        if (!accept_as(p, ",", ISO_AS_COMMA)) break;
    }
    expect(p, "|", ISO_AS_BAR, "\"|\" and the formula of the quantifier");
    *tail = expression(p, 0);
    p->depth--;
    p->scope.n = scope;
    return first;
}

static iso_node *call(parser *p, enum iso_op op)
{
    iso_node *x = node(p, op, p->token_line, p->token_column);
    next(p);
    expect(p, "(", ISO_AS_CALL, "\"(\"");
    deeper(p);
    p->parens++;
    x->kid[0] = expression(p, 4);
    if (op == ISO_TOTAL || op == ISO_MAX) {
        expect(p, ",", ISO_AS_COMMA, "\",\" and a set");
        x->kid[1] = expression(p, 4);
    }
    p->parens--;
    p->depth--;
    expect(p, ")", ISO_AS_CLOSE, "\")\"");
    return x;
}

static iso_node *primary(parser *p)
{
    uint32_t line = p->token_line, column = p->token_column;
    if (accept_as(p, "(", ISO_AS_OPEN)) {
        deeper(p);
        p->parens++;
        iso_node *x = expression(p, 0);
        p->parens--;
        p->depth--;
        expect(p, ")", ISO_AS_CLOSE, "\")\"");
        return x;
    }
    if (accept_as(p, "[", ISO_AS_OPEN)) {
        deeper(p);
        p->parens++;
        iso_node *x = node2(p, ISO_DIAG, expression(p, 4), NULL, line, column);
        p->parens--;
        p->depth--;
        expect(p, "]", ISO_AS_CLOSE, "\"]\"");
        return x;
    }
    if (p->token != T_WORD) unexpected(p, "a relation, a set, a variable or a formula");
    if (is(p, "all")) return quantified(p, ISO_ALL);
    if (is(p, "some")) return quantified(p, ISO_SOME);
    const char *s = word(p);
    const binding *b = bound(p, s);
    if (b) return variable(p, b->type);
    if (!strcmp(s, "W") || !strcmp(s, "R")) {
        next(p);
        return node2(p, *s == 'W' ? ISO_W : ISO_R, index_of(p), NULL, line, column);
    }
    for (enum iso_op op = ISO_ACYCLIC; op <= ISO_MAX; op++)
        if (!strcmp(s, words[op].text)) return call(p, op);
    for (enum iso_op op = ISO_SO; op <= ISO_FALSE; op++) {
        if (strcmp(s, words[op].text)) continue;
        next(p);
        enum iso_op keyed = op == ISO_WR ? ISO_WRX : op == ISO_WW ? ISO_WWX : ISO_RWX;
        if ((op == ISO_WR || op == ISO_WW || op == ISO_RW) && is(p, "["))
            return node2(p, keyed, index_of(p), NULL, line, column);
        return node(p, op, line, column);
    }
    for (size_t i = 0; i < N_RESERVED; i++)
        if (!strcmp(s, reserved[i])) unexpected(p, "a relation, a set, a variable or a formula");
    iso_node *x = node(p, ISO_USE, line, column);
    x->name = s;
    next(p);
    if (is(p, "[")) x->kid[0] = index_of(p);
    return x;
}

/* comit(so): a name that is none, before what is no variable, is a misspelt word. */
static void refuse_call(parser *p, const iso_node *x)
{
    if (x->op != ISO_USE || (p->token == T_WORD && bound(p, word(p)))) return;
    const char *near = iso_near(x->name, reserved, N_RESERVED);
    if (near)
        fail_at(p, x->line, x->column, "\"%.60s\" is not defined; did you mean %s?", x->name, near);
}

static iso_node *postfix(parser *p)
{
    iso_node *x = primary(p);
    for (;;) {
        uint32_t line = p->token_line, column = p->token_column;
        bool done = true;
        for (enum iso_op op = ISO_PLUS; op <= ISO_INVERSE && done; op++)
            if (accept_as(p, words[op].text, ISO_AS_POSTFIX))
                x = node2(p, op, x, NULL, line, column), done = false;
        if (!done) continue;
        if (!accept_as(p, "(", ISO_AS_CALL)) return x;
        refuse_call(p, x);
        iso_node *a = variable(p, ISO_TXN), *y;
        if (accept_as(p, ",", ISO_AS_TIGHT)) {
            y = node2(p, ISO_APPLY2, x, a, x->line, x->column);
            y->kid[2] = variable(p, ISO_TXN);
        } else {
            y = node2(p, ISO_APPLY1, x, a, x->line, x->column);
        }
        expect(p, ")", ISO_AS_CLOSE, "\")\"");
        x = y;
    }
}

/* r . t and t . r; which one is settled with the types. */
static iso_node *dotted(parser *p)
{
    iso_node *x = postfix(p);
    while (is(p, ".")) {
        uint32_t line = p->token_line, column = p->token_column;
        role(p, ISO_AS_BINARY);
        next(p);
        x = node2(p, ISO_PREDS, x, postfix(p), line, column);
    }
    return x;
}

/* Binary operators, loosest first; 4 is where relations and sets begin. */
static const struct {
    enum iso_op op;
    int level;
    bool right;
} binary[] = {
    {ISO_IFF, 0, false},  {ISO_IMPLIES, 1, true},  {ISO_OR, 2, false},
    {ISO_AND, 3, false},  {ISO_JOIN, 4, false},    {ISO_MINUS, 5, false},
    {ISO_MEET, 6, false}, {ISO_PRODUCT, 7, false}, {ISO_SEQ, 8, false},
};
#define N_BINARY (sizeof binary / sizeof *binary)
#define TIGHTEST 9

/* A `;` ends an axiom or composes relations.  It ends one where a line ends, or where what follows
   begins another; inside parentheses it always composes. */
static bool ends_here(const parser *p)
{
    if (p->parens) return false;
    const char *s = p->at;
    while (s < p->end && (*s == ' ' || *s == '\t' || *s == '\r')) s++;
    if (s == p->end || *s == '}' || *s == '\n' || *s == '#' || *s == '/') return true;
    size_t n = 0;
    while (s + n < p->end && in_word(s[n])) n++;
    static const char *const starts[] = {"rel",        "level",  "axiom",   "all",   "some",
                                         "not",        "commit", "acyclic", "total", "irreflexive",
                                         "transitive", "empty",  "true",    "false"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strlen(starts[i]) == n && !memcmp(s, starts[i], n)) return true;
    return false;
}

static iso_node *comparison(parser *p)
{
    iso_node *x = expression(p, 4);
    static const enum iso_op ops[] = {ISO_IN, ISO_EQ, ISO_NE};
    for (size_t i = 0; i < 3; i++) {
        uint32_t line = p->token_line, column = p->token_column;
        if (accept_as(p, words[ops[i]].text, ISO_AS_BINARY))
            return node2(p, ops[i], x, expression(p, 4), line, column);
    }
    return x;
}

static iso_node *negation(parser *p)
{
    uint32_t line = p->token_line, column = p->token_column;
    if (!is(p, "not")) return comparison(p);
    deeper(p);
    next(p);
    iso_node *x = node2(p, ISO_NOT, negation(p), NULL, line, column);
    p->depth--;
    return x;
}

static iso_node *expression(parser *p, int level)
{
    if (level == TIGHTEST) return dotted(p);
    bool over_formulas = level == 3;
    iso_node *x = over_formulas ? negation(p) : expression(p, level + 1);
    for (;;) {
        uint32_t line = p->token_line, column = p->token_column;
        enum iso_op op = binary[level].op;
        if (!is(p, words[op].text) || (op == ISO_SEQ && ends_here(p))) return x;
        role(p, ISO_AS_BINARY);
        next(p);
        if (binary[level].right) {
            deeper(p);
            x = node2(p, op, x, expression(p, level), line, column);
            p->depth--;
            return x;
        }
        x = node2(p, op, x, over_formulas ? negation(p) : expression(p, level + 1), line, column);
    }
}

/* ---- types --------------------------------------------------------------------------------- */

static const char *type_name(enum iso_type t)
{
    static const char *const names[] = {"a formula", "a relation", "a set", "a transaction",
                                        "a key"};
    return names[t];
}

static void check_def(parser *p, iso_def *d);

static _Noreturn void wrong_type(parser *p, const iso_node *x, const char *wanted)
{
    fail_at(p, x->line, x->column, "this is %s, expected %s", type_name(x->type), wanted);
}

static void want(parser *p, const iso_node *x, enum iso_type t)
{
    if (x->type != t) wrong_type(p, x, type_name(t));
}

static _Noreturn void undefined(parser *p, const iso_node *x)
{
    VEC(const char *) known = {0};
    for (size_t i = 0; i < N_RESERVED; i++) vec_push(p->mem, &known, reserved[i]);
    for (size_t i = 0; i < p->module->defs.n; i++)
        vec_push(p->mem, &known, p->module->defs.at[i]->name);
    for (enum iso_op op = ISO_RW_ITEM; op <= ISO_PO; op++) vec_push(p->mem, &known, words[op].text);
    const char *near = iso_near(x->name, known.at, known.n);
    fail_at(p, x->line, x->column, "\"%.60s\" is not defined%s%s%s", x->name,
            near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

/* Is the name, which no definition has, one of the words that a file may define for itself? */
static bool is_later_word(iso_node *x)
{
    for (enum iso_op op = ISO_RW_ITEM; op <= ISO_PO; op++)
        if (!strcmp(x->name, words[op].text)) {
            if (x->kid[0] && op != ISO_RW_ITEM && op != ISO_RW_PRED) return false;
            x->op = !x->kid[0] ? op : op == ISO_RW_ITEM ? ISO_RWX_ITEM : ISO_RWX_PRED;
            return true;
        }
    return false;
}

static enum iso_type check_op(parser *p, iso_node *x);

static void check_use(parser *p, iso_node *x)
{
    for (size_t i = 0; i < p->module->defs.n && !x->def; i++)
        if (!strcmp(p->module->defs.at[i]->name, x->name)) x->def = p->module->defs.at[i];
    if (!x->def && is_later_word(x)) {
        x->type = check_op(p, x);
        return;
    }
    if (!x->def) undefined(p, x);
    if (x->def->mark == 1)
        fail_at(p, x->line, x->column, "the definition of \"%.60s\" is cyclic", x->name);
    check_def(p, x->def);
    if (x->def->has_param != (x->kid[0] != NULL))
        fail_at(p, x->line, x->column,
                x->def->has_param ? "\"%.60s\" needs a key: %.60s[x]" : "\"%.60s\" takes no key",
                x->name, x->name);
    x->type = x->def->body->type;
    x->uses = x->def->body->uses;
}

static enum iso_type check_node(parser *p, iso_node *x);

/* Operators over two relations or two sets. */
static enum iso_type check_pair(parser *p, iso_node *x)
{
    enum iso_type a = x->kid[0]->type, b = x->kid[1]->type;
    if (a != ISO_REL && a != ISO_SET) wrong_type(p, x->kid[0], "a relation or a set");
    if (a != b) wrong_type(p, x->kid[1], type_name(a));
    return a;
}

static enum iso_type check_dot(parser *p, iso_node *x)
{
    if (x->kid[0]->type == ISO_TXN) {
        want(p, x->kid[1], ISO_REL);
        iso_node *t = x->kid[0];
        x->op = ISO_SUCCS;
        x->kid[0] = x->kid[1];
        x->kid[1] = t;
        return ISO_SET;
    }
    want(p, x->kid[0], ISO_REL);
    want(p, x->kid[1], ISO_TXN);
    return ISO_SET;
}

static enum iso_type check_equal(parser *p, iso_node *x)
{
    enum iso_type a = x->kid[0]->type, b = x->kid[1]->type;
    if (a == ISO_FORM)
        wrong_type(p, x->kid[0], "variables, relations or sets (`<=>` is for formulas)");
    if (a != b) wrong_type(p, x->kid[1], type_name(a));
    return ISO_FORM;
}

static enum iso_type check_op(parser *p, iso_node *x)
{
    iso_node *a = x->kid[0], *b = x->kid[1];
    switch (x->op) {
    case ISO_CO_REL: x->uses |= ISO_USES_CO; return ISO_REL;
    case ISO_AR: x->uses |= ISO_USES_AR; return ISO_REL;
    case ISO_VIS: x->uses |= ISO_USES_VIS; return ISO_REL;
    case ISO_WW:
    case ISO_RW:
    case ISO_WWX:
    case ISO_RWX:
    case ISO_RWX_ITEM:
    case ISO_RWX_PRED:
    case ISO_RW_ITEM:
    case ISO_RW_PRED: x->uses |= ISO_USES_ORDER; return ISO_REL;
    case ISO_RT: x->uses |= ISO_USES_RT; return ISO_REL;
    case ISO_CC:
    case ISO_BC: x->uses |= ISO_USES_EVENTS; return ISO_REL;
    case ISO_PO: x->uses |= ISO_USES_PO; return ISO_REL;
    case ISO_SO:
    case ISO_WR:
    case ISO_WRX:
    case ISO_ID: return ISO_REL;
    case ISO_INIT:
    case ISO_UPD:
    case ISO_RO:
    case ISO_TXNS:
    case ISO_W:
    case ISO_R: return ISO_SET;
    case ISO_TRUE:
    case ISO_FALSE: return ISO_FORM;
    case ISO_VAR: return x->type;
    case ISO_USE: check_use(p, x); return x->type;
    case ISO_DIAG: want(p, a, ISO_SET); return ISO_REL;
    case ISO_PREDS:
    case ISO_SUCCS: return check_dot(p, x);
    case ISO_PLUS:
    case ISO_STAR:
    case ISO_OPT:
    case ISO_INVERSE: want(p, a, ISO_REL); return ISO_REL;
    case ISO_SEQ: want(p, a, ISO_REL), want(p, b, ISO_REL); return ISO_REL;
    case ISO_PRODUCT: want(p, a, ISO_SET), want(p, b, ISO_SET); return ISO_REL;
    case ISO_MEET:
    case ISO_MINUS:
    case ISO_JOIN: return check_pair(p, x);
    case ISO_IN:
        /* `t in S` for a transaction reads as S(t) */
        if (a->type == ISO_TXN) {
            want(p, b, ISO_SET);
            x->op = ISO_APPLY1;
            x->kid[0] = b;
            x->kid[1] = a;
            return ISO_FORM;
        }
        check_pair(p, x);
        return ISO_FORM;
    case ISO_EQ:
    case ISO_NE: return check_equal(p, x);
    case ISO_NOT: want(p, a, ISO_FORM); return ISO_FORM;
    case ISO_AND:
    case ISO_OR:
    case ISO_IMPLIES:
    case ISO_IFF: want(p, a, ISO_FORM), want(p, b, ISO_FORM); return ISO_FORM;
    case ISO_ALL:
    case ISO_SOME:
        if (a) want(p, a, ISO_SET);
        want(p, b, ISO_FORM);
        return ISO_FORM;
    case ISO_APPLY2: want(p, a, ISO_REL); return ISO_FORM;
    case ISO_APPLY1: want(p, a, ISO_SET); return ISO_FORM;
    case ISO_ACYCLIC:
    case ISO_IRREFLEXIVE:
    case ISO_TRANSITIVE: want(p, a, ISO_REL); return ISO_FORM;
    case ISO_EMPTY:
        if (a->type != ISO_REL && a->type != ISO_SET) wrong_type(p, a, "a relation or a set");
        return ISO_FORM;
    case ISO_TOTAL: want(p, a, ISO_REL), want(p, b, ISO_SET); return ISO_FORM;
    case ISO_COMMIT:
        want(p, a, ISO_REL);
        x->uses |= ISO_USES_ORDER;
        return ISO_FORM;
    case ISO_MAX: want(p, a, ISO_REL), want(p, b, ISO_SET); return ISO_SET;
    }
    return ISO_FORM;
}

/* Does x mention a variable that no quantifier inside x binds?  Every binding has its own slot, and
   slots grow with the text, so those bound inside x are the ones at or after its first. */
static bool mentions_below(const iso_node *x, uint32_t slot)
{
    if (!x) return false;
    if (x->op == ISO_VAR) return x->slot < slot;
    for (size_t i = 0; i < 3; i++)
        if (mentions_below(x->kid[i], slot)) return true;
    return false;
}

static uint32_t first_bound(const iso_node *x)
{
    uint32_t least = UINT32_MAX;
    if (!x) return least;
    if (x->op == ISO_ALL || x->op == ISO_SOME) least = x->slot;
    for (size_t i = 0; i < 3; i++) {
        uint32_t k = first_bound(x->kid[i]);
        if (k < least) least = k;
    }
    return least;
}

static enum iso_type check_node(parser *p, iso_node *x)
{
    if (x->op == ISO_VAR) {
        x->open = true;
        return x->type;
    }
    x->size = 1;
    for (size_t i = 0; i < 3; i++) {
        if (!x->kid[i]) continue;
        check_node(p, x->kid[i]);
        x->uses |= x->kid[i]->uses;
        x->size += x->kid[i]->size;
    }
    uint8_t uses = x->uses;
    x->type = check_op(p, x);
    if (x->op == ISO_USE) x->size += x->def->body->size;
    if (x->size > ISO_HUGE) x->size = ISO_HUGE;
    x->uses |= uses;
    x->open = mentions_below(x, first_bound(x));
    return x->type;
}

/* `po` is no relation between transactions: it says where in its reader a walk arrives. */
static const iso_node *misplaced_po(const iso_node *x)
{
    enum iso_arrival arrival;
    if (x->op == ISO_PO) return x;
    if (x->op == ISO_COMMIT) return misplaced_po(iso_premise(x, &arrival));
    for (size_t i = 0; i < 3; i++) {
        const iso_node *y = x->kid[i] && x->uses & ISO_USES_PO ? misplaced_po(x->kid[i]) : NULL;
        if (y) return y;
    }
    return NULL;
}

static void refuse_misplaced_po(parser *p, const iso_node *x)
{
    const iso_node *bad = misplaced_po(x);
    if (bad)
        fail_at(p, bad->line, bad->column,
                "`po` stands only at the end of a premise: commit(... ; po) or commit(... ; po?)");
}

static void check_def(parser *p, iso_def *d)
{
    if (d->mark == 2) return;
    d->mark = 1;
    check_node(p, d->body);
    refuse_misplaced_po(p, d->body);
    if (d->body->type != ISO_REL && d->body->type != ISO_SET)
        wrong_type(p, d->body, "a relation or a set");
    d->mark = 2;
}

static const char *witness_name(enum iso_witness w)
{
    return w == ISO_CO ? "co" : w == ISO_VIS_AR ? "vis, ar" : "none";
}

/* The first node inside x that speaks of what the level does not choose. */
static const iso_node *misfit(const iso_node *x, uint8_t allowed)
{
    if (!(x->uses & ~allowed)) return NULL;
    for (size_t i = 0; i < 3; i++) {
        const iso_node *y = x->kid[i] ? misfit(x->kid[i], allowed) : NULL;
        if (y) return y;
    }
    return x;
}

static void check_level(parser *p, iso_level *l)
{
    if (l->mark == 2) return;
    if (l->mark == 1) fail_at(p, l->line, l->column, "level \"%.60s\" extends itself", l->name);
    l->mark = 1;
    l->weight = 1 + (uint32_t)l->axioms.n;
    for (size_t i = 0; i < l->bases.n; i++) {
        iso_base *b = &l->bases.at[i];
        for (size_t j = 0; j < p->module->levels.n; j++)
            if (!strcmp(p->module->levels.at[j]->name, b->name)) b->level = p->module->levels.at[j];
        if (!b->level && p->find) b->level = p->find(p->ud, b->name);
        if (!b->level) fail_at(p, b->line, b->column, "no level \"%.60s\"", b->name);
        if (b->level->mark == 1)
            fail_at(p, b->line, b->column, "the definition of level \"%.60s\" is cyclic", b->name);
        check_level(p, b->level);
        l->uses |= b->level->uses;
        l->weight += b->level->weight;
        if (l->weight > ISO_MOST_UNFOLDED)
            fail_at(p, b->line, b->column, "level \"%.60s\" extends others too many times",
                    l->name);
        if (!l->witness_given && b->level->witness != ISO_NONE) {
            l->witness = b->level->witness;
            l->witness_given = true;
        } else if (b->level->witness != l->witness && b->level->witness != ISO_NONE) {
            fail_at(p, b->line, b->column,
                    "level \"%.60s\" is over %s, and cannot extend one over %s", l->name,
                    witness_name(l->witness), witness_name(b->level->witness));
        }
    }
    uint8_t allowed = l->witness == ISO_CO       ? ISO_USES_CO | ISO_USES_ORDER
                      : l->witness == ISO_VIS_AR ? ISO_USES_AR | ISO_USES_VIS | ISO_USES_ORDER
                                                 : 0;
    allowed |= ISO_USES_RT | ISO_USES_EVENTS | ISO_USES_PO;
    for (size_t i = 0; i < l->axioms.n; i++) {
        iso_node *f = l->axioms.at[i].form;
        check_node(p, f);
        want(p, f, ISO_FORM);
        refuse_misplaced_po(p, f);
        l->uses |= f->uses;
        const iso_node *bad = misfit(f, allowed);
        if (bad)
            fail_at(p, bad->line, bad->column, "\"%.60s\" needs %s, and level \"%.60s\" is over %s",
                    bad->op == ISO_USE ? bad->name : words[bad->op].text,
                    bad->uses & ISO_USES_CO                    ? "co"
                    : bad->uses & (ISO_USES_AR | ISO_USES_VIS) ? "vis, ar"
                                                               : "an order",
                    l->name, witness_name(l->witness));
    }
    l->mark = 2;
}

/* ---- the file ------------------------------------------------------------------------------ */

static void relation(parser *p)
{
    iso_def *d = mem_zeroed(p->mem, sizeof *d);
    d->line = p->token_line;
    d->column = p->token_column;
    d->name = new_name(p, "the name of a relation");
    for (size_t i = 0; i < p->module->defs.n; i++)
        if (!strcmp(p->module->defs.at[i]->name, d->name))
            fail_at(p, d->line, d->column, "\"%.60s\" is defined twice (first in line %u)", d->name,
                    (unsigned)p->module->defs.at[i]->line);
    if (accept_as(p, "[", ISO_AS_CALL)) {
        d->has_param = true;
        d->param_name = new_name(p, "a key variable");
        d->param = bind(p, d->param_name, ISO_KEY);
        expect(p, "]", ISO_AS_CLOSE, "\"]\"");
    }
    expect(p, "=", ISO_AS_BINARY, "\"=\"");
    d->body = expression(p, 4);
    expect(p, ";", ISO_AS_END, "\";\" at the end of the definition");
    p->scope.n = 0;
    vec_push(p->mem, &p->module->defs, d);
}

static void level_header(parser *p, iso_level *l)
{
    if (accept(p, "over")) {
        l->witness_given = true;
        if (accept(p, "co")) {
            l->witness = ISO_CO;
        } else if (accept(p, "vis")) {
            expect(p, ",", ISO_AS_COMMA, "\", ar\"");
            expect(p, "ar", ISO_AS_WORD, "\"ar\"");
            l->witness = ISO_VIS_AR;
        } else if (!accept(p, "none")) {
            unexpected(p, "co, vis or none");
        }
    }
    if (!accept(p, "extends")) return;
    do {
        iso_base b = {.line = p->token_line, .column = p->token_column};
        b.name = new_name(p, "the name of a level");
        vec_push(p->mem, &l->bases, b);
    } while (accept_as(p, ",", ISO_AS_COMMA));
}

static void level(parser *p)
{
    iso_level *l = mem_zeroed(p->mem, sizeof *l);
    l->file = p->file;
    l->module = p->module;
    l->line = p->token_line;
    l->column = p->token_column;
    l->name = new_name(p, "the name of a level");
    for (size_t i = 0; i < p->module->levels.n; i++)
        if (!strcmp(p->module->levels.at[i]->name, l->name))
            fail_at(p, l->line, l->column, "level \"%.60s\" is defined twice (first in line %u)",
                    l->name, (unsigned)p->module->levels.at[i]->line);
    level_header(p, l);
    expect(p, "{", ISO_AS_BODY, "\"over\", \"extends\" or \"{\"");
    while (!accept_as(p, "}", ISO_AS_BODY_END)) {
        iso_axiom a = {.name = ""};
        if (accept(p, "axiom")) {
            a.name = new_name(p, "the name of an axiom");
            expect(p, ":", ISO_AS_COMMA, "\":\"");
        }
        a.form = expression(p, 0);
        expect(p, ";", ISO_AS_END, "\";\" at the end of the formula");
        vec_push(p->mem, &l->axioms, a);
    }
    vec_push(p->mem, &p->module->levels, l);
}

iso_module *iso_parse(mem *m, const char *file, const char *text, size_t n, iso_find find, void *ud,
                      iso_tokens *record)
{
    iso_module *module = mem_zeroed(m, sizeof *module);
    module->mem = m;
    parser p = {.mem = m,
                .guard = m->guard,
                .module = module,
                .file = file,
                .at = text,
                .end = text + n,
                .line = 1,
                .column = 1,
                .record = record,
                .find = find,
                .ud = ud};
    next(&p);
    while (p.token != T_END) {
        if (accept(&p, "rel"))
            relation(&p);
        else if (accept(&p, "level"))
            level(&p);
        else
            unexpected(&p, "\"rel\" or \"level\"");
    }
    for (size_t i = 0; i < module->defs.n; i++) check_def(&p, module->defs.at[i]);
    for (size_t i = 0; i < module->levels.n; i++) check_level(&p, module->levels.at[i]);
    if (!module->levels.n) fail_at(&p, p.line, p.column, "the file defines no level");
    guard_set_position(m->guard, 0, 0);
    return module;
}

/* A level may be reached in many ways, and counts once. */
void iso_line(mem *m, const iso_level *l, iso_level_list *out)
{
    for (size_t i = 0; i < out->n; i++)
        if (out->at[i] == l) return;
    for (size_t i = 0; i < l->bases.n; i++) iso_line(m, l->bases.at[i].level, out);
    vec_push(m, out, l);
}

void iso_axioms(mem *m, const iso_level *l, iso_axiom_list *out)
{
    iso_level_list line = {0};
    iso_line(m, l, &line);
    for (size_t k = 0; k < line.n; k++)
        for (size_t i = 0; i < line.at[k]->axioms.n; i++)
            vec_push(m, out, &line.at[k]->axioms.at[i]);
    vec_free(m, &line);
}
