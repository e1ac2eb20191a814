/*
 * spec.c - the reader of scripts (spec.h).
 *
 * The words are those of isolationtester: setup, teardown, session, step, permutation.  Ours are
 * title, anomaly, forbidden, source, only, except, happens, and `dialect NAME { ... }` after a
 * text.  As there, a block of SQL ends at the first closing brace, blanks at its two ends are left
 * out but not line ends, and "" inside quotes stands for one quote.
 */
#include "step/spec.h"

#include <stdlib.h>

#include "base/strbuf.h"

typedef enum word_kind { WORD_END, WORD_NAME, WORD_STRING, WORD_BLOCK, WORD_SIGN } word_kind;

typedef struct spec_word {
    word_kind kind;
    const char *text; /* without quotes or braces, ends with a 0 */
    uint32_t line, column;
    char sign; /* ( ) * , */
} spec_word;

typedef struct spec_reader {
    spec *s;
    mem *m;
    const char *at, *end, *line_start;
    uint32_t line;
    spec_word now;
} spec_reader;

_Noreturn static void spec_mistake(spec_reader *r, uint32_t line, uint32_t column, const char *what)
{
    guard_set_position(r->m->guard, line, column);
    guard_fail(r->m->guard, GUARD_INVAL, "%s", what);
}

_Noreturn static void word_mistake(spec_reader *r, const char *what)
{
    spec_mistake(r, r->now.line, r->now.column, what);
}

static const char *kept_piece(spec_reader *r, const char *from, const char *to)
{
    size_t n = (size_t)(to - from);
    char *copy = mem_get(r->m, n + 1);
    memcpy(copy, from, n);
    copy[n] = 0;
    return copy;
}

static void pass_character(spec_reader *r)
{
    if (*r->at++ == '\n') {
        r->line++;
        r->line_start = r->at;
    }
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f';
}

static void pass_blank(spec_reader *r)
{
    while (r->at < r->end) {
        if (*r->at == '#')
            while (r->at < r->end && *r->at != '\n') r->at++;
        else if (is_blank(*r->at) || *r->at == '\n')
            pass_character(r);
        else
            return;
    }
}

static bool in_name(char c)
{
    unsigned char u = (unsigned char)c;
    return (u >= 'a' && u <= 'z') || (u >= 'A' && u <= 'Z') || (u >= '0' && u <= '9') || u == '_' ||
           u == '-' || u == '$' || u >= 0x80;
}

/* Text up to a closing character, which is passed. */
static const char *enclosed(spec_reader *r, char close, const char *what)
{
    const char *from = ++r->at;
    while (r->at < r->end && *r->at != close) {
        if (!*r->at) word_mistake(r, "a NUL byte inside a text");
        pass_character(r);
    }
    if (r->at == r->end) word_mistake(r, what);
    const char *to = r->at++;
    while (close == '}' && from < to && is_blank(*from)) from++;
    while (close == '}' && to > from && is_blank(to[-1])) to--;
    return kept_piece(r, from, to);
}

/* Text in quotes, in which two of them stand for one. */
static const char *quoted(spec_reader *r)
{
    const char *text = enclosed(r, '"', "this \" is not closed");
    if (r->at == r->end || *r->at != '"') return text;
    strbuf all;
    strbuf_init(&all, r->m);
    strbuf_str(&all, text);
    while (r->at < r->end && *r->at == '"') {
        strbuf_char(&all, '"');
        strbuf_str(&all, enclosed(r, '"', "this \" is not closed"));
    }
    return strbuf_cstr(&all);
}

static void next_word(spec_reader *r)
{
    pass_blank(r);
    r->now = (spec_word){.line = r->line, .column = (uint32_t)(r->at - r->line_start) + 1};
    if (r->at == r->end) return;
    char c = *r->at;
    if (c == '{') {
        r->now.kind = WORD_BLOCK;
        r->now.text = enclosed(r, '}', "this { has no }");
    } else if (c == '"') {
        r->now.kind = WORD_STRING;
        r->now.text = quoted(r);
    } else if (c && strchr("()*,", c)) {
        r->now.kind = WORD_SIGN;
        r->now.sign = c;
        r->at++;
    } else if (in_name(c)) {
        const char *from = r->at;
        while (r->at < r->end && in_name(*r->at)) r->at++;
        r->now.kind = WORD_NAME;
        r->now.text = kept_piece(r, from, r->at);
    } else {
        word_mistake(r, "neither a word nor a text in braces or quotes");
    }
}

static bool is_word(const spec_reader *r, const char *word)
{
    return r->now.kind == WORD_NAME && !strcmp(r->now.text, word);
}

static bool is_sign(const spec_reader *r, char c)
{
    return r->now.kind == WORD_SIGN && r->now.sign == c;
}

/* A name or a string, which is passed. */
static const char *name_next(spec_reader *r, const char *what)
{
    if (r->now.kind != WORD_NAME && r->now.kind != WORD_STRING) word_mistake(r, what);
    const char *name = r->now.text;
    next_word(r);
    return name;
}

