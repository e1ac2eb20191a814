/*
 * guard.h - the one way out of a failing call.
 *
 * Every entry point of the library opens a guard, arms its jump and runs.  Whatever goes wrong
 * below - memory, a byte that should not be there, a limit, an interrupt - is written into the
 * guard and control jumps back to that border (lua's ldo.c is the model).  Nobody in between has
 * to check codes or clean up, because memory belongs to regions (mem.h) that the border owns.
 *
 * Invariant: no foreign frame (zlib, zstd, a user's callback) is ever jumped over.
 */
#ifndef RATEL_BASE_GUARD_H
#define RATEL_BASE_GUARD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The numbers equal those of ratel.h; src/lib/api asserts it. */
enum guard_code {
    GUARD_OK = 0,
    GUARD_INVAL = -1,
    GUARD_NOMEM = -2,
    GUARD_IO = -3,
    GUARD_PARSE = -4,
    GUARD_HISTORY = -5,
    GUARD_UNSUPPORTED = -6,
    GUARD_TIME = -7,
    GUARD_INTERRUPT = -8,
    GUARD_BUG = -99
};

#define GUARD_TEXT 1024

/* Where a call stands, for whoever watches it: told when the clock is looked at, so that watching
   costs nothing else. */
typedef struct guard_watch {
    int (*tell)(struct guard_watch *p); /* not 0: stop, as after an interrupt */
    const char *stage, *unit;           /* static texts; NULL: none yet */
    uint64_t done, total;               /* total 0: nobody knows */
    uint64_t next;                      /* clock_now() of the next time it is told */
    bool held;                          /* stages of what runs below do not show */
    bool told;
} guard_watch;

typedef struct guard {
    jmp_buf jump;
    int code;
    uint64_t line, column; /* 1-based; 0: no position */
    uint64_t offset;       /* byte offset for binary formats */
    bool has_offset;
    char member[256];              /* the file of a directory in which it went wrong, or "" */
    const volatile int *interrupt; /* set by another thread or a signal handler; may be NULL */
    uint64_t deadline;             /* clock_now() beyond which we stop; 0: none */
    guard_watch *progress;         /* NULL: nobody watches */
    uint32_t ticks;
    uint32_t most_ticks; /* then the work is given up, as at the deadline; 0: never */
    char text[GUARD_TEXT];
} guard;

void guard_init(guard *g);

/* Arm with `if (guard_armed(g)) {...recover...}`: the macro must expand in the border's frame. */
#define guard_armed(g) (setjmp((g)->jump) != 0)

_Noreturn void guard_fail(guard *g, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
_Noreturn void guard_vfail(guard *g, int code, const char *format, va_list ap)
    __attribute__((format(printf, 3, 0)));
/* A border within a border, for something that may be given up: arm anew with a copy of the guard
   in hand, restore the outer border on every way out, fail again with what is not ours. */
void guard_restore(guard *g, const guard *outer);
_Noreturn void guard_fail_again(guard *g);
void guard_set_position(guard *g, uint64_t line, uint64_t column);

/* Reads clock and interrupt flag; call through guard_tick in loops. */
void guard_poll(guard *g);
/* The same, and says how much of the stage is done. */
void guard_poll_at(guard *g, uint64_t done);

static inline void guard_tick(guard *g)
{
    if ((++g->ticks & 1023u) == 0) guard_poll(g);
}

static inline void guard_tick_at(guard *g, uint64_t done)
{
    if ((++g->ticks & 1023u) == 0) guard_poll_at(g, done);
}

/* A stage begins: of `total` units, 0 if that is not known. */
void guard_stage(guard *g, const char *stage, const char *unit, uint64_t total);

#endif
