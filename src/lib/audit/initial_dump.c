/*
 * initial_dump.c - the initial state from a dump of PostgreSQL (pg_dump, with COPY or --inserts).
 *
 * A dump is cut into statements as psql does it (quotes, dollar quotes, comments).  Constraints
 * that pg_dump adds after the data go back into their CREATE TABLE; COPY becomes rows; what does
 * not matter to those who read and write the tables is passed over.  The rest becomes a statement
 * of the setup, which the front end understands or refuses by name: nothing is left out silently.
 */
#include "audit/initial_dump.h"

#include <assert.h>
#include <stdio.h>

typedef struct piece {
    strbuf text;
    const char *table; /* that it creates, or NULL */
    uint64_t line;
} piece;

typedef struct dump {
    sql_log *l;
    source *s;
    VEC(piece) pieces;
    VEC(cell) cells; /* of the rows that are being read */
    log_rows rows;   /* the batch they belong to; table NULL: none */
    strbuf field;
} dump;

/* ---- cutting --------------------------------------------------------------------------------- */

static bool word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Each of these returns what follows the quoted text or comment that begins at p, or NULL if it
   does not end before `end`. */
static const char *past_string(const char *from, const char *p, const char *end)
{
    char q = *p;
    bool escapes =
        q == '\'' && p > from && (p[-1] | 32) == 'e' && (p - 1 == from || !word_char(p[-2]));
    assert(q == '\'' || q == '"');
    for (p++; p < end; p++) {
        if (escapes && *p == '\\' && p + 1 < end)
            p++;
        else if (*p == q && (p + 1 == end || p[1] != q))
            return p + 1;
        else if (*p == q)
            p++;
    }
    return NULL;
}

static const char *past_block_comment(const char *p, const char *end)
{
    int depth = 1;
    assert(p[0] == '/' && p[1] == '*');
    for (p += 2; p + 1 < end; p++) {
        if (*p == '/' && p[1] == '*')
            depth++, p++;
        else if (*p == '*' && p[1] == '/' && (p++, !--depth))
            return p + 1;
    }
    return NULL;
}

/* p itself if the dollar begins no quote. */
static const char *past_dollar_quote(const char *p, const char *end)
{
    const char *tag = p + 1;
    assert(*p == '$');
    while (tag < end && word_char(*tag)) tag++;
    if (tag == end) return NULL;
    if (*tag != '$' || (tag > p + 1 && p[1] >= '0' && p[1] <= '9')) return p;
    size_t n = (size_t)(tag + 1 - p);
    for (const char *q = tag + 1; q + n <= end; q++)
        if (!memcmp(q, p, n)) return q + n;
    return NULL;
}

/* After the quoted text, comment or dollar quote at p; NULL: it does not end before `end`; p if
   none begins there. */
static const char *past_quote(const char *from, const char *p, const char *end)
{
    assert(from <= p && p < end);
    if (*p == '\'' || *p == '"') return past_string(from, p, end);
    if (*p == '-' && p + 1 < end && p[1] == '-') {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        return nl ? nl + 1 : NULL;
    }
    if (*p == '/' && p + 1 < end && p[1] == '*') return past_block_comment(p, end);
    if (*p == '$' && (p == from || !word_char(p[-1]))) return past_dollar_quote(p, end);
    return p;
}

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f';
}

/* Past blanks, comments and psql's own lines (\connect, \restrict); false at the end. */
static bool skip_between(source *s)
{
    for (;;) {
        if (!source_need(s, 2) && s->pos == s->n) return false;
        const char *p = s->at + s->pos, *end = s->at + s->n;
        if (blank(*p)) {
            s->pos++;
            continue;
        }
        bool comment = p + 1 < end && ((*p == '-' && p[1] == '-') || (*p == '/' && p[1] == '*'));
        if (!comment && *p != '\\') return true;
        const char *next = comment ? past_quote(p, p, end) : memchr(p, '\n', (size_t)(end - p));
        if (next)
            s->pos = (size_t)(next - s->at);
        else if (!source_more(s))
            s->pos = s->n;
    }
}

