/*
 * pl_parse.c - the grammar of PL/pgSQL: a body's text as the statements of pl.h.
 *
 * libpg_query reads bodies too, but knows no fields of %ROWTYPE variables and gives no positions;
 * so the statements are read here and their SQL left to it.  As in pl_gram.y an expression is
 * whatever stands before the word that ends it, outside of parentheses.
 */
#include <assert.h>

#include "sql/pl.h"

typedef enum token_kind { TK_END, TK_WORD, TK_QUOTED, TK_STRING, TK_NUMBER, TK_OTHER } token_kind;

typedef struct token {
    token_kind kind;
    uint32_t from, to, line;
    const char *text; /* of words folded, of quoted ones and strings unquoted */
} token;

typedef struct parser {
    sql_exec *x;
    arena *m;
    const char *text;
    VEC(token) tokens;
    size_t at;
    pl_body *body;
    pl_scope *scope;
    uint32_t depth, cases;
} parser;

_Noreturn static void wrong(parser *p, const char *what)
{
    const token *t = &p->tokens.at[p->at];
    p->x->c.place.routine = p->body->name;
    p->x->c.place.line = t->line;
    sql_refuse(&p->x->c, -1, "%s (near \"%.*s\")", what, (int)(t->to - t->from), p->text + t->from);
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static bool starts_word(unsigned char c)
{
    return ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_' || c >= 0x80;
}

static bool in_word(unsigned char c)
{
    return starts_word(c) || (c >= '0' && c <= '9') || c == '$';
}

static const char *folded(parser *p, const char *s, size_t n)
{
    char *t = arena_text(p->m, s, n);
    for (size_t i = 0; i < n; i++)
        if (t[i] >= 'A' && t[i] <= 'Z') t[i] = (char)(t[i] + 32);
    return t;
}

/* 'a''b' or "a""b"; where it ends. */
static size_t quoted(parser *p, size_t i, const char **out)
{
    const char *s = p->text;
    char q = s[i];
    size_t end = i + 1, n = 0;
    while (s[end] && (s[end] != q || s[end + 1] == q)) end += s[end] == q ? 2 : 1;
    char *t = arena_get(p->m, end - i + 1);
    for (i++; s[i]; i++) {
        if (s[i] == q && s[i + 1] != q) break;
        if (s[i] == q) i++;
        t[n++] = s[i];
    }
    t[n] = 0;
    *out = t;
    return s[i] ? i + 1 : i;
}

static size_t escaped(const char *s, size_t i)
{
    for (i += 2; s[i] && s[i] != '\''; i++)
        if (s[i] == '\\' && s[i + 1]) i++;
    return s[i] ? i + 1 : i;
}

static size_t dollars(parser *p, size_t i, const char **out)
{
    const char *s = p->text;
    size_t n = i + 1;
    while (in_word((unsigned char)s[n]) && s[n] != '$') n++;
    if (s[n] != '$') return 0;
    n++;
    for (size_t k = n; s[k]; k++)
        if (!strncmp(s + k, s + i, n - i)) {
            *out = arena_text(p->m, s + n, k - n);
            return k + n - i;
        }
    return 0;
}

static size_t comment(const char *s, size_t i)
{
    if (s[i] == '-') {
        while (s[i] && s[i] != '\n') i++;
        return i;
    }
    int open = 0;
    do {
        if (s[i] == '/' && s[i + 1] == '*')
            open++, i += 2;
        else if (s[i] == '*' && s[i + 1] == '/')
            open--, i += 2;
        else
            i++;
    } while (open && s[i]);
    return i;
}

static size_t number_end(const char *s, size_t i)
{
    while ((s[i] >= '0' && s[i] <= '9') || (s[i] == '.' && s[i + 1] != '.')) i++;
    if ((s[i] | 32) == 'e' && s[i + 1] >= '0' && s[i + 1] <= '9')
        for (i++; s[i] >= '0' && s[i] <= '9';) i++;
    return i;
}

static bool is_pair(const char *s)
{
    return (s[0] == ':' && (s[1] == '=' || s[1] == ':')) || (s[0] == '.' && s[1] == '.') ||
           (s[0] == '<' && s[1] == '<') || (s[0] == '>' && s[1] == '>');
}

/* Fills kind and text of the token that begins at i; its end. */
static size_t read_token(parser *p, size_t i, token *t)
{
    const char *s = p->text;
    size_t end = i + 1;
    if (s[i] == '\'') {
        t->kind = TK_STRING;
        end = quoted(p, i, &t->text);
    } else if ((s[i] | 32) == 'e' && s[i + 1] == '\'') {
        end = escaped(s, i);
    } else if (s[i] == '"') {
        t->kind = TK_QUOTED;
        end = quoted(p, i, &t->text);
    } else if (starts_word((unsigned char)s[i])) {
        t->kind = TK_WORD;
        while (in_word((unsigned char)s[end])) end++;
        t->text = folded(p, s + i, end - i);
    } else if (s[i] == '$' && (s[i + 1] < '0' || s[i + 1] > '9')) {
        end = dollars(p, i, &t->text);
        t->kind = TK_STRING;
        if (!end) sql_refuse(&p->x->c, -1, "an unterminated dollar-quoted string");
    } else if (s[i] >= '0' && s[i] <= '9') {
        t->kind = TK_NUMBER;
        end = number_end(s, i);
    } else if (s[i] == '$') {
        while (s[end] >= '0' && s[end] <= '9') end++;
    } else if (is_pair(s + i)) {
        end = i + 2;
    }
    return end;
}

static void tokenize(parser *p)
{
    const char *s = p->text;
    uint32_t line = 1;
    size_t counted = 0;
    for (size_t i = 0; s[i];) {
        guard_tick(p->x->c.guard);
        if (s[i] == ' ' || (s[i] >= '\t' && s[i] <= '\r')) {
            i++;
            continue;
        }
        if ((s[i] == '-' && s[i + 1] == '-') || (s[i] == '/' && s[i + 1] == '*')) {
            i = comment(s, i);
            continue;
        }
        while (counted < i) line += s[counted++] == '\n';
        token t = {TK_OTHER, (uint32_t)i, 0, line, NULL};
        size_t end = read_token(p, i, &t);
        assert(end > i);
        t.to = (uint32_t)end;
        arena_push(p->m, &p->tokens, t);
        i = end;
    }
    token last = {TK_END, (uint32_t)strlen(s), (uint32_t)strlen(s), line, NULL};
    arena_push(p->m, &p->tokens, last);
}

static const token *now(const parser *p)
{
    return &p->tokens.at[p->at];
}

static const token *ahead(const parser *p, size_t n)
{
    return p->at + n < p->tokens.n ? &p->tokens.at[p->at + n] : &p->tokens.at[p->tokens.n - 1];
}

static bool token_is(const parser *p, const token *t, const char *s)
{
    if (t->kind == TK_WORD) return !strcmp(t->text, s);
    size_t n = strlen(s);
    return t->kind == TK_OTHER && t->to - t->from == n && !memcmp(p->text + t->from, s, n);
}

static bool is(const parser *p, const char *s)
{
    return token_is(p, now(p), s);
}

static bool take_token(parser *p, const char *s)
{
    if (!is(p, s)) return false;
    p->at++;
    return true;
}

static void need(parser *p, const char *s)
{
    if (!take_token(p, s)) wrong(p, "a body that does not parse");
}

static bool is_name(const token *t)
{
    return t->kind == TK_WORD || t->kind == TK_QUOTED;
}

static const char *name(parser *p)
{
    if (!is_name(now(p))) wrong(p, "a body that does not parse: a name is missing");
    return p->tokens.at[p->at++].text;
}

/* ---- scopes ---------------------------------------------------------------------------------- */

static pl_scope *scope_open(parser *p, const char *label)
{
    pl_scope *s = arena_get(p->m, sizeof *s);
    memset(s, 0, sizeof *s);
    s->up = p->scope;
    s->label = label;
    p->scope = s;
    return s;
}

static void scope_close(parser *p)
{
    /* the chain is built of mutable scopes; readers get them const */
    p->scope = (pl_scope *)(uintptr_t)p->scope->up;
}

int pl_find(const pl_scope *s, const char *label, const char *what)
{
    for (; s; s = s->up) {
        if (label && (!s->label || strcmp(s->label, label) != 0)) continue;
        for (size_t i = 0; i < s->names.n; i++)
            if (!strcmp(s->names.at[i].name, what)) return (int)s->names.at[i].var;
        if (label) return -1;
    }
    return -1;
}

static uint32_t declare(parser *p, pl_var v)
{
    pl_scope *s = p->scope;
    for (size_t i = 0; v.name && i < s->names.n; i++)
        if (!strcmp(s->names.at[i].name, v.name)) wrong(p, "a variable that is declared twice");
    uint32_t at = (uint32_t)p->body->vars.n;
    arena_push(p->m, &p->body->vars, v);
    if (v.name) arena_push(p->m, &s->names, ((pl_name){v.name, at}));
    return at;
}

static int named_param(parser *p, const token *t)
{
    if (t->kind != TK_OTHER || p->text[t->from] != '$' || t->to - t->from > 6) return -1;
    uint32_t n = 0;
    for (uint32_t i = t->from + 1; i < t->to; i++) n = n * 10 + (uint32_t)(p->text[i] - '0');
    return n >= 1 && n <= p->body->n_params ? (int)n - 1 : -1;
}

/* ---- SQL inside ------------------------------------------------------------------------------ */

static pl_code *code_of(parser *p, const char *before, uint32_t from, uint32_t to, uint32_t line)
{
    pl_code *c = arena_get(p->m, sizeof *c);
    memset(c, 0, sizeof *c);
    size_t lead = strlen(before), n = lead + (to - from);
    char *t = arena_get(p->m, n + 1);
    memcpy(t, before, lead);
    memcpy(t + lead, p->text + from, to - from);
    t[n] = 0;
    c->text = t;
    c->n = (uint32_t)n;
    c->line = line;
    c->scope = p->scope;
    return c;
}

/* Passes over an expression or query, up to one of the words (separated by blanks). */
static void skip_to(parser *p, const char *ends)
{
    for (int open = 0;; p->at++) {
        const token *t = now(p);
        if (t->kind == TK_END || token_is(p, t, ";")) {
            if (strchr(ends, ';') && t->kind != TK_END) return;
            wrong(p, "a body that does not parse: a statement ends too early");
        }
        if (!open && (t->kind == TK_WORD || t->kind == TK_OTHER)) {
            const char *w = t->kind == TK_WORD ? t->text : p->text + t->from;
            size_t n = t->kind == TK_WORD ? strlen(t->text) : t->to - t->from;
            for (const char *e = ends; *e;) {
                size_t len = strcspn(e, " ");
                if (len == n && !strncmp(e, w, n)) return;
                e += len + (e[len] == ' ');
            }
        }
        open += token_is(p, t, "(") || token_is(p, t, "[");
        open -= token_is(p, t, ")") || token_is(p, t, "]");
        if (open < 0) wrong(p, "a body that does not parse: parentheses");
    }
}

static pl_code *code_to(parser *p, const char *before, const char *ends)
{
    uint32_t from = now(p)->from, line = now(p)->line;
    size_t first = p->at;
    skip_to(p, ends);
    if (p->at == first) wrong(p, "a body that does not parse: an expression is missing");
    return code_of(p, before, from, p->tokens.at[p->at - 1].to, line);
}

static pl_code *expression(parser *p, const char *ends)
{
    return code_to(p, "SELECT ", ends);
}

/* a, b.c or $1 as something to assign to. */
static bool target(parser *p, pl_target *out)
{
    size_t from = p->at;
    int v = named_param(p, now(p));
    out->field = NULL;
    if (v >= 0) {
        p->at++;
    } else if (is_name(now(p))) {
        const char *a = name(p);
        v = pl_find(p->scope, NULL, a);
        if (token_is(p, now(p), ".") && is_name(ahead(p, 1))) {
            p->at++;
            const char *b = name(p);
            bool rec = v >= 0 && p->body->vars.at[v].kind != PL_SCALAR &&
                       p->body->vars.at[v].kind != PL_CURSOR;
            if (rec) {
                out->field = b;
            } else {
                v = pl_find(p->scope, a, b);
                if (v >= 0 && take_token(p, ".")) out->field = name(p);
            }
        }
    }
    if (v < 0) {
        p->at = from;
        return false;
    }
    out->var = (uint32_t)v;
    return true;
}

static void into(parser *p, pl_stmt *s)
{
    s->strict = take_token(p, "strict");
    s->has_into = true;
    do {
        pl_target t;
        if (!target(p, &t)) wrong(p, "INTO of something that is not a variable");
        if (p->body->vars.at[t.var].constant) wrong(p, "an assignment to a constant");
        arena_push(p->m, &s->into, t);
    } while (take_token(p, ","));
}

/* ---- statements ------------------------------------------------------------------------------ */

static void statements(parser *p, pl_list *out);
static pl_stmt *block(parser *p, const char *label);

static pl_stmt *stmt_new(parser *p, pl_kind kind)
{
    pl_stmt *s = arena_get(p->m, sizeof *s);
    memset(s, 0, sizeof *s);
    s->kind = kind;
    s->line = now(p)->line;
    return s;
}

static pl_stmt *assign(parser *p)
{
    pl_stmt *s = stmt_new(p, PL_ASSIGN);
    pl_target t;
    if (!target(p, &t)) wrong(p, "an assignment to something that is not a variable");
    if (is(p, "[")) wrong(p, "arrays");
    if (p->body->vars.at[t.var].constant) wrong(p, "an assignment to a constant");
    arena_push(p->m, &s->into, t);
    p->at++; /* := or = */
    s->e = expression(p, ";");
    need(p, ";");
    return s;
}

static pl_stmt *if_stmt(parser *p)
{
    pl_stmt *s = stmt_new(p, PL_IF);
    do {
        p->at++;
        pl_branch b = {.cond = expression(p, "then")};
        need(p, "then");
        statements(p, &b.body);
        arena_push(p->m, &s->branches, b);
    } while (is(p, "elsif") || is(p, "elseif"));
    if (take_token(p, "else")) {
        s->has_else = true;
        statements(p, &s->otherwise);
    }
    need(p, "end");
    need(p, "if");
    need(p, ";");
    return s;
}

/* The searched value is a record of one column, so that its type is that of the expression. */
static pl_stmt *case_stmt(parser *p)
{
    pl_stmt *s = stmt_new(p, PL_CASE);
    p->at++;
    const char *before = "SELECT ";
    if (!is(p, "when")) {
        s->e = expression(p, "when");
        char text[80];
        strbuf b;
        strbuf_init(&b, p->m->mem);
        strbuf_printf(&b, "__case__%u__", (unsigned)++p->cases);
        const char *hidden = arena_text(p->m, b.at, b.n);
        strbuf_free(&b);
        scope_open(p, NULL);
        s->var = declare(p, (pl_var){.name = hidden, .kind = PL_RECORD});
        size_t n = 0;
        for (const char *part[3] = {"SELECT ", hidden, ".v IN ("}, **q = part; q < part + 3; q++) {
            memcpy(text + n, *q, strlen(*q));
            n += strlen(*q);
        }
        before = arena_text(p->m, text, n);
    }
    while (take_token(p, "when")) {
        pl_branch b = {.cond = code_to(p, before, "then")};
        if (s->e) { /* the parenthesis that `before` opened */
            char *t = arena_text(p->m, b.cond->text, b.cond->n + 1u);
            t[b.cond->n] = ')';
            b.cond->text = arena_text(p->m, t, b.cond->n + 1u);
            b.cond->n++;
        }
        need(p, "then");
        statements(p, &b.body);
        arena_push(p->m, &s->branches, b);
    }
    if (s->e) scope_close(p);
    if (take_token(p, "else")) {
        s->has_else = true;
        statements(p, &s->otherwise);
    }
    need(p, "end");
    need(p, "case");
    need(p, ";");
    return s;
}

static void loop_body(parser *p, pl_stmt *s, const char *label)
{
    need(p, "loop");
    statements(p, &s->body);
    need(p, "end");
    need(p, "loop");
    if (!is(p, ";") && (!label || strcmp(name(p), label) != 0)) wrong(p, "the label of a loop");
    need(p, ";");
    s->label = label;
}

static pl_stmt *for_cursor(parser *p, pl_stmt *s, const char *loop_var, const char *label)
{
    pl_target c;
    s->kind = PL_FOR_CURSOR;
    target(p, &c);
    if (p->body->vars.at[c.var].init == NULL) wrong(p, "a loop over a cursor without a query");
    s->e2 = NULL;
    s->first = c.var;
    if (take_token(p, "(")) {
        while (!is(p, ")")) {
            pl_code *a = expression(p, ", )");
            arena_push(p->m, &s->args, a);
            take_token(p, ",");
        }
        p->at++;
    }
    scope_open(p, label);
    s->var = declare(p, (pl_var){.name = loop_var, .kind = PL_RECORD});
    arena_push(p->m, &s->into, ((pl_target){s->var, NULL}));
    loop_body(p, s, label);
    scope_close(p);
    return s;
}

static bool at_range(parser *p)
{
    int open = 0;
    for (size_t i = p->at; i < p->tokens.n; i++) {
        const token *t = &p->tokens.at[i];
        if (token_is(p, t, "loop") || token_is(p, t, ";")) return false;
        open += token_is(p, t, "(");
        open -= token_is(p, t, ")");
        if (!open && token_is(p, t, "..")) return true;
    }
    return false;
}

static pl_stmt *for_range(parser *p, pl_stmt *s, const char *var, const char *label)
{
    s->kind = PL_FOR_INT;
    s->reverse = take_token(p, "reverse");
    s->e = expression(p, "..");
    need(p, "..");
    s->e2 = expression(p, "loop by");
    if (take_token(p, "by")) s->e3 = expression(p, "loop");
    scope_open(p, label);
    s->var = declare(p, (pl_var){.name = var, .kind = PL_SCALAR, .t = type_plain(T_INT4)});
    loop_body(p, s, label);
    scope_close(p);
    return s;
}

static void using(parser *p, pl_stmt *s)
{
    do {
        pl_code *a = expression(p, ", loop into ;");
        arena_push(p->m, &s->args, a);
    } while (take_token(p, ","));
}

static pl_stmt *for_stmt(parser *p, const char *label)
{
    pl_stmt *s = stmt_new(p, PL_FOR_QUERY);
    p->at++;
    size_t from = p->at;
    const char *first = is_name(now(p)) ? now(p)->text : "";
    bool one = token_is(p, ahead(p, 1), "in");
    if (one && p->at + 2 < p->tokens.n) { /* FOR i IN a..b: a variable of its own */
        p->at += 2;
        pl_target c;
        size_t here = p->at;
        if (is(p, "reverse") || at_range(p)) return for_range(p, s, first, label);
        if (target(p, &c) && p->body->vars.at[c.var].kind == PL_CURSOR && !c.field) {
            p->at = here;
            return for_cursor(p, s, first, label);
        }
        p->at = from;
    }
    do {
        pl_target t;
        if (!target(p, &t)) wrong(p, "a loop variable that is not declared");
        arena_push(p->m, &s->into, t);
    } while (take_token(p, ","));
    need(p, "in");
    if (take_token(p, "execute")) {
        s->dynamic = true;
        s->e = expression(p, "loop using");
        if (take_token(p, "using")) using(p, s);
    } else {
        s->e = code_to(p, "", "loop");
    }
    scope_open(p, label);
    loop_body(p, s, label);
    scope_close(p);
    return s;
}

static pl_stmt *while_stmt(parser *p, const char *label)
{
    pl_stmt *s = stmt_new(p, PL_WHILE);
    p->at++;
    s->e = expression(p, "loop");
    scope_open(p, label);
    loop_body(p, s, label);
    scope_close(p);
    return s;
}

static pl_stmt *loop_stmt(parser *p, const char *label)
{
    pl_stmt *s = stmt_new(p, PL_LOOP);
    scope_open(p, label);
    loop_body(p, s, label);
    scope_close(p);
    return s;
}

static pl_stmt *exit_stmt(parser *p)
{
    pl_stmt *s = stmt_new(p, is(p, "exit") ? PL_EXIT : PL_CONTINUE);
    p->at++;
    if (!is(p, ";") && !is(p, "when")) s->label = name(p);
    if (take_token(p, "when")) s->e = expression(p, ";");
    need(p, ";");
    return s;
}

static pl_stmt *return_stmt(parser *p)
{
    pl_stmt *s = stmt_new(p, PL_RETURN);
    p->at++;
    if (take_token(p, "next")) {
        s->kind = PL_RETURN_NEXT;
    } else if (take_token(p, "query")) {
        s->kind = PL_RETURN_QUERY;
        if (take_token(p, "execute")) {
            s->dynamic = true;
            s->e = expression(p, "using ;");
            if (take_token(p, "using")) using(p, s);
        } else {
            s->e = code_to(p, "", ";");
        }
        need(p, ";");
        return s;
    }
    if (!is(p, ";")) {
        pl_target t;
        size_t from = p->at;
        if (target(p, &t) && is(p, ";")) arena_push(p->m, &s->into, t); /* perhaps a record */
        p->at = from;
        s->e = expression(p, ";");
    }
    need(p, ";");
    return s;
}

static pl_stmt *perform_stmt(parser *p)
{
    pl_stmt *s = stmt_new(p, PL_PERFORM);
    p->at++;
    s->e = expression(p, ";");
    need(p, ";");
    return s;
}

static pl_stmt *execute_stmt(parser *p)
{
    pl_stmt *s = stmt_new(p, PL_EXECUTE);
    p->at++;
    s->e = expression(p, "into using ;");
    for (;;) {
        if (!s->has_into && take_token(p, "into"))
            into(p, s);
        else if (!s->args.n && take_token(p, "using"))
            using(p, s);
        else
            break;
    }
    need(p, ";");
    return s;
}

static pl_stmt *call_stmt(parser *p)
{
    pl_stmt *s = stmt_new(p, PL_CALL);
    s->e = code_to(p, "", ";");
    need(p, ";");
    return s;
}

static uint32_t cursor(parser *p)
{
    pl_target t;
    if (!target(p, &t) || p->body->vars.at[t.var].kind != PL_CURSOR || t.field)
        wrong(p, "something that is not a cursor");
    return t.var;
}

static pl_stmt *open_stmt(parser *p)
{
    pl_stmt *s = stmt_new(p, PL_OPEN);
    p->at++;
    s->var = cursor(p);
    if (take_token(p, "no")) need(p, "scroll");
    take_token(p, "scroll");
    if (take_token(p, "(")) {
        while (!is(p, ")")) {
            pl_code *a = expression(p, ", )");
            arena_push(p->m, &s->args, a);
            take_token(p, ",");
        }
        p->at++;
    } else if (take_token(p, "for")) {
        if (p->body->vars.at[s->var].init) wrong(p, "OPEN ... FOR of a cursor that has a query");
        if (is(p, "execute")) wrong(p, "OPEN ... FOR EXECUTE");
        s->e = code_to(p, "", ";");
    }
    need(p, ";");
    return s;
}

static void direction(parser *p, pl_stmt *s)
{
    static const struct {
        const char *word;
        pl_move move;
        bool counted;
    } moves[] = {
        {"next", MOVE_RELATIVE, false},    {"prior", MOVE_PRIOR, false},
        {"first", MOVE_FIRST, false},      {"last", MOVE_LAST, false},
        {"absolute", MOVE_ABSOLUTE, true}, {"relative", MOVE_RELATIVE, true},
        {"forward", MOVE_RELATIVE, false}, {"backward", MOVE_PRIOR, false},
    };
    s->move = MOVE_RELATIVE;
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++) {
        if (!is(p, moves[i].word)) continue;
        if (pl_find(p->scope, NULL, moves[i].word) >= 0) break;
        p->at++;
        s->move = moves[i].move;
        if (moves[i].counted) s->e = expression(p, "from in");
        if (!is(p, "from") && !is(p, "in")) {
            if (moves[i].word[0] == 'f' || moves[i].word[0] == 'b')
                if (now(p)->kind == TK_NUMBER || is(p, "all")) wrong(p, "FORWARD with a count");
        }
        break;
    }
    if (!take_token(p, "from")) take_token(p, "in");
}

