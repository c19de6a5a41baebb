// SPDX-License-Identifier: Apache-2.0
#include "integration/hybrid_cache.h"

#include <fmt/format.h>

#include <atomic>
#include <string_view>
#include <utility>

#include "integration/cached_object.h"
#include "integration/closing.h"
#include "integration/core_stats.h"
#include "integration/database_user.h"
#include "integration/dram_look_up.h"
#include "integration/evictions.h"
#include "integration/hybrid_core.h"
#include "integration/hybrid_registry.h"
#include "integration/inserts.h"
#include "integration/made_hybrid_cache.h"
#include "integration/new_ids.h"
#include "integration/parents.h"
#include "integration/read_back.h"
#include "integration/rocksdb_compat.h"
#include "integration/scm_hits.h"
#include "integration/stock_tier.h"

namespace mezz {
namespace {

using rocksdb::Slice;

// This thread's latest look-up, in any cache, missed the DRAM tier: the next one may need the SCM tier's index too. A
// prefetch hides its latency behind the DRAM tier's look-up, but where all hits are DRAM hits it would add an eighth.
thread_local constinit bool missed_dram = false;

// A stock cache (`target_`, the DRAM tier) with the SCM tier behind it. Every handle is a plain handle of the target,
// so whatever is done with a handle is forwarded as it is. Keeps no state per handle, and takes no lock for a hit.
//
// Where one thread at a time inserts and erases a key, no older version of it is found once Insert or Erase has
// returned, whatever moves meanwhile: docs/explanation/synchronization.md, "Between the tiers".
class HybridCache final : public rocksdb::CacheWrapper, public CoreStats {
 public:
  // Moves are guarded by the core already. `main` is null for the cache itself, and for a database the cache whose core
  // this is. Open one or the other before the first look-up.
  HybridCache(std::shared_ptr<rocksdb::Cache> dram, HybridCore& core, std::shared_ptr<rocksdb::Cache> main);
  void OpenMain(std::unique_ptr<HybridCore> core);
  Status OpenDatabase(std::string_view name, const DatabaseLimits& limits, bool divides_dram);
  ~HybridCache() override { CloseOver(core_, user_, parents_, dram_, disowned_.load(std::memory_order_relaxed)); }

  // RocksDB only prints it (LOG, statistics), and a log that says "LRUCache" would hide what serves.
  const char* Name() const override { return "MezzanineHybridCache"; }

  rocksdb::Status Insert(const Slice& key, ObjectPtr obj, const CacheItemHelper* helper, size_t charge, Handle** handle,
                         Priority priority, const Slice& compressed, rocksdb::CompressionType type) override {
    return inserts_.Insert({key, {obj, charge}, helper, priority, compressed, type}, handle);
  }
  Handle* Lookup(const Slice& key, const CacheItemHelper* helper, CreateContext* context, Priority priority,
                 rocksdb::Statistics* stats) override;
  Handle* CreateStandalone(const Slice& key, ObjectPtr obj, const CacheItemHelper* helper, size_t charge,
                           bool allow_uncharged) override {
    const MoveGate::Window window(core_.gate());  // it is charged, so it may evict
    return target_->CreateStandalone(key, obj, helper, charge, allow_uncharged);
  }
  void SetCapacity(size_t bytes) override;
  void SetStrictCapacityLimit(bool strict) override { dram_.SetStrict(strict); }
  void Erase(const Slice& key) override { inserts_.Erase(key); }
  // Forgets the SCM tier's blocks as well, those in use included: their bytes stay readable. A database that shares the
  // tier leaves them: they may be others'.
  void EraseUnRefEntries() override;
  uint64_t NewId() override { return ids_.Of(target_->NewId()); }

  // The base class's do the look-up at once through our Lookup; CacheWrapper's would ask the target alone.
  void StartAsyncLookup(AsyncLookupHandle& handle) override { Cache::StartAsyncLookup(handle); }
  void WaitAll(AsyncLookupHandle* handles, size_t count) override { Cache::WaitAll(handles, count); }

  // The way back of an in-place object: its last release destroys it, its bytes go back to the AdoptingAllocator, and
  // AdoptingAllocator::Deallocate, which knows them by their address, takes the pin off their segment.
  bool Release(Handle* handle, bool erase_if_last_ref) override {
    return Release(handle, /*useful=*/true, erase_if_last_ref);
  }
  bool Release(Handle* handle, bool useful, bool erase_if_last_ref) override {
    if (erase_if_last_ref) inserts_.EraseRecordOf(handle);
    return dram_.Release(handle, useful, erase_if_last_ref);
  }
  void DisownData() override {
    disowned_.store(true, std::memory_order_relaxed);
    target_->DisownData();
  }