/* The next statement, without its semicolon; false at the end. */
static bool next_statement(source *s, const char **at, size_t *n, uint64_t *line)
{
    if (!skip_between(s)) return false;
    *line = source_line(s, s->pos);
    for (;;) {
        const char *from = s->at + s->pos, *end = s->at + s->n;
        for (const char *p = from; p && p < end;) {
            if (*p == ';') {
                *at = from;
                *n = (size_t)(p - from);
                s->pos = (size_t)(p + 1 - s->at);
                return true;
            }
            const char *q = past_quote(from, p, end);
            p = q == p ? p + 1 : q;
        }
        if (!source_more(s)) source_fail(s, s->pos, "a statement without its semicolon");
    }
}

/* ---- reading statements ---------------------------------------------------------------------- */

typedef struct scan { /* what is left of a statement */
    const char *p, *end;
} scan;

static void skip_blank(scan *s)
{
    while (s->p < s->end && blank(*s->p)) s->p++;
}

/* Takes words, in any case, separated by blanks. */
static bool take_words(scan *s, const char *words)
{
    scan t = *s;
    for (const char *w = words; *w;) {
        skip_blank(&t);
        for (; *w && *w != ' '; w++, t.p++)
            if (t.p == t.end || (*t.p | 32) != (*w | 32)) return false;
        if (t.p < t.end && word_char(t.p[-1]) && word_char(*t.p)) return false;
        if (*w == ' ') w++;
    }
    *s = t;
    return true;
}

/* One identifier, folded or unquoted. */
static const char *take_part(dump *d, scan *s)
{
    skip_blank(s);
    strbuf *b = &d->field;
    b->n = 0;
    if (s->p < s->end && *s->p == '"') {
        for (s->p++; s->p < s->end; s->p++) {
            if (*s->p == '"' && (s->p + 1 == s->end || s->p[1] != '"')) break;
            if (*s->p == '"') s->p++;
            strbuf_char(b, *s->p);
        }
        if (s->p < s->end) s->p++;
    } else {
        for (; s->p < s->end && word_char(*s->p); s->p++)
            strbuf_char(b, *s->p >= 'A' && *s->p <= 'Z' ? (char)(*s->p | 32) : *s->p);
    }
    return arena_text(&d->l->kept, b->at ? b->at : "", b->n);
}

/* A name without its schema. */
static const char *take_name(dump *d, scan *s)
{
    const char *name = take_part(d, s);
    while (s->p < s->end && *s->p == '.') {
        s->p++;
        name = take_part(d, s);
    }
    return name;
}

static piece *table_named(dump *d, const char *name)
{
    for (size_t i = d->pieces.n; i-- > 0;)
        if (d->pieces.at[i].table && !strcmp(d->pieces.at[i].table, name)) return &d->pieces.at[i];
    return NULL;
}

/* Writes a constraint into the list of a CREATE TABLE, before its closing parenthesis. */
static bool add_constraint(dump *d, const char *table, const char *text, size_t n)
{
    piece *t = table_named(d, table);
    if (!t) return false;
    const char *from = t->text.at, *end = from + t->text.n, *close = NULL;
    int depth = 0;
    for (const char *p = from; p && p < end && !close;) {
        if (*p == '(') depth++;
        if (*p == ')' && !--depth) close = p;
        const char *q = past_quote(from, p, end);
        p = q == p ? p + 1 : q;
    }
    if (!close) return false;
    strbuf b;
    strbuf_init(&b, d->l->mem);
    strbuf_add(&b, from, (size_t)(close - from));
    strbuf_str(&b, ", ");
    strbuf_add(&b, text, n);
    strbuf_add(&b, close, (size_t)(end - close));
    strbuf_free(&t->text);
    t->text = b;
    return true;
}