static pl_stmt *fetch_stmt(parser *p)
{
    pl_stmt *s = stmt_new(p, PL_FETCH);
    s->move_only = is(p, "move");
    p->at++;
    direction(p, s);
    s->var = cursor(p);
    if (!s->move_only) {
        need(p, "into");
        into(p, s);
    }
    need(p, ";");
    return s;
}

static pl_stmt *close_stmt(parser *p)
{
    pl_stmt *s = stmt_new(p, PL_CLOSE);
    p->at++;
    s->var = cursor(p);
    need(p, ";");
    return s;
}

static void raise_using(parser *p, pl_stmt *s)
{
    do {
        const char *option = name(p);
        if (!take_token(p, "=")) need(p, ":=");
        pl_code *e = expression(p, ", ;");
        if (!strcmp(option, "errcode"))
            s->e2 = e;
        else if (!strcmp(option, "message"))
            s->e3 = e;
    } while (take_token(p, ","));
}

static pl_stmt *raise_stmt(parser *p)
{
    static const char *const quiet[] = {"debug", "log", "info", "notice", "warning"};
    pl_stmt *s = stmt_new(p, PL_RAISE);
    p->at++;
    s->error = true;
    for (size_t i = 0; i < sizeof quiet / sizeof quiet[0]; i++)
        if (take_token(p, quiet[i])) s->error = false;
    if (s->error) take_token(p, "exception");
    if (now(p)->kind == TK_STRING) {
        s->text = now(p)->text;
        p->at++;
        while (take_token(p, ",")) {
            pl_code *a = expression(p, ", using ;");
            arena_push(p->m, &s->args, a);
        }
    } else if (take_token(p, "sqlstate")) {
        if (now(p)->kind != TK_STRING || strlen(now(p)->text) != 5) wrong(p, "this SQLSTATE");
        s->state = now(p)->text;
        p->at++;
    } else if (now(p)->kind == TK_WORD && !is(p, "using")) {
        s->state = pl_condition(now(p)->text, 0);
        if (!s->state) wrong(p, "a condition that has no such name");
        p->at++;
    }
    if (take_token(p, "using")) raise_using(p, s);
    need(p, ";");
    return s;
}

