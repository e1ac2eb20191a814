/*
 * A driver for `ratel run --db exec:./sample`, short enough to copy (cc -o sample sample.c): a store
 * in memory that runs one transaction after the other.  A second one that wants to begin is refused,
 * so it is serializable.  doc/drivers.md describes the protocol.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 1 << 16 };

static struct {
    int there;
    int64_t value;
} rows[KEYS], before[KEYS]; /* before: what an abort brings back */

static int64_t owner; /* the session whose transaction is open, or 0 */

/* The number of a member; requests have no spaces, and their texts are names. */
static int64_t number(const char *line, const char *name)
{
    char member[32];
    snprintf(member, sizeof member, "\"%s\":", name);
    const char *p = strstr(line, member);
    return p ? strtoll(p + strlen(member), NULL, 10) : 0;
}

static int is(const char *line, const char *name, const char *text)
{
    char member[64];
    snprintf(member, sizeof member, "\"%s\":\"%s\"", name, text);
    return strstr(line, member) != NULL;
}

static void load(const char *line)
{
    for (const char *p = strstr(line, "\"rows\":["); p && (p = strchr(p + 1, '[')) != NULL;) {
        long long key, value;
        if (sscanf(p, "[%lld,%lld]", &key, &value) != 2 || key < 0 || key >= KEYS) continue;
        rows[key].there = 1;
        rows[key].value = value;
    }
}

/* The answer, and the members of the result. */
static const char *answer(const char *line, char *more, size_t cap)
{
    int64_t key = number(line, "key"), session = number(line, "session");
    *more = 0;
    if (is(line, "op", "hello")) {
        snprintf(more, cap,
                 ",\"protocol\":1,\"driver\":\"sample.c\",\"engine\":\"sample\",\"version\":\"1\","
                 "\"isolations\":[\"serializable\"],\"operations\":[\"get\",\"put\",\"delete\"],"
                 "\"sessions\":\"many\",\"data\":\"child\",\"contracts\":{\"serializable\":"
                 "{\"level\":\"serializable\",\"source\":\"the head of sample.c\"}}");
    } else if (is(line, "op", "setup")) {
        memset(rows, 0, sizeof rows);
    } else if (is(line, "op", "load")) {
        load(line);
    } else if (is(line, "op", "begin")) {
        if (!is(line, "isolation", "serializable")) return "failed";
        if (owner) return "refused";
        owner = session;
        memcpy(before, rows, sizeof rows);
    } else if (is(line, "op", "commit") || is(line, "op", "abort")) {
        if (is(line, "op", "abort") && owner == session) memcpy(rows, before, sizeof rows);
        if (owner == session) owner = 0;
    } else if (key < 0 || key >= KEYS) {
        return "failed";
    } else if (is(line, "op", "get")) {
        if (rows[key].there)
            snprintf(more, cap, ",\"value\":%" PRId64, rows[key].value);
        else
            snprintf(more, cap, ",\"value\":null");
    } else if (is(line, "op", "put")) {
        rows[key].there = 1;
        rows[key].value = number(line, "value");
    } else if (is(line, "op", "delete")) {
        snprintf(more, cap, ",\"found\":%s", rows[key].there ? "true" : "false");
        rows[key].there = 0;
    } else if (!is(line, "op", "connect") && !is(line, "op", "disconnect") &&
               !is(line, "op", "teardown")) {
        return "failed";
    }
    return "done";
}

int main(void)
{
    static char line[1 << 20], more[512];
    while (fgets(line, sizeof line, stdin)) {
        const char *end = answer(line, more, sizeof more);
        printf("{\"id\":%" PRId64 ",\"answer\":\"%s\"%s}\n", number(line, "id"), end, more);
        fflush(stdout);
    }
    return 0;
}
