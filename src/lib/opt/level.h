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

#include "opt/anomaly.h"

/* Levels of histories come first; those of logs alone stand after LEVELS. */
enum level_id {
#define LEVEL(id, ...) LEVEL_##id,
#define LOG_LEVEL(id, ...)
#define REFUSED_NAME(name, instead)
#include "opt/levels.def"
#undef LEVEL
#undef LOG_LEVEL
    LEVELS,
    LEVEL_BEFORE_LOGS = LEVELS - 1,
#define LEVEL(id, ...)
#define LOG_LEVEL(id, ...) LEVEL_##id,
#include "opt/levels.def"
#undef LEVEL
#undef LOG_LEVEL
#undef REFUSED_NAME
    LEVEL_RECORDS
};

/* --ryow: what a read of a key that the transaction itself wrote must return (levels.md 3). */
enum ryow {
#define RYOW(id, name) RYOW_##id,
#include "opt/ryow.def"
#undef RYOW
    RYOWS
};
const char *ryow_name(enum ryow policy);

enum level_so { LEVEL_OPTION, LEVEL_ALWAYS, LEVEL_NEVER };

/* Real-time edges between events: commit before commit, begin before commit, commit before begin;
   and RT_TXN, the last of these between whole transactions, which is what realtime-X adds to X. */
#define RT_CC 1u
#define RT_BC 2u
#define RT_CB 4u
#define RT_TXN 8u

/* Levels that look at the parts of transactions (asg/innodb_parts.c): every locking read and write
   has a place of its own (APART), or all of them have one (TIGHT). */
enum rule_split { SPLIT_NONE, SPLIT_APART, SPLIT_TIGHT };

/* The tests that are polynomial once every read has its writer (decide/weak/weak.h). */
enum weak_level {
    WEAK_NONE,
    WEAK_RU,
    WEAK_RC,
    WEAK_MAV,
    WEAK_RA,
    WEAK_CC,
    /* session guarantees: session_guarantees.c */
    WEAK_RYW,
    WEAK_MR,
    WEAK_MW,
    WEAK_WFR
};

/* Lists of levels whose order matters.  Each level has its place in a list, or none. */
enum level_turn {
    TURN_EXPLAIN, /* those whose answers settle most others, for `explain` */
    TURN_CHECK,   /* the strongest first, for `check` of several levels */
    TURN_ACCEPT,  /* stronger levels that accept what has no decision of its own, easiest first */
    TURN_REFUTE,  /* weaker levels that refute it, strongest first */
    TURN_TIMESTAMPS, /* decided by trusted timestamps */
    LEVEL_TURNS
};

/* How transactions of a log of SQL choose the states that they read, and what they may overwrite
   (doc/audit.md). */
enum log_reads { LOG_NONE, LOG_LATEST, LOG_SNAPSHOT, LOG_STATEMENT, LOG_ROW };
enum log_writes { LOG_FREE, LOG_CONFLICT, LOG_RECHECK };

typedef struct level_log {
    enum log_reads reads; /* LOG_NONE: no level of logs */
    enum log_writes writes;
    bool real_time;
    const char *about;
} level_log;

typedef struct level_info { /* levels.def explains the columns */
    const char *name, *aliases, *adya;
    const char *about, *how;
    enum level_so session_order;
    bool decided;
    unsigned real_time;
    enum rule_split split;
    enum weak_level weak;
    enum anomaly anomaly;
    bool argued, proved, aside;
    unsigned fame;
    unsigned char turn[LEVEL_TURNS];
    level_log log;
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
/* A name that stands for different levels in different mouths is no level's name: what to write
   instead, or NULL if it is no such name. */
const char *level_refused(const char *name);

/* The i-th level of a list, from 0; false past its end. */
bool level_in_turn(enum level_id *out, enum level_turn list, size_t i);
/* The level with this test. */
enum level_id level_with_test(enum weak_level test);

/* The levels of logs of SQL: the i-th, strongest first, or by any of its names; NULL: none. */
const level_info *level_of_logs(size_t i);
const level_info *level_of_logs_named(const char *name);

/* Does the level look at client times? */
static inline bool level_needs_times(const level_info *l)
{
    return l->real_time != 0;
}

static inline bool level_session_order(const level_ref *l, bool option)
{
    return l->so == LEVEL_ALWAYS || (l->so == LEVEL_OPTION && option);
}
/* Does every history that satisfies a satisfy b, with session order as given for each? */
bool level_implies(enum level_id a, bool so_a, bool rt_a, enum level_id b, bool so_b, bool rt_b);

#endif
