/*
 * insert_ids.h - values of AUTO_INCREMENT, bound to what a log of MariaDB or MySQL shows of them.
 *
 * A log shows the value of an INSERT in its RETURNING, or in SELECT LAST_INSERT_ID() before the
 * next INSERT of its transaction.  The engine is given it by SET insert_id, so that the gaps which
 * other transactions left in the log do not make a difference.  What nobody saw, the engine
 * chooses.
 */
#ifndef RATEL_REFERENCE_INSERT_IDS_H
#define RATEL_REFERENCE_INSERT_IDS_H

#include "reference/reference_engine.h"

/* Reads the values off the log.  Afterwards e->draws is NULL if the log has no other draws, and
   every INSERT of it is bound. */
void insert_ids_observe(reference_engine *e);
/* Gives the next statement of a connection its value, if that is known. */
void insert_id_give(reference_engine *e, engine_conn *c, uint32_t txn, uint32_t stmt);

#endif
