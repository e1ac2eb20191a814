/*
 * rocksdb_shim.cc - the write policy, which RocksDB's interface for C cannot set.
 *
 * The structure of that interface holds nothing but the options themselves.  Its layout is not
 * promised, so a value that the interface can set is looked for at its place first.
 */
#include "driver/rocksdb_shim.h"

#include <rocksdb/utilities/transaction_db.h>
#include <rocksdb/version.h>

#define TEXT_OF(x) #x
#define NUMBER_TEXT(x) TEXT_OF(x)

using namespace ROCKSDB_NAMESPACE;

extern "C" int rocks_set_policy(rocksdb_transactiondb_options_t *options, rocks_policy policy)
{
    static const TxnDBWritePolicy policies[] = {WRITE_COMMITTED, WRITE_PREPARED, WRITE_UNPREPARED};
    TransactionDBOptions *o = reinterpret_cast<TransactionDBOptions *>(options);
    const int64_t sign = 987654;
    const int64_t usual = TransactionDBOptions().max_num_locks;
    rocksdb_transactiondb_options_set_max_num_locks(options, sign);
    bool known = o->max_num_locks == sign && o->write_policy == WRITE_COMMITTED;
    rocksdb_transactiondb_options_set_max_num_locks(options, usual);
    if (known) o->write_policy = policies[policy];
    return known;
}

extern "C" const char *rocks_version(void)
{
    return NUMBER_TEXT(ROCKSDB_MAJOR) "." NUMBER_TEXT(ROCKSDB_MINOR) "." NUMBER_TEXT(ROCKSDB_PATCH);
}
