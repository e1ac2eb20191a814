/*
 * clock.c - reading the system's clocks.
 *
 * Two clocks: the monotonic one, by which limits and progress are measured, because nobody can
 * set it back; and the processor time of the whole process, for statistics.  A clock that cannot
 * be read gives 0, which stands before every deadline: a broken clock never ends a call early.
 */
#include "base/clock.h"

#include <time.h>

static uint64_t read_clock(clockid_t id)
{
    struct timespec t;
    if (clock_gettime(id, &t)) return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t clock_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t clock_cpu(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

void clock_nap(uint64_t ns)
{
    struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    nanosleep(&t, NULL);
}