static pl_stmt *assert_stmt(parser *p)
{
    pl_stmt *s = stmt_new(p, PL_ASSERT);
    p->at++;
    s->e = expression(p, ", ;");
    if (take_token(p, ",")) s->e2 = expression(p, ";");
    need(p, ";");
    return s;
}

static pl_stmt *get_stmt(parser *p)
{
    pl_stmt *s = stmt_new(p, PL_DIAGNOSTICS);
    p->at++;
    take_token(p, "current");
    s->strict = take_token(p, "stacked");
    need(p, "diagnostics");
    do {
        pl_target t;
        if (!target(p, &t)) wrong(p, "GET DIAGNOSTICS into something that is not a variable");
        if (!take_token(p, "=")) need(p, ":=");
        const char *item = name(p);
        bool known = s->strict ? !strcmp(item, "returned_sqlstate") || !strcmp(item, "message_text")
                               : !strcmp(item, "row_count");
        if (!known) wrong(p, "an item of GET DIAGNOSTICS");
        arena_push(p->m, &s->into, t);
        arena_push(p->m, &s->items, item);
    } while (take_token(p, ","));
    need(p, ";");
    return s;
}

static pl_stmt *null_stmt(parser *p)
{
    pl_stmt *s = stmt_new(p, PL_NULL);
    p->at++;
    need(p, ";");
    return s;
}