/* { SQL } [dialect NAME ({ SQL } | none)] ... */
static spec_text text_next(spec_reader *r)
{
    spec *s = r->s;
    if (r->now.kind != WORD_BLOCK) word_mistake(r, "a text in braces is missing here");
    spec_text t = {.first = (uint32_t)s->forms.n, .line = r->now.line};
    spec_form plain = {NULL, r->now.text};
    vec_push(r->m, &s->forms, plain);
    next_word(r);
    while (is_word(r, "dialect")) {
        next_word(r);
        spec_form other = {name_next(r, "the name of a dialect is missing here"), NULL};
        if (r->now.kind == WORD_BLOCK)
            other.sql = r->now.text;
        else if (!is_word(r, "none"))
            word_mistake(
                r, "after the name of a dialect, a text in braces or the word none is expected");
        next_word(r);
        vec_push(r->m, &s->forms, other);
    }
    t.n = (uint32_t)s->forms.n - t.first;
    return t;
}

static uint64_t name_hash(const spec *s, const char *name)
{
    return hash_bytes(name, strlen(name), s->name_seed);
}

static uint32_t step_named(const spec *s, const char *name)
{
    for (index_walk w = id_index_walk(&s->step_names, name_hash(s, name));
         id_index_next(&s->step_names, &w);)
        if (!strcmp(s->steps.at[w.id].name, name)) return w.id;
    return NO_ID;
}

static uint32_t known_step(spec_reader *r, const char *name, uint32_t line, uint32_t column)
{
    uint32_t step = step_named(r->s, name);
    if (step == NO_ID) spec_mistake(r, line, column, "there is no step of this name");
    return step;
}

static void session_next(spec_reader *r)
{
    spec *s = r->s;
    spec_session t = {.name = name_next(r, "the name of the session is missing here"),
                      .first = (uint32_t)s->steps.n};
    if (is_word(r, "node")) {
        next_word(r);
        t.node = name_next(r, "the role or the letter of a node is missing here");
    }
    if (is_word(r, "commit")) {
        next_word(r);
        t.held = is_word(r, "held");
        if (!t.held) word_mistake(r, "only commit held is allowed here");
        next_word(r);
    }
    if (is_word(r, "setup")) {
        next_word(r);
        t.setup = text_next(r);
    }
    while (is_word(r, "step")) {
        next_word(r);
        uint32_t line = r->now.line, column = r->now.column;
        spec_step step = {.name = name_next(r, "the name of the step is missing here"),
                          .session = (uint32_t)s->sessions.n};
        if (step_named(s, step.name) != NO_ID)
            spec_mistake(r, line, column, "two steps have this name");
        step.text = text_next(r);
        id_index_add(r->m, &s->step_names, name_hash(s, step.name), (uint32_t)s->steps.n);
        vec_push(r->m, &s->steps, step);
    }
    t.n = (uint32_t)s->steps.n - t.first;
    if (!t.n) word_mistake(r, "a session needs a step");
    if (is_word(r, "teardown")) {
        next_word(r);
        t.teardown = text_next(r);
    }
    vec_push(r->m, &s->sessions, t);
}

/* A whole number up to a million: nobody waits for more notices. */
static uint32_t notices_next(spec_reader *r)
{
    char *end;
    unsigned long n = r->now.kind == WORD_NAME ? strtoul(r->now.text, &end, 10) : 0;
    if (r->now.kind != WORD_NAME || *end || !*r->now.text || *r->now.text == '-' || n > 1000000)
        word_mistake(r, "after notices, a whole number is expected");
    next_word(r);
    return (uint32_t)n;
}

/* (*), (step, ...), (step notices n): when the step is to be reported as complete. */
static void blockers_next(spec_reader *r, spec_turn *t)
{
    do {
        next_word(r);
        spec_blocker b = {.kind = BLOCKER_ONCE};
        if (is_sign(r, '*')) {
            next_word(r);
        } else {
            uint32_t line = r->now.line, column = r->now.column;
            const char *name = name_next(r, "only * and names of steps are allowed in ( )");
            b.kind = BLOCKER_STEP;
            b.step = known_step(r, name, line, column);
            if (r->s->steps.at[b.step].session == r->s->steps.at[t->step].session)
                spec_mistake(r, line, column, "a step cannot wait for a step of its own session");
            if (is_word(r, "notices")) {
                next_word(r);
                b.kind = BLOCKER_NOTICES;
                b.notices = notices_next(r);
            }
        }
        vec_push(r->m, &r->s->blockers, b);
        t->n_blockers++;
    } while (is_sign(r, ','));
    if (!is_sign(r, ')')) word_mistake(r, "the ( of a step has no )");
    next_word(r);
}

static bool begins_clause(const spec_reader *r)
{
    static const char *const words[] = {"permutation", "happens", "teardown", "session", NULL};
    for (size_t i = 0; words[i]; i++)
        if (is_word(r, words[i])) return true;
    return false;
}

