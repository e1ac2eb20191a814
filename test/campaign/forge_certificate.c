/*
 * forge_certificate.c - certificates changed so that they may claim what is not so.
 *
 * A forgery keeps the form of a certificate more often than not, because text that is no
 * certificate is refused early: lines change places, are dropped or repeated, words are taken from
 * other places of this certificate or of one of another level of the same history, numbers are
 * off by one, and the head claims another level, policy, session order or verdict.
 */
#include <stdio.h>

#include "base/rng.h"
#include "campaign.h"

enum { MOST_LINES = 400 };

typedef struct lines {
    struct {
        const char *at;
        size_t n; /* with its newline */
    } line[MOST_LINES];
    size_t n, body; /* the first line after the verdict */
} lines;

static void split_lines(const text *t, lines *l)
{
    size_t from = 0;
    l->n = l->body = 0;
    for (size_t i = 0; i < t->n && l->n < MOST_LINES; i++) {
        if (t->at[i] != '\n') continue;
        l->line[l->n].at = t->at + from;
        l->line[l->n++].n = i + 1 - from;
        if (!l->body && !strncmp(t->at + from, "verdict ", 8)) l->body = l->n;
        from = i + 1;
    }
}

static void put_line(text *to, const lines *l, size_t i)
{
    add_text(l->line[i].at, l->line[i].n, to);
}

static void put_lines(text *to, const lines *l, size_t from, size_t end)
{
    for (size_t i = from; i < end && i < l->n; i++) put_line(to, l, i);
}

/* The end of the body says how many lines it has: made right, or it is all that is noticed. */
static void put_end(text *to, const text *body_from)
{
    char end[40];
    size_t n = 0, at = 0;
    const char *verdict = strstr(to->at, "\nverdict ");
    (void)body_from;
    if (!verdict) return;
    for (at = (size_t)(verdict - to->at) + 1; at < to->n; at++) n += to->at[at] == '\n';
    add_text(end, (size_t)snprintf(end, sizeof end, "end %zu\n", n - 1), to);
}

static void put_head(rng *g, const campaign *c, const lines *l, bool changed, text *to)
{
    char line[120];
    for (size_t i = 0; i < l->body; i++) {
        const char *at = l->line[i].at;
        int n = 0;
        if (changed && !strncmp(at, "level ", 6) && rng_below(g, 2))
            n = snprintf(line, sizeof line, "level %s\n",
                         c->levels[rng_below(g, (uint64_t)c->n_levels)].name);
        else if (changed && !strncmp(at, "session-order ", 14) && !rng_below(g, 3))
            n = snprintf(line, sizeof line, "session-order %s\n", rng_below(g, 2) ? "on" : "off");
        else if (changed && !strncmp(at, "ryow ", 5) && !rng_below(g, 3))
            n = snprintf(line, sizeof line, "ryow %s\n", policies[rng_below(g, 3)]);
        else if (changed && !strncmp(at, "through ", 8) && !rng_below(g, 2))
            continue;
        else if (changed && !strncmp(at, "verdict ", 8) && !rng_below(g, 4))
            n = snprintf(line, sizeof line, "verdict %s\n", at[8] == 'h' ? "violated" : "holds");
        else if (!strncmp(at, "verdict ", 8) && !rng_below(g, 12))
            n = snprintf(line, sizeof line, "through %s %s\n%.*s",
                         c->levels[rng_below(g, (uint64_t)c->n_levels)].name,
                         rng_below(g, 2) ? "on" : "off", (int)l->line[i].n, at);
        if (n > 0)
            add_text(line, (size_t)n, to);
        else
            put_line(to, l, i);
    }
}

/* Where the words of a line are. */
static void some_word(rng *g, const char *line, size_t n, size_t *at, size_t *len)
{
    size_t a = rng_below(g, n), b;
    while (a && line[a - 1] != ' ') a--;
    for (b = a; b < n && line[b] != ' ' && line[b] != '\n'; b++) {}
    *at = a;
    *len = b - a;
}

/* A line with one word changed: by one of another line, or a number by one. */
static void put_changed_line(rng *g, const lines *l, size_t i, text *to)
{
    size_t at, n, at2, n2, j = l->body < l->n ? l->body + rng_below(g, l->n - l->body) : i;
    const char *line = l->line[i].at;
    some_word(g, line, l->line[i].n, &at, &n);
    add_text(line, at, to);
    bool digits = n > 0 && n < 10 && line[at] >= '0' && line[at] <= '9';
    if (digits && rng_below(g, 2)) {
        char number[32];
        long v = strtol(line + at, NULL, 10) + (rng_below(g, 2) ? 1 : -1);
        add_text(number, (size_t)snprintf(number, sizeof number, "%ld", v), to);
    } else if (!rng_below(g, 6)) {
        add_text("init", 4, to);
    } else if (n > 1 && line[at] == '!' && rng_below(g, 2)) {
        add_text(line + at + 1, n - 1, to);
    } else {
        some_word(g, l->line[j].at, l->line[j].n, &at2, &n2);
        add_text(l->line[j].at + at2, n2, to);
    }
    add_text(line + at + n, l->line[i].n - at - n, to);
}

static void put_words_cut(rng *g, const lines *l, size_t i, text *to)
{
    size_t at, n;
    some_word(g, l->line[i].at, l->line[i].n, &at, &n);
    if (at > 2) {
        add_text(l->line[i].at, at - 1, to);
        add_text("\n", 1, to);
    } else {
        put_line(to, l, i);
    }
}

static void change_bytes(rng *g, const text *from, text *to)
{
    static const char some[] = "0123456789!@<=:. \nbcx\"";
    add_text(from->at, from->n, to);
    for (uint64_t i = 1 + rng_below(g, 3); i; i--)
        to->at[rng_below(g, to->n)] = some[rng_below(g, sizeof some - 1)];
}

void forge_certificate(const campaign *c, uint64_t drawn, const text *from, const text *other,
                       text *to)
{
    rng g;
    lines l, o;
    rng_seed(&g, drawn);
    to->n = to->pos = 0;
    split_lines(from, &l);
    split_lines(other, &o);
    if (!l.body || l.n < 2 || !rng_below(&g, 12)) {
        if (from->n) change_bytes(&g, from, to);
        return;
    }
    bool crossed = o.body && !rng_below(&g, 3);
    put_head(&g, c, &l, crossed ? !rng_below(&g, 4) : rng_below(&g, 2), to);
    const lines *b = crossed ? &o : &l;
    size_t last = b->n - 1, lone = b->body + (last > b->body ? rng_below(&g, last - b->body) : 0);
    uint64_t how = rng_below(&g, 8);
    for (size_t i = b->body; i < last; i++) {
        if (i != lone || how == 0) {
            put_line(to, b, i);
        } else if (how == 1) { /* a line less */
        } else if (how == 2) { /* a line twice */
            put_line(to, b, i);
            put_line(to, b, i);
        } else if (how == 3 && i + 1 < last) { /* two lines change places */
            put_line(to, b, i + 1);
            put_line(to, b, i);
            i++;
        } else if (how == 4) {
            put_words_cut(&g, b, i, to);
        } else if (how == 5 && o.body && o.n - 1 > o.body) { /* a line of the other one */
            put_line(to, &o, o.body + rng_below(&g, o.n - 1 - o.body));
        } else {
            put_changed_line(&g, b, i, to);
        }
    }
    if (rng_below(&g, 10))
        put_end(to, from);
    else
        put_lines(to, b, last, b->n);
}
