/*
 * faults.h - what --faults asks for: faults at given times, or a repertoire to choose from.
 *
 *   KIND[:NODE][@TIME[+TIME]],...     KIND: kill | pause | restart
 *
 * With @ a fault comes at that time of the run, and what follows + is how long the node stays
 * away.  Those without @ come from time to time, chosen by the seed.
 */
#ifndef RATEL_WORK_FAULTS_H
#define RATEL_WORK_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fault_kind { FAULT_KILL, FAULT_PAUSE, FAULT_RESTART, FAULT_KINDS };
enum { FAULTS_MOST = 64, FAULT_ANY_NODE = 255 };

typedef struct fault {
    enum fault_kind kind;
    bool scheduled;
    uint8_t node;       /* 0 is a; FAULT_ANY_NODE: chosen by the seed */
    uint64_t at, lasts; /* in ns of the run; lasts 0: not given */
} fault;

typedef struct fault_plan {
    fault item[FAULTS_MOST]; /* those with a time in the order of time, the others after them */
    uint32_t n, scheduled;
} fault_plan;

/* False: error says what is wrong. */
bool faults_parse(fault_plan *p, const char *text, char *error, size_t cap);
/* Does it name a node that a cluster of so many has not? */
bool faults_fit(const fault_plan *p, uint32_t nodes);

#endif
