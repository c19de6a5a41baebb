// SPDX-License-Identifier: Apache-2.0
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "integration/hybrid_cache.h"
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

HybridStats* GetHybridStats(rocksdb::Cache* cache) { return Registry::Get().Find(cache); }
HybridStats* GetHybridStats(rocksdb::SecondaryCache* cache) { return Registry::Get().Find(cache); }

}  // namespace mezz
