// SPDX-License-Identifier: Apache-2.0
#include "integration/hybrid_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cassert>
#include <functional>
#include <limits>
#include <mutex>
#include <new>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "cache/base/if_memory.h"
#include "cache/base/thread_buffer.h"
#include "integration/adopting_allocator.h"
#include "integration/compaction_thread.h"
#include "integration/erased_objects.h"
#include "integration/handover_allocator.h"
#include "integration/heirs.h"
#include "integration/hybrid_core.h"
#include "integration/hybrid_registry.h"
#include "integration/large_entries.h"
#include "integration/new_ids.h"
#include "integration/read_back.h"
#include "integration/rocksdb_compat.h"
#include "rocksdb/env.h"

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
class HybridCache final : public rocksdb::CacheWrapper, public HybridStats, private LargeEntries::Owner {
 public:
  HybridCache(std::shared_ptr<rocksdb::Cache> dram, std::unique_ptr<HybridCore> core);
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
  void SetCapacity(size_t bytes) override { core_->SetDramCapacity(bytes); }
  void Erase(const Slice& key) override;
  // Forgets the SCM tier's blocks as well, those in use included: their bytes stay readable.
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
  size_t GetCapacity() const override { return large_.capacity(); }
  size_t GetUsage() const override { return target_->GetUsage() + large_.bytes(); }
  size_t GetPinnedUsage() const override { return target_->GetPinnedUsage() + large_.reserved(); }
  size_t GetOccupancyCount() const override { return target_->GetOccupancyCount() + large_.listed(); }
  void ApplyToAllEntries(
      const std::function<void(const Slice&, ObjectPtr, size_t charge, const CacheItemHelper*)>& callback,
      const ApplyToAllEntriesOptions& options) override;
  rocksdb::Status GetSecondaryCacheCapacity(size_t& bytes) const override;
  rocksdb::Status GetSecondaryCachePinnedUsage(size_t& bytes) const override;
  std::string GetPrintableOptions() const override {
    return target_->GetPrintableOptions() + core_->Report(UriKind::kHybrid, CacheCurve::Which::kLast);
  }
  void ReportProblems(const std::shared_ptr<rocksdb::Logger>& log) const override;

  CounterSnapshot Counters() const override { return core_->Snapshot(); }
  std::string Report() const override { return core_->Report(); }
  const ScmTier& scm() const override { return core_->scm(); }
  Status SetScmCapacity(uint64_t bytes) override { return core_->SetScmCapacity(bytes); }
  DecisionSnapshot Decisions() const override { return core_->Decisions(); }
  MetricFamilies Metrics() const override { return core_->Metrics(); }
  DramUse Dram() const override { return core_->dram_use(); }
  std::string_view PolicyName() const override { return core_->policy_name(); }
  Status SetPolicy(std::string_view name) override { return core_->SetPolicy(name); }
  Status MakeCurve(plan::Curve* curve) const override { return core_->MakeCurve(curve); }
  Status DumpCurve(const std::string& path) const override { return core_->DumpCurve(path); }
  bool TakesHeirs() const override { return core_->options().heirs; }
  void ForgetFile(FileId file) override { core_->scm().ForgetFile(file); }
  ReadBack* read_back() override { return read_back_.get(); }

 private:
  // An object that create_cb made and nobody owns yet.
  struct Created {
    ObjectPtr obj = nullptr;
    size_t charge = 0;
  };
  // One look-up, as create_cb and the DRAM tier need it.
  struct Request {
    const Slice& key;
    const CacheItemHelper* helper;
    CreateContext* context;
    Priority priority;
  };

  // In the DRAM tier: its shards, and beside them.
  Handle* LookupDram(const Slice& key, const CacheItemHelper* helper = nullptr, CreateContext* context = nullptr,
                     Priority priority = Priority::LOW, rocksdb::Statistics* stats = nullptr) {
    Handle* const handle = target_->Lookup(key, helper, context, priority, stats);
    if (handle != nullptr || key.size() != BlockKey::kBytes) return handle;
    return large_.Find(BlockKey::FromBytes(key.data()));
  }

