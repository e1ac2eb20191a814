/*
 * adapter_file.h - adapters that are files of their own, loaded when a URL names them.
 *
 * RocksDB and libcurl bring thirty libraries with them: linked into the program, they would double
 * the time and the memory that every command needs to start.
 */
#ifndef RATEL_DRIVER_ADAPTER_FILE_H
#define RATEL_DRIVER_ADAPTER_FILE_H

#include "driver/driver.h"

/* The adapter of this name, from beside the program or from where it is installed; NULL: the error
   (of DB_ERROR bytes) says why.  It stays loaded. */
const driver *adapter_file(const char *name, char *error);

/* The path of a file `ratel-NAME.so` that is installed with us; false: it is not there. */
bool adapter_path(const char *name, char *path, size_t cap);

#endif
