/*
 * txn_marks.c - savepoints and snapshots, read off the first words of each statement.
 *
 * PostgreSQL gives back the locks and keys that were taken since a savepoint when it rolls back to
 * it.  So a statement that is rolled back later must be told apart before it is run: what it found
 * need not be there any more when the transaction commits.  And a transaction's snapshot is taken
 * by its first query; statements of the kinds in `without_snapshot` come before it
 * (PlannedStmtRequiresSnapshot in PostgreSQL's utility code has the same list).
 */
#include "audit/txn_marks.h"

#include <assert.h>
#include <string.h>

typedef struct text_mark {
    text_kind kind;
    const char *name; /* of a savepoint, as it stands in the text */
    size_t n;
} text_mark;

typedef struct words {
    const char *at, *end;
} words;

static void skip_block_comment(words *w)
{
    int depth = 0;
    assert(w->end - w->at > 1 && w->at[0] == '/' && w->at[1] == '*');
    do {
        bool opens = w->end - w->at > 1 && w->at[0] == '/' && w->at[1] == '*';
        bool closes = w->end - w->at > 1 && w->at[0] == '*' && w->at[1] == '/';
        depth += opens ? 1 : closes ? -1 : 0;
        w->at += opens || closes ? 2 : 1;
    } while (depth && w->at < w->end);
}