  static bool Demotable(const Slice& key, const CacheItemHelper* helper) {
    return helper != nullptr && helper->IsSecondaryCacheCompatible() && key.size() == BlockKey::kBytes;
  }
  static BlockRole RoleOf(const CacheItemHelper* helper) {
    return helper == nullptr ? BlockRole::kOther : ToBlockRole(helper->role);
  }
  void Count(Event event, const CacheItemHelper* helper) { core_->counters().Add(event, RoleOf(helper)); }

  Handle* LookupScm(const BlockKey& key, const Request& request, rocksdb::Statistics* stats);
  Handle* Serve(const BlockKey& key, PinnedBlock block, const Request& request);
  Handle* ServeInPlace(PinnedBlock block, const Request& request);
  Handle* ServeCopy(PinnedBlock block, const Request& request);
  Handle* Promote(const BlockKey& key, PinnedBlock block, const Request& request, HybridCore::Serve serve);
  Created Copy(PinnedBlock block, const Request& request);
  Created CreateOfImage(const PinnedBlock& block, const Image& image, const Request& request);
  Created UnpackAndCreate(PinnedBlock block, const Request& request);
  Created Create(std::span<const std::byte> payload, rocksdb::MemoryAllocator* allocator, const Request& request);
  Handle* Standalone(const Created& made, const Request& request);

  void Forget(const Slice& key);
  void RefLarge(Handle* handle) override { target_->Ref(handle); }
  void DropLarge(const BlockKey& key, Handle* handle, bool was_hit, bool offer) override;
  void ResizeShards(uint64_t bytes) override { target_->SetCapacity(bytes); }
  rocksdb::Status InsertInDram(const Slice& key, const Created& made, const CacheItemHelper* helper, Handle** handle,
                               Priority priority, const Slice& compressed, rocksdb::CompressionType type);
  Handle* InsertLarge(const Slice& key, const Created& made, const CacheItemHelper* helper, bool wanted);
  bool Reserve(const Slice& key, const CacheItemHelper* helper, size_t charge, Handle** handle);
  void Unreserve(Handle* handle);
  void EraseFromDram(const Slice& key);
  bool ReleaseInDram(Handle* handle, bool useful, bool erase_if_last_ref);
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
  void EraseRecordOf(Handle* handle);

