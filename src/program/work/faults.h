/*
 * faults.h - what --faults asks for: faults at given times, or a repertoire to choose from.
 *
 *   KIND[=AMOUNT][:WHERE][@TIME[+TIME]],...
 *
 * WHERE names nodes, such as b or ab, or parts them into groups, such as a|bc.  With @ a fault
 * comes at that time of the run, and what follows + is how long it lasts.  Those without @ come
 * from time to time, chosen by the seed.  faults.def says which kinds there are.
 */
#ifndef RATEL_WORK_FAULTS_H
#define RATEL_WORK_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fault_kind {
#define FAULT(id, name, needs, where, amount, about) FAULT_##id,
#include "work/faults.def"
#undef FAULT
    FAULT_KINDS
};
enum { FAULTS_MOST = 64, FAULT_NODES = 9 };

typedef struct fault {
    enum fault_kind kind;
    bool scheduled;
    uint8_t group[FAULT_NODES]; /* of each node, from 1; 0: it was not named */
    uint8_t groups;             /* 0: no node was named, and the seed chooses; 2: parted by | */
    bool has_amount;
    int64_t amount;     /* ns */
    uint64_t at, lasts; /* in ns of the run; lasts 0: not given */
} fault;

typedef struct fault_plan {
    fault item[FAULTS_MOST]; /* those with a time in the order of time, the others after them */
    uint32_t n, scheduled;
} fault_plan;

/* False: error says what is wrong. */
bool faults_parse(fault_plan *p, const char *text, char *error, size_t cap);
/* Does a cluster of so many nodes have what it names?  Else error says what it lacks. */
bool faults_fit(const fault_plan *p, uint32_t nodes, char *error, size_t cap);
/* What the servers must be started with (enum db_wants). */
unsigned faults_need(const fault_plan *p);

const char *fault_name(enum fault_kind k);
const char *fault_about(enum fault_kind k);

#endif
