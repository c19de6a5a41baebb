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
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "fmt/format.h"
#include "integration/hybrid_cache.h"
#include "integration/operator_io.h"
#include "integration/option_table.h"
#include "integration/preload_module.h"
#include "integration/reporter.h"
#include "integration/warming.h"
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

// What the program itself has asked RocksDB to warm a cache with. Its databases are opened with more, for the SCM
// tier's sake; where the cache gets none after all, what the program did not ask for must not push its blocks out of
// DRAM.
//
//   kAsAsked --Raised: CAS--> the most that one of these databases asks for --Raised: CAS--> more
//
// A factory that was raised before shows as one that asks for the best, so what asks for the best is not noted.
// Relaxed: publishes nothing.
class ProgramsWarming {
 public:
  void Raised(Warming chosen) {
    int known = asked_.load(std::memory_order_relaxed);
    while (known < static_cast<int>(chosen) &&
           !asked_.compare_exchange_weak(known, static_cast<int>(chosen), std::memory_order_relaxed)) {
    }
  }
  // RocksDB offers a block that it has written: with LOW priority what a flush has, with BOTTOM what a compaction has,
  // or a blob, which is warmed by an option of its own.
  bool AskedFor(Cache::Priority priority, bool blob) const {
    const int asked = asked_.load(std::memory_order_relaxed);
    if (asked == kAsAsked) return true;
    if (priority == Cache::Priority::BOTTOM)
      return blob || !kWarmsWithCompactions || asked >= static_cast<int>(kBestWarming);
    return asked >= static_cast<int>(Warming::kFlushOnly);
  }

 private:
  static constexpr int kAsAsked = -1;
  std::atomic<int> asked_{kAsAsked};
};

// What a cache of this library is, beside RocksDB's: a base class that outlives the other one, which closes the medium.
class MadeCache {
 public:
  explicit MadeCache(const HybridCacheOptions& wanted) : wanted_(wanted) {}
  virtual HybridStats* StatsIfArmed() = 0;

  // Whether databases may be opened for the sake of the SCM tier.
  bool TakesHeirs() const { return wanted_.heirs && !goes_without_.load(std::memory_order_relaxed); }
  // A database that asks for `chosen` by itself is opened with more.
  void WarmingRaised(Warming chosen) { warming_.Raised(chosen); }

 protected:
  ~MadeCache() = default;

  const HybridCacheOptions& wanted_;
  Claim claim_;
  Chance chance_;
  ProgramsWarming warming_;
  // Its chance has gone, and it has no SCM tier. Relaxed: publishes nothing.
  std::atomic<bool> goes_without_{false};
};

// The caches that this library has made and that live, by the address that RocksDB knows them by.
class MadeCaches {
 public:
  static MadeCaches& Get() {
    static auto* const made = new MadeCaches;  // never destroyed: caches may outlive our statics
    return *made;
  }
  void Add(const Cache* address, MadeCache* cache) {
    const std::unique_lock lock(mutex_);
    made_[address] = cache;
  }
  void Remove(const Cache* address) {
    const std::unique_lock lock(mutex_);
    made_.erase(address);
  }
  // Lives as long as the caller has the cache. Null: not ours.
  MadeCache* Find(const Cache* address) const {
    const std::shared_lock lock(mutex_);
    const auto found = made_.find(address);
    return found == made_.end() ? nullptr : found->second;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<const Cache*, MadeCache*> made_;  // guarded by mutex_
};

#if ROCKSDB_MAJOR < 8

// An LRUCache, until the first block comes.
class PreloadedCache final : public MadeCache, public HybridCacheV7 {
 public:
  PreloadedCache(const rocksdb::LRUCacheOptions& dram, const HybridCacheOptions& wanted)
      : MadeCache(wanted), HybridCacheV7(dram) {
    MadeCaches::Get().Add(this, this);
  }
  ~PreloadedCache() override {
    MadeCaches::Get().Remove(this);
    ReportAtEnd(*this);
  }

  HybridStats* StatsIfArmed() override { return armed() ? this : nullptr; }

  // Until then this is what the program believes it is.
  const char* Name() const override { return armed() ? HybridCacheV7::Name() : "LRUCache"; }
  using HybridCacheV7::Insert;
  rocksdb::Status Insert(const Slice& key, void* value, const CacheItemHelper* helper, size_t charge, Handle** handle,
                         Priority priority) override {
    if (!chance_.gone() && helper != nullptr && helper->size_cb != nullptr && key.size() == BlockKey::kBytes &&
        chance_.Take()) {
      OpenScm();
      goes_without_.store(!armed(), std::memory_order_relaxed);
    }
    if (handle == nullptr && helper != nullptr && key.size() == BlockKey::kBytes && !armed() &&
        !warming_.AskedFor(priority, /*blob=*/false)) {
      helper->del_cb(key, value);
      return rocksdb::Status::OK();
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
class PreloadedCache final : public MadeCache, public LateHybridCache {
 public:
  PreloadedCache(CachePtr stock, const HybridCacheOptions& wanted)
      : MadeCache(wanted), LateHybridCache(std::move(stock)) {
    MadeCaches::Get().Add(this, this);
  }
  ~PreloadedCache() override {
    MadeCaches::Get().Remove(this);
    if (armed()) ReportAtEnd(stats());
  }

  HybridStats* StatsIfArmed() override { return armed() ? &stats() : nullptr; }

  rocksdb::Status Insert(const Slice& key, ObjectPtr object, const CacheItemHelper* helper, size_t charge,
                         Handle** handle, Priority priority, const Slice& compressed,
                         rocksdb::CompressionType type) override {
    if (!chance_.gone() && helper->IsSecondaryCacheCompatible() && key.size() == BlockKey::kBytes && chance_.Take()) {
      OpenScm();
      goes_without_.store(!armed(), std::memory_order_relaxed);
    }
    if (handle == nullptr && key.size() == BlockKey::kBytes && !armed() &&
        !warming_.AskedFor(priority, helper->role == rocksdb::CacheEntryRole::kBlobValue)) {
      helper->del_cb(object, memory_allocator());
      return rocksdb::Status::OK();
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

const CacheHooks& Hooks() {
  static const auto* const hooks =
      new CacheHooks{.may_warm =
                         [](const Cache& cache, Warming chosen) {
                           MadeCache* const made = MadeCaches::Get().Find(&cache);
                           if (made == nullptr || !made->TakesHeirs()) return false;
                           made->WarmingRaised(chosen);
                           return true;
                         },
                     .listener = [](const CachePtr& cache) -> std::shared_ptr<rocksdb::EventListener> {
                       MadeCache* const made = MadeCaches::Get().Find(cache.get());
                       if (made == nullptr || !made->TakesHeirs()) return nullptr;
                       return MakeDeadFileListener([cache, made] { return made->StatsIfArmed(); });
                     }};
  return *hooks;
}

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

MEZZ_EXPORT void mezz_preload_raise_warming(const rocksdb::ColumnFamilyOptions& family,
                                            const rocksdb::DBOptions& options) {
  mezz::RaiseWarming(family, options, mezz::Hooks());
}

MEZZ_EXPORT void mezz_preload_with_listeners(const rocksdb::DBOptions& options, const mezz::Families& families,
                                             std::unique_ptr<rocksdb::DBOptions>* with) {
  *with = mezz::WithListeners(options, families, mezz::Hooks());
}

}  // extern "C"
