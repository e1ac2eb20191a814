/*
 * picture_told.c - an explanation as a picture: what its lanes, boxes and edges are.
 *
 * The boxes are the transactions of the argument, with the operations on its keys; neighbours, if
 * wanted, are boxes with a name alone.  Of a level that holds there is no argument, and the first
 * transactions of the history stand for all.
 */
#include "report/explanation.h"

#include "base/sort.h"
#include "report/picture.h"

enum { LINE_COLUMNS = 46, LINES = 10, FEW = 6, NOTE_COLUMNS = 40, LANE_COLUMNS = 22 };

/* --- marks ------------------------------------------------------------------------------------ */

/* The member of a JSON object that was checked when it was read; NULL: there is none. */
static const char *json_member(const char *s, size_t n, const char *name, size_t *length)
{
    int depth = 0;
    size_t want = strlen(name);
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '{' || s[i] == '[') depth++;
        if (s[i] == '}' || s[i] == ']') depth--;
        if (s[i] != '"') continue;
        size_t from = ++i;
        for (; i < n && s[i] != '"'; i++) i += s[i] == '\\';
        if (depth != 1 || i >= n || i - from != want || memcmp(s + from, name, want) != 0) continue;
        size_t at = i + 1;
        while (at < n && (s[at] == ' ' || s[at] == '\t')) at++;
        if (at == n || s[at] != ':') continue; /* a value that looks like the name */
        for (at++; at < n && (s[at] == ' ' || s[at] == '\t');) at++;
        size_t end = at;
        bool quoted = at < n && s[at] == '"';
        for (end += quoted; end < n; end++) {
            if (quoted ? s[end] == '"' : s[end] == ',' || s[end] == '}') break;
            end += quoted && s[end] == '\\';
        }
        if (end > n) end = n;
        *length = end - at + (quoted && end < n);
        return s + at;
    }
    return NULL;
}

static bool whole_number(const char *s, size_t n, int64_t *out)
{
    bool minus = n && *s == '-';
    uint64_t v = 0;
    if (n == minus || n - minus > 18) return false;
    for (size_t i = minus; i < n; i++) {
        if (s[i] < '0' || s[i] > '9') return false;
        v = v * 10 + (uint64_t)(s[i] - '0');
    }
    *out = minus ? -(int64_t)v : (int64_t)v;
    return true;
}

bool mark_parts(const history *h, const mark *k, int64_t *at, bool *timed, strbuf *what)
{
    atom a = value_atom(h, k->text);
    const char *s = atom_bytes(h, a), *part;
    size_t n;
    part = json_member(s, a.len, "mark", &n);
    if (part && n == 5 && !memcmp(part, "\"end\"", 5)) return false; /* that is no event */
    const char *kind = part;
    size_t kind_n = n;
    part = json_member(s, a.len, "at", &n);
    *timed = part && whole_number(part, n, at);
    part = json_member(s, a.len, "what", &n);
    if (!part) part = kind, n = kind_n;
    if (part && n >= 2 && *part == '"') part++, n -= 2;
    if (part) strbuf_visible(what, part, n);
    return true;
}

/* --- boxes ------------------------------------------------------------------------------------ */

typedef struct maker {
    const told *t;
    picture *p;
    key_ids keys;
    strbuf text;
    uint32_t *lane_of; /* of each session, or NO_ID */
} maker;

/* What was written to the buffer, at most so many columns of it, as a text of the picture. */
static char *cut_text(maker *k, size_t columns)
{
    strbuf *b = &k->text;
    size_t end = 0, width = 0;
    while (end < b->n) {
        size_t bytes = utf8_length(b->at + end, b->n - end);
        if (!bytes) bytes = 1;
        width += picture_columns(b->at + end, bytes);
        if (width > columns) break;
        end += bytes;
    }
    if (end < b->n) {
        while (end && picture_columns(b->at, end) + 3 > columns) {
            end--;
            while (end && ((unsigned char)b->at[end] & 0xc0) == 0x80) end--;
        }
        b->n = end;
        strbuf_str(b, "...");
    }
    char *s = picture_text(k->p, b->n ? b->at : "", b->n);
    b->n = 0;
    return s;
}

