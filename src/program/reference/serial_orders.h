/*
 * serial_orders.h - looks for a serial order in which the engine gives every answer of a log.
 */
#ifndef RATEL_REFERENCE_SERIAL_ORDERS_H
#define RATEL_REFERENCE_SERIAL_ORDERS_H

#include "reference/snapshot_replay.h"

typedef enum orders_end {
    ORDERS_FOUND, /* it is the replay's now */
    ORDERS_NONE,  /* no order explains the log */
    ORDERS_OPEN   /* none was found; *why says why that proves nothing */
} orders_end;

/* Logs of more transactions are not looked through. */
enum { ORDERED_TXNS = 300 };

orders_end find_serial_order(snapshot_replay *r, const char **why);

#endif
