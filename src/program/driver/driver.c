/*
 * driver.c - finds the adapter of a URL; see driver.h.
 */
#include "driver/engine_server.h"
#include "driver/driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "base/clock.h"
#include "config.h"
#include "driver/adapter_file.h"
#include "driver/adapters.h"

static const struct {
    const char *name, *package;
    const driver *driver; /* NULL: it is not there, or is loaded when somebody asks for it */
    bool loaded;          /* a file of its own, since its library is large (adapter_file.h) */
} adapters[] = {
#ifdef HAVE_SQLITE
    {"sqlite", "libsqlite3-dev", &driver_sqlite, false},
#else
    {"sqlite", "libsqlite3-dev", NULL, false},
#endif
#ifdef HAVE_POSTGRES
    {"postgres", "libpq-dev", &driver_postgres, false},
#else
    {"postgres", "libpq-dev", NULL, false},
#endif
#ifdef HAVE_MARIADB
    {"mariadb", "libmariadb-dev", &driver_mariadb, false},
#else
    {"mariadb", "libmariadb-dev", NULL, false},
#endif
    {"exec", "", &driver_exec, false},
#ifdef HAVE_REDIS
    {"redis", "libhiredis-dev", &driver_redis, false},
#else
    {"redis", "libhiredis-dev", NULL, false},
#endif
#ifdef HAVE_LMDB
    {"lmdb", "liblmdb-dev", &driver_lmdb, false},
#else
    {"lmdb", "liblmdb-dev", NULL, false},
#endif
#ifdef HAVE_ROCKSDB
    {"rocksdb", "librocksdb-dev and a C++ compiler", NULL, true},
#else
    {"rocksdb", "librocksdb-dev and a C++ compiler", NULL, false},
#endif
#ifdef HAVE_BDB
    {"bdb", "libdb5.3-dev", &driver_bdb, false},
#else
    {"bdb", "libdb5.3-dev", NULL, false},
#endif
#ifdef HAVE_ETCD
    {"etcd", "libcurl4-openssl-dev", NULL, true},
#else
    {"etcd", "libcurl4-openssl-dev", NULL, false},
#endif
    {"faulty", "", &driver_faulty, false},
};
#define ADAPTERS (sizeof adapters / sizeof *adapters)