/* Nobody who reads and writes the tables sees these. */
static bool passed_over(scan s)
{
    static const char *const words[] = {"SET",
                                        "RESET",
                                        "SELECT pg_catalog.set_config",
                                        "COMMENT ON",
                                        "GRANT",
                                        "SELECT pg_catalog.setval",
                                        "REVOKE",
                                        "CREATE INDEX",
                                        "CREATE EXTENSION",
                                        "CREATE SCHEMA",
                                        "ANALYZE",
                                        "ALTER DEFAULT PRIVILEGES",
                                        "BEGIN",
                                        "COMMIT",
                                        "START TRANSACTION",
                                        "CREATE SEQUENCE",
                                        "ALTER SEQUENCE",
                                        "LOCK TABLE"};
    scan t;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (t = s, take_words(&t, words[i])) return true;
    t = s;
    if (!take_words(&t, "ALTER")) return false;
    for (; t.p < t.end; t.p++) {
        scan u = t;
        if (blank(*t.p) && (take_words(&u, "OWNER TO") || take_words(&u, "CLUSTER ON") ||
                            take_words(&u, "REPLICA IDENTITY")))
            return true;
    }
    return false;
}

static bool constraint(dump *d, scan s)
{
    if (!take_words(&s, "ALTER TABLE")) return false;
    take_words(&s, "ONLY");
    const char *table = take_name(d, &s);
    scan rest = s;
    if (!take_words(&s, "ADD CONSTRAINT")) return false;
    if (!take_words(&rest, "ADD")) return false;
    take_part(d, &s);
    if (take_words(&s, "FOREIGN KEY")) return false; /* when both tables are there */
    skip_blank(&rest);
    return add_constraint(d, table, rest.p, (size_t)(rest.end - rest.p));
}

