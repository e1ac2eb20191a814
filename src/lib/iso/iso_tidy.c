/*
 * iso_tidy.c - an `.iso` file in its usual layout: one definition or axiom a line, long ones broken
 * where they are joined most loosely, comments kept where they stand.
 *
 * It works on tokens and what the parser took them for, so it changes white space only.  What ends
 * a definition ends its line, too: so a `;` that composes and one that ends stay what they are.
 */
#include "iso/iso.h"

#define WIDTH 100
#define INDENT 4

typedef struct layout {
    const iso_tokens *t;
    strbuf *out;
    size_t indent;
} layout;

static void spaces(strbuf *out, size_t n)
{
    while (n--) strbuf_char(out, ' ');
}

static bool apart(const iso_token *a, const iso_token *b)
{
    if (a->role == ISO_AS_OPEN || a->role == ISO_AS_CALL || a->role == ISO_AS_TIGHT) return false;
    switch (b->role) {
    case ISO_AS_TIGHT:
    case ISO_AS_COMMA:
    case ISO_AS_POSTFIX:
    case ISO_AS_CALL:
    case ISO_AS_CLOSE:
    case ISO_AS_END: return false;
    default: return true;
    }
}

/* Columns of the tokens [from, to) in one line. */
static size_t columns(const layout *l, size_t from, size_t to)
{
    size_t n = 0;
    for (size_t i = from; i < to; i++)
        n += l->t->at[i].n + (i > from && apart(&l->t->at[i - 1], &l->t->at[i]));
    return n;
}

static bool is_logic(const iso_token *t)
{
    return t->role == ISO_AS_BINARY && t->n > 1 &&
           (*t->text == 'a' || *t->text == 'o' || *t->text == '=' || *t->text == '<');
}

/* How well a line may end before token i, lower is better; 0: it may not. */
static size_t looseness(const layout *l, size_t i, size_t depth)
{
    if (l->t->at[i - 1].role == ISO_AS_BAR) return 3 * depth + 1;
    if (l->t->at[i].role != ISO_AS_BINARY) return 0;
    return 3 * depth + (is_logic(&l->t->at[i]) ? 2 : 3);
}

/* Where the line that begins with token `from` ends: before the loosest place that fits. */
static size_t line_end(const layout *l, size_t from, size_t end, size_t room)
{
    size_t best = 0, at = end, depth = 0;
    for (size_t i = from + 1; i < end; i++) {
        const iso_token *before = &l->t->at[i - 1];
        if (before->role == ISO_AS_COMMENT) return best && columns(l, from, i) > room ? at : i;
        if (before->role == ISO_AS_OPEN || before->role == ISO_AS_CALL) depth++;
        if (l->t->at[i].role == ISO_AS_CLOSE && depth) depth--;
        size_t good = looseness(l, i, depth);
        bool fits = columns(l, from, i) <= room;
        if (good && (fits ? !best || good <= best : !best)) best = good, at = i;
        if (!fits && best) break;
    }
    return columns(l, from, end) <= room ? end : at;
}

static void statement(layout *l, size_t from, size_t end)
{
    size_t indent = l->indent;
    while (from < end) {
        size_t room = indent < WIDTH / 2 ? WIDTH - indent : WIDTH / 2;
        size_t to = line_end(l, from, end, room);
        spaces(l->out, indent);
        for (size_t i = from; i < to; i++) {
            const iso_token *t = &l->t->at[i];
            if (i > from && apart(&l->t->at[i - 1], t)) strbuf_char(l->out, ' ');
            strbuf_add(l->out, t->text, t->n);
        }
        if (to < end) strbuf_char(l->out, '\n');
        if (indent == l->indent || l->t->at[to - 1].role == ISO_AS_BAR) indent += INDENT;
        from = to;
    }
}

static bool ends(const iso_token *t)
{
    return t->role == ISO_AS_END || t->role == ISO_AS_BODY || t->role == ISO_AS_BODY_END;
}

void iso_tidy(const iso_tokens *tokens, strbuf *out)
{
    layout l = {.t = tokens, .out = out};
    const iso_token *t = tokens->at;
    for (size_t i = 0; i < tokens->n;) {
        bool opened = i && t[i - 1].role == ISO_AS_BODY;
        if (t[i].role == ISO_AS_BODY_END) l.indent = 0;
        if (i && t[i].blank && !opened && t[i].role != ISO_AS_BODY_END) strbuf_char(out, '\n');
        size_t end = i + 1;
        if (t[i].role != ISO_AS_COMMENT)
            while (end < tokens->n && !ends(&t[end - 1])) end++;
        if (end < tokens->n && t[end - 1].role == ISO_AS_BODY && t[end].role == ISO_AS_BODY_END)
            end++; /* { } */
        statement(&l, i, end);
        if (t[end - 1].role == ISO_AS_BODY) l.indent = INDENT;
        while (end < tokens->n && t[end].role == ISO_AS_COMMENT && !t[end].own_line) {
            strbuf_char(out, ' ');
            strbuf_add(out, t[end].text, t[end].n);
            end++;
        }
        strbuf_char(out, '\n');
        i = end;
    }
}
