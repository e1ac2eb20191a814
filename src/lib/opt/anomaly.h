/*
 * anomaly.h - the names of anomalies (anomalies.def) as an enum and a table.
 */
#ifndef RATEL_OPT_ANOMALY_H
#define RATEL_OPT_ANOMALY_H

#include <stddef.h>

enum anomaly {
#define ANOMALY(id, name, others, plantable) ANOMALY_##id,
#include "opt/anomalies.def"
#undef ANOMALY
    ANOMALIES
};

typedef struct anomaly_info {
    const char *name;
    const char *others; /* other names, separated by spaces */
    int plantable;      /* see anomalies.def */
} anomaly_info;

const anomaly_info *anomaly_at(size_t i); /* NULL past the end */
/* By name, or by one of the other names that is not itself a name; -1: no such anomaly. */
int anomaly_named(const char *name);

#endif
