/*
 * adapter_file.c - loads adapters (adapter_file.h).
 *
 * The file is looked for beside the program, where a build leaves it, and in ../lib/ratel and the
 * directory of installation.  Never in the working directory or where a variable says: what is
 * loaded runs as us.
 */
#include "driver/adapter_file.h"

#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include "config.h"

/* The directory of the program, with a slash at its end. */
static bool own_directory(char *to, size_t cap)
{
    ssize_t n = readlink("/proc/self/exe", to, cap - 1);
    if (n <= 0 || (size_t)n == cap - 1) return false;
    to[n] = 0;
    char *slash = strrchr(to, '/');
    if (!slash) return false;
    slash[1] = 0;
    return true;
}

/* Loads a file that is there; false: it is not there, or cannot be loaded, and then why. */
static bool load_file(const char *path, void **file, char *why, size_t cap)
{
    if (access(path, F_OK)) return false;
    *file = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!*file) snprintf(why, cap, "%s", dlerror());
    return *file;
}

bool adapter_path(const char *name, char *path, size_t cap)
{
    static const char *const places[] = {"", "../lib/ratel/"};
    char own[3072];
    bool known = own_directory(own, sizeof own);
    for (size_t i = 0; known && i < 2; i++) {
        snprintf(path, cap, "%s%sratel-%s.so", own, places[i], name);
        if (!access(path, R_OK)) return true;
    }
    snprintf(path, cap, "%s/ratel-%s.so", RATEL_ADAPTERS, name);
    return !access(path, R_OK);
}

const driver *adapter_file(const char *name, char *error)
{
    static const char *const places[] = {"", "../lib/ratel/"};
    char own[3072], path[4096], symbol[64], why[256] = "its file is not there";
    bool known = own_directory(own, sizeof own);
    void *file = NULL;
    for (size_t i = 0; known && !file && i < 2; i++) {
        snprintf(path, sizeof path, "%s%sratel-%s.so", own, places[i], name);
        load_file(path, &file, why, sizeof why);
    }
    snprintf(path, sizeof path, "%s/ratel-%s.so", RATEL_ADAPTERS, name);
    if (!file) load_file(path, &file, why, sizeof why);
    snprintf(symbol, sizeof symbol, "driver_%s", name);
    const driver *d = file ? dlsym(file, symbol) : NULL;
    if (!d) db_fail(error, "the %s adapter cannot be loaded: %s", name, why);
    return d;
}
