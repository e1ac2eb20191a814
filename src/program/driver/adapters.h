/*
 * adapters.h - the adapters, as driver.c and the faulty one know them.
 */
#ifndef RATEL_DRIVER_ADAPTERS_H
#define RATEL_DRIVER_ADAPTERS_H

#include "driver/driver.h"

extern const driver driver_sqlite, driver_postgres, driver_mariadb, driver_faulty, driver_exec;
extern const driver driver_redis, driver_lmdb, driver_rocksdb, driver_bdb, driver_etcd;

const db *driver_faulty_inner(const db *d);
/* The adapter of a URL and where the address begins; NULL: the error says why. */
const driver *driver_of(const char *url, char *error, size_t *rest);

/* postgres.c: a PGconn to where sessions go, also one that failed; its notices are ignored. */
void *postgres_connection(const db *d, const char *application, const char *options);

#endif