/* Also of adapters that are not there, so that their absence can be told by name. */
static const struct {
    const char *scheme;
    size_t adapter;
} schemes[] = {
    {"sqlite", 0}, {"postgres", 1}, {"postgresql", 1}, {"mariadb", 2}, {"mysql", 2},
    {"galera", 2}, {"exec", 3},     {"redis", 4},      {"lmdb", 5},    {"rocksdb", 6},
    {"bdb", 7},    {"etcd", 8},     {"faulty", 9},
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

bool db_add_node(db *d, const char *p, size_t n, const char *default_port)
{
    if (d->nodes == DB_NODES) {
        db_fail(d->error, "a cluster has at most %d nodes", DB_NODES);
        return false;
    }
    const char *colon = memchr(p, ':', n);
    size_t host = colon ? (size_t)(colon - p) : n;
    db_node *to = &d->node[d->nodes++];
    snprintf(to->host, sizeof to->host, "%.*s", (int)host, p);
    snprintf(to->port, sizeof to->port, "%.*s", colon ? (int)(n - host - 1) : 5,
             colon ? colon + 1 : default_port);
    return true;
}

const char *driver_at(size_t i, bool *there)
{
    if (i >= ADAPTERS - 1) return NULL; /* the faulty one is for tests */
    *there = adapters[i].driver || adapters[i].loaded;
    return adapters[i].name;
}

const contract *contract_at(size_t i)
{
    return i < sizeof contracts / sizeof *contracts ? &contracts[i] : NULL;
}

const db *db_inner(const db *d)
{
    return d->driver == &driver_faulty ? driver_faulty_inner(d) : d;
}

const contract *contract_of(const db *d)
{
    d = db_inner(d);
    if (d->driver->contract) return d->driver->contract(d);
    const char *name = *d->form ? d->form : d->driver->name;
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

static int hex_of(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void decode(const char *from, size_t n, char *to, size_t cap)
{
    size_t at = 0;
    for (size_t i = 0; i < n && at + 1 < cap; i++) {
        int high = i + 2 < n && from[i] == '%' ? hex_of(from[i + 1]) : -1;
        int low = high >= 0 ? hex_of(from[i + 2]) : -1;
        if (low >= 0) i += 2;
        to[at++] = low >= 0 ? (char)(high * 16 + low) : from[i];
    }
    to[at] = 0;
}

bool db_parameter_at(const db *d, const char *name, uint32_t i, char *value, size_t cap)
{
    size_t len = strlen(name);
    for (const char *p = strchr(d->address, '?'); p; p = strchr(p, '&')) {
        p++;
        size_t n = strcspn(p, "&");
        if (n <= len || strncmp(p, name, len) || p[len] != '=' || i--) continue;
        decode(p + len + 1, n - len - 1, value, cap);
        return true;
    }
    return false;
}

bool db_parameter_number(db *d, const char *name, uint32_t low, uint32_t high, uint32_t usual,
                         uint32_t *out)
{
    char text[32], *end;
    *out = usual;
    if (!db_parameter(d, name, text, sizeof text)) return true;
    unsigned long v = strtoul(text, &end, 10);
    *out = (uint32_t)v;
    if (*text >= '0' && *text <= '9' && !*end && v >= low && v <= high) return true;
    d->misuse = true;
    db_fail(d->error, "the parameter %s of the URL is a number from %u to %u", name, low, high);
    return false;
}

bool db_temporary(const db *d, char *form, size_t cap)
{
    const char *p = d->address;
    if (strncmp(p, "temp", 4) != 0 || !strchr("+?", p[4])) return false;
    p += 4;
    snprintf(form, cap, "%.*s", *p == '+' ? (int)strcspn(p + 1, "?") : 0, *p ? p + 1 : p);
    return true;
}

bool db_argument(db *d, const char **arguments, const char *format, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    bool fits = n > 0 && n < 380;
    if (fits) {
        char *copy = mem_get(d->mem, (size_t)n + 1);
        memcpy(copy, text, (size_t)n + 1);
        fits = temp_argument(arguments, copy);
    }
    if (!fits) db_fail(d->error, "too many or too long settings for the server");
    return fits;
}

bool db_programs(db *d, temp_spec *s)
{
    char bin[256];
    if (!db_parameter_at(d, "bin", 0, bin, sizeof bin)) return true;
    if (*bin != '/') {
        d->misuse = true;
        db_fail(d->error, "bin=DIR in the URL is an absolute path, not \"%.100s\"", bin);
        return false;
    }
    char *copy = mem_get(d->mem, strlen(bin) + 1);
    memcpy(copy, bin, strlen(bin) + 1);
    s->path = copy;
    s->only_path = true;
    return true;
}

bool db_server_settings(db *d, const char **arguments, const char *before, const char *format)
{
    char text[256], safe[512];
    for (uint32_t i = 0; db_parameter_at(d, "set", i, text, sizeof text); i++) {
        char *colon = strchr(text, ':');
        size_t n = 0;
        if (!colon || colon == text ||
            strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST"
                         "UVWXYZ0123456789_.-") != (size_t)(colon - text)) {
            d->misuse = true;
            db_fail(d->error,
                    "set=NAME:VALUE in the URL is a setting of the server, not \"%.100s\"", text);
            return false;
        }
        *colon = 0;
        for (const char *p = colon + 1; *p; p++) { /* a percent sign stands for itself */
            if (*p == '%') safe[n++] = '%';
            safe[n++] = *p;
        }
        safe[n] = 0;
        if (before && !db_argument(d, arguments, "%s", before)) return false;
        char whole[600];
        snprintf(whole, sizeof whole, format, text, safe);
        if (!db_argument(d, arguments, "%s", whole)) return false;
    }
    return true;
}

/* --- what faults need ------------------------------------------------------------------------- */

bool db_link(db *d, temp_spec *s, unsigned node, bool servers, const char *listen,
             const char *target)
{
    if (!(d->wants & DB_LINKS)) return true;
    if (s->links == LINKS_MOST) {
        db_fail(d->error, "too many connections for the proxy");
        return false;
    }
    link_spec *l = &s->link[s->links++];
    *l = (link_spec){.node = (uint8_t)node, .servers = servers};
    snprintf(l->listen, sizeof l->listen, "%s", listen);
    snprintf(l->target, sizeof l->target, "%s", target);
    d->has |= servers ? DB_SERVER_LINKS : DB_LINKS;
    return true;
}

bool db_preload(db *d, temp_spec *s)
{
    char path[4096];
    if (!(d->wants & DB_PRELOAD)) return true;
    if (!adapter_path("preload", path, sizeof path)) {
        db_fail(d->error, "ratel-preload.so, which makes faults of disk and clock, is not there");
        return false;
    }
    char *copy = mem_get(d->mem, strlen(path) + 1);
    memcpy(copy, path, strlen(path) + 1);
    s->preload = copy;
    d->has |= d->wants & (DB_PRELOAD | DB_FSYNC);
    return true;
}

enum db_answer db_disk_full(const db *d, bool commit)
{
    if (commit) return DB_LOST;
    return d->has & DB_PRELOAD ? DB_REFUSED : DB_BROKEN;
}

/* --- the nodes of a cluster ------------------------------------------------------------------- */

bool db_pin(db *d)
{
    char text[DB_PIN + 1];
    bool given = db_parameter(d, "pin", text, sizeof text);
    size_t n = given ? strlen(text) : d->nodes;
    for (size_t i = 0; !given && i < n; i++) text[i] = (char)('a' + i);
    text[n] = 0;
    for (size_t i = 0; i < n; i++)
        if (text[i] < 'a' || text[i] >= 'a' + (int)d->nodes) n = 0;
    if (n && n < DB_PIN) {
        memcpy(d->pin, text, n + 1);
        return true;
    }
    d->misuse = true;
    db_fail(d->error,
            "pin=... in the URL is the nodes of the sessions in turn, such as aab; the "
            "nodes are a to %c",
            (char)('a' + d->nodes - 1));
    return false;
}

uint32_t db_node_of(const db *d, uint32_t slot)
{
    size_t n = strlen(d->pin);
    return n ? (uint32_t)(d->pin[slot % n] - 'a') : 0;
}

uint32_t db_ordinal(const db *d, uint32_t slot)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < slot; i++) n += db_node_of(d, i) == db_node_of(d, slot);
    return n;
}

