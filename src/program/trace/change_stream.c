/*
 * change_stream.c - what a database says it wrote, as the order of the versions of keys.
 *
 * A change is a table, a kind, and the columns of the row before and after it, as far as they are
 * shown.  The four readers below fill one change after another; what a change means for a key is
 * decided in one place (take_change).  Streams hold committed transactions only, in the order of
 * their commits, so that the n-th change of a key is its n-th version.
 */
#include "trace/change_stream.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "read/json.h"

typedef struct column {
    size_t name, n_name; /* in the texts of the change */
    size_t value, n_value;
    bool null, unshown;
} column;

typedef VEC(column) columns;

typedef struct change {
    char kind; /* i, u, d, t */
    strbuf texts;
    size_t schema, n_schema; /* none: it is not known */
    size_t table, n_table;
    columns before, after;
} change;

typedef struct table_found { /* the schema in which a name without one was found */
    bool named;
    char *schema;
    size_t n_schema;
} table_found;

typedef struct relation { /* of pgoutput: what a number stands for */
    uint32_t id;
    char *schema, *table;
    VEC(char *) columns;
} relation;

typedef struct stream {
    source *s;
    mem *m;
    const change_map *maps;
    table_found *found; /* for each of them */
    size_t n_maps;
    strbuf *out;
    change_counts *counts;
    change c;
    strbuf id; /* of the transaction */
    bool open;
    uint32_t ops;
    size_t begun; /* where its line begins */
    uint64_t version;
    id_map last; /* hash of a key -> hash of the value that it has */
    VEC(relation) relations;
} stream;

static char *kept_text(mem *m, const char *at, size_t n)
{
    char *copy = mem_array(m, char, n + 1);
    memcpy(copy, at, n);
    copy[n] = 0;
    return copy;
}

/* ---- what is asked for ----------------------------------------------------------------------- */

size_t change_maps(mem *m, const char *text, change_map **out)
{
    VEC(change_map) maps = {0};
    for (const char *s = text; s && *s;) {
        size_t n = strcspn(s, ",");
        char *copy = kept_text(m, s, n);
        char *colon = strchr(copy, ':'), *arrow = strstr(copy, "->");
        if (!colon || !arrow || arrow < colon || colon == copy || arrow == colon + 1 || !arrow[2])
            guard_fail(m->guard, GUARD_INVAL, "--keys: \"%s\" is not TABLE:KEY->VALUE", copy);
        *colon = *arrow = 0;
        char *named = strchr(arrow + 2, '=');
        if (named) *named = 0;
        change_map map = {copy, colon + 1, arrow + 2, named ? named + 1 : arrow + 2};
        vec_push(m, &maps, map);
        s += n + (s[n] == ',');
    }
    if (!maps.n) guard_fail(m->guard, GUARD_INVAL, "--keys TABLE:KEY->VALUE is needed");
    *out = maps.at;
    return maps.n;
}

/* ---- one change ------------------------------------------------------------------------------ */

static void clear_change(change *c)
{
    c->texts.n = c->before.n = c->after.n = 0;
    c->schema = c->n_schema = c->table = c->n_table = 0;
    c->kind = 0;
}

static size_t keep_text(change *c, const char *at, size_t n)
{
    size_t from = c->texts.n;
    strbuf_add(&c->texts, at, n);
    return from;
}

static void add_column(stream *t, columns *to, const char *name, size_t n_name, const char *value,
                       size_t n_value)
{
    column k = {.n_name = n_name, .n_value = n_value, .null = !value};
    k.name = keep_text(&t->c, name, n_name);
    if (value) k.value = keep_text(&t->c, value, n_value);
    vec_push(t->m, to, k);
}

static const column *column_named(const change *c, const columns *in, const char *name)
{
    for (size_t i = 0; i < in->n; i++) {
        const column *k = &in->at[i];
        if (k->n_name == strlen(name) && !memcmp(c->texts.at + k->name, name, k->n_name)) return k;
    }
    return NULL;
}

/* A name with its schema is that table alone.  A name without one is the table of that name of one
   schema; if the stream has several of them, nobody knows which one is meant. */