static pl_stmt *refused_stmt(parser *p)
{
    wrong(p, "COMMIT, ROLLBACK, FOREACH or IMPORT in a body");
}

/* Any other statement is SQL; INTO, wherever it stands, is ours. */
static pl_stmt *sql_stmt(parser *p)
{
    pl_stmt *s = stmt_new(p, PL_SQL);
    uint32_t from = now(p)->from, line = now(p)->line, cut_from = 0, cut_to = 0;
    if (!is(p, "select") && !is(p, "with") && !is(p, "insert") && !is(p, "update") &&
        !is(p, "merge") && !is(p, "delete") && !is(p, "create") && !is(p, "drop") &&
        !is(p, "truncate") && !is(p, "lock") && !is(p, "alter"))
        wrong(p, "this statement in a body");
    while (!is(p, ";")) {
        if (now(p)->kind == TK_END) wrong(p, "a body that does not parse");
        if (is(p, "into") && p->at && !token_is(p, &p->tokens.at[p->at - 1], "insert") &&
            !token_is(p, &p->tokens.at[p->at - 1], "merge")) {
            if (s->has_into) wrong(p, "INTO twice");
            cut_from = now(p)->from;
            p->at++;
            into(p, s);
            cut_to = now(p)->from;
            continue;
        }
        p->at++;
    }
    s->e = code_of(p, "", from, now(p)->from, line);
    char *t = arena_text(p->m, s->e->text, s->e->n);
    if (s->has_into) memset(t + (cut_from - from), ' ', cut_to - cut_from);
    s->e->text = t;
    p->at++;
    return s;
}

