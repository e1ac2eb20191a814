/*
 * history_paths.c - check --recursive: the histories below a directory.
 *
 * A directory that is a history itself (some formats use one) is taken as it is.  Any other one
 * stands for the files in it and in the directories below it, in the order of their names.  Hidden
 * files and the generator's truth files are no histories; everything else must be one, so that a
 * damaged history is not passed over.  Symbolic links to directories are not followed, since they
 * may lead in circles.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"

static bool add_path(path_list *l, char *path)
{
    char **more = realloc(l->at, (l->n + 1) * sizeof *more);
    if (!more) {
        free(path);
        complain("out of memory");
        return false;
    }
    l->at = more;
    l->at[l->n++] = path;
    return true;
}

static char *join_path(const char *dir, const char *name)
{
    size_t n = strlen(dir), m = strlen(name);
    while (n > 1 && dir[n - 1] == '/') n--;
    char *path = malloc(n + m + 2);
    if (!path) {
        complain("out of memory");
        return NULL;
    }
    memcpy(path, dir, n);
    path[n] = '/';
    memcpy(path + n + 1, name, m + 1);
    return path;
}

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n >= m && !strcmp(name + n - m, end);
}

static int compare_names(const void *x, const void *y)
{
    return strcmp(*(char *const *)x, *(char *const *)y);
}

/* The entries of a directory, sorted; false after a complaint. */
static bool list_directory(const char *path, path_list *out)
{
    DIR *d = opendir(path);
    if (!d) {
        complain("%s: %s", path, strerror(errno));
        return false;
    }
    bool ok = true;
    for (const struct dirent *e; ok && (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.' || ends_in(e->d_name, ".truth.json")) continue;
        char *child = join_path(path, e->d_name);
        ok = child && add_path(out, child);
    }
    closedir(d);
    if (out->n) qsort(out->at, out->n, sizeof *out->at, compare_names);
    return ok;
}

static bool is_directory(const char *path)
{
    struct stat s;
    return !stat(path, &s) && S_ISDIR(s.st_mode);
}

static bool is_link(const char *path)
{
    struct stat s;
    return !lstat(path, &s) && S_ISLNK(s.st_mode);
}

/* Some formats use a directory: then it reads as a whole. */
static bool is_history(const args *a, const char *path)
{
    ratel_history *h;
    bool read = !read_history(a, path, &h);
    if (read) ratel_history_free(h);
    return read;
}

static bool walk_directory(const args *a, const char *path, path_list *out)
{
    path_list entries = {0};
    bool ok = list_directory(path, &entries);
    for (size_t i = 0; ok && i < entries.n; i++) {
        char *entry = entries.at[i];
        if (!is_directory(entry)) {
            entries.at[i] = NULL;
            ok = add_path(out, entry);
        } else if (!is_link(entry)) {
            if (is_history(a, entry)) {
                entries.at[i] = NULL;
                ok = add_path(out, entry);
            } else {
                ok = walk_directory(a, entry, out);
            }
        }
    }
    paths_free(&entries);
    return ok;
}

bool paths_below(const args *a, const char *path, path_list *out)
{
    if (!is_directory(path) || is_history(a, path)) {
        size_t n = strlen(path) + 1;
        char *copy = malloc(n);
        if (!copy) {
            complain("out of memory");
            return false;
        }
        memcpy(copy, path, n);
        return add_path(out, copy);
    }
    size_t before = out->n;
    if (!walk_directory(a, path, out)) return false;
    if (out->n == before) complain("%s: there is no file in this directory", path);
    return true;
}

void paths_free(path_list *l)
{
    for (size_t i = 0; i < l->n; i++) free(l->at[i]);
    free(l->at);
    *l = (path_list){0};
}
