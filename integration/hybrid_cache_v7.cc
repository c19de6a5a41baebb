// SPDX-License-Identifier: Apache-2.0
#include "integration/hybrid_cache_v7.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>
#include <utility>

#include "cache/base/atomic.h"
#include "cache/base/if_memory.h"
#include "cache/base/thread_buffer.h"
#include "fmt/format.h"
#include "integration/compaction_thread.h"
#include "integration/made_hybrid_cache.h"
#include "integration/read_back.h"
#include "integration/serving.h"
#include "integration/whole_block_v7.h"
#include "rocksdb/perf_context.h"
#include "rocksdb/perf_level.h"

namespace mezz {

namespace {

using rocksdb::Slice;

constexpr uintptr_t kStandaloneTag = 1;  // LRUCache's handles come from malloc: bit 0 is clear

bool Persistable(const rocksdb::Cache::CacheItemHelper* helper) {
  return helper != nullptr && helper->size_cb != nullptr && helper->saveto_cb != nullptr;
}

void CountSecondaryHit(rocksdb::Statistics* stats) {
  if (rocksdb::GetPerfLevel() >= rocksdb::PerfLevel::kEnableCount) {
    rocksdb::get_perf_context()->secondary_cache_hit_count++;
  }
  if (stats != nullptr) stats->recordTick(rocksdb::SECONDARY_CACHE_HITS, 1);
}

// RocksDB's callback may throw bad_alloc, and no exception may pass through the cache.
bool CreateObject(const rocksdb::Cache::CreateCallback& create, std::span<const std::byte> payload, void** object,
                  size_t* charge) {
  try {
    return create(payload.data(), payload.size(), object, charge).ok() && *object != nullptr;
  } catch (...) {
    return false;
  }
}

}  // namespace

std::atomic<size_t>& StripedSum::stripe() {
  static std::atomic<size_t> next_thread{0};
  thread_local const size_t mine =
      next_thread.fetch_add(1, std::memory_order_relaxed) % std::tuple_size_v<decltype(stripes_)>;
  return stripes_[mine].sum;
}

size_t StripedSum::Read() const {
  size_t total = 0;
  for (const Stripe& stripe : stripes_) total += stripe.sum.load(std::memory_order_relaxed);
  return total;
}

// The stock cache that is the DRAM tier of these options.
static rocksdb::LRUCacheOptions DramOptions(const HybridCacheOptions& options) {
  rocksdb::LRUCacheOptions dram;
  dram.capacity = options.dram_bytes;
  dram.num_shard_bits = options.dram_shard_bits;
  dram.strict_capacity_limit = options.strict_capacity_limit;
  return dram;
}

// What the calling thread is inserting into LRUCache. LRUCache hands its hook the entry that an insert replaces, too:
// old bytes under a key that has new ones. They must not reach the SCM tier.
class HybridCacheV7::InsertScope {
 public:
  InsertScope(const Slice& key, const void* value) : key_(key), value_(value), outer_(current_) { current_ = this; }
  ~InsertScope() { current_ = outer_; }
  InsertScope(const InsertScope&) = delete;
  InsertScope& operator=(const InsertScope&) = delete;

  static bool Replaces(const Slice& key, const void* value) {
    return current_ != nullptr && current_->value_ != value && current_->key_ == key;
  }

 private:
  static thread_local InsertScope* current_;
  const Slice key_;
  const void* const value_;
  InsertScope* const outer_;
};

thread_local HybridCacheV7::InsertScope* HybridCacheV7::InsertScope::current_ = nullptr;

// LRUCache's idea of a secondary cache: it is told of every eviction and never has anything.
class HybridCacheV7::EvictionHook final : public rocksdb::SecondaryCache {
 public:
  void Connect(HybridCore* core, ShareId share = kNoShare) {
    share_ = share;
    core_.store(core, std::memory_order_release);
  }
  // What is evicted from now on is saved. REQUIRES: nobody else uses the cache.
  void Save() { saving_ = true; }

