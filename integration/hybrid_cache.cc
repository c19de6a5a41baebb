// SPDX-License-Identifier: Apache-2.0
#include "integration/hybrid_cache.h"

#include <fmt/format.h>

#include <atomic>
#include <cassert>
#include <new>
#include <string_view>
#include <utility>

#include "cache/base/if_memory.h"
#include "cache/base/thread_buffer.h"
#include "integration/block_objects.h"
#include "integration/compaction_thread.h"
#include "integration/core_stats.h"
#include "integration/database_user.h"
#include "integration/heirs.h"
#include "integration/hybrid_core.h"
#include "integration/hybrid_registry.h"
#include "integration/made_hybrid_cache.h"
#include "integration/new_ids.h"
#include "integration/read_back.h"
#include "integration/rocksdb_compat.h"
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
  HybridCache(std::shared_ptr<rocksdb::Cache> dram, std::unique_ptr<HybridCore> core);
  // For a database that shares the SCM tier of `main`, whose core this is. Enter makes it known there.
  HybridCache(std::shared_ptr<rocksdb::Cache> dram, HybridCore& core, std::shared_ptr<rocksdb::Cache> main);
  Status Enter(std::string_view name, const DatabaseLimits& limits, bool divides_dram);
  ~HybridCache() override;

  // Our own name: RocksDB only prints it (LOG, statistics), and a log that says "LRUCache" would hide what serves.
  // Stock wrappers pretend to be their target because tests compare names.
  const char* Name() const override { return "MezzanineHybridCache"; }

  rocksdb::Status Insert(const Slice& key, ObjectPtr obj, const CacheItemHelper* helper, size_t charge, Handle** handle,
                         Priority priority, const Slice& compressed, rocksdb::CompressionType type) override;
  Handle* Lookup(const Slice& key, const CacheItemHelper* helper, CreateContext* context, Priority priority,
                 rocksdb::Statistics* stats) override;
  Handle* CreateStandalone(const Slice& key, ObjectPtr obj, const CacheItemHelper* helper, size_t charge,
                           bool allow_uncharged) override;
  void SetCapacity(size_t bytes) override;
  void SetStrictCapacityLimit(bool strict) override { dram_.SetStrict(strict); }
  void Erase(const Slice& key) override;
  // Forgets the SCM tier's blocks as well, those in use included: their bytes stay readable. A database that shares the
  // tier leaves them: they may be others'.
  void EraseUnRefEntries() override;
  uint64_t NewId() override { return ids_.Of(target_->NewId()); }

  // The base class's do the look-up at once through our Lookup; CacheWrapper's would ask the target alone.
  void StartAsyncLookup(AsyncLookupHandle& handle) override { Cache::StartAsyncLookup(handle); }
  void WaitAll(AsyncLookupHandle* handles, size_t count) override { Cache::WaitAll(handles, count); }

  bool Release(Handle* handle, bool erase_if_last_ref) override;
  bool Release(Handle* handle, bool useful, bool erase_if_last_ref) override;
  void DisownData() override {
    disowned_.store(true, std::memory_order_relaxed);
    target_->DisownData();
  }

  // Capacity, usage and ApplyToAllEntries are the DRAM tier's, with what is kept beside its shards: they speak of
  // objects, and callers size memtables and reservations by them. The SCM tier answers as RocksDB's secondary cache.
  using CacheWrapper::GetUsage;
  size_t GetCapacity() const override {
    return dram_.capacity() + (user_.is_main() ? core_->databases().given_bytes() : 0);
  }
  size_t GetUsage() const override { return dram_.usage(); }
  size_t GetPinnedUsage() const override { return dram_.pinned_usage(); }
  size_t GetOccupancyCount() const override { return dram_.occupancy(); }
  void ApplyToAllEntries(const StockTier::Visit& callback, const ApplyToAllEntriesOptions& options) override {
    dram_.ForEach(callback, options);
  }
  rocksdb::Status GetSecondaryCacheCapacity(size_t& bytes) const override;
  rocksdb::Status GetSecondaryCachePinnedUsage(size_t& bytes) const override;
  std::string GetPrintableOptions() const override {
    return target_->GetPrintableOptions() + core_->Report(UriKind::kHybrid, CacheCurve::Which::kLast);
  }
  void ReportProblems(const std::shared_ptr<rocksdb::Logger>& log) const override;

  ReadBack* read_back() override { return read_back_.get(); }
  CounterSnapshot Counters() const override { return user_.is_main() ? core_->Snapshot() : user_.Snapshot(); }
  Status MakeDatabaseCache(const std::shared_ptr<rocksdb::Cache>& self, std::string_view name,
                           const DatabaseLimits& limits, std::shared_ptr<rocksdb::Cache> own_dram,
                           std::shared_ptr<rocksdb::Cache>* view) override;
  Status SetDatabaseLimits(const DatabaseLimits& limits) override { return user_.SetLimits(limits); }

 private:
  DatabaseShares::DramPart DramPart();
  HybridCore& stats_core() const override { return *core_; }
  static bool Demotable(const Slice& key, const CacheItemHelper* helper) { return StockTier::IsDemotable(key, helper); }
  static BlockRole RoleOf(const CacheItemHelper* helper) {
    return helper == nullptr ? BlockRole::kOther : ToBlockRole(helper->role);
  }
  void Count(Event event, const CacheItemHelper* helper) { user_.counters().Add(event, RoleOf(helper)); }

  Handle* LookupScm(const BlockKey& key, const BlockRequest& request, rocksdb::Statistics* stats);
  Handle* Serve(const BlockKey& key, PinnedBlock&& block, const BlockRequest& request);
  Handle* ServeInPlace(PinnedBlock&& block, const BlockRequest& request);
  Handle* ServeCopy(PinnedBlock block, const BlockRequest& request);
  Handle* Promote(const BlockKey& key, PinnedBlock block, const BlockRequest& request, HybridCore::Serve serve);
  Handle* Standalone(const OwnedObject& made, const BlockRequest& request);

  void Forget(const Slice& key);
  HybridCore::Placement PlaceMiss(const BlockKey& key, ObjectPtr obj, const CacheItemHelper* helper, const Image* image,
                                  bool warms);
  HybridCore::Placement PlaceWarm(const BlockKey& key, ObjectPtr obj, const CacheItemHelper* helper, Priority priority);
  rocksdb::Status InsertReadBack(const Slice& key, ObjectPtr obj, const CacheItemHelper* helper, size_t charge,
                                 Handle** handle);
  void PlaceReadBack(const Slice& key, ObjectPtr obj, const CacheItemHelper* helper);
  std::span<const std::byte> BytesOf(ObjectPtr obj, const CacheItemHelper* helper, size_t bytes);
  void NoteParent(const BlockKey& key, const CacheItemHelper* helper, Handle* handle, Standing standing) noexcept;
  void OnDramEviction(const Slice& key, Handle* handle, bool was_hit) noexcept;
  void SaveDram();
  void EmptyIntoScm();
  void EraseRecordOf(Handle* handle);

  const std::unique_ptr<HybridCore> own_core_;  // null for a database that shares another cache's
  HybridCore* const core_;
  DatabaseUser user_;
  bool divides_dram_ = false;  // set before the first look-up
  StockTier dram_;
  std::atomic<bool> disowned_{false};  // relaxed: read when nobody uses the cache any more
  Heirs heirs_;
  BlockObjects objects_;
  const NewIds ids_;
  const size_t scm_block_bytes_max_;
  std::unique_ptr<ReadBack> read_back_;  // null: heirs=off; does not change once in use
  const HybridRegistration registration_;
};