uint32_t db_primary(const db *d)
{
    for (uint32_t i = 0; i < d->nodes; i++)
        if (!atomic_load(&d->node[i].read_only) && !atomic_load(&d->node[i].gone)) return i;
    return 0;
}

bool db_parameters_known(db *d, const char *const *names)
{
    for (const char *p = strchr(d->address, '?'); p; p = strchr(p, '&')) {
        p++;
        size_t n = strcspn(p, "=&"), i = 0;
        while (names[i] && (strlen(names[i]) != n || strncmp(names[i], p, n) != 0)) i++;
        if (names[i] && p[n] == '=') continue;
        d->misuse = true;
        db_fail(d->error,
                names[i] ? "the parameter \"%.*s\" of the URL has no value"
                         : "the URL has an unknown parameter \"%.*s\"",
                (int)n, p);
        return false;
    }
    return true;
}

void db_setting(db *d, const char *name, const char *value)
{
    if (!value) return; /* the library had no memory for it */
    size_t n = strlen(d->settings), more = strlen(name) + strlen(value) + 8;
    if (n + more >= sizeof d->settings || strpbrk(value, "\"\\\n\t")) return;
    snprintf(d->settings + n, sizeof d->settings - n, "%s\"%s\":\"%s\"", n ? "," : "", name, value);
}

/* --- passwords -------------------------------------------------------------------------------- */

/* Of databases that are files or programs, the address is shown: it has no password of ours. */
static bool of_files(const char *url)
{
    static const char *const kinds[] = {"sqlite:", "lmdb:", "rocksdb:", "bdb:", "exec:"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strncmp(url, kinds[i], strlen(kinds[i]))) return true;
    return false;
}

/* Where a password may begin that ends before the last @, or NULL.  An address without "//" is a
   mistake, and what stands in it may be a password all the same. */
static const char *authority_secret(const char *url, const char **end)
{
    const char *authority = strstr(url, "//");
    if (!authority && of_files(url)) return NULL;
    if (!authority) authority = url;
    *end = strrchr(authority, '@');
    if (!*end) return NULL;
    for (const char *p = authority; p < *end; p++) {
        if (*p == ':') return p + 1;
        if (!strncasecmp(p, "%3a", 3)) return p + 3;
    }
    return NULL;
}