static bool is_table(stream *t, const change_map *map, table_found *found)
{
    const change *c = &t->c;
    const char *table = c->texts.at + c->table, *schema = c->texts.at + c->schema;
    size_t n = strlen(map->table);
    if (n == c->n_table && !memcmp(table, map->table, n)) {
        if (!found->named) {
            found->named = true;
            found->n_schema = c->n_schema;
            found->schema = kept_text(t->m, c->n_schema ? schema : "", c->n_schema);
        } else if (found->n_schema != c->n_schema ||
                   (c->n_schema && memcmp(found->schema, schema, c->n_schema) != 0)) {
            guard_fail(t->m->guard, GUARD_INVAL,
                       "--keys: the stream has changes of \"%s\" in several schemas (%.60s, "
                       "%.*s): write SCHEMA.TABLE",
                       map->table, found->schema, (int)(c->n_schema < 60 ? c->n_schema : 60),
                       c->n_schema ? schema : "");
        }
        return true;
    }
    return n == c->n_schema + 1 + c->n_table && map->table[c->n_schema] == '.' && c->n_schema &&
           !memcmp(map->table, schema, c->n_schema) &&
           !memcmp(map->table + c->n_schema + 1, table, c->n_table);
}

static void begin_txn(stream *t, const char *id, size_t n)
{
    t->id.n = 0;
    strbuf_add(&t->id, id, n);
    t->open = true;
    t->ops = 0;
    t->begun = t->out->n;
    strbuf_str(t->out, "{\"session\":");
    strbuf_json(t->out, id, n);
    strbuf_str(t->out, ",\"id\":");
    strbuf_json(t->out, id, n);
    strbuf_str(t->out, ",\"ops\":[");
}

static void end_txn(stream *t)
{
    if (!t->open) return;
    t->open = false;
    if (t->ops) {
        strbuf_str(t->out, "]}\n");
        t->counts->txns++;
    } else {
        t->out->n = t->begun;
    }
}

/* An update shows the whole row: a column that it leaves as it was is no new version.  (Two hashes
   that meet by chance lose a version, which only makes the order weaker.) */
static bool is_unchanged(stream *t, const strbuf *name, const column *value)
{
    uint64_t key = hash_bytes(name->at, name->n, 1);
    uint32_t now =
        value->null ? 1 : (uint32_t)hash_bytes(t->c.texts.at + value->value, value->n_value, 2) | 2;
    uint32_t *last = id_map_at(t->m, &t->last, key);
    bool same = t->c.kind != 'i' && *last == now;
    *last = now;
    return same;
}

static void put_op(stream *t, const change_map *map, const column *key, const column *value)
{
    strbuf name;
    strbuf_init(&name, t->m);
    strbuf_str(&name, map->table);
    strbuf_char(&name, ':');
    strbuf_add(&name, t->c.texts.at + key->value, key->n_value);
    strbuf_char(&name, '.');
    strbuf_str(&name, map->name);
    if (value && is_unchanged(t, &name, value)) {
        strbuf_free(&name);
        return;
    }
    strbuf_str(t->out, t->ops++ ? ",[" : "[");
    strbuf_str(t->out, value ? "\"w\"," : "\"d\",");
    strbuf_json(t->out, name.at, name.n);
    if (!value) id_map_put(t->m, &t->last, hash_bytes(name.at, name.n, 1), 0);
    strbuf_free(&name);
    if (value) {
        strbuf_char(t->out, ',');
        if (value->null)
            strbuf_str(t->out, "\"(null)\"");
        else
            strbuf_json(t->out, t->c.texts.at + value->value, value->n_value);
        t->counts->writes++;
    } else {
        t->counts->deletes++;
    }
    strbuf_printf(t->out, ",{\"ver\":%" PRIu64 "}]", t->version++);
}

static bool same_value(const change *c, const column *a, const column *b)
{
    return a->null == b->null && a->n_value == b->n_value &&
           (a->null || !memcmp(c->texts.at + a->value, c->texts.at + b->value, a->n_value));
}

static void apply_change(stream *t, const change_map *map)
{
    change *c = &t->c;
    const column *old = column_named(c, &c->before, map->key);
    const column *key = column_named(c, &c->after, map->key);
    const column *value = column_named(c, &c->after, map->value);
    if (c->kind == 'd') {
        if (old && !old->null && !old->unshown)
            put_op(t, map, old, NULL);
        else
            t->counts->unshown++;
        return;
    }
    if (!key || key->null || key->unshown) {
        t->counts->unshown++;
        return;
    }
    if (old && !old->unshown && !old->null && !same_value(c, old, key)) put_op(t, map, old, NULL);
    if (!value || value->unshown)
        t->counts->unshown++;
    else
        put_op(t, map, key, value);
}

