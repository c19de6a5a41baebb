// SPDX-License-Identifier: Apache-2.0
// libmezzanine_preloaded.so: the program's own cache, of the kind and size it asked for, with the SCM tier underneath.
//
// Which cache is the block cache cannot be told when it is made: RocksDB makes table caches, row caches and the insides
// of compressed secondary caches with the same functions, and a default block cache of 32 MiB that most programs throw
// away. So each cache is made ready, and the first to which RocksDB gives a block that SCM can hold gets the SCM tier:
// then, not before, the medium is opened. Its owner keeps it until it is destroyed; meanwhile others stay as they are.
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
#include "integration/preload_module.h"
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
    Fail(status);
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
      return Fail(status);
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