// The bytes of `obj` as its helper saves them. A helper that throws has failed.
auto SourceOf(rocksdb::Cache::ObjectPtr obj, const rocksdb::Cache::CacheItemHelper* helper) {
  return [obj, helper](size_t offset, size_t bytes, std::byte* to) noexcept {
    try {
      return helper->saveto_cb(obj, offset, bytes, reinterpret_cast<char*>(to)).ok();
    } catch (...) {
      return false;
    }
  };
}

HybridCache::HybridCache(std::shared_ptr<rocksdb::Cache> dram, std::unique_ptr<HybridCore> core)
    : CacheWrapper(std::move(dram)),
      own_core_(std::move(core)),
      core_(own_core_.get()),
      user_(*core_),
      dram_(*target_, core_->GuardMoves(),
            [this](const Slice& key, Handle* handle, bool was_hit) { OnDramEviction(key, handle, was_hit); }),
      objects_(core_->scm(), *target_),
      scm_block_bytes_max_(core_->scm().max_block_bytes()),
      registration_(static_cast<const rocksdb::Cache*>(this), this) {
  memory_allocator_ = WrappedAllocator(target_);
  core_->OwnDramTier(DramPart());
  if (std::string_view(target_->Name()) == "AutoHyperClockCache")
    core_->observers().KeepHitBits(core_->options().dram_bytes);
  read_back_ = core_->MakeReadBack(this);
  core_->ShowReadBack(read_back_.get());
  core_->FollowDram();
  core_->ServeMetrics([this] { return DramTierUse{.bytes = GetUsage(), .pinned_bytes = GetPinnedUsage()}; });
}

