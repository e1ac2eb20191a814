/*
 * plant.h - planted anomalies: schedules of plants.def, parsed.
 *
 * A plant is carried out inside a window in which nobody else begins or ends, by sessions that are
 * idle, on keys nobody else uses.  Whatever ended before the window is seen by whatever begins
 * behind it, so no dependency leads from behind the window to before it, and every cycle through
 * a planted transaction lies within the plant: the plant violates what its row says, no more.
 */
#ifndef RATEL_GEN_PLANT_H
#define RATEL_GEN_PLANT_H

#include "gen/truth.h"
#include "history/history.h"
#include "opt/anomaly.h"

enum { PLANT_TXNS = 8, PLANT_KEYS = 3, PLANT_EVENTS = 40, PLANT_LIST = 8 };

enum plant_what { PLANT_BEGIN, PLANT_COMMIT, PLANT_ABORT, PLANT_READ, PLANT_LOCK, PLANT_WRITE };

typedef struct plant_event {
    uint8_t what, txn, key;
    uint8_t n;                 /* elements of the value: one, or a list's */
    uint8_t value[PLANT_LIST]; /* 0: the initial value */
} plant_event;

typedef struct plant {
    uint32_t kind; /* enum anomaly */
    bool lists;
    uint32_t txns, sessions, keys, events;
    uint8_t session[PLANT_TXNS]; /* of each transaction, counted from 0 */
    plant_event event[PLANT_EVENTS];
    truth_set violates;
} plant;

/* Fails with GUARD_UNSUPPORTED if registers (or lists) cannot show this anomaly. */
void plant_parse(plant *p, guard *g, uint32_t kind, bool lists);

#endif