  const char* Name() const override { return "MezzanineEvictionHook"; }
  rocksdb::Status Insert(const Slice& key, void* value, const Cache::CacheItemHelper* helper) override {
    HybridCore* const core = core_.load(std::memory_order_acquire);
    if (core == nullptr || InsertScope::Replaces(key, value)) return rocksdb::Status::OK();
    const bool sixteen = key.size() == BlockKey::kBytes;
    const DramBlock evicted{
        .key = {key.data(), key.size()},
        .role = BlockRole::kOther,
        .was_hit = saving_ && sixteen && core->SavedFirst(BlockKey::FromBytes(key.data()), BlockRole::kOther),
        .can_be_read = value != nullptr && Persistable(helper),
        .share = share_};
    const auto size_of = [=] { return helper->size_cb(value); };
    const auto source_of = [=](size_t bytes) { return WholeBlockV7(helper, value, bytes); };
    saving_ ? core->Save(evicted, size_of, source_of) : core->OnEvictionCallback(evicted, size_of, source_of);
    return rocksdb::Status::OK();
  }
  std::unique_ptr<rocksdb::SecondaryCacheResultHandle> Lookup(const Slice&, const Cache::CreateCallback&, bool, bool,
                                                              bool& is_in_sec_cache) override {
    is_in_sec_cache = false;
    return nullptr;
  }
  bool SupportForceErase() const override { return false; }
  void Erase(const Slice&) override {}
  void WaitAll(std::vector<rocksdb::SecondaryCacheResultHandle*>) override {}

 private:
  std::atomic<HybridCore*> core_{nullptr};  // as HybridCacheV7::core_
  ShareId share_ = kNoShare;                // written before core_
  bool saving_ = false;
};

// An object outside LRUCache, alive as long as somebody refers to it.
struct HybridCacheV7::Standalone {
  void* object;
  DeleterFn deleter;  // null: nothing is to be done, as for what an iterator reads without filling the cache
  size_t charge;
  std::atomic<uint32_t> refs{1};  // acq_rel when it falls: the last one deletes what the others used
  BlockKey key;
  const CacheItemHelper* helper = nullptr;  // of what is listed as large
  bool reserved = false;                    // counted as such

