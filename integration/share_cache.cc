// SPDX-License-Identifier: Apache-2.0
// Which cache a database gets: one for itself, or a share of one that it has together with others.
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "integration/hybrid_cache.h"
#include "integration/made_hybrid_cache.h"

namespace mezz {
namespace {

// The caches that databases of this process share, by their URI without the share. One that has gone keeps its entry,
// as it may be closing still. Never destroyed: caches may be made and destroyed by static objects.
struct SharedCaches {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<rocksdb::Cache>> of_uri;  // GUARDED_BY(mutex)

  static SharedCaches& Get() {
    static auto* const caches = new SharedCaches;
    return *caches;
  }
};

constexpr auto kClosingMax = std::chrono::seconds(2 * HybridCacheOptions::kWarmSaveSeconds);
constexpr auto kPause = std::chrono::milliseconds(20);

}  // namespace

// One at a time: the second database of a cache waits until the first one has opened it. A cache that was opened for
// itself may be shared later, too.
Status NewHybridCache(const HybridCacheOptions& options, std::shared_ptr<rocksdb::Cache>* cache) {
  HybridCacheOptions shared = options;
  shared.share.clear();
  shared.share_limits = {};
  const std::string uri = shared.ToUri();
  SharedCaches& caches = SharedCaches::Get();
  if (options.share.empty()) {
    MEZZ_RETURN_IF_ERROR(NewMainCache(options, cache));
    const std::lock_guard lock(caches.mutex);
    std::weak_ptr<rocksdb::Cache>& known = caches.of_uri[uri];
    if (known.expired()) known = *cache;
    return Status::Ok();
  }
  const auto until = std::chrono::steady_clock::now() + kClosingMax;
  for (bool was_open = false;; std::this_thread::sleep_for(kPause)) {
    const std::lock_guard lock(caches.mutex);
    const auto known = caches.of_uri.find(uri);
    std::shared_ptr<rocksdb::Cache> main = known == caches.of_uri.end() ? nullptr : known->second.lock();
    was_open |= known != caches.of_uri.end();
    const Status opened = main == nullptr ? NewMainCache(shared, &main) : Status::Ok();
    if (opened.ok()) {
      caches.of_uri[uri] = main;
      return ForDatabase(main, options.share, options.share_limits, cache);
    }
    // The last one of this URI may be closing still.
    const bool may_close = opened.code() == Status::Code::kBusy && was_open;
    if (may_close && std::chrono::steady_clock::now() < until) continue;
    caches.of_uri.erase(uri);
    return opened;
  }
}

}  // namespace mezz
