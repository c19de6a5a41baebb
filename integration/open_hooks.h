// SPDX-License-Identifier: Apache-2.0
// The functions of RocksDB that open a program's databases and families. The preloaded libraries replace them by their
// names in librocksdb.so, so that one source serves all releases.
//
// RocksDB calls ColumnFamilyData::ValidateOptions for each family before any function opens its database, before the
// family is created, and before SetOptions changes it. All overloads of Open go through the two below, or call DB::Open
// with families. Within librocksdb.so these functions call each other through relocations, so they reach ours. If it is
// linked with -Bsymbolic they do not, and nothing changes.
#pragma once

#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "rocksdb/status.h"
#include "rocksdb/table.h"
#include "rocksdb/version.h"

namespace ROCKSDB_NAMESPACE {
struct TransactionDBOptions;
}

namespace mezz {

using Families = std::vector<rocksdb::ColumnFamilyDescriptor>;
using FamilyHandles = std::vector<rocksdb::ColumnFamilyHandle*>;

using ValidateFamily = rocksdb::Status(const rocksdb::DBOptions& options, const rocksdb::ColumnFamilyOptions& family);
// The type of `db` differs between releases; the pointer is only passed on.
using OpenDatabase = rocksdb::Status(const rocksdb::DBOptions& options, const std::string& name,
                                     const Families& families, FamilyHandles* handles, void* db);
using OpenTransactions = rocksdb::Status(const rocksdb::DBOptions& options,
                                         const rocksdb::TransactionDBOptions& transactions, const std::string& name,
                                         const Families& families, FamilyHandles* handles, void* db);

}  // namespace mezz

#define MEZZ_VALIDATE_FAMILY \
  "_ZN7rocksdb16ColumnFamilyData15ValidateOptionsERKNS_9DBOptionsERKNS_19ColumnFamilyOptionsE"
#define MEZZ_OPEN_TRANSACTIONS                                                                                      \
  "_ZN7rocksdb13TransactionDB4OpenERKNS_9DBOptionsERKNS_20TransactionDBOptionsERKNSt7__cxx1112basic_stringIcSt11ch" \
  "ar_traitsIcESaIcEEERKSt6vectorINS_22ColumnFamilyDescriptorESaISG_EEPSF_IPNS_18ColumnFamilyHandleESaISM_EEPPS0_"
#define MEZZ_OPEN_DATABASE_OF(db)                                                                                    \
  "_ZN7rocksdb2DB4OpenERKNS_9DBOptionsERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEERKSt6vectorINS_22Colum" \
  "nFamilyDescriptorESaISD_EEPSC_IPNS_18ColumnFamilyHandleESaISJ_EE" db
#if ROCKSDB_MAJOR < 11
#define MEZZ_OPEN_DATABASE MEZZ_OPEN_DATABASE_OF("PPS0_")
#else
#define MEZZ_OPEN_DATABASE MEZZ_OPEN_DATABASE_OF("PSt10unique_ptrIS0_St14default_deleteIS0_EE")
#endif

// This definition of a function replaces RocksDB's, for all that is loaded after us.
#define MEZZ_HIDES(name) asm(name) __attribute__((visibility("default")))
