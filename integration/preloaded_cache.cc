// SPDX-License-Identifier: Apache-2.0
// libmezzanine_preloaded.so: the program's own cache, of the kind and size it asked for, with the SCM tier underneath.
//
// Which cache is the block cache cannot be told when it is made: RocksDB makes table caches, row caches and the insides
// of compressed secondary caches with the same functions, and a default block cache of 32 MiB that most programs throw
// away. So each cache is made ready, and the first to which RocksDB gives a block that SCM can hold gets the SCM tier:
// then, not before, the medium is opened. Its owner keeps it until it is destroyed; others wait for it (made_cache.h).
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "cache/base/if_memory.h"
#include "cache/base/text.h"
#include "fmt/format.h"
#include "integration/hybrid_cache.h"
#include "integration/made_cache.h"
#include "integration/option_table.h"
#include "integration/preload_module.h"
#include "integration/reporter.h"
#include "integration/tell.h"
#include "integration/warming.h"
#include "rocksdb/version.h"

#if ROCKSDB_MAJOR < 8
#include "integration/hybrid_cache_v7.h"
#else
#include "integration/deferred_hybrid_cache.h"
#include "integration/undumped_allocator.h"
#endif
#ifdef MEZZ_FOR_ROCKSJAVA
#include "integration/jvm/judge.h"
#endif

namespace mezz {

namespace {

using rocksdb::Cache;
using rocksdb::Slice;
using CachePtr = std::shared_ptr<Cache>;

// What the library that the program was started with does about a failure: one for all requests.
// Relaxed: threads that make caches at once store the same.
std::atomic<TellFailure> tell_failure{nullptr};

struct Settings {
  HybridCacheOptions options;
  // How long a cache goes on asking for a medium that another process holds.
  std::chrono::milliseconds wait = std::chrono::minutes(5);
};

// In a JVM SIGBUS stays the JVM's, which turns one into an error of the one thread.
Status ReadUri(const char* uri, HybridCacheOptions* options) {
#ifdef MEZZ_FOR_ROCKSJAVA
  MEZZ_RETURN_IF_ERROR(ParseWrapUri(uri, options, ThisMachine(), BusErrorMode::kFatal));
  return JudgeForTheJvm(*options);
#else
  return ParseWrapUri(uri, options);
#endif
}

Status ReadSettings(const char* uri, Settings* settings) {
  MEZZ_RETURN_IF_ERROR(ReadUri(uri, &settings->options));
  const char* const wait = std::getenv("MEZZANINE_WAIT");
  if (wait == nullptr || *wait == '\0') return Status::Ok();
  uint64_t ms = 0;
  MEZZ_RETURN_IF_ERROR(ParseTime("MEZZANINE_WAIT", wait, &ms));
  settings->wait = std::chrono::milliseconds(ms);
  return Status::Ok();
}

// What MEZZANINE_CACHE and MEZZANINE_WAIT say, judged when the program first makes a cache. Null: leave every cache
// alone.
const Settings* Wanted() {
  static const Settings* const wanted = []() -> const Settings* {
    const char* const uri = std::getenv("MEZZANINE_CACHE");
    if (uri == nullptr) return nullptr;
    auto settings = std::make_unique<Settings>();
    if (const Status status = ReadSettings(uri, settings.get()); !status.ok()) {
      tell_failure.load(std::memory_order_relaxed)(InKeys(status.message()));
      return nullptr;
    }
    HearReportSignal();
    return settings.release();  // never destroyed: caches may outlive our statics
  }();
  return wanted;
}

void TellSecondary(const char* name) {
  Tell(fmt::format("MEZZANINE_CACHE: this {} has a secondary cache already, so it is left as it is", name));
}

#if ROCKSDB_MAJOR < 8

// An LRUCache, until the first block comes.
class PreloadedCache final : public MadeCache, public HybridCacheV7 {
 public:
  PreloadedCache(const rocksdb::LRUCacheOptions& dram, const Settings& wanted)
      : MadeCache("LRUCache", wanted.options, wanted.wait, tell_failure.load(std::memory_order_relaxed)),
        HybridCacheV7(dram) {
    if (valid()) Enter();
  }
  ~PreloadedCache() override { Leave(); }

  HybridStats* StatsIfArmed() override { return armed() ? this : nullptr; }
  const rocksdb::Cache& rocksdb_cache() const override { return *this; }