static void take_change(stream *t)
{
    bool asked = false;
    if (t->c.kind == 't') {
        t->counts->truncated++;
        t->c.kind = 0;
        return;
    }
    for (size_t i = 0; i < t->n_maps; i++)
        if (is_table(t, &t->maps[i], &t->found[i])) {
            apply_change(t, &t->maps[i]);
            asked = true;
        }
    t->counts->others += !asked;
    t->c.kind = 0;
}

/* ---- test_decoding --------------------------------------------------------------------------- */

static bool begins(const char *p, const char *end, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(end - p) >= n && !memcmp(p, word, n);
}

/* "0/16B3748 | 529 | " of psql, or nothing. */
static const char *after_position(const char *p, const char *end)
{
    const char *s = p;
    while (s < end && *s == ' ') s++;
    const char *digits = s;
    while (s < end && (isxdigit((unsigned char)*s) || *s == '/')) s++;
    if (s == digits) return p;
    for (int bars = 0; bars < 2; bars++) {
        while (s < end && *s == ' ') s++;
        if (s == end || *s != '|') return p;
        s++;
        while (s < end && *s == ' ') s++;
        while (!bars && s < end && isdigit((unsigned char)*s)) s++;
    }
    return s;
}

/* A value at p: 'it''s', B'01', 12.5, null. */
static const char *decoded_value(stream *t, const char *p, const char *end, column *k)
{
    change *c = &t->c;
    k->value = c->texts.n;
    if (begins(p, end, "B'")) p++;
    if (p < end && *p == '\'') {
        const char *text = p;
        for (p++; p < end; p++) {
            if (*p == '\'' && p + 1 < end && p[1] == '\'')
                p++;
            else if (*p == '\'')
                break;
            strbuf_char(&c->texts, *p);
        }
        k->n_value = c->texts.n - k->value;
        if (p == end) /* a part of it would look like another value */
            source_fail(t->s, (size_t)(text - t->s->at),
                        "this text does not end on its line: it was cut off, or has a line break");
        return p + 1;
    }
    const char *from = p;
    while (p < end && *p != ' ') p++;
    k->null = p - from == 4 && !memcmp(from, "null", 4);
    k->unshown = begins(from, p, "unchanged-toast-datum");
    strbuf_add(&c->texts, from, (size_t)(p - from));
    k->n_value = c->texts.n - k->value;
    if (k->n_value == 4 && !memcmp(from, "true", 4)) k->n_value = 1; /* as PostgreSQL prints it */
    if (k->n_value == 5 && !memcmp(from, "false", 5)) k->n_value = 1;
    return p;
}

static const char *decoded_columns(stream *t, const char *p, const char *end, columns *to)
{
    while (p < end) {
        while (p < end && *p == ' ') p++;
        if (begins(p, end, "new-tuple:") || begins(p, end, "(no-tuple-data)")) return p;
        column k = {.name = t->c.texts.n};
        bool quoted = p < end && *p == '"';
        for (p += quoted; p < end && (quoted ? *p != '"' : *p != '['); p++)
            strbuf_char(&t->c.texts, *p);
        k.n_name = t->c.texts.n - k.name;
        const char *type = p;
        while (p + 1 < end && !(p[0] == ']' && p[1] == ':')) p++;
        if (p + 1 >= end) {
            if (type == end && !k.n_name) return end;
            source_fail(t->s, (size_t)(type - t->s->at), "this is not a column of test_decoding");
        }
        p = decoded_value(t, p + 2, end, &k);
        vec_push(t->m, to, k);
    }
    return p;
}

/* A name, perhaps in quotation marks, of which those inside are written twice; what follows it. */
static const char *decoded_name(stream *t, const char *p, const char *end, size_t *from, size_t *n)
{
    bool quoted = p < end && *p == '"';
    *from = t->c.texts.n;
    for (p += quoted; p < end && (quoted || *p != '.'); p++) {
        if (quoted && *p == '"' && !(p + 1 < end && p[1] == '"')) break;
        if (quoted && *p == '"') p++;
        strbuf_char(&t->c.texts, *p);
    }
    *n = t->c.texts.n - *from;
    return p + (quoted && p < end);
}

