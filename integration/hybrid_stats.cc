// SPDX-License-Identifier: Apache-2.0
#include "integration/hybrid_stats.h"

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "integration/hybrid_registry.h"

namespace mezz {
namespace {

class Registry {
 public:
  // Never destroyed: a cache held by a static object may be destroyed after any static of ours.
  static Registry& Get() {
    static Registry* const registry = new Registry;
    return *registry;
  }

  void Add(const void* cache, HybridStats* stats) {
    const std::unique_lock lock(mutex_);
    caches_[cache] = stats;
  }
  void Remove(const void* cache) {
    const std::unique_lock lock(mutex_);
    caches_.erase(cache);
  }
  HybridStats* Find(const void* cache) const {
    const std::shared_lock lock(mutex_);
    const auto found = caches_.find(cache);
    return found == caches_.end() ? nullptr : found->second;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<const void*, HybridStats*> caches_;  // guarded by mutex_
};

}  // namespace

HybridRegistration::HybridRegistration(Opaque self, HybridStats* stats) : self_(self.address) {
  Registry::Get().Add(self_, stats);
}
HybridRegistration::~HybridRegistration() { Registry::Get().Remove(self_); }

Status HybridStats::SetDatabaseLimits(const DatabaseLimits& /*limits*/) {
  return Status::NotSupported("only the cache of one of several databases has limits: make it by ForDatabase");
}

Status HybridStats::MakeDatabaseCache(const std::shared_ptr<rocksdb::Cache>& /*self*/, std::string_view name,
                                      const DatabaseLimits& /*limits*/, std::shared_ptr<rocksdb::Cache> /*own_dram*/,
                                      std::shared_ptr<rocksdb::Cache>* /*view*/) {
  return Status::NotSupported("share=" + std::string(name) + ": only a hybrid cache, mezzanine://, has shares");
}

Status ForDatabase(const std::shared_ptr<rocksdb::Cache>& cache, std::string_view name, const DatabaseLimits& limits,
                   std::shared_ptr<rocksdb::Cache>* view) {
  HybridStats* const stats = GetHybridStats(cache.get());
  if (stats == nullptr) {
    return Status::InvalidArgument("share=" + std::string(name) +
                                   ": the cache to share is no hybrid cache: make one by NewHybridCache");
  }
  return stats->MakeDatabaseCache(cache, name, limits, nullptr, view);
}

HybridStats* GetHybridStats(rocksdb::Cache* cache) { return Registry::Get().Find(cache); }
HybridStats* GetHybridStats(rocksdb::SecondaryCache* cache) { return Registry::Get().Find(cache); }

}  // namespace mezz
