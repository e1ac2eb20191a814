/*
 * recording_script.c - turns a history into a script (recording_script.h).
 *
 * Keys become the rows of one table in the order of the keys, so that ranges stay ranges.  Values
 * become numbers in the order in which they are met; 0 stands for what is there at first and nobody
 * names.
 */
#include "cli/recording_script.h"

#include <stdio.h>
#include <string.h>

#include "driver/exec_json.h"

typedef struct taking {
    script *s;
    mem *m;
    const ratel_history *h;
    VEC(uint32_t) values; /* of the history, by their numbers in the script less 1 */
} taking;

static int64_t value_number(taking *t, uint32_t value)
{
    for (size_t i = 0; i < t->values.n; i++)
        if (t->values.at[i] == value) return (int64_t)i + 1;
    vec_push(t->m, &t->values, value);
    return (int64_t)t->values.n;
}

/* Is the row of this key there at first?  Then it is one of the script's rows. */
static bool has_row(taking *t, const ratel_op_info *o)
{
    int64_t id = (int64_t)o->rank + 1;
    for (size_t i = 0; i < t->s->rows.n; i += 2)
        if (t->s->rows.at[i] == id) return true;
    if (!o->had) return false;
    int64_t value = o->had > 0 ? value_number(t, o->before) : 0;
    vec_push(t->m, &t->s->rows, id);
    vec_push(t->m, &t->s->rows, value);
    return true;
}

/* A read of a list, or an append to it; false: something else. */
static bool take_list_op(taking *t, const ratel_op_info *o, int64_t when)
{
    script *s = t->s;
    int64_t id = (int64_t)o->rank + 1;
    script_op x = {.kind = o->kind, .id = o->rank + 1, .when = o->timed ? o->called : when};
    bool there = false;
    if (o->kind != 'a' && o->kind != 'r') return false;
    for (size_t i = 0; i < s->rows.n; i += 2) there = there || s->rows.at[i] == id;
    if (!there) {
        vec_push(t->m, &s->rows, id);
        vec_push(t->m, &s->rows, (int64_t)0);
    }
    if (o->kind == 'a') x.value = value_number(t, o->value);
    vec_push(t->m, &s->ops, x);
    s->txns.at[s->txns.n - 1].n++;
    return true;
}

/* false: it cannot be said as a statement on keys. */
static bool take_op(taking *t, size_t i, int64_t when)
{
    ratel_op_info o;
    ratel_history_op_at(t->h, i, &o);
    if (o.failed) return true;
    if (t->s->lists) return take_list_op(t, &o, when);
    script_op x = {.kind = o.kind, .id = o.rank + 1, .when = o.timed ? o.called : when};
    if (o.kind == 'a') return false;
    if (o.kind == 'i') x.kind = 's';
    if (x.kind == 's') {
        if (o.rank == o.rank_to) return true; /* no key that anybody names */
        x.to = o.rank_to;
    } else {
        x.absent_at_first = !has_row(t, &o);
    }
    if (o.kind == 'w' || (o.kind == 'r' && o.known && !o.absent))
        x.value = value_number(t, o.value);
    x.absent = o.absent;
    vec_push(t->m, &t->s->ops, x);
    t->s->txns.at[t->s->txns.n - 1].n++;
    return true;
}

/* When the k-th of n operations was probably called: the client's times of the transaction. */
static int64_t guessed_time(const ratel_txn_info *t, size_t k, int64_t number)
{
    if (!t->timed) return number;
    double share = (double)(k + 1) / (double)(t->ops + 1);
    return t->begin + (int64_t)((double)(t->end - t->begin) * share);
}

static bool add_txn(taking *t, size_t i, const ratel_txn_info *info)
{
    script *s = t->s;
    script_txn x = {.session = info->session,
                    .aborts = info->status == RATEL_ABORTED,
                    .first = (uint32_t)s->ops.n,
                    .end = info->timed ? info->end : (int64_t)i};
    vec_push(t->m, &s->txns, x);
    if (info->session >= s->sessions) s->sessions = info->session + 1;
    for (size_t k = 0; k < info->ops; k++)
        if (!take_op(t, info->first_op + k, guessed_time(info, k, (int64_t)i))) return false;
    return true;
}

