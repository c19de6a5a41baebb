// SPDX-License-Identifier: Apache-2.0
// libmezzanine_preloaded.so: the program's own cache, of the kind and size it asked for, with the SCM tier underneath.
//
// Which cache is the block cache cannot be told when it is made: RocksDB makes table caches, row caches and the insides
// of compressed secondary caches with the same functions, and a default block cache of 32 MiB that most programs throw
// away. So each cache is made ready, and the first to which RocksDB gives a block that SCM can hold gets the SCM tier:
// then, not before, the medium is opened. Its owner keeps it until it is destroyed; meanwhile others stay as they are.
#include <atomic>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "fmt/format.h"
#include "integration/hybrid_cache.h"
#include "integration/operator_io.h"
#include "integration/option_table.h"
#include "integration/preload_module.h"
#include "integration/reporter.h"
#include "rocksdb/version.h"

#if ROCKSDB_MAJOR < 8
#include "integration/hybrid_cache_v7.h"
#else
#include "integration/late_hybrid_cache.h"
#endif

namespace mezz {

namespace {

using rocksdb::Cache;
using rocksdb::Slice;
using CachePtr = std::shared_ptr<Cache>;

// What the library that the program was started with does about a failure: one for all requests.
void (*tell_failure)(const std::string& sentence) = nullptr;

void Fail(const Status& status) { tell_failure(InKeys(status.message())); }

// What MEZZANINE_CACHE says, judged when the program first makes a cache. Null: leave every cache alone.
const HybridCacheOptions* Wanted() {
  static const HybridCacheOptions* const wanted = []() -> const HybridCacheOptions* {
    const char* const uri = std::getenv("MEZZANINE_CACHE");
    if (uri == nullptr) return nullptr;
    auto options = std::make_unique<HybridCacheOptions>();
    if (const Status status = ParseWrapUri(uri, options.get()); !status.ok()) {
      Fail(status);
      return nullptr;
    }
    options->scm.on_prefault = PrefaultLine();
    HearReportSignal();
    return options.release();  // never destroyed: caches may outlive our statics
  }();
  return wanted;
}

// The right to the SCM tier, one to a process.  free --Take: CAS, acq_rel--> taken --Free: release store--> free
// Taking it acquires, so the next owner opens a medium that the last one has closed: a claim outlives what it is for.
class Claim {
 public:
  Claim() = default;
  ~Claim() { Free(); }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

  bool Take() {
    assert(!held_);
    bool free = false;
    held_ = taken_.compare_exchange_strong(free, true, std::memory_order_acq_rel, std::memory_order_relaxed);
    return held_;
  }
  void Free() {
    if (held_) taken_.store(false, std::memory_order_release);
    held_ = false;
  }

 private:
  static inline std::atomic<bool> taken_{false};
  bool held_ = false;
};

// Whether a cache has had its one chance at the SCM tier. Exactly one thread gets it; the others do not wait.
class Chance {
 public:
  bool gone() const { return gone_.load(std::memory_order_relaxed); }
  bool Take() { return !gone() && !gone_.exchange(true, std::memory_order_relaxed); }

 private:
  std::atomic<bool> gone_{false};  // publishes nothing
};

void TellTaken(const char* name) {
  Tell(fmt::format("MEZZANINE_CACHE: another cache of this process has the SCM tier, so this {} goes without", name));
}

void TellSecondary(const char* name) {
  Tell(fmt::format("MEZZANINE_CACHE: this {} has a secondary cache already, so it is left as it is", name));
}

// A base class, because the other one closes the medium, and bases go in the reverse of their order.
struct ClaimHolder {
  Claim claim_;
};

#if ROCKSDB_MAJOR < 8

// An LRUCache, until the first block comes.
class PreloadedCache final : private ClaimHolder, public HybridCacheV7 {
 public:
  PreloadedCache(const rocksdb::LRUCacheOptions& dram, const HybridCacheOptions& wanted)
      : HybridCacheV7(dram), wanted_(wanted) {}
  ~PreloadedCache() override { ReportAtEnd(*this); }

