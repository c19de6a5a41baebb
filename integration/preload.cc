// SPDX-License-Identifier: Apache-2.0
// libmezzanine_preload.so: puts the hybrid cache under a program that has no flag for it.
//
//   LD_PRELOAD=libmezzanine_preload.so MEZZANINE_CACHE='mezzanine://scm=1G;scm_path=/mnt/pmem0/mezz' program ...
//
// It interposes the functions that make RocksDB's caches. The program's own cache, of the kind and size it asked for,
// becomes the DRAM tier. MEZZANINE_CACHE unset: nothing changes.
//
// Which cache is the block cache cannot be told when it is made: RocksDB makes table caches, row caches and the insides
// of compressed secondary caches with the same functions, and a default block cache of 32 MiB that most programs throw
// away. So each cache is made ready, and the first to which RocksDB gives a block that SCM can hold gets the SCM tier:
// then, not before, the medium is opened. Its owner keeps it until it is destroyed; meanwhile others stay as they are.
//
// Programs that never make a cache (env, timeout, a shell) are not judged. A URI or a medium that is no good is told on
// stderr, and the program goes on with its own cache; with MEZZANINE_STRICT=1 it ends with status 2.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "fmt/format.h"
#include "integration/hybrid_cache.h"
#include "integration/operator_io.h"
#include "integration/option_table.h"
#include "integration/reporter.h"
#include "rocksdb/version.h"

#if ROCKSDB_MAJOR < 8
#include "integration/hybrid_cache_v7.h"
#else
#include "integration/rocksdb_compat.h"
#endif

