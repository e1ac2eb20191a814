/*
 * plant.h - planted anomalies: schedules of plants.def, parsed.
 *
 * An easy plant is carried out inside a window in which nobody else begins or ends, by sessions
 * that are idle, on keys nobody else uses.  Whatever ended before the window is seen by whatever
 * begins after it, so no dependency leads from after the window to before it, and every cycle
 * through a planted transaction lies within the plant: it violates what its row says, no more.
 *
 * A hidden plant stands on keys that the others use, in a window in which nobody else is open.
 * Where the row reads the initial version, a planted writer (the anchor of the key) provides it;
 * nothing known leads from the anchor to the writers of the next version.  That they do come later
 * follows from a witness only: a reader that has seen the anchor, by another key, and then the
 * later version.  An ordinary blind write of all these keys ends the window, so the others never
 * read what was planted.  Before, within, after: dependencies lead forward only, and the same
 * holds as above.  The violation needs no more than the plant, whose reads are of its own writes.
 */
#ifndef RATEL_GEN_PLANT_H
#define RATEL_GEN_PLANT_H

#include "gen/truth.h"
#include "history/history.h"
#include "opt/anomaly.h"

enum { PLANT_TXNS = 12, PLANT_KEYS = 6, PLANT_EVENTS = 64, PLANT_LIST = 8 };
enum { PLANT_BASE = 8, PLANT_VERSIONS = 10 }; /* the anchor's version; 9 is never written */

enum plant_what {
    PLANT_BEGIN,
    PLANT_COMMIT,
    PLANT_ABORT,
    PLANT_READ,
    PLANT_LOCK,
    PLANT_WRITE,
    PLANT_SCAN
};

typedef struct plant_event {
    uint8_t what, txn;
    bool optional; /* hidden plants leave it out */
    uint8_t key;   /* of a scan: how many keys it covers, from the first on */
    uint8_t n;     /* elements of the value: one, a list's, or key and version of rows */
    uint8_t value[PLANT_LIST]; /* 0: the initial value, or what others left of a list */
} plant_event;

typedef struct plant {
    uint32_t kind; /* enum anomaly */
    bool lists, scans;
    uint32_t txns, sessions, keys, events;
    uint8_t session[PLANT_TXNS]; /* of each transaction, counted from 0 */
    plant_event event[PLANT_EVENTS];
    truth_set weakest, violates; /* closed upwards: all that is violated */
} plant;

/* Fails with GUARD_UNSUPPORTED if the workload cannot show this anomaly.  `absent`: its keys do not
   exist at first, so ranges can be empty. */
void plant_parse(plant *p, guard *g, uint32_t kind, bool lists, bool absent);
/* Does an ordinary transaction overwrite the keys after the plant? */
static inline bool plant_overwritten(const plant *p, bool hidden)
{
    return hidden && !p->lists && !p->scans;
}
bool plant_uses(const plant *p, uint32_t key); /* scans count only with the rows they returned */
/* Adds anchors and the witness.  Lists show their version order, so there is nothing to add. */
void plant_hide(plant *p);

#endif
