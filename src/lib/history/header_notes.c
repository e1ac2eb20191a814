/*
 * header_notes.c - see header_notes.h.
 *
 * A header may come from anywhere, so the text is read with care: what is not an object of names
 * and counts is no note.  Names are shown as JSON escapes them, which is safe on a terminal.
 */
#include "history/header_notes.h"

#include <assert.h>
#include <string.h>

#define MOST_KINDS 8    /* shown by name */
#define LONGEST_KIND 40 /* bytes of a name that are shown */

const extra *history_header_member(const history *h, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < h->extras.n && h->extras.at[i].txn == NO_ID; i++) {
        atom a = value_atom(h, h->extras.at[i].name);
        if (a.len == n && !memcmp(atom_bytes(h, a), name, n)) return &h->extras.at[i];
    }
    return NULL;
}

static bool at_char(const char **p, const char *end, char c)
{
    while (*p < end && **p == ' ') (*p)++;
    if (*p == end || **p != c) return false;
    (*p)++;
    return true;
}

/* Reads digits; false if there are none, or too many for a count of lines in a file. */
static bool read_count(const char **p, const char *end, uint64_t *out)
{
    const char *start = *p;
    uint64_t n = 0;
    while (*p < end && **p >= '0' && **p <= '9' && *p - start < 18)
        n = n * 10 + (uint64_t)(*(*p)++ - '0');
    *out = n;
    return *p > start;
}

typedef struct kind {
    const char *name; /* JSON without its quotes */
    size_t len;
    uint64_t count;
} kind;

/* The next member of the object at *p, which stands after '{' or ','. */
static bool read_kind(const char **p, const char *end, kind *out)
{
    if (!at_char(p, end, '"')) return false;
    out->name = *p;
    while (*p < end && **p != '"') *p += **p == '\\' && *p + 1 < end ? 2 : 1;
    out->len = (size_t)(*p - out->name);
    if (!at_char(p, end, '"') || !at_char(p, end, ':')) return false;
    while (*p < end && **p == ' ') (*p)++;
    return read_count(p, end, &out->count);
}

/* Calls for each kind of the note; false if the note is missing or no such object. */
static bool each_kind(const history *h, void (*see)(void *, const kind *), void *to)
{
    const extra *x = history_header_member(h, NOTE_SKIPPED);
    if (!x) return false;
    atom a = value_atom(h, x->text);
    const char *p = atom_bytes(h, a), *end = p + a.len;
    if (!at_char(&p, end, '{')) return false;
    do {
        kind k;
        if (!read_kind(&p, end, &k)) return false;
        see(to, &k);
    } while (at_char(&p, end, ','));
    return at_char(&p, end, '}') && p == end;
}

static void add_kind(void *to, const kind *k)
{
    *(uint64_t *)to += k->count;
}

uint64_t history_skipped(const history *h)
{
    uint64_t n = 0;
    return each_kind(h, add_kind, &n) ? n : 0;
}

typedef struct frequent {
    kind at[MOST_KINDS]; /* most frequent first */
    size_t n;
    uint64_t others; /* kinds that have no place */
} frequent;

static void rank_kind(void *to, const kind *k)
{
    frequent *f = to;
    size_t i = f->n;
    while (i && f->at[i - 1].count < k->count) i--;
    if (i == MOST_KINDS) {
        f->others++;
        return;
    }
    if (f->n == MOST_KINDS)
        f->others++;
    else
        f->n++;
    memmove(f->at + i + 1, f->at + i, (f->n - 1 - i) * sizeof *f->at);
    f->at[i] = *k;
    assert(f->n <= MOST_KINDS);
}

void history_skipped_text(const history *h, strbuf *out)
{
    frequent f = {0};
    if (!each_kind(h, rank_kind, &f)) return;
    for (size_t i = 0; i < f.n; i++) {
        const kind *k = &f.at[i];
        size_t n = k->len;
        if (n > LONGEST_KIND)
            for (n = LONGEST_KIND; n && ((unsigned char)k->name[n] & 0xc0) == 0x80;) n--;
        if (i) strbuf_str(out, ", ");
        strbuf_u64(out, k->count);
        strbuf_char(out, ' ');
        strbuf_visible(out, k->name, n);
        if (n < k->len) strbuf_str(out, "...");
    }
    if (f.others) strbuf_printf(out, ", and %llu other kinds", (unsigned long long)f.others);
}

uint64_t history_without_process(const history *h)
{
    const extra *x = history_header_member(h, NOTE_WITHOUT_PROCESS);
    if (!x) return 0;
    atom a = value_atom(h, x->text);
    const char *p = atom_bytes(h, a), *end = p + a.len;
    uint64_t n;
    return read_count(&p, end, &n) && p == end ? n : 0;
}