HybridCache::HybridCache(std::shared_ptr<rocksdb::Cache> dram, HybridCore& core, std::shared_ptr<rocksdb::Cache> main)
    : CacheWrapper(std::move(dram)),
      core_(&core),
      user_(core, std::move(main)),
      dram_(*target_, core_->gate(),
            [this](const Slice& key, Handle* handle, bool was_hit) { OnDramEviction(key, handle, was_hit); }),
      objects_(core_->scm(), *target_),
      scm_block_bytes_max_(core_->scm().max_block_bytes()),
      registration_(static_cast<const rocksdb::Cache*>(this), this) {
  memory_allocator_ = WrappedAllocator(target_);
  read_back_ = core_->MakeReadBack(this);
}

DatabaseShares::DramPart HybridCache::DramPart() {
  return {.resize =
              [this](uint64_t bytes) {
                const MoveGate::Window window(core_->gate());
                dram_.SetCapacity(bytes);
                if (core_->databases().are_several()) dram_.EvictToCapacity();
              },
          .bytes = [this] { return dram_.usage(); },
          .pinned_bytes = [this] { return dram_.pinned_usage(); },
          .capacity_bytes = [this] { return dram_.capacity(); },
          .add_counters = [this](CounterSnapshot* sum) { *sum += user_.Snapshot(); }};
}

Status HybridCache::Enter(std::string_view name, const DatabaseLimits& limits, bool divides_dram) {
  DatabaseShares::DramPart dram = DramPart();
  divides_dram_ = divides_dram;
  if (!divides_dram) dram.resize = {};
  return user_.Open(name, limits, std::move(dram));
}

// A database may be one of a database's cache, too: then it shares the same.
Status HybridCache::MakeDatabaseCache(const std::shared_ptr<rocksdb::Cache>& self, std::string_view name,
                                      const DatabaseLimits& limits, std::shared_ptr<rocksdb::Cache> own_dram,
                                      std::shared_ptr<rocksdb::Cache>* view) {
  const bool divides_dram = own_dram == nullptr;
  if (divides_dram) own_dram = MakeDramTier(core_->options());
  if (own_dram == nullptr) return Status::NoSpace(fmt::format("share={}: RocksDB refused its DRAM tier", name));
  auto made = std::make_shared<HybridCache>(std::move(own_dram), *core_, user_.is_main() ? self : user_.main());
  MEZZ_RETURN_IF_ERROR(made->Enter(name, limits, divides_dram));
  *view = std::move(made);
  return Status::Ok();
}