/* A field of the transaction as text, without the quotes of a string; false: it has none. */
static bool field_text(maker *k, txn_id x, const char *name)
{
    const history *h = k->t->v->h;
    size_t want = strlen(name);
    for (size_t i = txn_extras(h, x); i < h->extras.n && h->extras.at[i].txn == x; i++) {
        atom a = value_atom(h, h->extras.at[i].name), v = value_atom(h, h->extras.at[i].text);
        if (a.len != want || memcmp(atom_bytes(h, a), name, want) != 0) continue;
        const char *s = atom_bytes(h, v);
        bool quoted = v.len >= 2 && *s == '"';
        k->text.n = 0;
        strbuf_visible(&k->text, s + quoted, v.len - 2 * quoted);
        return k->text.n > 0;
    }
    return false;
}

static void add_lines(maker *k, picture_box *b, txn_id x)
{
    const history *h = k->t->v->h;
    uint32_t n = h->txn_op[x + 1] - h->txn_op[x];
    b->first = (uint32_t)k->p->lines.n;
    if (field_text(k, x, "note")) {
        picture_line l = {cut_text(k, NOTE_COLUMNS), true};
        vec_push(k->p->m, &k->p->lines, l);
        b->n++;
    }
    for (op_id o = h->txn_op[x]; o < h->txn_op[x + 1]; o++) {
        if (n > FEW && (b->n >= LINES || !op_about(h, o, &k->keys))) {
            b->hidden++;
            continue;
        }
        say_op(k->t, o, &k->keys, &k->text);
        picture_line l = {cut_text(k, LINE_COLUMNS), false};
        vec_push(k->p->m, &k->p->lines, l);
        b->n++;
    }
}

static void add_box(maker *k, txn_id x, bool matters)
{
    const history *h = k->t->v->h;
    picture_box b = {.id = x, .matters = matters};
    b.lane = h->txn_session[x];
    b.status = (uint8_t)txn_status_of(history_as_recorded(h), x);
    say_txn(h, x, &k->text);
    b.name = cut_text(k, 30);
    if (field_text(k, x, "node")) b.place = cut_text(k, 16);
    if (matters) add_lines(k, &b, x);
    b.timed = scene_time(h, x, BEGIN_CALLED, &b.begin);
    b.open = !scene_time(h, x, COMMIT_RETURNED, &b.end);
    if (b.open && b.status != PICTURE_UNKNOWN) b.timed = false;
    if (b.timed && !b.open && b.end < b.begin) b.timed = false; /* a clock that ran backwards */
    vec_push(k->p->m, &k->p->boxes, b);
}

/* Lanes in the order of the sessions, of those that have a box. */
static void add_lanes(maker *k)
{
    const history *h = k->t->v->h;
    picture *p = k->p;
    uint32_t *lane = mem_array(p->m, uint32_t, h->sessions.n + 1);
    for (size_t i = 0; i < h->sessions.n; i++) lane[i] = NO_ID;
    for (size_t i = 0; i < p->boxes.n; i++) lane[p->boxes.at[i].lane] = 0;
    for (size_t i = 0; i < h->sessions.n; i++) {
        if (lane[i] == NO_ID) continue;
        lane[i] = (uint32_t)p->lanes.n;
        label name = h->sessions.at[i];
        if (!(name >> 63)) strbuf_str(&k->text, "session ");
        label_text(h, name, &k->text);
        picture_lane l = {.name = cut_text(k, LANE_COLUMNS)};
        vec_push(p->m, &p->lanes, l);
    }
    for (size_t i = 0; i < p->boxes.n; i++) p->boxes.at[i].lane = lane[p->boxes.at[i].lane];
    mem_put(p->m, lane);
}

/* Without times: a box stands after those of its session and after those that it read from, as far
   as the input has them before it. */
static void order_boxes(picture *p)
{
    uint32_t *next = mem_array0(p->m, uint32_t, p->lanes.n + 1);
    for (size_t i = 0; i < p->boxes.n; i++) {
        picture_box *b = &p->boxes.at[i];
        uint32_t rank = next[b->lane];
        for (size_t e = 0; e < p->edges.n; e++) {
            const picture_edge *d = &p->edges.at[e];
            if (d->to != i || d->from >= i || d->kind != PICTURE_WR) continue;
            uint32_t after = (uint32_t)(p->boxes.at[d->from].begin / 2 + 1);
            if (after > rank) rank = after;
        }
        next[b->lane] = rank + 1;
        b->begin = 2 * (int64_t)rank;
        b->end = b->begin + 1;
        b->open = false;
    }
    mem_put(p->m, next);
}

