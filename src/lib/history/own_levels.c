/*
 * own_levels.c - see own_levels.h.
 *
 * Texts are interned, so equal texts have equal ids; there are a handful at most, so that a search
 * through all of them is quick.  history_level_of writes the members "level" anew, so that copies
 * and writers of the history carry them along.
 */
#include "history/own_levels.h"

#include <assert.h>
#include <string.h>

static bool is_level_member(const history *h, const extra *e)
{
    atom a = value_atom(h, e->name);
    return a.kind == ATOM_STR && a.len == 5 && !memcmp(atom_bytes(h, a), "level", 5);
}

static bool same_text(const history *h, value_id a, value_id b)
{
    if (a == b) return true;
    atom x = value_atom(h, a), y = value_atom(h, b);
    return x.len == y.len && !memcmp(atom_bytes(h, x), atom_bytes(h, y), x.len);
}

/* 1 + the place of the text among the levels that were named. */
static uint8_t level_number(history *h, value_id text)
{
    size_t i = 0;
    while (i < h->level_texts.n && !same_text(h, h->level_texts.at[i], text)) i++;
    if (i == h->level_texts.n && i < MOST_OWN_LEVELS) vec_push(&h->mem, &h->level_texts, text);
    return (uint8_t)(i + 1);
}

void history_find_levels(history *h)
{
    uint8_t header = 0;
    bool any = false;
    mem_put(&h->mem, h->txn_level);
    h->txn_level = NULL;
    h->level_texts.n = 0;
    h->some_level = false;
    for (size_t i = 0; i < h->extras.n; i++) {
        const extra *e = &h->extras.at[i];
        if (!is_level_member(h, e)) continue;
        uint8_t number = level_number(h, e->text);
        if (!any) h->txn_level = mem_array0(&h->mem, uint8_t, h->txns + 1);
        any = true;
        if (e->txn == NO_ID) {
            header = number;
        } else {
            h->txn_level[e->txn] = number;
            h->some_level = true;
        }
    }
    for (size_t t = 0; any && header && t < h->txns; t++)
        if (!h->txn_level[t]) h->txn_level[t] = header;
}

const char *history_level_text(const history *h, txn_id t, size_t *n)
{
    *n = 0;
    if (!h->txn_level || !h->txn_level[t]) return NULL;
    if (h->txn_level[t] > h->level_texts.n) {
        *n = 1;
        return NULL;
    }
    atom a = value_atom(h, h->level_texts.at[h->txn_level[t] - 1]);
    *n = a.len;
    return atom_bytes(h, a);
}

/* A string of a history that is frozen, whose tables find nothing any more. */
static value_id late_text(history *h, const char *s, size_t n)
{
    atom a = {.kind = ATOM_STR, .len = (uint32_t)n, .as.offset = h->bytes.n};
    for (size_t i = 0; i < n; i++) vec_push(&h->mem, &h->bytes, s[i]);
    if (h->values.atoms.n >= VALUE_TABLE - 8)
        guard_fail(h->mem.guard, GUARD_UNSUPPORTED, "more than 2^31 values");
    vec_push(&h->mem, &h->values.atoms, a);
    return VALUE_TABLE + 2 + (value_id)(h->values.atoms.n - 1);
}

static bool session_is(const history *h, label l, const char *name, size_t n)
{
    strbuf b;
    strbuf_init(&b, (mem *)&h->mem);
    label_text(h, l, &b);
    bool same = b.n == n && !memcmp(b.at, name, n);
    strbuf_free(&b);
    return same;
}

bool history_level_of(history *h, const char *session, size_t sn, const char *level, size_t n)
{
    size_t s = 0, at = 0;
    char json[80];
    assert(h->frozen && n && n < sizeof json - 2);
    while (s < h->sessions.n && !session_is(h, h->sessions.at[s], session, sn)) s++;
    if (s == h->sessions.n) return false;
    json[0] = json[n + 1] = '"';
    memcpy(json + 1, level, n);
    value_id name = late_text(h, "level", 5), text = late_text(h, json, n + 2);
    VEC(extra) fresh = {0};
    for (; at < h->extras.n && h->extras.at[at].txn == NO_ID; at++)
        vec_push(&h->mem, &fresh, h->extras.at[at]);
    for (txn_id t = 0; t < h->txns; t++) {
        bool renamed = h->txn_session[t] == s;
        for (; at < h->extras.n && h->extras.at[at].txn == t; at++)
            if (!renamed || !is_level_member(h, &h->extras.at[at]))
                vec_push(&h->mem, &fresh, h->extras.at[at]);
        extra e = {t, name, text};
        if (renamed) vec_push(&h->mem, &fresh, e);
    }
    vec_free(&h->mem, &h->extras);
    h->extras.at = fresh.at;
    h->extras.n = fresh.n;
    h->extras.cap = fresh.cap;
    history_find_levels(h);
    return true;
}
