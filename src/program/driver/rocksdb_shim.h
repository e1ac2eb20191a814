/*
 * rocksdb_shim.h - what RocksDB's interface for C lacks; written in C++.
 */
#ifndef RATEL_DRIVER_ROCKSDB_SHIM_H
#define RATEL_DRIVER_ROCKSDB_SHIM_H

#include <rocksdb/c.h>

#ifdef __cplusplus
extern "C" {
#endif

enum rocks_policy { ROCKS_COMMITTED, ROCKS_PREPARED, ROCKS_UNPREPARED };

/* Sets the write policy; 0: this version keeps its options in a way that we do not know. */
int rocks_set_policy(rocksdb_transactiondb_options_t *options, enum rocks_policy policy);
const char *rocks_version(void);

#ifdef __cplusplus
}
#endif

#endif
