/*
 * extra_members.c - names of foreign JSON members, in and out of the native format.
 *
 * A member whose name the native format uses itself (is_taken) is kept under a longer name: the
 * format's prefix and its own.  A name that already is such a longer one is taken too and gets
 * one more prefix, so taking off one prefix always gives back the name that was read.
 *
 * Invariant: kept_name(prefix, what kept_add stored) is the name that kept_add was given.
 */
#include "read/extra_members.h"

static bool has_prefix(json_text name, const char *prefix)
{
    size_t n = strlen(prefix);
    return name.n > n && !memcmp(name.at, prefix, n);
}

static bool is_taken(json_text name, const char *prefix)
{
    static const char *const names[] = {"session",   "id",    "status", "begin",
                                        "end",       "times", "ops",    "start_ts",
                                        "commit_ts", "mark",  "ratel"};
    size_t n = strlen(prefix);
    while (has_prefix(name, prefix)) name = (json_text){name.at + n, name.n - n};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (json_is(name, names[i])) return true;
    return false;
}

void kept_add(history *h, const char *prefix, json_text name, json_text text)
{
    if (!is_taken(name, prefix)) {
        history_extra(h, name.at, name.n, text.at, text.n);
        return;
    }
    strbuf longer;
    strbuf_init(&longer, &h->mem);
    strbuf_str(&longer, prefix);
    strbuf_add(&longer, name.at, name.n);
    history_extra(h, longer.at, longer.n, text.at, text.n);
    strbuf_free(&longer);
}

json_text kept_name(const char *prefix, json_text stored)
{
    size_t n = strlen(prefix);
    if (!has_prefix(stored, prefix) || !is_taken(stored, prefix)) return stored;
    return (json_text){stored.at + n, stored.n - n};
}