void HybridCache::SetCapacity(size_t bytes) {
  if (user_.is_main()) return core_->SetDramCapacity(bytes);
  if (divides_dram_) return;  // its part of the DRAM is what the division gives
  {
    const MoveGate::Window window(core_->gate());
    dram_.SetCapacity(bytes);
  }
  core_->TellDramApart();
}

// What only the DRAM tier of a database holds goes where its evictions go, so that it is there when the database comes
// back.
void HybridCache::EmptyIntoScm() {
  if (core_->options().warm_dram_bytes == 0u) return;
  const MoveGate::Window window(core_->gate());
  dram_.SetCapacity(0);
  dram_.EvictToCapacity();
}

HybridCache::~HybridCache() {
  if (user_.is_main()) core_->StopMetrics();
  ReadBack::Stop(&read_back_);
  // A forked child leaks what is large: threads of its parent may hold the locks of it.
  const bool leaks = disowned_.load(std::memory_order_relaxed) || core_->scm().in_child();
  if (!leaks) (void)IfThereIsMemory([this] { user_.is_main() ? SaveDram() : EmptyIntoScm(); });
  user_.Close();
  if (!leaks) dram_.ClearLarge();
}

rocksdb::Cache::Handle* HybridCache::Lookup(const Slice& key, const CacheItemHelper* helper, CreateContext* context,
                                            Priority priority, rocksdb::Statistics* stats) {
  // RocksDB asks so to drop the blocks of a file that it has deleted (uncache_aggressiveness); and for each block of a
  // database that has no second tier (lowest_used_cache_tier), of which the SCM tier holds nothing.
  if (helper == nullptr && key.size() == BlockKey::kBytes) [[unlikely]] {
    const BlockKey dead = BlockKey::FromBytes(key.data());
    if (core_->scm().Contains(dead)) ForgetFile(dead.file());
  }
  if (ReadBack::OnThisThread()) [[unlikely]]
    return dram_.Lookup(key);
  const bool demotable = Demotable(key, helper);
  if (demotable && missed_dram) core_->scm().Prefetch(BlockKey::FromBytes(key.data()));
  Handle* handle = dram_.Lookup(key, helper, context, priority, stats);
  missed_dram = handle == nullptr;
  if (handle != nullptr) {
    user_.CountDramHit(RoleOf(helper));
    if (!demotable) return handle;
    if (OnCompactionThread()) [[unlikely]] {
      core_->observers().NoteDramRead(BlockKey::FromBytes(key.data()), RoleOf(helper),
                                      [=, this] { return helper->size_cb(target_->Value(handle)); });
      NoteParent(BlockKey::FromBytes(key.data()), helper, handle, Standing::kDram);
    } else {
      core_->observers().NoteDramHit(BlockKey::FromBytes(key.data()), RoleOf(helper),
                                     [=, this] { return helper->size_cb(target_->Value(handle)); });
    }
    return handle;
  }
  if (demotable) {
    core_->databases().NoteDramMiss();
    const BlockRequest request{key, helper, context, priority};
    handle = LookupScm(BlockKey::FromBytes(key.data()), request, stats);
    if (handle != nullptr) return handle;
    core_->observers().NoteMiss(BlockKey::FromBytes(key.data()), RoleOf(helper));
    if (OnCompactionThread()) [[unlikely]]
      NoteParent(BlockKey::FromBytes(key.data()), helper, nullptr, Standing::kNowhere);
  }
  Count(Event::kMiss, helper);
  return nullptr;
}

// `handle`: the block's, if it was found. Without memory it counts as one that was not.
void HybridCache::NoteParent(const BlockKey& key, const CacheItemHelper* helper, Handle* handle,
                             Standing standing) noexcept {
  if (!core_->options().heirs || RoleOf(helper) != BlockRole::kData) return;
  core_->offered().NoteReadByCompaction();
  try {
    if (handle == nullptr) return heirs_.NoteParent({}, Standing::kNowhere, 0);
    const ObjectPtr obj = target_->Value(handle);
    const std::span<const std::byte> block = BytesOf(obj, helper, helper->size_cb(obj));
    const uint8_t frequency = core_->Frequency(key);
    heirs_.NoteParent(block, standing, frequency);
    read_back_->NoteParent(standing, frequency, [block] { return block; });
  } catch (...) {  // of the block's callbacks, or without memory
    Count(Event::kAllocationFailed, helper);
  }
}

