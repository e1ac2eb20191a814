/*
 * level.c - parsing level names, and the lattice of implications.def.
 */
#include "opt/level.h"

#include <string.h>

static const level_info table[] = {
#define LEVEL(id, name, aliases, so, decided, about, how)                                          \
    {name, aliases, LEVEL_##so, decided, about, how},
#include "opt/levels.def"
#undef LEVEL
};

const level_info *level_at(size_t i)
{
    return i < LEVELS ? &table[i] : NULL;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c == '_' || c == ' ' ? '-' : c;
}

static bool equal(const char *a, size_t n, const char *b)
{
    for (size_t i = 0; i < n; i++)
        if (!b[i] || lower(a[i]) != b[i]) return false;
    return !b[n];
}

static bool has_alias(const char *aliases, const char *name)
{
    while (*aliases) {
        size_t n = strcspn(aliases, ",");
        if (strlen(name) == n) {
            size_t i = 0;
            while (i < n && lower(name[i]) == aliases[i]) i++;
            if (i == n) return true;
        }
        aliases += n + (aliases[n] == ',');
    }
    return false;
}

static bool base_named(level_ref *out, const char *name)
{
    for (size_t i = 0; i < LEVELS; i++) {
        if (!equal(name, strlen(name), table[i].name) && !has_alias(table[i].aliases, name))
            continue;
        out->id = (enum level_id)i;
        out->so = table[i].so;
        out->realtime = false;
        return true;
    }
    return false;
}

/* Adya's names: the level without session order. */
static const struct {
    const char *name;
    enum level_id id;
} adya[] = {
    {"pl-1", LEVEL_RU},  {"pl-2", LEVEL_RC},    {"pl-cs", LEVEL_CS}, {"pl-2l", LEVEL_MV},
    {"pl-2+", LEVEL_CV}, {"pl-2.99", LEVEL_RR}, {"pl-3u", LEVEL_US}, {"pl-si", LEVEL_SI},
    {"pl-3", LEVEL_SER}, {"adya-si", LEVEL_SI},
};

static void set_name(level_ref *out, const char *prefix)
{
    size_t n = strlen(prefix), m = strlen(table[out->id].name);
    memcpy(out->name, prefix, n);
    memcpy(out->name + n, table[out->id].name, m + 1);
}

static bool starts(const char *name, const char *prefix)
{
    size_t n = strlen(prefix);
    return strlen(name) > n && equal(name, n, prefix);
}

bool level_named(level_ref *out, const char *name)
{
    static const char session[] = "strong-session-", rt[] = "realtime-";
    memset(out, 0, sizeof *out);
    if (strlen(name) > 60) return false;
    for (size_t i = 0; i < sizeof adya / sizeof *adya; i++)
        if (equal(name, strlen(name), adya[i].name)) {
            out->id = adya[i].id;
            out->so = LEVEL_NEVER;
            set_name(out, "");
            return true;
        }
    if (base_named(out, name)) {
        set_name(out, "");
        return true;
    }
    if (starts(name, session) && base_named(out, name + sizeof session - 1) &&
        out->so == LEVEL_OPTION) {
        out->so = LEVEL_ALWAYS;
        set_name(out, session);
        return true;
    }
    if (starts(name, rt) && base_named(out, name + sizeof rt - 1) && out->so == LEVEL_OPTION) {
        out->so = LEVEL_ALWAYS;
        out->realtime = true;
        set_name(out, rt);
        return true;
    }
    return false;
}

/* Edit distance with a small table; names are short. */
static size_t distance(const char *a, const char *b)
{
    size_t row[64], n = strlen(b);
    if (n >= 64) return 99;
    for (size_t j = 0; j <= n; j++) row[j] = j;
    for (size_t i = 1; *a; a++, i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t best = diagonal + (lower(*a) != b[j - 1]);
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[n];
}

const char *level_near(const char *name)
{
    size_t best = 4;
    const char *found = NULL;
    for (size_t i = 0; i < LEVELS && strlen(name) < 64; i++) {
        size_t d = distance(name, table[i].name);
        if (d < best) {
            best = d;
            found = table[i].name;
        }
    }
    return found;
}

/* --- the lattice ------------------------------------------------------------------------------ */

enum form { FORM_OFF, FORM_ON, FORM_RT, FORMS };

static const struct {
    unsigned char from, from_form, to, to_form;
} implications[] = {
#define IMPLIES(a, fa, b, fb) {LEVEL_##a, FORM_##fa, LEVEL_##b, FORM_##fb},
#include "opt/implications.def"
#undef IMPLIES
};

static enum form form_of(enum level_id id, bool so, bool rt)
{
    if (rt) return FORM_RT;
    if (table[id].so == LEVEL_ALWAYS) return FORM_ON;
    if (table[id].so == LEVEL_NEVER) return FORM_OFF;
    return so ? FORM_ON : FORM_OFF;
}

bool level_implies(enum level_id a, bool so_a, bool rt_a, enum level_id b, bool so_b, bool rt_b)
{
    bool reached[LEVELS][FORMS] = {{false}};
    enum form fa = form_of(a, so_a, rt_a), fb = form_of(b, so_b, rt_b);
    reached[a][fa] = true;
    /* A real-time level is the one with session order and more. */
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t i = 0; i < LEVELS; i++)
            for (int f = FORM_RT; f > FORM_OFF; f--)
                if (reached[i][f] && !reached[i][f - 1] && table[i].so == LEVEL_OPTION)
                    reached[i][f - 1] = moved = true;
        for (size_t i = 0; i < sizeof implications / sizeof *implications; i++)
            if (reached[implications[i].from][implications[i].from_form] &&
                !reached[implications[i].to][implications[i].to_form])
                reached[implications[i].to][implications[i].to_form] = moved = true;
    }
    return reached[b][fb];
}
