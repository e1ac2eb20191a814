/*
 * guard.c - how a call fails, and the limits that make it fail.
 *
 * guard_fail writes code and text into the guard and jumps to the border that armed it.
 * guard_poll looks at the interrupt flag, the deadline and the watcher; loops come here through
 * guard_tick, once in 1024 steps, so that limits cost nothing that can be measured.
 *
 * Invariant: the text is complete before the jump, and always ends in a NUL byte.
 */
#include "base/guard.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

void guard_init(guard *g)
{
    memset(g, 0, sizeof *g);
}

void guard_vfail(guard *g, int code, const char *format, va_list ap)
{
    g->code = code;
    vsnprintf(g->text, sizeof g->text, format, ap);
    longjmp(g->jump, 1);
}

void guard_fail(guard *g, int code, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    guard_vfail(g, code, format, ap);
}

void guard_restore(guard *g, const guard *outer)
{
    memcpy(&g->jump, &outer->jump, sizeof g->jump);
    g->deadline = outer->deadline;
}

void guard_fail_again(guard *g)
{
    longjmp(g->jump, 1);
}

void guard_set_position(guard *g, uint64_t line, uint64_t column)
{
    g->line = line;
    g->column = column;
}

#define TELL_EVERY 100000000u /* nanoseconds */

void guard_poll(guard *g)
{
    if (g->interrupt && *g->interrupt) guard_fail(g, GUARD_INTERRUPT, "interrupted");
    if (g->most_ticks && g->ticks > g->most_ticks)
        guard_fail(g, GUARD_TIME, "as much work as was allowed is done");
    guard_watch *p = g->progress;
    if (!g->deadline && !p) return;
    uint64_t now = clock_now();
    if (g->deadline && now > g->deadline) guard_fail(g, GUARD_TIME, "time limit reached");
    if (!p || now < p->next) return;
    p->next = now + TELL_EVERY;
    p->told = true;
    if (p->tell(p)) guard_fail(g, GUARD_INTERRUPT, "interrupted");
}

void guard_poll_at(guard *g, uint64_t done)
{
    if (g->progress && !g->progress->held) g->progress->done = done;
    guard_poll(g);
}

void guard_stage(guard *g, const char *stage, const char *unit, uint64_t total)
{
    guard_watch *p = g->progress;
    if (!p || p->held) return;
    p->stage = stage;
    p->unit = unit;
    p->done = 0;
    p->total = total;
}