// Good until this thread's next call.
std::span<const std::byte> HybridCache::BytesOf(ObjectPtr obj, const CacheItemHelper* helper, size_t bytes) {
  std::byte* const copy = ThreadBuffer<HybridCache>::AtLeast(bytes);
  if (copy == nullptr || !helper->saveto_cb(obj, 0, bytes, reinterpret_cast<char*>(copy)).ok()) return {};
  return {copy, bytes};
}

rocksdb::Cache::Handle* HybridCache::LookupScm(const BlockKey& key, const BlockRequest& request,
                                               rocksdb::Statistics* stats) {
  const MoveGate::Window window(core_->gate());
  PinnedBlock block = core_->Find(key, RoleOf(request.helper));
  if (!block) return nullptr;
  const Standing standing = block.heat() > 0 ? Standing::kScmHot : Standing::kScmCold;
  Handle* handle = nullptr;
  try {
    handle = Serve(key, std::move(block), request);
  } catch (const std::bad_alloc&) {  // no DRAM for the copy or the handle: RocksDB reads flash instead
    Count(Event::kAllocationFailed, request.helper);
  } catch (...) {  // of create_cb
    Count(Event::kCreateFailed, request.helper);
  }
  if (handle == nullptr) return nullptr;
  user_.CountScmHit(RoleOf(request.helper));
  if (read_back_ != nullptr && !OnCompactionThread()) read_back_->NoteHit(key);
  CountSecondaryHit(request.helper->role, stats);
  if (OnCompactionThread()) [[unlikely]]
    NoteParent(key, request.helper, handle, standing);
  return handle;
}

rocksdb::Cache::Handle* HybridCache::Serve(const BlockKey& key, PinnedBlock&& block, const BlockRequest& request) {
  switch (const HybridCore::Serve serve = core_->OnScmHit(key, block)) {
    case HybridCore::Serve::kInPlace:
      return ServeInPlace(std::move(block), request);
    case HybridCore::Serve::kPromote:
    case HybridCore::Serve::kMove:
      return Promote(key, std::move(block), request, serve);
    default:
      return ServeCopy(std::move(block), request);
  }
}

rocksdb::Cache::Handle* HybridCache::ServeInPlace(PinnedBlock&& block, const BlockRequest& request) {
  bool in_place = false;
  const OwnedObject made = objects_.InPlace(std::move(block), request, &in_place);
  if (made.obj == nullptr) return nullptr;
  Handle* handle = Standalone(made, request);
  Count(in_place ? Event::kServedInPlace : Event::kServedCopied, request.helper);
  return handle;
}

rocksdb::Cache::Handle* HybridCache::ServeCopy(PinnedBlock block, const BlockRequest& request) {
  const OwnedObject made = objects_.Copy(std::move(block), request);
  if (made.obj == nullptr) return nullptr;
  Handle* handle = Standalone(made, request);
  Count(Event::kServedCopied, request.helper);
  return handle;
}

rocksdb::Cache::Handle* HybridCache::Promote(const BlockKey& key, PinnedBlock block, const BlockRequest& request,
                                             HybridCore::Serve serve) {
  const OwnedObject made = objects_.Copy(std::move(block), request);
  if (made.obj == nullptr) return nullptr;
  Handle* handle = nullptr;
  if (const MoveGate::Move move(core_->gate(), key); move) {
    if (dram_.Insert(request.key, made, request.helper, &handle, request.priority, {}, rocksdb::kNoCompression).ok()) {
      core_->OnPromoted(key, RoleOf(request.helper), serve);
      return handle;
    }
  }
  Count(Event::kPromotionRefused, request.helper);
  handle = Standalone(made, request);
  Count(Event::kServedCopied, request.helper);
  return handle;
}