static void read_decoded(stream *t, const char *line, const char *end)
{
    static const char *const kinds[] = {": INSERT:", ": UPDATE:", ": DELETE:", ": TRUNCATE:"};
    const char *p = after_position(line, end);
    change *c = &t->c;
    if (begins(p, end, "BEGIN")) {
        p += 5;
        while (p < end && *p == ' ') p++;
        begin_txn(t, p, (size_t)(end - p));
    } else if (begins(p, end, "COMMIT")) {
        end_txn(t);
    } else if (begins(p, end, "table ")) {
        const char *name = p + 6, *at = NULL;
        clear_change(c);
        for (int i = 0; i < 4 && !at; i++) {
            for (const char *s = name; s < end && !at; s++)
                if (begins(s, end, kinds[i])) at = s, c->kind = "iudt"[i];
            if (at) p = at + strlen(kinds[i]);
        }
        if (!at) source_fail(t->s, (size_t)(line - t->s->at), "this is not a change");
        if (!t->open) begin_txn(t, "", 0);
        name = decoded_name(t, name, at, &c->table, &c->n_table);
        if (name < at && *name == '.') {
            c->schema = c->table;
            c->n_schema = c->n_table;
            decoded_name(t, name + 1, at, &c->table, &c->n_table);
        }
        while (p < end && *p == ' ') p++;
        if (begins(p, end, "old-key:")) {
            p = decoded_columns(t, p + 8, end, &c->before);
            if (begins(p, end, "new-tuple:")) p += 10;
        }
        if (c->kind != 't') decoded_columns(t, p, end, c->kind == 'd' ? &c->before : &c->after);
        take_change(t);
    }
}

/* ---- mariadb-binlog -v ----------------------------------------------------------------------- */

/* ###   @2='it's'   Quotes inside are not escaped, so that the last one ends the text; -vv prints
   the type after it.  A number below zero is also printed as one without a sign, which is left
   out. */
static void binlog_column(stream *t, const char *p, const char *end, columns *to)
{
    const char *name = p, *value;
    while (p < end && *p != '=') p++;
    column k = {.n_name = (size_t)(p - name)};
    k.name = keep_text(&t->c, name, k.n_name);
    k.value = t->c.texts.n;
    if (p < end) p++;
    value = p;
    if (p < end && *p == '\'') {
        const char *last = end;
        while (last > p + 1 && last[-1] != '\'') last--;
        for (p++; p + 1 < last; p++) {
            unsigned byte;
            bool hex = last - p > 4 && p[0] == '\\' && p[1] == 'x';
            if (hex && sscanf(p + 2, "%2x", &byte) == 1 && byte < 0x20) {
                strbuf_char(&t->c.texts, (char)byte);
                p += 3;
            } else {
                strbuf_char(&t->c.texts, *p);
            }
        }
    } else {
        while (p < end && *p != ' ') p++;
        strbuf_add(&t->c.texts, value, (size_t)(p - value));
        k.null = p - value == 4 && !memcmp(value, "NULL", 4);
    }
    k.n_value = t->c.texts.n - k.value;
    vec_push(t->m, to, k);
}

/* `database`.`table` */
static void binlog_table(stream *t, const char *p, const char *end)
{
    change *c = &t->c;
    bool inside = false;
    c->table = c->texts.n;
    for (; p < end; p++) {
        if (*p == '`') {
            inside = !inside;
        } else if (*p == '.' && !inside && !c->n_schema) {
            c->schema = c->table;
            c->n_schema = c->texts.n - c->table;
            c->table = c->texts.n;
        } else {
            strbuf_char(&c->texts, *p);
        }
    }
    c->n_table = c->texts.n - c->table;
}