/* A unique index over plain columns is a constraint. */
static bool unique_index(dump *d, scan s)
{
    if (!take_words(&s, "CREATE UNIQUE INDEX")) return false;
    take_name(d, &s);
    if (!take_words(&s, "ON")) return false;
    take_words(&s, "ONLY");
    const char *table = take_name(d, &s);
    if (!take_words(&s, "USING btree")) return false;
    skip_blank(&s);
    const char *open = s.p, *close = memchr(s.p, ')', (size_t)(s.end - s.p));
    if (open == s.end || *open != '(' || !close || memchr(open + 1, '(', (size_t)(close - open)))
        return false;
    for (const char *at = open; at < close; at++) /* an operator class, DESC, NULLS FIRST */
        if (*at == ' ' && at[-1] != ',') return false;
    s.p = close + 1;
    skip_blank(&s);
    if (s.p < s.end) return false; /* WHERE, NULLS NOT DISTINCT, ... */
    strbuf b;
    strbuf_init(&b, d->l->mem);
    strbuf_str(&b, "UNIQUE ");
    strbuf_add(&b, open, (size_t)(close + 1 - open));
    bool done = add_constraint(d, table, b.at, b.n);
    strbuf_free(&b);
    return done;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void flush_rows(dump *d)
{
    sql_log *l = d->l;
    cell *cells = arena_array(&l->kept, cell, d->cells.n + 1);
    if (d->cells.n) memcpy(cells, d->cells.at, d->cells.n * sizeof *cells);
    d->rows.cells = cells;
    if (d->rows.table && d->rows.n_rows) vec_push(l->mem, &l->rows, d->rows);
    d->cells.n = 0;
    memset(&d->rows, 0, sizeof d->rows);
}

static bool same_columns(const log_rows *a, const char *const *columns, uint32_t n)
{
    if (!a->columns != !columns || a->n_cols != n) return false;
    for (uint32_t i = 0; columns && i < n; i++)
        if (strcmp(a->columns[i], columns[i]) != 0) return false;
    return true;
}

/* (a, b, c), if it is there and closed. */
static bool take_columns(dump *d, scan *s, const char ***columns, uint32_t *n)
{
    VEC(const char *) names = {0};
    skip_blank(s);
    if (s->p == s->end || *s->p != '(') return false;
    do {
        s->p++;
        const char *name = take_part(d, s);
        vec_push(d->l->mem, &names, name);
        skip_blank(s);
    } while (s->p < s->end && *s->p == ',');
    *n = (uint32_t)names.n;
    *columns = arena_array(&d->l->kept, const char *, names.n);
    memcpy(*columns, names.at, names.n * sizeof **columns);
    vec_free(d->l->mem, &names);
    return s->p < s->end && *s->p++ == ')';
}

/* A constant: null, true, false, a number, a string without escapes. */
static bool take_literal(dump *d, scan *s, cell *out)
{
    skip_blank(s);
    if (take_words(s, "NULL")) {
        *out = (cell){CELL_NULL, 0, ""};
    } else if (take_words(s, "true")) {
        *out = (cell){CELL_TRUE, 4, "true"};
    } else if (take_words(s, "false")) {
        *out = (cell){CELL_FALSE, 5, "false"};
    } else if (s->p < s->end && *s->p == '\'') {
        const char *from = s->p + 1, *end = past_quote(s->p, s->p, s->end);
        if (!end) return false;
        d->field.n = 0;
        for (const char *p = from; p < end - 1; p++) {
            strbuf_char(&d->field, *p);
            if (*p == '\'') p++; /* doubled */
        }
        size_t n = d->field.n;
        *out = (cell){CELL_TEXT, (uint32_t)n, arena_text(&d->l->kept, n ? d->field.at : "", n)};
        s->p = end;
    } else {
        const char *from = s->p;
        while (s->p < s->end && strchr("+-.0123456789", *s->p)) s->p++;
        size_t n = (size_t)(s->p - from);
        if (!n || (s->p < s->end && word_char(*s->p))) return false;
        *out = (cell){CELL_NUMBER, (uint32_t)n, arena_text(&d->l->kept, from, n)};
    }
    skip_blank(s);
    return s->p < s->end && (*s->p == ',' || *s->p == ')');
}

/* INSERTs of constants become rows: constraints come later in a dump, and order does not matter. */
static bool insert(dump *d, scan s, uint64_t line)
{
    const char **columns = NULL;
    uint32_t n = 0, width = 0;
    if (!take_words(&s, "INSERT INTO")) return false;
    const char *table = take_name(d, &s);
    scan t = s;
    if (take_columns(d, &t, &columns, &n))
        s = t;
    else
        columns = NULL;
    if (!take_words(&s, "VALUES")) return false;
    bool other = !d->rows.table || strcmp(d->rows.table, table) != 0 ||
                 !same_columns(&d->rows, columns, columns ? n : d->rows.n_cols);
    if (other) flush_rows(d);
    size_t mark = d->cells.n;
    uint32_t rows = 0;
    do {
        skip_blank(&s);
        if (s.p == s.end || *s.p != '(' || s.end - s.p > INT32_MAX) goto statement;
        for (n = 0; s.p < s.end && *s.p != ')'; n++) {
            cell c;
            s.p++;
            if (!take_literal(d, &s, &c)) goto statement;
            vec_push(d->l->mem, &d->cells, c);
        }
        if (s.p == s.end || (rows && n != width)) goto statement;
        width = n;
        rows++;
        s.p++;
        skip_blank(&s);
    } while (s.p < s.end && *s.p++ == ',');
    skip_blank(&s);
    if (s.p < s.end || (d->rows.table && d->rows.n_cols != width)) goto statement;
    if (d->rows.n_rows > UINT32_MAX / 64 - rows)
        guard_fail(d->s->guard, GUARD_PARSE, "too many rows");
    if (!d->rows.table)
        d->rows = (log_rows){
            .table = table, .n_cols = width, .columns = columns, .line = line, .of_dump = true};
    d->rows.n_rows += rows;
    return true;
statement:
    d->cells.n = mark;
    return false;
}

static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : 16;
}

static char plain_escape(char c)
{
    static const char from[] = "bfnrtv", to[] = "\b\f\n\r\t\v";
    const char *at = strchr(from, c);
    return at && c ? to[at - from] : c;
}

/* One field of COPY's text format. */
static cell copy_field(dump *d, const char *p, const char *end)
{
    strbuf *b = &d->field;
    if (end - p == 2 && p[0] == '\\' && p[1] == 'N') return (cell){CELL_NULL, 0, ""};
    b->n = 0;
    while (p < end) {
        if (*p != '\\' || p + 1 == end) {
            strbuf_char(b, *p++);
            continue;
        }
        p++;
        int base = *p == 'x' && p + 1 < end && digit(p[1]) < 16 ? 16 : digit(*p) < 8 ? 8 : 0;
        if (!base) {
            strbuf_char(b, plain_escape(*p++));
            continue;
        }
        int code = 0, most = base == 16 ? 2 : 3;
        for (p += base == 16; most-- && p < end && digit(*p) < base; p++)
            code = code * base + digit(*p);
        strbuf_char(b, (char)code);
    }
    if (b->n > UINT32_MAX / 2) guard_fail(d->s->guard, GUARD_PARSE, "a value of over 2 GiB");
    return (cell){CELL_TEXT, (uint32_t)b->n, arena_text(&d->l->kept, b->at ? b->at : "", b->n)};
}