static const struct {
    const char *word;
    pl_stmt *(*parse)(parser *p);
} kinds[] = {
    {"if", if_stmt},           {"case", case_stmt},       {"exit", exit_stmt},
    {"continue", exit_stmt},   {"return", return_stmt},   {"perform", perform_stmt},
    {"execute", execute_stmt}, {"call", call_stmt},       {"open", open_stmt},
    {"fetch", fetch_stmt},     {"move", fetch_stmt},      {"close", close_stmt},
    {"raise", raise_stmt},     {"assert", assert_stmt},   {"get", get_stmt},
    {"null", null_stmt},       {"commit", refused_stmt},  {"rollback", refused_stmt},
    {"import", refused_stmt},  {"foreach", refused_stmt}, {"do", refused_stmt},
};

static bool at_assignment(parser *p)
{
    size_t i = 0;
    if (named_param(p, now(p)) >= 0) {
        i = 1;
    } else {
        if (!is_name(now(p))) return false;
        for (i = 1; token_is(p, ahead(p, i), ".") && is_name(ahead(p, i + 1));) i += 2;
    }
    const token *t = ahead(p, i);
    return token_is(p, t, ":=") || token_is(p, t, "=") || token_is(p, t, "[");
}

static pl_stmt *statement(parser *p)
{
    const char *label = NULL;
    if (++p->depth > 200) wrong(p, "a body nested this deep");
    if (take_token(p, "<<")) {
        label = name(p);
        need(p, ">>");
    }
    pl_stmt *s = NULL;
    if (is(p, "declare") || is(p, "begin"))
        s = block(p, label);
    else if (is(p, "loop"))
        s = loop_stmt(p, label);
    else if (is(p, "while"))
        s = while_stmt(p, label);
    else if (is(p, "for"))
        s = for_stmt(p, label);
    else if (label)
        wrong(p, "a label before this statement");
    else if (at_assignment(p))
        s = assign(p);
    for (size_t i = 0; !s && i < sizeof kinds / sizeof kinds[0]; i++)
        if (is(p, kinds[i].word)) s = kinds[i].parse(p);
    if (!s) s = sql_stmt(p);
    p->depth--;
    return s;
}

