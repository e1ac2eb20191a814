/*
 * iso_library.c - the definitions of levels that come with the program, by name.
 */
#include <stdio.h>
#include <string.h>

#include "iso/iso.h"

static const struct {
    const char *name, *builtin, *aliases;
} entries[] = {
#define LIBRARY(name, builtin, aliases) {name, builtin, aliases},
#define UNWRITTEN(name, aliases, why)
#include "iso/iso_library.def"
#undef UNWRITTEN
#undef LIBRARY
};
#define N_ENTRIES (sizeof entries / sizeof *entries)

static const struct {
    const char *name, *aliases, *why;
} unwritten[] = {
#define LIBRARY(name, builtin, aliases)
#define UNWRITTEN(name, aliases, why) {name, aliases, why},
#include "iso/iso_library.def"
#undef UNWRITTEN
#undef LIBRARY
};
#define N_UNWRITTEN (sizeof unwritten / sizeof *unwritten)

static const struct {
    const char *name, *text;
} texts[] = {
#define TEXT(name, text) {name, text},
#include "iso/iso_texts.inc"
#undef TEXT
};

bool iso_library_at(size_t i, const char **name, const char **text, const char **builtin)
{
    if (i >= N_ENTRIES) return false;
    if (name) *name = entries[i].name;
    if (builtin) *builtin = entries[i].builtin;
    for (size_t k = 0; text && k < sizeof texts / sizeof *texts; k++)
        if (!strcmp(texts[k].name, entries[i].name)) *text = texts[k].text;
    return true;
}

static bool has_alias(const char *list, const char *name)
{
    size_t n = strlen(name);
    while (*list) {
        size_t k = strcspn(list, ",");
        if (k == n && !memcmp(list, name, n)) return true;
        list += k + (list[k] == ',');
    }
    return false;
}

/* Small letters and dashes; false: longer than any name is. */
static bool plain_name(char name[80], const char *given)
{
    size_t n = 0;
    for (; given[n] && n + 1 < 80; n++)
        name[n] = (char)(given[n] >= 'A' && given[n] <= 'Z' ? given[n] - 'A' + 'a'
                         : given[n] == '_'                  ? '-'
                                                            : given[n]);
    name[n] = 0;
    return !given[n];
}

const char *iso_unwritten(const char *given)
{
    char name[80];
    if (!plain_name(name, given)) return NULL;
    for (size_t i = 0; i < N_UNWRITTEN; i++)
        if (!strcmp(unwritten[i].name, name) || has_alias(unwritten[i].aliases, name))
            return unwritten[i].why;
    return NULL;
}

const char *iso_library_name(const char *given, const char **near)
{
    char name[80];
    bool whole = plain_name(name, given);
    const char *known[N_ENTRIES];
    for (size_t i = 0; i < N_ENTRIES; i++) {
        known[i] = entries[i].name;
        if (whole && (!strcmp(known[i], name) || has_alias(entries[i].aliases, name)))
            return known[i];
    }
    if (!near) return NULL;
    *near = iso_near(name, known, N_ENTRIES);
    for (size_t i = 0; i < N_ENTRIES && !*near; i++)
        for (const char *p = entries[i].aliases; *p && !*near;) {
            char alias[80];
            size_t k = strcspn(p, ",");
            snprintf(alias, sizeof alias, "%.*s", (int)k, p);
            const char *one = alias;
            if (iso_near(name, &one, 1)) *near = known[i];
            p += k + (p[k] == ',');
        }
    return NULL;
}