rocksdb::Cache::Handle* HybridCache::Standalone(const OwnedObject& made, const BlockRequest& request) {
  try {
    return target_->CreateStandalone(request.key, made.obj, request.helper, made.charge, /*allow_uncharged=*/true);
  } catch (const std::bad_alloc&) {
    request.helper->del_cb(made.obj, memory_allocator());
    throw;
  }
}

rocksdb::Status HybridCache::Insert(const Slice& key, ObjectPtr obj, const CacheItemHelper* helper, size_t charge,
                                    Handle** handle, Priority priority, const Slice& compressed,
                                    rocksdb::CompressionType type) {
  if (ReadBack::OnThisThread()) [[unlikely]]
    return InsertReadBack(key, obj, helper, charge, handle);
  Count(Event::kInsert, helper);
  core_->FollowDram();
  if (key.size() != BlockKey::kBytes) {
    dram_.Erase(key);  // LRUCache keeps the old object where it has no room for the new one
    const MoveGate::Window window(core_->gate());
    return target_->Insert(key, obj, helper, charge, handle, priority, compressed, type);
  }
  const BlockKey block_key = BlockKey::FromBytes(key.data());
  core_->observers().NoteInsert(block_key);
  if (Demotable(key, helper)) core_->observers().NoteInsertedSize(block_key, [&] { return helper->size_cb(obj); });
  // RocksDB inserts what both tiers missed, so what is here was inserted meanwhile: perhaps other bytes.
  // HyperClockCache would keep them, and LRUCache report them as evicted.
  Forget(key);
  const MoveGate::Window window(core_->gate());
  if (charge > scm_block_bytes_max_ && Demotable(key, helper)) core_->TellTooLarge(RoleOf(helper), charge);
  if (obj == nullptr && handle != nullptr) {
    if (Handle* const reserved = dram_.Reserve(key, helper, charge)) {
      *handle = reserved;
      return rocksdb::Status::OK();
    }
  }
  using Placement = HybridCore::Placement;
  Placement placement = Placement::kDram;
  if (handle == nullptr && Demotable(key, helper) && core_->options().heirs) {
    placement = PlaceWarm(block_key, obj, helper, priority);
  } else if (Demotable(key, helper) && core_->wants_misses()) {
    const Image image = ImageOf(compressed, type);
    placement = PlaceMiss(block_key, obj, helper, image.bytes.empty() ? nullptr : &image, /*warms=*/handle == nullptr);
  }
  if (placement == Placement::kDram || placement == Placement::kBoth) {
    rocksdb::Status inserted = dram_.Insert(key, {obj, charge}, helper, handle, priority, compressed, type);
    // LRUCache evicts what another thread has inserted under this key since; it may have been demoted just now. And an
    // Insert that fails leaves nothing.
    if (inserted.IsOkOverwritten() || !inserted.ok()) core_->scm().Erase(block_key);
    return inserted;
  }
  if (handle != nullptr) {
    *handle = target_->CreateStandalone(key, obj, helper, charge, /*allow_uncharged=*/true);
  } else {
    helper->del_cb(obj, memory_allocator());
  }
  return rocksdb::Status::OK();
}

HybridCore::Placement HybridCache::PlaceMiss(const BlockKey& key, ObjectPtr obj, const CacheItemHelper* helper,
                                             const Image* image, bool warms) {
  try {
    const size_t bytes = helper->size_cb(obj);
    if (bytes != 0)
      return core_->OnMiss(key, RoleOf(helper), bytes, SourceOf(obj, helper), image, warms, user_.share());
  } catch (...) {  // of the block's callbacks
    Count(Event::kRefusedFillFailed, helper);
  }
  return HybridCore::Placement::kDram;
}