#define DIVIDE "/?#@:"

/* The length of a password that begins at this place of the URL, or 0.  Whatever may be one counts:
   from the first colon of an authority to its last @, the parts of that between characters at which
   a library may divide it, and the values of parameters. */
static size_t secret_at(const char *url, const char *at, bool in_parts)
{
    static const char *const names[] = {
        "password=", "passwd=", "pwd=", "pass=", "auth=", "secret=", "token="};
    const char *end, *secret = authority_secret(url, &end);
    if (secret && at == secret && !in_parts) return (size_t)(end - at);
    if (secret && at >= secret && at < end && in_parts &&
        (at == secret || strchr(DIVIDE, at[-1]))) {
        size_t part = strcspn(at, DIVIDE);
        return part > 1 ? part : 0;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i]);
        if ((size_t)(at - url) < n || strncasecmp(at - n, names[i], n) != 0) continue;
        if (*at != '\'') return strcspn(at, "& ");
        size_t quoted = 1; /* "host=h password='two words'", in which a backslash escapes */
        while (at[quoted] && at[quoted] != '\'')
            quoted += at[quoted] == '\\' && at[quoted + 1] ? 2 : 1;
        return quoted + (at[quoted] == '\'');
    }
    return 0;
}

void db_hide(const char *url, const char *text, char *to, size_t cap)
{
    size_t n = 0;
    while (*text && n + 4 < cap) {
        size_t longest = 0;
        for (const char *at = url; *at; at++) {
            for (int parts = 0; parts < 2; parts++) {
                size_t len = secret_at(url, at, parts);
                if (len > longest && !strncmp(text, at, len)) longest = len;
            }
        }
        if (longest) {
            memcpy(to + n, "***", 3);
            n += 3;
            text += longest;
        } else {
            to[n++] = *text++;
        }
    }
    to[n] = 0;
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

/* --- mixtures --------------------------------------------------------------------------------- */

/* What transactions of an isolation are held to in a mixture, by our names; NULL: there is no rule.
   PostgreSQL's read uncommitted is its read committed, and its repeatable read a snapshot. */
static const char *mixed_level(const driver *d, const char *isolation)
{
    static const char *const rows[][3] = {
        {"postgres", "serializable", "ser"},   {"postgres", "repeatable-read", "si"},
        {"postgres", "read-committed", "rc"},  {"postgres", "read-uncommitted", "rc"},
        {"mariadb", "serializable", "ser"},    {"mariadb", "read-committed", "rc"},
        {"mariadb", "read-uncommitted", "ru"}, {"sqlite", "serializable", "ser"},
        {"sqlite", "read-uncommitted", "ru"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i][0], d->name) && !strcmp(rows[i][1], isolation)) return rows[i][2];
    return NULL;
}

static bool one_isolation(db *d, const char *isolation);

/* NAME[:SHARE]; parts without a share have the same. */
static bool mixed_part(db *d, const char *text, size_t n, double *share)
{
    char word[80], *end;
    if (d->parts == DB_MIXED) {
        db_fail(d->error, "a mixture has at most %d levels", DB_MIXED);
        return false;
    }
    if (n >= sizeof word) {
        db_fail(d->error, "%s has no isolation level of %zu characters", d->driver->name, n);
        return false;
    }
    memcpy(word, text, n);
    word[n] = 0;
    char *colon = strchr(word, ':');
    *share = 1;
    if (colon) {
        *colon = 0;
        *share = strtod(colon + 1, &end);
        if (end == colon + 1 || *end || !(*share > 0 && *share < 1e6)) {
            db_fail(d->error, "\"%s\" is not a share of transactions, such as 0.5", colon + 1);
            return false;
        }
    }
    if (!one_isolation(d, word)) return false;
    for (uint32_t i = 0; i < d->parts; i++)
        if (!strcmp(d->part[i].isolation, d->isolation)) {
            db_fail(d->error, "%s is named twice in the mixture", d->isolation);
            return false;
        }
    db_part *p = &d->part[d->parts++];
    p->isolation = d->isolation;
    p->level = mixed_level(d->driver, d->isolation);
    if (!p->level)
        db_fail(d->error,
                "a mixture cannot contain %s of %s: what a run with it must keep is not defined",
                d->isolation, d->driver->name);
    return p->level != NULL;
}