static void skip_space(words *w)
{
    while (w->at < w->end) {
        char c = *w->at;
        bool two = w->end - w->at > 1;
        if (c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f')
            w->at++;
        else if (two && c == '-' && w->at[1] == '-')
            while (w->at < w->end && *w->at != '\n') w->at++;
        else if (two && c == '/' && w->at[1] == '*')
            skip_block_comment(w);
        else
            return;
    }
}

static bool in_word(char c)
{
    return (c | 32) >= 'a' ? (c | 32) <= 'z' || (unsigned char)c >= 0x80
                           : (c >= '0' && c <= '9') || c == '$';
}

/* The next word, or a quoted name with its quotes; of no length at anything else. */
static size_t next_word(words *w, const char **word)
{
    skip_space(w);
    *word = w->at;
    if (w->at < w->end && *w->at == '"') {
        do w->at++;
        while (w->at < w->end && *w->at != '"');
        if (w->at < w->end) w->at++;
    } else {
        while (w->at < w->end && (in_word(*w->at) || *w->at == '_')) w->at++;
    }
    return (size_t)(w->at - *word);
}

static bool word_is(const char *word, size_t n, const char *lower)
{
    if (strlen(lower) != n) return false;
    for (size_t i = 0; i < n; i++)
        if ((word[i] | 32) != lower[i]) return false;
    return true;
}

static bool takes_no_snapshot(const char *word, size_t n)
{
    static const char *const without_snapshot[] = {
        "begin",     "start",    "commit", "end",        "abort", "rollback",
        "savepoint", "release",  "set",    "reset",      "show",  "lock",
        "listen",    "unlisten", "notify", "checkpoint", "fetch", "move"};
    for (size_t i = 0; i < sizeof without_snapshot / sizeof without_snapshot[0]; i++)
        if (word_is(word, n, without_snapshot[i])) return true;
    return false;
}

static text_mark mark_text(const log_text *t)
{
    words w = {t->at, t->at + t->n};
    text_mark m = {.kind = TEXT_QUERY};
    const char *word;
    size_t n = next_word(&w, &word);
    if (!n || !takes_no_snapshot(word, n)) return m;
    m.kind = TEXT_OTHER;
    if (word_is(word, n, "savepoint")) {
        m.kind = TEXT_SAVEPOINT;
    } else if (word_is(word, n, "release")) {
        m.kind = TEXT_RELEASE;
    } else if (word_is(word, n, "rollback")) {
        n = next_word(&w, &word);
        if (word_is(word, n, "work") || word_is(word, n, "transaction")) n = next_word(&w, &word);
        if (!word_is(word, n, "to")) return m;
        m.kind = TEXT_BACK;
    } else {
        return m;
    }
    n = next_word(&w, &word);
    if (m.kind != TEXT_SAVEPOINT && word_is(word, n, "savepoint")) {
        words after = w;
        const char *name;
        size_t length = next_word(&after, &name);
        if (length) word = name, n = length; /* else it is the name of the savepoint */
    }
    m.name = word;
    m.n = n;
    return m;
}

text_kind text_kind_of(const log_text *t)
{
    return mark_text(t).kind;
}

/* Names without quotes are the same in either case. */
static bool same_name(const text_mark *a, const text_mark *b)
{
    assert(a->name && b->name);
    bool quoted = *a->name == '"';
    if (a->n != b->n || quoted != (*b->name == '"')) return false;
    for (size_t i = 0; i < a->n; i++) {
        char c = a->name[i], d = b->name[i];
        if (!quoted && c >= 'A' && c <= 'Z') c = (char)(c | 32);
        if (!quoted && d >= 'A' && d <= 'Z') d = (char)(d | 32);
        if (c != d) return false;
    }
    return true;
}

typedef struct open_savepoint {
    const text_mark *mark;
    uint32_t at; /* its statement */
} open_savepoint;

typedef VEC(open_savepoint) open_list;

static void find_undone(mem *m, const log_txn *t, const text_mark *marks, open_list *open,
                        uint32_t *undone)
{
    assert(undone && open);
    open->n = 0;
    for (uint32_t i = 0; i < t->n_stmts; i++) {
        const text_mark *k = &marks[t->stmts[i].text];
        undone[i] = 0;
        if (k->kind == TEXT_SAVEPOINT && !t->stmts[i].has_error) {
            vec_push(m, open, ((open_savepoint){k, i}));
            continue;
        }
        if ((k->kind != TEXT_RELEASE && k->kind != TEXT_BACK) || t->stmts[i].has_error) continue;
        size_t at = open->n;
        while (at > 0 && !same_name(open->at[at - 1].mark, k)) at--;
        if (!at) continue; /* an error, which the replay finds */
        assert(open->at[at - 1].at < i);
        for (uint32_t s = open->at[at - 1].at + 1; k->kind == TEXT_BACK && s < i; s++)
            if (!undone[s]) undone[s] = i + 1;
        open->n = k->kind == TEXT_BACK ? at : at - 1;
        if (k->kind == TEXT_BACK) open->at[at - 1].at = i; /* what came before is marked */
    }
}

txn_marks marks_of_log(mem *m, const sql_log *l)
{
    text_mark *marks = mem_array(m, text_mark, l->texts.n + 1);
    open_list open = {0};
    txn_marks r = {.may_take = mem_array(m, uint32_t, l->txns.n + 1),
                   .takes = mem_array(m, uint32_t, l->txns.n + 1),
                   .undone = mem_array0(m, uint32_t *, l->txns.n + 1)};
    for (size_t i = 0; i < l->texts.n; i++) marks[i] = mark_text(&l->texts.at[i]);
    for (size_t i = 0; i < l->txns.n; i++) {
        const log_txn *t = &l->txns.at[i];
        bool back = false;
        uint32_t may = t->n_stmts, takes = t->n_stmts;
        for (uint32_t k = 0; k < t->n_stmts; k++) {
            const text_mark *mark = &marks[t->stmts[k].text];
            back |= mark->kind == TEXT_BACK;
            if (mark->kind != TEXT_QUERY) continue;
            if (may == t->n_stmts) may = k;
            /* one that failed may have failed before it had a snapshot */
            if (takes == t->n_stmts && !t->stmts[k].has_error) takes = k;
        }
        /* Nobody knows whether BEGIN takes it in a dialect that is none in particular; MySQL's
           first consistent read does, and words do not tell which one that is. */
        if (l->dialect == DIALECT_GENERIC) may = t->n_stmts;
        if (l->dialect == DIALECT_GENERIC || l->dialect == DIALECT_MYSQL) takes = t->n_stmts;
        if (may > takes) takes = may;
        r.may_take[i] = may;
        r.takes[i] = takes;
        assert(may <= takes);
        if (!back) continue;
        r.undone[i] = mem_array(m, uint32_t, t->n_stmts + 1);
        find_undone(m, t, marks, &open, r.undone[i]);
    }
    vec_free(m, &open);
    mem_put(m, marks);
    return r;
}