static void permutation_next(spec_reader *r)
{
    spec *s = r->s;
    spec_permutation p = {.first = (uint32_t)s->turns.n, .line = r->now.line};
    while ((r->now.kind == WORD_NAME && !begins_clause(r)) || r->now.kind == WORD_STRING) {
        spec_turn t = {.step = known_step(r, r->now.text, r->now.line, r->now.column),
                       .first_blocker = (uint32_t)s->blockers.n};
        next_word(r);
        if (is_sign(r, '(')) blockers_next(r, &t);
        vec_push(r->m, &s->turns, t);
    }
    p.n = (uint32_t)s->turns.n - p.first;
    if (!p.n) word_mistake(r, "a permutation must name at least one step");
    vec_push(r->m, &s->permutations, p);
}

static const char *trimmed(spec_reader *r, const char *from, const char *to)
{
    while (from < to && strchr(" \t\r\n", *from)) from++;
    while (to > from && strchr(" \t\r\n", to[-1])) to--;
    return kept_piece(r, from, to);
}

/* STEP: 1|10, 2|20; and `none` for no rows; one line for each step. */
static void signs_next(spec_reader *r)
{
    if (r->now.kind != WORD_BLOCK) word_mistake(r, "happens needs a text in braces");
    uint32_t line = r->now.line;
    for (const char *p = r->now.text; *p; line++) {
        const char *end = p + strcspn(p, "\n"), *colon = memchr(p, ':', (size_t)(end - p));
        const char *name = trimmed(r, p, colon ? colon : end);
        if (colon) {
            spec_sign g = {known_step(r, name, line, 1), trimmed(r, colon + 1, end)};
            char *rows = (char *)g.rows; /* ours: trimmed has just made it */
            if (!strcmp(rows, "none")) *rows = 0;
            vec_push(r->m, &r->s->signs, g);
        } else if (*name) {
            spec_mistake(r, line, 1, "a line of happens is STEP: ROWS, such as r1: 1|10, 2|20");
        }
        p = *end ? end + 1 : end;
    }
    next_word(r);
}

static void about_next(spec_reader *r, const char *clause)
{
    spec *s = r->s;
    const char *text = name_next(r, "a name or a text in quotes is missing here");
    if (!strcmp(clause, "title")) s->title = text;
    if (!strcmp(clause, "anomaly")) s->anomaly = text;
    if (!strcmp(clause, "forbidden")) s->forbidden = text;
    if (!strcmp(clause, "source")) s->source = text;
    if (!strcmp(clause, "only")) vec_push(r->m, &s->only, text);
    if (!strcmp(clause, "except")) vec_push(r->m, &s->except, text);
}

static void clause_next(spec_reader *r)
{
    static const char *const about[] = {"title",  "anomaly", "forbidden",
                                        "source", "only",    "except"};
    if (r->now.kind != WORD_NAME) word_mistake(r, "setup, session or permutation is expected here");
    const char *clause = r->now.text;
    uint32_t line = r->now.line, column = r->now.column;
    next_word(r);
    for (size_t i = 0; i < sizeof about / sizeof *about; i++)
        if (!strcmp(clause, about[i])) {
            about_next(r, clause);
            return;
        }
    if (!strcmp(clause, "setup")) {
        spec_text t = text_next(r);
        vec_push(r->m, &r->s->setups, t);
    } else if (!strcmp(clause, "teardown")) {
        r->s->teardown = text_next(r);
    } else if (!strcmp(clause, "session")) {
        session_next(r);
    } else if (!strcmp(clause, "permutation")) {
        permutation_next(r);
    } else if (!strcmp(clause, "happens")) {
        signs_next(r);
    } else {
        spec_mistake(r, line, column, "no clause begins with this word");
    }
}

void spec_read(spec *s, mem *m, const char *file, const char *text, size_t n)
{
    *s = (spec){.file = file, .name_seed = hash_secret(mem_get(m, 1))};
    spec_reader r = {.s = s, .m = m, .at = text, .end = text + n, .line_start = text, .line = 1};
    next_word(&r);
    while (r.now.kind != WORD_END) clause_next(&r);
    if (!s->sessions.n) word_mistake(&r, "the script has no session");
}

const char *spec_sql(const spec *s, spec_text t, const char *dialect)
{
    if (!t.n) return NULL;
    for (uint32_t i = t.first + 1; i < t.first + t.n; i++)
        if (!strcmp(s->forms.at[i].dialect, dialect)) return s->forms.at[i].sql;
    return s->forms.at[t.first].sql;
}

bool spec_applies(const spec *s, const char *dialect, const char *adapter)
{
    for (size_t i = 0; i < s->except.n; i++)
        if (!strcmp(s->except.at[i], dialect) || !strcmp(s->except.at[i], adapter)) return false;
    for (size_t i = 0; i < s->only.n; i++)
        if (!strcmp(s->only.at[i], dialect) || !strcmp(s->only.at[i], adapter)) return true;
    return !s->only.n;
}
