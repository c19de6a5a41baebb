// SPDX-License-Identifier: Apache-2.0
#include "integration/hybrid_cache_v7.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "cache/base/atomic.h"
#include "fmt/format.h"
#include "integration/closing.h"
#include "integration/dram_look_up.h"
#include "integration/evictions.h"
#include "integration/made_hybrid_cache.h"
#include "integration/read_back.h"

namespace mezz {

Status HybridCacheV7::Arm(const HybridCacheOptions& options) {
  assert(!armed());
  HybridCacheOptions effective = options;
  effective.dram_cache = DramCacheKind::kLru;
  // What is sized by it must fit the machine, and "no limit" is a common capacity.
  effective.dram_bytes = std::min<uint64_t>(GetCapacity(), ThisMachine().memory_bytes);
  effective.strict_capacity_limit = HasStrictCapacityLimit();
  MEZZ_RETURN_IF_ERROR(DivideDram(&effective));
  MEZZ_RETURN_IF_ERROR(HybridCore::Open(effective, &owned_core_));
  HybridCore& core = *owned_core_;
  core.observers().KeepHitBits(effective.dram_bytes);
  core.GuardMoves();
  user_.emplace(core, /*main=*/nullptr);
  OpenOver(core);
  core.OwnDramTier(user_->DramPartOf(dram()));
  core.ShowReadBack(read_back());
  Publish(core);
  if (effective.dram_total_bytes != 0) core.SetDramCapacity(effective.dram_bytes);
  core.ServeMetrics([this] { return DramTierUse{.bytes = usage(), .pinned_bytes = pinned_usage()}; });
  return Status::Ok();
}

Status HybridCacheV7::ArmAsDatabase(HybridCore& core, std::shared_ptr<rocksdb::Cache> main, std::string_view name,
                                    const DatabaseLimits& limits) {
  assert(!armed());
  user_.emplace(core, std::move(main));
  OpenOver(core);
  if (Status opened = user_->Open(name, limits, user_->DramPartOf(dram())); !opened.ok()) {
    registration_.reset();
    hits_.reset();
    inserts_.reset();
    parents_.reset();
    user_.reset();
    return opened;
  }
  Publish(core);
  return Status::Ok();
}

void HybridCacheV7::OpenOver(HybridCore& core) {
  parents_.emplace(core, *user_, this);
  inserts_.emplace(core, *user_, *parents_, dram());
  hits_.emplace(core, *user_, *parents_, dram());
  registration_.emplace(static_cast<rocksdb::Cache*>(this), this);
  Prepare(core.counters(),
          [this](const Slice& key, const CachedObject& object, bool was_hit) { OnEvicted(key, object, was_hit); });
}

// A thread that changes a key and sees the DRAM tier open afterwards, as it puts what is large beside the shards, sees
// the SCM tier too, and erases the key there (Replace). So this comes last.
void HybridCacheV7::Publish(HybridCore& core) noexcept {
  core_.store(&core, std::memory_order_release);
  StockTierV7::Open(core.gate());
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

HybridCacheV7::~HybridCacheV7() {
  if (armed()) CloseOver(*core(), *user_, *parents_, dram(), disowned_.load(std::memory_order_relaxed));
  StockTierV7::Close();  // before the tier that its evictions went to
}

void HybridCacheV7::OnEvicted(const Slice& key, const CachedObject& object, bool was_hit) noexcept {
  if (HybridCore* const core = this->core())
    OnEviction(*core, {.key = key, .object = object, .was_hit = was_hit, .share = user_->share()});
}

// `insert()` puts an object under `key` into the DRAM tier. Where the SCM tier appears meanwhile, what was there before
// may have been demoted since: then everything of the key is forgotten.
template <typename InsertCall>
rocksdb::Status HybridCacheV7::Replace(const Slice& key, InsertCall insert) {
  if (HybridCore* const core = this->core()) {
    core->FollowDram();
    inserts_->Erase(key);
    const MoveGate::Window window(core->gate());
    return insert(core);
  }
  MEZZ_TEST_POINT("deferred_tier.before_change");
  rocksdb::Status inserted = insert(nullptr);
  if (armed()) inserts_->Erase(key);
  return inserted;
}

rocksdb::Status HybridCacheV7::Insert(const Slice& key, void* value, size_t charge, DeleterFn deleter, Handle** handle,
                                      Priority priority) {
  return Replace(key, [&](HybridCore*) { return StockTierV7::Insert(key, value, charge, deleter, handle, priority); });
}

rocksdb::Status HybridCacheV7::Insert(const Slice& key, void* value, const CacheItemHelper* helper, size_t charge,
                                      Handle** handle, Priority priority) {
  if (helper == nullptr) return rocksdb::Status::InvalidArgument("Insert needs a helper");
  if (ReadBack::OnThisThread()) [[unlikely]]
    return inserts_->InsertReadBack({key, value, helper, charge, priority}, handle);
  return Replace(key, [&](HybridCore* core) {
    if (core != nullptr) return inserts_->Insert({key, value, helper, charge, priority}, handle);
    return StockTierV7::Insert(key, value, helper, charge, handle, priority);
  });
}

rocksdb::Cache::Handle* HybridCacheV7::Lookup(const Slice& key, const CacheItemHelper* helper,
                                              const CreateCallback& create, Priority priority, bool /*wait*/,
                                              rocksdb::Statistics* stats) {
  HybridCore* const core = this->core();
  if (core == nullptr || !create || !IsDemotable(key, helper)) return StockTierV7::Lookup(key, stats);
  if (ReadBack::OnThisThread()) [[unlikely]]
    return StockTierV7::Lookup(key, nullptr);
  const BlockKey name = BlockKey::FromBytes(key.data());
  core->scm().Prefetch(name);
  if (Handle* const hit = StockTierV7::Lookup(key, stats)) {
    user_->CountDramHit(BlockRole::kOther);
    NoteDramHit(*core, *parents_, name, BlockRole::kOther,
                [=, this] { return CachedObject(StockTierV7::Value(hit), helper); });
    return hit;
  }
  Handle* const handle = hits_->LookUp(name, {key, helper, create, priority}, stats);
  if (handle == nullptr) user_->counters().Add(Event::kMiss, BlockRole::kOther);
  return handle;
}

bool HybridCacheV7::Release(Handle* handle, bool useful, bool erase_if_last_ref) {
  std::optional<BlockKey> dead;  // once nobody has the block any more, and no eviction brings it back
  if (erase_if_last_ref && armed()) dead = KeyOfStandalone(handle);
  const bool freed = StockTierV7::Release(handle, useful, erase_if_last_ref);
  if (freed && dead) core()->scm().Erase(*dead);
  return freed;
}

void HybridCacheV7::Erase(const Slice& key) {
  MEZZ_TEST_POINT("deferred_tier.before_change");
  StockTierV7::Erase(key);  // first: where the SCM tier appears meanwhile, the second sees to both
  if (armed()) inserts_->Erase(key);
}

void HybridCacheV7::SetCapacity(size_t capacity) {
  HybridCore* const core = this->core();
  if (core == nullptr) return StockTierV7::SetCapacity(capacity);
  if (user_->is_main()) core->SetDramCapacity(capacity);  // a database's part of the DRAM is what the division gives
}

size_t HybridCacheV7::GetCapacity() const {
  return StockTierV7::GetCapacity() + (armed() && user_->is_main() ? core()->databases().given_bytes() : 0);
}

void HybridCacheV7::EraseUnRefEntries() {
  StockTierV7::EraseUnRefEntries();
  if (HybridCore* const core = this->core(); core != nullptr && user_->is_main()) core->scm().EraseAll();
}

std::string HybridCacheV7::GetPrintableOptions() const {
  std::string text = StockTierV7::GetPrintableOptions();
  if (const HybridCore* const core = this->core()) text += core->Report(UriKind::kHybrid, CacheCurve::Which::kLast);
  return text;
}

}  // namespace mezz
