/*
 * stored.c - rows of engines of keys and values; see stored.h.
 */
#include "driver/stored.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

void stored_key(unsigned char *to, int64_t key)
{
    uint64_t x = (uint64_t)key ^ (uint64_t)1 << 63;
    for (int i = STORED_KEY; i--; x >>= 8) to[i] = (unsigned char)x;
}

int64_t stored_key_of(const unsigned char *from)
{
    uint64_t x = 0;
    for (int i = 0; i < STORED_KEY; i++) x = x << 8 | from[i];
    return (int64_t)(x ^ (uint64_t)1 << 63);
}

size_t stored_number(char *to, int64_t value)
{
    return (size_t)snprintf(to, STORED_NUMBER, "%lld", (long long)value);
}

static bool is_tomb(const char *value, size_t n)
{
    return n == 1 && *value == *STORED_TOMB;
}

/* What an engine returns need not end with a NUL. */
static int64_t number_of(const char *value, size_t n)
{
    char text[STORED_NUMBER];
    snprintf(text, sizeof text, "%.*s", (int)(n < sizeof text ? n : sizeof text - 1), value);
    return strtoll(text, NULL, 10);
}

void stored_seen(db_session *s, const char *value, size_t n)
{
    s->tomb = value && is_tomb(value, n);
    s->absent = !value || s->tomb;
    s->text.n = 0;
    if (s->absent) return;
    if (s->db->lists)
        strbuf_add(&s->text, value, n);
    else
        s->value = number_of(value, n);
}

void stored_row(db_session *s, int64_t key, const char *value, size_t n)
{
    if (is_tomb(value, n)) return;
    db_row row = {key, number_of(value, n)};
    vec_push(s->mem, &s->rows, row);
}

void stored_append(strbuf *to, const char *found, size_t n, int64_t value)
{
    to->n = 0;
    if (found && !is_tomb(found, n)) {
        strbuf_add(to, found, n);
        strbuf_char(to, ',');
    }
    strbuf_i64(to, value);
}

bool stored_directory(db *d, char *path, size_t cap)
{
    static const temp_spec only_directory = {.nodes = 0};
    char form[32];
    if (db_temporary(d, form, sizeof form)) {
        if (!temp_start(&d->temp, &only_directory, d->error, sizeof d->error)) return false;
        snprintf(path, cap, "%s", d->temp.dir);
        return true;
    }
    size_t n = strcspn(d->address, "?");
    snprintf(path, cap, "%.*s", (int)n, d->address);
    if (n && n < cap && (!mkdir(path, 0777) || errno == EEXIST)) return true;
    d->misuse = !n;
    if (n)
        db_fail(d->error, "%s: %s", path, strerror(errno));
    else
        db_fail(d->error, "expected %s:DIRECTORY or %s:temp", d->driver->name, d->driver->name);
    return false;
}