// RocksDB warms the cache at BOTTOM priority with what a compaction has written, at LOW with what a flush has. (Blobs,
// which only flushes warm it with, are BOTTOM.)
HybridCore::Placement HybridCache::PlaceWarm(const BlockKey& key, ObjectPtr obj, const CacheItemHelper* helper,
                                             Priority priority) {
  try {
    const BlockRole role = RoleOf(helper);
    const size_t bytes = helper->size_cb(obj);
    if (bytes == 0) return HybridCore::Placement::kDram;
    Lineage lineage{.kind = Lineage::Kind::kFlushed};
    if (priority == Priority::BOTTOM && role != BlockRole::kBlob) {
      NoteCompactionOutput();
      lineage = role == BlockRole::kData ? heirs_.LineageOf(BytesOf(obj, helper, bytes)) : Lineage{};
    }
    return core_->OnWarm(key, role, bytes, SourceOf(obj, helper), lineage, user_.share());
  } catch (...) {  // of the block's callbacks, or without memory
    Count(Event::kRefusedFillFailed, helper);
  }
  return HybridCore::Placement::kDram;
}

// Of our own thread, which is the only one that wants the object.
rocksdb::Status HybridCache::InsertReadBack(const Slice& key, ObjectPtr obj, const CacheItemHelper* helper,
                                            size_t charge, Handle** handle) {
  const MoveGate::Window window(core_->gate());  // a standalone handle is charged, so it may evict
  if (Demotable(key, helper) && RoleOf(helper) == BlockRole::kData) PlaceReadBack(key, obj, helper);
  if (handle != nullptr) {
    *handle = target_->CreateStandalone(key, obj, helper, charge, /*allow_uncharged=*/true);
  } else {
    helper->del_cb(obj, memory_allocator());
  }
  return rocksdb::Status::OK();
}

// What somebody has asked for meanwhile stays where it is.
void HybridCache::PlaceReadBack(const Slice& key, ObjectPtr obj, const CacheItemHelper* helper) {
  try {
    const size_t bytes = helper->size_cb(obj);
    const Lineage lineage = read_back_->LineageOf(BytesOf(obj, helper, bytes));
    if (Handle* const there = dram_.Lookup(key)) {
      target_->Release(there, /*erase_if_last_ref=*/false);
    } else if (bytes != 0) {
      const BlockKey block_key = BlockKey::FromBytes(key.data());
      const HybridCore::Placement placement =
          core_->OnReadBack(block_key, BlockRole::kData, bytes, SourceOf(obj, helper), lineage, user_.share());
      if (placement == HybridCore::Placement::kScm) read_back_->NoteTaken(block_key);
    }
  } catch (...) {  // of the block's callbacks, or without memory
    Count(Event::kRefusedFillFailed, helper);
  }
}

void HybridCache::OnDramEviction(const Slice& key, Handle* handle, bool was_hit) noexcept {
  const CacheItemHelper* helper = target_->GetCacheItemHelper(handle);
  const ObjectPtr obj = target_->Value(handle);
  if (dram_.TakeErased(obj)) return Count(Event::kRefusedChanged, helper);
  core_->OnEvictionCallback(
      {.key = {key.data(), key.size()},
       .role = RoleOf(helper),
       .was_hit = was_hit,
       .can_be_read = obj != nullptr && helper->IsSecondaryCacheCompatible(),
       .share = user_.share()},
      [=] { return helper->size_cb(obj); }, [=](size_t) { return SourceOf(obj, helper); });
}

// The first walk has what DRAM was right to keep, the second the rest. What was erased is in neither.
void HybridCache::SaveDram() {
  if (!core_->StartSaving()) return;
  for (const bool first : {true, false}) {
    if (core_->save_left() == 0) return;
    ApplyToAllEntries(
        [&](const Slice& key, ObjectPtr obj, size_t /*charge*/, const CacheItemHelper* helper) {
          if (!Demotable(key, helper) || obj == nullptr) return;
          if (core_->SavedFirst(BlockKey::FromBytes(key.data()), RoleOf(helper)) != first) return;
          core_->Save(
              {.key = {key.data(), key.size()}, .role = RoleOf(helper), .was_hit = first, .can_be_read = true},
              [=] { return helper->size_cb(obj); }, [=](size_t) { return SourceOf(obj, helper); });
        },
        {});
  }
}