static bool mixed_isolation(db *d, const char *text)
{
    double share[DB_MIXED], all = 0, sum = 0;
    for (const char *p = text;; p++) {
        size_t n = strcspn(p, ",");
        double given;
        if (!mixed_part(d, p, n, &given)) return false;
        share[d->parts - 1] = given;
        all += given;
        p += n;
        if (!*p) break;
    }
    for (uint32_t i = 0; i < d->parts; i++) {
        sum += share[i];
        d->part[i].share = i + 1 == d->parts ? DB_SHARES : (uint64_t)(sum / all * DB_SHARES);
    }
    d->isolation = "mixed";
    return true;
}

const db_part *db_draw(const db *d, uint64_t drawn)
{
    uint32_t i = 0;
    while (i + 1 < d->parts && drawn >= d->part[i].share) i++;
    return &d->part[i];
}

const char *driver_isolations(const char *url)
{
    char error[DB_ERROR];
    size_t rest;
    const driver *d = driver_of(url, error, &rest);
    return d ? d->isolations : NULL;
}

bool db_asks_for(const db *d, const char *isolation)
{
    for (uint32_t i = 0; i < d->parts; i++)
        if (!strcmp(d->part[i].isolation, isolation)) return true;
    return !strcmp(d->isolation, isolation);
}

bool db_isolation(db *d, const char *isolation)
{
    return strpbrk(isolation, ":,") ? mixed_isolation(d, isolation) : one_isolation(d, isolation);
}

static bool one_isolation(db *d, const char *isolation)
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
        if (adapters[a].loaded) return adapter_file(adapters[a].name, error);
        if (!adapters[a].driver)
            db_fail(error, "this build has no %s adapter (it needs %s)", adapters[a].name,
                    adapters[a].package);
        return adapters[a].driver;
    }
    /* (The whole URL may hold a password.) */
    db_fail(
        error,
        "\"%.*s\" is not a kind of database; expected sqlite:FILE, postgres://..., mysql://..., "
        "redis://..., etcd://..., lmdb:DIR, rocksdb:DIR, bdb:DIR, postgres:temp, mariadb:temp, "
        "or exec:COMMAND",
        n < 60 ? (int)n : 60, url);
    return NULL;
}

/* Runs at the same time, of this process or others, must not meet. */
static void name_place(db *d)
{
    uint64_t x = clock_now() ^ (uint64_t)getpid() << 40 ^ (uint64_t)(uintptr_t)d << 8;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    snprintf(d->place, sizeof d->place, "ratel_%016llx", (unsigned long long)(x ^ x >> 31));
}

bool db_open(db *d, mem *m, const char *url, const char *isolation)
{
    return db_open_for(d, m, url, isolation, 0);
}

bool db_open_for(db *d, mem *m, const char *url, const char *isolation, unsigned wants)
{
    memset(d, 0, sizeof *d);
    d->mem = m;
    d->wants = wants;
    name_place(d);
    size_t rest = 0;
    d->misuse = true;
    d->driver = driver_of(url, d->error, &rest);
    if (!d->driver) return false;
    if (strlen(url) >= 1000) {
        db_fail(d->error, "the URL is too long");
        return false;
    }
    memcpy(d->address, url + rest, strlen(url + rest) + 1);
    snprintf(d->scheme, sizeof d->scheme, "%.*s", (int)rest - 1, url);
    char first[64];
    snprintf(first, sizeof first, "%.*s", (int)strcspn(d->driver->isolations, " "),
             d->driver->isolations);
    /* Others find out in open what isolations there are. */
    if (!isolation || !*isolation) isolation = first;
    if (*d->driver->isolations && !db_isolation(d, isolation)) return false;
    if (!*d->driver->isolations) d->isolation = *isolation ? isolation : "";
    d->misuse = false;
    bool apart = wants & DB_APART && d->driver->adopt;
    if (apart ? engine_open_apart(d, isolation) : d->driver->open(d)) return true;
    db_close(d);
    return false;
}

void db_close(db *d)
{
    if (d->driver && d->driver->close) d->driver->close(d);
    if (d->temp.running) temp_stop(&d->temp);
    d->driver = NULL;
}
