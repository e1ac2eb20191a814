/*
 * levels_given.c - lists of levels on the command line: library names and `.iso` files.
 */
#include "cli/synth_cli.h"
#include "cli/timed_input.h"

#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "opt/level.h"

#define MOST_BYTES (1u << 20)

void complain_no_level(const char *name)
{
    const char *near = NULL, *instead = level_refused(name);
    if (instead)
        complain("level \"%s\" is refused: %s", name, instead);
    else if (ratel_level_named(name, &near) && near)
        complain("no level \"%s\"; did you mean %s? (ratel levels lists them)", name, near);
    else
        complain("no level \"%s\" (ratel levels lists them)", name);
}

bool levels_known(const char *list, bool keys, bool sql)
{
    for (const char *p = list; p && strcmp(list, "all") != 0;) {
        char name[256];
        size_t n = strcspn(p, ",");
        snprintf(name, sizeof name, "%.*s", (int)(n < 255 ? n : 255), p);
        if (keys && !is_level_file(name) && ratel_level_named(name, NULL)) {
            complain_no_level(name);
            return false;
        }
        if (sql && !audit_level_named(name)) {
            complain("logs of SQL are not audited at level \"%s\" (see ratel audit --help)", name);
            return false;
        }
        p = p[n] ? p + n + 1 : NULL;
    }
    return true;
}

synth *session_open(const args *a)
{
    double seconds = a->value[O_TIME] ? strtod(a->value[O_TIME], NULL) : 0;
    size_t mib = a->value[O_MEMORY] ? (size_t)strtoull(a->value[O_MEMORY], NULL, 10) : 0;
    return synth_open(seconds, mib << 20, &interrupt_flag);
}

/* my.iso or my.iso:NAME */
static const char *after_iso(const char *name)
{
    const char *p = strstr(name, ".iso");
    while (p && p[4] && p[4] != ':') p = strstr(p + 1, ".iso");
    return p ? p + 4 : NULL;
}

bool is_level_file(const char *name)
{
    return after_iso(name) != NULL;
}

char *read_level_file(const char *path, size_t *n, int *status)
{
    char *text = malloc(MOST_BYTES);
    *status = EXIT_UNDECIDED;
    if (!text) {
        complain("out of memory");
        return NULL;
    }
    FILE *f = timed_open(path);
    ptrdiff_t got = f ? timed_read_all(text, MOST_BYTES, f) : -1;
    *n = got < 0 ? 0 : (size_t)got;
    *status = EXIT_HOLDS;
    if (got < 0) {
        *status = timed_failure(path);
    } else if (*n == MOST_BYTES) {
        complain("%s: larger than 1 MiB", path);
        *status = EXIT_INPUT;
    }
    if (f) fclose(f);
    if (*status == EXIT_HOLDS) return text;
    free(text);
    return NULL;
}

int complain_about_level(const synth *s, const char *path, int code)
{
    uint64_t line, column;
    const char *why = synth_error(s, &line, &column);
    visible_to(stderr, path);
    if (line) fprintf(stderr, ":%llu:%llu", (unsigned long long)line, (unsigned long long)column);
    fputs(": ", stderr);
    visible_to(stderr, why);
    fputc('\n', stderr);
    return exit_of(code);
}

/* The path of my.iso:NAME, to be freed; NULL: out of memory, after a complaint. */
static char *path_of_level(const char *given)
{
    size_t n = (size_t)(after_iso(given) - given);
    char *path = malloc(n + 1);
    if (!path) {
        complain("out of memory");
        return NULL;
    }
    memcpy(path, given, n);
    path[n] = 0;
    return path;
}

char *level_text(const char *given, size_t *n, const char **name, int *status)
{
    *name = NULL;
    if (is_level_file(given)) {
        const char *end = after_iso(given);
        char *path = path_of_level(given), *text = NULL;
        *status = EXIT_UNDECIDED;
        if (path) text = read_level_file(path, n, status);
        if (*end) *name = end + 1;
        free(path);
        return text;
    }
    const char *known = synth_library_name(given, NULL), *key, *found = NULL;
    for (size_t i = 0; known && synth_library_at(i, &key, &found, NULL) && strcmp(key, known); i++)
        found = NULL;
    *n = found ? strlen(found) : 0;
    char *text = found ? malloc(*n + 1) : NULL;
    *status = EXIT_UNDECIDED;
    if (text)
        memcpy(text, found, *n + 1);
    else
        complain("the text of level \"%s\" is not available", given);
    return text;
}

static int level_of_file(synth *s, const char *given, int *status)
{
    const char *end = after_iso(given);
    size_t size;
    char *path = path_of_level(given);
    int level = -1;
    *status = EXIT_UNDECIDED;
    if (!path) return level;
    char *text = read_level_file(path, &size, status);
    if (text) {
        level = synth_level_read(s, path, *end ? end + 1 : NULL, text, size);
        if (level < 0) *status = complain_about_level(s, path, level);
    }
    free(path);
    free(text);
    return level;
}

int level_given(synth *s, const char *name, int *status)
{
    if (is_level_file(name)) return level_of_file(s, name, status);
    int level = synth_level_named(s, name);
    if (level >= 0) return level;
    *status = exit_of(level);
    if (level_refused(name))
        complain_no_level(name);
    else if (level == RATEL_EINVAL && !ratel_level_named(name, NULL))
        complain("level \"%s\" has no definition over whole transactions (ratel levels --define "
                 "lists those that do)",
                 name);
    else
        complain("%s (ratel levels --define lists them)", synth_error(s, NULL, NULL));
    return level;
}

int levels_given(synth *s, const char *text, const char *option, level_list *out)
{
    size_t most = 1;
    if (!text) return EXIT_HOLDS;
    for (const char *p = text; *p; p++) most += *p == ',';
    out->at = calloc(most, sizeof *out->at);
    out->name = calloc(most, sizeof *out->name);
    if (!out->at || !out->name) {
        complain("out of memory");
        return EXIT_UNDECIDED;
    }
    for (const char *p = text;;) {
        size_t n = strcspn(p, ",");
        char *name = malloc(n + 1);
        if (!name) {
            complain("out of memory");
            return EXIT_UNDECIDED;
        }
        memcpy(name, p, n);
        name[n] = 0;
        out->name[out->n] = name;
        if (!n) {
            out->n++;
            complain("%s: the name of a level is missing", option);
            return EXIT_USAGE;
        }
        int status = EXIT_USAGE, level = level_given(s, name, &status);
        out->at[out->n++] = level;
        if (level < 0) return status;
        if (!p[n]) return EXIT_HOLDS;
        p += n + 1;
    }
}

void levels_free(level_list *l)
{
    for (size_t i = 0; i < l->n; i++) free(l->name[i]);
    free(l->name);
    free(l->at);
    *l = (level_list){0};
}