// When this returns, no copy of the key is left in either tier or on its way into one, but for those in readers' hands.
// REQUIRES: a key that may be demoted, by its size.
void HybridCache::Forget(const Slice& key) {
  assert(key.size() == BlockKey::kBytes);
  const BlockKey block_key = BlockKey::FromBytes(key.data());
  const MoveGate::Change change(core_->gate(), block_key);
  dram_.Erase(key);
  core_->scm().Erase(block_key);
}

void HybridCache::Erase(const Slice& key) { key.size() == BlockKey::kBytes ? Forget(key) : target_->Erase(key); }

rocksdb::Cache::Handle* HybridCache::CreateStandalone(const Slice& key, ObjectPtr obj, const CacheItemHelper* helper,
                                                      size_t charge, bool allow_uncharged) {
  const MoveGate::Window window(core_->gate());
  return target_->CreateStandalone(key, obj, helper, charge, allow_uncharged);
}

void HybridCache::EraseUnRefEntries() {
  target_->EraseUnRefEntries();
  dram_.ClearLarge();
  if (user_.is_main()) core_->scm().EraseAll();
}

// The way back of an in-place object: its last release destroys it, its bytes go back to the AdoptingAllocator, and
// AdoptingAllocator::Deallocate, which knows them by their address, takes the pin off their segment.
bool HybridCache::Release(Handle* handle, bool erase_if_last_ref) {
  if (erase_if_last_ref) EraseRecordOf(handle);
  return dram_.Release(handle, /*useful=*/true, erase_if_last_ref);
}

bool HybridCache::Release(Handle* handle, bool useful, bool erase_if_last_ref) {
  if (erase_if_last_ref) EraseRecordOf(handle);
  return dram_.Release(handle, useful, erase_if_last_ref);
}

// uncache_aggressiveness drops the blocks of deleted files by look-up and release, not by Erase.
void HybridCache::EraseRecordOf(Handle* handle) {
  if (dram_.Unreserve(handle)) return;
  if (!target_->GetCacheItemHelper(handle)->IsSecondaryCacheCompatible()) return;
  dram_.EraseLarge(handle);
  ApplyToKey(*target_, handle, [this](const Slice& key) {
    if (key.size() == BlockKey::kBytes) core_->scm().Erase(BlockKey::FromBytes(key.data()));
  });
}

rocksdb::Status HybridCache::GetSecondaryCacheCapacity(size_t& bytes) const {
  bytes = core_->scm().capacity_bytes();
  return rocksdb::Status::OK();
}

rocksdb::Status HybridCache::GetSecondaryCachePinnedUsage(size_t& bytes) const {
  bytes = core_->scm().pinned_bytes();
  return rocksdb::Status::OK();
}

void HybridCache::ReportProblems(const std::shared_ptr<rocksdb::Logger>& log) const {
  target_->ReportProblems(log);
  const CounterSnapshot counters = Counters();
  for (const Event event : {Event::kScmChecksumMismatch, Event::kScmDamagedHeader, Event::kScmUnpackFailed,
                            Event::kScmNoDictionary, Event::kAllocationFailed}) {
    if (counters[event] != 0) {
      rocksdb::Warn(log, "mezzanine: %s: %llu", std::string(mezz::ToString(event)).c_str(),
                    static_cast<unsigned long long>(counters[event]));
    }
  }
  if (core_->scm().PinPressure()) {
    rocksdb::Warn(log, "mezzanine: too many segments are pinned: SCM hits are copied until iterators are released");
  }
  rocksdb::Info(log, "mezzanine: state of the hybrid cache\n%s", Report().c_str());
}

}  // namespace

std::shared_ptr<rocksdb::Cache> MakeHybridCache(std::shared_ptr<rocksdb::Cache> dram,
                                                std::unique_ptr<HybridCore> core) {
  return std::make_shared<HybridCache>(std::move(dram), std::move(core));
}

}  // namespace mezz