  // Capacity, usage and ApplyToAllEntries are the DRAM tier's, with what is kept beside its shards: they speak of
  // objects, and callers size memtables and reservations by them. The SCM tier answers as RocksDB's secondary cache.
  using CacheWrapper::GetUsage;
  size_t GetCapacity() const override {
    return dram_.capacity() + (user_.is_main() ? core_.databases().given_bytes() : 0);
  }
  size_t GetUsage() const override { return dram_.usage(); }
  size_t GetPinnedUsage() const override { return dram_.pinned_usage(); }
  size_t GetOccupancyCount() const override { return dram_.occupancy(); }
  void ApplyToAllEntries(const StockTier::Visit& callback, const ApplyToAllEntriesOptions& options) override {
    dram_.ForEach(callback, options);
  }
  rocksdb::Status GetSecondaryCacheCapacity(size_t& bytes) const override {
    bytes = core_.scm().figures().capacity_bytes();
    return rocksdb::Status::OK();
  }
  rocksdb::Status GetSecondaryCachePinnedUsage(size_t& bytes) const override {
    bytes = core_.scm().figures().pinned_bytes();
    return rocksdb::Status::OK();
  }
  std::string GetPrintableOptions() const override {
    return target_->GetPrintableOptions() + core_.Report(UriKind::kHybrid, CacheCurve::Which::kLast);
  }
  void ReportProblems(const std::shared_ptr<rocksdb::Logger>& log) const override {
    target_->ReportProblems(log);
    core_.LogProblems(Counters(), log.get());
    rocksdb::Info(log, "mezzanine: state of the hybrid cache\n%s", Report().c_str());
  }

  ReadBack* read_back() override { return parents_.read_back(); }
  CounterSnapshot Counters() const override { return user_.is_main() ? core_.Snapshot() : user_.Snapshot(); }
  Status MakeDatabaseCache(const std::shared_ptr<rocksdb::Cache>& self, std::string_view name,
                           const DatabaseLimits& limits, std::shared_ptr<rocksdb::Cache> own_dram,
                           std::shared_ptr<rocksdb::Cache>* view) override;
  Status SetDatabaseLimits(const DatabaseLimits& limits) override { return user_.SetLimits(limits); }

 private:
  HybridCore& stats_core() const override { return core_; }
  static BlockRole RoleOf(const CacheItemHelper* helper) { return CachedObject::RoleOf(helper); }
  void Count(Event event, const CacheItemHelper* helper) { user_.counters().Add(event, RoleOf(helper)); }

  void OnEvicted(const Slice& key, Handle* handle, bool was_hit) noexcept;