static void read_binlog(stream *t, const char *line, const char *end)
{
    static const char *const kinds[] = {"### INSERT INTO ", "### UPDATE ", "### DELETE FROM "};
    change *c = &t->c;
    const char *gtid = NULL;
    for (const char *s = line; s + 5 < end && !gtid && *line == '#'; s++)
        if (begins(s, end, "GTID ")) gtid = s + 5;
    bool row = begins(line, end, "### ");
    if (c->kind && !begins(line, end, "###   @") && !begins(line, end, "### SET") &&
        !begins(line, end, "### WHERE")) {
        take_change(t);
        clear_change(c);
    }
    if (gtid && !row) {
        const char *to = gtid;
        while (to < end && *to != ' ') to++;
        end_txn(t);
        begin_txn(t, gtid, (size_t)(to - gtid));
        return;
    }
    if (!row) return;
    for (int i = 0; i < 3; i++) {
        if (!begins(line, end, kinds[i])) continue;
        clear_change(c);
        c->kind = "iud"[i];
        binlog_table(t, line + strlen(kinds[i]), end);
        if (!t->open) begin_txn(t, "", 0);
        return;
    }
    if (begins(line, end, "### SET") && c->kind == 'u')
        c->kind = 'U'; /* what follows is after it */
    if (!begins(line, end, "###   @") || !c->kind) return;
    bool after = c->kind == 'U' || c->kind == 'i';
    binlog_column(t, line + 6, end, after ? &c->after : &c->before);
}

/* ---- Debezium -------------------------------------------------------------------------------- */

typedef struct event {
    char op;
    strbuf db, schema, table, txn;
} event;

static void json_columns(stream *t, json *j, columns *to)
{
    if (json_literal(j, "null")) return;
    json_need(j, '{');
    if (json_take(j, '}')) return;
    do {
        json_text name = json_member(j);
        column k = {.n_name = name.n};
        k.name = keep_text(&t->c, name.at, name.n);
        k.value = t->c.texts.n;
        json_space(j);
        if (*j->p == '"') {
            json_text v = json_string(j);
            strbuf_add(&t->c.texts, v.at, v.n);
            k.unshown = json_is(v, "__debezium_unavailable_value"); /* a long one, left as it was */
        } else {
            json_text v = json_skip(j);
            k.null = json_is(v, "null");
            k.unshown = v.n && (*v.at == '{' || *v.at == '[');
            bool word = json_is(v, "true") || json_is(v, "false");
            strbuf_add(&t->c.texts, v.at, word ? 1 : v.n);
        }
        k.n_value = t->c.texts.n - k.value;
        vec_push(t->m, to, k);
    } while (json_more(j, '}'));
}

/* A member that names the table or the transaction, as text. */
static void json_text_into(json *j, strbuf *to)
{
    json_space(j);
    to->n = 0;
    if (*j->p == '"') {
        json_text v = json_string(j);
        strbuf_add(to, v.at, v.n);
        return;
    }
    json_text v = json_skip(j);
    if (!json_is(v, "null")) strbuf_add(to, v.at, v.n);
}

static void json_source(json *j, event *e)
{
    if (json_literal(j, "null")) return;
    json_need(j, '{');
    if (json_take(j, '}')) return;
    do {
        json_text name = json_member(j);
        if (json_is(name, "table"))
            json_text_into(j, &e->table);
        else if (json_is(name, "schema"))
            json_text_into(j, &e->schema);
        else if (json_is(name, "db"))
            json_text_into(j, &e->db);
        else if (json_is(name, "txId") || json_is(name, "gtid") || json_is(name, "id"))
            json_text_into(j, &e->txn);
        else
            json_skip(j);
    } while (json_more(j, '}'));
}

static void json_event(stream *t, json *j, event *e)
{
    if (json_literal(j, "null")) return;
    json_need(j, '{');
    if (json_take(j, '}')) return;
    do {
        json_text name = json_member(j);
        if (json_is(name, "payload")) {
            json_event(t, j, e);
        } else if (json_is(name, "op")) {
            json_text op = json_string(j);
            e->op = op.n == 1 ? *op.at : '?';
        } else if (json_is(name, "before")) {
            json_columns(t, j, &t->c.before);
        } else if (json_is(name, "after")) {
            json_columns(t, j, &t->c.after);
        } else if (json_is(name, "source") || json_is(name, "transaction")) {
            json_source(j, e);
        } else {
            json_skip(j);
        }
    } while (json_more(j, '}'));
}