  // Until then this is what the program believes it is.
  const char* Name() const override { return armed() ? HybridCacheV7::Name() : "LRUCache"; }
  using HybridCacheV7::Insert;
  rocksdb::Status Insert(const Slice& key, void* value, const CacheItemHelper* helper, size_t charge, Handle** handle,
                         Priority priority) override {
    if (!chance_.gone() && helper != nullptr && helper->size_cb != nullptr && key.size() == BlockKey::kBytes &&
        chance_.Take()) {
      OpenScm();
    }
    return HybridCacheV7::Insert(key, value, helper, charge, handle, priority);
  }

 private:
  void OpenScm() {
    if (!claim_.Take()) return TellTaken("LRUCache");
    if (const Status status = NoThrow([&] { return Arm(wanted_); }); !status.ok()) {
      claim_.Free();
      return Fail(status);
    }
    KeepReported(*this);
  }

  const HybridCacheOptions& wanted_;
  Chance chance_;
};

CachePtr Make(const MakeRequest<rocksdb::HyperClockCacheOptions>& request) {
  if (Wanted() != nullptr) {
    Tell(
        "MEZZANINE_CACHE: the HyperClockCache of RocksDB 7.8 cannot tell what it evicts, so it is left as it is: make "
        "the program use an LRUCache");
  }
  return request.real(&request.options);
}

CachePtr Make(const MakeRequest<rocksdb::LRUCacheOptions>& request) {
  const HybridCacheOptions* const wanted = Wanted();
  if (wanted == nullptr) return request.real(&request.options);
  if (request.options.secondary_cache != nullptr) {
    TellSecondary("LRUCache");
    return request.real(&request.options);
  }
  auto cache = std::make_shared<PreloadedCache>(request.options, *wanted);
  return cache->valid() ? cache : nullptr;
}

#else

// A stock cache, until the first block comes.
class PreloadedCache final : private ClaimHolder, public LateHybridCache {
 public:
  PreloadedCache(CachePtr stock, const HybridCacheOptions& wanted)
      : LateHybridCache(std::move(stock)), wanted_(wanted) {}
  ~PreloadedCache() override {
    if (armed()) ReportAtEnd(stats());
  }

  rocksdb::Status Insert(const Slice& key, ObjectPtr object, const CacheItemHelper* helper, size_t charge,
                         Handle** handle, Priority priority, const Slice& compressed,
                         rocksdb::CompressionType type) override {
    if (!chance_.gone() && helper->IsSecondaryCacheCompatible() && key.size() == BlockKey::kBytes && chance_.Take()) {
      OpenScm();
    }
    return LateHybridCache::Insert(key, object, helper, charge, handle, priority, compressed, type);
  }

 private:
  void OpenScm() {
    if (HearsEvictions()) return TellSecondary(Name());
    if (!claim_.Take()) return TellTaken(Name());
    if (const Status status = NoThrow([&] { return Arm(wanted_); }); !status.ok()) {
      claim_.Free();
      return Fail(status);
    }
    KeepReported(stats());
  }

  const HybridCacheOptions& wanted_;
  Chance chance_;
};

template <typename Options>
CachePtr Make(const MakeRequest<Options>& request) {
  const HybridCacheOptions* const wanted = Wanted();
  CachePtr stock = request.real(&request.options);
  if (wanted == nullptr || stock == nullptr) return stock;
  if (request.options.secondary_cache != nullptr) {
    TellSecondary(stock->Name());
    return stock;
  }
  return std::make_shared<PreloadedCache>(std::move(stock), *wanted);
}

#endif

template <typename Options>
CachePtr Answer(const MakeRequest<Options>& request) {
  tell_failure = request.fail;
  return Make(request);
}

}  // namespace

}  // namespace mezz

#define MEZZ_EXPORT __attribute__((visibility("default")))

extern "C" {

MEZZ_EXPORT const void* mezz_preload_rocksdb() {
  return reinterpret_cast<const void*>(&rocksdb::GetRocksVersionAsString);
}

MEZZ_EXPORT void mezz_preload_make_lru(const mezz::MakeRequest<rocksdb::LRUCacheOptions>& request,
                                       std::shared_ptr<rocksdb::Cache>* made) {
  *made = mezz::Answer(request);
}

MEZZ_EXPORT void mezz_preload_make_hyper_clock(const mezz::MakeRequest<rocksdb::HyperClockCacheOptions>& request,
                                               std::shared_ptr<rocksdb::Cache>* made) {
  *made = mezz::Answer(request);
}

}  // extern "C"