namespace mezz {

namespace {

using rocksdb::Cache;
using rocksdb::Slice;
using CachePtr = std::shared_ptr<Cache>;

constexpr int kStrictStatus = 2;

// Ends the program if it asked for that; else the sentence has been said and it goes on.
void Fail(const std::string& sentence) {
  const char* const strict = std::getenv("MEZZANINE_STRICT");
  const bool end = strict != nullptr && std::strcmp(strict, "1") == 0;
  Tell(fmt::format("MEZZANINE_CACHE: {}; {}", InKeys(sentence),
                   end ? "the program ends, as MEZZANINE_STRICT=1 asks" : "the program goes on with its own cache"));
  if (end) _exit(kStrictStatus);  // not exit(): other threads may be inside RocksDB
}

// What MEZZANINE_CACHE says, judged when the program first makes a cache. Null: leave every cache alone.
const HybridCacheOptions* Wanted() {
  static const HybridCacheOptions* const wanted = []() -> const HybridCacheOptions* {
    const char* const uri = std::getenv("MEZZANINE_CACHE");
    if (uri == nullptr || *uri == '\0' || !RocksDBMatches()) return nullptr;
    auto options = std::make_unique<HybridCacheOptions>();
    if (const Status status = ParseWrapUri(uri, options.get()); !status.ok()) {
      Fail(status.message());
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

// Set while a maker of ours runs: what it makes is not to be wrapped again.
thread_local bool making = false;

class MakingScope {
 public:
  MakingScope() { making = true; }
  ~MakingScope() { making = false; }
};

// The function that ours hides. Null, and told once, where the program's RocksDB has none: it then gets no cache, as
// from a maker whose options are no good.
template <typename Function>
Function Real(const char* mangled) {
  void* const address = dlsym(RTLD_NEXT, mangled);
  if (address == nullptr) Tell(fmt::format("{}: not found in this program's RocksDB", mangled));
  return reinterpret_cast<Function>(address);
}

#if ROCKSDB_MAJOR < 8

// A base class, because the other one closes the medium, and bases go in the reverse of their order.
struct ClaimHolder {
  Claim claim_;
};

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
    HybridCacheOptions options = wanted_;
    options.dram_cache = DramCacheKind::kLru;
    options.dram_bytes = std::min<uint64_t>(GetCapacity(), ThisMachine().memory_bytes);  // as WrapCache
    options.strict_capacity_limit = HasStrictCapacityLimit();
    const Status status = NoThrow([&] {
      std::unique_ptr<HybridCore> core;
      MEZZ_RETURN_IF_ERROR(HybridCore::Open(options, &core));
      Arm(std::move(core));
      return Status::Ok();
    });
    if (status.ok()) return KeepReported(*this);
    claim_.Free();
    Fail(status.message());
  }

  const HybridCacheOptions& wanted_;
  Chance chance_;
};

CachePtr MakeLru(const rocksdb::LRUCacheOptions& options) {
  using Maker = CachePtr (*)(const rocksdb::LRUCacheOptions&);
  static const auto real = Real<Maker>("_ZN7rocksdb11NewLRUCacheERKNS_15LRUCacheOptionsE");
  if (real == nullptr) return nullptr;
  const HybridCacheOptions* const wanted = making ? nullptr : Wanted();
  if (wanted == nullptr) return real(options);
  if (options.secondary_cache != nullptr) {
    TellSecondary("LRUCache");
    return real(options);
  }
  const MakingScope scope;
  auto cache = std::make_shared<PreloadedCache>(options, *wanted);
  return cache->valid() ? cache : nullptr;
}

CachePtr MakeHyperClock(const rocksdb::HyperClockCacheOptions* options) {
  using Maker = CachePtr (*)(const rocksdb::HyperClockCacheOptions*);
  static const auto real = Real<Maker>("_ZNK7rocksdb22HyperClockCacheOptions15MakeSharedCacheEv");
  if (Wanted() != nullptr) {
    Tell(
        "MEZZANINE_CACHE: the HyperClockCache of RocksDB 7.8 cannot tell what it evicts, so it is left as it is: make "
        "the program use an LRUCache");
  }
  return real == nullptr ? nullptr : real(options);
}

#else

// Stands between the stock cache and the HybridCache that comes later. RocksDB takes an eviction callback only before a
// cache is used, so one is set at once, and this decides who hears of an eviction: nobody until the hybrid cache is
// there, then that one. Or, from the start, whoever set a callback on the program's side: a RocksDB that puts a
// secondary cache of its own over this cache.
class EvictionSwitch final : public rocksdb::CacheWrapper {
 public:
  EvictionSwitch(CachePtr stock, const EvictionCallback& program_side)
      : CacheWrapper(std::move(stock)), program_side_(program_side) {
    if (auto* const allocator = target_->memory_allocator()) {
      memory_allocator_ = std::shared_ptr<rocksdb::MemoryAllocator>(target_, allocator);
    }
    target_->SetEvictionCallback([this](const Slice& key, Handle* handle, bool was_hit) {
      if (on_.load(std::memory_order_acquire)) return eviction_callback_(key, handle, was_hit);
      return program_side_ && program_side_(key, handle, was_hit);
    });
  }
  ~EvictionSwitch() override { target_->SetEvictionCallback({}); }

  // The hybrid cache has set its callback on this object, which evictions on other threads may now see.
  void TurnOn() { on_.store(true, std::memory_order_release); }

  const char* Name() const override { return target_->Name(); }
  using CacheWrapper::Release;
  bool Release(Handle* handle, bool useful, bool erase_if_last_ref) override {
    return target_->Release(handle, useful, erase_if_last_ref);
  }
  void DisownData() override { target_->DisownData(); }
  std::string GetPrintableOptions() const override { return target_->GetPrintableOptions(); }
  // "Not supported": the stock cache may hold reservations already, and WrapCache wants a cache that is not in use.
  size_t GetOccupancyCount() const override { return std::numeric_limits<size_t>::max(); }

 private:
  const EvictionCallback& program_side_;
  std::atomic<bool> on_{false};
};

// A stock cache until the first block comes, a hybrid cache from then on. Handles are the stock cache's throughout, so
// what is done with a handle, but for erasing it, goes straight there.
class PreloadedCache final : public rocksdb::CacheWrapper {
 public:
  PreloadedCache(CachePtr stock, const HybridCacheOptions& wanted)
      : CacheWrapper(std::move(stock)),
        wanted_(wanted),
        switch_(std::make_shared<EvictionSwitch>(target_, eviction_callback_)),
        current_(target_.get()) {
    if (auto* const allocator = target_->memory_allocator()) {
      memory_allocator_ = std::shared_ptr<rocksdb::MemoryAllocator>(target_, allocator);
    }
  }
  ~PreloadedCache() override {
    if (hybrid_ != nullptr) ReportAtEnd(*GetHybridStats(hybrid_.get()));
  }

  const char* Name() const override { return current()->Name(); }
  rocksdb::Status Insert(const Slice& key, ObjectPtr object, const CacheItemHelper* helper, size_t charge,
                         Handle** handle, Priority priority, const Slice& compressed,
                         rocksdb::CompressionType type) override {
    if (!chance_.gone() && helper->IsSecondaryCacheCompatible() && key.size() == BlockKey::kBytes && chance_.Take()) {
      OpenScm();
    }
    return current()->Insert(key, object, helper, charge, handle, priority, compressed, type);
  }
  Handle* CreateStandalone(const Slice& key, ObjectPtr object, const CacheItemHelper* helper, size_t charge,
                           bool allow_uncharged) override {
    return current()->CreateStandalone(key, object, helper, charge, allow_uncharged);
  }
  Handle* Lookup(const Slice& key, const CacheItemHelper* helper, CreateContext* context, Priority priority,
                 rocksdb::Statistics* stats) override {
    return current()->Lookup(key, helper, context, priority, stats);
  }
  // To erase concerns the SCM tier too; all other releases take the short way.
  bool Release(Handle* handle, bool erase_if_last_ref) override {
    return (erase_if_last_ref ? current() : target_.get())->Release(handle, erase_if_last_ref);
  }
  bool Release(Handle* handle, bool useful, bool erase_if_last_ref) override {
    return (erase_if_last_ref ? current() : target_.get())->Release(handle, useful, erase_if_last_ref);
  }
  void Erase(const Slice& key) override { current()->Erase(key); }
  uint64_t NewId() override { return current()->NewId(); }
  void EraseUnRefEntries() override { current()->EraseUnRefEntries(); }
  void StartAsyncLookup(AsyncLookupHandle& handle) override { current()->StartAsyncLookup(handle); }
  void WaitAll(AsyncLookupHandle* handles, size_t count) override { current()->WaitAll(handles, count); }
  rocksdb::Status GetSecondaryCacheCapacity(size_t& bytes) const override {
    return current()->GetSecondaryCacheCapacity(bytes);
  }
  rocksdb::Status GetSecondaryCachePinnedUsage(size_t& bytes) const override {
    return current()->GetSecondaryCachePinnedUsage(bytes);
  }
  void DisownData() override { current()->DisownData(); }
  std::string GetPrintableOptions() const override { return current()->GetPrintableOptions(); }
  void ReportProblems(const std::shared_ptr<rocksdb::Logger>& log) const override { current()->ReportProblems(log); }

 private:
  Cache* current() const { return current_.load(std::memory_order_acquire); }

  void OpenScm() {
    if (eviction_callback_) return TellSecondary(target_->Name());
    if (!claim_.Take()) return TellTaken(target_->Name());
    if (const Status status = NoThrow([&] { return WrapCache(switch_, wanted_, &hybrid_); }); !status.ok()) {
      claim_.Free();
      return Fail(status.message());
    }
    KeepReported(*GetHybridStats(hybrid_.get()));
    switch_->TurnOn();
    current_.store(hybrid_.get(), std::memory_order_release);
  }

  const HybridCacheOptions& wanted_;
  const std::shared_ptr<EvictionSwitch> switch_;
  Chance chance_;
  Claim claim_;      // outlives...
  CachePtr hybrid_;  // ...what closes the medium
  // the stock cache --OpenScm: release store--> the hybrid cache; acquire loads see it whole. Never changes again.
  std::atomic<Cache*> current_;
};

template <typename Options>
CachePtr Make(const char* mangled, const Options* options) {
  using Maker = CachePtr (*)(const Options*);
  static const auto real = Real<Maker>(mangled);  // a member function's `this` is its first argument
  if (real == nullptr) return nullptr;
  const HybridCacheOptions* const wanted = making ? nullptr : Wanted();
  if (wanted == nullptr) return real(options);
  const MakingScope scope;
  CachePtr stock = real(options);
  if (stock == nullptr) return stock;
  if (options->secondary_cache != nullptr) {
    TellSecondary(stock->Name());
    return stock;
  }
  return std::make_shared<PreloadedCache>(std::move(stock), *wanted);
}

#endif

}  // namespace

}  // namespace mezz

#define MEZZ_INTERPOSE __attribute__((visibility("default")))

namespace ROCKSDB_NAMESPACE {

#if ROCKSDB_MAJOR < 8

MEZZ_INTERPOSE std::shared_ptr<Cache> NewLRUCache(const LRUCacheOptions& options) { return mezz::MakeLru(options); }

MEZZ_INTERPOSE std::shared_ptr<Cache> NewLRUCache(size_t capacity, int num_shard_bits, bool strict_capacity_limit,
                                                  double high_pri_pool_ratio,
                                                  std::shared_ptr<MemoryAllocator> memory_allocator,
                                                  bool use_adaptive_mutex,
                                                  CacheMetadataChargePolicy metadata_charge_policy,
                                                  double low_pri_pool_ratio) {
  LRUCacheOptions options(capacity, num_shard_bits, strict_capacity_limit, high_pri_pool_ratio,
                          std::move(memory_allocator), use_adaptive_mutex, metadata_charge_policy, low_pri_pool_ratio);
  return mezz::MakeLru(options);
}

MEZZ_INTERPOSE std::shared_ptr<Cache> HyperClockCacheOptions::MakeSharedCache() const {
  return mezz::MakeHyperClock(this);
}

#else

MEZZ_INTERPOSE std::shared_ptr<Cache> LRUCacheOptions::MakeSharedCache() const {
  return mezz::Make("_ZNK7rocksdb15LRUCacheOptions15MakeSharedCacheEv", this);
}

MEZZ_INTERPOSE std::shared_ptr<Cache> HyperClockCacheOptions::MakeSharedCache() const {
  return mezz::Make("_ZNK7rocksdb22HyperClockCacheOptions15MakeSharedCacheEv", this);
}

#endif

}  // namespace ROCKSDB_NAMESPACE