  const std::unique_ptr<HybridCore> core_;
  const bool erased_may_be_evicted_;   // by this DRAM tier
  std::atomic<bool> disowned_{false};  // relaxed: read when nobody uses the cache any more
  ErasedObjects erased_;
  Heirs heirs_;
  AdoptingAllocator adopting_allocator_;
  HandoverAllocator& handover_allocator_;
  const NewIds ids_;
  const size_t scm_block_bytes_max_;
  LargeEntries large_{this};
  std::mutex reservations_mutex_;
  std::unordered_map<const Handle*, size_t> reservations_;  // guarded by it: bytes of those beside the shards
  std::unique_ptr<ReadBack> read_back_;                     // null: heirs=off; does not change once in use
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
      core_(std::move(core)),
      erased_may_be_evicted_(std::string_view(target_->Name()) != "LRUCache"),
      adopting_allocator_(core_->scm(), target_->memory_allocator()),
      handover_allocator_(HandoverAllocator::Over(target_->memory_allocator())),
      scm_block_bytes_max_(core_->scm().max_block_bytes()),
      registration_(static_cast<const rocksdb::Cache*>(this), this) {
  memory_allocator_ = WrappedAllocator(target_);
  core_->GuardMoves();
  large_.Open(target_->GetCapacity(), LargeEntries::ShardsIn(target_->GetPrintableOptions()));
  core_->OwnDramTier([this](uint64_t bytes) { large_.SetCapacity(bytes); });
  if (std::string_view(target_->Name()) == "AutoHyperClockCache") core_->KeepHitBits(core_->options().dram_bytes);
  target_->SetEvictionCallback([this](const Slice& key, Handle* handle, bool was_hit) {
    OnDramEviction(key, handle, was_hit);
    return false;  // the object stays the target's to delete
  });
  read_back_ = core_->MakeReadBack(this);
  core_->FollowDram();
  core_->ServeMetrics([this] { return DramTierUse{.bytes = GetUsage(), .pinned_bytes = GetPinnedUsage()}; });
}

HybridCache::~HybridCache() {
  core_->StopMetrics();
  ReadBack::Stop(&read_back_);
  if (!disowned_.load(std::memory_order_relaxed)) {
    (void)IfThereIsMemory([this] { SaveDram(); });
    large_.Clear();
  }
  target_->SetEvictionCallback({});  // the target may outlive us
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
    return LookupDram(key);
  const bool demotable = Demotable(key, helper);
  if (demotable && missed_dram) core_->scm().Prefetch(BlockKey::FromBytes(key.data()));
  Handle* handle = LookupDram(key, helper, context, priority, stats);
  missed_dram = handle == nullptr;
  if (handle != nullptr) {
    core_->CountDramHit(RoleOf(helper));
    if (!demotable) return handle;
    if (OnCompactionThread()) [[unlikely]] {
      core_->NoteDramRead(BlockKey::FromBytes(key.data()), RoleOf(helper),
                          [=, this] { return helper->size_cb(target_->Value(handle)); });
      NoteParent(BlockKey::FromBytes(key.data()), helper, handle, Standing::kDram);
    } else {
      core_->NoteDramHit(BlockKey::FromBytes(key.data()), RoleOf(helper),
                         [=, this] { return helper->size_cb(target_->Value(handle)); });
    }
    return handle;
  }
  if (demotable) {
    const Request request{key, helper, context, priority};
    handle = LookupScm(BlockKey::FromBytes(key.data()), request, stats);
    if (handle != nullptr) return handle;
    core_->NoteMiss(BlockKey::FromBytes(key.data()), RoleOf(helper));
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
  core_->NoteReadByCompaction();
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

rocksdb::Cache::Handle* HybridCache::LookupScm(const BlockKey& key, const Request& request,
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
  CountSecondaryHit(request.helper->role, stats);
  if (OnCompactionThread()) [[unlikely]]
    NoteParent(key, request.helper, handle, standing);
  return handle;
}

rocksdb::Cache::Handle* HybridCache::Serve(const BlockKey& key, PinnedBlock block, const Request& request) {
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

rocksdb::Cache::Handle* HybridCache::ServeInPlace(PinnedBlock block, const Request& request) {
  core_->scm().ChargeInPlace(block.role(), block.payload());
  Created made;
  bool in_place = false;
  {
    const AdoptingAllocator::Adoption adoption(adopting_allocator_, std::move(block));
    made = Create(adoption.payload(), &adopting_allocator_, request);
    in_place = adoption.clean();
  }
  if (made.obj == nullptr) return nullptr;
  // Not adopted, the object is a good copy in memory of the fallback: create_cb may not refer to what it was given.
  if (!in_place) Count(Event::kAdoptionFailed, request.helper);
  Handle* handle = Standalone(made, request);
  Count(in_place ? Event::kServedInPlace : Event::kServedCopied, request.helper);
  return handle;
}

rocksdb::Cache::Handle* HybridCache::ServeCopy(PinnedBlock block, const Request& request) {
  const Created made = Copy(std::move(block), request);
  if (made.obj == nullptr) return nullptr;
  Handle* handle = Standalone(made, request);
  Count(Event::kServedCopied, request.helper);
  return handle;
}

rocksdb::Cache::Handle* HybridCache::Promote(const BlockKey& key, PinnedBlock block, const Request& request,
                                             HybridCore::Serve serve) {
  const Created made = Copy(std::move(block), request);
  if (made.obj == nullptr) return nullptr;
  Handle* handle = nullptr;
  if (const MoveGate::Move move(core_->gate(), key); move) {
    if (InsertInDram(request.key, made, request.helper, &handle, request.priority, {}, rocksdb::kNoCompression).ok()) {
      core_->OnPromoted(key, RoleOf(request.helper), serve);
      return handle;
    }
  }
  Count(Event::kPromotionRefused, request.helper);
  handle = Standalone(made, request);
  Count(Event::kServedCopied, request.helper);
  return handle;
}

HybridCache::Created HybridCache::Copy(PinnedBlock block, const Request& request) {
  core_->scm().ChargeCopy(block);
  if (const auto image = block.image()) return CreateOfImage(block, *image, request);
  if (block.form() == Form::kPacked) return UnpackAndCreate(std::move(block), request);
  const auto bytes = block.SteadyBytes();
  return bytes ? Create(*bytes, memory_allocator(), request) : Created{};
}

HybridCache::Created HybridCache::UnpackAndCreate(PinnedBlock block, const Request& request) {
  const HandoverAllocator::Handover handover(handover_allocator_, block.logical_bytes());
  if (!block.Unpack(handover.data())) return {};
  block.Release();
  return Create(handover.payload(), &handover_allocator_, request);
}

// Damaged bytes would be unpacked to wrong ones without a word, or crash: ScmTier::Find has checked all of them, and
// they are served under the key that they came with only, so what the look-up's context unpacks with is what they were
// compressed with. Some look-ups have none.
HybridCache::Created HybridCache::CreateOfImage(const PinnedBlock& block, const Image& image, const Request& request) {
  if (request.context == nullptr) {
    Count(Event::kScmImageUnread, request.helper);
    return {};
  }
  Created made;
  const auto stored = block.SteadyBytes();
  if (!stored) return {};
  const auto bytes = stored->last(image.bytes.size());
  const rocksdb::Status created =
      request.helper->create_cb(Slice(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
                                static_cast<rocksdb::CompressionType>(image.type), kCreateSource, request.context,
                                memory_allocator(), &made.obj, &made.charge);
  if (created.ok() && made.obj != nullptr) {
    if (request.helper->size_cb(made.obj) == block.logical_bytes()) return made;
    request.helper->del_cb(made.obj, memory_allocator());
  }
  block.RejectImage();
  return {};
}

HybridCache::Created HybridCache::Create(std::span<const std::byte> payload, rocksdb::MemoryAllocator* allocator,
                                         const Request& request) {
  Created made;
  const rocksdb::Status created = request.helper->create_cb(
      Slice(reinterpret_cast<const char*>(payload.data()), payload.size()), rocksdb::kNoCompression, kCreateSource,
      request.context, allocator, &made.obj, &made.charge);
  // The typed callbacks of RocksDB return OK and a null object when they fail.
  if (created.ok() && made.obj != nullptr) return made;
  Count(Event::kCreateFailed, request.helper);
  return {};
}

rocksdb::Cache::Handle* HybridCache::Standalone(const Created& made, const Request& request) {
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
    EraseFromDram(key);  // LRUCache keeps the old object where it has no room for the new one
    const MoveGate::Window window(core_->gate());
    return target_->Insert(key, obj, helper, charge, handle, priority, compressed, type);
  }
  const BlockKey block_key = BlockKey::FromBytes(key.data());
  core_->NoteInsert(block_key);
  if (Demotable(key, helper)) core_->NoteInsertedSize(block_key, [&] { return helper->size_cb(obj); });
  // RocksDB inserts what both tiers missed, so what is here was inserted meanwhile: perhaps other bytes.
  // HyperClockCache would keep them, and LRUCache report them as evicted.
  Forget(key);
  const MoveGate::Window window(core_->gate());
  if (charge > scm_block_bytes_max_ && Demotable(key, helper)) core_->TellTooLarge(RoleOf(helper), charge);
  if (obj == nullptr && handle != nullptr && Reserve(key, helper, charge, handle)) return rocksdb::Status::OK();
  using Placement = HybridCore::Placement;
  Placement placement = Placement::kDram;
  if (handle == nullptr && Demotable(key, helper) && core_->options().heirs) {
    placement = PlaceWarm(block_key, obj, helper, priority);
  } else if (Demotable(key, helper) && core_->wants_misses()) {
    const Image image = ImageOf(compressed, type);
    placement = PlaceMiss(block_key, obj, helper, image.bytes.empty() ? nullptr : &image, /*warms=*/handle == nullptr);
  }
  if (placement == Placement::kDram || placement == Placement::kBoth) {
    rocksdb::Status inserted = InsertInDram(key, {obj, charge}, helper, handle, priority, compressed, type);
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

rocksdb::Status HybridCache::InsertInDram(const Slice& key, const Created& made, const CacheItemHelper* helper,
                                          Handle** handle, Priority priority, const Slice& compressed,
                                          rocksdb::CompressionType type) {
  if (large_.IsLarge(made.charge) && Demotable(key, helper) && !target_->HasStrictCapacityLimit()) [[unlikely]] {
    if (Handle* const large = InsertLarge(key, made, helper, handle != nullptr)) {
      if (handle != nullptr) *handle = large;
      return rocksdb::Status::OK();
    }
  }
  return target_->Insert(key, made.obj, helper, made.charge, handle, priority, compressed, type);
}

// Null: nothing was done. `wanted`: with a reference of the caller's.
rocksdb::Cache::Handle* HybridCache::InsertLarge(const Slice& key, const Created& made, const CacheItemHelper* helper,
                                                 bool wanted) {
  Handle* const large = target_->CreateStandalone(key, made.obj, helper, /*charge=*/0, /*allow_uncharged=*/true);
  if (large == nullptr) return nullptr;
  if (wanted) target_->Ref(large);
  if (!large_.Put(BlockKey::FromBytes(key.data()), large, made.charge)) target_->Release(large, false);
  return large;
}

void HybridCache::DropLarge(const BlockKey& key, Handle* handle, bool was_hit, bool offer) {
  if (offer) OnDramEviction({key.bytes().data(), BlockKey::kBytes}, handle, was_hit);
  target_->Release(handle, /*erase_if_last_ref=*/false);
}

// Its last user releases it to be erased: so all of RocksDB's reservations do.
bool HybridCache::Reserve(const Slice& key, const CacheItemHelper* helper, size_t charge, Handle** handle) {
  if (!large_.IsLargeReservation(charge) || target_->HasStrictCapacityLimit()) return false;
  Handle* const made = target_->CreateStandalone(key, nullptr, helper, /*charge=*/0, /*allow_uncharged=*/true);
  if (made == nullptr) return false;
  const bool memory = IfThereIsMemory([&] {
    const std::lock_guard lock(reservations_mutex_);
    reservations_.emplace(made, charge);
  });
  if (!memory) {
    target_->Release(made, false);
    return false;
  }
  large_.Reserve(charge);
  *handle = made;
  return true;
}

// Before it is released: its address may be another's then.
void HybridCache::Unreserve(Handle* handle) {
  size_t charge = 0;
  {
    const std::lock_guard lock(reservations_mutex_);
    const auto found = reservations_.find(handle);
    if (found == reservations_.end()) return;
    charge = found->second;
    reservations_.erase(found);
  }
  const MoveGate::Window window(core_->gate());
  large_.Unreserve(charge);
}

void HybridCache::ApplyToAllEntries(
    const std::function<void(const Slice&, ObjectPtr, size_t charge, const CacheItemHelper*)>& callback,
    const ApplyToAllEntriesOptions& options) {
  target_->ApplyToAllEntries(callback, options);
  large_.ForEach([&](const BlockKey& key, Handle* handle, size_t charge) {
    callback({key.bytes().data(), BlockKey::kBytes}, target_->Value(handle), charge,
             target_->GetCacheItemHelper(handle));
  });
}

HybridCore::Placement HybridCache::PlaceMiss(const BlockKey& key, ObjectPtr obj, const CacheItemHelper* helper,
                                             const Image* image, bool warms) {
  try {
    const size_t bytes = helper->size_cb(obj);
    if (bytes != 0) return core_->OnMiss(key, RoleOf(helper), bytes, SourceOf(obj, helper), image, warms);
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
    return core_->OnWarm(key, role, bytes, SourceOf(obj, helper), lineage);
  } catch (...) {  // of the block's callbacks, or without memory
    Count(Event::kRefusedFillFailed, helper);
  }
  return HybridCore::Placement::kDram;
}

// Of our own thread, which is the only one that wants the object.
rocksdb::Status HybridCache::InsertReadBack(const Slice& key, ObjectPtr obj, const CacheItemHelper* helper,
                                            size_t charge, Handle** handle) {
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
    if (Handle* const there = LookupDram(key)) {
      target_->Release(there, /*erase_if_last_ref=*/false);
    } else if (bytes != 0) {
      const MoveGate::Window window(core_->gate());
      core_->OnReadBack(BlockKey::FromBytes(key.data()), BlockRole::kData, bytes, SourceOf(obj, helper), lineage);
    }
  } catch (...) {  // of the block's callbacks, or without memory
    Count(Event::kRefusedFillFailed, helper);
  }
}

void HybridCache::OnDramEviction(const Slice& key, Handle* handle, bool was_hit) noexcept {
  const CacheItemHelper* helper = target_->GetCacheItemHelper(handle);
  const ObjectPtr obj = target_->Value(handle);
  if (erased_.Take(obj)) return Count(Event::kRefusedChanged, helper);
  core_->Offer(
      {.key = {key.data(), key.size()},
       .role = RoleOf(helper),
       .was_hit = was_hit,
       .can_be_read = obj != nullptr && helper->IsSecondaryCacheCompatible()},
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
  EraseFromDram(key);
  large_.Erase(block_key);
  core_->scm().Erase(block_key);
}

// HyperClockCache's Erase leaves an entry that somebody refers to, itself included, for its last user or an eviction to
// free. So the entry is held over the Erase, and freed by this thread unless others still use it.
void HybridCache::EraseFromDram(const Slice& key) {
  if (!erased_may_be_evicted_) return target_->Erase(key);
  Handle* const handle = target_->Lookup(key);
  if (handle == nullptr) return;
  if (const ObjectPtr obj = target_->Value(handle); obj != nullptr) erased_.Add(obj);
  target_->Erase(key);
  ReleaseInDram(handle, /*useful=*/false, /*erase_if_last_ref=*/true);
}

bool HybridCache::ReleaseInDram(Handle* handle, bool useful, bool erase_if_last_ref) {
  if (erased_.empty()) return target_->Release(handle, useful, erase_if_last_ref);
  const ObjectPtr obj = target_->Value(handle);
  const bool freed = target_->Release(handle, useful, erase_if_last_ref);
  if (freed) erased_.Take(obj);
  return freed;
}

void HybridCache::Erase(const Slice& key) { key.size() == BlockKey::kBytes ? Forget(key) : target_->Erase(key); }

rocksdb::Cache::Handle* HybridCache::CreateStandalone(const Slice& key, ObjectPtr obj, const CacheItemHelper* helper,
                                                      size_t charge, bool allow_uncharged) {
  const MoveGate::Window window(core_->gate());
  return target_->CreateStandalone(key, obj, helper, charge, allow_uncharged);
}

void HybridCache::EraseUnRefEntries() {
  target_->EraseUnRefEntries();
  large_.Clear();
  core_->scm().EraseAll();
}

// The way back of an in-place object: its last release destroys it, its bytes go back to the AdoptingAllocator, and
// AdoptingAllocator::Deallocate, which knows them by their address, takes the pin off their segment.
bool HybridCache::Release(Handle* handle, bool erase_if_last_ref) {
  if (erase_if_last_ref) EraseRecordOf(handle);
  return ReleaseInDram(handle, /*useful=*/true, erase_if_last_ref);
}

bool HybridCache::Release(Handle* handle, bool useful, bool erase_if_last_ref) {
  if (erase_if_last_ref) EraseRecordOf(handle);
  return ReleaseInDram(handle, useful, erase_if_last_ref);
}

// uncache_aggressiveness drops the blocks of deleted files by look-up and release, not by Erase.
void HybridCache::EraseRecordOf(Handle* handle) {
  if (large_.reserved() != 0 && target_->Value(handle) == nullptr) return Unreserve(handle);
  if (!target_->GetCacheItemHelper(handle)->IsSecondaryCacheCompatible()) return;
  large_.Erase(handle);
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

std::shared_ptr<rocksdb::Cache> MakeDramTier(const HybridCacheOptions& options) {
  if (options.dram_cache == DramCacheKind::kHyperClock) {
    return rocksdb::HyperClockCacheOptions(options.dram_bytes, /*_estimated_entry_charge=*/0,
                                           options.HyperClockShardBits(), options.strict_capacity_limit)
        .MakeSharedCache();
  }
  rocksdb::LRUCacheOptions lru;
  lru.capacity = options.dram_bytes;
  lru.num_shard_bits = options.dram_shard_bits;
  lru.strict_capacity_limit = options.strict_capacity_limit;
  return lru.MakeSharedCache();
}

Status OpenOver(std::shared_ptr<rocksdb::Cache> dram, const HybridCacheOptions& options,
                std::shared_ptr<rocksdb::Cache>* cache) {
  std::unique_ptr<HybridCore> core;
  MEZZ_RETURN_IF_ERROR(HybridCore::Open(options, &core));
  *cache = std::make_shared<HybridCache>(std::move(dram), std::move(core));
  return Status::Ok();
}

bool IsStock(std::string_view name) {
  constexpr std::array<std::string_view, 4> kStock = {"LRUCache", "AutoHyperClockCache", "FixedHyperClockCache",
                                                      "HyperClockCache"};
  for (const std::string_view stock : kStock) {
    if (name == stock) return true;
  }
  return false;
}

// RocksDB's wrapper of a cache with a secondary one takes its target's name, but prints the two apart.
bool HasSecondaryCache(const rocksdb::Cache& cache) {
  return cache.GetPrintableOptions().find("secondary_cache:") != std::string::npos;
}

Status ValidateDramTier(rocksdb::Cache* dram) {
  if (dram == nullptr) return Status::InvalidArgument("the cache to wrap is null: give an LRUCache or HyperClockCache");
  if (GetHybridStats(dram) != nullptr) return Status::InvalidArgument("the cache to wrap is a hybrid cache already");
  if (!IsStock(dram->Name())) {
    return Status::InvalidArgument(
        fmt::format("the cache to wrap is a {}: give a stock LRUCache or HyperClockCache", dram->Name()));
  }
  if (HasSecondaryCache(*dram)) {
    return Status::InvalidArgument(fmt::format("the {} to wrap has a secondary cache: give one without", dram->Name()));
  }
  if (const size_t entries = dram->GetOccupancyCount(); entries != 0 && entries != std::numeric_limits<size_t>::max()) {
    return Status::InvalidArgument(
        fmt::format("the {} to wrap holds {} entries already: wrap it before it is used", dram->Name(), entries));
  }
  return Status::Ok();
}

}  // namespace

Status NewHybridCache(const HybridCacheOptions& options, std::shared_ptr<rocksdb::Cache>* cache) {
  MEZZ_RETURN_IF_ERROR(options.Validate());
  HybridCacheOptions divided = options;
  MEZZ_RETURN_IF_ERROR(DivideDram(&divided));
  std::shared_ptr<rocksdb::Cache> dram = MakeDramTier(divided);
  if (dram == nullptr) {
    return Status::InvalidArgument(
        fmt::format("RocksDB refused a DRAM tier of {} bytes with shard_bits={}: use fewer shard bits (-1: its choice)",
                    divided.dram_bytes, divided.dram_shard_bits));
  }
  return OpenOver(std::move(dram), divided, cache);
}

Status WrapCache(std::shared_ptr<rocksdb::Cache> dram, const HybridCacheOptions& options,
                 std::shared_ptr<rocksdb::Cache>* cache) {
  MEZZ_RETURN_IF_ERROR(ValidateDramTier(dram.get()));
  HybridCacheOptions effective = options;
  effective.dram_cache =
      std::string_view(dram->Name()) == "LRUCache" ? DramCacheKind::kLru : DramCacheKind::kHyperClock;
  // What is sized by it must fit the machine, and "no limit" is a common capacity.
  effective.dram_bytes = std::min<uint64_t>(dram->GetCapacity(), ThisMachine().memory_bytes);
  effective.strict_capacity_limit = dram->HasStrictCapacityLimit();
  effective.dram_shard_bits = -1;
  MEZZ_RETURN_IF_ERROR(DivideDram(&effective));
  // Before ours is opened, whose budget begins with it: set later, it would be a change of the total.
  const size_t capacity = dram->GetCapacity();
  if (effective.dram_total_bytes != 0) dram->SetCapacity(effective.dram_bytes);
  const Status opened = OpenOver(dram, effective, cache);
  if (!opened.ok()) dram->SetCapacity(capacity);
  return opened;
}

}  // namespace mezz