  std::unique_ptr<HybridCore> own_core_;  // null for a database that shares another cache's
  HybridCore& core_;
  DatabaseUser user_;
  bool divides_dram_ = false;  // set before the first look-up
  StockTier dram_;
  std::atomic<bool> disowned_{false};  // relaxed: read when nobody uses the cache any more
  Parents parents_;
  Inserts inserts_;
  ScmHits hits_;
  const NewIds ids_;
  const HybridRegistration registration_;
};

HybridCache::HybridCache(std::shared_ptr<rocksdb::Cache> dram, HybridCore& core, std::shared_ptr<rocksdb::Cache> main)
    : CacheWrapper(std::move(dram)),
      core_(core),
      user_(core, std::move(main)),
      dram_(*target_, core.gate(),
            [this](const Slice& key, Handle* handle, bool was_hit) { OnEvicted(key, handle, was_hit); }),
      parents_(core, user_, this),
      inserts_(core, user_, parents_, dram_, *target_),
      hits_(core, user_, parents_, dram_, *target_),
      registration_(static_cast<const rocksdb::Cache*>(this), this) {
  memory_allocator_ = WrappedAllocator(target_);
}

void HybridCache::OpenMain(std::unique_ptr<HybridCore> core) {
  own_core_ = std::move(core);
  core_.OwnDramTier(user_.DramPartOf(dram_));
  if (std::string_view(target_->Name()) == "AutoHyperClockCache")
    core_.observers().KeepHitBits(core_.options().dram_bytes);
  core_.ShowReadBack(read_back());
  core_.FollowDram();
  core_.ServeMetrics([this] { return DramTierUse{.bytes = GetUsage(), .pinned_bytes = GetPinnedUsage()}; });
}

Status HybridCache::OpenDatabase(std::string_view name, const DatabaseLimits& limits, bool divides_dram) {
  DatabaseShares::DramPart dram = user_.DramPartOf(dram_);
  divides_dram_ = divides_dram;
  if (!divides_dram) dram.resize = {};
  return user_.Open(name, limits, std::move(dram));
}

// A database may be one of a database's cache, too: then it shares the same.
Status HybridCache::MakeDatabaseCache(const std::shared_ptr<rocksdb::Cache>& self, std::string_view name,
                                      const DatabaseLimits& limits, std::shared_ptr<rocksdb::Cache> own_dram,
                                      std::shared_ptr<rocksdb::Cache>* view) {
  const bool divides_dram = own_dram == nullptr;
  if (divides_dram) own_dram = MakeDramTier(core_.options());
  if (own_dram == nullptr) return Status::NoSpace(fmt::format("share={}: RocksDB refused its DRAM tier", name));
  auto made = std::make_shared<HybridCache>(std::move(own_dram), core_, user_.is_main() ? self : user_.main());
  MEZZ_RETURN_IF_ERROR(made->OpenDatabase(name, limits, divides_dram));
  *view = std::move(made);
  return Status::Ok();
}

void HybridCache::SetCapacity(size_t bytes) {
  if (user_.is_main()) return core_.SetDramCapacity(bytes);
  if (divides_dram_) return;  // its part of the DRAM is what the division gives
  {
    const MoveGate::Window window(core_.gate());
    dram_.Resize(bytes);
  }
  core_.TellDramApart();
}

rocksdb::Cache::Handle* HybridCache::Lookup(const Slice& key, const CacheItemHelper* helper, CreateContext* context,
                                            Priority priority, rocksdb::Statistics* stats) {
  // RocksDB asks so to drop the blocks of a file that it has deleted (uncache_aggressiveness); and for each block of a
  // database that has no second tier (lowest_used_cache_tier), of which the SCM tier holds nothing.
  if (helper == nullptr && key.size() == BlockKey::kBytes) [[unlikely]] {
    const BlockKey dead = BlockKey::FromBytes(key.data());
    if (core_.scm().Contains(dead)) ForgetFile(dead.file());
  }
  if (ReadBack::OnThisThread()) [[unlikely]]
    return dram_.Lookup(key);
  const bool demotable = StockTier::IsDemotable(key, helper);
  if (demotable && missed_dram) core_.scm().Prefetch(BlockKey::FromBytes(key.data()));
  Handle* handle = dram_.Lookup(key, helper, context, priority, stats);
  missed_dram = handle == nullptr;
  if (handle != nullptr) {
    user_.CountDramHit(RoleOf(helper));
    if (demotable) {
      NoteDramHit(core_, parents_, BlockKey::FromBytes(key.data()), RoleOf(helper),
                  [=, this] { return CachedObject(target_->Value(handle), helper); });
    }
    return handle;
  }
  if (demotable) handle = hits_.LookUp(BlockKey::FromBytes(key.data()), {key, helper, context, priority}, stats);
  if (handle == nullptr) Count(Event::kMiss, helper);
  return handle;
}

void HybridCache::OnEvicted(const Slice& key, Handle* handle, bool was_hit) noexcept {
  const CacheItemHelper* helper = target_->GetCacheItemHelper(handle);
  const ObjectPtr obj = target_->Value(handle);
  if (dram_.TakeErased(obj)) return Count(Event::kRefusedChanged, helper);
  OnEviction(core_, {.key = key, .object = {obj, helper}, .was_hit = was_hit, .share = user_.share()});
}

void HybridCache::EraseUnRefEntries() {
  target_->EraseUnRefEntries();
  dram_.ClearLarge();
  if (user_.is_main()) core_.scm().EraseAll();
}

}  // namespace

std::shared_ptr<rocksdb::Cache> MakeHybridCache(std::shared_ptr<rocksdb::Cache> dram,
                                                std::unique_ptr<HybridCore> core) {
  core->GuardMoves();
  auto made = std::make_shared<HybridCache>(std::move(dram), *core, /*main=*/nullptr);
  made->OpenMain(std::move(core));
  return made;
}

}  // namespace mezz