static void read_debezium(stream *t)
{
    json j;
    uint64_t line = 0;
    event e = {0};
    json_init(&j, t->s);
    strbuf_init(&e.db, t->m);
    strbuf_init(&e.schema, t->m);
    strbuf_init(&e.table, t->m);
    strbuf_init(&e.txn, t->m);
    while (json_next_line(&j, &line)) {
        guard_tick(t->m->guard);
        clear_change(&t->c);
        e.op = 0;
        e.db.n = e.schema.n = e.table.n = e.txn.n = 0;
        json_event(t, &j, &e);
        json_space(&j);
        if (j.p < j.end) json_expected(&j, "the end of the line");
        if (!e.op || e.op == 'r' || e.op == 'm') continue; /* a tombstone, a snapshot, a message */
        bool same =
            t->open && t->id.n == e.txn.n && !memcmp(t->id.at, strbuf_cstr(&e.txn), e.txn.n);
        if (!same) {
            end_txn(t);
            begin_txn(t, strbuf_cstr(&e.txn), e.txn.n);
        }
        t->c.kind = e.op == 'c' ? 'i' : e.op;
        const strbuf *schema = e.schema.n ? &e.schema : &e.db; /* MySQL's databases are schemas */
        t->c.n_schema = schema->n;
        if (schema->n) t->c.schema = keep_text(&t->c, schema->at, schema->n);
        t->c.n_table = e.table.n;
        t->c.table = keep_text(&t->c, strbuf_cstr(&e.table), e.table.n);
        take_change(t);
    }
    end_txn(t);
}

/* ---- pgoutput -------------------------------------------------------------------------------- */

typedef struct message {
    const unsigned char *p, *end;
    bool bad;
} message;

static uint64_t take_number(message *w, unsigned bytes)
{
    uint64_t n = 0;
    if ((size_t)(w->end - w->p) < bytes) {
        w->bad = true;
        return 0;
    }
    for (unsigned i = 0; i < bytes; i++) n = n << 8 | *w->p++;
    return n;
}

static const char *take_name(message *w)
{
    const char *name = (const char *)w->p;
    const unsigned char *zero = memchr(w->p, 0, (size_t)(w->end - w->p));
    if (!zero) {
        w->bad = true;
        return "";
    }
    w->p = zero + 1;
    return name;
}

static relation *relation_of(stream *t, uint32_t id)
{
    for (size_t i = 0; i < t->relations.n; i++)
        if (t->relations.at[i].id == id) return &t->relations.at[i];
    return NULL;
}

static void take_relation(stream *t, message *w)
{
    uint32_t id = (uint32_t)take_number(w, 4);
    const char *schema = take_name(w), *name = take_name(w);
    take_number(w, 1);
    uint64_t n = take_number(w, 2);
    relation *r = relation_of(t, id);
    if (w->bad) return;
    if (!r) {
        vec_push(t->m, &t->relations, ((relation){.id = id}));
        r = &t->relations.at[t->relations.n - 1];
    }
    if (!*schema) schema = "pg_catalog"; /* as the protocol says */
    r->schema = kept_text(t->m, schema, strlen(schema));
    r->table = kept_text(t->m, name, strlen(name));
    r->columns.n = 0;
    for (uint64_t i = 0; i < n && !w->bad; i++) {
        take_number(w, 1);
        const char *column_name = take_name(w);
        take_number(w, 8);
        char *kept = kept_text(t->m, column_name, strlen(column_name));
        vec_push(t->m, &r->columns, kept);
    }
}

static void take_tuple(stream *t, message *w, const relation *r, columns *to)
{
    uint64_t n = take_number(w, 2);
    for (uint64_t i = 0; i < n && !w->bad; i++) {
        const char *name = i < r->columns.n ? r->columns.at[i] : "";
        char kind = (char)take_number(w, 1);
        uint64_t len = kind == 't' || kind == 'b' ? take_number(w, 4) : 0;
        if (len > (uint64_t)(w->end - w->p)) {
            w->bad = true;
            return;
        }
        bool shown = kind == 't';
        add_column(t, to, name, strlen(name), shown ? (const char *)w->p : NULL, len);
        column *k = &to->at[to->n - 1];
        k->null = kind == 'n';
        k->unshown = !shown && kind != 'n';
        w->p += len;
    }
}

static void take_row(stream *t, message *w, char type)
{
    relation *r = relation_of(t, (uint32_t)take_number(w, 4));
    clear_change(&t->c);
    if (!r) w->bad = true;
    while (!w->bad && w->p < w->end && *w->p != '\n') {
        char part = (char)take_number(w, 1);
        if (part != 'K' && part != 'O' && part != 'N') {
            w->bad = true;
            break;
        }
        take_tuple(t, w, r, part == 'N' ? &t->c.after : &t->c.before);
        if (part == 'N') break;
        if (type == 'D') break;
    }
    if (w->p == w->end) w->bad = true; /* its end has not been read yet */
    if (w->bad) return;
    t->c.kind = type == 'I' ? 'i' : type == 'U' ? 'u' : 'd';
    t->c.n_schema = strlen(r->schema);
    t->c.schema = keep_text(&t->c, r->schema, t->c.n_schema);
    t->c.n_table = strlen(r->table);
    t->c.table = keep_text(&t->c, r->table, t->c.n_table);
    take_change(t);
}

