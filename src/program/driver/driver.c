/*
 * driver.c - finds the adapter of a URL; see driver.h.
 */
#include "driver/driver.h"

#include <stdio.h>

#include "config.h"
#include "driver/adapters.h"

static const struct {
    const char *name, *package;
    const driver *driver;
} adapters[] = {
#ifdef HAVE_SQLITE
    {"sqlite", "libsqlite3-dev", &driver_sqlite},
#else
    {"sqlite", "libsqlite3-dev", NULL},
#endif
#ifdef HAVE_POSTGRES
    {"postgres", "libpq-dev", &driver_postgres},
#else
    {"postgres", "libpq-dev", NULL},
#endif
#ifdef HAVE_MARIADB
    {"mariadb", "libmariadb-dev", &driver_mariadb},
#else
    {"mariadb", "libmariadb-dev", NULL},
#endif
    {"faulty", "", &driver_faulty},
};
#define ADAPTERS (sizeof adapters / sizeof *adapters)

/* Also of adapters that are not there, so that their absence can be told by name. */
static const struct {
    const char *scheme;
    size_t adapter;
} schemes[] = {
    {"sqlite", 0}, {"postgres", 1}, {"postgresql", 1}, {"mariadb", 2}, {"mysql", 2}, {"faulty", 3},
};

/* Names of levels that products do not use, and ours in short. */
static const char *const synonyms[][2] = {
    {"ser", "serializable"},  {"si", "snapshot-isolation"}, {"rr", "repeatable-read"},
    {"rc", "read-committed"}, {"ru", "read-uncommitted"},
};

static const contract contracts[] = {
#define CONTRACT(driver, isolation, level, deleted, implied, so, ryow, source, read)               \
    {driver, isolation, level, deleted, implied, so, ryow, source, read},
#include "driver/contracts.def"
#undef CONTRACT
};

void db_fail(char *to, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(to, DB_ERROR, format, ap);
    va_end(ap);
    size_t n = strlen(to);
    while (n && (to[n - 1] == '\n' || to[n - 1] == ' ')) to[--n] = 0;
    for (char *p = to; *p; p++)
        if (*p == '\n' || *p == '\t') *p = ' ';
}

const char *driver_at(size_t i, bool *there)
{
    if (i >= ADAPTERS - 1) return NULL; /* the faulty one is for tests */
    *there = adapters[i].driver != NULL;
    return adapters[i].name;
}

const contract *contract_at(size_t i)
{
    return i < sizeof contracts / sizeof *contracts ? &contracts[i] : NULL;
}

const contract *contract_of(const db *d)
{
    const char *name = d->driver == &driver_faulty ? driver_faulty_inner(d)->name : d->driver->name;
    for (size_t i = 0; i < sizeof contracts / sizeof *contracts; i++)
        if (!strcmp(contracts[i].driver, name) && !strcmp(contracts[i].isolation, d->isolation))
            return &contracts[i];
    return NULL;
}

bool db_parameter(const db *d, const char *name, char *value, size_t cap)
{
    size_t len = strlen(name);
    const char *p = strchr(d->address, '?');
    while (p) {
        p++;
        size_t n = strcspn(p, "&");
        if (n > len && !strncmp(p, name, len) && p[len] == '=') {
            snprintf(value, cap, "%.*s", (int)(n - len - 1), p + len + 1);
            return true;
        }
        p = strchr(p, '&');
    }
    return false;
}

/* The word of a list that equals the name. */
static const char *listed(const char *list, const char *name, mem *m)
{
    size_t n = strlen(name);
    for (const char *p = list; *p;) {
        size_t len = strcspn(p, " ");
        if (len == n && !strncmp(p, name, n)) {
            char *copy = mem_get(m, n + 1);
            memcpy(copy, name, n + 1);
            return copy;
        }
        p += len;
        p += strspn(p, " ");
    }
    return NULL;
}

bool db_isolation(db *d, const char *isolation)
{
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        if (!strcmp(synonyms[i][0], isolation)) isolation = synonyms[i][1];
    d->isolation = listed(d->driver->isolations, isolation, d->mem);
    /* PostgreSQL's snapshot isolation is called repeatable read. */
    if (!d->isolation && !strcmp(isolation, "snapshot-isolation") &&
        !strcmp(d->driver->name, "postgres"))
        d->isolation = "repeatable-read";
    if (!d->isolation)
        db_fail(d->error, "%s has no isolation level %.60s; it has: %s", d->driver->name, isolation,
                d->driver->isolations);
    return d->isolation != NULL;
}

const driver *driver_of(const char *url, char *error, size_t *rest)
{
    size_t n = strcspn(url, ":");
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        if (strlen(schemes[i].scheme) != n || strncmp(schemes[i].scheme, url, n) || !url[n])
            continue;
        size_t a = schemes[i].adapter;
        *rest = n + 1;
        if (!adapters[a].driver)
            db_fail(error, "this build has no %s adapter (it needs %s)", adapters[a].name,
                    adapters[a].package);
        return adapters[a].driver;
    }
    db_fail(
        error,
        "\"%.60s\" is not a database URL; expected sqlite:FILE, postgres://..., mysql://..., or "
        "postgres:temp, mariadb:temp",
        url);
    return NULL;
}

bool db_open(db *d, mem *m, const char *url, const char *isolation)
{
    memset(d, 0, sizeof *d);
    d->mem = m;
    size_t rest = 0;
    d->misuse = true;
    d->driver = driver_of(url, d->error, &rest);
    if (!d->driver) return false;
    if (strlen(url) >= 1000) {
        db_fail(d->error, "the URL is too long");
        return false;
    }
    memcpy(d->address, url + rest, strlen(url + rest) + 1);
    if (d->driver != &driver_faulty && !db_isolation(d, isolation)) return false;
    if (d->driver == &driver_faulty) d->isolation = isolation;
    d->misuse = false;
    if (d->driver->open(d)) return true;
    db_close(d);
    return false;
}

void db_close(db *d)
{
    if (d->driver && d->driver->close) d->driver->close(d);
    if (d->temp.running) temp_stop(&d->temp);
    d->driver = NULL;
}
