/*
 * clock.h - the monotonic clock, in nanoseconds.  The only door to the system's time.
 */
#ifndef RATEL_BASE_CLOCK_H
#define RATEL_BASE_CLOCK_H

#include <stdint.h>

uint64_t clock_now(void); /* monotonic wall clock */
uint64_t clock_cpu(void); /* CPU time of the process */

void clock_nap(uint64_t ns);

/* What one part of some work took. */
typedef struct stage_time {
    const char *name; /* static */
    uint64_t ns;
} stage_time;

#endif