/* One message of protocol version 1; false: the window ends within it. */
static bool take_message(stream *t, message *w)
{
    char type = (char)take_number(w, 1), id[16];
    switch (type) {
    case 'B':
        take_number(w, 8);
        take_number(w, 8);
        snprintf(id, sizeof id, "%" PRIu64, take_number(w, 4));
        if (!w->bad) begin_txn(t, id, strlen(id));
        break;
    case 'C':
        take_number(w, 1);
        for (int i = 0; i < 3; i++) take_number(w, 8);
        if (!w->bad) end_txn(t);
        break;
    case 'R': take_relation(t, w); break;
    case 'I':
    case 'U':
    case 'D': take_row(t, w, type); break;
    case 'T': {
        uint64_t n = take_number(w, 4);
        take_number(w, 1);
        for (uint64_t i = 0; i < n && !w->bad; i++) take_number(w, 4);
        t->counts->truncated += !w->bad;
        break;
    }
    case 'O':
        take_number(w, 8);
        take_name(w);
        break;
    case 'Y':
        take_number(w, 4);
        take_name(w);
        take_name(w);
        break;
    default: source_fail(t->s, t->s->pos, "this is not a message of pgoutput, version 1");
    }
    if (!w->bad && (w->p == w->end || *w->p != '\n')) w->bad = true;
    return !w->bad;
}

static void read_pgoutput(stream *t)
{
    source *s = t->s;
    while (source_need(s, 1)) {
        guard_tick(t->m->guard);
        size_t out = t->out->n;
        change_counts counts = *t->counts;
        uint64_t version = t->version;
        uint32_t ops = t->ops;
        bool open = t->open;
        size_t begun = t->begun;
        message w = {(const unsigned char *)s->at + s->pos, (const unsigned char *)s->at + s->n,
                     false};
        if (take_message(t, &w)) {
            s->pos = (size_t)((const char *)w.p - s->at) + 1;
            continue;
        }
        t->out->n = out; /* from its begin, with more of it */
        *t->counts = counts;
        t->version = version;
        t->ops = ops;
        t->open = open;
        t->begun = begun;
        if (!source_more(s)) source_fail(s, s->pos, "the file ends within a message");
    }
}

/* ---- which one it is ------------------------------------------------------------------------- */

static void read_lines(stream *t, void (*take)(stream *, const char *, const char *))
{
    const char *line, *end;
    while (source_next_line(t->s, &line, &end)) {
        guard_tick(t->m->guard);
        take(t, line, end);
    }
    if (t->c.kind) take_change(t);
    end_txn(t);
}

void change_stream_read(mem *m, change_read read, void *payload, const change_map *maps, size_t n,
                        strbuf *out, change_counts *counts)
{
    source in, *s = &in;
    stream t = {.s = s, .m = m, .maps = maps, .n_maps = n, .out = out, .counts = counts};
    source_init(s, m, m->guard, read, payload);
    t.found = mem_array0(m, table_found, n + 1);
    *counts = (change_counts){0};
    strbuf_init(&t.c.texts, t.m);
    strbuf_init(&t.id, t.m);
    strbuf_str(out, "{\"ratel\":1,\"made_by\":\"ratel trace versions\",\"init_unknown\":true}\n");
    source_skip_bom(s);
    source_need(s, 4096);
    const char *p = s->at + s->pos, *end = s->at + s->n;
    bool binary = p < end && memchr(p, 0, (size_t)(end - p)) && strchr("BRYO", *p);
    bool binlog = false;
    for (const char *q = p; q + 8 < end && !binlog; q++)
        binlog = (q == p || q[-1] == '\n') &&
                 (begins(q, end, "# at ") || begins(q, end, "/*!") || begins(q, end, "### "));
    if (binary)
        read_pgoutput(&t);
    else if (p < end && *p == '{')
        read_debezium(&t);
    else
        read_lines(&t, binlog ? read_binlog : read_decoded);
    if (binary) end_txn(&t);
}