static void statements(parser *p, pl_list *out)
{
    static const char *const ends[] = {"end", "else", "elsif", "elseif", "when", "exception"};
    for (;;) {
        guard_tick(p->x->c.guard);
        for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
            if (is(p, ends[i])) return;
        pl_stmt *s = statement(p);
        arena_push(p->m, &out->at, s);
    }
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static const char *type_words(parser *p, const char *ends)
{
    size_t first = p->at;
    uint32_t from = now(p)->from;
    skip_to(p, ends);
    if (p->at == first) wrong(p, "a declaration without a type");
    return arena_text(p->m, p->text + from, p->tokens.at[p->at - 1].to - from);
}

static void cursor_decl(parser *p, const char *what)
{
    pl_var v = {.name = what, .kind = PL_CURSOR, .t = type_plain(T_TEXT)};
    if (take_token(p, "no")) need(p, "scroll");
    take_token(p, "scroll");
    need(p, "cursor");
    pl_scope *s = scope_open(p, what); /* its parameters are seen by its query only */
    v.args = (uint32_t)p->body->vars.n;
    if (take_token(p, "(")) {
        do {
            const char *arg = name(p);
            const char *t = type_words(p, ", )");
            declare(p, (pl_var){.name = arg, .kind = PL_SCALAR, .type_text = t, .scope = s->up});
        } while (take_token(p, ","));
        need(p, ")");
    }
    v.n_args = (uint32_t)p->body->vars.n - v.args;
    if (!take_token(p, "for")) need(p, "is");
    v.init = code_to(p, "", ";");
    need(p, ";");
    scope_close(p);
    declare(p, v);
}

static void declaration(parser *p)
{
    const char *what = name(p);
    if (is(p, "cursor") || ((is(p, "no") || is(p, "scroll")))) {
        cursor_decl(p, what);
        return;
    }
    if (take_token(p, "alias")) {
        need(p, "for");
        pl_target t;
        if (!target(p, &t) || t.field) wrong(p, "an alias of something that is not a variable");
        arena_push(p->m, &p->scope->names, ((pl_name){what, t.var}));
        need(p, ";");
        return;
    }
    pl_var v = {.name = what, .kind = PL_SCALAR, .scope = p->scope};
    v.constant = take_token(p, "constant");
    v.type_text = type_words(p, "not default := = collate ;");
    if (is(p, "collate")) wrong(p, "COLLATE");
    const char *words = folded(p, v.type_text, strlen(v.type_text));
    if (!strcmp(words, "record")) v.kind = PL_RECORD;
    if (!strcmp(words, "refcursor")) v.kind = PL_CURSOR;
    if (strstr(words, "%rowtype")) v.kind = PL_ROW;
    if (take_token(p, "not")) {
        need(p, "null");
        v.not_null = true;
    }
    if (take_token(p, "default") || take_token(p, ":=") || take_token(p, "="))
        v.init = expression(p, ";");
    if (v.init && v.kind == PL_CURSOR) wrong(p, "a refcursor with a name");
    need(p, ";");
    declare(p, v);
}

static void handlers(parser *p, pl_stmt *b)
{
    scope_open(p, NULL);
    b->sqlstate =
        declare(p, (pl_var){.name = "sqlstate", .kind = PL_SCALAR, .t = type_plain(T_TEXT)});
    b->sqlerrm =
        declare(p, (pl_var){.name = "sqlerrm", .kind = PL_SCALAR, .t = type_plain(T_TEXT)});
    while (take_token(p, "when")) {
        pl_handler h = {0};
        do {
            const char *state;
            if (take_token(p, "sqlstate")) {
                if (now(p)->kind != TK_STRING || strlen(now(p)->text) != 5)
                    wrong(p, "this SQLSTATE");
                arena_push(p->m, &h.states, now(p)->text);
                p->at++;
                continue;
            }
            const char *cond = name(p);
            if (!strcmp(cond, "others")) {
                arena_push(p->m, &h.states, NULL);
                continue;
            }
            if (!pl_condition(cond, 0)) wrong(p, "a condition that has no such name");
            for (uint32_t i = 0; (state = pl_condition(cond, i)); i++)
                arena_push(p->m, &h.states, state);
        } while (take_token(p, "or"));
        need(p, "then");
        statements(p, &h.body);
        arena_push(p->m, &b->handlers, h);
    }
    scope_close(p);
}

static pl_stmt *block(parser *p, const char *label)
{
    pl_stmt *b = stmt_new(p, PL_BLOCK);
    b->label = label;
    scope_open(p, label);
    b->first = (uint32_t)p->body->vars.n;
    while (take_token(p, "declare"))
        while (!is(p, "begin") && !is(p, "declare")) declaration(p);
    b->n_vars = (uint32_t)p->body->vars.n - b->first;
    need(p, "begin");
    statements(p, &b->body);
    if (take_token(p, "exception")) handlers(p, b);
    need(p, "end");
    if (label && is_name(now(p)) && !strcmp(now(p)->text, label)) p->at++;
    if (now(p)->kind != TK_END) need(p, ";");
    scope_close(p);
    return b;
}

static void directives(parser *p)
{
    if (now(p)->kind == TK_OTHER && p->text[now(p)->from] == '#') wrong(p, "a directive (#)");
}

static void begin_body(parser *p, const char *what, const pl_param *params, uint32_t n_params)
{
    p->body = arena_get(p->m, sizeof *p->body);
    memset(p->body, 0, sizeof *p->body);
    p->body->name = what;
    p->body->n_params = n_params;
    tokenize(p);
    p->body->scope = scope_open(p, what);
    for (uint32_t i = 0; i < n_params; i++) {
        const char *n = params[i].name && *params[i].name ? params[i].name : NULL;
        declare(p, (pl_var){.name = n, .kind = PL_SCALAR, .t = params[i].t});
    }
}

pl_body *pl_parse_sql(sql_exec *x, arena *m, const char *what, const char *text,
                      const pl_param *params, uint32_t n_params)
{
    parser p = {.x = x, .m = m, .text = text};
    begin_body(&p, what, params, n_params);
    while (now(&p)->kind != TK_END) {
        if (take_token(&p, ";")) continue;
        pl_stmt *s = stmt_new(&p, PL_SQL);
        uint32_t from = now(&p)->from, line = now(&p)->line;
        while (!is(&p, ";") && now(&p)->kind != TK_END) p.at++;
        s->e = code_of(&p, "", from, now(&p)->from, line);
        arena_push(m, &p.body->statements.at, s);
    }
    return p.body;
}

/* FOUND, the block, and nothing after it. */
static pl_body *finish_body(parser *p)
{
    p->body->found =
        declare(p, (pl_var){.name = "found", .kind = PL_SCALAR, .t = type_plain(T_BOOL)});
    directives(p);
    const char *label = NULL;
    if (take_token(p, "<<")) {
        label = name(p);
        need(p, ">>");
    }
    if (!is(p, "declare") && !is(p, "begin")) wrong(p, "a body that does not parse");
    p->body->block = block(p, label);
    if (now(p)->kind != TK_END) wrong(p, "a body that does not parse");
    return p->body;
}

pl_body *pl_parse(sql_exec *x, arena *m, const char *what, const char *text, const pl_param *params,
                  uint32_t n_params)
{
    parser p = {.x = x, .m = m, .text = text};
    begin_body(&p, what, params, n_params);
    return finish_body(&p);
}

pl_body *pl_parse_trigger(sql_exec *x, arena *m, const char *what, const char *text)
{
    static const char *const texts[] = {"tg_op",   "tg_name",  "tg_table_name",  "tg_relname",
                                        "tg_when", "tg_level", "tg_table_schema"};
    parser p = {.x = x, .m = m, .text = text};
    begin_body(&p, what, NULL, 0);
    declare(&p, (pl_var){.name = "new", .kind = PL_RECORD, .t = type_plain(T_TEXT)});
    declare(&p, (pl_var){.name = "old", .kind = PL_RECORD, .t = type_plain(T_TEXT)});
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        declare(&p, (pl_var){.name = texts[i], .kind = PL_SCALAR, .t = type_plain(T_TEXT)});
    for (size_t i = 0; i < p.tokens.n; i++)
        if (token_is(&p, &p.tokens.at[i], "tg_argv") || token_is(&p, &p.tokens.at[i], "tg_nargs") ||
            token_is(&p, &p.tokens.at[i], "tg_relid"))
            wrong(&p, "TG_ARGV, TG_NARGS or TG_RELID");
    return finish_body(&p);
}

const char *pl_after(sql_exec *x, arena *m, const char *text, const char *word)
{
    pl_body none = {.name = "statement"};
    parser p = {.x = x, .m = m, .text = text, .body = &none};
    tokenize(&p);
    int open = 0;
    for (p.at = 2; p.at < p.tokens.n; p.at++) {
        open += is(&p, "(");
        open -= is(&p, ")");
        if (!open && is(&p, word))
            return arena_text(m, text + now(&p)->to, strlen(text + now(&p)->to));
    }
    sql_refuse(&x->c, -1, "a statement without %s", word);
}

/* ---- conditions ------------------------------------------------------------------------------ */

const char *pl_condition(const char *what, uint32_t i)
{
    static const struct {
        const char *state, *name;
    } conditions[] = {
#define CONDITION(state, name) {state, name},
#include "sql/conditions.def"
#undef CONDITION
    };
    for (size_t k = 0; k < sizeof conditions / sizeof conditions[0]; k++)
        if (!strcmp(conditions[k].name, what) && !i--) return conditions[k].state;
    return NULL;
}