  size_t bytes() const { return charge + sizeof(Standalone); }
};

HybridCacheV7::HybridCacheV7(const rocksdb::LRUCacheOptions& dram)
    : rocksdb::Cache(dram.memory_allocator), hook_(std::make_shared<EvictionHook>()) {
  assert(dram.secondary_cache == nullptr);
  rocksdb::LRUCacheOptions hooked = dram;
  hooked.secondary_cache = hook_;
  target_ = rocksdb::NewLRUCache(hooked);
}

HybridCacheV7::~HybridCacheV7() {
  ReadBack::Stop(&read_back_);
  HybridCore* const core = this->core();
  const bool is_main = core != nullptr && user_->is_main();
  // A forked child leaks what is large: threads of its parent may hold the locks of it.
  const bool leaks = disowned_.load(std::memory_order_relaxed) || (core != nullptr && core->scm().in_child());
  if (core != nullptr && !is_main && !leaks && core->options().warm_dram_bytes != 0u) {
    // What only this tier holds goes where its evictions go, so that it is there when the database comes back.
    const MoveGate::Window window(core->gate());
    (void)IfThereIsMemory([&] { large_.SetCapacity(0); });
  }
  if (user_) user_->Close();
  if (is_main) core->StopMetrics();
  if (core != nullptr && !leaks) {
    if (is_main) (void)IfThereIsMemory([&] { SaveDram(*core); });
    large_.Clear();
  }
  hook_->Connect(nullptr);
  target_.reset();  // before the tier that its evictions went to
}

// LRUCache shows nobody its blocks with what saves them, but evicts the coldest first, each through the hook: so all
// but what may be saved goes unseen, and then the rest.
void HybridCacheV7::SaveDram(HybridCore& core) {
  if (!core.StartSaving()) return;
  large_.ForEach([&](const BlockKey& key, Handle* handle, size_t /*charge*/) {
    const Standalone* const entry = ToStandalone(handle);
    core.Save(
        {.key = key.bytes(), .role = BlockRole::kOther, .was_hit = true, .can_be_read = true},
        [=] { return entry->helper->size_cb(entry->object); },
        [=](size_t bytes) { return WholeBlockV7(entry->helper, entry->object, bytes); });
  });
  hook_->Connect(nullptr);
  target_->SetCapacity(std::min<uint64_t>(GetCapacity(), core.save_left()));
  hook_->Save();
  hook_->Connect(&core);
  target_->SetCapacity(0);
}

Status HybridCacheV7::Arm(const HybridCacheOptions& options) {
  assert(!armed());
  HybridCacheOptions effective = options;
  effective.dram_cache = DramCacheKind::kLru;
  // What is sized by it must fit the machine, and "no limit" is a common capacity.
  effective.dram_bytes = std::min<uint64_t>(GetCapacity(), ThisMachine().memory_bytes);
  effective.strict_capacity_limit = HasStrictCapacityLimit();
  MEZZ_RETURN_IF_ERROR(DivideDram(&effective));
  MEZZ_RETURN_IF_ERROR(HybridCore::Open(effective, &owned_core_));
  owned_core_->observers().KeepHitBits(effective.dram_bytes);
  owned_core_->GuardMoves();
  user_.emplace(*owned_core_);
  OpenOver(*owned_core_);
  owned_core_->OwnDramTier(DramPart(*owned_core_));
  owned_core_->ShowReadBack(read_back_.get());
  core_.store(owned_core_.get(), std::memory_order_release);
  hook_->Connect(owned_core_.get());
  if (effective.dram_total_bytes != 0) owned_core_->SetDramCapacity(effective.dram_bytes);
  owned_core_->ServeMetrics([this] { return DramTierUse{.bytes = GetUsage(), .pinned_bytes = GetPinnedUsage()}; });
  return Status::Ok();
}

void HybridCacheV7::OpenOver(HybridCore& core) {
  registration_.emplace(static_cast<rocksdb::Cache*>(this), this);
  overflow_.Watch(target_.get());
  large_.Open(target_->GetCapacity(), LargeEntries::ShardsIn(target_->GetPrintableOptions()));
  read_back_ = core.MakeReadBack(this);
}

DatabaseShares::DramPart HybridCacheV7::DramPart(HybridCore& core) {
  return {.resize =
              [this, &core](uint64_t bytes) {
                const MoveGate::Window window(core.gate());
                large_.SetCapacity(bytes);
              },
          .bytes = [this] { return GetUsage(); },
          .pinned_bytes = [this] { return GetPinnedUsage(); },
          .capacity_bytes = [this] { return large_.capacity(); },
          .add_counters = [this](CounterSnapshot* to) { *to += user_->Snapshot(); }};
}

Status HybridCacheV7::ArmAsDatabase(HybridCore& core, std::shared_ptr<rocksdb::Cache> main, std::string_view name,
                                    const DatabaseLimits& limits) {
  assert(!armed());
  user_.emplace(core, std::move(main));
  OpenOver(core);
  if (Status opened = user_->Open(name, limits, DramPart(core)); !opened.ok()) {
    ReadBack::Stop(&read_back_);
    registration_.reset();
    user_.reset();
    return opened;
  }
  core_.store(&core, std::memory_order_release);
  hook_->Connect(&core, user_->share());
  return Status::Ok();
}

Status HybridCacheV7::MakeDatabaseCache(const std::shared_ptr<rocksdb::Cache>& self, std::string_view name,
                                        const DatabaseLimits& limits, std::shared_ptr<rocksdb::Cache> own_dram,
                                        std::shared_ptr<rocksdb::Cache>* view) {
  if (own_dram != nullptr)
    return Status::NotSupported("a cache of RocksDB 7.8 that exists tells nobody what it evicts: let us make it");
  HybridCore& core = *this->core();
  auto made = std::make_shared<HybridCacheV7>(DramOptions(core.options()));
  if (!made->valid()) return Status::NoSpace(fmt::format("share={}: RocksDB refused its DRAM tier", name));
  MEZZ_RETURN_IF_ERROR(made->ArmAsDatabase(core, user_->is_main() ? self : user_->main(), name, limits));
  *view = std::move(made);
  return Status::Ok();
}

rocksdb::Cache::Handle* HybridCacheV7::ToHandle(Standalone* entry) {
  return reinterpret_cast<Handle*>(reinterpret_cast<uintptr_t>(entry) | kStandaloneTag);
}

HybridCacheV7::Standalone* HybridCacheV7::ToStandalone(Handle* handle) {
  const auto bits = reinterpret_cast<uintptr_t>(handle);
  return (bits & kStandaloneTag) == 0 ? nullptr : reinterpret_cast<Standalone*>(bits - kStandaloneTag);
}

rocksdb::Cache::Handle* HybridCacheV7::MakeStandalone(const Slice& key, void* object, DeleterFn deleter,
                                                      size_t charge) {
  auto* entry = new (std::nothrow) Standalone{object, deleter, charge, {1}, BlockKey::FromBytes(key.data())};
  if (entry == nullptr) {
    core()->counters().Add(Event::kAllocationFailed, BlockRole::kOther);
    return nullptr;
  }
  standalone_bytes_.Add(entry->bytes());
  return ToHandle(entry);
}

bool HybridCacheV7::ReleaseStandalone(Standalone* entry, bool erase_if_last_ref) {
  if (erase_if_last_ref && entry->helper != nullptr) large_.Erase(ToHandle(entry));  // the list's reference goes
  if (entry->refs.fetch_sub(1, std::memory_order_acq_rel) > 1) return false;
  const std::string_view key = entry->key.bytes();
  if (erase_if_last_ref) core()->scm().Erase(entry->key);
  standalone_bytes_.Subtract(entry->bytes());
  if (entry->reserved) {
    const MoveGate::Window window(core()->gate());
    large_.Unreserve(entry->charge);
  }
  if (entry->deleter != nullptr) entry->deleter(Slice(key.data(), key.size()), entry->object);
  delete entry;
  return true;
}

// When this returns, no copy of the key is left in either tier or on its way into one, but for those in readers' hands.
void HybridCacheV7::Forget(HybridCore& core, const Slice& key) {
  if (key.size() != BlockKey::kBytes) return target_->Erase(key);  // never moved
  const BlockKey block = BlockKey::FromBytes(key.data());
  const MoveGate::Change change(core.gate(), block);
  target_->Erase(key);
  large_.Erase(block);
  core.scm().Erase(block);
}

// `insert()` puts an object under `key` into LRUCache. Where the SCM tier appears meanwhile, what was there before may
// have been demoted since: then everything of the key is forgotten.
template <typename InsertCall>
rocksdb::Status HybridCacheV7::Replace(const Slice& key, const void* value, InsertCall insert) {
  const InsertScope scope(key, value);
  if (HybridCore* const core = this->core()) {
    core->FollowDram();
    Forget(*core, key);
    const MoveGate::Window window(core->gate());
    rocksdb::Status inserted = insert();
    if (overflow_.DueAfterInsert()) [[unlikely]]
      overflow_.Check();
    return inserted;
  }
  MEZZ_TEST_POINT("deferred_tier.before_change");
  rocksdb::Status inserted = insert();
  if (HybridCore* const core = this->core()) Forget(*core, key);
  return inserted;
}

rocksdb::Status HybridCacheV7::Insert(const Slice& key, void* value, size_t charge, DeleterFn deleter, Handle** handle,
                                      Priority priority) {
  return Replace(key, value, [&] {
    if (value == nullptr && handle != nullptr && Reserve(key, value, deleter, charge, handle))
      return rocksdb::Status::OK();
    return target_->Insert(key, value, charge, deleter, handle, priority);
  });
}

rocksdb::Status HybridCacheV7::Insert(const Slice& key, void* value, const CacheItemHelper* helper, size_t charge,
                                      Handle** handle, Priority priority) {
  if (helper == nullptr) return rocksdb::Status::InvalidArgument("Insert needs a helper");
  if (ReadBack::OnThisThread()) [[unlikely]]
    return InsertReadBack(*core(), key, value, helper, charge, handle);
  return Replace(key, value, [&] {
    if (HybridCore* const core = this->core()) {
      user_->counters().Add(Event::kInsert, BlockRole::kOther);
      if (key.size() == BlockKey::kBytes) {
        if (handle == nullptr && priority == Priority::LOW) core->offered().NoteByFlush();
        core->observers().NoteInsert(BlockKey::FromBytes(key.data()));
        if (Persistable(helper))
          core->observers().NoteInsertedSize(BlockKey::FromBytes(key.data()), [&] { return helper->size_cb(value); });
      }
      if (core->wants_misses() && Persistable(helper) && key.size() == BlockKey::kBytes &&
          InsertElsewhere(*core, key, value, helper, charge, handle)) {
        return rocksdb::Status::OK();
      }
      if (InsertLarge(key, value, helper, charge, handle)) return rocksdb::Status::OK();
    }
    return target_->Insert(key, value, helper, charge, handle, priority);
  });
}

bool HybridCacheV7::InsertLarge(const Slice& key, void* value, const CacheItemHelper* helper, size_t charge,
                                Handle** handle) {
  if (!Persistable(helper) || key.size() != BlockKey::kBytes) return false;
  if (charge > core()->scm().max_block_bytes()) core()->TellTooLarge(BlockRole::kOther, charge);
  if (!large_.IsLarge(charge) || HasStrictCapacityLimit()) return false;
  Handle* const large = MakeStandalone(key, value, helper->del_cb, charge);
  if (large == nullptr) return false;
  ToStandalone(large)->helper = helper;
  if (handle != nullptr) {
    Ref(large);
    *handle = large;
  }
  if (!large_.Put(BlockKey::FromBytes(key.data()), large, ToStandalone(large)->bytes()))
    Release(large, /*erase_if_last_ref=*/false);
  return true;
}

void HybridCacheV7::DropLarge(const BlockKey& key, Handle* handle, bool was_hit, bool offer) {
  const Standalone* const entry = ToStandalone(handle);
  if (offer) {
    const auto size_of = [=] { return entry->helper->size_cb(entry->object); };
    const auto source_of = [=](size_t bytes) { return WholeBlockV7(entry->helper, entry->object, bytes); };
    core()->OnEvictionCallback({.key = key.bytes(),
                                .role = BlockRole::kOther,
                                .was_hit = was_hit,
                                .can_be_read = true,
                                .share = user_->share()},
                               size_of, source_of);
  }
  Release(handle, /*erase_if_last_ref=*/false);
}

bool HybridCacheV7::Reserve(const Slice& key, void* value, DeleterFn deleter, size_t charge, Handle** handle) {
  if (!armed() || key.size() != BlockKey::kBytes || !large_.IsLargeReservation(charge) || HasStrictCapacityLimit())
    return false;
  Handle* const made = MakeStandalone(key, value, deleter, charge);
  if (made == nullptr) return false;
  ToStandalone(made)->reserved = true;
  large_.Reserve(charge);
  *handle = made;
  return true;
}

// Of our own thread. What somebody has asked for meanwhile stays where it is.
rocksdb::Status HybridCacheV7::InsertReadBack(HybridCore& core, const Slice& key, void* value,
                                              const CacheItemHelper* helper, size_t charge, Handle** handle) {
  if (Persistable(helper) && key.size() == BlockKey::kBytes) {
    const BlockKey name = BlockKey::FromBytes(key.data());
    try {
      const size_t bytes = helper->size_cb(value);
      const WholeBlockV7 source(helper, value, bytes);
      std::byte* const copy = ThreadBuffer<HybridCacheV7>::AtLeast(bytes);
      const bool whole = copy != nullptr && source(0, bytes, copy);
      const Lineage lineage = read_back_->LineageOf(whole ? std::span(copy, bytes) : std::span<std::byte>());
      if (!InDram(key)) {
        const MoveGate::Window window(core.gate());
        if (core.OnReadBack(name, BlockRole::kOther, bytes, source, lineage, user_->share()) ==
            HybridCore::Placement::kScm)
          read_back_->NoteTaken(name);
      }
    } catch (...) {  // of the block's callbacks
      core.counters().Add(Event::kRefusedFillFailed, BlockRole::kOther);
    }
  }
  if (handle == nullptr) {
    helper->del_cb(key, value);
    return rocksdb::Status::OK();
  }
  *handle = MakeStandalone(key, value, helper->del_cb, charge);
  return *handle == nullptr ? rocksdb::Status::MemoryLimit() : rocksdb::Status::OK();
}

bool HybridCacheV7::InDram(const Slice& key) {
  Handle* const there = Lookup(key, nullptr);
  if (there == nullptr) return false;
  Release(there, /*erase_if_last_ref=*/false);
  return true;
}

// A compaction has found it. 7.8 does not tell data blocks from others: those have no such entries.
void HybridCacheV7::NoteParent(HybridCore& core, const Slice& key, const CacheItemHelper* helper, void* value,
                               Standing standing) {
  core.offered().NoteReadByCompaction();
  read_back_->NoteParent(standing, core.Frequency(BlockKey::FromBytes(key.data())), [=]() -> std::span<std::byte> {
    const size_t bytes = helper->size_cb(value);
    std::byte* const copy = ThreadBuffer<HybridCacheV7>::AtLeast(bytes);
    if (copy == nullptr || !helper->saveto_cb(value, 0, bytes, copy).ok()) return {};
    return {copy, bytes};
  });
}

bool HybridCacheV7::InsertElsewhere(HybridCore& core, const Slice& key, void* value, const CacheItemHelper* helper,
                                    size_t charge, Handle** handle) {
  const BlockKey name = BlockKey::FromBytes(key.data());
  try {
    const size_t bytes = helper->size_cb(value);
    if (bytes == 0) return false;
    const WholeBlockV7 source(helper, value, bytes);
    if (core.OnMiss(name, BlockRole::kOther, bytes, source, nullptr, false, user_->share()) ==
        HybridCore::Placement::kDram)
      return false;
  } catch (...) {  // of the block's callbacks
    core.counters().Add(Event::kRefusedFillFailed, BlockRole::kOther);
    return false;
  }
  if (handle == nullptr) {
    helper->del_cb(key, value);
    return true;
  }
  *handle = MakeStandalone(key, value, helper->del_cb, charge);
  return *handle != nullptr;
}

rocksdb::Cache::Handle* HybridCacheV7::Lookup(const Slice& key, rocksdb::Statistics* stats) {
  Handle* const handle = target_->Lookup(key, stats);
  if (handle != nullptr || key.size() != BlockKey::kBytes) return handle;
  return large_.Find(BlockKey::FromBytes(key.data()));
}

rocksdb::Cache::Handle* HybridCacheV7::Lookup(const Slice& key, const CacheItemHelper* helper,
                                              const CreateCallback& create, Priority priority, bool /*wait*/,
                                              rocksdb::Statistics* stats) {
  HybridCore* const core = this->core();
  if (core == nullptr || !Persistable(helper) || !create || key.size() != BlockKey::kBytes) return Lookup(key, stats);
  if (ReadBack::OnThisThread()) [[unlikely]]
    return Lookup(key, nullptr);
  core->scm().Prefetch(BlockKey::FromBytes(key.data()));
  if (Handle* const hit = Lookup(key, stats)) {
    if (read_back_ != nullptr && OnCompactionThread()) [[unlikely]]
      NoteParent(*core, key, helper, Value(hit), Standing::kDram);
    user_->CountDramHit(BlockRole::kOther);
    core->observers().NoteDramHit(BlockKey::FromBytes(key.data()), BlockRole::kOther,
                                  [=, this] { return helper->size_cb(Value(hit)); });
    return hit;
  }
  core->databases().NoteDramMiss();
  Handle* const handle = LookupScm(*core, key, helper, create, priority, stats);
  if (handle == nullptr) {
    core->observers().NoteMiss(BlockKey::FromBytes(key.data()), BlockRole::kOther);
    if (read_back_ != nullptr && OnCompactionThread()) [[unlikely]]
      core->offered().NoteReadByCompaction();
    user_->counters().Add(Event::kMiss, BlockRole::kOther);
  }
  return handle;
}

rocksdb::Cache::Handle* HybridCacheV7::LookupScm(HybridCore& core, const Slice& key, const CacheItemHelper* helper,
                                                 const CreateCallback& create, Priority priority,
                                                 rocksdb::Statistics* stats) {
  const BlockKey name = BlockKey::FromBytes(key.data());
  const MoveGate::Window window(core.gate());
  PinnedBlock block = core.Find(name, BlockRole::kOther);
  if (!block) return nullptr;
  const BlockRole role = block.role();
  const Standing standing = block.heat() > 0 ? Standing::kScmHot : Standing::kScmCold;
  const HybridCore::Serve serve = core.OnScmHit(name, block);
  const auto bytes = BytesToCopy(core.scm(), block);
  if (!bytes) return nullptr;
  void* object = nullptr;
  size_t charge = 0;
  const bool created = CreateObject(create, *bytes, &object, &charge);
  block.Release();
  if (!created) {
    core.counters().Add(Event::kCreateFailed, role);
    return nullptr;
  }
  user_->CountScmHit(role);
  if (read_back_ != nullptr && !OnCompactionThread()) read_back_->NoteHit(name);
  CountSecondaryHit(stats);
  if (read_back_ != nullptr && OnCompactionThread()) [[unlikely]]
    NoteParent(core, key, helper, object, standing);
  if (serve == HybridCore::Serve::kPromote || serve == HybridCore::Serve::kMove) {
    Handle* handle = nullptr;
    const InsertScope scope(key, object);
    const MoveGate::Move move(core.gate(), name);
    if (move && (InsertLarge(key, object, helper, charge, &handle) ||
                 target_->Insert(key, object, helper, charge, &handle, priority).ok())) {
      core.OnPromoted(name, role, serve);
      return handle;
    }
    core.counters().Add(Event::kPromotionRefused, role);
  }
  Handle* const handle = MakeStandalone(key, object, helper->del_cb, charge);
  if (handle == nullptr) {
    helper->del_cb(key, object);
  } else {
    core.counters().Add(Event::kServedCopied, role);
  }
  return handle;
}

bool HybridCacheV7::Ref(Handle* handle) {
  if (Standalone* const entry = ToStandalone(handle)) {
    entry->refs.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  return target_->Ref(handle);
}

bool HybridCacheV7::Release(Handle* handle, bool erase_if_last_ref) {
  if (Standalone* const entry = ToStandalone(handle)) return ReleaseStandalone(entry, erase_if_last_ref);
  return Released(target_->Release(handle, erase_if_last_ref));
}

bool HybridCacheV7::Release(Handle* handle, bool useful, bool erase_if_last_ref) {
  if (Standalone* const entry = ToStandalone(handle)) return ReleaseStandalone(entry, erase_if_last_ref);
  return Released(target_->Release(handle, useful, erase_if_last_ref));
}

// LRUCache has released an object, and says whether it freed it.
bool HybridCacheV7::Released(bool freed) {
  if (overflow_.DueAfterRelease()) [[unlikely]] {
    const MoveGate::Window window(core()->gate());
    overflow_.Check();
  }
  return freed;
}

void* HybridCacheV7::Value(Handle* handle) {
  if (Standalone* const entry = ToStandalone(handle)) return entry->object;
  return target_->Value(handle);
}

void HybridCacheV7::Erase(const Slice& key) {
  MEZZ_TEST_POINT("deferred_tier.before_change");
  target_->Erase(key);  // first: where the SCM tier appears meanwhile, Forget sees to both
  if (HybridCore* const core = this->core()) Forget(*core, key);
}

void HybridCacheV7::SetCapacity(size_t capacity) {
  HybridCore* const core = this->core();
  if (core == nullptr) return target_->SetCapacity(capacity);
  if (user_->is_main()) return core->SetDramCapacity(capacity);
  // Of a database: its part of the DRAM is what the division gives.
}

size_t HybridCacheV7::GetCapacity() const {
  if (!armed()) return target_->GetCapacity();
  return large_.capacity() + (user_->is_main() ? core()->databases().given_bytes() : 0);
}

void HybridCacheV7::SetStrictCapacityLimit(bool strict) {
  HybridCore* const core = this->core();
  if (core == nullptr) return target_->SetStrictCapacityLimit(strict);
  const MoveGate::Window window(core->gate());
  overflow_.SetStrict(strict);
}

size_t HybridCacheV7::GetUsage(Handle* handle) const {
  if (const Standalone* const entry = ToStandalone(handle)) return entry->bytes();
  return target_->GetUsage(handle);
}

size_t HybridCacheV7::GetCharge(Handle* handle) const {
  if (const Standalone* const entry = ToStandalone(handle)) return entry->charge;
  return target_->GetCharge(handle);
}

// Of what is listed as large only some may be in use: it counts as idle.
size_t HybridCacheV7::GetPinnedUsage() const {
  const size_t standalone = standalone_bytes_.Read();
  return target_->GetPinnedUsage() + standalone - std::min<size_t>(standalone, large_.listed_bytes());
}

rocksdb::Cache::DeleterFn HybridCacheV7::GetDeleter(Handle* handle) const {
  if (const Standalone* const entry = ToStandalone(handle)) return entry->deleter;
  return target_->GetDeleter(handle);
}

void HybridCacheV7::ApplyToAllEntries(const std::function<void(const Slice&, void*, size_t, DeleterFn)>& callback,
                                      const ApplyToAllEntriesOptions& options) {
  target_->ApplyToAllEntries(callback, options);
  large_.ForEach([&](const BlockKey& key, Handle* handle, size_t charge) {
    callback({key.bytes().data(), BlockKey::kBytes}, Value(handle), charge - sizeof(Standalone), GetDeleter(handle));
  });
}

void HybridCacheV7::EraseUnRefEntries() {
  target_->EraseUnRefEntries();
  large_.Clear();
  if (HybridCore* const core = this->core(); core != nullptr && user_->is_main()) core->scm().EraseAll();
}

std::string HybridCacheV7::GetPrintableOptions() const {
  std::string text = target_->GetPrintableOptions();
  if (const HybridCore* const core = this->core()) text += core->Report(UriKind::kHybrid, CacheCurve::Which::kLast);
  return text;
}

Status NewMainCache(const HybridCacheOptions& options, std::shared_ptr<rocksdb::Cache>* cache) {
  MEZZ_RETURN_IF_ERROR(options.Validate());
  HybridCacheOptions divided = options;
  MEZZ_RETURN_IF_ERROR(DivideDram(&divided));
  auto hybrid = std::make_shared<HybridCacheV7>(DramOptions(divided));
  if (!hybrid->valid()) {
    return Status::InvalidArgument(fmt::format("dram={}, shard_bits={}: RocksDB refuses to make this LRUCache",
                                               divided.dram_bytes, divided.dram_shard_bits));
  }
  MEZZ_RETURN_IF_ERROR(hybrid->Arm(divided));
  *cache = std::move(hybrid);
  return Status::Ok();
}

Status WrapCache(std::shared_ptr<rocksdb::Cache>, const HybridCacheOptions&, std::shared_ptr<rocksdb::Cache>*) {
  return Status::NotSupported(
      "WrapCache needs RocksDB 8.9 or later, because a cache of 7.8 tells nobody what it evicts: use NewHybridCache");
}

}  // namespace mezz
