/*
 * level.h - the names of the levels and the order between them.
 *
 * A level as asked for is a base (levels.def), whether session order counts (settled by the name,
 * or left to --session-order), and whether real time does.
 */
#ifndef RATEL_OPT_LEVEL_H
#define RATEL_OPT_LEVEL_H

#include <stdbool.h>
#include <stddef.h>

enum level_id {
#define LEVEL(id, name, aliases, so, decided, about, how) LEVEL_##id,
#include "opt/levels.def"
#undef LEVEL
    LEVELS
};

/* --ryow: what a read of a key that the transaction itself wrote must return (levels.md 3). */
enum ryow { RYOW_MUST, RYOW_EXTERNAL, RYOW_MAY };

enum level_so { LEVEL_OPTION, LEVEL_ALWAYS, LEVEL_NEVER };

typedef struct level_info {
    const char *name, *aliases;
    enum level_so so;
    bool decided;
    const char *about, *how;
} level_info;

typedef struct level_ref {
    enum level_id id;
    enum level_so so;
    bool realtime;
    char name[80]; /* the long name, with its prefix */
} level_ref;

const level_info *level_at(size_t i); /* NULL past the end */
/* Any name of doc/levels.md, in any letter case; false if there is no such level. */
bool level_named(level_ref *out, const char *name);
/* The name that was probably meant, or NULL. */
const char *level_near(const char *name);

static inline bool level_session_order(const level_ref *l, bool option)
{
    return l->so == LEVEL_ALWAYS || (l->so == LEVEL_OPTION && option);
}
/* Does every history that satisfies a satisfy b, with session order as given for each? */
bool level_implies(enum level_id a, bool so_a, bool rt_a, enum level_id b, bool so_b, bool rt_b);

#endif