  // Until then this is what the program believes it is.
  const char* Name() const override { return armed() ? HybridCacheV7::Name() : "LRUCache"; }
  using HybridCacheV7::Insert;
  rocksdb::Status Insert(const Slice& key, void* value, const CacheItemHelper* helper, size_t charge, Handle** handle,
                         Priority priority) override {
    if (WantsTier() && helper != nullptr && helper->size_cb != nullptr && key.size() == BlockKey::kBytes) AskForTier();
    if (handle == nullptr && helper != nullptr && key.size() == BlockKey::kBytes && !armed() &&
        !warming_.AskedFor(priority, /*blob=*/false)) {
      helper->del_cb(key, value);
      return rocksdb::Status::OK();
    }
    return HybridCacheV7::Insert(key, value, helper, charge, handle, priority);
  }

 private:
  Status OpenTier(const HybridCacheOptions& options) override { return Arm(options); }
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
  const Settings* const wanted = Wanted();
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
class PreloadedCache final : public MadeCache, public DeferredHybridCache {
 public:
  PreloadedCache(CachePtr stock, const Settings& wanted)
      : MadeCache(stock->Name(), wanted.options, wanted.wait, tell_failure.load(std::memory_order_relaxed)),
        DeferredHybridCache(std::move(stock)) {
    Enter();
  }
  // Others may share the tier on. What this cache held in DRAM is theirs no more: it goes to the tier.
  ~PreloadedCache() override {
    Leave();
    if (hybrid().use_count() > 1) (void)IfThereIsMemory([this] { hybrid()->SetCapacity(0); });
  }

  HybridStats* StatsIfArmed() override { return armed() ? &stats() : nullptr; }
  const rocksdb::Cache& rocksdb_cache() const override { return *this; }

  rocksdb::Status Insert(const Slice& key, ObjectPtr object, const CacheItemHelper* helper, size_t charge,
                         Handle** handle, Priority priority, const Slice& compressed,
                         rocksdb::CompressionType type) override {
    if (WantsTier() && helper->IsSecondaryCacheCompatible() && key.size() == BlockKey::kBytes) AskForTier();
    if (handle == nullptr && key.size() == BlockKey::kBytes && !armed() &&
        !warming_.AskedFor(priority, helper->role == rocksdb::CacheEntryRole::kBlobValue)) {
      helper->del_cb(object, memory_allocator());
      return rocksdb::Status::OK();
    }
    return DeferredHybridCache::Insert(key, object, helper, charge, handle, priority, compressed, type);
  }

 private:
  Status OpenTier(const HybridCacheOptions& options) override { return Arm(options); }
  std::shared_ptr<Cache> SharedTier() const override { return hybrid(); }
  Status JoinTier(const CachePtr& main, const std::string& name, const DatabaseLimits& limits) override {
    return ArmAsDatabase(main, name, limits);
  }
  bool HasSecondary() const override { return HearsEvictions(); }
};

template <typename Options>
CachePtr Make(const MakeRequest<Options>& request) {
  const Settings* const wanted = Wanted();
  Options options = request.options;
  if (wanted != nullptr && wanted->options.scm.core_dump == CoreDump::kNone && options.memory_allocator == nullptr)
    options.memory_allocator = UndumpedAllocator::Get();
  CachePtr stock = request.real(&options);
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
                           MadeCache* const made = MadeCaches::Find(&cache);
                           if (made == nullptr || !made->TakesHeirs()) return false;
                           made->WarmingRaised(chosen);
                           return true;
                         },
                     .listener = [](const CachePtr& cache) -> std::shared_ptr<rocksdb::EventListener> {
                       MadeCache* const made = MadeCaches::Find(cache.get());
                       if (made == nullptr || !made->TakesHeirs()) return nullptr;
                       return MakeDeadFileListener([cache, made] { return made->StatsIfArmed(); });
                     }};
  return *hooks;
}

// Which caches the database has is told where they are many.
void NoteDatabase(const std::string& name, const Families& families) noexcept {
  (void)IfThereIsMemory([&] {
    for (const rocksdb::ColumnFamilyDescriptor& family : families) {
      const rocksdb::BlockBasedTableOptions* const table = TableOptionsOf(family.options.table_factory.get());
      if (table == nullptr || table->block_cache == nullptr) continue;
      if (MadeCache* const made = MadeCaches::Find(table->block_cache.get())) made->UsedBy(name);
    }
  });
}

template <typename Options>
CachePtr Answer(const MakeRequest<Options>& request) {
  tell_failure.store(request.fail, std::memory_order_relaxed);
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

MEZZ_EXPORT void mezz_preload_with_listeners(const rocksdb::DBOptions& options, const std::string& name,
                                             const mezz::Families& families,
                                             std::unique_ptr<rocksdb::DBOptions>* with) {
  mezz::NoteDatabase(name, families);
  *with = mezz::WithListeners(options, families, mezz::Hooks());
}

}  // extern "C"