static uint32_t box_of(const picture *p, txn_id x)
{
    uint32_t i = 0;
    while (i < p->boxes.n && p->boxes.at[i].id != x) i++;
    return i;
}

static void add_edges(maker *k, const told_edges *all, uint32_t cases, told_edges *kept)
{
    picture *p = k->p;
    for (size_t i = 0; i < all->n; i++) {
        const told_edge *d = &all->at[i];
        uint32_t from = box_of(p, d->from), to = box_of(p, d->to);
        if (from == p->boxes.n || to == p->boxes.n || from == to) continue;
        if (cases > 1) strbuf_printf(&k->text, "%u: ", (unsigned)d->place + 1);
        strbuf_str(&k->text, picture_edge_name(d->kind));
        if (d->key != NO_ID) {
            strbuf_char(&k->text, ' ');
            say_key(k->t->v->h, d->key, &k->text);
        }
        picture_edge e = {.from = from,
                          .to = to,
                          .kind = d->kind,
                          .inferred = d->inferred,
                          .place = d->place,
                          .label = cut_text(k, 34)};
        vec_push(p->m, &p->edges, e);
        vec_push(k->t->m, kept, *d);
    }
    p->cases = cases;
}

/* Faults that happened while the boxes ran. */
static void add_marks(maker *k)
{
    const history *h = k->t->v->h;
    picture *p = k->p;
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t i = 0; i < p->boxes.n; i++) {
        const picture_box *b = &p->boxes.at[i];
        if (b->begin < first) first = b->begin;
        if (!b->open && b->end > last) last = b->end;
    }
    for (size_t i = 0; i < h->marks.n && p->marks.n < 12; i++) {
        picture_mark m = {0};
        bool timed;
        k->text.n = 0;
        if (!mark_parts(h, &h->marks.at[i], &m.at, &timed, &k->text) || !timed || m.at < first ||
            m.at > last)
            continue;
        m.text = cut_text(k, 30);
        vec_push(p->m, &p->marks, m);
    }
    k->text.n = 0;
}

/* In the order of the input, each once: the first `n_core` of txns matter. */
static void add_boxes(maker *k, const txn_ids *core, size_t most, const txn_ids *neighbours)
{
    size_t n = core->n < most ? core->n : most, all = n + (neighbours ? neighbours->n : 0);
    uint64_t *order = mem_array(k->t->m, uint64_t, all + 1);
    for (size_t i = 0; i < n; i++) order[i] = (uint64_t)core->at[i] << 1;
    for (size_t i = n; i < all; i++) order[i] = (uint64_t)neighbours->at[i - n] << 1 | 1;
    sort_u64(order, all);
    for (size_t i = 0; i < all; i++)
        if (!i || order[i] >> 1 != order[i - 1] >> 1)
            add_box(k, (txn_id)(order[i] >> 1), !(order[i] & 1));
    mem_put(k->t->m, order);
}

void told_picture(const told *t, const told_steps *steps, const txn_ids *neighbours, size_t most,
                  picture *p, told_edges *edges)
{
    maker k = {.t = t, .p = p};
    txn_ids core = {0};
    told_edges all = {0};
    picture_init(p, t->m);
    strbuf_init(&k.text, t->m);
    told_keys(t, &k.keys);
    told_txns(t, &core);
    told_title(t, &k.text);
    p->title = cut_text(&k, 400);
    add_boxes(&k, &core, most, neighbours);
    p->left_out = core.n > most ? core.n - most : 0;
    add_lanes(&k);
    told_graph(t, steps, &all);
    add_edges(&k, &all, steps->cycles, edges);
    p->timed = p->boxes.n > 0;
    for (size_t i = 0; i < p->boxes.n; i++) p->timed = p->timed && p->boxes.at[i].timed;
    if (p->timed)
        add_marks(&k);
    else
        order_boxes(p);
    picture_layout(p);
    vec_free(t->m, &all);
    vec_free(t->m, &core);
    vec_free(t->m, &k.keys);
    strbuf_free(&k.text);
}