static bool has_lists(const ratel_history *h)
{
    ratel_op_info o;
    for (size_t i = 0; ratel_history_op_at(h, i, &o) == RATEL_OK; i++)
        if (o.kind == 'a') return true;
    return false;
}

static bool has_txn(const ratel_history *part, const char *id)
{
    ratel_txn_info info;
    for (size_t i = 0; ratel_history_txn_at(part, i, &info) == RATEL_OK; i++)
        if (!strcmp(info.id, id)) return true;
    return false;
}

bool recording_script(script *s, mem *m, const ratel_history *h)
{
    return recording_script_whole(s, m, h, NULL);
}

bool recording_script_whole(script *s, mem *m, const ratel_history *h, const ratel_history *part)
{
    taking t = {.s = s, .m = m, .h = h};
    ratel_txn_info info;
    *s = (script){.lists = has_lists(h)};
    for (size_t i = 0; ratel_history_txn_at(h, i, &info) == RATEL_OK; i++)
        if ((!part || has_txn(part, info.id)) && !add_txn(&t, i, &info)) return false;
    return true;
}

/* --- nodes ------------------------------------------------------------------------------------ */

/* What lines of the file say: the letter of a node by the number of the line, 0: nothing, and what
   the header calls the nodes. */
typedef struct node_lines {
    VEC(char) letters;
    char roles[26][16];
} node_lines;

static void read_roles(const exec_json *j, node_lines *n)
{
    uint32_t all = exec_json_member(j, 0, "nodes");
    for (char c = 'a'; all && c <= 'z'; c++) {
        char name[2] = {c, 0};
        uint32_t role = exec_json_member(j, all, name);
        if (role) exec_json_text(j, role, n->roles[c - 'a'], sizeof n->roles[0]);
    }
}

/* Appends the next line without its end; false: there is none. */
static bool line_next(FILE *f, strbuf *line)
{
    char part[4096];
    line->n = 0;
    while (f && fgets(part, sizeof part, f)) {
        size_t n = strcspn(part, "\n");
        strbuf_add(line, part, n);
        if (part[n]) return true;
    }
    return line->n > 0;
}

static void read_node_lines(node_lines *n, mem *m, const char *path)
{
    FILE *f = fopen(path, "r");
    exec_json j = {0};
    strbuf line;
    strbuf_init(&line, m);
    while (line_next(f, &line)) {
        char letter = 0, text[8] = "";
        const char *whole = strbuf_cstr(&line);
        if (strstr(whole, "\"node") && exec_json_parse(&j, m, whole, line.n)) {
            uint32_t node = exec_json_member(&j, 0, "node");
            if (!n->letters.n) read_roles(&j, n);
            if (node) exec_json_text(&j, node, text, sizeof text);
            if (*text >= 'a' && *text <= 'z' && !text[1]) letter = *text;
        }
        vec_push(m, &n->letters, letter);
    }
    strbuf_free(&line);
    if (f) fclose(f);
}

/* The node of a transaction by its name; NULL: where one can write, or not known. */
static const char *node_named(const node_lines *n, const ratel_history *h, const char *id)
{
    ratel_txn_info info;
    for (size_t i = 0; ratel_history_txn_at(h, i, &info) == RATEL_OK; i++) {
        if (strcmp(info.id, id) != 0 || !info.line || info.line > n->letters.n) continue;
        char letter = n->letters.at[info.line - 1];
        const char *role = letter ? n->roles[letter - 'a'] : "";
        return *role && strcmp(role, "primary") != 0 && strcmp(role, "member") != 0 ? role : NULL;
    }
    return NULL;
}

void recording_places(script *s, mem *m, const ratel_history *h, const ratel_history *part,
                      const char *path)
{
    node_lines *n = mem_zeroed(m, sizeof *n);
    ratel_txn_info info;
    read_node_lines(n, m, path);
    s->places.n = 0;
    for (uint32_t i = 0; i < s->sessions; i++) vec_push(m, &s->places, (script_place){0});
    size_t t = 0;
    for (size_t i = 0; t < s->txns.n && ratel_history_txn_at(part, i, &info) == RATEL_OK; i++)
        s->places.at[s->txns.at[t++].session].node = node_named(n, h, info.id);
}