static void copy_line(dump *d, const char *line, const char *end, log_rows *rows)
{
    uint32_t n = 0;
    for (const char *p = line;; p++) {
        const char *tab = memchr(p, '\t', (size_t)(end - p));
        if (!tab) tab = end;
        vec_push(d->l->mem, &d->cells, copy_field(d, p, tab));
        n++;
        p = tab;
        if (p == end) break;
    }
    if (n != rows->n_cols)
        source_fail(d->s, (size_t)(line - d->s->at), "a row of %u values for %u columns",
                    (unsigned)n, (unsigned)rows->n_cols);
    if (++rows->n_rows == UINT32_MAX / 64) guard_fail(d->s->guard, GUARD_PARSE, "too many rows");
}

static bool copy(dump *d, scan s, uint64_t at)
{
    if (!take_words(&s, "COPY")) return false;
    log_rows rows = {.table = take_name(d, &s), .line = at, .of_dump = true};
    if (!take_columns(d, &s, &rows.columns, &rows.n_cols) || !take_words(&s, "FROM stdin"))
        return false;
    skip_blank(&s);
    if (s.p < s.end) return false; /* WITH (FORMAT csv), ... */
    flush_rows(d);
    const char *line, *end;
    bool more = source_next_line(d->s, &line, &end); /* the rest of the statement's own */
    for (;;) {
        guard_tick(d->s->guard);
        more = more && source_next_line(d->s, &line, &end);
        if (!more) source_fail(d->s, d->s->pos, "COPY without its end, \\.");
        if (end - line == 2 && line[0] == '\\' && line[1] == '.') break;
        copy_line(d, line, end, &rows);
    }
    d->rows = rows;
    flush_rows(d);
    return true;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void add_piece(dump *d, scan s, uint64_t line)
{
    piece p = {.line = line};
    scan t = s;
    if (take_words(&t, "CREATE TABLE") || take_words(&t, "CREATE UNLOGGED TABLE")) {
        take_words(&t, "IF NOT EXISTS");
        p.table = take_name(d, &t);
    }
    strbuf_init(&p.text, d->l->mem);
    t = s;
    if (take_words(&t, "CREATE FUNCTION public.") || take_words(&t, "CREATE PROCEDURE public.")) {
        /* the schema that names without one are looked up in */
        strbuf_add(&p.text, s.p, (size_t)(t.p - s.p) - strlen("public."));
        s.p = t.p;
    }
    strbuf_add(&p.text, s.p, (size_t)(s.end - s.p));
    vec_push(d->l->mem, &d->pieces, p);
}

void log_dump(sql_log *l, source *s)
{
    dump d = {.l = l, .s = s};
    const char *at;
    size_t n;
    uint64_t line;
    strbuf_init(&d.field, l->mem);
    source_skip_bom(s);
    while (next_statement(s, &at, &n, &line)) {
        scan text = {at, at + n};
        guard_tick(s->guard);
        if (!passed_over(text) && !insert(&d, text, line) && !constraint(&d, text) &&
            !unique_index(&d, text) && !copy(&d, text, line))
            add_piece(&d, text, line);
    }
    flush_rows(&d);
    for (size_t i = 0; i < d.pieces.n; i++) {
        piece *p = &d.pieces.at[i];
        log_stmt stmt = {.line = p->line, .column = 1, .of_dump = true};
        stmt.text = log_text_number(l, p->text.at ? p->text.at : "", p->text.n);
        vec_push(l->mem, &l->setup, stmt);
        strbuf_free(&p->text);
    }
    vec_free(l->mem, &d.pieces);
    vec_free(l->mem, &d.cells);
    strbuf_free(&d.field);
}
