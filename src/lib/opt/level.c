/*
 * level.c - the records of levels.def by name and by list, and the lattice of implications.def.
 */
#include "opt/level.h"

#include <assert.h>
#include <string.h>

static const level_info table[LEVEL_RECORDS] = {
#define REFUSED_NAME(name, instead)
#define LEVEL(id, ...) [LEVEL_##id] = {__VA_ARGS__},
#define LOG_LEVEL LEVEL
#include "opt/levels.def"
#undef LEVEL
#undef LOG_LEVEL
};

/* As levels.def has them: weakest first, the levels of logs among the others. */
static const enum level_id weakest_first[] = {
#define LEVEL(id, ...) LEVEL_##id,
#define LOG_LEVEL LEVEL
#include "opt/levels.def"
#undef LEVEL
#undef LOG_LEVEL
#undef REFUSED_NAME
};

static const struct {
    const char *name, *instead;
} refused[] = {
#define LEVEL(id, ...)
#define LOG_LEVEL(id, ...)
#define REFUSED_NAME(name, instead) {name, instead},
#include "opt/levels.def"
#undef LEVEL
#undef LOG_LEVEL
#undef REFUSED_NAME
};

const char *ryow_name(enum ryow policy)
{
    static const char *const names[] = {
#define RYOW(id, name) name,
#include "opt/ryow.def"
#undef RYOW
    };
    return names[policy];
}

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

static bool record_named(const level_info *l, const char *name)
{
    return equal(name, strlen(name), l->name) || has_alias(l->aliases, name);
}

static bool base_named(level_ref *out, const char *name)
{
    for (size_t i = 0; i < LEVELS; i++) {
        if (!record_named(&table[i], name)) continue;
        out->id = (enum level_id)i;
        out->so = table[i].session_order;
        out->realtime = false;
        return true;
    }
    return false;
}

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
    for (size_t i = 0; i < LEVELS; i++)
        if (table[i].adya && has_alias(table[i].adya, name)) {
            out->id = (enum level_id)i;
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

const char *level_refused(const char *name)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (equal(name, strlen(name), refused[i].name)) return refused[i].instead;
    return NULL;
}

/* --- lists ------------------------------------------------------------------------------------ */

bool level_in_turn(enum level_id *out, enum level_turn list, size_t i)
{
    for (size_t k = 0; k < LEVELS; k++)
        if (table[k].turn[list] == i + 1) {
            *out = (enum level_id)k;
            return true;
        }
    return false;
}

enum level_id level_with_test(enum weak_level test)
{
    size_t k = 0;
    while (k < LEVELS - 1 && table[k].weak != test) k++;
    assert(table[k].weak == test && test != WEAK_NONE);
    return (enum level_id)k;
}

const level_info *level_of_logs(size_t i)
{
    for (size_t k = LEVEL_RECORDS; k-- > 0;) {
        const level_info *l = &table[weakest_first[k]];
        if (l->log.reads != LOG_NONE && i-- == 0) return l;
    }
    return NULL;
}

const level_info *level_of_logs_named(const char *name)
{
    const level_info *l;
    for (size_t i = 0; (l = level_of_logs(i)) != NULL; i++)
        if (record_named(l, name)) return l;
    return NULL;
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
    if (table[id].session_order == LEVEL_ALWAYS) return FORM_ON;
    if (table[id].session_order == LEVEL_NEVER) return FORM_OFF;
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
                if (reached[i][f] && !reached[i][f - 1] && table[i].session_order == LEVEL_OPTION)
                    reached[i][f - 1] = moved = true;
        for (size_t i = 0; i < sizeof implications / sizeof *implications; i++)
            if (reached[implications[i].from][implications[i].from_form] &&
                !reached[implications[i].to][implications[i].to_form])
                reached[implications[i].to][implications[i].to_form] = moved = true;
    }
    return reached[b][fb];
}
