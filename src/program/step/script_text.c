/*
 * script_text.c - writes transactions on keys as a script (script_text.h).
 */
#include "step/script_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/rng.h"

void script_step_name(const script *s, script_turn t, char *buf, size_t cap)
{
    if (t.op == s->txns.at[t.txn].n)
        snprintf(buf, cap, "t%u_end", (unsigned)t.txn + 1);
    else
        snprintf(buf, cap, "t%u_%u", (unsigned)t.txn + 1, (unsigned)t.op + 1);
}

script_place script_place_of(const script *s, uint32_t session)
{
    return session < s->places.n ? s->places.at[session] : (script_place){0};
}

/* --- orders ----------------------------------------------------------------------------------- */

typedef struct timed_turn {
    script_turn turn;
    int64_t when;
    uint32_t number;
} timed_turn;

static int by_when(const void *x, const void *y)
{
    const timed_turn *a = x, *b = y;
    if (a->when != b->when) return a->when < b->when ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

void script_order_by_time(script *s, mem *m)
{
    VEC(timed_turn) all = {0};
    for (uint32_t t = 0; t < s->txns.n; t++) {
        const script_txn *x = &s->txns.at[t];
        for (uint32_t k = 0; k <= x->n && !x->out; k++) {
            if (k < x->n && s->ops.at[x->first + k].out) continue;
            timed_turn turn = {
                {t, k}, k < x->n ? s->ops.at[x->first + k].when : x->end, (uint32_t)all.n};
            vec_push(m, &all, turn);
        }
    }
    if (all.n) qsort(all.at, all.n, sizeof *all.at, by_when);
    s->order.n = 0;
    for (size_t i = 0; i < all.n; i++) vec_push(m, &s->order, all.at[i].turn);
    vec_free(m, &all);
}

/* The next step of a session: its first transaction that is not over, and where that stands. */
static bool next_turn(const script *s, const uint32_t *done, uint32_t session, script_turn *out)
{
    for (uint32_t t = 0; t < s->txns.n; t++) {
        const script_txn *x = &s->txns.at[t];
        if (x->out || x->session != session || done[t] > x->n) continue;
        uint32_t k = done[t];
        while (k < x->n && s->ops.at[x->first + k].out) k++;
        *out = (script_turn){t, k};
        return true;
    }
    return false;
}

void script_order_by_chance(script *s, mem *m, uint64_t seed)
{
    rng r;
    rng_seed(&r, seed);
    uint32_t *done = mem_array0(m, uint32_t, s->txns.n ? s->txns.n : 1);
    s->order.n = 0;
    for (;;) {
        uint32_t open = 0, drawn = 0;
        script_turn t, chosen = {0};
        for (uint32_t i = 0; i < s->sessions; i++)
            if (next_turn(s, done, i, &t) && !rng_below(&r, ++open)) {
                chosen = t;
                drawn = 1;
            }
        if (!drawn) break;
        vec_push(m, &s->order, chosen);
        done[chosen.txn] = chosen.op + 1;
    }
    mem_put(m, done);
}

/* The value of a row for a reader: its own write, else the newest that counts. */
static bool newest_value(const script *s, size_t before, script_turn reader, bool dirty,
                         uint32_t id, int64_t *value)
{
    bool some = false;
    for (size_t i = 0; i < s->rows.n; i += 2)
        if (s->rows.at[i] == (int64_t)id) {
            some = true;
            *value = s->rows.at[i + 1];
        }
    for (size_t i = 0; i < before; i++) {
        script_turn t = s->order.at[i];
        const script_txn *x = &s->txns.at[t.txn];
        bool ends = t.op == x->n, own = t.txn == reader.txn;
        /* What a transaction wrote counts from its end on, or at once for itself and for dirty
           reads. */
        bool at_once = dirty || own;
        if (ends == at_once || (ends && x->aborts)) continue;
        /* What is held is shown elsewhere only. */
        if (ends && script_place_of(s, x->session).held &&
            !script_place_of(s, s->txns.at[reader.txn].session).node)
            continue;
        for (uint32_t k = ends ? 0 : t.op; k < (ends ? x->n : t.op + 1); k++) {
            const script_op *o = &s->ops.at[x->first + k];
            if (o->id != id || o->out || (o->kind != 'w' && o->kind != 'd')) continue;
            some = o->kind == 'w';
            *value = o->value;
        }
    }
    return some;
}

bool script_order_promises(const script *s, bool dirty)
{
    for (size_t i = 0; i < s->order.n; i++) {
        script_turn t = s->order.at[i];
        const script_txn *x = &s->txns.at[t.txn];
        if (t.op == x->n || s->ops.at[x->first + t.op].kind != 'r') continue;
        const script_op *o = &s->ops.at[x->first + t.op];
        int64_t value = 0;
        bool some = newest_value(s, i, t, dirty, o->id, &value);
        if (some == o->absent || (some && value != o->value)) return false;
    }
    return true;
}

/* --- text ------------------------------------------------------------------------------------- */

static void write_write(const script_op *o, strbuf *out)
{
    long long v = (long long)o->value;
    if (!o->absent_at_first) {
        strbuf_printf(out, "{ UPDATE test SET value = %lld WHERE id = %u; }", v, o->id);
        return;
    }
    strbuf_printf(out,
                  "{ INSERT INTO test VALUES (%u, %lld) ON CONFLICT (id) DO UPDATE SET value = "
                  "excluded.value; }\n    dialect mariadb { INSERT INTO test VALUES (%u, %lld) ON "
                  "DUPLICATE KEY UPDATE value = VALUES(value); }",
                  o->id, v, o->id, v);
}

/* A list is a text in which a space stands before each element. */
static void write_append(const script_op *o, strbuf *out)
{
    long long v = (long long)o->value;
    strbuf_printf(
        out,
        "{ UPDATE test SET value = value || ' %lld' WHERE id = %u; }\n    dialect mariadb "
        "{ UPDATE test SET value = CONCAT(value, ' %lld') WHERE id = %u; }",
        v, o->id, v, o->id);
}

static void write_op(const script_op *o, strbuf *out)
{
    if (o->kind == 'q')
        strbuf_printf(out, "{ %s; }", o->sql);
    else if (o->kind == 'a')
        write_append(o, out);
    else if (o->kind == 'r')
        strbuf_printf(out, "{ SELECT id, value FROM test WHERE id = %u; }", o->id);
    else if (o->kind == 'd')
        strbuf_printf(out, "{ DELETE FROM test WHERE id = %u; }", o->id);
    else if (o->kind == 's')
        strbuf_printf(out, "{ SELECT id, value FROM test WHERE id BETWEEN %u AND %u ORDER BY id; }",
                      o->id, o->to);
    else
        write_write(o, out);
}

static void write_txn(const script *s, uint32_t t, strbuf *out)
{
    const script_txn *x = &s->txns.at[t];
    char name[32];
    for (uint32_t k = 0; k <= x->n; k++) {
        if (k < x->n && s->ops.at[x->first + k].out) continue;
        script_step_name(s, (script_turn){t, k}, name, sizeof name);
        strbuf_printf(out, "step %s ", name);
        if (k == x->n)
            strbuf_str(out, x->aborts ? "{ ROLLBACK; }" : "{ COMMIT; }");
        else
            write_op(&s->ops.at[x->first + k], out);
        strbuf_char(out, '\n');
    }
}

void script_write_order(const script *s, strbuf *out)
{
    char name[32];
    strbuf_str(out, "permutation");
    for (size_t i = 0; i < s->order.n; i++) {
        script_step_name(s, s->order.at[i], name, sizeof name);
        strbuf_printf(out, " %s", name);
    }
    strbuf_char(out, '\n');
}

void script_write_signs(const script *s, strbuf *out)
{
    char name[32];
    for (uint32_t t = 0; t < s->txns.n; t++)
        for (uint32_t k = 0; k < s->txns.at[t].n; k++) {
            const script_op *o = &s->ops.at[s->txns.at[t].first + k];
            if (o->kind != 'r') continue;
            script_step_name(s, (script_turn){t, k}, name, sizeof name);
            if (o->absent)
                strbuf_printf(out, "    %s: none\n", name);
            else
                strbuf_printf(out, "    %s: %u|%lld\n", name, o->id, (long long)o->value);
        }
}

static void write_table(const script *s, strbuf *out)
{
    strbuf_printf(out, "setup {\n    CREATE TABLE test (id int PRIMARY KEY, value %s NOT NULL);\n",
                  s->lists ? "text" : "int");
    for (size_t i = 0; i + 1 < s->rows.n; i += 2) {
        const char *before = i ? ", " : "    INSERT INTO test VALUES ";
        if (s->lists)
            strbuf_printf(out, "%s(%lld, '')", before, (long long)s->rows.at[i]);
        else
            strbuf_printf(out, "%s(%lld, %lld)", before, (long long)s->rows.at[i],
                          (long long)s->rows.at[i + 1]);
    }
    strbuf_str(out, s->rows.n ? ";\n}\n" : "}\n");
    strbuf_str(out, "teardown { DROP TABLE test; }\n");
}

/* What a statement of the setup makes, or NULL; its name goes to `name`. */
static const char *made_by(const char *sql, char *name, size_t cap)
{
    static const char *const kinds[] = {"TABLE", "VIEW", "SEQUENCE", "TYPE", NULL};
    char first[16] = "", second[16] = "";
    if (sscanf(sql, "%15s %15s %120[^ \t\r\n(]", first, second, name) != 3 || cap < 121)
        return NULL;
    for (size_t i = 0; kinds[i] && !strcasecmp(first, "create"); i++)
        if (!strcasecmp(second, kinds[i])) return kinds[i];
    return NULL;
}

/* The last that was made goes first: it may refer to the others. */
static void write_statements(const script *s, strbuf *out)
{
    char name[121];
    for (size_t i = 0; i < s->setup.n; i++) strbuf_printf(out, "setup { %s; }\n", s->setup.at[i]);
    strbuf_str(out, "teardown {\n");
    for (size_t i = s->setup.n; i--;) {
        const char *kind = made_by(s->setup.at[i], name, sizeof name);
        if (kind) strbuf_printf(out, "    DROP %s IF EXISTS %s;\n", kind, name);
    }
    strbuf_str(out, "}\n");
}

static void write_session(const script *s, uint32_t i, strbuf *out)
{
    script_place p = script_place_of(s, i);
    strbuf_printf(out, "\nsession s%u%s%s%s\n", (unsigned)i + 1, p.node ? " node " : "",
                  p.node ? p.node : "", p.held ? " commit held" : "");
}

void script_write(const script *s, const char *about, const char *level, const char *more,
                  const char *signs, strbuf *out)
{
    strbuf_printf(out, "title \"%s\"\nforbidden \"%s\"\n\n", about, level);
    if (s->setup.n)
        write_statements(s, out);
    else
        write_table(s, out);
    for (uint32_t i = 0; i < s->sessions; i++) {
        bool some = false;
        for (uint32_t t = 0; t < s->txns.n; t++)
            if (s->txns.at[t].session == i && !s->txns.at[t].out) {
                if (!some) write_session(s, i, out);
                some = true;
                write_txn(s, t, out);
            }
    }
    strbuf_char(out, '\n');
    script_write_order(s, out);
    if (more) strbuf_str(out, more);
    if (signs) strbuf_printf(out, "\nhappens {\n%s}\n", signs);
}
