// SPDX-License-Identifier: Apache-2.0
// A program that gets a cache of ours from a string knows none of the options that the cache gains by. Where this
// library is preloaded, its databases are opened with them: see use_hybrid_cache.h. With heirs=off nothing is changed.
#include <dlfcn.h>

#include <memory>

#include "integration/dead_file_listener.h"
#include "integration/hybrid_cache.h"
#include "integration/open_hooks.h"
#include "integration/operator_io.h"
#include "integration/warming.h"

namespace mezz {
namespace {

bool Takes(const rocksdb::Cache* cache) {
  const HybridStats* const stats = GetHybridStats(const_cast<rocksdb::Cache*>(cache));  // which only looks it up
  return stats != nullptr && stats->TakesHeirs();
}

const CacheHooks& Hooks() {
  static const auto* const hooks =
      new CacheHooks{.may_warm = [](const rocksdb::Cache& cache, Warming) { return Takes(&cache); },
                     .listener =
                         [](const std::shared_ptr<rocksdb::Cache>& cache) {
                           std::shared_ptr<rocksdb::EventListener> listener;
                           if (Takes(cache.get())) (void)NewDeadFileListener(cache, &listener);
                           return listener;
                         }};
  return *hooks;
}

std::unique_ptr<rocksdb::DBOptions> With(const rocksdb::DBOptions& options, const Families& families) {
  return RocksDBMatches() ? WithListeners(options, families, Hooks()) : nullptr;
}

template <typename Function>
Function* Real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

rocksdb::Status HidesValidateFamily(const rocksdb::DBOptions& options, const rocksdb::ColumnFamilyOptions& family)
    MEZZ_HIDES(MEZZ_VALIDATE_FAMILY);
rocksdb::Status HidesValidateFamily(const rocksdb::DBOptions& options, const rocksdb::ColumnFamilyOptions& family) {
  static auto* const real = Real<ValidateFamily>(MEZZ_VALIDATE_FAMILY);
  if (RocksDBMatches()) RaiseWarming(family, options, Hooks());
  if (real == nullptr) return rocksdb::Status::OK();
  return real(options, family);
}

rocksdb::Status HidesOpenDatabase(const rocksdb::DBOptions& options, const std::string& name, const Families& families,
                                  FamilyHandles* handles, void* db) MEZZ_HIDES(MEZZ_OPEN_DATABASE);
rocksdb::Status HidesOpenDatabase(const rocksdb::DBOptions& options, const std::string& name, const Families& families,
                                  FamilyHandles* handles, void* db) {
  static auto* const real = Real<OpenDatabase>(MEZZ_OPEN_DATABASE);
  if (real == nullptr) return rocksdb::Status::NotSupported("DB::Open is not found in this program's RocksDB");
  const auto with = With(options, families);
  return real(with == nullptr ? options : *with, name, families, handles, db);
}

rocksdb::Status HidesOpenTransactions(const rocksdb::DBOptions& options,
                                      const rocksdb::TransactionDBOptions& transactions, const std::string& name,
                                      const Families& families, FamilyHandles* handles, void* db)
    MEZZ_HIDES(MEZZ_OPEN_TRANSACTIONS);
rocksdb::Status HidesOpenTransactions(const rocksdb::DBOptions& options,
                                      const rocksdb::TransactionDBOptions& transactions, const std::string& name,
                                      const Families& families, FamilyHandles* handles, void* db) {
  static auto* const real = Real<OpenTransactions>(MEZZ_OPEN_TRANSACTIONS);
  if (real == nullptr)
    return rocksdb::Status::NotSupported("TransactionDB::Open is not found in this program's RocksDB");
  const auto with = With(options, families);
  return real(with == nullptr ? options : *with, transactions, name, families, handles, db);
}

}  // namespace mezz
